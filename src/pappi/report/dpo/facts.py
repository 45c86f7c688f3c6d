"""What the data-protection pack is made from: facts of the ledger and of the declarations.

No event is among them, and no released value. The owner's side gathers them
(`custody/pack.py`); the document and its JSON only show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pappi.report.budgets import BudgetLine
from pappi.report.dpo.releases import ReleaseRow
from pappi.values.access import KeyRecord
from pappi.values.bounds import DefaultBounds
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.periods import Grid
from pappi.values.privacy import Adjacency, PrivacyUnit
from pappi.values.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Chain:
    """What verifying the ledger found; `problem` is empty if it verifies."""

    entries: int
    head: str
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was done, in words. Acts without a log concern the whole workspace."""

    seq: int
    at: str
    by: str
    what: str
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Erasure:
    """How much was erased and by what, never which. These numbers are exact: not for analysts."""

    at: str
    by: str
    kinds: tuple[str, ...]
    cases: int
    events: int


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody computed exact values: the first of the indicators, and of how many."""

    seq: int
    at: str
    by: str
    ppis: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Share:
    """An analyst who was granted a share of each block, or who has asked without one."""

    analyst: str
    per_block: Epsilon | None
    most_in_a_block: Epsilon


@dataclass(frozen=True, slots=True)
class LogFacts:
    """One log: what is declared about it, what was spent on it, what was done with it.

    `spent_in_all` adds up what every block has spent: what somebody with a case in each of
    them could lose. `source` is where the events are read if they are not in the workspace: much
    of what the workspace sees to itself, the source must then see to.
    """

    name: str
    timezone: str
    anchor: str
    blocks: Grid
    first: date
    until: date
    unit: PrivacyUnit
    adjacency: Adjacency
    block_budget: Epsilon
    total_budget: Epsilon | None
    expected_cases: int | None
    vocabulary: Vocabulary
    bounds: DefaultBounds
    source: str = ""
    accounts: tuple[BudgetLine, ...] = ()
    spent_in_all: Epsilon = ZERO
    shares: tuple[Share, ...] = ()
    releases: tuple[ReleaseRow, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    looks: tuple[Look, ...] = ()

    @property
    def spent_most(self) -> Epsilon:
        """What the most charged block has spent."""
        return max((line.spent for line in self.accounts), default=ZERO)

    @property
    def largest_release(self) -> Epsilon | None:
        """The largest ε of one release; None if nothing was charged yet."""
        charged = [row.epsilon_most for row in self.releases if row.charged]
        return max(charged, default=None)


@dataclass(frozen=True, slots=True)
class Pack:
    """Everything the document states. Of a ledger that does not verify, only that."""

    workspace: str
    chain: Chain
    logs: tuple[LogFacts, ...] = ()
    keys: tuple[KeyRecord, ...] = ()
    stopped: str | None = None
    acts: Sequence[Act] = ()
