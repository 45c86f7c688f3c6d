"""A made-up log with the public face of a real one: for rehearsals before any ε is spent.

A twin is made from what the owner has declared about a log and from nothing else, with a seed
that is a hash of these facts. So it is the same wherever they are the same, whatever the log
holds, and says nothing about it.

Cases run through the activities in the order they are declared, leave some out and go back a
step now and then. A list in alphabetical order, such as an import proposes, says nothing about
the order: then every case takes its own. Durations and numbers fill the declared bounds, texts
are among the public keys, and some values are missing, as in life.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from pappi.examples.chance import Chance, Weighted
from pappi.examples.twin_values import Spread, Value, attributes_of
from pappi.values.bounds import Bounds, DefaultBounds
from pappi.values.periods import Grid, Period, midnight_us
from pappi.values.vocabulary import Vocabulary

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


@dataclass(frozen=True, slots=True)
class TwinFacts:
    """All that a twin is made from: declarations, and no data.

    `cases` are expected in each block; a case lies in the block of its end, or of its start.
    `person` is the attribute that tells persons apart, if they are what is protected.
    """

    name: str
    timezone: str
    by_end: bool
    blocks: Grid
    first: date
    until: date
    cases: int
    vocabulary: Vocabulary
    bounds: DefaultBounds
    person: str | None = None

    @property
    def digest(self) -> bytes:
        """A hash of all of it: the same facts, the same twin."""
        names = self.vocabulary
        written = [
            *(self.name, self.timezone, self.by_end, str(self.blocks), self.cases, self.person),
            *(self.first.isoformat(), self.until.isoformat(), self.bounds.to_json()),
            *(names.activities, list(names.attributes.items()), list(names.keys.items())),
        ]
        return hashlib.sha256(json.dumps(written, sort_keys=True).encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class Twin:
    """The events of a twin, column by column, case after case; and how many cases and blocks."""

    case_ids: list[str]
    activities: list[str | None]
    times_us: list[int]
    attributes: dict[str, list[Value | None]]
    cases: int
    blocks: int


def make_twin(facts: TwinFacts) -> Twin:
    """The twin of a log, the same on every machine."""
    chance = Chance(int.from_bytes(facts.digest[:8], "big"))
    blocks = facts.blocks.periods(facts.first, facts.until)
    events = min(MOST_EVENTS, MOST_VALUES // (4 + len(facts.vocabulary.attributes)))
    cases = max(1, min(MOST_CASES, facts.cases * len(blocks), events // _SHORTEST))
    process = _Process.of(facts.vocabulary.activities, min(_LONGEST, events // cases), chance)
    attributes = attributes_of(facts.vocabulary, facts.bounds, facts.person, cases, chance)
    times = _Times.of(facts, blocks)
    twin = Twin([], [], [], {each.name: [] for each in attributes}, cases, len(blocks))
    busy = Weighted({index: chance.between(0.8, 1.2) for index in range(len(blocks))})
    for number, block in enumerate(sorted(busy.draw(chance) for _ in range(cases)), start=1):
        path = process.path(chance)
        instants = times.of_case(block, len(path), chance)
        twin.case_ids.extend([f"T{number:05}"] * len(path))
        twin.activities.extend(path)
        twin.times_us.extend(instants)
        for each in attributes:
            twin.attributes[each.name].extend(each.of_case(instants, chance))
    return twin


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
    def of(cls, facts: TwinFacts, blocks: tuple[Period, ...]) -> _Times:
        zone = ZoneInfo(facts.timezone)
        inside = tuple(Period(max(b.start, facts.first), min(b.end, facts.until)) for b in blocks)
        first, until = midnight_us(facts.first, zone), midnight_us(facts.until, zone)
        # Where no durations are declared, a case seldom outlasts its block.
        usual = Bounds(Fraction(0), Fraction((blocks[0].end - blocks[0].start).days * _DAY))
        durations = Spread.within(facts.bounds.durations or usual)
        return cls(inside, zone, first, until, durations, facts.by_end)

    def of_case(self, block: int, events: int, chance: Chance) -> list[int]:
        """The instants of so many events, in order, to the second."""
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
