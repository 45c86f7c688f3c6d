"""The lines of a template: what stands behind each of its keys.

    Key: what is said
      and goes on in lines that begin with a space
    Key in "group": …
    Key:
      - one of several
      - another

A text that would not come back as it is stands in double quotes, with \\n for a new line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pappi.errors import Position, Problem
from pappi.ppinot.catalogue.origins import Lines
from pappi.ppinot.expressions.lexer import Origin
from pappi.ppinot.expressions.nodes import Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.wording import CONTROL, did_you_mean, quoted


class Key(StrEnum):
    """The keys of a template, as they are written; PPINOT's own first."""

    LOG = "Log"
    PPI = "PPI"
    NAME = "Name"
    PROCESS = "Process"
    GOALS = "Goals"
    DEFINITION = "Definition"
    TARGET = "Target"
    SCOPE = "Scope"
    RESPONSIBLE = "Responsible"
    INFORMED = "Informed"
    COMMENTS = "Comments"
    TOLERATED = "Tolerated"
    RANGE = "Range"
    UNIT = "Unit"
    EPSILON = "Epsilon"
    RELEASE = "Release"


MAX_PROBLEMS = 200
_KEYS = {key.value.lower(): key for key in Key}
_IN_GROUPS = (Key.TARGET, Key.TOLERATED)
_KEY = re.compile(r'([^\W\d]\w*)[ \t]*(?:in[ \t]+("(?:[^"\\]++|\\.)*+")[ \t]*)?:')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_EXAMPLE = "as in Definition: the average of …"


@dataclass(frozen=True, slots=True)
class Line:
    """What stands behind one key, as a part of the file."""

    key: Key
    group: str | None
    place: Position
    start: int
    end: int
    file: Lines

    @property
    def text(self) -> str:
        return self.file.text[self.start : self.end]

    @property
    def position(self) -> Position:
        return self.file.at(self.start) if self.text else self.place

    @property
    def origin(self) -> Origin:
        return lambda offset: self.file.at(self.start + offset)

    def written(self, separator: str = " ") -> str:
        """The text, which may go on in several lines, and may be in quotes."""
        return self._unquoted(separator.join(filter(None, map(str.strip, self.text.split("\n")))))

    def items(self) -> tuple[str, ...]:
        """Several texts with a dash before each, or one without."""
        parts = [part for part in map(str.strip, self.text.split("\n")) if part]
        if not parts or not all(part == "-" or part.startswith("- ") for part in parts):
            return tuple(filter(None, [self.written()]))
        return tuple(self._unquoted(part[1:].strip()) for part in parts)

    def _unquoted(self, text: str) -> str:
        if not _QUOTED.fullmatch(text):
            return text
        match parse_expression(text, self.position):
            case Text(value):
                return value
        raise AssertionError("quotes hold a text")


def read_lines(file: Lines, problems: list[Problem]) -> list[Line]:
    """All keys of a template with what stands behind them, in order."""
    found: list[Line] = []
    for start, end in _blocks(file.text):
        line = _line(file, start, end, problems)
        if line is not None:
            found.append(line)
        if len(problems) >= MAX_PROBLEMS:
            break
    return found


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins that is not indented, and where those behind it that are end."""
    start, offset = None, 0
    for line in text.split("\n"):
        if line.strip() and not line[0].isspace():
            if start is not None:
                yield start, offset
            start = offset
        elif start is None and line.strip():
            start = offset
        offset += len(line) + 1
    if start is not None:
        yield start, len(text)


def _line(file: Lines, start: int, end: int, problems: list[Problem]) -> Line | None:
    place = file.at(start)
    match = _KEY.match(file.text, start, end)
    key = _KEYS.get(match[1].lower()) if match else None
    if match is None or key is None:
        word = match[1] if match else file.text[start:end].split("\n")[0].split(":")[0]
        hint = did_you_mean(word, [each.value for each in Key], _EXAMPLE)
        problems.append(Problem(place, f"no line of a template begins with {quoted(word)}", hint))
        return None
    if match[2] and key not in _IN_GROUPS:
        problems.append(Problem(place, f"{quoted(key.value)} is the same for every group"))
        return None
    if CONTROL.search(file.text, start, end):
        problems.append(Problem(place, "this text holds a control character"))
        return None
    group = None
    if match[2]:
        expression = parse_expression(match[2], place)
        group = expression.value if isinstance(expression, Text) else None
    value = match.end()
    return Line(key, group, place, value + _spaces(file.text, value, end), end, file)


def _spaces(text: str, start: int, end: int) -> int:
    """How far what is said is behind the colon, so that problems point at it."""
    return len(text[start:end]) - len(text[start:end].lstrip())
