"""Tables of texts, and two kinds of file that are read as one: JSON, and workbooks of Excel.

Delimited text (`delimited`) and object-centric logs (`ocel`) are such tables too. The types of the
columns are inferred later, from all of their values (`inference`).
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import pyarrow as pa

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.files import (
    Place,
    log_bytes,
    open_log_file,
    refuse_many_columns,
    require_harmless,
)
from pappi.eventlog.log import ArrowType, Guess, Progress, ReadOptions, RecordBatch
from pappi.values import did_you_mean

_ROWS = 20_000


class TableSource:
    """One table: its name in messages, its header, and its rows as often as they are needed."""

    name: str
    names: Sequence[str]
    types: Sequence[ArrowType] = ()
    """Those of the columns; none for a table of texts, whose types are inferred."""

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns. Those of texts are never null, and are called 0, 1, 2, ….

        Raises `Reread` if everything yielded so far must be discarded.
        """
        raise NotImplementedError

    def line(self, _row: int) -> int | None:
        """The line of a row, counted from 0 in the order of `batches`; None without lines."""
        return None

    def place(self, row: int) -> str:
        """Where a row is, for people."""
        return f"line {self.line(row)}"

    def defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        """The error for a row, with its place."""
        line, place = self.line(row), self.place(row)
        # The error says its line itself.
        where = cause if place == f"line {line}" else f"in {place}, {cause}"
        return LogFormatError(self.name, line, where, hint=hint, options=options)

    def guesses(self) -> Iterable[Guess]:
        return ()

    def notices(self) -> Iterable[str]:
        return ()


def text_batches(
    rows: Iterable[Sequence[str]], width: int, progress: Progress, total: int | None = None
) -> Iterator[RecordBatch]:
    """Rows of texts as batches; a short row is filled up. Progress counts rows."""
    fields = [str(number) for number in range(width)]
    remaining, done = iter(rows), 0
    while block := list(islice(remaining, _ROWS)):
        columns = zip(*((*row, *[""] * (width - len(row))) for row in block), strict=True)
        yield pa.record_batch([pa.array(column, pa.string()) for column in columns], fields)
        done += len(block)
        progress(done, total or done)


# --- JSON ----------------------------------------------------------------------------
#
# One object per line, or one list of objects. An object inside an object is flattened
# (`case: {id: 7}` is the column `case.id`), a list stays JSON text. Numbers are kept as they are
# written.

_DEEPEST = 20
_loads = partial(json.loads, parse_float=str, parse_int=str, parse_constant=str)


class _Records(TableSource):
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


def list_source(name: str, content: object, options: ReadOptions) -> TableSource:
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


# --- workbooks of Excel ---------------------------------------------------------------
#
# One sheet, each cell as the text it shows. Cells that are dates become yyyy-mm-dd hh:mm:ss, which
# is unambiguous, so that a column may have both cells that are dates and cells that are texts. The
# reader (calamine) is an extra: `pip install 'pappi[excel]'`.

_HEADER_WITHIN = 50
_ARCHIVE = b"PK\x03\x04"
_NO_DAY = date(1901, 1, 1)
_MIDNIGHT = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_DAY_S = 86_400


class Workbook(TableSource):
    """One sheet of a workbook, with its header in the first row that looks like one."""

    def __init__(self, place: Place, options: ReadOptions) -> None:
        if find_spec("python_calamine") is None:
            raise InputError(
                f"{place.name}: reading workbooks needs an extra package",
                hint="pip install 'pappi[excel]', or save the sheet as CSV",
            )
        import python_calamine as calamine

        self.name = place.name
        content = log_bytes(place)
        if content.startswith(_ARCHIVE):
            require_harmless(self.name, content)
        try:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
            self._sheets = tuple(book.sheet_names)
            self._sheet, self._guessed = self._chosen(options.sheet)
            rows = book.get_sheet_by_name(self._sheet).to_python(skip_empty_area=False)
        except calamine.PasswordError:
            raise LogFormatError(
                self.name, None, "the workbook is protected", hint="save it without a password"
            ) from None
        except (calamine.CalamineError, calamine.XmlError, calamine.ZipError, OSError) as error:
            raise LogFormatError(
                self.name,
                None,
                f"not a readable workbook: {error}",
                hint="open it and save it again as .xlsx; if it is really text, call it .csv",
            ) from None
        self._rows = [[_text(cell) for cell in row] for row in rows]
        self._header = self._header_row()
        names = self._rows[self._header]
        # Columns beside the table that are empty in every row do not belong to it.
        width = max(
            (
                number
                for number, name in enumerate(names, 1)
                if name or any(row[number - 1] for row in self._rows[self._header :])
            ),
            default=0,
        )
        self.names = tuple(
            name or f"column {number}" for number, name in enumerate(names[:width], 1)
        )
        refuse_many_columns(self.name, self._header + 1, width, options)
        self._filled = [
            number
            for number in range(self._header + 1, len(self._rows))
            if any(self._rows[number][:width])
        ]

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        width = len(self.names)
        rows = (self._rows[number][:width] for number in self._filled)
        yield from text_batches(rows, width, progress, len(self._filled))

    def place(self, row: int) -> str:
        return f"row {self._filled[row] + 1} of sheet {self._sheet!r}"

    def guesses(self) -> Iterator[Guess]:
        if self._guessed:
            others = ", ".join(map(repr, self._sheets[1:]))
            yield Guess("sheet", f"{self._sheet!r}, not {others}", "sheet")

    def notices(self) -> Iterator[str]:
        if self._header:
            yield f"the header is in row {self._header + 1}: the rows above it were left out"

    def _chosen(self, requested: str | None) -> tuple[str, bool]:
        if requested is None:
            return self._sheets[0], len(self._sheets) > 1
        if requested not in self._sheets:
            listing = ", ".join(map(repr, self._sheets))
            raise UsageError(
                f"there is no sheet {requested!r}",
                hint=did_you_mean(requested, self._sheets, f"the sheets are {listing}"),
            )
        return requested, False

    def _header_row(self) -> int:
        """The first row that is at least half as full as the fullest: titles may be above it."""
        filled = [sum(map(bool, row)) for row in islice(self._rows, _HEADER_WITHIN)]
        most = max(filled, default=0)
        if not most:
            raise LogFormatError(
                self.name,
                None,
                f"the sheet {self._sheet!r} is empty",
                hint="name the sheet that has the events",
                options=(Option("sheet"),),
            )
        return next(number for number, cells in enumerate(filled) if 2 * cells >= most)


def _text(cell: object) -> str:
    """A cell as an equivalent text.

    >>> _text(4711.0), _text(0.1), _text(datetime(2024, 2, 1, 14, 30)), _text(True)
    ('4711', '0.1', '2024-02-01 14:30:00', 'true')
    """
    match cell:
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case datetime() if cell.date() < _NO_DAY:  # a time of the day alone
            return cell.time().isoformat()
        case datetime():
            # A double holds a moment only to some microseconds.
            near = cell + timedelta(microseconds=500)
            moment = near.replace(microsecond=near.microsecond // 1000 * 1000)
            return moment.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            seconds = round(cell.total_seconds(), 3)
            if not 0 <= seconds < _DAY_S:  # a duration, in seconds
                return str(seconds)
            return (_MIDNIGHT + timedelta(seconds=seconds)).time().isoformat()
    return str(cell)
