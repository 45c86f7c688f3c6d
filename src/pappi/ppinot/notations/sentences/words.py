"""The words of a sentence, going through them, and explaining where it goes wrong.

Words are cut off only when they are asked for, so that a long text that goes wrong at its
beginning is refused there. The lexer has no opinion on what a word means; the parts of a sentence
that are expressions are read again, by the grammar of expressions.

Whatever is looked for and not found is remembered for the furthest word that was reached. So a
refusal can say what would have fitted at the very place where the sentence stops making sense,
and what a misspelt word probably was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions import NOWHERE
from pappi.ppinot.grammar import IDENTIFIER, MAX_DIGITS, Origin, refusal
from pappi.ppinot.model import Occurrence
from pappi.values import CONTROL, WorkingCalendar, closest, quoted

MAX_SIZE = 1_000_000
MAX_DEPTH = 40
_SHOWN = 6


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
}


@dataclass(slots=True)
class Words:
    """The words of a text, by number; an END follows them."""

    text: str
    origin: Origin = lambda _: NOWHERE
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
            message = f"this quoted text never ends: the closing {quote} is missing"
            apostrophe = 'a name with an apostrophe goes in double quotes: "it\'s done"'
            raise refusal(self.origin(start), message, apostrophe if quote == "'" else "")
        written = quotation.group()
        if control := CONTROL.search(written):
            place = self.origin(start + control.start())
            raise refusal(place, "this text contains a control character")
        return Word(WordKind.NAME if quote == "`" else WordKind.TEXT, written, start, written)


@cache
def _said(phrase: str) -> tuple[str, ...]:
    """The words of a phrase of the grammar."""
    words, said = Words(phrase), list[str]()
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


PPINOT4PY = Dialect(
    occurrence=Occurrence.ONSET,
    renamed={
        "concept:name": "activity",
        "time:timestamp": "timestamp",
        "lifecycle transition": "lifecycle:transition",
    },
)
"""What `str()` of a ppinot4py measure means: its conditions are onsets, its names XES's."""


class Cursor:
    """A place between two words of a sentence.

    `waiting` holds the names that formulas around this place still have to explain.
    """

    def __init__(self, text: str, origin: Origin, dialect: Dialect) -> None:
        self.words = Words(text, origin)
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
