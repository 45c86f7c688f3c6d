"""What is asked, in a form that can be hashed: same question, same key, same answer.

A question is about the functions that carry noise. Names, targets and formulas
above them do not enter, so two PPIs that differ in those alone share a release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pappi.budget.accounts import Account, Charge
from pappi.budget.chain import canonical_json, canonical_object
from pappi.mechanisms.laplace import LaplaceMean
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.two_bin import TwoBin
from pappi.planning.cells import Cell, Horizon, cells_of
from pappi.planning.plan import Plan
from pappi.ppinot.canonical import canonical
from pappi.store.declarations import LogDeclaration
from pappi.values.plain_data import JSON

# Changes when a mechanism's law or the meaning of a measure does: older releases
# then answer older questions only.
SEMANTICS = 3


@dataclass(frozen=True, slots=True)
class CellQuestion:
    """One cell of one PPI's plan: charged once, released once."""

    plan: Plan
    cell: Cell
    charge: Charge

    @property
    def key(self) -> str:
        return self.charge.key


def questions_of(
    plan: Plan, log: LogDeclaration, analyst: str, horizon: Horizon | None = None
) -> tuple[CellQuestion, ...]:
    """What a plan asks within a log's horizon, or within another: what is yet to come."""
    question = _question(plan, log)
    # Most of it is the same for every cell, and is written once.
    written = {name: canonical_json(part) for name, part in question.items()}
    cells = cells_of(plan.ppi.scope, horizon or log.horizon)
    charges = ((cell, _charge(plan, cell, log, question, written, analyst)) for cell in cells)
    return tuple(CellQuestion(plan, cell, charge) for cell, charge in charges)


def _frontier(plan: Plan, cell: Cell, log: LogDeclaration) -> dict[str, JSON]:
    """How far the log was sealed, if the answer to the same question will change with that."""
    goes_on = any(block.end > log.until for block in cell.blocks)
    if plan.ppi.scope.anchor is None and not goes_on:
        return {}
    return {"sealed": log.until.isoformat()}


def _charge(
    plan: Plan,
    cell: Cell,
    log: LogDeclaration,
    question: Mapping[str, JSON],
    written: Mapping[str, str],
    analyst: str,
) -> Charge:
    """Who asks, and under which name, goes on record; the key does not depend on it."""
    periods: JSON = [canonical(period) for period in cell.periods]
    own = {**_frontier(plan, cell, log), "periods": periods}
    asked = canonical_object({**written, **{name: canonical_json(own[name]) for name in own}})
    key = hashlib.sha256(asked.encode("ascii")).hexdigest()
    accounts = tuple(Account(log.name, block.label) for block in cell.blocks)
    return Charge(key, accounts, plan.epsilon, {"ppi": plan.ppi.id, **question, **own}, analyst)


def _question(plan: Plan, log: LogDeclaration) -> dict[str, JSON]:
    return {
        "semantics": SEMANTICS,
        "log": log.name,
        "data": log.data,
        "timezone": log.timezone,
        "anchor": str(log.anchor),
        "unit": log.unit.to_json(),
        "adjacency": str(log.adjacency),
        "epsilon": plan.epsilon.nano,
        "groups": list(plan.groups),
        # Which cases a period has; what they are cut into is in the periods themselves.
        "own_anchor": canonical(plan.ppi.scope.anchor),
        "last_cases": plan.ppi.scope.last_cases,
        "cases": canonical(plan.ppi.scope.cases),
        "parts": [
            {
                "inputs": canonical(part.inputs),
                "mechanism": _drawn_by(part.mechanism),
                "epsilon": str(part.mechanism.epsilon),
                "settings": canonical(part.settings),
            }
            for part in plan.parts
        ],
    }


def _drawn_by(mechanism: Mechanism) -> str:
    """The mechanism by whose law it is drawn: a Laplace mean is a two-bin mean, under its name."""
    return TwoBin.name if isinstance(mechanism, LaplaceMean) else mechanism.name
