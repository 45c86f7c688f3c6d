"""The utility benchmark measures what is released, and compares it with what the paper says."""

from __future__ import annotations

import csv
from fractions import Fraction
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from benchmarks import utility
from benchmarks.permute_and_flip import flipped_law
from benchmarks.utility_decisions import ours_right, papers_right
from benchmarks.utility_errors import mean_square, mechanism_of, shares, value_of_share
from benchmarks.utility_noise import raised_laplace, raised_noise
from benchmarks.utility_papers import aimed, around, by_rank, clamped_laplace
from benchmarks.utility_values import Cell, all_cells
from pappi.mechanisms import LaplaceSum, StepLaw, TwoBin, TwoBinRatio
from pappi.mechanisms.interval import RankScored
from pappi.values import Bounds

EXAMPLE = np.array([2.0, 3, 7, 8, 10])


def cell(name: str, n: int, epsilon: Fraction, *, loose: bool = False) -> Cell:
    (found,) = (
        each
        for each in all_cells(loose=loose)
        if (each.distribution.name, each.n, each.epsilon) == (name, n, epsilon)
    )
    return found


SOME = cell("pareto", 50, Fraction(1, 2))
LOOSE = cell("pareto", 50, Fraction(1, 2), loose=True)


# --- the paper's side: its own figures, with its own bounds ------------------------------


def test_the_papers_intervals_are_those_of_its_figure() -> None:
    assert by_rank(EXAMPLE, 2.0, 10.0).high.tolist() == [2.5, 5.0, 7.5, 9.0, 10.0]
    mean = around(6.0, 1.6, 2.0, 10.0)
    assert mean.high[2] - mean.low[2] == pytest.approx(1.6)
    assert (mean.low[2] + mean.high[2]) / 2 == pytest.approx(6.0)
    assert around(30.0, 10.0, 10.0, 50.0).scores.tolist() == [-2, -1, 0, -1, -2]


def test_the_papers_threshold_scores_are_those_of_its_figure() -> None:
    plain = around(30.0, 10.0, 10.0, 50.0)
    assert aimed(plain, 30.0, 30.0, 3).scores.tolist() == [-2, -1, 0, -4, -8, -12]


def test_a_target_that_no_interval_crosses_splits_none() -> None:
    assert len(aimed(around(30.0, 10.0, 10.0, 50.0), 30.0, 35.0, 3).scores) == 5


def test_the_papers_errors_agree_with_draws() -> None:
    rng = np.random.default_rng(5)
    noise = np.clip(rng.laplace(0, 2, 400_000), -1, 3)
    assert clamped_laplace(2, 1, 3) == pytest.approx(np.mean(noise**2), rel=0.01)
    intervals = by_rank(EXAMPLE, 0.0, 20.0)
    drawn = rng.choice(len(intervals.low), 400_000, p=intervals.chances(0.25))
    points = rng.uniform(intervals.low[drawn], intervals.high[drawn])
    square = np.mean((points - 10) ** 2)
    assert intervals.mean_square(10.0, 0.25) == pytest.approx(square, rel=0.01)


# --- our side: what is summed is what would be released ----------------------------------


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("centre", [0.0, 7.0, 300.0])
def test_nodes_carry_the_law_of_raised_noise(centre: float, scale: float) -> None:
    points, weights = raised_noise(centre, scale)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    draws = np.random.default_rng(5).geometric(1 - np.exp(-1 / scale), (2, 400_000))
    raised = np.maximum(centre + draws[0] - draws[1], 0)
    assert weights @ points == pytest.approx(raised.mean(), rel=0.02, abs=0.01)
    assert weights @ points**2 == pytest.approx(np.mean(raised**2.0), rel=0.02, abs=0.01)


def test_quadrature_is_exact_for_what_it_is_used_for() -> None:
    points, weights = raised_laplace(30.0, 10.0)
    assert weights @ (points - 30) ** 2 == pytest.approx(clamped_laplace(10, 30, np.inf), rel=1e-6)


@pytest.mark.parametrize("function", ["mean", "share", "ratio"])
def test_the_estimator_for_arrays_is_that_of_two_bins(function: str) -> None:
    mechanism = mechanism_of(function, SOME)
    assert isinstance(mechanism, TwoBin | TwoBinRatio)
    noisy = np.rint(np.random.default_rng(5).laplace(2, 2, (2, 200)) * float(mechanism.scale))
    raised = np.maximum(noisy, 0.0)
    fast = value_of_share(mechanism, shares(raised[0], raised[1], float(mechanism.scale)))
    slow = [mechanism.estimate((int(a), int(b))).value for a, b in noisy.T]
    assert fast.tolist() == pytest.approx(slow)


def test_a_noisy_sum_is_raised_to_zero_and_no_more() -> None:
    mechanism = mechanism_of("sum", SOME)
    assert isinstance(mechanism, LaplaceSum)
    step = float(mechanism.lattice.step)
    assert mechanism.estimate((-7,)).value == 0
    assert mechanism.estimate((10**15,)).value == pytest.approx(step * 10**15)


@pytest.mark.parametrize("function", ["mean", "sum", "share", "ratio"])
def test_our_errors_agree_with_releases(function: str) -> None:
    _agrees_with_releases(function, SOME)


@pytest.mark.parametrize("function", ["mean", "sum", "max"])
def test_our_errors_with_loose_bounds_agree_with_releases(function: str) -> None:
    _agrees_with_releases(function, LOOSE)


@pytest.mark.parametrize("function", ["max", "min", "median"])
def test_our_errors_by_rank_are_the_sum_over_all_points(function: str) -> None:
    """Not compared with draws: far tails, one release in a thousand, are most of the error."""
    ((values, truth),) = utility.data_of(function, SOME, 1)
    mechanism = mechanism_of(function, SOME)
    law = mechanism.law(values)
    assert isinstance(mechanism, RankScored)
    assert isinstance(law, StepLaw)
    lengths = np.diff([*law.starts, law.stop])
    chances = np.repeat([weight / law.total for weight in law.weights], lengths)
    points = np.linspace(0, SOME.high, len(chances))
    expected = chances @ (points - truth) ** 2
    assert mean_square(mechanism, values, truth) == pytest.approx(expected)


def _agrees_with_releases(function: str, asked: Cell) -> None:
    ((values, truth),) = utility.data_of(function, asked, 1)
    mechanism, rng = mechanism_of(function, asked), np.random.default_rng(5)
    law = mechanism.law(values)
    found = [mechanism.estimate(law.draw(partial(_below, rng))).value for _ in range(1_500)]
    squares = (np.array(found, dtype=np.float64) - truth) ** 2
    spread = squares.std() / np.sqrt(len(squares))
    assert abs(mean_square(mechanism, values, truth) - squares.mean()) < 4 * spread


def _below(rng: np.random.Generator, limit: int) -> int:
    """Uniform below any limit, from whole words: laws draw from numbers beyond 64 bits."""
    words = limit.bit_length() // 32 + 3
    return int.from_bytes(rng.bytes(4 * words), "big") * limit >> 32 * words


# --- decisions, and the run as a whole ---------------------------------------------------


def test_decisions_are_right_as_often_as_published_and_ours_more_often() -> None:
    values = np.clip(np.random.default_rng(3).normal(100, 25, 200), 0, 200)
    bounds, target = Bounds(Fraction(0), Fraction(200)), float(values.mean()) + 20
    assert papers_right(values, 200, 0.1, target) == pytest.approx(0.868, abs=0.005)
    assert ours_right(values, bounds, Fraction(1, 10), target) > 0.99


def test_a_missed_limit_is_told_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    strict = utility.Question("mean", utility.Limit(geometric=0.1, worst=0.1))
    found = list(utility.compared(strict, 1))
    assert utility.report_errors({strict: found}) == 2
    assert "MISSED" in capsys.readouterr().out
    easy = utility.Question("mean", utility.Limit(geometric=1.0))
    assert utility.report_errors({easy: found}) == 0


def test_the_table_has_a_row_for_every_cell(tmp_path: Path) -> None:
    question = utility.Question("sum", utility.Limit())
    utility.write_table({question: list(utility.compared(question, 1))}, tmp_path / "u" / "t.csv")
    with (tmp_path / "u" / "t.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(all_cells())
    assert {row["bounds"] for row in rows} == {"tight"}


def test_the_law_of_permute_and_flip_is_that_of_all_its_orders() -> None:
    weights = np.array([1.0, 1.0, 0.5, 0.2, 0.05])
    taken = np.zeros(len(weights))
    orders = list(permutations(range(len(weights))))
    for order in orders:
        still = 1.0
        for candidate in order:
            taken[candidate] += still * weights[candidate] / len(orders)
            still *= 1 - weights[candidate]
    assert flipped_law(weights) == pytest.approx(taken, abs=1e-12)
