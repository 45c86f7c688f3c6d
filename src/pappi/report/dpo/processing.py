"""The record of processing, in the order of Article 30(1) GDPR.

What the workspace knows is filled in. What it cannot know is a blank for the controller:
nothing here is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pappi.report.describe import (
    attributes_with_kinds,
    describe_log,
    describe_vocabulary,
    listed_up_to,
)
from pappi.report.dpo.facts import LogFacts

BLANK = "to be completed by the controller"
# Names beyond this are counted: the declaration itself has them all.
_MOST_NAMES = 150


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One line of the record: what is known, and what is left to be filled in by hand."""

    label: str
    known: tuple[str, ...] = ()
    blank: str = ""


def record_of_processing(log: LogFacts) -> tuple[RecordLine, ...]:
    return (
        RecordLine(
            "Controller", blank="name and contact of the controller, and of a joint controller"
        ),
        RecordLine("Data protection officer", blank="name and contact"),
        RecordLine("Purpose", (_PURPOSE,), "purpose of the indicators in the controller's words"),
        RecordLine("Legal basis", blank="legal basis of the processing"),
        RecordLine("Data subjects", (_subjects(log),), "categories of people the cases are about"),
        RecordLine("Personal data", tuple(_data(log)), "categories, and special categories if any"),
        RecordLine(
            "Recipients", tuple(_recipients(log)), "who else receives the published figures"
        ),
        RecordLine("Third countries", (_transfers(log),), _transfers_left(log)),
        RecordLine("Retention", tuple(_retention(log)), "time limits for erasing the events"),
        RecordLine("Security measures", tuple(_measures(log)), _measures_left(log)),
        RecordLine("Completed by", blank="name, date, signature"),
    )


_PURPOSE = (
    "Statistics on the performance of a process (process performance indicators), published "
    "with random noise under differential privacy."
)
_NOISE = (
    "Differential privacy (ε, δ = 0): exact noise from the operating system's randomness; budgets "
    "are checked and charged in one durable transaction before any event is read."
)
_LEDGER = (
    "A ledger of every act, charge and release, and of every view of exact values, chained with "
    "SHA-256 and verified when opened; nothing is answered if verification fails."
)
_KEYS = (
    "Service keys are stored only as digests, have rights and an expiry, and can be revoked; "
    "everything not granted is denied."
)


def _transfers(log: LogFacts) -> str:
    if not log.source:
        return (
            "PaPPI itself sends data nowhere: events stay in the workspace, and analysts "
            "receive published figures only."
        )
    return (
        f"The events are stored at {log.source} and read there. PaPPI sends queries to it and "
        "sends nothing to anyone else. Query results stay on the machine that runs PaPPI while an "
        "answer is computed; analysts receive published figures only."
    )


def _transfers_left(log: LogFacts) -> str:
    by = "transfers by analysts or operators"
    return f"where the source is, and {by}" if log.source else by


def _measures(log: LogFacts) -> Iterator[str]:
    yield _NOISE
    if log.source:
        yield (
            "PaPPI only reads from the source. Through PaPPI, only the owner can reach events; "
            "analysts receive answers, never events. The source decides who else may read or "
            "change them."
        )
    else:
        yield "Only the owner can reach events; analysts receive answers, never events."
    yield _LEDGER
    yield _KEYS
    stop = "A stop switch that refuses every answer"
    if log.source:
        yield f"{stop}. Events are erased at the source."
    else:
        yield f"{stop}, and erasure of cases, persons and blocks from disk."


def _measures_left(log: LogFacts) -> str:
    ours = "organisational measures, and measures for its machines"
    return f"measures at the source; {ours}" if log.source else ours


def _subjects(log: LogFacts) -> str:
    if log.terms.unit.column is None:
        return "The people behind the cases; the log does not identify persons."
    return f"People identified by the attribute '{log.terms.unit.column}' of each case."


def _data(log: LogFacts) -> Iterator[str]:
    words = log.public.vocabulary
    yield "For each case: an identifier, and the activities with their times."
    if log.source:
        yield f"Read from {log.source}; not stored here."
    yield f"Activities: {listed_up_to(words.activities, _MOST_NAMES)}."
    if words.attributes:
        yield f"Attributes: {listed_up_to(attributes_with_kinds(words), _MOST_NAMES)}."


def _recipients(log: LogFacts) -> Iterator[str]:
    if log.shares:
        analysts = [share.analyst for share in log.shares]
        yield f"Published figures: {listed_up_to(analysts, _MOST_NAMES)}."
    else:
        yield "Nobody has been granted access yet, and nobody was charged."


def _retention(log: LogFacts) -> Iterator[str]:
    if log.removed:
        yield "The log was removed: its events are no longer in the workspace."
        yield "Published figures and the ledger stay."
        return
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
        "Published figures and the ledger stay. For an erased case, a keyed hash stays so that it "
        "is not captured again."
    )


def declared_facts(log: LogFacts) -> tuple[tuple[str, str], ...]:
    """What is public about a log, label and text."""
    return (*describe_log(log.public), *describe_vocabulary(log.public.vocabulary, _MOST_NAMES))
