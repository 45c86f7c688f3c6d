"""What all figures of the experiments share: a frame with axes, and standing alone as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pappi.report import Element, el, painted
from pappi.report.drawing import FONT, Axis, Extent, value_axis
from pappi.report.markup import CHART_CSS, theme_css

PANEL_WIDTH, PANEL_HEIGHT = 372.0, 236.0
_LEFT, _TOP, _BOTTOM, _RIGHT = 56.0, 30.0, 40.0, 10.0
_SMALL = 11
_KEY_HEIGHT = 30


@dataclass(frozen=True, slots=True)
class Frame:
    """A panel's place, its value axis and what it is called."""

    x: float
    y: float
    title: str
    extent: Extent
    unit: str = ""

    @property
    def left(self) -> float:
        return self.x + _LEFT

    @property
    def right(self) -> float:
        return self.x + PANEL_WIDTH - _RIGHT

    @property
    def bottom(self) -> float:
        return self.y + PANEL_HEIGHT - _BOTTOM

    @property
    def axis(self) -> Axis:
        return value_axis(self.extent, self.unit, self.bottom, self.y + _TOP)

    def elements(self) -> Iterator[Element]:
        """Title and grid; what is drawn comes on top."""
        axis = self.axis
        title = {"x": self.left, "y": self.y + 18, "font_size": 13, "font_weight": 600}
        yield painted("text", "heading", self.title, **title)
        for tick in axis.ticks:
            y = axis.at(tick)
            yield painted("line", "grid", x1=self.left, x2=self.right, y1=y, y2=y)
            yield painted(
                "text", "label", axis.label(tick),
                x=self.left - 6, y=y + 4, font_size=_SMALL, text_anchor="end",
            )  # fmt: skip

    def below(self, text: str, x: float) -> Element:
        """A label under the axis."""
        return painted(
            "text", "label", text,
            x=x, y=self.bottom + 17, font_size=_SMALL, text_anchor="middle",
        )  # fmt: skip


def grid_of(count: int, columns: int) -> list[tuple[float, float]]:
    """Where so many panels stand."""
    return [
        (PANEL_WIDTH * (index % columns), PANEL_HEIGHT * (index // columns))
        for index in range(count)
    ]


def figure(title: str, about: str, panels: int, columns: int, drawn: Iterable[Element],
           key: Sequence[tuple[str, str]]) -> Element:  # fmt: skip
    """An SVG that stands in a page or alone. `key` pairs a paint with what it means."""
    rows = -(-panels // columns)
    width, height = PANEL_WIDTH * columns, PANEL_HEIGHT * rows + _KEY_HEIGHT
    return el(
        "svg",
        el("title", title),
        el("desc", about),
        el("style", theme_css(".pp-chart") + CHART_CSS),
        painted("rect", "surface", width=width, height=height, rx=8),
        *drawn,
        *_key(key, PANEL_HEIGHT * rows + 12),
        class_="pp-chart",
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        font_family=FONT,
        xmlns="http://www.w3.org/2000/svg",
    )


def _key(entries: Sequence[tuple[str, str]], y: float) -> Iterator[Element]:
    x = _LEFT
    for paint, text in entries:
        yield painted("rect", paint, x=x, y=y - 9, width=14, height=10, stroke_width=1.2)
        yield painted("text", "label", text, x=x + 19, y=y, font_size=_SMALL)
        x += 34 + 6.4 * len(text)
