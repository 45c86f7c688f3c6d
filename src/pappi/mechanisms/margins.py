"""Margins: by how many cases a target is met or missed.

Whether a target is met is the sign of a sum over the cases, M = offset + Σ cᵢ, at least 0 if
it is met (for cases clipped to their bounds and put on the lattice). For a limit T that the
value should not exceed:

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

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable
from pappi.mechanisms.lattice import RANGE_STEPS, Lattice, total
from pappi.mechanisms.mechanism import Limit, SumRatio, Values, quantile_level
from pappi.mechanisms.prediction import EVENLY_BETWEEN
from pappi.values import Adjacency, Bounds

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
