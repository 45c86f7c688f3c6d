"""A table of texts: what delimited text, workbooks, JSON and object-centric logs are read as.

The types of its columns are inferred later, from all of their values (`inference`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import pyarrow as pa

from pappi.errors import LogFormatError, Option
from pappi.eventlog.log import Guess, Progress, RecordBatch

_ROWS = 20_000


class TextSource:
    """One table: its name in messages, its header, and its rows as often as they are needed."""

    name: str
    names: Sequence[str]

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns as texts, none of them null; columns are called 0, 1, 2, ….

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
