"""Delimited text: its encoding, its delimiter, its header, and its rows as texts.

Arrow reads the file; the standard library's reader, which counts lines, is used for the header
and, when something is wrong, to find the line to report. Arrow also notices text that is not UTF-8,
so that an ordinary file is not read once more for that. If the bytes then look like the usual
Western European encoding, that is used; otherwise the owner has to name the encoding.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import count, islice
from typing import BinaryIO, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import (
    LogFile,
    Place,
    open_log_file,
    refuse_many_columns,
)
from pappi.eventlog.log import DELIMITERS, Guess, Progress, ReadOptions, RecordBatch, Reread
from pappi.eventlog.texts import TableSource

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
        self._encoding, self._guessed_encoding = _encoding(sample, options.encoding)
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
        reader = arrow_csv.open_csv(
            self._as_utf8(file),
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
        encoding = "utf-8-sig" if self._encoding == _UTF8 else self._encoding
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

    def _as_utf8(self, file: LogFile) -> BinaryIO:
        if self._encoding == _UTF8:
            return file.content
        recoded = _Recoded(file.content, self._encoding, self.name)
        return cast("BinaryIO", io.BufferedReader(recoded, _SAMPLE))

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


_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ACCENTS = 2


def _encoding(sample: bytes, requested: str | None) -> tuple[str, str]:
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
