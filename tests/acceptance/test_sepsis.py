"""The paper's case study: the published true values, and a release of all six PPIs."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import answers_in
from tests.shared_data import shared_data

CATALOGUE = str(Path(__file__).parents[2] / "experiments" / "sepsis.yaml")
ORDER = ("waiting", "stay", "longest-stay", "returning", "antibiotics", "lactic-acid")
# Published at half their true value: the authors' code counted each case's start twice.
HALVED = ("antibiotics", "lactic-acid")


def pappi(workspace: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pappi", "-w", str(workspace), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = shared_data("sepsis.csv.gz")
    workspace = tmp_path_factory.mktemp("sepsis") / "hospital"
    subprocess.run([sys.executable, "-m", "pappi", "init", str(workspace)], check=True)
    pappi(workspace, "log", "import", str(log), "--timezone", "Europe/Amsterdam")
    return workspace


def test_exact_values_are_the_published_ones(hospital: Path) -> None:
    answers = json.loads(pappi(hospital, "exact", CATALOGUE, "--json"))
    found = {(a["ppi"], a["period"]["start"][:7]): a["value"] for a in answers["answers"]}
    with shared_data("sepsis_published_true_values.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == len(found) == 120
    for row in published:
        ppi = ORDER[int(row["ppi"]) - 1]
        truth = float(row["published_true_value"]) * (2 if ppi in HALVED else 1)
        assert found[ppi, row["month"]] == pytest.approx(truth, abs=1e-9, rel=0)


def test_releasing_all_six_is_byte_equal_the_second_time(hospital: Path) -> None:
    # Also the longest stay, which will tell nothing: the paper asks for it.
    asked = ("release", CATALOGUE, "--epsilon", "0.1", "--anyway", "--json")
    first, second = (answers_in(pappi(hospital, *asked)) for _ in range(2))
    assert len(first) == 120
    assert not any(answer["replayed"] for answer in first)
    assert all(answer["replayed"] and answer["charged"] == "0" for answer in second)
    for answers in (first, second):
        for answer in answers:
            del answer["charged"], answer["replayed"]
    assert json.dumps(first) == json.dumps(second)
    blocks = json.loads(pappi(hospital, "budget", "--json"))["accounts"]
    assert [block["spent"] for block in blocks] == ["0.6"] * 20
