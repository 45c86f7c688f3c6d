"""Whatever is charged, reserved, cancelled, recorded, reopened or broken off, in any order:

no limit is ever exceeded, nothing is paid twice, and the ledger adds up to its model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pappi.errors import BudgetExceeded
from pappi.ledger import Account, Balance, Charge, KeyState, demand
from pappi.ledger.ledger import LedgerStep
from pappi.values import JSON, ZERO, Epsilon
from tests.ledgers import Database, new_place
from tests.lengths import length

pytestmark = pytest.mark.outside

BLOCKS = tuple(Account("hospital", f"2014-{month:02}") for month in range(1, 5))
ANALYSTS = ("", "ann", "bob")
OTHERS = (
    Account("hospital"),
    *(block._replace(analyst=name) for block in BLOCKS for name in ANALYSTS[1:]),
)


def release_cell(number: int) -> Charge:
    """Cell `number`: its price and blocks follow from its key; small prices often fit exactly."""
    touched = BLOCKS[number % 4 : number % 4 + 1 + number % 3]
    return Charge(f"cell {number}", touched, Epsilon(1 + number % 7), {"number": number})


def cells(numbers: list[int], analyst: str) -> list[Charge]:
    return [replace(release_cell(number), analyst=analyst) for number in numbers]


NUMBERS = st.lists(st.integers(0, 9), min_size=1, max_size=4)
# Wide enough that a run gets somewhere, narrow enough that it ends in refusals.
LIMITS = st.fixed_dictionaries(
    {block: st.integers(8, 25) for block in BLOCKS},
    optional={account: st.integers(3, 20) for account in OTHERS},
)
CALM = [None] * 6


KEY = b"k" * 32
ACT: tuple[str, dict[str, JSON]] = ("stand", {})


class Crash(Exception):
    """Ends what the ledger is doing, wherever it stands."""


class LedgerAgainstItsModel(RuleBasedStateMachine):
    """The model is three dicts and sums over them: too simple to be wrong."""

    database: ClassVar[Database] = "sqlite"

    @initialize(limits=LIMITS)
    def create(self, limits: dict[Account, int]) -> None:
        self.things = ExitStack()
        folder = self.things.enter_context(tempfile.TemporaryDirectory())
        self.place = self.things.enter_context(new_place(self.database, Path(folder)))
        self.crash_at: LedgerStep | None = None
        self.ledger = self.place.create(on_step=self.on_step)
        self.limits = {account: Epsilon(nano) for account, nano in limits.items()}
        self.held: dict[str, Charge] = {}
        self.paid: dict[str, Charge] = {}
        self.released: dict[str, int] = {}

    def on_step(self, step: str) -> None:
        if step == self.crash_at:
            raise Crash

    @rule(
        numbers=NUMBERS,
        analyst=st.sampled_from(ANALYSTS),
        crash_at=st.sampled_from(
            [
                *CALM,
                LedgerStep.CHARGE_CHECKED,
                LedgerStep.CHARGE_WRITTEN,
                LedgerStep.CHARGE_COMMITTED,
            ]
        ),
    )
    def charge(self, numbers: list[int], analyst: str, crash_at: LedgerStep | None) -> None:
        charges = cells(numbers, analyst)
        before = self.states(charges)
        if self.happens(lambda: self.ledger.charge(charges, self.limits), charges, crash_at):
            for charge in charges:
                if before[charge.key] in (KeyState.NEW, KeyState.RESERVED):
                    self.paid.setdefault(charge.key, self.held.pop(charge.key, charge))

    @rule(numbers=NUMBERS, analyst=st.sampled_from(ANALYSTS))
    def reserve(self, numbers: list[int], analyst: str) -> None:
        charges = cells(numbers, analyst)
        before = self.states(charges)
        if self.happens(lambda: self.ledger.reserve(charges, self.limits, ACT), charges, None):
            new = [one for one in charges if before[one.key] is KeyState.NEW]
            self.held |= {charge.key: charge for charge in new}

    def happens(
        self, act: Callable[[], object], charges: list[Charge], crash_at: LedgerStep | None
    ) -> bool:
        """Whether it has happened; it is refused exactly if the model says that it does not fit."""
        before, fits, self.crash_at = self.states(charges), self.fit(charges), crash_at
        try:
            assert act() == before
        except BudgetExceeded:
            assert not fits
            return False
        except Crash:
            assert fits
            return crash_at is LedgerStep.CHARGE_COMMITTED
        finally:
            self.crash_at = None
        assert fits
        return True

    def fit(self, charges: list[Charge]) -> bool:
        """Limits never change here, so that what was once reserved always fits."""
        known = self.paid | self.held
        new = {charge.key: charge for charge in charges if charge.key not in known}
        used = demand(known.values())
        return all(
            used.get(account, ZERO) + asked <= self.limits[account]
            for account, asked in demand(new.values()).items()
            if account in self.limits
        )

    @rule(numbers=NUMBERS, analyst=st.sampled_from(ANALYSTS))
    def cancel(self, numbers: list[int], analyst: str) -> None:
        keys = {release_cell(number).key for number in numbers}
        own = {key for key in keys & self.held.keys() if self.held[key].analyst == analyst}
        assert self.ledger.cancel(keys, analyst, ACT) == len(own)
        for key in own:
            del self.held[key]

    @rule(
        numbers=NUMBERS,
        value=st.integers(),
        crash_at=st.sampled_from([*CALM, LedgerStep.RESULT_WRITTEN, LedgerStep.RESULT_COMMITTED]),
    )
    def record(self, numbers: list[int], value: int, crash_at: LedgerStep | None) -> None:
        keys = {release_cell(number).key for number in numbers} & self.paid.keys()
        results, self.crash_at = dict.fromkeys(keys, value), crash_at
        after = results | self.released
        try:
            assert self.ledger.record(results) == {key: after[key] for key in results}
        except Crash:
            after = after if crash_at is LedgerStep.RESULT_COMMITTED else self.released
        finally:
            self.crash_at = None
        self.released = after

    @rule(snapshot=st.booleans())
    def reopen(self, snapshot: bool) -> None:  # noqa: FBT001 - hypothesis hands it over
        """From the snapshot that was kept last, wherever in the story that was."""
        self.ledger.close()
        self.ledger = self.place.open(on_step=self.on_step, key=KEY)
        if snapshot:
            self.ledger.keep_snapshot({})

    @invariant()
    def the_ledger_is_what_the_model_says_and_within_its_limits(self) -> None:
        spent, held = demand(self.paid.values()), demand(self.held.values())
        found = self.ledger.balances("hospital")
        for account in {*spent, *held, *found, *self.limits}:
            balance = found.get(account, Balance())
            assert balance == Balance(spent.get(account, ZERO), held.get(account, ZERO))
            assert account not in self.limits or balance.used <= self.limits[account]
        assert self.ledger.results(self.paid) == self.released
        assert self.ledger.verify().ok

    def states(self, charges: Iterable[Charge]) -> dict[str, KeyState]:
        return {charge.key: self.state_of(charge.key) for charge in charges}

    def state_of(self, key: str) -> KeyState:
        if key in self.released:
            return KeyState.RELEASED
        if key in self.paid:
            return KeyState.PENDING
        return KeyState.RESERVED if key in self.held else KeyState.NEW

    def teardown(self) -> None:
        self.ledger.close()
        self.things.close()


class PostgresLedgerAgainstItsModel(LedgerAgainstItsModel):
    database: ClassVar[Database] = "postgres"


TestLedgerAgainstItsModel = LedgerAgainstItsModel.TestCase
TestLedgerAgainstItsModel.settings = settings(
    max_examples=length(20, 100), stateful_step_count=25, deadline=None
)

TestPostgresLedgerAgainstItsModel = PostgresLedgerAgainstItsModel.TestCase
TestPostgresLedgerAgainstItsModel.settings = settings(
    max_examples=length(4, 20), stateful_step_count=25, deadline=None
)
