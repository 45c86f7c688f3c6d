"""Every release of a log as rows that people can read.

A question about two years of months is charged in 24 cells; they make one row. If even the
questions are too many to read, rows are drawn together further: by PPI, by mechanism, by
analyst. No charge is ever left out: rows get coarser instead.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from pappi.values.epsilon import Epsilon
from pappi.values.plain_data import JSON

MOST_ROWS = 1_000

# What differs between the cells of one question: its name is shown, its time in the row.
_OF_THE_CELL = frozenset({"ppi", "periods", "sealed"})


class State(StrEnum):
    """How far a cell has come; its ε is spent as soon as it is charged."""

    RELEASED = "released"
    INCOMPLETE = "charged, no result on record"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Asked:
    """One cell: charged, or reserved for later, as it stands in the ledger.

    `question` tells apart what else was asked under the same name.
    """

    log: str
    question: str
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
    """Cells drawn together. `block_most` is what they cost the block they cost most."""

    ppis: tuple[str, ...]
    questions: int
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


_LEVELS: tuple[Callable[[Asked], Hashable], ...] = (
    lambda asked: (asked.question, asked.ppi, asked.analyst, asked.mechanism),
    lambda asked: (asked.ppi, asked.analyst, asked.mechanism),
    lambda asked: (asked.analyst, asked.mechanism),
    lambda asked: asked.analyst,
    lambda _asked: None,
)


def rows_of(asked: Sequence[Asked], most: int = MOST_ROWS) -> tuple[ReleaseRow, ...]:
    """The cells in as many rows as can be read, in the order in which they were first asked."""
    grouped: list[list[Asked]] = []
    for level in _LEVELS:
        grouped = _grouped(asked, level)
        if len(grouped) <= most:
            break
    return tuple(map(_row, grouped))


def _grouped(asked: Iterable[Asked], level: Callable[[Asked], Hashable]) -> list[list[Asked]]:
    groups: dict[Hashable, list[Asked]] = {}
    for one in asked:
        groups.setdefault(level(one), []).append(one)
    return list(groups.values())


def _row(cells: Sequence[Asked]) -> ReleaseRow:
    states = Counter(cell.state for cell in cells)
    amounts = [cell.amount for cell in cells]
    return ReleaseRow(
        ppis=_distinct(cell.ppi for cell in cells),
        questions=len({cell.question for cell in cells}),
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
    """What cells, each with its blocks and its price, cost the block they cost most.

    >>> most_in_a_block([(["May"], Epsilon(1)), (["May", "June"], Epsilon(2))])
    Epsilon(nano=3)
    """
    sums: Counter[str] = Counter()
    for blocks, amount in cells:
        for block in blocks:
            sums[block] += amount.nano
    return Epsilon(max(sums.values()))


def question_digest(question: Mapping[str, JSON]) -> str:
    """What the cells of one question share, whatever it is called; no two questions do."""
    shared = {name: item for name, item in question.items() if name not in _OF_THE_CELL}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
