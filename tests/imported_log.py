"""Imports a log into fresh events and gives back what the log then holds."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pappi.eventlog import ImportReport, ReadOptions, open_log
from pappi.store import import_events, open_readonly


@dataclass(frozen=True, slots=True)
class Imported:
    report: ImportReport
    rows: list[dict[str, Any]]

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    @property
    def types(self) -> dict[str, str]:
        return {column.name: column.source_type for column in self.report.columns}


def imported(folder: Path, source: object, options: ReadOptions | None = None) -> Imported:
    events = folder / "events"
    shutil.rmtree(events, ignore_errors=True)
    report = import_events(events, "log", open_log(source, options))
    with closing(open_readonly(events, "log")) as connection:
        found = connection.execute('SELECT * FROM "log" ORDER BY pos')
        names = [description[0] for description in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return Imported(report, rows)
