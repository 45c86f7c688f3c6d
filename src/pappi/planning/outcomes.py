"""What may come out of a function that carries noise: equally likely values, for predictions.

The chances are those of a lattice, the same in every run: nothing is drawn, and no case is
seen. What is released is drawn elsewhere, from exact laws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import tails
from pappi.mechanisms.grid import GeometricGrid
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.stepped import SteppedMean, SteppedSum
from pappi.mechanisms.two_bin import TwoBin, drawn_in_shares
from pappi.planning.fills import PLACES, Imagined
from pappi.values.privacy import Adjacency

Floats = NDArray[np.float64]

_CHANCES, _TURN = 509, 116
_EACH = 3  # columns of chances per function
_COLUMNS = 512
_STRATA = 8
_SMALLEST = 1e-12


def exactly(value: float) -> Floats:
    return np.full(_CHANCES, value)


@lru_cache(maxsize=_COLUMNS)
def _chances(column: int) -> Floats:
    """A rank-1 lattice: every column has all chances once, and no two are in step."""
    turned = np.arange(_CHANCES) * pow(_TURN, column, _CHANCES) % _CHANCES
    return np.asarray((turned + 0.5) / _CHANCES)


@lru_cache(maxsize=_COLUMNS)
def _laplace(column: int) -> Floats:
    """Laplace noise of scale 1."""
    away = _chances(column) - 0.5
    return np.asarray(-np.sign(away) * np.log1p(-2 * np.abs(away)))


@lru_cache(maxsize=_COLUMNS)
def _hexagonal(column: int) -> tuple[Floats, Floats]:
    """Noise on two sums, as in `noise.hexagonal_laplace`, of scale 1."""
    corners = np.array([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)])
    corner = np.floor(6 * _chances(column)).astype(np.int64)
    i, j = -np.log(_chances(column + 1)), -np.log(_chances(column + 2))
    (ux, uy), (vx, vy) = corners[corner].T, corners[(corner + 1) % 6].T
    return i * ux + j * vx, i * uy + j * vy


def estimates(mechanism: Mechanism, imagined: Imagined, index: int) -> Floats:
    """What may come out of a function, each as likely as any other."""
    column = _EACH * index
    match mechanism:
        case LaplaceSum() | LaplaceExtreme():
            return _noisy(mechanism, imagined, column)
        case TwoBin():
            return _of_two_bins(mechanism, imagined, column)
        case TwoBinRatio():
            return _of_a_whole(mechanism, imagined, column)
        case HexagonRatio():
            return _of_a_ratio(mechanism, imagined, column)
        case SteppedMean() | SteppedSum():
            return _stepped(mechanism, imagined, column)
        case IntervalExtreme() if not isinstance(mechanism.lattice, GeometricGrid):
            return _extremes(mechanism, imagined, column)
        case IntervalQuantile() if not isinstance(mechanism.lattice, GeometricGrid):
            return _quantiles(mechanism, imagined, column)
    error = mechanism.predicted_error(imagined.cases, imagined.value)
    return imagined.value + error / math.sqrt(2) * _laplace(column)


def _noisy(mechanism: LaplaceSum | LaplaceExtreme, imagined: Imagined, column: int) -> Floats:
    low, high = float(mechanism.bounds.low), float(mechanism.bounds.high)
    if isinstance(mechanism, LaplaceSum):
        known, cases = mechanism.adjacency is Adjacency.REPLACE, imagined.cases
        low = cases * low if known else (0.0 if low >= 0 else -math.inf)
        high = cases * high if known else (0.0 if high <= 0 else math.inf)
    noise = float(mechanism.lattice.step) * tails.deviation(mechanism.scale) / math.sqrt(2)
    return np.clip(imagined.value + noise * _laplace(column), low, high)


def _of_two_bins(mechanism: TwoBin, imagined: Imagined, column: int) -> Floats:
    low, width = float(mechanism.bounds.low), float(mechanism.bounds.width)
    share = (imagined.value - low) / width
    signal = imagined.cases * _signal(mechanism.lattice.span, mechanism.scale)
    if mechanism.adjacency is Adjacency.REPLACE:
        return low + width * np.clip(share + _laplace(column) / signal, 0.0, 1.0)
    first, second = _laplace(column), _laplace(column + 1)
    return low + width * drawn_in_shares(signal * share + first, signal * (1 - share) + second)


def _of_a_whole(mechanism: TwoBinRatio, imagined: Imagined, column: int) -> Floats:
    wholes = imagined.sums[1] / float(mechanism.bounds.high)
    half = wholes / 2 * _signal(mechanism.lattice.highest, mechanism.scale)
    shares = drawn_in_shares(half + _laplace(column), half + _laplace(column + 1))
    return float(mechanism.factor) * shares


def _of_a_ratio(mechanism: HexagonRatio, imagined: Imagined, column: int) -> Floats:
    noise = (2 if mechanism.adjacency is Adjacency.REPLACE else 1) / float(mechanism.epsilon)
    x, y = _hexagonal(column)
    first, second = imagined.sums
    above = np.maximum(first + noise * float(mechanism.part.high) * x, 0.0)
    below = second + noise * float(mechanism.bounds.high) * y
    return float(mechanism.factor) * above / np.where(below > 0, below, np.nan)


def _signal(one_case: int, scale: Fraction) -> float:
    """How much one case weighs beside noise of scale 1."""
    return one_case * math.sqrt(2) / max(tails.deviation(scale), _SMALLEST)


def _stepped(mechanism: SteppedMean | SteppedSum, imagined: Imagined, column: int) -> Floats:
    low, width = float(mechanism.bounds.low), float(mechanism.bounds.width)
    share = min(max((imagined.value - low) / width, 0.0), 1.0)
    whole = sum(mechanism.exponents(imagined.cases, share))
    return low + width * _drawn(whole * np.abs(PLACES - share), _chances(column))


def _quantiles(mechanism: IntervalQuantile, imagined: Imagined, column: int) -> Floats:
    level = float(mechanism.level)
    step = 1.0 if mechanism.adjacency is Adjacency.REPLACE else max(level, 1 - level)
    scores = imagined.cases * np.abs(imagined.fill.below - level) / step
    drawn = _drawn(float(mechanism.rate) * scores, _chances(column))
    return float(mechanism.bounds.low) + float(mechanism.bounds.width) * drawn


def _extremes(mechanism: IntervalExtreme, imagined: Imagined, column: int) -> Floats:
    """The largest value is a matter of chance, too: far out, there are few near it."""
    top, fill, cases = mechanism.function == "max", imagined.fill, imagined.cases
    low, width = float(mechanism.bounds.low), float(mechanism.bounds.width)
    stratum = np.floor(_STRATA * _chances(column + 1))
    drawn = np.empty(_CHANCES)
    for each in range(_STRATA):
        share = ((each + 0.5) / _STRATA) ** (1 / cases)
        within = fill.below if top else 1 - fill.below
        others_beyond = (cases - 1) * np.maximum(1 - within / share, 0.0)
        chosen = stratum == each
        place = _drawn(float(mechanism.rate) * others_beyond, _chances(column)[chosen])
        drawn[chosen] = place - fill.quantile(share if top else 1 - share)
    return np.clip(imagined.value + width * drawn, low, low + width)


def _drawn(exponents: Floats, chances: Floats) -> Floats:
    """Places drawn by exp(−exponent), to the nearest of the `PLACES` or so."""
    weights = np.exp(exponents.min() - exponents)
    mass = np.concatenate(([0.0], (weights[1:] + weights[:-1]).cumsum()))
    return np.asarray(np.interp(chances * mass[-1], mass, PLACES))
