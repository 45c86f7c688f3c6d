"""Logs of any size for benchmarks: cases of ten events over two years, always the same.

    python -m benchmarks.synthetic EVENTS FILE.parquet

Written a million events at a time, so that a hundred million need no more memory than one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_CASE = 10
_BATCH = 1_000_000
_ACTIVITIES = pa.array(["A", "B", "C", "D"])


def synthetic_log(events: int) -> pa.Table:
    """In the order of time within a case."""
    return pa.Table.from_batches(_batches(events))


def write_log(events: int, path: Path) -> Path:
    batches = _batches(events)
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return path


def _batches(events: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, events, _BATCH):
        yield _batch(first, min(_BATCH, events - first))


def _batch(first: int, events: int) -> pa.RecordBatch:
    draw = np.random.default_rng(first)
    number = np.arange(events)
    starts = draw.integers(1_700_000_000, 1_760_000_000, events // PER_CASE + 1)
    seconds = starts[number // PER_CASE] + number % PER_CASE * 3_000
    activity = pa.array(draw.integers(0, 4, events, dtype=np.int8))
    return pa.record_batch(
        {
            "case_id": pa.array((first + number) // PER_CASE).cast(pa.string()),
            "activity": _ACTIVITIES.take(activity),
            "timestamp": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
            "amount": draw.integers(0, 1_000, events).astype(np.float64),
        }
    )


if __name__ == "__main__":
    write_log(int(sys.argv[1]), Path(sys.argv[2]))
