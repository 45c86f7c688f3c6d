"""The ledger: accounts, charges, and the journal that proves them.

ledger     `Ledger`: charge before anything is drawn, record, replay, verify; opening one
accounts   when a charge may be made, and how long a budget lasts
journal    its hash chain, what its entries mean and add up to, and what a database must do
snapshots  what is kept beside the journal: signed sums, and how far it had come
sqlite     the ledger in a SQLite file
postgres   the ledger in PostgreSQL, for several servers (imported when it is used)
"""

from pappi.ledger.accounts import (
    Account,
    Charge,
    Forecast,
    KeyState,
    RemainingBudget,
    demand,
    forecast,
)
from pappi.ledger.journal import (
    FORMAT,
    Balance,
    ChargeRecord,
    Entry,
    EntryKind,
    Flaw,
    Journal,
    broken,
    cancelled_in,
    canonical_json,
    canonical_object,
    charge_of,
    charges_in,
    extend,
    opening_payload,
    reformat_payload,
    reserved_in,
    standing,
    utc_now,
    verified,
)
from pappi.ledger.ledger import (
    Ledger,
    Progress,
    Verification,
    allowed,
    bare_journal,
    create_ledger,
    no_progress,
    no_step,
    open_ledger,
    unverified_ledger,
)
from pappi.ledger.snapshots import Mark, MarkFile
from pappi.ledger.sqlite import GUARDS, TABLES
