"""`pappi log add`: a log whose events stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pappi.cli.declaring import LAST_DAY, declaring_options, show_declaration, terms_of
from pappi.cli.options import open_workspace, workspace_option
from pappi.errors import UsageError

if TYPE_CHECKING:
    from pappi.custody.adding import Added
    from pappi.values.vocabulary import Kind


@click.command()
@click.argument("name")
@click.option(
    "--source",
    required=True,
    metavar="URL",
    help="postgresql://user@host/database, sc://host:15002 (Spark Connect) or "
    "parquet:FOLDER/*.parquet. Without a password: that comes from the environment.",
)
@click.option("--table", help="The table, or SCHEMA.TABLE; Parquet files have none.")
@click.option("--case", required=True, metavar="COLUMN", help="Column with the case id.")
@click.option("--activity", required=True, metavar="COLUMN", help="Column with the activity.")
@click.option("--time", required=True, metavar="COLUMN", help="Column with the time.")
@click.option("--order", metavar="COLUMN", help="Orders events that share case and time.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME[=COLUMN][:KIND]",
    help="An attribute, its column, and its kind: number, text, truth, time or duration (in "
    "seconds); repeatable.",
)
@click.option(
    "--again",
    is_flag=True,
    help="These events are a log already, and are to have a second budget: what is spent of "
    "the two adds up.",
)
@click.option("--timezone", metavar="ZONE", help="Zone that days begin in. [default: UTC]")
@declaring_options
@LAST_DAY
@workspace_option
def add(
    name: str,
    source: str,
    table: str | None,
    case: str,
    activity: str,
    time: str,
    order: str | None,
    attributes: Sequence[str],
    workspace: str | None,
    *,
    again: bool,
    **given: object,
) -> None:
    """Declare a log whose events stay in a database or in Parquet files, and are read there."""
    from pappi.custody.adding import Given

    mapped = _attributes(attributes)
    place = Given(source, case, activity, time, table, order, mapped, again)
    added = open_workspace(workspace).custody.add_log(name, place, terms_of(given))
    _show(added)


def _show(added: Added) -> None:
    found, declared = added.survey, added.declaration
    click.echo(
        f"'{declared.name}' has {found.events:,} events in {found.cases:,} cases at its source, "
        "and they stay there."
    )
    click.echo("Declared, and therefore public from now on:")
    show_declaration(declared)
    click.echo("Rows of this time must not change any more: see the guide on sources.")


def _attributes(given: Sequence[str]) -> dict[str, tuple[str, Kind | None]]:
    found: dict[str, tuple[str, Kind | None]] = {}
    for name, column in map(_attribute, given):
        if name in found:
            raise UsageError(
                f"the attribute '{name}' is named twice",
                hint="two columns are two attributes: name them e.g. cost=cost_eur paid=cost_paid",
            )
        found[name] = column
    return found


def _attribute(given: str) -> tuple[str, tuple[str, Kind | None]]:
    from pappi.values.vocabulary import Kind

    written, colon, word = given.rpartition(":")
    kind = Kind(word) if colon and word in tuple(Kind) else None
    name, _, column = (written if kind else given).partition("=")
    if not name:
        raise UsageError(f"'{given}' names no attribute", hint="write e.g. cost=cost_eur:number")
    return name, (column or name, kind)
