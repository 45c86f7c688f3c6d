"""Whatever owners and analysts do in whatever order, a small model says what happens.

The model knows which cells are reserved, charged and released, what each account may spend,
and up to where time is sealed: a few sets and sums, too simple to be wrong. After every step
the workspace agrees with it, and its ledger verifies.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pappi.checkpoint import Caller, LocalSession
from pappi.custody import IssuedKey, NewLog, event_of
from pappi.errors import BudgetExceeded, NotAuthenticated, PappiError, Refused, Stopped, UnknownLog
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace, create
from pappi.store import CapturedEvent, LedgerSession, Registry, open_workspace
from pappi.values import ZERO, Epsilon, Role, Series, Terms, Vocabulary
from tests.lengths import length

pytestmark = pytest.mark.outside

LOG = "shop"
MONTHS = tuple(f"2025-{month:02}" for month in range(1, 13))
ANALYSTS = ("alice", "bob")
EPSILONS = st.sampled_from([Epsilon.of("0.1"), Epsilon.of("0.25"), Epsilon.of("0.4")])
LIMITS = st.sampled_from([Epsilon.of(amount) for amount in ("0.3", "0.5", "1", "2")])
QUESTIONS = st.integers(0, 2)


def first_of(months: int) -> date:
    """The day that so many months of the year are over on."""
    return date(2025 + months // 12, months % 12 + 1, 1)


def question(number: int) -> Catalogue:
    """Three questions that differ in what one case may contribute."""
    return parse_catalogue(
        f"""
log: {LOG}
ppis:
  - id: visits
    name: Visits
    measure: {{sum: {{count: {{activity: Visit}}}}}}
    bounds: [0, {number + 1}]
    scope: every month
""",
        "question",
    )


@dataclass(frozen=True)
class Cell:
    question: int
    epsilon: Epsilon
    month: int

    def costs(self, payer: str) -> Iterable[tuple[str, str]]:
        yield MONTHS[self.month], ""
        yield "", ""
        yield MONTHS[self.month], payer


class Crash(Exception):
    """A process that died, as far as the ledger can tell."""


def outcome(ask: Callable[[], tuple[Series, ...]]) -> PappiError | tuple[Series, ...]:
    try:
        return ask()
    except PappiError as refusal:
        return refusal


class WorkspaceAgainstItsModel(RuleBasedStateMachine):
    workspace: Workspace

    @initialize()
    def create(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = create(Path(self.folder.name) / "w")
        custody = self.workspace.custody
        new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of(1)))
        custody.create_log(LOG, new, Vocabulary(("Visit",)))
        custody.capture(LOG, [_event(month, case) for month in range(12) for case in range(3)])
        self.sealed = 0
        self.erased: set[tuple[int, int]] = set()
        self.block_limit = Epsilon.of(1)
        self.total_limit: Epsilon | None = None
        self.granted: dict[str, Epsilon] = {}
        self.payers: dict[Cell, str] = {}  # of what is charged
        self.holders: dict[Cell, str] = {}  # of what is reserved
        self.values: dict[Cell, float | None] = {}
        self.standing: dict[str, list[Cell]] = {}
        self.asked: dict[str, tuple[int, Epsilon, int, str]] = {}
        self.keys: dict[str, IssuedKey] = {}
        self.valid: dict[str, bool] = {}
        self.is_stopped = False

    # What the owner does

    @rule(per_block=LIMITS, total=st.none() | LIMITS)
    def grant(self, per_block: Epsilon, total: Epsilon | None) -> None:
        self.workspace.custody.grant(LOG, per_block, total)
        self.block_limit, self.total_limit = per_block, total

    @rule(analyst=st.sampled_from(ANALYSTS), per_block=LIMITS)
    def grant_analyst(self, analyst: str, per_block: Epsilon) -> None:
        self.workspace.custody.grant_analyst(LOG, analyst, per_block)
        self.granted[analyst] = per_block

    @precondition(lambda self: self.granted)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        analyst = data.draw(st.sampled_from(sorted(self.granted)))
        self.workspace.custody.withdraw(LOG, analyst)
        del self.granted[analyst]

    @precondition(lambda self: self.sealed < 11)
    @rule(months=st.integers(1, 3))
    def seal(self, months: int) -> None:
        until = min(self.sealed + months, 11)
        found = self.workspace.custody.seal(LOG, first_of(until))
        months_sealed = range(self.sealed, until)
        there = {(month, case) for month in months_sealed for case in range(3)} - self.erased
        assert found.cases == len(there)
        self.sealed = until

    @rule(month=st.integers(0, 11), case=st.integers(0, 2))
    def erase(self, month: int, case: int) -> None:
        """Erasing changes data, and nothing else: what is charged stays charged."""
        self.workspace.custody.erase(LOG, cases=[_case(month, case)])
        self.erased.add((month, case))

    @rule(analyst=st.sampled_from(ANALYSTS))
    def issue_key(self, analyst: str) -> None:
        self.keys[analyst] = self.workspace.custody.issue_key(Role.ANALYST, analyst)
        self.valid[analyst] = True

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        analyst = data.draw(st.sampled_from(sorted(self.keys)))
        self.workspace.custody.revoke_key(self.keys[analyst].record.id)
        self.valid[analyst] = False

    @rule()
    def stop_or_resume(self) -> None:
        if self.is_stopped:
            self.workspace.custody.resume()
        else:
            self.workspace.custody.stop("a test")
        self.is_stopped = not self.is_stopped

    # What analysts do

    @rule(number=QUESTIONS, epsilon=EPSILONS, analyst=st.sampled_from(ANALYSTS))
    def release(self, number: int, epsilon: Epsilon, analyst: str) -> None:
        """By an analyst who has the session from the owner."""
        cells = [Cell(number, epsilon, month) for month in range(self.sealed)]
        session = self.workspace.checkpoint(analyst)
        expected = self.refusal(cells, analyst)
        found = outcome(lambda: session.release(question(number), epsilon, derived=False))
        self.take(found, expected, cells, analyst)

    @rule(number=QUESTIONS, epsilon=EPSILONS, data=st.data())
    @precondition(lambda self: self.keys)
    def release_with_a_key(self, number: int, epsilon: Epsilon, data: st.DataObject) -> None:
        """By one who comes with a key: about granted logs, and only while it is valid."""
        analyst = data.draw(st.sampled_from(sorted(self.keys)))
        secret = self.keys[analyst].secret

        def permit(register: Registry) -> None:
            register.key_of(secret, datetime.now(UTC))

        cells = [Cell(number, epsilon, month) for month in range(self.sealed)]
        expected: type[PappiError] | None = self.refusal(cells, analyst)
        if not self.is_stopped and analyst not in self.granted:
            expected = UnknownLog
        if not self.valid[analyst]:
            expected = NotAuthenticated
        session = self.workspace.granted_checkpoint(analyst, permit)
        found = outcome(lambda: session.release(question(number), epsilon, derived=False))
        self.take(found, expected, cells, analyst)

    @rule(
        number=QUESTIONS,
        epsilon=EPSILONS,
        analyst=st.sampled_from(ANALYSTS),
        step=st.sampled_from(["charged", "drawn"]),
    )
    def crash(self, number: int, epsilon: Epsilon, analyst: str, step: str) -> None:
        """A process that dies after its charge leaves it; before, it leaves nothing."""
        cells = [Cell(number, epsilon, month) for month in range(self.sealed)]

        def die(reached: str) -> None:
            if reached == step:
                raise Crash

        ledger_session = LedgerSession(open_workspace(self.workspace.root))
        session = LocalSession(ledger_session, Caller(analyst), die)
        expected = self.refusal(cells, analyst)
        try:
            found = outcome(lambda: session.release(question(number), epsilon, derived=False))
            self.take(found, expected, cells, analyst)
            # Nothing was left to draw: a replay.
            assert expected is not None or all(cell in self.values for cell in cells)
        except Crash:
            self.take_charged(cells, analyst)
        ledger_session.close()

    @precondition(lambda self: not self.is_stopped)
    @rule(
        number=QUESTIONS,
        epsilon=EPSILONS,
        analyst=st.sampled_from(ANALYSTS),
        months=st.integers(1, 4),
    )
    def reserve(self, number: int, epsilon: Epsilon, analyst: str, months: int) -> None:
        until = min(self.sealed + months, 12)
        cells = [Cell(number, epsilon, month) for month in range(self.sealed, until)]
        expected = self.refusal(cells, analyst, reserving=True)
        session = self.workspace.checkpoint(analyst)
        asked = (number, epsilon, until, analyst)
        if asked in self.asked.values():
            expected = Refused
        try:
            found = session.subscribe(question(number), first_of(until), epsilon)
        except Refused as refusal:
            self.take(refusal, expected, [], analyst)
            return
        assert expected is None
        self.asked[found.id] = asked
        self.standing[found.id] = cells
        for cell in cells:
            if cell not in self.payers and cell not in self.holders:
                self.holders[cell] = analyst

    @precondition(lambda self: self.standing)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.standing)))
        analyst = next(
            name
            for name in ANALYSTS
            if any(one.id == identity for one in self.workspace.checkpoint(name).subscriptions())
        )
        cells = self.standing.pop(identity)
        del self.asked[identity]
        others = {
            one.id
            for one in self.workspace.checkpoint(analyst).subscriptions()
            if one.id != identity
        }
        kept = {cell for other in others for cell in self.standing[other]}
        given_up = [c for c in cells if self.holders.get(c) == analyst and c not in kept]
        assert self.workspace.checkpoint(analyst).unsubscribe(identity) == len(given_up)
        for cell in given_up:
            del self.holders[cell]

    @precondition(lambda self: not self.is_stopped)
    @rule()
    def run_standing(self) -> None:
        due = {i: [c for c in cells if c.month < self.sealed] for i, cells in self.standing.items()}
        for run in self.workspace.run_subscriptions():
            cells = [cell for cell in due[run.subscription.id] if cell not in self.values]
            expected = self.refusal(cells, run.subscription.analyst)
            self.take(run.problem or run.series, expected, cells, run.subscription.analyst)

    @rule()
    def reopen(self) -> None:
        self.workspace.close()

    # What the model expects

    def refusal(
        self, cells: list[Cell], analyst: str, *, reserving: bool = False
    ) -> type[PappiError] | None:
        if self.is_stopped:
            return Stopped
        if not cells:
            return PappiError  # nothing is sealed: the scope is empty
        # What is reserved is held already, but a limit may have been cut below it.
        open_cells = [cell for cell in cells if cell not in self.payers]
        if reserving:
            open_cells = [cell for cell in open_cells if cell not in self.holders]
        used, asked = self.used(), Counter[tuple[str, str]]()
        for cell in open_cells:
            payer = self.holders.get(cell, analyst)
            for account in cell.costs(payer):
                asked[account] += cell.epsilon.nano
                used[account] -= cell.epsilon.nano if cell in self.holders else 0
        over = any(used[a] + nano > self.limit_of(a) for a, nano in asked.items())
        return BudgetExceeded if over else None

    def limit_of(self, account: tuple[str, str]) -> float:
        block, analyst = account
        if analyst:
            share = self.granted.get(analyst)
            return float("inf") if share is None else share.nano
        if block:
            return self.block_limit.nano
        return float("inf") if self.total_limit is None else self.total_limit.nano

    def used(self) -> Counter[tuple[str, str]]:
        found = Counter[tuple[str, str]]()
        for cell, payer in (*self.payers.items(), *self.holders.items()):
            for account in cell.costs(payer):
                found[account] += cell.epsilon.nano
        return found

    def take_charged(self, cells: list[Cell], analyst: str) -> None:
        for cell in cells:
            if cell not in self.payers:
                # What was reserved is paid by the one it was reserved for.
                self.payers[cell] = self.holders.pop(cell, analyst)

    def take(
        self,
        found: PappiError | tuple[Series, ...],
        expected: type[PappiError] | None,
        cells: list[Cell],
        analyst: str,
    ) -> None:
        if isinstance(found, PappiError):
            assert expected is not None, found
            assert isinstance(found, expected)
        else:
            assert expected is None
            self.take_released(cells, analyst, [answer.value for answer in found[0].answers])

    def take_released(self, cells: list[Cell], analyst: str, values: list[float | None]) -> None:
        self.take_charged(cells, analyst)
        for cell, value in zip(cells, values, strict=True):
            # The first answer stays the answer, for everybody.
            assert self.values.setdefault(cell, value) == value

    @invariant()
    def accounts_are_what_the_model_says(self) -> None:
        if not hasattr(self, "payers"):
            return
        with LedgerSession(open_workspace(self.workspace.root)).ledger() as ledger:
            balances = ledger.balances(LOG)
            assert ledger.verify().ok
        used = self.used()
        found = {(a.block, a.analyst): b.used.nano for a, b in balances.items() if b.used != ZERO}
        assert found == {account: nano for account, nano in used.items() if nano}
        held = sum(cell.epsilon.nano for cell in self.holders)
        assert sum(b.held.nano for a, b in balances.items() if a.is_block) == held

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.workspace.close()
            self.folder.cleanup()


def _case(month: int, case: int) -> str:
    return f"case-{month}-{case}"


def _event(month: int, case: int) -> CapturedEvent:
    year, number = divmod(month, 12)
    return event_of(
        {
            "id": f"event-{month}-{case}",
            "case": _case(month, case),
            "activity": "Visit",
            "time": f"{2025 + year}-{number + 1:02}-15T12:00:00Z",
        }
    )


TestWorkspaceAgainstItsModel = WorkspaceAgainstItsModel.TestCase
TestWorkspaceAgainstItsModel.settings = settings(
    max_examples=length(6, 40), stateful_step_count=20, deadline=None
)
