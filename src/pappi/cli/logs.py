"""`pappi init` and `pappi log`: what the owner does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.declaring import declaring_options, horizon_text, show_declaration, terms_of
from pappi.cli.options import AS_JSON, Command, open_workspace, workspace_option
from pappi.values.periods import day_of

if TYPE_CHECKING:
    from pappi.custody.imports import Imported, Progress
    from pappi.eventlog.options import ReadOptions
    from pappi.eventlog.report import ImportReport
    from pappi.store.declarations import LogDeclaration


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--ledger",
    envvar="PAPPI_LEDGER_URL",
    metavar="URL",
    help="Keep the ledger in this PostgreSQL database, for several servers. [default: a file]",
)
def init(directory: Path, ledger: str | None) -> None:
    """Make a workspace: events, declarations and the budget's ledger."""
    from pappi.workspace import create

    workspace = create(directory, ledger=ledger)
    click.echo(f"Workspace {workspace.root} is ready.")
    click.echo(f"Next: pappi log import FILE --workspace {workspace.root}")


@click.group()
def log() -> None:
    """Event logs: import or create, capture, seal, erase, list, describe."""


def _reading_options(command: Command) -> Command:
    """How to read the file: everything here overrides a guess."""
    for option in reversed(
        (
            click.option("--delimiter", help="CSV: field delimiter. [default: guessed]"),
            click.option("--case", help="Column with the case id. [default: guessed]"),
            click.option("--activity", help="Column with the activity. [default: guessed]"),
            click.option("--timestamp", help="Column with the time. [default: guessed]"),
            click.option("--time-format", help="CSV: e.g. '%d.%m.%Y %H:%M'. [default: guessed]"),
            click.option("--missing", multiple=True, help="CSV: text for 'no value'; repeatable."),
            click.option("--z-is-utc", is_flag=True, help="CSV: trust a Z despite --timezone."),
        )
    ):
        command = option(command)
    return command


@log.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the log. [default: the file's name]")
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Zone of the log, e.g. Europe/Amsterdam: wall-clock times are read in it, and days "
    "begin in it. [default: UTC]",
)
@_reading_options
@declaring_options
@workspace_option
@AS_JSON
def import_(
    file: Path, name: str | None, workspace: str | None, *, as_json: bool, **given: object
) -> None:
    """Import an event log (XES, CSV, Parquet) and declare what is public about it."""
    options, terms = _options(given), terms_of(given)
    door = open_workspace(workspace)
    with _progress_bar(file.name) as progress:
        imported = door.import_log(file, name, options=options, terms=terms, progress=progress)
    if as_json:
        click.echo(json.dumps(_import_record(imported), indent=2))
    else:
        _show_import(imported)


@log.command("list")
@workspace_option
@AS_JSON
def list_(workspace: str | None, *, as_json: bool) -> None:
    """The logs of the workspace."""
    logs = open_workspace(workspace).logs()
    if as_json:
        click.echo(json.dumps({"logs": [log.to_json() for log in logs]}, indent=2))
        return
    for found in logs:
        click.echo(f"{found.name}: {horizon_text(found)}, {found.timezone}")
    if not logs:
        click.echo("No logs yet. Import one with: pappi log import FILE")


@log.command()
@click.argument("name")
@workspace_option
@AS_JSON
def describe(name: str, workspace: str | None, *, as_json: bool) -> None:
    """What is declared about a log, and therefore public."""
    found = open_workspace(workspace).log(name)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        show_declaration(found)


def _options(given: Mapping[str, Any]) -> ReadOptions:
    from pappi.eventlog.options import ReadOptions

    return ReadOptions(
        delimiter="\t" if given["delimiter"] in ("\\t", "tab") else given["delimiter"],
        case=given["case"],
        activity=given["activity"],
        timestamp=given["timestamp"],
        time_format=given["time_format"],
        timezone=given["timezone"],
        missing=given["missing"] or None,
        z_is_utc=given["z_is_utc"],
    )


@contextmanager
def _progress_bar(label: str) -> Iterator[Progress]:
    """A bar on standard error while a person is watching; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("Reading {task.description}"), BarColumn(), TaskProgressColumn())
    watching = Console(stderr=True)
    piped = not watching.is_terminal
    with Progress(*columns, Remaining(), console=watching, transient=True, disable=piped) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _import_record(imported: Imported) -> dict[str, Any]:
    report = imported.report
    return {
        "log": imported.declaration.name,
        "events": report.events,
        "cases": report.cases,
        "tied_events": report.tied,
        "events_without_time": report.without_time,
        "events_without_activity": report.without_activity,
        "missing": {column.name: column.missing for column in report.columns},
        "guesses": [str(guess) for guess in report.guesses],
        "notices": list(report.notices),
        "declared": imported.declaration.to_json(),
    }


def _show_import(imported: Imported) -> None:
    report, declared = imported.report, imported.declaration
    click.echo(
        f"Imported {report.events:,} events in {report.cases:,} cases as '{declared.name}', "
        f"{_day(report.first_us, declared)} to {_day(report.last_us, declared)}."
    )
    for line in _oddities(report):
        click.echo(f"  {line}")
    for guess in report.guesses:
        option = guess.option.replace("_", "-")
        click.echo(f"  guessed {guess.what}: {guess.guess} (change with --{option})")
    for notice in report.notices:
        click.echo(f"  note: {notice}")
    click.echo("Declared, and therefore public from now on:")
    show_declaration(declared)


def _oddities(report: ImportReport) -> Iterator[str]:
    if report.tied:
        share = 100 * report.tied / report.events
        yield (
            f"{report.tied:,} events ({share:.0f} %) share case and time with another: "
            "they keep the order of the file"
        )
    if report.without_time:
        yield f"{_events(report.without_time)} no time"
    if report.without_activity:
        yield f"{_events(report.without_activity)} no activity"
    gaps = [column for column in report.columns if column.missing]
    if gaps:
        most = max(gaps, key=lambda column: column.missing)
        yield (
            f"{len(gaps)} of {len(report.columns)} attributes have missing values "
            f"({most.name}: {most.missing:,})"
        )


def _events(count: int) -> str:
    return "1 event has" if count == 1 else f"{count:,} events have"


def _day(ts_us: int | None, declared: LogDeclaration) -> str:
    return "?" if ts_us is None else str(day_of(ts_us, declared.zone))
