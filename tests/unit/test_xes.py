"""XES logs: everything in the file arrives with its type, and nothing else does."""

from __future__ import annotations

import calendar
import gzip
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree as ET

import pytest

from pappi.errors import LogFormatError, UsageError
from pappi.eventlog import ReadOptions, open_log
from pappi.values import Kind
from tests.imported_log import Imported, imported
from tests.lengths import thinned
from tests.shared_data import shared_data

DATE = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:\.(\d+))?(?:Z|([+-])(\d+):(\d+))?")
CONVERT: dict[str, Any] = {
    "string": str,
    "id": str,
    "int": int,
    "float": float,
    "boolean": lambda text: text == "true",
}


def microseconds(text: str) -> int:
    match = DATE.fullmatch(text)
    assert match, text
    *parts, fraction, sign, hours, minutes = match.groups()
    seconds = calendar.timegm((*(int(part) for part in parts), 0, 0, 0))
    offset = (int(hours) * 60 + int(minutes)) * 60 if sign else 0
    seconds += offset if sign == "-" else -offset
    return seconds * 1_000_000 + int((fraction or "0").ljust(6, "0")[:6])


CONVERT["date"] = microseconds

Attribute: TypeAlias = tuple[str, str | None, Any, list[Any]]


@dataclass
class Expected:
    """A trace as the independent parse sees it; attributes as (type, key, value, children)."""

    attributes: list[Any]
    events: list[list[Any]] = field(default_factory=list)


def attribute(element: ET.Element) -> Attribute:
    tag = element.tag.rpartition("}")[2]
    raw = element.get("value")
    value = CONVERT[tag](raw) if tag in CONVERT and raw is not None else raw
    return tag, element.get("key"), value, [attribute(child) for child in element]


def parsed_independently(path: Path) -> Iterator[Expected]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for _, element in ET.iterparse(file):  # noqa: S314 - our own test data
            if element.tag.rpartition("}")[2] != "trace":
                continue
            trace = Expected([])
            for child in element:
                if child.tag.rpartition("}")[2] == "event":
                    trace.events.append([attribute(grandchild) for grandchild in child])
                else:
                    trace.attributes.append(attribute(child))
            yield trace
            element.clear()


def node_attribute(node: dict[str, Any]) -> Attribute:
    tag, raw = node["type"], node.get("value")
    value = CONVERT[tag](raw) if tag in CONVERT and raw is not None else raw
    return tag, node["key"], value, [node_attribute(child) for child in node.get("children", [])]


def restored(row: dict[str, Any], log: Imported, level: str) -> list[Any]:
    """The attributes of one level, put together again from a row of the event table."""
    children: dict[Any, list[Any]] = {}
    attributes = []
    for node in json.loads(row.get(f"{level}extra") or "[]"):
        if "value" in node or node["type"] in ("list", "container"):
            attributes.append(node_attribute(node))
        else:
            children[node["type"], node["key"]] = node_attribute(node)[3]
    flat = [
        (column.source_type, column.source_name, row[column.name])
        for column in log.report.columns
        if column.source_type != "json"
    ]
    if level:
        flat = [(t, n.removeprefix("case:"), v) for t, n, v in flat if n.startswith("case:")]
    else:
        flat = [(t, n, v) for t, n, v in flat if not n.startswith("case:")]
        flat += [("string", "concept:name", row["activity"])]
        flat += [("date", "time:timestamp", row["ts_us"])]
    for tag, name, value in flat:
        key = name.removesuffix(f" ({tag})")
        if value is not None:
            attributes.append((tag, key, value, children.get((tag, key), [])))
    return sorted(attributes, key=repr)


def by_case(log: Imported) -> dict[str, list[dict[str, Any]]]:
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in log.rows:
        cases[row["case_id"]].append(row)
    return cases


def in_time_order(events: list[list[Any]]) -> list[list[Any]]:
    def when(event: list[Any]) -> float:
        return next((value for _, key, value, _ in event if key == "time:timestamp"), float("inf"))

    return sorted(events, key=when)


@pytest.mark.outside
@pytest.mark.parametrize(
    "file",
    thinned(
        [
            "02_teleclaims.xes.gz",
            "06_bpic2013_closed.xes.gz",
            "08_receipt.xes.gz",
            "roadtraffic100traces.xes",
            "running-example.xes",
            "xes_20.xes",
            "bpic2012.xes.gz",
        ],
        range(1, 6),
    ),
)
def test_every_attribute_survives_with_its_type_and_none_is_invented(
    file: str, tmp_path: Path
) -> None:
    path = shared_data("xes", file)
    log = imported(tmp_path, path)
    cases = by_case(log)
    traces = [trace for trace in parsed_independently(path) if trace.events]
    assert len(cases) == len(traces)
    for (case_id, rows), trace in zip(cases.items(), traces, strict=True):
        found = restored(rows[0], log, "case:")
        if not case_id.startswith("unnamed"):
            found.append(("string", "concept:name", case_id, []))
        assert sorted(found, key=repr) == sorted(trace.attributes, key=repr)
        assert len(rows) == len(trace.events)
        for row, event in zip(rows, in_time_order(trace.events), strict=True):
            assert restored(row, log, "") == sorted(event, key=repr)
            assert restored(row, log, "case:") == restored(rows[0], log, "case:")


# The high-water mark of the process itself: getrusage would count the test's own memory,
# which a child inherits at its birth.
MEASURE = """
import sys
from pathlib import Path
from pappi.eventlog import open_log
from pappi.store import import_events
report = import_events(Path(sys.argv[2]), "log", open_log(sys.argv[1]))
status = Path("/proc/self/status").read_text()
print(report.events, report.cases, status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.outside
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_a_quarter_of_a_million_events_import_within_300_megabytes(tmp_path: Path) -> None:
    path = shared_data("xes", "bpic2012.xes.gz")
    script = tmp_path / "measure.py"  # for `-c` DuckDB draws a bar of its progress once it is slow
    script.write_text(MEASURE, encoding="utf-8")
    command = [sys.executable, str(script), str(path), str(tmp_path / "events")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    events, cases, kilobytes = map(int, output.split())
    assert (events, cases) == (262_200, 13_087)
    assert kilobytes < 300 * 1024


def xes(folder: Path, body: str, name: str = "log.xes") -> Path:
    path = folder / name
    path.write_text(f"<?xml version='1.0'?>\n<log>\n{body}\n</log>", encoding="utf-8")
    return path


def one_event(attributes: str) -> str:
    return f"<trace><string key='concept:name' value='c'/><event>\n{attributes}</event></trace>"


@pytest.mark.parametrize(
    ("written", "us"),
    [
        ("2010-09-30T17:24:07.000+02:00", 1285860247000000),
        ("2010-09-30T15:24:07Z", 1285860247000000),
        ("2010-09-30T15:24:07.1Z", 1285860247100000),
        ("2010-09-30T15:24:07.123456Z", 1285860247123456),
        ("2010-09-30T15:24:07.123456789+00:00", 1285860247123456),
        ("2010-09-30T10:54:07-04:30", 1285860247000000),
        ("1969-12-31T23:59:59.999Z", -1000),
    ],
)
def test_dates_are_exact_utc_microseconds(written: str, us: int, tmp_path: Path) -> None:
    body = one_event(f"<date key='time:timestamp' value='{written}'/>")
    assert imported(tmp_path, xes(tmp_path, body)).column("ts_us") == [us]


def test_dates_without_offset_are_wall_clock_of_the_zone_and_reported(tmp_path: Path) -> None:
    path = xes(tmp_path, one_event("<date key='time:timestamp' value='2010-07-01T12:00:00'/>"))
    utc = imported(tmp_path, path)
    local = imported(tmp_path, path, ReadOptions(timezone="Europe/Amsterdam"))
    assert utc.column("ts_us")[0] - local.column("ts_us")[0] == 2 * 3600 * 1_000_000
    assert "read as UTC" in str(utc.report.guesses[0])
    assert "read as Europe/Amsterdam" in str(local.report.guesses[0])


def test_a_key_with_several_types_becomes_one_column_per_type(tmp_path: Path) -> None:
    body = "".join(
        one_event(f"<{tag} key='x' value='{value}'/>").replace("'c'", f"'{value}'")
        for tag, value in [("int", 7), ("string", "seven"), ("int", 8), ("boolean", "true")]
    )
    log = imported(tmp_path, xes(tmp_path, body))
    assert log.types == {"x": "int", "x (string)": "string", "x (boolean)": "boolean"}
    assert log.column("x") == [7, None, 8, None]
    assert log.column("x (string)") == [None, "seven", None, None]
    assert log.column("x (boolean)") == [None, None, None, True]
    assert [column.kind for column in log.report.columns] == [Kind.NUMBER, Kind.TEXT, Kind.TRUTH]


def test_a_number_beyond_64_bits_is_kept_as_text_and_reported(tmp_path: Path) -> None:
    large = "123456789012345678901234567890"
    log = imported(tmp_path, xes(tmp_path, one_event(f"<int key='x' value='{large}'/>")))
    assert json.loads(log.rows[0]["extra"]) == [{"type": "int", "key": "x", "value": large}]
    assert any("64 bits" in notice for notice in log.report.notices)


def test_a_second_attribute_of_the_same_key_is_kept(tmp_path: Path) -> None:
    body = one_event("<string key='x' value='1'/><string key='x' value='2'/>")
    log = imported(tmp_path, xes(tmp_path, body))
    assert log.column("x") == ["1"]
    assert json.loads(log.rows[0]["extra"]) == [{"type": "string", "key": "x", "value": "2"}]


def test_an_activity_written_as_a_number_is_the_activity_too(tmp_path: Path) -> None:
    log = imported(tmp_path, xes(tmp_path, one_event("<int key='concept:name' value='5'/>")))
    assert (log.rows[0]["activity"], log.rows[0]["concept:name"]) == ("5", 5)


def test_global_defaults_and_log_attributes_are_never_filled_in(tmp_path: Path) -> None:
    body = (
        "<global scope='event'><string key='g' value='UNKNOWN'/></global>"
        "<string key='l' value='x'><string key='m' value='y'/></string>" + one_event("")
    )
    log = imported(tmp_path, xes(tmp_path, body))
    assert set(log.rows[0]) == {"case_id", "pos", "ts_us", "activity", "first_pos"}
    assert (log.report.without_time, log.report.without_activity) == (1, 1)


def test_traces_of_the_same_name_or_none_stay_different_cases(tmp_path: Path) -> None:
    event = "<event><string key='concept:name' value='a'/></event>"
    named = f"<trace><string key='concept:name' value='c'/>{event}</trace>"
    body = named + named + f"<trace>{event}</trace>" * 2 + "<trace/>"
    log = imported(tmp_path, xes(tmp_path, body))
    first, second, unnamed, alike = log.column("case_id")
    assert (first, second[:3], unnamed[:9], alike) == ("c", "c (", "unnamed (", f"{unnamed} (2)")
    assert log.column("case:concept:name") == [None, "c", None, None]
    told = " ".join(log.report.notices)
    assert "earlier" in told
    assert "no name" in told
    assert "no events" in told


def test_one_trace_more_names_no_other_trace_anew(tmp_path: Path) -> None:
    """Chance deals cases into buckets by their ids: by a running number, all would move."""

    def trace(value: str, name: str = "") -> str:
        told = "<string key='concept:name' value='a'/>" + f"<int key='n' value='{value}'/>"
        return f"<trace>{name}<event>{told}</event></trace>"

    same = "<string key='concept:name' value='c'/>"
    others = "".join(trace(f"{n}") + trace(f"{n}", same) for n in range(5))
    traces = {"alone": others, "beside": trace("7") + others + trace("8", same)}
    found = {}
    for name, body in traces.items():
        (tmp_path / name).mkdir()
        log = imported(tmp_path / name, xes(tmp_path / name, body))
        found[name] = set(zip(log.column("case_id"), log.column("n"), strict=True))
    assert len(found["alone"]) == 10
    assert found["alone"] < found["beside"]


def test_trace_attributes_behind_the_events_still_reach_every_event(tmp_path: Path) -> None:
    body = "<trace><event/><event/><string key='late' value='v'/></trace>"
    assert imported(tmp_path, xes(tmp_path, body)).column("case:late") == ["v", "v"]


def test_a_namespace_prefix_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    path.write_text(
        "<x:log xmlns:x='http://www.xes-standard.org/'><x:trace>"
        "<x:event><x:int key='n' value='1'/></x:event></x:trace></x:log>"
    )
    assert imported(tmp_path, path).column("n") == [1]


BAD_EVENT = one_event("BAD")
BOMB = """<?xml version="1.0"?>
<!DOCTYPE log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<log><trace><event><string key="x" value="&b;"/></event></trace></log>"""


@pytest.mark.parametrize(
    ("content", "line", "cause"),
    [
        ("<log>\n<trace>\n<event>", 3, "truncated"),
        ("", 1, "truncated"),
        ("<log>\n<trace>\n</event></log>", 3, "mismatched tag"),
        ("\n<html/>", 2, "not XES"),
        (BOMB, 2, "declaration"),
        ("<log><event/></log>", 1, "outside any <trace>"),
        ("<log><trace>\n<string value='x'/></trace></log>", 2, "no key"),
        (
            f"<log>{BAD_EVENT}</log>".replace("BAD", "<date key='d' value='soon'/>"),
            2,
            "'d' is 'soon'",
        ),
        (
            f"<log>{BAD_EVENT}</log>".replace("BAD", "<int key='n' value='1_0'/>"),
            2,
            "not a whole number",
        ),
        (f"<log>{BAD_EVENT}</log>".replace("BAD", "<float key='n' value='x'/>"), 2, "not a number"),
        (
            f"<log>{BAD_EVENT}</log>".replace("BAD", "<boolean key='n' value='?'/>"),
            2,
            "not true or false",
        ),
        ("<log><trace>" + "<list key='l'>" * 200, 1, "nested"),
    ],
)
def test_a_defect_is_named_with_file_line_and_cause(
    content: str, line: int, cause: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.xes"
    path.write_text(content)
    with pytest.raises(LogFormatError) as caught:
        list(open_log(path).batches())
    assert (caught.value.file, caught.value.line) == ("bad.xes", line)
    assert cause in caught.value.cause
    assert caught.value.hint


@pytest.mark.parametrize(("cut", "cause"), [(0.5, "truncated"), (None, "damaged")])
def test_a_broken_gzip_file_is_named(cut: float | None, cause: str, tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(xes(tmp_path, one_event("") * 5000).read_bytes()))
    path = tmp_path / "bad.xes.gz"
    if cut is None:
        whole[-8] ^= 0xFF  # the checksum
    path.write_bytes(whole[: int(len(whole) * cut)] if cut else whole)
    with pytest.raises(LogFormatError, match=cause):
        list(open_log(path).batches())


def test_progress_ends_with_every_byte_of_the_file(tmp_path: Path) -> None:
    path = xes(tmp_path, one_event("<string key='concept:name' value='a'/>") * 5000)
    seen: list[tuple[int, int]] = []
    list(open_log(path).batches(lambda done, total: seen.append((done, total))))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert seen == sorted(seen)


def test_a_zone_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="Europe/Atlantis"):
        ReadOptions(timezone="Europe/Atlantis")
