"""A table of texts: what delimited text, workbooks, JSON and object-centric logs are read as.

Of which types its columns are is decided later, by all of their values (`inference`).
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
        """How to call the table in messages."""

    @property
    def names(self) -> Sequence[str]:
        """The header."""

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns as texts, none of them null; columns are called 0, 1, 2, ….

        `Reread` is raised if what was given so far must be forgotten.
        """

    def defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        """What is wrong with a row, counted from 0 as `batches` gives them, and where it is."""

    def place(self, row: int) -> str:
        """Where a row is, for people."""

    def guesses(self) -> Iterable[Guess]: ...

    def notices(self) -> Iterable[str]: ...


def text_batches(rows: Iterable[Sequence[str]], width: int) -> Iterator[RecordBatch]:
    """Rows of texts as batches; a short row is filled up."""
    fields = [str(number) for number in range(width)]
    passing = iter(rows)
    while some := list(islice(passing, _ROWS)):
        columns = zip(*((*row, *[""] * (width - len(row))) for row in some), strict=True)
        yield pa.record_batch([pa.array(column, pa.string()) for column in columns], fields)
