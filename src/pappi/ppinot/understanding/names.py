"""What a few words of a sentence may mean in a log: its activities, attributes and declared values.

A token is a word, a number, a name in quotes or a sign. Two words are alike to a degree: the same
stem, a word family ("paid", "payment"), a synonym of business processes, or a slip of the pen.

Only what is public is compared. A match has a score from 0 to 1 and names the words it accounts
for: the more of the words, and the more of the name, the better; words that many names share, and
nouns for cases, weigh little.

>>> [token.low for token in tokens_of('Time to "Send Fine", in days?')]
['time', 'to', 'send fine', ',', 'in', 'days']
>>> likeness("resolution", "resolve") > 0.8, likeness("resolve", "reject")
(True, 0.0)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, cached_property
from itertools import takewhile

from rapidfuzz.distance import DamerauLevenshtein
from snowballstemmer import stemmer

from pappi.ppinot.understanding import lexicon
from pappi.values import Kind, Vocabulary


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


def tokens_of(text: str) -> tuple[Token, ...]:
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
def likeness(word: str, other: str) -> float:
    """From 0 to 1: how sure it is that two words, in small letters, are about the same."""
    if (
        word == other
        or stem(word) == stem(other)
        or {word, other} in ({word, word + "s"}, {other, other + "s"})
    ):
        return SAME
    if word.isdigit() or other.isdigit():
        return 0.0
    first, second = _root(word), _root(other)
    if stem(first) == stem(second):
        return FAMILY
    common = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    )
    if common >= _SHORTEST_PREFIX and common >= 0.7 * min(len(stem(first)), len(stem(second))):
        return FAMILY if common >= 0.7 * max(len(stem(first)), len(stem(second))) else 0.85
    if _groups(word) & _groups(other):
        return SYNONYM
    if min(len(word), len(other)) >= _SHORTEST_SLIP:
        apart = DamerauLevenshtein.distance(stem(word), stem(other), score_cutoff=2)
        if apart <= (1 if min(len(word), len(other)) < 2 * _SHORTEST_SLIP - 2 else 2):
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


class Sort(Enum):
    ACTIVITY = auto()
    ATTRIBUTE = auto()
    VALUE = auto()


@dataclass(frozen=True, slots=True)
class Mention:
    """Some words, taken for a name of the log; of a value, `attribute` is where it is found.

    `declared` is false for a value that the log does not list: it is as the sentence has it.
    """

    sort: Sort
    name: str
    score: float
    used: frozenset[int]
    words: str
    attribute: str = ""
    exact: bool = False
    declared: bool = True
    negated: bool = False


_NEEDED = 0.42
_SHARED, _COMMON, _NOUN = 0.7, 0.5, 0.35
_LEAST_LIKE = 0.75
_LIGHT = 0.2
_MANY = 2


class Names:
    """The public names of a log, ready to be compared with words."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.subject: frozenset[int] = frozenset()
        """Places of words that stand for the cases in this sentence, whatever they are."""
        self.attributes = {"activity": Kind.TEXT, **vocabulary.attributes}
        names = (*vocabulary.activities, *vocabulary.attributes)
        self._frequency = Counter(stem(part) for name in names for part in set(parts_of(name)))
        self._alone = {noun_stem(parts_of(name)[0]) for name in names if len(parts_of(name)) == 1}

    @cached_property
    def case_nouns(self) -> frozenset[str]:
        """Stems of words for cases: the usual ones, and what several activities are about."""
        activities = [set(map(noun_stem, parts_of(n))) for n in self.vocabulary.activities]
        often = Counter(word for name in activities for word in name)
        most = max(3, len(activities) // 4)
        own = {word for word, times in often.items() if times >= most}
        keys = {noun_stem(key) for values in self.vocabulary.keys.values() for key in values}
        return frozenset({*map(noun_stem, lexicon.CASE_NOUNS), *own} - self._alone - keys)

    def is_case_noun(self, token: Token) -> bool:
        """Whether a word stands for the cases themselves: "fines", and not "fined"."""
        if token.at in self.subject:
            return True
        is_noun = token.kind is TokenKind.WORD and not token.low.endswith("ed")
        return is_noun and noun_stem(token.low) in self.case_nouns

    def may_name(self, token: Token) -> bool:
        """Whether a noun for cases is also part of a name, so that it could mean that instead."""
        return self.is_case_noun(token) and 1 <= self._frequency[stem(token.low)] <= _MANY

    def is_empty(self, token: Token) -> bool:
        """Whether a word says nothing by itself."""
        if token.kind is not TokenKind.WORD:
            return token.kind is TokenKind.SIGN
        is_short_form = token.text.isupper() and len(token.text) > 1
        return token.low in lexicon.FILLERS and not is_short_form

    @cached_property
    def state_attributes(self) -> tuple[str, ...]:
        """Text attributes that tell which state a case is in."""
        text = (name for name, kind in self.attributes.items() if kind is Kind.TEXT)
        return tuple(
            name
            for name in text
            if set(parts_of(name)) & lexicon.STATE_NAMES and len(parts_of(name)) <= _MANY
        )

    @cached_property
    def type_attributes(self) -> tuple[str, ...]:
        """Text attributes without listed values that tell what sort of case it is."""
        text = (name for name, kind in self.vocabulary.attributes.items() if kind is Kind.TEXT)
        unlisted = (name for name in text if name not in self.vocabulary.keys)
        return tuple(name for name in unlisted if set(parts_of(name)) <= lexicon.TYPE_NAMES)

    def _weight(self, part: str) -> float:
        times = self._frequency[stem(part)]
        weight = 1.0 if times <= 1 else _SHARED if times == _MANY else _COMMON
        return min(weight, _NOUN) if noun_stem(part) in self.case_nouns else weight

    # --- matching -----------------------------------------------------------------------

    def activities(self, words: Sequence[Token], *, nouns: bool = False) -> list[Mention]:
        """Activities that these words may name; with `nouns`, also by a noun for cases alone."""
        named = self.vocabulary.activities
        return _best(self._match(words, name, Sort.ACTIVITY, nouns=nouns) for name in named)

    def attributes_in(self, words: Sequence[Token], *kinds: Kind) -> list[Mention]:
        named = (n for n, kind in self.vocabulary.attributes.items() if not kinds or kind in kinds)
        return _best(self._match(words, name, Sort.ATTRIBUTE) for name in named)

    def values(self, words: Sequence[Token]) -> list[Mention]:
        """Declared values whose every word is said; states also by other words for them."""
        mentions = []
        for attribute, keys in self.vocabulary.keys.items():
            if self.attributes.get(attribute) is not Kind.TEXT:
                continue
            for key in keys:
                used = _said(words, parts_of(key))
                shown = " ".join(token.text for token in words if token.at in used)
                exact = shown.lower() == key.lower()
                if used:
                    mentions.append(
                        Mention(Sort.VALUE, key, 1.0, used, shown, attribute, exact=exact)
                    )
                elif attribute in self.state_attributes:
                    alike = self._match(words, key, Sort.VALUE)
                    mentions += [replace(alike, attribute=attribute)] if alike else []
        return sorted(mentions, key=lambda mention: (-len(mention.used), -mention.score))

    def unlisted_values(
        self, words: Sequence[Token], attribute: str, *, called: bool = False
    ) -> list[Mention]:
        """A value of an attribute that declares none, spelt as the other names of the log are.

        Unless the attribute is `called` by its name, the words have to look like a state.
        """
        if attribute in self.vocabulary.keys:
            return []
        content = [
            token
            for token in words
            if not self.is_empty(token)
            and not self.is_case_noun(token)
            and token.low not in lexicon.MARKS
            and not (set(parts_of(token.low)) & set(parts_of(attribute)))
        ]
        quoted = [token for token in content if token.kind is TokenKind.NAME]
        called |= bool(quoted) or any(token.low in lexicon.STATE_NAMES for token in words)
        if not content or any(token.kind is TokenKind.LIMIT for token in content):
            return []
        gaps = [at for at in range(1, len(content)) if content[at].at > content[at - 1].at + 1]
        content = content[gaps[-1] :] if gaps else content
        if len(content) > (3 if called else _MANY):
            return []
        if content[0].low in lexicon.NEGATIONS or _is_plural(content[-1].low):
            return []
        are = [at for at, t in enumerate(words) if t.low in lexicon.BEING and t.at < content[0].at]
        if not called and not are and not any(_is_state(token.low) for token in content):
            return []
        shown = " ".join(token.text for token in content)
        name = quoted[0].text if quoted else self._spelt(content, attribute)
        used = frozenset(token.at for token in content)
        score = 0.9 if quoted else 0.62
        return [Mention(Sort.VALUE, name, score, used, shown, attribute, declared=False)]

    def _spelt(self, content: Sequence[Token], attribute: str) -> str:
        words = [token.text for token in content]
        if attribute in self.state_attributes and len(words) == 1:
            words = [_participle(words[0])]
        capitals = sum(name[:1].isupper() for name in self.vocabulary.activities)
        if 2 * capitals >= len(self.vocabulary.activities):
            words = [word[:1].upper() + word[1:] for word in words]
        return " ".join(words)

    def _match(
        self, words: Sequence[Token], name: str, sort: Sort, *, nouns: bool = False
    ) -> Mention | None:
        quoted = [token for token in words if token.kind is TokenKind.NAME]
        for token in quoted:
            if token.text.lower() == name.lower():
                return Mention(sort, name, 1.0, frozenset(token.places), token.text, exact=True)
        parts = parts_of(name)
        content = [token for token in words if self._counts(token, parts)]
        if not content or not parts:
            return None
        used: dict[int, float] = {}
        reached, negated = 0.0, False
        for part in parts:
            (alike, is_negated), token = max(
                ((_alike(token, part), token) for token in content), key=lambda it: it[0][0]
            )
            if alike >= _LEAST_LIKE:
                reached += self._weight(part) * alike
                used[token.at] = max(alike, used.get(token.at, 0.0))
                negated |= is_negated
        if not used:
            return None
        recall = reached / sum(self._weight(part) for part in parts)
        light = {token.at for token in content if self.is_case_noun(token) and not nouns}
        weights = {
            token.at: 1.0 if token.at not in light else _LIGHT * (token.at in used)
            for token in content
        }
        own = sum(weight * used.get(at, 0.0) for at, weight in weights.items())
        precision = own / sum(weights.values())
        score = 0.55 * precision + 0.45 * recall
        # Only nouns for cases are alike: "claims" is not yet "Pay claim".
        if all(self.is_case_noun(token) for token in content if token.at in used):
            score *= 0.9 if nouns or len(used) == len(parts) else 0.5
        if score < _NEEDED:
            return None
        shown = " ".join(token.text for token in content if token.at in used)
        said = {token.low for token in content if token.at in used}
        exact = recall >= SAME and precision >= SAME and said == set(parts)
        places = frozenset(at for token in content if token.at in used for at in token.places)
        return Mention(sort, name, score, places, shown, exact=exact, negated=negated)

    def _counts(self, token: Token, parts: Iterable[str]) -> bool:
        """Whether a word has to be accounted for, or can be part of this name."""
        if token.kind in (TokenKind.SIGN, TokenKind.LIMIT):
            return False
        if token.low in lexicon.MARKS:
            return False
        return not self.is_empty(token) or any(stem(token.low) == stem(part) for part in parts)


def _alike(token: Token, part: str) -> tuple[float, bool]:
    """How alike a word and a part of a name are; "unpaid" is "paid", negated."""
    best = max((likeness(word, part) for word in parts_of(token.low)), default=0.0)
    if best < _LEAST_LIKE and token.low.startswith(("un", "non")):
        bare = token.low.removeprefix("un").removeprefix("non")
        if len(bare) > _MANY and likeness(bare, part) >= _LEAST_LIKE:
            return likeness(bare, part), True
    return best, False


def _said(words: Sequence[Token], parts: Sequence[str]) -> frozenset[int]:
    used: set[int] = set()
    for part in parts:
        said = [t for t in words if t.kind is not TokenKind.LIMIT and likeness(t.low, part) >= SLIP]
        if not said:
            return frozenset()
        used.update(said[0].places)
    return frozenset(used)


def _is_state(word: str) -> bool:
    """Whether a word can say what became of a case: "frozen", "resolution", "on hold"."""
    is_form = word.endswith(("ed", "ing", "en", "tion")) or word in lexicon.VERBS
    acts = (verb for group in lexicon.ACTS for verb in group)
    return is_form or any(stem(word) == stem(verb) for verb in acts)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _best(candidates: Iterable[Mention | None]) -> list[Mention]:
    mentions = [mention for mention in candidates if mention is not None]
    return sorted(mentions, key=lambda mention: -mention.score)


def _participle(word: str) -> str:
    """How a state is called after what led to it.

    >>> _participle("resolve"), _participle("resolution"), _participle("waiting")
    ('resolved', 'resolved', 'waiting')
    """
    verb = lexicon.VERBS.get(word.lower(), word.lower())
    if word.lower().endswith(("ed", "ing")) and word.lower() not in ("need", "speed"):
        return word
    if verb in lexicon.PARTICIPLES:
        return lexicon.PARTICIPLES[verb]
    if verb != word.lower() or word.lower().endswith(("e", "ct", "sh", "y")):
        if verb.endswith("y"):
            return verb[:-1] + "ied"
        return verb + ("d" if verb.endswith("e") else "ed")
    return word
