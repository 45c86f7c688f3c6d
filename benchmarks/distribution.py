"""Medians, percentiles and shares within limits, read off one noisy histogram.

    python -m benchmarks.distribution [RELEASES]

1. Widths and coverage: the 95 % interval of a median, as planned by default, of Gaussian values in
   tight bounds (even bins) and of lognormal waits (geometric bins), by cases times ε; beside the
   point that the interval mechanism draws, whose interval is mostly the whole range.
2. Coverage of any data: ties, two ends, values at a limit, few cases.
3. Verdicts: how often a target of a median or p90 is firmly met or missed, before and now, and how
   often that is wrong.
4. Twenty limits of one duration: the error of the share within each, beside asking for the
   twenty shares one by one, and as one set, at the same ε in total.

Every release is drawn by the planned mechanism. Fails where a limit is missed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

import numpy as np

from pappi.mechanisms import (
    Contribution,
    Floats,
    Mechanism,
    PresenceClass,
    TwoBin,
    joint_members,
)
from pappi.planning import plan_ppi
from pappi.ppinot import AggregatedMeasure, Ppi, Target, aggregate, parse_catalogue
from pappi.values import (
    CONFIDENCE,
    UNIT_INTERVAL,
    Adjacency,
    Epsilon,
    Kind,
    PublicLog,
    Terms,
    Verdict,
    Vocabulary,
    judge,
)

RELEASES = 2_000
CASES = 500
SIGNALS = (20, 50, 100, 200)
"""Cases times ε."""
LEAST_COVERAGE = 0.95
MOST_WIDE = {
    ("gaussian", 50): 0.14,
    ("gaussian", 100): 0.09,
    ("waits", 50): 0.08,
    ("waits", 100): 0.05,
}
LEAST_GAIN = 6.0
MOST_WRONG = 0.025
LEAST_DECIDING, LEAST_MORE = 100, 0.25
"""From so many cases times ε on the gain holds, and so much more of all verdicts must be firm."""
DAY = 86_400_000_000

LOG = PublicLog(
    name="log",
    first=date(2024, 1, 1),
    until=date(2025, 1, 1),
    vocabulary=Vocabulary(("A", "B"), {"x": Kind.NUMBER}),
    terms=replace(Terms(), expected_cases=CASES),
)
NUMBERS = ("{FUNCTION: {data: x}PERCENT}", "[0, 200]")
WAITS = ("{FUNCTION: {time: {from: {activity: A}, to: {activity: B}}}PERCENT}", "[0 days, 60 days]")
Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True, slots=True)
class Data:
    """Values, and how a measure of them is written."""

    name: str
    written: tuple[str, str]
    draw: Draw


GAUSSIAN = Data("gaussian", NUMBERS, lambda rng, n: rng.normal(100, 25, n))
LOGNORMAL = Data("waits", WAITS, lambda rng, n: DAY * rng.lognormal(np.log(4), 1, n))
ODD = (
    Data("ties", NUMBERS, lambda _, n: np.repeat([50.0, 120.0], [n // 2 + 1, n - n // 2 - 1])),
    Data("even ties", NUMBERS, lambda _, n: np.repeat([50.0, 120.0], n // 2)),
    Data("two ends", NUMBERS, lambda _, n: np.repeat([0.0, 200.0], n // 2)),
    Data("at a limit", NUMBERS, lambda _, n: np.full(n, 100.0)),
    Data("three cases", NUMBERS, lambda _rng, _n: np.array([3.0, 90.0, 180.0])),
)


def ppi_of(data: Data, function: str, mechanism: str | None = None) -> Ppi:
    percent = function[1:] if function.startswith("p") else ""
    measure = data.written[0].replace("FUNCTION", "percentile" if percent else function)
    measure = measure.replace("PERCENT", f", percent: {percent}" if percent else "")
    lines = ("log: log", "ppis:", "  - id: asked", f"    measure: {measure}")
    text = "\n".join((*lines, f"    bounds: {data.written[1]}", ""))
    (ppi,) = parse_catalogue(text).ppis
    return replace(ppi, release=replace(ppi.release, mechanism=mechanism))


def measure_of(data: Data, function: str) -> AggregatedMeasure:
    measure = ppi_of(data, function).measure
    if not isinstance(measure, AggregatedMeasure):
        raise TypeError("a formula")
    return measure


def planned(ppi: Ppi, signal: int) -> Mechanism:
    epsilon = Epsilon.of(signal / CASES)
    return plan_ppi(ppi, epsilon, LOG).measurements[0].mechanism


@dataclass(frozen=True, slots=True)
class Found:
    """Of many releases."""

    width: float
    held: float
    error: float


def measured(data: Data, function: str, mechanism: Mechanism, releases: int) -> Found:
    """Of new values in each release, within the bounds."""
    rng, chance = np.random.default_rng(7), random.Random(7)  # noqa: S311 - a simulation
    measure, (low, high) = measure_of(data, function), mechanism.ends
    rows = []
    for _ in range(releases):
        values = np.clip(data.draw(rng, CASES), low, high)
        truth, noisy = aggregate(measure, values), mechanism.law(values).draw(chance.randrange)
        least, most = mechanism.interval(noisy, CONFIDENCE)
        value = mechanism.estimate(noisy).value
        rows.append(
            (most - least, least <= (truth or 0.0) <= most, (value or 0.0) - (truth or 0.0))
        )
    widths, held, errors = map(np.array, zip(*rows, strict=True))
    range_ = high - low
    rms = float(np.sqrt(np.mean(np.square(errors)))) / range_
    return Found(float(widths.mean()) / range_, float(held.mean()), rms)


def widths(releases: int) -> bool:
    print(
        "\nThe 95 % interval of a median, in percent of the range (values: root mean square error)"
    )
    print(
        f"{'':<10}{'n·ε':>5}  {'mechanism':<10}{'width':>8}{'held':>8}{'error':>8}   before: width"
    )
    passed = True
    for data in (GAUSSIAN, LOGNORMAL):
        for signal in SIGNALS:
            mechanism = planned(ppi_of(data, "median"), signal)
            found = measured(data, "median", mechanism, releases)
            before = planned(ppi_of(data, "median", "interval"), signal)
            point = measured(data, "median", before, releases // 10)
            most = MOST_WIDE.get((data.name, signal), 1.0)
            good = found.width <= most and found.held >= LEAST_COVERAGE
            passed &= good
            print(
                f"{data.name:<10}{signal:>5}  {mechanism.name:<10}{found.width:>8.1%}"
                f"{found.held:>8.1%}{found.error:>8.1%}   {point.width:>7.1%} ± {point.error:.1%}"
                + ("" if good else f"   MISSED: at most {most:.0%}")
            )
    return passed


def any_data(releases: int) -> bool:
    print("\nCoverage of any data, at n·ε = 100")
    passed = True
    for data in ODD:
        for function in ("median", "p90"):
            mechanism = planned(ppi_of(data, function), 100)
            found = measured(data, function, mechanism, releases)
            good = found.held >= LEAST_COVERAGE - 0.015  # three deviations of 2,000 releases
            passed &= good
            print(f"{data.name:<12}{function:<8}{found.held:>7.1%}" + ("" if good else "   MISSED"))
    return passed


TARGETS = {"median": 6.0, "p90": 25.0}
"""Days; truly 4 and 14.4."""


def verdicts(releases: int) -> bool:
    print("\nFirm verdicts on lognormal waits: a median of 4 days below 6, a p90 of 14.4 below 25")
    print(f"{'':<8}{'n·ε':>5}{'before':>9}{'now':>9}{'wrong':>9}")
    passed = True
    for function, days in TARGETS.items():
        for signal in SIGNALS:
            (before, _), (now, wrong) = (
                firm(planned(ppi_of(LOGNORMAL, function, name), signal), days * DAY, number)
                for name, number in (("interval", releases // 2), (None, releases))
            )
            good = wrong <= MOST_WRONG and (signal < LEAST_DECIDING or now > before + LEAST_MORE)
            passed &= good
            print(
                f"{function:<8}{signal:>5}{before:>9.1%}{now:>9.1%}{wrong:>9.2%}"
                + ("" if good else "   MISSED")
            )
    return passed


def firm(mechanism: Mechanism, limit: float, releases: int) -> tuple[float, float]:
    """How often the verdict is firm, and how often firmly wrong."""
    rng, chance = np.random.default_rng(3), random.Random(3)  # noqa: S311 - a simulation
    target, found = Target(None, Fraction(limit)), []
    for _ in range(releases):
        values = np.clip(LOGNORMAL.draw(rng, CASES), *mechanism.ends)
        noisy = mechanism.law(values).draw(chance.randrange)
        found.append(judge(target, *mechanism.interval(noisy, CONFIDENCE)))
    decided = [verdict for verdict in found if verdict is not Verdict.UNDECIDED]
    return len(decided) / releases, decided.count(Verdict.MISSED) / releases


LIMITS = tuple(float(day) for day in (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6)) + tuple(
    float(day) for day in (7, 8, 10, 12, 14, 18, 22, 28, 35, 45)
)


def twenty_limits(releases: int) -> bool:
    print(
        "\nTwenty limits of one duration, root mean square error of a share, in points of percent"
    )
    print(f"{'n·ε':>5}{'one by one':>12}{'one set':>10}{'histogram':>11}{'gain':>7}{'held':>8}")
    passed = True
    releases = max(releases // 10, 50)
    limits = tuple(Fraction(limit * DAY) for limit in LIMITS)
    named = replace(measure_of(LOGNORMAL, "distribution"), limits=limits)
    ppi = replace(ppi_of(LOGNORMAL, "distribution"), measure=named)
    for signal in (*SIGNALS, 500):
        epsilon, rng = Fraction(signal, CASES), np.random.default_rng(5)
        chance = random.Random(5)  # noqa: S311 - a simulation
        mechanism = planned(ppi, signal)
        alone = TwoBin(UNIT_INTERVAL, epsilon / len(LIMITS), Adjacency.ADD_REMOVE, integral=True)
        contribution = Contribution("share", UNIT_INTERVAL, integral=True)
        members = joint_members(
            (PresenceClass((contribution,) * len(LIMITS), everyone=True),),
            epsilon,
            Adjacency.ADD_REMOVE,
        )
        errors: dict[str, list[float]] = {"alone": [], "set": [], "histogram": []}
        held = []
        for _ in range(releases):
            values = np.clip(LOGNORMAL.draw(rng, CASES), *mechanism.ends)
            within = np.array([values <= limit * DAY for limit in LIMITS], np.float64)
            truths = within.mean(axis=1)
            counted = mechanism.noisy_bins(mechanism.law(values).draw(chance.randrange))
            if counted is None:
                raise TypeError("no histogram")
            drawn = members[0].law(within.T).draw(chance.randrange)
            for number, truth in enumerate(truths):
                share, low, high = counted.share_within(LIMITS[number] * DAY)
                held.append(low - 1e-9 <= truth <= high + 1e-9)
                errors["histogram"].append(share - truth)
                one = alone.estimate(alone.law(within[number]).draw(chance.randrange)).value
                errors["alone"].append((one or 0.0) - truth)
                errors["set"].append((members[number].estimate(drawn).value or 0.0) - truth)
        rms = {name: 100 * float(np.sqrt(np.mean(np.square(e)))) for name, e in errors.items()}
        gain = rms["alone"] / rms["histogram"]
        # With less, the twenty answers are noise that is kept between 0 and 1: it errs no more.
        passed &= signal < LEAST_DECIDING or gain >= LEAST_GAIN
        passed &= float(np.mean(held)) >= LEAST_COVERAGE - 0.01
        print(
            f"{signal:>5}{rms['alone']:>12.1f}{rms['set']:>10.1f}{rms['histogram']:>11.2f}"
            f"{gain:>7.1f}{np.mean(held):>8.1%}"
        )
    return passed


def main() -> None:
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES
    passed = [part(releases) for part in (widths, any_data, verdicts, twenty_limits)]
    if not all(passed):
        sys.exit("a limit was missed")


if __name__ == "__main__":
    main()
