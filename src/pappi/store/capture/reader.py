"""The events that are being sealed, as batches: the store reads them like any other log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowType,
    Batches,
    Column,
    Description,
    Progress,
    RecordBatch,
    attribute_field,
    no_progress,
)
from pappi.store.capture.inbox import Inbox
from pappi.values.vocabulary import Kind

_BATCH = 20_000


class InboxReader:
    """The events of one part, imported ones first, then in the order of their arrival."""

    name = "captured events"

    def __init__(self, inbox: Inbox, part: int, attributes: Mapping[str, Kind]) -> None:
        self._inbox = inbox
        self._part = part
        self._attributes = attributes

    def batches(self, progress: Progress = no_progress) -> Batches:
        types = self._types()
        yield self._batch([], types)  # the columns are there, whatever the events hold
        rows = self._inbox.events_of_part(self._part)
        done = 0
        while chunk := rows.fetchmany(_BATCH):
            yield self._batch(chunk, types)
            done += len(chunk)
            progress(done, done)

    def description(self) -> Description:
        return Description(
            tuple(
                Column(attribute_field(number), name, kind, str(kind))
                for number, (name, kind) in enumerate(self._attributes.items())
            )
        )

    def _types(self) -> list[ArrowType]:
        import pyarrow as pa

        fractional = self._inbox.fractional(self._part)
        whole = {Kind.TEXT: pa.string(), Kind.TRUTH: pa.bool_()}
        return [
            pa.float64() if name in fractional else whole.get(kind, pa.int64())
            for name, kind in self._attributes.items()
        ]

    def _batch(self, rows: Sequence[Sequence[Any]], types: Sequence[ArrowType]) -> RecordBatch:
        import pyarrow as pa

        values = [json.loads(attributes) for *_, attributes in rows]
        arrays = {
            CASE: pa.array([row[0] for row in rows], pa.string()),
            ACTIVITY: pa.array([row[1] for row in rows], pa.string()),
            TIME: pa.array([row[2] for row in rows], pa.int64()),
        }
        for number, (name, of) in enumerate(zip(self._attributes, types, strict=True)):
            column = [each.get(name) for each in values]
            if of == pa.float64():  # of an integer that no double holds, Arrow would complain
                column = [None if value is None else float(value) for value in column]
            arrays[attribute_field(number)] = pa.array(column, of)
        return pa.record_batch(arrays)
