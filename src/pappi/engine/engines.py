"""The engines: one for each kind of place where events can be, opened by where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlglot import exp

from pappi.engine.duck import opened as opened_duck
from pappi.engine.query import Asked
from pappi.engine.sources import Source
from pappi.engine.table import Column
from pappi.engine.working import Calendars
from pappi.store.sources import SourceRead, System

T = TypeVar("T")

Place: TypeAlias = Path | SourceRead
"""Where events are: in the workspace's own file, or at a source."""


class Engine(Protocol):
    """What reads events; the trees of queries are used up."""

    def cases(self, asked: Asked, source: Source) -> dict[str, Column]:
        """What was asked of each case, as columns."""

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        """The columns of a result: NaN is a missing number, None a missing text."""

    def row(self, query: exp.Expr) -> tuple[Any, ...]: ...

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """What is read of every range of a log, each of whole cases."""


@contextmanager
def opened(place: Place, calendars: Calendars) -> Iterator[Engine]:
    """The engine for a place, and the calendars that queries join."""
    if isinstance(place, Path):
        with opened_duck(place, calendars) as duck:
            yield duck
        return
    # Imported where they are needed: each has a driver that other logs do without.
    match place.source.system:
        case System.PARQUET:
            from pappi.engine.parquet import opened_parquet

            with opened_parquet(place, calendars) as parquet:
                yield parquet
        case System.POSTGRES:
            from pappi.engine.foreign import Foreign
            from pappi.engine.postgres import opened_postgres

            with opened_postgres(place.source.url, place.source.password()) as session:
                yield Foreign(session, place, calendars)
        case System.SPARK:
            from pappi.engine.foreign import Foreign
            from pappi.engine.spark import opened_spark

            with opened_spark(place.source.url, place.source.password()) as remote:
                yield Foreign(remote, place, calendars)
