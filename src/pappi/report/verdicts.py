"""Verdicts and bands as they are shown: a mark, a word, and what both mean.

A target with a tolerated range makes three bands. Green is met, amber and red are missed.
A full mark is sure, an open one leaves something open: a circle whether the target is met,
a triangle only by how much it is missed. Shape and word say what colour says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from pappi.values.answers import Answer, Band, Series, ShownTarget, Verdict


class Mark(StrEnum):
    """How an answer stands to its target, best first."""

    MET = "met"
    GREEN = "green"
    UNDECIDED = "undecided"
    AMBER = "amber"
    AMBER_OR_RED = "amber or red"
    MISSED = "missed"
    RED = "red"


SYMBOLS: dict[Mark, str] = {
    Mark.MET: "●",
    Mark.GREEN: "●",
    Mark.UNDECIDED: "○",
    Mark.AMBER: "◆",
    Mark.AMBER_OR_RED: "▽",
    Mark.MISSED: "▼",
    Mark.RED: "▼",
}
COLOURS: dict[Mark, str] = {
    Mark.MET: "met",
    Mark.GREEN: "met",
    Mark.UNDECIDED: "undecided",
    Mark.AMBER: "amber",
    Mark.AMBER_OR_RED: "missed",
    Mark.MISSED: "missed",
    Mark.RED: "missed",
}
EXPLAINED: dict[Mark, str] = {
    Mark.MET: "the whole interval keeps the target",
    Mark.GREEN: "the whole interval keeps the target",
    Mark.UNDECIDED: "the interval lies on both sides: the noise does not let us say",
    Mark.AMBER: "the whole interval misses the target, and is still tolerated",
    Mark.AMBER_OR_RED: "the whole interval misses the target; whether that is still tolerated, "
    "the noise does not let us say",
    Mark.MISSED: "the whole interval misses the target",
    Mark.RED: "the whole interval lies beyond what is tolerated",
}
_OF_VERDICTS = (Mark.MET, Mark.MISSED, Mark.UNDECIDED)
_OF_BANDS = (Mark.GREEN, Mark.AMBER, Mark.RED, Mark.AMBER_OR_RED, Mark.UNDECIDED)


SMOOTHED = "≈"
"""Stands at every value that was smoothed, and at every verdict that rests on one."""


def mark_of(answer: Answer) -> Mark | None:
    shown = answer.best
    if not shown.bands:
        return None if shown.verdict is None else Mark(shown.verdict)
    if len(shown.bands) == 1:
        return Mark(shown.bands[0])
    return Mark.UNDECIDED if Band.GREEN in shown.bands else Mark.AMBER_OR_RED


def bands_text(bands: tuple[Band, ...]) -> str:
    """
    >>> bands_text((Band.GREEN,)), bands_text((Band.GREEN, Band.AMBER)), bands_text(tuple(Band))
    ('green', 'green or amber', 'green, amber or red')
    """
    return " or ".join(filter(None, [", ".join(bands[:-1]), *bands[-1:]]))


def judged_text(answer: Answer) -> str:
    """The mark and its word; of an undecided verdict, also how likely the target is met.

    "▼ missed", "○ undecided (met: 83 %)", "○ green or amber (met: 83 %)"; "≈▼ missed" if it
    rests on a smoothed value.
    """
    mark, shown = mark_of(answer), answer.best
    if mark is None:
        return "–"
    # All three are as good as none: the word is shorter.
    word = bands_text(shown.bands) if len(shown.bands) == 2 else mark
    known = shown.verdict is Verdict.UNDECIDED and shown.chance_met is not None
    # What is undecided is never sure, however it rounds.
    likely = min(max(shown.chance_met or 0.0, 0.01), 0.99)
    chance = f" (met: {100 * likely:.0f} %)" if known else ""
    return f"{SMOOTHED if answer.smoothed else ''}{SYMBOLS[mark]} {word}{chance}"


def judged_words(answer: Answer) -> str:
    """Without the mark, for sentences: "missed", "missed, amber"."""
    shown = answer.best
    words = (shown.verdict, bands_text(shown.bands))
    return ", ".join(word for word in words if word)


def tally(answers: Iterable[Answer]) -> dict[Mark, int]:
    """How often each mark was given; marks never given are left out."""
    given = [mark_of(answer) for answer in answers]
    return {mark: given.count(mark) for mark in Mark if mark in given}


def legend(answers: Iterable[Answer]) -> list[Mark]:
    """The marks a reader of these answers must know."""
    judged = [answer.best for answer in answers]
    kinds = {bool(shown.bands) for shown in judged if shown.verdict is not None}
    known = (_OF_VERDICTS if False in kinds else ()) + (_OF_BANDS if True in kinds else ())
    return [mark for mark in Mark if mark in known]


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
