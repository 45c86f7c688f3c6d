"""A notation as somebody would add one: the share of cases in which an activity occurs, by line.

about claims
paid: Pay claim
"""

from __future__ import annotations

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.expressions import activity_of, is_activity
from pappi.ppinot.model import (
    EVERY_MONTH,
    ID,
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    ConditionMeasure,
    Occurs,
    Ppi,
    usual_bounds,
    usual_unit,
)
from pappi.values import quoted


def read_toy(text: str, file: str) -> Catalogue:
    """The catalogue a text says; DefinitionError with every problem in it."""
    first, *lines = text.splitlines() or [""]
    problems = []
    if not first.startswith("about "):
        hint = "write e.g. about claims"
        problems.append(Problem(Position(file, 1, 1), "the log is not named", hint))
    ppis = []
    for number, line in enumerate(lines, start=2):
        identifier, _, activity = line.partition(": ")
        place = Position(file, number, 1)
        if ID.fullmatch(identifier) and activity:
            ppis.append(_ppi(identifier, activity, place))
        else:
            message = f"expected an id and an activity, found {quoted(line)}"
            problems.append(Problem(place, message, "write e.g. paid: Pay claim"))
    if problems:
        raise DefinitionError(problems)
    return Catalogue(first.removeprefix("about "), tuple(ppis), file=file)


def _ppi(identifier: str, activity: str, place: Position) -> Ppi:
    base = ConditionMeasure(Occurs(is_activity(activity, place)))
    bounds = usual_bounds(Aggregation.SHARE, base)
    measure = AggregatedMeasure(Aggregation.SHARE, base, bounds=bounds, position=place)
    unit = usual_unit(measure)
    return Ppi(identifier, identifier, measure, unit, EVERY_MONTH, position=place)


def write_toy(catalogue: Catalogue) -> str:
    """The catalogue in lines; DefinitionError if they cannot say it."""
    lines = [f"about {catalogue.log}"]
    for ppi in catalogue.ppis:
        activity = _activity(ppi) or ""
        if ppi != _ppi(ppi.id, activity, ppi.position):
            message = f"the toy notation cannot express {quoted(ppi.id)}"
            raise DefinitionError([Problem(ppi.position, message)])
        lines.append(f"{ppi.id}: {activity}")
    return "\n".join(lines) + "\n"


def _activity(ppi: Ppi) -> str | None:
    match ppi.measure:
        case AggregatedMeasure(base=ConditionMeasure(when=Occurs(condition=test))):
            return activity_of(test)
    return None
