"""A series as a chart: server-rendered SVG that needs no script and asks for nothing.

`series_svg` stands alone: in a file, a notebook, a document. `series_figure` is
the same drawing for a page that has its own heading and style sheet (`CHART_CSS`).
Groups become panels, one above the other, on the same axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from pappi.report.elements import Element, el
from pappi.report.numbers import finite, with_unit
from pappi.report.palette import paint_css, painted, theme_css
from pappi.report.panels import FONT, SMALL, Panel, cross, cuts_off, verdict_shape
from pappi.report.periods import PeriodAxis
from pappi.report.plain import shortened
from pappi.report.scales import Extent, shown_extent, value_axis
from pappi.report.wording import confidence_text, guarantee_line, series_text, tally
from pappi.values.answers import Answer, Series

CHART_CSS = paint_css()

_MARGIN = 14.0
_HEADING = 52.0
_GROUP_LABEL = 30.0
_PERIOD_LABELS = 38.0
_KEY = 26.0
_LEAST_PANEL = 90.0


def series_svg(series: Series, width: int = 760, height: int = 320) -> str:
    """A standalone chart. `height` is that of one panel with heading; groups add to it."""
    return str(_Chart(series, width, height, _HEADING).titled())


def series_figure(series: Series, width: int = 760, height: int = 300) -> Element:
    """The chart without heading and style, for a page that has both."""
    return _Chart(series, width, height, 0.0).bare()


@dataclass(frozen=True, slots=True)
class _Chart:
    series: Series
    width: int
    height: int
    heading: float

    def titled(self) -> Element:
        style = el("style", theme_css(".pp-chart") + CHART_CSS)
        return self._svg(style, self._heading(), xmlns="http://www.w3.org/2000/svg")

    def bare(self) -> Element:
        return self._svg()

    def _svg(self, *before: Element, xmlns: str | None = None) -> Element:
        total = self._bottom + _PERIOD_LABELS + _KEY + 6
        name, about = f"{self._id}-name", f"{self._id}-about"
        return el(
            "svg",
            el("title", self.series.name, id=name),
            el("desc", series_text(self.series), id=about),
            *before[:1],
            el("defs", self._hatch()),
            painted("rect", "surface", width=self.width, height=total, rx=8),
            *before[1:],
            *self._body(),
            class_="pp-chart",
            role="img",
            aria_labelledby=f"{name} {about}",
            viewBox=f"0 0 {self.width} {total:g}",
            width=self.width,
            height=total,
            font_family=FONT,
            xmlns=xmlns,
        )

    def _heading(self) -> Element:
        return el(
            "g",
            painted(
                "text", "heading", shortened(self.series.name, self.width / 8.2),
                x=_MARGIN, y=26, font_size=16, font_weight=650,
            ),
            painted(
                "text", "label", shortened(guarantee_line(self.series.answers), self.width / 6),
                x=_MARGIN, y=44, font_size=SMALL,
            ),
        )  # fmt: skip

    def _body(self) -> Iterator[Element]:
        groups = self._groups()
        if not self.series.answers:
            yield painted("text", "label", "no answers", x=_MARGIN, y=self._top + 30, font_size=13)
            return
        extent = shown_extent(self.series.answers, self.series.target, self.series.unit)
        x = PeriodAxis.of(self.series.answers, self._left(extent), self.width - _MARGIN)
        top = self._top
        for group, answers in groups.items():
            yield from self._panel(group, answers, extent, x, top)
            top += self._panel_height + self._group_label
        yield from _period_labels(x, self._bottom)
        yield from self._key(extent)

    def _panel(
        self, group: str | None, answers: list[Answer], extent: Extent, x: PeriodAxis, top: float
    ) -> Iterator[Element]:
        if group is not None:
            yield painted(
                "text", "heading", shortened(group, self.width / 8),
                x=x.left, y=top + 21, font_size=12.5, font_weight=600,
            )  # fmt: skip
        top += self._group_label
        y = value_axis(extent, self.series.unit, top + self._panel_height, top)
        target, first = self.series.target, top == self._top + self._group_label
        label = f"target {target.text}" if target and first else ""
        yield from Panel(
            tuple(answers), target, self._unit, x, y, f"{self._id}-hatch", label
        ).elements()

    def _key(self, extent: Extent) -> Iterator[Element]:
        """What the marks mean; only of those that occur."""
        y, x = self._bottom + _PERIOD_LABELS + 14, _MARGIN + 6
        for shape, label in self._key_entries(extent, y):
            yield el("g", shape, transform=f"translate({x:.1f} 0)")
            yield painted("text", "label", label, x=x + 12, y=y + 4, font_size=SMALL)
            x += 34 + 6.1 * len(label)

    def _key_entries(self, extent: Extent, y: float) -> Iterator[tuple[Element, str]]:
        answers = self.series.answers
        for verdict in tally(answers):
            yield verdict_shape(verdict, 0, y, 4.8), str(verdict)
        interval = painted("rect", "band", x=-6, y=y - 6, width=13, height=12, fill_opacity=0.25)
        yield interval, f"{confidence_text(answers)} interval"
        if self.series.target:
            hatched = el("rect", x=-6, y=y - 6, width=13, height=12, fill=f"url(#{self._id}-hatch)")
            yield hatched, "outside the target"
        if cuts_off(answers, value_axis(extent, self.series.unit, self._panel_height, 0)):
            arrow = painted("polygon", "arrow", points=f"-4,{y + 3} 4,{y + 3} 0,{y - 4}")
            yield arrow, "goes on beyond the chart"
        if any(finite(answer.value) is None and answer.verdict is None for answer in answers):
            yield cross(0, y, 4), "no value"

    # --- geometry ---

    def _groups(self) -> dict[str | None, list[Answer]]:
        groups: dict[str | None, list[Answer]] = {}
        for answer in self.series.answers:
            groups.setdefault(answer.group, []).append(answer)
        return {
            group: sorted(answers, key=lambda answer: answer.period)
            for group, answers in groups.items()
        }

    @property
    def _top(self) -> float:
        return self.heading + 14

    @property
    def _group_label(self) -> float:
        return _GROUP_LABEL if any(group is not None for group in self._groups()) else 0.0

    @property
    def _panel_height(self) -> float:
        """Full height for one panel; several share it, down to what is still readable."""
        alone = self.height - self._top - _PERIOD_LABELS - _KEY
        count = max(len(self._groups()), 1)
        return max(alone if count == 1 else alone * 0.62, _LEAST_PANEL)

    @property
    def _bottom(self) -> float:
        count = max(len(self._groups()), 1)
        return self._top + count * (self._panel_height + self._group_label)

    def _left(self, extent: Extent) -> float:
        """Room for the widest tick label, the unit included."""
        axis = value_axis(extent, self.series.unit, self._panel_height, 0)
        labels = [*map(axis.label, axis.ticks), with_unit(axis.label(axis.high), self._unit)]
        return _MARGIN + 8 + 6.6 * max(map(len, labels))

    @property
    def _unit(self) -> str:
        return shortened(self.series.unit, 12)

    def _hatch(self) -> Element:
        stripe = painted("line", "target", y2=8, stroke_width=1.6, stroke_opacity=0.2)
        return el(
            "pattern", stripe, id=f"{self._id}-hatch", width=8, height=8,
            patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
        )  # fmt: skip

    @property
    def _id(self) -> str:
        """Ids that do not collide with those of another chart on the same page."""
        return "pp" + sha256(repr((self.series, self.heading)).encode()).hexdigest()[:8]


def _period_labels(x: PeriodAxis, bottom: float) -> Iterator[Element]:
    for mark in x.marks():
        yield painted("line", "grid", x1=mark.x, x2=mark.x, y1=bottom, y2=bottom + 5)
        for line, text in enumerate((mark.upper, mark.lower)):
            if text:
                yield painted(
                    "text", "label", text, x=mark.x, y=bottom + 20 + 14 * line,
                    font_size=SMALL, text_anchor="middle",
                )  # fmt: skip
