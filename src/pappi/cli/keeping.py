"""`pappi migrate`: what keeps a workspace usable and whole."""

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
