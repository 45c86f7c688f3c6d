"""A synthetic log with the public face of a real one: for rehearsals before any ε is spent.

It is made from what the owner has declared about a log and from nothing else, with a seed
that is a hash of these facts. So it is the same wherever they are the same, whatever the log
holds, and says nothing about it.

Cases run through the activities in the order they are declared, leave some out and go back a
step now and then. A list in alphabetical order, such as an import proposes, says nothing about
the order: then every case takes its own. Durations and numbers fill the declared bounds, texts
are among the public keys, and some values are missing, as in life. There are as many cases in a
block, a group and of a person as forecasts expect: a rehearsal shows the noise that was quoted.

Its events are in a file of their own, so that they are read the way real ones are. A file is made
once for the same facts, and the last few are kept while the process lasts. They lie in the
system's folder for temporary files, far from any workspace, and go when they are no longer kept.
Nothing in them is about anybody.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

import pyarrow as pa

from pappi.eventlog import (
    ACTIVITY,
    CASE,
    TIME,
    Batches,
    Column,
    Description,
    Progress,
    attribute_field,
    no_progress,
)
from pappi.examples import Chance, Weighted
from pappi.planning import blocks_between
from pappi.store import import_events
from pappi.values import (
    Bounds,
    CaseBorder,
    DefaultBounds,
    Kind,
    Period,
    PublicLog,
    Terms,
    Vocabulary,
    midnight_us,
)

TABLE = "synthetic"
MOST_KEPT = 4
_Key = tuple[int, bytes]
_TYPES = {Kind.TEXT: pa.string(), Kind.TRUTH: pa.bool_(), Kind.NUMBER: pa.float64()}

MOST_CASES = 20_000
MOST_EVENTS = 200_000
MOST_VALUES = 2_000_000

_LONGEST = 40
_SHORTEST = 5
_STEPS = 24
_STEPS_OF_MANY = 12
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_OFTEN = Weighted({0.95: 0.5, 0.7: 0.3, 0.35: 0.2})
_AGAIN = 0.08

_WORDS = 5
_MISSING = 0.01
_VARIES = 0.3
_TRUE = 0.25
# Of bounds that are wider nothing could be seen, and a float may not hold them.
_FAR = Fraction(10**15)
_NUMBERS = Bounds(Fraction(0), Fraction(1_000))
_DURATIONS = Bounds(Fraction(0), Fraction(7 * 86_400 * 10**6))

Value = str | float | int | bool
Draw = Callable[[Chance, int], Value | None]
"""A value at an instant; None is a missing one."""


def digest_of(log: PublicLog) -> bytes:
    """A hash of all that a synthetic log is made from: the same facts, the same synthetic log."""
    names, terms = log.vocabulary, log.terms
    written = [
        *(log.name, terms.timezone, terms.anchor is CaseBorder.END, str(terms.blocks)),
        *(terms.cases, terms.unit.to_json(), log.first.isoformat(), log.until.isoformat()),
        *(terms.bounds.to_json(), names.activities),
        *(list(names.attributes.items()), list(names.keys.items())),
        *((terms.weights,) if terms.weights else ()),
    ]
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class SyntheticLog:
    """Events, column by column, case after case; and how many cases and blocks they have.

    `expected` are the cases that forecasts rest on; a very large log has fewer.
    """

    case_ids: list[str]
    activities: list[str | None]
    times_us: list[int]
    attributes: dict[str, list[Value | None]]
    cases: int
    blocks: int
    expected: int


def make_synthetic_log(facts: PublicLog) -> SyntheticLog:
    """The synthetic log of these facts, the same on every machine."""
    chance = Chance(int.from_bytes(digest_of(facts)[:8], "big"))
    names, terms = facts.vocabulary, facts.terms
    blocks = terms.blocks.periods(facts.first, facts.until)
    events = min(MOST_EVENTS, MOST_VALUES // (4 + len(names.attributes)))
    expected = max(1, round(terms.cases * blocks_between(facts, facts.first, facts.until)))
    cases = max(1, min(MOST_CASES, expected, events // _SHORTEST))
    process = _Process.of(names.activities, min(_LONGEST, events // cases), chance)
    attributes = attributes_of(names, terms, chance)
    times = _Times.of(facts, blocks)
    columns: dict[str, list[Value | None]] = {each.name: [] for each in attributes}
    log = SyntheticLog([], [], [], columns, cases, len(blocks), expected)
    lengths = (block.end - block.start for block in times.blocks)
    busy = Weighted({i: days.days * chance.between(0.95, 1.05) for i, days in enumerate(lengths)})
    for number, block in enumerate(sorted(busy.draw(chance) for _ in range(cases)), start=1):
        path = process.path(chance)
        instants = times.of_case(block, len(path), chance)
        log.case_ids.extend([f"T{number:05}"] * len(path))
        log.activities.extend(path)
        log.times_us.extend(instants)
        for each in attributes:
            log.attributes[each.name].extend(each.of_case(instants, chance))
    return log


@dataclass(frozen=True, slots=True)
class _Process:
    """What may happen in a case, how likely, and whether the order means something."""

    steps: tuple[tuple[str | None, float], ...]
    ordered: bool
    longest: int

    @classmethod
    def of(cls, activities: tuple[str, ...], longest: int, chance: Chance) -> _Process:
        """Without activities, events have none; there still are events."""
        names: tuple[str | None, ...] = activities or (None, None, None)
        likely = [_OFTEN.draw(chance) for _ in names]
        # So likely that cases seldom have to be cut short.
        fitting = min(1.0, 0.8 * longest / sum(likely)) if len(names) <= _STEPS else 0.8
        likely = [fitting * each for each in likely]
        ordered = not activities or list(activities) != sorted(activities)
        if ordered:  # whatever begins and ends a process is always there
            likely[0] = likely[-1] = 1.0
        return cls(tuple(zip(names, likely, strict=True)), ordered, longest)

    def path(self, chance: Chance) -> list[str | None]:
        """The activities of one case: at least one, and not too many."""
        found: list[str | None] = []
        for activity, likely in self._steps(chance):
            if not chance.happens(likely):
                continue
            found.append(activity)
            if len(found) > 1 and chance.happens(_AGAIN):  # back one step, and again
                found.extend(found[-2:])
        if len(found) > self.longest:
            del found[self.longest - 1 : -1]
        return found or [self.steps[0][0]]

    def _steps(self, chance: Chance) -> list[tuple[str | None, float]]:
        """Of a long list a case has a part, so that it takes no longer than others."""
        last = len(self.steps) - 1
        if last < _STEPS:
            places = list(range(last + 1))
        else:
            places = sorted({chance.whole(0, last) for _ in range(_STEPS_OF_MANY)})
        if not self.ordered:
            places.sort(key=lambda _: chance.between(0.0, 1.0))
        return [self.steps[place] for place in places]


@dataclass(frozen=True, slots=True)
class _Times:
    """When a case of each block happens, within the declared days."""

    blocks: tuple[Period, ...]
    zone: ZoneInfo
    first_us: int
    until_us: int
    durations: Spread
    by_end: bool

    @classmethod
    def of(cls, facts: PublicLog, blocks: tuple[Period, ...]) -> _Times:
        zone = facts.terms.zone
        inside = tuple(Period(max(b.start, facts.first), min(b.end, facts.until)) for b in blocks)
        first, until = midnight_us(facts.first, zone), midnight_us(facts.until, zone)
        # Where no durations are declared, a case seldom outlasts its block.
        usual = Bounds(Fraction(0), Fraction((blocks[0].end - blocks[0].start).days * _DAY))
        durations = Spread.within(facts.terms.bounds.durations or usual)
        return cls(inside, zone, first, until, durations, facts.terms.anchor is CaseBorder.END)

    def of_case(self, block: int, events: int, chance: Chance) -> list[int]:
        """The instants of this many events, in order, to the second."""
        anchor = self._anchor(self.blocks[block], chance)
        span = max(0, int(self.durations.draw(chance)))
        if self.by_end:
            start = max(anchor - span, self.first_us)
            end = anchor
        else:
            start, end = anchor, min(anchor + span, self.until_us - _SECOND)
        within = sorted(chance.between(start, end) for _ in range(events - 2))
        ends = [end] if events == 1 and self.by_end else [start, *within, end][:events]
        return [int(instant) // _SECOND * _SECOND for instant in ends]

    def _anchor(self, block: Period, chance: Chance) -> int:
        """By day: neither at a block's border nor in the hour that summer time takes away."""
        day = block.start + timedelta(days=chance.whole(0, (block.end - block.start).days - 1))
        return midnight_us(day, self.zone) + chance.whole(7 * 3_600, 20 * 3_600) * _SECOND


# --- attributes, by their kinds, declared bounds and public keys -------------------------------


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: how its values are drawn, and whether they change within a case."""

    name: str
    draw: Draw
    varies: bool

    def of_case(self, times_us: Sequence[int], chance: Chance) -> list[Value | None]:
        """A value for each event of a case."""
        if self.varies:
            return [self.draw(chance, instant) for instant in times_us]
        return [self.draw(chance, times_us[0])] * len(times_us)


def attributes_of(vocabulary: Vocabulary, terms: Terms, chance: Chance) -> tuple[Attribute, ...]:
    """All attributes; that of persons never changes within a case and is never missing."""
    found = []
    for name, kind in vocabulary.attributes.items():
        keys = vocabulary.keys.get(name, ())
        if name == terms.unit.column:
            found.append(Attribute(name, _persons(kind, keys, terms.unit.max_cases), varies=False))
        elif kind is Kind.TEXT and keys:
            found.append(Attribute(name, _texts(keys, terms.weights.get(name)), varies=False))
        else:
            varies = kind is Kind.TIME or chance.happens(_VARIES)
            found.append(Attribute(name, _by_kind(kind, terms.bounds, name), varies))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mostly low in their bounds, as durations and amounts are, and as forecasts assume.

    The smallest of three even chances lies as `mechanisms.MOSTLY_LOW` says, on every machine.
    """

    low: float
    width: float

    @classmethod
    def within(cls, bounds: Bounds) -> Spread:
        low, high = (float(min(max(end, -_FAR), _FAR)) for end in (bounds.low, bounds.high))
        return cls(low, high - low)

    def draw(self, chance: Chance) -> float:
        return self.low + min(chance.between(0.0, self.width) for _ in range(3))


def _by_kind(kind: Kind, bounds: DefaultBounds, name: str) -> Draw:
    match kind:
        case Kind.TEXT:
            return _texts(made_up_texts())
        case Kind.TRUTH:
            return lambda chance, _: chance.happens(_TRUE)
        case Kind.TIME:
            return lambda _, instant: instant
        case Kind.DURATION:
            declared = bounds.attributes.get(name) or bounds.durations
            durations = Spread.within(declared or _DURATIONS)
            return _with_gaps(lambda chance, _: int(durations.draw(chance)))
        case Kind.NUMBER:
            return _with_gaps(_numbers(bounds.attributes.get(name, _NUMBERS)))


def made_up_texts(asked: Collection[str] = ()) -> tuple[str, ...]:
    """Those that are asked for, and others: each of five, or of more, is as frequent."""
    others = (f"value {number}" for number in range(1, max(0, _WORDS - len(asked)) + 1))
    return (*sorted(asked), *others)


def _numbers(within: Bounds) -> Draw:
    numbers, digits = Spread.within(within), 2 if within.width > 10 else 6
    return lambda chance, _: round(numbers.draw(chance), digits)


def _with_gaps(draw: Draw) -> Draw:
    return lambda chance, instant: None if chance.happens(_MISSING) else draw(chance, instant)


def _texts(keys: tuple[str, ...], weights: Mapping[str, int] | None = None) -> Draw:
    """As often as forecasts have it: by their declared weights, else each once before any again."""
    if weights is not None:
        weighted = Weighted({key: float(weights.get(key, 1)) for key in keys})
        return lambda chance, _: weighted.draw(chance)
    left: list[str] = []

    def draw(chance: Chance, _: int) -> Value:
        if not left:
            left.extend(sorted(keys, key=lambda _: chance.between(0.0, 1.0)))
        return left.pop()

    return draw


def _persons(kind: Kind, keys: tuple[str, ...], most: int) -> Draw:
    """Some have one case, some have several, but none more than count."""
    if kind is Kind.TRUTH:
        return lambda chance, _: chance.happens(0.5)
    if kind is Kind.TEXT and keys:
        return _texts(keys)
    person, left = 0, 0

    def draw(chance: Chance, _: int) -> Value:
        nonlocal person, left
        if not left:
            person, left = person + 1, chance.whole(1, most)
        left -= 1
        return f"person {person}" if kind is Kind.TEXT else person

    return draw


# --- a synthetic log as stored events ---------------------------------------------------------


class SyntheticEvents:
    """A synthetic log, stored. Its key is public, as everything about it is."""

    def __init__(self, facts: PublicLog) -> None:
        log = make_synthetic_log(facts)
        self.cases, self.blocks, self.expected = log.cases, log.blocks, log.expected
        self.key = digest_of(facts)
        folder = Path(tempfile.mkdtemp(prefix="pappi-rehearsal-"))
        weakref.finalize(self, _remove_in, os.getpid(), folder)
        self.events = folder / "events"
        import_events(self.events, TABLE, _Reader(log, facts.vocabulary.attributes))


class SyntheticEventsCache:
    """The last files that were used, for all threads of a process.

    One that is being made keeps those waiting who want the same, and nobody else: whoever
    asks about made-up groups makes a new one each time.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, SyntheticEvents] = OrderedDict()
        # Held by those who use them: gone as soon as nobody makes or waits for that file.
        self._turns: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()

    def of(self, facts: PublicLog) -> SyntheticEvents:
        # A forked child makes its own: the parent's go with the parent.
        key = os.getpid(), digest_of(facts)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                file = self._kept.get(key)
            if file is None or not file.events.exists():  # somebody may tidy up meanwhile
                file = SyntheticEvents(facts)
            self._keep(key, file)
            return file

    def _keep(self, key: _Key, file: SyntheticEvents) -> None:
        with self._lock:
            self._kept[key] = file
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A synthetic log that is read once, like a file."""

    log: SyntheticLog
    kinds: Mapping[str, Kind]
    name: str = "a made-up log"

    def batches(self, progress: Progress = no_progress) -> Batches:
        columns = {
            CASE: pa.array(self.log.case_ids, pa.string()),
            ACTIVITY: pa.array(self.log.activities, pa.string()),
            TIME: pa.array(self.log.times_us, pa.int64()),
        }
        for number, (name, kind) in enumerate(self.kinds.items()):
            values = self.log.attributes[name]
            columns[attribute_field(number)] = pa.array(values, _TYPES.get(kind, pa.int64()))
        yield pa.record_batch(columns)
        progress(1, 1)

    def description(self) -> Description:
        named = enumerate(self.kinds.items())
        return Description(
            tuple(Column(attribute_field(i), name, kind, str(kind)) for i, (name, kind) in named)
        )


def _remove_in(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
