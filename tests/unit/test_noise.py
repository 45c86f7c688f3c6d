"""Noise is drawn from exactly the law that is stated."""

from __future__ import annotations

import ast
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pappi
from pappi.mechanisms import RandBelow, discrete_laplace, system_randbelow
from pappi.mechanisms.laws import (
    laplace_deviation,
    laplace_half_width,
    laplace_probability,
    laplace_tail,
)
from pappi.mechanisms.noise import _coin_exp_minus

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(20), Fraction(2**20, 3)]


def chi_square_is_plausible(observed: list[int], expected: list[float]) -> bool:
    """Whether Pearson's statistic stays below its 1 − 10⁻⁶ quantile (Wilson–Hilferty)."""
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    spread = 2 / (9 * (len(observed) - 1))
    deviate = (math.cbrt(statistic / (len(observed) - 1)) - (1 - spread)) / math.sqrt(spread)
    return deviate < 4.75


def binned(draws: list[int], scale: Fraction) -> tuple[list[int], list[float]]:
    """Counts in up to 21 cells of about equal width, outer ones open, and what to expect."""
    width = max(1, math.ceil(scale / 2))
    edges = [width * i for i in range(-9, 11)]
    counts = Counter(sum(z >= edge for edge in edges) for z in draws)

    def at_least(z: int) -> float:
        beyond = laplace_tail(scale, abs(z) + (z <= 0)) / 2
        return beyond if z > 0 else 1 - beyond

    chances = [1.0, *(at_least(edge) for edge in edges), 0.0]
    cells = [(counts[i], chances[i] - chances[i + 1]) for i in range(len(edges) + 1)]
    rare = [cell for cell in cells if cell[1] * len(draws) < 5]
    kept = [cell for cell in cells if cell[1] * len(draws) >= 5]
    kept[0] = (kept[0][0] + sum(c for c, _ in rare), kept[0][1] + sum(p for _, p in rare))
    return [count for count, _ in kept], [chance * len(draws) for _, chance in kept]


@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_discrete_laplace_law(scale: Fraction) -> None:
    draws = [discrete_laplace(scale, system_randbelow) for _ in range(20_000)]
    observed, expected = binned(draws, scale)
    assert chi_square_is_plausible(observed, expected)


def test_the_chi_square_test_notices_ten_per_cent_too_little_noise() -> None:
    draws = [discrete_laplace(Fraction(18), system_randbelow) for _ in range(20_000)]
    observed, expected = binned(draws, Fraction(20))
    assert not chi_square_is_plausible(observed, expected)


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(1, 7), Fraction(2, 3), Fraction(1)])
def test_the_coin_has_bias_exp_minus_x_exactly(ratio: Fraction) -> None:
    """Every course the tosses can take is played, and its exact chance added up."""
    heads = sum(_chance_of_heads_after(successes, ratio) for successes in range(25))
    assert math.isclose(heads, math.exp(-ratio), rel_tol=1e-15)


def _chance_of_heads_after(successes: int, ratio: Fraction) -> Fraction:
    """The chance that exactly so many tosses succeed and the coin then shows heads."""
    asked: list[int] = []

    def scripted(n: int) -> int:
        asked.append(n)
        return 0 if len(asked) <= successes else n - 1

    shown = _coin_exp_minus(ratio.numerator, ratio.denominator, scripted)
    if not shown or len(asked) != successes + 1:  # tails, or a course that cannot happen
        return Fraction(0)
    chances = [Fraction(ratio.numerator, n) for n in asked]
    return math.prod(chances[:-1], start=Fraction(1)) * (1 - chances[-1])


def test_the_coin_stops_at_the_toss_its_randomness_says() -> None:
    answers = iter([0, 0, 5])  # below 2, below 2, not below 2
    assert _coin_exp_minus(2, 3, lambda _: next(answers))
    answers = iter([0, 5])
    assert not _coin_exp_minus(2, 3, lambda _: next(answers))


def test_the_same_coins_give_the_same_noise() -> None:
    def seeded() -> RandBelow:
        rng = np.random.default_rng(3)
        return lambda n: int(rng.integers(n))

    one, two = seeded(), seeded()
    assert [discrete_laplace(Fraction(9), one) for _ in range(50)] == [
        discrete_laplace(Fraction(9), two) for _ in range(50)
    ]


@pytest.mark.outside
def test_randomness_comes_from_the_operating_system_and_only_through_noise() -> None:
    root = Path(pappi.__file__).parent / "mechanisms"
    sources = {"random", "secrets", "uuid", "numpy.random"}
    users = {
        path.name
        for path in root.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in sources
    }
    assert users == {"noise.py"}
    assert system_randbelow.__module__ == "secrets"


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10)])
def test_tails_and_deviation_agree_with_the_sum_of_probabilities(scale: Fraction) -> None:
    masses = {z: laplace_probability(scale, z) for z in range(-800, 801)}
    assert math.isclose(sum(masses.values()), 1, rel_tol=1e-12)
    for k in (0, 1, 2, 7):
        beyond = sum(mass for z, mass in masses.items() if abs(z) >= k)
        assert math.isclose(laplace_tail(scale, k), beyond, rel_tol=1e-9)
    variance = sum(mass * z * z for z, mass in masses.items())
    assert math.isclose(laplace_deviation(scale), math.sqrt(variance), rel_tol=1e-9)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(2**20)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_half_width_is_the_smallest_that_covers(scale: Fraction, confidence: float) -> None:
    width = laplace_half_width(scale, confidence)
    assert laplace_tail(scale, width + 1) <= 1 - confidence + 1e-12
    assert width == 0 or laplace_tail(scale, width) > 1 - confidence - 1e-12
