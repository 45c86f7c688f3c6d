"""Every log at a glance, the latest charges, and the stop switch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.responses import Response

from pappi.custody import Custody
from pappi.report import Element, budget_text, el, painted
from pappi.service.keys import Asking, Bearer
from pappi.service.web.console.record import charge_rows
from pappi.service.web.console.view import ConsoleView, Done, back_to, log_address, said
from pappi.service.web.forms import NO_ERROR, STATUS, FormError, Sent, attempt
from pappi.service.web.rendering import PageNumber
from pappi.store import LogDeclaration
from pappi.values import BudgetLine

_HEIGHT = 44
_SLOT = 10
_GAP = 2
# Few blocks keep the width of a column instead of growing into slabs.
_LEAST = 12


def budget_strip(lines: Sequence[BudgetLine]) -> Element:
    """Of each block, from below: what is spent, what is held, and what is left."""
    return el(
        "svg",
        painted("path", "unspent", d=_columns(1.0 for _ in lines)),
        painted("path", "band", d=_columns(map(_used, lines)), fill_opacity=0.45),
        painted("path", "spent", d=_columns(line.share for line in lines)),
        class_="strip",
        viewBox=f"0 0 {_SLOT * max(len(lines), _LEAST)} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=budget_text(lines),
    )


def _used(line: BudgetLine) -> float:
    """Spent and held, as a share of the limit."""
    whole = line.spent.nano + line.held.nano
    return min(whole / line.limit.nano, 1.0) if line.limit.nano else 1.0


def _columns(shares: Iterable[float]) -> str:
    parts = []
    for number, share in enumerate(shares):
        high = round(_HEIGHT * share, 1)
        if high:
            left = number * _SLOT + _GAP / 2
            parts.append(f"M{left:g} {_HEIGHT}v-{high:g}h{_SLOT - _GAP}v{high:g}z")
    return "".join(parts)


_LOGS = 20
_BLOCKS = 36
_CELLS = 400
_ROWS = 12


class OverviewView(ConsoleView):
    """The first page, and the stop switch on it."""

    def overview(self, bearer: Asking, done: Done = "", page: PageNumber = 1) -> Response:
        """Every log at a glance."""
        return self._shown(bearer, said(done), page)

    def stop(self, sent: Sent, bearer: Asking) -> Response:
        """Refuse every answer, until resumed."""
        form_error = attempt("stop", sent, lambda: self._custody(bearer).stop(sent["reason"]))
        if form_error is NO_ERROR:
            # The banner is confirmation enough.
            return back_to("/console")
        return self._shown(bearer, form_error=form_error)

    def resume(self, bearer: Asking) -> Response:
        """Answer again."""
        self._custody(bearer).resume()
        return back_to("/console", "resumed")

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, form_error: FormError = NO_ERROR
    ) -> Response:
        custody = self._custody(bearer)
        logs = custody.logs()
        here = logs[(page - 1) * _LOGS : page * _LOGS]
        latest = custody.latest_charges(limit=_CELLS)
        return self._page(
            "overview.html",
            bearer,
            STATUS if form_error.form else 200,
            done=done,
            form_error=form_error,
            logs=[_card(log, custody) for log in here],
            page=page,
            more=len(logs) > page * _LOGS,
            charges=charge_rows(latest.charges)[:_ROWS],
        )


def _card(log: LogDeclaration, custody: Custody) -> dict[str, object]:
    """One log, in a few numbers."""
    spending = custody.spending(log.name)
    lines = spending.lines[-_BLOCKS:]
    return {
        "name": log.name,
        "address": log_address(log.name),
        "sealed": "" if log.public.first == log.public.until else str(log.public.until),
        "unit": str(log.terms.unit),
        "blocks": str(log.terms.blocks),
        "tightest": min(spending.lines, key=lambda line: line.left, default=None),
        "used": spending.in_all.used,
        "total": log.terms.total_budget,
        "strip": budget_strip(lines),
        "first": lines[0].block if lines else "",
        "last": lines[-1].block if lines else "",
        "analysts": [one.analyst for one in spending.analysts if one.per_block is not None],
    }
