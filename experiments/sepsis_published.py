"""The paper's Sepsis case study with its own mechanisms: as its code and as its text has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.boxes import CODE, PAPER
from experiments.deviations import AUTHORS, TEXT, Deviation
from experiments.intervals import Floats, Generator
from experiments.monthly import Monthly
from experiments.published import Function, Kind, Published
from experiments.published_sample import PERCENT, PublishedSample
from experiments.seeded import generator
from experiments.sepsis_log import SepsisLog, inputs
from experiments.sepsis_targets import shown_target
from pappi.engine import CaseTable
from pappi.ppinot import Ppi

EPSILON = 0.1
FROM_DATA = "from the data"


@dataclass(frozen=True, slots=True)
class Kpi:
    """One published indicator: its number, its PPI, its name in the published files, its runs.

    `doubled`: the code counts the starts of cases below the line, and each case has two.
    """

    number: str
    ppi: str
    published: str
    kind: Kind | None
    extension: float = 0.0
    doubled: bool = False
    repetitions: int = 9

    @property
    def function(self) -> Function | Literal["share"]:
        """That carries the noise."""
        if self.kind != "interval":
            return "sum" if self.kind else "share"
        return "max" if self.ppi == "longest-stay" else "mean"


KPIS = (
    Kpi("1", "waiting", "AvgWaitingTimeUntilAdmission", "interval", repetitions=10),
    Kpi("2", "stay", "AvgLengthOfStay", "interval"),
    Kpi("3", "longest-stay", "MaxLengthOfStay", "interval", extension=0.3),
    Kpi("4", "returning", "%ReturningPatientsTotalNotPrivatized", "laplace"),
    Kpi("5", "antibiotics", "%AntibioticsWithinOneHourTotalNotPrivatized", "laplace", doubled=True),
    Kpi("6", "lactic-acid", "%LacticAcidWithinThreeHoursTotalNotPrivatized", "laplace",
        doubled=True),
    Kpi("4", "returning", "%ReturningPatientsSampleAggregate", None),
    Kpi("5", "antibiotics", "%AntibioticsWithinOneHourSampleAggregate", None, doubled=True),
    Kpi("6", "lactic-acid", "%LacticAcidWithinThreeHoursSampleAggregate", None, doubled=True),
)  # fmt: skip


def as_published(log: SepsisLog, runs: int) -> Iterator[tuple[Kpi, Monthly]]:
    """Every indicator, once as in the code and once as in the text."""
    for kpi in KPIS:
        for by, deviations in ((CODE, AUTHORS), (PAPER, TEXT)):
            yield kpi, _series(kpi, log, by, deviations, runs)


def _series(
    kpi: Kpi, log: SepsisLog, by: str, deviations: frozenset[Deviation], runs: int
) -> Monthly:
    ppi = log.ppis[kpi.ppi]
    rng = generator(f"sepsis {kpi.published} {by}")
    columns = [_month(kpi, ppi, table, deviations, runs, rng) for table in log.tables]
    halved = kpi.doubled and Deviation.STARTS_COUNTED_TWICE in deviations
    return Monthly(
        number=kpi.number,
        name=ppi.name,
        unit=ppi.unit.name,
        by=by,
        function=kpi.function,
        mechanism=kpi.kind or "sample-and-aggregate",
        bounds=FROM_DATA,
        epsilon=str(EPSILON),
        months=log.months,
        truth=log.truth(ppi) / (2 if halved else 1),
        values=np.column_stack(columns),
        target=shown_target(ppi),
    )


def _month(
    kpi: Kpi, ppi: Ppi, table: CaseTable, deviations: frozenset[Deviation],
    runs: int, rng: Generator,
) -> Floats:  # fmt: skip
    part, *whole = (table.contributions(measure) for measure in inputs(ppi))
    if kpi.function == "share":
        return PublishedSample(EPSILON, deviations).draws(part, runs, rng)
    if kpi.function != "sum":
        published = Published("interval", kpi.function, EPSILON, kpi.extension, deviations)
        return published.draws(part / float(ppi.unit.factor), runs, rng)
    below = whole[0].sum() if whole else float(len(part))
    doubled = kpi.doubled and Deviation.STARTS_COUNTED_TWICE in deviations
    return _percent(part, below * (2 if doubled else 1), deviations, runs, rng)


def _percent(
    part: Floats, below: float, deviations: frozenset[Deviation], runs: int, rng: Generator
) -> Floats:
    """A noisy sum over an exact one, which is not protected at all."""
    above = Published("laplace", "sum", EPSILON, deviations=deviations).draws(part, runs, rng)
    if Deviation.CLAMPED in deviations:
        above = np.minimum(above, below)
    return PERCENT * above / below
