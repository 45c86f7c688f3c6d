"""What the owner has declared about each log: the public facts releases may read.

Declarations are acts in the ledger's journal, so that what was public when is on
record. The latest act about a log holds (`register`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pappi.planning.cells import Horizon
from pappi.ppinot.model import CaseBorder
from pappi.store.sources import EventSource, SourceRead
from pappi.values.bounds import NO_DEFAULTS, DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Calendar, Grid, midnight_us
from pappi.values.privacy import Adjacency, PrivacyUnit
from pappi.values.vocabulary import Kind, Vocabulary
from pappi.values.working_days import DayTable, working_days
from pappi.values.working_time import WorkingCalendar

_LIFETIME = 50

T = TypeVar("T")


def today(zone: ZoneInfo) -> date:
    """The one clock that decides which time is recent."""
    return datetime.now(zone).date()


@dataclass(frozen=True, slots=True)
class LogDeclaration:
    """A log: which events it has, and what may be known about it.

    `data` stands for the log's events in every question about them; `table` is where they
    are read, which changes whenever time is sealed. Time is answered up to `until`. Events that
    stay where they are have a `source`.
    """

    name: str
    data: str
    table: str
    timezone: str
    anchor: CaseBorder
    blocks: Grid
    first: date
    until: date
    unit: PrivacyUnit
    adjacency: Adjacency
    block_budget: Epsilon
    total_budget: Epsilon | None
    expected_cases: int | None
    vocabulary: Vocabulary
    bounds: DefaultBounds = NO_DEFAULTS
    source: EventSource | None = None

    def __post_init__(self) -> None:
        self.unit.require_neighbours(self.adjacency)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def horizon(self) -> Horizon:
        """The days it covers, as of today."""
        return Horizon(self.first, self.until, self.blocks, today(self.zone))

    def place(self, events: Path) -> Path | SourceRead:
        """Where the events are read: in the workspace's own file, or at their source.

        Of a case in the period of its first event, only what is sealed is read. A case in the
        period of its last event waits as long as it goes on, and so must be seen to go on.
        """
        if self.source is None or self.table != self.data:  # a twin of the log is here
            return events
        starting = self.anchor is CaseBorder.START
        before_us = midnight_us(self.until, self.zone) if starting else None
        return SourceRead(self.source, before_us, events.with_name(f"{events.name}.tmp"))

    def require_ready(self, events: Path) -> None:
        """Refuse before anything is charged what could not be read anyway; looks at no row."""
        from pappi.store.events.readiness import require_events

        if self.source is not None:
            self.source.require_ready()
        else:
            require_events(events, self.table, self.vocabulary.attributes)

    def days(self, calendar: WorkingCalendar) -> DayTable:
        """A working calendar's days: those of the log, and of a lifetime before and after it."""
        first, until = self.first.year - _LIFETIME, self.until.year + _LIFETIME
        return working_days(calendar, self.zone, date(first, 1, 1), date(until, 1, 1))

    def without_names(
        self, activities: Collection[str], attributes: Collection[str]
    ) -> LogDeclaration:
        """The log without these in its vocabulary, and without what was said about them."""
        bounds, source = self.bounds, self.source
        left = _without(attributes, bounds.attributes)
        if source is not None:
            source = replace(source, attributes=_without(attributes, source.attributes))
        return replace(
            self,
            vocabulary=self.vocabulary.without(activities, attributes),
            bounds=replace(bounds, attributes=left),
            source=source,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "data": self.data,
            "table": self.table,
            "timezone": self.timezone,
            "anchor": str(self.anchor),
            "blocks": [str(self.blocks.unit), self.blocks.count],
            "first": self.first.isoformat(),
            "until": self.until.isoformat(),
            "unit": self.unit.to_json(),
            "adjacency": str(self.adjacency),
            "block_budget": self.block_budget.nano,
            "total_budget": None if self.total_budget is None else self.total_budget.nano,
            "expected_cases": self.expected_cases,
            "activities": list(self.vocabulary.activities),
            "attributes": {name: str(k) for name, k in self.vocabulary.attributes.items()},
            "keys": {name: list(keys) for name, keys in self.vocabulary.keys.items()},
            "bounds": self.bounds.to_json(),
            **({} if self.source is None else {"source": self.source.to_json()}),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> LogDeclaration:
        unit, count = found["blocks"]
        attributes = {name: Kind(kind) for name, kind in found["attributes"].items()}
        keys = {name: tuple(values) for name, values in found["keys"].items()}
        return cls(
            name=found["name"],
            data=found["data"],
            table=found["table"],
            timezone=found["timezone"],
            anchor=CaseBorder(found["anchor"]),
            blocks=Grid(Calendar(unit), count),
            first=date.fromisoformat(found["first"]),
            until=date.fromisoformat(found["until"]),
            unit=PrivacyUnit.from_json(found["unit"]),
            adjacency=Adjacency(found["adjacency"]),
            block_budget=Epsilon(found["block_budget"]),
            total_budget=None if found["total_budget"] is None else Epsilon(found["total_budget"]),
            expected_cases=found["expected_cases"],
            vocabulary=Vocabulary(tuple(found["activities"]), attributes, keys),
            bounds=DefaultBounds.from_json(found["bounds"]),
            source=EventSource.from_json(found["source"]) if "source" in found else None,
        )


def _without(names: Collection[str], some: Mapping[str, T]) -> dict[str, T]:
    return {name: value for name, value in some.items() if name not in names}
