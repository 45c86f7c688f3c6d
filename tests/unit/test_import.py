"""Importing: the canonical table is right, and a failed import leaves no trace."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pappi.errors import LogFormatError, WorkspaceError
from pappi.eventlog import Column, Description, Progress, ReadOptions, no_progress, open_log
from pappi.store import drop_events, exclusive, import_events, open_readonly, stored_logs
from pappi.values import Kind
from tests.imported_log import imported
from tests.work import calls_in

HEAD = "case,activity,timestamp"
SMALL = f"{HEAD}\n1,a,2020-01-01\n"


class TableReader:
    """A reader over given batches, to place faults where files cannot."""

    name = "given batches"

    def __init__(self, *batches: dict[str, list[Any]], columns: tuple[Column, ...] = ()) -> None:
        self._batches = batches
        self._columns = columns

    def batches(self, progress: Progress = no_progress) -> Generator[pa.RecordBatch, None, None]:
        for number, batch in enumerate(self._batches, 1):
            yield pa.record_batch(batch)
            progress(number, len(self._batches))

    def description(self) -> Description:
        return Description(self._columns)


def core(*cases: str) -> dict[str, list[Any]]:
    return {"case_id": list(cases), "activity": ["a"] * len(cases), "ts_us": [1] * len(cases)}


def csv(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Events that already hold a log called `before`."""
    database = tmp_path / "workspace" / "events"
    database.parent.mkdir()
    import_events(database, "before", open_log(csv(tmp_path, SMALL)))
    return database


def content(database: Path) -> dict[str, bytes]:
    """Everything in the workspace folder except the lock, which is always empty."""
    files = database.parent.rglob("*")
    return {str(f): f.read_bytes() for f in files if f.is_file() and f.suffix != ".lock"}


def test_events_stand_by_case_then_time_then_file_order(tmp_path: Path) -> None:
    rows = ["b,1,2020-01-03", "a,2,2020-01-02", "b,3,", "b,4,2020-01-01", "a,5,2020-01-02"]
    log = imported(tmp_path, csv(tmp_path, "\n".join([HEAD, *rows, "b,6,2020-01-01"])))
    assert log.column("case_id") == ["b", "b", "b", "b", "a", "a"]
    assert log.column("activity") == ["4", "6", "1", "3", "2", "5"]
    assert log.column("pos") == [1, 2, 3, 4, 5, 6]
    report = log.report
    assert (report.events, report.cases, report.tied, report.without_time) == (6, 2, 4, 1)
    assert (report.first_us, report.last_us) == (1577836800000000, 1578009600000000)
    assert report.activities == ("1", "2", "3", "4", "5", "6")


@pytest.mark.parametrize("since", range(5))
def test_it_matters_to_no_order_from_which_batch_on_cases_come_apart(
    tmp_path: Path, since: int
) -> None:
    """Some of them are stored as they come, and the rest put aside, with other columns."""
    text, whole = (
        Column("a0", "note", Kind.TEXT, "text"),
        Column("a1", "count", Kind.NUMBER, "int"),
    )
    runs = [{**core(f"{n}", f"{n}"), "ts_us": [n, n]} for n in range(since)]
    apart: list[dict[str, list[Any]]] = [
        {**core("x", "y", "x"), "ts_us": [9, None, 8], "a0": ["it's", "", None]},
        {**core("y", "z"), "ts_us": [7, 7], "a1": [2**62, -1]},
        {**core("x", "z"), "ts_us": [8, 7], "a0": ["\x00", "é"], "a1": [None, 3]},
        {**core("y", "w"), "ts_us": [None, 1]},
    ]
    reader = TableReader(*runs, *apart, columns=(text, whole))
    report = import_events(tmp_path / "events", "log", reader)
    with open_readonly(tmp_path / "events", "log") as connection:
        rows = connection.sql("SELECT case_id, ts_us, note, count, pos FROM log").fetchall()
    assert report.events == len(rows) == 2 * since + 9
    assert [row[-1] for row in rows] == [*range(1, len(rows) + 1)]
    assert [row[:2] for row in rows[: 2 * since]] == [
        (f"{n // 2}", n // 2) for n in range(2 * since)
    ]
    assert [row[:-1] for row in rows[2 * since :]] == [
        ("x", 8, None, None), ("x", 8, "\x00", None), ("x", 9, "it's", None),
        ("y", 7, None, 2**62), ("y", None, "", None), ("y", None, None, None),
        ("z", 7, None, -1), ("z", 7, "é", 3), ("w", 1, None, None),
    ]  # fmt: skip


def test_a_case_that_goes_on_in_a_later_batch_is_put_together(tmp_path: Path) -> None:
    batches = [core("1", "2"), core("3"), core("1"), core("2", "4")]
    report = import_events(tmp_path / "events", "log", TableReader(*batches))
    with open_readonly(tmp_path / "events", "log") as connection:
        rows = connection.sql("SELECT case_id, pos, first_pos FROM log").fetchall()
    assert report.cases == 4
    assert rows == [("1", 1, 1), ("1", 2, 1), ("2", 3, 3), ("2", 4, 3), ("3", 5, 5), ("4", 6, 6)]


def test_a_folder_that_is_called_like_a_column_says_nothing_of_events(tmp_path: Path) -> None:
    """Readers of Parquet files take `case_id=7` in a path for what all rows have."""
    events = tmp_path / "case_id=7" / "activity=A" / "events"
    events.parent.mkdir(parents=True)
    batch = {**core("1", "2", "1"), "activity": ["X", "Y", "Z"], "ts_us": [2, 1, 1]}
    import_events(events, "log", TableReader(batch))
    with open_readonly(events, "log") as connection:
        rows = connection.sql("SELECT case_id, activity, ts_us FROM log ORDER BY pos").fetchall()
    assert rows == [("1", "Z", 1), ("1", "X", 2), ("2", "Y", 1)]


def test_a_full_disk_while_batches_are_put_aside_leaves_no_trace(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = content(workspace)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_batch", full)
    import_events(workspace, "ordered", TableReader(core("1", "1", "2")))  # has nothing aside
    drop_events(workspace, "ordered")
    with pytest.raises(WorkspaceError, match="No space left"):
        import_events(workspace, "log", TableReader(core("1", "2", "1")))
    assert content(workspace) == before


def test_columns_that_turn_up_late_cost_no_more_where_cases_come_apart(tmp_path: Path) -> None:
    """What is put aside is read at once, however many files it lies in."""

    def work(count: int, *cases: str) -> int:
        """Of so many batches, each with a column of its own."""
        columns = tuple(Column(f"a{k}", f"n{k}", Kind.TEXT, "text") for k in range(count))
        batches = [{**core(*cases), f"a{k}": ["x", "y", "z"]} for k in range(count)]
        reader, folder = TableReader(*batches, columns=columns), tmp_path / f"{count}{cases}"
        return calls_in(lambda: import_events(folder, "log", reader))

    work(3, "1", "2", "1")  # imports what it needs
    assert work(80, "1", "2", "1") < 2.4 * work(40, "1", "2", "1")


def test_ties_are_those_of_a_case_however_the_file_is_ordered(tmp_path: Path) -> None:
    day = "2020-01-01"
    in_order = [f"a,1,{day}", f"a,2,{day}", f"a,3,{day}", f"b,4,{day}", "b,5,", "b,6,"]
    for rows in (in_order, in_order[::-1], [f"c,7,{day}", *in_order, f"c,8,{day}"]):
        log = imported(tmp_path, csv(tmp_path, "\n".join([HEAD, *rows])))
        tied = 3 if len(rows) == 6 else 5
        assert (log.report.cases, log.report.tied) == (len({row[0] for row in rows}), tied)


def test_names_that_clash_keep_columns_of_their_own_and_are_reported(tmp_path: Path) -> None:
    header = f'{HEAD},pos,CASE_ID,Cost,COST,"a""b; DROP TABLE log",,seq'
    path = csv(tmp_path, f"{header}\n1,a,2020-01-01,2,3,4,5,6,7,8\n")
    log = imported(tmp_path, path, ReadOptions(case="case"))
    assert list(log.rows[0].items())[5:] == [
        ("pos (2)", 2), ("CASE_ID (2)", 3), ("Cost", 4), ("COST (2)", 5),
        ('a"b; DROP TABLE log', 6), ("column 9", 7), ("seq", 8),
    ]  # fmt: skip
    assert len([notice for notice in log.report.notices if "was taken" in notice]) == 3


def test_attributes_may_turn_up_late(workspace: Path) -> None:
    late = {**core("2"), "a0": ["new"]}
    column = Column("a0", "late", Kind.TEXT, "text")
    report = import_events(workspace, "log", TableReader(core("1", "1"), late, columns=(column,)))
    assert [(c.name, c.missing) for c in report.columns] == [("late", 2)]


def test_several_logs_share_a_workspace(workspace: Path, tmp_path: Path) -> None:
    import_events(workspace, 'odd "name"', open_log(csv(tmp_path, SMALL)))
    assert stored_logs(workspace) == ("before", 'odd "name"')
    with closing(open_readonly(workspace, 'odd "name"')) as connection:
        assert connection.execute('SELECT pos FROM "odd ""name"""').fetchall() == [(1,)]


def test_a_log_that_is_there_already_is_not_overwritten(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="already"):
        import_events(workspace, "Before", open_log(csv(tmp_path, SMALL)))


def interrupted(_done: int, _total: int) -> None:
    raise KeyboardInterrupt


def missing_field() -> TableReader:
    return TableReader(core("1"), columns=(Column("nowhere", "x", Kind.TEXT, "text"),))


def broken_csv(folder: Path) -> Path:
    return csv(folder, f"{HEAD}\n" + "1,a,2020-01-01\n" * 70_000 + "1,a\n")


def broken_xes(folder: Path) -> Path:
    event = "<trace><event><string key='concept:name' value='a'/></event></trace>\n"
    path = folder / "log.xes"
    path.write_text("<log>" + event * 30_000 + "<trace>")
    return path


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        (lambda db, tmp: import_events(db, "log", open_log(broken_csv(tmp))), LogFormatError),
        (lambda db, tmp: import_events(db, "log", open_log(broken_xes(tmp))), LogFormatError),
        (lambda db, _: import_events(db, "log", missing_field()), WorkspaceError),
        (
            lambda db, _: import_events(db, "log", TableReader(core("1")), interrupted),
            KeyboardInterrupt,
        ),
        (lambda db, _: drop_events(db, "absent"), WorkspaceError),
    ],
    ids=["malformed CSV", "malformed XES", "failing transaction", "interrupt", "no such log"],
)
def test_a_failure_leaves_the_workspace_as_it_was_to_the_byte(
    attempt: Callable[[Path, Path], object],
    error: type[BaseException],
    workspace: Path,
    tmp_path: Path,
) -> None:
    before = content(workspace)
    with pytest.raises(error):
        attempt(workspace, tmp_path)
    assert content(workspace) == before


def test_a_failed_first_import_makes_no_workspace_file(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError):
        import_events(tmp_path / "events", "log", open_log(broken_xes(tmp_path)))
    assert not (tmp_path / "events").exists()


def test_what_a_killed_import_left_behind_is_swept_by_the_next(
    workspace: Path, tmp_path: Path
) -> None:
    stale = workspace.with_name(f".{workspace.name}.staging-x1")
    stale.mkdir()
    (stale / "spool.duckdb").write_bytes(b"half an import")
    import_events(workspace, "log", open_log(csv(tmp_path, SMALL)))
    assert not stale.exists()


def test_only_one_change_at_a_time(workspace: Path, tmp_path: Path) -> None:
    before = content(workspace)
    with exclusive(workspace), pytest.raises(WorkspaceError, match="another import"):
        import_events(workspace, "log", open_log(csv(tmp_path, SMALL)))
    assert content(workspace) == before


def test_a_deleted_log_is_gone_from_the_disk_and_others_stay(
    workspace: Path, tmp_path: Path
) -> None:
    secret = "".join(f"{n},the secret diagnosis {n},2020-01-01\n" for n in range(500))
    import_events(workspace, "secret", open_log(csv(tmp_path, f"{HEAD}\n{secret}")))
    assert any(b"secret diagnosis" in held for held in content(workspace).values())
    drop_events(workspace, "secret")
    assert stored_logs(workspace) == ("before",)
    assert not any(b"secret diagnosis" in held for held in content(workspace).values())
    with closing(open_readonly(workspace, "before")) as connection:
        assert connection.execute('SELECT case_id, pos FROM "before"').fetchall() == [("1", 1)]


def test_a_reader_that_is_open_meanwhile_goes_on_undisturbed(
    workspace: Path, tmp_path: Path
) -> None:
    with closing(open_readonly(workspace, "before")) as connection:
        import_events(workspace, "log", open_log(csv(tmp_path, SMALL)))
        assert connection.execute('SELECT case_id FROM "before"').fetchall() == [("1",)]
    assert stored_logs(workspace) == ("before", "log")


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be written"):
        import_events(tmp_path / "no" / "events", "log", TableReader(core("1")))


def test_a_part_that_is_no_database_is_said_to_be_none(workspace: Path) -> None:
    (part,) = workspace.glob("*.duckdb")
    part.write_text("something else entirely, long enough to be looked at" * 200)
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        open_readonly(workspace, "before")


@pytest.mark.parametrize(
    "written", ["", "{}", "[]", '{"parts": {"../before-1.duckdb": [1, 0]}, "versions": {"1": []}}']
)
def test_a_list_that_is_damaged_is_refused(workspace: Path, written: str) -> None:
    (workspace / "before.json").write_text(written)
    with pytest.raises(WorkspaceError, match=r"damaged|cannot be opened"):
        open_readonly(workspace, "before")


def test_logs_that_come_meanwhile_are_seen_while_another_is_still_open(
    workspace: Path, tmp_path: Path
) -> None:
    with closing(open_readonly(workspace, "before")) as still_open:
        import_events(workspace, "after", open_log(csv(tmp_path, SMALL)))
        assert stored_logs(workspace) == ("after", "before")
        assert still_open.execute("SELECT count(*) FROM before").fetchone() == (1,)
