"""Keys: issued and shown once, revoked with one click."""

from __future__ import annotations

from datetime import UTC, datetime, time

from starlette.responses import Response

from pappi.custody import IssuedKey
from pappi.errors import UsageError
from pappi.service.keys import Asking, Bearer, now
from pappi.service.web.console.view import PAGE, ConsoleView, Done, back_to, said
from pappi.service.web.forms import NO_ERROR, STATUS, Form, FormError, Sent, attempt, day_in
from pappi.service.web.rendering import PageNumber
from pappi.values import RIGHTS, KeyRecord, Right, Role

# In the order in which one comes to need them.
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

    def keys(self, bearer: Asking, done: Done = "", page: PageNumber = 1) -> Response:
        """Every key, without its secret."""
        return self._shown(bearer, done=said(done), page=page)

    def issue(self, sent: Sent, bearer: Asking) -> Response:
        """A new key; its secret is on this reply and nowhere else."""
        issued: list[IssuedKey] = []
        form_error = attempt("issue", sent, lambda: issued.append(self._issued(sent, bearer)))
        if form_error is not NO_ERROR:
            return self._shown(bearer, form_error=form_error)
        return self._page("issued.html", bearer, issued=issued[0])

    def revoke(self, sent: Sent, bearer: Asking) -> Response:
        """Refuse a key from now on."""
        self._custody(bearer).revoke_key(sent["id"])
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
        return self._custody(bearer).issue_key(role, sent["name"], ticked, expires)

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, form_error: FormError = NO_ERROR
    ) -> Response:
        keys = sorted(self._custody(bearer).all_keys(), key=_order)
        return self._page(
            "keys.html",
            bearer,
            STATUS if form_error.form else 200,
            done=done,
            form_error=form_error,
            choices=_choices(form_error),
            keys=[_row(key, bearer) for key in keys[(page - 1) * PAGE : page * PAGE]],
            page=page,
            more=len(keys) > page * PAGE,
        )


def _field(role: Role) -> str:
    return f"{role}-right"


def _choices(form_error: FormError) -> list[dict[str, object]]:
    """A box for each right: as it was ticked, or, to begin with, those that change nothing."""
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
    """Those that open something first; the newest first."""
    return _state(key) != "valid", -key.created.timestamp()


def _row(key: KeyRecord, bearer: Bearer) -> dict[str, object]:
    every = key.rights == RIGHTS[key.role]
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role.value,
        "rights": "all" if every else ", ".join(sorted(key.rights)),
        "issued": f"{key.created:%Y-%m-%d}",
        "expires": "never" if key.expires is None else f"{key.expires:%Y-%m-%d}",
        "state": _state(key),
        "mine": key.id == bearer.record.id,
    }


def _state(key: KeyRecord) -> str:
    if key.revoked:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now() else "valid"
