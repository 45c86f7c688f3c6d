"""A sentence into words, each with the place it stands at.

Words are cut off only when they are asked for, so that a long text that goes
wrong at its beginning is refused there. The lexer has no opinion on what a word
means; the parts of a sentence that are expressions are read again, by the
grammar of expressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from pappi.errors import DefinitionError
from pappi.ppinot.expressions.lexer import IDENTIFIER, MAX_DIGITS, Origin, refusal
from pappi.ppinot.expressions.nodes import NOWHERE
from pappi.ppinot.wording import CONTROL, quoted

MAX_SIZE = 1_000_000


class WordKind(Enum):
    WORD = auto()
    NUMBER = auto()
    ORDINAL = auto()
    DATE = auto()
    CLOCK = auto()
    TEXT = auto()
    NAME = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a sentence: what is written, and how it compares with other words."""

    kind: WordKind
    written: str
    start: int
    said: str

    @property
    def end(self) -> int:
        return self.start + len(self.written)

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is WordKind.SYMBOL and self.written in symbols

    def is_word(self, *words: str) -> bool:
        return self.kind is WordKind.WORD and self.said in words

    def __str__(self) -> str:
        return "the end" if self.kind is WordKind.END else quoted(self.written)


_PIECE = re.compile(
    r"(?P<DATE>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?(?![0-9]))"
    r"|(?P<CLOCK>[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?![0-9]))"
    r"|(?P<ORDINAL>[0-9]{1,3}(?i:st|nd|rd|th)(?!\w))"
    r"|(?P<NUMBER>[0-9]+(?:\.[0-9]+)?)"
    rf"|(?P<WORD>{IDENTIFIER.pattern})"
    r"|(?P<SYMBOL>==|!=|<=|>=|&&|\|\||.)",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_QUOTATION = {
    '"': re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]++|\\.)*+'", re.DOTALL),
    "`": re.compile(r"`(?:[^`\\]++|\\.)*+`", re.DOTALL),
    # What word processors make of quotes.
    "“": re.compile("“[^”]*+”"),
    "‘": re.compile("‘[^’]*+’"),
}
_POSSESSIVE = re.compile(r"(?<=\w)['’]s(?!\w)")


@dataclass(slots=True)
class Words:
    """The words of a text, by number; an END follows them."""

    text: str
    origin: Origin
    _found: list[Word] = field(default_factory=list)
    _offset: int = 0

    def __post_init__(self) -> None:
        if len(self.text) > MAX_SIZE:
            message = f"this text has more than {MAX_SIZE:,} characters"
            raise refusal(self.origin(0), message)

    def __getitem__(self, index: int) -> Word:
        found = self._found
        while index >= len(found):
            if found and found[-1].kind is WordKind.END:
                return found[-1]
            found.append(self._cut())
        return found[index]

    def _cut(self) -> Word:
        space = _SPACE.match(self.text, self._offset)
        start = space.end() if space else self._offset
        word = self._word(start) if start < len(self.text) else Word(WordKind.END, "", start, "")
        self._offset = word.end
        return word

    def _word(self, start: int) -> Word:
        if possessive := _POSSESSIVE.match(self.text, start):
            return Word(WordKind.WORD, possessive.group(), start, "'s")
        if self.text[start] in _QUOTATION:
            return self._quotation(start)
        piece = _PIECE.match(self.text, start)
        if piece is None or piece.lastgroup is None:
            raise AssertionError("every character is a symbol at least")
        kind, written = WordKind[piece.lastgroup], piece.group()
        if kind is WordKind.NUMBER and len(written) > MAX_DIGITS:
            raise refusal(self.origin(start), f"this number has more than {MAX_DIGITS} digits")
        return Word(kind, written, start, written.lower() if kind is WordKind.WORD else written)

    def _quotation(self, start: int) -> Word:
        quote = self.text[start]
        found = _QUOTATION[quote].match(self.text, start)
        if found is None:
            raise self._unclosed(start)
        if control := CONTROL.search(found.group()):
            place = self.origin(start + control.start())
            raise refusal(place, "this text holds a control character")
        kind = WordKind.NAME if quote == "`" else WordKind.TEXT
        return Word(kind, found.group(), start, found.group())

    def _unclosed(self, start: int) -> DefinitionError:
        quote = self.text[start]
        closing = {"“": "”", "‘": "’"}.get(quote, quote)
        return refusal(
            self.origin(start),
            f"this quotation has no end: a closing {closing} is missing",
            'a name with an apostrophe goes in double quotes: "it\'s done"' if quote == "'" else "",
        )


def words_of(text: str) -> Sequence[str]:
    """The words of a public name, as a sentence would have them; none if it has no such words.

    >>> words_of("Send for Credit Collection"), words_of("it's")
    (['send', 'for', 'credit', 'collection'], ['it', "'s"])
    """
    words = Words(text, lambda _: NOWHERE)
    found: list[str] = []
    try:
        while words[len(found)].kind is not WordKind.END:
            found.append(words[len(found)].said.lower())
    except DefinitionError:
        return []
    return found
