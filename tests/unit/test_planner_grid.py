"""The planner picks the option that is truly best, or next to it, and never looks at a case."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import planner
from benchmarks.planner import Draws, Parts, Planner, Question, judged, verdict
from benchmarks.utility_values import Floats
from pappi.custody import NewLog
from pappi.mechanisms import Mechanism
from pappi.planning import Plan, plan_options, plan_ppi
from pappi.ppinot import Catalogue, Ppi, parse_catalogue, value_above, values_above
from pappi.values import Epsilon, PublicLog
from tests.lengths import length
from tests.small_logs import Row, workspace_with

EVERY, SETS = 13, 2
FEW = 4 * EVERY  # enough for what is planted


def found(plan: Planner, every: int = EVERY) -> planner.Verdict:
    return verdict([judged(question, SETS, plan) for question in planner.grid()[::every]])


# --- the promise, on a part of the grid -----------------------------------------------


def test_the_grid_has_two_hundred_ppis_that_have_a_choice() -> None:
    """Whether there is one depends on the definition and the adjacency alone."""
    cells = len(planner.EPSILONS) * len(planner.SIZES)
    some = planner.grid()[::cells]
    picks = [plan_ppi(each.ppi, each.epsilon, each.log) for each in some]
    choices = [planner.options(*each) for each in zip(some, picks, strict=True)]
    assert cells * sum(len(each) > 1 for each in choices) >= planner.FEWEST


@pytest.mark.outside
def test_the_pick_is_best_nine_times_in_ten_and_never_much_worse() -> None:
    outcome = found(plan_ppi)
    assert outcome.asked >= 40
    assert outcome.passed, outcome


@pytest.mark.outside
def test_a_planner_that_takes_the_worst_is_caught() -> None:
    def contrary(ppi: Ppi, epsilon: Epsilon, log: PublicLog) -> Plan:
        options = plan_options(ppi, epsilon, log)
        plans = [each.plan for each in options if each.plan is not None and not each.on_request]
        return max(plans, key=lambda plan: plan.predicted_error)

    outcome = found(contrary, FEW)
    assert outcome.chosen_best < planner.LEAST_BEST
    assert outcome.worst > planner.MOST_WORSE


@pytest.mark.outside
def test_a_planner_that_always_splits_equally_is_caught() -> None:
    def equal(ppi: Ppi, epsilon: Epsilon, log: PublicLog) -> Plan:
        plan = plan_ppi(ppi, epsilon, log)
        each = sum(part.mechanism.epsilon for part in plan.measurements) / len(plan.measurements)
        mechanisms = [
            replace(cast("Any", part.mechanism), epsilon=each) for part in plan.measurements
        ]
        pairs = zip(plan.measurements, mechanisms, strict=True)
        return replace(
            plan, measurements=tuple(replace(part, mechanism=one) for part, one in pairs)
        )

    assert not found(equal, FEW).passed


# --- plans are public -----------------------------------------------------------------

TERMS = NewLog(first=date(2024, 1, 1), until=date(2024, 6, 1))


def cases(count: int) -> Iterator[Row]:
    for number in range(count):
        attributes = dict.fromkeys("xyz", float(number % 7))
        for hour, activity in enumerate("ABCD"):
            yield f"c{number}", activity, 24.0 * number + hour, attributes


OUTLIER: list[Row] = [
    ("new", activity, 24.0 * day, dict.fromkeys("xyz", 1e300))
    for day, activity in enumerate("ABCD" * 20)
]


@pytest.mark.outside
def test_plans_are_the_same_bytes_for_neighbouring_logs(tmp_path: Path) -> None:
    families = planner.FAMILIES[:: length(5, 1)]
    ppis = (replace(family.ppi(100), id=f"p{index}") for index, family in enumerate(families))
    catalogue = Catalogue("small", tuple(ppis))
    seen = []
    for name, rows in (("one", [*cases(40)]), ("other", [*cases(40), *OUTLIER])):
        with_rows = workspace_with(tmp_path / name, rows, TERMS)
        seen.append(repr(with_rows.checkpoint().preview(catalogue)).encode())
    assert seen[0] == seen[1]


# --- the measuring itself -------------------------------------------------------------


@cache
def some_parts() -> dict[str, tuple[Question, Parts]]:
    """For every mechanism and adjacency of the grid, one plan that has it."""
    known: dict[str, tuple[Question, Parts]] = {}
    for question in planner.grid():
        if question.log.terms.cases == 100 and str(question.epsilon) == "0.5":
            pick = plan_ppi(question.ppi, question.epsilon, question.log)
            for parts in planner.options(question, pick):
                for part in parts:
                    mechanism = part.mechanism
                    key = f"{type(mechanism).__name__} {mechanism.adjacency}"
                    known.setdefault(key, (question, (part,)))
    return known


def values_for(question: Question, parts: Parts) -> Floats:
    columns = planner.data_of(question.ppi, question.log.terms.cases, 1)[0]
    rows = [columns[measure] for measure in parts[0].inputs]
    return rows[0] if len(rows) == 1 else np.column_stack(rows)


def with_nan(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def test_every_mechanism_of_a_value_is_measured() -> None:
    names = {name.split()[0] for name in some_parts()}
    assert names == {
        *("IntervalExtreme", "IntervalQuantile", "SteppedMean", "SteppedSum", "RankedMaximum"),
        *("LaplaceSum", "LaplaceExtreme", "TwoBin", "TwoBinRatio", "HexagonRatio"),
        *("PrivateClippingBound", "NoisyHistogram"),
    }


def test_arrays_of_estimates_are_what_the_mechanisms_estimate() -> None:
    for question, parts in some_parts().values():
        mechanism: Mechanism = parts[0].mechanism
        law = mechanism.law(values_for(question, parts))
        drawn = [law.draw(random.Random(seed).randrange) for seed in range(20)]  # noqa: S311 - a simulation
        expected = [mechanism.estimate(each).value for each in drawn]
        columns = (np.array(column, np.float64) for column in zip(*drawn, strict=True))
        estimated = planner.estimated(mechanism, *columns).tolist()
        assert estimated == pytest.approx(with_nan(expected), nan_ok=True)


def test_arrays_of_draws_have_the_law_of_the_mechanism() -> None:
    """Of 400 exact draws and 4,000 bulk ones, no quantile is far from where it should be."""
    for name, (question, parts) in some_parts().items():
        law = parts[0].mechanism.law(values_for(question, parts))
        generator = random.Random(7)  # noqa: S311 - a simulation
        exact = np.array([law.draw(generator.randrange) for _ in range(400)], np.float64).T
        bulk = planner.outcomes(law, Draws(np.random.default_rng(7), 4_000))
        for one, other in zip(exact, bulk, strict=True):
            levels = np.searchsorted(np.sort(other), one, side="right") / len(other)
            before = np.searchsorted(np.sort(other), one, side="left") / len(other)
            grid = np.linspace(0, 1, 21)
            reached = np.array([np.mean(levels <= level) for level in grid])
            allowed = np.array([np.mean(before <= level) for level in grid])
            assert (reached <= grid + 0.1).all(), name
            assert (allowed >= grid - 0.1).all(), name


def test_formulas_over_arrays_are_the_formulas() -> None:
    rng = np.random.default_rng(3)
    for text in ("a / b - 2 * c", "a / (b - b)", "max(a, b) / c", "a > b ? a : c", "-a + 1"):
        names = {"c": "{mean: {data: z}}", "b": "{mean: {data: y}}", "a": "{mean: {data: x}}"}
        used = ", ".join(f"{n}: {m}" for n, m in names.items() if n in text.replace("max", ""))
        bounds = ", ".join(f"{name}: [0, 1]" for name in names if f"{name}: " in used)
        source = f"log: l\nppis:\n  - id: p\n    measure: {{derive: '{text}', {used}}}\n"
        (ppi,) = parse_catalogue(f"{source}    bounds: {{{bounds}}}\n", "p.yaml").ppis
        variables = cast("Any", ppi.measure).variables
        released = {f"ppi.{name}": rng.uniform(-1, 1, 30) for name, _ in variables}
        expected = [
            value_above(ppi.measure, {path: column[i] for path, column in released.items()})
            for i in range(30)
        ]
        values = values_above(ppi.measure, released).tolist()
        assert values == pytest.approx(with_nan(expected), nan_ok=True)
