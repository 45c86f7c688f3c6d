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

from pappi.values.periods import Period
from pappi.values.privacy import Adjacency, Epsilon, PrivacyUnit

REHEARSAL = "Rehearsal: all cases are made up, nothing was released"
"""Shown with every rehearsed answer."""


CONFIDENCE = 0.95
"""Confidence level of the intervals of answers."""


class Verdict(StrEnum):
    """Whether the target is met, judged by the whole interval and not by the noisy value alone."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Band(StrEnum):
    """The colours of a target with a tolerated range, best first."""

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
    """The share of cases that lie beyond the bounds and were clipped, with its interval.

    A case lies beyond if any of its values does; `measures` is how many bounded values a case
    has. A verdict is about the cases as they are: their mean or sum may lie up to `below` under
    and `above` over the interval of the answer, in its unit. `checkpoint.answers` says how far
    is assumed. A side that bounds cannot clip has 0.
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
    """The promise an answer was released under; `shared_by` is how many PPIs its draw answers."""

    epsilon: Epsilon
    unit: PrivacyUnit
    adjacency: Adjacency
    mechanism: str
    shared_by: int = 1


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """A target in the unit the answers are shown in; None is no limit on that side.

    Whether the limits themselves meet the target is in `text` for people, and in `low_included`
    and `high_included` for `judge`. `tolerated` is the range that is still amber, if any.
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


def bands_text(bands: tuple[Band, ...]) -> str:
    """
    >>> bands_text((Band.GREEN,)), bands_text((Band.GREEN, Band.AMBER)), bands_text(tuple(Band))
    ('green', 'green or amber', 'green, amber or red')
    """
    return " or ".join(filter(None, [", ".join(bands[:-1]), *bands[-1:]]))


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
    """The ends, and a value between every two: together they touch every band in the range."""
    yield from ends
    for low, high in pairwise(ends):
        if low < high:
            yield _between(low, high)


def _between(low: Number, high: Number) -> Fraction:
    if low == -math.inf:
        return Fraction(0) if high == math.inf else Fraction(high) - 1
    return Fraction(low) + 1 if high == math.inf else (Fraction(low) + Fraction(high)) / 2


# --- comparisons ------------------------------------------------------------------------------


class By(StrEnum):
    """How two figures are compared: first − second, that in percent of the second, or their ratio.

    DIFFERENCE  in the unit of the figures; of shares in percentage points.
    PERCENT     of the second.
    RATIO       the first in units of the second: 1 is no difference.
    """

    DIFFERENCE = "difference"
    PERCENT = "percent"
    RATIO = "ratio"


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure that is compared: of one period and group, with its own interval."""

    period: Period
    group: str | None
    value: float | None
    unit: str
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an answer compares, where it is no figure of its own: the first with the second.

    It is `more_than_noise` if the interval of the answer leaves out that they are the same.
    """

    by: By
    first: Compared
    second: Compared
    more_than_noise: bool

    @property
    def same(self) -> float:
        """What the value would be if both were the same."""
        return 1.0 if self.by is By.RATIO else 0.0


# --- answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """A non-private value. For the owner's eyes only.

    `clipped` is the value of the same cases, each clipped to its public bounds: `cases` have a
    value, and `beyond` of them lie outside. Without public bounds, `clipped` and `beyond` are
    None. For a formula, `beyond` is that of the variable with the most cases outside.
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
    """Two released sums, in units of their Laplace noise scale: of a part, and of the rest.

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
        ends = (self.low, self.high)
        low, high = (None if end is None else (end - origin) / step for end in ends)
        return LaplaceLikelihood((self.at - origin) / step, self.scale / step, low, high)


@dataclass(frozen=True, slots=True)
class RankLikelihood:
    """A lattice point drawn by rank, for the largest value of all cases or the smallest.

    Its output distribution depends on every case. Public are the point, the lattice's step and
    the range.
    """

    at: float
    step: float = 0.0
    smallest: bool = False
    low: float = 0.0
    high: float = 1.0

    def rescaled(self, origin: float, step: float) -> RankLikelihood:
        """The same about (answer − origin)/step."""
        at, low, high = ((point - origin) / step for point in (self.at, self.low, self.high))
        return RankLikelihood(at, self.step / step, self.smallest, low, high)


Likelihood = TwoBinLikelihood | LaplaceLikelihood | RankLikelihood
"""How likely the released numbers are, for each possible answer: see `pappi.series`.

A mechanism gives it in internal units, and an answer has it in its own unit.
"""


@dataclass(frozen=True, slots=True)
class Smoothed:
    """What all periods of a series together say about one of them: an estimate, not a release.

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
    """A release that an answer is derived from, by its number among past releases.

    Releases about the same cases share a weight of 1, and so do those that only count them.
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
    """The value that `percent` percent of the cases do not exceed."""

    percent: int
    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the values of cases are distributed, all read off one draw.

    The interval of the mean holds wherever in their bins the cases lie. `binning_error` is how far
    off the mean may be because the bins hide that.
    """

    bins: tuple[Bin, ...]
    percentiles: tuple[Percentile, ...]
    mean: float
    mean_interval: Interval
    binning_error: float

    def percentile(self, percent: int) -> Percentile | None:
        return next(
            (candidate for candidate in self.percentiles if candidate.percent == percent), None
        )


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
    is set if smoothing was asked for and possible; all other fields stay those of the release.

    One draw may answer several PPIs: `simultaneous` is an interval that holds together with those
    of all the others, with the same confidence; of derived answers, with all others of the request.

    Value, interval and `probability_met` are about cases as the bounds clip them. `beyond` says how
    many were cut, where that was counted; a verdict that they could turn is undecided, and
    `clipping_decides`. Where nothing counts them and there is a target, `hidden` says whether cases
    as they are may lie below the interval, and above.

    An answer that is `derived_from` releases on record was not drawn and cost nothing: it is a
    function of what they released. The ε of its guarantee is the sum of theirs in one block.

    Where a `distribution` was asked for, the value is its median.

    What a view shows is a function of figures on record: a `comparison` of two of them, or all the
    days that it is `over`, of which its period is the last.
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
    comparison: Comparison | None = None
    over: Period | None = None
    hidden: tuple[bool, bool] = field(default=(False, False), compare=False)

    @property
    def best(self) -> Answer | Smoothed:
        """What is shown and judged: the smoothed value where there is one."""
        return self.smoothed or self

    def as_they_are(self, low: float, high: float) -> tuple[float, float]:
        """An interval of clipped cases as one of the cases as they are."""
        if self.beyond is not None:
            return self.beyond.widened(low, high)
        below, above = self.hidden
        return (-math.inf if below else low), (math.inf if above else high)


@dataclass(frozen=True, slots=True)
class Series:
    """All answers of one PPI, ready to be shown: one line of periods (per group).

    Values are of clipped cases: `clipping` says what the bounds did, `covers` names what the
    intervals cover ("the mean of values cut at 60 days"), and `beyond` is how many cases were
    clipped, in all periods and groups together.
    `caution` says how the mechanism's answer differs from what was asked.
    `group_targets` override `target` in their groups. `smoothing` says what smoothing did, if
    it was asked for. `rehearsed` answers are about made-up cases, and never a release. `view` says
    what is shown of the figures, if not the figures themselves: "change from the previous
    period".
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
    view: str = ""

    @property
    def warning(self) -> str:
        """What must be shown first; empty for a release."""
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
"""Confidence levels at which a quote says how far off the value may be."""


@dataclass(frozen=True, slots=True)
class ErrorQuantile:
    """The noise keeps the value within ±`within`, in the PPI's unit, with that confidence.

    This holds wherever the values lie, unless the quote says what it `assumes`.
    """

    confidence: float
    within: float


@dataclass(frozen=True, slots=True)
class QuotedSet:
    """One way to release a PPI: the functions that carry the noise, each with its share of ε.

    `mechanisms` are theirs in the same order, and `mechanism` names them in one text. `margin` is
    at 95 %, where one can be promised.
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
"""A query is said to decide if its verdict is firm with at least this probability."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something to ask instead: what is changed, in words and as the definitions to use.

    Planned, not guessed: with `epsilon` in each block it has this margin at 95 %, in its own unit,
    and this chance to decide; None without a margin, or without a target. `interval_half_width` is
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
    """How many cells of a PPI follow from the record at no cost, and with what margin.

    `releases` are the numbers of the past releases they are derived from. If `taken`, a release
    uses them unless it is told to draw; otherwise only if it is told to derive.
    """

    cells: int
    margin: float | None
    releases: tuple[int, ...]
    taken: bool


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of one PPI.

    Errors are in the PPI's unit, predicted for the assumed number of cases in a period and group
    (`cases_note` says why that many); None is no useful prediction. `typical_error` is the root
    mean square. The noise keeps the value within `margin` with 95 % confidence, wherever the values
    lie in their bounds; `quantiles` say the same for other confidences. For a verdict alone, they
    say how far from its target a value must lie to be told apart. `fewer` says what fewer cases
    would change. `interval_half_width` is what to expect: the typical half-width of the
    answer's interval if values lie mostly low in their bounds, and `usual_half_widths` are those
    between which nine of ten releases are; None for ratios and formulas.

    Where nothing public bounds the error, there is no margin, and `margin_note` says why. The
    quantiles then hold only under what the quote `assumes` about the values; if that is empty
    as well, there are none.

    `new_charges` counts the cells that are neither released nor derived yet, each of which costs
    `epsilon`; `derivable` says which follow from the record, and if all do, the errors are those
    of what is derived. `with_record` is the half-width at
    95 % of the release read together with what is on record, where that is less. `clipping` says
    what is known about the clipping error, which is not in the errors above. `untold` is what
    the interval's half-width would be without counting the clipped cases as well, and None where
    they are not counted.

    `part_of_range` is the half-width at 95 % as a part of the output range, and `chance_to_decide`
    how likely its verdict is to be firm, averaged over where the value may lie.
    A query that `tells_nothing` is released only if it is asked for anyway; `advice` says why, and
    `alternatives` are what to ask instead, the cheapest first. `epsilon_note` says why it has this
    ε, where nobody asked for one.

    Where one draw answers several PPIs, `together` lists them, and `epsilon` is that of the draw,
    which they share. `each` is the ε this PPI would have if each were released by itself (under a
    `total` for the whole catalogue an equal part of that), and `apart` its margin then.
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
    usual_half_widths: tuple[float, float] | None = None
    each: Epsilon | None = None
    untold: float | None = None
    part_of_range: float | None = None
    chance_to_decide: float | None = None
    tells_nothing: bool = False
    alternatives: tuple[Alternative, ...] = ()
    epsilon_note: str = ""
    derivable: Derivable | None = None
    with_record: float | None = None

    @property
    def is_derived(self) -> bool:
        """Whether nothing is drawn for it, as all of it follows from the record."""
        return self.derivable is not None and self.derivable.taken and not self.new_charges

    @property
    def own_epsilon(self) -> Epsilon:
        """The ε the PPI has to name for the same query to be made again."""
        return self.each or self.epsilon

    @property
    def margin(self) -> float | None:
        """What is promised at 95 %."""
        return None if self.assumes else self.half_width

    @property
    def half_width(self) -> float | None:
        """The margin, or what it would be if what the quote assumes holds."""
        return self.within(MARGIN_CONFIDENCE)

    def within(self, confidence: float) -> float | None:
        """The half-width at one of the confidences of the quote."""
        half_widths = {quantile.confidence: quantile.within for quantile in self.quantiles}
        return half_widths.get(confidence)
