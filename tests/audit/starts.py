"""The data sets an exact audit begins with: all that are hand-made, or some of every kind.

The audit tries every neighbour of each before it counts how many pairs were asked for, so they
are what it spends its time on. `make test` takes some of every kind, and finds every planted
fault with them; `make long` and `make audit` take all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pappi.audit import AuditReport, Column, Data, Family, audit_joint, handmade, steered_by
from pappi.checkpoint.audits import subject_of
from pappi.planning import Plan
from pappi.values import Adjacency
from tests.lengths import LONG

FULL = LONG or "PAPPI_AUDIT_PAIRS" in os.environ
FEWEST = 1_000  # with less no audit passes
PAIRS = int(os.environ.get("PAPPI_AUDIT_PAIRS", 2 * FEWEST if FULL else FEWEST))
EVERY = 8  # one in so many of a kind with a data set for each corner, of the others all


def starts_of(kind: str, columns: Sequence[Column]) -> tuple[Data, ...]:
    """The last two always: blocks of cases, for what depends on their order."""
    every = handmade(columns)[kind]
    return every if FULL or len(every) < EVERY else (*every[::EVERY], *every[-2:])


def in_turn(families: Iterable[Family], *, full: bool, first: int = 0) -> list[Any]:
    """Rows of families and adjacencies: in full all, in short one or the other, in turn."""
    return [
        pytest.param(family, adjacency, id=f"{family.mechanism}-{family.function}-{adjacency}")
        for number, family in enumerate(families)
        for place, adjacency in enumerate(family.adjacencies)
        if full or place == (first + number) % len(family.adjacencies)
    ]


def starts_over(columns: Sequence[Column]) -> list[Data]:
    return [data for kind in handmade(columns) for data in starts_of(kind, columns)]


def audited(plan: Plan, adjacency: Adjacency) -> AuditReport:
    """`audit_plan` from the starts of this length."""
    subject = subject_of(plan, adjacency)
    return audit_joint(
        subject.mechanisms,
        subject.columns,
        adjacency=adjacency,
        epsilon=subject.epsilon,
        draw=steered_by(1),
        pairs=PAIRS,
        starts=starts_over(subject.columns),
    )
