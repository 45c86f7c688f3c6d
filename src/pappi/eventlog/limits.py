"""What is taken for a mistake rather than read: texts of absurd length."""

from __future__ import annotations

from pappi.errors import Option
from pappi.eventlog.log import ArrowArray
from pappi.eventlog.options import ReadOptions


def first_too_long(column: ArrowArray, longest: int) -> int:
    """The place, from 1 on, of the first text of more characters than that; 0 if there is none."""
    import pyarrow.compute as pc

    longest_bytes = pc.max(pc.binary_length(column)).as_py()
    if longest_bytes is None or longest_bytes <= longest:
        return 0
    found = pc.index(pc.greater(pc.utf8_length(column), longest), value=True).as_py()
    return int(found) + 1


def too_long(name: str, options: ReadOptions) -> tuple[str, str, tuple[Option, ...]]:
    """What is wrong with such a text, what to do, and the option that says it is right."""
    return (
        f"{name!r} has more than {options.longest_text:,} characters",
        "leave such texts out, or say that they may be longer",
        (Option("longest_text"),),
    )
