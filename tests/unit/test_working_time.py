"""Working calendars are read as they are written, and count working time to the microsecond."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import time as clock
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pappi.values import (
    DayTable,
    Week,
    Window,
    WorkingCalendar,
    parse_calendar,
    working_days_of,
)
from pappi.values.working_time import DAY_US
from tests.lengths import length
from tests.work import calls_in

HOUR_US = 3_600_000_000
UTC_ZONE = ZoneInfo("UTC")
NOBODY: Week = ((),) * 7
OFFICE: Week = ((Window(540, 1020),),) * 5 + ((),) * 2

# --- calendars of every kind --------------------------------------------------------------

_borders = st.lists(st.integers(0, 1440), max_size=24, unique=True).map(sorted)
_days = _borders.map(
    lambda at: tuple(Window(*pair) for pair in zip(at[::2], at[1::2], strict=False))
)
_weeks: st.SearchStrategy[Week] = st.one_of(
    st.just(OFFICE), st.just(((Window(0, 1440),),) * 7), st.tuples(*[_days] * 7), st.just(NOBODY)
)


_PLACES = ["ES", "DE-BY", "US-CA", "BR-São Paulo Capital", "NZ-South Canterbury", "IN"]
_ZONES = ["Europe/Madrid", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]


def calendars() -> st.SearchStrategy[WorkingCalendar]:
    dates = st.dates(date(2010, 1, 1), date(2020, 1, 1)) | st.dates()
    return st.builds(
        WorkingCalendar,
        _weeks,
        st.sets(dates, max_size=9).map(lambda days: tuple(sorted(days))),
        st.lists(st.sampled_from(_PLACES), max_size=3, unique=True).map(tuple),
        st.none() | st.sampled_from(_ZONES),
    )


# --- the line -----------------------------------------------------------------------------


@given(calendars())
def test_every_calendar_is_read_back_from_its_line(calendar: WorkingCalendar) -> None:
    assert parse_calendar(str(calendar)) == calendar


def test_the_largest_calendar_is_read_back_as_well() -> None:
    full: Week = tuple(
        tuple(Window(60 * n + day, 60 * n + 30) for n in range(1, 13)) for day in range(7)
    )
    dates = tuple(date(1900, 1, 1) + timedelta(days=2 * n) for n in range(2_000))
    calendar = WorkingCalendar(full, dates, tuple(_PLACES), "America/St_Johns")
    assert parse_calendar(str(calendar)) == calendar


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("mon-fri 9:00-17:00", "Mon-Fri 09:00-17:00"),
        ("Monday – Friday 09:00 – 12:00, 13:00-17:00", "Mon-Fri 09:00-12:00 13:00-17:00"),
        ("Mon, Wed,Fri 09:00-12:00", "Mon, Wed, Fri 09:00-12:00"),
        ("Fri-Mon 09:00-12:00", "Mon, Fri-Sun 09:00-12:00"),
        ("Sat closed; Mon-Fri 09:00-12:00", "Mon-Fri 09:00-12:00"),
        ("09:00-12:00", "Mon-Sun 09:00-12:00"),
        ("00:00-24:00", "always"),
        ("Mon 09:00-12:00 12:00-13:00", "Mon 09:00-13:00"),
        ("Mon 18:00-00:00", "Mon 18:00-24:00"),
        ("Sun 22:00-06:00", "Mon 00:00-06:00; Sun 22:00-24:00"),
        (
            "Mon-Fri 06:00-14:00 22:00-06:00",
            "Mon 06:00-14:00 22:00-24:00; Tue-Fri 00:00-14:00 22:00-24:00; Sat 00:00-06:00",
        ),
        (
            "always; except 2014-12-24 to 2014-12-26, 2015-01-01; except 2014-12-27",
            "always; except 2014-12-24 to 2014-12-27, 2015-01-01",
        ),
        (
            "always; in europe/madrid; except holidays in es,de-by",
            "always; except holidays in ES, DE-BY; in Europe/Madrid",
        ),
    ],
)
def test_a_line_is_read_as_it_is_meant(written: str, line: str) -> None:
    assert str(parse_calendar(written)) == line


@pytest.mark.parametrize(
    ("written", "part", "fits"),
    [
        ("Mon-Fri 09:00-17:00; Sat-Sunn 10:00-11:00", "Sat-Sunn", "did you mean 'Sun'"),
        ("Mon 9-17", "'Mon 9-17'", "as in 09:00-17:00"),
        ("Mon 09:00-24:30", "'24:30'", "24:00"),
        ("Mon 09:00-09:00", "no length", "00:00-24:00"),
        ("Mon 09:00-17:00 13:00-14:00", "overlap", ""),
        ("Mon 09:00-12:00; Mon 13:00-17:00", "Mon has hours twice", "in one place"),
        ("Mon 09:00-12:00 in Europe/Madrid", "'in' is not a span of hours", "with ';'"),
        ("Mon", "hours are missing", "09:00-17:00"),
        ("", "gives hours", "always"),
        ("except holidays in ES", "gives hours", "always"),
        ("15 Jun to 15 Sep Mon 09:00-10:00", "'jun' is not a span of hours", "with ';'"),
        ("always; except 24 Dec", "'24 Dec'", "2014-12-24"),
        ("always; except 2014-02-30", "2014-02-30", ""),
        ("always; except 2014-12-24 to 2013-12-24", "ends before it begins", ""),
        ("always; except 0001-01-01 to 9999-12-31", "at most 2000", ""),
        ("always; except holidays", "country is missing", "ES, DE-BY"),
        ("always; except holidays in Spain", "'Spain'", "did you mean 'ES'"),
        ("always; except holidays in DE-Bayern", "'Bayern'", "did you mean 'DE-BY'"),
        ("always; except holidays in SG-XX", "SG", "write SG alone"),
        ("always; in Madrid", "'Madrid'", "did you mean 'Europe/Madrid'"),
        ("always; in ../../etc/passwd", "no time zone", "Europe/Madrid"),
        ("always; in UTC; in Europe/Madrid", "UTC already", ""),
        ("always" + ";" * 60_000, "at most 60000 characters", ""),
    ],
)
def test_a_wrong_line_says_which_part_and_what_would_fit(
    written: str, part: str, fits: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(part)) as wrong:
        parse_calendar(written)
    assert fits in str(wrong.value)
    assert len(str(wrong.value)) < 300


_PIECES = """Mon Fri - – , ; 09:00 17:00 24:00 always closed except holidays in to 15 Jun
    ES DE-BY 2014-12-24 Europe/Madrid \x1b ² ９ :"""
_pieces = st.sampled_from(_PIECES.split())


@given(st.text(max_size=60) | st.lists(_pieces).map(" ".join) | st.lists(_pieces).map("".join))
def test_no_line_does_anything_but_say_a_calendar_or_why_not(written: str) -> None:
    said = ""
    try:
        calendar = parse_calendar(written)
    except ValueError as wrong:
        said = str(wrong)
    else:
        assert parse_calendar(str(calendar)) == calendar
    assert "\x1b" not in said


@pytest.mark.parametrize("piece", ["Mon ", "-", "(", "always, "])
def test_reading_takes_work_in_proportion_to_the_line(piece: str) -> None:
    def refuse(size: int) -> None:
        with pytest.raises(ValueError, match=r"."):
            parse_calendar((piece * size)[:size])

    refuse(100)  # what is remembered is remembered from now on
    assert calls_in(lambda: refuse(60_000)) < 5 * calls_in(lambda: refuse(15_000))
    start = clock.process_time()
    refuse(60_000)
    # Hundreds of times what it takes: only an expression that backtracks gets there.
    assert clock.process_time() - start < 10


@pytest.mark.parametrize(
    "build",
    [
        lambda: Window(600, 600),
        lambda: Window(-1, 600),
        lambda: Window(0, 1441),
        lambda: WorkingCalendar(OFFICE[:6]),
        lambda: WorkingCalendar(((Window(0, 60), Window(60, 70)),) + ((),) * 6),
        lambda: WorkingCalendar(((Window(90, 99), Window(60, 70)),) + ((),) * 6),
        lambda: WorkingCalendar(NOBODY, holidays=(date(2014, 2, 1), date(2014, 1, 1))),
        lambda: WorkingCalendar(NOBODY, countries=("ES", "ES")),
        lambda: WorkingCalendar(NOBODY, countries=("es",)),
        lambda: WorkingCalendar(NOBODY, zone="europe/madrid"),
    ],
)
def test_what_is_no_calendar_cannot_be_made(build: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        build()


@pytest.mark.outside
def test_the_list_of_holidays_is_not_loaded_for_calendars_without_a_country() -> None:
    program = (
        "import sys; from pappi.values.working_time import parse_calendar; "
        "parse_calendar('Mon-Fri 09:00-17:00; in Europe/Madrid'); "
        "sys.exit('holidays' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- the table of days --------------------------------------------------------------------


def _us(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _works_at(calendar: WorkingCalendar, local: datetime, free: frozenset[date]) -> bool:
    """What the calendar says of a moment on the wall clock, in the plainest way."""
    if local.date() in free or local.date() in calendar.holidays:
        return False
    minute, windows = 60 * local.hour + local.minute, calendar.week[local.weekday()]
    return any(window.start <= minute < window.end for window in windows)


def _minute_by_minute(
    calendar: WorkingCalendar, zone: ZoneInfo, start: datetime, end: datetime
) -> int:
    from holidays import country_holidays

    years = range(start.year - 1, end.year + 2)
    free = frozenset(
        day
        for place in calendar.countries
        for country, _, part in [place.partition("-")]
        for day in country_holidays(country, subdiv=part or None, years=years)
    )
    worked, at = 0, start
    while at < end:
        worked += _works_at(calendar, at.astimezone(zone), free)
        at += timedelta(minutes=1)
    return worked * 60_000_000


# Changes of the clock in both directions, by an hour, by half of one, and by a day that was
# skipped; New Year and the end of February.
_CHANGES = [
    ("Europe/Madrid", date(2014, 3, 30)),
    ("Europe/Madrid", date(2014, 10, 26)),
    ("Australia/Lord_Howe", date(2014, 4, 5)),
    ("Australia/Lord_Howe", date(2014, 10, 4)),
    ("America/St_Johns", date(2014, 3, 9)),
    ("Pacific/Apia", date(2011, 12, 30)),
    ("Asia/Kathmandu", date(2015, 1, 1)),
    ("Africa/Casablanca", date(2016, 2, 29)),
]
_places_and_days = st.sampled_from(_CHANGES) | st.tuples(
    st.sampled_from(_ZONES), st.dates(date(2008, 1, 1), date(2021, 1, 1))
)


@pytest.mark.outside
@settings(max_examples=length(25, 200))
@given(
    calendars().filter(lambda calendar: "IN" not in calendar.countries),  # warns: unknown years
    _places_and_days,
    st.sampled_from([None, "UTC"]),
    st.integers(0, 2 * 1440),
    st.integers(0, 2 * 1440),
)
def test_working_time_is_what_the_wall_clock_shows_minute_by_minute(
    calendar: WorkingCalendar, at: tuple[str, date], log_zone: str | None, before: int, after: int
) -> None:
    zone = ZoneInfo(at[0])
    calendar = replace(calendar, zone=at[0] if log_zone else None)
    middle = datetime.combine(at[1], time(12), UTC)
    start, end = middle - timedelta(minutes=before), middle + timedelta(minutes=after)
    table = working_days_of(
        calendar, ZoneInfo(log_zone or at[0]), start.date(), end.date() + timedelta(days=1)
    )
    worked = table.worked_before(_us(end)) - table.worked_before(_us(start))
    assert worked == _minute_by_minute(calendar, zone, start, end)


@given(calendars(), st.sampled_from(_ZONES), st.dates(date(1850, 1, 1), date(2150, 1, 1)))
def test_a_row_says_what_the_rows_before_it_add_up_to(
    calendar: WorkingCalendar, zone: str, first: date
) -> None:
    table = working_days_of(calendar, ZoneInfo(zone), first, first + timedelta(days=40))
    total = 0
    for row, day in enumerate(table.days):
        assert table.before[row] == total
        spans = [(starts[row], ends[row]) for starts, ends in table.windows]
        used = [span for span in spans if span[0] < span[1]]
        assert spans[len(used) :] == [(day * DAY_US, day * DAY_US)] * (len(spans) - len(used))
        assert all(one[1] < other[0] for one, other in pairwise(used))
        assert all(day * DAY_US <= at <= (day + 1) * DAY_US for span in used for at in span)
        total += sum(end - start for start, end in used)


def _hours(table: DayTable, start: datetime, end: datetime) -> float:
    return (table.worked_before(_us(end)) - table.worked_before(_us(start))) / HOUR_US


def _worked(line: str, zone: str, start: datetime, end: datetime) -> float:
    table = working_days_of(parse_calendar(line), ZoneInfo(zone), start.date(), date(2020, 1, 1))
    return _hours(table, start, end)


def test_an_hour_that_is_skipped_has_no_length() -> None:
    night = datetime(2014, 3, 29, 23, tzinfo=UTC), datetime(2014, 3, 30, 22, tzinfo=UTC)
    assert _worked("always", "Europe/Madrid", *night) == 23
    assert _worked("02:00-03:00", "Europe/Madrid", *night) == 0
    assert _worked("01:00-04:00", "Europe/Madrid", *night) == 2


def test_an_hour_that_happens_twice_counts_twice() -> None:
    night = datetime(2014, 10, 25, 22, tzinfo=UTC), datetime(2014, 10, 26, 23, tzinfo=UTC)
    assert _worked("always", "Europe/Madrid", *night) == 25
    assert _worked("02:00-03:00", "Europe/Madrid", *night) == 2
    assert _worked("02:30-03:30", "Europe/Madrid", *night) == 1.5


def test_an_instant_inside_a_window_is_exact_to_the_microsecond() -> None:
    start = datetime(2014, 3, 31, 9, 30, 0, 1, tzinfo=UTC)
    table = working_days_of(
        parse_calendar("Mon 09:00-17:00"), UTC_ZONE, start.date(), date(2014, 5, 1)
    )
    at_start, later = table.worked_before(_us(start)), table.worked_before(_us(start) + 7)
    assert (at_start, later - at_start) == (HOUR_US // 2 + 1, 7)


def test_clocks_of_before_standard_time_are_exact_as_well() -> None:
    """Amsterdam was 19 minutes and 32 seconds ahead until 1937, Madrid 14:44 behind until 1901."""
    noon = datetime(1900, 6, 1, 12, 14, 44, tzinfo=UTC)
    table = working_days_of(
        parse_calendar("12:00-13:00; in Europe/Madrid"),
        UTC_ZONE,
        date(1900, 6, 1),
        date(1900, 6, 2),
    )
    assert table.windows == (((_us(noon),), (_us(noon) + HOUR_US,)),)


def test_holidays_are_those_of_the_place() -> None:
    """Epiphany is free in Bavaria, and a Monday in Berlin."""
    day = datetime(2014, 1, 6, tzinfo=UTC), datetime(2014, 1, 7, tzinfo=UTC)
    assert _worked("always; except holidays in DE-BY", "UTC", *day) == 0
    assert _worked("always; except holidays in DE-BE", "UTC", *day) == 24


def test_an_empty_stretch_of_time_has_an_empty_table() -> None:
    table = working_days_of(parse_calendar("always"), UTC_ZONE, date(2014, 1, 1), date(2014, 1, 1))
    assert (len(table), table.windows) == (0, ())


def test_a_table_of_120_years_takes_a_few_calls_a_day() -> None:
    calendar = parse_calendar("Mon-Fri 09:00-12:00 13:00-17:00; Sat 08:00-15:00; in Europe/Madrid")
    first, until = date(1930, 1, 1), date(2050, 1, 1)
    working_days_of.cache_clear()
    calls = calls_in(lambda: working_days_of(calendar, UTC_ZONE, first, until))
    assert calls < 50 * (until - first).days


# --- the other implementation -------------------------------------------------------------

_seconds = st.integers(0, 60 * 86_400).map(lambda s: datetime(2014, 3, 1) + timedelta(seconds=s))  # noqa: DTZ001


@settings(max_examples=length(25, 200))
@given(
    st.integers(0, 22),
    st.integers(1, 23),
    st.sets(st.integers(0, 6), max_size=6),
    st.sets(st.dates(date(2014, 3, 1), date(2014, 4, 30)), max_size=5),
    st.lists(st.tuples(_seconds, _seconds).map(sorted), min_size=1, max_size=5),
)
@example(9, 17, {5, 6}, set(), [[datetime(2014, 3, 7, 16), datetime(2014, 3, 10, 10)]])  # noqa: DTZ001
def test_plain_weeks_are_counted_as_ppinot4py_counts_them(
    opens: int, closes: int, weekend: set[int], free: set[date], spans: list[list[datetime]]
) -> None:
    computer = importlib.import_module("ppinot4py.computers.metrics_computer")
    model = importlib.import_module("ppinot4py.model")
    series = importlib.import_module("pandas").Series
    assume(opens < closes)
    week = tuple(() if day in weekend else (Window(60 * opens, 60 * closes),) for day in range(7))
    calendar = WorkingCalendar(week, holidays=tuple(sorted(free)))
    table = working_days_of(calendar, UTC_ZONE, date(2014, 3, 1), date(2014, 5, 3))
    ours = [
        table.worked_before(_us(end.replace(tzinfo=UTC)))
        - table.worked_before(_us(start.replace(tzinfo=UTC)))
        for start, end in spans
    ]
    business = model.BusinessDuration(time(opens), time(closes), sorted(weekend), sorted(free))
    starts, ends = (series([span[at] for span in spans]) for at in (0, 1))
    theirs = computer.business_duration_calculation(business, starts, ends)
    assert [each // timedelta(microseconds=1) for each in theirs] == ours
