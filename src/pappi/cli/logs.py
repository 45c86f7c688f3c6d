"""`pappi init` and `pappi log`: what the owner does."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.declaring import (
    LAST_DAY,
    attribute_and_kind,
    declaring_options,
    horizon_text,
    one_line,
    show_declaration,
    terms_of,
)
from pappi.cli.options import AS_JSON, Command, open_workspace, workspace_option
from pappi.errors import InputError, UsageError
from pappi.report.plain import plain
from pappi.values.periods import day_of

if TYPE_CHECKING:
    from pappi.custody.imports import Imported, Progress, Terms
    from pappi.custody.selection import Selection
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
            click.option("--case", help="Column with the case id; not for XES. [default: guessed]"),
            click.option(
                "--activity", help="Column with the activity; not for XES. [default: guessed]"
            ),
            click.option(
                "--timestamp", help="Column with the time; not for XES. [default: guessed]"
            ),
            click.option(
                "--time-format",
                help="How times are written that are texts, e.g. '%d.%m.%Y %H:%M'. "
                "[default: guessed]",
            ),
            click.option(
                "--missing",
                multiple=True,
                help="Text for 'no value', in CSV and in times that are texts; repeatable.",
            ),
            click.option("--z-is-utc", is_flag=True, help="CSV: trust a Z despite --timezone."),
            click.option(
                "--most-columns", type=click.IntRange(1), help="Refuse more. [default: 2,000]"
            ),
            click.option(
                "--longest-text",
                type=click.IntRange(1),
                help="Refuse longer ones. [default: 1,000,000 characters]",
            ),
        )
    ):
        command = option(command)
    return command


def _beforehand_options(command: Command) -> Command:
    """What is public of the file: said before it is read, or looked at before it is said."""
    for option in reversed(
        (
            click.option(
                "--dry-run",
                is_flag=True,
                help="Show what would become public; take nothing in, declare nothing.",
            ),
            click.option(
                "--write",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="With --dry-run: write it as a declaration, to be edited.",
            ),
            click.option(
                "--declaration",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="Activities, attributes and days in YAML or JSON: nothing else of the log "
                "becomes public.",
            ),
            click.option(
                "--select-epsilon",
                metavar="EPS",
                help="Take what is declared for candidates, and declare those that enough cases "
                "have, at this price in every block.",
            ),
            click.option(
                "--names-per-case",
                type=click.IntRange(1),
                metavar="K",
                help="With --select-epsilon: for how many candidates one case counts at most.",
            ),
            click.option(
                "--declare-activity",
                multiple=True,
                metavar="NAME",
                help="The same on the command line, with --from and --until: an activity; "
                "repeatable.",
            ),
            click.option(
                "--declare-attribute",
                multiple=True,
                metavar="NAME:KIND",
                help="An attribute and its kind: number, text, truth, time or duration; "
                "repeatable.",
            ),
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
@_beforehand_options
@declaring_options
@LAST_DAY
@workspace_option
@AS_JSON
def import_(
    file: Path,
    name: str | None,
    write: Path | None,
    workspace: str | None,
    *,
    dry_run: bool,
    as_json: bool,
    **given: object,
) -> None:
    """Import an event log (XES, CSV, Parquet) and declare what is public about it.

    With --dry-run, show it, and declare nothing.
    """
    if write is not None and not dry_run:
        raise UsageError(
            "--write goes with --dry-run", hint="look first, then import with --declaration"
        )
    options, terms, selection = _options(given), _declared_terms(given), _selection(given)
    if selection is not None and (dry_run or terms.vocabulary is None):
        raise UsageError(
            "names are selected from a declaration, and paid for: not in a dry run",
            hint="list the candidates in a file, and name it as --declaration",
        )
    door = open_workspace(workspace)
    if selection is not None:
        with _progress_bar(plain(file.name)) as progress:
            terms = door.select_names(
                file, terms, selection, name, options=options, progress=progress
            )
    with _progress_bar(plain(file.name)) as progress:
        read = door.inspect_log if dry_run else door.import_log
        imported = read(file, name, options=options, terms=terms, progress=progress)
    if write is not None:
        _write_declaration(write, imported.declaration)
    if as_json:
        click.echo(json.dumps({"dry_run": dry_run, **_import_record(imported)}, indent=2))
        return
    _show_import(imported, dry_run=dry_run)
    if dry_run:
        _say_how_to_go_on(file, write)


def _declared_terms(given: Mapping[str, Any]) -> Terms:
    """What the options say, and what they, or a file, declare beforehand."""
    from pappi.custody.beforehand import declared_in
    from pappi.values.vocabulary import Vocabulary

    terms = terms_of(given)
    activities, attributes = given["declare_activity"], given["declare_attribute"]
    if activities or attributes:
        vocabulary = Vocabulary(
            tuple(dict.fromkeys(activities)), dict(map(attribute_and_kind, attributes))
        )
        terms = replace(terms, vocabulary=vocabulary)
    if given["declaration"] is None:
        return terms
    if terms.vocabulary is not None or terms.first is not None or terms.until is not None:
        raise UsageError(
            "a declaration names activities, attributes and days itself",
            hint="leave out --declare-activity, --declare-attribute, --from and --until",
        )
    return declared_in(given["declaration"], terms)


def _selection(given: Mapping[str, Any]) -> Selection | None:
    from pappi.custody.selection import Selection
    from pappi.values.epsilon import Epsilon

    epsilon, names = given["select_epsilon"], given["names_per_case"]
    if epsilon is None and names is None:
        return None
    if epsilon is None or names is None:
        raise UsageError(
            "a selection needs --select-epsilon and --names-per-case",
            hint="the noise is in proportion to the second: how many of the names a case has, "
            "roughly",
        )
    return Selection(Epsilon.of(epsilon), names)


def _write_declaration(path: Path, declared: LogDeclaration) -> None:
    from pappi.custody.beforehand import declaration_text

    try:
        path.write_text(declaration_text(declared), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _say_how_to_go_on(file: Path, written: Path | None) -> None:
    click.echo("Nothing was taken in, and nothing is public yet.")
    if written is None:
        click.echo("Next: the same with --write FILE, to have a declaration to edit.")
    else:
        where = f"{shlex.quote(str(file))} --declaration {shlex.quote(str(written))}"
        click.echo(
            plain(f"Next: edit {written}, then: pappi log import {where} (and the same options)")
        )


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
        **{name: given[name] for name in ("most_columns", "longest_text") if given[name]},
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


def _show_import(imported: Imported, *, dry_run: bool) -> None:
    report, declared = imported.report, imported.declaration
    done = "Would import" if dry_run else "Imported"
    _say(
        f"{done} {report.events:,} events in {report.cases:,} cases as '{declared.name}', "
        f"{_day(report.first_us, declared)} to {_day(report.last_us, declared)}."
    )
    for line in _oddities(report):
        _say(f"  {line}")
    for guess in report.guesses:
        option = guess.option.replace("_", "-")
        _say(f"  guessed {guess.what}: {guess.guess} (change with --{option})")
    for notice in report.notices:
        _say(f"  note: {notice}")
    if dry_run:
        _say("Would be declared, and therefore public:")
    else:
        _say("Declared, and therefore public from now on:")
    show_declaration(declared)


def _say(line: str) -> None:
    """Names come from the file: a terminal must not obey them."""
    click.echo(one_line(line))


def _oddities(report: ImportReport) -> Iterator[str]:
    if report.tied:
        share = 100 * report.tied / report.events
        yield (
            f"{report.tied:,} events ({share:.0f} %) share case and time with another: "
            "they keep the order of the file"
        )
    if report.without_time:
        yield (
            f"{_events(report.without_time)} no time: they come last in their cases and "
            "count there; a case without any time is in no period"
        )
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
