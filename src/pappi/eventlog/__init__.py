"""What an event log is, and the readers.

`open_log(source, options)` picks the reader for a file or a data frame; a reader
gives typed batches of events in file order and, at the end, says what it found and
what it guessed (`log`). Nothing here knows a database.

    log        the seam: batches, columns, guesses
    options    what the owner may say instead of leaving it to be guessed
    declared   a log read as it was declared beforehand, and nothing else of it
    report     what an import found
    xes*       XES, streamed through expat
    csv*       delimited text
    frames     Parquet files, Arrow tables, pandas and polars data frames
    times, zones, inference, roles    what readers share
"""

from pappi.eventlog.log import Column, Description, EventReader, Guess, Progress, no_progress
from pappi.eventlog.opening import open_log
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.report import ImportReport, StoredColumn

__all__ = [
    "Column",
    "Description",
    "EventReader",
    "Guess",
    "ImportReport",
    "Progress",
    "ReadOptions",
    "StoredColumn",
    "no_progress",
    "open_log",
]
