"""The release protocol, in the order that keeps it safe.

1. Parse, check, plan, price: functions of the request, the declarations and the
   ledger. Every refusal happens here.
2. Charge all of it, durably, in one transaction.
3. Read the cases, draw, record. Evaluation is total, so this always completes. Results go on
   record on a time grid that begins with the charge (`pace`).
4. Answer from the record. A crash after 2 stays charged, and the same request
   completes that release at no new cost; an identical request is a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pappi.audit.subjects import Subject
from pappi.budget.accounts import Account, KeyState
from pappi.budget.forecast import Forecast, Purse
from pappi.budget.journal import Balance, ChargeRecord
from pappi.checkpoint.audits import subject_of
from pappi.checkpoint.forecasts import Price, forecast_of, price_of, purse_of
from pappi.checkpoint.limits import (
    MOST_AT_ACCURACY,
    refuse_too_many,
    refuse_too_many_answers,
    refuse_too_much,
)
from pappi.checkpoint.pace import AT_ONCE, Pace
from pappi.checkpoint.plans import at_accuracy, checked_log, facts_of, planned
from pappi.checkpoint.prices import quote_of
from pappi.checkpoint.questions import CellQuestion, questions_of
from pappi.checkpoint.series import series_of
from pappi.errors import Conflict, Frozen, PappiError, Problem, Refused, ReleaseFailed, Stopped
from pappi.planning.plan import Plan
from pappi.ppinot.model import Catalogue
from pappi.report.budgets import BudgetLine
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Ledger
from pappi.store.office import Office
from pappi.store.register import Register
from pappi.store.workspace import WorkspaceFiles
from pappi.values.answers import Series
from pappi.values.epsilon import Epsilon
from pappi.values.quotes import Quote

Step = Callable[[str], None]
"""Called with the name of each step of the protocol; tests place their faults here."""

Permit = Callable[[Register], None]
"""Raises if the one who asks is not allowed to, by what holds at this moment."""


def go_on(_step: str) -> None:
    """Nothing happens between the steps."""


def _permit_all(_register: Register) -> None:
    """Whoever was handed this door may use it."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `only_granted`: about no log but those that were granted to them."""

    name: str
    permit: Permit = _permit_all
    only_granted: bool = False

    def logs(self, register: Register) -> frozenset[str]:
        return register.granted_to(self.name) if self.only_granted else frozenset(register.logs)


class Checkpoint:
    """The one interface between an analyst and a log."""

    def __init__(
        self, office: Office, caller: Caller, on_step: Step = go_on, pace: Pace = AT_ONCE
    ) -> None:
        self._office = office
        self._caller = caller
        self._on_step = on_step
        self._pace = pace

    def logs(self) -> tuple[LogDeclaration, ...]:
        """What is public about the logs this analyst may ask about."""
        with self._permitted() as (_, register):
            return tuple(register.logs[name] for name in sorted(self._caller.logs(register)))

    def log(self, name: str) -> LogDeclaration:
        with self._permitted() as (_, register):
            return register.log(name, self._caller.logs(register))

    def preview(self, catalogue: Catalogue, epsilon: Epsilon | None = None) -> tuple[Quote, ...]:
        """Cost and expected error of every PPI."""
        with self._open_for(catalogue) as (ledger, log):
            return self._quotes([planned(ppi, epsilon, log) for ppi in catalogue.ppis], log, ledger)

    def afford(self, catalogue: Catalogue, accuracy: str) -> tuple[Quote, ...]:
        """The same, at the epsilon each PPI needs for a wanted accuracy."""
        refuse_too_many(catalogue, MOST_AT_ACCURACY)
        with self._open_for(catalogue) as (ledger, log):
            ppis = [at_accuracy(ppi, accuracy, log) for ppi in catalogue.ppis]
            return self._quotes([planned(ppi, None, log) for ppi in ppis], log, ledger)

    def margins(
        self, catalogue: Catalogue, epsilons: Sequence[Epsilon]
    ) -> tuple[float | None, ...]:
        """What accuracy each epsilon buys of the first PPI, in its unit; None is not known."""
        with self._open_for(catalogue) as (_, log):
            ppi = catalogue.ppis[0]
            facts = facts_of(log).under(ppi.scope)
            plans = (planned(ppi, epsilon, log) for epsilon in epsilons)
            return tuple(quote_of(plan, facts, 0, 0).half_width for plan in plans)

    def forecasts(self, catalogue: Catalogue) -> tuple[Forecast | None, ...]:
        """How long the budget lasts if each PPI is asked, at the epsilon it names."""
        purse, log, asked = self._foreseen(catalogue)
        return tuple(forecast_of(questions, purse, log) for questions in asked)

    def outlook(self, catalogue: Catalogue) -> Forecast | None:
        """The same for all PPIs together."""
        purse, log, asked = self._foreseen(catalogue)
        return forecast_of([question for each in asked for question in each], purse, log)

    def unreleasable(self, catalogue: Catalogue) -> list[Problem]:
        """Why PPIs could not be released, all at once; reads no data, spends nothing."""
        with self._open_for(catalogue) as (_, log):
            pass
        found = []
        for ppi in catalogue.ppis:
            try:
                refuse_too_many_answers([planned(ppi, None, log)], log.horizon)
            except Refused as refusal:
                message = refusal.message.removeprefix(f"{ppi.position}: ")
                found.append(Problem(ppi.position, message, refusal.hint, "warning"))
        return found

    def audited(self, catalogue: Catalogue, epsilon: Epsilon | None) -> tuple[Subject, ...]:
        """What each PPI would release, as a subject of the audit; reads no data, spends nothing."""
        with self._open_for(catalogue) as (_, log):
            pass
        plans = [planned(ppi, epsilon, log) for ppi in catalogue.ppis]
        return tuple(subject_of(plan, log.adjacency, log.unit.max_cases) for plan in plans)

    def budget(self, name: str) -> tuple[BudgetLine, ...]:
        """What each block of a log may spend and has spent; a function of the ledger alone."""
        with self._permitted() as (ledger, register):
            log = register.log(name, self._caller.logs(register))
            balances = ledger.balances(name)
        blocks = dict.fromkeys(block.label for block in log.blocks.periods(log.first, log.until))
        # What reaches beyond the horizon, or is reserved for later, has accounts there, too.
        blocks |= dict.fromkeys(sorted(a.block for a in balances if a.is_block))
        grant = register.grants.get((name, self._caller.name))
        own = None if grant is None else grant.per_block
        return tuple(
            replace(self._line(log, block, balances, own), frozen=register.is_frozen(log, block))
            for block in blocks
        )

    def releases(
        self, name: str, after: int = 0, limit: int | None = None
    ) -> tuple[ChargeRecord, ...]:
        """What was ever asked of a log, oldest first: what can be had again at no cost."""
        with self._permitted() as (ledger, register):
            register.log(name, self._caller.logs(register))
            return ledger.charges(name, after, limit)

    def price(self, catalogue: Catalogue) -> Price:
        """What asking all PPIs together costs, at the epsilon each of them names."""
        with self._open_for(catalogue) as (ledger, log):
            asked = self._asked([planned(ppi, None, log) for ppi in catalogue.ppis], log)
            return price_of(asked, ledger.states(question.key for question in asked))

    def release(
        self, catalogue: Catalogue, epsilon: Epsilon | None = None, named: str | None = None
    ) -> tuple[Series, ...]:
        """Charge and release every PPI, or none of them.

        With the name of a price, only if that is still the price.
        """
        with self._open_for(catalogue) as (ledger, log):
            asked = self._asked([planned(ppi, epsilon, log) for ppi in catalogue.ppis], log)
            if named is not None:
                states = ledger.states(question.key for question in asked)
                _refuse_other_price(price_of(asked, states), named)
            return self.answer(ledger, asked, log)

    def rehearse(self, catalogue: Catalogue, epsilon: Epsilon | None = None) -> tuple[Series, ...]:
        """The same on made-up cases; reads no data, charges and records nothing."""
        from pappi.checkpoint.rehearsal import rehearsed

        with self._open_for(catalogue) as (_, log):
            pass
        return rehearsed(catalogue, epsilon, log)

    def replay(self, catalogue: Catalogue) -> tuple[Series, ...]:
        """What of a catalogue is on record; never charges, never reads a case.

        A PPI of which nothing has been released yet is not among the series.
        """
        with self._open_for(catalogue) as (ledger, log):
            asked = self._asked([planned(ppi, None, log) for ppi in catalogue.ppis], log)
            states = ledger.states(question.key for question in asked)
            known = [q for q in asked if states[q.key] is KeyState.RELEASED]
            released = ledger.results(q.key for q in known)
            # Remembered before it is shown: whoever recorded it may not have come to do that.
            self._office.register(ledger)
            return series_of(known, states, released, log)

    def answer(
        self, ledger: Ledger, questions: Sequence[CellQuestion], log: LogDeclaration
    ) -> tuple[Series, ...]:
        """Steps 2 to 4 of the protocol."""
        refuse_too_much(questions)
        _refuse_unready(ledger, questions, log, self._office.files)
        states = self._charge(ledger, questions, log)
        released = self._complete(ledger, questions, states, log)
        # Remembers what was just written: an older ledger put in its place will be noticed.
        self._office.register(ledger)
        return series_of(questions, states, released, log)

    @contextmanager
    def _permitted(self) -> Iterator[tuple[Ledger, Register]]:
        with self._office.ledger() as ledger:
            register = self._office.register(ledger)
            self._caller.permit(register)
            yield ledger, register

    @contextmanager
    def _open_for(self, catalogue: Catalogue) -> Iterator[tuple[Ledger, LogDeclaration]]:
        """The ledger and the log of a sound catalogue, while nothing is stopped."""
        with self._permitted() as (ledger, register):
            _refuse_stopped(register)
            refuse_too_many(catalogue)
            yield ledger, checked_log(register, self._caller.logs(register), catalogue)

    def _asked(self, plans: Sequence[Plan], log: LogDeclaration) -> list[CellQuestion]:
        """Everything that plans ask, as far as that is not too much."""
        refuse_too_many_answers(plans, log.horizon)
        asked = [q for plan in plans for q in questions_of(plan, log, self._caller.name)]
        refuse_too_much(asked)
        return asked

    def _foreseen(
        self, catalogue: Catalogue
    ) -> tuple[Purse, LogDeclaration, list[list[CellQuestion]]]:
        """What is left, and of each PPI what is not on record yet."""
        refuse_too_many(catalogue)
        with self._permitted() as (ledger, register):
            log = checked_log(register, self._caller.logs(register), catalogue)
            grant = register.grants.get((log.name, self._caller.name))
            share = None if grant is None else grant.per_block
            purse = purse_of(log, ledger.balances(log.name), self._caller.name, share)
            plans = [planned(ppi, None, log) for ppi in catalogue.ppis]
            refuse_too_many_answers(plans, log.horizon)
            asked = [questions_of(plan, log, self._caller.name) for plan in plans]
            states = ledger.states(question.key for each in asked for question in each)
        new = [[one for one in each if states[one.key] is KeyState.NEW] for each in asked]
        return purse, log, new

    def _line(
        self,
        log: LogDeclaration,
        block: str,
        balances: Mapping[Account, Balance],
        own: Epsilon | None,
    ) -> BudgetLine:
        all_of_it = balances.get(Account(log.name, block), Balance())
        mine = balances.get(Account(log.name, block, self._caller.name), Balance())
        spent, held = all_of_it.spent, all_of_it.held
        return BudgetLine(block, log.block_budget, spent, held, own, mine.used)

    def _quotes(
        self, plans: Sequence[Plan], log: LogDeclaration, ledger: Ledger
    ) -> tuple[Quote, ...]:
        refuse_too_many_answers(plans, log.horizon)
        asked = [questions_of(plan, log, self._caller.name) for plan in plans]
        refuse_too_much([question for questions in asked for question in questions])
        quotes = []
        for plan, questions in zip(plans, asked, strict=True):
            states = ledger.states(question.key for question in questions)
            new = sum(state in (KeyState.NEW, KeyState.RESERVED) for state in states.values())
            facts = facts_of(log).under(plan.ppi.scope)
            quotes.append(quote_of(plan, facts, len(questions), new))
        return tuple(quotes)

    def _charge(
        self, ledger: Ledger, questions: Sequence[CellQuestion], log: LogDeclaration
    ) -> Mapping[str, KeyState]:
        rules = Rules(self._office, ledger, self._caller, log)
        states = ledger.charge([q.charge for q in questions], rules.limit, rules.permit)
        self._on_step("charged")
        return states

    def _complete(
        self,
        ledger: Ledger,
        questions: Sequence[CellQuestion],
        states: Mapping[str, KeyState],
        log: LogDeclaration,
    ) -> Mapping[str, Any]:
        """What is on record, after drawing and recording what was not."""
        open_questions = {q.key: q for q in questions if states[q.key] is not KeyState.RELEASED}
        recorded: Mapping[str, Any] = {}
        if open_questions:
            with self._pace():
                drawn = self._draw(list(open_questions.values()), log)
            self._on_step("drawn")
            recorded = ledger.record(drawn)
            self._on_step("recorded")
        earlier = (q.key for q in questions if q.key not in recorded)
        return {**recorded, **ledger.results(earlier)}

    def _draw(self, questions: Sequence[CellQuestion], log: LogDeclaration) -> dict[str, Any]:
        """The only place where the checkpoint reads cases."""
        # Imported here: a replay, which reads no case, does without numpy's and DuckDB's start-up.
        from pappi.checkpoint.draw import draw_cells

        files = self._office.files
        try:
            return draw_cells(files.events, questions, log, files.key())
        except Exception as error:  # noqa: BLE001 - a library's own words may quote data
            raise ReleaseFailed(detail=_cause(error)) from None


class Rules:
    """What bounds a charge, asked inside its transaction: a budget cut a moment ago counts.

    `log` is what the questions were checked against.
    """

    def __init__(self, office: Office, ledger: Ledger, caller: Caller, log: LogDeclaration) -> None:
        self._office = office
        self._ledger = ledger
        self._caller = caller
        self._log = log
        self._register = Register()

    def permit(self) -> None:
        self._register = self._office.register(self._ledger)
        self._caller.permit(self._register)
        _refuse_stopped(self._register)
        now = self._register.log(self._log.name, self._caller.logs(self._register))
        if now.vocabulary != self._log.vocabulary:
            raise Conflict(
                "the names of this log have changed since the question was checked",
                hint="nothing was charged; ask again",
            )

    def limit(self, account: Account) -> Epsilon | None:
        log = self._register.log(account.log)
        if self._register.is_frozen(log, account.block):
            raise Frozen(
                f"{account} can no longer be charged: a part of the ledger was lost, and nobody "
                "knows what was spent before",
                hint="what is on record can be had again at no cost; later blocks can be asked",
            )
        if not account.block:
            return log.total_budget
        if not account.analyst:
            return log.block_budget
        grant = self._register.grants.get((account.log, account.analyst))
        return None if grant is None else grant.per_block


def _refuse_unready(
    ledger: Ledger, questions: Sequence[CellQuestion], log: LogDeclaration, files: WorkspaceFiles
) -> None:
    """What is known beforehand to fail is not charged; a replay reads nothing."""
    states = ledger.states(question.key for question in questions)
    if any(state is not KeyState.RELEASED for state in states.values()):
        log.require_ready(files.events)
        files.key()


def _cause(error: Exception) -> str:
    """For the owner alone; an error of ours keeps what a driver said as its own detail."""
    said = f"{type(error).__name__}: {error}"
    inner = error.detail if isinstance(error, PappiError) else ""
    return f"{said} ({inner})" if inner else said


def _refuse_other_price(price: Price, named: str) -> None:
    if price.name != named:
        raise Conflict(
            "the price has changed since it was named",
            hint="nothing was charged; look at it again",
        )


def _refuse_stopped(register: Register) -> None:
    if register.stopped is not None:
        raise Stopped(
            f"the owner has stopped all answers: {register.stopped}",
            hint="nothing is charged meanwhile; ask again when the owner resumes",
        )
