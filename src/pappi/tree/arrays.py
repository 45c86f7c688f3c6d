"""Formulas over arrays: above an admissible set, for many imagined outcomes at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot.expressions.evaluate import evaluate
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Number, Operator
from pappi.ppinot.expressions.walk import walk
from pappi.ppinot.model import AggregatedMeasure, MultiInstance
from pappi.tree.composition import ROOT

Floats = NDArray[np.float64]

_ARITHMETIC: dict[Operator, Callable[[Floats, Floats], Floats]] = {
    Operator.ADD: lambda a, b: a + b,
    Operator.SUBTRACT: lambda a, b: a - b,
    Operator.MULTIPLY: lambda a, b: a * b,
    Operator.DIVIDE: lambda a, b: a / np.where(b == 0, np.nan, b),
}


def values_above(
    measure: MultiInstance, released: Mapping[str, Floats], path: str = ROOT
) -> Floats:
    """`value_above` for arrays of one length; NaN where there is no value."""
    if path in released:
        return released[path]
    if isinstance(measure, AggregatedMeasure):
        raise KeyError(path)
    variables = {
        name: values_above(child, released, f"{path}.{name}") for name, child in measure.variables
    }
    return _values(measure.formula, variables)


def _values(formula: Expression, variables: Mapping[str, Floats]) -> Floats:
    """Arithmetic for all at once, anything else one by one."""
    match formula:
        case Name():
            return variables[formula.name]
        case Number():
            return np.full(len(next(iter(variables.values()))), float(formula.value))
        case Binary(operator=operator) if operator in _ARITHMETIC:
            left, right = _values(formula.left, variables), _values(formula.right, variables)
            return _ARITHMETIC[operator](left, right)
    rows = zip(*(column.tolist() for column in variables.values()), strict=True)
    found = [evaluate(formula, dict(zip(variables, row, strict=True))) for row in rows]
    return np.array([value if isinstance(value, float) else math.nan for value in found])


def is_arithmetic(measure: MultiInstance) -> bool:
    if isinstance(measure, AggregatedMeasure):
        return True
    plain = all(
        isinstance(node, Name | Number)
        or (isinstance(node, Binary) and node.operator in _ARITHMETIC)
        for node in walk(measure.formula)
    )
    return plain and all(is_arithmetic(child) for _, child in measure.variables)
