"""Auditing a plan: all that one PPI releases about a case, against its one epsilon.

The mechanisms audited are the very objects that will draw. Of the log nothing is
needed but its declarations.
"""

from __future__ import annotations

from pappi.audit.datasets import Column
from pappi.audit.exact import AuditReport, audit_joint
from pappi.audit.steering import steered_by
from pappi.planning.plan import Plan
from pappi.ppinot.model import AggregatedMeasure
from pappi.values.bounds import UNIT_INTERVAL
from pappi.values.privacy import Adjacency


def audit_plan(plan: Plan, adjacency: Adjacency, pairs: int, seed: int = 1) -> AuditReport:
    """The worst loss over neighbouring cases, all functions of the PPI taken together."""
    return audit_joint(
        [part.mechanism for part in plan.parts],
        [_column(m, plan) for part in plan.parts for m in part.inputs],
        adjacency=adjacency,
        epsilon=plan.epsilon.fraction,
        draw=steered_by(seed),
        pairs=pairs,
    )


def _column(measure: AggregatedMeasure, plan: Plan) -> Column:
    target = plan.ppi.target
    limit = None if target is None else target.high if target.low is None else target.low
    return Column(measure.bounds or UNIT_INTERVAL, None if limit is None else float(limit))
