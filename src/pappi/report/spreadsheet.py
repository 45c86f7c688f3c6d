"""Records as CSV, which most people open in a spreadsheet.

A spreadsheet takes a text that begins like a formula for one, and carries it out. Names of
PPIs and groups are written by others, so such a text gets an apostrophe in front; numbers are
numbers, also negative ones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

# Some spreadsheets take the wide forms of these signs for the signs.
_BEGINS_A_FORMULA = tuple("=+-@\t\n＝＋－＠")


def csv_text(records: Sequence[Mapping[str, object]]) -> str:
    """A row of names and a row for each record; all records have the same names.

    >>> csv_text([{"group": "=1+1", "value": -1.5}])
    "group,value\\n'=1+1,-1.5\\n"
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(item) for name, item in each.items()} for each in records)
    return text.getvalue()


def _cell(item: object) -> object:
    if not isinstance(item, str):
        return item
    # Not every version of csv quotes a carriage return: what follows would be a row.
    text = item.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text
