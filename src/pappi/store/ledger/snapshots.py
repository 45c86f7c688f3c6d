"""What a journal adds up to at one of its entries, signed with the workspace's key.

So that opening a ledger need not add up its whole past: it starts from the snapshot and adds
what came after. Nobody without the key can write one, so an edited snapshot is found. An older
one that was signed is as good as it ever was: more is added up from there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pappi.budget.accounts import Account
from pappi.budget.chain import Fault, canonical_json
from pappi.budget.journal import Balance
from pappi.store.ledger.journal import Journal
from pappi.values.epsilon import Epsilon
from pappi.values.plain_data import JSON

# Of what is in a snapshot. One of another version is not read, and the journal added up anew.
VERSION = 1
_PURPOSE = b"pappi ledger snapshot"

_READ = "SELECT seq, body, signature FROM snapshot"
_KEEP = """
INSERT INTO snapshot (id, seq, body, signature) VALUES (1, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET seq = excluded.seq, body = excluded.body, signature = excluded.signature
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The sums after an entry; `register` is what the acts up to it add up to, as plain data."""

    seq: int
    digest: str
    balances: Mapping[Account, Balance]
    register: JSON


def read_snapshot(journal: Journal, key: bytes) -> Snapshot | None:
    """The one that is kept, if any; a Fault if it was not signed with this key."""
    rows = journal.run(_READ)
    if not rows:
        return None
    ((seq, body, signature),) = rows
    if not hmac.compare_digest(str(signature).encode("utf-8", "replace"), _signed(body, key)):
        raise Fault(None, "its snapshot was not signed with this workspace's key")
    written = json.loads(body)
    if written["version"] != VERSION:
        return None
    if written["seq"] != seq:
        raise Fault(None, "its snapshot is not of the entry it is kept under")
    balances = {
        Account(log, block, analyst): Balance(Epsilon(spent), Epsilon(held))
        for log, block, analyst, spent, held in written["balances"]
    }
    return Snapshot(seq, written["digest"], balances, written["register"])


def keep_snapshot(journal: Journal, snapshot: Snapshot, key: bytes) -> None:
    """In place of the one before, unless that is as new; in a transaction of its own."""
    body = canonical_json(
        {
            "version": VERSION,
            "seq": snapshot.seq,
            "digest": snapshot.digest,
            "balances": [
                [account.log, account.block, account.analyst, balance.spent.nano, balance.held.nano]
                for account, balance in snapshot.balances.items()
            ],
            "register": snapshot.register,
        }
    )
    with journal.writing():
        kept = journal.run(_READ)
        if not kept or kept[0][0] < snapshot.seq:
            journal.run(_KEEP, snapshot.seq, body, _signed(body, key).decode())


def _signed(body: str, key: bytes) -> bytes:
    # A key of its own is made of the workspace's, which is used for other things as well.
    own = hmac.digest(key, _PURPOSE, hashlib.sha256)
    text = str(body).encode("utf-8", "surrogateescape")
    return hmac.new(own, text, hashlib.sha256).hexdigest().encode()
