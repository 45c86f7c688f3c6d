"""Whole catalogues planned as sets, against the same total ε split among their PPIs.

    python -m benchmarks.sets [RUNS]

*Sepsis*: two means and three shares of the real log, 20 months, at a total ε of 2.5: root mean
square errors of raw and of smoothed releases (needs the shared data, else left out). *The bundled
catalogues*, over their simulated logs, with the ε that the demo gives each of them, and with as
much in total: widths of 95 % intervals. Every month is drawn from the law of what would be
released, with seeded chances. What the figures mean: docs/utility.md, "Sets".

Both sides tell the same: means count what their bounds cut, alone as in the set; then neither does
(`clipping: off`).
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from experiments.sepsis_log import FILE, OF_ALL, ZONE, sepsis_catalogue
from experiments.shared_data import missing, shared_file
from pappi.custody import NewLog
from pappi.engine import CaseTable, cases_by_period
from pappi.examples import DEMO_EPSILON, EXAMPLES, Example
from pappi.mechanisms import Law, Outcome
from pappi.planning import (
    Measurement,
    Plan,
    periods_of,
    plan_alone,
    plan_each,
    plan_set,
)
from pappi.planning.bounds import bounds_of
from pappi.ppinot import (
    AggregatedMeasure,
    Catalogue,
    Ppi,
    read_definitions,
    reduced_form,
)
from pappi.series import smoothed_values
from pappi.session import create
from pappi.store import LogDeclaration, open_workspace
from pappi.values import Epsilon, Interval, Terms

Floats = NDArray[np.float64]

RUNS, SMOOTHED_RUNS = 100, 40
SEPSIS = ("waiting", "stay", OF_ALL, "antibiotics", "lactic-acid")
SEPSIS_TOTAL, MOST, FEW = Epsilon.of("2.5"), 0.70, 10
OF_EACH = Epsilon.of(DEMO_EPSILON)
"""Of every PPI in the demo; together they have so many times that."""
GOAL = 2.0


def main(runs: int) -> int:
    return int(bool(sepsis(runs) + sum(bundled(example, runs) for example in EXAMPLES.values())))


# --- logs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cases:
    """A log's public facts, its PPIs, and the cases of every period of each."""

    log: LogDeclaration
    ppis: tuple[Ppi, ...]
    tables: Mapping[str, Sequence[CaseTable]]

    def truth(self, ppi: Ppi) -> Floats:
        """Of the values within their bounds, which is what a release is about; internal units."""
        measure = ppi.measure
        if not isinstance(measure, AggregatedMeasure):
            raise TypeError(f"{ppi.id} is a formula")
        bounds = bounds_of(measure, self.log.public.vocabulary)
        columns = (table.contributions(measure) for table in self.tables[ppi.id])
        ends = float(bounds.low), float(bounds.high)
        return np.array([float(np.nanmean(np.clip(column, *ends))) for column in columns])

    def sizes(self, ppi: Ppi) -> Floats:
        return np.array([len(table.anchor_us) for table in self.tables[ppi.id]], dtype=np.float64)


def load(source: object, catalogue: Catalogue, terms: Terms) -> Cases:
    with TemporaryDirectory() as folder:
        workspace = create(Path(folder) / "w")
        new = NewLog(terms=terms)
        workspace.import_log(source, catalogue.log, new=new, timezone=terms.timezone)
        log = workspace.log(catalogue.log)
        ppis = tuple(reduced_form(ppi, log.terms.anchor) for ppi in catalogue.ppis)
        periods = {ppi.scope: periods_of(ppi.scope, log.horizon) for ppi in ppis}
        events = open_workspace(workspace.root).events
        found = cases_by_period(events, log, [ppi.measure for ppi in ppis], periods)
    return Cases(log, ppis, {ppi.id: tuple(found[ppi.scope].values()) for ppi in ppis})


# --- releases ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """Of one PPI, run by run and period by period: values, and widths of intervals."""

    values: Floats
    widths: Floats


def _raw(part: Measurement, noisy: list[list[Outcome]]) -> Drawn:
    values = [[part.mechanism.estimate(one).value for one in run] for run in noisy]
    # Intervals take longer than values, and vary little: a few runs are enough.
    ends = [[part.mechanism.interval(one, 0.95) for one in run] for run in noisy[:10]]
    widths = [[high - low for low, high in run] for run in ends]
    return Drawn(np.array(values, dtype=np.float64), np.array(widths))


def _smoothed(part: Measurement, noisy: list[list[Outcome]]) -> Drawn:
    runs = []
    for run in noisy:
        known = [part.mechanism.likelihood(one) for one in run]
        runs.append(smoothed_values([each for each in known if each is not None]))
    values = [[one.value for one in run] for run in runs]
    widths = [[_width(one.interval) for one in run] for run in runs]
    return Drawn(np.array(values, dtype=np.float64), np.array(widths))


def _width(interval: Interval) -> float:
    if interval.low is None or interval.high is None:
        return math.inf
    return interval.high - interval.low


Reading = Callable[[Measurement, list[list[Outcome]]], Drawn]
"""Of the noisy integers of one PPI, run by run and period by period."""


def drawn(cases: Cases, plans: Sequence[Plan], runs: int, read: Reading = _raw) -> dict[str, Drawn]:
    """Many releases of all plans; those of one joint set are read off the same draws."""
    chance = random.Random(1).randrange  # noqa: S311 - reproducible figures
    known: dict[tuple[object, ...], list[list[Outcome]]] = {}
    found = {}
    for plan in plans:
        (part,) = plan.measurements
        key = (part.inputs, part.settings, part.mechanism.epsilon, plan.ppi.scope)
        if key not in known:
            laws = [_law(part, table) for table in cases.tables[plan.ppi.id]]
            known[key] = [[law.draw(chance) for law in laws] for _ in range(runs)]
        found[plan.ppi.id] = read(part, known[key])
    return found


def _law(part: Measurement, table: CaseTable) -> Law:
    columns = [table.contributions(measure) for measure in part.inputs]
    return part.mechanism.law(columns[0] if len(columns) == 1 else np.column_stack(columns))


def split(cases: Cases, ppis: Sequence[Ppi], total: Epsilon) -> list[Plan]:
    """As each would be released by itself: means count what their bounds cut, as in a set."""
    alone = Epsilon(total.nano // len(ppis))
    return [plan_alone(ppi, alone, cases.log.public) for ppi in ppis]


def uncounted(ppis: Sequence[Ppi]) -> tuple[Ppi, ...]:
    """None of them counts what its bounds cut."""
    return tuple(replace(ppi, release=replace(ppi.release, clipping=False)) for ppi in ppis)


# --- Sepsis -----------------------------------------------------------------------------------


def sepsis(runs: int) -> int:
    file = shared_file(FILE)
    print(f"Sepsis, five PPIs by the month, a total ε of {SEPSIS_TOTAL}")
    if file is None:
        print(f"left out: {missing(FILE)}\n")
        return 0
    catalogue = sepsis_catalogue()
    asked = tuple(ppi for ppi in catalogue.ppis if ppi.id in SEPSIS)
    cases = load(file, replace(catalogue, ppis=asked), Terms(timezone=ZONE))
    few, missed = min(runs, SMOOTHED_RUNS), 0
    ways = {"counting what bounds cut": cases.ppis, "without that": uncounted(cases.ppis)}
    for way, ppis in ways.items():
        plans = plan_set(ppis, SEPSIS_TOTAL, cases.log.public)
        apart = split(cases, ppis, SEPSIS_TOTAL)
        print(f"\nErrors of raw releases, {way}, {runs} times")
        before, after = (drawn(cases, each, runs) for each in (apart, plans))
        missed += _compared(cases, plans, before, after, MOST)
        print(f"\nErrors of smoothed releases, {way}, {few} times")
        before, after = (drawn(cases, each, few, _smoothed) for each in (apart, plans))
        missed += _compared(cases, plans, before, after, 1.0)
    print("\nErrors are those of the mean within its bounds\n")
    return missed


def _compared(
    cases: Cases,
    plans: Sequence[Plan],
    apart: Mapping[str, Drawn],
    together: Mapping[str, Drawn],
    limit: float,
) -> int:
    heads = ("split", "set", "ratio", "limit", f"ratio, ≥ {FEW}")
    print(f"{'':<20}{'mechanism':>10}" + "".join(f"{head:>12}" for head in heads))
    missed = 0
    for ppi, plan in zip(cases.ppis, plans, strict=True):
        errors = [_squares(cases, ppi, one[ppi.id]) for one in (apart, together)]
        before, after = (ppi.unit.show(float(np.sqrt(each.mean()))) for each in errors)
        large = cases.sizes(ppi) >= FEW
        of_large = np.sqrt(errors[1][large].mean() / errors[0][large].mean())
        failed = after / before > limit
        print(f"{ppi.id:<20}{plan.mechanism:>10}{before:>12.3g}{after:>12.3g}", end="")
        print(f"{after / before:>12.3f}{limit:>12.2f}{of_large:>12.3f}", "  MISSED" * failed)
        missed += failed
    return missed


def _squares(cases: Cases, ppi: Ppi, found: Drawn) -> Floats:
    """Of each month."""
    return np.asarray(((found.values - cases.truth(ppi)) ** 2).mean(axis=0))


# --- the bundled catalogues -------------------------------------------------------------------


def bundled(example: Example, runs: int) -> int:
    catalogue = read_definitions(example.catalogue_path)
    with TemporaryDirectory() as folder:
        cases = load(example.write_log(folder), catalogue, example.terms)
    total = Epsilon(OF_EACH.nano * len(cases.ppis))
    print(f"{catalogue.log}: {len(cases.ppis)} PPIs, a total ε of {total}; width of 95 % intervals")
    print(f"{'':<16}{'function':<10}{'scope':<13}{'planned':<10}{'ε':<8}", end="")
    print("".join(f"{head:>10}" for head in ("split", "each", "set", "narrower")))
    plans = plan_set(cases.ppis, total, cases.log.public)
    of_each = plan_each([(ppi, OF_EACH) for ppi in cases.ppis], cases.log.public)
    few = min(runs, 10)
    together, each = drawn(cases, plans, few), drawn(cases, of_each, few)
    apart = drawn(cases, split(cases, cases.ppis, total), few)
    missed = 0
    for plan in plans:
        ppi = plan.ppi
        function = ppi.measure.called if isinstance(ppi.measure, AggregatedMeasure) else "formula"
        before, at_each, after = (
            ppi.unit.show(float(one[ppi.id].widths.mean())) for one in (apart, each, together)
        )
        asked = function in ("mean", "share")
        short = asked and before / after < GOAL
        print(f"{ppi.id:<16}{function:<10}{_grid(ppi):<13}{plan.mechanism:<10}", end="")
        print(f"{float(plan.epsilon.fraction):<8.3f}", end="")
        print(f"{before:>10.3g}{at_each:>10.3g}{after:>10.3g}{before / after:>9.2f}×", end="")
        print("  SHORT" if short else "")
        missed += short
    print()
    return missed


def _grid(ppi: Ppi) -> str:
    return "" if ppi.scope.grid is None else str(ppi.scope.grid)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
