"""How problems are worded: names in quotes, and suggestions from public names only.

What an analyst wrote is echoed shortened and escaped, so that a definition can
not send control codes to the terminal of whoever reads its problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_ECHOED = 60
_LISTED = 8

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no text of a definition may hold: control characters, and halves of characters."""


def quoted(written: str) -> str:
    """
    >>> quoted("mesure"), quoted("\\x1b[2J")
    ("'mesure'", "'\\\\x1b[2J'")
    """
    short = written if len(written) <= _ECHOED else written[: _ECHOED - 1] + "…"
    return repr(short)


def listed(names: Iterable[str], last: str = "or") -> str:
    """
    >>> listed(["first", "last"])
    "'first' or 'last'"
    """
    shown = [quoted(name) for name in names]
    if len(shown) > _LISTED:
        return ", ".join(shown[:_LISTED]) + ", …"
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def closest(word: str, names: Iterable[str]) -> str | None:
    """The name a mistyped word probably meant; capitals do not count."""
    if len(word) > _ECHOED:
        return None
    by_lower = {name.lower(): name for name in names}
    typed = word.lower()
    alike = [name for name in by_lower if name[:1] == typed[:1]]
    # A first letter is seldom mistyped, so the same one makes up for more differences.
    matches = get_close_matches(typed, by_lower, n=1, cutoff=0.75) or get_close_matches(
        typed, alike, n=1, cutoff=0.65
    )
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """
    >>> did_you_mean("mesure", ["measure", "target"])
    "did you mean 'measure'?"
    """
    name = closest(word, names)
    return otherwise if name is None else f"did you mean {quoted(name)}?"
