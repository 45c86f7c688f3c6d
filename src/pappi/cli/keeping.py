"""`pappi migrate`, `backup`, `restore` and `ledger`: what keeps a workspace usable and whole."""

from __future__ import annotations

from pathlib import Path

import click

from pappi.cli.options import workspace_option


def _root(given: str | None) -> Path:
    """Where the workspace is, of whatever layout: it is not opened."""
    from pappi.store.workspace import find_root

    named = given or click.get_current_context().find_root().obj
    return Path(named) if named else find_root(Path.cwd())


@click.command()
@workspace_option
def migrate(workspace: str | None) -> None:
    """Owner only: bring a workspace that an earlier version wrote up to date."""
    from pappi.store.migration import migrate as migrated

    root = _root(workspace)
    done = migrated(root)
    if done.before == done.after:
        click.echo(f"{root} has layout {done.after} already.")
        return
    click.echo(f"{root} is now of layout {done.after}; it was of layout {done.before}.")
    if done.kept is not None and any(done.kept.iterdir()):
        click.echo(f"The files as they were are in {done.kept}: delete them when all is well.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@workspace_option
def backup(file: Path, workspace: str | None) -> None:
    """Owner only: put the whole workspace into the new FILE, while it is in use."""
    from pappi.custody.backup import back_up
    from pappi.store.workspace import open_workspace

    files = open_workspace(_root(workspace))
    made = back_up(files, file)
    click.echo(f"{file} holds the workspace as of {made.made}; it has personal data and the key.")
    if files.ledger_url() is not None:
        click.echo("The ledger is in PostgreSQL: back that database up as well, e.g. by pg_dump.")
    click.echo(f"Note down elsewhere how far the ledger had come: {made.head}")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def restore(file: Path, directory: Path) -> None:
    """Owner only: bring the workspace in FILE back, in a new DIRECTORY; it is stopped at first."""
    from pappi.custody.backup import restore as restored

    made = restored(file, directory)
    click.echo(f"{directory} is the workspace as of {made.made}, its ledger at {made.head}.")
    click.echo(
        "What was charged since then is not in it: if anything was released after that, do not "
        "resume it, or the same budget is spent twice."
    )
    click.echo(f"It is stopped. Answer again with: pappi resume --workspace {directory}")


@click.group()
def ledger() -> None:
    """Owner only: what to do about a ledger that was damaged or rolled back."""


@ledger.command("accept-rollback")
@click.option("--yes", is_flag=True, help="Do not ask.")
@workspace_option
def accept_rollback(workspace: str | None, *, yes: bool) -> None:
    """Go on with a ledger that has lost entries; what cannot be known is frozen."""
    from pappi.custody import rollback
    from pappi.store.workspace import open_workspace

    files = open_workspace(_root(workspace))
    loss = rollback.loss_of(files)
    if loss is None:
        click.echo("Nothing is lost: the ledger has every entry that it is marked to have.")
        return
    click.echo(f"Found: {loss}.")
    click.echo(
        "What was spent in lost entries nobody knows. If you accept this, every block that begins "
        "up to today, or up to the end of its log, can never be charged again, and logs with a "
        "total budget not at all. What is on record can still be had again."
    )
    click.echo(
        "Your own acts in lost entries are lost, too: keys that were revoked and grants that were "
        "withdrawn are valid again, and a log that was imported is not known, and not frozen."
    )
    if not yes:
        click.confirm("Accept the loss for good?", abort=True)
    rollback.accept_rollback(files)
    click.echo("Accepted, and on record. Later blocks can be asked about.")
