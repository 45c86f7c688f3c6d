"""What holds for every definition, whatever it is: of its messages, its names and its writing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from pappi.errors import PappiError
from pappi.ppinot import (
    WRITTEN,
    Catalogue,
    DataMeasure,
    Expression,
    Occurs,
    Ppi,
    StateMeasure,
    TimeMeasure,
    parse_definitions,
    write_definitions,
)
from pappi.ppinot.expressions import names_in
from pappi.ppinot.model import EVENT_NAMES
from tests.fuzz.vocabulary import VOCABULARY

_CATALOGUE, _JAVA = ("yaml", "json"), ("java",)
_WAYS = {
    "yaml": _CATALOGUE,
    "json": _CATALOGUE,
    "java": _JAVA,
    "bpmn": _JAVA,
    "text": ("text",),
}
"""How a catalogue is written again; from what is no catalogue in itself, in every way."""


MOST_SHOWN = 1_000


class Found(Exception):
    """Something that must not happen."""


def check_printable(*texts: str) -> None:
    """A message can be shown on any terminal: what was written is quoted in it, and cut short."""
    for text in texts:
        wrong = next((each for each in text if not each.isprintable() and each != "\n"), None)
        if wrong is not None:
            raise Found(f"the message holds {wrong!r}: {text[:300]!r}")
        longest = max(map(len, text.split("\n")))
        if longest > MOST_SHOWN:
            raise Found(f"a line of the message has {longest:,} characters: {text[:300]!r}…")


def check_names(ppi: Ppi) -> None:
    """A sound PPI reads declared attributes only, whatever the checker thinks."""
    known = {*VOCABULARY.attributes, *EVENT_NAMES}
    for name in _names_of_events(ppi):
        if name not in known:
            raise Found(f"the undeclared attribute {name!r} passed the checks")


def _names_of_events(part: object) -> Iterator[str]:
    """The attributes that a definition reads from events, wherever they stand in it."""
    if isinstance(part, tuple):
        for each in part:
            yield from _names_of_events(each)
    if not is_dataclass(part):
        return
    if isinstance(part, DataMeasure):
        yield part.attribute
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, Expression):
            yield from names_in(value) if _is_about_events(part) else ()
        else:
            yield from _names_of_events(value)


def _is_about_events(part: object) -> bool:
    return isinstance(part, Occurs | StateMeasure | TimeMeasure)


def check_written(catalogue: Catalogue, notation: str) -> None:
    """What a notation has said, it can say again and is read as the same."""
    for way in _WAYS.get(notation, WRITTEN):
        try:
            text = write_definitions(catalogue, way)
        except PappiError:
            continue
        if parse_definitions(text, way, "again").catalogue != catalogue:
            raise Found(f"what is written as {way} is read as something else:\n{text}")
