"""The parts of a sentence that are no words of it: expressions, amounts, and how to compare them.

In an expression, operands and operators take turns; in a sentence, words follow
words. So an expression ends at the first word that stands where an operator
would have to. The one word that both know is `and`: it goes on with the
sentence where words follow that begin the next part of one.

What is written into a sentence is put in parentheses where this rule would cut
it short, or where its first word could begin something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    NOWHERE,
    AnyLiteral,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    Name,
    NumberLiteral,
    Operator,
    TextLiteral,
)
from pappi.ppinot.expressions.parser import MAX_LENGTH, parse_expression
from pappi.ppinot.expressions.render import render
from pappi.ppinot.notations.building import substituted
from pappi.ppinot.notations.sentences.words import Cursor, Word, WordKind, Words
from pappi.ppinot.wording import did_you_mean, listed
from pappi.values import DURATIONS, duration_unit

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||", "?", ":", "=")
_PREFIXES = ("-", "!")
_OPENING, _CLOSING = ("(", "["), (")", "]")
_FUNCTIONS = tuple(function.value for function in Function)
_NOTHING = ("missing", "null", "none", "nil", "nan", "na")
_BETWEEN = ("and", "or", "in", "not", "is")
_ATOMS = (WordKind.WORD, WordKind.NAME, WordKind.TEXT, WordKind.NUMBER, WordKind.DATE)

_NEXT_PART = ("the", "when", "each", "every", "next", "first", "last", "its")
_BORDERS = ("case", "start", "end")
_COMPARATORS = {
    Operator.LESS: ("less than", "below", "under", "fewer than", "shorter than"),
    Operator.AT_MOST: ("at most", "no more than", "up to", "within"),
    Operator.GREATER: ("more than", "above", "over", "longer than", "greater than"),
    Operator.AT_LEAST: ("at least", "no less than"),
    Operator.EQUAL: ("equal to", "exactly"),
    Operator.UNEQUAL: ("not equal to", "not"),
}
_SYMBOLS = tuple(operator.value for operator in _COMPARATORS)
COMPARING = (
    *("less", "below", "under", "fewer", "shorter", "at", "no", "up", "within", "more", "above"),
    *("over", "longer", "greater", "exactly"),
)
"""The words that say how much of something there is."""
_OPENERS = (
    *("it", "never", "without", "with", "there", "whether", "activity", "once", "twice"),
    *("take", "takes", "lasts", *COMPARING),
)


def expression(cursor: Cursor, thing: str) -> Expression:
    """The expression that comes next; `thing` is what to call it if there is none."""
    cursor.want_thing(thing)
    start = cursor.index
    end = end_of_expression(cursor.words, start)
    if end == start:
        raise cursor.unexpected()
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
    names = cursor.reading.renamed
    return substituted(parsed, {said: Name(name) for said, name in names.items()})


def spoken(written: Expression) -> str:
    """An expression as it is written into a sentence."""
    text = render(written)
    words = Words(text, lambda _: NOWHERE)
    end = end_of_expression(words, 0)
    is_whole = words[end].kind is WordKind.END
    return text if is_whole and not _is_misleading(words, end) else f"({text})"


def text_of(cursor: Cursor, word: Word) -> str:
    """What stands between quotes."""
    if word.written[0] in "“‘":
        return word.written[1:-1]
    origin = cursor.words.origin
    match parse_expression(word.written, lambda offset: origin(word.start + offset)):
        case TextLiteral(value):
            return value
        case Name(name):
            return name
    raise AssertionError("quotes hold a text, backticks a name")


# --- the end of an expression ---------------------------------------------------------


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
    word = words[index]
    if word.is_symbol(*OPERATORS):
        return index + 1
    if word.is_word("and", "or"):
        return None if _goes_on(words, index + 1) else index + 1
    after = index + word.is_word("not")
    if words[after].is_word("in") and words[after + 1].is_symbol(*_OPENING):
        return after + 1
    return None


def _goes_on(words: Words, index: int) -> bool:
    """Whether the words behind an `and` begin the next part of a sentence."""
    word, following = words[index], words[index + 1]
    if word.is_word("when"):
        return True
    if word.kind is WordKind.TEXT:
        # An activity that something is said of; an operand would have an operator behind it.
        return following.kind is WordKind.WORD and not following.is_word(*_BETWEEN)
    if word.is_word("activity", "lifecycle"):
        return following.kind is WordKind.TEXT or following.is_word("transition")
    if word.is_word(*_BORDERS):
        return following.is_word("start", "end", "of")
    return word.is_word(*_NEXT_PART) and following.kind in _ATOMS


def _is_misleading(words: Words, end: int) -> bool:
    """Whether a name in an expression could be taken for a word of the sentence."""
    for index in range(end):
        word, following = words[index], words[index + 1]
        if word.is_word(*_NEXT_PART):
            return True
        if word.is_word(*_FUNCTIONS) and not following.is_symbol("("):
            return True
        if word.is_word("and", "or") and following.kind is WordKind.TEXT and index + 2 == end:
            return True
    if words[0].kind is WordKind.TEXT:
        # A text by itself is an activity.
        return words[1].kind is WordKind.END or words[1].is_word("and", "or")
    return words[0].is_word(*_OPENERS, *_BORDERS) and not is_operand(words, 0)


def is_operand(words: Words, index: int) -> bool:
    """Whether a word is part of an expression: an operator comes behind it."""
    behind = words[index + 1]
    return behind.is_symbol(*OPERATORS) or behind.is_word(*_BETWEEN)


# --- amounts --------------------------------------------------------------------------

_WRITTEN_OUT = "zero one two three four five six seven eight nine ten"
COUNTS = {word: number for number, word in enumerate(_WRITTEN_OUT.split())}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, and the microseconds it stands for if it has a unit of time."""

    number: Fraction
    unit: str

    @property
    def internal(self) -> Fraction:
        return self.number * DURATIONS[self.unit] if self.unit else self.number


def amount(cursor: Cursor) -> Amount:
    """A number, perhaps negative or a fraction, with a unit of time or without."""
    sign = -1 if cursor.next.is_symbol("-") and cursor.take() else 1
    number = sign * plain_number(cursor)
    unit = duration_unit(cursor.next.said) if cursor.next.kind is WordKind.WORD else None
    if unit is not None:
        cursor.take()
    if cursor.next.is_symbol("/") and cursor.word(1).kind is WordKind.NUMBER:
        slash = cursor.take()
        divisor = plain_number(cursor)
        if divisor == 0:
            raise cursor.refusal("nothing can be divided by 0", at=slash)
        number /= divisor
    return Amount(number, unit.name if unit else "")


def plain_number(cursor: Cursor) -> Fraction:
    if cursor.next.is_word(*COUNTS):
        return Fraction(COUNTS[cursor.take().said])
    word = cursor.accept_kind(WordKind.NUMBER, "a number")
    if word is None:
        raise cursor.unexpected()
    return Fraction(word.written)


def whole_number(cursor: Cursor, least: int, most: int, what: str) -> int:
    """A count between two limits; `what` is counted."""
    word = cursor.next
    number = plain_number(cursor)
    if number.denominator != 1 or not least <= number <= most:
        message = f"{what} are counted from {least:,} to {most:,}, not {word}"
        raise cursor.refusal(message, at=word)
    return int(number)


def time_amount(cursor: Cursor) -> DurationLiteral:
    """An amount that has a unit of time."""
    size = amount(cursor)
    if not size.unit:
        units = f"the units are {listed(DURATIONS, 'and')}"
        hint = did_you_mean(cursor.next.written, DURATIONS, units)
        raise cursor.refusal(f"expected a unit of time, found {cursor.next}", hint)
    return DurationLiteral(size.internal)


def fixed_value(cursor: Cursor) -> AnyLiteral:
    """A number, a duration, a text or a point in time."""
    word, place = cursor.next, cursor.position
    if word.kind is WordKind.TEXT:
        return TextLiteral(text_of(cursor, cursor.take()), position=place)
    if word.kind is WordKind.DATE:
        return date_value(cursor)
    cursor.want_thing("a value")
    size = amount(cursor)
    if size.unit:
        return DurationLiteral(size.internal, position=place)
    return NumberLiteral(size.number, position=place)


def date_value(cursor: Cursor) -> InstantLiteral:
    """A date, which may have its time behind a space."""
    place, written = cursor.position, cursor.take().written
    if cursor.next.kind is WordKind.CLOCK:
        hours, _, rest = cursor.take().written.partition(":")
        written = f"{written}T{hours.zfill(2)}:{rest}"[: len("2014-01-31T00:00:00.000000")]
    match parse_expression(written, place):
        case InstantLiteral() as instant:
            return instant
    raise AssertionError("a date is a point in time")


# --- comparing ------------------------------------------------------------------------


def comparator(cursor: Cursor) -> Operator | None:
    """How to compare, if that comes next."""
    if cursor.next.is_symbol(*_SYMBOLS):
        return Operator(cursor.take().written)
    for operator, phrases in _COMPARATORS.items():
        if cursor.also(*phrases):
            return operator
    return None


def comparison(cursor: Cursor) -> Operator:
    """How to compare, with the verb before it: "is less than", "takes", "exceeds"."""
    if cursor.also("exceeds"):
        return Operator.GREATER
    verb = cursor.accept("is", "are", "was", "takes", "take", "lasts", "of")
    operator = comparator(cursor)
    if operator is None and verb is None:
        raise cursor.unexpected()
    return operator or Operator.EQUAL
