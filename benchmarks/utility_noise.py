"""Expectations over Laplace noise by summing over nodes, instead of by drawing from it.

Every estimator of a noisy sum raises what is negative to zero first, so the law of
max(0, centre + Z) is all one needs: an atom at zero and the rest above. The rest is
summed point by point where the noise is a few lattice steps wide, and by Gaussian
quadrature between public breakpoints where it is wide.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from benchmarks.utility_values import Floats

_COARSE = 16.0  # scales, in lattice steps, up to which points are summed one by one
_REACH = 40.0  # scales; beyond, less than 1e-17 is left

_LEGENDRE, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(8)
_LAGUERRE, _LAGUERRE_WEIGHTS = np.polynomial.laguerre.laggauss(24)

# Panels end at distances from the centre where the density still changes much, and at
# fractions of the way to zero, where a ratio of two sums does.
_FROM_CENTRE = np.array([0.7, 2.0, 5.0, 10.0, 20.0])
_FROM_ZERO = np.array([1 / 512, 1 / 64, 1 / 8, 1 / 2])


def raised_noise(centre: float, scale: float) -> tuple[Floats, Floats]:
    """Nodes and weights of max(0, centre + Z), with discrete Laplace Z of the given scale."""
    if scale <= _COARSE:
        return _summed(round(centre), scale)
    return raised_laplace(centre, scale)


def raised_laplace(centre: float, scale: float) -> tuple[Floats, Floats]:
    """The same for continuous Laplace noise."""
    room = centre / scale
    points, weights = _below(min(room, _REACH))
    above = centre + scale * _LAGUERRE
    nodes = np.concatenate(([0.0], centre - scale * points, above))
    return nodes, np.concatenate(([math.exp(-room) / 2], weights, _LAGUERRE_WEIGHTS / 2))


def _below(room: float) -> tuple[Floats, Floats]:
    """Distances below the centre, in scales, and the weights of the density e^−t/2 there."""
    edges = np.concatenate(([0.0, room], _FROM_CENTRE, room * (1 - _FROM_ZERO)))
    panels = list(pairwise(np.unique(np.clip(edges, 0.0, room)).tolist()))
    if not panels:
        return np.zeros(0), np.zeros(0)
    points = [(a + b) / 2 + (b - a) / 2 * _LEGENDRE for a, b in panels]
    widths = [(b - a) / 2 * _LEGENDRE_WEIGHTS for a, b in panels]
    distance = np.concatenate(points)
    return distance, np.concatenate(widths) * np.exp(-distance) / 2


def _summed(centre: int, scale: float) -> tuple[Floats, Floats]:
    reach = math.ceil(_REACH * scale)
    points = np.arange(max(centre - reach, 0), centre + reach + 1)
    weights = math.tanh(0.5 / scale) * np.exp(-np.abs(points - centre) / scale)
    weights[0] += 1 - weights.sum()  # all below the first point, which is zero or next to nothing
    return points.astype(np.float64), weights
