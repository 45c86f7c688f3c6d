"""A series as a chart: server-rendered SVG that needs no script and makes no request.

`series_svg` stands alone: in a file, a notebook, a document. `series_figure` is
the same drawing for a page that has its own heading and style sheet (`CHART_CSS`).
Groups become panels, one above the other, on the same axes. If no answer has a value,
verdicts are drawn in lanes instead of on a value axis.

A panel shows, from back to front: what lies outside the target, grid, interval band,
whiskers, target lines, raw values of a smoothed series, value line, marks, target label. An
interval that continues beyond the axis ends in an arrow at its edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from pappi.report.drawing import (
    KEY_ROW,
    NOTHING_KNOWN,
    SMALL,
    SPREAD_OPACITIES,
    SPREADS,
    Axis,
    KeyEntry,
    PeriodAxis,
    Point,
    cross,
    drawn_key,
    figure,
    identity,
    key_entries,
    key_rows,
    pattern,
    points,
    raw_mark,
    shape,
    shown_extent,
    styled,
    target_ends,
    value_axis,
    value_grid,
    words,
)
from pappi.report.markup import Element, el, painted
from pappi.report.numbers import finite, shortened, shown_value, with_unit
from pappi.report.wording import (
    answer_text,
    guarantee_line,
    legend,
    mark_of,
    raw_text,
    series_text,
    target_text,
)
from pappi.values import Answer, Band, Series, ShownTarget

_MARGIN = 14.0
_HEADING = 52.0
_GROUP_LABEL = 30.0
_PERIOD_LABELS = 38.0
_KEY = 26.0
_LEAST_PANEL = 90.0
_LETTER = 6.6
_NOTHING = 10.0  # the height of a line that says there are no answers
_LANE = 25.0
_MISSING_LANE = 22.0
"""Height beneath the axis for periods about which nothing is known, if there are any."""


def series_svg(series: Series, width: int = 760, height: int = 320) -> str:
    """A standalone chart. `height` is that of one panel with heading; groups add to it."""
    return str(series_drawing(series, width, height))


def series_drawing(series: Series, width: int = 760, height: int = 320) -> Element:
    """The same as an element, for a page without our style."""
    return styled(_Chart(series, width, height, _HEADING).drawn())


def series_figure(series: Series, width: int = 760, height: int = 300) -> Element:
    """The chart without heading and style, for a page that has both."""
    return _Chart(series, width, height, 0.0).drawn()


# --- the whole ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chart:
    series: Series
    width: int
    height: int
    heading: float

    def drawn(self) -> Element:
        ids, panels = identity(self.series, self.heading), self._panels
        bottom = self._top + (len(self._groups) or 1) * (panels.height + self._group_label)
        key = key_rows(list(panels.key()), self.width - 2 * _MARGIN)
        body = [
            el("defs", *_patterns(panels.patterns)),
            *(self._heading() if self.heading else ()),
            *self._body(panels, bottom),
            *self._warning(),
            *drawn_key(key, _MARGIN + 6, bottom + _PERIOD_LABELS + 14),
        ]
        total = bottom + _PERIOD_LABELS + KEY_ROW * len(key) + 10
        return figure(self.series.title, series_text(self.series), body, self.width, total, ids)

    def _heading(self) -> Iterator[Element]:
        title = shortened(self.series.title, self.width / 8.2)
        yield painted("text", "heading", title, x=_MARGIN, y=26, font_size=16, font_weight=650)
        promised = shortened(guarantee_line(self.series), self.width / 6)
        yield words("label", promised, _MARGIN, 44)

    def _warning(self) -> Iterator[Element]:
        """Drawn above the panels: part of the chart, wherever it is copied to."""
        if self.series.warning:
            yield painted(
                "text", "heading", self.series.warning, x=self.width - _MARGIN,
                y=self.heading + 10, font_size=SMALL, font_weight=600, text_anchor="end",
            )  # fmt: skip

    def _body(self, panels: _Panels, bottom: float) -> Iterator[Element]:
        if not self.series.answers:  # a line of text instead of an empty axis
            yield painted("text", "label", "no answers", x=_MARGIN, y=self._top + 18, font_size=13)
            return
        x = PeriodAxis.of(self.series.answers, panels.left, self.width - _MARGIN)
        top = self._top + self._group_label
        for number, (group, answers) in enumerate(self._groups.items()):
            target, label = self.series.target_of(group), ""
            # At the first panel; at every one where targets differ from group to group.
            if target is not None and (number == 0 or self.series.group_targets):
                label = f"target {target_text(target)}"
            if group is not None:
                yield from self._group_heading(group, label, x, top - 9)
            place = _Place(x, top, target, label if group is None else "")
            yield from panels.panel(answers, place)
            top += panels.height + self._group_label
        for mark in x.marks():
            yield painted("line", "grid", x1=mark.x, x2=mark.x, y1=bottom, y2=bottom + 5)
            for line, text in enumerate(filter(None, (mark.upper, mark.lower))):
                yield words("label", text, mark.x, bottom + 20 + 14 * line, anchor="middle")

    def _group_heading(self, group: str, label: str, x: PeriodAxis, y: float) -> Iterator[Element]:
        """The target is beside the group's name, where it hides no values."""
        letters = (x.right - x.left) / 8
        name = shortened(group, max(letters - len(label), 8))
        yield painted("text", "heading", name, x=x.left, y=y, font_size=12.5, font_weight=600)
        if label:
            yield _target_label(shortened(label, letters), x.right, y)

    # --- geometry ---

    @property
    def _panels(self) -> _Panels:
        """Full height for one panel; several are lower, but still readable."""
        answers, ids = self.series.answers, identity(self.series, self.heading)
        patterns = {Band.AMBER: f"{ids}-dots", Band.RED: f"{ids}-hatch"}
        if all(shown_value(answer) is None for answer in answers):
            return _Verdicts(self.series, patterns)
        alone = self.height - self._top - _PERIOD_LABELS - _KEY
        plot = max(alone if len(self._groups) == 1 else alone * 0.62, _LEAST_PANEL)
        return _Values(self.series, patterns, plot)

    @property
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
        return _GROUP_LABEL if any(group is not None for group in self._groups) else 0.0


def _target_label(label: str, x: float, y: float, anchor: str = "end") -> Element:
    return painted(
        "text", "target-text", label, x=x, y=y, font_size=SMALL, font_weight=600,
        text_anchor=anchor, stroke_width=3, stroke_linejoin="round", paint_order="stroke",
    )  # fmt: skip


def _patterns(ids: Mapping[Band, str]) -> Iterator[Element]:
    """Dots for what is tolerated, stripes for what is not: they differ in grey as well."""
    dot = painted("circle", "dots", cx=3, cy=3, r=1, fill_opacity=0.55)
    stripe = painted("line", "target", y2=8, stroke_width=1.6, stroke_opacity=0.2)
    yield pattern(dot, ids[Band.AMBER], 6)
    yield pattern(stripe, ids[Band.RED], 8, "rotate(45)")


# --- what a panel shows ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a panel is drawn, its target, and the label of the target."""

    x: PeriodAxis
    top: float
    target: ShownTarget | None
    label: str


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """Lanes of marks, best first and the same in every panel, where no answer has a value."""

    series: Series
    patterns: Mapping[Band, str]

    @property
    def height(self) -> float:
        return _LANE * len(self._names) + self._headroom if self.series.answers else _NOTHING

    @property
    def left(self) -> float:
        return _MARGIN + 8 + _LETTER * max(map(len, self._names))

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]:
        x, names = place.x, self._names
        if place.label:
            yield _target_label(place.label, x.right, place.top + 14)
        lanes = {
            name: place.top + self._headroom + _LANE * (number + 0.5)
            for number, name in enumerate(names)
        }
        for name, y in lanes.items():
            yield painted("line", "grid", x1=x.left, x2=x.right, y1=y, y2=y)
            yield words("label", name, x.left - 8, y + 4, anchor="end")
        for answer in answers:
            mark = mark_of(answer)
            yield _mark(answer, x, lanes[NOTHING_KNOWN if mark is None else mark])

    def key(self) -> Iterator[KeyEntry]:
        yield from ()

    @property
    def _headroom(self) -> float:
        """Room for the target, which is beside the names of groups if there are any."""
        grouped = any(answer.group is not None for answer in self.series.answers)
        return 0.0 if grouped or not self.series.targets else _LANE

    @property
    def _names(self) -> tuple[str, ...]:
        answers = self.series.answers
        rest = [NOTHING_KNOWN] if any(mark_of(answer) is None for answer in answers) else []
        return tuple(map(str, (*legend(answers), *rest)))


@dataclass(frozen=True, slots=True)
class _Values:
    series: Series
    patterns: Mapping[Band, str]
    plot: float

    @property
    def height(self) -> float:
        return self.plot + (_MISSING_LANE if _without_some(self.series.answers) else 0.0)

    @property
    def left(self) -> float:
        """Room for the widest tick label, the unit included."""
        axis = self._axis(0)
        labels = [*map(axis.label, axis.ticks), with_unit(axis.label(axis.high), self._unit)]
        if _without_some(self.series.answers):
            labels.append(NOTHING_KNOWN)
        return _MARGIN + 8 + _LETTER * max(map(len, labels))

    def panel(self, answers: tuple[Answer, ...], place: _Place) -> Iterator[Element]:
        axis = self._axis(place.top)
        return _Panel(answers, place, axis, self._unit, self.patterns).elements()

    def key(self) -> Iterator[KeyEntry]:
        axis = self._axis(0)
        cut_off = any(
            not axis.shows(finite(limit))
            for answer in self.series.answers
            for limit in (answer.best.interval.low, answer.best.interval.high)
            if shown_value(answer) is not None
        )
        return key_entries(self.series, self.patterns, cut_off=cut_off)

    def _axis(self, top: float) -> Axis:
        extent = shown_extent(self.series.answers, self.series.targets, self.series.unit)
        return value_axis(extent, self.series.unit, top + self.plot, top)

    @property
    def _unit(self) -> str:
        return shortened(self.series.unit, 12)


_Panels = _Verdicts | _Values


# Pixels per period below which whiskers lose their caps, to keep the chart readable.
_DENSE = 10.0


@dataclass(frozen=True, slots=True)
class _Panel:
    answers: tuple[Answer, ...]
    place: _Place
    y: Axis
    unit: str
    patterns: Mapping[Band, str]

    @property
    def x(self) -> PeriodAxis:
        return self.place.x

    def elements(self) -> Iterator[Element]:
        yield from self._outside()
        yield from self._grid()
        runs = list(_runs(self.answers))
        for run in runs:
            yield from self._spread(run) or [self._band(run)]
            for answer in run:
                yield from self._whisker(answer)
        yield from self._target_lines()
        for answer in self.answers:
            yield from self._raw(answer)
        for run in runs:
            yield from self._line(run)
        lane = self.y.bottom + _MISSING_LANE * 0.6
        for answer in self.answers:
            value = shown_value(answer)
            yield _mark(answer, self.x, lane if value is None else self.y.at(value))
        yield from self._target_label()

    # --- the frame ---

    def _grid(self) -> Iterator[Element]:
        unit = partial(with_unit, unit=self.unit)
        yield from value_grid(self.y, self.x.left, self.x.right, unit)
        same = next((a.comparison.same for a in self.answers if a.comparison is not None), 0.0)
        if self.y.low < same < self.y.high:
            zero = self.y.at(same)
            yield painted("line", "axis", x1=self.x.left, x2=self.x.right, y1=zero, y2=zero)
        if _without_some(self.answers):
            # Beneath the axis, where a mark cannot be taken for a value.
            lane = self.y.bottom + _MISSING_LANE * 0.6
            yield words("label", NOTHING_KNOWN, self.x.left - 8, lane + 4, anchor="end")

    # --- the target ---

    def _outside(self) -> Iterator[Element]:
        """The parts of the axis that are not green, each in its pattern."""
        target = self.place.target
        if target is None:
            return
        cuts = sorted({self.y.low, self.y.high, *filter(self.y.shows, target_ends(target))})
        for low, high in pairwise(cuts):
            filled = self.patterns.get(_band(target, low / 2 + high / 2))
            if filled is not None:
                top, bottom = self.y.at(high), self.y.at(low)
                yield el(
                    "rect", x=self.x.left, y=top, width=self.x.right - self.x.left,
                    height=bottom - top, fill=f"url(#{filled})",
                )  # fmt: skip

    def _target_lines(self) -> Iterator[Element]:
        target = self.place.target
        tolerated = None if target is None else target.tolerated
        limits = [(end, "target", "6 4") for end in _ends(target)]
        limits += [(end, "tolerated", "1.5 3.5") for end in _ends(tolerated)]
        for limit, paint, dashes in limits:
            if limit is not None:
                y = self.y.at(limit)
                yield painted(
                    "line", paint, x1=self.x.left, x2=self.x.right, y1=y, y2=y,
                    stroke_width=1.5, stroke_dasharray=dashes,
                )  # fmt: skip

    def _target_label(self) -> Iterator[Element]:
        low, high = _ends(self.place.target)
        limit = low if high is None else high
        if limit is None or not self.place.label:
            return
        text = shortened(self.place.label, (self.x.right - self.x.left) / 6.4)
        x, y = self._free_place(self.y.at(limit), 6.4 * len(text))
        yield _target_label(text, x, y, "start" if x < self._middle else "end")

    def _free_place(self, line: float, width: float) -> Point:
        """The place for a label that hides the fewest values, preferably along the line."""
        values = self._points(self.answers)
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

    def _spread(self, run: Sequence[Answer]) -> list[Element]:
        """For a distribution, where most cases lie, instead of the band of intervals."""
        areas = []
        for number, (low, high) in enumerate(SPREADS):
            ends = [
                (self.x.at(answer.period), self.y.at(below.value), self.y.at(above.value))
                for answer in run
                if (distribution := answer.distribution) is not None
                and (below := distribution.percentile(low)) is not None
                and (above := distribution.percentile(high)) is not None
            ]
            if ends:
                areas.append(self._area(ends, SPREAD_OPACITIES[number]))
        return areas

    def _band(self, run: Sequence[Answer]) -> Element:
        return self._area(
            [(self.x.at(answer.period), *self._interval(answer)) for answer in run], 0.18
        )

    def _area(self, ends: list[tuple[float, float, float]], opacity: float) -> Element:
        if len(ends) == 1:
            (x, low, high), half = ends[0], min(self.x.slot / 2, 14.0)
            ends = [(x - half, low, high), (x + half, low, high)]
        outline = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
        return painted("polygon", "band", points=points(outline), fill_opacity=opacity)

    def _whisker(self, answer: Answer) -> Iterator[Element]:
        x, interval = self.x.at(answer.period), answer.best.interval
        low, high = self._interval(answer)
        dense = self.x.slot < _DENSE
        opacity = 0.35 if dense else 0.6
        yield painted("line", "whisker", x1=x, x2=x, y1=low, y2=high, stroke_opacity=opacity)
        cap = min(self.x.slot / 4, 4.0)
        for limit, y, tip in ((interval.low, low, 6), (interval.high, high, -6)):
            if not self.y.shows(finite(limit)):
                arrow = [(x - cap, y), (x + cap, y), (x, y + tip)]
                yield painted("polygon", "arrow", points=points(arrow))
            elif not dense:
                yield painted("line", "whisker", x1=x - cap, x2=x + cap, y1=y, y2=y)

    def _interval(self, answer: Answer) -> Point:
        """The pixels of both ends, at the edge of the panel where there is no limit."""
        interval = answer.best.interval
        low, high = finite(interval.low), finite(interval.high)
        return (
            self.y.bottom if low is None else self.y.at(low),
            self.y.top if high is None else self.y.at(high),
        )

    # --- values ---

    def _line(self, run: Sequence[Answer]) -> Iterator[Element]:
        line = self._points(run)
        if len(line) > 1:
            yield painted(
                "polyline", "line", points=points(line),
                fill="none", stroke_width=2, stroke_linejoin="round",
            )  # fmt: skip

    def _points(self, answers: Sequence[Answer]) -> list[Point]:
        values = ((answer.period, shown_value(answer)) for answer in answers)
        return [(self.x.at(period), self.y.at(v)) for period, v in values if v is not None]

    def _raw(self, answer: Answer) -> Iterator[Element]:
        """The released value, if the smoothed value is drawn in its place."""
        value = shown_value(replace(answer, smoothed=None))
        if answer.smoothed is not None and value is not None:
            x, y = self.x.at(answer.period), self.y.at(value)
            yield el("g", el("title", raw_text(answer)), raw_mark(x, y))


def _mark(answer: Answer, axis: PeriodAxis, y: float) -> Element:
    """A cross where neither a value nor a verdict is known."""
    size, x, mark = min(max(axis.slot / 3.6, 3.2), 5.5), axis.at(answer.period), mark_of(answer)
    nothing = mark is None and shown_value(answer) is None
    symbol = cross(x, y, size) if nothing else shape(mark, x, y, size)
    return el("g", el("title", answer_text(answer)), symbol)


def _band(target: ShownTarget, value: float) -> Band:
    if _within(target, value):
        return Band.GREEN
    tolerated = target.tolerated is not None and _within(target.tolerated, value)
    return Band.AMBER if tolerated else Band.RED


def _within(target: ShownTarget, value: float) -> bool:
    low, high = _ends(target)
    return (low is None or low <= value) and (high is None or value <= high)


def _without_some(answers: Sequence[Answer]) -> bool:
    return any(shown_value(answer) is None for answer in answers)


def _runs(answers: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Stretches of values without a gap: a line across a gap would suggest values there."""
    run: list[Answer] = []
    for answer in answers:
        valued = shown_value(answer) is not None
        if run and (not valued or run[-1].period.end < answer.period.start):
            yield run
            run = []
        if valued:
            run.append(answer)
    if run:
        yield run


def _ends(target: ShownTarget | None) -> tuple[float | None, float | None]:
    return (finite(target.low), finite(target.high)) if target else (None, None)
