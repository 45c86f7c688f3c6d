"""Text from outside, made harmless to show: on a page, in a terminal, in a spreadsheet.

Control characters and marks that turn reading direction round are replaced, and a CSV cell
never begins a formula.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls; tab and line feed are kept
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, overrides, isolates
    "\ud800-\udfff\ufffe\uffff]"  # not characters
)


def printable(text: str) -> str:
    r"""The text with every harmful character replaced by a visible one.

    >>> printable("a\x1b[31mb")
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


# Some spreadsheets also accept the full-width forms of these signs.
_BEGINS_A_FORMULA = tuple("=+-@\t\n＝＋－＠")


def csv_text(records: Sequence[Mapping[str, object]]) -> str:
    """A row of names and a row for each record; all records have the same names.

    >>> csv_text([{"group": "=1+1", "value": -1.5}])
    "group,value\\n'=1+1,-1.5\\n"
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(item) for name, item in record.items()} for record in records)
    return text.getvalue()


def _cell(item: object) -> object:
    if not isinstance(item, str):
        return item
    # Not every version of csv quotes a carriage return: it could begin a row.
    text = item.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text
