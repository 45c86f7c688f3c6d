"""Event logs and their readers.

`open_log(source, options)` picks the reader for a file or a data frame; a reader
gives typed batches of events in file order and, at the end, says what it found and
what it guessed (`log`). Nothing here knows where events are stored.

    log          the interface: batches, columns, guesses, options, and the report of an import
    readers      the reader of each format; a log read as it was declared, and nothing else of it
    xes          XES: traces in the usual form by the megabyte, the rest by expat (`xes_parser`)
    tables       from the rows of a table to events; Parquet, Arrow, pandas and polars data frames
    texts        tables of texts: delimited text, JSON and workbooks
    ocel         object-centric logs, as tables of texts
    files        opening files, and limits on size
    profile      a log at a glance, for its owner: what to know before declaring it
    inference    times and numbers as people write them, and the type of a column of texts
"""

from typing import TYPE_CHECKING

from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    EARLIEST_US,
    LATEST_US,
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
from pappi.lazy import lazy_imports

if TYPE_CHECKING:
    from pappi.eventlog.readers import open_log
else:
    __getattr__ = lazy_imports(__name__)
