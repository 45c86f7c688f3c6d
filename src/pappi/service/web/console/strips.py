"""A log's blocks as a strip of columns, small enough for a card: spent beneath, left above.

Three paths whatever the number of blocks, and no numbers: those stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element, el
from pappi.report.gauge import budget_text
from pappi.report.palette import painted

_HEIGHT = 44
_SLOT = 10
_GAP = 2
# Few blocks keep the width of a column instead of growing into slabs.
_LEAST = 12


def strip(lines: Sequence[BudgetLine]) -> Element:
    spent = [line.share for line in lines]
    used = [_used(line) for line in lines]
    return el(
        "svg",
        painted("path", "unspent", d=_columns(1.0 for _ in lines)),
        painted("path", "band", d=_columns(used), fill_opacity=0.45),
        painted("path", "spent", d=_columns(spent)),
        class_="strip",
        viewBox=f"0 0 {_SLOT * max(len(lines), _LEAST)} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=budget_text(lines),
    )


def _used(line: BudgetLine) -> float:
    """Spent and held, as a share of the limit."""
    whole = line.spent.nano + line.held.nano
    return min(whole / line.limit.nano, 1.0) if line.limit.nano else 1.0


def _columns(shares: Iterable[float]) -> str:
    parts = []
    for number, share in enumerate(shares):
        high = round(_HEIGHT * share, 1)
        if high:
            left = number * _SLOT + _GAP / 2
            parts.append(f"M{left:g} {_HEIGHT}v-{high:g}h{_SLOT - _GAP}v{high:g}z")
    return "".join(parts)
