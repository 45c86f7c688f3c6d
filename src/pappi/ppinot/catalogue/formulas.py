"""Formulas over variables that stand beside them, and what measures leave to the whole PPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from pappi.ppinot.catalogue.conditions import FORMULA
from pappi.ppinot.catalogue.quantities import Label, WrittenBounds
from pappi.ppinot.catalogue.shapes import MAX_SUGGESTED, Entries, Field, Problems, Shape, Values
from pappi.ppinot.expressions.nodes import Expression, Name
from pappi.ppinot.expressions.walk import names_in, walk
from pappi.ppinot.model import MultiInstance, SingleInstance
from pappi.ppinot.wording import did_you_mean, listed, quoted

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Draft(Generic[M]):
    """A measure, with what was written inside it but belongs to the whole PPI.

    `units` are those of its time measures; `bounds` those of its aggregations,
    by the path of variables that leads to them ("" for the measure itself).
    """

    measure: M
    units: tuple[Label, ...] = ()
    bounds: Mapping[str, WrittenBounds] = field(default_factory=dict)


Single = Draft[SingleInstance]
Multi = Draft[MultiInstance]

DERIVE: Field[Expression] = Field(
    "derive", FORMULA, "a formula over the variables defined beside it", required=True
)


def variables(shape: Shape[M], *taken: str) -> Entries[M]:
    """Entries for the variables of a formula; the words `taken` mean something else there."""
    hint = f"letters, digits and _ make a name; {listed(taken, 'and')} are taken"
    others = "|".join(f"{word}$" for word in taken)
    return Entries("a variable", hint, shape, rf"^(?!{others})[A-Za-z_][A-Za-z0-9_]*$")


def variables_match(values: Values, problems: Problems) -> bool:
    """Whether the formula uses exactly the variables beside it, and they are all sound."""
    formula = values[DERIVE]
    defined = {key.text: key for key, _ in values.named}
    undefined = [name for name in _names(formula) if name.name not in defined]
    for name in undefined:
        known = islice(defined, MAX_SUGGESTED)
        hint = did_you_mean(name.name, known, "define it beside 'derive'")
        problems.add(name.position, f"unknown variable {quoted(name.name)}", hint)
    if undefined:
        return False
    used = names_in(formula)
    unused = [key for text, key in defined.items() if text not in used]
    for key in unused:
        problems.add(key.position, f"the formula does not use the variable {quoted(key.text)}")
    return not unused and all(draft for _, draft in values.named)


def _names(formula: Expression) -> list[Name]:
    return [node for node in walk(formula) if isinstance(node, Name)]
