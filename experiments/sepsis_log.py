"""The Sepsis log month by month, as its owner sees it: what every case contributes.

Imported into a workspace of its own, which is gone when the cases have been read. The six
PPIs are those of the paper, in sepsis.yaml beside this; one more says the share of returning
patients among all cases, as the authors' follow-up does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.intervals import Floats
from pappi.engine import CaseTable, cases_by_period
from pappi.planning import periods_of
from pappi.ppinot import (
    AggregatedMeasure,
    Catalogue,
    Ppi,
    aggregate,
    aggregated_measures,
    parse_catalogue,
    read_definitions,
    reduced_form,
    value_above,
)
from pappi.session import create
from pappi.store import LogDeclaration, open_workspace

FILE = "sepsis.csv.gz"
ZONE = "Europe/Amsterdam"
OF_ALL = "returning-of-all"

_OF_ALL = """
log: sepsis
ppis:
  - id: returning-of-all
    name: Patients returning within 28 days, of all cases
    measure:
      share:
        derive: away < 28 days
        away: {time: {from: {activity: Release A}, to: {activity: Return ER}}}
    target: below 5 %
    scope: every month
"""


@dataclass(frozen=True)
class SepsisLog:
    """The PPIs, and the cases of each month."""

    declaration: LogDeclaration
    catalogue: Catalogue
    months: tuple[str, ...]
    tables: tuple[CaseTable, ...]

    @cached_property
    def ppis(self) -> dict[str, Ppi]:
        return {ppi.id: ppi for ppi in self.catalogue.ppis}

    def truth(self, ppi: Ppi) -> Floats:
        """The non-private values, in the PPI's unit."""
        return np.array([_value(ppi, table) for table in self.tables])


def load_sepsis(path: Path) -> SepsisLog:
    return load_log(path, sepsis_catalogue(), ZONE)


def load_log(source: object, catalogue: Catalogue, zone: str) -> SepsisLog:
    """Any log, for PPIs of one scope; nothing of it is kept but what its cases contribute."""
    with TemporaryDirectory() as folder:
        workspace = create(Path(folder) / "hospital")
        workspace.import_log(source, catalogue.log, timezone=zone)
        log = workspace.log(catalogue.log)
        reduced_ppis = tuple(reduced_form(ppi, log.terms.anchor) for ppi in catalogue.ppis)
        events = open_workspace(workspace.root).events
        measures = [ppi.measure for ppi in reduced_ppis]
        periods = {ppi.scope: periods_of(ppi.scope, log.horizon) for ppi in reduced_ppis}
        (tables,) = cases_by_period(events, log, measures, periods).values()
    months = tuple(period.label for period in tables)
    found = replace(catalogue, ppis=reduced_ppis)
    return SepsisLog(log, found, months, tuple(map(_by_end, tables.values())))


def sepsis_catalogue() -> Catalogue:
    catalogue = read_definitions(Path(__file__).with_name("sepsis.yaml"))
    return replace(catalogue, ppis=(*catalogue.ppis, *parse_catalogue(_OF_ALL).ppis))


def inputs(ppi: Ppi) -> tuple[AggregatedMeasure, ...]:
    """The measures over cases, in the order of the formula."""
    return tuple(measure for _, measure in aggregated_measures(ppi.measure))


def _by_end(table: CaseTable) -> CaseTable:
    """Cases in the order in which they end: the order the authors' code deals them in."""
    order = np.argsort(table.anchor_us, kind="stable")
    columns = {measure: column[order] for measure, column in table.columns.items()}
    return CaseTable(table.anchor_us[order], columns)


def _value(ppi: Ppi, table: CaseTable) -> float:
    values = {
        path: aggregate(measure, table.contributions(measure))
        for path, measure in aggregated_measures(ppi.measure)
    }
    value = value_above(ppi.measure, values)
    return float("nan") if value is None else ppi.unit.show(value)
