"""One log: who may ask about it and spend how much, and how far it is sealed."""

from __future__ import annotations

from datetime import date

from starlette.responses import Response

from pappi.custody.sealing import Sealed, check_until
from pappi.errors import UsageError
from pappi.service.keys import Asking, Bearer
from pappi.service.standing import run_standing
from pappi.service.web.console.desk import (
    Before,
    Done,
    PageNumber,
    back_to,
    log_address,
    said,
)
from pappi.service.web.console.log_page import LogPage, Place
from pappi.service.web.console.wrongs import RIGHT, STATUS, Wrong, attempt, day_in
from pappi.service.web.forms import Form, Sent
from pappi.store.declarations import today
from pappi.values.epsilon import Epsilon


class LogDesk(LogPage):
    """A log, and every form about it but deletion."""

    def log(
        self,
        log: str,
        bearer: Asking,
        done: Done = "",
        blocks: PageNumber = 1,
        analysts: PageNumber = 1,
        before: Before = None,
    ) -> Response:
        """Declarations, budgets, analysts and charges of a log."""
        place = Place(blocks, analysts, before)
        return self._log_page(log, bearer, done=said(done), place=place)

    def grant(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Set what each block of a log, and all together, may spend."""

        def act() -> None:
            total = amount_in(sent["total"]) if sent["total"] else None
            self._door(bearer).grant(log, amount_in(sent["per_block"]), total)

        return self._after(log, bearer, attempt("budget", sent, act), "granted")

    def grant_analyst(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Let an analyst ask about a log, and spend so much of each block."""

        def act() -> None:
            amount = amount_in(sent["per_block"])
            self._door(bearer).grant_analyst(log, sent["analyst"], amount)

        return self._after(log, bearer, attempt("analyst", sent, act), "shared")

    def withdraw(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Let an analyst no longer ask about a log."""
        self._workspace.withdraw(log, sent["analyst"], bearer.name)
        return back_to(log_address(log), "withdrawn")

    def seal(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Ask whether time is to be sealed up to a day; with the box ticked, seal it."""
        found: list[date] = []
        wrong = attempt("seal", sent, lambda: found.append(self._sealable(log, sent, bearer)))
        if wrong is not RIGHT:
            return self._log_page(log, bearer, wrong=wrong)
        if sent["sure"] == "yes":
            return self._seal(log, sent, bearer, found[0])
        unticked = sent["step"] == "second"
        return self._page(
            "seal.html",
            bearer,
            STATUS if unticked else 200,
            log=self._door(bearer).log(log),
            address=log_address(log),
            until=found[0],
            unticked=unticked,
        )

    def _sealable(self, log: str, sent: Form, bearer: Bearer) -> date:
        """The day that is named, if the log can be sealed up to it."""
        door = self._door(bearer)
        until, declared = day_in(sent["until"], "to seal up to"), door.log(log)
        if not door.grows(log):
            raise UsageError(
                "this log was imported, and nothing was captured since",
                hint="empty time would be added for good; if that is meant: pappi log seal --until",
            )
        check_until(declared, until, today(declared.zone))
        return until

    def _seal(self, log: str, sent: Form, bearer: Bearer, until: date) -> Response:
        """Seal; then answer what stood waiting for it."""
        found: list[Sealed] = []
        door = self._door(bearer)
        wrong = attempt("seal", sent, lambda: found.append(door.seal(log, until)))
        if wrong is not RIGHT:
            return self._log_page(log, bearer, wrong=wrong)
        return self._log_page(log, bearer, sealed=found[0], standing=run_standing(self._workspace))

    def _after(self, log: str, bearer: Bearer, wrong: Wrong, done: str) -> Response:
        if wrong is RIGHT:
            return back_to(log_address(log), done)
        return self._log_page(log, bearer, wrong=wrong)


def amount_in(text: str) -> Epsilon:
    """An ε as it was typed."""
    if not text or len(text) > 20:
        raise UsageError("a budget is a number of ε", hint="write e.g. 0.5")
    return Epsilon.of(text)
