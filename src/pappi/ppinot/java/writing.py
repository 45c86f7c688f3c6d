"""Catalogues into PPINOT JSON.

What is written can be read back, and gives the same catalogue: also where it uses fields that
Java PPINOT does not know, of which `ignored_by_java` tells those that change a value there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction

from pappi.errors import UsageError
from pappi.ppinot.catalogue.document import MAX_DEPTH, MAX_NODES, MAX_SIZE
from pappi.ppinot.java.mvel import require_readable
from pappi.ppinot.java.numbers import as_json
from pappi.ppinot.java.units import labelled, timed_by, unit_of_time, written_unit
from pappi.ppinot.java.writing_conditions import Json
from pappi.ppinot.java.writing_measures import measure_json, range_json
from pappi.ppinot.java.writing_scopes import group_target_json, scope_json, target_json
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Catalogue,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    NoiseOn,
    Ppi,
    ReleaseChoice,
    Wanted,
)

# What YAML, as which documents are read, does not take as it is; and what Java would replace.
_ESCAPED = re.compile(r"[^ -~\n]|\$(?=\{)")

CHANGING = frozenset(
    {
        *("occurrence", "among", "lifecycle", "element", "of", "startPick", "endPick"),
        *("openCycle", "percent", "typed", "missing", "holidays", "calendar", "recent", "cases"),
        *("refMinExcluded", "refMaxExcluded"),
    }
)
"""Fields of ours that change what is computed."""


def write_java(catalogue: Catalogue) -> str:
    """The catalogue as PPINOT JSON; UsageError if that would be too large to be read again."""
    document = _document(catalogue)
    depth, nodes = _extent(document)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = _ESCAPED.sub(_escaped, text) + "\n"
    if depth > MAX_DEPTH or nodes > MAX_NODES or len(text) > MAX_SIZE:
        raise _too_large()
    return text


def ignored_by_java(catalogue: Catalogue) -> tuple[str, ...]:
    """The fields in what is written that would change a value, and that Java ignores."""
    return tuple(sorted(set(_fields(_document(catalogue))) & CHANGING))


def _too_large() -> UsageError:
    return UsageError(
        "this catalogue is too large for one PPINOT JSON document",
        hint=f"it may have {MAX_SIZE:,} characters, {MAX_NODES:,} values, {MAX_DEPTH} levels",
    )


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    printable = character.isprintable() and character != "$"
    return character if printable or ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def _document(catalogue: Catalogue) -> Json:
    processes = {ppi.process for ppi in catalogue.ppis}
    shared = processes.pop() if len(processes) == 1 else ""
    found: Json = {"log": catalogue.log, **({"processId": shared} if shared else {})}
    return found | {"ppis": [_ppi(ppi, shared) for ppi in catalogue.ppis]}


def _ppi(ppi: Ppi, shared: str) -> Json:
    _check_extent(ppi.measure)
    if ppi.scope.cases is not None:
        _check_extent(ppi.scope.cases)
    is_time = timed_by(ppi.measure) is not None
    time = unit_of_time(ppi.unit.factor)
    scale = time.factor if is_time else ppi.unit.factor
    label = "" if is_time or labelled(ppi.measure, ppi.unit.name) != ppi.unit else ppi.unit.name
    usual = time if is_time else labelled(ppi.measure, label)
    measure = measure_json(ppi.measure, ppi.process, time.factor)
    measure |= {"unitOfMeasure": label} if label else {}
    found: Json = {
        **_described(ppi, shared),
        "target": target_json(ppi.target, scale),
        "scope": scope_json(ppi.scope, ppi.process),
        "measuredBy": measure,
        **written_unit(ppi.unit, ppi.measure, usual),
        "tolerated": target_json(ppi.tolerated, scale),
        "groupTargets": [group_target_json(each, scale) for each in ppi.group_targets],
        "valueRange": _value_range(ppi),
        "privacy": _privacy(ppi),
    }
    return {key: value for key, value in found.items() if value not in ("", [], {})}


def _described(ppi: Ppi, shared: str) -> Json:
    return {
        "id": ppi.id,
        "name": ppi.name if ppi.name != ppi.id else "",
        "process": ppi.process if ppi.process != shared else "",
        "goals": list(ppi.goals),
        "responsible": ppi.responsible,
        "informed": list(ppi.informed),
        "comments": ppi.comments,
    }


def _value_range(ppi: Ppi) -> Json:
    if ppi.value_range is None:
        return {}
    return range_json(ppi.value_range, measure_kind(ppi.measure, None), ppi.unit.factor)


def _privacy(ppi: Ppi) -> Json:
    found: Json = {} if ppi.epsilon is None else {"epsilon": str(ppi.epsilon)}
    return found | _release(ppi.release)


def _release(release: ReleaseChoice) -> Json:
    found: Json = {
        "answer": release.answer.value if release.answer is not Wanted.VALUE else None,
        "mechanism": release.mechanism,
        "noise": _noise(release.noise),
        "falloff": _falloff(release.falloff),
        "buckets": release.buckets,
    }
    return {key: value for key, value in found.items() if value is not None}


def _noise(noise: tuple[NoiseOn, ...]) -> object:
    if all(each == NoiseOn(each.function) for each in noise):
        return [each.function for each in noise] or None
    return {each.function: _own(each) for each in noise}


def _own(noise: NoiseOn) -> Json:
    found: Json = {} if noise.mechanism is None else {"mechanism": noise.mechanism}
    return found if noise.share is None else found | {"share": as_json(noise.share)}


def _falloff(falloff: Fraction | None) -> object:
    return None if falloff is None else as_json(falloff)


# --- limits ---------------------------------------------------------------------------


def _check_extent(measure: Measure) -> None:
    """What a program made can nest without bound, or share parts that multiply when written."""
    waiting: list[tuple[Measure, int]] = [(measure, 1)]
    count = 0
    while waiting:
        each, level = waiting.pop()
        count += 1
        if level > MAX_DEPTH or count > MAX_NODES:
            raise _too_large()
        if isinstance(each, DerivedSingleInstance | DerivedMultiInstance):
            require_readable(each.formula)
        waiting += [(inner, level + 1) for inner in _inner(each)]


def _inner(measure: Measure) -> list[Measure]:
    match measure:
        case AggregatedMeasure():
            return [measure.base, *([measure.filter] if measure.filter else [])]
        case DerivedSingleInstance() | DerivedMultiInstance():
            return [variable for _, variable in measure.variables]
        case _:
            return []


def _extent(document: Json) -> tuple[int, int]:
    """How deep a document is, and how many names and values it has."""
    depth, nodes = 0, 0
    waiting: list[tuple[object, int]] = [(document, 1)]
    while waiting:
        value, level = waiting.pop()
        nodes += 1
        if isinstance(value, dict):
            nodes += len(value)
            waiting += [(each, level + 1) for each in value.values()]
        elif isinstance(value, list):
            waiting += [(each, level + 1) for each in value]
        if isinstance(value, dict | list):
            depth = max(depth, level)
    return depth, nodes


def _fields(document: Json) -> Iterator[str]:
    """The names of all fields; those in a map of measures are the writer's own."""
    waiting: list[object] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        if not isinstance(value, dict):
            continue
        for key, inner in value.items():
            yield key
            is_map = key == "usedMeasureMap" and isinstance(inner, dict)
            waiting += inner.values() if is_map else [inner]
