"""The privacy unit: declared once, refused where it has no meaning, and said in every promise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

import pappi
from pappi.audit import Column, Data, JointRelease, handmade, neighbours
from pappi.audit.neighbours import corner_rows
from pappi.custody import NewLog
from pappi.errors import UsageError, WorkspaceError
from pappi.mechanisms import Loss, mechanism_for
from pappi.report import neighbours_text
from pappi.report.wording import guarantee_line, promise, promise_together
from pappi.session import Workspace
from pappi.store import create_workspace, find_workspace, open_workspace
from pappi.store.workspace import KEY_BYTES
from pappi.values import CASE, UNIT_INTERVAL, Adjacency, Epsilon, Guarantee, Per, PrivacyUnit, Terms
from pappi.values.privacy import MOST_CASES
from tests.commands import Run
from tests.small_logs import Row, event_table, workspace_with
from tests.unit.report_samples import a_series, an_answer

pytestmark = pytest.mark.outside

PATIENT = PrivacyUnit("patient_id", 3)
PER_BLOCK = PrivacyUnit("patient_id", 3, Per.BLOCK)

ROWS: list[Row] = [
    ("c1", "A", 0, {"patient_id": "p1", "doctor": "x", "number": 17}),
    ("c1", "B", 1, {"doctor": "y"}),
    ("c2", "A", 0, {"patient_id": "p1", "doctor": "x", "number": 17}),
    ("c3", "A", 5, {"doctor": "x"}),
]

# --- the value -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (CASE, "case"),
        (PATIENT, "patient_id, at most 3 cases per log"),
        (PER_BLOCK, "patient_id, at most 3 cases per block"),
        (PrivacyUnit("patient_id"), "patient_id, at most 1 case per log"),
    ],
)
def test_a_unit_reads_well_and_survives_being_written(unit: PrivacyUnit, text: str) -> None:
    assert str(unit) == text
    assert PrivacyUnit.from_json(json.loads(json.dumps(unit.to_json()))) == unit


def test_a_person_whose_column_is_called_case_is_not_the_case_unit() -> None:
    unit = PrivacyUnit("case", 2)
    assert PrivacyUnit.from_json(json.loads(json.dumps(unit.to_json()))) == unit != CASE


@pytest.mark.parametrize("cases", [0, -1, MOST_CASES + 1])
def test_a_bound_that_bounds_nothing_is_refused(cases: int) -> None:
    with pytest.raises(UsageError, match="1 to 1,000 cases") as refusal:
        PrivacyUnit("patient_id", cases)
    assert refusal.value.hint


@pytest.mark.parametrize("column", ["", "  "])
def test_a_person_needs_a_column(column: str) -> None:
    with pytest.raises(UsageError, match="names no attribute"):
        PrivacyUnit(column, 2)


@pytest.mark.parametrize("unit", [{"max_cases": 2}, {"per": Per.BLOCK}])
def test_a_case_has_no_bound_of_its_own(unit: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="tells persons apart"):
        PrivacyUnit(None, **unit)  # type: ignore[arg-type]


def test_a_unit_nobody_has_heard_of_is_refused() -> None:
    with pytest.raises(UsageError, match="not a privacy unit"):
        PrivacyUnit.from_json("trace")


# --- declared at import ----------------------------------------------------------------------


def fingerprint(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """One that has seen an import: its locks are there."""
    return workspace_with(tmp_path / "w", ROWS, name="before")


@pytest.mark.parametrize("column", ["patient_id", "number"])
def test_a_person_is_declared_by_any_case_level_attribute(
    workspace: Workspace, column: str
) -> None:
    unit = PrivacyUnit(column, 2, Per.BLOCK)
    imported = workspace.import_log(
        event_table(ROWS), "persons", new=NewLog(terms=Terms(unit=unit))
    )
    assert imported.report.cases == 3
    assert pappi.open(workspace.root).log("persons").terms.unit == unit


@pytest.mark.parametrize(
    ("column", "message", "hint"),
    [
        (
            "doctor",
            "'doctor' has more than one value within a case; .* such as 'number' or 'patient_id'",
            "one value per case",
        ),
        ("patient", "no attribute 'patient'", "did you mean"),
        ("zzz", "no attribute 'zzz'", "attributes are 'doctor'"),
        ("activity", "no attribute 'activity'", "attributes are"),
    ],
    ids=["varying", "mistyped", "unknown", "no attribute"],
)
def test_a_unit_that_cannot_be_is_refused_and_leaves_no_trace(
    workspace: Workspace, column: str, message: str, hint: str
) -> None:
    workspace.close()  # so that no lock or log of SQLite's is beside its file
    before = fingerprint(workspace.root)
    new = NewLog(terms=Terms(unit=PrivacyUnit(column, 2)))
    with pytest.raises(UsageError, match=message) as refusal:
        workspace.import_log(event_table(ROWS), "persons", new=new)
    workspace.close()
    assert hint in refusal.value.hint
    assert not any(letter.isdigit() for letter in refusal.value.message + refusal.value.hint)
    assert fingerprint(workspace.root) == before


def test_terms_that_protect_persons_under_replace_cannot_be_made() -> None:
    with pytest.raises(UsageError, match="how many cases a person has is private") as refusal:
        Terms(unit=PATIENT, adjacency=Adjacency.REPLACE)
    assert "add-remove" in refusal.value.hint


def test_a_first_import_that_is_refused_makes_no_events_file(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    with pytest.raises(UsageError):
        workspace.import_log(
            event_table(ROWS), "persons", new=NewLog(terms=Terms(unit=PrivacyUnit("doctor", 2)))
        )
    assert not (workspace.root / "events").exists()
    assert not list(workspace.root.glob(".*staging*"))


# --- the key ---------------------------------------------------------------------------------


def test_a_workspace_has_a_key_of_its_own_that_only_its_owner_can_read(tmp_path: Path) -> None:
    one, other = create_workspace(tmp_path / "one"), create_workspace(tmp_path / "other")
    assert len(one.key()) == KEY_BYTES == 32
    assert one.key() != other.key()
    assert open_workspace(one.root).key() == one.key()
    if sys.platform != "win32":
        assert (one.root / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [lambda key: key.unlink(), lambda key: key.write_bytes(b"x")])
def test_a_workspace_without_its_key_is_not_opened(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    files = create_workspace(tmp_path / "w")
    damage(files.root / "key")
    for opened in (open_workspace, find_workspace):
        with pytest.raises(WorkspaceError, match="no usable key") as refusal:
            opened(files.root)
        assert "backup" in refusal.value.hint


def test_a_workspace_of_the_layout_before_is_not_opened(tmp_path: Path) -> None:
    files = create_workspace(tmp_path / "w")
    (files.root / "workspace.json").write_text('{"layout": 1}', encoding="utf-8")
    with pytest.raises(WorkspaceError, match="layout 1"):
        open_workspace(files.root)


# --- on the command line ---------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """`pappi log …` beside a log of three cases, in a new workspace."""
    (tmp_path / "log.csv").write_text(
        "case,activity,time,patient_id\n1,A,2024-01-01,p1\n2,A,2024-01-02,p1\n3,A,2024-01-03,\n",
        encoding="utf-8",
    )
    pappi.create(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")

    def of_log(*arguments: str) -> tuple[int, str, str]:
        code, out, errors = run("log", *arguments)
        return code, " ".join(out.split()), errors

    return of_log


def test_a_person_is_declared_and_shown_on_the_command_line(log: Run) -> None:
    persons = ("--unit", "patient_id", "--max-cases", "3", "--per", "block")
    code, out, errors = log("import", "../log.csv", *persons)
    assert code == 0, errors
    shown = (
        "patient_id, at most 3 cases per block; further cases of the same patient_id, "
        "and cases without one or with several, are dropped"
    )
    assert shown in out.partition("public from now on")[2]
    assert shown in log("describe", "log")[1]
    described = json.loads(log("describe", "log", "--json")[1])
    assert described["unit"] == {"column": "patient_id", "max_cases": 3, "per": "block"}


@pytest.mark.parametrize("given", [(), ("--unit", "case")])
def test_without_a_person_the_unit_is_a_case(log: Run, given: tuple[str, ...]) -> None:
    code, out, _ = log("import", "../log.csv", *given)
    assert code == 0
    assert "privacy unit case neighbouring logs add-remove." in out
    assert json.loads(log("describe", "log", "--json")[1])["unit"] == "case"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--max-cases", "3"), "they need --unit COLUMN"),
        (("--per", "block"), "they need --unit COLUMN"),
        (("--unit", "case", "--max-cases", "3"), "they need --unit COLUMN"),
        (("--unit", "patient_id"), "no sensible default"),
        (("--unit", "patient_id", "--max-cases", "0"), "1 to 1,000 cases"),
        (("--unit", "patient_id", "--max-cases", "2", "--adjacency", "replace"), "is private"),
        (("--unit", "patientid", "--max-cases", "2"), "did you mean 'patient_id'?"),
    ],
)
def test_half_a_unit_is_a_usage_error(log: Run, given: tuple[str, ...], message: str) -> None:
    code, out, errors = log("import", "../log.csv", *given)
    assert code == 2
    assert message in " ".join(errors.split())
    assert not out


# --- in words --------------------------------------------------------------------------------


def test_the_promise_says_whose_influence_is_bounded() -> None:
    epsilon = Epsilon.of("0.1")
    assert promise(epsilon, PATIENT) == (
        "Whatever the cases of one 'patient_id' contain, of whom at most 3 cases count, no "
        "published figure becomes more than 1.11 times likelier because of them (ε = 0.1)."
    )
    assert promise_together(epsilon, PATIENT) == (
        "All figures ever published about this log, taken together, become at most 1.11 times "
        "likelier because of the cases of one 'patient_id', of whom at most 3 cases count "
        "(ε = 0.1)."
    )
    assert "lacks the cases of one 'patient_id', so" in neighbours_text(
        [Adjacency.ADD_REMOVE], PATIENT
    )
    assert promise(epsilon) == promise(epsilon, CASE)


def test_a_promise_per_block_does_not_pass_for_one_per_person() -> None:
    epsilon = Epsilon.of("0.1")
    adds_up = (
        "This holds per 'patient_id' and block: what different blocks reveal about the same "
        "'patient_id' adds up."
    )
    alone = promise(epsilon, PER_BLOCK)
    assert alone.startswith("Whatever the cases of one 'patient_id' in any one block contain")
    assert alone.endswith(adds_up)
    together = promise_together(epsilon, PER_BLOCK)
    assert together.startswith("All figures ever published about the same block")
    assert together.endswith(adds_up)
    assert "in any one block, so" in neighbours_text([Adjacency.ADD_REMOVE], PER_BLOCK)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (CASE, "protects each case ·"),
        (PATIENT, "protects each 'patient_id', of whom at most 3 cases count ·"),
        (PER_BLOCK, "protects each 'patient_id' in each block, of whom at most 3 cases count ·"),
        (PrivacyUnit("p"), "protects each 'p', of whom at most 1 case counts ·"),
    ],
)
def test_the_guarantee_line_names_the_unit(unit: PrivacyUnit, text: str) -> None:
    answer = an_answer(1.0, 0.0, 2.0)
    guarantee = Guarantee(Epsilon.of("0.1"), unit, Adjacency.ADD_REMOVE, "two-bin")
    assert text in guarantee_line(a_series([replace(answer, guarantee=guarantee)]))


# --- the audit of k cases --------------------------------------------------------------------

CASES = 3
EPSILON = Fraction(3, 10)
COLUMN = Column(UNIT_INTERVAL)
AUDITED = [("sum", "laplace"), ("mean", "two-bin"), ("max", "interval"), ("median", "interval")]


def starts() -> Iterator[Data]:
    kinds = handmade([COLUMN])
    for kind in ("empty", "single", "threshold-crossing"):
        yield from kinds[kind]
    yield from kinds["duplicate"][:3]


def worst_loss(function: str, name: str, epsilon: Fraction) -> Loss:
    """Over data sets in which a person with up to CASES cases comes or goes."""
    release = JointRelease(
        (
            mechanism_for(
                function, UNIT_INTERVAL, epsilon, Adjacency.ADD_REMOVE, integral=False, name=name
            ),
        )
    )
    return max(
        release.law(data).loss(release.law(other))
        for data in starts()
        for other in neighbours(data, Adjacency.ADD_REMOVE, corner_rows([COLUMN]), CASES)
    )


@pytest.mark.parametrize(("function", "name"), AUDITED)
def test_at_a_share_of_epsilon_for_each_case_a_person_is_protected(
    function: str, name: str
) -> None:
    worst = worst_loss(function, name, EPSILON / CASES)
    assert worst <= EPSILON
    assert worst == EPSILON or name == "interval"


@pytest.mark.parametrize(("function", "name"), AUDITED)
def test_a_whole_epsilon_for_each_case_is_caught(function: str, name: str) -> None:
    worst = worst_loss(function, name, EPSILON)
    assert worst > EPSILON * 2
    assert worst == EPSILON * CASES or name == "interval"


def test_a_person_comes_and_goes_with_several_cases() -> None:
    rows = ((0.0,), (1.0,))
    data: Data = ((0.2,), (0.9,), (0.1,))
    found = list(neighbours(data, Adjacency.ADD_REMOVE, rows, 2))
    assert {len(other) for other in found} == {1, 2, 4, 5}
    assert {other for other in found if len(other) == 1} == {((0.2,),), ((0.9,),), ((0.1,),)}
    added = {other[3:] for other in found if len(other) == 5}
    assert added >= {((0.0,), (0.0,)), ((1.0,), (1.0,)), ((0.0,), (1.0,))}
    assert list(neighbours(data, Adjacency.ADD_REMOVE, rows, 1)) == list(
        neighbours(data, Adjacency.ADD_REMOVE, rows)
    )


def test_a_person_with_fewer_cases_than_allowed_leaves_nothing_behind() -> None:
    assert () in neighbours(((0.5,),), Adjacency.ADD_REMOVE, (), 5)
    assert list(neighbours((), Adjacency.ADD_REMOVE, (), 5)) == []


def test_of_many_ways_to_leave_a_person_out_the_most_uneven_are_tried() -> None:
    data = tuple((float(value),) for value in range(20, 0, -1))
    found = list(neighbours(data, Adjacency.ADD_REMOVE, (), 10))
    assert len(found) < 100
    assert data[10:] in found
    assert data[:10] in found


def test_persons_are_not_replaced() -> None:
    with pytest.raises(ValueError, match="never replaced"):
        list(neighbours(((0.5,),), Adjacency.REPLACE, (), 2))
