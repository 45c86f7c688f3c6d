"""What is kept beside a journal: how far it had come, and what it added up to there.

A snapshot is what the journal adds up to at one of its entries, signed with the workspace's key, so
that opening a ledger need not add up its whole past: it starts from the snapshot and adds what came
after. Nobody without the key can write one, so an edited snapshot is noticed. An older signed one
is still valid: there is only more to add up after it.

The mark is the number and digest of an entry, in the file `ledger.mark`, apart from the ledger
itself: on the disk after each commit, and before anything is read or answered because of it. A
ledger that lacks that entry is an older copy, or has lost its end: what was spent since is not in
it. The mark may lag behind the ledger, after a crash between the two; it is never ahead of it. The
file has two slots of one disk sector each, written in turns: whatever a crash leaves of the slot
that was being written, the other is intact.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pappi.errors import LedgerRolledBack, LedgerUnavailable
from pappi.ledger.accounts import Account
from pappi.ledger.journal import Balance, Flaw, Journal, canonical_json
from pappi.values import JSON, Epsilon

# Of a snapshot's content. One of another version is ignored, and the journal added up in full.
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
    """The sums after an entry; `register` is the registry at that entry, as plain data."""

    seq: int
    digest: str
    balances: Mapping[Account, Balance]
    register: JSON


def read_snapshot(journal: Journal, key: bytes) -> Snapshot | None:
    """The stored snapshot, if any; a Flaw if it was not signed with this key."""
    rows = journal.run(_READ)
    if not rows:
        return None
    ((seq, body, signature),) = rows
    if not hmac.compare_digest(str(signature).encode("utf-8", "replace"), _signed(body, key)):
        raise Flaw(None, "its snapshot was not signed with this workspace's key")
    content = json.loads(body)
    if content["version"] != VERSION:
        return None
    if content["seq"] != seq:
        raise Flaw(None, "its snapshot is not of the entry it is kept under")
    balances = {
        Account(log, block, analyst): Balance(Epsilon(spent), Epsilon(held))
        for log, block, analyst, spent, held in content["balances"]
    }
    return Snapshot(seq, content["digest"], balances, content["register"])


def keep_snapshot(journal: Journal, snapshot: Snapshot, key: bytes) -> None:
    """Replace the stored snapshot, unless it is as new; in a transaction of its own."""
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
        stored = journal.run(_READ)
        if not stored or stored[0][0] < snapshot.seq:
            journal.run(_KEEP, snapshot.seq, body, _signed(body, key).decode())


def _signed(body: str, key: bytes) -> bytes:
    # With a key derived from the workspace's, which has other uses as well.
    derived = hmac.digest(key, _PURPOSE, hashlib.sha256)
    text = str(body).encode("utf-8", "surrogateescape")
    return hmac.new(derived, text, hashlib.sha256).hexdigest().encode()


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


_SECTOR = 512
_SLOTS = 2
_DIGEST = 64
_CHECK = 16


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """An entry of the journal, by its number and digest.

    >>> Mark.read("3:0123456789abcdef")
    Mark(seq=3, digest='0123456789abcdef')
    """

    seq: int
    digest: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.digest}"

    @classmethod
    def read(cls, text: str) -> Mark:
        """A mark as somebody noted it: the digest may be shortened, to 16 digits at least."""
        seq, _, digest = text.strip().rstrip("…").partition(":")
        if not seq.isascii() or not seq.isdigit() or not _CHECK <= len(digest) <= _DIGEST:
            raise ValueError(f"{text!r} is not NUMBER:DIGEST with 16 digits or more")
        if set(digest.lower()) - set("0123456789abcdef"):
            raise ValueError(f"{text!r} has a digest with other digits than 0-9 and a-f")
        return cls(int(seq), digest.lower())

    def is_of(self, digest: str) -> bool:
        return digest.startswith(self.digest)


class MarkFile:
    """The mark of one workspace, shared by any number of processes and threads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mark:
        """An entry that the ledger must have."""
        with self._opened(os.O_RDONLY) as descriptor:
            mark = _newest(_pread(descriptor))
        if mark is None:
            raise _lost(self._path, "is damaged")
        return mark

    def found(self) -> Mark | None:
        """The same, or None if it is missing or damaged."""
        try:
            return self.read()
        except LedgerRolledBack:
            return None

    def move_on(self, mark: Mark) -> None:
        """Move the mark forward, never back; it is on the disk when this returns."""
        with self._opened(os.O_RDWR) as descriptor:
            _lock(descriptor)
            slots = _pread(descriptor)
            now = _newest(slots)
            if now is None:
                raise _lost(self._path, "is damaged")
            if now.seq < mark.seq:
                older = min(range(_SLOTS), key=lambda slot: getattr(slots[slot], "seq", -1))
                _write(descriptor, mark, older)

    def begin(self, mark: Mark) -> None:
        """Write a mark where there is none yet, or where the owner has accepted a loss."""
        with self._opened(os.O_RDWR | os.O_CREAT) as descriptor:
            _lock(descriptor)
            for slot in range(_SLOTS):
                _write(descriptor, mark, slot)

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            descriptor = os.open(self._path, flags | getattr(os, "O_BINARY", 0), 0o600)
        except FileNotFoundError:
            raise _lost(self._path, "is missing") from None
        except OSError as error:
            raise _unusable(self._path, error) from error
        try:
            yield descriptor
        except OSError as error:
            raise _unusable(self._path, error) from error
        finally:
            os.close(descriptor)


def _pread(descriptor: int) -> list[Mark | None]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    content = os.read(descriptor, _SLOTS * _SECTOR)
    return [_in_slot(content[at : at + _SECTOR]) for at in range(0, _SLOTS * _SECTOR, _SECTOR)]


@lru_cache(maxsize=16)
def _in_slot(content: bytes) -> Mark | None:
    """What a slot holds, if it is complete."""
    try:
        seq, digest, check = content.decode("ascii").split()
        mark = Mark(int(seq), digest)
    except ValueError:
        return None
    return mark if check == _checksum(mark) and len(digest) == _DIGEST else None


def _newest(slots: list[Mark | None]) -> Mark | None:
    return max((mark for mark in slots if mark is not None), default=None)


def _write(descriptor: int, mark: Mark, slot: int) -> None:
    line = f"{mark.seq} {mark.digest} {_checksum(mark)}\n".encode("ascii")
    os.lseek(descriptor, slot * _SECTOR, os.SEEK_SET)
    if os.write(descriptor, line.ljust(_SECTOR)) != _SECTOR:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def _checksum(mark: Mark) -> str:
    return hashlib.sha256(str(mark).encode()).hexdigest()[:_CHECK]


def _lost(path: Path, how: str) -> LedgerRolledBack:
    return LedgerRolledBack(
        f"{path.name}, which records the ledger's newest entry, {how}",
        hint="restore it; without it nobody knows whether charges are lost. If you do not "
        "have it: pappi ledger accept-rollback",
    )


def _unusable(path: Path, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{path.name} could not be used: {error.strerror}",
        hint="nothing was released; fix this and ask again",
        detail=str(error),
    )
