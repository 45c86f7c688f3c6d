"""What a mechanism is: the one extension point of PaPPI.

A new mechanism is one module with a subclass of `Mechanism`, and one line in `registry`. Its
class says what it answers and what a reader must know; its methods give the exact output
distribution, the answer with its interval, and what is predicted before anything is drawn.
Planning, previews, audits and answers know this class alone.

`release` is a draw from the output distribution (`law`), nothing else. A mechanism that
keeps to this cannot audit one thing and release another.

`NoisyIntegers` also fixes what the distribution is: integers are computed from the cases
(`statistics`), and each gets noise of a scale that is written down without looking at
the cases (`scales`). Its noise cannot depend on the data. Privacy of all of them: if one
case moves the statistics by (d₁, d₂, …) at most, and Σ dᵢ/scaleᵢ ≤ ε for every possible
such move, then the loss between neighbours is at most ε (`JointLaw.log_ratio`). Where all
scales are alike, Σ dᵢ is the `sensitivity`, and the scale is sensitivity/ε. Each mechanism
proves that sum in its own module.

Estimates, intervals and counts are functions of the released integers and of public
facts: post-processing, and free.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms.beyond import BeyondBounds
from pappi.mechanisms.grids import (
    FINEST,
    OCTAVES_OF_LOOSE_BOUNDS,
    USUALLY,
    BinsBelow,
    NoisyBins,
    clamp,
)
from pappi.mechanisms.laws import DiscreteLaplaceLaw, JointLaw, Law, Outcome, PointLaw
from pappi.mechanisms.noise import system_randbelow
from pappi.mechanisms.prediction import (
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    Trial,
    TrialIntervals,
)
from pappi.values import CONFIDENCE, Adjacency, Bounds, Likelihood

Values = NDArray[np.float64]
"""One number per case in internal units; NaN for a case that has no value.

Pass the cases without a value too. Under `replace` the number of *cases* is public,
the number of values is not: leaving them out beforehand would publish it.
"""

Formula = Callable[[Values], float | None]
"""The value over some cases, one row each; None where it has none.

The same in whatever order the rows come, to the last bit: proofs stand on that.
"""

QUANTILE, PART_OF_WHOLE, RATIO, FORMULA = "quantile", "part of a whole", "ratio", "formula"
DISTRIBUTION = "distribution"
"""Functions beside `min`, `max`, `mean`, `share` and `sum`: the median and percentiles; a ratio of
two sums, of which the first is a part of the second or not; anything else; all values at once."""

MOST_FALLOFF = 1_000
ALL_BUT_SURE = 0.99
"""Of the margin by which the released number of cases must exceed none: one empty period in 200
does so by chance."""
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,4})?)", re.ASCII)


# --- what is to be answered -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limit:
    """One side of a target: at most `value`, or at least; itself good enough or not."""

    value: Fraction
    at_most: bool
    included: bool = True


@dataclass(frozen=True, slots=True)
class Looseness:
    """How many octaves below the high bound values may lie, and whether on both sides of zero."""

    octaves: int = OCTAVES_OF_LOOSE_BOUNDS
    either_sign: bool = False


@dataclass(frozen=True, slots=True)
class SumRatio:
    """`factor` times one sum by another; the task's bounds are those of the second."""

    factor: Fraction
    part: Bounds
    """Of what a case adds to the first sum."""
    within: bool
    """Whether in every case the first is a part of the second."""

    @property
    def output_range(self) -> tuple[float, float]:
        most = float(self.factor) * (1.0 if self.within else math.inf)
        return min(0.0, most), max(0.0, most)


@dataclass(frozen=True, slots=True)
class InBuckets:
    """A formula that is evaluated in each of `buckets` parts of the cases."""

    formula: Formula
    inputs: int
    buckets: int


class Purpose(Enum):
    """What is wanted of a function."""

    VALUE = "its value"
    VERDICT = "whether it keeps a limit, and no value"
    BOTH = "its value, with most of epsilon spent on whether it keeps a limit"


@dataclass(frozen=True, slots=True)
class Task:
    """One function to answer, by public facts alone: what a mechanism is made from.

    `bounds` are those of a case's value; of a formula, those of its result. `integral`
    promises that values are whole numbers, which are then not rounded if the bounds are whole
    too; a broken promise costs accuracy, never privacy. `output_range` is the declared range
    of the answer. With a `limit` but no `falloff` only a verdict is wanted.

    `limits` are where the bins of a distribution end, if the writer names them. Without, that
    follows from whether values are `skewed`, as durations are, and from how many `cases` are
    planned, by `bins_below`; for a quantile, there are `most_bins` at most.
    """

    function: str
    bounds: Bounds
    epsilon: Fraction
    adjacency: Adjacency
    integral: bool
    loose: Looseness | None = None
    output_range: Bounds | None = None
    limit: Limit | None = None
    falloff: Fraction | None = None
    ratio: SumRatio | None = None
    in_buckets: InBuckets | None = None
    limits: tuple[Fraction, ...] = ()
    skewed: bool = False
    cases: int | None = None
    bins_below: BinsBelow = USUALLY
    most_bins: int = FINEST

    def __post_init__(self) -> None:
        if self.falloff is not None:
            refuse_falloff(self.falloff)

    @property
    def kind(self) -> str:
        """The function; all quantiles are one."""
        return self.function if self.level is None else QUANTILE

    @property
    def level(self) -> Fraction | None:
        return quantile_level(self.function)

    @property
    def common(self) -> tuple[Bounds, Fraction, Adjacency, bool]:
        """What every mechanism is made from."""
        return self.bounds, self.epsilon, self.adjacency, self.integral

    @property
    def purpose(self) -> Purpose:
        if self.limit is None:
            return Purpose.VALUE
        return Purpose.VERDICT if self.falloff is None else Purpose.BOTH

    def octaves(self) -> int:
        """Of loose bounds, by functions that cannot do with values on both sides of zero."""
        loose = self.loose or Looseness()
        if loose.either_sign:
            raise NotReleasable(
                f"a {self.function} of values that may be negative needs declared bounds",
                hint="add e.g. `bounds: [-100, 100]`",
            )
        return loose.octaves


def refuse_falloff(falloff: Fraction) -> None:
    if not 0 < falloff <= MOST_FALLOFF:
        raise UsageError(
            f"a falloff must be above 0 and at most {MOST_FALLOFF}, not {falloff}",
            hint="3 spends three quarters of epsilon on the decision; without a target in mind, "
            "choose another mechanism",
        )


def quantile_level(function: str) -> Fraction | None:
    """The share of cases below what the function asks for; None if it is no quantile.

    >>> quantile_level("median"), quantile_level("p90"), quantile_level("mean")
    (Fraction(1, 2), Fraction(9, 10), None)
    """
    if function == "median":
        return Fraction(1, 2)
    percentile = _PERCENTILE.fullmatch(function)
    level = Fraction(percentile[1]) / 100 if percentile else Fraction(0)
    return level or None


# --- what answers it ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """The released value in internal units, and what comes with it for free.

    The value is None where a decision is all that was released. `cases` is the number of
    cases, `ceiling` the private clipping bound, above which values were cut off.

    `cases_margin` is the margin of that number at 95 %, and 0 where it is public. `least_cases` is
    how many there are at least, all but surely, where the value is nothing without any: a mean
    is, a sum of no cases is 0.
    """

    value: float | None
    cases: float | None = None
    ceiling: float | None = None
    cases_margin: float | None = None
    least_cases: float | None = None


def counted(value: float, cases: float, reach: Callable[[float], float]) -> Estimate:
    """A value that is nothing without cases, with the released number of them.

    `reach` is the margin of that number at a confidence.
    """
    least = cases - reach(ALL_BUT_SURE)
    return Estimate(value, max(cases, 0.0), None, reach(CONFIDENCE), least)


class PairNoise(Protocol):
    """The noise of the two numbers of a release that add up over disjoint cases: see `pair`.

    It is symmetric, so that the characteristic function of a weighted sum of them is real.
    """

    @property
    def on_lattice(self) -> bool:
        """Whether its characteristic function does not fade out, however high the frequency."""

    def spectrum(self, of_v: float, of_t: float, frequencies: Floats) -> Floats:
        """The characteristic function of of_v·v + of_t·t."""

    def variance(self, of_v: float, of_t: float) -> float: ...

    def scale(self, of_v: float, of_t: float) -> float:
        """By which its tails fall off: far out, by a factor e for each."""


class Replaced(Enum):
    """Under `replace`, the changes of one case that a proof covers at the full epsilon.

    Any other change is one removal and one addition: the function is then released at half
    its epsilon under `add-remove`.
    """

    VALUE = "every case has a value, before and after"
    MISSING = "a case may also come to have a value, or lose it"
    GROUP = "a case may also leave for another group"


@dataclass(frozen=True, slots=True)
class Mechanism(ABC):
    """A way to answer one function over the cases of one period with pure ε-DP.

    `bounds` are those of a case's value; where a formula is evaluated in buckets, of its result.
    """

    name: ClassVar[str]
    """In the notation, in answers, and on record."""

    earlier_name: ClassVar[str] = ""
    """Definitions may still use it, and keys keep it: they say what has been paid for."""

    functions: ClassVar[tuple[str, ...]] = ()
    """What it answers; see `Task.kind`."""

    loose_functions: ClassVar[tuple[str, ...] | None] = None
    """Those that it answers within loose bounds as well; None for all."""

    needs_loose_bounds: ClassVar[bool] = False
    """Whether it is for loose bounds alone."""

    purposes: ClassVar[tuple[Purpose, ...]] = (Purpose.VALUE,)

    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    replaced: ClassVar[Replaced] = Replaced.VALUE

    caution: ClassVar[str] = ""
    """What the value is not, where it is something near to what was asked."""

    on_request: ClassVar[str] = ""
    """Why it is taken only where the PPI names it; empty if the planner may choose it."""

    setting: ClassVar[str] = ""
    """The setting of a release that is for this mechanism alone."""

    same_law_as: ClassVar[type[Mechanism] | None] = None
    """Under whose name it goes on record; such a mechanism is only taken where it is named."""

    needs_output_range: ClassVar[bool] = False
    """Whether the range of the answer must be declared."""

    needs_public_number: ClassVar[str] = ""
    """Why the number of values must be public for it; empty if it need not be."""

    decides: ClassVar[bool] = False
    """Whether it aims at a target, and knows the verdict better than its interval tells."""

    covers_noise_only: ClassVar[bool] = False
    """Whether its interval says nothing about how far off the value is otherwise."""

    is_drawn: ClassVar[bool] = True
    """Whether releases draw it; what is derived is only read off them."""

    drawn_for: ClassVar[str] = ""
    """The function its draw is on record for, where the same draw answers others as well."""

    newer: ClassVar[bool] = False
    """Whether queries that it would answer now may be on record by another mechanism."""

    @property
    def answers_for(self) -> int:
        """How many PPIs one draw of it answers."""
        return 1

    predicts_in_formulas: ClassVar[bool] = True
    """Whether its `outcomes` are good enough for the margin of a formula above it."""

    bounds: Bounds
    epsilon: Fraction
    adjacency: Adjacency
    integral: bool

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise TypeError("epsilon must be an exact fraction")
        if self.epsilon <= 0:
            raise UsageError(f"a release needs an epsilon above 0, not {self.epsilon}")

    # --- which tasks it is for

    @classmethod
    def answers(cls, task: Task) -> bool:
        """Whether it is for this task, by what its class says."""
        if task.kind not in cls.functions or task.purpose not in cls.purposes:
            return False
        if task.loose is None:
            fits = not cls.needs_loose_bounds
        else:
            fits = cls.loose_functions is None or task.kind in cls.loose_functions
        return fits and task.adjacency in cls.adjacencies

    @classmethod
    def made_for(cls, task: Task) -> Self:
        """Ready to draw; refused where the task's public facts do not allow it."""
        return cls(*task.common)

    @property
    def recorded_name(self) -> str:
        drawn = self.same_law_as or type(self)
        return drawn.earlier_name or drawn.name

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        """What else the output distribution depends on: part of the query's key."""
        return ()

    # --- what is released

    @property
    def width(self) -> int:
        """How many values of a case it reads; more than one come as a row per case."""
        return 1

    @abstractmethod
    def law(self, values: Values) -> Law:
        """The exact output distribution. Total: never raises, for any floats."""

    @final
    def release(self, values: Values) -> Outcome:
        """The only thing that leaves; all below is post-processing of it."""
        return self.law(values).draw(system_randbelow)

    # --- what it tells

    @abstractmethod
    def estimate(self, noisy: Outcome) -> Estimate: ...

    @property
    def tells_beyond(self) -> bool:
        """Whether its draw counts the cases that its bounds cut."""
        return False

    def beyond(self, noisy: Outcome) -> BeyondBounds | None:  # noqa: ARG002 - few count them
        """How many cases the bounds cut, where that was counted in the same draw."""
        return None

    # --- what adds up over disjoint cases: see `combined`

    @property
    def pair_noise(self) -> PairNoise | None:
        """The noise of `pair`; None where what is released does not add up."""
        return None

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        """What was released, as two numbers that add up over disjoint cases.

        Of a mean, in cases: v, how much more of them lies at the high bound than at the low one,
        and t, how many there are. A case at the share p of its bounds adds 2p − 1 to v, 1 to t.
        """
        raise NotImplementedError

    @property
    def as_sum(self) -> tuple[float, float]:
        """How much of v and of t makes the sum of the clipped values."""
        raise NotImplementedError

    def sum_rounding(self, noisy: Outcome) -> float:  # noqa: ARG002 - most are exact
        """By how much the lattice may have moved that sum."""
        return 0.0

    def noisy_bins(self, noisy: Outcome) -> NoisyBins | None:  # noqa: ARG002 - one has bins
        """The released counts of bins, where that is what was drawn."""
        return None

    def interval_for_all(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """One that holds together with those of everything else the draw answers."""
        return self.interval(noisy, confidence)

    def likelihood(self, noisy: Outcome) -> Likelihood | None:  # noqa: ARG002 - most laws depend on every case
        """What was released says about the answer, in internal units, for smoothing a series.

        None where nothing is known of it without the cases: such values are not smoothed.
        """
        return None

    @abstractmethod
    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Where the noise-free answer lies, inside the output range."""

    @abstractmethod
    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """How sure one may be that the noise-free answer is at most `limit`.

        One minus the p-value of the opposite: the noise is the only chance there is, and
        what was released is as likely or likelier to come about if the answer is beyond
        the limit. A half says that nothing is known.
        """

    @property
    def output_range(self) -> tuple[float, float]:
        """Where the answer can lie at all, by public facts."""
        return self.ends

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds, as floats."""
        return float(self.bounds.low), float(self.bounds.high)

    def clamped(self, value: float) -> float:
        return clamp(value, *self.ends)

    def centre(self, at: float | None) -> float:
        """That value, within the bounds; without one, their middle."""
        low, high = self.ends
        return (low + high) / 2 if at is None else clamp(at, low, high)

    # --- what is predicted of it

    @property
    def open_ends(self) -> tuple[bool, bool]:
        """Whether its interval has no low end, and no high one, whatever is released."""
        return False, False

    def interval_tells(self, cases: float) -> bool:  # noqa: ARG002 - for nearly all it does
        """Whether its interval is expected to be much narrower than the output range."""
        return True

    @abstractmethod
    def predicted_error(self, cases: float, at: float | None) -> float:
        """Root mean square error of the estimate, from public facts only.

        `cases` is an assumed number of cases and `at` an assumed answer, such as the
        target; None is the answer when every case lies in the middle of its range.
        """

    def error_law(self, cases: int, at: float | None) -> ErrorLaw | None:  # noqa: ARG002 - for those that have one
        """How often the error is how large, from public facts only; None if no law says."""
        return None

    def value_in(self, inputs: tuple[float, ...]) -> float | None:
        """The noise-free value of a reference scenario, given that of each input it reads.

        None if it is no function of these.
        """
        return inputs[0] if len(inputs) == 1 else None

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals | None:  # noqa: ARG002 - for those that can tell
        """What intervals a release of these values would have; None if it takes a draw to tell.

        On which side of the limit they lie is exact; elsewhere they may be off a little. They
        are widened by what bounds may hide.
        """
        return None

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        """Equally likely estimates in a reference scenario: for the error of formulas.

        Unless a mechanism knows better, Laplace noise of its predicted error.
        """
        error = self.predicted_error(scenario.cases, scenario.value)
        return scenario.value + error / math.sqrt(2) * chances.laplace()


@dataclass(frozen=True, slots=True)
class NoisyIntegers(Mechanism):
    """A mechanism that adds discrete Laplace noise of fixed scales to integers."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The most by which one case can move the statistics, in total."""

    @abstractmethod
    def statistics(self, values: Values) -> Outcome:
        """The exact integers that noise is added to. Total: never raises, for any floats."""

    @property
    def scale(self) -> Fraction:
        """Of the noise; where integers have noise of several scales, of the first."""
        return self.sensitivity / self.epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        """The noise scale of each statistic; None for a public number."""
        return (self.scale,)

    @final
    def law(self, values: Values) -> Law:
        pairs = zip(self.statistics(values), self.scales, strict=True)
        return JointLaw(
            tuple(
                PointLaw(number) if scale is None else DiscreteLaplaceLaw(number, scale)
                for number, scale in pairs
            )
        )
