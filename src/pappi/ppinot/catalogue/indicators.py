"""PPIs and catalogues as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pappi.errors import Position
from pappi.ppinot.catalogue.calendars import CALENDARS
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.formulas import Multi
from pappi.ppinot.catalogue.measures import MULTI
from pappi.ppinot.catalogue.quantities import BOUNDS, EPSILON, UNIT, WrittenBounds
from pappi.ppinot.catalogue.releases import RELEASE
from pappi.ppinot.catalogue.scopes import EVERY_MONTH, SCOPE
from pappi.ppinot.catalogue.settling import (
    shown_kind,
    unit_of,
    value_range_of,
    with_bounds,
)
from pappi.ppinot.catalogue.shapes import (
    Entries,
    Field,
    ListOf,
    Named,
    OneOf,
    Problems,
    Record,
    Then,
    Values,
    Written,
)
from pappi.ppinot.catalogue.targets import TARGETS, Targets, targets_of
from pappi.ppinot.model import (
    AggregatedMeasure,
    Catalogue,
    Grouping,
    MultiInstance,
    Ppi,
    ReleaseChoice,
)
from pappi.ppinot.wording import quoted

VALUE = "value"
"""Among the bounds of a PPI: the range of its final value."""


def _text(node: ScalarNode, _: Problems) -> str:
    return node.text.strip()


_TEXT = Written("a text", _text)
_TEXTS: OneOf[tuple[str, ...]] = OneOf(
    "a text or a list of texts",
    text=Then(_TEXT, lambda text: (text,)),
    items=ListOf("a list of texts", _TEXT),
)
_ID = Written(
    "an id of letters, digits, - and _, with a letter first",
    _text,
    example="waiting-time",
    pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,63}$",
)
_ALL_BOUNDS: OneOf[Mapping[str, WrittenBounds]] = OneOf(
    "bounds",
    text=Then(BOUNDS, lambda written: {"": written}),
    items=Then(BOUNDS, lambda written: {"": written}),
    mapping=Record(
        "bounds",
        (),
        lambda values, _: {key.text: written for key, written in values.named if written},
        entries=Entries(
            "a variable",
            "name a variable of the formula, with dots to get deeper: a.b",
            BOUNDS,
            r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
        ),
    ),
)

ID = Field("id", _ID, "a short name, unique in the catalogue", required=True)
NAME = Field("name", _TEXT, "what people call it; the id if not given")
MEASURE = Field("measure", MULTI, "what is measured", required=True)
ALL_BOUNDS = Field(
    "bounds",
    _ALL_BOUNDS,
    "public bounds on what one case contributes: [low, high], [low, high, loose] or private; "
    "for a derived measure such bounds per variable, and as 'value' the range of the result",
)
PPI_UNIT = Field("unit", UNIT, "the unit to show: of time, percent, fraction or any label")
PPI_TARGET = Field(
    "target",
    TARGETS,
    "where the value should be, in the unit shown; as green and amber, with what is tolerated; or "
    "by group",
)
PPI_SCOPE = Field("scope", SCOPE, "the periods asked for; every month if not given")
PPI_EPSILON = Field("epsilon", EPSILON, "how much privacy one value may cost")
PPI_RELEASE = Field("release", RELEASE, "how to release it, where the planner should not choose")
PROCESS = Field("process", _TEXT, "the process it is about")
GOALS = Field("goals", _TEXTS, "what it is for")
RESPONSIBLE = Field("responsible", _TEXT, "who answers for it")
INFORMED = Field("informed", _TEXTS, "who is told about it")
COMMENTS = Field("comments", _TEXT, "anything else")


def _ppi(values: Values, problems: Problems) -> Ppi | None:
    draft = values[MEASURE]
    written = _merged_bounds(draft, values.get(ALL_BOUNDS) or {}, problems)
    kind = shown_kind(draft.measure, written)
    unit = unit_of(draft.measure, kind, values.get(PPI_UNIT), draft.units, problems)
    own = {path: pair for path, pair in written.items() if path != VALUE}
    measure = with_bounds(draft.measure, own, problems)
    if unit is None:
        return None
    target, value = values.get(PPI_TARGET), written.get(VALUE)
    grouping = _grouping(measure)
    targets = targets_of(target, (unit, kind), grouping, problems) if target else Targets()
    ppi = Ppi(
        id=values[ID],
        name=values.get(NAME) or values[ID],
        measure=measure,
        unit=unit,
        scope=values.get(PPI_SCOPE) or EVERY_MONTH,
        target=targets.target,
        value_range=value_range_of(value, unit, kind, problems) if value else None,
        epsilon=values.get(PPI_EPSILON),
        release=values.get(PPI_RELEASE) or ReleaseChoice(),
        tolerated=targets.tolerated,
        group_targets=targets.groups,
        position=values.place(ID),
    )
    return _described(ppi, values)


def _grouping(measure: MultiInstance) -> Grouping | None:
    """How a measure is grouped: all in a formula alike, says the checker, so the first tells."""
    while not isinstance(measure, AggregatedMeasure):
        _, measure = measure.variables[0]
    return measure.grouping


def _merged_bounds(
    draft: Multi, of_ppi: Mapping[str, WrittenBounds], problems: Problems
) -> Mapping[str, WrittenBounds]:
    for path in (path for path in of_ppi if path in draft.bounds):
        whose = f"of {quoted(path)} " if path else ""
        message = f"the bounds {whose}are written twice, on the measure and on the PPI"
        problems.add(of_ppi[path].position, message, "keep one of them")
    return {**draft.bounds, **of_ppi}


def _described(ppi: Ppi, values: Values) -> Ppi:
    return replace(
        ppi,
        process=values.get(PROCESS) or "",
        goals=values.get(GOALS) or (),
        responsible=values.get(RESPONSIBLE) or "",
        informed=values.get(INFORMED) or (),
        comments=values.get(COMMENTS) or "",
    )


PPI: Named[Ppi] = Named(
    "ppi",
    lambda: Record(
        "a PPI",
        (
            *(ID, NAME, MEASURE, ALL_BOUNDS, PPI_UNIT, PPI_TARGET, PPI_SCOPE, PPI_EPSILON),
            PPI_RELEASE,
            *(PROCESS, GOALS, RESPONSIBLE, INFORMED, COMMENTS),
        ),
        _ppi,
    ),
)

LOG = Field("log", _TEXT, "the log the PPIs are about", required=True)
PPIS = Field("ppis", ListOf("a list of PPIs", PPI), "the indicators", required=True)


def _catalogue(values: Values, problems: Problems) -> Catalogue | None:
    first: dict[str, Position] = {}
    for ppi in values[PPIS]:
        if ppi.id in first:
            line = first[ppi.id].line
            problems.add(
                ppi.position, f"the id {quoted(ppi.id)} is taken by the PPI in line {line}"
            )
        first.setdefault(ppi.id, ppi.position)
    if len(first) < len(values[PPIS]):
        return None
    return Catalogue(values[LOG], values[PPIS], file=values.position.file)


CATALOGUE = Record("a catalogue", (LOG, CALENDARS, PPIS), _catalogue)
