"""Layer 2: what a mechanism really draws, against the law it was audited by.

Releases are drawn as they are for an analyst, and their frequencies compared with the
law's probabilities: by chi-square where outcomes repeat, else box by box (`boxes`). An
outcome that the law calls impossible, or that is not made of whole numbers, fails at
once: this is how noise in floats shows, whatever its scale.

It fails closed: an exception, a probability that is none, too few draws or a law that
explains too little of them are failures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pappi.audit.boxes import box_p
from pappi.audit.chances import chi_square_p
from pappi.audit.joint import Audited, columns_of
from pappi.audit.neighbours import Data
from pappi.mechanisms.laws import Law, Outcome
from pappi.mechanisms.mechanism import Values

FEWEST_SAMPLES = 2000

LEAST_P = 1e-6
"""A fit worse than this is no accident: a sound sampler fails once in a million trials."""

_LEAST_EXPECTED = 5
_MOST_UNEXPLAINED = 0.1
_ROUNDING = 1e-9


class Released(Audited, Protocol):
    """What has a law, and draws."""

    def release(self, values: Values) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A mechanism, and the cases over which it is to draw."""

    mechanism: Released
    data: Data


@dataclass(frozen=True, slots=True)
class SamplingReport:
    """How many draws were compared with the law, how, and how well they fit."""

    test: str
    samples: int
    cells: int
    p_value: float | None
    failure: str | None

    @property
    def passed(self) -> bool:
        return self.failure is None


class SamplerUnsound(ArithmeticError):
    """What was drawn cannot have come from the law."""


def audit_sampler(trial: Trial, samples: int) -> SamplingReport:
    """Draw, and compare with the law."""
    try:
        test, cells, p = _compare(trial, samples)
    except SamplerUnsound as reason:
        return SamplingReport("support", samples, 0, 0.0, str(reason))
    except Exception as raised:  # noqa: BLE001 - whatever goes wrong is a failed audit
        failure = f"the audit broke off with {type(raised).__name__}"
        return SamplingReport("none", samples, 0, None, failure)
    return SamplingReport(test, samples, cells, p, _failure(samples, p))


def _failure(samples: int, p: float) -> str | None:
    if samples < FEWEST_SAMPLES:
        return f"only {samples} samples were drawn, {FEWEST_SAMPLES} are needed"
    if not p >= LEAST_P:  # so that not a number fails, too
        return f"what is drawn does not follow the law (p = {p:.2g})"
    return None


def _compare(trial: Trial, samples: int) -> tuple[str, int, float]:
    values = columns_of(trial.data, 0, trial.mechanism.width)
    law = trial.mechanism.law(values)
    outcomes = [trial.mechanism.release(values) for _ in range(samples)]
    counts = Counter(outcomes)
    probabilities = {outcome: _probability(outcome, law) for outcome in counts}
    likely = {o: p for o, p in probabilities.items() if samples * p >= _LEAST_EXPECTED}
    if sum(likely.values()) > 1 - _MOST_UNEXPLAINED:
        return "chi-square", *_chi_square(likely, counts, samples)
    p, cells = box_p(outcomes, law)
    return "boxes", cells, p


def _probability(outcome: Outcome, law: Law) -> float:
    """The law's probability of something drawn, which must be one."""
    if not all(type(number) is int for number in outcome) or len(outcome) != law.size:
        raise SamplerUnsound(f"an outcome is not {law.size} whole numbers")
    p = law.probability(outcome)
    if not 0 < p <= 1 + _ROUNDING:
        raise SamplerUnsound("an outcome was drawn that the law calls impossible")
    return p


def _chi_square(
    likely: Mapping[Outcome, float], counts: Mapping[Outcome, int], samples: int
) -> tuple[int, float]:
    """Likely outcomes one by one, and all others together."""
    order = sorted(likely, key=lambda outcome: -likely[outcome])
    expected = [samples * likely[outcome] for outcome in order]
    observed: list[float] = [counts[outcome] for outcome in order]
    if sum(expected) > samples * (1 + _ROUNDING):
        raise SamplerUnsound("the law's probabilities add up to more than 1")
    rest = samples - math.fsum(expected), samples - sum(observed)
    if rest[0] >= _LEAST_EXPECTED:
        expected, observed = [*expected, rest[0]], [*observed, rest[1]]
    else:
        expected[-1], observed[-1] = expected[-1] + rest[0], observed[-1] + rest[1]
    return len(observed), _p(observed, expected)


def _p(observed: Sequence[float], expected: Sequence[float]) -> float:
    if len(observed) < 2:
        raise SamplerUnsound("one outcome is all but certain: nothing is hidden by noise")
    return chi_square_p(observed, expected)
