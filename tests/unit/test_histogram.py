"""The histogram: one case in one bin, exact noise, intervals that hold for any data."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import (
    MOSTLY_LOW,
    Bins,
    NoisyBins,
    NoisyHistogram,
    Task,
    Trial,
    Values,
    mechanism_for,
)
from pappi.mechanisms.grids import MOST_BINS, noise_tail, usual_bins
from pappi.ppinot import AggregatedMeasure, Aggregation, DataMeasure, aggregate
from pappi.values import Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
HUNDRED = Bounds(Fraction(0), Fraction(100))
TEN = Bounds(Fraction(0), Fraction(10))
SIGNED = Bounds(Fraction(-100), Fraction(10))
ONE = Fraction(1)


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def histogram(
    function: str = "median",
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    bounds: Bounds = HUNDRED,
    *,
    integral: bool = False,
    skewed: bool = False,
    cases: int | None = None,
    limits: tuple[Fraction, ...] = (),
) -> NoisyHistogram:
    task = Task(function, bounds, epsilon, adjacency, integral)
    return NoisyHistogram.made_for(replace(task, skewed=skewed, cases=cases, limits=limits))


# --- bins -----------------------------------------------------------------------------


def test_a_value_lies_in_the_bin_that_ends_at_it_and_one_beyond_the_bounds_in_the_last() -> None:
    bins = Bins.at(TEN, (Fraction(2), Fraction(5)))
    assert bins.count(array(0, 2, 2.0001, 5, 10, 11, math.inf, -3, math.nan)) == (3, 2, 3)


@given(st.lists(st.floats(-20, 120), max_size=40), st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_order(values: list[float], shuffler: random.Random) -> None:
    bins, shuffled = Bins.geometric(HUNDRED, 16), list(values)
    shuffler.shuffle(shuffled)
    assert bins.count(array(*values)) == bins.count(array(*shuffled))
    assert sum(bins.count(array(*values))) == len(values)


@pytest.mark.parametrize(
    ("bounds", "skewed", "written"),
    [
        (HUNDRED, True, "geometric 32"),
        (HUNDRED, False, "even 32"),
        (SIGNED, True, "even 32"),
        (Bounds(Fraction(1), Fraction(1000)), False, "geometric 32"),
        (Bounds(Fraction(50), Fraction(100)), False, "even 32"),
    ],
)
def test_durations_have_geometric_bins_and_numbers_even_ones(
    bounds: Bounds,
    skewed: bool,  # noqa: FBT001 - a parameter of the test
    written: str,
) -> None:
    bins = usual_bins(bounds, integral=False, skewed=skewed, signal=None)
    assert bins.written == written
    assert list(bins.limits) == sorted(set(bins.limits))
    assert bounds.low < bins.limits[0]
    assert bins.limits[-1] < bounds.high


def test_few_whole_numbers_have_a_bin_each() -> None:
    bins = histogram(bounds=TEN, integral=True).bins
    assert bins.number == 11
    assert bins.count(array(0, 0, 3, 10, 12)) == (2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2)
    assert bins.cells(integral=True)[3] == (3.0, 3.0)
    wide = histogram(bounds=Bounds(Fraction(0), Fraction(1000)), integral=True)
    assert wide.bins.written == "even 32"


def test_more_cases_have_more_bins_and_coarser_bins_are_made_of_finer_ones() -> None:
    finer: set[Fraction] = set()
    for cases, number in ((400, 64), (200, 32), (20, 16)):
        bins = histogram(cases=cases, skewed=True).bins
        assert bins.number == number
        assert not finer or set(bins.limits) <= finer
        finer = set(bins.limits)
    assert histogram(adjacency=REPLACE, cases=400).bins.number == 32  # twice the noise


@pytest.mark.parametrize("bins", [Bins.even(TEN, 32), Bins.geometric(TEN, 64), Bins.whole(TEN)])
def test_bins_are_read_again_as_they_were_written(bins: Bins) -> None:
    assert Bins.read(bins.written, bins.bounds) == bins
    own = Bins.at(bins.bounds, bins.limits)
    assert Bins.read(own.written, bins.bounds) == own


def test_limits_that_tell_nothing_are_refused() -> None:
    with pytest.raises(NotReleasable, match="none of the limits"):
        Bins.at(TEN, (Fraction(11), Fraction(-1)))
    with pytest.raises(NotReleasable, match="at most 64 bins"):
        Bins.at(TEN, [Fraction(i, 10) for i in range(MOST_BINS)])


# --- the noise of sums ----------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 5), ONE, Fraction(7, 2)])
@pytest.mark.parametrize("draws", [1, 4, 16])
def test_the_tail_of_a_sum_is_that_of_the_convolution_and_never_below(
    scale: Fraction, draws: int
) -> None:
    exact = _convolved(scale, draws)
    tail, middle = noise_tail(((1.0, scale, draws),)), len(exact) // 2
    for x in range(-5, 30):
        assert 0 <= tail(x) - exact[middle + x :].sum() < 2e-4, x


def test_the_tail_of_two_weights_is_that_of_both_convolved() -> None:
    below, above = _convolved(ONE, 3), _convolved(ONE, 5)
    middle_below, middle_above = len(below) // 2, len(above) // 2
    chances: dict[int, float] = {}
    for i, p in enumerate(below):
        for j, q in enumerate(above):
            tenths = (i - middle_below) - 9 * (j - middle_above)
            chances[tenths] = chances.get(tenths, 0.0) + p * q
    tail = noise_tail(((0.1, ONE, 3), (0.9, ONE, 5)))
    for x in (0.05, 0.85, 2.15, 5.05, 9.95):
        exact = sum(p for tenths, p in chances.items() if tenths / 10 >= x)
        assert 0 <= tail(x) - exact < 0.02, x


def test_what_noise_reaches_it_reaches_that_often() -> None:
    tail = noise_tail(((0.5, Fraction(10), 32),))
    assert tail(tail.reach(0.025)) <= 0.025 < tail(0.99 * tail.reach(0.025))
    assert tail.reach(0.025) == pytest.approx(1.96 * 0.5 * math.sqrt(64) * 10, rel=0.05)


def _convolved(scale: Fraction, draws: int) -> Values:
    q, far = math.exp(-1 / float(scale)), math.ceil(60 * float(scale)) + 20
    one = (1 - q) / (1 + q) * q ** np.abs(np.arange(-far, far + 1))
    found = np.ones(1)
    for _ in range(draws):
        found = np.convolve(found, one)
    return found


# --- quantiles ------------------------------------------------------------------------


def exactly(function: str, values: Values) -> float:
    """As the exact evaluation has it."""
    percent = None if function == "median" else int(function[1:])
    kind = Aggregation.MEDIAN if percent is None else Aggregation.PERCENTILE
    value = aggregate(AggregatedMeasure(kind, DataMeasure("x"), percent=percent), values)
    assert value is not None
    return value


@given(
    st.lists(st.integers(0, 10).map(float), min_size=1, max_size=30),
    st.sampled_from(["median", "p10", "p25", "p90"]),
    st.booleans(),
)
def test_without_noise_the_interval_holds_the_quantile_whatever_the_ties(
    values: list[float],
    function: str,
    integral: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    mechanism = histogram(function, Fraction(1000), bounds=TEN, integral=integral)
    counts = mechanism.bins.count(array(*values))
    low, high = mechanism.interval(counts, 0.95)
    truth = exactly(function, array(*values))
    assert low <= truth <= high
    estimate = mechanism.estimate(counts)
    assert estimate.value is not None
    assert low <= estimate.value <= high
    if integral:
        assert high - low <= 10
        assert truth != int(truth) or low <= truth <= high


DATA = {
    "spread": np.linspace(0, 100, 120),
    "ties": np.repeat([20.0, 60.0], [61, 59]),
    "even ties": np.repeat([20.0, 60.0], [60, 60]),
    "two ends": np.repeat([0.0, 100.0], [60, 60]),
    "at a limit": np.full(120, 50.0),
    "few": np.array([3.0, 90.0, 91.0]),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("function", ["median", "p90"])
def test_the_interval_holds_the_quantile_of_any_data_at_least_as_often_as_it_says(
    name: str, function: str
) -> None:
    mechanism, values = histogram(function, Fraction(1, 2), cases=120), DATA[name]
    truth, law, chance = exactly(function, values), mechanism.law(values), random.Random(name)  # noqa: S311
    intervals = [mechanism.interval(law.draw(chance.randrange), 0.9) for _ in range(400)]
    held = sum(low <= truth <= high for low, high in intervals)
    assert held >= 400 * 0.9 - 3 * math.sqrt(400 * 0.09)
    if name == "spread" and function == "median":
        assert np.mean([high - low for low, high in intervals]) < 35


def test_a_twin_that_tests_every_edge_by_itself_misses_too_often() -> None:
    """Detects what the order of tests is for: taking the tightest of all ends is no interval."""
    mechanism, values = histogram("median", Fraction(1, 2), cases=120), DATA["even ties"]
    chance, law = random.Random(1), mechanism.law(values)  # noqa: S311 - a simulation
    edges, half, missed = range(1, 32), np.repeat(0.5, 31), 0
    reach = noise_tail(((0.5, mechanism.scale, 32),)).reach(0.05)  # the same at every edge
    for _ in range(300):
        noisy = np.array(law.draw(chance.randrange))
        surplus = np.cumsum(noisy)[:-1] - half * noisy.sum()
        above = [edge for edge in edges if surplus[edge - 1] >= reach]
        missed += min(above, default=32) * 100 / 32 < exactly("median", values)
    assert missed > 300 * 0.05 + 3 * math.sqrt(300 * 0.05)


def test_a_verdict_is_as_sure_as_the_noise_lets_it_be() -> None:
    mechanism = histogram(epsilon=Fraction(1, 2), cases=400)
    counts = mechanism.bins.count(np.linspace(20, 40, 400))
    sure = [mechanism.chance_at_most(counts, limit) for limit in (-1, 15, 31, 45, 60, 100)]
    assert sure[0] == 0
    assert sure[1] < 0.01
    assert 0.2 < sure[2] <= 0.8
    assert sure[3] > 0.99
    assert sure[-1] == 1
    assert sure == sorted(sure)
    low, high = mechanism.interval(counts, 0.95)
    assert mechanism.chance_at_most(counts, high) >= 0.975
    assert mechanism.chance_at_most(counts, low - 0.01) <= 0.025


def test_no_cases_tell_nothing_and_say_so() -> None:
    mechanism = histogram()
    empty = (0,) * mechanism.bins.number
    estimate = mechanism.estimate(empty)
    assert mechanism.interval(empty, 0.95) == (0.0, 100.0)
    assert (estimate.cases, estimate.value) == (0.0, 50.0)
    assert estimate.least_cases is not None
    assert estimate.least_cases < 0


# --- what else follows from the same counts -------------------------------------------


def counted(values: Values, epsilon: Fraction = ONE, bounds: Bounds = HUNDRED) -> NoisyBins:
    mechanism = histogram("distribution", epsilon, bounds=bounds)
    return mechanism.noisy_bins(mechanism.bins.count(values))


def test_a_share_is_exact_at_a_limit_and_open_between_two() -> None:
    told = counted(np.linspace(0.5, 99.5, 100), Fraction(100))
    assert told.share_within(50.0)[0] == pytest.approx(0.5)
    assert told.share_within(-1.0) == (0.0, 0.0, 0.0)
    assert told.share_within(100.0) == (1.0, 1.0, 1.0)
    value, low, high = told.share_within(51.0)
    assert low <= 0.5 < value < 0.53 <= high + 1e-3


def test_shares_and_means_hold_as_often_as_they_say() -> None:
    values, chance = np.linspace(0, 80, 150) ** 1.1 % 97, random.Random(5)  # noqa: S311
    mechanism = histogram("distribution", Fraction(1, 2), limits=(Fraction(20), Fraction(50)))
    law, held = mechanism.law(values), {"share": 0, "mean": 0, "bin": 0}
    share, first = (values <= 50).mean(), (values <= 20).mean()
    for _ in range(60):
        told = mechanism.noisy_bins(law.draw(chance.randrange))
        _, low, high = told.share_within(50.0, 0.9)
        held["share"] += low <= share <= high
        _, low, high = told.share_within(20.0, 0.9)
        held["bin"] += low <= first <= high
        _, low, high = told.mean(0.9)
        held["mean"] += low <= values.mean() <= high
    assert all(times >= 60 * 0.9 - 3 * math.sqrt(60 * 0.09) for times in held.values()), held
    assert held["share"] < 60  # nor is it the whole range


def test_a_mean_says_what_bins_leave_open() -> None:
    told = counted(np.linspace(0, 100, 401), Fraction(50))
    value, low, high = told.mean()
    assert low < 50 < high
    assert value == pytest.approx(50, abs=0.5)
    assert told.binning_error() == pytest.approx(100 / 32 / 2)
    assert high - low < 2 * told.binning_error() + 2


def test_counts_of_the_same_bins_add_up_with_their_noise() -> None:
    one = counted(np.linspace(0, 100, 50))
    both = one + counted(np.linspace(0, 100, 50), Fraction(1, 2))
    assert both.total == 100
    assert both.noise == ((1.0, ONE, (1,) * 32), (1.0, Fraction(2), (1,) * 32))
    assert both.total_reach(0.95) > counted(array(), Fraction(1, 2)).total_reach(0.95)
    assert (one + one).noise == ((1.0, ONE, (2,) * 32),)
    with pytest.raises(UsageError, match="same bins"):
        one + counted(array(), bounds=TEN)


def test_likely_counts_are_none_below_nothing_and_keep_their_sum() -> None:
    told = NoisyBins(Bins.even(TEN, 4), (10, -4, 6, 1), ((1.0, ONE, (1,) * 4),))
    assert sum(told.likely) == pytest.approx(13)
    assert min(told.likely) == 0


# --- predictions ----------------------------------------------------------------------


def test_it_is_taken_where_its_interval_is_expected_to_tell_something() -> None:
    for function, cases, tells in (
        ("median", 10, False),
        ("median", 50, True),
        ("p90", 50, True),
        ("p90", 5, False),
    ):
        mechanism = histogram(function, cases=cases)
        assert mechanism.interval_tells(cases) is tells, (function, cases)
    other = mechanism_for("median", HUNDRED, ONE, ADD_REMOVE, integral=False, name="interval")
    assert not other.interval_tells(1e6)


def test_the_predicted_error_is_that_of_evenly_spread_values() -> None:
    mechanism, values = histogram(epsilon=Fraction(1, 4), cases=400), np.linspace(0, 100, 400)
    chance, law = random.Random(2), mechanism.law(values)  # noqa: S311 - a simulation
    estimates = [mechanism.estimate(law.draw(chance.randrange)).value or 0 for _ in range(300)]
    error = float(np.sqrt(np.mean(np.square(np.array(estimates) - 50))))
    predicted = mechanism.predicted_error(400, None)
    assert 0.5 * predicted < error < 1.2 * predicted


@pytest.mark.parametrize(("function", "level"), [("median", 0.5), ("p90", 0.9)])
@pytest.mark.parametrize("skewed", [False, True])
def test_what_is_forecast_is_what_values_that_lie_mostly_low_have(
    function: str, level: float, *, skewed: bool
) -> None:
    """The error, the interval, and where that lies, which says whether a verdict is firm."""
    mechanism = histogram(function, epsilon=Fraction(1, 4), cases=400, skewed=skewed)
    places = MOSTLY_LOW.quantiles((np.arange(400) + 0.5) / 400)
    chance, law = random.Random(2), mechanism.law(100 * places)  # noqa: S311 - a simulation
    outcomes = [law.draw(chance.randrange) for _ in range(300)]
    truth = 100 * float(MOSTLY_LOW.quantiles(np.array(level)))
    errors = [abs((mechanism.estimate(each).value or 0.0) - truth) for each in outcomes]
    assert np.mean(np.array(errors) <= mechanism.error_law(400, None).within(0.95)) >= 0.93
    drawn = np.array([mechanism.interval(each, 0.95) for each in outcomes])
    tried_out = mechanism.trial_intervals(Trial(400, np.array([truth])), truth)
    assert tried_out is not None
    low, high = tried_out.low, tried_out.high
    assert low.shape == high.shape == (1, 509)
    for tried, seen in ((low, drawn[:, 0]), (high, drawn[:, 1])):
        assert np.mean(tried) == pytest.approx(np.mean(seen), rel=0.05)
    assert np.median(high - low) == pytest.approx(np.median(drawn[:, 1] - drawn[:, 0]), rel=0.1)


def test_a_forecast_of_few_cases_is_as_wide_as_their_intervals() -> None:
    """Where perhaps no case is there no verdict is firm; the interval is what it is."""
    cases = 46
    mechanism = histogram(epsilon=Fraction(1, 2), cases=4 * cases)
    values = 100 * MOSTLY_LOW.quantiles((np.arange(cases) + 0.5) / cases)
    chance, law = random.Random(3), mechanism.law(values)  # noqa: S311 - a simulation
    drawn = np.array([mechanism.interval(law.draw(chance.randrange), 0.95) for _ in range(400)])
    truths = np.median(values) * np.linspace(0.8, 1.2, 24)
    tried = mechanism.trial_intervals(Trial(cases, truths), float(np.median(values)))
    assert tried is not None
    assert 0.02 < np.mean(tried.perhaps_empty) < 0.5
    seen = np.median(drawn[:, 1] - drawn[:, 0])
    assert np.median(tried.high - tried.low) == pytest.approx(seen, rel=0.1)
    everything = np.where(tried.perhaps_empty, 100.0, tried.high - tried.low)
    assert np.median(everything) > 1.15 * seen, "such a fault would be seen"
