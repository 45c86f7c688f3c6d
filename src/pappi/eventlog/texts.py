"""Tables, and the files that are read as tables of texts: delimited text, JSON, workbooks of Excel.

Object-centric logs (`ocel`) are such tables too. The types of the columns are inferred later, from
all of their values (`inference`).
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.files import (
    LogFile,
    Place,
    log_bytes,
    open_log_file,
    refuse_many_columns,
    require_harmless,
)
from pappi.eventlog.log import (
    DELIMITERS,
    ArrowType,
    Guess,
    Progress,
    ReadOptions,
    RecordBatch,
    Reread,
)
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

    def reading(self, options: ReadOptions) -> ReadOptions:
        """The options with what the format itself says of its columns."""
        return options

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


# --- delimited text --------------------------------------------------------------------
#
# Arrow reads the file; the standard library's reader, which counts lines, is used for the header
# and, when something is wrong, to find the line to report. Arrow also notices text that is not
# UTF-8, so that an ordinary file is not read once more for that. If the bytes then look like the
# usual Western European encoding, that is used; otherwise the owner has to name the encoding.

_BLOCK = 1 << 22
_SAMPLE = 1 << 16
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
# A line that Excel writes, and obeys, before the header.
_SEP = re.compile(r'"?sep=(.)"?[\s,;|]*$', re.IGNORECASE)
_UTF8 = "utf-8"
_WESTERN = "cp1252"
_BOMS = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or a workbook: call it .zip or .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: call it .xls",
    b"PAR1": "a Parquet file: call it .parquet",
    b"SQLite format 3": "an SQLite database: call it .sqlite",
}
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ACCENTS = 2


class CsvSource(TableSource):
    """One delimited text file with a header line."""

    def __init__(self, place: Place, options: ReadOptions) -> None:
        self._place = place
        self.name = place.name
        self._options = options
        with open_log_file(place) as file:
            sample = file.content.read(_SAMPLE)
        for magic, what_it_is in _OTHER_FORMATS.items():
            if sample.startswith(magic):
                raise LogFormatError(self.name, None, "not a text file", hint=f"it is {what_it_is}")
        self._encoding, self._guessed_encoding = _encoding_of(sample, options.encoding)
        if self._encoding == _UTF8 and options.encoding is None and not _is_utf8(sample):
            self._encoding, self._guessed_encoding = self._western(), _WESTERN
        text = sample.decode(self._encoding, errors="replace").removeprefix("\ufeff")
        separator_line = _SEP.match(text.partition("\n")[0].strip("\r"))
        self._preamble = 1 if separator_line else 0
        declared = separator_line[1] if separator_line else ""
        known = options.delimiter or (declared if declared in DELIMITERS else None)
        self._guessed_delimiter = known is None
        self._delimiter = known or _guessed_delimiter(text)
        self._ragged = 0
        with open_log_file(place) as file, self._text(file) as lines:
            reader = csv.reader(self._lines(lines), delimiter=self._delimiter)
            names = next((row for row in _patiently(reader) if row), [])
            self._header_lines = self._preamble + reader.line_num
        if not any(names):
            raise LogFormatError(
                self.name, 1, "the file is empty", hint="give a CSV file with a header line"
            )
        self.names = tuple(name or f"column {number}" for number, name in enumerate(names, 1))
        refuse_many_columns(self.name, 1, len(self.names), options)

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        self._ragged = 0
        with open_log_file(self._place) as file:
            try:
                for batch in self._arrow_reader(file):
                    progress(file.done, file.total)
                    yield batch
            except pa.ArrowInvalid as error:
                if "UTF8" in str(error) and self._encoding == _UTF8 and not self._options.encoding:
                    self._encoding, self._guessed_encoding = self._western(), _WESTERN
                    raise Reread from None
                raise self._explained(str(error)) from None

    def guesses(self) -> Iterator[Guess]:
        if self._guessed_encoding:
            example = f", as in {self._unusual_word()!r}"
            yield Guess("encoding", f"{self._guessed_encoding}{example}", "encoding")
        if self._guessed_delimiter:
            yield Guess("delimiter", _DELIMITER_NAMES[self._delimiter], "delimiter")

    def notices(self) -> Iterator[str]:
        if ragged := self._ragged:
            lines = "1 line has" if ragged == 1 else f"{ragged:,} lines have"
            yield f"{lines} more or fewer fields than the header: skipped"

    # --- rows and lines ---------------------------------------------------------------

    def line(self, row: int) -> int | None:
        """The line on which a row begins."""
        return next((line for line, _fields in islice(self._rows(), row, None)), None)

    def _arrow_reader(self, file: LogFile) -> Iterator[RecordBatch]:
        fields = [str(number) for number in range(len(self.names))]
        content = file.content
        if self._encoding != _UTF8:
            recoded = _Recoded(content, self._encoding, self.name)
            content = cast("BinaryIO", io.BufferedReader(recoded, _SAMPLE))
        reader = arrow_csv.open_csv(
            content,
            read_options=arrow_csv.ReadOptions(
                block_size=_BLOCK, skip_rows=self._header_lines, column_names=fields
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=self._skipped if self._options.skip_invalid else None,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(fields, pa.string()), strings_can_be_null=False
            ),
        )
        with reader:
            yield from reader

    def _skipped(self, _row: object) -> str:
        self._ragged += 1
        return "skip"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line and fields of every data row, the way Arrow counts rows."""
        width = len(self.names)
        with open_log_file(self._place) as file, self._text(file) as text:
            reader = csv.reader(self._lines(text), delimiter=self._delimiter)
            line = self._preamble + 1
            for fields in _patiently(reader):
                skipped = self._options.skip_invalid and len(fields) != width
                if fields and line > self._header_lines and not skipped:
                    yield line, fields
                line = self._preamble + reader.line_num + 1

    def _text(self, file: LogFile) -> io.TextIOWrapper:
        encoding = _codec(self._encoding)
        return io.TextIOWrapper(file.content, encoding=encoding, errors="replace", newline="")

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        """The lines of the file; refuses one that is longer than the longest row."""
        for number in count(1):
            line = text.readline(_BLOCK)
            if not line:
                return
            if len(line) == _BLOCK and not line.endswith(("\n", "\r")):
                raise self._too_long_a_row(number)
            if number > self._preamble:
                yield line

    def _too_long_a_row(self, line: int | None) -> LogFormatError:
        return LogFormatError(
            self.name,
            line,
            f"a row is longer than {_BLOCK >> 20} MB",
            hint="look for a double quote that is never closed; if it is right, use Parquet",
        )

    def _explained(self, arrow_message: str) -> LogFormatError:
        """Arrow's error in our words, with its line."""
        width = len(self.names)
        if "UTF8" in arrow_message:
            return self._unreadable_characters()
        if "straddling" in arrow_message:
            return self._too_long_a_row(None)
        for line, fields in self._rows():
            if len(fields) != width:
                return LogFormatError(
                    self.name,
                    line,
                    f"{len(fields)} fields where the header has {width}",
                    hint="correct the line (a field that contains the delimiter "
                    f"{self._delimiter!r} belongs in double quotes), or leave such lines out",
                    options=(Option("skip_invalid"),),
                )
        return LogFormatError(
            self.name,
            None,
            f"not a well-formed CSV file: {arrow_message}",
            hint="look for a double quote that is never closed",
        )

    # --- characters -------------------------------------------------------------------

    def _western(self) -> str:
        """The Windows encoding of Western Europe, if all bytes of the file look like it."""
        utf8 = other = beside = 0
        undefined = False
        with open_log_file(self._place) as file:
            while block := file.content.read(_BLOCK):
                for run in _NOT_ASCII.findall(block):
                    of_utf8 = _UTF8_CHARACTER.sub(b"", run)
                    utf8 += len(of_utf8) < len(run)
                    other += len(of_utf8)
                    beside += len(of_utf8) if len(run) > _ACCENTS else 0
                    undefined |= bool(_UNDEFINED.search(run))
        if utf8 > other:
            raise self._unreadable_characters()
        # Western texts have single accented letters; long runs of them are another script.
        if undefined or 2 * beside > other:
            raise LogFormatError(
                self.name,
                None,
                "the text is not UTF-8, and its encoding cannot be guessed",
                hint="name it (such as cp1250, cp1251, shift_jis or mac-roman), or save the file "
                "as UTF-8",
                options=(Option("encoding", "cp1250"),),
            )
        return _WESTERN

    def _unreadable_characters(self) -> LogFormatError:
        with open_log_file(self._place) as file:
            lines = enumerate(file.content, 1)
            line = next((number for number, line in lines if not _is_utf8(line + b" ")), None)
        return LogFormatError(
            self.name,
            line,
            "the text is not encoded in UTF-8",
            hint="name its encoding, or save the file as UTF-8",
            options=(Option("encoding", _WESTERN),),
        )

    def _unusual_word(self) -> str:
        """A word of the file by which a person sees whether the encoding is right."""
        with open_log_file(self._place) as file, self._text(file) as text:
            for line in self._lines(text):
                words = re.split(rf'[\s"{re.escape(self._delimiter)}]+', line)
                if word := next((word for word in words if not word.isascii()), None):
                    return word[:40]
        return self.names[0]


def _encoding_of(sample: bytes, requested: str | None) -> tuple[str, str]:
    """The encoding to begin with, and again if it is a guess worth reporting."""
    if requested is not None:
        return (_UTF8 if codecs.lookup(requested).name in (_UTF8, "utf-8-sig") else requested), ""
    for mark, encoding in _BOMS:
        if sample.startswith(mark):
            return encoding, ""
    # In UTF-16 every other byte of Latin letters is 0, which other encodings never have.
    pairs = max(1, len(sample) // 2)
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if sample[first::2].count(0) > pairs // 4:
            return encoding, encoding
    return _UTF8, ""


def _codec(encoding: str) -> str:
    """The one that reads it, and passes over a mark at its beginning."""
    return "utf-8-sig" if encoding == _UTF8 else encoding


def _is_utf8(sample: bytes) -> bool:
    """Whether this can be the beginning of a UTF-8 text."""
    try:
        codecs.getincrementaldecoder(_UTF8)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


class _Recoded(io.RawIOBase):
    """Text of any encoding as UTF-8."""

    def __init__(self, content: BinaryIO, encoding: str, name: str) -> None:
        self._content = content
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._encoding = encoding
        self._name = name
        self._line = 1
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            block = self._content.read(_SAMPLE)
            try:
                text = self._decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                before = block[: error.start].decode(self._encoding, errors="replace")
                raise LogFormatError(
                    self._name,
                    self._line + before.count("\n"),
                    f"the text is not encoded in {self._encoding}",
                    hint="name another encoding, or save the file as UTF-8",
                    options=(Option("encoding"),),
                ) from None
            self._line += text.count("\n")
            self._ready = text.removeprefix("\ufeff").encode()
            if not block:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _patiently(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to the first that the standard library gives up on."""
    try:
        yield from reader
    except csv.Error:
        return


def _guessed_delimiter(sample: str) -> str:
    """The delimiter that gives header and first rows the same number of fields, and the most."""
    complete = sample[: sample.rfind("\n") + 1] or sample

    def merit(delimiter: str) -> tuple[bool, int]:
        rows = _patiently(csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter))
        widths = [len(row) for row in rows if row][:20] or [0]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(DELIMITERS, key=merit)


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
            beginning = file.content.peek(_SAMPLE)  # type: ignore[attr-defined]
            encoding, _ = _encoding_of(beginning, self._encoding)
            number = 0
            with io.TextIOWrapper(file.content, encoding=_codec(encoding)) as text:
                try:
                    for number, line in enumerate(text, 1):
                        yield number, line
                except UnicodeDecodeError:
                    raise LogFormatError(
                        self.name,
                        number + 1,
                        f"the text is not encoded in {encoding}",
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
        return _parsed(
            place.name, content.decode(_codec(_encoding_of(content[:_SAMPLE], None)[0])), None
        )
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
