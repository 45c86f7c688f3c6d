"""A ledger that was written before entries had today's form, written anew.

Until layout 3 charges named their analyst within the question, a log's declaration knew neither
totals nor keys, and a standing question did not say whether it was asked by grant. The new
journal has the same entries in the same order and at the same times, in today's form; its
opening names the last digest of the old one, which stays as it is in the folder of what was
replaced.

Questions that mean the same as today get the key they would have today (`checkpoint/questions.py`),
and so are replayed and completed: those of semantics 2, unless they are about the last n cases or
about a scope with an anchor of its own, and of semantics 1 plain sums and means. The numbers on
record are the same; a mean of semantics 1 is estimated from them as today, a little better than it
was then. The other questions stay on record, and spent; asked again, they are new.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pappi.budget.chain import Entry, Fault, canonical_json, extend, verified
from pappi.budget.journal import (
    OPENING,
    opening_payload,
    standing,
)
from pappi.mechanisms.noise import secret_bytes
from pappi.store.ledger.journal import broken
from pappi.store.ledger.sqlite_schema import GUARDS, TABLES
from pappi.values.epsilon import Epsilon
from pappi.values.plain_data import JSON

_ENTRIES = "SELECT seq, at, kind, body, digest FROM journal ORDER BY seq"
_IDENTITY_BYTES = 16
_ALIKE = 2
_TODAY = 3


def needs_rewriting(ledger: Path) -> bool:
    """Whether some entry is not in today's form."""
    return (
        any(
            _Translation().of(entry) != entry.payload for entry in _entries(ledger) if entry.seq > 1
        )
        or _entries_format(ledger) < _ALIKE
    )


def rewrite(old: Path, new: Path) -> None:
    """Write the ledger in the file `old` anew, into the file `new`."""
    journal = list(_translated(list(_entries(old))))
    found = standing(journal)
    with closing(sqlite3.connect(new)) as connection, connection:
        for statement in TABLES:
            connection.execute(statement)
        rows = [(e.seq, e.at, e.kind, e.body, e.digest) for e in journal]
        connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        last = found.last
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", (last.seq, last.digest))
        connection.executemany(
            "INSERT INTO account VALUES (?, ?, ?, ?, ?)",
            [(a.log, a.block, a.analyst, b.spent.nano, b.held.nano)
             for a, b in found.balances.items()],
        )  # fmt: skip
        connection.executemany(
            "INSERT INTO cell VALUES (?, ?, ?, ?)",
            [(key, c.reserved, c.charged, c.released) for key, c in found.cells.items()],
        )
        for statement in GUARDS:
            connection.execute(statement)


def _entries(ledger: Path) -> Iterator[Entry]:
    """The entries of an old journal, each checked to follow on the one before it."""
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            yield from verified(Entry(*row) for row in connection.execute(_ENTRIES))
        except Fault as fault:
            raise broken(ledger.name, fault.sentence) from fault
        except sqlite3.Error as error:
            raise broken(ledger.name, str(error)) from error


def _entries_format(ledger: Path) -> int:
    first = next(_entries(ledger))
    return int(first.payload["format"])


def _translated(old: list[Entry]) -> Iterator[Entry]:
    translation = _Translation()
    end = old[-1]
    identity = secret_bytes(_IDENTITY_BYTES).hex()
    continues = {"format": old[0].payload["format"], "seq": end.seq, "digest": end.digest}
    last = extend(None, old[0].at, OPENING, {**opening_payload(identity), "continues": continues})
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
        found = entry.payload
        match entry.kind:
            case "declare":
                return _declaration(found)
            case "grant":
                self._granted.add((found["log"], found["analyst"]))
            case "stand":
                granted = (found["log"], found["analyst"]) in self._granted
                return {"granted": granted, **found}
            case "charge" | "reserve":
                return self._charge(found)
            case "release" | "cancel":
                return {**found, "key": self._keys.get(found["key"], found["key"])}
        return found

    def _charge(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        question = dict(found["question"])
        analyst = found.get("analyst", question.pop("analyst", ""))
        key = found["key"]
        today = _as_today(question)
        if today is not None:
            question = dict(today)
            asked = {name: part for name, part in question.items() if name != "ppi"}
            key = hashlib.sha256(canonical_json(asked).encode("ascii")).hexdigest()
            self._keys[found["key"]] = key
        return {**found, "key": key, "analyst": analyst, "question": question}


def _as_today(question: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same question as it would be written today, if it means the same today."""
    if question["semantics"] == 1:
        return _of_the_first(question)
    if question["semantics"] == _ALIKE and "last_cases" in question:
        plain = question["last_cases"] is None and question["own_anchor"] is None
        return {**question, "semantics": _TODAY} if plain else None
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


def _of_the_first(question: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A sum or a mean over all cases; its noise and its numbers have not changed since."""
    match question:
        case {
            "adjacency": "add-remove",
            "unit": "case",
            "groups": [None],
            "parts": [{"inputs": [{"filter": None, "within": None, "percent": None} as measure]}],
        }:
            (part,) = question["parts"]
        case _:
            return None
    inputs = _completed(measure)
    if (measure["function"], part["mechanism"]) not in _MECHANISMS or inputs is None:
        return None
    if not isinstance(measure["base"].get("start", ""), str):
        return None  # from or to an activity: which of several counts was settled later
    paid = str(Epsilon(question["epsilon"]).fraction)
    today = {**part, "inputs": [inputs], "epsilon": paid, "settings": []}
    scope = {"own_anchor": None, "last_cases": None, "cases": None}
    return {**question, **scope, "parts": [today], "semantics": _TODAY}


def _completed(node: JSON) -> JSON:
    """A part of the model with what was added to it later; None if it is of another kind."""
    if not isinstance(node, dict):
        return node
    if str(node.get("is")) not in _ADDED:
        return None
    parts = {name: _completed(part) for name, part in node.items()}
    if any(found is None and node[name] is not None for name, found in parts.items()):
        return None
    return {**_ADDED[str(node["is"])], **parts}


def _declaration(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was not declared yet, as it held."""
    missing = {
        "data": found["table"],
        "total_budget": None,
        "keys": {},
        "bounds": {"attributes": {}, "counts": None, "durations": None},
    }
    return {**missing, **found}
