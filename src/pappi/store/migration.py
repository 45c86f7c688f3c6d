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
from itertools import chain, count
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

# Since these layouts, workspaces have a key, ledgers have today's form, and each event knows where
# its case begins.
_KEYS_SINCE, _LEDGERS_SINCE, _FIRST_POSITIONS_SINCE = 2, 4, 4
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
            if not isinstance(layout, int) or not 1 <= layout < LAYOUT:
                raise WorkspaceError(
                    f"{root} has layout {layout}, which this version of pappi does not know",
                    hint="use the version of pappi that wrote it, or a later one",
                )
            with _alone(root):
                _prepare(root, draft, layout, marker, on_step)
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
    root: Path,
    draft: Path,
    layout: int,
    marker: dict[str, object],
    on_step: Callable[[str], None],
) -> None:
    """Make the draft, complete and on the disk; of the workspace only the marker changes."""
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    end = None
    if WorkspaceFiles(root).ledger_url() is None:
        end = _end_of(root / "ledger.sqlite")
        if layout < _LEDGERS_SINCE:
            marker = {**marker, "ledger": _drafted_ledger(root, draft)}
    if layout < _KEYS_SINCE:
        write_durably(draft / "key", secret_bytes(KEY_BYTES))
    if (root / "events.duckdb").exists():
        try:
            split_events(root / "events.duckdb", draft / "events", layout)
        except BaseException:
            # Who goes on with the earlier version erases cases without knowing of these copies.
            shutil.rmtree(draft, ignore_errors=True)
            raise
    on_step("drafted")
    files = sorted(draft.iterdir())
    for new_file in draft.rglob("*"):
        if new_file.is_file():
            new_file.chmod(0o600)
            with new_file.open("rb+") as file:
                os.fsync(file.fileno())
    for folder in filter(Path.is_dir, files):
        sync_folder(folder)
    # For what is replaced: another folder than that of an earlier migration, whose files stay.
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    names = (f"before-layout-{LAYOUT}{suffix}" for suffix in suffixes)
    ready = {
        "before": layout,
        "files": [new_file.name for new_file in files],
        "marker": {**marker, "layout": LAYOUT},
        "end": end,
        "kept": next(name for name in names if not (root / name).exists()),
    }
    write_durably(draft / _READY, json.dumps(ready).encode())
    on_step("ready")
    write_marker(root, {**marker, "layout": MIGRATING})
    on_step("marked")


def _drafted_ledger(root: Path, draft: Path) -> str:
    """Today's form of the ledger, verified; gives the digest it begins with."""
    copied, new = draft / "before.sqlite", draft / "ledger.sqlite"
    with (
        closing(sqlite3.connect(root / "ledger.sqlite")) as now,
        closing(sqlite3.connect(copied)) as copy,
    ):
        now.backup(copy)
    if needs_rewriting(copied):
        rewrite(copied, new)
        copied.unlink()
    else:
        copied.replace(new)
        with closing(bare_journal(new)) as journal, journal.writing():
            _reformat(journal)
    with open_ledger(new) as ledger:
        opening = ledger.opening
        WorkspaceFiles(draft).mark.begin(ledger.head())
    with closing(sqlite3.connect(new)) as connection:
        # Leaves one file, without a log of changes beside it.
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    return opening


def _reformat(journal: Journal) -> None:
    """What changes in a ledger of format 2; inside one transaction."""
    journal.add_snapshots()
    journal.append(EntryKind.REFORMAT, reformat_payload())


def _finish(root: Path, folder: Path, on_step: Callable[[str], None]) -> Migration:
    """Put the draft in place; what is done already is not done again."""
    ready = _ready(folder)
    kept = root / ready["kept"]
    kept.mkdir(mode=0o700, exist_ok=True)
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        with closing(bare_journal(url)) as journal:
            with journal.writing():
                if journal.format() < FORMAT:
                    _reformat(journal)
            last = journal.last()
            if last is not None:
                WorkspaceFiles(root).mark.begin(Mark(last.seq, last.digest))
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
    if (root / "events.duckdb").exists():
        (root / "events.duckdb").replace(kept / "events.duckdb")
        on_step("put events.duckdb away")
    sync_folder(kept)
    write_marker(root, ready["marker"])
    on_step("done")
    shutil.rmtree(folder, ignore_errors=True)
    return Migration(ready["before"], LAYOUT, kept)


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
    translation, (opening, *entries) = _Translation(), _entries(old)
    end = entries[-1] if entries else opening
    continues = {"format": opening.payload["format"], "seq": end.seq, "digest": end.digest}
    identity = opening_payload(secret_bytes(_IDENTITY_BYTES).hex())
    last = extend(None, opening.at, EntryKind.OPENING, {**identity, "continues": continues})
    journal = [last]
    for entry in entries:
        last = extend(last, entry.at, entry.kind, translation.of(entry))
        journal.append(last)
    standing_now = standing(journal)
    with closing(sqlite3.connect(new)) as connection, connection:
        for statement in TABLES:
            connection.execute(statement)
        rows = [(e.seq, e.at, e.kind, e.body, e.digest) for e in journal]
        connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
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


# --- events in one file, with part tables and views that unite them ------------------


_FILE = "upgraded"
_OLD_PART = re.compile(r"(.+)_p([0-9]+)")
_FIRST = "min(pos) OVER (PARTITION BY case_id)"
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = $1"
_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal"
_COLUMNS = """
SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND table_name = $2
ORDER BY column_index
"""


def split_events(database: Path, events: Path, layout: int) -> None:
    """Write every part table of the file as a part of its own, in a folder."""
    events.mkdir(mode=0o700)
    with closing(duckdb.connect(config={"temp_directory": str(events / "spill")})) as connection:
        connection.execute(f"{attach(str(database), _FILE)} (READ_ONLY)")
        views = connection.execute(_VIEWS, [_FILE]).fetchall()
        tables: dict[str, dict[int, str]] = {}
        for (name,) in connection.execute(_TABLES, [_FILE]).fetchall():
            match = _OLD_PART.fullmatch(name)
            base, number = (name, 1) if match is None else (match[1], int(match[2]))
            tables.setdefault(base, {})[number] = name
        for base in sorted(tables):
            files = PartsList(base, {}).new_files()
            parts = {
                name: _split(connection, name, events / next(files), number, layout)
                for number, name in sorted(tables[base].items())
            }
            versions: dict[int, tuple[Part, ...]] = {1: (parts[base],)} if base in parts else {}
            for view, written in views:
                version = Versioned.of(view)
                if version.base == base:
                    united = sqlglot.parse_one(written, dialect="duckdb").find_all(exp.Table)
                    named = {each.name for each in united}
                    in_order = tuple(part for name, part in parts.items() if name in named)
                    versions[version.number] = in_order
            Successor(events, PartsList(base, versions), []).take_place()
    shutil.rmtree(events / "spill", ignore_errors=True)


def _split(
    connection: duckdb.DuckDBPyConnection, name: str, file: Path, number: int, layout: int
) -> Part:
    """The table as a part, with the column `first_pos` if it was written before there was one.

    A case lies wholly in one table, and its positions follow on each other.
    """
    old, new = table(name, _FILE).sql("duckdb"), table(EVENTS, "part").sql("duckdb")
    columns = [c for (c,) in connection.execute(_COLUMNS, [_FILE, name]).fetchall()]
    selected = "*"
    if layout < _FIRST_POSITIONS_SINCE and not _has_first_positions(connection, columns, old):
        attributes = columns[len(CANONICAL) :]
        if FIRST_POSITION in map(str.casefold, attributes):
            raise WorkspaceError(
                f"a log has an attribute called {FIRST_POSITION}, which is now the name of a "
                "column of PaPPI's own",
                hint="nothing was changed; this workspace can be used with the version of pappi "
                "that wrote it",
            )
        named = (column(attribute).sql("duckdb") for attribute in attributes)
        selected = ", ".join((*CANONICAL, f"{_FIRST} AS {FIRST_POSITION}", *named))
    connection.execute(attach(str(file), "part"))
    connection.execute(f"CREATE TABLE {new} AS SELECT {selected} FROM {old} ORDER BY pos")  # noqa: S608
    ((last,),) = connection.execute(f"SELECT coalesce(max(pos), 0) FROM {new}").fetchall()  # noqa: S608
    connection.execute(detach("part"))
    return Part(file.name, last, seals=int(number > 1))


def _has_first_positions(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[str], stored: str
) -> bool:
    """By its values, too: an attribute may have had that name before."""
    if tuple(columns[: len(STORED)]) != STORED:
        return False
    different = connection.execute(
        "SELECT 1 FROM (SELECT CAST(first_pos AS VARCHAR) AS said, "  # noqa: S608
        f"CAST({_FIRST} AS VARCHAR) AS first FROM {stored}) "
        "WHERE said IS DISTINCT FROM first LIMIT 1"
    )
    return not different.fetchall()
