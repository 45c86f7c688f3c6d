"""Text from outside, made harmless to show.

Names of PPIs, groups and activities are written by analysts. Escaping keeps
them out of the markup; this keeps out what escaping lets through: terminal
control sequences, characters XML does not allow, and direction overrides that
make a line read differently from what it says. Letters of any script stay.
"""

from __future__ import annotations

import re

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls; tab and line feed are kept
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, overrides, isolates
    "\ud800-\udfff\ufffe\uffff]"  # not characters
)


def plain(text: str) -> str:
    r"""The text with every harmful character replaced by a visible one.

    >>> plain("a\x1b[31mb")
    'a�[31mb'
    """
    return _HARMFUL.sub("\ufffd", text)


def shortened(text: str, letters: float) -> str:
    """
    >>> shortened("Mean waiting time", 6)
    'Mean…'
    """
    most = max(int(letters), 1)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
