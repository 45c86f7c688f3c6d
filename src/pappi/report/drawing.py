"""What charts are made of: the frame of a drawing, axes, marks, and the key beneath.

A *figure* is bare: classes and presentation attributes, for a page that serves `CHART_CSS`
and the theme, and may forbid inline styles. `standalone` gives the same drawing with its
style inside, for a file, a notebook or a document. Marks are told apart without colour as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil, floor, log10

from pappi.report.markup import CHART_CSS, Element, el, painted, theme_css
from pappi.report.numbers import (
    LIMIT,
    finite,
    format_number,
    half_width,
    is_distribution,
    shown_value,
)
from pappi.report.wording import VerdictMark, confidence_text, interval_name, mark_of, tally
from pappi.values import Answer, Band, Period, Series, ShownTarget

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
NOTHING_KNOWN = "unknown"
"""Labels the marks of periods without a value, or of whose value nothing is known."""
SPREADS, SPREAD_OPACITIES = ((10, 90), (25, 75)), (0.16, 0.26)
"""Percentiles between which the bands of a distribution are drawn."""
SMALL = 11.5
LETTER = 6.4
"""About the width of a letter at the small size."""


def identity(*parts: object) -> str:
    """A prefix for ids that do not collide with those of another drawing on the page."""
    return "pp" + sha256(repr(parts).encode()).hexdigest()[:8]


def figure(
    name: str, about: str, body: Iterable[Element], width: float, height: float, ids: str
) -> Element:
    """A bare drawing, described for screen readers."""
    return el(
        "svg",
        el("title", name, id=f"{ids}-name"),
        el("desc", about, id=f"{ids}-about"),
        painted("rect", "surface", width=width, height=height, rx=8),
        *body,
        class_="pp-chart",
        role="img",
        aria_labelledby=f"{ids}-name {ids}-about",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        font_family=FONT,
    )


def styled(drawing: Element) -> Element:
    """A bare drawing with its style, for a page that has none."""
    name, about, *rest = drawing.children
    style = el("style", theme_css(".pp-chart") + CHART_CSS)
    space = ("xmlns", "http://www.w3.org/2000/svg")
    attributes = (*drawing.attributes, space)
    return replace(drawing, attributes=attributes, children=(name, about, style, *rest))


def standalone(drawing: Element) -> str:
    """A bare drawing as a document of its own."""
    return str(styled(drawing))


def words(paint: str, text: str, x: float, y: float, *, anchor: str = "start") -> Element:
    """A line of small text."""
    return painted("text", paint, text, x=x, y=y, font_size=SMALL, text_anchor=anchor)


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


def value_grid(
    axis: Axis, left: float, right: float, with_unit: Callable[[str], str]
) -> Iterator[Element]:
    """A line across and a label for each tick; only the highest one has the unit."""
    for tick in axis.ticks:
        y, label = axis.at(tick), axis.label(tick)
        yield painted("line", "grid", x1=left, x2=right, y1=y, y2=y)
        label = with_unit(label) if tick == axis.ticks[-1] else label
        yield words("label", label, left - 8, y + 4, anchor="end")


def shown_extent(answers: Sequence[Answer], targets: Sequence[ShownTarget], unit: str) -> Extent:
    """What the axis must show: values, targets, and intervals as far as that stays readable."""
    answers = [answer for answer in answers if shown_value(answer) is not None]
    candidates = [value for a in answers for value in (a.value, a.best.value)]
    outermost = (
        a.distribution.percentile(p) for a in answers if a.distribution for p in SPREADS[0]
    )
    candidates += [percentile.value for percentile in outermost if percentile is not None]
    values = [value for value in map(_limited, candidates) if value is not None]
    limits = [end for target in targets for end in target_ends(target)]
    # A change is drawn around no change.
    limits += {a.comparison.same for a in answers if a.comparison is not None}
    shown = [*_usual(values, answers), *limits]
    core = Extent(min(shown), max(shown)) if shown else Extent(0.0, 1.0)
    margin = _margin(core, [half for a in answers if (half := _half(a)) is not None])
    ends = [
        min(max(end, core.low - margin), core.high + margin)
        for answer in answers
        for limit in (answer.best.interval.low, answer.best.interval.high)
        if (end := _limited(limit)) is not None
    ]
    low, high = min([core.low, *ends]), max([core.high, *ends])
    compared = any(a.comparison is not None for a in answers)
    if unit == "percent" and core.low >= 0 and core.high <= 100 and not compared:
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
    ends = (end for limits in ranges for end in (limits.low, limits.high))
    return [end for end in map(_limited, ends) if end is not None]


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


def _nice_step(span: float, count: float, unit: str) -> float:
    rough = span / count
    for step in _CLOCK_STEPS.get(unit, ()):
        if step / 2 < rough <= step:
            return step
    power = 10.0 ** floor(log10(rough))
    return power * next(step for step in _STEPS if rough <= step * power * (1 + 1e-9))


def _limited(number: float | None) -> float | None:
    limited = finite(number)
    return None if limited is None else min(max(limited, -LIMIT), LIMIT)


def _half(answer: Answer) -> float | None:
    value = _limited(answer.best.value)
    return None if value is None else _limited(half_width(value, answer.best.interval))


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Label every n-th period, so that thinned months fall on quarters, halves and years.
_EVERY = (1, 2, 3, 4, 6, 12, 24, 26, 52)
_LABEL_LETTER = 6.2
_LABEL_GAP = 10.0


@dataclass(frozen=True, slots=True)
class PeriodMark:
    """A label beneath the axis, on two lines."""

    x: float
    upper: str
    lower: str


@dataclass(frozen=True, slots=True)
class PeriodAxis:
    """Distinct periods in order, each in a slot of the same width."""

    periods: tuple[Period, ...]
    left: float
    right: float

    @classmethod
    def of(cls, answers: Iterable[Answer], left: float, right: float) -> PeriodAxis:
        return cls(tuple(sorted({answer.period for answer in answers})), left, right)

    @property
    def slot(self) -> float:
        return (self.right - self.left) / max(len(self.periods), 1)

    def at(self, period: Period) -> float:
        return self.left + (self.periods.index(period) + 0.5) * self.slot

    def marks(self) -> list[PeriodMark]:
        names = [_two_lines(period) for period in self.periods]
        every = _thinned(names, self.slot)
        marks: list[PeriodMark] = []
        year = ""
        for index in range(0, len(names), every):
            upper, lower = names[index]
            x = self.left + (index + 0.5) * self.slot
            marks.append(PeriodMark(x, upper, "" if lower == year else lower))
            year = lower
        return marks


def _two_lines(period: Period) -> tuple[str, str]:
    """The part that changes from label to label, and the part that seldom does."""
    label = period.label
    if " to " in label:
        first, last = label.split(" to ")
        return first, f"to {last}"
    year, _, rest = label.partition("-")
    if not rest:
        return year, ""
    if rest[:1].isdigit():
        month, _, day = rest.partition("-")
        name = _MONTHS[int(month) - 1]
        return (f"{int(day)} {name}" if day else name), year
    return rest, year


def _thinned(names: Sequence[tuple[str, str]], slot: float) -> int:
    """The smallest step at which neighbouring labels do not touch."""
    widest = max((len(line) for name in names for line in name), default=0)
    needed = (widest * _LABEL_LETTER + _LABEL_GAP) / max(slot, 1e-9)
    return next((every for every in _EVERY if every >= needed), max(ceil(needed), 1))


Point = tuple[float, float]


def shape(mark: VerdictMark | None, x: float, y: float, size: float) -> Element:
    match mark:
        case VerdictMark.MET | VerdictMark.GREEN:
            return painted("circle", "met", cx=x, cy=y, r=size, stroke_width=1.2)
        case VerdictMark.MISSED | VerdictMark.RED:
            return painted("polygon", "missed", points=_triangle(x, y, size), stroke_width=1.2)
        case VerdictMark.AMBER_OR_RED:
            corners = _triangle(x, y, size - 0.4)
            return painted("polygon", "amber-or-red", points=corners, stroke_width=1.6)
        case VerdictMark.AMBER:
            wide = size * 1.2
            corners = points([(x - wide, y), (x, y - wide), (x + wide, y), (x, y + wide)])
            return painted("polygon", "amber", points=corners, stroke_width=1.2)
        case VerdictMark.UNCLEAR:
            return painted("circle", "undecided", cx=x, cy=y, r=size - 0.4, stroke_width=1.8)
        case None:
            return painted("circle", "plain", cx=x, cy=y, r=size * 0.75, stroke_width=1)


def cross(x: float, y: float, size: float) -> Element:
    """The mark of a period about whose value nothing is known."""
    d = f"M{x - size:.1f} {y - size:.1f}l{2 * size:.1f} {2 * size:.1f}m0 {-2 * size:.1f}"
    return painted("path", "axis", d=f"{d}l{-2 * size:.1f} {2 * size:.1f}", stroke_width=1.5)


def raw_mark(x: float, y: float) -> Element:
    """A released value that is not the one to read: small and grey."""
    return painted("circle", "raw", cx=x, cy=y, r=2.2, fill_opacity=0.8)


def points(corners: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def pattern(mark: Element, identity: str, size: int, turned: str | None = None) -> Element:
    """A mark repeated over an area, which is filled with `url(#identity)`."""
    return el(
        "pattern", mark, id=identity, width=size, height=size,
        patternUnits="userSpaceOnUse", patternTransform=turned,
    )  # fmt: skip


def _triangle(x: float, y: float, size: float) -> str:
    wide = size * 1.25
    return points([(x - wide, y - size), (x + wide, y - size), (x, y + wide)])


KEY_ROW = 22.0
KEY_BOX = {"x": -6, "y": -6, "width": 13, "height": 12}
_KEY_LETTER = 6.1
_KEY_GAP = 34.0


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A drawing around the origin, and its words."""

    drawing: Element
    words: str

    @property
    def width(self) -> float:
        return _KEY_GAP + _KEY_LETTER * len(self.words)


def key_entries(
    series: Series, patterns: Mapping[Band, str], *, cut_off: bool
) -> Iterator[KeyEntry]:
    for mark in tally(series.answers):
        yield KeyEntry(shape(mark, 0, 0, 4.8), str(mark))
    together = ""
    if any(answer.smoothed for answer in series.answers):
        yield KeyEntry(raw_mark(0, 0), "raw value; everything else is smoothed")
        together = ", for all together"
    if is_distribution(series):
        for (low, high), opacity in zip(SPREADS, SPREAD_OPACITIES, strict=True):
            spread = painted("rect", "band", fill_opacity=opacity, **KEY_BOX)
            yield KeyEntry(spread, f"{low} % to {high} % of cases")
        whisker = painted("line", "whisker", x1=0, x2=0, y1=-6, y2=6, stroke_opacity=0.6)
        yield KeyEntry(whisker, f"the median, {confidence_text(series.answers)} interval")
    else:
        swatch = painted("rect", "band", fill_opacity=0.25, **KEY_BOX)
        yield KeyEntry(swatch, f"{interval_name(series)}{together}")
    yield from _pattern_entries(series, patterns)
    if cut_off:
        arrow = painted("polygon", "arrow", points="-4,3 4,3 0,-4")
        yield KeyEntry(arrow, "continues beyond the chart")
    if any(shown_value(a) is None and mark_of(a) is None for a in series.answers):
        yield KeyEntry(cross(0, 0, 4), NOTHING_KNOWN)


def _pattern_entries(series: Series, patterns: Mapping[Band, str]) -> Iterator[KeyEntry]:
    words = {Band.RED: "outside the target"} if series.targets else {}
    if any(target.tolerated for target in series.targets):
        words = {Band.AMBER: "tolerated", Band.RED: "not tolerated"}
    for band, text in words.items():
        swatch = el("rect", fill=f"url(#{patterns[band]})", **KEY_BOX)
        yield KeyEntry(outlined(swatch), text)


def outlined(swatch: Element) -> Element:
    return el("g", swatch, painted("path", "limit", d="M-6 -6h13v12h-13z", fill="none"))


def key_rows(entries: Sequence[KeyEntry], width: float) -> list[list[KeyEntry]]:
    """The entries in rows, as many in each as fit."""
    rows: list[list[KeyEntry]] = []
    room = 0.0
    for entry in entries:
        if not rows or entry.width > room:
            rows.append([])
            room = width
        rows[-1].append(entry)
        room -= entry.width
    return rows


def drawn_key(rows: Sequence[Sequence[KeyEntry]], left: float, top: float) -> Iterator[Element]:
    for number, row in enumerate(rows):
        x, y = left, top + KEY_ROW * number
        for entry in row:
            yield el("g", entry.drawing, transform=f"translate({x:.1f} {y:.1f})")
            yield painted("text", "label", entry.words, x=x + 12, y=y + 4, font_size=11.5)
            x += entry.width
