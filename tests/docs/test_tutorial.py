"""What the tutorials tell a newcomer to type works as it stands, and leads where they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from pappi.cli.program import pappi as program
from tests.docs.pages import DOCS, ROOT, commands, files

FOLDER = DOCS / "tutorial"
FIRST = (FOLDER / "first-chart.md").read_text(encoding="utf-8")
MOST_COMMANDS = 8


def run(page: str, folder: Path) -> str:
    """Types everything but the installation, with the page's files at hand; gives the output.

    A file is saved where the reader is by then: both there and where they began.
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("PAPPI_WORKSPACE", None)
    saved = folder / "saved"
    saved.mkdir()
    for name, text in files(page).items():
        (saved / name).write_text(text, encoding="utf-8")
    typed = [line for line in commands(page) if not line.startswith("pip ")]
    script = "\n".join(f"cp {saved}/* .; {line}" for line in typed)
    home = folder / "home"
    home.mkdir()
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", script],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def run_here(page: str, folder: Path, patches: pytest.MonkeyPatch) -> str:
    """The same in this process: that commands start is seen with the first chart."""
    patches.chdir(folder)
    patches.delenv("PAPPI_WORKSPACE", raising=False)
    printed = []
    for name, text in files(page).items():
        Path(name).write_text(text, encoding="utf-8")
    for line in commands(page):
        command, *words = shlex.split(line)
        if command == "export":
            patches.setenv(*words[0].split("=", 1))
        elif command == "python":
            subprocess.run([sys.executable, *words], check=True)
        else:
            assert command == "pappi", line
            done = CliRunner().invoke(program, words)
            assert done.exit_code == 0, done.output[-2000:]
            printed.append(done.output)
    return "".join(printed)


def test_a_newcomer_needs_at_most_eight_commands() -> None:
    assert 5 <= len(commands(FIRST)) <= MOST_COMMANDS
    assert "in seven commands" in FIRST
    assert len(commands(FIRST)) == 7


def test_the_installation_is_one_line_that_names_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install, *_ = commands(FIRST)
    assert shlex.split(install) == ["pip", "install", project["name"]]


def test_the_first_chart_is_drawn_and_shows_the_ppi(tmp_path: Path) -> None:
    printed = run(FIRST, tmp_path)
    report = (tmp_path / "home" / "shop" / "report.html").read_text(encoding="utf-8")
    charts = re.findall(r"<svg.*?</svg>", report, flags=re.DOTALL)
    drawn = [chart for chart in charts if "Mean time from order to delivery" in chart]
    assert len(drawn) == 1
    assert "2025-01" in drawn[0]
    assert printed.count("2025-0") >= 6


def test_the_sample_shown_is_what_the_script_writes(tmp_path: Path) -> None:
    script = files(FIRST)["make_orders.py"]
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    written = (tmp_path / "orders.csv").read_text(encoding="utf-8").splitlines()
    assert "\n".join(written[:4]) in FIRST


@pytest.mark.advised
def test_the_claims_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run_here((FOLDER / "claims.md").read_text(encoding="utf-8"), tmp_path, monkeypatch)
    assert "were released before and cost nothing new" in printed
    assert "The ledger verifies" in printed
    assert "holds" in printed
    tallies = re.findall(r"Of (\d+) verdicts (\d+) are firm", printed)
    assert [int(total) for total, _ in tallies] == [7 * 24, 8 * 24]
    assert all(int(firm) > 0.75 * int(total) for total, firm in tallies)
    assert "Advice: ask for every year, and for the share of cases below 35 days" in " ".join(
        printed.split()
    )
    pages = sorted(page.name for page in (tmp_path / "demo").glob("*.html"))
    assert pages == ["claims.html", "sepsis.html"]
    assert {"slow.svg", "damage.svg", "documents.svg"} == {
        path.name for path in (tmp_path / "charts").iterdir()
    }
    assert "Mean damage by channel" in (tmp_path / "questions.html").read_text(encoding="utf-8")


@pytest.mark.advised
def test_ones_own_xes_log_is_answered_for_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = run_here((FOLDER / "own-xes.md").read_text(encoding="utf-8"), tmp_path, monkeypatch)
    assert "case:patient, at most 3 cases" in printed
    assert re.search(r"Erased [1-9]\d* cases", printed)
    assert (tmp_path / "waiting.html").exists()


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_a_file_is_shown_before_it_is_used(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in files(text):
        shown = text.index(f'title="{name}"')
        used = re.search(rf"^\$ .*\b{re.escape(name)}", text, re.MULTILINE)
        assert used is not None
        assert used.start() > shown
