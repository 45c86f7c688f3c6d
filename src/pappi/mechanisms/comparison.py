"""Two figures compared: the interval of their difference, and of their ratio.

Both have noise of their own, drawn independently: they are of disjoint periods, or of two groups,
each of which has its draw. (The members of one joint draw have not: they cannot be compared so.)

**Sums** are linear in what was released, so the noise of their difference has an exact law: that
of the sum of both noises (`combined`).

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
from dataclasses import dataclass

from pappi.mechanisms.combined import CombinedSum, SummedNoise, Term
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import Mechanism

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
    one, two = own.noise, times * other.noise if times else 0.0
    both = one + two if own.adds or other.adds else math.hypot(one, two)
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
    one, terms, rounded = _read(first, noisy)
    two, others, also = _read(second, other)
    away = SummedNoise((*terms, *others)).quantile(confidence) + rounded + also
    return one - two - away, one - two + away


def _read(mechanism: Mechanism, noisy: Outcome) -> tuple[float, tuple[Term, ...], float]:
    """A sum as it was released, its noise, and by how much the lattice may have moved it."""
    if isinstance(mechanism, CombinedSum):
        return mechanism.added_up(noisy)
    noise, (of_v, of_t), (v, t) = mechanism.pair_noise, mechanism.as_sum, mechanism.pair(noisy)
    if noise is None:
        raise ValueError("what this mechanism releases is no sum")
    return of_v * v + of_t * t, ((noise, of_v, of_t),), mechanism.sum_rounding(noisy)
