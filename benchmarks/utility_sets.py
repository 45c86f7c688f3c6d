"""Sets of PPIs: what one draw for all of them saves, against one draw for each.

    python -m benchmarks.utility_sets

By the number of means k, at a total ε of 1: n·ε times the root mean square error of a mean in the
middle of its range, drawn with seeded chances by the very mechanism that releases. Then intervals
that hold for all twenty of a set together with 95 %, and how often they do. Then the planner: in no
cell of a grid may what it takes err more than a split of ε among all. Both sides tell the same:
each mean counts what its bounds cut, alone as in a set, or none does.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np

from pappi.mechanisms import Contribution, Mechanism, PresenceClass, joint_members, mechanism_for
from pappi.planning import Plan, plan_alone, plan_set
from pappi.ppinot import Ppi, parse_catalogue
from pappi.values import CONFIDENCE, Adjacency, Bounds, Epsilon, Kind, PublicLog, Terms, Vocabulary

_HUNDRED = Bounds(Fraction(0), Fraction(100))
_MEAN = Contribution("mean", _HUNDRED, integral=False)
_ADD_REMOVE = Adjacency.ADD_REMOVE
CASES = (50, 200, 1000)
DRAWS = 3_000
WIDEST_TOGETHER, DRAWS_TOGETHER, MANY = 15.0, 400, 10_000


@dataclass(frozen=True, slots=True)
class SetSize:
    """k means in presence classes of these sizes, and the most that n·ε·RMSE may be."""

    classes: tuple[int, ...]
    limit: float | None
    everyone: bool = True

    @property
    def k(self) -> int:
        return sum(self.classes)

    @property
    def label(self) -> str:
        if len(self.classes) == 1:
            return "all values present"
        own = set(self.classes) == {1}
        return "each its own missing" if own else "+".join(map(str, self.classes))

    def members(self, epsilon: Fraction) -> tuple[Mechanism, ...]:
        classes = (PresenceClass((_MEAN,) * size, self.everyone) for size in self.classes)
        return joint_members(tuple(classes), epsilon, _ADD_REMOVE)


SIZES = (
    *(
        SetSize((k,), limit)
        for k, limit in ((1, 0.97), (2, 1.26), (6, 2.45), (10, 3.65), (20, 6.6))
    ),
    SetSize((1,) * 6, 3.3, everyone=False),
    SetSize((1,) * 20, 9.5, everyone=False),
    SetSize((10, 5, 5), None, everyone=False),
)


def error_of(size: SetSize, cases: int, epsilon: Fraction, draws: int = DRAWS) -> float:
    """n·ε·RMSE over the range, of all members together: they have one law in each class."""
    members = size.members(epsilon)
    values = np.full((cases, size.k), 50.0)
    law, chance = members[0].law(values), random.Random(1)  # noqa: S311 - reproducible figures
    squares: list[float] = []
    for _ in range(math.ceil(draws / min(size.k, 3))):
        noisy = law.draw(chance.randrange)
        # One of each class has the law of all in it.
        values_of = (member.estimate(noisy).value for member in members[:3])
        squares += [(value - 50) ** 2 for value in values_of if value is not None]
    return cases * float(epsilon) * math.sqrt(np.mean(squares)) / 100


def split_error(k: int, cases: int, epsilon: Fraction) -> float:
    alone = mechanism_for("mean", _HUNDRED, epsilon / k, _ADD_REMOVE, integral=False)
    return cases * float(epsilon) * alone.predicted_error(cases, 50.0) / 100


@dataclass(frozen=True, slots=True)
class Together:
    """Of the simultaneous intervals of a set: half their mean width, and how often all hold.

    In cases times ε, as errors are.
    """

    half: float
    held: float

    @classmethod
    def of(cls, size: SetSize, cases: int, epsilon: Fraction, draws: int) -> Together:
        members = size.members(epsilon)
        law, chance = members[0].law(np.full((cases, size.k), 50.0)), random.Random(1)  # noqa: S311
        half, held = [], 0
        for _ in range(draws):
            noisy = law.draw(chance.randrange)
            ends = [member.interval_for_all(noisy, CONFIDENCE) for member in members]
            half += [(high - low) / 2 for low, high in ends]
            held += all(low <= 50 <= high for low, high in ends)
        return cls(cases * float(epsilon) * float(np.mean(half)) / 100, held / draws)


def report_together() -> int:
    """Of so many cases that the interval is the noise alone; of fewer it is wider, see below.

    An interval reaches to means whose noise is larger than that of one in the middle.
    """
    size = next(each for each in SIZES if each.classes == (20,))
    print("\n95 % intervals that hold for all 20 together, ε = 1: half the width, in cases")
    print(f"{'n':<8}{'limit':>8}{'set':>8}{'all held':>10}")
    missed = 0
    for cases in (*CASES, MANY):
        found = Together.of(size, cases, Fraction(1), DRAWS_TOGETHER)
        limit = f"{WIDEST_TOGETHER:g}" if cases == MANY else "–"
        failed = found.held < CONFIDENCE or (cases == MANY and found.half > WIDEST_TOGETHER)
        print(f"{cases:<8}{limit:>8}{found.half:>8.2f}{found.held:>10.1%}", "  MISSED" * failed)
        missed += failed
    return missed


def report_sets() -> int:
    print("\nSets: n·ε·RMSE of a mean in the middle of its range, ε = 1 for all k together")
    heads = ("limit", *(f"n={n}" for n in CASES), "split")
    print(f"{'k':<4}{'classes':<24}" + "".join(f"{head:>8}" for head in heads))
    missed = 0
    for size in SIZES:
        found = [error_of(size, n, Fraction(1)) for n in CASES]
        limit = "–" if size.limit is None else f"{size.limit:.2f}"
        failed = size.limit is not None and max(found) > size.limit
        figures = (*found, split_error(size.k, CASES[-1], Fraction(1)))
        print(f"{size.k:<4}{size.label:<24}{limit:>8}", end="")
        print("".join(f"{each:>8.2f}" for each in figures), "  MISSED" if failed else "")
        missed += failed
    return missed + report_together() + _report_grid()


# --- the planner ------------------------------------------------------------------------------

_KINDS = ("present", "own", "mixed")
_PLACES = (0.5, 0.2, 0.02)


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """What the planner takes for k means of some kind, and what a split would be."""

    k: int
    kind: str
    counts: bool
    """Whether means count what their bounds cut."""
    cases: int
    epsilon: Epsilon
    taken: tuple[Plan, ...]
    split: tuple[Plan, ...]

    def ratio(self, place: float) -> float:
        """Error of what is taken over that of the split, where all means are at this place."""
        return _together(self.taken, self.cases, place) / _together(self.split, self.cases, place)


def planned_sets() -> Iterator[PlannedSet]:
    grid = product((1, 2, 6, 20), _KINDS, (False, True), (20, 100, 1000), ("0.1", "1", "5"))
    for k, kind, counts, cases, epsilon in grid:
        ppis, total = _means(k, kind, counts=counts), Epsilon.of(epsilon)
        log = _log(k, cases)
        alone = Epsilon(total.nano // k)
        split = tuple(plan_alone(ppi, alone, log) for ppi in ppis)
        yield PlannedSet(k, kind, counts, cases, total, plan_set(ppis, total, log), split)


def _means(k: int, kind: str, *, counts: bool) -> tuple[Ppi, ...]:
    """Every case has a count; what an attribute says, some may not have."""
    release = "" if counts else "release: {clipping: off}, "
    lines = "".join(
        f"  - {{id: m{i}, {release}bounds: [0, 1000], measure: {{mean: {{{_base(i, kind)}}}}}}}\n"
        for i in range(k)
    )
    return parse_catalogue(f"log: planned\nppis:\n{lines}").ppis


def _base(i: int, kind: str) -> str:
    missing = kind == "own" or (kind == "mixed" and i % 2)
    return f"data: x{i}" if missing else f"count: x{i} > 0"


def _log(k: int, cases: int) -> PublicLog:
    attributes = {f"x{i}": Kind.NUMBER for i in range(k)}
    return PublicLog(
        name="planned",
        first=date(2024, 1, 1),
        until=date(2025, 1, 1),
        vocabulary=Vocabulary(("A",), attributes),
        terms=Terms(expected_cases=cases),
    )


def _together(plans: tuple[Plan, ...], cases: int, place: float) -> float:
    errors = [plan.measurements[0].mechanism.predicted_error(cases, 1000 * place) for plan in plans]
    return math.sqrt(float(np.mean(np.square(errors))))


def _report_grid() -> int:
    print("\nThe planner's set against a split, error over error, by kind of presence")
    print(f"{'k':<4}{'presence':<12}{'counts':<8}", end="")
    print(f"{'joint in':>10}{'mean':>8}{'worst':>8}  in")
    found: dict[tuple[int, str, bool], list[PlannedSet]] = {}
    for each in planned_sets():
        found.setdefault((each.k, each.kind, each.counts), []).append(each)
    missed = 0
    for (k, kind, counts), sets in found.items():
        ratios = [(each.ratio(place), each, place) for each in sets for place in _PLACES]
        worst, where, place = max(ratios, key=lambda one: one[0])
        joint = sum(each.taken[0].mechanism == "joint" for each in sets)
        mean = math.exp(np.mean([math.log(ratio) for ratio, *_ in ratios]))
        failed = worst > 1.005
        print(f"{k:<4}{kind:<12}{'yes' if counts else 'no':<8}", end="")
        print(f"{joint:>5} of {len(sets):>2}{mean:>7.2f}{worst:>8.3f}", end="")
        print(f"  n={where.cases} ε={where.epsilon} at {place:g}", "  MISSED" if failed else "")
        missed += failed
    return missed


if __name__ == "__main__":
    sys.exit(int(report_sets() > 0))
