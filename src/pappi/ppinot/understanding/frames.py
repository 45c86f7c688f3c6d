"""What a sentence measures: a time, a share, a number, how often, an attribute.

The words that say so are the head of the sentence; each frame reads what is left in its own way.
A sentence without a head is about the number of cases, or about an attribute that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from pappi.ppinot.expressions import Binary, Name, NumberLiteral, Operator, is_activity
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    MultiInstance,
    Occurs,
    SingleInstance,
    TimeMeasure,
    usual_bounds,
)
from pappi.ppinot.understanding import lexicon
from pappi.ppinot.understanding.clauses import (
    Clauses,
    Tokens,
    Way,
    joined,
    mentioned,
    using,
)
from pappi.ppinot.understanding.slots import Slots, covered, phrase_at
from pappi.ppinot.understanding.words import Token, TokenKind, stem
from pappi.values import CaseBorder

_PERCENTILE = re.compile(r"p?(\d{1,2})(?:st|nd|rd|th)?")
_KINDS = (
    ("often", lexicon.OFTEN_NOUNS),
    ("share", lexicon.SHARE_NOUNS),
    ("count", lexicon.COUNT_NOUNS),
    ("time", lexicon.TIME_NOUNS),
)
_NEEDS_OF = frozenset(("amount", "quantity", "volume", "count"))


@dataclass(frozen=True, slots=True)
class Head:
    """How the values of cases become one, if the sentence says; and which frame is named."""

    function: Aggregation | None
    percent: int | None
    frame: str
    body: Tokens
    used: tuple[Token, ...]


def head_of(slots: Slots, names_alone: Callable[[Token], bool]) -> Head:
    """The head of a sentence, and the words that are left without it."""
    tokens = slots.rest
    function, percent, used = _function(tokens, names_alone)
    frame, noun = ("share", tokens[:0]) if slots.front_share else _frame(tokens)
    if not frame and function not in (None, Aggregation.SUM):
        frame = "time" if any(token.low in _SPANNING for token in tokens) else ""
    if frame == "share" and noun:
        behind = tokens[tokens.index(noun[-1]) + 1 :]
        lead = next((at for at, t in enumerate(behind) if t.low not in ("of", "the")), 0)
        if size := phrase_at(behind, lead, lexicon.TIME_NOUNS):
            frame, noun = "time share", (*noun, *behind[lead : lead + size])
    taken = {*covered(used), *covered(noun)}
    body = tuple(token for token in tokens if token.at not in taken)
    return Head(function, percent, frame, body, (*used, *noun))


def _function(
    tokens: Tokens, names_alone: Callable[[Token], bool]
) -> tuple[Aggregation | None, int | None, tuple[Token, ...]]:
    for at, token in enumerate(tokens):
        behind = tokens[at + 1].low if at + 1 < len(tokens) else ""
        number = _PERCENTILE.fullmatch(token.low)
        is_named = token.low.startswith("p") or behind in ("percentile", "centile")
        if number and is_named and 1 <= int(number.group(1)) <= 99:
            size = 1 if token.low.startswith("p") and behind != "percentile" else 2
            return Aggregation.PERCENTILE, int(number.group(1)), tokens[at : at + size]
    for at, token in enumerate(tokens):
        word = lexicon.AGGREGATIONS.get(token.low)
        if word == Aggregation.DISTRIBUTION and [t.low for t in tokens[at + 1 : at + 2]] != ["of"]:
            continue  # goods have one, too
        if word and token.kind is TokenKind.WORD and not names_alone(token):
            on = tokens[at - 1 : at] if at and tokens[at - 1].low in ("on", "in") else ()
            return Aggregation(word), None, (*on, token)
    return None, None, ()


def _frame(tokens: Tokens) -> tuple[str, Tokens]:
    for at in range(len(tokens)):
        for frame, phrases in _KINDS:
            size = phrase_at(tokens, at, phrases)
            if not size:
                continue
            behind = tokens[at + size].low if at + size < len(tokens) else ""
            if tokens[at].low in _NEEDS_OF and behind not in ("of", "") and size == 1:
                continue
            if frame == "share" and tokens[at].low == "%" and behind != "of":
                continue
            return frame, tokens[at : at + size]
    for at in range(len(tokens)):
        if phrase_at(tokens, at, lexicon.AMONG):
            return "share", ()
    return "", ()


class Frames:
    """Reads sentences by their head."""

    def __init__(self, clauses: Clauses) -> None:
        self.clauses = clauses

    def body(self, slots: Slots) -> Tokens:
        """What a sentence says beside its head."""
        return head_of(slots, self._is_attribute).body

    def read(self, slots: Slots) -> Iterator[Way[MultiInstance]]:
        """Every way to read a sentence, in no order."""
        head = head_of(slots, self._is_attribute)
        assumed = self._take_subject(head)
        for way in self._by_frame(head, slots):
            yield using(way, head.used, *assumed)
        if assumed:
            # The noun may as well be a name: "judgments that are appealed".
            subject, self.clauses.names.subject = self.clauses.names.subject, frozenset()
            self.clauses.forget()
            for way in self._by_frame(head, slots):
                if subject <= way.used:
                    yield using(way, head.used, weight=0.97)
            self.clauses.names.subject = subject
            self.clauses.forget()
        if head.frame in ("", "count", "time"):
            yield from self._attribute(head, slots)

    def _is_done_to(self, two: Tokens) -> bool:
        """Whether the second word tells what became of the first: "lawsuits settled".

        Not if they are one name together, or the first is all of a name: "payments collected".
        """
        if not two[1:] or not two[1].low.endswith("ed"):
            return False
        names = self.clauses.names
        both = {two[0].at, two[1].at}
        is_one = any(both <= mention.used for mention in names.activities(two))
        is_name = any(mention.score > 0.9 for mention in names.activities(two[:1]))
        return not is_one and not is_name

    def _by_frame(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        frames: Mapping[str, Callable[[Head, Slots], Iterator[Way[MultiInstance]]]] = {
            "time": self._time,
            "time share": self._time_share,
            "share": self._share,
            "count": self._count,
            "often": self._often,
            "": self._number,
        }
        yield from frames[head.frame](head, slots)

    def _attribute(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        """An attribute; the head may be part of its name: "number of items", "waiting time"."""
        for way in self._data(head, head.body):
            # "The number of checked bags" is an attribute where the log calls one so.
            is_called = not head.frame or max(way.scores) >= 1
            yield using(way, head.used, weight=0.98 if is_called else 0.55)
        nouns = [token for token in head.used if token.low not in lexicon.AGGREGATIONS]
        body = tuple(token for token in slots.rest if token in (*nouns, *head.body))
        for way in self._data(head, body) if nouns else ():
            if way.used & set(covered(nouns)):
                yield using(way, head.used)

    def _take_subject(self, head: Head) -> tuple[str, ...]:
        """Any noun may stand for the cases: "the share of widgets that are scrapped"."""
        first = next((at for at, t in enumerate(head.body) if t.low not in _BEFORE_SUBJECT), -1)
        for at, token in enumerate(head.body):
            if self._is_subject(head, at, is_first=at == first):
                self.clauses.names.subject = frozenset(token.places)
                return (f"“{token.text}” is read as the cases",)
        return ()

    def _is_subject(self, head: Head, at: int, *, is_first: bool) -> bool:
        """Whether a noun is what the sentence is about, and no name of something else."""
        here, names = head.body[at : at + 1], self.clauses.names
        is_noun = here[0].kind is TokenKind.WORD and here[0].low.endswith("s")
        if not is_noun or names.is_empty(here[0]) or names.is_case_noun(here[0]):
            return False
        is_related = bool(phrase_at(head.body, at + 1, lexicon.RELATIVE))
        is_related |= self._is_done_to(head.body[at : at + 2])
        if is_first and is_related and head.frame != "time":
            return not names.values(here)
        is_named = names.activities(here) or names.attributes_in(here) or names.values(here)
        return (is_first or is_related) and not is_named

    def _is_attribute(self, token: Token) -> bool:
        """Whether a word for an aggregation is the whole name of an attribute."""
        return any(name.lower() == token.low for name in self.clauses.names.vocabulary.attributes)

    # --- the cases that count -----------------------------------------------------------

    def _filtered(
        self, tokens: Tokens, marks: frozenset[str]
    ) -> Iterator[tuple[Tokens, Way[SingleInstance] | None]]:
        """The tokens whole; or up to a mark, with what is behind it as a condition on cases."""
        yield tokens, None
        for at, token in enumerate(tokens):
            size = phrase_at(tokens, at, lexicon.RELATIVE) or int(token.low in marks)
            if at and tokens[at - 1].low == "to":  # "the time to get the documents"
                continue
            if (at or token.low in marks) and size and token.kind is not TokenKind.NAME:
                start = at if token.low in lexicon.NEGATIONS else at + size
                for condition in self.clauses.conditions(tokens[start:])[:2]:
                    # "The mean time of urgent cases"; but the time of an activity is its own.
                    if at or "activity" not in condition.kinds:
                        yield tokens[:at], replace(condition, weight=condition.weight * 0.97)

    # --- times --------------------------------------------------------------------------

    def _time(self, head: Head, _slots: Slots) -> Iterator[Way[MultiInstance]]:
        function, assumed = head.function or Aggregation.MEAN, _unsaid(head, "the average")
        if function is Aggregation.SHARE:
            return
        in_state = any(token.low in lexicon.STATE_WORDS for token in head.body)
        for tokens, only in self._filtered(head.body, lexicon.FILTERING):
            for time in (*self.clauses.times(tokens), *self.clauses.states(tokens)[:3]):
                is_state = time.meant.running is not None
                weight = 1.0 if is_state == in_state else 0.6 if is_state else 0.9
                aggregate = _aggregate(function, time, only, head.percent, assumed)
                yield replace(aggregate, weight=aggregate.weight * weight)

    def _time_share(self, head: Head, _slots: Slots) -> Iterator[Way[MultiInstance]]:
        whole = TimeMeasure(CaseBorder.START, CaseBorder.END)
        for tokens, only in self._filtered(head.body, lexicon.FILTERING):
            for time in (*self.clauses.states(tokens), *self.clauses.times(tokens)):
                if time.meant == whole:
                    continue
                weight = 1.0 if time.meant.running is not None else 0.7
                part = _aggregate(Aggregation.SUM, time, only, None, ())
                total = _aggregate(Aggregation.SUM, Way(whole), only, None, ())
                formula = Binary(
                    Operator.DIVIDE,
                    Binary(Operator.MULTIPLY, NumberLiteral(Fraction(100)), Name("part")),
                    Name("whole"),
                )
                ratio = DerivedMultiInstance(
                    formula, (("part", part.meant), ("whole", total.meant))
                )
                yield joined(ratio, part, weight=weight)

    # --- shares -------------------------------------------------------------------------

    def _share(self, head: Head, _slots: Slots) -> Iterator[Way[MultiInstance]]:
        for body, among in self._denominators(head.body):
            for base, only in self._numerators(body):
                if among is None or among.meant != EVERY_CASE:
                    if among is None or only is None:
                        yield _aggregate(Aggregation.SHARE, base, among or only, None, ())
                    continue
                share = _aggregate(Aggregation.SHARE, base, only, None, among.assumed)
                yield replace(share, used=share.used | among.used)

    def _denominators(self, tokens: Tokens) -> Iterator[tuple[Tokens, Way[SingleInstance] | None]]:
        """What is behind "out of"; without anything of its own, that is all cases."""
        for at in range(len(tokens)):
            size = phrase_at(tokens, at, lexicon.AMONG)
            if not size:
                continue
            left, right = tokens[:at], tokens[at + size :]
            if not self.clauses.content(left):
                continue
            if not self.clauses.content(right):
                yield left, using(Way(EVERY_CASE), tokens[at : at + size])
                return
            created = {stem(word) for word in lexicon.CREATED}
            words = self.clauses.content(right)
            says_all = "all" in [token.low for token in tokens[at : at + size + 2]]
            if says_all and all(stem(token.low) in created for token in words):
                assumed = f"“{words[0].text}” is assumed to hold in every case"
                yield left, using(Way(EVERY_CASE), (*tokens[at : at + size], *words), assumed)
            for among in self.clauses.conditions(right)[:2]:
                weight = 0.75 if says_all else 1.0
                yield left, using(among, tokens[at : at + size], weight=weight)
            return
        yield tokens, None

    def _numerators(
        self, tokens: Tokens
    ) -> Iterator[tuple[Way[SingleInstance], Way[SingleInstance] | None]]:
        """What is so, and among which cases: "critical tickets | that are escalated"."""
        apart = list(self._apart(tokens))
        yield from apart
        for base in self.clauses.conditions(tokens):
            yield replace(base, weight=base.weight * (0.95 if apart else 1.0)), None

    def _apart(
        self, tokens: Tokens
    ) -> Iterator[tuple[Way[SingleInstance], Way[SingleInstance] | None]]:
        for at, token in enumerate(tokens):
            size = phrase_at(tokens, at, lexicon.RELATIVE)
            if not size or token.kind is TokenKind.NAME:
                continue
            start = at if token.low in lexicon.NEGATIONS else at + size
            bases = self.clauses.conditions(tokens[start:])[:3]
            for base, only in product(bases, self.clauses.conditions(tokens[:at])[:2]):
                yield base, only
        values = self.clauses.names.values(tokens)
        for value in values[:2]:
            apart = tuple(token for token in tokens if token.at in value.used)
            rest = tuple(token for token in tokens if token.at not in value.used)
            for base, only in product(
                self.clauses.conditions(rest)[:2], self.clauses.conditions(apart)[:1]
            ):
                yield base, only

    # --- numbers ------------------------------------------------------------------------

    def _number(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        """A sentence that names nothing to measure is about the number of cases."""
        if head.function not in (None, Aggregation.SUM):
            return
        assumed = "no measure is named: cases are counted"
        body = head.body
        is_related = any(phrase_at(body, at, lexicon.RELATIVE) for at in range(1, len(body)))
        for way in self._count(head, slots):
            is_number = getattr(way.meant, "function", None) is Aggregation.COUNT
            yield using(way, (), assumed, weight=0.9 if is_number or not is_related else 0.6)

    def _count(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        body, content = head.body, self.clauses.content(head.body)
        averaged = head.function not in (None, Aggregation.SUM)
        if not content:
            nouns = [token for token in body if self.clauses.names.is_case_noun(token)]
            every = _aggregate(Aggregation.COUNT, Way(EVERY_CASE), None, None, ())
            if nouns or not averaged:
                yield using(every, (), *(_PER_PERIOD if averaged else ()))
            for kind in self.clauses.kinds_of_case(nouns):
                only = _aggregate(Aggregation.COUNT, Way(EVERY_CASE), kind, None, ())
                yield using(only, nouns, *(_PER_PERIOD if averaged else ()))
            for mention in self.clauses.names.activities(nouns, nouns=True)[:2]:
                count = mentioned(mention, CountMeasure(Occurs(is_activity(mention.name))))
                function = Aggregation.MEAN if averaged or slots.per_case else Aggregation.SUM
                yield _aggregate(function, count, None, None, _EACH)
        about_cases = self._about_cases(body)
        for condition in self.clauses.conditions(body):
            once = ("each case counts once, however often it happens",)
            number = _aggregate(Aggregation.COUNT, Way(EVERY_CASE), condition, None, once)
            weight = (1.0 if about_cases else 0.9) * (0.8 if slots.per_case else 1.0)
            if averaged:
                yield using(number, (), *_PER_PERIOD, weight=weight * 0.85)
                truth = _aggregate(Aggregation.MEAN, condition, None, None, _AS_SHARE)
                yield using(truth, (), weight=weight * 0.97)
            else:
                yield using(number, (), weight=weight)
        for way in self._events(head, slots):
            yield replace(
                way, weight=way.weight * (0.85 if about_cases and not slots.per_case else 1.0)
            )

    def _about_cases(self, tokens: Tokens) -> bool:
        """Whether the first noun is one for cases: "fines that are paid", not "payments"."""
        nouns = [
            token
            for token in tokens
            if token.kind is not TokenKind.SIGN and not self.clauses.names.is_empty(token)
        ]
        marked = any(phrase_at(tokens, at, lexicon.RELATIVE) for at in range(len(tokens)))
        if not nouns:
            return True
        leading = any(self.clauses.names.is_case_noun(token) for token in nouns)
        return leading or marked

    def _often(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        yield from self._events(head, slots)
        for condition in self.clauses.conditions(head.body)[:2]:
            number = _aggregate(Aggregation.COUNT, Way(EVERY_CASE), condition, None, ())
            yield using(number, (), "each case counts once", weight=0.85)

    def _events(self, head: Head, slots: Slots) -> Iterator[Way[MultiInstance]]:
        """How often something happens: in all cases together, or in one on average."""
        function = head.function
        assumed: tuple[str, ...] = ()
        if slots.per_case and function in (None, Aggregation.SUM):
            function, assumed = (
                Aggregation.MEAN,
                ("“per case” is read as the average over the cases",),
            )
        elif function is None:
            function, assumed = Aggregation.SUM, _EACH
        for tokens, only in self._filtered(head.body, lexicon.FILTERING):
            for events in self.clauses.occurrences(tokens):
                count = joined(CountMeasure(events.meant), events)
                yield _aggregate(function, count, only, head.percent, assumed)

    # --- attributes ---------------------------------------------------------------------

    def _data(self, head: Head, body: Tokens) -> Iterator[Way[MultiInstance]]:
        """An attribute that holds a number, of some cases."""
        function, assumed = head.function or Aggregation.MEAN, _unsaid(head, "the average")
        for size in range(1, len(body) + 1):
            named, rest = body[:size], body[size:]
            for mention in self.clauses.numbers(named)[:3]:
                last = f"of {mention.name}, the last value in a case counts"
                data = mentioned(mention, DataMeasure(mention.name), last)
                if not self.clauses.content(rest):
                    yield _aggregate(function, data, None, head.percent, assumed)
                for only in self.clauses.conditions(rest)[:2]:
                    yield _aggregate(function, data, only, head.percent, assumed)


_BEFORE_SUBJECT = frozenset(["of", "the", "all", "our", "any", ",", "a"])
_PER_PERIOD = ("every period gets its own number: there is no average over periods",)
_SPANNING = frozenset(("from", "until", "till", "between", "since"))
_EACH = ("every occurrence counts, of all cases together",)
_AS_SHARE = ("the average of yes (1) and no (0) is the share of cases",)


def _unsaid(head: Head, usual: str) -> tuple[str, ...]:
    return () if head.function else (f"no aggregation is named: {usual} is assumed",)


def _aggregate(
    function: Aggregation,
    base: Way[SingleInstance],
    only: Way[SingleInstance] | None,
    percent: int | None,
    assumed: tuple[str, ...],
) -> Way[AggregatedMeasure]:
    measure = AggregatedMeasure(
        function,
        base.meant,
        filter=only.meant if only else None,
        bounds=usual_bounds(function, base.meant),
        percent=percent,
    )
    ways = [way for way in (base, only) if way is not None]
    return joined(measure, *ways, assumed=assumed)
