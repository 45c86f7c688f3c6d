"""The parts of a sentence that are no words of it: expressions, names, texts and amounts.

In an expression, operands and operators take turns; in a sentence, words follow words. So an
expression ends at the first word that stands where an operator would have to. The one word that
both know is `and`: it goes on with the sentence where words follow that begin the next instant.

What is written into a sentence is put in parentheses where this rule would cut it short, or
where a name in it could be taken for a word of the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    AnyLiteral,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    Name,
    NumberLiteral,
    TextLiteral,
)
from pappi.ppinot.expressions.parser import MAX_LENGTH, parse_expression
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.notations.building import substituted
from pappi.ppinot.notations.sentences.patterns import Form, Part
from pappi.ppinot.notations.sentences.words import Cursor, Word, WordKind, Words
from pappi.values import DURATIONS, duration_unit, quoted

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


def read_variable(cursor: Cursor, thing: str = "a variable of the formula") -> str:
    return text_of(cursor, cursor.take_kind(thing, WordKind.WORD, WordKind.NAME))


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


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, and the unit of time behind it if it has one."""

    number: Fraction
    unit: str = ""

    @property
    def internal(self) -> Fraction:
        return self.number * DURATIONS[self.unit] if self.unit else self.number


def read_amount(cursor: Cursor) -> Amount:
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
    return Amount(number, unit.name if unit else "")


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
