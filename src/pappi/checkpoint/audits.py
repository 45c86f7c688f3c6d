"""Auditing a plan: all that one PPI releases about a case, against its one epsilon.

The mechanisms audited are the very objects that will draw. Of the log nothing is
needed but its declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pappi.audit import (
    AuditReport,
    BlackBoxQuery,
    Column,
    InTwoGroups,
    OfTheLatest,
    Sampler,
    Subject,
    audit_joint,
    ordinary_trial,
    standard_query,
    steered_by,
)
from pappi.planning import Measurement, Plan
from pappi.ppinot import AggregatedMeasure, Bounding
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds


def subject_of(plan: Plan, adjacency: Adjacency, unit_cases: int = 1) -> Subject:
    """A plan as something to be audited, in all layers.

    Layer 3 has no events that would give the PPI's measures their values, so it asks about
    the same functions by the same mechanisms, over cases it can make up.
    """
    columns = {part.path: tuple(_columns(part, plan)) for part in plan.measurements}
    mechanisms = tuple(part.mechanism for part in plan.measurements)
    every = tuple(column for part in plan.measurements for column in columns[part.path])
    released, chosen_by = _as_released(mechanisms, plan)
    queries = (_query(part, adjacency) for part in plan.measurements)
    return Subject(
        name=", ".join(plan.together) or plan.ppi.id,
        mechanism=plan.mechanism,
        function=" + ".join(_function(part) for part in plan.measurements),
        adjacency=adjacency,
        epsilon=plan.epsilon.fraction,
        mechanisms=released,
        columns=(*every, *chosen_by),
        trials=tuple(
            ordinary_trial(part.mechanism, columns[part.path]) for part in plan.measurements
        ),
        queries=tuple(dict.fromkeys(query for query in queries if query is not None)),
        ppi=plan.ppi.id,
        unit_cases=unit_cases,
    )


def _as_released(
    mechanisms: tuple[Sampler, ...], plan: Plan
) -> tuple[tuple[Sampler, ...], tuple[Column, ...]]:
    """What sees the cases of a log, and what it reads of them other than the measures."""
    released = mechanisms
    chosen_by: tuple[Column, ...] = ()
    if plan.groups != (None,) or plan.ppi.scope.anchor is not None:
        released, chosen_by = (InTwoGroups(released),), (Column(UNIT_INTERVAL),)
    if plan.ppi.scope.last_cases is not None:
        released, chosen_by = (OfTheLatest(released),), (*chosen_by, Column(UNIT_INTERVAL))
    return released, chosen_by


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


def _function(part: Measurement) -> str:
    """A mechanism over several measures answers their ratio, or all of them."""
    if part.mechanism.answers_for > 1:
        return "set"
    return part.inputs[0].called if len(part.inputs) == 1 else "ratio"


def _query(part: Measurement, adjacency: Adjacency) -> BlackBoxQuery | None:
    mechanism = part.mechanism
    return standard_query(mechanism.name, _function(part), adjacency, mechanism.epsilon)


def _columns(part: Measurement, plan: Plan) -> Iterator[Column]:
    """What a mechanism reads of a case: its measures, and its bucket if it is dealt into one."""
    for measure in part.inputs:
        yield Column(_bounds(measure, part), _threshold(plan))
    if part.buckets:
        yield Column(Bounds(Fraction(0), Fraction(part.buckets)))


def _bounds(measure: AggregatedMeasure, part: Measurement) -> Bounds:
    if measure.bounding is Bounding.PRIVATE and not part.buckets:
        return part.mechanism.bounds
    return measure.bounds or UNIT_INTERVAL


def _threshold(plan: Plan) -> float | None:
    target = plan.ppi.target
    limit = None if target is None else target.high if target.low is None else target.low
    return None if limit is None else float(limit)
