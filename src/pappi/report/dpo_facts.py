"""What the data-protection pack is made from: facts of the ledger and of the declarations.

No event is among them, and no released value. Custody gathers them (`custody/trail.py`); the
document and its JSON only show them.

A query about two years of months is charged in 24 cells; they make one row. If even the
queries are too many to read, rows are grouped further: by PPI, by mechanism, by analyst. No
charge is ever left out: rows get coarser instead.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from pappi.values import (
    JSON,
    ZERO,
    BudgetLine,
    Epsilon,
    KeyRecord,
    PublicLog,
    Terms,
)

_LEVELS: tuple[Callable[[RecordedCell], Hashable], ...] = (
    lambda cell: (cell.query, cell.ppi, cell.analyst, cell.mechanism),
    lambda cell: (cell.ppi, cell.analyst, cell.mechanism),
    lambda cell: (cell.analyst, cell.mechanism),
    lambda cell: cell.analyst,
    lambda _cell: None,
)


@dataclass(frozen=True, slots=True)
class Chain:
    """The result of verifying the ledger; `problem` is empty if it verifies."""

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
    """How much was erased and how it was selected, never what. Exact, so not for analysts."""

    at: str
    by: str
    kinds: tuple[str, ...]
    cases: int
    events: int


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody viewed exact values: the first few indicators, and how many there were."""

    seq: int
    at: str
    by: str
    ppis: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Share:
    """An analyst's share of each block, and what they have spent, in how many blocks.

    `per_block` is None if the analyst was never granted a share, or no longer has one.
    """

    analyst: str
    per_block: Epsilon | None
    most_in_a_block: Epsilon
    blocks: int


MOST_ROWS = 1_000
# What differs between the cells of one query: its name, and its time.
_OF_THE_CELL = frozenset({"ppi", "periods", "sealed"})


class State(StrEnum):
    """How far a cell has come; its ε is spent as soon as it is charged."""

    RELEASED = "released"
    INCOMPLETE = "charged, no result recorded"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class RecordedCell:
    """One cell of the ledger, charged or reserved.

    `query` is a digest that tells queries with the same name apart.
    """

    log: str
    query: str
    ppi: str
    analyst: str
    mechanism: str
    amount: Epsilon
    at: str
    first: date
    end: date
    blocks: tuple[str, ...]
    state: State


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """Cells shown in one row. `block_most` is what they cost the most charged block."""

    ppis: tuple[str, ...]
    queries: int
    analysts: tuple[str, ...]
    mechanisms: tuple[str, ...]
    asked_first: str
    asked_last: str
    first: date
    end: date
    epsilon_least: Epsilon
    epsilon_most: Epsilon
    block_most: Epsilon
    released: int
    incomplete: int
    reserved: int

    @property
    def charged(self) -> int:
        return self.released + self.incomplete

    @property
    def cells(self) -> int:
        return self.charged + self.reserved


def rows_of(cells: Sequence[RecordedCell], most: int = MOST_ROWS) -> tuple[ReleaseRow, ...]:
    """The cells in at most `most` rows, in the order of the first cell of each."""
    groups: dict[Hashable, list[RecordedCell]] = {}
    for level in _LEVELS:
        groups = {}
        for cell in cells:
            groups.setdefault(level(cell), []).append(cell)
        if len(groups) <= most:
            break
    return tuple(map(_row, groups.values()))


def _row(cells: Sequence[RecordedCell]) -> ReleaseRow:
    states = Counter(cell.state for cell in cells)
    amounts = [cell.amount for cell in cells]
    return ReleaseRow(
        ppis=_distinct(cell.ppi for cell in cells),
        queries=len({cell.query for cell in cells}),
        analysts=_distinct(cell.analyst for cell in cells),
        mechanisms=_distinct(cell.mechanism for cell in cells),
        asked_first=min(cell.at for cell in cells),
        asked_last=max(cell.at for cell in cells),
        first=min(cell.first for cell in cells),
        end=max(cell.end for cell in cells),
        epsilon_least=min(amounts),
        epsilon_most=max(amounts),
        block_most=most_in_a_block((cell.blocks, cell.amount) for cell in cells),
        released=states[State.RELEASED],
        incomplete=states[State.INCOMPLETE],
        reserved=states[State.RESERVED],
    )


def most_in_a_block(cells: Iterable[tuple[Iterable[str], Epsilon]]) -> Epsilon:
    """What cells, each with its blocks and its price, cost the most charged block.

    >>> most_in_a_block([(["May"], Epsilon(1)), (["May", "June"], Epsilon(2))])
    Epsilon(nano=3)
    """
    sums: Counter[str] = Counter()
    for blocks, amount in cells:
        for block in blocks:
            sums[block] += amount.nano
    return Epsilon(max(sums.values()))


def query_digest(query: Mapping[str, JSON]) -> str:
    """The same for all cells of one query, whatever its name, and different for any other."""
    shared = {name: item for name, item in query.items() if name not in _OF_THE_CELL}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """One log: what is declared about it, what was spent on it, what was done with it.

    `spent_in_all` adds up what every block has spent: what somebody with a case in each of
    them could lose. `source` is where the events are read if they are not in the workspace: the
    source is then responsible for much that the workspace would ensure. If the log was `removed`,
    its events are gone, and its record stays.
    """

    public: PublicLog
    source: str = ""
    removed: bool = False
    accounts: tuple[BudgetLine, ...] = ()
    spent_in_all: Epsilon = ZERO
    shares: tuple[Share, ...] = ()
    releases: tuple[ReleaseRow, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    looks: tuple[Look, ...] = ()

    @property
    def terms(self) -> Terms:
        return self.public.terms

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
    """Everything the document states. If the ledger does not verify, only that."""

    workspace: str
    chain: Chain
    logs: tuple[LogFacts, ...] = ()
    keys: tuple[KeyRecord, ...] = ()
    stopped: str | None = None
    acts: Sequence[Act] = ()
