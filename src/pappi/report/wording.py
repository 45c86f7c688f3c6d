"""Guarantees and figures in the words that page, chart and terminal share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, exp

from pappi.report.numbers import format_interval, format_value, known_interval
from pappi.report.verdicts import judged_words, tally, target_lines
from pappi.values.answers import Answer, Series
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import CASE, UNDER_REPLACE, Adjacency, Per, PrivacyUnit

_COMPARED = {
    Adjacency.ADD_REMOVE: (
        "It compares any two logs that differ by one case more or less, "
        "so how many cases there were is protected, too."
    ),
    Adjacency.REPLACE: (
        f"It compares any two logs in which the content of one case differs. {UNDER_REPLACE}"
    ),
}
# Beyond this factor a comparison no longer tells a reader anything.
_HOPELESS = 13.0


def times(epsilon: Epsilon) -> str:
    """e to the ε, rounded up, so that the sentence it stands in is true.

    >>> times(Epsilon.of("0.1")), times(Epsilon.of(3))
    ('1.11 times', '20.1 times')
    """
    if float(epsilon) > _HOPELESS:
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
        f"Whatever {_their_cases(unit)}{_in_block(unit)} contain, {_counted(unit)}, no published "
        f"figure becomes more than {factor} them (ε = {epsilon}).{_adds_up(unit)}"
    )


def promise_together(spent: Epsilon, unit: PrivacyUnit = CASE) -> str:
    """The guarantee of everything released; `spent` is what the most charged block has spent.

    A case lies in one block. The cases of a person that count in a whole log may lie in
    several, but each is charged its share of ε in its own, so they never exceed the largest.
    """
    factor = f"taken together, become at most {times(spent)} likelier because of"
    if unit.column is None:
        return f"All figures ever published about the same block, {factor} one case (ε = {spent})."
    about, there = ("this log", "") if unit.per is Per.LOG else ("the same block", " in it")
    return (
        f"All figures ever published about {about}, {factor} {_their_cases(unit)}{there}, "
        f"{_counted(unit)} (ε = {spent}).{_adds_up(unit)}"
    )


def compared(adjacencies: Iterable[Adjacency], unit: PrivacyUnit = CASE) -> str:
    if unit.column is not None:
        return (
            f"It compares any two logs of which one lacks {_their_cases(unit)}{_in_block(unit)}, "
            "so how many cases there were, and of whom, is protected, too."
        )
    present = set(adjacencies)
    return " ".join(text for adjacency, text in _COMPARED.items() if adjacency in present)


def _their_cases(unit: PrivacyUnit) -> str:
    return f"the cases of one '{unit.column}'"


def _in_block(unit: PrivacyUnit) -> str:
    return "" if unit.per is Per.LOG else " in any one block"


def _counted(unit: PrivacyUnit) -> str:
    alone = unit.max_cases == 1
    return f"of whom at most {'1 case counts' if alone else f'{unit.max_cases} cases count'}"


def _adds_up(unit: PrivacyUnit) -> str:
    """A guarantee per person and block must not be taken for one per person."""
    if unit.per is Per.LOG:
        return ""
    return (
        f" This holds per '{unit.column}' and block: what different blocks tell about the same "
        f"'{unit.column}' adds up."
    )


def _protected(unit: PrivacyUnit) -> str:
    if unit.column is None:
        return "each case"
    where = "" if unit.per is Per.LOG else " in each block"
    return f"each '{unit.column}'{where}, {_counted(unit)}"


def guarantee_line(answers: Sequence[Answer]) -> str:
    """One line: how much, by which mechanism, against which neighbour."""
    if not answers:
        return "no answers"
    guarantees = [answer.guarantee for answer in answers]
    parts = [
        f"ε = {_range(sorted({guarantee.epsilon for guarantee in guarantees}))} per figure",
        ", ".join(sorted({guarantee.mechanism for guarantee in guarantees})),
        ", ".join(sorted({guarantee.adjacency.value for guarantee in guarantees})),
        f"protects {_protected(guarantees[0].unit)}",
        f"{confidence_text(answers)} intervals",
    ]
    return " · ".join(parts)


def _range(epsilons: Sequence[Epsilon]) -> str:
    low, high = epsilons[0], epsilons[-1]
    return str(low) if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """
    >>> percent(0.95), percent(0.0034), percent(0.00001), percent(25.0)
    ('95 %', '0.3 %', 'less than 0.1 %', '2,500 %')

    Whether something fits is not rounded away.

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
    shown = answer.best
    known = known_interval(answer) if answer.smoothed is None else shown.interval
    value = format_value(shown.value, known, answer.unit)
    interval = format_interval(shown.value, known, answer.unit)
    smoothed = "smoothed " if answer.smoothed else ""
    figure = f"{answer.period.label}: {smoothed}{value} ({interval})"
    return ", ".join(filter(None, (figure, judged_words(answer))))


def raw_text(answer: Answer) -> str:
    """The released value of an answer that is shown smoothed."""
    known = known_interval(answer)
    value = format_value(answer.value, known, answer.unit)
    interval = format_interval(answer.value, known, answer.unit)
    return f"{answer.period.label}: released as {value} ({interval})"


def series_text(series: Series) -> str:
    """What a chart shows, for those who hear it: extent, latest figure and verdicts."""
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
            f"Latest: {answer_text(ordered[-1])}.",
        )
        if part
    )
