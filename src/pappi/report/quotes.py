"""Previews, shown: the price and the expected error of each PPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pappi.report.numbers import with_unit
from pappi.report.plain import plain
from pappi.values.quotes import Quote, QuotedSet

if TYPE_CHECKING:
    from rich.table import Table


def quotes_table(quotes: Sequence[Quote]) -> Table:
    """One line a PPI, for the terminal."""
    from rich import box
    from rich.table import Table

    cases = max(quote.assumed_cases for quote in quotes)
    note = f"Typical error: of the noise, if {cases} cases fall into a period."
    table = Table(box=box.ROUNDED, caption=note, caption_justify="left")
    for heading in ("PPI", "noise in", "mechanism"):
        table.add_column(heading)
    for heading in ("ε", "typical error", "new charges"):
        table.add_column(heading, justify="right")
    for quote in quotes:
        row = (quote.ppi, _noise_in(quote), quote.mechanism, str(quote.epsilon))
        table.add_row(*map(plain, row), _error(quote), _payments(quote))
    return table


def quote_record(quote: Quote) -> dict[str, Any]:
    return {
        "ppi": quote.ppi,
        "epsilon": float(quote.epsilon),
        "functions": list(quote.functions),
        "mechanism": quote.mechanism,
        "typical_error": quote.typical_error,
        "unit": quote.unit,
        "assumed_cases": quote.assumed_cases,
        "charges": quote.charges,
        "new_charges": quote.new_charges,
        "options": [_option_record(option) for option in quote.options],
    }


def _option_record(option: QuotedSet) -> dict[str, Any]:
    return {
        "functions": list(option.functions),
        "mechanism": option.mechanism,
        "typical_error": option.typical_error,
        "reason": option.reason,
    }


def _noise_in(quote: Quote) -> str:
    """The functions that carry the noise; several of them share the epsilon equally."""
    names = [path.removeprefix("ppi").removeprefix(".") for path in quote.functions]
    return " + ".join(names) if len(names) > 1 else "the value"


def _error(quote: Quote) -> str:
    if quote.typical_error is None:
        return "not known"
    return "± " + with_unit(f"{quote.typical_error:.3g}", quote.unit)


def _payments(quote: Quote) -> str:
    """What is not on record yet is charged, each to its own blocks."""
    if not quote.new_charges:
        return "replay"
    return f"{quote.new_charges} × {quote.epsilon}"
