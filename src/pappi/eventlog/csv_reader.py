"""The CSV reader: two passes over the file, one to learn the types and one to read.

The first pass decides types, time format and missing-value markers by the whole file;
the second gives typed batches. Memory holds one block of the file at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pappi.errors import Option
from pappi.eventlog.clocks import LogClock, format_guess
from pappi.eventlog.csv_source import CsvSource
from pappi.eventlog.inference import ALL_TIMES, ColumnType, TypeInference, blanked, typed
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    Batches,
    Column,
    Description,
    Guess,
    Kinds,
    Progress,
    RecordBatch,
    attribute_field,
    no_progress,
)
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.roles import no_such_role, required_role, role_by_name, role_guess
from pappi.eventlog.times import FORMATS, TimeFormat, time_format

_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}


class CsvReader:
    """One delimited text file with a header line.

    With `kinds`, what was declared, the types of attributes are not learned: they come as texts.
    """

    def __init__(self, path: Path, options: ReadOptions, kinds: Kinds | None = None) -> None:
        self._options = options
        self._kinds = kinds
        self._format = None if options.time_format is None else time_format(options.time_format)
        self._source = CsvSource(path, options)
        self._clock = LogClock(options, learns=kinds is None)
        names = self._source.names
        self._case = required_role(path.name, "case", names, options.case)
        self._activity = required_role(
            path.name, "activity", names, options.activity, (self._case,)
        )
        self._time = role_by_name(
            "timestamp", names, options.timestamp, (self._case, self._activity)
        )
        self._seen = [
            TypeInference(options.missing, self._possible_times(number))
            for number in range(len(names))
        ]
        self._attributes: dict[int, ColumnType] = {}
        self._time_type: ColumnType | None = None

    @property
    def name(self) -> str:
        return self._source.path.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        self._learn(lambda done, total: progress(done, 2 * total))
        row = 0
        for texts in self._source.batches(lambda done, total: progress(total + done, 2 * total)):
            self._refuse_empty_case(texts.column(self._case), row)
            yield self._typed_batch(texts)
            row += texts.num_rows

    def description(self) -> Description:
        columns = (
            Column(attribute_field(number), self._source.names[number], of.kind, of.name)
            for number, of in self._attributes.items()
        )
        return Description(tuple(columns), tuple(self._guesses()), tuple(self._notices()))

    def _possible_times(self, number: int) -> Sequence[TimeFormat]:
        """A format that was said is the only one for event times, the first for others.

        A count since 1970 can be the time of events, but as an attribute it is just a number.
        """
        if number == self._time:
            return ALL_TIMES if self._format is None else (self._format,)
        said = () if self._format is None else (self._format,)
        return (*said, *FORMATS.values())

    def _learn(self, progress: Progress) -> None:
        observed = [n for n in range(len(self._seen)) if self._to_be_learned(n)]
        for texts in self._source.batches(progress):
            for number in observed:
                self._seen[number].observe(texts.column(number))
        time = self._time_column()
        self._time = time
        self._time_type = self._checked_time_type(time)
        self._attributes = {
            number: self._attribute_type(number)
            for number in range(len(self._seen))
            if number not in (self._case, self._activity, time)
        }
        times = [n for n, of in self._attributes.items() if of.name == "time"]
        if any(self._seen[number].offsets for number in (time, *times)):
            self._clock.trust_z()

    def _to_be_learned(self, number: int) -> bool:
        if number in (self._case, self._activity):
            return False
        return self._kinds is None or self._time in (None, number)

    def _attribute_type(self, number: int) -> ColumnType:
        if self._kinds is None:
            return self._seen[number].attribute_type()
        return ColumnType("text", self._options.missing or ())

    def _time_column(self) -> int:
        """The column named or usually named so, or else the first that holds times."""
        if self._time is not None:
            return self._time
        taken = (self._case, self._activity)
        for number, seen in enumerate(self._seen):
            if number not in taken and seen.attribute_type().name == "time":
                return number
        raise no_such_role(self.name, "timestamp", self._source.names, taken)

    def _checked_time_type(self, number: int) -> ColumnType | None:
        seen, name = self._seen[number], self._source.names[number]
        time_type = seen.time_type()
        bad = seen.unreadable
        if bad is not None:
            raise self._source.defect(
                bad.row,
                f"{name!r} is {bad.text[:80]!r}, which is {bad.why}",
                "correct the value, or say how times are written, that another column has them, "
                "or what means no value",
                (Option("time_format"), Option("timestamp"), Option("missing")),
            )
        return time_type

    def _refuse_empty_case(self, column: ArrowArray, row: int) -> None:
        import pyarrow.compute as pc

        empty = pc.index(column, "").as_py()
        if empty >= 0:
            raise self._source.defect(
                row + empty,
                f"the case ({self._source.names[self._case]!r}) is empty",
                "every event must belong to a case; fill it in or remove the line",
            )

    def _typed_batch(self, texts: RecordBatch) -> RecordBatch:
        import pyarrow as pa

        arrays = {
            CASE: texts.column(self._case),
            ACTIVITY: blanked(texts.column(self._activity), ()),
            TIME: self._times(texts),
        }
        for number, of in self._attributes.items():
            read = self._clock.read if of.name == "time" else typed
            arrays[attribute_field(number)] = read(texts.column(number), of)
        return pa.record_batch(arrays)

    def _times(self, texts: RecordBatch) -> ArrowArray:
        import pyarrow as pa

        if self._time is None or self._time_type is None:  # the column has no values at all
            return pa.nulls(texts.num_rows, pa.int64())
        return self._clock.read(texts.column(self._time), self._time_type)

    def _guesses(self) -> Iterator[Guess]:
        names, options = self._source.names, self._options
        if options.delimiter is None:
            yield Guess("delimiter", _DELIMITER_NAMES[self._source.delimiter], "delimiter")
        yield from role_guess("case", names[self._case], options.case)
        yield from role_guess("activity", names[self._activity], options.activity)
        if self._time is not None and self._time_type is not None:
            yield from role_guess("timestamp", names[self._time], options.timestamp)
            yield from format_guess(self._time_type, self._seen[self._time], options)
        yield from self._clock.guesses()
        if options.missing is None:
            yield from self._missing_guesses()

    def _missing_guesses(self) -> Iterator[Guess]:
        types = dict(self._attributes)
        if self._time is not None and self._time_type is not None:
            types[self._time] = self._time_type
        columns: dict[str, list[str]] = {}
        for number, of in sorted(types.items()):
            for marker in of.missing:
                columns.setdefault(marker, []).append(self._source.names[number])
        for marker, names in columns.items():
            yield Guess(repr(marker), f"means no value in {_listed(names)}", "missing")

    def _notices(self) -> Iterator[str]:
        yield from self._clock.notices()
        texts = [number for number, of in self._attributes.items() if of.name == "text"]
        if self._options.missing is not None or self._kinds is not None:
            return
        for number in texts:
            for marker in sorted(self._seen[number].markers_seen):
                yield (
                    f"{marker!r} in the text column {self._source.names[number]!r} was kept as a "
                    f"text; name it with the option missing if it means no value"
                )


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} other columns"
