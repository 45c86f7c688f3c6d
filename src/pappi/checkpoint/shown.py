"""What a PPI shows of the figures of its base query: changes, rolling windows, groups compared.

All of it is a function of released integers and public facts: nothing is charged, no case is read,
and a replay is equal to the last digit. Two figures that are compared, and all that are added up,
are of disjoint periods or of two groups: each has noise of its own (`mechanisms.combined`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pappi.checkpoint.answers import (
    FEW_PARTS,
    Told,
    answer_of,
    bands_of,
    by_path,
    chance_by_intervals,
    series_with,
    value_of,
)
from pappi.checkpoint.queries import Figure
from pappi.errors import UsageError
from pappi.ledger import KeyState
from pappi.mechanisms import (
    Combined,
    ReadOffBins,
    Uncertain,
    difference,
    difference_of_sums,
    ratio,
)
from pappi.planning import (
    Aim,
    Plan,
    added_plan,
    interval_of,
    open_interval_of,
    refuse_ratio,
    target_in,
    windows_of,
    within_range,
)
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Between,
    Change,
    Comparing,
    Ppi,
    compared_pairs,
)
from pappi.store import LogDeclaration
from pappi.values import (
    CONFIDENCE,
    ZERO,
    Answer,
    Band,
    Beyond,
    By,
    Compared,
    Comparison,
    Epsilon,
    Interval,
    Period,
    Series,
    Source,
    Unit,
    Verdict,
    did_you_mean,
    judge,
    listed,
    quoted,
)


def shown_answers(
    ppi: Ppi, told: Sequence[Told], periods: Sequence[Period], log: LogDeclaration
) -> list[Answer]:
    """What the view of a base query shows; `periods` are all that its scope has."""
    written, view = ppi.written or ppi, ppi.view
    if not isinstance(view, Comparing):
        return list(_added(ppi, written, told, periods, log))
    known = {(one.figure.period, one.figure.group): one for one in told}
    grouped = isinstance(view, Change)
    return [
        compared(known[first], known[second], view.by, written, log, grouped=grouped)
        for first, second in compared_pairs(view, known, ppi.scope.grid)
    ]


# --- several periods as one -----------------------------------------------------------------------


def _added(
    ppi: Ppi, written: Ppi, told: Sequence[Told], periods: Sequence[Period], log: LogDeclaration
) -> Iterator[Answer]:
    known = {(one.figure.period, one.figure.group): one for one in told}
    windows = windows_of(ppi, periods)
    for last in told:
        window = windows.get(last.figure.period, [])
        own = [known.get((period, last.figure.group)) for period in window]
        whole = [one for one in own if one is not None]
        if not whole or len(whole) < len(own):
            continue
        figures = [one.figure for one in whole]
        added = added_plan([each.plan for each in figures], [each.noisy for each in figures])
        if added is None:
            continue
        plan, noisy = added
        aimed = replace(
            plan.ppi,
            target=written.target,
            tolerated=written.tolerated,
            group_targets=written.group_targets,
        )
        answer = answer_of(
            replace(plan, ppi=aimed),
            log,
            last.figure.period,
            last.figure.group,
            noisy,
            KeyState.RELEASED,
            last.pool,
            _sources(whole),
        )
        yield replace(
            answer,
            charged=_charged(whole),
            replayed=all(one.answer.replayed for one in whole),
            likelihood=None,  # neighbours share most of their cases
            simultaneous=None,
            over=Period(figures[0].period.start, figures[-1].period.end),
        )


def _charged(told: Iterable[Told]) -> Epsilon:
    """For the figure that cost most."""
    return max(one.answer.charged for one in told)


def _sources(told: Sequence[Told]) -> tuple[Source, ...]:
    """None where a figure was paid for just now: that is not derived, and was not free."""
    if _charged(told) > ZERO:
        return ()
    sources = (source for one in told for source in one.answer.derived_from)
    return tuple(dict.fromkeys(sources))


# --- two figures compared -------------------------------------------------------------------------


def compared(
    first: Told, second: Told, by: By, ppi: Ppi, log: LogDeclaration | None, *, grouped: bool
) -> Answer:
    """One figure compared with another, judged by the PPI's target.

    `grouped` if both are of one group, which the answer is about then. The log tells what bounds
    may cut; where there is no target, it is not needed.
    """
    pair = _Pair(first.figure, second.figure, by)
    unit, one, two = pair.first.plan.ppi.unit_by(by), first.answer, second.answer
    low, high = pair.interval(CONFIDENCE)
    perhaps_empty = one.perhaps_empty or two.perhaps_empty
    aim = target_in(ppi, one.group if grouped else None)
    noise_only = first.figure.plan.covers_noise_only or second.figure.plan.covers_noise_only
    clipped = verdict = None
    if aim is not None:
        clipped = Verdict.UNDECIDED if noise_only else judge(aim.target, low, high)
        verdict = clipped
    ends = low, high
    if one.beyond is not None or two.beyond is not None:
        ends = pair.interval(CONFIDENCE, _cut(one), _cut(two))
    if aim is not None and log is not None:
        ends = pair.opened(ends, log)
        if clipped is not Verdict.UNDECIDED:
            verdict = judge(aim.target, *ends)
    bands = bands_of(aim, verdict, *ends, noise_only=noise_only)
    if verdict is not None and perhaps_empty:
        verdict, bands = Verdict.UNDECIDED, bands and tuple(Band)
    same = 1.0 if by is By.RATIO else 0.0
    shown = _Shown(unit)
    guarantee = max((one.guarantee, two.guarantee), key=lambda each: each.epsilon.nano)
    return Answer(
        ppi=one.ppi,
        period=one.period,
        group=one.group if grouped else None,
        value=shown(pair.value),
        unit=unit.name,
        interval=Interval(shown(low), shown(high), CONFIDENCE),
        cases=None,
        verdict=verdict,
        guarantee=guarantee,
        charged=_charged((first, second)),
        replayed=one.replayed and two.replayed,
        probability_met=None if aim is None else pair.chance(aim),
        bands=bands,
        possible=Interval(shown(pair.possible[0]), shown(pair.possible[1]), 1.0),
        perhaps_empty=perhaps_empty,
        clipping_decides=verdict is not clipped and not perhaps_empty,
        derived_from=_sources((first, second)),
        comparison=Comparison(
            by,
            _compared(one),
            _compared(two),
            more_than_noise=not perhaps_empty and not noise_only and not low <= same <= high,
        ),
    )


@dataclass(frozen=True, slots=True)
class Picked:
    """Which figures on record to compare: those of two periods, or of two groups, by their names.

    Of two periods every group is compared, of two groups every period.
    """

    by: By = By.DIFFERENCE
    periods: tuple[str, str] | None = None
    groups: tuple[str, str] | None = None

    @classmethod
    def of(cls, by: str, periods: Sequence[str] | None, groups: Sequence[str] | None) -> Picked:
        """As it was asked for; UsageError if that is no pair."""
        pairs = [tuple(pair) for pair in (periods, groups) if pair]
        named = all(isinstance(name, str) for pair in pairs for name in pair)
        if not named or len(pairs) != 1 or len(pairs[0]) != 2 or len(set(pairs[0])) < 2:
            raise UsageError(
                "name two different periods, or two different groups, to compare",
                hint='e.g. periods=("2024-01", "2024-02"), or groups=("web", "phone")',
            )
        if by not in tuple(By):
            raise UsageError(
                f"figures cannot be compared by {quoted(by)}", hint=f"write {listed(map(str, By))}"
            )
        (first, second), how = pairs[0], By(by)
        return cls(how, (first, second)) if periods else cls(how, None, (first, second))

    def pairs(self, told: Sequence[Told]) -> list[tuple[Told, Told]]:
        """All pairs that are meant, in order; UsageError if there is none."""
        names = self.periods or self.groups or ("", "")
        sides: dict[tuple[str, object], Told] = {}
        for one in told:
            period, group = one.figure.period, one.figure.group
            name, other = (period.label, group) if self.periods else (group or "", period)
            sides[name, other] = one
        known = list(dict.fromkeys(name for name, _ in sides))
        for name in names:
            if name not in known:
                what = "period" if self.periods else "group"
                hint = did_you_mean(name, known, f"there is {listed(known, 'and')}")
                raise UsageError(
                    f"no figure of {what} {quoted(name)} is on record",
                    hint=hint if known else "release it first",
                )
        others = dict.fromkeys(other for name, other in sides if name == names[0])
        both = (((names[0], other), (names[1], other)) for other in others)
        return [(sides[a], sides[b]) for a, b in both if a in sides and b in sides]


def compared_series(
    plan: Plan, told: Sequence[Told], beyond: Beyond | None, picked: Picked
) -> Series:
    """What is on record of a PPI, compared; without its target, which is one for figures."""
    refuse_ratio(plan, picked.by)
    pairs = picked.pairs(told)
    plain = replace(plan.ppi, written=None, target=None, tolerated=None, group_targets=())
    grouped = picked.periods is not None
    answers = [compared(one, two, picked.by, plain, None, grouped=grouped) for one, two in pairs]
    names = picked.periods or picked.groups or ("", "")
    series = series_with(replace(plan, ppi=plain), answers, beyond, picked.by)
    return replace(series, view=str(Between(*names, picked.by)))


def _compared(answer: Answer) -> Compared:
    return Compared(answer.period, answer.group, answer.value, answer.unit, answer.interval)


def _cut(answer: Answer) -> tuple[float, float]:
    """How far the cases as they are may lie below and above those that bounds clip."""
    return (0.0, 0.0) if answer.beyond is None else (answer.beyond.below, answer.beyond.above)


@dataclass(frozen=True, slots=True)
class _Shown:
    unit: Unit

    def __call__(self, value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) else self.unit.show(value)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two figures, and how they are compared; everything is in internal units."""

    first: Figure
    second: Figure
    by: By

    @property
    def value(self) -> float | None:
        one, two = value_of(self.first), value_of(self.second)
        if one is None or two is None:
            return None
        if self.by is By.DIFFERENCE:
            return one - two
        return None if two <= 0 else self._relative(one / two)

    def _relative(self, ratio: float) -> float:
        return ratio - 1 if self.by is By.PERCENT else ratio

    @property
    def possible(self) -> tuple[float, float]:
        (least, most), (low, high) = _range(self.first), _range(self.second)
        if self.by is By.DIFFERENCE:
            return least - high, most - low
        return self._relative(0.0), math.inf

    def interval(
        self,
        confidence: float,
        cut: tuple[float, float] = (0.0, 0.0),
        other: tuple[float, float] = (0.0, 0.0),
    ) -> tuple[float, float]:
        """Of cases as bounds clip them; or as they are, if they may lie so far beyond.

        How far that is, is in the unit of the figures.
        """
        if self.by is By.DIFFERENCE and self._of_sums:
            low, high = self._exact(confidence)
            show = float(self.first.plan.ppi.unit.factor)
            low, high = low - show * (cut[0] + other[1]), high + show * (cut[1] + other[0])
        else:
            one = _uncertain(self.first, confidence, cut)
            two = _uncertain(self.second, confidence, other)
            if one is None or two is None:
                return -math.inf, math.inf
            if self.by is By.DIFFERENCE:
                low, high = difference(one, two)
            else:
                low, high = map(self._relative, ratio(one, two))
        least, most = (-math.inf, math.inf) if any((*cut, *other)) else self.possible
        value = self.value
        if value is not None:  # a sum below 0 was told as 0
            low, high = min(low, value), max(high, value)
        return min(max(low, least), most), max(min(high, most), least)

    def opened(self, ends: tuple[float, float], log: LogDeclaration) -> tuple[float, float]:
        """Where bounds may hide cases that nothing counts, as a figure by itself is."""
        (below, above), (low, high) = (_hidden(each, log) for each in (self.first, self.second))
        return (
            -math.inf if below or high else ends[0],
            math.inf if above or low else ends[1],
        )

    @property
    def _of_sums(self) -> bool:
        measure = self.first.plan.ppi.measure
        is_sum = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SUM
        return (
            is_sum
            and self.first.plan.ppi.value_range is None
            and all(
                isinstance(part.mechanism, Combined) or part.mechanism.pair_noise is not None
                for figure in (self.first, self.second)
                for part in figure.plan.measurements
            )
        )

    def _exact(self, confidence: float) -> tuple[float, float]:
        one, two = self.first.plan.measurements[0], self.second.plan.measurements[0]
        return difference_of_sums(
            one.mechanism, self.first.noisy[0], two.mechanism, self.second.noisy[0], confidence
        )

    def chance(self, aim: Aim) -> float | None:
        """How sure one may be that a target is met: by the widest interval that still decides.

        None where that would take too long.
        """
        parts = (*self.first.plan.measurements, *self.second.plan.measurements)
        if len(parts) > FEW_PARTS or any(isinstance(part.mechanism, Combined) for part in parts):
            return None
        return chance_by_intervals(aim.target, self.interval)


def _hidden(figure: Figure, log: LogDeclaration) -> tuple[bool, bool]:
    """Whether its value may lie below its interval, and above, for all that is known of bounds."""
    low, high = interval_of(figure.plan, by_path(figure.plan, figure.noisy))
    ends = open_interval_of(
        figure.plan, by_path(figure.plan, figure.noisy), (low, high), log.public.vocabulary
    )
    return ends[0] < low, ends[1] > high


def _range(figure: Figure) -> tuple[float, float]:
    plan = figure.plan
    return within_range(plan, {p.path: p.mechanism.output_range for p in plan.measurements})


def _uncertain(figure: Figure, confidence: float, cut: tuple[float, float]) -> Uncertain | None:
    value = value_of(figure)
    if value is None:
        return None
    adds = any(isinstance(part.mechanism, ReadOffBins) for part in figure.plan.measurements)
    level = (1 + confidence) / 2 if adds else confidence
    low, high = interval_of(figure.plan, by_path(figure.plan, figure.noisy), level)
    show = float(figure.plan.ppi.unit.factor)
    below, above = (show * each for each in cut)
    return Uncertain(value, low, high, *_range(figure), below, above, adds)
