"""Parts of a sentence that are about one case: what is so in it, when something happens, how long.

Each part is read in every way that makes sense. A way has the scores of the names it rests on, the
places of the words it accounts for, and what was assumed; the ways are ranked by that, and the best
few go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Generic, TypeVar

from pappi.errors import NotUnderstood
from pappi.ppinot.expressions import (
    Binary,
    DurationLiteral,
    Expression,
    IsMissing,
    Name,
    Not,
    NumberLiteral,
    Operator,
    TextLiteral,
    equals,
    is_activity,
    substituted,
)
from pappi.ppinot.grammar import variable_for
from pappi.ppinot.model import (
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedSingleInstance,
    EventSequence,
    Instant,
    Occurs,
    Order,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
)
from pappi.ppinot.understanding import lexicon
from pappi.ppinot.understanding.names import (
    Limit,
    Mention,
    Names,
    Sort,
    Token,
    TokenKind,
    likeness,
    parts_of,
    stem,
)
from pappi.ppinot.understanding.slots import covered, phrase_at
from pappi.values import DURATIONS, CaseBorder, Kind

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Tokens = tuple[Token, ...]

_KEPT = 5
_UNREAD, _UNREAD_TURN = 0.8, 0.4
"""For each word left over, and for one without which the sentence says something else."""
_DEEPEST, _MOST_CONNECTIONS = 3, 6
# Words times names that are compared: ten times what a long sentence about 500 names needs.
_MOST_COMPARED = 3_000_000


@dataclass(frozen=True, slots=True)
class Way(Generic[T_co]):
    """One way to read some words."""

    meant: T_co
    scores: tuple[float, ...] = ()
    used: frozenset[int] = frozenset()
    assumed: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    weight: float = 1.0

    @property
    def sure(self) -> float:
        """How well the names fit: on average, and the one that fits worst."""
        if not self.scores:
            return self.weight
        return self.weight * (sum(self.scores) / len(self.scores) + min(self.scores)) / 2


def joined(
    meant: T, *ways: Way[object], weight: float = 1.0, assumed: tuple[str, ...] = ()
) -> Way[T]:
    """What several ways make together."""
    for way in ways:
        weight *= way.weight
    return Way(
        meant,
        tuple(score for way in ways for score in way.scores),
        frozenset(place for way in ways for place in way.used),
        tuple(dict.fromkeys((*(said for way in ways for said in way.assumed), *assumed))),
        tuple(kind for way in ways for kind in way.kinds),
        weight,
    )


def using(way: Way[T], tokens: Iterable[Token], *assumed: str, weight: float = 1.0) -> Way[T]:
    """The same, that also accounts for these words."""
    used = way.used | frozenset(covered(tuple(tokens)))
    return replace(way, used=used, assumed=(*way.assumed, *assumed), weight=way.weight * weight)


class Clauses:
    """Reads the parts of sentences about one log."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._read: dict[tuple[int, tuple[int, ...]], list[Way[SingleInstance]]] = {}
        self._seen: dict[tuple[str, tuple[int, ...]], list[Mention]] = {}
        self._compared_words = 0
        known = names.vocabulary
        values = sum(map(len, known.keys.values()))
        self._all_names = len(known.activities) + len(known.attributes) + values

    def forget(self) -> None:
        """Match anew: another noun stands for the cases now."""
        self._seen.clear()
        self._read.clear()

    # --- what words are left over -------------------------------------------------------

    def unread(self, tokens: Sequence[Token], used: frozenset[int]) -> tuple[Token, ...]:
        """Words that say something, and that nothing accounts for."""
        return tuple(
            token
            for token in tokens
            if not used.issuperset(token.places)
            and not self.names.is_empty(token)
            and not self.names.is_case_noun(token)
            and token.at >= 0
        )

    def best(self, ways: Iterable[Way[T]], tokens: Sequence[Token]) -> list[Way[T]]:
        """The few ways that fit the words best, each meaning once."""

        def quality(way: Way[T]) -> float:
            return way.sure * self.readable(tokens, way.used)

        kept: dict[str, Way[T]] = {}
        for way in sorted(ways, key=quality, reverse=True):
            kept.setdefault(repr(way.meant), way)
        return list(kept.values())[:_KEPT]

    def readable(self, tokens: Sequence[Token], used: frozenset[int]) -> float:
        """How much is left of a sentence's sense without the words that nothing accounts for."""
        left = 1.0
        for token in self.unread(tokens, used):
            turns = token.limit is not None or token.low in lexicon.NEGATIONS
            left *= _UNREAD_TURN if turns else _UNREAD
        return left

    def content(self, tokens: Sequence[Token]) -> tuple[Token, ...]:
        return self.unread(tokens, frozenset())

    def _mentions(self, tokens: Tokens, look: str) -> list[Mention]:
        key = look, tuple(token.at for token in tokens)
        if key not in self._seen:
            self._compared_words += len(tokens) * self._all_names
            if self._compared_words > _MOST_COMPARED:
                raise NotUnderstood(
                    "this can be read in too many ways", hint="say it in fewer words"
                )
            match look:
                case "activity":
                    mentions = self.names.activities(tokens)
                case "noun":
                    mentions = self.names.activities(tokens, nouns=True)
                case "value":
                    mentions = self.names.values(tokens)
                case _:
                    mentions = self.names.attributes_in(tokens, Kind(look))
            self._seen[key] = mentions[:_KEPT]
        return self._seen[key]

    def numbers(self, tokens: Tokens) -> list[Mention]:
        """Attributes that hold a number, or a duration, which these words may name."""
        mentions = (*self._mentions(tokens, Kind.NUMBER), *self._mentions(tokens, Kind.DURATION))
        return sorted(mentions, key=lambda mention: -mention.score)

    # --- conditions ---------------------------------------------------------------------

    def conditions(self, tokens: Tokens, depth: int = 0) -> list[Way[SingleInstance]]:
        """What is so in a case, by these words; none if they say nothing about it."""
        tokens = _trimmed(tokens)
        if depth > _DEEPEST or not (self.content(tokens) or self._is_named(tokens)):
            return []
        key = depth, tuple(token.at for token in tokens)
        if key not in self._read:
            ways = list(self._atoms(tokens))
            ways += self._neither(tokens, depth)
            ways += self._combined(tokens, depth)
            self._read[key] = self.best(ways, tokens)
        return self._read[key]

    def _is_named(self, tokens: Tokens) -> bool:
        """Whether words that say little are the name of an activity: "offers made"."""
        return any(mention.score > 0.85 for mention in self._mentions(tokens, "activity"))

    def _neither(self, tokens: Tokens, depth: int) -> Iterator[Way[SingleInstance]]:
        lows = [token.low for token in tokens]
        if "neither" not in lows or "nor" not in lows[lows.index("neither") :]:
            return
        first, second = lows.index("neither"), lows.index("nor")
        before, left, right = tokens[:first], tokens[first + 1 : second], tokens[second + 1 :]
        for former in self.conditions((*before, *left), depth + 1):
            for latter in self.conditions(right, depth + 1):
                either = combined(Operator.OR, former.meant, latter.meant)
                said = joined(negated(either), former, latter)
                yield using(said, (tokens[first], tokens[second]))

    def _combined(self, tokens: Tokens, depth: int) -> Iterator[Way[SingleInstance]]:
        if sum(token.low in _CONNECTIONS for token in tokens) > _MOST_CONNECTIONS:
            return
        for at, token in enumerate(tokens):
            if token.low not in _CONNECTIONS or token.kind is TokenKind.NAME:
                continue
            # "Without" connects, and belongs to what comes behind it.
            left, right = tokens[:at], tokens[at + (token.low != "without") :]
            operator = Operator.OR if token.low == "or" else Operator.AND
            for former, latter in product(
                self.conditions(left, depth + 1)[:2],
                self.conditions(right, depth + 1)[:2] if left else [],
            ):
                both = combined(operator, former.meant, latter.meant)
                weight = _like_kinds(former, latter)
                yield using(joined(both, former, latter, weight=weight), (token,))

    def _atoms(self, tokens: Tokens) -> Iterator[Way[SingleInstance]]:
        denials = [
            token
            for token in tokens
            if token.low in lexicon.NEGATIONS and token.kind is TokenKind.WORD
        ]
        for way in self._plain(tokens) if denials else ():
            # "Documents missing" may be the name of an activity.
            if way.used.issuperset(covered(denials)):
                yield way
        bare = tuple(token for token in tokens if token not in denials)
        for way in self._positive(bare):
            if len(denials) % 2:
                yield using(replace(way, meant=negated(way.meant)), denials)
            else:
                yield using(way, denials) if denials else way

    def _positive(self, tokens: Tokens) -> Iterator[Way[SingleInstance]]:
        limits = [at for at, token in enumerate(tokens) if token.limit is not None]
        if limits:
            at = limits[0]
            limit = tokens[at].limit
            assert limit is not None  # noqa: S101 - it is one of those with a limit
            for way in self._limited(tokens[:at], limit, tokens[at + 1 :]):
                yield using(way, (tokens[at],))
            return
        yield from self._ordered(tokens)
        yield from self._plain(tokens)

    def _plain(self, tokens: Tokens) -> Iterator[Way[SingleInstance]]:
        """Something happens, or an attribute has a value."""
        staying = [token for token in tokens if token.low in lexicon.STAYING]
        for mention in self._events(tokens):
            way = mentioned(mention, self._holds(mention, is_now=bool(staying)))
            yield using(way, staying) if mention.sort is Sort.VALUE else way
        for mention in self._mentions(tokens, Kind.TRUTH)[:2]:
            yield mentioned(mention, ConditionMeasure(Occurs(Name(mention.name))))
        for mention in self._mentions(tokens, Kind.TEXT)[:2]:
            name = variable_for(mention.name)
            data = ((name, DataMeasure(mention.name)),)
            present = DerivedSingleInstance(Not(IsMissing(Name(name))), data)
            assumed = f"“{mention.words}”: the case has a value of {mention.name}"
            yield replace(mentioned(mention, present, assumed), weight=0.75)
        yield from self._value_beside_event(tokens)

    def _value_beside_event(self, tokens: Tokens) -> Iterator[Way[SingleInstance]]:
        """ "rejected claims by phone": a value that is declared, and something else."""
        for value in self._mentions(tokens, "value")[:2]:
            rest = tuple(token for token in tokens if token.at not in value.used)
            if len(rest) == len(tokens) or not self.content(rest):
                continue
            for mention in self._mentions(rest, "activity")[:2]:
                first, second = (
                    mentioned(value, self._holds(value)),
                    mentioned(mention, self._holds(mention)),
                )
                yield joined(combined(Operator.AND, first.meant, second.meant), first, second)

    def _ordered(self, tokens: Tokens) -> Iterator[Way[SingleInstance]]:
        """Something before or after something else."""
        for at in range(1, len(tokens)):
            for phrases, is_before in ((lexicon.BEFORE, True), (lexicon.AFTER, False)):
                size = phrase_at(tokens, at, phrases)
                if not size:
                    continue
                sides = (tokens[:at], tokens[at + size :])
                for left in self.moments(sides[0])[:2]:
                    for right in self.moments(sides[1])[:2]:
                        earlier, later = (left, right) if is_before else (right, left)
                        first, then = earlier.meant.moment, later.meant.moment
                        if not isinstance(first, Occurs) or not isinstance(then, Occurs):
                            continue
                        sequence = EventSequence(first, then, Order.LEADS_TO)
                        way = joined(ConditionMeasure(sequence), left, right)
                        yield using(way, tokens[at : at + size])

    def _events(self, tokens: Tokens) -> list[Mention]:
        """Activities and values that these words may name, the likeliest first."""
        mentions = [*self._mentions(tokens, "activity")[:3], *self._valued(tokens)]
        return sorted(mentions, key=lambda mention: -self._fit(mention, tokens))

    def _fit(self, mention: Mention, tokens: Tokens) -> float:
        return mention.score * _UNREAD ** len(self.unread(tokens, mention.used))

    def _valued(self, tokens: Tokens) -> Iterator[Mention]:
        for mention in self._mentions(tokens, "value"):
            called = parts_of(mention.attribute)
            beside = [t.at for t in tokens if any(likeness(t.low, part) == 1 for part in called)]
            yield replace(mention, used=mention.used | frozenset(beside))
        for attribute in self._mentions(tokens, Kind.TEXT)[:2]:
            said = {token.low for token in tokens if token.at in attribute.used}
            if said != set(parts_of(attribute.name)) & said:
                continue
            rest = tuple(token for token in tokens if token.at not in attribute.used)
            for value in self.names.unlisted_values(rest, attribute.name, called=True):
                score = (value.score + attribute.score) / 2 + 0.1
                yield replace(value, score=min(score, 0.95), used=value.used | attribute.used)
        for state in self.names.state_attributes:
            yield from self.names.unlisted_values(tokens, state)

    def occurrences(self, tokens: Tokens) -> list[Way[Occurs]]:
        """Events that these words may name: of an activity, or those in a state."""
        return [
            mentioned(mention, Occurs(test))
            for mention in self._events(tokens)[:3]
            if not mention.negated and (test := self._test(mention)) is not None
        ]

    def _test(self, mention: Mention) -> Expression | None:
        if mention.sort is Sort.ACTIVITY:
            return is_activity(mention.name)
        is_state = mention.attribute in self.names.state_attributes
        return equals(mention.attribute, mention.name) if is_state else None

    def _holds(self, mention: Mention, *, is_now: bool = False) -> SingleInstance:
        if mention.sort is Sort.ACTIVITY:
            happens: SingleInstance = ConditionMeasure(Occurs(is_activity(mention.name)))
            return negated(happens) if mention.negated else happens
        test = equals(mention.attribute, mention.name)
        if mention.attribute in self.names.state_attributes:
            return StateMeasure(test) if is_now else ConditionMeasure(Occurs(test))
        name = variable_for(mention.attribute)
        return DerivedSingleInstance(
            Binary(Operator.EQUAL, Name(name), TextLiteral(mention.name)),
            ((name, DataMeasure(mention.attribute)),),
        )

    def kinds_of_case(self, nouns: Sequence[Token]) -> Iterator[Way[SingleInstance]]:
        """Where a log tells sorts of cases apart, the noun for them may be one of these."""
        for attribute in self.names.type_attributes:
            for noun in nouns:
                singular = noun.text.removesuffix("s")
                name = singular[:1].upper() + singular[1:]
                mention = Mention(
                    Sort.VALUE,
                    name,
                    0.6,
                    frozenset(noun.places),
                    noun.text,
                    attribute,
                    declared=False,
                )
                yield mentioned(mention, self._holds(mention))

    # --- comparisons with amounts -------------------------------------------------------

    def _limited(
        self, before: Tokens, limit: Limit, behind: Tokens
    ) -> Iterator[Way[SingleInstance]]:
        is_time, assumed = duration_of(limit.number, limit.unit)
        if limit.unit == "times":
            yield from self._counted((*before, *behind), limit)
            return
        # "more than 3 tests" is how often, "a test above 3" is how much.
        often = 1.0 if self.content(behind) and not self.content(before) else 0.9
        if is_time is not None:
            yield from self._timed(before, limit, behind, assumed)
        if is_time is None or limit.unit in lexicon.LONG:
            yield from self._compared((*before, *behind), limit)
            for way in self._counted((*before, *behind), limit):
                yield replace(way, weight=way.weight * often)

    def _counted(self, tokens: Tokens, limit: Limit) -> Iterator[Way[SingleInstance]]:
        for mention in self._events(tokens)[:3]:
            if mention.sort is Sort.ACTIVITY:
                times = CountMeasure(Occurs(is_activity(mention.name)))
                yield mentioned(mention, compared("times", times, limit, _number))

    def _compared(self, tokens: Tokens, limit: Limit) -> Iterator[Way[SingleInstance]]:
        for mention in self.numbers(tokens)[:3]:
            name = variable_for(mention.name)
            last = compared(name, DataMeasure(mention.name), limit, _number)
            assumed = f"of {mention.name}, the last value in a case counts"
            yield mentioned(mention, last, assumed)
            some = compared(mention.name, None, limit, _number)
            if isinstance(some, ConditionMeasure):
                ever = f"of {mention.name}, any value in a case counts"
                yield replace(mentioned(mention, some, ever), weight=0.93)

    def _timed(
        self, before: Tokens, limit: Limit, behind: Tokens, assumed: str
    ) -> Iterator[Way[SingleInstance]]:
        """A time that compares with a duration: from one event, or from the start, to another."""
        notes = (assumed,) if assumed else ()

        def of_time(way: Way[TimeMeasure], *more: Token) -> Way[SingleInstance]:
            said = compared("duration", way.meant, limit, _duration)
            return using(joined(said, way, assumed=notes), more)

        nouns = [
            (at, size)
            for at in range(len(before))
            if (size := phrase_at(before, at, lexicon.TIME_NOUNS))
        ]
        for at, size in nouns[:1]:
            rest = (*before[:at], *before[at + size :], *behind)
            for way in self.times(rest):
                yield of_time(way, *before[at : at + size])
        # "within 3 days of X", "within 3 days after X"
        for at, token in enumerate(behind):
            if token.low in ("of", "after", "from", "since", "following", "upon", "once"):
                for start in self.moments(behind[at + 1 :])[:2]:
                    for end in self._ends((*before, *behind[:at])):
                        yield of_time(_time(start, end, first=True), token)
        everything = (*before, *behind)
        for end in self._ends(everything):
            yield of_time(_time(_START, end, first=True))
        if not self.content(everything):
            yield of_time(Way(TimeMeasure(CaseBorder.START, CaseBorder.END)))

    def _ends(self, tokens: Tokens) -> list[Way[Instant]]:
        return self.moments(_trimmed(tokens))[:3]

    # --- instants -----------------------------------------------------------------------

    def moments(self, tokens: Tokens, *, nouns: bool = False) -> list[Way[Instant]]:
        """Instants of a case that these words may name, with first or last if they say so.

        With `nouns`, a noun for cases is enough: "from application to decision".
        """
        picks = [t for t in tokens if t.low in (*lexicon.FIRST, *lexicon.LAST)]
        bare = tuple(token for token in tokens if token not in picks)
        pick = None
        if picks:
            pick = Pick.FIRST if picks[0].low in lexicon.FIRST else Pick.LAST
        ways: list[Way[Instant]] = []
        mentions = self._events(bare)[:4]
        if nouns and not mentions and any(self.names.is_case_noun(token) for token in bare):
            mentions = self._mentions(bare, "noun")[:3]
        for mention in mentions:
            test = (
                is_activity(mention.name)
                if mention.sort is Sort.ACTIVITY
                else equals(mention.attribute, mention.name)
            )
            if not mention.negated:
                moment = Instant(Occurs(test), pick)
                ways.append(
                    using(mentioned(mention, moment), picks, weight=self._eventful(mention))
                )
        said = {stem(token.low): token for token in bare}
        for border, words in (
            (CaseBorder.START, "start begin beginning arrival"),
            (CaseBorder.END, "end finish completion close closure"),
        ):
            if any(mention.score > 0.8 for mention in mentions):
                break
            named = [said[stem(word)] for word in words.split() if stem(word) in said]
            if named and not self.unread(bare, frozenset(covered(tuple(named)))):
                way = Way(Instant(border), (0.7,))
                ways.append(using(way, named))
        return self.best(ways, tokens)

    def _eventful(self, mention: Mention) -> float:
        """A state begins at an event; what channel a case came by does not."""
        is_state = mention.attribute in self.names.state_attributes
        return 1.0 if mention.sort is Sort.ACTIVITY or is_state else 0.5

    # --- times --------------------------------------------------------------------------

    def times(self, tokens: Tokens) -> list[Way[TimeMeasure]]:
        """The times these words may mean: between two instants, up to one, or of the whole case."""
        ways = list(self._between(tokens))
        ways += self._until(tokens)
        if not self.content(tokens):
            ways.append(Way(TimeMeasure(CaseBorder.START, CaseBorder.END)))
        return self.best(ways, tokens)

    def _between(self, tokens: Tokens) -> Iterator[Way[TimeMeasure]]:
        lows = [token.low if token.kind is TokenKind.WORD else "" for token in tokens]
        starts = [at for at, low in enumerate(lows) if low in lexicon.FROM]
        ends = [at for at, low in enumerate(lows) if low in lexicon.TO]
        for at, to in product(starts, ends):
            is_between = lows[at] == "between"
            if at < to and (lows[to] != "and" or is_between):
                first, last = tokens[at + 1 : to], tokens[to + 1 :]
            elif to < at and lows[to] != "and" and not is_between:
                first, last = tokens[at + 1 :], tokens[to + 1 : at]
            else:
                continue
            sure = 1.0 if lows[to] in ("until", "till", "and") else 0.98
            for start, end in self._two(first, last, nouns=True):
                yield self._spanning(start, end, sure, tokens[at], tokens[to])
        # With one mark alone: "invoice to payment", "waiting for payment after the invoice".
        alone = [to for to in ends if not starts and lows[to] not in ("and", "before")]
        alone += [at for at in starts if not ends and lows[at] in ("after", "since", "following")]
        for at in alone:
            before, behind = tokens[:at], tokens[at + 1 :]
            first, last = (before, behind) if at in ends else (behind, before)
            for start, end in self._two(first, last, nouns=False):
                yield self._spanning(start, end, 0.93, tokens[at])

    def _two(
        self, first: Tokens, last: Tokens, *, nouns: bool
    ) -> Iterator[tuple[Way[Instant], Way[Instant]]]:
        starts, ends = self.moments(first, nouns=nouns), self.moments(last, nouns=nouns)
        yield from product(starts[:3], ends[:3])

    def _spanning(
        self,
        start: Way[Instant],
        end: Way[Instant],
        weight: float,
        *words: Token,
    ) -> Way[TimeMeasure]:
        weight *= _like_kinds(start, end)
        if start.meant.moment == end.meant.moment:
            weight *= 0.5
        return using(_time(start, end), words, weight=weight)

    def _until(self, tokens: Tokens) -> Iterator[Way[TimeMeasure]]:
        """Up to an event, from the start of the case; or since one, up to the end."""
        for at, token in enumerate(tokens):
            if token.low in ("since", "after", "from") and not self.content(tokens[:at]):
                for start in self.moments(tokens[at + 1 :])[:3]:
                    whole = _time(start, _END)
                    assumed = "to the end of the case, as no other end is named"
                    has_end = any(later.low in ("to", "until", "till") for later in tokens[at:])
                    yield using(whole, (token,), assumed, weight=0.6 if has_end else 0.85)
        assumed = "from the start of the case, as no other start is named"
        leads = [
            token
            for at, token in enumerate(tokens)
            if token.low in ("until", "till", "before") and not self.content(tokens[:at])
        ]
        if not leads and tokens and tokens[0].low != "to":
            yield from self._pairs(tokens)
        # A start that is named goes before one that is not.
        weight = 0.55 if any(token.low in lexicon.FROM for token in tokens) else 1.0
        for end in self.moments(tokens)[:4]:
            if end.meant.moment is not CaseBorder.START:
                yield using(_time(_START, end), leads, assumed, weight=weight)

    def _pairs(self, tokens: Tokens) -> Iterator[Way[TimeMeasure]]:
        """Two activities about the same thing, of which one begins it and the other ends it."""
        nouns = set(map(stem, lexicon.CASE_NOUNS))
        for opening in self._mentions(tokens, "activity"):
            for closing in self._mentions(tokens, "activity"):
                begins = {stem(word) for word in lexicon.BEGINNINGS}
                ends = {stem(word) for word in lexicon.ENDINGS}
                first = {stem(part) for part in parts_of(opening.name)}
                last = {stem(part) for part in parts_of(closing.name)}
                shared = first & last
                is_pair = opening.name != closing.name and shared and not shared <= nouns
                if is_pair and (first - last) & begins and (last - first) & ends:
                    moments = [
                        mentioned(mention, Instant(Occurs(is_activity(mention.name))))
                        for mention in (opening, closing)
                    ]
                    assumed = (
                        f"“{opening.words}” begins with {opening.name} and ends with {closing.name}"
                    )
                    yield using(_time(*moments), (), assumed, weight=1.2)

    def states(self, tokens: Tokens) -> list[Way[TimeMeasure]]:
        """The time a case spends in a state, or in what follows an activity."""
        ways = []
        for mention in self._events(_trimmed(tokens))[:4]:
            if mention.sort is Sort.ACTIVITY:
                test, weight = is_activity(mention.name), 0.8
            else:
                test, weight = equals(mention.attribute, mention.name), 1.0
            spent = TimeMeasure(CaseBorder.START, CaseBorder.END, running=test)
            ways.append(replace(mentioned(mention, spent), weight=weight))
        return self.best(ways, tokens)


_CONNECTIONS = frozenset(("and", "or", "but", ",", "yet", "although", "without"))
_START = Way(Instant(CaseBorder.START))
_END = Way(Instant(CaseBorder.END))


def _time(
    start: Way[Instant],
    end: Way[Instant],
    *,
    first: bool = False,
) -> Way[TimeMeasure]:
    """The time between two instants; from the first start to the last end unless they say."""
    usual = Pick.FIRST if first and not isinstance(end.meant.moment, CaseBorder) else Pick.LAST
    time = TimeMeasure(
        start.meant.moment,
        end.meant.moment,
        start.meant.pick or Pick.FIRST,
        end.meant.pick or usual,
    )
    return joined(time, start, end)


def _like_kinds(left: Way[object], right: Way[object]) -> float:
    """Two events are rather both activities, or both states, than one of each."""
    first, second = set(left.kinds), set(right.kinds)
    return 1.0 if not first or not second or first & second else 0.7


def mentioned(mention: Mention, meant: T, *assumed: str) -> Way[T]:
    """A way that rests on one name; tells what the words were taken for."""
    kind = "activity" if mention.sort is Sort.ACTIVITY else mention.attribute or mention.name
    said: list[str] = []
    if not mention.declared:
        said.append(
            f"the log lists no values of {mention.attribute}: “{mention.words}” is written "
            f"{mention.name}"
        )
    elif not mention.exact:
        said.append(f"“{mention.words}” is read as {_called(mention)}")
    return Way(meant, (mention.score,), mention.used, (*said, *assumed), (kind,))


def _called(mention: Mention) -> str:
    match mention.sort:
        case Sort.ACTIVITY:
            return f"activity {mention.name}"
        case Sort.ATTRIBUTE:
            return f"attribute {mention.name}"
        case Sort.VALUE:
            return f"{mention.attribute} {mention.name}"


def _trimmed(tokens: Tokens) -> Tokens:
    """Without the words at either end that only lead from one part to the next."""
    keep = [at for at, token in enumerate(tokens) if token.low not in lexicon.LEADING]
    return tokens[keep[0] : keep[-1] + 1] if keep else ()


# --- building -------------------------------------------------------------------------


def negated(measure: SingleInstance) -> SingleInstance:
    formula, variables = as_formula(measure)
    if isinstance(formula, Not):
        return _measure(formula.operand, variables)
    return DerivedSingleInstance(Not(formula), variables)


def combined(operator: Operator, former: SingleInstance, latter: SingleInstance) -> SingleInstance:
    left, first = as_formula(former)
    right, second = as_formula(latter)
    taken = dict(first)
    renamed: dict[str, Expression] = {}
    for name, measure in second:
        new, number = name, 2
        while new in taken and taken[new] != measure:
            new, number = f"{name}_{number}", number + 1
        taken[new] = measure
        renamed[name] = Name(new)
    formula = Binary(operator, left, substituted(right, renamed))
    return DerivedSingleInstance(formula, tuple(taken.items()))


Variables = tuple[tuple[str, SingleInstance], ...]


def as_formula(measure: SingleInstance) -> tuple[Expression, Variables]:
    if isinstance(measure, DerivedSingleInstance):
        return measure.formula, measure.variables
    name = _short_name(measure)
    return Name(name), ((name, measure),)


def _measure(formula: Expression, variables: Variables) -> SingleInstance:
    if isinstance(formula, Name):
        return dict(variables)[formula.name]
    return DerivedSingleInstance(formula, variables)


def _short_name(measure: SingleInstance) -> str:
    """A variable called after the activity or the value it is about."""
    said = re.findall(r'TextLiteral\(value=[\'"]([^\'"]*)', repr(measure))
    words = parts_of(said[0]) if said else ("it",)
    name = "_".join(re.sub(r"[^a-z0-9]", "", word) for word in words[:4])
    return name if variable_for(name) == name else f"is_{name}".rstrip("_")


def compared(
    name: str,
    measure: SingleInstance | None,
    limit: Limit,
    literal: Callable[[str, str], NumberLiteral | DurationLiteral],
) -> SingleInstance:
    """Whether a measure, or an attribute at some event, compares with a limit."""
    low = Binary(Operator(limit.operator), Name(name), literal(limit.number, limit.unit))
    formula: Expression = low
    if limit.upper:
        high = Binary(Operator.AT_MOST, Name(name), literal(limit.upper, limit.unit))
        formula = Binary(Operator.AND, low, high)
    if measure is None:
        return ConditionMeasure(Occurs(formula))
    return DerivedSingleInstance(formula, ((name, measure),))


def _number(number: str, _unit: str) -> NumberLiteral:
    return NumberLiteral(Fraction(number))


def _duration(number: str, unit: str) -> DurationLiteral:
    return DurationLiteral(duration_of(number, unit)[0] or Fraction(0))


def duration_of(number: str, unit: str) -> tuple[Fraction | None, str]:
    """Microseconds, and what was assumed about the unit; None if it is no unit of time."""
    plain = unit.removeprefix("working ")
    if plain in lexicon.DURATIONS:
        assumed = (
            f"“{unit}” are counted as {plain} of 24 hours, day by day" if plain != unit else ""
        )
        return Fraction(number) * DURATIONS[lexicon.DURATIONS[plain]], assumed
    if unit in lexicon.LONG:
        days = lexicon.LONG[unit]
        assumed = f"a {unit.removesuffix('s')} is counted as {days} days"
        return Fraction(number) * days * DURATIONS["days"], assumed
    return None, ""
