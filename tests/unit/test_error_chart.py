"""Expected errors and previews, drawn: what is known, under which assumption, and no more."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pappi.report import (
    composition_figure,
    composition_table,
    error_caption,
    error_figure,
    error_table,
    preview_html,
    standalone,
)
from pappi.report.error_chart import WIDTH
from pappi.report.wording import at_most_text, expected_text
from pappi.values import CONFIDENCES, ErrorQuantile, Quote, QuotedSet, ShownTarget
from tests.unit.report_samples import BUDGET, HOSTILE
from tests.unit.test_charts import parsed, texts
from tests.unit.test_forecast import asked
from tests.unit.test_tables import WAITING
from tests.unit.test_tree_chart import rejected_share

SURE = replace(
    WAITING,
    quantiles=tuple(map(ErrorQuantile, CONFIDENCES, (1.0, 2.0, 3.0, 4.0, 6.0))),
    clipping="as large as the clipped part of the values",
)
BELOW_5 = ShownTarget(None, 5.0, "below 5 hours")
BANDED = replace(BELOW_5, tolerated=ShownTarget(None, 8.0, "below 8 hours"))
BETWEEN = ShownTarget(3.0, 7.0, "between 3 and 7 hours")
UNKNOWN = replace(WAITING, quantiles=(), typical_error=None, margin_note="nobody can know")


def bars(quote: Quote) -> list[ET.Element]:
    root = parsed(standalone(error_figure(quote)))
    return [node for node in root.iter() if node.get("class") == "pp-error"]


def test_each_confidence_has_a_bar_wider_and_paler_than_the_last() -> None:
    drawn = bars(SURE)
    widths = [float(bar.get("width", "0")) for bar in drawn]
    opacities = [float(bar.get("fill-opacity", "0")) for bar in drawn]
    assert len(drawn) == 5
    assert widths == sorted(widths)
    assert opacities == sorted(opacities, reverse=True)
    assert widths[4] == pytest.approx(6 * widths[0], rel=0.01)
    assert {"95 %", "± 4.00 h", "without noise"} <= set(texts(standalone(error_figure(SURE))))


def test_the_caption_says_how_close_and_under_which_assumption() -> None:
    caption = error_caption(SURE)
    assert "keeps the value within ± 4.00 h with 95 % confidence" in caption
    assert "Assuming 100 cases in a period. " in caption
    declared = "about 300 cases in a quarter: 100 declared per month"
    told = error_caption(replace(SURE, cases_note=declared, interval_half_width=2.5))
    assert "± 2.50 h expected; at most ± 4.00 h with 95 % confidence." in told
    assert f"Assuming {declared}." in told
    fewer = replace(SURE, fewer="a tenth of the cases can mean ten times the error")
    assert "a period. A tenth of the cases can mean ten" in error_caption(fewer)
    assert "Clipping error is not included." in caption
    assert "Nothing is clipped" in error_caption(replace(SURE, clipping="none"))


def test_of_a_verdict_it_says_what_is_told_apart() -> None:
    verdict = replace(SURE, verdict_only=True, target=BELOW_5)
    assert "more than 4.00 h from its target is judged correctly" in error_caption(verdict)
    assert "at the target" in texts(standalone(error_figure(verdict)))


@pytest.mark.parametrize(
    ("target", "share", "what"),
    [
        (BELOW_5, "80 %", "the target, 5.00 h"),
        (BANDED, "133 %", "what is tolerated beyond the target, 3.00 h"),
        (BETWEEN, "200 %", "half of the target's range, 2.00 h"),
    ],
)
def test_an_error_is_held_against_the_room_the_target_leaves(
    target: ShownTarget, share: str, what: str
) -> None:
    quote = replace(SURE, target=target)
    assert f"That is {share} of {what}." in error_caption(quote)
    assert what in texts(standalone(error_figure(quote)))


def test_a_target_far_away_does_not_shrink_the_bars() -> None:
    far = replace(SURE, target=ShownTarget(None, 1e9, "far"))
    assert [bar.attrib for bar in bars(far)] == [bar.attrib for bar in bars(SURE)]


def test_what_nobody_knows_is_said_and_not_drawn() -> None:
    assert bars(UNKNOWN) == []
    assert "No margin is known: nobody can know." in error_caption(UNKNOWN)
    assert "nobody can know" in str(error_table(UNKNOWN))
    typical = replace(UNKNOWN, typical_error=3.2)
    assert "typically ± 3.20 h" in error_caption(typical)


def test_what_is_no_promise_says_what_it_rests_on_wherever_it_shows() -> None:
    supposed = replace(SURE, assumes="the values lie evenly", margin_note="nobody may know")
    caption = error_caption(supposed)
    assert supposed.margin is None
    assert "within ± 4.00 h with 95 % confidence, if the values lie evenly." in caption
    assert "No margin is promised: nobody may know." in caption
    assert (expected_text(supposed), at_most_text(supposed)) == (
        "± 4.00 h *",
        "–",
    )  # what it stands for is said below the table
    for shown in (error_table(supposed), standalone(error_figure(supposed))):
        assert "if the values lie evenly" in str(shown)


@example([5e-324], None, 5e-324, "hours")
@example([0.0], 0.0, 0.0, "")
@example([1e300], -1e308, 1e308, "EUR")
@given(
    st.lists(st.floats(0, 1e300), min_size=1, max_size=5),
    st.none() | st.floats(),
    st.none() | st.floats(),
    st.sampled_from(["hours", "percent", "EUR", "", HOSTILE]),
)
def test_no_numbers_can_break_it(
    widths: list[float], low: float | None, high: float | None, unit: str
) -> None:
    found = tuple(map(ErrorQuantile, CONFIDENCES, sorted(widths)))
    quote = replace(SURE, quantiles=found, unit=unit, target=ShownTarget(low, high, "t"))
    svg = standalone(error_figure(quote))
    for node in parsed(svg).iter():
        for name in ("x", "x1", "x2", "width"):
            assert -200 <= float(node.get(name, "0")) <= WIDTH + 200
    assert not re.search(r"\b(nan|inf)\b", svg)
    parsed(str(error_table(quote)))


# --- trees with errors, and the page --------------------------------------------------

SHARE = rejected_share()
QUOTED = replace(
    SURE,
    functions=("ppi.no", "ppi.all_of_them"),
    shares=(0.5, 0.5),
    options=(
        QuotedSet(("ppi.no", "ppi.all_of_them"), "laplace", 3.0, chosen=True, margin=4.0),
        QuotedSet(("ppi",), None, None, "it has no bounds"),
        QuotedSet(("ppi",), "sample-and-aggregate", 9.0, "on request", margin=20.0),
    ),
)


def test_each_admissible_set_has_its_error_and_the_chosen_one_is_marked() -> None:
    svg = standalone(composition_figure(SHARE, QUOTED))
    said = texts(svg)
    assert "▶ {no, all_of_them} (chosen): laplace, ± 4.00 h" in said
    assert "· {value}: it has no bounds" in said
    noisy = [node for node in parsed(svg).iter() if node.get("class") == "pp-noisy"]
    frames = [node for node in parsed(svg).iter() if node.get("class") == "pp-stripe"]
    assert len(noisy) == len(frames) == 2


def test_without_a_quote_the_tree_marks_nothing() -> None:
    assert "pp-noisy" not in str(composition_figure(SHARE))


def test_the_table_has_every_way_and_its_reason() -> None:
    table = str(composition_table(QUOTED))
    for words in ("laplace", "± 4.00 h", "chosen", "it has no bounds", "on request"):
        assert words in table


def test_ways_that_differ_in_their_shares_can_be_told_apart() -> None:
    first, *_ = QUOTED.options
    options = tuple(replace(first, shares=shares) for shares in ((0.3, 0.7), (0.5, 0.5)))
    table = str(composition_table(replace(QUOTED, options=options)))
    assert "30 % + 70 %" in table
    assert "50 % + 50 %" in table


def test_figures_for_a_page_rely_on_no_inline_style() -> None:
    for drawn in (composition_figure(SHARE, QUOTED), error_figure(SURE), error_figure(UNKNOWN)):
        for node in parsed(str(drawn)).iter():
            assert node.tag != "style"
            assert "style" not in node.attrib


def test_a_preview_page_has_a_table_beneath_each_chart_and_asks_for_nothing() -> None:
    hostile = replace(QUOTED, name=HOSTILE, advice=HOSTILE, margin_note=HOSTILE)
    page = preview_html(HOSTILE, [(SHARE, QUOTED), (SHARE, hostile)], BUDGET, asked(), "now")
    assert page.count("<svg") == page.count("<figure") == 5
    assert page.count("<table") == 6
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "2 such queries fit into the budget of block 2024-01" in page


def test_nothing_costs_nothing_and_has_no_forecast() -> None:
    page = preview_html("t", [(SHARE, replace(QUOTED, new_charges=0))], (), None, "now")
    assert "replay" in page
    assert "forecast" not in page
