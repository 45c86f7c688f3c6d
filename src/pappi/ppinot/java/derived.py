"""Formulas over measures, as they are read. Fields of ours: `typed`, if durations are durations
and not numbers, and `missing` (true, false or left out) for what a missing variable gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from pappi.ppinot.catalogue.document import Node
from pappi.ppinot.expressions.nodes import Expression, Name
from pappi.ppinot.expressions.walk import walk
from pappi.ppinot.java.case_measures import Read
from pappi.ppinot.java.fields import Context, Fields
from pappi.ppinot.java.formulas import in_numbers, is_too_large
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    DerivedMultiInstance,
    DerivedSingleInstance,
    Missing,
    MultiInstance,
    SingleInstance,
)
from pappi.ppinot.wording import did_you_mean, quoted
from pappi.values.vocabulary import Kind

Reader = Callable[[Node, Context], Read | None]
Variables = list[tuple[str, Read]]

MANY = ("AggregatedMeasure", "DerivedMultiInstanceMeasure")
_MISSING = {each.value: each for each in Missing}


def derived_single(fields: Fields, read: Reader) -> Read | None:
    variables = _variables(fields, read)
    formula = _formula(fields, variables)
    singles = tuple((name, each.measure) for name, each in variables if _is_single(each))
    if len(singles) < len(variables):
        fields.refuse("usedMeasureMap", "a formula over one case has a measure of many in it")
        return None
    missing = fields.word("missing", _MISSING, "what a missing value makes of the formula")
    if formula is None:
        return None
    pairs = cast("tuple[tuple[str, SingleInstance], ...]", singles)
    measure = DerivedSingleInstance(formula, pairs, missing)
    return Read(measure, said=fields)


def derived_multi(fields: Fields, read: Reader) -> Read | None:
    variables = _variables(fields, read)
    formula = _formula(fields, variables)
    multis = tuple((name, each.measure) for name, each in variables if not _is_single(each))
    if len(multis) < len(variables) or not variables:
        message = "a formula over many cases needs measures of many cases to derive from"
        fields.refuse("usedMeasureMap", message, "aggregate those of one case")
        return None
    if formula is None:
        return None
    pairs = cast("tuple[tuple[str, MultiInstance], ...]", multis)
    measure = DerivedMultiInstance(formula, pairs)
    anchors = {each.anchor for _, each in variables}
    if len(anchors) > 1:
        message = "the measures of a formula put cases into periods in different ways"
        fields.refuse("usedMeasureMap", message, "give them one 'periodReferencePoint'")
    return Read(measure, said=fields, anchor=variables[0][1].anchor)


def derived(fields: Fields, read: Reader) -> Read | None:
    """One case or many: as what it is derived from."""
    kinds = [
        inner.text("kind")
        for _, node in fields.entries("usedMeasureMap")
        if (inner := fields.opened(node, "a measure"))
    ]
    many = any(kind in MANY for kind in kinds)
    return derived_multi(fields, read) if many else derived_single(fields, read)


def _is_single(read: Read) -> bool:
    return not isinstance(read.measure, MultiInstance)


def _variables(fields: Fields, read: Reader) -> Variables:
    """The variables of a formula that are sound."""
    entries = fields.entries("usedMeasureMap")
    found = [(key.text, read(node, fields.context)) for key, node in entries]
    return [(name, each) for name, each in found if each is not None]


def _formula(fields: Fields, variables: Variables) -> Expression | None:
    fields.require("function", "a derived measure")
    formula = fields.expression("function")
    defined = [key.text for key, _ in fields.entries("usedMeasureMap")]
    if formula is None or not _all_defined(formula, defined, fields):
        return None
    if fields.flag("typed"):
        return formula
    return _in_numbers(formula, variables, fields)


def _all_defined(formula: Expression, defined: list[str], fields: Fields) -> bool:
    names = [node for node in walk(formula) if isinstance(node, Name)]
    undefined = [name for name in names if name.name not in defined]
    for name in undefined:
        hint = did_you_mean(name.name, defined, "define it in 'usedMeasureMap'")
        message = f"unknown variable {quoted(name.name)}"
        fields.context.problems.add(name.position, message, hint)
    return not undefined


def _in_numbers(formula: Expression, variables: Variables, fields: Fields) -> Expression | None:
    sizes = {name: each.unit.factor for name, each in variables if each.unit is not None}
    untold = [
        name
        for name, each in variables
        if name not in sizes and measure_kind(each.measure, None) is Kind.DURATION
    ]
    if untold:
        message = f"the variable {quoted(untold[0])} is a duration, of which no unit is said"
        fields.refuse("function", message, "write 'typed': true, and durations as in 28 days")
        return None
    found = in_numbers(formula, sizes)
    if is_too_large(found):
        fields.refuse("function", "this formula is too large with its durations in numbers")
        return None
    return found
