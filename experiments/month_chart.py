"""Monthly values of one PPI beside the true ones, a panel for each way of releasing them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.drawing import Frame, figure, grid_of
from experiments.intervals import Floats
from experiments.monthly import Monthly
from pappi.report import Element, painted
from pappi.report.drawing import Extent

COLUMNS = 2
_EVERY = 6


def month_chart(title: str, series: Sequence[Monthly], verdicts: Sequence[str]) -> Element:
    """The band holds nine of ten releases; the thin line is one of them.

    `verdicts` say of each series whether its guarantee holds.
    """
    places = grid_of(len(series), COLUMNS)
    placed = zip(series, verdicts, places, strict=True)
    drawn = [element for one, verdict, (x, y) in placed for element in _panel(one, verdict, x, y)]
    about = "The true values, where nine of ten releases lie, and one release."
    key = (("dots", "true values"), ("band", "nine of ten releases, and one of them"))
    return figure(title, about, len(series), COLUMNS, drawn, key)


def _panel(one: Monthly, verdict: str, x: float, y: float) -> Iterator[Element]:
    low, high = np.nanpercentile(one.values, (5, 95), axis=0)
    frame = Frame(x, y, f"{one.by}: {one.mechanism} ({verdict})", _extent(one, low, high))
    places = np.linspace(frame.left + 6, frame.right - 6, len(one.months))
    yield from frame.elements()
    yield _band(frame, places, low, high)
    yield _line(frame, places, one.values[0], "line", 1.1)
    yield _line(frame, places, one.truth, "tolerated", 2.2)
    for index, month in enumerate(one.months):
        if index % _EVERY == 0:
            yield frame.below(month, float(places[index]))


def _extent(one: Monthly, low: Floats, high: Floats) -> Extent:
    every = np.concatenate((one.truth, low, high, one.values[0]))
    ends = every[np.isfinite(every)]
    return Extent(min(0.0, float(ends.min())), float(ends.max()) or 1.0)


def _band(frame: Frame, places: Floats, low: Floats, high: Floats) -> Element:
    around = (*_points(frame, places, high), *reversed(_points(frame, places, low)))
    return painted("polygon", "band", points=" ".join(around), opacity=0.18)


def _line(frame: Frame, places: Floats, values: Floats, paint: str, width: float) -> Element:
    points = " ".join(_points(frame, places, values))
    return painted("polyline", paint, points=points, fill="none", stroke_width=width)


def _points(frame: Frame, places: Floats, values: Floats) -> list[str]:
    """Months without a value are left out."""
    at = frame.axis.at
    pairs = zip(places, values, strict=True)
    return [f"{x:.1f},{at(value):.1f}" for x, value in pairs if np.isfinite(value)]
