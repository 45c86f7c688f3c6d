"""What an analyst is given: a quote before anything is spent, and then the answers.

An answer is a value with its uncertainty and its guarantee. Everything here has already been
released, or is a public fact; it may be shown, stored and drawn without further cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from pappi.values.epsilon import Epsilon
from pappi.values.periods import Period
from pappi.values.privacy import Adjacency, PrivacyUnit

REHEARSAL = "Rehearsal: all cases are made up, nothing was released"
"""What stands wherever rehearsed answers are shown."""


CONFIDENCE = 0.95
"""Of the intervals of answers."""


class Verdict(StrEnum):
    """The target, judged by the whole interval and not by the noisy value alone."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Band(StrEnum):
    """The colours of a target that says what is still tolerated, best first."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the noise-free value lies with the given confidence; None is no limit."""

    low: float | None
    high: float | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Beyond:
    """How many cases lie beyond the bounds and were cut off, as a share of all, with its interval.

    A case lies beyond if one of its values does, of so many `measures` whose bounds count. A
    verdict is about cases as they are, whose mean or sum may lie by `below` and `above` beyond
    the interval of the answer, in its unit: `checkpoint.clipping` says how far is assumed. A side
    that bounds cannot cut has 0.
    """

    share: float
    interval: Interval
    measures: int = 1
    below: float = 0.0
    above: float = 0.0

    def widened(self, low: float, high: float) -> tuple[float, float]:
        """An interval of clipped cases as one of the cases as they are."""
        return low - self.below, high + self.above


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise an answer was released under; `shared_by` so many PPIs that one draw answers."""

    epsilon: Epsilon
    unit: PrivacyUnit
    adjacency: Adjacency
    mechanism: str
    shared_by: int = 1


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """A target in the unit the answers are shown in; None is no limit on that side.

    `text` says whether the limits themselves are good enough, for readers and for comparisons;
    `low_included` and `high_included` say it for `judge`. `tolerated` is the range that is still
    amber, if there is one.
    """

    low: float | None
    high: float | None
    text: str
    tolerated: ShownTarget | None = None
    low_included: bool = field(default=True, compare=False)
    high_included: bool = field(default=True, compare=False)


# --- the one way to judge ---------------------------------------------------------------------

Number = float | Fraction


class TargetRange(Protocol):
    """A range the value should lie in: of a definition, or as it is shown."""

    @property
    def low(self) -> Number | None: ...

    @property
    def high(self) -> Number | None: ...

    @property
    def low_included(self) -> bool: ...

    @property
    def high_included(self) -> bool: ...


def judge(target: TargetRange, low: Number, high: Number) -> Verdict:
    """The verdict on a value that lies between `low` and `high`, both included.

    >>> week = ShownTarget(None, 7.0, "below 7 days", high_included=False)
    >>> [str(judge(week, *interval)) for interval in ((5.0, 6.9), (5.0, 7.0), (7.0, 8.0))]
    ['met', 'undecided', 'missed']
    """
    if math.isnan(low) or math.isnan(high):
        return Verdict.UNDECIDED
    if _reaches(target, low) and _stays_below(target, high):
        return Verdict.MET
    apart = not _reaches(target, high) or not _stays_below(target, low)
    return Verdict.MISSED if apart else Verdict.UNDECIDED


def bands_between(
    target: TargetRange, tolerated: TargetRange, low: Number, high: Number
) -> tuple[Band, ...]:
    """The bands a value between `low` and `high`, both included, may lie in, best first.

    >>> week, ten = ShownTarget(None, 7.0, "at most 7"), ShownTarget(None, 10.0, "at most 10")
    >>> [str(band) for band in bands_between(week, ten, 6.0, 8.0)]
    ['green', 'amber']
    """
    if math.isnan(low) or math.isnan(high):
        return tuple(Band)
    limits = (target.low, target.high, tolerated.low, tolerated.high)
    inside = sorted({limit for limit in limits if limit is not None and low < limit < high})
    touched = {_band(target, tolerated, value) for value in _samples([low, *inside, high])}
    return tuple(band for band in Band if band in touched)


def _band(target: TargetRange, tolerated: TargetRange, value: Number) -> Band:
    if _holds(target, value):
        return Band.GREEN
    return Band.AMBER if _holds(tolerated, value) else Band.RED


def _holds(target: TargetRange, value: Number) -> bool:
    return _reaches(target, value) and _stays_below(target, value)


def _reaches(target: TargetRange, value: Number) -> bool:
    if target.low is None:
        return True
    return value >= target.low if target.low_included else value > target.low


def _stays_below(target: TargetRange, value: Number) -> bool:
    if target.high is None:
        return True
    return value <= target.high if target.high_included else value < target.high


def _samples(ends: list[Number]) -> Iterator[Number]:
    """Values that see all there is between the first and the last: the ends, and in between."""
    yield from ends
    for low, high in pairwise(ends):
        if low < high:
            yield _between(low, high)


def _between(low: Number, high: Number) -> Fraction:
    if low == -math.inf:
        return Fraction(0) if high == math.inf else Fraction(high) - 1
    return Fraction(low) + 1 if high == math.inf else (Fraction(low) + Fraction(high)) / 2


# --- answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """A non-private value. For the owner's eyes only.

    `clipped` is the value of the same cases, each cut to the public bounds of what it may
    contribute: `cases` have a value, and `beyond` of them lie outside. Without public bounds both
    are None. Of a formula, the variable with the most cases beyond tells.
    """

    ppi: str
    period: Period
    group: str | None
    value: float | None
    unit: str
    clipped: float | None = None
    cases: int = 0
    beyond: int | None = None


# --- what a release says about its answer -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class TwoBinLikelihood:
    """Two released sums in units of their Laplace noise's scale: of a part, and of the rest.

    Without noise they would be n·p and n·(1 − p), for an answer that lies the share p of the
    way from `low` to `high`, and an unknown number n ≥ 0.
    """

    first: float
    second: float
    low: float = 0.0
    high: float = 1.0

    def rescaled(self, origin: float, step: float) -> TwoBinLikelihood:
        """The same about (answer − origin)/step."""
        low, high = (self.low - origin) / step, (self.high - origin) / step
        return TwoBinLikelihood(self.first, self.second, low, high)


@dataclass(frozen=True, slots=True)
class LaplaceLikelihood:
    """The answer itself with Laplace noise; None is no limit of its range."""

    at: float
    scale: float
    low: float | None = 0.0
    high: float | None = 1.0

    def rescaled(self, origin: float, step: float) -> LaplaceLikelihood:
        """The same about (answer − origin)/step."""
        low, high = (None if e is None else (e - origin) / step for e in (self.low, self.high))
        return LaplaceLikelihood((self.at - origin) / step, self.scale / step, low, high)


@dataclass(frozen=True, slots=True)
class RankLikelihood:
    """A point of a lattice, drawn by rank: to be the largest value of all cases, or the smallest.

    Its law depends on every case. Known are the point, the lattice's step and the range.
    """

    at: float
    step: float = 0.0
    smallest: bool = False
    low: float = 0.0
    high: float = 1.0

    def rescaled(self, origin: float, step: float) -> RankLikelihood:
        """The same about (answer − origin)/step."""
        at, low, high = ((each - origin) / step for each in (self.at, self.low, self.high))
        return RankLikelihood(at, self.step / step, self.smallest, low, high)


Likelihood = TwoBinLikelihood | LaplaceLikelihood | RankLikelihood
"""How likely the released numbers are, for each possible answer: see `pappi.series`.

A mechanism gives it in internal units, and an answer has it in its own unit.
"""


@dataclass(frozen=True, slots=True)
class Smoothed:
    """What all periods of a series together say about one of them: a belief, not a release.

    The interval holds for all periods of the series at once, with its confidence.
    """

    value: float
    interval: Interval
    verdict: Verdict | None
    probability_met: float | None
    bands: tuple[Band, ...] = ()
    clipping_decides: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A release that an answer is derived from: its number among past releases, and what it told.

    Two about the same cases weigh 1 together.
    """

    number: int
    ppi: str
    period: Period
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Bin:
    """The cases above `low` and up to `high`, as released: a noisy number, with its interval.

    `share_within` is the share of all cases that are at most `high`. Its interval is there if the
    limit was asked for by name.
    """

    low: float
    high: float
    cases: float
    interval: Interval
    share_within: float
    share_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Percentile:
    """The value that so many percent of the cases do not exceed."""

    percent: int
    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the values of cases are distributed: all of it is read off one draw.

    The interval of the mean holds wherever in their bins the cases lie; by `binning_error` the mean
    itself may be off for that reason alone.
    """

    bins: tuple[Bin, ...]
    percentiles: tuple[Percentile, ...]
    mean: float
    mean_interval: Interval
    binning_error: float

    def percentile(self, percent: int) -> Percentile | None:
        return next((each for each in self.percentiles if each.percent == percent), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """A released value; None where a formula has none, as in a noisy division by zero.

    The value is also None where only a verdict was asked for. `probability_met` says how
    sure one may be that the target is met, a confidence (`Smoothed` has a posterior
    probability), `ceiling` where values were cut off, in the unit of
    the answer, if that was chosen privately. `bands` are the colours the interval touches,
    best first: one alone is sure, several say what the noise leaves open. There are none
    without a tolerated range.

    `possible` is where the value can lie at all, by public facts: an interval that reaches so far
    says nothing. `cases_margin` is the margin of the number of cases at 95 %, and 0 where that is
    public. A period that is `perhaps_empty`, by what was released, has no firm verdict.

    `likelihood` is what the release says about the answer, where its mechanism knows. `smoothed`
    is there if smoothing was asked for and possible; all other fields stay those of the release.

    One draw may answer several PPIs: `simultaneous` is an interval that holds together with those
    of all the others, with the same confidence.

    Value, interval and `probability_met` are about cases as the bounds clip them. `beyond` says how
    many were cut, where that was counted; a verdict that they could turn is undecided, and
    `clipping_decides`.

    An answer that is `derived_from` releases on record was not drawn, and cost nothing: it is a
    function of what they told. The ε of its guarantee is what they had together in one block.

    Where a `distribution` was asked for, the value is its median.
    """

    ppi: str
    period: Period
    group: str | None
    value: float | None
    unit: str
    interval: Interval
    cases: float | None
    verdict: Verdict | None
    guarantee: Guarantee
    charged: Epsilon
    replayed: bool
    probability_met: float | None = None
    ceiling: float | None = None
    bands: tuple[Band, ...] = ()
    likelihood: Likelihood | None = None
    smoothed: Smoothed | None = None
    simultaneous: Interval | None = None
    possible: Interval | None = None
    cases_margin: float | None = None
    perhaps_empty: bool = False
    beyond: Beyond | None = None
    clipping_decides: bool = False
    derived_from: tuple[Source, ...] = ()
    distribution: Distribution | None = None

    @property
    def best(self) -> Answer | Smoothed:
        """What is shown and judged: the smoothed value where there is one."""
        return self.smoothed or self


@dataclass(frozen=True, slots=True)
class Series:
    """All answers of one PPI, ready to be shown: one line of periods (per group).

    `clipping` says what the bounds did to the cases: values are of the clipped cases. `covers`
    names what the intervals hold: "the mean of values cut at 60 days". `beyond` is how many cases
    were cut, in all periods and groups together.
    `caution` says where the mechanism answers something near to what was asked.
    `group_targets` go before `target` in their groups. `smoothing` says what smoothing did, if
    it was asked for. `rehearsed` answers are about made-up cases: never a release.
    """

    ppi: str
    name: str
    unit: str
    sentence: str
    target: ShownTarget | None
    answers: tuple[Answer, ...]
    clipping: str = ""
    caution: str = ""
    group_targets: tuple[tuple[str, ShownTarget], ...] = ()
    smoothing: str = ""
    rehearsed: bool = False
    covers: str = ""
    beyond: Beyond | None = None

    @property
    def warning(self) -> str:
        """What must be seen before anything else; nothing, for what was released."""
        return REHEARSAL if self.rehearsed else ""

    @property
    def title(self) -> str:
        return f"Rehearsal: {self.name}" if self.rehearsed else self.name

    def target_of(self, group: str | None) -> ShownTarget | None:
        if group is None:
            return self.target
        return dict(self.group_targets).get(group, self.target)

    @property
    def targets(self) -> tuple[ShownTarget, ...]:
        """Every target, the common one first."""
        common = () if self.target is None else (self.target,)
        return common + tuple(target for _, target in self.group_targets)


# --- quotes ---------------------------------------------------------------------------


MARGIN_CONFIDENCE = 0.95
"""Default confidence level of a margin."""

CONFIDENCES = (0.5, 0.8, 0.9, MARGIN_CONFIDENCE, 0.99)
"""At which a quote says how far off the value may be."""


@dataclass(frozen=True, slots=True)
class ErrorQuantile:
    """The noise keeps the value within ±`within`, in the PPI's unit, with that confidence.

    Wherever the values lie, unless the quote says what it `assumes`.
    """

    confidence: float
    within: float


@dataclass(frozen=True, slots=True)
class QuotedSet:
    """One way to release a PPI: the functions that carry the noise, each with its share of ε.

    `mechanisms` are theirs in the same order, and `mechanism` tells them in one text. With its
    predicted error, and its margin at 95 % where one can be promised.
    """

    functions: tuple[str, ...]
    mechanism: str | None
    typical_error: float | None
    reason: str = ""
    shares: tuple[float, ...] = ()
    chosen: bool = False
    margin: float | None = None
    mechanisms: tuple[str, ...] = ()


ENOUGH_CHANCE = 0.8
"""A query decides if its verdict is at least as likely to be firm."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something to ask instead: what is changed, in words and as the definitions to use.

    Planned, not guessed: at this ε in each block it has this margin at 95 %, in its own unit, and
    decides with this chance; None without a margin, or without a target. `interval_half_width` is
    as in a quote.
    """

    change: str
    yaml: str
    epsilon: Epsilon
    unit: str
    margin: float | None = None
    chance_to_decide: float | None = None
    interval_half_width: float | None = None


@dataclass(frozen=True, slots=True)
class Derivable:
    """What of a PPI follows from the record, at no cost: so many of its cells, within this margin.

    `releases` are the numbers of what it is derived from. It is `taken` unless a release is to be
    drawn anew, or else only if what is derived is asked for.
    """

    cells: int
    margin: float | None
    releases: tuple[int, ...]
    taken: bool


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of one PPI.

    Errors are in the PPI's unit, predicted for the assumed number of cases in a period and group
    (`cases_note` says why so many); None is no useful prediction. `typical_error` is the root mean
    square. `margin` says within what the noise keeps the value with 95 % confidence, wherever the
    values lie in their bounds, and `quantiles` the same for other confidences. Of a verdict alone,
    they say how far from its target a value must lie to be told apart. `fewer` says what fewer
    cases would change. `interval_half_width` is what to expect: half of what the interval of the
    answer will typically be wide, where values lie mostly low in their bounds; None of ratios and
    formulas.

    Where nothing known beforehand bounds the error, there is no margin, and `margin_note` says
    why. The quantiles then hold only under what the quote `assumes` of the values; if that is
    empty as well, no law tells.

    `new_charges` counts the cells that have not been released before, and are not derived either,
    each of which costs `epsilon`; `derivable` says which follow from the record. `clipping` says
    what is known of the error that bounds make, which is not in the errors above; `untold` what the
    interval's half-width would be if the cases that bounds cut were not counted along with it, None
    where they are not.

    `part_of_range` is the half-width at 95 % in parts of all that the value can be, and
    `chance_to_decide` how likely its verdict is to be firm, averaged over where the value may lie.
    One that `tells_nothing` is released only if that is asked for anyway; `advice` says why, and
    `alternatives` are what to ask instead, the cheapest first. `epsilon_note` says why it has this
    ε, where nobody asked for one.

    Where one draw answers several PPIs, `together` are all of them; `epsilon` is then that of the
    draw, which they pay together. `each` is the ε it would have if each PPI were released by
    itself (under a `total` for the whole catalogue an equal part of that), and `apart` the margin
    it would have then.
    """

    ppi: str
    name: str
    unit: str
    epsilon: Epsilon
    functions: tuple[str, ...]
    mechanism: str
    typical_error: float | None
    assumed_cases: int
    charges: int
    new_charges: int
    options: tuple[QuotedSet, ...]
    shares: tuple[float, ...] = ()
    clipping: str = ""
    advice: str = ""
    quantiles: tuple[ErrorQuantile, ...] = ()
    margin_note: str = ""
    assumes: str = ""
    fewer: str = ""
    target: ShownTarget | None = None
    verdict_only: bool = False
    mechanisms: tuple[str, ...] = ()
    total: Epsilon | None = None
    together: tuple[str, ...] = ()
    apart: float | None = None
    cases_note: str = ""
    interval_half_width: float | None = None
    each: Epsilon | None = None
    untold: float | None = None
    part_of_range: float | None = None
    chance_to_decide: float | None = None
    tells_nothing: bool = False
    alternatives: tuple[Alternative, ...] = ()
    epsilon_note: str = ""
    derivable: Derivable | None = None

    @property
    def own_epsilon(self) -> Epsilon:
        """What the PPI is to name as its ε, to be asked at the same again."""
        return self.each or self.epsilon

    @property
    def margin(self) -> float | None:
        """What is promised at 95 %."""
        return None if self.assumes else self.half_width

    @property
    def half_width(self) -> float | None:
        """The margin; or else what would be one, if what the quote assumes were so."""
        return self.within(MARGIN_CONFIDENCE)

    def within(self, confidence: float) -> float | None:
        """The half-width at one of the confidences of the quote."""
        known = {quantile.confidence: quantile.within for quantile in self.quantiles}
        return known.get(confidence)
