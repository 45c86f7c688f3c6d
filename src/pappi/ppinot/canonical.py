"""One form for each query, however it is written.

    with_default_bounds   the bounds the owner declares for a log, where a definition names none
    reduced_form          what a definition may say in two ways, said in one
    canonical_form        plain JSON without floats, ready to be hashed

**The canonical form must never change.** Its hash is the key under which a release is on record:
another form would charge a known query again. So every tag and member name is written out
below, apart from what the classes and their attributes are called. A class may be renamed freely;
an attribute `new` that was once `old` is written `old="new"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from fractions import Fraction

from pappi.ppinot import expressions
from pappi.ppinot.expressions import Binary, IsMissing, Name, Not, Operator
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    Anchor,
    Bounding,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventSequence,
    Grouping,
    Occurs,
    Pick,
    Ppi,
    Recent,
    Scope,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    is_total,
)
from pappi.ppinot.tree import with_aggregated
from pappi.values import (
    JSON,
    UNIT_INTERVAL,
    Bounds,
    CaseBorder,
    DefaultBounds,
    Grid,
    Period,
    Window,
    WorkingCalendar,
)

# --- default bounds -------------------------------------------------------------------


def with_default_bounds(ppi: Ppi, defaults: DefaultBounds) -> Ppi:
    """The same PPI; what its writer has said stays."""

    def bounded(_: str, measure: AggregatedMeasure) -> AggregatedMeasure:
        is_said = measure.bounds is not None or measure.bounding is not Bounding.DECLARED
        if is_said or measure.function in (Aggregation.SHARE, Aggregation.COUNT):
            return measure
        match measure.base:
            case TimeMeasure():
                return replace(measure, bounds=defaults.durations)
            case CountMeasure():
                return replace(measure, bounds=defaults.counts)
            case DataMeasure(attribute=attribute):
                return replace(measure, bounds=defaults.attributes.get(attribute))
        return measure

    return replace(ppi, measure=with_aggregated(ppi.measure, bounded))


# --- the reduced form -----------------------------------------------------------------
#
# Planning and evaluation know fewer forms than definitions: the cases of a scope become a
# condition of every aggregated measure, a number of cases becomes a sum of ones, and an anchor
# that is the log's own is none. The value is the same, case by case.


def reduced_form(ppi: Ppi, log_anchor: CaseBorder) -> Ppi:
    """The same PPI, in the fewest forms."""
    scope = ppi.scope
    own = None if scope.anchor == Anchor(log_anchor) else scope.anchor
    kept = scope.cases if scope.last_cases is not None else None

    def reduced(_: str, measure: AggregatedMeasure) -> AggregatedMeasure:
        if measure.function is Aggregation.COUNT:
            present = DerivedSingleInstance(Not(IsMissing(Name("x"))), (("x", measure.base),))
            ones = EVERY_CASE if is_total(measure.base) else present
            measure = replace(measure, function=Aggregation.SUM, base=ones, bounds=UNIT_INTERVAL)
        return replace(measure, filter=_both(scope.cases, measure.filter))

    measure = with_aggregated(ppi.measure, reduced)
    return replace(ppi, measure=measure, scope=replace(scope, anchor=own, cases=kept))


def anchor_time(anchor: Anchor) -> DataMeasure:
    """The instant of an anchor in a case, as a measure: missing in a case without one."""
    if isinstance(anchor.moment, CaseBorder):
        is_start = anchor.moment is CaseBorder.START
        return DataMeasure("timestamp", Pick.FIRST if is_start else Pick.LAST)
    return DataMeasure("timestamp", anchor.pick, anchor.moment)


def with_counts(ppi: Ppi) -> Ppi:
    """The same PPI; numbers of cases are written as people ask for them, not as sums."""

    def counted(_: str, measure: AggregatedMeasure) -> AggregatedMeasure:
        base = _counted(measure)
        return measure if base is None else replace(measure, function=Aggregation.COUNT, base=base)

    return replace(ppi, measure=with_aggregated(ppi.measure, counted))


def _counted(measure: AggregatedMeasure) -> SingleInstance | None:
    """Of which the cases are counted that have it: what `reduced_form` made of it backwards."""
    if measure.function is not Aggregation.SUM or measure.bounds != UNIT_INTERVAL:
        return None
    if measure.base == EVERY_CASE:
        return EVERY_CASE
    base, present = measure.base, Not(IsMissing(Name("x")))
    if not isinstance(base, DerivedSingleInstance) or base.formula != present:
        return None
    return dict(base.variables)["x"]


def _both(first: SingleInstance | None, second: SingleInstance | None) -> SingleInstance | None:
    if first is None or second is None:
        return first or second
    return DerivedSingleInstance(
        Binary(Operator.AND, Name("a"), Name("b")), (("a", first), ("b", second))
    )


# --- the canonical form ---------------------------------------------------------------
#
# Names, comments and positions are left out, since they do not change the answer.


@dataclass(frozen=True, slots=True)
class Form:
    """How a class is written: its tag, and for each member the attribute it is read from.

    A member that came `later` is left out where it is empty: older queries have none. One that is
    `gone` is written as empty: older queries have it.
    """

    tag: str
    members: Mapping[str, str]
    later: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def _form(
    tag: str, *same: str, later: tuple[str, ...] = (), gone: tuple[str, ...] = (), **renamed: str
) -> Form:
    return Form(tag, {**{name: name for name in (*same, *later)}, **renamed}, later, gone)


FORMS: Mapping[type, Form] = {
    # Conditions and formulas.
    expressions.NumberLiteral: _form("Number", "value"),
    expressions.TextLiteral: _form("Text", "value"),
    expressions.TruthLiteral: _form("Truth", "value"),
    expressions.DurationLiteral: _form("Duration", "microseconds"),
    expressions.InstantLiteral: _form("Instant", "ts_us"),
    expressions.Name: _form("Name", "name"),
    expressions.Negate: _form("Negate", "operand"),
    expressions.Not: _form("Not", "operand"),
    expressions.Binary: _form("Binary", "operator", "left", "right"),
    expressions.OneOf: _form("OneOf", "operand", "choices"),
    expressions.IsMissing: _form("IsMissing", "operand"),
    expressions.Choose: _form("Choose", "condition", "then", "otherwise"),
    expressions.Apply: _form("Apply", "function", "arguments"),
    # Events.
    Occurs: _form("Occurs", "condition", "occurrence", "among"),
    EventSequence: _form("Sequence", "first", "then", "order"),
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
        later=("limits",),
    ),
    DerivedMultiInstance: _form("DerivedMultiInstance", "formula", "variables"),
    # Scopes.
    Scope: _form("Scope", "grid", "start", "until", "recent", "last_cases", "cases", "anchor"),
    Grid: _form("Grid", "unit", "count"),
    Recent: _form("Recent", "count", "unit"),
    # Values.
    Bounds: _form("Bounds", "low", "high"),
    Period: _form("Period", "start", "end"),
    WorkingCalendar: _form(
        "WorkingCalendar", "week", "holidays", "countries", "zone", gone=("seasons",)
    ),
    Window: _form("Window", "start", "end"),
}


def canonical_form(value: object) -> JSON:
    """Any part of a query as JSON; equal parts, and only equal parts, come out equal."""
    form = FORMS.get(type(value))
    if form is None:
        return _form_of_value(value)
    members = {name: canonical_form(getattr(value, attr)) for name, attr in form.members.items()}
    written = {n: member for n, member in members.items() if member or n not in form.later}
    return {"is": form.tag, **written, **{name: [] for name in form.gone}}


def _form_of_value(value: object) -> JSON:
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return str(value.value)
        case str():
            return value
        case tuple():
            return [canonical_form(item) for item in value]
        case Fraction() | date():
            return str(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")
