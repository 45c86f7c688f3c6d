"""Parquet, Arrow, pandas and polars: types are kept, and no data frame library is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from pappi.errors import LogFormatError, UsageError
from pappi.eventlog import ReadOptions, open_log
from pappi.values import Kind
from tests.imported_log import imported

NOON = datetime(2020, 7, 1, 12, tzinfo=UTC)
NOON_US = round(NOON.timestamp()) * 1_000_000
COLUMNS: dict[str, list[Any]] = {
    "case_id": ["x", "NA", "x"],
    "activity": ["a", "b", None],
    "timestamp": [NOON, NOON + timedelta(hours=1), NOON + timedelta(microseconds=1)],
    "cost": [1, 2, None],
    "share": [0.5, None, 2.0],
    "urgent": [True, False, None],
    "note": ["007", "NA", None],
}


def parquet_file(folder: Path) -> Path:
    path = folder / "log.parquet"
    parquet.write_table(pa.table(COLUMNS), path)
    return path


@pytest.mark.parametrize(
    "source",
    [
        lambda _: pa.table(COLUMNS),
        lambda _: pd.DataFrame({**COLUMNS, "cost": pd.array([1, 2, None], dtype="Int64")}),
        lambda _: pl.DataFrame(COLUMNS),
        lambda _: pa.table(COLUMNS).to_reader(),
        parquet_file,
    ],
    ids=["arrow", "pandas", "polars", "arrow stream", "parquet"],
)
def test_every_kind_of_table_gives_the_same_events(
    source: Callable[[Path], object], tmp_path: Path
) -> None:
    log = imported(tmp_path, source(tmp_path))
    assert log.column("case_id") == ["x", "x", "NA"]
    assert log.column("activity") == ["a", None, "b"]
    assert log.column("ts_us") == [NOON_US, NOON_US + 1, NOON_US + 3600 * 10**6]
    assert log.column("cost") == [1, None, 2]
    assert log.column("share") == [0.5, 2.0, None]
    assert log.column("urgent") == [True, None, False]
    assert log.column("note") == ["007", None, "NA"]
    assert [column.kind for column in log.report.columns] == [
        Kind.NUMBER, Kind.NUMBER, Kind.TRUTH, Kind.TEXT,
    ]  # fmt: skip


def one(**columns: pa.Array) -> pa.Table:
    row = {"case": pa.array(["x"]), "activity": pa.array(["a"]), "timestamp": pa.array([NOON])}
    return pa.table({**row, **columns})


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        (pa.array([5], pa.int8()), Kind.NUMBER, 5),
        (pa.array([2**64 - 1], pa.uint64()), Kind.TEXT, "18446744073709551615"),
        (pa.array([Decimal("1.5")]), Kind.NUMBER, 1.5),
        (pa.array([timedelta(seconds=2)]), Kind.DURATION, 2_000_000),
        (pa.array([date(1970, 1, 2)]), Kind.TIME, 86_400_000_000),
        (pa.array([NOON.astimezone(ZoneInfo("Asia/Tokyo"))]), Kind.TIME, NOON_US),
        (pa.array(["p"]).dictionary_encode(), Kind.TEXT, "p"),
        (pa.array(["p"], pa.large_string()), Kind.TEXT, "p"),
        (pa.array([["p", "q"]]), Kind.TEXT, '["p", "q"]'),
        (pa.array([{"k": 1}]), Kind.TEXT, '{"k": 1}'),
        (pa.nulls(1), Kind.TEXT, None),
    ],
)
def test_every_arrow_type_has_a_place(
    values: pa.Array, kind: Kind, stored: object, tmp_path: Path
) -> None:
    log = imported(tmp_path, one(v=values))
    assert (log.report.columns[0].kind, log.rows[0]["v"]) == (kind, stored)


@pytest.mark.parametrize(
    "of",
    [
        pa.decimal32(9, 2),
        pa.decimal64(18, 3),
        pa.decimal128(12, 2),
        pa.decimal128(38, 38),
        pa.decimal128(10, -5),
        pa.decimal128(5, 50),
        pa.decimal256(76, 20),
        pa.decimal256(76, 350),
    ],
    ids=str,
)
def test_every_decimal_becomes_its_nearest_double(of: pa.DataType, tmp_path: Path) -> None:
    digits = [*range(-50, 300), 10 ** (of.precision - 1) // 7, 1 - 10**of.precision]
    exact = [Decimal(f"{number}e{-of.scale}") for number in digits]
    values = pa.array([*exact, None], of)
    table = pa.table(
        {
            "case": [str(row) for row in range(len(values))],
            "activity": ["a"] * len(values),
            "timestamp": [NOON] * len(values),
            "v": values,
            "encoded": values.dictionary_encode() if of.bit_width >= 128 else values,
        }
    )
    log = imported(tmp_path, table)
    nearest = [*map(float, exact), None]
    found = sorted(log.rows, key=lambda row: int(str(row["case_id"])))
    assert [row["v"] for row in found] == nearest
    assert [row["encoded"] for row in found] == nearest


def test_times_without_zone_are_wall_clock_of_the_zone_and_reported(tmp_path: Path) -> None:
    naive = pa.array([NOON.replace(tzinfo=None)])
    options = ReadOptions(timezone="Europe/Amsterdam")
    local = imported(tmp_path, one(timestamp=naive), options)
    assert local.rows[0]["ts_us"] == NOON_US - 2 * 3600 * 10**6
    utc = imported(tmp_path, one(timestamp=naive))
    assert utc.rows[0]["ts_us"] == NOON_US
    assert any("without an offset" in guess.what for guess in utc.report.guesses)


def test_event_times_may_be_texts(tmp_path: Path) -> None:
    texts = pa.array(["01.07.2020 12:00"])
    assert imported(tmp_path, one(timestamp=texts)).rows[0]["ts_us"] == NOON_US


def test_times_as_texts_are_read_by_all_of_them_however_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first may be of January or of July; the second, read later, says which."""
    monkeypatch.setattr("pappi.eventlog.tables._ROWS", 1)
    texts = pa.array(["01/07/2020 12:00", "13/07/2020 12:00"])
    log = imported(tmp_path, pa.table({"case": ["c", "c"], "activity": ["a", "b"], "time": texts}))
    assert [row["ts_us"] for row in log.rows] == [NOON_US, NOON_US + 12 * 86_400 * 10**6]
    assert "dd/mm/yyyy" in [guess.guess for guess in log.report.guesses]


def test_a_table_whose_types_show_no_time_is_refused_before_it_is_read() -> None:
    with pytest.raises(LogFormatError, match="no column looks like the timestamp"):
        open_log(one(timestamp=pa.array([7])).rename_columns(["case", "activity", "when else"]))
    with pytest.raises(LogFormatError, match="no column holds times only"):
        open_log(one(timestamp=pa.array([7])), ReadOptions(wide=True))


def test_event_times_may_be_counts_if_the_owner_says_of_what(tmp_path: Path) -> None:
    counts = one(timestamp=pa.array([NOON_US // 1000]))
    with pytest.raises(LogFormatError, match="not times"):
        imported(tmp_path, counts)
    log = imported(tmp_path, counts, ReadOptions(time_format="epoch-ms"))
    assert log.rows[0]["ts_us"] == NOON_US


@pytest.mark.parametrize(
    ("table", "cause"),
    [
        (one(case=pa.array([None], pa.string())), "row 1, the case"),
        (one(timestamp=pa.array(["soon"])), "row 1, 'timestamp' is 'soon'"),
        (one().drop_columns(["timestamp"]), "no column looks like the timestamp"),
    ],
)
def test_a_defect_is_named_with_row_and_cause(table: pa.Table, cause: str, tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=cause):
        imported(tmp_path, table)


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = parquet_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(LogFormatError, match=r"log\.parquet"):
        open_log(path)


def test_anything_else_is_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match="list") as caught:
        open_log([1, 2])
    assert "pandas" in caught.value.hint


@pytest.mark.outside
def test_asking_what_a_log_is_imports_nothing_heavy() -> None:
    code = (
        "import sys, pappi.eventlog; print({'pyarrow','numpy','duckdb','pandas'} & {*sys.modules})"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "set()"
