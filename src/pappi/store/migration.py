"""Bring a workspace that an earlier version wrote to today's layout.

    layout 1   ledger of format 1: accounts of blocks alone; a log's unit is a word
    layout 2   a key beside it, for persons and buckets
    layout 3   ledger of format 2: analysts, reservations, an identity; captured events;
               at first without the column `first_pos` of event tables
    layout 4   ledger of format 3: every kind of entry is known, or the journal is refused;
               a signed snapshot that opening starts from; reservations in one entry;
               all events in one file, events.duckdb
    layout 5   events in a folder, each part of a log in a file of its own

What changes is changed in a draft beside the files, and verified there. Then the marker says
that a migration is on its way, the old files move into a folder of their own, the new ones
take their places, and the marker is written last. Cut off at whatever point, the same command
again begins anew, or finishes what was begun; anew also if somebody went on with the old ledger
meanwhile. A ledger in PostgreSQL is changed where it is, in one transaction.

Until layout 3 charges named their analyst within the query, a log's declaration knew neither
totals nor keys, and a subscription did not say whether it was asked by grant. Such a ledger is
rewritten: the new journal has the same entries in the same order and at the same times, in today's
form; its opening names the last digest of the old one, which stays as it is in the folder of what
was replaced. Queries that mean the same as today get the key they would have today
(`checkpoint/queries.py`), and so are replayed and completed: those of semantics 2, unless they
are about the last n cases or about a scope with an anchor of its own, and of semantics 1 plain sums
and means. The numbers on record are the same; a mean of semantics 1 is estimated from them as
today, a little better than it was then. The other queries stay on record, and spent; asked again,
they are new.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from pappi.errors import LedgerBroken, WorkspaceError
from pappi.ledger import (
    FORMAT,
    GUARDS,
    TABLES,
    Entry,
    EntryKind,
    Flaw,
    Journal,
    Mark,
    bare_journal,
    broken,
    canonical_json,
    extend,
    no_step,
    open_ledger,
    opening_payload,
    reformat_payload,
    standing,
    verified,
)
from pappi.mechanisms import secret_bytes
from pappi.store.event_file import (
    CANONICAL,
    EVENTS,
    FIRST_POSITION,
    STORED,
    Part,
    PartsList,
    Successor,
    Versioned,
    attach,
    column,
    detach,
    exclusive,
    table,
)
from pappi.store.workspace import (
    KEY_BYTES,
    LAYOUT,
    MIGRATING,
    WorkspaceFiles,
    read_marker,
    sync_folder,
    write_durably,
    write_marker,
)
from pappi.values import JSON, Epsilon

_DRAFT = ".migrating"
_READY = "ready.json"
_BUSY_SECONDS = 5
_CLOSING_SECONDS = 1  # a server takes a moment to forget a session that was closed
_LAST = "SELECT digest FROM journal ORDER BY seq DESC LIMIT 1"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pappi'
AND datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """What was done: from which layout to which, and where the files are that were replaced."""

    before: int
    after: int
    kept: Path | None


@dataclass(frozen=True, slots=True)
class MigrationDraft:
    """The files of a workspace that change, as copies; `root` is where the copies are."""

    root: Path
    source: Path

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    @property
    def old_events(self) -> Path:
        """The file of all events, as the workspace has it or as it was changed already."""
        changed = self.root / "events.duckdb"
        return changed if changed.exists() else self.source / "events.duckdb"

    def copy(self, name: str) -> Path:
        """A copy of one of the workspace's plain files, to be changed."""
        copied = self.root / name
        if not copied.exists():
            shutil.copyfile(self.source / name, copied)
            copied.chmod(0o600)
        return copied


def _to_layout_2(draft: MigrationDraft) -> None:
    """A key, which orders persons' cases and deals cases into buckets."""
    write_durably(draft.root / "key", secret_bytes(KEY_BYTES))


def _to_layout_4(draft: MigrationDraft) -> None:
    """Each event knows where its case begins."""
    events = draft.source / "events.duckdb"
    if events.exists() and lacks_first_positions(events):
        add_first_positions(draft.copy("events.duckdb"))


def _to_layout_5(draft: MigrationDraft) -> None:
    """Each part of a log has a file of its own."""
    if draft.old_events.exists():
        split_events(draft.old_events, draft.root / "events")
    (draft.root / "events.duckdb").unlink(missing_ok=True)


def _to_format_3(journal: Journal) -> None:
    """What changes in a ledger of format 2; inside one transaction."""
    journal.add_snapshots()
    journal.append(EntryKind.REFORMAT, reformat_payload())


# From each layout to the next: what changes in files, and in the ledger's database. A ledger
# of format 1, which has other tables and other entries, is written anew instead.
FileStep = Callable[[MigrationDraft], None]
LedgerStep = Callable[[Journal], None]
Steps = Sequence[tuple[FileStep | None, LedgerStep | None]]
STEPS: dict[int, tuple[FileStep | None, LedgerStep | None]] = {
    1: (_to_layout_2, None),
    2: (None, None),
    3: (_to_layout_4, _to_format_3),
    4: (_to_layout_5, None),
}
# Since this layout, ledgers have today's form.
_LEDGERS_SINCE = 4
# What a layout no longer has: put away with what is replaced.
_GONE = ("events.duckdb",)


def migrate(root: Path, on_step: Callable[[str], None] = no_step) -> Migration:
    """Bring the workspace in this directory to today's layout; refuses one that is in use."""
    read_marker(root)  # nothing is put into a folder that is no workspace
    # The second lock is that of earlier versions, whose seals would be lost.
    with exclusive(WorkspaceFiles(root).events), exclusive(root / "events.duckdb"):
        marker = read_marker(root)
        layout = marker.get("layout")
        draft = root / _DRAFT
        if layout == LAYOUT:
            shutil.rmtree(draft, ignore_errors=True)
            return Migration(LAYOUT, LAYOUT, None)
        if layout == MIGRATING and _is_outdated(root, draft):
            layout = _ready(draft)["before"]
        if layout != MIGRATING:
            if not isinstance(layout, int) or layout not in STEPS:
                raise WorkspaceError(
                    f"{root} has layout {layout}, which this version of pappi does not know",
                    hint="use the version of pappi that wrote it, or a later one",
                )
            with _alone(root):
                _prepare(MigrationDraft(draft, root), layout, marker, on_step)
        return _finish(root, draft, on_step)


def _is_outdated(root: Path, draft: Path) -> bool:
    """Whether somebody has gone on with the old ledger since the draft was made of it."""
    ready = _ready(draft)
    placed = "ledger.sqlite" in ready["files"] and not (draft / "ledger.sqlite").exists()
    if placed or ready["end"] is None or not (root / "ledger.sqlite").exists():
        return False
    with _alone(root):
        return bool(_end_of(root / "ledger.sqlite") != ready["end"])


def _end_of(ledger: Path) -> str:
    """The last digest of a ledger of whatever format."""
    with closing(sqlite3.connect(ledger)) as connection:
        return str(connection.execute(_LAST).fetchone()[0])


def _ready(draft: Path) -> dict[str, Any]:
    ready: dict[str, Any] = json.loads((draft / _READY).read_text(encoding="utf-8"))
    return ready


def _prepare(
    draft: MigrationDraft, layout: int, marker: dict[str, object], on_step: Callable[[str], None]
) -> None:
    """Make the draft, complete and on the disk; of the workspace only the marker changes."""
    shutil.rmtree(draft.root, ignore_errors=True)
    draft.root.mkdir(mode=0o700)
    steps = [STEPS[number] for number in range(layout, LAYOUT)]
    end = None
    if WorkspaceFiles(draft.source).ledger_url() is None:
        end = _end_of(draft.source / "ledger.sqlite")
        if layout < _LEDGERS_SINCE:
            marker = {**marker, "ledger": _drafted_ledger(draft, steps)}
    for on_files, _ in steps:
        if on_files is not None:
            on_files(draft)
    on_step("drafted")
    files = sorted(draft.root.iterdir())
    for new_file in draft.root.rglob("*"):
        if new_file.is_file():
            new_file.chmod(0o600)
            with new_file.open("rb+") as file:
                os.fsync(file.fileno())
    for folder in filter(Path.is_dir, files):
        sync_folder(folder)
    new = {**marker, "layout": LAYOUT}
    ready = {
        "before": layout,
        "files": [new_file.name for new_file in files],
        "marker": new,
        "end": end,
        "kept": _new_folder(draft.source),
    }
    write_durably(draft.root / _READY, json.dumps(ready).encode())
    on_step("ready")
    write_marker(draft.source, {**marker, "layout": MIGRATING})
    on_step("marked")


def _new_folder(root: Path) -> str:
    """For what is replaced: another than that of an earlier migration, whose files stay."""
    name = f"before-layout-{LAYOUT}"
    names = (name, *(f"{name}-{number}" for number in range(2, 1_000)))
    return next(folder for folder in names if not (root / folder).exists())


def _drafted_ledger(draft: MigrationDraft, steps: Steps) -> str:
    """Today's form of the ledger, verified; gives the digest it begins with."""
    copied = draft.root / "before.sqlite"
    with (
        closing(sqlite3.connect(draft.source / "ledger.sqlite")) as now,
        closing(sqlite3.connect(copied)) as copy,
    ):
        now.backup(copy)
    if needs_rewriting(copied):
        rewrite(copied, draft.ledger)
        copied.unlink()
    else:
        copied.replace(draft.ledger)
        with closing(bare_journal(draft.ledger)) as journal, journal.writing():
            for _, on_ledger in steps:
                if on_ledger is not None:
                    on_ledger(journal)
    with open_ledger(draft.ledger) as ledger:
        opening = ledger.opening
        WorkspaceFiles(draft.root).mark.begin(ledger.head())
    with closing(sqlite3.connect(draft.ledger)) as connection:
        # Leaves one file, without a log of changes beside it.
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    return opening


def _finish(root: Path, folder: Path, on_step: Callable[[str], None]) -> Migration:
    """Put the draft in place; what is done already is not done again."""
    ready = _ready(folder)
    kept = root / ready["kept"]
    kept.mkdir(mode=0o700, exist_ok=True)
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        _change_database(root, url, ready["before"])
        on_step("changed the database")
    for name in ready["files"]:
        new, place, old = folder / name, root / name, kept / name
        if not new.exists():
            continue
        if place.exists() and not old.exists():
            if place == root / "ledger.sqlite" and _is_outdated(root, folder):
                raise _in_use("somebody wrote to the ledger in the meantime")
            place.replace(old)
            on_step(f"put {name} away")
        new.replace(place)
        on_step(f"put {name} in its place")
    for name in _GONE:
        if (root / name).exists():
            (root / name).replace(kept / name)
            on_step(f"put {name} away")
    sync_folder(kept)
    write_marker(root, ready["marker"])
    on_step("done")
    shutil.rmtree(folder, ignore_errors=True)
    return Migration(ready["before"], LAYOUT, kept)


def _change_database(root: Path, url: str, before: int) -> None:
    with closing(bare_journal(url)) as journal:
        with journal.writing():
            if journal.format() < FORMAT:
                for number in range(before, LAYOUT):
                    _, on_ledger = STEPS[number]
                    if on_ledger is not None:
                        on_ledger(journal)
        last = journal.last()
        if last is not None:
            WorkspaceFiles(root).mark.begin(Mark(last.seq, last.digest))


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Nobody else has the ledger's file open, and nobody can write into it meanwhile.

    All that was committed is then in the file itself, and no log of changes beside it.
    """
    ledger = root / "ledger.sqlite"
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        with closing(bare_journal(url)) as journal:
            given_up = time.monotonic() + _CLOSING_SECONDS
            while journal.run(_OTHERS) != [(0,)]:
                if time.monotonic() > given_up:
                    raise _in_use("another session has the ledger's database open")
                time.sleep(0.05)
        yield
        return
    if not ledger.is_file():
        raise LedgerBroken(
            "the ledger ledger.sqlite is missing",
            hint="without it nobody knows what is already spent: restore it from a backup",
        )
    with closing(sqlite3.connect(ledger, timeout=_BUSY_SECONDS, isolation_level=None)) as held:
        try:
            held.execute("PRAGMA journal_mode = DELETE").fetchall()
            held.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise _in_use(str(error)) from None
        yield
        held.execute("ROLLBACK")


def _in_use(detail: str) -> WorkspaceError:
    return WorkspaceError(
        "the workspace is in use",
        hint="stop every server and command that has it open, then try again",
        detail=detail,
    )


# --- a ledger whose entries have an older form ---------------------------------------


_ENTRIES = "SELECT seq, at, kind, body, digest FROM journal ORDER BY seq"
_IDENTITY_BYTES = 16
_ALIKE = 2
_TODAY = 3


def needs_rewriting(ledger: Path) -> bool:
    """Whether some entry is not in today's form."""
    entries = _entries(ledger)
    opening = next(entries)
    return int(opening.payload["format"]) < _ALIKE or any(
        _Translation().of(entry) != entry.payload for entry in entries
    )


def rewrite(old: Path, new: Path) -> None:
    """Rewrite the ledger in the file `old` into the file `new`."""
    journal = list(_translated(list(_entries(old))))
    standing_now = standing(journal)
    with closing(sqlite3.connect(new)) as connection, connection:
        for statement in TABLES:
            connection.execute(statement)
        rows = [(e.seq, e.at, e.kind, e.body, e.digest) for e in journal]
        connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        last = standing_now.last
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (last.seq, last.digest))
        connection.executemany(
            "INSERT INTO account VALUES (?, ?, ?, ?, ?)",
            [(a.log, a.block, a.analyst, b.spent.nano, b.held.nano)
             for a, b in standing_now.balances.items()],
        )  # fmt: skip
        connection.executemany(
            "INSERT INTO cell VALUES (?, ?, ?, ?)",
            [(key, c.reserved, c.charged, c.released) for key, c in standing_now.cells.items()],
        )
        for statement in GUARDS:
            connection.execute(statement)


def _entries(ledger: Path) -> Iterator[Entry]:
    """The entries of an old journal, each checked to follow on the one before it."""
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            yield from verified(Entry(*row) for row in connection.execute(_ENTRIES))
        except Flaw as fault:
            raise broken(ledger.name, fault.sentence) from fault
        except sqlite3.Error as error:
            raise broken(ledger.name, str(error)) from error


def _translated(old: list[Entry]) -> Iterator[Entry]:
    translation = _Translation()
    end = old[-1]
    identity = secret_bytes(_IDENTITY_BYTES).hex()
    continues = {"format": old[0].payload["format"], "seq": end.seq, "digest": end.digest}
    last = extend(
        None, old[0].at, EntryKind.OPENING, {**opening_payload(identity), "continues": continues}
    )
    yield last
    for entry in old[1:]:
        last = extend(last, entry.at, entry.kind, translation.of(entry))
        yield last


class _Translation:
    """Goes from the first entry to the last: what a later one means may depend on earlier."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        self._granted: set[tuple[str, str]] = set()

    def of(self, entry: Entry) -> Mapping[str, Any]:
        payload = entry.payload
        match entry.kind:
            case "declare":
                missing = {
                    "data": payload["table"],
                    "total_budget": None,
                    "keys": {},
                    "bounds": {"attributes": {}, "counts": None, "durations": None},
                }
                return {**missing, **payload}
            case "grant":
                self._granted.add((payload["log"], payload["analyst"]))
            case "stand":
                granted = (payload["log"], payload["analyst"]) in self._granted
                return {"granted": granted, **payload}
            case "charge" | "reserve":
                query = dict(payload["question"])
                analyst = payload.get("analyst", query.pop("analyst", ""))
                key = payload["key"]
                today = _as_today(query)
                if today is not None:
                    query = dict(today)
                    identified = {name: part for name, part in query.items() if name != "ppi"}
                    key = hashlib.sha256(canonical_json(identified).encode("ascii")).hexdigest()
                    self._keys[payload["key"]] = key
                return {**payload, "key": key, "analyst": analyst, "question": query}
            case "release" | "cancel":
                return {**payload, "key": self._keys.get(payload["key"], payload["key"])}
        return payload


def _as_today(query: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same query as it would be written today, if it means the same today."""
    if query["semantics"] == 1:
        return _of_the_first(query)
    if query["semantics"] == _ALIKE and "last_cases" in query:
        plain = query["last_cases"] is None and query["own_anchor"] is None
        return {**query, "semantics": _TODAY} if plain else None
    return None


# What was added to the model later, with what it was by default.
_ADDED: Mapping[str, Mapping[str, Any]] = {
    "AggregatedMeasure": {"bounding": "declared"},
    "TimeMeasure": {
        "calendar": None,
        "cycles": None,
        "end_pick": "last",
        "open_cycle": "left out",
        "running": None,
        "start_pick": "first",
    },
    "CountMeasure": {},
    "DataMeasure": {},
    "Occurs": {"among": None, "occurrence": "every"},
    "Binary": {},
    "Bounds": {},
    "Name": {},
    "Text": {},
}
_MECHANISMS = {("sum", "laplace"), ("mean", "two-bin")}


def _of_the_first(query: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A sum or a mean over all cases; its noise and its numbers have not changed since."""
    match query:
        case {
            "adjacency": "add-remove",
            "unit": "case",
            "groups": [None],
            "parts": [{"inputs": [{"filter": None, "within": None, "percent": None} as measure]}],
        }:
            (part,) = query["parts"]
        case _:
            return None
    inputs = _completed(measure)
    if (measure["function"], part["mechanism"]) not in _MECHANISMS or inputs is None:
        return None
    if not isinstance(measure["base"].get("start", ""), str):
        return None  # from or to an activity: which of several counts was settled later
    paid = str(Epsilon(query["epsilon"]).fraction)
    today = {**part, "inputs": [inputs], "epsilon": paid, "settings": []}
    scope = {"own_anchor": None, "last_cases": None, "cases": None}
    return {**query, **scope, "parts": [today], "semantics": _TODAY}


def _completed(node: JSON) -> JSON:
    """A part of the model with what was added to it later; None if it is of another kind."""
    if not isinstance(node, dict):
        return node
    if str(node.get("is")) not in _ADDED:
        return None
    parts = {name: _completed(part) for name, part in node.items()}
    if any(completed is None and node[name] is not None for name, completed in parts.items()):
        return None
    return {**_ADDED[str(node["is"])], **parts}


# --- event tables without the column first_pos ---------------------------------------


_FILE = "upgraded"
_FIRST = "min(pos) OVER (PARTITION BY case_id)"
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = $1"
_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal"
_COLUMNS = """
SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND table_name = $2
ORDER BY column_index
"""


def lacks_first_positions(database: Path) -> bool:
    """Whether some event table was written before there was the column `first_pos`."""
    with closing(duckdb.connect()) as connection:
        connection.execute(f"{attach(str(database), _FILE)} (READ_ONLY)")
        return bool(_lacking(connection))


def add_first_positions(database: Path) -> None:
    """Give every event table of the file the column, and every view that unites tables.

    A case lies wholly in one table, and its positions follow on each other.
    """
    with closing(duckdb.connect()) as connection:
        connection.execute(attach(str(database), _FILE))
        connection.execute(f"USE {_FILE}")
        connection.begin()
        views = connection.execute(_VIEWS, [_FILE]).fetchall()
        for name, _ in views:
            connection.execute(f"DROP VIEW {table(name).sql('duckdb')}")
        for name in _lacking(connection):
            _fill(connection, name)
        for _, written in views:
            connection.execute(_with_first_position(written))
        connection.commit()
        connection.execute("USE memory")
        connection.execute(detach(_FILE))


def _lacking(connection: duckdb.DuckDBPyConnection) -> list[str]:
    tables = [name for (name,) in connection.execute(_TABLES, [_FILE]).fetchall()]
    lacking = [name for name in tables if not _has_first_positions(connection, name)]
    for name in lacking:
        attributes = _columns(connection, name)[len(CANONICAL) :]
        if FIRST_POSITION in map(str.casefold, attributes):
            raise WorkspaceError(
                f"a log has an attribute called {FIRST_POSITION}, which is now the name of a "
                "column of PaPPI's own",
                hint="nothing was changed; this workspace can be used with the version of pappi "
                "that wrote it",
            )
    return lacking


def _has_first_positions(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """By its values, too: an attribute may have had that name before."""
    if _columns(connection, name)[: len(STORED)] != STORED:
        return False
    different = connection.execute(
        "SELECT 1 FROM (SELECT CAST(first_pos AS VARCHAR) AS said, "  # noqa: S608
        f"CAST({_FIRST} AS VARCHAR) AS first FROM {table(name, _FILE).sql('duckdb')}) "
        "WHERE said IS DISTINCT FROM first LIMIT 1"
    )
    return not different.fetchall()


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, ...]:
    return tuple(c for (c,) in connection.execute(_COLUMNS, [_FILE, name]).fetchall())


def _fill(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    attributes = _columns(connection, name)[len(CANONICAL) :]
    columns = [*CANONICAL, f"{_FIRST} AS first_pos"]
    columns += [column(attribute).sql("duckdb") for attribute in attributes]
    before, after = table(name).sql("duckdb"), table("pappi_filled").sql("duckdb")
    rows = f"SELECT {', '.join(columns)} FROM {before} ORDER BY pos"  # noqa: S608
    connection.execute(f"CREATE TABLE {after} AS {rows}")
    connection.execute(f"DROP TABLE {before}")
    connection.execute(f"ALTER TABLE {after} RENAME TO {before}")


def _with_first_position(view: str) -> str:
    """The same view, each of its SELECTs with the column behind the canonical ones."""
    written = sqlglot.parse_one(view, dialect="duckdb")
    for select in written.find_all(exp.Select):
        named = [expression.name for expression in select.expressions]
        if tuple(named[:5]) != STORED:
            select.expressions.insert(len(CANONICAL), column(FIRST_POSITION))
    return written.sql("duckdb")


# --- events in one file, with part tables and views that unite them ------------------


_OLD_PART = re.compile(r"(.+)_p[0-9]+")


def split_events(database: Path, events: Path) -> None:
    """Write every part table of the file as a part of its own, in a folder."""
    events.mkdir(mode=0o700)
    with closing(duckdb.connect(config={"temp_directory": str(events / "spill")})) as connection:
        connection.execute(f"{attach(str(database), _FILE)} (READ_ONLY)")
        tables = [name for (name,) in connection.execute(_TABLES, [_FILE]).fetchall()]
        views = connection.execute(_VIEWS, [_FILE]).fetchall()
        for base in sorted({_base(name) for name in tables}):
            log = PartsList(base, {})
            files = log.new_files()
            parts = {
                name: _split(connection, name, events / next(files), base)
                for name in sorted(tables, key=_number)
                if _base(name) == base
            }
            versions: dict[int, tuple[Part, ...]] = {1: (parts[base],)} if base in parts else {}
            for name, written in views:
                if Versioned.of(name).base == base:
                    united = sqlglot.parse_one(written, dialect="duckdb").find_all(exp.Table)
                    named = {each.name for each in united} & parts.keys()
                    in_order = tuple(parts[part] for part in sorted(named, key=_number))
                    versions[Versioned.of(name).number] = in_order
            Successor(events, PartsList(base, versions), []).take_place()
    shutil.rmtree(events / "spill", ignore_errors=True)


def _base(name: str) -> str:
    match = _OLD_PART.fullmatch(name)
    return name if match is None else match[1]


def _number(name: str) -> int:
    return 1 if _base(name) == name else int(name.rpartition("_p")[2])


def _split(connection: duckdb.DuckDBPyConnection, name: str, file: Path, base: str) -> Part:
    old, new = table(name, _FILE).sql("duckdb"), table(EVENTS, "part").sql("duckdb")
    connection.execute(attach(str(file), "part"))
    connection.execute(f"CREATE TABLE {new} AS FROM {old} ORDER BY pos")
    ((last,),) = connection.execute(f"SELECT coalesce(max(pos), 0) FROM {new}").fetchall()  # noqa: S608
    connection.execute(detach("part"))
    return Part(file.name, last, seals=int(name != base))
