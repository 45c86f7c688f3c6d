"""Catalogue files into the model."""

from __future__ import annotations

from pathlib import Path

from pappi.errors import DefinitionError, InputError, Position, Problem
from pappi.ppinot.catalogue.calendars import named_calendars
from pappi.ppinot.catalogue.document import MAX_SIZE, read_document
from pappi.ppinot.catalogue.indicators import CATALOGUE
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.model import Catalogue


def read_catalogue(path: Path | str) -> Catalogue:
    """The catalogue in a YAML or JSON file; DefinitionError with every problem in it.

    Whether it fits a log is another question: `pappi.ppinot.checks`.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            # UTF-8 takes at most four bytes a character; the exact limit is on characters.
            content = file.read(4 * MAX_SIZE + 4)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise InputError(f"{path}: {reason}", hint="give the path of a catalogue file") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(Position(str(path), line, 1), "this is not UTF-8 text")
        raise DefinitionError([problem]) from None
    return parse_catalogue(text, str(path))


def parse_catalogue(text: str, file: str = "<catalogue>") -> Catalogue:
    """The catalogue a text says; DefinitionError with every problem in it."""
    problems = Problems()
    root = read_document(text, file, problems.found)
    problems.calendars = named_calendars(root)
    catalogue = CATALOGUE.read(root, problems)
    if problems.found or catalogue is None:
        in_order = sorted(
            problems.found, key=lambda each: (each.position.line, each.position.column)
        )
        raise DefinitionError(in_order)
    return catalogue
