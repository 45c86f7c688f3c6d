"""What the owner does apart from logs: keys, analysts, stopping, documents, backups, serving.

What needs DuckDB or a web framework is imported in the commands.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import (
    AS_JSON,
    make_folder,
    now,
    open_workspace,
    print_json,
    workspace_option,
    write_private,
)
from pappi.errors import LedgerBroken, UsageError
from pappi.report import dpo_html, key_state, printable
from pappi.values import Epsilon, Right, Role

if TYPE_CHECKING:
    from pappi.service import Addresses


@click.group()
def key() -> None:
    """Owner only: keys for the service."""


@key.command()
@click.argument("role", type=click.Choice([str(role) for role in Role]))
@click.argument("name")
@click.option(
    "--right",
    "rights",
    multiple=True,
    type=click.Choice([str(right) for right in Right]),
    help="Give only this right; repeatable. [default: all rights of the role]",
)
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First day on which the key is no longer valid.",
)
@workspace_option
def issue(
    role: str, name: str, rights: Sequence[str], expires: datetime | None, workspace: str | None
) -> None:
    """Issue a key to an owner or analyst called NAME. It is shown only once."""
    custody = open_workspace(workspace).custody
    chosen = [Right(right) for right in rights] or None
    until = expires.replace(tzinfo=UTC) if expires else None
    issued = custody.issue_key(Role(role), name, chosen, until)
    click.echo(issued.secret)
    click.echo(
        f"Key {issued.record.id} of {role} {name}: store it now, it will not be shown again.",
        err=True,
    )
    if Role(role) is Role.ANALYST:
        click.echo(f"Next: pappi analyst grant LOG {name} EPSILON", err=True)


@key.command("list")
@workspace_option
def list_keys(workspace: str | None) -> None:
    """List all keys: who holds each, and whether it is still valid."""
    for record in open_workspace(workspace).custody.all_keys():
        rights, state = ", ".join(sorted(record.rights)), key_state(record, datetime.now(UTC))
        if state == "valid" and record.expires is not None:
            state = f"valid until {record.expires:%Y-%m-%d %H:%M} UTC"
        click.echo(f"{record.id}  {record.role} {record.name} ({rights}): {state}")


@key.command()
@click.argument("identity", metavar="ID")
@workspace_option
def revoke(identity: str, workspace: str | None) -> None:
    """Revoke a key."""
    revoked = open_workspace(workspace).custody.revoke_key(identity)
    click.echo(f"Key {revoked.id} of {revoked.role} {revoked.name} is revoked.")


@click.group()
def analyst() -> None:
    """Owner only: manage which analysts may query which logs."""


@analyst.command()
@click.argument("log_name", metavar="LOG")
@click.argument("name")
@click.argument("epsilon")
@workspace_option
def grant(log_name: str, name: str, epsilon: str, workspace: str | None) -> None:
    """Let an analyst spend up to EPSILON of each block of LOG."""
    granted = open_workspace(workspace).custody.grant_analyst(log_name, name, Epsilon.of(epsilon))
    click.echo(f"{name} may now spend ε {granted.per_block} of each block of '{log_name}'.")


@analyst.command()
@click.argument("log_name", metavar="LOG")
@click.argument("name")
@workspace_option
def withdraw(log_name: str, name: str, workspace: str | None) -> None:
    """Withdraw an analyst's access to LOG."""
    ended = open_workspace(workspace).withdraw(log_name, name)
    click.echo(f"{name} may no longer query '{log_name}'; {ended} subscriptions ended.")


@analyst.command("list")
@workspace_option
def list_analysts(workspace: str | None) -> None:
    """List who may query which log."""
    for access in open_workspace(workspace).custody.grants():
        click.echo(f"{access.analyst}: ε {access.per_block} of each block of '{access.log}'")


@click.command()
@click.argument("reason")
@workspace_option
def stop(reason: str, workspace: str | None) -> None:
    """Owner only: stop all answers until `pappi resume`. Analysts see the REASON."""
    open_workspace(workspace).custody.stop(reason)
    click.echo("Stopped. Answer again with: pappi resume")


@click.command()
@workspace_option
def resume(workspace: str | None) -> None:
    """Owner only: answer again after `pappi stop`."""
    open_workspace(workspace).custody.resume()
    click.echo("Answering again.")


@click.command()
@click.option(
    "--after", type=click.IntRange(min=0), default=0, help="Show only entries after this number."
)
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True)
@workspace_option
@AS_JSON
def trail(after: int, limit: int, workspace: str | None, *, as_json: bool) -> None:
    """Owner only: show what was declared, asked and done, oldest first."""
    from pappi.custody import entry_text

    custody = open_workspace(workspace).custody
    entries = custody.trail(after, limit)
    before = custody.declared_before(entries)
    for entry in entries:
        if as_json:
            record = {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "what": entry.what}
            click.echo(json.dumps(record, ensure_ascii=False))
            continue
        words = entry_text(entry.kind, entry.what, before.get(entry.seq))
        by = f", by {entry.by}" if entry.by else ""
        click.echo(printable(f"{entry.seq:>6}  {entry.at[:19]}  {entry.kind:<9} {words}{by}"))


def _root(given: str | None) -> Path:
    """Where the workspace is, of whatever layout: it is not opened."""
    from pappi.store import find_root

    named = given or click.get_current_context().find_root().obj
    return Path(named) if named else find_root(Path.cwd())


@click.command()
@workspace_option
def migrate(workspace: str | None) -> None:
    """Owner only: upgrade a workspace written by an earlier version."""
    from pappi.store import migrate as migrated

    root = _root(workspace)
    done = migrated(root)
    if done.before == done.after:
        click.echo(f"{root} already has layout {done.after}.")
        return
    click.echo(f"{root} now has layout {done.after}; it had layout {done.before}.")
    if done.kept is not None and any(done.kept.iterdir()):
        click.echo(f"The original files are in {done.kept}: delete them once everything works.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@workspace_option
def backup(file: Path, workspace: str | None) -> None:
    """Owner only: back up the whole workspace to a new FILE; it may be in use."""
    from pappi.custody import back_up
    from pappi.store import open_workspace

    files = open_workspace(_root(workspace))
    made = back_up(files, file)
    click.echo(
        f"{file} contains the workspace at {made.made}, with personal data and the secret key."
    )
    if files.ledger_url() is not None:
        click.echo("The ledger is in PostgreSQL: back up that database too, e.g. with pg_dump.")
    click.echo(f"Note the head of the ledger somewhere else: {made.head}")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def restore(file: Path, directory: Path) -> None:
    """Owner only: restore the workspace in FILE to a new DIRECTORY; it starts out stopped."""
    from pappi.custody import restore as restored

    made = restored(file, directory)
    click.echo(f"{directory} is the workspace at {made.made}; its ledger ends at {made.head}.")
    click.echo(
        "Later charges are missing from it: if anything was released after the backup, do not "
        "resume this workspace, or the same budget is spent twice."
    )
    click.echo(f"It is stopped. Answer again with: pappi resume --workspace {directory}")


@click.group()
def ledger() -> None:
    """Owner only: repair a ledger that was damaged or rolled back."""


@ledger.command("accept-rollback")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def accept_rollback(workspace: str | None, *, yes: bool) -> None:
    """Continue with a ledger that has lost entries; affected blocks are frozen."""
    from pappi.custody import accept_rollback as accepted
    from pappi.custody import loss_of
    from pappi.store import open_workspace

    files = open_workspace(_root(workspace))
    loss = loss_of(files)
    if loss is None:
        click.echo("Nothing is lost: the ledger has every entry it should have.")
        return
    click.echo(f"Found: {loss}.")
    click.echo(
        "Nobody knows what the lost entries spent. If you accept this, no block that begins up to "
        "today, or up to the end of its log, can ever be charged again, and no log with a total "
        "budget can be charged at all. Recorded answers stay available."
    )
    click.echo(
        "Your own actions in the lost entries are lost too: revoked keys and withdrawn grants are "
        "valid again, and a log imported then is unknown and not frozen."
    )
    if not yes:
        click.confirm("Accept the loss permanently?", abort=True)
    accepted(files)
    click.echo("Accepted and recorded. Later blocks can be queried.")


DEFAULT_FILE = Path("data-protection.html")


@click.group()
def report() -> None:
    """Owner only: documents for whoever is responsible for the data."""


@report.command()
@click.argument("log_name", metavar="[LOG]", required=False)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Write the document to FILE. [default: {DEFAULT_FILE}, unless --json is given]",
)
@workspace_option
@AS_JSON
def dpo(log_name: str | None, html: Path | None, workspace: str | None, *, as_json: bool) -> None:
    """The data-protection pack: guarantee, every release, record of processing, verification.

    For LOG, or for all logs. It uses the ledger and the declarations; no event is read.
    """
    pack = open_workspace(workspace).custody.pack(log_name)
    made = now()
    if html is not None or not as_json:
        path = html or DEFAULT_FILE
        make_folder(path.parent)
        write_private(path, dpo_html(pack, made))
        click.echo(f"Data-protection pack: {path}", err=True)
    if as_json:
        from pappi.report import pack_record

        print_json(pack_record(pack, made))
    if not pack.chain.ok:
        # The document says so, too; no script that goes by the exit code may miss it.
        raise LedgerBroken(
            f"the ledger does not verify: {pack.chain.problem}",
            hint="restore it from a backup; until then there is nothing else to report",
        )


PORT = click.IntRange(0, 65_535)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Host for analysts.")
@click.option("--analyst-port", type=PORT, default=8080, show_default=True)
@click.option(
    "--owner-host",
    default="127.0.0.1",
    show_default=True,
    help="Host for the owner: reachable from trusted networks only.",
)
@click.option("--owner-port", type=PORT, default=8081, show_default=True)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Limit for one key.",
)
@click.option(
    "--trusted-proxies",
    metavar="ADDRESSES",
    envvar="PAPPI_TRUSTED_PROXIES",
    default="127.0.0.1",
    show_default=True,
    help="Proxies whose forwarded client addresses are trusted: addresses or networks, "
    "comma-separated.",
)
@click.option(
    "--public-url",
    metavar="URL",
    envvar="PAPPI_PUBLIC_URL",
    default="",
    help="Public address for analysts, e.g. https://ppi.example.org: other Host headers are "
    "refused, and cookies are HTTPS-only.",
)
@click.option(
    "--owner-url",
    metavar="URL",
    envvar="PAPPI_OWNER_URL",
    default="",
    help="The same for the owner's port.",
)
@workspace_option
def serve(
    host: str,
    analyst_port: int,
    owner_host: str,
    owner_port: int,
    requests_per_minute: int,
    trusted_proxies: str,
    public_url: str,
    owner_url: str,
    workspace: str | None,
) -> None:
    """Serve the workspace over HTTP: analysts on one port, the owner on another.

    It speaks plain HTTP: put a reverse proxy with TLS in front, and expose the owner's port
    to trusted networks only.
    """
    try:
        from pappi.service import Address, Addresses, Settings
        from pappi.service import serve as run
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("pappi"):
            raise
        raise UsageError(
            "the service is not installed", hint="install it with: pip install 'pappi[service]'"
        ) from None
    settings = Settings(
        requests_per_minute=requests_per_minute,
        trusted_proxies=trusted_proxies,
        public_url=public_url,
        owner_url=owner_url,
    )
    addresses = Addresses(Address(host, analyst_port), Address(owner_host, owner_port))
    run(open_workspace(workspace), addresses, settings, _tell)


def _tell(addresses: Addresses) -> None:
    click.echo(f"Analysts: {addresses.analyst}")
    click.echo(f"Owner:    {addresses.owner}")
    click.echo("Keys: pappi key issue owner NAME, or analyst NAME; logs: pappi analyst grant.")
    click.echo("Ctrl-C stops the service after running requests have finished.")
