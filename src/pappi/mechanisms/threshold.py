"""The threshold mechanism: releases that know the target.

The paper scores intervals on the wrong side of a target worse, by a falloff ξ. Its scores
move by up to ξ·n when one case crosses the target, so its loss is hundreds of ε. What it is
for, a decision that is seldom wrong, is had by spending on the decision itself:

- **The decision alone** (`NoisyMargin`). The margin q (see below) moves by at most 1 with one
  case; noise of scale 1/ε has loss at most ε. The target is met if the noisy margin is not
  negative: wrong with probability exp(−ε·|q|)/2. Releasing the noisy margin itself and not
  only its sign costs nothing more, and tells how sure one may be.
- **Decision and value** (`TwoStage`). The noisy margin gets ε₁ = ε·ξ/(1+ξ). Then the
  interval mechanism, at ε₂ = ε − ε₁, draws the value among the points on that side of the
  target. Its weights are those without a target, restricted to a set of points that the
  first stage alone has chosen, so it loses at most ε₂; together ε (`StagedLaw`). Value and
  verdict always agree, and ξ says how much of ε is spent on the verdict.
- **A mean, anchored at its target** (`AnchoredMean`): most of ε goes where the decision is
  made. Of M = Σ(T − x) and the number of cases n, the mean is T − M/n. One case moves M by at
  most Δ = max(T − L, U − T). M gets ε₁ = ε·ξ/(1+ξ), the number the rest: noise of scale Δ/ε₁ on
  the one, 1/ε₂ on the other, which compose to ε. Near the target M is small, and then an error
  in n hardly matters: that is where a falloff ξ buys accuracy. The sign of the noisy M is the
  decision, and the value always lies on its side. Under *replace* one case moves M by at most
  Δ = U − L, n is public, and M gets the whole of ε. A share is the mean of truth values.

**Margins** say by how many cases a target is met or missed. Whether a target is met is the sign of
a sum over the cases, M = offset + Σ cᵢ, at least 0 if it is met (for cases clipped to their bounds
and put on the lattice). For a limit T that the value should not exceed:

| function     | M                     | what one case adds                     |
|--------------|-----------------------|----------------------------------------|
| mean, share  | Σ (T − x)             | T − U to T − L: no count is needed      |
| sum          | T − Σ x               | −U to −L                                |
| ratio a/b    | Σ (T·b − a)           | what T·b − a can be within the bounds   |
| quantile a   | Σ (1[x ≤ T] − a)      | −a or 1 − a                             |
| max          | ½ − #{x > T}          | −1 or 0                                 |

For a limit that the value should reach, everything is mirrored.

M itself moves by up to max|c| with one case, and usually by far less. So what gets the noise
is the **margin** q: how many cases would have to change to turn the verdict. Each change
takes M towards zero by its gain: a case removed by |cᵢ|, one added by the most a case can do.
Taking the largest gains first, the last one in part, q is the least number of changes that
bring M to 0, with the sign of M.

**One case moves q by at most 1.** Write a ≤ 0 ≤ b for the range of what a case adds.

- *add-remove, M and M′ of one sign*: undoing the difference is one change, and after it the
  other log's changes are there to be made. So |q − q′| ≤ 1.
- *add-remove, M ≥ 0 > M′*, by a case that adds −m, m = M + |M′|: a case like it can be added
  to the one, and removed from the other, for a gain of m each. So q + |q′| ≤ (M + |M′|)/m = 1.
- *replace*: a change turns a case into any other, once each, for a gain of cᵢ − a or b − cᵢ.
  The two proofs are the same. A case without a value adds 0, and can be changed as well.

Where no changes can turn the verdict, that follows from public facts, and q is a constant.
Whole numbers: q in parts of 2^-20, rounded down, which moves by at most 2^20 then.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, floor
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms.grids import RANGE_STEPS, Lattice, total
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile, Points, RankScored
from pappi.mechanisms.laws import (
    Law,
    NoisySign,
    Outcome,
    StagedLaw,
    clamped_error,
    dot,
    laplace_at_least,
    laplace_deviation,
    laplace_half_width,
    significance,
)
from pappi.mechanisms.mechanism import (
    PART_OF_WHOLE,
    QUANTILE,
    RATIO,
    Estimate,
    Limit,
    Mechanism,
    NoisyIntegers,
    Purpose,
    Replaced,
    SumRatio,
    Task,
    Values,
    counted,
    quantile_level,
    refuse_falloff,
)
from pappi.mechanisms.prediction import (
    APART,
    EVENLY_BETWEEN,
    NEAR,
    TRUTHS,
    ErrorLaw,
    Floats,
    laplace_beyond,
    noise_grid,
)
from pappi.mechanisms.two_bin import RatioTail, ratio_interval, weighted_tail
from pappi.values import Adjacency, Bounds

AIMS = "on request only: aims at the target"
FALLOFF = "falloff"


@dataclass(frozen=True, slots=True)
class NoisyMargin(NoisyIntegers):
    """Whether a target is met, and how sure that is; no value."""

    name: ClassVar[str] = "threshold"
    functions: ClassVar[tuple[str, ...]] = (
        *("min", "max", "mean", "share", "sum", QUANTILE),
        *(PART_OF_WHOLE, RATIO),
    )
    purposes: ClassVar[tuple[Purpose, ...]] = (Purpose.VERDICT,)
    replaced: ClassVar[Replaced] = Replaced.MISSING
    decides: ClassVar[bool] = True

    margin: Margin
    limit: Limit
    """On the value; the margin's own may be on something that the value is a multiple of."""
    value_range: tuple[float, float]
    """Where the value can lie at all, by public facts."""

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.limit is None:
            raise NotReleasable("without a target there is nothing to decide")
        if task.ratio is not None:
            margin: Margin = ratio_margin(task.ratio, task.bounds, task.limit)
            value_range = task.ratio.output_range
        else:
            margin = margin_for(task.function, task.bounds, task.limit, integral=task.integral)
            value_range = float(task.bounds.low), float(task.bounds.high)
            if task.function == "sum":
                value_range = task.bounds.of_sums
        return cls(*task.common, margin, task.limit, value_range)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return aim_settings(self.margin.limit, None)

    @property
    def width(self) -> int:
        return self.margin.width

    @property
    def sensitivity(self) -> int:
        return PER_CASE

    @property
    def output_range(self) -> tuple[float, float]:
        return self.value_range

    def statistics(self, values: Values) -> Outcome:
        return (self.margin.cases(values, self.adjacency),)

    def estimate(self, noisy: Outcome) -> Estimate:  # noqa: ARG002 - a margin is no value
        return Estimate(None)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """All that is known of the value is on which side of the limit it lies, if that."""
        low, high = self.value_range
        met = self.probability_met(noisy)
        if max(met, 1 - met) < 1 - significance(confidence) / 2:
            return low, high
        below = (met > 0.5) == self.limit.at_most
        limit = float(self.limit.value)
        return (low, limit) if below else (limit, high)

    def probability_met(self, noisy: Outcome) -> float:
        """How sure one may be that the margin is not negative."""
        return 1 - laplace_at_least(noisy[0] + 1, self.scale)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """Known at the limit the margin is about, and at the ends of the range.

        At another limit only what follows: a value below this one is below a higher one too.
        """
        low, high = self.value_range
        if not low <= limit < high:
            return float(limit >= high)
        met, own = self.probability_met(noisy), float(self.limit.value)
        below = met if self.limit.at_most else 1 - met
        if limit == own:
            return below
        return min(below, 0.5) if limit < own else max(below, 0.5)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the noise is the same everywhere
        """How far from the target a value is told apart from it, as a standard deviation."""
        noise = laplace_deviation(self.scale) / PER_CASE
        furthest = float(max(map(abs, self.margin.moves())) * self.margin.unit)
        # Among many cases one moves a mean, a share or a rank by less; a sum as much as ever.
        return noise * furthest / (max(cases, 1.0) if self.margin.averages else 1.0)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        """How far from the target a value must lie to be told apart from it."""
        least, most = self.margin.moves()
        number_is_public = self.adjacency is Adjacency.REPLACE
        furthest = most - least if number_is_public else max(-least, most)
        shared = cases if self.margin.averages else 1
        step = float(furthest * self.margin.unit) / (PER_CASE * shared)
        return ErrorLaw(laplace_beyond(self.scale, step), self.margin.assumes, self.margin.averages)


@dataclass(frozen=True, slots=True)
class TwoStage(Mechanism):
    """The decision, and then a value on its side of the target."""

    name: ClassVar[str] = "threshold"
    functions: ClassVar[tuple[str, ...]] = ("min", "max", QUANTILE)
    purposes: ClassVar[tuple[Purpose, ...]] = (Purpose.BOTH,)
    replaced: ClassVar[Replaced] = Replaced.MISSING
    on_request: ClassVar[str] = AIMS
    setting: ClassVar[str] = FALLOFF
    decides: ClassVar[bool] = True

    margin: Margin
    falloff: Fraction
    unaimed: RankScored
    """The mechanism of the second stage, as it would be without a target."""

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.limit is None or task.falloff is None:
            raise NotReleasable("without a target there is nothing to decide")
        rest = task.epsilon - decision_epsilon(task.epsilon, task.falloff)
        second = (task.bounds, rest, task.adjacency, task.integral)
        unaimed: RankScored
        if task.level is not None:
            unaimed = IntervalQuantile(*second, task.level)
        else:
            unaimed = IntervalExtreme(*second, "max" if task.function == "max" else "min")
        margin = margin_for(task.function, task.bounds, task.limit, integral=task.integral)
        return cls(*task.common, margin, task.falloff, unaimed)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return aim_settings(self.margin.limit, self.falloff)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        refuse_falloff(self.falloff)
        if self.unaimed.epsilon != self.epsilon - decision_epsilon(self.epsilon, self.falloff):
            raise UsageError("the stages of a threshold release must share its epsilon")
        if not (self._side(0) and self._side(1)):
            raise NotReleasable("its target leaves no value on one side of it")

    @property
    def decision(self) -> NoisyMargin:
        epsilon = decision_epsilon(self.epsilon, self.falloff)
        common = (self.bounds, epsilon, self.adjacency, self.integral)
        return NoisyMargin(*common, self.margin, self.margin.limit, self.output_range)

    def law(self, values: Values) -> Law:
        first = NoisySign(self.margin.cases(values, self.adjacency), self.decision.scale)
        free = self.unaimed.law(values)

        def aimed(met: int) -> Law:
            side = self._side(met)
            return free.within(side[0], side[-1])

        return StagedLaw(first, cache(aimed))

    def estimate(self, noisy: Outcome) -> Estimate:
        return self.unaimed.estimate(noisy[1:])

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """The decision's: the value's own would hold only where the decision is right."""
        return self.decision.interval(noisy[:1], confidence)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        return self.decision.chance_at_most(noisy[:1], limit)

    def predicted_error(self, cases: float, at: float | None) -> float:
        return self.unaimed.predicted_error(cases, at)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:
        return self.unaimed.error_law(cases, at)

    def _side(self, met: int) -> range:
        """The points on one side of the target."""
        points, limit = self.unaimed.lattice, self.margin.limit
        in_order, cut = range(points.lowest, points.highest + 1), _cut(points, limit)
        return in_order[:cut] if bool(met) == limit.at_most else in_order[cut:]


@lru_cache(maxsize=1024)
def _cut(points: Points, limit: Limit) -> int:
    """How many points lie below the limit, itself included where it belongs to them."""
    bisect = bisect_right if limit.included == limit.at_most else bisect_left
    points_in_order = range(points.lowest, points.highest + 1)
    return bisect(points_in_order, float(limit.value), key=points.value)


def aim_settings(limit: Limit, falloff: Fraction | None) -> tuple[tuple[str, str | Bounds], ...]:
    at = f"{'at most' if limit.at_most else 'at least'} {limit.value} {limit.included}"
    return (("limit", at), ("falloff", str(falloff)))


def decision_epsilon(epsilon: Fraction, falloff: Fraction) -> Fraction:
    """What a falloff leaves for the decision: ε·ξ/(1+ξ)."""
    return epsilon * falloff / (1 + falloff)


# --- a mean ---------------------------------------------------------------------------


_FINE = 2**20
"""Steps per case, so that the noise of the number is as good as continuous."""

_CONTINUOUS = Fraction(2**20)
"""A scale in steps whose noise counts as continuous."""


@dataclass(frozen=True, slots=True)
class AnchoredMean(NoisyIntegers):
    """The mean of the clipped values, most precise at a target."""

    name: ClassVar[str] = "threshold"
    functions: ClassVar[tuple[str, ...]] = ("mean", "share")
    purposes: ClassVar[tuple[Purpose, ...]] = (Purpose.BOTH,)
    on_request: ClassVar[str] = AIMS
    setting: ClassVar[str] = FALLOFF
    decides: ClassVar[bool] = True

    margin: MeanMargin
    falloff: Fraction

    @classmethod
    def made_for(cls, task: Task) -> Self:
        """On the fine lattice, where noise is as good as continuous."""
        if task.limit is None or task.falloff is None:
            raise NotReleasable("without a target there is nothing to aim at")
        margin = MeanMargin(task.bounds, integral=False, limit=task.limit)
        return cls(*task.common[:3], False, margin, task.falloff)  # noqa: FBT003

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return aim_settings(self.margin.limit, self.falloff)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        refuse_falloff(self.falloff)

    @property
    def sensitivity(self) -> int:
        """Of the margin; that of the number of cases is 1."""
        least, most = self.margin.moves()
        return most - least if self.adjacency is Adjacency.REPLACE else max(-least, most)

    @property
    def scale(self) -> Fraction:
        """Of the margin's noise."""
        number_is_public = self.adjacency is Adjacency.REPLACE
        epsilon = self.epsilon if number_is_public else decision_epsilon(self.epsilon, self.falloff)
        return self.sensitivity / epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        if self.adjacency is Adjacency.REPLACE:
            return self.scale, None
        left = self.epsilon - decision_epsilon(self.epsilon, self.falloff)
        return self.scale, _FINE / left

    def statistics(self, values: Values) -> Outcome:
        if self.adjacency is Adjacency.REPLACE:
            # A case without a value counts as the low bound, or it would change a public number.
            values = np.where(np.isnan(values), float(self.bounds.low), values)
            return total(self.margin.added(values)), _FINE * len(values)
        return total(self.margin.added(values)), _FINE * int(np.count_nonzero(~np.isnan(values)))

    def estimate(self, noisy: Outcome) -> Estimate:
        cases, (_, scale) = noisy[1] / _FINE, self.scales
        away = float(self.margin.unit * noisy[0]) / max(cases, 1.0)
        return counted(
            self._at(away),
            cases,
            lambda level: 0.0 if scale is None else laplace_half_width(scale, level) / _FINE,
        )

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        if noisy[1] < _FINE:
            return self.ends
        margin, cases = float(self.margin.unit * noisy[0]), noisy[1] / _FINE
        alpha = significance(confidence)
        width = float(self.bounds.width)
        ends = ratio_interval(margin, cases, alpha, self._tail(), (-width, width))
        low, high = sorted(map(self._at, ends))
        rounding = 2 * self.margin.lattice.rounding  # of a value, and of the limit
        return self.clamped(low - rounding), self.clamped(high + rounding)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """At the limit itself, by the sign of the margin alone."""
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        away = float(self.margin.limit.value) - limit
        rho = away if self.margin.limit.at_most else -away
        margin, cases = float(self.margin.unit * noisy[0]), noisy[1] / _FINE
        # A negative number of cases is raised to 0 only where that makes the margin say less.
        off = sorted((margin - rho * cases, margin - rho * max(cases, 0.0), 0.0))[1]
        rarely = self._tail()(abs(off), rho) / 2
        at_most = off >= 0 if self.margin.limit.at_most else off <= 0
        return 1 - rarely if at_most else rarely

    def predicted_error(self, cases: float, at: float | None) -> float:
        (low, high), centre = self.ends, self.centre(at)
        of_margin, of_cases = self._noise()
        away = abs(centre - float(self.margin.limit.value))
        noise = float(np.hypot(of_margin, away * of_cases)) / max(cases, 1.0)
        return clamped_error(noise, centre - low, high - centre)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        low, width = float(self.bounds.low), float(self.bounds.width)
        unit = float(self.margin.unit)
        if self.adjacency is Adjacency.REPLACE:
            return ErrorLaw(laplace_beyond(self.scale, unit / cases, width))
        limit = (float(self.margin.limit.value) - low) / width
        left = self.epsilon - decision_epsilon(self.epsilon, self.falloff)
        law = AnchoredCases(cases, limit, float(self.scale) * unit / width, float(1 / left))
        return ErrorLaw(lambda t: law.beyond(t / width))

    def _at(self, away: float) -> float:
        """The mean whose margin is that much a case."""
        limit = float(self.margin.limit.value)
        value = limit - away if self.margin.limit.at_most else limit + away
        return self.clamped(value)

    def _tail(self) -> RatioTail:
        """Of noise on margin − ρ·cases; both are so fine that they count as continuous."""
        of_margin, of_cases = (noise / math.sqrt(2) for noise in self._noise())
        return lambda t, rho: weighted_tail(t, of_margin, abs(rho) * of_cases, 1.0)

    def _noise(self) -> tuple[float, float]:
        """Standard deviations, in units of the value times cases, and in cases."""
        _, cases = self.scales
        of_margin = laplace_deviation(self.scale) * float(self.margin.unit)
        return of_margin, 0.0 if cases is None else laplace_deviation(cases) / _FINE


@dataclass(frozen=True, slots=True)
class AnchoredCases:
    """The share T − M/n, of a noisy margin M and a noisy number of cases n.

    For each outcome of the number, "off by more than t" is "the margin beyond some m", whose
    chance is known. Both are so fine that they count as continuous.
    """

    cases: int
    limit: float
    of_margin: float
    of_cases: float

    def beyond(self, distance: float) -> float:
        """At the truth for which it is worst; a share is never off by more than 1."""
        if distance >= 1:
            return 0.0
        shares = self._shares[:, np.newaxis]
        noise, weights = noise_grid(_CONTINUOUS)
        counted = np.maximum(self.cases + noise / float(_CONTINUOUS) * self.of_cases, 1.0)
        away, margin = self.limit - shares, self.cases * (self.limit - shares)
        over = _above((margin - counted * (away - distance)) / self.of_margin)
        under = _above((counted * (away + distance) - margin) / self.of_margin)
        over = np.where(shares + distance < 1, over, 0.0)
        return float(dot(over + np.where(shares > distance, under, 0.0), weights).max())

    @property
    def _shares(self) -> Floats:
        """Close together near the ends, where an error is cut off on one side."""
        scale = (self.of_margin + self.of_cases) / self.cases
        near = np.minimum(np.arange(0.0, 2 * NEAR, 2 * APART) * scale, 0.5)
        shares = np.concatenate((near, 1 - near, np.linspace(0, 1, 2 * TRUTHS - 1)))
        # Each once; `np.unique` would load numpy's masked arrays into every preview.
        return np.array(sorted(set(shares.tolist())))


def _above(away: Floats) -> Floats:
    """P(Z > away) for Laplace noise of scale 1."""
    far = np.exp(-np.abs(away)) / 2
    return np.where(away > 0, far, 1 - far)


# --- margins --------------------------------------------------------------------------

Added = NDArray[np.int64]


PER_CASE = 2**20
"""The margin of one case."""

_LARGEST = 2**40  # what a case adds, at most: a chunk of such numbers sums up within int64
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Margin(ABC):
    """Of a function over values within bounds, against a limit."""

    averages: ClassVar[bool] = True
    """Whether one case among many moves it by less."""

    assumes: ClassVar[str] = EVENLY_BETWEEN
    """What must be so for `unit` to say how far a value is from the limit."""

    bounds: Bounds
    integral: bool
    limit: Limit

    @property
    def width(self) -> int:
        return 1

    @property
    def offset(self) -> int:
        return 0

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """What 1 of M is, in the unit of the value times the number of cases."""

    @abstractmethod
    def added(self, values: Values) -> Added:
        """What each case adds to M; 0 for a case without a value. Total, for any floats."""

    @abstractmethod
    def moves(self) -> tuple[int, int]:
        """The least and the most that one case can add; 0 lies between."""

    def cases(self, values: Values, adjacency: Adjacency) -> int:
        """q, in parts of 2^-20."""
        added, (least, most) = self.added(values), self.moves()
        away = self.offset + total(added)
        if away < 0:
            added, least, most = -added, -most, -least
        if adjacency is Adjacency.REPLACE:
            taken = _taken(abs(away), added - least, 0)
        else:
            taken = _taken(abs(away), added[added > -least], -least)
        # Rounded down on either side of zero, so that a verdict missed stays one.
        return floor(taken * PER_CASE) if away >= 0 else -ceil(taken * PER_CASE)


def _taken(away: int, gains: Added, of_new: int) -> Fraction:
    """How many changes cover `away`: the largest gains first, then new cases without end."""
    ordered, done = np.sort(gains)[::-1], 0
    for start in range(0, len(ordered), _CHUNK):
        so_far = np.cumsum(ordered[start : start + _CHUNK])
        if away <= int(so_far[-1]):
            before = int(np.searchsorted(so_far, away, side="left"))
            left = away - (int(so_far[before - 1]) if before else 0)
            gain = int(ordered[start + before])
            return done + before + (Fraction(left, gain) if left else Fraction(0))
        away, done = away - int(so_far[-1]), done + len(so_far)
    if not away:
        return Fraction(done)
    return done + Fraction(away, of_new) if of_new > 0 else Fraction(1)


@dataclass(frozen=True, slots=True)
class MeanMargin(Margin):
    """Σ (T − x); of truth values, for shares."""

    assumes: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.bounds.low <= self.limit.value <= self.bounds.high:
            raise NotReleasable(
                "the limit lies beyond the bounds, so the verdict would not depend on the data",
                hint="declare wider bounds, or another limit",
            )

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def unit(self) -> Fraction:
        return self.lattice.step / self._point.denominator

    def added(self, values: Values) -> Added:
        limit = self._point
        points = self.lattice.snap(np.where(np.isnan(values), float(self.bounds.low), values))
        sums = limit.numerator - limit.denominator * points
        signed = sums if self.limit.at_most else -sums
        return np.where(np.isnan(values), 0, signed)

    @property
    def offset(self) -> int:
        return -(not self.limit.included)

    def moves(self) -> tuple[int, int]:
        limit, lattice = self._point, self.lattice
        ends = (limit.numerator - limit.denominator * k for k in (lattice.lowest, lattice.highest))
        signed = [end if self.limit.at_most else -end for end in ends]
        return min(0, *signed), max(0, *signed)

    @property
    def _point(self) -> Fraction:
        """The limit in lattice steps: exact where values are, else on the lattice as they are.

        If its denominator is too large, the nearest one that is not: no mean of fewer cases
        than that denominator lies between the two.
        """
        lattice = self.lattice
        point = (self.limit.value - lattice.origin) / lattice.step
        finest = max(_LARGEST // lattice.span, 1) if lattice.exact else 1
        return point.limit_denominator(finest)


@dataclass(frozen=True, slots=True)
class SumMargin(Margin):
    """T − Σ x."""

    averages: ClassVar[bool] = False
    assumes: ClassVar[str] = ""

    @property
    def lattice(self) -> Lattice:
        return Lattice.through_zero(self.bounds, integral=self.integral)

    @property
    def unit(self) -> Fraction:
        return self.lattice.step

    def added(self, values: Values) -> Added:
        points = self.lattice.snap(np.where(np.isnan(values), 0.0, values))
        signed = -points if self.limit.at_most else points
        return np.where(np.isnan(values), 0, signed)

    @property
    def offset(self) -> int:
        """Sums are whole: of a fraction of a step only the side matters."""
        point = self.limit.value / self.lattice.step
        if self.limit.at_most:
            return floor(point) if self.limit.included else ceil(point) - 1
        return -(ceil(point) if self.limit.included else floor(point) + 1)

    def moves(self) -> tuple[int, int]:
        lowest, highest = self.lattice.lowest, self.lattice.highest
        least, most = (-highest, -lowest) if self.limit.at_most else (lowest, highest)
        return min(0, least), max(0, most)


@dataclass(frozen=True, slots=True)
class _CountMargin(Margin):
    """Of counts of the cases that keep the limit."""

    @property
    def unit(self) -> Fraction:
        """Ranks have no unit; on evenly spread values one is this much."""
        least, most = self.moves()
        return self.bounds.width / (most - least)

    def added(self, values: Values) -> Added:
        least, most = self.moves()
        clipped = np.clip(values, float(self.bounds.low), float(self.bounds.high))
        return np.where(np.isnan(values), 0, np.where(self._keeps(clipped), most, least))

    def _keeps(self, values: Values) -> NDArray[np.bool_]:
        limit = float(self.limit.value)
        if self.limit.at_most:
            return values <= limit if self.limit.included else values < limit
        return values >= limit if self.limit.included else values > limit


@dataclass(frozen=True, slots=True)
class QuantileMargin(_CountMargin):
    """Σ (1[x keeps the limit] − a): `level` is the share of cases that should keep it."""

    level: Fraction

    def moves(self) -> tuple[int, int]:
        share, whole = self.level.numerator, self.level.denominator
        return -share, whole - share


@dataclass(frozen=True, slots=True)
class ExtremeMargin(_CountMargin):
    """½ − the cases beyond the limit, doubled; or, if one case is enough, those that keep it − ½.

    A maximum stays below a limit if everyone does, and reaches one if someone does.
    """

    everyone: bool

    @property
    def offset(self) -> int:
        return 1 if self.everyone else -1

    def moves(self) -> tuple[int, int]:
        return (-2, 0) if self.everyone else (0, 2)


@dataclass(frozen=True, slots=True)
class RatioMargin(Margin):
    """Σ (T·b − a) over rows (a, b): `bounds` are those of b, `part` those of a.

    If a is declared to be a part of b, what exceeds b is cut off.
    """

    part: Bounds
    cut: bool

    @property
    def width(self) -> int:
        return 2

    @property
    def unit(self) -> Fraction:
        return self._lattice.step / self.bounds.high

    @property
    def offset(self) -> int:
        return -(not self.limit.included)

    def added(self, values: Values) -> Added:
        rows = values.reshape(-1, 2)
        wholes = np.clip(rows[:, 1], float(self.bounds.low), float(self.bounds.high))
        parts = np.clip(rows[:, 0], float(self.part.low), float(self.part.high))
        parts = np.where(np.isnan(parts), 0.0, parts)
        if self.cut:
            parts = np.clip(parts, 0.0, wholes)
        apart = float(self.limit.value) * wholes - parts
        points = self._lattice.snap(np.where(np.isnan(apart), 0.0, apart))
        return points if self.limit.at_most else -points

    def moves(self) -> tuple[int, int]:
        lattice = self._lattice
        ends = lattice.lowest, lattice.highest
        return ends if self.limit.at_most else (-ends[1], -ends[0])

    @property
    def _lattice(self) -> Lattice:
        """Of T·b − a, through zero, wide enough for every row within the bounds."""
        limit = self.limit.value
        part = min(self.part.low, Fraction(0)), self.part.high
        corners = [limit * b - a for b in (self.bounds.low, self.bounds.high) for a in part]
        return Lattice.through_zero(
            Bounds(min(*corners, Fraction(0)), max(*corners, Fraction(1, 10**6))), integral=False
        )


def margin_for(function: str, bounds: Bounds, limit: Limit, *, integral: bool) -> Margin:
    level = quantile_level(function)
    if level is not None:
        keeping = level if limit.at_most else 1 - level
        return QuantileMargin(bounds, integral, limit, keeping)
    match function:
        case "sum":
            return SumMargin(bounds, integral, limit)
        case "mean" | "share":
            return MeanMargin(bounds, integral, limit)
        case "min" | "max":
            return ExtremeMargin(bounds, integral, limit, (function == "max") == limit.at_most)
        case _:
            raise NotReleasable(f"no margin is known for the function {function!r}")


def ratio_margin(ratio: SumRatio, whole: Bounds, limit: Limit) -> RatioMargin:
    """Of factor·a/b, by the limit that a/b has then."""
    at_most = limit.at_most if ratio.factor > 0 else not limit.at_most
    of_sums = Limit(limit.value / ratio.factor, at_most, limit.included)
    return RatioMargin(whole, False, of_sums, ratio.part, ratio.within)  # noqa: FBT003
