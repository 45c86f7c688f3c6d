"""Where an expression begins and ends inside a sentence.

In an expression, operands and operators take turns; in a sentence, words follow
words. So an expression ends at the first word that stands where an operator
would have to. The one word that both know is `and`: it goes on with the
sentence where words follow that begin the next part of one.

What is written into a sentence is put in parentheses where this rule would cut
it short, or where its first word could begin something else.
"""

from __future__ import annotations

from pappi.ppinot.expressions.lexer import MAX_LENGTH
from pappi.ppinot.expressions.nodes import NOWHERE, Expression, Function, Name, Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.expressions.render import render
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.substitution import renamed
from pappi.ppinot.sentences.words import Word, WordKind, Words
from pappi.values.units import duration_unit

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||", "?", ":", "=")
_PREFIXES = ("-", "!")
_OPENING, _CLOSING = ("(", "["), (")", "]")
_FUNCTIONS = tuple(function.value for function in Function)
_NOTHING = ("missing", "null", "none", "nil", "nan", "na")
_BETWEEN = ("and", "or", "in", "not", "is")
_ATOMS = (WordKind.WORD, WordKind.NAME, WordKind.TEXT, WordKind.NUMBER, WordKind.DATE)

_NEXT_PART = ("the", "when", "each", "every", "next", "first", "last", "its")
_BORDERS = ("case", "start", "end", "beginning")
_OPENERS = (
    *("at", "it", "they", "no", "never", "without", "with", "there", "whether", "activity"),
    *("more", "less", "fewer", "over", "under", "above", "below", "exactly", "up", "longer"),
    *("shorter", "within", "once", "twice", "take", "takes", "took", "lasts", "lasted"),
)


def expression(cursor: Cursor, thing: str) -> Expression:
    """The expression that comes next; `thing` is what to call it if there is none."""
    cursor.want_thing(thing)
    start = cursor.index
    end = end_of_expression(cursor.words, start)
    if end == start:
        raise cursor.unexpected()
    first, last = start, end
    if _is_bracketed(cursor.words, start, end):
        first, last = start + 1, end - 1
    shift = cursor.words[first].start
    text = cursor.words.text[shift : max(shift, cursor.words[last - 1].end)]
    cursor.index = end
    found = parse_expression(text, lambda offset: cursor.words.origin(shift + offset))
    return renamed(found, cursor.reading.renamed)


def spoken(said: Expression) -> str:
    """An expression as it is written into a sentence."""
    text = render(said)
    words = Words(text, lambda _: NOWHERE)
    end = end_of_expression(words, 0)
    is_whole = words[end].kind is WordKind.END
    return text if is_whole and not _is_misleading(words, end) else f"({text})"


def text_of(cursor: Cursor, word: Word) -> str:
    """What stands between quotes."""
    if word.written[0] in "“‘":
        return word.written[1:-1]
    found = parse_expression(word.written, lambda offset: cursor.words.origin(word.start + offset))
    match found:
        case Text():
            return found.value
        case Name():
            return found.name
    raise AssertionError("quotes hold a text, backticks a name")


# --- the end of an expression -------------------------------------------------------------


def end_of_expression(words: Words, start: int) -> int:
    """The number of the first word that no longer belongs to the expression."""
    index, limit = start, words[start].start + MAX_LENGTH + len("()")
    while words[index].start <= limit:
        after = _after_operand(words, index, limit)
        if after is None:
            break
        after = _after_missing(words, after)
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
    word = words[index]
    if word.is_symbol(*_OPENING):
        return _after_brackets(words, index, limit)
    if word.kind not in _ATOMS or word.is_word("and", "or", "in", "is"):
        return None
    if word.kind is WordKind.NUMBER and _is_unit(words[index + 1]):
        return index + 2
    if word.is_word(*_FUNCTIONS) and words[index + 1].is_symbol("("):
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


def _is_unit(word: Word) -> bool:
    return word.kind is WordKind.WORD and duration_unit(word.said) is not None


def _after_operator(words: Words, index: int) -> int | None:
    """Where the next operand stands, or None if the expression is over."""
    word = words[index]
    if word.is_symbol(*_OPERATORS):
        return index + 1
    if word.is_word("and", "or"):
        return None if _goes_on(words, index + 1) else index + 1
    after = index + word.is_word("not")
    if words[after].is_word("in") and words[after + 1].is_symbol(*_OPENING):
        return after + 1
    return None


def _after_missing(words: Words, index: int) -> int:
    """Behind `is missing` or `is not missing`, of which one is enough."""
    if not words[index].is_word("is"):
        return index
    after = index + 1 + words[index + 1].is_word("not")
    return after + 1 if words[after].is_word(*_NOTHING) else index


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


# --- what needs parentheses -----------------------------------------------------------


def _is_bracketed(words: Words, start: int, end: int) -> bool:
    whole = words[start].is_symbol("(") and words[end - 1].is_symbol(")")
    return whole and _after_brackets(words, start, words[end - 1].start) == end


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
    return behind.is_symbol(*_OPERATORS) or behind.is_word(*_BETWEEN)
