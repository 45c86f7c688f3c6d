"""An expression with other expressions in place of some of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Expression,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
)


def renamed(found: Expression, names: Mapping[str, str]) -> Expression:
    """
    >>> renamed(Name("concept:name"), {"concept:name": "activity"})
    Name(name='activity')
    """
    return substituted(found, {old: Name(new) for old, new in names.items()}) if names else found


def substituted(found: Expression, values: Mapping[str, Expression]) -> Expression:
    """Every name that has a value here, by that value; the height of `found` bounds the depth."""
    match found:
        case Name() if found.name in values:
            return replace(values[found.name], position=found.position)
        case Negate() | Not() | IsMissing():
            return replace(found, operand=substituted(found.operand, values))
        case Binary():
            left, right = substituted(found.left, values), substituted(found.right, values)
            return replace(found, left=left, right=right)
        case OneOf():
            return replace(found, operand=substituted(found.operand, values))
        case Choose():
            return replace(
                found,
                condition=substituted(found.condition, values),
                then=substituted(found.then, values),
                otherwise=substituted(found.otherwise, values),
            )
        case Apply():
            arguments = tuple(substituted(each, values) for each in found.arguments)
            return replace(found, arguments=arguments)
        case _:
            return found
