"""What the owner of a workspace can do with it; never for an analyst.

custody   `Custody`: every act of the owner, on record
imports   a log that is read in, created empty, or stays where it is: what is declared of it
names     which names are public: selecting them for a price, withdrawing them
capture   a log that changes: taking in events, sealing time, erasing cases from disk
removal   a log's new name, and removing a log: what goes, and what stays on record
exact     values without noise, looked at on record
trail     the journal in words, what was spent, and the data-protection pack
backup    a workspace in one file, and back; going on after lost entries
"""

from pappi.custody.backup import accept_rollback, back_up, loss_of, restore
from pappi.custody.capture import MOST_EVENTS, Erased, Sealed, check_until, event_of
from pappi.custody.custody import Custody, IssuedKey, TrailEntry
from pappi.custody.imports import (
    Added,
    Imported,
    NewLog,
    Progress,
    SourceMapping,
    declaration_text,
    declared_in,
)
from pappi.custody.names import Selection
from pappi.custody.removal import Removed
from pappi.custody.trail import ChargePage, Spending, What, entry_text

__all__ = [
    "MOST_EVENTS",
    "Added",
    "ChargePage",
    "Custody",
    "Erased",
    "Imported",
    "IssuedKey",
    "NewLog",
    "Progress",
    "Removed",
    "Sealed",
    "Selection",
    "SourceMapping",
    "Spending",
    "TrailEntry",
    "What",
    "accept_rollback",
    "back_up",
    "check_until",
    "declaration_text",
    "declared_in",
    "entry_text",
    "event_of",
    "loss_of",
    "restore",
]
