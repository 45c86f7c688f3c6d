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

REHEARSAL = "Rehearsal: all cases are made up, nothing was released"
"""What stands wherever rehearsed answers are shown."""


class Verdict(StrEnum):
    """The target, judged by the whole interval and not by the noisy value alone."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Band(StrEnum):
    """The colours of a target that says what is still tolerated, best first."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


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
    """A target in the unit the answers are shown in; None is no limit on that side.

    `tolerated` is the range that is still amber, if there is one.
    """

    low: float | None
    high: float | None
    text: str
    tolerated: ShownTarget | None = None


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """A non-private value. For the owner's eyes only."""

    ppi: str
    period: Period
    group: str | None
    value: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class NoisyBins:
    """Two released sums in units of their Laplace noise's scale: of a part, and of the rest.

    Without noise they would be n·p and n·(1 − p), for an answer that lies the share p of the
    way from `low` to `high`, in the unit of the answer, and an unknown number n ≥ 0.
    """

    first: float
    second: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class NoisyValue:
    """The answer itself with Laplace noise, in its unit; None is no limit of its range."""

    at: float
    scale: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Smoothed:
    """What all periods of a series together say about one of them: a belief, not a release.

    The interval holds for all periods of the series at once, with its confidence.
    """

    value: float
    interval: Interval
    verdict: Verdict | None
    chance_met: float | None
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A released value; None where a formula has none, as in a noisy division by zero.

    The value is also None where only a verdict was asked for. `chance_met` says how sure
    one may be that the target is met, `ceiling` where values were cut off, in the unit of
    the answer, if that was chosen privately. `bands` are the colours the interval touches,
    best first: one alone is sure, several say what the noise leaves open. There are none
    without a tolerated range.

    `evidence` is what was released, where its law depends on the answer alone. `smoothed` is
    there if smoothing was asked for and possible; all other fields stay those of the release.
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
    bands: tuple[Band, ...] = ()
    evidence: NoisyBins | NoisyValue | None = None
    smoothed: Smoothed | None = None

    @property
    def best(self) -> Answer | Smoothed:
        """What is shown and judged: the smoothed value where there is one."""
        return self.smoothed or self


@dataclass(frozen=True, slots=True)
class Series:
    """All answers of one PPI, ready to be shown: one line of periods (per group).

    `clipping` says what the bounds did to the cases: values are of the clipped cases.
    `caution` says where the mechanism answers something near to what was asked.
    `group_targets` go before `target` in their groups. `smoothing` says what smoothing did, if
    it was asked for. `rehearsed` answers are about made-up cases: never a release.
    """

    ppi: str
    name: str
    unit: str
    sentence: str
    target: ShownTarget | None
    answers: tuple[Answer, ...]
    clipping: str = ""
    caution: str = ""
    group_targets: tuple[tuple[str, ShownTarget], ...] = ()
    smoothing: str = ""
    rehearsed: bool = False

    @property
    def warning(self) -> str:
        """What must be seen before anything else; nothing, for what was released."""
        return REHEARSAL if self.rehearsed else ""

    @property
    def title(self) -> str:
        return f"Rehearsal: {self.name}" if self.rehearsed else self.name

    def target_of(self, group: str | None) -> ShownTarget | None:
        if group is None:
            return self.target
        return dict(self.group_targets).get(group, self.target)

    @property
    def targets(self) -> tuple[ShownTarget, ...]:
        """Every target, the common one first."""
        common = () if self.target is None else (self.target,)
        return common + tuple(target for _, target in self.group_targets)
