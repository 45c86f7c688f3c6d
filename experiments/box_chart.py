"""Box plots of one controlled experiment: a panel per function and distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from experiments.boxes import CODE, OURS, Box
from experiments.drawing import Frame, figure, grid_of
from pappi.report import Element, painted
from pappi.report.drawing import Extent

COLUMNS = 2
_WIDEST = 26.0
_PAINTS = {"laplace": "undecided", "interval": "unspent", "threshold": "unspent"}
_SAMPLED = "sample-and-aggregate"


def box_chart(experiment: str, boxes: Sequence[Box], verdict: Callable[[Box], str]) -> Element:
    """The authors' code beside ours; where there is none, the text.

    `verdict` says whether a mechanism's guarantee holds.
    """
    theirs = CODE if any(box.by == CODE for box in boxes) else boxes[0].by
    shown = [box for box in boxes if box.by in (theirs, OURS)]
    panels = list(dict.fromkeys(box.panel for box in shown))
    places = grid_of(len(panels), COLUMNS)
    drawn = [
        element
        for panel, (x, y) in zip(panels, places, strict=True)
        for element in _panel(panel, [box for box in shown if box.panel == panel], x, y)
    ]
    names = dict.fromkeys((_paint(box), _name(box), verdict(box)) for box in shown)
    about = (
        "Boxes from quartile to quartile with the median; whiskers to the last value within one "
        "and a half boxes; values beyond are left out. The line across a group is the truth."
    )
    return figure(experiment, about, len(panels), COLUMNS, drawn, list(_merged(names)))


def _name(box: Box) -> str:
    """Ours go by one name: which mechanism it is depends on the function."""
    if box.by == OURS and box.mechanism != _SAMPLED:
        return OURS
    return f"{box.mechanism}, {box.by}"


def _merged(names: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """One entry per paint."""
    by_paint: dict[str, tuple[list[str], list[str]]] = {}
    for paint, name, verdict in names:
        texts, verdicts = by_paint.setdefault(paint, ([], []))
        texts.append(name)
        verdicts.append(verdict)
    for paint, (texts, verdicts) in by_paint.items():
        told = " / ".join(dict.fromkeys(texts)), " / ".join(dict.fromkeys(verdicts))
        yield paint, "{} ({})".format(*told)


def _paint(box: Box) -> str:
    if box.by == OURS:
        return "function" if box.mechanism == _SAMPLED else "noisy"
    return _PAINTS.get(box.mechanism, "unspent")


def _panel(title: str, boxes: Sequence[Box], x: float, y: float) -> Iterator[Element]:
    frame = Frame(x, y, title, _extent(boxes))
    yield from frame.elements()
    groups = list(dict.fromkeys(box.group for box in boxes))
    room = (frame.right - frame.left) / len(groups)
    for index, group in enumerate(groups):
        left = frame.left + index * room
        yield from _group([box for box in boxes if box.group == group], frame, left, room)
        yield frame.below(group, left + room / 2)


def _extent(boxes: Sequence[Box]) -> Extent:
    ends = [end for box in boxes for end in (*box.whiskers, box.truth)]
    low, high = min(ends), max(ends)
    return Extent(low, high) if high > low else Extent(low - 1, high + 1)


def _group(boxes: Sequence[Box], frame: Frame, left: float, room: float) -> Iterator[Element]:
    share = room * 0.86 / len(boxes)
    width = min(share * 0.8, _WIDEST)
    for index, box in enumerate(boxes):
        middle = left + room * 0.07 + (index + 0.5) * share
        yield from _box(box, frame, middle, width)
    truth = frame.axis.at(boxes[0].truth)
    yield painted(
        "line", "target", x1=left + 3, x2=left + room - 3, y1=truth, y2=truth,
        stroke_width=1.4, stroke_dasharray="5 3",
    )  # fmt: skip


def _box(box: Box, frame: Frame, middle: float, width: float) -> Iterator[Element]:
    at, (low, high), (q25, median, q75) = frame.axis.at, box.whiskers, box.quartiles
    yield painted("line", "axis", x1=middle, x2=middle, y1=at(low), y2=at(high), stroke_width=1.2)
    for end in (low, high):
        yield painted(
            "line", "axis", x1=middle - width / 4, x2=middle + width / 4, y1=at(end), y2=at(end)
        )
    yield painted(
        "rect", _paint(box), x=middle - width / 2, y=at(q75), width=width,
        height=max(at(q25) - at(q75), 1.0), stroke_width=1,
    )  # fmt: skip
    yield painted(
        "line", "line" if _paint(box) != "noisy" else "grid", x1=middle - width / 2,
        x2=middle + width / 2, y1=at(median), y2=at(median), stroke_width=2,
    )  # fmt: skip
