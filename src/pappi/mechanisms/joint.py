"""Joint: all means, shares and sums of a set from one draw, at one ε.

A dashboard asks for many numbers about the same cases. Released one by one, k of them get ε/k
each. Here one draw over what a case can contribute to all of them together has the whole ε, with
noise in the shape of that hull (`hull`, with the proof). Every function of the set is read off
the same noisy integers: `JointMember` is one of them, and all members of a set have the same law,
so they are one release.

A member's value is put on a lattice, and counts as u = 2k − K in {−K..K}: how far it lies from the
middle of its bounds. Members that a case has together or not at all form a *presence class*, and
share its number of cases T. A mean is the middle plus U/T, a sum half of U + T·(lowest + highest).
Sums, and whatever every case has, belong to the class of all cases: there, a case without a
value adds 0 to a sum.

*replace*: where every case has every value, T is public. One case in the place of another moves u
by 2K at most: noise over the sums alone, in the shape of their box, has the whole ε. Elsewhere a
replaced case is one less and one more, and the planner halves ε.

Which class a case is in is decided by its own values, whatever was declared: a case that has one
value of a class but not another counts as the middle for that. So the proof holds for any data.

**What the bounds cut off.** A class may also count the cases of which a member lies beyond its
bounds (`Contribution.counts_beyond`): of any of them, so that one count does for all. It is one
more member of the class, a truth value of the case itself, so the body is a box with one more side,
and law, proof and sampler are those of a class with one member more. With k members that is about
1/(k + 2.5) more noise for each: 29 % for one, 12 % for six.

**The noise of one member.** With v = 2u/K′ and t the noise of its class, K′ = 2K, a mean at the
share p of its bounds has the pivot v − λt, λ = 2p − 1, and a sum v + μt. In a single class, given
the larger radius r both are uniform within ±r, and r has the chances (r+1)·Π(K′ᵢr + 1)·e^(−εr).
With further classes these weigh the radii of theirs. Tails and intervals are sums over the mixture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.beyond import FORECAST, BeyondBounds, Clipped, hidden_by_bounds
from pappi.mechanisms.combined import CombinedSum, Part, combined_sum
from pappi.mechanisms.grids import RANGE_STEPS, Lattice, clamp, total
from pappi.mechanisms.hull import BoxLaw, HullLaw, Spans
from pappi.mechanisms.laws import Law, Outcome, dot, significance
from pappi.mechanisms.mechanism import (
    ALL_BUT_SURE,
    Estimate,
    Mechanism,
    Values,
    counted,
)
from pappi.mechanisms.prediction import (
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    Trial,
    TrialIntervals,
)
from pappi.mechanisms.two_bin import drawn_in_share, drawn_in_shares, share_hull
from pappi.values import (
    CONFIDENCE,
    UNIT_INTERVAL,
    Adjacency,
    Bounds,
    LaplaceLikelihood,
    Likelihood,
    TwoBinLikelihood,
)

_LARGEST_TABLE = 96
_TURNS = 33
_TRUTHS = 17
_HALVINGS = 12
_TILT = 0.75
_PLACES = 33
_LEAST_UNIT = 1e-6
_CONTINUOUS = math.inf
_MOST_RADII = 20_000
_TOLD = "beyond"
_POINTS_EACH = 512  # in a deviation
_FINE_WAVES = 17  # so many powers of 2: cubics are then off by less than 1e-7
_LEAST_SLOPE = 1e-9
_CLOSE = 1e-6
_ROUNDED = 1e-6  # how far rounding may part tails beside a slope that is next to none
_MOST_STEPS = 40
_NOWHERE = -1.0  # the turn of an answer that there cannot be
_STEEP = 1e-4  # turns that a difference of squares can tell

Excess = Callable[[float], float]
"""How far something is above what is looked for; never rises."""


# Without slots, these three: what follows from their fields is worked out once for each (a plan
# has a few of them, and thousands of answers), and kept in the instance.


@dataclass(frozen=True)
class Contribution:
    """What a case contributes to one function of a set: a value within bounds."""

    function: str
    bounds: Bounds
    integral: bool
    counts_beyond: bool = False
    """Whether cases that lie beyond its bounds are counted."""

    @property
    def is_sum(self) -> bool:
        return self.function == "sum"

    @cached_property
    def lattice(self) -> Lattice:
        if self.is_sum:
            low, high = min(self.bounds.low, Fraction(0)), max(self.bounds.high, Fraction(0))
            return Lattice.through_zero(Bounds(low, high), integral=self.integral)
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @cached_property
    def span(self) -> int:
        """K′: u lies within ±K′/2."""
        return 2 * self.lattice.span

    @cached_property
    def skew(self) -> Fraction:
        """μ of a sum: how far zero lies from the middle of what a case adds, as a share of half."""
        lattice = self.lattice
        return Fraction(lattice.lowest + lattice.highest, lattice.span)

    def places(self, values: Values) -> NDArray[np.int64]:
        """u of every case; the middle where it has no value, or nothing added to a sum."""
        missing = np.isnan(values)
        lattice = self.lattice
        # The lattice of a sum reaches to zero, where its bounds may not.
        within = np.clip(values, float(self.bounds.low), float(self.bounds.high))
        points = 2 * lattice.snap(np.where(missing, 0.0, within)) - lattice.lowest - lattice.highest
        return points if self.is_sum else np.where(missing, 0, points)

    def lies_beyond(self, values: Values) -> NDArray[np.bool_]:
        """Which cases the bounds cut; a value at a bound is not cut, and neither is none at all."""
        low, high = float(self.bounds.low), float(self.bounds.high)
        return np.asarray((values < low) | (values > high))


_BEYOND = Contribution("share", UNIT_INTERVAL, integral=True)
"""Of a class that counts what its bounds cut: whether a case is among it."""


@dataclass(frozen=True)
class PresenceClass:
    """Functions that a case is part of together, or of none; `everyone` is in it if it says so."""

    members: tuple[Contribution, ...]
    everyone: bool

    @cached_property
    def counts_beyond(self) -> bool:
        """Whether it counts the cases that the bounds of its members cut."""
        return any(member.counts_beyond for member in self.members)

    @cached_property
    def spans(self) -> Spans:
        counted = (*self.members, _BEYOND) if self.counts_beyond else self.members
        return tuple(member.span for member in counted)

    def statistics(self, columns: Values) -> Outcome:
        """U of each member, that of what lies beyond if it is counted, and T."""
        rows = columns
        if not self.everyone:
            rows = columns[~np.isnan(columns).all(axis=1)]
        sums = [total(m.places(rows[:, i])) for i, m in enumerate(self.members)]
        if self.counts_beyond:
            cut = [m.lies_beyond(rows[:, i]) for i, m in enumerate(self.members) if m.counts_beyond]
            sums.append(total(_BEYOND.places(np.any(cut, axis=0).astype(np.float64))))
        return *sums, len(rows)


@dataclass(frozen=True)
class JointMember(Mechanism):
    """One function of a set; `index` says which, counted through all classes."""

    name: ClassVar[str] = "joint"

    classes: tuple[PresenceClass, ...]
    index: int

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.adjacency is Adjacency.REPLACE and not self.knows_number:
            raise ValueError("under replace, only a set of values that every case has is released")

    @property
    def answers_for(self) -> int:
        return self.width

    @property
    def width(self) -> int:
        return sum(len(presence.members) for presence in self.classes)

    @property
    def knows_number(self) -> bool:
        """Whether every case is in every class: then under replace its size is public."""
        return all(presence.everyone for presence in self.classes)

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """All of the set: the same for each of its members."""
        return (("set", written_set(self.classes)),)

    def law(self, values: Values) -> Law:
        rows, start = values.reshape(-1, self.width), 0
        numbers: list[int] = []
        for presence in self.classes:
            numbers.extend(presence.statistics(rows[:, start : start + len(presence.members)]))
            start += len(presence.members)
        spans = tuple(presence.spans for presence in self.classes)
        if self.adjacency is Adjacency.REPLACE:
            return BoxLaw(tuple(numbers), spans, self.epsilon)
        return HullLaw(tuple(numbers), spans, self.epsilon)

    # --- what was released, of this member

    @cached_property
    def place(self) -> tuple[int, int]:
        """Its class, and its place in the class."""
        index = self.index
        for number, presence in enumerate(self.classes):
            if index < len(presence.members):
                return number, index
            index -= len(presence.members)
        raise IndexError(self.index)

    @cached_property
    def member(self) -> Contribution:
        number, index = self.place
        return self.classes[number].members[index]

    def _of_class(self, noisy: Outcome) -> Outcome:
        """What was released of its class: the sums, and the number last."""
        return noisy[self._slice]

    @cached_property
    def _slice(self) -> slice:
        number, _ = self.place
        start = sum(len(presence.spans) + 1 for presence in self.classes[:number])
        return slice(start, start + len(self.classes[number].spans) + 1)

    def _noisy(self, noisy: Outcome) -> tuple[float, float]:
        """v and t: twice its sum in cases, and the number of cases."""
        (_, index), own = self.place, self._of_class(noisy)
        return 2 * own[index] / self.member.span, float(own[-1])

    @property
    def tells_beyond(self) -> bool:
        return self.member.counts_beyond

    def beyond(self, noisy: Outcome) -> BeyondBounds | None:
        if not self.tells_beyond:
            return None
        number, _ = self.place
        *_, v, t = self._of_class(noisy)
        measures = sum(member.counts_beyond for member in self.classes[number].members)
        return BeyondBounds(float(v), float(t), *self._noise.of_beyond, measures)

    def _bins(self, noisy: Outcome) -> tuple[float, float]:
        """As two bins, in cases: how much of them lies above, and below."""
        v, t = self._noisy(noisy)
        return max((t + v) / 2, 0.0), max((t - v) / 2, 0.0)

    @cached_property
    def _noise(self) -> Noise:
        number, _ = self.place
        spans = tuple(presence.spans for presence in self.classes)
        if self.adjacency is Adjacency.REPLACE:
            return box_noise(tuple(span for own in spans for span in own), self.epsilon)
        return class_noise(spans[number], spans[:number] + spans[number + 1 :], self.epsilon)

    @property
    def pair_noise(self) -> JointPair:
        return JointPair(self._noise, self.member.span, 1 / float(self.epsilon))

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        return self._noisy(noisy)

    @property
    def as_sum(self) -> tuple[float, float]:
        if self.member.is_sum:
            return self._unit, self._unit * self._skew
        low, high = self.ends
        return (high - low) / 2, (high + low) / 2

    def sum_rounding(self, noisy: Outcome) -> float:
        return self.member.lattice.rounding * max(self._noisy(noisy)[1], 0.0)

    def estimate(self, noisy: Outcome) -> Estimate:
        v, t = self._noisy(noisy)
        if self.member.is_sum:  # t counts all cases, also those that a filter leaves out of it
            return Estimate(clamp(self._sum(v, t), *self.output_range))
        return counted(self._mean(self._share(v, t)), t, self._noise.number_quantile)

    def _share(self, v: float, t: float) -> float:
        if self.adjacency is Adjacency.REPLACE:
            return clamp((1 + v / t) / 2, 0.0, 1.0) if t else 0.5
        unit = self._noise.unit
        return drawn_in_share((t + v) / 2 / unit, (t - v) / 2 / unit)

    @cached_property
    def _unit(self) -> float:
        """What one step of v adds to a sum."""
        return float(self.member.lattice.step) * self.member.span / 4

    def _sum(self, v: float, t: float) -> float:
        return self._unit * (v + self._skew * t)

    @cached_property
    def _skew(self) -> float:
        return float(self.member.skew)

    @cached_property
    def _range(self) -> tuple[float, float, float]:
        """Its bounds, and how far they are apart."""
        return float(self.bounds.low), float(self.bounds.high), float(self.bounds.width)

    @cached_property
    def _rounding(self) -> float:
        return self.member.lattice.rounding

    def _mean(self, share: float) -> float:
        low, _, width = self._range
        return low + width * share

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the mean or sum of the clipped values; rounding is included."""
        return self._interval(noisy, confidence)

    def interval_for_all(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """One that holds, with this confidence, together with those of all other members."""
        number, _ = self.place
        size = len(self.classes[number].members)
        rarely = (1 - confidence) * size / self.width
        return self._interval(noisy, *_level_of_each(self._noise, self.member.span, size, rarely))

    def _interval(
        self, noisy: Outcome, confidence: float, tilt: float = 0.0
    ) -> tuple[float, float]:
        noise, span = self._noise, self.member.span
        v, t = self._noisy(noisy)
        if self.member.is_sum:
            away = noise.quantile(-self._skew, span, confidence, tilt)
            rounding = self._rounding * max(t, 0.0)
            low, high = self._sum(v - away, t) - rounding, self._sum(v + away, t) + rounding
            return clamp(low, *self.output_range), clamp(high, *self.output_range)
        if self.adjacency is Adjacency.REPLACE:
            away = noise.quantile(0.0, span, confidence, tilt)
            low, high = (
                (
                    clamp((1 + (v - away) / t) / 2, 0.0, 1.0),
                    clamp((1 + (v + away) / t) / 2, 0.0, 1.0),
                )
                if t
                else (0.0, 1.0)
            )
        else:
            low, high = noise.share_hull(*self._bins(noisy), span, confidence, tilt)
            estimate = self._share(v, t)
            low, high = min(low, estimate), max(high, estimate)
        rounding, ends = self._rounding, self._range[:2]
        return clamp(self._mean(low) - rounding, *ends), clamp(self._mean(high) + rounding, *ends)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        noise, span = self._noise, self.member.span
        v, t = self._noisy(noisy)
        if self.member.is_sum:
            off = v - (limit / self._unit - self._skew * t)
            rarely = noise.tail(abs(off), -self._skew, span) / 2
            return 1 - rarely if off < 0 else rarely
        share = (limit - float(self.bounds.low)) / float(self.bounds.width)
        if not 0 <= share < 1:
            return float(share >= 1)
        if self.adjacency is Adjacency.REPLACE:
            off, turn = v - (2 * share - 1) * t, 0.0
        else:
            above, below = self._bins(noisy)
            off, turn = 2 * ((1 - share) * above - share * below), 2 * share - 1
        rarely = noise.tail(abs(off), turn, span) / 2
        return 1 - rarely if off < 0 else rarely

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        """As if it were Laplace noise of the same size, whose longer tails claim less."""
        v, t = self._noisy(noisy)
        noise, (low, high) = self._noise, self.output_range
        if self.member.is_sum:
            off = noise.deviation(-self._skew, self.member.span)
            scale = self._sum(off, 0.0) / math.sqrt(2)
            ends = (end if math.isfinite(end) else None for end in (low, high))
            return LaplaceLikelihood(self._sum(v, t), scale, *ends)
        unit = noise.scale(self.member.span)
        if self.adjacency is Adjacency.ADD_REMOVE:
            return TwoBinLikelihood((t + v) / 2 / unit, (t - v) / 2 / unit, low, high)
        if not t:
            return None
        scale = float(self.bounds.width) * unit / t / math.sqrt(2)
        return LaplaceLikelihood(self._mean((1 + v / t) / 2), scale, low, high)

    def value_in(self, inputs: tuple[float, ...]) -> float | None:
        return inputs[self.index]

    @property
    def output_range(self) -> tuple[float, float]:
        if self.member.is_sum:
            return self.bounds.of_sums
        return self._range[:2]

    # --- what is predicted

    def predicted_error(self, cases: float, at: float | None) -> float:
        noise = self._noise
        if self.member.is_sum:
            turned = noise.deviation(-self._skew, self.member.span)
            return self._unit * turned
        width = float(self.bounds.width)
        share = 0.5 if at is None else clamp((at - float(self.bounds.low)) / width, 0.0, 1.0)
        cases = max(cases, 0.0)
        v, t = noise.points(Chances(0), self.member.span)
        if self.adjacency is Adjacency.REPLACE:
            guesses = np.clip(share + v / (2 * cases), 0.0, 1.0) if cases else np.full(1, 0.5)
        else:
            guesses = _drawn_in((2 * share - 1) * cases + v, cases + t, noise.unit)
        return width * math.sqrt(float(np.mean((guesses - share) ** 2)))

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        noise, span = self._noise, self.member.span
        if self.member.is_sum:
            unit, turn = self._unit, -self._skew
            return ErrorLaw(lambda t: noise.tail(t / unit, turn, span), shrinks=False, start=unit)
        number_is_public = self.adjacency is Adjacency.REPLACE
        return _share_law(noise, span, cases, number_is_public=number_is_public).times(
            float(self.bounds.width)
        )

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:
        noise, member, chances = self._noise, self.member, Chances(0)
        v, d, t = noise.points(chances, member.span, _BEYOND.span)
        values, cases = trial.values[:, None], np.full((len(trial.values), 1), float(trial.cases))
        if member.is_sum:
            unit, skew = self._unit, self._skew
            # A sum may be larger than so many cases can add up to.
            most = float(member.bounds.magnitude) or 1.0
            cases = np.maximum(cases, np.abs(values) / most)
            v, t = values / unit - skew * cases + v, cases + t
            value = unit * (v + skew * t)
            rounding = float(member.lattice.rounding) * np.maximum(t, 0.0)
            away = unit * noise.quantile(-skew, member.span, CONFIDENCE) + rounding
            low, high, empty = value - away, value + away, np.zeros_like(value, np.bool_)
        else:
            start, width = float(self.bounds.low), float(self.bounds.width)
            v, t = (2 * (values - start) / width - 1) * cases + v, cases + t
            shares = self._trial_shares(v, t, (limit - start) / width)
            value, low, high = (start + width * share for share in shares)
            empty = t <= noise.number_quantile(ALL_BUT_SURE)
        if self.tells_beyond and any(trial.cut):
            own = BeyondBounds(d - cases, t, *noise.of_beyond)
            clipped = Clipped(value, low, high, member.bounds, member.is_sum)
            pool = _with_others(own, cases, trial.periods - 1)
            below, above = hidden_by_bounds(clipped, own, pool, trial.cut, FORECAST)
            low, high = low - below, high + above
        return TrialIntervals(low, high, empty)

    def _trial_shares(self, v: Floats, t: Floats, limit: float) -> tuple[Floats, Floats, Floats]:
        """The mean and the ends of its interval, as shares of the bounds."""
        noise, span = self._noise, self.member.span
        slack = float(self.member.lattice.rounding) / float(self.bounds.width)
        number_is_public = self.adjacency is Adjacency.REPLACE
        above, below = np.maximum((t + v) / 2, 0.0), np.maximum((t - v) / 2, 0.0)
        both = np.maximum(above + below, _LEAST_UNIT)

        def away(share: float) -> float:
            turn = 0.0 if number_is_public else 2 * clamp(share, 0.0, 1.0) - 1
            return noise.quantile(turn, span, CONFIDENCE) / 2

        low, high = (above - away(limit + slack)) / both, (above + away(limit - slack)) / both
        if number_is_public:
            estimate = above / both
        else:  # an interval that may hold an end of the bounds holds everything up to there
            estimate, end = _drawn_in(v, t, noise.unit), away(1.0)
            low, high = np.where(above > end, low, 0.0), np.where(below > end, high, 1.0)
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        return estimate, np.clip(low - slack, 0.0, 1.0), np.clip(high + slack, 0.0, 1.0)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        v, t = self._noise.points(chances, self.member.span)
        if self.member.is_sum:
            return scenario.value + self._unit * (v + self._skew * t)
        low, width = float(self.bounds.low), float(self.bounds.width)
        share, cases = (scenario.value - low) / width, scenario.cases
        if self.adjacency is Adjacency.REPLACE:
            return low + width * np.clip(share + v / (2 * cases), 0.0, 1.0)
        return low + width * _drawn_in((2 * share - 1) * cases + v, cases + t, self._noise.unit)


@dataclass(frozen=True)
class JointNumber(JointMember):
    """How many cases a class has: T, which its draw tells anyway, so that it needs no member.

    `index` is that of a member of the class.
    """

    @property
    def answers_for(self) -> int:
        """By itself: the intervals that hold together are those of members."""
        return 1

    @property
    def _number(self) -> CombinedSum:
        size = sum(len(presence.spans) + 1 for presence in self.classes)
        shared = self.bounds, self.epsilon, self.adjacency, self.integral
        member = JointMember(*shared, self.classes, self.index)
        return combined_sum(UNIT_INTERVAL, [Part(member, size)], [self.as_sum])

    @property
    def as_sum(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def tells_beyond(self) -> bool:
        return False

    @property
    def output_range(self) -> tuple[float, float]:
        return self._number.output_range

    def sum_rounding(self, noisy: Outcome) -> float:  # noqa: ARG002 - a number is whole
        return 0.0

    def estimate(self, noisy: Outcome) -> Estimate:
        return self._number.estimate(noisy)

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        return self._number.likelihood(noisy)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        return self._number.interval(noisy, confidence)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        return self._number.chance_at_most(noisy, limit)

    def predicted_error(self, cases: float, at: float | None) -> float:
        return self._number.predicted_error(cases, cases if at is None else at)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:
        return self._number.error_law(cases, at)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:  # noqa: ARG002 - alike everywhere
        summed = self._number.summed
        away, noise = summed.quantile(CONFIDENCE), summed.deviation / math.sqrt(2)
        values = np.maximum(trial.values[:, None] + noise * Chances(0).laplace(), 0.0)
        return TrialIntervals(np.maximum(values - away, 0.0), values + away)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        return self._number.outcomes(scenario, chances)


def joint_members(
    classes: tuple[PresenceClass, ...], epsilon: Fraction, adjacency: Adjacency
) -> tuple[Mechanism, ...]:
    """Every function of a set, in the order of its classes: all of them are one release."""
    members = (member for presence in classes for member in presence.members)
    return tuple(
        JointMember(member.bounds, epsilon, adjacency, member.integral, classes, index)
        for index, member in enumerate(members)
    )


def joint_numbers(
    classes: tuple[PresenceClass, ...], epsilon: Fraction, adjacency: Adjacency
) -> tuple[Mechanism, ...]:
    """How many cases each class has, read off the same release."""
    firsts = accumulate((len(presence.members) for presence in classes[:-1]), initial=0)
    return tuple(
        JointNumber(UNIT_INTERVAL, epsilon, adjacency, True, classes, index)  # noqa: FBT003
        for index in firsts
    )


def _with_others(own: BeyondBounds, cases: Floats, periods: int) -> BeyondBounds:
    """Counts of so many further periods added, in which no case lies beyond, either."""
    if not periods:
        return own
    chances, of_difference, of_cases = Chances(2), own.of_difference, own.of_cases
    others = BeyondBounds(
        chances.normal(0) * math.sqrt(periods * of_difference) - periods * cases,
        chances.normal(1) * math.sqrt(periods * of_cases) + periods * cases,
        periods * of_difference,
        periods * of_cases,
    )
    return own + others


def _drawn_in(v: Floats, t: Floats, unit: float) -> Floats:
    return drawn_in_shares((t + v) / 2 / unit, (t - v) / 2 / unit)


def written_set(classes: tuple[PresenceClass, ...]) -> str:
    """As it enters the key of a release; `read_set` reads it back from the record."""
    return json.dumps(
        [
            [
                "all" if presence.everyone else "some",
                [
                    [
                        *(m.function, str(m.bounds.low), str(m.bounds.high), m.integral, m.span),
                        *((_TOLD,) if m.counts_beyond else ()),
                    ]
                    for m in presence.members
                ],
            ]
            for presence in classes
        ]
    )


def read_set(text: str) -> tuple[PresenceClass, ...] | None:
    """None if today's lattices are not those it was released on."""
    written: list[tuple[str, list[tuple[str, str, str, bool, int, *tuple[str, ...]]]]]
    written = json.loads(text)
    classes = tuple(
        PresenceClass(
            tuple(
                Contribution(function, Bounds(Fraction(low), Fraction(high)), integral, bool(mark))
                for function, low, high, integral, _, *mark in members
            ),
            everyone=who == "all",
        )
        for who, members in written
    )
    return classes if written_set(classes) == text else None


# --- the noise of one member ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Noise:
    """Of v and t, as a mixture: v uniform within ±radius, t within ±`spreads` of `numbers`.

    v has steps of 2/K′, so within a radius r it is at most half a step from a continuous one.
    """

    radii: Floats
    numbers: Floats
    spreads: Floats
    weights: Floats

    @cached_property
    def unit(self) -> float:
        """By which an estimate is drawn in: that of values without steps."""
        return self.scale(_CONTINUOUS)

    def scale(self, span: float) -> float:
        """Of two-bin's noise that errs as much in the middle, in cases; never none."""
        return max(self.deviation(0.0, span) / 2, _LEAST_UNIT)

    def deviation(self, turn: float, span: float) -> float:
        """Of v − turn·t: steps h within a radius r have the variance r·(r + h)/3."""
        return _deviation(self, turn, span)

    @cached_property
    def of_beyond(self) -> tuple[float, float]:
        """The variance of the count of cases beyond bounds, and of that of all cases."""
        of_difference = self.deviation(0.0, _BEYOND.span) ** 2
        return of_difference, self.deviation(1.0, _BEYOND.span) ** 2 - of_difference

    def points(self, chances: Chances, *spans: int) -> tuple[Floats, ...]:
        """Equally likely noises: v of members of the class, in whole steps, and t."""
        so_far = np.cumsum(self.weights)
        drawn = np.searchsorted(so_far, chances.uniform(0) * so_far[-1]).clip(max=len(so_far) - 1)
        columns = []
        for column, span in zip((1, 3, 4), spans, strict=False):
            reach = self.radii[drawn] * span / 2 + 0.5
            columns.append(np.rint(reach * (2 * chances.uniform(column) - 1)) * (2 / span))
        return *columns, self.numbers[drawn] + self.spreads[drawn] * (2 * chances.uniform(2) - 1)

    def tail(self, distance: float, turn: float, span: int) -> float:
        """At least P(|v − turn·t| ≥ distance): as if v were continuous, and half a step closer."""
        return float(self.tails(distance, np.array([turn]), span)[0])

    def tails(self, distance: float, turns: Floats, span: int) -> Floats:
        """The same for several turns."""
        step = 1 / span
        away = distance - step
        if away <= 0:
            return np.ones_like(turns)
        radii, numbers, spreads, weights = self.folded
        far = radii + step + numbers + spreads >= away  # no turn is beyond ±1
        reach, numbers, spreads = radii[far] + step, numbers[far], spreads[far]
        slope = np.maximum(np.abs(turns[:, None]) * spreads, _LEAST_SLOPE)
        shifts = turns[:, None] * numbers
        beyond = _mean_above(reach - away - shifts, slope)
        beyond += _mean_above(reach - away + shifts, slope) if numbers.any() else beyond
        return np.minimum(dot(beyond, weights[far] / (2 * reach)), 1.0)

    def tails_of_many(self, distance: float, turns: Floats, span: int) -> Floats:
        """The same but for rounding, in half the time; for forecasts, not for what is answered."""
        away, steep = distance - 1 / span, np.abs(turns)
        if away <= 0 or not steep.size or steep.min() < _STEEP:
            return self.tails(distance, turns, span)
        radii, numbers, spreads, weights = self.folded
        far = radii + 1 / span + numbers + spreads >= away
        reach, numbers, spreads = radii[far] + 1 / span, numbers[far], spreads[far]
        squares, beyond = np.empty((len(steep), len(reach))), np.zeros(len(steep))
        shares = weights[far] / (8 * reach * spreads)
        for number in (numbers, -numbers):
            for sign in (1, -1):
                np.multiply(steep[:, None], number - sign * spreads, out=squares)
                np.maximum(np.subtract(reach - away, squares, out=squares), 0.0, out=squares)
                beyond += sign * dot(np.square(squares, out=squares), shares)
        return np.asarray(np.minimum(beyond / steep, 1.0))

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Of v, if it had no steps, and of t: to search from."""
        of_v, of_t = self.radii**2 / 3, self.numbers**2 + self.spreads**2 / 3
        return float((self.weights * of_v).sum()), float((self.weights * of_t).sum())

    @cached_property
    def folded(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Too many cases and too few are equally likely, and off by as much: each pair once."""
        kept = self.numbers >= 0
        twice = np.where(self.numbers > 0, 2.0, 1.0)
        return (
            self.radii[kept],
            self.numbers[kept],
            self.spreads[kept],
            (self.weights * twice)[kept],
        )

    def number_quantile(self, confidence: float) -> float:
        """How far t is off at most, with that confidence; 0 where it is public."""
        return _number_quantile(self, confidence)

    def quantile(self, turn: float, span: int, confidence: float, tilt: float = 0.0) -> float:
        """How far v − turn·t is off at most, with that confidence; straight between some turns.

        With a tilt it is surer the further it is turned.
        """
        return _between_turns(_quantiles(self, span, confidence, tilt), turn)

    def share_hull(
        self, above: float, below: float, span: int, confidence: float, tilt: float
    ) -> tuple[float, float]:
        """All shares p whose pivot is not too far off, from the noisy sums of both sides."""
        quantiles = _quantiles(self, span, confidence, tilt)

        def accepted(p: float) -> bool:
            return 2 * abs((1 - p) * above - p * below) <= _between_turns(quantiles, 2 * p - 1)

        return share_hull(above, below, accepted)


def _mean_above(left: Floats, slope: Floats) -> Floats:
    """The mean of (left − slope·y)⁺ over y from −1 to 1, in place of `left`."""
    more = left + slope
    less = np.subtract(left, slope, out=left)
    for end in (more, less):
        np.square(np.maximum(end, 0.0, out=end), out=end)
    return np.divide(np.subtract(more, less, out=more), 4 * slope, out=more)


@lru_cache(maxsize=1024)
def _share_law(noise: Noise, span: int, cases: int, *, number_is_public: bool) -> ErrorLaw:
    """Of a mean as a share of its bounds: one for all means of a draw.

    `known` is whether the number of cases is public.
    """
    lower_half = np.linspace(0, 0.5, _TRUTHS // 2 + 1)

    @lru_cache(maxsize=256)
    def beyond(off: float) -> float:
        """At the truth for which it is worst; the halves of the bounds are alike."""
        if off >= 1:
            return 0.0
        truths = np.append(lower_half, min(off, 1 - off))
        seen = np.stack((truths + off, truths - off))
        turns = 0.0 * seen if number_is_public else np.abs(2 * seen - 1)
        turns[(seen <= 0) | (seen >= 1)] = _NOWHERE
        if not number_is_public:
            turns = turns[:, _widest(turns)]
        possible, sides = turns > _NOWHERE, np.zeros(turns.shape)
        sides[possible] = noise.tails_of_many(2 * off * cases, turns[possible], span)
        return float(sides.sum(axis=0).max() / 2)

    return ErrorLaw(beyond)


def _widest(turns: Floats) -> NDArray[np.intp]:
    """The columns of turns on both sides that no other column exceeds on both: they are the worst.

    Given t, v is as likely on either side of 0, and less likely further away. So the further
    turn·t lies from 0, the more seldom v is close to it (Anderson's inequality).
    """
    wide, narrow = turns.max(axis=0), turns.min(axis=0)
    order = np.lexsort((narrow, wide))[::-1]
    widest = np.maximum.accumulate(narrow[order])
    return np.asarray(order[np.append(True, widest[1:] > widest[:-1])])


@dataclass(frozen=True, slots=True)
class JointPair:
    """The noise of one member as v and t of a `pair`; `away` is by how much its tails fall off."""

    noise: Noise
    span: int
    away: float

    @property
    def on_lattice(self) -> bool:
        """Its mixture is of continuous parts, a little wider than the steps they stand for."""
        return False

    def spectrum(self, of_v: float, of_t: float, frequencies: Floats) -> Floats:
        largest = max(abs(of_v), abs(of_t))
        if not largest:
            return np.ones_like(frequencies)
        apart, waves = _waves_of(self.noise, self.span, abs(of_v) / largest, abs(of_t) / largest)
        return _between_points(waves, largest * frequencies / apart)

    def variance(self, of_v: float, of_t: float) -> float:
        reach = self.noise.radii + 1 / self.span
        of_number = self.noise.numbers**2 + self.noise.spreads**2 / 3
        return float(dot(self.noise.weights, of_v**2 * reach**2 / 3 + of_t**2 * of_number))

    def scale(self, of_v: float, of_t: float) -> float:
        return self.away * max(abs(of_v), abs(of_t))


def _between_points(waves: Floats, places: Floats) -> Floats:
    """A table that is even around both of its ends, between its points: by cubics."""
    last = len(waves) - 4
    places = np.mod(places, 2 * last)
    places = np.where(places > last, 2 * last - places, places)
    before = np.minimum(places.astype(np.int64), last)
    x = places - before
    p, q, r, s = (waves[before + shift] for shift in range(4))
    outer, inner = x * (x - 1) / 6, (x + 1) * (x - 2) / 2
    return np.asarray(outer * ((x + 1) * s - (x - 2) * p) + inner * ((x - 1) * q - x * r))


@lru_cache(maxsize=64)
def _waves_of(noise: Noise, span: int, of_v: float, of_t: float) -> tuple[float, Floats]:
    """The characteristic function of so much of v and of t, from one step below zero on.

    Each part of the mixture is a sum of two uniform ones. Their law is taken on a fine grid, where
    every value counts as the next point away from zero.
    """
    reach, spread = of_v * (noise.radii + 1 / span), of_t * noise.spreads
    middles = of_t * noise.numbers
    squares = reach**2 / 3 + spread**2 / 3 + middles**2
    step = max(math.sqrt(float(dot(noise.weights, squares))), _LEAST_UNIT) / _POINTS_EACH
    reach, spread = np.maximum(reach, step), np.maximum(spread, step)
    points = np.arange(math.ceil(float((np.abs(middles) + reach + spread).max()) / step) + 1) * step
    heights = noise.weights / (8 * reach * spread)
    upto = np.zeros_like(points)  # the chance of everything up to there, by its four corners
    for sign, corner in (
        (1, -reach - spread),
        (-1, reach - spread),
        (-1, spread - reach),
        (1, reach + spread),
    ):
        corners = middles + corner
        order = np.argsort(corners)
        seen = np.searchsorted(corners[order], points, side="right")
        powers = (heights * corners**power for power in range(3))
        flat, sloped, curved = (
            np.concatenate(([0.0], np.cumsum(power[order])))[seen] for power in powers
        )
        upto += sign * (points * (points * flat - 2 * sloped) + curved)
    size = 1 << max(len(points).bit_length() + 1, _FINE_WAVES)
    masses = np.zeros(size)
    masses[1 : len(points)] = np.maximum(np.diff(upto), 0.0)
    masses[-1 : -len(points) : -1] = masses[1 : len(points)]
    waves = np.fft.rfft(masses / masses.sum()).real
    return 2 * math.pi / (size * step), np.concatenate((waves[1:2], waves, waves[-2:-4:-1]))


@lru_cache(maxsize=1024)
def _number_quantile(noise: Noise, confidence: float) -> float:
    spreads = np.maximum(noise.spreads, 1e-9)

    def beyond(distance: float) -> float:
        sides = ((spreads - distance + side * noise.numbers) / (2 * spreads) for side in (1, -1))
        return float(dot(noise.weights, sum(np.clip(inside, 0.0, 1.0) for inside in sides)))

    low, high = 0.0, float((np.abs(noise.numbers) + noise.spreads).max())
    while high - low > 1e-5 * max(high, 1.0):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > 1 - confidence else (low, middle)
    return high


@lru_cache(maxsize=4096)
def _deviation(noise: Noise, turn: float, span: float) -> float:
    of_v = noise.radii * (noise.radii + 2 / span) / 3
    of_t = noise.numbers**2 + noise.spreads**2 / 3
    return math.sqrt(float(dot(noise.weights, of_v + turn**2 * of_t)))


class _Quantiles(dict[int, float]):
    """Of the turns that were asked for so far, by their numbers."""

    def __init__(self, at: Callable[[int], float]) -> None:
        super().__init__()
        self._at = at

    def __missing__(self, number: int) -> float:
        self[number] = self._at(number)
        return self[number]


def _between_turns(quantiles: _Quantiles, turn: float) -> float:
    place = abs(turn) * (_TURNS - 1)
    low = int(place) if place < _TURNS - 2 else _TURNS - 2
    first = quantiles[low]
    return first + (place - low) * (quantiles[low + 1] - first)


@lru_cache(maxsize=1024)
def _quantiles(noise: Noise, span: int, confidence: float, tilt: float) -> _Quantiles:
    return _Quantiles(lambda n: _quantile(noise, n, span, _tilted(confidence, n, tilt)))


@lru_cache(maxsize=4096)
def _quantile(noise: Noise, number: int, span: int, confidence: float) -> float:
    """By halving; the tail itself is asked only of distances close to where it falls to α."""
    alpha, turn = significance(confidence), number / (_TURNS - 1)
    low, high = 0.0, 3 * float(noise.radii.max() + 1)
    of_v, of_t = noise.variances
    likely = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(of_v + turn**2 * of_t)
    excess, close = _excess_of_tail(noise, turn, span, alpha)
    above, below = _around(excess, close, (0.95 * likely, likely, high))
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        if middle <= above or (middle < below and noise.tail(middle, turn, span) > alpha):
            low = middle
        else:
            high = middle
    return high


def _excess_of_tail(noise: Noise, turn: float, span: int, alpha: float) -> tuple[Excess, float]:
    """`Noise.tail` beside α, what distances share done once; and how far rounding may part them."""
    step, (radii, numbers, spreads, weights) = 1 / span, noise.folded
    reach, shifts, slope = radii + step, turn * numbers, turn * spreads
    is_flat = not slope.any()
    slope = np.maximum(slope, _LEAST_SLOPE)
    shares = weights / ((2 if is_flat else 8 * slope) * reach)
    shares, slopes = np.concatenate((shares, shares)), np.concatenate((slope, slope))
    sides = np.concatenate((reach - shifts, reach + shifts))
    left, right = sides + slopes, sides - slopes

    def excess(distance: float) -> float:
        above = np.maximum(left - (distance - step), 0.0)
        if not is_flat:
            below = np.maximum(right - (distance - step), 0.0)
            above = above * above - below * below
        often = float((shares * above).sum())  # of many, a product would start threads
        return math.log(often / alpha) if often > 0 else -math.inf

    return excess, _CLOSE + (_ROUNDED * float(reach.max()) if is_flat else 0.0)


def _around(
    excess: Excess, close: float, places: tuple[float, float, float]
) -> tuple[float, float]:
    """Two places, close together: up to one it is surely above zero, from the other on below.

    It never rises. What is so small that rounding may have made it counts as neither. The first
    two places are guesses, the third is the last there is.
    """
    *guesses, below = places
    above, probes = 0.0, [(place, excess(place)) for place in guesses]
    for _ in range(_MOST_STEPS):
        for place, of_place in probes[-2:]:
            above = max(above, place) if of_place > close / 10 else above
            below = min(below, place) if of_place < -close / 10 else below
        if below - above <= 4 * close * below:
            break
        (first, of_first), (last, of_last) = probes[-2:]
        fall = of_first - of_last
        guess = last + of_last * (last - first) / fall if fall else math.inf
        # A little beyond, on the side that was not seen last.
        guess += math.copysign(close, of_last) * guess
        if not above < guess < below:
            guess = (above + below) / 2
        probes.append((guess, excess(guess)))
    return above, below


def _tilted(confidence: float, number: int, tilt: float) -> float:
    return 1 - (1 - confidence) * (1 - tilt * number / (_TURNS - 1))


@lru_cache(maxsize=1024)
def _level_of_each(noise: Noise, span: int, members: int, rarely: float) -> tuple[float, float]:
    """The confidence and tilt for each member of a class at which hardly one of them is off.

    Given the radius and t, members are independent. Where their values lie is not known, so at
    every radius and t the turn counts that is worst there: no mixture of turns is worse. Of few
    members the union bound is better.
    """
    union = 1 - rarely / members
    if members == 1:
        return union, 0.0
    low, high = 1 - rarely, union

    def missing(confidence: float) -> float:
        return 1 - rarely - _all_within(noise, span, members, confidence)

    def excess(part: float) -> float:
        return missing(1 - rarely + part * (union - (1 - rarely))) / rarely

    close = 0.5 ** (_HALVINGS + 3)
    ends = _around(excess, close, (1 - 4 * close, 0.8, 1.0))
    above, below = (1 - rarely + part * (union - (1 - rarely)) for part in ends)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle <= above or (middle < below and missing(middle) > 0):
            low = middle
        else:
            high = middle
    return (high, _TILT) if high < union else (union, 0.0)


def _all_within(noise: Noise, span: int, members: int, confidence: float) -> float:
    radii, numbers, spreads, weights = noise.folded
    radii = np.maximum(radii, 1e-9)[:, None]
    t = numbers[:, None] + spreads[:, None] * np.linspace(-1, 1, _PLACES)[None, :]
    worst = np.broadcast_to(2 * radii, t.shape).copy()
    upper, lower = np.empty_like(t), np.empty_like(t)  # in place: memory is what takes long
    for number in range(0, _TURNS, _TURNS // 8):
        away = _quantile(noise, number, span, _tilted(confidence, number, _TILT))
        np.multiply(t, number / (_TURNS - 1), out=upper)
        np.maximum(np.subtract(upper, away, out=lower), -radii, out=lower)
        np.minimum(np.add(upper, away, out=upper), radii, out=upper)
        np.minimum(worst, np.subtract(upper, lower, out=upper), out=worst)
    inside = np.maximum(worst / (2 * radii), 0.0)
    return float((weights * (inside**members).mean(axis=1)).sum())


@lru_cache(maxsize=256)
def class_noise(own: Spans, others: tuple[Spans, ...], epsilon: Fraction) -> Noise:
    """Of the members of one class, beside others; one and the same for classes that are alike."""
    size = len(own) + 1 + sum(len(spans) + 1 for spans in others)
    furthest = size + 2 + 6 * math.sqrt(size + 2) + 18
    if not others:
        return _alone(own, float(epsilon), furthest)
    if epsilon >= furthest / _LARGEST_TABLE:
        return _tabled(own, others, float(epsilon), math.ceil(furthest / min(float(epsilon), 1.0)))
    return _continuous(own, others, float(epsilon), furthest)


def _alone(spans: Spans, epsilon: float, furthest: float) -> Noise:
    """A single class: given r, both are uniform, and t has steps of 2."""
    radii = _radii(epsilon, furthest)
    weights = np.exp(-epsilon * radii) * (radii + 1) * _product(spans, radii)
    return _kept(radii, np.zeros_like(radii), radii + 1, weights)


def _tabled(own: Spans, others: tuple[Spans, ...], epsilon: float, reach: int) -> Noise:
    """Exactly, by the radii A and B at which the class has its own: see `hull`."""
    more, less = np.meshgrid(np.arange(reach + 1.0), np.arange(reach + 1.0), indexing="ij")
    beside = np.exp(-epsilon * (more + less))
    upto = np.arange(2 * reach + 1.0)
    a, b = more.astype(np.int64), less.astype(np.int64)
    for spans in others:
        sums = np.concatenate(([0.0], np.cumsum(_product(spans, upto))))
        beside *= sums[a + b + 1] - sums[a] + sums[a + b] - sums[b]
    ends = np.cumsum(beside[:, ::-1], axis=1)[:, ::-1]  # this A, and B or more
    ends[:-1] += np.cumsum(beside[::-1], axis=0)[::-1][1:]  # more than this A, and B
    radii = more + less
    weights = ends * _product(own, upto)[a + b]
    return _kept(radii.ravel(), (more - less).ravel(), np.ones(radii.size), weights.ravel())


def _continuous(own: Spans, others: tuple[Spans, ...], epsilon: float, furthest: float) -> Noise:
    """As ε goes to 0, in the middle of cells: a little wider than at any ε."""
    step = furthest / _LARGEST_TABLE
    middles = (np.arange(_LARGEST_TABLE) + 0.5) * step
    more, less = np.meshgrid(middles, middles, indexing="ij")
    both = more + less
    beside = np.exp(-both)
    for spans in others:
        power, largest = len(spans) + 1, 2 * furthest
        of_both, of_more, of_less = ((x / largest) ** power for x in (both, more, less))
        beside *= 2 * of_both - of_more - of_less
    ends = np.cumsum(beside[:, ::-1], axis=1)[:, ::-1] - beside / 2
    ends += np.cumsum(beside[::-1], axis=0)[::-1] - beside / 2
    weights = ends * (both / (2 * furthest)) ** len(own)
    radii, numbers = (both / epsilon).ravel(), ((more - less) / epsilon).ravel()
    return _kept(radii, numbers, np.full(radii.size, step / epsilon), weights.ravel())


def _radii(epsilon: float, furthest: float) -> Floats:
    """All that matter; of very many only some, spread evenly."""
    last = math.ceil(furthest / min(epsilon, 1.0))
    return np.linspace(0.0, last, min(last, _MOST_RADII) + 1)


def _product(spans: Spans, radii: Floats) -> Floats:
    """Π (K·r + 1) for each radius, as a share of the last."""
    product, last = np.ones_like(radii), radii[-1]
    for span in spans:
        product *= (span * radii + 1) / (span * last + 1)
    return product


def _kept(radii: Floats, numbers: Floats, spreads: Floats, weights: Floats) -> Noise:
    """Without what happens next to never."""
    kept = weights > weights.max() * 1e-9
    weights = weights[kept] / weights[kept].sum()
    return Noise(radii[kept], numbers[kept], spreads[kept], weights)


@lru_cache(maxsize=256)
def box_noise(spans: Spans, epsilon: Fraction) -> Noise:
    """Where the number of cases is public: v is uniform within ±2r, r the radius of the box."""
    furthest = len(spans) + 1 + 6 * math.sqrt(len(spans) + 1) + 18
    radii = _radii(float(epsilon), furthest)
    weights = np.exp(-float(epsilon) * radii) * _product(tuple(2 * k for k in spans), radii)
    return _kept(2 * radii, np.zeros_like(radii), np.zeros_like(radii), weights)
