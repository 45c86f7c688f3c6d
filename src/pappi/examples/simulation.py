"""What the simulators of example logs draw with, and how their events are written to a file.

The same seed gives the same draws, and the same events the same bytes, on every machine. Only
`Random.random()` is used, whose sequence Python documents as stable, and after it only + − × ÷ and
square roots, which IEEE 754 rounds the same way everywhere. Logarithms and exponentials are not, so
the skewed durations are log-logistic (a power of the odds) and not log-normal. A `.gz` carries no
time and no name; its compressed bytes are those of the local zlib, its content is the same
everywhere.

Apart from `mechanisms.noise`, this is the only place that imports `random`. That is harmless: it
only makes public toy data about nobody, and no release ever draws from it. A private answer must
never depend on a seed; an example must.
"""

from __future__ import annotations

import csv
import gzip
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from io import TextIOWrapper
from itertools import accumulate, groupby
from math import sqrt
from pathlib import Path
from random import Random
from typing import IO, Generic, NamedTuple, TypeVar
from xml.sax.saxutils import quoteattr

Value = str | int | float

_EXTENSIONS = {"Concept": "concept", "Time": "time"}
_XES_TYPES: dict[type, str] = {str: "string", int: "int", float: "float"}


class Event(NamedTuple):
    """One event; the events of a case follow each other, in order."""

    case_id: str
    activity: str
    timestamp: datetime
    attributes: Mapping[str, Value]


def write_csv(events: Iterable[Event], path: Path) -> None:
    """One row per event; local wall-clock times without offset, as spreadsheets export them."""
    rows = list(events)
    columns = list(dict.fromkeys(name for event in rows for name in event.attributes))
    with _opened(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case_id", "activity", "timestamp", *columns])
        for event in rows:
            time = event.timestamp.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
            values = (event.attributes.get(column, "") for column in columns)
            writer.writerow([event.case_id, event.activity, time, *values])


def write_xes(events: Iterable[Event], path: Path) -> None:
    """XES (IEEE 1849) with typed attributes and the offset of every timestamp."""
    with _opened(path) as file:
        file.writelines(_xes_lines(events))


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            with TextIOWrapper(raw, encoding="utf-8", newline="") as text:
                yield text
            return
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
            TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            yield text


def _xes_lines(events: Iterable[Event]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<log xes.version="1849.2016" xes.features="" xmlns="http://www.xes-standard.org/">\n'
    for name, prefix in _EXTENSIONS.items():
        uri = f"http://www.xes-standard.org/{prefix}.xesext"
        yield f'  <extension name="{name}" prefix="{prefix}" uri="{uri}"/>\n'
    yield '  <global scope="trace">\n    <string key="concept:name" value=""/>\n  </global>\n'
    yield '  <global scope="event">\n    <string key="concept:name" value=""/>\n'
    yield '    <date key="time:timestamp" value="1970-01-01T00:00:00.000+00:00"/>\n  </global>\n'
    yield '  <classifier name="Activity" keys="concept:name"/>\n'
    for case_id, trace in groupby(events, key=lambda event: event.case_id):
        yield f'  <trace>\n    <string key="concept:name" value={quoteattr(case_id)}/>\n'
        for event in trace:
            yield from _xes_event(event)
        yield "  </trace>\n"
    yield "</log>\n"


def _xes_event(event: Event) -> Iterator[str]:
    time = event.timestamp.isoformat(timespec="milliseconds")
    yield f'    <event>\n      <string key="concept:name" value={quoteattr(event.activity)}/>\n'
    yield f'      <date key="time:timestamp" value="{time}"/>\n'
    for name, value in event.attributes.items():
        tag = _XES_TYPES[type(value)]
        yield f"      <{tag} key={quoteattr(name)} value={quoteattr(str(value))}/>\n"
    yield "    </event>\n"


T = TypeVar("T")

_NEVER_ONE = 1.0 - 2.0**-53


class Chance:
    """A seeded source of the few distributions the simulators need."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed).random  # noqa: S311 - toy data, not noise

    def happens(self, probability: float) -> bool:
        return self._draw() < probability

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._draw()

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._draw() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]

    def skewed(self, median: float, eighths: int, *, at_most: float) -> float:
        """A log-logistic draw: positive, skewed to the right, cut off at `at_most`.

        `eighths` is the shape: 2 is mild (mean 1.1 × median), 3 like common
        log-normal durations (1.3 ×), 4 heavy-tailed (1.6 ×).
        """
        uniform = min(self._draw(), _NEVER_ONE)
        eighth_root = sqrt(sqrt(sqrt(uniform / (1.0 - uniform))))
        value = median
        for _ in range(eighths):
            value *= eighth_root
        return min(value, float(at_most))


class Weighted(Generic[T]):
    """Options with fixed weights, prepared once and drawn from often."""

    def __init__(self, options: Mapping[T, float]) -> None:
        self._options = tuple(options)
        self._cumulative = tuple(accumulate(options.values()))

    def draw(self, chance: Chance) -> T:
        place = bisect_right(self._cumulative, chance.between(0.0, self._cumulative[-1]))
        return self._options[min(place, len(self._options) - 1)]


def days_of(first: date, until: date) -> tuple[date, ...]:
    """Every day of [first, until)."""
    return tuple(first + timedelta(days=day) for day in range((until - first).days))
