"""Releases that know the target: the decision, value and decision, and how sure one may be."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.audit import JointRelease, neighbours
from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import (
    PER_CASE,
    AnchoredMean,
    DiscreteLaplaceLaw,
    HexagonRatio,
    IntervalExtreme,
    IntervalQuantile,
    JointLaw,
    LaplaceExtreme,
    LaplaceSum,
    Limit,
    Mechanism,
    NoisyIntegers,
    NoisyMargin,
    Outcome,
    RatioMargin,
    SampleAndAggregate,
    StepLaw,
    Task,
    TwoBin,
    TwoBinRatio,
    TwoStage,
    Values,
    decision_epsilon,
    mechanism_for,
    system_randbelow,
)
from pappi.mechanisms.laws import NoisySign, StagedLaw, falling_weights
from pappi.mechanisms.threshold import QuantileMargin
from pappi.mechanisms.two_bin import weighted_tail
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.lengths import length, pairwise

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
TENTH, ONE, THREE = Fraction(1, 10), Fraction(1), Fraction(3)
EIGHT = Bounds(Fraction(0), Fraction(8))
HUNDRED = Bounds(Fraction(0), Fraction(100))
ENDS = [Limit(Fraction(3), *end) for end in product([True, False], [True, False])]
RANKED = ["max", "min", "median", "p90"]
DRAWS = 4000


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def bulk(mechanism: NoisyIntegers, truth: Outcome, n: int = DRAWS) -> list[Outcome]:
    """Releases around given statistics, reproducible and much faster than the real sampler."""
    rng = np.random.default_rng(11)
    columns = []
    for number, scale in zip(truth, mechanism.scales, strict=True):
        stop = 1 if scale is None else -math.expm1(-float(1 / scale))
        noise = rng.geometric(stop, n) - rng.geometric(stop, n)
        columns.append([number + int(z) for z in noise])
    return list(zip(*columns, strict=True))


def decided(
    function: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
    limit: Limit,
) -> NoisyMargin:
    """Whether the function keeps a limit, and nothing else."""
    return NoisyMargin.made_for(Task(function, bounds, epsilon, adjacency, integral, limit=limit))


def kept(value: float, limit: Limit) -> bool:
    if value == float(limit.value):
        return limit.included
    return (value < limit.value) == limit.at_most


# --- the decision alone -----------------------------------------------------------------


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", [TENTH, ONE])
@pytest.mark.parametrize("late", [40, 49, 52, 70])
def test_a_decision_is_wrong_as_often_as_it_says(
    late: int, epsilon: Fraction, adjacency: Adjacency
) -> None:
    limit = Limit(Fraction(1, 2), at_most=True)
    mechanism = decided("share", UNIT_INTERVAL, epsilon, adjacency, integral=True, limit=limit)
    values = array(*[1.0] * late, *[0.0] * (100 - late))
    law = mechanism.law(values)
    assert isinstance(law, JointLaw)
    (noisy,) = law.parts
    assert isinstance(noisy, DiscreteLaplaceLaw)
    # Added or removed, a case is worth half a case of the difference; replaced, a whole one.
    q = abs(50 - late) / (1.0 if adjacency is REPLACE else 0.5)
    assert (noisy.centre >= 0) == (late <= 50)
    ratio = math.exp(-1 / noisy.scale)
    beyond = noisy.centre + 1 if late <= 50 else -noisy.centre
    wrong = ratio**beyond / (1 + ratio)
    assert wrong == pytest.approx(math.exp(-float(epsilon) * q) / 2, rel=1e-5)


def test_real_decisions_are_wrong_as_often_as_their_law_says() -> None:
    limit = Limit(Fraction(1, 2), at_most=True)
    mechanism = decided("share", UNIT_INTERVAL, TENTH, ADD_REMOVE, integral=True, limit=limit)
    values = array(*[1.0] * 48, *[0.0] * 52)
    wrong = np.mean([mechanism.release(values)[0] < 0 for _ in range(4000)])
    assert wrong == pytest.approx(math.exp(-0.4) / 2, abs=4.5 * math.sqrt(0.25 / 4000))


def test_a_decision_has_no_value_and_an_interval_only_where_it_is_sure() -> None:
    mechanism = decided(
        "mean", HUNDRED, ONE, ADD_REMOVE, integral=True, limit=Limit(Fraction(30), at_most=True)
    )
    assert mechanism.estimate((5,)).value is None
    assert mechanism.interval((0,), 0.95) == (0, 100)
    assert mechanism.interval((4 * PER_CASE,), 0.95) == (0, 30)
    assert mechanism.interval((-4 * PER_CASE,), 0.95) == (30, 100)
    assert mechanism.probability_met((0,)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("at_most", [True, False])
def test_a_decision_is_sure_at_other_limits_only_of_what_follows(*, at_most: bool) -> None:
    limit = Limit(Fraction(30), at_most)
    mechanism = decided("mean", HUNDRED, ONE, ADD_REMOVE, integral=True, limit=limit)
    for cases in (-9, -1, 1, 9):
        noisy = (cases * PER_CASE,)
        lower, own, higher = (mechanism.chance_at_most(noisy, at) for at in (29.0, 30.0, 31.0))
        assert own == pytest.approx(
            mechanism.probability_met(noisy) if at_most else 1 - mechanism.probability_met(noisy)
        )
        assert (lower, higher) == (min(own, 0.5), max(own, 0.5))


@pytest.mark.parametrize("factor", [Fraction(100), Fraction(-100)])
def test_a_decision_speaks_of_the_value_where_its_margin_is_about_a_part_of_it(
    factor: Fraction,
) -> None:
    """At most 30 % is at most 0.3 of the sums; at most −30 % is at least 0.3 of them."""
    of_sums = Limit(Fraction(3, 10), at_most=factor > 0)
    margin = RatioMargin(UNIT_INTERVAL, False, of_sums, UNIT_INTERVAL, True)  # noqa: FBT003
    target = Limit(factor * Fraction(3, 10), at_most=True)
    value_range = (0.0, 100.0) if factor > 0 else (-100.0, 0.0)
    mechanism = NoisyMargin(
        UNIT_INTERVAL,
        ONE,
        ADD_REMOVE,
        integral=False,
        margin=margin,
        limit=target,
        value_range=value_range,
    )
    parts = 10 if factor > 0 else 90
    rows = np.array([(1.0, 1.0)] * parts + [(0.0, 1.0)] * (100 - parts))
    met = mechanism.statistics(rows)
    assert mechanism.chance_at_most(met, float(target.value)) > 0.99
    assert mechanism.interval(met, 0.95) == (value_range[0], float(target.value))


# --- decision and value -------------------------------------------------------------------


def aimed(
    function: str,
    limit: Limit,
    *,
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    falloff: Fraction = THREE,
    integral: bool = True,
) -> TwoStage:
    mechanism = mechanism_for(
        function, EIGHT, epsilon, adjacency, integral=integral, limit=limit, falloff=falloff
    )
    assert isinstance(mechanism, TwoStage)
    return mechanism


def test_more_cases_tell_a_mean_from_its_target_and_no_sum() -> None:
    for function, bounds, at in (
        ("mean", EIGHT, 3),
        ("share", UNIT_INTERVAL, 0),
        ("sum", EIGHT, 3),
    ):
        limit = Limit(at + Fraction(1, 2), at_most=True)
        decision = decided(function, bounds, ONE, ADD_REMOVE, integral=False, limit=limit)
        gains = decision.predicted_error(100, None) < decision.predicted_error(1, None)
        assert gains is (function != "sum")


@pytest.mark.parametrize("limit", ENDS)
@pytest.mark.parametrize("function", RANKED)
def test_value_and_verdict_always_agree(function: str, limit: Limit) -> None:
    for integral in (True, False):
        mechanism = aimed(function, limit, epsilon=TENTH, integral=integral)
        verdicts = set()
        for _ in range(40):
            noisy = mechanism.release(array(1, 2, 3, 3, 4, 8))
            value = mechanism.estimate(noisy).value
            assert value is not None
            assert kept(value, limit) == (noisy[0] >= 0)
            verdicts.add(noisy[0] >= 0)
        assert len(verdicts) == 2


def score(mechanism: IntervalExtreme | IntervalQuantile, seen: list[int], z: int) -> int:
    below, above, n = sum(x < z for x in seen), sum(x > z for x in seen), len(seen)
    if isinstance(mechanism, IntervalExtreme):
        return max(0, (above if mechanism.function == "max" else below) - 1)
    a = mechanism.level
    s = Fraction(1) if mechanism.adjacency is REPLACE else max(a, 1 - a)
    return math.ceil(max(Fraction(0), below - a * n, above - (1 - a) * n) / s)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("limit", ENDS)
@pytest.mark.parametrize("function", RANKED)
def test_both_stages_follow_their_definition_point_by_point(
    function: str, limit: Limit, adjacency: Adjacency
) -> None:
    mechanism = aimed(function, limit, adjacency=adjacency)
    unaimed = mechanism.unaimed
    assert isinstance(unaimed, IntervalExtreme | IntervalQuantile)
    assert (mechanism.decision.epsilon, unaimed.epsilon) == (Fraction(3, 4), Fraction(1, 4))
    rate = Fraction(1, 4) if isinstance(unaimed, IntervalExtreme) else Fraction(1, 8)
    for data in ([], [3], [0, 1, 2, 3, 3, 8], [7] * 9, [0] * 5 + [4] * 6):
        law = mechanism.law(array(*map(float, data)))
        assert isinstance(law, StagedLaw)
        first = law.first
        assert isinstance(first, NoisySign)
        assert first.centre == mechanism.margin.cases(array(*map(float, data)), adjacency)
        assert first.scale == PER_CASE / Fraction(3, 4)
        weights = falling_weights(rate, 40)
        for met in (0, 1):
            side = [z for z in range(9) if kept(z, limit) == bool(met)]
            tickets = {z: weights[score(unaimed, data, z)] for z in side}
            whole = sum(tickets.values())
            z1 = 7 if met else -7
            likely = DiscreteLaplaceLaw(first.centre, first.scale).probability((z1,))
            second = law.second(met)
            assert isinstance(second, StepLaw)
            assert sum(second.exact_probability(z) for z in range(9)) == 1
            for z in range(9):
                chance = Fraction(tickets.get(z, 0), whole)
                assert second.exact_probability(z) == chance
                assert law.probability((z1, z)) == pytest.approx(likely * float(chance), rel=1e-9)


@pytest.mark.outside
@given(
    st.sampled_from(RANKED),
    st.sampled_from(ENDS),
    st.sampled_from(list(Adjacency)),
    st.sampled_from([TENTH, ONE, Fraction(5)]),
    st.sampled_from([Fraction(1, 10), THREE, Fraction(1000)]),
    st.lists(st.sampled_from([0.0, 2.0, 3.0, 3.5, 4.0, 8.0, 99.0, math.nan]), max_size=12),
)
def test_no_neighbour_is_further_away_than_epsilon(
    function: str,
    limit: Limit,
    adjacency: Adjacency,
    epsilon: Fraction,
    falloff: Fraction,
    values: list[float],
) -> None:
    for integral in (True, False):
        mechanism = aimed(
            function,
            limit,
            epsilon=epsilon,
            adjacency=adjacency,
            falloff=falloff,
            integral=integral,
        )
        release, data = JointRelease((mechanism,)), tuple((value,) for value in values)
        law = release.law(data)
        for other in neighbours(data, adjacency, [(x,) for x in (0.0, 3.0, 8.0, math.nan)]):
            assert law.loss(release.law(other)) <= epsilon


def test_all_of_epsilon_can_be_lost_and_no_more() -> None:
    mechanism = aimed("min", Limit(Fraction(3), at_most=True))
    one, two = (mechanism.law(np.zeros(n)) for n in (60, 61))
    assert 1 - 1e-6 < one.loss(two) <= 1


def test_a_margin_of_half_the_noise_is_caught() -> None:
    """Planted: a decision that counts a case for two."""

    class Double(QuantileMargin):
        def cases(self, values: Values, adjacency: Adjacency) -> int:
            return 2 * super(QuantileMargin, self).cases(values, adjacency)

    limit, half = Limit(Fraction(3), at_most=True), Fraction(1, 2)
    sound = aimed("median", limit)
    fault = TwoStage(
        EIGHT,
        ONE,
        ADD_REMOVE,
        integral=True,
        margin=Double(EIGHT, integral=True, limit=limit, level=half),
        falloff=THREE,
        unaimed=sound.unaimed,
    )
    one, two = array(*[0.0] * 9), array(*[0.0] * 10)
    assert sound.law(one).loss(sound.law(two)) <= 1
    assert fault.law(one).loss(fault.law(two)) > 1


@pytest.mark.parametrize("falloff", [Fraction(0), Fraction(-1), Fraction(1001), math.nan])
@pytest.mark.parametrize("function", ["mean", "max"])
def test_a_falloff_of_nothing_or_nonsense_is_refused(
    falloff: Fraction | float, function: str
) -> None:
    with pytest.raises(UsageError, match="falloff"):
        mechanism_for(
            function,
            EIGHT,
            ONE,
            ADD_REMOVE,
            integral=True,
            limit=ENDS[0],
            falloff=falloff,  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    "limit",
    [
        Limit(Fraction(0), at_most=True, included=False),
        Limit(Fraction(8), at_most=True, included=True),
        Limit(Fraction(8), at_most=False, included=False),
        Limit(Fraction(0), at_most=False, included=True),
        Limit(Fraction(-5), at_most=True),
        Limit(Fraction(99), at_most=False),
    ],
)
def test_a_target_that_leaves_no_value_on_one_side_is_refused(limit: Limit) -> None:
    for integral in (True, False):
        with pytest.raises(NotReleasable, match="no value on one side"):
            aimed("median", limit, integral=integral)


def test_stages_that_do_not_share_epsilon_are_refused() -> None:
    sound = aimed("median", ENDS[0])
    with pytest.raises(UsageError, match="share its epsilon"):
        TwoStage(
            EIGHT,
            Fraction(2),
            ADD_REMOVE,
            integral=True,
            margin=sound.margin,
            falloff=THREE,
            unaimed=sound.unaimed,
        )


# --- the anchored mean --------------------------------------------------------------------


def anchored(
    limit: Limit,
    bounds: Bounds = HUNDRED,
    *,
    epsilon: Fraction = TENTH,
    adjacency: Adjacency = ADD_REMOVE,
    falloff: Fraction = THREE,
) -> AnchoredMean:
    mechanism = mechanism_for(
        "mean", bounds, epsilon, adjacency, integral=False, limit=limit, falloff=falloff
    )
    assert isinstance(mechanism, AnchoredMean)
    return mechanism


@pytest.mark.parametrize("limit", ENDS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_an_anchored_mean_lies_on_the_side_of_its_verdict(
    limit: Limit, adjacency: Adjacency
) -> None:
    mechanism = anchored(limit, EIGHT, adjacency=adjacency)
    values, sides = array(2, 3, 4, 3, 1, 8, 0), set()
    for noisy in [mechanism.release(values) for _ in range(200)]:
        value = mechanism.estimate(noisy).value
        assert value is not None
        if noisy[0]:
            assert (noisy[0] > 0) == ((value < limit.value) == limit.at_most)
            assert value != limit.value
        sides.add(noisy[0] > 0)
    assert len(sides) == 2


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("value", [0, 1, 5, 8])
def test_one_case_costs_an_anchored_mean_at_most_epsilon_and_can_cost_all_of_it(
    value: int, adjacency: Adjacency
) -> None:
    mechanism = anchored(Limit(Fraction(value), at_most=True), EIGHT, adjacency=adjacency)
    ends = [(x,) for x in (0.0, 3.0, 8.0, 99.0, -math.inf, math.nan)]
    data = tuple(ends * 2)
    release = JointRelease((mechanism,))
    law = release.law(data)
    losses = [law.loss(release.law(other)) for other in neighbours(data, adjacency, ends)]
    assert max(losses) == mechanism.epsilon


def test_without_noise_an_anchored_mean_is_the_mean() -> None:
    values = np.random.default_rng(3).uniform(0, 100, 5000)
    for limit, adjacency in product(
        [Limit(Fraction(30), at_most=a) for a in (True, False)], Adjacency
    ):
        mechanism = anchored(limit, adjacency=adjacency)
        found = mechanism.estimate(mechanism.statistics(values))
        assert found.value == pytest.approx(values.mean(), abs=1e-3)
        assert found.cases == 5000


@pytest.mark.parametrize(
    ("scale", "adjacency", "log"),
    pairwise(
        [(1e-9, Fraction(1, 3)), (36e8, THREE)],
        list(Adjacency),
        [(300, 0.3), (300, 0.1), (3000, 0.32), (3000, 0.9)],
    ),
)
def test_anchored_intervals_cover_as_often_as_they_say(
    scale: tuple[float, Fraction], adjacency: Adjacency, log: tuple[int, float]
) -> None:
    """In any unit: nanoseconds as well as hours in microseconds."""
    (unit, falloff), (n, share) = scale, log
    bounds = Bounds(Fraction(0), Fraction(unit))
    limit = Limit(Fraction(unit) * Fraction(3, 10), at_most=True)
    mechanism = anchored(limit, bounds, adjacency=adjacency, falloff=falloff)
    late = round(n * share)
    values = array(*[unit] * late, *[0.0] * (n - late))
    noisy = bulk(mechanism, mechanism.statistics(values), 1500)
    ends = np.array([mechanism.interval(one, 0.95) for one in noisy]) / unit
    covered = np.mean((ends[:, 0] <= share) & (share <= ends[:, 1]))
    assert 0.93 < covered < 0.985


def test_equal_weights_are_told_from_unequal_ones_in_any_unit() -> None:
    for unit in (1e-12, 1.0, 1e12):
        assert weighted_tail(3 * unit, unit, unit / 5, 1.0) == pytest.approx(
            weighted_tail(3, 1, 0.2, 1.0), rel=1e-9
        )
        gap = 1e-9
        assert weighted_tail(3 * unit, unit, unit * (1 + gap), 1.0) == pytest.approx(
            weighted_tail(3, 1, 1, 1.0), rel=1e-6
        )


@pytest.mark.parametrize(("share", "gain"), [(0.5, 1.2), (0.35, 1.0)])
def test_an_anchored_mean_is_more_precise_at_its_target_than_a_plain_one(
    share: float, gain: float
) -> None:
    """In the middle of the range. Near its ends there is nothing to gain over two bins."""
    limit = Limit(Fraction(share) * 100, at_most=True)
    aim = anchored(limit, falloff=Fraction(10))
    plain = TwoBin(HUNDRED, TENTH, ADD_REMOVE, integral=False)
    values = array(*[100.0] * round(1000 * share), *[0.0] * round(1000 * (1 - share)))

    def error(mechanism: AnchoredMean | TwoBin) -> float:
        noisy = bulk(mechanism, mechanism.statistics(values))
        found = [mechanism.estimate(one).value for one in noisy]
        return math.sqrt(np.mean([(value - 100 * share) ** 2 for value in found if value]))

    assert error(plain) / error(aim) > gain
    assert aim.predicted_error(1000, 100 * share) == pytest.approx(error(aim), rel=0.1)


# --- how sure one may be: every mechanism ---------------------------------------------------

SURE = 0.95
ALLOWED = 0.05 + 5 * math.sqrt(0.05 * 0.95 / DRAWS)


def claims(mechanism: Mechanism, noisy: Iterable[Outcome], limit: float) -> tuple[float, float]:
    """How often it is sure that the answer is at most the limit, and that it is above."""
    chances = np.array([mechanism.chance_at_most(one, limit) for one in noisy])
    assert chances.min() >= 0
    assert chances.max() <= 1
    return float(np.mean(chances >= SURE)), float(np.mean(chances <= 1 - SURE))


def is_calibrated(
    mechanism: Mechanism, noisy: Iterable[Outcome], answer: float, apart: float
) -> None:
    """At limits on both sides of the answer: close, where it is hardest, and far away."""
    noisy = list(noisy)
    for gap in (1e-6 * apart, 0.2 * apart):
        assert claims(mechanism, noisy, answer - gap)[0] <= ALLOWED
        assert claims(mechanism, noisy, answer + gap)[1] <= ALLOWED
    assert claims(mechanism, noisy, answer - apart)[1] > 0.5
    assert claims(mechanism, noisy, answer + apart)[0] > 0.5


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(
    ("epsilon", "integral"), [(TENTH, False), (TENTH, True), (ONE, True), (Fraction(3), True)]
)
def test_two_bin_is_as_sure_as_it_may_be(
    epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> None:
    mechanism = TwoBin(UNIT_INTERVAL, epsilon, adjacency, integral)
    n = math.ceil(20 / epsilon)
    values = array(*[1.0] * (n // 2), *[0.0] * (n - n // 2))
    noisy = bulk(mechanism, mechanism.statistics(values))
    is_calibrated(mechanism, noisy, (n // 2) / n, 0.35)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", [TENTH, ONE])
def test_laplace_is_as_sure_as_it_may_be(epsilon: Fraction, adjacency: Adjacency) -> None:
    summed = LaplaceSum(EIGHT, epsilon, adjacency, integral=True)
    values = np.tile(array(0, 3, 5, 8), math.ceil(20 / epsilon))
    noisy = bulk(summed, summed.statistics(values))
    is_calibrated(summed, noisy, float(values.sum()), 60 / float(epsilon))
    largest = LaplaceExtreme(EIGHT, THREE, adjacency, integral=True, function="max")
    noisy = bulk(largest, largest.statistics(array(1, 4)))
    answer, short = claims(largest, noisy, 3.99)[0], claims(largest, noisy, 4)[1]
    assert max(answer, short) <= ALLOWED


@pytest.mark.parametrize("factor", [Fraction(100), Fraction(-1)])
def test_a_ratio_is_as_sure_as_it_may_be(factor: Fraction) -> None:
    rows = np.array([(1.0, 2.0)] * 100 + [(0.0, 2.0)] * 100)
    within = TwoBinRatio(
        Bounds(Fraction(0), Fraction(2)),
        TENTH,
        ADD_REMOVE,
        integral=True,
        factor=factor,
        part=UNIT_INTERVAL,
    )
    noisy = bulk(within, within.statistics(rows))
    is_calibrated(within, noisy, float(factor) / 4, abs(float(factor)) * 0.2)


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(-10)])
def test_a_hexagon_is_as_sure_as_it_may_be(factor: Fraction) -> None:
    mechanism = HexagonRatio(EIGHT, ONE, ADD_REMOVE, False, factor, EIGHT)  # noqa: FBT003
    law = mechanism.law(np.array([(4.0, 8.0)] * 30))
    noisy = [law.draw(system_randbelow) for _ in range(DRAWS)]
    is_calibrated(mechanism, noisy, float(factor) / 2, abs(float(factor)) / 2 - 1e-9)


@pytest.mark.outside
@pytest.mark.parametrize(
    ("n", "adjacency", "at_most"), pairwise([2, 400], list(Adjacency), [True, False])
)
def test_an_anchored_mean_is_as_sure_as_it_may_be(
    n: int, adjacency: Adjacency, *, at_most: bool
) -> None:
    """With hardly any cases too, where their noisy number is often negative."""
    mechanism = anchored(Limit(Fraction(30), at_most), adjacency=adjacency)
    values = array(*[100.0] * (n // 2), *[0.0] * (n // 2))
    draws = length(800, 2_000)
    noisy = bulk(mechanism, mechanism.statistics(values), draws)
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / draws)
    for limit in (0.0, 30.0, 49.999):
        assert claims(mechanism, noisy, limit)[0] <= allowed
    for limit in (50.001, 70.0, 99.0):
        assert claims(mechanism, noisy, limit)[1] <= allowed
    if n == 400:
        assert claims(mechanism, noisy, 25.0)[1] > 0.5
        assert claims(mechanism, noisy, 75.0)[0] > 0.5


@pytest.mark.parametrize("at_most", [True, False])
def test_a_negative_number_of_cases_makes_an_anchored_mean_no_surer(*, at_most: bool) -> None:
    """As it is, M~ − ρ·n~ is pure noise; with n~ raised to 0 it must not say more than that."""
    mechanism = anchored(Limit(Fraction(30), at_most))
    unit, fine = float(mechanism.margin.unit), 2**20
    for margin, cases, limit in product((-3e3, -40.0, 40.0, 3e3), (-90, -5, -1), (0.0, 25.0, 80.0)):
        rho = 30 - limit if at_most else limit - 30
        off = margin - rho * cases
        rarely = mechanism._tail()(abs(off), rho) / 2
        chance = mechanism.chance_at_most((round(margin / unit), cases * fine), limit)
        assert abs(chance - 0.5) <= 0.5 - rarely + 1e-6
        assert (chance >= 0.5) == ((off >= 0) == at_most) or chance == pytest.approx(0.5)


@pytest.mark.parametrize("at_most", [True, False])
@pytest.mark.parametrize("late", [30, 31, 60, 2])
def test_a_decision_is_as_sure_as_it_may_be(late: int, *, at_most: bool) -> None:
    limit = Limit(Fraction(3, 10), at_most)
    mechanism = decided("share", UNIT_INTERVAL, ONE, ADD_REMOVE, integral=True, limit=limit)
    values = array(*[1.0] * late, *[0.0] * (100 - late))
    noisy = bulk(mechanism, mechanism.statistics(values))
    below, above = claims(mechanism, noisy, 0.3)
    met = kept(late / 100, limit)
    wrong, right = (above, below) if met == at_most else (below, above)
    assert wrong <= ALLOWED
    assert right > 0.5 or late in (30, 31)


def test_sample_and_aggregate_is_sure_of_nothing() -> None:
    def mean(rows: Values) -> float | None:
        return float(rows.mean()) if len(rows) else None

    mechanism = SampleAndAggregate(EIGHT, ONE, ADD_REMOVE, False, mean, 1, 20)  # noqa: FBT003
    rows = np.column_stack((np.tile([1.0, 5.0], 100), np.arange(200) // 2 % 20))
    noisy = bulk(mechanism, mechanism.statistics(rows), 50)
    # Of the formula over all cases the mean over buckets says nothing for certain.
    assert {mechanism.chance_at_most(one, 3.0) for one in noisy} == {0.5}


@pytest.mark.parametrize("function", RANKED)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), ONE, Fraction(5)])
@pytest.mark.parametrize("high", [18, 19, 25, 400])  # nineteen points are one too few to be sure
def test_an_interval_release_is_as_sure_as_it_may_be(
    function: str, epsilon: Fraction, high: int
) -> None:
    """Exactly: the probabilities of all points that make a wrong claim are added up."""
    bounds = Bounds(Fraction(0), Fraction(high))
    mechanism = mechanism_for(function, bounds, epsilon, ADD_REMOVE, integral=True, name="interval")
    limits = [0.0, 0.7, 1.0, high // 2, high - 1.0, high - 0.5]
    sure = {z: [mechanism.chance_at_most((z,), limit) for limit in limits] for z in range(high + 1)}
    middle = float(high // 2)
    for values in ([0.0], [1.0], [middle] * 3, [float(high)] * 5, [float(high)], [1.0] * 4):
        law = mechanism.law(array(*values))
        assert isinstance(law, StepLaw)
        answer = round(values[0])
        for i, limit in enumerate(limits):
            wrong = [
                z
                for z, chances in sure.items()
                if (chances[i] >= SURE and answer > limit)
                or (chances[i] <= 1 - SURE + 1e-12 and answer <= limit)
            ]
            assert float(sum(law.exact_probability(z) for z in wrong)) <= 1 - SURE + 1e-9


def test_a_stepped_mean_is_as_sure_as_it_may_be() -> None:
    mechanism = mechanism_for("mean", HUNDRED, ONE, ADD_REMOVE, integral=False, name="interval")
    points = range(2**20 + 1)
    for limit in (2.0, 50.0, 98.0):
        # The chance falls as the point rises.
        below = bisect_left(
            points, 1 - SURE, key=lambda z: 1 - mechanism.chance_at_most((z,), limit)
        )
        above = bisect_left(points, SURE, key=lambda z: 1 - mechanism.chance_at_most((z,), limit))
        for answer, n in product((1.9, 2.1, 49.9, 50.1, 97.9, 98.1), (1, 10, 200)):
            law = mechanism.law(np.full(n, answer))
            assert isinstance(law, StepLaw)
            first, last = (0, below - 1) if answer > limit else (above, 2**20)
            wrong = law.within(first, last).total / law.total if first <= last else 0.0
            assert wrong <= 1 - SURE


@pytest.mark.parametrize(
    ("make", "ends"),
    [
        (lambda a: TwoBin(EIGHT, ONE, a, integral=True), (0.0, 8.0)),
        (lambda a: LaplaceExtreme(EIGHT, ONE, a, integral=True, function="max"), (0.0, 8.0)),
        (lambda a: anchored(ENDS[0], EIGHT, adjacency=a), (0.0, 8.0)),
        (lambda a: mechanism_for("median", EIGHT, ONE, a, integral=True), (0.0, 8.0)),
        (
            lambda a: decided("mean", EIGHT, ONE, a, integral=True, limit=ENDS[0]),
            (0.0, 8.0),
        ),
        (lambda a: aimed("median", ENDS[0], adjacency=a), (0.0, 8.0)),
        (lambda a: HexagonRatio(EIGHT, ONE, a, True, ONE, EIGHT), (0.0, math.inf)),  # noqa: FBT003
    ],
)
def test_what_the_range_decides_is_certain(
    make: Callable[[Adjacency], Mechanism], ends: tuple[float, float]
) -> None:
    low, high = ends
    for adjacency in Adjacency:
        mechanism = make(adjacency)
        rows = np.full((4, 2), 3.0) if mechanism.width == 2 else np.full(4, 3.0)
        noisy = mechanism.release(rows)
        assert mechanism.chance_at_most(noisy, high) == 1
        assert mechanism.chance_at_most(noisy, low - 1) == 0


def test_the_epsilon_of_a_decision_is_what_the_falloff_says() -> None:
    assert decision_epsilon(ONE, THREE) == Fraction(3, 4)
    decision = aimed("median", ENDS[0]).decision
    assert isinstance(decision, NoisyMargin)
    assert decision.scale == PER_CASE / Fraction(3, 4)
