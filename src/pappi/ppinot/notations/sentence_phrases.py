"""What sentences are made of: words, patterns of words, and the phrases below measures.

words      cut off one by one, and what would have fitted where a sentence goes wrong
patterns   the small language in which sentences are described, once, to read and to write them
phrases    expressions, names, amounts, conditions on events, instants
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from itertools import count, takewhile
from typing import Any, Generic, Protocol, TypeVar, cast

from pappi.errors import DefinitionError, Position
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
from pappi.ppinot.grammar import (
    Origin,
    Word,
    WordKind,
    Words,
    expression_at,
    parse_expression,
    quote_text,
    refusal,
    render,
    unquoted,
)
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
from pappi.values import (
    DURATIONS,
    CaseBorder,
    Kind,
    WorkingCalendar,
    closest,
    duration_unit,
    quoted,
)

# === words =============================================================================
#
# The words of a sentence, going through them, and explaining where it goes wrong.
#
# Whatever is looked for and not found is remembered for the furthest word that was reached. So a
# refusal can say what would have fitted at the very place where the sentence stops making sense,
# and what a misspelt word probably was.

MAX_SIZE = 1_000_000
MAX_DEPTH = 40
_SHOWN = 6


@cache
def _said(phrase: str) -> tuple[str, ...]:
    """The words of a phrase of the grammar."""
    words, said = Words(phrase, in_sentence=True), list[str]()
    while words[len(said)].kind is not WordKind.END:
        said.append(words[len(said)].said)
    return tuple(said)


# --- going through them ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a sentence is read where it leaves something open.

    occurrence  at which events a condition occurs that does not say so
    calendar    the working time of a "business duration"
    groups      the keys of an attribute that cases are grouped by without naming any
    renamed     attributes that the sentence calls otherwise than the log does
    """

    occurrence: Occurrence = Occurrence.EVERY
    calendar: WorkingCalendar | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


class Cursor:
    """A place between two words of a sentence.

    `waiting` holds the names that formulas around this place still have to explain.
    """

    def __init__(self, text: str, origin: Origin, dialect: Dialect) -> None:
        if len(text) > MAX_SIZE:
            raise refusal(origin(0), f"this text has more than {MAX_SIZE:,} characters")
        self.words = Words(text, origin, in_sentence=True)
        self.dialect = dialect
        self.index = 0
        self.waiting: list[set[str]] = []
        self._depth = 0
        self._furthest = 0
        self._wanted: dict[str, None] = {}

    # --- looking and moving -----------------------------------------------------------

    @property
    def next(self) -> Word:
        return self.words[self.index]

    @property
    def position(self) -> Position:
        return self.place(self.next)

    def place(self, word: Word) -> Position:
        return self.words.origin(word.start)

    def take(self) -> Word:
        word = self.next
        self.index += word.kind is not WordKind.END
        return word

    def behind(self, phrase: str, at: int) -> int | None:
        """The number of the word behind a phrase, if the phrase stands at the word `at`."""
        said = _said(phrase)
        for number, word in enumerate(said):
            if self.words[at + number].said != word:
                self._reach(at + number)
                if at + number == self._furthest:
                    self._wanted[" ".join(said[number:])] = None
                return None
        return at + len(said)

    def accept(self, phrase: str) -> bool:
        """Takes a phrase, if it comes next."""
        behind = self.behind(phrase, self.index)
        self.index = self.index if behind is None else behind
        return behind is not None

    def expect(self, phrase: str) -> None:
        if not self.accept(phrase):
            raise self.unexpected()

    def take_kind(self, thing: str, *kinds: WordKind) -> Word:
        """The next word, which has to be of one of these kinds; `thing` is what to call it."""
        if self.next.kind not in kinds:
            raise self.unexpected(thing)
        return self.take()

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Inside, a measure within a measure is read."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"measures are nested more than {MAX_DEPTH} levels deep here"
            raise self.refusal(message)
        yield
        self._depth -= 1

    # --- explaining -------------------------------------------------------------------

    def _reach(self, index: int) -> None:
        if index > self._furthest:
            self._furthest, self._wanted = index, {}

    def refusal(self, message: str, hint: str = "", at: Word | None = None) -> DefinitionError:
        return refusal(self.place(at or self.next), message, hint)

    def unexpected(self, thing: str = "", hint: str = "") -> DefinitionError:
        """What would have fitted at the furthest place, and what is there instead.

        `thing` fits here as well, and is no fixed word; `hint` is for who wrote nothing like it.
        """
        self._reach(self.index)
        is_here = self._furthest == self.index
        phrases = (phrase.replace("( ", "(").replace(" )", ")") for phrase in self._wanted)
        shown = [*[thing] * (is_here and bool(thing)), *map(quoted, phrases)]
        shown = shown[:_SHOWN] + ["…"] * (len(shown) > _SHOWN)
        fitting = " or ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
        word = self.words[self._furthest]
        after = f" after {self.words[self._furthest - 1]}" if self._furthest else ""
        message = f"expected {fitting or 'nothing more'}{after}, found {word}"
        return self.refusal(message, self._meant(word) or hint * is_here, at=word)

    def _meant(self, word: Word) -> str:
        """The phrase a misspelt word may have been the beginning of."""
        if word.is_word("occurs") and "occurs" not in self._wanted:
            return 'an activity is written as in activity "A" occurs'
        before = self.words[self._furthest - 1] if self._furthest else word
        if (word if word.is_word("with") else before).is_word("with"):
            behind = self.words[self._furthest + 1] if word.is_word("with") else word
            if behind.kind is WordKind.TEXT:
                return 'say it as in: cases in which activity "A" occurs'
            return (
                "say what is meant by 'with': in which at some time amount > 100, or in which the "
                "last value of amount is more than 100"
            )
        spoken = [phrase for phrase in self._wanted if phrase.replace(" ", "").isalpha()]
        meant = {said: said for phrase in spoken for said in phrase.split()}
        meant |= {phrase.split()[0]: phrase for phrase in reversed(spoken)}
        if word.kind is not WordKind.WORD or word.said in meant:
            return ""
        guess = closest(word.written, meant)
        return "" if guess is None else f"did you mean {quoted(meant[guess])}?"


# === patterns ==========================================================================
#
# The small language in which sentences are described, once: to read them and to write them.
#
#     Pattern   a phrase with blanks: "the number of times <when>"
#     Fixed     one of some fixed phrases, each of which stands for a value
#     Choice    several forms of one thing
#     Part      anything else: how it is read, and how it is written
#
# In `< >` stands a blank, in `[ ]` what is left out if nothing is to be said there. Which form of a
# choice comes next is told by its fixed words up to the first blank, so nothing is ever read twice.
# Writing gives None for a value of another form.

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

OPEN = -1
"""Anything may stand here: whoever came so far is chosen."""


class Form(Protocol[T_co]):
    def behind(self, cursor: Cursor, at: int, /) -> int | None:
        """The number of the word behind what is fixed of it, OPEN, or None if it is not there."""

    def read(self, cursor: Cursor, /) -> T_co: ...

    def write(self, value: object, unsaid: Kind | None = None, /) -> str | None:
        """`unsaid` is the kind of values whose kind the measure itself does not tell."""


@dataclass(frozen=True, slots=True)
class Part(Generic[T_co]):
    """Something with a way of its own to be read and to be written."""

    read: Callable[[Cursor], T_co]
    words: Callable[[Any, Kind | None], str | None]
    behind: Callable[[Cursor, int], int | None] = lambda _cursor, _at: OPEN

    def write(self, value: object, unsaid: Kind | None = None) -> str | None:
        return self.words(value, unsaid)


@dataclass(frozen=True, slots=True)
class Fixed(Generic[T_co]):
    meanings: Mapping[str, T_co]

    def behind(self, cursor: Cursor, at: int) -> int | None:
        ends = (cursor.behind(phrase, at) for phrase in self.meanings)
        return next((end for end in ends if end is not None), None)

    def read(self, cursor: Cursor) -> T_co:
        for phrase, meaning in self.meanings.items():
            if cursor.accept(phrase):
                return meaning
        raise cursor.unexpected()

    def write(self, value: object, _unsaid: Kind | None = None) -> str | None:
        return next((phrase for phrase, it in self.meanings.items() if it == value), None)


@dataclass(frozen=True, slots=True)
class Choice(Generic[T_co]):
    what: str
    forms: tuple[Form[T_co], ...]
    hint: str = ""

    def behind(self, cursor: Cursor, at: int) -> int | None:
        ends = (form.behind(cursor, at) for form in self.forms)
        return next((end for end in ends if end is not None), None)

    def read(self, cursor: Cursor) -> T_co:
        for form in self.forms:
            if form.behind(cursor, cursor.index) is not None:
                return form.read(cursor)
        raise cursor.unexpected(self.what, self.hint)

    def write(self, value: object, unsaid: Kind | None = None) -> str | None:
        written = (form.write(value, unsaid) for form in self.forms)
        return next((words for words in written if words is not None), None)


# --- phrases with blanks --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Blank:
    name: str


_Piece = str | _Blank | tuple["_Piece", ...]
_MARKS = re.compile(r"(<\w+>|\[[^]]*\])")


def _pieces(text: str) -> tuple[_Piece, ...]:
    pieces: list[_Piece] = []
    for part in filter(None, _MARKS.split(text)):
        if part.startswith("<"):
            pieces.append(_Blank(part[1:-1]))
        else:
            pieces.append(_pieces(part[1:-1]) if part.startswith("[") else part)
    return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Pattern(Generic[T_co]):
    """A phrase, the forms of its blanks, what is built of their values, and back.

    `build` gets the cursor, the first word, and the values of the blanks that were filled in.
    """

    text: str
    blanks: Mapping[str, Form[Any]]
    build: Callable[[Cursor, Word, dict[str, Any]], T_co]
    values: Callable[[Any], Mapping[str, Any] | None] = lambda _: None
    _pieces: tuple[_Piece, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pieces", _pieces(self.text))

    def behind(self, cursor: Cursor, at: int) -> int | None:
        return self._behind(self._pieces, cursor, at)

    def _behind(self, pieces: tuple[_Piece, ...], cursor: Cursor, at: int) -> int | None:
        for piece in pieces:
            behind: int | None
            if isinstance(piece, tuple):
                behind = self._behind(piece, cursor, at)
                behind = at if behind is None else behind
            elif isinstance(piece, str):
                behind = cursor.behind(piece, at)
            else:
                behind = self.blanks[piece.name].behind(cursor, at)
            if behind is None or behind == OPEN:
                return behind
            at = behind
        return at

    def read(self, cursor: Cursor) -> T_co:
        first, values = cursor.next, dict[str, Any]()
        self._read(self._pieces, cursor, values)
        return self.build(cursor, first, values)

    def _read(self, pieces: tuple[_Piece, ...], cursor: Cursor, values: dict[str, Any]) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                cursor.expect(piece)
            elif isinstance(piece, _Blank):
                values[piece.name] = self.blanks[piece.name].read(cursor)
            elif self._behind(piece, cursor, cursor.index) is not None:
                self._read(piece, cursor, values)

    def write(self, value: object, unsaid: Kind | None = None) -> str | None:
        values = self.values(value)
        return None if values is None else self._written(self._pieces, values, unsaid)

    def _written(
        self, pieces: tuple[_Piece, ...], values: Mapping[str, Any], unsaid: Kind | None
    ) -> str | None:
        """The words of some pieces; None if a blank has no value, or no words for it."""
        words: list[str | None] = []
        for piece in pieces:
            if isinstance(piece, str):
                words.append(piece)
            elif isinstance(piece, tuple):
                words.append(self._written(piece, values, unsaid) or "")
            else:
                value = values.get(piece.name)
                words.append(
                    None if value is None else self.blanks[piece.name].write(value, unsaid)
                )
        return None if None in words else "".join(filter(None, words))


def pattern_of(model: type[T], text: str, **blanks: Form[Any]) -> Pattern[T]:
    """A phrase for an object, each blank an attribute; all others have their defaults."""
    own = {attribute.name: attribute for attribute in fields(cast("Any", model))}
    unsaid = own.keys() - blanks.keys() - {"position"}

    def build(cursor: Cursor, first: Word, values: dict[str, Any]) -> T:
        position = {"position": cursor.place(first)} if "position" in own else {}
        return model(**values, **position)

    def values(value: object) -> Mapping[str, Any] | None:
        fits = isinstance(value, model) and all(
            getattr(value, name) == own[name].default for name in unsaid
        )
        return {name: getattr(value, name) for name in blanks} if fits else None

    return Pattern(text, blanks, build, values)


# === phrases ===========================================================================
#
# What a sentence is made of below its measures. The grammar knows where an expression ends in it.
#
# What `str()` of a ppinot4py measure says about events is read too, also where nobody else would
# say it so: states at run time are written as `END - AppliesTo.ACTIVITY - 'Send Fine'`, and a
# condition that begins with an activity and ends with another text becomes one activity, of a
# strange name: of `a == 'A' and b == 'x'` comes `activity "A' and b == 'x" occurs`.

_FUNCTIONS = tuple(function.value for function in Function)
# What may follow the `and` between two instants.
_NEXT_INSTANT = ("the", "when", "first")

# --- expressions ----------------------------------------------------------------------


def read_expression(cursor: Cursor, thing: str = "a condition on events") -> Expression:
    """The expression that comes next; `thing` is what to call it if there is none."""
    found = expression_at(cursor.words, cursor.index, _NEXT_INSTANT)
    if found is None:
        raise cursor.unexpected(thing)
    parsed, cursor.index = found
    return in_the_log(cursor, parsed)


def in_the_log(cursor: Cursor, parsed: Expression) -> Expression:
    """The expression with attributes called as the log does."""
    names = cursor.dialect.renamed
    return substituted(parsed, {said: Name(name) for said, name in names.items()})


def spoken(expression: Expression, _unsaid: object = None) -> str:
    """An expression as it is written into a sentence.

    It is in parentheses if it would be cut short, or if a name in it could be taken for a word of
    the sentence.
    """
    text = render(expression)
    words = Words(text, in_sentence=True)
    found = expression_at(words, 0, _NEXT_INSTANT)
    is_whole = found is not None and words[found[1]].kind is WordKind.END
    return text if is_whole and not _is_misleading(words) else f"({text})"


EXPRESSION: Form[Expression] = Part(read_expression, spoken)


def _is_misleading(words: Words) -> bool:
    numbers = takewhile(lambda index: words[index].kind is not WordKind.END, count())
    return any(
        words[index].is_word(*_NEXT_INSTANT)
        or (words[index].is_word(*_FUNCTIONS) and not words[index + 1].is_symbol("("))
        for index in numbers
    )


# --- names and texts ------------------------------------------------------------------

_BEHIND_ATTRIBUTES = ("when", "is", "grouped", "filtered", "into", "among", "and", "if")
_MOST_WORDS = 8


def text_of(cursor: Cursor, word: Word) -> str:
    """What stands between quotes or backticks; any other word as it is."""
    return unquoted(word, cursor.words.origin)


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


def each_of(cursor: Cursor, kind: WordKind) -> Iterator[Word]:
    """The first word of each item of a list, which the caller then reads: "a, b and c"."""
    yield cursor.next
    while cursor.next.is_symbol(",") or cursor.next.is_word("and"):
        if cursor.words[cursor.index + 1].kind is not kind:
            return
        cursor.take()
        yield cursor.next


def in_turn(items: Sequence[str]) -> str:
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def _keys(cursor: Cursor) -> tuple[str, ...]:
    keys: dict[str, None] = {}
    for word in each_of(cursor, WordKind.TEXT):
        key = text_of(cursor, cursor.take_kind("a group in quotes", WordKind.TEXT))
        if key in keys:
            raise cursor.refusal(f"the group {quoted(key)} appears twice", at=word)
        keys[key] = None
    return tuple(keys)


KEYS: Form[tuple[str, ...]] = Part(_keys, lambda keys, _: in_turn(list(map(quote_text, keys))))

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
    try:
        found = expression_at(words, start, _NEXT_INSTANT)
    except DefinitionError:
        found = None
    end = found[1] if found else start
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
