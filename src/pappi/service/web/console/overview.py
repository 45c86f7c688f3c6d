"""Every log at a glance, what was asked lately, and the switch that stops it all."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from pappi.custody.door import Custody
from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element
from pappi.service.keys import Asking, Bearer
from pappi.service.web.console.charges import charge_rows
from pappi.service.web.console.desk import Desk, Done, PageNumber, back_to, log_address, said
from pappi.service.web.console.strips import strip
from pappi.service.web.console.wrongs import RIGHT, STATUS, Wrong, attempt
from pappi.service.web.forms import Sent
from pappi.store.declarations import LogDeclaration
from pappi.values.epsilon import Epsilon

_LOGS = 20
_BLOCKS = 36
_CELLS = 400
_ROWS = 12


class OverviewDesk(Desk):
    """The first page, and the stop switch on it."""

    def overview(self, bearer: Asking, done: Done = "", page: PageNumber = 1) -> Response:
        """Every log at a glance."""
        return self._shown(bearer, said(done), page)

    def stop(self, sent: Sent, bearer: Asking) -> Response:
        """Refuse every answer, until resumed."""
        wrong = attempt("stop", sent, lambda: self._door(bearer).stop(sent["reason"]))
        if wrong is RIGHT:
            # The banner is confirmation enough.
            return back_to("/console")
        return self._shown(bearer, wrong=wrong)

    def resume(self, bearer: Asking) -> Response:
        """Answer again."""
        self._door(bearer).resume()
        return back_to("/console", "resumed")

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, wrong: Wrong = RIGHT
    ) -> Response:
        door = self._door(bearer)
        logs = door.logs()
        here = logs[(page - 1) * _LOGS : page * _LOGS]
        latest = door.latest_charges(limit=_CELLS)
        return self._page(
            "overview.html",
            bearer,
            STATUS if wrong.form else 200,
            done=done,
            wrong=wrong,
            logs=[_card(log, door) for log in here],
            page=page,
            more=len(logs) > page * _LOGS,
            charges=charge_rows(latest.charges)[:_ROWS],
        )


@dataclass(frozen=True, slots=True)
class LogCard:
    """One log, in a few numbers."""

    name: str
    address: str
    sealed: str
    unit: str
    blocks: str
    tightest: BudgetLine | None
    used: Epsilon
    total: Epsilon | None
    strip: Element
    first: str
    last: str
    analysts: tuple[str, ...]


def _card(log: LogDeclaration, door: Custody) -> LogCard:
    spending = door.spending(log.name)
    lines = spending.lines[-_BLOCKS:]
    return LogCard(
        name=log.name,
        address=log_address(log.name),
        sealed="" if log.first == log.until else str(log.until),
        unit=str(log.unit),
        blocks=str(log.blocks),
        tightest=min(spending.lines, key=lambda line: line.left, default=None),
        used=spending.in_all.used,
        total=log.total_budget,
        strip=strip(lines),
        first=lines[0].block if lines else "",
        last=lines[-1].block if lines else "",
        analysts=tuple(one.analyst for one in spending.analysts if one.per_block is not None),
    )
