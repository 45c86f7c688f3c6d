"""What the owner of a workspace can do with it."""

from __future__ import annotations

from dataclasses import replace

from pappi.custody.exact import exact_answers
from pappi.custody.imports import Imported, Progress, Terms, import_log
from pappi.errors import UsageError
from pappi.eventlog.log import EventReader
from pappi.ppinot.checks import require_sound
from pappi.ppinot.model import Catalogue
from pappi.store.declarations import LogDeclaration, declare, declared_log, declared_logs
from pappi.store.ledger import Verification
from pappi.store.workspace import WorkspaceFiles
from pappi.values.answers import ExactAnswer
from pappi.values.epsilon import Epsilon


class Custody:
    """The owner's side of a workspace. Never hand it to an analyst."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    def import_log(
        self, name: str, reader: EventReader, terms: Terms, progress: Progress
    ) -> Imported:
        """Take a log into custody and declare it; all of it or nothing."""
        with self._files.open_ledger() as ledger:
            return import_log(self._files, ledger, name, reader, terms, progress)

    def logs(self) -> tuple[LogDeclaration, ...]:
        with self._files.open_ledger() as ledger:
            return tuple(declared_logs(ledger).values())

    def log(self, name: str) -> LogDeclaration:
        with self._files.open_ledger() as ledger:
            return declared_log(ledger, name)

    def grant(self, name: str, per_block: Epsilon) -> LogDeclaration:
        """Set what each block of a log may spend; what is spent stays spent."""
        if per_block.nano == 0:
            raise UsageError("a budget of 0 answers nothing", hint="grant e.g. 2")
        with self._files.open_ledger() as ledger:
            granted = replace(declared_log(ledger, name), block_budget=per_block)
            declare(ledger, granted)
            return granted

    def exact(self, catalogue: Catalogue) -> tuple[ExactAnswer, ...]:
        """The non-private values of a catalogue."""
        with self._files.open_ledger() as ledger:
            log = declared_log(ledger, catalogue.log)
        require_sound(catalogue, log.vocabulary)
        return exact_answers(self._files.events, catalogue, log)

    def verify(self) -> Verification:
        """Check the ledger's chain from its first entry to its last."""
        with self._files.open_ledger() as ledger:
            return ledger.verify()
