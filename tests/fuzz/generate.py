"""All notations: how a definition in each of them is generated, written and read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    ConditionMeasure,
    DataMeasure,
    DerivedSingleInstance,
    MultiInstance,
    Occurs,
    Ppi,
    Scope,
    measure_kind,
    parse_catalogue,
    render,
)
from pappi.ppinot.expressions import kind_of, names_in
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import EVENT_NAMES, Measure
from pappi.ppinot.notations.bpmn import read_bpmn
from pappi.ppinot.notations.java import read_java
from pappi.ppinot.notations.sentence_phrases import Dialect
from pappi.ppinot.notations.sentences import parse_sentence
from pappi.ppinot.notations.template import read_template
from pappi.values import HOURS, NUMBER, Kind, parse_calendar
from tests.fuzz import bpmn, catalogues, java, objects
from tests.fuzz.dice import Dice
from tests.fuzz.documents import json_text, yaml_text
from tests.fuzz.expressions import Expressions
from tests.fuzz.sentences import Sentences, template
from tests.fuzz.trial import Reader
from tests.fuzz.vocabulary import VOCABULARY

_KINDS = {**VOCABULARY.attributes, **EVENT_NAMES}
_DIALECT = Dialect(
    calendar=parse_calendar("Mon-Fri 09:00-17:00"),
    groups={"channel": ("phone", "web")},
    renamed={"concept:name": "activity"},
)


@dataclass(frozen=True, slots=True)
class Notation:
    """How definitions are made and read.

    `tree` gives a definition as mappings and lists, which `text` writes down; without trees it
    gives the text. What is no text to its users only changes in the tree.
    """

    read: Reader
    tree: Callable[[Dice], Any]
    text: Callable[[Any, Dice], str]
    has_trees: bool = True
    is_text: bool = True

    def definition(self, dice: Dice) -> str:
        return self.text(self.tree(dice), dice)


# --- reading --------------------------------------------------------------------------


def read_expression(text: str) -> Catalogue:
    """As a formula over attributes; what is true or false, by turns as a condition on events."""
    found = parse_expression(text)
    if parse_expression(render(found)) != found:
        raise AssertionError(f"what is written for it is read as something else: {render(found)}")
    variables = tuple((name, DataMeasure(name)) for name in sorted(names_in(found)))
    derived = DerivedSingleInstance(found, variables)
    if kind_of(found, _KINDS)[0] is not Kind.TRUTH:
        return in_catalogue(AggregatedMeasure(Aggregation.MEAN, derived))
    base = ConditionMeasure(Occurs(found)) if len(text) % 3 else derived
    return in_catalogue(AggregatedMeasure(Aggregation.SHARE, base))


def read_sentence(text: str) -> Catalogue:
    measure, scope, _ = parse_sentence(text, _DIALECT)
    return in_catalogue(measure, scope)


def read_objects(text: str) -> Catalogue:
    return in_catalogue(objects.read_objects(text))


def in_catalogue(measure: Measure, scope: Scope | None = None) -> Catalogue:
    """A catalogue of one PPI, in a unit that fits; of one case, it counts those with a value."""
    if not isinstance(measure, MultiInstance):
        measure = AggregatedMeasure(Aggregation.COUNT, measure)
    is_time = measure_kind(measure, VOCABULARY) is Kind.DURATION
    ppi = Ppi("x", "x", measure, HOURS if is_time else NUMBER, scope or Scope(None))
    return Catalogue("log", (ppi,))


# --- all of them ----------------------------------------------------------------------


def _expression(dice: Dice) -> str:
    kind = dice.one((Kind.TRUTH, Kind.NUMBER, Kind.DURATION))
    found = Expressions(dice)
    return found.extreme(kind) if dice.chance(2) else found.of(kind, dice.number(2, 4))


def _sentence(dice: Dice) -> str:
    return Sentences(dice).sentence()


def _as_it_is(text: str, _: Dice) -> str:
    return text


def _dumped(tree: object, _: Dice) -> str:
    return json.dumps(tree)


NOTATIONS: dict[str, Notation] = {
    "expression": Notation(read_expression, _expression, _as_it_is, has_trees=False),
    "yaml": Notation(parse_catalogue, catalogues.catalogue, yaml_text),
    "json": Notation(parse_catalogue, catalogues.catalogue, json_text),
    "sentence": Notation(read_sentence, _sentence, _as_it_is, has_trees=False),
    "text": Notation(read_template, template, _as_it_is, has_trees=False),
    "java": Notation(lambda text: read_java(text, log="log").catalogue, java.document, json_text),
    "bpmn": Notation(
        lambda text: read_bpmn(text, log="log").catalogue, bpmn.model, _as_it_is, has_trees=False
    ),
    "objects": Notation(read_objects, objects.measure, _dumped, is_text=False),
}
READERS: dict[str, Reader] = {name: each.read for name, each in NOTATIONS.items()}

TURNS = (
    *("expression", "yaml", "sentence", "java", "expression", "json", "text", "objects"),
    *("expression", "yaml", "sentence", "bpmn"),
)
"""In which order the notations take turns, those with more to say more often."""
