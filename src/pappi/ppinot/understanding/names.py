"""What a few words of a sentence may mean in a log: its activities, attributes and declared values.

Only what is public is compared. A match has a score from 0 to 1 and names the words it accounts
for: the more of the words, and the more of the name, the better; words that many names share, and
nouns for cases, weigh little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from pappi.ppinot.understanding import lexicon
from pappi.ppinot.understanding.words import (
    SAME,
    SLIP,
    Token,
    TokenKind,
    likeness,
    noun_stem,
    parts_of,
    stem,
)
from pappi.values import Kind, Vocabulary


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
        said = [t for t in words if t.kind is not TokenKind.LIMIT and _same(t.low, part)]
        if not said:
            return frozenset()
        used.update(said[0].places)
    return frozenset(used)


def _same(word: str, part: str) -> bool:
    return likeness(word, part) >= SLIP


def _is_state(word: str) -> bool:
    """Whether a word can say what became of a case: "frozen", "resolution", "on hold"."""
    is_form = word.endswith(("ed", "ing", "en", "tion")) or word in lexicon.VERBS
    acts = (verb for group in lexicon.ACTS for verb in group)
    return is_form or any(stem(word) == stem(verb) for verb in acts)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _best(found: Iterable[Mention | None]) -> list[Mention]:
    mentions = [mention for mention in found if mention is not None]
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
