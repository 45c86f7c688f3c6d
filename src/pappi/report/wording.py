"""Verdicts, guarantees, forecasts and public facts in words that page, chart and terminal share.

A target with a tolerated range makes three bands. Green is met, amber and red are missed.
A solid mark is certain. An open circle leaves open whether the target is met, an open triangle
only by how much it is missed. Shape and word say what colour says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from math import ceil, exp
from typing import Protocol, Self

from pappi.ppinot import function_name
from pappi.report.numbers import (
    MISSING,
    best_texts,
    error_text,
    format_value,
    printable,
    released_texts,
    size_text,
    three_digits,
)
from pappi.values import (
    CASE,
    DURATIONS,
    ENOUGH_CHANCE,
    UNDER_REPLACE,
    ZERO,
    Adjacency,
    Alternative,
    Answer,
    Band,
    Beyond,
    Bounds,
    BudgetLine,
    By,
    CaseBorder,
    Compared,
    Comparison,
    DefaultBounds,
    Epsilon,
    KeyRecord,
    Per,
    PrivacyUnit,
    PublicLog,
    Quote,
    QuotedSet,
    Series,
    ShownTarget,
    Verdict,
    Vocabulary,
    bands_text,
)


class VerdictMark(StrEnum):
    """The verdict on an answer as it is shown, best first: its word, symbol, colour and meaning."""

    MET = "met", "●", "met", "the whole interval meets the target"
    GREEN = "green", "●", "met", "the whole interval meets the target"
    UNCLEAR = (
        "unclear",
        "○",
        "undecided",
        (
            "the interval covers both sides of the target: too noisy to say; or the clipped cases "
            "could flip the verdict; or there are perhaps no cases"
        ),
    )
    AMBER = "amber", "◆", "amber", "the whole interval misses the target but is still tolerated"
    AMBER_OR_RED = (
        "amber or red",
        "▽",
        "missed",
        (
            "the whole interval misses the target; it is too noisy to say whether that is still "
            "tolerated"
        ),
    )
    MISSED = "missed", "▼", "missed", "the whole interval misses the target"
    RED = "red", "▼", "missed", "the whole interval lies beyond what is tolerated"

    symbol: str
    colour: str
    meaning: str

    def __new__(cls, word: str, symbol: str, colour: str, meaning: str) -> Self:
        mark = str.__new__(cls, word)
        mark._value_, mark.symbol, mark.colour, mark.meaning = word, symbol, colour, meaning
        return mark


_OF_VERDICTS = {
    Verdict.MET: VerdictMark.MET,
    Verdict.MISSED: VerdictMark.MISSED,
    Verdict.UNDECIDED: VerdictMark.UNCLEAR,
}
SMOOTHED = "≈"
"""Marks every value that was smoothed, and every verdict based on one."""


def mark_of(answer: Answer) -> VerdictMark | None:
    best = answer.best
    if not best.bands:
        return None if best.verdict is None else _OF_VERDICTS[best.verdict]
    if len(best.bands) == 1:
        return VerdictMark[best.bands[0].name]
    return VerdictMark.UNCLEAR if Band.GREEN in best.bands else VerdictMark.AMBER_OR_RED


def judged_text(answer: Answer) -> str:
    """The mark and its word; for an undecided verdict, also how likely the target is met.

    "▼ missed", "○ unclear, 83 % likely met", "○ green or amber, 83 % likely met"; "≈▼ missed" if
    it is based on a smoothed value; "○ unclear, perhaps no cases" where there may be none,
    "○ unclear, clipping could flip it" where clipping hides more than the noise, and
    "○ unclear, 83 % likely met as clipped" where it may hide much.
    """
    mark, best = mark_of(answer), answer.best
    if mark is None:
        return MISSING
    # All three bands say nothing, so the shorter word is used.
    word = bands_text(best.bands) if len(best.bands) == 2 else mark
    judged = f"{SMOOTHED if answer.smoothed else ''}{mark.symbol} {word}"
    return ", ".join(filter(None, (judged, _proviso(answer))))


_PERHAPS_EMPTY = "perhaps no cases"
_CLIPPING_DECIDES = "clipping could flip it"
_AS_CLIPPED = "as clipped"


def _proviso(answer: Answer) -> str:
    """What a verdict leaves open: whether there are cases, what clipping did, how likely it is."""
    best = answer.best
    if answer.perhaps_empty:
        return _PERHAPS_EMPTY
    if best.clipping_decides:
        return _CLIPPING_DECIDES
    if best.verdict is not Verdict.UNDECIDED or best.probability_met is None:
        return ""
    # An undecided verdict is never shown as certain, however it rounds.
    chance = f"{100 * min(max(best.probability_met, 0.01), 0.99):.0f} % likely met"
    return f"{chance} {_AS_CLIPPED}" if _may_hide_much(answer) else chance


def _may_hide_much(answer: Answer) -> bool:
    """Whether clipped cases may move the value further than its interval is wide.

    Then the chance that the clipped value meets the target says little of the value as it is.
    """
    low, high = answer.best.interval.low, answer.best.interval.high
    if answer.beyond is None or low is None or high is None:
        return False
    return answer.beyond.below + answer.beyond.above > high - low


# --- clipped cases ------------------------------------------------------------------------

_CONSIDERABLE = 0.05
_LEAST_SHOWN = 0.001
_DIFFERING = 1.5
"""So many times as wide as another, and an interval is told by both."""


def cuts_many(series: Series) -> bool:
    """Whether bounds certainly clip some cases, about one in twenty or more: worth a warning."""
    beyond = series.beyond
    return beyond is not None and beyond.share >= _CONSIDERABLE and bool(beyond.interval.low)


def clipping_line(series: Series) -> str:
    """What the bounds did to the cases, marked if that is a lot.

    "⚠ of values cut at 60 days; about 36 % of cases lie beyond"
    """
    return f"{'⚠ ' if cuts_many(series) else ''}{series.clipping}"


def beyond_text(beyond: Beyond | None) -> str:
    """The share of one period's cases that were clipped, as far as the noise lets it be known.

    >>> from pappi.values import Interval
    >>> some = Beyond(0.364, Interval(0.2, 0.5, 0.95))
    >>> beyond_text(some), beyond_text(Beyond(0.02, Interval(0.0, 0.09, 0.95)))
    ('≈ 36 %', '≤ 9 %')
    >>> beyond_text(Beyond(0.0, Interval(0.0, 0.0004, 0.95)))
    'none seen, ≤ 0.1 %'
    """
    if beyond is None:
        return MISSING
    if beyond.interval.low:
        return f"≈ {percent(beyond.share)}"
    most = 1.0 if beyond.interval.high is None else beyond.interval.high
    if most >= 1:
        return MISSING
    limit = f"≤ {percent(max(most, _LEAST_SHOWN))}"
    return limit if beyond.share else f"none seen, {limit}"


def telling_text(quote: Quote) -> str:
    """What it costs to count the clipped cases; empty where they are not counted.

    "counting the clipped cases makes its interval ± 3.50 d instead of ± 3.10 d; `release:
    {clipping: off}` avoids that"
    """
    width = quote.interval_half_width
    if quote.untold is None or width is None:
        return ""
    counting, untold = (error_text(half, quote.unit) for half in (width, quote.untold))
    if counting == untold:
        return ""
    return (
        f"counting the clipped cases makes its interval {counting} instead of {untold}; "
        "`release: {clipping: off}` avoids that"
    )


def tally(answers: Iterable[Answer]) -> dict[VerdictMark, int]:
    """How often each mark was given; marks never given are left out."""
    marks = [mark_of(answer) for answer in answers]
    return {mark: marks.count(mark) for mark in VerdictMark if mark in marks}


def tally_text(answers: Iterable[Answer]) -> str:
    """How many verdicts are firm, and which: the summary of a dashboard."""
    counts = tally(answers)
    unclear, total = counts.get(VerdictMark.UNCLEAR, 0), sum(counts.values())
    firm = ", ".join(
        f"{count:,} {mark}" for mark, count in counts.items() if mark != VerdictMark.UNCLEAR
    )
    which = f": {firm}" if firm else ""
    return f"Of {total:,} verdicts {total - unclear:,} are firm{which}; {unclear:,} unclear."


def legend(answers: Iterable[Answer]) -> list[VerdictMark]:
    """The marks that need explaining for these answers."""
    judged = [answer.best for answer in answers]
    kinds = {bool(best.bands) for best in judged if best.verdict is not None}
    plain = set(_OF_VERDICTS.values())
    banded = set(VerdictMark) - {VerdictMark.MET, VerdictMark.MISSED}
    needed = (plain if False in kinds else set()) | (banded if True in kinds else set())
    return [mark for mark in VerdictMark if mark in needed]


# --- targets ------------------------------------------------------------------------------


def target_text(target: ShownTarget) -> str:
    """
    >>> target_text(ShownTarget(None, 7.0, "below 7 days", ShownTarget(None, 9.0, "below 9 days")))
    'below 7 days, tolerated below 9 days'
    """
    return target.text + (f", tolerated {target.tolerated.text}" if target.tolerated else "")


def target_lines(series: Series) -> Iterator[str]:
    """The target, and those of groups that have their own."""
    if series.target is not None:
        yield f"target {target_text(series.target)}"
    for group, target in series.group_targets:
        yield f"target of {group}: {target_text(target)}"


# --- advice -------------------------------------------------------------------------------


NOTHING = "✗"
"""Marks a query that tells nothing."""


def chance_text(chance: float | None) -> str:
    """How likely a verdict is to be firm.

    >>> chance_text(0.824), chance_text(0.0), chance_text(1.0), chance_text(None)
    ('82 %', 'below 1 %', 'over 99 %', '–')
    """
    if chance is None:
        return MISSING
    if chance < 0.01:
        return "below 1 %"
    return "over 99 %" if chance > 0.99 else percent(round(chance, 2))


def decides_text(quote: Quote) -> str:
    """The same of a quote; "✗ nothing" if the query tells nothing."""
    return f"{NOTHING} nothing" if quote.tells_nothing else chance_text(quote.chance_to_decide)


def nothing_text(quote: Quote) -> str:
    """The first line about a query that tells nothing."""
    return f"{NOTHING} {quote.name or quote.ppi}: {quote.advice}."


def alternative_cells(alternative: Alternative, left: Epsilon | None) -> tuple[str, str, str, str]:
    """What to change, ε in each block, expected half-width, chance to decide.

    `left` is what the tightest block has left, None where nobody knows.
    """
    width = alternative.interval_half_width or alternative.margin
    return (
        f"{alternative.change[:1].upper()}{alternative.change[1:]}",
        _price(alternative, left),
        MISSING if width is None else error_text(width, alternative.unit),
        chance_text(alternative.chance_to_decide),
    )


def cheapest_text(quote: Quote, left: Epsilon | None) -> str:
    """The cheapest way to decide; `left` is what the tightest block has left."""
    if quote.alternatives:
        best = quote.alternatives[0]
        return f"{best.change} ({_price(best, left)})"
    chance = quote.chance_to_decide
    if quote.tells_nothing or (chance is not None and chance < ENOUGH_CHANCE):
        return "none is known within a block's budget"
    if chance is None and quote.target is not None:
        return "nobody can say what decides"
    return f"as asked ({f'ε {quote.epsilon}' if quote.new_charges else 'free'})"


def _price(alternative: Alternative, left: Epsilon | None) -> str:
    """An alternative that is dearer than what is left says so."""
    short = left is not None and alternative.epsilon > left
    return f"ε {alternative.epsilon}{', not enough left' if short else ''}"


# --- the guarantee ------------------------------------------------------------------------

_COMPARED = {
    Adjacency.ADD_REMOVE: (
        "It compares any two logs that differ by one case, so the number of cases is protected too."
    ),
    Adjacency.REPLACE: (
        f"It compares any two logs in which the content of one case differs. {UNDER_REPLACE}"
    ),
}
HOPELESS = Epsilon.of(13)
"""Beyond this, the factor is over 400,000 and tells a reader nothing."""


def times(epsilon: Epsilon) -> str:
    """e to the ε, rounded up, so that the sentence with it is true.

    >>> times(Epsilon.of("0.1")), times(Epsilon.of(3))
    ('1.11 times', '20.1 times')
    """
    if epsilon > HOPELESS:
        return f"e^{epsilon} times"
    factor = exp(float(epsilon))
    decimals = 2 if factor < 10 else 1 if factor < 100 else 0
    return f"{ceil(factor * 10**decimals) / 10**decimals:,.{decimals}f} times"


def promise(epsilon: Epsilon, unit: PrivacyUnit = CASE) -> str:
    """The guarantee of one figure, for people who have never heard of ε."""
    factor = f"{times(epsilon)} likelier because of"
    if unit.column is None:
        return (
            "Whatever one case contains, no published figure becomes more than "
            f"{factor} it (ε = {epsilon})."
        )
    return (
        f"Whatever {their_cases(unit)}{_in_block(unit)} contain, {counted(unit)}, no published "
        f"figure becomes more than {factor} them (ε = {epsilon}).{_adds_up(unit)}"
    )


def promise_together(spent: Epsilon, unit: PrivacyUnit = CASE) -> str:
    """The guarantee of everything released; `spent` is what the most charged block has spent.

    A case lies in one block. The counted cases of a person may lie in several, but each is
    charged its share of ε in its own block, so together they never exceed the largest account.
    """
    factor = f"taken together, become at most {times(spent)} likelier because of"
    if unit.column is None:
        return f"All figures ever published about this log, {factor} one case (ε = {spent})."
    about, there = ("this log", "") if unit.per is Per.LOG else ("the same block", " in it")
    return (
        f"All figures ever published about {about}, {factor} {their_cases(unit)}{there}, "
        f"{counted(unit)} (ε = {spent}).{_adds_up(unit)}"
    )


def neighbours_text(adjacencies: Iterable[Adjacency], unit: PrivacyUnit = CASE) -> str:
    """Which two logs the guarantee compares."""
    if unit.column is not None:
        return (
            f"It compares any two logs of which one lacks {their_cases(unit)}{_in_block(unit)}, "
            "so how many cases there were, and whose, is protected too."
        )
    present = set(adjacencies)
    return " ".join(text for adjacency, text in _COMPARED.items() if adjacency in present)


def their_cases(unit: PrivacyUnit) -> str:
    return f"the cases of one '{unit.column}'"


def _in_block(unit: PrivacyUnit) -> str:
    return "" if unit.per is Per.LOG else " in any one block"


def counted(unit: PrivacyUnit) -> str:
    alone = unit.max_cases == 1
    return f"of whom at most {'1 case counts' if alone else f'{unit.max_cases} cases count'}"


def _adds_up(unit: PrivacyUnit) -> str:
    """A guarantee per person and block must not be taken for one per person."""
    if unit.per is Per.LOG:
        return ""
    return (
        f" This holds per '{unit.column}' and block: what different blocks reveal about the same "
        f"'{unit.column}' adds up."
    )


def _protected(unit: PrivacyUnit) -> str:
    if unit.column is None:
        return "each case"
    where = "" if unit.per is Per.LOG else " in each block"
    return f"each '{unit.column}'{where}, {counted(unit)}"


def guarantee_line(series: Series) -> str:
    """One line: ε, mechanism, adjacency, privacy unit, and what the intervals cover."""
    if not series.answers:
        return "no answers"
    guarantees = [answer.guarantee for answer in series.answers]
    shared = max(guarantee.shared_by for guarantee in guarantees)
    whose = f"for {shared} PPIs together" if shared > 1 else "per figure"
    parts = [
        f"ε = {epsilons_text({guarantee.epsilon for guarantee in guarantees})} {whose}",
        ", ".join(sorted({guarantee.mechanism for guarantee in guarantees})),
        ", ".join(sorted({guarantee.adjacency.value for guarantee in guarantees})),
        f"protects {_protected(guarantees[0].unit)}",
        interval_name(series),
    ]
    return " · ".join(parts)


def interval_name(series: Series) -> str:
    """An interval, named for what it covers: "95 % interval of the mean of values cut at 60 d"."""
    covered = f" of {series.covers}" if series.covers else ""
    return f"{confidence_text(series.answers)} interval{covered}"


def paid_alike(series: Series) -> bool:
    """Whether all answers have the same ε and origin, so that one line is enough."""
    ways = {(a.guarantee.epsilon, a.replayed, bool(a.derived_from)) for a in series.answers}
    return len(ways) <= 1


# --- comparisons --------------------------------------------------------------------------


def compares(series: Series) -> bool:
    return any(answer.comparison is not None for answer in series.answers)


def value_header(series: Series) -> str:
    """What the values of a series are: figures, or two of them compared."""
    for answer in series.answers:
        if (comparison := answer.comparison) is not None:
            if comparison.by is By.RATIO:
                return "Ratio"
            return "Change" if comparison.first.group == comparison.second.group else "Difference"
    return "Value"


def noise_text(answer: Answer) -> str:
    """Whether two figures differ by more than noise, in a cell of a table."""
    comparison = answer.comparison
    if comparison is None or best_texts(answer)[0] == MISSING:
        return MISSING
    return "more than noise" if comparison.more_than_noise else "may be noise"


def compared_text(answer: Answer) -> str:
    """The two figures themselves: "9.1 d, 2024-01: 5.9 d"."""
    comparison = answer.comparison
    if comparison is None:
        return MISSING
    first, second = map(_compared_value, (comparison.first, comparison.second))
    name, other = _compared_names(comparison)
    is_own = comparison.first.group == comparison.second.group
    return f"{first}, {other}: {second}" if is_own else f"{name}: {first}, {other}: {second}"


def _compared_value(figure: Compared) -> str:
    return format_value(figure.value, figure.interval, figure.unit)


def _compared_names(comparison: Comparison) -> tuple[str, str]:
    """The two by what tells them apart."""
    first, second = comparison.first, comparison.second
    if first.period == second.period:
        return str(first.group), str(second.group)
    of_group = "" if first.group is None else f"{first.group} in "
    return f"{of_group}{first.period.label}", f"{of_group}{second.period.label}"


def comparison_lines(answer: Answer) -> tuple[str, ...]:
    """Two figures compared, in plain words: which is higher, by how much, and if that is noise."""
    comparison = answer.comparison
    if comparison is None:
        return ()
    value, interval = best_texts(answer)
    name, other = _compared_names(comparison)
    own, others = map(_compared_value, (comparison.first, comparison.second))
    together = comparison.first.period == comparison.second.period
    where = f"In {comparison.first.period.label}, " if together else ""
    if value == MISSING or answer.value is None:
        return (f"{where}{name} and {other}: the noise hides how they compare.",)
    if comparison.by is By.RATIO:
        said = f"is {value} times {other} ({others})"
    else:
        above = "above" if answer.value > 0 else "below"
        size = value.removeprefix("+").removeprefix("−")
        said = f"is {size} {above} {other} ({others})"
    compared_line = f"{where}{name} ({own}) {said}."
    what = {By.DIFFERENCE: "difference", By.PERCENT: "change", By.RATIO: "ratio"}[comparison.by]
    sure = confidence_text((answer,))
    one_end = interval.startswith("at ")
    ends = interval if one_end else f"between {interval.replace(' to ', ' and ', 1)}"
    within = f"With {sure} confidence, the {what} without noise is {ends}."
    if comparison.more_than_noise:
        return compared_line, within, "That is more than noise."
    if answer.perhaps_empty:
        return compared_line, within, "There may be no cases at all, so this may be noise alone."
    return compared_line, within, "That may be noise alone: both may be the same."


def view_line(series: Series) -> str:
    """What is shown of the figures, and of which days each is."""
    if not series.view:
        return ""
    if any(answer.over is not None for answer in series.answers):
        return f"{series.view}: each figure is about the days up to the end of its period"
    return series.view


def derived_text(answers: Sequence[Answer]) -> str:
    """What answers follow from: "derived from releases 4 to 27: nothing charged"."""
    sources = {source.number: source.ppi for answer in answers for source in answer.derived_from}
    if not sources:
        return ""
    numbers = sorted(sources)
    # One draw for several PPIs is on record under the names of all of them.
    named = (name for number in numbers for name in sources[number].split(", "))
    names = ", ".join(dict.fromkeys(named))
    if len(numbers) == 1:
        which = f"release {numbers[0]}"
    elif numbers[-1] - numbers[0] + 1 == len(numbers):
        which = f"releases {numbers[0]} to {numbers[-1]}"
    else:
        which = f"{len(numbers)} releases from {numbers[0]} to {numbers[-1]}"
    return f"derived from {which} ({names}): nothing charged"


def epsilons_text(epsilons: Collection[Epsilon]) -> str:
    low, high = min(epsilons), max(epsilons)
    return str(low) if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """
    >>> percent(0.95), percent(0.0034), percent(0.00001), percent(25.0)
    ('95 %', '0.3 %', 'less than 0.1 %', '2,500 %')

    Rounding never hides whether something fits.

    >>> percent(0.996), percent(1.004), percent(0.99999), percent(1.0), percent(1.00001)
    ('99.6 %', '100.4 %', 'just below 100 %', '100 %', 'just above 100 %')
    """
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if share != 1 and abs(share - 1) < 0.0005:
        return f"just {'below' if share < 1 else 'above'} 100 %"
    fine = share < 0.01 or 0 < abs(share - 1) < 0.01
    return f"{100 * share:.1f} %" if fine else f"{100 * share:,.0f} %"


def confidence_text(answers: Sequence[Answer]) -> str:
    """
    >>> confidence_text([])
    ''
    """
    levels = sorted({answer.best.interval.confidence for answer in answers})
    return ", ".join(f"{100 * level:.4g} %" for level in levels)


def answer_text(answer: Answer) -> str:
    """An answer as one sentence: what hovering over its point says."""
    smoothed = "smoothed " if answer.smoothed else ""
    figure = f"{answer.period.label}: {smoothed}{_figure_text(*best_texts(answer))}"
    verdict = answer.best.verdict
    judged = verdict and _OF_VERDICTS[verdict], bands_text(answer.best.bands)
    reason = _CLIPPING_DECIDES if answer.best.clipping_decides else ""
    reason = _PERHAPS_EMPTY if answer.perhaps_empty else reason
    return ", ".join(word for word in (figure, *judged, reason) if word)


def _figure_text(value: str, interval: str) -> str:
    return "nothing is known" if value == interval == MISSING else f"{value} ({interval})"


def raw_text(answer: Answer) -> str:
    """The released value of an answer that is shown smoothed."""
    return f"{answer.period.label}: released as {_figure_text(*released_texts(answer))}"


def series_text(series: Series) -> str:
    """What a chart shows, for screen readers: extent, latest figure and verdicts."""
    if not series.answers:
        return f"{series.sentence} There are no answers."
    ordered = sorted(series.answers, key=lambda answer: answer.period)
    verdicts = ", ".join(f"{count} {mark}" for mark, count in tally(ordered).items())
    by = " by smoothed values" if any(answer.smoothed for answer in ordered) else ""
    targets = "; ".join(target_lines(series)).capitalize()
    return " ".join(
        part
        for part in (
            series.sentence,
            f"{len(ordered)} figures from {ordered[0].period.label}",
            f"to {ordered[-1].period.label}.",
            f"{targets}." if targets else "",
            f"Verdicts{by}: {verdicts}." if verdicts else "",
            f"Values are {series.clipping}." if cuts_many(series) else "",
            f"Latest: {answer_text(ordered[-1])}.",
        )
        if part
    )


# --- previews -----------------------------------------------------------------------------


def payments_text(quote: Quote) -> str:
    """What a release would charge: the cells that are not on record, and the ε of each."""
    follows = quote.derivable
    free = follows.cells if follows and follows.taken else 0
    if not quote.new_charges:
        return "derived" if free else "replay"
    if free:
        return f"{quote.new_charges} × {quote.epsilon}, {free} derived"
    shared = f" for {len(quote.together)}" if quote.together else ""
    return f"{quote.new_charges} × {quote.epsilon}{shared}"


def epsilon_text(quote: Quote) -> str:
    """The ε it is asked at; "–" where nothing is drawn, as it follows from the record."""
    return MISSING if quote.is_derived else str(quote.epsilon)


def expected_text(quote: Quote) -> str:
    """What to compare an answer with: half of the interval that it will come with, about.

    Both ends where releases differ much from one another, as those read off bins do; with a star
    where nothing is promised besides; "–" where only the promise is known.
    """
    between = differing(quote)
    if between is None:
        return typical_text(quote)
    return between_text(between, quote.unit) + star(quote)


def typical_text(quote: Quote) -> str:
    """The same as one number, however much releases differ."""
    width = quote.interval_half_width
    if width is None or quote.verdict_only:
        width = quote.half_width if quote.assumes else None
    if width is not None:
        return error_text(width, quote.unit) + star(quote)
    if quote.half_width is not None:
        return MISSING
    if quote.typical_error is None:
        return "not known"
    return f"typically {error_text(quote.typical_error, quote.unit)}"


def mostly_text(quote: Quote) -> str:
    """Between which half-widths nine of ten releases are; empty where they hardly differ."""
    between = differing(quote)
    return "" if between is None else f"mostly {between_text(between, quote.unit)}"


def star_lines(quotes: Iterable[Quote]) -> list[str]:
    """What the figures with a star rest on, and which, if not all on the same."""
    starred: dict[str, list[str]] = {}
    for quote in quotes:
        if quote.assumes:
            starred.setdefault(quote.assumes, []).append(quote.ppi)
    whose = {assumption: f" ({', '.join(ppis)})" for assumption, ppis in starred.items()}
    return [
        f"* Not guaranteed{whose[assumption] if len(starred) > 1 else ''}: only if {assumption}; "
        "if not, it can be several times as wide."
        for assumption in sorted(starred)
    ]


def star(quote: Quote) -> str:
    return " *" if quote.assumes else ""


def differing(quote: Quote) -> tuple[float, float] | None:
    """The half-widths that are to be expected, where one is half as large again as another."""
    ends = quote.usual_half_widths
    if ends is None or quote.verdict_only or ends[1] < _DIFFERING * ends[0]:
        return None
    return ends


def between_text(ends: tuple[float, float], unit: str) -> str:
    """
    >>> between_text((7.8125, 15.625), "EUR")
    '± 7.81–15.6 EUR'
    """
    least, most = ends
    return f"± {three_digits(least)}–{size_text(most, unit)}"


def at_most_text(quote: Quote) -> str:
    """What the noise keeps to with 95 % confidence, wherever the values lie."""
    if quote.margin is None or quote.verdict_only:
        return MISSING
    return error_text(max(quote.margin, quote.interval_half_width or 0.0), quote.unit)


def functions_text(functions: Iterable[str]) -> str:
    return " + ".join(map(function_name, functions))


def assumption_text(quote: Quote) -> str:
    """What a forecast assumes: "Assuming about 300 cases in a quarter: 100 declared per month."""
    cases = quote.cases_note or f"{quote.assumed_cases:,} cases in a period"
    return printable(f"Assuming {cases}.")


def share_text(share: float) -> str:
    return f"{100 * share:.3g} %"


def option_cells(option: QuotedSet, unit: str) -> tuple[str, str, str, str, str]:
    """A way to release a PPI: its functions, mechanisms, shares of ε and error, and a remark."""
    several = len(set(option.mechanisms)) > 1
    return (
        printable(functions_text(option.functions)),
        printable(" + ".join(option.mechanisms) if several else option.mechanism or MISSING),
        " + ".join(map(share_text, option.shares)) or MISSING,
        option_error_text(option, unit),
        "chosen" if option.chosen else printable(option.reason),
    )


def option_error_text(option: QuotedSet, unit: str) -> str:
    if option.margin is not None:
        return error_text(option.margin, unit)
    if option.typical_error is not None:
        return f"typically {error_text(option.typical_error, unit)}"
    return MISSING if option.mechanism is None else "error not known"


# --- after a release ----------------------------------------------------------------------


def charged_text(before: Sequence[BudgetLine], after: Sequence[BudgetLine]) -> str:
    """What an analyst was charged between two views of the budget; empty if nothing."""
    used = {line.block: line.own_used for line in before}
    paid = {line.block: line.own_used - used.get(line.block, ZERO) for line in after}
    paid = {block: amount for block, amount in paid.items() if amount > ZERO}
    if not paid:
        return ""
    most = max(paid, key=lambda block: paid[block])
    if len(paid) == 1:
        return printable(f"Charged: ε {paid[most]} in {most}.")
    if len(set(paid.values())) == 1:
        return f"Charged: ε {paid[most]} in each of {len(paid):,} blocks."
    amounts = f"ε {epsilons_text(paid.values())} in {len(paid):,} blocks"
    return printable(f"Charged: {amounts}, most in {most}.")


def tightest(lines: Sequence[BudgetLine]) -> BudgetLine | None:
    """The block that has the least left; None where there is no block."""
    return min(lines, key=lambda line: line.left, default=None)


def least_left(lines: Sequence[BudgetLine]) -> Epsilon | None:
    """What the tightest block has left; None where there is no block."""
    return min((line.left for line in lines), default=None)


def left_text(lines: Sequence[BudgetLine]) -> str:
    """What the tightest block has left."""
    tightest = min(lines, key=lambda line: line.left)
    among = f", the tightest of {len(lines):,} blocks" if len(lines) > 1 else ""
    limit = min(tightest.limit, tightest.own_limit or tightest.limit)
    return printable(f"Remaining budget: ε {tightest.left} of {limit} in {tightest.block}{among}.")


# --- forecasts ----------------------------------------------------------------------------


class Foreseen(Protocol):
    """A forecast by its fields: `ledger.Forecast` has them, a package that is beside `report`."""

    @property
    def price(self) -> Epsilon: ...
    @property
    def more(self) -> int: ...
    @property
    def tightest(self) -> str | None: ...
    @property
    def share(self) -> float: ...
    @property
    def asks_coming(self) -> bool: ...
    @property
    def until(self) -> date | None: ...


def forecast_lines(forecast: Foreseen) -> tuple[str, ...]:
    """The sentences: what it costs, how often it fits, how long the budget lasts."""
    price = (
        f"It costs at most ε {forecast.price} in a block, {percent(forecast.share)} of its budget."
    )
    return price, _fits(forecast), _lasts(forecast)


def _fits(forecast: Foreseen) -> str:
    where = "all blocks together" if forecast.tightest is None else f"block {forecast.tightest}"
    if not forecast.more:
        return printable(f"There is not enough budget left in {where}.")
    if forecast.more == 1:
        return printable(f"It fits into the budget of {where} once, but not twice.")
    return printable(
        f"{forecast.more:,} such queries fit into the budget of {where}, this included."
    )


def _lasts(forecast: Foreseen) -> str:
    if not forecast.asks_coming:
        return "It cannot be released for future blocks: it costs more than their budget."
    if forecast.until is None:
        return "Released once per future block, it never runs out: each block has its own budget."
    last = forecast.until - timedelta(days=1)
    return f"If it is released once per future block, the budget lasts until {last}."


# --- what is public about a log -----------------------------------------------------------

Row = tuple[str, str]
"""Label and text."""


def describe_log(log: PublicLog) -> tuple[Row, ...]:
    """All that is declared except the names, which `describe_vocabulary` lists."""
    terms = log.terms
    anchor = "last" if terms.anchor is CaseBorder.END else "first"
    expected = terms.expected_cases
    cases = "not declared" if expected is None else f"{expected:,} per block ({terms.blocks})"
    neighbours = neighbours_text([terms.adjacency], terms.unit)
    unit, column = str(terms.unit), terms.unit.column
    if column is not None:
        dropped = f"further cases of the same {column}, and cases without one or with several"
        unit = f"{unit}; {dropped}, are dropped"
    weighted = [
        f"spread over {name} as {', '.join(f'{key} {weight:,}' for key, weight in weights.items())}"
        for name, weights in terms.weights.items()
    ]
    total = terms.total_budget
    in_all = "; no limit for all blocks together" if total is None else f", ε {total} in all"
    bounds = "; ".join(_bounds(terms.bounds)) or "none: each definition gives its own"
    return (
        ("Privacy unit", unit),
        ("Neighbouring logs", f"{terms.adjacency}. {neighbours}"),
        ("Horizon", horizon_text(log)),
        ("Time zone", terms.timezone),
        ("Blocks", f"{terms.blocks}; a case belongs to the block of its {anchor} event"),
        ("Budget", f"ε {terms.block_budget} per block{in_all}"),
        ("Expected cases", "; ".join([cases, *weighted])),
        ("Default bounds", bounds),
    )


def key_state(key: KeyRecord, now: datetime) -> str:
    """Whether a key is "valid", "expired" or "revoked"."""
    if key.revoked:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now else "valid"


def describe_vocabulary(names: Vocabulary, most: int | None = None) -> tuple[Row, ...]:
    """The public names: up to `most` of each kind are listed, the others counted.

    >>> describe_vocabulary(Vocabulary(("Ask", "Pay", "Ship")), most=2)[0]
    ('Activities', 'Ask, Pay and 1 more')
    """
    keys = (f"{name}: {listed_up_to(values, most)}" for name, values in names.keys.items())
    return (
        ("Activities", listed_up_to(names.activities, most)),
        ("Attributes", listed_up_to(attributes_with_kinds(names), most)),
        ("Public partitions", "; ".join(keys) or "none"),
    )


def attributes_with_kinds(names: Vocabulary) -> tuple[str, ...]:
    return tuple(f"{name} ({kind})" for name, kind in names.attributes.items())


def listed_up_to(names: Sequence[str], most: int | None, of: int = 0) -> str:
    """The first names, and how many more there are; `of` is the total if `names` lacks some."""
    text = ", ".join(names[:most]) or "none"
    more = 0 if most is None else max(len(names), of) - most
    return f"{text} and {more:,} more" if more > 0 else text


def horizon_text(log: PublicLog) -> str:
    """The days that can be queried; the last one is included."""
    if log.is_empty:
        return f"from {log.first}; nothing is sealed yet"
    return f"{log.first} to {log.until - timedelta(days=1)}"


def _bounds(defaults: DefaultBounds) -> Iterator[str]:
    """What one case may contribute where a definition names no bounds."""
    if defaults.durations is not None:
        yield f"durations {_range(defaults.durations, DURATIONS['hours'])} hours"
    if defaults.counts is not None:
        yield f"counts {_range(defaults.counts)}"
    yield from (f"{name} {_range(bounds)}" for name, bounds in defaults.attributes.items())


def _range(bounds: Bounds, unit: int = 1) -> str:
    return f"{float(bounds.low / unit):,.12g} to {float(bounds.high / unit):,.12g}"
