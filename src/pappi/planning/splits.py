"""How one epsilon is best divided between functions over the same cases.

A function's error is in proportion to 1/εᵢ, and the errors of several add up in squares:
Σ (cᵢ/εᵢ)² for a fixed sum of the εᵢ is least where εᵢ is in proportion to cᵢ^(2/3). The cᵢ
come from public facts, so the split does, too. It is rounded to 64ths, so that it can be
shown and so that a hair's difference in a prediction does not make another question.

Where noise fills the range of a function its error falls more slowly, and other splits can be
better: `tilted` gives some to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

_PIECES = 64


def best_split(errors: Sequence[float]) -> tuple[Fraction, ...]:
    """The shares of epsilon, given how far off the value is for each function at equal shares.

    >>> best_split([1.0, 1.0])
    (Fraction(1, 2), Fraction(1, 2))
    >>> best_split([8.0, 1.0])
    (Fraction(51, 64), Fraction(13, 64))
    """
    equal = tuple(Fraction(1, len(errors)) for _ in errors)
    if len(errors) > _PIECES // 2 or not all(math.isfinite(error) for error in errors):
        return equal
    weights = [error ** (2 / 3) for error in errors]
    if not sum(weights):
        return equal
    # Each gets one piece, and the others go where they are due.
    due = [(_PIECES - len(weights)) * weight / sum(weights) for weight in weights]
    pieces = [1 + int(share) for share in due]
    most_left = sorted(range(len(due)), key=lambda i: int(due[i]) - due[i])
    for i in most_left[: _PIECES - sum(pieces)]:
        pieces[i] += 1
    return tuple(Fraction(piece, _PIECES) for piece in pieces)


def tilted(split: Sequence[Fraction], tilt: Fraction) -> list[tuple[Fraction, ...]]:
    """The splits with so many times more, or less, for one function beside the others.

    >>> tilted([Fraction(1, 2), Fraction(1, 2)], Fraction(3))[0]
    (Fraction(3, 4), Fraction(1, 4))
    """
    raised = (
        [share * factor if i == index else share for i, share in enumerate(split)]
        for index, factor in product(range(len(split)), (tilt, 1 / tilt))
    )
    return [tuple(share / sum(shares) for share in shares) for shares in raised]
