"""Epsilon, counted in whole billionths, so that a budget is never a sum of floats."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from pappi.errors import UsageError

NANO = 10**9
MOST = 10**6


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
        if not decimal.is_finite() or not 0 <= decimal <= MOST:
            raise UsageError(f"epsilon must be from 0 to {MOST:,}")
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
