"""The record: charges as rows, every act in words, verification, and the data-protection pack."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from starlette.responses import HTMLResponse, Response

from pappi.custody import ChargePage, Custody, TrailEntry, entry_text
from pappi.errors import NotFound
from pappi.ledger import ChargeRecord, EntryKind
from pappi.report import dpo_body, dpo_html, most_in_a_block, query_digest, shortened
from pappi.service.keys import Authenticated, Bearer
from pappi.service.web.console.view import (
    PAGE,
    Before,
    ConsoleView,
    EntryNumber,
    log_address,
    shown_time,
)
from pappi.values import JSON

# An entry may be long: a longer one is shown on a page of its own.
_LONGEST_INLINE = 400
_LONGEST_WORDS = 140
_LONGEST_PAGE = 60_000
_ENTRIES = 2 * PAGE
# Entries that a query over many periods makes in one go.
_TOGETHER = {
    EntryKind.CHARGE: "{count} charges",
    EntryKind.RELEASE: "{count} results recorded",
    EntryKind.RESERVE: "{count} reservations",
    EntryKind.CANCEL: "{count} reservations released",
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
class TrailRun:
    """Consecutive entries of one kind, newest first: a query has one for each cell."""

    kind: str
    rows: tuple[TrailRow, ...]

    @property
    def words(self) -> str:
        return _TOGETHER[self.kind].format(count=len(self.rows))


class TrailView(ConsoleView):
    """The audit trail."""

    def trail(self, bearer: Authenticated, before: Before = None, verify: str = "") -> Response:
        """Every act, charge and release, newest first."""
        custody = bearer.custody
        length = custody.length()
        end = min(before or length + 1, length + 1)
        return self._page(
            "trail.html",
            bearer,
            length=length,
            runs=_runs(_before(custody, end)),
            older=end - _ENTRIES if end - _ENTRIES > 1 else None,
            newer=end + _ENTRIES if end <= length else None,
            found=custody.verify() if verify else None,
        )

    def entry(self, number: EntryNumber, bearer: Authenticated) -> Response:
        """One entry in full."""
        custody = bearer.custody
        entries = custody.trail(number - 1, 1) if number > 0 else ()
        if not entries:
            raise NotFound("there is no such entry", hint="go back to the list of entries")
        raw = _raw(entries[0])
        return self._page(
            "entry.html",
            bearer,
            row=_row(entries[0], custody.declared_before(entries).get(number)),
            raw=raw[:_LONGEST_PAGE],
            cut=len(raw) > _LONGEST_PAGE,
        )


def _before(custody: Custody, end: int) -> list[TrailRow]:
    """Entries for a list, newest first and shortened."""
    start = max(end - _ENTRIES, 1)
    entries = custody.trail(start - 1, end - start)
    before = custody.declared_before(entries)
    return [_short(_row(entry, before.get(entry.seq)), _raw(entry)) for entry in reversed(entries)]


def _runs(rows: Sequence[TrailRow]) -> list[TrailRun]:
    """Consecutive entries of one kind and one bearer together, others by themselves."""
    runs: list[TrailRun] = []
    for (kind, _), alike in groupby(rows, lambda row: (row.kind, row.by)):
        together = tuple(alike)
        if kind in _TOGETHER and len(together) >= _FEW:
            runs.append(TrailRun(kind, together))
        else:
            runs.extend(TrailRun(kind, (row,)) for row in together)
    return runs


def _short(row: TrailRow, raw: str) -> TrailRow:
    fits = len(escape(raw)) <= _LONGEST_INLINE
    return replace(row, words=shortened(row.words, _LONGEST_WORDS), raw=raw if fits else "")


def _row(entry: TrailEntry, before: Mapping[str, JSON] | None) -> TrailRow:
    return TrailRow(
        seq=entry.seq,
        at=entry.at,
        time=shown_time(entry.at),
        kind=entry.kind,
        by=entry.by,
        words=entry_text(entry.kind, entry.what, before),
    )


def _raw(entry: TrailEntry) -> str:
    return json.dumps(entry.what, ensure_ascii=False, indent=1)


CELLS = 500
"""Cells fetched for a page: a query over many periods has as many."""
_LONGEST_NAME = 80


def charge_rows(charges: Sequence[ChargeRecord]) -> list[dict[str, Any]]:
    """A row for the cells of one query that were charged at once, newest first.

    `pending` of them have no result on record; `epsilon` is the most they cost a block.
    """
    return [_charge_row(list(cells)) for _, cells in groupby(charges, _alike)]


def charges_page(newest: ChargePage) -> tuple[list[dict[str, Any]], int | None]:
    """The rows of one page, and the entry before which the next page begins."""
    rows = charge_rows(newest.charges)
    if len(rows) > PAGE:
        return rows[:PAGE], rows[PAGE - 1]["seq"]
    return rows, newest.older


def _alike(charged: ChargeRecord) -> tuple[str, str, str, int, str]:
    """Names are chosen by analysts, so queries with the same name still have separate rows."""
    charge = charged.charge
    digest = query_digest(charge.query)
    return charge.log, charge.analyst, charge.ppi, charge.amount.nano, digest


def _charge_row(cells: Sequence[ChargeRecord]) -> dict[str, Any]:
    newest, charge = cells[0], cells[0].charge
    charged = [(cell.charge.blocks, cell.charge.amount) for cell in cells]
    return {
        "seq": cells[-1].seq,
        "at": newest.at,
        "time": shown_time(newest.at),
        "analyst": charge.analyst,
        "ppi": shortened(charge.ppi, _LONGEST_NAME),
        "log": charge.log,
        "address": log_address(charge.log),
        "mechanisms": ", ".join(dict.fromkeys(charge.mechanisms)),
        "epsilon": most_in_a_block(charged),
        "blocks": _span({block for blocks, _ in charged for block in blocks}),
        "cells": len(cells),
        "pending": sum(not cell.released for cell in cells),
    }


def _span(blocks: Collection[str]) -> str:
    """First and last block; labels of one grid sort by time."""
    first, last = min(blocks), max(blocks)
    return first if first == last else f"{first} … {last} ({len(blocks):,})"


_DOCUMENT = "/console/protection-document"
# A longer pack is offered as a document, not as a page.
_LONGEST = 130_000
LogOrAll = Annotated[str, Query(max_length=64)]


class ProtectionView(ConsoleView):
    """The pack of one log, or of all."""

    def all_logs(self, bearer: Authenticated) -> Response:
        """Of every log."""
        return self._shown(bearer, None)

    def log(self, log: str, bearer: Authenticated) -> Response:
        """Of one log."""
        return self._shown(bearer, log)

    def document(self, bearer: Authenticated, log: LogOrAll = "") -> Response:
        """The pack as a self-contained file."""
        pack = bearer.custody.pack(log or None)
        today = datetime.now(UTC).date().isoformat()
        # A log that is there has a name of letters, digits, - and _.
        name = f"data-protection{f'-{log}' if log else ''}-{today}.html"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HTMLResponse(dpo_html(pack, today), headers=headers)

    def _shown(self, bearer: Bearer, log: str | None) -> Response:
        custody = bearer.custody
        body = dpo_body(custody.pack(log))
        long = len(str(body).encode()) > _LONGEST
        return self._page(
            "protection.html",
            bearer,
            chosen=log,
            logs=[declared.name for declared in custody.logs()],
            body=None if long else body,
            document=_DOCUMENT if log is None else f"{_DOCUMENT}?log={quote(log)}",
        )
