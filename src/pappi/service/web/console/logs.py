"""One log: what is declared, budgets, analysts, charges, sealing, and deletion in two steps.

What is sealed or deleted cannot be undone by a click, so a page first shows again what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from starlette.responses import Response

from pappi.custody import Erased, Sealed, check_until
from pappi.errors import UsageError
from pappi.report import attributes_with_kinds, describe_log, printable, shortened
from pappi.service.keys import Asking, Bearer
from pappi.service.routes import run_subscriptions
from pappi.service.web.console.record import CELLS, charges_page
from pappi.service.web.console.view import (
    PAGE,
    Before,
    ConsoleView,
    Done,
    back_to,
    log_address,
    said,
)
from pappi.service.web.forms import NO_ERROR, STATUS, Form, FormError, Sent, attempt, day_in
from pappi.service.web.rendering import PageNumber, block_page
from pappi.store import LogDeclaration, today
from pappi.values import Epsilon, PublicLog

# Limits of a page: names of a kind, and characters of each text; the declaration has them all.
_MOST_NAMES = 200
_LONGEST_NAME = 60
_LONGEST_FACT = 1_500
# Names to delete: how many are shown, and how many fit into a page that asks to confirm them.
_MOST_SHOWN = 20
_MOST_ERASED = 1_000
_LONGEST_ERASED = 20_000


def _declared(log: LogDeclaration) -> dict[str, object]:
    facts = describe_log(log.public)
    return {
        "log": log,
        "address": log_address(log.name),
        "facts": [(label, shortened(text, _LONGEST_FACT)) for label, text in facts],
        "vocabulary": vocabulary_of(log.public),
    }


def vocabulary_of(log: PublicLog) -> list[tuple[str, int, list[str]]]:
    """Public names: of which kind, how many, and the first of them."""
    words = log.vocabulary
    kinds: tuple[tuple[str, Sequence[str]], ...] = (
        ("activities", words.activities),
        ("attributes", attributes_with_kinds(words)),
        (
            "public partitions",
            [f"{name}: {key}" for name, values in words.keys.items() for key in values],
        ),
    )
    return [
        (kind, len(names), [shortened(name, _LONGEST_NAME) for name in names[:_MOST_NAMES]])
        for kind, names in kinds
        if names
    ]


class LogView(ConsoleView):
    """A log, and every form about it."""

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
        return self._shown(
            log, bearer, done=said(done), blocks=blocks, analysts=analysts, before=before
        )

    def grant(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Set what each block of a log, and all together, may spend."""

        def act() -> None:
            total = amount_in(sent["total"]) if sent["total"] else None
            self._custody(bearer).grant(log, amount_in(sent["per_block"]), total)

        return self._after(log, bearer, attempt("budget", sent, act), "granted")

    def grant_analyst(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Let an analyst ask about a log, and spend so much of each block."""

        def act() -> None:
            amount = amount_in(sent["per_block"])
            self._custody(bearer).grant_analyst(log, sent["analyst"], amount)

        return self._after(log, bearer, attempt("analyst", sent, act), "shared")

    def withdraw(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Let an analyst no longer ask about a log."""
        self._workspace.withdraw(log, sent["analyst"], bearer.name)
        return back_to(log_address(log), "withdrawn")

    def seal(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Ask whether time is to be sealed up to a day; with the box ticked, seal it."""
        until: list[date] = []
        sealed: list[Sealed] = []

        def act() -> None:
            until.append(self._sealable(log, sent, bearer))
            if sent["sure"] == "yes":
                sealed.append(self._custody(bearer).seal(log, until[0]))

        form_error = attempt("seal", sent, act)
        if form_error is not NO_ERROR:
            return self._shown(log, bearer, form_error=form_error)
        if sealed:
            answered = run_subscriptions(self._workspace)
            return self._shown(log, bearer, sealed=sealed[0], answered=answered)
        return self._confirm(
            "seal.html", sent, bearer, log=self._custody(bearer).log(log), until=until[0]
        )

    def _sealable(self, log: str, sent: Form, bearer: Bearer) -> date:
        """The day that is named, if the log can be sealed up to it."""
        custody = self._custody(bearer)
        until, declared = day_in(sent["until"], "to seal up to"), custody.log(log)
        if not custody.grows(log):
            raise UsageError(
                "this log was imported, and nothing has been captured since",
                hint="sealing would add empty time that cannot be removed; if you want that: pappi "
                "log seal --until",
            )
        check_until(declared, until, today(declared.terms.zone))
        return until

    def erase(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Ask whether these are to be deleted; with the box ticked, delete them."""
        named = {kind: sent.lines(kind) for kind in ("cases", "persons", "blocks")}
        erased: list[Erased] = []

        def act() -> None:
            require_exact_names([name for names in named.values() for name in names])
            if sent["sure"] == "yes":
                erased.append(self._custody(bearer).erase(log, **named))

        form_error = attempt("erase", sent, act)
        if form_error is not NO_ERROR:
            return self._shown(log, bearer, form_error=form_error)
        declared = self._custody(bearer).log(log)
        if erased:
            address = log_address(log)
            return self._page("erased.html", bearer, log=log, address=address, erased=erased[0])
        shown = [
            (kind.capitalize(), len(names), names[:_MOST_SHOWN])
            for kind, names in named.items()
            if names
        ]
        return self._confirm("erase.html", sent, bearer, log=declared, named=shown, typed=sent)

    def _confirm(
        self, template: str, sent: Form, bearer: Bearer, *, log: LogDeclaration, **context: object
    ) -> Response:
        """What cannot be undone is shown again first, with a box to tick."""
        unticked = sent["step"] == "second"
        return self._page(
            template,
            bearer,
            STATUS if unticked else 200,
            log=log,
            address=log_address(log.name),
            unticked=unticked,
            **context,
        )

    def _after(self, log: str, bearer: Bearer, form_error: FormError, done: str) -> Response:
        if form_error is NO_ERROR:
            return back_to(log_address(log), done)
        return self._shown(log, bearer, form_error=form_error)

    def _shown(
        self,
        log: str,
        bearer: Bearer,
        *,
        done: str = "",
        blocks: int = 1,
        analysts: int = 1,
        before: int | None = None,
        form_error: FormError = NO_ERROR,
        sealed: Sealed | None = None,
        answered: int = 0,
    ) -> Response:
        """`blocks` and `analysts` are pages of long lists; charges are those `before` an entry."""
        custody = self._custody(bearer)
        declared, spending = custody.log(log), custody.spending(log)
        charges, older = charges_page(custody.latest_charges(log, before, CELLS))
        return self._page(
            "log.html",
            bearer,
            STATUS if form_error.form else 200,
            done=done,
            form_error=form_error,
            sealed=sealed,
            answered=answered,
            **_declared(declared),
            grows=custody.grows(log),
            tightest=min(spending.lines, key=lambda line: line.left, default=None),
            used=spending.in_all.used,
            blocks=block_page(spending.lines, blocks, PAGE),
            analysts=spending.analysts[(analysts - 1) * PAGE : analysts * PAGE],
            analysts_page=analysts,
            more_analysts=len(spending.analysts) > analysts * PAGE,
            charges=charges,
            older=older,
            later=before is not None,
        )


def amount_in(text: str) -> Epsilon:
    """An ε as it was typed."""
    if not text or len(text) > 20:
        raise UsageError("a budget is an amount of ε", hint="write e.g. 0.5")
    return Epsilon.of(text)


def require_exact_names(names: Sequence[str]) -> None:
    """A case of nearly the same name must not go instead of the one that is meant."""
    if not names:
        raise UsageError("nothing to delete", hint="name cases, persons or blocks, one per line")
    for name in names:
        if name != name.strip() or len(name.splitlines()) > 1:
            raise UsageError(
                f"“{shortened(printable(name), _LONGEST_NAME)}” starts or ends with a space, or "
                "contains an unusual line break",
                hint="write one name per line; delete names like this with pappi log erase",
            )
    if any(printable(name) != name for name in names):
        raise UsageError("this name cannot be sent by a form unchanged", hint="use pappi log erase")
    if len(names) > _MOST_ERASED or sum(map(len, names)) > _LONGEST_ERASED:
        raise UsageError(
            f"too much to confirm at once: up to {_MOST_ERASED:,} names, "
            f"{_LONGEST_ERASED:,} characters",
            hint="delete in several steps, or use pappi log erase",
        )
