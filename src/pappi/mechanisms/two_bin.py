"""Two bins: mean, share and number of cases from one ε, and the ratio of a part to its whole.

Each case, at lattice point k of {0..K}, is divided between two bins: k goes into A and
K − k into B. The mean is L + (U−L)·A/(A+B), the number of cases (A+B)/K.

*add-remove*: one case more or less moves (A, B) by (k, K−k), in total exactly K, wherever
it lies. Noise of scale K/ε on each has loss (k + K−k)/(K/ε) = ε. No ε is split between
sum and count, the number of cases stays private, and no cases at all is nothing special.
A case without a value goes into neither bin: it moves (A, B) by nothing.

*replace*: a replaced case could move (A, B) by 2K. But the number of cases is public:
so A alone is released, which moves by K at most, with noise of scale K/ε, next to that
number. A case without a value counts as the low bound (see `laplace`).

A truth value has K = 1, and the mean is the share of cases for which it holds.

**The estimate** under *add-remove* draws A/(A+B) a little towards the middle. In units of the
noise scale, with a = A⁺, b = B⁺ and s = a + b, it is (a + w)/(s + 2w), w = 3/(1 + s): where
the noise is large the plain quotient errs far more often to the ends than it is right to,
and w ~ 3/s² of bias is below the noise wherever the noise is small.

**A ratio** Σa/Σb where each case's a is a part of its b (`TwoBinRatio`): rejected among
received, returned among released, with 0 ≤ a ≤ b in every case. Each case is divided between
two bins, its part a into A and the rest b − a into B, on lattice integers with b in {0..K}.
The ratio is A/(A+B), the same form as a share.

*add-remove*: one case more or less moves (A, B) by (a, b−a), in total b ≤ K. Noise of
scale K/ε on each has loss at most ε: no ε is split between the two sums.
*replace*: one case leaves and one comes, 2K in total, so the scale is 2K/ε.

That a is a part of b is declared, and enforced: what exceeds its bounds or b is cut off. A case
without a b goes into neither bin; one without an a counts as a = 0.

**The interval** for p = A/(A+B). For the true p, (1−p)A − pB = 0, so T(p) = (1−p)A~ − pB~ is pure
noise, (1−p)X − pY: its law is known. All p whose T(p) is not too large for that law form a
confidence set of true coverage, at any number of cases (Fieller's method, with Laplace noise).

**The tail.** For continuous Laplace X, Y of scale s and weights a > b ≥ 0,
P(|aX + bY| > t) = (a²·e^(−t/as) − b²·e^(−t/bs)) / (a² − b²); for a = b the limit
(1 + t/2as)·e^(−t/as).

**From discrete to continuous, without losing coverage.** Let X, Y be discrete of scale s
and U, U' uniform on (−½, ½), a + b = 1. Then |aX + bY| ≤ |a(X+U) + b(Y+U')| + ½. The
density of X+U is a symmetric staircase, and with q = exp(−1/s), r = 1/(2·tanh(1/2s)) its
tail on [k−½, k+½] is the line q^k·(1 − (t−k)/r) ≤ e^(−k/r)·(1 − (t−k)/r) ≤ e^(−t/r),
as r ≥ s: X+U is more peaked than Laplace of scale r. Both being symmetric and unimodal,
so are their weighted sums (Birnbaum 1948). Hence P(|aX + bY| > t) is at most the
continuous tail with scale r at t − ½.

**Negative sums.** A and B are not negative, so A~ and B~ are first raised to 0. Where that
changes anything it makes |T(p)| smaller for every p: the set only grows. In return T now
has a zero at A~/(A~+B~), the estimate, which is therefore always in the set.

**The set's shape.** The threshold on |T(p)|, as a function of p, is the support function of
a convex body (quantiles of a symmetric log-concave law: Meyer & Reisner 1991, Bobkov
2010), hence convex; T is linear and falling. So {p: T(p) too high} is an interval, and what
it leaves may fall into two pieces, below and above it. We take the hull: it begins at 0 if 0
is accepted, else where that interval stops, which bisection finds. Likewise at the top.

**Coarse noise.** When the noise is only a few lattice steps wide, as for shares at ε ≥ ¼, the
half step is a third of the interval. There the tail P(|(1−p)X − pY| ≥ t) is summed exactly
instead (`raised`). As a function of p that tail jumps, and may accept single points far from
all others (p = ½, say, where many outcomes coincide). So p is not bisected: the stretch
between the end of the wider interval and the estimate is cut into cells, and a cell is
discarded only if *every* p in it is rejected. For p in a cell [u, v] below the estimate,
T(p) ≥ T(v), and noise at p and at u differ by at most (v−u)(|X|+|Y|). So for any D

    P(noise at p ≥ T(p)) ≤ P(noise at u ≥ T(v) − (v−u)·D, |X| ≤ D) + P(|X|+|Y| > D),

and if that is below α, the cell holds no accepted p. Of D steps, P(|X|+|Y| > D) is at most
(1+y)·e^−y with y = (D−1)/scale, because |X| is at most an exponential variable plus ½ (in
law: 2q^k/(1+q) ≤ q^(k−½)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.grids import RANGE_STEPS, Lattice, clamp, total
from pappi.mechanisms.laws import (
    Outcome,
    clamped_error,
    dot,
    half_width_of_two,
    laplace_at_least,
    laplace_deviation,
    laplace_half_width,
    significance,
)
from pappi.mechanisms.mechanism import (
    ALL_BUT_SURE,
    PART_OF_WHOLE,
    Estimate,
    NoisyIntegers,
    Replaced,
    Task,
    Values,
    counted,
)
from pappi.mechanisms.prediction import (
    APART,
    MIDDLE_WHOLE,
    NEAR,
    TRUTHS,
    Beyond,
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    Trial,
    TrialIntervals,
    at_least,
    laplace_beyond,
    noise_grid,
    signal,
)
from pappi.values import (
    CONFIDENCE,
    Adjacency,
    Bounds,
    LaplaceLikelihood,
    Likelihood,
    TwoBinLikelihood,
)

_HALF = Fraction(1, 2)
_DRAWN_IN = 3
_BELOW_ONE = 1 - 1e-12
_STEEPEST = 300.0

# Laplace noise of scale 1 on a grid fine enough to predict errors within about 1 %.
_NOISE = np.arange(-16, 16.25, 0.25)
_WEIGHT = np.exp(-np.abs(_NOISE)) / np.exp(-np.abs(_NOISE)).sum()


@dataclass(frozen=True, slots=True)
class LaplacePair:
    """Noise on two bins: v is their difference and t their sum, in units of so many steps.

    Not on `both`, it is that of v alone, and t is public.
    """

    of_bin: Fraction
    unit: float
    both: bool = True

    @property
    def on_lattice(self) -> bool:
        return True

    def _weights(self, of_v: float, of_t: float) -> tuple[float, ...]:
        """Of each bin."""
        return (
            (self.unit * (of_v + of_t), self.unit * (of_t - of_v))
            if self.both
            else (self.unit * of_v,)
        )

    def spectrum(self, of_v: float, of_t: float, frequencies: Floats) -> Floats:
        """Of discrete Laplace noise: sinh²(1/2s) / (sinh²(1/2s) + sin²(ω/2))."""
        height = math.sinh(min(float(1 / self.of_bin) / 2, _STEEPEST)) ** 2
        product = np.ones_like(frequencies)
        for weight in self._weights(of_v, of_t):
            product *= height / (height + np.sin(frequencies * weight / 2) ** 2)
        return product

    def variance(self, of_v: float, of_t: float) -> float:
        of_one_bin = laplace_deviation(self.of_bin) ** 2
        return of_one_bin * sum(weight**2 for weight in self._weights(of_v, of_t))

    def scale(self, of_v: float, of_t: float) -> float:
        return float(self.of_bin) * max(map(abs, self._weights(of_v, of_t)))


@dataclass(frozen=True, slots=True)
class TwoBin(NoisyIntegers):
    """The mean of the clipped values."""

    name: ClassVar[str] = "two-bin"
    functions: ClassVar[tuple[str, ...]] = ("mean", "share")

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def sensitivity(self) -> int:
        """Of both bins together."""
        return self.lattice.span

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return (self.scale, None if self.adjacency is Adjacency.REPLACE else self.scale)

    def statistics(self, values: Values) -> Outcome:
        lattice = self.lattice
        points = lattice.snap(values)
        first = total(points)
        if self.adjacency is Adjacency.REPLACE:
            return first, len(values)
        return first, lattice.span * len(points) - first

    def estimate(self, noisy: Outcome) -> Estimate:
        mean, span = self._mean(self._share(noisy)), self.lattice.span
        if self.adjacency is Adjacency.REPLACE:
            return counted(mean, float(noisy[1]), lambda _: 0.0)
        return counted(
            mean,
            (noisy[0] + noisy[1]) / span,
            lambda confidence: half_width_of_two(self.scale, confidence) / span,
        )

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        ends, (first, second) = self.ends, noisy
        if self.adjacency is Adjacency.ADD_REMOVE:
            return TwoBinLikelihood(float(first / self.scale), float(second / self.scale), *ends)
        lattice, cases = self.lattice, second
        if not cases:
            return None
        at = lattice.origin + lattice.step * first / cases
        return LaplaceLikelihood(float(at), float(lattice.step * self.scale / cases), *ends)

    @property
    def pair_noise(self) -> LaplacePair:
        both = self.adjacency is Adjacency.ADD_REMOVE
        step = 1.0 if both else 2.0
        return LaplacePair(self.scale, step / self.lattice.span, both=both)

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        (first, second), span = noisy, self.lattice.span
        if self.adjacency is Adjacency.REPLACE:
            return 2 * first / span - second, float(second)
        return (first - second) / span, (first + second) / span

    @property
    def as_sum(self) -> tuple[float, float]:
        low, high = self.ends
        return (high - low) / 2, (high + low) / 2

    def sum_rounding(self, noisy: Outcome) -> float:
        return self.lattice.rounding * max(self.pair(noisy)[1], 0.0)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the mean of the clipped values; holds the estimate, and rounding is included."""
        first, second = noisy
        if self.adjacency is Adjacency.ADD_REMOVE:
            low, high = share_interval(first, second, self.scale, confidence)
            estimate = float(self._share(noisy))
            low, high = min(low, estimate), max(high, estimate)
        elif most := self.lattice.span * second:
            width = laplace_half_width(self.scale, confidence)
            low, high = (clamp((first + off) / most, 0.0, 1.0) for off in (-width, width))
        else:
            low, high = 0.0, 1.0
        rounding = self.lattice.rounding
        return self.clamped(self._mean(low) - rounding), self.clamped(self._mean(high) + rounding)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        share = (limit - float(self.bounds.low)) / float(self.bounds.width)
        if self.adjacency is Adjacency.ADD_REMOVE or not 0 <= share < 1:
            return share_chance(noisy[0], noisy[1], self.scale, share)
        first, cases = noisy
        return laplace_at_least(first - share * self.lattice.span * cases, self.scale)

    def predicted_error(self, cases: float, at: float | None) -> float:
        width = float(self.bounds.width)
        share = 0.5 if at is None else clamp((at - float(self.bounds.low)) / width, 0.0, 1.0)
        noise = laplace_deviation(self.scale) / self.lattice.span
        if self.adjacency is Adjacency.ADD_REMOVE:
            return width * share_error(share, max(cases, 0.0), noise)
        if cases <= 0:
            return width * abs(share - 0.5)
        return width * clamped_error(noise / cases, share, 1 - share)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        span, width = self.lattice.span, float(self.bounds.width)
        if self.adjacency is Adjacency.REPLACE:
            return ErrorLaw(laplace_beyond(self.scale, width / (span * cases), width))
        share = bins_anywhere(span * cases, self.scale)
        return ErrorLaw(lambda t: share(t / width))

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        low, width = float(self.bounds.low), float(self.bounds.width)
        share = (scenario.value - low) / width
        cases = scenario.cases * signal(self.lattice.span, self.scale)
        if self.adjacency is Adjacency.REPLACE:
            return low + width * np.clip(share + chances.laplace() / cases, 0.0, 1.0)
        first, second = chances.laplace(0), chances.laplace(1)
        return low + width * drawn_in_shares(cases * share + first, cases * (1 - share) + second)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:
        (start, width), span = (float(self.bounds.low), float(self.bounds.width)), self.lattice.span
        slack, chances = self.lattice.rounding / width, Chances(0)
        at, shares = (limit - start) / width, (trial.values[:, None] - start) / width
        first = span * trial.cases * shares + chances.whole_laplace(self.scale, 0)
        if self.adjacency is Adjacency.REPLACE:
            most, away = span * trial.cases, laplace_half_width(self.scale, CONFIDENCE)
            low, high = (first - away) / most, (first + away) / most
            empty = np.zeros_like(first, np.bool_)
        else:
            second = span * trial.cases * (1 - shares) + chances.whole_laplace(self.scale, 1)
            a, b = np.maximum(first, 0.0), np.maximum(second, 0.0)
            down, up, end = (
                share_reach(clamp(p, 0.0, 1.0), self.scale, CONFIDENCE)
                for p in (at + slack, at - slack, 1.0)
            )
            both = np.maximum(a + b, 1e-9)
            # An interval that may hold an end of the bounds holds everything up to there.
            low = np.where(a > end, a - down, 0.0) / both
            high = np.where(b > end, a + up, both) / both
            estimate = drawn_in_shares(first / float(self.scale), second / float(self.scale))
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
            empty = first + second <= half_width_of_two(self.scale, ALL_BUT_SURE)
        low, high = np.clip(low - slack, 0.0, 1.0), np.clip(high + slack, 0.0, 1.0)
        return TrialIntervals(start + width * low, start + width * high, empty)

    def _share(self, noisy: Outcome) -> Fraction:
        """How far up the range the mean lies, from 0 to 1; the middle if nothing is known."""
        if self.adjacency is Adjacency.REPLACE:
            most = self.lattice.span * noisy[1]
            return Fraction(min(max(noisy[0], 0), most), most) if most else _HALF
        return drawn_in(noisy, self.scale)

    def _mean(self, share: float | Fraction) -> float:
        return float(self.bounds.low + self.bounds.width * Fraction(share))


def drawn_in(noisy: Outcome, scale: Fraction) -> Fraction:
    """A/(A+B), drawn towards the middle where the noise is large."""
    first, second = (max(number, 0) for number in noisy)
    both, square = first + second, _DRAWN_IN * scale * scale
    spread = scale + both
    return (first * spread + square) / (both * spread + 2 * square)


def drawn_in_shares(first: Floats, second: Floats) -> Floats:
    """The same for arrays of noisy sums in units of the noise scale, for predictions."""
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    both = first + second
    towards = _DRAWN_IN / (1 + both)
    return np.asarray((first + towards) / (both + 2 * towards))


def drawn_in_share(first: float, second: float) -> float:
    """The same of one release: an array of one takes long, and there are thousands."""
    first, second = max(first, 0.0), max(second, 0.0)
    both = first + second
    towards = _DRAWN_IN / (1 + both)
    return (first + towards) / (both + 2 * towards)


@lru_cache(maxsize=4096)
def share_error(share: float, cases: float, noise: float) -> float:
    """Root mean square error of the estimate, by summing over a grid of both noises."""
    if noise <= 0:
        return 0.0
    scale = max(noise / math.sqrt(2), 1e-9 * max(cases, 1.0))  # below, the error is nothing
    first = (cases * share / scale + _NOISE)[:, np.newaxis]
    guess = drawn_in_shares(first, cases * (1 - share) / scale + _NOISE)
    return float(np.sqrt(dot(dot(_WEIGHT, (guess - share) ** 2), _WEIGHT)))


@dataclass(frozen=True, slots=True, eq=False)
class TwoNoisyBins:
    """Two sums with independent discrete Laplace noise, and the share that is estimated.

    Several truths at once: each of `firsts`, of one `whole`. The estimate (`drawn_in`)
    rises with the first sum a for every second sum b. So "above p" is "a above some a*", and
    P(a > a*) is known exactly. In units of the scale, a* solves
    (1−p)·a² + (1 − p + b − 2pb)·a + w − p(b² + b + 2w) = 0, w = 3: it has one positive root if the
    constant is negative, and none otherwise, when the estimate is above p for every a.
    """

    firsts: Floats
    whole: int
    scale: Fraction

    def beyond(self, distance: float) -> Floats:
        """How often the share is off by more, for each truth."""
        shares = self.firsts / self.whole
        above, below = shares + distance, shares - distance
        over = np.where(above < 1, self._over(np.minimum(above, _BELOW_ONE)), 0.0)
        # At distance 0 "below the share" may mean "below 1", where no root is.
        under = np.where(below > 0, 1 - self._over(np.clip(below, 0.0, _BELOW_ONE)), 0.0)
        return np.asarray(np.minimum(over + under, 1.0))

    def _over(self, shares: Floats) -> Floats:
        """P(estimate > p) at each truth's own p < 1: a mean over the outcomes of the second sum."""
        noise, weights = noise_grid(self.scale)
        s, p = float(self.scale), shares[:, np.newaxis]
        b = np.maximum((self.whole - self.firsts)[:, np.newaxis] + noise, 0.0) / s
        linear, constant = 1 - p + b - 2 * p * b, _DRAWN_IN - p * (b * b + b + 2 * _DRAWN_IN)
        root = np.sqrt(np.maximum(linear * linear - 4 * (1 - p) * constant, 0.0)) - linear
        border = s * root / (2 * (1 - p)) - self.firsts[:, np.newaxis]
        over = at_least(np.floor(border * (1 + 1e-12)) + 1, s)
        # Where the constant is not negative, the estimate is above p whatever the first sum.
        return dot(np.where(constant < 0, over, 1.0), weights)


@lru_cache(maxsize=64)
def bins_anywhere(whole: int, scale: Fraction) -> Beyond:
    """Of the share, at the truth for which it is worst; the bins are alike, so in the lower half.

    It is worst a little above the margin from an end, where errors go to both sides and the
    other bin adds least: the truths lie closest there. Kept, as the PPIs of a catalogue often
    share cases and epsilon.
    """
    s, half = float(scale), whole / 2
    near = np.arange(0.0, min(half, NEAR * s), APART * s)
    # Each once; `np.unique` would load numpy's masked arrays into every preview.
    firsts_tried = np.rint(np.concatenate((near, np.linspace(0.0, half, TRUTHS))))
    firsts = np.array(sorted(set(firsts_tried.tolist())))
    bins = TwoNoisyBins(firsts, whole, scale)
    return lru_cache(maxsize=256)(lambda t: float(bins.beyond(t).max()))


# --- a part and its whole -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TwoBinRatio(NoisyIntegers):
    """`factor` times Σa/Σb. Values are rows (a, b): `bounds` are those of b, `part` those of a."""

    name: ClassVar[str] = "two-bin"
    functions: ClassVar[tuple[str, ...]] = (PART_OF_WHOLE,)
    replaced: ClassVar[Replaced] = Replaced.GROUP

    factor: Fraction
    part: Bounds

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.ratio is None:
            raise NotReleasable("only a ratio has a part and a whole")
        return cls(*task.common, task.ratio.factor, task.ratio.part)

    def __post_init__(self) -> None:
        super(TwoBinRatio, self).__post_init__()
        if self.bounds.low < 0:
            raise NotReleasable("the whole of a ratio must not be negative")

    @property
    def width(self) -> int:
        return 2

    @property
    def lattice(self) -> Lattice:
        """From zero up, because a part may be nothing where its whole may not."""
        from_zero = Bounds(Fraction(0), self.bounds.high)
        return Lattice.through_zero(from_zero, integral=self.integral)

    @property
    def sensitivity(self) -> int:
        """Of both bins together."""
        cases = 2 if self.adjacency is Adjacency.REPLACE else 1
        return cases * self.lattice.highest

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return self.scale, self.scale

    def statistics(self, values: Values) -> Outcome:
        rows = values.reshape(-1, self.width)
        rows = rows[~np.isnan(rows[:, 1])]
        least, most = float(self.bounds.low), float(self.bounds.high)
        wholes = self.lattice.snap(np.clip(rows[:, 1], least, most))
        within = np.clip(rows[:, 0], float(self.part.low), float(self.part.high))
        parts = self.lattice.snap(np.where(np.isnan(within), 0.0, within))
        first = total(np.clip(parts, 0, wholes))
        return first, total(wholes) - first

    def estimate(self, noisy: Outcome) -> Estimate:
        # No case adds more than the highest point, so there are as many at least.
        reach = half_width_of_two(self.scale, ALL_BUT_SURE)
        least = (noisy[0] + noisy[1] - reach) / self.lattice.highest
        return Estimate(float(self.factor * drawn_in(noisy, self.scale)), least_cases=least)

    def likelihood(self, noisy: Outcome) -> TwoBinLikelihood:
        first, second = (float(number / self.scale) for number in noisy)
        return TwoBinLikelihood(first, second, 0.0, float(self.factor))

    @property
    def pair_noise(self) -> LaplacePair:
        return LaplacePair(self.scale, 1.0 / self.lattice.highest)

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        """In as many cases as would have the whole at its high bound."""
        (first, second), highest = noisy, self.lattice.highest
        return (first - second) / highest, (first + second) / highest

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the ratio of the clipped sums; the lattice is too fine to matter beside the noise."""
        low, high = share_interval(noisy[0], noisy[1], self.scale, confidence)
        estimate = float(drawn_in(noisy, self.scale))
        low, high = min(low, estimate), max(high, estimate)
        ends = float(self.factor) * low, float(self.factor) * high
        return min(ends), max(ends)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        share = limit / float(self.factor)
        below = share_chance(noisy[0], noisy[1], self.scale, share)
        return below if self.factor > 0 else 1 - below

    def predicted_error(self, cases: float, at: float | None) -> float:
        share = 0.5 if at is None else clamp(at / float(self.factor), 0.0, 1.0)
        usual = float((self.bounds.low + self.bounds.high) / 2 / self.bounds.high)
        noise = laplace_deviation(self.scale) / self.lattice.highest
        return abs(float(self.factor)) * share_error(share, max(cases, 0.0) * usual, noise)

    @property
    def output_range(self) -> tuple[float, float]:
        ends = 0.0, float(self.factor)
        return min(ends), max(ends)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - worst wherever it lies
        """Of a whole where cases in the middle of their bounds have it, and of any part of it."""
        usual = (self.bounds.low + self.bounds.high) / 2 / self.bounds.high
        whole = max(round(cases * usual * self.lattice.highest), 1)
        share, factor = bins_anywhere(whole, self.scale), abs(float(self.factor))
        return ErrorLaw(lambda t: share(t / factor), MIDDLE_WHOLE)

    def value_in(self, inputs: tuple[float, ...]) -> float | None:  # noqa: ARG002 - a part is taken to be half of its whole
        return float(self.factor) / 2

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        wholes = scenario.inputs[1] / float(self.bounds.high)
        half = wholes / 2 * signal(self.lattice.highest, self.scale)
        shares = drawn_in_shares(half + chances.laplace(0), half + chances.laplace(1))
        return float(self.factor) * shares


# --- the interval ---------------------------------------------------------------------

RatioTail = Callable[[float, float], float]
"""P(|X − ρY| > t), of t and ρ, for the noises X and Y of two sums."""

_HALVINGS = 30  # to a billionth of the range, and always outwards
_NEARLY_EQUAL = 1e-5  # closer weights cancel; the tail is even in their difference

COARSE_NOISE = Fraction(4)
"""The largest noise scale, in lattice steps, for which the exact sum is worth its time."""

_CELLS = 64
_REACH = 14  # noise scales; beyond, the remaining probability is 1.3e-5


def share_interval(
    first: int, second: int, scale: Fraction, confidence: float
) -> tuple[float, float]:
    """The hull of all p in [0, 1] compatible with the two noisy sums."""
    a, b = float(max(first, 0)), float(max(second, 0))
    reach, alpha = covering_scale(scale), significance(confidence)

    def accepted(p: float) -> bool:
        return weighted_tail(abs(a - p * (a + b)) - 0.5, 1 - p, p, reach) >= alpha

    low, high = share_hull(a, b, accepted)
    if scale > COARSE_NOISE:
        return low, high
    return raised(low, a, b, scale, alpha), 1 - raised(1 - high, b, a, scale, alpha)


@lru_cache(maxsize=1024)
def share_reach(share: float, scale: Fraction, confidence: float) -> float:
    """How far A − p(A + B) is off at most for a share p that is accepted: nearly, if coarse."""
    alpha, covering = significance(confidence), covering_scale(scale)
    farthest = math.ceil(_REACH * scale) + 1

    def accepted(off: float) -> bool:
        if weighted_tail(off - 0.5, 1 - share, share, covering) < alpha:
            return False
        exactly = (np.array([off]), np.array([share]), float(scale), farthest)
        return scale > COARSE_NOISE or bool(_tail(*exactly)[0] >= alpha)

    low, high = 0.0, 1.0
    while accepted(high):
        low, high = high, 2 * high
    return _border(high, low, accepted)


def share_hull(a: float, b: float, accepted: Callable[[float], bool]) -> tuple[float, float]:
    """The hull of the accepted shares, for noisy sums that are not negative."""
    estimate = a / (a + b) if a + b else 0.5
    low = 0.0 if accepted(0.0) else _border(0.0, estimate, accepted)
    high = 1.0 if accepted(1.0) else _border(1.0, estimate, accepted)
    return low, high


def ratio_interval(
    first: float, second: float, alpha: float, tail: RatioTail, ends: tuple[float, float]
) -> tuple[float, float]:
    """The hull, within `ends`, of all ratios ρ of two noisy sums, the second one above 0.

    As for shares: for the true ρ, A~ − ρB~ is pure noise, X − ρY, whose tail is `tail`.
    """

    def accepted(rho: float) -> bool:
        return tail(abs(first - rho * second), rho) >= alpha

    estimate = min(max(first / second, ends[0]), ends[1])
    if not accepted(estimate):
        return estimate, estimate
    low, high = ends
    return (
        low if accepted(low) else _border(low, estimate, accepted),
        high if accepted(high) else _border(high, estimate, accepted),
    )


def share_chance(first: int, second: int, scale: Fraction, share: float) -> float:
    """How sure one may be that p ≤ share: see `Mechanism.chance_at_most`.

    If p were above the share, T(share) would be positive noise on top of a positive number.
    So a T(share) far below zero speaks against it, as often as noise gets that far.
    """
    if not 0 <= share < 1:
        return float(share >= 1)
    a, b = max(first, 0), max(second, 0)
    off = (1 - share) * a - share * b
    rarely = weighted_tail(abs(off) - 0.5, 1 - share, share, covering_scale(scale)) / 2
    return 1 - rarely if off < 0 else rarely


def covering_scale(scale: Fraction) -> float:
    """The scale r of the continuous Laplace law that discrete noise plus U is more peaked than."""
    return 0.5 / math.tanh(float(1 / scale) / 2)


def weighted_tail(t: float, a: float, b: float, scale: float) -> float:
    """P(|aX + bY| > t) for independent continuous Laplace X, Y of the given scale; a, b ≥ 0."""
    if t <= 0:
        return 1.0
    small, large = min(a, b), max(a, b)
    if large - small < _NEARLY_EQUAL * (a + b):
        x = t / ((a + b) / 2 * scale)
        return (1 + x / 2) * math.exp(-x)
    decay = math.exp(-t / (large * scale))
    faster = small**2 * math.exp(-t / (small * scale)) if small > 0 else 0.0
    return (large**2 * decay - faster) / (large**2 - small**2)


def _border(rejected: float, accepted: float, accepts: Callable[[float], bool]) -> float:
    """Where acceptance begins between two points, told from the rejected side."""
    for _ in range(_HALVINGS):
        middle = (rejected + accepted) / 2
        if accepts(middle):
            accepted = middle
        else:
            rejected = middle
    return rejected


# --- coarse noise ---------------------------------------------------------------------


def raised(low: float, first: float, second: float, scale: Fraction, alpha: float) -> float:
    """The low end of an interval, raised past all cells in which every share is rejected.

    `first` and `second` are the noisy sums, not negative. The high end is the low end
    with their roles exchanged.
    """
    estimate = first / (first + second) if first + second else 0.5
    farthest = math.ceil(_REACH * scale) + 1
    edges = np.linspace(low, estimate, _CELLS + 1)
    slack = (estimate - low) / _CELLS * farthest
    offset = first - edges[1:] * (first + second) - slack
    possible = _tail(offset, edges[:-1], float(scale), farthest) >= alpha
    possible[-1] = True  # it ends at the estimate
    return float(edges[np.argmax(possible)])


def _tail(t: Floats, p: Floats, scale: float, farthest: int) -> Floats:
    """At least P(|(1−p)X − pY| ≥ t, |X| ≤ farthest) + P(|X|+|Y| > farthest), for each t and p."""
    x = np.arange(-farthest, farthest + 1)
    mass = math.tanh(0.5 / scale) * np.exp(-np.abs(x) / scale)
    shift, weight = np.outer(1 - p, x), np.maximum(p, 1e-9)[:, np.newaxis]
    above = at_least(np.ceil((t[:, np.newaxis] + shift) / weight), scale)
    below = at_least(np.ceil((t[:, np.newaxis] - shift) / weight), scale)
    y = (farthest - 1) / scale
    rest = (1 + y) * math.exp(-y)
    return np.where(t > 0, dot(above + below, mass), 1.0) + rest
