"""The budget of a log, block by block: what is spent, what is held, what is left.

Few blocks are rows with their numbers, many are columns on an axis; if there are more blocks than
columns fit, each column is the tightest of several. Spent is solid, held is striped, left is
pale, so they differ in grey as well. A small wedge marks the limit of the analyst's own share,
if the owner granted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil

from pappi.report.drawing import (
    KEY_BOX,
    KEY_ROW,
    LETTER,
    Extent,
    KeyEntry,
    drawn_key,
    figure,
    identity,
    key_rows,
    outlined,
    pattern,
    points,
    value_axis,
    value_grid,
    words,
)
from pappi.report.markup import Element, bdi, el, painted, table
from pappi.report.numbers import MISSING, shortened
from pappi.report.wording import tightest
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
    together = ceil(len(lines) / _MOST_COLUMNS)
    if len(lines) <= _MOST_ROWS:
        bottom = _MARGIN + _ROW * max(len(lines), 1)
        drawn = _rows(lines, ids)
    else:
        bottom = _MARGIN + _COLUMNS_HEIGHT + _NAMES
        groups = (lines[start : start + together] for start in range(0, len(lines), together))
        drawn = _columns([min(group, key=lambda line: line.left) for group in groups], ids)
    stripe = painted("line", "stripe", y2=6, stroke_width=3.2)
    key = key_rows(list(_key(lines, together, ids)), WIDTH - 2 * _MARGIN)
    body = [
        el("defs", pattern(stripe, f"{ids}-held", 6, "rotate(45)")),
        *drawn,
        *drawn_key(key, _MARGIN + 6, bottom + 16),
    ]
    height = bottom + KEY_ROW * len(key) + 12
    return figure("Privacy budget", budget_text(lines), body, WIDTH, height, ids)


def gauge_table(lines: Sequence[BudgetLine]) -> Element:
    """The numbers of the gauge."""
    shares = any(line.own_limit is not None for line in lines)
    numbers = ("Spent", "Held", "Left", "Limit", *(("Your share", "Yours used") * shares))
    rows = []
    for line in lines:
        amounts = (line.spent, line.held, line.left, line.limit)
        share = MISSING if line.own_limit is None else str(line.own_limit)
        yours = (share, str(line.own_used)) if shares else ()
        rows.append((bdi(line.block), *map(str, amounts), *yours))
    return table("ε in each block", {"Block": "", **dict.fromkeys(numbers, "number")}, rows)


def budget_text(lines: Sequence[BudgetLine]) -> str:
    """What the gauge shows, in a sentence."""
    line = tightest(lines)
    if line is None:
        return "There are no blocks."
    blocks = "1 block" if len(lines) == 1 else f"{len(lines)} blocks"
    return (
        f"{blocks}; the tightest is {line.block}: ε {line.left} of {line.limit} left, "
        f"{line.spent} spent and {line.held} held for subscriptions."
    )


def _line_text(line: BudgetLine) -> str:
    held = f", {line.held} held" if line.held > ZERO else ""
    frozen = ", frozen because part of the ledger was lost" if line.frozen else ""
    return f"{line.block}: ε {line.spent} spent{held}, {line.left} left of {line.limit}{frozen}"


# --- shared by rows and columns -------------------------------------------------------


def _most(lines: Sequence[BudgetLine]) -> Epsilon:
    return max((line.limit for line in lines), default=ZERO)


def _parts(
    line: BudgetLine, most: Epsilon, ids: str, between: Callable[[float, float], dict[str, float]]
) -> Iterator[Element]:
    """Left, spent and held, as rectangles `between` two shares of the largest limit.

    A limit that was lowered below what is spent counts as full.
    """
    whole, limit = max(most.nano, 1), line.limit.nano
    spent = min(line.spent.nano, limit) / whole
    held = min(line.spent.nano + line.held.nano, limit) / whole
    yield painted("rect", "unspent", **between(0.0, limit / whole))
    yield painted("rect", "spent", **between(0.0, spent))
    if held > spent:
        place = between(spent, held)
        yield painted("rect", "held", **place)
        yield el("rect", fill=f"url(#{ids}-held)", **place)


def _own(line: BudgetLine, most: Epsilon) -> float | None:
    """Where the analyst's own share ends, as a share of the largest limit."""
    if line.own_limit is None:
        return None
    used = min(line.spent.nano + line.held.nano, line.limit.nano)
    return (used + line.left.nano) / max(most.nano, 1)


def _key(lines: Sequence[BudgetLine], together: int, ids: str) -> Iterator[KeyEntry]:
    yield KeyEntry(painted("rect", "spent", **KEY_BOX), "spent")
    if any(line.held > ZERO for line in lines):
        held = el("rect", fill=f"url(#{ids}-held)", **KEY_BOX)
        yield KeyEntry(el("g", painted("rect", "held", **KEY_BOX), held), "held for subscriptions")
    yield KeyEntry(outlined(painted("rect", "unspent", **KEY_BOX)), "left")
    if any(line.own_limit is not None for line in lines):
        yield KeyEntry(_own_mark(-6, 6, 0, len(lines)), "limit of your share")
    if together > 1:
        yield KeyEntry(el("g"), f"each column is the tightest of {together} blocks")


def _wedge(x: float, y: float) -> Element:
    corners = points([(x - 5, y - 9), (x + 5, y - 9), (x, y)])
    return painted("polygon", "own", points=corners, stroke_width=1)


def _own_mark(start: float, end: float, y: float, blocks: int) -> Element:
    """A wedge where there is room for one."""
    if blocks <= _MOST_WEDGES:
        return _wedge((start + end) / 2, y + 4)
    return painted("line", "target", x1=start, x2=end, y1=y, y2=y, stroke_width=2)


def _rows(lines: Sequence[BudgetLine], ids: str) -> Iterator[Element]:
    """Few blocks: a bar each, between the longest name and the longest numbers."""
    if not lines:
        yield words("label", "no blocks", _MARGIN, _MARGIN + 14)
        return
    most, longest = _most(lines), max(len(_numbers(line)) for line in lines)
    left = _MARGIN + LETTER * min(max(len(line.block) for line in lines), _NAME_LETTERS) + 12
    width = WIDTH - _MARGIN - LETTER * min(longest, _NUMBER_LETTERS) - 14 - left
    for number, line in enumerate(lines):
        top = _MARGIN + _ROW * number

        def between(start: float, end: float, top: float = top) -> dict[str, float]:
            x = left + width * start
            return {"x": x, "width": width * (end - start), "y": top, "height": _BAR}

        right = left + width * line.limit.nano / max(most.nano, 1)
        frame = f"M{left:.1f} {top:.1f}H{right:.1f}v{_BAR:g}H{left:.1f}z"
        own, base = _own(line, most), top + _BAR - 3
        yield el(
            "g",
            el("title", _line_text(line)),
            words("heading", shortened(line.block, _NAME_LETTERS), left - 8, base, anchor="end"),
            *_parts(line, most, ids, between),
            painted("path", "limit", d=frame, fill="none"),
            None if own is None else _wedge(left + width * own, top + 6),
            words("label", shortened(_numbers(line), _NUMBER_LETTERS), left + width + 10, base),
        )


def _numbers(line: BudgetLine) -> str:
    held = f" · {line.held} held" if line.held > ZERO else ""
    left = "frozen" if line.frozen else f"{line.left} left"
    return f"{line.spent} spent{held} · {left}"


def _columns(lines: Sequence[BudgetLine], ids: str) -> Iterator[Element]:
    """Many blocks: a column each, on an axis."""
    most = _most(lines)
    high, bottom = float(most), _MARGIN + _COLUMNS_HEIGHT
    axis = value_axis(Extent(0.0, high or 1.0), "", bottom, _MARGIN)
    left = _MARGIN + 14 + LETTER * max(map(len, map(axis.label, axis.ticks)))
    slot = (WIDTH - _MARGIN - left) / len(lines)
    gap = 0.0 if slot < 4 else min(slot / 6, 3.0)
    yield from value_grid(axis, left, WIDTH - _MARGIN, "ε {}".format)
    for number, line in enumerate(lines):
        x = left + slot * number + gap / 2

        def between(start: float, end: float, x: float = x) -> dict[str, float]:
            y, foot = axis.at(high * end), axis.at(high * start)
            return {"x": x, "width": slot - gap, "y": y, "height": foot - y, "stroke_width": 0}

        right, limit, own = x + slot - gap, axis.at(float(line.limit)), _own(line, most)
        yield el(
            "g",
            el("title", _line_text(line)),
            *_parts(line, most, ids, between),
            painted("line", "limit", x1=x, x2=right, y1=limit, y2=limit),
            None if own is None else _own_mark(x, right, axis.at(high * own), len(lines)),
        )
    widest = min(max(len(line.block) for line in lines), _NAME_LETTERS)
    for number in range(0, len(lines), max(ceil((LETTER * widest + 12) / slot), 1)):
        name = shortened(lines[number].block, _NAME_LETTERS)
        half = LETTER * len(name) / 2
        x = min(max(left + slot * (number + 0.5), half + 4), WIDTH - _MARGIN - half)
        yield words("label", name, x, bottom + _NAMES - 6, anchor="middle")


# --- a log at a glance ------------------------------------------------------------------------

_STRIP_HEIGHT = 44
_STRIP_SLOT = 10
_STRIP_GAP = 2
# With few blocks, columns keep their width instead of growing into slabs.
_STRIP_LEAST = 12


def budget_strip(lines: Sequence[BudgetLine]) -> Element:
    """A column for each block, from below: what is spent, what is held, and what is left."""
    used = (
        min((line.spent.nano + line.held.nano) / line.limit.nano, 1.0) if line.limit.nano else 1.0
        for line in lines
    )
    return el(
        "svg",
        painted("path", "unspent", d=_strip_columns(1.0 for _ in lines)),
        painted("path", "band", d=_strip_columns(used), fill_opacity=0.45),
        painted("path", "spent", d=_strip_columns(line.share for line in lines)),
        class_="strip",
        viewBox=f"0 0 {_STRIP_SLOT * max(len(lines), _STRIP_LEAST)} {_STRIP_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=budget_text(lines),
    )


def _strip_columns(shares: Iterable[float]) -> str:
    parts = []
    for number, share in enumerate(shares):
        high = round(_STRIP_HEIGHT * share, 1)
        if high:
            left, wide = number * _STRIP_SLOT + _STRIP_GAP / 2, _STRIP_SLOT - _STRIP_GAP
            parts.append(f"M{left:g} {_STRIP_HEIGHT}v-{high:g}h{wide}v{high:g}z")
    return "".join(parts)
