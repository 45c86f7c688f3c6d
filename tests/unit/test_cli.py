"""The command line: what a person types, sees, and gets as an exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from pathlib import Path

import click
import pytest

import pappi
from pappi import __version__
from pappi.cli.program import COMMANDS
from pappi.cli.program import pappi as program
from pappi.errors import UsageError
from pappi.examples import write_csv, write_xes
from pappi.examples.claims import simulate_claims
from pappi.examples.hospital import simulate_hospital
from tests.commands import Run, answers_in

pytestmark = pytest.mark.outside


CATALOGUE = Path(__file__).parents[2] / "experiments" / "claims.yaml"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with 300 claims, to be copied."""
    folder = tmp_path_factory.mktemp("imported")
    write_csv(simulate_claims(cases=300), folder / "claims.csv")
    workspace = pappi.create(folder / "w")
    workspace.import_log(folder / "claims.csv", timezone="Europe/Berlin")
    workspace.close()
    return folder


@pytest.fixture
def workspace(tmp_path: Path, imported: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with 300 claims, as the current directory; its log is beside it."""
    shutil.copytree(imported, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def fingerprint(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_version_is_printed_by_a_process_that_loads_little() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pappi", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == __version__
    loaded = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert 10 < len(loaded) < 200


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_no_command_and_no_heavy_module_is_loaded_to_print_help(option: str) -> None:
    code = (
        f"import sys\nsys.argv = ['pappi', {option!r}]\n"
        "from pappi.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'duckdb', 'numpy', 'pyarrow', 'sqlglot', 'rich'} & set(sys.modules)))\n"
        "print(sorted(name for name in sys.modules if name.startswith('pappi.')))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, own = out.stdout.splitlines()[-2:]
    assert heavy == "[]"
    assert own == str(["pappi.cli", "pappi.cli.program", "pappi.errors", "pappi.lazy"])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_says_what_each_command_says(name: str) -> None:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].help == command.get_short_help_str(limit=1_000)


def test_a_command_that_does_not_exist_has_no_module() -> None:
    assert program.get_command(click.Context(program), "nothing") is None


@pytest.mark.usefixtures("workspace")
def test_the_way_from_import_to_replay(run: Run) -> None:
    code, out, _ = run("preview", CATALOGUE)
    assert code == 0
    assert "at most, 95 %" in out
    code, first, _ = run("release", "--anyway", CATALOGUE, "--json")
    assert code == 0
    code, second, _ = run("release", "--anyway", CATALOGUE, "--json")
    answers, again = answers_in(first), answers_in(second)
    assert [a["value"] for a in answers] == [a["value"] for a in again]
    assert all((a["probability_met"] is None) == (a["verdict"] is None) for a in answers)
    code, out, _ = run("budget")
    assert code == 0
    assert "verifies" in out


@pytest.mark.usefixtures("workspace")
def test_a_release_prints_a_table_and_writes_charts_and_a_report(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "release", "--anyway", CATALOGUE, "--svg", tmp_path / "svg", "--html", tmp_path / "r.html"
    )
    assert code == 0
    assert (
        "Charged: ε 0.1 to 0.3 in 25 blocks, most in 2024-01.\n"
        "Remaining budget: ε 0.7 of 1 in 2024-01, the tightest of 25 blocks.\n"
    ) in out
    _, again, _ = run("release", "--anyway", CATALOGUE)
    assert "Charged: nothing new.\nRemaining budget: ε" in again
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    # One for each PPI, and the budget's.
    assert page.count("<figure") == 4
    assert len(list((tmp_path / "svg").glob("*.svg"))) == 3


@pytest.mark.usefixtures("workspace")
def test_csv_has_a_row_for_every_answer(run: Run) -> None:
    _, as_json, _ = run("release", "--anyway", CATALOGUE, "--json")
    code, out, _ = run("release", "--anyway", CATALOGUE, "--csv")
    assert code == 0
    assert len(out.splitlines()) == 1 + len(answers_in(as_json))


@pytest.mark.usefixtures("workspace")
def test_what_an_accuracy_costs(run: Run) -> None:
    code, out, errors = run(
        *("preview", CATALOGUE, "--accuracy", "30", "--json"),
        *("--ppi", "sojourn", "--ppi", "rejected"),
    )
    assert code == 0, errors
    quotes = json.loads(out)["quotes"]
    for quote in quotes:
        within = {each["confidence"]: each["within"] for each in quote["quantiles"]}
        assert within[0.95] <= 30
    # How large a whole is, nobody can promise.
    assert [quote["ppi"] for quote in quotes if quote["margin"] is None] == ["rejected"]


@pytest.mark.usefixtures("workspace")
def test_a_preview_is_drawn_as_a_page_and_as_charts(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "preview", CATALOGUE, "--svg", tmp_path / "svg", "--html", tmp_path / "p" / "p.html"
    )
    assert code == 0
    assert "such queries fit into the budget of block" in out
    assert "never runs out" in out
    page = (tmp_path / "p" / "p.html").read_text(encoding="utf-8")
    # Of each PPI its error and its tree, and the budget of the log.
    assert page.count("<figure") == 2 * 3 + 1 == len(list((tmp_path / "svg").glob("*.svg")))


LOOSE = """\
log: claims
ppis:
  - id: damage
    measure: {mean: {data: damage}}
    bounds: [0, 1000000, loose]
"""


@pytest.mark.usefixtures("workspace")
def test_an_accuracy_that_no_law_promises_is_refused_and_its_reason_shown(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "loose.yaml"
    path.write_text(LOOSE, encoding="utf-8")
    code, out, _ = run("preview", path)
    assert code == 0
    assert "damage: no margin is known" in out
    code, _, errors = run("preview", path, "--accuracy", "500")
    assert code != 0
    assert "no accuracy can be promised for PPI 'damage'" in errors


@pytest.mark.usefixtures("workspace")
def test_a_confidence_can_be_named_and_its_margin_is_shown(run: Run) -> None:
    code, out, _ = run("preview", CATALOGUE, "--ppi", "sojourn", "--accuracy", "±12 h, 90 %")
    assert code == 0
    assert "± 0.500 d" in out


LONGEST = """\
log: claims
ppis:
  - id: longest
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 60 days]
    target: at most 45 days
"""


@pytest.fixture
def longest(tmp_path: Path) -> Path:
    path = tmp_path / "longest.yaml"
    path.write_text(LONGEST, encoding="utf-8")
    return path


@pytest.mark.usefixtures("workspace")
def test_every_way_to_release_a_ppi_is_shown_on_request(run: Run, longest: Path) -> None:
    _, short, _ = run("preview", longest)
    code, out, _ = run("preview", longest, "--options")
    assert code == 0
    assert "sample-and-aggregate" not in short
    rows = [line for line in out.splitlines() if line.startswith("│ value")]
    assert {row.split("│")[2].strip() for row in rows} == {
        *("interval", "laplace", "threshold", "sample-and-aggregate")
    }
    assert sum("chosen" in row for row in rows) == 1
    assert sum("on request" in row for row in rows) == 2
    _, as_json, _ = run("preview", longest, "--json")
    (quote,) = json.loads(as_json)["quotes"]
    assert len(quote["options"]) == len(rows)


@pytest.mark.usefixtures("workspace")
def test_where_no_verdict_can_be_had_the_preview_says_what_to_ask(run: Run, longest: Path) -> None:
    for epsilon, shown in (("0.1", True), ("4", False)):
        _, out, _ = run("preview", longest, "--epsilon", epsilon)
        assert ("a single case decides" in " ".join(out.split())) is shown
        _, as_json, _ = run("preview", longest, "--epsilon", epsilon, "--json")
        (quote,) = json.loads(as_json)["quotes"]
        assert quote["tells_nothing"]
        assert ("a single case decides" in quote["advice"]) is shown


@pytest.mark.usefixtures("workspace")
def test_a_verdict_alone_is_released_and_shown(run: Run, longest: Path) -> None:
    text = LONGEST.replace("max", "mean") + "    release: {answer: verdict}\n"
    longest.write_text(text, encoding="utf-8")
    code, out, errors = run("release", longest)
    assert code == 0, errors
    assert "threshold" in out
    _, as_json, _ = run("release", longest, "--json")
    answers = answers_in(as_json)
    assert all(a["value"] is None and a["verdict"] and a["probability_met"] <= 1 for a in answers)
    _, as_csv, _ = run("release", longest, "--csv")
    assert as_csv.splitlines()[0].split(",")[10:13] == ["verdict", "probability_met", "ceiling"]


def test_a_person_as_unit_is_said_in_the_guarantee(
    run: Run, workspace: Path, tmp_path: Path, longest: Path
) -> None:
    bound = ("--unit", "channel", "--max-cases", "2", "--per", "log", "--name", "people")
    code, out, errors = run("log", "import", tmp_path / "claims.csv", *bound)
    assert code == 0, errors
    assert "channel, at most 2 cases per log" in " ".join(out.split())
    longest.write_text(LONGEST.replace("log: claims", "log: people"), encoding="utf-8")
    code, out, errors = run("release", "--anyway", longest, "--html", workspace / "r.html")
    assert code == 0, errors
    assert "protects each 'channel', of whom at most 2 cases count" in " ".join(out.split())
    assert "the cases of one &#x27;channel&#x27;" in (workspace / "r.html").read_text("utf-8")
    _, as_json, _ = run("release", longest, "--json")
    person = {"column": "channel", "max_cases": 2, "per": "log"}
    assert all(answer["guarantee"]["unit"] == person for answer in answers_in(as_json))


def test_definitions_are_shown_as_sentence_tree_and_admissible_sets(run: Run) -> None:
    code, out, _ = run("ppi", "show", CATALOGUE)
    assert code == 0
    assert "admissible" in out


def test_a_picture_that_cannot_be_written_is_one_clear_error(run: Run, tmp_path: Path) -> None:
    code, _, errors = run("ppi", "show", CATALOGUE, "sojourn", "--svg", tmp_path / "no" / "x.svg")
    assert code == UsageError.exit_code
    assert "No such file or directory" in errors


@pytest.mark.usefixtures("workspace")
def test_a_catalogue_is_checked_against_its_log(run: Run) -> None:
    code, out, _ = run("ppi", "check", CATALOGUE)
    assert code == 0
    assert "no problems, against log 'claims'" in out


def test_more_than_the_budget_is_refused_naming_asked_left_and_missing(
    workspace: Path, run: Run
) -> None:
    before = fingerprint(workspace)
    code, _, errors = run("release", "--anyway", CATALOGUE, "--epsilon", "0.5")
    assert code == 8
    assert "requested up to ε 1.5" in errors
    assert "left" in errors
    assert "missing 0.5" in errors
    assert fingerprint(workspace) == before


@pytest.mark.usefixtures("workspace")
def test_the_owner_can_grant_more(run: Run) -> None:
    assert run("budget", "grant", "claims", "2")[0] == 0
    assert run("release", "--anyway", CATALOGUE, "--epsilon", "0.5")[0] == 0


def test_a_flipped_byte_in_the_ledger_is_found_and_nothing_is_served(
    workspace: Path, run: Run
) -> None:
    run("release", "--anyway", CATALOGUE)
    ledger = workspace / "ledger.sqlite"
    content = bytearray(ledger.read_bytes())
    place = content.find(b'"epsilon":')
    content[place + 11] ^= 1
    ledger.write_bytes(content)
    for command in (("budget",), ("release", CATALOGUE), ("preview", CATALOGUE)):
        code, out, errors = run(*command)
        assert code == 4
        assert "ledger" in errors
        assert not out


ONE_PPI = "log: claims\nppis:\n  - id: a\n    measure: {{sum: {{count: {}}}}}\n    bounds: [0, 1]\n"
BAD_CATALOGUES = {
    "malformed YAML": ("log: claims\nppis: [\n", "bad.yaml:3:1"),
    "unknown activity": (ONE_PPI.format('activity == "Reciev claim"'), "bad.yaml:4:40"),
    "bad expression": (ONE_PPI.format("damage > > 5"), "bad.yaml:4:37"),
}


@pytest.mark.parametrize("kind", BAD_CATALOGUES)
def test_a_bad_catalogue_is_one_clear_message_with_a_position(
    kind: str, workspace: Path, run: Run, tmp_path: Path
) -> None:
    text, place = BAD_CATALOGUES[kind]
    bad = tmp_path / "bad.yaml"
    bad.write_text(text, encoding="utf-8")
    before = fingerprint(workspace)
    code, out, errors = run("release", bad)
    assert code == 6
    assert place in errors
    assert not out
    assert "Traceback" not in errors
    assert fingerprint(workspace) == before


def truncated_xes(folder: Path) -> Path:
    path = folder / "cut.xes"
    write_xes(simulate_hospital(cases=100), path)
    path.write_bytes(path.read_bytes()[:200_000])
    return path


def csv_without_times(folder: Path) -> Path:
    path = folder / "no-times.csv"
    path.write_text("case,activity,amount\n1,A,5\n1,B,6\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("make", [truncated_xes, csv_without_times])
def test_a_bad_log_is_one_clear_message_and_changes_nothing(
    make: Callable[[Path], Path], workspace: Path, run: Run, tmp_path: Path
) -> None:
    bad = make(tmp_path)
    before = fingerprint(workspace)
    code, out, errors = run("log", "import", bad)
    assert code == 5
    assert bad.name in errors
    assert not out
    assert "Traceback" not in errors
    assert fingerprint(workspace) == before


def test_a_workspace_that_cannot_be_made_is_explained(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, errors = run("init", tmp_path / "file" / "w")
    assert code == 3
    assert "cannot be created" in errors


def test_a_horizon_no_log_has_is_refused(run: Run, workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "more.csv"
    write_csv(simulate_claims(cases=5), log)
    before = fingerprint(workspace)
    code, _, errors = run("log", "import", log, "--until", "9999-12-31")
    assert code == 2
    assert "between 1800-01-01 and 2200-01-01" in errors
    assert fingerprint(workspace) == before


def test_outside_a_workspace_the_next_step_is_said(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = run("release", "--anyway", CATALOGUE)
    assert code == 3
    assert "pappi init" in errors


@pytest.mark.usefixtures("workspace")
def test_a_library_failure_says_nothing_about_the_data(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("patient 4711")

    monkeypatch.setattr("pappi.engine.cases.opened", fail)
    code, out, errors = run("release", "--anyway", CATALOGUE)
    assert code == 10
    assert "could not be completed; it stays charged" in errors
    assert "4711" not in out + errors


@pytest.mark.usefixtures("workspace")
def test_an_audit_shows_the_worst_loss_of_every_ppi_and_spends_nothing(run: Run) -> None:
    few = ("--pairs", "1000", "--samples", "2000", "--jobs", "1")
    code, out, _ = run("audit", CATALOGUE, "--json", "--epsilon", "0.1", *few)
    assert code == 0
    audits = json.loads(out)["audits"]
    assert [audit["ppi"] for audit in audits] == ["sojourn", "rejected", "damage"]
    assert all(audit["passed"] and audit["worst_loss"] == "1/10" for audit in audits)
    _, spent, _ = run("budget", "--json")
    assert {account["spent"] for account in json.loads(spent)["accounts"]} == {"0"}


@pytest.mark.usefixtures("workspace")
def test_the_ledger_is_verified_on_demand(run: Run) -> None:
    code, out, _ = run("audit", "ledger")
    assert code == 0
    assert "verifies" in out


@pytest.mark.usefixtures("workspace")
def test_what_could_not_be_released_is_warned_of_all_at_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "log: claims\nppis:\n"
        "  - id: nobounds\n    measure: {mean: {time: {from: case start, to: case end}}}\n"
        "  - id: foregone\n    measure: {share: {condition: damage > 5}}\n"
        "    target: below 150 %\n",
        encoding="utf-8",
    )
    code, out, errors = run("ppi", "check", path)
    assert code == 0
    assert "2 to look at" in out
    assert "two.yaml:3:9: warning" in errors
    assert "two.yaml:5:9: warning" in errors


@pytest.mark.usefixtures("workspace")
def test_what_a_command_releases_goes_on_record_on_the_time_grid(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service may run beside it, where analysts watch for it."""
    held: list[str] = []

    @contextmanager
    def pace() -> Iterator[None]:
        yield
        held.append("until the next step")

    monkeypatch.setattr("pappi.checkpoint.on_grid", lambda: pace)
    assert run("release", "--anyway", CATALOGUE)[0] == 0
    assert len(held) == 1


CHOICES = """
log: claims
ppis:
  - id: r
    measure:
      derive: 100 * a / b
      a: {{sum: {{count: activity == "Request documents"}}}}
      b: {{{b}: {{count: activity == "Receive claim"}}}}
    bounds: {{a: [0, 3], b: [0, 2]}}
    scope: between 2024-01-01 and 2024-01-31
    release: {release}
"""
REFUSED_CODE, PRICE = 7, "0.1"


@pytest.mark.parametrize(
    ("b", "release", "code"),
    [
        ("sum", "{mechanism: interval}", REFUSED_CODE),
        ("sum", "{noise: [a, b], mechanism: interval}", REFUSED_CODE),
        ("sum", "{noise: [value], mechanism: laplace}", REFUSED_CODE),
        ("mean", "{noise: {a: laplace, b: laplace}}", REFUSED_CODE),
        ("sum", "{noise: {r.a: {mechanism: laplace, share: 0.3}, r.b: {share: 0.7}}}", 0),
        ("max", "{noise: {a: {share: 0.3}, b: {mechanism: interval}}}", 0),
        ("mean", "{noise: {a: {}, b: {mechanism: sample-and-aggregate}}, buckets: 3}", 0),
        ("max", "{mechanism: interval}", 0),
    ],
)
def test_every_command_answers_a_choice_or_refuses_it(
    workspace: Path, run: Run, b: str, release: str, code: int
) -> None:
    file = workspace / "choices.yaml"
    file.write_text(CHOICES.format(b=b, release=release), encoding="utf-8")
    for command in (("preview",), ("release", "--anyway")):
        assert run(*command, file, "--epsilon", PRICE)[0] == code
    if code == REFUSED_CODE or "share: 0.3" in release:
        few = ("--pairs", "1000", "--samples", "2000", "--jobs", "1")
        assert run("audit", file, *few)[0] == code
    found, output, errors = run("ppi", "check", file)
    assert found == 0
    assert ("cannot be released" in output + errors) is (code == REFUSED_CODE)


def test_an_imported_log_is_sealed_only_until_a_day_that_is_named(
    run: Run, workspace: Path
) -> None:
    """Without one it would be this month: years of empty time, for good."""
    before = pappi.open(workspace).log("claims").public.until
    code, _, told = run("log", "seal", "claims")
    assert code == 2
    assert "was imported, and nothing has been captured since" in told
    assert "name the day" in told
    assert pappi.open(workspace).log("claims").public.until == before
    day = date(2026, 3, 1)
    assert run("log", "seal", "claims", "--until", day)[0] == 0
    assert pappi.open(workspace).log("claims").public.until == day
