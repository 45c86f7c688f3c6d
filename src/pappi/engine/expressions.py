"""Expressions of the closed grammar, and names, as SQL expressions.

The subset of SQL is kept small, so that every engine gives the same answer, and
everything is total: an error that depends on data would be a leak. Numbers are
DOUBLE, which overflows into infinity and not into an error (and an infinite result
is missing); a division by zero is NULL, that is, missing; a truth value is never
NULL, because a comparison with a missing value is false; `min` and `max` take the
values that are present. Names and literals become sqlglot nodes and are never pasted.

A database may copy the operand of NULLIF and CASE when it plans. The only operand
that is tested here is a divisor, and `ppinot` bounds how deep divisors nest, so a
query stays in proportion to its definition.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from pappi.ppinot import (
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
)
from pappi.values import Kind

TOTAL = "total"
"""Marks arithmetic of a definition, which has a result whatever its operands are."""
_COMPARISONS: dict[Operator, type[exp.Binary]] = {
    Operator.EQUAL: exp.EQ,
    Operator.UNEQUAL: exp.NEQ,
    Operator.LESS: exp.LT,
    Operator.AT_MOST: exp.LTE,
    Operator.GREATER: exp.GT,
    Operator.AT_LEAST: exp.GTE,
}
_ARITHMETIC: dict[Operator, type[exp.Binary]] = {
    Operator.ADD: exp.Add,
    Operator.SUBTRACT: exp.Sub,
    Operator.MULTIPLY: exp.Mul,
    Operator.DIVIDE: exp.Div,
    Operator.REMAINDER: exp.Mod,
}
_LOGIC: dict[Operator, type[exp.Connector]] = {Operator.AND: exp.And, Operator.OR: exp.Or}


# --- names, and the columns every event table has ------------------------------------


def column_named(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def table_named(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def source_table(names: tuple[str, ...]) -> exp.Table:
    """A table of another database: a name, or a schema and a name."""
    *schema, name = (exp.to_identifier(part, quoted=True) for part in names)
    return exp.Table(this=name, db=schema[-1] if schema else None)


def alias(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True, copy=False)


CASE_ID = "case_id"
FIRST_POSITION = "first_pos"
TIME = column_named("ts_us")
POSITION = column_named("pos")


# --- values --------------------------------------------------------------------------


def double(value: Fraction | int) -> exp.Expr:
    return as_double(exp.Literal.number(repr(float(value))))


# sqlglot's helpers copy what they are given, which costs the square of a formula's depth. Nodes
# are built directly instead; whatever stands in two places is copied where that happens.


def as_double(column: exp.Expr) -> exp.Expr:
    return exp.Cast(this=column, to=exp.DType.DOUBLE.into_expr())


def finite(column: exp.Expr) -> exp.Expr:
    """A column as DOUBLE, with what is no finite number missing.

    For columns alone: a database may copy the operand, and nested copies multiply.
    """
    return when(is_finite(column), as_double(column.copy()))


def is_finite(column: exp.Expr) -> exp.Expr:
    """Only of a finite number x - x is zero."""
    number = as_double(column.copy())
    return exp.EQ(this=exp.Sub(this=number, expression=number.copy()), expression=double(0))


def present(column: exp.Expr) -> exp.Expr:
    return exp.Is(this=column.copy(), expression=exp.Not(this=exp.null()))


def when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The value where the condition holds, NULL elsewhere."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def never_null(condition: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=condition, expressions=[exp.false()])


# --- expressions ---------------------------------------------------------------------


Columns = Callable[[str], tuple[exp.Expr, Kind]]
"""What a name stands for: a raw SQL column and its kind."""


def compile_expression(expression: Expression, columns: Columns) -> exp.Expr:
    """The SQL of an expression that has been checked; see `ppinot.checks`."""
    return _Compiler(columns).compile(expression)


def compile_test(expression: Expression, columns: Columns) -> exp.Expr:
    """The same where it is only asked whether it is true, and NULL is as good as false.

    That is so in CASE WHEN and WHERE, where it spares a test for NULL at every event.
    """
    return _Compiler(columns).test(expression)


class _Compiler:
    """One visit of an expression; holds what its names stand for."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def compile(self, node: Expression) -> exp.Expr:
        match node:
            case (
                NumberLiteral()
                | TextLiteral()
                | TruthLiteral()
                | DurationLiteral()
                | InstantLiteral()
            ):
                return _literal(node)
            case Name(name=name):
                return self._name(name)
            case Negate(operand=operand):
                return exp.Neg(this=_paren(self.compile(operand)))
            case Not(operand=operand):
                return exp.Not(this=_paren(self.compile(operand)))
            case Binary():
                return self._binary(node)
            case OneOf():
                return never_null(self._among(node))
            case IsMissing(operand=operand):
                return _paren(exp.Is(this=self._raw(operand), expression=exp.null()))
            case Choose(condition=condition, then=then, otherwise=otherwise):
                chosen = exp.If(this=self.compile(condition), true=self.compile(then))
                return exp.Case(ifs=[chosen], default=self.compile(otherwise))
            case Apply():
                return self._apply(node)

    def test(self, node: Expression) -> exp.Expr:
        match node:
            case Binary(operator=operator) if operator in _LOGIC:
                left, right = _paren(self.test(node.left)), _paren(self.test(node.right))
                return _paren(_LOGIC[operator](this=left, expression=right))
            case Binary(operator=operator) if operator in _COMPARISONS:
                return self._compared(node)
            case OneOf():
                return self._among(node)
            case _:
                return self.compile(node)

    def _name(self, name: str) -> exp.Expr:
        column, kind = self._columns(name)
        match kind:
            case Kind.TRUTH:
                return never_null(column.copy())
            case Kind.TEXT:
                return column.copy()
            case _:
                return finite(column)

    def _raw(self, operand: Expression) -> exp.Expr:
        """A bare truth attribute may be missing, though as a condition it is false."""
        if isinstance(operand, Name):
            column, kind = self._columns(operand.name)
            if kind is Kind.TRUTH:
                return column.copy()
        if isinstance(operand, Choose):
            chosen = exp.If(this=self.compile(operand.condition), true=self._raw(operand.then))
            return exp.Case(ifs=[chosen], default=self._raw(operand.otherwise))
        return _paren(self.compile(operand))

    def _binary(self, node: Binary) -> exp.Expr:
        operator = node.operator
        if operator in _COMPARISONS:
            return never_null(self._compared(node))
        left, right = _paren(self.compile(node.left)), _paren(self.compile(node.right))
        if operator in _LOGIC:
            return _paren(_LOGIC[operator](this=left, expression=right))
        if operator in (Operator.DIVIDE, Operator.REMAINDER):
            right = exp.Nullif(this=right, expression=double(0))
        result = _ARITHMETIC[operator](this=left, expression=right)
        result.meta[TOTAL] = True
        return _paren(result)

    def _compared(self, node: Binary) -> exp.Expr:
        left, right = self._raw(node.left), self._raw(node.right)
        return _COMPARISONS[node.operator](this=left, expression=right)

    def _among(self, node: OneOf) -> exp.Expr:
        choices = [_literal(choice) for choice in node.choices]
        return exp.In(this=self._raw(node.operand), expressions=choices)

    def _apply(self, node: Apply) -> exp.Expr:
        first, *rest = (self.compile(argument) for argument in node.arguments)
        match node.function:
            case Function.ABS:
                return exp.Abs(this=first)
            case Function.ROUND:
                return exp.Round(this=first)
            case Function.MIN:
                return exp.Least(this=first, expressions=rest, ignore_nulls=True)
            case Function.MAX:
                return exp.Greatest(this=first, expressions=rest, ignore_nulls=True)


def _paren(inner: exp.Expr) -> exp.Expr:
    return exp.Paren(this=inner)


def _literal(node: AnyLiteral) -> exp.Expr:
    match node:
        case NumberLiteral(value=value):
            return double(value)
        case TextLiteral(value=text):
            return exp.Literal.string(text)
        case TruthLiteral(value=truth):
            return exp.Boolean(this=truth)
        case DurationLiteral(microseconds=microseconds):
            return double(microseconds)
        case InstantLiteral(ts_us=ts_us):
            return double(ts_us)
