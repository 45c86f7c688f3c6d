"""The small language in which sentences are described, once: to read them and to write them.

    Pattern   a phrase with blanks: "the number of times <when>"
    Fixed     one of some fixed phrases, each of which stands for a value
    Choice    several forms of one thing
    Part      anything else: how it is read, and how it is written

In `< >` stands a blank, in `[ ]` what is left out if nothing is to be said there. Which form of a
choice comes next is told by its fixed words up to the first blank, so nothing is ever read twice.
Writing gives None for a value of another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, TypeVar, cast

from pappi.ppinot.notations.sentences.words import Cursor, Word
from pappi.values import Kind

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
