"""The events of the simulators, and how they are written to a file.

The same events give the same bytes on every machine. A `.gz` carries no time
and no name; its compressed bytes are those of the local zlib, its content is
the same everywhere.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple
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
