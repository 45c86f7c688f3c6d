"""Measures of any kind: of one case, and of many.

the <aggregation> of <measure of a case> [grouped by …] [filtered by …] [, each case …]
the share of cases in which <statement> [among the cases in which <statement>]
the number of cases [in which <statement>]
the function <formula> where <variable> is <measure>, …
whether <statement>
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Cycles,
    Measure,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.formulas import formula, single
from pappi.ppinot.sentences.naming import at_public_attribute
from pappi.ppinot.sentences.nouns import at_noun, data, noun
from pappi.ppinot.sentences.statements import CASES, in_which, may_follow, statement
from pappi.ppinot.sentences.tails import Tails, read_tails
from pappi.ppinot.sentences.telling import EVERY_CASE, counts_truth
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.values.bounds import UNIT_INTERVAL
from pappi.values.vocabulary import Kind

_AGGREGATIONS = {
    Aggregation.MEAN: ("average", "mean", "avg"),
    Aggregation.SUM: ("sum", "total"),
    Aggregation.MAX: ("maximum", "max", "longest", "highest", "largest", "greatest"),
    Aggregation.MIN: ("minimum", "min", "shortest", "lowest", "smallest"),
    Aggregation.MEDIAN: ("median",),
    Aggregation.SHARE: ("share", "percentage", "proportion", "fraction", "ratio", "percent", "%"),
}
_CYCLES = {
    Aggregation.SUM: Cycles.SUM,
    Aggregation.MEAN: Cycles.MEAN,
    Aggregation.MIN: Cycles.MIN,
    Aggregation.MAX: Cycles.MAX,
    Aggregation.MEDIAN: Cycles.MEDIAN,
}


@dataclass(frozen=True, slots=True)
class _Function:
    """An aggregation, and which percentile it is."""

    function: Aggregation
    percent: int | None
    word: Word


def measure(cursor: Cursor) -> Measure:
    """The measure that comes next, in parentheses or not."""
    with cursor.nested():
        if not cursor.next.is_symbol("("):
            return _measure(cursor)
        cursor.take()
        # What is inside closes its own lists of variables.
        outside, cursor.waiting = cursor.waiting, []
        found = measure(cursor)
        cursor.waiting = outside
        cursor.expect(")")
        return found


def _measure(cursor: Cursor) -> Measure:
    start = cursor.next
    cursor.skip("the", "a", "an", "of")
    if cursor.also("function"):
        return formula(cursor, measure)
    if cursor.also("whether"):
        return statement(cursor, measure)
    function = _function(cursor)
    if function is not None:
        return _aggregated(cursor, function, start)
    if cursor.also("number of cases", "number of process instances", "number of traces"):
        return _number_of_cases(cursor, start)
    if at_attribute(cursor):
        return data(cursor, Pick.LAST)
    return noun(cursor)


def at_attribute(cursor: Cursor) -> bool:
    """Whether an attribute stands for its last value."""
    named = cursor.next.kind is WordKind.NAME or cursor.says("attribute")
    return named or (not at_noun(cursor) and at_public_attribute(cursor))


# --- aggregations ---------------------------------------------------------------------


def _function(cursor: Cursor) -> _Function | None:
    word = cursor.next
    for function, phrases in _AGGREGATIONS.items():
        if cursor.also(*phrases):
            return _Function(function, None, word)
    percentile = cursor.word(1).is_word("percentile")
    if word.kind in (WordKind.ORDINAL, WordKind.NUMBER) and percentile:
        cursor.index += 2
        return _Function(Aggregation.PERCENTILE, _percent(cursor, word), word)
    return None


def _percent(cursor: Cursor, word: Word) -> int:
    digits = word.written.rstrip("stndrhSTNDRH")
    if not digits.isdigit() or not 1 <= int(digits) <= 99:
        message = f"percentiles go from the 1st to the 99th, and this is {word}"
        raise cursor.refusal(message, at=word)
    return int(digits)


def _aggregated(cursor: Cursor, function: _Function, start: Word) -> Measure:
    if function.function is Aggregation.SHARE:
        return _share(cursor, start)
    if not cursor.also("of"):
        return _without_of(cursor, function, start)
    base = single(cursor, measure)
    return _finished(cursor, _bare(cursor, function, base, start), read_tails(cursor, measure))


def _without_of(cursor: Cursor, function: _Function, start: Word) -> Measure:
    """ "the average duration between …", which may also be about the pairs of one case."""
    if cursor.also("number of cases"):
        return _number_of_cases(cursor, start)
    if at_attribute(cursor):
        base: SingleInstance = data(cursor, Pick.LAST)
    elif _is_aggregation(cursor):
        base = single(cursor, measure)
    else:
        base = noun(cursor, _CYCLES.get(function.function))
        if isinstance(base, TimeMeasure) and base.cycles is not None:
            return base
    return _finished(cursor, _bare(cursor, function, base, start), read_tails(cursor, measure))


def _is_aggregation(cursor: Cursor) -> bool:
    return any(cursor.says(word) for words in _AGGREGATIONS.values() for word in words)


def _bare(
    cursor: Cursor, function: _Function, base: SingleInstance, start: Word
) -> AggregatedMeasure:
    place = cursor.place(start)
    return AggregatedMeasure(function.function, base, percent=function.percent, position=place)


def _share(cursor: Cursor, start: Word) -> AggregatedMeasure:
    cursor.expect("of")
    cursor.expect(*CASES)
    base = in_which(cursor, measure)
    found = AggregatedMeasure(Aggregation.SHARE, base, position=cursor.place(start))
    return _finished(cursor, found, read_tails(cursor, measure))


def _number_of_cases(cursor: Cursor, start: Word) -> AggregatedMeasure:
    place = cursor.place(start)
    if cursor.also("with a value of", "that have a value of"):
        found = AggregatedMeasure(Aggregation.COUNT, single(cursor, measure), position=place)
    else:
        chosen = in_which(cursor, measure) if may_follow(cursor) else None
        found = AggregatedMeasure(Aggregation.COUNT, EVERY_CASE, chosen, position=place)
    return _finished(cursor, found, read_tails(cursor, measure))


def _finished(cursor: Cursor, found: AggregatedMeasure, tails: Tails) -> AggregatedMeasure:
    """The measure with what is said behind it."""
    if found.filter is not None and tails.filter is not None:
        message = "which cases count is said twice"
        raise cursor.refusal(message, "join the two with 'and'", at=tails.filter_word)
    bounds, kind = tails.bounds, measure_kind(found.base, None)
    if not tails.says_bounds and counts_truth(found):
        bounds = UNIT_INTERVAL
    if bounds and kind is Kind.DURATION and not tails.in_time and not counts_truth(found):
        message = "a case contributes a duration, and these bounds have no unit of time"
        raise cursor.refusal(message, "as in at most 30 days", at=tails.bounds_word)
    if tails.in_time and (counts_truth(found) or kind is Kind.NUMBER):
        message = "a case contributes a number, and these bounds are durations"
        raise cursor.refusal(message, "write plain numbers", at=tails.bounds_word)
    return replace(
        found,
        filter=found.filter or tails.filter,
        grouping=tails.grouping,
        bounds=bounds,
        bounding=tails.bounding,
        within=tails.within,
    )
