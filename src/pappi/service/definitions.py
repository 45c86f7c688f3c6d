"""PPIs as they come in a request: text, in any notation that is read."""

from __future__ import annotations

from pappi.errors import Problem
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations import Notation, notation_of, parse_definitions
from pappi.service.models import Definitions

# Stands for a file's name in positions, of which only line and column are shown.
_PLACE = "definitions"


def catalogue_in(asked: Definitions) -> Catalogue:
    return with_remarks(asked)[0]


def with_remarks(asked: Definitions) -> tuple[Catalogue, tuple[Problem, ...]]:
    """The catalogue, and what its notation leaves to be said about it."""
    text = asked.definitions
    notation = Notation(asked.notation) if asked.notation else notation_of(text)
    reading = parse_definitions(text, notation, _PLACE, asked.log)
    return reading.catalogue, tuple(reading.remarks)
