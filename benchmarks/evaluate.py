"""How much an evaluation costs over reading the columns: CPU ratios in one run.

    python -m benchmarks.evaluate [EVENTS …] [--keep FOLDER]

Five typical PPIs, monthly: mean and max time A→B, share within 3 h, sum of counts, mean of
the last attribute; and what is beside them in `evaluate_jobs`. The machines are shared, so only
ratios within one run mean anything. Writes build/bench/evaluate.csv and a chart of it. Logs
are kept in the folder, if one is named, and used again: a hundred million events take a while.
Exits with 1 if with so many the five PPIs cost more than is promised.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from importlib.util import find_spec
from pathlib import Path

import pappi
from benchmarks.evaluate_jobs import JOBS, LOG, PARQUET, WORKSPACE, cpu_seconds
from benchmarks.synthetic import synthetic_log, write_log
from pappi.report import Element, el

__all__ = ["cpu_seconds", "synthetic_log"]  # also for other benchmarks

TABLE, CHART = Path("build/bench/evaluate.csv"), Path("build/bench/evaluate.svg")
PEERS = ("ppinot4py", "pm4py")
MOST_FOR_PEERS = 10_000_000
JUDGED, FROM = "five PPIs, exact", 100_000_000
MOST_SCANS, MOST_MEGABYTES = 2.8, 2_000


@dataclass(frozen=True, slots=True)
class Measured:
    events: int
    job: str
    cpu: float
    wall: float
    megabytes: float
    scans: float
    """CPU, as a multiple of the bare scan's."""


def main(sizes: Sequence[int], kept: Path | None) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        rows = [row for events in sizes for row in measured(kept or Path(temporary), events)]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Measured))
        writer.writerows(map(astuple, rows))
    CHART.write_text(str(chart(rows)), encoding="utf-8")
    print(f"written: {TABLE}, {CHART}")
    judged = [row for row in rows if row.job == JUDGED and row.events >= FROM]
    return int(any(r.scans > MOST_SCANS or r.megabytes > MOST_MEGABYTES for r in judged))


def measured(folder: Path, events: int) -> Iterator[Measured]:
    print(f"\n{events:,} events: CPU s, wall s, peak MB, CPU as a multiple of the bare scan")
    log = prepared(folder / str(events), events)
    jobs = [job for job in JOBS if events <= MOST_FOR_PEERS or not job.startswith(PEERS)]
    scan = 0.0
    for job in jobs:
        if job.startswith("pm4py") and find_spec("pm4py") is None:
            print(f"{job:<26} not measured: pip install 'pappi[peers]'")
            continue
        found = run(job, log, repeats(job, events))
        scan = scan or found["cpu"]
        row = Measured(events, job, **found, scans=found["cpu"] / scan)
        print(f"{job:<26} {row.cpu:9.3f} {row.wall:9.3f} {row.megabytes:7.0f} {row.scans:8.2f}×")
        yield row


def repeats(job: str, events: int) -> int:
    """Fewer of what takes long."""
    if events > MOST_FOR_PEERS:
        return 2
    return 1 if job.startswith(PEERS) else 5


def prepared(folder: Path, events: int) -> Path:
    """A folder with the log as a file and in a workspace."""
    if not (folder / WORKSPACE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        path = write_log(events, folder / PARQUET)
        workspace = pappi.create(folder / WORKSPACE)
        workspace.import_log(path, LOG)
        workspace.grant(LOG, 1_000)
        workspace.close()
    return folder


def run(job: str, folder: Path, times: int) -> dict[str, float]:
    """In a process of its own, whose memory is the job's alone."""
    command = [sys.executable, "-m", "benchmarks.evaluate_jobs", job, str(folder), str(times)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


# --- the chart ------------------------------------------------------------------------


_LEFT, _BAR, _WIDTH = 210, 22, 420


def chart(rows: Sequence[Measured]) -> Element:
    """Nanoseconds of CPU per event: a bar for each job, of every size of log below each other."""
    shown = [row for row in rows if not row.job.startswith(PEERS)]
    longest = max(_per_event(row) for row in shown)
    height = _BAR * (len(shown) + 2)
    return el(
        "svg",
        el("title", "CPU per event of each job, in nanoseconds"),
        el("text", "CPU per event, ns", x=_LEFT, y=_BAR - 8, font_weight="bold"),
        *(bar for line, row in enumerate(shown, 1) for bar in _bar(row, line, longest)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_LEFT + _WIDTH + 90} {height}",
        font_family="sans-serif",
        font_size=12,
        role="img",
    )


def _bar(row: Measured, line: int, longest: float) -> Iterator[Element]:
    top, length = line * _BAR, _WIDTH * _per_event(row) / longest
    name = f"{row.job}, {row.events // 1_000_000} M"
    yield el("text", name, x=_LEFT - 6, y=top + 15, text_anchor="end")
    yield el("rect", x=_LEFT, y=top + 3, width=length, height=_BAR - 6, fill="#3b6ea5")
    yield el("text", f"{_per_event(row):.0f}", x=_LEFT + length + 5, y=top + 15)


def _per_event(row: Measured) -> float:
    return 1e9 * row.cpu / row.events


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--keep", type=Path, default=None)
    asked = parser.parse_args()
    raise SystemExit(main(asked.events, asked.keep))
