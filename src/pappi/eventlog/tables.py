"""Logs that are tables: columns of texts, Parquet files, Arrow tables and data frames.

A table of texts (`texts`) is read twice. The first pass decides types, time format and
missing-value markers from the whole table; the second gives typed batches. A caller that can take
batches back asks for a draft: one pass, typed by the first block, abandoned as soon as a later one
disagrees. Memory holds one block at a time.

Data frames are taken through the Arrow interface they export (`__arrow_c_stream__`),
so neither pandas nor polars is ever imported here. Types are kept; only times without
a zone, and event times that are texts, need to be interpreted.

A row is usually one event. If it has both the start and the end of an activity it is two, and in a
wide table it is a case, with an event for each column that holds a time.

Four storage types are enough for every engine (64-bit integers, doubles, truth values,
text); what cannot be one of them without loss becomes JSON text, and is reported.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet, types

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.files import Place, listed, log_bytes, refuse_long_texts, refuse_many_columns
from pappi.eventlog.inference import (
    ALL_TIMES,
    CLOCK_ALONE,
    FORMATS,
    WITHOUT_OFFSET,
    Clock,
    ColumnType,
    LogClock,
    TypeInference,
    blanked,
    format_guess,
    instants,
    joined,
    read_times,
    requested_formats,
)
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    EARLIEST_US,
    LATEST_US,
    TIME,
    ArrowArray,
    ArrowSchema,
    ArrowType,
    Batches,
    Column,
    Description,
    Guess,
    Kinds,
    Progress,
    ReadOptions,
    RecordBatch,
    Reread,
    attribute_field,
    no_progress,
)
from pappi.eventlog.texts import TableSource
from pappi.values import Kind, closest

# --- which column is the case, which the activity, which the time --------------------


_SHOWN, _FEW = 30, 3
# Best first, written without case, blanks and punctuation.
_USUAL_NAMES = {
    "case": (
        "caseconceptname", "caseid", "case", "casename", "casenumber", "casekey", "idcase",
        "caseidentifier", "traceid", "trace", "tracename", "processinstanceid", "processinstance",
        "instanceid", "caseuid", "ticketid", "ticket", "incidentid", "orderid", "patientid",
        "fallid", "fallnummer", "fall", "vorgangsid", "vorgangsnummer", "ticketnummer",
        "auftragsnummer", "issuekey", "incidentnumber", "ticketnumber", "ordernumber", "vorgang",
    ),
    "activity": (
        "conceptname", "activity", "activityname", "activityid", "activitytype", "activitylabel",
        "eventname", "event", "eventtype", "eventlabel", "task", "taskname", "action", "step",
        "operation", "label", "ocelactivity", "activityen", "aktivität", "aktivitaet", "tätigkeit",
        "taetigkeit", "vorgangsschritt", "schritt", "ereignis", "arbeitsschritt", "vorgang",
    ),
    "timestamp": (
        "timetimestamp", "timestamp", "completetimestamp", "completiontimestamp", "endtimestamp",
        "eventtimestamp", "eventtime", "completetime", "completiontime", "endtime", "time",
        "datetime", "eventdatetime", "eventdate", "ts", "tsus", "date", "enddate", "end",
        "complete", "starttimestamp", "starttime", "startdate", "start", "when", "zeitstempel",
        "oceltimestamp", "zeitpunkt", "datum", "zeit", "uhrzeit",
    ),
}  # fmt: skip
# Usual names of two columns with the day and the time of the day.
_DAYS = ("date", "eventdate", "day", "datum", "tag", "enddate", "startdate", "postingdate")
_CLOCKS = ("time", "timeofday", "eventtime", "clock", "uhrzeit", "zeit", "endtime", "starttime")
_STARTS = ("start", "starttime", "starttimestamp", "startdate", "startdatetime", "begin", "beginn")
# Options that name columns, and what the column is taken for.
_NAMING = {
    "case": "the case", "activity": "the activity", "timestamp": "the timestamp",
    "time_of_day": "the time of the day", "start": "the start",
}  # fmt: skip
_IDS = ("id", "key", "number", "nummer", "nr", "no")
_LIFECYCLE = "lifecycle:transition"
_SAMPLED = 1000


class TableReader:
    """The events of a table, whose types are inferred from all of its texts where it has none.

    With declared `kinds`, nothing about one value is learned from another: the attributes of a
    table of texts stay texts.
    """

    def __init__(
        self, source: TableSource, options: ReadOptions, kinds: Kinds | None = None
    ) -> None:
        options = source.reading(options)
        self.name, self._names = source.name, source.names
        self._source = source
        self._typed = {n: stored_type(of) for n, of in enumerate(source.types)}
        self._options = options
        self._kinds = kinds
        self._clock = LogClock(options, learns=kinds is None)
        self._requested = requested_formats(options)
        self._wide = options.shaped_wide
        self._skipped: Counter[str] = Counter()
        self._first_skipped: tuple[int, str] | None = None
        self._seen: list[TypeInference] = []
        self._attributes: Mapping[int, ColumnType | StoredType] = {}
        self._times: Mapping[int, ColumnType | StoredType | None] = {}
        self._refuse_unknown_names()
        case = self._by_name("case")
        activity = None if self._wide else self._by_name("activity", case)
        self._timestamp = None if self._wide else self._by_name("timestamp", case, activity)
        if case is None or (activity is None and not self._wide):
            raise self._lacks(*self._lacking(case, activity))
        self._case = case
        self._activity = activity
        self._time_of_day = self._said("time_of_day")
        self._start = self._said("start")
        self._milestones = tuple(self._names.index(name) for name in options.milestones)
        self._taken = {n for n in (case, activity, self._time_of_day) if n is not None}
        if self._typed:  # what the types show to be lacking is refused before anything is read
            self._to_observe()

    def batches(self, progress: Progress = no_progress) -> Batches:
        """As for every reader; progress counts rows where there is no file."""

        def learning(done: int, total: int) -> None:
            progress(done, 2 * total)

        try:
            was_read = self._learn(learning)
        except Reread:
            was_read = self._learn(learning)

        def reading(done: int, total: int) -> None:
            progress(total + done, 2 * total)

        row = 0
        for batch in self._source.batches(reading if was_read else progress):
            yield self._batch(batch, row)
            row += batch.num_rows

    def draft(self, progress: Progress = no_progress) -> Batches:
        try:
            yield from self._drafted(progress)
        except (LogFormatError, Reread):
            self._clock = LogClock(self._options, learns=self._kinds is None)
            raise Reread from None

    def _drafted(self, progress: Progress) -> Batches:
        if self._options.skip_invalid:
            raise Reread  # the format that reads most of the times is known at the end
        observed = self._to_observe()
        shown: object = None
        row = 0
        for batch in self._source.batches(progress):
            self._observe(batch, row, observed)
            now = self._decide()
            shown = shown or now
            if now != shown:
                raise Reread
            yield self._batch(batch, row)
            row += batch.num_rows
        if not row:
            raise Reread

    def description(self) -> Description:
        columns = [
            Column(attribute_field(number), self._names[number], of.kind, of.name)
            for number, of in self._attributes.items()
        ]
        if self._start is not None:  # whether an event is a start or an end
            columns.append(Column(self._lifecycle, _LIFECYCLE, Kind.TEXT, "text"))
        return Description(tuple(columns), tuple(self._guesses()), tuple(self._notices()))

    # --- which column is what ---------------------------------------------------------

    def _sample(self) -> Mapping[int, Sequence[str]]:
        """The first values of each column, as texts, to propose its role."""
        try:
            first = next(self._source.batches(no_progress), None)
        except Reread:
            return self._sample()
        if first is None:
            return {}
        columns = enumerate(first.slice(0, _SAMPLED).columns)
        return {
            number: ["" if value is None else str(value) for value in column.to_pylist()]
            for number, column in columns
        }

    def _said(self, option: str) -> int | None:
        name = getattr(self._options, option)
        return None if name is None else self._names.index(name)

    def _refuse_unknown_names(self) -> None:
        """Report all unknown names at once."""
        requested = {role: getattr(self._options, option) for option, role in _NAMING.items()}
        names = [(name, role) for role, name in requested.items() if name is not None]
        names += [(name, "a milestone") for name in self._options.milestones]
        unknown = [(name, role) for name, role in names if name not in self._names]
        if not unknown:
            return
        close = [closest(name, self._names) for name, _ in unknown]
        suggestions = ", ".join(map(repr, filter(None, close)))
        raise UsageError(
            "there is no column "
            + " and no column ".join(f"{name!r} to take {role} from" for name, role in unknown),
            hint=f"did you mean {suggestions}?"
            if all(close)
            else f"columns are {listed(self._names, _SHOWN)}",
        )

    def _by_name(self, role: str, *taken: int | None) -> int | None:
        """The position of the column in that role: as named, or by the most usual name."""
        if getattr(self._options, role) is not None:
            return self._said(role)
        options = self._options
        requested = {getattr(options, option) for option in _NAMING} | {*options.milestones}
        plain = {
            _plain(name): position
            for position, name in reversed(list(enumerate(self._names)))
            if position not in taken and name not in requested
        }
        return next((plain[usual] for usual in _USUAL_NAMES[role] if usual in plain), None)

    def _lacking(self, case: int | None, activity: int | None) -> Iterator[str]:
        """The roles for which there is no column, all at once."""
        if case is None:
            yield "case"
        if self._wide:
            return
        if activity is None:
            yield "activity"
        if self._timestamp is None and not any(map(_hold_times, self._sample().values())):
            yield "timestamp"

    def _lacks(self, *roles: str) -> LogFormatError:
        """The error for roles without a clear column, with the likeliest column for each."""
        sample = self._sample()
        taken = {self._by_name(role) for role in _USUAL_NAMES if role not in roles}
        taken.add(self._said("start"))
        options = []
        for role in roles:
            likely = _likeliest(role, self._names, sample, taken)
            taken.add(likely)
            options.append(Option(role, self._names[likely]))
        which = _in_words([f"the {role}" for role in roles], "or")
        columns_are = "column is" if len(roles) == 1 else "columns are"
        hint = (
            f"say which {columns_are} {_in_words([f'the {role}' for role in roles], 'and')}, e.g."
        )
        if "activity" in roles and sum(map(_hold_times, sample.values())) > 1:
            hint = "if each row is a case, and each column of times an event of it, say so, e.g."
            options = [option for option in options if option.name != "activity"]
            options.append(Option("wide"))
        if any(name == f"column {number}" for number, name in enumerate(self._names, 1)):
            hint = f"delete any lines above the header; otherwise {hint}"
        sheets = (guess.guess for guess in self._source.guesses() if guess.option == "sheet")
        otherwise = (f"name the right sheet (this is {sheet}); otherwise " for sheet in sheets)
        return LogFormatError(
            self.name,
            1,
            f"no column looks like {which}; the columns are {listed(self._names, _SHOWN)}",
            hint="".join((*otherwise, hint)),
            options=options,
        )

    def _role_guesses(self, times: Sequence[int]) -> Iterator[Guess]:
        """Reports the guessed columns of roles that no option named."""
        roles = {"case": self._case, "activity": self._activity}
        if not self._wide and times:
            roles |= {"timestamp": times[-1], "time_of_day": self._time_of_day}
        for role, position in roles.items():
            if position is not None and getattr(self._options, role) is None:
                label = f"{role.replace('_', ' ')} column"
                yield Guess(label, repr(self._names[position]), role)
        if self._wide and not self._options.milestones:
            milestones = ", ".join(repr(self._names[number]) for number in times)
            yield Guess("milestones", milestones, "milestones")

    # --- from rows to events ----------------------------------------------------------

    def _batch(self, batch: RecordBatch, first_row: int) -> RecordBatch:
        has_case = _truths(self._texts(batch, self._case).is_valid())
        if not self._options.skip_invalid and not has_case.all():
            raise self._source.defect(
                first_row + int((~has_case).argmax()),
                f"the case ({self._names[self._case]!r}) is empty",
                "every event must belong to a case; fill it in, or leave such rows out",
                (Option("skip_invalid"),),
            )
        times = {number: self._read_times(batch, number) for number in self._times}
        if self._options.skip_invalid:
            given = {number: self._given_times(batch, number) for number in times}
            readable = {number: _within_reach(times[number], given[number]) for number in times}
            kept = pa.array(self._valid(first_row, has_case, [*readable.values()]))
            batch, none = batch.filter(kept), pa.scalar(None, pa.int64())
            times = {
                number: pc.if_else(pa.array(readable[number]), us, none).filter(kept)
                for number, us in times.items()
            }
        arrays = {CASE: self._texts(batch, self._case)}
        if self._activity is not None:
            arrays[ACTIVITY] = self._texts(batch, self._activity)
        for number, of in self._attributes.items():
            arrays[attribute_field(number)] = of.read(batch.column(number), self._clock)
        events = self._events(arrays, times)
        if self._typed:  # texts were looked at before their types were inferred
            names = {attribute_field(number): self._names[number] for number in self._attributes}
            refuse_long_texts(events, names, self._options, self._source.defect, first_row)
        return events

    def _texts(self, batch: RecordBatch, number: int) -> ArrowArray:
        """A column as texts; of a table of texts, null where it is empty."""
        column = batch.column(number)
        return column.cast(pa.string()) if self._typed else blanked(column, ())

    def _events(
        self, arrays: dict[str, ArrowArray], times: Mapping[int, ArrowArray]
    ) -> RecordBatch:
        """Rows as events: one for each, or one for each of its times."""
        if len(times) == 1 and not self._wide:
            (arrays[TIME],) = times.values()
            return pa.record_batch(arrays)
        absent = np.stack(
            [time.is_null().to_numpy(zero_copy_only=False) for time in times.values()], 1
        )
        us = np.stack(
            [pc.fill_null(time, 0).to_numpy(zero_copy_only=False) for time in times.values()], 1
        )
        is_event = ~absent
        if not self._wide:
            is_event[:, -1] |= absent.all(axis=1)  # an event without any time stays one
        rows, which = np.nonzero(is_event)
        batch = pa.record_batch(arrays).take(pa.array(rows))
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        arrays[TIME] = pa.array(us[is_event], pa.int64(), mask=absent[is_event])
        place = pa.array(which)
        if self._wide:
            arrays[ACTIVITY] = pa.array([self._names[number] for number in times]).take(place)
        else:
            arrays[self._lifecycle] = pa.array(["start", "complete"]).take(place)
        return pa.record_batch(arrays)

    @property
    def _lifecycle(self) -> str:
        return attribute_field(len(self._names))

    # --- rows that are left out -------------------------------------------------------

    def _valid(
        self, first_row: int, has_case: NDArray[np.bool_], readable: Sequence[NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Which rows are kept; the others are counted."""
        timed = np.logical_and.reduce(readable)
        for why, fine in (("no case", has_case), ("a time that cannot be read", timed | ~has_case)):
            if bad := int((~fine).sum()):
                self._skipped[why] += bad
                row = first_row + int((~fine).argmax())
                self._first_skipped = min(self._first_skipped or (row, why), (row, why))
        valid: NDArray[np.bool_] = has_case if self._wide else has_case & timed
        return valid

    def _skipped_notices(self, place: Callable[[int], str]) -> Iterator[str]:
        for why, number in self._skipped.items():
            first, has_case = "", why != "no case"
            if self._first_skipped is not None and self._first_skipped[1] == why:
                first = f" (the first is {place(self._first_skipped[0])})"
            rows = "1 row has" if number == 1 else f"{number:,} rows have"
            consequence = "that event is skipped" if self._wide and has_case else "skipped"
            yield f"{rows} {why}: {consequence}{first}"

    # --- what each column holds -------------------------------------------------------

    def _learn(self, progress: Progress) -> bool:
        """Decides by the whole table; whether it had to be read for that."""
        observed, row = self._to_observe(), 0
        if observed:
            for batch in self._source.batches(progress):
                self._observe(batch, row, observed)
                row += batch.num_rows
        self._decide()
        return bool(observed)

    def _to_observe(self) -> list[int]:
        """Begins to learn, and gives the columns to learn from."""
        self._pair_day_and_clock()
        named = tuple(n for n in (*self._milestones, self._start, self._timestamp) if n is not None)
        if self._typed and not (named and (self._wide or self._timestamp is not None)):
            of_time = [
                n for n, of in self._typed.items() if of.kind is Kind.TIME and n not in named
            ]
            named += tuple(self._columns_of_times(of_time))
        elif self._start is not None and self._timestamp is None:
            raise self._lacks("timestamp")  # or starts would be all that is known
        self._times = dict.fromkeys(named)
        # A requested format is the only one for event times, and the first for others. A count
        # since 1970 can be an event time, but as an attribute it is just a number.
        event_times = self._requested or ALL_TIMES
        others = (*self._requested, *FORMATS.values())
        self._seen = [
            TypeInference(
                self._options.missing,
                event_times if number in self._times else others,
                tolerates=self._options.skip_invalid and number in self._times,
            )
            for number in range(len(self._names))
        ]
        return [number for number in range(len(self._names)) if self._is_inferred(number)]

    def _is_inferred(self, number: int) -> bool:
        """Whether a column's type is learned from its texts."""
        if number in self._taken:
            return False
        if number not in self._times:
            return not self._typed and (self._kinds is None or not self._times)
        of, paired = self._typed.get(number), self._time_of_day is not None
        return of is None or of.name == "text" or (number == self._timestamp and paired)

    def _observe(self, batch: RecordBatch, row: int, observed: Sequence[int]) -> None:
        if not self._typed:
            names = {str(number): name for number, name in enumerate(self._names)}
            refuse_long_texts(batch, names, self._options, self._source.defect, row)
        for number in observed:
            self._seen[number].observe(self._time_texts(batch, number))

    def _decide(self) -> object:
        """What the columns are, by all that was observed; the same gives what is equal."""
        if not self._times:
            inferred = [n for n in range(len(self._seen)) if n not in self._taken]
            types = {n: self._seen[n].attribute_type().name for n in inferred}
            of_time = [n for n in inferred if types[n] == "time"]
            self._times = dict.fromkeys(self._columns_of_times(of_time))
        self._agree_on_times()
        # Comma, if some column can only be read with it, and none only with a point.
        learned = self._kinds is None and not self._options.decimal
        signs = {seen.decimal for seen in self._seen} if learned else set[str]()
        shown = "," if "," in signs and "." not in signs else ""
        declared = None if self._kinds is None else ColumnType("text", self._options.missing or ())
        self._attributes = {
            number: self._typed.get(number)
            or declared
            or seen.attribute_type(self._options.decimal or seen.decimal or shown)
            for number, seen in enumerate(self._seen)
            if number not in self._taken and number not in self._times
        }
        times = [n for n, of in self._attributes.items() if of.name == "time"]
        if any(self._seen[number].offsets for number in (*self._times, *times)):
            self._clock.trust_z()
        return self._times, self._attributes, self._clock.clock

    def _pair_day_and_clock(self) -> None:
        """Find day and time of day in two columns, if names and values suggest that."""
        options = self._options
        if self._typed or self._wide or options.timestamp or self._time_of_day is not None:
            return
        plain = {_plain(name): number for number, name in reversed([*enumerate(self._names)])}
        day = next((plain[name] for name in _DAYS if name in plain), None)
        clock = next((plain[name] for name in _CLOCKS if name in plain), None)
        if day is None or clock is None or self._timestamp not in (day, clock):
            return
        if {day, clock} & {self._case, self._activity, self._start}:
            return
        texts = [text for text in self._sample().get(clock, ()) if text]
        if texts and pc.all(pc.match_substring_regex(pa.array(texts), CLOCK_ALONE)).as_py():
            self._timestamp, self._time_of_day = day, clock
            self._taken.add(clock)

    def _columns_of_times(self, of_time: Sequence[int]) -> Sequence[int]:
        """Of the columns that hold times, all in a wide table; otherwise the first one."""
        free = [number for number in of_time if number not in self._taken]
        if free:
            return free if self._wide else free[:1]
        if not self._wide:
            raise self._lacks("timestamp")
        raise LogFormatError(
            self.name,
            1,
            f"no column holds times only; the columns are {listed(self._names, _SHOWN)}",
            hint="name the columns that are milestones",
            options=(Option("milestones", flag="milestone"),),
        )

    def _agree_on_times(self) -> None:
        """Choose the formats of event times: one that fits all columns, if possible."""
        inferred = [number for number in self._times if self._is_inferred(number)]
        for number in inferred:
            if bad := self._seen[number].unreadable:
                raise self._source.defect(bad.row, *bad.defect(self._names[number]))
        types = {number: self._seen[number].time_type() for number in inferred}
        possible = [
            self._seen[number].possible_times() for number, of in types.items() if of is not None
        ]
        for number, of in types.items():
            common = [
                w for w in self._seen[number].possible_times() if all(w in p for p in possible)
            ]
            if of is not None and common:
                types[number] = ColumnType("time", of.missing, common[0])
        self._times = {n: types[n] if n in types else self._typed[n] for n in self._times}

    # --- the times of a row -----------------------------------------------------------

    def _time_texts(self, batch: RecordBatch, number: int) -> ArrowArray:
        column = batch.column(number).cast(pa.string())
        if number == self._timestamp and self._time_of_day is not None:
            clocks = batch.column(self._time_of_day).cast(pa.string())
            return joined(pc.fill_null(column, ""), pc.fill_null(clocks, ""))
        return column

    def _given_times(self, batch: RecordBatch, number: int) -> ArrowArray:
        """Which rows of a column of times have a time at all."""
        of = self._times[number]
        if isinstance(of, StoredType):
            return batch.column(number).is_valid()
        return blanked(self._time_texts(batch, number), of.missing if of else ()).is_valid()

    def _read_times(self, batch: RecordBatch, number: int) -> ArrowArray:
        """A column of times as microseconds."""
        of, column = self._times[number], batch.column(number)
        if isinstance(of, ColumnType):
            return of.read(self._time_texts(batch, number), self._clock)
        if of is not None and of.kind is Kind.TIME:
            return of.read(column, self._clock)
        if of is None or column.null_count == len(column):  # no values at all
            return pa.nulls(len(column), pa.int64())
        # Whole numbers are event times only if the owner says in what unit they count.
        if not self._requested or not pa.types.is_integer(column.type):
            raise LogFormatError(
                self.name,
                None,
                f"{self._names[number]!r} holds {column.type}, not times",
                hint="convert the column, name another one, or, if it counts from 1970, say in "
                "what: epoch-s, epoch-ms or epoch-us",
                options=(Option("timestamp"), Option("time_format", "epoch-s")),
            )
        counted = ColumnType("time", (), self._requested[0])
        return counted.read(column.cast(pa.string()), self._clock)

    # --- the report -------------------------------------------------------------------

    def _guesses(self) -> Iterator[Guess]:
        yield from self._source.guesses()
        yield from self._role_guesses([n for n, of in self._times.items() if of is not None])
        types = {n: of for n, of in self._times.items() if isinstance(of, ColumnType)}
        reported = set[str]()
        for number, of in types.items():
            for guess in format_guess(of, self._seen[number], self._options):
                if guess.guess not in reported:
                    yield guess
                reported.add(guess.guess)
        yield from self._clock.guesses()
        yield from self._decimal_guesses()
        if self._options.missing is None:
            columns: dict[str, list[str]] = {}
            for number, of in sorted((self._inferred_attributes() | types).items()):
                for marker in of.missing:
                    columns.setdefault(marker, []).append(self._names[number])
            for marker, holders in columns.items():
                yield Guess(repr(marker), f"means no value in {listed(holders, _FEW)}", "missing")

    def _inferred_attributes(self) -> dict[int, ColumnType]:
        return {n: of for n, of in self._attributes.items() if isinstance(of, ColumnType)}

    def _decimal_guesses(self) -> Iterator[Guess]:
        if self._options.decimal is not None:
            return
        for sign, label in ((",", "a comma"), (".", "a point, with thousands in groups")):
            types = self._inferred_attributes()
            holders = [self._names[n] for n, of in types.items() if of.decimal == sign]
            if holders:
                yield Guess("decimal sign", f"{label}, in {listed(holders, _FEW)}", "decimal")

    def _notices(self) -> Iterator[str]:
        yield from self._source.notices()
        for number, of in self._attributes.items():
            if isinstance(of, StoredType) and of.notice:
                yield f"{self._names[number]!r} {of.notice}"
        yield from self._skipped_notices(self._source.place)
        yield from self._clock.notices()
        if self._kinds is not None:
            return
        for number, of in self._attributes.items():
            if of.name == "time" and _plain(self._names[number]) in _STARTS and not self._wide:
                yield (
                    f"{self._names[number]!r} is kept as an attribute; if it is when an activity "
                    "starts, name it with the option start"
                )
        texts = [n for n, of in self._inferred_attributes().items() if of.name == "text"]
        unclear = [self._names[number] for number in texts if self._seen[number].unclear_numbers]
        if unclear and self._options.decimal is None:
            yield (
                f"{listed(unclear, _FEW)}: 1,234 may be 1.234 or 1234, so they are kept as texts; "
                "set the decimal separator with the option decimal"
            )
        if self._options.missing is not None:
            return
        for number in texts:
            for marker in sorted(self._seen[number].markers_seen):
                yield (
                    f"{marker!r} in the text column {self._names[number]!r} was kept as a "
                    f"text; name it with the option missing if it means no value"
                )


def _within_reach(times: ArrowArray, present: ArrowArray) -> NDArray[np.bool_]:
    """False for rows with a time that cannot be read, or whose year is out of range."""
    reach = pc.and_(pc.greater_equal(times, EARLIEST_US), pc.less(times, LATEST_US))
    return _truths(pc.or_(pc.invert(present), pc.fill_null(reach, fill_value=False)))


def _truths(column: ArrowArray) -> NDArray[np.bool_]:
    truths: NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return truths


def _likeliest(
    role: str, names: Sequence[str], sample: Mapping[int, Sequence[str]], taken: set[int | None]
) -> int:
    """A column whose name contains a usual one, such as ocel:activity; otherwise by its values."""
    free = [number for number in range(len(names)) if number not in taken] or [*range(len(names))]
    plain = {_plain(names[number]): number for number in reversed(free)}
    for fits in (str.endswith, str.__contains__):
        for usual in _USUAL_NAMES[role]:
            likely = next((number for bare, number in plain.items() if fits(bare, usual)), None)
            if likely is not None and len(usual) > 3:
                return likely
    values = {number: [text for text in sample.get(number, ()) if text] for number in free}

    def merit(number: int) -> tuple[bool, bool, float]:
        texts = values[number]
        different, all_of_them = len({*texts}), max(1, len(texts))
        times = _hold_times(texts)
        numeric = sum(text.replace(".", "").replace(",", "").isdigit() for text in texts)
        match role:
            case "timestamp":
                return times, False, -number
            case "activity":  # few different words, repeated
                words = not times and 2 * numeric < all_of_them and different >= 2
                return words, False, -different / all_of_them
        # The name of an id often says so; a case has several events, so its id is repeated, but
        # there are many ids.
        called = _plain(names[number]).endswith(_IDS)
        return not times, called or 2 <= different < all_of_them, different / all_of_them

    return max(free, key=merit)


def _hold_times(texts: Sequence[str]) -> bool:
    """Whether most of the texts are times."""
    filled = pa.array([text for text in texts if text], pa.string())
    readings = (read_times(filled, format_, Clock()) for format_ in FORMATS.values())
    return any(2 * times.readable.sum() > len(filled) for times in readings)


def _in_words(words: Sequence[str], last: str) -> str:
    """
    >>> _in_words(["a", "b", "c"], "and")
    'a, b and c'
    """
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


# --- columns that come with types: Parquet, Arrow, data frames ----------------------------


_ROWS = 50_000


class Frame(TableSource):
    """A table with typed columns; `scan` gives its batches, as often as it is called."""

    def __init__(
        self,
        name: str,
        schema: ArrowSchema,
        rows: int,
        scan: Callable[[], Iterator[RecordBatch]],
        options: ReadOptions,
    ) -> None:
        refuse_many_columns(name, None, len(schema), options)
        self.name, self.names, self.types = name, schema.names, schema.types
        self._rows = rows
        self._scan = scan

    @classmethod
    def of(cls, frame: object, options: ReadOptions) -> Frame:
        held = pa.table(frame)
        name = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
        return cls(
            *(name, held.schema, held.num_rows),
            lambda: iter(held.to_batches(max_chunksize=_ROWS)),
            options,
        )

    @classmethod
    def in_parquet(cls, place: Place, options: ReadOptions) -> Frame:
        source = place if isinstance(place, Path) else io.BytesIO(log_bytes(place))

        @contextmanager
        def opened() -> Iterator[parquet.ParquetFile]:
            try:
                with parquet.ParquetFile(source) as file:
                    yield file
            except (pa.ArrowException, OSError) as error:
                raise LogFormatError(
                    place.name,
                    None,
                    f"not a readable Parquet file: {error}",
                    hint="write the file again, or copy it again",
                ) from None

        def scan() -> Iterator[RecordBatch]:
            with opened() as file:
                yield from file.iter_batches(batch_size=_ROWS)

        with opened() as file:
            return cls(place.name, file.schema_arrow, file.metadata.num_rows, scan, options)

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        done = 0
        for batch in self._scan():
            yield batch
            done += batch.num_rows
            progress(done, self._rows)

    def place(self, row: int) -> str:
        return f"row {row + 1}"


# --- how each Arrow type is stored ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredType:
    """Kind, name in plain words, conversion, and what the owner should know."""

    kind: Kind
    name: str
    read: Callable[[ArrowArray, LogClock], ArrowArray]
    notice: str = ""


def _nearest_doubles(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    """By way of text: Arrow's own conversion scales by a double, and is off for one price in ten.

    As whole numbers with an exponent, because Arrow cannot write decimals of an unusual scale.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    of = column.type
    wide = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}
    digits = column.view(wide[of.bit_width](of.precision, 0)).cast(pa.string())
    texts = pc.binary_join_element_wise(digits, f"e{-of.scale}", "")
    return texts.cast(pa.float64())


def _time(column: ArrowArray, clock: LogClock) -> ArrowArray:
    """UTC microseconds; a time without a zone is wall-clock time of the log's zone, or UTC."""
    us = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    numbers = us.cast(pa.int64())
    if getattr(column.type, "tz", None) is not None:
        return numbers
    clock.tally[WITHOUT_OFFSET] += len(column) - column.null_count
    if clock.clock.zone is None:
        return numbers
    absent = numbers.is_null().to_numpy(zero_copy_only=False)
    us = np.zeros(len(column), np.int64)
    wall = numbers.drop_null().to_numpy()
    us[~absent] = instants(wall, clock.clock.zone, clock.tally)
    return pa.array(us, pa.int64(), mask=absent)


def _duration(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    return column.cast(pa.duration("us"), safe=False).cast(pa.int64())


def _json(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    texts = (
        None if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in column.to_pylist()
    )
    return pa.array(list(texts), pa.string())


def _cast_to(name: str) -> Callable[[ArrowArray, LogClock], ArrowArray]:
    return lambda column, _clock: column.cast(pa.type_for_alias(name))


_TEXTS = ("null", "string", "large_string", "string_view")
# The first that an Arrow type is decides.
_STORED: Sequence[tuple[Callable[[ArrowType], bool], StoredType]] = (
    (lambda of: str(of) in _TEXTS, StoredType(Kind.TEXT, "text", _cast_to("string"))),
    (types.is_boolean, StoredType(Kind.TRUTH, "boolean", _cast_to("bool"))),
    (types.is_timestamp, StoredType(Kind.TIME, "time", _time)),
    (types.is_date, StoredType(Kind.TIME, "time", _time)),
    (types.is_duration, StoredType(Kind.DURATION, "duration", _duration)),
    # It may exceed 64 bits with a sign.
    (types.is_uint64, StoredType(Kind.TEXT, "text", _cast_to("string"), "kept as text")),
    (types.is_integer, StoredType(Kind.NUMBER, "integer", _cast_to("int64"))),
    (types.is_floating, StoredType(Kind.NUMBER, "float", _cast_to("float64"))),
    (
        types.is_decimal,
        StoredType(Kind.NUMBER, "float", _nearest_doubles, "kept as the nearest double"),
    ),
    (lambda _of: True, StoredType(Kind.TEXT, "json", _json, "kept as JSON text")),
)


def stored_type(arrow_type: ArrowType) -> StoredType:
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    of = next(stored for is_one, stored in _STORED if is_one(arrow_type))
    return replace(of, notice=f"holds {arrow_type}: {of.notice}") if of.notice else of
