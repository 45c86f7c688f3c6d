"""JSON: one object per line, or one list of objects; or an object-centric log.

An object inside an object is flattened (`case: {id: 7}` is the column `case.id`), a list stays
JSON text. Numbers are kept as they are written.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import Place, log_bytes, open_log_file, refuse_many_columns
from pappi.eventlog.log import Progress, ReadOptions, RecordBatch
from pappi.eventlog.texts import TextSource, text_batches

_DEEPEST = 20
_loads = partial(json.loads, parse_float=str, parse_int=str, parse_constant=str)


class _Records(TextSource):
    """Objects as the rows of a table, whose columns are all keys that any of them has."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        self.name = name
        names: dict[str, None] = {}
        for row in self._objects():
            names.update(dict.fromkeys(row))
            refuse_many_columns(name, None, len(names), options)
        if not names:
            raise LogFormatError(name, 1, "the file is empty", hint="write one object per event")
        self.names = tuple(names)

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        rows = ([row.get(name, "") for name in self.names] for row in self._objects())
        yield from text_batches(rows, len(self.names), progress)

    def _objects(self) -> Iterator[Mapping[str, str]]:
        raise NotImplementedError


class JsonLines(_Records):
    """One object per line."""

    def __init__(self, place: Place, options: ReadOptions) -> None:
        self._place = place
        self._encoding = options.encoding
        super().__init__(place.name, options)

    def line(self, row: int) -> int:
        filled = (number for number, line in self._lines() if line.strip())
        return next(number for place, number in enumerate(filled) if place == row)

    def _lines(self) -> Iterator[tuple[int, str]]:
        with open_log_file(self._place) as file:
            encoding = self._encoding or _encoding(file.content.peek(4)[:4])  # type: ignore[attr-defined]
            number = 0
            with io.TextIOWrapper(file.content, encoding=encoding) as text:
                try:
                    for number, line in enumerate(text, 1):
                        yield number, line
                except UnicodeDecodeError:
                    raise LogFormatError(
                        self.name,
                        number + 1,
                        f"the text is not encoded in {encoding.removesuffix('-sig')}",
                        hint="name its encoding, or save the file as UTF-8",
                        options=(Option("encoding", "cp1252"),),
                    ) from None

    def _objects(self) -> Iterator[Mapping[str, str]]:
        for number, line in self._lines():
            if line.strip():
                yield _row(_parsed(self.name, line, number), self.name, number)


class JsonList(_Records):
    """A list of objects, read at once."""

    def __init__(self, name: str, rows: Sequence[Any], options: ReadOptions) -> None:
        self._rows = rows
        super().__init__(name, options)

    def place(self, row: int) -> str:
        return f"object {row + 1}"

    def _objects(self) -> Iterator[Mapping[str, str]]:
        for number, row in enumerate(self._rows, 1):
            yield _row(row, self.name, number)


def document(place: Place) -> object:
    """All of a JSON file; numbers as they are written."""
    content = log_bytes(place)
    try:
        return _parsed(place.name, content.decode(_encoding(content[:4])), None)
    except UnicodeDecodeError:
        raise LogFormatError(
            place.name, None, "the text is not encoded in UTF-8", hint="save the file as UTF-8"
        ) from None


def list_source(name: str, content: object, options: ReadOptions) -> TextSource:
    """A list of objects, alone or as the only list in an object."""
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else None
    if not isinstance(content, list):
        raise LogFormatError(
            name,
            None,
            "neither a list of events nor an OCEL 2.0 log",
            hint="write a list of objects, or one object per line (.jsonl), or save it as CSV",
        )
    return JsonList(name, content, options)


def _encoding(beginning: bytes) -> str:
    if beginning[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig"


def _parsed(name: str, text: str, line: int | None) -> object:
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        raise LogFormatError(
            name,
            line or error.lineno,
            f"not JSON: {error.msg}",
            hint="write one object per line in a .jsonl file, or a whole document in a .json file",
        ) from None
    except RecursionError:
        raise LogFormatError(
            name, line, "nested too deeply", hint="this does not look like an event log"
        ) from None


def _row(value: object, name: str, number: int) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise LogFormatError(
            name, number, "not an object", hint='write each event as {"case": …, "activity": …, …}'
        )
    return dict(_flat(value, "", 0))


def _flat(row: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for key, value in row.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            yield from _flat(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", as_text(value)


def as_text(value: object) -> str:
    """A value of JSON or SQLite as a text; null is the empty text."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case bytes():
            return value.hex()
    return json.dumps(value, ensure_ascii=False)
