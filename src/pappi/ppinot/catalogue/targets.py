"""Targets: where a value should be, what is still tolerated, and both per group.

A target is one text, or two as green and amber, or such targets per group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from pappi.errors import Position
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.quantities import QUANTITY, Quantity, quantity_of
from pappi.ppinot.catalogue.settling import in_unit
from pappi.ppinot.catalogue.shapes import (
    MAX_SUGGESTED,
    Entries,
    Field,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Then,
    Values,
    Written,
)
from pappi.ppinot.model import Grouping, GroupTarget, Target
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.units import Unit
from pappi.values.vocabulary import Kind

_BELOW = ("below", "at most", "<", "<=")
_INCLUDED = ("at most", "at least", "<=", ">=")
_SIDE = rf"(below|at most|above|at least|<=|>=|<|>)\s*{QUANTITY}"
_BETWEEN = rf"between\s+{QUANTITY}\s+and\s+{QUANTITY}"

# --- as written -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limit:
    """One end of a target, whose quantity has not met its measure yet."""

    quantity: Quantity
    included: bool


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    low: Limit | None
    high: Limit | None
    position: Position


@dataclass(frozen=True, slots=True)
class Bands:
    """A target, and what is still tolerated."""

    green: WrittenTarget
    amber: WrittenTarget | None = None


@dataclass(frozen=True, slots=True)
class WrittenTargets:
    """What a PPI says about targets: in general, and by group with the place of its name."""

    bands: Bands | None
    groups: Mapping[str, tuple[Position, Bands]] = field(default_factory=dict)


def _parse(node: ScalarNode, problems: Problems) -> WrittenTarget | None:
    text, place = node.text.strip(), node.position
    if match := re.fullmatch(_BETWEEN, text):
        low, high = quantity_of(match[1], match[2], place), quantity_of(match[3], match[4], place)
        return _same_unit(
            WrittenTarget(Limit(low, included=True), Limit(high, included=True), place)
        )
    found = re.fullmatch(rf"{_SIDE}(?:\s+and\s+{_SIDE})?", text)
    if found is None:
        return None
    sides = [found.groups()[:3], found.groups()[3:]]
    lows = [_limit(side, place) for side in sides if side[0] and side[0] not in _BELOW]
    highs = [_limit(side, place) for side in sides if side[0] in _BELOW]
    if len(lows) > 1 or len(highs) > 1:
        message = "a target has one lower and one upper end, and this has the same end twice"
        problems.add(place, message, "write e.g. at least 1 and below 2")
        return None
    return _same_unit(WrittenTarget(next(iter(lows), None), next(iter(highs), None), place))


def _limit(side: tuple[str, ...], place: Position) -> Limit:
    word, number, unit = side
    return Limit(quantity_of(number, unit, place), word in _INCLUDED)


def _same_unit(target: WrittenTarget) -> WrittenTarget:
    """ "Between 1 and 2 days" is about days twice."""
    low, high = target.low, target.high
    if low is None or high is None or low.quantity.unit:
        return target
    return replace(
        target, low=replace(low, quantity=replace(low.quantity, unit=high.quantity.unit))
    )


TARGET = Written(
    "a target",
    _parse,
    example="below 7 days",
    pattern=rf"^\s*(?:{_SIDE}(?:\s+and\s+{_SIDE})?|{_BETWEEN})\s*$",
)

GREEN = Field("green", TARGET, "where the value should be", required=True)
AMBER = Field("amber", TARGET, "where it is still tolerated: around green")
_BANDS: Record[Bands] = Record(
    "a target", (GREEN, AMBER), lambda values, _: Bands(values[GREEN], values.get(AMBER))
)
BANDS: Named[Bands] = Named(
    "target", lambda: OneOf("a target", text=Then(TARGET, Bands), mapping=_BANDS)
)


def _by_group(values: Values, problems: Problems) -> Mapping[str, tuple[Position, Bands]]:
    if not values.named:
        problems.add(values.position, "here is no group", "write e.g. {web: below 3 days}")
    return {key.text: (key.position, bands) for key, bands in values.named if bands}


GROUPS = Field(
    "groups",
    Record(
        "targets by group",
        (),
        _by_group,
        entries=Entries("a group", "write a key of the grouping", BANDS, r"\S"),
    ),
    "targets of single groups, by their keys",
    required=True,
)
OTHERWISE = Field("otherwise", BANDS, "the target of all other groups")

TARGETS: OneOf[WrittenTargets] = OneOf(
    "a target",
    text=Then(TARGET, lambda target: WrittenTargets(Bands(target))),
    mapping=Tagged(
        "a target",
        {
            "green": Then(_BANDS, WrittenTargets),
            "groups": Record(
                "a target",
                (GROUPS, OTHERWISE),
                lambda values, _: WrittenTargets(values.get(OTHERWISE), values[GROUPS]),
            ),
        },
        strangers={"amber": "say first where the value should be: {green: …, amber: …}"},
    ),
)

# --- settled --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a PPI, in internal units."""

    target: Target | None = None
    tolerated: Target | None = None
    groups: tuple[GroupTarget, ...] = ()


def targets_of(
    written: WrittenTargets,
    shown: tuple[Unit, Kind | None],
    grouping: Grouping | None,
    problems: Problems,
) -> Targets:
    target, tolerated = _settled(written.bands, shown, problems) if written.bands else (None, None)
    keys = dict.fromkeys(grouping.keys if grouping else ())
    groups = []
    for key, (position, bands) in written.groups.items():
        if key not in keys:
            otherwise = (
                f"the keys are {listed(keys, 'and')}" if keys else "group the measure by data"
            )
            hint = did_you_mean(key, islice(keys, MAX_SUGGESTED), otherwise)
            problems.add(position, f"no group of this PPI is {quoted(key)}", hint)
        green, amber = _settled(bands, shown, problems)
        if green is not None:
            groups.append(GroupTarget(key, green, amber))
    return Targets(target, tolerated, tuple(groups))


def _settled(
    bands: Bands, shown: tuple[Unit, Kind | None], problems: Problems
) -> tuple[Target | None, Target | None]:
    green = _target(bands.green, shown, problems)
    if bands.amber is None:
        return green, None
    amber = _target(bands.amber, shown, problems)
    if green is not None and amber is not None and not amber.contains(green):
        message = "what is tolerated must hold all of the target"
        problems.add(bands.amber.position, message, "amber goes further than green")
    return green, amber


def _target(
    written: WrittenTarget, shown: tuple[Unit, Kind | None], problems: Problems
) -> Target | None:
    ends = [end for end in (written.low, written.high) if end is not None]
    values = [in_unit(end.quantity, *shown, problems) for end in ends]
    if None in values:
        return None
    low = values[0] if written.low else None
    high = values[-1] if written.high else None
    if low is not None and high is not None and not low < high:
        problems.add(written.position, "the lower end of the target must be below the upper one")
        return None
    return Target(
        low,
        high,
        written.low is None or written.low.included,
        written.high is None or written.high.included,
    )
