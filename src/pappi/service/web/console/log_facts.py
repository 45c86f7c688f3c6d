"""What is declared about a log, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from pappi.ppinot.model import CaseBorder
from pappi.report.plain import shortened
from pappi.report.wording import compared
from pappi.store.declarations import LogDeclaration
from pappi.values.bounds import Bounds
from pappi.values.privacy import PrivacyUnit
from pappi.values.units import DURATIONS

# A page has so many names of a kind, and so much of each text; the declaration has them all.
_MOST_NAMES = 200
_LONGEST_NAME = 60
_LONGEST_FACT = 1_500


@dataclass(frozen=True, slots=True)
class Names:
    """Public names of one kind; of very many only the first are listed."""

    what: str
    count: int
    shown: tuple[str, ...]

    @property
    def more(self) -> int:
        return self.count - len(self.shown)


def facts_of(log: LogDeclaration) -> list[tuple[str, str]]:
    """Label and text."""
    found = [
        ("Sealed", sealed_text(log)),
        ("Time zone", log.timezone),
        ("Blocks", f"{log.blocks}, by each case's {_anchor(log.anchor)}"),
        ("Protected", _protected(log.unit)),
        ("Neighbours", f"{log.adjacency}. {compared([log.adjacency], log.unit)}"),
        ("Expected cases", _expected(log)),
        ("Default bounds", "; ".join(_bounds(log)) or "none: each definition names its own"),
    ]
    return [(label, shortened(text, _LONGEST_FACT)) for label, text in found]


def sealed_text(log: LogDeclaration) -> str:
    """The days that can be asked about; the last one is included."""
    if log.first == log.until:
        return f"from {log.first} on; nothing is sealed yet"
    return f"{log.first} to {log.until - timedelta(days=1)}"


def vocabulary_of(log: LogDeclaration) -> list[Names]:
    """What analysts may know of the log's names."""
    words = log.vocabulary
    kinds = [f"{name} ({kind})" for name, kind in words.attributes.items()]
    keys = [f"{name}: {key}" for name, values in words.keys.items() for key in values]
    return [
        _names("activities", words.activities),
        _names("attributes", tuple(kinds)),
        _names("keys of groups", tuple(keys)),
    ]


def _names(what: str, names: tuple[str, ...]) -> Names:
    shown = (shortened(name, _LONGEST_NAME) for name in names[:_MOST_NAMES])
    return Names(what, len(names), tuple(shown))


def _anchor(anchor: CaseBorder) -> str:
    return "last event" if anchor is CaseBorder.END else "first event"


def _protected(unit: PrivacyUnit) -> str:
    if unit.column is None:
        return "each case"
    return f"each {unit}; further cases, and cases without one, count in no answer"


def _expected(log: LogDeclaration) -> str:
    return f"{log.expected_cases:,} per period" if log.expected_cases else "not declared"


def _bounds(log: LogDeclaration) -> Iterator[str]:
    defaults = log.bounds
    if defaults.durations is not None:
        yield f"durations {_range(defaults.durations, DURATIONS['hours'])} hours"
    if defaults.counts is not None:
        yield f"counts {_range(defaults.counts)}"
    yield from (f"{name} {_range(bounds)}" for name, bounds in defaults.attributes.items())


def _range(bounds: Bounds, unit: int = 1) -> str:
    return f"{float(bounds.low / unit):,.12g} to {float(bounds.high / unit):,.12g}"
