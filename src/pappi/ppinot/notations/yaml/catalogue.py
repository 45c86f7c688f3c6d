"""Catalogues: text into the model, the model into text, and their JSON Schema.

What is written is short, and without loss: it is read again before it is handed out, so that it
can not say anything else than the catalogue it was written from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, cast

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot import grammar
from pappi.ppinot.model import (
    EVERY_MONTH,
    Catalogue,
    NoiseOn,
    Ppi,
    ReleaseChoice,
    Wanted,
)
from pappi.ppinot.notations.document import (
    MAX_DEPTH,
    Bare,
    Literal,
    Node,
    Plain,
    Problems,
    ScalarNode,
    json_text,
    read_document,
    structure_node,
    twins,
    yaml_text,
)
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    EPSILON,
    SHARE_OF_CASES,
    UNIT,
    VIEW,
    VIEW_DOC,
    Shown,
    Targets,
    WrittenBounds,
    decimal_text,
    shown_kind,
    targets_in,
    unit_of,
    with_bounds,
)
from pappi.ppinot.notations.shapes import (
    ByForm,
    Entries,
    Field,
    Json,
    ListOf,
    Named,
    Parts,
    Record,
    SchemaDefs,
    Then,
    Unwritable,
    Values,
    Within,
    Written,
    attributes_read,
    attributes_said,
    one_word_of,
    record_of,
    words_of,
)
from pappi.ppinot.notations.yaml.measures import (
    CALENDAR,
    CALENDARS,
    MULTI,
    Multi,
    WrittenMeasure,
    named_calendars,
)
from pappi.ppinot.notations.yaml.scopes import SCOPE
from pappi.ppinot.views import View
from pappi.values import WorkingCalendar, quoted

# --- how a PPI is to be released ------------------------------------------------------

_NAME = Written("a variable, or 'value'", lambda node, _: node.text.strip(), example="received")
# Which mechanisms there are is checked by whoever knows them: see `check_catalogue`.
_MECHANISM_NAME = r"^[a-z][a-z0-9]*(?:[ \-][a-z0-9]+)*$"
_MECHANISM = Written(
    "a mechanism", lambda node, _: node.text.strip(), "two-bin", _MECHANISM_NAME, text=Bare
)


def _share(node: ScalarNode, problems: Problems) -> Fraction | None:
    share = Fraction(node.text.strip())
    if not 0 < share <= 1:
        problems.add(node.position, "a share of epsilon is above 0 and at most 1", "write e.g. 0.3")
        return None
    return share


def _decimal(number: Fraction) -> str:
    return Literal(decimal_text(number))


ANSWER = Field(
    "answer",
    one_word_of("'value' or 'verdict'", words_of(Wanted)),
    "what is wanted: the value, or only whether the target is met, which is more accurate",
)
MECHANISM = Field(
    "mechanism", _MECHANISM, "the mechanism; the one with the smallest predicted error if not given"
)
OWN_MECHANISM = Field(
    "mechanism", _MECHANISM, "the mechanism of this function; the planner's choice if not given"
)
SHARE = Field(
    "share",
    Written(
        "a share of epsilon",
        _share,
        example="0.3",
        pattern=r"^\s*[0-9]{0,9}\.?[0-9]{1,9}\s*$",
        types=("number", "string"),
        text=_decimal,
    ),
    "its share of epsilon, above 0; shares add up to at most 1, and the planner divides "
    "what is left among the functions without one",
)


# Under the name of its function, which the entry does not know.
_OWN: ByForm[NoiseOn] = ByForm(
    "a mechanism, or a mapping with 'mechanism' and 'share'",
    text=Written(
        "a mechanism",
        lambda node, _: NoiseOn("", node.text.strip(), position=node.position),
        "two-bin",
        _MECHANISM_NAME,
        text=lambda noise: Bare(noise.mechanism) if noise.mechanism and not noise.share else None,
    ),
    mapping=Record(
        "noise of a function",
        (OWN_MECHANISM, SHARE),
        lambda values, _: NoiseOn(
            "",
            values.get(OWN_MECHANISM),
            values.get(SHARE),
            position=values.place(OWN_MECHANISM),
        ),
        parts=lambda noise: {OWN_MECHANISM: noise.mechanism, SHARE: noise.share},
    ),
)


def _function_alone(noise: NoiseOn) -> str | None:
    return noise.function if noise == NoiseOn(noise.function) else None


NOISE: Field[tuple[NoiseOn, ...]] = Field(
    "noise",
    ByForm(
        "functions",
        text=Then(
            _NAME,
            lambda name: (NoiseOn(name),),
            lambda noise: _function_alone(noise[0]) if len(noise) == 1 else None,
        ),
        items=ListOf("a list of variables", Then(_NAME, NoiseOn, _function_alone)),
        mapping=Record(
            "functions",
            (),
            lambda values, _: tuple(
                replace(own, function=key.text) for key, own in values.named if own is not None
            ),
            entries=Entries(
                "a function",
                "name a variable of the formula, with dots for nested ones, or 'value'",
                _OWN,
                r"^[A-Za-z_][A-Za-z0-9_\-]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
            ),
            parts=lambda noise: {on.function: on for on in noise},
        ),
    ),
    "the functions that carry the noise, by the names that `ppi show` lists: variables of the "
    "formula, or 'value' for the result; each with a mechanism and a share of epsilon, if wanted",
)
FALLOFF = Field(
    "falloff",
    Written(
        "a number",
        lambda node, _: Fraction(node.text.strip()),
        example="3",
        pattern=r"^\s*[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?\s*$",
        types=("number", "string"),
        text=_decimal,
    ),
    "for the threshold mechanism: how many times as much ε goes to the verdict as to the value",
)
BUCKETS = Field(
    "buckets",
    Written(
        "a whole number",
        lambda node, _: int(node.text),
        example="20",
        pattern=r"^[0-9]{1,9}$",
        types=("integer",),
        text=Literal,
    ),
    "for sample-and-aggregate: the number of buckets the cases are divided into",
)


_ON_OR_OFF = one_word_of("'on' or 'off'", {"on": True, "off": False})
SET = Field(
    "set",
    _ON_OR_OFF,
    "under a total for all PPIs: whether this one may share a draw with others",
)


CLIPPING = Field(
    "clipping",
    _ON_OR_OFF,
    "whether the share of cases beyond the bounds is released along with a mean or sum",
)


RELEASE = record_of(
    "a release",
    ReleaseChoice,
    MECHANISM,
    answer=ANSWER,
    mechanism=MECHANISM,
    noise=NOISE,
    falloff=FALLOFF,
    buckets=BUCKETS,
    in_set=SET,
    clipping=CLIPPING,
)

# --- PPIs -----------------------------------------------------------------------------


VALUE = "value"
"""Among the bounds of a PPI: the range of its final value."""


def _text(node: ScalarNode, _: Problems) -> str:
    return node.text.strip()


_TEXT = Written("a text", _text)
_TEXTS: ByForm[tuple[str, ...]] = ByForm(
    "a text or a list of texts",
    text=Then(_TEXT, lambda text: (text,), lambda texts: texts[0] if len(texts) == 1 else None),
    items=ListOf("a list of texts", _TEXT),
)
_ID = Written(
    "an id of letters, digits, - and _, starting with a letter",
    _text,
    example="waiting-time",
    pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,63}$",
)
_BOUNDS_OF_ALL: Then[WrittenBounds, Mapping[str, WrittenBounds]] = Then(
    BOUNDS, lambda written: {"": written}, lambda by_path: by_path.get("")
)
_ALL_BOUNDS: ByForm[Mapping[str, WrittenBounds]] = ByForm(
    "bounds",
    text=_BOUNDS_OF_ALL,
    items=_BOUNDS_OF_ALL,
    mapping=Record(
        "bounds",
        (),
        lambda values, _: {key.text: written for key, written in values.named if written},
        entries=Entries(
            "a variable",
            "name a variable of the formula; use dots for nested ones: a.b",
            BOUNDS,
            r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
        ),
        parts=lambda by_path: by_path,
    ),
)

TARGETS = Within(targets_in)

ID = Field("id", _ID, "a short name, unique in the catalogue", required=True)
NAME = Field("name", _TEXT, "its display name; the id if not given")
MEASURE = Field("measure", MULTI, "what is measured", required=True)
ALL_BOUNDS = Field(
    "bounds",
    _ALL_BOUNDS,
    "public clipping bounds on what one case contributes: [low, high], [low, high, loose] or "
    "private; for a derived measure, bounds per variable, and the output range as 'value'",
)
PPI_UNIT = Field("unit", UNIT, "the unit to show: of time, percent, fraction or any label")
PPI_TARGET: Field[Node] = Field(
    "target",
    TARGETS,
    "the values to aim for, in the unit shown; as bands, green and amber (still tolerated); or by "
    "group",
)
PPI_SCOPE = Field("scope", SCOPE, "the periods asked for; every month if not given")
PPI_SHOW: Field[View] = Field("show", VIEW, VIEW_DOC)
PPI_EPSILON = Field("epsilon", EPSILON, "the ε that one value may cost")
PPI_RELEASE = Field(
    "release", RELEASE, "how to release it; the planner chooses whatever is not given"
)
PPI_EXPECTED = Field(
    "expected",
    SHARE_OF_CASES,
    "your guess of the share of a period's cases that it is about, those that pass its filters and "
    "have a value: for forecasts alone, it changes nothing that is released",
)
PROCESS = Field("process", _TEXT, "the process it is about")
GOALS = Field("goals", _TEXTS, "what it is for")
RESPONSIBLE = Field("responsible", _TEXT, "who is responsible for it")
INFORMED = Field("informed", _TEXTS, "who is informed about it")
COMMENTS = Field("comments", _TEXT, "anything else")
_PLAIN: dict[str, Field[Any]] = {
    "show": PPI_SHOW,
    "epsilon": PPI_EPSILON,
    "release": PPI_RELEASE,
    "expected": PPI_EXPECTED,
    "process": PROCESS,
    "goals": GOALS,
    "responsible": RESPONSIBLE,
    "informed": INFORMED,
    "comments": COMMENTS,
}
"""The attributes of a PPI that are written as they are."""


def _ppi(values: Values, problems: Problems) -> Ppi | None:
    read = values[MEASURE]
    written = _merged_bounds(read, values.get(ALL_BOUNDS) or {}, problems)
    kind = shown_kind(read.measure, written)
    unit = unit_of(read.measure, kind, values.get(PPI_UNIT), read.units, problems)
    value = written.pop(VALUE, None)
    measure = with_bounds(read.measure, written, problems)
    if unit is None:
        return None
    shown = Shown.in_unit(measure, unit, kind, is_said=values.get(PPI_UNIT) is not None)
    node = values.get(PPI_TARGET)
    aimed = shown.of_view(values.get(PPI_SHOW))
    targets = (node and TARGETS.resolved(node, aimed, problems)) or Targets()
    return Ppi(
        id=values[ID],
        name=values.get(NAME) or values[ID],
        measure=measure,
        unit=unit,
        scope=values.get(PPI_SCOPE) or EVERY_MONTH,
        target=targets.target,
        value_range=shown.read_range(value, problems) if value else None,
        tolerated=targets.tolerated,
        group_targets=targets.groups,
        position=values.place(ID),
        **attributes_read(values, **_PLAIN),
    )


def _merged_bounds(
    read: Multi, of_ppi: Mapping[str, WrittenBounds], problems: Problems
) -> dict[str, WrittenBounds]:
    for path in (path for path in of_ppi if path in read.bounds):
        whose = f"of {quoted(path)} " if path else ""
        message = f"the bounds {whose}are given twice, on the measure and on the PPI"
        problems.add(of_ppi[path].position, message, "keep one of them")
    return {**read.bounds, **of_ppi}


def _parts(ppi: Ppi) -> Parts:
    """With a range of the value among its bounds, a single measure has its own bounds itself."""
    shown = Shown.of(ppi)
    bounds, inside = shown.case_bounds(ppi.measure), {}
    if ppi.value_range is not None:
        inside = {"": bounds.pop("")} if "" in bounds else {}
        bounds[VALUE] = shown.written_range(ppi.value_range)
    usual_unit = unit_of(ppi.measure, shown.kind, None, (), Problems())
    targets = Targets.of(ppi)
    return {
        ID: ppi.id,
        NAME: ppi.name if ppi.name not in (ppi.id, "") else None,
        MEASURE: WrittenMeasure(ppi.measure, bounds=inside),
        ALL_BOUNDS: bounds or None,
        PPI_UNIT: None if ppi.unit == usual_unit else ppi.unit.name or None,
        PPI_TARGET: None
        if targets == Targets()
        else targets_in(shown.of_view(ppi.show)).write(targets),
        PPI_SCOPE: ppi.scope,
        **attributes_said(ppi, **_PLAIN),
    }


PPI: Named[Ppi] = Named(
    "ppi",
    lambda: Record(
        "a PPI",
        (ID, NAME, MEASURE, ALL_BOUNDS, PPI_UNIT, PPI_TARGET, PPI_SCOPE, *_PLAIN.values()),
        _ppi,
        parts=_parts,
    ),
)

# --- catalogues -----------------------------------------------------------------------

LOG = Field("log", _TEXT, "the log the PPIs are about", required=True)
TOTAL = Field("total", EPSILON, "the ε of all PPIs together, in each block; they share one draw")
PPIS = Field("ppis", ListOf("a list of PPIs", PPI), "the indicators", required=True)


def _catalogue(values: Values, problems: Problems) -> Catalogue | None:
    ppis = values[PPIS]
    again = list(twins(ppis))
    for position, message in again:
        problems.add(position, message)
    return (
        None
        if again
        else Catalogue(values[LOG], ppis, values.get(TOTAL), file=values.position.file)
    )


CATALOGUE = Record("a catalogue", (LOG, TOTAL, CALENDARS, PPIS), _catalogue)


def catalogue_schema() -> Json:
    """The JSON Schema of catalogues, for completion and checks in editors."""
    definitions: SchemaDefs = {}
    root = CATALOGUE.schema(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PaPPI catalogue",
        "description": "Process performance indicators about one event log",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def parse_catalogue(text: str, file: str = "<catalogue>") -> Catalogue:
    """The catalogue a text says; DefinitionError with every problem in it."""
    problems = Problems()
    return _read(read_document(text, file, problems.found), problems)


def catalogue_from(definitions: Mapping[str, object]) -> Catalogue:
    """The catalogue a dict says, with the keys of the notation: the same as its YAML would be.

    >>> open_claims = {"id": "open", "measure": {"number": "cases"}, "target": "at most 700"}
    >>> catalogue_from({"log": "claims", "ppis": [open_claims]}).ppis[0].id
    'open'
    """
    problems = Problems()
    return _read(structure_node(definitions, problems.found), problems)


def _read(root: Node, problems: Problems) -> Catalogue:
    problems.calendars = named_calendars(root)
    catalogue = CATALOGUE.read(root, problems)
    if problems.found or catalogue is None:
        in_order = sorted(problems.found, key=lambda it: (it.position.line, it.position.column))
        raise DefinitionError(in_order)
    return catalogue


def write_yaml(catalogue: Catalogue) -> str:
    """The catalogue as YAML; DefinitionError if the notation has no words for it."""
    return _written(catalogue, yaml_text)


def write_json(catalogue: Catalogue) -> str:
    """The catalogue as JSON; DefinitionError if the notation has no words for it."""
    return _written(catalogue, json_text)


def _written(catalogue: Catalogue, into_text: Callable[[Plain], str]) -> str:
    names = _calendar_names(catalogue)
    written: dict[str, Plain] = {LOG.key: catalogue.log}
    if catalogue.total is not None:
        written[TOTAL.key] = cast("Plain", TOTAL.shape.write(catalogue.total))
    if names:
        written[CALENDARS.key] = {name: calendar for calendar, name in names.items()}
    written[PPIS.key] = [_with_names(_written_ppi(ppi), names) for ppi in catalogue.ppis]
    text = into_text(written)
    _require_same(catalogue, text)
    return text


def _written_ppi(ppi: Ppi) -> Plain:
    try:
        return cast("Plain", PPI.write(ppi))
    except Unwritable as error:
        raise _lost(ppi.position, str(error)) from None


def _with_names(node: Plain, names: Mapping[str, str]) -> Plain:
    """The node with calendars called by their names; any other is written where it is used."""
    if isinstance(node, list):
        return [_with_names(item, names) for item in node]
    if isinstance(node, str):
        return node
    return {
        key: names.get(value, value)
        if key == CALENDAR.key and isinstance(value, str)
        else _with_names(value, names)
        for key, value in node.items()
    }


def _require_same(catalogue: Catalogue, text: str) -> None:
    try:
        again = parse_catalogue(text, catalogue.file)
    except DefinitionError as error:
        raise _lost(_start(catalogue), f"reading it fails: {error.problems[0].message}") from None
    for ppi, same in zip(catalogue.ppis, again.ppis, strict=True):
        if ppi != same:
            raise _lost(ppi.position, f"the PPI {quoted(ppi.id)} would change")
    if catalogue != again:
        raise _lost(_start(catalogue), "the name of the log would change")


def _lost(position: Position, why: str) -> DefinitionError:
    message = f"the catalogue notation cannot express this: {why}"
    return DefinitionError([Problem(position, message)])


def _start(catalogue: Catalogue) -> Position:
    return Position(catalogue.file, 1, 1)


_DEEPEST = MAX_DEPTH + grammar.MAX_DEPTH
"""No catalogue that can be read has parts deeper inside each other."""


def _calendar_names(catalogue: Catalogue) -> dict[str, str]:
    """Names for the calendars that are used more than once."""
    uses = Counter(part for part in _all_parts(catalogue) if isinstance(part, WorkingCalendar))
    repeated = [calendar for calendar, count in uses.items() if count > 1]
    return {
        str(calendar): "hours" if number == 1 else f"hours-{number}"
        for number, calendar in enumerate(repeated, start=1)
    }


def _all_parts(catalogue: Catalogue) -> Iterator[object]:
    """Every part of a catalogue, in order; refuses one that is too deep to be walked."""
    waiting: list[tuple[object, int]] = [(catalogue, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > _DEEPEST:
            raise _lost(_start(catalogue), f"parts of it are nested more than {_DEEPEST} deep")
        yield part
        if isinstance(part, tuple):
            waiting.extend((item, depth) for item in reversed(part))
        elif is_dataclass(part) and not isinstance(part, WorkingCalendar):
            inner = [getattr(part, field.name) for field in fields(part) if field.compare]
            waiting.extend((item, depth + 1) for item in reversed(inner))
