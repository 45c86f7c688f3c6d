"""Who may do what: keys, their rights, and an analyst's share of a log's budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pappi.errors import NotAllowed, UsageError
from pappi.values.epsilon import Epsilon

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.@-]{0,63}")


class Role(StrEnum):
    OWNER = "owner"
    ANALYST = "analyst"


class Right(StrEnum):
    """What a key is good for. An analyst's: PREVIEW and RELEASE; an owner's: the rest."""

    PREVIEW = "preview"
    RELEASE = "release"
    READ = "read"
    CAPTURE = "capture"
    MANAGE = "manage"


RIGHTS = {
    Role.ANALYST: frozenset({Right.PREVIEW, Right.RELEASE}),
    Role.OWNER: frozenset({Right.READ, Right.CAPTURE, Right.MANAGE}),
}


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key on record. Not the key itself: only its bearer has that."""

    id: str
    role: Role
    name: str
    rights: frozenset[Right]
    created: datetime
    expires: datetime | None
    revoked: bool = False

    def require(self, role: Role, right: Right) -> None:
        if self.role is not role or right not in self.rights:
            raise NotAllowed(
                f"this key may not {right} as {role}", hint="ask the owner for a key that may"
            )


@dataclass(frozen=True, slots=True)
class Grant:
    """An analyst's right to query a log, and their share of each block's budget."""

    log: str
    analyst: str
    per_block: Epsilon


def require_name(name: str, of: str) -> str:
    """The name of an analyst or of a key's bearer: it appears in records and addresses."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"this is not a valid name for {of}",
            hint="use up to 64 letters, digits and . _ @ -, beginning with a letter",
        )
    return name
