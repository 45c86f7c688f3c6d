"""A log as its owner has declared it: the public facts releases may read, and its events' place.

Declarations are acts in the ledger's journal, so that what was public when is on
record. The latest act about a log holds (`registry`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pappi.store.sources import EventSource, SourceRead
from pappi.values import CaseBorder, Epsilon, Horizon, PublicLog, Terms, midnight_us


def today(zone: ZoneInfo) -> date:
    """The one clock that decides which time is recent."""
    return datetime.now(zone).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDeclaration:
    """A log as its owner declares it: what is public about it, and where its events are.

    `data` stands for the log's events in every question about them; `table` is where they
    are read, which changes whenever time is sealed. Events that stay where they are have a
    `source`. These three are nobody's business but the owner's: hand out `public`.
    """

    public: PublicLog
    data: str
    table: str
    source: EventSource | None = None

    @property
    def name(self) -> str:
        return self.public.name

    @property
    def terms(self) -> Terms:
        return self.public.terms

    @property
    def horizon(self) -> Horizon:
        """The days it covers, as of today."""
        log = self.public
        return Horizon(log.first, log.until, log.terms.blocks, today(log.terms.zone))

    def place(self, events: Path) -> Path | SourceRead:
        """Where the events are read: in the workspace's own file, or at their source.

        Of a case in the period of its first event, only what is sealed is read. A case in the
        period of its last event waits as long as it goes on, and so must be seen to go on.
        """
        if self.source is None or self.table != self.data:  # a twin of the log is here
            return events
        starting = self.terms.anchor is CaseBorder.START
        before_us = midnight_us(self.public.until, self.terms.zone) if starting else None
        return SourceRead(self.source, before_us, events.with_name(f"{events.name}.tmp"))

    def require_ready(self, events: Path) -> None:
        """Refuse before anything is charged what could not be read anyway; looks at no row."""
        if self.source is not None:
            self.source.require_ready()
        else:
            from pappi.store.events.lookup import require_events

            require_events(events, self.table, self.public.vocabulary.attributes)

    def sealed(self, until: date) -> LogDeclaration:
        """The same, answered up to another day."""
        return replace(self, public=replace(self.public, until=until))

    def with_budget(self, per_block: Epsilon, total: Epsilon | None) -> LogDeclaration:
        terms = replace(self.terms, block_budget=per_block, total_budget=total)
        return replace(self, public=replace(self.public, terms=terms))

    def without_names(
        self, activities: Collection[str], attributes: Collection[str]
    ) -> LogDeclaration:
        """The log without these in its vocabulary, and without what was said about them."""
        source = self.source
        if source is not None:
            left = {name: of for name, of in source.attributes.items() if name not in attributes}
            source = replace(source, attributes=left)
        public = self.public.without_names(activities, attributes)
        return replace(self, public=public, source=source)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.public.to_json(),
            "data": self.data,
            "table": self.table,
            **({} if self.source is None else {"source": self.source.to_json()}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> LogDeclaration:
        return cls(
            public=PublicLog.from_json(written),
            data=written["data"],
            table=written["table"],
            source=EventSource.from_json(written["source"]) if "source" in written else None,
        )
