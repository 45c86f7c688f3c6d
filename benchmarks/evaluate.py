"""How much an evaluation costs over reading the columns: CPU ratios in one run.

    python -m benchmarks.evaluate [EVENTS]

Five typical PPIs, monthly: mean and max time A→B, share within 3 h, sum of
counts, mean of the last attribute. The machines are shared, so only ratios
within one run mean anything.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import pappi
from pappi.store.events import open_readonly

CATALOGUE = """
log: bench
ppis:
  - id: mean
    measure: {mean: {time: {from: activity == "A", to: activity == "B"}}}
    bounds: [0 h, 100 h]
  - id: max
    measure: {max: {time: {from: activity == "A", to: activity == "B"}}}
    bounds: [0 h, 100 h]
  - id: share
    measure:
      share: {derive: t < 3 hours, t: {time: {from: activity == "A", to: activity == "B"}}}
  - id: count
    measure: {sum: {count: activity == "C"}}
    bounds: [0, 10]
  - id: amount
    measure: {mean: {data: amount}}
    bounds: [0, 1000]
"""


def main(events: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "bench.yaml").write_text(CATALOGUE, encoding="utf-8")
        workspace = pappi.create(root / "workspace")
        workspace.import_log(synthetic_log(events), "bench")
        workspace.grant("bench", 10)
        table = workspace.log("bench").table
        scan = cpu_seconds(lambda: scan_columns(root / "workspace" / "events.duckdb", table))
        exact = cpu_seconds(lambda: workspace.exact(root / "bench.yaml"))
        analyst = workspace.checkpoint()
        # Each time at another ε: an identical question would only be replayed.
        prices = iter(("0.1", "0.11", "0.12"))
        released = cpu_seconds(lambda: analyst.release(root / "bench.yaml", next(prices)))
    print(f"{events:,} events, CPU seconds (ratio to the bare scan)")
    for name, seconds in (("scan", scan), ("exact", exact), ("release", released)):
        print(f"{name:<8} {seconds:8.3f}  {seconds / scan:6.2f}×")


def synthetic_log(events: int, per_case: int = 10) -> pa.Table:
    """Cases of ten events over two years, in the order of time within a case."""
    draw = np.random.default_rng(1)
    case = np.arange(events) // per_case
    start = draw.integers(1_700_000_000, 1_760_000_000, case[-1] + 1)[case]
    step = np.arange(events) % per_case
    return pa.table(
        {
            "case_id": pa.array(case).cast(pa.string()),
            "activity": np.array(["A", "B", "C", "D"])[draw.integers(0, 4, events)],
            "timestamp": pa.array((start + step * 3_000) * 1_000_000, pa.timestamp("us", "UTC")),
            "amount": draw.integers(0, 1_000, events).astype(np.float64),
        }
    )


def scan_columns(database: Path, table: str) -> object:
    """Read the columns the PPIs need, and do next to nothing with them.

    Not MIN or MAX, which DuckDB answers from its statistics without reading.
    """
    with open_readonly(database) as connection:
        scanned = duckdb.table(table, connection=connection).aggregate(
            "sum(strlen(case_id)), sum(strlen(activity)), sum(ts_us), sum(pos), sum(amount)"
        )
        return scanned.fetchall()


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
