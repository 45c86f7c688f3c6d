"""Formulas that are a ratio of two sums, which one mechanism answers at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Binary,
    Bounding,
    DerivedMultiInstance,
    Expression,
    Name,
    NumberLiteral,
    Operator,
)

# Beyond these a factor is no unit, and its errors are no numbers.
SMALLEST_FACTOR, LARGEST_FACTOR = Fraction(1, 10**9), 10**9


@dataclass(frozen=True, slots=True)
class Ratio:
    """`factor` × one sum / another; `within`: in every case the first is a part of the second."""

    factor: Fraction
    part: AggregatedMeasure
    whole: AggregatedMeasure
    within: bool


def ratio_of(measure: DerivedMultiInstance) -> Ratio | None:
    """The ratio of sums that a formula is, if no case can make them negative."""
    named = _written(measure.formula)
    if named is None:
        return None
    factor, numerator, denominator = named
    if not SMALLEST_FACTOR <= abs(factor) <= LARGEST_FACTOR:
        return None
    variables = dict(measure.variables)
    part, whole = variables[numerator], variables[denominator]
    if not (_is_sum(part) and _is_sum(whole)) or _may_be_negative(whole):
        return None
    within = part.within == denominator
    return None if _may_be_negative(part) and not within else Ratio(factor, part, whole, within)


def is_part_of_whole(measure: object) -> bool:
    """Whether a measure is a ratio that has a meaning only as a whole."""
    ratio = ratio_of(measure) if isinstance(measure, DerivedMultiInstance) else None
    return ratio is not None and ratio.within


def _is_sum(measure: object) -> TypeGuard[AggregatedMeasure]:
    """Of declared bounds: a ceiling that is chosen for each of two sums fits neither."""
    return (
        isinstance(measure, AggregatedMeasure)
        and measure.function is Aggregation.SUM
        and measure.bounding is Bounding.DECLARED
    )


def _may_be_negative(measure: AggregatedMeasure) -> bool:
    return measure.bounds is not None and measure.bounds.low < 0


def _written(formula: Expression) -> tuple[Fraction, str, str] | None:
    """Factor, numerator and denominator of c * x / y, x / y * c and the like."""
    match formula:
        case Binary(Operator.DIVIDE, Name(numerator), Name(denominator)):
            return Fraction(1), numerator, denominator
        case Binary(Operator.DIVIDE, Binary(Operator.MULTIPLY) as top, Name(denominator)):
            return _scaled(top, denominator)
        case Binary(Operator.MULTIPLY, NumberLiteral(factor), inner) | Binary(
            Operator.MULTIPLY, inner, NumberLiteral(factor)
        ):
            ratio = _written(inner)
            return None if ratio is None else (factor * ratio[0], *ratio[1:])
        case _:
            return None


def _scaled(top: Binary, denominator: str) -> tuple[Fraction, str, str] | None:
    match top:
        case Binary(_, NumberLiteral(factor), Name(numerator)) | Binary(
            _, Name(numerator), NumberLiteral(factor)
        ):
            return factor, numerator, denominator
        case _:
            return None
