"""A workspace opened by one process: its files, its ledger, and what holds now.

The ledger is opened and verified once and kept; what others have written since is read and
verified whenever something is decided. If the ledger fails, it is let go, so that the next
call opens and verifies it again, so a refusal ends when its cause does.

Opening starts from the ledger's snapshot (`ledger/ledger.py`), and every so many entries
a new one is kept. So neither costs more the longer the journal is. `verify` looks at all of it,
on a connection of its own; once it has found something wrong, nothing is decided by this ledger
until verifying it again finds it sound.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import takewhile

from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger import Ledger, Progress, Verification, no_progress, no_step
from pappi.store.registry import Registry
from pappi.store.workspace import WorkspaceFiles


class LedgerSession:
    """Shared by the threads of a process; a forked child opens its own ledger."""

    def __init__(self, files: WorkspaceFiles, on_step: Callable[[str], None] = no_step) -> None:
        self.files = files
        self._on_step = on_step
        self._opening = threading.Lock()
        self._ledger: Ledger | None = None
        self._registry = Registry()
        self._snapshot_at = 0
        self._keeping = threading.Lock()
        self._unsound: LedgerBroken | None = None
        self._verifying: tuple[int, Future[Verification]] | None = None
        self._process = os.getpid()
        self._inherited: Ledger | None = None

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger, for one piece of work."""
        if self._unsound is not None:
            raise LedgerBroken(self._unsound.message, hint=self._unsound.hint)
        ledger = self._opened()
        try:
            yield ledger
        except LedgerUnavailable:
            self._let_go(ledger)
            raise
        self._renew_snapshot()

    def registry(self, ledger: Ledger) -> Registry:
        """What holds at this moment; inside a transaction, at the moment of the transaction."""
        before = self._registry
        # Threads may do this at once, each from the same start: all come to the same end.
        now = before.advanced(ledger.news(before.last))
        if now.last != before.last:
            ledger.remember(now.last)
        self._registry = now
        return now

    def verify(self, progress: Progress = no_progress) -> Verification:
        """Verify the ledger in full; whoever asks meanwhile gets the same finding."""
        with self._opening:
            running = self._verifying
            shared = running is not None and running[0] == os.getpid()
            if running is None or not shared:
                running = self._verifying = os.getpid(), Future()
        finding = running[1]
        if shared:
            return finding.result()
        try:
            with self.files.ledger_to_verify() as ledger:
                verification = ledger.verify(progress)
        except BaseException as error:
            finding.set_exception(error)
            raise
        else:
            self._unsound = ledger.refusal(verification)
            finding.set_result(verification)
            return verification
        finally:
            with self._opening:
                self._verifying = None

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
                self._ledger = self._newly_opened()
                # A session that nobody closes closes its ledger when it is forgotten.
                weakref.finalize(self, _close_in, os.getpid(), self._ledger)
            return self._ledger

    def _newly_opened(self) -> Ledger:
        """Verified, and with a snapshot for the next time if this one had much to read."""
        ledger = self.files.open_ledger(self._on_step)
        try:
            self._bring_forward(ledger)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _bring_forward(self, ledger: Ledger) -> None:
        registry, start = self._registry, ledger.brought_forward
        outdated = start is not None and not Registry.is_kept_in(start[1])
        if outdated:
            start = None
        if start is not None and (registry.last is None or registry.last.seq < start[0].seq):
            entry, written = start
            registry = Registry.from_json(written, entry)
        end = ledger.verified_to
        # Also if there is nothing new: what was read before must still be in this ledger.
        news = ledger.news(registry.last)
        now = registry.advanced(takewhile(lambda entry: entry.seq <= end, news))
        if now.last != registry.last:
            ledger.remember(now.last)
        self._registry = now
        kept = start[0].seq if start else 0
        due = ledger.snapshot_is_due or outdated
        if due and now.last is not None and now.last.seq == end:
            self._keep(ledger, now)
            kept = end
        self._snapshot_at = kept + Ledger.snapshot_every

    def _keep(self, ledger: Ledger, registry: Registry) -> None:
        """Without a snapshot everything works, if later: who may only read goes on."""
        try:
            ledger.keep_snapshot(registry.to_json())
        except LedgerBroken:
            raise
        except LedgerUnavailable:
            pass

    def _renew_snapshot(self) -> None:
        """Every so many entries: open the ledger once more, on a connection of its own."""
        last = self._registry.last
        if last is None or last.seq < self._snapshot_at:
            return
        if not self._keeping.acquire(blocking=False):
            return
        try:
            self._snapshot_at = last.seq + Ledger.snapshot_every
            self._newly_opened().close()
        except LedgerUnavailable:
            # What was asked for is done. Whoever asks next opens it anew, and is told why not.
            self.close()
        finally:
            self._keeping.release()

    def _let_go(self, ledger: Ledger) -> None:
        with self._opening:
            if self._ledger is ledger:
                self._ledger = None
        ledger.close()


def _close_in(process: int, ledger: Ledger) -> None:
    if os.getpid() == process:
        ledger.close()
