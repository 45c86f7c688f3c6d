"""Who may do what: keys, their rights, what is left of a budget, and an analyst's share of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pappi.errors import NotAllowed, UsageError
from pappi.values.privacy import ZERO, Epsilon

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


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """How much of a block's budget is spent, and how much is held for subscriptions.

    An analyst with a share of the budget also has their own limits. A block is
    `frozen` if a part of the ledger was lost, so that nobody knows what is left of it.
    """

    block: str
    limit: Epsilon
    spent: Epsilon
    held: Epsilon = ZERO
    own_limit: Epsilon | None = None
    own_used: Epsilon = ZERO
    frozen: bool = False

    @property
    def left(self) -> Epsilon:
        if self.frozen:
            return ZERO
        left = self.limit - self.spent - self.held
        if self.own_limit is not None:
            left = min(left, self.own_limit - self.own_used)
        return max(left, ZERO)

    @property
    def share(self) -> float:
        """The part that is spent, from 0 to 1; a block without budget counts as used up."""
        return min(self.spent.nano / self.limit.nano, 1.0) if self.limit.nano else 1.0


def require_name(name: str, of: str) -> str:
    """The name of an analyst or of a key's bearer: it appears in records and addresses."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"this is not a valid name for {of}",
            hint="use up to 64 letters, digits and . _ @ -, beginning with a letter",
        )
    return name
