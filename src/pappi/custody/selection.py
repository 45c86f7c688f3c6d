"""Which of a list of candidates a log really has, told privately and paid for.

The owner lists names that are public anyway, such as those of a process model or of a data
dictionary. For each the number of cases (or persons) that have it is counted, gets noise, and the
name is declared if the noisy count reaches a threshold; all of it at one ε.

Why it is private: a case counts for at most `names` of the candidates, the first ones of the list
that it has, so one case more or less changes the counts by at most `names` in all. Discrete
Laplace noise of scale names/ε on each count makes that a loss of at most ε (twice the scale where
neighbours differ by a replaced case). Threshold and choice are functions of the noisy counts. Cases
of every block are counted, so every block is charged, before an event is read.

Names that nobody listed cannot be found so: one that a single case brings in would be published
with probability 0 without that case, and with more with it. No ε bounds that, only a δ above 0.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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

from pappi.budget.accounts import Account, Charge
from pappi.budget.chain import canonical_json
from pappi.custody.imports import Progress, Terms, check_terms
from pappi.errors import UsageError
from pappi.eventlog.log import ACTIVITY, TIME, EventReader
from pappi.mechanisms.noise import RandBelow, discrete_laplace, system_randbelow
from pappi.ppinot.canonical import canonical
from pappi.ppinot.model import CaseBorder
from pappi.store.events import import_events, open_readonly
from pappi.store.events.names import FIRST_POSITION, POSITION
from pappi.store.events.replacing import staging
from pappi.store.events.sql import column, table
from pappi.store.ledger import Ledger
from pappi.store.workspace import WorkspaceFiles
from pappi.values.epsilon import Epsilon
from pappi.values.periods import midnight_us
from pappi.values.plain_data import JSON
from pappi.values.privacy import Adjacency
from pappi.values.vocabulary import Vocabulary

# A name that no case has is declared at most once in as many selections.
_SELDOM = 20
_TABLE = "counted"
_ROWS = 50_000

Name = tuple[str, str]
"""What it names, an activity or an attribute, and the name."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What finding names may cost, and for how many of them one case counts at most."""

    epsilon: Epsilon
    names: int

    def __post_init__(self) -> None:
        if self.epsilon.nano == 0:
            raise UsageError("names cannot be found at ε = 0", hint="give e.g. 0.2")
        if self.names < 1:
            raise UsageError("a case counts for at least one name")

    def scale(self, adjacency: Adjacency) -> Fraction:
        """Of the noise on each count."""
        changes = self.names * (2 if adjacency is Adjacency.REPLACE else 1)
        return Fraction(changes) / self.epsilon.fraction

    def threshold(self, candidates: int, adjacency: Adjacency) -> int:
        """What a noisy count has to reach: noise alone seldom does, for any of the candidates."""
        return math.ceil(self.scale(adjacency) * math.ceil(math.log(_SELDOM * candidates)))


def select_names(
    files: WorkspaceFiles,
    ledger: Ledger,
    known: Iterable[str],
    name: str,
    reader: EventReader,
    terms: Terms,
    selection: Selection,
    progress: Progress,
    randbelow: RandBelow = system_randbelow,
) -> Vocabulary:
    """Those of the terms' names that enough cases have, to declare the log with.

    Charged to every block before an event is read. The first result stays: asked again, for a
    log of the same name, the same names come back at no new cost.
    """
    check_terms(name, terms, tuple(known))
    candidates = _candidates(terms)
    if terms.vocabulary is None or not candidates:
        raise UsageError("there are no candidates to choose names from")
    charge = _charge(name, terms, selection, candidates)
    ledger.charge([charge], _limits(terms))
    if charge.key not in ledger.results([charge.key]):
        units = _read(files, reader, terms, progress)
        counts = bounded_counts(units, candidates, selection.names)
        scale = selection.scale(terms.adjacency)
        noisy = {each: count + discrete_laplace(scale, randbelow) for each, count in counts.items()}
        reached = selection.threshold(len(candidates), terms.adjacency)
        chosen: JSON = [list(each) for each in candidates if noisy[each] >= reached]
        ledger.record({charge.key: chosen})
    recorded: Any = ledger.results([charge.key])[charge.key]
    found = {tuple(each) for each in recorded}
    return terms.vocabulary.without(
        [name for what, name in candidates if what == "activity" and (what, name) not in found],
        [name for what, name in candidates if what == "attribute" and (what, name) not in found],
    )


def bounded_counts(
    units: Iterable[AbstractSet[Name]], candidates: tuple[Name, ...], most: int
) -> Mapping[Name, int]:
    """How many units have each candidate, where a unit counts for the first `most` it has."""
    counts = dict.fromkeys(candidates, 0)
    for has in units:
        counted = [each for each in candidates if each in has][:most]
        for each in counted:
            counts[each] += 1
    return counts


def _candidates(terms: Terms) -> tuple[Name, ...]:
    """All names but those that the owner makes public by other words: unit, keys and bounds."""
    vocabulary = terms.vocabulary or Vocabulary(())
    said = {terms.unit.column, *terms.keys, *terms.bounds.attributes}
    activities = tuple(("activity", name) for name in vocabulary.activities)
    return (
        *activities,
        *(("attribute", name) for name in vocabulary.attributes if name not in said),
    )


def _charge(name: str, terms: Terms, selection: Selection, candidates: tuple[Name, ...]) -> Charge:
    """With the candidates as a digest: those that are not chosen are nobody's business."""
    if terms.first is None or terms.until is None:
        raise ValueError("terms that were checked have a horizon")
    blocks = tuple(terms.blocks.periods(terms.first, terms.until))
    listed = canonical_json([list(each) for each in candidates])
    settings: dict[str, JSON] = {
        "candidates": hashlib.sha256(listed.encode("ascii")).hexdigest(),
        "names": selection.names,
        "threshold": selection.threshold(len(candidates), terms.adjacency),
    }
    question: dict[str, JSON] = {
        "log": name,
        "timezone": terms.timezone,
        "anchor": str(terms.anchor),
        "unit": terms.unit.to_json(),
        "adjacency": str(terms.adjacency),
        "parts": [
            {"mechanism": "laplace", "epsilon": str(selection.epsilon), "settings": settings}
        ],
        "periods": [canonical(block) for block in blocks],
    }
    key = hashlib.sha256(canonical_json(question).encode("ascii")).hexdigest()
    accounts = tuple(Account(name, block.label) for block in blocks)
    return Charge(key, accounts, selection.epsilon, {"ppi": "names of the log", **question})


def _limits(terms: Terms) -> Callable[[Account], Epsilon | None]:
    return lambda account: terms.block_budget if account.block else terms.total_budget


def _read(
    files: WorkspaceFiles, reader: EventReader, terms: Terms, progress: Progress
) -> Iterable[AbstractSet[Name]]:
    """The candidates that each case or person of the log's days has."""
    with staging(files.events) as folder:
        database = folder / "counted.duckdb"
        import_events(database, _TABLE, reader, progress)
        units: dict[str, set[Name]] = {}
        for unit, names in _cases(database, terms):
            units.setdefault(unit, set()).update(names)
    return units.values()


def _cases(database: Path, terms: Terms) -> Iterator[tuple[str, set[Name]]]:
    """Whose case each is, and what it has: of cases whose anchor lies in the log's days."""
    attributes = tuple((terms.vocabulary or Vocabulary(())).attributes)
    wanted = (FIRST_POSITION, TIME, ACTIVITY, *attributes)
    query = exp.select(*map(column, wanted)).from_(table(_TABLE)).order_by(column(POSITION))
    with closing(open_readonly(database)) as connection:
        rows = connection.execute(query.sql("duckdb"))
        events = (row for some in iter(lambda: rows.fetchmany(_ROWS), []) for row in some)
        for number, of_case in groupby(events, key=itemgetter(0)):
            times, names, persons = [], set(), {str(number)} if terms.unit.column is None else set()
            for _, at, activity, *values in of_case:
                times += [] if at is None else [at]
                names |= set() if activity is None else {("activity", activity)}
                present = {n: v for n, v in zip(attributes, values, strict=True) if v is not None}
                names.update(("attribute", name) for name in present)
                persons |= {str(v) for n, v in present.items() if n == terms.unit.column}
            # A case of nobody, or of two persons, counts for none: as in every release.
            if times and len(persons) == 1 and _in_horizon(times, terms):
                yield persons.pop(), names


def _in_horizon(times: list[int], terms: Terms) -> bool:
    if terms.first is None or terms.until is None:
        return False
    zone = ZoneInfo(terms.timezone)
    anchor = min(times) if terms.anchor is CaseBorder.START else max(times)
    return midnight_us(terms.first, zone) <= anchor < midnight_us(terms.until, zone)
