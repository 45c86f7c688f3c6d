"""How much less our mechanisms err than the paper's, at the same epsilon and bounds.

    python -m benchmarks.utility [RUNS]

For every function: the root mean square error of ours divided by that of the
better of the paper's Laplace and interval mechanisms (its split sums for shares
and ratios), over Gaussian, Pareto and Poisson values × n × ε with n·ε ≥ 10. The
paper's side is told the number of cases, which ours keeps private, and gets
public bounds, which it did not use: with bounds from the data it is not private.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.choose import mechanism_for
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

Values = NDArray[np.float64]
Samples = NDArray[np.float64]

RNG = np.random.default_rng(1)
SIZES = (10, 50, 100, 200, 1_000)
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1))
WORTH_ASKING = 10

DISTRIBUTIONS: dict[str, tuple[int, Callable[[int], Values]]] = {
    "gaussian": (200, lambda n: RNG.normal(100, 25, n)),
    "pareto": (200, lambda n: 10 * (1 + RNG.pareto(2, n))),
    "poisson": (20, lambda n: RNG.poisson(5, n).astype(np.float64)),
}


def main(runs: int) -> None:
    print("error of ours / of the paper's better mechanism, where n·ε ≥ 10")
    print(f"{'function':<10} {'geometric mean':>14} {'worst':>8} {'better in':>10}")
    for function in ("mean", "sum", "min", "max", "median", "share", "ratio"):
        # A median of whole numbers is often hit exactly; its ratio counts as 1/1000.
        ratios = np.maximum(list(_ratios(function, runs)), 1e-3)
        middle, worst = np.exp(np.log(ratios).mean()), ratios.max()
        print(f"{function:<10} {middle:>14.2f} {worst:>8.2f} {(ratios < 1).mean():>9.0%}")


def _ratios(function: str, runs: int) -> Iterator[float]:
    for high, draw in DISTRIBUTIONS.values():
        for n in SIZES:
            for epsilon in EPSILONS:
                if n * epsilon >= WORTH_ASKING:
                    values = np.clip(draw(n), 0, high)
                    yield _compared(function, values, high, epsilon, runs)


def _compared(function: str, values: Values, high: int, epsilon: Fraction, runs: int) -> float:
    if function in ("share", "ratio"):
        values, high = (values > np.median(values)).astype(np.float64), 1
    truth = _truth(function, values)
    ours = _released(_ours(function, high, epsilon), _inputs(function, values), runs)
    papers = _papers(function, values, high, float(epsilon), runs)
    return _rmse(ours, truth) / min(_rmse(theirs, truth) for theirs in papers)


def _truth(function: str, values: Values) -> float:
    if function in ("share", "ratio"):
        return float(values.mean())
    return float(getattr(np, function)(values))


def _ours(function: str, high: int, epsilon: Fraction) -> Mechanism:
    bounds, adjacency = Bounds(Fraction(0), Fraction(high)), Adjacency.ADD_REMOVE
    if function == "ratio":
        one = Fraction(1)
        return TwoBinRatio(UNIT_INTERVAL, epsilon, adjacency, True, one, UNIT_INTERVAL)  # noqa: FBT003
    return mechanism_for(function, bounds, epsilon, adjacency, integral=False)


def _inputs(function: str, values: Values) -> Values:
    return np.column_stack([values, np.ones_like(values)]) if function == "ratio" else values


def _released(mechanism: Mechanism, values: Values, runs: int) -> Samples:
    law = [mechanism.release(values) for _ in range(runs)]
    return np.array([mechanism.estimate(noisy).value for noisy in law])


def _papers(
    function: str, values: Values, high: int, epsilon: float, runs: int
) -> Iterator[Samples]:
    """The paper's mechanisms, in floats, on public bounds [0, high] and a known n."""
    n, laplace = len(values), RNG.laplace
    match function:
        case "mean":
            yield np.clip(values.mean() + laplace(0, high / n / epsilon, runs), 0, high)
            yield _stepped(values.mean(), high / n, high, epsilon, runs)
        case "sum":
            yield np.clip(values.sum() + laplace(0, high / epsilon, runs), 0, high * n)
            yield _stepped(values.sum(), high, high * n, epsilon, runs)
        case "min":
            yield high - _ranked(high - values, high, epsilon, runs)
        case "max":
            yield _ranked(values, high, epsilon, runs)
        case "median":
            yield np.clip(np.median(values) + laplace(0, high / epsilon, runs), 0, high)
        case "share" | "ratio":
            part = values.sum() + laplace(0, 2 / epsilon, runs)
            whole = n + laplace(0, 2 / epsilon, runs)
            yield np.clip(part / np.maximum(whole, 1), 0, 1)


def _stepped(centre: float, step: float, high: float, epsilon: float, runs: int) -> Samples:
    """Its interval mechanism for means and sums: steps around the value, one score less each."""
    cells = np.arange(-np.ceil(centre / step), np.ceil((high - centre) / step) + 1)
    low = np.clip(centre + (cells - 0.5) * step, 0, high)
    top = np.clip(centre + (cells + 0.5) * step, 0, high)
    return _drawn(low, top, -np.abs(cells), epsilon, runs)


def _ranked(values: Values, high: float, epsilon: float, runs: int) -> Samples:
    """Its interval mechanism for the maximum: intervals between values, by rank from the top."""
    ordered = np.unique(values)
    borders = np.concatenate([[0.0], (ordered[1:] + ordered[:-1]) / 2, [high]])
    scores = -np.arange(len(ordered) - 1, -1, -1.0)
    return _drawn(borders[:-1], borders[1:], scores, epsilon, runs)


def _drawn(low: Values, high: Values, scores: Values, epsilon: float, runs: int) -> Samples:
    weights = (high - low) * np.exp(epsilon * scores / 2)
    cells = RNG.choice(len(low), runs, p=weights / weights.sum())
    return RNG.uniform(low[cells], high[cells])


def _rmse(samples: Samples, truth: float) -> float:
    return float(np.sqrt(np.mean((samples - truth) ** 2)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
