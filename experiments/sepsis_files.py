"""What the authors published about the Sepsis log: noisy results of theirs and of PRIPEL."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.monthly import Monthly
from experiments.sepsis_log import SepsisLog
from experiments.sepsis_published import FROM_DATA, KPIS, Kpi
from experiments.sepsis_targets import shown_target

RELEASES, ERRORS = "sepsis_published_releases.csv.gz", "published_errors.csv"
PAPPI, PRIPEL = "PaPPI", "PRIPEL"

Results = dict[tuple[str, str], dict[str, list[tuple[float, float]]]]
"""By indicator and algorithm, by month: result and true value of every repetition."""


def published_series(path: Path, log: SepsisLog) -> Iterator[tuple[Kpi, Monthly]]:
    """Every indicator as published, and as evaluated on logs that PRIPEL had anonymised."""
    results = _results(path)
    for kpi in KPIS:
        yield kpi, _series(kpi, PAPPI, results[kpi.published, PAPPI], log)
        if kpi.kind is not None:  # on anonymised logs, both ways to release are the same
            yield kpi, _series(kpi, PRIPEL, results[kpi.published, PRIPEL], log)


def published_rmse(path: Path) -> dict[str, float]:
    """The RMSE of the paper's results, by indicator."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["file"] == "r1"]
    return {row["kpi"]: float(row["RMSE"]) for row in rows if row["alg"] == PAPPI}


def _results(path: Path) -> Results:
    found: Results = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            months = found.setdefault((row["Kpi"], row["Algorithm"]), {})
            pair = float(row["Result"] or "nan"), float(row["Orig"])
            months.setdefault(row["From"][:7], []).append(pair)
    return found


def _series(
    kpi: Kpi, algorithm: str, months: dict[str, list[tuple[float, float]]], log: SepsisLog
) -> Monthly:
    ppi, pairs = log.ppis[kpi.ppi], np.array([months[month] for month in log.months])
    runs = pairs[:, :, 0].T
    ours = algorithm == PAPPI
    return Monthly(
        number=kpi.number,
        name=ppi.name,
        unit=ppi.unit.name,
        by="published" if ours else PRIPEL,
        function=kpi.function,
        mechanism=(kpi.kind or "sample-and-aggregate") if ours else "anonymised logs",
        bounds=FROM_DATA,
        epsilon="0.1",
        months=log.months,
        truth=pairs[:, 0, 1],
        # Some of PRIPEL's logs have no value of some PPIs in any month.
        values=runs[np.isfinite(runs).any(axis=1)],
        target=shown_target(ppi),
    )
