"""The words of a sentence in everyday English, and which of them mean the same.

A token is a word, a number, a name in quotes or a sign. Two words are alike to a degree: the same
stem, a word family ("paid", "payment"), a synonym of business processes, or a slip of the pen.

>>> [token.low for token in tokens('Time to "Send Fine", in days?')]
['time', 'to', 'send fine', ',', 'in', 'days']
>>> likeness("resolution", "resolve") > 0.8, likeness("resolve", "reject")
(True, 0.0)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from itertools import takewhile

from rapidfuzz.distance import DamerauLevenshtein
from snowballstemmer import stemmer

from pappi.ppinot.understanding import lexicon


class TokenKind(Enum):
    WORD = auto()
    NUMBER = auto()
    NAME = auto()
    SIGN = auto()
    LIMIT = auto()


@dataclass(frozen=True, slots=True)
class Limit:
    """A comparison with an amount, or a range of two: "at most 3 days", "more than once".

    `unit` is a unit of time, "%", "times", or whatever word stood behind the number.
    """

    operator: str
    number: str
    unit: str = ""
    upper: str = ""
    within: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A word at a place of the sentence; `covers` are all places it stands for."""

    text: str
    at: int
    kind: TokenKind = TokenKind.WORD
    limit: Limit | None = None
    covers: tuple[int, ...] = ()

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def places(self) -> tuple[int, ...]:
        return self.covers or (self.at,)


_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|`[^`]+`|(?<!\w)'[^']+'(?!\w))"""
    r"|(?P<date>\d{4}-\d{2}-\d{2})"
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th)\b)|(?P<percentile>[pP]\d{1,2}\b)"
    r"|(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?\d*)"
    r"|(?P<sign><=|>=|[<>≤≥=%€$£#,;:()/&])"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_KINDS = {"quoted": TokenKind.NAME, "number": TokenKind.NUMBER, "sign": TokenKind.SIGN}


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text, with short forms written out: "isn't" is "is not"."""
    cut: list[Token] = []
    for match in _TOKEN.finditer(text.replace("’", "'")):
        kind, written = _KINDS.get(str(match.lastgroup), TokenKind.WORD), match.group()
        if kind is TokenKind.NAME:
            written = written[1:-1].strip()
        elif kind is TokenKind.NUMBER:
            written = _plain_number(written)
        elif written.lower().endswith("n't"):
            cut.append(Token(written[:-3], len(cut)))
            written = "not"
        cut.append(Token(written, len(cut), kind))
    return tuple(replace(token, at=at) for at, token in enumerate(cut))


def _plain_number(written: str) -> str:
    """
    >>> _plain_number("10,000"), _plain_number("2,5"), _plain_number("2.50")
    ('10000', '2.5', '2.50')
    """
    if _THOUSANDS.fullmatch(written):
        return written.replace(",", "")
    return written.replace(",", ".") if written.count(",") + written.count(".") == 1 else written


# --- how alike two words are ----------------------------------------------------------

SAME, FAMILY, SYNONYM, SLIP = 1.0, 0.95, 0.8, 0.9
_STEMMER = stemmer("english")
_ENDINGS = re.compile(r"(?:ations?|itions?|ions?|ments?|als?|ures?|ances?|ences?|ings?|s)$")
_SHORTEST_ROOT, _SHORTEST_PREFIX, _SHORTEST_SLIP = 4, 5, 5


@cache
def stem(word: str) -> str:
    """The stem of a word, irregular forms taken back to their verb.

    >>> stem("paid"), stem("payments") == stem("payment"), stem("tickets")
    ('pay', True, 'ticket')
    """
    low = word.lower().removesuffix("'s")
    return str(_STEMMER.stemWord(lexicon.VERBS.get(low, low)))


@cache
def noun_stem(word: str) -> str:
    """The stem of a noun: a "shipment" is a thing, "shipped" is what happens to it."""
    return str(_STEMMER.stemWord(word.lower().removesuffix("'s")))


@cache
def _root(word: str) -> str:
    """What is left of a noun made from a verb: "registration" is "registr"."""
    low = lexicon.VERBS.get(word, word)
    shorter = _ENDINGS.sub("", low)
    return shorter if len(shorter) >= _SHORTEST_ROOT else low


@cache
def _groups(word: str) -> frozenset[int]:
    mine = {stem(word), stem(_root(word))}
    return frozenset(
        number
        for number, group in enumerate(lexicon.SYNONYMS)
        if mine & {stem(synonym) for synonym in group}
    )


@cache
def likeness(one: str, other: str) -> float:
    """From 0 to 1: how sure it is that two words, in small letters, are about the same."""
    if (
        one == other
        or stem(one) == stem(other)
        or {one, other} in ({one, one + "s"}, {other, other + "s"})
    ):
        return SAME
    if one.isdigit() or other.isdigit():
        return 0.0
    first, second = _root(one), _root(other)
    if stem(first) == stem(second):
        return FAMILY
    common = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    )
    if common >= _SHORTEST_PREFIX and common >= 0.7 * min(len(stem(first)), len(stem(second))):
        return FAMILY if common >= 0.7 * max(len(stem(first)), len(stem(second))) else 0.85
    if _groups(one) & _groups(other):
        return SYNONYM
    if min(len(one), len(other)) >= _SHORTEST_SLIP:
        apart = DamerauLevenshtein.distance(stem(one), stem(other), score_cutoff=2)
        if apart <= (1 if min(len(one), len(other)) < 2 * _SHORTEST_SLIP - 2 else 2):
            return SLIP
    return 0.0


_PARTS = re.compile(r"[A-Za-z]{1,3}\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")


@cache
def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name, however it is put together.

    >>> parts_of("totalPaymentAmount"), parts_of("org:group"), parts_of("Send for Credit")
    (('total', 'payment', 'amount'), ('org', 'group'), ('send', 'credit'))
    """
    words = tuple(part.lower() for part in _PARTS.findall(name))
    return tuple(word for word in words if word not in lexicon.GLUE) or words
