"""`pappi init` and `pappi log`: look at logs, declare, fill, seal, rename and remove them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import (
    AS_JSON,
    Command,
    open_workspace,
    options,
    print_json,
    save,
    workspace_option,
)
from pappi.errors import InputError, UsageError
from pappi.report import (
    count_text,
    describe_log,
    describe_vocabulary,
    horizon_text,
    percent,
    personal_lines,
    printable,
    profile_record,
    profile_text,
    short_profile,
)
from pappi.values import (
    CASE,
    NUMBER,
    UNDER_REPLACE,
    Adjacency,
    Bounds,
    Calendar,
    CaseBorder,
    DefaultBounds,
    Epsilon,
    Grid,
    Kind,
    Per,
    PrivacyUnit,
    Terms,
    Vocabulary,
    day_of,
    duration_unit,
)

if TYPE_CHECKING:
    from pappi.custody import Imported, NewLog, Progress, Selection
    from pappi.eventlog import ImportReport, ReadOptions
    from pappi.store import CapturedEvent, LogDeclaration

_NUMBER = r"([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?)"
_BOUNDS = re.compile(rf"(.{{1,200}})={_NUMBER}\.\.{_NUMBER}\s*([A-Za-z]*)")
_DAY = click.DateTime(["%Y-%m-%d"])
# Of a log that is there as a whole; one that grows ends where it is sealed.
LAST_DAY = click.option("--until", type=_DAY, help="Last day of the horizon.")


def _choice(name: str, choices: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    """An option with a fixed list of values, the first being the default."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


# What is public about the log: the owner's declarations.
declaring_options = options(
    click.option("--from", "first", type=_DAY, help="First day of the horizon."),
    click.option(
        "--unit",
        metavar="COLUMN",
        help="Privacy unit: the attribute that identifies a person in every case. "
        "[default: one case]",
    ),
    click.option(
        "--max-cases",
        type=int,
        metavar="K",
        help="With --unit: contribution bound, the most cases of one person that count.",
    ),
    click.option(
        "--per",
        type=click.Choice(("log", "block")),
        help="With --unit: apply --max-cases to the whole log, or to each block; the "
        "guarantee is then per person and block. [default: log]",
    ),
    _choice(
        "--adjacency",
        ("add-remove", "replace"),
        "Which logs are neighbours: one case added or removed, or one case's content "
        f"replaced. Under replace: {UNDER_REPLACE}",
    ),
    _choice("--anchor", ("case end", "case start"), "The event that decides a case's period."),
    _choice(
        "--blocks",
        ("month", "day", "week", "quarter", "year"),
        "Length of a block: each block has its own budget.",
    ),
    click.option(
        "--budget", default="1", metavar="EPS", help="ε budget of each block. [default: 1]"
    ),
    click.option(
        "--total-budget",
        metavar="EPS",
        help="ε budget of all blocks together. [default: no further limit]",
    ),
    click.option(
        "--keys",
        multiple=True,
        metavar="NAME=A,B",
        help="Public partitions: values of an attribute to group by; repeatable.",
    ),
    click.option(
        "--bounds",
        multiple=True,
        metavar="WHAT=LOW..HIGH",
        help="Default contribution bounds for PPIs that name none: for an attribute, for "
        "'durations', as in durations=0..60 days, or for 'counts'; repeatable.",
    ),
    click.option(
        "--expected-cases",
        type=click.IntRange(min=1),
        help="Expected cases per block, used to predict errors; public.",
    ),
    click.option(
        "--weights",
        multiple=True,
        metavar="NAME=A:5,B:1",
        help="How the expected cases are spread over the --keys of an attribute; repeatable. "
        "[default: evenly]",
    ),
)


def terms_of(given: Mapping[str, Any]) -> NewLog:
    from pappi.custody import NewLog

    first, last = given["first"], given.get("until")
    bounds = dict(map(_bounds, given["bounds"]))
    durations, counts = bounds.pop("durations", None), bounds.pop("counts", None)
    return NewLog(
        first=first.date() if first else None,
        # On the command line the last day is meant to be included.
        until=_day_after(last.date()) if last else None,
        keys=dict(map(_keys, given["keys"])),
        terms=Terms(
            timezone=given["timezone"] or "UTC",
            anchor=CaseBorder(given["anchor"]),
            blocks=Grid(Calendar(given["blocks"])),
            unit=_unit(given["unit"], given["max_cases"], given["per"]),
            adjacency=Adjacency(given["adjacency"]),
            block_budget=Epsilon.of(given["budget"]),
            total_budget=Epsilon.of(given["total_budget"]) if given["total_budget"] else None,
            expected_cases=given["expected_cases"],
            weights=dict(map(_weights, given["weights"])),
            bounds=DefaultBounds(durations, counts, bounds),
        ),
    )


def _keys(given: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = given.partition("=")
    if not name or not values:
        raise UsageError(
            f"'{given}' is not an attribute with its values",
            hint="write e.g. --keys resource=Ann,Bob",
        )
    return name, tuple(dict.fromkeys(value.strip() for value in values.split(",")))


def _weights(given: str) -> tuple[str, dict[str, int]]:
    name, _, pairs = given.partition("=")
    weights = [pair.rpartition(":") for pair in pairs.split(",")]
    if not name or not all(
        key.strip() and weight.strip().isdecimal() for key, _, weight in weights
    ):
        raise UsageError(
            f"'{given}' is not an attribute with the weights of its values",
            hint="write e.g. --weights country=DE:5,FR:1",
        )
    return name, {key.strip(): int(weight) for key, _, weight in weights}


def _bounds(given: str) -> tuple[str, Bounds]:
    match = _BOUNDS.fullmatch(given)
    unit = NUMBER if match is None or not match[4] else duration_unit(match[4])
    low, high = (Fraction(match[2]), Fraction(match[3])) if match else (0, 0)
    if match is None or unit is None or not low < high:
        raise UsageError(
            f"'{given}' is not a pair of bounds",
            hint="write e.g. --bounds 'durations=0..60 days' or --bounds cost=0..5000",
        )
    return match[1], Bounds(unit.read(Fraction(low)), unit.read(Fraction(high)))


def _unit(column: str | None, max_cases: int | None, per: str | None) -> PrivacyUnit:
    if column is None or column == str(CASE):
        if max_cases is not None or per is not None:
            raise UsageError(
                "--max-cases and --per apply to persons: they need --unit COLUMN",
                hint="name the attribute that identifies a person, e.g. --unit patient_id",
            )
        return CASE
    if max_cases is None:
        raise UsageError(
            f"--unit {column} needs --max-cases: the most cases of one person that count",
            hint="there is no sensible default: noise grows in proportion, and cases beyond the "
            "bound are dropped; choose a number that covers most persons",
        )
    return PrivacyUnit(column, max_cases, Per(per or Per.LOG))


def _day_after(day: date) -> date:
    return day + timedelta(days=1) if day < date.max else day


def show_declaration(declared: LogDeclaration) -> None:
    rows = (
        ("log", declared.name),
        *((("read from", declared.source.where),) if declared.source else ()),
        *describe_log(declared.public),
        *describe_vocabulary(declared.public.vocabulary),
    )
    for key, value in rows:
        # An address stays in one piece, to be copied.
        lines = wrap(one_line(value), 80, break_long_words=False, break_on_hyphens=False) or [""]
        click.echo(f"  {one_line(key.lower()):<17} " + f"\n{'':<20}".join(lines))


def one_line(text: str) -> str:
    """A text of names from a file, for a terminal: nothing to obey, and no line of its own."""
    return printable(text).replace("\n", "\ufffd").replace("\t", "\ufffd")


def attribute_and_kind(given: str) -> tuple[str, Kind]:
    name, _, kind = given.rpartition(":")
    if not name or kind not in tuple(Kind):
        raise UsageError(
            f"'{given}' is not an attribute and its kind", hint="write e.g. cost:number"
        )
    return name, Kind(kind)


# --- the commands -------------------------------------------------------------------------


_UNCHANGED_FROM_NOW_ON = "Rows from this time must not change any more: see the guide on sources."


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--ledger",
    envvar="PAPPI_LEDGER_URL",
    metavar="URL",
    help="Keep the ledger in this PostgreSQL database, so that several servers can share it. "
    "[default: a file]",
)
def init(directory: Path, ledger: str | None) -> None:
    """Create a workspace for events, declarations and the budget ledger."""
    from pappi.session import create

    workspace = create(directory, ledger=ledger)
    click.echo(f"Workspace {workspace.root} is ready.")
    click.echo(f"Next: pappi log import FILE --workspace {workspace.root}")


@click.group()
def log() -> None:
    """Event logs: profile, import or create, capture, seal, erase, rename, remove, list."""


# How to read the file: everything here overrides a guess.
_reading_options = options(
    click.option(
        "--clock-zone",
        metavar="ZONE",
        help="Zone whose wall clock the times were read from, if another than --timezone.",
    ),
    click.option(
        "--encoding",
        help="CSV, JSON: how characters are written, e.g. utf-8, utf-16, cp1252. "
        "[default: guessed]",
    ),
    click.option("--delimiter", help="CSV: field delimiter. [default: guessed]"),
    click.option("--sheet", help="Excel: name of the sheet. [default: the first]"),
    click.option("--member", metavar="FILE", help="zip: which file of it. [default: the only one]"),
    click.option(
        "--object-type", metavar="TYPE", help="OCEL: whose objects are the cases, e.g. orders."
    ),
    click.option("--case", help="Column with the case id; not for XES. [default: guessed]"),
    click.option("--activity", help="Column with the activity; not for XES. [default: guessed]"),
    click.option("--timestamp", help="Column with the time; not for XES. [default: guessed]"),
    click.option(
        "--time-of-day",
        metavar="COLUMN",
        help="Column with the time of the day, if --timestamp has the day alone. "
        "[default: guessed]",
    ),
    click.option(
        "--start",
        metavar="COLUMN",
        help="Column with the start of the activity, if --timestamp is its end: each row is "
        "then two events.",
    ),
    click.option(
        "--wide",
        is_flag=True,
        help="Each row is a case, and each column of times an event of the column's name.",
    ),
    click.option(
        "--milestone",
        "--milestones",
        "milestones",
        multiple=True,
        metavar="COLUMN",
        help="With --wide: only these columns are events; repeatable.",
    ),
    click.option(
        "--time-format",
        help="Format of times written as text, e.g. '%d.%m.%Y %H:%M'. [default: guessed]",
    ),
    click.option(
        "--decimal",
        metavar="SIGN",
        help="Decimal separator: comma or point. [default: guessed]",
    ),
    click.option(
        "--skip-invalid",
        is_flag=True,
        help="Leave out, and count, rows without a case or with a time that cannot be read.",
    ),
    click.option(
        "--missing",
        multiple=True,
        help="Text that means 'no value', in CSV and in times written as text; repeatable.",
    ),
    click.option(
        "--z-is-utc", is_flag=True, help="CSV: read a trailing Z as UTC despite --timezone."
    ),
    click.option(
        "--most-columns",
        type=click.IntRange(1),
        help="Refuse files with more. [default: 2,000]",
    ),
    click.option(
        "--longest-text",
        type=click.IntRange(1),
        help="Refuse longer texts. [default: 1,000,000 characters]",
    ),
)
# What is public of the file: declared before it is read, or looked at before it is declared.
_beforehand_options = options(
    click.option(
        "--dry-run",
        is_flag=True,
        help="Show what would become public; import and declare nothing.",
    ),
    click.option(
        "--write",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="With --dry-run: write a declaration that you can edit.",
    ),
    click.option(
        "--declaration",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Declaration file (YAML or JSON) of activities, attributes and days: nothing "
        "else in the log becomes public.",
    ),
    click.option(
        "--select-epsilon",
        metavar="EPS",
        help="Treat the declared names as candidates, and privately select those that "
        "enough cases have, for this ε in every block.",
    ),
    click.option(
        "--names-per-case",
        type=click.IntRange(1),
        metavar="K",
        help="With --select-epsilon: the most candidates that one case counts for.",
    ),
    click.option(
        "--declare-activity",
        multiple=True,
        metavar="NAME",
        help="Declare an activity here instead of in a file, with --from and --until; repeatable.",
    ),
    click.option(
        "--declare-attribute",
        multiple=True,
        metavar="NAME:KIND",
        help="An attribute and its kind: number, text, truth, time or duration; repeatable.",
    ),
)


@log.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the log. [default: the file's name]")
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Time zone of the log, e.g. Europe/Amsterdam: for where days begin and, unless "
    "--clock-zone is given, for wall-clock times. [default: UTC]",
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
    """Import an event log and declare what is public about it.

    FILE is XES, CSV, Parquet, Excel, JSON lines or OCEL, alone or in a .zip.

    With --dry-run, only show what would be declared.
    """
    if write is not None and not dry_run:
        raise UsageError(
            "--write needs --dry-run", hint="look first, then import with --declaration"
        )
    reading, new, selection = _reading(given), _declared_terms(given), _selection(given)
    if selection is not None and (dry_run or new.vocabulary is None):
        raise UsageError(
            "selecting names costs budget, so a dry run cannot do it",
            hint="list the candidates in a file and pass it with --declaration",
        )
    opened = open_workspace(workspace)
    if selection is not None:
        with _progress_bar(printable(file.name)) as progress:
            new = opened.select_names(
                file, new, selection, name, options=reading, progress=progress
            )
    with _progress_bar(printable(file.name)) as progress:
        read = opened.inspect_log if dry_run else opened.import_log
        imported = read(file, name, options=reading, new=new, progress=progress)
    if write is not None:
        from pappi.custody import declaration_text

        save(declaration_text(imported.declaration), write, force=True)
    if as_json:
        report = imported.report
        print_json(
            {
                "dry_run": dry_run,
                "log": imported.declaration.name,
                "events": report.events,
                "cases": report.cases,
                "tied_events": report.tied,
                "events_without_time": report.without_time,
                "events_without_activity": report.without_activity,
                "missing": {column.name: column.missing for column in report.columns},
                "guesses": [str(guess) for guess in report.guesses],
                "notices": report.notices,
                "declared": imported.declaration.to_json(),
                "profile": profile_record(imported.profile),
            }
        )
        return
    _show_import(imported, dry_run=dry_run)
    if name is None and imported.declaration.name != file.name.split(".")[0]:
        _say(
            f"The log is called '{imported.declaration.name}', because {file.name} is not a valid"
            " name (change with --name)."
        )
    if dry_run:
        click.echo("Nothing was imported, and nothing is public yet.")
        if write is None:
            click.echo("Next: repeat with --write FILE to get a declaration that you can edit.")
        else:
            where = f"{shlex.quote(str(file))} --declaration {shlex.quote(str(write))}"
            click.echo(
                printable(
                    f"Next: edit {write}, then: pappi log import {where} (with the same options)"
                )
            )


def _declared_terms(given: Mapping[str, Any]) -> NewLog:
    """What the options say, and what they, or a file, declare beforehand."""
    from pappi.custody import declared_in

    new = terms_of(given)
    activities, attributes = given["declare_activity"], given["declare_attribute"]
    if activities or attributes:
        vocabulary = Vocabulary(
            tuple(dict.fromkeys(activities)), dict(map(attribute_and_kind, attributes))
        )
        new = replace(new, vocabulary=vocabulary)
    if given["declaration"] is None:
        return new
    if new.vocabulary is not None or new.first is not None or new.until is not None:
        raise UsageError(
            "the declaration file already names activities, attributes and days",
            hint="leave out --declare-activity, --declare-attribute, --from and --until",
        )
    return declared_in(given["declaration"], new)


def _selection(given: Mapping[str, Any]) -> Selection | None:
    from pappi.custody import Selection

    epsilon, names = given["select_epsilon"], given["names_per_case"]
    if epsilon is None and names is None:
        return None
    if epsilon is None or names is None:
        raise UsageError(
            "a selection needs --select-epsilon and --names-per-case",
            hint="--names-per-case is roughly how many of the names a case has; the noise is "
            "proportional to it",
        )
    return Selection(Epsilon.of(epsilon), names)


def _reading(given: Mapping[str, Any]) -> ReadOptions:
    from pappi.eventlog import ReadOptions

    said = {
        option.name: given[option.name]
        for option in fields(ReadOptions)
        if given[option.name] not in (None, ())
    }
    said["timezone"] = given["clock_zone"] or given["timezone"]
    if given["delimiter"] in ("\\t", "tab"):
        said["delimiter"] = "\t"
    return ReadOptions(**said)


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
    if dry_run:
        _say("")
        _say("From the data, for the owner only:")
        for line in profile_text(imported.profile).split("\n"):
            _say(line)
        return
    for line in personal_lines(imported.profile):
        _say(line)
    advice = list(short_profile(imported.profile))
    if advice:
        _say("")
        _say("Suggested declarations, based on the data (see pappi log profile):")
        for line in advice:
            _say(f"  {line}")
        _say(f"Until something is released, undo this with: pappi log remove {declared.name}")


def _say(line: str) -> None:
    """Names come from the file: a terminal must not obey them."""
    click.echo(one_line(line))


def _oddities(report: ImportReport) -> Iterator[str]:
    if report.tied:
        share = percent(report.tied / report.events)
        yield (
            f"{report.tied:,} events ({share}) have the same case and time as another: "
            "they keep the order of the file"
        )
    if report.without_time:
        yield (
            f"{_events(report.without_time)} no time: they come last in their cases and count "
            "there; a case without any time is in no period"
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
    return "?" if ts_us is None else str(day_of(ts_us, declared.terms.zone))


@log.command("list")
@workspace_option
@AS_JSON
def list_(workspace: str | None, *, as_json: bool) -> None:
    """List the logs of the workspace."""
    logs = open_workspace(workspace).logs()
    if as_json:
        print_json({"logs": [log.to_json() for log in logs]})
        return
    for declared in logs:
        gone = "; removed, its releases can be replayed" if declared.removed else ""
        where = f"{horizon_text(declared.public)}, {declared.terms.timezone}"
        click.echo(f"{declared.name}: {where}{gone}")
    if not logs:
        click.echo("No logs yet. Import one with: pappi log import FILE")


@log.command()
@click.argument("name")
@workspace_option
@AS_JSON
def describe(name: str, workspace: str | None, *, as_json: bool) -> None:
    """Show what is declared about a log, and therefore public."""
    declared = open_workspace(workspace).log(name)
    if as_json:
        print_json(declared.to_json())
    else:
        show_declaration(declared)


@log.command()
@click.argument("name")
@click.option("--timezone", metavar="ZONE", help="Time zone of the log's days. [default: UTC]")
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
    """Declare an empty log that will capture events. It needs --from."""
    vocabulary = Vocabulary(tuple(activities), dict(map(attribute_and_kind, attributes)))
    custody = open_workspace(workspace).custody
    created = custody.create_log(name, terms_of(given), vocabulary)
    click.echo("Declared, and therefore public from now on:")
    show_declaration(created)
    click.echo(f"Next: pappi log capture {name} EVENTS.ndjson")


@log.command()
@click.argument("name")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@workspace_option
def capture(name: str, file: Iterator[str], workspace: str | None) -> None:
    """Capture events from FILE, one JSON object per line; repeated events count once."""
    custody = open_workspace(workspace).custody
    accepted = duplicates = 0
    for batch in _batches(file):
        captured = custody.capture(name, batch)
        accepted += captured.accepted
        duplicates += captured.duplicates
    click.echo(f"{accepted:,} events captured, {duplicates:,} were already there.")
    click.echo(f"They can be queried once their time is sealed: pappi log seal {name}")


@log.command()
@click.argument("name")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Seal all days before this one. [default: all complete blocks, if the log captures "
    "events]",
)
@workspace_option
def seal(name: str, until: datetime | None, workspace: str | None) -> None:
    """Seal captured time so that it can be queried. Events that arrive later are never used."""
    opened = open_workspace(workspace)
    sealed = opened.custody.seal(name, until.date() if until else None)
    upto = f"'{sealed.log}' is sealed up to {sealed.until}"
    if opened.log(name).source is not None:
        click.echo(f"{upto}. {_UNCHANGED_FROM_NOW_ON}")
    else:
        cases, events = count_text(sealed.cases, "more case"), count_text(sealed.events, "event")
        click.echo(f"{upto}: {cases} with {events}.")
    if sealed.late:
        click.echo(f"{count_text(sealed.late, 'event')} came too late and will not be used.")
    click.echo("Next: pappi subscription run")


@log.command()
@click.argument("name")
@click.option("--case", "cases", multiple=True, help="A case's id; repeatable.")
@click.option("--person", "persons", multiple=True, help="A person; repeatable.")
@click.option("--block", "blocks", multiple=True, help="A block, e.g. 2024-03; repeatable.")
@click.confirmation_option(prompt="Erased events cannot be recovered. Continue?")
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
    counts = f"{count_text(erased.cases, 'case')} with {count_text(erased.events, 'event')}"
    click.echo(f"Erased {counts} from '{name}'.")


@log.command("withdraw-name")
@click.argument("name")
@click.option("--activity", "activities", multiple=True, help="An activity's name; repeatable.")
@click.option("--attribute", "attributes", multiple=True, help="An attribute's name; repeatable.")
@workspace_option
def withdraw_name(
    name: str, activities: Sequence[str], attributes: Sequence[str], workspace: str | None
) -> None:
    """Withdraw public names that no release, subscription or saved query uses."""
    custody = open_workspace(workspace).custody
    declared = custody.withdraw_names(name, activities, attributes)
    click.echo("New queries cannot use them, and they are no longer shown.")
    click.echo("They were public until now: anyone who has seen these names still knows them.")
    show_declaration(declared)


def _batches(lines: Iterator[str]) -> Iterator[list[CapturedEvent]]:
    from pappi.custody import MOST_EVENTS, event_of

    def event(number: int, line: str) -> CapturedEvent:
        try:
            written = json.loads(line)
        except (ValueError, RecursionError):
            hint = "write one event per line"
            raise InputError(f"line {number} is not JSON", hint=hint) from None
        return event_of(written, number)

    events = (event(number, line) for number, line in enumerate(lines, 1) if line.strip())
    while batch := list(islice(events, MOST_EVENTS)):
        yield batch


@log.command()
@click.argument("name")
@click.option(
    "--source",
    required=True,
    metavar="URL",
    help="postgresql://user@host/database, sc://host:15002 (Spark Connect) or "
    "parquet:FOLDER/*.parquet. No password here: it comes from the environment.",
)
@click.option("--table", help="The table, or SCHEMA.TABLE; Parquet files have none.")
@click.option("--case", required=True, metavar="COLUMN", help="Column with the case id.")
@click.option("--activity", required=True, metavar="COLUMN", help="Column with the activity.")
@click.option("--time", required=True, metavar="COLUMN", help="Column with the time.")
@click.option(
    "--order", metavar="COLUMN", help="Column that orders events with the same case and time."
)
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
    help="Declare the same events a second time, with a second budget: what both spend adds up.",
)
@click.option("--timezone", metavar="ZONE", help="Time zone of the log's days. [default: UTC]")
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
    from pappi.custody import SourceMapping

    mapped = _attributes(attributes)
    place = SourceMapping(source, case, activity, time, table, order, mapped, again)
    added = open_workspace(workspace).custody.add_log(name, place, terms_of(given))
    survey, declared = added.survey, added.declaration
    click.echo(
        f"'{declared.name}' has {survey.events:,} events in {survey.cases:,} cases. They stay at "
        "the source."
    )
    click.echo("Declared, and therefore public from now on:")
    show_declaration(declared)
    click.echo(_UNCHANGED_FROM_NOW_ON)


def _attributes(given: Sequence[str]) -> dict[str, tuple[str, Kind | None]]:
    columns: dict[str, tuple[str, Kind | None]] = {}
    for text in given:
        written, colon, word = text.rpartition(":")
        kind = Kind(word) if colon and word in tuple(Kind) else None
        name, _, column = (written if kind else text).partition("=")
        if not name:
            raise UsageError(f"'{text}' names no attribute", hint="write e.g. cost=cost_eur:number")
        if name in columns:
            raise UsageError(
                f"the attribute '{name}' is named twice",
                hint="give each column its own attribute, e.g. cost=cost_eur paid=cost_paid",
            )
        columns[name] = (column or name, kind)
    return columns


# --- what the owner looks at, and takes back ----------------------------------------------


@log.command()
@click.argument("what", metavar="NAME|FILE")
@click.option(
    "--timezone", metavar="ZONE", help="Of a file: time zone of its times and days. [default: UTC]"
)
@_reading_options
@_choice("--anchor", ("case end", "case start"), "Of a file: the event that decides the period.")
@_choice(
    "--blocks", ("month", "day", "week", "quarter", "year"), "Of a file: the length of a block."
)
@workspace_option
@AS_JSON
def profile(
    what: str,
    anchor: str,
    blocks: str,
    workspace: str | None,
    *,
    as_json: bool,
    **given: object,
) -> None:
    """Owner only: what a log holds, and what to declare about it. Reads the data.

    FILE is a log that is not imported yet: nothing of it is kept. For an imported log, by its
    NAME, it goes on record that its profile was viewed.
    """
    from pappi.custody import NewLog

    opened = open_workspace(workspace)
    names = {declared.name for declared in opened.logs()}
    if what in names or (not Path(what).exists() and Path(what).name == what and "." not in what):
        log_profile = opened.profile(what)
    else:
        zone = str(given["timezone"] or "UTC")
        terms = Terms(timezone=zone, anchor=CaseBorder(anchor), blocks=Grid(Calendar(blocks)))
        with _progress_bar(printable(Path(what).name)) as progress:
            log_profile = opened.inspect_log(
                Path(what), options=_reading(given), new=NewLog(terms=terms), progress=progress
            ).profile
    if as_json:
        print_json(profile_record(log_profile))
        return
    for line in profile_text(log_profile).split("\n"):
        _say(line)
    click.echo(
        "\nThis comes from the data and is for the owner only. What you declare becomes public."
    )


@log.command()
@click.argument("name")
@click.argument("new_name", metavar="NEW-NAME")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def rename(name: str, new_name: str, workspace: str | None, *, yes: bool) -> None:
    """Owner only: give a log another name, as long as nothing was charged for it."""
    opened = open_workspace(workspace)
    opened.custody.check_rename(name, new_name)  # nobody is asked about what would be refused
    if not yes:
        click.echo(f"Analysts' files that say 'log: {name}' no longer find it.")
        click.confirm(f"Rename '{name}' to '{new_name}'?", abort=True)
    opened.rename_log(name, new_name)
    click.echo(f"'{name}' is now called '{new_name}'. Queries saved about it must be saved again.")


@log.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def remove(name: str, workspace: str | None, *, yes: bool) -> None:
    """Owner only: remove a log and delete its events from disk.

    If nothing was charged for it, its name is free afterwards. Otherwise what was charged and
    released stays on record and can be replayed, and the name stays taken.
    """
    opened = open_workspace(workspace)
    if not yes:
        click.echo("Its events are deleted from disk, and its subscriptions end.")
        click.echo("What was charged stays charged; what was released stays on record.")
        click.confirm(f"Remove '{name}' permanently?", abort=True)
    removed = opened.remove_log(name)
    if removed.charged:
        click.echo(f"The events of '{name}' are deleted. Its releases can still be replayed.")
        click.echo("The name stays taken, so that its budget cannot be spent a second time.")
    else:
        click.echo(f"'{name}' is removed. Nothing was charged for it: its name is free.")
    click.echo("Backups of the workspace still contain its events: delete those too.")
