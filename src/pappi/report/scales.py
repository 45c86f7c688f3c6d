"""From values to pixels: which part of the axis to show, and where to mark it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from pappi.report.numbers import LIMIT, finite, format_number, half_width
from pappi.values.answers import Answer, ShownTarget

# An interval wider than this many times the chart's own extent is cut off.
_WIDEST = 2.5
_MARGIN_WHEN_CUT = 0.6
_STEPS = (1.0, 2.0, 5.0, 10.0)
_CLOCK_STEPS = {
    "hours": (3.0, 6.0, 12.0, 24.0, 48.0, 72.0, 120.0),
    "minutes": (15.0, 30.0, 60.0, 120.0, 240.0),
    "seconds": (15.0, 30.0, 60.0, 120.0, 240.0),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """A value axis: what it shows, where it is marked, and the pixels it covers."""

    low: float
    high: float
    ticks: tuple[float, ...]
    digit: int
    bottom: float
    top: float

    def at(self, value: float) -> float:
        """The pixel of a value; values beyond the axis lie on its edge."""
        inside = min(max(value, self.low), self.high)
        return self.bottom + (self.top - self.bottom) * (inside - self.low) / (self.high - self.low)

    def shows(self, value: float | None) -> bool:
        """Whether the value lies on the axis, give or take the rounding of its ticks."""
        slack = (self.high - self.low) * 1e-9
        return value is not None and self.low - slack <= value <= self.high + slack

    def label(self, tick: float) -> str:
        return format_number(tick, self.digit)


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of values."""

    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low


def value_axis(extent: Extent, unit: str, bottom: float, top: float) -> Axis:
    """An axis that begins and ends on a tick, about one tick every 42 pixels."""
    step = _nice_step(extent.span, max(2.0, abs(bottom - top) / 42), unit)
    first, last = floor(extent.low / step), ceil(extent.high / step)
    ticks = tuple(number * step for number in range(first, last + 1))
    digit = 0 if step in _CLOCK_STEPS.get(unit, ()) else floor(log10(step) + 1e-9)
    return Axis(ticks[0], ticks[-1], ticks, digit, bottom, top)


def shown_extent(answers: Sequence[Answer], targets: Sequence[ShownTarget], unit: str) -> Extent:
    """What the axis must show: values, targets, and intervals as far as that stays readable."""
    shown = [value for a in answers for value in (a.value, a.best.value)]
    values = [known for value in shown if (known := _limited(value)) is not None]
    limits = [end for target in targets for end in target_ends(target)]
    core = _around([*_usual(values, answers), *limits])
    margin = _margin(core, [half for a in answers if (half := _half(a)) is not None])
    ends = [
        min(max(end, core.low - margin), core.high + margin)
        for answer in answers
        for limit in (answer.best.interval.low, answer.best.interval.high)
        if (end := _limited(limit)) is not None
    ]
    low, high = min([core.low, *ends]), max([core.high, *ends])
    if unit == "percent" and core.low >= 0 and core.high <= 100:
        low, high = max(low, 0.0), min(high, 100.0)
    return _padded(low, high)


def _usual(values: Sequence[float], answers: Sequence[Answer]) -> list[float]:
    """The values without those so far out that showing them would flatten all others."""
    if not values:
        return []
    ordered = sorted(values)
    quarter = len(ordered) // 4
    middle = ordered[len(ordered) // 2]
    halves = sorted(half for answer in answers if (half := _half(answer)) is not None)
    noise = halves[len(halves) // 2] if halves else 0.0
    spread = max(ordered[-1 - quarter] - ordered[quarter], noise, abs(middle))
    if spread == 0.0:
        return ordered
    return [value for value in ordered if abs(value - middle) / 6 <= spread]


def target_ends(target: ShownTarget) -> list[float]:
    """The limits of a target, and of what is tolerated beyond it."""
    ranges = [target] if target.tolerated is None else [target, target.tolerated]
    ends = (end for each in ranges for end in (each.low, each.high))
    return [known for end in ends if (known := _limited(end)) is not None]


def _margin(core: Extent, halves: Sequence[float]) -> float:
    """How far beyond the core intervals may reach before they are cut off."""
    reach = max(core.span, max(abs(core.low), abs(core.high)) / 2)
    most = sorted(halves)[(9 * len(halves) - 1) // 10] if halves else 0.0
    if reach == 0.0 or most <= _WIDEST * reach:
        return most
    return _MARGIN_WHEN_CUT * reach


def _padded(low: float, high: float) -> Extent:
    """Room to draw in, and down to zero where that is near."""
    least = max(abs(low), abs(high)) * 1e-6
    if high - low <= least:
        room = max(abs(low) / 10, least) or 1.0
        low, high = (max(low - room, 0.0) if low >= 0 else low - room), high + room
    if 0 <= low <= high / 2:
        low = 0.0
    return Extent(low, high)


def _around(values: Iterable[float]) -> Extent:
    ordered = sorted(values)
    return Extent(ordered[0], ordered[-1]) if ordered else Extent(0.0, 1.0)


def _nice_step(span: float, count: float, unit: str) -> float:
    rough = span / count
    for step in _CLOCK_STEPS.get(unit, ()):
        if step / 2 < rough <= step:
            return step
    power = 10.0 ** floor(log10(rough))
    return power * next(step for step in _STEPS if rough <= step * power * (1 + 1e-9))


def _limited(number: float | None) -> float | None:
    known = finite(number)
    return None if known is None else min(max(known, -LIMIT), LIMIT)


def _half(answer: Answer) -> float | None:
    value = _limited(answer.best.value)
    return None if value is None else _limited(half_width(value, answer.best.interval))
