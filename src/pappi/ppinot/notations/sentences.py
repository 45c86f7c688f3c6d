"""Measures of one case and of many, and the scopes they are asked for, in PPINOT's patterns.

The wording is that of ppinot4py's `str()` where it has one. Two forms of each truth value: a
measure can stand for the value ("whether activity "A" occurs"), a statement can stand behind "in
which" ("activity "A" occurs").

>>> average = 'the average of the duration between the start of the case and the end of the case'
>>> phrase(parse_measure(average)) == average
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, TypeVar, cast

from pappi.errors import Position
from pappi.ppinot.expressions import (
    Binary,
    DurationLiteral,
    Expression,
    Name,
    NumberLiteral,
    Operator,
    TruthLiteral,
    names_in,
    substituted,
    walk,
)
from pappi.ppinot.grammar import (
    Origin,
    Word,
    WordKind,
    located,
    quote_text,
    refusal,
    render,
    variable_for,
)
from pappi.ppinot.model import (
    EVERY_CASE,
    MAX_CASES,
    MAX_COUNT,
    AggregatedMeasure,
    Aggregation,
    Anchor,
    Bounding,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    Measure,
    Missing,
    MultiInstance,
    Occurrence,
    OpenCycle,
    Pick,
    Ppi,
    Recent,
    Scope,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    day_of_scope,
    measure_kind,
    misplaced_parts,
    ordinal,
    scope_problem,
    time_problem,
    usual_bounds,
)
from pappi.ppinot.notations.sentence_phrases import (
    ACTIVITY,
    ATTRIBUTE,
    CONDITION,
    EXPRESSION,
    INSTANT,
    KEYS,
    MOMENT,
    OPEN,
    VALUE,
    VARIABLE,
    Choice,
    Cursor,
    Dialect,
    Fixed,
    Form,
    Part,
    Pattern,
    among_events,
    condition_words,
    each_of,
    fixed_value,
    in_turn,
    instant_of,
    pattern_of,
    read_amount,
    read_expression,
    read_variable,
    spoken,
    text_of,
    whole_number,
)
from pappi.ppinot.views import VIEW_EXAMPLES, View, parse_view
from pappi.values import (
    DURATIONS,
    Bounds,
    Calendar,
    Grid,
    Kind,
    WorkingCalendar,
    did_you_mean,
    parse_calendar,
    quoted,
)

T = TypeVar("T")

_USUAL = Dialect()
PPINOT4PY = Dialect(
    occurrence=Occurrence.ONSET,
    renamed={
        "concept:name": "activity",
        "time:timestamp": "timestamp",
        "lifecycle transition": "lifecycle:transition",
    },
)
"""What `str()` of a ppinot4py measure means: its conditions are onsets, its names XES's."""


def parse_measure(text: str, dialect: Dialect = _USUAL) -> Measure:
    """The measure a sentence says; DefinitionError says which words do not fit and what would."""
    return whole(text, dialect, _origin(text), MEASURE.read)


def parse_sentence(
    text: str, dialect: Dialect = _USUAL
) -> tuple[MultiInstance, Scope | None, View | None]:
    """A measure of many cases; the scope and what is shown of the figures, if it says them."""

    def query(cursor: Cursor) -> tuple[MultiInstance, Scope | None, View | None]:
        measure = MULTI.read(cursor)
        scope = SCOPE.read(cursor) if cursor.accept(", for") else None
        return measure, scope, _read_view(cursor) if cursor.accept(", shown as") else None

    return whole(text, dialect, _origin(text), query)


def _origin(text: str) -> Origin:
    return located(text, Position("<sentence>", 1, 1))


def _read_view(cursor: Cursor) -> View:
    """All that is left of the sentence."""
    first = cursor.next
    while cursor.next.kind is not WordKind.END:
        cursor.take()
    written = cursor.words.text[first.start :].strip().removesuffix(".")
    view = parse_view(written)
    if view is None:
        raise cursor.refusal(
            f"{quoted(written)} is not something that can be shown",
            f"as in {VIEW_EXAMPLES[0]}",
            at=first,
        )
    return view


def whole(text: str, dialect: Dialect, origin: Origin, read: Callable[[Cursor], T]) -> T:
    """What a text says, all of which has to be read."""
    cursor = Cursor(text, origin, dialect)
    value = read(cursor)
    cursor.index += cursor.next.is_symbol(".")
    if cursor.next.kind is not WordKind.END:
        raise cursor.unexpected("the end")
    return value


def sentence(ppi: Ppi) -> str:
    """What a PPI says: "the average of the duration between …, for every month"."""
    shown = "" if ppi.show is None else f", shown as {ppi.show}"
    return f"{definition(ppi)}, for {SCOPE.write(ppi.scope)}{shown}"


def definition(ppi: Ppi) -> str:
    """The measure of a PPI; its unit tells the kind of attributes that are not declared."""
    in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor and ppi.unit.name != "microseconds"
    return str(MEASURE.write(ppi.measure, Kind.DURATION if in_time else None))


def phrase(measure: Measure) -> str:
    """A measure of any kind, as part of a sentence."""
    return str(MEASURE.write(measure))


# --- measures of any kind -------------------------------------------------------------


def _read_measure(cursor: Cursor) -> Measure:
    with cursor.nested():
        if not cursor.next.is_symbol("("):
            return _MEASURES.read(cursor)
        cursor.take()
        # What is inside closes its own lists of variables.
        outside, cursor.waiting = cursor.waiting, []
        inside = _read_measure(cursor)
        cursor.waiting = outside
        cursor.expect(")")
        return inside


def _of_many(cursor: Cursor) -> MultiInstance:
    start, measure = cursor.next, _read_measure(cursor)
    if isinstance(measure, MultiInstance):
        return measure
    message = "this measures one case; a PPI combines many"
    hint = "say how: the average of …, the share of cases in which …"
    raise cursor.refusal(message, hint, at=start)


def _of_one(cursor: Cursor) -> SingleInstance:
    start, measure = cursor.next, _read_measure(cursor)
    if not isinstance(measure, MultiInstance):
        return measure
    message = "this must be a measure of one case, but it combines many"
    hint = "as in the number of times …, the duration between …, whether …"
    raise cursor.refusal(message, hint, at=start)


def _words(measure: Measure, unsaid: Kind | None = None) -> str | None:
    return _MEASURES.write(measure, unsaid)


def _read_statement(cursor: Cursor) -> SingleInstance:
    return _STATEMENTS.read(cursor)


def _statement_words(measure: SingleInstance, unsaid: Kind | None = None) -> str | None:
    return _STATEMENTS.write(measure, unsaid)


MEASURE: Form[Measure] = Part(_read_measure, _words)
MULTI: Form[MultiInstance] = Part(_of_many, _words)
SINGLE: Form[SingleInstance] = Part(_of_one, _words)
STATEMENT: Form[SingleInstance] = Part(_read_statement, _statement_words)

# --- counts, attributes and durations -------------------------------------------------

_PICKS = Fixed({pick.value: pick for pick in Pick})
_COUNT = pattern_of(CountMeasure, "the number of times <when>", when=CONDITION)
_DATA = pattern_of(
    DataMeasure,
    "the <pick> value of <attribute>[ when <when>]",
    pick=_PICKS,
    attribute=ATTRIBUTE,
    when=CONDITION,
)


def _read_calendar(cursor: Cursor) -> WorkingCalendar:
    word = cursor.take_kind('a calendar, as in "Mon-Fri 09:00-17:00"', WordKind.TEXT)
    try:
        return parse_calendar(text_of(cursor, word))
    except ValueError as error:
        raise cursor.refusal(f"this is not a working calendar: {error}", at=word) from None


_FUNCTIONS = {
    "average": Aggregation.MEAN,
    "sum": Aggregation.SUM,
    "maximum": Aggregation.MAX,
    "minimum": Aggregation.MIN,
    "median": Aggregation.MEDIAN,
}
_CLOCK = "[<business> ]duration[ in working time <calendar>][ while <running>] between "
_BEHIND_CLOCK = "[ <open_cycle>][ if <among>]"
_BETWEEN = f"the {_CLOCK}<first> and <last>{_BEHIND_CLOCK}"
_PAIRS = (
    f"the <cycles> {_CLOCK}the pairs of [<start_pick> ]time instants when <start> "
    f"and [<end_pick> ]when <end>{_BEHIND_CLOCK}"
)
_TIME_BLANKS: dict[str, Form[Any]] = {
    "business": Fixed({"business": True}),
    "calendar": Part(_read_calendar, lambda calendar, _: quote_text(str(calendar))),
    "running": EXPRESSION,
    "first": INSTANT,
    "last": INSTANT,
    "cycles": Fixed({word: Cycles(it.value) for word, it in _FUNCTIONS.items()}),
    "start": MOMENT,
    "start_pick": Fixed({"last": Pick.LAST}),
    "end": MOMENT,
    "end_pick": Fixed({"first": Pick.FIRST}),
    "open_cycle": Fixed({"(no value if a pair stays open)": OpenCycle.NO_VALUE}),
    "among": EXPRESSION,
}


def _time(cursor: Cursor, word: Word, values: dict[str, Any]) -> TimeMeasure:
    """A duration; its precondition, which ppinot4py has, makes all other events vanish."""
    for name, instant in (("start", values.pop("first", None)), ("end", values.pop("last", None))):
        if instant is not None:
            values[name] = instant.moment
            values |= {f"{name}_pick": instant.pick} if instant.pick else {}
    clock = values.get("cycles"), values.get("running")
    problem, hint = time_problem(values["start"], values["end"], *clock)
    if not problem and values.pop("business", False):
        values["calendar"] = cursor.dialect.calendar
        if cursor.dialect.calendar is None:
            problem = "a business duration does not say which hours are working hours"
            hint = 'write the duration in working time "Mon-Fri 09:00-17:00" between …'
    if problem:
        raise cursor.refusal(problem, hint, at=word)
    if (among := values.pop("among", None)) is not None:
        values |= {end: among_events(values[end], among) for end in ("start", "end")}
    return TimeMeasure(**values)


def _time_values(measure: Measure) -> Mapping[str, Any] | None:
    """Which instants are picked means nothing for pairs, but is part of the measure."""
    if not isinstance(measure, TimeMeasure):
        return None
    values: dict[str, Any] = {
        "calendar": measure.calendar,
        "running": measure.running,
        "open_cycle": None if measure.open_cycle is OpenCycle.LEFT_OUT else measure.open_cycle,
    }
    if measure.cycles is None:
        first = instant_of(measure.start, measure.start_pick, Pick.FIRST)
        last = instant_of(measure.end, measure.end_pick, Pick.LAST)
        return values | {"first": first, "last": last}
    names = ("cycles", "start", "end")
    picks = {
        "start_pick": None if measure.start_pick is Pick.FIRST else Pick.LAST,
        "end_pick": None if measure.end_pick is Pick.LAST else Pick.FIRST,
    }
    return values | {name: getattr(measure, name) for name in names} | picks


_TIMES = tuple(Pattern(text, _TIME_BLANKS, _time, _time_values) for text in (_BETWEEN, _PAIRS))
_NOUNS: Choice[SingleInstance] = Choice("a measure", (_COUNT, *_TIMES, _DATA))

# --- formulas -------------------------------------------------------------------------
# A list of variables inside another one ends where nothing in its own formula needs the next
# name, and a formula around it does. Parentheses around a measure end all lists inside.

_MISSING = Fixed({f"({missing} if a value is missing)": missing for missing in Missing})


def _read_formula(cursor: Cursor) -> DerivedSingleInstance | DerivedMultiInstance:
    """A formula, what it gives without a value, and what its names are."""
    start, formula = cursor.next, read_expression(cursor, "a formula")
    has_missing = _MISSING.behind(cursor, cursor.index) is not None
    missing = _MISSING.read(cursor) if has_missing else None
    explained: dict[str, tuple[Word, Measure | Expression]] = {}
    if cursor.accept("where"):
        explained = _read_variables(cursor, formula)
    _check_names(cursor, formula, explained)
    measures = {name: it for name, (_, it) in explained.items() if not isinstance(it, Expression)}
    constants = {name: it for name, (_, it) in explained.items() if isinstance(it, Expression)}
    formula = substituted(formula, constants)
    are_many = [isinstance(measure, MultiInstance) for measure in measures.values()]
    pairs = cast("tuple[tuple[str, Any], ...]", tuple(measures.items()))
    if not any(are_many):
        return DerivedSingleInstance(formula, pairs, missing)
    if not all(are_many):
        message = "a formula combines measures of one case or of many cases, not both"
        raise cursor.refusal(message, at=start)
    if missing is not None:
        message = "only a formula over one case can say what happens if a value is missing"
        raise cursor.refusal(message, at=start)
    for name, _, other, sums in misplaced_parts(pairs):
        message = f"'as part of' names another sum of this formula, not {quoted(other)}"
        raise cursor.refusal(message, did_you_mean(other, sums), at=explained[name][0])
    return DerivedMultiInstance(formula, pairs)


def _read_variables(
    cursor: Cursor, formula: Expression
) -> dict[str, tuple[Word, Measure | Expression]]:
    """What each name stands for: a measure, or in ppinot4py also a fixed value."""
    explained: dict[str, tuple[Word, Measure | Expression]] = {}
    needed = set(names_in(formula))
    cursor.waiting.append(needed)
    while True:
        word, name = cursor.next, read_variable(cursor)
        if name in explained:
            raise cursor.refusal(f"the variable {quoted(name)} is explained twice", at=word)
        needed.discard(name)
        cursor.expect("is")
        explained[name] = word, _constant(cursor) or _read_measure(cursor)
        following = cursor.words[cursor.index + 1]
        goes_on = cursor.next.is_symbol(",") and cursor.words[cursor.index + 2].is_word("is")
        if not goes_on or following.kind not in (WordKind.WORD, WordKind.NAME):
            break
        # The next variable may belong to a formula around this one.
        name = text_of(cursor, following)
        if name not in needed and any(name in names for names in cursor.waiting[:-1]):
            break
        cursor.take()
    cursor.waiting.pop()
    return explained


def _constant(cursor: Cursor) -> Expression | None:
    word = cursor.next
    if word.is_word("true", "false"):
        return TruthLiteral(cursor.take().said == "true", position=cursor.place(word))
    fixed = word.kind in (WordKind.NUMBER, WordKind.DATE, WordKind.CLOCK) or word.is_symbol("-")
    return fixed_value(cursor) if fixed else None


def _check_names(
    cursor: Cursor, formula: Expression, explained: Mapping[str, tuple[Word, Any]]
) -> None:
    """Refuses names that are not explained, and explanations of names that are not used."""
    used = names_in(formula)
    for node in walk(formula):
        if isinstance(node, Name) and node.name not in explained:
            message = f"the formula does not say what {quoted(node.name)} is"
            otherwise = f"say what it is: where {node.name[:40]} is …"
            raise refusal(node.position, message, did_you_mean(node.name, explained, otherwise))
    for name, (word, _) in explained.items():
        if name not in used:
            message = f"the formula does not use the variable {quoted(name)}"
            raise cursor.refusal(message, at=word)


def _formula_words(measure: Measure, unsaid: Kind | None = None) -> str | None:
    if not isinstance(measure, DerivedSingleInstance | DerivedMultiInstance):
        return None
    words_of_formula = spoken(measure.formula)
    if isinstance(measure, DerivedSingleInstance) and measure.missing is not None:
        words_of_formula += f" {_MISSING.write(measure.missing)}"
    variables = []
    for name, inner in measure.variables:
        words = str(_words(inner, unsaid))
        # In parentheses where commas, or a list of its own, would mislead.
        is_long = "," in words or " where " in words
        variables.append(f"{render(Name(name))} is {f'({words})' if is_long else words}")
    return f"{words_of_formula} where {', '.join(variables)}" if variables else words_of_formula


_FORMULA: Form[Any] = Part(_read_formula, _formula_words)
_FUNCTION: Form[Measure] = Pattern(
    "the function <formula>",
    {"formula": _FORMULA},
    lambda _cursor, _first, values: values["formula"],
    lambda measure: {"formula": measure},
)

# --- statements: what is so in a case -------------------------------------------------

_COMPARISONS = Fixed(
    {
        "is less than": Operator.LESS,
        "is at most": Operator.AT_MOST,
        "is more than": Operator.GREATER,
        "is at least": Operator.AT_LEAST,
        "is not": Operator.UNEQUAL,
        "is": Operator.EQUAL,
    }
)


def _compared_name(measure: SingleInstance) -> str | None:
    """What a comparison calls the one measure that it is about."""
    match measure:
        case TimeMeasure():
            return "duration"
        case CountMeasure():
            return "times"
        case DataMeasure(attribute=name):
            return variable_for(name)
        case _:
            return None


def _read_comparison(cursor: Cursor) -> SingleInstance:
    """Whether a measure compares in some way with a value, or is true."""
    about = _NOUNS.read(cursor)
    if cursor.accept("is true"):
        return about
    operator, word = _COMPARISONS.read(cursor), cursor.next
    value = VALUE.read(cursor)
    if isinstance(about, TimeMeasure) and isinstance(value, NumberLiteral):
        message = f"a duration is compared with a duration: {word} of what?"
        raise cursor.refusal(message, f"write the unit, as in {word.written} hours", at=word)
    has_missing = _MISSING.behind(cursor, cursor.index) is not None
    name = str(_compared_name(about))
    formula = Binary(operator, Name(name), value, position=value.position)
    missing = _MISSING.read(cursor) if has_missing else None
    return DerivedSingleInstance(formula, ((name, about),), missing)


def _comparison_words(measure: SingleInstance, _unsaid: object = None) -> str | None:
    """A formula that compares one measure with a fixed value, or a measure that is true."""
    if not isinstance(measure, DerivedSingleInstance):
        about = _NOUNS.write(measure)
        return about and f"{about} is true"
    match measure.formula, measure.variables:
        case Binary(left=Name(name)) as formula, ((variable, compared),) if (
            name == variable == _compared_name(compared)
        ):
            verb, value = _COMPARISONS.write(formula.operator), VALUE.write(formula.right)
            if verb is None or value is None:
                return None
            missing = "" if measure.missing is None else f" {_MISSING.write(measure.missing)}"
            return f"{_NOUNS.write(compared)} {verb} {value}{missing}"
    return None


def _read_stated_formula(cursor: Cursor) -> SingleInstance:
    start, measure = cursor.next, _read_formula(cursor)
    if isinstance(measure, DerivedSingleInstance):
        return measure
    message = "a statement is about one case, but this formula is about many"
    raise cursor.refusal(message, at=start)


def _at_formula(cursor: Cursor, at: int) -> int | None:
    """What begins like a measure and is none, is no formula either."""
    return None if cursor.words[at].is_word("the") else OPEN


def _activity_values(measure: SingleInstance) -> Mapping[str, Any] | None:
    """An activity needs no more words."""
    if not isinstance(measure, ConditionMeasure):
        return None
    is_plain = condition_words(measure.when).startswith('activity "')
    return {"when": measure.when} if is_plain else None


_HAPPENS = pattern_of(ConditionMeasure, "<when>", when=ACTIVITY)
_STATEMENTS: Choice[SingleInstance] = Choice(
    "a statement",
    (
        replace(_HAPPENS, values=_activity_values),
        pattern_of(ConditionMeasure, "at some time <when>", when=CONDITION),
        pattern_of(StateMeasure, "at the last event of the case <holds>", holds=EXPRESSION),
        pattern_of(
            StateMeasure, "at the last event where <of>, <holds>", of=EXPRESSION, holds=EXPRESSION
        ),
        Part(_read_comparison, _comparison_words, _NOUNS.behind),
        Part(_read_stated_formula, _formula_words, _at_formula),
    ),
)


def _is_statement(measure: Measure) -> Mapping[str, Any] | None:
    short = isinstance(measure, DerivedSingleInstance) and _comparison_words(measure)
    is_one = short or isinstance(measure, ConditionMeasure | StateMeasure)
    return {"statement": measure} if is_one else None


_WHETHER: Form[SingleInstance] = Pattern(
    "whether <statement>",
    {"statement": STATEMENT},
    lambda _cursor, _first, values: values["statement"],
    _is_statement,
)

# --- measures of many cases -----------------------------------------------------------


def _grouping(cursor: Cursor, _first: Word, values: dict[str, Any]) -> Grouping:
    by, keys = values["by"], values.get("keys") or cursor.dialect.groups.get(values["by"].attribute)
    if keys is None:
        example = f'as in grouped by the last value of {by.attribute[:40]} into "x" and "y"'
        raise cursor.unexpected(hint=f"only groups that are listed are answered, {example}")
    return Grouping(by, keys)


_GROUPING = Pattern(
    "<by>[ into <keys>]",
    {"by": _DATA, "keys": KEYS},
    _grouping,
    lambda grouping: {"by": grouping.by, "keys": grouping.keys},
)

_UNKNOWN = Fixed(
    {
        "any amount": Bounding.DECLARED,
        "within private bounds": Bounding.PRIVATE,
        "within loose bounds": Bounding.LOOSE,
    }
)
_FITS = Fixed({"loosely ": Bounding.LOOSE, "privately ": Bounding.PRIVATE, "": Bounding.DECLARED})

_Counting = tuple[Bounds | None, Bounding, Kind | None]
"""What a case contributes, how well that is known, and its kind if it is known as well."""


def _read_counting(cursor: Cursor) -> _Counting:
    if _UNKNOWN.behind(cursor, cursor.index) is not None:
        return None, _UNKNOWN.read(cursor), None
    bounding = _FITS.read(cursor)
    cursor.expect("at least")
    start, low = cursor.next, read_amount(cursor)
    cursor.expect("and at most")
    high = read_amount(cursor)
    in_time = bool(low.unit or high.unit)
    # 0 needs no unit.
    if in_time and any(not limit.unit and limit.number for limit in (low, high)):
        message = "one of these bounds is a duration, but the other is not"
        raise cursor.refusal(message, "give both a unit of time", at=start)
    if not low.internal < high.internal:
        raise cursor.refusal("the lower bound must be below the upper one", at=start)
    bounds = Bounds(low.internal, high.internal)
    return bounds, bounding, Kind.DURATION if in_time else Kind.NUMBER


def _counting_words(counting: _Counting, unsaid: Kind | None) -> str | None:
    bounds, bounding, kind = counting
    if bounds is None:
        return _UNKNOWN.write(bounding)
    literal = DurationLiteral if (kind or unsaid) is Kind.DURATION else NumberLiteral
    low, high = render(literal(bounds.low)), render(literal(bounds.high))
    if literal is DurationLiteral and bounds.low == 0 and "/" not in high:
        low = f"0 {high.split()[-1].removesuffix('s')}s"
    return f"{_FITS.write(bounding)}at least {low} and at most {high}"


def _read_limits(cursor: Cursor) -> tuple[Fraction, ...]:
    limits: list[Fraction] = []
    for word in each_of(cursor, WordKind.NUMBER):
        limit = read_amount(cursor).internal
        if limits and limit <= limits[-1]:
            raise cursor.refusal("limits must be in rising order, without repeats", at=word)
        limits.append(limit)
    return tuple(limits)


def _limits_words(said: tuple[Sequence[Fraction], Kind | None], unsaid: Kind | None) -> str | None:
    limits, kind = said
    literal = DurationLiteral if (kind or unsaid) is Kind.DURATION else NumberLiteral
    return in_turn([render(literal(limit)) for limit in limits])


_GROUPED, _FILTERED = "[ grouped by <grouping>]", "[ filtered by <filter>]"
_LIMITED = "[, in bins up to <limits>]"
_TAIL = "[, each case counting <counting>][, as part of <within>]"


def _aggregate(
    text: str, function: Aggregation, base: Form[SingleInstance], only: Form[SingleInstance]
) -> Pattern[AggregatedMeasure]:
    """The phrase for an aggregation; without a base it counts all cases."""

    def build(cursor: Cursor, first: Word, said: dict[str, Any]) -> AggregatedMeasure:
        base = said.pop("base", EVERY_CASE)
        usual, is_truth = usual_bounds(function, base), usual_bounds(function, base) is not None
        bounds, bounding, kind = said.pop("counting", (usual, Bounding.DECLARED, None))
        wanted = Kind.NUMBER if is_truth else measure_kind(base, None)
        if kind is Kind.NUMBER and wanted is Kind.DURATION:
            message = "a case contributes a duration, but these bounds have no unit of time"
            raise cursor.refusal(message, "as in at most 30 days", at=first)
        if kind is Kind.DURATION and wanted is Kind.NUMBER:
            message = "a case contributes a number, but these bounds are durations"
            raise cursor.refusal(message, "write plain numbers", at=first)
        place = cursor.place(first)
        return AggregatedMeasure(
            function, base, bounds=bounds, bounding=bounding, position=place, **said
        )

    def values(measure: Measure) -> Mapping[str, Any] | None:
        if not isinstance(measure, AggregatedMeasure) or measure.function is not function:
            return None
        if function is Aggregation.COUNT and (measure.base == EVERY_CASE) == ("<base>" in text):
            return None
        bounds = measure.bounds, measure.bounding
        goes_unsaid = bounds == (usual_bounds(function, measure.base), Bounding.DECLARED)
        said = None if goes_unsaid else (*bounds, measure_kind(measure.base, None))
        names = ("base", "filter", "grouping", "within", "percent")
        limits = (measure.limits, measure_kind(measure.base, None)) if measure.limits else None
        own = {name: getattr(measure, name) for name in names}
        return {**own, "counting": said, "limits": limits}

    blanks: dict[str, Form[Any]] = {
        "base": base,
        "filter": only,
        "grouping": _GROUPING,
        "counting": Part(_read_counting, _counting_words),
        "within": VARIABLE,
        "percent": Part(_read_percent, lambda percent, _: ordinal(percent), _at_percent),
        "limits": Part(_read_limits, _limits_words),
    }
    return Pattern(text + _TAIL, blanks, build, values)


def _read_percent(cursor: Cursor) -> int:
    word = cursor.take()
    digits = word.written.rstrip("stndrhSTNDRH")
    if not digits.isdigit() or not 1 <= int(digits) <= 99:
        message = f"percentiles go from the 1st to the 99th, but this is {word}"
        raise cursor.refusal(message, at=word)
    return int(digits)


def _at_percent(cursor: Cursor, at: int) -> int | None:
    return at + 1 if cursor.words[at].kind in (WordKind.ORDINAL, WordKind.NUMBER) else None


_SHARE = "the share of cases in which <base>[ among the cases in which <filter>]"
_VALUED = "the number of cases with a value of <base>"
_AGGREGATES = (
    _aggregate(_SHARE + _GROUPED, Aggregation.SHARE, STATEMENT, STATEMENT),
    _aggregate(_VALUED + _GROUPED + _FILTERED, Aggregation.COUNT, SINGLE, SINGLE),
    _aggregate(
        f"the number of cases[ in which <filter>]{_GROUPED}", Aggregation.COUNT, SINGLE, STATEMENT
    ),
    *(
        _aggregate(f"the {word} of <base>{_GROUPED}{_FILTERED}", function, SINGLE, SINGLE)
        for word, function in (
            *_FUNCTIONS.items(),
            ("<percent> percentile", Aggregation.PERCENTILE),
        )
    ),
    _aggregate(
        f"the distribution of <base>{_GROUPED}{_FILTERED}{_LIMITED}",
        Aggregation.DISTRIBUTION,
        SINGLE,
        SINGLE,
    ),
)
_MEASURES: Choice[Measure] = Choice(
    "a measure",
    (*_AGGREGATES, *_NOUNS.forms, _WHETHER, _FUNCTION),
    "as in the duration between …, the number of times …, the last value of …, whether …, "
    "the average of …, the share of cases in which …",
)

# --- scopes ---------------------------------------------------------------------------

_CASE = "case"


def _read_many(cursor: Cursor) -> tuple[int, str]:
    """So many of some unit: of the calendar, or cases."""
    has_number = cursor.next.kind is WordKind.NUMBER
    word = cursor.words[cursor.index + has_number]
    unit = word.said.removesuffix("s")
    if word.kind is not WordKind.WORD or unit not in (*Calendar, _CASE):
        cursor.index += has_number
        raise cursor.unexpected("a unit such as 'month'")
    most, what = (MAX_CASES, "the last cases") if unit == _CASE else (MAX_COUNT, "periods")
    number = whole_number(cursor, 1, most, what) if has_number else 1
    cursor.take()
    return number, unit


def _many_words(number: int, unit: str) -> str:
    return unit if number == 1 else f"{number} {unit}s"


def _read_recent(cursor: Cursor) -> Recent:
    word, (number, unit) = cursor.next, _read_many(cursor)
    if unit == _CASE:
        raise cursor.refusal("periods are counted in units such as 'month'", at=word)
    return Recent(number, Calendar(unit))


def _read_last(cursor: Cursor) -> Recent | int:
    number, unit = _read_many(cursor)
    return number if unit == _CASE else Recent(number, Calendar(unit))


def _last_words(last: Recent | int, _unsaid: object) -> str:
    return _many_words(last, _CASE) if isinstance(last, int) else _many_words(last.count, last.unit)


def _read_day(cursor: Cursor) -> date:
    word = cursor.take_kind("a day, as in 2014-01-31", WordKind.DATE)
    try:
        return day_of_scope(word.written)
    except ValueError as error:
        raise cursor.refusal(str(error), at=word) from None


def _scope(cursor: Cursor, first: Word, values: dict[str, Any]) -> Scope:
    every, last, recent = values.get("every"), values.get("last"), values.get("recent")
    start, until, anchor = values.get("start"), values.get("until"), values.get("anchor")
    if "to" in values:
        until = values["to"] + timedelta(days=1)
    if isinstance(last, Recent):
        last, recent = None, recent or last
    grid = Grid(every.unit, every.count) if every else None
    if problem := scope_problem(grid, start, until, recent):
        raise cursor.refusal(problem, at=first)
    placed = Anchor(anchor.moment, anchor.pick or Pick.LAST) if anchor else None
    return Scope(grid, start, until, recent, last, values.get("cases"), placed)


def _scope_values(scope: Scope) -> Mapping[str, Any]:
    """The whole time is named by its last day, anything else by the day behind that."""
    grid, anchor, recent, until = scope.grid, scope.anchor, scope.recent, scope.until
    last = scope.last_cases or (None if grid else recent)
    is_whole = grid is None and last is None
    by_last_day = is_whole and until is not None and until != date.min
    return {
        "whole": True if is_whole else None,
        "every": grid and Recent(grid.count, grid.unit),
        "last": last,
        "start": scope.start,
        "until": None if by_last_day else until,
        "to": until - timedelta(days=1) if until is not None and by_last_day else None,
        "recent": None if last is recent else recent,
        "cases": scope.cases,
        "anchor": anchor and instant_of(anchor.moment, anchor.pick, Pick.LAST),
    }


_BEHIND_SCOPE = (
    "[ from <start>][ until <until>][ to <to>][ of the last <recent>]"
    "[, only cases in which <cases>][, placed at <anchor>]"
)
_SCOPE_BLANKS: dict[str, Form[Any]] = {
    "whole": Fixed({"the whole time": True}),
    "every": Part(_read_recent, _last_words),
    "last": Part(_read_last, _last_words),
    **dict.fromkeys(("start", "until", "to"), Part(_read_day, lambda day, _: str(day))),
    "recent": Part(_read_recent, _last_words),
    "cases": STATEMENT,
    "anchor": INSTANT,
}
SCOPE: Form[Scope] = Choice(
    "a scope",
    tuple(
        Pattern(cut + _BEHIND_SCOPE, _SCOPE_BLANKS, _scope, _scope_values)
        for cut in ("every <every>", "the last <last>", "<whole>")
    ),
    "as in every month",
)
