"""Query strings of pandas, as expressions here.

The columns of a log have other names there: `concept:name` is the activity, `time:timestamp`
the timestamp. Something missing is unequal to everything there, also to itself; here no
comparison with it is true. So `a != b` is read as `not (a == b)`.
"""

from __future__ import annotations

from dataclasses import replace

from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Not, Operator, Truth
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.java.formulas import rewritten
from pappi.ppinot.objects.foreign import Foreign

_COLUMNS = {"concept:name": "activity", "time:timestamp": "timestamp"}


def column(name: str) -> str:
    return _COLUMNS.get(name, name)


def read_query(found: Foreign) -> Expression:
    """A condition: a query string, or simply True or False."""
    if isinstance(found.value, bool):
        return Truth(found.value, position=found.position)
    return rewritten(parse_expression(found.text("a query"), found.position), _here)


def read_formula(found: Foreign) -> Expression:
    """A formula, whose names are variables and no columns."""
    return rewritten(parse_expression(found.text("a formula"), found.position), _unequal)


def _here(node: Expression) -> Expression | None:
    if isinstance(node, Name) and node.name in _COLUMNS:
        return replace(node, name=column(node.name))
    match node:
        case Binary(Operator.UNEQUAL, left, right):
            same = (rewritten(left, _here), rewritten(right, _here))
            return _not_equal(*same, node)
    return None


def _unequal(node: Expression) -> Expression | None:
    match node:
        case Binary(Operator.UNEQUAL, left, right):
            return _not_equal(rewritten(left, _unequal), rewritten(right, _unequal), node)
    return None


def _not_equal(left: Expression, right: Expression, node: Expression) -> Expression:
    equal = Binary(Operator.EQUAL, left, right, position=node.position)
    return Not(equal, position=node.position)
