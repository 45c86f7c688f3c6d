"""The report page: self-contained, complete, accessible, and honest about its guarantee."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from pappi.report import report_html
from pappi.report.numbers import format_interval, format_value
from pappi.report.wording import judged_text, times
from pappi.values import (
    UNDER_REPLACE,
    ZERO,
    Adjacency,
    BudgetLine,
    Epsilon,
    PrivacyUnit,
    Series,
    Verdict,
)
from tests.unit.report_samples import (
    BELOW_24,
    BUDGET,
    EXTREMES,
    HOSTILE,
    a_series,
    an_answer,
    monthly,
)

GENERATED = "2026-01-05 09:30 UTC"


def page_of(*series: Series, budget: tuple[BudgetLine, ...] = BUDGET) -> str:
    return report_html("Claims", series, budget, [("Log", "claims"), (HOSTILE, HOSTILE)], GENERATED)


def parsed(page: str) -> ET.Element:
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own markup


def said(element: ET.Element) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext()))


@pytest.fixture(scope="module")
def everything() -> str:
    return page_of(*EXTREMES.values())


def test_the_page_is_well_formed_and_has_only_numbers(everything: str) -> None:
    parsed(everything)
    assert not re.search(r"\b(nan|inf|None)\b", everything)


def test_the_page_runs_nothing_and_asks_for_nothing(everything: str) -> None:
    root = parsed(everything)
    tags = {node.tag for node in root.iter()}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for node in root.iter():
        assert not any(name.startswith("on") or name in ("src", "style") for name in node.attrib)
        assert node.get("href", "#").startswith("#")
    style = root.findtext("head/style") or ""
    assert not re.search(r"url\(|@import|://", style)
    policies = [node.get("content", "") for node in root.iter("meta") if node.get("http-equiv")]
    assert [policy.split(";")[0] for policy in policies] == ["default-src 'none'"]


def test_hostile_names_are_shown_and_never_run(everything: str) -> None:
    assert "<script" not in everything
    assert "\x1b" not in everything
    assert "\u202e" not in everything
    assert "<script>alert('1')</script>" in said(parsed(everything))


def test_every_answer_stands_in_its_table() -> None:
    series = a_series(monthly([10.0, 25.0, 40.0], 3.0, BELOW_24), target=BELOW_24)
    rows = [said(row) for row in parsed(page_of(series)).iter("tr")]
    for answer in series.answers:
        value = format_value(answer.value, answer.interval, answer.unit)
        interval = format_interval(answer.value, answer.interval, answer.unit)
        assert any(
            row.startswith(answer.period.label) and value in row and interval in row
            and row.endswith(judged_text(answer))
            for row in rows
        )  # fmt: skip


def test_extreme_answers_stand_in_their_tables_too(everything: str) -> None:
    answers = sum(len(series.answers) for series in EXTREMES.values())
    tables = list(parsed(everything).iter("table"))
    rows = sum(len(table.findall("tbody/tr")) for table in tables)
    assert rows == answers + len(EXTREMES) + len(BUDGET)


def test_the_guarantee_is_said_in_plain_words() -> None:
    text = said(parsed(page_of(a_series(monthly([1.0], 1.0)))))
    assert (
        "Whatever one case contains, no published figure becomes more than 1.11 times likelier "
        "because of it (ε = 0.1)." in text
    )
    assert "taken together, become at most 1.83 times likelier" in text
    assert "the number of cases is protected too" in text


def test_the_guarantee_is_that_of_the_weakest_figure_and_names_its_neighbours() -> None:
    weak = an_answer(1.0, 0.0, 2.0, epsilon="1", adjacency=Adjacency.REPLACE)
    text = said(parsed(page_of(a_series([an_answer(1.0, 0.0, 2.0), weak]))))
    assert "more than 2.72 times likelier" in text
    assert UNDER_REPLACE in text


def test_the_most_charged_block_bounds_a_case_that_keeps_its_day() -> None:
    content = an_answer(1.0, 0.0, 2.0, adjacency=Adjacency.REPLACE)
    assert "taken together, become at most" in said(parsed(page_of(a_series([content]))))


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        ("0", "1.00 times"),
        ("0.000000001", "1.01 times"),
        ("0.1", "1.11 times"),
        ("1", "2.72 times"),
        ("5", "149 times"),
        ("1000000", "e^1000000 times"),
    ],
)
def test_factors_are_rounded_up_so_that_the_sentence_is_true(epsilon: str, expected: str) -> None:
    assert times(Epsilon.of(epsilon)) == expected


def test_the_budget_is_shown_block_by_block() -> None:
    rows = [said(row) for row in parsed(page_of(EXTREMES["one period"])).iter("tr")]
    assert "2024-010.600.41" in rows
    assert any(row.startswith("<script>") and row.endswith("011") for row in rows)


def test_a_budget_line_never_shows_more_than_all_or_less_than_nothing() -> None:
    over = BudgetLine("b", Epsilon.of(1), Epsilon.of(2))
    assert (over.left, over.share) == (ZERO, 1.0)
    assert BudgetLine("b", ZERO, ZERO).share == 1.0
    assert BudgetLine("b", Epsilon.of(4), Epsilon.of(1)).share == 0.25


def test_a_replayed_answer_says_that_it_comes_from_the_record() -> None:
    old, new = an_answer(1.0, 0.0, 2.0, replayed=True), an_answer(1.0, 0.0, 2.0)
    assert "0.1 from the record" in said(parsed(page_of(a_series([old, new]))))
    assert "from the record" not in said(parsed(page_of(a_series([old, old]))))


def test_a_verdict_without_a_value_and_a_ceiling_stand_in_their_tables() -> None:
    undecided = an_answer(None, 0.0, 72.0, verdict=Verdict.UNDECIDED, cases=None)
    cut = replace(an_answer(10.0, 7.0, 13.0), ceiling=44.19)
    series = a_series([replace(undecided, probability_met=0.834), cut], target=BELOW_24)
    rows = [said(row) for row in parsed(page_of(series)).iter("tr")]
    assert "2024-03–0 to 72 h–○ unclear, 83 % likely met" in rows
    assert any("7.0 to 13.0 h, cut at 44.2 h" in row for row in rows)


def test_bands_are_explained_shown_and_counted() -> None:
    root = parsed(page_of(EXTREMES["bands"], EXTREMES["one period"]))
    text = said(root)
    for words in (
        "◆ amberThe whole interval misses the target but is still tolerated.",
        "▽ amber or redThe whole interval misses the target; it is too noisy",
        "● green", "○ green or amber", "◆ 1 amber", "▽ 1 amber or red", "○ unclear",
    ):  # fmt: skip
        assert words in text
    spans = [span for cell in root.iter("td") for span in cell.iter("span")]
    assert ("verdict amber", "◆ amber") in [(span.get("class"), said(span)) for span in spans]


def test_targets_of_groups_are_said_beside_the_chart() -> None:
    text = said(parsed(page_of(EXTREMES["bands of groups"], EXTREMES["one period"])))
    assert "target of phone: below 12 hours, tolerated below 16 hours" in text
    assert "below 24 hours, tolerated at most 36 hours; 2 groups have their own" in text


def test_what_a_value_is_not_is_said_beside_its_chart() -> None:
    series = replace(EXTREMES["one period"], caution="a value that few cases exceed")
    assert "a value that few cases exceed" in said(parsed(page_of(series)))


def test_a_person_is_named_in_the_guarantee() -> None:
    answer = an_answer(1.0, 0.0, 2.0)
    unit = PrivacyUnit("patient_id", 3)
    of_persons = replace(answer, guarantee=replace(answer.guarantee, unit=unit))
    text = said(parsed(page_of(a_series([of_persons]))))
    assert "the cases of one 'patient_id'" in text
    assert "at most 3 cases count" in text
    assert "Whatever one case contains" not in text


def test_the_page_can_be_read_by_ear_and_by_keyboard(everything: str) -> None:
    root = parsed(everything)
    assert root.get("lang") == "en"
    assert [len(list(root.iter(tag))) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    for table in root.iter("table"):
        assert table.find("caption") is not None
        assert all(th.get("scope") in ("row", "col") for th in table.iter("th"))
    for region in root.iter("div"):
        assert (region.get("role"), region.get("tabindex")) == ("region", "0")
        assert region.get("aria-label")
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    links = [node.get("href", "")[1:] for node in root.iter("a")]
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))


def test_an_empty_report_is_still_a_page() -> None:
    text = said(parsed(report_html("Nothing", [], [], [], GENERATED)))
    assert "This report contains no figures." in text


def test_a_smoothed_page_marks_every_smoothed_value_and_explains_it() -> None:
    page = report_html("t", [EXTREMES["smoothed"]], BUDGET, (), "now")
    assert "≈ smoothed" in page
    assert "may hide one that is not" in page
    assert page.count('class="muted">raw ') == 2 * 5  # a value and an interval for each month
    several = report_html("t", [EXTREMES["smoothed"], EXTREMES["bands"]], BUDGET, (), "now")
    assert "≈○ " in several.split("At a glance")[1].split("</table>")[0]
    assert "Verdicts by smoothed values: " in page
    assert "≈ smoothed" not in report_html("t", [EXTREMES["bands"]], BUDGET, (), "now")
