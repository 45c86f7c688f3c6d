"""Measures as they are written.

Whether `derive` is about one case or about many depends on where it stands:
under an aggregation it is about one case, elsewhere about many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pappi.errors import Position
from pappi.ppinot.catalogue.conditions import ATTRIBUTE, CONDITION, FORMULA, INSTANT, Instant
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.quantities import BOUNDS, TIME_UNIT, Label, WrittenBounds
from pappi.ppinot.catalogue.shapes import (
    Entries,
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
from pappi.ppinot.expressions.nodes import Expression, Name
from pappi.ppinot.expressions.walk import names_in, walk
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    MultiInstance,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.ppinot.wording import did_you_mean, quoted

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Draft(Generic[M]):
    """A measure, with what was written inside it but belongs to the whole PPI.

    `units` are those of its time measures; `bounds` those of its aggregations,
    by the path of variables that leads to them ("" for the measure itself).
    """

    measure: M
    units: tuple[Label, ...] = ()
    bounds: Mapping[str, WrittenBounds] = field(default_factory=dict)


Single = Draft[SingleInstance]
Multi = Draft[MultiInstance]

SINGLE: Named[Single] = Named("caseMeasure", lambda: _SINGLE)
MULTI: Named[Multi] = Named("measure", lambda: _MULTI)

# --- measures of one case -------------------------------------------------------------

COUNT = Field("count", CONDITION, "how many events of the case satisfy this", required=True)
IS_SO = Field(
    "condition", CONDITION, "whether some event of the case satisfies this", required=True
)
START = Field("from", INSTANT, "the first of these instants starts the clock", required=True)
END = Field("to", INSTANT, "the last of these instants stops the clock", required=True)
CYCLES = Field(
    "cycles",
    one_word_of("what to do with several cycles", {cycles.value: cycles for cycles in Cycles}),
    "every start and the next end make a cycle, of which this is taken in each case",
)


def _borders_fit(start: Instant, end: Instant, cycles: Cycles | None, problems: Problems) -> bool:
    """A case starts and ends once: nothing is measured from its end, up to its start, or again."""
    if start.moment is CaseBorder.END:
        problems.add(start.position, "nothing happens after the end of a case", _SWAP)
        return False
    if end.moment is CaseBorder.START:
        problems.add(end.position, "nothing happens before the start of a case", _SWAP)
        return False
    once = next((each for each in (start, end) if isinstance(each.moment, CaseBorder)), None)
    if cycles is not None and once is not None:
        message = "a case starts and ends once: it makes no cycles"
        problems.add(once.position, message, "name an activity, or remove 'cycles'")
        return False
    return True


_SWAP = "swap 'from' and 'to'"


def _time_between(values: Values, problems: Problems) -> TimeMeasure | None:
    start, end, cycles = values[START], values[END], values.get(CYCLES)
    if not _borders_fit(start, end, cycles, problems):
        return None
    picked = next((each for each in (start, end) if each.pick is not None), None)
    if cycles is not None and picked is not None:
        message = "with cycles every instant counts, not the first or the last"
        problems.add(picked.position, message, "write the condition alone, or remove 'cycles'")
        return None
    return TimeMeasure(
        start.moment, end.moment, start.pick or Pick.FIRST, end.pick or Pick.LAST, cycles
    )


TIME = Field(
    "time",
    Record("a time measure", (START, END, CYCLES), _time_between),
    "the time between two instants of the case",
    required=True,
)
SHOWN_IN = Field("unit", TIME_UNIT, "the unit of time to show: hours if not given")

NAME = Field("attribute", ATTRIBUTE, "the attribute", required=True)
PICK = Field(
    "pick",
    one_word_of("'first' or 'last'", {pick.value: pick for pick in Pick}),
    "at the first or the last event that carries the attribute; last if not given",
)
WHEN = Field("when", CONDITION, "only events that satisfy this")


def _data(values: Values, _: Problems) -> DataMeasure:
    name, position = values[NAME]
    pick = values.get(PICK) or Pick.LAST
    return DataMeasure(name, pick, values.get(WHEN), position=position)


DATA = Field(
    "data",
    OneOf(
        "an attribute",
        text=Written(
            "an attribute",
            lambda node, _: DataMeasure(node.text.strip(), position=node.position),
            example="amount",
        ),
        mapping=Record("a data measure", (NAME, PICK, WHEN), _data),
    ),
    "the value of an attribute of the case",
    required=True,
)

DERIVE: Field[Expression] = Field(
    "derive", FORMULA, "a formula over the variables defined beside it", required=True
)


def _time(values: Values, _: Problems) -> Single:
    unit = values.get(SHOWN_IN)
    return Draft(values[TIME], () if unit is None else (unit,))


def _derived_single(values: Values, problems: Problems) -> Single | None:
    if not _variables_match(values, problems):
        return None
    drafts: list[tuple[str, Single]] = [(key.text, draft) for key, draft in values.named]
    variables = tuple((name, draft.measure) for name, draft in drafts)
    units = tuple(unit for _, draft in drafts for unit in draft.units)
    return Draft(DerivedSingleInstance(values[DERIVE], variables), units)


def _variables_match(values: Values, problems: Problems) -> bool:
    """Whether the formula uses exactly the variables beside it, and they are all sound."""
    formula = values[DERIVE]
    defined = {key.text: key for key, _ in values.named}
    undefined = [name for name in _names(formula) if name.name not in defined]
    for name in undefined:
        hint = did_you_mean(name.name, defined, "define it beside 'derive'")
        problems.add(name.position, f"unknown variable {quoted(name.name)}", hint)
    if undefined:
        return False
    unused = [key for text, key in defined.items() if text not in names_in(formula)]
    for key in unused:
        problems.add(key.position, f"the formula does not use the variable {quoted(key.text)}")
    return not unused and all(draft for _, draft in values.named)


def _names(formula: Expression) -> list[Name]:
    return [node for node in walk(formula) if isinstance(node, Name)]


_AGGREGATE_FIRST = {
    function.value: "an aggregation combines many cases, and here a measure of one case stands; "
    "write count, time, data, condition or derive"
    for function in Aggregation
}
_LETTERS = "letters, digits and _ make a name; 'derive' and 'value' are taken"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*$"

_SINGLE: Tagged[Single] = Tagged(
    "a measure of one case",
    {
        "derive": Record(
            "a derived measure",
            (DERIVE,),
            _derived_single,
            entries=Entries("a variable", _LETTERS, SINGLE, rf"^(?!derive$){_VARIABLE}"),
        ),
        "count": Record("a count", (COUNT,), lambda values, _: Draft(CountMeasure(values[COUNT]))),
        "time": Record("a time measure", (TIME, SHOWN_IN), _time),
        "data": Record("a data measure", (DATA,), lambda values, _: Draft(values[DATA])),
        "condition": Record(
            "a condition", (IS_SO,), lambda values, _: Draft(ConditionMeasure(values[IS_SO]))
        ),
    },
    strangers=_AGGREGATE_FIRST,
)

# --- measures of many cases -----------------------------------------------------------

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
    written = values[KEYS]
    keys = [key for key, _ in written]
    for index, (key, position) in enumerate(written):
        if key in keys[:index]:
            problems.add(position, f"the key {quoted(key)} is here twice")
            return None
    return Grouping(values[DATA], tuple(keys))


BY = Field(
    "by", Record("a grouping", (DATA, KEYS), _grouping), "one value per group, over declared keys"
)


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


def _derived_multi(values: Values, problems: Problems) -> Multi | None:
    if not _variables_match(values, problems):
        return None
    if not values.named:
        problems.add(values.position, "a derived measure needs a variable to derive from")
        return None
    drafts: list[tuple[str, Multi]] = [(key.text, draft) for key, draft in values.named]
    if not _wholes_exist(drafts, problems):
        return None
    variables = tuple((name, draft.measure) for name, draft in drafts)
    units = tuple(unit for _, draft in drafts for unit in draft.units)
    bounds = {
        f"{name}.{path}".rstrip("."): written
        for name, draft in drafts
        for path, written in draft.bounds.items()
    }
    return Draft(DerivedMultiInstance(values[DERIVE], variables), units, bounds)


def _wholes_exist(drafts: list[tuple[str, Multi]], problems: Problems) -> bool:
    """Whether each `within` names another sum of the same formula."""
    sums = [
        name
        for name, draft in drafts
        if isinstance(draft.measure, AggregatedMeasure)
        and draft.measure.function is Aggregation.SUM
    ]
    wrong = [
        (draft.measure.within, draft.measure.position)
        for name, draft in drafts
        if isinstance(draft.measure, AggregatedMeasure)
        and draft.measure.within not in (None, *(other for other in sums if other != name))
    ]
    for whole, position in wrong:
        message = f"'within' must name another sum of this formula, not {quoted(str(whole))}"
        problems.add(position, message, did_you_mean(str(whole), sums, ""))
    return not wrong


_AGGREGATE = {
    key: f"it measures one case; say how to combine the cases, e.g. {{mean: {{{key}: …}}}}"
    for key in ("time", "data")
} | {
    "count": "it measures one case; say how to combine the cases, e.g. {sum: {count: …}}",
    "condition": "it measures one case; for the share of such cases, write {share: {condition: …}}",
}

_MULTI: Tagged[Multi] = Tagged(
    "a measure of many cases",
    {
        "derive": Record(
            "a derived measure",
            (DERIVE,),
            _derived_multi,
            # `value` is the name of the result among the bounds of a PPI.
            entries=Entries("a variable", _LETTERS, MULTI, rf"^(?!derive$|value$){_VARIABLE}"),
        ),
        "mean": _aggregation(Aggregation.MEAN, "the average over the cases"),
        "sum": _aggregation(Aggregation.SUM, "the sum over the cases"),
        "min": _aggregation(Aggregation.MIN, "the smallest value of the cases"),
        "max": _aggregation(Aggregation.MAX, "the largest value of the cases"),
        "median": _aggregation(Aggregation.MEDIAN, "the value in the middle of the cases"),
        "percentile": _aggregation(Aggregation.PERCENTILE, "the value that percent lie below"),
        "share": _aggregation(Aggregation.SHARE, "the share of cases for which this is true"),
    },
    strangers=_AGGREGATE,
)
