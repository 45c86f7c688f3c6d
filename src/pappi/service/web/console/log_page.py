"""The page of one log, which every form about it comes back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from pappi.custody.door import Custody
from pappi.custody.sealing import Sealed
from pappi.custody.spending import Spending
from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element
from pappi.report.gauge import budget_gauge, budget_table
from pappi.service.keys import Bearer
from pappi.service.web.console.charges import CELLS, charges_page
from pappi.service.web.console.desk import PAGE, Desk, log_address
from pappi.service.web.console.log_facts import facts_of, vocabulary_of
from pappi.service.web.console.wrongs import RIGHT, STATUS, Wrong
from pappi.store.declarations import LogDeclaration


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the page's long lists one is: pages of blocks and of analysts, and charges
    before an entry."""

    blocks: int = 1
    analysts: int = 1
    before: int | None = None


START = Place()


@dataclass(frozen=True, slots=True)
class Blocks:
    """Some of the blocks of a log, the newest on the first page."""

    gauge: Element
    table: Element
    page: int
    pages: int


class LogPage(Desk):
    """Shows a log; the desks made of this change it."""

    def _log_page(
        self,
        log: str,
        bearer: Bearer,
        *,
        done: str = "",
        place: Place = START,
        wrong: Wrong = RIGHT,
        sealed: Sealed | None = None,
        standing: int = 0,
    ) -> Response:
        door = self._door(bearer)
        declared = door.log(log)
        return self._page(
            "log.html",
            bearer,
            STATUS if wrong.form else 200,
            done=done,
            wrong=wrong,
            sealed=sealed,
            standing=standing,
            **_declared(declared),
            grows=door.grows(log),
            **_spent(door.spending(log), place),
            **_charged(door, log, place),
        )


def _declared(log: LogDeclaration) -> dict[str, object]:
    return {
        "log": log,
        "address": log_address(log.name),
        "facts": facts_of(log),
        "vocabulary": vocabulary_of(log),
    }


def _spent(spending: Spending, place: Place) -> dict[str, object]:
    return {
        "tightest": min(spending.lines, key=lambda line: line.left, default=None),
        "used": spending.in_all.used,
        "blocks": _blocks(spending.lines, place.blocks),
        "analysts": spending.analysts[(place.analysts - 1) * PAGE : place.analysts * PAGE],
        "analysts_page": place.analysts,
        "more_analysts": len(spending.analysts) > place.analysts * PAGE,
    }


def _charged(door: Custody, log: str, place: Place) -> dict[str, object]:
    rows, older = charges_page(door.latest_charges(log, place.before, CELLS))
    return {"charges": rows, "older": older, "later": place.before is not None}


def _blocks(lines: Sequence[BudgetLine], page: int) -> Blocks | None:
    """Pages are counted from the newest block; within a page time runs forwards."""
    pages = -(-len(lines) // PAGE)
    page = max(min(page, pages), 1)
    end = len(lines) - (page - 1) * PAGE
    shown = lines[max(end - PAGE, 0) : end]
    return Blocks(budget_gauge(shown), budget_table(shown), page, pages) if shown else None
