"""A series as a chart: server-rendered SVG that needs no script and asks for nothing.

`series_svg` stands alone: in a file, a notebook, a document. `series_figure` is
the same drawing for a page that has its own heading and style sheet (`CHART_CSS`).
Groups become panels, one above the other, on the same axes. Where no answer has a value,
verdicts stand in lanes instead of on a value axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from pappi.report.elements import Element, el
from pappi.report.keys import KEY_ROW, Entry, drawn_key, key_entries, rows_of
from pappi.report.lanes import LANE, Lanes, lane_names, without_values
from pappi.report.numbers import with_unit
from pappi.report.palette import paint_css, painted, theme_css
from pappi.report.panels import (
    FONT,
    MISSING_LANE,
    NO_VALUE,
    SMALL,
    Panel,
    cuts_off,
    without_some,
)
from pappi.report.periods import PeriodAxis
from pappi.report.plain import shortened
from pappi.report.scales import Extent, shown_extent, value_axis
from pappi.report.verdicts import target_text
from pappi.report.wording import guarantee_line, series_text
from pappi.values.answers import Answer, Band, Series, ShownTarget

CHART_CSS = paint_css()

_MARGIN = 14.0
_HEADING = 52.0
_GROUP_LABEL = 30.0
_PERIOD_LABELS = 38.0
_KEY = 26.0
_LEAST_PANEL = 90.0
_LETTER = 6.6


def series_svg(series: Series, width: int = 760, height: int = 320) -> str:
    """A standalone chart. `height` is that of one panel with heading; groups add to it."""
    return str(series_drawing(series, width, height))


def series_drawing(series: Series, width: int = 760, height: int = 320) -> Element:
    """The same as an element, for a page without our style."""
    return _Chart(series, width, height, _HEADING).titled()


def series_figure(series: Series, width: int = 760, height: int = 300) -> Element:
    """The chart without heading and style, for a page that has both."""
    return _Chart(series, width, height, 0.0).bare()


# --- what a panel shows ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a panel stands, whose target it is held against, and what it says of it."""

    x: PeriodAxis
    top: float
    target: ShownTarget | None
    label: str


class _Kind(Protocol):
    """How answers are drawn: on a value axis, or in lanes."""

    @property
    def left(self) -> float: ...

    @property
    def height(self) -> float: ...

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]: ...

    def key(self) -> Iterator[Entry]: ...


@dataclass(frozen=True, slots=True)
class _Values:
    series: Series
    plot: float
    identity: str

    @property
    def height(self) -> float:
        return self.plot + (MISSING_LANE if without_some(self.series.answers) else 0.0)

    @property
    def left(self) -> float:
        """Room for the widest tick label, the unit included."""
        axis = value_axis(self._extent, self.series.unit, self.plot, 0)
        labels = [*map(axis.label, axis.ticks), with_unit(axis.label(axis.high), self._unit)]
        if without_some(self.series.answers):
            labels.append(NO_VALUE)
        return _MARGIN + 8 + _LETTER * max(map(len, labels))

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]:
        y = value_axis(self._extent, self.series.unit, place.top + self.plot, place.top)
        patterns = _pattern_ids(self.identity)
        yield from Panel(
            answers, place.target, self._unit, place.x, y, patterns, place.label
        ).elements()

    def key(self) -> Iterator[Entry]:
        axis = value_axis(self._extent, self.series.unit, self.plot, 0)
        cut_off = cuts_off(self.series.answers, axis)
        return key_entries(self.series, _pattern_ids(self.identity), cut_off=cut_off)

    @property
    def _extent(self) -> Extent:
        return shown_extent(self.series.answers, self.series.targets, self.series.unit)

    @property
    def _unit(self) -> str:
        return shortened(self.series.unit, 12)


@dataclass(frozen=True, slots=True)
class _Nothing:
    """No answers: a line of words, and no axis that would promise some."""

    height: float = 10.0
    left: float = _MARGIN

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]:  # noqa: ARG002 - there are none
        yield from ()

    def key(self) -> Iterator[Entry]:
        yield from ()


@dataclass(frozen=True, slots=True)
class _Verdicts:
    series: Series

    @property
    def height(self) -> float:
        return LANE * len(self._names) + self._headroom

    @property
    def left(self) -> float:
        return _MARGIN + 8 + _LETTER * max(map(len, self._names))

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]:
        if place.label:
            yield _target_text(place.label, place.x.right, place.top + 14)
        yield from Lanes(answers, self._names, place.x, place.top + self._headroom).elements()

    def key(self) -> Iterator[Entry]:
        yield from ()

    @property
    def _headroom(self) -> float:
        """For the target, which stands beside the names of groups if there are any."""
        grouped = any(answer.group is not None for answer in self.series.answers)
        return 0.0 if grouped or not self.series.targets else LANE

    @property
    def _names(self) -> tuple[str, ...]:
        return lane_names(self.series.answers)


# --- the whole ------------------------------------------------------------------------


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
        key = rows_of(list(self._kind.key()), self.width - 2 * _MARGIN)
        total = self._bottom + _PERIOD_LABELS + KEY_ROW * len(key) + 10
        name, about = f"{self._id}-name", f"{self._id}-about"
        return el(
            "svg",
            el("title", self.series.title, id=name),
            el("desc", series_text(self.series), id=about),
            *before[:1],
            el("defs", *_patterns(self._id)),
            painted("rect", "surface", width=self.width, height=total, rx=8),
            *before[1:],
            *self._body(),
            *self._warning(),
            *drawn_key(key, _MARGIN + 6, self._bottom + _PERIOD_LABELS + 14),
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
                "text", "heading", shortened(self.series.title, self.width / 8.2),
                x=_MARGIN, y=26, font_size=16, font_weight=650,
            ),
            painted(
                "text", "label", shortened(guarantee_line(self.series.answers), self.width / 6),
                x=_MARGIN, y=44, font_size=SMALL,
            ),
        )  # fmt: skip

    def _warning(self) -> Iterator[Element]:
        """Above the panels, and so in the chart itself, wherever it is copied to."""
        if self.series.warning:
            yield painted(
                "text", "heading", self.series.warning, x=self.width - _MARGIN,
                y=self.heading + 10, font_size=SMALL, font_weight=600, text_anchor="end",
            )  # fmt: skip

    def _body(self) -> Iterator[Element]:
        if not self.series.answers:
            yield painted("text", "label", "no answers", x=_MARGIN, y=self._top + 18, font_size=13)
            return
        x = PeriodAxis.of(self.series.answers, self._kind.left, self.width - _MARGIN)
        top = self._top + self._group_label
        for group, answers in self._groups().items():
            target = self.series.target_of(group)
            label = self._target_label(target, top)
            if group is not None:
                yield from self._group_heading(group, label, x, top - 9)
            place = _Place(x, top, target, label if group is None else "")
            yield from self._kind.panel(answers, place)
            top += self._kind.height + self._group_label
        yield from _period_labels(x, self._bottom)

    def _group_heading(self, group: str, label: str, x: PeriodAxis, y: float) -> Iterator[Element]:
        """The target stands beside the name, where it hides no values."""
        room = (x.right - x.left) / 8 - len(label)
        yield painted(
            "text", "heading", shortened(group, max(room, 8)),
            x=x.left, y=y, font_size=12.5, font_weight=600,
        )  # fmt: skip
        if label:
            yield _target_text(shortened(label, (x.right - x.left) / 8), x.right, y)

    def _target_label(self, target: ShownTarget | None, top: float) -> str:
        """At the first panel; at every one where targets differ from group to group."""
        first = top == self._top + self._group_label
        told = target is not None and (first or self.series.group_targets)
        return f"target {target_text(target)}" if target and told else ""

    # --- geometry ---

    @property
    def _kind(self) -> _Kind:
        if not self.series.answers:
            return _Nothing()
        if without_values(self.series.answers):
            return _Verdicts(self.series)
        return _Values(self.series, self._panel_height, self._id)

    def _groups(self) -> dict[str | None, tuple[Answer, ...]]:
        groups: dict[str | None, list[Answer]] = {}
        for answer in self.series.answers:
            groups.setdefault(answer.group, []).append(answer)
        return {
            group: tuple(sorted(answers, key=lambda answer: answer.period))
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
        return self._top + count * (self._kind.height + self._group_label)

    @property
    def _id(self) -> str:
        """Ids that do not collide with those of another chart on the same page."""
        return "pp" + sha256(repr((self.series, self.heading)).encode()).hexdigest()[:8]


def _target_text(label: str, right: float, y: float) -> Element:
    return painted(
        "text", "target-text", label, x=right, y=y, font_size=SMALL, font_weight=600,
        text_anchor="end", stroke_width=3, stroke_linejoin="round", paint_order="stroke",
    )  # fmt: skip


def _pattern_ids(identity: str) -> dict[Band, str]:
    return {Band.AMBER: f"{identity}-dots", Band.RED: f"{identity}-hatch"}


def _patterns(identity: str) -> Iterator[Element]:
    """Dots for what is tolerated, stripes for what is not: told apart in grey as well."""
    stripe = painted("line", "target", y2=8, stroke_width=1.6, stroke_opacity=0.2)
    dot = painted("circle", "dots", cx=3, cy=3, r=1, fill_opacity=0.55)
    drawn = {Band.AMBER: (dot, 6, None), Band.RED: (stripe, 8, "rotate(45)")}
    for band, name in _pattern_ids(identity).items():
        figure, size, turned = drawn[band]
        yield el(
            "pattern", figure, id=name, width=size, height=size,
            patternUnits="userSpaceOnUse", patternTransform=turned,
        )  # fmt: skip


def _period_labels(x: PeriodAxis, bottom: float) -> Iterator[Element]:
    for mark in x.marks():
        yield painted("line", "grid", x1=mark.x, x2=mark.x, y1=bottom, y2=bottom + 5)
        for line, text in enumerate((mark.upper, mark.lower)):
            if text:
                yield painted(
                    "text", "label", text, x=mark.x, y=bottom + 20 + 14 * line,
                    font_size=SMALL, text_anchor="middle",
                )  # fmt: skip
