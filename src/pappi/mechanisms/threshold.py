"""The threshold mechanism: releases that know the target.

The paper scores intervals on the wrong side of a target worse, by a falloff ξ. Its scores
move by up to ξ·n when one case crosses the target, so its loss is hundreds of ε. What it is
for, a decision that is seldom wrong, is had by spending on the decision itself:

- **The decision alone** (`NoisyMargin`). The margin q (`margins`) moves by at most 1 with one
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
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar, Self

import numpy as np

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import tails
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile, Points, RankScored
from pappi.mechanisms.lattice import total
from pappi.mechanisms.laws import Law, NoisySign, Outcome, StagedLaw
from pappi.mechanisms.margins import PER_CASE, Margin, MeanMargin, margin_for, ratio_margin
from pappi.mechanisms.mechanism import (
    PART_OF_WHOLE,
    QUANTILE,
    RATIO,
    Estimate,
    Limit,
    Mechanism,
    NoisyIntegers,
    Replaced,
    Task,
    Values,
    counted,
    refuse_falloff,
)
from pappi.mechanisms.pivot import RatioTail, ratio_interval, weighted_tail
from pappi.mechanisms.prediction import (
    APART,
    NEAR,
    TRUTHS,
    ErrorLaw,
    Floats,
    anywhere_in,
    laplace_tails,
    noise_grid,
)
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
    replaced: ClassVar[Replaced] = Replaced.MISSING
    decides: ClassVar[bool] = True

    margin: Margin
    limit: Limit
    """On the value; the margin's own may be on something that the value is a multiple of."""
    value_range: tuple[float, float]
    """Where the value can lie at all, by public facts."""

    @classmethod
    def answers(cls, task: Task) -> bool:
        return task.kind in cls.functions and task.has_target and task.falloff is None

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.limit is None:
            raise NotReleasable("without a target there is nothing to decide")
        if task.ratio is not None:
            margin: Margin = ratio_margin(task.ratio, task.bounds, task.limit)
            value_range = task.ratio.output_range
        else:
            margin = margin_for(task.function, task.bounds, task.limit, integral=task.integral)
            value_range = low, high = float(task.bounds.low), float(task.bounds.high)
            if task.function == "sum":
                value_range = 0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf
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
        if max(met, 1 - met) < 1 - tails.significance(confidence) / 2:
            return low, high
        below = (met > 0.5) == self.limit.at_most
        limit = float(self.limit.value)
        return (low, limit) if below else (limit, high)

    def probability_met(self, noisy: Outcome) -> float:
        """How sure one may be that the margin is not negative."""
        return 1 - tails.at_least(noisy[0] + 1, self.scale)

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
        noise = tails.deviation(self.scale) / PER_CASE
        furthest = float(max(map(abs, self.margin.moves())) * self.margin.unit)
        # Among many cases one moves a mean, a share or a rank by less; a sum as much as ever.
        return noise * furthest / (max(cases, 1.0) if self.margin.averages else 1.0)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        """How far from the target a value must lie to be told apart from it."""
        least, most = self.margin.moves()
        known = self.adjacency is Adjacency.REPLACE
        furthest = most - least if known else max(-least, most)
        shared = cases if self.margin.averages else 1
        step = float(furthest * self.margin.unit) / (PER_CASE * shared)
        beyond = laplace_tails(self.scale, step).beyond
        return ErrorLaw(beyond, self.margin.assumes, self.margin.averages)


@dataclass(frozen=True, slots=True)
class TwoStage(Mechanism):
    """The decision, and then a value on its side of the target."""

    name: ClassVar[str] = "threshold"
    functions: ClassVar[tuple[str, ...]] = ("min", "max", QUANTILE)
    replaced: ClassVar[Replaced] = Replaced.MISSING
    on_request: ClassVar[str] = AIMS
    setting: ClassVar[str] = FALLOFF
    decides: ClassVar[bool] = True

    margin: Margin
    falloff: Fraction
    unaimed: RankScored
    """The mechanism of the second stage, as it would be without a target."""

    @classmethod
    def answers(cls, task: Task) -> bool:
        return task.kind in cls.functions and task.has_target and task.falloff is not None

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
        every, cut = range(points.lowest, points.highest + 1), _cut(points, limit)
        return every[:cut] if bool(met) == limit.at_most else every[cut:]


@lru_cache(maxsize=1024)
def _cut(points: Points, limit: Limit) -> int:
    """How many points lie below the limit, itself included where it belongs to them."""
    bisect = bisect_right if limit.included == limit.at_most else bisect_left
    every = range(points.lowest, points.highest + 1)
    return bisect(every, float(limit.value), key=points.value)


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
    on_request: ClassVar[str] = AIMS
    setting: ClassVar[str] = FALLOFF
    decides: ClassVar[bool] = True

    margin: MeanMargin
    falloff: Fraction

    @classmethod
    def answers(cls, task: Task) -> bool:
        return task.kind in cls.functions and task.has_target and task.falloff is not None

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
        known = self.adjacency is Adjacency.REPLACE
        epsilon = self.epsilon if known else decision_epsilon(self.epsilon, self.falloff)
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
            lambda level: 0.0 if scale is None else tails.half_width(scale, level) / _FINE,
        )

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        if noisy[1] < _FINE:
            return self.ends
        margin, cases = float(self.margin.unit * noisy[0]), noisy[1] / _FINE
        alpha = tails.significance(confidence)
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
        return tails.clamped_error(noise, centre - low, high - centre)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        low, width = float(self.bounds.low), float(self.bounds.width)
        unit = float(self.margin.unit)
        if self.adjacency is Adjacency.REPLACE:
            return ErrorLaw(anywhere_in(laplace_tails(self.scale, unit / cases), width))
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
        of_margin = tails.deviation(self.scale) * float(self.margin.unit)
        return of_margin, 0.0 if cases is None else tails.deviation(cases) / _FINE


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
        return float(tails.dot(over + np.where(shares > distance, under, 0.0), weights).max())

    @property
    def _shares(self) -> Floats:
        """Close together near the ends, where an error is cut off on one side."""
        scale = (self.of_margin + self.of_cases) / self.cases
        near = np.minimum(np.arange(0.0, 2 * NEAR, 2 * APART) * scale, 0.5)
        every = np.concatenate((near, 1 - near, np.linspace(0, 1, 2 * TRUTHS - 1)))
        # Each once; `np.unique` would load numpy's masked arrays into every preview.
        return np.array(sorted(set(every.tolist())))


def _above(away: Floats) -> Floats:
    """P(Z > away) for Laplace noise of scale 1."""
    far = np.exp(-np.abs(away)) / 2
    return np.where(away > 0, far, 1 - far)
