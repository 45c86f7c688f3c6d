"""The release protocol, in the order that keeps it safe.

1. Parse, check, plan, price: functions of the request, the declarations and the
   ledger. Every refusal happens here.
2. Charge all of it, durably, in one transaction.
3. Read the cases, draw, record. Evaluation is total, so this always completes.
4. Answer from the record. A crash after 2 stays charged, and the same request
   completes that release at no new cost; an identical request is a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pappi.audit.subjects import Subject
from pappi.budget.accounts import Account, KeyState
from pappi.checkpoint.audits import subject_of
from pappi.checkpoint.limits import refuse_too_much
from pappi.checkpoint.prices import quote_of
from pappi.checkpoint.questions import CellQuestion, questions_of
from pappi.checkpoint.series import series_of
from pappi.errors import Problem, Refused, ReleaseFailed, UsageError
from pappi.planning.accuracy import epsilon_for, wanted_error
from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Plan, plan_ppi
from pappi.ppinot.checks import require_sound
from pappi.ppinot.model import Catalogue, Ppi
from pappi.ppinot.reduced import reduced
from pappi.report.budgets import BudgetLine
from pappi.store.declarations import LogDeclaration, declared_log
from pappi.store.ledger import SqliteLedger
from pappi.store.workspace import WorkspaceFiles
from pappi.values.answers import Series
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.quotes import Quote

DEFAULT_EPSILON = Epsilon.of("0.1")
LEAST_EPSILON = Epsilon.of("0.001")
# Used to predict errors where the owner has declared no expected number of cases.
ASSUMED_CASES = 100

Step = Callable[[str], None]
"""Called with the name of each step of the protocol; tests place their faults here."""


def _go_on(_step: str) -> None:
    """Nothing happens between the steps."""


class Checkpoint:
    """The one interface between an analyst and a log."""

    def __init__(self, files: WorkspaceFiles, analyst: str, on_step: Step = _go_on) -> None:
        self._files = files
        self._analyst = analyst
        self._on_step = on_step

    def preview(self, catalogue: Catalogue, epsilon: Epsilon | None = None) -> tuple[Quote, ...]:
        """Cost and expected error of every PPI."""
        with self._files.open_ledger() as ledger:
            log = _checked_log(ledger, catalogue)
            return self._quotes([_plan(ppi, epsilon, log) for ppi in catalogue.ppis], log, ledger)

    def afford(self, catalogue: Catalogue, accuracy: str) -> tuple[Quote, ...]:
        """The same, at the epsilon each PPI needs for a wanted accuracy."""
        with self._files.open_ledger() as ledger:
            log = _checked_log(ledger, catalogue)
            ppis = [
                _at_accuracy(reduced(ppi, log.anchor), accuracy, _facts(log))
                for ppi in catalogue.ppis
            ]
            return self._quotes([_plan(ppi, None, log) for ppi in ppis], log, ledger)

    def unreleasable(self, catalogue: Catalogue) -> list[Problem]:
        """Why PPIs could not be released, all at once; reads no data, spends nothing."""
        with self._files.open_ledger() as ledger:
            log = _checked_log(ledger, catalogue)
        found = []
        for ppi in catalogue.ppis:
            try:
                questions_of(_plan(ppi, None, log), log, self._analyst)
            except Refused as refusal:
                message = refusal.message.removeprefix(f"{ppi.position}: ")
                found.append(Problem(ppi.position, message, refusal.hint, "warning"))
        return found

    def audited(self, catalogue: Catalogue, epsilon: Epsilon | None) -> tuple[Subject, ...]:
        """What each PPI would release, as a subject of the audit; reads no data, spends nothing."""
        with self._files.open_ledger() as ledger:
            log = _checked_log(ledger, catalogue)
        plans = [_plan(ppi, epsilon, log) for ppi in catalogue.ppis]
        return tuple(subject_of(plan, log.adjacency, log.unit.max_cases) for plan in plans)

    def budget(self, name: str) -> tuple[BudgetLine, ...]:
        """What each block of a log may spend and has spent; a function of the ledger alone."""
        with self._files.open_ledger() as ledger:
            log = declared_log(ledger, name)
            spent = ledger.spent(name)
        blocks = dict.fromkeys(block.label for block in log.blocks.periods(log.first, log.until))
        # A period that reaches beyond the horizon has charged blocks there, too.
        blocks |= dict.fromkeys(account.block for account in spent)
        return tuple(
            BudgetLine(block, log.block_budget, spent.get(Account(name, block), ZERO))
            for block in blocks
        )

    def _quotes(
        self, plans: Sequence[Plan], log: LogDeclaration, ledger: SqliteLedger
    ) -> tuple[Quote, ...]:
        asked = [questions_of(plan, log, self._analyst) for plan in plans]
        refuse_too_much([question for questions in asked for question in questions])
        quotes = []
        for plan, questions in zip(plans, asked, strict=True):
            states = ledger.states(question.key for question in questions)
            new = sum(1 for state in states.values() if state is KeyState.NEW)
            facts = _facts(log).under(plan.ppi.scope)
            quotes.append(quote_of(plan, facts, len(questions), new))
        return tuple(quotes)

    def release(self, catalogue: Catalogue, epsilon: Epsilon | None = None) -> tuple[Series, ...]:
        """Charge and release every PPI, or none of them."""
        with self._files.open_ledger() as ledger:
            log = _checked_log(ledger, catalogue)
            plans = [_plan(ppi, epsilon, log) for ppi in catalogue.ppis]
            questions = [q for plan in plans for q in questions_of(plan, log, self._analyst)]
            refuse_too_much(questions)
            states = self._charge(ledger, questions)
            released = self._complete(ledger, questions, states, log)
            return series_of(questions, states, released, log)

    def _charge(
        self, ledger: SqliteLedger, questions: Sequence[CellQuestion]
    ) -> Mapping[str, KeyState]:
        @cache
        def limit(account: Account) -> Epsilon:
            """Asked inside the charge's transaction: a budget cut a moment ago counts."""
            return declared_log(ledger, account.log).block_budget

        states = ledger.charge([question.charge for question in questions], limit)
        self._on_step("charged")
        return states

    def _complete(
        self,
        ledger: SqliteLedger,
        questions: Sequence[CellQuestion],
        states: Mapping[str, KeyState],
        log: LogDeclaration,
    ) -> Mapping[str, Any]:
        """What is on record, after drawing and recording what was not."""
        open_questions = {q.key: q for q in questions if states[q.key] is not KeyState.RELEASED}
        if open_questions:
            drawn = self._draw(list(open_questions.values()), log)
            self._on_step("drawn")
            ledger.record(drawn)
            self._on_step("recorded")
        return ledger.results(question.key for question in questions)

    def _draw(self, questions: Sequence[CellQuestion], log: LogDeclaration) -> dict[str, Any]:
        """The only place where the checkpoint reads cases."""
        # Imported here: a replay, which reads no case, does without numpy's and DuckDB's start-up.
        from pappi.checkpoint.draw import draw_cells

        try:
            return draw_cells(self._files.events, questions, log, self._files.key())
        except Exception as error:  # noqa: BLE001 - a library's own words may quote data
            raise ReleaseFailed(detail=f"{type(error).__name__}: {error}") from None


def _checked_log(ledger: SqliteLedger, catalogue: Catalogue) -> LogDeclaration:
    log = declared_log(ledger, catalogue.log)
    require_sound(catalogue, log.vocabulary)
    return log


def _plan(ppi: Ppi, epsilon: Epsilon | None, log: LogDeclaration) -> Plan:
    return plan_ppi(reduced(ppi, log.anchor), _epsilon(ppi, epsilon), _facts(log))


def _epsilon(ppi: Ppi, asked: Epsilon | None) -> Epsilon:
    epsilon = asked or ppi.epsilon or DEFAULT_EPSILON
    if epsilon < LEAST_EPSILON:
        raise UsageError(
            f"an epsilon of {epsilon} is below {LEAST_EPSILON}, where an answer is noise alone",
            hint="ask with e.g. --epsilon 0.1",
        )
    return epsilon


def _at_accuracy(ppi: Ppi, accuracy: str, facts: PublicFacts) -> Ppi:
    wanted = wanted_error(accuracy, ppi)
    if wanted is None or wanted <= 0:
        raise UsageError(
            f"'{accuracy}' is not an accuracy", hint='write e.g. "6 h", "2 %" or a plain number'
        )
    epsilon = epsilon_for(ppi, wanted, facts)
    if epsilon is None:
        raise Refused(
            f"no epsilon up to 100 brings PPI '{ppi.id}' to a typical error of {accuracy}",
            hint="ask for less accuracy, or declare tighter bounds",
        )
    return replace(ppi, epsilon=epsilon)


def _facts(log: LogDeclaration) -> PublicFacts:
    cases = log.expected_cases or ASSUMED_CASES
    return PublicFacts(log.unit, log.adjacency, log.vocabulary, cases)
