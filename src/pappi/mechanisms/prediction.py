"""What is predicted of a release before it is drawn: how far off it will be, and how often.

From public facts only: no case is seen and nothing is drawn. Floats, for predicted errors;
nothing here decides what is released.

- `ErrorLaw`, the distribution of |error|. Of the assumed number of cases it is a *promise*: it
  holds wherever the values lie in their bounds, because each mechanism takes its law at the
  truth for which it is worst. Where nothing that is known beforehand bounds the error but the
  whole range, it rests on an assumption, which it names (`assumes`).
- *Reference scenarios* (`Scenario`): how the values of cases are taken to lie in their bounds,
  where nothing is known of them. `Chances` are the equally likely chances at which a
  mechanism says what may come out in a scenario; formulas are evaluated there.
- The tails of noise that the mechanisms' error laws are made from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.laws import laplace_deviation, laplace_tail

Floats = NDArray[np.float64]
Beyond = Callable[[float], float]
"""How likely it is to be off by more than t ≥ 0, in either direction; never rises."""

EVENLY_BETWEEN = "the values are spread evenly between the bounds"
LIE_LOW = "the values lie mostly low between the bounds, with their mean at a quarter"
OVER_OCTAVES = "the values are spread evenly over the orders of magnitude between the bounds"
MIDDLE_WHOLE = "the whole lies in the middle of its bounds"

_CLOSE = 1e-5  # how far above the smallest distance a search may stop
_MOST_STEPS = 60
_NEAR_AN_END = 1e-3
_LARGEST_DISTANCE = 1e300


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """The distribution of |error|, in internal units."""

    beyond: Beyond
    """P(|error| > t): never rises with t."""

    assumes: str = ""
    """What must be so for it to hold; empty if it holds wherever the values lie."""

    shrinks: bool = True
    """Whether more cases make the error smaller, at most in proportion."""

    start: float = 1.0
    """A distance of the right order, from which to search."""

    def keeps(self, distance: float, confidence: float) -> bool:
        """Whether the error stays within a distance, with that confidence."""
        return self.beyond(distance) <= (1 - confidence) * (1 + 1e-12)

    scaled: tuple[ErrorLaw, float] | None = None
    """The law that this one is, in units of another length: what is known of that is known."""

    def times(self, unit: float) -> ErrorLaw:
        """Of an error so many times as large."""
        return replace(
            self,
            beyond=lambda distance: self.beyond(distance / unit),
            start=unit * self.start,
            scaled=(self, unit),
        )

    def within(self, confidence: float) -> float:
        """The smallest distance the error keeps to, or just above; infinite if there is none."""
        if self.scaled is not None:
            law, unit = self.scaled
            return unit * law.within(confidence)
        return _within(self, confidence)

    def searched(self, confidence: float) -> float:
        """The same, looked for."""
        allowed = 1 - confidence
        low, above = 0.0, self._excess(0.0, allowed)
        if above <= 0:
            return 0.0
        if self._excess(_LARGEST_DISTANCE, allowed) > 0:
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
            excess = self._excess(guess, allowed)
            if excess <= 0:
                high, below, side = guess, excess, -1.0
            else:
                low, above, side = guess, excess, 1.0
        return high

    def _excess(self, distance: float, allowed: float) -> float:
        """How much too often the error is larger, as a logarithm; not above 0 is seldom enough."""
        often = self.beyond(distance)
        return math.log(often / (allowed * (1 + 1e-12))) if often > 0 else -math.inf


@lru_cache(maxsize=4096)
def _within(law: ErrorLaw, confidence: float) -> float:
    return law.searched(confidence)


# --- reference scenarios ------------------------------------------------------------------

PLACES = np.linspace(0, 1, 513)
_CHANCES, _TURN = 509, 116
_COLUMNS_EACH = 3
_COLUMNS = 512


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """How values lie in their bounds: which share of them is below each of the `PLACES`."""

    below: Floats
    mean: float

    def quantile(self, share: float) -> float:
        return float(np.interp(share, self.below, PLACES))


EVENLY = Fill(PLACES, 1 / 2)
MIDDLE = Fill(PLACES**3 * (10 - 15 * PLACES + 6 * PLACES**2), 1 / 2)
LOW = Fill(1 - (1 - PLACES) ** 5, 1 / 6)
FILLS = (EVENLY, MIDDLE, LOW)


@dataclass(frozen=True, slots=True)
class Leaning:
    """Values between 0 and 1, of which a share 1 − (1 − x)^shape is below x.

    What is assumed where it matters how close together values are, which is private. As durations
    and amounts do, they get rarer towards the high bound if the shape is above 1.
    """

    shape: float

    @classmethod
    def through(cls, place: float, level: float) -> Leaning:
        """Such that a share `level` of them is below a place."""
        inside = min(max(place, _NEAR_AN_END), 1 - _NEAR_AN_END)
        return cls(math.log1p(-level) / math.log1p(-inside))

    def below(self, places: Floats) -> Floats:
        return np.asarray(1 - (1 - np.clip(places, 0.0, 1.0)) ** self.shape)

    def quantiles(self, shares: Floats) -> Floats:
        return np.asarray(1 - (1 - np.clip(shares, 0.0, 1.0)) ** (1 / self.shape))


MOSTLY_LOW = Leaning(3.0)
"""The smallest of three even chances lies like this: see `LIE_LOW`."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """What one function is about: its noise-free value, and that of each input it reads."""

    cases: int
    value: float
    inputs: tuple[float, ...]
    fill: Fill


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What a release is tried out for: values that a function may have, of how many cases.

    `cut` says on which sides bounds could cut values off, though they cut none in the trial. How
    many lie beyond is counted in as many `periods`.
    """

    cases: int
    values: Floats
    cut: tuple[bool, bool] = (False, False)
    periods: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class TrialIntervals:
    """The 95 % intervals of equally likely releases: a row for each value that is tried.

    Where perhaps no case is there, an interval is what it is, but no verdict is firm.
    """

    low: Floats
    high: Floats
    perhaps_empty: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((1, 1), np.bool_))


@dataclass(frozen=True, slots=True)
class Chances:
    """Equally likely chances for the function with that index: the same in every run.

    A rank-1 lattice: every column has all chances once, and no two are in step. Each function
    has three columns of its own. `mirrored`, all noise has the other sign.
    """

    index: int
    mirrored: bool = False

    def exactly(self, value: float) -> Floats:
        return np.full(_CHANCES, value)

    def uniform(self, column: int = 0) -> Floats:
        return self._turned(_uniform(_COLUMNS_EACH * self.index + column))

    def laplace(self, column: int = 0) -> Floats:
        """Laplace noise of scale 1."""
        return self._signed(_laplace(_COLUMNS_EACH * self.index + column))

    def whole_laplace(self, scale: Fraction, column: int = 0) -> Floats:
        """Discrete Laplace noise of that scale: see `laws`."""
        return _whole_laplace(scale, self.uniform(column))

    def whole_laplaces(self, scale: Fraction, columns: int) -> Floats:
        """The same in the first columns, a row for each."""
        first = _COLUMNS_EACH * self.index
        return _whole_laplace(scale, self._turned(_uniform_rows(range(first, first + columns))))

    def normal(self, column: int = 0) -> Floats:
        """Normal noise of deviation 1."""
        return self._signed(_normal(_COLUMNS_EACH * self.index + column))

    def hexagonal(self) -> tuple[Floats, Floats]:
        """Noise on two sums, as in `hexagon.hexagonal_laplace`, of scale 1."""
        first, second = _hexagonal(_COLUMNS_EACH * self.index)
        return self._signed(first), self._signed(second)

    def _turned(self, chances: Floats) -> Floats:
        return 1 - chances if self.mirrored else chances

    def _signed(self, noise: Floats) -> Floats:
        return -noise if self.mirrored else noise


@lru_cache(maxsize=_COLUMNS)
def _uniform(column: int) -> Floats:
    return np.asarray(_uniform_rows((column,))[0])


def _uniform_rows(columns: Iterable[int]) -> Floats:
    turns = np.array([[pow(_TURN, column, _CHANCES)] for column in columns])
    return np.asarray((turns * np.arange(_CHANCES) % _CHANCES + 0.5) / _CHANCES)


def _whole_laplace(scale: Fraction, chance: Floats) -> Floats:
    rate = float(1 / scale)
    rarely = np.minimum(chance, 1 - chance) * (1 + math.exp(-rate))
    return np.asarray(np.sign(chance - 0.5) * np.maximum(np.floor(-np.log(rarely) / rate), 0.0))


@lru_cache(maxsize=_COLUMNS)
def _laplace(column: int) -> Floats:
    away = _uniform(column) - 0.5
    return np.asarray(-np.sign(away) * np.log1p(-2 * np.abs(away)))


@lru_cache(maxsize=_COLUMNS)
def _normal(column: int) -> Floats:
    return np.array([NormalDist().inv_cdf(chance) for chance in _uniform(column)])


@lru_cache(maxsize=_COLUMNS)
def _hexagonal(column: int) -> tuple[Floats, Floats]:
    corners = np.array([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)])
    corner = np.floor(6 * _uniform(column)).astype(np.int64)
    i, j = -np.log(_uniform(column + 1)), -np.log(_uniform(column + 2))
    (ux, uy), (vx, vy) = corners[corner].T, corners[(corner + 1) % 6].T
    return i * ux + j * vx, i * uy + j * vy


def places_drawn(exponents: Floats, chances: Floats) -> Floats:
    """Places drawn by exp(−exponent), to the nearest of the `PLACES` or so."""
    weights = np.exp(exponents.min() - exponents)
    mass = np.concatenate(([0.0], (weights[1:] + weights[:-1]).cumsum()))
    return np.asarray(np.interp(chances * mass[-1], mass, PLACES))


# --- tails of noise -----------------------------------------------------------------------

_COARSE = 8  # noise of so few steps is summed over step by step
_CELLS = 81  # three tenths of the scale each
_FURTHEST = 12.0  # scales; beyond lies less than 1e-5 of the noise
_SMALLEST_DEVIATION = 1e-12
_NOTHING_LEFT = 800.0  # scales; beyond lies less than the smallest float
NEAR, APART, TRUTHS = 5.0, 0.125, 9
"""True shares to try: up to so many noise scales from an end, so far apart, and so many others."""


def laplace_beyond(scale: Fraction, step: float, width: float = math.inf) -> Beyond:
    """Discrete Laplace noise of a scale in steps: exact.

    Of a value kept in a range of some width, where the noise is worst: in the middle, or at an end.
    """
    furthest = _NOTHING_LEFT * max(float(scale), 1.0) * step

    def beyond(t: float) -> float:
        if t >= min(furthest, width):
            return 0.0
        # Rounding must not make a noise of exactly k steps count as further than k steps.
        one_side = laplace_tail(scale, math.floor(t / step * (1 + 1e-12)) + 1) / 2
        return min(2 * one_side, 1.0) if 2 * t < width else one_side

    return beyond


def atoms_beyond(errors: Floats, weights: Floats | None = None) -> Beyond:
    """Of errors that are equally likely, or have weights.

    One that is not a number has no value, whatever the distance.
    """
    if weights is None:
        weights = np.full(len(errors), 1 / len(errors))
    missing = np.isnan(errors)
    lost = float(weights[missing].sum()) / 2
    low, high = np.where(missing, 0.0, -errors), np.where(missing, 0.0, errors)

    def beyond(t: float) -> float:
        down, up = lost + float(weights[low > t].sum()), lost + float(weights[high > t].sum())
        return min(down + up, 1.0)

    return beyond


def score_beyond(below: float, down: float, above: float, up: float) -> Beyond:
    """A point drawn by exp(−score), where scores grow evenly from 0 at the answer.

    They reach `down` at the low end of the range, which is `below` away, and `up` at the high end.
    """
    sides = ((below, down, _mass(below, down, below)), (above, up, _mass(above, up, above)))
    whole = sum(mass for _, _, mass in sides)

    def beyond(t: float) -> float:
        lower, upper = (
            max(mass - _mass(room, exponent, min(t, room)), 0.0) / whole
            for room, exponent, mass in sides
        )
        return min(lower + upper, 1.0)

    return beyond


def _mass(room: float, exponent: float, upto: float) -> float:
    """∫ e^(−x·t/room) dt from 0 to `upto`, x the exponent."""
    if exponent < 1e-9 or room <= 0:
        return upto
    return room / exponent * -math.expm1(-exponent * upto / room)


def signal(one_case: int, scale: Fraction) -> float:
    """How much one case weighs beside noise of scale 1."""
    return one_case * math.sqrt(2) / max(laplace_deviation(scale), _SMALLEST_DEVIATION)


@lru_cache(maxsize=256)
def noise_grid(scale: Fraction) -> tuple[Floats, Floats]:
    """Noise and its chances: all of the law if it is coarse, else on a grid of fine cells."""
    if scale <= _COARSE:
        reach = math.ceil(_FURTHEST * scale) + 1
        noise = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-np.abs(noise) / float(scale))
    else:
        noise = np.linspace(-_FURTHEST, _FURTHEST, _CELLS) * float(scale)
        weights = np.exp(-np.abs(noise) / float(scale))
    return noise, weights / weights.sum()


def at_least(k: Floats, scale: float) -> Floats:
    """P(Z ≥ k) for discrete Laplace Z and whole k of either sign."""
    far = np.exp(np.where(k > 0, -k, k - 1) / scale) / (1 + math.exp(-1 / scale))
    return np.where(k > 0, far, 1 - far)
