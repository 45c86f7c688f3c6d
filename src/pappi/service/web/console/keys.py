"""Keys: issued and shown once, revoked with one click."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time

from starlette.responses import Response

from pappi.custody.keys import IssuedKey
from pappi.errors import UsageError
from pappi.service.keys import Asking, Bearer, now
from pappi.service.web.console.desk import PAGE, Desk, Done, PageNumber, back_to, said
from pappi.service.web.console.wrongs import RIGHT, STATUS, Wrong, attempt, day_in
from pappi.service.web.forms import Form, Sent
from pappi.values.access import RIGHTS, KeyRecord, Right, Role

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


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as it is listed."""

    id: str
    name: str
    role: str
    rights: str
    issued: str
    expires: str
    state: str
    mine: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A box for a right."""

    role: Role
    field: str
    right: Right
    words: str
    ticked: bool


class KeysDesk(Desk):
    """The list of keys, and what is done with them."""

    def keys(self, bearer: Asking, done: Done = "", page: PageNumber = 1) -> Response:
        """Every key, without its secret."""
        return self._shown(bearer, done=said(done), page=page)

    def issue(self, sent: Sent, bearer: Asking) -> Response:
        """A new key; its secret is on this reply and nowhere else."""
        issued: list[IssuedKey] = []
        wrong = attempt("issue", sent, lambda: issued.append(self._issued(sent, bearer)))
        if wrong is not RIGHT:
            return self._shown(bearer, wrong=wrong)
        return self._page("issued.html", bearer, issued=issued[0])

    def revoke(self, sent: Sent, bearer: Asking) -> Response:
        """Refuse a key from now on."""
        self._door(bearer).revoke_key(sent["id"])
        return back_to("/console/keys", "revoked")

    def _issued(self, sent: Form, bearer: Bearer) -> IssuedKey:
        role = role_in(sent["role"])
        expires = None
        if sent["expires"]:
            day = day_in(sent["expires"], "on which a key expires")
            expires = datetime.combine(day, time(), UTC)
        return self._door(bearer).issue_key(role, sent["name"], rights_in(sent, role), expires)

    def _shown(
        self, bearer: Bearer, done: str = "", page: int = 1, wrong: Wrong = RIGHT
    ) -> Response:
        found = sorted(self._door(bearer).all_keys(), key=_order)
        return self._page(
            "keys.html",
            bearer,
            STATUS if wrong.form else 200,
            done=done,
            wrong=wrong,
            choices=_choices(wrong),
            keys=[_row(key, bearer) for key in found[(page - 1) * PAGE : page * PAGE]],
            page=page,
            more=len(found) > page * PAGE,
        )


def role_in(text: str) -> Role:
    if text not in set(Role):
        raise UsageError("a key is for an analyst or for an owner", hint="choose one of the two")
    return Role(text)


def rights_in(sent: Form, role: Role) -> list[Right]:
    """The rights ticked for the role: no box means no right, never all of them."""
    found = [right for right in _RIGHTS[role] if right in sent.all(_field(role))]
    if not found:
        raise UsageError(f"an {role}'s key needs a right", hint="tick at least one of the boxes")
    return found


def _field(role: Role) -> str:
    return f"{role}-right"


def _choices(wrong: Wrong) -> list[Choice]:
    """What was ticked, or what is ticked to begin with: an owner's key begins with little."""
    typed = wrong.typed if isinstance(wrong.typed, Form) else None
    return [
        Choice(role, _field(role), right, words, ticked=_ticked(typed, role, right))
        for role, rights in _RIGHTS.items()
        for right, words in rights.items()
    ]


def _ticked(typed: Form | None, role: Role, right: Right) -> bool:
    if typed is None:
        return right not in (Right.CAPTURE, Right.MANAGE)
    return right in typed.all(_field(role))


def _order(key: KeyRecord) -> tuple[bool, float]:
    """Those that open something first; the newest first."""
    return _state(key) != "valid", -key.created.timestamp()


def _row(key: KeyRecord, bearer: Bearer) -> KeyRow:
    every = key.rights == RIGHTS[key.role]
    return KeyRow(
        id=key.id,
        name=key.name,
        role=key.role.value,
        rights="all" if every else ", ".join(sorted(key.rights)),
        issued=f"{key.created:%Y-%m-%d}",
        expires="never" if key.expires is None else f"{key.expires:%Y-%m-%d}",
        state=_state(key),
        mine=key.id == bearer.record.id,
    )


def _state(key: KeyRecord) -> str:
    if key.revoked:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now() else "valid"
