"""The owner's pages, except the record: every log at a glance, keys, and one log.

Sealing and deleting cannot be undone, so a page first asks to confirm.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from starlette.responses import Response

from pappi.custody import Custody, Erased, IssuedKey, Sealed, check_until
from pappi.errors import UsageError
from pappi.report import (
    attributes_with_kinds,
    budget_strip,
    describe_log,
    key_state,
    printable,
    shortened,
)
from pappi.service.keys import Authenticated, Bearer, now
from pappi.service.routes import run_subscriptions
from pappi.service.web.console.record import CELLS, charge_rows, charges_page
from pappi.service.web.console.view import (
    PAGE,
    Before,
    ConsoleView,
    Done,
    back_to,
    log_address,
    said,
)
from pappi.service.web.forms import NO_ERROR, Form, FormError, Sent, attempt, day_in
from pappi.service.web.rendering import PageNumber, block_page
from pappi.store import LogDeclaration, today
from pappi.values import RIGHTS, Epsilon, KeyRecord, PublicLog, Right, Role

# --- every log at a glance, and the stop switch -------------------------------------------


_LOGS = 20
_BLOCKS = 36
_CELLS = 400
_ROWS = 12


class OverviewView(ConsoleView):
    """The first page, and the stop switch on it."""

    def overview(self, bearer: Authenticated, done: Done = "", page: PageNumber = 1) -> Response:
        """Every log at a glance."""
        return self._shown(bearer, said(done), page)

    def stop(self, sent: Sent, bearer: Authenticated) -> Response:
        """Refuse every answer, until resumed."""
        outcome = attempt("stop", sent, lambda: bearer.custody.stop(sent["reason"]))
        if isinstance(outcome, FormError):
            return self._shown(bearer, form_error=outcome)
        return back_to("/console")  # the banner is confirmation enough

    def resume(self, bearer: Authenticated) -> Response:
        """Answer again."""
        bearer.custody.resume()
        return back_to("/console", "resumed")

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, form_error: FormError = NO_ERROR
    ) -> Response:
        custody = bearer.custody
        logs = custody.logs()
        on_page = logs[(page - 1) * _LOGS : page * _LOGS]
        latest = custody.latest_charges(limit=_CELLS)
        return self._page(
            "overview.html",
            bearer,
            form_error,
            done=done,
            cards=[_card(log, custody) for log in on_page],
            page=page,
            more=len(logs) > page * _LOGS,
            charges=charge_rows(latest.charges)[:_ROWS],
        )


def _card(log: LogDeclaration, custody: Custody) -> dict[str, object]:
    """One log at a glance."""
    spending = custody.spending(log.name)
    lines = spending.lines[-_BLOCKS:]
    return {
        "log": log,
        "address": log_address(log.name),
        "tightest": min(spending.lines, key=lambda line: line.left, default=None),
        "used": spending.in_all.used,
        "lines": lines,
        "strip": budget_strip(lines),
        "analysts": [spent.analyst for spent in spending.analysts if spent.per_block is not None],
    }


# --- keys: issued and shown once, revoked with one click ----------------------------------


# In the order in which they are usually needed.
_RIGHTS = {
    Role.ANALYST: {
        Right.PREVIEW: "see logs, prices and past releases",
        Right.RELEASE: "spend budget",
    },
    Role.OWNER: {
        Right.READ: "see everything here",
        Right.CAPTURE: "send events",
        Right.MANAGE: "change everything",
    },
}


class KeysView(ConsoleView):
    """The list of keys, and what is done with them."""

    def keys(self, bearer: Authenticated, done: Done = "", page: PageNumber = 1) -> Response:
        """Every key, without its secret."""
        return self._shown(bearer, done=said(done), page=page)

    def issue(self, sent: Sent, bearer: Authenticated) -> Response:
        """A new key; its secret is shown in this reply only."""
        outcome = attempt("issue", sent, lambda: self._issued(sent, bearer))
        if isinstance(outcome, FormError):
            return self._shown(bearer, form_error=outcome)
        return self._page("issued.html", bearer, issued=outcome)

    def revoke(self, sent: Sent, bearer: Authenticated) -> Response:
        """Refuse a key from now on."""
        bearer.custody.revoke_key(sent["id"])
        return back_to("/console/keys", "revoked")

    def _issued(self, sent: Form, bearer: Bearer) -> IssuedKey:
        text = sent["role"]
        if text not in set(Role):
            raise UsageError(
                "a key is for either an analyst or an owner", hint="choose one of the two"
            )
        role = Role(text)
        expires = None
        if sent["expires"]:
            day = day_in(sent["expires"], "on which a key expires")
            expires = datetime.combine(day, time(), UTC)
        ticked = [right for right in _RIGHTS[role] if right in sent.all(_field(role))]
        if not ticked:
            raise UsageError(f"an {role}'s key needs a right", hint="tick at least one box")
        return bearer.custody.issue_key(role, sent["name"], ticked, expires)

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, form_error: FormError = NO_ERROR
    ) -> Response:
        keys = sorted(bearer.custody.all_keys(), key=_order)
        return self._page(
            "keys.html",
            bearer,
            form_error,
            done=done,
            choices=_choices(form_error),
            keys=[_row(key, bearer) for key in keys[(page - 1) * PAGE : page * PAGE]],
            page=page,
            more=len(keys) > page * PAGE,
        )


def _field(role: Role) -> str:
    return f"{role}-right"


def _choices(form_error: FormError) -> list[dict[str, object]]:
    """A box for each right: as it was ticked, or at first the rights that change nothing."""
    typed = form_error.typed if isinstance(form_error.typed, Form) else None
    return [
        {
            "role": role,
            "field": _field(role),
            "right": right,
            "words": words,
            "ticked": right not in (Right.CAPTURE, Right.MANAGE)
            if typed is None
            else right in typed.all(_field(role)),
        }
        for role, rights in _RIGHTS.items()
        for right, words in rights.items()
    ]


def _order(key: KeyRecord) -> tuple[bool, float]:
    """Valid keys first, then the newest first."""
    return key_state(key, now()) != "valid", -key.created.timestamp()


def _row(key: KeyRecord, bearer: Bearer) -> dict[str, object]:
    has_all = key.rights == RIGHTS[key.role]
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role.value,
        "rights": "all" if has_all else ", ".join(sorted(key.rights)),
        "issued": f"{key.created:%Y-%m-%d}",
        "expires": "never" if key.expires is None else f"{key.expires:%Y-%m-%d}",
        "state": key_state(key, now()),
        "mine": key.id == bearer.record.id,
    }


# --- one log, with deletion in two steps --------------------------------------------------


# Limits of a page: names of a kind, and characters of each text; the declaration has all of it.
_MOST_NAMES = 200
_LONGEST_NAME = 60
_LONGEST_FACT = 1_500
# Names to delete: how many are shown, and how many fit into the page that asks to confirm.
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
    """Public names: their kind, how many there are, and the first of them."""
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
        bearer: Authenticated,
        done: Done = "",
        blocks: PageNumber = 1,
        analysts: PageNumber = 1,
        before: Before = None,
    ) -> Response:
        """Declarations, budgets, analysts and charges of a log."""
        return self._shown(
            log, bearer, done=said(done), blocks=blocks, analysts=analysts, before=before
        )

    def grant(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Set what each block of a log, and all together, may spend."""

        def act() -> None:
            total = amount_in(sent["total"]) if sent["total"] else None
            bearer.custody.grant(log, amount_in(sent["per_block"]), total)

        return self._after(log, bearer, attempt("budget", sent, act), "granted")

    def grant_analyst(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Let an analyst query a log and spend up to this much of each block."""

        def act() -> None:
            amount = amount_in(sent["per_block"])
            bearer.custody.grant_analyst(log, sent["analyst"], amount)

        return self._after(log, bearer, attempt("analyst", sent, act), "shared")

    def withdraw(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Withdraw an analyst's access to a log."""
        bearer.workspace.withdraw(log, sent["analyst"], bearer.name)
        return back_to(log_address(log), "withdrawn")

    def seal(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Ask to confirm sealing up to a day; with the box ticked, seal."""
        custody = bearer.custody

        def act() -> date | Sealed:
            until = self._sealable(log, sent, bearer)
            return custody.seal(log, until) if sent["sure"] == "yes" else until

        outcome = attempt("seal", sent, act)
        if isinstance(outcome, FormError):
            return self._shown(log, bearer, form_error=outcome)
        if isinstance(outcome, Sealed):
            answered = run_subscriptions(bearer.workspace)
            return self._shown(log, bearer, sealed=outcome, answered=answered)
        return self._confirm("seal.html", sent, bearer, log=custody.log(log), until=outcome)

    def _sealable(self, log: str, sent: Form, bearer: Bearer) -> date:
        """The day that was typed, if the log can be sealed up to it."""
        custody = bearer.custody
        until, declared = day_in(sent["until"], "to seal up to"), custody.log(log)
        if not custody.grows(log):
            raise UsageError(
                "this log was imported, and nothing has been captured since",
                hint="sealing would add empty time that cannot be removed; if you want that: pappi "
                "log seal --until",
            )
        check_until(declared, until, today(declared.terms.zone))
        return until

    def erase(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Ask to confirm what is to be deleted; with the box ticked, delete it."""
        names_by_kind = {kind: sent.lines(kind) for kind in ("cases", "persons", "blocks")}

        def act() -> Erased | None:
            require_exact_names([name for names in names_by_kind.values() for name in names])
            return bearer.custody.erase(log, **names_by_kind) if sent["sure"] == "yes" else None

        outcome = attempt("erase", sent, act)
        if isinstance(outcome, FormError):
            return self._shown(log, bearer, form_error=outcome)
        declared = bearer.custody.log(log)
        if outcome is not None:
            address = log_address(log)
            return self._page("erased.html", bearer, log=log, address=address, erased=outcome)
        listed = [
            (kind.capitalize(), len(names), names[:_MOST_SHOWN])
            for kind, names in names_by_kind.items()
            if names
        ]
        return self._confirm("erase.html", sent, bearer, log=declared, named=listed, typed=sent)

    def rename(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Ask to confirm a log's new name; with the box ticked, rename it."""
        custody, new = bearer.custody, sent["name"]

        def act() -> bool:
            if sent["sure"] == "yes":
                custody.rename(log, new)
                return True
            custody.check_rename(log, new)
            return False

        outcome = attempt("rename", sent, act)
        if isinstance(outcome, FormError):
            return self._shown(log, bearer, form_error=outcome)
        if outcome:
            return back_to(log_address(new), "renamed")
        return self._confirm("rename.html", sent, bearer, log=custody.log(log), new=new)

    def remove(self, log: str, sent: Sent, bearer: Authenticated) -> Response:
        """Ask to confirm the removal of a log; with the box ticked, remove it."""
        if sent["sure"] != "yes":
            custody = bearer.custody
            used = custody.spending(log).in_all.used
            return self._confirm("remove.html", sent, bearer, log=custody.log(log), used=used)
        outcome = attempt("remove", sent, lambda: bearer.workspace.remove_log(log, bearer.name))
        if isinstance(outcome, FormError):
            return self._shown(log, bearer, form_error=outcome)
        if outcome.charged:
            return back_to(log_address(log), "emptied")
        return back_to("/console", "removed")

    def _confirm(
        self, template: str, sent: Form, bearer: Bearer, *, log: LogDeclaration, **context: object
    ) -> Response:
        """The page that asks to confirm what cannot be undone, with a box to tick."""
        unticked = sent["step"] == "second"
        return self._page(
            template,
            bearer,
            FormError("sure") if unticked else NO_ERROR,
            log=log,
            address=log_address(log.name),
            unticked=unticked,
            **context,
        )

    def _after(self, log: str, bearer: Bearer, outcome: object, done: str) -> Response:
        if isinstance(outcome, FormError):
            return self._shown(log, bearer, form_error=outcome)
        return back_to(log_address(log), done)

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
        custody = bearer.custody
        declared, spending = custody.log(log), custody.spending(log)
        charges, older = charges_page(custody.latest_charges(log, before, CELLS))
        return self._page(
            "log.html",
            bearer,
            form_error,
            done=done,
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
    """Refuse names that a form may change: a case with a similar name must not be deleted."""
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
