"""What the mechanisms themselves cost: CPU of law, draw, estimate, interval and chance.

    python -m benchmarks.mechanism_time [PERIODS]

Five typical PPIs over 24 months of 500 cases each, at ε = 0.1: mean and max of a time, a
share, a ratio of a part to its whole, a median. Everything but the mechanisms is left out:
no log, no ledger. Fails above 100 ms for 24 periods. Then one block of a set of twenty means:
fails above 2 ms for law and draw.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from itertools import product

import numpy as np

from pappi.mechanisms import (
    Contribution,
    Mechanism,
    PresenceClass,
    TwoBinRatio,
    Values,
    joint_members,
    mechanism_for,
    system_randbelow,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

PERIODS, CASES, ROUNDS = 24, 500, 5
EPSILON = Fraction(1, 10)
MOST_MILLISECONDS = 100.0
SET, MOST_OF_A_SET, BLOCKS = 20, 2.0, 50
HOURS = Bounds(Fraction(0), Fraction(100 * 3600 * 10**6))
COUNTS = Bounds(Fraction(0), Fraction(5))
STAGES = ("law", "draw", "estimate", "interval", "chance")

Asked = dict[str, tuple[Mechanism, float]]


def main(periods: int) -> int:
    spent = min((run(periods) for _ in range(ROUNDS)), key=lambda one: sum(map(sum, one.values())))
    print(f"CPU ms for {periods} periods × {len(spent)} PPIs, {CASES} cases each, ε = {EPSILON}")
    print(f"{'':<8}" + "".join(f"{stage:>10}" for stage in (*STAGES, "together")))
    for name, row in (*spent.items(), ("all", [sum(column) for column in columns(spent)])):
        print(f"{name:<8}" + "".join(f"{1000 * s:10.2f}" for s in (*row, sum(row))))
    whole = 1000 * sum(map(sum, spent.values()))
    allowed = MOST_MILLISECONDS * periods / PERIODS
    print(f"{whole:.1f} ms of {allowed:.0f} allowed")
    return int(whole > allowed) or sets()


def sets() -> int:
    """One draw for twenty means of 500 cases, by ε and by who has which values."""
    print(f"\nCPU ms for one block of a set of {SET} means, {CASES} cases: the least of {BLOCKS}")
    heads = ("law", "draw", "estimates", "first draw")
    print(f"{'ε':<6}{'classes':<10}" + "".join(f"{head:>11}" for head in heads))
    most = 0.0
    for epsilon, sizes in product((Fraction(1), EPSILON), ((SET,), (10, 5, 5), (1,) * SET)):
        first, *blocks = (block(epsilon, sizes) for _ in range(BLOCKS))
        row = (*min(blocks, key=lambda one: one[0] + one[1]), first[1])
        most = max(most, 1000 * (row[0] + row[1]))
        label = "+".join(map(str, sizes)) if len(sizes) < SET else f"{SET} × 1"
        print(f"{float(epsilon):<6g}{label:<10}" + "".join(f"{1000 * s:11.3f}" for s in row))
    print(f"{most:.2f} ms of {MOST_OF_A_SET:g} allowed for law and draw")
    return int(most > MOST_OF_A_SET)


def block(epsilon: Fraction, sizes: tuple[int, ...]) -> tuple[float, ...]:
    mean = Contribution("mean", HOURS, integral=True)
    classes = tuple(PresenceClass((mean,) * size, everyone=False) for size in sizes)
    members = joint_members(classes, epsilon, Adjacency.ADD_REMOVE)
    values = np.full((CASES, SET), 36e9)
    clock = [time.process_time()]
    law = members[0].law(values)
    clock.append(time.process_time())
    noisy = law.draw(system_randbelow)
    clock.append(time.process_time())
    for member in members:
        member.estimate(noisy)
    clock.append(time.process_time())
    return tuple(np.diff(clock).tolist())


def columns(spent: dict[str, list[float]]) -> list[tuple[float, ...]]:
    return list(zip(*spent.values(), strict=True))


def run(periods: int) -> dict[str, list[float]]:
    """CPU seconds of each stage, for each PPI."""
    rng = np.random.default_rng(1)
    spent = {name: [0.0] * len(STAGES) for name in asked()}
    for _ in range(periods):
        data = cases(rng)
        for name, (mechanism, target) in asked().items():
            for stage, seconds in enumerate(timed(mechanism, data[name], target)):
                spent[name][stage] += seconds
    return spent


def timed(mechanism: Mechanism, values: Values, target: float) -> list[float]:
    clock = [time.process_time()]
    mechanism.law(values)
    clock.append(time.process_time())
    noisy = mechanism.release(values)  # the law once more, and a draw from it
    clock.append(time.process_time())
    mechanism.estimate(noisy)
    clock.append(time.process_time())
    mechanism.interval(noisy, 0.95)
    clock.append(time.process_time())
    mechanism.chance_at_most(noisy, target)
    clock.append(time.process_time())
    law, released, *rest = np.diff(clock).tolist()
    return [law, max(released - law, 0.0), *rest]


def asked() -> Asked:
    """Made anew for every period, as a release does."""
    hour, terms = 3600 * 10.0**6, (EPSILON, Adjacency.ADD_REMOVE)
    return {
        "mean": (mechanism_for("mean", HOURS, *terms, integral=True), 24 * hour),
        "max": (mechanism_for("max", HOURS, *terms, integral=True), 72 * hour),
        "share": (mechanism_for("share", UNIT_INTERVAL, *terms, integral=True), 0.8),
        "ratio": (TwoBinRatio(COUNTS, *terms, True, Fraction(100), COUNTS), 30.0),  # noqa: FBT003
        "median": (mechanism_for("median", HOURS, *terms, integral=True), 20 * hour),
    }


def cases(rng: np.random.Generator) -> dict[str, Values]:
    times = rng.gamma(2.0, 12 * 3600 * 1e6, CASES).round()
    wholes = rng.integers(0, 6, CASES).astype(np.float64)
    parts = rng.binomial(wholes.astype(np.int64), 0.3).astype(np.float64)
    return {
        "mean": times,
        "max": times,
        "share": (times < 24 * 3600 * 1e6).astype(np.float64),
        "ratio": np.column_stack((parts, wholes)),
        "median": times,
    }


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else PERIODS))
