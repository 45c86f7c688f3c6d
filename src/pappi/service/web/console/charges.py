"""Charges as rows that can be read: the cells of one question, charged in a row, are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pappi.custody.spending import Charged, ChargePage
from pappi.report.dpo.releases import most_in_a_block, question_digest
from pappi.report.plain import shortened
from pappi.service.web.console.desk import PAGE, log_address, shown_time
from pappi.values.epsilon import Epsilon

CELLS = 500
"""Cells fetched for a page: a question over many periods has as many."""
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """Cells of one question that one analyst asked for at once.

    `pending` of them have no result on record; `epsilon` is the most they cost a block.
    """

    seq: int
    at: str
    time: str
    analyst: str
    ppi: str
    log: str
    address: str
    mechanisms: str
    epsilon: Epsilon
    blocks: str
    cells: int
    pending: int


def charge_rows(charges: Sequence[Charged]) -> list[ChargeRow]:
    """From charges, newest first; rows are newest first, too."""
    return [_row(list(cells)) for _, cells in groupby(charges, _alike)]


def charges_page(found: ChargePage) -> tuple[list[ChargeRow], int | None]:
    """The rows of one page, and before which entry the next one begins."""
    rows = charge_rows(found.charges)
    if len(rows) > PAGE:
        return rows[:PAGE], rows[PAGE - 1].seq
    return rows, found.older


def _alike(charged: Charged) -> tuple[str, str, str, int, str]:
    """A name is the analyst's choice: other questions under the same one are other rows."""
    charge = charged.charge
    question = question_digest(charge.question)
    return charge.log, charge.analyst, _ppi(charged), charge.amount.nano, question


def _row(cells: Sequence[Charged]) -> ChargeRow:
    newest, charge = cells[0], cells[0].charge
    return ChargeRow(
        seq=cells[-1].seq,
        at=newest.at,
        time=shown_time(newest.at),
        analyst=charge.analyst,
        ppi=shortened(_ppi(newest), _LONGEST_NAME),
        log=charge.log,
        address=log_address(charge.log),
        mechanisms=_mechanisms(newest),
        epsilon=most_in_a_block((_blocks(cell), cell.charge.amount) for cell in cells),
        blocks=_span([block for cell in cells for block in _blocks(cell)]),
        cells=len(cells),
        pending=sum(not cell.released for cell in cells),
    )


def _blocks(charged: Charged) -> list[str]:
    return [account.block for account in charged.charge.accounts]


def _span(blocks: Sequence[str]) -> str:
    """Labels of one grid sort as the time they stand for."""
    first, last, count = min(blocks), max(blocks), len(set(blocks))
    return first if count == 1 else f"{first} … {last} ({count:,})"


def _ppi(charged: Charged) -> str:
    return str(charged.charge.question["ppi"])


def _mechanisms(charged: Charged) -> str:
    return ", ".join(dict.fromkeys(_each_mechanism(charged.charge.question)))


def _each_mechanism(question: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    return (str(part["mechanism"]) for part in question["parts"])
