"""What must never change unseen: under which key a question is charged, released and replayed.

`question_keys.json` is older than the counting of cases that bounds cut: its keys are those of
questions with `clipping: off`. `told_question_keys.json` has the keys of those that count them.
`histogram_question_keys.json` has those of medians and percentiles that are read off a histogram
by now, and distributions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.checkpoint.queries import planned, releases_of
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    CountMeasure,
    Ppi,
    canonical_form,
    parse_catalogue,
)
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
READ_OFF: dict[str, str] = json.loads(
    (GOLDEN / "histogram_question_keys.json").read_text(encoding="utf-8")
)

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
    mechanism = "interval" if ppi.id in READ_OFF else ppi.release.mechanism
    before = replace(ppi.release, clipping=False, mechanism=mechanism)
    assert _key_of(replace(ppi, release=before)) == KEYS[ppi.id]
    assert _key_of(ppi) == {**KEYS, **TOLD, **READ_OFF}[ppi.id]


def test_percentiles_of_one_measure_are_one_question_if_they_are_read_off_one_histogram() -> None:
    ppis = {ppi.id: ppi for ppi in CATALOGUE.ppis}
    p90, half = ppis["p90-working"], Epsilon.of("0.5")
    assert isinstance(p90.measure, AggregatedMeasure)
    p75, median, all_of_it = (
        replace(p90, measure=replace(p90.measure, function=function, percent=percent))
        for function, percent in (
            (Aggregation.PERCENTILE, 75),
            (Aggregation.MEDIAN, None),
            (Aggregation.DISTRIBUTION, None),
        )
    )
    asked = (p90, p75, median, all_of_it)
    keys = {_key_of(replace(ppi, epsilon=half)) for ppi in asked}
    assert len(keys) == 1
    own = replace(p90.measure, function=Aggregation.DISTRIBUTION, percent=None)
    limits = tuple(Fraction(hours * 3_600_000_000) for hours in (8, 24))
    named = _key_of(replace(p90, measure=replace(own, limits=limits), epsilon=half))
    assert named not in keys
    assert {*keys, named} == {READ_OFF["all of it"], READ_OFF["own limits"]}


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
    return [dict(charge.query), canonical_form(ppi.measure), canonical_form(ppi.scope)]


def _tags(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(tag := value.get("is"), str):
            yield tag
        for member in value.values():
            yield from _tags(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tags(item)
