"""Measures as a catalogue writes them, of one case and of many, and conditions on events.

A *test* is true or false of one event. A *condition* says at which events a test occurs; a
sequence of two such conditions is a condition as well. An *instant* of a case is where a time
starts or ends, or what puts a case into a period: an event that satisfies a condition, or the
start or end of the case. Each is written in its short form, if it has one.

Whether `derive` is about one case or about many depends on where it stands: under an aggregation
it is about one case, elsewhere about many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from pappi.errors import DefinitionError, Problem
from pappi.ppinot.expressions import (
    MAX_SUGGESTED,
    TRANSITION_ATTRIBUTE,
    Binary,
    Expression,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
    is_activity,
    is_transition,
    names_in,
    undefined_variables,
    with_article,
)
from pappi.ppinot.grammar import parse_expression, render
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Grouping,
    Instant,
    Missing,
    Moment,
    MultiInstance,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    measure_kind,
    misplaced_parts,
    time_problem,
)
from pappi.ppinot.notations.document import Bare, Literal, MapNode, Node, Problems, ScalarNode
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    DISTRIBUTION_LIMITS,
    TIME_UNIT,
    WrittenBounds,
    limits_of,
    written_limits,
)
from pappi.ppinot.notations.shapes import (
    ByForm,
    Entries,
    Field,
    ListOf,
    Named,
    Parts,
    Record,
    Shape,
    Tagged,
    Then,
    Values,
    Written,
    attributes_read,
    attributes_said,
    one_word_of,
    record_of,
    words_of,
)
from pappi.values import (
    CaseBorder,
    Kind,
    WorkingCalendar,
    did_you_mean,
    listed,
    parse_calendar,
    quoted,
)

# === conditions on events ==============================================================

# --- expressions ----------------------------------------------------------------------


def _parse(node: ScalarNode, problems: Problems) -> Expression | None:
    try:
        return parse_expression(node.text, node.origin)
    except DefinitionError as error:
        problems.extend([_explained(problem, node) for problem in error.problems])
        return None


def _explained(problem: Problem, node: ScalarNode) -> Problem:
    """The problem, with a hint at what YAML did to the text if that is the likely cause."""
    text = node.text
    is_cut_off = text.count("(") > text.count(")") or text.count("[") > text.count("]")
    if node.plain and node.in_braces and is_cut_off:
        hint = "inside { } a comma ends a text: put the whole expression in quotes"
    elif re.fullmatch(r"[\w\- ]+", text):
        hint = f"for an activity, write {{activity: {text.strip()}}}"
    else:
        return problem
    return replace(problem, hint=hint)


def _formula_text(expression: Expression) -> str:
    text = render(expression)
    return Literal(text) if isinstance(expression, TruthLiteral) else text


FORMULA: Written[Expression] = Written(
    "a formula",
    _parse,
    example="100 * a / b",
    types=("string", "number", "boolean"),
    text=_formula_text,
)

# --- tests of one event ---------------------------------------------------------------


def activity_in(test: Expression | None) -> str | None:
    """The activity that a test asks for and nothing else."""
    match test:
        case Binary(right=TextLiteral(name)) if _is_stripped(name) and is_activity(name) == test:
            return name
    return None


def transition_in(test: Expression) -> str | None:
    """The transition that a test asks for and nothing else."""
    match test:
        case Binary(right=TextLiteral(way)) | OneOf(choices=(TextLiteral(way), *_)):
            return way if _is_stripped(way) and is_transition(way) == test else None
    return None


def _is_stripped(text: str) -> bool:
    return bool(text) and text == text.strip()


_TESTS_ACTIVITY: Written[Expression] = Written(
    "an activity",
    lambda node, _: is_activity(node.text.strip(), node.position),
    example="Pay claim",
    text=activity_in,
)
_TESTS_TRANSITION: Written[Expression] = Written(
    "a transition",
    lambda node, _: is_transition(node.text.strip(), position=node.position),
    example="complete",
    text=transition_in,
)

ACTIVITY: Field[Expression] = Field("activity", _TESTS_ACTIVITY, "the activity", required=True)
TRANSITION: Field[Expression] = Field(
    "transition",
    _TESTS_TRANSITION,
    f"the transition of the activity's life cycle ({TRANSITION_ATTRIBUTE}), in upper or lower case",
    required=True,
)
OF_TRANSITION: Field[Expression] = Field("transition", _TESTS_TRANSITION, TRANSITION.doc)


def _test_of_activity(values: Values, _: Problems) -> Expression:
    is_it, transition = values[ACTIVITY], values.get(OF_TRANSITION)
    if transition is None:
        return is_it
    return Binary(Operator.AND, is_it, transition, position=values.position)


def _activity_parts(test: Expression) -> Parts | None:
    if activity_in(test) is not None:
        return {ACTIVITY: test}
    match test:
        case Binary(Operator.AND, left, right) if activity_in(left) and transition_in(right):
            return {ACTIVITY: left, OF_TRANSITION: right}
    return None


_TESTS: dict[str, Record[Expression]] = {
    "activity": Record(
        "a test of an event", (ACTIVITY, OF_TRANSITION), _test_of_activity, parts=_activity_parts
    ),
    "transition": Record(
        "a test of an event",
        (TRANSITION,),
        lambda values, _: values[TRANSITION],
        parts=lambda test: {TRANSITION: test} if transition_in(test) else None,
    ),
}
_TEXT_TYPES = ("string", "boolean")
_TEST_EXAMPLE = 'activity == "Pay claim"'


def _test_text(what: str) -> Written[Expression]:
    return Written(what, _parse, example=_TEST_EXAMPLE, types=_TEXT_TYPES, text=_formula_text)


_TEST: ByForm[Expression] = ByForm(
    "a test of an event",
    text=_test_text("a test of an event"),
    mapping=Tagged("a test of an event", _TESTS),
    mapping_first=True,
)
TEST: Named[Expression] = Named("test", lambda: _TEST)

# --- conditions on events -------------------------------------------------------------

_WRITTEN_WHEN: Field[Expression] = Field("when", FORMULA, "the condition", required=True)
OCCURRENCE = Field(
    "occurrence",
    one_word_of("'every' or 'onset'", words_of(Occurrence)),
    "at every event where it holds (the default), or only where it did not hold just before",
)
AMONG_EVENTS: Field[Expression] = Field("among", TEST, "considers only events that satisfy this")
_OPTIONS = {"occurrence": OCCURRENCE, "among": AMONG_EVENTS}


def _tested(record: Record[Expression]) -> Record[Occurs]:
    """A test as a condition, which has more to say."""

    def build(values: Values, problems: Problems) -> Occurs | None:
        test = record.build(values, problems)
        return None if test is None else Occurs(test, **attributes_read(values, **_OPTIONS))

    def parts(condition: Moment) -> Parts | None:
        if not isinstance(condition, Occurs):
            return None
        test = record.parts(condition.condition)
        return None if test is None else {**test, **attributes_said(condition, **_OPTIONS)}

    return Record("a condition", (*record.fields, *_OPTIONS.values()), build, parts=parts)


def _when_parts(condition: Moment) -> Parts | None:
    """With options only: without them, the text says it."""
    options = attributes_said(condition, **_OPTIONS) if isinstance(condition, Occurs) else {}
    return _WHEN.parts(condition) if options else None


_WHEN = record_of("a condition", Occurs, condition=_WRITTEN_WHEN, **_OPTIONS)
_OCCURS_RECORDS: dict[str, Record[Occurs]] = {
    **{tag: _tested(record) for tag, record in _TESTS.items()},
    "when": replace(_WHEN, parts=_when_parts),
}
_OCCURS_TEXT: Then[Expression, Occurs] = Then(
    _test_text("a condition on events"), Occurs, lambda condition: condition.condition
)
_OCCURS: ByForm[Occurs] = ByForm(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged(
        "a condition on events",
        _OCCURS_RECORDS,
        strangers={"sequence": "a sequence has two steps, and neither can be a sequence"},
    ),
    mapping_first=True,
)
OCCURS: Named[Occurs] = Named("occurrence", lambda: _OCCURS)

SEQUENCE = Field(
    "sequence",
    ListOf("a list of two conditions", OCCURS, least=2, most=2),
    "the events where the second condition occurs after the first",
    required=True,
)
ORDER = Field(
    "order",
    one_word_of("how the second comes after the first", words_of(Order)),
    "follows: at the very next event; leads to: at any later event; leads to cyclically: at the "
    "next later one, where each first is matched only once",
    required=True,
)


def _sequence_parts(condition: Moment) -> Parts | None:
    if not isinstance(condition, EventSequence):
        return None
    return {SEQUENCE: (condition.first, condition.then), ORDER: condition.order}


CONDITION_RECORDS: dict[str, Record[EventCondition]] = {
    **_OCCURS_RECORDS,
    "sequence": Record(
        "a sequence",
        (SEQUENCE, ORDER),
        lambda values, _: EventSequence(values[SEQUENCE][0], values[SEQUENCE][1], values[ORDER]),
        parts=_sequence_parts,
    ),
}
_CONDITION: ByForm[EventCondition] = ByForm(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged("a condition on events", CONDITION_RECORDS),
    mapping_first=True,
)
CONDITION: Named[EventCondition] = Named("condition", lambda: _CONDITION)


# --- instants of a case ---------------------------------------------------------------


def instant_of(moment: Moment, pick: Pick, usual: Pick) -> Instant:
    """An instant to write: which of several is meant goes without saying if it is the usual one."""
    unsaid = pick is usual or isinstance(moment, CaseBorder)
    return Instant(moment, None if unsaid else pick)


def _instant(node: ScalarNode, problems: Problems) -> Instant | None:
    words = " ".join(node.text.lower().split())
    if words in tuple(CaseBorder):
        return Instant(CaseBorder(words))
    test = _parse(node, problems)
    return None if test is None else Instant(Occurs(test))


def _picked(pick: Pick) -> Record[Instant]:
    doc = f"the {pick} event that satisfies this"
    which: Field[EventCondition] = Field(pick.value, CONDITION, doc, required=True)
    return Record(
        "an instant",
        (which,),
        lambda values, _: Instant(values[which], pick),
        parts=lambda instant: {which: instant.moment} if instant.pick is pick else None,
    )


def _at_each(record: Record[EventCondition]) -> Then[EventCondition, Instant]:
    """A condition as an instant, which of several left open."""
    named = replace(record, what="an instant")
    return Then(named, Instant, lambda instant: None if instant.pick else instant.moment)


def _instant_text(instant: Instant) -> str | None:
    match instant.moment:
        case CaseBorder() as border:
            return Bare(border)
        case Occurs(condition=test):
            return _formula_text(test)
        case _:
            return None


_INSTANTS: Tagged[Instant] = Tagged(
    "an instant",
    {
        **{tag: _at_each(record) for tag, record in CONDITION_RECORDS.items()},
        **{pick.value: _picked(pick) for pick in Pick},
    },
)
_INSTANT: ByForm[Instant] = ByForm(
    "an instant",
    text=Written(
        "an instant: case start, case end or a condition on events",
        _instant,
        example="case start",
        types=("string", "boolean"),
        text=_instant_text,
    ),
    mapping=_INSTANTS,
    mapping_first=True,
)
INSTANT: Named[Instant] = Named("instant", lambda: _INSTANT)


# === what a measure is written with ===================================================

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class WrittenMeasure(Generic[M]):
    """A measure, with what was written inside it but belongs to the whole PPI.

    `units` are those of its time measures; `bounds` those of its aggregations,
    by the path of variables that leads to them ("" for the measure itself).
    """

    measure: M
    units: tuple[ScalarNode, ...] = ()
    bounds: Mapping[str, WrittenBounds] = field(default_factory=dict)


Single = WrittenMeasure[SingleInstance]
Multi = WrittenMeasure[MultiInstance]

# --- formulas over variables that stand beside them -----------------------------------

DERIVE: Field[Expression] = Field(
    "derive", FORMULA, "a formula over the variables defined next to it", required=True
)


def variables(shape: Shape[M], *taken: str) -> Entries[M]:
    """Entries for the variables of a formula; the words `taken` mean something else there."""
    hint = f"use letters, digits and _; {listed(taken, 'and')} are taken"
    others = "|".join(f"{word}$" for word in taken)
    return Entries("a variable", hint, shape, rf"^(?!{others})[A-Za-z_][A-Za-z0-9_]*$")


def variables_match(values: Values, problems: Problems) -> bool:
    """Whether the formula uses exactly the variables beside it, and they are all sound."""
    formula = values[DERIVE]
    defined = {key.text: key for key, _ in values.named}
    undefined = undefined_variables(formula, defined, "define it next to 'derive'")
    problems.extend(undefined)
    if undefined:
        return False
    used = names_in(formula)
    unused = [key for text, key in defined.items() if text not in used]
    for key in unused:
        problems.add(key.position, f"the formula does not use the variable {quoted(key.text)}")
    return not unused and all(written for _, written in values.named)


def _derived_parts(written: WrittenMeasure[Any]) -> Parts | None:
    measure = written.measure
    if not isinstance(measure, DerivedSingleInstance | DerivedMultiInstance):
        return None
    missing = measure.missing if isinstance(measure, DerivedSingleInstance) else None
    parts: dict[Field[Any] | str, Any] = {DERIVE: measure.formula, MISSING: missing}
    return parts | {name: WrittenMeasure(inner) for name, inner in measure.variables}


# --- working calendars ----------------------------------------------------------------
#
# Written where they are used, or named once for the whole catalogue.

_HOURS_EXAMPLE = "Mon-Fri 09:00-17:00"
# These words are calendars already, or nearly.
NAME_PATTERN = r"^(?!always$|closed$)[A-Za-z][A-Za-z0-9_\-]{0,63}$"


def _described(node: ScalarNode, problems: Problems) -> WorkingCalendar | None:
    try:
        return parse_calendar(node.text)
    except ValueError as error:
        hint = f"write e.g. {_HOURS_EXAMPLE}; except holidays in ES"
        problems.add(node.position, f"this is not a calendar: {error}", hint)
        return None


def _named_or_described(node: ScalarNode, problems: Problems) -> WorkingCalendar | None:
    name, known = node.text.strip(), problems.calendars
    if not re.search(NAME_PATTERN, name):
        return _described(node, problems)
    if name not in known:
        named = f"the calendars are {listed(known, 'and')}" if known else "name it in 'calendars'"
        hint = did_you_mean(
            name, islice(known, MAX_SUGGESTED), f"{named}, or write e.g. {_HOURS_EXAMPLE}"
        )
        problems.add(node.position, f"unknown calendar {quoted(name)}", hint)
    return known.get(name)


_CALENDAR_TEXT = Written("a calendar", _described, example=_HOURS_EXAMPLE)
CALENDAR = Field(
    "calendar",
    Written("a calendar, or the name of one", _named_or_described, example=_HOURS_EXAMPLE),
    "counts working time only: hours as in Mon-Fri 09:00-17:00, or the name of a calendar",
)


CALENDARS = Field(
    "calendars",
    Record(
        "the calendars",
        (),
        lambda values, _: {key.text: calendar for key, calendar in values.named},
        entries=Entries(
            "a calendar's name",
            "use letters, digits, - and _, starting with a letter",
            _CALENDAR_TEXT,
            NAME_PATTERN,
        ),
    ),
    "working calendars by name, for time measures",
)


def named_calendars(root: Node) -> Mapping[str, WorkingCalendar | None]:
    """The calendars a catalogue names; what is wrong with them is reported when it is read."""
    node = root.get(CALENDARS.key) if isinstance(root, MapNode) else None
    if not isinstance(node, MapNode):
        return {}
    return CALENDARS.shape.read(node, Problems()) or {}


# === measures of one case =============================================================

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
    one_word_of("what to do with several cycles", words_of(Cycles)),
    "each start and the next end make a cycle; this says how the cycles of a case are combined",
)
OPEN = Field(
    "open",
    one_word_of("'left out' or 'no value'", words_of(OpenCycle)),
    "what happens if a cycle never ends: it is left out, or the case has no value; left out if "
    "not given",
)
WHILE: Field[Expression] = Field(
    "while", TEST, "the clock runs only from an event that satisfies this to the next event"
)


def _ends_fit(values: Values, problems: Problems) -> bool:
    start, end, running = values[START].moment, values[END].moment, values.get(WHILE)
    message, hint = time_problem(start, end, values.get(CYCLES), running)
    if message:
        is_start = isinstance(start, CaseBorder) and end is not CaseBorder.START
        border = START if is_start else END if isinstance(end, CaseBorder) else WHILE
        problems.add(values.place(border), message, hint)
    return not message


def _options_fit(values: Values, problems: Problems) -> bool:
    """Cycles take every instant; without them none can stay open."""
    picked = [end for end in (START, END) if values[end].pick is not None]
    if values.get(CYCLES) is None:
        if values.get(OPEN) is not None:
            problems.add(values.place(OPEN), "'open' applies to cycles only", "add 'cycles'")
        return values.get(OPEN) is None
    if picked:
        message = "with cycles, every instant counts, not just the first or the last"
        hint = "write the condition alone, or remove 'cycles'"
        problems.add(values.place(picked[0]), message, hint)
    return not picked


_CLOCK = {"cycles": CYCLES, "open_cycle": OPEN, "running": WHILE, "calendar": CALENDAR}


def _time_between(values: Values, problems: Problems) -> TimeMeasure | None:
    start, end = values[START], values[END]
    fits = [_ends_fit(values, problems), _options_fit(values, problems)]
    if not all(fits):
        return None
    picks = start.pick or Pick.FIRST, end.pick or Pick.LAST
    return TimeMeasure(start.moment, end.moment, *picks, **attributes_read(values, **_CLOCK))


def _time_parts(measure: TimeMeasure) -> Parts:
    return {
        START: instant_of(measure.start, measure.start_pick, Pick.FIRST),
        END: instant_of(measure.end, measure.end_pick, Pick.LAST),
        **attributes_said(measure, **_CLOCK),
    }


TIME = Field(
    "time",
    Record(
        "a time measure",
        (START, END, *_CLOCK.values()),
        _time_between,
        parts=_time_parts,
    ),
    "the time between two instants of the case",
    required=True,
)
SHOWN_IN = Field("unit", TIME_UNIT, "the unit of time to show: hours if not given")


# --- attributes -----------------------------------------------------------------------

NAME = Field(
    "attribute",
    Written("an attribute", lambda node, _: node.text.strip(), example="amount"),
    "the attribute",
    required=True,
)
PICK = Field(
    "pick",
    one_word_of("'first' or 'last'", words_of(Pick)),
    "at the first or the last event that carries the attribute; last if not given",
)
WHEN: Field[EventCondition] = Field("when", CONDITION, "only events that satisfy this")


DATA = Field(
    "data",
    ByForm(
        "an attribute",
        text=Written(
            "an attribute",
            lambda node, _: DataMeasure(node.text.strip(), position=node.position),
            example="amount",
            text=lambda data: data.attribute if data == DataMeasure(data.attribute) else None,
        ),
        mapping=record_of("a data measure", DataMeasure, attribute=NAME, pick=PICK, when=WHEN),
    ),
    "the value of an attribute of the case",
    required=True,
)

# --- states ---------------------------------------------------------------------------

HOLDS: Field[Expression] = Field(
    "is", TEST, "the condition that must hold at that event", required=True
)
OF: Field[Expression] = Field(
    "of", TEST, "looks at the last event that satisfies this; at the last of the case if not given"
)


_STATE = record_of("a state", StateMeasure, of=OF, holds=HOLDS)


def _state_parts(state: StateMeasure) -> Parts | None:
    """Not for what has the short form: an activity, and the transition it is in."""
    return None if activity_in(state.of) and transition_in(state.holds) else _STATE.parts(state)


STATE = Field(
    "state",
    Tagged(
        "a state",
        {
            "is": replace(_STATE, parts=_state_parts),
            "activity": record_of("a state", StateMeasure, of=ACTIVITY, holds=TRANSITION),
        },
        strangers={"of": "say what must hold: {of: …, is: …}"},
    ),
    "whether a condition holds at the last event of a kind, such as the state of an activity",
    required=True,
)

# --- formulas -------------------------------------------------------------------------

MISSING = Field(
    "missing",
    one_word_of("'true', 'false' or 'left out'", words_of(Missing)),
    "the result of the formula for a case where a variable has no value",
)


def _derived_case(values: Values, problems: Problems) -> Single | None:
    if not variables_match(values, problems):
        return None
    inner: list[tuple[str, Single]] = [(key.text, written) for key, written in values.named]
    measure = DerivedSingleInstance(
        values[DERIVE],
        tuple((name, written.measure) for name, written in inner),
        values.get(MISSING),
    )
    if not _missing_fits(measure, values, problems):
        return None
    return WrittenMeasure(measure, tuple(unit for _, written in inner for unit in written.units))


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
        "an aggregation combines many cases, but a measure of one case is needed here; "
        "write count, time, data, condition, state or derive"
    )
    for function in Aggregation
}


def _of_one_case(record: Record[SingleInstance]) -> Then[SingleInstance, Single]:
    return Then(record, WrittenMeasure, lambda written: written.measure)


def _alone(
    what: str, measure: Field[Any], kind: type[SingleInstance], *unit: Field[ScalarNode]
) -> Record[Single]:
    """A record with one field, which is the measure, and perhaps the unit to show it in."""

    def build(values: Values, _: Problems) -> Single:
        units = tuple(label for field in unit if (label := values.get(field)))
        return WrittenMeasure(values[measure], units)

    def parts(written: Single) -> Parts | None:
        return {measure: written.measure} if isinstance(written.measure, kind) else None

    return Record(what, (measure, *unit), build, parts=parts)


_SINGLE: Tagged[Single] = Tagged(
    "a measure of one case",
    {
        "derive": Record(
            "a derived measure",
            (DERIVE, MISSING),
            _derived_case,
            entries=variables(SINGLE, "derive", "missing"),
            parts=_derived_parts,
        ),
        "count": _of_one_case(record_of("a count", CountMeasure, when=COUNT)),
        "time": _alone("a time measure", TIME, TimeMeasure, SHOWN_IN),
        "data": _alone("a data measure", DATA, DataMeasure),
        "condition": _of_one_case(record_of("a condition", ConditionMeasure, when=IS_SO)),
        "state": _alone("a state", STATE, StateMeasure),
    },
    strangers=_AGGREGATE_FIRST,
)


# === measures of many cases ===========================================================

MULTI: Named[Multi] = Named("measure", lambda: _MULTI)

WHERE = Field("where", SINGLE, "only cases for which this is true")
AMONG = Field("among", SINGLE, "the cases that make up the whole: those for which this is true")
CASE_BOUNDS = Field(
    "bounds",
    BOUNDS,
    "the public clipping bounds on what one case contributes: "
    "[low, high], [low, high, loose] or private",
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
    Written(
        "a percentage",
        _percent,
        example="90",
        pattern=r"^\d{1,2}$",
        types=("integer",),
        text=Literal,
    ),
    "the percentage of cases that lie below, from 1 to 99",
    required=True,
)

# --- groups ---------------------------------------------------------------------------


GROUPS = Field(
    "values",
    ListOf(
        "a list of values",
        Written(
            "a value",
            lambda node, _: node,
            example="phone",
            types=("string", "number", "boolean"),
        ),
    ),
    "the public partitions: every value listed here is a group that is answered, and no other is",
    required=True,
    once="keys",
)


def _grouping(values: Values, problems: Problems) -> Grouping | None:
    keys: dict[str, None] = {}
    for key in values[GROUPS]:
        if key.text in keys:
            problems.add(key.position, f"the value {quoted(key.text)} appears twice")
            return None
        keys[key.text] = None
    return Grouping(values[DATA], tuple(keys))


BY = Field(
    "by",
    Record(
        "a grouping",
        (DATA, GROUPS),
        _grouping,
        parts=lambda grouping: {DATA: grouping.by, GROUPS: grouping.keys},
    ),
    "one result per group; the groups are public partitions, listed as values",
)

# --- aggregations ---------------------------------------------------------------------

LIMITS = Field(
    "limits",
    DISTRIBUTION_LIMITS,
    "where the bins of the distribution end, in rising order; chosen for you if left out",
)


_COUNTED: ByForm[Single] = ByForm(
    "'cases', or a measure of one case",
    text=one_word_of("'cases'", {"cases": WrittenMeasure(EVERY_CASE)}),
    mapping=SINGLE,
)


def _aggregation(function: Aggregation, doc: str, *own: Field[Any]) -> Record[Multi]:
    """An aggregation; `own` are the fields that no other has."""
    counts = function is Aggregation.COUNT
    shape: Shape[Single] = _COUNTED if counts else SINGLE
    base = Field("number" if counts else function.value, shape, doc, required=True)
    bounds = () if counts else (CASE_BOUNDS,)
    among = tuple(field for field in own if field is AMONG)
    others = tuple(field for field in own if field is not AMONG)

    def build(values: Values, problems: Problems) -> Multi | None:
        condition = values.get(AMONG) or values.get(WHERE)
        on_case = values[base].measure
        limits = limits_of(values.get(LIMITS) or (), measure_kind(on_case, None), problems)
        if limits is None:
            return None
        measure = AggregatedMeasure(
            function,
            on_case,
            condition.measure if condition else None,
            **attributes_read(values, grouping=BY, within=WITHIN, percent=PERCENT),
            limits=limits,
            position=values.position,
        )
        bounds = values.get(CASE_BOUNDS)
        units = () if counts else values[base].units
        return WrittenMeasure(measure, units, {} if bounds is None else {"": bounds})

    def parts(written: Multi) -> Parts | None:
        measure = written.measure
        if not isinstance(measure, AggregatedMeasure) or measure.function is not function:
            return None
        condition = AMONG if among else WHERE
        return {
            base: WrittenMeasure(measure.base),
            PERCENT: measure.percent,
            LIMITS: written_limits(measure.limits, measure_kind(measure.base, None)) or None,
            condition: None if measure.filter is None else WrittenMeasure(measure.filter),
            BY: measure.grouping,
            WITHIN: measure.within,
            CASE_BOUNDS: written.bounds.get(""),
        }

    return Record(
        "a number of cases" if counts else f"a {function}",
        (base, *among, WHERE, BY, *bounds, *others),
        build,
        at_most_one=(*among, WHERE) if among else (),
        parts=parts,
    )


# --- formulas -------------------------------------------------------------------------


def _derived_value(values: Values, problems: Problems) -> Multi | None:
    if not variables_match(values, problems):
        return None
    if not values.named:
        problems.add(values.position, "a derived measure needs a variable to derive from")
        return None
    inner: list[tuple[str, Multi]] = [(key.text, written) for key, written in values.named]
    variables = tuple((name, written.measure) for name, written in inner)
    misplaced = list(misplaced_parts(variables))
    for _, measure, whole, sums in misplaced:
        message = f"'within' must name another sum of this formula, not {quoted(whole)}"
        problems.add(measure.position, message, did_you_mean(whole, sums))
    if misplaced:
        return None
    units = tuple(unit for _, written in inner for unit in written.units)
    bounds = {
        f"{name}.{path}".rstrip("."): bounds
        for name, written in inner
        for path, bounds in written.bounds.items()
    }
    return WrittenMeasure(DerivedMultiInstance(values[DERIVE], variables), units, bounds)


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
            _derived_value,
            # `value` is the name of the result among the bounds of a PPI.
            entries=variables(MULTI, "derive", "value"),
            parts=_derived_parts,
        ),
        "mean": _aggregation(Aggregation.MEAN, "the average over the cases"),
        "sum": _aggregation(Aggregation.SUM, "the sum over the cases", WITHIN),
        "min": _aggregation(Aggregation.MIN, "the smallest value of the cases"),
        "max": _aggregation(Aggregation.MAX, "the largest value of the cases"),
        "median": _aggregation(Aggregation.MEDIAN, "the middle value of the cases"),
        "percentile": _aggregation(
            Aggregation.PERCENTILE,
            "the value below which the given percentage of cases lies",
            PERCENT,
        ),
        "distribution": _aggregation(
            Aggregation.DISTRIBUTION,
            "how many cases lie in each of some bins, with the median and other percentiles",
            LIMITS,
        ),
        "share": _aggregation(
            Aggregation.SHARE, "the share of cases for which this is true", AMONG
        ),
        "number": _aggregation(
            Aggregation.COUNT, "the number of cases, or of those that have a value of this measure"
        ),
    },
    strangers=_AGGREGATE,
)
