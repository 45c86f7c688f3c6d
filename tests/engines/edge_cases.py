"""The situations in which implementations of PPINOT differ, and what is decided here.

One table: `test_edge_cases.py` checks every row on a real engine, and `docs/semantics.md` is
written from it (`python -m tests.engines.edge_cases`, which `make generated` runs).

A log is written as its cases, `A B A`: one event an hour, from 00:00 of 2024-01-10. `A@3` is at
03:00, `-` an event of some other activity, `A[x=1]` an event with an attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.small_logs import Row

PAGE = Path(__file__).parents[2] / "docs" / "semantics.md"

A, B = "{activity: A}", "{activity: B}"
ONSET_A, ONSET_B = "{activity: A, occurrence: onset}", "{activity: B, occurrence: onset}"


@dataclass(frozen=True, slots=True)
class EdgeCase:
    """One situation: what is asked of which log, what we say, what others do, and why.

    Values are in hours where they are durations; several are those of the periods, in order.
    """

    situation: str
    log: tuple[str, ...]
    measure: str
    value: tuple[float | None, ...]
    java: str
    ppinot4py: str
    why: str = ""
    scope: str = "between 2024-01-01 and 2024-12-31"
    repeated_labels: bool = False

    def rows(self) -> list[Row]:
        return [row for number, case in enumerate(self.log) for row in _events(f"c{number}", case)]


def _time(start: str, end: str, more: str = "") -> str:
    return f"max: {{time: {{from: {start}, to: {end}{more}}}}}"


def _sum(measure: str) -> str:
    return f"sum: {measure}"


EDGE_CASES = (
    # --- ends that are not there ------------------------------------------------------
    EdgeCase("no start", ("B", "A"), _time(A, B), (None,), "NaN", "NaT"),
    EdgeCase("no end", ("A -", "B"), _time(A, B), (None,), "NaN", "NaT"),
    EdgeCase(
        "every end comes before the first start", ("B A",), _time(A, B), (None,), "NaN", "NaT"
    ),
    EdgeCase(
        "an end before the start, and one after it",
        ("B A - B",),
        _time(A, B),
        (2,),
        "2",
        "2",
    ),
    EdgeCase(
        "neither, in a case among others",
        ("A B", "-", "A - - B"),
        f"mean: {{time: {{from: {A}, to: {B}}}}}",
        (2,),
        "skipped",
        "skipped",
        "A case without a value is left out.",
    ),
    # --- ties -------------------------------------------------------------------------
    EdgeCase(
        "start and end at the same time, the end written first",
        ("B@0 A@0",),
        _time(A, B),
        (None,),
        "NaN",
        "0",
        "Events are ordered by time, then as they stand in the log.",
    ),
    EdgeCase(
        "start and end at the same time, the start written first",
        ("A@0 B@0",),
        _time(A, B),
        (0,),
        "0",
        "0",
    ),
    EdgeCase(
        "rows that are not in the order of time",
        ("B@5 A@2 -@0",),
        _time(A, B),
        (3,),
        "as fed",
        "first and last row: wrong, or NaT",
        "The log is ordered when it is imported.",
    ),
    # --- from an activity to itself -------------------------------------------------------
    EdgeCase("A to A, first to last", ("A - A - A",), _time(A, A), (4,), "4", "4"),
    EdgeCase(
        "A to A, one A only",
        ("A -",),
        _time(A, A),
        (0,),
        "0",
        "0",
        "The last end *at or after* the start is the start itself.",
    ),
    EdgeCase(
        "A to the first A after it",
        ("A - A - A",),
        _time(A, f"{{first: {A}}}"),
        (2,),
        "0",
        "NaT",
        "*After* means a later event: neither 0 nor nothing is what was asked.",
    ),
    EdgeCase(
        "cycles from A to A",
        ("A - A - - A",),
        _time(A, A, ", cycles: max"),
        (3,),
        "0",
        "NaT",
        "The gaps between consecutive ones.",
    ),
    # --- repeats --------------------------------------------------------------------------
    EdgeCase(
        "an activity that repeats, counted",
        ("A A - A",),
        _sum(f"{{count: {A}}}"),
        (3,),
        "3",
        "2",
        "An activity occurs at every event; `occurrence: onset` is the other reading.",
    ),
    EdgeCase(
        "the same, onsets counted",
        ("A A - A",),
        _sum(f"{{count: {ONSET_A}}}"),
        (2,),
        "–",
        "2",
    ),
    EdgeCase("to the last of a run", ("A B B",), _time(A, B), (2,), "2", "1"),
    EdgeCase("to the onset of the last run", ("A B B",), _time(ONSET_A, ONSET_B), (1,), "–", "1"),
    # --- cycles -----------------------------------------------------------------------
    EdgeCase(
        "a last cycle that stays open",
        ("A B A B A",),
        _time(A, B, ", cycles: sum"),
        (2,),
        "NaN",
        "2",
        "It is left out; `open: no value` is Java's reading.",
    ),
    EdgeCase(
        "the same, with `open: no value`",
        ("A B A B A",),
        _time(A, B, ", cycles: sum, open: no value"),
        (None,),
        "NaN",
        "–",
    ),
    EdgeCase(
        "starts while a cycle is open, ends while none is",
        ("B A A B B A B",),
        _time(A, B, ", cycles: sum"),
        (3,),
        "3",
        "3",
    ),
    # --- sequences ------------------------------------------------------------------------
    EdgeCase(
        "B directly after A",
        ("A B B A - B",),
        _sum("{count: {sequence: [{activity: A}, {activity: B}], order: follows}}"),
        (1,),
        "1",
        "1",
    ),
    EdgeCase(
        "B some time after A",
        ("A B B A - B",),
        _sum("{count: {sequence: [{activity: A}, {activity: B}], order: leads to}}"),
        (3,),
        "3",
        "2",
        "Every later B; ppinot4py's LEADSTO is our `leads to cyclically`.",
    ),
    EdgeCase(
        "each A with the next B",
        ("A B B A - B",),
        _sum("{count: {sequence: [{activity: A}, {activity: B}], order: leads to cyclically}}"),
        (2,),
        "2",
        "2",
    ),
    # --- missing values ---------------------------------------------------------------
    EdgeCase(
        "a comparison with a missing value",
        ("A B", "A"),
        f"share: {{derive: t < 2 hours, t: {{time: {{from: {A}, to: {B}}}}}}}",
        (50,),
        "false",
        "False",
        "So the share is over all cases, those without the events included.",
    ),
    EdgeCase(
        "the same, with `missing: left out`",
        ("A B", "A"),
        f"share: {{derive: t < 2 hours, t: {{time: {{from: {A}, to: {B}}}}}, missing: left out}}",
        (100,),
        "–",
        "–",
    ),
    EdgeCase(
        "the last event lacks the attribute",
        ("A[x=1] A[x=2] A",),
        "max: {data: x}",
        (2,),
        "null",
        "2",
        "Events that do not carry the attribute are passed over.",
    ),
    EdgeCase(
        "a group key that is missing",
        ("A[x=1,k=web]", "A[x=5]"),
        "max: {data: x}\n      by: {data: k, values: [web]}",
        (1,),
        "dropped",
        "dropped",
        "The case is in no group.",
    ),
    EdgeCase(
        "the extreme of no values",
        ("A", "-[x=1]"),
        "max: {data: x}\n      where: {condition: {activity: A}}",
        (None,),
        "4.9e-324",
        "NaN",
    ),
    EdgeCase(
        "the extreme of negative values",
        ("A[x=-3]", "A[x=-1]"),
        "max: {data: x}",
        (-1,),
        "4.9e-324",
        "-1",
    ),
    # --- rows that are alike ----------------------------------------------------------
    EdgeCase(
        "two rows that are alike",
        ("A@0 A@0",),
        _sum(f"{{count: {A}}}"),
        (2,),
        "2",
        "1",
        "Two events; in a run, one onset.",
    ),
    EdgeCase(
        "rows with the same label, of two frames put together",
        ("A", "A"),
        _sum(f"{{count: {A}}}"),
        (2,),
        "–",
        "4",
        "Labels of rows mean nothing.",
        repeated_labels=True,
    ),
    # --- cases and periods ------------------------------------------------------------
    EdgeCase(
        "a case that has not ended",
        ("A B", "A -"),
        _sum("{derive: true}"),
        (2,),
        "1",
        "2",
        "It counts unless the scope says otherwise.",
    ),
    EdgeCase(
        "the same, finished cases only",
        ("A B", "A -"),
        _sum("{derive: true}"),
        (1,),
        "1",
        "–",
        scope="{every: year, finished: {activity: B}}",
    ),
    EdgeCase(
        "a period without cases",
        ("A@0 B@1", "A@1440 B@1442"),
        f"mean: {{time: {{from: {A}, to: {B}}}}}",
        (1, None, 2),
        "no row",
        "NaN",
        "Every period is answered: which ones have cases is private.",
        scope="every month",
    ),
    EdgeCase(
        "the sum of a period without cases",
        ("A@0", "A@1440"),
        _sum(f"{{count: {A}}}"),
        (1, 0, 1),
        "no row",
        "NaN",
        scope="every month",
    ),
    EdgeCase(
        "a case over the turn of a month",
        ("A@0 B@600",),
        _sum("{derive: true}"),
        (0, 1),
        "in the period of its end",
        "in the period of its last row",
        "In the period of the log's anchor, its last event unless declared otherwise.",
        scope="every month",
    ),
)


def _events(case: str, written: str) -> Iterator[Row]:
    for place, event in enumerate(written.split()):
        match = re.fullmatch(r"([A-Z-])(?:\[(.*)\])?(?:@(\d+))?", event)
        if match is None:
            raise ValueError(f"{event!r} is no event")
        activity, attributes, hour = match.groups()
        found = dict(each.split("=") for each in attributes.split(",")) if attributes else {}
        yield case, activity, float(hour or place), {key: _value(v) for key, v in found.items()}


def _value(written: str) -> object:
    return float(written) if re.fullmatch(r"-?\d+", written) else written


# --- the page ---------------------------------------------------------------------------

_INTRO = """# What a measure means at the edges

Two implementations of PPINOT exist, the Java reference (2.3) and ppinot4py (1.2.7), and they
disagree where an end is missing, events tie, or an activity repeats. This is what PaPPI answers,
row by row, with what the two others do. The page is written from the table that the tests check
(`tests/engines/edge_cases.py`), so it cannot be out of date.

A log is written as its cases: `A B A` is a case with one event an hour, `-` an event of some other
activity, `A@3` one at 03:00, `A[x=1]` one that carries an attribute. Durations are in hours, shares
in percent; *nothing* means that there is no value. A dash: it cannot be asked there.

| situation | log | asked | PaPPI | Java | ppinot4py |
|---|---|---|---|---|---|
"""

_DIFFERENCES = """
## Deliberate differences from ppinot4py

Where the two read a definition alike, they agree to the microsecond on real logs
(`tests/acceptance/test_ppinot4py.py`). They differ, on purpose, in this:

"""


def page() -> str:
    rows = "".join(_row(each) for each in EDGE_CASES)
    reasons = "".join(f"- *{each.situation}*: {each.why}\n" for each in EDGE_CASES if each.why)
    return f"{_INTRO}{rows}\n{reasons}{_DIFFERENCES}{DIFFERENCES}"


def _row(each: EdgeCase) -> str:
    log = "; ".join(f"`{case}`" for case in each.log)
    asked = " ".join(each.measure.split())
    scope = "" if each.scope.startswith("between") else f", {each.scope}"
    value = ", ".join("*nothing*" if v is None else f"{v:g}" for v in each.value)
    cells = (each.situation, log, f"`{asked}`{scope}", value, each.java, each.ppinot4py)
    return f"| {' | '.join(cells)} |\n"


DIFFERENCES = """\
- **An activity occurs at every event.** Conditions of ppinot4py are onsets: `from_ppinot4py` reads
  them as `occurrence: onset`, and only its `DataCondition` as every event.
- **A tie with the end written before the start** is no pair. There it is 0, because only the times
  are compared.
- **From an activity to itself**, the first end is the next one and cycles are gaps. There both are
  NaT.
- **`leads to`** counts every later event, as in Java. ppinot4py's LEADSTO is read as
  `leads to cyclically`. There a sequence is an onset once more, which differs only where one event
  can satisfy both conditions.
- **Percentiles** are values that so many cases lie below, or the middle of two: what the interval
  mechanism releases. There they are interpolated. Medians are the same.
- **Percentiles of the cycles of one case** are not offered; sum, mean, min, max and median are.
- **The sum of nothing is 0**, in an empty period too. There it is NaN.
- **Working hours** are exact. There they are whole seconds, one call per case, and a case without a
  start is an error.
- **Groups are declared** (`keys`). There they are what the data holds, which tells that they exist.
- **A filter without a value is false.** There it is an error.
- **A duration over a duration is a number.** There it is a duration again.
- **The start of a case is a moment, not an event to count**: it would always be 1.
- **Rolling windows and `GROUPBY`** are not offered: windows that overlap cost epsilon for each
  overlap, and groups of raw values are the data themselves.
- **Conditions are a closed grammar.** There they are Python that runs: `@`, attributes and calls
  are refused here, and so is a `SeriesCondition`, which is made from the data.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
