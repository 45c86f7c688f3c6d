"""Smoothing: from released values alone, right about its own uncertainty, and always marked."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.smoothing import SHAPES, Setting, of_sums, outcome, outcomes
from pappi.checkpoint import released_in_levels
from pappi.custody import NewLog
from pappi.errors import UsageError
from pappi.mechanisms import IntervalExtreme
from pappi.mechanisms.two_bin import share_interval
from pappi.ppinot import AggregatedMeasure, Bounding, Catalogue, parse_catalogue
from pappi.report import flat_records
from pappi.series import smoothed, smoothed_all, smoothed_values, whole_id
from pappi.series.likelihood import (
    certain_of_rank,
    far_off,
    log_likelihood,
    per_period_intervals,
    usual_size,
)
from pappi.series.posterior import posterior_of
from pappi.session import Workspace, to_wire
from pappi.store import open_workspace
from pappi.values import (
    Adjacency,
    Answer,
    Band,
    Bounds,
    Epsilon,
    LaplaceLikelihood,
    Likelihood,
    RankLikelihood,
    Series,
    ShownTarget,
    Terms,
    TwoBinLikelihood,
    Verdict,
)
from tests.commands import Run, answers_in
from tests.lengths import length, thinned
from tests.small_logs import claims, workspace_with
from tests.unit.report_samples import BANDED, BELOW_24, a_series, monthly

pytestmark = pytest.mark.outside

CATALOGUE = """
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
    scope: every month
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
    scope: every month
  - id: part
    measure:
      derive: 100 * rejected / received
      rejected: {sum: {count: activity == "Reject"}, within: received}
      received: {sum: {count: activity == "Receive"}}
    bounds: {rejected: [0, 1], received: [0, 2], value: [0, 100]}
    scope: every month
  - id: number
    measure: {sum: {count: activity == "Receive"}, bounds: [0, 1]}
    scope: every month
  - id: longest
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    scope: every month
  - id: middle
    measure: {median: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    scope: every month
  - id: by-channel
    measure:
      share: {condition: activity == "Reject"}
      by: {data: channel, values: [web, phone, letter]}
    scope: every month
"""


def catalogue(text: str = CATALOGUE) -> Catalogue:
    return parse_catalogue(text, "test.yaml")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(
        tmp_path / "w", claims(120), NewLog(terms=Terms(block_budget=Epsilon.of(3)))
    )


def released(workspace: Workspace, epsilon: str = "0.3") -> tuple[Series, ...]:
    return workspace.checkpoint().release(catalogue(), epsilon, anyway=True)


# --- the maths --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "usual"),
    [(2.0, 5.0, 3.0), (-0.5, 1.0, 0.7), (7.0, -2.0, 1.0), (0.0, 0.0, 20.0), (3.0, 3.0, 10.0)],
)
def test_the_likelihood_is_the_integral_it_claims_to_be(
    first: float, second: float, usual: float
) -> None:
    shares, sizes = np.array([0.01, 0.1, 0.3, 0.5, 0.9, 0.99]), np.linspace(0, 800, 400_001)

    def integral(share: float, mean: float) -> float:
        off = abs(first - sizes * share) + abs(second - sizes * (1 - share)) + sizes / mean
        return float(np.trapezoid(np.exp(-off), sizes)) / mean

    wanted = [0.75 * integral(p, usual) + 0.25 * integral(p, usual / 10) for p in shares]
    found = np.exp(log_likelihood(TwoBinLikelihood(first, second), shares, usual))
    assert found == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 0.8])
@pytest.mark.parametrize("usual", [0.5, 4.0, 60.0])
def test_sums_below_0_are_far_off_as_often_as_claimed(share: float, usual: float) -> None:
    rng = np.random.default_rng(3)
    sizes, noise = rng.exponential(usual, 400_000), rng.laplace(0, 1, (2, 400_000))
    first = np.maximum(sizes * share + noise[0], 0)
    second = np.maximum(sizes * (1 - share) + noise[1], 0)
    off = np.abs((1 - share) * first - share * second)
    for limit in (0.3, 1.5, 3.0):
        claimed = float(far_off(np.array([limit]), np.array([share]), usual)[0])
        assert np.mean(off > limit) == pytest.approx(claimed, rel=0.03, abs=0.0005)


@pytest.mark.parametrize("truth", [0.0, 0.02, 0.05, 0.09, 0.12, 0.3, 1.0])
def test_points_miss_as_often_as_they_may_also_at_an_end_of_the_range(truth: float) -> None:
    """But for some of those whose distance to the end is one that noise just bridges."""
    scale, missed = 0.02, 0.01
    points = truth + scale * np.linspace(-12, 12, 4_801)
    low, high = per_period_intervals(
        [LaplaceLikelihood(float(at), scale) for at in points], missed, 1.0
    )
    likely = np.exp(-np.abs(points - truth) / scale)
    misses = likely[(low > truth) | (truth > high)].sum() / likely.sum()
    assert misses <= missed * 1.02
    assert misses >= missed * (0.49 if truth == 0.09 else 0.98)


def test_an_empty_period_says_nothing() -> None:
    shares = np.linspace(0, 1, 11)
    assert np.ptp(log_likelihood(TwoBinLikelihood(0.0, 0.0), shares, 5.0)) == pytest.approx(
        0, abs=1e-12
    )


def test_the_noisiest_periods_move_most() -> None:
    found = posterior_of(
        [
            TwoBinLikelihood(30, 70),
            TwoBinLikelihood(32, 68),
            TwoBinLikelihood(29, 71),
            TwoBinLikelihood(3, 1),
        ]
    )
    raw = np.array([0.30, 0.32, 0.29, 0.75])
    moved = np.abs(found.means - raw)
    assert moved[3] > 0.1
    assert moved[:3].max() < 0.02
    assert found.high[3] - found.low[3] > found.high[0] - found.low[0]


def test_a_period_that_is_surely_different_stays_so() -> None:
    found = posterior_of([TwoBinLikelihood(100, 900)] * 9 + [TwoBinLikelihood(900, 100)])
    assert found.means[-1] == pytest.approx(0.9, abs=0.01)
    assert found.low[-1] > 0.8


def test_without_noise_worth_mentioning_nothing_is_smoothed() -> None:
    shares = np.array([0.2, 0.5, 0.3, 0.9])
    found = posterior_of([TwoBinLikelihood(1e6 * p, 1e6 * (1 - p)) for p in shares])
    assert found.means == pytest.approx(shares, abs=1e-4)
    points = posterior_of([LaplaceLikelihood(p, 1e-6) for p in shares])
    assert points.means == pytest.approx(shares, abs=1e-4)


def test_many_sure_periods_are_not_blurred() -> None:
    shares = np.linspace(0.1, 0.9, 60)
    found = posterior_of([TwoBinLikelihood(20_000 * p, 20_000 * (1 - p)) for p in shares])
    assert found.means == pytest.approx(shares, abs=1e-4)


def test_the_whole_time_draws_its_periods_along() -> None:
    months = [TwoBinLikelihood(1.0, 2.0), TwoBinLikelihood(2.0, 1.0), TwoBinLikelihood(0.5, 1.5)]
    low = posterior_of(months, whole=TwoBinLikelihood(50, 950)).means
    high = posterior_of(months, whole=TwoBinLikelihood(950, 50)).means
    assert (high - low > 0.3).all()


numbers = st.floats(-1e9, 1e9)
likelihoods = st.one_of(
    st.builds(TwoBinLikelihood, numbers, numbers),
    st.builds(LaplaceLikelihood, st.floats(-1e3, 1e3), st.floats(1e-9, 1e6)),
)


@given(st.lists(likelihoods, min_size=2, max_size=12), st.none() | likelihoods)
def test_whatever_was_released_the_result_is_a_range_around_its_value(
    found: list[Likelihood], whole: Likelihood | None
) -> None:
    posterior = posterior_of(found, whole=whole)
    assert np.isfinite(posterior.means).all()
    assert (posterior.low >= 0).all()
    assert (posterior.high <= 1).all()
    assert (posterior.low <= posterior.high).all()
    assert posterior.masses.sum(axis=1) == pytest.approx(1)
    low, high = per_period_intervals(found, 0.01, usual_size(found))
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()


@pytest.mark.parametrize(
    ("shape", "size"),
    thinned(list(product(["alike", "trend", "jump", "one far away"], [5.0, 50.0])), [0, 3, 5, 6]),
)
def test_all_intervals_of_a_series_hold_together_as_often_as_they_say(
    shape: str, size: float
) -> None:
    """Of 60 series, at 95 %: fewer than 51 would come about once in 3,000 times."""
    held = [each.held for each in outcomes(SHAPES[shape], size, 60, uneven=False)]
    assert sum(held) >= 51


SMALL = [
    Setting("3 alike", SHAPES["3 alike"], 1.5, 2.0),
    Setting("8 alike", lambda rng: np.clip(rng.normal(0.5, 0.1, 8), 0, 1), 1.0, 3.0),
    Setting("one far", lambda _: np.array([0.45, 0.5, 0.55, 0.5, 0.05]), 3.0, 1.0),
    Setting("a walk", lambda rng: 0.5 + np.cumsum(rng.normal(0, 0.02, 12)), 2.0, 2.0),
]


def test_where_little_is_known_intervals_hold_neither_too_rarely_nor_too_often() -> None:
    """Of 600 series, at 95 %. Sums below 0 that nobody believes made it more than 98 %."""
    series = length(75, 150)
    outcomes = (one.outcomes(series, 11 + seed, outcome) for seed, one in enumerate(SMALL))
    held = [each.held for own in outcomes for each in own]
    assert 0.94 <= np.mean(held) <= 0.975


def test_intervals_of_sums_hold_as_often_as_they_say() -> None:
    kind = Setting("uneven", lambda rng: rng.beta(2, 3, 12), 12.0, 1.0)
    held = [each.held for each in kind.outcomes(120, 5, of_sums)]
    assert 0.92 <= np.mean(held) <= 0.985


def test_range_is_that_of_the_answers_however_large_the_noise_is() -> None:
    for one in smoothed_values([LaplaceLikelihood(at, 5.0, 0.0, 1.0) for at in (4.0, -7.0, 0.5)]):
        assert one.interval.low is not None
        assert one.interval.high is not None
        assert 0 <= one.interval.low <= one.value <= one.interval.high <= 1


def test_smoothing_makes_noisy_series_better() -> None:
    found = list(outcomes(SHAPES["alike"], 5.0, 40, uneven=True))
    raw, better = (np.mean([getattr(o, which) for o in found]) for which in ("raw", "smoothed"))
    assert better < raw / 3


@given(st.lists(st.tuples(st.floats(-5, 300), st.floats(-5, 300)), min_size=2, max_size=6))
def test_intervals_are_no_wider_than_what_releases_promise_per_period_intervals(
    sums: list[tuple[float, float]],
) -> None:
    """Unless the model rules all of that out: then it has the last word."""
    alone = 0.96 ** (1 / len(sums))
    for one, pair in zip(
        smoothed_values([TwoBinLikelihood(*p, 0.0, 1.0) for p in sums]), sums, strict=True
    ):
        found = one.interval
        assert found.low is not None
        assert found.high is not None
        assert found.low <= one.value <= found.high
        # In steps of a thousandth of the noise: those are all but continuous.
        first, second = (round(1_000 * each) for each in pair)
        low, high = share_interval(first, second, Fraction(1_000), alone)
        within = low - 0.01 <= found.low and found.high <= high + 0.01
        assert within or found.low > high - 0.01 or found.high < low + 0.01


def test_a_sure_series_of_points_keeps_to_its_own_noise() -> None:
    points = [LaplaceLikelihood(at, 0.01, 0.0, 1.0) for at in (0.1, 0.5, 0.9)]
    for one, point in zip(smoothed_values(points), points, strict=True):
        assert one.interval.low is not None
        assert one.interval.high is not None
        reach = 0.01 * math.log(1 / (1 - 0.96 ** (1 / 3)))
        assert point.at - reach - 1e-6 <= one.interval.low
        assert one.interval.high <= point.at + reach + 1e-6


# --- extremes, drawn by rank ------------------------------------------------------------------


def test_the_likelihood_of_a_maximum_is_the_mixture_it_claims_to_be() -> None:
    drawn = 0.4

    def usual(top: float) -> float:
        points = np.linspace(0, 1, 2_001)
        found = []
        for many in (0.3, 1, 3, 10, 30, 100, 300, 1000):
            for power in (1, 2, 4, 8):
                density = np.exp(-many * np.maximum(1 - points / top, 0) ** power)
                found.append(np.interp(drawn, points, density) / np.trapezoid(density, points))
        return float(np.mean(found))

    for top in (0.2, 0.5, 0.9):
        below = np.mean([usual(end) for end in np.linspace(0.002, top, 100)])
        found = np.exp(log_likelihood(RankLikelihood(drawn), np.array([top]), 1.0))[0]
        assert found == pytest.approx(0.75 * usual(top) + 0.25 * below, rel=0.03)


def test_a_minimum_is_a_maximum_seen_from_the_other_end() -> None:
    drawn = [0.2, 0.5, 0.35, 0.6]
    largest = posterior_of([RankLikelihood(at) for at in drawn])
    smallest = posterior_of([RankLikelihood(1 - at, smallest=True) for at in drawn])
    assert smallest.means == pytest.approx(1 - largest.means, abs=0.01)


@pytest.mark.parametrize("function", ["max", "min"])
def test_intervals_of_extremes_are_no_narrower_than_what_holds_for_all_cases(
    function: Literal["max", "min"],
) -> None:
    bounds = Bounds(Fraction(0), Fraction(1))
    mechanism = IntervalExtreme(
        bounds, Fraction(1, 10), Adjacency.ADD_REMOVE, integral=False, function=function
    )
    highest, steps = mechanism.lattice.highest, 1 / mechanism.lattice.highest
    for point in (0, 1, 50, highest // 3, highest - 700, highest - 1, highest):
        low, high = mechanism.interval((point,), 0.99)
        least, most = certain_of_rank(RankLikelihood(point * steps, steps, function == "min"), 0.01)
        assert least <= low
        assert high <= most


def test_smoothed_maxima_are_closer_than_raw_ones() -> None:
    rng, raw, better = np.random.default_rng(5), [], []
    mechanism = IntervalExtreme(
        Bounds(Fraction(0), Fraction(1)),
        Fraction(1, 10),
        Adjacency.ADD_REMOVE,
        integral=False,
        function="max",
    )
    for _ in range(5):
        cases = [rng.exponential(0.1, 40) for _ in range(12)]
        draw = random.Random(int(rng.integers(1_000))).randrange  # noqa: S311 - a simulation
        drawn = [mechanism.estimate(mechanism.law(x).draw(draw)).value or 0.0 for x in cases]
        truth = np.array([min(x.max(), 1.0) for x in cases])
        raw.append(np.mean((np.array(drawn) - truth) ** 2))
        better.append(
            np.mean((posterior_of([RankLikelihood(at) for at in drawn]).means - truth) ** 2)
        )
    assert np.mean(better) < np.mean(raw) / 2


# --- a released series ------------------------------------------------------------------------


def test_smoothing_needs_neither_events_nor_ledger(workspace: Workspace) -> None:
    first = smoothed_all(released(workspace))
    shutil.rmtree(open_workspace(workspace.root).events)
    again = smoothed_all(released(workspace))
    assert record(again) == record(first)
    assert any(answer.smoothed for one in first for answer in one.answers)


def record(series: tuple[Series, ...]) -> str:
    """Byte for byte, but for what was charged when."""
    answers = [to_wire(answer) for one in series for answer in one.answers]
    for answer in answers:
        del answer["charged"], answer["replayed"]
    return json.dumps(answers)


def test_raw_values_intervals_and_verdicts_are_kept(workspace: Workspace) -> None:
    for raw in released(workspace):
        found = smoothed(raw)
        assert tuple(replace(a, smoothed=None) for a in found.answers) == raw.answers
        assert replace(found, answers=raw.answers, smoothing="") == raw


def test_what_can_be_smoothed_is_and_the_rest_says_why_not(workspace: Workspace) -> None:
    found = {one.ppi: one for one in smoothed_all(released(workspace))}
    for ppi in ("sojourn", "rejected", "part", "number", "by-channel", "longest"):
        assert all(answer.smoothed for answer in found[ppi].answers)
        assert found[ppi].smoothing.startswith("≈ smoothed")
    assert not any(answer.smoothed for answer in found["middle"].answers)
    assert found["middle"].smoothing.startswith("not smoothed")


def test_under_replace_the_public_number_of_cases_is_used(tmp_path: Path) -> None:
    new = NewLog(terms=Terms(block_budget=Epsilon.of(9), adjacency=Adjacency.REPLACE))
    place = workspace_with(tmp_path / "r", claims(120), new)
    found = {one.ppi: one for one in smoothed_all(released(place))}
    # A case always has its truth values and counts, so that their number is known.
    for answer in (*found["rejected"].answers, *found["number"].answers):
        assert isinstance(answer.likelihood, LaplaceLikelihood)
        assert answer.smoothed
        assert answer.likelihood.low is not None
        assert answer.likelihood.low <= answer.smoothed.value


def test_groups_do_not_borrow_from_each_other(workspace: Workspace) -> None:
    (series,) = (one for one in released(workspace) if one.ppi == "by-channel")
    web = tuple(answer for answer in series.answers if answer.group == "web")
    alone = smoothed(replace(series, answers=web)).answers
    together = [a for a in smoothed(series).answers if a.group == "web"]
    assert list(alone) == together


def test_one_period_alone_is_not_smoothed() -> None:
    one = smoothed(with_likelihoods([(3.0, 7.0)]))
    assert one.answers[0].smoothed is None
    assert "at least two periods" in one.smoothing


def with_likelihoods(sums: list[tuple[float, float]], target: ShownTarget | None = None) -> Series:
    answers = [
        replace(answer, likelihood=TwoBinLikelihood(first, second, 0.0, 100.0))
        for answer, (first, second) in zip(
            monthly([50.0] * len(sums), 50.0, target), sums, strict=True
        )
    ]
    return a_series(answers, target=target)


def bests(series: Series) -> list[Answer]:
    return [answer for answer in series.answers if answer.smoothed]


def test_verdicts_go_by_the_smoothed_interval_and_by_all_of_it() -> None:
    met = smoothed(with_likelihoods([(10.0, 900.0)] * 4, BELOW_24))
    missed = smoothed(with_likelihoods([(900.0, 10.0)] * 4, BELOW_24))
    open_ = smoothed(with_likelihoods([(24.0, 76.0)] * 4, BELOW_24))
    assert {a.best.verdict for a in bests(met)} == {Verdict.MET}
    assert {a.best.verdict for a in bests(missed)} == {Verdict.MISSED}
    assert {a.best.verdict for a in bests(open_)} == {Verdict.UNDECIDED}
    assert all((a.best.probability_met or 0) > 0.99 for a in bests(met))
    assert all(0.2 < (a.best.probability_met or 0) < 0.8 for a in bests(open_))


def test_at_the_limit_a_smoothed_verdict_is_that_of_a_release() -> None:
    """An interval that ends at the limit keeps the target if the limit is part of it."""
    sums = [(10.0, 900.0)] * 4
    end = smoothed(with_likelihoods(sums)).answers[0].best.interval.high
    assert end is not None
    for included, verdict in ((True, Verdict.MET), (False, Verdict.UNDECIDED)):
        target = ShownTarget(None, end, "up to there", high_included=included)
        assert {a.best.verdict for a in bests(smoothed(with_likelihoods(sums, target)))} == {
            verdict
        }


@given(st.lists(st.tuples(st.floats(-5, 60), st.floats(-5, 60)), min_size=2, max_size=6))
def test_bands_are_never_surer_than_the_verdict(sums: list[tuple[float, float]]) -> None:
    for answer in bests(smoothed(with_likelihoods(sums, BANDED))):
        shown = answer.best
        assert shown.bands
        assert (shown.verdict is Verdict.MET) == (shown.bands == (Band.GREEN,))
        assert (shown.verdict is Verdict.MISSED) == (Band.GREEN not in shown.bands)


def test_a_ratio_that_counts_downwards_keeps_its_ends_in_order() -> None:
    series = with_likelihoods([(3.0, 7.0), (4.0, 6.0)])
    turned = [
        replace(a, likelihood=TwoBinLikelihood(3.0, 7.0, 0.0, -100.0)) for a in series.answers
    ]
    for answer in smoothed(replace(series, answers=tuple(turned))).answers:
        assert answer.smoothed is not None
        low, high = answer.smoothed.interval.low, answer.smoothed.interval.high
        assert low is not None
        assert high is not None
        assert -100 <= low <= answer.smoothed.value <= high <= 0


def test_every_row_has_the_same_columns_smoothed_or_not(workspace: Workspace) -> None:
    series = smoothed_all(released(workspace))
    rows = flat_records([answer for ppi in series for answer in ppi.answers], smoothed=True)
    assert len({tuple(row) for row in rows}) == 1
    assert {"smoothed_value", "smoothed_verdict", "value", "verdict"} <= set(rows[0])


# --- two levels -------------------------------------------------------------------------------


def in_levels(asked: Catalogue, epsilon: Epsilon | None, share: Fraction) -> Catalogue:
    """What is released of a catalogue whose whole time has a share of ε."""
    requests: list[Catalogue] = []

    def release(catalogue: Catalogue) -> tuple[Series, ...]:
        requests.append(catalogue)
        return ()

    released_in_levels(release, asked, epsilon, share)
    (levels,) = requests
    return levels


def test_two_levels_cost_together_what_one_does(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    asked = in_levels(catalogue(), Epsilon.of("0.3"), Fraction(1, 3))
    series = smoothed_all(analyst.release(asked, anyway=True))
    spent = {line.spent for line in analyst.budget("small") if line.spent != Epsilon.of(0)}
    assert spent == {Epsilon.of("2.1")}  # seven PPIs
    found = {one.ppi: one for one in series}
    # The shares are about the same cases, and share a draw with the means at both levels.
    for ppi, each in ((whole_id("sojourn"), "0.1"), ("sojourn", "0.2")):
        answer = found[ppi].answers[0]
        assert answer.charged == Epsilon.of(each)
        assert answer.guarantee.epsilon.nano == answer.guarantee.shared_by * answer.charged.nano


def test_only_series_of_means_have_a_level_above(workspace: Workspace) -> None:
    ids = {ppi.id for ppi in in_levels(catalogue(), None, Fraction(1, 2)).ppis}
    above = {each.removesuffix("-whole") for each in ids if each.endswith("-whole")}
    assert above == {"sojourn", "rejected", "part", "by-channel"}
    assert workspace.checkpoint().unreleasable(in_levels(catalogue(), None, Fraction(1, 2))) == []


def test_the_whole_time_changes_what_is_believed_and_is_not_smoothed_itself(
    workspace: Workspace,
) -> None:
    asked = in_levels(catalogue(), Epsilon.of("0.3"), Fraction(1, 2))
    raw = {one.ppi: one for one in workspace.checkpoint().release(asked, anyway=True)}
    both = {one.ppi: one for one in smoothed_all(tuple(raw.values()))}
    assert both["sojourn"] == smoothed(raw["sojourn"], raw[whole_id("sojourn")])
    assert both["sojourn"] != smoothed(raw["sojourn"])
    assert both[whole_id("sojourn")] == raw[whole_id("sojourn")]


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(3, 2)])
def test_a_share_that_leaves_nothing_is_refused(share: Fraction) -> None:
    with pytest.raises(UsageError, match=r"between 0\.01 and 0\.99"):
        in_levels(catalogue(), None, share)


def test_an_id_that_is_taken_is_refused() -> None:
    taken = catalogue(CATALOGUE.replace("id: number", "id: rejected-whole"))
    with pytest.raises(UsageError, match="rejected-whole"):
        in_levels(taken, None, Fraction(1, 2))


LOOSE = """
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 300 days]
    target: below 4 days
    scope: every month
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
    scope: every month
"""


def test_a_ceiling_from_the_whole_time_bounds_the_periods_and_costs_nothing_more(
    workspace: Workspace,
) -> None:
    analyst = workspace.checkpoint()
    found = released_in_levels(analyst.release, loose(), Epsilon.of("0.5"), Fraction(1, 2))
    spent = {line.spent for line in analyst.budget("small") if line.spent != Epsilon.of(0)}
    assert spent == {Epsilon.of(1)}  # two PPIs
    series = {one.ppi: one for one in smoothed_all(found)}
    assert set(series) == {"sojourn", "sojourn-whole", "rejected", "rejected-whole"}
    (whole,) = series["sojourn-whole"].answers
    assert whole.ceiling is not None
    for answer in series["sojourn"].answers:
        assert isinstance(answer.likelihood, TwoBinLikelihood)
        assert answer.likelihood.high == pytest.approx(whole.ceiling)
        assert answer.smoothed
    assert series["sojourn"] == smoothed(without(series["sojourn"]), series["sojourn-whole"])
    assert series["sojourn"] != smoothed(without(series["sojourn"]))


def test_periods_that_choose_ceilings_of_their_own_are_not_compared(workspace: Workspace) -> None:
    (sojourn, _) = smoothed_all(workspace.checkpoint().release(loose(), "0.5"))
    ceilings = {answer.ceiling for answer in sojourn.answers}
    assert len(ceilings) == 1 or not any(answer.smoothed for answer in sojourn.answers)


def loose() -> Catalogue:
    found = catalogue(LOOSE)
    sojourn, *others = found.ppis
    assert isinstance(sojourn.measure, AggregatedMeasure)
    measure = replace(sojourn.measure, bounding=Bounding.LOOSE)
    return replace(found, ppis=(replace(sojourn, measure=measure), *others))


def without(series: Series) -> Series:
    """As it was before smoothing."""
    raw = tuple(replace(answer, smoothed=None) for answer in series.answers)
    return replace(series, answers=raw, smoothing="")


# --- the command ------------------------------------------------------------------------------


@pytest.fixture
def release(workspace: Workspace, tmp_path: Path, run: Run) -> Run:
    file = tmp_path / "asked.yaml"
    file.write_text(CATALOGUE, encoding="utf-8")
    return partial(run, "-w", workspace.root, "release", file, "--anyway")


def test_smoothing_after_a_release_is_free_and_leaves_its_record_alone(release: Run) -> None:
    raw = answers_in(release("--json")[1])
    assert not any(answer.pop("smoothed") for answer in raw)
    found = answers_in(release("--json", "--smooth")[1])
    assert [answer.pop("smoothed") for answer in found].count(None) == 3  # the median
    assert {answer["charged"] for answer in found} == {"0"}
    for answer in (*raw, *found):
        del answer["charged"], answer["replayed"]
    assert found == raw


def test_the_command_splits_epsilon_between_in_levels(release: Run) -> None:
    code, text, _ = release("--csv", "--smooth", "--whole", "0.4", "--ppi", "rejected")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert code == 0
    assert {row["ppi"]: row["guarantee_epsilon"] for row in rows} == {
        "rejected": "0.06",
        "rejected-whole": "0.04",
    }
    assert all(row["smoothed_value"] for row in rows if row["ppi"] == "rejected")


@pytest.mark.parametrize("options", [("--whole", "0.5"), ("--smooth", "--whole", "1.5")])
def test_a_share_without_meaning_is_refused_before_anything_is_charged(
    release: Run, workspace: Workspace, options: tuple[str, ...]
) -> None:
    assert release(*options)[0] == 2
    assert {line.spent for line in workspace.checkpoint().budget("small")} == {Epsilon.of(0)}
