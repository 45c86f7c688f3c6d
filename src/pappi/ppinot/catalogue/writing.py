"""Catalogues back into YAML or JSON: short, and without loss.

What is written is read again before it is handed out, so that it can not say
anything else than the catalogue it was written from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import MAX_DEPTH
from pappi.ppinot.catalogue.figures import Unwritable, decimal_text
from pappi.ppinot.catalogue.plain import Bare, Literal, Plain, json_text, yaml_text
from pappi.ppinot.catalogue.read import parse_catalogue
from pappi.ppinot.catalogue.written_measures import CalendarNames, multi
from pappi.ppinot.catalogue.written_scopes import scope
from pappi.ppinot.catalogue.written_values import ValueWriter
from pappi.ppinot.expressions import parser
from pappi.ppinot.model import Catalogue, NoiseOn, Ppi, ReleaseChoice, Wanted
from pappi.ppinot.wording import quoted
from pappi.values.working_time import WorkingCalendar

_DEEPEST = MAX_DEPTH + parser.MAX_DEPTH
"""No catalogue that can be read has parts deeper inside each other."""


def write_yaml(catalogue: Catalogue) -> str:
    """The catalogue as YAML; DefinitionError if the notation has no words for it."""
    return _written(catalogue, yaml_text)


def write_json(catalogue: Catalogue) -> str:
    """The catalogue as JSON; DefinitionError if the notation has no words for it."""
    return _written(catalogue, json_text)


def _written(catalogue: Catalogue, into_text: Callable[[Plain], str]) -> str:
    names = _calendar_names(catalogue)
    written: dict[str, Plain] = {"log": catalogue.log}
    if names:
        written["calendars"] = {name: str(calendar) for calendar, name in names.items()}
    written["ppis"] = [_ppi(ppi, names) for ppi in catalogue.ppis]
    text = into_text(written)
    _require_same(catalogue, text)
    return text


def _ppi(ppi: Ppi, names: CalendarNames) -> Plain:
    try:
        return _keys_of(ppi, names)
    except Unwritable as error:
        raise _lost(ppi.position, str(error)) from None


def _keys_of(ppi: Ppi, names: CalendarNames) -> dict[str, Plain]:
    values, measure = ValueWriter.of(ppi), multi(ppi.measure, names)
    bounds = _bounds(ppi, values, measure)
    written: dict[str, Plain | None] = {
        "id": ppi.id,
        "name": ppi.name if ppi.name != ppi.id else None,
        "measure": measure,
        "bounds": bounds,
        "unit": values.unit_label(),
        "target": values.targets(),
        "scope": scope(ppi.scope, names),
        "epsilon": Literal(ppi.epsilon) if ppi.epsilon is not None else None,
        "release": _release(ppi.release),
        "process": ppi.process,
        "goals": _one_or_more(ppi.goals),
        "responsible": ppi.responsible,
        "informed": _one_or_more(ppi.informed),
        "comments": ppi.comments,
    }
    return {key: value for key, value in written.items() if value}


def _bounds(ppi: Ppi, values: ValueWriter, measure: dict[str, Plain]) -> Plain:
    """The bounds on the PPI; with a range of the value, a single measure has its own."""
    bounds = values.case_bounds()
    if ppi.value_range is None:
        return bounds.get("", bounds)
    if "" in bounds:
        measure["bounds"] = bounds.pop("")
    return {**bounds, "value": values.value_range(ppi.value_range)}


def _release(choice: ReleaseChoice) -> dict[str, Plain]:
    written: dict[str, Plain | None] = {
        "answer": Bare(choice.answer) if choice.answer is not Wanted.VALUE else None,
        "mechanism": choice.mechanism,
        "noise": _noise(choice.noise),
        "falloff": Literal(decimal_text(choice.falloff)) if choice.falloff is not None else None,
        "buckets": Literal(choice.buckets) if choice.buckets is not None else None,
    }
    return {key: value for key, value in written.items() if value}


def _one_or_more(texts: tuple[str, ...]) -> Plain | None:
    return texts[0] if len(texts) == 1 else list(texts)


def _noise(noise: tuple[NoiseOn, ...]) -> Plain | None:
    if all(each == NoiseOn(each.function) for each in noise):
        return _one_or_more(tuple(each.function for each in noise))
    return {each.function: _own(each) for each in noise}


def _own(noise: NoiseOn) -> Plain:
    if noise.share is None and noise.mechanism is not None:
        return noise.mechanism
    mechanism: dict[str, Plain] = {} if noise.mechanism is None else {"mechanism": noise.mechanism}
    share = noise.share
    return mechanism if share is None else {**mechanism, "share": Literal(decimal_text(share))}


# --- what cannot be written -----------------------------------------------------------


def _require_same(catalogue: Catalogue, text: str) -> None:
    try:
        again = parse_catalogue(text, catalogue.file)
    except DefinitionError as error:
        raise _lost(_start(catalogue), f"reading it fails: {error.problems[0].message}") from None
    for ppi, same in zip(catalogue.ppis, again.ppis, strict=True):
        if ppi != same:
            raise _lost(ppi.position, f"the PPI {quoted(ppi.id)} would be another one")
    if catalogue != again:
        raise _lost(_start(catalogue), "the name of the log would be another one")


def _lost(position: Position, why: str) -> DefinitionError:
    message = f"the catalogue notation has no words for this: {why}"
    return DefinitionError([Problem(position, message)])


def _start(catalogue: Catalogue) -> Position:
    return Position(catalogue.file, 1, 1)


# --- calendars ------------------------------------------------------------------------


def _calendar_names(catalogue: Catalogue) -> dict[WorkingCalendar, str]:
    """Names for the calendars that are used more than once."""
    uses = Counter(part for part in _parts(catalogue) if isinstance(part, WorkingCalendar))
    repeated = [calendar for calendar, count in uses.items() if count > 1]
    return {
        calendar: "hours" if number == 1 else f"hours-{number}"
        for number, calendar in enumerate(repeated, start=1)
    }


def _parts(catalogue: Catalogue) -> Iterator[object]:
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
            inner = [getattr(part, each.name) for each in fields(part) if each.compare]
            waiting.extend((item, depth + 1) for item in reversed(inner))
