"""A release killed at any moment loses no charge, doubles none, and completes once.

Kills of the whole protocol, at every step and at random moments, in both databases, and one
crash of the PostgreSQL server. The same checks find every planted fault: otherwise they would
prove nothing. The long form is `make campaign`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.crash.campaign import Kill, campaign, kills
from tests.crash.victims import STEPS, Victim
from tests.ledgers import DATABASES, Database, server

CRASH = Kill(moment=0.2, whom="server")


def every_step_and_two_moments() -> list[Kill]:
    planned = list(kills(2 * len(STEPS), random.Random(20)))  # noqa: S311 - moments, not secrets
    moments = [kill for kill in planned if not kill.step]
    return [*(kill for kill in planned if kill.step), *moments[:2]]


@pytest.mark.parametrize("database", DATABASES)
def test_kills_lose_no_charge_double_none_and_complete_each_release_once(
    tmp_path: Path, database: Database
) -> None:
    planned = every_step_and_two_moments()
    report = campaign(database, planned, tmp_path)
    assert report.wrong == ()
    assert report.kills.total() == len(planned)
    assert {f"at step '{step}'" for step in STEPS} < set(report.kills)


def test_a_crash_of_the_server_loses_no_charge(tmp_path: Path) -> None:
    report = campaign("postgres", [CRASH], tmp_path)
    assert report.wrong == ()


def test_a_draw_before_the_charge_is_found(tmp_path: Path) -> None:
    report = campaign("sqlite", [Kill("drawn")], tmp_path, Victim.DRAWS_FIRST)
    assert "not charged" in " ".join(report.wrong)


def test_a_question_that_is_paid_twice_is_found(tmp_path: Path) -> None:
    report = campaign("sqlite", [Kill("charged"), Kill("drawn")], tmp_path, Victim.ASKS_ANEW)
    assert "charged under two keys" in " ".join(report.wrong)


def test_a_charge_that_does_not_outlive_a_crash_is_found(tmp_path: Path) -> None:
    server().execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # nothing writes it meanwhile
    server().execute("SELECT pg_reload_conf()")
    try:
        report = campaign("postgres", [CRASH], tmp_path, Victim.NOT_DURABLE)
    finally:
        server().execute("ALTER SYSTEM RESET wal_writer_delay")
        server().execute("SELECT pg_reload_conf()")
    # By the mark, which is on the disk already, or by what was drawn without a charge.
    told = " ".join(report.wrong)
    assert "the latest are missing" in told or "not charged" in told
