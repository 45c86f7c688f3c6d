"""`pappi key`, `analyst`, `stop`, `resume` and `trail`: who may do what, and what was done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from pappi.cli.options import AS_JSON, open_workspace, workspace_option
from pappi.values.access import KeyRecord, Right, Role
from pappi.values.epsilon import Epsilon


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
    help="Only this right; repeatable. [default: all of the role]",
)
@click.option("--expires", type=click.DateTime(["%Y-%m-%d"]), help="First day it no longer counts.")
@workspace_option
def issue(
    role: str, name: str, rights: Sequence[str], expires: datetime | None, workspace: str | None
) -> None:
    """A new key for an owner, or for the analyst NAME. It is shown this once."""
    custody = open_workspace(workspace).custody
    chosen = [Right(right) for right in rights] or None
    until = expires.replace(tzinfo=UTC) if expires else None
    issued = custody.issue_key(Role(role), name, chosen, until)
    click.echo(issued.secret)
    click.echo(
        f"Key {issued.record.id} of {role} {name}: keep it, it is not shown again.", err=True
    )
    if Role(role) is Role.ANALYST:
        click.echo(f"Next: pappi analyst grant LOG {name} EPSILON", err=True)


@key.command("list")
@workspace_option
def list_keys(workspace: str | None) -> None:
    """Every key: whose it is, and whether it still counts."""
    for found in open_workspace(workspace).custody.all_keys():
        rights = ", ".join(sorted(found.rights))
        click.echo(f"{found.id}  {found.role} {found.name} ({rights}): {_state(found)}")


@key.command()
@click.argument("identity", metavar="ID")
@workspace_option
def revoke(identity: str, workspace: str | None) -> None:
    """Refuse a key from now on."""
    revoked = open_workspace(workspace).custody.revoke_key(identity)
    click.echo(f"Key {revoked.id} of {revoked.role} {revoked.name} is refused from now on.")


def _state(found: KeyRecord) -> str:
    if found.revoked:
        return "revoked"
    if found.expires is None:
        return "valid"
    return f"valid until {found.expires:%Y-%m-%d %H:%M} UTC"


@click.group()
def analyst() -> None:
    """Owner only: which analysts of the service may ask about which logs."""


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
    """Let an analyst no longer ask about LOG."""
    ended = open_workspace(workspace).withdraw(log_name, name)
    click.echo(f"{name} may no longer ask about '{log_name}'; {ended} standing questions end.")


@analyst.command("list")
@workspace_option
def list_analysts(workspace: str | None) -> None:
    """Who may ask about which log."""
    for found in open_workspace(workspace).custody.grants():
        click.echo(f"{found.analyst}: ε {found.per_block} of each block of '{found.log}'")


@click.command()
@click.argument("reason")
@workspace_option
def stop(reason: str, workspace: str | None) -> None:
    """Owner only: answer nothing to anybody, until `pappi resume`. Analysts see the REASON."""
    open_workspace(workspace).custody.stop(reason)
    click.echo("Stopped. Answer again with: pappi resume")


@click.command()
@workspace_option
def resume(workspace: str | None) -> None:
    """Owner only: answer again after `pappi stop`."""
    open_workspace(workspace).custody.resume()
    click.echo("Answers are given again.")


@click.command()
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only what came after this.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True)
@workspace_option
@AS_JSON
def trail(after: int, limit: int, workspace: str | None, *, as_json: bool) -> None:
    """Owner only: what was declared, asked and done, oldest first."""
    for entry in open_workspace(workspace).custody.trail(after, limit):
        if as_json:
            record = {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "what": entry.what}
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo(f"{entry.seq:>6}  {entry.at[:19]}  {entry.kind:<9} {_summary(entry.what)}")


_TOLD = ("log", "name", "analyst", "role", "id", "until", "reason", "by")


def _summary(what: object) -> str:
    from pappi.report.plain import plain
    from pappi.store.sources import place_told

    if not isinstance(what, dict):
        return ""
    accounts, share = what.get("accounts"), what.get("per_block")
    told = [f"{word} {what[word]}" for word in _TOLD if what.get(word) is not None]
    if isinstance(accounts, list) and accounts:
        log, first = accounts[0]
        blocks = first if len(accounts) == 1 else f"{first} to {accounts[-1][1]}"
        told = [f"ε {Epsilon(what['amount'])} in {blocks} of {log}", *told]
    if isinstance(share, int):
        told = [f"ε {Epsilon(share)} per block", *told]
    if isinstance(looked := what.get("ppis"), list):
        named = [*map(str, looked), *(["…"] if what["count"] > len(looked) else [])]
        told = [f"looked at {' '.join(named)}", *told]
    names = [*_texts(what.get("activities")), *_texts(what.get("attributes"))]
    if names and "log" in what:  # taken back; those of a declaration are told with the log
        told.append(f"names {', '.join(map(repr, names))}")
    if isinstance(source := what.get("source"), dict):
        told.append(f"read from {place_told(source['url'], source['table'])}")
    return plain(", ".join(told))


def _texts(found: object) -> list[str]:
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []
