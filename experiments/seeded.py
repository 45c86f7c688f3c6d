"""Seeded chances, for simulations that can be repeated. Nothing drawn from them is a release.

Every box and every series has a generator of its own, so that what one of them shows does not
depend on which others were asked for.
"""

from __future__ import annotations

import zlib

import numpy as np

from experiments.intervals import Floats, Generator
from pappi.mechanisms import Mechanism, RandBelow, Values

SEED = 7


def generator(label: str, seed: int = SEED) -> Generator:
    """The chances that belong to a label."""
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def randbelow(rng: Generator) -> RandBelow:
    """Whole numbers of any size below a limit, for the samplers that releases use."""

    def draw(limit: int) -> int:
        bits = (limit - 1).bit_length()
        size, spare = -(-bits // 8), -bits % 8
        while True:
            number = int.from_bytes(rng.bytes(size), "big") >> spare
            if number < limit:
                return number

    return draw


def simulated(mechanism: Mechanism, values: Values, runs: int, rng: Generator) -> Floats:
    """What `release` would have given, so many times: the same law, sampler and estimate."""
    law, chance = mechanism.law(values), randbelow(rng)
    estimates = (mechanism.estimate(law.draw(chance)).value for _ in range(runs))
    return np.array([np.nan if value is None else value for value in estimates])
