"""The owner's profile of a log: what it finds, what it suggests, and that nobody else sees it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import pappi
from pappi.checkpoint import LocalSession
from pappi.custody import NewLog, event_of
from pappi.errors import Refused
from pappi.eventlog import Profile, looks_personal
from pappi.report import profile_record, profile_text
from pappi.session import Session, Workspace
from pappi.values import Calendar, CaseBorder, Grid, Terms
from tests.commands import Run
from tests.shared_data import shared_data
from tests.small_logs import claims, event_table, workspace_with
from tests.unit.test_cli import fingerprint

pytestmark = pytest.mark.outside

START = datetime(2022, 1, 5, tzinfo=UTC)


def closed_in_one_month(cases: int = 90) -> pa.Table:
    """Like an export of what was closed last month: begun over two years, ended in one."""
    rows: list[tuple[object, ...]] = []
    for number in range(cases):
        begun = START + timedelta(days=8 * number)
        closed = datetime(2024, 1, 3 + number % 20, tzinfo=UTC)
        who, mail = f"p{number // 3}", f"case{number}@example.org"
        rows.append((str(number), "Open", begun, number % 7, who, "r1", mail))
        rows.append((str(number), "Close", closed, None, who, "r2", mail))
        if number % 10 == 0:
            rows.append((str(number), "Close", closed, None, who, "r2", mail))
    names = ("case", "activity", "time", "cost", "patient_id", "org:resource", "contact")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return pappi.create(tmp_path_factory.mktemp("profile") / "w")


@pytest.fixture(scope="module")
def looked_at(workspace: Workspace) -> Profile:
    return workspace.inspect_log(closed_in_one_month(), "closed").profile


def suggested(profile: Profile, about: str) -> tuple[str, str]:
    (one,) = [each for each in profile.suggestions if each.about == about]
    return one.option, one.why


def test_an_anchor_that_puts_nearly_all_cases_into_one_block_is_seen(looked_at: Profile) -> None:
    option, why = suggested(looked_at, "anchor")
    assert option == "--anchor 'case start'"
    assert "90 of 90 cases fall into 2024-01 by their last event, and 24 of 25 blocks" in why
    assert looked_at.by(CaseBorder.START).empty == 1


def test_with_the_better_anchor_nothing_is_suggested(workspace: Workspace) -> None:
    new = NewLog(terms=Terms(anchor=CaseBorder.START))
    profile = workspace.inspect_log(closed_in_one_month(), "closed", new=new).profile
    assert suggested(profile, "anchor")[0] == ""


@pytest.mark.parametrize(
    ("file", "empty", "blocks"), [("06_bpic2013_closed.xes.gz", 72, 77)], ids=["bpic2013"]
)
def test_the_log_that_showed_the_problem_is_seen(
    workspace: Workspace, file: str, empty: int, blocks: int
) -> None:
    profile = workspace.inspect_log(shared_data("xes", file)).profile
    assert (profile.anchored.empty, len(profile.anchored.blocks)) == (empty, blocks)
    option, why = suggested(profile, "anchor")
    assert option == "--anchor 'case start'"
    assert f"{empty} of {blocks} blocks are empty" in why


def test_an_ordinary_log_is_left_as_it_is(workspace: Workspace) -> None:
    profile = workspace.inspect_log(event_table(claims(300)), "claims").profile
    assert suggested(profile, "anchor")[0] == ""
    assert suggested(profile, "horizon")[0] == ""
    assert suggested(profile, "expected cases")[0] == "--expected-cases 100"
    new = NewLog(terms=Terms(expected_cases=90))
    told = workspace.inspect_log(event_table(claims(300)), "claims", new=new).profile
    assert suggested(told, "expected cases")[0] == ""


def test_blocks_with_hardly_a_case_are_suggested_to_be_longer(workspace: Workspace) -> None:
    new = NewLog(terms=Terms(anchor=CaseBorder.START, blocks=Grid(Calendar.WEEK)))
    profile = workspace.inspect_log(closed_in_one_month(), "closed", new=new).profile
    assert suggested(profile, "blocks")[0] == "--blocks year"


def test_counts_are_those_of_the_log(looked_at: Profile) -> None:
    assert (looked_at.cases, looked_at.events, looked_at.tied) == (90, 189, 18)
    (close,) = [use for use in looked_at.activities if use.name == "Close"]
    assert (close.cases, close.events, close.repeated, close.first, close.last) == (
        90,
        99,
        9,
        0,
        90,
    )
    (cost,) = [use for use in looked_at.attributes if use.name == "cost"]
    assert cost.spread is not None
    assert (cost.missing, cost.cases, cost.spread.least, cost.spread.most) == (99, 90, 0, 6)
    assert looked_at.durations is not None
    assert looked_at.durations.most == (datetime(2024, 1, 3, tzinfo=UTC) - START) / timedelta(
        microseconds=1
    )
    assert looked_at.milestones == ("Open", "Close")
    assert sum(block.cases for block in looked_at.anchored.blocks) == 90


def test_counts_of_a_log_that_grew_are_those_of_all_its_parts(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(30))
    event = {"id": "e", "case": "n", "activity": "Pay", "time": "2024-05-02T12:00:00Z"}
    workspace.custody.capture("small", [event_of(event)])
    workspace.custody.seal("small", date(2024, 6, 1))
    profile = workspace.profile("small")
    assert (profile.cases, profile.events) == (31, 61)
    assert [block.cases for block in profile.anchored.blocks] == [10, 10, 10, 0, 1]


def test_persons_are_suggested_as_the_unit(looked_at: Profile) -> None:
    option, why = suggested(looked_at, "privacy unit")
    assert option == "--unit 'patient_id' --max-cases 3"
    assert "up to 3 cases" in why


def test_what_looks_personal_is_told(looked_at: Profile) -> None:
    found = {use.name: use.personal for use in looked_at.personal}
    assert found == {
        "patient_id": "people",
        "org:resource": "employees",
        "contact": "e-mail addresses",
    }


@pytest.mark.parametrize(
    "name",
    ["cost", "org:group", "channel", "resource country", "product", "lifecycle:transition",
     "case:department", "impact", "amount", "customer type", "age group"],
)  # fmt: skip
def test_what_is_not_personal_is_not_called_so(name: str) -> None:
    assert looks_personal(name) == ""


def test_events_without_times_are_counted_and_harm_nothing(workspace: Workspace) -> None:
    frame = pa.table(
        {
            "case": ["1", "1", "2"],
            "activity": ["A", None, "B"],
            "time": pa.array([START, None, None], pa.timestamp("us", "UTC")),
            "x": pa.array([float("nan"), float("inf"), 3.0]),
        }
    )
    profile = workspace.inspect_log(frame, "odd").profile
    assert (profile.cases, profile.without_time, profile.without_activity) == (2, 2, 1)
    assert sum(block.cases for block in profile.anchored.blocks) == 1
    assert profile_text(profile)


# --- whose it is -----------------------------------------------------------------------------


def test_looking_at_an_imported_log_is_on_record_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    monkeypatch.setattr("pappi.custody.custody.profile_events", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        workspace.profile("small")
    last = workspace.custody.trail()[-1]
    assert (last.kind, last.what) == ("profile", {"log": "small", "by": "owner"})
    (log,) = workspace.custody.pack("small").logs
    assert [look.ppis for look in log.looks] == [("profile of the log",)]


def test_an_analyst_has_no_way_to_it() -> None:
    for session in (LocalSession, Session):
        assert not [name for name in dir(session) if "profile" in name or "from_data" in name]


def test_a_log_at_a_source_is_profiled_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    declared = workspace.log("small")
    monkeypatch.setattr(type(declared), "source", "somewhere", raising=False)
    with pytest.raises(Refused, match="stay at their source"):
        workspace.profile("small")


# --- what a person sees ----------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    import pyarrow.csv

    path = tmp_path / "closed.csv"
    pyarrow.csv.write_csv(closed_in_one_month(), path)
    return path


def test_a_file_is_profiled_and_nothing_changes(run: Run, file: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    before = fingerprint(tmp_path / "w")
    code, out, errors = run("log", "profile", file, "-w", tmp_path / "w")
    assert code == 0, errors
    for shown in ("90 cases with 189 events", "Cases every month, by their last event", "█",
                  "e-mail addresses: contact", "--anchor 'case start'", "--unit 'patient_id'",
                  "for the owner only"):  # fmt: skip
        assert shown in out
    after = fingerprint(tmp_path / "w")
    assert {path: after[path] for path in before} == before
    assert [path for path in after if path not in before and not path.endswith(".lock")] == []


def test_the_same_for_machines(run: Run, file: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    code, out, _ = run("log", "profile", file, "--json", "-w", tmp_path / "w")
    assert code == 0
    told = json.loads(out)
    assert told["cases_per_block"]["case end"]["empty"] == 24
    assert told["suggestions"][0]["about"] == "anchor"
    code, out, _ = run("log", "import", file, "--dry-run", "--json", "-w", tmp_path / "w")
    assert json.loads(out)["profile"] == told


def test_an_import_warns_and_says_how_to_undo_it(run: Run, file: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    code, out, _ = run("log", "import", file, "-w", tmp_path / "w")
    assert code == 0
    assert "Looks personal" in out
    assert "anchor: --anchor 'case start'" in out
    assert "undo this with: pappi log remove closed" in out
    code, out, _ = run("log", "profile", "closed", "-w", tmp_path / "w")
    assert (code, "90 cases with 189 events" in out) == (0, True)
    assert "Profile of closed viewed, by owner" in run("trail", "-w", tmp_path / "w")[1]


def test_what_is_neither_a_log_nor_a_file_is_called_what_it_looks_like(
    run: Run, tmp_path: Path
) -> None:
    run("init", tmp_path / "w")
    code, _, errors = run("log", "profile", "visits", "-w", tmp_path / "w")
    assert (code, "there is no log called 'visits'" in errors) == (2, True)
    code, _, errors = run("log", "profile", "visits.csv", "-w", tmp_path / "w")
    assert (code, "visits.csv does not exist" in errors) == (5, True)


def test_a_dry_run_shows_the_profile(run: Run, file: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    code, out, _ = run("log", "import", file, "--dry-run", "-w", tmp_path / "w")
    assert code == 0
    assert "From the data, for the owner only:" in out
    assert "Cases every month, by their last event: 24 of 25 blocks empty" in out
    assert out.rstrip().endswith("declaration that you can edit.")


def test_a_terminal_obeys_nothing_that_a_file_says(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("case,activity,time,x\x1b[31m\n1,A\x1b]0;t\x07,2024-03-01,v\x1b[2J\n")
    run("init", tmp_path / "w")
    code, out, _ = run("log", "profile", file, "-w", tmp_path / "w")
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out


def test_many_blocks_are_shown_in_few_lines(workspace: Workspace) -> None:
    new = NewLog(terms=Terms(blocks=Grid(Calendar.DAY)))
    profile = workspace.inspect_log(closed_in_one_month(), "closed", new=new).profile
    text = profile_text(profile)
    assert "Cases every month" in text
    assert len(text.splitlines()) < 110
    assert len(profile_record(profile)["cases_per_block"]["case end"]["blocks"]) > 700
