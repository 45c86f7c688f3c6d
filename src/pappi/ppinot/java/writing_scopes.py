"""Scopes and targets, as they are written."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.java.numbers import as_number, nearest
from pappi.ppinot.java.scopes import INSTANCES, MONTHS_OF_QUARTER, ONE_PERIOD, PERIODS, TIME
from pappi.ppinot.java.writing_conditions import Json
from pappi.ppinot.java.writing_measures import anchor_json, measure_json
from pappi.ppinot.model import GroupTarget, Scope, Target
from pappi.values.periods import Calendar

_PERIODS = {unit: word for word, unit in PERIODS.items()}


def scope_json(scope: Scope, process: str) -> Json:
    """A scope; empty for all of the log as one period."""
    if scope == Scope(None):
        return {}
    found = _cut(scope)
    if scope.recent is not None and found.get("relative") is not True:
        found["recent"] = _period(scope.recent.unit, scope.recent.count)
    found |= {} if scope.start is None else {"from": scope.start.isoformat()}
    found |= {} if scope.until is None else {"until": scope.until.isoformat()}
    found |= {} if scope.cases is None else {"cases": measure_json(scope.cases, process)}
    found |= {} if scope.anchor is None else {"referencePoint": anchor_json(scope.anchor, process)}
    return found


def _cut(scope: Scope) -> Json:
    """How the time is cut into periods."""
    if scope.last_cases is not None:
        return {"kind": INSTANCES, "numberOfInstances": scope.last_cases}
    if scope.grid is not None:
        return {"kind": TIME, **_period(scope.grid.unit, scope.grid.count), "relative": False}
    if scope.recent is not None:
        return {"kind": TIME, **_period(scope.recent.unit, scope.recent.count), "relative": True}
    return {"kind": ONE_PERIOD}


def _period(unit: Calendar, count: int) -> Json:
    if unit is not Calendar.QUARTER:
        return {"period": _PERIODS[unit], "frequency": count}
    months: Json = {"period": "MONTHLY", "frequency": MONTHS_OF_QUARTER * count}
    return months | {"calendar": "quarter"}


def target_json(target: Target | None, scale: Fraction) -> Json:
    if target is None:
        return {}
    found = _limit("refMin", target.low, scale) | _limit("refMax", target.high, scale)
    found |= {} if target.low_included else {"refMinExcluded": True}
    return found | ({} if target.high_included else {"refMaxExcluded": True})


def _limit(key: str, limit: Fraction | None, scale: Fraction) -> Json:
    """A limit as a number, which Java needs; and exactly, where no number is that."""
    if limit is None:
        return {}
    number = as_number(limit / scale)
    if number is not None:
        return {key: number}
    return {key: nearest(limit / scale), f"{key}Exact": str(limit / scale)}


def group_target_json(target: GroupTarget, scale: Fraction) -> Json:
    tolerated = target_json(target.tolerated, scale)
    found: Json = {"value": target.key, **target_json(target.target, scale)}
    return found | ({"tolerated": tolerated} if tolerated else {})
