"""The Sepsis PPIs on logs that PRIPEL has anonymised: what the paper compares itself with.

PRIPEL is part of pm4py, which is under the AGPL and is no part of this package. A script among
the tests writes anonymised logs to a folder; this experiment reads them, if they are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.monthly import Monthly
from experiments.sections import Run, Section, Table
from experiments.sepsis_log import FILE, SepsisLog, load_sepsis
from experiments.sepsis_ours import NUMBERS
from experiments.sepsis_targets import shown_target
from experiments.shared_data import missing, shared_file
from pappi.errors import PappiError
from pappi.ppinot import Ppi

VARIABLE = "PAPPI_PRIPEL_LOGS"
FAST_LOGS = 2
TITLE = "The same PPIs on logs anonymised by PRIPEL"
COLUMNS = ("log", "cases", "ppi", "name", "unit", "months_with_a_value", "rmse", "mae",
           "correlation")  # fmt: skip


def pripel(run: Run) -> Section:
    log_file, logs = shared_file(FILE), _logs()
    if log_file is None:
        return Section("pripel", TITLE, skipped=missing(FILE))
    if not logs:
        reason = (
            f"needs logs that PRIPEL has anonymised: write them with pm4py installed "
            f"(python tests/experiments/pripel_logs.py FOLDER) and set {VARIABLE} to their folder"
        )
        return Section("pripel", TITLE, skipped=reason)
    truth = load_sepsis(log_file)
    read = logs[:FAST_LOGS] if run.fast else logs
    rows = [row for path in read for row in _rows(path, truth, run)]
    about = (
        (
            "PRIPEL's ε = 0.1 is nominal: it is spent at every length of a prefix, and durations "
            "within a trace get no noise."
        ),
    )
    return Section("pripel", TITLE, about, (Table("pripel", "Errors", COLUMNS, rows),))


def _logs() -> list[Path]:
    folder = os.environ.get(VARIABLE)
    return sorted(Path(folder).glob("*.csv")) if folder else []


def _rows(path: Path, truth: SepsisLog, run: Run) -> Iterator[tuple[object, ...]]:
    run.note(f"PRIPEL: {path.name}")
    try:
        found = load_sepsis(path)
    except PappiError as error:
        # An activity that no trace is left with makes a PPI unknown to that log.
        yield path.stem, 0, "", error.message, "", 0, np.nan, np.nan, np.nan
        return
    cases = sum(len(table.anchor_us) for table in found.tables)
    for ppi in truth.ppis.values():
        one = _monthly(ppi, truth, found)
        known = int(np.isfinite(one.values).sum())
        errors = (one.rmse, one.mae, one.correlation) if known > 1 else (np.nan,) * 3
        yield path.stem, cases, NUMBERS[ppi.id], ppi.name, ppi.unit.name, known, *errors


def _monthly(ppi: Ppi, truth: SepsisLog, found: SepsisLog) -> Monthly:
    """The anonymised log's values in the months of the real one; NaN where it has none."""
    values = dict(zip(found.months, found.truth(ppi), strict=True))
    return Monthly(
        number=NUMBERS[ppi.id],
        name=ppi.name,
        unit=ppi.unit.name,
        by="PRIPEL",
        function="",
        mechanism="anonymised log",
        bounds="",
        epsilon="0.1",
        months=truth.months,
        truth=truth.truth(ppi),
        values=np.array([[values.get(month, np.nan) for month in truth.months]]),
        target=shown_target(ppi),
    )
