"""How far off a release will be, and how often: the distribution of its error.

From public facts only, and at the same points as `errors`: one function lies at the target,
or in the middle of its bounds; a formula is imagined over the same fills. No case is seen
and nothing is drawn. What is exact, and what is not:

- *Laplace noise on one number* (sums, extremes, buckets, means under `replace`, verdicts): the
  exact discrete law, cut at the public range.
- *Two bins*: for every outcome of one bin, the exact law of the other. The outcomes of the
  first are all of its law where noise is a few steps wide, else a grid of a tenth of its scale.
- *A point drawn by its score*: exponential tails, for values that are spread evenly on
  either side, cut at the bounds. On a geometric grid, the exact law for values spread
  evenly over its octaves.
- *Formulas*, and ratios of two sums: 509 equally likely outcomes in each scene (`outcomes`).
- *Aimed at a target*: the first order of its noise, at the target.

A mean or sum below a ceiling that is itself chosen privately has no such law here: what the
ceiling cuts off is not noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pappi.mechanisms.anchored import AnchoredMean
from pappi.mechanisms.clip import PrivateCeiling
from pappi.mechanisms.grid import UNUSED_OCTAVES, GeometricGrid
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.interval import PointDrawn
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.loose import LooseMinimum, LooseQuantile, RankedMaximum
from pappi.mechanisms.margins import PER_CASE
from pappi.mechanisms.mechanism import Mechanism, clamp
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.threshold import NoisyMargin, TwoStage
from pappi.mechanisms.two_bin import TwoBin
from pappi.planning.errors import at_one_point, is_unknown, operating_point
from pappi.planning.fills import EVENLY, Imagined, Scene, scenes_of
from pappi.planning.noise_tails import (
    Floats,
    NoisyBins,
    Tails,
    atom_tails,
    laplace_tails,
    score_tails,
    weighted_tails,
)
from pappi.planning.outcomes import estimates
from pappi.planning.parts import Part
from pappi.ppinot.model import Ppi
from pappi.tree.arrays import is_arithmetic, values_above
from pappi.values.privacy import Adjacency

_FEW = 8  # of so many chances one will do, where a formula must be evaluated one by one
_MOST_IMAGINED = 2_000
_CLOSE = 1e-5  # how far above the smallest distance a search may stop
_MOST_STEPS = 60
_FURTHEST = 1e300

Loose = RankedMaximum | LooseMinimum | LooseQuantile


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of |error|, in internal units."""

    beyond: Callable[[float], float]
    """P(|error| > t): never rises with t."""

    start: float
    """A distance of the right order, from which to search."""

    def keeps(self, distance: float, confidence: float) -> bool:
        """Whether the error stays within a distance, with that confidence."""
        return self.beyond(distance) <= (1 - confidence) * (1 + 1e-12)

    def within(self, confidence: float) -> float:
        """The smallest distance the error keeps to, or just above; infinite if there is none."""
        allowed = 1 - confidence
        low, above = 0.0, self._excess(0.0, allowed)
        if above <= 0:
            return 0.0
        if self._excess(_FURTHEST, allowed) > 0:
            return math.inf
        high = self.start if 0 < self.start < math.inf else 1.0
        while (below := self._excess(high, allowed)) > 0:
            low, above, high = high, below, 2 * high
        return self._search(low, above, high, below, allowed)

    def _search(self, low: float, above: float, high: float, below: float, allowed: float) -> float:
        """By the logarithm of the tail, which is nearly straight; halving where that is slow.

        Each guess is moved a little to the side that was not seen last, so that both ends
        close in. What is given back was seen to be enough.
        """
        side = 1.0
        for step in range(_MOST_STEPS):
            gap = high - low
            if gap <= _CLOSE * high:
                break
            guess = low + gap * above / (above - below)
            if step % 3 == 2 or not math.isfinite(guess):
                guess = low + gap / 2
            guess += side * min(_CLOSE * high / 3, gap / 4)
            found = self._excess(guess, allowed)
            if found <= 0:
                high, below, side = guess, found, -1.0
            else:
                low, above, side = guess, found, 1.0
        return high

    def _excess(self, distance: float, allowed: float) -> float:
        """How much too often the error is larger, as a logarithm; not above 0 is seldom enough."""
        often = self.beyond(distance)
        return math.log(often / (allowed * (1 + 1e-12))) if often > 0 else -math.inf


def spread_of(ppi: Ppi, parts: Sequence[Part], cases: int, typical: float) -> Spread | None:
    """The spread of the PPI's error, whose `typical` size is known; None if no law gives one."""
    if is_unknown(parts) or any(_is_lawless(part.mechanism) for part in parts):
        return None
    cases = max(cases, 1)
    if not at_one_point(ppi, parts[0]):
        if any(_is_on_a_loose_grid(part.mechanism) for part in parts):
            return None
        return Spread(_of_scenes(ppi, parts, scenes_of(ppi, parts, cases)).beyond, typical)
    mechanism, at = parts[0].mechanism, operating_point(ppi, parts[0], cases)
    found = _tails(mechanism, cases, at)
    if ppi.value_range is not None and at is not None:
        low, high = float(ppi.value_range.low), float(ppi.value_range.high)
        found = found.cut(at - low, high - at)
    return Spread(found.beyond, typical)


def _is_lawless(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, PrivateCeiling)


def _is_on_a_loose_grid(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, PointDrawn) and isinstance(mechanism.lattice, GeometricGrid)


# --- one function -------------------------------------------------------------------------


def _tails(mechanism: Mechanism, cases: int, at: float | None) -> Tails:
    match mechanism:
        case LaplaceSum():
            return _of_a_sum(mechanism, cases, at)
        case LaplaceExtreme() | SampleAndAggregate():
            return _in_bounds(mechanism, at, laplace_tails(mechanism.scale, _step(mechanism)))
        case TwoBin():
            return _of_a_mean(mechanism, cases, at)
        case TwoBinRatio():
            return _of_a_part(mechanism, cases, at)
        case HexagonRatio():
            return _of_a_ratio(mechanism, cases, at)
        case NoisyMargin() | AnchoredMean():
            return _aimed(mechanism, cases, at)
        case TwoStage():
            return _of_a_score(mechanism.unaimed, cases, at)
        case RankedMaximum() | LooseMinimum() | LooseQuantile():
            return _on_a_grid(mechanism, cases)
        case PointDrawn():
            return _of_a_score(mechanism, cases, at)
    raise TypeError(f"no law of errors for {type(mechanism).__name__}")


def _aimed(mechanism: NoisyMargin | AnchoredMean, cases: int, at: float | None) -> Tails:
    """Of a verdict: how far from the target a value must lie to be told apart from it."""
    unit = float(mechanism.margin.unit) / cases
    if isinstance(mechanism, AnchoredMean):
        return _in_bounds(mechanism, at, laplace_tails(mechanism.scale, unit))
    furthest = float(max(map(abs, mechanism.margin.moves())))
    return laplace_tails(mechanism.scale, furthest * unit / PER_CASE)


def _step(mechanism: LaplaceExtreme | SampleAndAggregate) -> float:
    """Of the noise; buckets share one."""
    buckets = mechanism.buckets if isinstance(mechanism, SampleAndAggregate) else 1
    return float(mechanism.lattice.step) / buckets


def _centre(mechanism: Mechanism, at: float | None) -> float:
    low, high = float(mechanism.bounds.low), float(mechanism.bounds.high)
    return (low + high) / 2 if at is None else clamp(at, low, high)


def _in_bounds(mechanism: Mechanism, at: float | None, found: Tails) -> Tails:
    centre = _centre(mechanism, at)
    return found.cut(centre - float(mechanism.bounds.low), float(mechanism.bounds.high) - centre)


def _of_a_sum(mechanism: LaplaceSum, cases: int, at: float | None) -> Tails:
    low, high = float(mechanism.bounds.low), float(mechanism.bounds.high)
    centre = cases * (low + high) / 2 if at is None else at
    known = mechanism.adjacency is Adjacency.REPLACE
    least = cases * low if known else (0.0 if low >= 0 else -math.inf)
    most = cases * high if known else (0.0 if high <= 0 else math.inf)
    noise = laplace_tails(mechanism.scale, float(mechanism.lattice.step))
    return noise.cut(centre - least, most - centre)


def _of_a_mean(mechanism: TwoBin, cases: int, at: float | None) -> Tails:
    span, width = mechanism.lattice.span, float(mechanism.bounds.width)
    if mechanism.adjacency is Adjacency.REPLACE:
        return _in_bounds(mechanism, at, laplace_tails(mechanism.scale, width / (span * cases)))
    share = (_centre(mechanism, at) - float(mechanism.bounds.low)) / width
    return _bins(share, span * cases, mechanism).tails(width)


def _of_a_part(mechanism: TwoBinRatio, cases: int, at: float | None) -> Tails:
    """Of a whole where cases in the middle of their bounds have it."""
    factor = float(mechanism.factor)
    share = 0.5 if at is None else clamp(at / factor, 0.0, 1.0)
    usual = (mechanism.bounds.low + mechanism.bounds.high) / 2 / mechanism.bounds.high
    found = _bins(share, round(cases * usual * mechanism.lattice.highest), mechanism)
    return found.tails(abs(factor))


def _bins(share: float, whole: int, mechanism: TwoBin | TwoBinRatio) -> NoisyBins:
    first = round(share * whole)
    return NoisyBins(first, whole - first, mechanism.scale)


def _of_a_ratio(mechanism: HexagonRatio, cases: int, at: float | None) -> Tails:
    """The second sum is where cases in the middle of their bounds have it, as in its error."""
    factor, high = float(mechanism.factor), float(mechanism.bounds.high)
    second = max(cases * float(mechanism.bounds.low + mechanism.bounds.high) / 2, high)
    value = factor * float(mechanism.part.high) / high if at is None else at
    first = max(value / factor * second, 0.0)
    imagined = Imagined(cases, value, (first, second), EVENLY)
    return atom_tails(estimates(mechanism, imagined, 0) - factor * first / second)


def _of_a_score(mechanism: PointDrawn, cases: int, at: float | None) -> Tails:
    low, high = float(mechanism.bounds.low), float(mechanism.bounds.high)
    centre = _centre(mechanism, at)
    down, up = mechanism.exponents(cases, (centre - low) / (high - low))
    return score_tails(centre - low, down, high - centre, up)


def _on_a_grid(mechanism: Loose, cases: int) -> Tails:
    """The law for values spread evenly over the grid's points, but for the top."""
    grid = mechanism.lattice
    top = max(grid.highest - UNUSED_OCTAVES * grid.steps, 0)
    values = grid.points[np.linspace(0, top, min(cases, _MOST_IMAGINED)).astype(np.int64)]
    law = mechanism.law(values)
    likely = np.array([law.probability((k,)) for k in range(grid.highest + 1)])
    return weighted_tails(grid.points - grid.value(_level(mechanism) * top), likely)


def _level(mechanism: Loose) -> float:
    match mechanism:
        case RankedMaximum():
            return 1.0
        case LooseMinimum():
            return 0.0
        case LooseQuantile():
            return float(mechanism.level)


# --- formulas -----------------------------------------------------------------------------


def _of_scenes(ppi: Ppi, parts: Sequence[Part], scenes: Sequence[Scene]) -> Tails:
    """All scenes are as likely, and so are the outcomes in each."""
    step = 1 if is_arithmetic(ppi.measure) else _FEW
    known: dict[Imagined, Floats] = {}
    for index, part in enumerate(parts):
        for each in {scene.functions[index]: None for scene in scenes}:
            known[each] = estimates(part.mechanism, each, index)[::step]
    paths = [part.path for part in parts]
    errors = []
    for scene in scenes:
        released = dict(zip(paths, (known[each] for each in scene.functions), strict=True))
        errors.append(_kept(ppi, values_above(ppi.measure, released)) - scene.value)
    return atom_tails(np.concatenate(errors))


def _kept(ppi: Ppi, values: Floats) -> Floats:
    """In the declared range, where no value is shown as the middle; without one it stays none."""
    if ppi.value_range is None:
        return values
    low, high = float(ppi.value_range.low), float(ppi.value_range.high)
    return np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)
