"""What groups and persons add to an evaluation and a release: CPU ratios in one run.

    python -m benchmarks.groups [CASES] [--keep FOLDER]

Cases of three events over 24 months, five PPIs by the month; as they are, in 50 and in 500 declared
groups, and with persons as the unit. Beside each stands the same in SQL by hand over the same
table. The least CPU of several runs; the machines are shared, so only ratios within one run mean
anything. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import pappi
from benchmarks.evaluate import cpu_seconds
from pappi.custody import NewLog
from pappi.store import open_readonly
from pappi.values import PrivacyUnit, Terms

CASES, GROUPS, MANY, MONTHS = 1_000_000, 50, 500, 24
BY_CASE, BY_PERSON = "cases", "persons"
TIMES = 3
# Of the same without groups, of SQL by hand with the same groups, and of cases as the unit.
MOST_OF_ALONE, MOST_OF_SQL, MOST_OF_CASES = {GROUPS: 1.3, MANY: 2.0}, {GROUPS: 1.5}, 1.5

_FIVE = """
  - id: mean
    measure: {{mean: {{time: {{from: activity == "A", to: activity == "C"}}}}{by}}}
    bounds: [0 h, 100 h]
  - id: longest
    measure: {{max: {{time: {{from: activity == "A", to: activity == "C"}}}}{by}}}
    bounds: [0 h, 100 h]
  - id: share
    measure:
      share: {{derive: t < 3 hours, t: {{time: {{from: activity == "A", to: activity == "C"}}}}}}
      {of_share}
  - id: count
    measure: {{sum: {{count: activity == "B"}}{by}}}
    bounds: [0, 10]
  - id: amount
    measure: {{mean: {{data: amount}}{by}}}
    bounds: [0, 1000]
"""
_BY_HAND = """
SELECT anchor // 2628000000000 AS month{key}, avg(c - a), max(c - a),
  avg((c - a < 10800000000)::INT), sum(b), avg(amount)
FROM (
  SELECT max(ts_us) AS anchor, min(ts_us) FILTER (activity = 'A') AS a,
    max(ts_us) FILTER (activity = 'C') AS c, count(*) FILTER (activity = 'B') AS b,
    arg_max(amount, pos) AS amount, arg_max(office, pos) AS office,
    arg_max(country, pos) AS country
  FROM {table} GROUP BY case_id
) WHERE c >= a GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class Grouped:
    """How cases are grouped: by which attribute, of how many keys."""

    column: str
    keys: int

    @property
    def said(self) -> str:
        keys = ", ".join(_keys(self.column, self.keys))
        return f"by: {{data: {self.column}, values: [{keys}]}}"


NOT_AT_ALL: Grouped | None = None
FEW, MOST = Grouped("country", GROUPS), Grouped("office", MANY)


def _keys(column: str, count: int) -> list[str]:
    return [f"{column}{number}" for number in range(count)]


def catalogue_of(log: str, grouped: Grouped | None) -> str:
    said = grouped.said if grouped else ""
    ppis = _FIVE.format(by=f", {said}" if said else "", of_share=said)
    return f"log: {log}\nppis:\n{ppis}"


def log_of(cases: int) -> pa.Table:
    """Three events a case, in the order of time; a person has four cases on average."""
    draw = np.random.default_rng(1)
    number = np.arange(3 * cases) // 3
    start = draw.integers(1_704_067_200, 1_704_067_200 + MONTHS * 2_628_000, cases)
    seconds = start[number] + np.tile(np.array([0, 3_000, 12_000]), cases)
    seconds += draw.integers(0, 2_000, 3 * cases)
    countries, offices = (
        pa.array(_keys(each.column, each.keys)).take(
            pa.array(draw.integers(0, each.keys, cases)[number])
        )
        for each in (FEW, MOST)
    )
    persons = draw.integers(0, max(cases // 4, 1), cases)[number]
    return pa.table(
        {
            "case_id": pa.array(number).cast(pa.string()),
            "activity": pa.array(["A", "B", "C"]).take(pa.array(np.tile([0, 1, 2], cases))),
            "timestamp": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
            "amount": draw.integers(0, 1_000, 3 * cases).astype(np.float64),
            "country": countries,
            "office": offices,
            "person": pa.array(persons).cast(pa.string()),
        }
    )


def prepared(folder: Path, cases: int) -> pappi.Workspace:
    if (folder / "workspace").exists():
        return pappi.open(folder / "workspace")
    folder.mkdir(parents=True, exist_ok=True)
    workspace, log = pappi.create(folder / "workspace"), log_of(cases)
    person = PrivacyUnit(column="person", max_cases=2)
    for name, terms in ((BY_CASE, Terms()), (BY_PERSON, Terms(unit=person))):
        workspace.import_log(log, name, new=NewLog(terms=terms))
        workspace.grant(name, 1_000)
    return workspace


def _linked(source: str, target: str) -> None:
    """Events are only read; the ledger's files are written."""
    (os.link if source.endswith(".duckdb") else shutil.copy2)(source, target)


def least(job: Callable[[], object]) -> float:
    return cpu_seconds(job, TIMES)


class Jobs:
    def __init__(self, workspace: pappi.Workspace, folder: Path) -> None:
        self._workspace, self._folder = workspace, folder

    def by_hand(self, grouped: Grouped | None) -> float:
        table = self._workspace.log(BY_CASE).table
        query = _BY_HAND.format(table=table, key=f", {grouped.column}" if grouped else "")

        def run() -> object:
            with open_readonly(self._workspace.root / "events", table) as connection:
                return connection.execute(query).fetchall()

        return least(run)

    def exact(self, grouped: Grouped | None) -> float:
        path = self._catalogue(BY_CASE, grouped)
        return least(lambda: self._workspace.exact(path))

    def release(self, grouped: Grouped | None, log: str = BY_CASE) -> float:
        """Each time on a ledger that knows of none: an identical query would only be replayed."""
        path, times = self._catalogue(log, grouped), []
        for _ in range(TIMES):
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                root = Path(folder) / "workspace"
                shutil.copytree(self._workspace.root, root, copy_function=_linked)
                analyst = pappi.open(root).checkpoint()
                times.append(cpu_seconds(partial(analyst.release, path, "0.1", anyway=True), 1))
        return min(times)

    def _catalogue(self, log: str, grouped: Grouped | None) -> Path:
        path = self._folder / f"{log}-{grouped.keys if grouped else 1}.yaml"
        path.write_text(catalogue_of(log, grouped), encoding="utf-8")
        return path


def main(cases: int, folder: Path) -> int:
    jobs = Jobs(prepared(folder / str(cases), cases), folder)
    print(f"{3 * cases:,} events in {cases:,} cases, five PPIs in {MONTHS} months; CPU s")
    heads = f"{'SQL by hand':>12}{'exact':>9}{'× SQL':>8}{'× alone':>9}{'release':>9}"
    print(f"{'':<14}{heads}{'ms an answer':>14}")
    alone, kept = 0.0, []
    for name, grouped in (("no groups", None), ("50 groups", FEW), ("500 groups", MOST)):
        hand, exact = jobs.by_hand(grouped), jobs.exact(grouped)
        alone = alone or exact
        print(f"{name:<14}{hand:>12.2f}{exact:>9.2f}{exact / hand:>8.2f}", end="")
        print(f"{exact / alone:>9.2f}", end="")
        if grouped is not MOST:  # more answers than may be asked for at once
            answers, release = 5 * MONTHS * (grouped.keys if grouped else 1), jobs.release(grouped)
            print(f"{release:>9.2f}{1_000 * (release - exact) / answers:>14.3f}", end="")
        print(flush=True)
        if grouped is not None:
            kept.append(exact / alone <= MOST_OF_ALONE[grouped.keys])
            kept.append(exact / hand <= MOST_OF_SQL.get(grouped.keys, math.inf))
    of_cases, of_persons = jobs.release(None), jobs.release(None, BY_PERSON)
    print(f"a release, persons as the unit: {of_persons:.2f} s, cases: {of_cases:.2f} s", end="")
    print(f", ratio {of_persons / of_cases:.2f}")
    kept.append(of_persons / of_cases <= MOST_OF_CASES)
    print(f"goals kept: {sum(kept)} of {len(kept)}")
    return int(not all(kept))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=CASES)
    parser.add_argument("--keep", type=Path, default=None)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        missed = main(asked.cases, asked.keep or Path(temporary))
    raise SystemExit(missed)
