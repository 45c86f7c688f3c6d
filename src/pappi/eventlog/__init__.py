"""What an event log is, and the readers.

`open_log(source, options)` picks the reader for a file or a data frame; a reader
gives typed batches of events in file order and, at the end, says what it found and
what it guessed (`log`). Nothing here knows a database.

    log          the seam: batches, columns, guesses, options, and what an import found
    declared     a log read as it was declared beforehand, and nothing else of it
    xes          XES, streamed through expat; `xes_bulk` reads the usual by the megabyte, and both
                 fill `xes_columns`
    tables       delimited text, Parquet files, Arrow tables, pandas and polars data frames
    files        opening files, which reader for which, and limits on what they hold
    inference    times as people write them, and which type a column of texts has
"""

from pappi.eventlog.files import open_log
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowType,
    Batches,
    Column,
    Description,
    EventReader,
    ImportReport,
    Progress,
    ReadOptions,
    RecordBatch,
    StoredColumn,
    attribute_field,
    no_progress,
)

__all__ = [
    "ACTIVITY",
    "CASE",
    "TIME",
    "ArrowType",
    "Batches",
    "Column",
    "Description",
    "EventReader",
    "ImportReport",
    "Progress",
    "ReadOptions",
    "RecordBatch",
    "StoredColumn",
    "attribute_field",
    "no_progress",
    "open_log",
]
