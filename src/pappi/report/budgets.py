"""One account of the privacy budget, ready to be shown."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.values.epsilon import ZERO, Epsilon


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """How much of a block's budget is spent, and how much is held for standing questions.

    An analyst who was granted a share of the budget has own numbers besides. A block is
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
