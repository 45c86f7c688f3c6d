"""Which multiple of a target bounds a mean or a maximum best, where nothing else is known.

    python -m benchmarks.bound_rules [RELEASES]

The rules of `experiments.bound_rules` have numbers in them. They are chosen here, on data
that has nothing to do with the Sepsis log: five kinds of made-up durations with 10, 50 and 200
cases a month, and cases of three public logs and of the bundled claims, 20 and 100 a period. (The
bundled hospital is left out: it was made to look like the Sepsis log.)

**Targets** follow a convention: a target lies within a factor of four of what is really the case,
either way; a quarter, half, one, two and four times the true level are equally likely. The level
is the mean over all cases, and for maxima the mean of the periods' maxima.

**The loss** of a rule is its RMSE over the periods at ε = 0.1 against the true, uncut values, as a
share of the level: the median over releases, then the mean over all data and targets. The rule
with the smallest loss is taken. How large bounds are is a multiple of the level, so releases are
simulated once for each multiple, and targets only say which ones to average.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from benchmarks.utility_values import Floats
from experiments.bound_rules import CeilingRule
from experiments.monthly import Monthly
from experiments.sepsis_log import SepsisLog, load_log
from experiments.sepsis_ours import releases
from experiments.sepsis_smoothed import from_whole, one_level, two_levels
from experiments.shared_data import shared_file
from pappi.engine import CaseTable
from pappi.examples.claims import simulate_claims
from pappi.ppinot import AggregatedMeasure, Bounding, Ppi, parse_catalogue
from pappi.values import Bounds

EPSILON, RELEASES = "0.1", 10
PERIODS, DAY = 20, 86_400
SIZES, SAMPLED = (10, 50, 200), (20, 100)
RATIOS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Of the target to the true level."""

SHARES = (Fraction(1, 2), Fraction(3, 4))
"""Of ε, for the whole time."""

OCTAVES = (10, 6, 5, 4, 3)
"""How far down from the limit a ceiling is looked for; 10 is what loose bounds usually get."""

TIMES = tuple(Fraction(2) ** k for k in range(1, 5))
TIMES_OF_MAXIMA = tuple(Fraction(k, 4) for k in (5, 6, 7, 8, 12, 16))
"""Of the target. More than 1: within bounds that end at the target, it is met by definition."""

Draw = Callable[[np.random.Generator, int], Floats]
KINDS: Mapping[str, Draw] = {
    "exponential": lambda rng, n: rng.exponential(1, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
    "Pareto": lambda rng, n: 1 + rng.pareto(2, n),
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "mostly zero": lambda rng, n: rng.exponential(1, n) * (rng.random(n) < 0.4),
}
LOGS = {
    "08_receipt.xes.gz": "month",
    "06_bpic2013_closed.xes.gz": "week",
    "bpic2012.xes.gz": "week",
}

_CATALOGUE = """
log: other
ppis:
  - id: mean
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 1 days]
    scope: every PERIOD
  - id: max
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 1 days]
    scope: every PERIOD
"""


# --- data -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """A log whose cases have a duration, and its true level by function, in days."""

    name: str
    log: SepsisLog

    @cached_property
    def levels(self) -> dict[str, float]:
        ppi = self.log.ppis["mean"]
        days = [_durations(table, ppi) / float(ppi.unit.factor) for table in self.log.tables]
        maxima = float(np.mean([each.max() for each in days]))
        return {"mean": float(np.concatenate(days).mean()), "max": maxima}

    def ppi(self, function: str, times: Fraction, bounding: Bounding = Bounding.DECLARED) -> Ppi:
        """With bounds of so many times the true level."""
        ppi = self.log.ppis[function]
        high = ppi.unit.read(times * Fraction(round(self.levels[function], 3)))
        measure = replace(_aggregated(ppi), bounds=Bounds(Fraction(0), high), bounding=bounding)
        return replace(ppi, id=f"{self.name} {function}", measure=measure)


def _durations(table: CaseTable, ppi: Ppi) -> Floats:
    return table.contributions(_aggregated(ppi))


def _aggregated(ppi: Ppi) -> AggregatedMeasure:
    if not isinstance(ppi.measure, AggregatedMeasure):
        raise TypeError(ppi.id)
    return ppi.measure


def all_data() -> Iterator[Data]:
    for kind in KINDS:
        for size in SIZES:
            yield synthetic(kind, size)
    yield from _sampled("claims", _load(_claims(), "month"))
    for file, period in LOGS.items():
        path = shared_file(f"xes/{file}")
        if path is None:
            sys.stderr.write(f"left out, as it is not here: {file}\n")
        else:
            yield from _sampled(file.partition(".")[0], _load(path, period))


def synthetic(kind: str, size: int) -> Data:
    return Data(f"{kind}, {size}", _full(_load(_made_up(kind, size), "month")))


def _load(source: object, period: str) -> SepsisLog:
    return load_log(source, parse_catalogue(_CATALOGUE.replace("PERIOD", period)), "UTC")


def _made_up(kind: str, size: int) -> pa.Table:
    """Months of unlike sizes, whose levels differ by some 15 %."""
    rng = np.random.default_rng([20_261, list(KINDS).index(kind), size])
    first = np.datetime64("2024-01", "M")
    ends, durations = [], []
    for month in range(PERIODS):
        n = max(2, rng.poisson(size * rng.gamma(4, 1 / 4)))
        level = 5 * DAY * rng.lognormal(0, 0.15)
        durations.append(level * KINDS[kind](rng, n))
        begin = (first + month).astype("datetime64[s]").astype(np.int64)
        ends.append(begin + rng.integers(1, 28 * DAY, n))
    end = np.concatenate(ends)
    return _events(end - np.concatenate(durations).astype(np.int64), end)


def _events(start: np.ndarray, end: np.ndarray) -> pa.Table:
    cases = np.char.add("c", np.arange(len(start)).astype(str))
    return pa.table(
        {
            "case_id": np.concatenate((cases, cases)),
            "activity": ["start"] * len(start) + ["end"] * len(end),
            "timestamp": np.concatenate((start, end)).astype("datetime64[s]"),
        }
    )


def _claims() -> pa.Table:
    times: dict[str, list[int]] = {}
    for event in simulate_claims(cases=6_000):
        times.setdefault(event.case_id, []).append(int(event.timestamp.timestamp()))
    both = np.array([(min(each), max(each)) for each in times.values()])
    return _events(both[:, 0], both[:, 1])


def _sampled(name: str, log: SepsisLog) -> Iterator[Data]:
    """So many cases of a period, on average."""
    log = _full(log)
    every = sum(len(table.anchor_us) for table in log.tables)
    for size in SAMPLED:
        rng = np.random.default_rng([20_262, size])
        share = size * len(log.tables) / every
        some = replace(log, tables=tuple(_some(table, rng, share) for table in log.tables))
        yield Data(f"{name}, {size}", _full(some))


def _full(log: SepsisLog) -> SepsisLog:
    """Without periods that have no case: there is no true value to compare with."""
    pairs = zip(log.months, log.tables, strict=True)
    full = {month: table for month, table in pairs if len(table.anchor_us)}
    return replace(log, months=tuple(full), tables=tuple(full.values()))


def _some(table: CaseTable, rng: np.random.Generator, share: float) -> CaseTable:
    chosen = rng.random(len(table.anchor_us)) < share
    columns = {measure: column[chosen] for measure, column in table.columns.items()}
    return CaseTable(table.anchor_us[chosen], columns)


# --- rules ------------------------------------------------------------------------------------

Simulated = Callable[[Data, Fraction, int], Monthly]
"""With bounds of so many times the level, so many releases."""


def _one_level(function: str) -> Simulated:
    return lambda data, times, runs: one_level(
        releases(data.log, data.ppi(function, times), EPSILON, "target", runs)
    )


def _two_levels(data: Data, times: Fraction, runs: int) -> Monthly:
    return two_levels(data.log, data.ppi("mean", times), EPSILON, runs)


def _ceiling(share: Fraction, octaves: int) -> Simulated:
    rule = CeilingRule(Fraction(1), octaves, share)
    return lambda data, times, runs: from_whole(
        data.log, data.ppi("mean", times, Bounding.LOOSE), EPSILON, runs, rule
    )


MEANS: Mapping[str, Simulated] = {
    "no ceiling, one level": _one_level("mean"),
    "no ceiling, half for the whole": _two_levels,
    **{
        f"ceiling of {octaves} octaves, {share} for it": _ceiling(share, octaves)
        for octaves in OCTAVES
        for share in SHARES
    },
}


@dataclass(frozen=True, slots=True)
class Losses:
    """Of one way to release: the relative error by data and multiple of the level."""

    found: Mapping[tuple[str, Fraction], float]

    @classmethod
    def of(cls, way: Simulated, function: str, data: list[Data], times: set[Fraction],
           runs: int) -> Losses:  # fmt: skip
        found = {
            (one.name, each): way(one, each, runs).rmse / one.levels[function]
            for one in data
            for each in sorted(times)
        }
        return cls(found)

    def of_rule(self, times: Fraction) -> float:
        """The mean over all data and targets."""
        names = dict.fromkeys(name for name, _ in self.found)
        return float(np.mean([self.found[name, times * r] for name in names for r in RATIOS]))


def table(name: str, losses: Losses, times: tuple[Fraction, ...]) -> dict[Fraction, float]:
    """Prints a row: the loss by multiple of the target."""
    means = {each: losses.of_rule(each) for each in times}
    print(name.ljust(32), *(f"{mean:7.3f}" for mean in means.values()), flush=True)
    return means


def main(runs: int = RELEASES) -> None:
    data = list(all_data())
    print(f"{len(data)} sets of data, {len(RATIOS)} targets each, {runs} releases of each")
    for function, ways, times in (
        ("mean", MEANS, TIMES),
        ("max", {"maximum, one level": _one_level("max")}, TIMES_OF_MAXIMA),
    ):
        print(f"\n{function}, by times the target".ljust(33), *(f"{float(t):7g}" for t in times))
        needed = {t * r for t in times for r in RATIOS}
        best: dict[tuple[str, Fraction], float] = {}
        for name, way in ways.items():
            losses = Losses.of(way, function, data, needed, runs)
            best |= {(name, t): mean for t, mean in table(name, losses, times).items()}
        (name, chosen), loss = min(best.items(), key=lambda each: each[1])
        print(f"smallest: {loss:.3f}, {name}, {float(chosen):g} times the target")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
