"""Sets of PPIs: one draw for all of them loses no more than their one epsilon, and faults show.

A set is audited like any mechanism: its law over neighbouring data sets, all classes and members
together. What differs is what a case can do: have the values of some presence classes and not of
others. So the data sets here hold every pattern of presence at both ends of every range; and where
a set counts what bounds cut, beyond both ends too.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from pappi.audit import (
    Audited,
    AuditReport,
    Column,
    Data,
    InTwoGroups,
    Row,
    audit_joint,
    handmade,
    steered_by,
)
from pappi.checkpoint.audits import audit_plan, subject_of
from pappi.mechanisms import (
    Contribution,
    DiscreteLaplaceLaw,
    JointLaw,
    Law,
    Loss,
    Mechanism,
    Outcome,
    PointLaw,
    PresenceClass,
    RandBelow,
    Values,
    joint_members,
)
from pappi.mechanisms.hull import BoxLaw, HullLaw, hull_score
from pappi.planning import Plan, plan_set
from pappi.ppinot import parse_catalogue
from pappi.values import (
    CASE,
    UNIT_INTERVAL,
    Adjacency,
    Bounds,
    Epsilon,
    Kind,
    Per,
    PrivacyUnit,
    Vocabulary,
)
from tests.lengths import LONG
from tests.public_logs import public_log

# `make audit` asks for many more, from all hand-made data.
SHORT = 1000
PAIRS = int(os.environ.get("PAPPI_AUDIT_PAIRS", SHORT))
EPSILON = Fraction(3, 10)
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE

HOURS = Contribution("mean", Bounds(Fraction(0), Fraction(72)), integral=False)
COST = Contribution("mean", Bounds(Fraction(-100), Fraction(10)), integral=False)
STEPS = Contribution("mean", Bounds(Fraction(15), Fraction(20)), integral=True)
ANY = Contribution("share", UNIT_INTERVAL, integral=True)
EVENTS = Contribution("sum", Bounds(Fraction(0), Fraction(3)), integral=True)
BALANCE = Contribution("sum", Bounds(Fraction(-7), Fraction(2)), integral=False)

Shape = tuple[PresenceClass, ...]


def everyone(*members: Contribution) -> PresenceClass:
    return PresenceClass(members, everyone=True)


def some(*members: Contribution) -> PresenceClass:
    return PresenceClass(members, everyone=False)


def told(member: Contribution) -> Contribution:
    return replace(member, counts_beyond=True)


SHAPES: dict[str, Shape] = {
    "one mean": (everyone(HOURS),),
    "one mean of some": (some(HOURS),),
    "two sums": (everyone(EVENTS, BALANCE),),
    "six of everyone": (everyone(HOURS, COST, STEPS, ANY, EVENTS, BALANCE),),
    "six of some": (some(HOURS, COST, STEPS, ANY, HOURS, COST),),
    "three, each of its own": (some(HOURS), some(COST), some(ANY)),
    "mixed 2+1+1": (everyone(EVENTS, ANY), some(HOURS), some(COST)),
    "one mean, told": (everyone(told(HOURS)),),
    "six, some told": (everyone(told(HOURS), COST, STEPS, ANY, told(EVENTS), told(BALANCE)),),
    "mixed, some told": (everyone(told(EVENTS), ANY), some(told(HOURS), told(COST)), some(STEPS)),
    "mixed 2+2+1+1": (everyone(BALANCE, ANY), some(HOURS, STEPS), some(COST), some(ANY)),
}
QUICK = (
    *("one mean", "six of everyone", "three, each of its own", "mixed 2+1+1"),
    *("one mean, told", "mixed, some told"),
)
NAMES = tuple(SHAPES) if PAIRS > SHORT or LONG else QUICK
OF_EVERYONE = [name for name, shape in SHAPES.items() if all(each.everyone for each in shape)]


def release_of(shape: Shape, adjacency: Adjacency, stability: int = 1) -> Mechanism:
    """As it is planned: see `planning.sets`."""
    epsilon = EPSILON / stability
    if adjacency is REPLACE and not all(each.everyone for each in shape):
        epsilon, adjacency = epsilon / 2, ADD_REMOVE
    return joint_members(shape, epsilon, adjacency)[0]


def columns_of(shape: Shape) -> tuple[Column, ...]:
    return tuple(Column(member.bounds) for each in shape for member in each.members)


def patterns(shape: Shape) -> Iterator[Row]:
    """Cases with both ends of all members, and the values of some classes only.

    Where what lies beyond is counted, also with values on both sides beyond.
    """
    counted = any(each.counts_beyond for each in shape)
    for there in itertools.product((True, False), repeat=len(shape)):
        for ends in ((0, 1), (1, 0), *(((-1, 2), (2, -1)) if counted else ())):
            yield tuple(
                Column(member.bounds).at(ends[place % 2]) if present else math.nan
                for present, each in zip(there, shape, strict=True)
                for place, member in enumerate(each.members)
            )


def starts_of(shape: Shape, columns: Sequence[Column]) -> tuple[Data, ...]:
    rows = tuple(patterns(shape))
    if PAIRS == SHORT:
        return (rows,)
    known = (data for kind in handmade(columns).values() for data in kind)
    return (rows, *((row,) for row in rows), *known)


def audited(
    shape: Shape,
    released: Audited,
    adjacency: Adjacency = ADD_REMOVE,
    *,
    unit_cases: int = 1,
    grouped: bool = False,
) -> AuditReport:
    """If it is grouped, a row ends with its group."""
    columns, starts = columns_of(shape), starts_of(shape, columns_of(shape))
    if grouped:
        columns = (*columns, Column(UNIT_INTERVAL))
        starts = tuple(tuple((*row, 1.0) for row in data) for data in starts)
    return audit_joint(
        [released],
        columns,
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=steered_by(1),
        pairs=PAIRS,
        starts=starts,
        unit_cases=unit_cases,
    )


# --- what is promised holds -------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("name", NAMES)
def test_a_set_loses_its_epsilon_and_no_more(name: str, adjacency: Adjacency) -> None:
    shape = SHAPES[name]
    report = audited(shape, release_of(shape, adjacency), adjacency)
    assert report.passed, report.failure
    assert report.worst == EPSILON
    assert report.pairs >= PAIRS


@pytest.mark.parametrize(
    ("name", "cases"), [("six of everyone", 2), *((name, 3) for name in NAMES[3:])]
)
def test_persons_with_several_cases_are_protected_by_a_part_each(name: str, cases: int) -> None:
    shape = SHAPES[name]
    report = audited(shape, release_of(shape, ADD_REMOVE, cases), unit_cases=cases)
    assert report.passed, report.failure
    assert report.worst == EPSILON
    forgotten = audited(shape, release_of(shape, ADD_REMOVE), unit_cases=cases)
    assert forgotten.worst == cases * EPSILON
    assert not forgotten.passed


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_groups_share_an_epsilon(adjacency: Adjacency) -> None:
    """A case is in one group; one that changes its group under replace is gone from one."""
    shape = (some(EVENTS, ANY), some(HOURS))
    groups = InTwoGroups((release_of(shape, adjacency),))
    report = audited(shape, groups, adjacency, grouped=True)
    assert report.passed, report.failure
    assert report.worst == EPSILON


def test_the_score_is_the_loss_that_brute_force_finds() -> None:
    """The audit's losses are in closed form; here they are looked for, point by point."""
    shape = (everyone(ANY, ANY), some(ANY))
    law, rows = release_of(shape, ADD_REMOVE).law(np.empty((0, 3))), tuple(patterns(shape))
    assert isinstance(law, HullLaw)
    points = list(itertools.product(range(-2, 3), repeat=5))
    here = np.array([hull_score(z, law.classes) for z in points])
    for row in rows:
        other = release_of(shape, ADD_REMOVE).law(np.array([row]))
        assert isinstance(other, HullLaw)
        moved = [tuple(a - b for a, b in zip(z, other.centres, strict=True)) for z in points]
        there = np.array([hull_score(z, law.classes) for z in moved])
        assert EPSILON * int(np.abs(here - there).max()) == law.loss(other)


# --- planted faults -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CountLeftOut:
    """The sums in the shape of their own hull, and beside them the numbers of cases."""

    sound: Mechanism
    noisy: bool
    name = "count left out"

    @property
    def width(self) -> int:
        return self.sound.width

    def law(self, values: Values) -> Law:
        law = self.sound.law(values)
        assert isinstance(law, HullLaw)
        halves = tuple(tuple(span // 2 for span in spans) for spans in law.classes)
        sums: list[int] = []
        numbers: list[int] = []
        start = 0
        for spans in law.classes:
            *own, number = law.centres[start : start + len(spans) + 1]
            start += len(spans) + 1
            numbers.append(number)
            sums.extend((*own, 0 if self.noisy else number))
        counts = (DiscreteLaplaceLaw(number, 1 / law.epsilon) for number in numbers)
        return JointLaw((BoxLaw(tuple(sums), halves, law.epsilon), *(counts if self.noisy else ())))


@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("name", ["one mean", "six of everyone", "mixed 2+1+1"])
def test_a_count_left_out_of_the_hull_is_caught(name: str, *, noisy: bool) -> None:
    shape = SHAPES[name]
    report = audited(shape, CountLeftOut(release_of(shape, ADD_REMOVE), noisy))
    assert report.worst == ((1 + len(shape)) * EPSILON if noisy else math.inf)
    assert not report.passed


@dataclass(frozen=True)
class BeyondLeftOut:
    """Noise as if nothing beyond the bounds were counted, and beside it that count.

    Without noise, or with noise of its own that has all of epsilon once more.
    """

    shape: Shape
    noisy: bool
    name = "beyond left out"

    @property
    def width(self) -> int:
        return sum(len(each.members) for each in self.shape)

    def law(self, values: Values) -> Law:
        (told_class,) = self.shape
        number = int(told_class.statistics(values.reshape(-1, self.width))[-2])
        members = tuple(replace(member, counts_beyond=False) for member in told_class.members)
        untold = release_of((replace(told_class, members=members),), ADD_REMOVE)
        count = DiscreteLaplaceLaw(number, 1 / untold.epsilon) if self.noisy else PointLaw(number)
        return JointLaw((untold.law(values), count))


@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("name", ["one mean, told", "six, some told"])
def test_what_lies_beyond_left_out_of_the_hull_is_caught(name: str, *, noisy: bool) -> None:
    shape = SHAPES[name]
    report = audited(shape, BeyondLeftOut(shape, noisy))
    assert report.worst == (2 * EPSILON if noisy else math.inf)
    assert not report.passed


@dataclass(frozen=True)
class CountedTwice:
    """A case beyond two bounds moves the count by two, in a hull made for one."""

    sound: Mechanism
    shape: Shape
    name = "counted twice"

    @property
    def width(self) -> int:
        return self.sound.width

    def law(self, values: Values) -> Law:
        law, rows = self.sound.law(values), values.reshape(-1, self.width)
        assert isinstance(law, HullLaw)
        (members,) = (each.members for each in self.shape)
        beyond = sum(
            int(member.lies_beyond(rows[:, i]).sum())
            for i, member in enumerate(members)
            if member.counts_beyond
        )
        *sums, _, number = law.centres
        return HullLaw((*sums, 2 * beyond - number, number), law.classes, law.epsilon)


def test_a_case_that_is_counted_for_each_bound_it_lies_beyond_is_caught() -> None:
    """One count is for any of them."""
    shape = SHAPES["six, some told"]
    report = audited(shape, CountedTwice(release_of(shape, ADD_REMOVE), shape))
    assert report.worst >= 2 * EPSILON
    assert not report.passed


@dataclass(frozen=True)
class MergedClasses:
    """Classes under one number, of those who have all values: each sum is of all who have its."""

    sound: Mechanism
    shape: Shape
    name = "merged"

    @property
    def width(self) -> int:
        return self.sound.width

    def law(self, values: Values) -> Law:
        rows = values.reshape(-1, self.width)
        members = [member for each in self.shape for member in each.members]
        sums = [int(m.places(rows[:, i]).sum()) for i, m in enumerate(members)]
        number = int((~np.isnan(rows).any(axis=1)).sum())
        spans = tuple(member.span for member in members)
        return HullLaw((*sums, number), (spans,), self.sound.epsilon)


def test_classes_merged_that_are_not_one_are_caught() -> None:
    shape = SHAPES["three, each of its own"]
    report = audited(shape, MergedClasses(release_of(shape, ADD_REMOVE), shape))
    assert report.worst == 2 * EPSILON
    assert not report.passed


def test_a_class_declared_wrongly_costs_accuracy_and_no_privacy() -> None:
    """Who has one value of a class and not another is in it all the same: its middle counts."""
    apart = SHAPES["three, each of its own"]
    merged = (some(*(member for each in apart for member in each.members)),)
    report = audited(apart, release_of(merged, ADD_REMOVE))
    assert report.passed, report.failure
    law = release_of(merged, ADD_REMOVE).law(np.array([[72.0, math.nan, math.nan]]))
    assert isinstance(law, HullLaw)
    assert (law.centres[1:], law.centres[0] > 0) == ((0, 0, 1), True)


@dataclass(frozen=True)
class TruncatedLaw(Law):
    """A table of all points up to some score, and nothing beyond."""

    centres: Outcome
    classes: tuple[tuple[int, ...], ...]
    epsilon: Fraction
    most: int

    @property
    def size(self) -> int:
        return len(self.centres)

    def score(self, outcome: Outcome) -> float:
        away = tuple(a - b for a, b in zip(outcome, self.centres, strict=True))
        score = hull_score(away, self.classes)
        return score if score <= self.most else math.inf

    def draw(self, randbelow: RandBelow) -> Outcome:
        raise NotImplementedError

    def probability(self, outcome: Outcome) -> float:
        raise NotImplementedError

    def log_ratio(self, other: Law) -> Loss:
        """Point by point: there are few enough. Both tables have the same total."""
        assert isinstance(other, TruncatedLaw)
        ranges = (range(c - self.most, c + self.most + 1) for c in self.centres)
        points = (z for z in itertools.product(*ranges) if self.score(z) < math.inf)
        worst = max(other.score(z) - self.score(z) for z in points)
        return worst * self.epsilon if worst < math.inf else math.inf


@dataclass(frozen=True)
class Truncated:
    sound: Mechanism
    name = "truncated"
    width = 1

    def law(self, values: Values) -> Law:
        law = self.sound.law(values)
        assert isinstance(law, HullLaw)
        return TruncatedLaw(law.centres, law.classes, law.epsilon, most=2)


def test_a_truncated_table_is_caught() -> None:
    """However far out it ends: what is beyond for one log is possible for its neighbour."""
    shape = (everyone(ANY),)
    columns = columns_of(shape)
    report = audit_joint(
        [Truncated(release_of(shape, ADD_REMOVE))],
        columns,
        adjacency=ADD_REMOVE,
        epsilon=EPSILON,
        draw=steered_by(1),
        pairs=1000,
        starts=[()],
    )
    assert report.worst == math.inf
    assert not report.passed


@pytest.mark.parametrize("name", ["six of everyone", "mixed 2+1+1"])
def test_an_epsilon_for_each_instead_of_all_is_caught(name: str) -> None:
    """Each member alone, as a set of its own, with all of epsilon."""
    shape = SHAPES[name]
    alone = [
        release_of((replace(each, members=(member,)),), ADD_REMOVE)
        for each in shape
        for member in each.members
    ]
    columns = columns_of(shape)
    report = audit_joint(
        alone,
        columns,
        adjacency=ADD_REMOVE,
        epsilon=EPSILON,
        draw=steered_by(1),
        pairs=PAIRS,
        starts=starts_of(shape, columns),
    )
    assert report.worst == len(alone) * EPSILON
    assert not report.passed


@pytest.mark.parametrize("name", OF_EVERYONE)
def test_noise_of_the_other_adjacency_is_caught(name: str) -> None:
    shape = SHAPES[name]
    assert audited(shape, release_of(shape, ADD_REMOVE), REPLACE).worst == 2 * EPSILON
    assert audited(shape, release_of(shape, REPLACE), ADD_REMOVE).worst == math.inf


def test_groups_at_the_full_epsilon_under_replace_are_caught() -> None:
    shape = (some(EVENTS, ANY), some(HOURS))
    groups = InTwoGroups((release_of(shape, ADD_REMOVE),))
    report = audited(shape, groups, REPLACE, grouped=True)
    assert report.worst == 2 * EPSILON


# --- what is planned ----------------------------------------------------------------------------

TOTAL = Epsilon.of("0.6")
VOCABULARY = Vocabulary(
    ("A", "B"), {"cost": Kind.NUMBER, "tag": Kind.TEXT}, {"tag": ("red", "blue")}
)
MIXED = """
log: planned
ppis:
  - {id: events, measure: {sum: {count: 'activity == "A"'}}, bounds: [0, 3]}
  - {id: any, measure: {share: {condition: 'activity == "B"'}}}
  - {id: cost, measure: {mean: {data: cost}}, bounds: [0, 500]}
  - id: paid
    measure: {mean: {data: cost}, where: {condition: 'activity == "B"'}}
    bounds: [0, 500]
  - {id: sojourn, measure: {mean: {time: {from: case start, to: case end}}},
     bounds: [0 days, 30 days]}
  - {id: longest, measure: {max: {time: {from: case start, to: case end}}},
     bounds: [0 days, 60 days]}
"""
GROUPED = """
log: planned
ppis:
  - id: events
    measure: {sum: {count: 'activity == "A"'}, by: {data: tag, values: [red, blue]}}
    bounds: [0, 3]
  - id: cost
    measure: {mean: {data: cost}, by: {data: tag, values: [red, blue]}}
    bounds: [0, 500]
  - id: with-a
    measure: {share: {condition: 'activity == "A"'}, by: {data: tag, values: [red, blue]}}
  - id: with-b
    measure: {share: {condition: 'activity == "B"'}, by: {data: tag, values: [red, blue]}}
"""
UNITS = {"cases": CASE, "persons": PrivacyUnit("who", 3, Per.LOG)}


def plans_for(catalogue: str, adjacency: Adjacency, unit: PrivacyUnit = CASE) -> tuple[Plan, ...]:
    log = public_log(VOCABULARY, adjacency=adjacency, unit=unit)
    return plan_set(parse_catalogue(catalogue).ppis, TOTAL, log)


def audited_plans(
    plans: Sequence[Plan], adjacency: Adjacency, unit: PrivacyUnit = CASE
) -> AuditReport:
    """All that a set releases, each draw once, against the total."""
    drawn = {(p.epsilon, p.measurements[0].inputs, p.mechanism): p for p in plans}
    subjects = [subject_of(plan, adjacency, unit.max_cases) for plan in drawn.values()]
    return audit_joint(
        [mechanism for subject in subjects for mechanism in subject.mechanisms],
        [column for subject in subjects for column in subject.columns],
        adjacency=adjacency,
        epsilon=TOTAL.fraction,
        draw=steered_by(1),
        pairs=PAIRS,
        starts=None if PAIRS > SHORT else [()],
        unit_cases=unit.max_cases,
    )


@pytest.mark.parametrize("catalogue", [MIXED, GROUPED], ids=["mixed", "grouped"])
@pytest.mark.parametrize(
    ("adjacency", "unit"), [(ADD_REMOVE, "cases"), (REPLACE, "cases"), (ADD_REMOVE, "persons")]
)
def test_a_planned_set_loses_at_most_its_total(
    catalogue: str, adjacency: Adjacency, unit: str
) -> None:
    plans = plans_for(catalogue, adjacency, UNITS[unit])
    assert "joint" in {plan.mechanism for plan in plans}
    report = audited_plans(plans, adjacency, UNITS[unit])
    assert report.passed, report.failure
    # What is left over of the total is less than one part in a million.
    assert report.worst > TOTAL.fraction * Fraction(999_999, 1_000_000) or unit == "persons"


def test_a_planned_set_that_gives_the_total_to_each_part_is_caught() -> None:
    plans = plans_for(MIXED, ADD_REMOVE)
    parts = {plan.epsilon for plan in plans}
    assert len(parts) == 2
    forgetful = [
        plan
        for part in (("events", "any", "cost", "paid", "sojourn"), ("longest",))
        for plan in plan_set(
            [p for p in parse_catalogue(MIXED).ppis if p.id in part],
            TOTAL,
            public_log(VOCABULARY),
        )
    ]
    report = audited_plans(forgetful, ADD_REMOVE)
    assert report.worst > TOTAL.fraction * Fraction(3, 2)
    assert not report.passed


# --- limits of one measure, by one histogram ------------------------------------------------

LIMITS = "\n".join(
    [
        "log: small\nppis:",
        *(
            f"  - {{id: within_{days}, measure: {{share: {{derive: t < {days} days, "
            "t: {time: {from: case start, to: case end}}}}}"
            for days in (1, 3, 5, 10, 20)
        ),
    ]
)


def limits(adjacency: Adjacency) -> Plan:
    log = public_log(Vocabulary(()), adjacency=adjacency)
    plans = plan_set(parse_catalogue(LIMITS).ppis, Epsilon.of("0.3"), log)
    assert len({plan.epsilon for plan in plans}) == 1
    assert {plan.measurements[0].mechanism.recorded_name for plan in plans} == {"histogram"}
    return plans[0]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_histogram_of_limits_loses_no_more_than_its_epsilon(adjacency: Adjacency) -> None:
    report = audit_plan(limits(adjacency), adjacency, PAIRS)
    assert report.passed
    assert report.worst > 0.99 * float(report.epsilon)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_histogram_at_the_epsilon_of_each_limit_is_caught(adjacency: Adjacency) -> None:
    plan = limits(adjacency)
    (part,) = plan.measurements
    greedy = replace(part.mechanism, epsilon=5 * part.mechanism.epsilon)
    fault = replace(plan, measurements=(replace(part, mechanism=greedy),))
    assert not audit_plan(fault, adjacency, PAIRS).passed
