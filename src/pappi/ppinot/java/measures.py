"""Measures, as they are read. Fields of ours in an aggregated measure, where Java has no word:
`percent`, `keys` (the groups to answer), `bounds` {low, high, bounding} and `within`. An
aggregation may also be Share, Median, Percentile or Count.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import cast

from pappi.ppinot.catalogue.document import Node, ScalarNode
from pappi.ppinot.java import case_measures as of_case
from pappi.ppinot.java.case_measures import Read, read_anchor, read_data
from pappi.ppinot.java.derived import derived, derived_multi, derived_single
from pappi.ppinot.java.fields import Context, Fields
from pappi.ppinot.java.numbers import read_range
from pappi.ppinot.java.units import timed_by
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Grouping,
    MultiInstance,
    SingleInstance,
)
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.vocabulary import Kind

FUNCTIONS = {
    "Sum": Aggregation.SUM,
    "Average": Aggregation.MEAN,
    "Minimum": Aggregation.MIN,
    "Maximum": Aggregation.MAX,
    "Median": Aggregation.MEDIAN,
    "Percentile": Aggregation.PERCENTILE,
    "Share": Aggregation.SHARE,
    "Count": Aggregation.COUNT,
}
_BOUNDINGS = {each.value: each for each in Bounding}


def read_measure(node: Node, context: Context) -> Read | None:
    """The measure an object describes; None with a problem."""
    if isinstance(node, ScalarNode):
        message = "a measure that is written elsewhere is not looked for"
        context.problems.add(node.position, message, "write the measure itself in its place")
        return None
    fields = Fields.of(node, context, "a measure")
    if fields is None:
        return None
    fields.require("kind", "a measure")
    kind = fields.text("kind")
    reader = _READERS.get(kind)
    if reader is None:
        if kind:
            hint = did_you_mean(kind, _READERS, f"the kinds are {listed(_READERS, 'and')}")
            fields.refuse("kind", f"there is no measure of the kind {quoted(kind)}", hint)
        return None
    return reader(fields)


def read_single(fields: Fields, key: str, what: str) -> Read | None:
    """A measure of one case, in a field."""
    node = fields.get(key)
    read = None if node is None else read_measure(node, fields.context)
    if read is not None and isinstance(read.measure, MultiInstance):
        fields.refuse(key, f"{what} measures one case, and this combines many")
        return None
    return read


def _aggregated(fields: Fields) -> Read | None:
    for key in ("baseMeasure", "aggregationFunction"):
        fields.require(key, "an aggregated measure")
    if fields.flag("includeUnfinished"):
        message = "cases that are not finished lie in the period of their last event"
        fields.refuse("includeUnfinished", message, "remove it: all cases of the log count")
    base = read_single(fields, "baseMeasure", "what is aggregated")
    condition = read_single(fields, "filter", "a filter")
    function = fields.word("aggregationFunction", FUNCTIONS, "an aggregation")
    anchor = read_anchor(fields, "periodReferencePoint")
    grouping = _grouping(fields)
    if base is None or function is None:
        return None
    percent = _percent(fields) if function is Aggregation.PERCENTILE else None
    on_case = cast("SingleInstance", base.measure)
    measure = AggregatedMeasure(
        function,
        on_case,
        None if condition is None else cast("SingleInstance", condition.measure),
        grouping,
        _bounds(fields, usual_bounds(function, on_case)),
        fields.text("within") or None,
        percent,
        _bounding(fields),
        position=fields.position,
    )
    unit = base.unit if timed_by(measure) else None
    return Read(measure, unit, fields, anchor)


def _percent(fields: Fields) -> int | None:
    fields.require("percent", "a percentile")
    return fields.whole("percent", 1, 99)


def _grouping(fields: Fields) -> Grouping | None:
    nodes = fields.items("groupedBy")
    if not nodes:
        return None
    if len(nodes) > 1:
        message = "cases are grouped by one attribute at most"
        fields.refuse("groupedBy", message, "join the two in the log, or ask for each alone")
        return None
    by = fields.opened(nodes[0], "a data measure")
    measure = None if by is None else read_data(by)
    keys = fields.texts("keys")
    if not keys:
        message = "which groups there are must not depend on the data: they are declared"
        fields.refuse("groupedBy", message, 'list them: "keys": ["phone", "web"]')
        return None
    if len(set(keys)) < len(keys):
        fields.refuse("keys", "a key is here twice")
        return None
    return None if measure is None else Grouping(measure, keys)


def usual_bounds(function: Aggregation, base: SingleInstance) -> Bounds | None:
    """What a case can contribute where nothing is said: truth values are 0 or 1."""
    counted = function in (Aggregation.SHARE, Aggregation.COUNT)
    is_truth = counted or measure_kind(base, None) is Kind.TRUTH
    return UNIT_INTERVAL if is_truth else None


def _bounds(fields: Fields, usual: Bounds | None) -> Bounds | None:
    written = fields.object("bounds", "bounds such as {'low': 0, 'high': '60 days'}")
    if written is None:
        return usual
    return read_range(written, Fraction(1)) if "low" in written or "high" in written else None


def _bounding(fields: Fields) -> Bounding:
    written = fields.object("bounds")
    said = written and written.word("bounding", _BOUNDINGS, "how well the bounds are known")
    return said or Bounding.DECLARED


_READERS: dict[str, Callable[[Fields], Read | None]] = {
    "CountMeasure": of_case.count,
    "TimeMeasure": of_case.time,
    "ConditionMeasure": of_case.condition,
    "DataMeasure": of_case.data,
    "DataPropertyConditionMeasure": of_case.condition,
    "StateConditionMeasure": of_case.state,
    "AggregatedMeasure": _aggregated,
    "DerivedMeasure": partial(derived, read=read_measure),
    "DerivedSingleInstanceMeasure": partial(derived_single, read=read_measure),
    "DerivedMultiInstanceMeasure": partial(derived_multi, read=read_measure),
}
