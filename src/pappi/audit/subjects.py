"""What can be audited by name: every mechanism, for every function and adjacency.

A family is one mechanism for one function. Whatever can be released belongs to a family
here; a mechanism that `choose` offers and that is missing fails a test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np

from pappi.audit.datasets import Column, handmade
from pappi.audit.questions import Question, standard_question
from pappi.audit.sampling import Released, Trial
from pappi.errors import UsageError
from pappi.mechanisms.choose import (
    MECHANISMS,
    OF_PUBLIC_NUMBER,
    Looseness,
    decision_for,
    mechanism_for,
    mechanisms_of,
    threshold_for,
)
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.margins import Limit, RatioMargin
from pappi.mechanisms.mechanism import Mechanism, Values
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.threshold import NoisyMargin
from pappi.tree.aggregates import exact_sum
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

ALL = "all"

# A promise that 5,000 answers can tell from twice its epsilon.
STANDARD_EPSILON = Fraction(1)

_SIGNED = Bounds(Fraction(-100), Fraction(10))
_POSITIVE = Bounds(Fraction(0), Fraction(100))
_SMALL = Bounds(Fraction(0), Fraction(2))

# Few enough outcomes are likely here to count each of them.
_SMALL_EPSILON = Fraction(2)
_SMALL_VALUES = (0.0, 1.0, 2.0, 2.0)

_FALLOFF = Fraction(3)
_FOUR = Fraction(4)
_OCTAVES = 3
_BUCKETS = 4
_MOST_IN_SUM = 10


class Make(Protocol):
    """Makes a mechanism for bounds of any width."""

    def __call__(
        self, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
    ) -> Mechanism: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """One promise: what is released together about a case, and for which epsilon.

    `trials` are what layer 2 draws; `questions` are what layer 3 asks the checkpoint. `ppi`
    names the PPI it is about, if it is about one, and `unit_cases` is how many cases a person
    may have.
    """

    name: str
    mechanism: str
    function: str
    adjacency: Adjacency
    epsilon: Fraction
    mechanisms: tuple[Released, ...]
    columns: tuple[Column, ...]
    trials: tuple[Trial, ...]
    questions: tuple[Question, ...] = ()
    ppi: str | None = None
    unit_cases: int = 1


@dataclass(frozen=True, slots=True)
class Family:
    """A mechanism for one function, over real values and over whole numbers.

    `asked` says that the planner may answer a plain PPI of the function by it. Below the
    `least_epsilon` its worst pairs have more cases than the audit's data sets. `adjacencies`
    are those it is for.
    """

    mechanism: str
    function: str
    make: Make
    bounds: Bounds = _SIGNED
    small: Bounds = _SMALL
    width: int = 1
    asked: bool = True
    least_epsilon: Fraction = Fraction(0)
    adjacencies: tuple[Adjacency, ...] = tuple(Adjacency)

    def subjects(self, wanted: Fraction) -> Iterator[Subject]:
        epsilon = max(wanted, self.least_epsilon)
        for adjacency in self.adjacencies:
            question = standard_question(self.mechanism, self.function, adjacency, epsilon)
            questions = (question,) if question is not None and self.asked else ()
            # Layer 3 brings its own values: with one of the two is enough.
            yield self._subject(epsilon, adjacency, questions, integral=False)
            yield self._subject(epsilon, adjacency, (), integral=True)

    def _subject(
        self,
        epsilon: Fraction,
        adjacency: Adjacency,
        questions: tuple[Question, ...],
        *,
        integral: bool,
    ) -> Subject:
        released = self.make(self.bounds, epsilon, adjacency, integral=integral)
        columns = (Column(self.bounds, target=float(_limit(self.bounds).value)),) * self.width
        kind = "whole numbers" if integral else "numbers"
        return Subject(
            name=f"{self.function} of {kind} in [{self.bounds.low}, {self.bounds.high}]",
            mechanism=self.mechanism,
            function=self.function,
            adjacency=adjacency,
            epsilon=epsilon,
            mechanisms=(released,),
            columns=columns,
            trials=(ordinary_trial(released, columns), self._small_trial(adjacency)),
            questions=questions,
        )

    def _small_trial(self, adjacency: Adjacency) -> Trial:
        mechanism = self.make(self.small, _SMALL_EPSILON, adjacency, integral=True)
        return Trial(mechanism, tuple((value,) * self.width for value in _SMALL_VALUES))


def ordinary_trial(mechanism: Released, columns: tuple[Column, ...]) -> Trial:
    """Draws over cases that are spread evenly over the range."""
    (data,) = handmade(columns)["ordinary"]
    return Trial(mechanism, data)


def _limit(bounds: Bounds) -> Limit:
    return Limit(bounds.low + bounds.width / 4, at_most=True)


def _chosen(
    function: str,
    name: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
) -> Mechanism:
    """As a planner makes it; the declared range of a sum is that of some cases."""
    reach = Bounds(_MOST_IN_SUM * min(bounds.low, Fraction(0)), _MOST_IN_SUM * bounds.high)
    return mechanism_for(
        function, bounds, epsilon, adjacency, integral=integral, name=name, value_range=reach
    )


def _decided(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    limit = _limit(bounds)
    return decision_for(function, bounds, epsilon, adjacency, integral=integral, limit=limit)


def _aimed(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    return threshold_for(
        function,
        bounds,
        epsilon,
        adjacency,
        integral=integral,
        limit=_limit(bounds),
        falloff=_FALLOFF,
    )


def _ratio(bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool) -> Mechanism:
    return TwoBinRatio(bounds, epsilon, adjacency, integral, Fraction(1), bounds)


def _loose(
    function: str,
    name: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
) -> Mechanism:
    loose = Looseness(_OCTAVES)
    return mechanism_for(
        function, bounds, epsilon, adjacency, integral=integral, name=name, loose=loose
    )


def _hexagon(
    bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    return HexagonRatio(bounds, epsilon, adjacency, integral, Fraction(1), bounds)


def _ratio_decided(
    bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    limit = Limit(Fraction(1, 3), at_most=True)
    margin = RatioMargin(bounds, integral, limit, bounds, cut=False)
    return NoisyMargin(bounds, epsilon, adjacency, integral, margin, limit, (0.0, math.inf))


def _sampled(
    bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    """Of a quotient, over a range that it often leaves."""
    return SampleAndAggregate(bounds, epsilon, adjacency, integral, _quotient, 2, _BUCKETS)


def _quotient(rows: Values) -> float | None:
    present = rows[~np.isnan(rows).any(axis=1)]
    if not len(present):
        return None
    with np.errstate(all="ignore"):
        return float(np.median(present[:, 0]) / exact_sum(present[:, 1]))


def _bounds(function: str) -> Bounds:
    return UNIT_INTERVAL if function == "share" else _SIGNED


def _small(function: str) -> Bounds:
    return UNIT_INTERVAL if function == "share" else _SMALL


_FUNCTIONS = sorted((*MECHANISMS, "p90"))
_COUNTED = (Adjacency.REPLACE,)

FAMILIES: tuple[Family, ...] = (
    *(
        Family(
            name, function, partial(_chosen, function, name), _bounds(function), _small(function)
        )
        for function in _FUNCTIONS
        for name in mechanisms_of(function)
    ),
    *(
        Family(name, f, partial(_chosen, f, name), _bounds(f), _small(f), adjacencies=_COUNTED)
        for f, name in OF_PUBLIC_NUMBER.items()
    ),
    *(
        Family("threshold", f, partial(_aimed, f), _bounds(f), _small(f), asked=False)
        for f in _FUNCTIONS
        if f != "sum"  # answered by its plain mechanism
    ),
    *(
        Family("decision", f, partial(_decided, f), _bounds(f), _small(f), asked=False)
        for f in _FUNCTIONS
    ),
    Family("two-bin", "ratio", _ratio, _POSITIVE, width=2),
    Family("hexagon", "ratio", _hexagon, _POSITIVE, width=2, asked=False),
    Family("decision", "ratio", _ratio_decided, _POSITIVE, width=2, asked=False),
    *(
        Family(name, f"loose {f}", partial(_loose, f, name), asked=False, least_epsilon=_FOUR)
        for f, name in (
            ("max", "ranked"),
            ("min", "interval"),
            ("median", "interval"),
            ("mean", "private ceiling"),
            ("sum", "private ceiling"),
        )
    ),
    Family("sample-and-aggregate", "formula", _sampled, width=3, asked=False),
)


def subjects_named(name: str, epsilon: Fraction = STANDARD_EPSILON) -> tuple[Subject, ...]:
    """The promises of one mechanism, of one function, or of all of them.

    >>> sorted({subject.function for subject in subjects_named("two-bin")})
    ['mean', 'ratio', 'share']
    """
    found = [f for f in FAMILIES if name in (ALL, f.mechanism, f.function)]
    if not found:
        mechanisms = dict.fromkeys(family.mechanism for family in FAMILIES)
        functions = dict.fromkeys(family.function for family in FAMILIES)
        raise UsageError(
            f"'{name}' is neither a file nor a mechanism or function to audit",
            hint=f"name a catalogue file, 'ledger', '{ALL}', a mechanism "
            f"({', '.join(mechanisms)}) or a function ({', '.join(functions)})",
        )
    return tuple(subject for family in found for subject in family.subjects(epsilon))
