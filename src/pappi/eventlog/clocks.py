"""Event times of a whole log: one clock, and a tally of what had to be decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pappi.eventlog.inference import ColumnType, TypeInference, blanked
from pappi.eventlog.log import ArrowArray, Guess
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.times import CONFUSABLE, Clock, read_times


class LogClock:
    """Reads the time columns of one log and remembers how their zones were written.

    Unless it `learns`, a time is read by itself, whatever the others look like.
    """

    def __init__(self, options: ReadOptions, *, learns: bool = True) -> None:
        self._options = options
        self._learns = learns
        self.clock = Clock(options.zone, options.z_is_utc)
        self.without_offset = 0
        self.skipped = 0
        self.twice = 0
        self._with_z = 0
        self._z_is_true = False

    def trust_z(self) -> None:
        """Where other times of the log say their offset, a Z is no ornament."""
        if not self._learns:
            return
        self._z_is_true = True
        self.clock = replace(self.clock, z_is_utc=True)

    def read(self, column: ArrowArray, of: ColumnType) -> ArrowArray:
        """A column of texts, all readable, as UTC microseconds; null where it has no value."""
        import pyarrow as pa

        if of.time_format is None:
            raise ValueError("not a time column")
        texts = blanked(column, of.missing)
        times = read_times(texts, of.time_format, self.clock)
        self.without_offset += times.without_offset
        self._with_z += times.with_z
        self.skipped += times.skipped
        self.twice += times.twice
        return pa.array(times.us, pa.int64(), mask=~times.readable)

    def guesses(self) -> Iterator[Guess]:
        zone = self._options.timezone
        if self.without_offset:
            yield Guess("times without an offset", f"read as {zone or 'UTC'}", "timezone")
        if not self._with_z:
            return
        if zone is None:
            yield Guess("times ending in Z", "read as UTC", "timezone")
        elif not self.clock.z_is_utc:
            yield Guess(
                "times ending in Z",
                f"read as wall clock of {zone}, since exports often print a false Z",
                "z_is_utc",
            )

    def notices(self) -> Iterator[str]:
        if self._z_is_true and self._with_z and self._options.zone and not self._options.z_is_utc:
            yield "times ending in Z were read as UTC: other times of the file say their offset"
        yield from changed_clocks(self.skipped, self.twice, self._options.timezone)


def changed_clocks(skipped: int, twice: int, zone: str | None) -> Iterator[str]:
    """What became of local times that a change of the clocks left out or made ambiguous."""
    if skipped:
        yield (
            f"{skipped:,} local times do not exist in {zone}, where the clocks were put forward: "
            "read as if they had not been yet"
        )
    if twice:
        yield (
            f"{twice:,} local times came twice in {zone}, where the clocks were put back: "
            "read as the first"
        )


def format_guess(of: ColumnType, seen: TypeInference, options: ReadOptions) -> Iterator[Guess]:
    """How the event times were found to be written, and what else it could have been."""
    if options.time_format is not None or of.time_format is None:
        return
    name = of.time_format.name
    other = CONFUSABLE.get(name)
    if other in seen.possible_times():
        yield Guess("time format", f"{name}, but {other} fits as well", "time_format")
    else:
        yield Guess("time format", name, "time_format")
