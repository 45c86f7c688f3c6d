"""The canonical form of a definition: what two spellings of one question share.

Names, comments and positions are left out, since they do not change the answer.
The result is plain JSON without floats, ready to be hashed.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction

from pappi.values.plain_data import JSON


def canonical(value: object) -> JSON:
    """Any part of the model as JSON; equal parts, and only equal parts, come out equal."""
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return str(value.value)
        case str():
            return value
        case Fraction() | date():
            return str(value)
        case tuple():
            return [canonical(item) for item in value]
    if is_dataclass(value):
        parts = {f.name: canonical(getattr(value, f.name)) for f in fields(value) if f.compare}
        return {"is": type(value).__name__, **parts}
    raise TypeError(f"{type(value).__name__} has no canonical form")
