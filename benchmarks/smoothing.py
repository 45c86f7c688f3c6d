"""How often the intervals of a smoothed series are right, and how far off its values are.

`python -m benchmarks.smoothing drawn` draws kinds of series at random, most of which break the
model, and counts how often *all* intervals of a series hold, and how many of them do. A number
behind says how many series of each kind, another one which kinds: a seed. Seeds other than that of
the published table may be used for tuning, that one may not. `... sums` and `... known` do the same
for sums, and for shares of a public number of cases: numbers with noise instead of two sums.

`... coverage`, `... held-out` and `... fresh` are made-up series that were used to choose the model
and how sure its intervals are: what they show is flattering.

What smoothing is worth on the paper's case study is part of `python -m experiments sepsis`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.utility_values import Floats
from pappi.series import smoothed_values
from pappi.series.likelihood import rough_estimate
from pappi.values import LaplaceLikelihood, Likelihood, TwoBinLikelihood

RUNS = 1_000
"""So that a share of 95 % is known to within 1.4 points."""

LEAST, MOST = 93, 98
"""Percent of the series whose intervals should all hold, for a stated 95 %."""

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


# Written down after the model was fixed; they chose how much its intervals were widened.
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


# Written down after that; they chose how model and releases share what may be missed.
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


# --- kinds of series, drawn at random -----------------------------------------------------------

SEED = 20_267
KINDS_DRAWN = 40
INFORMED = 5.0
"""Cases per period times ε, from which a release by itself says something."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A kind of series: its true values, and the sizes of its periods, times ε."""

    name: str
    shape: Shape
    size: float
    even: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Setting:
        name = str(rng.choice(list(FAMILIES)))
        periods = int(rng.choice([2, 3, 5, 8, 12, 20, 24, 36]))
        size = float(np.exp(rng.uniform(np.log(1.0), np.log(300.0))))
        even = float(rng.uniform(0.8, 4.0))
        return cls(f"{name}, {periods}", FAMILIES[name](rng, periods), size, even)

    def outcomes(self, runs: int, seed: int, kind: Kind) -> Iterator[Outcome]:
        rng = np.random.default_rng(seed)
        for _ in range(runs):
            shares = self.shape(rng)
            sizes = self.size * rng.gamma(self.even, 1 / self.even, len(shares))
            yield kind(shares, sizes, rng)


def _alike(rng: np.random.Generator, periods: int) -> Shape:
    return _normal(rng.uniform(0.05, 0.95), np.exp(rng.uniform(np.log(0.01), np.log(0.3))), periods)


def _beta(rng: np.random.Generator, periods: int) -> Shape:
    a, b = rng.uniform(0.7, 8, 2)
    return lambda draw: draw.beta(a, b, periods)


def _levels(rng: np.random.Generator, periods: int) -> Shape:
    levels = rng.uniform(0, 1, rng.integers(2, 5))
    return lambda draw: draw.choice(levels, periods)


def _walk(rng: np.random.Generator, periods: int) -> Shape:
    start, step = rng.uniform(0.1, 0.9), rng.uniform(0.01, 0.1)
    return lambda draw: np.clip(start + np.cumsum(draw.normal(0, step, periods)), 0, 1)


def _trend(rng: np.random.Generator, periods: int) -> Shape:
    first, last, noise = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0, 0.1)
    line = np.linspace(first, last, periods)
    return lambda draw: np.clip(line + draw.normal(0, noise, periods), 0, 1)


def _some_far(rng: np.random.Generator, periods: int) -> Shape:
    level, other = rng.uniform(0, 1, 2)
    far = np.arange(periods) < max(1, round(periods * rng.uniform(0.05, 0.3)))
    return lambda draw: np.clip(np.where(far, other, level) + draw.normal(0, 0.02, periods), 0, 1)


def _heavy(rng: np.random.Generator, periods: int) -> Shape:
    level, scale = rng.uniform(0.1, 0.9), rng.uniform(0.02, 0.15)
    return lambda draw: np.clip(level + scale * draw.standard_t(2.5, periods), 0, 1)


def _equal(rng: np.random.Generator, periods: int) -> Shape:
    return _fixed(*[float(rng.choice([0.0, 1.0, rng.uniform()]))] * periods)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Shape]] = {
    "alike": _alike,
    "beta": _beta,
    "levels": _levels,
    "walk": _walk,
    "trend": _trend,
    "some far": _some_far,
    "heavy tails": _heavy,
    "all equal": _equal,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one series: whether all intervals hold, how many, how wide they are; square errors."""

    held: bool
    each: float
    wide: float
    raw: float
    smoothed: float


Kind = Callable[[Floats, Floats, np.random.Generator], Outcome]
"""What is released of shares of these sizes, and what smoothing makes of it."""


def outcome(shares: Floats, sizes: Floats, rng: np.random.Generator) -> Outcome:
    noise = rng.laplace(0, 1, (2, len(shares)))
    sums = np.stack((shares, 1 - shares)) * sizes + noise
    pairs = [(float(first), float(second)) for first, second in sums.T]
    raw = np.array([rough_estimate(TwoBinLikelihood(*pair))[0] for pair in pairs])
    return _compared(shares, raw, [TwoBinLikelihood(*pair, 0.0, 1.0) for pair in pairs])


def of_sums(shares: Floats, sizes: Floats, rng: np.random.Generator) -> Outcome:
    """Sums that are not negative, in units of their noise."""
    sums = shares * sizes
    raw = sums + rng.laplace(0, 1, len(sums))
    return _compared(sums, raw, [LaplaceLikelihood(float(at), 1.0, 0.0, None) for at in raw])


def of_known_sizes(shares: Floats, sizes: Floats, rng: np.random.Generator) -> Outcome:
    raw = shares + rng.laplace(0, 1 / sizes)
    released = zip(raw, sizes, strict=True)
    return _compared(
        shares, raw, [LaplaceLikelihood(float(z), 1 / float(n), 0.0, 1.0) for z, n in released]
    )


def _compared(truth: Floats, raw: Floats, released: Sequence[Likelihood]) -> Outcome:
    found = smoothed_values(released)
    ends = np.array([(one.interval.low, one.interval.high) for one in found], dtype=np.float64)
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    values = np.array([one.value for one in found])
    errors = (float(np.mean((each - truth) ** 2)) for each in (raw, values))
    return Outcome(
        bool(held.all()), float(held.mean()), float(np.ptp(ends, axis=1).mean()), *errors
    )


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


def drawn(runs: int = RUNS, seed: int = SEED) -> None:
    _drawn(outcome, runs, seed)


def sums(runs: int = RUNS, seed: int = SEED) -> None:
    _drawn(of_sums, runs, seed)


def known(runs: int = RUNS, seed: int = SEED) -> None:
    _drawn(of_known_sizes, runs, seed)


def _drawn(kind: Kind, runs: int, seed: int) -> None:
    """In percent: how often all intervals hold, how many of them do, and how wide they are."""
    rng, held = np.random.default_rng(seed), dict[bool, list[float]]()
    settings = [Setting.drawn(rng) for _ in range(KINDS_DRAWN)]
    for number, one in enumerate(sorted(settings, key=lambda each: each.size)):
        found = list(one.outcomes(runs, seed + number, kind))
        all_of_them, each, wide = (
            100 * float(np.mean([getattr(o, which) for o in found]))
            for which in ("held", "each", "wide")
        )
        held.setdefault(one.size >= INFORMED, []).append(all_of_them)
        size = f"{one.name:16} {one.size:6.1f}"
        print(f"{size} all {all_of_them:5.1f} each {each:5.1f} wide {wide:5.1f}", flush=True)
    for informed, shares in held.items():
        within = sum(LEAST <= share <= MOST for share in shares)
        print(
            f"{'from' if informed else 'below'} {INFORMED:g} cases·ε: {np.mean(shares):.1f} on "
            f"average, {min(shares):.1f} to {max(shares):.1f}; {within} of {len(shares)} within "
            f"{LEAST} to {MOST}"
        )


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
    what, *rest = sys.argv[1:] or ["drawn"]
    several: dict[str, Callable[..., None]] = {
        each.__name__.replace("_", "-"): each
        for each in (drawn, sums, known, coverage, held_out, fresh)
    }
    several[what](*map(int, rest))
