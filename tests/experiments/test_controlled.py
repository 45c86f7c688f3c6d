"""The paper's samples are reproduced, and its trends come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from experiments.boxes import CODE, OURS, PAPER, Box
from experiments.controlled import controlled
from experiments.deviations import AUTHORS, TEXT
from experiments.reproduction import FAST_RUNS, FILE, compared
from experiments.samples import FILE as SAMPLES
from experiments.samples import samples
from experiments.seeded import generator, randbelow
from experiments.shared_data import VARIABLE
from tests.shared_data import shared_data

RUNS = 400
Boxes = dict[tuple[str, str, str, str, str], Box]


def indexed(boxes: Iterator[Box]) -> Boxes:
    return {(b.experiment, b.panel, b.group, b.mechanism, b.by): b for b in boxes}


@pytest.fixture(scope="module")
def boxes() -> Boxes:
    shared_data(SAMPLES)
    return indexed(controlled(samples(), RUNS))


def test_the_authors_program_is_reproduced_within_its_sampling_error() -> None:
    path = shared_data(FILE)
    found = list(compared(path, samples(), AUTHORS, FAST_RUNS))
    assert len(found) == 864
    assert np.mean([one.reproduced for one in found]) >= 0.95


def test_the_text_alone_does_not_reproduce_it() -> None:
    """The check can fail: deviations of the code are needed, and are found to be."""
    path = shared_data(FILE)
    found = list(compared(path, samples(), TEXT, FAST_RUNS))
    assert np.mean([one.reproduced for one in found]) < 0.6


# --- the paper's trends ---------------------------------------------------------------


@pytest.mark.parametrize("by", [PAPER, CODE])
@pytest.mark.parametrize("function", ["mean", "sum"])
def test_extending_the_bounds_widens_means_and_sums(boxes: Boxes, function: str, by: str) -> None:
    at = [boxes["boundary", function, e, "interval", by].rmse for e in ("0%", "30%")]
    assert at[1] > 1.1 * at[0]


@pytest.mark.parametrize("function", ["min", "max"])
def test_extending_the_bounds_moves_extremes_towards_the_truth(boxes: Boxes, function: str) -> None:
    off = []
    for extension in ("0%", "15%", "30%"):
        box = boxes["boundary", function, extension, "interval", CODE]
        off.append(abs(float(box.drawn.mean()) - box.truth))
    assert off[0] > off[1] > off[2]


@pytest.mark.parametrize("mechanism", ["laplace", "interval"])
def test_the_error_of_a_mean_falls_with_the_number_of_values(boxes: Boxes, mechanism: str) -> None:
    at = [
        boxes["size", "mean, gaussian", f"n = {n}", mechanism, PAPER].rmse for n in (50, 100, 200)
    ]
    assert at[0] > at[1] > at[2]


@pytest.mark.parametrize("epsilon", ["1", "0.1", "0.01"])
@pytest.mark.parametrize("function", ["min", "max"])
def test_interval_beats_laplace_for_extremes_at_every_epsilon(
    boxes: Boxes, function: str, epsilon: str
) -> None:
    for by in (PAPER, CODE):
        laplace, interval = (
            boxes["epsilon", function, f"ε = {epsilon}", kind, by].rmse
            for kind in ("laplace", "interval")
        )
        assert interval < 0.8 * laplace


@pytest.mark.parametrize("distribution", ["pareto", "poisson"])
def test_heavy_tails_hurt_the_maximum_of_many_values(boxes: Boxes, distribution: str) -> None:
    few, many = (
        boxes["size", f"max, {distribution}", f"n = {n}", "interval", CODE].rmse for n in (50, 200)
    )
    assert many > 1.2 * few
    gaussian = [
        boxes["size", "max, gaussian", f"n = {n}", "interval", CODE].rmse for n in (50, 200)
    ]
    assert gaussian[1] < gaussian[0]


@pytest.mark.parametrize("function", ["mean", "sum"])
def test_targets_shift_the_mass_to_the_truths_side(boxes: Boxes, function: str) -> None:
    panel = f"{function}, gaussian"
    none = boxes["threshold", panel, "none", "interval", PAPER].quartiles[1]
    below = boxes["threshold", panel, "below", "threshold", PAPER]
    above = boxes["threshold", panel, "above", "threshold", PAPER]
    assert below.quartiles[1] > none > above.quartiles[1]
    for box in (below, above):
        assert box.right_side is not None
        assert box.right_side > 0.7


def test_laplace_beats_interval_for_the_mean_at_larger_epsilons(boxes: Boxes) -> None:
    for epsilon in ("1", "0.1"):
        laplace, interval = (
            boxes["epsilon", "mean", f"ε = {epsilon}", kind, PAPER].rmse
            for kind in ("laplace", "interval")
        )
        assert laplace < interval


# --- ours -----------------------------------------------------------------------------


def test_ours_beat_the_published_interval_for_extremes_of_two_hundred_values(boxes: Boxes) -> None:
    for function in ("min", "max"):
        panel = f"{function}, gaussian"
        theirs = boxes["size", panel, "n = 200", "interval", CODE].rmse
        assert boxes["size", panel, "n = 200", "interval", OURS].rmse < theirs


@pytest.mark.parametrize("n", [50, 100, 200])
def test_ours_beat_sample_and_aggregate_for_percentages(boxes: Boxes, n: int) -> None:
    for distribution in ("gaussian", "pareto", "poisson"):
        place = ("derived", distribution, f"n = {n}")
        theirs = boxes[*place, "sample-and-aggregate", CODE].rmse
        assert boxes[*place, "two-bin", OURS].rmse < theirs


# --- without the data, and once more --------------------------------------------------


def test_without_the_papers_samples_seeded_ones_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    first, second = samples(), samples()
    assert "drawn anew" in first.source
    for name, values in first.values.items():
        assert len(values) == 200
        assert (values == second.values[name]).all()
        assert (values == np.trunc(values)).all()


def test_the_same_run_gives_the_same_boxes() -> None:
    found = samples()
    for one, two in zip(controlled(found, 3), controlled(found, 3), strict=True):
        assert one.row() == two.row()


def test_seeded_chances_are_even_below_any_limit() -> None:
    draw = randbelow(generator("even"))
    for limit in (1, 2, 3, 7, 256, 257, 2**192):
        drawn = [draw(limit) for _ in range(300)]
        assert 0 <= min(drawn) <= max(drawn) < limit
        assert abs(float(np.mean([2 * d / limit for d in drawn])) - 1) < 0.2 + 1 / limit
