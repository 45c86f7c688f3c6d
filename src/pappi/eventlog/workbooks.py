"""Workbooks of Excel: one sheet, each cell as the text it shows.

Cells that are dates become yyyy-mm-dd hh:mm:ss, which is unambiguous, so that a column may have
both cells that are dates and cells that are texts.
The reader (calamine) is an extra: `pip install 'pappi[excel]'`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from itertools import islice

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.files import Place, log_bytes, refuse_many_columns, require_harmless
from pappi.eventlog.log import Guess, Progress, ReadOptions, RecordBatch
from pappi.eventlog.texts import TextSource, text_batches
from pappi.values import did_you_mean

_HEADER_WITHIN = 50
_ARCHIVE = b"PK\x03\x04"
_NO_DAY = date(1901, 1, 1)
_MIDNIGHT = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_DAY_S = 86_400


class Workbook(TextSource):
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
            (number for number, name in enumerate(names, 1) if name or self._used(number - 1)),
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

    def _used(self, number: int) -> bool:
        return any(row[number] for row in self._rows[self._header :])


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
