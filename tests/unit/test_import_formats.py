"""Logs as people have them: each file is read right, or refused with the way out.

One table: what the file holds, what is said of it, and what comes of it.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import pappi
from pappi.errors import PappiError, UsageError
from pappi.eventlog import ReadOptions, files, open_log, texts
from pappi.values import Kind, Vocabulary
from tests.commands import Run
from tests.foreign_files import Cell, Objects, archive, workbook
from tests.unit.test_cli import fingerprint

pytestmark = pytest.mark.outside

HEAD = "case,activity,time\n"
ROWS = "1,A,2024-02-01 10:00\n1,B,2024-02-02 10:00\n"
READ = [("1", "A", "2024-02-01 10:00"), ("1", "B", "2024-02-02 10:00")]
GERMAN = "Vorgang;Tätigkeit;Zeitpunkt;Kosten\n1;Prüfen;01.02.2024 10:00;1.234,56\n"
GERMAN_READ = [("1", "Prüfen", "2024-02-01 10:00", 1234.56)]
ORDERS = Objects(
    [
        ("place", "2024-02-01T10:00:00Z", {"by": "web"}, ["o1", "c1"]),
        ("pack", "2024-02-02T10:00:00Z", {}, ["o1", "o2", "o2"]),
        ("call", "2024-02-03T10:00:00Z", {}, ["c1"]),
    ],
    {
        "o1": ("orders", [("price", "1970-01-01T00:00:00Z", "5"), ("price", "2024-02-02T09", "7")]),
        "o2": ("orders", [("price", "1970-01-01T00:00:00Z", "9")]),
        "c1": ("customers", []),
    },
)
BY_ORDER = [
    ("o1", "place", "2024-02-01 10:00", 5),
    ("o1", "pack", "2024-02-02 10:00", 7),
    ("o2", "pack", "2024-02-02 10:00", 9),
]
FIVE = {"case:price"}
TEN = datetime(2024, 2, 1, 10)  # noqa: DTZ001 - what stands on the wall


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True)
class Odd:
    """A file, what is said of it, and what is read, or why not and what would help."""

    name: str
    content: str | bytes | Callable[[Path], object]
    read: list[tuple[Any, ...]] = field(default_factory=list)
    also: frozenset[str] | set[str] = frozenset()
    refused: str = ""
    helps: str = ""
    told: str = ""
    said: Mapping[str, Any] = field(default_factory=dict)

    def written(self, folder: Path) -> Path:
        path = folder / self.name
        if callable(self.content):
            self.content(path)
        else:
            text = self.content
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


def times(*texts: str) -> str:
    return "case;activity;time\n" + "".join(f"{n};A;{text}\n" for n, text in enumerate(texts))


def read_as(*texts: str) -> list[tuple[str, str, str]]:
    return [(str(n), "A", text) for n, text in enumerate(texts)]


def day_and_clock(path: Path) -> None:
    columns = {"case": ["1"], "activity": ["A"], "date": [date(2024, 2, 1)], "at": [time(10)]}
    parquet.write_table(pa.table(columns), path)


def started(path: Path) -> None:
    at = TEN
    columns = {"case": ["1"], "activity": ["A"], "began": [at - timedelta(hours=2)], "end": [at]}
    parquet.write_table(pa.table(columns), path)


def computing(path: Path) -> None:
    """A database that would make gigabytes of nothing."""
    ORDERS.sqlite(path)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("ALTER TABLE event_T0 ADD COLUMN big AS (zeroblob(900000000))")


def holes(path: Path) -> None:
    columns = {"case": ["1", None, "2"], "activity": ["A"] * 3, "time": ["2024-02-01", "x", "x"]}
    parquet.write_table(pa.table(columns), path)


BOOK: list[list[Cell]] = [
    ["case", "activity", "time", "cost", "open"],
    [4711, "A", TEN, 12.5, True],
    [4711, "B", "2024-02-02 10:00", None, False],
]
LOOSE_BOOK: list[list[Cell]] = [["Report of 2024"], [], BOOK[0][:3], ["1", "A", 45323.416666667]]
CYRILLIC = "заявка,этап,время\n1,Проверка,2024-02-01\n"

ODD = [
    # --- encodings ---
    Odd("bom.csv", "\ufeff" + GERMAN, GERMAN_READ, {"Kosten"}),
    Odd("western.csv", GERMAN.encode("cp1252"), GERMAN_READ, {"Kosten"}, told="cp1252, as in 'Tät"),
    Odd("western.csv.gz", gzip.compress(GERMAN.encode("cp1252")), GERMAN_READ, {"Kosten"}),
    Odd(
        "late.csv",
        (
            "case,activity,time\n" + "1,A,2024-02-01 10:00\n" * 4000 + "2,Büro,2024-02-01 10:00\n"
        ).encode("cp1252"),
        [("1", "A", "2024-02-01 10:00")] * 4000 + [("2", "Büro", "2024-02-01 10:00")],
        told="cp1252, as in 'Büro'",
    ),
    Odd("utf16.txt", GERMAN.replace(";", "\t").encode("utf-16"), GERMAN_READ, {"Kosten"}),
    Odd("utf16-no-mark.csv", GERMAN.encode("utf-16-le"), GERMAN_READ, {"Kosten"}, told="utf-16-le"),
    Odd(
        "cyrillic.csv",
        CYRILLIC.encode("cp1251"),
        refused="its encoding cannot be guessed",
        helps="--encoding cp1250",
    ),
    Odd(
        "cyrillic-said.csv",
        CYRILLIC.encode("cp1251"),
        [("1", "Проверка", "2024-02-01 00:00")],
        said={"encoding": "cp1251", "case": "заявка", "activity": "этап"},
    ),
    Odd(
        "mixed.csv",
        (HEAD + "1,Ä Ö Ü,2024-02-01\n").encode() + b"1,caf\xe9,2024-02-01\n",
        refused="mixed.csv:3: the text is not encoded in UTF-8",
        helps="--encoding cp1252",
    ),
    Odd(
        "wrong.csv",
        b"case,activity,time\n1,\x81,2024-02-01\n",
        refused="not encoded in cp1252",
        helps="--encoding",
        said={"encoding": "cp1252"},
    ),
    Odd(
        "nonsense.csv",
        HEAD + ROWS,
        refused="no encoding called 'utf8000'",
        helps="cp1252",
        said={"encoding": "utf8000"},
    ),
    # --- delimiters, numbers ---
    Odd(
        "sep.csv",
        "sep=;\r\ncase;activity;time\r\n1;A,B;2024-02-01 10:00\r\n",
        [("1", "A,B", "2024-02-01 10:00")],
    ),
    Odd(
        "sep-bad-line.csv",
        "sep=;\ncase;activity;time\n1;A;2024-02-01\n;A;2024-02-01\n",
        refused="sep-bad-line.csv:4: the case",
        helps="--skip-invalid",
    ),
    Odd("comma.csv", GERMAN, GERMAN_READ, {"Kosten"}, told="a comma, in 'Kosten'"),
    Odd(
        "thousands.csv",
        "case;activity;time;cost;weight\n1;A;2024-02-01 10:00;12,5;1.234\n",
        [("1", "A", "2024-02-01 10:00", 12.5, 1234.0)],
        {"cost", "weight"},
        told="'weight'",
    ),
    Odd(
        "english.csv",
        'case,activity,time,cost\n1,A,2024-02-01 10:00,"1,234.50"\n',
        [("1", "A", "2024-02-01 10:00", 1234.5)],
        {"cost"},
        told="thousands in groups",
    ),
    Odd(
        "unclear.csv",
        "case;activity;time;cost\n1;A;2024-02-01 10:00;1,234\n",
        [("1", "A", "2024-02-01 10:00", "1,234")],
        {"cost"},
        told="may be 1.234 or 1234",
    ),
    Odd(
        "unclear-said.csv",
        "case;activity;time;cost\n1;A;2024-02-01 10:00;1,234\n",
        [("1", "A", "2024-02-01 10:00", 1.234)],
        {"cost"},
        said={"decimal": ","},
    ),
    Odd(
        "decimal.csv",
        GERMAN,
        refused="cannot be a decimal sign",
        helps="comma or a point",
        said={"decimal": ";"},
    ),
    # --- times ---
    Odd(
        "names.csv",
        times("01-Feb-2024", "3. März 2024 10:30", "Thu, 01 Feb 2024 10:00 GMT"),
        read_as("2024-02-01 00:00", "2024-03-03 10:30", "2024-02-01 10:00"),
        told="dd-Mon-yyyy",
    ),
    Odd("american.csv", times("Feb 1, 2024, 2:30 PM"), read_as("2024-02-01 14:30")),
    Odd(
        "short.csv",
        times("1.2.24 10:00", "31.12.99"),
        read_as("2024-02-01 10:00", "1999-12-31 00:00"),
        told="years from 1969 to 2068",
    ),
    Odd(
        "said.csv",
        times("24/Feb/01 10h30"),
        read_as("2024-02-01 10:30"),
        said={"time_format": "%y/%b/%d %Hh%M"},
    ),
    Odd(
        "zones.csv",
        times("2024-02-01 11:00 CET", "2024-07-01 12:00:00 CEST"),
        read_as("2024-02-01 10:00", "2024-07-01 10:00"),
    ),
    Odd(
        "many-zones.csv",
        times("2024-02-01 11:00 IST"),
        refused="'2024-02-01 11:00 IST', which is ambiguous: IST is the name of several",
        helps="--time-format",
    ),
    Odd(
        "many-zones-said.csv",
        times("2024-02-01 15:30 IST"),
        read_as("2024-02-01 10:00"),
        said={"time_format": "%Y-%m-%d %H:%M IST", "timezone": "Asia/Kolkata"},
    ),
    Odd(
        "compact.csv",
        times("20240201", "20240202"),
        read_as("2024-02-01 00:00", "2024-02-02 00:00"),
    ),
    Odd("sap.csv", times("20240201143000"), read_as("2024-02-01 14:30"), told="yyyymmddhhmmss"),
    Odd("serial.csv", times("45323,416666667"), read_as("2024-02-01 10:00"), told="excel-days"),
    Odd(
        "two.csv",
        "case;activity;Date;Time\n1;A;01.02.2024;10:00\n",
        [("1", "A", "2024-02-01 10:00")],
        told="'Time'",
    ),
    Odd(
        "two-said.csv",
        "case;activity;on;at;no\n1;A;20240201;100000;5\n2;A;20240201;;6\n",
        [("1", "A", "2024-02-01 10:00"), ("2", "A", "2024-02-01 00:00")],
        said={"timestamp": "on", "time_of_day": "at"},
    ),
    Odd(
        "two.parquet",
        day_and_clock,
        [("1", "A", "2024-02-01 10:00")],
        said={"timestamp": "date", "time_of_day": "at"},
    ),
    # --- rows that are several events ---
    Odd(
        "start.csv",
        "case,activity,began,end\n1,A,2024-02-01 08:00,2024-02-01 10:00\n"
        "1,B,,2024-02-02 10:00\n1,C,2024-02-03 10:00,\n",
        [
            ("1", "A", "2024-02-01 08:00", "start"),
            ("1", "A", "2024-02-01 10:00", "complete"),
            ("1", "B", "2024-02-02 10:00", "complete"),
            ("1", "C", "2024-02-03 10:00", "start"),
        ],
        {"lifecycle:transition"},
        said={"start": "began"},
    ),
    Odd(
        "start.parquet",
        started,
        [("1", "A", "2024-02-01 08:00", "start"), ("1", "A", "2024-02-01 10:00", "complete")],
        {"lifecycle:transition"},
        said={"start": "began"},
    ),
    Odd(
        "wide.csv",
        "number,opened,resolved,closed,group\nT1,2024-02-01,2024-02-02,,x\n"
        "T2,2024-02-03,,2024-02-04,y\n",
        [
            ("T1", "opened", "2024-02-01 00:00", "x"),
            ("T1", "resolved", "2024-02-02 00:00", "x"),
            ("T2", "opened", "2024-02-03 00:00", "y"),
            ("T2", "closed", "2024-02-04 00:00", "y"),
        ],
        {"group"},
        said={"wide": True, "case": "number"},
        told="'opened', 'resolved', 'closed'",
    ),
    Odd(
        "wide-named.csv",
        "number,opened,due,closed\nT1,2024-02-01,2024-02-09,2024-02-02\n",
        [("T1", "opened", "2024-02-01 00:00"), ("T1", "closed", "2024-02-02 00:00")],
        said={"milestones": ("opened", "closed"), "case": "number"},
    ),
    Odd(
        "wide-typo.csv",
        "number,opened,closed\nT1,2024-02-01,2024-02-02\n",
        refused="no column 'open' to take a milestone from",
        helps="'opened'",
        said={"milestones": ("open",), "case": "number"},
    ),
    Odd(
        "wide-none.csv",
        "number,opened\nT1,yes\n",
        refused="no column holds times only",
        helps="--milestone",
        said={"wide": True, "case": "number"},
    ),
    Odd(
        "wide-start.csv",
        HEAD + ROWS,
        refused="without a start",
        helps="--start, --wide",
        said={"wide": True, "start": "time"},
    ),
    Odd(
        "wide-unsaid.csv",
        "number,opened,closed\nT1,2024-02-01,2024-02-02\nT2,never,2024-02-02\nT3,2024-02-01,\n",
        refused="no column looks like the case or the activity",
        helps="--case number, --wide",
    ),
    # --- rows that are invalid ---
    Odd(
        "invalid.csv",
        HEAD + ROWS + ",C,2024-02-03\n2,D,soon\n2,E\n2,F,9999-12-31\n3,G,\n",
        [*READ, ("3", "G", None)],
        told="1 row has no case: skipped (the first is line 4)",
        said={"skip_invalid": True},
    ),
    Odd(
        "no-case.csv",
        HEAD + ROWS + ",C,2024-02-03\n",
        refused="no-case.csv:4: the case .'case'. is empty",
        helps="--skip-invalid",
    ),
    Odd(
        "no-time.csv",
        HEAD + ROWS + "2,C,soon\n",
        refused="no-time.csv:4: 'time' is 'soon'",
        helps="--skip-invalid",
    ),
    Odd(
        "ragged.csv",
        HEAD + ROWS + "2,C\n",
        refused="ragged.csv:4: 2 fields",
        helps="--skip-invalid",
    ),
    Odd("holes.parquet", holes, [("1", "A", "2024-02-01 00:00")], said={"skip_invalid": True}),
    Odd("holes-refused.parquet", holes, refused="in row 2, 'time' is 'x'", helps="--skip-invalid"),
    # --- columns ---
    Odd(
        "nothing-found.csv",
        "no,what,on\n7,Check,2024-02-01\n7,Pay,2024-02-01\n8,Check,2024-02-02\n",
        refused="no column looks like the case or the activity",
        helps="--case no, --activity what",
    ),
    Odd(
        "nothing-at-all.csv",
        "no,what,much\n7,Check,5\n7,Pay,5\n8,Check,6\n",
        refused="no column looks like the case, the activity or the timestamp",
        helps="--case no, --activity what, --timestamp much",
    ),
    Odd(
        "misnamed.csv",
        HEAD + ROWS,
        refused="no column 'kase' to take the case from and no column "
        "'aktivity' to take the activity from",
        helps="'case', 'activity'",
        said={"case": "kase", "activity": "aktivity"},
    ),
    # --- workbooks ---
    Odd(
        "book.xlsx",
        workbook({"Log": BOOK}),
        [
            ("4711", "A", "2024-02-01 10:00", 12.5, True),
            ("4711", "B", "2024-02-02 10:00", None, False),
        ],
        {"cost", "open"},
    ),
    Odd(
        "loose.xlsx",
        workbook({"Log": LOOSE_BOOK, "Notes": [["x"]]}),
        [("1", "A", "2024-02-01 10:00")],
        told="the header is in row 3",
    ),
    Odd(
        "second.xlsx",
        workbook({"Notes": [["x"]], "Log": BOOK}),
        [("4711", "A", "2024-02-01 10:00"), ("4711", "B", "2024-02-02 10:00")],
        said={"sheet": "Log"},
    ),
    Odd(
        "sheets.xlsx",
        workbook({"Log": BOOK}),
        refused="no sheet 'Logs'",
        helps="'Log'",
        said={"sheet": "Logs"},
    ),
    Odd(
        "cover.xlsx",
        workbook({"Cover": [["Report"]], "Log": BOOK}),
        refused="no column looks like",
        helps="'Cover', not 'Log'",
    ),
    Odd("broken.xlsx", b"not a workbook", refused="not a readable workbook", helps="save it again"),
    Odd(
        "gap.xlsx",
        workbook({"Log": [BOOK[0], ["1", "A", "soon"]]}),
        refused="in row 2 of sheet 'Log', 'time' is 'soon'",
        helps="--skip-invalid",
    ),
    Odd("really-a-book.csv", workbook({"Log": BOOK}), refused="not a text file", helps=".xlsx"),
    # --- zip ---
    Odd("one.zip", archive({"__MACOSX/._log.csv": "x", "folder/log.csv": HEAD + ROWS}), READ),
    Odd(
        "two.zip",
        archive({"a.csv": HEAD + ROWS, "b.csv": "x"}),
        refused="the archive has 2 files",
        helps="--member a.csv",
    ),
    Odd(
        "two-said.zip",
        archive({"a.csv": "x", "b.csv": HEAD + ROWS}),
        READ,
        said={"member": "b.csv"},
    ),
    Odd(
        "book.zip",
        archive({"book.xlsx": workbook({"Log": BOOK})}),
        [("4711", "A", "2024-02-01 10:00"), ("4711", "B", "2024-02-02 10:00")],
    ),
    Odd(
        "objects.zip",
        archive({"log.json": ORDERS.json()}),
        BY_ORDER,
        FIVE,
        said={"object_type": "orders"},
    ),
    Odd(
        "member.csv",
        HEAD + ROWS,
        refused="is not a zip archive",
        helps="--member",
        said={"member": "x"},
    ),
    Odd(
        "none.zip",
        archive({"readme.md": "x"}),
        refused="cannot tell from the name",
        helps="save it as CSV",
    ),
    # --- JSON ---
    Odd(
        "log.jsonl",
        '{"case": {"id": 7}, "activity": "A", "time": "2024-02-01 10:00", "n": 1.50}\n\n'
        '{"case": {"id": 7}, "activity": "B", "time": "2024-02-02 10:00", "ok": true}\n',
        [("7", "A", "2024-02-01 10:00", 1.5), ("7", "B", "2024-02-02 10:00", None)],
        {"n"},
    ),
    Odd(
        "list.json",
        json.dumps([{"case": 1, "activity": "A", "time": "2024-02-01 10:00"}]),
        READ[:1],
    ),
    Odd(
        "broken.jsonl", '{"case": 1}\n{"case"\n', refused="broken.jsonl:2: not JSON", helps=".jsonl"
    ),
    Odd("config.json", '{"a": 1}', refused="neither a list of events nor an OCEL", helps="as CSV"),
    # --- object-centric logs ---
    Odd(
        "ocel.json",
        ORDERS.json(),
        BY_ORDER,
        FIVE,
        told="1 more events than in the file",
        said={"object_type": "orders"},
    ),
    Odd("ocel.xml", ORDERS.xml(), BY_ORDER, FIVE, said={"object_type": "orders"}),
    Odd(
        "ocel.sqlite",
        ORDERS.sqlite,
        BY_ORDER,
        FIVE,
        said={"object_type": "orders", "timezone": "Europe/Berlin"},
    ),
    Odd(
        "ocel.jsonocel",
        ORDERS.old_json(),
        [row[:3] for row in BY_ORDER],
        said={"object_type": "orders"},
    ),
    Odd(
        "ocel.xmlocel",
        ORDERS.old_xml(),
        [row[:3] for row in BY_ORDER],
        said={"object_type": "orders"},
    ),
    Odd(
        "customers.json",
        ORDERS.json(),
        [("c1", "place", "2024-02-01 10:00"), ("c1", "call", "2024-02-03 10:00")],
        said={"object_type": "customers"},
        told="1 event concerns no object of type 'customers'",
    ),
    Odd(
        "types.json",
        ORDERS.json(),
        refused=r"objects of 2 types: 'customers' \(1 objects in 2 events",
        helps="--object-type customers",
    ),
    Odd(
        "types-typo.xml",
        ORDERS.xml(),
        refused="no object has the type 'order'",
        helps="'orders'",
        said={"object_type": "order"},
    ),
    Odd(
        "plain.sqlite", b"SQLite format 3\x00garbage", refused="not an OCEL 2.0 log", helps="as CSV"
    ),
    Odd(
        "entities.xml",
        '<!DOCTYPE log [<!ENTITY a "b">]><log><objects/></log>',
        refused="declarations are not accepted",
        helps="DOCTYPE",
    ),
    Odd(
        "odd-types.json",
        ORDERS.json().replace('"place"', "[1]").replace('"c1"', "{}"),
        [("o1", '["1"]', *BY_ORDER[0][2:]), *BY_ORDER[1:]],
        FIVE,
        said={"object_type": "orders"},
    ),
    Odd("generated.sqlite", computing, BY_ORDER, FIVE, said={"object_type": "orders"}),
    Odd(
        "long.json",
        ORDERS.json().replace("web", "x" * 2_000_000),
        refused="more than 1,000,000 characters",
        helps="--longest-text",
        said={"object_type": "orders"},
    ),
    Odd(
        "titles.csv",
        "Report,,\n" + HEAD + ROWS,
        refused="the columns are 'Report', 'column 2'",
        helps="delete any lines above the header",
    ),
    Odd(
        "order.csv",
        "Auftragsnummer;Vorgang;Datum\n1;A;01.02.2024 10:00\n1;B;02.02.2024 10:00\n",
        READ,
    ),
    Odd(
        "disco.csv",
        "Case ID,Activity,Start Time,Complete Timestamp\n"
        "1,A,2024-02-01 09:00,2024-02-01 10:00\n1,B,2024-02-02 09:00,2024-02-02 10:00\n",
        READ,
        told="'Start Time' is kept as an attribute",
    ),
    # --- what is none of these ---
    Odd("dump.sql", "INSERT INTO x", refused="cannot tell from the name", helps="save it as CSV"),
    Odd(
        "sheet.csv",
        HEAD + ROWS,
        refused="a CSV file has no sheets",
        helps="--sheet",
        said={"sheet": "Log"},
    ),
    Odd(
        "zone.csv",
        HEAD + ROWS,
        refused="no time zone called 'berlin'",
        helps="Europe/Berlin",
        said={"timezone": "berlin"},
    ),
]
FINE = [odd for odd in ODD if not odd.refused]
REFUSED = [odd for odd in ODD if odd.refused]


def rows(
    path: Path, options: ReadOptions, more: set[str] | frozenset[str]
) -> list[tuple[Any, ...]]:
    """Case, activity, time, and attributes in the order in which the reader has them."""
    reader = open_log(path, options)
    batches = [batch.to_pylist() for batch in reader.batches()]
    held = [column.field for column in reader.description().columns if column.name in more]
    return [
        (row["case_id"], row["activity"], row["ts_us"], *(row.get(name) for name in held))
        for batch in batches
        for row in batch
    ]


def test_there_are_more_than_thirty_of_them() -> None:
    assert len(FINE) > 40
    assert len(REFUSED) > 25
    assert len({odd.name for odd in ODD}) == len(ODD)


@pytest.mark.parametrize("odd", FINE, ids=lambda odd: odd.name)
def test_an_odd_file_is_read_right(odd: Odd, tmp_path: Path) -> None:
    path, options = odd.written(tmp_path), ReadOptions(**odd.said)
    width = len(odd.read[0])
    found = [row[:width] for row in rows(path, options, odd.also)]
    assert found == [
        (case, activity, at and moment(at), *more) for case, activity, at, *more in odd.read
    ]
    reader = open_log(path, options)
    for _ in reader.batches():
        pass
    described = reader.description()
    assert odd.told in "\n".join((*map(str, described.guesses), *described.notices))


@pytest.mark.parametrize("odd", REFUSED, ids=lambda odd: odd.name)
def test_or_it_is_refused_with_the_way_out(odd: Odd, tmp_path: Path) -> None:
    path = odd.written(tmp_path)
    with pytest.raises(PappiError, match=odd.refused) as refused:
        for _ in open_log(path, ReadOptions(**odd.said)).batches():
            pass
    assert odd.helps in refused.value.hint_of_command
    assert "\n" not in refused.value.message


def flags(said: Mapping[str, Any]) -> list[str]:
    given = []
    for name, value in said.items():
        flag = "--" + {"milestones": "milestone"}.get(name, name).replace("_", "-")
        if value is True:
            given.append(flag)
        else:
            values = value if isinstance(value, tuple) else (value,)
            given += [word for one in values for word in (flag, one)]
    return given


def test_a_refusal_leaves_the_workspace_as_it_was(run: Run, tmp_path: Path) -> None:
    """And says on the command line what the reader said, in words of the command line."""
    run("init", tmp_path / "w")
    (tmp_path / "log.csv").write_text(HEAD + ROWS)
    assert run("log", "import", tmp_path / "log.csv", "-w", tmp_path / "w")[0] == 0
    before = fingerprint(tmp_path / "w")
    for odd in REFUSED:
        path = odd.written(tmp_path)
        code, out, errors = run("log", "import", path, *flags(odd.said), "-w", tmp_path / "w")
        assert code in (2, 5), odd.name
        assert not out
        assert odd.helps in errors.replace("\n", " "), odd.name
    assert fingerprint(tmp_path / "w") == before


def test_every_option_of_a_reader_can_be_said_on_the_command_line(run: Run) -> None:
    _, helped, _ = run("log", "import", "--help")
    for option in fields(ReadOptions):
        name = {"milestones": "milestone"}.get(option.name, option.name)
        assert f"--{name.replace('_', '-')}" in helped


# --- both doors -----------------------------------------------------------------------


def test_what_is_guessed_is_told_with_the_option_that_changes_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "07_log 2024.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    run("init", tmp_path / "w")
    code, out, _ = run("log", "import", path, "-w", tmp_path / "w")
    assert code == 0
    assert "guessed encoding: cp1252, as in 'Tätigkeit' (change with --encoding)" in out
    assert "guessed decimal sign: a comma, in 'Kosten' (change with --decimal)" in out
    assert "called 'log_07_log_2024'" in out
    assert "--name" in out


def test_python_takes_the_words_of_its_hints(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("no,what,on\n7,Check,2024-02-01\n7,Pay,2024-02-01\n8,Check,2024-02-02\n")
    workspace = pappi.create(tmp_path / "w")
    with pytest.raises(PappiError) as refused:
        workspace.import_log(path)
    assert refused.value.hint.endswith("case='no', activity='what'")
    imported = workspace.import_log(path, case="no", activity="what")
    assert imported.report.cases == 2
    with pytest.raises(UsageError, match="no argument 'kase'") as unknown:
        workspace.import_log(path, "again", kase="no")
    assert "'case'" in unknown.value.hint


def test_wall_clock_and_calendar_may_have_two_zones(run: Run, tmp_path: Path) -> None:
    """As in Python, where the reader has the one zone and the terms the other."""
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "1,A,2024-03-01 00:30\n")
    run("init", tmp_path / "w")
    zones = ("--clock-zone", "Europe/Berlin", "--timezone", "UTC")
    _, out, _ = run("log", "import", path, *zones, "-w", tmp_path / "w")
    assert "2024-02-29 to 2024-02-29" in out
    assert "horizon           2024-02-01 to 2024-02-29" in out


def test_without_the_extra_its_installation_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.xlsx"
    path.write_bytes(workbook({"Log": BOOK}))
    monkeypatch.setattr(texts, "find_spec", lambda _name: None)
    with pytest.raises(PappiError) as refused:
        open_log(path)
    assert "pip install 'pappi[excel]'" in refused.value.hint


# --- what was made to exhaust its reader ----------------------------------------------


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.xlsx"])
def test_an_archive_that_grows_out_of_all_proportion_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_HARMLESS", 1 << 16)
    path = tmp_path / name
    path.write_bytes(archive({"log.csv": HEAD + "1,A,2024-02-01\n" * 100_000}))
    with pytest.raises(PappiError, match="grows to more than 400 times its size"):
        for _ in open_log(path).batches():
            pass


def test_a_cell_at_the_far_end_makes_no_table_of_millions_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "log.xlsx"
    with zipfile.ZipFile(io.BytesIO(workbook({"Log": BOOK}))) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</sheetData>", far)
    path.write_bytes(archive(parts))
    with pytest.raises(PappiError, match="a sheet of 1,048,576 rows and 16,384 columns") as refused:
        open_log(path)
    assert "as CSV" in refused.value.hint


def test_an_archive_that_lies_about_sizes_is_refused_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory says 19 bytes; what is unpacked is what counts."""
    monkeypatch.setattr(files, "_HARMLESS", 1 << 16)
    text = HEAD + "1,A,2024-02-01\n" * 100_000
    honest = archive({"log.csv": text})
    size = len(text).to_bytes(4, "little")
    assert honest.count(size) == 2
    path = tmp_path / "log.zip"
    path.write_bytes(honest.replace(size, (19).to_bytes(4, "little")))
    with pytest.raises(PappiError, match="grows to more than"):
        for _ in open_log(path).batches():
            pass


# --- a declaration --------------------------------------------------------------------


def test_in_a_declared_log_no_value_shows_how_others_are_written(tmp_path: Path) -> None:
    """A decimal comma is said or is none; one row more does not change how the first is read."""
    declared = Vocabulary(("A",), {"cost": Kind.NUMBER})
    base = "case;activity;time;cost\n1;A;2024-02-01;1.234\n"
    found = {}
    for said in (None, ","):
        for more in ("", "2;A;2024-02-01;1.234,5\n"):
            path = tmp_path / "log.csv"
            path.write_text(base + more)
            options = ReadOptions(decimal=said, time_format="yyyy-mm-dd", delimiter=";")
            read = [r for b in open_log(path, options, declared).batches() for r in b.to_pylist()]
            found[said, bool(more)] = [row["a0"] for row in read]
    assert found[None, False] == [1.234]
    assert found[None, True] == [1.234, None]
    assert found[",", False] == [1234]
    assert found[",", True] == [1234, 1234.5]


def test_without_a_declaration_it_does(tmp_path: Path) -> None:
    """The detector's own check."""
    found = []
    for more in ("", "2;A;2024-02-01;1.234,5\n"):
        path = tmp_path / "log.csv"
        path.write_text(f"case;activity;time;cost\n1;A;2024-02-01;1.234\n{more}")
        found.append(next(open_log(path).batches()).to_pylist()[0]["a3"])
    assert found == [1.234, 1234]


def test_without_one_object_exactly_its_case_is_gone(tmp_path: Path) -> None:
    """What makes the object the unit: other cases hold nothing of it, shared events included."""
    path = tmp_path / "log.json"
    path.write_text(ORDERS.json())
    options = ReadOptions(object_type="orders")
    both = rows(path, options, FIVE)
    alone = Objects(
        [
            (of, at, given, [o for o in about if o != "o1"])
            for of, at, given, about in ORDERS.events
        ],
        {key: known for key, known in ORDERS.objects.items() if key != "o1"},
    )
    path.write_text(alone.json())
    assert rows(path, options, FIVE) == [row for row in both if row[0] != "o1"]
