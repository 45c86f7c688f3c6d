"""Looking at a log before it is public, declaring it beforehand, and taking names back."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

import pappi
from pappi.custody import NewLog, declaration_text, declared_in
from pappi.errors import Conflict, DefinitionError, InputError, UsageError
from pappi.eventlog import open_log
from pappi.ledger import EntryKind
from pappi.session import Workspace
from pappi.session.workspace import log_name
from pappi.store import LogDeclaration, import_events, open_readonly
from pappi.values import Bounds, DefaultBounds, Kind, PrivacyUnit, Terms, Vocabulary
from tests.commands import Run
from tests.unit.test_cli import fingerprint

pytestmark = pytest.mark.outside

CSV = """case,activity,time,cost,who
1,Register,2024-03-01 10:00,30,ann
1,Pay,2024-03-02 10:00,40,ann
2,Register,2024-03-05 10:00,50,bob
2,Complain,2024-03-06 10:00,n.a.,bob
"""
DECLARATION = """activities: [Register, Pay]
attributes: {cost: number}
from: 2024-03-01
until: 2024-03-31
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "orders.csv"
    file.write_text(CSV)
    return file


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return pappi.create(tmp_path / "w")


def declared(folder: Path, text: str, new: NewLog | None = None) -> NewLog:
    file = folder / "declaration.yaml"
    file.write_text(text)
    return declared_in(file, new or NewLog())


# --- looking ------------------------------------------------------------------------------


def test_a_dry_run_shows_all_that_would_be_public_and_keeps_nothing(
    run: Run, log: Path, tmp_path: Path
) -> None:
    run("init", tmp_path / "w")
    before = fingerprint(tmp_path / "w")
    code, out, _ = run("log", "import", log, "--dry-run", "-w", tmp_path / "w")
    assert code == 0
    for shown in ("Would import 4 events in 2 cases", "Complain, Pay, Register", "cost (text)",
                  "2024-03-01 to 2024-03-31", "UTC", "its last event", "guessed delimiter: comma",
                  "nothing is public yet"):  # fmt: skip
        assert shown in out
    after = fingerprint(tmp_path / "w")
    assert {path: after[path] for path in before} == before
    assert [path for path in after if path not in before and not path.endswith(".lock")] == []
    assert "No logs yet" in run("log", "list", "-w", tmp_path / "w")[1]


def test_an_import_that_would_be_refused_is_refused_in_the_dry_run(
    workspace: Workspace, log: Path
) -> None:
    with pytest.raises(UsageError, match="more than one value within a case"):
        workspace.inspect_log(log, new=NewLog(terms=Terms(unit=PrivacyUnit("cost", 1))))
    with pytest.raises(UsageError, match="horizon"):
        workspace.inspect_log(log, new=NewLog(first=date(2025, 1, 1)))


def test_what_a_dry_run_says_is_what_an_import_then_declares(
    workspace: Workspace, log: Path
) -> None:
    looked, taken = workspace.inspect_log(log), workspace.import_log(log)
    places = dict.fromkeys(("data", "table"))
    assert looked.declaration.to_json() | places == taken.declaration.to_json() | places
    assert looked.report.activities == taken.report.activities


def test_a_dry_run_writes_a_declaration_that_says_the_same(
    run: Run, log: Path, tmp_path: Path
) -> None:
    run("init", tmp_path / "w")
    written = tmp_path / "d.yaml"
    place = ("-w", tmp_path / "w")
    assert run("log", "import", log, "--dry-run", "--write", written, *place)[0] == 0
    code, out, errors = run("log", "import", log, "--declaration", written, *place)
    assert code == 0, errors
    assert "Complain, Pay, Register" in out
    assert "cost (text), who (text)" in out


def test_a_declaration_is_written_only_by_a_dry_run(run: Run, log: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    code, _, errors = run("log", "import", log, "--write", "d.yaml", "-w", tmp_path / "w")
    assert code == 2
    assert "--write needs --dry-run" in errors


@pytest.mark.parametrize("name", ["a: b #", "", "ü €", "1", "true", '"', "- x", "\u202e", "it's"])
def test_any_name_survives_being_written(workspace: Workspace, tmp_path: Path, name: str) -> None:
    names = Vocabulary((f"x{name}", "y"), {f"c{name}": Kind.TIME})
    made = workspace.custody.create_log("log", NewLog(first=date(2024, 1, 1)), names)
    again = declared(tmp_path, declaration_text(made))
    assert again.vocabulary == made.public.vocabulary


# --- declaring beforehand -----------------------------------------------------------------


def test_a_declaration_is_all_that_becomes_public(
    workspace: Workspace, log: Path, tmp_path: Path
) -> None:
    imported = workspace.import_log(log, new=declared(tmp_path, DECLARATION))
    assert imported.declaration.public.vocabulary == Vocabulary(
        ("Register", "Pay"), {"cost": Kind.NUMBER}
    )
    assert (imported.declaration.public.first, imported.declaration.public.until) == (
        date(2024, 3, 1),
        date(2024, 4, 1),
    )
    assert imported.report.cases == 2
    unnamed, unfit = imported.report.notices
    assert unnamed.startswith("1 events have undeclared activities")
    assert unfit == "1 values of 'cost' are not of kind number: they count as missing"


def test_options_declare_the_same(run: Run, log: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "w")
    names = ("--declare-activity", "Pay", "--declare-attribute", "cost:number")
    days = ("--from", "2024-03-01", "--until", "2024-03-31")
    code, out, _ = run("log", "import", log, *names, *days, "-w", tmp_path / "w")
    assert code == 0
    assert "activities        Pay\n" in out
    assert "attributes        cost (number)\n" in out
    code, _, errors = run("log", "import", log, *names, "--name", "x", "-w", tmp_path / "w")
    assert code == 2
    assert "--from, --until" in errors


def test_json_will_do(tmp_path: Path) -> None:
    new = declared(tmp_path, '{"activities": [], "attributes": {"a": "truth"}}')
    assert new.vocabulary == Vocabulary((), {"a": Kind.TRUTH})
    assert new.until is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("activites: [A]", "did you mean 'activities'?"),
        ("attributes: {}", "needs the key 'activities'"),
        ("activities: A", "expected a list of activities"),
        ("activities: []\nattributes: {a: nmber}", "did you mean 'number'?"),
        ("activities: []\nuntil: 2024-02-30", "not a calendar day"),
        ("activities: []\nfrom: soon", "expected a day"),
        ("activities: [A]\nbudget: 3", "unknown key 'budget'"),
        ("- A", "expected a declaration"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_said_where_it_is(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(DefinitionError, match=said):
        declared(tmp_path, text)


def test_a_declaration_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        declared_in(tmp_path / "none.yaml", NewLog())


def test_a_declaration_must_declare_whom_it_protects(
    workspace: Workspace, log: Path, tmp_path: Path
) -> None:
    new = declared(tmp_path, DECLARATION, NewLog(terms=Terms(unit=PrivacyUnit("who", 2))))
    with pytest.raises(UsageError, match="'who', which identifies persons, is not declared"):
        workspace.import_log(log, new=new)


@pytest.mark.parametrize("name", ["activity", "Timestamp", "pos"])
def test_names_that_events_have_already_cannot_be_declared(
    workspace: Workspace, log: Path, tmp_path: Path, name: str
) -> None:
    text = DECLARATION.replace("cost", name)
    with pytest.raises(UsageError, match="no attribute can be called"):
        workspace.import_log(log, new=declared(tmp_path, text))


def test_columns_that_share_a_name_are_told_apart_as_in_the_dry_run(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    file.write_text("case,activity,time,x,x,X,pos\n1,A,2024-03-01,a,b,c,d\n")
    looked = workspace.inspect_log(file)
    new = declared(tmp_path, declaration_text(looked.declaration))
    taken = workspace.import_log(file, new=new)
    assert [column.name for column in taken.report.columns] == ["x", "x (2)", "X (3)", "pos (2)"]
    assert [column.missing for column in taken.report.columns] == [0, 0, 0, 0]


def test_values_of_a_frame_count_if_they_are_of_the_declared_kind(tmp_path: Path) -> None:
    import pyarrow as pa

    noon = datetime(2024, 3, 1, 12, tzinfo=UTC)
    frame = pa.table(
        {
            "case": ["1", "1"],
            "activity": ["A", "B"],
            "time": pa.array([noon, noon], pa.timestamp("us", "UTC")),
            "large": pa.array([7, 2**60]),
            "seconds": pa.array([1.5, 1e300]),
            "when": ["2024-03-01 12:00", "soon"],
            "flag": pa.array([True, None]),
            "code": pa.array([7, 8]),
            "at": pa.array([noon, None], pa.timestamp("us", "UTC")),
            "truth": pa.array([1, 0]),
        }
    )
    kinds = {
        "large": Kind.NUMBER,
        "seconds": Kind.DURATION,
        "when": Kind.TIME,
        "flag": Kind.TEXT,
        "code": Kind.TEXT,
        "at": Kind.NUMBER,
        "truth": Kind.TRUTH,
    }
    database = tmp_path / "events"
    reader = open_log(frame, None, Vocabulary(("A",), kinds))
    import_events(database, "log", reader)
    with closing(open_readonly(database, "log")) as connection:
        found = connection.execute("SELECT activity, columns(*) FROM log ORDER BY pos").fetchall()
    us = int(noon.timestamp()) * 1_000_000
    assert [row[0] for row in found] == ["A", None]
    assert [row[-7:] for row in found] == [
        (7.0, 1_500_000, us, "true", "7", None, None),
        (None, None, None, None, "8", None, None),
    ]


@pytest.mark.parametrize("header", ["case,activity,time", "case,activity,time,amount,note"])
def test_a_log_without_events_has_a_sentence_of_its_own(
    workspace: Workspace, tmp_path: Path, header: str
) -> None:
    file = tmp_path / "log.csv"
    file.write_text(f"{header}\n")
    for new in (NewLog(), declared(tmp_path, DECLARATION)):
        with pytest.raises(InputError, match="this log has no events"):
            workspace.import_log(file, new=new)


@pytest.mark.parametrize(
    ("file", "name"),
    [("07_x.xes.gz", "log_07_x"), ("Straße 7.csv", "Stra_e_7"), ("___.csv", "log"),
     ("a" * 90 + ".csv", "a" * 60), ("orders.csv", "orders")],
)  # fmt: skip
def test_a_file_whose_name_cannot_name_a_log_gets_one_that_can(
    workspace: Workspace, tmp_path: Path, file: str, name: str
) -> None:
    assert log_name(Path(file)) == name
    place = tmp_path / file.removesuffix(".xes.gz").removesuffix(".csv")
    csv = place.with_name(place.name + ".csv")
    csv.write_text(CSV)
    assert workspace.import_log(csv).declaration.name == name


# --- taking names back --------------------------------------------------------------------

QUESTION = """log: orders
ppis:
  - id: costs
    measure:
      mean: {data: cost}
      where: {condition: {activity: Register}}
      bounds: [0, 100]
"""


@pytest.fixture
def taken(workspace: Workspace, log: Path) -> Workspace:
    names = Vocabulary(
        ("Register", "Pay", "Complain"), {"cost": Kind.NUMBER, "who": Kind.TEXT, "x": Kind.TEXT}
    )
    new = NewLog(
        first=date(2024, 3, 1),
        until=date(2024, 4, 1),
        vocabulary=names,
        keys={"who": ("ann", "bob")},
        terms=Terms(bounds=DefaultBounds(attributes={"cost": Bounds(Fraction(0), Fraction(100))})),
    )
    workspace.import_log(log, new=new)
    return workspace


def asked(folder: Path) -> Path:
    file = folder / "costs.yaml"
    file.write_text(QUESTION)
    return file


def test_a_name_that_nothing_has_used_is_gone_for_everybody(
    taken: Workspace, tmp_path: Path
) -> None:
    taken.checkpoint("ann").release(asked(tmp_path), "0.5")
    found = taken.custody.withdraw_names("orders", ["Complain"], ["who", "x"])
    assert found.public.vocabulary == Vocabulary(("Register", "Pay"), {"cost": Kind.NUMBER})
    anew = pappi.open(taken.root).checkpoint("ben").log("orders")
    assert anew == found.public
    (entry,) = (each for each in taken.custody.trail() if each.kind == EntryKind.WITHDRAW_NAMES)
    assert entry.what["by"] == "owner"


def test_a_question_cannot_use_a_name_that_was_withdrawn(taken: Workspace, tmp_path: Path) -> None:
    taken.custody.withdraw_names("orders", [], ["cost"])
    with pytest.raises(DefinitionError, match="unknown attribute 'cost'"):
        taken.checkpoint("ann").release(asked(tmp_path), "0.5")
    assert taken.log("orders").terms.bounds.attributes == {}


@pytest.mark.parametrize(("activities", "attributes"), [(["Register"], []), ([], ["cost"])])
def test_what_was_charged_keeps_its_names(
    taken: Workspace, tmp_path: Path, activities: list[str], attributes: list[str]
) -> None:
    taken.checkpoint("ann").release(asked(tmp_path), "0.5")
    length = taken.custody.length()
    with pytest.raises(Conflict, match="entry 3 of the journal uses it"):
        taken.custody.withdraw_names("orders", activities, attributes)
    assert taken.custody.length() == length


@pytest.mark.parametrize("name", ["Register", "cost"])
def test_what_an_analyst_keeps_keeps_its_names_until_it_is_forgotten(
    taken: Workspace, tmp_path: Path, name: str
) -> None:
    ann = taken.checkpoint("ann")
    kept = ann.save(asked(tmp_path))
    assert kept is not None
    names = ([name], []) if name == "Register" else ([], [name])
    with pytest.raises(Conflict, match="a query saved by ann uses it"):
        taken.custody.withdraw_names("orders", *names)
    ann.forget(kept.id)
    taken.custody.withdraw_names("orders", *names)


def test_what_is_reserved_keeps_its_names_until_it_is_given_up(
    taken: Workspace, tmp_path: Path
) -> None:
    ann = taken.checkpoint("ann")
    file = asked(tmp_path)
    file.write_text(QUESTION + "    scope: {every: month}\n")
    standing = ann.subscribe(file, date(2024, 7, 1), "0.1")
    with pytest.raises(Conflict, match="of the journal uses it"):
        taken.custody.withdraw_names("orders", [], ["cost"])
    ann.unsubscribe(standing.id)
    taken.custody.withdraw_names("orders", [], ["cost"])


def test_a_name_that_is_withdrawn_before_the_charge_is_not_charged(
    taken: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an owner and an analyst at once, one comes first: a charge never uses what is gone."""

    def withdrawn_meanwhile(*_: object) -> None:
        taken.custody.withdraw_names("orders", [], ["cost"])

    monkeypatch.setattr(LogDeclaration, "require_ready", withdrawn_meanwhile)
    with pytest.raises(Conflict, match="names of this log changed"):
        taken.checkpoint("ann").release(asked(tmp_path), "0.5")
    assert taken.custody.charges("orders") == ()


def test_whom_the_guarantee_protects_stays_named(workspace: Workspace, log: Path) -> None:
    workspace.import_log(log, new=NewLog(terms=Terms(unit=PrivacyUnit("who", 2))))
    with pytest.raises(Conflict, match="whom this log's guarantee"):
        workspace.custody.withdraw_names("orders", [], ["who"])


def test_names_that_are_not_there_cannot_be_withdrawn(taken: Workspace) -> None:
    with pytest.raises(UsageError, match="declares no activity 'Complains'") as refused:
        taken.custody.withdraw_names("orders", ["Complains"])
    assert refused.value.hint == "did you mean 'Complain'?"
    with pytest.raises(UsageError, match="name an activity or an attribute"):
        taken.custody.withdraw_names("orders")


def test_the_command_says_that_what_was_public_was_public(
    run: Run, log: Path, tmp_path: Path
) -> None:
    run("init", tmp_path / "w")
    run("log", "import", log, "-w", tmp_path / "w")
    code, out, _ = run(
        "log", "withdraw-name", "orders", "--activity", "Complain", "-w", tmp_path / "w"
    )
    assert code == 0
    assert "anyone who has seen these names still knows them" in out
    assert "activities        Pay, Register\n" in out
    assert "withdraw-names" in run("trail", "-w", tmp_path / "w")[1]
