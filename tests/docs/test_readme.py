"""What the README tells a newcomer to type works as it stands, with nothing but what it names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pappi
from tests.docs.pages import ROOT, commands
from tools.picture import PICTURE, draw, five_lines

README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEST = 60_000
TITLE = "Antibiotics within one hour"


def test_the_five_lines_draw_the_chart(tmp_path: Path) -> None:
    statements = [line for line in five_lines().splitlines() if line and "import " not in line]
    assert len(statements) == 5
    assert TITLE in draw(tmp_path).read_text(encoding="utf-8")


def test_the_ppi_said_in_python_can_be_read() -> None:
    (said,) = re.findall(r"^pappi\.share\(.*$", README, flags=re.MULTILINE)
    shown = f"import pappi; print(({said}).about('sepsis').yaml)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    (ppi,) = pappi.read_definitions(done.stdout).ppis
    assert ppi.target is not None


def test_the_first_lines_say_what_it_is_for_without_a_word_of_the_trade() -> None:
    first = README.split("\n\n")[1]
    assert len(first.split()) < 70
    for word in ("ε", "differential", " PPI", "indicator", "event log"):
        assert word not in first


def test_the_picture_is_such_a_chart_and_not_heavy() -> None:
    assert f"]({PICTURE.relative_to(ROOT)})" in README
    assert TITLE in PICTURE.read_text(encoding="utf-8")
    assert PICTURE.stat().st_size < MODEST


def test_a_newcomer_installs_it_and_runs_the_demo() -> None:
    assert commands(README) == ["pip install pappi", "pappi demo"]


# What it writes by any other name is looked at in the tutorial on claims.
@pytest.mark.long
def test_the_demo_runs_in_an_empty_folder(tmp_path: Path) -> None:
    _, demo = commands(README)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("PAPPI_WORKSPACE", None)
    done = subprocess.run(
        demo.split(), cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "The ledger verifies" in done.stdout
    assert sorted(page.name for page in (tmp_path / "pappi-demo").glob("*.html")) == [
        "claims.html",
        "sepsis.html",
    ]


def test_the_commands_for_developers_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)
    assert named == ["demo", "test"]
    assert all(re.search(rf"^{name}:", makefile, flags=re.MULTILINE) for name in named)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
