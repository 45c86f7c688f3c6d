"""Charts: well-formed, harmless, readable, and drawn for every series there is."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report import el, series_svg
from pappi.report.drawing import Extent, value_axis
from pappi.report.markup import CHART_CSS, DARK, LIGHT, Theme
from pappi.report.series_chart import PeriodAxis, series_figure, shown_extent
from pappi.values import Calendar, Interval, Series, ShownTarget, Verdict
from tests.unit.report_samples import (
    ALL_BANDS,
    BANDED,
    BELOW_24,
    EXTREMES,
    HOSTILE,
    a_series,
    an_answer,
    monthly,
)

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own markup


def shapes(svg: str, name: str) -> list[ET.Element]:
    return [node for node in parsed(svg).iter() if node.get("class") == f"pp-{name}"]


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in parsed(svg).iter(f"{SVG}text")]


every_extreme = pytest.mark.parametrize("series", EXTREMES.values(), ids=EXTREMES.keys())


# --- whatever is drawn ----------------------------------------------------------------


@every_extreme
def test_a_chart_is_well_formed_and_has_only_numbers(series: Series) -> None:
    svg = series_svg(series)
    root = parsed(svg)
    assert root.tag == f"{SVG}svg"
    for node in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "points", "height", "d"):
            coordinates = re.findall(r"[\d.]+|nan|inf", node.get(name, "0"))
            assert all(abs(float(number)) < 1e5 for number in coordinates)
    assert not re.search(r"\b(nan|inf|None)\b", svg)


@every_extreme
def test_a_chart_has_no_script_and_asks_for_nothing(series: Series) -> None:
    root = parsed(series_svg(series))
    assert not {node.tag for node in root.iter()} & {
        f"{SVG}{tag}" for tag in ("script", "image", "use", "a", "foreignObject", "animate")
    }
    for node in root.iter():
        assert not any(name.startswith("on") or "href" in name for name in node.attrib)
        assert "style" not in node.attrib
        assert "://" not in "".join(node.attrib.values())
    assert "url(" not in CHART_CSS
    assert "@import" not in CHART_CSS


@every_extreme
def test_a_chart_speaks_to_screen_readers(series: Series) -> None:
    root = parsed(series_svg(series))
    assert root.get("role") == "img"
    named = {node.get("id") for node in root if node.tag in (f"{SVG}title", f"{SVG}desc")}
    assert named == set((root.get("aria-labelledby") or "").split())


def test_hostile_names_are_shown_and_never_run() -> None:
    svg = series_svg(EXTREMES["hostile"])
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg
    title = parsed(svg).findtext(f"{SVG}title") or ""
    assert title.startswith("<script>alert('1')</script>")
    assert title.endswith("זמן")


def test_style_sheets_cannot_smuggle_markup() -> None:
    with pytest.raises(ValueError, match="style sheets"):
        str(el("style", "</style><script>"))


@given(st.text(), st.text())
def test_any_text_survives_as_text(text: str, value: str) -> None:
    root = parsed(str(el("g", text, data_x=value)))
    assert len(root) == 0
    assert set(root.attrib) == {"data-x"}


def test_charts_on_one_page_do_not_share_ids() -> None:
    answers = monthly([1.0, 2.0], 1.0)
    ids = [
        {node.get("id") for node in parsed(str(figure)).iter() if node.get("id")}
        for figure in (
            series_figure(a_series(answers, ppi="a")),
            series_figure(a_series(answers, ppi="b")),
        )
    ]
    assert not ids[0] & ids[1]


@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.floats())] * 3), min_size=1, max_size=8),
    st.one_of(st.none(), st.floats()),
    st.sampled_from(["hours", "percent", "EUR", ""]),
)
def test_no_numbers_can_break_a_chart(
    numbers: list[tuple[float | None, float | None, float | None]], limit: float | None, unit: str
) -> None:
    answers = [an_answer(value, low, high, unit=unit) for value, low, high in numbers]
    svg = series_svg(a_series(answers, unit=unit, target=ShownTarget(limit, None, "a target")))
    parsed(svg)
    assert not re.search(r"\b(nan|inf)\b", svg)


# --- what is drawn --------------------------------------------------------------------


def test_every_answer_has_a_mark_in_the_shape_of_its_verdict() -> None:
    svg = series_svg(a_series(monthly([10.0, 25.0, 40.0], 3.0, BELOW_24), target=BELOW_24))
    drawn = {verdict: shapes(svg, verdict) for verdict in Verdict}
    # One in the chart and one in the key.
    assert {verdict: len(found) for verdict, found in drawn.items()} == dict.fromkeys(Verdict, 2)
    kinds = {(found[0].tag, found[0].get("class")) for found in drawn.values()}
    assert kinds == {
        (f"{SVG}circle", "pp-met"),
        (f"{SVG}polygon", "pp-missed"),
        (f"{SVG}circle", "pp-undecided"),
    }


def test_a_chart_says_its_guarantee_and_its_target() -> None:
    svg = series_svg(a_series(monthly([10.0, 25.0], 3.0, BELOW_24), target=BELOW_24))
    assert "ε = 0.1 per figure · two-bin · add-remove · protects each case · 95 % interval" in (
        texts(svg)
    )
    assert "target below 24 h" in texts(svg)


def test_hovering_over_a_point_tells_its_answer() -> None:
    svg = series_svg(a_series(monthly([40.0], 3.0, BELOW_24), target=BELOW_24))
    tips = [node.findtext(f"{SVG}title") for node in parsed(svg).iter(f"{SVG}g")]
    assert "2024-01: 40.0 h (37.0 to 43.0 h), missed" in tips


def test_intervals_beyond_the_chart_end_in_arrows_and_leave_the_values_readable() -> None:
    series = EXTREMES["noise far above range"]
    svg = series_svg(series)
    assert len(shapes(svg, "arrow")) == 2 * len(series.answers) + 1
    extent = shown_extent(series.answers, series.targets, "hours")
    assert extent.span < 4 * (88 - 3)
    assert not shapes(series_svg(a_series(monthly([20.0, 30.0], 8.0))), "arrow")


def test_one_far_value_does_not_flatten_the_others() -> None:
    series = EXTREMES["one outlier"]
    assert shown_extent(series.answers, (), "hours").high < 20


def test_percentages_stay_between_0_and_100() -> None:
    answers = monthly([96.0, 4.0], 9.0, unit="percent")
    assert shown_extent(answers, (), "percent") == Extent(0.0, 100.0)


def test_a_line_does_not_bridge_a_gap_or_a_missing_value() -> None:
    assert len(shapes(series_svg(EXTREMES["gap"]), "line")) == 1
    lines = shapes(series_svg(a_series(monthly([1.0, 2.0, None, 4.0, 5.0], 1.0))), "line")
    assert [len((line.get("points") or "").split()) for line in lines] == [2, 2]


def test_groups_become_panels_on_the_same_axes() -> None:
    groups = ("agent", "phone", "web")
    answers = [a for group in groups for a in monthly([1.0, 2.0], 0.5, group=group)]
    svg = series_svg(a_series(answers))
    assert set(groups) <= set(texts(svg))
    assert len(shapes(svg, "line")) == 3
    assert sum(text == "Jan" for text in texts(svg)) == 1
    single = parsed(series_svg(a_series(monthly([1.0, 2.0], 0.5))))
    assert float(parsed(svg).get("height", "0")) > float(single.get("height", "0"))


# --- bands, targets of groups, verdicts alone -----------------------------------------


def test_every_band_has_a_shape_of_its_own_and_open_ones_leave_something_open() -> None:
    svg = series_svg(EXTREMES["bands"])
    names = ("met", "undecided", "amber", "amber-or-red", "missed")
    # One in the chart and one in the key.
    assert {name: len(shapes(svg, name)) for name in names} == dict.fromkeys(names, 2)
    corners = {name: len((shapes(svg, name)[0].get("points") or "").split()) for name in names}
    assert corners == {"met": 0, "undecided": 0, "amber": 4, "amber-or-red": 3, "missed": 3}
    filled = {name: shapes(svg, name)[0].get("fill") != LIGHT["surface"] for name in names}
    assert [name for name, full in filled.items() if not full] == ["undecided", "amber-or-red"]
    assert {"green", "amber", "amber or red", "red", "tolerated"} <= set(texts(svg))


def test_what_is_tolerated_has_lines_and_a_pattern_between_target_and_the_rest() -> None:
    svg = series_svg(EXTREMES["bands"])
    (line,) = shapes(svg, "tolerated")
    (target,) = shapes(svg, "target")[1:]  # the first is in the pattern
    assert line.get("stroke-dasharray") != target.get("stroke-dasharray")
    assert float(line.get("y1", "0")) < float(target.get("y1", "0"))
    dotted, striped = zones(svg)
    assert dotted.get("y") == line.get("y1")
    assert float(dotted.get("y", "0")) + float(dotted.get("height", "0")) == pytest.approx(
        float(target.get("y1", "0")), abs=0.02
    )
    assert float(striped.get("y", "0")) < float(dotted.get("y", "0"))
    assert "target below 24 hours, tolerated at most 36 hours" in texts(svg)


def zones(svg: str) -> list[ET.Element]:
    """The patterned parts of the panels, dots before stripes; without those of the key."""
    patterned = [r for r in parsed(svg).iter(f"{SVG}rect") if "url(" in r.get("fill", "")]
    return sorted((r for r in patterned if r.get("x") != "-6"), key=lambda r: r.get("fill", ""))


def test_a_tolerated_range_may_be_wider_on_one_side_alone() -> None:
    dotted = [
        zone for zone in zones(series_svg(EXTREMES["tolerated on one side"]))
        if "dots" in zone.get("fill", "")
    ]  # fmt: skip
    assert len(dotted) == 2


def test_every_group_has_the_lines_of_its_own_target() -> None:
    svg = series_svg(EXTREMES["bands of groups"])
    assert len(shapes(svg, "tolerated")) == 2
    assert len(shapes(svg, "target")) == 1 + 3
    assert {
        "target below 24 hours, tolerated at most 36 hours",
        "target below 12 hours, tolerated below 16 hours",
        "target below 24 h",
    } <= set(texts(svg))
    heights = [float(line.get("y1", "0")) for line in shapes(svg, "target")[1:]]
    assert heights == sorted(set(heights))


def test_one_target_for_all_groups_is_said_once() -> None:
    answers = [a for group in ("a", "b") for a in monthly(ALL_BANDS, 4.0, BANDED, group=group)]
    svg = series_svg(a_series(answers, target=BANDED))
    assert sum("tolerated at most" in text for text in texts(svg)) == 1


@pytest.mark.parametrize("name", ["verdicts alone", "bands without values", "never a value"])
def test_without_values_there_is_no_value_axis(name: str) -> None:
    svg = series_svg(EXTREMES[name])
    assert not [text for text in texts(svg) if re.fullmatch(r"[\d.,−]+( h)?", text)][1:]
    for axis in ("band", "whisker", "arrow", "line"):
        assert not shapes(svg, axis)
    assert not zones(svg)


def test_verdicts_alone_stand_in_lanes_that_say_what_they_are() -> None:
    svg = series_svg(EXTREMES["verdicts alone"])
    lanes = {
        node.text: float(node.get("y", "0")) - 4
        for node in parsed(svg).iter(f"{SVG}text")
        if node.text in ("met", "missed", "unclear", "undecided")
    }
    assert sorted(lanes, key=lambda name: lanes[name or ""]) == ["met", "unclear", "missed"]
    for circle in shapes(svg, "met"):
        assert float(circle.get("cy", "0")) == pytest.approx(lanes["met"])
    assert len(shapes(svg, "met")) == 2
    assert "target below 24 h" in texts(svg)


def test_a_long_key_goes_on_in_a_second_row() -> None:
    svg = series_svg(EXTREMES["bands of groups"], width=500)
    for node in parsed(svg).iter(f"{SVG}text"):
        if node.text in ("green", "amber or red", "95 % interval", "tolerated", "not tolerated"):
            assert float(node.get("x", "0")) + 6 * len(node.text) < 500


# --- axes -----------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["hours", "minutes", "days", "percent", ""])
@given(low=st.floats(-1e9, 1e9), span=st.floats(1e-3, 1e9))
def test_tick_labels_say_exactly_where_their_ticks_are(unit: str, low: float, span: float) -> None:
    span = max(span, abs(low) * 1e-6)  # as `shown_extent` sees to it
    axis = value_axis(Extent(low, low + span), unit, 240.0, 0.0)
    assert axis.shows(low)
    assert axis.shows(low + span)
    assert 2 <= len(axis.ticks) <= 15
    for tick in axis.ticks:
        said = float(axis.label(tick).replace("−", "-").replace(",", ""))
        assert said == pytest.approx(tick, rel=1e-9, abs=span * 1e-9)


def test_hours_are_marked_like_a_clock() -> None:
    axis = value_axis(Extent(0.0, 60.0), "hours", 200.0, 0.0)
    assert [axis.label(tick) for tick in axis.ticks] == ["0", "24", "48", "72"]


@pytest.mark.parametrize("calendar", Calendar)
@pytest.mark.parametrize("count", [1, 2, 24, 104])
def test_period_labels_are_thinned_until_they_fit(calendar: Calendar, count: int) -> None:
    answers = monthly([1.0] * count, 1.0, calendar=calendar, start=date(2023, 1, 2))
    marks = PeriodAxis.of(answers, 50.0, 740.0).marks()
    assert marks
    for before, after in pairwise(marks):
        assert after.x - before.x > 6 * (len(before.upper) + len(after.upper)) / 2


def test_months_are_named_and_years_stand_once() -> None:
    answers = monthly([1.0] * 14, 1.0, start=date(2024, 1, 1))
    marks = PeriodAxis.of(answers, 0.0, 900.0).marks()
    assert [mark.upper for mark in marks[:3]] == ["Jan", "Feb", "Mar"]
    assert [(mark.upper, mark.lower) for mark in marks if mark.lower] == [
        ("Jan", "2024"), ("Jan", "2025"),
    ]  # fmt: skip


# --- colours --------------------------------------------------------------------------


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "role", ["ink", "muted", "accent", "target", "met", "missed", "undecided", "amber"]
)
def test_text_has_enough_contrast(theme: Theme, role: str) -> None:
    assert contrast(theme[role], theme["surface"]) >= 4.5
    assert contrast(theme[role], theme["ground"]) >= 4.5


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
_BLINDNESS = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", _BLINDNESS)
def test_verdict_colours_differ_for_the_colour_blind(theme: Theme, kind: str) -> None:
    def seen(colour: str) -> list[float]:
        rgb = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        return [sum(weight * c for weight, c in zip(row, rgb, strict=True))
                for row in _BLINDNESS[kind]]  # fmt: skip

    for one, other in combinations(("met", "amber-fill", "missed"), 2):
        distance = sum(
            (a - b) ** 2 for a, b in zip(seen(theme[one]), seen(theme[other]), strict=True)
        )
        assert distance**0.5 > 0.25


def test_a_viewer_without_css_still_sees_the_light_colours() -> None:
    for node in shapes(series_svg(EXTREMES["one period"]), "undecided"):
        assert node.get("stroke") == LIGHT["undecided"]
        assert node.get("fill") == LIGHT["surface"]


def test_hostile_text_is_hostile() -> None:
    assert {"<", '"', "&", "\x1b", "\u202e"} <= set(HOSTILE)


def test_a_smoothed_chart_shows_the_raw_values_and_says_which_is_which() -> None:
    text = series_svg(EXTREMES["smoothed"])
    assert text.count('class="pp-raw"') == 5 + 1  # and one in the key
    assert "raw value; everything else is smoothed" in text
    assert "95 % interval, for all together" in text
    assert "2024-02: smoothed " in text
    assert "2024-02: released as 50 h" in text
    assert "pp-raw" not in series_svg(EXTREMES["bands"]).split("</style>")[1]


# --- what has no value ----------------------------------------------------------------


def test_a_mark_without_a_value_stands_beneath_the_axis_where_it_is_none() -> None:
    svg = series_svg(EXTREMES["no value"])
    bottom = max(
        float(line.get("y1", "0"))
        for line in shapes(svg, "grid")
        if line.get("x1") != line.get("x2")
    )
    without = [mark for mark in shapes(svg, "undecided") if float(mark.get("cy", "0")) > 5]
    assert len(without) == 2
    assert all(float(mark.get("cy", "0")) > bottom + 8 for mark in without)
    assert "unknown" in texts(svg)


def test_a_period_of_which_nothing_is_known_breaks_the_line() -> None:
    """The middle of the bounds was once joined to real values by a solid line."""
    answers = [
        replace(answer, possible=Interval(0.0, 48.0, 1.0))
        for answer in monthly([10.0, 12.0, 24.0, 11.0, 13.0], 4.0, BELOW_24)
    ]
    whole = replace(answers[2], interval=Interval(0.0, 48.0, 0.95), verdict=Verdict.UNDECIDED)
    joined, broken = (
        series_svg(a_series([*answers[:2], one, *answers[3:]], target=BELOW_24))
        for one in (answers[2], whole)
    )
    assert [len(shapes(svg, "line")) for svg in (joined, broken)] == [1, 2]
    assert [len(shapes(svg, "band")) for svg in (joined, broken)] == [2, 3]  # one in the key
    assert "unknown" in texts(broken)
    assert "unknown" not in texts(joined)
    assert "2024-03: nothing is known, unclear" in broken
    # Nor does it stretch the axis to all that was possible.
    assert "50" not in texts(broken)


def test_a_series_of_which_nothing_is_known_is_verdicts_alone() -> None:
    answers = [
        replace(answer, possible=answer.interval) for answer in monthly([24.0] * 3, 24.0, BELOW_24)
    ]
    svg = series_svg(a_series(answers, target=BELOW_24))
    assert not shapes(svg, "line")
    assert {"met", "missed", "unclear"} <= set(texts(svg))


def test_an_interval_is_named_for_what_it_covers() -> None:
    series = replace(EXTREMES["one period"], covers="the clipped mean")
    said = texts(series_svg(series))
    assert "95 % interval of the clipped mean" in said
    assert any("95 % interval of the clipped mean" in text for text in said if "two-bin" in text)


def test_a_series_with_all_its_values_has_no_room_for_missing_ones() -> None:
    assert "unknown" not in texts(series_svg(EXTREMES["one period"]))


def test_verdicts_alone_have_no_value_axis() -> None:
    said = texts(series_svg(EXTREMES["verdicts alone"]))
    assert {"met", "missed", "unclear"} <= set(said)
    assert not any(
        text.replace(" h", "").replace(".", "").isdigit() for text in said if text != "2024"
    )


def test_no_answers_are_a_line_of_words_and_no_chart() -> None:
    svg = series_svg(EXTREMES["no answers"])
    assert "no answers" in texts(svg)
    assert float(parsed(svg).get("height", "0")) < 160
