"""A catalogue under one total: what of it is on record, and what is left to pay for.

A set is charged once in every block, and whatever it answered stays free: any PPI of it, alone or
with others, asked for under the same total or a smaller one. Whoever wants it more exact gives it
an ε of its own, which is never answered from another's. Where only some PPIs of a set are new,
they alone are planned and charged, at the ε that makes them as exact as the set would have.

All of this follows from declarations and from the charges on record, never from data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pappi.checkpoint.queries import Release, release_in
from pappi.ledger import Charge, KeyState, Ledger, canonical_json
from pappi.planning import Plan, plan_newcomers, plan_ppi, recorded_member
from pappi.ppinot import Ppi, canonical_form
from pappi.store import LogDeclaration
from pappi.values import Epsilon

_OWN = ("ppi", "total", "epsilon", "parts")
"""What tells charges about one cell apart; all else in a question says which cases it has."""


def with_record(
    by_plan: Sequence[Sequence[Release]], ledger: Ledger, log: LogDeclaration, analyst: str
) -> list[tuple[Release, ...]]:
    """The releases of plans that share one total, each read off the record where it can be."""
    states = ledger.states(one.key for own in by_plan for one in own)
    new = [one for own in by_plan for one in own if states[one.key] is KeyState.NEW]
    if not new:
        return [tuple(own) for own in by_plan]
    record = _Record(ledger, log)
    known = {(one.plan.ppi.id, one.cell): record.answer(one) for one in new}
    unknown: dict[str, list[str]] = {}
    for one in new:
        if known[one.plan.ppi.id, one.cell] is None:
            unknown.setdefault(one.key, []).append(one.plan.ppi.id)
    newcomers = _Newcomers([own[0].plan for own in by_plan if own], log, analyst)

    def settled(one: Release) -> Release:
        if states[one.key] is not KeyState.NEW:
            return one
        found, missing = known[one.plan.ppi.id, one.cell], unknown.get(one.key, [])
        if found is not None:
            return found
        return newcomers.release(one, missing) if len(missing) < len(one.plan.together) else one

    return [tuple(map(settled, own)) for own in by_plan]


class _Record:
    """What was released under a total, by the cells it is about."""

    def __init__(self, ledger: Ledger, log: LogDeclaration) -> None:
        self._log = log
        self._charges: dict[str, list[Charge]] = {}
        self._plans: dict[tuple[str, Epsilon], Plan] = {}
        for record in ledger.charges(log.name):
            if record.released and "total" in record.charge.question:
                self._charges.setdefault(_cell(record.charge), []).append(record.charge)

    def answer(self, release: Release) -> Release | None:
        """The most exact one on record, under a total as large or larger."""
        total = release.plan.total
        if total is None or release.plan.ppi.epsilon is not None:
            return None  # who names an ε wants that, and pays for it
        charges = self._charges.get(_cell(release.charge), [])
        paid = (charge for charge in charges if _question(charge)["total"] >= total.nano)
        plans = ((self._plan(charge, release), charge) for charge in paid)
        found = [
            Release(replace(plan, total=total, apart=release.plan.apart), release.cell, charge)
            for plan, charge in plans
            if plan is not None
        ]
        return min(found, key=lambda one: one.plan.predicted_error, default=None)

    def _plan(self, charge: Charge, release: Release) -> Plan | None:
        """How the PPI is read off what a charge released, if that was about it."""
        ppi, (first, *_) = release.plan.ppi, _question(charge)["parts"]
        if first["mechanism"] == "joint":
            ((_, written),) = first["settings"]
            public = self._log.public
            return recorded_member(ppi, charge.amount, first["inputs"], written, public)
        asked = release.charge.question["parts"]
        inputs = [part["inputs"] for part in cast("list[dict[str, Any]]", asked)]
        if first["inputs"] not in (*inputs, [canonical_form(ppi.measure)]):
            return None
        plan = self._planned(ppi, charge.amount)
        same = release_in(release.cell, plan, self._log, charge.analyst).key == charge.key
        return plan if same else None

    def _planned(self, ppi: Ppi, epsilon: Epsilon) -> Plan:
        if (ppi.id, epsilon) not in self._plans:
            self._plans[ppi.id, epsilon] = plan_ppi(ppi, epsilon, self._log.public)
        return self._plans[ppi.id, epsilon]


def _question(charge: Charge) -> Mapping[str, Any]:
    return charge.question


def _cell(charge: Charge) -> str:
    """Which cases a charge is about, and how they are cut into periods and groups."""
    return canonical_json({k: v for k, v in charge.question.items() if k not in _OWN})


class _Newcomers:
    """The PPIs of a set that are not on record while others are; planned once for all cells."""

    def __init__(self, plans: Sequence[Plan], log: LogDeclaration, analyst: str) -> None:
        self._plans, self._log, self._analyst = plans, log, analyst
        self._anew: dict[tuple[str, ...], dict[str, Plan]] = {}

    def release(self, one: Release, missing: Sequence[str]) -> Release:
        """One of them, in its cell."""
        who = tuple(missing)
        if who not in self._anew:
            of_set = [plan for plan in self._plans if plan.together == one.plan.together]
            self._anew[who] = plan_newcomers(of_set, who, self._log.public)
        plan = self._anew[who][one.plan.ppi.id]
        return release_in(one.cell, plan, self._log, self._analyst)
