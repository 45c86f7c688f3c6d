"""The paper's controlled experiments: theirs and ours on the same samples, side by side.

    boundary   bounds from the data, extended by 0, 15 and 30 % at either side
    size       10 to 200 values, of three distributions
    epsilon    1, 0.1 and 0.01
    threshold  targets below and above the truth, and none
    derived    a percentage, by sample-and-aggregate

Theirs come twice: as the text has them, and as the authors' code does, which is what the
published figures show. Ours have the bounds of `samples.BOUNDS`, fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from experiments.boxes import CODE, OURS, PAPER, Box
from experiments.deviations import AUTHORS, TEXT
from experiments.intervals import Floats
from experiments.published import FUNCTIONS, Function, Published, truth_of
from experiments.published_sample import PERCENT, PublishedSample
from experiments.samples import BOUNDS, EPSILONS, NEARBY, SIZES, Samples
from experiments.seeded import generator, simulated
from pappi.mechanisms import Limit, Mechanism, SampleAndAggregate, mechanism_for
from pappi.planning.measurements import DEFAULT_FALLOFF
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

RUNS = 200
FALLOFF = 20  # of the paper's figure
EXTENSIONS = (0.0, 0.15, 0.3)
USUAL_EPSILON, USUAL_SIZE = "0.1", 200
# The paper's figures of min and max have bounds that are extended, though it does not say so.
RANKED_EXTENSION = 0.15
_OUR_BUCKETS = 50  # as many as theirs
_SOURCES = ((PAPER, TEXT), (CODE, AUTHORS))


@dataclass(frozen=True, slots=True)
class Place:
    """Where boxes stand: experiment, panel and group, and the settings they share."""

    experiment: str
    panel: str
    group: str
    distribution: str
    function: Function
    n: int = USUAL_SIZE
    epsilon: str = USUAL_EPSILON
    extension: float = 0.0

    def box(
        self, mechanism: str, by: str, truth: float, drawn: Floats, target: float | None = None
    ) -> Box:
        where = (self.experiment, self.panel, self.group)
        return Box(*where, mechanism, by, truth, drawn, target)

    def label(self, *more: str) -> str:
        return " ".join((self.experiment, self.panel, self.group, *more))


def controlled(found: Samples, runs: int = RUNS) -> Iterator[Box]:
    """All boxes of all experiments."""
    for place in _places():
        yield from _plain(place, found, runs)
    yield from _threshold(found, runs)
    yield from _derived(found, runs)


def _places() -> Iterator[Place]:
    for function in FUNCTIONS:
        for extension in EXTENSIONS:
            group = f"{extension:.0%}"
            yield Place("boundary", function, group, "gaussian", function, extension=extension)
    for function in FUNCTIONS:
        usual = _usual_extension(function)
        for distribution in BOUNDS:
            for n in SIZES:
                panel = f"{function}, {distribution}"
                yield Place("size", panel, f"n = {n}", distribution, function, n, extension=usual)
        for epsilon in EPSILONS:
            yield Place(
                "epsilon", function, f"ε = {epsilon}", "gaussian", function,
                epsilon=epsilon, extension=usual,
            )  # fmt: skip


def _usual_extension(function: Function) -> float:
    return RANKED_EXTENSION if function in ("min", "max") else 0.0


def _plain(place: Place, found: Samples, runs: int) -> Iterator[Box]:
    values = found.first(place.distribution, place.n)
    truth = truth_of(place.function, values)
    for by, deviations in _SOURCES:
        for kind in ("laplace", "interval"):
            published = Published(
                "laplace" if kind == "laplace" else "interval",
                place.function, float(place.epsilon), place.extension, deviations,
            )  # fmt: skip
            drawn = published.draws(values, runs, generator(place.label(kind, by)))
            yield place.box(kind, by, truth, drawn)
    ours = _ours(place)
    drawn = simulated(ours, values, runs, generator(place.label(OURS)))
    yield place.box(ours.name, OURS, truth, drawn)


def _ours(place: Place) -> Mechanism:
    widened = place.extension if place.experiment == "boundary" else 0.0
    bounds = _widened(BOUNDS[place.distribution], Fraction(widened).limit_denominator(100))
    epsilon = Fraction(place.epsilon)
    return mechanism_for(place.function, bounds, epsilon, Adjacency.ADD_REMOVE, integral=False)


def _widened(bounds: Bounds, share: Fraction) -> Bounds:
    extra = share * bounds.width
    return Bounds(bounds.low - extra, bounds.high + extra)


# --- targets --------------------------------------------------------------------------


def _threshold(found: Samples, runs: int) -> Iterator[Box]:
    for distribution in BOUNDS:
        values = found.first(distribution, USUAL_SIZE)
        for function in FUNCTIONS:
            truth = truth_of(function, values)
            away = NEARBY[distribution] * (10 if function == "sum" else 1)
            for group, target in (("none", None), ("below", truth - away), ("above", truth + away)):
                panel = f"{function}, {distribution}"
                place = Place(
                    "threshold", panel, group, distribution, function, extension=RANKED_EXTENSION
                )
                yield from _aiming(place, values, target, runs)


def _aiming(place: Place, values: Floats, target: float | None, runs: int) -> Iterator[Box]:
    """The text's mechanism; the code's is another one, and not rebuilt."""
    truth, epsilon = truth_of(place.function, values), float(place.epsilon)
    low, high = Published("interval", place.function, epsilon, place.extension).output_range(values)
    reachable = target is not None and low < target < high
    published = Published(
        "threshold" if reachable else "interval", place.function, epsilon, place.extension,
        target=target or 0.0, falloff=FALLOFF,
    )  # fmt: skip
    drawn = published.draws(values, runs, generator(place.label(PAPER)))
    yield place.box(published.kind, PAPER, truth, drawn, target)
    ours = _our_aim(place, target)
    drawn = simulated(ours, values, runs, generator(place.label(OURS)))
    yield place.box(ours.name, OURS, truth, drawn, target)


def _our_aim(place: Place, target: float | None) -> Mechanism:
    bounds, epsilon = BOUNDS[place.distribution], Fraction(place.epsilon)
    if target is None or (place.function != "sum" and not bounds.low < target < bounds.high):
        return _ours(place)
    return mechanism_for(
        place.function, bounds, epsilon, Adjacency.ADD_REMOVE,
        integral=False, limit=Limit(Fraction(target), at_most=True, included=False),
        falloff=DEFAULT_FALLOFF,
    )  # fmt: skip


# --- derived measures -----------------------------------------------------------------


def _derived(found: Samples, runs: int) -> Iterator[Box]:
    """The percentage of values below their own mean, as the authors have it."""
    for distribution in BOUNDS:
        for n in SIZES:
            values = found.first(distribution, n)
            below = (values < values.mean()).astype(np.float64)
            place = Place("derived", distribution, f"n = {n}", distribution, "mean", n)
            yield from _percentages(place, below, runs)


def _percentages(place: Place, below: Floats, runs: int) -> Iterator[Box]:
    truth, epsilon = PERCENT * float(below.mean()), Fraction(place.epsilon)
    for by, deviations in _SOURCES:
        published = PublishedSample(float(epsilon), deviations)
        drawn = published.draws(below, runs, generator(place.label(by)))
        yield place.box("sample-and-aggregate", by, truth, drawn)
    share = mechanism_for("share", UNIT_INTERVAL, epsilon, Adjacency.ADD_REMOVE, integral=True)
    drawn = simulated(share, below, runs, generator(place.label(OURS)))
    yield place.box(share.name, OURS, truth, PERCENT * drawn)
    sampled = SampleAndAggregate(
        UNIT_INTERVAL,
        epsilon,
        Adjacency.ADD_REMOVE,
        False,  # noqa: FBT003
        _mean,
        1,
        _OUR_BUCKETS,
    )
    rows = np.column_stack((below, np.arange(len(below), dtype=np.float64) % _OUR_BUCKETS))
    drawn = simulated(sampled, rows, runs, generator(place.label(OURS, "sampled")))
    yield place.box(sampled.name, OURS, truth, PERCENT * drawn)


def _mean(rows: Floats) -> float | None:
    return float(rows[:, 0].mean()) if len(rows) else None
