"""How far off a release is expected to be, and how one epsilon is best split because of it.

From public facts only: bounds, epsilon, an assumed number of cases per period, and the
target as the point where precision matters. What clipping to the bounds changes depends on
the data and is not part of it. What one function's error is, its mechanism says; here the
functions of a PPI are put together.

One function without a target is taken to lie in the middle of its bounds. For a formula, or
in a declared range, it can decide which option is best where values lie: a small denominator
makes nearly all of a quotient's error. So that error is the mean over *reference scenarios*,
ways in which the values of cases may fill their bounds: evenly, around the middle, and
mostly low. The measures of a formula are filled alike, and each unlike the next.

The error of a formula is the root mean square over what its functions may come out as, at
509 equally likely chances. That takes in what a first order would miss: what curves, as a
quotient does, what is kept in its output range, and what has no value.

**The split.** A function's error is in proportion to 1/εᵢ, and the errors of several add up in
squares: Σ (cᵢ/εᵢ)² for a fixed sum of the εᵢ is least where εᵢ is in proportion to cᵢ^(2/3). The
cᵢ come from public facts, so the split does, too. It is rounded to 64ths, so that it can be
shown and so that a hair's difference in a prediction does not make another query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from pappi.mechanisms import (
    EVENLY,
    FILLS,
    LOOSE_FILL,
    Chances,
    ErrorLaw,
    Fill,
    Floats,
    Scenario,
    atoms_beyond,
    clamped_error,
)
from pappi.planning.measurements import Measurement
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Ppi,
    aggregated_measures,
    is_arithmetic,
    value_above,
    values_above,
)
from pappi.values import UNIT_INTERVAL

WORTH_IT = 0.98
"""Another split is taken only if it makes the predicted error at least this much smaller."""

IN_SCENARIOS = "the values lie evenly, around the middle or low between the bounds"

_TILTS = {2: (Fraction(3), Fraction(2)), 3: (Fraction(3),), 4: (Fraction(3),)}
"""Extra splits to try, by the number of functions: too slow for many."""

_PIECES = 64

# Of the chances, every so many are evaluated where a formula must be evaluated one by one.
_FEW_FOR_TYPICAL, _FEW_FOR_LAW = 16, 8
_FEW_TOGETHER = 4  # functions that share a draw
_KEPT = 0.98


def predicted_error(ppi: Ppi, measurements: Sequence[Measurement], cases: int) -> float:
    """The root mean square error of the PPI's value, in internal units; infinite if unknown."""
    if _is_unknown(measurements):
        return math.inf
    if _at_one_point(ppi, measurements[0]):
        at = _operating_point(ppi, measurements[0], cases)
        error = measurements[0].mechanism.predicted_error(cases, at)
        if ppi.value_range is None or at is None:
            return error
        low, high = float(ppi.value_range.low), float(ppi.value_range.high)
        return clamped_error(error, at - low, high - at)
    return _typical_error(ppi, measurements, _scenarios(ppi, measurements, cases))


def error_law(
    ppi: Ppi, measurements: Sequence[Measurement], cases: int, typical: float
) -> ErrorLaw | None:
    """How often the PPI's error is how large, given its typical size; None if no law says."""
    if _is_unknown(measurements):
        return None
    cases, law = max(cases, 1), None
    if measurements[0].path == ROOT:
        mechanism, at = measurements[0].mechanism, _operating_point(ppi, measurements[0], cases)
        law = mechanism.error_law(cases, at)
    if law is not None:
        return replace(_kept_in_range(ppi, law), start=typical)
    if not all(
        measurement.mechanism.predicts_in_formulas and _has_scenarios(measurement)
        for measurement in measurements
    ):
        return None
    scenarios, tails = _scenarios(ppi, measurements, cases), []
    for chances in _chances(measurements):
        released = _released(ppi, measurements, scenarios, _FEW_FOR_LAW, chances=chances)
        errors = [_in_range(ppi, values) - scenario.value for scenario, values in released]
        tails.append(atoms_beyond(np.concatenate(errors)))
    if not tails:
        return None

    def beyond(distance: float) -> float:
        return max(tail(distance) for tail in tails)

    return ErrorLaw(beyond, IN_SCENARIOS, shrinks=False, start=typical)


def _chances(measurements: Sequence[Measurement]) -> list[list[Chances]]:
    """Those of each function; of functions that share a draw, in each way they may go together.

    Their noises depend on each other, however that may be: so they are taken to rise and fall as
    one, or against each other, whichever is worse. Of many functions there are too many ways.
    """
    draws = [draw for measurement in measurements for draw in measurement.draws]
    if len(draws) == len(set(draws)):
        return [[Chances(index) for index in range(len(measurements))]]
    if len(measurements) > _FEW_TOGETHER:
        return []
    ways = product((False, True), repeat=len(measurements) - 1)
    return [[Chances(0, mirrored=other_way) for other_way in (False, *way)] for way in ways]


def contributions(ppi: Ppi, measurements: Sequence[Measurement], cases: int) -> tuple[float, ...]:
    """How much each function weighs in the error, as `best_split` takes it.

    That is how far off the value is for each function's error alone. But where errors do not
    fall in proportion to 1/ε, as those of a function whose noise fills its range, another
    split may be better: then the weights are those for which that one is best.
    """
    if _is_unknown(measurements):
        return (math.inf,) * len(measurements)
    scenarios = _scenarios(ppi, measurements, cases)
    alone = tuple(
        _typical_error(ppi, measurements, scenarios, measurement.path)
        for measurement in measurements
    )
    best = best_split(alone)
    least = _typical_error(ppi, _split(measurements, best), scenarios)
    enough = WORTH_IT * least
    for tilt in _TILTS.get(len(measurements), ()):
        for split in tilted(best, tilt):
            error = _typical_error(ppi, _split(measurements, split), scenarios)
            if error < least:
                best, least = split, error
    return alone if least > enough else tuple(float(share) ** 1.5 for share in best)


def _is_unknown(measurements: Sequence[Measurement]) -> bool:
    return any(
        measure.bounding is Bounding.PRIVATE
        for measurement in measurements
        for measure in measurement.inputs
    )


def _kept_in_range(ppi: Ppi, law: ErrorLaw) -> ErrorLaw:
    """A declared range keeps the value, and so its error."""
    if ppi.value_range is None:
        return law
    beyond, width = law.beyond, float(ppi.value_range.width)
    return replace(law, beyond=lambda t: beyond(t) if t < width else 0.0)


# --- at one point ---------------------------------------------------------------------


def _at_one_point(ppi: Ppi, measurement: Measurement) -> bool:
    """Whether one function answers the PPI, and its own prediction says how well."""
    if measurement.path != ROOT or ppi.target is not None:
        return measurement.path == ROOT
    alone = isinstance(ppi.measure, AggregatedMeasure) and ppi.value_range is None
    return alone or not _has_scenarios(measurement)


def _operating_point(ppi: Ppi, measurement: Measurement, cases: int) -> float | None:
    """The target; without one the middle, or where values are if they fill loose bounds."""
    limits = () if ppi.target is None else (ppi.target.low, ppi.target.high)
    wanted = [limit for limit in limits if limit is not None]
    if wanted:
        return float(sum(wanted) / len(wanted))
    loose = measurement.inputs[0].bounding is Bounding.LOOSE
    return _function_at(measurement.inputs[0], cases, EVENLY) if loose else None


# --- in reference scenarios -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PpiScenario:
    """All functions of a plan, and the value that they give without noise."""

    functions: tuple[Scenario, ...]
    value: float


def _has_scenarios(measurement: Measurement) -> bool:
    return measurement.mechanism.value_in((1.0,) * len(measurement.inputs)) is not None


def _scenarios(ppi: Ppi, measurements: Sequence[Measurement], cases: int) -> list[_PpiScenario]:
    """All measures filled alike; and where there are several, each unlike the next."""
    measures = [measure for _, measure in aggregated_measures(ppi.measure)]
    ranks = [
        [measures.index(measure) for measure in measurement.inputs] for measurement in measurements
    ]
    scenario_of = lru_cache(maxsize=None)(
        lambda i, fills: _scenario(measurements[i], max(cases, 1), fills)
    )
    scenarios = []
    for turn, first in product(range(min(len(measures), 2)), range(len(FILLS))):
        filled = [FILLS[(first + turn * rank) % len(FILLS)] for rank in range(len(measures))]
        functions = tuple(
            scenario_of(i, tuple(filled[rank] for rank in ranks[i]))
            for i in range(len(measurements))
        )
        values = {
            measurement.path: function.value
            for measurement, function in zip(measurements, functions, strict=True)
        }
        value = np.array([value_above(ppi.measure, values)], np.float64)
        scenarios.append(_PpiScenario(functions, float(_as_shown(ppi, value)[0])))
    return scenarios


def _scenario(measurement: Measurement, cases: int, fills: Sequence[Fill]) -> Scenario:
    pairs = zip(measurement.inputs, fills, strict=True)
    inputs = tuple(_function_at(measure, cases, fill) for measure, fill in pairs)
    value = measurement.mechanism.value_in(inputs)
    return Scenario(cases, inputs[0] if value is None else value, inputs, fills[0])


def _function_at(measure: AggregatedMeasure, cases: int, fill: Fill) -> float:
    """Of values that fill their bounds; loose ones only in part."""
    bounds = measure.bounds or UNIT_INTERVAL
    filled = float(LOOSE_FILL) if measure.bounding is Bounding.LOOSE else 1.0
    value = float(bounds.low) + float(bounds.width) * filled * _place(measure, cases, fill)
    return cases * value if measure.function is Aggregation.SUM else value


def _place(measure: AggregatedMeasure, cases: int, fill: Fill) -> float:
    match measure.function:
        case Aggregation.MIN:
            return fill.quantile(1 / (cases + 1))
        case Aggregation.MAX:
            return fill.quantile(cases / (cases + 1))
        case Aggregation.MEDIAN | Aggregation.PERCENTILE | Aggregation.DISTRIBUTION:
            return fill.quantile((measure.percent or 50) / 100)
        case _:
            return fill.mean


def _typical_error(
    ppi: Ppi,
    measurements: Sequence[Measurement],
    scenarios: Sequence[_PpiScenario],
    alone: str | None = None,
) -> float:
    """The mean over scenarios of the root mean square error; of one function's, if one is named."""
    errors = [
        _rms(ppi, scenario.value, values)
        for scenario, values in _released(ppi, measurements, scenarios, _FEW_FOR_TYPICAL, alone)
    ]
    return sum(errors) / len(errors)


def _released(
    ppi: Ppi,
    measurements: Sequence[Measurement],
    scenarios: Sequence[_PpiScenario],
    few: int,
    alone: str | None = None,
    chances: Sequence[Chances] | None = None,
) -> Iterator[tuple[_PpiScenario, Floats]]:
    """Equally likely values of the PPI in each scenario; with the noise of one function alone.

    At the `chances` of each function; without any, all are independent.
    """
    step = 1 if is_arithmetic(ppi.measure) else few
    outcomes: dict[Scenario, Floats] = {}
    for index, measurement in enumerate(measurements):
        own = Chances(index) if chances is None else chances[index]
        noisy = alone in (None, measurement.path)
        for function in {scenario.functions[index]: None for scenario in scenarios}:
            released = (
                measurement.mechanism.outcomes(function, own)
                if noisy
                else own.exactly(function.value)
            )
            outcomes[function] = released[::step]
    paths = [measurement.path for measurement in measurements]
    for scenario in scenarios:
        estimates = (outcomes[function] for function in scenario.functions)
        yield scenario, values_above(ppi.measure, dict(zip(paths, estimates, strict=True)))


def _rms(ppi: Ppi, truth: float, values: Floats) -> float:
    """Of equally likely values."""
    squares = np.square(_as_shown(ppi, values) - truth)
    if ppi.value_range is None:
        # Nothing keeps a quotient in bounds: its rarest values would be all of the error.
        squares = np.sort(squares)[: round(_KEPT * len(squares))]
    return math.sqrt(squares.mean())


def _as_shown(ppi: Ppi, values: Floats) -> Floats:
    """As an answer shows them; without a declared range, no value counts as 0."""
    values = _in_range(ppi, values)
    return np.where(np.isnan(values), 0.0, values)


def _in_range(ppi: Ppi, values: Floats) -> Floats:
    """In the declared range, where no value is shown as the middle; without one it stays none."""
    if ppi.value_range is None:
        return values
    low, high = float(ppi.value_range.low), float(ppi.value_range.high)
    return np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)


# --- splits ---------------------------------------------------------------------------


def best_split(errors: Sequence[float]) -> tuple[Fraction, ...]:
    """The shares of epsilon, given how far off the value is for each function at equal shares.

    >>> best_split([1.0, 1.0])
    (Fraction(1, 2), Fraction(1, 2))
    >>> best_split([8.0, 1.0])
    (Fraction(51, 64), Fraction(13, 64))
    """
    equal = tuple(Fraction(1, len(errors)) for _ in errors)
    if len(errors) > _PIECES // 2 or not all(math.isfinite(error) for error in errors):
        return equal
    weights = [error ** (2 / 3) for error in errors]
    if not sum(weights):
        return equal
    # Each gets one piece, and the others go where they are due.
    due = [(_PIECES - len(weights)) * weight / sum(weights) for weight in weights]
    pieces = [1 + int(share) for share in due]
    most_left = sorted(range(len(due)), key=lambda i: int(due[i]) - due[i])
    for i in most_left[: _PIECES - sum(pieces)]:
        pieces[i] += 1
    return tuple(Fraction(piece, _PIECES) for piece in pieces)


def tilted(split: Sequence[Fraction], tilt: Fraction) -> list[tuple[Fraction, ...]]:
    """The splits with this many times more, or less, for one function than for the others.

    Where noise fills the range of a function its error falls more slowly than 1/ε, and such a
    split can be better.

    >>> tilted([Fraction(1, 2), Fraction(1, 2)], Fraction(3))[0]
    (Fraction(3, 4), Fraction(1, 4))
    """
    raised = (
        [share * factor if i == index else share for i, share in enumerate(split)]
        for index, factor in product(range(len(split)), (tilt, 1 / tilt))
    )
    return [tuple(share / sum(shares) for share in shares) for shares in raised]


def _split(measurements: Sequence[Measurement], split: Sequence[Fraction]) -> list[Measurement]:
    """The same functions with other shares of their epsilon."""
    whole = sum(measurement.mechanism.epsilon for measurement in measurements)
    return [
        replace(measurement, mechanism=replace(measurement.mechanism, epsilon=whole * share))
        for measurement, share in zip(measurements, split, strict=True)
    ]
