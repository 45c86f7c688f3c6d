"""PPIs as sentences with blanks, to be composed without knowing the notation.

A shape is a sentence with blanks, and the measure that the filled-in sentence stands for. The
result is a catalogue like any other, in YAML, to be read and changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from pappi.errors import UsageError
from pappi.ppinot import parse_catalogue, write_yaml
from pappi.values import Kind, Vocabulary

Filled = Mapping[str, str]
CASE_START, CASE_END = "case start", "case end"


@dataclass(frozen=True, slots=True)
class Blank:
    """A place in a sentence to be filled in, with one of some options or with typed text."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""

    @property
    def numeric(self) -> bool:
        return not self.options


@dataclass(frozen=True, slots=True)
class SentenceShape:
    """A kind of PPI: its sentence with the names of its blanks, and what it stands for.

    `measured` gives keys of the PPI: its measure and its bounds. `target_unit` is the unit of its
    target; None is the unit filled in.
    """

    id: str
    called: str
    sentence: str
    blanks: Callable[[Vocabulary], tuple[Blank, ...]]
    measured: Callable[[Filled], dict[str, Any]]
    target_unit: str | None = ""

    def pieces(self, vocabulary: Vocabulary) -> tuple[str | Blank, ...]:
        """The words and blanks of the sentence, in order."""
        blanks = {blank.name: blank for blank in self.blanks(vocabulary)}
        by_turns = enumerate(_BLANK.split(self.sentence))  # words, which may be none, and a name
        return tuple(blanks[piece] if n % 2 else piece for n, piece in by_turns if piece)


_BLANK = re.compile(r" ?\{(\w+)\} ?")
_FIGURES = (("mean", "average"), ("median", "median"), ("max", "longest"), ("min", "shortest"))
_AMOUNTS = (("mean", "average"), ("sum", "sum"), ("max", "largest"), ("min", "smallest"))
_UNITS = (("hours", "hours"), ("days", "days"), ("minutes", "minutes"))


def _activities(vocabulary: Vocabulary) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in vocabulary.activities)


def _moment(chosen: str) -> Any:  # noqa: ANN401 - a word or a mapping, as the notation has it
    return chosen.removeprefix("#") if chosen.startswith("#") else {"activity": chosen}


def _moments(vocabulary: Vocabulary, border: str) -> tuple[tuple[str, str], ...]:
    """A case border and the activities; the border is marked, as an activity may have its name."""
    called = {CASE_START: "the case's first event", CASE_END: "the case's last event"}[border]
    return ((f"#{border}", called), *_activities(vocabulary))


def _happening(names: Vocabulary) -> tuple[Blank, ...]:
    return (Blank("activity", "what happens", _activities(names)),)


def _number(text: str) -> Any:  # noqa: ANN401 - a number if it is one; else the notation complains
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


SHAPES: Mapping[str, SentenceShape] = {
    shape.id: shape
    for shape in (
        SentenceShape(
            "time",
            "Duration",
            "The {figure} time from {from} to {to} in {unit}, where longer times count as {most}.",
            lambda names: (
                Blank("figure", "figure", _FIGURES),
                Blank("from", "from", _moments(names, CASE_START)),
                Blank("to", "to", _moments(names, CASE_END)),
                Blank("unit", "unit", _UNITS, "days"),
                Blank("most", "longest time that counts", value="30"),
            ),
            lambda filled: {
                "measure": {
                    filled["figure"]: {
                        "time": {"from": _moment(filled["from"]), "to": _moment(filled["to"])},
                        "unit": filled["unit"],
                    }
                },
                "bounds": [f"0 {filled['unit']}", f"{filled['most']} {filled['unit']}"],
            },
            None,
        ),
        SentenceShape(
            "within",
            "On-time rate",
            "The share of cases in which {to} comes within {limit} {unit} of {from}.",
            lambda names: (
                Blank("to", "what should happen", _activities(names)),
                Blank("limit", "time limit", value="3"),
                Blank("unit", "unit", _UNITS, "hours"),
                Blank("from", "from", _moments(names, CASE_START)),
            ),
            lambda filled: {
                "measure": {
                    "share": {
                        "derive": f"delay <= {filled['limit']} {filled['unit']}",
                        "delay": {
                            "time": {
                                "from": _moment(filled["from"]),
                                "to": {"first": _moment(filled["to"])},
                            }
                        },
                    }
                }
            },
            "%",
        ),
        SentenceShape(
            "share",
            "Share of cases",
            "The share of cases in which {activity} happens.",
            _happening,
            lambda filled: {"measure": {"share": {"condition": {"activity": filled["activity"]}}}},
            "%",
        ),
        SentenceShape(
            "number",
            "Number of cases",
            "The number of cases in which {activity} happens.",
            _happening,
            lambda filled: {"measure": {"sum": {"condition": {"activity": filled["activity"]}}}},
        ),
        SentenceShape(
            "often",
            "Frequency",
            "How often {activity} happens in a case, on average, where higher counts count as "
            "{most}.",
            lambda names: (*_happening(names), Blank("most", "highest count", value="10")),
            lambda filled: {
                "measure": {"mean": {"count": {"activity": filled["activity"]}}},
                "bounds": [0, _number(filled["most"])],
            },
        ),
        SentenceShape(
            "data",
            "Amount",
            "The {figure} of {attribute} as last recorded in a case, clipped to at least {least} "
            "and at most {most}.",
            lambda names: (
                Blank("figure", "figure", _AMOUNTS),
                Blank(
                    "attribute",
                    "attribute",
                    tuple((n, n) for n, kind in names.attributes.items() if kind is Kind.NUMBER),
                ),
                Blank("least", "lower bound", value="0"),
                Blank("most", "upper bound", value="1000"),
            ),
            lambda filled: {
                "measure": {filled["figure"]: {"data": filled["attribute"]}},
                "bounds": [_number(filled["least"]), _number(filled["most"])],
            },
        ),
    )
}


def shapes_for(vocabulary: Vocabulary) -> tuple[SentenceShape, ...]:
    """The shapes whose every blank has something to choose from."""
    return tuple(
        shape
        for shape in SHAPES.values()
        if all(
            isinstance(piece, str) or piece.options or piece.value
            for piece in shape.pieces(vocabulary)
        )
    )


PERIODS = ("day", "week", "month", "quarter", "year")
DIRECTIONS = ("below", "at most", "above", "at least")
_PLACE = "the sentence"
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Composer:
    """A sentence with what has been filled in so far."""

    shape: SentenceShape
    pieces: tuple[str | Blank, ...]
    name: str
    period: str
    direction: str
    target: str

    @property
    def filled(self) -> Mapping[str, str]:
        return {piece.name: piece.value for piece in self.pieces if isinstance(piece, Blank)}


def composer(shape: SentenceShape, vocabulary: Vocabulary, sent: Mapping[str, str]) -> Composer:
    """The sentence of a shape, its blanks filled in with what was sent, or with defaults."""
    pieces = tuple(
        piece if isinstance(piece, str) else _filled(piece, sent)
        for piece in shape.pieces(vocabulary)
    )
    return Composer(
        shape,
        pieces,
        name=sent.get("name", ""),
        period=sent.get("period", "") or "month",
        direction=sent.get("direction", ""),
        target=sent.get("target", ""),
    )


def _filled(blank: Blank, sent: Mapping[str, str]) -> Blank:
    typed = sent.get(f"blank-{blank.name}", "")
    if typed and (blank.numeric or typed in dict(blank.options)):
        return replace(blank, value=typed)
    return blank if blank.value or blank.numeric else replace(blank, value=blank.options[0][0])


def composed(filled: Composer, log: str) -> str:
    """The catalogue that a filled-in sentence stands for; DefinitionError if it is not valid."""
    name = filled.name or _called(filled)
    ppi: dict[str, Any] = {"id": _id(name), "name": name, **filled.shape.measured(filled.filled)}
    if filled.direction or filled.target:
        _refuse_half_a_target(filled)
        ppi["target"] = f"{filled.direction} {filled.target} {_target_unit(filled)}".strip()
    ppi["scope"] = f"every {filled.period}"
    text = yaml.safe_dump({"log": log, "ppis": [ppi]}, sort_keys=False, allow_unicode=True)
    return write_yaml(parse_catalogue(text, _PLACE))


def _target_unit(filled: Composer) -> str:
    """The unit after a plain number; none for a share, which may be meant as a fraction."""
    unit = filled.shape.target_unit
    if not isinstance(_number(filled.target), int | float) or unit == "%":
        return ""
    return filled.filled["unit"] if unit is None else unit


def _refuse_half_a_target(filled: Composer) -> None:
    """Half a target is an error: what was typed is never dropped."""
    if not filled.direction:
        raise UsageError(
            f"the target {filled.target} has no direction",
            hint=f"choose {', '.join(DIRECTIONS[:-1])} or {DIRECTIONS[-1]} before it, or empty it",
        )
    if not filled.target:
        raise UsageError(
            f"the value should be {filled.direction} … what?",
            hint="type a number, or choose anything instead",
        )


def _called(filled: Composer) -> str:
    """The sentence without its bounds, as a name."""
    texts = (
        piece if isinstance(piece, str) else dict(piece.options).get(piece.value, piece.value)
        for piece in filled.pieces
    )
    sentence = " ".join(texts).replace(" ,", ",").replace(" .", "")
    short = sentence.split(", where ")[0].split(" as last recorded ")[0].removeprefix("The ")
    short = short.rstrip(".")
    return short[:1].upper() + short[1:_LONGEST_NAME]


def _id(name: str) -> str:
    """
    >>> _id("Mean time, in days"), _id("12 %")
    ('mean-time-in-days', 'ppi')
    """
    words: Sequence[str] = re.findall(r"[a-z0-9]+", name.lower())
    identity = "-".join(words)[:60].strip("-")
    return identity if identity[:1].isalpha() else "ppi"
