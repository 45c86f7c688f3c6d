"""The logs an analyst may query: what is public about each, and the remaining budget."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from pappi.report import Element, budget_gauge, compared, describe_log, horizon_text
from pappi.service.keys import Asking
from pappi.service.models import Name
from pappi.service.web.rendering import PageNumber, block_page
from pappi.service.web.workbench.view import View
from pappi.values import BudgetLine, PublicLog

# A card shows the latest blocks; the log's own page shows all of them.
_LATEST = 12
_ROWS = 60


@dataclass(frozen=True, slots=True)
class LogCard:
    """One log at a glance."""

    log: PublicLog
    lines: tuple[BudgetLine, ...]
    queries: int = 0

    @property
    def gauge(self) -> Element:
        return budget_gauge(self.lines[-_LATEST:])

    @property
    def whole_gauge(self) -> Element:
        return budget_gauge(self.lines)

    @property
    def protects(self) -> str:
        unit = self.log.terms.unit
        return "each case" if unit.column is None else f"each “{unit.column}”"

    @property
    def compared(self) -> str:
        return compared([self.log.terms.adjacency], self.log.terms.unit)

    @property
    def days(self) -> str:
        return horizon_text(self.log)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        return describe_log(self.log)


class LogsView(View):
    """One method per page."""

    def overview(self, bearer: Asking) -> Response:
        """Every log the analyst may query."""
        session = bearer.session_in(self._workspace)
        about = [query.log for query in session.saved()]
        cards = [
            LogCard(log, session.budget(log.name), about.count(log.name)) for log in session.logs()
        ]
        subscriptions = session.subscriptions()
        return self._page("overview.html", bearer, cards=cards, subscriptions=subscriptions)

    def log(self, log: Name, bearer: Asking, blocks: PageNumber = 1) -> Response:
        """What is public about a log."""
        session = bearer.session_in(self._workspace)
        card = LogCard(session.log(log), session.budget(log))
        return self._page(
            "log.html", bearer, card=card, blocks=block_page(card.lines, blocks, _ROWS)
        )
