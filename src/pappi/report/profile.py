"""A log's profile in words and small bars, for its owner's terminal, and as JSON.

The only module here that shows raw data: its output never reaches an analyst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from pappi.eventlog import Anchored, AttributeUse, BlockCount, Profile, Spread
from pappi.report.numbers import count_text, three_digits
from pappi.report.wording import listed_up_to, percent
from pappi.values import DURATIONS, Calendar, CaseBorder, Grid, Kind

_WIDTH = 30
_MOST_BARS = 30
_MOST_ACTIVITIES = 12
_MOST_NAMED = 6
_EIGHTHS = " ▏▎▍▌▋▊▉"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = (("days", "d"), ("hours", "h"), ("minutes", "min"), ("seconds", "s"))


def bar(share: float, width: int = _WIDTH) -> str:
    """
    >>> bar(0.5, 4), bar(0.3, 4), bar(0.0, 4), bar(0.001, 4)
    ('██', '█▎', '', '▏')
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(max(eighths, int(share > 0)), 8)
    return ("█" * whole + _EIGHTHS[rest]).rstrip()


def profile_text(profile: Profile) -> str:
    """The whole profile, in lines of up to about 100 characters."""
    return "\n".join(_lines(profile))


def _lines(profile: Profile) -> Iterator[str]:
    yield (
        f"{count_text(profile.cases, 'case')} with {count_text(profile.events, 'event')}, "
        f"{profile.first} to {profile.last}"
    )
    yield from _gaps(profile)
    for counted in _shown_anchors(profile):
        yield from _cases(counted, profile.blocks)
    yield ""
    yield "How long cases take, and how many events they have"
    spreads: list[tuple[str, Spread | None, Callable[[float], str]]] = [
        ("first to last event", profile.durations, time_text),
        *((f"{wait.start} → {wait.end}", wait.spread, time_text) for wait in profile.waits),
        ("events of a case", profile.events_per_case, _number),
    ]
    wide = min(max(len(label) for label, *_ in spreads), 45)
    for label, spread, text in spreads:
        if spread is not None:
            low, half, high, most = map(text, (spread.p05, spread.median, spread.p95, spread.most))
            shares = f"5 %: {low}, half: {half}, 95 %: {high}, at most {most}"
            yield f"  {label[:45]:<{wide}}  {shares}"
    yield from _activities(profile)
    yield from _attributes(profile.attributes)
    yield from personal_lines(profile)
    yield ""
    yield "Suggested"
    for suggestion in profile.suggestions:
        yield f"  {suggestion.about:<15} {suggestion.option or 'as it is'}"
        yield f"  {'':<15} {suggestion.why}"


def _gaps(profile: Profile) -> Iterator[str]:
    if profile.tied:
        tied, share = count_text(profile.tied, "event"), percent(profile.tied / profile.events)
        yield f"  {tied} ({share}) have the same case and time as another"
    if profile.without_time:
        yield f"  {count_text(profile.without_time, 'event')} without a time"
    if profile.without_activity:
        yield f"  {count_text(profile.without_activity, 'event')} without an activity"


def _shown_anchors(profile: Profile) -> Iterator[Anchored]:
    """By the present anchor; also by the other one, if that would be better."""
    yield profile.anchored
    better = any(item.about == "anchor" and item.option for item in profile.suggestions)
    if better:
        yield from (item for item in profile.by_anchor if item.anchor is not profile.anchor)


def _cases(counted: Anchored, grid: Grid) -> Iterator[str]:
    event = "last" if counted.anchor is CaseBorder.END else "first"
    blocks, unit = _in_few_lines(counted.blocks, grid)
    yield ""
    yield (
        f"Cases {unit}, by their {event} event: {counted.empty} of "
        f"{count_text(len(counted.blocks), 'block')} empty, median {_number(counted.median)}"
    )
    most = max((block.cases for block in blocks), default=0)
    wide = max((len(block.block) for block in blocks), default=0)
    for block in blocks:
        picture = bar(block.cases / most if most else 0.0)
        yield f"  {block.block:<{wide}} {block.cases:>9,}  {picture}".rstrip()
    if counted.outside:
        yield f"  {count_text(counted.outside, 'case')} outside these days: never answered"


def _in_few_lines(blocks: Sequence[BlockCount], grid: Grid) -> tuple[Sequence[BlockCount], str]:
    """The blocks, put together by quarter, year or decade where there are too many to list."""
    if len(blocks) <= _MOST_BARS:
        return blocks, str(grid)
    coarser = (Grid(Calendar.MONTH), Grid(Calendar.QUARTER), Grid(Calendar.YEAR))
    for unit in (*coarser, Grid(Calendar.YEAR, 10), Grid(Calendar.YEAR, 100)):
        joined = [
            _joined(list(some), unit)
            for _, some in groupby(blocks, key=lambda block: unit.start_of(block.start))
        ]
        if len(joined) <= _MOST_BARS:
            return joined, str(unit)
    return blocks, str(grid)


def _joined(members: Sequence[BlockCount], unit: Grid) -> BlockCount:
    start = members[0].start
    (period,) = unit.periods(start, start + timedelta(days=1))
    cases = sum(block.cases for block in members)
    return BlockCount(period.label, period.start, period.end, cases)


def _activities(profile: Profile) -> Iterator[str]:
    if not profile.activities:
        return
    yield ""
    yield "Activities: share of cases that have them; more than once; how long after the start"
    shown = profile.activities[:_MOST_ACTIVITIES]
    wide = max(len(use.name[:40]) for use in shown)
    for use in shown:
        share, again = use.cases / profile.cases, use.repeated / profile.cases
        since = "" if use.since_start is None else f"  {time_text(use.since_start):>7}"
        columns = f"{percent(share):>7} {bar(share, 12):<12} {percent(again):>7}"
        yield f"  {use.name[:40]:<{wide}} {columns}{since}"
    more = len(profile.activities) - len(shown)
    if more:
        yield f"  … and {more:,} more"


def _attributes(attributes: Sequence[AttributeUse]) -> Iterator[str]:
    if not attributes:
        return
    yield ""
    yield "Attributes"
    wide = max(len(use.name[:30]) for use in attributes)
    for use in attributes:
        gaps = f", {use.missing:,} missing" if use.missing else ""
        per = ", one per case" if use.per_case else ""
        yield f"  {use.name[:30]:<{wide}} {use.kind}{gaps}{per}{_content(use)}"


def _content(use: AttributeUse) -> str:
    if use.spread is not None:
        text = {Kind.TIME: _day, Kind.DURATION: time_text}.get(use.kind, _number)
        low, half, high = map(text, (use.spread.least, use.spread.median, use.spread.most))
        return f": {low} to {high}, half up to {half}; 99 % up to {text(use.spread.p99)}"
    if use.values:
        return f": {', '.join(use.values)}"
    return f": about {use.distinct:,} values" if use.kind is Kind.TEXT else ""


def personal_lines(profile: Profile) -> Iterator[str]:
    """The warning: what looks personal, and what to do about it."""
    if not profile.personal:
        return
    yield ""
    yield "Looks personal"
    by_kind: dict[str, list[str]] = {}
    for use in profile.personal:
        by_kind.setdefault(use.personal, []).append(use.name)
    for holds, names in by_kind.items():
        yield f"  {holds}: {listed_up_to(names, _MOST_NAMED)}"
    yield "  Their values are stored here, and never shown to analysts, but their names are public."
    yield "  Leave out what no PPI needs: --dry-run --write FILE, delete lines, then --declaration."


def time_text(us: float) -> str:
    """
    >>> time_text(5_400_000_000), time_text(0), time_text(86_400_000_000 * 40)
    ('1.50 h', '0 s', '40 d')
    """
    for name, short in _TIMES:
        if abs(us) >= DURATIONS[name]:
            return f"{_number(us / DURATIONS[name])} {short}"
    return f"{_number(us / DURATIONS['seconds'])} s"


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else three_digits(value)


def _day(us: float) -> str:
    return f"{_EPOCH + timedelta(microseconds=us):%Y-%m-%d}"


_OF_ACTIVITY = ("name", "events", "cases", "repeated", "first", "last")


def profile_record(profile: Profile) -> dict[str, Any]:
    """For machines: durations in seconds, times as days, all else as it is."""
    return {
        "log": profile.log,
        "events": profile.events,
        "cases": profile.cases,
        "first": profile.first.isoformat(),
        "last": profile.last.isoformat(),
        "tied_events": profile.tied,
        "events_without_time": profile.without_time,
        "events_without_activity": profile.without_activity,
        "blocks": str(profile.blocks),
        "anchor": str(profile.anchor),
        "cases_per_block": {
            str(anchored.anchor): {
                "blocks": {block.block: block.cases for block in anchored.blocks},
                "empty": anchored.empty,
                "median": anchored.median,
                "outside": anchored.outside,
            }
            for anchored in profile.by_anchor
        },
        "duration_seconds": _scaled(profile.durations, DURATIONS["seconds"]),
        "events_per_case": _scaled(profile.events_per_case, 1),
        "activities": [
            {field: getattr(use, field) for field in _OF_ACTIVITY} for use in profile.activities
        ],
        "waits": [
            {
                "from": wait.start,
                "to": wait.end,
                "cases": wait.cases,
                "seconds": _scaled(wait.spread, DURATIONS["seconds"]),
            }
            for wait in profile.waits
        ],
        "attributes": list(map(_attribute_record, profile.attributes)),
        "suggestions": [asdict(suggestion) for suggestion in profile.suggestions],
    }


def _attribute_record(use: AttributeUse) -> dict[str, Any]:
    scale = DURATIONS["seconds"] if use.kind in (Kind.DURATION, Kind.TIME) else 1
    return {
        "name": use.name,
        "kind": str(use.kind),
        "missing": use.missing,
        "cases": use.cases,
        "distinct_about": use.distinct,
        "one_per_case": use.per_case,
        "personal": use.personal or None,
        "spread": _scaled(use.spread, scale),
        "values": list(use.values),
    }


def _scaled(spread: Spread | None, scale: int) -> dict[str, float] | None:
    if spread is None:
        return None
    return {name: value / scale for name, value in asdict(spread).items()}


def short_profile(profile: Profile) -> Iterable[str]:
    """What an import prints of the profile: what to declare differently."""
    for suggestion in profile.suggestions:
        if suggestion.option:
            yield f"{suggestion.about}: {suggestion.option} ({suggestion.why})"
