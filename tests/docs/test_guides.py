"""What the guides say in numbers is right, and what they show in Python runs."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pappi
from pappi.examples import write_csv
from pappi.examples.hospital import simulate_hospital
from pappi.planning import plan_ppi
from pappi.ppinot import parse_catalogue, reduced_form
from pappi.service import Settings
from pappi.service.running import room_for
from pappi.values import CaseBorder, Epsilon, Right, Role, Vocabulary
from tests.docs.pages import DOCS, blocks
from tests.public_logs import public_log

GUARANTEE = (DOCS / "explanation" / "guarantee.md").read_text(encoding="utf-8")
UNIT = (DOCS / "how-to" / "privacy-unit.md").read_text(encoding="utf-8")
NOTEBOOKS = (DOCS / "how-to" / "notebooks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([\d.]+) \| ([\d.]+) times \| (\d+) : (\d+) \|$", re.MULTILINE)

WAITING = """\
log: sepsis
ppis:
  - id: waiting
    measure:
      mean:
        time: {from: activity == "ER Registration", to: activity == "Admission NC"}
        unit: hours
    bounds: [0 hours, 72 hours]
    target: below 24 hours
"""


@pytest.mark.parametrize(("epsilon", "factor", "sure", "rest"), ROW.findall(GUARANTEE))
def test_what_an_epsilon_means_is_never_rounded_down(
    epsilon: str, factor: str, sure: str, rest: str
) -> None:
    exact = math.exp(float(epsilon))
    assert exact <= float(factor) < exact + 0.01
    assert 100 * exact / (1 + exact) <= int(sure) < 100 * exact / (1 + exact) + 1
    assert int(sure) + int(rest) == 100


def test_the_table_has_rows() -> None:
    assert len(ROW.findall(GUARANTEE)) == 4


@pytest.mark.parametrize(("factor", "epsilon"), re.findall(r"([\d.]+) times at ε = (\d)", UNIT))
def test_factors_in_the_guide_to_units_are_right(factor: str, epsilon: str) -> None:
    assert math.exp(float(epsilon)) <= float(factor) < math.exp(float(epsilon)) + 0.01


def test_the_questions_people_ask_say_what_an_epsilon_means() -> None:
    page = " ".join((DOCS / "faq.md").read_text(encoding="utf-8").split())
    told = re.search(r"At ε = ([\d.]+) no answer becomes more than ([\d.]+) times likelier", page)
    also = re.search(r"at ε = (\d) it is ([\d.]+) times", page)
    assert told is not None
    assert also is not None
    for epsilon, factor in (told.groups(), also.groups()):
        assert math.exp(float(epsilon)) <= float(factor) < math.exp(float(epsilon)) + 0.01


@pytest.mark.parametrize("right", Right)
def test_every_right_is_in_the_guide_to_keys(right: Right) -> None:
    guide = (DOCS / "how-to" / "keys.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| (?:{'|'.join(Role)}) \| `{right}` \|", guide, re.MULTILINE)


def test_sessions_last_as_long_as_the_guide_to_the_pages_says() -> None:
    guide = (DOCS / "how-to" / "pages.md").read_text(encoding="utf-8")
    assert Settings().session_hours == 8
    assert "eight hours" in guide
    assert Settings().session_idle_minutes == 30
    assert "half an hour" in guide


def test_the_page_on_the_service_says_what_connections_may_do() -> None:
    page, usual = (DOCS / "service.md").read_text(encoding="utf-8"), Settings()
    for said in (
        f"within {usual.head_seconds:g} s, its body within {usual.body_seconds:g} s",
        f"be read within {usual.reply_seconds:g} s",
        f"closed after {usual.idle_seconds} s",
        f"{usual.analyst_connections:,} connections",
        f"{usual.address_connections} from one address",
        f"With 1,024 analysts can have {room_for(1_024, usual.owner_connections)} connections",
    ):
        assert said in page


def test_every_file_of_a_workspace_is_in_the_guide_to_back_ups(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    workspace.close()
    guide = (DOCS / "how-to" / "backup.md").read_text(encoding="utf-8")
    lasting = [path.name for path in (tmp_path / "w").iterdir() if not path.name.startswith(".")]
    assert lasting
    for name in (*lasting, "events", "capture.sqlite", "ledger.url"):
        assert f"| `{name}` |" in guide


def test_the_notebook_runs(tmp_path: Path) -> None:
    write_csv(simulate_hospital(cases=100), tmp_path / "sepsis.csv.gz")
    workspace = pappi.create(tmp_path / "hospital")
    workspace.import_log(tmp_path / "sepsis.csv.gz", timezone="Europe/Amsterdam")
    workspace.close()
    (tmp_path / "waiting.yaml").write_text(WAITING, encoding="utf-8")
    shown = [block.text for block in blocks(NOTEBOOKS) if block.language == "python"]
    local = [text for text in shown if "pappi.client" not in text]
    assert len(local) >= 4
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(local)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "waiting.svg").exists()


CHOICES = (DOCS / "how-to" / "release-choices.md").read_text(encoding="utf-8")
CHOSEN = re.findall(r"^```yaml\n(.*?)^```", CHOICES, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", CHOSEN)
def test_the_choices_of_the_guide_are_released_as_they_are_written(text: str) -> None:
    (ppi,) = parse_catalogue(text).ppis
    plan = plan_ppi(
        reduced_form(ppi, CaseBorder.END), Epsilon.of("0.5"), public_log(Vocabulary(()))
    )
    wishes = [(f"ppi.{on.function}", on.mechanism or "") for on in ppi.release.noise]
    assert [(part.path, part.mechanism.name) for part in plan.measurements] == wishes
    assert sum(part.share for part in plan.measurements) == 1


def test_the_guide_shows_choices() -> None:
    assert len(CHOSEN) == 2
