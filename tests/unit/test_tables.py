"""Terminal tables: readable at 80 columns, and safe to print."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Literal

import pytest
from rich.console import Console, RenderableType

from pappi.report.tables import answers_table, budget_table
from pappi.values.answers import Series
from tests.unit.report_samples import BELOW_24, BUDGET, EXTREMES, a_series, an_answer, monthly


def printed(renderable: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    Console(file=out, width=width, force_terminal=colour, color_system=system).print(renderable)
    return out.getvalue()


ordinary = a_series(monthly([10.0, 25.0, 40.0], 3.0, BELOW_24), target=BELOW_24)


def test_every_answer_has_its_row() -> None:
    lines = printed(answers_table(ordinary)).splitlines()
    for label, value, interval, verdict in (
        ("2024-01", "10.0 h", "7.0 to 13.0 h", "● met"),
        ("2024-02", "25.0 h", "22.0 to 28.0 h", "○ undecided"),
        ("2024-03", "40.0 h", "37.0 to 43.0 h", "▼ missed"),
    ):
        row = next(line for line in lines if label in line)
        assert all(part in row for part in (value, interval, verdict, "74", "0.1"))


def test_the_caption_names_target_and_guarantee() -> None:
    text = printed(answers_table(ordinary))
    assert "target below 24 h" in text
    assert "ε = 0.1 per figure" in text


@pytest.mark.parametrize("series", EXTREMES.values(), ids=EXTREMES.keys())
def test_tables_fit_into_eighty_columns(series: Series) -> None:
    text = printed(answers_table(series))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "nan" not in text.split()
    assert "inf" not in text.split()


def test_without_a_terminal_there_is_no_control_sequence_at_all() -> None:
    for renderable in (*map(answers_table, EXTREMES.values()), budget_table(BUDGET)):
        assert "\x1b" not in printed(renderable)


def test_hostile_names_cannot_reach_the_terminal() -> None:
    text = printed(answers_table(EXTREMES["hostile"]), colour=True, width=200)
    assert "�[31m" in text
    assert "\u202e" not in text


def test_names_are_not_taken_for_markup() -> None:
    text = printed(answers_table(a_series([], name="[red]a[/red] [b")))
    assert "[red]a[/red] [b" in text


def test_many_periods_are_set_without_frame() -> None:
    assert "╭" in printed(answers_table(ordinary))
    long = printed(answers_table(EXTREMES["104 weeks"]))
    assert "╭" not in long
    assert len(long.splitlines()) <= 104 + 10


def test_replayed_answers_are_marked_as_free() -> None:
    text = printed(answers_table(a_series([an_answer(1.0, 0.0, 2.0, replayed=True)])))
    assert "0.1 ↺" in text
    assert "nothing charged" in text


def test_groups_have_their_column() -> None:
    text = printed(answers_table(a_series(monthly([1.0], 0.5, group="web"))))
    assert "Group" in text
    assert "web" in text


def test_the_budget_shows_what_is_left() -> None:
    row = next(line for line in printed(budget_table(BUDGET)).splitlines() if "2024-01" in line)
    assert row.replace("│", " ").split()[-3:] == ["0.6", "0.4", "1"]
    assert "█" * 12 + "░" * 8 in row


def test_rich_is_not_imported_until_a_table_is_wanted() -> None:
    program = "import sys, pappi.report.tables, pappi.report.html; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
