"""Taking a log into custody: its events, and the declarations that make it answerable.

The owner declares what is public about a log: time zone, horizon, vocabulary,
privacy unit, adjacency, budget. What is not said is proposed from the file and
shown in the report; it becomes a public fact only by this act of the owner's.

Or the owner declares it all before the log is read, in a file of names, kinds and days:

    activities: [Register, Pay]
    attributes: {cost: number, channel: text}
    from: 2024-01-01
    until: 2024-12-31

A dry run of the import writes it (`declaration_text`), the owner deletes what nobody may
know, and the import is held to it (`declared_in`). The last day is part of the horizon.

Events may also stay where they are: a source is looked at once, and declared. Nothing is copied,
and nothing is written there. What the owner says is checked against the source: the columns are
there, and can be read as what they are said to be. What is not said, the horizon and the
activities, is proposed from it, as with an import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from operator import attrgetter
from pathlib import Path
from zoneinfo import ZoneInfo

from pappi.engine import Survey, case_level, source_columns, survey
from pappi.errors import Conflict, DefinitionError, InputError, Option, UsageError
from pappi.eventlog import EARLIEST_US, LATEST_US, EventReader, ImportReport, Profile, Progress
from pappi.ppinot import (
    Entries,
    Field,
    ListOf,
    Problems,
    Record,
    ScalarNode,
    Written,
    file_text,
    one_word_of,
    quoted_text,
    read_document,
)
from pappi.store import (
    ColumnForm,
    EventSource,
    LogDeclaration,
    MappedColumn,
    SourceRead,
    System,
    WorkspaceFiles,
    adopt_events,
    create_events,
    drop_captured,
    drop_events,
    exclusive,
    import_events,
    profile_events,
    require_public,
    same_place,
    secret_name,
    staging,
    stored_logs,
    system_of,
    table_names,
    today,
)
from pappi.values import (
    Grid,
    Kind,
    Period,
    PublicLog,
    Terms,
    Vocabulary,
    day_of,
    did_you_mean,
    listed,
    quoted,
    zone_called,
)

# Beyond these years a time is a mistake, and microseconds no longer fit a float exactly.
EARLIEST, LATEST = date(1800, 1, 1), date(2200, 1, 1)

_INSPECTED = "inspected"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLog:
    """What the owner says about a log at import; None is left to be proposed.

    With a `vocabulary` the log is declared before it is read: the owner names activities,
    attributes and horizon, and nothing else of the file becomes public. Its `keys` are of no
    account here: `keys` are.
    """

    first: date | None = None
    until: date | None = None
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True, repr=False)
class Imported:
    """What came in, and what is now declared about it; or what would be (`inspect_log`).

    The `profile` tells what the data holds: it is for the owner alone.
    """

    report: ImportReport
    declaration: LogDeclaration
    profile: Profile

    def __repr__(self) -> str:
        from pappi.report import count_text, horizon_text

        events = count_text(self.report.events, "event")
        came = f"{events} in {count_text(self.report.cases, 'case')}"
        return (
            f"<Imported {self.declaration.name!r}: {came}, {horizon_text(self.declaration.public)}>"
        )

    def _repr_html_(self) -> str:
        """For the owner: what was read, what was guessed, and what is public by it."""
        from pappi.report import bdi, describe_log, describe_vocabulary, table

        public = self.declaration.public
        came = [
            ("Events", f"{self.report.events:,} in {self.report.cases:,} cases"),
            *(("Guessed", str(guess)) for guess in self.report.guesses),
            *(("Note", notice) for notice in self.report.notices),
        ]
        declared = (*describe_log(public), *describe_vocabulary(public.vocabulary, most=20))
        tables = (
            table(caption, ("", ""), [(label, bdi(text)) for label, text in rows])
            for caption, rows in (
                (f"Read as '{self.declaration.name}': only the owner sees this", came),
                ("Declared: this is public", declared),
            )
        )
        return "".join(map(str, tables))


@dataclass(frozen=True, slots=True)
class Declarations:
    """The workspace a log comes into: what its ledger knows, and the act that makes a log exist."""

    files: WorkspaceFiles
    known: Callable[[], Mapping[str, LogDeclaration]]
    number: Callable[[], int]
    declare: Callable[[LogDeclaration], None]

    def changing(self) -> AbstractContextManager[None]:
        """One log at a time comes in."""
        return exclusive(self.files.root / "import")


def import_log(
    declarations: Declarations, name: str, reader: EventReader, new: NewLog, progress: Progress
) -> Imported:
    """All or nothing: the log exists once its declaration is in the journal.

    One import at a time, from choosing the table to declaring it: of two at once, each
    would take the other's table for a leftover.
    """
    events = declarations.files.events
    with declarations.changing():
        check_terms(name, new, declarations.known())
        sweep_within(declarations)
        table = f"events_{declarations.number()}"
        if new.terms.unit.column is None:
            report = _read(events, table, reader, new, progress)
        else:
            # Apart first: only the events show whether each case is of one person.
            with staging(events) as folder:
                passing = folder / "events"
                report = _read(passing, table, reader, new, progress)
                _require_case_level(passing, table, new.terms.unit.column, _vocabulary(report))
                adopt_events(passing, events, table, _person(new, _vocabulary(report)))
        declaration = _proposed(name, table, report, new)
        profile = profile_events(events, table, declaration.public)
        declarations.declare(declaration)
        return Imported(report, declaration, profile)


def inspect_log(
    declarations: Declarations, name: str, reader: EventReader, new: NewLog, progress: Progress
) -> Imported:
    """What an import would find and declare, refusals included; nothing of it is kept.

    The events are read into a folder of the workspace that is gone afterwards.
    """
    check_terms(name, new, declarations.known())
    with staging(declarations.files.events) as folder:
        passing = folder / "events"
        report = _read(passing, _INSPECTED, reader, new, progress)
        if new.terms.unit.column is not None:
            _require_case_level(passing, _INSPECTED, new.terms.unit.column, _vocabulary(report))
        declaration = _proposed(name, _INSPECTED, report, new)
        profile = profile_events(passing, _INSPECTED, declaration.public)
    return Imported(report, declaration, profile)


def _read(
    events: Path, table: str, reader: EventReader, new: NewLog, progress: Progress
) -> ImportReport:
    def accept(report: ImportReport) -> None:
        """A log that cannot be declared is not imported.

        What was not declared must not even be stored: fails closed if a reader gives more.
        """
        found = _vocabulary(report)
        if new.vocabulary is not None and not (
            found.attributes == dict(new.vocabulary.attributes)
            and {*found.activities} <= {*new.vocabulary.activities}
        ):
            raise ValueError("the log was not opened for what is declared of it")
        _imported_horizon(report, new)
        check_words(new, found)

    try:
        return import_events(events, table, reader, progress, accept)
    except MemoryError:
        raise InputError(
            f"{reader.name}: there is not enough memory to read this log",
            hint="look for extremely long rows or texts; nothing was imported",
        ) from None


def _proposed(name: str, table: str, report: ImportReport, new: NewLog) -> LogDeclaration:
    vocabulary = new.vocabulary or _vocabulary(report)
    return declared(name, table, vocabulary, new, _imported_horizon(report, new))


def sweep(declarations: Declarations) -> frozenset[str]:
    """Drop what interrupted imports left behind before their declaration, and removals after it.

    It is nobody's: no log is erased with it, and none is answered from it.
    """
    with declarations.changing():
        return sweep_within(declarations)


def sweep_within(declarations: Declarations) -> frozenset[str]:
    """The same, within a change that has begun; gives whose events were dropped."""
    files = declarations.files
    kept = {log.data for log in declarations.known().values() if not log.removed}
    left = {*stored_logs(files.events)} - kept
    for data in sorted(left):
        drop_events(files.events, data)
    return frozenset(left.union(drop_captured(files.inbox, kept)))


def create_log(
    declarations: Declarations, name: str, new: NewLog, vocabulary: Vocabulary
) -> LogDeclaration:
    """A log without events: its horizon begins with a block and is empty until time is sealed."""
    with declarations.changing():
        check_terms(name, new, declarations.known())
        if new.first is None or new.until is not None:
            raise UsageError(
                "a log without events has a first day but no last one: it ends where it is sealed",
                hint="give only the first day",
            )
        check_words(new, vocabulary)
        sweep_within(declarations)
        table = f"events_{declarations.number()}"
        person = _person(new, vocabulary)
        create_events(declarations.files.events, table, vocabulary.attributes, person)
        start = new.terms.blocks.start_of(new.first)
        log = declared(name, table, vocabulary, new, (start, start))
        declarations.declare(log)
        return log


def _person(new: NewLog, vocabulary: Vocabulary) -> str | None:
    """What tells persons apart, if it is a text: a number may be written otherwise later."""
    column = new.terms.unit.column
    return column if vocabulary.attributes.get(column or "") is Kind.TEXT else None


def _require_case_level(
    events: Path | SourceRead, table: str, column: str, vocabulary: Vocabulary
) -> None:
    """A case of several persons would count for each: leaving one out would move the others."""
    if case_level(events, table, [column], vocabulary):
        return
    others = case_level(events, table, list(vocabulary.attributes), vocabulary)
    such_as = f" such as {listed(others)}" if others else ", and this log has none"
    raise UsageError(
        f"the attribute {quoted(column)} has more than one value within a case; "
        f"the unit must be a case-level attribute{such_as}",
        hint="choose an attribute with one value per case",
    )


def check_name(name: str, known: Collection[str]) -> None:
    """Refuse what cannot name a log, or names one already."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is not a valid log name",
            hint="use up to 64 letters, digits, - and _, beginning with a letter, as in",
            options=(Option("name", "orders"),),
        )
    if name in known:
        raise UsageError(
            f"there is already a log called '{name}'",
            hint="choose another name",
            options=(Option("name"),),
        )


def check_terms(name: str, new: NewLog, known: Collection[str]) -> None:
    """Refuse what cannot be declared, before anything is read."""
    check_name(name, known)
    for day in (new.first, new.until):
        if day is not None and not EARLIEST <= day <= LATEST:
            raise UsageError(f"a horizon must lie between {EARLIEST} and {LATEST}; {day} does not")
    if new.terms.block_budget.nano == 0:
        raise UsageError("a budget of 0 allows no answers", hint="give each block e.g. 1")
    if new.vocabulary is not None:
        # A declaration is complete: nothing is left for the events to propose.
        if new.first is None or new.until is None:
            raise UsageError(
                "a declaration needs the first and last day of the log",
                hint="use whole blocks, such as months, that cover its events",
                options=(Option("first", flag="from"), Option("until")),
            )
        require_names(new.vocabulary.attributes)
        if (
            new.terms.unit.column is not None
            and new.terms.unit.column not in new.vocabulary.attributes
        ):
            raise UsageError(
                f"{quoted(new.terms.unit.column)}, which identifies persons, is not declared",
                hint="declare this attribute with its kind",
            )
        check_words(new, new.vocabulary)
    zone_called(new.terms.timezone)


def check_words(new: NewLog, vocabulary: Vocabulary) -> None:
    """Refuse a unit, public keys and bounds of attributes that the log does not have."""
    unit, names = new.terms.unit.column, tuple(vocabulary.attributes)
    if unit is not None and unit not in names:
        otherwise = f"its attributes are {listed(names, 'and')}" if names else "it has none"
        raise UsageError(
            f"this log has no attribute {quoted(unit)} to identify persons",
            hint=did_you_mean(unit, names, otherwise),
        )
    _check_weights(new)
    for name in (*new.keys, *new.terms.bounds.attributes):
        if name not in vocabulary.attributes:
            known = f"its attributes are {listed(vocabulary.attributes, 'and')}"
            raise UsageError(
                f"this log has no attribute {quoted(name)}",
                hint=did_you_mean(name, vocabulary.attributes, known),
            )


def _check_weights(new: NewLog) -> None:
    """Weights are those of public keys, and positive."""
    for name, weights in new.terms.weights.items():
        for key, weight in weights.items():
            if key not in new.keys.get(name, ()):
                raise UsageError(
                    f"{quoted(key)} has a weight, but is no public key of {quoted(name)}",
                    hint="declare it among the keys, e.g. --keys country=DE,FR",
                )
            if weight < 1:
                raise UsageError(
                    f"the weight of {quoted(key)} is not positive", hint="write 1 or more"
                )


def declared(
    name: str,
    data: str,
    vocabulary: Vocabulary,
    new: NewLog,
    horizon: tuple[date, date],
    source: EventSource | None = None,
) -> LogDeclaration:
    """A new log, of events in the workspace or at a source."""
    first, until = horizon
    public = PublicLog(
        name=name,
        first=first,
        until=until,
        vocabulary=replace(vocabulary, keys=new.keys),
        terms=new.terms,
    )
    return LogDeclaration(public=public, data=data, table=data, source=source)


def _vocabulary(report: ImportReport) -> Vocabulary:
    return Vocabulary(report.activities, {column.name: column.kind for column in report.columns})


def _imported_horizon(report: ImportReport, new: NewLog) -> tuple[date, date]:
    if not report.events:
        raise InputError("this log has no events", hint="check the export")
    first, last = report.first_us, report.last_us
    if (first is not None and first < EARLIEST_US) or (last is not None and last > LATEST_US):
        raise InputError(
            "this log has times outside the years 1800 to 2200",
            hint="correct them at the source: they would distort durations",
        )
    return _horizon(first, last, new)


def _horizon(
    first_us: int | None, last_us: int | None, new: NewLog, *, grows: bool = False
) -> tuple[date, date]:
    """Whole blocks around the events' time span, where the owner names no dates.

    Of a log that grows, up to its last complete block: later time may still change.
    """
    if first_us is None or last_us is None:
        raise InputError(
            "no event of this log has a time", hint="PPIs need times: they are computed per period"
        )
    zone, blocks = zone_called(new.terms.timezone), new.terms.blocks
    now, over = today(zone), blocks.start_of(today(zone))
    first = new.first or block_of(day_of(first_us, zone), blocks).start
    end = block_of(day_of(last_us, zone), blocks).end
    until = new.until or (min(end, over) if grows else end)
    if grows and until > now:
        raise UsageError(
            f"{until} is not over yet: more events may arrive", hint=f"declare it until {over}"
        )
    if first >= until:
        raise UsageError(f"the horizon from {first} to {until} is empty")
    return first, until


def block_of(day: date, blocks: Grid) -> Period:
    """The block a day lies in."""
    (block,) = blocks.periods(day, day + timedelta(days=1))
    return block


def require_names(attributes: Mapping[str, object]) -> None:
    """Names that the events' own columns do not have, and no two alike but for their case."""
    for name, free in zip(attributes, table_names(attributes), strict=True):
        if name != free or not name.isprintable():
            raise UsageError(
                f"no attribute can be called {quoted(name)} here", hint="choose another name"
            )


# --- a declaration before the log is read --------------------------------------------


_HEAD = (
    "# What becomes public about this log, and nothing else: delete what must stay private.",
    "# Events of other activities stay in their cases, without a name; other attributes are",
    "# left out. The last day is part of the log.",
)


def declared_in(path: Path, new: NewLog) -> NewLog:
    """The terms with what a file declares; DefinitionError with every problem in it."""
    problems = Problems()
    root = read_document(file_text(path, what="a declaration"), str(path), problems.found)
    values = _DECLARATION.read(root, problems)
    if problems.found or values is None:
        places = attrgetter("position.line", "position.column")
        raise DefinitionError(sorted(problems.found, key=places))
    attributes = {name.text: kind for name, kind in values.get(_ATTRIBUTES) or ()}
    last = values.get(_UNTIL)
    return replace(
        new,
        vocabulary=Vocabulary(tuple(dict.fromkeys(values[_ACTIVITIES])), attributes),
        first=values.get(_FROM) or new.first,
        until=new.until if last is None else last + timedelta(days=1),
    )


def declaration_text(log: LogDeclaration) -> str:
    """The declaration file of a log; reading it back gives the same declaration."""
    vocabulary = log.public.vocabulary
    activities = [f"  - {quoted_text(name)}" for name in vocabulary.activities]
    attributes = [f"  {quoted_text(name)}: {kind}" for name, kind in vocabulary.attributes.items()]
    lines = (
        *_HEAD,
        *(("activities:", *activities) if activities else ("activities: []",)),
        *(("attributes:", *attributes) if attributes else ("attributes: {}",)),
        f"from: {log.public.first}",
        f"until: {log.public.until - timedelta(days=1)}",
    )
    return "\n".join(lines) + "\n"


def _day(node: ScalarNode, problems: Problems) -> date | None:
    try:
        return date.fromisoformat(node.text)
    except ValueError:
        problems.add(node.position, f"{quoted(node.text)} is not a calendar day")
        return None


_ACTIVITY_NAME = Written("the name of an activity", lambda node, _: node.text, "Register", r".")
_KIND = one_word_of("the kind of an attribute", {str(kind): kind for kind in Kind})
_DAY = Written("a day", _day, "2024-01-31", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")

_ACTIVITIES = Field(
    "activities",
    ListOf("a list of activities", _ACTIVITY_NAME, least=0),
    "Their names.",
    required=True,
)
_ATTRIBUTES = Field(
    "attributes",
    Record(
        "the attributes",
        (),
        lambda values, _: values.named,
        Entries("the name of an attribute", "write e.g. cost: number", _KIND, r"."),
    ),
    "Attribute names, each with its kind.",
)
_FROM = Field("from", _DAY, "The first day of the log.")
_UNTIL = Field("until", _DAY, "The last day of the log.")
_DECLARATION = Record(
    "a declaration", (_ACTIVITIES, _ATTRIBUTES, _FROM, _UNTIL), lambda values, _: values
)


# --- a log whose events stay where they are -----------------------------------------------


_NUMBERS = (ColumnForm.WHOLE, ColumnForm.FLOAT, ColumnForm.DECIMAL)
_CLOCKS = (ColumnForm.INSTANT, ColumnForm.WALL_CLOCK, ColumnForm.DAY)
_MOST_ACTIVITIES = 10_000
# What a column is read as, by its own form, to be of a kind.
_READ_AS: Mapping[Kind, Mapping[ColumnForm, ColumnForm]] = {
    Kind.TEXT: dict.fromkeys(ColumnForm, ColumnForm.TEXT),
    Kind.TRUTH: {ColumnForm.TRUTH: ColumnForm.TRUTH},
    Kind.NUMBER: {form: form for form in _NUMBERS},
    Kind.DURATION: dict.fromkeys(_NUMBERS, ColumnForm.SECONDS),
    Kind.TIME: {ColumnForm.WHOLE: ColumnForm.MICROSECONDS, **{form: form for form in _CLOCKS}},
}


@dataclass(frozen=True, slots=True)
class SourceMapping:
    """Where the events are and what their columns mean, as the owner says.

    `table` is a name or `schema.name`. Attributes go by their public names, each with
    the column it is in and, where the column leaves it open, its kind. `again` is said of events
    that are a log already, by an owner who means them to have a second budget.
    """

    url: str
    case: str
    activity: str
    time: str
    table: str | None = None
    order: str | None = None
    attributes: Mapping[str, tuple[str, Kind | None]] = field(default_factory=dict)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What was found at the source, and what is now declared about it."""

    survey: Survey
    declaration: LogDeclaration


def add_log(declarations: Declarations, name: str, given: SourceMapping, new: NewLog) -> Added:
    """The log exists once its declaration is in the journal."""
    with declarations.changing():
        known = declarations.known()
        check_terms(name, new, known)
        others = [log for log in known.values() if log.source is not None]
        _require_own_secret(name, given, others)
        mapped = CheckedMapping(name, given, new.terms.timezone)
        source = mapped.source()
        if not given.again:
            # Each log has a budget: the same rows declared twice would have two.
            for other in others:
                if other.source and same_place(other.source, source):
                    raise Conflict(
                        f"these events are already the log {quoted(other.name)}; another log would "
                        "give them a second budget, and what both spend adds up",
                        hint=f"ask about {quoted(other.name)}, or use --again if you want both "
                        "budgets",
                    )
        events = declarations.files.events
        reading = SourceRead(source, scratch=events.with_name(f"{events.name}.tmp"))
        surveyed = survey(reading)
        if len(surveyed.activities) > _MOST_ACTIVITIES:
            raise InputError(
                f"this source has more than {_MOST_ACTIVITIES:,} activities",
                hint="does --activity name the right column?",
            )
        vocabulary = Vocabulary(surveyed.activities, mapped.kinds)
        check_words(new, vocabulary)
        horizon = _horizon(surveyed.first_us, surveyed.last_us, new, grows=True)
        data = f"source_{declarations.number()}"
        log = declared(name, data, vocabulary, new, horizon, source)
        if log.terms.unit.column is not None:
            _require_case_level(reading, log.table, log.terms.unit.column, log.public.vocabulary)
        declarations.declare(log)
        return Added(surveyed, log)


def _require_own_secret(name: str, given: SourceMapping, others: Iterable[LogDeclaration]) -> None:
    """A password that is set for one log must not be sent to the source of another."""
    if system_of(given.url) is System.PARQUET:
        return
    variable = secret_name(name)
    for other in others:
        source = other.source
        if source and source.system is not System.PARQUET and source.secret == variable:
            raise UsageError(
                f"{quoted(name)} and {quoted(other.name)} would take their passwords from the same "
                f"variable, {variable}",
                hint="choose a name that differs by more than -, _ and capital letters",
            )


# --- the owner's column mapping, checked against the source --------------------------


class CheckedMapping:
    """The owner's mapping, checked against the columns of the source."""

    def __init__(self, log: str, given: SourceMapping, timezone: str) -> None:
        self._secret = secret_name(log)
        require_public(given.url, self._secret)
        require_names(given.attributes)
        place = given.url.removeprefix(f"{System.PARQUET}:")
        if _open(given) and "://" not in place:
            # Files by their whole path: the next command may be given elsewhere.
            given = replace(given, url=f"{System.PARQUET}:{Path(place).absolute()}")
        self._given = given
        self._zone = timezone
        self._table = _table(given)
        self._password = None if _open(given) else os.environ.get(self._secret) or None
        self._forms = source_columns(self._given.url, self._table, self._password)
        if not self._forms:
            raise UsageError(
                "the source has no such table, or it may not be read",
                hint="pass --table SCHEMA.TABLE, and check the database user's rights",
            )
        self.kinds = {
            name: kind or self._kind(column) for name, (column, kind) in given.attributes.items()
        }

    def source(self) -> EventSource:
        given = self._given
        return EventSource(
            url=given.url,
            table=self._table,
            case=self._as_text(given.case),
            activity=self._as_text(given.activity),
            time=self._mapped(given.time, Kind.TIME),
            order=(
                None if given.order is None else MappedColumn(given.order, self._form(given.order))
            ),
            attributes={
                name: self._mapped(column, self.kinds[name])
                for name, (column, _) in given.attributes.items()
            },
            secret=self._secret,
            guarded=self._password is not None,
        )

    def _form(self, column: str) -> ColumnForm:
        if column not in self._forms:
            known = f"its columns are {listed(self._forms, 'and')}"
            raise UsageError(
                f"the source has no column {quoted(column)}",
                hint=did_you_mean(column, list(self._forms), known),
            )
        form = self._forms[column]
        if form is None:
            raise UsageError(
                f"the type of column {quoted(column)} cannot be read in place",
                hint="create a view at the source that converts it to text, a number or a time",
            )
        return form

    def _kind(self, column: str) -> Kind:
        form = self._form(column)
        if form in _CLOCKS:
            return Kind.TIME
        return {ColumnForm.TEXT: Kind.TEXT, ColumnForm.TRUTH: Kind.TRUTH}.get(form, Kind.NUMBER)

    def _as_text(self, column: str) -> MappedColumn:
        self._form(column)
        return MappedColumn(column, ColumnForm.TEXT)

    def _mapped(self, column: str, kind: Kind) -> MappedColumn:
        form = self._form(column)
        if form in (ColumnForm.WALL_CLOCK, ColumnForm.DAY) and ZoneInfo(self._zone) != ZoneInfo(
            "UTC"
        ):
            raise UsageError(
                f"the times in {quoted(column)} have no time zone, and the log's zone is not UTC",
                hint="create a view at the source that adds the zone",
            )
        read = _READ_AS[kind].get(form)
        if read is None:
            raise UsageError(
                f"the column {quoted(column)} holds a {form}, not a {kind}",
                hint="choose another column, or another kind",
            )
        return MappedColumn(column, read)


def _table(given: SourceMapping) -> tuple[str, ...]:
    if _open(given):
        if given.table is not None:
            raise UsageError("Parquet files have no table", hint="leave out --table")
        return ()
    if not given.table:
        raise UsageError("a source needs a table", hint="pass --table SCHEMA.TABLE")
    schema, _, name = given.table.rpartition(".")
    if not schema and system_of(given.url) is System.POSTGRES:
        schema = "public"
    return (schema, name) if schema else (name,)


def _open(given: SourceMapping) -> bool:
    """Files are read without a password."""
    return system_of(given.url) is System.PARQUET
