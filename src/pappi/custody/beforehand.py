"""What an owner declares of a log before it is read: a file of names, kinds and days.

    activities: [Register, Pay]
    attributes: {cost: number, channel: text}
    from: 2024-01-01
    until: 2024-12-31

A dry run of the import writes it (`declaration_text`), the owner strikes out what nobody is to
know, and the import is held to it (`declared_in`). The last day is part of the horizon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from pappi.custody.imports import Terms
from pappi.errors import DefinitionError, InputError, Position, Problem
from pappi.ppinot.catalogue.document import ScalarNode, read_document
from pappi.ppinot.catalogue.plain import quoted_text
from pappi.ppinot.catalogue.shapes import (
    Entries,
    Field,
    ListOf,
    Problems,
    Record,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.wording import quoted
from pappi.store.declarations import LogDeclaration
from pappi.values.vocabulary import Kind, Vocabulary

_HEAD = (
    "# What becomes public of this log, and nothing else: strike out what nobody is to know.",
    "# Events of other activities stay in their cases, without a name; other attributes are left",
    "# out. The last day is part of the log.",
)


def declared_in(path: Path, terms: Terms) -> Terms:
    """The terms with what a file declares; DefinitionError with every problem in it."""
    problems = Problems()
    root = read_document(_text(path), str(path), problems.found)
    values = _DECLARATION.read(root, problems)
    if problems.found or values is None:
        raise DefinitionError(
            sorted(problems.found, key=lambda each: (each.position.line, each.position.column))
        )
    attributes = {name.text: kind for name, kind in values.get(_ATTRIBUTES) or ()}
    last = values.get(_UNTIL)
    return replace(
        terms,
        vocabulary=Vocabulary(tuple(dict.fromkeys(values[_ACTIVITIES])), attributes),
        first=values.get(_FROM) or terms.first,
        until=terms.until if last is None else last + timedelta(days=1),
    )


def declaration_text(log: LogDeclaration) -> str:
    """The file that declares what is declared of a log: reading it gives the same."""
    return "\n".join((*_HEAD, *_lines(log))) + "\n"


def _lines(log: LogDeclaration) -> Iterator[str]:
    vocabulary = log.vocabulary
    activities = (f"  - {quoted_text(name)}" for name in vocabulary.activities)
    yield from _filled("activities:", activities, "[]")
    attributes = (f"  {quoted_text(name)}: {kind}" for name, kind in vocabulary.attributes.items())
    yield from _filled("attributes:", attributes, "{}")
    yield f"from: {log.first}"
    yield f"until: {log.until - timedelta(days=1)}"


def _filled(key: str, lines: Iterable[str], nothing: str) -> Iterator[str]:
    found = tuple(lines)
    yield key if found else f"{key} {nothing}"
    yield from found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise InputError(f"{path}: {reason}", hint="give the path of a declaration") from None
    except UnicodeDecodeError:
        problem = Problem(Position(str(path), 1, 1), "this is not UTF-8 text")
        raise DefinitionError([problem]) from None


def _day(node: ScalarNode, problems: Problems) -> date | None:
    try:
        return date.fromisoformat(node.text)
    except ValueError:
        problems.add(node.position, f"{quoted(node.text)} is not a day of the calendar")
        return None


def _named(values: Values, _problems: Problems) -> list[tuple[ScalarNode, Kind]]:
    return values.named


_NAME = Written("the name of an activity", lambda node, _: node.text, "Register", r".")
_KIND = one_word_of("the kind of an attribute", {str(kind): kind for kind in Kind})
_DAY = Written("a day", _day, "2024-01-31", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")

_ACTIVITIES = Field(
    "activities", ListOf("a list of activities", _NAME, least=0), "Their names.", required=True
)
_ATTRIBUTES = Field(
    "attributes",
    Record(
        "the attributes",
        (),
        _named,
        Entries("the name of an attribute", "write e.g. cost: number", _KIND, r"."),
    ),
    "Names, each with its kind.",
)
_FROM = Field("from", _DAY, "The first day of the log.")
_UNTIL = Field("until", _DAY, "The last day of the log.")
_DECLARATION = Record(
    "a declaration", (_ACTIVITIES, _ATTRIBUTES, _FROM, _UNTIL), lambda values, _: values
)
