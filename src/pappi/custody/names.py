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

Names that nobody listed cannot be found this way: a name that only one case has would be published
with probability 0 without that case, and with a positive one with it. No ε bounds that, only a
δ above 0.

Names can be withdrawn from a log's vocabulary as long as nothing on record has used them. Anyone
who has seen a public name still knows it, but no new query can use it, and nobody who comes later
is shown it. Whether a name was used is decided by the ledger alone: a charge or reservation
records everything it draws from, and subscriptions and saved queries their definitions. A word of
a query that happens to be the same counts as a use.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from pappi.custody.imports import NewLog, check_terms
from pappi.errors import Conflict, UsageError
from pappi.eventlog import ACTIVITY, TIME, EventReader, Progress
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
from pappi.ppinot import canonical_form, parse_catalogue
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
from pappi.values import (
    JSON,
    Adjacency,
    CaseBorder,
    Epsilon,
    Vocabulary,
    did_you_mean,
    listed,
    midnight_us,
    quoted,
)

# In at most one of this many selections, noise alone declares a name that no case has.
_SELDOM = 20
_TABLE = "counted"
_ROWS = 50_000

Name = tuple[str, str]
"""Its kind, activity or attribute, and the name."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The price of selecting names, and how many of them one case counts for at most."""

    epsilon: Epsilon
    names: int

    def __post_init__(self) -> None:
        if self.epsilon.nano == 0:
            raise UsageError("selecting names needs an ε above 0", hint="give e.g. 0.2")
        if self.names < 1:
            raise UsageError("a case must count for at least one name")

    def scale(self, adjacency: Adjacency) -> Fraction:
        """The scale of the noise on each count."""
        changes = self.names * (2 if adjacency is Adjacency.REPLACE else 1)
        return Fraction(changes) / self.epsilon.fraction

    def threshold(self, candidates: int, adjacency: Adjacency) -> int:
        """What a noisy count must reach: high enough that noise alone rarely does."""
        return math.ceil(self.scale(adjacency) * math.ceil(math.log(_SELDOM * candidates)))


def select_names(
    files: WorkspaceFiles,
    ledger: Ledger,
    existing: Iterable[str],
    name: str,
    reader: EventReader,
    new: NewLog,
    selection: Selection,
    progress: Progress,
    randbelow: RandBelow = system_randbelow,
) -> Vocabulary:
    """Those of the candidate names that enough cases have, to declare the log with.

    Charged to every block before an event is read. The first result stays: repeated for a log of
    the same name, the selection returns the same names at no new cost.
    """
    check_terms(name, new, tuple(existing))
    vocabulary = new.vocabulary or Vocabulary(())
    # Not those that the owner declares public anyway: by the unit, public partitions and bounds.
    public = {new.terms.unit.column, *new.keys, *new.terms.bounds.attributes}
    activities = tuple(("activity", name) for name in vocabulary.activities)
    candidates = (
        *activities,
        *(("attribute", name) for name in vocabulary.attributes if name not in public),
    )
    if new.vocabulary is None or not candidates:
        raise UsageError("there are no candidate names to select from")
    charge = _charge(name, new, selection, candidates)
    ledger.charge(
        [charge],
        lambda account: new.terms.block_budget if account.block else new.terms.total_budget,
    )
    if charge.key not in ledger.results([charge.key]):
        units = _names_by_unit(files, reader, new, progress)
        counts = bounded_counts(units, candidates, selection.names)
        scale = selection.scale(new.terms.adjacency)
        noisy = {
            candidate: count + discrete_laplace(scale, randbelow)
            for candidate, count in counts.items()
        }
        threshold = selection.threshold(len(candidates), new.terms.adjacency)
        chosen: JSON = [list(name) for name in candidates if noisy[name] >= threshold]
        ledger.record({charge.key: chosen})
    recorded: Any = ledger.results([charge.key])[charge.key]
    declared = {tuple(candidate) for candidate in recorded}
    dropped = [candidate for candidate in candidates if candidate not in declared]
    return new.vocabulary.without(
        [name for kind, name in dropped if kind == "activity"],
        [name for kind, name in dropped if kind == "attribute"],
    )


def bounded_counts(
    units: Iterable[AbstractSet[Name]], candidates: tuple[Name, ...], most: int
) -> Mapping[Name, int]:
    """How many units have each candidate; a unit counts for the first `most` it has."""
    counts = dict.fromkeys(candidates, 0)
    for names in units:
        for candidate in [name for name in candidates if name in names][:most]:
            counts[candidate] += 1
    return counts


def _charge(name: str, new: NewLog, selection: Selection, candidates: tuple[Name, ...]) -> Charge:
    """The candidates are recorded as a digest only: those that are not chosen stay private."""
    blocks = tuple(new.terms.blocks.periods(*_days(new)))
    listed = canonical_json([list(candidate) for candidate in candidates])
    settings: dict[str, JSON] = {
        "candidates": hashlib.sha256(listed.encode("ascii")).hexdigest(),
        "names": selection.names,
        "threshold": selection.threshold(len(candidates), new.terms.adjacency),
    }
    query: dict[str, JSON] = {
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
    key = hashlib.sha256(canonical_json(query).encode("ascii")).hexdigest()
    accounts = tuple(Account(name, block.label) for block in blocks)
    return Charge(key, accounts, selection.epsilon, {"ppi": "names of the log", **query})


def _names_by_unit(
    files: WorkspaceFiles, reader: EventReader, new: NewLog, progress: Progress
) -> Iterable[AbstractSet[Name]]:
    """The names that each case or person has, of cases whose anchor lies in the log's days."""
    zone = ZoneInfo(new.terms.timezone)
    begin, end = (midnight_us(day, zone) for day in _days(new))
    anchor = min if new.terms.anchor is CaseBorder.START else max
    units: dict[str, set[Name]] = {}
    with staging(files.events) as folder:
        import_events(folder / _TABLE, _TABLE, reader, progress)
        for unit, times, names in _cases(folder / _TABLE, new):
            if begin <= anchor(times) < end:
                units.setdefault(unit, set()).update(names)
    return units.values()


def _cases(events: Path, new: NewLog) -> Iterator[tuple[str, list[int], set[Name]]]:
    """The unit of each case, the times of its events, and the names it has."""
    attributes = tuple((new.vocabulary or Vocabulary(())).attributes)
    columns = (FIRST_POSITION, TIME, ACTIVITY, *attributes)
    query = exp.select(*map(column, columns)).from_(table(_TABLE)).order_by(column(POSITION))
    with closing(open_readonly(events, _TABLE)) as connection:
        rows = connection.execute(query.sql("duckdb"))
        stored = (row for batch in iter(lambda: rows.fetchmany(_ROWS), []) for row in batch)
        for number, of_case in groupby(stored, key=itemgetter(0)):
            times: list[int] = []
            names = set[Name]()
            persons = {str(number)} if new.terms.unit.column is None else set[str]()
            for _, at, activity, *values in of_case:
                times += [] if at is None else [at]
                names |= set() if activity is None else {("activity", activity)}
                present = {n: v for n, v in zip(attributes, values, strict=True) if v is not None}
                names.update(("attribute", name) for name in present)
                persons |= {str(v) for n, v in present.items() if n == new.terms.unit.column}
            # A case of nobody, or of two persons, is dropped, as in every release.
            if times and len(persons) == 1:
                yield persons.pop(), times, names


def _days(new: NewLog) -> tuple[date, date]:
    if new.first is None or new.until is None:
        raise ValueError("terms that were checked have a horizon")
    return new.first, new.until


# --- withdrawing names ---------------------------------------------------------------


# The parts of a query that use names; the rest is the time, the log and its terms.
_DRAWN = ("parts", "cases", "own_anchor", "groups")


def refuse_unwithdrawable(
    ledger: Ledger, registry: Registry, log: LogDeclaration, names: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse to withdraw activities or attributes that are not declared, needed, or used."""
    for kind, declared in (
        ("activity", log.public.vocabulary.activities),
        ("attribute", tuple(log.public.vocabulary.attributes)),
    ):
        for name in names[kind]:
            if name not in declared:
                others = f"declared are {listed(declared, 'and')}" if declared else "there are none"
                raise UsageError(
                    f"this log declares no {kind} {quoted(name)}",
                    hint=did_you_mean(name, declared, others),
                )
    if log.terms.unit.column in names["attribute"]:
        raise Conflict(
            f"{quoted(str(log.terms.unit.column))} identifies the persons whom this log's "
            "guarantee protects"
        )
    to_withdraw = {name for of_kind in names.values() for name in of_kind}
    for where, used in _uses(ledger, registry, log.name):
        if in_use := to_withdraw.intersection(used):
            raise Conflict(
                f"{quoted(min(in_use))} cannot be withdrawn: {where} uses it",
                hint="past queries stay on record with the names they used",
            )


def _uses(ledger: Ledger, registry: Registry, log: str) -> Iterator[tuple[str, set[str]]]:
    """Everything on record that is about a log, and the texts in it."""
    for entry, charge in _charges(ledger):
        if charge.log != log:
            continue
        # A reservation that was given up uses nothing.
        if ledger.states([charge.key])[charge.key] is KeyState.NEW:
            continue
        parts = (charge.query.get(part) for part in _DRAWN)
        yield f"entry {entry.seq} of the journal", set(_texts(parts))
    for subscription in registry.subscriptions.values():
        if subscription.log == log:
            yield "a subscription", _defined(subscription.definitions)
    for saved in registry.saved_queries.values():
        if saved.log == log:
            yield f"a query saved by {saved.analyst}", _defined(saved.definitions)


def _charges(ledger: Ledger) -> Iterator[tuple[Entry, Charge]]:
    """Every charge and reservation, with its entry."""
    for entry in ledger.acts(EntryKind.CHARGE):
        yield entry, charge_of(entry)
    for entry in ledger.acts(EntryKind.RESERVE):
        yield from ((entry, charge) for charge in reserved_in(entry.payload).values())


def _defined(definitions: str) -> set[str]:
    ppis = parse_catalogue(definitions).ppis
    parts = ((ppi.measure, ppi.scope.cases, ppi.scope.anchor) for ppi in ppis)
    return set(_texts(canonical_form(part) for of_ppi in parts for part in of_ppi))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Every text in plain data, except the tags of the model's own classes."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(part for key, part in value.items() if key != "is")
        elif isinstance(value, list | tuple):
            yield from _texts(value)
