"""Logs, questions and ways to read them, for the audit of the whole path (`paths`).

Every log goes in through custody, and is read as a release reads it: only that the
laws are compared, and nothing is drawn. What could tell cases apart by their order is made large:
times tie, sums lose their last bits, and formulas make much of a last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa

import pappi
from pappi.checkpoint.draw import CellValues, read_cells
from pappi.checkpoint.queries import planned, releases_of
from pappi.custody import NewLog
from pappi.engine import duck
from pappi.mechanisms import JointLaw, Law, mechanism_names
from pappi.planning import Measurement, Plan
from pappi.ppinot import parse_catalogue, require_sound
from pappi.session import Workspace
from pappi.store import CapturedEvent, open_readonly, open_workspace
from pappi.store.workspace import KEY_BYTES
from pappi.values import Epsilon, Kind, Per, PrivacyUnit, Terms, Vocabulary
from tests.audit.paths import Comparison, Reading, Told
from tests.engines.places import placed

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, MIDDLE, UNTIL = date(2024, 3, 1), date(2024, 4, 1), date(2024, 5, 1)
TERMS = NewLog(
    first=FIRST,
    until=UNTIL,
    keys={"tag": ("red", "blue")},
    terms=Terms(block_budget=Epsilon.of(1000)),
)
PERSONS = {per: PrivacyUnit("who", 2, per) for per in Per}

# --- logs -----------------------------------------------------------------------------

Event = tuple[str, datetime, float | None, str | None, str | None]
"""Activity, time, `x`, `tag`, `who`."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    events: tuple[Event, ...]

    @property
    def who(self) -> str | None:
        return self.events[0][-1]


# The last bit of a sum of these depends on their order; with the large ones, more than that.
DECIMALS = (None, 0.1, 0.2, 0.3, 0.7, 1 / 3, 2 / 3, 0.9, 0.0)
LARGE = (1.0, 1.0, 7.0, -0.0, 2.0**53, -(2.0**53), 3e15)
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308)


def made_log(seed: int, cases: int = 20) -> tuple[Case, ...]:
    random = Random(seed)  # noqa: S311 - a made-up log
    return tuple(_case(random, f"c{number}") for number in range(cases))


def _case(random: Random, name: str) -> Case:
    """Within the days that are asked about; on the hour, so that many cases end together."""
    ends = datetime(2024, 3, 2, tzinfo=UTC) + timedelta(days=random.choice((3, 3, 20, 40, 40, 58)))
    times = [ends]
    for _ in range(random.randint(0, 6)):
        times.append(times[-1] - timedelta(hours=random.choice((0, 0, 1, 5, 13))))
    who = random.choice(("anna", "bert", "carl", "dora", None))
    (values,) = random.choices((DECIMALS, LARGE, NO_NUMBERS), (6, 3, 1))
    events = (
        (
            random.choice(("A", "A", "B", "B", "C")),
            at,
            random.choice(values),
            random.choice(("red", "blue", None)),
            who,
        )
        for at in reversed(times)
    )
    return Case(name, tuple(events))


def shuffled(cases: Sequence[Case], seed: int) -> pa.Table:
    """The events of all cases in some order that keeps those of each case in theirs."""
    random = Random(seed)  # noqa: S311
    left = [list(case.events) for case in cases]
    turns = [number for number, case in enumerate(cases) for _ in case.events]
    random.shuffle(turns)
    return table((cases[turn].id, left[turn].pop(0)) for turn in turns)


def in_order(cases: Sequence[Case]) -> pa.Table:
    return table((case.id, event) for case in cases for event in case.events)


def table(rows: Iterator[tuple[str, Event]]) -> pa.Table:
    listed = [(case, *event) for case, event in rows]
    types = {
        "case_id": pa.string(),
        "activity": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "x": pa.float64(),
        "tag": pa.string(),
        "who": pa.string(),
    }
    columns = zip(*listed, strict=True) if listed else [()] * len(types)
    return pa.table(
        {
            name: pa.array(list(column), kind)
            for (name, kind), column in zip(types.items(), columns, strict=True)
        }
    )


# --- neighbours -----------------------------------------------------------------------


def without(cases: Sequence[Case], gone: Case) -> tuple[Case, ...]:
    return tuple(case for case in cases if case is not gone)


def without_person(cases: Sequence[Case], who: str) -> tuple[Case, ...]:
    return tuple(case for case in cases if case.who != who)


def replaced(cases: Sequence[Case], number: int, seed: int) -> tuple[Case, ...]:
    """Another case in the place of one: its day is all that stays, so that its bucket may differ,
    and whether it is among the latest."""
    random = Random(seed)  # noqa: S311
    other = _case(random, f"{cases[number].id} anew")
    midnight = cases[number].events[-1][1].replace(hour=0)
    moved = midnight + timedelta(hours=random.randrange(24)) - other.events[-1][1]
    events = tuple((a, at + moved, *more) for a, at, *more in other.events)
    changed = replace(other, events=events)  # type: ignore[arg-type]
    return (*cases[:number], changed, *cases[number + 1 :])


# --- questions ------------------------------------------------------------------------

A, B = "{activity: A}", "{activity: B}"
SEQUENCE = f"{{count: {{sequence: [{A}, {B}], order: leads to}}}}"
ONSETS = "{count: {activity: A, occurrence: onset}}"
HOURS = "calendar: 'Mon-Sun 08:00-12:00 13:00-19:00'"
CYCLES = f"{{time: {{from: {A}, to: {B}, cycles: mean, {HOURS}}}}}"
CLOCK = f"{{time: {{from: {A}, to: case end, while: x < 5}}}}"
LASTED = "{time: {from: case start, to: case end}}"
# What only a query can give, because of `s`, and not the reading of events in their order.
QUERIED = f"{{derive: 's >= 0 ? v : 0', s: {SEQUENCE}, v: {{data: x}}}}"
BIG = 2**53

AMPLIFIED = f"[-{BIG}, {BIG}]"
LAST_BITS = f"abs(v) * {2**52} % 7"


def lines(measure: str, bounds: str = "", scope: str = "every month", **more: str) -> str:
    """A PPI in YAML, without its name."""
    keys = {"measure": measure, "bounds": bounds, "scope": scope, "epsilon": "1", **more}
    return "".join(f"    {key}: {text}\n" for key, text in keys.items() if text)


def by(mechanism: str) -> str:
    return f"{{mechanism: {mechanism}}}"


def sampled(formula: str, over: str, bounds: str, buckets: int, scope: str = "every month") -> str:
    """A formula over `v`, with a result from 0 to 7."""
    return lines(
        f"{{derive: '{formula}', v: {over}}}",
        f"{{v: {bounds}, value: [0, 7]}}",
        scope,
        release=f"{{mechanism: sample-and-aggregate, buckets: {buckets}}}",
    )


PPIS: Mapping[str, str] = {
    "sum": lines(f"{{sum: {SEQUENCE}}}", "[0, 4]"),
    "sum-of-numbers": lines("{sum: {data: x}}", "[-10, 10]"),
    "sum-in-steps": lines(
        f"{{sum: {ONSETS}, bounds: [0, 4]}}", "{value: [0, 40]}", release=by("interval")
    ),
    "mean": lines(f"{{mean: {CYCLES}}}", "[0 hours, 20 hours]"),
    "mean-untold": lines(f"{{mean: {CYCLES}}}", "[0 hours, 20 hours]", release="{clipping: off}"),
    "sum-untold": lines("{sum: {data: x}}", "[-10, 10]", release="{clipping: off}"),
    "mean-in-steps": lines(f"{{mean: {LASTED}}}", "[0 hours, 40 hours]", release=by("interval")),
    "mean-loose": lines(
        f"{{mean: {LASTED}}}", "[0 hours, 40 hours, loose]", release=by("private clipping bound")
    ),
    "mean-private": lines(f"{{mean: {CLOCK}}}", "private"),
    "mean-aiming": lines(
        f"{{mean: {CLOCK}}}",
        "[0 hours, 40 hours]",
        target="below 10 hours",
        release=by("threshold"),
    ),
    "verdict": lines(
        f"{{mean: {LASTED}}}",
        "[0 hours, 40 hours]",
        target="below 10 hours",
        release="{answer: verdict}",
    ),
    "share": lines(f"{{share: {{condition: x > 0.2}}, where: {{derive: s > 0, s: {SEQUENCE}}}}}"),
    "max": lines(f"{{max: {SEQUENCE}}}", "[0, 9]"),
    "max-noisy": lines(f"{{max: {LASTED}}}", "[0 hours, 100 hours]", release=by("laplace")),
    "max-loose": lines(f"{{max: {LASTED}}}", "[0 hours, 100 hours, loose]", release=by("ranked")),
    "median": lines("{median: {data: x}}", "[0, 1]"),
    "percentile-aiming": lines(
        f"{{percentile: {LASTED}, percent: 90}}",
        "[0 hours, 60 hours]",
        target="at most 21 hours",
        release=by("threshold"),
    ),
    "part-of-a-whole": lines(
        f"{{derive: a / b, a: {{sum: {ONSETS}, within: b}}, b: {{sum: {{count: {A}}}}}}}",
        "{a: [0, 6], b: [0, 6]}",
    ),
    "ratio": lines(
        f"{{derive: a / b, a: {{sum: {SEQUENCE}}}, b: {{sum: {ONSETS}}}}}",
        "{a: [0, 6], b: [0, 6]}",
        release=by("hexagon"),
    ),
    "groups": lines("{sum: {count: x > 0}, by: {data: tag, values: [red, blue]}}", "[0, 6]"),
    "own-anchor": lines(
        f"{{sum: {SEQUENCE}}}", "[0, 4]", f"{{every: month, anchor: {{first: {A}}}}}"
    ),
    "latest": lines(f"{{sum: {SEQUENCE}}}", "[0, 4]", "last 5 cases"),
    "latest-of-some": lines(
        "{mean: {data: x}}", "[0, 10]", "{last cases: 3, cases: {condition: x > 0}}"
    ),
    # What is left of a sum beyond its last bit, and sums that forget ones unless they come first.
    "remainder": sampled(LAST_BITS, f"{{mean: {QUERIED}}}", AMPLIFIED, 5),
    "remainder-folded": sampled(LAST_BITS, "{sum: {data: x}}", AMPLIFIED, 2),
    "remainder-of-time": sampled(
        f"v / 1 second * {2**52} % 7", f"{{mean: {CYCLES}}}", "[0 hours, 20 hours]", 3
    ),
    "remainder-of-latest": sampled(LAST_BITS, f"{{mean: {QUERIED}}}", AMPLIFIED, 2, "last 7 cases"),
    "remainder-in-groups": sampled(
        LAST_BITS,
        f"{{sum: {QUERIED}, by: {{data: tag, values: [red, blue]}}}}",
        AMPLIFIED,
        2,
    ),
    "forgotten-ones": sampled(
        f"abs(v) / 4 % {BIG}",
        f"{{sum: {{derive: 'w > 6 ? {BIG} : (w > 0 ? 1 : (w < 0 ? -{BIG} : 0))', w: {QUERIED}}}}}",
        AMPLIFIED,
        4,
    ),
}


def catalogue(log: str, ppis: Mapping[str, str] = PPIS) -> str:
    return f"log: {log}\nppis:\n" + "".join(f"  - id: {id_}\n{ppi}" for id_, ppi in ppis.items())


# --- ways in --------------------------------------------------------------------------

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Logs:
    """A workspace, whose key all its logs share, and what is asked of each."""

    workspace: Workspace
    new: NewLog = TERMS
    ppis: Mapping[str, str] = field(default_factory=lambda: PPIS)
    _known: dict[str, Reading] = field(default_factory=dict)

    @classmethod
    def under(cls, folder: Path, key: int, new: NewLog = TERMS) -> Logs:
        """In a workspace of its own, whose key is no secret, so that tests can be repeated."""
        workspace = pappi.create(folder / "w")
        (workspace.root / "key").write_bytes(bytes([key % 256] * KEY_BYTES))
        return cls(workspace, new)

    def imported(self, events: pa.Table) -> str:
        name = f"imported-{next(_numbers)}"
        self.workspace.import_log(events, name, new=self.new)
        return name

    def added(self, engine: str, events: pa.Table) -> str:
        """Left where it is, for another engine to read."""
        name = f"{engine}-{next(_numbers)}"
        given = placed(engine, events, self.workspace.root)
        self.workspace.custody.add_log(name, given, self.new)
        return name

    def captured(self, cases: Sequence[Case], seed: int) -> str:
        """Event by event, of all cases at random, and sealed month by month."""
        name = f"captured-{next(_numbers)}"
        custody = self.workspace.custody
        attributes = {"x": Kind.NUMBER, "tag": Kind.TEXT, "who": Kind.TEXT}
        vocabulary = Vocabulary(("A", "B", "C"), attributes, self.new.keys)
        custody.create_log(name, replace(self.new, until=None, keys={}), vocabulary)
        rows = shuffled(cases, seed).to_pylist()
        custody.capture(name, [_captured(number, row) for number, row in enumerate(rows)])
        for border in (MIDDLE, UNTIL):
            custody.seal(name, border)
        return name

    def erased(self, cases: Sequence[Case], gone: Case) -> str:
        """Imported with one case more, which is then erased."""
        name = self.imported(in_order(cases))
        self.workspace.custody.erase(name, cases=[gone.id])
        return name

    def plans(self, name: str) -> list[Plan]:
        log = self.workspace.log(name)
        asked = parse_catalogue(catalogue(name, self.ppis))
        require_sound(asked, log.public.vocabulary, mechanism_names())
        return [planned(ppi, None, log.public) for ppi in asked.ppis]

    def read(self, name: str) -> Reading:
        """What answers would tell of a log, asked together.

        The latest cases apart: with them, everything is read in the order of the log.
        """
        plans = self.plans(name)
        latest = [plan for plan in plans if plan.ppi.scope.last_cases is not None]
        others = [plan for plan in plans if plan.ppi.scope.last_cases is None]
        return self._told(name, others) | self._told(name, latest)

    def read_alone(self, name: str) -> Reading:
        """The same, each PPI asked by itself."""
        told: dict[str, Told] = {}
        for plan in self.plans(name):
            told |= self._told(name, [plan])
        return told

    def _told(self, name: str, plans: Sequence[Plan]) -> dict[str, Told]:
        """Read as for a release, and nothing drawn."""
        log = self.workspace.log(name)
        questions = [each for plan in plans for each in releases_of(plan, log, "auditor")]
        files = open_workspace(self.workspace.root)
        laws: dict[str, list[JointLaw]] = {plan.ppi.id: [] for plan in plans}
        for question, cells in read_cells(files.events, questions, log, files.key()):
            plan = question.plan
            laws[plan.ppi.id].append(JointLaw(tuple(_laws(plan.measurements, cells))))
        return {p.ppi.id: Told(p.epsilon.fraction, tuple(laws[p.ppi.id])) for p in plans}

    def same(self, how: str, first: str, second: str) -> Comparison:
        return Comparison(how, lambda: self.known(first), lambda: self.read(second))

    def neighbours(self, how: str, first: str, second: str) -> Comparison:
        apart = self.new.terms.unit.column is not None and self.new.terms.unit.per is Per.BLOCK
        return replace(self.same(how, first, second), neighbours=True, apart=apart)

    def known(self, name: str) -> Reading:
        """As it was read the first time."""
        if name not in self._known:
            self._known[name] = self.read(name)
        return self._known[name]


def _laws(parts: Sequence[Measurement], cells: Iterable[CellValues]) -> Iterator[Law]:
    for read in cells:
        for part, values in zip(parts, read, strict=True):
            yield part.mechanism.law(values)


def _captured(number: int, row: Mapping[str, Any]) -> CapturedEvent:
    """What is no number cannot be captured; it is missing either way."""
    x = row["x"] if row["x"] is not None and math.isfinite(row["x"]) else None
    attributes = {"x": x, "tag": row["tag"], "who": row["who"]}
    known = {name: value for name, value in attributes.items() if value is not None}
    time_us = (row["timestamp"] - EPOCH) // timedelta(microseconds=1)
    return CapturedEvent(str(number), row["case_id"], row["activity"], time_us, known)


@contextmanager
def ranges_of(events: int, readers: int = 2) -> Iterator[None]:
    """Read a log in ranges of so many events, by so many threads."""
    with ExitStack() as patches:
        for name, value in {
            "EVENTS_PER_RANGE": events,
            "EVENTS_PER_BATCH": 1 + events // 2,
            "MOST_AT_ONCE": readers,
        }.items():
            patches.enter_context(patch.object(duck, name, value))
        patches.enter_context(patch("os.cpu_count", lambda: readers))
        yield


@contextmanager
def threads_of(count_: int) -> Iterator[None]:
    """Let the database divide even a small log between so many threads."""

    def opened(events: Path, name: str) -> duckdb.DuckDBPyConnection:
        connection = open_readonly(events, name)
        connection.execute(f"SET threads = {count_}")
        connection.execute("PRAGMA verify_parallelism")
        return connection

    with patch.object(duck, "open_readonly", opened):
        yield


def within(way: Callable[[], AbstractContextManager[None]], one: Comparison) -> Comparison:
    """The same, with the second log read in some way."""

    def read() -> Reading:
        with way():
            return one.second()

    return replace(one, second=read)
