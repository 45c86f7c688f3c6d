"""How often the intervals of a smoothed series are right, and how far off its values are.

`python -m benchmarks.smoothing coverage` draws releases of made-up series, most of which break
the model, and counts how often *all* intervals of a series hold; `... held-out` does so for series
that took no part in choosing the model, but in choosing how much intervals are widened, and
`... fresh` for series that took part in nothing. A number behind says how many of each.

What smoothing is worth on the paper's case study is part of `pappi experiments run sepsis`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.utility_values import Floats
from pappi.mechanisms.evidence import Bins
from pappi.mechanisms.smoothing import smooth

RUNS = 1_000
"""So that a share of 95 % is known to within 1.4 points."""

SIZES = (0.5, 5.0, 50.0, 500.0)
OTHER_SIZES = (1.0, 8.0, 30.0, 200.0)
"""Cases per period times ε."""

Shape = Callable[[np.random.Generator], Floats]


def _normal(centre: float, spread: float, periods: int = 20) -> Shape:
    return lambda rng: np.clip(rng.normal(centre, spread, periods), 0, 1)


def _fixed(*shares: float) -> Shape:
    return lambda _: np.array(shares)


SHAPES: dict[str, Shape] = {
    "all equal": _fixed(*[0.3] * 20),
    "alike": _normal(0.3, 0.05),
    "low": _normal(0.03, 0.015),
    "spread": _normal(0.5, 0.15),
    "trend": _fixed(*np.linspace(0.2, 0.7, 20)),
    "jump": _fixed(*[0.2] * 10, *[0.6] * 10),
    "one far away": _fixed(*[0.2] * 19, 0.9),
    "one at 0": _fixed(*[0.65] * 19, 0.0),
    "three at 0": _fixed(*[0.65] * 17, 0.0, 0.0, 0.0),
    "anything": lambda rng: rng.uniform(0, 1, 20),
    "2 alike": _normal(0.4, 0.08, 2),
    "3 alike": _normal(0.4, 0.08, 3),
    "one of 3 far": _fixed(0.2, 0.2, 0.8),
    "60 alike": _normal(0.4, 0.08, 60),
}


# Written down after the model was fixed: the others took part in choosing it.
HELD_OUT: dict[str, Shape] = {
    "two levels": lambda rng: np.where(rng.random(16) < 0.7, 0.35, 0.75),
    "seasonal": lambda _: 0.4 + 0.2 * np.sin(np.arange(24) * np.pi / 6),
    "skewed": lambda rng: rng.beta(2, 8, 18),
    "heavy tails": lambda rng: np.clip(0.6 + 0.06 * rng.standard_t(3, 30), 0, 1),
    "random walk": lambda rng: np.clip(0.5 + np.cumsum(rng.normal(0, 0.05, 20)), 0, 1),
    "two of 8 far": _fixed(*[0.15] * 6, 0.7, 0.95),
    "quarters": lambda rng: rng.binomial(4, 0.7, 15) / 4,
    "4 spread": lambda rng: rng.uniform(0.1, 0.6, 4),
}


# Written down after intervals had been widened for those above, and run once.
FRESH: dict[str, Shape] = {
    "falling": lambda rng: np.sort(rng.beta(3, 3, 12))[::-1],
    "one of 5 far": _fixed(0.45, 0.5, 0.55, 0.5, 0.05),
    "Laplace": lambda rng: np.clip(rng.laplace(0.4, 0.07, 24), 0, 1),
    "three levels": lambda rng: rng.choice([0.1, 0.3, 0.8], 18, p=[0.6, 0.3, 0.1]),
    "all at 0": _fixed(*[0.0] * 10),
    "36 months": lambda rng: np.clip(
        0.5 + np.cumsum(rng.normal(0, 0.02, 36)) + rng.normal(0, 0.03, 36), 0, 1
    ),
    "2 apart": _fixed(0.3, 0.6),
    "anything, 7": lambda rng: rng.uniform(0, 1, 7),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one series: whether all intervals hold, and square errors."""

    held: bool
    raw: float
    smoothed: float


def outcome(shares: Floats, sizes: Floats, rng: np.random.Generator) -> Outcome:
    noise = rng.laplace(0, 1, (2, len(shares)))
    sums = np.stack((shares, 1 - shares)) * sizes + noise
    evidence = [Bins(float(first), float(second)) for first, second in sums.T]
    found = smooth(evidence)
    held = bool(((shares >= found.low) & (shares <= found.high)).all())
    raw = np.array([each.likely[0] for each in evidence])
    errors = (float(np.mean((values - shares) ** 2)) for values in (raw, found.means))
    return Outcome(held, *errors)


def outcomes(shape: Shape, size: float, runs: int, *, uneven: bool) -> Iterator[Outcome]:
    rng = np.random.default_rng(7)
    for _ in range(runs):
        shares = shape(rng)
        spread = rng.normal(-0.5, 1, len(shares)) if uneven else rng.normal(0, 0.2, len(shares))
        yield outcome(shares, size * np.exp(spread), rng)


def coverage(runs: int = RUNS) -> None:
    print("how often all intervals hold, and the error raw > smoothed, by cases · ε per period")
    held = []
    for uneven in (False, True):
        print(f"{'uneven' if uneven else 'even'} periods".ljust(14), *(f"{s:>22}" for s in SIZES))
        for name, shape in SHAPES.items():
            cells = []
            for size in SIZES:
                found = list(outcomes(shape, size, runs, uneven=uneven))
                held.append(float(np.mean([each.held for each in found])))
                cells.append(_cell(held[-1], found))
            print(name.ljust(14), *cells, flush=True)
    print(f"on average {np.mean(held):.3f}, from {min(held):.3f} to {max(held):.3f}")


def held_out(runs: int = RUNS) -> None:
    _others(HELD_OUT, runs)


def fresh(runs: int = RUNS) -> None:
    _others(FRESH, runs)


def _others(shapes: Mapping[str, Shape], runs: int) -> None:
    held = []
    print("by cases · ε per period".ljust(14), *(f"{size:>22}" for size in OTHER_SIZES))
    for name, shape in shapes.items():
        cells = []
        for size in OTHER_SIZES:
            rng, found = np.random.default_rng(20261), []
            for _ in range(runs):
                shares = shape(rng)
                sizes = size * rng.gamma(1.5, 1 / 1.5, len(shares))
                found.append(outcome(shares, sizes, rng))
            held.append(float(np.mean([each.held for each in found])))
            cells.append(_cell(held[-1], found))
        print(name.ljust(14), *cells, flush=True)
    print(f"on average {np.mean(held):.3f}, from {min(held):.3f} to {max(held):.3f}")


def _cell(held: float, found: Sequence[Outcome]) -> str:
    raw, better = (_root(found, which) for which in ("raw", "smoothed"))
    return f"{held:6.3f} {raw:6.4f} > {better:6.4f}"


def _root(found: Sequence[Outcome], which: str) -> float:
    return float(np.sqrt(np.mean([getattr(each, which) for each in found])))


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["coverage"]
    several = {"coverage": coverage, "held-out": held_out, "fresh": fresh}
    several[what](*map(int, rest[:1]))
