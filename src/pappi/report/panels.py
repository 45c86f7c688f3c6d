"""One panel of a chart: the values of one group over the periods.

From back to front: what lies outside the target, grid, interval band, whiskers, target
lines, raw values of a smoothed series, value line, marks, target label. An interval that
goes on beyond the axis ends in an arrow at its edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pappi.report.elements import Element, el
from pappi.report.marks import Point, cross, points, raw_mark, shape
from pappi.report.numbers import finite, with_unit
from pappi.report.palette import painted
from pappi.report.periods import PeriodAxis
from pappi.report.plain import shortened
from pappi.report.scales import Axis, target_ends
from pappi.report.verdicts import mark_of
from pappi.report.wording import answer_text, raw_text
from pappi.values.answers import Answer, Band, ShownTarget

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
SMALL = 11.5
NO_VALUE = "no value"
MISSING_LANE = 22.0
"""Height beneath the axis for periods that have no value, where there are any."""
# Pixels per period below which whiskers lose their caps, lest the chart turn to hatching.
_DENSE = 10.0


@dataclass(frozen=True, slots=True)
class Panel:
    """What to draw and where.

    `patterns` are ids: of dots for what is only tolerated, of stripes for what is neither.
    `label` is what to write at the target.
    """

    answers: tuple[Answer, ...]
    target: ShownTarget | None
    unit: str
    x: PeriodAxis
    y: Axis
    patterns: Mapping[Band, str]
    label: str

    def elements(self) -> Iterator[Element]:
        yield from self._outside()
        yield from self._grid()
        yield from self._lane_name()
        runs = list(_runs(self.answers))
        for run in runs:
            yield self._band(run)
            for answer in run:
                yield from self._whisker(answer)
        yield from self._target_lines()
        for answer in self.answers:
            yield from self._raw(answer)
        for run in runs:
            yield from self._line(run)
        for answer in self.answers:
            yield self._mark(answer)
        yield from self._target_label()

    # --- the frame ---

    def _grid(self) -> Iterator[Element]:
        top = self.y.ticks[-1]
        for tick in self.y.ticks:
            y = self.y.at(tick)
            yield painted("line", "grid", x1=self.x.left, x2=self.x.right, y1=y, y2=y)
            label = self.y.label(tick)
            text = with_unit(label, self.unit) if tick == top else label
            yield painted(
                "text", "label", text, x=self.x.left - 8, y=y + 4,
                font_size=SMALL, text_anchor="end",
            )  # fmt: skip
        if self.y.low < 0 < self.y.high:
            zero = self.y.at(0.0)
            yield painted("line", "axis", x1=self.x.left, x2=self.x.right, y1=zero, y2=zero)

    def _lane_name(self) -> Iterator[Element]:
        """Beneath the axis, where a mark cannot be taken for a value."""
        if without_some(self.answers):
            y = self.y.bottom + MISSING_LANE * 0.6 + 4
            yield painted(
                "text", "label", NO_VALUE, x=self.x.left - 8, y=y,
                font_size=SMALL, text_anchor="end",
            )  # fmt: skip

    # --- the target ---

    def _outside(self) -> Iterator[Element]:
        """The parts of the axis that are not green, each in its pattern."""
        if self.target is None:
            return
        cuts = sorted({self.y.low, self.y.high, *filter(self.y.shows, target_ends(self.target))})
        for low, high in pairwise(cuts):
            pattern = self.patterns.get(_band(self.target, low / 2 + high / 2))
            if pattern is not None:
                top, bottom = self.y.at(high), self.y.at(low)
                yield el(
                    "rect", x=self.x.left, y=top, width=self.x.right - self.x.left,
                    height=bottom - top, fill=f"url(#{pattern})",
                )  # fmt: skip

    def _target_lines(self) -> Iterator[Element]:
        if self.target is None:
            return
        yield from self._limits(self.target, "target", "6 4")
        if self.target.tolerated is not None:
            yield from self._limits(self.target.tolerated, "tolerated", "1.5 3.5")

    def _limits(self, target: ShownTarget, paint: str, dashes: str) -> Iterator[Element]:
        for limit in (finite(target.low), finite(target.high)):
            if limit is not None:
                y = self.y.at(limit)
                yield painted(
                    "line", paint, x1=self.x.left, x2=self.x.right, y1=y, y2=y,
                    stroke_width=1.5, stroke_dasharray=dashes,
                )  # fmt: skip

    def _target_label(self) -> Iterator[Element]:
        low, high = _ends(self.target)
        limit = low if high is None else high
        if limit is None or not self.label:
            return
        text = shortened(self.label, (self.x.right - self.x.left) / 6.4)
        x, y = self._free_place(self.y.at(limit), 6.4 * len(text))
        yield painted(
            "text", "target-text", text, x=x, y=y,
            font_size=SMALL, font_weight=600, text_anchor="start" if x < self._middle else "end",
            stroke_width=3, stroke_linejoin="round", paint_order="stroke",
        )  # fmt: skip

    def _free_place(self, line: float, width: float) -> Point:
        """Of the places where a label can stand, the one hiding least; along the line first."""
        values = [(x, y) for answer in self.answers for x, y in self._point(answer)]
        rows = [y for y in (line - 6, line + 15) if self.y.top + 11 <= y <= self.y.bottom]

        def hidden(place: Point) -> int:
            x, y = place
            left = x if x < self._middle else x - width
            return sum(
                left - 6 <= px <= left + width + 6 and y - 17 <= py <= y + 8 for px, py in values
            )

        ends = (self.x.right - 6, self.x.left + 6)
        rows += [self.y.top + 11, self.y.bottom - 5]
        return min(((x, y) for y in rows for x in ends), key=hidden)

    @property
    def _middle(self) -> float:
        return (self.x.left + self.x.right) / 2

    # --- intervals ---

    def _band(self, run: Sequence[Answer]) -> Element:
        ends = [(self.x.at(answer.period), *self._interval(answer)) for answer in run]
        if len(ends) == 1:
            (x, low, high), half = ends[0], min(self.x.slot / 2, 14.0)
            ends = [(x - half, low, high), (x + half, low, high)]
        outline = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
        return painted("polygon", "band", points=points(outline), fill_opacity=0.18)

    def _whisker(self, answer: Answer) -> Iterator[Element]:
        x, shown = self.x.at(answer.period), answer.best.interval
        low, high = self._interval(answer)
        dense = self.x.slot < _DENSE
        opacity = 0.35 if dense else 0.6
        yield painted("line", "whisker", x1=x, x2=x, y1=low, y2=high, stroke_opacity=opacity)
        cap = min(self.x.slot / 4, 4.0)
        for limit, y, tip in ((shown.low, low, 6), (shown.high, high, -6)):
            if not self.y.shows(finite(limit)):
                arrow = [(x - cap, y), (x + cap, y), (x, y + tip)]
                yield painted("polygon", "arrow", points=points(arrow))
            elif not dense:
                yield painted("line", "whisker", x1=x - cap, x2=x + cap, y1=y, y2=y)

    def _interval(self, answer: Answer) -> Point:
        """The pixels of both ends, at the edge of the panel where there is no limit."""
        shown = answer.best.interval
        low, high = finite(shown.low), finite(shown.high)
        return (
            self.y.bottom if low is None else self.y.at(low),
            self.y.top if high is None else self.y.at(high),
        )

    # --- values ---

    def _line(self, run: Sequence[Answer]) -> Iterator[Element]:
        line = [point for answer in run for point in self._point(answer)]
        if len(line) > 1:
            yield painted(
                "polyline", "line", points=points(line),
                fill="none", stroke_width=2, stroke_linejoin="round",
            )  # fmt: skip

    def _point(self, answer: Answer) -> Iterator[Point]:
        value = finite(answer.best.value)
        if value is not None:
            yield self.x.at(answer.period), self.y.at(value)

    def _raw(self, answer: Answer) -> Iterator[Element]:
        """What was released, where the smoothed value stands in its place."""
        value = finite(answer.value)
        if answer.smoothed is not None and value is not None:
            x, y = self.x.at(answer.period), self.y.at(value)
            yield el("g", el("title", raw_text(answer)), raw_mark(x, y))

    def _mark(self, answer: Answer) -> Element:
        size = min(max(self.x.slot / 3.6, 3.2), 5.5)
        tip, mark = el("title", answer_text(answer)), mark_of(answer)
        for x, y in self._point(answer):
            return el("g", tip, shape(mark, x, y, size))
        x, y = self.x.at(answer.period), self.y.bottom + MISSING_LANE * 0.6
        return el("g", tip, cross(x, y, size) if mark is None else shape(mark, x, y, size))


def _band(target: ShownTarget, value: float) -> Band:
    if _within(target, value):
        return Band.GREEN
    tolerated = target.tolerated is not None and _within(target.tolerated, value)
    return Band.AMBER if tolerated else Band.RED


def _within(target: ShownTarget, value: float) -> bool:
    low, high = _ends(target)
    return (low is None or low <= value) and (high is None or value <= high)


def without_some(answers: Sequence[Answer]) -> bool:
    return any(finite(answer.best.value) is None for answer in answers)


def cuts_off(answers: Sequence[Answer], y: Axis) -> bool:
    """Whether some interval goes on beyond the axis."""
    return any(
        not y.shows(finite(limit))
        for answer in answers
        for limit in (answer.best.interval.low, answer.best.interval.high)
        if finite(answer.best.value) is not None
    )


def _runs(answers: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Stretches of values without a gap: a line across one would claim what nobody asked."""
    run: list[Answer] = []
    for answer in answers:
        valued = finite(answer.best.value) is not None
        if run and (not valued or run[-1].period.end < answer.period.start):
            yield run
            run = []
        if valued:
            run.append(answer)
    if run:
        yield run


def _ends(target: ShownTarget | None) -> tuple[float | None, float | None]:
    return (finite(target.low), finite(target.high)) if target else (None, None)
