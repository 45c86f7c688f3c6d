"""exp and log of exact rationals, bounded from above with whole numbers alone.

Fixed point: a whole number k stands for k/2^bits. Every division below is rounded in the
direction that keeps the result an upper bound, so no error analysis is needed for it to
be one; how tight it is (far below 2^-60) concerns only accuracy, and is tested.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

WEIGHT_BITS = 192
"""exp(−x) comes as a whole number over 2^192."""

_GUARDED = 256  # bits inside exp_minus: what squaring loses stays far below WEIGHT_BITS
_LOG_BITS = 128


@lru_cache(maxsize=256)
def exp_minus(x: Fraction) -> int:
    """A whole number k with exp(−x) ≤ k/2^192 ≤ 1, for x ≥ 0.

    exp(−x) = 1/exp(y)^(2^h) with y = x/2^h below 1. The Taylor series of exp(y) has
    positive terms only: cut off and rounded down it bounds exp(y) from below, so do its
    squares, and the reciprocal, rounded up, bounds exp(−x) from above.

    >>> exp_minus(Fraction(1)) / 2**192
    0.36787944117144233
    """
    halvings = (x.numerator // x.denominator).bit_length()
    denominator = x.denominator << halvings
    term = power = 1 << _GUARDED
    degree = 0
    while term:
        degree += 1
        term = term * x.numerator // (denominator * degree)
        power += term
    for _ in range(halvings):
        power = power * power >> _GUARDED
    return -(-(1 << WEIGHT_BITS + _GUARDED) // power)


def log(numerator: int, denominator: int) -> Fraction:
    """A rational just above log(numerator/denominator), for whole numbers above 0.

    With the ratio as m·2^k, 1 ≤ m < 2: k·log 2 + 2·atanh((m−1)/(m+1)).

    >>> float(log(10, 1)), float(log(1, 10))
    (2.302585092994046, -2.302585092994046)
    """
    doublings = numerator.bit_length() - denominator.bit_length()
    doublings -= numerator << max(-doublings, 0) < denominator << max(doublings, 0)
    numerator <<= max(-doublings, 0)
    denominator <<= max(doublings, 0)
    t = -(-(numerator - denominator << _LOG_BITS) // (numerator + denominator))
    # Halvings subtract, so that for an upper bound they subtract too little.
    each = _LOG_2 if doublings > 0 else _LOG_2_BELOW
    return Fraction(doublings * each + _twice_atanh(t), 1 << _LOG_BITS)


def _twice_atanh(t: int) -> int:
    """2·(t + t³/3 + t⁵/5 + …) in fixed point, for t up to 1/3.

    Each power is at most 1/9 of the last, so all that follow a power p, divided by their
    odd degrees of at least 3, sum to less than p: adding p closes the series from above.
    """
    square = _product(t, t)
    power, total, degree = 2 * t, 0, 1
    while power > 1:
        total += -(-power // degree)
        power = _product(power, square)
        degree += 2
    return total + power


def _product(a: int, b: int) -> int:
    return -(-a * b >> _LOG_BITS)


_LOG_2 = _twice_atanh(-(-(1 << _LOG_BITS) // 3))
# Fewer than 128 steps of the series are each rounded up by at most 2.
_LOG_2_BELOW = _LOG_2 - 256
