"""The interval mechanism: minimum, maximum and quantiles by rank, means and sums by distance.

The released value is a point z of the public lattice over [L, U], drawn by the exponential
mechanism (`laws`). Its score counts ranks, so it is constant between neighbouring
values: whole intervals weigh alike, by their length. Nothing but the declared bounds and
the scores enters; without cases every point is equally likely. A case without a value is
counted nowhere; that is one way to remove it.

**Maximum.** score(z) = max(0, #{x > z} − 1); the minimum counts #{x < z}. One case above is
forgiven: the stretch between the two largest values then weighs as much as all above the
largest, where nothing else holds the answer down. A tie is nothing special: the top interval,
from the largest value up, has score 0 however often that value occurs.

- *add-remove*: one more case raises the count by 1 at every z below it and by nothing
  elsewhere, so the score by 0 or 1. Scores only rise: weights may fall at the full rate ε.
- *replace*: a case that moves up from y to y′ raises the count by 1 where y ≤ z < y′ and by
  nothing elsewhere; one that moves down only lowers it, and so does one that loses its
  value. Every single replacement moves all scores one way, by at most 1: the rate is ε again.

**Quantile** of level a, of n values. A point is an a-quantile if at most a·n values lie
below it and at most (1−a)·n above. The score is by how many cases that fails, in steps of s:

    score(z) = ⌈ max(0, #{x < z} − a·n, #{x > z} − (1−a)·n) / s ⌉

Between values this is |(1−a)·#below − a·#above| / s. On a value that many cases share it is
0 where that value is the quantile, which the plain formula is not.

- *add-remove*, s = max(a, 1−a): one more case below z moves the two differences by 1−a and
  −(1−a), one above by −a and a, one at z by −a and −(1−a). None exceeds s, so the fraction
  moves by at most 1; rounding up keeps that, because ⌈x+1⌉ = ⌈x⌉+1.
- *replace*, s = 1: n stays and either count moves by at most 1. A case that loses its value
  is a removal, which moves the differences by at most max(a, 1−a) ≤ 1.

Scores may rise here and fall there: the loss is up to twice the rate, which is ε/2.

**Means and sums**, as the paper has them (`SteppedMean`, `SteppedSum`). The range of the
answer is public. A point z scores by how many steps it is away from the true answer, rounded
to the nearest, where a step is what one case can change.

**Mean** of n values with the sum S, on a lattice of K steps: score(z) = ⌈|n·z − S|/K − ½⌉.
One more case at y moves n·z − S by z − y, at most K, so the score by at most 1; one replaced
moves S by at most K. That a step is worth K/n of the mean cancels: n enters the score alone,
and nothing else in the law. Loss: twice the rate, which is ε/2, under either adjacency.

**Sum** S: score(z) = ⌈|z − S|/Δ − ½⌉ over a *declared* range, Δ being what one case can
change: max(|L|, |U|) for *add-remove*; for *replace* that, or U − L if it is more, because a
case may also lose its value. The paper takes n·L to n·U as the range, which gives n away.

Both need more noise than `two-bin` and `laplace`; they are here because the paper has them,
and because a declared range narrower than the noise can make the sum's a better choice.

**Why not permute-and-flip.** It is the choice of the largest score with exponential noise, where
the exponential mechanism has Gumbel noise, and never worse over the same candidates. Here m points
of a stretch have the same score, and the largest of m exponential noises, less log m, is Gumbel
noise as m grows: over all points of the range the two laws are the same for all that matters. It is
better over few candidates, which have to be chosen in public, for a number of cases that is planned
for: 1 to 12 % less error where that is right, for medians several times more where there are ten
times the cases. Over so many candidates that it is hardly ever worse, it is better by up to 5 % up
to n·ε = 400 (`benchmarks.permute_and_flip`), and how long it takes to draw depends on the data.

**Loose bounds**: the same on a geometric grid. With loose bounds, nearly all of [L, U] lies above
every value, and there the score of the plain maximum is 0: a uniform point of an empty range. So
that of `RankedMaximum` asks for a value that r cases exceed, r = ⌈20/ε⌉, and the points are those
of a geometric grid:

    score(z) = |#{x > z} − r|

*add-remove*: one more case moves #{x > z} by 0 or 1. *replace*: a case that moves changes
each count by at most 1. Scores may rise here and fall there, so the rate is ε/2.

What comes out is near the r-th largest value, not the largest: it says so, and its interval
is open to the top, because the largest value may be anywhere above.

Minimum and quantiles keep their score, on the grid: its proof is about the order of whole
numbers, here the numbers of grid points.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms.grids import RANGE_STEPS, UNUSED_OCTAVES, GeometricGrid, Lattice, total
from pappi.mechanisms.laws import (
    Outcome,
    StepLaw,
    dot,
    exponential_law,
    falling_weights,
    significance,
)
from pappi.mechanisms.mechanism import (
    QUANTILE,
    Estimate,
    Mechanism,
    Replaced,
    Task,
    Values,
)
from pappi.mechanisms.prediction import (
    EVENLY_BETWEEN,
    OVER_OCTAVES,
    PLACES,
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    atoms_beyond,
    places_drawn,
    score_beyond,
)
from pappi.values import Adjacency, Bounds, RankLikelihood

Counts = NDArray[np.int64]
Points = Lattice | GeometricGrid

_STRATA = 8  # of the chance that the extreme value itself is
FORGIVEN = 1
"""Cases beyond a point that do not count against it as an extreme."""

_FINEST_LEVEL = 10**6  # counts times this stay far inside int64


@dataclass(frozen=True, slots=True)
class PointDrawn(Mechanism):
    """A point of a public range, drawn by a score that is best at the answer."""

    name: ClassVar[str] = "interval"
    replaced: ClassVar[Replaced] = Replaced.MISSING

    @property
    def lattice(self) -> Points:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def rate(self) -> Fraction:
        """How fast weights fall with the score: half of ε, as one case may raise and lower it."""
        return self.epsilon / 2

    @abstractmethod
    def exponents(self, cases: float, share: float) -> tuple[float, float]:
        """rate·score at the low and the high end of the range, for predicted errors.

        `share` says how far up the range the answer lies.
        """

    @abstractmethod
    def law(self, values: Values) -> StepLaw:
        """Scores are 0 at the answer and never fall away from it on either side."""

    def starts(self, changes: Counts) -> Counts:
        """The points where scores may change, inside the lattice and each once."""
        lattice = self.lattice
        places = np.concatenate(([lattice.lowest], changes))
        # As `np.unique`, ten times as fast: a stable sort merges runs that are already in order.
        ordered = np.sort(places[places <= lattice.highest], kind="stable")
        return ordered[np.diff(ordered, prepend=ordered[0] - 1) > 0]

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self.lattice.value(noisy[0]))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Where the answer lies, whatever the data: mostly the whole public range.

        One released point says little about one unknown value: if a single case is all there
        is, the point is nearly uniform. What can be said rests on the scores never falling
        away from the answer m. Of the N points above m, the j at the far end are no likelier
        than any other j of them: P(z among the last j) ≤ j/N · P(z > m). So z is within αN
        of the high end with probability at most α·P(z > m), and likewise below: together at
        most α. Left are the m for which neither is so. That is informative where z is within
        α of an end of the range, such as a maximum close to a tightly declared bound; a value
        in the middle of the range comes with the whole range.
        """
        lattice, (point,) = self.lattice, noisy
        alpha = Fraction(significance(confidence))
        reach_down = (lattice.highest - point + 1) / alpha
        reach_up = (point - lattice.lowest + 1) / alpha
        low = max(math.ceil(lattice.highest - reach_down), lattice.lowest)
        high = min(math.floor(lattice.lowest + reach_up), lattice.highest)
        return self.clamped(lattice.cell(low)[0]), self.clamped(lattice.cell(high)[1])

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """By the same argument, for one side: z is rarely that close to the far end."""
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        lattice, (point,) = self.lattice, noisy
        border = int(lattice.snap(np.array([limit]))[0])
        if_above: float = (point - lattice.lowest + 1) / (border - lattice.lowest + 1)
        if_not: float = (lattice.highest - point + 1) / (lattice.highest - border + 1)
        return max(1 - if_above, 0.5) if if_above < if_not else min(if_not, 0.5)

    def predicted_error(self, cases: float, at: float | None) -> float:
        """If values are spread evenly from the low bound to `at`, and from `at` to the high one.

        (A maximum has all of them below `at`, a minimum all above.) Scores then grow in
        proportion to the distance, and the released value has exponential tails, cut off
        at the bounds: right within a tenth or so up to ε = 1, where the steps between
        neighbouring ranks begin to show. More cases close to `at` make the error smaller.
        """
        (low, high), centre = self.ends, self.centre(at)
        down, up = self.exponents(cases, (centre - low) / (high - low))
        mass_below, square_below = _tail(centre - low, down)
        mass_above, square_above = _tail(high - centre, up)
        return math.sqrt((square_below + square_above) / (mass_below + mass_above))

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:
        """Under the same assumption."""
        (low, high), centre = self.ends, self.centre(at)
        down, up = self.exponents(cases, (centre - low) / (high - low))
        return ErrorLaw(score_beyond(centre - low, down, high - centre, up), EVENLY_BETWEEN)


@dataclass(frozen=True, slots=True)
class RankScored(PointDrawn):
    """A lattice point, drawn by a score that depends on the order of the values alone."""

    @abstractmethod
    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Where stretches of equal score begin, and their scores, for sorted lattice points."""

    def law(self, values: Values) -> StepLaw:
        lattice = self.lattice
        starts, scores = self.stretches(np.sort(self.deciding(lattice.snap(values))))
        return exponential_law(starts, scores, lattice.highest + 1, self.rate)

    def deciding(self, points: Counts) -> Counts:
        """Those of the lattice points that the law depends on, in any order."""
        return points


@dataclass(frozen=True, slots=True)
class IntervalExtreme(RankScored):
    """The smallest or largest of the clipped values."""

    functions: ClassVar[tuple[str, ...]] = ("min", "max")
    loose_functions: ClassVar[tuple[str, ...] | None] = ("max",)
    """A minimum would be drawn to zero: `LooseMinimum` is another."""

    function: Literal["min", "max"]

    @classmethod
    def made_for(cls, task: Task) -> Self:
        task.octaves()
        return cls(*task.common, "max" if task.function == "max" else "min")

    @property
    def rate(self) -> Fraction:
        """One case moves all scores one way."""
        return self.epsilon

    def deciding(self, points: Counts) -> Counts:
        """The outermost: where as many lie beyond as there are weights, all weigh the same."""
        kept = len(falling_weights(self.rate, len(points))) + FORGIVEN
        if kept >= len(points):
            return points
        if self.function == "max":
            return np.partition(points, -kept)[-kept:]
        return np.partition(points, kept - 1)[:kept]

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Counts change at a value, or right after it."""
        if self.function == "max":
            starts = self.starts(points)
            beyond = len(points) - np.searchsorted(points, starts, side="right")
        else:
            starts = self.starts(points + 1)
            beyond = np.searchsorted(points, starts, side="left")
        return starts, np.maximum(beyond - FORGIVEN, 0)

    def likelihood(self, noisy: Outcome) -> RankLikelihood | None:
        lattice = self.lattice
        if not isinstance(lattice, Lattice):
            return None
        at, smallest = lattice.value(noisy[0]), self.function == "min"
        return RankLikelihood(at, float(lattice.step), smallest, *self.ends)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        exponent = float(self.rate) * cases
        return (exponent, 0.0) if self.function == "max" else (0.0, exponent)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        """The largest value is a matter of chance, too: far out, there are few near it."""
        top, fill, cases = self.function == "max", scenario.fill, scenario.cases
        low, width = float(self.bounds.low), float(self.bounds.width)
        stratum = np.floor(_STRATA * chances.uniform(1))
        drawn = np.empty(len(stratum))
        for number in range(_STRATA):
            share = ((number + 0.5) / _STRATA) ** (1 / cases)
            within = fill.below if top else 1 - fill.below
            others_beyond = (cases - 1) * np.maximum(1 - within / share, 0.0)
            chosen = stratum == number
            place = places_drawn(float(self.rate) * others_beyond, chances.uniform()[chosen])
            drawn[chosen] = place - fill.quantile(share if top else 1 - share)
        return np.clip(scenario.value + width * drawn, low, low + width)


@dataclass(frozen=True, slots=True)
class IntervalQuantile(RankScored):
    """The value with a share `level` of the clipped values below it; ½ for the median."""

    functions: ClassVar[tuple[str, ...]] = (QUANTILE,)
    loose_functions: ClassVar[tuple[str, ...] | None] = ()

    level: Fraction

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, task.level or Fraction(0))

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)  # a slotted dataclass has no zero-argument super()
        if not 0 < self.level < 1 or self.level.denominator > _FINEST_LEVEL:
            raise UsageError(
                f"a quantile's level must lie between 0 and 1, in millionths, not {self.level}",
                hint="use max or min for the ends of the range",
            )

    def interval_tells(self, cases: float) -> bool:  # noqa: ARG002 - one point tells little of any
        return False

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Scores can change only at a value and right after it."""
        starts, cases = self.starts(np.concatenate((points, points + 1))), len(points)
        below = np.searchsorted(points, starts, side="left")
        above = cases - np.searchsorted(points, starts, side="right")
        return starts, self.scores(below, above, cases)

    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:
        share, whole = self.level.numerator, self.level.denominator
        too_many_below = whole * below - share * cases
        too_many_above = whole * above - (whole - share) * cases
        excess = np.maximum(0, np.maximum(too_many_below, too_many_above))
        return -(-excess // self.sensitivity)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        below, whole = self.level.numerator, self.level.denominator
        per_rank = float(self.rate) * cases / self.sensitivity
        return below * per_rank, (whole - below) * per_rank

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        level = float(self.level)
        step = 1.0 if self.adjacency is Adjacency.REPLACE else max(level, 1 - level)
        scores = scenario.cases * np.abs(scenario.fill.below - level) / step
        drawn = places_drawn(float(self.rate) * scores, chances.uniform())
        return float(self.bounds.low) + float(self.bounds.width) * drawn

    @property
    def sensitivity(self) -> int:
        """s, as a multiple of 1/denominator: the most by which one case moves the excess."""
        share, whole = self.level.numerator, self.level.denominator
        return whole if self.adjacency is Adjacency.REPLACE else max(share, whole - share)


def _tail(room: float, exponent: float) -> tuple[float, float]:
    """∫ e^(−x·t/room) dt and ∫ t²·e^(−x·t/room) dt over t from 0 to `room`, x the exponent."""
    if exponent < 1e-3:  # the closed forms cancel; these are their limits
        return room, room**3 / 3
    left = math.exp(-exponent)
    mass = (1 - left) / exponent
    square = (2 - left * (exponent**2 + 2 * exponent + 2)) / exponent**3
    return room * mass, room**3 * square


# --- means and sums -------------------------------------------------------------------


_PER_CASE = 2**10
"""Output points per step of a sum."""

_MOST_POINTS = 2**24
_MOST_LEVELS = 2**14  # each needs a weight of its own
_MOST_RATE = 100.0  # e to this is more than any tail needs


class _Stepped(PointDrawn):
    """Scored by how many steps a point is away from the answer; a step is what one case changes."""

    __slots__ = ()

    loose_functions: ClassVar[tuple[str, ...] | None] = ()
    shrinks: ClassVar[bool]
    """Whether more cases make the error smaller."""

    @property
    @abstractmethod
    def sensitivity(self) -> int: ...

    def steps(self, answer: int, per_point: int, levels: int) -> tuple[Counts, Counts]:
        """Where stretches of equal score begin, and ⌈|per_point·z − answer|/step − ½⌉ of them.

        Half a step beyond the j-th one away, 2|per_point·z − answer| = (2j+1)·step, it rises.
        """
        step, apart = self.sensitivity, 2 * max(per_point, 1)
        away = (2 * np.arange(levels) + 1) * step
        above, below = (2 * answer + away) // apart + 1, -((away - 2 * answer) // apart)
        changes = np.concatenate((above, below))
        starts = self.starts(changes[changes > 0])
        return starts, -((step - 2 * np.abs(per_point * starts - answer)) // (2 * step))

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst at an end
        """Rounding the score makes no point likelier by more than half a step.

        And all points together weigh no less: the trapezoids over a convex function are more.
        """
        down, _ = self.exponents(cases, 1.0)
        at_the_end = score_beyond(float(self.bounds.width), down, 0.0, 0.0)
        factor = math.exp(min(float(self.rate) / 2, _MOST_RATE))
        return ErrorLaw(lambda t: min(at_the_end(t) * factor, 1.0), shrinks=self.shrinks)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        low, width = float(self.bounds.low), float(self.bounds.width)
        share = min(max((scenario.value - low) / width, 0.0), 1.0)
        whole = sum(self.exponents(scenario.cases, share))
        return low + width * places_drawn(whole * np.abs(PLACES - share), chances.uniform())


@dataclass(frozen=True, slots=True)
class SteppedMean(_Stepped, RankScored):
    """The mean of the clipped values."""

    functions: ClassVar[tuple[str, ...]] = ("mean", "share")
    shrinks: ClassVar[bool] = True

    @property
    def sensitivity(self) -> int:
        """Of n·z − S, whatever the point z."""
        return self.lattice.span

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=False)

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        return self.steps(int(points.sum()), len(points), len(points) + 1)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:
        whole = float(self.rate) * cases
        return share * whole, (1 - share) * whole


@dataclass(frozen=True, slots=True)
class SteppedSum(_Stepped):
    """The sum of values within `of_case`; `bounds` are the declared range of the sum itself."""

    functions: ClassVar[tuple[str, ...]] = ("sum",)
    shrinks: ClassVar[bool] = False
    needs_output_range: ClassVar[bool] = True

    of_case: Bounds

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.output_range is None:
            raise NotReleasable(
                "the interval mechanism needs a declared output range for a sum",
                hint="declare it as the `value` among the bounds, or use laplace",
            )
        return cls(task.output_range, *task.common[1:], task.bounds)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return (("range", self.bounds),)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        levels = self.bounds.width / (self.sensitivity * self.contributions.step)
        if self._points > _MOST_POINTS or levels > _MOST_LEVELS:
            raise NotReleasable(
                "the output range declared for its sum is too wide for the interval mechanism",
                hint="declare a narrower `value` range, or use the mechanism laplace",
            )

    @property
    def contributions(self) -> Lattice:
        return Lattice.through_zero(self.of_case, integral=self.integral)

    @property
    def lattice(self) -> Lattice:
        """Output points, each a number of steps of the contributions."""
        step = self.contributions.step
        return Lattice(self._lowest * step, self._spacing * step, 0, self._points, exact=False)

    def law(self, values: Values) -> StepLaw:
        """Cutting the sum to its range first changes no distance between sums by more."""
        added = total(self.contributions.snap(values)) - self._lowest
        added = min(max(added, 0), self._points * self._spacing)
        levels = self._points * self._spacing // self.sensitivity + 1
        levels = len(falling_weights(self.rate, levels))  # beyond, weights fall no further
        starts, scores = self.steps(added, self._spacing, levels)
        return exponential_law(starts, scores, self._points + 1, self.rate)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - a case is a step
        whole = float(self.rate) * self._points * self._spacing / self.sensitivity
        return share * whole, (1 - share) * whole

    @property
    def sensitivity(self) -> int:
        """What one case can change, in steps of the contributions."""
        lattice = self.contributions
        replaced = self.adjacency is Adjacency.REPLACE
        return max(lattice.span, lattice.largest) if replaced else lattice.largest

    @property
    def _spacing(self) -> int:
        return max(1, self.sensitivity // _PER_CASE)

    @property
    def _lowest(self) -> int:
        return math.floor(self.bounds.low / self.contributions.step)

    @property
    def _points(self) -> int:
        width = self.bounds.width / self.contributions.step
        return math.ceil(width / self._spacing)


# --- loose bounds ---------------------------------------------------------------------

RANK_TARGET = 20
"""r·ε: with fewer cases above, an empty stretch of the grid would weigh too much."""

STEPS = 16
"""Points per octave, 4 % apart."""

_HIGHEST_RANK = 50_000
_MOST_PREDICTED = 2_000


class _OnGrid(RankScored):
    """Points of a geometric grid; errors are predicted as if every octave held as many values."""

    __slots__ = ()

    predicts_in_formulas: ClassVar[bool] = False
    needs_loose_bounds: ClassVar[bool] = True
    loose_functions: ClassVar[tuple[str, ...] | None] = None

    octaves: int

    @property
    @abstractmethod
    def predicted_level(self) -> float:
        """The share of cases below the answer."""

    @property
    def lattice(self) -> GeometricGrid:
        return GeometricGrid(self.bounds, self.octaves, STEPS)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the grid is all that is known
        errors, likely = _errors_on_grid(self, cases)
        return float(np.sqrt(dot(likely, errors**2)))

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the grid is all that is known
        return ErrorLaw(atoms_beyond(*_errors_on_grid(self, cases)), OVER_OCTAVES)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        return Mechanism.outcomes(self, scenario, chances)


@dataclass(frozen=True, slots=True)
class RankedMaximum(_OnGrid):
    """About the largest of the clipped values: one that few exceed."""

    name: ClassVar[str] = "ranked"
    functions: ClassVar[tuple[str, ...]] = ("max",)
    replaced: ClassVar[Replaced] = Replaced.VALUE
    caution: ClassVar[str] = (
        f"the bounds are loose, so this is not the largest value: about {RANK_TARGET}/ε "
        "cases exceed it"
    )

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, task.octaves())

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.rank > _HIGHEST_RANK:
            raise NotReleasable(
                f"at this epsilon the maximum would be a value that {self.rank:,} cases exceed",
                hint="ask with a larger epsilon, or declare bounds that fit",
            )

    @property
    def predicted_level(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        """How many cases should exceed the answer."""
        return math.ceil(RANK_TARGET / self.epsilon)

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        starts = self.starts(points)
        above = len(points) - np.searchsorted(points, starts, side="right")
        return starts, np.abs(above - self.rank)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        rate = float(self.rate)
        return rate * max(cases - self.rank, 0.0), rate * self.rank

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        low, _ = super(RankedMaximum, self).interval(noisy, confidence)
        return low, float(self.bounds.high)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """A value that few exceed says nothing about how far those few go."""
        if limit >= self.bounds.high:
            return 1.0
        return min(super(RankedMaximum, self).chance_at_most(noisy, limit), 0.5)


@dataclass(frozen=True, slots=True)
class LooseMinimum(_OnGrid, IntervalExtreme):
    """The smallest of the clipped values, to within a few percent of its size."""

    functions: ClassVar[tuple[str, ...]] = ("min",)

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, "min", task.octaves())

    @property
    def predicted_level(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class LooseQuantile(_OnGrid, IntervalQuantile):
    """A quantile of the clipped values, to within a few percent of its size."""

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, task.level or Fraction(0), task.octaves())

    @property
    def predicted_level(self) -> float:
        return float(self.level)


@lru_cache(maxsize=256)
def _errors_on_grid(mechanism: _OnGrid, cases: float) -> tuple[Floats, Floats]:
    """Errors and their chances, for values spread evenly over the grid, but for the top."""
    grid = mechanism.lattice
    top = max(grid.highest - UNUSED_OCTAVES * grid.steps, 0)
    many = min(max(round(cases), 0), _MOST_PREDICTED)
    values = grid.points[np.linspace(0, top, many).astype(np.int64)]
    law = mechanism.law(values)
    likely = np.array([law.probability((k,)) for k in range(grid.highest + 1)])
    return grid.points - grid.value(mechanism.predicted_level * top), likely
