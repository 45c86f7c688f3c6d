"""A series as a chart: server-rendered SVG that needs no script and makes no request.

`series_svg` stands alone: in a file, a notebook, a document. `series_figure` is
the same drawing for a page that has its own heading and style sheet (`CHART_CSS`).
Groups become panels, one above the other, on the same axes. If no answer has a value,
verdicts are drawn in lanes instead of on a value axis.

A panel shows, from back to front: what lies outside the target, grid, interval band,
whiskers, target lines, raw values of a smoothed series, value line, marks, target label. An
interval that continues beyond the axis ends in an arrow at its edge. Marks are told apart without
colour as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import ceil

from pappi.report.drawing import (
    KEY_BOX,
    KEY_ROW,
    SMALL,
    Axis,
    Extent,
    KeyEntry,
    Point,
    drawn_key,
    figure,
    identity,
    key_rows,
    outlined,
    pattern,
    points,
    styled,
    value_axis,
    value_grid,
    words,
)
from pappi.report.markup import Element, el, painted
from pappi.report.numbers import (
    LIMIT,
    finite,
    half_width,
    is_distribution,
    shortened,
    shown_value,
    with_unit,
)
from pappi.report.wording import (
    VerdictMark,
    answer_text,
    confidence_text,
    guarantee_line,
    interval_name,
    legend,
    mark_of,
    raw_text,
    series_text,
    tally,
    target_text,
)
from pappi.values import Answer, Band, Period, Series, ShownTarget, bands_between

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
_NOTHING_KNOWN = "unknown"
"""Labels the marks of periods without a value, or of whose value nothing is known."""
_SPREADS, _SPREAD_OPACITIES = ((10, 90), (25, 75)), (0.16, 0.26)
"""Percentiles between which the bands of a distribution are drawn."""


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
            yield _mark(answer, x, lanes[_NOTHING_KNOWN if mark is None else mark])

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
        rest = [_NOTHING_KNOWN] if any(mark_of(answer) is None for answer in answers) else []
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
            labels.append(_NOTHING_KNOWN)
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
        return _key_entries(self.series, self.patterns, cut_off=cut_off)

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
            yield words("label", _NOTHING_KNOWN, self.x.left - 8, lane + 4, anchor="end")

    # --- the target ---

    def _outside(self) -> Iterator[Element]:
        """The parts of the axis that are not green, each in its pattern."""
        target = self.place.target
        if target is None:
            return
        cuts = sorted({self.y.low, self.y.high, *filter(self.y.shows, _target_ends(target))})
        for low, high in pairwise(cuts):
            middle = low / 2 + high / 2
            band, *_ = bands_between(target, target.tolerated or target, middle, middle)
            filled = self.patterns.get(band)
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
        for number, (low, high) in enumerate(_SPREADS):
            ends = [
                (self.x.at(answer.period), self.y.at(below.value), self.y.at(above.value))
                for answer in run
                if (distribution := answer.distribution) is not None
                and (below := distribution.percentile(low)) is not None
                and (above := distribution.percentile(high)) is not None
            ]
            if ends:
                areas.append(self._area(ends, _SPREAD_OPACITIES[number]))
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
            yield el("g", el("title", raw_text(answer)), _raw_mark(x, y))


def _mark(answer: Answer, axis: PeriodAxis, y: float) -> Element:
    """A cross where neither a value nor a verdict is known."""
    size, x, mark = min(max(axis.slot / 3.6, 3.2), 5.5), axis.at(answer.period), mark_of(answer)
    nothing = mark is None and shown_value(answer) is None
    symbol = _cross(x, y, size) if nothing else _shape(mark, x, y, size)
    return el("g", el("title", answer_text(answer)), symbol)


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


# --- what the axis of values shows --------------------------------------------------------

# An interval wider than this many times the chart's own extent is cut off.
_WIDEST = 2.5
_MARGIN_WHEN_CUT = 0.6


def shown_extent(answers: Sequence[Answer], targets: Sequence[ShownTarget], unit: str) -> Extent:
    """What the axis must show: values, targets, and intervals as far as that stays readable."""
    answers = [answer for answer in answers if shown_value(answer) is not None]
    candidates = [value for a in answers for value in (a.value, a.best.value)]
    outermost = (
        a.distribution.percentile(p) for a in answers if a.distribution for p in _SPREADS[0]
    )
    candidates += [percentile.value for percentile in outermost if percentile is not None]
    values = [value for value in map(_limited, candidates) if value is not None]
    limits = [end for target in targets for end in _target_ends(target)]
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


def _target_ends(target: ShownTarget) -> list[float]:
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


def _limited(number: float | None) -> float | None:
    limited = finite(number)
    return None if limited is None else min(max(limited, -LIMIT), LIMIT)


def _half(answer: Answer) -> float | None:
    value = _limited(answer.best.value)
    return None if value is None else _limited(half_width(value, answer.best.interval))


# --- the axis of periods ------------------------------------------------------------------

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


# --- marks, and the key beneath -----------------------------------------------------------


def _shape(mark: VerdictMark | None, x: float, y: float, size: float) -> Element:
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


def _cross(x: float, y: float, size: float) -> Element:
    """The mark of a period about whose value nothing is known."""
    d = f"M{x - size:.1f} {y - size:.1f}l{2 * size:.1f} {2 * size:.1f}m0 {-2 * size:.1f}"
    return painted("path", "axis", d=f"{d}l{-2 * size:.1f} {2 * size:.1f}", stroke_width=1.5)


def _raw_mark(x: float, y: float) -> Element:
    """A released value that is not the one to read: small and grey."""
    return painted("circle", "raw", cx=x, cy=y, r=2.2, fill_opacity=0.8)


def _triangle(x: float, y: float, size: float) -> str:
    wide = size * 1.25
    return points([(x - wide, y - size), (x + wide, y - size), (x, y + wide)])


def _key_entries(
    series: Series, patterns: Mapping[Band, str], *, cut_off: bool
) -> Iterator[KeyEntry]:
    for mark in tally(series.answers):
        yield KeyEntry(_shape(mark, 0, 0, 4.8), str(mark))
    together = ""
    if any(answer.smoothed for answer in series.answers):
        yield KeyEntry(_raw_mark(0, 0), "raw value; everything else is smoothed")
        together = ", for all together"
    if is_distribution(series):
        for (low, high), opacity in zip(_SPREADS, _SPREAD_OPACITIES, strict=True):
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
        yield KeyEntry(_cross(0, 0, 4), _NOTHING_KNOWN)


def _pattern_entries(series: Series, patterns: Mapping[Band, str]) -> Iterator[KeyEntry]:
    words = {Band.RED: "outside the target"} if series.targets else {}
    if any(target.tolerated for target in series.targets):
        words = {Band.AMBER: "tolerated", Band.RED: "not tolerated"}
    for band, text in words.items():
        swatch = el("rect", fill=f"url(#{patterns[band]})", **KEY_BOX)
        yield KeyEntry(outlined(swatch), text)
