"""The record of everything that was done and asked, newest first; and whether it verifies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from starlette.responses import Response

from pappi.budget.journal import CANCEL, CHARGE, RELEASE, RESERVE
from pappi.custody.door import Custody, TrailEntry
from pappi.custody.entry_words import What, told
from pappi.errors import NotFound
from pappi.report.plain import shortened
from pappi.service.keys import Asking
from pappi.service.web.console.desk import PAGE, Before, Desk, EntryNumber, shown_time

# A question in full may be long: what is longer is on a page of its own.
_LONGEST_INLINE = 400
_LONGEST_WORDS = 140
_LONGEST_PAGE = 60_000
_ENTRIES = 2 * PAGE
# What a question over many periods leaves behind in one go.
_TOGETHER = {
    CHARGE: "{count} charges",
    RELEASE: "{count} results put on record",
    RESERVE: "{count} reservations",
    CANCEL: "{count} reservations given up",
}
_FEW = 3


@dataclass(frozen=True, slots=True)
class TrailRow:
    """An entry in words; `raw` is empty if it is too long for a list."""

    seq: int
    at: str
    time: str
    kind: str
    by: str
    words: str
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Entries of one kind in a row, newest first: a question has as many as it has cells."""

    kind: str
    rows: tuple[TrailRow, ...]

    @property
    def words(self) -> str:
        return _TOGETHER[self.kind].format(count=len(self.rows))


class TrailDesk(Desk):
    """The audit trail."""

    def trail(self, bearer: Asking, before: Before = None, verify: str = "") -> Response:
        """What was done and asked, newest first."""
        door = self._door(bearer)
        length = door.length()
        end = min(before or length + 1, length + 1)
        return self._page(
            "trail.html",
            bearer,
            length=length,
            runs=_runs(_listed(door, _before(door, end))),
            older=end - _ENTRIES if end - _ENTRIES > 1 else None,
            newer=end + _ENTRIES if end <= length else None,
            found=door.verify() if verify else None,
        )

    def entry(self, number: EntryNumber, bearer: Asking) -> Response:
        """One entry in full."""
        door = self._door(bearer)
        found = door.trail(number - 1, 1) if number > 0 else ()
        if not found:
            raise NotFound("there is no such entry", hint="see the list of entries")
        raw = _raw(found[0])
        return self._page(
            "entry.html",
            bearer,
            row=_row(found[0], door.declared_before(found).get(number)),
            raw=raw[:_LONGEST_PAGE],
            cut=len(raw) > _LONGEST_PAGE,
        )


def _before(door: Custody, end: int) -> list[TrailEntry]:
    start = max(end - _ENTRIES, 1)
    return list(reversed(door.trail(start - 1, end - start)))


def _runs(rows: Sequence[TrailRow]) -> list[Run]:
    """What is of one kind and one bearer together; what stands for itself, alone."""
    found: list[Run] = []
    for (kind, _), alike in groupby(rows, lambda row: (row.kind, row.by)):
        together = tuple(alike)
        if kind in _TOGETHER and len(together) >= _FEW:
            found.append(Run(kind, together))
        else:
            found.extend(Run(kind, (row,)) for row in together)
    return found


def _listed(door: Custody, entries: Sequence[TrailEntry]) -> list[TrailRow]:
    """Entries for a list, in which none takes much room."""
    before = door.declared_before(entries)
    return [_short(_row(entry, before.get(entry.seq)), _raw(entry)) for entry in entries]


def _short(row: TrailRow, raw: str) -> TrailRow:
    fits = len(escape(raw)) <= _LONGEST_INLINE
    return replace(row, words=shortened(row.words, _LONGEST_WORDS), raw=raw if fits else "")


def _row(entry: TrailEntry, before: What | None) -> TrailRow:
    return TrailRow(
        seq=entry.seq,
        at=entry.at,
        time=shown_time(entry.at),
        kind=entry.kind,
        by=str(entry.what.get("by") or entry.what.get("analyst") or ""),
        words=told(entry.kind, entry.what, before),
    )


def _raw(entry: TrailEntry) -> str:
    return json.dumps(entry.what, ensure_ascii=False, indent=1)
