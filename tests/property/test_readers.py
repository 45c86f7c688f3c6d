"""Whatever a log holds, written as XES or CSV it is read back exactly."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch
from xml.sax.saxutils import quoteattr
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.errors import LogFormatError
from pappi.eventlog import ReadOptions, open_log
from pappi.eventlog import xes as xes_reading
from pappi.eventlog.inference import (
    _PATTERNS,
    FORMATS,
    MISSING_MARKERS,
    Clock,
    TypeInference,
    _read_by_parts,
    blanked,
    read_times,
)
from pappi.eventlog.xes import BulkReader, Irregular
from pappi.eventlog.xes_parser import DateReader
from tests.lengths import length

Value: TypeAlias = str | int | float | bool | datetime | None

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# Characters XML can carry, without those an attribute value normalises away.
texts = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"
    ),
    max_size=12,
)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=zones)  # noqa: DTZ001
values = st.one_of(
    st.tuples(st.sampled_from(["string", "id"]), texts),
    st.tuples(st.just("int"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("float"), st.floats(allow_nan=False)),
    st.tuples(st.just("boolean"), st.booleans()),
    st.tuples(st.just("date"), moments),
)
keys = st.sampled_from(["a", "A", "ä b", "concept:name", "time:timestamp", "org:resource", "x:y"])
attributes = st.dictionaries(keys, values, max_size=4)


@dataclass(frozen=True)
class Trace:
    attributes: dict[str, tuple[str, Any]]
    events: list[dict[str, tuple[str, Any]]]


# A time that is a text is read as a time, if it can be: `tests/unit/test_odd_files.py`.
of_events = attributes.map(
    lambda found: {
        key: (tag, value)
        for key, (tag, value) in found.items()
        if (key, tag) != ("time:timestamp", "string")
    }
)
traces = st.lists(st.builds(Trace, attributes, st.lists(of_events, max_size=4)), max_size=5)


def us(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def written(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat(timespec="microseconds")
    return str(value)


def xes(log: Sequence[Trace]) -> str:
    def tags(named: dict[str, tuple[str, Any]]) -> str:
        return "".join(
            f"<{tag} key={quoteattr(key)} value={quoteattr(written(value))}/>"
            for key, (tag, value) in named.items()
        )

    bodies = (
        f"<trace>{tags(trace.attributes)}"
        + "".join(f"<event>{tags(event)}</event>" for event in trace.events)
        + "</trace>"
        for trace in log
    )
    return f"<log>{''.join(bodies)}</log>"


def read(path: Path, options: ReadOptions | None = None) -> tuple[list[dict[str, Any]], Any]:
    reader = open_log(path, options)
    rows = [row for batch in reader.batches() for row in batch.to_pylist()]
    return rows, reader.description()


def stored(value: Value) -> Value:
    return us(value) if isinstance(value, datetime) else value


def expected_event(event: dict[str, tuple[str, Any]]) -> dict[tuple[str, str], Any]:
    flat = {(key, tag): stored(value) for key, (tag, value) in event.items()}
    return {
        place: value
        for place, value in flat.items()
        if place not in {("concept:name", "string"), ("time:timestamp", "date")}
    }


@pytest.mark.outside
@given(traces)
def test_a_log_written_as_xes_is_read_back_exactly(log: list[Trace]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.xes.gz"
        path.write_bytes(gzip.compress(xes(log).encode()))
        rows, description = read(path)
    events = [(trace, event) for trace in log for event in trace.events]
    assert len(rows) == len(events)
    for row, (trace, event) in zip(rows, events, strict=True):
        found: dict[tuple[str, str], Any] = {}
        of_case: dict[tuple[str, str], Any] = {}
        for column in description.columns:
            if row.get(column.field) is not None:
                name = column.name.removesuffix(f" ({column.source_type})")
                level = of_case if name.startswith("case:") else found
                level[name.removeprefix("case:"), column.source_type] = row[column.field]
        assert found == expected_event(event)
        name = trace.attributes.get("concept:name")
        if name and name[0] == "string":
            assert row["case_id"].startswith(name[1])
            of_case["concept:name", "string"] = name[1]
        assert of_case == {(k, tag): stored(v) for k, (tag, v) in trace.attributes.items()}
        tag, moment = event.get("time:timestamp", ("", None))
        assert row["ts_us"] == (stored(moment) if tag == "date" else None)
        tag, activity = event.get("concept:name", ("", None))
        assert row["activity"] == (activity if tag == "string" else row["activity"])
        assert (row["activity"] is None) == (tag == "")
    cases = {row["case_id"] for row in rows}
    assert len(cases) == sum(bool(trace.events) for trace in log)


# What may be put anywhere into a log: some of it harmless there, some of it not.
INTRUDERS = (
    *("<", ">", "&", '"', "'", "/", " ", "\t", "\r\n", "é", "\0", "\x0b", "\uffff", "\udcff"),
    *("<trace>", "</trace>", "<trace/>", "<event>", "</event>", "<event/>", "</log>", "<log>"),
    *("<!-- ", " -->", "<!-- </trace> -->", "<![CDATA[", "]]>", "<?pi ?>", "<!DOCTYPE log>"),
    *("&amp;", "&#10;", "&#xA;", "&#0;", "&lol;", "7", "text"),
    '<int key="n" value="1"/>',
    "<int key='n' value='1'/>",
    '<string key="concept:name" value="a"/>',
    '<date key="time:timestamp" value="2020-01-01T00:00:00"/>',
    '<list key="l"><id key="i" value="x"/></list>',
)
usual_events = st.builds(
    lambda core, others: others | core,
    st.fixed_dictionaries(
        {"time:timestamp": st.tuples(st.just("date"), moments)},
        optional={"concept:name": st.tuples(st.just("string"), texts)},
    ),
    st.dictionaries(st.sampled_from(["a", "A", "ä b", "x:y"]), values, max_size=3),
)
usual_traces = st.lists(
    st.builds(Trace, attributes, st.lists(usual_events, min_size=1, max_size=3)), max_size=4
)
intrusions = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(INTRUDERS)), max_size=3)


def intruded(text: str, intrusions: Sequence[tuple[float, str]]) -> bytes:
    for place, intruder in intrusions:
        at = int(place * len(text))
        text = text[:at] + intruder + text[at:]
    return text.encode(errors="surrogateescape")


# Shows the parser where the traces are.
FIRST = xes([Trace({}, [{}])]).removeprefix("<log>").removesuffix("</log>")


def outcome(path: Path) -> object:
    """Rows, columns and notices; or the defect that is named."""
    try:
        rows, description = read(path)
    except LogFormatError as error:
        return error.line, error.cause
    return [{k: v for k, v in row.items() if v is not None} for row in rows], description


def named(number: int) -> dict[str, tuple[str, Any]]:
    return {"concept:name": ("string", f"case {number}")}


@pytest.mark.outside
@settings(max_examples=length(25, 200))
@given(usual_traces, intrusions, st.sampled_from(["", "\n", "\r\n\t"]), st.integers(30, 300))
def test_traces_read_at_once_are_what_the_parser_makes_of_them(
    log: list[Trace], intrusions: list[tuple[float, str]], between: str, block: int
) -> None:
    distinct = [replace(one, attributes=one.attributes | named(n)) for n, one in enumerate(log)]
    text = xes(distinct).replace("<", f"{between}<").replace("<log>", f"<log>{FIRST}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.xes"
        path.write_bytes(intruded(text, intrusions))
        with patch.object(xes_reading, "_BLOCK", block):
            at_once = outcome(path)
        with patch.object(BulkReader, "batch", side_effect=Irregular):
            assert outcome(path) == at_once


dates = st.one_of(
    st.datetimes().map(datetime.isoformat),
    st.builds(
        "{}{}{}{}".format,
        st.dates().map(str),
        st.sampled_from(["T", " ", "", "T1"]),
        st.times().map(str),
        st.sampled_from(["", "Z", "+01:00", "-0330", "+05", "+24:00", "+01:75", " +01:00"]),
    ),
    st.text("0123456789-:TZ+. ", min_size=8, max_size=30),
)


@settings(max_examples=length(25, 150))
@given(st.lists(dates, min_size=1, max_size=3), st.sampled_from([None, "Europe/Amsterdam"]))
def test_dates_read_at_once_are_those_read_one_by_one(texts: list[str], zone: str | None) -> None:
    clock = None if zone is None else ZoneInfo(zone)
    one_by_one, at_once = DateReader(clock), DateReader(clock)
    try:
        found = at_once.read_all(pa.array(texts)).to_pylist()
    except ValueError:
        return  # then they are read one by one
    assert found == [one_by_one.read(text) for text in texts]
    assert at_once == one_by_one


clocks = [Clock(), *(Clock(ZoneInfo("Europe/Amsterdam"), z_is_utc) for z_is_utc in (True, False))]


@settings(max_examples=length(25, 200))
@given(
    st.lists(st.one_of(st.none(), dates), min_size=1, max_size=3),
    st.sampled_from([("-", "y"), ("/", "y"), ("-", "d"), (".", "d"), ("/", "m"), ("-", "m")]),
    st.sampled_from(
        [Clock(), *(Clock(ZoneInfo("Europe/Amsterdam"), utc) for utc in (True, False))]
    ),
)
def test_times_in_a_common_form_are_what_their_parts_say(
    texts: list[str | None], form: tuple[str, str], clock: Clock
) -> None:
    column = pa.array([text and in_form(text, *form) for text in texts], pa.string())
    for written in FORMATS.values():
        quick, slow = read_times(column, written, clock), _read_by_parts(column, written, clock)
        assert quick.readable.tolist() == slow.readable.tolist()
        assert quick.us[quick.readable].tolist() == slow.us[slow.readable].tolist()
        assert quick.tally == slow.tally


numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-(10**17), 10**17, places=3, allow_nan=False).map(str),
    st.sampled_from(["0", "-0", "007", "00.5", ".5", "5.", "-.5", "-", "1-1", "1.2.3"]),
    st.sampled_from(["0x1F", "0xFFFFFFFF", "1e5", "+5", " 5", "1,5", "1.234", "\u0665", "é"]),
    st.text("0123456789.-", max_size=5),
)
absent = st.sampled_from(["", None, *MISSING_MARKERS])


@given(st.lists(st.one_of(numbers, absent), max_size=5), st.integers(0, 2))
def test_numbers_are_told_by_their_bytes_as_by_their_patterns(
    texts: list[str | None], before: int
) -> None:
    column = pa.array([*["7", None][:before], *texts], pa.string()).slice(min(before, 2))
    values = [text for text in texts if text and text not in MISSING_MARKERS]
    inference = TypeInference(None, ())
    inference.observe(column)
    expected = {
        name
        for name, pattern in _PATTERNS.items()
        if all(re.search(pattern, text, re.ASCII) for text in values)
        and (name != "integer" or all(-(2**63) <= int(text) < 2**63 for text in values))
    }
    assert inference._plain == expected
    assert inference.markers_seen == {text for text in texts if text in MISSING_MARKERS}


@given(st.lists(st.one_of(absent, st.text(max_size=5))), st.sets(st.text(max_size=4)))
def test_what_is_missing_is_told_by_its_first_byte_as_by_its_text(
    texts: list[str | None], markers: set[str]
) -> None:
    missing = {"", *markers}
    found = blanked(pa.array(["x", *texts], pa.string()).slice(1), tuple(markers))
    assert found.to_pylist() == [None if text in missing else text for text in texts]


def in_form(text: str, between: str, first: str) -> str:
    """The same with another day: dd-mm-yyyy, mm/dd/yyyy, …, if it begins with yyyy-mm-dd."""
    year, month, day, clock = text[:4], text[5:7], text[8:10], text[10:]
    parts = {"y": (year, month, day), "d": (day, month, year), "m": (month, day, year)}
    return between.join(parts[first]) + clock


nodes = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "id"]), "key": texts, "value": texts}
    ),
    lambda children: st.fixed_dictionaries(
        {
            "type": st.sampled_from(["list", "container"]),
            "key": texts,
            "children": st.lists(children, min_size=1, max_size=3),
        }
    ),
    max_leaves=6,
)


def node_xml(node: dict[str, Any]) -> str:
    value = f" value={quoteattr(node['value'])}" if "value" in node else ""
    inside = "".join(map(node_xml, node.get("children", [])))
    return f"<{node['type']} key={quoteattr(node['key'])}{value}>{inside}</{node['type']}>"


@given(st.lists(nodes, min_size=1, max_size=3))
def test_nested_attributes_are_kept_as_they_are(children: list[dict[str, Any]]) -> None:
    body = node_xml({"type": "container", "key": "c", "children": children})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.xes"
        path.write_text(f"<log><trace><event>{body}</event></trace></log>", encoding="utf-8")
        ((row,), _) = read(path)
    assert json.loads(row["extra"]) == [{"type": "container", "key": "c", "children": children}]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=8)
wall_clocks = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001
rows_of_text = st.lists(
    st.tuples(cells.filter(bool), cells, wall_clocks, cells, st.integers(-(2**63), 2**63 - 1)),
    min_size=1,
    max_size=8,
)


@given(
    rows_of_text,
    st.sampled_from(",;\t|"),
    st.sampled_from(["UTC", "Europe/Amsterdam", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_a_log_written_as_csv_is_read_back_exactly(
    log: list[tuple[str, str, datetime, str, int]], delimiter: str, zone: str
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writerow(["case", "activity", "timestamp", "note", "number"])
            writer.writerows([c, a, t.isoformat(" "), f"_{n}", i] for c, a, t, n, i in log)
        rows, _ = read(path, ReadOptions(delimiter=delimiter, timezone=zone))
    assert [
        (row["case_id"], row["activity"], row["ts_us"], row["a3"], row["a4"]) for row in rows
    ] == [(c, a or None, us(t.replace(tzinfo=ZoneInfo(zone))), f"_{n}", i) for c, a, t, n, i in log]


@settings(max_examples=length(25, 100))
@given(st.binary(max_size=200), st.sampled_from(["log.xes", "log.csv", "log.parquet"]))
def test_bytes_that_are_no_log_are_refused_with_a_hint(content: bytes, name: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with pytest.raises(LogFormatError) as caught:
            read(path)
    assert caught.value.hint
