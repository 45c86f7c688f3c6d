"""Whether derived answers hold what they say: every kind, as people ask for it.

    python -m benchmarks.derived [DAYS]

A made-up log has a block a day. What every day is asked for is paid for; everything else follows
from it, through the same session that people use: two days from their days, sums and numbers from
means, groups, shares within limits, percentiles and means from histograms, formulas, several
releases of one figure, changes, ratios, rolling windows and groups compared. Every figure has a
draw of its own behind it, so that one log of 4,000 days tells how often 2,000 intervals hold.

Told are the releases of each kind, and the part of 95 % intervals that hold the exact value (of
values as bounds clip them). Fails if that is outside 93 to 99 %. What is read off bins ends at
bins, and a formula adds up what its functions may miss: these may hold more often. Fails too if
anything derived is charged for.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from pappi.checkpoint import LocalSession
from pappi.custody import NewLog
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace, create
from pappi.values import Answer, Calendar, Epsilon, Grid, Terms

DAYS = 4_000
CASES = 40
LEAST, MOST = 0.93, 0.99
ENOUGH = 1_900
"""Releases; of fewer, chance is allowed for."""
FIRST = datetime(2010, 1, 1, 12, tzinfo=UTC)
EPSILON = "1"

STAY = "{time: {from: case start, to: case end}, unit: days}"
WITHIN = "{derive: t <= 3 days, t: {time: {from: case start, to: case end}}}"
BY = "by: {data: channel, values: [web, phone]}"
IN_10_DAYS, IN_1000 = "bounds: [0 days, 10 days]", "bounds: [0, 1000]"

PAID = {
    "stay": f"measure: {{mean: {STAY}}}, {IN_10_DAYS}",
    "rejected": 'measure: {share: {condition: activity == "Reject"}}',
    "damage": f"measure: {{mean: {{data: damage}}}}, {IN_1000}",
    "stay by channel": f"measure: {{mean: {STAY}, {BY}}}, {IN_10_DAYS}",
    "limits": f"measure: {{distribution: {STAY}, limits: [1 day, 3 days, 5 days]}}, {IN_10_DAYS}",
    "distribution": f"measure: {{distribution: {STAY}}}, {IN_10_DAYS}",
}
"""Each alone, for every day."""

FOLLOWS = {
    "mean of 2 days": PAID["stay"],
    "share of 2 days": PAID["rejected"],
    "sum from means": f"measure: {{sum: {{data: damage}}}}, {IN_1000}",
    "number from means": "measure: {number: {data: damage}}",
    "number of all cases": "measure: {number: cases}",
    "number of those rejected": (
        'measure: {number: cases, where: {condition: activity == "Reject"}}'
    ),
    "groups of 2 days": PAID["stay by channel"],
    "share within a limit": f"measure: {{share: {WITHIN}}}",
    "number within a limit": f"measure: {{number: cases, where: {WITHIN}}}",
    "formula": (
        "measure: {derive: a / b, a: {sum: {data: damage}}, b: {number: cases}}, "
        "bounds: {a: [0, 1000]}"
    ),
}
"""For every 2 days."""

OFF_BINS = {
    "median off bins": f"measure: {{median: {STAY}}}, {IN_10_DAYS}",
    "p90 off bins": f"measure: {{percentile: {STAY}, percent: 90}}, {IN_10_DAYS}",
}

VIEWS = {
    "change": (PAID["stay"], "change from the previous period"),
    "change in percent": (PAID["damage"], "percent change from the previous period"),
    "ratio": (PAID["stay"], "ratio to the previous period"),
    "change of medians": (OFF_BINS["median off bins"], "change from the previous period"),
    "rolling": (PAID["stay"], "rolling 2 periods"),
    "rolling number": (FOLLOWS["number of all cases"], "rolling 2 periods"),
    "difference of groups": (PAID["stay by channel"], "difference between web and phone"),
    "ratio of groups": (PAID["stay by channel"], "ratio of web to phone"),
}
"""For every day."""


def events(days: int) -> pa.Table:
    rng = np.random.default_rng(11)
    number = days * CASES
    ends = np.repeat(np.arange(days), CASES)
    stays = np.minimum(rng.exponential(3, number) + 0.02, 12)
    ended = [FIRST + timedelta(days=int(day)) for day in ends]
    begun = [end - timedelta(days=float(stay)) for end, stay in zip(ended, stays, strict=True)]
    damage = rng.gamma(2, 120, number).round().tolist()
    channel = rng.choice(["web", "phone"], number, p=[0.6, 0.4]).tolist()
    last = np.where(rng.random(number) < 0.25, "Reject", "Pay").tolist()
    names = [f"c{each}" for each in range(number)]
    return pa.table(
        {
            "case_id": [*names, *names],
            "activity": ["Receive"] * number + last,
            "timestamp": [*begun, *ended],
            "damage": [*damage, *[None] * number],
            "channel": [*channel, *[None] * number],
        }
    )


def workspace_in(folder: Path, days: int) -> Workspace:
    workspace = create(folder / "w")
    terms = Terms(blocks=Grid(Calendar.DAY, 1), expected_cases=CASES, block_budget=Epsilon.of(99))
    workspace.import_log(events(days), "small", new=NewLog(terms=terms))
    return workspace


def asked(measure: str, scope: str, show: str = "") -> Catalogue:
    shown = f", show: {show}" if show else ""
    return parse_catalogue(f"log: small\nppis:\n  - {{id: p, {measure}, scope: {scope}{shown}}}\n")


def spent(session: LocalSession) -> int:
    return sum(line.spent.nano for line in session.budget("small"))


def derived(session: LocalSession, catalogue: Catalogue) -> Iterator[Answer]:
    """All but the first and the last, which the log may cut."""
    before = spent(session)
    (series,) = session.release(catalogue, EPSILON, anyway=True, derived=True)
    if spent(session) != before:
        raise AssertionError("something derived was charged for")
    yield from series.answers[1:-1]


def held(answers: Iterable[Answer], exact: dict[object, float | None]) -> tuple[int, float]:
    """How many there are, and which part of their intervals holds the exact value."""
    found = []
    for answer in answers:
        low, high, true = (
            answer.interval.low,
            answer.interval.high,
            exact.get((answer.period, answer.group)),
        )
        if true is not None:
            above = low is None or low <= true + 1e-9
            found.append(above and (high is None or true - 1e-9 <= high))
    return len(found), float(np.mean(found))


def exact_of(workspace: Workspace, catalogue: Catalogue) -> dict[object, float | None]:
    return {(one.period, one.group): one.clipped for one in workspace.exact(catalogue)}


def kinds(workspace: Workspace, session: LocalSession) -> Iterator[tuple[str, int, float, bool]]:
    """Each with its releases, how often it holds, and whether it may hold more often."""
    for name, measure in FOLLOWS.items():
        catalogue = asked(measure, "every 2 days")
        exact = exact_of(workspace, catalogue)
        yield name, *held(derived(session, catalogue), exact), name == "formula"
    for name, measure in OFF_BINS.items():
        catalogue = asked(measure, "every 2 days")
        exact = exact_of(workspace, catalogue)
        yield name, *held(derived(session, catalogue), exact), True
    for name, (measure, view) in VIEWS.items():
        catalogue = asked(measure, "every day", view)
        off_bins = measure in OFF_BINS.values()
        yield name, *held(derived(session, catalogue), exact_of(workspace, catalogue)), off_bins
    twice = asked(PAID["stay"], "every 2 days")
    session.release(twice, "0.5", anyway=True, derived=False)
    exact = exact_of(workspace, twice)
    yield "2 days and their days", *held(derived(session, twice), exact), False


def main() -> None:
    days = int(sys.argv[1]) if len(sys.argv) > 1 else DAYS
    passed = True
    with TemporaryDirectory() as folder:
        workspace = workspace_in(Path(folder), days)
        session = workspace.checkpoint()
        for measure in PAID.values():
            session.release(asked(measure, "every day"), EPSILON, anyway=True, derived=False)
        print(f"95 % intervals of what is derived, {CASES} cases a day, ε {EPSILON} each")
        for name, number, share, may_hold_more in kinds(workspace, session):
            chance = 2 * math.sqrt(0.05 / number) if number < ENOUGH else 0.0
            good = share >= LEAST - chance and (may_hold_more or share <= MOST + chance)
            passed &= good
            print(f"{name:<24}{number:>6,} releases{share:>8.1%}{'' if good else '   MISSED'}")
    if not passed:
        sys.exit("an interval does not hold what it says")


if __name__ == "__main__":
    main()
