"""A delimited text file as batches of texts, and the exact line of anything wrong with it.

Arrow reads the file; the standard library's reader, which counts lines, is used for the
header and, when something is wrong, to find the line to name.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import LogFile, open_log_file
from pappi.eventlog.limits import first_too_long, too_long
from pappi.eventlog.log import Progress, RecordBatch
from pappi.eventlog.options import DELIMITERS, ReadOptions

_BLOCK = 1 << 22
_SAMPLE = 1 << 16


class CsvSource:
    """One file: its header, and its rows as often as they are needed."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self._options = options
        self.delimiter = options.delimiter or _guessed_delimiter(path)
        self.names, self._header_lines = self._header()
        if len(self.names) > options.most_columns:
            raise LogFormatError(
                path.name,
                1,
                f"{len(self.names):,} columns, where {options.most_columns:,} are expected at most",
                hint="leave out what is no attribute of an event, or say that there are more",
                options=(Option("most_columns", str(len(self.names))),),
            )

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns as text, nothing turned into null; columns are called 0, 1, 2, …."""
        import pyarrow as pa

        with open_log_file(self.path) as file:
            try:
                rows = 0
                for batch in self._arrow_reader(file):
                    progress(file.done, file.total)
                    self._refuse_long_texts(batch, rows)
                    rows += batch.num_rows
                    yield batch
            except pa.ArrowInvalid as error:
                raise self._explained(str(error)) from None

    def line_of_row(self, row: int) -> int | None:
        """The line on which a data row, counted from 0, begins."""
        for number, (line, _fields) in enumerate(self._rows()):
            if number == row:
                return line
        return None

    def defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        line = self.line_of_row(row)
        return LogFormatError(self.path.name, line, cause, hint=hint, options=options)

    def _refuse_long_texts(self, batch: RecordBatch, row: int) -> None:
        if batch.nbytes <= self._options.longest_text:
            return
        for name, column in zip(self.names, batch.columns, strict=True):
            if place := first_too_long(column, self._options.longest_text):
                raise self.defect(row + place - 1, *too_long(name, self._options))

    def _arrow_reader(self, file: LogFile) -> Iterator[RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        fields = [str(number) for number in range(len(self.names))]
        reader = arrow_csv.open_csv(
            file.content,
            read_options=arrow_csv.ReadOptions(
                block_size=_BLOCK, skip_rows=self._header_lines, column_names=fields
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(fields, pa.string()), strings_can_be_null=False
            ),
        )
        with reader:
            yield from reader

    def _header(self) -> tuple[tuple[str, ...], int]:
        with open_log_file(self.path) as file, _text(file) as text:
            reader = csv.reader(self._lines(text), delimiter=self.delimiter)
            names = next((row for row in _patiently(reader) if row), [])
            lines = reader.line_num
        if not any(names):
            raise LogFormatError(
                self.path.name, 1, "the file is empty", hint="give a CSV file with a header line"
            )
        return tuple(name or f"column {number}" for number, name in enumerate(names, 1)), lines

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line and fields of every data row, the way Arrow counts rows."""
        with open_log_file(self.path) as file, _text(file) as text:
            reader = csv.reader(self._lines(text), delimiter=self.delimiter)
            line = 1
            for fields in _patiently(reader):
                if fields and line > self._header_lines:
                    yield line, fields
                line = reader.line_num + 1

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        """The lines of the file, none of which is longer than any row that is read."""
        for number in count(1):
            line = text.readline(_BLOCK)
            if not line:
                return
            if len(line) == _BLOCK and not line.endswith(("\n", "\r")):
                raise self._too_long_a_row(number)
            yield line

    def _too_long_a_row(self, line: int | None) -> LogFormatError:
        return LogFormatError(
            self.path.name,
            line,
            f"a row is longer than {_BLOCK >> 20} MB",
            hint="look for a double quote that is never closed; if it is right, use Parquet",
        )

    def _explained(self, arrow_message: str) -> LogFormatError:
        """Arrow's complaint in our words, with the line it is about."""
        width = len(self.names)
        if "UTF8" in arrow_message:
            return LogFormatError(
                self.path.name,
                self._first_line_not_utf8(),
                "the text is not encoded in UTF-8",
                hint="save the file as UTF-8, e.g. with iconv -f latin1 -t utf-8",
            )
        if "straddling" in arrow_message:
            return self._too_long_a_row(None)
        for line, fields in self._rows():
            if len(fields) != width:
                return LogFormatError(
                    self.path.name,
                    line,
                    f"{len(fields)} fields where the header has {width}",
                    hint="correct the line; put a field that contains the delimiter "
                    f"{self.delimiter!r} in double quotes",
                )
        return LogFormatError(
            self.path.name,
            None,
            f"not a well-formed CSV file: {arrow_message}",
            hint="look for a double quote that is never closed",
        )

    def _first_line_not_utf8(self) -> int | None:
        with open_log_file(self.path) as file:
            for number, line in enumerate(file.content, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return None


def _text(file: LogFile) -> io.TextIOWrapper:
    return io.TextIOWrapper(file.content, encoding="utf-8-sig", errors="replace", newline="")


def _patiently(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to the first that the standard library gives up on."""
    try:
        yield from reader
    except csv.Error:
        return


def _guessed_delimiter(path: Path) -> str:
    """The one that cuts header and first rows into the same number of fields, and most."""
    with open_log_file(path) as file:
        sample = file.content.read(_SAMPLE).decode("utf-8-sig", errors="replace")
    complete = sample[: sample.rfind("\n") + 1] or sample

    def merit(delimiter: str) -> tuple[bool, int]:
        rows = _patiently(csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter))
        widths = [len(row) for row in rows if row][:20] or [0]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(DELIMITERS, key=merit)
