"""Where each character of a YAML text stands in its file.

A YAML scalar need not be written as it reads: it may be quoted, escaped or
folded over several lines. Problems inside an expression should still point at
the character that was typed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from pappi.errors import Position

_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}


@dataclass(frozen=True, slots=True)
class Lines:
    """A file's text, and the offsets at which its lines begin."""

    file: str
    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str, file: str) -> Lines:
        starts = [0]
        for line in text.split("\n")[:-1]:
            starts.append(starts[-1] + len(line) + 1)
        return cls(file, text, tuple(starts))

    def at(self, offset: int) -> Position:
        line = bisect_right(self.starts, offset) - 1
        return Position(self.file, line + 1, offset - self.starts[line] + 1)


def scalar_origin(
    lines: Lines, start: int, end: int, value: str, style: str
) -> Callable[[int], Position]:
    """The place in the file of each offset of a scalar's value."""
    written = lines.text[start:end]
    if not style:
        shift = 0 if written == value else None
    else:
        shift = 1 if written[1:-1] == value else None
    if shift is not None:
        return lambda offset: lines.at(start + shift + min(offset, len(value)))
    places = _aligned(written, value, style)
    return lambda offset: lines.at(start + places[min(offset, len(value))])


def _aligned(written: str, value: str, style: str) -> list[int]:
    """For each character of the value, the offset of what was written for it."""
    cursor = written.find("\n") + 1 if style in ("|", ">") else int(bool(style))
    places = []
    for character in value:
        cursor = _next_match(written, cursor, character, style)
        places.append(min(cursor, len(written)))
        cursor += _width(written, cursor, style)
    return [*places, min(cursor, len(written))]


def _next_match(written: str, cursor: int, character: str, style: str) -> int:
    while cursor < len(written) and written[cursor] != character:
        if style == '"' and written[cursor] == "\\" and written[cursor + 1 : cursor + 2] != "\n":
            return cursor
        if character.isspace() and written[cursor].isspace():
            return cursor
        cursor += 1
    return cursor


def _width(written: str, cursor: int, style: str) -> int:
    if style != '"' or written[cursor : cursor + 1] != "\\":
        return 1
    return _ESCAPE_LENGTHS.get(written[cursor + 1 : cursor + 2], 2)
