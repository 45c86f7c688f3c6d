"""How often the planner picks the option that is truly best, and how far off it is where not.

    python -m benchmarks.planner [DATA_SETS]

A fixed grid of PPIs: functions and formulas × ε × expected cases, some under both adjacencies.
Of each, all that could be released is tried: every admissible set, every mechanism of its
functions and, for several functions, other splits of ε than the planner's. The true error of
an option is its root mean square error over data that is plausible for the declared bounds
and over the noise, drawn from the mechanisms' own laws; it is the mean of three shapes of
data. Options within 2 % of each other count as equally good: so much the drawing may be off.

Of one function, the planner takes first what has an interval that tells something: compared are
those that are alike in this.

The planner must pick a best option in 90 % of the PPIs that have a choice, and never one that
is more than 10 % worse. Fails otherwise; writes every pick to build/bench/planner.csv.
"""

from __future__ import annotations

import csv
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.utility_errors import shares, value_of_share
from benchmarks.utility_values import Floats
from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    GeometricGrid,
    HexagonRatio,
    JointLaw,
    LaplaceExtreme,
    LaplaceSum,
    Law,
    Mechanism,
    NoisyHistogram,
    PointDrawn,
    PointLaw,
    PrivateClippingBound,
    StepLaw,
    TwoBin,
    TwoBinRatio,
)
from pappi.mechanisms.grids import noise_tail
from pappi.mechanisms.hexagon import HexagonLaw
from pappi.mechanisms.histogram import HistogramLaw
from pappi.mechanisms.laws import CellLaw, StagedLaw
from pappi.planning import Measurement, Plan, plan_options, plan_ppi
from pappi.planning.bounds import bounds_of, is_integral
from pappi.planning.measurements import Request, measurements_of
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Inner,
    Ppi,
    aggregate,
    aggregated_measures,
    composition_tree,
    parse_catalogue,
    value_above,
    values_above,
)
from pappi.values import CONFIDENCE, Adjacency, Epsilon, Kind, PublicLog, Terms, Vocabulary

LEAST_BEST = 0.9
MOST_WORSE = 1.1
ALIKE = 1.02
"""What the drawing may be off by: options closer than this are equally good."""

FEWEST = 200
"""PPIs with a choice, for the grid to say something."""

DATA_SETS = 8
DRAWS = 4_096
TABLE = Path("build/bench/planner.csv")

Parts = tuple[Measurement, ...]
Planner = Callable[[Ppi, Epsilon, PublicLog], Plan]

# --- the grid -------------------------------------------------------------------------

EPSILONS = ("0.05", "0.1", "0.5", "1", "2")
SIZES = (20, 100, 500, 2_000)
VOCABULARY = Vocabulary(("A", "B", "C", "D"), dict.fromkeys(("x", "y", "z"), Kind.NUMBER))

_ADD_REMOVE = (Adjacency.ADD_REMOVE,)
_BOTH = (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
_A, _B, _C, _D = (f"{{sum: {{count: activity == '{name}'}}}}" for name in "ABCD")
_PART = "{sum: {count: activity == 'A'}, within: b}"
_TIME = "{time: {from: activity == 'A', to: activity == 'B'}}"
_NESTED = f"r: {{derive: a / b, a: {_A}, b: {_B}}}"
_ANOTHER = f"s: {{derive: a / b, a: {_C}, b: {_D}}}"


@dataclass(frozen=True, slots=True)
class Family:
    """A definition, asked for at every ε and size; CASES in its bounds is the size."""

    name: str
    measure: str
    bounds: str
    adjacencies: tuple[Adjacency, ...] = _ADD_REMOVE

    def ppi(self, cases: int) -> Ppi:
        text = f"log: l\nppis:\n  - id: p\n    measure: {self.measure}\n"
        if self.bounds:
            text += f"    bounds: {self.bounds.replace('CASES', str(cases))}\n"
        (found,) = parse_catalogue(text, f"{self.name}.yaml").ppis
        return found


FAMILIES = (
    Family("max", "{max: {data: x}}", "[0, 1000]", _BOTH),
    Family("max of counts", "{max: {count: activity == 'A'}}", "[0, 10]"),
    Family("min", f"{{min: {_TIME}}}", "[1 h, 60 h]", _BOTH),
    Family("mean", f"{{mean: {_TIME}}}", "[0 h, 60 h]", _BOTH),
    Family("mean of counts", "{mean: {count: activity == 'A'}}", "[0, 5]", _BOTH),
    Family("share", "{share: {condition: {activity: A}}}", ""),
    Family("median", "{median: {data: x}}", "[0, 1000]"),
    Family("p90", "{percentile: {data: x}, percent: 90}", "[0, 1000]"),
    Family("sum", "{sum: {data: x}}", "[0, 1000]"),
    Family("sum in a range", "{sum: {data: x}, bounds: [0, 10]}", "{value: [0, CASES0]}", _BOTH),
    Family("sum in a part of it", "{sum: {data: x}, bounds: [0, 15]}", "{value: [0, CASES0]}"),
    Family("mean, loose", "{mean: {data: x}}", "[0, 1000, loose]", _BOTH),
    Family("sum, loose", "{sum: {data: x}}", "[0, 1000, loose]"),
    Family("max, loose", "{max: {data: x}}", "[0, 1000, loose]", _BOTH),
    Family("part of a whole", f"{{derive: a / b, a: {_PART}, b: {_B}}}", "{a: [0, 1], b: [0, 2]}"),
    Family(
        "ratio of sums",
        f"{{derive: a / b, a: {_A}, b: {_B}}}",
        "{a: [0, 1], b: [0, 2], value: [0, 2]}",
        _BOTH,
    ),
    Family(
        "ratio of unlike sums",
        "{derive: 100 * a / b, a: {sum: {data: x}}, b: {sum: {data: y}}}",
        "{a: [0, 10], b: [5, 100], value: [0, 40]}",
    ),
    Family(
        "difference of sums",
        f"{{derive: a - b, a: {_A}, b: {_B}}}",
        "{a: [0, 1], b: [0, 8]}",
        _BOTH,
    ),
    Family("weighted sum", f"{{derive: 5 * a + b, a: {_A}, b: {_B}}}", "{a: [0, 3], b: [0, 3]}"),
    Family(
        "weighted means",
        "{derive: 0.6 * a + 0.3 * b - 0.1 * c, "
        "a: {mean: {data: x}}, b: {mean: {data: y}}, c: {mean: {data: z}}}",
        "{a: [0, 10], b: [0, 10], c: [0, 10]}",
    ),
    Family(
        "spread",
        "{derive: a - b, a: {max: {data: x}}, b: {min: {data: y}}}",
        "{a: [0, 10], b: [0, 10]}",
    ),
    Family(
        "quotient of means",
        "{derive: a / b, a: {mean: {data: x}}, b: {mean: {data: y}}}",
        "{a: [0, 10], b: [1, 10], value: [0, 4]}",
        _BOTH,
    ),
    Family(
        "quotient of medians",
        "{derive: a / b, a: {median: {data: x}}, b: {median: {data: y}}}",
        "{a: [0, 10], b: [2, 10], value: [0, 4]}",
    ),
    Family(
        "ratio less a share",
        f"{{derive: r - s, {_NESTED}, s: {{share: {{condition: {{activity: C}}}}}}}}",
        "{r.a: [0, 1], r.b: [0, 2], value: [-1, 2]}",
    ),
    Family(
        "difference of ratios",
        f"{{derive: r - s, {_NESTED}, {_ANOTHER}}}",
        "{r.a: [0, 1], r.b: [0, 2], s.a: [0, 2], s.b: [0, 2], value: [-3, 3]}",
    ),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One PPI of the grid."""

    family: Family
    epsilon: Epsilon
    log: PublicLog
    ppi: Ppi

    @property
    def label(self) -> str:
        replaced = ", replace" if self.log.terms.adjacency is Adjacency.REPLACE else ""
        cases = self.log.terms.cases
        return f"{self.family.name}{replaced}, ε={self.epsilon}, n={cases}"


def grid() -> tuple[Question, ...]:
    return tuple(
        Question(
            family,
            Epsilon.of(epsilon),
            PublicLog(
                name=family.name,
                first=date(2024, 1, 1),
                until=date(2025, 1, 1),
                vocabulary=VOCABULARY,
                terms=Terms(adjacency=adjacency, expected_cases=cases),
            ),
            family.ppi(cases),
        )
        for family in FAMILIES
        for adjacency in family.adjacencies
        for epsilon, cases in product(EPSILONS, SIZES)
    )


# --- what could be released -----------------------------------------------------------


def options(question: Question, pick: Plan) -> tuple[Parts, ...]:
    """The pick, and everything that could have been picked; the pick comes first."""
    ppi, log = question.ppi, question.log
    nodes = dict(_nodes(composition_tree(ppi.measure)))
    found = {pick.measurements: None}
    for option in plan_options(ppi, question.epsilon, log):
        if option.plan is None or option.on_request:
            continue
        found[option.plan.measurements] = None
        chosen = [nodes[path] for path in option.functions]
        for split in _splits(len(chosen)):
            ways = [
                list(measurements_of(node, question.epsilon.fraction * share, Request(ppi, log)))
                for node, share in zip(chosen, split, strict=True)
            ]
            found.update(dict.fromkeys(product(*ways)))
    return tuple(each for each in found if _tells(each, log) is _tells(pick.measurements, log))


def _tells(parts: Parts, log: PublicLog) -> bool:
    return len(parts) > 1 or parts[0].mechanism.interval_tells(log.terms.cases)


def _nodes(node: Inner) -> Iterator[tuple[str, Inner]]:
    yield node.path, node
    for child in node.children:
        if isinstance(child, Inner):
            yield from _nodes(child)


def _splits(functions: int) -> Iterator[tuple[Fraction, ...]]:
    """Equal shares; of two all eighths, of more than two also more or less for one of them."""
    if functions == 2:
        yield from ((Fraction(k, 8), Fraction(8 - k, 8)) for k in range(1, 8))
        return
    yield (Fraction(1, functions),) * functions
    if functions == 1:
        return
    for share, index in product((Fraction(1, 2 * functions), Fraction(1, 2)), range(functions)):
        split = [(1 - share) / (functions - 1)] * functions
        split[index] = share
        yield tuple(split)


# --- plausible data -------------------------------------------------------------------

Columns = Mapping[AggregatedMeasure, Floats]
Rng = np.random.Generator

SHAPES: tuple[Callable[[Rng, int], Floats], ...] = (
    lambda rng, n: rng.beta(4, 4, n),  # around the middle of the range
    lambda rng, n: np.minimum(rng.exponential(1 / 9, n), 1),  # 95 % in the lowest third
    lambda rng, n: rng.uniform(0, 1, n),
)
_FILLED = 1 / 16  # of loose bounds


@lru_cache(maxsize=4)
def data_of(ppi: Ppi, cases: int, sets: int) -> tuple[Columns, ...]:
    """What cases contribute to each measure, in data sets of every shape."""
    every = []
    for shape, number in product(range(len(SHAPES)), range(sets)):
        columns: dict[AggregatedMeasure, Floats] = {}
        for index, (path, measure) in enumerate(aggregated_measures(ppi.measure)):
            rng = np.random.default_rng([shape, number, cases, _number(path)])
            # In every second data set the measures are unlike each other.
            own = SHAPES[(shape + number % 2 * index) % len(SHAPES)]
            columns[measure] = _contributions(measure, own, rng, cases)
        every.append(_with_parts(columns))
    return tuple(every)


def _contributions(
    measure: AggregatedMeasure, shape: Callable[[Rng, int], Floats], rng: Rng, cases: int
) -> Floats:
    if measure.function is Aggregation.SHARE:
        return (rng.uniform(0, 1, cases) < shape(rng, 1)).astype(np.float64)
    bounds = bounds_of(measure, VOCABULARY)
    filled = _FILLED if measure.bounding is Bounding.LOOSE else 1.0
    values = float(bounds.low) + float(bounds.width) * filled * shape(rng, cases)
    # Whole numbers by chance, so that rounding does not move their mean.
    whole = is_integral(measure, VOCABULARY)
    return np.floor(values + rng.uniform(0, 1, cases)) if whole else values


def _with_parts(columns: dict[AggregatedMeasure, Floats]) -> Columns:
    """No part exceeds its whole; where there is one, it is the other measure of its formula."""
    for measure, values in columns.items():
        if measure.within is not None:
            (whole,) = (other for each, other in columns.items() if each != measure)
            columns[measure] = np.minimum(values, whole)
    return columns


def exact_value(ppi: Ppi, columns: Columns) -> float:
    found = {path: aggregate(one, columns[one]) for path, one in aggregated_measures(ppi.measure)}
    value = value_above(ppi.measure, found)
    if value is None:
        raise ValueError(f"{ppi.position}: data without a value")
    return value


def _number(text: str) -> int:
    return zlib.crc32(text.encode())


# --- drawing --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers from 0 to 1, one in each of `count` equal steps, in a random order."""

    rng: Rng
    count: int

    def __call__(self) -> Floats:
        return (self.rng.permutation(self.count) + self.rng.random(self.count)) / self.count


def estimates(mechanism: Mechanism, values: Floats, draws: Draws) -> Floats:
    """What is made of many releases; NaN where that is no value."""
    return estimated(mechanism, *outcomes(mechanism.law(values), draws))


def outcomes(law: Law, draws: Draws) -> tuple[Floats, ...]:
    """Many draws from a law, by inverting its distribution function."""
    match law:
        case JointLaw():
            return tuple(column for part in law.parts for column in outcomes(part, draws))
        case PointLaw():
            return (np.full(draws.count, float(law.value)),)
        case DiscreteLaplaceLaw():
            return (law.centre + _discrete_laplace(float(law.scale), draws()),)
        case HistogramLaw():
            scale = float(law.scale)
            return tuple(count + _discrete_laplace(scale, draws()) for count in law.counts)
        case StepLaw():
            return (_of_steps(law, draws()),)
        case HexagonLaw():
            return _of_hexagon(law, draws)
        case StagedLaw(CellLaw()):
            return _of_stages(law, draws)
    raise NotImplementedError(f"draws from {type(law).__name__}")


def _discrete_laplace(scale: float, u: Floats) -> Floats:
    """P(Z ≥ k) = q^k/(1+q) for k ≥ 1, q = exp(−1/scale), and the same below."""
    tail = np.maximum(np.minimum(u, 1 - u), 1e-300)
    away = np.ceil(-scale * np.log(tail * (1 + np.exp(-1 / scale)))) - 1
    return np.asarray(np.where(u < 0.5, -away, away))


def _of_steps(law: StepLaw, u: Floats) -> Floats:
    starts, top = np.array(law.starts, dtype=np.float64), max(law.weights)
    lengths = np.diff(starts, append=law.stop)
    mass = np.cumsum(lengths * np.array([weight / top for weight in law.weights]))
    ticket = u * mass[-1]
    which = np.minimum(np.searchsorted(mass, ticket, side="right"), len(starts) - 1)
    before = np.concatenate(([0.0], mass[:-1]))
    within = (ticket - before[which]) / (mass - before)[which] * lengths[which]
    return np.asarray(starts[which] + np.clip(np.floor(within), 0, lengths[which] - 1))


def _of_hexagon(law: HexagonLaw, draws: Draws) -> tuple[Floats, Floats]:
    """As `hexagon.hexagonal_laplace`; of a scale so fine that no draw is thrown back."""
    corners = np.array([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)])
    corner = np.floor(6 * draws()).astype(int)
    i, j = (-float(law.scale) * np.log(np.maximum(draws(), 1e-300)) for _ in range(2))
    (ux, uy), (vx, vy) = corners[corner].T, corners[(corner + 1) % 6].T
    return law.first + i * ux + j * vx, law.second + i * uy + j * vy


def _of_stages(law: StagedLaw, draws: Draws) -> tuple[Floats, ...]:
    """The rest of the outcome is drawn as often as its branch is; in each with fresh numbers."""
    first = _of_steps(law.first, draws()) if isinstance(law.first, CellLaw) else np.zeros(0)
    branches = np.array([law.first.branch((int(k),)) for k in first])
    rest = np.zeros((law.size - 1, draws.count))
    for branch in np.unique(branches):
        chosen = branches == branch
        some = Draws(draws.rng, int(chosen.sum()))
        rest[:, chosen] = outcomes(law.second(int(branch)), some)
    return first, *rest


def estimated(mechanism: Mechanism, *noisy: Floats) -> Floats:
    """`mechanism.estimate` for arrays."""
    match mechanism:
        case PointDrawn():
            return _point(mechanism, noisy[0])
        case LaplaceExtreme():
            value = float(mechanism.lattice.origin) + float(mechanism.lattice.step) * noisy[0]
            return np.clip(value, float(mechanism.bounds.low), float(mechanism.bounds.high))
        case LaplaceSum():
            return _sum(mechanism, *noisy)
        case TwoBin(adjacency=Adjacency.REPLACE):
            most = mechanism.lattice.span * noisy[1]
            return value_of_share(mechanism, np.clip(noisy[0], 0, most) / most)
        case TwoBin() | TwoBinRatio():
            first, second = np.maximum(noisy, 0)
            return value_of_share(mechanism, shares(first, second, float(mechanism.scale)))
        case HexagonRatio():
            unit = float(mechanism.factor * mechanism.part.high / mechanism.bounds.high)
            below = np.where(noisy[1] > 0, noisy[1], np.nan)
            return unit * np.maximum(noisy[0], 0) / below
        case PrivateClippingBound():
            return _below_ceilings(mechanism, *noisy)
        case NoisyHistogram():
            return _quantiles(mechanism, np.array(noisy))
    raise NotImplementedError(f"estimates of {mechanism.name}")


def _quantiles(mechanism: NoisyHistogram, counts: Floats) -> Floats:
    """`NoisyBins.quantile`, a column for each release."""
    number, level = mechanism.bins.number, float(mechanism.level)
    cells = np.array(mechanism.bins.cells(integral=mechanism.integral))
    total, columns = counts.sum(axis=0), np.arange(counts.shape[1])
    falling = -np.sort(-counts, axis=0)
    over = (np.cumsum(falling, axis=0) - total) / np.arange(1, number + 1)[:, np.newaxis]
    last = number - 1 - np.argmax((falling > over)[::-1], axis=0)
    likely = np.where(total > 0, np.maximum(counts - over[last, columns], 0.0), 0.0)
    reached = np.cumsum(likely, axis=0)
    place = np.minimum((reached < level * likely.sum(axis=0)).sum(axis=0), number - 1)
    low, high = cells[place].T
    held = np.where(likely[place, columns] > 0, likely[place, columns], 1.0)
    inside = 1 - (reached[place, columns] - level * likely.sum(axis=0)) / held
    value = np.where(total > 0, low + np.clip(inside, 0, 1) * (high - low), cells.mean())
    surplus = np.cumsum(counts, axis=0)[:-1] - level * total
    reaches = np.array([_reach_at(mechanism, edge) for edge in range(1, number)])[:, np.newaxis]
    from_top = np.minimum.accumulate((surplus >= reaches)[::-1], axis=0).sum(axis=0)
    from_below = np.minimum.accumulate(-surplus >= reaches, axis=0).sum(axis=0)
    return np.asarray(np.clip(value, cells[from_below, 0], cells[number - 1 - from_top, 1]))


def _reach_at(mechanism: NoisyHistogram, edge: int) -> float:
    below, above = float(1 - mechanism.level), float(mechanism.level)
    sides = ((below, edge), (above, mechanism.bins.number - edge))
    return noise_tail(tuple((w, mechanism.scale, n) for w, n in sides)).reach((1 - CONFIDENCE) / 2)


def _point(mechanism: PointDrawn, k: Floats) -> Floats:
    points = mechanism.lattice
    if isinstance(points, GeometricGrid):
        return np.asarray(points.points[k.astype(int)])
    return np.asarray(float(points.origin) + float(points.step) * k)


def _sum(mechanism: LaplaceSum, points: Floats, cases: Floats | None = None) -> Floats:
    lattice, bounds = mechanism.lattice, mechanism.bounds
    value = float(lattice.step) * points
    if cases is not None:
        value = value + float(lattice.origin) * cases
        return np.clip(value, float(bounds.low) * cases, float(bounds.high) * cases)
    low, high = (0.0 if bounds.low >= 0 else -np.inf), (0.0 if bounds.high <= 0 else np.inf)
    return np.clip(value, low, high)


def _below_ceilings(mechanism: PrivateClippingBound, first: Floats, *rest: Floats) -> Floats:
    """The rest of the outcome is read by the mechanism below the ceiling that was drawn."""
    found = np.zeros(len(first))
    points, where = np.unique(first, return_inverse=True)
    ceilings = [mechanism.estimate((int(k), 0, 1)[: 1 + len(rest)]).ceiling for k in points]
    for k in range(mechanism.grid.highest + 1):
        inner = mechanism.within(k)
        chosen = (np.array(ceilings) == float(inner.bounds.high))[where]
        if chosen.any():
            found[chosen] = estimated(inner, *(column[chosen] for column in rest))
    return found


# --- true errors ----------------------------------------------------------------------


def true_errors(
    ppi: Ppi, choices: Sequence[Parts], data: Sequence[Columns], draws: int
) -> list[float]:
    """The root mean square error of each option, by shape, in the mean over the shapes.

    The same chances meet all options.
    """
    squares = [_squares(ppi, choices, columns, draws, i) for i, columns in enumerate(data)]
    by_shape = np.reshape(squares, (len(SHAPES), -1, len(choices)))
    return [float(error) for error in np.sqrt(by_shape.mean(axis=1)).mean(axis=0)]


def _squares(
    ppi: Ppi, choices: Sequence[Parts], columns: Columns, count: int, seed: int
) -> list[float]:
    known: dict[Measurement, Floats] = {}
    truth = exact_value(ppi, columns)
    squares = []
    for parts in choices:
        for part in parts:
            if part not in known:
                rows = [columns[measure] for measure in part.inputs]
                values = rows[0] if len(rows) == 1 else np.column_stack(rows)
                draws = Draws(np.random.default_rng([seed, _number(part.path)]), count)
                known[part] = estimates(part.mechanism, values, draws)
        shown = _shown(ppi, values_above(ppi.measure, {part.path: known[part] for part in parts}))
        squares.append(float(np.mean((shown - truth) ** 2)))
    return squares


def _shown(ppi: Ppi, values: Floats) -> Floats:
    """Kept in the declared range; no value is shown as the middle of it."""
    if ppi.value_range is None:
        if np.isnan(values).any():
            raise ValueError(f"{ppi.position}: releases without a value, and no range for them")
        return values
    low, high = float(ppi.value_range.low), float(ppi.value_range.high)
    return np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)


@dataclass(frozen=True, slots=True)
class Judged:
    """One PPI: the planner's pick and the best option, with their errors."""

    question: Question
    options: int
    picked: str
    best: str
    picked_error: float
    best_error: float

    @property
    def ratio(self) -> float:
        return self.picked_error / self.best_error

    @property
    def right(self) -> bool:
        return self.ratio <= ALIKE


def judged(question: Question, sets: int, planner: Planner = plan_ppi) -> Judged:
    pick = planner(question.ppi, question.epsilon, question.log)
    choices = options(question, pick)
    data = data_of(question.ppi, question.log.terms.cases, sets)
    errors = true_errors(question.ppi, choices, data, DRAWS if len(choices) > 1 else 1)
    least = int(np.argmin(errors))
    names = described(choices[0]), described(choices[least])
    return Judged(question, len(choices), *names, errors[0], errors[least])


def described(parts: Parts) -> str:
    """Each function with its mechanism, and its share of ε if there are several."""
    whole = sum((part.mechanism.epsilon for part in parts), Fraction(0))
    each = [
        f"{part.path} {part.mechanism.name} {float(part.mechanism.epsilon / whole):.3g}"
        for part in parts
    ]
    return " + ".join(each) if len(parts) > 1 else parts[0].mechanism.name


# --- the report -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of the PPIs that have a choice: how often the pick is best, and the worst ratio."""

    asked: int
    chosen_best: float
    worst: float

    @property
    def passed(self) -> bool:
        return self.chosen_best >= LEAST_BEST and self.worst <= MOST_WORSE


def verdict(found: Sequence[Judged]) -> Verdict:
    choices = [each for each in found if each.options > 1]
    right = sum(each.right for each in choices) / len(choices)
    return Verdict(len(choices), right, max(each.ratio for each in choices))


def main(sets: int = DATA_SETS) -> int:
    found = [judged(question, sets) for question in grid()]
    summary = verdict(found)
    for each in sorted(found, key=lambda each: -each.ratio):
        if not each.right:
            print(f"{each.ratio:7.3f}  {each.question.label}: {each.picked}; best {each.best}")
    print(f"{len(found)} PPIs, {summary.asked} of them with a choice")
    print(f"picked best: {summary.chosen_best:.1%} (at least {LEAST_BEST:.0%})")
    print(f"worst pick: {summary.worst:.3f} of the best (at most {MOST_WORSE:.2f})")
    write_table(found, TABLE)
    return int(not summary.passed or summary.asked < FEWEST)


def write_table(found: Sequence[Judged], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("ppi", "options", "picked", "best", "picked_error", "best_error", "ratio"))
        for each in found:
            figures = (
                f"{figure:.6g}" for figure in (each.picked_error, each.best_error, each.ratio)
            )
            row = each.question.label, each.options, each.picked, each.best, *figures
            writer.writerow(row)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else DATA_SETS))
