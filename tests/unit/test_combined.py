"""Releases that are added up: intervals cover as they say, and only if noises are independent."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest

from pappi.checkpoint.derivation import _Observation, _tiled
from pappi.ledger import Account, Charge
from pappi.mechanisms import (
    Bins,
    Contribution,
    LaplaceSum,
    Mechanism,
    Outcome,
    Part,
    PresenceClass,
    TwoBin,
    TwoBinRatio,
    Values,
    added,
    binned_share,
    combined_mean,
    combined_sum,
    joint_members,
    with_number,
)
from pappi.mechanisms.combined import SummedNoise
from pappi.mechanisms.laws import half_width_of_two, laplace_half_width
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds, Epsilon, Period, Source
from tests.lengths import length

DRAWS = length(800, 2_000)
LEAST, MOST = 0.93, 0.99
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DAYS = Bounds(Fraction(0), Fraction(30))
TENTH, THIRD = Fraction(1, 10), Fraction(1, 3)

MEAN = Contribution("mean", DAYS, integral=False, counts_beyond=True)
SHARE = Contribution("share", UNIT_INTERVAL, integral=True)
SUM = Contribution("sum", DAYS, integral=False)
ALONE = joint_members((PresenceClass((MEAN,), everyone=True),), TENTH, ADD_REMOVE)
TOGETHER = joint_members(
    (PresenceClass((MEAN, SHARE), everyone=True), PresenceClass((SHARE,), everyone=False)),
    THIRD,
    ADD_REMOVE,
)
BOXED = joint_members((PresenceClass((MEAN,), everyone=True),), TENTH, REPLACE)
SUMMED = joint_members((PresenceClass((SUM, MEAN), everyone=True),), THIRD, ADD_REMOVE)


def cases(number: int, seed: int, width: int) -> Values:
    """A row for each case of one month: days, then truth values."""
    drawn = random.Random(seed)  # noqa: S311
    days = [drawn.expovariate(1 / 6) for _ in range(number)]
    rows = [[day, *(float(drawn.random() < 0.3) for _ in range(width - 1))] for day in days]
    return np.array(rows)


MONTHS = (60, 200, 120, 90, 150, 80)


def read(mechanism: Mechanism, months: Sequence[int]) -> list[Values]:
    width = mechanism.width
    tables = [cases(number, seed, max(width, 2)) for seed, number in enumerate(months)]
    if width > 1:
        return [table[:, :width] for table in tables]
    column = 1 if mechanism.bounds == UNIT_INTERVAL else 0
    return [table[:, column] for table in tables]


def covered(combined: Mechanism, truth: float, draw: Callable[[random.Random], Outcome]) -> float:
    chance = random.Random(5)  # noqa: S311
    ends = (combined.interval(draw(chance), 0.95) for _ in range(DRAWS))
    return sum(low <= truth <= high for low, high in ends) / DRAWS


def drawn_from(
    mechanisms: Sequence[Mechanism], months: Sequence[Values]
) -> Callable[[random.Random], Outcome]:
    laws = [mechanism.law(month) for mechanism, month in zip(mechanisms, months, strict=True)]
    return lambda chance: tuple(n for law in laws for n in law.draw(chance.randrange))


def sizes(mechanisms: Sequence[Mechanism], months: Sequence[Values]) -> list[int]:
    return [each.law(month).size for each, month in zip(mechanisms, months, strict=True)]


def parts_of(mechanisms: Sequence[Mechanism], months: Sequence[Values]) -> list[Part]:
    counted = zip(mechanisms, sizes(mechanisms, months), strict=True)
    return [Part(mechanism, size) for mechanism, size in counted]


def clipped(months: Sequence[Values], bounds: Bounds, column: int) -> Values:
    rows = np.concatenate([month.reshape(len(month), -1)[:, column] for month in months])
    return np.asarray(np.clip(rows, float(bounds.low), float(bounds.high)))


@pytest.mark.parametrize(
    ("mechanism", "number", "column"),
    [
        pytest.param(TwoBin(DAYS, TENTH, ADD_REMOVE, False), 3, 0, id="two bins, 3 months"),  # noqa: FBT003
        pytest.param(TwoBin(UNIT_INTERVAL, THIRD, ADD_REMOVE, True), 6, 0, id="shares, 6 months"),  # noqa: FBT003
        pytest.param(TwoBin(DAYS, TENTH, REPLACE, False), 3, 0, id="a public number, 3 months"),  # noqa: FBT003
        pytest.param(ALONE[0], 3, 0, id="joint, 3 months"),
        pytest.param(ALONE[0], 6, 0, id="joint, 6 months"),
        pytest.param(TOGETHER[1], 3, 1, id="a share in a set of classes"),
        pytest.param(BOXED[0], 3, 0, id="joint, a public number"),
    ],
)
def test_intervals_of_longer_periods_cover(mechanism: Mechanism, number: int, column: int) -> None:
    months = read(mechanism, MONTHS[:number])
    parts = parts_of([mechanism] * number, months)
    combined = combined_mean(mechanism.bounds, parts)
    truth = float(clipped(months, mechanism.bounds, column).mean())
    found = covered(combined, truth, drawn_from([mechanism] * number, months))
    assert LEAST <= found <= MOST, found


@pytest.mark.parametrize(
    ("mechanism", "number", "wanted"),
    [
        pytest.param(LaplaceSum(DAYS, TENTH, ADD_REMOVE, False), 4, "sum", id="sums"),  # noqa: FBT003
        pytest.param(LaplaceSum(DAYS, TENTH, REPLACE, False), 4, "sum", id="sums, public number"),  # noqa: FBT003
        pytest.param(TwoBin(DAYS, TENTH, ADD_REMOVE, False), 1, "sum", id="a sum from a mean"),  # noqa: FBT003
        pytest.param(TwoBin(DAYS, TENTH, ADD_REMOVE, False), 3, "number", id="a number from means"),  # noqa: FBT003
        pytest.param(ALONE[0], 1, "number", id="a number from a joint mean"),
        pytest.param(ALONE[0], 1, "sum", id="a sum from a joint mean"),
        pytest.param(ALONE[0], 4, "sum", id="a sum from joint means"),
        pytest.param(TOGETHER[0], 1, "number", id="a number from a set of classes"),
        pytest.param(SUMMED[0], 3, "sum", id="joint sums"),
    ],
)
def test_intervals_of_sums_and_numbers_cover(
    mechanism: Mechanism, number: int, wanted: str
) -> None:
    months = read(mechanism, MONTHS[:number])
    way = mechanism.as_sum if wanted == "sum" else (0.0, 1.0)
    parts = parts_of([mechanism] * number, months)
    combined = combined_sum(mechanism.bounds, parts, [way] * number)
    values = clipped(months, mechanism.bounds, 0)
    truth = float(values.sum()) if wanted == "sum" else float(len(values))
    found = covered(combined, truth, drawn_from([mechanism] * number, months))
    assert LEAST <= found <= MOST, found


def test_intervals_of_a_part_and_its_whole_cover() -> None:
    mechanism = TwoBinRatio(DAYS, THIRD, ADD_REMOVE, False, Fraction(100), DAYS)  # noqa: FBT003
    months = [cases(number, seed, 2) for seed, number in enumerate(MONTHS[:3])]
    for month in months:
        month[:, 1] *= month[:, 0]  # of some cases all of it, of others nothing
        month[:, [0, 1]] = month[:, [1, 0]]
    combined = combined_mean(
        Bounds(Fraction(0), Fraction(100)), parts_of([mechanism] * 3, months), counts=False
    )
    part, whole = (float(clipped(months, DAYS, column).sum()) for column in (0, 1))
    draw = drawn_from([mechanism] * 3, months)
    assert LEAST <= covered(combined, 100 * part / whole, draw) <= MOST


def test_intervals_of_several_releases_about_the_same_cases_cover() -> None:
    """A quarter released at little ε, beside its three months: weights that make 1."""
    coarse = TwoBin(DAYS, TENTH / 2, ADD_REMOVE, False)  # noqa: FBT003
    months = read(ALONE[0], MONTHS[:3])
    mechanisms: list[Mechanism] = [coarse, ALONE[0], ALONE[0], ALONE[0]]
    read_by = [np.concatenate(months), *months]
    weights = (Fraction(4, 10), *[Fraction(6, 10)] * 3)
    parts = [
        Part(mechanism, size, weight)
        for mechanism, size, weight in zip(
            mechanisms, sizes(mechanisms, read_by), weights, strict=True
        )
    ]
    truth = float(clipped(months, DAYS, 0).mean())
    assert covered(combined_mean(DAYS, parts), truth, drawn_from(mechanisms, read_by)) >= LEAST


def test_intervals_of_half_a_year_its_quarters_and_their_months_cover() -> None:
    """Weighed as derivation weighs them."""
    coarse, fine = TwoBin(DAYS, TENTH / 2, ADD_REMOVE, False), ALONE[0]  # noqa: FBT003
    months = read(fine, MONTHS)
    first = [date(2024, number, 1) for number in range(1, 8)]
    stretches = [(0, 6), (0, 3), (3, 6), *((number, number + 1) for number in range(6))]
    mechanisms: list[Mechanism] = [fine, coarse, coarse, *[fine] * 6]
    seen = [
        _Observation(
            first[start], first[end], None, mechanism, None, None, (), *_on_record(first[start])
        )
        for (start, end), mechanism in zip(stretches, mechanisms, strict=True)
    ]
    read_by = [np.concatenate(months[start:end]) for start, end in stretches]
    weight_of = {
        (one.start, one.end): weight for one, weight in _tiled(seen, first[0], first[6]) or ()
    }
    weights = [weight_of[first[start], first[end]] for start, end in stretches]
    assert weights[0] + weights[1] + weights[3] == weights[0] + weights[2] + weights[8] == 1
    parts = [
        Part(mechanism, size, weight)
        for mechanism, size, weight in zip(
            mechanisms, sizes(mechanisms, read_by), weights, strict=True
        )
    ]
    truth = float(clipped(months, DAYS, 0).mean())
    draw = drawn_from(mechanisms, read_by)
    combined = combined_mean(DAYS, parts)
    assert LEAST <= covered(combined, truth, draw) <= MOST
    own = parts_of([fine] * 6, months)
    by_months, by_all = (
        each.error_law(sum(MONTHS), None) for each in (combined_mean(DAYS, own), combined)
    )
    assert by_months is not None
    assert by_all is not None
    assert by_all.within(0.95) < 0.8 * by_months.within(0.95)


def _on_record(start: date) -> tuple[Source, Charge]:
    charge = Charge("key", (Account("small", "2024-01"),), Epsilon.of(1), {}, "ann")
    return Source(1, "p", Period(start, start + timedelta(days=1))), charge


# --- a number of cases from elsewhere ------------------------------------------------------------

LIMITS = Bins.at(DAYS, tuple(map(Fraction, (1, 3, 5, 10, 20))))
UP_TO_3 = binned_share(LIMITS, (True, True, False, False, False, False), TENTH, ADD_REMOVE)
UP_TO_20 = binned_share(LIMITS, (True,) * 5 + (False,), TENTH, ADD_REMOVE)
COUNT = LaplaceSum(UNIT_INTERVAL, TENTH, ADD_REMOVE, True)  # noqa: FBT003


def counted_elsewhere(
    mechanism: Mechanism, counting: Mechanism, months: list[Values]
) -> list[Part]:
    """A share or mean of some months, and what has counted their cases."""
    number = mechanism.law(months[0]).size
    parts = [Part(mechanism, number)] * len(months)
    way = counting.as_sum if counting is COUNT else (0.0, 1.0)
    return with_number(parts, [(Part(counting, counting.law(months[0]).size), way)] * len(months))


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize(
    ("mechanism", "counting"),
    [
        pytest.param(UP_TO_3, COUNT, id="a limit of a histogram, counted"),
        pytest.param(UP_TO_3, ALONE[0], id="a limit of a histogram, counted by a joint mean"),
        pytest.param(TwoBin(DAYS, TENTH, ADD_REMOVE, False), ALONE[0], id="two bins"),  # noqa: FBT003
        pytest.param(ALONE[0], COUNT, id="a joint mean, counted"),
    ],
)
def test_intervals_with_a_number_from_elsewhere_cover_and_are_narrower(
    mechanism: Mechanism, counting: Mechanism, number: int
) -> None:
    months = [days[:, 0] for days in (cases(n, seed, 2) for seed, n in enumerate(MONTHS[:number]))]
    ones = [np.ones(len(month)) if counting is COUNT else month for month in months]
    parts = counted_elsewhere(mechanism, counting, months)
    assert len(parts) == 2 * number, "it is worth counting"
    values = clipped(months, DAYS, 0)
    is_share = mechanism is UP_TO_3
    truth = float((values <= 3).mean() if is_share else values.mean())
    combined = combined_mean(mechanism.bounds, parts)
    alone = combined_mean(mechanism.bounds, parts_of([mechanism] * number, months))
    draws = drawn_from([mechanism] * number + [counting] * number, [*months, *ones])
    assert LEAST <= covered(combined, truth, draws) <= MOST
    own = number * mechanism.law(months[0]).size
    chance = random.Random(3)  # noqa: S311
    widths = [
        np.subtract(*each.interval(noisy[:length], 0.95)[::-1])
        for noisy in (draws(chance) for _ in range(100))
        for each, length in ((combined, len(noisy)), (alone, own))
    ]
    assert np.mean(widths[::2]) < 0.97 * np.mean(widths[1::2])
    within, by_itself = (each.error_law(sum(MONTHS[:number]), None) for each in (combined, alone))
    assert within is not None
    assert by_itself is not None
    assert within.within(0.95) < by_itself.within(0.95)


def test_a_number_that_tells_hardly_anything_is_left_out() -> None:
    rough = LaplaceSum(UNIT_INTERVAL, TENTH / 20, ADD_REMOVE, True)  # noqa: FBT003
    assert len(with_number([Part(UP_TO_3, 6)], [(Part(rough, 1), rough.as_sum)])) == 1


def test_what_is_read_with_a_number_adds_up() -> None:
    """A quarter of months that were each counted elsewhere: as when all are read at once."""
    months = [days[:, 0] for days in (cases(n, seed, 2) for seed, n in enumerate(MONTHS[:3]))]
    parts = counted_elsewhere(UP_TO_3, COUNT, months)
    each = [
        combined_mean(UNIT_INTERVAL, [told, counted])
        for told, counted in zip(parts[:3], parts[3:], strict=True)
    ]
    together = added(each, [7, 7, 7], of_sums=False)
    assert together is not None
    draws = drawn_from(
        [UP_TO_3, COUNT] * 3, [v for month in months for v in (month, np.ones(len(month)))]
    )
    truth = float((np.concatenate(months) <= 3).mean())
    assert LEAST <= covered(together, truth, draws) <= MOST


# --- planted faults ------------------------------------------------------------------------------


def test_a_number_of_the_same_draw_taken_as_another_is_caught_by_coverage() -> None:
    """The total of a histogram has the noise of its own bins: it corrects nothing."""
    last = float(LIMITS.limits[-1])
    month = np.repeat((last - 1, last + 1), (300, 2700))
    parts = with_number([Part(UP_TO_20, 6)], [(Part(UP_TO_20, 6), (0.0, 1.0))])
    once = drawn_from([UP_TO_20], [month])
    combined, truth = combined_mean(UNIT_INTERVAL, parts), 0.1
    twice = drawn_from([UP_TO_20] * 2, [month] * 2)
    assert covered(combined, truth, twice) >= LEAST
    assert covered(combined, truth, lambda chance: once(chance) * 2) < LEAST - 0.02


def test_a_release_that_is_used_twice_is_caught_by_coverage() -> None:
    """As if it were two, of half the weight each: a noise that never averages out."""
    mechanism = TwoBin(DAYS, TENTH, ADD_REMOVE, False)  # noqa: FBT003
    (month,) = read(mechanism, MONTHS[:1])
    parts = [Part(mechanism, 2, Fraction(1, 4))] * 4
    once = drawn_from([mechanism], [month])
    found = covered(
        combined_mean(DAYS, parts),
        float(clipped([month], DAYS, 0).mean()),
        lambda chance: once(chance) * 4,
    )
    assert found < LEAST


def test_members_of_one_draw_taken_as_independent_are_caught_by_coverage() -> None:
    """Both tell the number of cases of their class: it is one number, with one noise."""
    mean, share, _ = TOGETHER
    (month,) = read(mean, MONTHS[1:2])
    size = mean.law(month).size
    parts = [Part(mechanism, size, Fraction(1, 2)) for mechanism in (mean, share)]
    once = drawn_from([mean], [month])
    combined = combined_sum(DAYS, parts, [(0.0, 1.0)] * 2)
    assert covered(combined, float(len(month)), lambda chance: once(chance) * 2) < LEAST


# --- the law of a sum of noises ------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_quantiles_are_those_of_the_exact_laws_and_a_little_outwards(confidence: float) -> None:
    one = LaplaceSum(UNIT_INTERVAL, TENTH, ADD_REMOVE, True)  # noqa: FBT003
    two = TwoBin(UNIT_INTERVAL, TENTH, ADD_REMOVE, True)  # noqa: FBT003
    single = SummedNoise(((one.pair_noise, 1.0, 0.0),)).quantile(confidence)
    assert 0 <= single - laplace_half_width(one.scale, confidence) <= 0.2
    double = SummedNoise(((two.pair_noise, 0.0, 1.0),)).quantile(confidence)
    assert 0 <= double - half_width_of_two(two.scale, confidence) <= 0.4
    own, member = ALONE[0], ALONE[0].pair_noise
    assert member is not None
    summed = SummedNoise(((member, 1.0, -0.5),)).quantile(confidence)
    known = own._noise.quantile(0.5, own.member.span, confidence)  # type: ignore[attr-defined]
    assert summed == pytest.approx(known, rel=0.02)


def test_tails_and_quantiles_agree() -> None:
    noise = SummedNoise(tuple((ALONE[0].pair_noise, 1.0, -0.25) for _ in range(3)))  # type: ignore[misc]
    away = noise.quantile(0.95)
    assert noise.tail(away * 1.01) <= 0.05 <= noise.tail(away * 0.98)
    assert noise.tail(0.0) == 1.0
    assert noise.tail(1e9) < 1e-3


def test_what_is_derived_is_never_drawn() -> None:
    combined = combined_mean(DAYS, [Part(ALONE[0], 3)])
    with pytest.raises(NotImplementedError, match="never drawn"):
        combined.release(np.array([1.0]))
