"""The shapes that verdicts and bands have in charts, told apart without colour as well."""

from __future__ import annotations

from collections.abc import Sequence

from pappi.report.elements import Element
from pappi.report.palette import painted
from pappi.report.verdicts import Mark

Point = tuple[float, float]


def shape(mark: Mark | None, x: float, y: float, size: float) -> Element:
    match mark:
        case Mark.MET | Mark.GREEN:
            return painted("circle", "met", cx=x, cy=y, r=size, stroke_width=1.2)
        case Mark.MISSED | Mark.RED:
            return painted("polygon", "missed", points=_triangle(x, y, size), stroke_width=1.2)
        case Mark.AMBER_OR_RED:
            corners = _triangle(x, y, size - 0.4)
            return painted("polygon", "amber-or-red", points=corners, stroke_width=1.6)
        case Mark.AMBER:
            wide = size * 1.2
            corners = points([(x - wide, y), (x, y - wide), (x + wide, y), (x, y + wide)])
            return painted("polygon", "amber", points=corners, stroke_width=1.2)
        case Mark.UNDECIDED:
            return painted("circle", "undecided", cx=x, cy=y, r=size - 0.4, stroke_width=1.8)
        case None:
            return painted("circle", "plain", cx=x, cy=y, r=size * 0.75, stroke_width=1)


def cross(x: float, y: float, size: float) -> Element:
    """The mark of a period whose formula has no value."""
    d = f"M{x - size:.1f} {y - size:.1f}l{2 * size:.1f} {2 * size:.1f}m0 {-2 * size:.1f}"
    return painted("path", "axis", d=f"{d}l{-2 * size:.1f} {2 * size:.1f}", stroke_width=1.5)


def raw_mark(x: float, y: float) -> Element:
    """A released value that is not the one to read: small and grey."""
    return painted("circle", "raw", cx=x, cy=y, r=2.2, fill_opacity=0.8)


def points(corners: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _triangle(x: float, y: float, size: float) -> str:
    wide = size * 1.25
    return points([(x - wide, y - size), (x + wide, y - size), (x, y + wide)])
