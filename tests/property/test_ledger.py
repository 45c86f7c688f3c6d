"""Whatever is charged, recorded and reopened in whatever order: no limit is ever exceeded."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pappi.budget.accounts import Account, Charge, KeyState, demand
from pappi.errors import BudgetExceeded
from pappi.store.ledger import SqliteLedger
from pappi.values.epsilon import ZERO, Epsilon

BLOCKS = tuple(Account("hospital", f"2014-{month:02}") for month in range(1, 5))


def release_cell(number: int) -> Charge:
    """Cell `number`: its price and blocks follow from its key; small prices often fit exactly."""
    touched = BLOCKS[number % 4 : number % 4 + 1 + number % 3]
    return Charge(f"cell {number}", touched, Epsilon(1 + number % 7), {"number": number})


CELLS = st.integers(0, 40).map(release_cell)


class LedgerAgainstItsModel(RuleBasedStateMachine):
    """The model is two dicts and a sum over them: too simple to be wrong."""

    @initialize(limits=st.fixed_dictionaries({block: st.integers(0, 25) for block in BLOCKS}))
    def create(self, limits: dict[Account, int]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.ledger = SqliteLedger.create(self.path)
        self.limits = {block: Epsilon(nano) for block, nano in limits.items()}
        self.paid: dict[str, Charge] = {}
        self.released: dict[str, int] = {}

    @rule(charges=st.lists(CELLS, max_size=6))
    def charge(self, charges: list[Charge]) -> None:
        before = {charge.key: self.state_of(charge.key) for charge in charges}
        wanted = self.paid | {charge.key: charge for charge in charges}
        fits = all(
            asked <= self.limits[block] for block, asked in demand(wanted.values()).items()
        ) or all(state is not KeyState.NEW for state in before.values())
        try:
            assert self.ledger.charge(charges, self.limits) == before
            assert fits
            self.paid = wanted
        except BudgetExceeded:
            assert not fits

    @rule(charges=st.lists(CELLS, max_size=3), value=st.integers())
    def record(self, charges: list[Charge], value: int) -> None:
        results = {charge.key: value for charge in charges if charge.key in self.paid}
        self.released = results | self.released
        assert self.ledger.record(results) == {key: self.released[key] for key in results}

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = SqliteLedger.open(self.path)

    @invariant()
    def the_ledger_is_what_the_model_says_and_within_its_limits(self) -> None:
        spent = self.ledger.spent("hospital")
        assert spent == demand(self.paid.values())
        assert all(spent.get(block, ZERO) <= limit for block, limit in self.limits.items())
        assert self.ledger.results(self.paid) == self.released
        assert self.ledger.verify().ok

    def state_of(self, key: str) -> KeyState:
        if key in self.released:
            return KeyState.RELEASED
        return KeyState.PENDING if key in self.paid else KeyState.NEW

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()


TestLedgerAgainstItsModel = LedgerAgainstItsModel.TestCase
TestLedgerAgainstItsModel.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None
)
