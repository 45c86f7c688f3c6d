"""How much less our mechanisms err than the paper's, at the same ε and public bounds.

    python -m benchmarks.utility [DATA_SETS]

For every function: the root mean square error of ours divided by that of the paper's
better mechanism (`utility_papers`), over Gaussian, Pareto and Poisson values × n × ε
(`utility_values`); then decisions about a target, and the coverage of intervals. Errors
are computed from exact laws, not drawn. Last, what sets save (`utility_sets`). Writes
build/bench/utility.csv, and fails if a limit is missed. What the figures mean: docs/utility.md.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.utility_decisions import OFFSETS, Decision, decisions
from benchmarks.utility_errors import mean_square, mechanism_of
from benchmarks.utility_intervals import LEAST, MOST, Coverage, coverage
from benchmarks.utility_papers import mean_squares
from benchmarks.utility_sets import report_sets
from benchmarks.utility_values import Cell, Floats, all_cells

DATA_SETS = 20
RUNS = 2_000
TABLE = Path("build/bench/utility.csv")
RANKED = ("max", "median")
"""One released point says little about one unknown value: their intervals are mostly the range."""

# A median of whole numbers is often hit exactly; its ratio counts as 1/1000.
_LEAST_RATIO = 1e-3
_ROUNDING = 5e-4
_COVERED_SETS = 10


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that ratios may be where n·ε ≥ 10: in the geometric mean, and in any cell."""

    geometric: float | None = None
    worst: float | None = None
    everywhere: float | None = None
    """In any cell at all."""


@dataclass(frozen=True, slots=True)
class Question:
    """A function, with tight or loose bounds."""

    function: str
    limit: Limit
    loose: bool = False

    @property
    def label(self) -> str:
        return f"{self.function}, loose" if self.loose else self.function


QUESTIONS = (
    Question("mean", Limit(geometric=0.85, worst=0.93)),
    Question("sum", Limit(worst=1.02)),
    Question("share", Limit(geometric=0.5, worst=0.5)),
    Question("ratio", Limit(geometric=0.45)),
    Question("max", Limit(geometric=0.95, everywhere=1.03)),
    Question("min", Limit()),
    Question("median", Limit(geometric=0.1)),
    Question("max", Limit(geometric=0.4), loose=True),
    Question("mean", Limit(), loose=True),
    Question("sum", Limit(geometric=0.75), loose=True),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """The errors of one cell."""

    cell: Cell
    ours: float
    papers: float

    @property
    def ratio(self) -> float:
        return max(self.ours / self.papers, _LEAST_RATIO)


def main(sets: int) -> int:
    errors = {question: list(compared(question, sets)) for question in QUESTIONS}
    failures = report_errors(errors)
    failures += report_decisions(list(decisions(sets)))
    failures += report_coverage(RUNS)
    failures += report_sets()
    write_table(errors, TABLE)
    print(f"\n{failures} limits missed; all cells are in {TABLE}")
    return min(failures, 1)


def compared(question: Question, sets: int) -> Iterator[Compared]:
    for cell in all_cells(loose=question.loose):
        data = list(data_of(question.function, cell, sets))
        mechanism = mechanism_of(question.function, cell)
        ours = [mean_square(mechanism, values, truth) for values, truth in data]
        papers = [_papers(question.function, cell, values) for values, _ in data]
        # The better of theirs is chosen for the cell, as a user would, not for each data set.
        yield Compared(cell, _root(np.mean(ours)), _root(np.mean(papers, axis=0).min()))


def data_of(function: str, cell: Cell, sets: int) -> Iterator[tuple[Floats, float]]:
    """Data sets as our mechanism reads them, and the answers without noise."""
    if function == "ratio":
        for rows in cell.rows(sets):
            yield rows, float(rows[:, 0].sum() / rows[:, 1].sum())
        return
    for values in cell.values(sets):
        if function == "share":
            above = (values > cell.distribution.middle).astype(np.float64)
            yield above, float(above.mean())
        else:
            yield values, float(getattr(np, function)(values))


def _papers(function: str, cell: Cell, values: Floats) -> tuple[float, ...]:
    high = 1.0 if function == "share" else float(cell.high)
    if function == "share":
        values = np.column_stack([values, np.ones_like(values)])
    return mean_squares(function, values, high, float(cell.epsilon))


def _root(square: np.floating) -> float:
    return float(np.sqrt(square))


def report_errors(errors: dict[Question, list[Compared]]) -> int:
    print("Error of ours / of the paper's better mechanism\n")
    print(f"{'':<14}{'where n·ε ≥ 10':<50}in all cells")
    heads = ("mean", "limit", "worst", "limit")
    print(_row("function", heads, "  in", ("mean", "worst", "limit")))
    return sum(_report_errors_of(question, found) for question, found in errors.items())


def _report_errors_of(question: Question, found: list[Compared]) -> int:
    asked = [each for each in found if each.cell.worth_asking]
    worst, limit = max(asked, key=lambda each: each.ratio), question.limit
    figures = (
        (_geometric(asked), limit.geometric),
        (worst.ratio, limit.worst),
        (max(each.ratio for each in found), limit.everywhere),
    )
    missed = sum(most is not None and value > most + _ROUNDING for value, most in figures)
    first, second, third = ((f"{value:.3f}", _or_dash(most)) for value, most in figures)
    print(
        _row(
            question.label,
            (*first, *second),
            f"  {worst.cell.label}",
            (f"{_geometric(found):.3f}", *third),
        ),
        "  MISSED" if missed else "",
    )
    return missed


def _row(name: str, asked: tuple[str, ...], where: str, everywhere: tuple[str, ...]) -> str:
    left = "".join(f"{each:>7}" for each in asked)
    return f"{name:<14}{left}{where:<22}" + "".join(f"{each:>7}" for each in everywhere)


def _geometric(found: list[Compared]) -> float:
    return float(np.exp(np.mean([np.log(each.ratio) for each in found])))


def _or_dash(limit: float | None) -> str:
    return "–" if limit is None else f"{limit:.2f}"


def report_decisions(found: list[Decision]) -> int:
    print("\nHow often decisions are right, for a target so far from the mean; n·ε ≥ 20")
    heads = ("ours", "papers", "lead", "cells", "lost")
    print(f"{'target':<10}" + "".join(f"{head:>8}" for head in heads) + "  least lead in")
    return sum(_report_decisions_at(offset, found) for offset in OFFSETS)


def _report_decisions_at(offset: float, found: list[Decision]) -> int:
    asked = [each for each in found if each.offset == offset and each.counts]
    ours, papers = np.mean([(each.ours, each.papers) for each in asked], axis=0).tolist()
    closest = min(asked, key=lambda each: each.lead)
    lost = sum(each.lead < -_ROUNDING for each in asked)
    print(f"±{offset:<9.1%}{ours:>8.3f}{papers:>8.3f}{closest.lead:>+8.3f}", end="")
    print(f"{len(asked):>8}{lost:>8}  {closest.cell.label}{'  MISSED' if lost else ''}")
    return int(lost > 0)


def report_coverage(runs: int) -> int:
    print("\nHow often 95 % intervals hold the answer, n·ε ≥ 10; and are the whole range")
    print(f"{'function':<10}{'held':>8}{'least':>8}{'most':>8}{'whole':>8}")
    missed = 0
    for function in ("mean", "sum", "share", "ratio", *RANKED):
        cells = [cell for cell in all_cells() if cell.worth_asking]
        found = [
            coverage(function, cell, list(data_of(function, cell, _COVERED_SETS)), runs)
            for cell in cells
        ]
        missed += _report_coverage_row(function, found)
    return missed


def _report_coverage_row(function: str, found: list[Coverage]) -> int:
    held = [each.held for each in found]
    missed = function not in RANKED and not LEAST <= np.mean(held) <= MOST
    figures = [float(np.mean(held)), min(held), max(held)]
    if function in RANKED:
        figures.append(float(np.mean([each.whole for each in found])))
    print(f"{function:<10}" + "".join(f"{each:>8.1%}" for each in figures), end="")
    print("  MISSED" if missed else "")
    return int(missed)


def write_table(errors: dict[Question, list[Compared]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("function", "bounds", "distribution", "n", "epsilon", "ours", "papers", "ratio")
        )
        for question, found in errors.items():
            bounds = "loose" if question.loose else "tight"
            for each in found:
                cell = each.cell
                figures = (f"{figure:.6g}" for figure in (each.ours, each.papers, each.ratio))
                name = cell.distribution.name
                writer.writerow((question.function, bounds, name, cell.n, cell.epsilon, *figures))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else DATA_SETS))
