"""From filled-in blanks to a catalogue in YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from pappi.ppinot.catalogue import parse_catalogue, write_yaml
from pappi.service.web.workbench.shapes import Blank, Shape
from pappi.values.vocabulary import Vocabulary

PERIODS = ("day", "week", "month", "quarter", "year")
DIRECTIONS = ("below", "at most", "above", "at least")
_PLACE = "the sentence"
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Composer:
    """A sentence with what has been filled in so far."""

    shape: Shape
    pieces: tuple[str | Blank, ...]
    name: str
    period: str
    direction: str
    target: str

    @property
    def filled(self) -> Mapping[str, str]:
        return {piece.name: piece.value for piece in self.pieces if isinstance(piece, Blank)}


def composer(shape: Shape, vocabulary: Vocabulary, sent: Mapping[str, str]) -> Composer:
    """The sentence of a shape, its blanks filled in with what was sent, or else as usual."""
    pieces = tuple(
        piece if isinstance(piece, str) else _filled(piece, sent)
        for piece in shape.pieces(vocabulary)
    )
    return Composer(
        shape,
        pieces,
        name=sent.get("name", ""),
        period=sent.get("period", "") or "month",
        direction=sent.get("direction", ""),
        target=sent.get("target", ""),
    )


def _filled(blank: Blank, sent: Mapping[str, str]) -> Blank:
    typed = sent.get(f"blank-{blank.name}", "")
    if typed and (blank.numeric or typed in dict(blank.options)):
        return replace(blank, value=typed)
    return blank if blank.value or blank.numeric else replace(blank, value=blank.options[0][0])


def composed(filled: Composer, log: str) -> str:
    """The catalogue that a filled-in sentence stands for; DefinitionError if it is none."""
    measure, beside = filled.shape.measured(filled.filled)
    name = filled.name or _called(filled)
    ppi: dict[str, Any] = {"id": _id(name), "name": name, "measure": measure, **beside}
    if filled.direction and filled.target:
        unit = filled.shape.target_unit(filled.filled)
        ppi["target"] = f"{filled.direction} {filled.target} {unit}".strip()
    ppi["scope"] = f"every {filled.period}"
    text = yaml.safe_dump({"log": log, "ppis": [ppi]}, sort_keys=False, allow_unicode=True)
    return write_yaml(parse_catalogue(text, _PLACE))


def _called(filled: Composer) -> str:
    """The sentence up to what it says about bounds, as a name."""
    shown = (
        piece if isinstance(piece, str) else dict(piece.options).get(piece.value, piece.value)
        for piece in filled.pieces
    )
    sentence = " ".join(shown).replace(" ,", ",").replace(" .", "")
    short = sentence.split(", where ")[0].split(" as last recorded ")[0].removeprefix("The ")
    short = short.rstrip(".")
    return short[:1].upper() + short[1:_LONGEST_NAME]


def _id(name: str) -> str:
    """
    >>> _id("Mean time, in days"), _id("12 %")
    ('mean-time-in-days', 'ppi')
    """
    words: Sequence[str] = re.findall(r"[a-z0-9]+", name.lower())
    found = "-".join(words)[:60].strip("-")
    return found if found[:1].isalpha() else "ppi"
