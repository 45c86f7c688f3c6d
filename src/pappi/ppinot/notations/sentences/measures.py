"""Measures of any kind: of one case, and of many.

the <aggregation> of <measure of a case> [grouped by …] [filtered by …] [, each case …]
the share of cases in which <statement> [among the cases in which <statement>]
the number of cases [in which <statement>]
the function <formula> where <variable> is <measure>, …
whether <statement>

They hold each other: a formula is over measures, a measure may be filtered by a statement, and a
statement may be a formula.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from pappi.ppinot.expressions.nodes import (
    Binary,
    DurationLiteral,
    Expression,
    Name,
    NumberLiteral,
    Operator,
    TruthLiteral,
    names_in,
    walk,
)
from pappi.ppinot.expressions.parser import refusal
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
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
    Occurs,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    measure_kind,
)
from pappi.ppinot.notations.building import misplaced_parts, substituted, usual_bounds
from pappi.ppinot.notations.sentences.events import (
    FOLLOWING,
    HAPPENS,
    at_noun,
    at_public_attribute,
    at_sequence,
    data,
    event_condition,
    moment,
    named_condition,
    noun,
    unquoted,
)
from pappi.ppinot.notations.sentences.expressions import (
    COMPARING,
    COUNTS,
    amount,
    comparator,
    comparison,
    date_value,
    expression,
    fixed_value,
    is_operand,
    plain_number,
    text_of,
    time_amount,
)
from pappi.ppinot.notations.sentences.render import MISSING, variable_name
from pappi.ppinot.notations.sentences.words import Cursor, Word, WordKind
from pappi.ppinot.wording import did_you_mean, quoted
from pappi.values import DURATIONS, Bounds, Calendar, CaseBorder, Kind

_AGGREGATIONS = {
    Aggregation.MEAN: ("average", "mean", "avg"),
    Aggregation.SUM: ("sum", "total"),
    Aggregation.MAX: ("maximum", "max", "longest", "highest"),
    Aggregation.MIN: ("minimum", "min", "shortest", "lowest"),
    Aggregation.MEDIAN: ("median",),
    Aggregation.SHARE: ("share", "percentage", "proportion", "fraction", "ratio", "percent", "%"),
}


def measure(cursor: Cursor) -> Measure:
    """The measure that comes next, in parentheses or not."""
    with cursor.nested():
        if not cursor.next.is_symbol("("):
            return _measure(cursor)
        cursor.take()
        # What is inside closes its own lists of variables.
        outside, cursor.waiting = cursor.waiting, []
        inside = measure(cursor)
        cursor.waiting = outside
        cursor.expect(")")
        return inside


def _measure(cursor: Cursor) -> Measure:
    start = cursor.next
    cursor.skip("the", "a", "an", "of")
    if cursor.also("function"):
        return _formula(cursor)
    if cursor.also("whether"):
        return _statement(cursor)
    for function, phrases in _AGGREGATIONS.items():
        if cursor.also(*phrases):
            return _aggregated(cursor, function, start)
    if cursor.next.kind in (WordKind.ORDINAL, WordKind.NUMBER) and cursor.word(1).is_word(
        "percentile"
    ):
        return _aggregated(cursor, Aggregation.PERCENTILE, start, _percent(cursor))
    if cursor.also("number of cases", "number of process instances"):
        return _number_of_cases(cursor, start)
    return data(cursor, Pick.LAST) if _at_attribute(cursor) else noun(cursor)


def _at_attribute(cursor: Cursor) -> bool:
    """Whether an attribute stands for its last value."""
    named = cursor.next.kind is WordKind.NAME or cursor.says("attribute")
    return named or (not at_noun(cursor) and at_public_attribute(cursor))


def _single(cursor: Cursor) -> SingleInstance:
    """A measure that is about one case."""
    start = cursor.next
    inner = measure(cursor)
    if isinstance(inner, AggregatedMeasure | DerivedMultiInstance):
        message = "this must be a measure of one case, but it combines many"
        hint = "as in the number of times …, the duration between …, whether …"
        raise cursor.refusal(message, hint, at=start)
    return inner


# --- aggregations ---------------------------------------------------------------------


def _aggregated(
    cursor: Cursor, function: Aggregation, start: Word, percent: int | None = None
) -> Measure:
    place = cursor.place(start)
    if function is Aggregation.SHARE:
        cursor.expect("of")
        cursor.expect(*CASES)
        return _modified(cursor, AggregatedMeasure(function, in_which(cursor), position=place))
    if cursor.also("of"):
        base = _single(cursor)
    elif cursor.also("number of cases"):
        return _number_of_cases(cursor, start)
    elif _at_attribute(cursor):
        base = data(cursor, Pick.LAST)
    elif any(cursor.says(word) for words in _AGGREGATIONS.values() for word in words):
        base = _single(cursor)
    else:
        # "the average duration between …", which may also be about the pairs of one case.
        base = noun(cursor, Cycles(function.value) if function.value in tuple(Cycles) else None)
        if isinstance(base, TimeMeasure) and base.cycles is not None:
            return base
    return _modified(cursor, AggregatedMeasure(function, base, percent=percent, position=place))


def _percent(cursor: Cursor) -> int:
    word = cursor.take()
    digits = word.written.rstrip("stndrhSTNDRH")
    if not digits.isdigit() or not 1 <= int(digits) <= 99:
        message = f"percentiles go from the 1st to the 99th, but this is {word}"
        raise cursor.refusal(message, at=word)
    cursor.expect("percentile")
    return int(digits)


def _number_of_cases(cursor: Cursor, start: Word) -> AggregatedMeasure:
    place = cursor.place(start)
    if cursor.also("with a value of"):
        counted = AggregatedMeasure(Aggregation.COUNT, _single(cursor), position=place)
    else:
        cursor.at(*_IN_WHICH)
        leads = (*_IN_WHICH, *_WITH, "without", *_TAKES)
        chosen = in_which(cursor) if any(map(cursor.says, leads)) else None
        counted = AggregatedMeasure(Aggregation.COUNT, EVERY_CASE, chosen, position=place)
    return _modified(cursor, counted)


# --- modifiers: groups, which cases count, and bounds ---------------------------------

CASES = ("cases", "the cases", "all cases", "process instances")
_GROUPED = ("grouped by", "per", "by", "for each")
_AMONG = ("among", "over", "for", "of")
_FITS = {"loosely": Bounding.LOOSE, "privately": Bounding.PRIVATE}
_UNKNOWN = {
    "any amount": Bounding.DECLARED,
    "within private bounds": Bounding.PRIVATE,
    "within loose bounds": Bounding.LOOSE,
}


Modifier = tuple[str, dict[str, Any]]
"""What is said behind an aggregated measure: which thing, and the attributes it sets."""

_GROUPS, _CHOICE = "the groups are", "which cases count is"
_AMOUNT, _WHOLE = "how much a case counts is", "what this is part of is"


def _modified(cursor: Cursor, bare: AggregatedMeasure) -> AggregatedMeasure:
    """The measure with what is said behind it."""
    measure = replace(bare, bounds=usual_bounds(bare.function, bare.base))
    said = {_CHOICE} if bare.filter else set()
    while True:
        before = cursor.index
        if cursor.says(",") and _next_variable(cursor) is None:
            cursor.take()
        word = cursor.next
        modifier = (
            _grouped(cursor) or _filtered(cursor) or _bounded(cursor, bare) or _as_part(cursor)
        )
        if modifier is None:
            cursor.index = before
            return measure
        what, attributes = modifier
        if what in said:
            hint = "join the two with 'and'" if what == _CHOICE and bare.filter else ""
            raise cursor.refusal(f"{what} said twice", hint, at=word)
        said.add(what)
        measure = replace(measure, **attributes)


def _grouped(cursor: Cursor) -> Modifier | None:
    phrase = cursor.at(*_GROUPED)
    if phrase is None or unit_at(cursor, len(phrase.split())) is not None:
        return None
    cursor.accept(*_GROUPED)
    start = cursor.next
    if at_noun(cursor):
        by = noun(cursor)
    else:
        cursor.skip("the")
        by = data(cursor, Pick.LAST)
    if not isinstance(by, DataMeasure):
        message = "cases are grouped by the value of an attribute"
        raise cursor.refusal(message, "as in grouped by the last value of channel", at=start)
    return _GROUPS, {"grouping": Grouping(by, _keys(cursor, by))}


def unit_at(cursor: Cursor, ahead: int) -> Calendar | None:
    """The calendar unit that stands there, as in "per month" or "every 2 weeks"."""
    ahead += cursor.word(ahead).kind is WordKind.NUMBER
    word = cursor.word(ahead)
    name = word.said.removesuffix("s")
    return Calendar(name) if word.kind is WordKind.WORD and name in tuple(Calendar) else None


def _keys(cursor: Cursor, by: DataMeasure) -> tuple[str, ...]:
    if not cursor.accept("into"):
        if by.attribute in cursor.reading.groups:
            return cursor.reading.groups[by.attribute]
        example = f'as in grouped by {by.attribute[:40]} into "x" and "y"'
        raise cursor.unexpected(f"only groups that are listed are answered, {example}")
    keys: dict[str, None] = {}
    while True:
        word = cursor.accept_kind(WordKind.TEXT, "a group in quotes")
        if word is None:
            raise cursor.unexpected()
        key = text_of(cursor, word)
        if key in keys:
            raise cursor.refusal(f"the group {quoted(key)} appears twice", at=word)
        keys[key] = None
        ahead = int(cursor.says(","))
        ahead += cursor.says("and", ahead)
        if not ahead or cursor.word(ahead).kind is not WordKind.TEXT:
            return tuple(keys)
        cursor.index += ahead


def _filtered(cursor: Cursor) -> Modifier | None:
    if cursor.accept("filtered by"):
        return _CHOICE, {"filter": _single(cursor)}
    if cursor.next.is_word(*_AMONG) and any(cursor.says(cases, 1) for cases in CASES):
        cursor.take()
        cursor.expect(*CASES)
        return _CHOICE, {"filter": in_which(cursor)}
    cursor.know("among the cases in which")
    return None


def _bounded(cursor: Cursor, measure: AggregatedMeasure) -> Modifier | None:
    word = cursor.next
    if not cursor.also("each case counting"):
        return None
    if unknown := cursor.also(*_UNKNOWN):
        return _AMOUNT, {"bounds": None, "bounding": _UNKNOWN[unknown]}
    fit = cursor.also(*_FITS)
    cursor.expect("at least", "from")
    start, low = cursor.next, amount(cursor)
    cursor.expect("and at most", "to")
    high = amount(cursor)
    in_time = bool(low.unit or high.unit)
    # 0 needs no unit.
    if in_time and any(not limit.unit and limit.number for limit in (low, high)):
        message = "one of these bounds is a duration, but the other is not"
        raise cursor.refusal(message, "give both a unit of time", at=start)
    if not low.internal < high.internal:
        raise cursor.refusal("the lower bound must be below the upper one", at=start)
    is_number = usual_bounds(measure.function, measure.base) is not None
    kind = Kind.NUMBER if is_number else measure_kind(measure.base, None)
    if kind is Kind.DURATION and not in_time:
        message = "a case contributes a duration, but these bounds have no unit of time"
        raise cursor.refusal(message, "as in at most 30 days", at=word)
    if kind is Kind.NUMBER and in_time:
        message = "a case contributes a number, but these bounds are durations"
        raise cursor.refusal(message, "write plain numbers", at=word)
    bounding = _FITS[fit] if fit else Bounding.DECLARED
    return _AMOUNT, {"bounds": Bounds(low.internal, high.internal), "bounding": bounding}


def _as_part(cursor: Cursor) -> Modifier | None:
    if not cursor.also("as part of"):
        return None
    return _WHOLE, {"within": _variable(cursor, "a variable of the same formula")}


# --- formulas -------------------------------------------------------------------------
# A list of variables inside another one ends where nothing in its own formula needs the next
# name, and a formula around it does. Parentheses around a measure end all lists inside.

_WHERE = ("where", ", where")


@dataclass(slots=True)
class _Variables:
    """What the names of a formula stand for: measures, or fixed values that replace them."""

    measures: dict[str, Measure] = field(default_factory=dict)
    constants: dict[str, Expression] = field(default_factory=dict)
    said: dict[str, Word] = field(default_factory=dict)


def _formula(cursor: Cursor) -> DerivedSingleInstance | DerivedMultiInstance:
    """What stands behind "the function"."""
    start = cursor.next
    formula = expression(cursor, "a formula")
    missing = _if_missing(cursor)
    variables = _explained(cursor, formula) if cursor.also(*_WHERE) else _Variables()
    return _derived(cursor, formula, variables, missing, start)


def _stated_formula(cursor: Cursor) -> DerivedSingleInstance:
    """A formula that is a statement: names that nothing explains are attributes of the case."""
    start = cursor.next
    formula = expression(cursor, "a statement")
    missing = _if_missing(cursor)
    if not cursor.also(*_WHERE):
        return _of_attributes(formula, missing)
    derived = _derived(cursor, formula, _explained(cursor, formula), missing, start)
    if not isinstance(derived, DerivedSingleInstance):
        message = "a statement is about one case, but this formula is about many"
        raise cursor.refusal(message, at=start)
    return derived


def _if_missing(cursor: Cursor) -> Missing | None:
    """What a formula gives without a value of its variables, if that is said here."""
    for choice, words in MISSING.items():
        if cursor.also(words.replace("(", "( ").replace(")", " )")):
            return choice
    return None


def _of_attributes(formula: Expression, missing: Missing | None) -> DerivedSingleInstance:
    """The formula over the last values of the attributes that it names."""
    variables: dict[str, DataMeasure] = {}
    names: dict[str, Expression] = {}
    for node in walk(formula):
        if isinstance(node, Name) and node.name not in names:
            about = DataMeasure(node.name, position=node.position)
            name = plain = variable_name(about) or "data"
            count = 1
            while name in variables:
                count += 1
                name = f"{plain}{count}"
            variables[name], names[node.name] = about, Name(name)
    return DerivedSingleInstance(substituted(formula, names), tuple(variables.items()), missing)


def _explained(cursor: Cursor, formula: Expression) -> _Variables:
    """The list of variables behind "where"."""
    variables, needed = _Variables(), set(names_in(formula))
    cursor.waiting.append(needed)
    while True:
        word = cursor.next
        name = _variable(cursor, "a variable of the formula")
        if name in variables.said:
            raise cursor.refusal(f"the variable {quoted(name)} is explained twice", at=word)
        variables.said[name] = word
        needed.discard(name)
        cursor.expect("is")
        constant = _constant(cursor)
        if constant is None:
            variables.measures[name] = measure(cursor)
        else:
            variables.constants[name] = constant
        ahead = _next_variable(cursor)
        if ahead is None:
            break
        # The next variable may belong to a formula around this one.
        following = _name(cursor, cursor.word(ahead))
        if following not in needed and any(following in names for names in cursor.waiting[:-1]):
            break
        cursor.index += ahead
    cursor.waiting.pop()
    return variables


def _variable(cursor: Cursor, what: str) -> str:
    cursor.want_thing(what)
    if cursor.next.kind not in (WordKind.WORD, WordKind.NAME):
        raise cursor.unexpected()
    return _name(cursor, cursor.take())


def _name(cursor: Cursor, word: Word) -> str:
    return text_of(cursor, word) if word.kind is WordKind.NAME else word.written


def _next_variable(cursor: Cursor) -> int | None:
    """How many words ahead the next variable of a list stands, if the list goes on."""
    ahead = int(cursor.says(","))
    ahead += cursor.says("and", ahead)
    named = cursor.word(ahead).kind in (WordKind.WORD, WordKind.NAME)
    return ahead if ahead and named and cursor.says("is", ahead + 1) else None


def _derived(
    cursor: Cursor,
    formula: Expression,
    variables: _Variables,
    missing: Missing | None,
    start: Word,
) -> DerivedSingleInstance | DerivedMultiInstance:
    _check_names(cursor, formula, variables)
    formula = substituted(formula, variables.constants)
    singles: dict[str, SingleInstance] = {}
    multis: dict[str, MultiInstance] = {}
    for name, variable in variables.measures.items():
        if isinstance(variable, AggregatedMeasure | DerivedMultiInstance):
            multis[name] = variable
        else:
            singles[name] = variable
        if singles and multis:
            message = "a formula combines measures of one case or of many cases, not both"
            raise cursor.refusal(message, at=variables.said[name])
    if not multis:
        return DerivedSingleInstance(formula, tuple(singles.items()), missing)
    if missing is not None:
        message = "only a formula over one case can say what happens if a value is missing"
        raise cursor.refusal(message, at=start)
    for name, _, whole, sums in misplaced_parts(multis.items()):
        message = f"'as part of' names another sum of this formula, not {quoted(whole)}"
        raise cursor.refusal(message, did_you_mean(whole, sums), at=variables.said[name])
    return DerivedMultiInstance(formula, tuple(multis.items()))


def _check_names(cursor: Cursor, formula: Expression, variables: _Variables) -> None:
    """Refuses names that are not explained, and explanations of names that are not used."""
    explained = [*variables.measures, *variables.constants]
    for node in walk(formula):
        if isinstance(node, Name) and node.name not in explained:
            message = f"the formula does not say what {quoted(node.name)} is"
            otherwise = f"say what it is: where {node.name[:40]} is …"
            raise refusal(node.position, message, did_you_mean(node.name, explained, otherwise))
    used = names_in(formula)
    for name in explained:
        if name not in used:
            message = f"the formula does not use the variable {quoted(name)}"
            raise cursor.refusal(message, at=variables.said[name])


def _constant(cursor: Cursor) -> Expression | None:
    """A fixed value, which ppinot4py has among the variables; None if a measure comes next.

    A number, a duration such as `1 days 02:00:00`, a date or a truth value.
    """
    word, place = cursor.next, cursor.position
    if word.is_word("true", "false"):
        return TruthLiteral(cursor.take().said == "true", position=place)
    if word.kind is WordKind.DATE:
        return date_value(cursor)
    if word.kind is WordKind.CLOCK:
        return DurationLiteral(_clock(cursor), position=place)
    if word.kind is not WordKind.NUMBER and not word.is_symbol("-"):
        return None
    size = amount(cursor)
    if not size.unit:
        return NumberLiteral(size.number, position=place)
    if cursor.next.is_symbol(",") and cursor.word(1).kind is WordKind.CLOCK:
        cursor.take()
    return DurationLiteral(size.internal + _clock(cursor), position=place)


def _clock(cursor: Cursor) -> Fraction:
    """The microseconds of a time such as 02:00:00, or 0 if there is none."""
    if cursor.next.kind is not WordKind.CLOCK:
        return Fraction(0)
    hours, minutes, seconds = cursor.take().written.split(":")
    whole = int(hours) * DURATIONS["hours"] + int(minutes) * DURATIONS["minutes"]
    return whole + Fraction(seconds) * DURATIONS["seconds"]


# --- statements: what is so in a case -------------------------------------------------

_IN_WHICH = ("in which", "where", "for which", "such that", "when", "whose", "that")
_WITH = ("with", "that have")
_TAKES = ("takes", "take", "taking", "lasts")
_NEVER = ("never occurs", "never happens", "does not occur", "does not happen")
_VERBS = ("never", "does", *(phrase.split()[0] for phrase in HAPPENS))
_NO_TIMES = NumberLiteral(Fraction(0))
_OFTEN = {"once": 1, "twice": 2}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def in_which(cursor: Cursor) -> SingleInstance:
    """A statement about cases, with the words that lead to it: "in which …", "with …"."""
    if cursor.also("without"):
        cursor.skip("a", "an", "any")
        return _how_often(cursor, _named(cursor), Operator.EQUAL, _NO_TIMES)
    if cursor.also(*_WITH):
        return _having(cursor)
    if cursor.next.is_word(*_TAKES):
        return _taking(cursor)
    cursor.expect(*_IN_WHICH)
    return _statement(cursor)


def _statement(cursor: Cursor) -> SingleInstance:
    """One statement, or several that hold together or of which one holds."""
    clauses = [_clause(cursor)]
    joins: set[Operator] = set()
    while cursor.next.is_word("and", "or") and _next_variable(cursor) is None:
        word = cursor.take()
        joins.add(Operator(word.said))
        if len(joins) > 1:
            message = "'and' and 'or' in one statement can be read in two ways"
            raise cursor.refusal(message, "write a formula: a and (b or c) where a is …", at=word)
        clauses.append(_clause(cursor))
        if len(clauses) > len(_LETTERS):
            raise cursor.refusal(f"a statement has at most {len(_LETTERS)} parts")
    if len(clauses) == 1:
        return clauses[0]
    variables, operator = tuple(zip(_LETTERS, clauses, strict=False)), joins.pop()
    formula: Expression = Name("a")
    for name, _ in variables[1:]:
        formula = Binary(operator, formula, Name(name))
    return DerivedSingleInstance(formula, variables)


def _clause(cursor: Cursor) -> SingleInstance:
    if cursor.also("at some time"):
        return ConditionMeasure(event_condition(cursor))
    if cursor.also("at the last event of the case"):
        return StateMeasure(expression(cursor, "a condition on events"))
    if cursor.also("at the last event where"):
        of = expression(cursor, "a condition on events")
        cursor.expect(",")
        return StateMeasure(expression(cursor, "a condition on events"), of)
    if at_noun(cursor):
        return _compared(cursor, noun(cursor))
    if _subject_takes(cursor):
        return _taking(cursor)
    return _event(cursor) or _so_many(cursor) or _other(cursor)


def _other(cursor: Cursor) -> SingleInstance:
    """A formula; what is no statement of any other kind and begins like one is none either."""
    cursor.want_thing("a statement")
    if cursor.says("the") and not is_operand(cursor.words, cursor.index):
        return _compared(cursor, noun(cursor))
    word = cursor.next
    stated = _stated_formula(cursor)
    if not isinstance(stated.formula, Name) or cursor.next.kind is not WordKind.WORD:
        return stated
    if cursor.next.is_word("is", "exceeds") and len(stated.variables) == 1:
        return _compared(cursor, stated.variables[0][1])
    if cursor.next.said not in FOLLOWING or cursor.next.is_word(*_VERBS):
        raise cursor.refusal(*unquoted(word.written), at=word)
    return stated


def _compared(cursor: Cursor, about: SingleInstance) -> SingleInstance:
    """Whether a measure compares in some way with a value, or is true."""
    if cursor.also("is true"):
        return about
    operator = comparison(cursor)
    word = cursor.next
    value = fixed_value(cursor)
    if isinstance(about, TimeMeasure) and isinstance(value, NumberLiteral):
        message = f"a duration is compared with a duration: {word} of what?"
        raise cursor.refusal(message, f"write the unit, as in {word.written} hours", at=word)
    return _that(about, operator, value, _if_missing(cursor))


def _that(
    about: SingleInstance, operator: Operator, value: Expression, missing: Missing | None = None
) -> DerivedSingleInstance:
    """A truth value: whether a measure compares so with a value."""
    name = variable_name(about) or "measured"
    formula = Binary(operator, Name(name), value, position=value.position)
    return DerivedSingleInstance(formula, ((name, about),), missing)


def _subject_takes(cursor: Cursor) -> bool:
    """Whether it is said how long the case takes; who takes it is passed over."""
    for subject in ("", "it", "the case"):
        ahead = len(subject.split())
        behind = cursor.word(ahead + 1)
        known = behind.is_word(*COMPARING) or behind.kind is WordKind.NUMBER
        if cursor.says(subject) and cursor.word(ahead).is_word(*_TAKES) and known:
            cursor.index += ahead
            return True
    return False


def _taking(cursor: Cursor) -> DerivedSingleInstance:
    cursor.expect(*_TAKES)
    operator = comparator(cursor) or Operator.EQUAL
    about = TimeMeasure(CaseBorder.START, CaseBorder.END)
    return _that(about, operator, time_amount(cursor), _if_missing(cursor))


# --- whether and how often something happens ------------------------------------------


def _named(cursor: Cursor) -> Expression:
    condition = named_condition(cursor)
    if condition is None:
        raise cursor.unexpected()
    return condition


def _event(cursor: Cursor) -> SingleInstance | None:
    """Something that happens in the case; a name without quotes needs a verb behind it."""
    start = cursor.index
    quoted_name = cursor.word(int(cursor.says("activity"))).kind is WordKind.TEXT
    is_sure = quoted_name or cursor.says("lifecycle transition")
    if cursor.says("an event meets") or cursor.says("an event satisfies"):
        return ConditionMeasure(event_condition(cursor))
    condition = named_condition(cursor)
    if condition is None:
        return None
    if cursor.also(*_NEVER):
        return _how_often(cursor, condition, Operator.EQUAL, _NO_TIMES)
    happens = cursor.accept(*HAPPENS)
    if cursor.also("within"):
        return _soon(cursor, condition)
    before = cursor.index
    operator = comparator(cursor) or Operator.EQUAL
    if cursor.next.kind is WordKind.NUMBER or cursor.next.is_word(*_OFTEN, *COUNTS):
        return _how_often(cursor, condition, operator, _times(cursor))
    cursor.index = before
    goes_on = at_sequence(cursor)
    cursor.index = start
    return ConditionMeasure(event_condition(cursor)) if happens or is_sure or goes_on else None


def _times(cursor: Cursor) -> NumberLiteral:
    """How often something happens: "twice", "3 times"."""
    place = cursor.position
    if cursor.next.is_word(*_OFTEN):
        return NumberLiteral(Fraction(_OFTEN[cursor.take().said]), position=place)
    number = NumberLiteral(plain_number(cursor), position=place)
    cursor.also("times", "time")
    return number


def _how_often(
    cursor: Cursor, condition: Expression, operator: Operator, number: NumberLiteral
) -> SingleInstance:
    """Whether it happens so often; at least once is whether it happens."""
    when = Occurs(condition, cursor.reading.occurrence)
    if operator is Operator.AT_LEAST and number.value == 1:
        return ConditionMeasure(when)
    return _that(CountMeasure(when), operator, number)


def _so_many(cursor: Cursor) -> SingleInstance | None:
    """The same with the number first: "more than two "Payment" occur"."""
    cursor.also("there is", "there are")
    if not cursor.next.is_word(*COMPARING) or is_operand(cursor.words, cursor.index):
        return None
    operator = comparator(cursor)
    number = _NO_TIMES if operator is None and cursor.also("no") else _times(cursor)
    condition = _named(cursor)
    cursor.also("events", "occurrences", *HAPPENS)
    return _how_often(cursor, condition, operator or Operator.EQUAL, number)


def _having(cursor: Cursor) -> SingleInstance:
    if at_noun(cursor):
        return _compared(cursor, noun(cursor))
    cursor.skip("a", "an")
    valued = cursor.word(1).is_word("of", *COMPARING) and cursor.next.kind is WordKind.WORD
    if valued and not cursor.next.is_word(*COMPARING):
        return _compared(cursor, data(cursor, Pick.LAST))
    return _so_many(cursor) or _event(cursor) or ConditionMeasure(event_condition(cursor))


def _soon(cursor: Cursor, condition: Expression) -> DerivedSingleInstance:
    """One thing within some time of another: from the first of that to the next of this."""
    limit = time_amount(cursor)
    cursor.expect("of", "after")
    start, pick = moment(cursor)
    end = Occurs(condition, cursor.reading.occurrence)
    about = TimeMeasure(start, end, pick or Pick.FIRST, Pick.FIRST)
    return _that(about, Operator.AT_MOST, limit)
