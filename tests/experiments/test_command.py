"""`python -m experiments`: one command, every figure, in a minute if it has to be."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from experiments import reproduction, sepsis
from experiments.__main__ import run as experiments
from experiments.catalogue import EXPERIMENTS
from experiments.guarantees import Guarantee
from experiments.running import REPORT
from experiments.shared_data import VARIABLE
from pappi.errors import UsageError
from tests.lengths import LONG

REPOSITORY = Path(__file__).parents[2]
BELOW = (
    "pappi.session.workspace",
    "pappi.checkpoint",
    "pappi.custody",
    "pappi.report",
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(experiments, [*arguments], catch_exceptions=False)


@pytest.fixture(scope="module", autouse=True)
def _audited(found: list[Guarantee]) -> Iterator[None]:
    """What the audit finds is tested by itself."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("experiments.sections.guarantees", lambda **_: found)
        if not LONG:  # here it is about the command; what the figures are is tested by itself
            patched.setattr(sepsis, "FAST_RUNS", 4)
            patched.setattr(sepsis, "FAST_SMOOTHED", 2)
            patched.setattr(reproduction, "FAST_RUNS", 400)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, _audited: None) -> Path:
    """All experiments, fast; those without their data are skipped, and say so."""
    out = tmp_path_factory.mktemp("experiments")
    done = run("--fast", "--out", str(out))
    assert done.exit_code == 0
    for name in EXPERIMENTS:
        assert f"{name}: done" in done.output or f"{name}: skipped: needs" in done.output
    return out


def test_the_report_is_one_page_that_asks_for_nothing(folder: Path) -> None:
    text = (folder / REPORT).read_text(encoding="utf-8")
    ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own
    assert "<script" not in text
    assert set(re.findall(r'https?://[^"\s]+', text)) <= {"http://www.w3.org/2000/svg"}


def test_the_audits_verdict_stands_beside_every_mechanism(folder: Path) -> None:
    for path in folder.glob("controlled_*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                expected = "holds" if row["by"] == "ours" else "FAILS"
                assert row["guarantee"].startswith(expected), row


def test_every_figure_stands_alone(folder: Path) -> None:
    drawings = list(folder.glob("*.svg"))
    assert len(drawings) >= 5
    for path in drawings:
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own


def test_the_same_command_writes_the_same_files(folder: Path, tmp_path: Path) -> None:
    run("controlled", "--fast", "--out", str(tmp_path))
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_without_shared_data_what_needs_it_is_skipped_and_the_rest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    found = run("reproduction", "sepsis", "pripel", "--fast", "--out", str(tmp_path / "out"))
    assert found.exit_code == 0
    for name in ("reproduction", "sepsis", "pripel"):
        assert f"{name}: skipped: needs " in found.output
    assert VARIABLE in found.output
    assert "Skipped: needs" in (tmp_path / "out" / REPORT).read_text(encoding="utf-8")


def test_an_unknown_experiment_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        run("sepsi", "--out", str(tmp_path / "out"))
    assert "sepsis" in refused.value.hint
    assert not (tmp_path / "out").exists()


def test_what_releases_cannot_reach_the_experiments() -> None:
    code = f"import sys, {', '.join(BELOW)}; print([m for m in sys.modules if 'experiments' in m])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_the_page_on_the_paper_names_every_experiment() -> None:
    text = (REPOSITORY / "docs" / "paper.md").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f"`{name}`" in text
