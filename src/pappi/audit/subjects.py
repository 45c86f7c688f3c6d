"""What is audited: promises, each about everything that is released about the same cases.

A subject is one promise. Each family of a mechanism makes one, and is audited by name; the
checkpoint makes those of plans.

A family is one mechanism for one function, tried out without a log. They are found in the registry,
by the tasks that mechanisms say they answer: so whatever can be released belongs to a family, and
no mechanism is known here by its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np

from pappi.audit.black_box import BlackBoxQuery, standard_query
from pappi.audit.neighbours import Column, Data, handmade
from pappi.errors import UsageError
from pappi.mechanisms import (
    FORMULA,
    FUNCTIONS,
    PART_OF_WHOLE,
    RATIO,
    InBuckets,
    JointLaw,
    Law,
    Limit,
    Looseness,
    Mechanism,
    Outcome,
    SumRatio,
    Task,
    Values,
    current_name,
    registered,
    system_randbelow,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

ALL = "all"

# Small enough for 5,000 answers to tell it from twice as much.
STANDARD_EPSILON = Fraction(1)

# With these, few outcomes are likely, so each can be counted.
_SMALL_EPSILON = Fraction(2)
_SMALL_VALUES = (0.0, 1.0, 2.0, 2.0)


# --- what is released together ----------------------------------------------------------------


class Audited(Protocol):
    """The part of a mechanism that the audit needs."""

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """How many values of a case it reads; more than one come as a row per case."""
        ...

    def law(self, values: Values) -> Law: ...


@dataclass(frozen=True, slots=True)
class JointRelease:
    """Several mechanisms over the same cases, each on its own values of every row.

    Their noise is independent, so everything they release has the joint law, and their
    losses add up: this is where an ε that was not split shows.
    """

    mechanisms: tuple[Audited, ...]

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    def law(self, data: Data) -> JointLaw:
        laws, start = [], 0
        for mechanism in self.mechanisms:
            end = start + mechanism.width
            laws.append(mechanism.law(columns_of(data, start, end)))
            start = end
        return JointLaw(tuple(laws))


def columns_of(data: Data, start: int, end: int) -> Values:
    """Some columns of the data, in the form a mechanism takes."""
    rows = np.array([row[start:end] for row in data], dtype=np.float64)
    rows = rows.reshape(len(data), end - start)
    return rows[:, 0] if end - start == 1 else rows


class Sampler(Audited, Protocol):
    """What the audit can also draw from."""

    def release(self, values: Values) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A mechanism, and the cases on which layer 2 draws from it."""

    mechanism: Sampler
    data: Data


@dataclass(frozen=True, slots=True)
class _WithAPlace:
    """Mechanisms over rows that end with one more number, of which their law is a function."""

    mechanisms: tuple[Audited, ...]

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    @property
    def width(self) -> int:
        return sum(mechanism.width for mechanism in self.mechanisms) + 1

    def law(self, values: Values) -> Law:
        raise NotImplementedError

    def release(self, values: Values) -> Outcome:
        return self.law(values).draw(system_randbelow)


@dataclass(frozen=True, slots=True)
class OfTheLatest(_WithAPlace):
    """What is released about the latest cases; a row ends with its place in time.

    One more case pushes another out. The number of latest cases enters no law, so a few are
    enough here, and small data sets show the effect.
    """

    latest: int = 3

    def law(self, values: Values) -> Law:
        rows = values.reshape(-1, self.width)
        # A missing place counts as the first; which one it is does not matter here.
        place = np.nan_to_num(rows[:, -1], nan=-1.0)
        latest = rows[np.sort(np.argsort(place, kind="stable")[-self.latest :]), :-1]
        return JointRelease(self.mechanisms).law(tuple(map(tuple, latest.tolist())))


@dataclass(frozen=True, slots=True)
class InTwoGroups(_WithAPlace):
    """All that is released about the cases of two groups; a row ends with which one it is in.

    A case of one group has no values in the other. So a case that changes its group is a
    neighbour like any other, and the losses of both groups add up. Two periods are like two
    groups if a case may change its period.
    """

    def law(self, values: Values) -> Law:
        rows = values.reshape(-1, self.width)
        in_second = rows[:, -1] > 0.5
        release = JointRelease(self.mechanisms)
        laws = []
        for group in (~in_second, in_second):
            of_group = np.where(group[:, np.newaxis], rows[:, :-1], np.nan)
            laws.append(release.law(tuple(map(tuple, of_group.tolist()))))
        return JointLaw(tuple(laws))


# --- families ---------------------------------------------------------------------------------

_SIGNED = Bounds(Fraction(-100), Fraction(10))
_POSITIVE = Bounds(Fraction(0), Fraction(100))
_SMALL = Bounds(Fraction(0), Fraction(2))

_FALLOFF = Fraction(3)
_FOUR = Fraction(4)
_OCTAVES = 3
_BUCKETS = 4
_MOST_IN_SUM = 10
_OF_CASES = sorted((*FUNCTIONS, "p90"))


Asked = Callable[[Task], Task]
"""What is asked, made of a plain task of the function."""


@dataclass(frozen=True, slots=True)
class Family:
    """A mechanism for one function, over real values and over whole numbers.

    `bounds` are those of its values, `small` so narrow that few outcomes are likely. `asked` says
    that the planner may answer a plain PPI of the function by it. Below the `least_epsilon` its
    worst pairs have more cases than the audit's data sets. `adjacencies` are those it is for.
    """

    mechanism: str
    function: str
    kind: type[Mechanism]
    task_of: Callable[[Bounds, Fraction, Adjacency, bool], Task]
    bounds: Bounds
    small: Bounds
    width: int
    asked: bool
    least_epsilon: Fraction
    adjacencies: tuple[Adjacency, ...]

    def make(
        self, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
    ) -> Mechanism:
        return self.kind.made_for(self.task_of(bounds, epsilon, adjacency, integral))

    @property
    def target(self) -> float:
        """The limit that those which aim at one aim at."""
        return float(_limit_within(self.bounds).value)


def _limit_within(bounds: Bounds) -> Limit:
    return Limit(bounds.low + bounds.width / 4, at_most=True)


def _value(task: Task) -> Task:
    """As a planner asks; the declared range of a sum is that of some cases."""
    low, high = min(task.bounds.low, Fraction(0)), task.bounds.high
    whole = task.integral or task.function == "share"
    return replace(
        task, integral=whole, output_range=Bounds(_MOST_IN_SUM * low, _MOST_IN_SUM * high)
    )


def _loose(task: Task) -> Task:
    return replace(task, loose=Looseness(_OCTAVES))


def _verdict(task: Task) -> Task:
    return replace(task, limit=_limit_within(task.bounds))


def _aimed(task: Task) -> Task:
    return replace(_verdict(task), falloff=_FALLOFF)


def _ratio(task: Task) -> Task:
    within = task.function == PART_OF_WHOLE
    return replace(task, ratio=SumRatio(Fraction(1), task.bounds, within=within))


def _ratio_verdict(task: Task) -> Task:
    return replace(_ratio(task), limit=Limit(Fraction(1, 3), at_most=True))


def _in_buckets(task: Task) -> Task:
    """Of a quotient, over a range that it often leaves."""
    return replace(task, in_buckets=InBuckets(_quotient, 2, _BUCKETS))


def _quotient(rows: Values) -> float | None:
    """The same in whatever order the cases come."""
    present = rows[~np.isnan(rows).any(axis=1)]
    if not len(present):
        return None
    with np.errstate(all="ignore"):
        return float(np.median(present[:, 0]) / np.median(present[:, 1]))


def _families(
    function: str,
    asks: Asked,
    plain: Asked | None = None,
    *,
    called: str = "",
    bounds: Bounds = _SIGNED,
    width: int = 1,
    asked: bool = False,
    least_epsilon: Fraction = Fraction(0),
    mechanism: str = "",
) -> Iterator[Family]:
    """All that answer a task, but for those that answer the plain one in the same way."""
    small = _SMALL
    if function == "share":
        bounds = small = UNIT_INTERVAL

    def answer(asks: Asked, adjacency: Adjacency) -> set[type[Mechanism]]:
        task = asks(Task(function, bounds, Fraction(1), adjacency, integral=False))
        return {kind for kind in registered() if kind.answers(task)}

    answered = {adjacency: answer(asks, adjacency) for adjacency in Adjacency}
    for kind in registered():
        adjacencies = tuple(adjacency for adjacency in Adjacency if kind in answered[adjacency])
        if not adjacencies or (plain and kind in answer(plain, adjacencies[0])):
            continue
        yield Family(
            mechanism or kind.name,
            called or function,
            kind,
            lambda *common: asks(Task(function, *common)),
            bounds,
            small,
            width,
            asked,
            least_epsilon,
            adjacencies,
        )


def families() -> Iterator[Family]:
    """Every mechanism that is registered, for all that it answers."""
    for function in _OF_CASES:
        yield from _families(function, _value, asked=True)
    for function in _OF_CASES:
        yield from _families(function, _aimed, _value)
    for function in _OF_CASES:
        yield from _families(function, _verdict, mechanism="decision")
    for function in sorted({*FUNCTIONS} - {"share"}):  # whose bounds are never loose
        called = f"loose {function}"
        yield from _families(function, _loose, _value, called=called, least_epsilon=_FOUR)
    ratios = partial(_families, called="ratio", bounds=_POSITIVE, width=2)
    yield from ratios(PART_OF_WHOLE, _ratio, asked=True)
    yield from ratios(RATIO, _ratio)
    yield from ratios(RATIO, _ratio_verdict, mechanism="decision")
    yield from _families(FORMULA, _in_buckets, width=3)


# --- promises ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """One promise: what is released together about a case, and for which epsilon.

    `trials` are what layer 2 draws; `queries` are what layer 3 asks the checkpoint. `ppi` is the
    id of the PPI, if it is about one, and `unit_cases` is how many cases a person may have.
    """

    name: str
    mechanism: str
    function: str
    adjacency: Adjacency
    epsilon: Fraction
    mechanisms: tuple[Sampler, ...]
    columns: tuple[Column, ...]
    trials: tuple[Trial, ...]
    queries: tuple[BlackBoxQuery, ...] = ()
    ppi: str | None = None
    unit_cases: int = 1


def promises_of(family: Family, requested: Fraction) -> Iterator[Subject]:
    """A mechanism for one function, over real values and over whole numbers."""
    epsilon = max(requested, family.least_epsilon)
    for adjacency in family.adjacencies:
        query = standard_query(family.mechanism, family.function, adjacency, epsilon)
        queries = (query,) if query is not None and family.asked else ()
        # Layer 3 brings its own values, so one of the two subjects is enough for it.
        yield _subject(family, epsilon, adjacency, queries, integral=False)
        yield _subject(family, epsilon, adjacency, (), integral=True)


def _subject(
    family: Family,
    epsilon: Fraction,
    adjacency: Adjacency,
    queries: tuple[BlackBoxQuery, ...],
    *,
    integral: bool,
) -> Subject:
    bounds, width = family.bounds, family.width
    released = family.make(bounds, epsilon, adjacency, integral=integral)
    small = family.make(family.small, _SMALL_EPSILON, adjacency, integral=True)
    columns = (Column(bounds, family.target),) * width
    kind = "whole numbers" if integral else "numbers"
    return Subject(
        name=f"{family.function} of {kind} in [{bounds.low}, {bounds.high}]",
        mechanism=family.mechanism,
        function=family.function,
        adjacency=adjacency,
        epsilon=epsilon,
        mechanisms=(released,),
        columns=columns,
        trials=(
            ordinary_trial(released, columns),
            Trial(small, tuple((value,) * width for value in _SMALL_VALUES)),
        ),
        queries=queries,
    )


def ordinary_trial(mechanism: Sampler, columns: tuple[Column, ...]) -> Trial:
    """Draws over cases that are spread evenly over the range."""
    (data,) = handmade(columns)["ordinary"]
    return Trial(mechanism, data)


def subjects_named(name: str, epsilon: Fraction = STANDARD_EPSILON) -> tuple[Subject, ...]:
    """The promises of one mechanism, of one function, or of all of them.

    >>> sorted({subject.function for subject in subjects_named("two-bin")})
    ['mean', 'ratio', 'share']
    """
    name, available = current_name(name), tuple(families())
    matching = [f for f in available if name in (ALL, f.mechanism, f.function)]
    if not matching:
        mechanisms = dict.fromkeys(family.mechanism for family in available)
        functions = dict.fromkeys(family.function for family in available)
        raise UsageError(
            f"'{name}' is neither a file nor a mechanism or function to audit",
            hint=f"name a catalogue file, 'ledger', '{ALL}', a mechanism "
            f"({', '.join(mechanisms)}) or a function ({', '.join(functions)})",
        )
    return tuple(subject for family in matching for subject in promises_of(family, epsilon))
