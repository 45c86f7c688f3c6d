"""What `benchmarks.evaluate` measures, each in a process of its own.

    python -m benchmarks.evaluate_jobs JOB FOLDER REPEATS

Prints the least CPU and wall seconds of several runs, and the most memory the process had.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import combinations, count
from pathlib import Path
from typing import Any

import duckdb

import pappi
from pappi.store import event_file as events_file
from pappi.store import open_readonly

LOG = "bench"
WORKSPACE, PARQUET = "workspace", "log.parquet"

MEAN = """
  - id: mean
    measure: {mean: {time: {from: activity == "A", to: activity == "B"}}}
    bounds: [0 h, 100 h]
"""
FIVE = (
    MEAN
    + """
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
)
CYCLIC = """
  - id: cycles
    measure: {mean: {time: {from: activity == "A", to: activity == "B", cycles: sum}}}
    bounds: [0 h, 100 h]
"""
BETWEEN = """
  - id: mean_{start}_{end}
    measure: {{mean: {{time: {{from: activity == "{start}", to: activity == "{end}"}}}}}}
    bounds: [0 h, 100 h]
  - id: max_{start}_{end}
    measure: {{max: {{time: {{from: activity == "{start}", to: activity == "{end}"}}}}}}
    bounds: [0 h, 100 h]
  - id: share_{start}_{end}
    measure:
      share:
        derive: t < 3 hours
        t: {{time: {{from: activity == "{start}", to: activity == "{end}"}}}}
"""

# Reads the columns the five PPIs need, and does next to nothing with them, from the file that the
# log was imported from. Not MIN or MAX of numbers, which DuckDB has in its statistics.
SCAN_OF_FILE = (
    "SELECT sum(strlen(case_id)), sum(strlen(activity)), sum(epoch_us(timestamp)), sum(amount) "
    "FROM '{file}'"
)

# The same of the table that PaPPI made of it, which is quicker to read.
SCAN = "SELECT sum(strlen(case_id)), sum(strlen(activity)), sum(ts_us), sum(pos), sum(amount)"

# The five PPIs as a skilled hand writes them: one scan, no check of anything. The second takes
# the order of the log where times tie, as PaPPI does; the first is right without ties only.
BY_TIME = """
SELECT anchor // 2628000000000, avg(b - a), max(b - a), avg((b - a < 10800000000)::INT),
  sum(c), avg(amount)
FROM (
  SELECT max(ts_us) AS anchor, min(ts_us) FILTER (activity = 'A') AS a,
    max(ts_us) FILTER (activity = 'B') AS b, count(*) FILTER (activity = 'C') AS c,
    arg_max(amount, pos) AS amount
  FROM {table} GROUP BY case_id
) WHERE b >= a GROUP BY 1
"""
BY_ORDER = BY_TIME.replace(
    "arg_max(",
    "min(pos) FILTER (activity = 'A') AS pa, max(pos) FILTER (activity = 'B') AS pb, arg_max(",
).replace("WHERE b >= a", "WHERE pb >= pa")


def catalogue(folder: Path, name: str, ppis: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(f"log: {LOG}\nppis:\n{ppis}", encoding="utf-8")
    return path


def twenty() -> str:
    """Eighteen about time, between any two activities, one that counts and one of an attribute."""
    pairs = "".join(BETWEEN.format(start=a, end=b) for a, b in combinations("ABCD", 2))
    return pairs + FIVE[FIVE.index("  - id: count") :]


def _query(folder: Path, query: str) -> Callable[[], object]:
    events, table = _events(folder)

    def run() -> object:
        with open_readonly(events, table) as connection:
            return connection.execute(query.replace("{table}", table)).fetchall()

    return run


def _scan_of_file(folder: Path) -> Callable[[], object]:
    path = str(folder / PARQUET).replace("'", "''")

    def run() -> object:
        with duckdb.connect() as connection:
            return connection.execute(SCAN_OF_FILE.replace("{file}", path)).fetchall()

    return run


def _columns_read(folder: Path) -> Callable[[], object]:
    """The same columns, handed over as arrays."""
    events, table = _events(folder)

    def run() -> object:
        with open_readonly(events, table) as connection:
            columns = connection.table(table).select("case_id, activity, ts_us, pos, amount")
            return [batch.num_rows for batch in columns.to_arrow_reader(1_000_000)]

    return run


def _events(folder: Path) -> tuple[Path, str]:
    root = folder / WORKSPACE
    return root / "events", pappi.open(root).log(LOG).table


def _exact(folder: Path, name: str, ppis: str) -> Callable[[], object]:
    workspace, path = pappi.open(folder / WORKSPACE), catalogue(folder, name, ppis)
    return lambda: workspace.exact(path)


def _release(folder: Path) -> Callable[[], object]:
    analyst = pappi.open(folder / WORKSPACE).checkpoint()
    path = catalogue(folder, "five", FIVE)
    # Each time at a larger ε, in a log that was kept, too: what is on record would be replayed.
    paid = count(int(time.time()) % 10**8)
    return lambda: analyst.release(path, f"0.1{next(paid):08d}", anyway=True, derived=False)


def _spilled(folder: Path) -> Callable[[], object]:
    events_file._MEMORY = "1GB"  # noqa: SLF001 - as on a machine of five
    return _exact(folder, "twenty", twenty())


def _ppinot4py(folder: Path, condition: Callable[[str], Any]) -> Callable[[], object]:
    import pandas as pd  # type: ignore[import-untyped]
    from ppinot4py import measure_computer  # type: ignore[import-untyped]
    from ppinot4py.computers import LogConfiguration  # type: ignore[import-untyped]
    from ppinot4py.model import (  # type: ignore[import-untyped]
        AggregatedMeasure,
        CountMeasure,
        DataMeasure,
        DerivedMeasure,
        TimeMeasure,
    )

    log = pd.read_parquet(folder / PARQUET)
    at = {name: f"activity == '{name}'" for name in "ABC"}
    elapsed = TimeMeasure(condition(at["A"]), condition(at["B"]))
    within = DerivedMeasure("t < limit", {"t": elapsed, "limit": pd.Timedelta(hours=3)})
    measures = [
        AggregatedMeasure(elapsed, "AVG"),
        AggregatedMeasure(elapsed, "MAX"),
        AggregatedMeasure(within, "AVG"),
        AggregatedMeasure(CountMeasure(condition(at["C"])), "SUM"),
        AggregatedMeasure(DataMeasure("amount"), "AVG"),
    ]
    named = LogConfiguration(id_case="case_id", time_column="timestamp", activity_column="activity")
    months = pd.Grouper(freq="ME")
    return lambda: [measure_computer(each, log, named, time_grouper=months) for each in measures]


def _by_data_condition(folder: Path) -> Callable[[], object]:
    from ppinot4py.model import DataCondition

    return _ppinot4py(folder, DataCondition)


def _pm4py(folder: Path) -> Callable[[], object]:
    """One time only: pm4py has durations of cases, so events other than A and B are left out."""
    import pandas as pd

    pm4py: Any = import_module("pm4py")  # which few have: an extra of its own
    named = {"case_id": "case_id", "activity_key": "activity", "timestamp_key": "timestamp"}
    log = pm4py.format_dataframe(pd.read_parquet(folder / PARQUET), **named)
    both = {"values": {"A", "B"}, "level": "event", "retain": True}

    def run() -> float:
        kept = pm4py.filter_event_attribute_values(log, "concept:name", **both)
        durations = pm4py.get_all_case_durations(kept)
        return float(sum(durations) / len(durations))

    return run


JOBS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "bare scan": _scan_of_file,
    "scan of the stored table": lambda folder: _query(folder, f"{SCAN} FROM {{table}}"),
    "columns read as arrays": _columns_read,
    "SQL by hand, by time": lambda folder: _query(folder, BY_TIME),
    "SQL by hand, by order": lambda folder: _query(folder, BY_ORDER),
    "five PPIs, exact": lambda folder: _exact(folder, "five", FIVE),
    "five PPIs, released": _release,
    "one PPI": lambda folder: _exact(folder, "mean", MEAN),
    "one PPI, cyclic": lambda folder: _exact(folder, "cyclic", CYCLIC),
    "twenty PPIs": lambda folder: _exact(folder, "twenty", twenty()),
    "twenty PPIs within 1 GB": _spilled,
    "ppinot4py, DataCondition": _by_data_condition,
    "ppinot4py": lambda folder: _ppinot4py(folder, str),
    "pm4py, one time": _pm4py,
}


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    return seconds(work, repeats)[0]


def seconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The least CPU and wall seconds of several runs."""
    cpus, walls = [], []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    return min(cpus), min(walls)


def main(job: str, folder: Path, repeats: int) -> None:
    cpu, wall = seconds(JOBS[job](folder), repeats)
    print(json.dumps({"cpu": cpu, "wall": wall, "megabytes": peak_megabytes()}))


def peak_megabytes() -> float:
    """Of this process alone: `ru_maxrss` may be that of the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (each for each in status.read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
