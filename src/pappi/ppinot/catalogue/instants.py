"""Instants of a case: where a time starts or ends, and what puts a case into a period."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.errors import Position
from pappi.ppinot.catalogue.conditions import CONDITION, CONDITION_RECORDS, parse_formula
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Field,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Values,
    Written,
)
from pappi.ppinot.model import CaseBorder, EventCondition, Moment, Occurs, Pick


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant as written; `pick` is which of several, if that is said."""

    moment: Moment
    pick: Pick | None
    position: Position


def _instant(node: ScalarNode, problems: Problems) -> Instant | None:
    words = " ".join(node.text.lower().split())
    if words in tuple(CaseBorder):
        return Instant(CaseBorder(words), None, node.position)
    test = parse_formula(node, problems)
    return None if test is None else Instant(Occurs(test), None, node.position)


def _picked(pick: Pick) -> Record[Instant]:
    doc = f"the {pick} event that satisfies this"
    which: Field[EventCondition] = Field(pick.value, CONDITION, doc, required=True)
    return Record(
        "an instant", (which,), lambda values, _: Instant(values[which], pick, values.position)
    )


def _at_each(record: Record[EventCondition]) -> Record[Instant]:
    """A condition as an instant, which of several left open."""

    def build(values: Values, problems: Problems) -> Instant | None:
        condition = record.build(values, problems)
        return None if condition is None else Instant(condition, None, values.position)

    return Record("an instant", record.fields, build)


_INSTANTS: Tagged[Instant] = Tagged(
    "an instant",
    {
        **{tag: _at_each(record) for tag, record in CONDITION_RECORDS.items()},
        **{pick.value: _picked(pick) for pick in Pick},
    },
)
_INSTANT: OneOf[Instant] = OneOf(
    "an instant",
    text=Written(
        "an instant: case start, case end or a condition on events",
        _instant,
        example="case start",
        types=("string", "boolean"),
    ),
    mapping=_INSTANTS,
)
INSTANT: Named[Instant] = Named("instant", lambda: _INSTANT)
