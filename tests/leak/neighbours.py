"""Pairs of workspaces whose logs are neighbours: they differ by one case, or one person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa

import pappi
from pappi.custody import NewLog
from pappi.session import Workspace
from pappi.store import CapturedEvent
from pappi.values import Adjacency, Epsilon, Kind, Per, PrivacyUnit, Terms, Vocabulary
from tests.leak.test_unit_leak import collector, of_customers
from tests.small_logs import Row, claims, event_table

TERMS = NewLog(
    first=date(2024, 1, 1),
    until=date(2024, 6, 1),
    terms=Terms(block_budget=Epsilon.of(40), total_budget=Epsilon.of(220)),
)
ROWS = of_customers(claims(30))
ALONE = 24.0 * 95  # hours: in April, where no other case is
OUTLIER: list[Row] = [
    ("x", "Receive", ALONE, {"channel": "web", "damage": 1e300, "customer": "collector"}),
    ("x", "Pay", ALONE + 100, {}),
]
NOTHING: list[Row] = [("x", "Receive", ALONE, {})]
SECRET = bytes(range(32))
Build = Callable[[Path], Workspace]


def imported(
    rows: Sequence[Row], new: NewLog = TERMS, more: Sequence[Mapping[str, object]] = ()
) -> Build:
    def build(folder: Path) -> Workspace:
        workspace = pappi.create(folder)
        # Which of a person's cases count, and buckets, go by the key: it is not what differs.
        (folder / "key").write_bytes(SECRET)
        table = event_table(rows)
        whole = pa.concat_tables([table, pa.Table.from_pylist(list(more), table.schema)])
        workspace.import_log(whole, "small", new=new)
        workspace.import_log(event_table(rows), "hidden", new=new)
        return workspace

    return build


def fed(cases: int) -> Build:
    """A log that began empty, with so many cases of one event captured and sealed."""

    def build(folder: Path) -> Workspace:
        workspace = pappi.create(folder)
        (folder / "key").write_bytes(SECRET)
        texts = {"channel": Kind.TEXT, "customer": Kind.TEXT}
        names = Vocabulary(("Pay", "Receive", "Reject"), {**texts, "damage": Kind.NUMBER})
        workspace.custody.create_log("small", replace(TERMS, until=None), names)
        workspace.custody.create_log("hidden", replace(TERMS, until=None), names)
        feed(workspace, cases, 3)
        workspace.custody.seal("small", date(2024, 6, 1))
        return workspace

    return build


def feed(workspace: Workspace, cases: int, month: int) -> None:
    since = datetime(2024, month, 5, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    at = since // timedelta(microseconds=1)
    names = [f"{month}-{number}" for number in range(cases)]
    events = [CapturedEvent(name, name, "Receive", at, {"damage": 5.0}) for name in names]
    workspace.custody.capture("small", events)


def replaced() -> list[Row]:
    """Another content of one case, which ends in the same month."""
    others = [row for row in ROWS if row[0] != "c4"]
    begin = next(hours for case, _, hours, _ in ROWS if case == "c4")
    seen = {"channel": "phone", "damage": -1e300, "customer": "k9"}
    return [*others, ("c4", "Receive", begin + 1, seen), ("c4", "Pay", begin + 2, {})]


def strange(first: datetime, last: datetime) -> list[Mapping[str, object]]:
    """One case with all that could upset a query: from another century or into it, no time, no
    activity, numbers that are none, texts that are orders or without end."""
    times = (first, APRIL, None, APRIL, last)
    numbers = (math.inf, math.nan, -1.7e308, 5e-324, 0.0)
    texts = ("", "x" * 100_000, "'; DROP TABLE events_1; --", "\0\x1b\u202e", "web")
    activities = ("Receive", "Pay", "Receive", None, "Reject")
    return [
        {"case_id": "x", "timestamp": at, "activity": name, "damage": number, "channel": text}
        for at, name, number, text in zip(times, activities, numbers, texts, strict=True)
    ]


APRIL = datetime(2024, 4, 14, tzinfo=UTC)
EARLY = strange(datetime(1800, 1, 2, tzinfo=UTC), APRIL)
LATE = strange(APRIL, datetime(2199, 1, 1, tzinfo=UTC))
PERSONS = [
    replace(TERMS, terms=replace(TERMS.terms, unit=PrivacyUnit("customer", 2, per))) for per in Per
]
REPLACE = replace(TERMS, terms=replace(TERMS.terms, adjacency=Adjacency.REPLACE))
EARLIER = "one that began in 1800"
OUTSIDE = "one that ends in 2199, beyond the log's horizon"
NEIGHBOURS: dict[str, tuple[Build, Build]] = {
    "one extreme case more": (imported(ROWS), imported(ROWS + OUTLIER)),
    "one case more, without values": (imported(ROWS), imported(ROWS + NOTHING)),
    "a person of twelve cases": (
        imported(ROWS, PERSONS[0]),
        imported(ROWS + collector(12), PERSONS[0]),
    ),
    "a person, per block": (imported(ROWS, PERSONS[1]), imported(ROWS + collector(12), PERSONS[1])),
    "one case replaced": (imported(ROWS, REPLACE), imported(replaced(), REPLACE)),
    EARLIER: (imported(ROWS), imported(ROWS, more=EARLY)),
    OUTSIDE: (imported(ROWS), imported(ROWS, more=LATE)),
    "no case, and one": (fed(0), fed(1)),
}
