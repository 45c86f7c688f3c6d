"""The logs one may ask about: what is public about each, and what is left to spend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element
from pappi.report.gauge import budget_gauge, budget_table
from pappi.report.wording import compared
from pappi.service.keys import Asking
from pappi.service.models import Name
from pappi.service.web.workbench.doors import door_of, workbench_page
from pappi.store.declarations import LogDeclaration
from pappi.workspace import Workspace

# A card shows how things stand lately; the log's own page shows all of it.
_LATEST = 12
_ROWS = 60

PageNumber = Annotated[int, Query(ge=1, le=10**6)]


@dataclass(frozen=True, slots=True)
class LogCard:
    """One log at a glance."""

    log: LogDeclaration
    lines: tuple[BudgetLine, ...]
    questions: int
    wanted_page: int = 1

    @property
    def gauge(self) -> Element:
        return budget_gauge(self.lines[-_LATEST:])

    @property
    def table(self) -> Element:
        """Pages are counted from the newest block; within a page time runs forwards."""
        end = len(self.lines) - (self.page - 1) * _ROWS
        return budget_table(self.lines[max(end - _ROWS, 0) : end])

    @property
    def page(self) -> int:
        return min(self.wanted_page, self.pages)

    @property
    def pages(self) -> int:
        return max(-(-len(self.lines) // _ROWS), 1)

    @property
    def whole_gauge(self) -> Element:
        return budget_gauge(self.lines)

    @property
    def protects(self) -> str:
        unit = self.log.unit
        return "each case" if unit.column is None else f"each “{unit.column}”"

    @property
    def compared(self) -> str:
        return compared([self.log.adjacency], self.log.unit)


class LogsDesk:
    """One method a page."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def overview(self, bearer: Asking) -> Response:
        """Every log one may ask about."""
        door = door_of(self._workspace, bearer)
        kept = door.kept()
        cards = [
            LogCard(log, door.budget(log.name), sum(each.log == log.name for each in kept))
            for log in door.logs()
        ]
        return workbench_page("overview.html", bearer, cards=cards, standing=door.standing())

    def log(self, log: Name, bearer: Asking, blocks: PageNumber = 1) -> Response:
        """What is public about a log."""
        door = door_of(self._workspace, bearer)
        kept = door.kept(log)
        card = LogCard(door.log(log), door.budget(log), len(kept), blocks)
        return workbench_page("log.html", bearer, card=card, kept=kept)
