"""Dashboards before and after: how many verdicts are decided, and how many of them are wrong.

    python -m benchmarks.dashboard [RUNS]

Eight PPIs of a log by the month (a mean, two shares, a median, a 90th percentile, a maximum, a
count and a formula), each with a target 10 to 25 % away from its value over the whole time, half
of them met and half missed, at a total ε of 0.8 in each month:

- *before*: 0.1 for each PPI, one by one, and whatever comes out is paid for;
- *after*: the same ceiling divided by need, one draw where that is better; what tells nothing is
  not released, because a release of it is refused with advice.

Three simulated logs, and two real ones (shared data, else left out). Verdicts are those of the
product, drawn from the laws of what would be released, with seeded chances. A verdict is *wrong* if
it is firm and the exact value of that month, of cases clipped as declared, lies on the other side;
the same is told of the values as they are. Fails if over 5 % of the decided verdicts are wrong, or
less than half of what was undecided before is now decided or advised against before it is paid for.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from experiments.shared_data import missing, shared_file
from pappi.checkpoint.answers import answer_of
from pappi.engine import CaseTable, cases_by_period
from pappi.examples import EXAMPLES
from pappi.ledger import KeyState
from pappi.mechanisms import Outcome, RandBelow
from pappi.planning import Plan, as_if_uncut, periods_of, plan_by_need, plan_ppi, why_nothing
from pappi.planning.bounds import bounds_of
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Ppi,
    Target,
    aggregate,
    aggregated_measures,
    parse_catalogue,
    reduced_form,
    value_above,
)
from pappi.session import create
from pappi.store import LogDeclaration, open_workspace
from pappi.values import ZERO, Epsilon, Period, Verdict, judge

RUNS = 20
EACH = Epsilon.of("0.1")
MOST_WRONG, LEAST_HELPED = 0.05, 0.5
DISTANCES = (0.10, 0.15, 0.20, 0.25)

_PPIS = """
log: {log}
ppis:
  - {{id: mean, measure: {{mean: {time}}}, bounds: [0 hours, {most} hours], scope: every month}}
  - {{id: quick, measure: {{share: {{derive: t < {limit} hours, t: {bare}}}}}, scope: every month}}
  - {{id: seen, measure: {{share: {{condition: activity == "{seen}"}}}}, scope: every month}}
  - {{id: median, measure: {{median: {time}}}, bounds: [0 hours, {most} hours], scope: every month}}
  - {{id: p90, measure: {{percentile: {time}, percent: 90}}, bounds: [0 hours, {most} hours],
      scope: every month}}
  - {{id: longest, measure: {{max: {time}}}, bounds: [0 hours, {most} hours], scope: every month}}
  - {{id: number, measure: {{number: cases}}, scope: every month}}
  - id: ratio
    measure:
      derive: 100 * a / b
      a: {{sum: {{condition: activity == "{seen}"}}, within: b}}
      b: {{sum: {{condition: activity == "{first}"}}}}
    bounds: {{a: [0, 1], b: [0, 1], value: [0, 100]}}
    unit: percent
    scope: every month
"""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What the eight PPIs of a log are about: hours from one activity to another, and another."""

    log: str
    first: str
    last: str
    seen: str
    most: int
    limit: int

    @property
    def ppis(self) -> tuple[Ppi, ...]:
        bare = f'{{time: {{from: {{activity: "{self.first}"}}, to: {{activity: "{self.last}"}}}}}}'
        time = f"{bare[:-1]}, unit: hours}}"
        facts = {"log": self.log, "seen": self.seen, "first": self.first}
        filled = _PPIS.format(time=time, bare=bare, most=self.most, limit=self.limit, **facts)
        return parse_catalogue(filled).ppis


CLAIMS = Dashboard("claims", "Receive claim", "Close claim", "Reject claim", 720, 120)
HOSPITAL = Dashboard("sepsis", "ER Registration", "Release A", "Return ER", 960, 240)
HELPDESK = Dashboard("helpdesk", "Open", "Close", "Escalate", 240, 48)
SEPSIS = Dashboard("sepsis", "ER Registration", "Release A", "Return ER", 960, 240)
LOANS = Dashboard("loans", "A_SUBMITTED", "A_DECLINED", "O_SENT", 720, 24)


def helpdesk(cases: int = 600, months: int = 12) -> pa.Table:
    """Tickets that are open for two days, some far longer; one in six is escalated."""
    chance = np.random.default_rng(7)
    rows: list[tuple[str, str, datetime]] = []
    for number in range(cases * months):
        start = datetime(2024, 1, 1, 8, tzinfo=UTC) + timedelta(
            hours=float(chance.uniform(0, 24 * 365))
        )
        open_for = timedelta(hours=float(min(chance.lognormal(3.4, 0.8), 400.0)))
        name = f"t{number}"
        rows.append((name, "Open", start))
        if chance.random() < 1 / 6:
            rows.append((name, "Escalate", start + open_for / 2))
        rows.append((name, "Close", start + open_for))
    names = ("case_id", "activity", "timestamp")
    return pa.table({each: [row[i] for row in rows] for i, each in enumerate(names)})


# --- what is true ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cases:
    """A log as its owner declares it, its PPIs with targets, and the cases of every month."""

    log: LogDeclaration
    ppis: tuple[Ppi, ...]
    tables: Mapping[Period, CaseTable]

    def value(self, ppi: Ppi, table: CaseTable, *, clipped: bool) -> float | None:
        values = {}
        for path, measure in aggregated_measures(ppi.measure):
            column = table.contributions(measure)
            if clipped:
                bounds = bounds_of(measure, self.log.public.vocabulary)
                column = np.clip(column, float(bounds.low), float(bounds.high))
            values[path] = aggregate(measure, column)
        return value_above(ppi.measure, values)


def load(source: object, dashboard: Dashboard, zone: str = "UTC") -> Cases:
    with TemporaryDirectory() as folder:
        workspace = create(Path(folder) / "w")
        workspace.import_log(source, dashboard.log, timezone=zone)
        log = workspace.log(dashboard.log)
        ppis = tuple(reduced_form(ppi, log.terms.anchor) for ppi in dashboard.ppis)
        (scope,) = {ppi.scope for ppi in ppis}
        months = periods_of(scope, log.horizon)
        events = open_workspace(workspace.root).events
        measures = [m for ppi in ppis for _, m in aggregated_measures(ppi.measure)]
        tables = cases_by_period(events, log, measures, {scope: months})[scope]
    usual = float(np.mean([len(table.anchor_us) for table in tables.values()]))
    # As an owner would say it, who knows about how many there are.
    declared = max(1, int(float(f"{usual:.2g}")))
    terms = replace(log.terms, expected_cases=declared)
    log = replace(log, public=replace(log.public, terms=terms))
    found = Cases(log, ppis, tables)
    return replace(found, ppis=tuple(_aimed(found)))


def _aimed(cases: Cases) -> Iterator[Ppi]:
    """With a target near to the usual month, every second one missed."""
    for number, ppi in enumerate(cases.ppis):
        months = [cases.value(ppi, table, clipped=True) for table in cases.tables.values()]
        usual = float(np.mean([month for month in months if month is not None]))
        away = DISTANCES[number % len(DISTANCES)] * (-1 if number % 2 else 1)
        wants_less = _wants_less(ppi)
        limit = usual * (1 + away if wants_less else 1 - away)
        most = _most(ppi)
        if limit > 0.98 * most:  # a limit at the end of the range would be met by definition
            limit = usual * (1 - abs(away))
        exact = Fraction(limit).limit_denominator(10**6)
        target = Target(None, exact) if wants_less else Target(exact, None)
        yield replace(ppi, target=target)


def _wants_less(ppi: Ppi) -> bool:
    measure = ppi.measure
    return isinstance(measure, AggregatedMeasure) and measure.function in (
        *(Aggregation.MEAN, Aggregation.MEDIAN, Aggregation.PERCENTILE, Aggregation.MAX),
    )


def _most(ppi: Ppi) -> float:
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        return 100.0
    if measure.function is Aggregation.COUNT:
        return math.inf
    return 1.0 if measure.bounds is None else float(measure.bounds.high)


# --- what is told ------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Of verdicts: how many there could be, what was told, and what it cost."""

    asked: int = 0
    decided: int = 0
    wrong: int = 0
    wrong_unclipped: int = 0
    undecided: int = 0
    advised: int = 0
    epsilon: Epsilon = ZERO

    def add(self, verdict: Verdict | None, truth: Verdict, unclipped: Verdict) -> None:
        """One of a release; None if it was advised against."""
        self.asked += 1
        if verdict is None:
            self.advised += 1
        elif verdict is Verdict.UNDECIDED:
            self.undecided += 1
        else:
            self.decided += 1
            self.wrong += verdict is not truth
            self.wrong_unclipped += verdict is not unclipped


@dataclass(slots=True)
class Compared:
    before: Tally
    after: Tally
    helped: int = 0
    """Undecided before, and now decided or advised against."""

    lost: int = 0
    """Decided before, and now undecided or advised against."""


def compared(cases: Cases, runs: int) -> Compared:
    log = cases.log.public
    # As it was then: by the interval alone, whatever the bounds cut.
    before = [as_if_uncut(plan_ppi(ppi, EACH, log)) for ppi in cases.ppis]
    after = plan_by_need(cases.ppis, log)
    told = [not why_nothing(plan) for plan in after]
    found = Compared(Tally(), Tally())
    found.before.epsilon = _charged(before)
    found.after.epsilon = _charged([p for p, tells in zip(after, told, strict=True) if tells])
    for old, new, tells in zip(before, after, told, strict=True):
        was, now = _verdicts(old, cases, runs), _verdicts(new, cases, runs) if tells else {}
        for period, table in cases.tables.items():
            truth, unclipped = (
                _verdict_of(old.ppi, cases.value(old.ppi, table, clipped=clipped))
                for clipped in (True, False)
            )
            for then, later in zip(was[period], now.get(period, [None] * runs), strict=True):
                found.before.add(then, truth, unclipped)
                found.after.add(later, truth, unclipped)
                found.helped += then is Verdict.UNDECIDED and later is not Verdict.UNDECIDED
                found.lost += then is not Verdict.UNDECIDED and later in (Verdict.UNDECIDED, None)
    return found


def _charged(plans: Sequence[Plan]) -> Epsilon:
    """In a month; one draw is paid once."""
    draws = {plan.together or (plan.ppi.id,): plan.epsilon for plan in plans}
    return Epsilon(sum(epsilon.nano for epsilon in draws.values()))


def _verdict_of(ppi: Ppi, value: float | None) -> Verdict:
    if ppi.target is None:
        raise AssertionError("every PPI of the benchmark has a target")
    return Verdict.UNDECIDED if value is None else judge(ppi.target, value, value)


def _verdicts(plan: Plan, cases: Cases, runs: int) -> dict[Period, list[Verdict | None]]:
    """Of all months, released together in each run: what bounds cut is judged by all of them."""
    drawn = {period: _drawn(plan, period, table, runs) for period, table in cases.tables.items()}
    beyond = plan.measurements[0].mechanism.beyond
    pools = [
        reduce(add, counted)
        if None not in (counted := [beyond(noisy[run][0]) for noisy in drawn.values()])
        else None
        for run in range(runs)
    ]
    return {
        period: [
            answer_of(plan, cases.log, period, None, parts, KeyState.NEW, pool).verdict
            for parts, pool in zip(noisy, pools, strict=True)
        ]
        for period, noisy in drawn.items()
    }


def _drawn(plan: Plan, period: Period, table: CaseTable, runs: int) -> list[list[Outcome]]:
    chance: RandBelow = random.Random(f"{plan.ppi.id} {period} {plan.epsilon}").randrange  # noqa: S311 - reproducible figures
    laws = []
    for part in plan.measurements:
        columns = [table.contributions(measure) for measure in part.inputs]
        values = columns[0] if len(columns) == 1 else np.column_stack(columns)
        laws.append(part.mechanism.law(values))
    return [[law.draw(chance) for law in laws] for _ in range(runs)]


# --- the table ---------------------------------------------------------------------------------


def logs() -> Iterator[tuple[str, Cases]]:
    """One after the other; the real ones, if the shared data is here."""
    for title, dashboard, example in (
        ("claims, simulated", CLAIMS, EXAMPLES["claims"]),
        ("hospital, simulated", HOSPITAL, EXAMPLES["sepsis"]),
    ):
        with TemporaryDirectory() as folder:
            yield title, load(example.write_log(Path(folder)), dashboard, example.zone)
    yield "helpdesk, simulated", load(helpdesk(), HELPDESK)
    for title, dashboard, name in (
        ("Sepsis, real", SEPSIS, "sepsis.csv.gz"),
        ("loans (BPIC 2012), real", LOANS, "xes/bpic2012.xes.gz"),
    ):
        file = shared_file(name)
        if file is None:
            print(f"{title}: left out: {missing(name)}")
        else:
            yield title, load(file, dashboard)


_HEAD = ("log", "cases", "ε", "decided", "wrong", "unclipped", "ε", "decided", "wrong")
_HEADER = (*_HEAD, "unclipped", "advised", "helped", "lost")


def row(title: str, cases: Cases, found: Compared) -> tuple[str, ...]:
    before, after = found.before, found.after
    return (
        title,
        str(cases.log.terms.cases),
        *(str(before.epsilon), _part(before.decided, before.asked)),
        *(_part(before.wrong, before.decided), _part(before.wrong_unclipped, before.decided)),
        *(str(after.epsilon), _part(after.decided, after.asked)),
        *(_part(after.wrong, after.decided), _part(after.wrong_unclipped, after.decided)),
        *(_part(after.advised, after.asked), _part(found.helped, before.undecided)),
        _part(found.lost, before.decided),
    )


def _part(some: int, of: int) -> str:
    return f"{100 * some / of:.0f} %" if of else "–"


def main(runs: int) -> int:
    print(f"Eight PPIs by the month, {runs} releases of each: before, and after\n")
    print("| " + " | ".join(_HEADER) + " |\n|" + "---|" * len(_HEADER))
    wrong = decided = helped = undecided = 0
    for title, cases in logs():
        found = compared(cases, runs)
        print("| " + " | ".join(row(title, cases, found)) + " |", flush=True)
        wrong, decided = wrong + found.after.wrong, decided + found.after.decided
        helped, undecided = helped + found.helped, undecided + found.before.undecided
    print(f"\nwrong after: {_part(wrong, decided)} of the decided (at most {MOST_WRONG:.0%})")
    print(f"helped: {_part(helped, undecided)} of the undecided (at least {LEAST_HELPED:.0%})")
    return int(wrong > MOST_WRONG * decided or helped < LEAST_HELPED * undecided)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else RUNS))
