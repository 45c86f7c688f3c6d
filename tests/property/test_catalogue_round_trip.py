"""Whatever a catalogue says, writing it and reading it again gives the same catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import given
from jsonschema import Draft202012Validator

from pappi.ppinot import (
    AggregatedMeasure,
    Catalogue,
    DerivedMultiInstance,
    MultiInstance,
    check_catalogue,
    parse_catalogue,
    write_yaml,
)
from pappi.ppinot.notations.yaml import catalogue_schema, write_json
from tests.property.models import VOCABULARY, catalogues

VALIDATOR = Draft202012Validator(catalogue_schema())


def texts_of(catalogue: Catalogue) -> list[str]:
    """Texts of the writer's own, as they stand in the catalogue."""
    ppis = [(ppi.id, ppi.process, *ppi.goals, ppi.comments) for ppi in catalogue.ppis]
    return [catalogue.log, *(text for texts in ppis for text in texts if text)]


def seen_in(document: dict[str, object]) -> list[object]:
    """The same texts, as a reader sees them that knows nothing of catalogues."""
    found = [document["log"]]
    ppis = document["ppis"]
    assert isinstance(ppis, list)
    for ppi in ppis:
        goals = ppi.get("goals", [])
        found += [ppi["id"], ppi.get("process")]
        found += [*(goals if isinstance(goals, list) else [goals]), ppi.get("comments")]
    return [each for each in found if each is not None]


@pytest.mark.outside
@given(catalogues())
def test_yaml_gives_the_catalogue_back(catalogue: Catalogue) -> None:
    text = write_yaml(catalogue)
    assert parse_catalogue(text) == catalogue
    assert seen_in(yaml.safe_load(text)) == texts_of(catalogue)


@pytest.mark.outside
@given(catalogues())
def test_json_gives_the_catalogue_back_and_keeps_to_the_schema(catalogue: Catalogue) -> None:
    text = write_json(catalogue)
    assert parse_catalogue(text) == catalogue
    document = json.loads(text)
    VALIDATOR.validate(document)
    assert seen_in(document) == texts_of(catalogue)


def aggregations(measure: MultiInstance) -> Iterator[AggregatedMeasure]:
    if isinstance(measure, DerivedMultiInstance):
        for _, inner in measure.variables:
            yield from aggregations(inner)
    else:
        yield measure


@given(catalogues())
def test_what_is_generated_is_sound(catalogue: Catalogue) -> None:
    assert check_catalogue(catalogue, VOCABULARY) == []
    assert check_catalogue(catalogue, None) == []
    for ppi in catalogue.ppis:
        for measure in aggregations(ppi.measure):
            assert (measure.percent is not None) == (measure.called != str(measure.function))
