"""The key beneath a chart: what its marks and patterns mean, and only those that occur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pappi.report.elements import Element, el
from pappi.report.marks import cross, raw_mark, shape
from pappi.report.numbers import finite
from pappi.report.palette import painted
from pappi.report.verdicts import mark_of, tally
from pappi.report.wording import confidence_text
from pappi.values.answers import Answer, Band, Series

KEY_ROW = 22.0
_LETTER = 6.1
_GAP = 34.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A drawing around the origin, and its words."""

    drawing: Element
    words: str

    @property
    def width(self) -> float:
        return _GAP + _LETTER * len(self.words)


def key_entries(series: Series, patterns: Mapping[Band, str], *, cut_off: bool) -> Iterator[Entry]:
    for mark in tally(series.answers):
        yield Entry(shape(mark, 0, 0, 4.8), str(mark))
    if any(answer.smoothed for answer in series.answers):
        yield Entry(raw_mark(0, 0), "raw value; all else is smoothed")
    swatch = painted("rect", "band", x=-6, y=-6, width=13, height=12, fill_opacity=0.25)
    yield Entry(swatch, f"{confidence_text(series.answers)} interval{_of_all(series)}")
    yield from _pattern_entries(series, patterns)
    if cut_off:
        arrow = painted("polygon", "arrow", points="-4,3 4,3 0,-4")
        yield Entry(arrow, "goes on beyond the chart")
    if any(_is_without_anything(answer) for answer in series.answers):
        yield Entry(cross(0, 0, 4), "no value")


def _of_all(series: Series) -> str:
    return ", for all together" if any(answer.smoothed for answer in series.answers) else ""


def _pattern_entries(series: Series, patterns: Mapping[Band, str]) -> Iterator[Entry]:
    words = {Band.RED: "outside the target"} if series.targets else {}
    if any(target.tolerated for target in series.targets):
        words = {Band.AMBER: "tolerated", Band.RED: "not tolerated"}
    for band, text in words.items():
        fill, outline = f"url(#{patterns[band]})", "M-6 -6h13v12h-13z"
        swatch = el("rect", x=-6, y=-6, width=13, height=12, fill=fill)
        yield Entry(el("g", swatch, painted("path", "limit", d=outline, fill="none")), text)


def _is_without_anything(answer: Answer) -> bool:
    return finite(answer.best.value) is None and mark_of(answer) is None


def rows_of(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    """As many entries to a row as fit."""
    rows: list[list[Entry]] = []
    room = 0.0
    for entry in entries:
        if not rows or entry.width > room:
            rows.append([])
            room = width
        rows[-1].append(entry)
        room -= entry.width
    return rows


def drawn_key(rows: Sequence[Sequence[Entry]], left: float, top: float) -> Iterator[Element]:
    for number, row in enumerate(rows):
        x, y = left, top + KEY_ROW * number
        for entry in row:
            yield el("g", entry.drawing, transform=f"translate({x:.1f} {y:.1f})")
            yield painted("text", "label", entry.words, x=x + 12, y=y + 4, font_size=11.5)
            x += entry.width
