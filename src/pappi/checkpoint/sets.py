"""What of a catalogue is on record, and what is left to pay for.

PPIs that share a draw are charged as one, and whatever it answered stays free: any PPI of it, alone
or with others, at an ε up to what it paid for its part of the draw; under a total also if that is
no larger than the total it was released under. Whoever wants it more exact names a larger ε, and
pays for a release of its own. What was released alone is as free, at the same ε. Who names no ε
takes what is on record if it decides, or errs hardly more than what would be planned.

What is not on record is planned as if nothing else had been asked: newcomers share a draw among
themselves, so that no block pays more than for each PPI by itself.

A draw that is charged or reserved but not on record yet can be completed by whoever asks for all
that it answers; part of it cannot be drawn without the rest.

All of this follows from declarations and from the charges on record, never from data. A request
finds the same answers again, whatever is released later: what came first on record is taken, and
that only ever grows at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pappi.checkpoint.queries import Derived, Known, Query, Release
from pappi.errors import NotReleasable
from pappi.ledger import Account, Charge, KeyState, Ledger, canonical_json
from pappi.planning import (
    EACH,
    Cell,
    Plan,
    Rules,
    as_if_uncut,
    is_enough,
    plan_alone,
    plan_each,
    plan_newcomers,
    plan_ppi,
    recorded_member,
)
from pappi.ppinot import Aggregation, Ppi, aggregated_measures, canonical_form
from pappi.store import LogDeclaration
from pappi.values import ZERO, Epsilon

_HARDLY_MORE = 1.25
_RANKED = (Aggregation.MEDIAN, Aggregation.PERCENTILE, Aggregation.DISTRIBUTION)
_OWN = ("ppi", "total", "each", "epsilon", "parts")
"""What tells charges about one cell apart; all else in a query says which cases it has."""


def with_record(
    by_plan: Sequence[Sequence[Release]],
    ledger: Ledger,
    sets: Mapping[Account, Sequence[int]],
    log: LogDeclaration,
    analyst: str,
    derive: Callable[[Release], Derived | None],
) -> list[tuple[Known, ...]]:
    """The releases of a catalogue, each read off the record where it can be.

    `sets` are the entries about sets of PPIs, as the registry has them. What is not on record may
    still follow from it, as `derive` tells.
    """
    releases = [release for own in by_plan for release in own]
    states = ledger.states(release.key for release in releases)
    new = [release for release in releases if states[release.key] is KeyState.NEW]
    # Less ε than planned may have done for these, before their own query was paid by another.
    easy = [each for each in releases if each.plan.because or each.plan.total is not None]
    charged = ledger.charged_at(release.key for release in easy)
    earlier = [release for release in easy if release.key in charged]
    if not new and not earlier:
        return [tuple(own) for own in by_plan]
    plans = [own[0].plan for own in by_plan if own]
    record = _Record(plans, ledger, sets, log, analyst)
    # A block that nothing was charged to, or set aside in, has nothing on record.
    used = ledger.used(release.charge.accounts[0] for release in (*new, *earlier))
    answers: dict[tuple[str, str], Known | None] = {
        (release.plan.ppi.id, release.key): record.answer(release, charged.get(release.key))
        if used[release.charge.accounts[0]] > ZERO
        else None
        for release in (*new, *earlier)
    }
    together: dict[str, list[Plan]] = {}
    for release in new:
        asked = release.plan.ppi.id, release.key
        answers[asked] = answers[asked] or derive(release)
        together.setdefault(release.key, []).append(release.plan)

    def settled(release: Release) -> Known:
        answer = answers.get((release.plan.ppi.id, release.key))
        if answer is not None or states[release.key] is not KeyState.NEW:
            return answer or release
        members = together[release.key]
        missing = [plan for plan in members if answers[plan.ppi.id, release.key] is None]
        return (
            release if len(missing) == len(members) else record.newcomer(release, members, missing)
        )

    return [tuple(map(settled, own)) for own in by_plan]


@dataclass(frozen=True, slots=True)
class _OnRecord:
    """A charge or reservation, and how far it has come."""

    charge: Charge
    state: KeyState
    released_at: int = 0

    def rank(self, analyst: str) -> tuple[int, int]:
        """What is taken first: nothing that was set aside for the asker stays there for ever."""
        if self.state is KeyState.RESERVED:
            return (0 if self.charge.analyst == analyst else 3), 0
        return (1, self.released_at) if self.state is KeyState.RELEASED else (2, 0)


class _Record:
    """What a catalogue can be read off, by the cells it is about; and who is new."""

    def __init__(
        self,
        plans: Sequence[Plan],
        ledger: Ledger,
        sets: Mapping[Account, Sequence[int]],
        log: LogDeclaration,
        analyst: str,
    ) -> None:
        self._ledger, self._sets, self._log, self._analyst = ledger, sets, log, analyst
        self._plans = plans
        self._known: dict[Account, dict[str, list[_OnRecord]]] = {}
        self._members: dict[tuple[object, ...], Plan | None] = {}
        self._earlier_plans: dict[tuple[str, Epsilon], list[Plan]] = {}
        self._telling_plans: dict[tuple[str, Epsilon], Plan] = {}
        self._good: dict[int, bool] = {}
        self._queries: dict[int, tuple[Plan, Query]] = {}
        self._inputs: dict[str, tuple[str, ...]] = {}
        self._anew: dict[tuple[str, ...], Mapping[str, Plan]] = {}

    @cached_property
    def _asked(self) -> Mapping[str, Ppi]:
        """By their measures; of two that ask the same, the one that shares a draw."""
        in_sets_last = sorted(self._plans, key=lambda plan: bool(plan.together))
        return {canonical_json(canonical_form(p.ppi.measure)): p.ppi for p in in_sets_last}

    def answer(self, release: Release, charged: int | None = None) -> Release | None:
        """What a release can be read off, or complete; None if it is new.

        Of one that was charged meanwhile: what was on record before, so that whoever was answered
        by that still is.
        """
        plan = release.plan
        asked = plan.ppi.epsilon if plan.total is not None else None
        asked = asked or plan.apart or plan.epsilon
        candidates = [*self._alone(release, asked), *self._of_sets(release, asked)]
        if charged is not None:
            released = [
                candidate for candidate in candidates if candidate.state is KeyState.RELEASED
            ]
            candidates = [candidate for candidate in released if candidate.released_at < charged]
        for candidate in sorted(candidates, key=lambda candidate: candidate.rank(self._analyst)):
            read = self._plan(candidate, release)
            if read is not None and self._serves(candidate, read, plan, asked):
                read = replace(read, total=plan.total, apart=asked)
                return Release(read, release.cell, candidate.charge)
        return None

    def _serves(self, candidate: _OnRecord, read: Plan, plan: Plan, asked: Epsilon) -> bool:
        """Where nobody named an ε: what decides as well, or errs hardly more, need not be paid."""
        if not plan.because or _of_each(candidate.charge) >= asked.nano:
            return True
        if id(read) not in self._good:
            errs_alike = read.predicted_error <= _HARDLY_MORE * plan.predicted_error
            self._good[id(read)] = errs_alike or is_enough(as_if_uncut(read))
        return self._good[id(read)]

    def _alone(self, release: Release, asked: Epsilon) -> Iterator[_OnRecord]:
        """What it would be by itself, also as it was planned before more was known."""
        ppi = release.plan.ppi
        # Who names no ε may have had the usual one, before there was one by need.
        amounts = (asked, EACH) if release.plan.because else (asked,)
        plans = [plan(ppi, amount) for amount in amounts for plan in (self._telling, self._planned)]
        plans += [plan for amount in amounts for plan in self._before(ppi, amount)]
        others = {id(plan): plan for plan in plans if plan is not release.plan}.values()
        charges = (self._release_in(release.cell, plan).charge for plan in others)
        yield from self._on_record([charge for charge in charges if charge.key != release.key])

    def _of_sets(self, release: Release, asked: Epsilon) -> Iterator[_OnRecord]:
        first, total = release.charge.accounts[0], release.plan.total
        if first not in self._known:
            self._known[first] = self._in_block(first)
        in_block = self._known[first]
        for candidate in in_block.get(_cell(release.charge), []) if in_block else []:
            of_all = candidate.charge.query.get("total")
            named = release.plan.ppi.epsilon is not None  # who names an ε wants that
            within = total is not None and not named and (of_all or 0) >= total.nano
            unnamed = bool(release.plan.because)
            if within or unnamed or _of_each(candidate.charge) >= asked.nano:
                yield candidate

    def _in_block(self, block: Account) -> dict[str, list[_OnRecord]]:
        charges: dict[str, Charge] = {}
        for seq in self._sets.get(block, ()):
            for charge in self._ledger.charges_at(seq):
                if charge.accounts[0] == block and _is_of_a_set(charge):
                    charges.setdefault(charge.key, charge)
        cells: dict[str, list[_OnRecord]] = {}
        for recorded in self._on_record(charges.values()):
            cells.setdefault(_cell(recorded.charge), []).append(recorded)
        return cells

    def _on_record(self, charges: Iterable[Charge]) -> Iterator[_OnRecord]:
        by_key = {charge.key: charge for charge in charges}
        states, released = self._ledger.states(by_key), self._ledger.released_at(by_key)
        for key, charge in by_key.items():
            if states[key] is not KeyState.NEW:  # a reservation may have been given up
                yield _OnRecord(charge, states[key], released.get(key, 0))

    # --- plans, each made once for all cells ---

    def _release_in(self, cell: Cell, plan: Plan) -> Release:
        if id(plan) not in self._queries:  # the plan is kept with it, so that no other has its id
            self._queries[id(plan)] = plan, Query(plan, self._log)
        return self._queries[id(plan)][1].release_in(cell, self._analyst)

    def _plan(self, candidate: _OnRecord, release: Release) -> Plan | None:
        """How the PPI is read off what a charge released, if that was about it."""
        charge, ppi, (first, *_) = (
            candidate.charge,
            release.plan.ppi,
            candidate.charge.query["parts"],
        )
        if first["mechanism"] == "joint":
            return self._member(ppi, candidate, first["inputs"], first["settings"][0][1])
        asked = [part["inputs"] for part in release.charge.query["parts"]]
        asked += [canonical_form(part.inputs) for part in release.plan.measurements]
        if first["inputs"] not in (*asked, [canonical_form(ppi.measure)]):
            return None
        for plan in (self._planned(ppi, charge.amount), *self._before(ppi, charge.amount)):
            if self._release_in(release.cell, plan).key == charge.key:
                return plan
        return None

    def _member(
        self, ppi: Ppi, candidate: _OnRecord, inputs: Sequence[Any], settings: str
    ) -> Plan | None:
        """As one of a draw; of one that is yet to be made, if the catalogue has all it reads."""
        epsilon, drawn = candidate.charge.amount, candidate.state is KeyState.RELEASED
        written = self._inputs.get(candidate.charge.key)
        if written is None:
            written = self._inputs[candidate.charge.key] = tuple(map(canonical_json, inputs))
        key = (ppi.id, epsilon, *written, settings, drawn)
        if key not in self._members:
            everyone = [self._asked[measure] for measure in written if measure in self._asked]
            whole = () if drawn else everyone
            read = recorded_member(
                ppi, epsilon, inputs, settings, self._log.public, whole, everyone
            )
            if read is not None and not drawn:
                together = tuple(member.id for member in everyone)
                complete = len(together) == len(inputs)
                shared = together if len(together) > 1 else ()
                read = replace(read, together=shared) if complete else None
            self._members[key] = read
        return self._members[key]

    def _planned(self, ppi: Ppi, epsilon: Epsilon) -> Plan:
        return plan_ppi(ppi, epsilon, self._log.public)  # which keeps it

    def _before(self, ppi: Ppi, epsilon: Epsilon) -> list[Plan]:
        """As it was planned by earlier rules, if they made another query of it."""
        if (ppi.id, epsilon) not in self._earlier_plans:
            plans = []
            if _is_ranked(ppi):
                for rules in sorted(set(Rules) - {Rules.NOW}, reverse=True):
                    with suppress(NotReleasable):  # a newer mechanism is all that it allows
                        plans.append(plan_ppi(ppi, epsilon, self._log.public, rules))
            self._earlier_plans[ppi.id, epsilon] = plans
        return self._earlier_plans[ppi.id, epsilon]

    def _telling(self, ppi: Ppi, epsilon: Epsilon) -> Plan:
        """By itself, with what its bounds cut off where that can be told."""
        if (ppi.id, epsilon) not in self._telling_plans:
            self._telling_plans[ppi.id, epsilon] = plan_alone(ppi, epsilon, self._log.public)
        return self._telling_plans[ppi.id, epsilon]

    def newcomer(
        self, release: Release, members: Sequence[Plan], missing: Sequence[Plan]
    ) -> Release:
        """Of PPIs planned together, one that is not on record while others are, in its cell."""
        who = tuple(plan.ppi.id for plan in missing)
        if who not in self._anew:
            self._anew[who] = self._planned_anew(members, missing)
        plan = self._anew[who][release.plan.ppi.id]
        return self._release_in(release.cell, plan)

    def _planned_anew(self, members: Sequence[Plan], missing: Sequence[Plan]) -> Mapping[str, Plan]:
        public = self._log.public
        if missing[0].total is not None:
            return plan_newcomers(members, [plan.ppi.id for plan in missing], public)
        asked = [(plan.ppi, plan.apart or plan.epsilon) for plan in missing]
        return {plan.ppi.id: plan for plan in plan_each(asked, public)}


def _is_ranked(ppi: Ppi) -> bool:
    """Whether it has a median, percentile or distribution: by those, rules have changed."""
    return any(measure.function in _RANKED for _, measure in aggregated_measures(ppi.measure))


def _is_of_a_set(charge: Charge) -> bool:
    return "total" in charge.query or "each" in charge.query


def _of_each(charge: Charge) -> int:
    """What each PPI of a set has paid, in billionths."""
    inputs = charge.query["parts"][0]["inputs"]
    return int(charge.query.get("each", charge.amount.nano // len(inputs)))


def _cell(charge: Charge) -> str:
    """Which cases a charge is about, and how they are cut into periods and groups."""
    return canonical_json({k: v for k, v in charge.query.items() if k not in _OWN})
