"""What crosses the checkpoint: a value with its uncertainty and its guarantee.

Everything here has already been released, or is a public fact; it may be shown,
stored and drawn without further cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pappi.values.epsilon import Epsilon
from pappi.values.periods import Period
from pappi.values.privacy import Adjacency, PrivacyUnit


class Verdict(StrEnum):
    """The target, judged by the whole interval and not by the noisy value alone."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the noise-free value lies with the given confidence; None is no limit."""

    low: float | None
    high: float | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise an answer was released under."""

    epsilon: Epsilon
    unit: PrivacyUnit
    adjacency: Adjacency
    mechanism: str


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """A target in the unit the answers are shown in; None is no limit on that side."""

    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """A non-private value. For the owner's eyes only."""

    ppi: str
    period: Period
    group: str | None
    value: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A released value; None where a formula has none, as in a noisy division by zero.

    The value is also None where only a verdict was asked for. `chance_met` says how sure
    one may be that the target is met, `ceiling` where values were cut off, in the unit of
    the answer, if that was chosen privately.
    """

    ppi: str
    period: Period
    group: str | None
    value: float | None
    unit: str
    interval: Interval
    cases: float | None
    verdict: Verdict | None
    guarantee: Guarantee
    charged: Epsilon
    replayed: bool
    chance_met: float | None = None
    ceiling: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """All answers of one PPI, ready to be shown: one line of periods (per group).

    `clipping` says what the bounds did to the cases: values are of the clipped cases.
    `caution` says where the mechanism answers something near to what was asked.
    """

    ppi: str
    name: str
    unit: str
    sentence: str
    target: ShownTarget | None
    answers: tuple[Answer, ...]
    clipping: str = ""
    caution: str = ""
