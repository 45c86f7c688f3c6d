"""Answers and budgets in a terminal, readable at 80 columns.

Returns renderables for `rich`, which is imported only when a table is wanted;
without a terminal it prints plain text. Text from outside is never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pappi.report.budgets import BudgetLine
from pappi.report.numbers import MISSING, format_cases, interval_text, value_text
from pappi.report.plain import plain
from pappi.report.verdicts import COLOURS, judged_text, mark_of, target_lines
from pappi.report.wording import guarantee_line
from pappi.values.answers import Answer, Series
from pappi.values.epsilon import ZERO

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

# An open circle is told from a diamond by its shape; a terminal has no amber of its own.
_COLOURS = {"met": "green", "missed": "bold red", "undecided": "", "amber": "bold yellow"}
_MANY = 30
_REPLAYED = "↺"
_BAR = 20


def answers_table(series: Series) -> Table:
    """One row per answer; compact where there are many."""
    from rich.text import Text

    grouped = any(answer.group is not None for answer in series.answers)
    table = _framed(plain(series.title), _caption(series), rows=len(series.answers))
    table.add_column("Period", no_wrap=True)
    if grouped:
        table.add_column("Group", overflow="ellipsis", max_width=16)
    table.add_column("Value", justify="right", no_wrap=True, max_width=16)
    table.add_column("Interval", max_width=28)
    table.add_column("Cases", justify="right", no_wrap=True)
    table.add_column("Verdict", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    for answer in sorted(series.answers, key=lambda answer: (answer.group or "", answer.period)):
        cells = _cells(answer, grouped=grouped)
        verdict = Text(judged_text(answer), _colour(answer))
        table.add_row(*(Text(cell) for cell in cells[:-1]), verdict, Text(cells[-1]))
    return table


def budget_table(lines: Sequence[BudgetLine]) -> Table:
    """What is spent, held for standing questions and left in each block."""
    from rich.text import Text

    held = any(line.held > ZERO for line in lines)
    frozen = any(line.frozen for line in lines)
    remarks = ["▒ held for standing questions"] if held else []
    remarks += ["✻ frozen: a part of the ledger was lost"] if frozen else []
    table = _framed("Privacy budget", "; ".join(remarks), len(lines))
    table.add_column("Block", overflow="ellipsis", no_wrap=True, max_width=24)
    table.add_column("", no_wrap=True, min_width=_BAR)
    for header in ("Spent ε", *(("Held ε",) if held else ()), "Left ε", "Limit ε"):
        table.add_column(header, justify="right", no_wrap=True)
    for line in lines:
        numbers = (line.spent, *((line.held,) if held else ()), line.left, line.limit)
        cells = (Text(str(number)) for number in numbers)
        name = f"{plain(line.block)} ✻" if line.frozen else plain(line.block)
        table.add_row(Text(name), _bar(line), *cells)
    return table


def _bar(line: BudgetLine) -> Text:
    from rich.text import Text

    whole = max(line.limit.nano, 1)
    spent = round(_BAR * line.share)
    held = min(round(_BAR * line.held.nano / whole), _BAR - spent)
    bar = Text("█" * spent, style="cyan").append("▒" * held, style="cyan")
    return bar.append("░" * (_BAR - spent - held), style="dim")


def _framed(title: str, caption: str, rows: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption, style="dim") if caption else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD if rows > _MANY else box.ROUNDED,
        pad_edge=rows <= _MANY,
        header_style="bold",
    )


def _cells(answer: Answer, *, grouped: bool) -> list[str]:
    """All cells of a row but the verdict, which has a colour."""
    epsilon = str(answer.guarantee.epsilon)
    cells = [
        answer.period.label,
        *([answer.group or MISSING] if grouped else []),
        value_text(answer),
        interval_text(answer).splitlines()[0],  # the released one is on the page and in the CSV
        format_cases(answer),
        f"{epsilon} {_REPLAYED}" if answer.replayed else epsilon,
    ]
    return [plain(cell) for cell in cells]


def _caption(series: Series) -> str:
    lines = [plain(line) for line in (series.warning, *target_lines(series)) if line]
    if series.clipping:
        lines.append(plain(series.clipping))
    if series.caution:
        lines.append(plain(series.caution))
    if series.smoothing:
        lines.append(series.smoothing)
    lines.append(plain(guarantee_line(series.answers)))
    if any(answer.replayed for answer in series.answers):
        lines.append(f"{_REPLAYED} from the record: nothing charged")
    return "\n".join(lines)


def _colour(answer: Answer) -> str:
    mark = mark_of(answer)
    return "" if mark is None else _COLOURS[COLOURS[mark]]
