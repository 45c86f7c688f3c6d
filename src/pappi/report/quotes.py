"""Previews, shown: the price and the expected error of each PPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pappi.report.numbers import MISSING, three_digits, with_unit
from pappi.report.plain import plain
from pappi.report.wording import percent
from pappi.tree.composition import function_name
from pappi.values.answers import ShownTarget
from pappi.values.quotes import CONFIDENCES, MARGIN_CONFIDENCE, Quote, QuotedSet

if TYPE_CHECKING:
    from rich.table import Table

_CONFIDENCE = percent(MARGIN_CONFIDENCE)
_STAR = "*"


def quotes_table(quotes: Sequence[Quote]) -> Table:
    """One line a PPI, for the terminal."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.ROUNDED, caption=_note(quotes), caption_justify="left")
    for heading in ("PPI", "noise in", "mechanism"):
        table.add_column(heading)
    for heading in ("ε", f"within, {_CONFIDENCE}", "new charges"):
        table.add_column(heading, justify="right")
    for quote in quotes:
        row = (quote.ppi, _noise_in(quote), quote.mechanism, str(quote.epsilon))
        table.add_row(*map(plain, row), _error(quote), payments_text(quote))
    return table


def quantiles_table(quotes: Sequence[Quote]) -> Table:
    """How far off each PPI may be, at several confidences."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.ROUNDED,
        title="Within what the noise keeps it",
        title_justify="left",
        caption="\n".join(_assumptions(quotes)) or None,
        caption_justify="left",
    )
    table.add_column("PPI")
    for confidence in CONFIDENCES:
        table.add_column(percent(confidence), justify="right")
    for quote in quotes:
        found = (quote.within(confidence) for confidence in CONFIDENCES)
        star = f" {_STAR}" if quote.assumes else ""
        shown = (_plus_minus(each, quote.unit) + star for each in found)
        table.add_row(plain(quote.ppi), *shown)
    return table


def _note(quotes: Sequence[Quote]) -> str:
    cases = max(quote.assumed_cases for quote in quotes)
    said = (
        f"Within: the noise keeps the value so close, with {_CONFIDENCE} confidence, if {cases:,} "
        "cases with a value fall into a period."
    )
    fewer = sorted({quote.fewer for quote in quotes if quote.fewer})
    lines = [said, *(f"{each.capitalize()}." for each in fewer), _cut_off(quotes)]
    return "\n".join([" ".join(lines), *_assumptions(quotes)])


def _assumptions(quotes: Sequence[Quote]) -> list[str]:
    """What each figure that is no promise rests on."""
    supposed = sorted({quote.assumes for quote in quotes if quote.assumes})
    return [plain(f"{_STAR} No promise: only if {each}.") for each in supposed]


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
    for heading in ("noise in", "mechanism", "share of ε", f"within, {_CONFIDENCE}", ""):
        table.add_column(heading)
    for option in quote.options:
        table.add_row(
            plain(_functions_text(option.functions)),
            plain(_mechanisms(option)),
            " + ".join(map(_share, option.shares)) or MISSING,
            _option_error(option, quote.unit),
            "chosen" if option.chosen else plain(option.reason),
        )
    return table


def advice_lines(quotes: Sequence[Quote]) -> list[str]:
    """What to ask instead, and why a margin is not known, PPI by PPI."""
    advice = [f"{quote.ppi}: {quote.advice}" for quote in quotes if quote.advice]
    notes = [f"{q.ppi}: {_why_none(q)}: {q.margin_note}" for q in quotes if q.margin_note]
    return [plain(line) for line in advice + notes]


def _why_none(quote: Quote) -> str:
    if not quote.assumes:
        return "no margin is known"
    return f"{_error(quote).rstrip(_STAR + ' ')} if {quote.assumes}, but no margin is promised"


def quote_record(quote: Quote) -> dict[str, Any]:
    return {
        "ppi": quote.ppi,
        "epsilon": float(quote.epsilon),
        "functions": list(quote.functions),
        "mechanism": quote.mechanism,
        "mechanisms": list(quote.mechanisms),
        "typical_error": quote.typical_error,
        "margin": quote.margin,
        "margin_note": quote.margin_note,
        "assumes": quote.assumes,
        "fewer": quote.fewer,
        "quantiles": [
            {"confidence": each.confidence, "within": each.within} for each in quote.quantiles
        ],
        "verdict_only": quote.verdict_only,
        "target": None if quote.target is None else _target_record(quote.target),
        "unit": quote.unit,
        "assumed_cases": quote.assumed_cases,
        "charges": quote.charges,
        "new_charges": quote.new_charges,
        "shares": list(quote.shares),
        "clipping": quote.clipping,
        "advice": quote.advice,
        "options": [_option_record(option) for option in quote.options],
    }


def _target_record(target: ShownTarget) -> dict[str, Any]:
    tolerated = None if target.tolerated is None else _target_record(target.tolerated)
    return {"low": target.low, "high": target.high, "text": target.text, "tolerated": tolerated}


def _option_record(option: QuotedSet) -> dict[str, Any]:
    return {
        "functions": list(option.functions),
        "mechanism": option.mechanism,
        "mechanisms": list(option.mechanisms),
        "typical_error": option.typical_error,
        "margin": option.margin,
        "shares": list(option.shares),
        "chosen": option.chosen,
        "reason": option.reason,
    }


def _noise_in(quote: Quote) -> str:
    """The functions that carry the noise, with their shares where there are several."""
    if len(quote.functions) == 1 and sum(quote.shares) in (0, 1):
        return _functions_text(quote.functions)
    shares = map(_share, quote.shares)
    names = (_functions_text((path,)) for path in quote.functions)
    return " + ".join(f"{name} ({share})" for name, share in zip(names, shares, strict=True))


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"


def _functions_text(functions: Sequence[str]) -> str:
    return " + ".join(map(function_name, functions))


def _mechanisms(option: QuotedSet) -> str:
    """One for all functions, or each one's, in the order of the functions."""
    if len(set(option.mechanisms)) > 1:
        return " + ".join(option.mechanisms)
    return option.mechanism or MISSING


def _error(quote: Quote) -> str:
    if quote.half_width is not None:
        star = f" {_STAR}" if quote.assumes else ""
        return _plus_minus(quote.half_width, quote.unit) + star
    if quote.typical_error is None:
        return "not known"
    return f"typically {_plus_minus(quote.typical_error, quote.unit)}"


def _option_error(option: QuotedSet, unit: str) -> str:
    if option.margin is None and option.typical_error is not None:
        return f"typically {_plus_minus(option.typical_error, unit)}"
    return _plus_minus(option.margin, unit)


def _plus_minus(error: float | None, unit: str) -> str:
    return MISSING if error is None else "± " + with_unit(three_digits(error), unit)


def payments_text(quote: Quote) -> str:
    """What is not on record yet is charged, each to its own blocks."""
    if not quote.new_charges:
        return "replay"
    return f"{quote.new_charges} × {quote.epsilon}"
