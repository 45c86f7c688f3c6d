"""How far off a release will be, and how often: the distribution of its error.

From public facts only: no case is seen and nothing is drawn. Of the assumed number of cases,
the margin is a *promise*: it holds wherever the values lie in their bounds, because each law
is taken at the truth for which it is worst.

- *Laplace noise on one number* (sums, extremes, buckets, means under `replace`, verdicts): the
  exact discrete law. In a public range it is worst in the middle, or at an end.
- *Two bins*: for every outcome of one bin, the exact law of the other, at truths that lie close
  together where it is worst. The outcomes of the first are all of its law where noise is a few
  steps wide, else a grid of three tenths of its scale.
- *A mean anchored at its target*: the same, for every outcome of the number of cases.
- *A mean or sum drawn by its score*: exponential tails, half a step of the score further.

Elsewhere nothing that is known beforehand bounds the error but the whole range, and what is
predicted rests on an assumption, which the spread names (`assumes`):

- *A point drawn by its rank* (median, percentiles, extremes), and verdicts on them: values
  spread evenly on either side of the middle, or of the target; on a geometric grid evenly
  over its octaves.
- *A part of a whole*: the whole where cases in the middle of their bounds have it; the part is
  any, as in two bins.
- *Formulas*, and ratios of two sums: 509 equally likely outcomes in each scene (`outcomes`), for
  the fills of `errors`.

A mean or sum below a ceiling that is itself chosen privately has no law here: what the ceiling
cuts off is not noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pappi.mechanisms.anchored import AnchoredMean
from pappi.mechanisms.clip import PrivateCeiling
from pappi.mechanisms.grid import UNUSED_OCTAVES, GeometricGrid
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.interval import PointDrawn
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.loose import LooseMinimum, LooseQuantile, RankedMaximum
from pappi.mechanisms.margins import PER_CASE, MeanMargin, SumMargin
from pappi.mechanisms.mechanism import Mechanism, clamp
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.stepped import SteppedMean, SteppedSum
from pappi.mechanisms.threshold import NoisyMargin, TwoStage, decision_epsilon
from pappi.mechanisms.two_bin import TwoBin
from pappi.planning.errors import is_unknown, operating_point
from pappi.planning.fills import Imagined, Scene, scenes_of
from pappi.planning.noise_tails import (
    AnchoredCases,
    Beyond,
    Floats,
    Tails,
    anywhere_in,
    atom_tails,
    bins_anywhere,
    laplace_tails,
    score_tails,
    weighted_tails,
)
from pappi.planning.outcomes import estimates
from pappi.planning.parts import Part
from pappi.ppinot.model import Ppi
from pappi.tree.arrays import is_arithmetic, values_above
from pappi.tree.composition import ROOT
from pappi.values.privacy import Adjacency

_FEW = 8  # of so many chances one will do, where a formula must be evaluated one by one
_MOST_IMAGINED = 2_000
_CLOSE = 1e-5  # how far above the smallest distance a search may stop
_MOST_STEPS = 60
_FURTHEST = 1e300
_MOST_RATE = 100.0  # e to this is more than any tail needs

EVENLY_BETWEEN = "the values lie evenly between the bounds"
OVER_OCTAVES = "the values lie evenly over the orders of magnitude between the bounds"
MIDDLE_WHOLE = "the whole lies in the middle of its bounds"
AS_IMAGINED = "the values lie evenly, around the middle or low between the bounds"

Loose = RankedMaximum | LooseMinimum | LooseQuantile


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of |error|, in internal units."""

    beyond: Beyond
    """P(|error| > t): never rises with t."""

    start: float
    """A distance of the right order, from which to search."""

    assumes: str = ""
    """What must be so for it to hold; empty if it holds wherever the values lie."""

    shrinks: bool = True
    """Whether more cases make the error smaller, at most in proportion."""

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
    cases, mechanism = max(cases, 1), parts[0].mechanism
    if parts[0].path == ROOT and not isinstance(mechanism, HexagonRatio):
        beyond = _kept_in(ppi, _beyond(mechanism, cases, operating_point(ppi, parts[0], cases)))
        return Spread(beyond, typical, assumption_of(mechanism), _shrinks(mechanism))
    if any(_is_on_a_loose_grid(part.mechanism) for part in parts):
        return None
    found = _of_scenes(ppi, parts, scenes_of(ppi, parts, cases))
    return Spread(found.beyond, typical, AS_IMAGINED, shrinks=False)


def assumption_of(mechanism: Mechanism) -> str:
    """What its law rests on; empty where it holds wherever the values lie."""
    match mechanism:
        case RankedMaximum() | LooseMinimum() | LooseQuantile():
            return OVER_OCTAVES
        case SteppedMean() | SteppedSum():
            return ""
        case TwoStage() | PointDrawn():
            return EVENLY_BETWEEN
        case NoisyMargin() if isinstance(mechanism.margin, MeanMargin | SumMargin):
            return ""
        case NoisyMargin():
            return EVENLY_BETWEEN
        case TwoBinRatio():
            return MIDDLE_WHOLE
    return ""


def _shrinks(mechanism: Mechanism) -> bool:
    match mechanism:
        case LaplaceSum() | LaplaceExtreme() | SampleAndAggregate() | SteppedSum():
            return False
        case NoisyMargin():
            return not isinstance(mechanism.margin, SumMargin)
    return True


def _is_lawless(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, PrivateCeiling)


def _is_on_a_loose_grid(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, PointDrawn) and isinstance(mechanism.lattice, GeometricGrid)


def _kept_in(ppi: Ppi, beyond: Beyond) -> Beyond:
    """A declared range keeps the value, and so its error."""
    if ppi.value_range is None:
        return beyond
    width = float(ppi.value_range.width)
    return lambda t: beyond(t) if t < width else 0.0


# --- one function -------------------------------------------------------------------------


def _beyond(mechanism: Mechanism, cases: int, at: float | None) -> Beyond:
    width = float(mechanism.bounds.width)
    match mechanism:
        case LaplaceSum():
            return _of_a_sum(mechanism, cases)
        case LaplaceExtreme() | SampleAndAggregate():
            return anywhere_in(laplace_tails(mechanism.scale, _step(mechanism)), width)
        case TwoBin():
            return _of_a_mean(mechanism, cases)
        case TwoBinRatio():
            return _of_a_part(mechanism, cases)
        case NoisyMargin():
            return _of_a_verdict(mechanism, cases)
        case AnchoredMean():
            return _of_an_anchored_mean(mechanism, cases)
        case SteppedMean() | SteppedSum():
            return _of_steps(mechanism, cases)
    return _by_rank(mechanism, cases, at).beyond


def _by_rank(mechanism: Mechanism, cases: int, at: float | None) -> Tails:
    match mechanism:
        case TwoStage():
            return _of_a_score(mechanism.unaimed, cases, at)
        case RankedMaximum() | LooseMinimum() | LooseQuantile():
            return _on_a_grid(mechanism, cases)
        case PointDrawn():
            return _of_a_score(mechanism, cases, at)
    raise TypeError(f"no law of errors for {type(mechanism).__name__}")


def _step(mechanism: LaplaceExtreme | SampleAndAggregate) -> float:
    """Of the noise; buckets share one."""
    buckets = mechanism.buckets if isinstance(mechanism, SampleAndAggregate) else 1
    return float(mechanism.lattice.step) / buckets


def _of_a_sum(mechanism: LaplaceSum, cases: int) -> Beyond:
    """Of as many cases as there are: only where their number is public is its range used."""
    noise = laplace_tails(mechanism.scale, float(mechanism.lattice.step))
    if mechanism.adjacency is Adjacency.REPLACE:
        return anywhere_in(noise, cases * float(mechanism.bounds.width))
    return noise.beyond


def _of_a_mean(mechanism: TwoBin, cases: int) -> Beyond:
    span, width = mechanism.lattice.span, float(mechanism.bounds.width)
    if mechanism.adjacency is Adjacency.REPLACE:
        return anywhere_in(laplace_tails(mechanism.scale, width / (span * cases)), width)
    share = bins_anywhere(span * cases, mechanism.scale)
    return lambda t: share(t / width)


def _of_a_part(mechanism: TwoBinRatio, cases: int) -> Beyond:
    """Of a whole where cases in the middle of their bounds have it, and of any part of it."""
    usual = (mechanism.bounds.low + mechanism.bounds.high) / 2 / mechanism.bounds.high
    whole = max(round(cases * usual * mechanism.lattice.highest), 1)
    share, factor = bins_anywhere(whole, mechanism.scale), abs(float(mechanism.factor))
    return lambda t: share(t / factor)


def _of_a_verdict(mechanism: NoisyMargin, cases: int) -> Beyond:
    """How far from the target a value must lie to be told apart from it."""
    margin, (least, most) = mechanism.margin, mechanism.margin.moves()
    known = mechanism.adjacency is Adjacency.REPLACE
    furthest = most - least if known else max(-least, most)
    shared = 1 if isinstance(margin, SumMargin) else cases
    step = float(furthest * margin.unit) / (PER_CASE * shared)
    return laplace_tails(mechanism.scale, step).beyond


def _of_an_anchored_mean(mechanism: AnchoredMean, cases: int) -> Beyond:
    low, width = float(mechanism.bounds.low), float(mechanism.bounds.width)
    unit = float(mechanism.margin.unit)
    if mechanism.adjacency is Adjacency.REPLACE:
        return anywhere_in(laplace_tails(mechanism.scale, unit / cases), width)
    limit = (float(mechanism.margin.limit.value) - low) / width
    left = mechanism.epsilon - decision_epsilon(mechanism.epsilon, mechanism.falloff)
    law = AnchoredCases(cases, limit, float(mechanism.scale) * unit / width, float(1 / left))
    return lambda t: law.beyond(t / width)


def _of_steps(mechanism: SteppedMean | SteppedSum, cases: int) -> Beyond:
    """Worst at an end. Rounding the score makes no point likelier by more than half a step.

    And all points together weigh no less: the trapezoids over a convex function are more.
    """
    width = float(mechanism.bounds.width)
    down, _ = mechanism.exponents(cases, 1.0)
    at_the_end = score_tails(width, down, 0.0, 0.0)
    factor = math.exp(min(float(mechanism.rate) / 2, _MOST_RATE))
    return lambda t: min(at_the_end.beyond(t) * factor, 1.0)


def _of_a_score(mechanism: PointDrawn, cases: int, at: float | None) -> Tails:
    low, high = float(mechanism.bounds.low), float(mechanism.bounds.high)
    centre = (low + high) / 2 if at is None else clamp(at, low, high)
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
