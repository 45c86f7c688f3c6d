"""Six PPIs of one month at one total ε: ours beside OpenDP and PipelineDP.

    python -m benchmarks.sets_peers [RUNS]

A waiting time in hours (mean, median, 90th percentile), two shares and a sum of counts, of 100 or
1,000 cases, at a total ε of 0.1, 0.5 and 1; one case more or less is a neighbour, and δ is 0. The
figure is the root mean square error of theirs over ours.

All know the same bounds and choose no ε by looking. *Ours* is what the planner makes of the six
as a set; its draw also counts how many cases the bounds cut, which no other library tells. So ours
without that (`clipping: off`) is beside them, too. *OpenDP*: seven measurements over clamped whole
numbers, as its documentation composes them: sums of hundredths of an hour, of both conditions and
of the counts, one number of cases for all three means, and two quantiles among candidates an hour
apart. *PipelineDP*: one
aggregation for each column with public partitions, all metrics of a column together, so that both
percentiles come from one tree; an accountant divides ε. What they answer is put into the bounds,
as ours is. PipelineDP comes with the extra `peers`; without it, it is left out. Behind ± is the
standard error of the geometric mean of all, given the months.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import Law
from pappi.planning import Plan, plan_set
from pappi.ppinot import parse_catalogue
from pappi.values import Epsilon, Kind, PublicLog, Terms, Vocabulary

Floats = NDArray[np.float64]

RUNS, SETS = 80, 5
SIZES, EPSILONS = (100, 1_000), ("0.1", "0.5", "1")
HOURS, COUNTS = 100, 5
FUNCTIONS = ("mean", "share", "rare", "sum", "median", "p90")
GOAL = 2.0

_TIME = "{time: {from: case start, to: case end}}"
_CATALOGUE = f"""
log: month
ppis:
  - {{id: mean, bounds: [0 hours, {HOURS} hours], measure: {{mean: {_TIME}}}}}
  - {{id: share, measure: {{share: {{condition: x < 24}}}}}}
  - {{id: rare, measure: {{share: {{condition: y > 0}}}}}}
  - {{id: sum, bounds: [0, {COUNTS}], measure: {{sum: {{count: z > 0}}}}}}
  - {{id: median, bounds: [0 hours, {HOURS} hours], measure: {{median: {_TIME}}}}}
  - id: p90
    bounds: [0 hours, {HOURS} hours]
    measure: {{percentile: {_TIME}, percent: 90}}
"""
_MICROSECONDS = 3600 * 10**6
_COLUMN = {
    "mean": 0, "share": 1, "rare": 2, "sum": 3, "median": 0, "p90": 0,
}  # fmt: skip
_MOST = {
    "mean": HOURS, "share": 1, "rare": 1, "sum": math.inf, "median": HOURS, "p90": HOURS,
}  # fmt: skip

Answers = Mapping[str, float]
Library = Callable[[Floats, str], Callable[[], Answers]]
"""Given the cases of a month and ε: what answers, anew each time."""


# --- the month --------------------------------------------------------------------------------


def month(cases: int, seed: int) -> Floats:
    """A row per case: hours, whether they were few, something rare, a count."""
    rng = np.random.default_rng([cases, seed])
    hours = np.clip(rng.gamma(2.0, 12.0, cases), 0, HOURS)
    rare = rng.random(cases) < 0.1
    counts = np.clip(rng.poisson(1.5, cases), 0, COUNTS)
    return np.column_stack((hours, hours < 24, rare, counts)).astype(np.float64)


def truths(rows: Floats) -> dict[str, float]:
    hours, few, rare, counts = rows.T
    return {
        "mean": float(hours.mean()),
        "share": float(few.mean()),
        "rare": float(rare.mean()),
        "sum": float(counts.sum()),
        "median": float(np.median(hours)),
        "p90": float(np.percentile(hours, 90)),
    }


# --- ours -------------------------------------------------------------------------------------


def uncounted(rows: Floats, epsilon: str) -> Callable[[], Answers]:
    """As the others do, without counting what the bounds cut."""
    return ours(rows, epsilon, counts=False)


def ours(rows: Floats, epsilon: str, *, counts: bool = True) -> Callable[[], Answers]:
    log = PublicLog(
        name="month",
        first=date(2024, 1, 1),
        until=date(2024, 2, 1),
        vocabulary=Vocabulary((), dict.fromkeys("xyz", Kind.NUMBER)),
        terms=Terms(expected_cases=len(rows)),
    )
    ppis = tuple(
        replace(ppi, release=replace(ppi.release, clipping=counts))
        for ppi in parse_catalogue(_CATALOGUE).ppis
    )
    plans = plan_set(ppis, Epsilon.of(epsilon), log)
    place = {ppi.measure: _COLUMN[ppi.id] for ppi in ppis}
    chance = random.Random(1).randrange  # noqa: S311 - reproducible figures
    internal = rows * (_MICROSECONDS, 1, 1, 1)
    laws: dict[tuple[object, ...], Law] = {}
    for plan in plans:
        (part,) = plan.measurements
        columns = internal[:, [place[measure] for measure in part.inputs]]
        values = columns[:, 0] if len(part.inputs) == 1 else columns
        laws.setdefault(_release(plan), part.mechanism.law(values))

    def answer() -> Answers:
        noisy = {key: law.draw(chance) for key, law in laws.items()}
        estimates = (
            (plan.ppi.id, plan.measurements[0].mechanism.estimate(noisy[_release(plan)]).value)
            for plan in plans
        )
        return {
            name: math.nan if value is None else value / (1 if _COLUMN[name] else _MICROSECONDS)
            for name, value in estimates
        }

    return answer


def _release(plan: Plan) -> tuple[object, ...]:
    part = plan.measurements[0]
    return part.inputs, part.settings, part.mechanism.epsilon, part.mechanism.name


# --- OpenDP -----------------------------------------------------------------------------------

_QUERIES = 7
_STEPS = 100


def opendp(rows: Floats, epsilon: str) -> Callable[[], Answers]:
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    each = float(Fraction(epsilon)) / _QUERIES
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    hours = np.rint(rows[:, 0] * _STEPS).astype(int).tolist()
    few, rare, counts = (rows[:, i].astype(int).tolist() for i in (1, 2, 3))

    def total(most: int) -> Any:  # noqa: ANN401 - OpenDP's types are its own
        clamped = space >> dp.t.then_clamp((0, most)) >> dp.t.then_sum()
        return clamped >> dp.m.then_laplace(scale=most / each)

    def quantile(alpha: float) -> Any:  # noqa: ANN401
        candidates = [hour * _STEPS for hour in range(HOURS + 1)]
        make = partial(dp.m.make_private_quantile, *space, dp.max_divergence(), candidates, alpha)
        return dp.binary_search_chain(make, d_in=1, d_out=each)

    number = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1 / each)
    sums = total(HOURS * _STEPS), total(1), total(COUNTS)
    median, high = quantile(0.5), quantile(0.9)

    def answer() -> Answers:
        cases = max(number(hours), 1)
        return {
            "mean": sums[0](hours) / _STEPS / cases,
            "share": sums[1](few) / cases,
            "rare": sums[1](rare) / cases,
            "sum": sums[2](counts),
            "median": median(hours) / _STEPS,
            "p90": high(hours) / _STEPS,
        }

    return answer


# --- PipelineDP -------------------------------------------------------------------------------


def pipeline_dp(rows: Floats, epsilon: str) -> Callable[[], Answers]:
    lib: Any = import_module("pipeline_dp")
    metrics = lib.Metrics
    asked = (
        (0, HOURS, {"mean": metrics.MEAN, "median": metrics.PERCENTILE(50),
                    "p90": metrics.PERCENTILE(90)}),
        (1, 1, {"share": metrics.MEAN}),
        (2, 1, {"rare": metrics.MEAN}),
        (3, COUNTS, {"sum": metrics.SUM}),
    )  # fmt: skip
    fields = {"mean": "mean", "share": "mean", "rare": "mean", "sum": "sum",
              "median": "percentile_50", "p90": "percentile_90"}  # fmt: skip
    columns = [list(enumerate(rows[:, place].tolist())) for place, *_ in asked]

    def answer() -> Answers:
        accountant = lib.NaiveBudgetAccountant(
            total_epsilon=float(Fraction(epsilon)), total_delta=0
        )
        engine = lib.DPEngine(accountant, lib.LocalBackend())
        extractors = lib.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda _: "month",
            value_extractor=lambda row: row[1],
        )
        found = []
        for (_, most, wanted), column in zip(asked, columns, strict=True):
            params = lib.AggregateParams(
                metrics=list(wanted.values()),
                noise_kind=lib.NoiseKind.LAPLACE,
                max_partitions_contributed=1,
                max_contributions_per_partition=1,
                min_value=0,
                max_value=most,
            )
            result = engine.aggregate(column, params, extractors, public_partitions=["month"])
            found.append((wanted, result))
        accountant.compute_budgets()
        return {
            name: getattr(values, fields[name])
            for wanted, result in found
            for _, values in result
            for name in wanted
        }

    return answer


# --- side by side -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Error:
    """A root mean square error, and the standard error of its logarithm."""

    size: float
    uncertainty: float

    @classmethod
    def of(cls, squares: list[float]) -> Error:
        mean, spread = float(np.mean(squares)), float(np.std(squares))
        return cls(math.sqrt(mean), spread / mean / 2 / math.sqrt(len(squares)))


Errors = Mapping[str, Error]


@dataclass(frozen=True, slots=True)
class Cell:
    cases: int
    epsilon: str
    ours: Errors
    theirs: Errors

    def ratio(self, function: str) -> float:
        return self.theirs[function].size / self.ours[function].size

    def uncertainty(self, function: str) -> float:
        """Of the logarithm of the ratio."""
        return math.hypot(self.theirs[function].uncertainty, self.ours[function].uncertainty)


def errors(library: Library, cases: int, epsilon: str, runs: int) -> dict[str, Error]:
    """Over several months, so that it is about the distribution and not about one draw of it."""
    squares: dict[str, list[float]] = {function: [] for function in FUNCTIONS}
    for seed in range(SETS):
        rows = month(cases, seed)
        answer, truth = library(rows, epsilon), truths(rows)
        for _ in range(runs):
            for function, value in answer().items():
                kept = min(max(value, 0.0), _MOST[function])
                squares[function].append((kept - truth[function]) ** 2)
    return {function: Error.of(found) for function, found in squares.items()}


def compared(library: Library, own: Mapping[tuple[int, str], Errors], runs: int) -> Iterator[Cell]:
    for cases, epsilon in product(SIZES, EPSILONS):
        theirs = errors(library, cases, epsilon, runs)
        yield Cell(cases, epsilon, own[cases, epsilon], theirs)


def geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main(runs: int) -> int:
    cells = list(product(SIZES, EPSILONS))
    own, bare = ({cell: errors(way, *cell, runs) for cell in cells} for way in (ours, uncounted))
    print(f"Errors of ours, {SETS} months × {runs} releases")
    print(f"{'':<18}" + "".join(f"{function:>12}" for function in FUNCTIONS))
    for (cases, epsilon), found in own.items():
        row = "".join(f"{found[function].size:>12.3g}" for function in FUNCTIONS)
        print(f"{f'n={cases} ε={epsilon}':<18}{row}")
    missed = 0
    for name, library in {"opendp": opendp, "pipeline_dp": pipeline_dp}.items():
        if find_spec(name) is None:
            print(f"\n{name}: not measured: pip install 'pappi[peers]'")
            continue
        beside = list(compared(library, own, runs))
        missed += _report(f"{name} / of ours", beside)
        asked_alike = [replace(cell, ours=bare[cell.cases, cell.epsilon]) for cell in beside]
        missed += _report(f"{name} / of ours without counting what bounds cut", asked_alike)
    return int(missed > 0)


def _report(of_what: str, cells: list[Cell]) -> int:
    print(f"\nErrors of {of_what}")
    print(f"{'':<18}" + "".join(f"{each:>12}" for each in (*FUNCTIONS, "all")))
    for cell in cells:
        ratios = [cell.ratio(function) for function in FUNCTIONS]
        row = "".join(f"{each:>12.2f}" for each in (*ratios, geometric(ratios)))
        print(f"{f'n={cell.cases} ε={cell.epsilon}':<18}{row}")
    means = [geometric([cell.ratio(function) for cell in cells]) for function in FUNCTIONS]
    row = "".join(f"{each:>12.2f}" for each in (*means, geometric(means)))
    found, every = geometric(means), list(product(cells, FUNCTIONS))
    off = math.hypot(*(cell.uncertainty(function) for cell, function in every)) / len(every)
    failed = found < GOAL
    print(f"{'geometric mean':<18}{row} ± {found * off:.2f}", f"  BELOW {GOAL:g}" if failed else "")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
