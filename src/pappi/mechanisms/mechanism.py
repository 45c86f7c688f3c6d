"""What every mechanism is, and the one way in which all of them release.

`DrawnFromLaw`: `release` is a draw from the law, nothing else. A mechanism that keeps
to this cannot audit one thing and release another.

`NoisyIntegers` also fixes what the law is: integers are computed from the cases
(`statistics`), and each gets noise of a scale that is written down without looking at
the cases (`scales`). Its noise cannot depend on the data. Privacy of all of them: if one
case moves the statistics by (d₁, d₂, …) at most, and Σ dᵢ/scaleᵢ ≤ ε for every possible
such move, then the loss between neighbours is at most ε (`JointLaw.log_ratio`). Each
mechanism proves that sum in its own module.

Estimates, intervals and counts are functions of the released integers and of public
facts: post-processing, and free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, final

import numpy as np
from numpy.typing import NDArray

from pappi.errors import UsageError
from pappi.mechanisms.laws import DiscreteLaplaceLaw, JointLaw, Law, Outcome, PointLaw
from pappi.mechanisms.noise import system_randbelow
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency

Values = NDArray[np.float64]
"""One number per case in internal units; NaN for a case that has no value.

Pass the cases without a value too. Under `replace` the number of *cases* is public,
the number of values is not: leaving them out beforehand would publish it.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The released value in internal units, and what comes with it for free.

    The value is None where a decision is all that was released. `cases` is the number of
    cases, `ceiling` the bound that was chosen privately, above which values were cut off.
    """

    value: float | None
    cases: float | None = None
    ceiling: float | None = None


class Mechanism(Protocol):
    """A way to answer one function over the cases of one period with pure ε-DP."""

    @property
    def name(self) -> str: ...

    @property
    def bounds(self) -> Bounds:
        """Of a case's value; where a formula is evaluated in buckets, of its result."""
        ...

    @property
    def epsilon(self) -> Fraction: ...

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def width(self) -> int:
        """How many values of a case it reads; more than one come as a row per case."""
        ...

    def law(self, values: Values) -> Law:
        """The exact distribution of what `release` gives. Total: never raises, for any floats."""
        ...

    def release(self, values: Values) -> Outcome:
        """The only thing that leaves; all below is post-processing of it."""
        ...

    def estimate(self, noisy: Outcome) -> Estimate: ...

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Where the noise-free answer lies, inside the public range where there is one."""
        ...

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """How sure one may be that the noise-free answer is at most `limit`.

        One minus the p-value of the opposite: the noise is the only chance there is, and
        what was released is as likely or likelier to come about if the answer is beyond
        the limit. A half says that nothing is known.
        """
        ...

    def predicted_error(self, cases: float, at: float | None) -> float:
        """Root mean square error of the estimate, from public facts only.

        `cases` is an assumed number of cases and `at` an assumed answer, such as the
        target; None is the answer when every case lies in the middle of its range.
        """
        ...


@dataclass(frozen=True, slots=True)
class DrawnFromLaw(ABC):
    """A mechanism over clipped values whose release is a draw from its law."""

    name: ClassVar[str]

    bounds: Bounds
    epsilon: Fraction
    adjacency: Adjacency
    integral: bool

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise TypeError("epsilon must be an exact fraction")
        if self.epsilon <= 0:
            raise UsageError(f"a release needs an epsilon above 0, not {self.epsilon}")

    @property
    def width(self) -> int:
        return 1

    @abstractmethod
    def law(self, values: Values) -> Law: ...

    @final
    def release(self, values: Values) -> Outcome:
        return self.law(values).draw(system_randbelow)


@dataclass(frozen=True, slots=True)
class NoisyIntegers(DrawnFromLaw):
    """A mechanism that adds discrete Laplace noise of fixed scales to integers."""

    @abstractmethod
    def statistics(self, values: Values) -> Outcome:
        """The exact integers that noise is added to. Total: never raises, for any floats."""

    @property
    @abstractmethod
    def scales(self) -> tuple[Fraction | None, ...]:
        """The noise scale of each statistic; None for a public number."""

    @final
    def law(self, values: Values) -> Law:
        pairs = zip(self.statistics(values), self.scales, strict=True)
        return JointLaw(tuple(_law_of(number, scale) for number, scale in pairs))


def _law_of(number: int, scale: Fraction | None) -> Law:
    return PointLaw(number) if scale is None else DiscreteLaplaceLaw(number, scale)


def clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
