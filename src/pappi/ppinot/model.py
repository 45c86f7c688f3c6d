"""The PPINOT meta-model.

Single-instance measures give one value per case; multi-instance measures
combine the cases of a period into one value. A PPI is a multi-instance measure
with a scope and, usually, a target.

Every quantity is in internal units: microseconds for durations, 0 to 1 for
shares. `Ppi.unit` says how to show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from itertools import islice

from pappi.ppinot.expressions import (
    MAX_SUGGESTED,
    Apply,
    Binary,
    Choose,
    Expression,
    IsMissing,
    Located,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
    TruthLiteral,
    kind_of,
)
from pappi.ppinot.views import Comparing, View
from pappi.values import (
    HOURS,
    NUMBER,
    PERCENT,
    PERCENTAGE_POINTS,
    UNIT_INTERVAL,
    Bounds,
    By,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Kind,
    Unit,
    Vocabulary,
    WorkingCalendar,
    quoted,
)

# --- instants and conditions on events ------------------------------------------------


class Occurrence(StrEnum):
    """At which events a condition occurs.

    EVERY  at every event at which it holds: the reading of the paper and of Java PPINOT.
    ONSET  only where it did not hold at the event before, of the same case: a run counts once,
           as in ppinot4py.
    """

    EVERY = "every"
    ONSET = "onset"


@dataclass(frozen=True, slots=True)
class Occurs:
    """The events at which a condition occurs.

    With `among`, only events that satisfy that are looked at, as if a case had no others:
    the event before an onset is then the one before it among them.
    """

    condition: Expression
    occurrence: Occurrence = Occurrence.EVERY
    among: Expression | None = None


class Order(StrEnum):
    """How one occurrence comes after another.

    FOLLOWS              directly: at the very next event of the case.
    LEADS_TO             at any later event; every later one counts.
    LEADS_TO_CYCLICALLY  at the next later one: each of them needs a first of its own.
    """

    FOLLOWS = "follows"
    LEADS_TO = "leads to"
    LEADS_TO_CYCLICALLY = "leads to cyclically"


@dataclass(frozen=True, slots=True)
class EventSequence:
    """The events at which `then` occurs after `first` has."""

    first: Occurs
    then: Occurs
    order: Order


EventCondition = Occurs | EventSequence
Moment = CaseBorder | EventCondition


class Pick(StrEnum):
    FIRST = "first"
    LAST = "last"


# --- single-instance measures ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountMeasure:
    """How many events of the case satisfy the condition; 0 if none."""

    when: EventCondition


class Cycles(StrEnum):
    """How the durations of a case's cycles become one."""

    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"


class OpenCycle(StrEnum):
    """What a cycle does that never closes: it does not count, or the case has no value."""

    LEFT_OUT = "left out"
    NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class TimeMeasure:
    """Time from one instant of a case to another; missing if there is no such pair.

    From the first (or last) `start` to the last `end` at or after it, or to the first `end`
    after it. With `cycles` every pair counts: the first `start` opens one, the next `end`
    closes it, others in between do not matter.

    `running` stops the clock: only the time counts after events that satisfy it, each up to
    the next event. `calendar` counts working time only. Cycles have no `running`.
    """

    start: Moment
    end: Moment
    start_pick: Pick = Pick.FIRST
    end_pick: Pick = Pick.LAST
    cycles: Cycles | None = None
    open_cycle: OpenCycle = OpenCycle.LEFT_OUT
    running: Expression | None = None
    calendar: WorkingCalendar | None = None


def time_problem(
    start: Moment, end: Moment, cycles: Cycles | None, running: Expression | None
) -> tuple[str, str]:
    """What is wrong with such a time, and what to do about it; empty if nothing is."""
    if start is CaseBorder.END or end is CaseBorder.START:
        message = "time cannot be measured from the end of a case or up to its start"
        return message, "swap the two ends"
    if cycles is not None and (isinstance(start, CaseBorder) or isinstance(end, CaseBorder)):
        message = "a case starts and ends only once, so it has no cycles of pairs"
        return message, "name an activity, or measure without cycles"
    if cycles is not None and running is not None:
        message = "the time of cycles cannot be counted only 'while' a condition holds"
        return message, "remove the condition, or measure without cycles"
    return "", ""


@dataclass(frozen=True, slots=True)
class DataMeasure(Located):
    """An attribute at the first or last event that satisfies `when` and carries it."""

    attribute: str
    pick: Pick = Pick.LAST
    when: EventCondition | None = None


@dataclass(frozen=True, slots=True)
class ConditionMeasure:
    """Whether some event of the case satisfies the condition; never missing."""

    when: EventCondition


@dataclass(frozen=True, slots=True)
class StateMeasure:
    """Whether `holds` is so at the last event that satisfies `of`; false without such an event.

    What state an activity is in, say: the last event of a repair is its completion. Without
    `of` it is the state of the case as a whole, at its last event. Never missing.
    """

    holds: Expression
    of: Expression | None = None


class Missing(StrEnum):
    """What a formula gives in a case in which one of its variables has no value."""

    TRUE = "true"
    FALSE = "false"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class DerivedSingleInstance:
    """A formula over measures of the same case.

    Without `missing` the formula itself decides: a comparison with nothing is false.
    """

    formula: Expression
    variables: tuple[tuple[str, SingleInstance], ...]
    missing: Missing | None = None


SingleInstance = (
    CountMeasure
    | TimeMeasure
    | DataMeasure
    | ConditionMeasure
    | StateMeasure
    | DerivedSingleInstance
)

EVERY_CASE = DerivedSingleInstance(TruthLiteral(value=True), ())
"""True in every case."""


# --- multi-instance measures ----------------------------------------------------------


class Aggregation(StrEnum):
    """How the values of cases become one. COUNT is the number of cases that have a value.

    Of a DISTRIBUTION, with how many lie in each of some bins, the one value is the median.
    """

    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    SUM = "sum"
    SHARE = "share"
    MEDIAN = "median"
    PERCENTILE = "percentile"
    COUNT = "count"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True, slots=True)
class Grouping:
    """Group by a case's value; only the keys declared here are answered, each of them."""

    by: DataMeasure
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ValueError("group keys must not be empty or repeated")


class Bounding(StrEnum):
    """Where the bounds on a contribution come from, and how well they fit.

    DECLARED  the writer knows what a case can contribute.
    LOOSE     the writer knows a limit that is far above what cases usually contribute.
    PRIVATE   nobody knows: a share of epsilon finds out.
    """

    DECLARED = "declared"
    LOOSE = "loose"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class AggregatedMeasure(Located):
    """One value over the cases that have a value and pass the filter.

    For a share, `base` is a truth value and `filter` says among which cases.
    `bounds` are on what one case contributes: public, declared, never measured;
    `bounding` says how well they are known.
    `within` names a variable of the same formula whose contribution in every case is
    at least this one's, as the received claims are to the rejected ones. `percent`
    says which percentile, from 1 to 99. `limits` are where the bins of a distribution end, in
    rising order, if the writer has named them.
    """

    function: Aggregation
    base: SingleInstance
    filter: SingleInstance | None = None
    grouping: Grouping | None = None
    bounds: Bounds | None = None
    within: str | None = None
    percent: int | None = None
    bounding: Bounding = Bounding.DECLARED
    limits: tuple[Fraction, ...] = ()

    @property
    def called(self) -> str:
        """The function by name: mean, max, p90."""
        return f"p{self.percent}" if self.percent is not None else str(self.function)


def ordinal(number: int) -> str:
    """
    >>> [ordinal(number) for number in (1, 12, 22, 93, 90)]
    ['1st', '12th', '22nd', '93rd', '90th']
    """
    teens = number // 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@dataclass(frozen=True, slots=True)
class DerivedMultiInstance:
    """A formula over multi-instance measures of the same period and group."""

    formula: Expression
    variables: tuple[tuple[str, MultiInstance], ...]


MultiInstance = AggregatedMeasure | DerivedMultiInstance
Measure = SingleInstance | MultiInstance


# --- the indicator --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A range the value should lie in; None is no limit on that side."""

    low: Fraction | None
    high: Fraction | None
    low_included: bool = True
    high_included: bool = True

    def contains(self, inner: Target) -> bool:
        """Whether every value in another target is in this one."""
        low_fits = self.low is None or (
            inner.low is not None
            and (inner.low, not inner.low_included) >= (self.low, not self.low_included)
        )
        high_fits = self.high is None or (
            inner.high is not None
            and (inner.high, inner.high_included) <= (self.high, self.high_included)
        )
        return low_fits and high_fits


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """A target of one group alone, and what is still tolerated there."""

    key: str
    target: Target
    tolerated: Target | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """This many whole days, weeks, months, quarters or years before now."""

    count: int
    unit: Calendar


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant of a case as it is written; `pick` is which of several, if that is said."""

    moment: Moment
    pick: Pick | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """The instant of a case that decides in which period it lies."""

    moment: Moment
    pick: Pick = Pick.LAST


@dataclass(frozen=True, slots=True)
class Scope:
    """Which cases are asked about, and how they are cut into periods.

    A grid gives one value per period of the log's horizon, or of [start, until), or of the
    recent time, if one of those is given; without a grid that time is one period.
    `last_cases` takes the latest so many cases of it, as one period. `cases`, a truth value,
    says which cases count at all. `anchor` replaces the log's own.
    """

    grid: Grid | None
    start: date | None = None
    until: date | None = None
    recent: Recent | None = None
    last_cases: int | None = None
    cases: SingleInstance | None = None
    anchor: Anchor | None = None

    def __post_init__(self) -> None:
        if self.recent is not None and (self.start or self.until):
            raise ValueError("a scope is either recent or between two days, not both")
        if self.last_cases is not None and self.grid is not None:
            raise ValueError("the last cases are one period: they have no grid")


# What a scope may say, in any notation.
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2199, 12, 31)
MAX_CASES = 1_000_000
MAX_COUNT = 366
MAX_PERIODS = 5_000
EVERY_MONTH = Scope(Grid(Calendar.MONTH))
"""The scope of a PPI that names none."""


_SHORTEST_DAYS = {
    Calendar.DAY: 1,
    Calendar.WEEK: 7,
    Calendar.MONTH: 28,
    Calendar.QUARTER: 90,
    Calendar.YEAR: 365,
}


def has_too_many_periods(grid: Grid, first: date, until: date) -> bool:
    """Whether a scope between two days is cut into more periods than anybody is answered."""
    return (until - first).days > MAX_PERIODS * _SHORTEST_DAYS[grid.unit] * grid.count


def day_of_scope(written: str) -> date:
    """A day that a scope may name; ValueError says what is wrong with it."""
    try:
        day = date.fromisoformat(written)
    except ValueError:
        raise ValueError(f"{quoted(written)} is not a valid date") from None
    if not FIRST_DAY <= day <= LAST_DAY:
        years = f"{FIRST_DAY.year} and {LAST_DAY.year}"
        raise ValueError(f"a scope must lie between the years {years}")
    return day


def scope_problem(
    grid: Grid | None, start: date | None, until: date | None, recent: Recent | None
) -> str:
    """What is wrong with the time of a scope; empty if nothing is."""
    if recent and (start or until):
        return "a scope is about recent time, or about the time between two days, not both"
    if start and until and until <= start:
        return "the scope ends before it begins"
    if start and until and grid and has_too_many_periods(grid, start, until):
        return f"this scope has more than {MAX_PERIODS:,} periods"
    return ""


class Wanted(StrEnum):
    """What an analyst wants to know: the value, or only whether the target is met."""

    VALUE = "value"
    VERDICT = "verdict"


@dataclass(frozen=True, slots=True)
class NoiseOn(Located):
    """A function that should carry noise: a variable, with dots to go deeper, or `value`.

    Its mechanism and its share of epsilon are the planner's to choose where they are None.
    """

    function: str
    mechanism: str | None = None
    share: Fraction | None = None

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise ValueError("a share of epsilon is above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class ReleaseChoice(Located):
    """How a PPI is to be released, where the writer does not leave it to the planner.

    `noise` are the functions that should carry it, and `mechanism` is for those that name none:
    any name will do here, since only `pappi.mechanisms` knows which there are.
    `falloff` is the threshold mechanism's, `buckets` are those of sample-and-aggregate. With
    others under one total it may share a draw, unless it is not `in_set`. How many cases its
    bounds cut is reported with it, unless `clipping` is off.
    """

    answer: Wanted = Wanted.VALUE
    mechanism: str | None = None
    noise: tuple[NoiseOn, ...] = ()
    falloff: Fraction | None = None
    buckets: int | None = None
    in_set: bool = True
    clipping: bool = True

    @property
    def is_free(self) -> bool:
        """Whether mechanism, functions and draw are left to the planner."""
        return replace(self, clipping=True) == ReleaseChoice()


@dataclass(frozen=True, slots=True)
class Ppi(Located):
    """A process performance indicator.

    A value in `target` is green, one that is only in `tolerated` is amber, any other is red.
    `group_targets` go before both in their groups. `expected` is the writer's guess of the share
    of cases that it is about: for forecasts alone, it changes nothing that is released.

    `show` is what of its figures is shown: the target is then that of what is shown. `written` is
    the PPI with that view, where this is its base query.
    """

    id: str
    name: str
    measure: MultiInstance
    unit: Unit
    scope: Scope
    target: Target | None = None
    value_range: Bounds | None = None
    epsilon: Epsilon | None = None
    release: ReleaseChoice = ReleaseChoice()
    process: str = ""
    goals: tuple[str, ...] = ()
    responsible: str = ""
    informed: tuple[str, ...] = ()
    comments: str = ""
    tolerated: Target | None = None
    group_targets: tuple[GroupTarget, ...] = ()
    expected: Fraction | None = None
    show: View | None = None
    written: Ppi | None = None

    @property
    def view(self) -> View | None:
        """What is shown of its figures, of the base query as of the PPI itself."""
        return self.show if self.written is None else self.written.show

    @property
    def shown_unit(self) -> Unit:
        """Of what is shown, where `unit` is that of the figures."""
        view = self.view
        return self.unit_by(view.by) if isinstance(view, Comparing) else self.unit

    def unit_by(self, by: By) -> Unit:
        """Of two of its figures compared."""
        if by is By.DIFFERENCE:
            return PERCENTAGE_POINTS if self.unit == PERCENT else self.unit
        return PERCENT if by is By.PERCENT else NUMBER


def base_query(ppi: Ppi) -> Ppi:
    """What is planned and released of a PPI: itself, but for its view and the view's target."""
    if ppi.show is None:
        return ppi
    return replace(ppi, show=None, written=ppi, target=None, tolerated=None, group_targets=())


ID = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{0,63}")
"""The id of a PPI."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """PPIs about one log; with a `total`, all of them together have that ε in each block."""

    log: str
    ppis: tuple[Ppi, ...]
    total: Epsilon | None = None
    file: str = field(default="<catalogue>", compare=False)

    def __post_init__(self) -> None:
        if len({ppi.id for ppi in self.ppis}) < len(self.ppis):
            raise ValueError("two PPIs of a catalogue have the same id")


# --- what can be said of a measure without looking at any data ------------------------

EVENT_NAMES: Mapping[str, Kind] = {"activity": Kind.TEXT, "timestamp": Kind.TIME}
"""What every event has, whatever the log declares."""

_LOSSY = (Operator.MULTIPLY, Operator.DIVIDE, Operator.REMAINDER)


def measure_kind(measure: Measure, vocabulary: Vocabulary | None) -> Kind | None:
    """The kind of a measure's value; None if it depends on attributes not declared."""
    match measure:
        case CountMeasure():
            return Kind.NUMBER
        case TimeMeasure():
            return Kind.DURATION
        case ConditionMeasure() | StateMeasure():
            return Kind.TRUTH
        case DataMeasure(attribute=attribute):
            declared = vocabulary.attributes if vocabulary else {}
            return EVENT_NAMES.get(attribute, declared.get(attribute))
        case AggregatedMeasure() if measure.function is Aggregation.COUNT:
            return Kind.NUMBER
        case AggregatedMeasure():
            kind = measure_kind(measure.base, vocabulary)
            return Kind.NUMBER if kind is Kind.TRUTH else kind
        case DerivedSingleInstance() | DerivedMultiInstance():
            return kind_of(measure.formula, variable_kinds(measure, vocabulary))[0]


def variable_kinds(
    measure: DerivedSingleInstance | DerivedMultiInstance, vocabulary: Vocabulary | None
) -> dict[str, Kind | None]:
    return {name: measure_kind(variable, vocabulary) for name, variable in measure.variables}


def all_present(measure: DerivedSingleInstance) -> Expression:
    """Whether every variable of a formula has a value."""
    present: list[Expression] = [Not(IsMissing(Name(name))) for name, _ in measure.variables]
    if not present:
        return TruthLiteral(value=True)
    return reduce(lambda left, right: Binary(Operator.AND, left, right), present)


def is_total(measure: Measure) -> bool:
    """Whether a measure surely has a value, for every case or in every period.

    A time has none in a case without the events (and an event may lack its
    timestamp), an aggregate none over no cases.
    """
    match measure:
        case CountMeasure() | ConditionMeasure() | StateMeasure():
            return True
        case DerivedSingleInstance(missing=Missing.TRUE | Missing.FALSE):
            return True
        case DerivedSingleInstance(missing=Missing.LEFT_OUT):
            present = {name: True for name, _ in measure.variables}
            every = all(is_total(variable) for _, variable in measure.variables)
            return every and _is_total(measure.formula, present)
        case DerivedSingleInstance() | DerivedMultiInstance():
            total = {name: is_total(variable) for name, variable in measure.variables}
            return _is_total(measure.formula, total)
        case _:
            return False


def spans_case(measure: Measure) -> bool:
    """Whether it is the time from the start of a case to its end.

    A case that lies in a period has a timestamp, so it has both, and this time with them.
    """
    whole = (CaseBorder.START, CaseBorder.END)
    return isinstance(measure, TimeMeasure) and measure == TimeMeasure(*whole)


def _is_total(expression: Expression, names: Mapping[str, bool]) -> bool:
    match expression:
        case Name():
            return names.get(expression.name, False)
        case Not() | OneOf() | IsMissing():
            return True
        case Negate():
            return _is_total(expression.operand, names)
        case Binary() if expression.operator in _LOSSY:
            # A product can overflow, a quotient can be by zero: both are missing then.
            return False
        case Binary() if expression.operator in (Operator.ADD, Operator.SUBTRACT):
            return _is_total(expression.left, names) and _is_total(expression.right, names)
        case Choose():
            # A missing condition counts as false, so only the two sides matter.
            return _is_total(expression.then, names) and _is_total(expression.otherwise, names)
        case Apply():
            return all(_is_total(argument, names) for argument in expression.arguments)
        case _:
            return True


def misplaced_parts(
    variables: Iterable[tuple[str, MultiInstance]],
) -> Iterator[tuple[str, AggregatedMeasure, str, list[str]]]:
    """The variables that are called part of what is no other sum of the formula.

    Each with its measure, what it is called part of, and the names of some sums there are.
    """
    aggregated = {name: it for name, it in variables if isinstance(it, AggregatedMeasure)}
    sums = {name: it for name, it in aggregated.items() if it.function is Aggregation.SUM}
    for name, measure in aggregated.items():
        whole = measure.within
        if whole is not None and (whole == name or whole not in sums):
            yield name, measure, whole, list(islice(sums, MAX_SUGGESTED))


def usual_bounds(function: Aggregation, base: SingleInstance) -> Bounds | None:
    """What a case can contribute where nothing is said: truth values are 0 or 1."""
    counted = function in (Aggregation.SHARE, Aggregation.COUNT)
    is_truth = counted or measure_kind(base, None) is Kind.TRUTH
    return UNIT_INTERVAL if is_truth else None


def usual_unit(measure: MultiInstance) -> Unit:
    """The unit of a measure for which none is named."""
    if measure_kind(measure, None) is Kind.DURATION:
        return HOURS
    is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
    return PERCENT if is_share else NUMBER


def is_proportion(measure: MultiInstance) -> bool:
    """Whether the value is the part of the cases for which something is true."""
    if not isinstance(measure, AggregatedMeasure):
        return False
    is_mean = measure.function is Aggregation.MEAN
    of_truth = is_mean and measure_kind(measure.base, None) is Kind.TRUTH
    return of_truth or measure.function is Aggregation.SHARE
