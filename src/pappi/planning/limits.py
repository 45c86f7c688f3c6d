"""Conditions on one measure of a case, as the stretches of its values in which they hold.

`t < 10 days` says of a case whether its value lies in one stretch. Where those of several
conditions are made of the bins of one histogram, their shares are all read off it: a case lies in
one bin. A bin includes its upper end, so that `t <= 10 days` ends with a bin that ends there. For
`t < 10 days` a bin must end just below: durations are whole microseconds and counts whole numbers,
so that there is a last value below. Of other numbers there is none, and nothing is read off.

Who is counted: a histogram counts the cases that have a value. A share does so too if it leaves the
others out, or if every case has one. Elsewhere a case without a value is among all cases of the
share (`t < 10 days` is false of it), and in no bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pappi.mechanisms import Bins
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Binary,
    Bounding,
    CountMeasure,
    Cycles,
    DerivedSingleInstance,
    DurationLiteral,
    Expression,
    Missing,
    MultiInstance,
    Name,
    Not,
    NumberLiteral,
    Operator,
    SingleInstance,
    TimeMeasure,
    is_total,
    spans_case,
)
from pappi.values import Bounds

_WHOLE_CYCLES = (None, Cycles.SUM, Cycles.MIN, Cycles.MAX)
_TURNED = {
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}


@dataclass(frozen=True, slots=True)
class Stretches:
    """Where values satisfy a condition: up to the first cut, from there up to the next, and on."""

    base: SingleInstance
    cuts: tuple[Fraction, ...]
    holds: tuple[bool, ...]
    of_values: bool
    """Whether only cases with a value count, or all cases have one."""
    of_others: bool
    """Whether it holds of cases without a value, too, if there are any."""

    def inside(self, bins: Bins) -> tuple[bool, ...] | None:
        """In which bins it holds; None where a bin ends on no cut, or a cut lies in a bin."""
        limits = [_last(limit, self.base) for limit in bins.limits]
        if not set(self.cuts) <= set(limits):
            return None
        starts = (None, *limits)
        return tuple(
            self.holds[0 if start is None else sum(cut <= start for cut in self.cuts)]
            for start in starts
        )


def stretches_of(condition: SingleInstance | None) -> Stretches | None:
    """Of a condition on one measure, by comparisons with constants; None of any other."""
    if not isinstance(condition, DerivedSingleInstance) or len(condition.variables) != 1:
        return None
    ((name, base),) = condition.variables
    cuts: set[Fraction] = set()
    if not _gather(condition.formula, name, base, cuts) or not cuts:
        return None
    rising = tuple(sorted(cuts))
    above = rising[-1] + 1
    holds = tuple(_holds(condition.formula, base, value) for value in (*rising, above))
    everyone = is_total(base) or spans_case(base)
    left_out = condition.missing is Missing.LEFT_OUT
    of_others = condition.missing is Missing.TRUE or (
        condition.missing is None and _holds_of_nothing(condition.formula)
    )
    return Stretches(base, rising, holds, everyone or left_out, of_others and not everyone)


def histogram_of(
    measure: MultiInstance, stretches: Iterable[Stretches]
) -> tuple[AggregatedMeasure, tuple[Fraction, ...]]:
    """The distribution that tells several conditions of one measure apart, and its limits.

    Of its bounds nothing depends: what lies beyond is in the outermost bins.
    """
    if not isinstance(measure, AggregatedMeasure):
        raise TypeError("only an aggregated measure has a histogram")
    every = list(stretches)
    cuts = tuple(sorted({cut for conditions in every for cut in conditions.cuts}))
    bounds = Bounds(min(cuts[0] - 1, Fraction(0)), 2 * max(cuts[-1], Fraction(1)))
    histogram = AggregatedMeasure(
        Aggregation.DISTRIBUTION,
        every[0].base,
        measure.filter,
        measure.grouping,
        bounds,
        bounding=Bounding.DECLARED,
    )
    return histogram, cuts


def _is_whole(base: SingleInstance) -> bool:
    """Whether values are whole numbers, in internal units."""
    if isinstance(base, TimeMeasure):
        return base.cycles in _WHOLE_CYCLES
    return isinstance(base, CountMeasure)


def _last(limit: Fraction, base: SingleInstance) -> Fraction:
    """The last value that is at most a limit, where values are whole; else the limit."""
    return Fraction(math.floor(limit)) if _is_whole(base) else limit


def _compared(formula: Expression, name: str) -> tuple[Operator, Fraction] | None:
    """A comparison as `name operator constant`."""
    if not isinstance(formula, Binary) or formula.operator not in _TURNED:
        return None
    operator, left, right = formula.operator, formula.left, formula.right
    if isinstance(right, Name):
        operator, left, right = _TURNED[operator], right, left
    if not isinstance(left, Name) or left.name != name:
        return None
    if isinstance(right, DurationLiteral):
        return operator, right.microseconds
    return (operator, right.value) if isinstance(right, NumberLiteral) else None


def _gather(formula: Expression, name: str, base: SingleInstance, cuts: set[Fraction]) -> bool:
    """All cuts of a formula; whether it is made of comparisons that have some."""
    match formula:
        case Not(operand=operand):
            return _gather(operand, name, base, cuts)
        case Binary(operator=Operator.AND | Operator.OR, left=left, right=right):
            return _gather(left, name, base, cuts) and _gather(right, name, base, cuts)
    compared = _compared(formula, name)
    cut = None if compared is None else _cut(*compared, base)
    if cut is not None:
        cuts.add(cut)
    return cut is not None


def _cut(operator: Operator, limit: Fraction, base: SingleInstance) -> Fraction | None:
    """The last value on the lower side of a comparison."""
    if operator in (Operator.AT_MOST, Operator.GREATER):
        return _last(limit, base)
    return Fraction(math.ceil(limit) - 1) if _is_whole(base) else None


def _holds(formula: Expression, base: SingleInstance, value: Fraction) -> bool:
    """Of a case with that value."""
    match formula:
        case Not(operand=operand):
            return not _holds(operand, base, value)
        case Binary(operator=Operator.AND, left=left, right=right):
            return _holds(left, base, value) and _holds(right, base, value)
        case Binary(operator=Operator.OR, left=left, right=right):
            return _holds(left, base, value) or _holds(right, base, value)
    (name,) = {each.name for each in (formula.left, formula.right) if isinstance(each, Name)}  # type: ignore[union-attr]
    compared = _compared(formula, name)
    if compared is None:
        raise AssertionError("only comparisons were gathered")
    cut = _cut(*compared, base)
    is_below = cut is not None and value <= cut
    return is_below is (compared[0] in (Operator.LESS, Operator.AT_MOST))


def _holds_of_nothing(formula: Expression) -> bool:
    """Of a case without a value: a comparison with nothing is false."""
    match formula:
        case Not(operand=operand):
            return not _holds_of_nothing(operand)
        case Binary(operator=Operator.AND, left=left, right=right):
            return _holds_of_nothing(left) and _holds_of_nothing(right)
        case Binary(operator=Operator.OR, left=left, right=right):
            return _holds_of_nothing(left) or _holds_of_nothing(right)
    return False
