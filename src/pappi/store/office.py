"""A workspace opened by one process: its files, its ledger, and what holds now.

The ledger is opened and verified once and kept; what others have written since is read and
verified whenever something is decided. If the ledger fails, it is let go, so that the next
call opens and verifies it anew: what is refused while the cause lasts works again after.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pappi.errors import LedgerUnavailable
from pappi.store.ledger import Ledger
from pappi.store.ledger.rules import no_step
from pappi.store.register import Register
from pappi.store.workspace import WorkspaceFiles


class Office:
    """Shared by the threads of a process; a forked child opens its own ledger."""

    def __init__(self, files: WorkspaceFiles, on_step: Callable[[str], None] = no_step) -> None:
        self.files = files
        self._on_step = on_step
        self._opening = threading.Lock()
        self._ledger: Ledger | None = None
        self._register = Register()
        self._process = os.getpid()
        self._inherited: Ledger | None = None

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger, for one piece of work."""
        ledger = self._opened()
        try:
            yield ledger
        except LedgerUnavailable:
            self._let_go(ledger)
            raise

    def register(self, ledger: Ledger) -> Register:
        """What holds at this moment; inside a transaction, at the moment of the transaction."""
        before = self._register
        # Threads may do this at once, each from the same start: all come to the same end.
        found = before.advanced(ledger.news(before.last))
        if found.last != before.last:
            ledger.remember(found.last)
        self._register = found
        return found

    def close(self) -> None:
        with self._opening:
            if self._ledger is not None and self._process == os.getpid():
                self._ledger.close()
            self._ledger = None

    def _opened(self) -> Ledger:
        with self._opening:
            if self._process != os.getpid():
                # The parent's connection: not ours to use, nor to close.
                self._inherited = self._ledger
                self._ledger, self._process = None, os.getpid()
            if self._ledger is None:
                self._ledger = self.files.open_ledger(self._on_step)
                # An office that nobody closes closes its ledger when it is forgotten.
                weakref.finalize(self, _close_in, os.getpid(), self._ledger)
            return self._ledger

    def _let_go(self, ledger: Ledger) -> None:
        with self._opening:
            if self._ledger is ledger:
                self._ledger = None
        ledger.close()


def _close_in(process: int, ledger: Ledger) -> None:
    if os.getpid() == process:
        ledger.close()
