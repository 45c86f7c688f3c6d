"""The canonical form of a definition: what two spellings of one question share.

Names, comments and positions are left out, since they do not change the answer.
The result is plain JSON without floats, ready to be hashed.

**It must never change.** Its hash is the key under which a release is on record: another form
would charge a known question again. So every tag and member name is written out below, apart
from what the classes and their attributes are called. A class may be renamed freely; an
attribute `new` that was once `old` is written `old="new"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction

from pappi.ppinot.expressions import nodes
from pappi.ppinot.model import (
    AggregatedMeasure,
    Anchor,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    Occurs,
    Recent,
    Scope,
    Sequence,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.bounds import Bounds
from pappi.values.periods import Grid, Period
from pappi.values.plain_data import JSON
from pappi.values.working_time import WorkingCalendar
from pappi.values.working_week import Season, Window


@dataclass(frozen=True, slots=True)
class Form:
    """How a class is written: its tag, and for each member the attribute it is read from."""

    tag: str
    members: Mapping[str, str]


def _form(tag: str, *same: str, **renamed: str) -> Form:
    return Form(tag, {**{name: name for name in same}, **renamed})


FORMS: Mapping[type, Form] = {
    # Conditions and formulas.
    nodes.Number: _form("Number", "value"),
    nodes.Text: _form("Text", "value"),
    nodes.Truth: _form("Truth", "value"),
    nodes.Duration: _form("Duration", "microseconds"),
    nodes.Instant: _form("Instant", "ts_us"),
    nodes.Name: _form("Name", "name"),
    nodes.Negate: _form("Negate", "operand"),
    nodes.Not: _form("Not", "operand"),
    nodes.Binary: _form("Binary", "operator", "left", "right"),
    nodes.OneOf: _form("OneOf", "operand", "choices"),
    nodes.IsMissing: _form("IsMissing", "operand"),
    nodes.Choose: _form("Choose", "condition", "then", "otherwise"),
    nodes.Apply: _form("Apply", "function", "arguments"),
    # Events.
    Occurs: _form("Occurs", "condition", "occurrence", "among"),
    Sequence: _form("Sequence", "first", "then", "order"),
    Anchor: _form("Anchor", "moment", "pick"),
    # Measures of one case.
    CountMeasure: _form("CountMeasure", "when"),
    TimeMeasure: _form(
        "TimeMeasure",
        "start",
        "end",
        "start_pick",
        "end_pick",
        "cycles",
        "open_cycle",
        "running",
        "calendar",
    ),
    DataMeasure: _form("DataMeasure", "attribute", "pick", "when"),
    ConditionMeasure: _form("ConditionMeasure", "when"),
    StateMeasure: _form("StateMeasure", "holds", "of"),
    DerivedSingleInstance: _form("DerivedSingleInstance", "formula", "variables", "missing"),
    # Measures of many cases.
    Grouping: _form("Grouping", "by", "keys"),
    AggregatedMeasure: _form(
        "AggregatedMeasure",
        "function",
        "base",
        "filter",
        "grouping",
        "bounds",
        "within",
        "percent",
        "bounding",
    ),
    DerivedMultiInstance: _form("DerivedMultiInstance", "formula", "variables"),
    # Scopes.
    Scope: _form("Scope", "grid", "start", "until", "recent", "last_cases", "cases", "anchor"),
    Grid: _form("Grid", "unit", "count"),
    Recent: _form("Recent", "count", "unit"),
    # Values.
    Bounds: _form("Bounds", "low", "high"),
    Period: _form("Period", "start", "end"),
    WorkingCalendar: _form("WorkingCalendar", "week", "seasons", "holidays", "countries", "zone"),
    Window: _form("Window", "start", "end"),
    Season: _form("Season", "first", "last", "week"),
}


def canonical(value: object) -> JSON:
    """Any part of a question as JSON; equal parts, and only equal parts, come out equal."""
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return str(value.value)
        case str():
            return value
        case Fraction() | date():
            return str(value)
        case tuple():
            return [canonical(item) for item in value]
    form = FORMS.get(type(value))
    if form is None:
        raise TypeError(f"{type(value).__name__} has no canonical form")
    members = {name: canonical(getattr(value, attr)) for name, attr in form.members.items()}
    return {"is": form.tag, **members}
