"""PPIs as sentences with blanks: what can be composed without knowing the notation.

A shape has a sentence, some of whose pieces are blanks, and says which measure the filled-in
sentence stands for. The result is a catalogue like any other, in YAML, to be read and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pappi.values.vocabulary import Kind, Vocabulary

Filled = Mapping[str, str]
Measured = tuple[dict[str, Any], dict[str, Any]]
"""A measure, and what stands beside it in a PPI: bounds and unit."""

CASE_START, CASE_END = "case start", "case end"


@dataclass(frozen=True, slots=True)
class Blank:
    """A place in a sentence to be filled in: with one of some options, or with what is typed."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""

    @property
    def numeric(self) -> bool:
        return not self.options


@dataclass(frozen=True, slots=True)
class Shape:
    """A sort of PPI, its sentence, and the unit its target is in."""

    id: str
    called: str
    pieces: Callable[[Vocabulary], tuple[str | Blank, ...]]
    measured: Callable[[Filled], Measured]
    target_unit: Callable[[Filled], str]


_FIGURES = (("mean", "average"), ("median", "median"), ("max", "longest"), ("min", "shortest"))
_AMOUNTS = (("mean", "average"), ("sum", "sum"), ("max", "largest"), ("min", "smallest"))
_UNITS = (("hours", "hours"), ("days", "days"), ("minutes", "minutes"))


def _activities(vocabulary: Vocabulary) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in vocabulary.activities)


def _numbers(vocabulary: Vocabulary) -> tuple[tuple[str, str], ...]:
    found = (name for name, kind in vocabulary.attributes.items() if kind is Kind.NUMBER)
    return tuple((name, name) for name in found)


def _moment(chosen: str) -> Any:  # noqa: ANN401 - a word or a mapping, as the notation has it
    return chosen.removeprefix("#") if chosen.startswith("#") else {"activity": chosen}


def _moments(vocabulary: Vocabulary, border: str) -> tuple[tuple[str, str], ...]:
    """The border of a case among the activities; marked, as an activity may be called so."""
    called = {CASE_START: "the case's first event", CASE_END: "the case's last event"}[border]
    return ((f"#{border}", called), *_activities(vocabulary))


# --- how long ---------------------------------------------------------------------------


def _time_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    return (
        "The",
        Blank("figure", "figure", _FIGURES),
        "time from",
        Blank("from", "from", _moments(vocabulary, CASE_START)),
        "to",
        Blank("to", "to", _moments(vocabulary, CASE_END)),
        "in",
        Blank("unit", "unit", _UNITS, "days"),
        ", where a longer time than",
        Blank("most", "longest time that counts", value="30"),
        "of them counts as that.",
    )


def _time_measured(filled: Filled) -> Measured:
    unit = filled["unit"]
    time = {"from": _moment(filled["from"]), "to": _moment(filled["to"])}
    measure = {filled["figure"]: {"time": time, "unit": unit}}
    return measure, {"bounds": [f"0 {unit}", f"{filled['most']} {unit}"]}


# --- how many in time, how many at all --------------------------------------------------


def _within_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    return (
        "The share of cases in which",
        Blank("to", "what should happen", _activities(vocabulary)),
        "comes within",
        Blank("limit", "time limit", value="3"),
        Blank("unit", "unit", _UNITS, "hours"),
        "of",
        Blank("from", "from", _moments(vocabulary, CASE_START)),
        ".",
    )


def _within_measured(filled: Filled) -> Measured:
    delay = {"from": _moment(filled["from"]), "to": {"first": _moment(filled["to"])}}
    condition = f"delay <= {filled['limit']} {filled['unit']}"
    return {"share": {"derive": condition, "delay": {"time": delay}}}, {}


def _share_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    happens = Blank("activity", "what happens", _activities(vocabulary))
    return ("The share of cases in which", happens, "happens.")


def _share_measured(filled: Filled) -> Measured:
    return {"share": {"condition": {"activity": filled["activity"]}}}, {}


def _number_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    happens = Blank("activity", "what happens", _activities(vocabulary))
    return ("The number of cases in which", happens, "happens.")


def _number_measured(filled: Filled) -> Measured:
    return {"sum": {"condition": {"activity": filled["activity"]}}}, {}


# --- how often, how much ----------------------------------------------------------------


def _often_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    return (
        "How often",
        Blank("activity", "what happens", _activities(vocabulary)),
        "happens in a case, on average, where more than",
        Blank("most", "most often that counts", value="10"),
        "times count as that many.",
    )


def _often_measured(filled: Filled) -> Measured:
    count = {"count": {"activity": filled["activity"]}}
    return {"mean": count}, {"bounds": [0, _number(filled["most"])]}


def _data_pieces(vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
    return (
        "The",
        Blank("figure", "figure", _AMOUNTS),
        "of",
        Blank("attribute", "attribute", _numbers(vocabulary)),
        "as last recorded in a case, which counts as at least",
        Blank("least", "least that counts", value="0"),
        "and at most",
        Blank("most", "most that counts", value="1000"),
        ".",
    )


def _data_measured(filled: Filled) -> Measured:
    bounds = [_number(filled["least"]), _number(filled["most"])]
    return {filled["figure"]: {"data": filled["attribute"]}}, {"bounds": bounds}


def _number(text: str) -> Any:  # noqa: ANN401 - a number if it is one; else the notation complains
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _percent(_filled: Filled) -> str:
    return "%"


def _plain(_filled: Filled) -> str:
    return ""


SHAPES: Mapping[str, Shape] = {
    shape.id: shape
    for shape in (
        Shape("time", "How long", _time_pieces, _time_measured, lambda filled: filled["unit"]),
        Shape("within", "How many in time", _within_pieces, _within_measured, _percent),
        Shape("share", "In how many", _share_pieces, _share_measured, _percent),
        Shape("number", "How many", _number_pieces, _number_measured, _plain),
        Shape("often", "How often", _often_pieces, _often_measured, _plain),
        Shape("data", "How much", _data_pieces, _data_measured, _plain),
    )
}


def shapes_for(vocabulary: Vocabulary) -> tuple[Shape, ...]:
    """The shapes whose every blank has something to choose from."""
    return tuple(
        shape
        for shape in SHAPES.values()
        if all(isinstance(piece, str) or _fillable(piece) for piece in shape.pieces(vocabulary))
    )


def _fillable(blank: Blank) -> bool:
    return bool(blank.options) or bool(blank.value)
