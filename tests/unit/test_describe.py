"""One description of a log for the terminal, the console and the documents."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from pappi.report import describe_log, describe_vocabulary, key_state
from pappi.values import (
    Adjacency,
    Bounds,
    CaseBorder,
    DefaultBounds,
    Epsilon,
    KeyRecord,
    Kind,
    Per,
    PrivacyUnit,
    PublicLog,
    Role,
    Vocabulary,
)

LOG = PublicLog(
    name="orders",
    first=date(2024, 1, 1),
    until=date(2024, 7, 1),
    vocabulary=Vocabulary(
        ("Ask", "Pay"), {"cost": Kind.NUMBER, "region": Kind.TEXT}, {"region": ("north", "south")}
    ),
)


def told(log: PublicLog) -> dict[str, str]:
    return {**dict(describe_log(log)), **dict(describe_vocabulary(log.vocabulary))}


def test_what_is_left_to_its_default_is_said_too() -> None:
    rows = told(LOG)
    assert rows["Privacy unit"] == "case"
    assert rows["Neighbouring logs"].startswith("add-remove. ")
    assert rows["Horizon"] == "2024-01-01 to 2024-06-30"
    assert rows["Time zone"] == "UTC"
    assert rows["Blocks"] == "every month; a case belongs to the block of its last event"
    assert rows["Budget"] == "ε 1 per block; no limit for all blocks together"
    assert rows["Expected cases"] == "not declared"
    assert rows["Default bounds"] == "none: each definition gives its own"
    assert rows["Activities"] == "Ask, Pay"
    assert rows["Attributes"] == "cost (number), region (text)"
    assert rows["Public partitions"] == "region: north, south"


def test_what_is_declared_is_said() -> None:
    rows = told(
        replace(
            LOG,
            terms=replace(
                LOG.terms,
                anchor=CaseBorder.START,
                unit=PrivacyUnit("person", 3, Per.BLOCK),
                block_budget=Epsilon.of("0.5"),
                total_budget=Epsilon.of(4),
                expected_cases=2_500,
                bounds=DefaultBounds(
                    Bounds(Fraction(0), Fraction(86_400_000_000)),
                    Bounds(Fraction(0), Fraction(5)),
                    {"cost": Bounds(Fraction(-1), Fraction(10_000))},
                ),
            ),
        )
    )
    assert rows["Privacy unit"].startswith("person, at most 3 cases per block; further cases")
    assert rows["Blocks"].endswith("of its first event")
    assert rows["Budget"] == "ε 0.5 per block, ε 4 in all"
    assert rows["Expected cases"] == "2,500 per block (every month)"
    assert rows["Default bounds"] == "durations 0 to 24 hours; counts 0 to 5; cost -1 to 10,000"


def test_a_log_under_replace_and_one_without_sealed_time_say_so() -> None:
    rows = told(
        replace(LOG, until=LOG.first, terms=replace(LOG.terms, adjacency=Adjacency.REPLACE))
    )
    assert "number of cases" in rows["Neighbouring logs"]
    assert rows["Horizon"] == "from 2024-01-01; nothing is sealed yet"


def test_a_key_that_has_expired_is_not_called_valid() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    key = KeyRecord("k", Role.ANALYST, "alice", frozenset(), now, now + timedelta(days=1))
    assert key_state(key, now) == "valid"
    assert key_state(key, now + timedelta(days=1)) == "expired"
    assert key_state(replace(key, expires=None), now + timedelta(days=9_999)) == "valid"
    assert key_state(replace(key, revoked=True), now) == "revoked"
