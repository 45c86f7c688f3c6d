"""Measures of one case as they are written."""

from __future__ import annotations

from pappi.ppinot.catalogue.calendars import CALENDAR
from pappi.ppinot.catalogue.conditions import (
    ACTIVITY,
    ATTRIBUTE,
    CONDITION,
    TEST,
    TRANSITION,
    is_activity,
    is_transition,
)
from pappi.ppinot.catalogue.formulas import DERIVE, Draft, Single, variables, variables_match
from pappi.ppinot.catalogue.instants import INSTANT, Instant
from pappi.ppinot.catalogue.quantities import TIME_UNIT
from pappi.ppinot.catalogue.shapes import (
    Field,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.expressions.kinds import with_article
from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    Aggregation,
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
    Missing,
    OpenCycle,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.vocabulary import Kind

SINGLE: Named[Single] = Named("caseMeasure", lambda: _SINGLE)

# --- counts and conditions ------------------------------------------------------------

COUNT: Field[EventCondition] = Field(
    "count", CONDITION, "how many events of the case satisfy this", required=True
)
IS_SO: Field[EventCondition] = Field(
    "condition", CONDITION, "whether some event of the case satisfies this", required=True
)

# --- times ----------------------------------------------------------------------------

START = Field("from", INSTANT, "the first of these instants starts the clock", required=True)
END = Field("to", INSTANT, "the last of these instants stops the clock", required=True)
CYCLES = Field(
    "cycles",
    one_word_of("what to do with several cycles", {cycles.value: cycles for cycles in Cycles}),
    "every start and the next end make a cycle, of which this is taken in each case",
)
OPEN = Field(
    "open",
    one_word_of("'left out' or 'no value'", {each.value: each for each in OpenCycle}),
    "what a cycle does that never ends: it is left out, or the case has no value; left out if "
    "not given",
)
WHILE: Field[Expression] = Field(
    "while", TEST, "the clock runs only after events that satisfy this, each up to the next event"
)

_SWAP = "swap 'from' and 'to'"


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


def _options_fit(values: Values, problems: Problems) -> bool:
    """Cycles take every instant and no stopped clock; without them none can stay open."""
    picked = next((each for each in (values[START], values[END]) if each.pick is not None), None)
    if values.get(CYCLES) is None:
        if values.get(OPEN) is not None:
            problems.add(values.place(OPEN), "'open' is about cycles", "add 'cycles'")
        return values.get(OPEN) is None
    if picked is not None:
        message = "with cycles every instant counts, not the first or the last"
        problems.add(picked.position, message, "write the condition alone, or remove 'cycles'")
    if values.get(WHILE) is not None:
        problems.add(values.place(WHILE), "a clock that stops makes no cycles", "remove one")
    return picked is None and values.get(WHILE) is None


def _time_between(values: Values, problems: Problems) -> TimeMeasure | None:
    start, end, cycles = values[START], values[END], values.get(CYCLES)
    fits = [_borders_fit(start, end, cycles, problems), _options_fit(values, problems)]
    if not all(fits):
        return None
    return TimeMeasure(
        start.moment,
        end.moment,
        start.pick or Pick.FIRST,
        end.pick or Pick.LAST,
        cycles,
        values.get(OPEN) or OpenCycle.LEFT_OUT,
        values.get(WHILE),
        values.get(CALENDAR),
    )


TIME = Field(
    "time",
    Record("a time measure", (START, END, CYCLES, OPEN, WHILE, CALENDAR), _time_between),
    "the time between two instants of the case",
    required=True,
)
SHOWN_IN = Field("unit", TIME_UNIT, "the unit of time to show: hours if not given")


def _time(values: Values, _: Problems) -> Single:
    unit = values.get(SHOWN_IN)
    return Draft(values[TIME], () if unit is None else (unit,))


# --- attributes -----------------------------------------------------------------------

NAME = Field("attribute", ATTRIBUTE, "the attribute", required=True)
PICK = Field(
    "pick",
    one_word_of("'first' or 'last'", {pick.value: pick for pick in Pick}),
    "at the first or the last event that carries the attribute; last if not given",
)
WHEN: Field[EventCondition] = Field("when", CONDITION, "only events that satisfy this")


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

# --- states ---------------------------------------------------------------------------

HOLDS: Field[Expression] = Field("is", TEST, "what has to be so at that event", required=True)
OF: Field[Expression] = Field(
    "of", TEST, "the last event that satisfies this; of the case if not given"
)


def _state_of_activity(values: Values, _: Problems) -> StateMeasure:
    return StateMeasure(is_transition(*values[TRANSITION]), is_activity(*values[ACTIVITY]))


STATE = Field(
    "state",
    Tagged(
        "a state",
        {
            "is": Record(
                "a state",
                (OF, HOLDS),
                lambda values, _: StateMeasure(values[HOLDS], values.get(OF)),
            ),
            "activity": Record("a state", (ACTIVITY, TRANSITION), _state_of_activity),
        },
        strangers={"of": "say what has to be so: {of: …, is: …}"},
    ),
    "whether something is so at the last event of a sort: in what state an activity is",
    required=True,
)

# --- formulas -------------------------------------------------------------------------

MISSING = Field(
    "missing",
    one_word_of("'true', 'false' or 'left out'", {each.value: each for each in Missing}),
    "what the formula gives in a case in which a variable has no value",
)


def _derived(values: Values, problems: Problems) -> Single | None:
    if not variables_match(values, problems):
        return None
    drafts: list[tuple[str, Single]] = [(key.text, draft) for key, draft in values.named]
    measure = DerivedSingleInstance(
        values[DERIVE],
        tuple((name, draft.measure) for name, draft in drafts),
        values.get(MISSING),
    )
    if not _missing_fits(measure, values, problems):
        return None
    return Draft(measure, tuple(unit for _, draft in drafts for unit in draft.units))


def _missing_fits(measure: DerivedSingleInstance, values: Values, problems: Problems) -> bool:
    if measure.missing in (None, Missing.LEFT_OUT):
        return True
    kind = measure_kind(measure, None)
    if kind is None or kind is Kind.TRUTH:
        return True
    message = f"this formula gives {with_article(kind)}, which is never {measure.missing}"
    problems.add(values.place(MISSING), message, "write 'left out'")
    return False


_AGGREGATE_FIRST = {
    ("number" if function is Aggregation.COUNT else function.value): (
        "an aggregation combines many cases, and here a measure of one case stands; "
        "write count, time, data, condition, state or derive"
    )
    for function in Aggregation
}

_SINGLE: Tagged[Single] = Tagged(
    "a measure of one case",
    {
        "derive": Record(
            "a derived measure",
            (DERIVE, MISSING),
            _derived,
            entries=variables(SINGLE, "derive", "missing"),
        ),
        "count": Record("a count", (COUNT,), lambda values, _: Draft(CountMeasure(values[COUNT]))),
        "time": Record("a time measure", (TIME, SHOWN_IN), _time),
        "data": Record("a data measure", (DATA,), lambda values, _: Draft(values[DATA])),
        "condition": Record(
            "a condition", (IS_SO,), lambda values, _: Draft(ConditionMeasure(values[IS_SO]))
        ),
        "state": Record("a state", (STATE,), lambda values, _: Draft(values[STATE])),
    },
    strangers=_AGGREGATE_FIRST,
)
