"""Text into tokens, each with the place it stands at.

Every character of the text is looked at a bounded number of times, and a
character the grammar has no use for is refused with the way to write it here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.wording import quoted

Origin = Callable[[int], Position]
"""Where the character at an offset of an expression stands in its file."""

MAX_LENGTH = 4_000
MAX_DIGITS = 40

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "true", "false"})


class TokenKind(Enum):
    NUMBER = auto()
    INSTANT = auto()
    TEXT = auto()
    NAME = auto()
    QUOTED_NAME = auto()
    KEYWORD = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the grammar: what it says, and what was written to say it."""

    kind: TokenKind
    value: str
    start: int
    written: str

    def is_keyword(self, word: str) -> bool:
        return self.kind is TokenKind.KEYWORD and self.value == word

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.value in symbols

    def __str__(self) -> str:
        return "the end" if self.kind is TokenKind.END else quoted(self.written)


_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?(?![0-9])"
)
IDENTIFIER = re.compile(r"[^\W\d]\w*(?::[^\W\d]\w*)*")
_SYMBOL = re.compile(r"==|!=|<=|>=|&&|\|\||[<>+\-*/%()\[\],?:!]")
_AS_KEYWORD = {"&&": "and", "||": "or", "!": "not"}
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "`": "`", "n": "\n", "t": "\t"}

_STRANGERS = {
    "=": "to compare, write '=='",
    "&": "write 'and'",
    "|": "write 'or'",
    ".": "there is no attribute access; a name with a dot in it goes in backticks, `like.this`",
    "“": 'use plain quotes: "…"',
    "”": 'use plain quotes: "…"',
    "‘": "use plain quotes: '…'",
    "’": "use plain quotes: '…'",
    "−": "use the plain minus: -",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "^": "there are no powers; multiply instead",
    "@": "there are no variables from outside",
}


def located(text: str, start: Position) -> Origin:
    """The origin of a text that was written in one piece from `start` on."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def origin(offset: int) -> Position:
        line = bisect_right(lines, offset) - 1
        before = start.column if line == 0 else 1
        return Position(start.file, start.line + line, before + offset - lines[line])

    return origin


def refusal(position: Position, message: str, hint: str = "") -> DefinitionError:
    """The error that an expression with one problem raises."""
    return DefinitionError([Problem(position, message, hint)])


def tokens(text: str, origin: Origin) -> list[Token]:
    """All tokens of a text and an END after them."""
    if len(text) > MAX_LENGTH:
        raise refusal(
            origin(0),
            f"this expression has {len(text):,} characters; at most {MAX_LENGTH:,} are read",
        )
    found = []
    offset = _after_space(text, 0)
    while offset < len(text):
        token = _token(text, offset, origin)
        found.append(token)
        offset = _after_space(text, offset + len(token.written))
    return [*found, Token(TokenKind.END, "", len(text), "")]


def _after_space(text: str, offset: int) -> int:
    space = _SPACE.match(text, offset)
    return space.end() if space else offset


def _token(text: str, start: int, origin: Origin) -> Token:
    if text[start] in "'\"`":
        return _quotation(text, start, origin)
    if instant := _INSTANT.match(text, start):
        return Token(TokenKind.INSTANT, instant.group(), start, instant.group())
    if number := _NUMBER.match(text, start):
        return _number(number.group(), start, origin)
    if name := IDENTIFIER.match(text, start):
        return _word(name.group(), start)
    if symbol := _SYMBOL.match(text, start):
        return _symbol(symbol.group(), start)
    raise _stranger(text, start, origin)


def _number(written: str, start: int, origin: Origin) -> Token:
    if len(written) > MAX_DIGITS:
        raise refusal(origin(start), f"this number has more than {MAX_DIGITS} digits")
    return Token(TokenKind.NUMBER, written, start, written)


def _word(written: str, start: int) -> Token:
    word = written.lower()
    if word in KEYWORDS:
        return Token(TokenKind.KEYWORD, word, start, written)
    return Token(TokenKind.NAME, written, start, written)


def _symbol(written: str, start: int) -> Token:
    if written in _AS_KEYWORD:
        return Token(TokenKind.KEYWORD, _AS_KEYWORD[written], start, written)
    return Token(TokenKind.SYMBOL, written, start, written)


def _quotation(text: str, start: int, origin: Origin) -> Token:
    quote = text[start]
    characters: list[str] = []
    offset = start + 1
    while offset < len(text) and text[offset] != quote:
        step = 2 if text[offset] == "\\" else 1
        characters.append(_unescaped(text[offset : offset + step], offset, origin))
        offset += step
    if offset >= len(text):
        raise refusal(origin(start), f"this quotation has no end: a closing {quote} is missing")
    kind = TokenKind.QUOTED_NAME if quote == "`" else TokenKind.TEXT
    if kind is TokenKind.QUOTED_NAME and not characters:
        raise refusal(origin(start), "there is no name between these backticks")
    return Token(kind, "".join(characters), start, text[start : offset + 1])


def _unescaped(written: str, offset: int, origin: Origin) -> str:
    if not written.startswith("\\"):
        return written
    if written[1:] not in _ESCAPES:
        raise refusal(
            origin(offset),
            f"{quoted(written)} means nothing inside quotes",
            "write \\\\ for a backslash, \\n for a new line, \\t for a tab",
        )
    return _ESCAPES[written[1:]]


def _stranger(text: str, start: int, origin: Origin) -> DefinitionError:
    character = text[start]
    return refusal(
        origin(start), f"{quoted(character)} has no meaning here", _STRANGERS.get(character, "")
    )
