"""The public names of a log: selecting them for a price in ε, and withdrawing them.

Private partition selection says which candidate names a log really has. The owner lists names that
are public anyway, such as those of a process model or of a data dictionary. For each the number of
cases (or persons) that have it is counted, gets noise, and the name is declared if the noisy count
reaches a threshold; all of it at one ε.

Why it is private: a case counts for at most `names` of the candidates, the first ones of the list
that it has, so one case more or less changes the counts by at most `names` in all. Discrete
Laplace noise of scale names/ε on each count makes that a loss of at most ε (twice the scale where
neighbours differ by a replaced case). Threshold and choice are functions of the noisy counts. Cases
of every block are counted, so every block is charged, before an event is read.

Names that nobody listed cannot be found so: one that a single case brings in would be published
with probability 0 without that case, and with more with it. No ε bounds that, only a δ above 0.

Taking names back: out of a log's vocabulary, as long as nothing on record has used them.

Anyone who has seen a public name still knows it. But no new query can use it, and
nobody who comes later is shown it. Whether a name was used is decided by the ledger alone: a
charge or reservation records the whole of what it draws from, and subscriptions and saved queries
their definitions. A word of a question that happens to be the same counts as a use.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from pappi.custody.imports import NewLog, Progress, check_terms
from pappi.errors import Conflict, UsageError
from pappi.eventlog import ACTIVITY, TIME, EventReader
from pappi.ledger import (
    Account,
    Charge,
    Entry,
    EntryKind,
    KeyState,
    Ledger,
    canonical_json,
    charge_of,
    reserved_in,
)
from pappi.mechanisms import RandBelow, discrete_laplace, system_randbelow
from pappi.ppinot import canonical_form, did_you_mean, listed, parse_catalogue, quoted
from pappi.store import (
    FIRST_POSITION,
    POSITION,
    LogDeclaration,
    Registry,
    WorkspaceFiles,
    column,
    import_events,
    open_readonly,
    staging,
    table,
)
from pappi.values import JSON, Adjacency, CaseBorder, Epsilon, Vocabulary, midnight_us

# A name that no case has is declared at most once in as many selections.
_SELDOM = 20
_TABLE = "counted"
_ROWS = 50_000

Name = tuple[str, str]
"""What it names, an activity or an attribute, and the name."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The price of selecting names, and the contribution bound: how many names one case counts "
    "for."""

    epsilon: Epsilon
    names: int

    def __post_init__(self) -> None:
        if self.epsilon.nano == 0:
            raise UsageError("selecting names needs an ε above 0", hint="give e.g. 0.2")
        if self.names < 1:
            raise UsageError("a case must count for at least one name")

    def scale(self, adjacency: Adjacency) -> Fraction:
        """Of the noise on each count."""
        changes = self.names * (2 if adjacency is Adjacency.REPLACE else 1)
        return Fraction(changes) / self.epsilon.fraction

    def threshold(self, candidates: int, adjacency: Adjacency) -> int:
        """What a noisy count must reach: noise alone rarely does, for any candidate."""
        return math.ceil(self.scale(adjacency) * math.ceil(math.log(_SELDOM * candidates)))


def select_names(
    files: WorkspaceFiles,
    ledger: Ledger,
    known: Iterable[str],
    name: str,
    reader: EventReader,
    new: NewLog,
    selection: Selection,
    progress: Progress,
    randbelow: RandBelow = system_randbelow,
) -> Vocabulary:
    """Those of the terms' names that enough cases have, to declare the log with.

    Charged to every block before an event is read. The first result stays: asked again, for a
    log of the same name, the same names come back at no new cost.
    """
    check_terms(name, new, tuple(known))
    vocabulary = new.vocabulary or Vocabulary(())
    # All names but those that the owner makes public by other words: unit, keys and bounds.
    said = {new.terms.unit.column, *new.keys, *new.terms.bounds.attributes}
    activities = tuple(("activity", name) for name in vocabulary.activities)
    candidates = (
        *activities,
        *(("attribute", name) for name in vocabulary.attributes if name not in said),
    )
    if new.vocabulary is None or not candidates:
        raise UsageError("there are no candidate names to select from")
    charge = _charge(name, new, selection, candidates)
    ledger.charge(
        [charge],
        lambda account: new.terms.block_budget if account.block else new.terms.total_budget,
    )
    if charge.key not in ledger.results([charge.key]):
        units = _read(files, reader, new, progress)
        counts = bounded_counts(units, candidates, selection.names)
        scale = selection.scale(new.terms.adjacency)
        noisy = {
            candidate: count + discrete_laplace(scale, randbelow)
            for candidate, count in counts.items()
        }
        reached = selection.threshold(len(candidates), new.terms.adjacency)
        chosen: JSON = [list(candidate) for candidate in candidates if noisy[candidate] >= reached]
        ledger.record({charge.key: chosen})
    recorded: Any = ledger.results([charge.key])[charge.key]
    declared = {tuple(candidate) for candidate in recorded}
    dropped = [candidate for candidate in candidates if candidate not in declared]
    return new.vocabulary.without(
        [name for what, name in dropped if what == "activity"],
        [name for what, name in dropped if what == "attribute"],
    )


def bounded_counts(
    units: Iterable[AbstractSet[Name]], candidates: tuple[Name, ...], most: int
) -> Mapping[Name, int]:
    """How many units have each candidate, where a unit counts for the first `most` it has."""
    counts = dict.fromkeys(candidates, 0)
    for has in units:
        counted = [candidate for candidate in candidates if candidate in has][:most]
        for candidate in counted:
            counts[candidate] += 1
    return counts


def _charge(name: str, new: NewLog, selection: Selection, candidates: tuple[Name, ...]) -> Charge:
    """With the candidates as a digest: those that are not chosen are nobody's business."""
    if new.first is None or new.until is None:
        raise ValueError("terms that were checked have a horizon")
    blocks = tuple(new.terms.blocks.periods(new.first, new.until))
    listed = canonical_json([list(candidate) for candidate in candidates])
    settings: dict[str, JSON] = {
        "candidates": hashlib.sha256(listed.encode("ascii")).hexdigest(),
        "names": selection.names,
        "threshold": selection.threshold(len(candidates), new.terms.adjacency),
    }
    question: dict[str, JSON] = {
        "log": name,
        "timezone": new.terms.timezone,
        "anchor": str(new.terms.anchor),
        "unit": new.terms.unit.to_json(),
        "adjacency": str(new.terms.adjacency),
        "parts": [
            {"mechanism": "laplace", "epsilon": str(selection.epsilon), "settings": settings}
        ],
        "periods": [canonical_form(block) for block in blocks],
    }
    key = hashlib.sha256(canonical_json(question).encode("ascii")).hexdigest()
    accounts = tuple(Account(name, block.label) for block in blocks)
    return Charge(key, accounts, selection.epsilon, {"ppi": "names of the log", **question})


def _read(
    files: WorkspaceFiles, reader: EventReader, new: NewLog, progress: Progress
) -> Iterable[AbstractSet[Name]]:
    """The candidates that each case or person of the log's days has."""
    with staging(files.events) as folder:
        events = folder / "counted"
        import_events(events, _TABLE, reader, progress)
        units: dict[str, set[Name]] = {}
        for unit, names in _cases(events, new):
            units.setdefault(unit, set()).update(names)
    return units.values()


def _cases(events: Path, new: NewLog) -> Iterator[tuple[str, set[Name]]]:
    """Whose case each is, and what it has: of cases whose anchor lies in the log's days."""
    attributes = tuple((new.vocabulary or Vocabulary(())).attributes)
    wanted = (FIRST_POSITION, TIME, ACTIVITY, *attributes)
    query = exp.select(*map(column, wanted)).from_(table(_TABLE)).order_by(column(POSITION))
    with closing(open_readonly(events, _TABLE)) as connection:
        rows = connection.execute(query.sql("duckdb"))
        read = (row for some in iter(lambda: rows.fetchmany(_ROWS), []) for row in some)
        for number, of_case in groupby(read, key=itemgetter(0)):
            times, names, persons = (
                [],
                set(),
                {str(number)} if new.terms.unit.column is None else set(),
            )
            for _, at, activity, *values in of_case:
                times += [] if at is None else [at]
                names |= set() if activity is None else {("activity", activity)}
                present = {n: v for n, v in zip(attributes, values, strict=True) if v is not None}
                names.update(("attribute", name) for name in present)
                persons |= {str(v) for n, v in present.items() if n == new.terms.unit.column}
            # A case of nobody, or of two persons, counts for none: as in every release.
            if times and len(persons) == 1 and _in_horizon(times, new):
                yield persons.pop(), names


def _in_horizon(times: list[int], new: NewLog) -> bool:
    if new.first is None or new.until is None:
        return False
    zone = ZoneInfo(new.terms.timezone)
    anchor = min(times) if new.terms.anchor is CaseBorder.START else max(times)
    return midnight_us(new.first, zone) <= anchor < midnight_us(new.until, zone)


# --- withdrawing names ---------------------------------------------------------------


# What a question draws from; the rest of it says when, of which log and under what terms.
_DRAWN = ("parts", "cases", "own_anchor", "groups")


def refuse_unwithdrawable(
    ledger: Ledger, registry: Registry, log: LogDeclaration, names: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse to withdraw activities or attributes that are not there, needed, or used."""
    for what, known in (
        ("activity", log.public.vocabulary.activities),
        ("attribute", tuple(log.public.vocabulary.attributes)),
    ):
        for name in names[what]:
            if name not in known:
                otherwise = f"declared are {listed(known, 'and')}" if known else "there are none"
                raise UsageError(
                    f"this log declares no {what} {quoted(name)}",
                    hint=did_you_mean(name, known, otherwise),
                )
    if log.terms.unit.column in names["attribute"]:
        raise Conflict(
            f"{quoted(str(log.terms.unit.column))} identifies the persons whom this log's "
            "guarantee protects"
        )
    wanted = {name for some in names.values() for name in some}
    for where, used in _uses(ledger, registry, log.name):
        if in_use := wanted.intersection(used):
            raise Conflict(
                f"{quoted(min(in_use))} cannot be withdrawn: {where} uses it",
                hint="past queries stay on record with the names they used",
            )


def _uses(ledger: Ledger, registry: Registry, log: str) -> Iterator[tuple[str, set[str]]]:
    """Whatever on record is about a log, and the texts in it."""
    for entry, charge in _charges(ledger):
        if charge.log != log:
            continue
        # A reservation that was given up has left nothing.
        if ledger.states([charge.key])[charge.key] is KeyState.NEW:
            continue
        drawn = (charge.question.get(part) for part in _DRAWN)
        yield f"entry {entry.seq} of the journal", set(_texts(drawn))
    for subscription in registry.subscriptions.values():
        if subscription.log == log:
            yield "a subscription", _defined(subscription.definitions)
    for kept in registry.saved_queries.values():
        if kept.log == log:
            yield f"a query saved by {kept.analyst}", _defined(kept.definitions)


def _charges(ledger: Ledger) -> Iterator[tuple[Entry, Charge]]:
    """Whatever was charged or reserved, and where."""
    for entry in ledger.acts(EntryKind.CHARGE):
        yield entry, charge_of(entry)
    for entry in ledger.acts(EntryKind.RESERVE):
        yield from ((entry, charge) for charge in reserved_in(entry.payload).values())


def _defined(definitions: str) -> set[str]:
    ppis = parse_catalogue(definitions).ppis
    parts = ((ppi.measure, ppi.scope.cases, ppi.scope.anchor) for ppi in ppis)
    return set(_texts(canonical_form(part) for some in parts for part in some))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Every text in plain data, but for the names of the model's own classes."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(part for key, part in value.items() if key != "is")
        elif isinstance(value, list | tuple):
            yield from _texts(value)
