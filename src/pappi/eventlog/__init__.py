"""Event logs and their readers.

`open_log(source, options)` picks the reader for a file or a data frame; a reader
gives typed batches of events in file order and, at the end, says what it found and
what it guessed (`log`). Nothing here knows where events are stored.

    log          the interface: batches, columns, guesses, options, and the report of an import
    declared     a log read as it was declared beforehand, and nothing else of it
    xes          XES, streamed through expat; `xes_bulk` reads the usual form by the megabyte, and
                 both fill `xes_columns`
    tables       tables of texts, Parquet files, Arrow tables, pandas and polars data frames
    texts        tables of texts: JSON and workbooks; `delimited` text and object-centric logs
                 (`ocel`) are such tables too
    files        opening files, the reader of each format, and limits on size
    profile      a log at a glance, for its owner: what to know before declaring it
    inference    times and numbers as people write them, and the type of a column of texts
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
