"""A period that may be empty carries no firm verdict, judged by what was released alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from pappi.checkpoint.answers import answer_of
from pappi.checkpoint.queries import planned
from pappi.ledger import KeyState
from pappi.mechanisms import TwoBin, TwoBinRatio
from pappi.mechanisms.laws import (
    half_width_of_two,
    laplace_at_least,
    laplace_probability,
    tail_of_two,
)
from pappi.planning import Plan
from pappi.ppinot import parse_catalogue
from pappi.report import answers_table
from pappi.report.wording import answer_text, judged_text
from pappi.session import Workspace
from pappi.values import Adjacency, Answer, Band, Bounds, Epsilon, Period, Verdict
from tests.small_logs import claims, workspace_with
from tests.unit.report_samples import BELOW_24, EXTREMES, a_series, an_answer
from tests.unit.test_tables import printed

MARCH = Period(date(2024, 3, 1), date(2024, 4, 1))
TENTH = Fraction(1, 10)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace_with(tmp_path_factory.mktemp("empty") / "w", claims(12))


def plan_of(workspace: Workspace, *lines: str) -> Plan:
    text = "log: small\nppis:\n  - id: asked\n" + "".join(f"    {line}\n" for line in lines)
    (ppi,) = parse_catalogue(text).ppis
    return planned(ppi, Epsilon.of("0.1"), workspace.log("small").public)


def answered(workspace: Workspace, plan: Plan, *noisy: int) -> Answer:
    log = workspace.log("small")
    return answer_of(plan, log, MARCH, None, [noisy], KeyState.RELEASED)


SHARE = ("measure: {share: {condition: 'activity == \"Reject\"'}}", "target: below 50 %")
_RATIO = (
    "{derive: rejected / received, "
    "rejected: {sum: {count: 'activity == \"Reject\"'}, within: received}, "
    "received: {sum: {count: 'activity == \"Receive\"'}}}"
)
RATIO = (
    f"measure: {_RATIO}",
    "bounds: {rejected: [0, 1], received: [0, 1]}",
    "target: below 0.5",
    "release: {clipping: off}",
)
SUM = ("measure: {sum: {condition: 'activity == \"Reject\"'}}", "target: below 200")


@pytest.mark.parametrize("lines", [SHARE, RATIO], ids=["share", "ratio"])
def test_noise_about_no_cases_is_never_a_firm_verdict(
    workspace: Workspace, lines: tuple[str, ...]
) -> None:
    """The first bin as noise would leave it, the second so large that it decides by itself."""
    plan = plan_of(workspace, *lines)
    reach = half_width_of_two(Fraction(10), 0.99)
    few, many = (answered(workspace, plan, -5, reach + 5 + more) for more in (0, 1))
    # The interval alone would have decided: that is the fault this rule is for.
    assert few.interval.high is not None
    assert few.interval.high < 50 if few.unit == "percent" else few.interval.high < 0.5
    assert (few.verdict, few.perhaps_empty) == (Verdict.UNDECIDED, True)
    assert (many.verdict, many.perhaps_empty) == (Verdict.MET, False)
    assert judged_text(few) == "○ unclear, perhaps no cases"


def test_a_sum_of_no_cases_is_a_firm_zero(workspace: Workspace) -> None:
    answer = answered(workspace, plan_of(workspace, *SUM), 0)
    assert (answer.verdict, answer.perhaps_empty) == (Verdict.MET, False)


def test_bands_of_a_period_that_may_be_empty_leave_everything_open(workspace: Workspace) -> None:
    lines = (SHARE[0], "target: {green: below 50 %, amber: below 80 %}")
    few = answered(workspace, plan_of(workspace, *lines), -5, 45)
    assert (few.verdict, few.bands) == (Verdict.UNDECIDED, tuple(Band))
    assert judged_text(few) == "○ unclear, perhaps no cases"


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20), Fraction(10**6)])
def test_one_empty_period_in_two_hundred_is_taken_for_more(scale: Fraction) -> None:
    reach = half_width_of_two(scale, 0.99)
    assert tail_of_two(scale, reach + 1) / 2 <= 0.005
    assert tail_of_two(scale, reach) / 2 > 0.005 or reach == 0


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(15)])
def test_the_tail_of_two_noises_is_that_of_their_sum(scale: Fraction) -> None:
    far = int(40 * scale) + 20
    one = [laplace_probability(scale, z) for z in range(-far, far + 1)]
    for k in (1, 3, int(4 * scale) + 1):
        beyond = sum(p * laplace_at_least(k - z, scale) for z, p in enumerate(one, -far))
        assert tail_of_two(scale, k) == pytest.approx(2 * beyond, rel=1e-9)


def test_a_margin_of_the_number_of_cases_comes_with_it() -> None:
    bounds = Bounds(Fraction(0), Fraction(1))
    share = TwoBin(bounds, TENTH, Adjacency.ADD_REMOVE, integral=True)
    found = share.estimate((40, 60))
    assert (found.cases, found.cases_margin) == (100, half_width_of_two(Fraction(10), 0.95))
    assert share.estimate((-40, 10)).cases == 0
    public = replace(share, adjacency=Adjacency.REPLACE).estimate((3, 7))
    assert (public.cases, public.cases_margin, public.least_cases) == (7, 0, 7)
    ratio = TwoBinRatio(bounds, TENTH, Adjacency.ADD_REMOVE, True, Fraction(1), bounds)  # noqa: FBT003
    least = ratio.estimate((40, 60)).least_cases
    assert least is not None
    assert 0 < least < 100


def test_even_a_smoothed_verdict_says_that_there_may_be_no_cases() -> None:
    """It is told by the other periods, so it may be firm."""
    (first, *_) = EXTREMES["smoothed"].answers
    empty = replace(first, perhaps_empty=True)
    assert judged_text(empty).startswith("≈")
    assert judged_text(empty).endswith(", perhaps no cases")
    assert answer_text(empty).endswith(", perhaps no cases")


def test_a_possibly_empty_period_is_told_in_its_table() -> None:
    empty = replace(
        an_answer(5.0, 0.0, 20.0, cases=11.0, verdict=Verdict.UNDECIDED),
        cases_margin=40.6,
        perhaps_empty=True,
        probability_met=0.99,
    )
    text = printed(answers_table(a_series([empty], target=BELOW_24)))
    assert "≈ 11 ± 41" in text
    assert "○ unclear, perhaps no cases" in text
