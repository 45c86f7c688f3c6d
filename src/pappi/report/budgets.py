"""One account of the privacy budget, ready to be shown."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.values.epsilon import ZERO, Epsilon


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """How much of a block's budget is spent."""

    block: str
    limit: Epsilon
    spent: Epsilon

    @property
    def left(self) -> Epsilon:
        return max(self.limit - self.spent, ZERO)

    @property
    def share(self) -> float:
        """The part that is spent, from 0 to 1; a block without budget counts as used up."""
        return min(self.spent.nano / self.limit.nano, 1.0) if self.limit.nano else 1.0
