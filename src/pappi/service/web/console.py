"""The owner's pages, and the right each of them needs: viewing READ, every form MANAGE.

Every log at a glance, and the stop switch; keys; one log with its budgets, sealing and deletion;
the record, and whether it verifies; the data-protection pack. What cannot be undone has a page
that first asks to confirm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from functools import wraps
from html import escape
from http import HTTPStatus
from inspect import signature
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Query
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pappi.custody import ChargePage, Custody, Sealed, TrailEntry, check_until, entry_text
from pappi.errors import Conflict, InputError, NotFound, Refused, UsageError
from pappi.ledger import ChargeRecord, EntryKind
from pappi.report import (
    dpo_body,
    dpo_html,
    key_state,
    most_in_a_block,
    printable,
    query_digest,
    shortened,
    tightest,
)
from pappi.service.keys import Authenticated, Bearer, now
from pappi.service.middleware import Service
from pappi.service.routes import Endpoint, add_page, run_subscriptions
from pappi.service.web.rendering import Form, PageNumber, Sent, block_page, day_in, page
from pappi.store import LogDeclaration, today
from pappi.values import JSON, RIGHTS, Epsilon, KeyRecord, Right, Role


def add_console(app: Service) -> None:
    """Viewing needs READ; every form needs MANAGE."""

    def see(path: str, endpoint: Endpoint) -> None:
        add_page(app, "GET", path, endpoint, Right.READ)

    def do(path: str, endpoint: Endpoint) -> None:
        add_page(app, "POST", path, endpoint, Right.MANAGE)

    see("/console", overview)
    do("/console/stop", stop)
    do("/console/resume", resume)
    see("/console/logs/{log}", one_log)
    do("/console/logs/{log}/budget", grant)
    do("/console/logs/{log}/analysts", grant_analyst)
    do("/console/logs/{log}/withdraw", withdraw)
    do("/console/logs/{log}/seal", seal)
    do("/console/logs/{log}/erase", erase)
    do("/console/logs/{log}/rename", rename)
    do("/console/logs/{log}/remove", remove)
    see("/console/keys", keys)
    do("/console/keys", issue_key)
    do("/console/keys/revoke", revoke_key)
    see("/console/trail", trail)
    see("/console/trail/{number}", trail_entry)
    see("/console/protection", protection)
    see("/console/protection/{log}", protection_of_log)
    see("/console/protection-document", protection_document)


# --- what every page has ------------------------------------------------------------------

# Rows of a list on one page.
_PAGE = 50
_LONGEST_TYPED = 8_000

Done = Annotated[str, Query(max_length=40)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]

# The address only has the name of one of these sentences, so that nobody can make the console
# say something else with a link.
_DONE = {
    "resumed": "Answering again.",
    "granted": "The budget is set.",
    "shared": "The analyst can now query this log.",
    "withdrawn": "The analyst can no longer query this log, and their subscriptions have ended.",
    "renamed": "The log has its new name.",
    "removed": "The log is removed, and its name is free.",
    "emptied": "The events are deleted. What was released stays on record.",
    "revoked": "The key is revoked. Its sessions have ended.",
}


@dataclass(frozen=True, slots=True)
class FormError:
    """What is wrong with one form of a page; with an empty name, nothing is."""

    form: str = ""
    message: str = ""
    hint: str = ""
    typed: Form = field(default_factory=Form)

    def value(self, form: str, name: str, otherwise: str = "") -> str:
        """What to show in a field: what was typed, if it was in this form and is not too long."""
        typed = self.typed[name] if form == self.form else otherwise
        return typed if len(typed) <= _LONGEST_TYPED else ""


_NO_ERROR = FormError()


def _form(name: str, again: Callable[..., Response]) -> Callable[[Endpoint], Endpoint]:
    """A form of the page `again`, which is shown with the reason if its sender can correct it."""

    def explained(act: Endpoint) -> Endpoint:
        @wraps(act)
        def attempt(sent: Form, bearer: Bearer, **log: str) -> Response:
            try:
                response: Response = act(sent=sent, bearer=bearer, **log)
            except (UsageError, Refused, Conflict, InputError) as error:
                wrong = FormError(name, _sentence(error.message), _sentence(error.hint), sent)
                return again(**log, bearer=bearer, form_error=wrong)
            return response

        attempt.__signature__ = signature(act, eval_str=True)  # type: ignore[attr-defined]
        return attempt

    return explained


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _page(
    template: str, bearer: Bearer, form_error: FormError = _NO_ERROR, **context: object
) -> Response:
    return page(
        f"console/{template}",
        HTTPStatus.BAD_REQUEST if form_error.form else HTTPStatus.OK,
        visitor=bearer.name,
        may_manage=Right.MANAGE in bearer.record.rights,
        stopped=bearer.custody.stopped(),
        form_error=form_error,
        **{"done": "", **context},
    )


def _back_to(path: str, done: str = "") -> Response:
    """Redirect after a form, to a page that can be reloaded without repeating the act."""
    return RedirectResponse(f"{path}?done={done}" if done else path, HTTPStatus.SEE_OTHER)


def _log_address(log: str) -> str:
    return f"/console/logs/{quote(log, safe='')}"


# --- every log at a glance, and the stop switch -------------------------------------------

_LOGS = 20
_CELLS = 400
_ROWS = 12


def overview(bearer: Authenticated, done: Done = "", page: PageNumber = 1) -> Response:
    """Every log at a glance."""
    return _overview(bearer, done=done, page=page)


def _overview(
    bearer: Bearer, form_error: FormError = _NO_ERROR, *, done: str = "", page: int = 1
) -> Response:
    custody = bearer.custody
    logs = custody.logs()
    latest = custody.latest_charges(limit=_CELLS)
    return _page(
        "overview.html",
        bearer,
        form_error,
        done=_DONE.get(done, ""),
        cards=[
            (log, custody.spending(log.name)) for log in logs[(page - 1) * _LOGS : page * _LOGS]
        ],
        page=page,
        more=len(logs) > page * _LOGS,
        charges=_charge_rows(latest.charges)[:_ROWS],
    )


@_form("stop", _overview)
def stop(sent: Sent, bearer: Authenticated) -> Response:
    """Refuse every answer, until resumed."""
    bearer.custody.stop(sent["reason"])
    return _back_to("/console")  # the banner is confirmation enough


def resume(bearer: Authenticated) -> Response:
    """Answer again."""
    bearer.custody.resume()
    return _back_to("/console", "resumed")


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


def keys(bearer: Authenticated, done: Done = "", page: PageNumber = 1) -> Response:
    """Every key, without its secret."""
    return _keys(bearer, done=done, page=page)


def _keys(
    bearer: Bearer, form_error: FormError = _NO_ERROR, *, done: str = "", page: int = 1
) -> Response:
    """Valid keys first, then the newest first."""

    def order(key: KeyRecord) -> tuple[bool, float]:
        return key_state(key, now()) != "valid", -key.created.timestamp()

    every_key = sorted(bearer.custody.all_keys(), key=order)
    return _page(
        "keys.html",
        bearer,
        form_error,
        done=_DONE.get(done, ""),
        choices=_RIGHTS,
        keys=every_key[(page - 1) * _PAGE : page * _PAGE],
        own=bearer.record.id,
        all_rights=RIGHTS,
        now=now(),
        page=page,
        more=len(every_key) > page * _PAGE,
    )


@_form("issue", _keys)
def issue_key(sent: Sent, bearer: Authenticated) -> Response:
    """A new key; its secret is shown in this reply only."""
    if sent["role"] not in set(Role):
        raise UsageError("a key is for either an analyst or an owner", hint="choose one of the two")
    role = Role(sent["role"])
    expires = None
    if sent["expires"]:
        day = day_in(sent["expires"], "on which a key expires")
        expires = datetime.combine(day, time(), UTC)
    ticked = [right for right in _RIGHTS[role] if right in sent.all(f"{role}-right")]
    if not ticked:
        raise UsageError(f"an {role}'s key needs a right", hint="tick at least one box")
    issued = bearer.custody.issue_key(role, sent["name"], ticked, expires)
    return _page("issued.html", bearer, issued=issued)


def revoke_key(sent: Sent, bearer: Authenticated) -> Response:
    """Refuse a key from now on."""
    bearer.custody.revoke_key(sent["id"])
    return _back_to("/console/keys", "revoked")


# --- one log, with deletion in two steps --------------------------------------------------

_LONGEST_NAME = 60
# How many names to delete fit into the page that asks to confirm.
_MOST_ERASED = 1_000
_LONGEST_ERASED = 20_000
# Cells fetched for a page: a query over many periods has as many.
_CELLS_OF_A_LOG = 500


def one_log(
    log: str,
    bearer: Authenticated,
    done: Done = "",
    blocks: PageNumber = 1,
    analysts: PageNumber = 1,
    before: Before = None,
) -> Response:
    """Declarations, budgets, analysts and charges of a log."""
    return _log(log, bearer, done=done, blocks=blocks, analysts=analysts, before=before)


def _log(
    log: str,
    bearer: Bearer,
    form_error: FormError = _NO_ERROR,
    *,
    done: str = "",
    blocks: int = 1,
    analysts: int = 1,
    before: int | None = None,
    sealed: Sealed | None = None,
    answered: int = 0,
) -> Response:
    """`blocks` and `analysts` are pages of long lists; charges are those `before` an entry."""
    custody = bearer.custody
    declared, spending = custody.log(log), custody.spending(log)
    charges, older = _charges(custody.latest_charges(log, before, _CELLS_OF_A_LOG))
    partitions = declared.public.vocabulary.keys
    return _page(
        "log.html",
        bearer,
        form_error,
        done=_DONE.get(done, ""),
        sealed=sealed,
        answered=answered,
        log=declared,
        address=_log_address(log),
        partitions=[f"{name}: {key}" for name, values in partitions.items() for key in values],
        grows=custody.grows(log),
        tightest=tightest(spending.lines),
        used=spending.in_all.used,
        blocks=block_page(spending.lines, blocks, _PAGE),
        analysts=spending.analysts[(analysts - 1) * _PAGE : analysts * _PAGE],
        analysts_page=analysts,
        more_analysts=len(spending.analysts) > analysts * _PAGE,
        charges=charges,
        older=older,
        later=before is not None,
    )


@_form("budget", _log)
def grant(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Set what each block of a log, and all together, may spend."""
    total = _amount_in(sent["total"]) if sent["total"] else None
    bearer.custody.grant(log, _amount_in(sent["per_block"]), total)
    return _back_to(_log_address(log), "granted")


@_form("analyst", _log)
def grant_analyst(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Let an analyst query a log and spend up to this much of each block."""
    bearer.custody.grant_analyst(log, sent["analyst"], _amount_in(sent["per_block"]))
    return _back_to(_log_address(log), "shared")


def withdraw(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Withdraw an analyst's access to a log."""
    bearer.workspace.withdraw(log, sent["analyst"], bearer.name)
    return _back_to(_log_address(log), "withdrawn")


@_form("seal", _log)
def seal(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Ask to confirm sealing up to a day; with the box ticked, seal."""
    custody = bearer.custody
    until, declared = day_in(sent["until"], "to seal up to"), custody.log(log)
    if not custody.grows(log):
        raise UsageError(
            "this log was imported, and nothing has been captured since",
            hint="sealing would add empty time that cannot be removed; if you want that: pappi "
            "log seal --until",
        )
    check_until(declared, until, today(declared.terms.zone))
    if _is_unsure(sent):
        return _confirm("seal.html", sent, bearer, declared, until=until)
    sealed = custody.seal(log, until)
    return _log(log, bearer, sealed=sealed, answered=run_subscriptions(bearer.workspace))


@_form("erase", _log)
def erase(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Ask to confirm what is to be deleted; with the box ticked, delete it."""
    names_by_kind = {kind: sent.lines(kind) for kind in ("cases", "persons", "blocks")}
    _require_exact_names([name for names in names_by_kind.values() for name in names])
    if _is_unsure(sent):
        named = {kind.capitalize(): names for kind, names in names_by_kind.items() if names}
        declared = bearer.custody.log(log)
        return _confirm("erase.html", sent, bearer, declared, named=named, typed=sent)
    erased = bearer.custody.erase(log, **names_by_kind)
    return _page("erased.html", bearer, log=log, address=_log_address(log), erased=erased)


@_form("rename", _log)
def rename(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Ask to confirm a log's new name; with the box ticked, rename it."""
    custody, new = bearer.custody, sent["name"]
    if _is_unsure(sent):
        custody.check_rename(log, new)
        return _confirm("rename.html", sent, bearer, custody.log(log), new=new)
    custody.rename(log, new)
    return _back_to(_log_address(new), "renamed")


@_form("remove", _log)
def remove(log: str, sent: Sent, bearer: Authenticated) -> Response:
    """Ask to confirm the removal of a log; with the box ticked, remove it."""
    custody = bearer.custody
    if _is_unsure(sent):
        used = custody.spending(log).in_all.used
        return _confirm("remove.html", sent, bearer, custody.log(log), used=used)
    if bearer.workspace.remove_log(log, bearer.name).charged:
        return _back_to(_log_address(log), "emptied")
    return _back_to("/console", "removed")


def _is_unsure(sent: Form) -> bool:
    return sent["sure"] != "yes"


def _confirm(
    template: str, sent: Form, bearer: Bearer, log: LogDeclaration, **context: object
) -> Response:
    """The page that asks to confirm what cannot be undone, with a box to tick."""
    unticked = sent["step"] == "second"
    return _page(
        template,
        bearer,
        FormError("sure") if unticked else _NO_ERROR,
        log=log,
        address=_log_address(log.name),
        unticked=unticked,
        **context,
    )


def _amount_in(text: str) -> Epsilon:
    """An ε as it was typed."""
    if not text or len(text) > 20:
        raise UsageError("a budget is an amount of ε", hint="write e.g. 0.5")
    return Epsilon.of(text)


def _require_exact_names(names: Sequence[str]) -> None:
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


# --- charges: a row for the cells of one query that were charged at once ------------------

_LONGEST_PPI = 80


def _charges(newest: ChargePage) -> tuple[list[dict[str, Any]], int | None]:
    """The rows of one page, and the entry before which the next page begins."""
    rows = _charge_rows(newest.charges)
    if len(rows) > _PAGE:
        return rows[:_PAGE], rows[_PAGE - 1]["seq"]
    return rows, newest.older


def _charge_rows(charges: Sequence[ChargeRecord]) -> list[dict[str, Any]]:
    """Newest first.

    Names are chosen by analysts, so queries with the same name still have separate rows.
    """

    def alike(charged: ChargeRecord) -> tuple[str, str, str, int, str]:
        charge = charged.charge
        digest = query_digest(charge.query)
        return charge.log, charge.analyst, charge.ppi, charge.amount.nano, digest

    return [_charge_row(list(cells)) for _, cells in groupby(charges, alike)]


def _charge_row(cells: Sequence[ChargeRecord]) -> dict[str, Any]:
    """`pending` cells have no result on record; `epsilon` is the most they cost a block."""
    newest, charge = cells[0], cells[0].charge
    charged = [(cell.charge.blocks, cell.charge.amount) for cell in cells]
    return {
        "seq": cells[-1].seq,
        "at": newest.at,
        "analyst": charge.analyst,
        "ppi": shortened(charge.ppi, _LONGEST_PPI),
        "log": charge.log,
        "address": _log_address(charge.log),
        "mechanisms": ", ".join(dict.fromkeys(charge.mechanisms)),
        "epsilon": most_in_a_block(charged),
        "blocks": _span({block for blocks, _ in charged for block in blocks}),
        "cells": len(cells),
        "pending": sum(not cell.released for cell in cells),
    }


def _span(blocks: Collection[str]) -> str:
    """First and last block; labels of one grid sort by time."""
    first, last = min(blocks), max(blocks)
    return first if first == last else f"{first} … {last} ({len(blocks):,})"


# --- the record: every act, charge and release in words -----------------------------------

# An entry may be long: a longer one is shown on a page of its own.
_LONGEST_INLINE = 400
_LONGEST_WORDS = 140
_LONGEST_ENTRY = 60_000
_ENTRIES = 2 * _PAGE
# Entries that a query over many periods makes in one go: with this many, one after the other and
# by the same bearer, they share a row.
_TOGETHER = {
    EntryKind.CHARGE: "{count} charges",
    EntryKind.RELEASE: "{count} results recorded",
    EntryKind.RESERVE: "{count} reservations",
    EntryKind.CANCEL: "{count} reservations released",
}
_FEW = 3


@dataclass(frozen=True, slots=True)
class TrailRow:
    """Consecutive entries of one kind, newest first: the entries with their words."""

    entries: Sequence[tuple[TrailEntry, str]]

    @property
    def together(self) -> str:
        """What all of them are; empty if it is one entry alone."""
        kind, count = self.entries[0][0].kind, len(self.entries)
        return _TOGETHER[kind].format(count=count) if count > 1 else ""

    @property
    def raw(self) -> str:
        """The first entry in full; empty if it is too long for a list."""
        raw = _raw(self.entries[0][0])
        return raw if len(escape(raw)) <= _LONGEST_INLINE else ""


def trail(bearer: Authenticated, before: Before = None, verify: str = "") -> Response:
    """Every act, charge and release, newest first."""
    custody = bearer.custody
    length = custody.length()
    end = min(before or length + 1, length + 1)
    start = max(end - _ENTRIES, 1)
    return _page(
        "trail.html",
        bearer,
        length=length,
        rows=_trail_rows(custody, custody.trail(start - 1, end - start)),
        older=end - _ENTRIES if end - _ENTRIES > 1 else None,
        newer=end + _ENTRIES if end <= length else None,
        found=custody.verify() if verify else None,
    )


def _trail_rows(custody: Custody, entries: Sequence[TrailEntry]) -> list[TrailRow]:
    """Newest first; entries of one kind and one bearer together, others by themselves."""
    before = custody.declared_before(entries)
    rows: list[TrailRow] = []
    for (kind, _), alike in groupby(reversed(entries), lambda entry: (entry.kind, entry.by)):
        run = [(entry, shortened(_words(entry, before), _LONGEST_WORDS)) for entry in alike]
        if kind in _TOGETHER and len(run) >= _FEW:
            rows.append(TrailRow(run))
        else:
            rows.extend(TrailRow([alone]) for alone in run)
    return rows


def trail_entry(number: Annotated[int, Path(le=2**53)], bearer: Authenticated) -> Response:
    """One entry in full."""
    custody = bearer.custody
    entries = custody.trail(number - 1, 1) if number > 0 else ()
    if not entries:
        raise NotFound("there is no such entry", hint="go back to the list of entries")
    raw = _raw(entries[0])
    return _page(
        "entry.html",
        bearer,
        entry=entries[0],
        words=_words(entries[0], custody.declared_before(entries)),
        raw=raw[:_LONGEST_ENTRY],
        cut=len(raw) > _LONGEST_ENTRY,
    )


def _words(entry: TrailEntry, before: Mapping[int, Mapping[str, JSON]]) -> str:
    return entry_text(entry.kind, entry.what, before.get(entry.seq))


def _raw(entry: TrailEntry) -> str:
    return json.dumps(entry.what, ensure_ascii=False, indent=1)


# --- the data-protection pack -------------------------------------------------------------

_DOCUMENT = "/console/protection-document"
# A longer pack is offered as a document, not as a page.
_LONGEST_PACK = 130_000


def protection(bearer: Authenticated) -> Response:
    """The pack of every log."""
    return _protection(bearer, None)


def protection_of_log(log: str, bearer: Authenticated) -> Response:
    """The pack of one log."""
    return _protection(bearer, log)


def _protection(bearer: Bearer, log: str | None) -> Response:
    custody = bearer.custody
    body = dpo_body(custody.pack(log))
    long = len(str(body).encode()) > _LONGEST_PACK
    return _page(
        "protection.html",
        bearer,
        chosen=log,
        logs=[declared.name for declared in custody.logs()],
        body=None if long else body,
        document=_DOCUMENT if log is None else f"{_DOCUMENT}?log={quote(log)}",
    )


def protection_document(
    bearer: Authenticated, log: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The pack as a self-contained file."""
    pack = bearer.custody.pack(log or None)
    today = datetime.now(UTC).date().isoformat()
    # A log that is there has a name of letters, digits, - and _.
    name = f"data-protection{f'-{log}' if log else ''}-{today}.html"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HTMLResponse(dpo_html(pack, today), headers=headers)
