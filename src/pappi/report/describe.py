"""What is public about a log, in words: for the terminal, the console and the documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pappi.report.wording import compared
from pappi.values import (
    DURATIONS,
    Bounds,
    CaseBorder,
    DefaultBounds,
    KeyRecord,
    PublicLog,
    Vocabulary,
)

Row = tuple[str, str]
"""Label and text."""


def describe_log(log: PublicLog) -> tuple[Row, ...]:
    """All that is declared except the names, which `describe_vocabulary` lists."""
    terms = log.terms
    anchor = "last" if terms.anchor is CaseBorder.END else "first"
    expected = terms.expected_cases
    cases = "not declared" if expected is None else f"{expected:,} per block ({terms.blocks})"
    unit, column = str(terms.unit), terms.unit.column
    if column is not None:
        dropped = f"further cases of the same {column}, and cases without one or with several"
        unit = f"{unit}; {dropped}, are dropped"
    weighted = [
        f"spread over {name} as {', '.join(f'{key} {weight:,}' for key, weight in weights.items())}"
        for name, weights in terms.weights.items()
    ]
    total = terms.total_budget
    in_all = "; no limit for all blocks together" if total is None else f", ε {total} in all"
    bounds = "; ".join(_bounds(terms.bounds)) or "none: each definition gives its own"
    return (
        ("Privacy unit", unit),
        ("Neighbouring logs", f"{terms.adjacency}. {compared([terms.adjacency], terms.unit)}"),
        ("Horizon", horizon_text(log)),
        ("Time zone", terms.timezone),
        ("Blocks", f"{terms.blocks}; a case belongs to the block of its {anchor} event"),
        ("Budget", f"ε {terms.block_budget} per block{in_all}"),
        ("Expected cases", "; ".join([cases, *weighted])),
        ("Default bounds", bounds),
    )


def key_state(key: KeyRecord, now: datetime) -> str:
    """Whether a key is "valid", "expired" or "revoked"."""
    if key.revoked:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now else "valid"


def describe_vocabulary(names: Vocabulary, most: int | None = None) -> tuple[Row, ...]:
    """The public names: up to `most` of each kind are listed, the others counted.

    >>> describe_vocabulary(Vocabulary(("Ask", "Pay", "Ship")), most=2)[0]
    ('Activities', 'Ask, Pay and 1 more')
    """
    keys = (f"{name}: {listed_up_to(values, most)}" for name, values in names.keys.items())
    return (
        ("Activities", listed_up_to(names.activities, most)),
        ("Attributes", listed_up_to(attributes_with_kinds(names), most)),
        ("Public partitions", "; ".join(keys) or "none"),
    )


def attributes_with_kinds(names: Vocabulary) -> tuple[str, ...]:
    return tuple(f"{name} ({kind})" for name, kind in names.attributes.items())


def listed_up_to(names: Sequence[str], most: int | None, of: int = 0) -> str:
    """The first names, and how many more there are; `of` is the total if `names` lacks some."""
    text = ", ".join(names[:most]) or "none"
    more = 0 if most is None else max(len(names), of) - most
    return f"{text} and {more:,} more" if more > 0 else text


def horizon_text(log: PublicLog) -> str:
    """The days that can be queried; the last one is included."""
    if log.is_empty:
        return f"from {log.first}; nothing is sealed yet"
    return f"{log.first} to {log.until - timedelta(days=1)}"


def _bounds(defaults: DefaultBounds) -> Iterator[str]:
    """What one case may contribute where a definition names no bounds."""
    if defaults.durations is not None:
        yield f"durations {_range(defaults.durations, DURATIONS['hours'])} hours"
    if defaults.counts is not None:
        yield f"counts {_range(defaults.counts)}"
    yield from (f"{name} {_range(bounds)}" for name, bounds in defaults.attributes.items())


def _range(bounds: Bounds, unit: int = 1) -> str:
    return f"{float(bounds.low / unit):,.12g} to {float(bounds.high / unit):,.12g}"
