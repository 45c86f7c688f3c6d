"""What a sentence is made of below its measures: expressions, names, amounts, events, instants.

In an expression, operands and operators take turns; in a sentence, words follow words. So an
expression ends at the first word that stands where an operator would have to. The one word that
both know is `and`: it goes on with the sentence where words follow that begin the next instant.

What is written into a sentence is put in parentheses where this rule would cut it short, or
where a name in it could be taken for a word of the sentence.

What `str()` of a ppinot4py measure says about events is read too, also where nobody else would say
it so: states at run time are written as `END - AppliesTo.ACTIVITY - 'Send Fine'`, and a condition
that begins with an activity and ends with another text becomes one activity, of a strange name: of
`a == 'A' and b == 'x'` comes `activity "A' and b == 'x" occurs`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pappi.errors import DefinitionError
from pappi.ppinot.expressions import (
    TRANSITION_ATTRIBUTE,
    AnyLiteral,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    Name,
    NumberLiteral,
    TextLiteral,
    activity_of,
    both,
    equals,
    is_activity,
    substituted,
)
from pappi.ppinot.grammar import MAX_LENGTH, parse_expression, quote_text, render
from pappi.ppinot.model import (
    EventCondition,
    EventSequence,
    Instant,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Pick,
)
from pappi.ppinot.notations.quantities import Quantity
from pappi.ppinot.notations.sentences.patterns import OPEN, Choice, Fixed, Form, Part, Pattern
from pappi.ppinot.notations.sentences.words import Cursor, Word, WordKind, Words
from pappi.values import DURATIONS, CaseBorder, duration_unit, quoted

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||", "?", ":", "=")
_PREFIXES = ("-", "!")
_OPENING, _CLOSING = ("(", "["), (")", "]")
_FUNCTIONS = tuple(function.value for function in Function)
_NOTHING = ("missing", "null", "none", "nil", "nan", "na")
_ATOMS = (WordKind.WORD, WordKind.NAME, WordKind.TEXT, WordKind.NUMBER, WordKind.DATE)
# What may follow the `and` between two instants.
_NEXT_INSTANT = ("the", "when", "first")

# --- expressions ----------------------------------------------------------------------


def read_expression(cursor: Cursor, thing: str = "a condition on events") -> Expression:
    """The expression that comes next; `thing` is what to call it if there is none."""
    start = cursor.index
    end = end_of_expression(cursor.words, start)
    if end == start:
        raise cursor.unexpected(thing)
    first, last = start, end
    is_bracketed = cursor.words[start].is_symbol("(") and cursor.words[end - 1].is_symbol(")")
    if is_bracketed and _after_brackets(cursor.words, start, cursor.words[end - 1].start) == end:
        first, last = start + 1, end - 1
    shift = cursor.words[first].start
    text = cursor.words.text[shift : max(shift, cursor.words[last - 1].end)]
    cursor.index = end
    parsed = parse_expression(text, lambda offset: cursor.words.origin(shift + offset))
    return in_the_log(cursor, parsed)


def in_the_log(cursor: Cursor, parsed: Expression) -> Expression:
    """The expression with attributes called as the log does."""
    names = cursor.dialect.renamed
    return substituted(parsed, {said: Name(name) for said, name in names.items()})


def spoken(expression: Expression, _unsaid: object = None) -> str:
    """An expression as it is written into a sentence."""
    text = render(expression)
    words = Words(text)
    end = end_of_expression(words, 0)
    is_whole = words[end].kind is WordKind.END
    return text if is_whole and not _is_misleading(words, end) else f"({text})"


EXPRESSION: Form[Expression] = Part(read_expression, spoken)


def _is_misleading(words: Words, end: int) -> bool:
    """Whether a name in an expression could be taken for a word of the sentence."""
    return any(
        words[index].is_word(*_NEXT_INSTANT)
        or (words[index].is_word(*_FUNCTIONS) and not words[index + 1].is_symbol("("))
        for index in range(end)
    )


def end_of_expression(words: Words, start: int) -> int:
    """The number of the first word that no longer belongs to the expression."""
    index, limit = start, words[start].start + MAX_LENGTH + len("()")
    while words[index].start <= limit:
        after = _after_operand(words, index, limit)
        if after is None:
            break
        if words[after].is_word("is"):
            # Behind `is missing` or `is not missing`, of which one is enough.
            missing = after + 1 + words[after + 1].is_word("not")
            after = missing + 1 if words[missing].is_word(*_NOTHING) else after
        following = _after_operator(words, after)
        if following is None:
            return after
        index = following
    return index


def _after_operand(words: Words, index: int, limit: int) -> int | None:
    while words[index].is_symbol(*_PREFIXES) or words[index].is_word("not"):
        index += 1
        if words[index].start > limit:
            return None
    word, following = words[index], words[index + 1]
    if word.is_symbol(*_OPENING):
        return _after_brackets(words, index, limit)
    if word.kind not in _ATOMS or word.is_word("and", "or", "in", "is"):
        return None
    if word.kind is WordKind.NUMBER and following.kind is WordKind.WORD:
        return index + (2 if duration_unit(following.said) else 1)
    if word.is_word(*_FUNCTIONS) and following.is_symbol("("):
        return _after_brackets(words, index + 1, limit)
    return index + 1


def _after_brackets(words: Words, index: int, limit: int) -> int:
    """Behind the bracket that closes this one, or behind too much for an expression."""
    depth = 0
    while words[index].kind is not WordKind.END and words[index].start <= limit:
        depth += words[index].is_symbol(*_OPENING)
        depth -= words[index].is_symbol(*_CLOSING)
        index += 1
        if depth == 0:
            break
    return index


def _after_operator(words: Words, index: int) -> int | None:
    """Where the next operand stands, or None if the expression is over."""
    word, following = words[index], words[index + 1]
    if word.is_symbol(*_OPERATORS):
        return index + 1
    if word.is_word("and", "or"):
        return None if following.is_word(*_NEXT_INSTANT) else index + 1
    after = index + word.is_word("not")
    if words[after].is_word("in") and words[after + 1].is_symbol(*_OPENING):
        return after + 1
    return None


# --- names and texts ------------------------------------------------------------------

_BEHIND_ATTRIBUTES = ("when", "is", "grouped", "filtered", "into", "among", "and", "if")
_MOST_WORDS = 8


def text_of(cursor: Cursor, word: Word) -> str:
    """What stands between quotes or backticks; any other word as it is."""
    if word.kind not in (WordKind.TEXT, WordKind.NAME):
        return word.written
    origin = cursor.words.origin
    match parse_expression(word.written, lambda offset: origin(word.start + offset)):
        case TextLiteral(text) | Name(text):
            return text
    raise AssertionError("quotes hold a text, backticks a name")


def _attribute(cursor: Cursor) -> str:
    """An attribute, as the log calls it; ppinot4py has no quotes around several words."""
    first = cursor.next
    if first.is_word(*_BEHIND_ATTRIBUTES):
        raise cursor.unexpected("an attribute")
    last = cursor.take_kind("an attribute", WordKind.WORD, WordKind.NAME)
    name = text_of(cursor, first)
    if cursor.dialect.renamed and first.kind is WordKind.WORD:
        for _ in range(_MOST_WORDS):
            if cursor.next.kind is not WordKind.WORD or cursor.next.is_word(*_BEHIND_ATTRIBUTES):
                break
            last = cursor.take()
        name = cursor.words.text[first.start : last.end]
    return cursor.dialect.renamed.get(name, name)


def _attribute_words(name: str, _unsaid: object = None) -> str:
    written = render(Name(name))
    return f"`{name}`" if name.lower() in _BEHIND_ATTRIBUTES and written == name else written


ATTRIBUTE: Form[str] = Part(_attribute, _attribute_words)


def read_variable(cursor: Cursor) -> str:
    word = cursor.take_kind("a variable of the formula", WordKind.WORD, WordKind.NAME)
    return text_of(cursor, word)


VARIABLE: Form[str] = Part(read_variable, lambda name, _: render(Name(name)))


def _keys(cursor: Cursor) -> tuple[str, ...]:
    keys: dict[str, None] = {}
    while True:
        word = cursor.take_kind("a group in quotes", WordKind.TEXT)
        key = text_of(cursor, word)
        if key in keys:
            raise cursor.refusal(f"the group {quoted(key)} appears twice", at=word)
        keys[key] = None
        ahead = cursor.index + 1
        if not (cursor.next.is_symbol(",") or cursor.next.is_word("and")):
            return tuple(keys)
        if cursor.words[ahead].kind is not WordKind.TEXT:
            return tuple(keys)
        cursor.index = ahead


def _keys_words(keys: tuple[str, ...], _unsaid: object) -> str:
    *others, last = map(quote_text, keys)
    return f"{', '.join(others)} and {last}" if others else last


KEYS: Form[tuple[str, ...]] = Part(_keys, _keys_words)

# --- amounts --------------------------------------------------------------------------


def read_amount(cursor: Cursor) -> Quantity:
    """A number, perhaps negative or a fraction, with a unit of time or without."""
    sign = -1 if cursor.next.is_symbol("-") and cursor.take() else 1
    number = sign * _number(cursor)
    unit = duration_unit(cursor.next.said) if cursor.next.kind is WordKind.WORD else None
    if unit is not None:
        cursor.take()
    if cursor.next.is_symbol("/") and cursor.words[cursor.index + 1].kind is WordKind.NUMBER:
        slash = cursor.take()
        divisor = _number(cursor)
        if divisor == 0:
            raise cursor.refusal("nothing can be divided by 0", at=slash)
        number /= divisor
    return Quantity(number, unit.name if unit else "")


def _number(cursor: Cursor) -> Fraction:
    return Fraction(cursor.take_kind("a number", WordKind.NUMBER).written)


def whole_number(cursor: Cursor, least: int, most: int, what: str) -> int:
    """A count between two limits; `what` is counted."""
    word, number = cursor.next, _number(cursor)
    if number.denominator != 1 or not least <= number <= most:
        message = f"{what} are counted from {least:,} to {most:,}, not {word}"
        raise cursor.refusal(message, at=word)
    return int(number)


# --- fixed values ---------------------------------------------------------------------


def fixed_value(cursor: Cursor) -> AnyLiteral:
    """A number, a duration such as `1 days 02:00:00`, a text or a point in time."""
    word, place = cursor.next, cursor.position
    if word.kind is WordKind.TEXT:
        return TextLiteral(text_of(cursor, cursor.take()), position=place)
    if word.kind is WordKind.DATE:
        return _date(cursor)
    if word.kind is WordKind.CLOCK:
        return DurationLiteral(_clock(cursor), position=place)
    if word.kind is not WordKind.NUMBER and not word.is_symbol("-"):
        raise cursor.unexpected("a value")
    size = read_amount(cursor)
    if not size.unit:
        return NumberLiteral(size.number, position=place)
    behind = cursor.index + cursor.next.is_symbol(",")
    if cursor.words[behind].kind is not WordKind.CLOCK:
        return DurationLiteral(size.internal, position=place)
    cursor.index = behind
    return DurationLiteral(size.internal + _clock(cursor), position=place)


def _date(cursor: Cursor) -> InstantLiteral:
    """A date, which may have its time behind a space."""
    place, written = cursor.position, cursor.take().written
    if cursor.next.kind is WordKind.CLOCK:
        hours, _, rest = cursor.take().written.partition(":")
        written = f"{written}T{hours.zfill(2)}:{rest}"[: len("2014-01-31T00:00:00.000000")]
    match parse_expression(written, place):
        case InstantLiteral() as instant:
            return instant
    raise AssertionError("a date is a point in time")


def _clock(cursor: Cursor) -> Fraction:
    """The microseconds of a time such as 02:00:00."""
    hours, minutes, seconds = cursor.take().written.split(":")
    whole = int(hours) * DURATIONS["hours"] + int(minutes) * DURATIONS["minutes"]
    return whole + Fraction(seconds) * DURATIONS["seconds"]


def _fixed_words(value: Expression, _unsaid: object) -> str | None:
    """A value that is written in one piece; a third is not."""
    match value:
        case NumberLiteral() | DurationLiteral() if "/" not in (words := render(value)):
            return words
        case TextLiteral() | InstantLiteral():
            return render(value)
    return None


VALUE: Form[AnyLiteral] = Part(fixed_value, _fixed_words)


# --- conditions on events -------------------------------------------------------------


def _read_condition(cursor: Cursor) -> EventCondition:
    """`activity "A" occurs`, any condition on events, or one such after another."""
    alone, first = _read_occurs(cursor)
    if cursor.accept("immediately follows"):
        return EventSequence(_read_occurs(cursor)[1], first, Order.FOLLOWS)
    if not cursor.accept("leads to"):
        return alone
    then, order = _read_occurs(cursor)[1], Order.LEADS_TO
    if cursor.accept("(one match per"):
        start, order = cursor.next, Order.LEADS_TO_CYCLICALLY
        if _read_occurs(cursor)[1] != first:
            message = "'one match per' repeats the condition before 'leads to'"
            raise cursor.refusal(f"{message}, but this is a different one", at=start)
        cursor.expect(")")
    return EventSequence(first, then, order)


def _read_occurs(cursor: Cursor) -> tuple[Occurs, Occurs]:
    """A condition as it is meant alone, and as it is meant within a sequence.

    There every event counts where nothing else is said, in ppinot4py too.
    """
    occurrence: Occurrence | None = None
    if cursor.accept("an event meets the condition"):
        condition, occurrence = read_expression(cursor, "a condition"), Occurrence.EVERY
    else:
        named = _read_activity(cursor) or _read_runtime_state(cursor) or _read_transition(cursor)
        condition = named or read_expression(cursor)
        if cursor.accept("begins to occur" if named else "begins to hold"):
            occurrence = Occurrence.ONSET
        elif activity_of(condition) and named:
            cursor.expect("occurs")
    among = None
    if cursor.accept("(among the events where"):
        among = read_expression(cursor)
        cursor.expect(")")
    alone = Occurs(condition, occurrence or cursor.dialect.occurrence, among)
    return alone, replace(alone, occurrence=occurrence or Occurrence.EVERY)


def _at_activity(cursor: Cursor, at: int) -> int | None:
    is_one = cursor.words[at].is_word("activity") and cursor.words[at + 1].kind is WordKind.TEXT
    return OPEN if is_one else None


def condition_words(when: EventCondition, _unsaid: object = None) -> str:
    """
    >>> from pappi.ppinot.grammar import parse_expression
    >>> condition_words(Occurs(parse_expression('activity == "Pay"'), Occurrence.ONSET))
    'activity "Pay" begins to occur'
    """
    if isinstance(when, EventSequence):
        first, then = condition_words(when.first), condition_words(when.then)
        if when.order is Order.FOLLOWS:
            return f"{then} immediately follows {first}"
        own = f" (one match per {first})" if when.order is Order.LEADS_TO_CYCLICALLY else ""
        return f"{first} leads to {then}{own}"
    activity = activity_of(when.condition)
    onset = when.occurrence is Occurrence.ONSET
    if activity is not None:
        said = f"activity {quote_text(activity)} {'begins to occur' if onset else 'occurs'}"
    else:
        said = spoken(when.condition) + (" begins to hold" if onset else "")
    among = "" if when.among is None else f" (among the events where {spoken(when.among)})"
    return said + among


CONDITION: Form[EventCondition] = Part(_read_condition, condition_words)
ACTIVITY: Form[EventCondition] = Part(_read_condition, condition_words, _at_activity)


def _read_activity(cursor: Cursor) -> Expression | None:
    if _at_activity(cursor, cursor.index) is None:
        return None
    if cursor.dialect.renamed and (swallowed := _swallowed(cursor)):
        return swallowed
    cursor.take()
    place = cursor.position
    return is_activity(text_of(cursor, cursor.take()), place)


# --- what only ppinot4py says so ------------------------------------------------------

_RUNTIME_STATES = {"START": "Assigned", "END": "Completed"}
"""How ppinot4py finds the states of an activity in a log."""


def _swallowed(cursor: Cursor) -> Expression | None:
    """The whole condition of which an activity has been made, if it was more than that."""
    words, start = cursor.words, cursor.index + 1
    end = end_of_expression(words, start)
    if end > start + 1 and words[end].is_word("occurs"):
        written = words.text[words[start].start : words[end - 1].end]
    else:
        end, inside = start + 1, words[start].written[1:-1]
        if "'" not in inside:
            return None
        written = f"'{inside}'"
    try:
        compound = parse_expression(f"activity == {written}", cursor.position)
    except DefinitionError:
        return None
    cursor.index = end
    cursor.accept("occurs")
    return in_the_log(cursor, compound)


def _read_transition(cursor: Cursor) -> Expression | None:
    """`lifecycle transition "complete" occurs`."""
    at_text = cursor.words[cursor.index + 2].kind is WordKind.TEXT
    if not at_text or not cursor.accept("lifecycle transition"):
        return None
    place = cursor.position
    entered = equals(TRANSITION_ATTRIBUTE, text_of(cursor, cursor.take()), place)
    cursor.expect("occurs")
    return entered


def _read_runtime_state(cursor: Cursor) -> Expression | None:
    """A state of an activity: `END - AppliesTo.ACTIVITY - 'Send Fine'`."""
    state = cursor.next
    behind = cursor.behind("- appliesto . activity -", cursor.index + 1)
    if behind is None:
        return None
    value = _RUNTIME_STATES.get(state.written)
    if value is None and state.kind is not WordKind.TEXT:
        message = f"expected START, END or a state in quotes, found {state}"
        raise cursor.refusal(message, at=state)
    cursor.index = behind
    place, first = cursor.position, cursor.take_kind("an activity", WordKind.WORD, WordKind.TEXT)
    last, name = first, text_of(cursor, first)
    if first.kind is WordKind.WORD:
        while cursor.next.kind is WordKind.WORD and not cursor.next.is_word("and", "if", "when"):
            last = cursor.take()
        name = cursor.words.text[first.start : last.end]
    entered = equals(TRANSITION_ATTRIBUTE, value or text_of(cursor, state), cursor.place(state))
    return both(is_activity(name, place), entered)


# --- instants -------------------------------------------------------------------------

_BORDERS = Fixed({"the case starts": CaseBorder.START, "the case ends": CaseBorder.END})


def _read_moment(cursor: Cursor) -> Moment:
    if _BORDERS.behind(cursor, cursor.index) is not None:
        return _BORDERS.read(cursor)
    behind = cursor.behind("- appliesto . process", cursor.index + 1)
    if behind is None:
        return CONDITION.read(cursor)
    border = CaseBorder.START if cursor.next.written == "START" else CaseBorder.END
    cursor.index = behind
    return border


MOMENT: Form[Moment] = Part(
    _read_moment, lambda moment, _: _BORDERS.write(moment) or condition_words(moment)
)

INSTANT: Form[Instant] = Choice(
    "an instant",
    (
        Fixed(
            {
                "the start of the case": Instant(CaseBorder.START),
                "the end of the case": Instant(CaseBorder.END),
            }
        ),
        Pattern(
            "the <pick> time instant when <moment>",
            {"pick": Fixed({pick.value: pick for pick in Pick}), "moment": MOMENT},
            lambda _cursor, _first, values: Instant(values["moment"], values["pick"]),
            lambda instant: {"moment": instant.moment, "pick": instant.pick},
        ),
    ),
)


def instant_of(moment: Moment, pick: Pick, usual: Pick) -> Instant:
    """A border of the case is one instant, whichever is picked."""
    unsaid = isinstance(moment, CaseBorder) and pick is usual
    return Instant(moment, None if unsaid else pick)


def among_events(moment: Moment, among: Expression) -> Moment:
    """The same instant in what is left of a case when only some events are looked at."""
    match moment:
        case Occurs():
            return replace(moment, among=among)
        case EventSequence():
            first, then = replace(moment.first, among=among), replace(moment.then, among=among)
            return replace(moment, first=first, then=then)
        case _:
            return Occurs(among)
