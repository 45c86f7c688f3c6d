"""What `pappi preview` shows and writes: prices, margins, trees, and how long the budget lasts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import console
from pappi.errors import InputError

if TYPE_CHECKING:
    from pappi.budget.forecast import Forecast
    from pappi.ppinot.model import Ppi
    from pappi.report.budgets import BudgetLine
    from pappi.values.quotes import Quote


def show_preview(
    quotes: Sequence[Quote],
    lines: Sequence[BudgetLine],
    foreseen: Forecast | None,
    *,
    margins: bool,
    options: bool,
) -> None:
    """Prices and margins, what to ask instead, and how long the budget lasts."""
    from pappi.report.forecasts import forecast_lines
    from pappi.report.quotes import advice_lines, options_table, quantiles_table, quotes_table

    out = console()
    out.print(quotes_table(quotes))
    if margins:
        out.print(quantiles_table(quotes))
    for quote in quotes if options else ():
        out.print(options_table(quote))
    for line in advice_lines(quotes):
        click.echo(line)
    show_left(lines)
    for line in forecast_lines(foreseen) if foreseen else ():
        click.echo(line)


def write_preview_charts(
    previewed: Iterable[tuple[Ppi, Quote]], lines: Sequence[BudgetLine], directory: Path
) -> None:
    """The expected error and the tree of each PPI, and the budget of the log."""
    from pappi.report.error_chart import error_figure
    from pappi.report.figures import standalone
    from pappi.report.gauge import budget_gauge
    from pappi.report.tree_chart import composition_figure

    make_folder(directory)
    for ppi, quote in previewed:
        write_svg(directory / f"{ppi.id}-error.svg", standalone(error_figure(quote)))
        write_svg(directory / f"{ppi.id}-tree.svg", standalone(composition_figure(ppi, quote)))
    write_svg(directory / "budget.svg", standalone(budget_gauge(lines)))


def write_preview(
    log: str,
    previewed: Sequence[tuple[Ppi, Quote]],
    lines: Sequence[BudgetLine],
    foreseen: Forecast | None,
    path: Path,
) -> None:
    from pappi.report.previews import preview_html

    make_folder(path.parent)
    page = preview_html(f"Preview: {log}", previewed, lines, foreseen, now())
    write_private(path, page)
    click.echo(f"Page: {path}", err=True)


def show_left(lines: Sequence[BudgetLine]) -> None:
    """What the tightest block has left."""
    tightest = min(lines, key=lambda line: line.left)
    click.echo(
        f"Budget left: ε {tightest.left} of {tightest.limit} in {tightest.block}, the tightest of "
        f"{len(lines)} blocks."
    )


def make_folder(folder: Path | None) -> None:
    """Where files will go, made before anything is charged."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} cannot be written to: {problem.strerror}") from None


def write_private(path: Path, text: str) -> None:
    """For its owner alone, whatever the umask: what was released is the organisation's."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        path.chmod(0o600)
        file.write(text)


def write_svg(path: Path, svg: str) -> None:
    write_private(path, svg)
    click.echo(f"Chart: {path}", err=True)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
