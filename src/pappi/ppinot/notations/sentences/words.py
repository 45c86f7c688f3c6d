"""The words of a sentence, going through them, and explaining where it goes wrong.

Words are cut off only when they are asked for, so that a long text that goes
wrong at its beginning is refused there. The lexer has no opinion on what a word
means; the parts of a sentence that are expressions are read again, by the
grammar of expressions.

Every word that is looked for and not found is remembered until the next one is
taken. So a refusal can say what would have fitted at the very place where the
sentence stops making sense, and what a misspelt word probably was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions.nodes import NOWHERE
from pappi.ppinot.expressions.parser import IDENTIFIER, MAX_DIGITS, Origin, refusal
from pappi.ppinot.model import Occurrence
from pappi.ppinot.wording import CONTROL, closest, quoted
from pappi.values import Vocabulary, WorkingCalendar

MAX_SIZE = 1_000_000
MAX_DEPTH = 40
_SHOWN = 6

Spellings = dict[str, list[tuple[str, tuple[str, ...]]]]


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
    _cut: list[Word] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.text) > MAX_SIZE:
            message = f"this text has more than {MAX_SIZE:,} characters"
            raise refusal(self.origin(0), message)

    def __getitem__(self, index: int) -> Word:
        words = self._cut
        while index >= len(words):
            if words and words[-1].kind is WordKind.END:
                return words[-1]
            words.append(self._word(words[-1].end if words else 0))
        return words[index]

    def _word(self, start: int) -> Word:
        """The word that begins here, or behind the spaces that are here."""
        if space := _SPACE.match(self.text, start):
            start = space.end()
        if start == len(self.text):
            return Word(WordKind.END, "", start, "")
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
        quotation = _QUOTATION[quote].match(self.text, start)
        if quotation is None:
            closing = {"“": "”", "‘": "’"}.get(quote, quote)
            message = f"this quoted text never ends: the closing {closing} is missing"
            apostrophe = 'a name with an apostrophe goes in double quotes: "it\'s done"'
            raise refusal(self.origin(start), message, apostrophe if quote == "'" else "")
        written = quotation.group()
        if control := CONTROL.search(written):
            place = self.origin(start + control.start())
            raise refusal(place, "this text contains a control character")
        return Word(WordKind.NAME if quote == "`" else WordKind.TEXT, written, start, written)


def words_of(text: str) -> Sequence[str]:
    """The words of a public name, as a sentence would have them; none if it has no such words.

    >>> words_of("Send for Credit Collection"), words_of("it's")
    (['send', 'for', 'credit', 'collection'], ['it', "'s"])
    """
    words = Words(text, lambda _: NOWHERE)
    said: list[str] = []
    try:
        while words[len(said)].kind is not WordKind.END:
            said.append(words[len(said)].said.lower())
    except DefinitionError:
        return []
    return said


# --- going through them ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """How a sentence is read where it leaves something open.

    names       activities and attributes that need no quotes then, whatever their capitals
    occurrence  at which events a condition occurs that does not say so
    calendar    the working time of a "business duration"
    groups      the keys of an attribute that cases are grouped by without naming any
    renamed     attributes that the sentence calls otherwise than the log does
    """

    names: Vocabulary | None = None
    occurrence: Occurrence = Occurrence.EVERY
    calendar: WorkingCalendar | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


PPINOT4PY = Reading(
    occurrence=Occurrence.ONSET,
    renamed={
        "concept:name": "activity",
        "time:timestamp": "timestamp",
        "lifecycle transition": "lifecycle:transition",
    },
)
"""What `str()` of a ppinot4py measure means: its conditions are onsets, its names XES's."""


@cache
def _split(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.split())


class Cursor:
    """A place between two words of a sentence.

    `waiting` holds the names that formulas around this place still have to explain.
    """

    def __init__(self, text: str, origin: Origin, reading: Reading) -> None:
        self.words = Words(text, origin)
        self.reading = reading
        self.index = 0
        self.waiting: list[set[str]] = []
        self._spelled: dict[str, Spellings] = {}
        self._depth = 0
        self._wanted: list[str] = []
        self._known: list[str] = []
        self._things: list[str] = []
        self._wanted_at = 0

    # --- looking and moving -----------------------------------------------------------

    @property
    def next(self) -> Word:
        return self.words[self.index]

    def word(self, ahead: int) -> Word:
        return self.words[self.index + ahead]

    @property
    def position(self) -> Position:
        return self.place(self.next)

    def place(self, word: Word) -> Position:
        return self.words.origin(word.start)

    def take(self) -> Word:
        word = self.next
        self.index += word.kind is not WordKind.END
        return word

    def says(self, phrase: str, ahead: int = 0) -> bool:
        """Whether these words come next; nobody is told that they were looked for."""
        for index, said in enumerate(_split(phrase), self.index + ahead):
            if self.words[index].said != said:
                return False
        return True

    def at(self, *phrases: str) -> str | None:
        """Which of these phrases comes next; the first of them is the one to recommend."""
        self.know(*phrases)
        self._wanted.append(phrases[0])
        return next(filter(self.says, phrases), None)

    def accept(self, *phrases: str) -> str | None:
        """The same, and it is taken."""
        phrase = self.at(*phrases)
        self.index += len(_split(phrase)) if phrase else 0
        return phrase

    def also(self, *phrases: str) -> str | None:
        """Takes one of these phrases, of which none is worth recommending."""
        self.know(*phrases)
        phrase = next(filter(self.says, phrases), None)
        self.index += len(_split(phrase)) if phrase else 0
        return phrase

    def expect(self, *phrases: str) -> str:
        phrase = self.accept(*phrases)
        if phrase is None:
            raise self.unexpected()
        return phrase

    def skip(self, *words: str) -> None:
        """Passes over words that change nothing."""
        while self.next.is_word(*words):
            self.index += 1

    def accept_kind(self, kind: WordKind, thing: str) -> Word | None:
        """The next word if it is of this kind; `thing` is what to call it."""
        self.want_thing(thing)
        return self.take() if self.next.kind is kind else None

    def spelled(self, sort: str, names: Iterable[str]) -> Spellings:
        """All names of a sort by the first of their words; asked again, they are not read."""
        if sort not in self._spelled:
            spellings: Spellings = {}
            for name in names:
                if said := tuple(words_of(name)):
                    spellings.setdefault(said[0], []).append((name, said))
            self._spelled[sort] = spellings
        return self._spelled[sort]

    # --- depth ------------------------------------------------------------------------

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Inside, a measure within a measure is read."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"measures are nested more than {MAX_DEPTH} levels deep here"
            raise refusal(self.position, message)
        yield
        self._depth -= 1

    # --- explaining -------------------------------------------------------------------

    def want_thing(self, thing: str) -> None:
        """Remembers that something would fit here which is not a fixed word."""
        self._forget()
        self._things.append(thing)

    def know(self, *phrases: str) -> None:
        """Remembers what a misspelt word may have been."""
        self._forget()
        self._known.extend(phrases)

    def _forget(self) -> None:
        if self._wanted_at != self.index:
            self._wanted_at = self.index
            self._wanted, self._known, self._things = [], [], []

    def refusal(self, message: str, hint: str = "", at: Word | None = None) -> DefinitionError:
        return refusal(self.place(at or self.next), message, hint)

    def unexpected(self, hint: str = "") -> DefinitionError:
        """What would have fitted here, and what is here instead."""
        self._forget()
        shown = [*map(quoted, dict.fromkeys(self._wanted)), *dict.fromkeys(self._things)]
        shown = shown[:_SHOWN] + ["…"] * (len(shown) > _SHOWN)
        fitting = " or ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
        after = f" after {self.words[self.index - 1]}" if self.index else ""
        message = f"expected {fitting or 'nothing more'}{after}, found {self.next}"
        return self.refusal(message, self._meant() or hint)

    def _meant(self) -> str:
        """The phrase a misspelt word may have been the beginning of."""
        spoken = [phrase for phrase in self._known if phrase.replace(" ", "").isalpha()]
        meant = {word: word for phrase in spoken for word in _split(phrase)}
        meant |= {_split(phrase)[0]: phrase for phrase in reversed(spoken)}
        if self.next.kind is not WordKind.WORD or self.next.said in meant:
            return ""
        word = closest(self.next.written, meant)
        return "" if word is None else f"did you mean {quoted(meant[word])}?"
