"""What was released before stays free: the keys of questions on record do not change.

`questions_on_record.json` was written by the version before functions could have mechanisms
and shares of their own: of every seventh question that it planned, the start of its key. What
is planned otherwise now is looked for on record as it was planned before, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from pappi.checkpoint.queries import releases_of
from pappi.planning import Rules, plan_ppi
from pappi.ppinot import Ppi
from pappi.store import LogDeclaration
from pappi.values import (
    Adjacency,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    PrivacyUnit,
    PublicLog,
    Terms,
)
from tests.every_release import SETTINGS, VOCABULARY, facts, plain_releases, shapes

ON_RECORD = Path(__file__).with_name("questions_on_record.json")
EVERY = 7
EPSILON = Epsilon.of("0.5")


def key_of(ppi: Ppi, adjacency: str, unit: PrivacyUnit) -> str:
    log = LogDeclaration(
        data="events_1",
        table="events_1",
        public=PublicLog(
            name="l",
            first=date(2024, 1, 1),
            until=date(2024, 3, 1),
            vocabulary=VOCABULARY,
            terms=Terms(
                timezone="UTC",
                anchor=CaseBorder.END,
                blocks=Grid(Calendar.MONTH),
                unit=unit,
                adjacency=Adjacency(adjacency),
                block_budget=Epsilon.of(1),
                total_budget=None,
                expected_cases=100,
            ),
        ),
    )
    plan = plan_ppi(ppi, EPSILON, facts(adjacency, unit), Rules.BEFORE_HISTOGRAMS)
    return releases_of(plan, log, "analyst")[0].key[:16]


def asked() -> Iterator[tuple[str, tuple[Ppi, str, PrivacyUnit]]]:
    for shape in shapes():
        for release in plain_releases(shape):
            for adjacency, unit in SETTINGS:
                name = f"{shape.name} | {release} | {adjacency}, {unit}"
                yield name, (shape.ppi(release), adjacency, unit)


@pytest.mark.outside
def test_every_question_on_record_has_the_key_it_had() -> None:
    on_record = json.loads(ON_RECORD.read_text("utf-8"))
    assert len(on_record) > 300
    found = {name: key_of(*question) for name, question in asked() if name in on_record}
    assert found == on_record
