"""Going on with a ledger that has lost entries, by the owner's word.

What was charged in the lost entries is not known. So every block that could have been charged by
then is frozen: of each log, those that begin on or before today or the log's end, whichever is
later; and logs with a total budget as a whole. What is on record is still replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pappi.budget.journal import ROLLBACK
from pappi.errors import Conflict
from pappi.store.declarations import LogDeclaration, today
from pappi.store.mark import Mark
from pappi.store.register import Register
from pappi.store.workspace import WorkspaceFiles
from pappi.values.plain_data import JSON


@dataclass(frozen=True, slots=True)
class Loss:
    """What a ledger lacks: the entries after `head` up to `mark`, which is None if it is lost."""

    head: Mark
    mark: Mark | None

    @property
    def first(self) -> int | None:
        """The first lost entry; None if nobody knows, as where two ledgers went apart."""
        if self.mark is None or self.mark.seq <= self.head.seq:
            return None
        return self.head.seq + 1

    def __str__(self) -> str:
        if self.mark is None:
            return f"the ledger has {self.head.seq} entries; how many it had, nobody knows"
        if self.first is None:
            return f"entry {self.mark.seq} of the ledger is not the one it was"
        return f"the ledger lacks the entries {self.first} to {self.mark.seq}, or more"


def loss_of(files: WorkspaceFiles) -> Loss | None:
    """What the ledger lacks, or None if it has what it is marked to have."""
    mark = files.mark.found()
    with files.open_unmarked_ledger() as ledger:
        if mark is not None and ledger.contains(mark):
            return None
        return Loss(ledger.head(), mark)


def accept_rollback(files: WorkspaceFiles, by: str = "owner") -> Loss:
    """Put the loss on record, freeze what cannot be known, and go on from there."""
    loss = loss_of(files)
    if loss is None:
        raise Conflict("nothing is lost: the ledger has every entry that it is marked to have")
    with files.open_unmarked_ledger() as ledger:

        def act() -> Mapping[str, JSON]:
            register = Register().advanced(ledger.news(None))
            frozen = {log.name: _frozen(log) for log in register.logs.values()}
            lost: JSON = {
                "after": loss.head.seq,
                "from": loss.first,
                "mark": None if loss.mark is None else loss.mark.seq,
                "marked": None if loss.mark is None else loss.mark.digest,
            }
            return {"lost": lost, "frozen": frozen, "by": by}

        ledger.append(ROLLBACK, act)
        files.mark.begin(ledger.head())
    return loss


def _frozen(log: LogDeclaration) -> JSON:
    day = max(today(log.zone), log.until)
    return [day.isoformat(), log.total_budget is not None]
