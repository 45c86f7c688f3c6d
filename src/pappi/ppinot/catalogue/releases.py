"""How a PPI is to be released, as it is written: all of it optional."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Entries,
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
from pappi.ppinot.model import NoiseOn, ReleaseChoice, Wanted

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
_MECHANISM = one_word_of("a mechanism", {name: name for name in MECHANISM_NAMES})


def _share(node: ScalarNode, problems: Problems) -> Fraction | None:
    share = Fraction(node.text.strip())
    if not 0 < share <= 1:
        problems.add(node.position, "a share of epsilon is above 0 and at most 1", "write e.g. 0.3")
        return None
    return share


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
    _MECHANISM,
    "the mechanism; the one with the smallest predicted error if not given",
)
OWN_MECHANISM = Field(
    "mechanism",
    _MECHANISM,
    "the mechanism of this function; the planner's choice if not given",
)
SHARE = Field(
    "share",
    Written(
        "a share of epsilon",
        _share,
        example="0.3",
        pattern=r"^\s*[0-9]{0,9}\.?[0-9]{1,9}\s*$",
        types=("number", "string"),
    ),
    "its share of epsilon, above 0; all shares together are at most 1, and those not given "
    "divide what is left as the planner finds best",
)


def _named(values: Values, _: Problems) -> tuple[NoiseOn, ...]:
    return tuple(
        NoiseOn(key.text, own.mechanism, own.share) for key, own in values.named if own is not None
    )


# Under the name of its function, which the entry does not know.
_OWN: OneOf[NoiseOn] = OneOf(
    "a mechanism, or a mapping with 'mechanism' and 'share'",
    text=Then(_MECHANISM, lambda mechanism: NoiseOn("", mechanism)),
    mapping=Record(
        "noise of a function",
        (OWN_MECHANISM, SHARE),
        lambda values, _: NoiseOn("", values.get(OWN_MECHANISM), values.get(SHARE)),
    ),
)
NOISE: Field[tuple[NoiseOn, ...]] = Field(
    "noise",
    OneOf(
        "functions",
        text=Then(_NAME, lambda name: (NoiseOn(name),)),
        items=ListOf("a list of variables", Then(_NAME, NoiseOn)),
        mapping=Record(
            "functions",
            (),
            _named,
            entries=Entries(
                "a function",
                "name a variable of the formula, with dots to get deeper, or 'value'",
                _OWN,
                r"^[A-Za-z_][A-Za-z0-9_\-]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
            ),
        ),
    ),
    "the functions that carry the noise, by the names that `ppi show` lists: variables of the "
    "formula, or 'value' for the result; each with a mechanism and a share of epsilon, if wanted",
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
