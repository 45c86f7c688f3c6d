"""A sentence in everyday words, as PPIs: ranked readings, each with what it assumes.

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
from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.errors import DefinitionError, NotUnderstood
from pappi.ppinot.checks import check_catalogue
from pappi.ppinot.model import (
    EVERY_MONTH,
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    DataMeasure,
    DerivedMultiInstance,
    Grouping,
    MultiInstance,
    Ppi,
    Scope,
    Target,
    measure_kind,
    usual_unit,
)
from pappi.ppinot.notations.sentences import sentence
from pappi.ppinot.notations.yaml import write_yaml
from pappi.ppinot.tree import aggregated_measures, with_aggregated
from pappi.ppinot.understanding.clauses import Clauses, Way, duration_of
from pappi.ppinot.understanding.frames import Frames
from pappi.ppinot.understanding.names import Names
from pappi.ppinot.understanding.slots import Slots, Taken, slots_of, taken_out
from pappi.ppinot.understanding.words import Limit, Token, TokenKind, tokens
from pappi.ppinot.views import Between, Comparing, View
from pappi.values import By, Grid, Kind, Unit, Vocabulary, duration_unit, quoted

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
    said = tokens(measured)
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
