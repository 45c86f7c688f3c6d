"""A sentence in everyday words, as PPIs: ranked readings, each with what it assumes.

What a sentence measures is a time, a share, a number, how often, or an attribute. The words that
say so are the head of the sentence; each frame reads what is left in its own way. A sentence
without a head is about the number of cases, or about an attribute that it names.

>>> from pappi.values import Vocabulary
>>> log = Vocabulary(("Receive claim", "Pay claim"))
>>> best = understand("How long until a claim is paid?", log, "claims").readings[0]
>>> print(best.sentence)  # doctest: +NORMALIZE_WHITESPACE
the average of the duration between the start of the case and the last time instant when
activity "Pay claim" occurs, for every month
>>> best.assumed[0]
'“claim paid” is read as activity Pay claim'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from pappi.errors import DefinitionError, NotUnderstood
from pappi.ppinot.checks import check_catalogue
from pappi.ppinot.expressions import Binary, Name, NumberLiteral, Operator, is_activity
from pappi.ppinot.model import (
    EVERY_CASE,
    EVERY_MONTH,
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    Grouping,
    MultiInstance,
    Occurs,
    Ppi,
    Scope,
    SingleInstance,
    Target,
    TimeMeasure,
    measure_kind,
    usual_bounds,
    usual_unit,
)
from pappi.ppinot.notations.sentences import sentence
from pappi.ppinot.notations.yaml import write_yaml
from pappi.ppinot.tree import aggregated_measures, with_aggregated
from pappi.ppinot.understanding import lexicon
from pappi.ppinot.understanding.clauses import (
    Clauses,
    Tokens,
    Way,
    duration_of,
    joined,
    mentioned,
    using,
)
from pappi.ppinot.understanding.names import Limit, Names, Token, TokenKind, stem, tokens_of
from pappi.ppinot.understanding.slots import Slots, Taken, covered, phrase_at, slots_of, taken_out
from pappi.ppinot.views import Between, Comparing, View
from pappi.values import By, CaseBorder, Grid, Kind, Unit, Vocabulary, duration_unit, quoted

# === what is measured ==================================================================

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


# === ranked readings ===================================================================

MOST_CHARACTERS, MOST_WORDS = 500, 60
_SHOWN = 4
# Readings that fit this badly, or so much worse than the best, are not shown.
_LEAST, _LEAST_OF_BEST = 0.3, 0.55
_ASSUMED, _NOUN = 0.99, 0.95
_LONGEST_NAME, _WORDS_OF_ID = 120, 6
FILL_IN = "fill in"
"""Stands for the groups of an attribute whose values the log does not list."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a sentence.

    `score` is from 0 to 1. The `target` is in the YAML, not in the sentence. `assumed` tells what
    was not said, and `unread` the words that this reading leaves out.
    """

    sentence: str
    yaml: str
    score: float
    target: str = ""
    assumed: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understanding:
    """The readings of a sentence about a log, best first."""

    text: str
    log: str
    readings: tuple[Reading, ...]


def understand(text: str, vocabulary: Vocabulary, log: str) -> Understanding:
    """Read a sentence by the public names of a log; NotUnderstood if no reading is likely."""
    text = " ".join(text.split())
    measured, taken = taken_out(text, vocabulary)
    said = tokens_of(measured)
    if len(text) > MOST_CHARACTERS or len(said) > MOST_WORDS:
        limit = f"at most {MOST_CHARACTERS} characters and {MOST_WORDS} words"
        raise NotUnderstood(f"this is too long: {limit}", hint="say one PPI at a time")
    names = Names(vocabulary)
    clauses = Clauses(names)
    slots, frames = slots_of(said, names), Frames(clauses)
    if taken is not None and taken.unit is not None and slots.scope is None:
        slots.scope = Scope(Grid(taken.unit))
    ranked = sorted(
        (_rated(way, slots, clauses, vocabulary, taken) for way in frames.read(slots)),
        key=lambda rated: (-round(rated.score, 2), -len(rated.way.used)),
    )
    readings: dict[str, Reading] = {}
    for candidate in ranked:
        least = max(_LEAST, _LEAST_OF_BEST * max((it.score for it in readings.values()), default=0))
        if candidate.score < least or len(readings) == _SHOWN:
            break
        reading = candidate.written(text, vocabulary, log)
        if reading is not None:
            readings.setdefault(reading.yaml, reading)
    if not readings:
        raise _refusal(text, frames.body(slots), clauses, vocabulary)
    return Understanding(text, log, tuple(readings.values()))


@dataclass(frozen=True, slots=True)
class _Candidate:
    way: Way[MultiInstance]
    slots: Slots
    unread: tuple[Token, ...]
    score: float
    unit: Unit
    target: Target | None
    assumed: tuple[str, ...]
    view: View | None = None

    def written(self, text: str, vocabulary: Vocabulary, log: str) -> Reading | None:
        """None if a catalogue cannot say it, or the log's names do not allow it."""
        scope = self.slots.scope or EVERY_MONTH
        name = text[:1].upper() + text[1:_LONGEST_NAME].rstrip(" .?!")
        ppi = Ppi(_id(text), name, self.way.meant, self.unit, scope, self.target, show=self.view)
        catalogue = Catalogue(log, (ppi,))
        try:
            problems = check_catalogue(catalogue, vocabulary)
            if any(problem.level == "error" for problem in problems):
                return None
            written = write_yaml(catalogue)
        except DefinitionError:
            return None
        unread = tuple(token.text for token in self.unread)
        target = _limit_text(self.slots.target) if self.slots.target and self.target else ""
        return Reading(sentence(ppi), written, round(self.score, 3), target, self.assumed, unread)


def _rated(
    way: Way[MultiInstance],
    slots: Slots,
    clauses: Clauses,
    vocabulary: Vocabulary,
    taken: Taken | None,
) -> _Candidate:
    measure, assumed = way.meant, list(way.assumed)
    view = None if taken is None else taken.view
    if taken is not None and isinstance(view, Between):
        pair = Grouping(DataMeasure(taken.attribute), (view.first, view.second))
        measure = with_aggregated(measure, lambda _, part: replace(part, grouping=pair))
    kind = measure_kind(measure, vocabulary)
    penalty = 1.0
    if slots.group is not None and not isinstance(view, Between):
        keys = vocabulary.keys.get(slots.group.name)
        grouping = Grouping(DataMeasure(slots.group.name), keys or (FILL_IN,))
        measure = with_aggregated(measure, lambda _, part: replace(part, grouping=grouping))
        if not slots.group.exact:
            assumed.append(f"“{slots.group.words}” is read as attribute {slots.group.name}")
        if not keys:
            assumed.append(
                f"the log lists no values of {slots.group.name}: write the groups in place of "
                f"'{FILL_IN}'"
            )
    is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
    if isinstance(view, Comparing) and slots.target and slots.target.unit == "%" and not is_share:
        view = replace(view, by=By.PERCENT)
    unread = clauses.unread(slots.rest, way.used)
    unit, target = _shown(measure, kind, slots), None
    if slots.target is not None:
        target, assumed_of_target = _target(slots.target, measure, kind, view)
        assumed += assumed_of_target
        if target is None:
            penalty = 0.4
            unread = (*unread, Token(_limit_text(slots.target), 0, TokenKind.WORD))
    assumed += slots.said.values()
    nouns = [t for t in slots.rest if clauses.names.may_name(t) and t.at not in way.used]
    assumed += (f"“{token.text}” is read as the cases" for token in nouns)
    if slots.scope is None:
        assumed.append("no period is named: every month is assumed")
    assumed += _missing_bounds(measure)
    score = way.sure * penalty * clauses.readable(slots.rest, way.used)
    score *= _ASSUMED ** len(way.assumed) * _NOUN ** len(nouns)
    way, once = replace(way, meant=measure), tuple(dict.fromkeys(assumed))
    return _Candidate(way, slots, unread, min(score, 1.0), unit, target, once, view)


def _missing_bounds(measure: MultiInstance) -> list[str]:
    missing = [part for _, part in aggregated_measures(measure) if part.bounds is None]
    assumed = (
        "bounds are missing: say what one case counts at least and at most, unless the log does"
    )
    return [assumed] if missing else []


def _shown(measure: MultiInstance, kind: Kind | None, slots: Slots) -> Unit:
    usual = usual_unit(measure)
    if kind is Kind.DURATION:
        wanted = slots.unit or (slots.target.unit if slots.target else "")
        return duration_unit(wanted.removeprefix("working ")) or usual
    return usual


def _target(
    limit: Limit, measure: MultiInstance, kind: Kind | None, view: View | None
) -> tuple[Target | None, list[str]]:
    """The target in internal units; None if it is of another kind than what is shown."""
    assumed: list[str] = []
    is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
    if isinstance(view, Comparing) and view.by is not By.DIFFERENCE:
        kind, is_share = Kind.NUMBER, view.by is By.PERCENT

    def internal(number: str) -> Fraction | None:
        length, assumption = duration_of(number, limit.unit)
        assumed.extend([assumption] if assumption and assumption not in assumed else [])
        if kind is Kind.DURATION or length is not None:
            return length if kind is Kind.DURATION else None
        if is_share:
            amount = Fraction(number)
            if limit.unit == "%" or amount > 1:
                return amount / 100
            assumed.append(f"the target {number} is read as {float(100 * amount):g} %")
            return amount
        fits = limit.unit != "%" or isinstance(measure, DerivedMultiInstance)
        return Fraction(number) if fits else None

    low = internal(limit.number)
    if low is None:
        return None, []
    if limit.upper:
        high = internal(limit.upper)
        return (Target(low, high) if high is not None and low <= high else None), assumed
    match limit.operator:
        case "<" | "<=":
            return Target(None, low, high_included=limit.operator == "<="), assumed
        case ">" | ">=":
            return Target(low, None, low_included=limit.operator == ">="), assumed
        case _:
            return Target(low, low), assumed


def _limit_text(limit: Limit) -> str:
    """
    >>> _limit_text(Limit("<=", "5", "%")), _limit_text(Limit(">=", "1", "days", upper="2"))
    ('at most 5 %', 'between 1 and 2 days')
    """
    if limit.upper:
        return f"between {limit.number} and {limit.upper} {limit.unit}".strip()
    return f"{_SIDES[limit.operator]} {limit.number} {limit.unit}".strip()


_SIDES = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "exactly"}


def _id(text: str) -> str:
    """
    >>> _id("How long, in days?"), _id("95 % of …")
    ('how-long-in-days', 'ppi-95-of')
    """
    words = re.findall(r"[a-z0-9]+", text.lower().replace("'", ""))
    identity = "-".join(words[:_WORDS_OF_ID])[:60].strip("-")
    return identity if identity[:1].isalpha() else f"ppi-{identity}".rstrip("-")


def _refusal(
    text: str, body: tuple[Token, ...], clauses: Clauses, vocabulary: Vocabulary
) -> NotUnderstood:
    unknown = [
        token.text
        for token in clauses.content(body)
        if not clauses.names.activities((token,)) and not clauses.names.attributes_in((token,))
    ]
    named = ", ".join(map(quoted, unknown[:6]))
    what = f": {named} {'name' if unknown[1:] else 'names'} nothing in this log" if unknown else ""
    activities = ", ".join(vocabulary.activities[:4])
    hint = (
        "say what is measured (the average time from … to …, the share of cases with …, the number "
        f"of cases in which …) with names of the log, such as {activities}"
    )
    return NotUnderstood(f"no reading fits {quoted(text)}{what}", hint=hint)
