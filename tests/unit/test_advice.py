"""Advice before paying: what tells nothing is said first, and what is offered instead decides."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest

from pappi.checkpoint.answers import answer_of
from pappi.custody import NewLog
from pappi.errors import TellsNothing
from pappi.ledger import KeyState
from pappi.mechanisms import Floats
from pappi.planning import (
    Plan,
    advice_on,
    alternatives_to,
    chance_to_decide,
    expected_cases,
    interval_of,
    is_enough,
    part_of_range,
    plan_alone,
    plan_by_need,
    plan_ppi,
    why_nothing,
)
from pappi.planning.advice import LADDER
from pappi.planning.forecasts import SERIES_PERIODS
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    Ppi,
    parse_catalogue,
    reduced_form,
)
from pappi.session import Workspace
from pappi.store import LogDeclaration
from pappi.values import (
    ENOUGH_CHANCE,
    ZERO,
    Adjacency,
    CaseBorder,
    Epsilon,
    Kind,
    Period,
    Terms,
    Verdict,
    Vocabulary,
    judge,
)
from tests.public_logs import public_log
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.advised

WORDS = Vocabulary(("A", "B", "C"), {"amount": Kind.NUMBER})
TIME = "{time: {from: {activity: A}, to: {activity: B}}, unit: hours}"
BOUNDS = "bounds: [0 hours, 72 hours]"
TARGET = "target: below 24 hours"
BY_RANK = "release: {mechanism: interval}"
TENTH = Epsilon.of("0.1")


def ppi_of(measure: str, *more: str, scope: str = "every month", ppi: str = "asked") -> Ppi:
    lines = (f"id: {ppi}", f"measure: {measure}", *more, f"scope: {scope}")
    text = "log: planned\nppis:\n  - " + "\n    ".join(lines) + "\n"
    (found,) = parse_catalogue(text).ppis
    return reduced_form(found, CaseBorder.END)


def plan_of(measure: str, *more: str, cases: int = 300, epsilon: Epsilon = TENTH) -> Plan:
    return plan_ppi(ppi_of(measure, *more), epsilon, public_log(WORDS, cases))


MEAN = (f"{{mean: {TIME}}}", BOUNDS, TARGET)
UNCOUNTED = "release: {clipping: off}"
TELLING_NOTHING = {
    "a median": (f"{{median: {TIME}}}", BOUNDS, TARGET, BY_RANK),
    "a percentile": (f"{{percentile: {TIME}, percent: 90}}", BOUNDS, TARGET, BY_RANK),
    "a maximum": (f"{{max: {TIME}}}", BOUNDS, TARGET),
}


TRIED = {
    "a mean": MEAN,
    "a share": ("{share: {condition: activity == 'B'}}", "target: at most 20 %"),
    "a sum": (f"{{sum: {TIME}}}", BOUNDS, "target: below 5000 hours"),
    "a count": ("{number: cases}", "target: at least 100"),
    "a median": (f"{{median: {TIME}}}", BOUNDS, TARGET),
}


@pytest.mark.parametrize("lines", TELLING_NOTHING.values(), ids=TELLING_NOTHING)
def test_what_is_mostly_the_whole_range_tells_nothing(lines: tuple[str, ...]) -> None:
    assert why_nothing(plan_of(*lines))
    assert (chance_to_decide(plan_of(*lines)) or 0.0) < 0.1


def test_a_median_decides_where_it_is_read_off_a_histogram() -> None:
    median = (f"{{median: {TIME}}}", BOUNDS, TARGET)
    assert not why_nothing(plan_of(*median))
    assert (chance_to_decide(plan_of(*median, epsilon=Epsilon.of("0.5"))) or 0.0) > 0.5


@pytest.mark.parametrize("target", ["below 3 hours", "below 66 hours"])
def test_a_median_whose_target_is_near_a_bound_may_decide_as_well(target: str) -> None:
    """Most values lie far away from such a target."""
    median = plan_of(f"{{median: {TIME}}}", BOUNDS, f"target: {target}", cases=220)
    assert median.mechanism == "histogram"
    assert not why_nothing(median)


def test_an_interval_that_is_the_whole_range_tells_nothing_without_a_target() -> None:
    """Such an answer is a dash. Asked for as advice, it never is."""
    for function in ("median", "max"):
        plan = plan_of(f"{{{function}: {TIME}}}", BOUNDS, BY_RANK)
        assert "most likely be its whole range" in why_nothing(plan)
    log = public_log(WORDS, 750)
    percentile = plan_of(f"{{percentile: {TIME}, percent: 90}}", BOUNDS, cases=750)
    found = alternatives_to(replace(percentile, epsilon=Epsilon.of("0.04")), log, [percentile])
    assert any("median" in each.change for each in found)
    assert all(each.interval_half_width <= 7.2 for each in found if each.interval_half_width)


def test_private_bounds_of_values_of_either_sign_tell_nothing() -> None:
    """Every figure would be a dash: how far values lie beyond the clipping bound nobody knows."""
    for target in ((), ("target: below 400",)):
        plan = plan_of("{mean: {data: amount}}", "bounds: private", *target)
        assert "always its whole range" in why_nothing(plan)


@pytest.mark.parametrize("bounds", ["bounds: private", "bounds: [0 hours, 9000 hours, loose]"])
def test_a_target_that_can_only_be_missed_is_said_before_it_is_paid_for(bounds: str) -> None:
    mean = f"{{mean: {TIME}}}"
    below, above = (
        plan_of(mean, bounds, f"target: {target} 24 hours") for target in ("below", "above")
    )
    assert not why_nothing(below)
    assert "can be 'missed' and never 'met'" in advice_on(below)
    assert "never" not in advice_on(above)
    assert "never" not in advice_on(plan_of(mean, BOUNDS, TARGET))


def test_a_margin_wider_than_half_the_range_tells_nothing_even_without_a_target() -> None:
    few, many = (plan_of(*MEAN[:2], cases=cases) for cases in (10, 300))
    assert (part_of_range(few) or 0.0) > 0.5
    assert "its whole range is only 72 hours" in why_nothing(few)
    assert chance_to_decide(few) is None
    assert not why_nothing(many)


def test_more_epsilon_and_more_cases_never_decide_less() -> None:
    mean = (*MEAN, UNCOUNTED)
    by_epsilon = [chance_to_decide(plan_of(*mean, epsilon=e)) or 0.0 for e in LADDER[:21:4]]
    by_cases = [chance_to_decide(plan_of(*mean, cases=n)) or 0.0 for n in (10, 100, 1_000, 10_000)]
    assert by_epsilon == sorted(by_epsilon)
    assert by_cases == sorted(by_cases)
    assert by_epsilon[0] < 0.2 < ENOUGH_CHANCE < by_epsilon[-1]


@pytest.mark.parametrize("epsilon", ["0.05", "0.1", "0.3"])
def test_the_chance_to_decide_is_how_often_releases_decide(epsilon: str) -> None:
    """Of values around the target that are made otherwise: any mean there, of exponential times."""
    plan = plan_of(*MEAN, UNCOUNTED, epsilon=Epsilon.of(epsilon))
    chance = random.Random(3)  # noqa: S311
    (part,), hour = plan.measurements, 3_600e6
    firm: list[bool] = []
    for _ in range(400):
        mean = chance.uniform(0, 48) * hour
        values = np.random.default_rng(len(firm)).uniform(0.5, 1.5, 300) * mean
        released = {ROOT: part.mechanism.law(values).draw(chance.randrange)}
        assert plan.ppi.target is not None
        firm.append(judge(plan.ppi.target, *interval_of(plan, released)) is not Verdict.UNDECIDED)
    assert np.mean(firm) == pytest.approx(chance_to_decide(plan), abs=0.1)


@pytest.mark.parametrize("lines", TRIED.values(), ids=TRIED)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_promised_chance_is_how_often_answers_are_firm(
    lines: tuple[str, ...], adjacency: Adjacency
) -> None:
    """As they are answered: with what is counted beyond the bounds, in series of four."""
    public = public_log(WORDS, 300, adjacency=adjacency)
    log = LogDeclaration(data="x", table="x", public=public)
    plan, chance = plan_alone(ppi_of(*lines), Epsilon.of("0.3"), public), random.Random(5)  # noqa: S311
    (part,), target, verdicts = plan.measurements, plan.ppi.target, list[bool]()
    assert target is not None
    limit, month = float(target.high or target.low or 0), Period(date(2024, 3, 1), date(2024, 4, 1))
    for place in np.linspace(-0.975, 0.975, 40):
        law = part.mechanism.law(_values(part.inputs[0], limit * (1 + place)))
        drawn = [law.draw(chance.randrange) for _ in range(SERIES_PERIODS)]
        counted = [each for noisy in drawn if (each := part.mechanism.beyond(noisy)) is not None]
        pool = reduce(add, counted) if counted else None
        answers = (
            answer_of(plan, log, month, None, [noisy], KeyState.RELEASED, pool) for noisy in drawn
        )
        verdicts += [answer.verdict is not Verdict.UNDECIDED for answer in answers]
    assert np.mean(verdicts) == pytest.approx(chance_to_decide(plan), abs=0.08)


def _values(measure: AggregatedMeasure, value: float) -> Floats:
    """Of 300 cases."""
    if measure.function is Aggregation.SHARE:
        return (np.arange(300) < round(300 * value)).astype(np.float64)
    if measure.base == EVERY_CASE:
        return np.ones(round(value))
    if measure.function is Aggregation.MEDIAN:  # otherwise than assumed: of exponential times
        return np.asarray(value * -np.log2(1 - (np.arange(300) + 0.5) / 300))
    return np.full(300, value / (300 if measure.function is Aggregation.SUM else 1))


# --- what to ask instead ----------------------------------------------------------------


FREE = [lines[:3] for lines in (*TELLING_NOTHING.values(), MEAN)]


@pytest.mark.parametrize("lines", FREE, ids=[*TELLING_NOTHING, "mean"])
def test_every_alternative_decides_at_its_price_and_at_none_below(lines: tuple[str, ...]) -> None:
    log, plan = public_log(WORDS, 100), plan_of(*lines, cases=100)
    found = alternatives_to(plan, log, [plan])
    assert 0 < len(found) <= 4
    assert [each.epsilon for each in found] == sorted(each.epsilon for each in found)
    for each in found:
        (ppi,) = parse_catalogue(each.yaml).ppis
        ppi = reduced_form(ppi, CaseBorder.END)
        assert ppi.epsilon == each.epsilon <= log.terms.block_budget
        assert is_enough(plan_alone(ppi, each.epsilon, log))
        less = [step for step in LADDER if step < each.epsilon][-1]
        assert not is_enough(plan_alone(ppi, less, log))


@pytest.mark.parametrize(
    ("measure", "target", "share"),
    [
        (f"{{median: {TIME}}}", "below 24 hours", "at least 50 %"),
        (f"{{percentile: {TIME}, percent: 90}}", "at most 24 hours", "at least 90 %"),
        (f"{{percentile: {TIME}, percent: 90}}", "at least 24 hours", "at least 10 %"),
    ],
)
def test_a_percentile_is_met_if_the_share_is(measure: str, target: str, share: str) -> None:
    log = public_log(WORDS, 2_000)
    plan = plan_ppi(ppi_of(measure, BOUNDS, f"target: {target}"), TENTH, log)
    shares = [each for each in alternatives_to(plan, log, [plan]) if "share" in each.change]
    (found,) = shares
    assert "the same verdict" in found.change
    assert f"target: {share}" in found.yaml


def test_a_sum_is_not_asked_for_a_longer_time_as_its_target_would_be_another() -> None:
    log = public_log(WORDS, 100)
    plan = plan_ppi(ppi_of("{number: cases}", "target: above 100"), Epsilon.of("0.01"), log)
    assert not any("every" in each.change for each in alternatives_to(plan, log, [plan]))


# --- what is refused --------------------------------------------------------------------

DAYS = "{time: {from: case start, to: case end}, unit: days}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(90), NewLog(terms=Terms(expected_cases=100)))


def asked(function: str, scope: str = "scope: whole time") -> Catalogue:
    lines = f"id: asked, measure: {{{function}: {DAYS}}}, bounds: [0 days, 10 days], {scope}"
    return parse_catalogue(f"log: small\nppis: [{{{lines}, target: below 4 days}}]")


def spent(workspace: Workspace) -> Epsilon:
    return max(line.spent for line in workspace.checkpoint().budget("small"))


@pytest.mark.outside
def test_what_tells_nothing_is_not_charged_unless_it_is_wanted_anyway(
    workspace: Workspace,
) -> None:
    session, query = workspace.checkpoint(), asked("max")
    with pytest.raises(TellsNothing, match="would tell you nothing") as refused:
        session.release(query)
    assert "share of cases below 4 days" in refused.value.hint
    assert "so would" not in str(refused.value)
    assert refused.value.hint_of_command.endswith("--anyway")
    assert spent(workspace) == ZERO
    (series,) = session.release(query, anyway=True)
    assert spent(workspace) > ZERO
    # What is on record is free, and never needs it.
    (again,) = session.release(query)
    assert [a.value for a in again.answers] == [a.value for a in series.answers]


@pytest.mark.outside
def test_a_refusal_names_all_that_would_tell_nothing(workspace: Workspace) -> None:
    (longest,) = asked("max").ppis
    several = Catalogue("small", (longest, replace(longest, id="other")))
    with pytest.raises(TellsNothing, match=r"PPI 'asked' would tell .*; so would 'other'$"):
        workspace.checkpoint().release(several)


@pytest.mark.outside
def test_a_subscription_to_it_reserves_nothing(workspace: Workspace) -> None:
    session, until = workspace.checkpoint(), date(2025, 6, 1)
    monthly = asked("max", "scope: every month")
    with pytest.raises(TellsNothing):
        session.subscribe(monthly, until)
    assert session.subscriptions() == ()
    session.subscribe(monthly, until, anyway=True)
    assert len(session.subscriptions()) == 1


@pytest.mark.outside
def test_advice_has_alternatives_also_where_a_query_only_may_not_decide(
    workspace: Workspace,
) -> None:
    session, query = workspace.checkpoint(), asked("mean")
    (previewed,), (advised,) = session.preview(query, "0.01"), session.advise(query, "0.01")
    assert replace(advised, alternatives=previewed.alternatives) == previewed
    assert advised.alternatives


# --- ε by need --------------------------------------------------------------------------


def epsilons(plans: tuple[Plan, ...]) -> dict[str, Epsilon]:
    return {plan.ppi.id: plan.epsilon for plan in plans}


WEEKLY = ppi_of(f"{{mean: {TIME}}}", BOUNDS, TARGET, scope="every week", ppi="weekly")
MONTHLY = ppi_of(f"{{mean: {TIME}}}", BOUNDS, TARGET, ppi="monthly")
HOPELESS = ppi_of(f"{{median: {TIME}}}", BOUNDS, TARGET, ppi="hopeless")


def test_whoever_needs_less_gets_less_and_none_depends_on_another_if_all_fit() -> None:
    log = public_log(WORDS, 5_000)
    together = epsilons(plan_by_need([MONTHLY, WEEKLY], log))
    assert together["monthly"] < together["weekly"] < TENTH
    for ppi in (MONTHLY, WEEKLY):
        assert epsilons(plan_by_need([ppi], log))[ppi.id] == together[ppi.id]
        (plan,) = plan_by_need([ppi], log)
        assert is_enough(plan)
        assert "suffices to decide" in plan.because


def test_what_is_left_of_a_tenth_makes_a_verdict_surer() -> None:
    """But no more of it than that takes, and no part of another's."""
    (some,), (many,) = (plan_by_need([MONTHLY], public_log(WORDS, n)) for n in (2_000, 100_000))
    assert (chance_to_decide(some) or 0) >= 0.9
    assert Epsilon.of("0.01") == many.epsilon < some.epsilon < TENTH
    below = LADDER[LADDER.index(some.epsilon) - 1]
    assert not is_enough(plan_alone(MONTHLY, below, public_log(WORDS, 2_000)), 0.9)


@pytest.mark.parametrize("cases", [5, 100, 300, 1_000, 100_000])
def test_no_more_than_a_tenth_each_is_divided_and_order_decides_nothing(cases: int) -> None:
    log, ppis = public_log(WORDS, cases), [MONTHLY, WEEKLY, HOPELESS]
    first = epsilons(plan_by_need(ppis, log))
    assert sum(epsilon.nano for epsilon in first.values()) <= 3 * TENTH.nano
    assert min(first.values()) >= Epsilon.of("0.01")
    assert epsilons(plan_by_need(ppis[::-1], log)) == first


def test_where_it_does_not_suffice_for_all_the_cheapest_verdict_is_paid_first() -> None:
    log = public_log(WORDS, 300)
    plans = {plan.ppi.id: plan for plan in plan_by_need([WEEKLY, MONTHLY, HOPELESS], log)}
    assert is_enough(plans["monthly"])
    assert not is_enough(plans["weekly"])


@pytest.mark.outside
def test_a_release_without_an_epsilon_is_replayed_and_an_explicit_one_obeyed(
    workspace: Workspace,
) -> None:
    session, query = workspace.checkpoint(), asked("mean")
    session.release(query)
    once = spent(workspace)
    session.release(query)
    assert spent(workspace) == once <= TENTH
    session.release(query, "0.2")
    assert spent(workspace) == Epsilon(once.nano + Epsilon.of("0.2").nano)


def test_alternatives_count_on_the_cases_that_are_on_record() -> None:
    """Of 100 that are declared and 800 that were counted, ε for 100 would be far too much."""
    log = public_log(WORDS, 100)
    plan = plan_alone(ppi_of(*MEAN), Epsilon.of("0.01"), log)
    declared, counted = (
        {each.change: each.epsilon for each in alternatives_to(expecting, log, [expecting])}
        for expecting in (plan, plan.expecting(expected_cases(log, plan.ppi, 800)))
    )
    assert counted["give it more ε"].nano * 6 < declared["give it more ε"].nano


def test_a_limit_in_advice_is_the_one_that_was_asked_for_and_never_an_exponent() -> None:
    text = (
        "log: x\nppis: [{id: a, measure: {max: {data: cost}}, bounds: [0, 500000], unit: EUR, "
        "target: below 40125.5, scope: every month}]"
    )
    words = Vocabulary(("A",), {"cost": Kind.NUMBER})
    plan = plan_alone(parse_catalogue(text).ppis[0], Epsilon.of("0.01"), public_log(words, 900))
    changes = [each.change for each in alternatives_to(plan, public_log(words, 900), [plan])]
    assert any("below 40,125.5 EUR" in change for change in changes)
    measure = plan.ppi.measure
    assert isinstance(measure, AggregatedMeasure)
    mean = replace(plan.ppi, measure=replace(measure, function=Aggregation.MEAN))
    told = why_nothing(plan_alone(mean, Epsilon.of("0.001"), public_log(words, 900)))
    assert "its whole range is only 500,000 EUR" in told


def test_what_shares_a_draw_is_released_by_itself_rather_than_given_more() -> None:
    log = public_log(WORDS, 60)
    plan = replace(plan_alone(ppi_of(*MEAN), TENTH, log), together=("asked", "other"))
    changes = [each.change for each in alternatives_to(plan, log, [plan])]
    assert "release it by itself" in changes
    assert "give it more ε" not in changes
