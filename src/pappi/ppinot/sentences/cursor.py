"""Going through the words of a sentence, and explaining where it goes wrong.

Every word that is looked for and not found is remembered until the next one is
taken. So a refusal can say what would have fitted at the very place where the
sentence stops making sense, and what a misspelt word probably was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions.lexer import Origin, refusal
from pappi.ppinot.model import Occurrence
from pappi.ppinot.sentences.words import Word, WordKind, Words, words_of
from pappi.ppinot.wording import closest, quoted
from pappi.values.vocabulary import Vocabulary
from pappi.values.working_time import WorkingCalendar

Spellings = dict[str, list[tuple[str, tuple[str, ...]]]]

MAX_DEPTH = 40
_SHOWN = 6


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
        self._want(phrases)
        return next((phrase for phrase in phrases if self.says(phrase)), None)

    def accept(self, *phrases: str) -> str | None:
        """The same, and it is taken."""
        found = self.at(*phrases)
        if found is not None:
            self.index += len(_split(found))
        return found

    def also(self, *phrases: str) -> str | None:
        """Takes one of these phrases, of which none is worth recommending."""
        self._forget()
        self._known.extend(phrases)
        found = next((phrase for phrase in phrases if self.says(phrase)), None)
        self.index += len(_split(found)) if found else 0
        return found

    def expect(self, *phrases: str) -> str:
        found = self.accept(*phrases)
        if found is None:
            raise self.unexpected()
        return found

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

    def _want(self, phrases: tuple[str, ...]) -> None:
        self._forget()
        self._wanted.append(phrases[0])
        self._known.extend(phrases)

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
        things = list(dict.fromkeys(self._things))
        wanted = list(dict.fromkeys(self._wanted))
        shown = [*map(quoted, wanted), *things]
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
