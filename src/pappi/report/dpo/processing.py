"""The record of processing, in the order of Article 30(1) GDPR.

What the workspace knows is filled in. What it cannot know is a blank for the controller:
nothing here is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pappi.report.dpo.facts import LogFacts
from pappi.values.bounds import Bounds
from pappi.values.privacy import Per
from pappi.values.units import DURATIONS
from pappi.values.vocabulary import Vocabulary

BLANK = "to be completed by the controller"
# Names beyond this are counted: the declaration itself has them all.
_MOST_NAMES = 150


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the record: what is known, and what is left to be written by hand."""

    label: str
    known: tuple[str, ...] = ()
    blank: str = ""


def record_of_processing(log: LogFacts) -> tuple[Entry, ...]:
    return (
        Entry("Controller", blank="name and contact of the controller, and of a joint controller"),
        Entry("Data protection officer", blank="name and contact"),
        Entry("Purpose", (_PURPOSE,), "purpose of the indicators in the controller's words"),
        Entry("Legal basis", blank="legal basis of the processing"),
        Entry("Data subjects", (_subjects(log),), "categories of people the cases are about"),
        Entry("Personal data", tuple(_data(log)), "categories, and special categories if any"),
        Entry("Recipients", tuple(_recipients(log)), "who else receives the published figures"),
        Entry("Third countries", (_transfers(log),), _transfers_left(log)),
        Entry("Retention", tuple(_retention(log)), "time limits for erasing the events"),
        Entry("Security measures", tuple(_measures(log)), _measures_left(log)),
        Entry("Completed by", blank="name, date, signature"),
    )


_PURPOSE = (
    "Statistics on the performance of a process (process performance indicators), published "
    "with random noise under differential privacy."
)
_NOISE = (
    "Differential privacy (ε, δ = 0): exact noise from the operating system's randomness, "
    "budgets checked and charged in one durable transaction before any event is read."
)
_LEDGER = (
    "A ledger of every act, charge and release, and of every look at exact values, chained by "
    "SHA-256 and verified when opened; nothing is answered if it does not verify."
)
_KEYS = (
    "Keys of the service are kept as digests only, have rights and an expiry, and can be "
    "revoked; everything is denied that was not granted."
)


def _transfers(log: LogFacts) -> str:
    if not log.source:
        return (
            "PaPPI itself sends nothing anywhere: events stay in the workspace, and analysts "
            "receive published figures only."
        )
    return (
        f"The events are kept by {log.source}, and read there. PaPPI sends queries to it, and to "
        "nobody else anything. What a query gives is held by the machine that PaPPI runs on while "
        "an answer is computed, and analysts receive published figures only."
    )


def _transfers_left(log: LogFacts) -> str:
    by = "transfers by analysts or operators"
    return f"where the source is, and {by}" if log.source else by


def _measures(log: LogFacts) -> Iterator[str]:
    yield _NOISE
    if log.source:
        yield (
            "PaPPI only reads at the source. Through it events can be reached by the owner alone; "
            "analysts receive answers, never events. Who else may read or change them there, the "
            "source decides."
        )
    else:
        yield "Events can be reached by the owner alone; analysts receive answers, never events."
    yield _LEDGER
    yield _KEYS
    stop = "A stop switch that refuses every answer"
    if log.source:
        yield f"{stop}. Events are erased at the source."
    else:
        yield f"{stop}, and erasure of cases, persons and blocks from disk."


def _measures_left(log: LogFacts) -> str:
    ours = "measures of the organisation and its machines"
    return f"measures of the source; {ours}" if log.source else ours


def _subjects(log: LogFacts) -> str:
    if log.unit.column is None:
        return "People concerned by the cases; the log does not tell persons apart."
    return f"People told apart by the attribute '{log.unit.column}' of each case."


def _data(log: LogFacts) -> Iterator[str]:
    words = log.vocabulary
    yield "Of each case: an identifier, and the activities with their times."
    if log.source:
        yield f"Read from {log.source}; not kept here."
    yield f"Activities: {_listed(words.activities)}."
    if words.attributes:
        yield f"Attributes: {_listed(attribute_names(words))}."


def _recipients(log: LogFacts) -> Iterator[str]:
    if log.shares:
        yield f"Published figures: {_listed([share.analyst for share in log.shares])}."
    else:
        yield "Nobody has been granted access yet, and nobody has asked."


def _retention(log: LogFacts) -> Iterator[str]:
    if log.source:
        yield (
            "Events stay at their source until they are erased there; PaPPI keeps no copy, and no "
            "erasure is on record here."
        )
        yield "Published figures and the ledger stay."
        return
    cases = sum(erasure.cases for erasure in log.erasures)
    yield (
        "Events stay in the workspace until they are erased. "
        f"Erasures on record: {len(log.erasures):,}; cases erased: {cases:,}."
    )
    yield (
        "Published figures and the ledger stay. Of an erased case a keyed hash stays, so that it "
        "is not taken in again."
    )


# --- what is declared, in words -------------------------------------------------------

_ANCHORS = {"case start": "first", "case end": "last"}


def declared_facts(log: LogFacts) -> tuple[tuple[str, str], ...]:
    """What is public about a log, label and text."""
    words = log.vocabulary
    keys = "; ".join(f"{name}: {_listed(values)}" for name, values in words.keys.items())
    return (
        ("Privacy unit", _unit_text(log)),
        ("Compared logs", str(log.adjacency)),
        ("Declared time", _time_text(log)),
        ("Time zone", log.timezone),
        ("Blocks", f"{log.blocks}; a case lies in the block of its {_ANCHORS[log.anchor]} event"),
        ("Budget", _budget_text(log)),
        ("Expected cases", _expected_text(log)),
        ("Default bounds", "; ".join(_bounds_texts(log)) or "none: each definition names its own"),
        ("Activities", _listed(words.activities)),
        ("Attributes", _listed(attribute_names(words))),
        ("Keys of groups", keys or "none declared"),
    )


def attribute_names(words: Vocabulary) -> list[str]:
    return [f"{name} ({kind})" for name, kind in words.attributes.items()]


def _unit_text(log: LogFacts) -> str:
    unit = log.unit
    if unit.column is None:
        return "one case"
    within = "in the whole log" if unit.per is Per.LOG else "in each block"
    count = "1 case counts" if unit.max_cases == 1 else f"{unit.max_cases} cases count"
    # An import refuses them; at a source they may appear later.
    several = " or with several" if log.source else ""
    return (
        f"one '{unit.column}', of whom at most {count} {within}; further cases, and cases without "
        f"a '{unit.column}'{several}, are in no published figure"
    )


def _time_text(log: LogFacts) -> str:
    if log.first == log.until:
        return f"from {log.first}; nothing is sealed yet"
    return f"from {log.first}, sealed until {log.until} (that day not included)"


def _budget_text(log: LogFacts) -> str:
    in_all = "no limit for all blocks together"
    if log.total_budget is not None:
        in_all = f"ε {log.total_budget} for all blocks together"
    return f"ε {log.block_budget} per block; {in_all}"


def _expected_text(log: LogFacts) -> str:
    if log.expected_cases is None:
        return "not declared"
    return f"{log.expected_cases:,} per period, declared by the owner"


def _bounds_texts(log: LogFacts) -> Iterator[str]:
    """What one case may contribute where a definition names no bounds."""
    defaults = log.bounds
    if defaults.durations is not None:
        yield f"durations {_range(defaults.durations, DURATIONS['hours'])} hours"
    if defaults.counts is not None:
        yield f"counts {_range(defaults.counts)}"
    for name, bounds in defaults.attributes.items():
        yield f"{name} {_range(bounds)}"


def _range(bounds: Bounds, unit: int = 1) -> str:
    return f"{float(bounds.low / unit):,.12g} to {float(bounds.high / unit):,.12g}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_NAMES]) or "none"
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
