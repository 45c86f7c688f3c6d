"""What is audited: promises, each about all that is released together about the same cases.

A subject is one promise. Mechanisms have one for each of their families, which are audited by
name; plans have theirs from the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pappi.audit.black_box import Question, standard_question
from pappi.audit.neighbours import Column, Data, handmade
from pappi.errors import UsageError
from pappi.mechanisms import (
    Family,
    JointLaw,
    Law,
    Outcome,
    Values,
    families,
    system_randbelow,
)
from pappi.values import Adjacency

ALL = "all"

# A promise that 5,000 answers can tell from twice its epsilon.
STANDARD_EPSILON = Fraction(1)

# Few enough outcomes are likely here to count each of them.
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

    Their noises are independent, so the law of all they release is the joint law, and
    their losses add up: this is where an ε that was not split shows.
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
    """Some of the values of every case, as a mechanism takes them."""
    rows = np.array([row[start:end] for row in data], dtype=np.float64)
    rows = rows.reshape(len(data), end - start)
    return rows[:, 0] if end - start == 1 else rows


class Released(Audited, Protocol):
    """What has a law, and draws."""

    def release(self, values: Values) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A mechanism, and the cases over which it is to draw."""

    mechanism: Released
    data: Data


@dataclass(frozen=True, slots=True)
class OfTheLatest:
    """What is released about the latest cases; a row ends with its place in time.

    A case more pushes another out. How many are the latest enters no law, so that a few will
    do here, and small data show what happens.
    """

    mechanisms: tuple[Audited, ...]
    latest: int = 3

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    @property
    def width(self) -> int:
        return sum(mechanism.width for mechanism in self.mechanisms) + 1

    def law(self, values: Values) -> Law:
        rows = values.reshape(-1, self.width)
        # A place that is missing is the first: which one it is does not matter here.
        place = np.nan_to_num(rows[:, -1], nan=-1.0)
        kept = rows[np.sort(np.argsort(place, kind="stable")[-self.latest :]), :-1]
        return JointRelease(self.mechanisms).law(tuple(map(tuple, kept.tolist())))

    def release(self, values: Values) -> Outcome:
        return self.law(values).draw(system_randbelow)


@dataclass(frozen=True, slots=True)
class InTwoGroups:
    """All that is released about the cases of two groups; a row ends with which one it is in.

    A case of one group has no values in the other. So a case that changes its group is a
    neighbour like any other here, and what both groups tell about it is added up. Two periods
    are like two groups where a case may change its period.
    """

    mechanisms: tuple[Audited, ...]

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    @property
    def width(self) -> int:
        return sum(mechanism.width for mechanism in self.mechanisms) + 1

    def law(self, values: Values) -> Law:
        rows = values.reshape(-1, self.width)
        second = rows[:, -1] > 0.5
        release = JointRelease(self.mechanisms)
        return JointLaw(tuple(release.law(_rows_of(rows[:, :-1], of)) for of in (~second, second)))

    def release(self, values: Values) -> Outcome:
        return self.law(values).draw(system_randbelow)


def _rows_of(rows: Values, group: NDArray[np.bool_]) -> Data:
    return tuple(map(tuple, np.where(group[:, np.newaxis], rows, np.nan).tolist()))


# --- promises ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """One promise: what is released together about a case, and for which epsilon.

    `trials` are what layer 2 draws; `questions` are what layer 3 asks the checkpoint. `ppi`
    names the PPI it is about, if it is about one, and `unit_cases` is how many cases a person
    may have.
    """

    name: str
    mechanism: str
    function: str
    adjacency: Adjacency
    epsilon: Fraction
    mechanisms: tuple[Released, ...]
    columns: tuple[Column, ...]
    trials: tuple[Trial, ...]
    questions: tuple[Question, ...] = ()
    ppi: str | None = None
    unit_cases: int = 1


def promises_of(family: Family, wanted: Fraction) -> Iterator[Subject]:
    """A mechanism for one function, over real values and over whole numbers."""
    epsilon = max(wanted, family.least_epsilon)
    for adjacency in family.adjacencies:
        question = standard_question(family.mechanism, family.function, adjacency, epsilon)
        questions = (question,) if question is not None and family.asked else ()
        # Layer 3 brings its own values: with one of the two is enough.
        yield _subject(family, epsilon, adjacency, questions, integral=False)
        yield _subject(family, epsilon, adjacency, (), integral=True)


def _subject(
    family: Family,
    epsilon: Fraction,
    adjacency: Adjacency,
    questions: tuple[Question, ...],
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
        questions=questions,
    )


def ordinary_trial(mechanism: Released, columns: tuple[Column, ...]) -> Trial:
    """Draws over cases that are spread evenly over the range."""
    (data,) = handmade(columns)["ordinary"]
    return Trial(mechanism, data)


def subjects_named(name: str, epsilon: Fraction = STANDARD_EPSILON) -> tuple[Subject, ...]:
    """The promises of one mechanism, of one function, or of all of them.

    >>> sorted({subject.function for subject in subjects_named("two-bin")})
    ['mean', 'ratio', 'share']
    """
    known = tuple(families())
    named = [f for f in known if name in (ALL, f.mechanism, f.function)]
    if not named:
        mechanisms = dict.fromkeys(family.mechanism for family in known)
        functions = dict.fromkeys(family.function for family in known)
        raise UsageError(
            f"'{name}' is neither a file nor a mechanism or function to audit",
            hint=f"name a catalogue file, 'ledger', '{ALL}', a mechanism "
            f"({', '.join(mechanisms)}) or a function ({', '.join(functions)})",
        )
    return tuple(subject for family in named for subject in promises_of(family, epsilon))
