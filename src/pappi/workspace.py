"""The Python door to a workspace: `pappi.open`, `pappi.create`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

from pappi.audit.reports import SubjectReport, audit_subject
from pappi.audit.subjects import Subject
from pappi.budget.forecast import Forecast
from pappi.budget.journal import ChargeRecord
from pappi.checkpoint import kept, standing
from pappi.checkpoint.door import Caller, Checkpoint, Permit
from pappi.checkpoint.forecasts import Price
from pappi.checkpoint.levels import released_in_levels, smoothed_all
from pappi.checkpoint.pace import AT_ONCE, Pace
from pappi.checkpoint.standing import Run
from pappi.custody.door import Custody
from pappi.custody.imports import Imported, Progress, Terms
from pappi.custody.selection import Selection
from pappi.errors import Problem, UsageError
from pappi.eventlog.log import no_progress
from pappi.eventlog.opening import open_log
from pappi.eventlog.options import ReadOptions
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations import read_definitions
from pappi.released import Released
from pappi.report.budgets import BudgetLine
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Verification
from pappi.store.ledger.rules import no_progress as no_entry
from pappi.store.office import Office
from pappi.store.register import KeptQuestion, StandingQuestion
from pappi.store.workspace import WorkspaceFiles, create_workspace, find_workspace, open_workspace
from pappi.values.access import require_name
from pappi.values.answers import ExactAnswer
from pappi.values.epsilon import Epsilon
from pappi.values.quotes import Quote

CatalogueSource = str | Path | Catalogue
Amount = Epsilon | str | float | Decimal


class Workspace:
    """The owner's view of a workspace; `checkpoint` gives an analyst's."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self.root = files.root
        self._office = Office(files)
        self._pace: Pace = AT_ONCE
        self.custody = Custody(self._office)

    def __repr__(self) -> str:
        return f"<Workspace {str(self.root)!r}>"

    def custody_of(self, owner: str) -> Custody:
        """The owner's door for one of several owners: who did what is on record."""
        return Custody(self._office, owner)

    def paced(self, pace: Pace) -> Workspace:
        """The same workspace, in which results go on record at a pace: others may watch it."""
        found = copy(self)
        found._pace = pace  # noqa: SLF001 - its own class
        return found

    def close(self) -> None:
        """Let go of the ledger; the next call opens it anew."""
        self._office.close()

    def import_log(
        self,
        source: object,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        terms: Terms | None = None,
        timezone: str | None = None,
        progress: Progress = no_progress,
    ) -> Imported:
        """Import a file (XES, CSV, Parquet) or a frame, and declare it.

        `timezone` is short for the same zone in `options` (how to read wall-clock
        times) and in `terms` (where a day begins).
        """
        terms = terms or Terms(timezone=timezone or "UTC")
        reader = open_log(source, options or ReadOptions(timezone=timezone), terms.vocabulary)
        return self.custody.import_log(name or log_name(source), reader, terms, progress)

    def inspect_log(
        self,
        source: object,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        terms: Terms | None = None,
        timezone: str | None = None,
        progress: Progress = no_progress,
    ) -> Imported:
        """What `import_log` would take in and make public, for the owner to see beforehand.

        Nothing is taken in, and nothing goes on record.
        """
        terms = terms or Terms(timezone=timezone or "UTC")
        reader = open_log(source, options or ReadOptions(timezone=timezone), terms.vocabulary)
        return self.custody.inspect_log(name or log_name(source), reader, terms, progress)

    def select_names(
        self,
        source: object,
        terms: Terms,
        selection: Selection,
        name: str | None = None,
        *,
        options: ReadOptions | None = None,
        progress: Progress = no_progress,
    ) -> Terms:
        """The terms to import a log with, of whose names only those are left that it has.

        The names of `terms` are the candidates. What it costs is charged to every block of the
        log that is to be, whatever becomes of it.
        """
        reader = open_log(source, options, terms.vocabulary)
        called = name or log_name(source)
        chosen = self.custody.select_names(called, reader, terms, selection, progress)
        return replace(terms, vocabulary=chosen)

    def logs(self) -> tuple[LogDeclaration, ...]:
        """What is declared about each log."""
        return self.custody.logs()

    def log(self, name: str) -> LogDeclaration:
        return self.custody.log(name)

    def grant(self, log: str, per_block: Amount, total: Amount | None = None) -> LogDeclaration:
        """Set the epsilon each block of a log may spend, and all of them together."""
        return self.custody.grant(log, epsilon_of(per_block), _asked(total))

    def exact(self, catalogue: CatalogueSource) -> tuple[ExactAnswer, ...]:
        """The non-private values, for the owner only; that somebody looked is on record first."""
        return self.custody.exact(catalogue_of(catalogue))

    def verify(self, progress: Callable[[int], None] = no_entry) -> Verification:
        """Check the whole ledger; `progress` is told the entries it has come to."""
        return self.custody.verify(progress)

    def withdraw(self, log: str, analyst: str, by: str = "owner") -> int:
        """Let an analyst no longer ask about a log; gives how many standing questions end."""
        self.custody_of(by).withdraw(log, analyst)
        return standing.end_all(self._office, analyst, log)

    def run_standing(self) -> tuple[Run, ...]:
        """Release what is due of every standing question."""
        return tuple(standing.run_due(self._office, pace=self._pace))

    def checkpoint(self, analyst: str = "analyst") -> Analyst:
        """The door an analyst gets from the owner's hand: to every log."""
        return Analyst(self._office, Caller(require_name(analyst, "an analyst")), self._pace)

    def granted_checkpoint(self, analyst: str, permit: Permit) -> Analyst:
        """The door of an analyst who comes by themselves: to the logs that were granted only.

        `permit` is asked whenever something is decided, and again when it is charged.
        """
        return Analyst(self._office, Caller(analyst, permit, only_granted=True), self._pace)


class Analyst:
    """What an analyst can do: ask what it would cost, ask, and see the budget."""

    def __init__(self, office: Office, caller: Caller, pace: Pace) -> None:
        self._office = office
        self._caller = caller
        self._door = Checkpoint(office, caller, pace=pace)

    def logs(self) -> tuple[LogDeclaration, ...]:
        """What is public about each log this analyst may ask about."""
        return self._door.logs()

    def log(self, name: str) -> LogDeclaration:
        return self._door.log(name)

    def releases(
        self, log: str, after: int = 0, limit: int | None = None
    ) -> tuple[ChargeRecord, ...]:
        """What was asked of a log before, by anybody: asking it again is free."""
        return self._door.releases(log, after, limit)

    def subscribe(
        self, catalogue: CatalogueSource, until: date, epsilon: Amount | None = None
    ) -> StandingQuestion:
        """Reserve what a catalogue costs in every block to come up to a day."""
        asked = _asked(epsilon)
        chosen = catalogue_of(catalogue)
        return standing.subscribe(self._office, self._caller, chosen, until, asked)

    def standing(self) -> tuple[StandingQuestion, ...]:
        """The questions that stand."""
        return standing.standing_of(self._office, self._caller)

    def unsubscribe(self, identity: str) -> int:
        """Give up what is still reserved for a standing question."""
        return standing.end(self._office, self._caller, identity)

    def preview(
        self,
        catalogue: CatalogueSource,
        epsilon: Amount | None = None,
        *,
        accuracy: str | None = None,
    ) -> tuple[Quote, ...]:
        """Cost and expected error of every PPI, or what an accuracy costs; nothing is spent."""
        if accuracy is not None:
            return self._door.afford(catalogue_of(catalogue), accuracy)
        return self._door.preview(catalogue_of(catalogue), _asked(epsilon))

    def release(
        self,
        catalogue: CatalogueSource,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        whole: Amount | None = None,
    ) -> Released:
        """Charge and release every PPI of a catalogue, or replay what was released.

        `smooth` also draws the periods of a series towards each other, from what was released
        alone; `whole` spends that share of ε on the whole time besides.
        """
        asked, chosen = _asked(epsilon), catalogue_of(catalogue)
        if whole is not None:
            if not smooth:
                raise UsageError("a share for the whole time goes with smoothing")
            share = epsilon_of(whole).fraction
            found = released_in_levels(self._door.release, chosen, asked, share)
            return Released(smoothed_all(found))
        series = self._door.release(chosen, asked)
        return Released(smoothed_all(series) if smooth else series)

    def rehearse(
        self,
        catalogue: CatalogueSource,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
    ) -> Released:
        """What a release would look like, on made-up cases: no data is read, nothing is spent."""
        series = self._door.rehearse(catalogue_of(catalogue), _asked(epsilon))
        return Released(smoothed_all(series) if smooth else series)

    def price(self, catalogue: CatalogueSource) -> Price:
        """What asking all PPIs together costs, at the ε each of them names."""
        return self._door.price(catalogue_of(catalogue))

    def release_at(self, catalogue: CatalogueSource, price: str) -> Released:
        """The same as `release`, if the price is still the one of that name; else nothing."""
        return Released(self._door.release(catalogue_of(catalogue), named=price))

    def margins(
        self, catalogue: CatalogueSource, epsilons: Sequence[Epsilon]
    ) -> tuple[float | None, ...]:
        """What accuracy each epsilon buys of the first PPI, in its unit; None is not known."""
        return self._door.margins(catalogue_of(catalogue), epsilons)

    def forecasts(self, catalogue: CatalogueSource) -> tuple[Forecast | None, ...]:
        """How long the budget lasts if each PPI is asked, at the ε it names; None if it is free."""
        return self._door.forecasts(catalogue_of(catalogue))

    def outlook(self, catalogue: CatalogueSource) -> Forecast | None:
        """The same for all PPIs together."""
        return self._door.outlook(catalogue_of(catalogue))

    def replay(self, catalogue: CatalogueSource, *, smooth: bool = False) -> Released:
        """What of a catalogue was released before, at the ε it names: costs nothing, ever."""
        series = self._door.replay(catalogue_of(catalogue))
        return Released(smoothed_all(series) if smooth else series)

    def keep(self, catalogue: CatalogueSource) -> KeptQuestion | None:
        """Remember a catalogue for this analyst; None if there is no room for it."""
        return kept.keep(self._office, self._caller, catalogue_of(catalogue))

    def kept(self, log: str | None = None) -> tuple[KeptQuestion, ...]:
        """The catalogues this analyst has kept, the latest first; of one log, or of all."""
        return kept.kept_of(self._office, self._caller, log)

    def forget(self, identity: str) -> None:
        """Strike a kept catalogue off the list; what was released stays on record."""
        kept.forget(self._office, self._caller, identity)

    def unreleasable(self, catalogue: CatalogueSource) -> list[Problem]:
        """What keeps each PPI from being released, as warnings: its exact value is no problem."""
        return self._door.unreleasable(catalogue_of(catalogue))

    def audited(
        self, catalogue: CatalogueSource, epsilon: Amount | None = None
    ) -> tuple[Subject, ...]:
        """What each PPI would release, for `pappi.audit` to examine."""
        return self._door.audited(catalogue_of(catalogue), _asked(epsilon))

    def audit(
        self,
        catalogue: CatalogueSource,
        epsilon: Amount | None = None,
        *,
        pairs: int = 2_000,
        samples: int = 10_000,
    ) -> tuple[SubjectReport, ...]:
        """The exact worst loss of each PPI's release, and its sampler against its law."""
        subjects = self.audited(catalogue, epsilon)
        return tuple(audit_subject(subject, pairs, samples) for subject in subjects)

    def budget(self, log: str) -> tuple[BudgetLine, ...]:
        """What each block of a log may spend, and has spent."""
        return self._door.budget(log)


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


def catalogue_of(source: CatalogueSource) -> Catalogue:
    return source if isinstance(source, Catalogue) else read_definitions(source)


def epsilon_of(amount: Amount) -> Epsilon:
    return amount if isinstance(amount, Epsilon) else Epsilon.of(amount)


def log_name(source: object) -> str:
    """A file's name without its endings, as far as it can name a log; a frame must be named.

    >>> log_name("orders 2024.csv.gz"), log_name("07_x.xes")
    ('orders_2024', 'log_07_x')
    """
    if not isinstance(source, str | Path):
        raise UsageError("a log that is not a file needs a name", hint="pass name=…")
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(source).name.split(".")[0])[:60]
    return name if name[:1].isalpha() else f"log_{name}".rstrip("_")


def _asked(amount: Amount | None) -> Epsilon | None:
    return None if amount is None else epsilon_of(amount)
