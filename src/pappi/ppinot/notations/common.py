"""What every notation makes of a definition in the same way, before it is the model's.

Tests of one event; formulas with other expressions in place of some of their parts; what a case
contributes, and the unit a value is shown in, where nothing is said; ids of PPIs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import islice

from pappi.errors import Position, Problem
from pappi.ppinot.expressions.grammar import KEYWORDS, MAX_DEPTH, MAX_DIVISORS, NOTHING
from pappi.ppinot.expressions.nodes import (
    NOWHERE,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
    TextLiteral,
    divisor_depth,
    height,
    walk,
)
from pappi.ppinot.model import (
    FIRST_DAY,
    LAST_DAY,
    MAX_PERIODS,
    AggregatedMeasure,
    Aggregation,
    Moment,
    MultiInstance,
    Pick,
    Ppi,
    Recent,
    SingleInstance,
    measure_kind,
)
from pappi.values import (
    HOURS,
    NUMBER,
    PERCENT,
    UNIT_INTERVAL,
    Bounds,
    Calendar,
    Grid,
    Kind,
    Unit,
    did_you_mean,
    quoted,
)

ID = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{0,63}")
"""The id of a PPI."""

MAX_SUGGESTED = 100
"""Among how many names of the writer's a suggestion is sought: it must stay cheap."""

Sizes = Mapping[str, Fraction]
"""For each variable that is a duration: how many microseconds its unit has."""


# --- tests of one event, and instants --------------------------------------------------

TRANSITION_ATTRIBUTE = "lifecycle:transition"
"""The attribute that holds the transition of an activity's life cycle."""


def is_activity(name: str, position: Position = NOWHERE) -> Expression:
    return equals("activity", name, position)


def activity_of(expression: Expression) -> str | None:
    """The activity of `activity == "A"`; None if the expression is another one."""
    match expression:
        case Binary(Operator.EQUAL, Name("activity"), TextLiteral(activity)):
            return activity
    return None


def equals(attribute: str, value: str, position: Position = NOWHERE) -> Expression:
    left, right = Name(attribute, position=position), TextLiteral(value, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


def is_transition(*transitions: str, position: Position = NOWHERE) -> Expression:
    """Logs write a transition in various capitals."""
    spelt = [way for transition in transitions for way in spellings(transition)]
    if len(spelt) == 1:
        return equals(TRANSITION_ATTRIBUTE, spelt[0], position)
    ways = tuple(TextLiteral(way, position=position) for way in spelt)
    return OneOf(Name(TRANSITION_ATTRIBUTE, position=position), ways, position=position)


def spellings(transition: str) -> tuple[str, ...]:
    """
    >>> spellings("Complete"), spellings("5")
    (('Complete', 'complete', 'COMPLETE'), ('5',))
    """
    ways = (transition, transition.lower(), transition.upper(), transition.capitalize())
    return tuple(dict.fromkeys(ways))


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant of a case as it is written; `pick` is which of several, if that is said."""

    moment: Moment
    pick: Pick | None = None


def both(left: Expression, right: Expression) -> Expression:
    return Binary(Operator.AND, left, right, position=left.position)


# --- formulas -------------------------------------------------------------------------


def rewritten(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with `change` made, outermost first, where it gives something."""
    changed = change(expression)
    if changed is not None:
        return changed

    def inner(node: Expression) -> Expression:
        return rewritten(node, change)

    match expression:
        case Negate() | Not() | IsMissing() | OneOf():
            return replace(expression, operand=inner(expression.operand))
        case Binary():
            return replace(expression, left=inner(expression.left), right=inner(expression.right))
        case Choose():
            sides = inner(expression.condition), inner(expression.then), inner(expression.otherwise)
            return Choose(*sides, position=expression.position)
        case Apply():
            return replace(expression, arguments=tuple(map(inner, expression.arguments)))
        case _:
            return expression


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with values in place of the names that have one.

    >>> substituted(Name("concept:name"), {"concept:name": Name("activity")})
    Name(name='activity')
    """

    def value(node: Expression) -> Expression | None:
        value_of_name = values.get(node.name) if isinstance(node, Name) else None
        return None if value_of_name is None else replace(value_of_name, position=node.position)

    return rewritten(expression, value) if values else expression


def in_numbers(formula: Expression, sizes: Sizes) -> Expression:
    """The formula with each duration turned into the number it is in its unit.

    Other tools compute with such numbers: `t < 28` over days means 28 days there. Here durations
    have a kind of their own, so that is `t / 1 day < 28`.
    """

    def number(node: Expression) -> Expression | None:
        if not isinstance(node, Name) or node.name not in sizes:
            return None
        unit = DurationLiteral(sizes[node.name], position=node.position)
        return Binary(Operator.DIVIDE, node, unit, position=node.position)

    return rewritten(formula, number)


def out_of_numbers(formula: Expression, names: frozenset[str]) -> tuple[Expression, Sizes] | None:
    """What `in_numbers` was given: the inverse, where there is one.

    Every duration has to be divided by its unit, always by the same one.
    """
    sizes: dict[str, Fraction] = {}

    def plain(node: Expression) -> Expression | None:
        match node:
            case Binary(Operator.DIVIDE, Name(name), DurationLiteral(size)) if name in names:
                if sizes.setdefault(name, size) == size:
                    return node.left
        return None

    plain_formula = rewritten(formula, plain)
    # What was replaced is read again as what it was; a duration left alone would not be.
    again = in_numbers(plain_formula, sizes)
    used = {node.name for node in walk(formula) if isinstance(node, Name)}
    return (plain_formula, sizes) if again == formula and used & names <= sizes.keys() else None


def is_too_large(formula: Expression) -> bool:
    """Whether the grammar could no longer read the formula."""
    return height(formula) > MAX_DEPTH or divisor_depth(formula) > MAX_DIVISORS


def undefined_variables(formula: Expression, defined: Iterable[str], define: str) -> list[Problem]:
    """Names in a formula that are no variables of it; `define` says where to make them some."""
    known = dict.fromkeys(defined)
    return [
        Problem(
            node.position,
            f"unknown variable {quoted(node.name)}",
            did_you_mean(node.name, islice(known, MAX_SUGGESTED), define),
        )
        for node in walk(formula)
        if isinstance(node, Name) and node.name not in known
    ]


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


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = KEYWORDS | NOTHING | {"derive", "value", "missing", "data"}


def variable_for(attribute: str) -> str:
    """What a formula calls an attribute: its own name where a variable may be called so.

    >>> variable_for("amount"), variable_for("org:group"), variable_for("value")
    ('amount', 'data', 'data')
    """
    is_free = _VARIABLE.fullmatch(attribute) and attribute.lower() not in _TAKEN
    return attribute if is_free else "data"


# --- what is usual --------------------------------------------------------------------


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


def unclear_share(limit: Fraction) -> tuple[str, str]:
    """What to ask about a share between 0 and 1 written without its sign: a part, or percent?

    >>> unclear_share(Fraction(9, 10))
    ('a share of 0.9 may mean 90 % or 0.9 %', 'write 90 % or 0.9 %')
    """
    part, percent = f"{float(100 * limit):g} %", f"{float(limit):g} %"
    meant = f"{part} or {percent}"
    return f"a share of {float(limit):g} may mean {meant}", f"write {meant}"


# --- ids ------------------------------------------------------------------------------


def twins(ppis: Sequence[Ppi]) -> Iterator[tuple[Position, str]]:
    """Where an id is used again, and what to say about it."""
    first: dict[str, Position] = {}
    for ppi in ppis:
        if ppi.id in first:
            place = first[ppi.id]
            where = f"in line {place.line}" if place.line else f"at {place}"
            yield ppi.position, f"the id {quoted(ppi.id)} is already used by the PPI {where}"
        first.setdefault(ppi.id, ppi.position)
