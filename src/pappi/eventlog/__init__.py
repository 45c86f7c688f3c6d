"""What an event log is, and the readers.

`open_log(source, options)` picks the reader for a file or a data frame; a reader
gives typed batches of events in file order and, at the end, says what it found and
what it guessed (`log`). Nothing here knows where events are stored.

    log          the seam: batches, columns, guesses, options, and what an import found
    declared     a log read as it was declared beforehand, and nothing else of it
    xes          XES, streamed through expat; `xes_bulk` reads the usual by the megabyte, and both
                 fill `xes_columns`
    tables       tables of texts, Parquet files, Arrow tables, pandas and polars data frames
    texts        what a table of texts is, whatever it was written as: `delimited` text, a
                 workbook (`workbooks`), JSON (`records`), an object-centric log (`ocel`)
    files        opening files, which reader for which, and limits on what they hold
    profile      a log at a glance, for its owner: what to know before declaring it
    inference    times and numbers as people write them, and which type a column of texts has
"""

from pappi.eventlog.files import open_log
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowSchema,
    ArrowType,
    Batches,
    Column,
    Description,
    DraftingReader,
    EventReader,
    ImportReport,
    Progress,
    ReadOptions,
    RecordBatch,
    Reread,
    StoredColumn,
    attribute_field,
    no_progress,
)
from pappi.eventlog.profile import (
    ActivityUse,
    Anchored,
    AttributeUse,
    BlockCount,
    PersonUse,
    Profile,
    Spread,
    Suggestion,
    Wait,
    could_be_a_person,
    looks_personal,
    milestones_of,
)

__all__ = [
    "ACTIVITY",
    "CASE",
    "TIME",
    "ActivityUse",
    "Anchored",
    "ArrowSchema",
    "ArrowType",
    "AttributeUse",
    "Batches",
    "BlockCount",
    "Column",
    "Description",
    "DraftingReader",
    "EventReader",
    "ImportReport",
    "PersonUse",
    "Profile",
    "Progress",
    "ReadOptions",
    "RecordBatch",
    "Reread",
    "Spread",
    "StoredColumn",
    "Suggestion",
    "Wait",
    "attribute_field",
    "could_be_a_person",
    "looks_personal",
    "milestones_of",
    "no_progress",
    "open_log",
]
