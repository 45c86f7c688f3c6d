"""A panel without a value axis: verdicts alone, one lane for each kind, over the periods.

Where only verdicts are released there are no values, and a height would say something
that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pappi.report.elements import Element, el
from pappi.report.marks import cross, shape
from pappi.report.numbers import finite
from pappi.report.palette import painted
from pappi.report.panels import NO_VALUE
from pappi.report.periods import PeriodAxis
from pappi.report.verdicts import legend, mark_of
from pappi.report.wording import answer_text
from pappi.values.answers import Answer

LANE = 25.0


def without_values(answers: Sequence[Answer]) -> bool:
    return bool(answers) and all(finite(answer.best.value) is None for answer in answers)


def lane_names(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Best first; the same in every panel of a chart."""
    rest = [NO_VALUE] if any(mark_of(answer) is None for answer in answers) else []
    return tuple(map(str, (*legend(answers), *rest)))


@dataclass(frozen=True, slots=True)
class Lanes:
    """What to draw and where, lane by lane from the top."""

    answers: tuple[Answer, ...]
    names: tuple[str, ...]
    x: PeriodAxis
    top: float

    def elements(self) -> Iterator[Element]:
        for name in self.names:
            y = self._at(name)
            yield painted("line", "grid", x1=self.x.left, x2=self.x.right, y1=y, y2=y)
            yield painted(
                "text", "label", name, x=self.x.left - 8, y=y + 4,
                font_size=11.5, text_anchor="end",
            )  # fmt: skip
        yield from map(self._mark, self.answers)

    def _mark(self, answer: Answer) -> Element:
        size = min(max(self.x.slot / 3.6, 3.2), 5.5)
        mark, x = mark_of(answer), self.x.at(answer.period)
        y = self._at(NO_VALUE if mark is None else mark)
        drawn = cross(x, y, size) if mark is None else shape(mark, x, y, size)
        return el("g", el("title", answer_text(answer)), drawn)

    def _at(self, name: str) -> float:
        return self.top + LANE * (self.names.index(name) + 0.5)
