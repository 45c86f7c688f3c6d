"""What the owner of a workspace can do with it; never for an analyst.

custody   `Custody`: every act of the owner, on record; renaming and removing a log
imports   declaring a log that is imported, created empty, or stays where it is
names     the public names of a log: selecting them privately, withdrawing them
capture   a growing log: capturing events, sealing time, erasing cases from disk
exact     values without noise, each view on record
trail     the journal in words, what was spent, and the data-protection pack
backup    a workspace in one file, and back; going on after lost entries
"""

from pappi.custody.backup import accept_rollback, back_up, loss_of, restore
from pappi.custody.capture import MOST_EVENTS, Erased, Sealed, check_until, event_of
from pappi.custody.custody import Custody, IssuedKey, Removed, TrailEntry
from pappi.custody.imports import (
    Added,
    Imported,
    NewLog,
    SourceMapping,
    declaration_text,
    declared_in,
)
from pappi.custody.names import Selection
from pappi.custody.trail import ChargePage, Spending, entry_text
from pappi.eventlog import Progress
