"""One case far away in time makes no release work longer: what is walked is what was declared.

A time that only the data names must decide the length of no loop. Two logs of as many cases are
released, each with one case outside of the declared horizon: just outside, or of 1801 or 2190.
Every call of a function of ours is counted, but for mechanisms, whose work depends on noise and on
how many values there are.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from types import CodeType, FrameType
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import pappi
from pappi.checkpoint.draw import draw_cells
from pappi.checkpoint.queries import planned, releases_of
from pappi.custody import NewLog
from pappi.ppinot import parse_catalogue
from pappi.values import (
    CASE,
    Calendar,
    Epsilon,
    Grid,
    Horizon,
    PrivacyUnit,
    Terms,
    day_of,
    working_days_of,
)
from tests.lengths import thinned
from tests.small_logs import Row, workspace_with

HOURS_A_YEAR = 8766.0
BEFORE, OF_1801 = -500.0, -223 * HOURS_A_YEAR
AFTER, OF_2190 = 3_000.0, 166 * HOURS_A_YEAR
"""When the one case begins that is outside of the horizon: just there, or far away."""

OURS = str(Path(pappi.__file__).parent)
NOISY = str(Path(OURS) / "mechanisms")
CATALOGUE = """
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    scope: {every: week}
  - id: worked
    measure:
      mean:
        time:
          from: case start
          to: case end
          calendar: Mon-Fri 09:00-17:00
        unit: hours
    bounds: [0 hours, 80 hours]
  - id: latest
    measure: {share: {condition: activity == "Go"}}
    scope: {last cases: 5}
  - id: recent
    measure: {number: cases}
    scope: {recent: 3 months}
"""
UNITS = {"case": CASE, "person": PrivacyUnit("who", 2)}


def rows(far: float) -> list[Row]:
    begins = [*(24.0 * number for number in range(20)), far]
    return [
        row
        for number, begin in enumerate(begins)
        for row in (
            (f"c{number}", "Come", begin, {"who": f"p{number % 7}"}),
            (f"c{number}", "Go", begin + 30.0, {"who": f"p{number % 7}"}),
        )
    ]


def calls(folder: Path, far: float, unit: PrivacyUnit) -> Mapping[str, int]:
    """How often each function of ours is called while cases are read and results are drawn."""
    new = NewLog(
        first=date(2024, 1, 1),
        until=date(2024, 4, 1),
        terms=Terms(blocks=Grid(Calendar.DAY), unit=unit),
    )
    workspace = workspace_with(folder, rows(far), new)
    log = workspace.log("small")
    plans = [planned(ppi, Epsilon.of(1), log.public) for ppi in parse_catalogue(CATALOGUE).ppis]
    questions = [question for plan in plans for question in releases_of(plan, log, "ann")]
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        file = code.co_filename
        if event == "call" and file.startswith(OURS) and not file.startswith(NOISY):
            counted[f"{file}:{code.co_qualname}"] += 1

    events, key = workspace.root / "events", bytes(32)
    draw_cells(events, questions, log, key)  # what is remembered is remembered from now on
    working_days_of.cache_clear()
    gc.collect()
    gc.disable()  # what other tests have left behind must not be closed, and counted, meanwhile
    sys.setprofile(count)
    try:
        draw_cells(events, questions, log, key)
    finally:
        sys.setprofile(None)
        gc.enable()
    workspace.close()
    return counted


@pytest.mark.parametrize(
    ("unit", "near", "far"),
    thinned(
        [
            ("case", BEFORE, OF_1801),
            ("person", BEFORE, OF_1801),
            ("person", AFTER, OF_2190),
        ],
        [0, 2],
    ),
)
def test_a_case_of_another_century_makes_no_release_work_longer(
    tmp_path: Path, unit: str, near: float, far: float
) -> None:
    usual = calls(tmp_path / "near", near, UNITS[unit])
    assert sum(usual.values()) > 1_000
    assert calls(tmp_path / "far", far, UNITS[unit]) == usual


def test_blocks_walked_by_the_data_would_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_the_data(anchors: np.ndarray, horizon: Horizon, zone: ZoneInfo) -> np.ndarray:
        first, last = (day_of(int(edge), zone) for edge in (anchors.min(), anchors.max()))
        blocks = horizon.blocks.periods(first, last + timedelta(days=1))
        starts = [block.borders_us(zone)[0] for block in blocks]
        return np.searchsorted(np.array(starts, dtype=np.float64), anchors, side="right")

    monkeypatch.setattr("pappi.engine.table._block_numbers", by_the_data)
    near = calls(tmp_path / "near", BEFORE, UNITS["person"])
    far = calls(tmp_path / "far", OF_1801, UNITS["person"])
    assert sum(far.values()) > 2 * sum(near.values())
