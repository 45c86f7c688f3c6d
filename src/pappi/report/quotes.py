"""Previews, shown: the price and the expected error of each PPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pappi.report.numbers import three_digits, with_unit
from pappi.report.plain import plain
from pappi.values.quotes import Quote, QuotedSet

if TYPE_CHECKING:
    from rich.table import Table


def quotes_table(quotes: Sequence[Quote]) -> Table:
    """One line a PPI, for the terminal."""
    from rich import box
    from rich.table import Table

    cases = max(quote.assumed_cases for quote in quotes)
    note = f"Typical error: of the noise, if {cases} cases fall into a period. {_cut_off(quotes)}"
    table = Table(box=box.ROUNDED, caption=note, caption_justify="left")
    for heading in ("PPI", "noise in", "mechanism"):
        table.add_column(heading)
    for heading in ("ε", "typical error", "new charges"):
        table.add_column(heading, justify="right")
    for quote in quotes:
        row = (quote.ppi, _noise_in(quote), quote.mechanism, str(quote.epsilon))
        table.add_row(*map(plain, row), _error(quote), _payments(quote))
    return table


def _cut_off(quotes: Sequence[Quote]) -> str:
    """Of the error that bounds make, public facts tell only where there is none."""
    whole = [quote.ppi for quote in quotes if quote.clipping == "none"]
    if len(whole) == len(quotes):
        return "No value can lie beyond its bounds."
    but = f", but for {plain(', '.join(whole))}" if whole else ""
    return f"What bounds cut off comes on top{but}."


def options_table(quote: Quote) -> Table:
    """Every way to release one PPI, best first, and what cannot be done with its reason."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.ROUNDED, title=plain(quote.ppi), title_justify="left")
    for heading in ("noise in", "mechanism", "share of ε", "typical error", ""):
        table.add_column(heading)
    for option in quote.options:
        error = option.typical_error
        table.add_row(
            plain(_functions_text(option.functions)),
            plain(option.mechanism or "–"),
            " + ".join(f"{100 * share:.0f} %" for share in option.shares) or "–",
            "–" if error is None else "± " + with_unit(three_digits(error), quote.unit),
            "chosen" if option.chosen else plain(option.reason),
        )
    return table


def advice_lines(quotes: Sequence[Quote]) -> list[str]:
    """What to ask instead, PPI by PPI."""
    return [plain(f"{quote.ppi}: {quote.advice}") for quote in quotes if quote.advice]


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
        "shares": list(quote.shares),
        "clipping": quote.clipping,
        "advice": quote.advice,
        "options": [_option_record(option) for option in quote.options],
    }


def _option_record(option: QuotedSet) -> dict[str, Any]:
    return {
        "functions": list(option.functions),
        "mechanism": option.mechanism,
        "typical_error": option.typical_error,
        "shares": list(option.shares),
        "chosen": option.chosen,
        "reason": option.reason,
    }


def _noise_in(quote: Quote) -> str:
    """The functions that carry the noise, with their shares where there are several."""
    if len(quote.functions) == 1:
        return _functions_text(quote.functions)
    shares = (f"{100 * share:.0f} %" for share in quote.shares)
    names = (_functions_text((path,)) for path in quote.functions)
    return " + ".join(f"{name} ({share})" for name, share in zip(names, shares, strict=True))


def _functions_text(functions: Sequence[str]) -> str:
    return " + ".join(path.removeprefix("ppi").removeprefix(".") or "value" for path in functions)


def _error(quote: Quote) -> str:
    if quote.typical_error is None:
        return "not known"
    return "± " + with_unit(three_digits(quote.typical_error), quote.unit)


def _payments(quote: Quote) -> str:
    """What is not on record yet is charged, each to its own blocks."""
    if not quote.new_charges:
        return "replay"
    return f"{quote.new_charges} × {quote.epsilon}"
