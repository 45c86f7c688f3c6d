"""Strategies for every part of the PPINOT model, for the round trips of all notations.

What they give is sound: a reader could have accepted it, and the checker has nothing to say
against it, with VOCABULARY or without one. Expressions are well-kinded, formulas use exactly
their variables, numbers have a finite decimal form, texts hold no control characters but
tabs and line breaks, and what a reader would strip or fill in is stripped and filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from pappi.mechanisms import mechanism_names
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    AnyLiteral,
    Apply,
    Binary,
    Bounding,
    Catalogue,
    Choose,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    DurationLiteral,
    EventCondition,
    EventSequence,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Missing,
    MultiInstance,
    Name,
    Negate,
    NoiseOn,
    Not,
    NumberLiteral,
    Occurrence,
    Occurs,
    OneOf,
    OpenCycle,
    Operator,
    Order,
    Pick,
    Ppi,
    ReleaseChoice,
    Scope,
    SingleInstance,
    StateMeasure,
    Target,
    TextLiteral,
    TimeMeasure,
    TruthLiteral,
    Wanted,
    check_catalogue,
    measure_kind,
)
from pappi.ppinot.expressions import names_in
from pappi.ppinot.model import Anchor, Grouping, GroupTarget, Recent
from pappi.ppinot.views import Against, Between, Change, Rolling, ToDate, View
from pappi.values import (
    DURATIONS,
    FRACTION,
    NUMBER,
    PERCENT,
    SECOND,
    UNIT_INTERVAL,
    Bounds,
    By,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Kind,
    Unit,
    Vocabulary,
    Week,
    Window,
    WorkingCalendar,
)

ACTIVITIES = ("Pay claim", "Reject claim", "A", 'Say "hi"', "it's 5: done", "prüfen", "no")
TRANSITION = "lifecycle:transition"
VOCABULARY = Vocabulary(
    ACTIVITIES,
    {
        "amount": Kind.NUMBER,
        "Debit amount": Kind.NUMBER,
        "größe": Kind.NUMBER,
        "channel": Kind.TEXT,
        "org:resource": Kind.TEXT,
        "it's `odd`": Kind.TEXT,
        "urgent": Kind.TRUTH,
        "in": Kind.TRUTH,
        "effort": Kind.DURATION,
        "due": Kind.TIME,
        TRANSITION: Kind.TEXT,
    },
)
"""The log that all generated definitions are about."""

_NAMES: Mapping[str, Kind] = {**VOCABULARY.attributes, "timestamp": Kind.TIME}
_QUANTITIES = (Kind.NUMBER, Kind.DURATION)
_DEPTH = 3
"""How deep derived measures nest."""

# --- texts and numbers ----------------------------------------------------------------

_AWKWARD = [
    *("", "on", "null", "~", "1.5", "1e3", "2014-01-31", "12:30", "true", "<<", "=", "-", "?"),
    *('say "hi"', "it's", "a: b", "a #b", "# a", "- a", "{a}", "[a]", "a, b", "100 %", "%a"),
    *("@a", "`a`", "!a", "&a", "*a", "|", ">a", "\\", "\\n", "a\nb", "a\tb", "a  b", "a:", ":a"),
    *(" a", "a ", "é", "日本", "\u2028", "\ufeff", "\ufffe", "\U0001f600", "<b>&amp;</b>", "$a"),
]
texts = st.one_of(
    st.sampled_from(["a", "b", *_AWKWARD]),
    st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=8),
)
trimmed = texts.map(str.strip).filter(bool)
"""What is left of a text by a reader that strips it."""
keys = texts.filter(str.strip)

decimals = st.builds(Fraction, st.integers(0, 10**6), st.sampled_from([1, 1, 2, 10, 1000]))
signed = st.builds(lambda value, sign: value * sign, decimals, st.sampled_from([1, 1, -1]))
durations = st.builds(
    lambda count, unit: count * DURATIONS[unit],
    st.one_of(st.integers(0, 400).map(Fraction), decimals),
    st.sampled_from([*DURATIONS]),
)


def _rising(values: st.SearchStrategy[Fraction]) -> st.SearchStrategy[tuple[Fraction, Fraction]]:
    width = values.filter(lambda value: value > 0)
    low = st.one_of(st.just(Fraction(0)), values, values.map(lambda value: -value))
    return st.builds(lambda low, width: (low, low + width), low, width)


# --- expressions ----------------------------------------------------------------------

_ARITHMETIC = tuple(Operator(sign) for sign in "+-*/%")
_ORDER = tuple(Operator(sign) for sign in ("<", "<=", ">", ">="))
_EQUALITY = (Operator.EQUAL, Operator.UNEQUAL)
Names = tuple[tuple[str, Kind], ...]
Expressions = st.SearchStrategy[Expression]


def _literals(kind: Kind) -> st.SearchStrategy[AnyLiteral]:
    by_kind: dict[Kind, st.SearchStrategy[AnyLiteral]] = {
        Kind.NUMBER: decimals.map(NumberLiteral),
        Kind.DURATION: durations.map(DurationLiteral),
        Kind.TEXT: texts.map(TextLiteral),
        Kind.TRUTH: st.booleans().map(TruthLiteral),
        Kind.TIME: st.integers(0, 4 * 10**9).map(
            lambda second: InstantLiteral(second * SECOND + 250_000)
        )
        | st.integers(0, 40_000).map(lambda day: InstantLiteral(day * DURATIONS["days"])),
    }
    return by_kind[kind]


def _choices(kind: Kind) -> st.SearchStrategy[tuple[AnyLiteral, ...]]:
    some: st.SearchStrategy[AnyLiteral] = _literals(kind)
    if kind is Kind.NUMBER:
        some = signed.map(NumberLiteral)
    return st.lists(some, min_size=1, max_size=3).map(tuple)


@cache
def expressions(kind: Kind, names: Names, depth: int = 2) -> Expressions:
    """Well-kinded expressions over some of the names."""
    fitting = [Name(name) for name, its in names if its is kind]
    leaves: Expressions = _literals(kind)
    if fitting:
        leaves = st.one_of(st.sampled_from(fitting), leaves)
    if depth == 0:
        return leaves
    same = st.deferred(lambda: expressions(kind, names, depth - 1))
    truth = st.deferred(lambda: expressions(Kind.TRUTH, names, depth - 1))
    compounds = {Kind.NUMBER: _numbers, Kind.DURATION: _spans, Kind.TRUTH: _truths}.get(kind)
    more = compounds(names, depth - 1) if compounds else []
    return st.one_of(leaves, *more, st.builds(Choose, truth, same, same))


def _numbers(names: Names, depth: int) -> list[Expressions]:
    number = st.deferred(lambda: expressions(Kind.NUMBER, names, depth))
    span = st.deferred(lambda: expressions(Kind.DURATION, names, depth))
    extremes, single = [Function.MIN, Function.MAX], [Function.ABS, Function.ROUND]
    return [
        st.builds(Binary, st.sampled_from(_ARITHMETIC), number, number),
        st.builds(Binary, st.just(Operator.DIVIDE), span, span),
        number.map(Negate),
        st.builds(Apply, st.sampled_from(extremes), st.tuples(number, number)),
        st.builds(Apply, st.sampled_from(single), st.tuples(number)),
    ]


def _spans(names: Names, depth: int) -> list[Expressions]:
    number = st.deferred(lambda: expressions(Kind.NUMBER, names, depth))
    span = st.deferred(lambda: expressions(Kind.DURATION, names, depth))
    time = st.deferred(lambda: expressions(Kind.TIME, names, depth))
    additive = st.sampled_from([Operator.ADD, Operator.SUBTRACT, Operator.REMAINDER])
    return [
        st.builds(Binary, additive, span, span),
        st.builds(Binary, st.sampled_from([Operator.MULTIPLY, Operator.DIVIDE]), span, number),
        st.builds(Binary, st.just(Operator.SUBTRACT), time, time),
        span.map(Negate),
    ]


def _truths(names: Names, depth: int) -> list[Expressions]:
    truth = st.deferred(lambda: expressions(Kind.TRUTH, names, depth))
    ordered = st.sampled_from([Kind.NUMBER, Kind.DURATION, Kind.TIME])
    logic = st.sampled_from([Operator.AND, Operator.OR])
    return [
        ordered.flatmap(lambda kind: _compared(kind, _ORDER, names, depth)),
        st.sampled_from(Kind).flatmap(lambda kind: _compared(kind, _EQUALITY, names, depth)),
        st.builds(Binary, logic, truth, truth),
        truth.map(Not),
        st.sampled_from(Kind).flatmap(
            lambda kind: st.builds(OneOf, expressions(kind, names, depth), _choices(kind))
        ),
        st.sampled_from(Kind).flatmap(lambda kind: expressions(kind, names, depth).map(IsMissing)),
    ]


@cache
def _compared(kind: Kind, operators: tuple[Operator, ...], names: Names, depth: int) -> Expressions:
    operand = expressions(kind, names, depth)
    return st.builds(Binary, st.sampled_from(operators), operand, operand)


# --- conditions on events -------------------------------------------------------------


def spellings(transition: str) -> tuple[str, ...]:
    """How logs write a transition of the life cycle."""
    ways = (transition, transition.lower(), transition.upper(), transition.capitalize())
    return tuple(dict.fromkeys(ways))


def _in_transition(transition: str) -> Expression:
    name, ways = Name(TRANSITION), tuple(TextLiteral(way) for way in spellings(transition))
    return OneOf(name, ways) if len(ways) > 1 else Binary(Operator.EQUAL, name, ways[0])


_is_activity: Expressions = st.sampled_from(ACTIVITIES).map(
    lambda activity: Binary(Operator.EQUAL, Name("activity"), TextLiteral(activity))
)
_is_transition: Expressions = st.sampled_from(["complete", "start", "Assigned", "5"]).map(
    _in_transition
)


@cache
def event_tests() -> Expressions:
    """What is true or false of one event."""
    return st.one_of(
        _is_activity,
        _is_transition,
        st.builds(Binary, st.just(Operator.AND), _is_activity, _is_transition),
        st.lists(st.sampled_from(ACTIVITIES).map(TextLiteral), min_size=1, max_size=3).map(
            lambda activities: OneOf(Name("activity"), tuple(activities))
        ),
        expressions(Kind.TRUTH, tuple(_NAMES.items())),
    )


_occurs = st.builds(
    Occurs, event_tests(), st.sampled_from(Occurrence), st.none() | st.none() | event_tests()
)


@cache
def event_conditions() -> st.SearchStrategy[EventCondition]:
    return st.one_of(_occurs, st.builds(EventSequence, _occurs, _occurs, st.sampled_from(Order)))


# --- working calendars ----------------------------------------------------------------


def _day(borders: list[int]) -> tuple[Window, ...]:
    return tuple(Window(*pair) for pair in zip(borders[::2], borders[1::2], strict=True))


# Windows of a day do not touch each other, and some day of a week has one.
_minutes = st.one_of(st.sampled_from([540, 1020]), st.sampled_from([0, 1440]), st.integers(0, 1440))
_windows = st.lists(_minutes, max_size=4, unique=True).map(
    lambda found: _day(sorted(found[: len(found) // 2 * 2]))
)
_OFFICE: Week = ((Window(540, 1020),),) * 5 + ((), ())
_weeks: st.SearchStrategy[Week] = st.one_of(
    st.just(_OFFICE), st.tuples(*[_windows] * 7).filter(any)
)
_zones = st.none() | st.sampled_from(["Europe/Madrid", "UTC", "Asia/Kathmandu"])
_dates = st.dates(date(1990, 1, 1), date(2040, 12, 31))


calendars: st.SearchStrategy[WorkingCalendar] = st.builds(
    WorkingCalendar,
    _weeks,
    st.lists(_dates, max_size=3, unique=True).map(lambda days: tuple(sorted(days))),
    st.sets(st.sampled_from(["ES", "DE-BY", "FR"]), max_size=2).map(
        lambda them: tuple(sorted(them))
    ),
    _zones,
)

# --- measures of one case -------------------------------------------------------------

_variables = st.one_of(
    st.sampled_from(["a", "b", "rate", "in", "NULL", "min", "days", "count", "_1"]),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,4}", fullmatch=True),
).filter(lambda name: name not in ("derive", "value", "missing"))
Singles = st.SearchStrategy[SingleInstance]


@st.composite
def _linear(draw: st.DrawFn) -> TimeMeasure:
    starts: st.SearchStrategy[CaseBorder | EventCondition]
    starts, ends = st.just(CaseBorder.START), st.just(CaseBorder.END)
    start, end = draw(starts | event_conditions()), draw(ends | event_conditions())
    return TimeMeasure(
        start,
        end,
        Pick.FIRST if isinstance(start, CaseBorder) else draw(st.sampled_from(Pick)),
        Pick.LAST if isinstance(end, CaseBorder) else draw(st.sampled_from([*Pick][::-1])),
        running=draw(st.none() | st.none() | event_tests()),
        calendar=draw(st.none() | st.none() | calendars),
    )


_cyclic = st.builds(
    TimeMeasure,
    event_conditions(),
    event_conditions(),
    cycles=st.sampled_from(Cycles),
    open_cycle=st.sampled_from(OpenCycle),
    calendar=st.none() | st.none() | calendars,
)


@cache
def _data(kind: Kind | None = None) -> st.SearchStrategy[DataMeasure]:
    # Not the activity: what it is compared with, or grouped by, would have to be declared.
    names = [name for name, its in _NAMES.items() if kind in (None, its)]
    whens = st.none() | st.none() | event_conditions()
    return st.builds(DataMeasure, st.sampled_from(names), st.sampled_from(Pick), whens)


@cache
def single_instances(kind: Kind | None = None, depth: int = _DEPTH) -> Singles:
    """Measures of one case, of a kind or of any; `depth` levels of them derived."""
    if kind is None:
        return st.sampled_from(Kind).flatmap(lambda kind: single_instances(kind, depth))
    plain: dict[Kind, list[Singles]] = {
        Kind.NUMBER: [st.builds(CountMeasure, event_conditions())],
        Kind.DURATION: [_linear(), _cyclic],
        Kind.TRUTH: [
            st.builds(ConditionMeasure, event_conditions()),
            st.builds(StateMeasure, event_tests(), st.none() | event_tests()),
        ],
    }
    derived = [_derived_single(kind, depth - 1)] if depth else []
    return st.one_of(*plain.get(kind, []), _data(kind), *derived)


@st.composite
def _derived_single(draw: st.DrawFn, kind: Kind, depth: int) -> DerivedSingleInstance:
    kinds = draw(st.dictionaries(_variables, st.sampled_from(Kind), max_size=2))
    variables = tuple((name, draw(single_instances(its, depth))) for name, its in kinds.items())
    choices = [None, *(Missing if kind is Kind.TRUTH else [Missing.LEFT_OUT])]
    formula = draw(_formulas(kind, kinds))
    return DerivedSingleInstance(formula, variables, draw(st.sampled_from(choices)))


# Strategies are dear to make, so formulas are drawn over these names and then get their own.
_PLACES: Names = tuple((kind.value, kind) for kind in Kind)
_CONSTANTS: Mapping[Kind, AnyLiteral] = {
    Kind.NUMBER: NumberLiteral(Fraction(1)),
    Kind.TEXT: TextLiteral("a"),
    Kind.TRUTH: TruthLiteral(value=True),
    Kind.DURATION: DurationLiteral(Fraction(SECOND)),
    Kind.TIME: InstantLiteral(0),
}


@st.composite
def _formulas(draw: st.DrawFn, kind: Kind, kinds: Mapping[str, Kind]) -> Expression:
    """A formula that uses each of its variables."""
    own: dict[Kind, Expression] = dict(_CONSTANTS)
    own |= {its: Name(name) for name, its in kinds.items()}
    formula = _named(draw(expressions(kind, _PLACES)), own)
    for name in kinds:
        if name not in names_in(formula):
            formula = Choose(IsMissing(Name(name)), draw(_literals(kind)), formula)
    return formula


def _named(expression: Expression, own: Mapping[Kind, Expression]) -> Expression:
    """The expression with what stands for a kind instead of each name."""
    match expression:
        case Name():
            return own[Kind(expression.name)]
        case Negate() | Not() | IsMissing() | OneOf():
            return replace(expression, operand=_named(expression.operand, own))
        case Binary():
            left, right = _named(expression.left, own), _named(expression.right, own)
            return Binary(expression.operator, left, right)
        case Choose():
            sides = (expression.condition, expression.then, expression.otherwise)
            return Choose(*(_named(side, own) for side in sides))
        case Apply():
            arguments = tuple(_named(argument, own) for argument in expression.arguments)
            return Apply(expression.function, arguments)
        case _:
            return expression


# --- measures of many cases -----------------------------------------------------------

Multis = st.SearchStrategy[MultiInstance]
_groupings = st.builds(
    Grouping, _data(Kind.TEXT), st.lists(keys, min_size=1, max_size=3, unique=True).map(tuple)
)
EVERY_CASE = DerivedSingleInstance(TruthLiteral(value=True), ())


@st.composite
def multi_instances(draw: st.DrawFn) -> MultiInstance:
    """Measures of many cases, grouped alike throughout."""
    grouping = draw(st.none() | _groupings)
    return draw(_multis(draw(st.sampled_from(_QUANTITIES)), grouping, _DEPTH))


def _multis(kind: Kind, grouping: Grouping | None, depth: int) -> Multis:
    aggregated = _aggregated(kind, grouping)
    return aggregated | _derived_multi(kind, grouping, depth - 1) if depth else aggregated


@st.composite
def _aggregated(draw: st.DrawFn, kind: Kind, grouping: Grouping | None) -> AggregatedMeasure:
    shares = (Aggregation.SHARE, Aggregation.COUNT)
    apart = (Aggregation.DISTRIBUTION, *(() if kind is Kind.NUMBER else shares))
    functions = [each for each in Aggregation if each not in apart]
    functions += [Aggregation.SUM] * 4  # of which one may be a part of another
    function = draw(st.sampled_from(functions))
    base = draw(_bases(function, kind))
    percents = st.integers(1, 99) if function is Aggregation.PERCENTILE else st.none()
    filters = st.none() | single_instances(Kind.TRUTH, 1)
    measure = AggregatedMeasure(function, base, draw(filters), grouping, percent=draw(percents))
    return draw(_bounded(measure))


def _bases(function: Aggregation, kind: Kind) -> Singles:
    match function:
        case Aggregation.SHARE:
            return single_instances(Kind.TRUTH, 2)
        case Aggregation.COUNT:
            return st.just(EVERY_CASE) | single_instances(None, 2)
        case _ if kind is Kind.NUMBER:
            return single_instances(Kind.NUMBER, 2) | single_instances(Kind.TRUTH, 2)
        case _:
            return single_instances(kind, 2)


@st.composite
def _bounded(draw: st.DrawFn, measure: AggregatedMeasure) -> AggregatedMeasure:
    """Truth values have bounds of their own, also where only the function says they are some."""
    counted = measure.function in (Aggregation.SHARE, Aggregation.COUNT)
    kind = Kind.TRUTH if counted else measure_kind(measure.base, None)
    if kind is Kind.TRUTH:
        return replace(measure, bounds=UNIT_INTERVAL)
    bounding = draw(st.sampled_from(Bounding))
    if bounding is Bounding.PRIVATE or (bounding is Bounding.DECLARED and draw(st.booleans())):
        return replace(measure, bounding=bounding)
    values = durations if kind is Kind.DURATION else decimals
    return replace(measure, bounds=Bounds(*draw(_rising(values))), bounding=bounding)


@st.composite
def _derived_multi(
    draw: st.DrawFn, kind: Kind, grouping: Grouping | None, depth: int
) -> DerivedMultiInstance:
    quantities = st.sampled_from(_QUANTITIES)
    kinds = draw(st.dictionaries(_variables, quantities, min_size=1, max_size=3))
    variables = [(name, draw(_multis(its, grouping, depth))) for name, its in kinds.items()]
    formula = draw(_formulas(kind, kinds))
    return DerivedMultiInstance(formula, tuple(draw(_parts(variables))))


@st.composite
def _parts(
    draw: st.DrawFn, variables: list[tuple[str, MultiInstance]]
) -> list[tuple[str, MultiInstance]]:
    """The variables, of which a sum may be a part of another sum."""
    sums = [
        name
        for name, measure in variables
        if isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SUM
    ]
    if len(sums) < 2 or draw(st.booleans()):
        return variables
    part, whole = sums[:2]
    return [
        (name, replace(measure, within=whole))
        if name == part and isinstance(measure, AggregatedMeasure)
        else (name, measure)
        for name, measure in variables
    ]


# --- targets and scopes ---------------------------------------------------------------


@st.composite
def _targets(draw: st.DrawFn, unit: Unit) -> Target:
    low, high = draw(_rising(decimals))
    low_included, high_included = draw(st.booleans()), draw(st.booleans())
    shape = draw(st.sampled_from(["below", "above", "between"]))
    if shape == "below":
        return Target(None, unit.read(high), high_included=high_included)
    if shape == "above":
        return Target(unit.read(low), None, low_included=low_included)
    return Target(unit.read(low), unit.read(high), low_included, high_included)


@st.composite
def _bands(draw: st.DrawFn, unit: Unit) -> tuple[Target, Target | None]:
    """A target, and perhaps one around it."""
    target = draw(_targets(unit))
    if draw(st.booleans()):
        return target, None
    slack = unit.read(draw(decimals))
    return target, replace(
        target,
        low=None if target.low is None else target.low - slack,
        high=None if target.high is None else target.high + slack,
    )


@st.composite
def _group_targets(
    draw: st.DrawFn, grouping: Grouping | None, unit: Unit
) -> tuple[GroupTarget, ...]:
    if grouping is None or draw(st.booleans()):
        return ()
    chosen = draw(st.lists(st.sampled_from(grouping.keys), unique=True, min_size=1))
    return tuple(GroupTarget(key, *draw(_bands(unit))) for key in chosen)


_anchors = st.one_of(
    st.sampled_from(CaseBorder).map(Anchor),
    st.builds(Anchor, event_conditions(), st.sampled_from(Pick)),
)
_grids = st.builds(Grid, st.sampled_from(Calendar), st.sampled_from([1, 1, 2, 366]))
_recents = st.builds(Recent, st.integers(1, 366), st.sampled_from(Calendar))


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    """Any time, as a grid or as one period or as the last cases in it."""
    time = draw(st.sampled_from(["all", "dates", "recent"]))
    start = draw(st.none() | _dates) if time == "dates" else None
    until = draw(st.none() | _dates) if time == "dates" else None
    if start is not None and until is not None:
        until = start + timedelta(days=draw(st.integers(1, 4000)))
    cut = draw(st.sampled_from(["grid", "one", "last"]))
    return Scope(
        draw(_grids) if cut == "grid" else None,
        start,
        until,
        draw(_recents) if time == "recent" else None,
        draw(st.integers(1, 1_000_000)) if cut == "last" else None,
        draw(st.none() | st.none() | single_instances(Kind.TRUTH, 2)),
        draw(st.none() | st.none() | _anchors),
    )


# --- indicators -----------------------------------------------------------------------

_ids = st.sampled_from(["x", "y", "waiting-time"]) | st.from_regex(
    r"[A-Za-z][A-Za-z0-9_\-]{0,5}", fullmatch=True
)
_time_units = st.sampled_from([Unit(name, Fraction(size)) for name, size in DURATIONS.items()])
_labels = st.just(NUMBER) | trimmed.map(lambda label: Unit(label, Fraction(1)))
_several = st.lists(trimmed, max_size=2).map(tuple)
_optional = st.just("") | trimmed


@st.composite
def _measured(draw: st.DrawFn) -> tuple[MultiInstance, Unit, Bounds | None]:
    """A measure, the unit of its value and perhaps the range of that.

    Where attributes hide that the value is a duration, bounds say so.
    """
    measure = draw(multi_instances())
    known, kind = measure_kind(measure, None), measure_kind(measure, VOCABULARY)
    unit = draw(_units(measure, kind))
    values = durations if kind is Kind.DURATION else decimals.map(unit.read)
    ranges = _rising(values).map(lambda pair: Bounds(*pair))
    value_range = draw(st.none() | ranges)
    if kind is not Kind.DURATION or known is not None:
        return measure, unit, value_range
    if isinstance(measure, DerivedMultiInstance):
        return measure, unit, value_range or draw(ranges)
    if measure.bounds is None:
        measure = replace(measure, bounds=draw(ranges), bounding=Bounding.DECLARED)
    return measure, unit, value_range


def _units(measure: MultiInstance, kind: Kind | None) -> st.SearchStrategy[Unit]:
    if kind is Kind.DURATION:
        return _time_units
    if isinstance(measure, AggregatedMeasure):
        if measure.function is Aggregation.SHARE:
            return st.sampled_from([PERCENT, FRACTION])
        if measure.function is Aggregation.MEAN and measure.bounds is UNIT_INTERVAL:
            return st.sampled_from([NUMBER, PERCENT, FRACTION])
    return _labels


def grouping_of(measure: MultiInstance) -> Grouping | None:
    """The one grouping of a measure and of all in it."""
    while isinstance(measure, DerivedMultiInstance):
        measure = measure.variables[0][1]
    return measure.grouping


def _variable_paths(measure: MultiInstance) -> list[str]:
    if isinstance(measure, AggregatedMeasure):
        return []
    deeper = {name: _variable_paths(inner) for name, inner in measure.variables}
    return [*deeper, *(f"{name}.{path}" for name, paths in deeper.items() for path in paths)]


def _leaves_something(noisy: Sequence[NoiseOn]) -> bool:
    """Whether the shares of epsilon leave something for the functions that have none."""
    shares = [on.share for on in noisy if on.share is not None]
    return sum(shares) < 1 or (sum(shares) == 1 and len(shares) == len(noisy))


def _releases(measure: MultiInstance) -> st.SearchStrategy[ReleaseChoice]:
    names = st.sampled_from(["value", *_variable_paths(measure)])
    shares = st.none() | st.integers(1, 1000).map(lambda part: Fraction(part, 1000))
    wishes = st.builds(NoiseOn, names, st.none() | st.sampled_from(mechanism_names()), shares)
    noisy = st.lists(names.map(NoiseOn) | wishes, unique_by=lambda on: on.function, max_size=2)
    return st.just(ReleaseChoice()) | st.builds(
        ReleaseChoice,
        st.sampled_from(Wanted),
        st.none() | st.sampled_from(mechanism_names()),
        noisy.filter(_leaves_something).map(tuple),
        st.none() | decimals.filter(bool),
        st.none() | st.integers(2, 10_000),
    )


@st.composite
def ppis(draw: st.DrawFn) -> Ppi:
    measure, unit, value_range = draw(_measured())
    target, tolerated = draw(st.just((None, None)) | _bands(unit))
    group_targets = draw(_group_targets(grouping_of(measure), unit))
    if (
        isinstance(measure, AggregatedMeasure)
        and measure.function is Aggregation.MEDIAN
        and target is None
        and not group_targets
        and draw(st.booleans())
    ):
        # No target judges one, and no formula can use it.
        measure = replace(measure, function=Aggregation.DISTRIBUTION)
    identifier = draw(_ids)
    ppi = Ppi(
        id=identifier,
        name=draw(st.just(identifier) | trimmed),
        measure=measure,
        unit=unit,
        scope=draw(st.just(Scope(Grid(Calendar.MONTH))) | scopes()),
        target=target,
        value_range=value_range,
        epsilon=draw(st.none() | st.integers(1, 10**10).map(Epsilon)),
        release=draw(_releases(measure)),
        process=draw(_optional),
        goals=draw(_several),
        responsible=draw(_optional),
        informed=draw(_several),
        comments=draw(_optional),
        tolerated=tolerated,
        group_targets=group_targets,
    )
    view = draw(st.none() | _views(grouping_of(measure), judged=bool(group_targets)))
    shown = replace(ppi, show=view)
    # Not every view fits every scope and function.
    return ppi if check_catalogue(Catalogue("x", (shown,)), None) else shown


def _views(grouping: Grouping | None, *, judged: bool) -> st.SearchStrategy[View]:
    """What may be shown; two groups are compared with one target for both."""
    by = st.sampled_from(By)
    plain = (
        st.builds(Change, st.sampled_from(Against), by)
        | st.builds(Rolling, st.integers(1, 366), st.none() | st.sampled_from(Calendar))
        | st.sampled_from([ToDate(unit) for unit in Calendar if unit is not Calendar.DAY])
    )
    if grouping is None or judged:
        return plain
    keys = st.sampled_from(grouping.keys)
    return plain | st.builds(Between, keys, keys, by)


def catalogues() -> st.SearchStrategy[Catalogue]:
    several = st.lists(ppis(), min_size=1, max_size=2, unique_by=lambda ppi: ppi.id)
    return st.builds(Catalogue, trimmed, several.map(tuple))
