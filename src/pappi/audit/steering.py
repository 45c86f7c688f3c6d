"""Reproducible choices for the audit's search.

Not a source of randomness: the same seed gives the same search on every machine,
so that a worst pair that was found once can be found again.
"""

from __future__ import annotations

import hashlib
from itertools import count

from pappi.audit.datasets import Draw


def steered_by(seed: int) -> Draw:
    """A draw whose choices follow from the seed.

    >>> first, second = steered_by(1), steered_by(1)
    >>> [first(10) for _ in range(5)] == [second(10) for _ in range(5)]
    True
    """
    numbers = count()

    def draw(below: int) -> int:
        digest = hashlib.sha256(f"{seed}:{next(numbers)}".encode()).digest()
        return int.from_bytes(digest, "big") % below

    return draw
