"""How a PPI is to be released, as it is written: all of it optional."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Field,
    ListOf,
    OneOf,
    Problems,
    Record,
    Then,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.model import ReleaseChoice, Wanted

MECHANISM_NAMES = (
    "laplace",
    "two-bin",
    "interval",
    "threshold",
    "sample-and-aggregate",
    "hexagon",
    "ranked",
    "private ceiling",
)

_NAME = Written("a variable, or 'value'", lambda node, _: node.text.strip(), example="received")


def _falloff(node: ScalarNode, _: Problems) -> Fraction:
    return Fraction(node.text.strip())


def _buckets(node: ScalarNode, _: Problems) -> int:
    return int(node.text)


ANSWER = Field(
    "answer",
    one_word_of("'value' or 'verdict'", {wanted.value: wanted for wanted in Wanted}),
    "what is wanted: the value, or only whether the target is met, which is known better",
)
MECHANISM = Field(
    "mechanism",
    one_word_of("a mechanism", {name: name for name in MECHANISM_NAMES}),
    "the mechanism; the one with the smallest predicted error if not given",
)
NOISE: Field[tuple[str, ...]] = Field(
    "noise",
    OneOf(
        "variables",
        text=Then(_NAME, lambda name: (name,)),
        items=ListOf("a list of variables", _NAME),
    ),
    "the variables of the formula that carry the noise, or 'value' for the result",
)
FALLOFF = Field(
    "falloff",
    Written(
        "a number",
        _falloff,
        example="3",
        pattern=r"^\s*[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?\s*$",
        types=("number", "string"),
    ),
    "of the threshold mechanism: how many times as much goes to the verdict as to the value",
)
BUCKETS = Field(
    "buckets",
    Written("a whole number", _buckets, example="20", pattern=r"^[0-9]{1,9}$", types=("integer",)),
    "of sample-and-aggregate: into how many parts the cases are dealt",
)


def _release(values: Values, _: Problems) -> ReleaseChoice:
    return ReleaseChoice(
        answer=values.get(ANSWER) or Wanted.VALUE,
        mechanism=values.get(MECHANISM),
        noise=values.get(NOISE) or (),
        falloff=values.get(FALLOFF),
        buckets=values.get(BUCKETS),
    )


RELEASE = Record("a release", (ANSWER, MECHANISM, NOISE, FALLOFF, BUCKETS), _release)
