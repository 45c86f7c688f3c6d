"""A table of texts: what delimited text, workbooks, JSON and object-centric logs are read as.

The types of its columns are inferred later, from all of their values (`inference`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import pyarrow as pa

from pappi.errors import LogFormatError, Option
from pappi.eventlog.log import Guess, Progress, RecordBatch

_ROWS = 20_000


class TextSource(Protocol):
    """One table: the names of its columns, and its rows as often as they are needed."""

    @property
    def name(self) -> str:
        """The name of the table in messages."""

    @property
    def names(self) -> Sequence[str]:
        """The header."""

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns as texts, none of them null; columns are called 0, 1, 2, ….

        Raises `Reread` if everything yielded so far must be discarded.
        """

    def defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        """The error for a row, counted from 0 in the order of `batches`, with its place."""

    def place(self, row: int) -> str:
        """Where a row is, for people."""

    def guesses(self) -> Iterable[Guess]: ...

    def notices(self) -> Iterable[str]: ...


def text_batches(rows: Iterable[Sequence[str]], width: int) -> Iterator[RecordBatch]:
    """Rows of texts as batches; a short row is filled up."""
    fields = [str(number) for number in range(width)]
    remaining = iter(rows)
    while block := list(islice(remaining, _ROWS)):
        columns = zip(*((*row, *[""] * (width - len(row))) for row in block), strict=True)
        yield pa.record_batch([pa.array(column, pa.string()) for column in columns], fields)
