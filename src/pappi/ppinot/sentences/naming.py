"""Activities and attributes, as a sentence names them.

In quotes or backticks any name can be written. Without them, a public name of
the log is found whatever its capitals, the longest one first; an attribute may
also be a word of its own, or several that begin nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain

from pappi.errors import Position
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator, Text
from pappi.ppinot.expressions.render import render
from pappi.ppinot.measures import EVENT_NAMES
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.spans import text_of
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.ppinot.wording import quoted

_MOST_WORDS = 8
FOLLOWING = (
    *("when", "where", "if", "while", "which", "that", "whose", "with", "without", "having"),
    *("grouped", "filtered", "among", "over", "for", "per", "by", "into", "in", "as", "each"),
    *("every", "only", "and", "or", "not", "between", "from", "to", "until", "at", "of", "within"),
    *("is", "are", "was", "has", "less", "more", "equals", "exceeds", "below", "above", "never"),
    *("occurs", "happens", "begins", "leads", "immediately", "directly", "follows", "becomes"),
)
# Words that mean something where a name could stand: as names they keep their capitals.
_TAKEN = frozenset({"a", "an", "the", "first", "last", "case", "when", "each", "next", "activity"})


@dataclass(frozen=True, slots=True)
class Found:
    """A name, how many words of the sentence it takes, and where it begins."""

    name: str
    length: int
    position: Position


def public_activity(cursor: Cursor) -> Found | None:
    """An activity that is written without quotes, if one comes next."""
    names = cursor.reading.names
    return None if names is None else _longest(cursor, "activity", names.activities)


def _longest(cursor: Cursor, sort: str, names: Iterable[str]) -> Found | None:
    first = cursor.next
    if first.kind not in (WordKind.WORD, WordKind.NUMBER, WordKind.SYMBOL):
        return None
    best: Found | None = None
    for name, said in cursor.spelled(sort, names).get(first.said.lower(), ()):
        longer = best is None or len(said) > best.length
        if longer and _comes_next(cursor, said) and _may_be(first, name, said):
            best = Found(name, len(said), cursor.position)
    return best


def _comes_next(cursor: Cursor, said: tuple[str, ...]) -> bool:
    return all(cursor.word(ahead).said.lower() == each for ahead, each in enumerate(said))


def _may_be(first: Word, name: str, said: tuple[str, ...]) -> bool:
    return len(said) > 1 or first.said not in _TAKEN or first.written == name


def attribute(cursor: Cursor) -> tuple[str, Position]:
    """The attribute that comes next, as the log calls it."""
    if cursor.says("attribute") and cursor.word(1).kind in _NAMING:
        cursor.take()
    place = cursor.position
    cursor.want_thing("an attribute")
    if cursor.next.kind in (WordKind.NAME, WordKind.TEXT):
        name = text_of(cursor, cursor.take())
    elif found := _longest(cursor, "attribute", _public_attributes(cursor)):
        cursor.index += found.length
        name = found.name
    else:
        name = words_of_a_name(cursor)
    return cursor.reading.renamed.get(name, name), place


def at_public_attribute(cursor: Cursor) -> bool:
    """Whether a name of the log's vocabulary comes next that is no activity's as well."""
    if cursor.reading.names is None or public_activity(cursor) is not None:
        return False
    return _longest(cursor, "attribute", _public_attributes(cursor)) is not None


_NAMING = (WordKind.NAME, WordKind.TEXT, WordKind.WORD)


def _public_attributes(cursor: Cursor) -> Iterable[str]:
    names = cursor.reading.names
    return chain(cursor.reading.renamed, *((EVENT_NAMES, names.attributes) if names else ()))


def words_of_a_name(cursor: Cursor) -> str:
    """Words up to one that goes on with the sentence, or was meant to."""
    first = cursor.next
    if first.kind is not WordKind.WORD or first.said in FOLLOWING:
        raise cursor.unexpected()
    last = cursor.take()
    for _ in range(_MOST_WORDS):
        word = cursor.next
        if word.kind is not WordKind.WORD or word.said in FOLLOWING:
            break
        if meant := get_close_matches(word.said, FOLLOWING, n=1, cutoff=0.8):
            message = f"{word} means nothing after {quoted(first.written)}"
            hint = f"did you mean {quoted(meant[0])}? A name of several words goes in backticks"
            raise cursor.refusal(message, hint)
        last = cursor.take()
    return cursor.words.text[first.start : last.end]


def attribute_words(name: str) -> str:
    """An attribute as `attribute` reads it, in backticks where it could be another word."""
    written = render(Name(name))
    taken = name.lower() in FOLLOWING or name.lower() in _TAKEN or name.lower() == "attribute"
    return f"`{name}`" if taken and written == name else written


# --- activities as conditions ---------------------------------------------------------

TRANSITION = "lifecycle:transition"
_COMPARING = ("==", "!=", "<", "<=", ">", ">=", "=", "+", "-", "*", "/", "%", "?", "&&", "||")


def activity_name(cursor: Cursor) -> Text | None:
    """An activity, with an article or the word `activity` before it or not, if one comes next."""
    cursor.want_thing("an activity")
    before = cursor.index
    if cursor.next.is_word("the", "a", "an") and public_activity(cursor) is None:
        cursor.index += 1
    if cursor.says("activity"):
        cursor.index += 1
    found = _quoted_activity(cursor) or _bare_activity(cursor)
    if found is None:
        cursor.index = before
    return found


def _quoted_activity(cursor: Cursor) -> Text | None:
    if cursor.next.kind is not WordKind.TEXT or _is_compared(cursor, 1):
        return None
    place = cursor.position
    return Text(text_of(cursor, cursor.take()), position=place)


def _bare_activity(cursor: Cursor) -> Text | None:
    found = public_activity(cursor)
    if found is None or _is_compared(cursor, found.length):
        return None
    cursor.index += found.length
    return Text(found.name, position=found.position)


def _is_compared(cursor: Cursor, ahead: int) -> bool:
    """Whether a name is an operand: what follows is an operator."""
    word, following = cursor.word(ahead), cursor.word(ahead + 1)
    if word.is_word("is"):
        return following.is_word("missing") or cursor.says("not missing", ahead + 1)
    listed = word.is_word("in") or cursor.says("not in", ahead)
    opening = cursor.word(ahead + 1 + word.is_word("not"))
    return word.is_symbol(*_COMPARING) or (listed and opening.is_symbol("(", "["))


def is_activity(name: str, position: Position) -> Expression:
    left, right = Name("activity", position=position), Text(name, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


def both(left: Expression, right: Expression) -> Expression:
    return Binary(Operator.AND, left, right, position=left.position)


def activity_of(condition: Expression) -> str | None:
    """The activity that a condition asks for and nothing else."""
    match condition:
        case Binary(operator=Operator.EQUAL, left=Name(name="activity"), right=Text() as text):
            return text.value
        case _:
            return None
