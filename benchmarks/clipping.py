"""What bounds cut off: whether it is told truly, and whether it still misleads.

    python -m benchmarks.clipping [RELEASES]

1. Coverage: of values of which bounds cut 0 to 36 %, how often the interval holds what it is
   named for, the mean of values cut at the bound, and how often that of the share beyond does.
2. A bound that hides the truth: values with longer and longer tails, a bound that cuts 5 to 36 %
   of them, and a target between the clipped mean and the true one; or values that are all short but
   for a few, ten widths beyond. Each of a hundred logs is drawn anew. How often a firm *met* is
   told, which is wrong, by the interval alone and by the rule of `mechanisms.beyond`: at most 1 %
   where a third is cut, at most 5 % where few are; of the longest tails, 10 % where a single period
   has to tell. That a few lie far out is noticed if there are enough of them (`NOTICED`); where
   there are fewer, it is shown as it is.
3. The same of one month among eleven of which bounds cut nothing: at most 5 %.
4. What the rule costs where bounds cut nothing: how often *met* is firm, by the distance of the
   target.
5. What the count costs: the margins of k means with it, and without.

Every release is drawn by the planned mechanism; a series has twelve periods. Fails where a limit
is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import add
from statistics import NormalDist

import numpy as np

from pappi.checkpoint.answers import answer_of
from pappi.ledger import KeyState
from pappi.mechanisms import Contribution, Floats, PresenceClass, TwoBin, joint_members
from pappi.planning import Plan, plan_alone
from pappi.ppinot import Ppi, parse_catalogue
from pappi.store import LogDeclaration
from pappi.values import (
    Adjacency,
    Answer,
    Bounds,
    Epsilon,
    Period,
    PublicLog,
    Terms,
    Verdict,
    Vocabulary,
    judge,
)

RELEASES = 2_000
LEAST_COVERAGE = 0.93
MOST_WRONG, MOST_WRONG_OF_MANY, MOST_WRONG_OF_LONGEST = 0.05, 0.01, 0.1
LOGS = 100
NOTICED = 25
"""Cases that lie far out, in all periods, times ε: with fewer, nobody can be sure that some do."""
EPSILON = Epsilon.of("0.5")
SIGNALS = (10, 50, 100, 500)
"""Cases times ε, in one period."""
CUT = (0.0, 0.01, 0.05, 0.36)
PERIODS = 12
WIDTH = 60.0
MARCH = Period(date(2024, 3, 1), date(2024, 4, 1))

Tail = Callable[[Floats], Floats]
"""Quantiles of values above 0."""

_NORMAL = NormalDist()


def lognormal(deviation: float) -> Tail:
    return lambda places: np.array([np.exp(deviation * _NORMAL.inv_cdf(p)) for p in places])


TAILS: dict[str, Tail] = {
    "exponential": lambda places: np.asarray(-np.log1p(-places)),
    "lognormal, 1": lognormal(1.0),
    "lognormal, 1.5": lognormal(1.5),
    "lognormal, 2": lognormal(2.0),
}
LONGEST = "lognormal, 2"
FEW_FAR, FAR = "short, a few far", 11.0


@dataclass(frozen=True, slots=True)
class Cases:
    """Values of which a bound of `WIDTH` cuts a given share, and what is true of them."""

    values: Floats

    @classmethod
    def of(cls, tail: Tail, number: int, cut: float) -> Cases:
        values = tail((np.arange(number) + 0.5) / number)
        beyond = round(cut * number)
        kept = np.sort(values)
        bound = kept[-1] * 1.2 if not beyond else (kept[-beyond] + kept[-beyond - 1]) / 2
        return cls(values * WIDTH / bound)

    @classmethod
    def drawn(cls, tail: str, number: int, cut: float, dice: np.random.Generator) -> Cases:
        """Of a log by chance: about this share lies beyond."""
        if tail == FEW_FAR:
            values = np.where(dice.random(number) < cut, FAR * WIDTH, dice.uniform(0, 0.6, number))
            return cls(np.where(values > 1, values, values * WIDTH))
        bound = float(TAILS[tail](np.array([1 - cut]))[0])
        return cls(TAILS[tail](dice.random(number)) * WIDTH / bound)

    @property
    def clipped(self) -> float:
        return float(np.minimum(self.values, WIDTH).mean())

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def share(self) -> float:
        return float((self.values > WIDTH).mean())


# --- what is planned, and drawn -----------------------------------------------------------------


def asked(target: float | None = None) -> Ppi:
    aim = "" if target is None else f"\n    target: below {target:.6f}"
    text = f"""
log: cut
ppis:
  - id: mean
    measure: {{mean: {{count: true}}}}
    bounds: [0, {WIDTH:g}]{aim}
"""
    return parse_catalogue(text).ppis[0]


LOG = LogDeclaration(
    data="cut",
    table="cut",
    public=PublicLog(
        name="cut",
        first=date(2024, 1, 1),
        until=date(2025, 1, 1),
        vocabulary=Vocabulary(("A",)),
        terms=Terms(expected_cases=100),
    ),
)


def planned(target: float | None = None) -> Plan:
    return plan_alone(asked(target), EPSILON, LOG.public)


def series(plan: Plan, periods: Sequence[Cases]) -> list[Answer]:
    """Answers about periods with these cases, as one request has them."""
    mechanism = plan.measurements[0].mechanism
    drawn = [mechanism.release(cases.values) for cases in periods]
    counted = [each for noisy in drawn if (each := mechanism.beyond(noisy)) is not None]
    pool = reduce(add, counted)
    return [answer_of(plan, LOG, MARCH, None, [noisy], KeyState.RELEASED, pool) for noisy in drawn]


def holds(answer: Answer, value: float) -> bool:
    low, high = answer.interval.low, answer.interval.high
    return low is not None and high is not None and low - 1e-9 <= value <= high + 1e-9


# --- the four tables ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coverage:
    cut: float
    signal: int
    of_mean: float
    of_share: float

    @property
    def passed(self) -> bool:
        return min(self.of_mean, self.of_share) >= LEAST_COVERAGE


def coverage(cut: float, signal: int, releases: int) -> Coverage:
    cases = Cases.of(TAILS["lognormal, 1"], round(signal / float(EPSILON)), cut)
    answers = series(planned(), [cases] * releases)
    shares = [each.beyond.interval for each in answers if each.beyond is not None]
    told = [(each.low or 0.0) <= cases.share <= (each.high or 0.0) for each in shares]
    means = [holds(answer, cases.clipped) for answer in answers]
    return Coverage(cut, signal, float(np.mean(means)), float(np.mean(told)))


@dataclass(frozen=True, slots=True)
class Hidden:
    """How often *met* is told of a mean that misses its target."""

    tail: str
    cut: float
    signal: int
    periods: int
    before: float
    after: float

    @property
    def limit(self) -> float:
        if self.cut > 0.3:
            return MOST_WRONG_OF_MANY
        if self.tail == FEW_FAR:
            return MOST_WRONG if self.cut * self.signal * self.periods >= NOTICED else 1.0
        longest = self.tail == LONGEST and self.periods == 1
        return MOST_WRONG_OF_LONGEST if longest else MOST_WRONG

    @property
    def passed(self) -> bool:
        return self.after <= self.limit


def hidden(tail: str, cut: float, signal: int, periods: int, releases: int) -> Hidden:
    """With the target where the clipped mean is well below, and the true one above."""
    number, dice = round(signal / float(EPSILON)), np.random.default_rng(7)
    logs = min(LOGS, releases // periods)
    told = list[tuple[float, float]]()
    for _ in range(logs):
        cases = Cases.drawn(tail, number, cut, dice)
        if cases.mean == cases.clipped:
            continue
        plan = planned((cases.clipped + min(cases.mean, WIDTH)) / 2)
        rounds = range(releases // (logs * periods))
        told.append(_met([each for _ in rounds for each in series(plan, [cases] * periods)], plan))
    before, after = (float(np.mean(each)) for each in zip(*told, strict=True))
    return Hidden(tail, cut, signal, periods, before, after)


def _met(answers: Sequence[Answer], plan: Plan) -> tuple[float, float]:
    """How often the target is met for sure, by the interval alone and by the verdict."""
    target = plan.ppi.target
    if target is None:
        raise ValueError("without a target nothing is judged")
    ends = [(each.interval.low or 0.0, each.interval.high or 0.0) for each in answers]
    alone = [judge(target, *each) is Verdict.MET for each in ends]
    firm = [answer.verdict is Verdict.MET for answer in answers]
    return float(np.mean(alone)), float(np.mean(firm))


FAR_MONTHS = ((0.1, 200), (0.15, 100), (0.3, 50), (0.05, 400))
"""Shares that lie far out, and cases times ε, of the one month."""


def hidden_in_one(share: float, signal: int, releases: int) -> Hidden:
    """Of one month among others of which bounds cut nothing, with a target as above."""
    number, dice = round(signal / float(EPSILON)), np.random.default_rng(7)
    plain, cut = (Cases.drawn(FEW_FAR, number, part, dice) for part in (0.0, share))
    plan = planned((cut.clipped + min(cut.mean, WIDTH)) / 2)
    months = [plain] * (PERIODS - 1) + [cut]
    told = [series(plan, months)[-1] for _ in range(releases // PERIODS)]
    return Hidden(FEW_FAR, share, signal, PERIODS, *_met(told, plan))


def lost(signal: int, periods: int, distance: float, releases: int) -> Hidden:
    """The same where bounds cut nothing, and the target is so many widths away."""
    cases = Cases.of(TAILS["lognormal, 1"], round(signal / float(EPSILON)), 0.0)
    plan = planned(cases.clipped + distance * WIDTH)
    found = [each for _ in range(releases // periods) for each in series(plan, [cases] * periods)]
    return Hidden("nothing cut", distance, signal, periods, *_met(found, plan))


@dataclass(frozen=True, slots=True)
class Cost:
    members: int
    epsilon: Fraction
    untold: float
    told: float


def cost(members: int, epsilon: Fraction, cases: int = 500) -> Cost:
    """Margins of a mean at 95 %, as a share of its bounds: with the count, and without.

    One mean without it is released by two bins.
    """
    bounds, adjacency = Bounds(Fraction(0), Fraction(1)), Adjacency.ADD_REMOVE
    mean = Contribution("mean", bounds, integral=False, counts_beyond=True)
    margins = []
    for told in (False, True):
        class_ = PresenceClass((replace(mean, counts_beyond=told),) * members, everyone=True)
        mechanism = joint_members((class_,), epsilon, adjacency)[0]
        if members == 1 and not told:
            mechanism = TwoBin(bounds, epsilon, adjacency, integral=False)
        law = mechanism.error_law(cases, None)
        if law is None:
            raise ValueError("a mean has a law of its error")
        margins.append(law.within(0.95))
    return Cost(members, epsilon, *margins)


# --- printed ------------------------------------------------------------------------------------


def planted() -> Iterator[tuple[str, float, int, int]]:
    """Tails, shares, signals and periods: where the bound cuts a third, every one."""
    for tail, signal, periods in product(TAILS, SIGNALS, (1, PERIODS)):
        yield tail, 0.36, signal, periods
    for tail, cut in product(TAILS, (0.05, 0.15)):
        yield tail, cut, 100, PERIODS
        for signal in (20, 50, 100):
            yield tail, cut, signal, 1
    for cut, (signal, periods) in product((0.02, 0.05), ((100, PERIODS), (100, 1), (500, 1))):
        yield FEW_FAR, cut, signal, periods


def main() -> None:
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES
    failed = 0
    print("Coverage of the mean of values cut at the bound, and of the share beyond")
    for cut, signal in product(CUT, SIGNALS):
        found = coverage(cut, signal, releases)
        failed += not found.passed
        print(f"  {cut:4.0%} cut, n·ε {signal:3}: {found.of_mean:6.1%} {found.of_share:6.1%}")
    print("Firm but wrong: met by the interval alone, and by the verdict")
    for planted_bound in planted():
        wrong = hidden(*planted_bound, releases)
        failed += not wrong.passed
        where = (
            f"{wrong.tail:15} {wrong.cut:4.0%} cut, n·ε {wrong.signal:3}, {wrong.periods:2} periods"
        )
        print(f"  {where}: {wrong.before:6.1%} {wrong.after:6.2%}{'' if wrong.passed else '  !'}")
    print("Firm but wrong of one month, the others being as short as most")
    for share, signal in FAR_MONTHS:
        wrong = hidden_in_one(share, signal, PERIODS * releases // 2)
        failed += wrong.after > MOST_WRONG
        where = f"{share:.0%} far out, n·ε {signal:3}"
        print(f"  {where:25}: {wrong.before:6.1%} {wrong.after:6.2%}")
    print("Firm and right where nothing is cut: by the interval alone, and by the verdict")
    for signal, periods, distance in product((50, 100, 500), (1, PERIODS), (0.05, 0.1, 0.2)):
        kept = lost(signal, periods, distance, releases)
        where = f"n·ε {signal:3}, {periods:2} periods, {distance:.0%} of the width away"
        print(f"  {where:45}: {kept.before:6.1%} {kept.after:6.1%}")
    print("Margin at 95 %, as a share of the bounds, of 500 cases: without the count, and with it")
    for epsilon, members in product((Fraction(1, 10), Fraction(1)), (1, 2, 6, 20)):
        price = cost(members, epsilon)
        more = price.told / price.untold - 1
        said = f"ε {float(epsilon):g}, {members:2} means: ± {price.untold:.4f}, ± {price.told:.4f}"
        print(f"  {said} ({more:+.0%})")
    if failed:
        sys.exit(f"{failed} cells miss their limit")


if __name__ == "__main__":
    main()
