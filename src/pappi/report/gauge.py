"""The budget of a log, block by block: what is spent, what is held, what is left.

Few blocks are rows with their numbers, many are columns on an axis; if there are more blocks than
columns fit, each column is the tightest of several. Spent is solid, held is striped, left is
pale, so they differ in grey as well. A small wedge marks the limit of the analyst's own share,
if the owner granted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from pappi.report.drawing import (
    KEY_ROW,
    LETTER,
    Axis,
    Extent,
    KeyEntry,
    drawn_key,
    figure,
    identity,
    key_rows,
    value_axis,
    words,
)
from pappi.report.markup import Element, bdi, el, painted, table
from pappi.report.numbers import MISSING, shortened
from pappi.values import ZERO, BudgetLine, Epsilon

WIDTH = 760
_MARGIN = 14.0
_MOST_ROWS = 14
_ROW, _BAR = 27.0, 15.0
_NAME_LETTERS, _NUMBER_LETTERS = 22, 40
_COLUMNS_HEIGHT = 170.0
_MOST_COLUMNS = 220
_MOST_WEDGES = 70
_NAMES = 24.0


def budget_gauge(lines: Sequence[BudgetLine]) -> Element:
    """The drawing, bare; `drawing.standalone` makes a file of it."""
    ids = identity("gauge", tuple(lines))
    chart: _Rows | _Columns = (
        _Rows(lines, ids) if len(lines) <= _MOST_ROWS else _Columns(_gathered(lines), ids)
    )
    stripes = el(
        "pattern", painted("line", "stripe", y2=6, stroke_width=3.2), id=f"{ids}-held", width=6,
        height=6, patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
    )  # fmt: skip
    key = key_rows(list(_key(lines, chart.together, ids)), WIDTH - 2 * _MARGIN)
    body = [
        el("defs", stripes),
        *chart.elements(),
        *drawn_key(key, _MARGIN + 6, chart.bottom + 16),
    ]
    height = chart.bottom + KEY_ROW * len(key) + 12
    return figure("Privacy budget", budget_text(lines), body, WIDTH, height, ids)


def gauge_table(lines: Sequence[BudgetLine]) -> Element:
    """The numbers of the gauge."""
    shares = any(line.own_limit is not None for line in lines)
    headers = ("Block", "Spent", "Held", "Left", "Limit", *(("Your share", "Yours used") * shares))
    rows = []
    for line in lines:
        amounts = (line.spent, line.held, line.left, line.limit)
        share = MISSING if line.own_limit is None else str(line.own_limit)
        yours = (share, str(line.own_used)) if shares else ()
        rows.append((bdi(line.block), *map(str, amounts), *yours))
    numbers = dict.fromkeys(range(1, len(headers)), "number")
    return table("ε in each block", headers, rows, numbers)


def budget_text(lines: Sequence[BudgetLine]) -> str:
    """What the gauge shows, in a sentence."""
    if not lines:
        return "There are no blocks."
    tightest = min(lines, key=lambda line: line.left)
    blocks = "1 block" if len(lines) == 1 else f"{len(lines)} blocks"
    return (
        f"{blocks}; the tightest is {tightest.block}: ε {tightest.left} of {tightest.limit} left, "
        f"{tightest.spent} spent and {tightest.held} held for subscriptions."
    )


def _line_text(line: BudgetLine) -> str:
    held = f", {line.held} held" if line.held > ZERO else ""
    frozen = ", frozen because part of the ledger was lost" if line.frozen else ""
    return f"{line.block}: ε {line.spent} spent{held}, {line.left} left of {line.limit}{frozen}"


# --- shared by rows and columns -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parts:
    """Where the parts of a budget end, as shares of the largest limit."""

    spent: float
    held: float
    limit: float
    own: float | None

    @classmethod
    def of(cls, line: BudgetLine, most: Epsilon) -> _Parts:
        """A limit that was lowered below what is spent counts as full."""
        whole = max(most.nano, 1)
        spent = min(line.spent.nano, line.limit.nano)
        held = min(line.spent.nano + line.held.nano, line.limit.nano)
        own = None if line.own_limit is None else (held + line.left.nano) / whole
        return cls(spent / whole, held / whole, line.limit.nano / whole, own)


def _most(lines: Sequence[BudgetLine]) -> Epsilon:
    return max((line.limit for line in lines), default=ZERO)


def _key(lines: Sequence[BudgetLine], together: int, ids: str) -> Iterator[KeyEntry]:
    box = {"x": -6, "y": -6, "width": 13, "height": 12}
    yield KeyEntry(painted("rect", "spent", **box), "spent")
    if any(line.held > ZERO for line in lines):
        held = el("rect", fill=f"url(#{ids}-held)", **box)
        yield KeyEntry(el("g", painted("rect", "held", **box), held), "held for subscriptions")
    left = painted("rect", "unspent", **box)
    yield KeyEntry(
        el("g", left, painted("path", "limit", d="M-6 -6h13v12h-13z", fill="none")), "left"
    )
    if any(line.own_limit is not None for line in lines):
        yield KeyEntry(_own_mark(-6, 6, 0, len(lines)), "limit of your share")
    if together > 1:
        yield KeyEntry(el("g"), f"each column is the tightest of {together} blocks")


def _wedge(x: float, y: float) -> Element:
    points = f"{x - 5:.1f},{y - 9:.1f} {x + 5:.1f},{y - 9:.1f} {x:.1f},{y:.1f}"
    return painted("polygon", "own", points=points, stroke_width=1)


def _own_mark(start: float, end: float, y: float, blocks: int) -> Element:
    """A wedge where there is room for one."""
    if blocks <= _MOST_WEDGES:
        return _wedge((start + end) / 2, y + 4)
    return painted("line", "target", x1=start, x2=end, y1=y, y2=y, stroke_width=2)


# --- few blocks: rows -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    lines: Sequence[BudgetLine]
    ids: str
    together: int = 1

    @property
    def bottom(self) -> float:
        return _MARGIN + _ROW * max(len(self.lines), 1)

    def elements(self) -> Iterator[Element]:
        if not self.lines:
            yield words("label", "no blocks", _MARGIN, _MARGIN + 14)
        for number, line in enumerate(self.lines):
            yield el("g", el("title", _line_text(line)), *self._row(line, _MARGIN + _ROW * number))

    def _row(self, line: BudgetLine, top: float) -> Iterator[Element]:
        left, width = self._bar
        parts, text = _Parts.of(line, _most(self.lines)), top + _BAR - 3
        yield words("heading", shortened(line.block, _NAME_LETTERS), left - 8, text, anchor="end")
        where = {"y": top, "height": _BAR}
        yield painted("rect", "unspent", x=left, width=width * parts.limit, **where)
        yield painted("rect", "spent", x=left, width=width * parts.spent, **where)
        x, held = left + width * parts.spent, width * (parts.held - parts.spent)
        if held > 0:
            yield painted("rect", "held", x=x, width=held, **where)
            yield el("rect", x=x, width=held, fill=f"url(#{self.ids}-held)", **where)
        frame = f"M{left:.1f} {top:.1f}h{width * parts.limit:.1f}v{_BAR:g}H{left:.1f}z"
        yield painted("path", "limit", d=frame, fill="none")
        if parts.own is not None:
            yield _wedge(left + width * parts.own, top + 6)
        numbers = shortened(self._numbers(line), _NUMBER_LETTERS)
        yield words("label", numbers, left + width + 10, text)

    def _numbers(self, line: BudgetLine) -> str:
        held = f" · {line.held} held" if line.held > ZERO else ""
        left = "frozen" if line.frozen else f"{line.left} left"
        return f"{line.spent} spent{held} · {left}"

    @property
    def _bar(self) -> tuple[float, float]:
        """Between the longest name and the longest numbers."""
        name = max((len(line.block) for line in self.lines), default=0)
        numbers = max((len(self._numbers(line)) for line in self.lines), default=0)
        left = _MARGIN + LETTER * min(name, _NAME_LETTERS) + 12
        return left, WIDTH - _MARGIN - LETTER * min(numbers, _NUMBER_LETTERS) - 14 - left


# --- many blocks: columns -------------------------------------------------------------


def _gathered(lines: Sequence[BudgetLine]) -> tuple[Sequence[BudgetLine], int]:
    """As many columns as can be told apart, each the tightest of some consecutive blocks."""
    together = ceil(len(lines) / _MOST_COLUMNS)
    groups = (lines[start : start + together] for start in range(0, len(lines), together))
    return [min(group, key=lambda line: line.left) for group in groups], together


class _Columns:
    def __init__(self, gathered: tuple[Sequence[BudgetLine], int], ids: str) -> None:
        self.lines, self.together = gathered
        self.ids = ids
        self.bottom = _MARGIN + _COLUMNS_HEIGHT + _NAMES

    def elements(self) -> Iterator[Element]:
        axis = self._axis
        for tick in axis.ticks:
            y = axis.at(tick)
            yield painted("line", "grid", x1=self._left, x2=WIDTH - _MARGIN, y1=y, y2=y)
            sign = "ε " if tick == axis.ticks[-1] else ""
            yield words("label", sign + axis.label(tick), self._left - 8, y + 4, anchor="end")
        for number, line in enumerate(self.lines):
            yield el("g", el("title", _line_text(line)), *self._column(number, line))
        yield from self._names()

    def _column(self, number: int, line: BudgetLine) -> Iterator[Element]:
        parts, bottom = _Parts.of(line, _most(self.lines)), _MARGIN + _COLUMNS_HEIGHT
        most = float(_most(self.lines))
        gap = 0.0 if self._slot < 4 else min(self._slot / 6, 3.0)
        where = {"x": self._left + self._slot * number + gap / 2, "width": self._slot - gap}

        def height(share: float) -> float:
            return bottom - self._axis.at(most * share)

        top, spent, held = (height(s) for s in (parts.limit, parts.spent, parts.held))
        yield painted("rect", "unspent", y=bottom - top, height=top, **where)
        yield painted("rect", "spent", y=bottom - spent, height=spent, **where)
        if held > spent:
            place = {"y": bottom - held, "height": held - spent, **where}
            yield painted("rect", "held", stroke_width=0, **place)
            yield el("rect", fill=f"url(#{self.ids}-held)", **place)
        edge = where["x"] + where["width"]
        yield painted("line", "limit", x1=where["x"], x2=edge, y1=bottom - top, y2=bottom - top)
        if parts.own is not None:
            yield _own_mark(where["x"], edge, bottom - height(parts.own), len(self.lines))

    def _names(self) -> Iterator[Element]:
        widest = max(len(line.block) for line in self.lines)
        every = max(ceil((LETTER * min(widest, _NAME_LETTERS) + 12) / self._slot), 1)
        for number in range(0, len(self.lines), every):
            x = self._left + self._slot * (number + 0.5)
            name = shortened(self.lines[number].block, _NAME_LETTERS)
            half = LETTER * len(name) / 2
            x = min(max(x, half + 4), WIDTH - _MARGIN - half)
            yield words("label", name, x, self.bottom - 6, anchor="middle")

    @property
    def _slot(self) -> float:
        return (WIDTH - _MARGIN - self._left) / len(self.lines)

    @property
    def _left(self) -> float:
        return _MARGIN + 14 + LETTER * max(map(len, map(self._axis.label, self._axis.ticks)))

    @property
    def _axis(self) -> Axis:
        most = float(_most(self.lines)) or 1.0
        return value_axis(Extent(0.0, most), "", _MARGIN + _COLUMNS_HEIGHT, _MARGIN)


# --- a log at a glance ------------------------------------------------------------------------

_STRIP_HEIGHT = 44
_STRIP_SLOT = 10
_STRIP_GAP = 2
# With few blocks, columns keep their width instead of growing into slabs.
_STRIP_LEAST = 12


def budget_strip(lines: Sequence[BudgetLine]) -> Element:
    """A column for each block, from below: what is spent, what is held, and what is left."""
    return el(
        "svg",
        painted("path", "unspent", d=_strip_columns(1.0 for _ in lines)),
        painted("path", "band", d=_strip_columns(map(_strip_used, lines)), fill_opacity=0.45),
        painted("path", "spent", d=_strip_columns(line.share for line in lines)),
        class_="strip",
        viewBox=f"0 0 {_STRIP_SLOT * max(len(lines), _STRIP_LEAST)} {_STRIP_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=budget_text(lines),
    )


def _strip_used(line: BudgetLine) -> float:
    """Spent and held, as a share of the limit."""
    used = line.spent.nano + line.held.nano
    return min(used / line.limit.nano, 1.0) if line.limit.nano else 1.0


def _strip_columns(shares: Iterable[float]) -> str:
    parts = []
    for number, share in enumerate(shares):
        high = round(_STRIP_HEIGHT * share, 1)
        if high:
            left, wide = number * _STRIP_SLOT + _STRIP_GAP / 2, _STRIP_SLOT - _STRIP_GAP
            parts.append(f"M{left:g} {_STRIP_HEIGHT}v-{high:g}h{wide}v{high:g}z")
    return "".join(parts)
