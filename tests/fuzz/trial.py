"""What happens to a definition: it is read, checked, compiled, and looked at from all sides.

The code that is tried is a `Subject`, so that a broken one can stand in its place.
"""

from __future__ import annotations

import json
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from threading import current_thread, main_thread
from typing import ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import duckdb
from sqlglot import exp

from pappi.engine import Identify, read_by
from pappi.engine.bases import Calendars
from pappi.engine.cases import MOST_BASES
from pappi.engine.expressions import Source
from pappi.engine.query import CaseQuery, calendars_of, shared_scans, written
from pappi.errors import PappiError, Problem
from pappi.planning import plan_ppi
from pappi.ppinot import (
    Catalogue,
    Ppi,
    SingleInstance,
    canonical_form,
    check_catalogue,
    composition_tree,
    leaves,
    reduced_form,
    sentence,
)
from pappi.values import (
    Adjacency,
    CaseBorder,
    DayTable,
    Epsilon,
    Vocabulary,
    WorkingCalendar,
    working_days_of,
)
from tests.fuzz import sql_check
from tests.fuzz.promises import Found, check_names, check_printable, check_written
from tests.fuzz.vocabulary import VOCABULARY
from tests.public_logs import public_log

SECONDS = 0.05
"""The longest that reading, checking and compiling one definition may take, in CPU time."""
CHARACTERS = 10_000
"""… if it is no longer than this; a longer one may take longer in proportion."""
REPEATED = 6
HANGING = 20.0
CALLERS = 100

P = ParamSpec("P")
T = TypeVar("T")
Reader = Callable[[str], Catalogue]
Checker = Callable[[Catalogue, Vocabulary], list[Problem]]
Compiler = Callable[[CaseQuery], exp.Expr]
WHO = Identify(b"", "org:resource")


def case_query(asked: CaseQuery) -> exp.Expr:
    """All of it as one query, as it goes to any database."""
    return asked.select(Source(sql_check.TABLE))


@dataclass(frozen=True, slots=True)
class Subject:
    """The code under trial."""

    readers: Mapping[str, Reader]
    check: Checker = check_catalogue
    compile: Compiler = case_query


@dataclass(frozen=True, slots=True)
class Looks:
    """One in how many sound definitions is looked at more closely, in ways that take long.

    Primes, so that every notation has its turn.
    """

    parsed: int = 1
    told: int = 5
    written: int = 61
    sqlglot: int = 101
    planned: int = 103
    released: int = 107
    with_person: int = 11


CLOSELY = Looks(1, 1, 1, 1, 1, 1, 1)
"""All of them at every definition."""


@dataclass(slots=True)
class Trial:
    """How one definition fared: `sound`, `unsound` against the vocabulary, or `refused` at once."""

    verdict: str
    seconds: float
    apart: dict[str, float] = field(default_factory=dict)


def try_definition(subject: Subject, notation: str, text: str, turn: int, looks: Looks) -> Trial:
    """Raises Found with what is wrong. `turn` decides which of the closer looks are taken."""
    trial = _attempt(subject, notation, text, turn, looks)
    taken = [trial.seconds]
    while taken[-1] > allowed_seconds(text) and len(taken) <= REPEATED:
        # Slow is what is slow every time: the machine may have been busy. And each time from
        # another depth: Python keeps its stack in chunks, and is slow where one just ends.
        deeper = CALLERS + 7 * len(taken)
        taken.append(_attempt(subject, notation, text, 1, looks, deeper).seconds)
    if taken[-1] > allowed_seconds(text):
        shown = ", ".join(f"{1000 * each:.0f}" for each in taken)
        raise Found(f"it takes too long: {shown} ms for {len(text):,} characters")
    return replace(trial, seconds=taken[-1])


def _attempt(
    subject: Subject, notation: str, text: str, turn: int, looks: Looks, callers: int = CALLERS
) -> Trial:
    try:
        with _at_most(HANGING):
            attempt = _Attempt(subject, looks, turn)
            return _called_by(callers, lambda: attempt.all_of(notation, text))
    except Found:
        raise
    except _Hangs:
        raise Found(f"it takes more than {HANGING} s") from None
    except Exception as error:
        raise Found(_told(error)) from error


def _called_by(callers: int, step: Callable[[], T]) -> T:
    """As in a server, where a stack of others stands above: the limit must be far off."""
    return _called_by(callers - 1, step) if callers else step()


class _Hangs(BaseException):
    """Not an Exception: no handler in between may take it for one of its own."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Ends what goes on for more CPU time than this, where the system can."""
    if not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _Hangs

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _told(error: Exception) -> str:
    """The error with the frames nearest to it: a stack that ran over has thousands."""
    frames = traceback.format_tb(error.__traceback__)
    return f"{type(error).__name__} escaped: {str(error)[:500]}\n" + "".join(frames[-6:])


def allowed_seconds(text: str) -> float:
    return SECONDS * max(1.0, len(text) / CHARACTERS)


class _Attempt:
    def __init__(self, subject: Subject, looks: Looks, turn: int) -> None:
        self._subject = subject
        self._looks = looks
        self._turn = turn
        self._seconds = 0.0
        self._apart: dict[str, float] = {}

    def all_of(self, notation: str, text: str) -> Trial:
        try:
            catalogue = self._timed(self._subject.readers[notation], text)
            problems = self._timed(self._subject.check, catalogue, VOCABULARY)
        except PappiError as error:
            check_printable(str(error), error.hint)
            return Trial("refused", self._seconds)
        if problems:
            check_printable(*map(str, problems))
            return Trial("unsound", self._seconds)
        for ppi in catalogue.ppis:
            check_names(ppi)
            self._compile(ppi)
            self._tell(ppi)
        if self._turn % self._looks.written == 0:
            self._timed_apart("writing and reading again", check_written, catalogue, notation)
        return Trial("sound", self._seconds, self._apart)

    # --- compiling --------------------------------------------------------------------

    def _compile(self, ppi: Ppi) -> None:
        wanted = self._timed(_measures_of, ppi)
        calendars = self._timed_apart("days of calendars", calendars_of, wanted, _days)
        for number, part in enumerate(shared_scans(wanted, MOST_BASES)):
            who = WHO if number == 0 and self._turn % self._looks.with_person == 0 else None
            asked = CaseQuery(CaseBorder.END, part, VOCABULARY, who, calendars)
            self._look_at(self._timed(self._query, asked), calendars)
            if (events := self._timed(_events_query, asked)) is not None:
                self._look_at(events, {})

    def _query(self, asked: CaseQuery) -> str:
        return written(self._subject.compile(asked))

    def _look_at(self, query: str, calendars: Calendars) -> None:
        connection = _database()
        try:
            sql_check.check_words(query)
            if self._turn % self._looks.parsed == 0:
                self._timed_apart("reading SQL", sql_check.check_parses, query, connection)
            if self._turn % self._looks.sqlglot == 0:
                sql_check.check_sqlglot(query)
            if self._turn % self._looks.planned == 0:
                tables = {each.name: each.arrow() for each in calendars.values()}
                plan = sql_check.check_planned
                self._timed_apart("planning SQL", plan, query, connection, tables)
        except sql_check.NotOurs as wrong:
            raise Found(f"{wrong}\n{query}") from None

    # --- telling and releasing --------------------------------------------------------

    def _tell(self, ppi: Ppi) -> None:
        if self._turn % self._looks.told == 0:
            self._timed_apart("sentences", sentence, ppi)
            json.dumps(
                self._timed_apart("canonical forms", canonical_form, (ppi.measure, ppi.scope))
            )
        if self._turn % self._looks.released == 0:
            adjacency = tuple(Adjacency)[self._turn // self._looks.released % 2]
            try:
                self._timed_apart("planning a release", _plan, ppi, adjacency)
            except PappiError as error:
                check_printable(str(error), error.hint)

    # --- time -------------------------------------------------------------------------

    def _timed(self, step: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Counts towards the limit of a definition, also if it raises."""
        before = time.thread_time()
        try:
            return step(*given, **named)
        finally:
            self._seconds += time.thread_time() - before

    def _timed_apart(self, what: str, step: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        before = time.thread_time()
        try:
            return step(*given, **named)
        finally:
            taken = time.thread_time() - before
            self._apart[what] = max(taken, self._apart.get(what, 0.0))


def _events_query(asked: CaseQuery) -> str | None:
    """What is read of every event where measures are folded from them."""
    source = Source(sql_check.TABLE, in_order=True)
    return None if asked.folding is None else written(asked.folding.events(source))


def _measures_of(ppi: Ppi) -> list[SingleInstance]:
    """All that the engine reads from cases for a PPI."""
    plain = reduced_form(ppi, CaseBorder.END)
    read = (leaf.measure for leaf in leaves(composition_tree(plain.measure)))
    return list(dict.fromkeys((*read, *read_by([plain.scope]))))


def _plan(ppi: Ppi, adjacency: Adjacency) -> None:
    log = public_log(VOCABULARY, adjacency=adjacency)
    plan_ppi(reduced_form(ppi, CaseBorder.END), ppi.epsilon or Epsilon.of("0.1"), log)


@lru_cache(maxsize=256)
def _days(calendar: WorkingCalendar) -> DayTable:
    """Two months of it: what the days hold changes no query."""
    return working_days_of(calendar, ZoneInfo("Europe/Paris"), date(2024, 1, 1), date(2024, 3, 1))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return sql_check.empty_log()
