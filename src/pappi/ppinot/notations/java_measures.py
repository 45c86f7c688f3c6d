"""Measures of PPINOT JSON, read and written: in Java's words where it has them.

An activity's state is entered at every event that says so; a state of data is entered where an
expression becomes true. A time measure of Java gives a number of its `unitOfMeasure`, milliseconds
if it names none. The same unit then is that of an aggregate over it, of its target and in formulas.
On any other measure `unitOfMeasure` is a label to show.

Fields of ours, where Java has no word:

condition    `occurrence`: every or onset, where the other one is meant; `among`: only events that
             satisfy this are looked at; `lifecycle`: any, at every event of the activity, whatever
             its transition; `element`: process or activity, where `appliesTo` could be either
time         `startPick` and `endPick` (first or last), `openCycle` (left out or no value)
derived      `typed`, if durations are durations and not numbers; `missing` (true, false or
             left out) for what a missing variable gives
aggregated   `percent`, `values` (the groups to answer), `within`, `bounds` and `limits`, these as
             in a catalogue; the aggregation may also be Share, Median, Percentile, Count or
             Distribution
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, cast

from pappi.errors import Position, UsageError
from pappi.ppinot.expressions import (
    NOWHERE,
    TRANSITION_ATTRIBUTE,
    Binary,
    Expression,
    Name,
    Operator,
    TruthLiteral,
    activity_of,
    both,
    height,
    in_numbers,
    is_activity,
    is_transition,
    out_of_numbers,
    undefined_variables,
)
from pappi.ppinot.grammar import MAX_DEPTH, SIGNS, is_too_large, render
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Anchor,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Grouping,
    Measure,
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
    usual_unit,
)
from pappi.ppinot.notations.document import ListNode, MapNode, Node, ScalarNode
from pappi.ppinot.notations.java_fields import Context, Fields, json_value, present
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    DISTRIBUTION_LIMITS,
    Shown,
    limits_of,
    with_bounds,
    written_limits,
)
from pappi.ppinot.notations.shapes import Json, words_of
from pappi.values import (
    DURATIONS,
    FRACTION,
    HOURS,
    PERCENT,
    CaseBorder,
    Kind,
    Unit,
    Week,
    Window,
    WorkingCalendar,
    did_you_mean,
    duration_unit,
    listed,
    parse_calendar,
    quoted,
)

# === conditions on events ==============================================================

# --- states ---------------------------------------------------------------------------
# States of activities, and the life-cycle transitions in a log that lead to them.
#
#     state                     Java's log types       here, as XES writes transitions
#     START                     ready, assign          ready, assign, start
#     END                       complete               complete
#     ACTIVE, EXECUTING         assign                 assign, start
#     COMPLETED                 complete               complete
#     WITHDRAWN, FAILED,        complete               refused: a completion is none of these
#     DELETED, COMPENSATED
#     all other BPMN states     none                   refused: Java never reaches them
#
# Java stops at an event of the type `start`, so that counting it changes no value that Java
# gives. Logs write transitions in small letters, in capitals or with one capital.

GENERIC, BPMN = "genericState", "bpmnState"
DATA, COMPLEX = "dataObjectState", "complexState"
OF_DATA = "Data"

_STARTED, _DONE = ("assign", "start"), ("complete",)
_TRANSITIONS: dict[str, tuple[str, ...]] = {
    "START": ("ready", *_STARTED),
    "END": _DONE,
    "ACTIVE": _STARTED,
    "EXECUTING": _STARTED,
    "COMPLETED": _DONE,
}
_GENERIC = ("START", "END")
_COMPLETIONS = ("WITHDRAWN", "FAILED", "DELETED", "COMPENSATED")
_UNREACHED = ("READY", "COMPLETING", "FAILING", "TERMINATING", "TERMINATED", "COMPENSATING")
STATES = (*_TRANSITIONS, *_COMPLETIONS, *_UNREACHED)

_SAY_IT = (
    f'say it of the event itself: "dataObjectState": {{"name": "`{TRANSITION_ATTRIBUTE}` == …"}}'
)


def in_state(state: str, position: Position = NOWHERE) -> Expression:
    """What is true of an event by which an activity enters the state."""
    return is_transition(*_TRANSITIONS[state], position=position)


def read_state(fields: Fields, key: str) -> Expression | None:
    """What is true of an event that enters the generic or BPMN state of a wrapper object."""
    node = fields.scalar(key, "a state")
    if node is None:
        return None
    word, state = node.text.upper(), quoted(node.text)
    if word in _TRANSITIONS and fields.context.lifecycle:
        return in_state(word, node.position)
    if _TRANSITIONS.get(word) == _DONE:
        return TruthLiteral(value=True, position=node.position)
    if word in _TRANSITIONS:
        message = f"a log without a life cycle has no event for the state {state}"
        hint = f"events are completions there; {_SAY_IT}"
    elif word in _COMPLETIONS:
        message = f"Java PPINOT takes any completion for the state {state}"
        hint = f"write COMPLETED for that; or {_SAY_IT}"
    elif word in _UNREACHED:
        message, hint = f"Java PPINOT knows no event that enters the state {state}", _SAY_IT
    else:
        message, known = f"there is no state {state}", listed(_TRANSITIONS, "and")
        hint = did_you_mean(node.text, STATES, f"the states are {known}")
    fields.refuse(key, message, hint)
    return None


def state_in(expression: Expression) -> dict[str, str] | None:
    """The state of a test for its transitions, as a wrapper object."""
    for state in _TRANSITIONS:
        if expression == in_state(state):
            return {GENERIC if state in _GENERIC else BPMN: state}
    return None


INSTANT, PROPERTY, STATE = "TimeInstantCondition", "DataPropertyCondition", "StateCondition"
KINDS = (INSTANT, PROPERTY, STATE)

ORDERS = {
    "FOLLOWS": Order.FOLLOWS,
    "LEADSTO": Order.LEADS_TO,
    "LEADSTOCYCLIC": Order.LEADS_TO_CYCLICALLY,
}
_BORDERS = {"START": CaseBorder.START, "END": CaseBorder.END}
_STATES_OF_DATA = ("statesConsidered", "stateConsidered", "states")


def opened(fields: Fields, key: str, usual: str) -> tuple[str, Fields] | None:
    """The kind and the fields of a condition, written with `kind` or inside its name."""
    condition = fields.object(key, "a condition")
    if condition is None:
        return None
    match fields.get(key):
        case MapNode(entries=((name, _),)) if name.text in KINDS:
            kind, condition = name.text, condition.object(name.text, "a condition")
            if condition is None:
                return None
        case _:
            kind = condition.text("kind") or (PROPERTY if "restriction" in condition else usual)
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS, f"the kinds are {listed(KINDS, 'and')}")
        condition.refuse("kind", f"there is no condition of the kind {quoted(kind)}", hint)
        return None
    # Java wants to be told a data object, and a log has none: this is what we write there.
    condition.pass_over("appliesTo", OF_DATA)
    return kind, condition


def read_moment(fields: Fields, key: str, usual: str = INSTANT) -> Moment | None:
    """The instant or the events a condition is about; None with a problem, or if it is absent."""
    condition_of_kind = opened(fields, key, usual)
    if condition_of_kind is None:
        return None
    kind, condition = condition_of_kind
    if kind == INSTANT:
        return _instant(condition)
    if kind == PROPERTY:
        expression = read_property(condition)
        return None if expression is None else Occurs(expression)
    message = "a state that lasts cannot be the condition of an event"
    condition.refuse("kind", message, f"write a {INSTANT}, for when it is entered")
    return None


def read_events(fields: Fields, key: str, usual: str = INSTANT) -> EventCondition | None:
    """As `read_moment`, where the start and the end of a case cannot stand."""
    moment = read_moment(fields, key, usual)
    if isinstance(moment, CaseBorder):
        message = "the start or end of a case is not an event that can be used here"
        fields.refuse(key, message, "name an activity")
        return None
    return moment


def read_property(condition: Fields) -> Expression | None:
    """What is true of an event with a property of its data."""
    for key in _STATES_OF_DATA:
        if condition.filled(key):
            message = "a log does not record the state of a data object"
            condition.refuse(
                key, message, "write it as a condition on attributes, in 'restriction'"
            )
    condition.require("restriction", "a condition on data")
    return condition.expression("restriction")


def _instant(condition: Fields) -> Moment | None:
    condition.require("changesToState", "a time instant")
    state = condition.object("changesToState", "a state such as {'genericState': 'END'}")
    if state is None:
        return None
    if COMPLEX in state:
        return _sequence(condition, state)
    if DATA in state:
        entered = _state_of_data(state)
        return None if entered is None else _occurs(condition, entered, Occurrence.ONSET)
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    elements = {"process": True, "activity": False}
    is_named_process = condition.word("element", elements, "'process' or 'activity'")
    named = condition.text("appliesTo") in condition.context.processes
    is_process = named if is_named_process is None else is_named_process
    return (_of_process if is_process else _of_activity)(condition, state, key)


def _state_of_data(state: Fields) -> Expression | None:
    data = state.object(DATA, "a state such as {'name': 'amount > 100'}")
    if data is None:
        return None
    data.require("name", "a state of data")
    return data.expression("name")


def _of_process(condition: Fields, state: Fields, key: str) -> CaseBorder | None:
    if condition.filled("precondition"):
        message = "the start and the end of a case have no precondition"
        condition.refuse("precondition", message, "name an activity, or filter the cases")
    if key == GENERIC:
        return state.word(key, _BORDERS, "'START' or 'END'")
    state.refuse(key, "a log records only when a case starts and ends, not its state")
    return None


def _of_activity(condition: Fields, state: Fields, key: str) -> Occurs | None:
    condition.require("appliesTo", "a condition on an activity")
    activity = is_activity(condition.text("appliesTo"), condition.place("appliesTo"))
    if condition.word("lifecycle", {"any": True}, "'any'"):
        state.get(key)  # for Java alone: here every event of the activity counts
    else:
        entered = read_state(state, key)
        if entered is None:
            return None
        activity = activity if isinstance(entered, TruthLiteral) else both(activity, entered)
    return _occurs(condition, activity, Occurrence.EVERY)


def _occurs(condition: Fields, expression: Expression, usual: Occurrence) -> Occurs | None:
    occurrence = condition.word("occurrence", words_of(Occurrence), "'every' or 'onset'") or usual
    precondition = opened(condition, "precondition", PROPERTY)
    if precondition is not None:
        restriction = read_property(precondition[1])
        if occurrence is Occurrence.ONSET:
            message = "a precondition cannot be combined with a state that data enters"
            hint = "whether the state was entered here or before would depend on both"
            condition.refuse("precondition", message, hint)
        if restriction is None:
            return None
        expression = both(expression, restriction)
    return Occurs(expression, occurrence, condition.expression("among"))


def _sequence(condition: Fields, state: Fields) -> EventSequence | None:
    inner = state.object(COMPLEX, "two conditions and how they follow each other")
    if inner is None:
        return None
    if "precondition" in condition:
        hint = "put it into 'last'"
        condition.refuse("precondition", "a complex state has no precondition of its own", hint)
    for key in ("first", "last", "type"):
        inner.require(key, "a complex state")
    first, last = (_part(inner, key) for key in ("first", "last"))
    order = inner.word("type", ORDERS, "how one follows the other")
    if first is None or last is None or order is None:
        return None
    return EventSequence(first, last, order)


def _part(inner: Fields, key: str) -> Occurs | None:
    part = read_events(inner, key)
    if isinstance(part, EventSequence):
        inner.refuse(key, "a complex state cannot be part of another one")
        return None
    return part


def read_state_measure(fields: Fields) -> StateMeasure | None:
    """Whether an element is in a state at last: the condition of a measure of its own."""
    fields.require("condition", "a state condition measure")
    kind_and_fields = opened(fields, "condition", STATE)
    if kind_and_fields is None:
        return None
    condition = kind_and_fields[1]
    condition.require("state", "a state condition")
    state = condition.object("state", "a state such as {'genericState': 'END'}")
    if state is None:
        return None
    if DATA in state:
        holds = _state_of_data(state)
        return None if holds is None else StateMeasure(holds, condition.expression("of"))
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    condition.require("appliesTo", "a state condition")
    name = condition.text("appliesTo")
    if name in condition.context.processes:
        message = "a log does not record whether a case has ended"
        condition.refuse("appliesTo", message, "name an activity that ends it")
        return None
    holds = read_state(state, key)
    of = is_activity(name, condition.place("appliesTo"))
    return None if holds is None else StateMeasure(holds, of)


# --- expressions as Java can read them too, as far as it can --------------------------
# What only the grammar here has (`in (…)`, `is missing`, `90 days`) stays as it is.


def expression_text(expression: Expression) -> str:
    require_readable(expression)
    return render(expression, SIGNS)


def require_readable(expression: Expression) -> None:
    """UsageError for an expression, made by a program, that the grammar could not read."""
    if height(expression) > MAX_DEPTH:
        raise UsageError(f"an expression is more than {MAX_DEPTH} operations deep")


# --- writing --------------------------------------------------------------------------

_BORDER_STATES = {border: state for state, border in _BORDERS.items()}
_ORDERS = {order: word for word, order in ORDERS.items()}


def moment_json(moment: Moment, process: str) -> Json:
    """An instant of a time measure; `process` is what the process is called, if anything."""
    if not isinstance(moment, CaseBorder):
        return events_json(moment, process)
    element: Json = {} if process else {"element": "process"}
    state = {GENERIC: _BORDER_STATES[moment]}
    return _instant_json(process or "Process", state) | element


def events_json(condition: EventCondition, process: str) -> Json:
    if isinstance(condition, EventSequence):
        sequence = {
            "first": events_json(condition.first, process),
            "last": events_json(condition.then, process),
            "type": _ORDERS[condition.order],
        }
        return _instant_json(OF_DATA, {COMPLEX: sequence})
    written = _of_activity_json(condition, process)
    if written is None:
        written = _instant_json(OF_DATA, {DATA: {"name": expression_text(condition.condition)}})
        every = condition.occurrence is Occurrence.EVERY
        written |= {"occurrence": Occurrence.EVERY.value} if every else {}
    among = condition.among
    return written if among is None else written | {"among": expression_text(among)}


def wrapped(condition: EventCondition, process: str) -> Json:
    """A condition inside its name, which is how Java writes the precondition of a data measure."""
    expression = _property_of(condition, process)
    inner = events_json(condition, process) if expression is None else property_json(expression)
    return {str(inner.pop("kind")): inner}


def condition_measure_json(measure: ConditionMeasure, process: str) -> Json:
    expression = _property_of(measure.when, process)
    if expression is not None:
        return {"kind": "DataPropertyConditionMeasure", "condition": property_json(expression)}
    return {"kind": "ConditionMeasure", "condition": events_json(measure.when, process)}


def state_measure_json(measure: StateMeasure) -> Json:
    of = None if measure.of is None else activity_of(measure.of)
    state = state_in(measure.holds)
    condition: Json
    if of is not None and state is not None:
        condition = {"kind": STATE, "appliesTo": of, "state": state}
    else:
        written = {DATA: {"name": expression_text(measure.holds)}}
        condition = {"kind": STATE, "appliesTo": OF_DATA, "state": written}
        condition |= {} if measure.of is None else {"of": expression_text(measure.of)}
    return {"kind": "StateConditionMeasure", "condition": condition}


def _property_of(condition: EventCondition, process: str) -> Expression | None:
    """What every event has to satisfy, if that is all a condition says and of no activity."""
    match condition:
        case Occurs(expression, Occurrence.EVERY, None):
            return expression if _of_activity_json(condition, process) is None else None
    return None


def property_json(expression: Expression) -> Json:
    return {"kind": PROPERTY, "appliesTo": OF_DATA, "restriction": expression_text(expression)}


def _instant_json(applies_to: str, state: object) -> Json:
    return {"kind": INSTANT, "appliesTo": applies_to, "changesToState": state}


def _of_activity_json(occurs: Occurs, process: str) -> Json | None:
    """An activity, its state and a precondition, if the condition is made of these."""
    if occurs.occurrence is not Occurrence.EVERY:
        return None
    entered = _entered(occurs.condition, process)
    if entered is not None:
        return entered
    match occurs.condition:
        case Binary(Operator.AND, left, right):
            entered = _entered(left, process)
            if entered is not None:
                return entered | {"precondition": property_json(right)}
    return None


def _entered(expression: Expression, process: str) -> Json | None:
    """An activity at all its events, or at those by which it enters a state."""
    activity, state = activity_of(expression), None
    match expression:
        case Binary(Operator.AND, left, right):
            activity, state = activity_of(left), state_in(right)
            if state is None:
                return None
    if activity is None:
        return None
    written = _instant_json(activity, state or {GENERIC: "END"})
    written |= {} if state else {"lifecycle": "any"}
    return written | ({"element": "activity"} if activity == process else {})


# === measures ==========================================================================

FUNCTIONS = {
    "Sum": Aggregation.SUM,
    "Average": Aggregation.MEAN,
    "Minimum": Aggregation.MIN,
    "Maximum": Aggregation.MAX,
    "Median": Aggregation.MEDIAN,
    "Percentile": Aggregation.PERCENTILE,
    "Share": Aggregation.SHARE,
    "Count": Aggregation.COUNT,
    "Distribution": Aggregation.DISTRIBUTION,
}
_DERIVED_ONE, _DERIVED_MANY = "DerivedSingleInstanceMeasure", "DerivedMultiInstanceMeasure"

# Of the cycles of one case.
CYCLES = {
    word: Cycles(function.value)
    for word, function in FUNCTIONS.items()
    if function.value in tuple(Cycles)
}
_TYPES = {"LINEAR": False, "CYCLIC": True}


@dataclass(frozen=True, slots=True)
class ReadMeasure:
    """A measure, with what was written in it but belongs to the whole PPI.

    `unit` is the one Java's value would be in, for a time; `anchor` the instant that decides
    in which period a case lies.
    """

    measure: Measure
    unit: Unit | None = None
    said: Fields | None = None
    anchor: Anchor | None = None

    @classmethod
    def of(cls, measure: Measure | None, said: Fields | None = None) -> ReadMeasure | None:
        return None if measure is None else cls(measure, said=said)

    @property
    def label(self) -> str:
        """The unit to show. Looked up when it is used: that of an inner measure is lost."""
        return "" if self.said is None else self.said.text("unitOfMeasure")


def read_measure(node: Node, context: Context) -> ReadMeasure | None:
    """The measure an object describes; None with a problem."""
    if isinstance(node, ScalarNode):
        message = "references to measures defined elsewhere are not followed"
        context.problems.add(node.position, message, "write out the measure itself instead")
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


def read_single(fields: Fields, key: str, what: str) -> ReadMeasure | None:
    """A measure of one case, in a field."""
    node = fields.get(key)
    read = None if node is None else read_measure(node, fields.context)
    if read is not None and isinstance(read.measure, MultiInstance):
        fields.refuse(key, f"{what} measures one case, but this combines many")
        return None
    return read


# --- measures of one case -------------------------------------------------------------


def _count(fields: Fields) -> ReadMeasure | None:
    fields.require("when", "a count measure")
    when = read_events(fields, "when")
    return ReadMeasure.of(CountMeasure(when) if when else None, fields)


def _condition(fields: Fields) -> ReadMeasure | None:
    fields.require("condition", "a condition measure")
    when = read_events(fields, "condition", PROPERTY)
    return ReadMeasure.of(ConditionMeasure(when) if when else None)


def _time(fields: Fields) -> ReadMeasure | None:
    for key in ("from", "to"):
        fields.require(key, "a time measure")
    if fields.flag("computeUnfinished"):
        message = "a log does not say how time that is still running at the end of a case goes on"
        fields.refuse("computeUnfinished", message, "measure up to the end of the case instead")
    start, end = read_moment(fields, "from"), read_moment(fields, "to")
    is_cyclic = bool(fields.word("timeMeasureType", _TYPES, "'LINEAR' or 'CYCLIC'"))
    usual = OpenCycle.NO_VALUE if is_cyclic else OpenCycle.LEFT_OUT
    open_cycle = fields.word("openCycle", words_of(OpenCycle), "what an open cycle does") or usual
    running = _running(fields, is_cyclic=is_cyclic)
    unit = time_unit(fields)
    calendar = read_schedule(fields)
    if start is None or end is None:
        return None
    cycles = Cycles.SUM if is_cyclic else None
    if is_cyclic and fields.filled("singleInstanceAggFunction"):
        what = "how the cycles of a case become one"
        cycles = fields.word("singleInstanceAggFunction", CYCLES, what) or cycles
    first = fields.word("startPick", words_of(Pick), "'first' or 'last'") or Pick.FIRST
    picks = first, _end_pick(fields)
    return ReadMeasure(TimeMeasure(start, end, *picks, cycles, open_cycle, running, calendar), unit)


def _running(fields: Fields, *, is_cyclic: bool) -> Expression | None:
    precondition = opened(fields, "precondition", PROPERTY)
    if precondition is None:
        return None
    if is_cyclic:
        message = "a precondition stops the clock of a linear time measure, and this is cyclic"
        fields.refuse("precondition", message)
    return read_property(precondition[1])


def _end_pick(fields: Fields) -> Pick:
    is_first = fields.flag("firstTo")
    if is_first and "precondition" in fields:
        message = "Java PPINOT ignores 'firstTo' next to a precondition"
        fields.refuse("firstTo", message, "remove it; or write 'endPick': 'first'")
    pick = fields.word("endPick", words_of(Pick), "'first' or 'last'")
    return pick or (Pick.FIRST if is_first else Pick.LAST)


def _read_data(fields: Fields) -> DataMeasure | None:
    fields.pass_over("kind", "DataMeasure")
    attribute = _selection(fields)
    pick = Pick.FIRST if fields.flag("first") else Pick.LAST
    when = read_events(fields, "precondition")
    if attribute is None:
        return None
    return DataMeasure(attribute.name, pick, when, position=attribute.position)


def _selection(fields: Fields) -> Name | None:
    fields.require("dataContentSelection", "a data measure")
    selection = fields.object("dataContentSelection", "a selection of data")
    if selection is None:
        return None
    if "separator" in selection or selection.text("kind").startswith("Past"):
        message = "an attribute's previous value cannot be used, only its current one"
        fields.refuse("dataContentSelection", message)
        return None
    selection.require("selection", "a selection of data")
    expression = selection.expression("selection")
    if expression is None or isinstance(expression, Name):
        return expression
    message = "a data measure selects one attribute, not an expression over several"
    selection.refuse("selection", message, "write a derived measure for that")
    return None


def read_anchor(fields: Fields, key: str) -> Anchor | None:
    """The instant of a case that a data measure of its timestamp names."""
    measure = fields.object(key, "a data measure")
    if measure is None:
        return None
    measure.pass_over("kind", "DataMeasure")
    attribute = _selection(measure)
    if attribute is not None and attribute.name != "timestamp":
        message = "a case lies in the period of one of its events, not of a date in its data"
        fields.refuse(key, message, "select 'timestamp', with a precondition for the event")
        return None
    is_first = measure.flag("first")
    if "precondition" not in measure:
        return Anchor(CaseBorder.START if is_first else CaseBorder.END)
    moment = read_events(measure, "precondition")
    return None if moment is None else Anchor(moment, Pick.FIRST if is_first else Pick.LAST)


# --- measures of many cases -----------------------------------------------------------


def _aggregated(fields: Fields) -> ReadMeasure | None:
    for key in ("baseMeasure", "aggregationFunction"):
        fields.require(key, "an aggregated measure")
    if fields.flag("includeUnfinished"):
        message = "unfinished cases belong to the period of their last event"
        fields.refuse("includeUnfinished", message, "remove it: all cases of the log count")
    base = read_single(fields, "baseMeasure", "what is aggregated")
    condition = read_single(fields, "filter", "a filter")
    function = fields.word("aggregationFunction", FUNCTIONS, "an aggregation")
    anchor = read_anchor(fields, "periodReferencePoint")
    grouping = _grouping(fields)
    if base is None or function is None:
        return None
    percent = None
    if function is Aggregation.PERCENTILE:
        fields.require("percent", "a percentile")
        percent = fields.whole("percent", 1, 99)
    on_case, problems = cast("SingleInstance", base.measure), fields.context.problems
    limits = fields.shaped("limits", DISTRIBUTION_LIMITS) or ()
    measure = AggregatedMeasure(
        function,
        on_case,
        None if condition is None else cast("SingleInstance", condition.measure),
        grouping,
        within=fields.text("within") or None,
        percent=percent,
        limits=limits_of(limits, measure_kind(on_case, None), problems) or (),
        position=fields.position,
    )
    bounds = fields.shaped("bounds", BOUNDS)
    bounded = with_bounds(measure, {} if bounds is None else {"": bounds}, problems)
    unit = base.unit if timed_by(measure) else None
    return ReadMeasure(bounded, unit, fields, anchor)


def _grouping(fields: Fields) -> Grouping | None:
    nodes = fields.items("groupedBy")
    if not nodes:
        return None
    if len(nodes) > 1:
        hint = "combine the two in the log, or ask for each separately"
        fields.refuse("groupedBy", "cases can be grouped by one attribute only", hint)
        return None
    by = fields.opened(nodes[0], "a data measure")
    measure = None if by is None else _read_data(by)
    key = "values" if "values" in fields else "keys"  # as it was called once
    groups = fields.texts(key)
    if not groups:
        message = (
            "the groups must be declared (public partitions): they must not depend on the data"
        )
        fields.refuse("groupedBy", message, 'list them: "values": ["phone", "web"]')
        return None
    if len(set(groups)) < len(groups):
        fields.refuse(key, "a group appears twice")
        return None
    return None if measure is None else Grouping(measure, groups)


# --- derived measures -----------------------------------------------------------------


def _derived(fields: Fields) -> ReadMeasure | None:
    """Over one case or over many: as its kind says, or else as what it is derived from."""
    variables = _variables(fields)
    formula = _formula(fields, variables)
    pairs: tuple[tuple[str, Any], ...] = tuple((name, it.measure) for name, it in variables.items())
    are_many = {isinstance(measure, MultiInstance) for _, measure in pairs}
    kind = fields.text("kind")
    is_many = kind == _DERIVED_MANY or (kind != _DERIVED_ONE and True in are_many)
    if is_many and are_many != {True}:
        message = "a formula over many cases needs measures of many cases as its variables"
        fields.refuse("usedMeasureMap", message, "aggregate those of one case")
        return None
    if not is_many and True in are_many:
        fields.refuse("usedMeasureMap", "a formula over one case contains a measure of many")
        return None
    what = "what a missing value makes of the formula"
    missing = None if is_many else fields.word("missing", words_of(Missing), what)
    if formula is None:
        return None
    if not is_many:
        return ReadMeasure(DerivedSingleInstance(formula, pairs, missing), said=fields)
    anchors = [read.anchor for read in variables.values()]
    if len(set(anchors)) > 1:
        message = "the measures of a formula assign cases to periods in different ways"
        fields.refuse("usedMeasureMap", message, "give them one 'periodReferencePoint'")
    return ReadMeasure(DerivedMultiInstance(formula, pairs), said=fields, anchor=anchors[0])


def _variables(fields: Fields) -> dict[str, ReadMeasure]:
    """The variables of a formula that are sound."""
    entries = fields.entries("usedMeasureMap")
    variables = [(key.text, read_measure(node, fields.context)) for key, node in entries]
    return {name: read for name, read in variables if read is not None}


def _formula(fields: Fields, variables: Mapping[str, ReadMeasure]) -> Expression | None:
    fields.require("function", "a derived measure")
    formula = fields.expression("function")
    if formula is None:
        return None
    defined = [key.text for key, _ in fields.entries("usedMeasureMap")]
    undefined = undefined_variables(formula, defined, "define it in 'usedMeasureMap'")
    fields.context.problems.extend(undefined)
    if undefined:
        return None
    return formula if fields.flag("typed") else _in_numbers(formula, variables, fields)


def _in_numbers(
    formula: Expression, variables: Mapping[str, ReadMeasure], fields: Fields
) -> Expression | None:
    sizes: dict[str, Fraction] = {}
    for name, read in variables.items():
        if read.unit is not None:
            sizes[name] = read.unit.factor
        elif measure_kind(read.measure, None) is Kind.DURATION:
            message = f"the variable {quoted(name)} is a duration without a unit"
            fields.refuse("function", message, "write 'typed': true, and durations as in 28 days")
            return None
    numeric = in_numbers(formula, sizes)
    if is_too_large(numeric):
        message = "this formula becomes too large when its durations are written as numbers"
        fields.refuse("function", message)
        return None
    return numeric


_READERS: dict[str, Callable[[Fields], ReadMeasure | None]] = {
    "CountMeasure": _count,
    "TimeMeasure": _time,
    "ConditionMeasure": _condition,
    "DataMeasure": lambda fields: ReadMeasure.of(_read_data(fields), fields),
    "DataPropertyConditionMeasure": _condition,
    "StateConditionMeasure": lambda fields: ReadMeasure.of(read_state_measure(fields)),
    "AggregatedMeasure": _aggregated,
    "DerivedMeasure": _derived,
    _DERIVED_ONE: _derived,
    _DERIVED_MANY: _derived,
}


# --- writing --------------------------------------------------------------------------

_FUNCTIONS = {function: word for word, function in FUNCTIONS.items()}
_CYCLES = {cycles: word for word, cycles in CYCLES.items()}
_HOUR = Fraction(DURATIONS["hours"])


def measure_json(measure: Measure, process: str, size: Fraction = _HOUR) -> Json:
    """A measure; `size` is that of the unit its time is to be in."""
    match measure:
        case CountMeasure():
            return {"kind": "CountMeasure", "when": events_json(measure.when, process)}
        case TimeMeasure():
            return _time_json(measure, process, size)
        case DataMeasure():
            return _data_json(measure, process)
        case ConditionMeasure():
            return condition_measure_json(measure, process)
        case StateMeasure():
            return state_measure_json(measure)
        case AggregatedMeasure():
            return _aggregated_json(measure, process, size)
        case DerivedSingleInstance(missing=missing):
            written = {"kind": _DERIVED_ONE, **_derived_json(measure, process)}
            return written if missing is None else written | {"missing": missing.value}
        case DerivedMultiInstance():
            return {"kind": _DERIVED_MANY, **_derived_json(measure, process)}


def _time_json(measure: TimeMeasure, process: str, size: Fraction) -> Json:
    cycles, running = measure.cycles, measure.running
    usual = OpenCycle.LEFT_OUT if cycles is None else OpenCycle.NO_VALUE
    is_first = measure.end_pick is Pick.FIRST
    written = {
        "kind": "TimeMeasure",
        "unitOfMeasure": java_unit(unit_of_time(size).factor),
        "from": moment_json(measure.start, process),
        "to": moment_json(measure.end, process),
        "timeMeasureType": "LINEAR" if cycles is None else "CYCLIC",
        "singleInstanceAggFunction": cycles and _CYCLES[cycles],
        "openCycle": None if measure.open_cycle is usual else measure.open_cycle.value,
        "startPick": None if measure.start_pick is Pick.FIRST else Pick.LAST.value,
        # Java takes no notice of `firstTo` beside a precondition.
        "firstTo": True if is_first and running is None else None,
        "endPick": Pick.FIRST.value if is_first and running is not None else None,
        "precondition": running and property_json(running),
    }
    return present(written) | (written_schedule(measure.calendar) if measure.calendar else {})


def _data_json(measure: DataMeasure, process: str) -> Json:
    written = {
        "kind": "DataMeasure",
        "dataContentSelection": {"selection": expression_text(Name(measure.attribute))},
        "first": measure.pick is Pick.FIRST,
        "precondition": measure.when and wrapped(measure.when, process),
    }
    return present(written)


def anchor_json(anchor: Anchor, process: str) -> Json:
    """The instant that decides on the period of a case, as a data measure of its timestamp."""
    if isinstance(anchor.moment, CaseBorder):
        pick = Pick.FIRST if anchor.moment is CaseBorder.START else Pick.LAST
        return _data_json(DataMeasure("timestamp", pick), process)
    return _data_json(DataMeasure("timestamp", anchor.pick, anchor.moment), process)


# --- measures of many cases -----------------------------------------------------------


def _aggregated_json(measure: AggregatedMeasure, process: str, size: Fraction) -> Json:
    grouping = measure.grouping
    written: Json = {
        "kind": "AggregatedMeasure",
        "aggregationFunction": _FUNCTIONS[measure.function],
        "baseMeasure": measure_json(measure.base, process, size),
        "filter": measure.filter and measure_json(measure.filter, process),
        "groupedBy": grouping and [_data_json(grouping.by, process)],
        "values": grouping and list(grouping.keys),
        "percent": measure.percent,
        "within": measure.within,
    }
    bounds = Shown(None, HOURS).case_bounds(measure).get("")
    limits = written_limits(measure.limits, measure_kind(measure.base, None))
    if limits:
        written["limits"] = json_value(DISTRIBUTION_LIMITS.write(limits) or [])
    if bounds is not None:
        written["bounds"] = json_value(BOUNDS.write(bounds) or [])
    return present(written)


# --- derived measures -----------------------------------------------------------------


def _derived_json(measure: DerivedSingleInstance | DerivedMultiInstance, process: str) -> Json:
    variables = dict(measure.variables)
    durations = {
        name for name, inner in variables.items() if measure_kind(inner, None) is Kind.DURATION
    }
    plain = out_of_numbers(measure.formula, frozenset(durations))
    timed = {name for name, inner in variables.items() if timed_by(inner) is not None}
    formula, sizes, is_typed = measure.formula, {}, True
    # Each duration has to be that of a time measure, in a unit that Java has.
    if plain and durations <= timed and all(map(java_unit, plain[1].values())):
        formula, sizes, is_typed = plain[0], dict(plain[1]), False
    used = {
        name: measure_json(inner, process, sizes.get(name, _HOUR))
        for name, inner in variables.items()
    }
    typed = {"typed": True} if is_typed else {}
    return {"function": expression_text(formula), **typed, "usedMeasureMap": used}


# --- units of time --------------------------------------------------------------------

_NAMES = {
    "millis": "milliseconds",
    **{name: name for name in ("seconds", "minutes", "hours", "days")},
}
_COUNTING = (Aggregation.COUNT, Aggregation.SHARE)


def time_unit(fields: Fields) -> Unit | None:
    """The unit of a time measure."""
    written = fields.text("unitOfMeasure").strip().lower() or "millis"
    if written in _NAMES:
        return duration_unit(_NAMES[written])
    if written == "workingdays":
        message = "working days have no fixed length: a duration cannot be counted in them"
        fields.refuse("unitOfMeasure", message, "write hours")
    else:
        message = f"Java PPINOT cannot measure time in {quoted(written)}"
        fields.refuse("unitOfMeasure", message, f"the units are {', '.join(_NAMES)}")
    return None


def java_unit(size: Fraction) -> str | None:
    """Java's name of a unit of so many microseconds."""
    return next((java for java, name in _NAMES.items() if DURATIONS[name] == size), None)


def timed_by(measure: Measure) -> TimeMeasure | None:
    """The time measure whose unit the value of a measure is in, for Java."""
    match measure:
        case TimeMeasure():
            return measure
        case AggregatedMeasure(function=function, base=TimeMeasure() as base):
            return None if function in _COUNTING else base
    return None


def unit_of_time(size: Fraction) -> Unit:
    """The unit for a time measure: one of that size, or else one that Java has."""
    java = java_unit(size)
    larger = "days" if size > DURATIONS["days"] else "hours"
    name = larger if java is None else _NAMES[java]
    return Unit(name, Fraction(DURATIONS[name]))


def labelled(measure: MultiInstance, label: str) -> Unit:
    """The unit that a label stands for on a PPI; empty for the usual one."""
    usual = usual_unit(measure)
    if measure_kind(measure, None) is Kind.DURATION:
        return duration_unit(label) or usual
    if usual == PERCENT:
        return FRACTION if label == FRACTION.name else PERCENT
    return Unit(label, Fraction(1)) if label else usual


# --- schedules as working calendars ---------------------------------------------------
#
#     L-VT09:00-18:00      Monday to Friday, in Spanish: L M X J V S D; an end of 00:00 is midnight
#     L-VT09:00-18:00/H    … without the holidays, which are listed in the field `holidays`
#
# Java counts the hours in Europe/Madrid, whatever the log says, so that is the zone of what is
# read. Any other calendar is written as calendars are everywhere here, which Java cannot read.

ZONE = "Europe/Madrid"

_DAYS = "LMXJVSD"
_BASIC = re.compile(
    rf"([{_DAYS}])-([{_DAYS}])T([0-9]{{2}}):([0-9]{{2}})-([0-9]{{2}}):([0-9]{{2}})(/H)?"
)
_MIDNIGHT = 24 * 60


def read_schedule(fields: Fields) -> WorkingCalendar | None:
    node = fields.get("considerOnly")
    if node is None:
        return None
    try:
        return _schedule(node, fields)
    except ValueError as wrong:
        fields.refuse("considerOnly", str(wrong))
        return None


def _schedule(node: Node, fields: Fields) -> WorkingCalendar:
    schedule: Node | None = node
    if not isinstance(node, ScalarNode | ListNode):
        inner = fields.opened(node, "a schedule")
        schedule = inner.get("basic") or inner.get("combined") if inner else None
    match schedule:
        case ListNode():
            raise ValueError("schedules by season are not read: hours are the same all year")
        case ScalarNode():
            text = schedule.text.strip()
            week = _week(text)
            if week is None:
                return parse_calendar(text)
            return WorkingCalendar(
                week, _holidays(fields) if text.endswith("/H") else (), zone=ZONE
            )
    raise ValueError("expected a schedule such as L-VT09:00-18:00")


def _week(text: str) -> Week | None:
    """The week of a basic schedule; None if it is written in another way."""
    match = _BASIC.fullmatch(text)
    if match is None:
        return None
    first, last = _DAYS.index(match[1]), _DAYS.index(match[2])
    start = 60 * int(match[3]) + int(match[4])
    end = 60 * int(match[5]) + int(match[6]) or _MIDNIGHT
    if max(int(match[4]), int(match[6])) > 59 or not start < end <= _MIDNIGHT:
        raise ValueError(f"the hours of {quoted(text)} must begin and end within one day")
    if first > last:
        raise ValueError(
            f"the days of {quoted(text)} run past the end of the week, so no day matches"
        )
    return tuple((Window(start, end),) if first <= day <= last else () for day in range(7))


def _holidays(fields: Fields) -> tuple[date, ...]:
    if "holidays" not in fields:
        message = "/H stands for the holidays that an installation of Java PPINOT was given"
        raise ValueError(f'{message}; list them: "holidays": ["2014-12-25", …]')
    return tuple(sorted({_date(text) for text in fields.texts("holidays")}))


def _date(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{quoted(text)} is not a day such as 2014-12-25")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} is not a valid date") from None


# --- writing --------------------------------------------------------------------------


def written_schedule(calendar: WorkingCalendar) -> dict[str, object]:
    """The fields of a time measure that say its calendar."""
    basic = _basic(calendar)
    if basic is None:
        return {"considerOnly": str(calendar)}
    if not calendar.holidays:
        return {"considerOnly": basic}
    holidays = [day.isoformat() for day in calendar.holidays]
    return {"considerOnly": f"{basic}/H", "holidays": holidays}


def _basic(calendar: WorkingCalendar) -> str | None:
    if calendar.zone != ZONE or calendar.countries:
        return None
    open_days = [day for day, windows in enumerate(calendar.week) if windows]
    hours = {windows for windows in calendar.week if windows}
    if not open_days or open_days != list(range(open_days[0], open_days[-1] + 1)):
        return None
    if len(hours) > 1 or len(windows := hours.pop()) > 1:
        return None
    edges = (windows[0].start, windows[0].end % _MIDNIGHT)
    start, end = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in edges)
    return f"{_DAYS[open_days[0]]}-{_DAYS[open_days[-1]]}T{start}-{end}"
