"""The lines of a template by the PPI they are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pappi.errors import DefinitionError, Position, Problem, UsageError
from pappi.ppinot.sentences.cursor import Cursor, Reading
from pappi.ppinot.sentences.lines import Key, Line
from pappi.ppinot.sentences.parse import finish
from pappi.ppinot.wording import quoted

T = TypeVar("T")


@dataclass(slots=True)
class Block:
    """What is said about one PPI, or before the first; of single groups by key and group.

    What is wrong with a line is kept among the problems, and the line counts as not there.
    """

    place: Position
    reading: Reading
    problems: list[Problem]
    lines: dict[Key, Line] = field(default_factory=dict)
    groups: dict[tuple[Key, str], Line] = field(default_factory=dict)

    def report(self, place: Position, message: str, hint: str = "") -> None:
        self.problems.append(Problem(place, message, hint))

    def add(self, line: Line) -> None:
        if line.group is not None:
            if (line.key, line.group) in self.groups:
                self.report(line.place, f"this is said of the group {quoted(line.group)} before")
            self.groups[line.key, line.group] = line
            return
        if line.key in self.lines:
            first = self.lines[line.key].place.line
            message = f"the line {quoted(line.key.value)} is here twice; first in line {first}"
            self.report(line.place, message)
        self.lines.setdefault(line.key, line)

    def tried(self, line: Line | None, read: Callable[[Line], T]) -> T | None:
        """What a line says, or None."""
        if line is None:
            return None
        try:
            return read(line)
        except DefinitionError as error:
            self.problems.extend(error.problems)
        except UsageError as error:
            self.report(line.position, error.message, error.hint)
        return None

    def text(self, key: Key, separator: str = " ") -> str | None:
        return self.tried(self.lines.get(key), lambda line: line.written(separator))

    def texts(self, key: Key) -> tuple[str, ...]:
        return self.tried(self.lines.get(key), lambda line: line.items()) or ()

    def sentence(self, key: Key, read: Callable[[Cursor], T]) -> T | None:
        return self.spoken(self.lines.get(key), read)

    def spoken(self, line: Line | None, read: Callable[[Cursor], T]) -> T | None:
        """What the whole of a line says as a sentence, or None."""

        def whole(line: Line) -> T:
            cursor = Cursor(line.text, line.origin, self.reading)
            found = read(cursor)
            finish(cursor)
            return found

        return self.tried(line, whole)


def blocks_of(
    lines: list[Line], file: str, reading: Reading, problems: list[Problem]
) -> tuple[Block, list[Block]]:
    """What stands before the first PPI, and what about each."""
    head = Block(Position(file, 1, 1), reading, problems)
    blocks: list[Block] = []
    for line in lines:
        if line.key is Key.PPI:
            blocks.append(Block(line.place, reading, problems))
        if line.key is Key.LOG and blocks:
            head.report(line.place, "'Log' comes before all PPIs, once")
        elif line.key is not Key.LOG and not blocks:
            message = f"{quoted(line.key.value)} comes behind the 'PPI' that it is about"
            head.report(line.place, message)
        else:
            (blocks[-1] if blocks else head).add(line)
    return head, blocks
