"""The few forms that generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """A text as it is typed.

    >>> code("--json")
    '`--json`'
    """
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def cell(text: str) -> str:
    """A text that stays within its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing at all if it would have no rows.

    >>> print(table(("a", "b"), [("1", "x|y")]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    lines = [_row(row) for row in rows]
    if not lines:
        return ""
    return "\n".join([_row(head), "|" + "---|" * len(head), *lines])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell, cells)) + " |"


def joined(parts: Iterable[str]) -> str:
    """Paragraphs, with a line between them; empty ones are left out."""
    return "\n\n".join(part.strip() for part in parts if part)


def sentence(text: str) -> str:
    """With a capital and a full stop.

    >>> sentence("refuse a key from now on")
    'Refuse a key from now on.'
    """
    short = " ".join(text.split())
    if not short:
        return ""
    end = "" if short[-1] in ".!?…" else "."
    return short[0].upper() + short[1:] + end
