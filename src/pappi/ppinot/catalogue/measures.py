"""Measures of many cases as they are written.

Whether `derive` is about one case or about many depends on where it stands:
under an aggregation it is about one case, elsewhere about many.
"""

from __future__ import annotations

from itertools import islice

from pappi.errors import Position
from pappi.ppinot.catalogue.case_measures import DATA, SINGLE
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.formulas import (
    DERIVE,
    Draft,
    Multi,
    Single,
    variables,
    variables_match,
)
from pappi.ppinot.catalogue.quantities import BOUNDS
from pappi.ppinot.catalogue.shapes import (
    MAX_SUGGESTED,
    Field,
    ListOf,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.expressions.nodes import Truth
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
)
from pappi.ppinot.wording import did_you_mean, quoted

MULTI: Named[Multi] = Named("measure", lambda: _MULTI)

WHERE = Field("where", SINGLE, "only cases for which this is true")
AMONG = Field("among", SINGLE, "only cases for which this is true count as a whole")
CASE_BOUNDS = Field(
    "bounds",
    BOUNDS,
    "the public range of what one case contributes: [low, high], [low, high, loose] or private",
)
WITHIN = Field(
    "within",
    Written("the name of a variable", lambda node, _: node.text, example="received"),
    "the variable of the same formula that this is a part of, in every case",
)


def _percent(node: ScalarNode, problems: Problems) -> int | None:
    if node.text.isascii() and node.text.isdigit() and 1 <= int(node.text) <= 99:
        return int(node.text)
    problems.add(node.position, f"expected a percentage from 1 to 99, found {quoted(node.text)}")
    return None


PERCENT = Field(
    "percent",
    Written("a percentage", _percent, example="90", pattern=r"^\d{1,2}$", types=("integer",)),
    "how many percent of the cases lie below, from 1 to 99",
    required=True,
)

# --- groups ---------------------------------------------------------------------------


def _keys(node: ScalarNode, _: Problems) -> tuple[str, Position]:
    return node.text, node.position


KEYS = Field(
    "keys",
    ListOf(
        "a list of keys",
        Written("a key", _keys, example="phone", types=("string", "number", "boolean")),
    ),
    "the groups to answer: all of these, and no others",
    required=True,
)


def _grouping(values: Values, problems: Problems) -> Grouping | None:
    keys: dict[str, Position] = {}
    for key, position in values[KEYS]:
        if key in keys:
            problems.add(position, f"the key {quoted(key)} is here twice")
            return None
        keys[key] = position
    return Grouping(values[DATA], tuple(keys))


BY = Field(
    "by", Record("a grouping", (DATA, KEYS), _grouping), "one value per group, over declared keys"
)

# --- aggregations ---------------------------------------------------------------------


def _aggregation(function: Aggregation, doc: str) -> Record[Multi]:
    base = Field(function.value, SINGLE, doc, required=True)
    among = (AMONG,) if function is Aggregation.SHARE else ()
    within = (WITHIN,) if function is Aggregation.SUM else ()
    percent = (PERCENT,) if function is Aggregation.PERCENTILE else ()

    def build(values: Values, _: Problems) -> Multi:
        condition = values.get(AMONG) or values.get(WHERE)
        measure = AggregatedMeasure(
            function,
            values[base].measure,
            condition.measure if condition else None,
            values.get(BY),
            within=values.get(WITHIN),
            percent=values.get(PERCENT),
            position=values.position,
        )
        bounds = values.get(CASE_BOUNDS)
        return Draft(measure, values[base].units, {} if bounds is None else {"": bounds})

    fields = (base, *among, WHERE, BY, CASE_BOUNDS, *within, *percent)
    return Record(f"a {function}", fields, build, at_most_one=(*among, WHERE) if among else ())


EVERY_CASE = DerivedSingleInstance(Truth(value=True), ())
ALL_CASES = "cases"

NUMBER: Field[Single] = Field(
    "number",
    OneOf(
        "'cases', or a measure of one case",
        text=one_word_of("'cases'", {ALL_CASES: Draft(EVERY_CASE)}),
        mapping=SINGLE,
    ),
    "the number of cases, or of those that have a value of this measure",
    required=True,
)


def _number(values: Values, _: Problems) -> Multi:
    condition = values.get(WHERE)
    measure = AggregatedMeasure(
        Aggregation.COUNT,
        values[NUMBER].measure,
        condition.measure if condition else None,
        values.get(BY),
        position=values.position,
    )
    return Draft(measure)


# --- formulas -------------------------------------------------------------------------


def _derived(values: Values, problems: Problems) -> Multi | None:
    if not variables_match(values, problems):
        return None
    if not values.named:
        problems.add(values.position, "a derived measure needs a variable to derive from")
        return None
    drafts: list[tuple[str, Multi]] = [(key.text, draft) for key, draft in values.named]
    if not _wholes_exist(drafts, problems):
        return None
    inner = tuple((name, draft.measure) for name, draft in drafts)
    units = tuple(unit for _, draft in drafts for unit in draft.units)
    bounds = {
        f"{name}.{path}".rstrip("."): written
        for name, draft in drafts
        for path, written in draft.bounds.items()
    }
    return Draft(DerivedMultiInstance(values[DERIVE], inner), units, bounds)


def _wholes_exist(drafts: list[tuple[str, Multi]], problems: Problems) -> bool:
    """Whether each `within` names another sum of the same formula."""
    aggregated = [
        (name, draft.measure)
        for name, draft in drafts
        if isinstance(draft.measure, AggregatedMeasure)
    ]
    sums = {name: each for name, each in aggregated if each.function is Aggregation.SUM}
    wrong = [
        (each.within, each.position)
        for name, each in aggregated
        if each.within is not None and (each.within == name or each.within not in sums)
    ]
    for whole, position in wrong:
        message = f"'within' must name another sum of this formula, not {quoted(whole)}"
        problems.add(position, message, did_you_mean(whole, islice(sums, MAX_SUGGESTED)))
    return not wrong


_AGGREGATE = {
    key: f"it measures one case; say how to combine the cases, e.g. {{mean: {{{key}: …}}}}"
    for key in ("time", "data")
} | {
    "count": "it measures one case; say how to combine the cases, e.g. {sum: {count: …}}",
    "condition": "it measures one case; for the share of such cases, write {share: {condition: …}}",
    "state": "it measures one case; for the share of such cases, write {share: {state: …}}",
}

_MULTI: Tagged[Multi] = Tagged(
    "a measure of many cases",
    {
        "derive": Record(
            "a derived measure",
            (DERIVE,),
            _derived,
            # `value` is the name of the result among the bounds of a PPI.
            entries=variables(MULTI, "derive", "value"),
        ),
        "mean": _aggregation(Aggregation.MEAN, "the average over the cases"),
        "sum": _aggregation(Aggregation.SUM, "the sum over the cases"),
        "min": _aggregation(Aggregation.MIN, "the smallest value of the cases"),
        "max": _aggregation(Aggregation.MAX, "the largest value of the cases"),
        "median": _aggregation(Aggregation.MEDIAN, "the value in the middle of the cases"),
        "percentile": _aggregation(Aggregation.PERCENTILE, "the value that percent lie below"),
        "share": _aggregation(Aggregation.SHARE, "the share of cases for which this is true"),
        "number": Record("a number of cases", (NUMBER, WHERE, BY), _number),
    },
    strangers=_AGGREGATE,
)
