"""The published mechanisms do what the paper says, to its own examples, and what its code does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.authors import to_the_nearer_bound
from experiments.deviations import AUTHORS, TEXT, Deviation
from experiments.intervals import Floats, Generator
from experiments.published import FUNCTIONS, Function, Published
from experiments.published_sample import PublishedSample

EXAMPLE = np.array([2.0, 3.0, 7.0, 8.0, 10.0])
PUBLIC = (0.0, 100.0)


def rng(seed: int = 1) -> Generator:
    return np.random.default_rng(seed)


def interval(function: Function, epsilon: float = 1.0) -> Published:
    return Published("interval", function, epsilon)


def test_the_papers_example_of_min_and_max_has_its_borders_and_scores() -> None:
    smallest, largest = (interval(f).intervals(EXAMPLE) for f in ("min", "max"))
    assert smallest.low.tolist() == largest.low.tolist() == [2.0, 2.5, 5.0, 7.5, 9.0]
    assert largest.high[-1] == 10.0
    assert smallest.scores.tolist() == [0, -1, -2, -3, -4]
    assert largest.scores.tolist() == [-4, -3, -2, -1, 0]


def test_the_papers_example_of_a_mean_has_steps_of_its_sensitivity_around_it() -> None:
    found = interval("mean").intervals(EXAMPLE)
    assert interval("mean").sensitivity(EXAMPLE) == pytest.approx(1.6)
    held = int(np.argmax(found.scores))
    assert (found.low[held] + found.high[held]) / 2 == pytest.approx(6.0)
    assert (found.high - found.low)[1:-1] == pytest.approx(1.6)


def test_the_papers_example_of_a_sum_has_steps_of_ten_around_thirty() -> None:
    found = interval("sum").intervals(EXAMPLE)
    assert found.low.tolist() == [10, 15, 25, 35, 45]
    assert found.high[-1] == 50
    assert found.scores.tolist() == [-2, -1, 0, -1, -2]


def test_the_papers_example_of_a_threshold_has_its_scores() -> None:
    published = Published("threshold", "sum", 1.0, target=30.0, falloff=3)
    found = published.intervals(EXAMPLE)
    assert found.low.tolist() == [10, 15, 25, 30, 35, 45]
    assert found.scores.tolist() == [-2, -1, 0, -4, -8, -12]
    assert published.rate == pytest.approx(1 / 6)


def test_a_target_below_the_value_makes_values_below_it_worse() -> None:
    found = Published("threshold", "sum", 1.0, target=25.0, falloff=2).intervals(EXAMPLE)
    below = found.high <= 25
    assert found.scores[~below].tolist() == [0, -1, -2]
    assert found.scores[below].tolist() == [-6, -3]


@pytest.mark.parametrize(
    ("function", "expected"), [("min", 8.0), ("max", 8.0), ("sum", 10.0), ("mean", 1.6)]
)
def test_sensitivities_are_the_papers(function: Function, expected: float) -> None:
    assert interval(function).sensitivity(EXAMPLE) == pytest.approx(expected)


def test_chances_are_lengths_times_the_exponential_of_the_score() -> None:
    published = interval("max", epsilon=2.0)
    found = published.intervals(EXAMPLE)
    weights = np.array([0.5, 2.5, 2.5, 1.5, 1.0]) * np.exp([-4, -3, -2, -1, 0])
    assert found.chances(published.rate) == pytest.approx(weights / weights.sum())
    drawn = published.draws(EXAMPLE, 50_000, rng())
    counts, _ = np.histogram(drawn, [*found.low, 10.0])
    assert counts / 50_000 == pytest.approx(weights / weights.sum(), abs=0.01)


def test_bounds_are_extended_by_a_share_of_the_range_at_either_side() -> None:
    assert Published("interval", "max", 1.0, extension=0.15).domain(EXAMPLE) == (0.8, 11.2)


def test_public_bounds_replace_those_of_the_data() -> None:
    assert Published("laplace", "max", 1.0, bounds=PUBLIC).sensitivity(EXAMPLE) == 100


@pytest.mark.parametrize("kind", ["laplace", "interval"])
def test_constant_data_is_released_exactly(kind: str) -> None:
    """One of the faults: without any range there is no noise."""
    constant = np.full(20, 7.0)
    published = Published("laplace" if kind == "laplace" else "interval", "mean", 0.1)
    assert published.draws(constant, 10, rng()).tolist() == [7.0] * 10


def test_the_codes_intervals_of_a_mean_are_symmetric_where_the_texts_are_not() -> None:
    """The accident behind the published accuracy of the waiting time."""
    skewed = np.array([1.0, 2.0, 3.0, 2.0, 600.0] * 4)
    by_text, by_code = (
        Published("interval", "mean", 0.1, deviations=d).draws(skewed, 4_000, rng())
        for d in (TEXT, AUTHORS)
    )
    assert by_code.max() < 2 * skewed.mean() + 30
    assert by_text.max() > 500


def test_the_codes_loop_stops_at_the_nearer_bound() -> None:
    found = to_the_nearer_bound(10.0, 4.0, 0.0, 100.0)
    assert found.low.tolist() == [0.0, 4.0, 8.0, 12.0, 16.0]
    assert found.high[-1] == 20.0


def test_clamping_puts_much_of_the_chance_on_the_true_maximum() -> None:
    published = Published("laplace", "max", 0.1, deviations=frozenset({Deviation.CLAMPED}))
    drawn = published.draws(EXAMPLE, 4_000, rng())
    assert np.mean(drawn == 10.0) > 0.45


def test_whole_numbers_are_all_that_the_codes_intervals_give() -> None:
    drawn = Published("interval", "max", 0.1, 0.15, AUTHORS).draws(EXAMPLE, 500, rng())
    inside = drawn[(drawn > 0.8) & (drawn < 11.2)]  # results outside the bounds are clamped
    assert (inside == np.trunc(inside)).all()


def test_cases_without_a_value_make_the_codes_noise_smaller() -> None:
    half_missing = np.concatenate((EXAMPLE, np.full(5, np.nan)))
    by_text = Published("laplace", "mean", 0.1).sensitivity(half_missing)
    by_code = Published("laplace", "mean", 0.1, deviations=AUTHORS).sensitivity(half_missing)
    assert by_code == by_text / 2


def test_sample_and_aggregate_leaves_out_cases_in_the_code_only() -> None:
    values = np.arange(94) < 47
    by_text, by_code = (
        PublishedSample(0.1, d).results(values.astype(np.float64)) for d in (TEXT, AUTHORS)
    )
    assert len(by_text) == len(by_code) == 50
    assert by_code.sum() == 47  # the first 50 cases, one in each bucket
    assert by_text.mean() == pytest.approx(0.5, abs=0.05)


# Hundredths: intervals are as wide as the largest value, of which a range has no end of tiny ones.
@given(
    values=st.lists(st.integers(-10_000, 10_000).map(lambda n: n / 100), min_size=1, max_size=30),
    function=st.sampled_from(FUNCTIONS),
    extension=st.sampled_from([0.0, 0.15, 0.3]),
    target=st.floats(-150, 150),
)
def test_intervals_cover_the_range_without_gaps(
    values: list[float], function: Function, extension: float, target: float
) -> None:
    data: Floats = np.array(values)
    for kind in ("interval", "threshold"):
        published = Published(
            "threshold" if kind == "threshold" else "interval",
            function, 0.5, extension, target=target, falloff=4,
        )  # fmt: skip
        if published.sensitivity(data) <= 0:
            continue  # the paper's sensitivity of a sum of negative values
        found = published.intervals(data)
        assert (found.high >= found.low).all()
        assert found.low[1:] == pytest.approx(found.high[:-1], abs=1e-6)
        assert found.scores.max() <= 0
        assert found.chances(published.rate).sum() == pytest.approx(1)
