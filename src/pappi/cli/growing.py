"""`pappi log create`, `capture`, `seal`, `erase`: logs that grow, and what leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click

from pappi.cli.declaring import (
    attribute_and_kind,
    declaring_options,
    show_declaration,
    terms_of,
)
from pappi.cli.options import open_workspace, workspace_option
from pappi.errors import InputError

if TYPE_CHECKING:
    from pappi.custody.capture import CapturedEvent
    from pappi.custody.sealing import Sealed


@click.command()
@click.argument("name")
@click.option("--timezone", metavar="ZONE", help="Zone that days begin in. [default: UTC]")
@click.option("--activity", "activities", multiple=True, help="An activity's name; repeatable.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME:KIND",
    help="An attribute and its kind: number, text, truth, time or duration; repeatable.",
)
@declaring_options
@workspace_option
def create(
    name: str,
    activities: Sequence[str],
    attributes: Sequence[str],
    workspace: str | None,
    **given: object,
) -> None:
    """Declare a log without events, to be fed by capture. It needs --from."""
    from pappi.values.vocabulary import Vocabulary

    vocabulary = Vocabulary(tuple(activities), dict(map(attribute_and_kind, attributes)))
    custody = open_workspace(workspace).custody
    created = custody.create_log(name, terms_of(given), vocabulary)
    click.echo("Declared, and therefore public from now on:")
    show_declaration(created)
    click.echo(f"Next: pappi log capture {name} EVENTS.ndjson")


@click.command()
@click.argument("name")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@workspace_option
def capture(name: str, file: Iterator[str], workspace: str | None) -> None:
    """Take events in from FILE, one JSON object a line; sent again, they count once."""
    custody = open_workspace(workspace).custody
    accepted = duplicates = 0
    for batch in _batches(file):
        captured = custody.capture(name, batch)
        accepted += captured.accepted
        duplicates += captured.duplicates
    click.echo(f"{accepted:,} events taken in, {duplicates:,} were there already.")
    click.echo(f"They are answered once their time is sealed: pappi log seal {name}")


@click.command()
@click.argument("name")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First day that is not sealed yet. [default: as far as whole blocks have passed, of a "
    "log that is fed]",
)
@workspace_option
def seal(name: str, until: datetime | None, workspace: str | None) -> None:
    """Let captured time be answered. What comes later about it is kept apart for good."""
    end: date | None = until.date() if until else None
    door = open_workspace(workspace)
    sealed = door.custody.seal(name, end)
    for line in _sealed(sealed, at_source=door.log(name).source is not None):
        click.echo(line)
    click.echo("Next: pappi standing run")


def _sealed(sealed: Sealed, *, at_source: bool) -> Iterator[str]:
    upto = f"'{sealed.log}' is sealed up to {sealed.until}"
    if at_source:
        yield f"{upto}. Rows of this time must not change any more: see the guide on sources."
        return
    yield f"{upto}: {_counted(sealed.cases, 'more case')} with {_counted(sealed.events, 'event')}."
    if sealed.late:
        yield f"{_counted(sealed.late, 'event')} too late to be answered: kept apart."


@click.command()
@click.argument("name")
@click.option("--case", "cases", multiple=True, help="A case's id; repeatable.")
@click.option("--person", "persons", multiple=True, help="A person; repeatable.")
@click.option("--block", "blocks", multiple=True, help="A block, e.g. 2024-03; repeatable.")
@click.confirmation_option(prompt="What is erased cannot be brought back. Go on?")
@workspace_option
def erase(
    name: str,
    cases: Sequence[str],
    persons: Sequence[str],
    blocks: Sequence[str],
    workspace: str | None,
) -> None:
    """Delete cases, persons or whole blocks from disk; releases stay on record."""
    erased = open_workspace(workspace).custody.erase(name, cases, persons, blocks)
    counts = f"{_counted(erased.cases, 'case')} with {_counted(erased.events, 'event')}"
    click.echo(f"Erased {counts} from '{name}'.")


@click.command("withdraw-name")
@click.argument("name")
@click.option("--activity", "activities", multiple=True, help="An activity's name; repeatable.")
@click.option("--attribute", "attributes", multiple=True, help="An attribute's; repeatable.")
@workspace_option
def withdraw_name(
    name: str, activities: Sequence[str], attributes: Sequence[str], workspace: str | None
) -> None:
    """Take back names that became public, if no release, reserved or kept question uses them."""
    custody = open_workspace(workspace).custody
    declared = custody.withdraw_names(name, activities, attributes)
    click.echo("From now on no question can use them, and nobody new is shown them.")
    click.echo("What was public was public: whoever has seen these names knows them.")
    show_declaration(declared)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _batches(lines: Iterator[str]) -> Iterator[list[CapturedEvent]]:
    from pappi.custody.capture import MOST_EVENTS, event_of

    events = (event_of(_object(line, n), n) for n, line in enumerate(lines, 1) if line.strip())
    while batch := list(islice(events, MOST_EVENTS)):
        yield batch


def _object(line: str, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"line {number} is not JSON", hint="one event a line") from None


GROWING = (create, capture, seal, erase, withdraw_name)
