"""The catalogues of the gallery and the recipes for exports work as they stand on the page."""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import pappi
from pappi.cli.program import pappi as program
from pappi.custody import NewLog
from pappi.examples import write_csv
from pappi.examples.claims import simulate_claims
from pappi.examples.hospital import simulate_hospital
from pappi.session import Workspace
from pappi.values import Terms
from tests.docs.pages import DOCS, blocks, commands, files

GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
EXPORTS = (DOCS / "how-to" / "exports.md").read_text(encoding="utf-8")
CATALOGUES = {name: text for name, text in files(GALLERY).items() if name.endswith(".yaml")}
CASES = 120

Row = tuple[str, str, datetime, dict[str, str]]


def incidents() -> Iterator[Row]:
    """Tickets of a quarter: some wait for the customer, some come back."""
    for number in range(CASES):
        at = datetime(2024, 1, 1, 8, tzinfo=UTC) + timedelta(hours=number * 18)
        told = {"priority": f"P{1 + number % 3}", "group": "network"}
        steps = ["New", "Assigned", "In Progress"]
        steps += ["On Hold", "In Progress"] if number % 4 == 0 else []
        steps += ["Resolved", "Reopened"] if number % 9 == 0 else []
        for step in (*steps, "Resolved", "Closed"):
            yield f"INC{number}", step, at, told
            at += timedelta(hours=2 + number % 7)


def orders() -> Iterator[Row]:
    """Orders of a quarter, most of them delivered when they should be."""
    for number in range(CASES):
        at = datetime(2024, 1, 1, 9, tzinfo=UTC) + timedelta(hours=number * 18)
        told = {
            "requested": f"{at + timedelta(days=12):%Y-%m-%d}",
            "value": str(100 + 37 * number),
            "region": "South" if number % 4 else "North",
        }
        steps = ["Create order", "Confirm order"]
        steps += ["Change price"] if number % 8 == 0 else []
        steps += ["Block credit"] if number % 10 == 0 else []
        for step in (*steps, "Post goods issue", "Create invoice", "Clear invoice"):
            yield f"O{number}", step, at, told
            at += timedelta(days=1 + number % 5)


def write(rows: Iterator[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for number, (case, activity, at, told) in enumerate(rows):
            if number == 0:
                writer.writerow(["case", "activity", "timestamp", *told])
            writer.writerow([case, activity, f"{at:%Y-%m-%d %H:%M:%S}", *told.values()])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("gallery")
    opened = pappi.create(folder / "workspace")
    write_csv(simulate_hospital(cases=CASES), folder / "sepsis.csv")
    write_csv(simulate_claims(cases=CASES), folder / "claims.csv")
    write(incidents(), folder / "incidents.csv")
    write(orders(), folder / "orders.csv")
    new = NewLog(terms=Terms(expected_cases=500))
    for log in ("sepsis", "claims", "incidents", "orders"):
        opened.import_log(folder / f"{log}.csv", new=new)
    yield opened
    opened.close()


def test_every_trade_has_its_catalogue() -> None:
    assert sorted(CATALOGUES) == [
        *("hospital.yaml", "insurer.yaml", "order-to-cash.yaml", "service-desk.yaml"),
    ]


@pytest.mark.outside
@pytest.mark.parametrize("name", CATALOGUES)
def test_a_catalogue_checks_previews_and_releases(workspace: Workspace, name: str) -> None:
    analyst = workspace.checkpoint("alice")
    checked = analyst.check(CATALOGUES[name])
    assert checked.warnings == ()
    assert 4 <= len(checked.ppis) <= 6
    quotes = analyst.preview(CATALOGUES[name], epsilon="0.1")
    assert [quote.ppi for quote in quotes] == list(checked.ppis)
    released = analyst.release(CATALOGUES[name], epsilon="0.1", anyway=True)
    assert all(series.answers for series in released)
    # Whoever copies one should find what it asks for in the log, not in the noise alone.
    values = workspace.exact(CATALOGUES[name])
    for ppi in checked.ppis:
        assert any(answer.ppi == ppi and answer.value is not None for answer in values)


@pytest.mark.outside
def test_the_same_in_python_is_the_same() -> None:
    (code,) = (block.text for block in blocks(GALLERY) if block.language == "python")
    shown = f"{code}\nfrom pappi.ppinot import write_yaml\nprint(write_yaml(desk))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    said = {ppi.id: ppi for ppi in pappi.read_definitions(done.stdout).ppis}
    written = {ppi.id: ppi for ppi in pappi.read_definitions(CATALOGUES["service-desk.yaml"]).ppis}
    for name in ("reopened", "effort"):
        assert said[name].measure == written[name].measure
        assert said[name].target == written[name].target


# --- exports ------------------------------------------------------------------------------------

RECIPES = ("celonis.csv", "sap.csv", "servicenow.csv", "camunda.csv", "jira.csv")


@pytest.mark.outside
def test_the_recipes_for_exports_import_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files(EXPORTS).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "jira.py"], check=True)
    pappi.create("workspace").close()
    typed = [shlex.split(line)[1:] for line in commands(EXPORTS)]
    assert [words[2] for words in typed[:-1]] == list(RECIPES)
    for words in typed:
        done = CliRunner().invoke(program, ["--workspace", "workspace", *words])
        assert done.exit_code == 0, (words, done.output)
    logs = {log.name: log.public for log in pappi.open("workspace").logs()}
    assert sorted(logs) == ["incidents", "invoices", "orders", "purchasing", "tickets"]
    assert all(f"{log.first:%Y-%m}" == "2024-03" for log in logs.values())
    assert set(logs["tickets"].vocabulary.activities) == {"Created", "In Progress", "Done"}
    assert set(logs["orders"].vocabulary.activities) >= {"Create order", "Change price"}
    assert "Resolved" in logs["incidents"].vocabulary.activities
