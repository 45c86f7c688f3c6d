"""Exact noise in whole numbers: the only place in PaPPI that touches randomness.

P(Z = z) ∝ exp(−|z| / scale) over all integers z, for any positive rational scale,
after Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy"
(2020), algorithms 1 and 2. Every coin is decided by comparing whole numbers, so
no float decides a probability and the sampled law is the stated law exactly.

Why it is right, with scale = t/s in lowest terms:

1. *A coin of bias exp(−x), 0 ≤ x ≤ 1.* Toss coins of bias x/1, x/2, x/3, … until
   one fails. P(the first k all succeed) = x^k/k!, so P(the failure comes at an
   odd toss) = 1 − x + x²/2! − … = exp(−x).
2. *Geometric.* U uniform on {0..t−1}, kept with bias exp(−U/t), and V successes of
   a coin of bias exp(−1): U + tV = x has probability ∝ exp(−x/t).
3. ⌊(U + tV)/s⌋ is then geometric with ratio exp(−s/t) = exp(−1/scale). A fair sign,
   with −0 thrown back, makes it two-sided.

The running time depends on the draw, never on the data.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

RandBelow = Callable[[int], int]
"""Gives a uniform whole number from 0 up to but not including its argument."""

system_randbelow: RandBelow = secrets.randbelow


def secret_bytes(count: int) -> bytes:
    """Bytes nobody can guess: for keys, no part of any release."""
    return secrets.token_bytes(count)


def discrete_laplace(scale: Fraction, randbelow: RandBelow) -> int:
    """One draw of Z with P(Z = z) ∝ exp(−|z| / scale)."""
    while True:
        magnitude = geometric(scale, randbelow)
        negative = randbelow(2) == 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def geometric(scale: Fraction, randbelow: RandBelow) -> int:
    """One draw of X ≥ 0 with P(X = x) ∝ exp(−x / scale)."""
    return _geometric(scale.numerator, randbelow) // scale.denominator


def _geometric(scale: int, randbelow: RandBelow) -> int:
    """One draw of X ≥ 0 with P(X = x) ∝ exp(−x / scale)."""
    remainder = randbelow(scale)
    while not _coin_exp_minus(remainder, scale, randbelow):
        remainder = randbelow(scale)
    turns = 0
    while _coin_exp_minus(1, 1, randbelow):
        turns += 1
    return remainder + scale * turns


def _coin_exp_minus(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """True with probability exp(−numerator/denominator), for a ratio from 0 to 1."""
    toss = 1
    while randbelow(denominator * toss) < numerator:
        toss += 1
    return toss % 2 == 1
