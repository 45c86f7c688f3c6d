"""Files that are odd, hostile or absurd: read right, or refused with one true sentence."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pappi
from pappi.cli import program as command_line
from pappi.errors import InputError, LogFormatError, UsageError, WorkspaceError
from pappi.eventlog import ReadOptions, files, open_log
from pappi.eventlog.inference import FORMATS, Unreadable
from pappi.session import Workspace
from pappi.store import open_workspace
from tests.commands import Run
from tests.imported_log import Imported, imported

pytestmark = pytest.mark.outside

BERLIN = ReadOptions(timezone="Europe/Berlin")


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def timed(folder: Path, times: list[str], options: ReadOptions = BERLIN) -> Imported:
    lines = "".join(f"{number},A,{time}\n" for number, time in enumerate(times))
    return imported(folder, written(folder, f"case,activity,time\n{lines}"), options)


def xes(folder: Path, *times: str, tag: str = "string") -> Path:
    traces = "".join(
        f'<trace><string key="concept:name" value="{number}"/><event>'
        f'<string key="concept:name" value="A"/><{tag} key="time:timestamp" value="{time}"/>'
        "</event></trace>"
        for number, time in enumerate(times)
    )
    return written(folder, f"<log>{traces}</log>", "log.xes")


# --- a Z beside offsets ---------------------------------------------------------------


@pytest.mark.parametrize("fraction", ["", ".5"])
def test_a_z_beside_true_offsets_is_utc(tmp_path: Path, fraction: str) -> None:
    """Read by Arrow as a whole, and part by part: a time without minutes makes the difference."""
    log = timed(tmp_path, [f"2024-07-01T10:00:00{fraction}Z", f"2024-07-01T12:00:00{fraction}+02"])
    assert log.rows[0]["ts_us"] == log.rows[1]["ts_us"]
    assert any("Z were read as UTC" in notice for notice in log.report.notices)
    assert not any(guess.option == "z_is_utc" for guess in log.report.guesses)


def test_a_z_alone_is_still_taken_for_an_ornament_and_told(tmp_path: Path) -> None:
    log = timed(tmp_path, ["2024-07-01T10:00:00Z", "2024-07-01T12:00:00Z"])
    assert log.rows[0]["ts_us"] == us("2024-07-01T08:00")
    assert any(guess.option == "z_is_utc" for guess in log.report.guesses)


def test_offsets_in_another_column_prove_it_as_well(tmp_path: Path) -> None:
    text = "case,activity,time,sent\n1,A,2024-07-01T12:00:00+02:00,2024-07-01T10:00:00Z\n"
    log = imported(tmp_path, written(tmp_path, text), BERLIN)
    assert log.rows[0]["ts_us"] == log.rows[0]["sent"]


def test_a_column_of_texts_proves_nothing(tmp_path: Path) -> None:
    text = (
        "case,activity,time,note\n1,A,2024-07-01T10:00:00Z,2024-07-01T12:00:00+02:00\n"
        "1,A,2024-07-01T10:00:00Z,tomorrow\n"
    )
    log = imported(tmp_path, written(tmp_path, text), BERLIN)
    assert log.rows[0]["ts_us"] == us("2024-07-01T08:00")


# --- when the clocks change -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parts", "xes", "xes by parser", "frame"])
def test_local_times_that_do_not_exist_or_come_twice_are_told(tmp_path: Path, kind: str) -> None:
    times = ["2024-03-31T02:30:00", "2024-10-27T02:30:00", "2024-10-27T02:59:59",
             "2024-10-27T03:00:00"]  # fmt: skip
    if kind == "frame":
        import pyarrow as pa

        moments = pa.array([datetime.fromisoformat(time) for time in times], pa.timestamp("us"))
        columns = {"case": pa.array(["a"] * 4), "activity": pa.array(["A"] * 4), "time": moments}
        log = imported(tmp_path, pa.table(columns), BERLIN)
    elif kind.startswith("xes"):
        odd = ["20240701T120000+0200"] if kind == "xes by parser" else []
        log = imported(tmp_path, xes(tmp_path, *times, *odd, tag="date"), BERLIN)
    else:
        odd = ["2024-07-01T9:00"] if kind == "parts" else []
        log = timed(tmp_path, [*times, *odd])
    told = "\n".join(log.report.notices)
    assert "1 local times do not exist in Europe/Berlin" in told
    assert "2 local times occur twice in Europe/Berlin" in told
    found = log.column("ts_us")[:3]
    assert found == [us("2024-03-31T01:30"), us("2024-10-27T00:30"), us("2024-10-27T00:59:59")]


def test_nothing_is_told_where_the_clocks_do_not_change(tmp_path: Path) -> None:
    log = timed(tmp_path, ["2024-03-31T03:30:00", "2024-10-27T01:30:00"])
    assert not any("clocks" in notice for notice in log.report.notices)


# --- XES ------------------------------------------------------------------------------


def test_xes_times_that_are_texts_are_read_as_in_a_csv_file(tmp_path: Path) -> None:
    times = ["31.12.2023 10:00", "01.02.2024 10:00"]
    log = imported(tmp_path, xes(tmp_path, *times))
    assert log.column("ts_us") == [us("2023-12-31T10:00"), us("2024-02-01T10:00")]
    assert "time:timestamp" not in log.rows[0]
    assert any(guess.guess == "dd.mm.yyyy" for guess in log.report.guesses)
    in_csv = timed(tmp_path, times)
    assert in_csv.column("ts_us") == imported(tmp_path, xes(tmp_path, *times), BERLIN).column(
        "ts_us"
    )


def test_xes_dates_and_texts_may_stand_side_by_side(tmp_path: Path) -> None:
    path = xes(tmp_path, "2024-02-01 10:00", "2024-02-02 10:00")
    path.write_text(path.read_text().replace('<string key="time', '<date key="time', 1))
    assert imported(tmp_path, path).column("ts_us") == [
        us("2024-02-01T10:00"),
        us("2024-02-02T10:00"),
    ]


def test_a_time_format_that_is_said_holds_for_xes_texts(tmp_path: Path) -> None:
    said = ReadOptions(time_format="dd/mm/yyyy")
    log = imported(tmp_path, xes(tmp_path, "03/04/2024"), said)
    assert log.column("ts_us") == [us("2024-04-03T00:00")]
    with pytest.raises(LogFormatError, match="is a text in this file, such as '2024', which is"):
        imported(tmp_path, xes(tmp_path, "2024"), said)


def test_xes_texts_that_are_no_times_are_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"is a text in this file, such as '\?', which is not"):
        imported(tmp_path, xes(tmp_path, "?", "?"))


def test_some_xes_texts_that_are_no_times_stay_attributes(tmp_path: Path) -> None:
    path = xes(tmp_path, "?", "?")
    path.write_text(
        path.read_text().replace(
            'string key="time:timestamp" value="?"',
            'date key="time:timestamp" value="2024-02-01"',
            1,
        )
    )
    log = imported(tmp_path, path)
    assert log.column("ts_us") == [us("2024-02-01T00:00"), None]
    assert log.column("time:timestamp") == [None, "?"]
    assert any("counts as without time" in notice for notice in log.report.notices)


@pytest.mark.parametrize("option", ["case", "activity", "timestamp"])
def test_options_that_xes_has_no_use_for_are_refused(tmp_path: Path, option: str) -> None:
    said: dict[str, Any] = {option: "x"}
    with pytest.raises(UsageError, match=f"already says what its {option} is") as refused:
        open_log(xes(tmp_path, "2024-02-01"), ReadOptions(**said))
    assert refused.value.hint_of_command == f"leave this option out: --{option}"


def test_attributes_inside_attributes_are_told(tmp_path: Path) -> None:
    path = xes(tmp_path, "2024-02-01", tag="date")
    nested = '<string key="a" value="b"><string key="c" value="d"/></string></event>'
    path.write_text(path.read_text().replace("</event>", nested))
    log = imported(tmp_path, path)
    assert any("kept as JSON in the attribute “extra”" in notice for notice in log.report.notices)


# --- hints ----------------------------------------------------------------------------


def test_the_column_that_looks_like_it_is_proposed_in_the_words_of_the_door(
    run: Run, tmp_path: Path
) -> None:
    file = written(tmp_path, "eid,case,x:activity,x:timestamp\n1,2,A,2024-01-01\n")
    with pytest.raises(LogFormatError) as refused:
        open_log(file)
    assert refused.value.hint == "say which column is the activity, e.g.: activity='x:activity'"
    run("init", tmp_path / "w")
    _, _, errors = run("log", "import", file, "-w", tmp_path / "w")
    assert "e.g.: --activity x:activity" in errors


def test_a_bad_time_is_explained_with_options_of_the_command(run: Run, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    file = written(tmp_path, "case,activity,time\n1,A,2024-01-01\n1,B,soon\n")
    _, _, errors = run("log", "import", file, "-w", tmp_path / "w")
    assert "--time-format, --timestamp, --missing" in errors
    assert "time_format" not in errors


def test_a_year_out_of_reach_is_said_to_be(tmp_path: Path) -> None:
    file = written(tmp_path, "case,activity,time\n1,A,2024-01-01\n1,B,9999-12-31\n")
    with pytest.raises(
        LogFormatError, match="'9999-12-31', which is outside the years 1800 to 2200"
    ):
        imported(tmp_path, file)
    assert "not a time" in Unreadable(0, "2024-13-01", FORMATS["yyyy-mm-dd"]).why


def test_a_log_that_grows_has_no_option_for_its_last_day(run: Run, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    day = ("--from", "2024-01-01")
    code, _, errors = run("log", "create", "x", *day, "--until", "2024-02-01", "-w", tmp_path / "w")
    assert code == 2
    assert "No such option" in errors
    assert run("log", "create", "x", *day, "-w", tmp_path / "w")[0] == 0


# --- names that a terminal would obey -------------------------------------------------

HOSTILE = "A\x1b]0;pwned\x07\x9b31m\u202eB\u2066\r"


@pytest.mark.parametrize("dry", [True, False])
def test_no_name_of_a_file_is_obeyed_by_a_terminal(run: Run, tmp_path: Path, *, dry: bool) -> None:
    run("init", tmp_path / "w")
    text = f'case,activity,time,"{HOSTILE}"\n1,"{HOSTILE}",2024-01-01,NA\n'
    file = written(tmp_path, text, "x.csv")
    place = ("-w", tmp_path / "w")
    keys = ("--keys", f"{HOSTILE}={HOSTILE}")
    flags = ("--dry-run",) if dry else ()
    code, out, errors = run("log", "import", file, *keys, *flags, *place)
    assert code == 0, errors
    shown = [out, errors]
    if not dry:
        shown += run("log", "describe", "x", *place)[1:]
        shown += run("log", "list", *place)[1:]
        shown += run("log", "withdraw-name", "x", "--activity", HOSTILE, *place)[1:]
    for text in shown:
        assert not {*"\x1b\x07\x9b\u202e\u2066\r"} & {*text}
    assert "pwned" in out


def test_a_refusal_quotes_nothing_that_a_terminal_would_obey(run: Run, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    file = written(tmp_path, f"case,activity,time\n1,A,2024-01-01\n1,A,{HOSTILE[:-1]}\n")
    code, out, errors = run("log", "import", file, "-w", tmp_path / "w")
    assert code == 5
    assert not {*"\x1b\x07\x9b\u202e\u2066"} & {*(out + errors)}


# --- what is out of all proportion ----------------------------------------------------


def test_too_many_columns_are_refused_unless_said_to_be_right(tmp_path: Path) -> None:
    names = ",".join(f"c{n}" for n in range(12))
    text = f"case,activity,time,{names}\n1,A,2024-01-01{',' * 12}\n"
    file = written(tmp_path, text)
    few = ReadOptions(most_columns=10)
    with pytest.raises(LogFormatError, match="15 columns; at most 10 are allowed") as refused:
        open_log(file, few)
    assert refused.value.hint_of_command.endswith("--most-columns 15")
    assert imported(tmp_path, file, ReadOptions(most_columns=15)).report.events == 1
    attributes = "".join(f'<string key="k{n}" value="v"/>' for n in range(12))
    path = xes(tmp_path, "2024-01-01", tag="date")
    path.write_text(path.read_text().replace("</event>", f"{attributes}</event>"))
    with pytest.raises(LogFormatError, match="more than 10 different attributes"):
        imported(tmp_path, path, few)
    assert ReadOptions().most_columns == 2_000


@pytest.mark.parametrize("kind", ["csv", "xes", "xes by parser", "frame"])
def test_a_text_that_is_too_long_is_refused(tmp_path: Path, kind: str) -> None:
    text, short = "x" * 101, ReadOptions(longest_text=100)
    source: object
    if kind == "csv":
        source = written(tmp_path, f"case,activity,time,note\n1,A,2024-01-01,{text}\n")
    elif kind == "frame":
        import pyarrow as pa

        source = pa.table(
            {"case": ["1"], "activity": ["A"], "time": ["2024-01-01"], "note": [text]}
        )
    else:
        source = path = xes(tmp_path, "2024-01-01", tag="date")
        odd = "<!-- -->" if kind == "xes by parser" else ""
        note = f'<string key="note" value="{text}"/>{odd}</event>'
        path.write_text(path.read_text().replace("</event>", note))
    with pytest.raises(LogFormatError, match="'note' has more than 100 characters"):
        imported(tmp_path, source, short)
    assert imported(tmp_path, source, ReadOptions(longest_text=101)).report.events == 1


def test_a_tag_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    begun = '<log><trace><string key="concept:name" value="1"/><event><string key="n" value="'
    path.write_text(begun + "x" * 1_000_000)
    with pytest.raises(LogFormatError, match="does not end within"):
        imported(tmp_path, path, ReadOptions(longest_text=1000))


@pytest.mark.parametrize("ending", ["log.csv.gz", "log.xes.gz"])
def test_a_file_that_grows_out_of_all_proportion_is_refused(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_HARMLESS", 1 << 20)
    head = b"case,activity,time\n1,A,2024-01-01\n" if "csv" in ending else b"<log>"
    row = b"1,A,2024-01-01\n" if "csv" in ending else b"\n"
    path = tmp_path / ending
    path.write_bytes(gzip.compress(head + row * (3_000_000 // len(row))))
    with pytest.raises(LogFormatError, match="grows to more than 400 times its size"):
        imported(tmp_path, path)


def test_a_row_without_end_is_refused_with_a_sentence(tmp_path: Path) -> None:
    for text in ("x" * 5_000_000, 'case,activity,time\n1,"' + "x" * 9_000_000):
        with pytest.raises(LogFormatError, match="a row is longer than 4 MB"):
            imported(tmp_path, written(tmp_path, text), ReadOptions(delimiter=","))


def test_too_little_memory_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("pappi.custody.imports.import_events", exhausted)
    file = written(tmp_path, "case,activity,time\n1,A,2024-01-01\n")
    with pytest.raises(InputError, match="not enough memory to read this log"):
        pappi.create(tmp_path / "w").import_log(file)
    monkeypatch.setattr(Workspace, "import_log", exhausted)
    code, _, errors = run("log", "import", file, "-w", tmp_path / "w")
    assert code == command_line.OUT_OF_MEMORY
    assert errors.strip() == "error: not enough memory for this"


def test_a_workspace_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(WorkspaceError, match="cannot be read: Permission denied"):
        open_workspace(tmp_path)
