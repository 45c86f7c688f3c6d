"""What is read off histograms on record: intervals cover as they say, each noise used once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from pappi.mechanisms import (
    Bins,
    Contribution,
    Mechanism,
    NoisyHistogram,
    Outcome,
    Part,
    PresenceClass,
    TwoBin,
    Values,
    binned_share,
    combined_histogram,
    combined_mean,
    combined_sum,
    joint_members,
    joint_numbers,
    levels_together,
)
from pappi.mechanisms.histogram import BinnedShare, CountsPair
from pappi.planning import Measurement
from pappi.planning.error_prediction import error_law
from pappi.ppinot import Ppi, aggregated_measures, parse_catalogue, reduced_form
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds, CaseBorder
from tests.lengths import length

DRAWS = length(800, 2_000)
FEWER = length(400, DRAWS)  # of quantiles, which take longer
LEAST, MOST = 0.93, 0.99
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DAYS = Bounds(Fraction(0), Fraction(30))
HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)
LIMITS = tuple(map(Fraction, (3, 5, 10, 14, 21)))
BINS = Bins.at(DAYS, LIMITS)
MONTHS = (160, 200, 120)


def cases(number: int, seed: int) -> Values:
    drawn = random.Random(seed)  # noqa: S311
    return np.array([drawn.expovariate(1 / 6) for _ in range(number)])


DATA = [cases(number, seed) for seed, number in enumerate(MONTHS)]
EVERY = np.concatenate(DATA)


def share(upto: int, epsilon: Fraction = FIFTH, adjacency: Adjacency = ADD_REMOVE) -> BinnedShare:
    inside = tuple(number < upto for number in range(BINS.number))
    return BinnedShare(UNIT_INTERVAL, epsilon, adjacency, True, BINS, inside)  # noqa: FBT003


def histogram(bins: Bins, epsilon: Fraction = FIFTH) -> NoisyHistogram:
    return NoisyHistogram(bins.bounds, epsilon, ADD_REMOVE, False, HALF, bins)  # noqa: FBT003


def drawn_from(
    mechanisms: Sequence[Mechanism], months: Sequence[Values]
) -> Callable[[random.Random], Outcome]:
    laws = [mechanism.law(month) for mechanism, month in zip(mechanisms, months, strict=True)]
    return lambda chance: tuple(n for law in laws for n in law.draw(chance.randrange))


def covered(
    combined: Mechanism,
    truth: float,
    draw: Callable[[random.Random], Outcome],
    draws: int = DRAWS,
) -> float:
    chance = random.Random(5)  # noqa: S311
    ends = (combined.interval(draw(chance), 0.95) for _ in range(draws))
    return sum(low <= truth <= high for low, high in ends) / draws


# --- shares within limits, and numbers of cases within them ---------------------------------


@pytest.mark.parametrize("upto", [1, 3, 5])
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("months", [1, 3])
def test_intervals_of_shares_within_limits_cover(
    upto: int, adjacency: Adjacency, months: int
) -> None:
    mechanism, data = share(upto, adjacency=adjacency), DATA[:months]
    combined = combined_mean(UNIT_INTERVAL, [Part(mechanism, BINS.number)] * months)
    truth = float((np.concatenate(data) <= float(LIMITS[upto - 1])).mean())
    found = covered(combined, truth, drawn_from([mechanism] * months, data))
    assert LEAST <= found <= MOST, found


@pytest.mark.parametrize("upto", [2, 5])
def test_intervals_of_numbers_within_limits_cover(upto: int) -> None:
    mechanism = share(upto)
    parts = [Part(mechanism, BINS.number)] * 3
    combined = combined_sum(UNIT_INTERVAL, parts, [mechanism.as_sum] * 3)
    truth = float((float(LIMITS[upto - 1]) >= EVERY).sum())
    found = covered(combined, truth, drawn_from([mechanism] * 3, DATA))
    assert LEAST <= found <= MOST, found


def test_a_histogram_and_a_share_of_its_own_about_the_same_cases_cover() -> None:
    """Weights that make 1: the first is known better."""
    of_bins, alone = share(3), TwoBin(UNIT_INTERVAL, FIFTH / 2, ADD_REMOVE, True)  # noqa: FBT003
    parts = [
        Part(of_bins, BINS.number, Fraction(7, 10)),
        Part(alone, 2, Fraction(3, 10)),
    ]
    within = (DATA[0] <= float(LIMITS[2])).astype(np.float64)
    draw = drawn_from([of_bins, alone], [DATA[0], within])
    found = covered(combined_mean(UNIT_INTERVAL, parts), float(within.mean()), draw)
    assert LEAST <= found <= MOST, found


def test_a_number_that_is_read_off_its_class_covers() -> None:
    mean = Contribution("mean", DAYS, integral=False, counts_beyond=True)
    rejected = Contribution("share", UNIT_INTERVAL, integral=True)
    classes = (PresenceClass((mean, rejected), everyone=True),)
    (member, _), (number,) = (
        joint_members(classes, FIFTH, ADD_REMOVE),
        joint_numbers(classes, FIFTH, ADD_REMOVE),
    )
    rows = np.column_stack([DATA[0], (DATA[0] > 5).astype(np.float64)])
    assert number.settings == member.settings  # one draw
    found = covered(number, float(len(rows)), drawn_from([member], [rows]))
    assert LEAST <= found <= MOST, found


# --- quantiles and means --------------------------------------------------------------------


EVEN = Bins.even(DAYS, 32)


@pytest.mark.parametrize("level", [HALF, Fraction(9, 10)])
@pytest.mark.parametrize(
    ("finer", "coarser"), [(EVEN, EVEN), (EVEN, Bins.even(DAYS, 16)), (BINS, BINS)]
)
def test_quantiles_of_several_months_cover_in_the_bins_they_share(
    level: Fraction, finer: Bins, coarser: Bins
) -> None:
    """Those of a quantile end at bins: they hold at least as often as they say."""
    mechanisms = [histogram(finer), histogram(coarser, FIFTH / 2), histogram(finer)]
    sizes = [mechanism.bins.number for mechanism in mechanisms]
    parts = [Part(each, size) for each, size in zip(mechanisms, sizes, strict=True)]
    combined = combined_histogram(DAYS, parts, coarser, level, integral=False)
    truth = float(np.quantile(np.clip(EVERY, 0, 30), float(level), method="inverted_cdf"))
    assert covered(combined, truth, drawn_from(mechanisms, DATA), FEWER) >= LEAST


@pytest.mark.parametrize("level", [HALF, Fraction(9, 10)])
def test_an_interval_that_ends_at_bins_is_no_wider_than_some_data_need(level: Fraction) -> None:
    """Usually it holds more often than it says, as it covers whole bins; of some data hardly so.

    With a share `level` of the cases below an empty bin, and the others above it, the quantile lies
    in there, and both ends of the bin are as near as can be to leaving it out.
    """
    empty, number = 12, 300
    low, high = (float(EVEN.edges[edge]) for edge in (empty, empty + 1))
    below = round(number * level)
    month = np.array([low - 0.1] * below + [high + 0.1] * (number - below))
    mechanisms = [histogram(EVEN)] * 3
    parts = [Part(each, EVEN.number) for each in mechanisms]
    combined = combined_histogram(DAYS, parts, EVEN, level, integral=False)
    found = covered(combined, (low + high) / 2, drawn_from(mechanisms, [month] * 3))
    assert LEAST <= found <= 0.99, found


def test_two_histograms_of_the_same_cases_are_weighed() -> None:
    good, poor = histogram(EVEN), histogram(EVEN, FIFTH / 3)
    size = EVEN.number
    both = combined_histogram(
        DAYS,
        [Part(good, size, Fraction(9, 10)), Part(poor, size, Fraction(1, 10))],
        EVEN,
        HALF,
        integral=False,
    )
    alone = combined_histogram(DAYS, [Part(good, size)], EVEN, HALF, integral=False)
    assert both.predicted_width(400) < alone.predicted_width(400)
    truth = float(np.median(DATA[0]))
    assert covered(both, truth, drawn_from([good, poor], [DATA[0]] * 2), FEWER) >= LEAST


def test_a_mean_holds_wherever_in_their_bins_the_cases_lie() -> None:
    """All at the low ends of their bins: as far off as bins can make it."""
    low = np.concatenate([np.full(70, 5.01), np.full(60, 10.01), np.full(50, 21.01)])
    parts = [Part(histogram(BINS), BINS.number)]
    combined = combined_histogram(DAYS, parts, BINS, None, integral=False)
    draw, chance = drawn_from([histogram(BINS)], [low]), random.Random(5)  # noqa: S311
    held = [combined.interval(draw(chance), 0.95) for _ in range(200)]
    assert sum(a <= low.mean() <= b for a, b in held) >= 0.95 * 200 - 6
    assert combined.error_law(180, None) is None  # nobody promises how far off it is


# --- several derived answers together ---------------------------------------------------------

PER_MONTH = [combined_mean(UNIT_INTERVAL, [Part(share(upto), BINS.number)]) for upto in (1, 3, 5)]
IN_ALL = [combined_mean(UNIT_INTERVAL, [Part(share(upto), BINS.number)] * 3) for upto in (1, 3, 5)]


def test_simultaneous_intervals_of_derived_answers_hold_together() -> None:
    """Three shares of each of three months (each month one draw), and three of the quarter."""
    chance, laws = random.Random(5), [share(1).law(month) for month in DATA]  # noqa: S311
    months = levels_together([{month} for month in range(3) for _ in PER_MONTH], 0.95)
    shared = levels_together([{month} for month in range(3) for _ in PER_MONTH] + [{0, 1, 2}], 0.95)
    assert len(set(months)) == 1
    assert min(shared) == max(shared) == pytest.approx(1 - 0.05 / 10)  # all of it is one part
    limits = [float(LIMITS[upto - 1]) for upto in (1, 3, 5)]
    held = {"each": 0, "independent": 0, "shared": 0}
    for _ in range(DRAWS):
        noisy = [law.draw(chance.randrange) for law in laws]

        def all_hold(level: float, quarter: float | None = None) -> bool:
            own = (
                (combined, counts, float((month <= limit).mean()))
                for month, counts in zip(DATA, noisy, strict=True)  # noqa: B023 - called at once
                for combined, limit in zip(PER_MONTH, limits, strict=True)
            )
            whole = (
                (combined, sum(noisy, ()), float((limit >= EVERY).mean()))  # noqa: B023
                for combined, limit in zip(IN_ALL[:1], limits, strict=False)
            )
            every = [*own, *whole] if quarter is not None else list(own)
            ends = ((each.interval(counts, level), truth) for each, counts, truth in every)
            return all(low <= truth <= high for (low, high), truth in ends)

        held["each"] += all_hold(0.95)
        held["independent"] += all_hold(months[0])
        held["shared"] += all_hold(shared[0], shared[-1])
    assert held["each"] < 0.85 * DRAWS  # which is why there are others
    assert LEAST * DRAWS <= held["independent"] <= MOST * DRAWS, held
    assert LEAST * DRAWS <= held["shared"] <= MOST * DRAWS, held


# --- formulas of several shares of one draw ---------------------------------------------------


def of_two(text: str) -> Ppi:
    of = "{number: cases, where: {derive: x, x: {condition: paid}}}"
    (ppi,) = parse_catalogue(
        f"log: small\nppis:\n  - id: q\n    measure: {{derive: {text}, a: {of}, b: {of}}}\n"
    ).ppis
    return reduced_form(ppi, CaseBorder.END)


@pytest.mark.parametrize("formula", ["a + b", "a - b"])
@pytest.mark.parametrize("first", [(True, True, False), (False, False, True)])
def test_what_is_promised_of_a_formula_holds_though_its_functions_share_a_draw(
    formula: str, first: tuple[bool, ...]
) -> None:
    """Two numbers of cases, read off the same bins: their noises add up, or cancel out."""
    bins, both = Bins.at(DAYS, LIMITS[:2]), (True, True, True)
    read = [binned_share(bins, inside, FIFTH, ADD_REMOVE) for inside in (first, both)]
    ppi, numbers = of_two(formula), []
    for (path, measure), mechanism in zip(aggregated_measures(ppi.measure), read, strict=True):
        summed = combined_sum(UNIT_INTERVAL, [Part(mechanism, 3)], [(0.5, 0.5)])
        numbers.append(Measurement(path, (measure,), summed, draws=frozenset({"one"})))
    law = error_law(ppi, numbers, 1_000, 1.0)
    alone = error_law(ppi, [replace(each, draws=frozenset()) for each in numbers], 1_000, 1.0)
    assert law is not None
    assert alone is not None
    sign, chance = (1 if formula == "a + b" else -1), random.Random(5)  # noqa: S311
    off = []
    for _ in range(DRAWS):
        noise = read[0].law(np.zeros(0)).draw(chance.randrange)
        part = sum(each for each, own in zip(noise, first, strict=True) if own)
        off.append(abs(part + sign * sum(noise)))
    assert np.mean(np.array(off) <= law.within(0.95)) >= 0.94
    if sign > 0:  # taken as independent, too much is promised
        assert np.mean(np.array(off) <= alone.within(0.95)) < 0.94


# --- planted faults -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Forgetful(CountsPair):
    """As if what lies inside and all of it had noises of their own: no covariance."""

    def spectrum(self, of_v: float, of_t: float, frequencies: Values) -> Values:
        of_inside = CountsPair.spectrum(self, of_v, 0.0, frequencies)
        return of_inside * CountsPair.spectrum(self, 0.0, of_t, frequencies)

    def variance(self, of_v: float, of_t: float) -> float:
        return CountsPair.variance(self, of_v, 0.0) + CountsPair.variance(self, 0.0, of_t)


@dataclass(frozen=True, slots=True)
class ForgetfulShare(BinnedShare):
    @property
    def pair_noise(self) -> Forgetful:
        inside = sum(self.inside)
        return Forgetful(1 / self.epsilon, inside, self.bins.number - inside)


def test_a_forgotten_covariance_is_caught_by_coverage() -> None:
    """Of a share near 0 with nearly all bins below its limit, that of v and t is most of it."""
    late = np.concatenate([np.linspace(22, 29, 560), np.linspace(1, 20, 40)])
    true = share(5)
    common = UNIT_INTERVAL, true.epsilon, true.adjacency, True
    faulty = ForgetfulShare(*common, BINS, true.inside)
    truth, draw = 40 / 600, drawn_from([true], [late])
    parts = [[Part(each, BINS.number)] for each in (true, faulty)]
    found = [covered(combined_mean(UNIT_INTERVAL, own), truth, draw) for own in parts]
    assert found[0] >= LEAST
    assert found[1] < LEAST


def test_one_histogram_that_is_used_twice_is_caught_by_coverage() -> None:
    """As if they were four, of a quarter of the weight each."""
    mechanism, (month, *_) = share(2), DATA
    once = drawn_from([mechanism], [month])
    parts = [Part(mechanism, BINS.number, Fraction(1, 4))] * 4
    truth = float((month <= float(LIMITS[1])).mean())
    found = covered(combined_mean(UNIT_INTERVAL, parts), truth, lambda chance: once(chance) * 4)
    assert found < LEAST
    bins = [Part(histogram(EVEN), EVEN.number, Fraction(1, 4))] * 4
    combined = combined_histogram(DAYS, bins, EVEN, HALF, integral=False)
    drawn = drawn_from([histogram(EVEN)], [month])
    told = covered(combined, float(np.median(month)), lambda chance: drawn(chance) * 4, FEWER)
    assert told < LEAST


def test_what_is_derived_is_never_drawn() -> None:
    combined = combined_histogram(
        DAYS, [Part(histogram(EVEN), EVEN.number)], EVEN, HALF, integral=False
    )
    with pytest.raises(NotImplementedError, match="never drawn"):
        combined.release(np.array([1.0]))
