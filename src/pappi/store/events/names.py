"""Column names for the event table.

Attribute names are anything a source system allows; the database folds upper and lower
case together and the canonical columns are taken. Whoever comes later gets a number,
so that every attribute keeps a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

POSITION = "pos"
FIRST_POSITION = "first_pos"
CANONICAL = ("case_id", POSITION, "ts_us", "activity")
STORED = (*CANONICAL, FIRST_POSITION)
# Not a column, but what conditions call the time of an event: it must not mean two things.
RESERVED = (*STORED, "timestamp")


def table_names(wanted: Iterable[str]) -> tuple[str, ...]:
    """The names as they can stand in the table, in the same order.

    >>> table_names(["cost", "Cost", "POS", "timestamp", ""])
    ('cost', 'Cost (2)', 'POS (2)', 'timestamp (2)', 'unnamed')
    """
    taken = {name.casefold() for name in RESERVED}
    names = []
    for name in wanted:
        chosen = _free(name or "unnamed", taken)
        taken.add(chosen.casefold())
        names.append(chosen)
    return tuple(names)


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate.casefold() in taken:
        number += 1
        candidate = f"{name} ({number})"
    return candidate
