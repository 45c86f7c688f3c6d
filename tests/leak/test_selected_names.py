"""Names that are chosen by noisy counts: what one case can change, what is charged, and when."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pappi
from pappi.custody import NewLog, Selection
from pappi.custody import names as selecting
from pappi.custody.names import Name, bounded_counts, select_names
from pappi.errors import BudgetExceeded, LogFormatError, UsageError
from pappi.eventlog import open_log
from pappi.ledger import EntryKind
from pappi.session import Workspace
from pappi.values import Adjacency, Epsilon, Kind, PrivacyUnit, Terms, Vocabulary
from tests.commands import Run

NAMES = tuple(("activity", letter) for letter in "ABCDEF")
SETS = st.sets(st.sampled_from(NAMES))
SELECTION = Selection(Epsilon.of("0.5"), 3)
TERMS = NewLog(
    first=date(2024, 1, 1),
    until=date(2024, 3, 1),
    vocabulary=Vocabulary(("A", "B", "Rare", "Never"), {"cost": Kind.NUMBER, "gone": Kind.TEXT}),
)


def log(folder: Path, cases: int = 400, more: str = "") -> Path:
    """One case in all is Rare; half of the cases are of February."""
    rows = "".join(
        f"{n},{activity},2024-0{n % 2 + 1}-1{n % 9} 10:00,{n},p{n % 40}\n"
        for n in range(cases)
        for activity in ("A", "B", *(("Rare",) if n == 7 else ()))
    )
    file = folder / "orders.csv"
    file.write_text(f"case,activity,time,cost,who\n{rows}{more}")
    return file


def distance(one: list[set[Name]], other: list[set[Name]], most: int) -> int:
    first, second = (bounded_counts(units, NAMES, most) for units in (one, other))
    return sum(abs(first[name] - second[name]) for name in NAMES)


@given(st.lists(SETS, max_size=6), SETS, st.integers(1, 7))
def test_one_case_changes_the_counts_by_no_more_than_the_noise_is_for(
    units: list[set[Name]], one_more: set[Name], most: int
) -> None:
    assert distance(units, [*units, one_more], most) <= most


def test_a_case_that_counted_for_all_its_names_would_be_found() -> None:
    """The planted fault: without the bound, one case changes more."""
    assert distance([], [{*NAMES}], most=len(NAMES)) > SELECTION.names
    assert distance([], [{*NAMES}], most=SELECTION.names) == SELECTION.names


def test_the_noise_is_for_what_neighbours_can_differ_by() -> None:
    assert SELECTION.scale(Adjacency.ADD_REMOVE) == Fraction(6)
    assert SELECTION.scale(Adjacency.REPLACE) == Fraction(12)


def chosen(workspace: Workspace, file: Path, new: NewLog = TERMS) -> Vocabulary:
    found = workspace.select_names(file, new, SELECTION).vocabulary
    assert found is not None
    return found


def no_noise(*_: object) -> int:
    return 0


def test_names_that_many_cases_have_are_declared_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "discrete_laplace", no_noise)
    workspace = pappi.create(tmp_path / "w")
    file = log(tmp_path)
    new = workspace.select_names(file, TERMS, SELECTION)
    assert new.vocabulary == Vocabulary(("A", "B"), {"cost": Kind.NUMBER})
    workspace.import_log(file, new=new)
    assert workspace.log("orders").public.vocabulary == new.vocabulary


def test_every_block_is_charged_before_an_event_is_read(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    file = tmp_path / "orders.csv"
    file.write_text("case,activity,time\n1,A,2024-01-01\n1,B,soon\n")
    with pytest.raises(LogFormatError):
        workspace.select_names(file, TERMS, SELECTION)
    (entry,) = (each for each in workspace.custody.trail() if each.kind == EntryKind.CHARGE)
    assert entry.what["accounts"] == [["orders", "2024-01"], ["orders", "2024-02"]]
    assert entry.what["amount"] == SELECTION.epsilon.nano


def test_what_broke_off_is_completed_once_at_no_new_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = pappi.create(tmp_path / "w")
    file = log(tmp_path)

    def broken(*_: object) -> int:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(selecting, "discrete_laplace", broken)
        with pytest.raises(RuntimeError):
            workspace.select_names(file, TERMS, SELECTION)
    first = chosen(workspace, file)
    monkeypatch.setattr(selecting, "discrete_laplace", broken)  # a replay draws nothing
    assert chosen(workspace, file) == first
    assert len([each for each in workspace.custody.trail() if each.kind == EntryKind.CHARGE]) == 1


def test_what_it_cost_is_gone_for_analysts(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    file = log(tmp_path)
    workspace.import_log(file, new=workspace.select_names(file, TERMS, SELECTION))
    lines = workspace.checkpoint("ann").budget("orders")
    assert {str(line.spent) for line in lines} == {"0.5"}
    (charge,) = workspace.checkpoint("ann").releases("orders")
    assert "Rare" not in str(charge)
    workspace.custody.pack("orders")  # the pack can tell it
    assert workspace.verify().ok


def test_more_than_a_block_has_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    with pytest.raises(BudgetExceeded):
        workspace.select_names(log(tmp_path), TERMS, Selection(Epsilon.of("1.5"), 3))
    assert workspace.custody.length() == 1


def counts(
    tmp_path: Path, file: Path, new: NewLog, monkeypatch: pytest.MonkeyPatch
) -> dict[Name, int]:
    """The counts before noise, as the selection makes them."""
    found: dict[Name, int] = {}

    def noted(*arguments: object) -> dict[Name, int]:
        found.update(bounded_counts(*arguments))  # type: ignore[arg-type]
        return found

    workspace = pappi.create(tmp_path / "w")
    monkeypatch.setattr(selecting, "bounded_counts", noted)
    reader = open_log(file, None, new.vocabulary)
    files = workspace._ledger_session.files
    with workspace._ledger_session.ledger() as ledger:
        select_names(files, ledger, (), "orders", reader, new, SELECTION, lambda *_: None)
    return found


def test_only_cases_of_the_days_that_pay_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "x,A,2024-02-20 10:00,1,p\nx,Rare,2024-03-01 00:00,1,p\ny,A,2023-12-31 23:59,1,p\n"
    file = log(tmp_path, cases=10, more=more)
    assert counts(tmp_path, file, TERMS, monkeypatch)["activity", "A"] == 10


def test_persons_count_once_for_all_their_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TERMS.vocabulary is not None
    names = Vocabulary(TERMS.vocabulary.activities, {"who": Kind.TEXT})
    unit = PrivacyUnit("who", 20)
    new = NewLog(first=TERMS.first, until=TERMS.until, vocabulary=names, terms=Terms(unit=unit))
    found = counts(tmp_path, log(tmp_path), new, monkeypatch)
    assert found["activity", "A"] == 40
    assert ("attribute", "who") not in found


def test_there_must_be_candidates(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    with pytest.raises(UsageError, match="no candidate names"):
        workspace.select_names(log(tmp_path), NewLog(), SELECTION)


def test_a_name_is_declared_if_its_noisy_count_reaches_the_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise decides: with enough of it, names come up that no case has, and others go."""
    reached = SELECTION.threshold(6, Adjacency.ADD_REMOVE)
    for noise, names in ((reached, ("A", "B", "Rare", "Never")), (-400, ())):
        monkeypatch.setattr(selecting, "discrete_laplace", lambda *_, noise=noise: noise)
        workspace = pappi.create(tmp_path / f"w{noise}")
        assert chosen(workspace, log(tmp_path)).activities == names


def test_the_command_selects_and_imports(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "discrete_laplace", no_noise)
    run("init", tmp_path / "w")
    file, listed = log(tmp_path), tmp_path / "candidates.yaml"
    listed.write_text("activities: [A, B, Never]\nfrom: 2024-01-01\nuntil: 2024-02-29\n")
    place = ("--declaration", listed, "-w", tmp_path / "w")
    price, bound = ("--select-epsilon", "0.5"), ("--names-per-case", "2")
    code, _, errors = run("log", "import", file, *price, *place)
    assert code == 2
    assert "--names-per-case" in errors
    code, out, errors = run("log", "import", file, *price, *bound, *place)
    assert code == 0, errors
    assert "activities        A, B\n" in out
    code, _, errors = run(
        "log", "import", file, *price, "--names-per-case", "2", "--dry-run", *place
    )
    assert code == 2
