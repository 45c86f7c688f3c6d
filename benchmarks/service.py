"""Analysts at work: how long previews and releases take over HTTP while many ask at once.

    python -m benchmarks.service [--analysts 50] [--seconds 60] [--events 1000000] [--pause 10]
                                 [--dashboards]

`pappi serve` runs as it does in earnest, with its time grid, in a process of its own. Every
analyst asks for a preview of five monthly PPIs, then for their release, and reads for a
while. No question is asked twice: every release reads the log and draws. With `--dashboards`
they open one of twelve PPIs instead, which is on record for each of them. In the same run, the
same five measures are computed by one DuckDB query written by hand, before the analysts come.
On a shared machine times say little; CPU seconds, and ratios within one run, say more.

The server's CPU is read at its start and at the end. Dashboards have goals for the time that 95 %
of the replies keep to, and for the CPU of a reply; the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from statistics import median, quantiles

import httpx

import pappi
from benchmarks.evaluate import synthetic_log
from pappi.custody import NewLog
from pappi.service import Settings
from pappi.session import Workspace
from pappi.store import open_readonly
from pappi.values import Epsilon, Role, Terms

LOG = "bench"
PLENTY = Epsilon.of(1_000_000)
PATIENCE = 300.0
MOST_P95, MOST_CPU = 0.5, 0.03
"""Seconds, of a dashboard that is on record."""

DEFINITIONS = """
log: bench
ppis:
  - id: mean
    measure: {mean: {time: {from: activity == "A", to: activity == "B"}}}
    bounds: [0 h, %(hours)d h]
  - id: max
    measure: {max: {time: {from: activity == "A", to: activity == "B"}}}
    bounds: [0 h, %(hours)d h]
  - id: share
    measure:
      share: {derive: t < %(hours)d min, t: {time: {from: activity == "A", to: activity == "B"}}}
  - id: count
    measure: {sum: {count: activity == "C"}}
    bounds: [0, %(hours)d]
  - id: amount
    measure: {mean: {data: amount}}
    bounds: [0, %(hours)d]
"""
DASHBOARD = "log: bench\nppis:\n" + "".join(
    f"""
  - id: {first}-{second}
    epsilon: 0.1
    measure: {{mean: {{time: {{from: activity == "{first}", to: activity == "{second}"}}}}}}
    bounds: [0 h, 100 h]
    target: below 40 h"""
    for first, second in permutations("ABCD", 2)
)
BY_HAND = """
WITH cases AS (
    SELECT max(ts_us) AS ended,
        min(ts_us) FILTER (activity = 'A') AS a,
        max(ts_us) FILTER (activity = 'B') AS b,
        count(*) FILTER (activity = 'C') AS c,
        arg_max(amount, pos) AS amount
    FROM "{table}" GROUP BY case_id
), measured AS (
    SELECT *, CASE WHEN b >= a THEN (b - a) / 3.6e9 END AS hours FROM cases
)
SELECT date_trunc('month', make_timestamp(ended)), avg(least(hours, 100)), max(least(hours, 100)),
    avg((coalesce(hours, 1e9) < 3)::INT), sum(least(c, 10)), avg(least(amount, 1000))
FROM measured GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Whoever asks, for how long, and how long they read an answer, in seconds."""

    analysts: int
    seconds: float
    pause: float
    dashboards: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that passed, and seconds of CPU."""

    wall: float
    cpu: float


@dataclass(slots=True)
class Times:
    """What came of the requests: how long those with an answer took, and what others were told."""

    preview: list[float] = field(default_factory=list)
    release: list[float] = field(default_factory=list)
    replay: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    work = Work(asked.analysts, asked.seconds, asked.pause, asked.dashboards)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        workspace = prepared(root, asked.events)
        keys = issued_keys(workspace, work.analysts)
        by_hand = bare_query(root / "events", workspace.log(LOG).table)
        if work.dashboards:
            workspace.checkpoint("analyst0").release(DASHBOARD, anyway=True)
        workspace.close()
        with served(root) as server:
            started = time.monotonic(), cpu_of(server.process)
            times = asyncio.run(at_work(work, server.address, keys))
            used = Spent(time.monotonic() - started[0], cpu_of(server.process) - started[1])
    report(work, asked.events, times, by_hand, used)
    return 1 if times.errors or (work.dashboards and not goals_met(times, used)) else 0


def goals_met(times: Times, server: Spent) -> bool:
    slow = quantiles(times.replay, n=20)[-1]
    each = server.cpu / len(times.replay)
    print(f"p95 {slow:.2f} s (goal {MOST_P95:g}), CPU {each:.3f} s a reply (goal {MOST_CPU:g})")
    return slow < MOST_P95 and each <= MOST_CPU


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has used so far, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def prepared(root: Path, events: int) -> Workspace:
    workspace = pappi.create(root)
    workspace.import_log(synthetic_log(events), LOG, new=NewLog(terms=Terms(block_budget=PLENTY)))
    return workspace


def issued_keys(workspace: Workspace, count: int) -> list[str]:
    custody = workspace.custody
    names = [f"analyst{number}" for number in range(count)]
    for name in names:
        custody.grant_analyst(LOG, name, PLENTY)
    return [custody.issue_key(Role.ANALYST, name).secret for name in names]


def bare_query(events: Path, table: str, repeats: int = 5) -> Spent:
    """The query by hand, in the middle, each time on a connection that has read nothing before."""
    query = BY_HAND.format(table=table)
    took = []
    for _ in range(repeats):
        began = time.perf_counter(), time.process_time()
        with open_readonly(events, table) as connection:
            connection.execute(query).fetchall()
        took.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    walls, cpus = zip(*took, strict=True)
    return Spent(median(walls), median(cpus))


@dataclass(frozen=True, slots=True)
class Server:
    """Where analysts ask a running service, and which process it is."""

    address: str
    process: int


@contextmanager
def served(root: Path) -> Iterator[Server]:
    """A running service."""
    ports = ("--analyst-port", "0", "--owner-port", "0", "--requests-per-minute", "100000")
    command = [sys.executable, "-m", "pappi", "serve", "--workspace", str(root), *ports]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            first = (server.stdout or sys.stdin).readline()
            yield Server(first.removeprefix("Analysts:").strip(), server.pid)
        finally:
            server.terminate()


async def at_work(work: Work, address: str, keys: Sequence[str]) -> Times:
    times = Times()
    began = time.monotonic()
    end = began + work.seconds
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, limits=limits) as client:
        await asyncio.gather(
            *(analyst(client, work, number, key, end, times) for number, key in enumerate(keys))
        )
    times.elapsed = time.monotonic() - began  # with those that were still to be answered
    return times


async def analyst(
    client: httpx.AsyncClient, work: Work, number: int, key: str, end: float, times: Times
) -> None:
    """Preview, release, read; none of the questions is anybody else's."""
    reading = random.Random(number)  # noqa: S311 - spreads the analysts over time
    headers = {"Authorization": f"Bearer {key}"}
    turn = 0
    await asyncio.sleep(reading.uniform(0, work.pause))
    while time.monotonic() < end:
        text = DEFINITIONS % {"hours": 100 + turn * work.analysts + number}
        steps = [("/preview", times.preview), ("/release", times.release)]
        if work.dashboards:
            text, steps = DASHBOARD, [("/replay", times.replay)]
        body = {"definitions": text}
        for path, took in steps:
            began = time.monotonic()
            try:
                reply = await client.post(path, json=body, headers=headers)
            except httpx.HTTPError as error:
                times.errors[type(error).__name__] += 1
                continue
            if reply.status_code == 200:
                took.append(time.monotonic() - began)
            else:
                times.errors[f"{path} {reply.status_code}"] += 1
        turn += 1
        await asyncio.sleep(reading.uniform(0.5, 1.5) * work.pause)


def report(work: Work, events: int, times: Times, by_hand: Spent, server: Spent) -> None:
    print(
        f"{work.analysts} analysts for {work.seconds:g} s, {work.pause:g} s between their "
        f"questions; {events:,} events, {12 if work.dashboards else 5} monthly PPIs a question; "
        f"replies leave every {Settings().grid_seconds:g} s"
    )
    print(f"{'':<12}{'answered':>9}{'per second':>12}{'p50':>9}{'p95':>9}")
    took_of = {"preview": times.preview, "release": times.release, "replay": times.replay}
    for name, took in took_of.items():
        print(f"{name:<12}{len(took):>9}{len(took) / times.elapsed:>12.2f}{_spread(took)}")
    print(f"{'bare query':<12}{'':>9}{'':>12}{by_hand.wall:>7.2f} s")
    each = server.cpu / max(1, len(times.release or times.replay))
    print(
        f"CPU of the server: {server.cpu:.1f} s, {each:.2f} s for each "
        f"{'replay' if work.dashboards else 'preview and release'}; "
        f"of the bare query: {by_hand.cpu:.2f} s"
    )
    errors = ", ".join(f"{count} × {name}" for name, count in times.errors.items())
    print(f"errors: {errors or 'none'}")


def _spread(took: Sequence[float]) -> str:
    if len(took) < 2:
        return f"{'—':>9}{'—':>9}"
    return f"{median(took):>7.2f} s{quantiles(took, n=20)[-1]:>7.2f} s"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service")
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pause", type=float, default=10.0)
    parser.add_argument("--dashboards", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
