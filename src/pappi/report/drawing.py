"""What all charts share: the frame of a drawing, an axis of values, patterns, and the key beneath.

A *figure* is bare: classes and presentation attributes, for a page that serves `CHART_CSS`
and the theme, and may forbid inline styles. `standalone` gives the same drawing with its
style inside, for a file, a notebook or a document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil, floor, log10

from pappi.report.markup import CHART_CSS, Element, el, painted, theme_css
from pappi.report.numbers import (
    format_number,
)

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
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


def _nice_step(span: float, count: float, unit: str) -> float:
    rough = span / count
    for step in _CLOCK_STEPS.get(unit, ()):
        if step / 2 < rough <= step:
            return step
    power = 10.0 ** floor(log10(rough))
    return power * next(step for step in _STEPS if rough <= step * power * (1 + 1e-9))


Point = tuple[float, float]


def points(corners: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def pattern(mark: Element, identity: str, size: int, turned: str | None = None) -> Element:
    """A mark repeated over an area, which is filled with `url(#identity)`."""
    return el(
        "pattern", mark, id=identity, width=size, height=size,
        patternUnits="userSpaceOnUse", patternTransform=turned,
    )  # fmt: skip


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
