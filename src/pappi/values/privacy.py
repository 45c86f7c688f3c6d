"""What is protected, what counts as a neighbouring log, how much may be lost, and who may do what.

Epsilon is counted in whole billionths, so that a budget is never a sum of floats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

from pappi.errors import NotAllowed, UsageError

JSON: TypeAlias = "bool | int | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""Plain data to hash and store. No floats: they have no unique spelling."""

# Noise that hides more cases than this would drown every answer.
MOST_CASES = 1000
_CASE = "case"


class Adjacency(StrEnum):
    """Which two logs a guarantee compares. An explicit parameter of every mechanism.

    ADD_REMOVE  one unit more or less; the number of cases stays private.
    REPLACE     one case's content differs, and `UNDER_REPLACE`.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


# Analysts choose the periods, down to days. Another group or bucket, or a value that comes or
# goes, is one removal and one addition for a function, which is noised accordingly.
UNDER_REPLACE = (
    "The day of every case is public, and so is the number of cases of every single day: a case "
    "keeps its day, but may change its group or bucket, and gain or lose a value."
)
"""What `replace` gives up and what it protects: these words are used wherever it is explained."""


class Per(StrEnum):
    """Where a person's cases are counted.

    LOG    in the whole log: the guarantee is the person's, whatever the block.
    BLOCK  in each block anew: the guarantee is the person's in one block.
    """

    LOG = "log"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose influence the guarantee bounds: one case, or a person that has several.

    A person is a value of a case-level attribute, the `column`; of their cases at most
    `max_cases` count. That is enforced where cases are read, never trusted.

    >>> str(CASE), str(PrivacyUnit("patient_id", 3))
    ('case', 'patient_id, at most 3 cases per log')
    """

    column: str | None = None
    max_cases: int = 1
    per: Per = Per.LOG

    def __post_init__(self) -> None:
        if self.column is None and (self.max_cases, self.per) != (1, Per.LOG):
            raise UsageError(
                "a bound on a person's cases needs the attribute that tells persons apart",
                hint="name it as the unit's column, or use one case as the unit",
            )
        if self.column is not None and not self.column.strip():
            raise UsageError(
                "the privacy unit names no attribute", hint="name one, such as patient_id"
            )
        if not 1 <= self.max_cases <= MOST_CASES:
            raise UsageError(
                f"a person can count with 1 to {MOST_CASES:,} cases, not {self.max_cases:,}",
                hint="noise grows in proportion to that number: keep it small",
            )

    def require_neighbours(self, adjacency: Adjacency) -> None:
        """Refuse what is not defined: replacing a person while keeping the number of cases."""
        if self.column is not None and adjacency is Adjacency.REPLACE:
            raise UsageError(
                f"the unit '{self.column}' cannot be protected under replace, which makes the "
                "number of cases public: how many cases a person has is private",
                hint="use add-remove",
            )

    def to_json(self) -> JSON:
        if self.column is None:
            return _CASE
        return {"column": self.column, "max_cases": self.max_cases, "per": str(self.per)}

    @classmethod
    def from_json(cls, data: str | Mapping[str, Any]) -> PrivacyUnit:
        if isinstance(data, str):
            if data != _CASE:
                raise UsageError(f"'{data}' is not a privacy unit", hint=f"write '{_CASE}'")
            return CASE
        return cls(data["column"], data["max_cases"], Per(data["per"]))

    def __str__(self) -> str:
        if self.column is None:
            return _CASE
        cases = "case" if self.max_cases == 1 else "cases"
        return f"{self.column}, at most {self.max_cases} {cases} per {self.per}"


CASE = PrivacyUnit()


# --- privacy loss --------------------------------------------------------------------

NANO = 10**9
MOST_EPSILON = 10**6


@dataclass(frozen=True, slots=True, order=True)
class Epsilon:
    """An amount of privacy loss.

    >>> Epsilon.of("0.1") + Epsilon.of("0.2") == Epsilon.of("0.3")
    True
    >>> str(Epsilon.of("0.10"))
    '0.1'
    """

    nano: int

    @classmethod
    def of(cls, amount: str | float | Decimal) -> Epsilon:
        """The amount as written in decimal; a float counts as its shortest decimal form."""
        text = str(amount).strip()
        try:
            # Decimal would also take other scripts' digits, which few can read.
            decimal = Decimal(text if text.isascii() else "")
        except InvalidOperation:
            raise UsageError(f"{amount!r} is not an epsilon", hint="write e.g. 0.1") from None
        if not decimal.is_finite() or not 0 <= decimal <= MOST_EPSILON:
            raise UsageError(f"epsilon must be from 0 to {MOST_EPSILON:,}")
        if decimal != round(decimal, 9):
            raise UsageError("epsilon has at most 9 decimals")
        return cls(int(decimal * NANO))

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.nano, NANO)

    def __add__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nano + other.nano)

    def __sub__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nano - other.nano)

    def __str__(self) -> str:
        text = f"{Decimal(self.nano) / NANO:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def __float__(self) -> float:
        """For showing and for predicted errors; never for a decision."""
        return self.nano / NANO


ZERO = Epsilon(0)


# --- who may do what ------------------------------------------------------------------

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
