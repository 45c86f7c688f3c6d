"""The shapes of the YAML notation read and write from one description."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from pappi.errors import DefinitionError
from pappi.ppinot import (
    Entries,
    Field,
    ListOf,
    Problems,
    Record,
    Values,
    Written,
    one_word_of,
    parse_catalogue,
    read_document,
    write_yaml,
)
from pappi.ppinot.notations import yaml as notation
from pappi.ppinot.notations.document import yaml_text
from pappi.ppinot.notations.shapes import (
    ByForm,
    Named,
    Shape,
    Tagged,
    Then,
    Unwritable,
    record_of,
)


@dataclass(frozen=True)
class Door:
    colour: str
    locks: int = 1


@dataclass(frozen=True)
class Window:
    panes: tuple[str, ...]


Opening = Door | Window

_TEXT = Written("a text", lambda node, _: node.text)
COLOUR = Field("colour", one_word_of("a colour", {"red": "red", "blue": "blue"}), "", required=True)
LOCKS = Field("locks", Written("a number", lambda node, _: int(node.text), pattern=r"^\d+$"), "")
PANES = Field("panes", ListOf("panes", _TEXT), "")


def colour_alone(opening: Opening) -> str | None:
    return opening.colour if isinstance(opening, Door) and opening.locks == 1 else None


OPENING: ByForm[Opening] = ByForm(
    "an opening",
    text=Then(_TEXT, Door, colour_alone),
    mapping=Tagged(
        "an opening",
        {
            "colour": record_of("a door", Door, colour=COLOUR, locks=LOCKS),
            "panes": record_of("a window", Window, panes=PANES),
        },
    ),
)


def by_name(values: Values, _: Problems) -> dict[str, Opening]:
    return {key.text: opening for key, opening in values.named}


HOUSE: Named[dict[str, Opening]] = Named(
    "house",
    lambda: Record(
        "a house",
        (),
        by_name,
        entries=Entries("an opening", "", OPENING, r"^[a-z]+$"),
        parts=lambda openings: openings,
    ),
)


def read(shape: Shape[object], text: str) -> object:
    problems = Problems()
    value = shape.read(read_document(text, "f", problems.found), problems)
    assert problems.found == []
    return value


@pytest.mark.parametrize(
    ("house", "text"),
    [
        ({"front": Door("red")}, "front: red\n"),
        ({"front": Door("red", 2)}, "front:\n  colour: red\n  locks: 2\n"),
        ({"side": Window(("a", "b"))}, "side:\n  panes:\n    - a\n    - b\n"),
    ],
)
def test_a_shape_writes_the_shortest_form_and_reads_it_back(
    house: dict[str, Opening], text: str
) -> None:
    written = HOUSE.write(house)
    assert written is not None
    assert yaml_text(written).replace('"', "") == text
    assert read(HOUSE, yaml_text(written)) == house


def test_a_value_that_no_form_of_a_place_has_words_for_is_refused() -> None:
    with pytest.raises(Unwritable, match="'colour' of a door cannot say 'green'"):
        HOUSE.write({"front": Door("green", 2)})


def test_a_record_that_forgets_a_part_is_caught_before_anything_is_handed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: a writer that leaves out what a reader would have to know."""
    text = "log: l\nppis:\n  - id: a\n    measure: {number: cases}\n    comments: why\n"
    catalogue = parse_catalogue(text)
    assert "comments: why" in write_yaml(catalogue)
    whole = notation.PPI.shape()
    assert isinstance(whole, Record)

    def forgetful(ppi: object) -> dict[Field[object] | str, object]:
        parts = whole.parts(ppi)
        assert parts is not None
        return {key: part for key, part in parts.items() if key is not notation.COMMENTS}

    broken = replace(whole, parts=forgetful)
    monkeypatch.setattr(notation, "PPI", Named("ppi", lambda: broken))
    with pytest.raises(DefinitionError) as caught:
        write_yaml(catalogue)
    assert "the PPI 'a' would change" in caught.value.problems[0].message
