"""Traces read at once are what the XML parser makes of them, and what is unusual is left to it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest

from pappi.errors import LogFormatError
from pappi.eventlog import ReadOptions, RecordBatch, open_log
from pappi.eventlog import xes as reading
from pappi.eventlog.xes import BulkReader, Irregular
from pappi.eventlog.xes_parser import DateReader, XesParser
from tests.shared_data import shared_data


@dataclass(frozen=True, slots=True)
class Read:
    """All that a reading gives: rows, columns and notices, or the defect it stops at."""

    rows: list[dict[str, Any]]
    description: object
    defect: tuple[int | None, str] | None


def read(path: Path, zone: str | None = None) -> Read:
    reader = open_log(path, ReadOptions(timezone=zone))
    rows = []
    try:
        for batch in reader.batches():
            rows += batch.to_pylist()
    except LogFormatError as error:
        return Read([], None, (error.line, error.cause))
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return Read(present, reader.description(), None)


def read_by_the_parser_alone(path: Path, zone: str | None = None) -> Read:
    with patch.object(BulkReader, "batch", side_effect=Irregular):
        return read(path, zone)


@contextmanager
def counting_parsed_bytes() -> Iterator[list[int]]:
    fed: list[int] = []
    feed = XesParser.feed

    def counted(self: XesParser, text: bytes) -> Iterator[RecordBatch]:
        fed.append(len(text))
        return feed(self, text)

    with patch.object(XesParser, "feed", counted):
        yield fed


def event(inside: str = "") -> str:
    return (
        '<event>\n<string key="concept:name" value="a"/>'
        f'<date key="time:timestamp" value="2020-02-03T04:05:06.789+01:00"/>{inside}</event>\n'
    )


def trace(name: str, inside: str) -> str:
    return f'<trace>\n\t<string key="concept:name" value="{name}"/>\n{inside}\r\n</trace>\n'


def written(folder: Path, middle: str, head: str = "<log>") -> Path:
    """A log whose first trace only shows the parser where the traces are."""
    path = folder / "log.xes"
    path.write_bytes(
        f"{head}\n{trace('first', event())}{middle}{trace('last', event())}</log>".encode(
            errors="surrogateescape"
        )
    )
    return path


ATTRIBUTE = '<string key="k" value="v"/>'
USUAL = [
    ATTRIBUTE,
    '<int key="n" value="-7"/><float key="f" value="1e-3"/><boolean key="b" value="true"/>',
    '<int key="n" value=" 007 "/><float key="f" value="inf"/><boolean key="b" value="FALSE"/>',
    '<string key="k" value="" /><id key="k" value="Zoë → 𝄞"/>',
    '<string key="k" value="it\'s > 3 &amp;lt; &#233;&#10;&quot;"/>',
    '<date key="d" value="2020-02-03T04:05:06Z"/>',
    '<date key="d" value="2020-02-03T04:05:06"/>',
    '<date key="d" value="2020-02-03"/>',
    '<date key="d" value="2020-06-03T04:05:06.123456"/>',
    '</event><string key="late" value="v"/><event>' + ATTRIBUTE,
]
UNUSUAL = [
    "</event><event></event><event>",
    '<date key="time:timestamp" value="0001-01-01T00:00:00Z"/>',
    '<string key="k" value="&#xE9;"/>',
    '<date key="d" value="2020-02-03T04:05:06.1234567Z"/>',
    '<int key="n" value="123456789012345678901234567890"/>',
    '<int key="n" value="1_0"/>',
    '<float key="n" value="one"/>',
    '<date key="d" value="0000-01-01T00:00:00Z"/>',
    '<string key="concept:name" value="b"/>',
    '<int key="concept:name" value="5"/>',
    '<string key="time:timestamp" value="soon"/>',
    '<string key="k" value="v"><int key="n" value="1"/></string>',
    '<list key="l"><int key="n" value="1"/></list>',
    '<string value="v" key="k"/>',
    "<string key='k' value='v'/>",
    '<string key="k"/>',
    '<string value="v"/>',
    '<string key="k" value="two\nlines\tand tab"/>',
    '<string key="k&amp;k" value="v"/>',
    '<string key="k" value="a<b"/>',
    '<string key="k" value="&unknown;"/>',
    '<string key="k" value="&#0;"/>',
    '<string key="k" value="&#xD800;"/>',
    '<string key="k" value="\x01"/>',
    '<string key="k" value="\uffff"/>',
    '<string key="k" value="\udcff"/>',
    '<string key="k" value="v" key="k"/>',
    "<!-- </trace> <trace> -->",
    "<![CDATA[</event>]]>",
    "<?pi </trace>?>",
    "some text",
    "<event/>",
    "</trace>",
    "</event></trace></log>",
    '</event></trace><trace></trace><trace><string key="concept:name" value="x"/><event>',
    '</event></trace><trace><event><string key="k" value="unnamed"/>',
    f'</event></trace><trace><string key="concept:name" value="first"/><event>{ATTRIBUTE}',
    f'</event></trace><trace><string key="concept:name" value="middle"/><event>{ATTRIBUTE}',
    f'</trace><trace><string key="concept:name" value="x"/><event>{ATTRIBUTE}',
    f"</event></trace><event>{ATTRIBUTE}",
    f"</event></trace><!-- </trace>{trace('hidden', event())}--><trace><event>{ATTRIBUTE}",
    '</event></trace><string key="of the log" value="v"/><trace><event>',
    "</event></trace><!-- <trace><event></event></trace> --><trace><event>",
    "<!DOCTYPE log [<!ENTITY a 'b'>]>",
]


@pytest.mark.parametrize("inside", [*USUAL, *UNUSUAL])
@pytest.mark.parametrize("block", [1 << 22, 97])
def test_both_ways_of_reading_agree(inside: str, block: int, tmp_path: Path) -> None:
    middle = trace("middle", event(inside)) + trace("another", event())
    path = written(tmp_path, middle)
    with patch.object(reading, "_BLOCK", block):
        for zone in (None, "Europe/Amsterdam"):
            assert read(path, zone) == read_by_the_parser_alone(path, zone)


@pytest.mark.parametrize("inside", USUAL)
def test_the_usual_is_never_shown_to_the_parser(inside: str, tmp_path: Path) -> None:
    middle = "".join(trace(str(number), event(inside)) for number in range(50))
    with counting_parsed_bytes() as fed:
        assert read(written(tmp_path, middle)).defect is None
    assert sum(fed) == len(f"<log>\n{trace('first', event())}</log>")


@pytest.mark.parametrize("inside", UNUSUAL)
def test_the_unusual_is_left_to_the_parser(inside: str, tmp_path: Path) -> None:
    path = written(tmp_path, trace("middle", event(inside)))
    with counting_parsed_bytes() as fed:
        read(path)
    assert sum(fed) > len(f"<log>\n{trace('first', event())}</log>")


def test_a_real_log_is_read_alike_both_ways() -> None:
    for file in ("06_bpic2013_closed.xes.gz", "08_receipt.xes.gz"):
        path = shared_data("xes", file)
        assert read(path) == read_by_the_parser_alone(path)


def test_a_defect_behind_traces_read_at_once_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, trace("middle", event()) * 20)
    content = path.read_bytes().replace(b"</log>", b"\n<oops</log>")
    path.write_bytes(content)
    line = content.replace(b"\r\n", b"\n").count(b"\n") + 1
    assert read(path).defect == (line, "malformed XML: not well-formed (invalid token)")


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16"])
def test_other_encodings_are_left_to_the_parser(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, trace("Zoë", event()))
    text = f"<?xml version='1.0' encoding='{encoding}'?>" + path.read_text(encoding="utf-8")
    path.write_bytes(text.encode(encoding))
    assert [row["case_id"] for row in read(path).rows] == ["first", "Zoë", "last"]


def test_a_trace_without_end_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.xes.gz"
    body = f"<log>{trace('c', event())}<trace>" + event() * 2000
    path.write_bytes(gzip.compress(body.encode()))
    with patch.object(reading, "_BLOCK", 1000), patch.object(reading, "_LONGEST", 5000):
        with counting_parsed_bytes() as fed:
            assert read(path).defect is not None
        assert max(fed) <= 6000 + len(trace("c", event()))


@pytest.mark.parametrize("zone", [None, ZoneInfo("Europe/Amsterdam")])
def test_dates_read_at_once_are_counted_like_dates_read_alone(zone: ZoneInfo | None) -> None:
    import pyarrow as pa

    texts = ["2020-03-29T02:30:00", "2020-10-25T02:30:00.5", "1883-01-01T00:00:00"]
    alone, at_once = DateReader(zone), DateReader(zone)
    assert at_once.read_all(pa.array(texts)).to_pylist() == [alone.read(text) for text in texts]
    assert at_once == alone
