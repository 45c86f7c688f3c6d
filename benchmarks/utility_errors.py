"""The error of our own mechanisms, from the exact law of what they release.

Nothing is drawn: laws with finitely many points are summed, and noise on sums is
integrated (`utility_noise`). Changing a mechanism in `pappi` changes the figures; only the
estimators for sums and two bins are written again, for arrays, and a test compares them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.utility_noise import raised_noise
from benchmarks.utility_values import Cell, Floats
from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    JointLaw,
    LaplaceSum,
    Law,
    Looseness,
    Mechanism,
    PrivateClippingBound,
    StepLaw,
    TwoBin,
    TwoBinRatio,
    mechanism_for,
)
from pappi.mechanisms.interval import Points, RankScored
from pappi.mechanisms.laws import CellLaw, StagedLaw
from pappi.values import UNIT_INTERVAL, Adjacency

_ADD_REMOVE = Adjacency.ADD_REMOVE
_FEW_POINTS = 4_096
_NEXT_TO_NOTHING = 1e-7  # the chance of a ceiling that cannot matter


def mechanism_of(function: str, cell: Cell) -> Mechanism:
    """What a release of that function would use."""
    bounds, epsilon = cell.bounds, cell.epsilon
    if function == "ratio":
        return TwoBinRatio(bounds, epsilon, _ADD_REMOVE, False, Fraction(1), bounds)  # noqa: FBT003
    if function == "share":
        return mechanism_for("share", UNIT_INTERVAL, epsilon, _ADD_REMOVE, integral=False)
    loose = Looseness() if cell.loose else None
    return mechanism_for(function, bounds, epsilon, _ADD_REMOVE, integral=False, loose=loose)


def mean_square(mechanism: Mechanism, values: Floats, truth: float) -> float:
    """E (estimate − truth)² over the noise."""
    match mechanism, mechanism.law(values):
        case RankScored(), StepLaw() as law:
            return _of_points(mechanism.lattice, law, truth)
        case PrivateClippingBound(), StagedLaw() as law:
            return _of_ceilings(mechanism, law, values, truth)
        case LaplaceSum(), JointLaw((part,)):
            points, weights = _raised(part)
            return float(weights @ (float(mechanism.lattice.step) * points - truth) ** 2)
        case TwoBin() | TwoBinRatio(), JointLaw((a, b)):
            return _of_two_bins(mechanism, a, b, truth)
    raise NotImplementedError(f"the error of {mechanism.name} is not worked out")


def _of_points(points: Points, law: StepLaw, truth: float) -> float:
    """Between `starts` points are equally likely and, if there are many, evenly spaced."""
    if len(law.support) <= _FEW_POINTS:
        law = _spread_out(law)
    starts = np.array(law.starts)
    ends = np.append(starts[1:], law.stop)
    number, top = ends - starts, max(law.weights)
    weights = number * np.array([weight / top for weight in law.weights])
    first = np.array([points.value(k) for k in starts.tolist()])
    last = np.array([points.value(k - 1) for k in ends.tolist()])
    # The variance of m evenly spaced points from first to last.
    spread = (last - first) ** 2 / 12 * (number + 1) / np.maximum(number - 1, 1)
    squares = ((first + last) / 2 - truth) ** 2 + spread
    return float(weights @ squares / weights.sum())


def _spread_out(law: StepLaw) -> StepLaw:
    """Every point a stretch of its own, for grids that are not evenly spaced."""
    points = tuple(law.support)
    return StepLaw(points, law.stop, tuple(law.weight(point) for point in points))


def _of_ceilings(
    mechanism: PrivateClippingBound, law: StagedLaw, values: Floats, truth: float
) -> float:
    if not isinstance(law.first, CellLaw):
        raise TypeError("its ceiling is not drawn from cells")
    choice = [(k, float(law.first.chance(k))) for k in law.first.branches]
    likely = [(k, chance) for k, chance in choice if chance > _NEXT_TO_NOTHING]
    squares = (chance * mean_square(mechanism.within(k), values, truth) for k, chance in likely)
    return sum(squares) / sum(chance for _, chance in likely)


def _of_two_bins(mechanism: TwoBin | TwoBinRatio, first: Law, second: Law, truth: float) -> float:
    (a, a_weights), (b, b_weights) = _raised(first), _raised(second)
    estimates = value_of_share(mechanism, shares(a[:, np.newaxis], b, float(mechanism.scale)))
    return float(a_weights @ (estimates - truth) ** 2 @ b_weights)


def shares(first: Floats, second: Floats, scale: float) -> Floats:
    """The two-bin estimator for arrays of noisy sums raised to zero."""
    a, both = first / scale, (first + second) / scale
    towards = 3 / (1 + both)
    return (a + towards) / (both + 2 * towards)


def value_of_share(mechanism: TwoBin | TwoBinRatio, share: Floats) -> Floats:
    if isinstance(mechanism, TwoBinRatio):
        return float(mechanism.factor) * share
    return float(mechanism.bounds.low) + float(mechanism.bounds.width) * share


def _raised(part: Law) -> tuple[Floats, Floats]:
    """The points of a noisy sum raised to zero, and their weights."""
    if not isinstance(part, DiscreteLaplaceLaw):
        raise TypeError("its noise is not discrete Laplace noise")
    return raised_noise(float(part.centre), float(part.scale))
