"""What sealing a month costs when there are many before it, and beside other logs.

    python -m benchmarks.growth [--months 100] [--events 20000] [--logs 2]

A log is created and fed month by month through the owner's door: captured in batches, then sealed.
CPU seconds of each seal, and of the captures before it, in one process. The 100th month is put
beside the second: each as the least of five neighbours, as one seal may fall on a busy moment of
the disk; seals that unite parts are told apart, and what they add is spread over all. Then as many
events come in as other logs, and the next month is sealed. Last, what is asked of the log as it
has grown is put beside the same events in a single part.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import mean

import pyarrow as pa

import pappi
from pappi.custody import NewLog
from pappi.session import Workspace
from pappi.store import CapturedEvent, Versioned
from pappi.store.event_file import PartsList
from pappi.store.event_logs import UNITED
from pappi.values import Kind, Terms, Vocabulary

MOST = 1.2
MOST_READING = 1.3
PER_CASE = 5
BATCH = 10_000
FIRST = date(2010, 1, 1)
SECOND, AROUND = 2, 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CATALOGUE = """
log: {log}
ppis:
  - id: lasts
    measure: {{mean: {{time: {{from: case start, to: case end}}}}}}
    scope: every month
  - id: paid
    measure: {{sum: {{count: activity == "step 3"}}}}
    scope: every month
  - id: amount
    measure: {{mean: {{data: amount}}}}
    scope: every month
"""


def main(months: int, events: int, logs: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(pappi.create(Path(name) / "w"), events)
        bench.create("grown")
        spent = [bench.month("grown", number) for number in range(1, months + AROUND + 1)]
        plain = {number: cost for number, cost in enumerate(spent, 1) if number % UNITED}
        rows = {
            f"seal of month {SECOND}": near(plain, SECOND, lambda cost: cost.seal),
            f"seal of month {months}": near(plain, months, lambda cost: cost.seal),
            f"capture of month {SECOND}": near(plain, SECOND, lambda cost: cost.capture),
            f"capture of month {months}": near(plain, months, lambda cost: cost.capture),
            "a seal, on average, with those that unite": mean(cost.seal for cost in spent[1:]),
            "the dearest seal": max(cost.seal for cost in spent[1:]),
        }
        for what, seconds in rows.items():
            print(f"{what:<44}{seconds:8.3f} s", flush=True)
        print(f"{len(bench.parts('grown'))} parts after {len(spent)} seals")
        second, last, captured_second, captured_last, average, _ = rows.values()
        kept = [
            judged(f"seal, month {months} to month {SECOND}", last / second, MOST),
            judged(f"capture, month {months} to {SECOND}", captured_last / captured_second, MOST),
            judged("seals on average to month 2", average / second, 2 * MOST),
        ]
        for number in range(logs):
            bench.imported(f"other-{number}", months * events)
        following = [bench.month("grown", len(spent) + n) for n in range(1, 2 * AROUND + 1)]
        beside = min(cost.seal for cost in following)
        print(f"{f'seal beside {logs} logs as large':<44}{beside:8.3f} s")
        kept.append(judged("the same beside other logs", beside / last, MOST))
        kept.append(judged("reading, grown to imported", bench.reading("grown"), MOST_READING))
    return int(not all(kept))


@dataclass(frozen=True, slots=True)
class Cost:
    capture: float
    seal: float


class Bench:
    def __init__(self, workspace: Workspace, events: int) -> None:
        self._workspace = workspace
        self._events = events

    def create(self, log: str) -> None:
        vocabulary = Vocabulary(
            tuple(f"step {n}" for n in range(PER_CASE)),
            {"amount": Kind.NUMBER, "channel": Kind.TEXT},
        )
        new = NewLog(first=FIRST, terms=Terms(expected_cases=self._events))
        self._workspace.custody.create_log(log, new, vocabulary)

    def month(self, log: str, number: int) -> Cost:
        custody = self._workspace.custody
        events = list(self._month(number))
        captured = spent(
            lambda: [
                custody.capture(log, events[at : at + BATCH]) for at in range(0, len(events), BATCH)
            ]
        )
        return Cost(captured, spent(lambda: custody.seal(log, start_of(number + 1))))

    def _month(self, number: int) -> list[CapturedEvent]:
        begin = (
            datetime.combine(start_of(number), datetime.min.time(), UTC) - _EPOCH
        ) // timedelta(microseconds=1)
        return [
            CapturedEvent(
                id=f"{number}-{n}",
                case=f"case {number}-{n // PER_CASE}",
                activity=f"step {n % PER_CASE}",
                time_us=begin + n * 60_000_000,
                attributes={"amount": n % 97 + 0.5, "channel": ("web", "phone")[n % 2]},
            )
            for n in range(self._events)
        ]

    def imported(self, log: str, events: int) -> None:
        self._workspace.import_log(self._table(events), log, new=NewLog())

    def _table(self, events: int) -> pa.Table:
        numbers = range(events)
        return pa.table(
            {
                "case": [f"c{n // PER_CASE}" for n in numbers],
                "activity": [f"step {n % PER_CASE}" for n in numbers],
                "timestamp": pa.array([n * 60_000_000 for n in numbers], pa.timestamp("us", "UTC")),
                "amount": [n % 97 + 0.5 for n in numbers],
            }
        )

    def parts(self, log: str) -> Sequence[object]:
        version = Versioned.of(self._workspace.log(log).table)
        return PartsList.read(self._workspace.root / "events", version.base).of(version)

    def reading(self, log: str) -> float:
        """What is asked of the log as it has grown, over the same of one that is a single part."""
        from pappi.store import open_readonly

        declared = self._workspace.log(log)
        with open_readonly(self._workspace.root / "events", declared.table) as connection:
            events = connection.sql(
                'SELECT case_id AS "case", activity, make_timestamp(ts_us) AS timestamp, amount, '  # noqa: S608
                f"channel FROM {declared.table} ORDER BY pos"
            ).to_arrow_table()
        new = NewLog(first=declared.public.first, until=declared.public.until)
        self._workspace.import_log(events, "whole", new=new)
        costs = {}
        for name in (log, "whole"):
            asked = self._workspace.root.parent / f"{name}.yaml"
            asked.write_text(CATALOGUE.format(log=name), encoding="utf-8")
            costs[name] = min(spent(partial(self._workspace.exact, asked)) for _ in range(5))
            print(f"{f'three PPIs, {name}':<44}{costs[name]:8.3f} s")
        return costs[log] / costs["whole"]


def start_of(month: int) -> date:
    """The first day of a month, from 1 on."""
    return date(FIRST.year + (month - 1) // 12, 1 + (month - 1) % 12, 1)


def near(costs: dict[int, Cost], month: int, of: Callable[[Cost], float]) -> float:
    close = sorted(costs, key=lambda number: (number < SECOND, abs(number - month)))
    return min(of(costs[number]) for number in close[: 2 * AROUND + 1])


def spent(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def judged(what: str, ratio: float, allowed: float) -> bool:
    verdict = "kept" if ratio <= allowed else "too much"
    print(f"    {what}: {ratio:.2f} × (at most {allowed}): {verdict}", flush=True)
    return ratio <= allowed


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--months", type=int, default=100)
    arguments.add_argument("--events", type=int, default=20_000)
    arguments.add_argument("--logs", type=int, default=2)
    asked = arguments.parse_args()
    raise SystemExit(main(asked.months, asked.events, asked.logs))
