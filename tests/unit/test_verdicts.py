"""Verdicts: asked for alone, with how sure one may be, and where none can be had."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console

from pappi.custody import NewLog
from pappi.errors import NotReleasable
from pappi.ppinot import Catalogue, Target, parse_catalogue
from pappi.ppinot.model import GroupTarget
from pappi.report import (
    advice_lines,
    answers_table,
    flat_records,
    nothing_said,
    report_html,
)
from pappi.report.wording import VerdictMark, judged_text, mark_of, target_text
from pappi.session import Workspace, to_wire
from pappi.values import (
    ZERO,
    Answer,
    Band,
    Epsilon,
    Series,
    ShownTarget,
    Terms,
    Verdict,
    bands_between,
    bands_text,
    judge,
)
from tests.small_logs import claims, workspace_with
from tests.unit.report_samples import EXTREMES, an_answer

TIME = "{time: {from: case start, to: case end}, unit: days}"
REJECTED = 'activity == "Reject"'

# Of claims that take 1 to 5 days, a quarter of them rejected: what is met, and what is missed.
MEASURES: dict[str, tuple[str, str, str]] = {
    "mean": (f"{{mean: {TIME}}}", "below 6 days", "below 2 days"),
    "median": (f"{{median: {TIME}}}", "below 6 days", "at most 1 day"),
    "p90": (f"{{percentile: {TIME}, percent: 90}}", "at most 8 days", "at most 2 days"),
    "sum": (f"{{sum: {TIME}}}", "at least 20 days", "below 20 days"),
    "max": (f"{{max: {TIME}}}", "at most 7 days", "at most 3 days"),
    "min": (f"{{min: {TIME}}}", "at least 0.5 days", "at least 2 days"),
}
RATIO = (
    "{derive: 100 * rejected / received, "
    f"rejected: {{sum: {{count: '{REJECTED}'}}}}, "
    "received: {sum: {count: 'activity == \"Receive\"'}}}"
)
PLENTY = "80"


def series_of(workspace: Workspace, *lines: str, epsilon: str = PLENTY) -> Series:
    (series,) = workspace.checkpoint().release(catalogue(*lines), epsilon, anyway=True)
    return series


def catalogue(*lines: str) -> Catalogue:
    text = "log: small\nppis:\n  - id: asked\n" + "".join(f"    {line}\n" for line in lines)
    return parse_catalogue(text, "t.yaml")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    new = NewLog(terms=Terms(block_budget=Epsilon.of(9_000)))
    return workspace_with(tmp_path_factory.mktemp("verdicts") / "w", claims(90), new)


@pytest.fixture(scope="module")
def alone(workspace: Workspace) -> Series:
    """Verdicts alone, so many at so small an epsilon that some are undecided."""
    measure = f"measure: {{mean: {TIME}}}"
    lines = (measure, "scope: every week", "bounds: [0 days, 10 days]", "target: below 3 days")
    return series_of(workspace, *lines, "release: {answer: verdict}", epsilon="0.01")


# --- the verdict alone ----------------------------------------------------------------


AIMED = ("{answer: verdict}", "{mechanism: threshold}")
JUDGED = [(function, release) for function in MEASURES for release in AIMED]
# The interval of one drawn point is mostly the whole range, whatever epsilon is.
JUDGED += [("mean", "{}"), ("sum", "{}")]


@pytest.mark.parametrize(("function", "release"), JUDGED)
def test_with_much_epsilon_every_verdict_is_the_true_one(
    workspace: Workspace, function: str, release: str
) -> None:
    measure, met, missed = MEASURES[function]
    if release != "{}":  # such a release counts nothing that bounds cut
        release = release.replace("}", ", clipping: off}")
    lines = (f"measure: {measure}", "bounds: [0 days, 10 days]", f"release: {release}")
    for target, verdict in ((met, Verdict.MET), (missed, Verdict.MISSED)):
        series = series_of(workspace, *lines, f"target: {target}")
        assert {a.verdict for a in series.answers} == {verdict}
        chances = [a.probability_met for a in series.answers if a.probability_met is not None]
        assert len(chances) == len(series.answers)
        assert all((chance > 0.975) == (verdict is Verdict.MET) for chance in chances)


@pytest.mark.parametrize(("target", "verdict"), [("below 40", "met"), ("below 10", "missed")])
def test_a_ratio_of_two_sums_has_a_verdict_alone(
    workspace: Workspace, target: str, verdict: str
) -> None:
    bounds = "bounds: {rejected: [0, 1], received: [0, 1], value: [0, 100]}"
    release = "release: {answer: verdict, clipping: off}"
    series = series_of(workspace, f"measure: {RATIO}", bounds, f"target: {target}", release)
    assert {str(answer.verdict) for answer in series.answers} == {verdict}
    assert {answer.value for answer in series.answers} == {None}


def test_a_verdict_alone_has_no_value_and_says_how_sure_it_is(alone: Series) -> None:
    for answer in alone.answers:
        assert (answer.value, answer.cases, answer.ceiling) == (None, None, None)
        assert answer.verdict is not None
        assert answer.probability_met is not None
        assert 0 <= answer.probability_met <= 1
        assert answer.guarantee.mechanism == "threshold"


def test_a_decided_verdict_tells_on_which_side_of_its_target_the_value_lies(
    workspace: Workspace,
) -> None:
    lines = (f"measure: {{mean: {TIME}}}", "bounds: [0 days, 10 days]", "target: below 6 days")
    series = series_of(workspace, *lines, "release: {answer: verdict}")
    assert {(a.interval.low, a.interval.high) for a in series.answers} == {(0.0, 6.0)}


@pytest.mark.parametrize("release", ["{}", "{mechanism: interval}", "{mechanism: threshold}"])
def test_without_a_target_nothing_is_met_and_with_one_its_chance_is_told(
    workspace: Workspace, release: str
) -> None:
    lines = (f"measure: {{mean: {TIME}}}", "bounds: [0 days, 10 days]", f"release: {release}")
    if "threshold" not in release:
        plain = series_of(workspace, *lines, epsilon="0.1")
        assert {(a.verdict, a.probability_met) for a in plain.answers} == {(None, None)}
    aimed = series_of(workspace, *lines, "target: below 4 days", epsilon="0.1")
    assert all(a.probability_met is not None and 0 <= a.probability_met <= 1 for a in aimed.answers)


def test_a_target_with_two_ends_has_a_chance_too(workspace: Workspace) -> None:
    lines = (f"measure: {{mean: {TIME}}}", "bounds: [0 days, 10 days]")
    series = series_of(workspace, *lines, "target: between 2 and 4 days")
    assert all(a.probability_met is not None and a.probability_met > 0.95 for a in series.answers)
    assert {a.verdict for a in series.answers} == {Verdict.MET}


# --- shown ----------------------------------------------------------------------------


def one_with_chance(alone: Series) -> tuple[Answer, str]:
    answer = next(a for a in alone.answers if a.verdict is Verdict.UNDECIDED)
    return answer, f"{100 * (answer.probability_met or 0):.0f} % likely met"


def printed(series: Series, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(answers_table(series))
    return out.getvalue()


def test_a_table_shows_a_dash_for_the_value_and_the_chance_with_the_verdict(alone: Series) -> None:
    answer, chance = one_with_chance(alone)
    row = next(line for line in printed(alone).splitlines() if answer.period.label in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[:2] == [answer.period.label, "–"]
    assert cells[4] == f"○ unclear, {chance}"
    assert "threshold" in printed(alone)


def test_the_page_shows_them_too(alone: Series) -> None:
    page = report_html("Claims", [alone], [], [], "2026-01-05 09:30 UTC")
    _, chance = one_with_chance(alone)
    assert f"○ unclear, {chance}" in page
    assert not {"None", "nan"} & set(page.replace("<", " ").replace(">", " ").split())


def test_records_keep_them_apart_from_a_missing_value(alone: Series) -> None:
    answer, _ = one_with_chance(alone)
    record = json.loads(json.dumps(to_wire(answer)))
    assert record["value"] is None
    assert (record["verdict"], record["probability_met"]) == ("undecided", answer.probability_met)
    out = io.StringIO()
    (flat,) = flat_records([answer])
    writer = csv.DictWriter(out, fieldnames=list(flat))
    writer.writeheader()
    writer.writerow(flat)
    out.seek(0)
    (row,) = csv.DictReader(out)
    assert (row["value"], row["verdict"], row["ceiling"]) == ("", "undecided", "")
    assert float(row["probability_met"]) == answer.probability_met


# --- where no verdict can be had ------------------------------------------------------

LONGEST = (
    f"measure: {{max: {TIME}}}",
    "bounds: [0 days, 10 days]",
    "target: at most 7 days",
)


@pytest.mark.parametrize(
    ("epsilon", "right", "nothing"),
    [("0.1", "52 %", True), ("1", "70 %", True), ("3", "89 %", False)],
)
def test_a_maximum_at_a_small_epsilon_comes_with_advice(
    workspace: Workspace, epsilon: str, right: str, *, nothing: bool
) -> None:
    (quote,) = workspace.checkpoint().preview(catalogue(*LONGEST), epsilon)
    assert right in quote.advice
    assert "share of cases beyond the target" in quote.advice
    assert to_wire(quote)["advice"] == quote.advice
    assert quote.tells_nothing is nothing  # far below its target, it is told at a large ε
    assert not nothing or quote.advice in nothing_said(quote).plain
    series = series_of(workspace, *LONGEST, epsilon=epsilon)
    assert "a single case decides" in series.caution
    assert right in " ".join(printed(series).split())


@pytest.mark.parametrize("release", AIMED)
def test_no_mechanism_gets_around_it(workspace: Workspace, release: str) -> None:
    (quote,) = workspace.checkpoint().preview(catalogue(*LONGEST, f"release: {release}"), "0.1")
    assert "52 %" in quote.advice


def test_there_is_no_advice_where_epsilon_is_large_or_nothing_is_to_be_decided(
    workspace: Workspace,
) -> None:
    analyst = workspace.checkpoint()
    for lines, epsilon in (
        (LONGEST, "4"),
        (LONGEST[:2], "0.1"),
        ((LONGEST[0].replace("max", "mean"), *LONGEST[1:]), "0.1"),
    ):
        (quote,) = analyst.preview(catalogue(*lines), epsilon)
        assert "a single case decides" not in quote.advice
        assert not any("beyond the target" in line for line in advice_lines([quote]))
    assert series_of(workspace, *LONGEST, epsilon="4").caution == ""


# --- bands, and targets of groups -----------------------------------------------------

UP_TO_7 = Target(None, Fraction(7))
_limits = st.none() | st.integers(-4, 4).map(Fraction)


@st.composite
def targets(draw: st.DrawFn) -> Target:
    low, high = draw(_limits), draw(_limits)
    assume(low is None or high is None or low < high)
    return Target(low, high, draw(st.booleans()), draw(st.booleans()))


def keeps(target: Target, value: float) -> bool:
    """By the definition of a target, written down a second time."""
    if value in (target.low, target.high):
        return target.low_included if value == target.low else target.high_included
    above = target.low is None or value > target.low
    return above and (target.high is None or value < target.high)


@given(targets(), targets(), st.integers(-10, 10), st.integers(0, 12))
def test_an_interval_touches_the_bands_its_values_lie_in(
    target: Target, tolerated: Target, low: int, width: int
) -> None:
    """Limits are whole numbers, so quarters see every band there is."""

    def band(value: float) -> Band:
        if keeps(target, value):
            return Band.GREEN
        return Band.AMBER if keeps(tolerated, value) else Band.RED

    found = {band(low / 2 + step / 4) for step in range(2 * width + 1)}
    assert set(bands_between(target, tolerated, low / 2, low / 2 + width / 2)) == found


def test_an_interval_without_limits_touches_every_band() -> None:
    nine = Target(None, Fraction(9))
    assert bands_between(UP_TO_7, nine, -math.inf, math.inf) == tuple(Band)
    assert bands_between(UP_TO_7, nine, -math.inf, 0.0) == (Band.GREEN,)
    assert bands_between(UP_TO_7, nine, math.nan, 0.0) == tuple(Band)


@given(targets(), st.integers(-10, 10), st.integers(0, 12))
def test_a_verdict_is_what_all_values_of_the_interval_say(
    target: Target, low: int, width: int
) -> None:
    kept = {keeps(target, low / 2 + step / 4) for step in range(2 * width + 1)}
    unanimous = Verdict.MET if True in kept else Verdict.MISSED
    expected = unanimous if len(kept) == 1 else Verdict.UNDECIDED
    assert judge(target, low / 2, low / 2 + width / 2) is expected


@pytest.mark.parametrize(
    ("included", "interval", "verdict"),
    [
        (True, (5.0, 7.0), Verdict.MET),
        (True, (7.0, 7.0), Verdict.MET),
        (True, (7.0, 9.0), Verdict.UNDECIDED),
        (False, (5.0, 7.0), Verdict.UNDECIDED),
        (False, (7.0, 9.0), Verdict.MISSED),
        (False, (math.nan, 7.0), Verdict.UNDECIDED),
    ],
)
def test_whether_a_limit_is_included_decides_at_the_limit(
    *, included: bool, interval: tuple[float, float], verdict: Verdict
) -> None:
    """Of a definition and as it is shown, from above and from below."""
    seven, low, high = Fraction(7), *interval
    assert judge(Target(None, seven, high_included=included), low, high) is verdict
    assert judge(ShownTarget(None, 7.0, "", high_included=included), low, high) is verdict
    assert judge(Target(-seven, None, low_included=included), -high, -low) is verdict
    assert judge(ShownTarget(-7.0, None, "", low_included=included), -high, -low) is verdict


@pytest.mark.parametrize(
    ("target", "included"), [("below 7 days", False), ("at most 7 days", True)]
)
def test_what_is_shown_of_a_target_says_whether_its_limit_is_included(
    workspace: Workspace, target: str, *, included: bool
) -> None:
    shown = series_of(workspace, LONGEST[0], LONGEST[1], f"target: {target}").target
    assert shown is not None
    assert shown.high_included is included


def days(number: float) -> Fraction:
    return Fraction(number) * 86_400_000_000


def below(limit: float) -> Target:
    return Target(None, days(limit), high_included=False)


BY_CHANNEL = (
    f"measure: {{mean: {TIME}, by: {{data: channel, values: [web, phone, letter]}}}}",
    "bounds: [0 days, 10 days]",
)
ALL_CASES = (f"measure: {{mean: {TIME}}}", "bounds: [0 days, 10 days]")


def changed(
    asked: Catalogue,
    target: Target | None = None,
    tolerated: Target | None = None,
    group_targets: tuple[GroupTarget, ...] = (),
) -> Catalogue:
    """With targets as the model has them, whatever a notation calls them."""
    (ppi,) = asked.ppis
    aimed = replace(
        ppi, target=target or ppi.target, tolerated=tolerated, group_targets=group_targets
    )
    return replace(asked, ppis=(aimed,))


def released(workspace: Workspace, asked: Catalogue, epsilon: str = PLENTY) -> Series:
    (series,) = workspace.checkpoint().release(asked, epsilon)
    return series


@pytest.mark.parametrize(
    ("target", "tolerated", "band", "verdict"),
    [(6, 8, "green", "met"), (2, 6, "amber", "missed"), (1, 2, "red", "missed")],
)
def test_with_much_epsilon_every_band_is_the_true_one(
    workspace: Workspace, target: int, tolerated: int, band: str, verdict: str
) -> None:
    asked = changed(catalogue(*ALL_CASES), target=below(target), tolerated=below(tolerated))
    series = released(workspace, asked)
    assert {a.bands for a in series.answers} == {(Band(band),)}
    assert {str(a.verdict) for a in series.answers} == {verdict}


@pytest.mark.parametrize("release", ["{}", "{mechanism: interval}", "{mechanism: threshold}"])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "2"])
def test_a_band_is_never_surer_about_the_target_than_the_verdict(
    workspace: Workspace, release: str, epsilon: str
) -> None:
    lines = (*ALL_CASES, "scope: every week", f"release: {release}")
    asked = changed(catalogue(*lines), target=below(3), tolerated=below(5))
    for answer in released(workspace, asked, epsilon).answers:
        sure, open_to_green = len(answer.bands) == 1, Band.GREEN in answer.bands
        assert answer.bands
        assert (answer.verdict is Verdict.MET) == (sure and open_to_green)
        assert (answer.verdict is Verdict.MISSED) == (not open_to_green)


def test_what_is_tolerated_is_no_new_question(workspace: Workspace) -> None:
    asked = changed(catalogue(*ALL_CASES), target=below(3))
    first = released(workspace, asked, "0.7")
    again = released(workspace, changed(asked, tolerated=below(5)), "0.7")
    assert [a.value for a in again.answers] == [a.value for a in first.answers]
    assert {a.charged for a in again.answers} == {ZERO}
    assert {a.bands for a in first.answers} == {()}


def test_the_interval_of_buckets_decides_no_band(workspace: Workspace) -> None:
    lines = (*ALL_CASES, "release: {mechanism: sample-and-aggregate}")
    text = catalogue(*lines, "target: below 6 days")
    series = released(workspace, changed(text, tolerated=below(8)))
    assert {a.bands for a in series.answers} == {tuple(Band)}


@pytest.mark.parametrize(
    ("of_b", "verdicts"),
    [("{}", {Verdict.MET}), ("{mechanism: sample-and-aggregate}", {Verdict.UNDECIDED})],
)
def test_one_function_in_buckets_leaves_the_whole_formula_undecided(
    workspace: Workspace, of_b: str, verdicts: set[Verdict]
) -> None:
    """Of its interval, too, nobody knows how far off it is: what holds of a part holds above it."""
    asked = catalogue(
        f"measure: {{derive: a + b, a: {{mean: {TIME}}}, b: {{mean: {TIME}}}}}",
        "bounds: {a: [0 days, 10 days], b: [0 days, 10 days]}",
        f"release: {{noise: {{a: {{}}, b: {of_b}}}, clipping: off}}",
        "target: below 19 days",
    )
    answers = released(workspace, changed(asked, tolerated=below(19.5))).answers
    assert {answer.verdict for answer in answers} == verdicts
    assert {len(answer.bands) for answer in answers} == {1 if Verdict.MET in verdicts else 3}


def test_every_group_is_judged_by_its_own_target(workspace: Workspace) -> None:
    own = (GroupTarget("web", below(2), below(6)), GroupTarget("letter", below(1.5)))
    asked = changed(catalogue(*BY_CHANNEL), below(6), below(8), own)
    series = released(workspace, asked)
    found = {a.group: (str(a.verdict), bands_text(a.bands)) for a in series.answers}
    # No case came by letter: noise alone decides there, and may be wrong one time in twenty.
    assert found.pop("letter")[1] == ""
    assert found == {"web": ("missed", "amber"), "phone": ("met", "green")}
    chances = {a.group: a.probability_met or 0 for a in series.answers}
    assert chances["web"] < 0.05
    assert chances["phone"] > 0.95
    shown = dict(series.group_targets)
    assert target_text(shown["web"]) == "below 2 days, tolerated below 6 days"
    assert series.target_of("phone") == series.target
    assert series.target_of("letter") == shown["letter"]


def test_a_group_without_a_target_has_no_verdict(workspace: Workspace) -> None:
    asked = changed(catalogue(*BY_CHANNEL), group_targets=(GroupTarget("web", below(6)),))
    for answer in released(workspace, asked).answers:
        has_target = answer.group == "web"
        assert (answer.verdict is not None) == has_target
        assert (answer.probability_met is not None) == has_target


@pytest.mark.parametrize("release", AIMED)
def test_a_release_cannot_aim_at_different_targets(workspace: Workspace, release: str) -> None:
    lines = (*BY_CHANNEL, "target: below 4 days", f"release: {release}")
    same = (GroupTarget("web", below(4)),)
    released(workspace, changed(catalogue(*lines), group_targets=same))
    for group_targets in ((GroupTarget("web", below(3)),), (*same, GroupTarget("phone", UP_TO_7))):
        asked = changed(catalogue(*lines), group_targets=group_targets)
        with pytest.raises(NotReleasable, match="its groups have their own targets"):
            released(workspace, asked)


def test_a_verdict_alone_has_no_bands(workspace: Workspace) -> None:
    lines = (*BY_CHANNEL, "target: below 4 days", "release: {answer: verdict}")
    of_a_group = (GroupTarget("web", below(4), below(6)),)
    for tolerated, group_targets in ((below(6), ()), (None, of_a_group)):
        asked = changed(catalogue(*lines), None, tolerated, group_targets)
        with pytest.raises(NotReleasable, match="not whether a miss is tolerated"):
            released(workspace, asked)
    value = (*BY_CHANNEL, "target: below 4 days", "release: {mechanism: threshold}")
    series = released(workspace, changed(catalogue(*value), tolerated=below(6)))
    assert all(answer.bands for answer in series.answers)


@pytest.mark.parametrize(
    ("target", "tolerated", "of_groups"),
    [
        (below(4), below(10), ()),
        (None, None, (GroupTarget("web", below(11)),)),
        (below(4), None, (GroupTarget("web", below(3), below(12)),)),
    ],
)
def test_no_bound_decides_a_band(
    workspace: Workspace,
    target: Target | None,
    tolerated: Target | None,
    of_groups: tuple[GroupTarget, ...],
) -> None:
    asked = changed(catalogue(*BY_CHANNEL), target, tolerated, of_groups)
    with pytest.raises(NotReleasable, match="at or beyond its bounds"):
        released(workspace, asked)


def test_bands_stand_in_records_tables_and_pages(workspace: Workspace) -> None:
    asked = changed(catalogue(*ALL_CASES), target=below(2), tolerated=below(6))
    series = released(workspace, asked)
    assert {to_wire(a)["band"] for a in series.answers} == {"amber"}
    assert {record["band"] for record in flat_records(series.answers)} == {"amber"}
    assert "◆ amber" in printed(series)
    assert "target below 2 days, tolerated below 6 days" in printed(series)
    page = report_html("Claims", [series], [], [], "2026-01-05 09:30 UTC")
    assert '<span class="verdict amber">◆ amber</span>' in page


MARKS = {
    Verdict.MET: VerdictMark.MET,
    Verdict.MISSED: VerdictMark.MISSED,
    Verdict.UNDECIDED: VerdictMark.UNCLEAR,
    None: None,
}


def test_a_verdict_on_a_smoothed_value_says_so_and_goes_by_it() -> None:
    for answer in EXTREMES["smoothed"].answers:
        assert judged_text(answer).startswith("≈")
        assert answer.smoothed is not None
        assert mark_of(answer) == MARKS[answer.smoothed.verdict]
    for answer in EXTREMES["bands"].answers:
        assert "≈" not in judged_text(answer)


def test_what_is_undecided_is_never_shown_as_sure() -> None:
    answer = replace(an_answer(5.0, 0.0, 30.0, verdict=Verdict.UNDECIDED), probability_met=0.999)
    assert judged_text(answer) == "○ unclear, 99 % likely met"
    assert judged_text(replace(answer, probability_met=0.0)) == "○ unclear, 1 % likely met"
