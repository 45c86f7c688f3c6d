"""A log that is fed by capture, in a folder, with the declaration as custody would keep it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from pappi.custody import Erased, Sealed
from pappi.custody.capture import ErasureRequest, SealStep, capture, erase, no_step, seal
from pappi.engine import CaseTable, Identify, evaluate_cases
from pappi.eventlog import open_log
from pappi.ppinot import parse_catalogue
from pappi.store import (
    Captured,
    CapturedEvent,
    LogDeclaration,
    Value,
    WorkspaceFiles,
    create_events,
    import_events,
)
from pappi.values import (
    CASE,
    Adjacency,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Kind,
    Period,
    PrivacyUnit,
    PublicLog,
    Terms,
    Vocabulary,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = date(2024, 1, 1)
TODAY = date(2024, 12, 31)
ATTRIBUTES = {
    "amount": Kind.NUMBER,
    "channel": Kind.TEXT,
    "customer": Kind.TEXT,
    "urgent": Kind.TRUTH,
    "due": Kind.TIME,
    "waited": Kind.DURATION,
}
MEASURES = parse_catalogue("""
log: small
ppis:
  - id: events
    measure: {sum: {count: activity == "Pay"}}
  - id: lasts
    measure: {mean: {time: {from: case start, to: case end}}}
  - id: amount
    measure: {mean: {data: amount}}
  - id: channel
    measure: {sum: {count: activity == "Pay"}, by: {data: channel, values: [web]}}
""")


def us(day: date, hours: float = 0) -> int:
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(hours=hours)
    return (moment - EPOCH) // timedelta(microseconds=1)


def event(
    id_: str, case: str, time_us: int, activity: str = "Pay", **attributes: Value
) -> CapturedEvent:
    return CapturedEvent(id_, case, activity, time_us, attributes)


class Fed:
    """One log. Every change goes through the functions that custody calls."""

    def __init__(
        self,
        folder: Path,
        *,
        anchor: CaseBorder = CaseBorder.END,
        unit: PrivacyUnit = CASE,
        blocks: Grid | None = None,
        attributes: Mapping[str, Kind] = ATTRIBUTES,
        timezone: str = "UTC",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.files = WorkspaceFiles(folder)
        (folder / "key").write_bytes(bytes(range(32)))
        self.log = LogDeclaration(
            data="events_1",
            table="events_1",
            public=PublicLog(
                name="small",
                first=FIRST,
                until=FIRST,
                vocabulary=Vocabulary(("Pay", "Receive"), dict(attributes)),
                terms=Terms(
                    timezone=timezone,
                    anchor=anchor,
                    blocks=blocks or Grid(Calendar.MONTH),
                    unit=unit,
                    adjacency=Adjacency.ADD_REMOVE,
                    block_budget=Epsilon.of(1),
                    total_budget=None,
                    expected_cases=None,
                ),
            ),
        )
        self.notes: list[Erased] = []

    def copied(self, folder: Path) -> Fed:
        """The same log in another folder, as it is by now."""
        found = copy(self)
        found.files, found.notes = WorkspaceFiles(folder), [*self.notes]
        shutil.copytree(self.files.root, folder, dirs_exist_ok=True)
        return found

    def create(self) -> Fed:
        attributes, person = self.log.public.vocabulary.attributes, self.log.terms.unit.column
        told = person if attributes.get(person or "") is Kind.TEXT else None
        create_events(self.files.events, self.log.table, attributes, told)
        return self

    def start_with(self, events: Sequence[CapturedEvent], until: date) -> Fed:
        """As imported, with a horizon."""
        if events:
            import_events(self.files.events, self.log.table, open_log(frame(events, self.log)))
        else:
            self.create()
        self.keep(self.log.sealed(until))
        return self

    def keep(self, log: LogDeclaration) -> None:
        self.log = log

    def capture(self, *events: CapturedEvent) -> Captured:
        return capture(self.files.inbox, self.log, events)

    def seal(
        self,
        until: date | None = None,
        today: date = TODAY,
        on_step: Callable[[SealStep], None] = no_step,
    ) -> Sealed:
        return seal(self.files, lambda: self.log, until, today, self.keep, on_step)

    def erase(
        self, *, cases: Sequence[str] = (), persons: Sequence[str] = (), blocks: Sequence[str] = ()
    ) -> Erased:
        request = ErasureRequest(tuple(cases), tuple(persons), tuple(blocks))
        return erase(self.files, lambda: self.log, request, self.notes.append)

    def cases(self) -> CaseTable:
        """The case table that releases read, of all measures above."""
        return evaluate_cases(
            *(self.files.events, self.log.table, self.log.terms.anchor),
            [ppi.measure for ppi in MEASURES.ppis],
            self.log.public.vocabulary,
            Identify(bytes(32), self.log.terms.unit.column),
        )

    def rows(self, block: Period | None = None) -> dict[str, tuple[Any, ...]]:
        """Each case's row, by its id; of one block or of the whole log. NaN is None."""
        table = self.cases()
        if block is not None:
            table = table.split([block], self.log.terms.zone)[block]
        assert table.who is not None
        columns = [table.anchor_us, *table.columns.values()]
        return {
            str(case): tuple(_plain(column[row]) for column in columns)
            for row, case in enumerate(table.who.case_ids)
        }


def _plain(value: object) -> object:
    return None if value != value else value


def frame(events: Sequence[CapturedEvent], log: LogDeclaration) -> pa.Table:
    types = {
        Kind.NUMBER: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.TRUTH: pa.bool_(),
        Kind.TIME: pa.timestamp("us", "UTC"),
        Kind.DURATION: pa.duration("us"),
    }
    columns = {
        "case_id": pa.array([e.case for e in events], pa.string()),
        "activity": pa.array([e.activity for e in events], pa.string()),
        "timestamp": pa.array([e.time_us for e in events], pa.timestamp("us", "UTC")),
    }
    for name, kind in log.public.vocabulary.attributes.items():
        columns[name] = pa.array([e.attributes.get(name) for e in events], types[kind])
    return pa.table(columns)
