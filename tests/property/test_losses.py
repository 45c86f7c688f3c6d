"""What a document says is in the catalogue, or named as lost: nothing goes in silence.

A field is taken out, or put in. If that changes neither the catalogue nor what is named, the
field was lost without a word, unless it only said what holds anyway.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pappi.errors import DefinitionError
from pappi.ppinot import Catalogue, from_ppinot4py, parse_definitions, write_definitions
from pappi.ppinot.notations.bpmn import read_bpmn
from pappi.ppinot.notations.document import ReadCatalogue
from pappi.ppinot.notations.java import read_java, write_java
from pappi.ppinot.notations.java_fields import Fields
from pappi.ppinot.notations.objects import Foreign
from tests.fuzz import bpmn
from tests.fuzz.catalogues import catalogue as any_catalogue
from tests.fuzz.dice import Dice
from tests.fuzz.java import document
from tests.property.models import catalogues
from tests.property.test_java_round_trip import SLOW_DATA, Place, places

SAID_ANYWAY: dict[str, tuple[object, ...]] = {
    "kind": ("TimeInstantCondition", "DataPropertyCondition", "StateCondition", "DataMeasure"),
    "occurrence": ("every", "onset"),
    "process": ("claims",),
    "processId": ("claims",),
    "typed": ("true",),
    "first": ("false",),
    "singleInstanceAggFunction": ("Sum",),
    "answer": ("value",),
    "scope": ("whole time",),
    "release": ({"answer": "value"}, {}),
    # A duration is one, in whatever unit it was counted: Java's are numbers, ours are not.
    "unitOfMeasure": ("millis", "seconds", "minutes", "hours", "days"),
}
"""What a field says that would hold without it too, in what the generator writes."""


def read(document: object) -> ReadCatalogue | None:
    try:
        return read_java(json.dumps(document), "x.json", "claims")
    except DefinitionError:
        return None


def objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for where, key in places(value):
        if isinstance(where[key], dict):
            yield where[key]


def silent_losses(document: Any) -> list[tuple[str, object]]:  # noqa: ANN401 - any JSON
    """The fields without which a document reads the same, remarks and all."""
    whole = read(document)
    if whole is None or whole.remarks:
        return []
    found = []
    for number, (where, key) in enumerate(places(document)):
        if isinstance(where, list):
            continue
        value = where[key]
        if read(_without(document, number)) == whole and value not in SAID_ANYWAY.get(key, ()):
            found.append((key, value))
    return found


def _without(document: Any, number: int) -> object:  # noqa: ANN401 - any JSON
    less = copy.deepcopy(document)
    where, key = _place(less, number)
    del where[key]
    return less


def _place(document: object, number: int) -> Place:
    return list(places(document))[number]


NUMBERS = range(30)
APPROVED = {
    "ppis": [
        {
            "id": "paid",
            "approvedBy": "the board",
            "measuredBy": {
                "kind": "AggregatedMeasure",
                "aggregationFunction": "Sum",
                "baseMeasure": {
                    "kind": "CountMeasure",
                    "when": {"kind": "TimeInstantCondition", "appliesTo": "Pay",
                             "changesToState": {"genericState": "END"}},
                },
            },
        }
    ]
}  # fmt: skip


def test_no_field_of_a_java_document_is_lost_in_silence() -> None:
    for number in NUMBERS:
        assert silent_losses(document(Dice(f"loss {number}"))) == []


def test_a_reader_that_forgets_to_name_its_losses_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert silent_losses(APPROVED) == []
    monkeypatch.setattr("pappi.ppinot.notations.java.unread", lambda *_: iter(()))
    assert silent_losses(APPROVED) == [("approvedBy", "the board")]


def test_a_reader_that_looks_at_a_field_and_drops_it_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    init = Fields.__init__

    def dropping(self: Fields, *given: Any) -> None:  # noqa: ANN401
        init(self, *given)
        self.text("approvedBy")

    monkeypatch.setattr(Fields, "__init__", dropping)
    assert silent_losses(APPROVED) == [("approvedBy", "the board")]


@pytest.mark.outside
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=SLOW_DATA,
    phases=[Phase.explicit, Phase.generate],
)
@given(catalogues(), st.data())
def test_whatever_is_written_besides_is_named(catalogue: Catalogue, data: st.DataObject) -> None:
    written = json.loads(write_java(catalogue))
    assert read_java(json.dumps(written), "x.json", None).lost == ()
    where = data.draw(st.sampled_from([each for each in objects(written) if _is_of_fields(each)]))
    where["accountable"] = data.draw(st.sampled_from(["Boss", ["A", "B"], {"name": "Boss"}, 7]))
    try:
        reading = read_java(json.dumps(written), "x.json", None)
    except DefinitionError:
        return  # refused is not lost: a condition inside its name has nothing beside it
    assert reading.catalogue == catalogue
    (lost,) = reading.lost
    assert "'accountable' is not kept" in lost.message


def _is_of_fields(each: dict[str, Any]) -> bool:
    """Not a map of measures, in which every name is a variable's."""
    return not any(isinstance(inner, dict) and "kind" in inner for inner in each.values()) or (
        "kind" in each or "measuredBy" in each
    )


def test_no_attribute_of_a_diagram_is_lost_in_silence() -> None:
    named = 0
    for number in NUMBERS:
        model = bpmn.model(Dice(f"loss {number}"))
        try:
            whole = read_bpmn(model, "m.bpmn", "claims")
        except DefinitionError:
            continue
        for tag in ("ppiset", "ppi ", "aggregatedMeasure", "countMeasure", "timeConnector"):
            more = model.replace(f"<ppi:{tag}", f'<ppi:{tag.strip()} owner="Boss" ', 1)
            if more == model:
                continue
            reading = read_bpmn(more, "m.bpmn", "claims")
            assert reading.catalogue == whole.catalogue
            assert any("'owner' is not kept" in each.message for each in reading.lost)
            named += 1
    assert named > 2 * len(NUMBERS)


@pytest.mark.parametrize("notation", ["yaml", "json", "text"])
def test_our_own_notations_refuse_what_they_do_not_know(notation: str) -> None:
    """So that nothing can be lost in reading one; `convert` checks what it has written."""
    tree = any_catalogue(Dice("loss 1"))
    catalogue = parse_definitions(json.dumps(tree), "json", "c.json").catalogue
    text = write_definitions(catalogue, notation)
    more = {
        "yaml": text.replace("    measure:", "    accountable: Boss\n    measure:", 1),
        "json": text.replace('"measure"', '"accountable": "Boss", "measure"', 1),
        "text": text.replace("Definition:", "Accountable: Boss\nDefinition:", 1),
    }[notation]
    assert more != text
    assert parse_definitions(text, notation, "x").catalogue == catalogue
    with pytest.raises(DefinitionError, match=r"[aA]ccountable"):
        parse_definitions(more, notation, "x")


# --- objects of ppinot4py ---------------------------------------------------------------


def unread_attributes(measures: list[object], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What the objects have and reading them has never asked for."""
    asked: dict[int, tuple[object, set[str]]] = {}
    get = Foreign.get

    def noting(self: Foreign, name: str) -> Foreign:
        asked.setdefault(id(self.value), (self.value, set()))[1].add(name)
        return get(self, name)

    monkeypatch.setattr(Foreign, "get", noting)
    for measure in measures:
        from_ppinot4py(measure, values=["web"])
    return {
        name
        for each, names in asked.values()
        if type(each).__module__.startswith("ppinot4py") and not isinstance(each, Enum)
        for name, value in vars(each).items()
        if name not in names and value is not None
    }


def notebook() -> list[object]:
    """A measure of each kind, with every attribute that is read at all."""
    from ppinot4py import model  # type: ignore[import-untyped]

    paid, sent = "`concept:name` == 'Pay'", "`concept:name` == 'Send'"
    time = model.TimeMeasure(paid, sent, first_to=True)
    data = model.DataMeasure("channel")
    count = model.CountMeasure(model.TimeInstantCondition(paid))
    derived = model.DerivedMeasure("a + b", {"a": count, "b": model.CountMeasure(sent)})
    return [
        model.AggregatedMeasure(time, "AVG", grouper=data),
        model.AggregatedMeasure(derived, "SUM", filter_to_apply=count),
    ]


def test_of_an_object_of_ppinot4py_only_its_id_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measures: Any = notebook()
    measures[0].id = "waiting"
    # A time that is not cyclic has no cycles to aggregate.
    of_cycles = "single_instance_agg_function"
    assert unread_attributes(measures, monkeypatch) == {"id", of_cycles}


def test_an_attribute_that_nothing_reads_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    measures: Any = notebook()
    measures[0].owner = "Boss"
    assert "owner" in unread_attributes(measures, monkeypatch)
