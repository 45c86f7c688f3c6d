"""What working hours cost: the mean working time of a million cases against their mean duration.

    python -m benchmarks.working_hours [CASES]

Both are exact values of the same log in the same run, from the first event of a case to its
last. The calendar has a lunch break, holidays, and a zone with
daylight saving. CPU ratios within one run are all that means anything on a shared machine.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import pappi
from benchmarks.evaluate import cpu_seconds
from pappi.ppinot import AggregatedMeasure, Catalogue, TimeMeasure, parse_catalogue
from pappi.values import parse_calendar, working_days_of

MOST = 3.0
"""How many times the CPU of plain durations working hours may take."""

OFFICE = parse_calendar("Mon-Fri 09:00-12:30 13:30-18:00; except holidays in ES; in Europe/Madrid")
PLAIN = parse_catalogue(
    """
log: bench
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}}}
    bounds: [0 h, 400 h]
""",
    "bench.yaml",
)


def main(cases: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        workspace = pappi.create(Path(folder) / "workspace")
        workspace.import_log(synthetic_log(cases), "bench")
        working_days_of.cache_clear()
        first = cpu_seconds(lambda: workspace.exact(in_working_hours(PLAIN)), repeats=1)
        plain = cpu_seconds(lambda: workspace.exact(PLAIN), repeats=5)
        worked = cpu_seconds(lambda: workspace.exact(in_working_hours(PLAIN)), repeats=5)
    print(f"{cases:,} cases, CPU seconds of their mean")
    for name, seconds in (("duration", plain), ("working hours", worked)):
        print(f"{name:<14} {seconds:8.3f}  {seconds / plain:6.2f}×")
    print(f"{'the first time':<14} {first:8.3f}  {first / plain:6.2f}×  (makes the table of days)")
    return 0 if worked <= MOST * plain else 1


def in_working_hours(catalogue: Catalogue) -> Catalogue:
    """The same question, counted by the calendar."""
    (ppi,) = catalogue.ppis
    measure = ppi.measure
    if not (isinstance(measure, AggregatedMeasure) and isinstance(measure.base, TimeMeasure)):
        raise TypeError("the benchmark is about one duration")
    base = replace(measure.base, calendar=OFFICE)
    return replace(catalogue, ppis=(replace(ppi, measure=replace(measure, base=base)),))


def synthetic_log(cases: int, per_case: int = 3) -> pa.Table:
    """Cases of three events, of two weeks on average, over two years."""
    draw = np.random.default_rng(1)
    case = np.repeat(np.arange(cases), per_case)
    start = draw.integers(1_700_000_000, 1_760_000_000, cases)[case]
    length = draw.exponential(14 * 86_400, cases)[case]
    step = np.tile(np.arange(per_case), cases) / (per_case - 1)
    seconds = start + (length * step).astype(np.int64)
    return pa.table(
        {
            "case_id": pa.array(case).cast(pa.string()),
            "activity": np.array(["A", "B", "C"])[np.tile(np.arange(per_case), cases)],
            "timestamp": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
