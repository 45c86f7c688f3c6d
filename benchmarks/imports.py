"""What importing a log costs, beside readers that keep less and beside DuckDB itself.

    python -m benchmarks.imports [LOG.xes.gz] [--peers PYTHON]

CSV and Parquet: into a workspace, against DuckDB's own table with the same sort; once in the order
of cases, as most logs are written, and once in the order of time. With a LOG, of its events five
times over, else of made-up ones. XES, with a LOG: into a finished workspace, against r4pm and
rustxes, which only read it; PYTHON is an interpreter that has them (without, this part is left
out). Every job runs in a process of its own; CPU seconds, the least of three, once its modules are
loaded and the workspace is there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.synthetic import synthetic_log
from pappi.eventlog import open_log

ROUNDS = 3
COPIES = 5
EVENTS = 2_000_000
MOST_OF_RUST, MOST_OF_DUCKDB, MOST_MEMORY = 2.5, 1.3, 1.25

# What runs in the processes: it gets the paths of the log and of a folder that is not there yet.
MEASURED = """
import json, sys, time
from pathlib import Path
log, folder = sys.argv[1:]
{ready}
begun = time.process_time()
{work}
spent = time.process_time() - begun
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(json.dumps([spent, int(peak) / 1024]))
"""
# A file of a few events goes first: it loads the modules that are loaded when they are needed.
FEW = "few = str(Path(log).with_name('few' + Path(log).suffix))"
OURS = (
    f"""import pappi
{FEW}
if Path(few).exists():
    pappi.create(folder + "-few").import_log(few)
workspace = pappi.create(folder)""",
    "workspace.import_log(log)",
)
READING = (
    "import pyarrow.compute\nfrom pappi.eventlog import open_log",
    "for batch in open_log(log).batches(): pass",
)
PEERS = {
    "r4pm": ("from r4pm import df", "df.import_xes(log)"),
    "rustxes": ("import rustxes", "rustxes.import_xes(log)"),
}
DUCKDB = (
    f"""import duckdb
{FEW}
def table(log, place):
    connection = duckdb.connect(place)
    connection.execute(f'''
        CREATE TABLE log AS
        WITH e AS (SELECT *, row_number() OVER () AS seq FROM '{{log}}'),
             c AS (SELECT "case", min(seq) AS first FROM e GROUP BY 1)
        SELECT "case" AS case_id, row_number() OVER (ORDER BY first, timestamp, seq) AS pos,
               epoch_us(timestamp) AS ts_us, e.* EXCLUDE ("case", timestamp, seq)
        FROM e JOIN c USING ("case") ORDER BY pos''')
    connection.close()
table(few, folder + "-few")""",  # noqa: S608
    "table(log, folder)",
)


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    megabytes: float


def main(log: Path | None, peers: str | None) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = []
        if log is None:
            files = made_up(EVENTS, folder)
        else:
            many, *files = copies(log, folder)
            kept += of_xes(log, many, peers)
        for path in (*files, *(by_time(path) for path in files)):
            own = shown(f"{path.name}: PaPPI", OURS, path)
            duck = shown(f"{path.name}: DuckDB, sorted", DUCKDB, path)
            kept.append(judged(path.name, own.seconds / duck.seconds, MOST_OF_DUCKDB))
    return int(not all(kept))


def of_xes(log: Path, many: Path, peers: str | None) -> list[bool]:
    ours = {path: shown(f"{path.name}: PaPPI", OURS, path) for path in (log, many)}
    shown(f"{log.name}: PaPPI, read only", READING, log)
    growth = ours[many].megabytes / ours[log].megabytes
    kept = [judged(f"memory for {COPIES} times the events", growth, MOST_MEMORY)]
    if peers is not None:
        rust = [shown(f"{log.name}: {n}", job, log, peers) for n, job in PEERS.items()]
        fastest = min(cost.seconds for cost in rust)
        kept.append(judged("XES, fastest reader", ours[log].seconds / fastest, MOST_OF_RUST))
    return kept


def shown(what: str, job: tuple[str, str], log: Path, python: str = sys.executable) -> Cost:
    """The least CPU of a few runs, and the most memory."""
    program = MEASURED.format(ready=job[0], work=job[1])
    costs = [measured(python, program, log) for _ in range(ROUNDS)]
    cost = Cost(min(c.seconds for c in costs), max(c.megabytes for c in costs))
    print(f"{what:<42}{cost.seconds:8.2f} s{cost.megabytes:8.0f} MB", flush=True)
    return cost


def measured(python: str, program: str, log: Path) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", program, str(log), f"{folder}/new"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def judged(what: str, ratio: float, allowed: float) -> bool:
    verdict = "kept" if ratio <= allowed else "too much"
    print(f"    {what}: {ratio:.2f} × (at most {allowed}): {verdict}", flush=True)
    return ratio <= allowed


def made_up(events: int, folder: Path) -> list[Path]:
    """A log of cases of ten events, with a few attributes."""
    return written(
        synthetic_log(events),
        'case_id AS "case", activity, timestamp, amount, CAST(amount AS BIGINT) % 97 AS resource, '
        "'channel ' || CAST(amount AS BIGINT) % 5 AS channel",
        folder,
    )


def by_time(path: Path) -> Path:
    """The same rows as a system would write them while they happen."""
    other = path.with_name(f"by-time{path.suffix}")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        header = " (HEADER)" if path.suffix == ".csv" else ""
        rows = f"SELECT * FROM '{path}' ORDER BY timestamp"  # noqa: S608
        connection.execute(f"COPY ({rows}) TO '{other}'{header}")
    return other


def copies(log: Path, folder: Path) -> list[Path]:
    """The log's traces several times, under different names: as XES, CSV and Parquet."""
    text = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    begin, end = text.index(b"<trace>"), text.rindex(b"</trace>") + len(b"</trace>")
    traces = text[begin:end].split(b"</trace>")[:-1]
    name = re.compile(rb'(key="concept:name" value=")')
    many = folder / "many.xes"
    with many.open("wb") as out:
        out.write(text[:begin])
        for copy in range(COPIES):
            mark = rb"\g<1>%d-" % copy
            out.writelines(name.sub(mark, trace, count=1) + b"</trace>" for trace in traces)
        out.write(text[end:])
    return [many, *tables(many, folder)]


def tables(log: Path, folder: Path) -> list[Path]:
    """The same events with one time column, and without what only XES has."""
    reader = open_log(log)
    batches = [pa.Table.from_batches([batch]) for batch in reader.batches()]
    events = pa.concat_tables(batches, promote_options="default")
    names = {column.field: column.name for column in reader.description().columns}
    events = events.rename_columns([names.get(field, field) for field in events.column_names])
    time = "make_timestamp(ts_us) AT TIME ZONE 'UTC'"
    core = f'case_id AS "case", activity, {time} AS timestamp'
    return written(events, f"{core}, * EXCLUDE (case_id, activity, ts_us)", folder)


def written(events: pa.Table, columns: str, folder: Path) -> list[Path]:
    csv, parquet = folder / "many.csv", folder / "many.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("events", events)
        rows = f"SELECT {columns} FROM events"  # noqa: S608
        connection.execute(f"COPY ({rows}) TO '{csv}' (HEADER)")
        connection.execute(f"COPY ({rows}) TO '{parquet}'")
        connection.execute(f"COPY ({rows} LIMIT 20) TO '{folder / 'few.csv'}' (HEADER)")
        connection.execute(f"COPY ({rows} LIMIT 20) TO '{folder / 'few.parquet'}'")
    return [csv, parquet]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("log", type=Path, nargs="?")
    arguments.add_argument("--peers")
    asked = arguments.parse_args()
    raise SystemExit(main(asked.log, asked.peers))
