"""A workspace in Python, as its owner has it: `pappi.open`, `pappi.create`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pappi.checkpoint import (
    AT_ONCE,
    Amount,
    Caller,
    Ids,
    LocalSession,
    Pace,
    Permit,
    Run,
    catalogue_of,
    end_all,
    epsilon_if_any,
    epsilon_of,
    run_due,
)
from pappi.errors import UsageError
from pappi.ledger import Verification
from pappi.ledger import no_progress as no_entry
from pappi.ppinot import Definitions
from pappi.store import (
    LedgerSession,
    LogDeclaration,
    WorkspaceFiles,
    create_workspace,
    find_workspace,
    open_workspace,
)
from pappi.values import (
    ExactAnswer,
    Terms,
    did_you_mean,
    require_name,
)

if TYPE_CHECKING:
    from pappi.custody import Custody, Imported, NewLog, Progress, Removed, Selection
    from pappi.eventlog import EventReader, Profile, ReadOptions


def no_progress(_done: int, _total: int) -> None:
    """Nobody watches an import."""


class Workspace:
    """The owner's view of a workspace; `checkpoint` gives an analyst's session."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self.root = files.root
        self._ledger_session = LedgerSession(files)
        self._pace: Pace = AT_ONCE

    def __repr__(self) -> str:
        return f"<Workspace {str(self.root)!r}>"

    def _repr_html_(self) -> str:
        """Its logs and what is declared about them."""
        from pappi.report import bdi, el, horizon_text, table

        rows = [
            (
                bdi(log.name),
                bdi(horizon_text(log.public)),
                f"one {log.terms.unit}, {log.terms.adjacency}",
                f"ε {log.terms.block_budget} per {log.terms.blocks.unit}",
            )
            for log in self.logs()
        ]
        logs = table("Logs", ("Log", "Days", "Privacy unit", "Budget"), rows)
        body = logs if rows else el("p", "No logs yet: import one with import_log(…).")
        return f"{el('p', 'Workspace ', el('code', str(self.root)))}{body}"

    @cached_property
    def custody(self) -> Custody:
        """The owner's acts."""
        return self.custody_of("owner")

    def custody_of(self, owner: str) -> Custody:
        """Custody for one of several owners: their name goes on record with every act."""
        # Imported here: an analyst's commands need none of it.
        from pappi.custody import Custody

        return Custody(self._ledger_session, owner)

    def paced(self, pace: Pace) -> Workspace:
        """The same workspace, recording results on a time grid, so that timings tell nothing."""
        paced = copy(self)
        paced._pace = pace  # noqa: SLF001 - its own class
        return paced

    def close(self) -> None:
        """Close the ledger; the next call reopens it."""
        self._ledger_session.close()

    def import_log(
        self,
        source: object,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        new: NewLog | None = None,
        timezone: str | None = None,
        progress: Progress = no_progress,
        **reading: object,
    ) -> Imported:
        """Import a file (XES, CSV, Parquet, Excel, JSON, OCEL) or a frame, and declare it.

        `timezone` is short for the same zone in `options` (how to read wall-clock
        times) and in `new` (where a day begins). The fields of `options` can also be given
        directly: `case="order"`, `encoding="cp1252"` and so on, as in `ReadOptions`.
        """
        reader, new = _opened(source, options, new, timezone, reading)
        return self.custody.import_log(name or log_name(source), reader, new, progress)

    def inspect_log(
        self,
        source: object,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        new: NewLog | None = None,
        timezone: str | None = None,
        progress: Progress = no_progress,
        **reading: object,
    ) -> Imported:
        """What `import_log` would import and make public, for the owner to see beforehand.

        Nothing is imported or recorded.
        """
        reader, new = _opened(source, options, new, timezone, reading)
        return self.custody.inspect_log(name or log_name(source), reader, new, progress)

    def profile(self, log: str) -> Profile:
        """What an imported log holds, for the owner only; the view is recorded first.

        `inspect_log(...).profile` is the profile of a log before it is imported.
        """
        return self.custody.profile(log)

    def suggest(self, log: str, *, from_data: bool = False) -> str:
        """A first catalogue of PPIs in YAML, from what is public about a log.

        With `from_data`, for the owner only, it also proposes bounds and the activities that
        matter: whatever of it is used becomes public. The view is recorded first.
        """
        from pappi.planning import suggest_catalogue

        public = self.log(log).public
        return suggest_catalogue(public, self.custody.proposal(log) if from_data else None)

    def select_names(
        self,
        source: object,
        new: NewLog,
        selection: Selection,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        progress: Progress = no_progress,
    ) -> NewLog:
        """`new` with only those names that private partition selection finds in the log.

        The names of `new` are the candidates. The ε is charged to every block of the future
        log, even if the import never happens.
        """
        from pappi.eventlog import open_log

        reader = open_log(source, options, new.vocabulary)
        called = name or log_name(source)
        chosen = self.custody.select_names(called, reader, new, selection, progress)
        return replace(new, vocabulary=chosen)

    def logs(self) -> tuple[LogDeclaration, ...]:
        """What is declared about each log."""
        return self.custody.logs()

    def log(self, name: str) -> LogDeclaration:
        return self.custody.log(name)

    def grant(
        self, log: str, per_block: Amount, total_budget: Amount | None = None
    ) -> LogDeclaration:
        """Set the budget of each block of a log, and of all of them together."""
        return self.custody.grant(log, epsilon_of(per_block), epsilon_if_any(total_budget))

    def exact(self, catalogue: Definitions, *, ppi: Ids | None = None) -> tuple[ExactAnswer, ...]:
        """The non-private values, for the owner only; the view is recorded first."""
        return self.custody.exact(catalogue_of(catalogue, None, ppi))

    def verify(self, progress: Callable[[int], None] = no_entry) -> Verification:
        """Check the whole ledger; `progress` is called with the number of entries checked."""
        return self.custody.verify(progress)

    def rename_log(self, name: str, new: str) -> LogDeclaration:
        """Give a log another name, as long as nothing was charged for it."""
        return self.custody.rename(name, new)

    def remove_log(self, name: str, by: str = "owner") -> Removed:
        """Remove a log and delete its events; subscriptions to it end.

        If nothing was charged, its name is free. Otherwise the name, the charges and what was
        released stay, and can be replayed.
        """
        custody = self.custody_of(by)
        for analyst in custody.subscribers(name):
            end_all(self._ledger_session, analyst, name)
        return custody.remove(name)

    def withdraw(self, log: str, analyst: str, by: str = "owner") -> int:
        """Withdraw an analyst's access to a log; returns how many subscriptions end."""
        self.custody_of(by).withdraw(log, analyst)
        return end_all(self._ledger_session, analyst, log)

    def run_subscriptions(self) -> tuple[Run, ...]:
        """Release what is due for every subscription."""
        return tuple(run_due(self._ledger_session, pace=self._pace))

    def checkpoint(self, analyst: str = "analyst") -> LocalSession:
        """An analyst's session, opened by the owner: with access to every log."""
        caller = Caller(require_name(analyst, "an analyst"))
        return LocalSession(self._ledger_session, caller, pace=self._pace)

    def granted_checkpoint(self, analyst: str, permit: Permit) -> LocalSession:
        """An analyst's session, opened by themselves: only for the logs they were granted.

        `permit` is checked whenever something is decided, and again when it is charged.
        """
        caller = Caller(analyst, permit, only_granted=True)
        return LocalSession(self._ledger_session, caller, pace=self._pace)


def _opened(
    source: object,
    options: ReadOptions | None,
    new: NewLog | None,
    timezone: str | None,
    reading: Mapping[str, Any],
) -> tuple[EventReader, NewLog]:
    from pappi.custody import NewLog
    from pappi.eventlog import ReadOptions, open_log

    allowed = [option.name for option in fields(ReadOptions)]
    if unknown := next((name for name in reading if name not in allowed), None):
        raise UsageError(
            f"an import has no argument {unknown!r}",
            hint=did_you_mean(unknown, allowed, f"its arguments are {', '.join(allowed)}"),
        )
    new = new or NewLog(terms=Terms(timezone=timezone or "UTC"))
    options = replace(options or ReadOptions(timezone=timezone), **reading)
    return open_log(source, options, new.vocabulary), new


def create(root: str | Path, *, ledger: str | None = None) -> Workspace:
    """Make a new workspace in an empty or new directory.

    The ledger is a file in it, or in the PostgreSQL database whose URL is given.
    """
    return Workspace(create_workspace(Path(root), ledger))


def open_at(root: str | Path) -> Workspace:
    """Open the workspace in this directory."""
    return Workspace(open_workspace(Path(root)))


def find(start: Path) -> Workspace:
    """Open the workspace of this directory or of the nearest one above it."""
    return Workspace(find_workspace(start))


def log_name(source: object) -> str:
    """A valid log name made from a file's name; a frame must be named explicitly.

    >>> log_name("orders 2024.csv.gz"), log_name("07_x.xes")
    ('orders_2024', 'log_07_x')
    """
    if not isinstance(source, str | Path):
        raise UsageError("a log that is not a file needs a name", hint="pass name=…")
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(source).name.split(".")[0])[:60]
    return name if name[:1].isalpha() else f"log_{name}".rstrip("_")
