"""Scopes and targets, as they are read. Fields of ours, where Java has no word:

scope    calendar (quarter, for periods of three months), recent {period, frequency},
         cases (a measure: which cases count at all), the kind TimeFilter (one period)
target   refMinExcluded, refMaxExcluded; refMinExact, refMaxExact for a limit that is no
         decimal number
"""

from __future__ import annotations

import json
import re
from datetime import date
from fractions import Fraction
from typing import cast

from pappi.ppinot.catalogue.dates import FIRST_DAY, LAST_DAY
from pappi.ppinot.catalogue.scopes import MAX_CASES, MAX_COUNT
from pappi.ppinot.java.case_measures import read_anchor
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.java.measures import read_single
from pappi.ppinot.java.numbers import exact, nearest
from pappi.ppinot.model import Anchor, GroupTarget, Recent, Scope, SingleInstance, Target
from pappi.ppinot.wording import quoted
from pappi.values.periods import Calendar, Grid

TIME, INSTANCES, ONE_PERIOD = "SimpleTimeFilter", "LastInstancesFilter", "TimeFilter"
PERIODS = {
    "DAILY": Calendar.DAY,
    "WEEKLY": Calendar.WEEK,
    "MONTHLY": Calendar.MONTH,
    "YEARLY": Calendar.YEAR,
}
MONTHS_OF_QUARTER = 3

_KINDS = {kind: kind for kind in (TIME, INSTANCES, ONE_PERIOD)}
# A joda DateTime at midnight is a day; any other time of day is not.
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T00:00(?::00(?:\.0{1,9})?)?(?:Z|\+00:00)?)?")


# --- scopes ---------------------------------------------------------------------------


def read_scope(fields: Fields, key: str, anchor: Anchor | None) -> Scope | None:
    """The scope of a PPI: without one, all of the log as one period.

    `anchor` is what the measure says about the periods of cases.
    """
    scope = fields.object(key, "a scope")
    if scope is None:
        return Scope(None, anchor=anchor)
    scope.require("kind", "a scope")
    kind = scope.word("kind", _KINDS, "the kind of a scope")
    _refuse_unknown(scope)
    grid, recent = _time(scope) if kind == TIME else (None, None)
    last = _last_cases(scope) if kind == INSTANCES else None
    start, until = _day(scope, "from"), _day(scope, "until")
    recent = _recent(scope) or recent
    if not _fit(scope, start, until, recent):
        return None
    found = read_single(scope, "cases", "what chooses cases")
    cases = None if found is None else cast("SingleInstance", found.measure)
    own = read_anchor(scope, "referencePoint")
    return Scope(grid, start, until, recent, last, cases, own or anchor)


def _refuse_unknown(scope: Fields) -> None:
    """What Java knows and would change a value, and we do not have."""
    if scope.flag("includeUnfinished"):
        message = "cases that are not finished lie in the period of their last event"
        scope.refuse("includeUnfinished", message, "remove it: all cases of the log count")
    usual = ("0", "1") if scope.text("period").upper() == "DAILY" else ("1",)
    if scope.filled("absoluteStart") and scope.text("absoluteStart") not in usual:
        scope.refuse("absoluteStart", "periods begin where those of the calendar do")
    if scope.filled("timeZone"):
        message = "periods are cut in the time zone of the log, and no other"
        scope.refuse("timeZone", message, "remove it")


def _time(scope: Fields) -> tuple[Grid | None, Recent | None]:
    scope.require("period", "a time filter")
    unit, count = _period(scope)
    if unit is None or count is None:
        return None, None
    if scope.flag("relative"):
        return None, Recent(count, unit)
    return Grid(unit, count), None


def _recent(scope: Fields) -> Recent | None:
    recent = scope.object("recent", "a period such as {'period': 'YEARLY', 'frequency': 1}")
    if recent is None:
        return None
    recent.require("period", "recent time")
    unit, count = _period(recent)
    return None if unit is None or count is None else Recent(count, unit)


def _period(fields: Fields) -> tuple[Calendar | None, int | None]:
    unit = fields.word("period", PERIODS, "a period")
    is_quarter = fields.word("calendar", {"quarter": True}, "'quarter'")
    size = MONTHS_OF_QUARTER if is_quarter else 1
    count = fields.whole("frequency", 1, MAX_COUNT * size) if "frequency" in fields else size
    if not is_quarter:
        return unit, count
    if unit is not Calendar.MONTH or (count or 0) % size:
        fields.refuse("calendar", "quarters are periods of three months, MONTHLY")
        return None, None
    return Calendar.QUARTER, (count or size) // size


def _last_cases(scope: Fields) -> int | None:
    scope.require("numberOfInstances", "a filter of instances")
    return scope.whole("numberOfInstances", 1, MAX_CASES)


def _day(scope: Fields, key: str) -> date | None:
    text = scope.text(key)
    if not text:
        return None
    match = _DAY.fullmatch(text)
    try:
        day = date.fromisoformat(match[1]) if match else None
    except ValueError:
        day = None
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        message = f"{quoted(text)} is not a day such as 2014-01-31, from {FIRST_DAY.year} on"
        scope.refuse(key, message)
        return None
    return day


def _fit(scope: Fields, start: date | None, until: date | None, recent: Recent | None) -> bool:
    if recent is not None and (start or until):
        scope.refuse("from", "a scope is recent, or between two days, not both")
        return False
    if start is not None and until is not None and until <= start:
        scope.refuse("until", "'until' must be a day after 'from'")
        return False
    return True


# --- targets --------------------------------------------------------------------------


def read_target(fields: Fields | None, scale: Fraction) -> Target | None:
    """A target in numbers of which each is so much; None also if it has no limit."""
    if fields is None:
        return None
    low, high = (_limit(fields, key, scale) for key in ("refMin", "refMax"))
    if low is None and high is None:
        return None
    if low is not None and high is not None and not low <= high:
        fields.refuse("refMax", "the lower end of the target must not be above the upper one")
        return None
    excluded = (fields.flag("refMinExcluded"), fields.flag("refMaxExcluded"))
    return Target(low, high, not excluded[0], not excluded[1])


def _limit(fields: Fields, key: str, scale: Fraction) -> Fraction | None:
    found = f"{key}Exact" if f"{key}Exact" in fields else key
    node = fields.scalar(found, "a number")
    if node is None:
        return None
    number = exact(node.text)
    if number is None:
        fields.refuse(found, f"expected a number, found {quoted(node.text)}")
        return None
    if found != key:
        # Beside an exact limit stands the nearest number, for Java.
        fields.pass_over(key, json.dumps(nearest(number)))
    return number * scale


def read_group_targets(fields: Fields, key: str, scale: Fraction) -> tuple[GroupTarget, ...]:
    opened = [fields.opened(node, "the target of a group") for node in fields.items(key)]
    found = [_group_target(each, scale) for each in opened if each is not None]
    whole = tuple(each for each in found if each is not None)
    if len({each.key for each in whole}) < len(whole):
        fields.refuse(key, "a group has two targets")
    return whole


def _group_target(fields: Fields, scale: Fraction) -> GroupTarget | None:
    fields.require("value", "the target of a group")
    target = read_target(fields, scale)
    if target is None:
        fields.refuse("value", "the target of a group needs a limit")
        return None
    tolerated = read_target(fields.object("tolerated", "a target"), scale)
    return GroupTarget(fields.text("value"), target, tolerated)
