"""Public grids over bounds: lattices, on which values become whole numbers, and bins to count in.

**Lattices.** Values become whole numbers before anything else is done with them. A case's value is
mapped to an integer k between public limits; sums of integers are exact, whatever their order, and
integer noise leaves no trace in low bits.

Any deterministic map of *one case's* value into {lowest..highest} is private to
build on: sensitivity is then a statement about those integers, whatever the
rounding did. So the map may use floats. It is total: infinities and outliers end
at the limits (this is the clipping), and NaN, a case without a value, gives none.

A `Lattice` is uniform. Where bounds are loose, or nothing is known but what a machine can
hold, most of it lies where no value ever is: a `GeometricGrid` gives every octave as many
points as any other, so a value is told to within a fixed percentage, whatever its size. Both
are public facts: they follow from declared bounds alone.

**Bins**, and all that noisy counts of them tell: quantiles, shares, a mean.

*Quantiles* of level a. With n values, B(e) of them at most e, put D(e) = B(e) − a·n, which
never falls as e rises. All a-quantiles are at most e if D(e) > 0, and above e if D(e) < 0: this is
the convention of `ppinot.aggregate`, ties and midpoints included. The released D̂(e) has the noise
(1−a)·Σ below − a·Σ above. The upper end of the interval: from the top edge inwards, D(e) ≤ 0 is
rejected while D̂(e) is larger than that noise is in 2.5 % of all cases. The first edge of
which D ≤ 0 is true is a matter of the data, not of the noise, so that some true one is rejected
in at most 2.5 %, however many edges were tried. The lower end likewise. So the interval holds
with 95 % or more *for any data*; it ends at edges, and covers whole bins.

*Shares and means* s are read off Σ(wᵢ − s)·yᵢ, which is noise alone at the true s (Fieller).

*The noise* of weighted counts, Σ wᵢZᵢ, is symmetric, and its characteristic function is a product
of known ones. Its tail is inverted from that by Davies' sum (1973), never by a normal
approximation, and rounded up: a little smoothing makes the sum finite, and is paid for.

Only `snap` and `Bins.count` see cases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms.laws import dot, laplace_deviation, significance
from pappi.values import CONFIDENCE, Bounds

RANGE_STEPS = 2**20
"""Steps over a range: finer than any noise worth releasing, and a mean is off by half a step."""

SUM_STEPS = 2**40
"""Steps for sums, whose rounding errors add up: half a step for each of 2^30 cases is 2^-11."""

MOST_CASES = 2**30
"""The most cases for which the stated interval of a sum of unknown length covers rounding."""

_CHUNK = 2**21  # |k| ≤ 2^41 always, so the sum of a chunk is at most 2^62 and fits in int64


@dataclass(frozen=True, slots=True)
class Lattice:
    """The values origin + k·step, for whole k from `lowest` to `highest`."""

    origin: Fraction
    step: Fraction
    lowest: int
    highest: int
    exact: bool

    @classmethod
    @lru_cache(maxsize=1024)
    def over(cls, bounds: Bounds, steps: int, *, integral: bool) -> Lattice:
        """k = 0 at the low bound: for values that are counted or compared.

        >>> Lattice.over(Bounds(Fraction(2), Fraction(5)), RANGE_STEPS, integral=True).highest
        3
        """
        if _whole(bounds, integral=integral):
            return cls(bounds.low, Fraction(1), 0, int(bounds.width), exact=True)
        return cls(bounds.low, bounds.width / steps, 0, steps, exact=False)

    @classmethod
    @lru_cache(maxsize=1024)
    def through_zero(cls, bounds: Bounds, *, integral: bool) -> Lattice:
        """k = 0 at zero: for sums over a private number of cases."""
        if _whole(bounds, integral=integral):
            return cls(Fraction(0), Fraction(1), int(bounds.low), int(bounds.high), exact=True)
        step = bounds.magnitude / SUM_STEPS
        lowest, highest = round(bounds.low / step), round(bounds.high / step)
        return cls(Fraction(0), step, lowest, highest, exact=False)

    @property
    def span(self) -> int:
        """The sensitivity of k, and of a sum of k, to one case being replaced."""
        return self.highest - self.lowest

    @property
    def largest(self) -> int:
        """The sensitivity of a sum of k to one case more or less."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def rounding(self) -> float:
        """The most by which one value inside the bounds differs from its lattice point."""
        return 0.0 if self.exact else float(self.step / 2)

    def snap(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The lattice points of the values that are there; the rest (NaN) is left out."""
        missing, step = np.isnan(values), float(self.step)
        present = values[~missing] if missing.any() else values
        with np.errstate(all="ignore"):  # far outliers overflow to infinity, and are clipped
            points = present - float(self.origin)
            points /= step
        np.rint(points, out=points)
        if not step:  # too small for a float; zero by zero is any fixed point
            points[np.isnan(points)] = self.lowest
        return np.clip(points, self.lowest, self.highest, out=points).astype(np.int64)

    def value(self, k: float | Fraction) -> float:
        """What a lattice point stands for; it need not lie inside the limits."""
        return float(self.origin + self.step * Fraction(k))

    def cell(self, k: float | Fraction) -> tuple[float, float]:
        """The values that go to a lattice point."""
        return self.value(k) - self.rounding, self.value(k) + self.rounding


def total(points: NDArray[np.int64]) -> int:
    """The exact sum, for any number of points."""
    return sum(int(points[i : i + _CHUNK].sum()) for i in range(0, len(points), _CHUNK))


def _whole(bounds: Bounds, *, integral: bool) -> bool:
    """Whether whole-numbered values can keep a step of exactly 1."""
    whole = bounds.low.denominator == bounds.high.denominator == 1
    return integral and whole and bounds.magnitude <= SUM_STEPS


OCTAVES_OF_LOOSE_BOUNDS = 10
"""Loose bounds may be a thousand times too wide."""

UNUSED_OCTAVES = 4
LOOSE_FILL = Fraction(1, 2**UNUSED_OCTAVES)
"""For predicted errors only: how much of loose bounds values are taken to fill."""


@dataclass(frozen=True, slots=True)
class GeometricGrid:
    """The points low + width·2^(−j/steps), from j = octaves·steps down to 0; k counts upwards."""

    bounds: Bounds
    octaves: int
    steps: int

    @property
    def lowest(self) -> int:
        return 0

    @property
    def highest(self) -> int:
        return self.octaves * self.steps

    @property
    def points(self) -> NDArray[np.float64]:
        return _points(self)

    def exact(self, k: int) -> Fraction:
        """The k-th point; roots of two are rounded to 2^-20, once for all machines."""
        octaves, part = divmod(self.highest - k, self.steps)
        root = Fraction(round(2 ** (20 - part / self.steps)), 2**20)
        share: Fraction = root / 2**octaves
        return self.bounds.low + self.bounds.width * share

    def snap(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The nearest point of each value that is there, by whole and half points."""
        present = values[~np.isnan(values)]
        return np.searchsorted(self._borders, present, side="left").astype(np.int64)

    def value(self, k: float | Fraction) -> float:
        return float(self.points[min(max(round(k), 0), self.highest)])

    def cell(self, k: float | Fraction) -> tuple[float, float]:
        """The values that go to a point."""
        index = min(max(round(k), 0), self.highest)
        borders = (float(self.bounds.low), *self._borders.tolist(), float(self.bounds.high))
        return borders[index], borders[index + 1]

    @property
    def _borders(self) -> NDArray[np.float64]:
        return (self.points[1:] + self.points[:-1]) / 2


@lru_cache(maxsize=256)
def _points(grid: GeometricGrid) -> NDArray[np.float64]:
    points = np.array([float(grid.exact(k)) for k in range(grid.highest + 1)])
    points.setflags(write=False)
    return points


Floats = NDArray[np.float64]

MOST_BINS = 64
"""That are shown: of the analyst's own limits, of whole numbers, of a distribution."""

_USUAL_BINS = 32
BinsBelow = tuple[tuple[float, int], ...]
"""Below so many cases per unit of noise, so many bins."""

USUALLY: BinsBelow = ((46.0, 16), (260.0, 32), (736.0, 64), (2_080.0, 128), (5_880.0, 256))
FOR_EVEN_VALUES: BinsBelow = ((46.0, 16), (130.0, 32), (368.0, 64), (1_040.0, 128), (2_940.0, 256))
"""Where half as many bins make the interval of a median of evenly spread values wider by their
width as they make it narrower by having less noise: both fall alike with bins^(3/2). Usually fewer
cases lie close to a percentile, so that noise counts for more, and the value errs less by √2."""
FINEST = 512

_OCTAVES = 8
_FAR_APART = 16
"""Bounds that lie so many times apart allow geometric bins."""


# --- bins -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bins:
    """Public bins over bounds. Each includes its upper end; the first one its lower end, too.

    `written` says all there is to know beside the bounds, and must never change its meaning: it is
    part of the question that a release is on record for.
    """

    bounds: Bounds
    limits: tuple[Fraction, ...]
    """Where one bin ends and the next begins, rising."""
    written: str

    @classmethod
    def even(cls, bounds: Bounds, number: int) -> Bins:
        limits = (bounds.low + bounds.width * Fraction(i, number) for i in range(1, number))
        return cls(bounds, tuple(limits), f"even {number}")

    @classmethod
    def geometric(cls, bounds: Bounds, number: int) -> Bins:
        """From the high bound down, eight octaves or to the low bound; the rest is one bin.

        >>> hour = Bins.geometric(Bounds(Fraction(0), Fraction(64)), 16)
        >>> [float(limit) for limit in hour.limits[-4:]]
        [16.0, 22.627410888671875, 32.0, 45.25482177734375]
        """
        octaves = float(_OCTAVES)
        if bounds.low > 0:
            octaves = min(octaves, math.log2(bounds.high / bounds.low))
        # Rounded to 2^-20 of its octave, once for all machines.
        limits = []
        for step in range(number - 1, 0, -1):
            whole, part = divmod(step * octaves / number, 1)
            limits.append(bounds.high * Fraction(round(2 ** (20 - part)), 2 ** (20 + int(whole))))
        return cls(bounds, tuple(limits), f"geometric {number}")

    @classmethod
    def whole(cls, bounds: Bounds) -> Bins:
        """One for each whole number."""
        numbers = range(math.ceil(bounds.low), math.ceil(bounds.high))
        return cls(bounds, tuple(map(Fraction, numbers)), "whole")

    @classmethod
    def at(cls, bounds: Bounds, limits: Sequence[Fraction]) -> Bins:
        """The analyst's own; those outside the bounds tell nothing."""
        bins = cls.within(bounds, limits)
        if bins is None:
            raise NotReleasable(
                "none of the limits lies within the bounds",
                hint="name limits between the bounds, or leave them out",
            )
        if bins.number > MOST_BINS:
            raise NotReleasable(
                f"a distribution has at most {MOST_BINS} bins; these limits make {bins.number}",
                hint="name fewer limits",
            )
        return bins

    @classmethod
    def within(cls, bounds: Bounds, limits: Sequence[Fraction]) -> Bins | None:
        """Those that these limits make, however many; None if all of them lie outside the bounds.

        >>> fine = Bins.even(Bounds(Fraction(0), Fraction(100)), 512)
        >>> Bins.within(Bounds(Fraction(0), Fraction(50)), fine.limits).number
        256
        """
        own = tuple(sorted({limit for limit in limits if bounds.low <= limit < bounds.high}))
        return cls(bounds, own, " ".join(map(str, own))) if own else None

    @classmethod
    def read(cls, written: str, bounds: Bounds) -> Bins:
        """The bins of a question on record.

        >>> day = Bounds(Fraction(0), Fraction(24))
        >>> Bins.read("even 4", day) == Bins.even(day, 4)
        True
        """
        match written.split():
            case ["even", number]:
                return cls.even(bounds, int(number))
            case ["geometric", number]:
                return cls.geometric(bounds, int(number))
            case ["whole"]:
                return cls.whole(bounds)
            case limits:
                return cls.at(bounds, tuple(map(Fraction, limits)))

    @property
    def shown(self) -> Bins:
        """The same if there are not too many to show, or else coarser ones, made of them."""
        kind, *number = self.written.split()
        if self.own or not number or self.number <= MOST_BINS:
            return self
        return Bins.read(f"{kind} {MOST_BINS}", self.bounds)

    @property
    def own(self) -> bool:
        """Whether somebody has named them."""
        return self.written.split()[0] not in ("even", "geometric", "whole")

    @property
    def number(self) -> int:
        return len(self.limits) + 1

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """The bounds and all limits between: one more than there are bins."""
        return (self.bounds.low, *self.limits, self.bounds.high)

    def count(self, values: Floats) -> tuple[int, ...]:
        """How many values lie in each; those beyond the bounds are in the outermost."""
        place = np.searchsorted(_floats(self.limits), values[~np.isnan(values)], side="left")
        return tuple(np.bincount(place, minlength=self.number).tolist())

    def cells(self, *, integral: bool) -> tuple[tuple[float, float], ...]:
        """The smallest and the largest value that each can hold."""
        pairs = pairwise(self.edges)
        if not integral:
            return tuple((float(low), float(high)) for low, high in pairs)
        cells = [(math.floor(low) + 1, math.floor(high)) for low, high in pairs]
        cells[0] = (math.ceil(self.bounds.low), cells[0][1])
        return tuple((float(min(low, high)), float(high)) for low, high in cells)

    def around(self, value: float) -> tuple[int, int]:
        """The last edge that is at most a value, and the first that is at least."""
        edges = _floats(self.edges)
        below = int(np.searchsorted(edges, value, side="right")) - 1
        if below in (-1, self.number):
            return max(below, 0), max(below, 0)
        return below, below if below and edges[below] == value else below + 1


def usual_bins(
    bounds: Bounds,
    *,
    integral: bool,
    skewed: bool,
    signal: float | None,
    below: BinsBelow = USUALLY,
    most: int = FINEST,
) -> Bins:
    """Where nobody names limits: by public facts alone.

    `skewed` values spread over orders of magnitude, as durations do. `signal` is the planned number
    of cases by the scale of the noise.
    """
    if integral and math.floor(bounds.high) - math.ceil(bounds.low) < MOST_BINS:
        return Bins.whole(bounds)
    number = _USUAL_BINS
    if signal is not None:
        number = min(next((bins for cases, bins in below if signal < cases), FINEST), most)
    far_apart = 0 < bounds.low * _FAR_APART <= bounds.high
    if far_apart or (skewed and bounds.low >= 0):
        return Bins.geometric(bounds, number)
    return Bins.even(bounds, number)


@lru_cache(maxsize=1024)
def _floats(numbers: tuple[Fraction, ...]) -> Floats:
    floats = np.array([float(number) for number in numbers])
    floats.setflags(write=False)
    return floats


# --- the noise of weighted counts -----------------------------------------------------

Noise = tuple[tuple[float, Fraction, tuple[int, ...]], ...]
"""Weights and scales, and how many draws with them are in the count of each bin."""

Weighted = tuple[tuple[float, Fraction, int], ...]
"""Weights, scales, and how many draws have them: the noise on a sum of weighted counts."""

_PERIOD = 32.0  # spreads; Davies' sum errs by less than lies beyond this
_FURTHEST = 12.0  # spreads; further out a tail is taken to be as large as here
_SMOOTHED, _SMOOTHED_MORE = 1 / 200, 1 / 25  # spreads: the deviation of the smoothing
_FEW_WEIGHTS = 8  # smoothed less
_PAID = 3.9  # of its deviations, by which a tail is moved out
_PAID_CHANCE = 4.9e-5  # of more than that
_FADED = 5.7  # of its deviations, in frequency
_NEGLIGIBLE = 1e-13
_ROUNDING = 1e-10
_EXACT = 2**-12  # spreads, to which a reach is found
_MOST_STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class NoiseTail:
    """P(Σ wᵢZᵢ ≥ x) for independent discrete Laplace Zᵢ, or just above it."""

    spread: float
    smoothed: float
    frequencies: Floats
    shares: Floats

    def __call__(self, x: float) -> float:
        paid = _PAID * self.smoothed
        if x > 0:
            return min(self._smoothed(x - paid) + _PAID_CHANCE + _ROUNDING, 1.0)
        if paid - x > _FURTHEST * self.spread:
            return 1.0
        # As often as the noise does not exceed −x.
        return min(1 - self._smoothed(paid - x) + _PAID_CHANCE + _ROUNDING, 1.0)

    def _smoothed(self, x: float) -> float:
        """The tail of the smoothed sum, if x is not far out; else what it is just there."""
        angles = self.frequencies * min(x, _FURTHEST * self.spread)
        return max(0.5 - float(dot(self.shares, np.sin(angles))), 0.0)

    def reach(self, chance: float) -> float:
        """What the noise reaches with at most this chance, a small one."""
        low, high = 0.0, (_FURTHEST + 1) * self.spread
        while high - low > _EXACT * self.spread:
            middle = (low + high) / 2
            low, high = (middle, high) if self(middle) > chance else (low, middle)
        return high


@lru_cache(maxsize=4096)
def noise_tail(weighted: Weighted) -> NoiseTail:
    """The law of weighted noise, from its characteristic function."""
    spread = deviation_of(weighted)
    # Noise of much less than one case is nearly always 0, and then a whole weight.
    spread = max(spread, max((abs(w) for w, _, t in weighted if t), default=1.0) / 4)
    spread = spread or 1.0
    smoothed = spread * (_SMOOTHED if len(weighted) <= _FEW_WEIGHTS else _SMOOTHED_MORE)
    step = 2 * math.pi / (_PERIOD * spread)
    halves = np.arange(math.ceil(_FADED / smoothed / step)) + 0.5
    frequencies = halves * step
    logs = -np.square(smoothed * frequencies) / 2
    for weight, scale, times in weighted:
        left = -math.expm1(-float(1 / scale))  # 1 − q
        swing = 4 * (1 - left) / left**2 * np.square(np.sin(weight * frequencies / 2))
        logs = logs - times * np.log1p(swing)
    shares = np.exp(logs) / (math.pi * halves)
    kept = shares > _NEGLIGIBLE
    return NoiseTail(spread, smoothed, frequencies[kept], shares[kept])


def deviation_of(weighted: Weighted) -> float:
    return math.sqrt(sum(t * (w * laplace_deviation(s)) ** 2 for w, s, t in weighted))


@lru_cache(maxsize=8192)
def noise_reach(weighted: Weighted, chance: float) -> float:
    """What weighted noise reaches with at most this chance, a small one."""
    return noise_tail(weighted).reach(chance)


def _is_rarer(surplus: float, weighted: Weighted, chance: float) -> bool:
    """Whether noise reaches a surplus with at most this chance.

    Far out Chebyshev's inequality says so at once: symmetric noise exceeds t deviations with a
    chance of at most 1/2t².
    """
    if surplus <= 0:
        return False
    if 2 * chance * surplus**2 >= deviation_of(weighted) ** 2:
        return True
    return surplus >= noise_reach(weighted, chance)


# --- what released counts tell --------------------------------------------------------

_UNSURE = 0.001  # how often the number of cases may be far from what was released, in a share
_FINE, _FINE_MEAN = 2**-12, 2**-9  # of the whole range, to which ends of intervals are found

WithInterval = tuple[float, float, float]
"""A value, and the two ends of its interval."""


@dataclass(frozen=True, slots=True)
class NoisyBins:
    """Released counts of bins, and the noise on each: all that follows from them is free.

    Counts of the same bins add up, in one or several periods and groups; so does their noise.
    """

    bins: Bins
    counts: tuple[float, ...]
    noise: Noise
    integral: bool = False

    def __add__(self, other: NoisyBins) -> NoisyBins:
        if other.bins != self.bins:
            raise UsageError("only counts of the same bins add up")
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        noise: dict[tuple[float, Fraction], tuple[int, ...]] = {}
        for weight, scale, draws in (*self.noise, *other.noise):
            draws_so_far = noise.get((weight, scale), (0,) * self.bins.number)
            noise[weight, scale] = tuple(a + b for a, b in zip(draws_so_far, draws, strict=True))
        added = tuple((*key, draws) for key, draws in sorted(noise.items()))
        return replace(self, counts=counts, noise=added)

    def weighted(self, weight: float) -> NoisyBins:
        """As one of several about the same cases, whose weights make 1."""
        if weight == 1:
            return self
        counts = tuple(weight * count for count in self.counts)
        noise = tuple((weight * own, scale, draws) for own, scale, draws in self.noise)
        return replace(self, counts=counts, noise=noise)

    def merged(self, bins: Bins) -> NoisyBins:
        """In fewer bins, each made of some of these; values beyond bounds are in the outermost."""
        if bins.limits == self.bins.limits:
            return replace(self, bins=bins)
        ends = [self.bins.limits.index(limit) + 1 for limit in bins.limits]
        pieces = list(pairwise((0, *ends, self.bins.number)))
        noise = tuple(
            (weight, scale, tuple(sum(draws[start:end]) for start, end in pieces))
            for weight, scale, draws in self.noise
        )
        counts = tuple(sum(self.counts[start:end]) for start, end in pieces)
        return replace(self, bins=bins, counts=counts, noise=noise)

    @property
    def cells(self) -> tuple[tuple[float, float], ...]:
        return self.bins.cells(integral=self.integral)

    @property
    def total(self) -> float:
        return sum(self.counts)

    def total_reach(self, confidence: float) -> float:
        """The margin of the number of cases."""
        return self._reach((1.0,) * self.bins.number, confidence)

    def count_reach(self, confidence: float, number: int = 0) -> float:
        """The margin of the count of one bin."""
        weights = (float(own == number) for own in range(self.bins.number))
        return self._reach(tuple(weights), confidence)

    @property
    def likely(self) -> tuple[float, ...]:
        """Counts that can be: none below 0, with the same total (the nearest such ones)."""
        total = float(self.total)
        if total <= 0:
            return (0.0,) * len(self.counts)
        falling = np.sort(np.array(self.counts, np.float64))[::-1]
        over = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
        cut = over[np.flatnonzero(falling > over)[-1]]
        return tuple(max(count - cut, 0.0) for count in map(float, self.counts))

    # --- quantiles

    def quantile(self, level: Fraction, confidence: float = CONFIDENCE) -> WithInterval:
        """The value with a share `level` of the cases at most there.

        Inside its bin it lies in proportion to the bin's likely cases, spread evenly over it.
        """
        first, last = self._edges_left(level, confidence)
        cells = self.cells
        low, high = cells[first][0], cells[last - 1][1]
        return clamp(self._likely_quantile(level), low, high), low, high

    def quantile_at_most(self, level: Fraction, limit: float) -> float:
        """How sure one may be of it: see `Mechanism.chance_at_most`."""
        below, above = self.bins.around(limit)
        if limit >= self.bins.bounds.high or limit < self.bins.bounds.low:
            return float(limit >= self.bins.bounds.high)
        if_above = self._tail(below, level)(self._surplus(below, level)) if below else 1.0
        last = above >= self.bins.number
        if_not = 1.0 if last else self._tail(above, level)(-self._surplus(above, level))
        return max(1 - if_above, 0.5) if if_above < if_not else min(if_not, 0.5)

    def _edges_left(self, level: Fraction, confidence: float) -> tuple[int, int]:
        """The edges between which the quantile lies, tested from both ends inwards."""
        chance = significance(confidence) / 2
        first, last = 0, self.bins.number
        for edge in range(self.bins.number - 1, 0, -1):
            if not _is_rarer(self._surplus(edge, level), self._weighted(edge, level), chance):
                break
            last = edge
        for edge in range(1, last):
            if not _is_rarer(-self._surplus(edge, level), self._weighted(edge, level), chance):
                break
            first = edge
        return first, last

    def _surplus(self, edge: int, level: Fraction) -> float:
        """By how many more cases lie up to an edge than would if it were the quantile."""
        return float(sum(self.counts[:edge]) - level * self.total)

    def _weighted(self, edge: int, level: Fraction) -> Weighted:
        return noise_at(edge, float(1 - level), float(level), self.noise)

    def _tail(self, edge: int, level: Fraction) -> NoiseTail:
        return noise_tail(self._weighted(edge, level))

    def _likely_quantile(self, level: Fraction) -> float:
        likely = np.array(self.likely)
        if not likely.any():
            return float(self.bins.bounds.low + self.bins.bounds.high) / 2
        wanted, reached = float(level) * likely.sum(), np.cumsum(likely)
        place = min(int(np.searchsorted(reached, wanted, side="left")), len(likely) - 1)
        while not likely[place]:
            place -= 1
        low, high = self.cells[place]
        inside = clamp(1 - (reached[place] - wanted) / likely[place], 0.0, 1.0)
        return low + inside * (high - low)

    # --- shares

    def share_within(self, limit: float, confidence: float = CONFIDENCE) -> WithInterval:
        """The share of cases at most at a limit; between two edges, by the bins around it."""
        below, above = self.bins.around(limit)
        low, high = self._share(below, confidence)[1], self._share(above, confidence)[2]
        values = [self._share(edge, confidence)[0] for edge in (below, above)]
        if below == above:
            return values[0], low, high
        start, end = (float(self.bins.edges[edge]) for edge in (below, above))
        inside = clamp((limit - start) / (end - start), 0.0, 1.0)
        return values[0] + inside * (values[1] - values[0]), low, high

    def _share(self, edge: int, confidence: float) -> WithInterval:
        """Of cases up to an edge; in the value that is shown, no bin has less than nothing."""
        if edge in (0, self.bins.number):
            return (float(edge > 0),) * 3
        likely, (_, low, high) = (
            self.likely,
            self._share_of([number < edge for number in range(self.bins.number)], confidence),
        )
        value = sum(likely[:edge]) / sum(likely) if any(likely) else (low + high) / 2
        return clamp(value, low, high), low, high

    def _share_of(self, inside: Sequence[bool], confidence: float) -> WithInterval:
        """Of the cases in some bins. For the share s, part − s·total is noise alone (Fieller).

        As s grows, part − s·total falls faster than its noise wherever the noise on the total
        is smaller than the total: where it may not be, nothing is told.
        """
        total = float(self.total)
        part = sum(count for count, own in zip(self.counts, inside, strict=True) if own)
        chance = significance(confidence) / 2 - _UNSURE
        if chance <= 0 or self._tail_of_all(total) > _UNSURE:
            return 0.5, 0.0, 1.0

        def tail_at(share: float, side: int) -> float:
            weights = tuple(1 - share if own else share for own in inside)
            return noise_tail(noise_of(self.noise, weights))(side * (part - share * total))

        low = _last_rejected(lambda share: tail_at(share, 1), chance)
        high = 1 - _last_rejected(lambda rest: tail_at(1 - rest, -1), chance)
        return clamp(part / total, low, high), low, high

    def _tail_of_all(self, total: float) -> float:
        return noise_tail(noise_of(self.noise, (1.0,) * self.bins.number))(total)

    # --- the mean

    def mean(self, confidence: float = CONFIDENCE) -> WithInterval:
        """Of the cases; its interval holds wherever in their bins they lie."""
        cells, likely = np.array(self.cells), np.array(self.likely)
        bounds = self.bins.bounds
        if not likely.any():
            return float(bounds.low + bounds.high) / 2, float(bounds.low), float(bounds.high)
        low = self._mean_end(cells[:, 0], 1, confidence)
        high = self._mean_end(cells[:, 1], -1, confidence)
        value = float(dot(likely, cells.mean(axis=1)) / likely.sum())
        return clamp(value, low, high), low, high

    def binning_error(self) -> float:
        """How far the mean may be off because a bin does not tell where in it a case lies."""
        cells, likely = np.array(self.cells), np.array(self.likely)
        whole = float(self.bins.bounds.width) / 2
        return (
            float(dot(likely, np.ptp(cells, axis=1)) / likely.sum()) / 2 if likely.any() else whole
        )

    def _mean_end(self, places: Floats, side: int, confidence: float) -> float:
        """One end of the mean's interval, if every case lay at such a place of its bin."""
        bounds, chance = self.bins.bounds, significance(confidence) / 2 - _UNSURE
        start, width = float(bounds.low if side > 0 else bounds.high), float(bounds.width)
        if chance <= 0 or self._tail_of_all(float(self.total)) > _UNSURE:
            return start
        counts = np.array(self.counts, np.float64)

        def tail_at(share: float) -> float:
            weights = side * (places - start) / width - share
            noise = noise_of(self.noise, weights.tolist())
            return noise_tail(noise)(float(dot(weights, counts)))

        return start + side * width * _last_rejected(tail_at, chance, _FINE_MEAN)

    def _reach(self, weights: Sequence[float], confidence: float) -> float:
        """Of whole numbers, the last one that is not too rare."""
        reach = noise_reach(noise_of(self.noise, weights), significance(confidence) / 2)
        whole = all(weight == 1 for weight, _, _ in self.noise)
        return float(math.ceil(reach) - 1) if whole else reach


def noise_of(noise: Noise, weights: Sequence[float]) -> Weighted:
    """Of the counts of bins, each with a weight; noise is symmetric, whatever the sign."""
    gathered: Counter[tuple[float, Fraction]] = Counter()
    for own, scale, draws in noise:
        together: Counter[float] = Counter()  # first by weight alone: a fraction is slow to hash
        for weight, times in zip(weights, draws, strict=True):
            together[abs(own * weight)] += times
        for weight, times in together.items():
            gathered[weight, scale] += times
    return _that_count(gathered)


def noise_at(edge: int, below: float, above: float, noise: Noise) -> Weighted:
    """Of the counts of bins that weigh so much below an edge, and so much beyond it."""
    gathered: Counter[tuple[float, Fraction]] = Counter()
    for own, scale, draws in noise:
        for weight, times in ((below, sum(draws[:edge])), (above, sum(draws[edge:]))):
            gathered[abs(own * weight), scale] += times
    return _that_count(gathered)


def _that_count(gathered: Counter[tuple[float, Fraction]]) -> Weighted:
    return tuple((weight, scale, n) for (weight, scale), n in gathered.items() if weight and n)


def _last_rejected(tail_at: Callable[[float], float], chance: float, fine: float = _FINE) -> float:
    """How far from 0 on, towards 1, all is rarer than a chance; what is given back was seen to be.

    By the logarithm of the tail, halving where that is slow.
    """
    low, high = 0.0, 1.0
    below, above = (math.log(max(tail_at(end), _ROUNDING) / chance) for end in (low, high))
    if below > 0:
        return 0.0
    if above <= 0:
        return 1.0
    for step in range(_MOST_STEPS):
        if high - low < fine:
            break
        share = 0.5 if step % 3 == 2 else clamp(-below / (above - below), 0.02, 0.98)
        middle = low + share * (high - low)
        excess = math.log(max(tail_at(middle), _ROUNDING) / chance)
        if excess <= 0:
            low, below = middle, excess
        else:
            high, above = middle, excess
    return low


def clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
