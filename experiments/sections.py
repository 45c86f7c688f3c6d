"""What an experiment hands over: paragraphs, tables and figures, for a page and for files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from experiments.guarantees import Guarantee, guarantees, verdict_on
from pappi.report import Element

Note = Callable[[str], None]
"""Told what is being done."""

Cell = object


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for a file, and for the page: all columns, those `shown`, or none of it."""

    stem: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    shown: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment. `skipped` says why there is nothing to show."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[tuple[str, str, Element]] = ()
    skipped: str = ""


@dataclass(frozen=True)
class Run:
    """What experiments of one run share."""

    fast: bool
    note: Note = field(default=lambda _: None)

    @cached_property
    def guarantees(self) -> list[Guarantee]:
        """Found once, for whichever experiment asks first."""
        self.note("auditing every mechanism")
        return guarantees(fast=self.fast)

    def short_verdict(self, mechanism: str, function: str, *, ours: bool) -> str:
        """FAILS, holds, or that nobody looked."""
        return self.verdict(mechanism, function, ours=ours).partition(":")[0]

    def verdict(self, mechanism: str, function: str, *, ours: bool) -> str:
        return verdict_on(self.guarantees, mechanism, function, ours=ours)
