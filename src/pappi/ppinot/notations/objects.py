"""Measures of ppinot4py, read by the names of their classes and attributes alone.

ppinot4py itself is never imported. Its query strings can run any code there; here they go
through the one closed grammar, like all other expressions.

A condition occurs where it becomes true: at an onset. Only a `DataCondition` occurs at every
event. The states START and END of an activity are, there, the transitions `Assigned` and
`Completed`; in a log without transitions every event is an end.

Query strings are those of pandas. The columns of a log have other names there: `concept:name` is
the activity, `time:timestamp` the timestamp. Something missing is unequal to everything there,
also to itself; here no comparison with it is true. So `a != b` is read as `not (a == b)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import islice
from numbers import Integral
from typing import cast

from pappi.errors import DefinitionError, PappiError, Position, UsageError
from pappi.ppinot.expressions import (
    TRANSITION_ATTRIBUTE,
    AnyLiteral,
    Binary,
    DurationLiteral,
    Expression,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
    both,
    equals,
    in_numbers,
    is_activity,
    kind_of,
    rewritten,
    substituted,
    undefined_variables,
)
from pappi.ppinot.grammar import MAX_DIGITS, is_too_large, parse_expression, refusal
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Grouping,
    Measure,
    Moment,
    MultiInstance,
    Occurrence,
    Occurs,
    Order,
    Pick,
    SingleInstance,
    TimeMeasure,
    measure_kind,
    usual_bounds,
)
from pappi.values import (
    DURATIONS,
    SECOND,
    CaseBorder,
    Kind,
    Window,
    WorkingCalendar,
    listed,
    parse_calendar,
    quoted,
)

MAX_DEPTH = 60
MAX_LOOKS = 20_000
MAX_ITEMS = 5_000
_SHOWN = 120

_NAME_OF = type.__dict__["__name__"]

_KINDS = ("CountMeasure", "DataMeasure", "TimeMeasure", "AggregatedMeasure", "DerivedMeasure")
_FUNCTIONS = {
    "SUM": Aggregation.SUM,
    "MIN": Aggregation.MIN,
    "MAX": Aggregation.MAX,
    "AVG": Aggregation.MEAN,
    "MEDIAN": Aggregation.MEDIAN,
}
_CYCLES = {word: Cycles(function.value) for word, function in _FUNCTIONS.items()}
_UNITS = {name: f"{name.lower()}s" for name in ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")}


def from_ppinot4py(
    measure: object,
    *,
    values: Sequence[str] = (),
    lifecycle: bool = True,
    keys: Sequence[str] = (),
) -> Measure:
    """The measure that an object of ppinot4py describes; DefinitionError if there is none.

    `values` are the groups of an aggregated measure with a grouper, once called `keys`: which
    there are must not depend on the data. Without `lifecycle` the log has no column of
    transitions, so that ppinot4py takes every event of an activity for its end.
    """
    groups = values or keys
    if not isinstance(groups, list | tuple) or not all(isinstance(key, str) for key in groups):
        raise UsageError("the values of groups are a list of texts")
    if len(set(groups)) < len(groups):
        raise UsageError("a value of a group appears twice")
    try:
        return read_measure(Foreign.root(measure), Options(tuple(groups), lifecycle)).measure
    except PappiError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign objects run code of their own
        kind = type(error).__name__
        raise UsageError(f"this measure cannot be read: it raised {kind}") from None


@dataclass(frozen=True, slots=True)
class Options:
    groups: tuple[str, ...]
    lifecycle: bool


@dataclass(frozen=True, slots=True)
class MeasureInUnit:
    """A measure; `size` is that of the unit ppinot4py gives its time in, if in any."""

    measure: Measure
    size: Fraction | None = None


def read_measure(foreign: Foreign, options: Options) -> MeasureInUnit:
    match foreign.kind:
        case "CountMeasure":
            return MeasureInUnit(CountMeasure(_events(foreign.get("when"), options)))
        case "DataMeasure":
            return MeasureInUnit(_data(foreign, options))
        case "TimeMeasure":
            return _time(foreign, options)
        case "AggregatedMeasure":
            return _aggregated(foreign, options)
        case "DerivedMeasure":
            return MeasureInUnit(_derived(foreign, options))
    known = f"the measures are {listed(_KINDS, 'and')}"
    raise foreign.refusal(f"{quoted(foreign.kind)} is not a ppinot4py measure", known)


def _single(foreign: Foreign, options: Options) -> tuple[SingleInstance, Fraction | None]:
    read = read_measure(foreign, options)
    if isinstance(read.measure, MultiInstance):
        raise foreign.refusal("this combines many cases, but a measure of one case is needed")
    return read.measure, read.size


# --- measures of one case -------------------------------------------------------------


def _data(foreign: Foreign, options: Options) -> DataMeasure:
    selection = foreign.get("data_content_selection")
    when = foreign.find("precondition")
    column = selection.text("the name of a column")
    return DataMeasure(
        _COLUMNS.get(column, column),
        Pick.FIRST if foreign.get("first").flag() else Pick.LAST,
        None if when is None else _events(when, options),
        position=selection.position,
    )


def _time(foreign: Foreign, options: Options) -> MeasureInUnit:
    precondition = foreign.find("precondition")
    among = None if precondition is None else _query(precondition)
    ends = foreign.get("from_condition"), foreign.get("to_condition")
    start, end = (_moment(condition, options, among) for condition in ends)
    kind = foreign.get("time_measure_type").text("a type").upper()
    if kind not in ("LINEAR", "CYCLIC"):
        raise foreign.refusal("a time measure is LINEAR or CYCLIC")
    cycles = _cycles(foreign) if kind == "CYCLIC" else None
    is_first = cycles is None and foreign.get("first_to").flag()
    paired = is_first or cycles is not None
    _check_borders(_border(ends[0]), _border(ends[1]), foreign, paired=paired)
    if paired and start == end:
        raise foreign.refusal("ppinot4py gives this no value: from and to are the same events")
    calendar, unit = foreign.find("business_duration"), foreign.find("time_unit")
    measure = TimeMeasure(
        start,
        end,
        end_pick=Pick.FIRST if is_first else Pick.LAST,
        cycles=cycles,
        calendar=None if calendar is None else _calendar(calendar),
    )
    if unit is None:
        return MeasureInUnit(measure)
    name = unit.word()
    if name not in _UNITS:
        raise unit.refusal(f"the units of time are {listed(_UNITS, 'and')}")
    return MeasureInUnit(measure, Fraction(DURATIONS[_UNITS[name]]))


def _check_borders(
    start: CaseBorder | None, end: CaseBorder | None, foreign: Foreign, *, paired: bool
) -> None:
    if start is CaseBorder.END or end is CaseBorder.START:
        raise foreign.refusal("nothing happens after the end of a case, or before its start")
    if paired and (start or end):
        message = "a case starts and ends only once, so there are no pairs and no first one"
        raise foreign.refusal(message, "leave out CYCLIC and first_to")


def _cycles(foreign: Foreign) -> Cycles:
    word = foreign.get("single_instance_agg_function")
    name = word.text("an aggregation").strip().upper()
    if name not in _CYCLES:
        raise word.refusal(f"cycles are aggregated by {listed(_CYCLES)}, not by {quoted(name)}")
    return _CYCLES[name]


# --- measures of many cases -----------------------------------------------------------


def _aggregated(foreign: Foreign, options: Options) -> MeasureInUnit:
    base, size = _single(foreign.get("base_measure"), options)
    condition = foreign.find("filter_to_apply")
    if condition is not None and condition.is_text and not condition.text("a filter"):
        condition = None
    function, percent = _function(foreign.get("single_instance_agg_function"))
    measure = AggregatedMeasure(
        function,
        base,
        None if condition is None else _single(condition, options)[0],
        _grouping(foreign.find("grouper"), options),
        usual_bounds(function, base),
        percent=percent,
        position=foreign.position,
    )
    return MeasureInUnit(measure, size)


def _function(foreign: Foreign) -> tuple[Aggregation, int | None]:
    word = foreign.text("an aggregation").strip().upper()
    if word in _FUNCTIONS:
        return _FUNCTIONS[word], None
    match = re.fullmatch(r"P([0-9]{1,3})", word)
    if match and 1 <= int(match[1]) <= 99:
        return Aggregation.PERCENTILE, int(match[1])
    if word == "GROUPBY":
        message = "GROUPBY returns the values of single cases, which are never released"
        raise foreign.refusal(message)
    raise foreign.refusal(f"{quoted(word)} is not a ppinot4py aggregation")


def _grouping(foreign: Foreign | None, options: Options) -> Grouping | None:
    groupers = [] if foreign is None else foreign.items()
    if not groupers:
        return None
    if len(groupers) > 1:
        raise groupers[1].refusal("cases can be grouped by one attribute only")
    by, _ = _single(groupers[0], options)
    if not isinstance(by, DataMeasure):
        raise groupers[0].refusal("cases are grouped by a DataMeasure")
    if not options.groups:
        message = (
            "the groups must be declared (public partitions): they must not depend on the data"
        )
        raise groupers[0].refusal(message, "give their names as values=[…]")
    return Grouping(by, options.groups)


# --- derived measures -----------------------------------------------------------------
# A duration in a formula is a number of seconds there, and a number that comes out of a formula
# with durations in it is a duration again. Where a formula makes sense over durations themselves
# it is kept as it is, since the result is the same: `a - b < limit`. Where it does not, as in
# `t < 3600`, durations are turned into seconds first, and the result back. A time measure with a
# unit is a number of that unit. Constants among the variables are written into the formula.


def _derived(foreign: Foreign, options: Options) -> Measure:
    constants: dict[str, Expression] = {}
    variables: dict[str, MeasureInUnit] = {}
    for name, value in foreign.get("measure_map").entries():
        constant = _constant(value)
        if constant is not None:
            constants[name] = constant
        else:
            variables[name] = read_measure(value, options)
    formula = _formula(foreign.get("function_expression"), constants, variables)
    pairs = tuple((name, read.measure) for name, read in variables.items())
    are_multi = {isinstance(measure, MultiInstance) for _, measure in pairs}
    if len(are_multi) > 1:
        raise foreign.refusal("a formula combines measures of one case or of many cases, not both")
    if True in are_multi:
        return DerivedMultiInstance(formula, cast("tuple[tuple[str, MultiInstance], ...]", pairs))
    return DerivedSingleInstance(formula, cast("tuple[tuple[str, SingleInstance], ...]", pairs))


def _constant(foreign: Foreign) -> Expression | None:
    """A value among the variables that is no measure; None if it is no value either."""
    place = foreign.position
    if isinstance(foreign.value, bool):
        return TruthLiteral(foreign.value, position=place)
    if foreign.is_text:
        return TextLiteral(foreign.text("a text"), position=place)
    number, span = foreign.number(), foreign.span()
    size = span if number is None else number
    if size is None:
        return None
    if max(abs(size.numerator), size.denominator) >= 10**MAX_DIGITS:
        raise foreign.refusal(f"this number has more than {MAX_DIGITS} digits")
    kind = DurationLiteral if number is None else NumberLiteral
    value = kind(abs(size), position=place)
    # The grammar has no negative numbers, only a minus before one.
    return value if size >= 0 else Negate(value, position=place)


def _formula(
    foreign: Foreign, constants: Mapping[str, Expression], variables: Mapping[str, MeasureInUnit]
) -> Expression:
    """The formula over measures alone, which means what it means to ppinot4py."""
    formula = _expression(foreign, "a formula")
    kinds = {name: measure_kind(read.measure, None) for name, read in variables.items()}
    sizes = {name: read.size for name, read in variables.items() if read.size is not None}
    known = [*constants, *kinds]
    if undefined := undefined_variables(formula, known, "give it in the measure map"):
        raise DefinitionError(undefined)
    typed = substituted(in_numbers(formula, sizes), constants)
    if kind_of(typed, kinds)[1]:
        durations = [name for name, kind in kinds.items() if kind is Kind.DURATION]
        in_seconds = {name: rewritten(value, _seconds) for name, value in constants.items()}
        seconds = dict.fromkeys(durations, Fraction(SECOND)) | sizes
        typed = substituted(in_numbers(formula, seconds), in_seconds)
        has_time = durations != [*sizes] or in_seconds != constants
        if has_time and kind_of(typed, kinds)[0] is Kind.NUMBER:
            typed = Binary(Operator.MULTIPLY, typed, DurationLiteral(Fraction(SECOND)))
    if is_too_large(typed):
        raise foreign.refusal("this formula is too large")
    return typed


def _seconds(node: Expression) -> Expression | None:
    if not isinstance(node, DurationLiteral):
        return None
    return NumberLiteral(node.microseconds / SECOND, position=node.position)


# --- queries and formulas -------------------------------------------------------------

_COLUMNS = {"concept:name": "activity", "time:timestamp": "timestamp"}


def _query(foreign: Foreign) -> Expression:
    """A condition: a query string, or simply True or False."""
    if isinstance(foreign.value, bool):
        return TruthLiteral(foreign.value, position=foreign.position)
    here: dict[str, Expression] = {column: Name(name) for column, name in _COLUMNS.items()}
    return substituted(_expression(foreign, "a query"), here)


def _expression(foreign: Foreign, what: str) -> Expression:
    return rewritten(parse_expression(foreign.text(what), foreign.position), _unequal)


def _unequal(node: Expression) -> Expression | None:
    match node:
        case Binary(Operator.UNEQUAL, left, right):
            same = rewritten(left, _unequal), rewritten(right, _unequal)
            equal = Binary(Operator.EQUAL, *same, position=node.position)
            return Not(equal, position=node.position)
    return None


# --- conditions on events -------------------------------------------------------------

_ORDERS = {"FOLLOWS": Order.FOLLOWS, "LEADSTO": Order.LEADS_TO_CYCLICALLY}
_TRANSITIONS = {"START": "Assigned", "END": "Completed"}
_IN_ORDER = "conditions on one column with different values, as in `concept:name` == 'A', are apart"


def _events(foreign: Foreign, options: Options) -> EventCondition:
    moment = _moment(foreign, options)
    if isinstance(moment, CaseBorder):
        message = "the start or end of a case is not an event that can be used here"
        raise foreign.refusal(message, "name an activity")
    return moment


def _moment(foreign: Foreign, options: Options, among: Expression | None = None) -> Moment:
    """What a condition occurs at, among the events that satisfy `among`."""
    if isinstance(foreign.value, str | bool):
        return Occurs(_query(foreign), among=among)
    border = _border(foreign)
    if border is not None:
        # Events that are left out before cannot be the first or the last of the case.
        return border if among is None else Occurs(among)
    match foreign.kind:
        case "DataCondition":
            return Occurs(_query(foreign.get("condition")), among=among)
        case "TimeInstantCondition":
            return _instant(foreign, options, among)
        case "SeriesCondition" | "Series":
            message = "a series selects rows of one table and cannot be applied to another log"
            raise foreign.refusal(message, "write the query that it came from")
    raise foreign.refusal(f"{quoted(foreign.kind)} is not a ppinot4py condition")


def _instant(foreign: Foreign, options: Options, among: Expression | None) -> EventCondition:
    match foreign.get("applies_to").word():
        case "DATA":
            state = foreign.get("changes_to_state")
            if state.kind == "ComplexState":
                return _sequence(state, among)
            return Occurs(_state_of_data(state), Occurrence.ONSET, among)
        case "ACTIVITY":
            return Occurs(_of_activity(foreign, options), Occurrence.ONSET, among)
    raise foreign.refusal("a condition applies to DATA, PROCESS or ACTIVITY")


def _state_of_data(state: Foreign) -> Expression:
    return _query(state.get("name") if state.kind == "DataObjectState" else state)


def _sequence(state: Foreign, among: Expression | None) -> EventSequence:
    word = state.get("type").word()
    if word not in _ORDERS:
        raise state.refusal("a complex state is of the type FOLLOWS or LEADSTO")
    first, last = _state_of_data(state.get("first")), _state_of_data(state.get("last"))
    # No event satisfies both if they want different values of one column.
    wanted, others = dict(_wanted(first)), dict(_wanted(last))
    if not any(wanted[name].isdisjoint(others[name]) for name in wanted.keys() & others.keys()):
        message = "both conditions of this complex state may hold at the same event"
        raise state.refusal(f"{message}, which ppinot4py treats differently", _IN_ORDER)
    return EventSequence(Occurs(first, among=among), Occurs(last, among=among), _ORDERS[word])


def _wanted(expression: Expression) -> Iterator[tuple[str, frozenset[AnyLiteral]]]:
    """The values an expression wants of a column, in conditions that all have to hold."""
    match expression:
        case Binary(Operator.AND, left, right):
            yield from _wanted(left)
            yield from _wanted(right)
        case Binary(Operator.EQUAL, Name(name), TextLiteral() as value):
            yield name, frozenset({value})
        case OneOf(Name(name), choices):
            yield name, frozenset(choices)


def _border(foreign: Foreign) -> CaseBorder | None:
    """The start or the end of the case, if a condition applies to the process."""
    if foreign.kind != "TimeInstantCondition" or foreign.get("applies_to").word() != "PROCESS":
        return None
    is_start = _runtime(foreign.get("changes_to_state")) == "START"
    return CaseBorder.START if is_start else CaseBorder.END


def _runtime(state: Foreign) -> str:
    if state.kind != "RuntimeState":
        raise state.refusal(f"expected a RuntimeState, found {quoted(state.kind)}")
    return state.get("state").text("a state")


def _of_activity(foreign: Foreign, options: Options) -> Expression:
    activity = is_activity(_activity_name(foreign.get("activity_name")), foreign.position)
    state = foreign.get("changes_to_state")
    word = _runtime(state)
    if options.lifecycle:
        return both(activity, _transition(state, word))
    if word == "END":
        return activity
    raise state.refusal(f"a log without transitions has ends alone, and no {quoted(word)}")


def _activity_name(foreign: Foreign) -> str:
    """A name in quotes of its own, as ppinot4py needs it; or without, as its manual has it."""
    written = foreign.text("the name of an activity")
    if written[:1] not in ("'", '"'):
        return written
    literal = parse_expression(written, foreign.position)
    if isinstance(literal, TextLiteral):
        return literal.value
    raise foreign.refusal("expected one name in quotes")


def _transition(state: Foreign, word: str) -> Expression:
    if word in _TRANSITIONS:
        return equals(TRANSITION_ATTRIBUTE, _TRANSITIONS[word], state.position)
    literal = parse_expression(word, state.position)
    if isinstance(literal, TextLiteral):
        return equals(TRANSITION_ATTRIBUTE, literal.value, state.position)
    message = f"expected START, END or a transition in quotes, found {quoted(word)}"
    raise state.refusal(message, "as in RuntimeState(\"'complete'\")")


# --- business hours of ppinot4py as working calendars ---------------------------------
# It counts them on the clock of UTC, since it turns all timestamps into that before; so UTC is the
# zone of the calendar. Hours without a start and an end are whole days, and 23:59:59 is midnight.

_MIDNIGHT = 24 * 60


def _calendar(foreign: Foreign) -> WorkingCalendar:
    if foreign.kind != "BusinessDuration":
        raise foreign.refusal(f"expected a BusinessDuration, found {quoted(foreign.kind)}")
    window, weekend = _window(foreign), foreign.find("weekend_list")
    days = [item.number() for item in weekend.items()] if weekend else []
    if None in days:
        raise foreign.refusal("a weekend is a list of days, where 0 is Monday")
    free = {int(day) for day in days if day is not None}
    week = tuple(() if day in free else (window,) for day in range(7))
    holidays, countries = _holidays(foreign.find("holiday_list"))
    try:
        return WorkingCalendar(week, holidays, countries, "UTC")
    except (ValueError, UsageError) as wrong:
        raise foreign.refusal(str(wrong)) from None


def _window(foreign: Foreign) -> Window:
    start, end = foreign.find("business_start"), foreign.find("business_end")
    if start is None and end is None:
        return Window(0, _MIDNIGHT)
    if start is None or end is None:
        raise foreign.refusal("business hours have a start and an end, or neither")
    first, last = _minutes(start), _minutes(end)
    if first >= last:
        message = "ppinot4py counts business hours over midnight in its own way"
        raise foreign.refusal(message, "write a working calendar for them")
    return Window(first, last)


def _minutes(foreign: Foreign) -> int:
    clock = foreign.clock()
    if (clock.hour, clock.minute, clock.second) == (23, 59, 59):
        return _MIDNIGHT
    if clock.second:
        raise foreign.refusal("business hours are in whole minutes")
    return 60 * clock.hour + clock.minute


def _holidays(foreign: Foreign | None) -> tuple[tuple[date, ...], tuple[str, ...]]:
    """Days, or the country of an object of the package `holidays`."""
    if foreign is None:
        return (), ()
    if not (hasattr(type(foreign.value), "country") and isinstance(foreign.value, dict)):
        return tuple(sorted({day.day() for day in foreign.items()})), ()
    code, part = foreign.get("country").text("a country"), foreign.find("subdiv")
    place = code if part is None else f"{code}-{part.text('a subdivision')}"
    try:
        return (), parse_calendar(f"always; except holidays in {place}").countries[:1]
    except ValueError as wrong:
        raise foreign.refusal(str(wrong)) from None


# --- objects that may be anything -----------------------------------------------------
#
# An attribute can be of any type, run code when it is read, or lead back to where it came from.
# So every look is guarded and counted, and what is taken from an object is a plain value of a
# built-in type, never the object itself.


@dataclass(slots=True)
class _Counter:
    left: int = MAX_LOOKS


@dataclass(frozen=True, slots=True)
class Foreign:
    """An object, and how it was come by."""

    value: object
    path: str
    depth: int
    counter: _Counter

    @classmethod
    def root(cls, value: object) -> Foreign:
        foreign = cls(value, "", 0, _Counter())
        kind = foreign.kind
        return cls(value, kind if kind.isidentifier() else quoted(kind), 0, foreign.counter)

    @property
    def kind(self) -> str:
        """The name of its class, which no metaclass can make up."""
        return str(_NAME_OF.__get__(type(self.value)))

    @property
    def position(self) -> Position:
        shown = self.path if len(self.path) <= _SHOWN else "…" + self.path[-_SHOWN:]
        return Position(shown, 1, 1)

    def refusal(self, message: str, hint: str = "") -> DefinitionError:
        return refusal(self.position, message, hint)

    def get(self, name: str) -> Foreign:
        """An attribute."""
        try:
            value = getattr(self.value, name)
        except Exception:  # noqa: BLE001 - reading an attribute may run any code
            message = f"{quoted(self.kind)} has no attribute {quoted(name)}"
            raise self.refusal(message) from None
        return self._inner(value, f"{self.path}.{name}")

    def find(self, name: str) -> Foreign | None:
        """An attribute that need not be there, and is not None."""
        attribute = self.get(name)
        return None if attribute.value is None else attribute

    def _inner(self, value: object, path: str) -> Foreign:
        self.counter.left -= 1
        if self.counter.left < 0 or self.depth >= MAX_DEPTH:
            raise self.refusal("this measure refers to itself, or is too large")
        return Foreign(value, path, self.depth + 1, self.counter)

    # --- plain values -----------------------------------------------------------------

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str)

    def text(self, what: str) -> str:
        if isinstance(self.value, str):
            # A subclass could answer differently each time; this is its content.
            return str.__str__(self.value)
        raise self.refusal(f"expected {what}, found {quoted(self.kind)}")

    def flag(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        raise self.refusal(f"expected True or False, found {quoted(self.kind)}")

    def word(self) -> str:
        """The name of a member of an enumeration."""
        return self.get("name").text("a member of an enumeration")

    def number(self) -> Fraction | None:
        """A number, exactly as it is shown; None if this is none."""
        match self.value:
            case bool():
                return None
            case Integral():
                return Fraction(int(self.value))
            case float() if self.value - self.value == 0:
                return Fraction(float.__repr__(self.value))
        return None

    def span(self) -> Fraction | None:
        """A timedelta in microseconds; None if this is none."""
        if not isinstance(self.value, timedelta):
            return None
        whole = timedelta.__sub__(self.value, timedelta(0))
        return Fraction(timedelta.__floordiv__(whole, timedelta(microseconds=1)))

    def day(self) -> date:
        if isinstance(self.value, date) and not isinstance(self.value, datetime):
            return date.fromordinal(date.toordinal(self.value))
        raise self.refusal(f"expected a date, found {quoted(self.kind)}")

    def clock(self) -> time:
        if isinstance(self.value, time):
            return time(int(self.value.hour), int(self.value.minute), int(self.value.second))
        raise self.refusal(f"expected a time of day, found {quoted(self.kind)}")

    # --- several ----------------------------------------------------------------------

    def items(self) -> list[Foreign]:
        """The members of a list, tuple or set, or the keys of a dictionary."""
        if not isinstance(self.value, list | tuple | set | frozenset | dict):
            raise self.refusal(f"expected a list, found {quoted(self.kind)}")
        items = list(islice(self.value, MAX_ITEMS + 1))
        if len(items) > MAX_ITEMS:
            raise self.refusal(f"this has more than {MAX_ITEMS:,} members")
        return [self._inner(item, f"{self.path}[{index}]") for index, item in enumerate(items)]

    def entries(self) -> list[tuple[str, Foreign]]:
        """The named values of a dictionary."""
        if not isinstance(self.value, dict):
            raise self.refusal(f"expected a dictionary, found {quoted(self.kind)}")
        names = [entry.text("a name") for entry in self.items()]
        values = list(islice(dict.values(self.value), MAX_ITEMS + 1))
        pairs = zip(names, values, strict=True)
        return [(name, self._inner(value, f"{self.path}[{quoted(name)}]")) for name, value in pairs]
