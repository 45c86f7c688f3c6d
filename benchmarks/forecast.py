"""Whether what a preview says is what a release has.

    python -m benchmarks.forecast [RELEASES]

One log of two years with exactly as many cases as its owner declares, once with cases and once
with persons as its privacy unit. Each function is asked over every length of period, for all cases,
in groups and behind a filter. Compared with the half-width of the released interval, the median of
so many releases (cases are read once, and their law drawn from again; of a median, whose intervals
end where bins do, the median of grouped data):

- the half-width that the preview forecasts: from 0.8 to 1.25 times as much;
- that of a rehearsal, and the forecast again: within 10 % for n·ε ≥ 20, as values lie alike; of a
  median within half a bin, if that is more;
- the margin, a promise about the noise wherever values lie: never below 0.8 times as much, where
  one is promised. Its ε, found again from the margin alone, is the one that was asked for.

Then what is forecast where values lie elsewhere. A mean or share at either end, or in the middle:
the same limits. A second log of other shapes: the same limits, but for medians and percentiles,
whose intervals depend on how close together values lie, which nobody knows before; that is shown as
it is. Fails where a limit is missed; writes every cell to build/bench/forecast.csv.
"""

from __future__ import annotations

import csv
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from statistics import median, median_grouped

import numpy as np
import pyarrow as pa

import pappi
from pappi.checkpoint.answers import answer_of
from pappi.checkpoint.draw import CellValues, read_cells
from pappi.checkpoint.prices import quote_of
from pappi.checkpoint.queries import planned, releases_of
from pappi.custody import NewLog
from pappi.ledger import KeyState
from pappi.mechanisms import Floats
from pappi.mechanisms.histogram import NoisyHistogram
from pappi.planning import Plan
from pappi.ppinot import Catalogue, Ppi, parse_catalogue
from pappi.session import Workspace
from pappi.store import LogDeclaration, open_workspace
from pappi.values import (
    CASE,
    Answer,
    Bounds,
    DefaultBounds,
    Epsilon,
    Kind,
    Period,
    PrivacyUnit,
    PublicLog,
    Quote,
    Terms,
    Vocabulary,
)

LEAST, MOST = 0.8, 1.25
ALIKE = 0.1
ENOUGH = 20
"""Cases times ε, from which on the noise is not as large as what is told."""

RELEASES = 200
_REHEARSALS = {"median": 20}
_FEW_REHEARSALS = 4
"""Intervals of medians differ much more from one another."""

TABLE = Path("build/bench/forecast.csv")

CASES = 800
"""Of a month: so many that a rehearsal of two years has as many as it may."""

FIRST, UNTIL = date(2023, 1, 1), date(2025, 1, 1)
REGIONS = ("north", "east", "south", "west")
EPSILON = Epsilon.of("0.5")
UNITS = {"case": CASE, "person": PrivacyUnit("customer", 2)}
PERIODS = ("every week", "every month", "every quarter", "every year", "whole time")
FUNCTIONS = {
    "mean": "mean: {data: amount}",
    "share": "share: {data: urgent}",
    "sum": "sum: {data: amount}",
    "count": "number: cases",
    "median": "median: {data: amount}",
}
CUTS = {
    "all": "",
    "groups": f", by: {{data: region, values: [{', '.join(REGIONS)}]}}",
    "filter": ", where: {condition: region == 'north'}",
}
KINDS = {
    "amount": Kind.NUMBER,
    "urgent": Kind.TRUTH,
    "region": Kind.TEXT,
    "customer": Kind.TEXT,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A function over periods: of all cases, in groups, or filtered."""

    function: str
    period: str
    cut: str = "all"

    @property
    def ppi(self) -> Ppi:
        guess = ", expected: 25 %" if self.cut == "filter" else ""
        measure = FUNCTIONS[self.function] + CUTS[self.cut]
        text = f"measure: {{{measure}}}, scope: {self.period}, epsilon: {EPSILON}{guess}"
        return parse_catalogue(f"log: made\nppis:\n  - {{id: p, {text}}}\n").ppis[0]


def questions() -> Iterator[Question]:
    yield from (Question(*cell) for cell in product(FUNCTIONS, PERIODS, CUTS))


# --- the log ---------------------------------------------------------------------------------


def terms_of(unit: PrivacyUnit) -> Terms:
    bounds = DefaultBounds(attributes={"amount": Bounds(Fraction(0), Fraction(1_000))})
    return Terms(unit=unit, expected_cases=CASES, bounds=bounds, block_budget=Epsilon.of(100))


def public_log(unit: PrivacyUnit = CASE) -> PublicLog:
    """The log's public face alone."""
    names = Vocabulary(("Close",), KINDS, {"region": REGIONS})
    return PublicLog(name="made", first=FIRST, until=UNTIL, vocabulary=names, terms=terms_of(unit))


def made_log() -> pa.Table:
    """One event a case; the mean amount is at a quarter of its bounds, and a quarter is urgent.

    A customer has two cases, so that none is dropped where customers are protected.
    """
    firsts = [datetime(2023 + m // 12, m % 12 + 1, 1, tzinfo=UTC) for m in range(25)]
    times = [
        start + timedelta(minutes=(end - start).days * 1_440 * i // CASES)
        for start, end in pairwise(firsts)
        for i in range(CASES)
    ]
    count, dice = len(times), np.random.default_rng(7)
    return pa.table(
        {
            "case_id": [f"c{i}" for i in range(count)],
            "activity": ["Close"] * count,
            "timestamp": times,
            "amount": dice.permutation(amounts_at(0.25, count)),
            "urgent": dice.permutation(np.arange(count) % 4 == 0),
            "region": dice.permutation(np.array(REGIONS)[np.arange(count) % len(REGIONS)]),
            "customer": [f"k{i // 2}" for i in range(count)],
        }
    )


def amounts_at(place: float, count: int) -> Floats:
    """Amounts whose mean is at a place of their range, with a tail above it."""
    shares = (np.arange(count) + 0.5) / count
    return np.asarray(1_000 * (1 - (1 - shares) ** (place / (1 - place))))


def workspace_of(folder: Path, unit: PrivacyUnit) -> Workspace:
    workspace = pappi.create(folder)
    new = NewLog(first=FIRST, until=UNTIL, keys={"region": REGIONS}, terms=terms_of(unit))
    workspace.import_log(made_log(), "made", new=new)
    return workspace


# --- forecast, rehearsed, released -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """Half-widths of one question, forecast, rehearsed and released; and its margin.

    `epsilon` is what the margin costs, found again by its accuracy. `half_bin` is by how much one
    half-width of a median differs from the next: its interval ends where bins do.
    """

    unit: str
    question: Question
    quote: Quote
    released: float
    rehearsed: float
    epsilon: float
    half_bin: float

    @property
    def ratio(self) -> float:
        return (self.quote.interval_half_width or math.nan) / self.released

    @property
    def of_rehearsal(self) -> float:
        return self.rehearsed / self.released

    @property
    def of_margin(self) -> float:
        """Of what is promised; of ranks there is no such thing."""
        return (self.quote.margin or math.nan) / self.released

    @property
    def agree(self) -> bool:
        """Forecast, rehearsal and release with one another."""
        signal = self.quote.assumed_cases * float(EPSILON) / UNITS[self.unit].max_cases
        trio = (self.quote.interval_half_width or math.nan, self.rehearsed, self.released)
        apart = max(trio) - min(trio)
        return signal < ENOUGH or apart <= max(ALIKE * min(trio), self.half_bin)

    @property
    def forecast(self) -> bool:
        return LEAST <= self.ratio <= MOST

    @property
    def holds(self) -> bool:
        return (
            self.forecast
            and self.agree
            and not self.of_margin < LEAST
            and not self.epsilon > float(EPSILON)
        )


def rows_of(unit: str, workspace: Workspace, draws: int) -> Iterator[Row]:
    session, log = workspace.checkpoint(), workspace.log("made")
    for question in questions():
        catalogue = Catalogue("made", (question.ppi,))
        (quote,) = session.preview(catalogue)
        times = _REHEARSALS.get(question.function, _FEW_REHEARSALS)
        rehearsals = (session.rehearse(catalogue)[0] for _ in range(times))
        plan = planned(question.ppi, None, log.public)
        step = half_bin(plan)
        yield Row(
            unit,
            question,
            quote,
            released=middle(_released(workspace, plan, log, draws), step),
            rehearsed=middle(
                [
                    half
                    for series in rehearsals
                    for half in half_widths([a for a in series.answers if is_whole(a.period, log)])
                ],
                step,
            ),
            epsilon=_found_again(workspace, catalogue, quote),
            half_bin=step,
        )


def half_bin(plan: Plan) -> float:
    """By how much one half-width differs from the next; 0 where they can be anything."""
    mechanism = plan.measurements[0].mechanism
    if not isinstance(mechanism, NoisyHistogram):
        return 0.0
    return float(mechanism.bounds.width) / mechanism.bins.number / 2


def middle(halves: Sequence[float], step: float) -> float:
    """Their median; of those that lie on steps, that of grouped data."""
    return median_grouped(halves, step) if step else median(halves)


def _found_again(workspace: Workspace, catalogue: Catalogue, quote: Quote) -> float:
    """A margin has five digits, so the last of them is given away."""
    wanted = f"{1.000_1 * (quote.half_width or math.nan):.9f}"
    return float(workspace.checkpoint().preview(catalogue, accuracy=wanted)[0].epsilon)


def is_whole(period: Period, log: LogDeclaration) -> bool:
    """A week at the edge of the log has fewer days than others."""
    return log.public.first <= period.start and period.end <= log.public.until


def half_widths(answers: Sequence[Answer]) -> list[float]:
    ends = ((answer.interval.low, answer.interval.high) for answer in answers)
    return [(high - low) / 2 for low, high in ends if low is not None and high is not None]


def _released(workspace: Workspace, plan: Plan, log: LogDeclaration, draws: int) -> list[float]:
    files, found = open_workspace(workspace.root), list[float]()
    asked = releases_of(plan, log, "benchmark")
    each = max(1, draws // (len(asked) * len(plan.groups)))
    for release, cells in read_cells(files.events, asked, log, files.key()):
        places = product(release.cell.periods, plan.groups)
        for (period, group), values in zip(places, cells, strict=True):
            if is_whole(period, log):
                found += drawn_half_widths(plan, log, period, group, values, each)
    return found


def drawn_half_widths(
    plan: Plan,
    log: LogDeclaration,
    period: Period,
    group: str | None,
    values: CellValues,
    draws: int,
) -> list[float]:
    """Of so many releases of one cell, answered as ever; from a generator no release may use.

    Each cell has noise of its own: with the same in all, 200 releases would be a few.
    """
    generator, answers = random.Random(f"{period} {group}"), []  # noqa: S311 - a simulation
    parts = zip(plan.measurements, values, strict=True)
    laws = [part.mechanism.law(column) for part, column in parts]
    for _ in range(draws):
        noisy = [law.draw(generator.randrange) for law in laws]
        answers.append(answer_of(plan, log, period, group, noisy, KeyState.NEW))
    return half_widths(answers)


# --- values elsewhere ------------------------------------------------------------------------

PLACES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.98)


def ratios_elsewhere(function: str, period: str, draws: int) -> list[float]:
    """Forecast over released, where the mean, or the share, lies at each of the `PLACES`."""
    log = LogDeclaration(data="made", table="made", public=public_log())
    plan = planned(Question(function, period).ppi, None, log.public)
    forecast = quote_of(plan, log.public, 0, 0).interval_half_width or math.nan
    cases, ratios = plan.expected.cases, []
    for place in PLACES:
        values = amounts_at(place, cases)
        if function == "share":
            values = (np.arange(cases) < round(place * cases)).astype(np.float64)
        halves = drawn_half_widths(plan, log, Period(FIRST, UNTIL), None, [values], draws)
        ratios.append(forecast / median(halves))
    return ratios


# --- a log of other shapes ---------------------------------------------------------------------

SHAPES = {
    "lognormal": lambda dice, n: np.minimum(dice.lognormal(math.log(0.15), 0.8, n), 1.0),
    "even": lambda dice, n: dice.uniform(0, 1, n),
    "around the middle": lambda dice, n: dice.beta(8, 8, n),
    "two humps": lambda dice, n: np.where(
        dice.random(n) < 0.7, dice.beta(4, 36, n), dice.beta(30, 20, n)
    ),
}
"""None of which a forecast assumes."""
OTHERS = {
    "mean": "mean: {data: amount}",
    "median": "median: {data: amount}",
    "90th percentile": "percentile: {data: amount}, percent: 90",
    "mean time": "mean: {time: {from: case start, to: case end}, unit: days}",
    "median time": "median: {time: {from: case start, to: case end}, unit: days}",
}
BY_RANK = ("median", "90th percentile", "median time")
_OF_EACH = 20
"""Figures that are drawn of each."""


def ratios_of_shape(function: str, shape: str, period: str, draws: int) -> list[float]:
    """Forecast over released, in each privacy unit; of mean and median times, in geometric bins."""
    ratios = []
    for unit in UNITS.values():
        log = LogDeclaration(data="made", table="made", public=public_log(unit))
        text = f"measure: {{{OTHERS[function]}}}, bounds: [0, 1000], scope: {period}"
        if function.endswith("time"):
            text = text.replace("[0, 1000]", "[0 days, 60 days]")
        text = f"log: made\nppis:\n  - {{id: p, {text}, epsilon: {EPSILON}}}\n"
        plan = planned(parse_catalogue(text).ppis[0], None, log.public)
        quote, dice = quote_of(plan, log.public, 0, 0), np.random.default_rng(11)
        high = float(plan.measurements[0].inputs[0].bounds.high)  # type: ignore[union-attr]
        halves = list[float]()
        for number in range(_OF_EACH):
            values = high * SHAPES[shape](dice, plan.expected.cases)
            start = date(1800 + number, 1, 1)  # noise of its own
            place = Period(start, start + timedelta(days=1))
            halves += drawn_half_widths(plan, log, place, None, [values], draws // _OF_EACH)
        ratios.append((quote.interval_half_width or math.nan) / median(halves))
    return ratios


# --- as a table ------------------------------------------------------------------------------


def main(draws: int) -> int:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, unit in UNITS.items():
            rows += rows_of(name, workspace_of(Path(folder) / name, unit), draws)
    _write(rows)
    print("| unit | function | cells | forecast | rehearsed | margin |")
    print("|---|---|---|---|---|---|")
    for whose, function in product(UNITS, FUNCTIONS):
        own = [row for row in rows if (row.unit, row.question.function) == (whose, function)]
        columns = ([row.ratio for row in own], [row.of_rehearsal for row in own])
        margins = [row.of_margin for row in own if not math.isnan(row.of_margin)]
        told = " | ".join(map(_spread, (*columns, margins)))
        print(f"| {whose} | {function} | {len(own)} | {told} |")
    print(f"\n| forecast / released, mean at | {' | '.join(f'{p:.0%}' for p in PLACES)} |")
    print("|---|" + "---|" * len(PLACES))
    elsewhere = {}
    for function, period in product(("mean", "share"), PERIODS):
        elsewhere[function, period] = ratios_elsewhere(function, period, draws)
        told = " | ".join(f"{ratio:.2f}" for ratio in elsewhere[function, period])
        print(f"| {function}, {period} | {told} |")
    print(f"\n| forecast / released, a log of other shapes | {' | '.join(SHAPES)} |")
    print("|---|" + "---|" * len(SHAPES))
    for function in OTHERS:
        spreads = []
        for shape in SHAPES:
            ratios = [r for p in PERIODS for r in ratios_of_shape(function, shape, p, draws)]
            spreads.append(_spread(ratios))
            if function not in BY_RANK:
                elsewhere[function, shape] = ratios
        print(f"| {function} | {' | '.join(spreads)} |")
    failed = [row for row in rows if not row.holds]
    for row in failed:
        halves = f"{row.ratio:.3f} {row.of_rehearsal:.3f} {row.epsilon}"
        print("MISSED", row.unit, row.question, halves)
    outside = [r for ratios in elsewhere.values() for r in ratios if not LEAST <= r <= MOST]
    print(f"\n{len(rows) - len(failed)} of {len(rows)} cells hold")
    print(f"{len(outside)} outside elsewhere")
    return int(bool(failed or outside))


def _spread(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "none is promised"


def _write(rows: Sequence[Row]) -> None:
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(
            (
                *("unit", "function", "period", "cut", "cases", "forecast", "released"),
                *("rehearsed", "margin", "epsilon", "holds"),
            )
        )
        for row in rows:
            asked, quote = row.question, row.quote
            table.writerow(
                (
                    *(row.unit, asked.function, asked.period, asked.cut, quote.assumed_cases),
                    *(quote.interval_half_width, row.released, row.rehearsed),
                    *(quote.margin, row.epsilon, row.holds),
                )
            )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES))
