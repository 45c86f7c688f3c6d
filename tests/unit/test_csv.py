"""CSV logs: what is guessed is reported, what is said is obeyed, nothing is made up."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pappi.errors import InputError, LogFormatError, UsageError
from pappi.eventlog import Batches, Progress, ReadOptions, Reread, no_progress, open_log
from pappi.eventlog.tables import TableReader
from pappi.values import Kind
from tests.imported_log import Imported, imported
from tests.shared_data import shared_data

AMSTERDAM = ReadOptions(timezone="Europe/Amsterdam")


def us(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 10**6


def csv(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def times(folder: Path, written: list[str], options: ReadOptions | None = None) -> Imported:
    lines = "".join(f'c{n};a;"{text}"\n' for n, text in enumerate(written))
    return imported(folder, csv(folder, f"case;activity;timestamp\n{lines}"), options)


@pytest.mark.outside
def test_the_sepsis_log_arrives_whole_with_its_false_z_read_as_wall_clock(tmp_path: Path) -> None:
    log = imported(tmp_path, shared_data("sepsis.csv.gz"), AMSTERDAM)
    assert (log.report.events, log.report.cases) == (15_214, 1_050)
    assert "NA" in log.column("case_id")
    assert log.rows[0]["ts_us"] == us("2014-10-22T11:15:41", "Europe/Amsterdam")
    assert len(log.report.activities) == 16
    kinds = {column.name: column.kind for column in log.report.columns}
    assert (kinds["age"], kinds["leucocytes"]) == (Kind.NUMBER, Kind.NUMBER)
    assert (kinds["infusion"], kinds["diagnose"]) == (Kind.TRUTH, Kind.TEXT)
    assert log.rows[0]["age"] == 85
    assert log.rows[1]["leucocytes"] == 9.6
    assert log.rows[1]["age"] is None
    assert any("Z" in guess.what and "wall clock" in guess.guess for guess in log.report.guesses)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("2014-07-01T12:00:00Z", ReadOptions(), us("2014-07-01T12:00")),
        ("2014-07-01T12:00:00", ReadOptions(), us("2014-07-01T12:00")),
        ("2014-07-01T12:00:00Z", AMSTERDAM, us("2014-07-01T10:00")),
        (
            "2014-07-01T12:00:00Z",
            ReadOptions(timezone="Europe/Amsterdam", z_is_utc=True),
            us("2014-07-01T12:00"),
        ),
        ("2014-07-01 12:00:00+05:30", AMSTERDAM, us("2014-07-01T06:30")),
        ("2014-10-26 02:30", AMSTERDAM, us("2014-10-26T00:30")),
        ("2014-10-26 03:00", AMSTERDAM, us("2014-10-26T02:00")),
        ("2014-03-30 03:00", AMSTERDAM, us("2014-03-30T01:00")),
        ("2014-07-01", ReadOptions(), us("2014-07-01T00:00")),
        ("2014/07/01 1:05 PM", ReadOptions(), us("2014-07-01T13:05")),
        ("31-12-2014 23:59", ReadOptions(), us("2014-12-31T23:59")),
        ("12/31/2014 23:59:58", ReadOptions(), us("2014-12-31T23:59:58")),
        ("31/12/2014", ReadOptions(), us("2014-12-31T00:00")),
        ("31.12.2014 08:00", ReadOptions(), us("2014-12-31T08:00")),
        ("1404216000", ReadOptions(), us("2014-07-01T12:00")),
        ("1404216000000", ReadOptions(), us("2014-07-01T12:00")),
        ("1404216000000000", ReadOptions(), us("2014-07-01T12:00")),
        ("7", ReadOptions(time_format="epoch-s"), 7_000_000),
        ("01/02/2014", ReadOptions(time_format="dd/mm/yyyy"), us("2014-02-01T00:00")),
        ("20140701@1200", ReadOptions(time_format="%Y%m%d@%H%M"), us("2014-07-01T12:00")),
    ],
)
def test_times_are_exact_in_every_common_writing(
    text: str, options: ReadOptions, expected: int, tmp_path: Path
) -> None:
    assert times(tmp_path, [text], options).column("ts_us") == [expected]


def test_fractions_of_a_second_are_exact_to_the_microsecond(tmp_path: Path) -> None:
    log = times(tmp_path, ["2014-07-01T12:00:00.5", "2014-07-01T12:00:00.123456"])
    assert [value - us("2014-07-01T12:00") for value in log.column("ts_us")] == [500_000, 123_456]


def test_the_whole_column_decides_between_day_and_month(tmp_path: Path) -> None:
    decided = times(tmp_path, ["01/02/2014", "31/01/2014"])
    assert decided.rows[0]["ts_us"] == us("2014-02-01T00:00")
    open_question = times(tmp_path, ["01/02/2014"])
    assert any("fits as well" in guess.guess for guess in open_question.report.guesses)


TYPED = """case_id|activity|timestamp|whole|real|truth|day|code|long|note|word
NA|NA|2020-01-01|1|1.5|true|2020-02-01|007|12345678901234567890|a|NA
b|x|2020-01-02|NA|NULL||NA|1|1|"two
lines"|None
c||2020-01-03||2e3|FALSE||2|2||x
"""


def test_types_are_found_where_nothing_is_lost_and_text_stays_text(tmp_path: Path) -> None:
    log = imported(tmp_path, csv(tmp_path, TYPED))
    assert log.types == {
        "whole": "integer", "real": "float", "truth": "boolean", "day": "time",
        "code": "text", "long": "text", "note": "text", "word": "text",
    }  # fmt: skip
    assert log.column("case_id") == ["NA", "b", "c"]
    assert log.column("activity") == ["NA", "x", None]
    assert log.column("whole") == [1, None, None]
    assert log.column("real") == [1.5, None, 2000.0]
    assert log.column("truth") == [True, None, False]
    assert log.column("day") == [us("2020-02-01T00:00"), None, None]
    assert log.column("code") == ["007", "1", "2"]
    assert log.column("long") == ["12345678901234567890", "1", "2"]
    assert log.column("note") == ["a", "two\nlines", None]
    assert log.column("word") == ["NA", "None", "x"]
    assert {column.name: column.missing for column in log.report.columns}["whole"] == 2
    assert any("'NA' in the text column 'word'" in notice for notice in log.report.notices)


@pytest.mark.outside
def test_missing_markers_that_are_said_hold_in_text_columns_but_never_for_the_case(
    tmp_path: Path,
) -> None:
    log = imported(tmp_path, csv(tmp_path, TYPED), ReadOptions(missing=("NA",)))
    assert log.column("word") == [None, "None", "x"]
    assert log.column("case_id")[0] == log.column("activity")[0] == "NA"
    assert log.types["real"] == "text"  # NULL is now a text like any other


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_delimiter_is_recognised(delimiter: str, tmp_path: Path) -> None:
    text = "CaseID,Activity,Complete Timestamp\n1,a,2020-01-01 10:00\n1,b,2020-01-01 11:00\n"
    log = imported(tmp_path, csv(tmp_path, text.replace(",", delimiter)))
    assert log.column("activity") == ["a", "b"]
    assert [guess.what for guess in log.report.guesses][:4] == [
        "delimiter", "case column", "activity column", "timestamp column",
    ]  # fmt: skip


def test_columns_that_are_said_are_used(tmp_path: Path) -> None:
    text = "case,who,activity,what,timestamp,at\n1,p,a,b,2020-01-01,2021-01-01\n"
    options = ReadOptions(case="who", activity="what", timestamp="at")
    log = imported(tmp_path, csv(tmp_path, text), options)
    row = log.rows[0]
    assert (row["case_id"], row["activity"], row["ts_us"]) == ("p", "b", us("2021-01-01T00:00"))
    assert not any("column" in guess.what for guess in log.report.guesses)


def test_times_are_found_by_content_if_no_name_tells(tmp_path: Path) -> None:
    text = "case,activity,cost,moment\n1,a,5,2020-01-01 08:00\n"
    assert imported(tmp_path, csv(tmp_path, text)).column("ts_us") == [us("2020-01-01T08:00")]


def test_starts_are_not_the_times_of_a_log_whose_ends_no_name_tells(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,activity,began,zzz\n1,A,2024-01-01 10:00,2024-01-01 11:00\n")
    with pytest.raises(LogFormatError, match="looks like the timestamp") as refused:
        imported(tmp_path, path, ReadOptions(start="began"))
    assert "timestamp='zzz'" in str(refused.value.hint)


def test_a_byte_order_mark_and_windows_line_ends_are_not_data(tmp_path: Path) -> None:
    text = "\ufeffcase,activity,timestamp,n\r\n1,a,2020-01-01,5\r\n"
    log = imported(tmp_path, csv(tmp_path, text))
    assert (log.column("case_id"), log.column("n")) == (["1"], [5])


def test_compressed_files_are_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"case,activity,timestamp\n1,a,2020-01-01\n"))
    assert imported(tmp_path, path).report.events == 1


HEAD = "case,activity,timestamp\n"


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        (HEAD + "1,a,2020-01-01\n1,a\n", 3, "2 fields where the header has 3"),
        (HEAD + '1,"a\nb",2020-01-01\n\n1,a,2020-01-01,x\n', 5, "4 fields"),
        (HEAD + "1,a,2020-01-01\n1,a,yesterday\n", 3, "'yesterday'"),
        (HEAD + '1,"a\nb",2020-01-01\n1,a,2020-02-30\n', 4, "'2020-02-30'"),
        (HEAD + "1,a,2020-01-01\n,a,2020-01-01\n", 3, "is empty"),
        ("case,activity,cost\n1,a,5\n", 1, "timestamp"),
        ("x,activity,timestamp\n1,a,2020-01-01\n", 1, "case"),
        ("", 1, "empty"),
    ],
)
def test_a_defect_is_named_with_file_line_and_cause(
    text: str, line: int, cause: str, tmp_path: Path
) -> None:
    path = csv(tmp_path, text, "bad.csv")
    with pytest.raises(LogFormatError) as caught:
        list(open_log(path).batches())
    assert (caught.value.file, caught.value.line) == ("bad.csv", line)
    assert cause in caught.value.cause
    assert caught.value.hint


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(f"{HEAD}1,Ä Ö Ü,2020-01-01\n".encode() + b"1,caf\xe9,2020-01-01\n")
    with pytest.raises(LogFormatError, match="UTF-8") as caught:
        list(open_log(path).batches())
    assert caught.value.line == 3
    assert caught.value.hint_of_command.endswith("--encoding cp1252")


def test_a_truncated_gzip_file_is_named(tmp_path: Path) -> None:
    rows = "".join(f"{n},a,2020-01-01\n" for n in range(5000))
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(gzip.compress((HEAD + rows).encode())[:-2000])
    with pytest.raises(LogFormatError, match="truncated"):
        list(open_log(path).batches())


def test_a_time_format_that_is_said_is_the_only_one_accepted(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"%d\.%m\.%Y"):
        times(tmp_path, ["2020-01-01"], ReadOptions(time_format="%d.%m.%Y"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "x"}, "cannot separate"),
        ({"case": "cas"}, "no column 'cas'"),
        ({"time_format": "%Q"}, "not a time format"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_a_hint(
    options: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = csv(tmp_path, HEAD + "1,a,2020-01-01\n")
    with pytest.raises(UsageError, match=message) as caught:
        open_log(path, ReadOptions(**options))  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize("name", ["log.docx", "nothing.csv", "."])
def test_a_file_that_cannot_be_a_log_is_refused_with_a_hint(name: str, tmp_path: Path) -> None:
    (tmp_path / "log.docx").touch()
    with pytest.raises(InputError) as caught:
        open_log(tmp_path / name)
    assert caught.value.hint


def test_progress_counts_both_passes_to_the_end(tmp_path: Path) -> None:
    path = csv(tmp_path, HEAD + "1,a,2020-01-01\n" * 1000)
    seen: list[tuple[int, int]] = []
    list(open_log(path).batches(lambda done, total: seen.append((done, total))))
    size = path.stat().st_size
    assert seen[-1] == (2 * size, 2 * size)


# --- read once on trust, or twice --------------------------------------------------------

DAYS = [f"2020-01-{day:02}T08:00:00" for day in range(1, 29)]
SHOWN_LATE = {
    "nothing": ([*DAYS], ["1"] * 28),
    "a text": ([*DAYS], ["1"] * 27 + ["x"]),
    "a fraction": ([*DAYS], ["1"] * 27 + ["1.5"]),
    "a decimal comma": ([*DAYS], ["1"] * 27 + ["1,5"]),
    "that a comma is one of thousands": ([*DAYS], ["1,234"] * 27 + ["1,234.5"]),
    "a leading zero": ([*DAYS], ["1"] * 27 + ["007"]),
    "a number of sixteen digits": ([*DAYS], ["1"] * 27 + ["1234567890123456"]),
    "minus zero": ([*DAYS], ["1"] * 27 + ["-0"]),
    "a missing value": ([*DAYS], ["1"] * 27 + ["NA"]),
    "any value": ([*DAYS], [""] * 27 + ["7"]),
    "which is the day": ([f"0{n % 9 + 1}/02/2020" for n in range(27)] + ["31/01/2020"], ["1"] * 28),
    "a time as an attribute": ([*DAYS], [*DAYS[:27], "x"]),
    "an offset": ([f"{day}Z" for day in DAYS[:27]] + [f"{DAYS[27]}+02:00"], ["1"] * 28),
    "another encoding": ([*DAYS], ["1"] * 27 + ["Müller"]),
}  # fmt: skip
NOTHING_ELSE = ("nothing", "a number of sixteen digits", "minus zero")


@pytest.mark.parametrize("late", SHOWN_LATE)
def test_what_the_end_of_a_file_shows_counts_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """Read on trust, given up, and read again: the same as looked through first."""
    monkeypatch.setattr("pappi.eventlog.texts._BLOCK", 256)
    times, values = SHOWN_LATE[late]
    rows = [f'c{n // 3},a,"{t}","{v}"' for n, (t, v) in enumerate(zip(times, values, strict=True))]
    path = tmp_path / "log.csv"
    text = "\n".join(["case,activity,timestamp,value", *rows, ""])
    path.write_bytes(text.encode("cp1252" if "encoding" in late else "utf-8"))
    options = ReadOptions(timezone="Europe/Berlin")
    given_up = []
    drafted = TableReader.draft

    def watched(reader: TableReader, progress: Progress = no_progress) -> Batches:
        try:
            yield from drafted(reader, progress)
        except Reread:
            given_up.append(late)
            raise

    monkeypatch.setattr(TableReader, "draft", watched)
    on_trust = imported(tmp_path, path, options)
    assert given_up == ([] if late in NOTHING_ELSE else [late])

    def never(_reader: TableReader, _progress: Progress = no_progress) -> Batches:
        yield from ()
        raise Reread

    monkeypatch.setattr(TableReader, "draft", never)
    assert on_trust == imported(tmp_path, path, options)
