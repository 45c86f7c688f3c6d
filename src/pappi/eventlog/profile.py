"""A log at a glance, for its owner alone: what to know before anything is declared about it.

How many cases each block has, how long cases take, what attributes hold, what is missing, which
columns look personal; and from that, what to declare: the anchor, the horizon, the blocks, how many
cases to expect, whom to protect. All of it comes from the data. None of it is public or may reach
an analyst; what the owner declares because of it becomes public by that act.

`store/event_profile.py` counts; this module interprets the counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from pappi.values import Calendar, CaseBorder, Grid, Kind

_FEW = 30
"""With fewer cases in a block, hardly any PPI is useful at an ordinary ε."""
_DAY = timedelta(days=1)
_MOST_OF = 0.5
_COMMON = 0.6
_EPOCH_YEAR = 1970
_COARSER = (Calendar.DAY, Calendar.WEEK, Calendar.MONTH, Calendar.QUARTER, Calendar.YEAR)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number is spread. Durations and times are in microseconds."""

    least: float
    p05: float
    p25: float
    median: float
    p75: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class BlockCount:
    """The cases of one block, which ends before `end`."""

    block: str
    start: date
    end: date
    cases: int


_NONE = BlockCount("", date.min, date.min, 0)


@dataclass(frozen=True, slots=True)
class Anchored:
    """How the cases fall into blocks by an anchor; the others lie `outside` of the log's days."""

    anchor: CaseBorder
    blocks: tuple[BlockCount, ...]
    outside: int = 0

    @property
    def cases(self) -> int:
        return sum(block.cases for block in self.blocks)

    @property
    def empty(self) -> int:
        return sum(1 for block in self.blocks if not block.cases)

    @property
    def fullest(self) -> BlockCount:
        return max(self.blocks, key=lambda block: block.cases, default=_NONE)

    @property
    def median(self) -> int:
        """Of the blocks that have cases."""
        counts = sorted(block.cases for block in self.blocks if block.cases)
        return counts[len(counts) // 2] if counts else 0

    @property
    def concentration(self) -> float:
        """The share of the cases that the fullest block has."""
        return self.fullest.cases / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class ActivityUse:
    """How often an activity occurs; `since_start` is the median time until it first does."""

    name: str
    events: int
    cases: int
    repeated: int
    first: int
    last: int
    since_start: float | None


@dataclass(frozen=True, slots=True)
class Wait:
    """The time from the first occurrence of an activity to that of another."""

    start: str
    end: str
    cases: int
    spread: Spread


@dataclass(frozen=True, slots=True)
class AttributeUse:
    """What an attribute holds.

    `missing` counts events without it, `cases` those with a value; `values` lists those of texts
    with few; `per_case` means that no case has two values; `personal` says why it looks personal.
    """

    name: str
    kind: Kind
    missing: int
    cases: int
    distinct: int
    spread: Spread | None = None
    values: tuple[str, ...] = ()
    per_case: bool = False
    personal: str = ""


@dataclass(frozen=True, slots=True)
class PersonUse:
    """An attribute that identifies persons, and how many cases each of them has."""

    name: str
    persons: int
    cases: Spread


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to declare, as an option of the import, and why; `option` is empty for advice only."""

    about: str
    option: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What an owner wants to know about a log before declaring it. Never for an analyst."""

    log: str
    events: int
    cases: int
    first: date
    last: date
    blocks: Grid
    anchor: CaseBorder
    unit: str | None = None
    expected_cases: int | None = None
    tied: int = 0
    without_time: int = 0
    without_activity: int = 0
    by_anchor: tuple[Anchored, ...] = ()
    durations: Spread | None = None
    events_per_case: Spread | None = None
    activities: tuple[ActivityUse, ...] = ()
    waits: tuple[Wait, ...] = ()
    attributes: tuple[AttributeUse, ...] = ()
    persons: tuple[PersonUse, ...] = ()
    suggestions: tuple[Suggestion, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "suggestions", _suggestions(self))

    @property
    def anchored(self) -> Anchored:
        """By the anchor that is, or would be, declared."""
        return self.by(self.anchor)

    def by(self, anchor: CaseBorder) -> Anchored:
        return next(anchored for anchored in self.by_anchor if anchored.anchor is anchor)

    @property
    def personal(self) -> tuple[AttributeUse, ...]:
        """The attributes that look personal."""
        return tuple(attribute for attribute in self.attributes if attribute.personal)

    @property
    def milestones(self) -> tuple[str, ...]:
        """Activities that most cases pass, about once, in the order in which they come."""
        return milestones_of(self.activities, self.cases)


def milestones_of(activities: Sequence[ActivityUse], cases: int, most: int = 4) -> tuple[str, ...]:
    """Those that most cases have, and hardly any twice, by the time at which they come."""
    common = [
        use
        for use in activities
        if use.since_start is not None
        and use.cases >= _COMMON * cases
        and use.repeated <= (1 - _COMMON) * use.cases
    ]
    chosen = sorted(common, key=lambda use: (-use.cases, use.name))[:most]
    return tuple(
        use.name for use in sorted(chosen, key=lambda use: (use.since_start or 0.0, use.name))
    )


# --- what to declare -----------------------------------------------------------------------


def _suggestions(profile: Profile) -> tuple[Suggestion, ...]:
    if not profile.by_anchor or not profile.anchored.cases:
        return ()  # none in the declared days
    anchor, why = better_anchor(profile)
    counted = profile.by(anchor)
    suggestions = [
        Suggestion("anchor", f"--anchor '{anchor}'" if anchor is not profile.anchor else "", why)
    ]
    if profile.last.year <= _EPOCH_YEAR:
        why = f"all events lie before {profile.last.year + 1}: are these real times?"
        suggestions.append(Suggestion("times", "", why))
    inner, horizon = _horizon(counted)
    suggestions += [horizon, *_blocks(profile, inner)]
    suggestions.append(_unit(profile))
    return tuple(suggestions)


def better_anchor(profile: Profile) -> tuple[CaseBorder, str]:
    """The anchor that spreads the cases over the blocks, if the declared one does not.

    Many exports end on the day they were made, or list only what was closed in one month: then
    nearly all cases end in one block, and all other blocks are empty.
    """
    now = profile.anchored
    alternatives = [other for other in profile.by_anchor if other.anchor is not now.anchor]
    crowded = len(now.blocks) > 2 and (
        now.concentration >= _MOST_OF or now.empty > len(now.blocks) * _MOST_OF
    )
    better = [
        alternative
        for alternative in alternatives
        if alternative.concentration <= now.concentration / 2
        or alternative.empty * 2 < now.empty - len(now.blocks) // 10
    ]
    if not crowded or not better:
        return now.anchor, f"the cases are spread over the blocks by their {_event(now.anchor)}"
    chosen = better[0]
    full, most = now.fullest, chosen.fullest.cases
    return chosen.anchor, (
        f"{full.cases:,} of {now.cases:,} cases fall into {full.block} by their "
        f"{_event(now.anchor)}, and {now.empty} of {len(now.blocks)} blocks are empty; by their "
        f"{_event(chosen.anchor)} {chosen.empty} are empty and the fullest has {most:,}"
    )


def _event(anchor: CaseBorder) -> str:
    return "last event" if anchor is CaseBorder.END else "first event"


def _horizon(counted: Anchored) -> tuple[Anchored, Suggestion]:
    """The cases without nearly empty blocks at both ends, and the horizon that remains."""
    blocks = list(counted.blocks)
    for end in (0, -1):
        allowance = counted.cases // 100
        while len(blocks) > 1 and blocks[end].cases <= allowance:
            allowance -= blocks.pop(end).cases
    inner = replace(counted, blocks=tuple(blocks))
    if len(blocks) == len(counted.blocks):
        why = "the blocks at both ends have cases"
        return inner, Suggestion("horizon", "", why)
    lost = counted.cases - inner.cases
    consequence = "no case is lost"
    if lost:
        consequence = f"{_cases(lost)} outside of it would never be answered"
    days = f"--from {blocks[0].start} --until {blocks[-1].end - _DAY}"
    why = f"{100 * inner.cases // counted.cases}% of the cases fall into these days; {consequence}"
    return inner, Suggestion("horizon", days, why)


def _cases(number: int) -> str:
    return "1 case" if number == 1 else f"{number:,} cases"


def _blocks(profile: Profile, counted: Anchored) -> list[Suggestion]:
    """How long a block should be, and how many cases to expect: rounded, as it becomes public."""
    suggestions, median, grid = [], counted.median, profile.blocks
    unit = grid.unit
    if median < _FEW and grid.count == 1 and unit is not Calendar.YEAR:
        coarser = _COARSER[_COARSER.index(unit) + 1 :]
        in_each = {longer: _put_together(counted, longer) for longer in coarser}
        enough = [longer for longer in coarser if in_each[longer] >= _FEW]
        unit = enough[0] if enough else coarser[-1]
        few = f"half of the {grid.unit}s have {_cases(median)} or fewer: too few to be informative"
        suggestions.append(Suggestion("blocks", f"--blocks {unit}", few))
        median = in_each[unit]
    expected = rounded(median)
    if expected:
        why = f"half of the {unit}s that have cases have {median:,} or more; the number is public"
        option = "" if profile.expected_cases else f"--expected-cases {expected}"
        suggestions.append(Suggestion("expected cases", option, why))
    return suggestions


def _put_together(counted: Anchored, unit: Calendar) -> int:
    """The median of the blocks that have cases, if they were longer."""
    cases: dict[date, int] = {}
    for block in counted.blocks:
        start = Grid(unit).start_of(block.start)
        cases[start] = cases.get(start, 0) + block.cases
    filled = sorted(count for count in cases.values() if count)
    return filled[len(filled) // 2] if filled else 0


def _unit(profile: Profile) -> Suggestion:
    about = "privacy unit"
    if profile.unit is not None:
        return Suggestion(about, "", f"{profile.unit!r}, as declared")
    if not profile.persons:
        return Suggestion(about, "", "case: no attribute identifies a person")
    who = max(profile.persons, key=lambda use: use.cases.most)
    if who.cases.most <= 1:
        return Suggestion(about, "", f"case: each value of {who.name!r} has one case")
    most = math.ceil(who.cases.p95)
    why = f"one {who.name!r} has up to {_cases(int(who.cases.most))}, 95 % have at most {most:,}"
    return Suggestion(about, f"--unit '{who.name}' --max-cases {most}", why)


def rounded(number: int) -> int:
    """A number to declare: rounded to one significant digit, not the count itself.

    >>> [rounded(number) for number in (0, 7, 26, 43, 118, 1_487)]
    [0, 7, 30, 40, 100, 1000]
    """
    if number < 10:
        return number
    step: int = 10 ** (len(str(number)) - 1)
    return (number + step // 2) // step * step


# --- what looks personal -------------------------------------------------------------------


_PERSONAL: tuple[tuple[str, str], ...] = (
    (r"e-?mail|mailaddress", "e-mail addresses"),
    (r"(birth|geburt|geboorte)|^dob$", "dates of birth"),
    (
        r"^((first|last|sur|full|family|given|middle|user|patient|customer|client|person)_?)?name$",
        "names of people",
    ),
    (r"^(vor|nach|voor|achter)na+m(e)?$", "names of people"),
    (r"phone|^tel(efon|efoon|no|nr)?$|mobile|^fax|handy", "telephone numbers"),
    (r"street|address|adresse|adres$|post_?code|postal|^zip|^plz$", "addresses"),
    (r"^ssn$|social_security|passport|national_id|^bsn$|tax_?id|^nino$|identity_card", "identity"),
    (r"iban|bank_?account|account_?(no|number)|credit_?card|card_?number", "bank accounts"),
    (r"^ip(_?address)?$|mac_?address|device_?id|licen[cs]e_?plate|^vin$", "devices or vehicles"),
    (r"^(gender|sex|age|religion|nationality|ethnic\w*|alter|geschlecht)$", "who people are"),
    (r"diagnos|medication|illness|disease|allerg", "health"),
    (
        r"resource|employee|worker|clerk|agent|operator|user(id)?$|originator|responsible|creator",
        "employees",
    ),
    (r"assignee|handler|nurse|doctor|physician|mitarbeiter|bearbeiter", "employees"),
    (r"patient|customer|client|citizen|person|student|member|insured|claimant|kunde", "people"),
)
_LOOKS_LIKE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"), "e-mail addresses"),
    (re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?"), "bank accounts"),
    (re.compile(r"\+[0-9][0-9 ()/-]{6,18}"), "telephone numbers"),
    (re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"), "devices or vehicles"),
)
PEOPLE = "people"


def looks_personal(name: str, values: Sequence[str] = ()) -> str:
    """What a column seems to hold, by its name or by some of its values; empty if nothing personal.

    >>> looks_personal("org:resource"), looks_personal("Geburtsdatum"), looks_personal("cost")
    ('employees', 'dates of birth', '')
    >>> looks_personal("contact", ["ann@example.org", "bob@example.org", "n.a."])
    'e-mail addresses'
    """
    # A resource of a country or a group is not an employee: the whole name decides.
    plain = re.sub(r"[^a-z0-9äöüß]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    words = plain.strip("_").removeprefix("case_").removeprefix("org_")
    if not re.search(r"country|group|role|department|region|type|class|count", words):
        for pattern, holds in _PERSONAL:
            if re.search(pattern, words):
                return holds
    for shape, holds in _LOOKS_LIKE:
        fitting = sum(1 for value in values if shape.fullmatch(value.strip()))
        if values and fitting >= _MOST_OF * len(values):
            return holds
    return ""


def could_be_a_person(name: str) -> bool:
    """Whether an attribute may tell which person a case is about; employees do not.

    >>> could_be_a_person("patient_id"), could_be_a_person("org:resource")
    (True, False)
    """
    return looks_personal(name) in {PEOPLE, "identity", "e-mail addresses", "names of people"}
