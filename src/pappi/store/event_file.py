"""The workspace's events: a folder of DuckDB files, changed one at a time, all or nothing.

    events_3.json        the log's list: the parts of each version that is kept
    events_3-1.duckdb    a part: a run of the log's events, whole cases each, in the log's order
    events_3-2.duckdb    another, of what was sealed since

A part is written once and never changed. New ones are made in a staging folder next to the events
and moved to their places, where nobody knows them yet; then the log's list takes the place of the
one before in one atomic step, and that is the change. Whatever goes wrong before that step, even a
power cut, leaves the log as it was. Files that no list names are nobody's, and deleted by the
next change. So what a change costs depends on what it writes, not on what is there, and no log on
another. Connections that are open meanwhile go on seeing the old content; open a new one to see
the new. The lock is the operating system's and dies with its holder, so whatever an earlier change
left behind can be swept as soon as the lock is held.

Attribute names are anything a source system allows; the database folds upper and lower case
together and the canonical columns are taken. Whoever comes later gets a number, so that every
attribute keeps a column of its own.

Where a text tells persons apart, a part also has a row for each case, with the number of its
person in that part (`cases`, `persons`): so a release need not read whose every event is. Logs
of earlier versions are without.

`Lookup` finds cases by anchor, by person, by id. `require_events` says whether they can be read: it
looks at files, the names and types of columns, never at a row, so no refusal depends on data.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import CASE, TIME
from pappi.store.workspace import sync_folder, write_durably
from pappi.values import CaseBorder, Kind

POSITION = "pos"
FIRST_POSITION = "first_pos"
CANONICAL = ("case_id", POSITION, "ts_us", "activity")
STORED = (*CANONICAL, FIRST_POSITION)
# Not a column, but what conditions call the time of an event: it must not mean two things.
RESERVED = (*STORED, "timestamp")


def table_names(wanted: Iterable[str]) -> tuple[str, ...]:
    """The names as they can stand in the table, in the same order.

    >>> table_names(["cost", "Cost", "POS", "timestamp", ""])
    ('cost', 'Cost (2)', 'POS (2)', 'timestamp (2)', 'unnamed')
    """
    taken = {name.casefold() for name in RESERVED}
    names = []
    for name in wanted:
        wanted_name = name or "unnamed"
        candidate, number = wanted_name, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{wanted_name} ({number})"
        chosen = candidate
        taken.add(chosen.casefold())
        names.append(chosen)
    return tuple(names)


# --- names as SQL, always quoted: an attribute may be called anything ----------------


def column(name: str, of: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=of, quoted=True)


def table(name: str, catalog: str | None = None) -> exp.Table:
    identifier = exp.to_identifier(name, quoted=True)
    if catalog is None:
        return exp.Table(this=identifier)
    return exp.Table(
        this=identifier,
        db=exp.to_identifier("main", quoted=True),
        catalog=exp.to_identifier(catalog, quoted=True),
    )


def attach(path: str, catalog: str) -> str:
    name = exp.to_identifier(catalog, quoted=True).sql("duckdb")
    return f"ATTACH {exp.Literal.string(path).sql('duckdb')} AS {name}"


def detach(catalog: str) -> str:
    return f"DETACH {exp.to_identifier(catalog, quoted=True).sql('duckdb')}"


# --- one change at a time, among threads and among processes -------------------------


if sys.platform == "win32":
    import msvcrt

    def _acquire(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def exclusive(events: Path) -> Iterator[None]:
    """Holds the right to change these events, or says that somebody else does."""
    with _lock_file(events) as file:
        try:
            _acquire(file)
        except OSError:
            raise WorkspaceError(
                "another import, seal or deletion is changing this workspace",
                hint="wait until it has finished, then try again",
            ) from None
        yield


def _lock_file(events: Path) -> BinaryIO:
    try:
        return events.with_name(f".{events.name}.lock").open("ab")
    except OSError as error:
        raise WorkspaceError(
            f"the folder of {events.name} cannot be written: {error.strerror}",
            hint="check that the workspace exists and that you may write to it",
        ) from None


@contextmanager
def staging(events: Path) -> Iterator[Path]:
    """A folder for work in progress, ours alone, gone afterwards; sweeps what was left."""
    with exclusive(events):
        prefix = f".{events.name}.staging-"
        for entry in list(events.parent.iterdir()):
            if entry.name.startswith(prefix):
                shutil.rmtree(entry, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=events.parent) as folder:
            yield Path(folder)


FULL = "check the free space on the disk; nothing was changed"
_AGAIN = "try again: what was deleted may still be on the disk"


@contextmanager
def changing(events: Path) -> Iterator[Path]:
    """A folder to write new parts in; with the database's own failures explained."""
    try:
        with staging(events) as folder:
            yield folder
    except duckdb.Error as error:
        raise WorkspaceError(
            "the events could not be changed",
            hint=FULL,
            detail=str(error),
        ) from error


@contextmanager
def explained(hint: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            f"the events could not be changed: {error.strerror}", hint=hint, detail=str(error)
        ) from error


# --- the files of a log --------------------------------------------------------------


EVENTS, CASES, PERSONS = "events", "cases", "persons"
"""What the tables of a part are called."""
_PART = "part"
_LIST = ".json"
_PART_FILE = re.compile(r"(.+)-([0-9]+)\.duckdb")
_HINT = "nothing was charged; the owner restores the events from a backup, or imports the log again"


@dataclass(frozen=True, slots=True)
class Versioned:
    """The name of a version of a log, taken apart.

    >>> Versioned.of("events_3_v2")
    Versioned(base='events_3', number=2)
    >>> Versioned.of("events_3").next.name
    'events_3_v2'
    """

    base: str
    number: int

    @classmethod
    def of(cls, name: str) -> Versioned:
        match = re.fullmatch(r"(.+)_v([0-9]+)", name)
        return cls(name, 1) if match is None else cls(match[1], int(match[2]))

    @property
    def next(self) -> Versioned:
        return Versioned(self.base, self.number + 1)

    @property
    def name(self) -> str:
        return self.base if self.number == 1 else f"{self.base}_v{self.number}"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of events: the last position in it, and how many seals it is of; 0 for an import's."""

    file: str
    last: int
    seals: int


@dataclass(frozen=True, slots=True)
class PartsList:
    """The parts of each version of a log, in the order of its events.

    `person` is the text that tells persons apart, if every part has its cases with their persons.
    """

    base: str
    versions: Mapping[int, tuple[Part, ...]]
    person: str | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(part for parts in self.versions.values() for part in parts))

    def of(self, version: Versioned) -> tuple[Part, ...]:
        if version.number not in self.versions:
            raise WorkspaceError(
                f"the events have no {version.name}",
                hint="they do not belong to this ledger: restore both from the same backup",
            )
        return self.versions[version.number]

    def new_files(self) -> Iterator[str]:
        """Names that no part of the log has had: whoever still looks for one finds no other."""
        numbers = (_PART_FILE.fullmatch(part.file) for part in self.parts)
        number = max((int(match[2]) for match in numbers if match), default=0)
        while True:
            number += 1
            yield f"{self.base}-{number}.duckdb"

    def to_json(self) -> dict[str, object]:
        person = {} if self.person is None else {"person": self.person}
        return person | {
            "parts": {part.file: [part.last, part.seals] for part in self.parts},
            "versions": {
                str(number): [part.file for part in parts]
                for number, parts in self.versions.items()
            },
        }

    @classmethod
    def read(cls, events: Path, base: str) -> PartsList:
        path = events / f"{base}{_LIST}"
        try:
            written = json.loads(path.read_bytes())
            parts = {
                file: Part(file, *map(int, of))
                for file, of in written["parts"].items()
                if _belongs(file, base)
            }
            versions = {
                int(number): tuple(parts[file] for file in files)
                for number, files in written["versions"].items()
            }
            person = None if "person" not in written else str(written["person"])
        except OSError as error:
            raise WorkspaceError(
                f"the events file {path.name} is missing", hint=_HINT, detail=str(error)
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WorkspaceError(
                f"the events file {path.name} is damaged", hint=_HINT, detail=str(error)
            ) from None
        return cls(base, versions, person)


def _belongs(file: str, base: str) -> bool:
    match = _PART_FILE.fullmatch(file)
    return match is not None and match[1] == base and Path(file).name == file


def stored_logs(events: Path) -> tuple[str, ...]:
    """The logs that have files here, whether a list names them or not."""
    if not events.exists():
        return ()
    names = [path.name for path in events.iterdir()]
    of_parts = (match[1] for match in map(_PART_FILE.fullmatch, names) if match)
    lists = (name.removesuffix(_LIST) for name in names if name.endswith(_LIST))
    return tuple(sorted({*of_parts, *lists}))


def event_files(events: Path) -> tuple[Path, ...]:
    """What holds the events: every list, and every part that it names."""
    lists = sorted(events.glob(f"*{_LIST}")) if events.exists() else []
    logs = [PartsList.read(events, path.name.removesuffix(_LIST)) for path in lists]
    return (*lists, *(events / part.file for log in logs for part in log.parts))


@dataclass(frozen=True, slots=True)
class Successor:
    """What a log is to be next: new parts, still in a staging folder, and the list of them all."""

    events: Path
    log: PartsList
    new: Collection[Path]

    def swap_in(self) -> None:
        self.place()
        self.take_place()
        self.sweep()

    def place(self) -> None:
        """Moves the finished, closed parts to where the list will look for them, durably."""
        if self.log.person is not None:
            for part in self.new:
                _add_cases(part, self.log.person)
        with explained(FULL):
            self.events.mkdir(mode=0o700, exist_ok=True)
            for part in self.new:
                part.chmod(0o600)
                with part.open("rb+") as file:
                    os.fsync(file.fileno())
                part.replace(self.events / part.name)
            sync_folder(self.events)
            sync_folder(self.events.parent)

    def take_place(self) -> None:
        """The one step in which the log changes."""
        written = json.dumps(self.log.to_json()) + "\n"
        with explained(FULL):
            write_durably(self.events / f"{self.log.base}{_LIST}", written.encode())

    def sweep(self) -> None:
        """Deletes the parts that no version has any more, or ever had."""
        delete_parts(self.events, self.log.base, {part.file for part in self.log.parts})


# A case of two persons is nobody's, as in the engine's own queries. Persons are numbered in the
# order of their first cases.
_PERSONS_OF_CASES = """
CREATE TEMP TABLE named AS
SELECT first_pos, any_value(case_id) AS case_id,
    CASE WHEN min(:person) = max(:person) THEN min(:person) END AS person
FROM :events GROUP BY first_pos
"""
_PERSONS = """
CREATE TABLE :persons AS
SELECT row_number() OVER (ORDER BY min(first_pos)) - 1 AS number, person
FROM named WHERE person IS NOT NULL GROUP BY person ORDER BY number
"""
_CASES = """
CREATE TABLE :cases AS
SELECT first_pos, case_id, number AS person
FROM named LEFT JOIN :persons AS persons USING (person) ORDER BY first_pos
"""


def _add_cases(part: Path, person: str) -> None:
    """Gives a finished part, of which nobody knows yet, its cases with their persons."""
    names = {
        ":person": column(person).sql("duckdb"),
        **{f":{name}": table(name, _PART).sql("duckdb") for name in (EVENTS, CASES, PERSONS)},
    }
    spill = str(part.parent / "spill")
    with closing(
        duckdb.connect(config={"temp_directory": spill, "memory_limit": _MEMORY})
    ) as connection:
        connection.execute(attach(str(part), _PART))
        for query in (_PERSONS_OF_CASES, _PERSONS, _CASES):
            # Identifiers, quoted as every name is.
            connection.execute(re.sub(r":[a-z]+", lambda match: names[match[0]], query))
        connection.execute(detach(_PART))


def delete_list(events: Path, base: str) -> None:
    """With this a log is gone; its parts are nobody's."""
    with explained(_AGAIN):
        (events / f"{base}{_LIST}").unlink(missing_ok=True)
        sync_folder(events)


def delete_parts(events: Path, base: str, kept: Collection[str] = ()) -> None:
    """All files of a log's parts but those that are kept."""
    with explained(_AGAIN):
        for path in list(events.iterdir()):
            if _belongs(path.name, base) and path.name not in kept:
                path.unlink(missing_ok=True)
        (events / f".{base}{_LIST}.new").unlink(missing_ok=True)
        sync_folder(events)


# --- reading -------------------------------------------------------------------------


# Several queries run at once; what does not fit is put aside on the disk.
_MEMORY = "20%"


def spill_folder(path: Path) -> Path:
    """Where queries put aside what does not fit in memory: never outside the workspace."""
    return path.with_name(f"{path.name}.tmp")


def open_readonly(events: Path, name: str) -> duckdb.DuckDBPyConnection:
    """A connection that sees one version of a log, under its name, and cannot change anything.

    Open one per piece of work, and close it: one that stays open goes on seeing the log as it
    was. The parts are attached to a database of its own.
    """
    version = Versioned.of(name)
    tried: tuple[Part, ...] | None = None
    while True:
        log = PartsList.read(events, version.base)
        parts = log.of(version)
        try:
            return _opened(events, name, parts, log.person)
        except duckdb.Error as error:
            # Of a list that was just replaced, parts may be gone already.
            if parts == tried:
                raise WorkspaceError(
                    f"the events of {name} cannot be opened",
                    hint="check that the files exist, are readable and were made by PaPPI",
                    detail=str(error),
                ) from None
            tried = parts


def _opened(
    events: Path, name: str, parts: Sequence[Part], person: str | None
) -> duckdb.DuckDBPyConnection:
    spill = str(spill_folder(events))
    connection = duckdb.connect(config={"temp_directory": spill, "memory_limit": _MEMORY})
    try:
        rows = united(connection, events, parts)
        connection.execute(f"CREATE VIEW {table(name).sql('duckdb')} AS {rows}")
        if person is not None:
            for what in (CASES, PERSONS):
                view = table(of_persons(what, person)).sql("duckdb")
                numbered = (
                    f"SELECT {number} AS part, * FROM {table(what, part.file).sql('duckdb')}"  # noqa: S608
                    for number, part in enumerate(parts)
                )
                connection.execute(f"CREATE VIEW {view} AS {' UNION ALL '.join(numbered)}")
    except BaseException:
        connection.close()
        raise
    return connection


def of_persons(what: str, person: str) -> str:
    """What the cases or the persons of an opened log are called, if its parts have them."""
    return f"{what} of {person}"


def knows_cases(connection: duckdb.DuckDBPyConnection, person: str) -> bool:
    query = "SELECT count(*) FROM duckdb_views() WHERE view_name = $name"
    return connection.execute(query, {"name": of_persons(CASES, person)}).fetchall() == [(1,)]


def united(connection: duckdb.DuckDBPyConnection, events: Path, parts: Sequence[Part]) -> str:
    """Attaches parts, and gives the query for all of their rows, part after part."""
    for part in parts:
        connection.execute(f"{attach(str(events / part.file), part.file)} (READ_ONLY)")
    rows = (f"FROM {table(EVENTS, part.file).sql('duckdb')}" for part in parts)
    return " UNION ALL BY NAME ".join(rows)


def open_beside(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Another connection to the log as the first one sees it, for another thread."""
    return connection.cursor()


# --- looking into the events of a log -----------------------------------------------------


_GIVEN = "given"
_BATCH = 20_000


class Lookup:
    """One version of a log."""

    def __init__(self, events: Path, name: str, anchor: CaseBorder) -> None:
        self._events = events
        self._name = name
        self._source = table(name)
        self._border = exp.Max if anchor is CaseBorder.END else exp.Min

    def anchored(self, start_us: int | None, end_us: int | None) -> exp.Select:
        """The cases whose anchor lies in [start, end)."""
        cases = exp.select(column(CASE)).from_(self._source.copy()).group_by(column(CASE))
        if start_us is not None:
            cases = cases.having(self._anchor() >= _number(start_us))
        if end_us is not None:
            cases = cases.having(self._anchor() < _number(end_us))
        return cases

    def cases(self, query: exp.Select) -> list[str]:
        return [case for (case,) in self._rows(query)]

    def all_but(self, cases: exp.Select) -> Iterator[str]:
        """Every case of the log but these."""
        others = column(CASE).isin(query=cases).not_()
        query = exp.select(column(CASE)).distinct().from_(self._source.copy()).where(others)
        return (case for (case,) in self._rows(query))

    def cases_of_persons(self, attribute: str, persons: Iterable[str]) -> list[str]:
        """The cases of persons, whether their numbers are written 7 or 7.0."""
        written = [text for person in persons for text in (person, f"{person}.0")]
        among = exp.cast(column(attribute), "VARCHAR").isin(query=_all_given())
        query = exp.select(column(CASE)).distinct().from_(self._source.copy()).where(among)
        return [case for (case,) in self._rows(query, _given(written))]

    def event_counts(self, cases: Iterable[str]) -> dict[str, int]:
        """How many events each of the cases has; not those that have none."""
        among = column(CASE).isin(query=_all_given())
        query = exp.select(column(CASE), exp.Count(this=exp.Star())).from_(self._source.copy())
        return dict(self._rows(query.where(among).group_by(column(CASE)), _given(cases)))

    def events(
        self, cases: exp.Select, attributes: Mapping[str, Kind]
    ) -> Iterator[tuple[Any, ...]]:
        """Case, position, time, activity and attributes, in the order of the log."""
        names = (*CANONICAL, *attributes)
        query = exp.select(*map(column, names)).from_(self._source.copy())
        query = query.where(column(CASE).isin(query=cases)).order_by(column(POSITION))
        return self._rows(query)

    def _anchor(self) -> exp.Expression:
        return self._border(this=column(TIME))

    def _rows(
        self, query: exp.Expression, given: pa.Table | None = None
    ) -> Iterator[tuple[Any, ...]]:
        with closing(open_readonly(self._events, self._name)) as connection:
            if given is not None:
                connection.register(_GIVEN, given)
            try:
                cursor = connection.execute(query.sql("duckdb"))
                while rows := cursor.fetchmany(_BATCH):
                    yield from rows
            except duckdb.Error as error:
                raise WorkspaceError(
                    "the events could not be read",
                    hint="restore them and the ledger from the same backup",
                    detail=str(error),
                ) from error


def _given(values: Iterable[str]) -> pa.Table:
    return pa.table({CASE: pa.array(list(values), pa.string())})


def _all_given() -> exp.Select:
    return exp.select(column(CASE)).from_(table(_GIVEN))


def _number(value: int) -> exp.Expression:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


# --- whether the events could be read, found out before anything is charged ----------


_TYPES = dict(zip(STORED, ("VARCHAR", "BIGINT", "BIGINT", "VARCHAR", "BIGINT"), strict=True))
_WHOLE, _FLOAT = "BIGINT", "DOUBLE"
_ATTRIBUTE_TYPES = {
    Kind.TEXT: ("VARCHAR",),
    Kind.TRUTH: ("BOOLEAN",),
    Kind.NUMBER: (_WHOLE, _FLOAT),
}
_HEADERS = 3 * 4096  # in front of a DuckDB file's blocks
# Blocks that are free may lie beyond the end of the file.
_SIZES = "SELECT database_name, block_size * used_blocks FROM pragma_database_size()"


def require_events(events: Path, name: str, attributes: Mapping[str, Kind]) -> None:
    """Refuse files that are missing, cut off or foreign, or that lack the log as it is declared.

    Files that were looked at are looked at again only if one has changed.
    """
    version = Versioned.of(name)
    parts = PartsList.read(events, version.base).of(version)
    try:
        identities = tuple((part.file, *_identity(events / part.file)) for part in parts)
    except WorkspaceError:
        if parts == PartsList.read(events, version.base).of(version):
            raise
        return require_events(events, name, attributes)  # the list was replaced in between
    return _require(events, identities, name, tuple(attributes.items()))


def _identity(file: Path) -> tuple[int, ...]:
    try:
        status = file.stat()
    except OSError as error:
        raise WorkspaceError(
            f"the events file {file.name} is missing", hint=_HINT, detail=str(error)
        ) from None
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


@lru_cache(maxsize=256)
def _require(
    events: Path,
    identities: tuple[tuple[Any, ...], ...],
    name: str,
    attributes: tuple[tuple[str, Kind], ...],
) -> None:
    kinds = {attribute: kind for attribute, kind in attributes if attribute not in CANONICAL}
    columns = (*STORED, *kinds)
    with closing(open_readonly(events, name)) as connection:
        try:
            used = dict(connection.execute(_SIZES).fetchall())
            query = exp.select(*map(column, columns)).from_(table(name)).sql("duckdb")
            types = connection.execute(f"DESCRIBE {query}").fetchall()
        except duckdb.Error as error:
            raise WorkspaceError(
                "the events do not hold this log as it is declared", hint=_HINT, detail=str(error)
            ) from None
    for file, size, *_ in identities:
        if _HEADERS + used.get(file, 0) > size:
            raise WorkspaceError(f"the events file {file} is cut off", hint=_HINT)
    actual = [row[1] for row in types]
    expected: list[tuple[str, ...]] = [(sql_type,) for sql_type in _TYPES.values()]
    expected += [_ATTRIBUTE_TYPES.get(kind, (_WHOLE,)) for kind in kinds.values()]
    if any(sql_type not in allowed for sql_type, allowed in zip(actual, expected, strict=True)):
        raise WorkspaceError("the events do not have the columns this version reads", hint=_HINT)
