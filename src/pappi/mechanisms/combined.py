"""Several releases of one function, added up or compared: a year from its months, a sum from a
mean, a month against the last one.

A mean, share or sum is released as integers that give two numbers, v and t (`Mechanism.pair`).
Those of disjoint cases add up: the pairs of twelve months, each with noise of its own, make that of
their year. Two releases about the same cases weigh 1 together, by how exact each is. So all that is
read here is V = Σ wᵢvᵢ and T = Σ wᵢtᵢ, and of what the noise on them is, everything is known: each
release has drawn its own, and it enters once.

A mean at the share p of its bounds has V − λT = 0 without noise, λ = 2p − 1. So V − λT as released
is noise alone, Σ wᵢ(vᵢ − λtᵢ), and the interval is the hull of all p at which it is not too large,
as in `two_bin` and `joint`. A sum is a weighted sum of V and T, and so is a number of cases.

**A number of cases from elsewhere** (`with_number`). Another release may have counted the same
cases, as N. Then V + c·(N − T) and T + g·(N − T) are as right as V and T, whatever c and g are:
N − T is noise alone. By least squares, g = var T/(var T + var N), c = cov(V, T)/(var T + var N). A
flat histogram gains most: its T is the sum of all bins, each with noise of its own. All of it stays
linear in what was released, so that its law is found as before.

**The law of a sum of noises** (`SummedNoise`). Its characteristic function is the product of
theirs, each of which is closed-form: no normal approximation, however few there are. It is inverted
numerically, and every step rounds outwards:

- A jitter B of at most ±2h is added, h a 400th of the standard deviation, whose own characteristic
  function sinc⁴(ωh/2) makes the series end. (h is larger where the noise is nearly always 0, as
  that of shares at a large ε: the series would be endless.) As |Z| ≤ |Z + B| + 2h, P(|Z| ≥ d) is
  at most P(|Z + B| ≥ d − 2h).
- What the series leaves out is less than (2/π)/4·(2/ωh)⁴, which is added.
- The law is taken as periodic; what lies beyond a period is below 1e-9.
- On the grid that it is found on, a distance counts as the next smaller one.

Thresholds for |V − λT| are found at some λ, and lie on a straight line in between. They are convex
in λ (quantiles of a symmetric log-concave law are a support function: see `two_bin`), so the line
lies above them. λ and −λ have the same, unless a noise is `lopsided`: of a share that is read off a
histogram, with more bins on one side of the limit than on the other.

**Two figures compared** (`difference`, `ratio`). Both have noise of their own, drawn independently:
they are of disjoint periods, or of two groups, each of which has its draw. (The members of one
joint draw have not: they cannot be compared so.)

**Sums** are linear in what was released, so the noise of their difference has an exact law: that
of the sum of both noises.

**Means, shares, ratios and formulas** are quotients of noisy numbers. Each has an interval [l, u]
with the right coverage, the number of cases unknown. The difference gets its interval from those,
by recovering from each limit how far the estimate may be off on that side (MOVER; Zou and Donner,
Statistics in Medicine 27, 2008), which adds up in quadrature:

    low  = a − b − √((a − l_a)² + (u_b − b)²),    high = a − b + √((u_a − a)² + (b − l_b)²)

The noise has longer tails than a normal law, so a sum of two has shorter ones at the same
deviation: the interval errs on the wide side. But a limit that lies where values can lie at all
says nothing of how far off the estimate is, as the truth may well be there: such a distance is
added, not squared. Then that figure never fails on this side, and the other one as rarely as its
own interval does.

**What no noise decides** is added, too. The interval of a median that is read off bins covers whole
bins, and where in them it lies is a matter of the cases: of both figures it may be at the far end
at once. Each then has the confidence (1 + c)/2, so that both hold with c. How far beyond the bounds
cases may lie is likewise no noise (`Uncertain.below` and `above`).

**Ratios** a/b of what cannot be negative are those r at which a − r·b may be 0, by the interval of
that difference (as Fieller has it): the roots of a quadratic, or of a line where distances are
added. If b may be 0, there is no upper end.

Coverage is measured: `tests/unit/test_comparison.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pappi.mechanisms.beyond import BeyondBounds
from pappi.mechanisms.grids import clamp
from pappi.mechanisms.laws import Law, Outcome, clamped_error, significance
from pappi.mechanisms.mechanism import (
    Estimate,
    Mechanism,
    PairNoise,
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
    Adjacency,
    Bounds,
    LaplaceLikelihood,
    Likelihood,
    TwoBinLikelihood,
)

DERIVED = "derived"

Term = tuple[PairNoise, float, float]
"""A noise, and how much of its v and of its t enters a sum."""

Way = tuple[float, float]
"""How much of a v and of a t make a sum, or a number of cases."""

_WORTH_COUNTING = 1 / 20
"""Of the noise on T and N together: with less of it on T, N tells hardly anything."""

_FINE = 400
_LAST_WAVE = 17.0  # in parts of the jitter: ωh
_LEFT_OUT = 0.5 / math.pi * (2 / _LAST_WAVE) ** 4 + 2e-5
_FADED = 1e-5
_CHUNK = 512
_MOST_WAVES = 1 << 17
_TABLE = 4096
_TURNS = 9
_TRUTHS = 17


@dataclass(frozen=True, slots=True)
class SummedNoise:
    """A sum of independent noises."""

    terms: tuple[Term, ...]

    @property
    def deviation(self) -> float:
        return math.sqrt(sum(noise.variance(v, t) for noise, v, t in self.terms))

    @property
    def as_laplace(self) -> float:
        """The scale of Laplace noise of the same size; never 0, however large ε."""
        tails_of = max(noise.scale(v, t) for noise, v, t in self.terms)
        return max(self.deviation / math.sqrt(2), tails_of / 1000)

    def tail(self, distance: float) -> float:
        """At least P(|Z| ≥ distance)."""
        if distance <= 0:
            return 1.0
        step, slack, beyond = _tails(self.terms)
        if not step:
            return 0.0
        place = math.floor((distance - slack) / step)
        return 1.0 if place < 0 else float(beyond[min(place, len(beyond) - 1)])

    def quantile(self, confidence: float) -> float:
        """How far off it is at most, with that confidence."""
        step, slack, beyond = _tails(self.terms)
        if not step:
            return 0.0
        enough = int(np.argmax(beyond <= significance(confidence)))
        return (enough or len(beyond)) * step + slack


@lru_cache(maxsize=512)
def _tails(terms: tuple[Term, ...]) -> tuple[float, float, Floats]:
    """P(|Z + B| ≥ k·step) for k = 0, 1, …; with the step, and how far B moves Z at most."""
    deviation = SummedNoise(terms).deviation
    if not deviation:
        return 0.0, 0.0, np.zeros(1)
    half = 28 * max(noise.scale(v, t) for noise, v, t in terms) + 10 * deviation
    jitter = max(deviation / _FINE, _LAST_WAVE * half / math.pi / _MOST_WAVES)
    waves = np.array(list(_waves(terms, math.pi / half, jitter)))
    size = 1 << (2 * len(waves)).bit_length()
    spectrum = np.zeros(size // 2 + 1)
    spectrum[: len(waves)] = waves
    # The chance of each cell of the grid, the first one around zero.
    mass = np.fft.irfft(spectrum, size)
    within = np.cumsum(mass[: size // 2 + 1]) * 2 - mass[0]
    beyond = np.clip(1 - within + _LEFT_OUT, 0.0, 1.0)
    # Beyond the k-th cell lies what is further than k + ½ cells; further than k is a cell before.
    beyond = np.minimum.accumulate(np.concatenate(([1.0], beyond)))
    stride = max(1, len(beyond) // _TABLE)
    return 2 * half / size * stride, 2 * jitter, beyond[::stride]


def _waves(terms: tuple[Term, ...], apart: float, jitter: float) -> Iterator[float]:
    """The characteristic function of Z + B at 0, `apart`, 2·apart and so on, until it is over."""
    alike = Counter(terms)
    last = math.ceil(_LAST_WAVE / jitter / apart)
    for start in range(0, last, _CHUNK):
        frequencies = np.arange(start, min(start + _CHUNK, last), dtype=np.float64) * apart
        product = np.sinc(frequencies * jitter / (2 * math.pi)) ** 4
        fading = np.ones_like(product)
        for (noise, v, t), times in alike.items():
            own = noise.spectrum(v, t, frequencies) ** times
            product *= own
            if not noise.on_lattice:
                fading *= own
        yield from product.tolist()
        if np.abs(fading).max() < _FADED:
            return


@lru_cache(maxsize=512)
def _thresholds(
    of_v: tuple[Term, ...], of_t: tuple[Term, ...], confidence: float
) -> tuple[float, ...]:
    """How far V − λT is off at most, with that confidence, at each of some λ from −1 to 1."""

    def at(number: int) -> float:
        return _mixed(of_v, of_t, 1.0, -number / (_TURNS - 1)).quantile(confidence)

    upwards = [at(number) for number in range(_TURNS)]
    both = _lopsided(of_v)
    downwards = [at(-number) for number in range(1, _TURNS)] if both else upwards[1:]
    return (*reversed(downwards), *upwards)


@lru_cache(maxsize=512)
def _lopsided(of_v: tuple[Term, ...]) -> bool:
    """Whether V − λT and V + λT may be noisy by different amounts."""
    return any(
        not math.isclose(noise.variance(1.0, 1.0), noise.variance(1.0, -1.0))
        for noise, v, _ in of_v
        if v
    )


def _mixed(
    of_v: tuple[Term, ...], of_t: tuple[Term, ...], much_v: float, much_t: float
) -> SummedNoise:
    """The noise of so much of V and of T, which are read off the same releases."""
    mixed = (
        (noise, much_v * v + much_t * other_v, much_v * t + much_t * other_t)
        for (noise, v, t), (_, other_v, other_t) in zip(of_v, of_t, strict=True)
    )
    return SummedNoise(tuple(term for term in mixed if term[1] or term[2]))


# --- mechanisms that read what others have released ---------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A release that is added up: the mechanism, how many integers it has, and its weight.

    `into_v` and `into_t` are how much of its v and of its t a mean reads as V, and as T.
    """

    mechanism: Mechanism
    size: int
    weight: Fraction = Fraction(1)
    into_v: Way = (1.0, 0.0)
    into_t: Way = (0.0, 1.0)

    @property
    def noise(self) -> PairNoise:
        noise = self.mechanism.pair_noise
        if noise is None:
            raise ValueError("what this mechanism releases does not add up")
        return noise

    @property
    def only_counts(self) -> bool:
        """Whether it tells a mean nothing but the number of its cases."""
        return self.into_v[0] == 0


def _weighted(part: Part, into: Way) -> Term:
    weight = float(part.weight)
    return part.noise, weight * into[0], weight * into[1]


@dataclass(frozen=True, slots=True)
class Combined(Mechanism):
    """Reads the integers of all its parts, one after the other, and never draws any."""

    name: ClassVar[str] = DERIVED
    is_drawn: ClassVar[bool] = False

    parts: tuple[Part, ...]

    def law(self, values: Values) -> Law:
        raise NotImplementedError("what is derived is never drawn")

    def _split(self, noisy: Outcome) -> Iterator[tuple[Part, float, Outcome]]:
        start = 0
        for part in self.parts:
            yield part, float(part.weight), noisy[start : start + part.size]
            start += part.size

    @property
    def tells_beyond(self) -> bool:
        return all(part.mechanism.tells_beyond for part in self.parts if not part.only_counts)

    def beyond(self, noisy: Outcome) -> BeyondBounds | None:
        weighted = []
        for part, weight, own in self._split(noisy):
            if part.only_counts:
                continue
            counted = part.mechanism.beyond(own)
            if counted is None:
                return None
            weighted.append(counted.weighted(weight))
        return sum(weighted[1:], weighted[0])


@dataclass(frozen=True, slots=True)
class CombinedMean(Combined):
    """The mean over all cases of its parts, which are means within the same bounds.

    Of a ratio of a part to its whole t is no number of cases, so that it `counts` none.
    """

    counts: bool = True

    def _added(self, noisy: Outcome) -> tuple[float, float]:
        """V and T."""
        read_v = read_t = 0.0
        for part, weight, own in self._split(noisy):
            v, t = part.mechanism.pair(own)
            read_v += weight * (part.into_v[0] * v + part.into_v[1] * t)
            read_t += weight * (part.into_t[0] * v + part.into_t[1] * t)
        return read_v, read_t

    @property
    def _of_v(self) -> tuple[Term, ...]:
        """The noise of V."""
        return tuple(_weighted(part, part.into_v) for part in self.parts)

    @property
    def _of_t(self) -> tuple[Term, ...]:
        """The noise of T."""
        return tuple(_weighted(part, part.into_t) for part in self.parts)

    def _noise(self, of_v: float, of_t: float) -> SummedNoise:
        """Of so much of V and of T."""
        return _mixed(self._of_v, self._of_t, of_v, of_t)

    @property
    def _knows_number(self) -> bool:
        return self._noise(0.0, 1.0).deviation == 0

    @property
    def _unit(self) -> float:
        """The scale of two bins' noise that errs as much in the middle, in cases."""
        return max(self._noise(1.0, 0.0).deviation / 2, 1e-6)

    def _bins(self, noisy: Outcome) -> tuple[float, float]:
        v, t = self._added(noisy)
        return max((t + v) / 2, 0.0), max((t - v) / 2, 0.0)

    def _share(self, noisy: Outcome) -> float:
        above, below = self._bins(noisy)
        if self._knows_number:
            v, t = self._added(noisy)
            return clamp((1 + v / t) / 2, 0.0, 1.0) if t else 0.5
        return drawn_in_share(above / self._unit, below / self._unit)

    def _mean(self, share: float) -> float:
        return float(self.bounds.low) + float(self.bounds.width) * share

    def estimate(self, noisy: Outcome) -> Estimate:
        value, (_, t) = self._mean(self._share(noisy)), self._added(noisy)
        with_cases = counted(value, t, self._noise(0.0, 1.0).quantile)
        return with_cases if self.counts else Estimate(value, least_cases=with_cases.least_cases)

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        """As if it were Laplace noise of the same size, whose longer tails claim less.

        None of a share with more noise on one side than on the other.
        """
        if self._is_lopsided:
            return None
        if self._knows_number:
            _, t = self._added(noisy)
            scale = self._noise(1.0, 0.0).as_laplace
            width, at = float(self.bounds.width), self._mean(self._share(noisy))
            return LaplaceLikelihood(at, width * scale / (2 * t), *self.ends) if t > 0 else None
        above, below = self._bins(noisy)
        return TwoBinLikelihood(above / self._unit, below / self._unit, *self.ends)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the mean of the clipped values; rounding is included."""
        above, below = self._bins(noisy)
        at_turns = _thresholds(self._of_v, self._of_t, confidence)

        def accepted(p: float) -> bool:
            place = 2 * p * (_TURNS - 1)
            low = min(int(place), 2 * _TURNS - 3)
            most = at_turns[low] + (place - low) * (at_turns[low + 1] - at_turns[low])
            return 2 * abs((1 - p) * above - p * below) <= most

        low, high = share_hull(above, below, accepted)
        estimate = self._share(noisy)
        rounding = float(self.bounds.width) / 2**21
        return (
            self.clamped(self._mean(min(low, estimate)) - rounding),
            self.clamped(self._mean(max(high, estimate)) + rounding),
        )

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        share = (limit - float(self.bounds.low)) / float(self.bounds.width)
        if not 0 <= share < 1:
            return float(share >= 1)
        above, below = self._bins(noisy)
        off = 2 * ((1 - share) * above - share * below)
        rarely = self._tail(abs(off), 2 * share - 1) / 2
        return 1 - rarely if off < 0 else rarely

    @property
    def _tail(self) -> Callable[[float, float], float]:
        """At least P(|V − turn·T| ≥ distance), by a turn that has no less noise.

        Between two turns the noise is no larger than at one of them.
        """
        turned = lru_cache(maxsize=None)(lambda number: self._noise(1.0, -number / (_TURNS - 1)))
        both = self._is_lopsided

        def tail(distance: float, turn: float) -> float:
            place = turn * (_TURNS - 1)
            if not both:
                return turned(math.ceil(abs(place) - 1e-9)).tail(distance)
            beside = {math.floor(place + 1e-9), math.ceil(place - 1e-9)}
            return max(turned(number).tail(distance) for number in beside)

        return tail

    @property
    def _is_lopsided(self) -> bool:
        return _lopsided(self._of_v)

    def predicted_error(self, cases: float, at: float | None) -> float:
        width = float(self.bounds.width)
        share = 0.5 if at is None else clamp((at - float(self.bounds.low)) / width, 0.0, 1.0)
        if cases <= 0:
            return width * abs(share - 0.5)
        noise = self._noise(1.0, 1 - 2 * share).deviation / (2 * cases)
        return width * clamped_error(noise, share, 1 - share)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        width, tail = float(self.bounds.width), self._tail

        def one_side(at: float, off: float) -> float:
            """How likely a mean is estimated beyond `at`, which is so far from it."""
            return tail(2 * off * cases, 2 * at - 1) / 2 if 0 < at < 1 else 0.0

        def beyond(distance: float) -> float:
            """At the truth for which it is worst."""
            off = distance / width
            if off >= 1:
                return 0.0
            truths = (*np.linspace(0, 1, _TRUTHS), off, 1 - off)
            return max(one_side(p + off, off) + one_side(p - off, off) for p in truths)

        return ErrorLaw(lru_cache(maxsize=256)(beyond), start=width)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:
        """As wide as at the limit, around values that are off by noise of the same size."""
        low, width = float(self.bounds.low), float(self.bounds.width)
        at_turns, most = _thresholds(self._of_v, self._of_t, CONFIDENCE), 2.0 * trial.cases

        def away(share: float) -> float:
            place = clamp(share, 0.0, 1.0) * 2 * (_TURNS - 1)
            return float(np.interp(place, np.arange(len(at_turns)), at_turns)) / most

        at = (limit - low) / width
        noise = self._noise(1.0, 1 - 2 * clamp(at, 0.0, 1.0)).deviation / most / math.sqrt(2)
        shares = (trial.values[:, None] - low) / width + noise * Chances(0).laplace()
        lower = np.where(shares > away(0.0), shares - away(at), 0.0)
        upper = np.where(1 - shares > away(1.0), shares + away(at), 1.0)
        lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
        return TrialIntervals(low + width * lower, low + width * upper)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        low, width = float(self.bounds.low), float(self.bounds.width)
        share, unit = (scenario.value - low) / width, self._unit
        above, below = scenario.cases * share / unit, scenario.cases * (1 - share) / unit
        first, second = chances.laplace(0), chances.laplace(1)
        return low + width * drawn_in_shares(above + first, below + second)


@dataclass(frozen=True, slots=True)
class CombinedSum(Combined):
    """A sum over all cases of its parts, or the number of these; of means, or of sums.

    `ways` say of each part how much of its v and of its t make what is added up.
    """

    ways: tuple[Way, ...]

    @property
    def summed(self) -> SummedNoise:
        """The noise of what is added up, but for rounding."""
        weighted = zip(self.parts, self.ways, strict=True)
        scaled = ((part.noise, float(part.weight), way) for part, way in weighted)
        return SummedNoise(tuple((noise, w * v, w * t) for noise, w, (v, t) in scaled))

    def _value(self, noisy: Outcome) -> float:
        value = 0.0
        for (part, weight, own), (of_v, of_t) in zip(self._split(noisy), self.ways, strict=True):
            v, t = part.mechanism.pair(own)
            value += weight * (of_v * v + of_t * t)
        return value

    def _rounding(self, noisy: Outcome) -> float:
        return sum(
            abs(weight) * part.mechanism.sum_rounding(own)
            for (part, weight, own), (of_v, _) in zip(self._split(noisy), self.ways, strict=True)
            if of_v  # a number of cases is whole
        )

    def added_up(self, noisy: Outcome) -> tuple[float, tuple[Term, ...], float]:
        """The sum, its noise, and by how much lattices may have moved it."""
        return self._value(noisy), self.summed.terms, self._rounding(noisy)

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(clamp(self._value(noisy), *self.output_range))

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        low, high = (end if math.isfinite(end) else None for end in self.output_range)
        return LaplaceLikelihood(self._value(noisy), self.summed.as_laplace, low, high)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the sum of the clipped values; rounding is included."""
        value, away = self._value(noisy), self.summed.quantile(confidence) + self._rounding(noisy)
        return clamp(value - away, *self.output_range), clamp(value + away, *self.output_range)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        low, high = self.output_range
        if not low <= limit < high:
            return float(limit >= high)
        off = self._value(noisy) - limit
        rarely = self.summed.tail(abs(off)) / 2
        return 1 - rarely if off < 0 else rarely

    @property
    def output_range(self) -> tuple[float, float]:
        return self.bounds.of_sums

    def predicted_error(self, cases: float, at: float | None) -> float:
        centre = cases * float(self.bounds.low + self.bounds.high) / 2 if at is None else at
        low, high = self.output_range
        return clamped_error(self.summed.deviation, centre - low, high - centre)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        return ErrorLaw(self.summed.tail, shrinks=False, start=self.summed.deviation)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:  # noqa: ARG002 - alike everywhere
        away, noise = self.summed.quantile(CONFIDENCE), self.summed.deviation / math.sqrt(2)
        values = trial.values[:, None] + noise * Chances(0).laplace()
        ends = (
            np.clip(values - away, *self.output_range),
            np.clip(values + away, *self.output_range),
        )
        return TrialIntervals(*ends)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        noise = self.summed.deviation / math.sqrt(2)
        return np.clip(scenario.value + noise * chances.laplace(), *self.output_range)


def with_number(parts: Sequence[Part], numbers: Sequence[tuple[Part, Way]]) -> list[Part]:
    """What tells a mean, and other releases that count the same cases; or what tells it alone.

    Of those it is said how much of their v and of their t is the number. They are taken where that
    is worth it.
    """
    of_v, of_t = ([_weighted(part, into) for part in parts] for into in ((1.0, 0.0), (0.0, 1.0)))
    both, less, own = (
        _mixed(tuple(of_v), tuple(of_t), *much).deviation ** 2
        for much in ((1.0, 1.0), (1.0, -1.0), (0.0, 1.0))
    )
    counted = SummedNoise(tuple(_weighted(part, way) for part, way in numbers)).deviation ** 2
    if own <= _WORTH_COUNTING * (own + counted):
        return list(parts)
    into_t, into_v = own / (own + counted), (both - less) / 4 / (own + counted)
    corrected = [replace(part, into_v=(1.0, -into_v), into_t=(0.0, 1.0 - into_t)) for part in parts]
    counting = [
        replace(part, into_v=(into_v * v, into_v * t), into_t=(into_t * v, into_t * t))
        for part, (v, t) in numbers
    ]
    return corrected + counting


def combined_mean(bounds: Bounds, parts: Sequence[Part], *, counts: bool = True) -> CombinedMean:
    epsilon, adjacency = _promised(parts)
    return CombinedMean(bounds, epsilon, adjacency, False, tuple(parts), counts)  # noqa: FBT003


def combined_sum(bounds: Bounds, parts: Sequence[Part], ways: Sequence[Way]) -> CombinedSum:
    epsilon, adjacency = _promised(parts)
    return CombinedSum(bounds, epsilon, adjacency, False, tuple(parts), tuple(ways))  # noqa: FBT003


def added(
    mechanisms: Sequence[Mechanism], sizes: Sequence[int], *, of_sums: bool, counts: bool = True
) -> Combined | None:
    """What reads the integers of all of them, about disjoint cases, as one function of all cases.

    `sizes` are how many integers each has; None if what one of them released does not add up.
    """
    parts: list[Part] = []
    ways: list[Way] = []
    for mechanism, size in zip(mechanisms, sizes, strict=True):
        if isinstance(mechanism, Combined):
            parts.extend(mechanism.parts)
            ways.extend(mechanism.ways if isinstance(mechanism, CombinedSum) else ())
        elif mechanism.pair_noise is None:
            return None
        else:
            parts.append(Part(mechanism, size))
            ways.extend([mechanism.as_sum] if of_sums else ())
    bounds = mechanisms[0].bounds
    if of_sums:
        return combined_sum(bounds, parts, ways)
    return combined_mean(bounds, parts, counts=counts)


def _promised(parts: Sequence[Part]) -> tuple[Fraction, Adjacency]:
    """The largest ε of a part: of disjoint cases, each is in one."""
    epsilon = max(part.mechanism.epsilon for part in parts)
    return epsilon, parts[0].mechanism.adjacency


def levels_together(draws: Sequence[Collection[Hashable]], confidence: float) -> list[float]:
    """The confidence of each of several intervals at which all of them hold with this one.

    `draws` are those that each comes from. Intervals that share a draw, directly or through others,
    may miss together in any way: they divide what they may miss (the union bound). Those that
    share none are independent: all of c parts hold as often as the product of theirs, so that each
    part has the c-th root.

    >>> [round(level, 4) for level in levels_together([{1}, {2}, {2, 3}], 0.95)]
    [0.9747, 0.9873, 0.9873]
    """
    parts, first_with = list(range(len(draws))), dict[Hashable, int]()

    def part_of(index: int) -> int:
        while parts[index] != index:
            index = parts[index]
        return index

    for index, own in enumerate(draws):
        for draw in own:
            parts[part_of(index)] = part_of(first_with.setdefault(draw, index))
    sizes = Counter(map(part_of, range(len(draws))))
    rarely = 1 - confidence ** (1 / len(sizes))
    return [1 - rarely / sizes[part_of(index)] for index in range(len(draws))]


# --- two figures compared -------------------------------------------------------------

Range = tuple[float, float]
_DUST = 1e-12


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A figure, its interval, and where it can lie at all.

    It may lie so far `below` that, and `above`, for reasons that are no noise. `adds` if that is so
    of its whole interval.
    """

    value: float
    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf
    below: float = 0.0
    above: float = 0.0
    adds: bool = False

    @property
    def down(self) -> _Reach:
        return _Reach(
            max(self.value - self.low, 0.0),
            self.adds or self.low <= self.least + self._dust,
            self.below,
        )

    @property
    def up(self) -> _Reach:
        return _Reach(
            max(self.high - self.value, 0.0),
            self.adds or self.high >= self.most - self._dust,
            self.above,
        )

    @property
    def _dust(self) -> float:
        ends = (abs(end) for end in (self.least, self.most) if math.isfinite(end))
        return _DUST * max(ends, default=0.0)


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far a figure may lie from its value on one side, and whether that must be added."""

    noise: float
    adds: bool
    further: float


def difference(first: Uncertain, second: Uncertain, times: float = 1.0) -> Range:
    """The interval of first − times·second."""
    between = first.value - times * second.value
    return (
        between - _together(first.down, second.up, times),
        between + _together(first.up, second.down, times),
    )


def _together(own: _Reach, other: _Reach, times: float) -> float:
    first, second = own.noise, times * other.noise if times else 0.0
    both = first + second if own.adds or other.adds else math.hypot(first, second)
    return both + own.further + (times * other.further if times else 0.0)


def ratio(first: Uncertain, second: Uncertain) -> Range:
    """The interval of first/second, neither of which can be negative; it may have no upper end.

    With a and b the figures and m, n the distances that count, its ends are the roots r of
    a − r·b = ∓√(m² + (r·n)²), which is a quadratic, or of a − r·b = ∓(m + r·n). Either way they
    are (a² − m²)/p and p/(b² − n²), where p is the larger root times b² − n².
    """
    low, high = 0.0, math.inf
    if first.low > first.below and math.isfinite(second.high):
        a, b = first.value - first.below, second.value + second.above
        m, n = first.down, second.up
        p = _larger(a, m, b, n)
        low = (a - m.noise) * (a + m.noise) / p if p else math.inf
    if second.low > second.below and math.isfinite(first.high):
        a, b = first.value + first.above, second.value - second.below
        m, n = first.up, second.down
        high = _larger(a, m, b, n) / ((b - n.noise) * (b + n.noise))
    return low, high


def _larger(a: float, m: _Reach, b: float, n: _Reach) -> float:
    if m.adds or n.adds:
        return (a + m.noise) * (b + n.noise)
    inner = (a * n.noise) ** 2 + (b * m.noise) ** 2 - (m.noise * n.noise) ** 2
    return a * b + math.sqrt(max(inner, 0.0))  # rounding alone makes it negative


# --- sums, exactly ----------------------------------------------------------------------------


def difference_of_sums(
    first: Mechanism, noisy: Outcome, second: Mechanism, other: Outcome, confidence: float
) -> Range:
    """The interval of the difference of two sums that were released apart."""
    first_sum, terms, rounded = _read(first, noisy)
    second_sum, others, second_rounded = _read(second, other)
    away = SummedNoise((*terms, *others)).quantile(confidence) + rounded + second_rounded
    return first_sum - second_sum - away, first_sum - second_sum + away


def _read(mechanism: Mechanism, noisy: Outcome) -> tuple[float, tuple[Term, ...], float]:
    """A sum as it was released, its noise, and by how much the lattice may have moved it."""
    if isinstance(mechanism, CombinedSum):
        return mechanism.added_up(noisy)
    noise, (of_v, of_t), (v, t) = mechanism.pair_noise, mechanism.as_sum, mechanism.pair(noisy)
    if noise is None:
        raise ValueError("what this mechanism releases is no sum")
    return of_v * v + of_t * t, ((noise, of_v, of_t),), mechanism.sum_rounding(noisy)
