"""The budget, drawn: every block, one block or a thousand, and in grey as well."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report import budget_gauge, budget_text, gauge_table, standalone
from pappi.report.gauge import WIDTH
from pappi.values import ZERO, BudgetLine, Epsilon
from tests.unit.report_samples import BUDGET, HOSTILE
from tests.unit.test_charts import parsed, texts

ONE = Epsilon.of(1)


def months(count: int, *, own: str | None = None) -> list[BudgetLine]:
    share = None if own is None else Epsilon.of(own)
    return [
        BudgetLine(
            f"{2010 + n // 12}-{n % 12 + 1:02}", ONE, Epsilon.of(f"0.{n % 9}"),
            Epsilon.of("0.1") if n % 4 == 0 else ZERO, share, ZERO,
        )
        for n in range(count)
    ]  # fmt: skip


def shapes(drawn: str, name: str) -> list[ET.Element]:
    return [node for node in parsed(drawn).iter() if node.get("class") == f"pp-{name}"]


SIZES = [0, 1, 14, 15, 60, 200, 220, 221, 1_000]


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("own", [None, "0.5"])
def test_any_number_of_blocks_fits_the_drawing(count: int, own: str | None) -> None:
    svg = standalone(budget_gauge(months(count, own=own)))
    root = parsed(svg)
    height = float(root.get("height", "0"))
    assert height < 520
    for node in root.iter():
        x, width = (
            float(node.get("x", "0")),
            float(node.get("width", "0") if "x" in node.attrib else "0"),
        )
        assert x >= -8
        assert x + width <= WIDTH + 1
        assert float(node.get("y", "0")) <= height
    assert not re.search(r"\b(nan|inf|None)\b", svg)


@pytest.mark.parametrize("count", [15, 60, 200, 1_000])
def test_names_of_blocks_never_touch(count: int) -> None:
    named = [
        (float(node.get("x", "0")), node.text or "")
        for node in parsed(standalone(budget_gauge(months(count)))).iter()
        if node.get("text-anchor") == "middle"
    ]
    assert len(named) > 3
    for (x, name), (after, _) in pairwise(named):
        assert after - x > 6 * len(name)


def test_few_blocks_have_their_numbers_beside_them() -> None:
    said = texts(standalone(budget_gauge(months(2))))
    assert "2010-01" in said
    assert "0 spent · 0.1 held · 0.9 left" in said
    assert "0.1 spent · 0.9 left" in said


def test_spent_held_and_left_are_told_apart_without_colour() -> None:
    svg = standalone(budget_gauge([BudgetLine("b", ONE, Epsilon.of("0.4"), Epsilon.of("0.2"))]))
    (held,) = (rect for rect in shapes(svg, "held") if rect.get("height") == "15")
    (spent,) = (rect for rect in shapes(svg, "spent") if rect.get("height") == "15")
    (unspent,) = (rect for rect in shapes(svg, "unspent") if rect.get("height") == "15")
    whole = float(unspent.get("width", "0"))
    assert float(spent.get("width", "0")) == pytest.approx(0.4 * whole, abs=0.1)
    assert float(held.get("width", "0")) == pytest.approx(0.2 * whole, abs=0.1)
    assert "url(#" in svg
    assert {"spent", "held for subscriptions", "left"} <= set(texts(svg))


def test_an_own_share_is_marked_where_it_ends() -> None:
    line = BudgetLine("b", ONE, Epsilon.of("0.2"), ZERO, Epsilon.of("0.5"), Epsilon.of("0.2"))
    svg = standalone(budget_gauge([line]))
    bar = next(rect for rect in shapes(svg, "unspent") if rect.get("height") == "15")
    tip = float(shapes(svg, "own")[0].get("points", "").split()[-1].split(",")[0])
    left, width = (float(bar.get(name, "0")) for name in ("x", "width"))
    assert tip == pytest.approx(left + 0.5 * width, abs=0.2)
    assert "limit of your share" in texts(svg)


def test_where_blocks_share_a_column_it_is_the_tightest_of_them() -> None:
    lines = months(440)
    lines[101] = BudgetLine("tight", ONE, ONE)
    svg = standalone(budget_gauge(lines))
    assert "each column is the tightest of 2 blocks" in texts(svg)
    assert "tight: ε 1 spent, 0 left of 1" in svg


def test_the_table_beneath_has_every_block_and_every_number() -> None:
    table = str(gauge_table(months(3, own="0.5")))
    assert table.count("<tr>") == 4
    assert "Your share" in table
    assert "Your share" not in str(gauge_table(months(3)))
    assert "tightest is 2010-03" in budget_text(months(3))


def test_names_of_blocks_are_only_names() -> None:
    for drawn in (budget_gauge(BUDGET), gauge_table(BUDGET)):
        assert "<script" not in str(drawn)
    assert HOSTILE.split("\x1b", maxsplit=1)[0].strip() not in str(budget_gauge(BUDGET))


def test_a_figure_for_a_page_has_no_style_of_its_own() -> None:
    for node in parsed(str(budget_gauge(months(5)))).iter():
        assert node.tag != "style"
        assert "style" not in node.attrib
    assert "<style>" in standalone(budget_gauge(months(5)))


amounts = st.integers(0, 3 * 10**9).map(Epsilon)
lines = st.builds(
    BudgetLine, st.text(max_size=40), amounts, amounts, amounts, st.none() | amounts, amounts
)


@given(st.lists(lines, max_size=20))
def test_no_amounts_can_break_a_gauge(found: list[BudgetLine]) -> None:
    svg = standalone(budget_gauge(found))
    for node in parsed(svg).iter():
        assert float(node.get("width", "0")) >= 0
        assert float(node.get("height", "0")) >= 0
    parsed(str(gauge_table(found)))
