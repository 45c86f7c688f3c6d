"""What must never change unseen: under which key a question is charged, released and replayed.

`question_keys.json` is older than the counting of cases that bounds cut: its keys are those of
questions with `clipping: off`. `told_question_keys.json` has the keys of those that count them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date
from pathlib import Path

import pytest

from pappi.checkpoint.queries import planned, releases_of
from pappi.ppinot import CountMeasure, Ppi, canonical_form, parse_catalogue
from pappi.ppinot.canonical import FORMS
from pappi.store import LogDeclaration
from pappi.values import (
    JSON,
    Adjacency,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Kind,
    PrivacyUnit,
    PublicLog,
    Terms,
    Vocabulary,
)

GOLDEN = Path(__file__).parents[1] / "golden"
CATALOGUE = parse_catalogue((GOLDEN / "questions.yaml").read_text(encoding="utf-8"))
KEYS: dict[str, str] = json.loads((GOLDEN / "question_keys.json").read_text(encoding="utf-8"))
TOLD: dict[str, str] = json.loads((GOLDEN / "told_question_keys.json").read_text(encoding="utf-8"))

LOG = LogDeclaration(
    data="log_pinned",
    table="log_pinned",
    public=PublicLog(
        name="pinned",
        first=date(2024, 1, 1),
        until=date(2024, 7, 1),
        vocabulary=Vocabulary(
            ("Register", "Close"),
            {"cost": Kind.NUMBER, "region": Kind.TEXT, "due": Kind.TIME},
        ),
        terms=Terms(
            timezone="Europe/Amsterdam",
            anchor=CaseBorder.END,
            blocks=Grid(Calendar.MONTH, 1),
            unit=PrivacyUnit(),
            adjacency=Adjacency.ADD_REMOVE,
            block_budget=Epsilon.of("1"),
            total_budget=None,
            expected_cases=100,
        ),
    ),
)


@pytest.mark.parametrize("ppi", CATALOGUE.ppis, ids=lambda ppi: ppi.id)
def test_a_question_keeps_its_key(ppi: Ppi) -> None:
    """A key that changes charges a known question again; then write a migration."""
    untold = replace(ppi, release=replace(ppi.release, clipping=False))
    assert _key_of(untold) == KEYS[ppi.id]
    assert _key_of(ppi) == {**KEYS, **TOLD}[ppi.id]


def test_a_mean_or_sum_that_bounds_can_cut_is_another_question_if_it_is_told() -> None:
    assert set(TOLD) == {"mean-time", "cycles", "by-region", "last-cases", "own-anchor"}
    assert not set(TOLD.values()) & set(KEYS.values())


def test_every_pinned_key_belongs_to_a_question() -> None:
    assert set(KEYS) == {ppi.id for ppi in CATALOGUE.ppis}


def test_the_pinned_questions_reach_every_form() -> None:
    used = {tag for ppi in CATALOGUE.ppis for tag in _tags(_question_of(ppi))}
    assert used == {form.tag for form in FORMS.values()}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_form_has_every_attribute_that_tells_values_apart(form: type) -> None:
    """An attribute that is left out would give two questions one key, and one answer."""
    assert is_dataclass(form)
    told = {field.name for field in fields(form) if field.compare}
    assert set(FORMS[form].members.values()) == told


def test_two_classes_never_share_a_tag() -> None:
    tags = [form.tag for form in FORMS.values()]
    assert len(set(tags)) == len(tags)


def test_a_class_that_is_renamed_keeps_its_form() -> None:
    (ppi,) = (ppi for ppi in CATALOGUE.ppis if ppi.id == "rework")
    name = CountMeasure.__name__
    CountMeasure.__name__ = "EventCount"
    try:
        assert _key_of(ppi) == KEYS["rework"]
    finally:
        CountMeasure.__name__ = name


def test_what_has_no_form_is_no_part_of_a_question() -> None:
    with pytest.raises(TypeError, match="float has no canonical form"):
        canonical_form(0.5)


def _key_of(ppi: Ppi) -> str:
    return releases_of(planned(ppi, None, LOG.public), LOG, "analyst")[0].key


def _question_of(ppi: Ppi) -> JSON:
    plan = planned(ppi, None, LOG.public)
    charge = releases_of(plan, LOG, "analyst")[0].charge
    return [dict(charge.question), canonical_form(ppi.measure), canonical_form(ppi.scope)]


def _tags(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(tag := value.get("is"), str):
            yield tag
        for member in value.values():
            yield from _tags(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tags(item)
