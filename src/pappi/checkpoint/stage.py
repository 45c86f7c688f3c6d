"""Made-up events in a file of their own, so that they are read the way real ones are.

A file is made once for the same facts, and the last few are kept while the process lasts. They
lie in the system's folder for temporary files, far from any workspace, and go when they are no
longer kept. Nothing in them is about anybody.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import pyarrow as pa

from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    Batches,
    Column,
    Description,
    Progress,
    attribute_field,
    no_progress,
)
from pappi.examples.twin import Twin, TwinFacts, make_twin
from pappi.store.events import import_events
from pappi.values.vocabulary import Kind

TABLE = "twin"
MOST_STAGES = 4
_Key = tuple[int, bytes]
_TYPES = {Kind.TEXT: pa.string(), Kind.TRUTH: pa.bool_(), Kind.NUMBER: pa.float64()}


class Stage:
    """A twin as an events file. Its key is public, as everything about it is."""

    def __init__(self, facts: TwinFacts) -> None:
        twin = make_twin(facts)
        self.cases, self.blocks = twin.cases, twin.blocks
        self.key = facts.digest
        folder = Path(tempfile.mkdtemp(prefix="pappi-rehearsal-"))
        weakref.finalize(self, _remove_in, os.getpid(), folder)
        self.events = folder / "twin.duckdb"
        import_events(self.events, TABLE, _Reader(twin, facts.vocabulary.attributes))


class Stages:
    """The last stages that were used, for all threads of a process.

    One that is being made keeps those waiting who want the same, and nobody else: whoever
    asks about made-up groups makes a new one each time.
    """

    def __init__(self, most: int = MOST_STAGES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Stage] = OrderedDict()
        # Held by those who use them: gone as soon as nobody makes or waits for that stage.
        self._turns: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()

    def of(self, facts: TwinFacts) -> Stage:
        # A forked child makes its own: the parent's go with the parent.
        key = os.getpid(), facts.digest
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                stage = self._kept.get(key)
            if stage is None or not stage.events.exists():  # somebody may tidy up meanwhile
                stage = Stage(facts)
            self._keep(key, stage)
            return stage

    def _keep(self, key: _Key, stage: Stage) -> None:
        with self._lock:
            self._kept[key] = stage
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A twin as a log that is read once, like a file."""

    twin: Twin
    kinds: Mapping[str, Kind]
    name: str = "a made-up log"

    def batches(self, progress: Progress = no_progress) -> Batches:
        columns = {
            CASE: pa.array(self.twin.case_ids, pa.string()),
            ACTIVITY: pa.array(self.twin.activities, pa.string()),
            TIME: pa.array(self.twin.times_us, pa.int64()),
        }
        for number, (name, kind) in enumerate(self.kinds.items()):
            values = self.twin.attributes[name]
            columns[attribute_field(number)] = pa.array(values, _TYPES.get(kind, pa.int64()))
        yield pa.record_batch(columns)
        progress(1, 1)

    def description(self) -> Description:
        named = enumerate(self.kinds.items())
        return Description(
            tuple(Column(attribute_field(i), name, kind, str(kind)) for i, (name, kind) in named)
        )


def _remove_in(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
