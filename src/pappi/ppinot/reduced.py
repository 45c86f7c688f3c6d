"""A PPI in the plain forms that planning and evaluation know.

What a definition may say in two ways is brought into one: the cases of a scope become a
condition of every aggregated measure, a number of cases becomes a sum of ones, and an anchor
that is the log's own is none. The value is the same, case by case.
"""

from __future__ import annotations

from dataclasses import replace

from pappi.ppinot.expressions.nodes import Binary, IsMissing, Name, Not, Operator, Truth
from pappi.ppinot.measures import is_total
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Anchor,
    CaseBorder,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    MultiInstance,
    Pick,
    Ppi,
    SingleInstance,
)
from pappi.values.bounds import UNIT_INTERVAL


def reduced(ppi: Ppi, log_anchor: CaseBorder) -> Ppi:
    """The same PPI, in the fewest forms."""
    scope = ppi.scope
    own = None if scope.anchor == Anchor(log_anchor) else scope.anchor
    kept = scope.cases if scope.last_cases is not None else None
    measure = _reduced(ppi.measure, scope.cases)
    return replace(ppi, measure=measure, scope=replace(scope, anchor=own, cases=kept))


def anchor_time(anchor: Anchor) -> DataMeasure:
    """The instant of an anchor in a case, as a measure: missing in a case without one."""
    if isinstance(anchor.moment, CaseBorder):
        is_start = anchor.moment is CaseBorder.START
        return DataMeasure("timestamp", Pick.FIRST if is_start else Pick.LAST)
    return DataMeasure("timestamp", anchor.pick, anchor.moment)


def _reduced(measure: MultiInstance, cases: SingleInstance | None) -> MultiInstance:
    if isinstance(measure, DerivedMultiInstance):
        variables = tuple((name, _reduced(each, cases)) for name, each in measure.variables)
        return replace(measure, variables=variables)
    plain = _as_sum(measure) if measure.function is Aggregation.COUNT else measure
    return replace(plain, filter=_both(cases, plain.filter))


def _as_sum(measure: AggregatedMeasure) -> AggregatedMeasure:
    present = DerivedSingleInstance(Not(IsMissing(Name("x"))), (("x", measure.base),))
    base = _ALWAYS if is_total(measure.base) else present
    return replace(measure, function=Aggregation.SUM, base=base, bounds=UNIT_INTERVAL)


_ALWAYS = DerivedSingleInstance(Truth(value=True), ())


def _both(first: SingleInstance | None, second: SingleInstance | None) -> SingleInstance | None:
    if first is None or second is None:
        return first or second
    return DerivedSingleInstance(
        Binary(Operator.AND, Name("a"), Name("b")), (("a", first), ("b", second))
    )
