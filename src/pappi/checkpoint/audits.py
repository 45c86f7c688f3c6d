"""Auditing a plan: all that one PPI releases about a case, against its one epsilon.

The mechanisms audited are the very objects that will draw. Of the log nothing is
needed but its declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pappi.audit.datasets import Column
from pappi.audit.exact import AuditReport, audit_joint
from pappi.audit.joint import JointRelease
from pappi.audit.neighbours import Data
from pappi.audit.questions import Question, standard_question
from pappi.audit.steering import steered_by
from pappi.audit.subjects import Subject, ordinary_trial
from pappi.mechanisms.laws import JointLaw, Law, Outcome
from pappi.mechanisms.mechanism import Mechanism, Values
from pappi.mechanisms.noise import system_randbelow
from pappi.planning.parts import Part
from pappi.planning.plan import Plan
from pappi.ppinot.model import AggregatedMeasure, Bounding
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency


def subject_of(plan: Plan, adjacency: Adjacency, unit_cases: int = 1) -> Subject:
    """A plan as something to be audited, in all layers.

    Layer 3 has no events that would give the PPI's measures their values, so it asks about
    the same functions by the same mechanisms, over cases it can make up.
    """
    columns = {part.path: tuple(_columns(part, plan)) for part in plan.parts}
    mechanisms = tuple(part.mechanism for part in plan.parts)
    every = tuple(column for part in plan.parts for column in columns[part.path])
    released, chosen_by = _as_released(mechanisms, plan)
    questions = (_question(part, adjacency) for part in plan.parts)
    return Subject(
        name=plan.ppi.id,
        mechanism=plan.mechanism,
        function=" + ".join(_function(part) for part in plan.parts),
        adjacency=adjacency,
        epsilon=plan.epsilon.fraction,
        mechanisms=released,
        columns=(*every, *chosen_by),
        trials=tuple(ordinary_trial(part.mechanism, columns[part.path]) for part in plan.parts),
        questions=tuple(dict.fromkeys(q for q in questions if q is not None)),
        ppi=plan.ppi.id,
        unit_cases=unit_cases,
    )


def _as_released(
    mechanisms: tuple[Mechanism, ...], plan: Plan
) -> tuple[tuple[Mechanism, ...], tuple[Column, ...]]:
    """What sees the cases of a log, and what it reads of them besides the measures."""
    released: tuple[Any, ...] = mechanisms
    chosen_by: tuple[Column, ...] = ()
    if plan.groups != (None,) or plan.ppi.scope.anchor is not None:
        released, chosen_by = (InTwoGroups(released),), (Column(UNIT_INTERVAL),)
    if plan.ppi.scope.last_cases is not None:
        released, chosen_by = (OfTheLatest(released),), (*chosen_by, Column(UNIT_INTERVAL))
    return released, chosen_by


@dataclass(frozen=True, slots=True)
class OfTheLatest:
    """What is released about the latest cases; a row ends with its place in time.

    A case more pushes another out. How many are the latest enters no law, so that a few will
    do here, and small data show what happens.
    """

    mechanisms: tuple[Mechanism, ...]
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

    mechanisms: tuple[Mechanism, ...]

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


def audit_plan(plan: Plan, adjacency: Adjacency, pairs: int, seed: int = 1) -> AuditReport:
    """The worst loss over neighbouring cases, all functions of the PPI taken together."""
    subject = subject_of(plan, adjacency)
    return audit_joint(
        subject.mechanisms,
        subject.columns,
        adjacency=adjacency,
        epsilon=subject.epsilon,
        draw=steered_by(seed),
        pairs=pairs,
    )


def _function(part: Part) -> str:
    """A mechanism over several measures answers their ratio."""
    return part.inputs[0].called if len(part.inputs) == 1 else "ratio"


def _question(part: Part, adjacency: Adjacency) -> Question | None:
    mechanism = part.mechanism
    return standard_question(mechanism.name, _function(part), adjacency, mechanism.epsilon)


def _columns(part: Part, plan: Plan) -> Iterator[Column]:
    """What a mechanism reads of a case: its measures, and its bucket if it is dealt into one."""
    for measure in part.inputs:
        yield Column(_bounds(measure, part), _threshold(plan))
    if part.buckets:
        yield Column(Bounds(Fraction(0), Fraction(part.buckets)))


def _bounds(measure: AggregatedMeasure, part: Part) -> Bounds:
    if measure.bounding is Bounding.PRIVATE and not part.buckets:
        return part.mechanism.bounds
    return measure.bounds or UNIT_INTERVAL


def _threshold(plan: Plan) -> float | None:
    target = plan.ppi.target
    limit = None if target is None else target.high if target.low is None else target.low
    return None if limit is None else float(limit)
