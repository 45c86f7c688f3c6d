"""Ask once, derive for ever: what follows from the record, at no cost.

Every release on record is a set of noisy integers: linear statistics of the cases, with noise of
a known law. A question whose statistics are sums of those is answered by adding them up
(`mechanisms.combined`): nothing is charged and no case is read, as the answer is a function of
released numbers and of public facts alone. Which releases there are, every analyst of a log may
know.

What is derived:

- *longer periods from shorter ones*, where these are the same days. A case lies in one block and,
  by the same anchor, in one period, and contributions are bounded for the log as a whole before any
  period is looked at: so what months count adds up to what their quarter counts, for every
  privacy unit.
- *sums and numbers of cases from means and shares* over the same cases and bounds; and the number
  of cases that satisfy a condition from their share.
- *groups from larger sets of groups.* But not the total from its groups: a case whose key is none
  of those declared is in no group, and nobody knows how many there are.
- *shares within limits, numbers of cases within them, medians and percentiles from histograms*:
  what lies up to a limit at which a bin ends is a sum of counts. And the mean, wherever in its bin
  a case lies. Only where the histogram counts just the cases that the question is about.
- *formulas* whose functions each follow from the record; a part of a whole from such ratios alone.
- *the same figure from several releases*, weighed by how exact each is. A mean or share is also
  more exact with the number of its cases, as other releases have counted them.

Only releases count that a replay would still show: of the same data, anchor, unit and cases, and
of days that were as sealed as they are now. What was released before cases were erased is not
weighed with what was released after, nor put into one formula with it. From one draw, one number is
taken for a function and its cases: noises that are added up are independent, and each enters once.
Of several ways to tile a period, the one with the least noise is taken.

What is derived is a function of the record, so the same question has the same answer while the
record stays. It may be more exact once there is more on it; an answer names what it came from.

A draw that is yet to be paid for is read in the same way, to say how exact it would be together
with what is on record (`margin_with`): that may be far less ε than it would need by itself.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from pappi.checkpoint.queries import Derived, Figure, Known, Release
from pappi.ledger import Account, Charge, Ledger, canonical_json
from pappi.mechanisms import (
    Bins,
    Combined,
    Mechanism,
    Outcome,
    Part,
    ReadOffBins,
    binned_share,
    combined_histogram,
    combined_mean,
    combined_sum,
    joint_members,
    mechanism_for,
    quantile_level,
    read_set,
    with_number,
)
from pappi.planning import (
    Cell,
    ExpectedCases,
    Measurement,
    Plan,
    is_part_of_whole,
    plan_derived,
    plan_error_law,
    ratio_of,
    recorded_histogram,
    recorded_measurement,
    recorded_member,
    stretches_of,
)
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    DerivedSingleInstance,
    IsMissing,
    MultiInstance,
    Name,
    Not,
    Ppi,
    ReleaseChoice,
    TimeMeasure,
    Wanted,
    aggregated_measures,
    canonical_form,
    is_total,
    spans_case,
)
from pappi.store import LogDeclaration, Registry
from pappi.values import (
    JSON,
    MARGIN_CONFIDENCE,
    UNIT_INTERVAL,
    Adjacency,
    Bounds,
    CaseBorder,
    Epsilon,
    Period,
    Source,
)

_HARDLY_MORE = 1.25
_MOST_WEIGHED = 12
_MOST_LAWS = 60  # each takes some hundredths of a second to add
_LEAST_WEIGHT = 1 / 50  # of that of the most exact
_WEIGHTS = 10_000
_FEW_CHARGES = 200  # that are read sooner than many amounts are planned
_NOT_YET = 0  # the number of a release that is not on record; those there are begin with 1
_NOT_CASES = ("ppi", "total", "each", "epsilon", "parts", "periods", "sealed", "groups")
"""What two releases may differ in and still be about cases that add up."""

_MEANS = (Aggregation.MEAN, Aggregation.SHARE)
_RANKED = (Aggregation.MEDIAN, Aggregation.PERCENTILE, Aggregation.DISTRIBUTION)
_ALL_BINS: tuple[float, float] = (0.0, 1.0)
_BINS_INSIDE: tuple[float, float] = (0.5, 0.5)
_WHOLE_CASE = canonical_form(TimeMeasure(CaseBorder.START, CaseBorder.END))
_NEVER_MISSING = ("CountMeasure", "ConditionMeasure", "StateMeasure")
_TRUE_OR_FALSE = ("Not", "OneOf", "IsMissing")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


@dataclass(frozen=True, slots=True)
class _Observation:
    """One figure on record that tells something about a function."""

    start: date
    end: date
    group: str | None
    mechanism: Mechanism
    way: tuple[float, float] | None
    """How much of its pair makes the sum that is wanted; None of a mean."""
    native: Measurement | None
    """As it was released, if that was the very function."""
    noisy: Outcome
    source: Source
    charge: Charge
    erasures: int = 0
    """How often something had been erased from the log before: then it is about other cases."""

    @property
    def bins(self) -> Bins:
        if not isinstance(self.mechanism, ReadOffBins):
            raise TypeError("only a histogram has bins")
        return self.mechanism.bins

    @property
    def variance(self) -> float:
        return _variance(self.mechanism, self.way)


Weighted = tuple[_Observation, Fraction]
_Reading = tuple[Mechanism, tuple[float, float] | None, Measurement | None]
"""How a function on record is read: as in an observation."""
_Groups = tuple[str | None, ...]
_Variant = tuple[MultiInstance, str | None, JSON, str]
"""A measure as it may be on record, whether its sum is wanted, its form, and that as JSON."""


class Derivations:
    """What a request can be derived from; each release on record is read once."""

    def __init__(self, ledger: Ledger, registry: Registry, log: LogDeclaration) -> None:
        self.ledger, self._charges, self.log = ledger, registry.charges, log
        self._erased = registry.erased.get(log.name, ())
        self.nothing_on_record = not any(account.log == log.name for account in self._charges)
        self._by_block: dict[str, list[tuple[int, Charge, _Written]]] = {}
        self._observed: dict[tuple[str, str, bool, str], list[_Observation]] = {}
        self._about_cases: dict[int, tuple[Plan, str]] = {}
        self._known: dict[object, list[tuple[int, *_Reading]]] = {}
        self._derived: dict[tuple[str, str], Derived | None] = {}
        self._to_be_drawn: Release | None = None
        self._margins: dict[object, float] = {}
        self._forms: dict[int, tuple[MultiInstance, JSON, str]] = {}
        self._variants: dict[tuple[int, _Groups], tuple[_Variant, ...]] = {}

    def of(self, release: Release) -> Derived | None:
        """What a release would tell, as it follows from the record; None if it does not."""
        key = (release.plan.ppi.id, release.key)  # two PPIs may ask the same
        if key not in self._derived:
            figures = None if self.nothing_on_record else self._figures(release)
            self._derived[key] = None if figures is None else Derived(figures, release)
        return self._derived[key]

    def margin_with(self, release: Release, expected: ExpectedCases) -> float | None:
        """Within which the noise would keep a release, read together with the record, at 95 %.

        None if nothing on record adds to it.
        """
        if self.nothing_on_record or not any(
            self._adds(function, release)
            for function in _functions(release.plan.ppi.measure).values()
        ):
            return None
        self._to_be_drawn = release
        try:
            figures = self._figures(release)
        finally:
            self._to_be_drawn = None
        if figures is None or all(len(figure.sources) == 1 for figure in figures):
            return None
        return max(self._margin(figure.plan.expecting(expected)) for figure in figures)

    def good_enough(self, release: Release) -> Derived | None:
        """The same if it is as exact as what would be paid for, and tells as much.

        Where nobody named an ε, it may be off by a little more.
        """
        derived = self.of(release)
        if derived is None:
            return None
        if release.plan.tells_beyond and not all(
            figure.plan.tells_beyond for figure in derived.figures
        ):
            return None
        most = self._margin(release.plan) * (_HARDLY_MORE if release.plan.because else 1.0)
        return derived if self.margin(derived) <= most else None

    def charged_among(self, amounts: Sequence[Epsilon], cells: Iterable[Cell]) -> list[Epsilon]:
        """Those amounts that may have been charged for these cells: all of them, if many were."""
        blocks = {cell.blocks[0].label for cell in cells if cell.blocks}
        accounts = (Account(self.log.name, block) for block in blocks)
        if sum(len(self._charges.get(account, ())) for account in accounts) > _FEW_CHARGES:
            return list(amounts)
        charged = {charge.amount for block in blocks for _, charge, _ in self._charged(block)}
        return [amount for amount in amounts if amount in charged]

    def _adds(self, measure: MultiInstance, release: Release) -> bool:
        """Whether anything on record tells of a function, or counts its cases."""
        number = _number_of(measure)
        return bool(
            self._about(measure, release)
            or (number is not None and self._about(number, release))
            or (_is_ranked(measure) and self._about(measure, release, binned=True))
        )

    def more_exact(self, release: Release, expected: ExpectedCases) -> Derived | None:
        """What was released, together with the record; None if nothing on record adds to it.

        Also if it is more exact only for as many cases as are expected by now: for those a quote
        has promised it.
        """
        derived, plan = self.of(release), release.plan
        if derived is None or all(len(figure.sources) == 1 for figure in derived.figures):
            return None
        better = (
            self.margin(derived, cases) < self._margin(plan.expecting(cases))
            for cases in (plan.expected, expected)
        )
        return derived if any(better) else None

    def margin(self, derived: Derived, expected: ExpectedCases | None = None) -> float:
        """Within which the noise keeps every figure of it, at 95 %, in internal units.

        For as many cases as planned for, or as are expected by now.
        """
        plans = (figure.plan for figure in derived.figures)
        return max(self._margin(plan.expecting(expected or plan.expected)) for plan in plans)

    def widest(self, cells: Sequence[Known], plan: Plan) -> Plan:
        """How the least exact of what is derived is read off; the plan itself if nothing is.

        At its ε, which a release would still name, although nothing is charged.
        """
        derived = [
            replace(figure.plan.expecting(plan.expected), epsilon=plan.epsilon)
            for cell in cells
            if isinstance(cell, Derived)
            for figure in cell.figures
        ]
        return max(derived, key=self._margin, default=plan)

    def _margin(self, plan: Plan) -> float:
        key = (plan.ppi.measure, plan.measurements, plan.expected.cases)
        if key not in self._margins:
            law = plan_error_law(plan)
            within = math.inf if law is None else law.within(MARGIN_CONFIDENCE)
            self._margins[key] = within
        return self._margins[key]

    # --- one cell ---

    def _figures(self, release: Release) -> tuple[Figure, ...] | None:
        plan, scope = release.plan, release.plan.ppi.scope
        free = plan.ppi.release.is_free and plan.ppi.release.answer is Wanted.VALUE
        functions = _functions(plan.ppi.measure)
        if not free or scope.last_cases is not None or not functions:
            return None
        observed = {path: self._about(function, release) for path, function in functions.items()}
        figures = []
        for period in release.cell.periods:
            for group in plan.groups:
                figure = self._figure(release, functions, observed, period, group)
                if figure is None:
                    return None
                figures.append(figure)
        return tuple(figures)

    def _figure(
        self,
        release: Release,
        functions: Mapping[str, MultiInstance],
        observed: Mapping[str, Sequence[_Observation]],
        period: Period,
        group: str | None,
    ) -> Figure | None:
        days = self._days(period, release.charge)
        measurements, noisy, read = [], [], list[Weighted]()
        for path, measure in functions.items():
            own = [observation for observation in observed[path] if observation.group == group]
            weighted = _tiled(own, days.start, days.end)
            if weighted is not None:
                counted = self._counted(release, path, days, own, weighted)
                measurement = _measurement(path, measure, weighted, counted)
                if isinstance(measurement.mechanism, Combined):
                    weighted = [*weighted, *counted][: len(measurement.mechanism.parts)]
                measurements.append(measurement)
            else:
                binned = self._binned(release, measure, days, group) if path == ROOT else None
                if binned is None:
                    return None
                weighted, measurement = binned
                measurements.append(measurement)
            draws = frozenset(observation.charge.key for observation, _ in weighted)
            measurements[-1] = replace(measurements[-1], draws=draws)
            read.extend(weighted)
            noisy.append(
                tuple(number for observation, _ in weighted for number in observation.noisy)
            )
        if not _of_the_same_cases(read):
            return None
        plan = release.plan
        derived = plan_derived(plan.ppi, _paid(read), measurements, plan.expected)
        sources = {
            (observation.source.number, observation.source.period): w for observation, w in read
        }
        named = {
            (observation.source.number, observation.source.period): observation.source
            for observation, _ in read
        }
        weighed = tuple(replace(named[key], weight=float(sources[key])) for key in sorted(named))
        return Figure(period, group, derived, tuple(noisy), weighed)

    def _counted(
        self,
        release: Release,
        path: str,
        days: Period,
        telling: Sequence[_Observation],
        weighted: Sequence[Weighted],
    ) -> list[Weighted]:
        """Releases that count just the cases of a mean, and tell nothing else of it."""
        measure, group = release.plan.ppi.measure, telling[0].group
        number = _number_of(measure) if path == ROOT else None
        if number is None or self.log.terms.adjacency is Adjacency.REPLACE:
            return []
        draws = {observation.charge.key for observation in telling}
        erasures = {observation.erasures for observation, _ in weighted}
        own = [
            observation
            for observation in self._about(number, release)
            if observation.group == group
            and observation.charge.key not in draws
            and {observation.erasures} == erasures
        ]
        counted = _tiled(own, days.start, days.end)
        laws = {
            observation.mechanism.pair_noise
            for observation in (*telling, *(observation for observation, _ in counted or ()))
        }
        return counted if counted and len(laws) <= _MOST_LAWS else []

    def _binned(
        self, release: Release, measure: MultiInstance, days: Period, group: str | None
    ) -> tuple[list[Weighted], Measurement] | None:
        """A quantile or mean, by the bins that are expected to tell it best."""
        if not isinstance(measure, AggregatedMeasure) or measure.bounds is None:
            return None
        if measure.function is Aggregation.SUM:  # not the mean that bins tell
            return None
        every = [
            observation
            for observation in self._about(measure, release, binned=True)
            if observation.group == group
        ]
        best, least = None, math.inf
        for bins in _bins_to_read(measure, {observation.bins for observation in every}):
            finer = [
                observation
                for observation in every
                if set(bins.limits) <= set(observation.bins.limits)
            ]
            weighted = _tiled(finer, days.start, days.end)
            if weighted is None:
                continue
            parts = _parts(weighted)
            level = quantile_level(measure.called)
            if measure.function is Aggregation.DISTRIBUTION:
                level = Fraction(1, 2)
            integral = weighted[0][0].mechanism.integral
            mechanism = combined_histogram(measure.bounds, parts, bins, level, integral=integral)
            width = mechanism.predicted_width(release.plan.expected.cases)
            if width < least:
                best, least = (weighted, Measurement(ROOT, (measure,), mechanism)), width
        return best

    def _days(self, period: Period, charge: Charge) -> Period:
        """Those of a period that lie in blocks of the log: no case of any other counts.

        By an anchor of its own, a case of the log may lie in any period: before the log begins.
        """
        if charge.query["own_anchor"] is not None:
            return period
        covered = self._covered
        return Period(max(period.start, covered.start), min(period.end, covered.end))

    @cached_property
    def _covered(self) -> Period:
        return self.log.horizon.covered

    # --- what the record tells about a function ---

    def _about(
        self, measure: MultiInstance, release: Release, *, binned: bool = False
    ) -> list[_Observation]:
        """What adds up to a function; `binned`, histograms that it is read off."""
        cases, (_, form) = self._cases_of(release), self._form_of(measure)
        every: list[_Observation] = []
        for block in self._charged_blocks(release):
            about = form, cases, binned, block
            if about not in self._observed:
                self._observed[about] = [
                    observation
                    for seq, charge, written in self._charged(block)
                    if written.cases == cases
                    and self._may_tell(measure, written, binned=binned)
                    and self._is_current(charge)
                    for observation in self._read(
                        measure, release.plan.ppi, seq, charge, written, binned=binned
                    )
                ]
            every += self._observed[about]
        if self._to_be_drawn is not None:
            due, ppi = self._to_be_drawn.charge, release.plan.ppi
            every += self._read(measure, ppi, _NOT_YET, due, _newly_written(due), binned=binned)
        return every

    def _charged_blocks(self, release: Release) -> Iterator[str]:
        """The blocks with which a charge begins that may be about the same days."""
        # Periods that reach over the ends of blocks are one cell, which begins with the log.
        for account in dict.fromkeys((self._first, *release.charge.accounts)):
            if account in self._charges:
                yield account.block

    @cached_property
    def _first(self) -> Account:
        horizon = self.log.horizon
        first = next(horizon.blocks.walk(horizon.first, horizon.until))
        return Account(self.log.name, first.label)

    def _cases_of(self, release: Release) -> str:
        """Which cases it is about: the same in all cells of a plan."""
        plan = release.plan
        if id(plan) not in self._about_cases:  # kept with it, so that no other has its id
            self._about_cases[id(plan)] = plan, canonical_json(_cases(release.charge))
        return self._about_cases[id(plan)][1]

    def _charged(self, block: str) -> list[tuple[int, Charge, _Written]]:
        """Everything charged whose first block it is."""
        if block not in self._by_block:
            self._by_block[block] = [
                (seq, charge, _written(charge))
                for seq in self._charges.get(Account(self.log.name, block), ())
                for charge in self.ledger.charges_at(seq)
            ]
        return self._by_block[block]

    def _is_current(self, charge: Charge) -> bool:
        sealed = charge.query.get("sealed")
        return sealed is None or sealed == self.log.public.until.isoformat()

    def _read(
        self,
        measure: MultiInstance,
        ppi: Ppi,
        seq: int,
        charge: Charge,
        written: _Written,
        *,
        binned: bool,
    ) -> Iterator[_Observation]:
        """The figures of a release that tell about a measure, from one of its functions."""
        question: Mapping[str, Any] = charge.query
        # By the functions as they are written: months are released alike.
        key = self._form_of(measure)[1], written.parts, charge.amount, binned
        readings = self._known.get(key)
        if readings is None:
            readings_of = self._histograms if binned else self._readings
            readings = self._known[key] = [
                (index, *reading)
                for index, part in enumerate(question["parts"])
                for reading in readings_of(measure, ppi, part, charge)
            ]
        if not readings:
            return
        # One draw may tell a sum, and the mean that it follows from, with noises that depend on
        # each other: the more exact one counts.
        index, mechanism, way, native = min(
            readings, key=lambda reading: _variance(reading[1], reading[2])
        )
        periods = [_period(written) for written in question["periods"]]
        drawn = [(period, group) for period in periods for group in question["groups"]]
        if seq == _NOT_YET:
            result: Any = [{index: _blank(mechanism)}] * len(drawn)
        else:
            result = self.ledger.results([charge.key]).get(charge.key)
        if result is None:
            return
        for (period, group), noisy in zip(drawn, result, strict=True):
            days = self._days(period, charge)
            yield _Observation(
                days.start,
                days.end,
                group,
                mechanism,
                way,
                native,
                tuple(noisy[index]),
                Source(seq, str(question["ppi"]), period),
                charge,
                len(self._erased) if seq == _NOT_YET else bisect_left(self._erased, seq),
            )

    def _may_tell(self, measure: MultiInstance, written: _Written, *, binned: bool) -> bool:
        """Whether a release has a function that could tell about a measure: most have none."""
        if binned or written.is_binned:
            return written.is_binned
        if not isinstance(measure, AggregatedMeasure) or _is_number(measure):
            return True
        variants = self._variants_of(measure, written.groups)
        return any(text in written.inputs for *_, text in variants)

    def _form_of(self, measure: MultiInstance) -> tuple[JSON, str]:
        """The canonical form of a measure, and its JSON."""
        if id(measure) not in self._forms:  # kept beside its form, so that it keeps its id
            form = canonical_form(measure)
            self._forms[id(measure)] = measure, form, canonical_json(form)
        return self._forms[id(measure)][1:]

    def _variants_of(self, measure: MultiInstance, groups: _Groups) -> tuple[_Variant, ...]:
        """With the form of each: many releases on record are looked at for the same."""
        self._form_of(measure)  # keeps it, so that it keeps its id
        if (id(measure), groups) not in self._variants:
            self._variants[id(measure), groups] = tuple(
                (variant, wanted, *self._form_of(variant))
                for variant, wanted in _variants(measure, groups)
            )
        return self._variants[id(measure), groups]

    def _readings(
        self, measure: MultiInstance, ppi: Ppi, part: Mapping[str, Any], charge: Charge
    ) -> Iterator[_Reading]:
        """How a function on record tells about a measure: as itself, as its sum, as its cases."""
        question: Mapping[str, Any] = charge.query
        groups: tuple[str | None, ...] = tuple(question["groups"])
        for variant, wanted, form, _ in self._variants_of(measure, groups):
            if isinstance(variant, AggregatedMeasure) and form not in part["inputs"]:
                continue
            own = replace(
                ppi,
                measure=variant,
                value_range=None,
                target=None,
                tolerated=None,
                group_targets=(),
                release=ReleaseChoice(),
            )
            recorded = self._recorded(own, part, charge)
            if recorded is None or recorded.mechanism.pair_noise is None:
                continue
            same = isinstance(variant, AggregatedMeasure) and variant.function is Aggregation.SUM
            native = recorded if same or wanted is None else None
            way = recorded.mechanism.as_sum if wanted == "sum" else None
            yield recorded.mechanism, way, native
        if isinstance(measure, AggregatedMeasure) and _is_number(measure):
            for mechanism in self._of_same_cases(measure, part, groups):
                yield mechanism, (0.0, 1.0), None
        for histogram in self._drawn_histograms(measure, ppi, part, groups):
            yield from self._off_bins(measure, part, histogram)

    def _histograms(
        self, measure: MultiInstance, ppi: Ppi, part: Mapping[str, Any], charge: Charge
    ) -> Iterator[_Reading]:
        """Histograms of just the measure and the cases that a quantile or mean is about."""
        question: Mapping[str, Any] = charge.query
        groups: tuple[str | None, ...] = tuple(question["groups"])
        if not isinstance(measure, AggregatedMeasure) or measure.bounding is not Bounding.DECLARED:
            return
        for histogram in self._drawn_histograms(measure, ppi, part, groups):
            (written,) = part["inputs"]
            same = written["base"] == canonical_form(measure.base)
            if same and written["filter"] == canonical_form(measure.filter):
                yield histogram, None, None

    def _drawn_histograms(
        self,
        measure: MultiInstance,
        ppi: Ppi,
        part: Mapping[str, Any],
        groups: tuple[str | None, ...],
    ) -> Iterator[ReadOffBins]:
        """What has drawn a part, if that was a histogram of the same groups."""
        if part["mechanism"] != "histogram" or not isinstance(measure, AggregatedMeasure):
            return
        grouped, (written,) = _as_grouped(measure, groups), part["inputs"]
        if grouped is None or written["grouping"] != canonical_form(grouped.grouping):
            return
        ends = (Fraction(written["bounds"][end]) for end in ("low", "high"))
        bins = Bins.read(part["settings"][0][1], Bounds(*ends))
        epsilon = Fraction(part["epsilon"])
        yield recorded_histogram(ppi, measure, epsilon, bins, self.log.public)

    def _off_bins(
        self, measure: MultiInstance, part: Mapping[str, Any], histogram: ReadOffBins
    ) -> Iterator[_Reading]:
        """A share within limits at which bins end, a number of cases within them, or of all."""
        if not isinstance(measure, AggregatedMeasure):
            return
        bins, (written,) = histogram.bins, part["inputs"]

        def share(inside: tuple[bool, ...]) -> Mechanism:
            return binned_share(bins, inside, histogram.epsilon, histogram.adjacency)

        same, counts = written["filter"] == canonical_form(measure.filter), _is_number(measure)
        if counts and same and self.log.terms.adjacency is not Adjacency.REPLACE:
            if _has_same_cases(measure, written["base"]):
                yield share((True,) * bins.number), _ALL_BINS, None
            return
        is_share = measure.function is Aggregation.SHARE
        if not is_share and (measure.function, measure.bounds) != (Aggregation.SUM, UNIT_INTERVAL):
            return
        # A share of cases that pass a filter is among those alone, whatever the bins tell of all.
        counts_passing = not is_share and measure.base == EVERY_CASE
        by_filter = counts_passing and written["filter"] is None
        condition = stretches_of(measure.filter if by_filter else measure.base)
        if condition is None or not (by_filter or same):
            return
        inside = condition.inside(bins)
        counted = condition.of_values if is_share else not condition.of_others
        if canonical_form(condition.base) == written["base"] and inside is not None and counted:
            yield share(inside), None if is_share else _BINS_INSIDE, None

    def _recorded(self, ppi: Ppi, part: Mapping[str, Any], charge: Charge) -> Measurement | None:
        if part["mechanism"] == "joint":
            settings = part["settings"][0][1]
            plan = recorded_member(ppi, charge.amount, part["inputs"], settings, self.log.public)
            return None if plan is None else plan.measurements[0]
        return recorded_measurement(
            ppi,
            part["inputs"],
            part["mechanism"],
            Fraction(part["epsilon"]),
            part["settings"],
            self.log.public,
        )

    def _of_same_cases(
        self, measure: AggregatedMeasure, part: Mapping[str, Any], groups: Sequence[str | None]
    ) -> Iterator[Mechanism]:
        """Means and shares over exactly the cases that are counted."""
        keys, grouping = tuple(key for key in groups if key is not None), measure.grouping
        if self.log.terms.adjacency is Adjacency.REPLACE or bool(keys) is not bool(grouping):
            return
        cases = {
            "filter": canonical_form(measure.filter),
            "grouping": canonical_form(grouping and replace(grouping, keys=keys)),
            "bounding": str(Bounding.DECLARED),
        }
        for place, written in enumerate(part["inputs"]):
            same = all(written[name] == form for name, form in cases.items())
            a_mean = same and written["function"] in map(str, _MEANS)
            mechanism = _counting(part, place) if a_mean else None
            if mechanism is not None and _has_same_cases(measure, written["base"]):
                yield mechanism


def _counting(part: Mapping[str, Any], place: int) -> Mechanism | None:
    """What has drawn the mean or share at a place, if that follows from the record alone."""
    epsilon, adjacency = Fraction(part["epsilon"]), Adjacency.ADD_REMOVE
    if part["mechanism"] == "joint":
        classes = read_set(part["settings"][0][1])
        return None if classes is None else joint_members(classes, epsilon, adjacency)[place]
    share = mechanism_for("share", UNIT_INTERVAL, epsilon, adjacency, integral=True)
    is_share = (
        part["mechanism"] == share.recorded_name and part["inputs"][place]["function"] == "share"
    )
    return share if is_share else None


# --- which functions, and what else tells them ------------------------------------------------


def _functions(measure: MultiInstance) -> dict[str, MultiInstance]:
    """What a PPI is made of, by path: each must follow from the record. Empty if it cannot."""
    if isinstance(measure, AggregatedMeasure):
        functions: dict[str, MultiInstance] = {ROOT: measure}
    elif is_part_of_whole(measure):
        ratio = ratio_of(measure)
        return {ROOT: measure} if ratio is not None and ratio.factor > 0 else {}
    else:
        functions = dict(aggregated_measures(measure))
    ranked = _is_ranked(measure)
    adds_up = all(
        isinstance(function, AggregatedMeasure)
        and (ranked or function.function in (*_MEANS, Aggregation.SUM))
        and function.bounding is Bounding.DECLARED
        for function in functions.values()
    )
    return functions if adds_up else {}


def _variants(
    measure: MultiInstance, groups: tuple[str | None, ...]
) -> Iterator[tuple[MultiInstance, str | None]]:
    """The measure as it may be on record, with the groups that were asked for there.

    And whether what is wanted is its sum; None of a mean.
    """
    if not isinstance(measure, AggregatedMeasure):
        if groups == (None,) and all(m.grouping is None for _, m in aggregated_measures(measure)):
            yield measure, None
        return
    grouped = _as_grouped(measure, groups)
    if grouped is None or grouped.function in _RANKED:
        return
    measure = grouped
    if measure.function in _MEANS:
        yield measure, None
        return
    yield measure, "sum"
    yield replace(measure, function=Aggregation.MEAN), "sum"
    if measure.bounds == UNIT_INTERVAL:
        yield replace(measure, function=Aggregation.SHARE), "sum"
    if _is_number(measure) and measure.base == EVERY_CASE and measure.filter is not None:
        # The share of the cases that pass tells how many of all do.
        share = replace(measure, function=Aggregation.SHARE, base=measure.filter)
        yield replace(share, filter=None), "sum"


def _as_grouped(
    measure: AggregatedMeasure, groups: tuple[str | None, ...]
) -> AggregatedMeasure | None:
    """The measure with the groups that were asked for on record; None if it has none of them."""
    if measure.grouping is None:
        return measure if groups == (None,) else None
    keys = tuple(key for key in groups if key is not None)
    if not set(keys) & set(measure.grouping.keys):
        return None
    return replace(measure, grouping=replace(measure.grouping, keys=keys))


def _bins_to_read(measure: AggregatedMeasure, histograms: Collection[Bins]) -> Iterator[Bins]:
    """Those that a quantile or mean may be read off; of a distribution, those that it asks for.

    What lies beyond the bounds of a histogram is in its outermost bins: so it is one within other
    bounds, too, of the limits that lie within these.
    """
    bounds = measure.bounds or UNIT_INTERVAL
    if measure.limits:
        yield Bins.at(bounds, measure.limits)
        return
    shown = measure.function is Aggregation.DISTRIBUTION
    for bins in sorted(histograms, key=lambda candidate: (-candidate.number, candidate.written)):
        if bins.bounds == bounds and not (shown and bins.own):
            yield bins.shown if shown else bins
        elif not shown and (within := Bins.within(bounds, bins.limits)) is not None:
            yield within


def _is_number(measure: AggregatedMeasure) -> bool:
    """Whether it counts cases: as `reduced_form` writes that."""
    return (
        measure.function is Aggregation.SUM
        and measure.bounds == UNIT_INTERVAL
        and (measure.base == EVERY_CASE or _present(measure) is not None)
    )


def _present(measure: AggregatedMeasure) -> JSON:
    """The measure of which those cases are counted that have it."""
    base = measure.base
    if not isinstance(base, DerivedSingleInstance) or base.formula != Not(IsMissing(Name("x"))):
        return None
    return canonical_form(dict(base.variables)["x"])


def _has_same_cases(measure: AggregatedMeasure, written: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether the cases that are counted are those that have a value of what was released."""
    if measure.base != EVERY_CASE:
        return bool(written == _present(measure))
    if written == _WHOLE_CASE or written["is"] in _NEVER_MISSING:
        return True
    if written["is"] != "DerivedSingleInstance" or written["missing"] == "left out":
        return False
    formula = written["formula"]
    decided = formula["is"] == "Binary" and formula["operator"] in _COMPARISONS
    return bool(written["missing"]) or formula["is"] in _TRUE_OR_FALSE or decided


# --- putting it together ----------------------------------------------------------------------


def _tiled(observed: Sequence[_Observation], start: date, end: date) -> list[Weighted] | None:
    """Releases that together are about exactly these days, with the least noise; None if none are.

    Of too many laws, the most exact one of the same days counts; if there are still too many,
    adding them up would take too long.
    """
    edges: dict[tuple[date, date], list[_Observation]] = {}
    for observation in observed:
        if start <= observation.start < observation.end <= end and math.isfinite(
            observation.variance
        ):
            edges.setdefault((observation.start, observation.end), []).append(observation)
    edges.setdefault((start, end), [])
    for most in (_MOST_WEIGHED, 1):
        weighted, _ = _estimated(edges, most).get((start, end), ([], 0.0))
        laws = {(observation.mechanism.pair_noise, weight) for observation, weight in weighted}
        if weighted and len(laws) <= _MOST_LAWS:
            return weighted
    return None


Estimated = tuple[list[Weighted], float]
"""Releases with their weights, and the variance of what they add up to."""


def _estimated(
    edges: Mapping[tuple[date, date], Sequence[_Observation]], most: int
) -> dict[tuple[date, date], Estimated]:
    """What is known of each stretch of days, the shorter ones first.

    What was released of the stretch itself is weighed with the best of the ways to cut it into
    shorter ones, of each of which all that is known counts: of a year both its quarters and, in
    each, its months. But not what was released before something was erased with what was released
    after: of the same days, the later counts.
    """
    estimated: dict[tuple[date, date], Estimated] = {}
    every = sorted(edges)
    for stretch in sorted(edges, key=lambda days: days[1] - days[0]):
        estimates = [
            ([(observation, Fraction(1))], observation.variance) for observation in edges[stretch]
        ]
        first, last = (bisect_left(every, (end, end)) for end in stretch)
        pieces = [piece for piece in every[first:last] if piece != stretch and piece in estimated]
        path = _least_noise(pieces, estimated, *stretch)
        if path is not None:
            estimates.append(path)
        if estimates:
            estimated[stretch] = _weighed(_latest(estimates), most)
    return estimated


def _latest(estimates: Sequence[Estimated]) -> list[Estimated]:
    """Those about the same cases: of what is all after the latest erasure, the most exact ones."""
    erasures = [{observation.erasures for observation, _ in weighted} for weighted, _ in estimates]
    paired = list(zip(estimates, erasures, strict=True))
    _, latest = max(paired, key=lambda pair: (min(pair[1]), -pair[0][1]))
    return [estimate for estimate, own in paired if own == latest]


def _of_the_same_cases(read: Sequence[Weighted]) -> bool:
    """Whether of no day something was released before an erasure and something after it.

    The functions of a formula would be about different cases.
    """
    stretches = sorted(
        {(observation.start, observation.end, observation.erasures) for observation, _ in read}
    )
    latest: dict[int, date] = {}
    for start, end, erasures in stretches:
        if any(start < until for other, until in latest.items() if other != erasures):
            return False
        latest[erasures] = max(end, latest.get(erasures, end))
    return True


def _least_noise(
    pieces: Sequence[tuple[date, date]],
    estimated: Mapping[tuple[date, date], Estimated],
    start: date,
    end: date,
) -> Estimated | None:
    """A shortest path from the first day to the last, by pieces in their order."""
    reached: dict[date, Estimated] = {start: ([], 0.0)}
    for first, last in pieces:
        if first not in reached:
            continue
        (before, noise), (step, more) = reached[first], estimated[first, last]
        if last not in reached or noise + more < reached[last][1]:
            reached[last] = [*before, *step], noise + more
    return reached.get(end)


def _weighed(estimates: Sequence[Estimated], most: int) -> Estimated:
    """Independent estimates of one number as one, by how exact each is; their weights make 1."""
    exact = sorted(estimates, key=lambda estimate: estimate[1])[:most]
    best = exact[0][1]
    if not best:  # a public number
        return exact[0]
    exact = [estimate for estimate in exact if best / estimate[1] >= _LEAST_WEIGHT]
    precision = sum(1 / variance for _, variance in exact)
    weights = [Fraction(round(_WEIGHTS / v / precision), _WEIGHTS) for _, v in exact]
    weights[0] += 1 - sum(weights)
    merged = [
        (observation, own * w)
        for (of, _), w in zip(exact, weights, strict=True)
        for observation, own in of
    ]
    return merged, sum(float(w) ** 2 * v for (_, v), w in zip(exact, weights, strict=True))


def _measurement(
    path: str, measure: MultiInstance, weighted: Sequence[Weighted], counted: Sequence[Weighted]
) -> Measurement:
    first, weight = weighted[0]
    inputs = tuple(own for _, own in aggregated_measures(measure))
    parts = _parts(weighted)
    if counted:
        numbers = zip(
            _parts(counted),
            [observation.way or (0.0, 1.0) for observation, _ in counted],
            strict=True,
        )
        parts = with_number(parts, list(numbers))
    if len(parts) == 1 and weight == 1 and first.native is not None:
        return replace(first.native, path=path, inputs=inputs)
    ways = [observation.way for observation, _ in weighted if observation.way is not None]
    if ways:
        bounds = inputs[0].bounds or UNIT_INTERVAL
        return Measurement(path, inputs, combined_sum(bounds, parts, ways))
    if isinstance(measure, AggregatedMeasure):
        return Measurement(path, inputs, combined_mean(first.mechanism.bounds, parts))
    ratio = ratio_of(measure)
    if ratio is None:
        raise AssertionError("only a ratio of a part to its whole is read as a whole")
    bounds = Bounds(Fraction(0), ratio.factor)
    return Measurement(path, inputs, combined_mean(bounds, parts, counts=False))


def _parts(weighted: Sequence[Weighted]) -> list[Part]:
    return [
        Part(observation.mechanism, len(observation.noisy), weight)
        for observation, weight in weighted
    ]


def _blank(mechanism: Mechanism) -> Outcome:
    """What might have been drawn; of bins, it matters how many there are."""
    return (0,) * mechanism.bins.number if isinstance(mechanism, ReadOffBins) else ()


def _is_ranked(measure: MultiInstance) -> bool:
    return isinstance(measure, AggregatedMeasure) and measure.function in _RANKED


def _number_of(measure: MultiInstance) -> AggregatedMeasure | None:
    """How many cases a mean is of, as `reduced_form` writes that; None of anything else."""
    if not isinstance(measure, AggregatedMeasure) or measure.function not in _MEANS:
        return None
    base = measure.base
    if is_total(base) or spans_case(base):
        counted = EVERY_CASE
    elif isinstance(base, DerivedSingleInstance):
        return None
    else:
        counted = DerivedSingleInstance(Not(IsMissing(Name("x"))), (("x", base),))
    return replace(
        measure,
        function=Aggregation.SUM,
        base=counted,
        bounds=UNIT_INTERVAL,
        bounding=Bounding.DECLARED,
    )


def _paid(read: Sequence[Weighted]) -> Epsilon:
    """What the releases had together, in the block that paid most for them."""
    charges = {observation.charge.key: observation.charge for observation, _ in read}.values()
    blocks: dict[Account, int] = {}
    for charge in charges:
        for account in charge.accounts:
            blocks[account] = blocks.get(account, 0) + charge.amount.nano
    return Epsilon(max(blocks.values()))


class _Written(NamedTuple):
    """Of the question of a charge, in canonical JSON: which cases it is about, and what of them."""

    cases: str
    parts: str
    groups: _Groups
    inputs: frozenset[str]
    is_binned: bool
    """Whether any of its parts is a histogram."""


def _written(charge: Charge) -> _Written:
    """Written once for a key on record, which stands for all of it, as far as there is room."""
    written = _WRITTEN.get(charge.key)
    if written is None:
        written = _newly_written(charge)
        if len(_WRITTEN) < _MOST_WRITTEN:
            _WRITTEN[charge.key] = written
    return written


def _newly_written(charge: Charge) -> _Written:
    """Of what is not on record, nothing is kept: it costs nothing to ask for it, however long."""
    # A choice of a log's names is charged too, and has neither groups nor inputs.
    groups, parts = charge.query.get("groups", ()), charge.query.get("parts", ())
    inputs = (canonical_json(measure) for part in parts for measure in part.get("inputs", ()))
    return _Written(
        sys.intern(canonical_json(_cases(charge))),  # most differ in their periods alone
        sys.intern(canonical_json([groups, parts])),
        tuple(groups),
        frozenset(map(sys.intern, inputs)),
        any(part["mechanism"] == "histogram" for part in parts),
    )


_MOST_WRITTEN = 20_000
_WRITTEN: dict[str, _Written] = {}


def _cases(charge: Charge) -> dict[str, JSON]:
    return {name: asked for name, asked in charge.query.items() if name not in _NOT_CASES}


def _variance(mechanism: Mechanism, way: tuple[float, float] | None) -> float:
    noise = mechanism.pair_noise
    return math.inf if noise is None else noise.variance(*(way or (1.0, 0.0)))


def _period(written: Mapping[str, str]) -> Period:
    return Period(date.fromisoformat(written["start"]), date.fromisoformat(written["end"]))
