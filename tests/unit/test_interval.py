"""The interval mechanism: exact weights, the right scores, honest intervals and errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import UsageError
from pappi.mechanisms import (
    IntervalExtreme,
    IntervalQuantile,
    PointLaw,
    StepLaw,
    Values,
    mechanism_for,
    quantile_level,
)
from pappi.mechanisms.laws import (
    WEIGHT_BITS,
    exp_minus_above,
    exponential_law,
    falling_weights,
    log_above,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
HUNDRED = Bounds(Fraction(0), Fraction(100))
TWO_HUNDRED = Bounds(Fraction(0), Fraction(200))
TENTH, ONE = Fraction(1, 10), Fraction(1)
FUNCTIONS = ["max", "min", "median", "p90"]
WEIGHT_ONE = 2**WEIGHT_BITS

Interval = IntervalExtreme | IntervalQuantile


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def interval_for(
    function: str,
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    bounds: Bounds = HUNDRED,
    *,
    integral: bool = False,
) -> Interval:
    mechanism = mechanism_for(
        function, bounds, epsilon, adjacency, integral=integral, name="interval"
    )
    assert isinstance(mechanism, IntervalExtreme | IntervalQuantile)
    return mechanism


def truth_of(function: str, values: Values) -> float:
    level = quantile_level(function)
    if level is not None:
        return float(np.quantile(values, float(level), method="inverted_cdf"))
    return float(values.max() if function == "max" else values.min())


# --- upper bounds of exp and log ------------------------------------------------------


@pytest.mark.parametrize("x", ["0", "1e-12", "0.001", "0.1", "1", "2.5", "20", "127.99"])
def test_exp_is_bounded_from_above_and_tightly(x: str) -> None:
    with localcontext(prec=120):
        exact = Decimal(x).copy_negate().exp()
        over = Decimal(exp_minus_above(Fraction(x))) / WEIGHT_ONE - exact
    assert 0 <= over <= Decimal(2) ** -191


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [(1, 1), (10**30 + 1, 10**30), (4, 3), (2, 1), (7, 2), (3**400, 5)],
)
def test_log_is_bounded_from_above_and_tightly(numerator: int, denominator: int) -> None:
    bound = log_above(numerator, denominator)
    with localcontext(prec=120):
        exact = (Decimal(numerator) / denominator).ln()
        over = Decimal(bound.numerator) / bound.denominator - exact
    assert 0 <= over <= Decimal(2) ** -110


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), TENTH, ONE, Fraction(50), Fraction(10**6)])
def test_weights_never_fall_faster_than_the_rate_and_never_to_nothing(rate: Fraction) -> None:
    weights = falling_weights(rate, 3000)
    slowest = exp_minus_above(min(rate, Fraction(200)))
    for heavier, lighter in pairwise(weights):
        assert heavier > lighter >= 1
        assert lighter * WEIGHT_ONE >= heavier * slowest
    assert weights[1] / WEIGHT_ONE == pytest.approx(math.exp(-min(float(rate), 128)), abs=1e-11)


# --- the law --------------------------------------------------------------------------


def test_a_draw_gives_every_point_exactly_as_many_tickets_as_it_weighs() -> None:
    law = StepLaw((3, 6, 7), 9, (1, 5, 2))
    tickets: Counter[int] = Counter()
    for ticket in range(law.total):
        tickets.update(law.draw({law.total: ticket}.__getitem__))
    assert tickets == {3: 1, 4: 1, 5: 1, 6: 5, 7: 2, 8: 2}
    assert {z: law.exact_probability(z) for z in (2, 6, 9)} == {2: 0, 6: Fraction(5, 12), 9: 0}
    assert law.size == 1


def test_the_loss_between_two_laws_is_the_worst_over_all_points() -> None:
    one, two = StepLaw((0, 2, 5), 9, (4, 9, 2)), StepLaw((0, 3, 4), 9, (3, 8, 5))
    ratios = [one.exact_probability(z) / two.exact_probability(z) for z in range(9)]
    forth, back = one.log_ratio(two), two.log_ratio(one)
    assert math.isclose(forth, math.log(max(ratios)), rel_tol=1e-12)
    assert math.isclose(back, -math.log(min(ratios)), rel_tol=1e-12)
    assert one.loss(two) == max(forth, back)
    assert one.loss(one) == 0


def test_laws_with_different_outputs_are_infinitely_far_apart() -> None:
    law = StepLaw((0, 2), 5, (1, 2))
    assert law.loss(StepLaw((0, 2), 6, (1, 2))) == math.inf
    assert law.loss(StepLaw((0, 2), 5, (1, 0))) == math.inf
    assert law.loss(PointLaw(0)) == math.inf


@given(
    values=st.lists(st.integers(-5, 105).map(float), min_size=1, max_size=400),
    function=st.sampled_from(["min", "max"]),
    rate=st.sampled_from([Fraction(1, 3), ONE, Fraction(4), Fraction(50)]),
)
def test_an_extreme_has_the_law_of_all_values_though_few_decide(
    values: list[float], function: str, rate: Fraction
) -> None:
    mechanism = interval_for(function, rate)
    assert isinstance(mechanism, IntervalExtreme)
    points = np.sort(mechanism.lattice.snap(np.array(values)))
    starts, scores = mechanism.stretches(points)
    every = exponential_law(starts, scores, mechanism.lattice.highest + 1, rate)
    assert mechanism.law(np.array(values)) == every


def test_of_many_values_few_decide() -> None:
    assert len(interval_for("max", Fraction(4)).deciding(np.arange(1000))) < 60
    assert len(interval_for("median", Fraction(4)).deciding(np.arange(1000))) == 1000


def by_definition(mechanism: Interval, values: list[float], z: int) -> int:
    """The score of a point, written down once more, from the text."""
    seen = [round(min(max(v, 0), 100)) for v in values if not math.isnan(v)]
    below, above, n = sum(x < z for x in seen), sum(x > z for x in seen), len(seen)
    if isinstance(mechanism, IntervalExtreme):
        return max(0, (above if mechanism.function == "max" else below) - 1)
    a = mechanism.level
    s = Fraction(1) if mechanism.adjacency is REPLACE else max(a, 1 - a)
    return math.ceil(max(Fraction(0), below - a * n, above - (1 - a) * n) / s)


@pytest.mark.parametrize("function", [*FUNCTIONS, "p1", "p33.3"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_law_is_that_of_the_definition_at_every_point(
    function: str, adjacency: Adjacency
) -> None:
    mechanism = interval_for(function, ONE, adjacency, integral=True)
    rng = np.random.default_rng(5)
    data: list[list[float]] = [[], [math.nan], [0.0], [100.0] * 3, [-math.inf, math.inf, 1e300]]
    data += [[float(v) for v in rng.integers(-3, 104, n)] for n in (2, 5, 30)]
    for values in (*data, [50.0] * 7 + [51.0] * 5 + [math.nan, 3.0]):
        law = mechanism.law(array(*values))
        weights = falling_weights(mechanism.rate, 60)
        for z in range(101):
            assert law.weight(z) == weights[by_definition(mechanism, values, z)]
        assert sum(law.exact_probability(z) for z in range(101)) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_without_values_every_point_is_equally_likely(function: str) -> None:
    for values in (array(), array(math.nan, math.nan)):
        law = interval_for(function).law(values)
        assert (law.starts, law.stop) == ((0,), 2**20 + 1)


def test_ties_leave_the_top_interval_the_likeliest() -> None:
    law = interval_for("max", integral=True).law(array(*[60.0] * 50, 20.0))
    assert law.starts == (0, 20, 60)
    assert law.weights[2] == WEIGHT_ONE
    law = interval_for("min", integral=True).law(array(*[60.0] * 50, 80.0))
    assert law.starts == (0, 61, 81)
    assert law.weights[0] == WEIGHT_ONE


def test_a_quantile_that_many_cases_share_is_the_likeliest_point() -> None:
    law = interval_for("median", integral=True).law(array(*[40.0] * 10, *[70.0] * 8))
    assert law.weight(40) == WEIGHT_ONE
    assert law.weight(41) < law.weight(40)


def test_a_million_cases_need_no_more_stretches_than_weights_that_differ() -> None:
    values = np.random.default_rng(1).normal(50, 10, 1_000_000)
    for function in FUNCTIONS:
        assert len(interval_for(function).law(values).starts) < 400


# --- privacy: pairs that come as close to epsilon as one likes, and no closer -----------

JUST_BELOW_TOP = 100 * (1 - 2 / 2**20)
TIGHT_PAIRS = [
    ("max", ADD_REMOVE, [100.0] * 90, [100.0] * 89),
    ("max", REPLACE, [100.0] * 90, [100.0] * 89 + [math.nan]),
    ("min", ADD_REMOVE, [0.0] * 90, [0.0] * 89),
    ("min", REPLACE, [0.0] * 90, [0.0] * 89 + [100.0]),
    ("median", ADD_REMOVE, [0.0, JUST_BELOW_TOP], [0.0, JUST_BELOW_TOP, 100.0]),
    ("median", REPLACE, [0.0, JUST_BELOW_TOP], [100.0, JUST_BELOW_TOP]),
]


@pytest.mark.parametrize(("function", "adjacency", "one", "two"), TIGHT_PAIRS)
def test_no_more_than_epsilon_is_lost_and_no_epsilon_is_wasted(
    function: str, adjacency: Adjacency, one: list[float], two: list[float]
) -> None:
    mechanism = interval_for(function, ONE, adjacency)
    loss = mechanism.law(array(*one)).loss(mechanism.law(array(*two)))
    assert 1 - 1e-5 < loss <= 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_many_cases_bring_the_loss_within_a_hair_of_epsilon_but_not_above(function: str) -> None:
    """Beyond the score at which weights stop falling, too."""
    mechanism = interval_for(function, Fraction(3))
    for n in (5, 40, 60, 100, 1000):
        law, other = (mechanism.law(np.full(k, 100.0)) for k in (n, n + 1))
        assert law.loss(other) <= 3


# --- intervals ------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("epsilon", [TENTH, Fraction(3)])
def test_intervals_cover_at_least_as_often_as_they_say_whatever_the_data(
    function: str, confidence: float, epsilon: Fraction
) -> None:
    """Exactly: the probabilities of all points whose interval holds the answer are added up."""
    mechanism = interval_for(function, epsilon, integral=True)
    intervals = [mechanism.interval((z,), confidence) for z in range(101)]
    rng = np.random.default_rng(9)
    sets = [array(x) for x in (0, 1, 3, 50, 99, 100)] + [np.full(40, x) for x in (0.0, 50.0, 100.0)]
    sets += [rng.integers(low, low + 20, 30).astype(np.float64) for low in (0, 40, 80)]
    for values in sets:
        law, truth = mechanism.law(values), truth_of(function, values)
        holding = [z for z, (low, high) in enumerate(intervals) if low <= truth <= high]
        assert float(sum(law.exact_probability(z) for z in holding)) >= confidence


def test_an_interval_is_narrow_only_where_the_value_is_close_to_an_end_of_the_range() -> None:
    largest = interval_for("max")
    assert largest.interval((2**19,), 0.95) == (0, 100)
    low, high = largest.interval((2**20 - 1000,), 0.95)
    assert low == pytest.approx(100 - 100 * 20 * 1001 / 2**20, abs=1e-3)
    assert high == 100
    low, high = interval_for("p90").interval((0,), 0.95)
    assert low == 0
    assert high == pytest.approx(100 * 20 / 2**20, abs=1e-4)


# --- errors ---------------------------------------------------------------------------


def evenly(function: str, n: int, at: float) -> Values:
    """Values spread evenly on both sides of the answer, as the prediction assumes."""
    if function == "max":
        return at * np.arange(1, n + 1) / n
    if function == "min":
        return at + (100 - at) * np.arange(n) / n
    below = round(float(quantile_level(function) or 0) * n)
    low = at * (np.arange(below) + 0.5) / max(below, 1)
    high = at + (100 - at) * (np.arange(n - below) + 0.5) / max(n - below, 1)
    return np.concatenate((low, high))


def exact_error(mechanism: Interval, values: Values, truth: float) -> float:
    """Root mean square error under the law: in each stretch, that of a uniform value."""
    law, square = mechanism.law(values), 0.0
    total = law.total
    for start, end, weight in zip(
        law.starts, (*law.starts[1:], law.stop), law.weights, strict=True
    ):
        low, high = mechanism.lattice.value(start) - truth, mechanism.lattice.value(end - 1) - truth
        square += (end - start) * weight / total * (low**2 + low * high + high**2) / 3
    return math.sqrt(square)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), TENTH, ONE])
def test_predicted_errors_come_true_for_evenly_spread_values(
    function: str, adjacency: Adjacency, epsilon: Fraction
) -> None:
    mechanism = interval_for(function, epsilon, adjacency)
    for n in (5, 20, 100, 1000):
        for at in (10.0, 50.0, 100.0):
            measured = exact_error(mechanism, evenly(function, n, at), at)
            assert mechanism.predicted_error(n, at) == pytest.approx(measured, rel=0.12)


@pytest.mark.parametrize(
    ("at", "epsilon", "winner"),
    [
        (90.0, TENTH, "interval"),
        (90.0, ONE, "interval"),
        (None, ONE, "interval"),
        (10.0, TENTH, "interval"),
        (10.0, ONE, "laplace"),  # nothing tells the point from all those above it
    ],
)
def test_predictions_rank_the_mechanisms_for_a_maximum(
    at: float | None, epsilon: Fraction, winner: str
) -> None:
    errors = {
        name: mechanism_for(
            "max", HUNDRED, epsilon, ADD_REMOVE, integral=False, name=name
        ).predicted_error(100, at)
        for name in ("interval", "laplace")
    }
    assert min(errors, key=errors.__getitem__) == winner


def gaussian_error(function: str, n: int, epsilon: Fraction) -> float:
    """Over N(100, 25) in [0, 200], the setting of the published comparison."""
    mechanism = interval_for(function, epsilon, bounds=TWO_HUNDRED)
    rng = np.random.default_rng(17)
    samples = rng.normal(100, 25, (300, n)).clip(0, 200)
    errors = [exact_error(mechanism, values, truth_of(function, values)) for values in samples]
    return math.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize(
    ("function", "n", "epsilon", "expected"),
    [
        ("max", 50, TENTH, 30),
        ("max", 200, TENTH, 20.5),
        ("min", 200, TENTH, 20.5),
        ("median", 200, ONE, 0.6),
    ],
)
def test_the_error_on_ordinary_data_is_the_published_one(
    function: str, n: int, epsilon: Fraction, expected: float
) -> None:
    assert gaussian_error(function, n, epsilon) == pytest.approx(expected, rel=0.15)


# --- what cannot be made --------------------------------------------------------------


@pytest.mark.parametrize("level", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(1, 10**7)])
def test_a_level_that_is_no_quantile_is_refused(level: Fraction) -> None:
    with pytest.raises(UsageError, match="level"):
        IntervalQuantile(UNIT_INTERVAL, ONE, ADD_REMOVE, integral=False, level=level)


@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: IntervalExtreme(HUNDRED, epsilon, ADD_REMOVE, False, "max"),  # noqa: FBT003
        lambda epsilon: IntervalQuantile(HUNDRED, epsilon, ADD_REMOVE, False, Fraction(1, 2)),  # noqa: FBT003
    ],
)
def test_an_epsilon_of_nothing_or_a_float_is_refused(make: Callable[[object], Interval]) -> None:
    with pytest.raises(UsageError):
        make(Fraction(0))
    with pytest.raises(TypeError):
        make(0.1)
