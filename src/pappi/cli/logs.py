"""`pappi init` and `pappi log`: what the owner does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import AS_JSON, Command, open_workspace, workspace_option
from pappi.errors import UsageError
from pappi.values.periods import day_of

if TYPE_CHECKING:
    from pappi.custody.imports import Imported, Progress, Terms
    from pappi.eventlog.options import ReadOptions
    from pappi.eventlog.report import ImportReport
    from pappi.store.declarations import LogDeclaration
    from pappi.values.privacy import PrivacyUnit


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def init(directory: Path) -> None:
    """Make a workspace: events, declarations and the budget's ledger."""
    from pappi.workspace import create

    workspace = create(directory)
    click.echo(f"Workspace {workspace.root} is ready.")
    click.echo(f"Next: pappi log import FILE --workspace {workspace.root}")


@click.group()
def log() -> None:
    """Event logs: import, list, describe."""


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


def _declaring_options(command: Command) -> Command:
    """What is public about the log: the owner's declarations."""
    day = click.DateTime(["%Y-%m-%d"])
    for option in reversed(
        (
            click.option("--from", "first", type=day, help="First day of the horizon."),
            click.option("--until", type=day, help="Last day of the horizon."),
            click.option(
                "--unit",
                metavar="COLUMN",
                help="Whose influence the guarantee bounds: a person, by the attribute that names "
                "one in every case. [default: one case]",
            ),
            click.option(
                "--max-cases",
                type=int,
                metavar="K",
                help="With --unit: how many cases of one person count.",
            ),
            click.option(
                "--per",
                type=click.Choice(("log", "block")),
                help="With --unit: count them in the whole log, or in each block anew; the "
                "guarantee is then per person and block. [default: log]",
            ),
            _choice("--adjacency", ("add-remove", "replace"), "Which logs are neighbours."),
            _choice("--anchor", ("case end", "case start"), "What puts a case into a period."),
            _choice("--blocks", ("month", "day", "week", "quarter", "year"), "What has a budget."),
            click.option(
                "--budget", default="1", metavar="EPS", help="Of each block. [default: 1]"
            ),
            click.option(
                "--expected-cases",
                type=click.IntRange(min=1),
                help="Cases per period, to predict errors with; public.",
            ),
        )
    ):
        command = option(command)
    return command


def _choice(name: str, choices: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    """An option with a fixed list of values, the first being the default."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


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
@_declaring_options
@workspace_option
@AS_JSON
def import_(
    file: Path, name: str | None, workspace: str | None, *, as_json: bool, **given: object
) -> None:
    """Import an event log (XES, CSV, Parquet) and declare what is public about it."""
    options, terms = _options(given), _terms(given)
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
        click.echo(f"{found.name}: {found.first} to {_last_day(found)}, {found.timezone}")
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
        _show_declaration(found)


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


def _terms(given: Mapping[str, Any]) -> Terms:
    from pappi.custody.imports import Terms
    from pappi.ppinot.model import CaseBorder
    from pappi.values.epsilon import Epsilon
    from pappi.values.periods import Calendar, Grid
    from pappi.values.privacy import Adjacency

    first, last = given["first"], given["until"]
    return Terms(
        timezone=given["timezone"] or "UTC",
        anchor=CaseBorder(given["anchor"]),
        blocks=Grid(Calendar(given["blocks"])),
        first=first.date() if first else None,
        # On the command line the last day is meant to be included.
        until=_day_after(last.date()) if last else None,
        unit=_unit(given["unit"], given["max_cases"], given["per"]),
        adjacency=Adjacency(given["adjacency"]),
        block_budget=Epsilon.of(given["budget"]),
        expected_cases=given["expected_cases"],
    )


def _unit(column: str | None, max_cases: int | None, per: str | None) -> PrivacyUnit:
    from pappi.values.privacy import CASE, Per, PrivacyUnit

    if column is None or column == str(CASE):
        if max_cases is not None or per is not None:
            raise UsageError(
                "--max-cases and --per are about persons: they need --unit COLUMN",
                hint="name the attribute that tells persons apart, e.g. --unit patient_id",
            )
        return CASE
    if max_cases is None:
        raise UsageError(
            f"--unit {column} needs --max-cases: how many cases of one person count",
            hint="no default is sensible: noise grows in proportion to it, and what a person has "
            "beyond it is left out; take what most persons have at most",
        )
    return PrivacyUnit(column, max_cases, Per(per or Per.LOG))


def _day_after(day: date) -> date:
    return day + timedelta(days=1) if day < date.max else day


@contextmanager
def _progress_bar(label: str) -> Iterator[Progress]:
    """A bar on standard error while a person is watching; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("Reading {task.description}"), BarColumn(), TaskProgressColumn())
    watching = Console(stderr=True)
    with Progress(*columns, Remaining(), console=watching, transient=True) as bar:
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
    _show_declaration(declared)


def _oddities(report: ImportReport) -> Iterator[str]:
    if report.tied:
        share = 100 * report.tied / report.events
        yield (
            f"{report.tied:,} events ({share:.0f} %) share case and time with another: "
            "they keep the order of the file"
        )
    if report.without_time:
        yield f"{report.without_time:,} events have no time"
    if report.without_activity:
        yield f"{report.without_activity:,} events have no activity"
    gaps = [column for column in report.columns if column.missing]
    if gaps:
        most = max(gaps, key=lambda column: column.missing)
        yield (
            f"{len(gaps)} of {len(report.columns)} attributes have missing values "
            f"({most.name}: {most.missing:,})"
        )


def _show_declaration(declared: LogDeclaration) -> None:
    attributes = declared.vocabulary.attributes
    rows = (
        ("log", declared.name),
        ("horizon", f"{declared.first} to {_last_day(declared)}, {declared.timezone}"),
        ("anchor", f"a case counts in the period of its {_anchor_event(declared)} event"),
        ("privacy unit", _unit_text(declared)),
        ("budget", f"ε {declared.block_budget} per {declared.blocks.unit}"),
        ("expected cases", _expected(declared)),
        ("activities", ", ".join(declared.vocabulary.activities)),
        ("attributes", ", ".join(f"{name} ({kind})" for name, kind in attributes.items())),
    )
    for key, value in rows:
        lines = wrap(value, width=80) or [""]
        click.echo(f"  {key:<15} " + f"\n{'':<18}".join(lines))


def _unit_text(declared: LogDeclaration) -> str:
    unit = declared.unit
    if unit.column is None:
        return f"{unit}, {declared.adjacency}"
    return (
        f"{unit}, {declared.adjacency}; further cases of one {unit.column}, and cases without "
        "one, count in no release"
    )


def _anchor_event(declared: LogDeclaration) -> str:
    return {"case end": "last", "case start": "first"}[declared.anchor]


def _expected(declared: LogDeclaration) -> str:
    return f"{declared.expected_cases} per period" if declared.expected_cases else "not declared"


def _last_day(declared: LogDeclaration) -> date:
    return declared.until - timedelta(days=1)


def _day(ts_us: int | None, declared: LogDeclaration) -> str:
    return "?" if ts_us is None else str(day_of(ts_us, declared.zone))
