"""Layer 2: what a mechanism really draws, against the output distribution that was audited.

Releases are drawn as they are for an analyst, and their frequencies are compared with the
law's probabilities: by chi-square where outcomes repeat, otherwise box by box. An outcome that
is impossible under the law, or that is not made of whole numbers, fails at once: this is how
noise in floats shows, whatever its scale.

It fails closed: an exception, an invalid probability, too few draws or a law that
explains too few of them are failures.

**Boxes.** A law over a million points cannot be tested point by point, and its cumulative
probabilities may not be known. But for a box b of outcomes, however large,

    E[ 1{X ∈ b} / P(X) ] = the number of points in b,

if X is drawn from P; if it is drawn from Q, it is the sum of Q/P over the box. Boxes are
cut along the quantiles of one half of the draws, each is divided into its even and its odd
points, and the other half of the draws is averaged. How far an average may be off follows
from the law as well: E[(1{X ∈ b} / P(X))²] is the sum of 1/P over the box, estimated from
points spread over it. A wrong scale, a wrong centre and a lattice that is coarser by a
power of two are far off in some box; a fault that keeps the probability of every box does not
show.

The far tails are left out, because 1/P varies too much there for an average, and so are boxes
with a corner that is impossible under the law.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pappi.audit.subjects import Trial, columns_of
from pappi.mechanisms import Law, Outcome

FEWEST_SAMPLES = 2000

LEAST_P = 1e-6
"""A fit worse than this is no accident: a sound sampler fails once in a million trials."""

_LEAST_EXPECTED = 5
_MOST_UNEXPLAINED = 0.1
_ROUNDING = 1e-9


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
        failure = f"the audit stopped with {type(raised).__name__}"
        return SamplingReport("none", samples, 0, None, failure)
    return SamplingReport(test, samples, cells, p, _failure(samples, p))


def _failure(samples: int, p: float) -> str | None:
    if samples < FEWEST_SAMPLES:
        return f"only {samples} samples were drawn, {FEWEST_SAMPLES} are needed"
    if not p >= LEAST_P:  # so that NaN fails, too
        return f"the samples do not follow the output distribution (p = {p:.2g})"
    return None


def _compare(trial: Trial, samples: int) -> tuple[str, int, float]:
    values = columns_of(trial.data, 0, trial.mechanism.width)
    law = trial.mechanism.law(values)
    raw = [trial.mechanism.release(values) for _ in range(samples)]
    for outcome in raw:
        _probability(outcome, law)  # refuses what the law rules out
    outcomes, law = [law.fold(outcome) for outcome in raw], law.folded()
    counts = Counter(outcomes)
    probabilities = {outcome: _probability(outcome, law) for outcome in counts}
    likely = {o: p for o, p in probabilities.items() if samples * p >= _LEAST_EXPECTED}
    if sum(likely.values()) > 1 - _MOST_UNEXPLAINED:
        # Likely outcomes one by one, and all others together.
        order = sorted(likely, key=lambda outcome: -likely[outcome])
        expected = [samples * likely[outcome] for outcome in order]
        observed: list[float] = [counts[outcome] for outcome in order]
        if sum(expected) > samples * (1 + _ROUNDING):
            raise SamplerUnsound(
                "the probabilities of the output distribution add up to more than 1"
            )
        rest = samples - math.fsum(expected), samples - sum(observed)
        if rest[0] >= _LEAST_EXPECTED:
            expected, observed = [*expected, rest[0]], [*observed, rest[1]]
        else:
            expected[-1], observed[-1] = expected[-1] + rest[0], observed[-1] + rest[1]
        if len(observed) < 2:
            raise SamplerUnsound("one outcome is almost certain: the noise hides nothing")
        return "chi-square", len(observed), chi_square_p(observed, expected)
    p, cells = box_p(outcomes, law)
    return "boxes", cells, p


def _probability(outcome: Outcome, law: Law) -> float:
    """The law's probability of an outcome that was drawn, which must be valid."""
    if not all(type(number) is int for number in outcome) or len(outcome) != law.size:
        raise SamplerUnsound(f"an outcome is not {law.size} whole numbers")
    p = law.probability(outcome)
    if not 0 < p <= 1 + _ROUNDING:
        raise SamplerUnsound("an outcome was drawn that the output distribution rules out")
    return p


# --- where no outcome comes up often enough to be counted --------------------------------------

_MOST_BOXES = 32
_SAMPLES_PER_BOX = 200  # with fewer, the tails of an average are not normal
_GRID = 64
_TAIL = 0.1
# Without the tails of three coordinates, half of the draws is 0.4 · 0.8 · 0.8 = 0.256 of them: that
# is what remains if only one half of what a first stage chose can be compared. With 1,000 draws,
# less than this remains once in 30,000 tries.
_LEAST_COVERAGE = 0.2
_CERTAIN = 1e-9

Points = NDArray[np.int64]


class TooLittleCovered(ArithmeticError):
    """Too few draws fell where they could be compared with the law."""


@dataclass(frozen=True, slots=True)
class Box:
    """Points from `low` to `high` in every coordinate, both included, whose sum has a parity."""

    low: Outcome
    high: Outcome
    parity: int

    @property
    def points(self) -> int:
        ends = zip(self.low, self.high, strict=True)
        total = math.prod(high - low + 1 for low, high in ends)
        # Neighbouring points alternate; of an odd number, one more has the corner's parity.
        return (total + (sum(self.low) % 2 == self.parity)) // 2

    @property
    def corners(self) -> Iterator[Outcome]:
        return itertools.product(*zip(self.low, self.high, strict=True))

    @property
    def grid(self) -> Iterator[Outcome]:
        """Points spread evenly over the box."""
        wide = sum(high > low for low, high in zip(self.low, self.high, strict=True))
        steps = round(_GRID ** (1 / max(wide, 1)))
        return itertools.product(
            *(
                dict.fromkeys(
                    low + (high - low + 1) * (2 * i + 1) // (2 * steps) for i in range(steps)
                )
                for low, high in zip(self.low, self.high, strict=True)
            )
        )

    def holds(self, points: Points) -> NDArray[np.bool_]:
        inside = np.all((points >= self.low) & (points <= self.high), axis=1)
        return np.asarray(inside & (points.sum(axis=1) % 2 == self.parity))


def box_p(outcomes: Sequence[Outcome], law: Law) -> tuple[float, int]:
    """The p-value of the draws under the law, and the number of boxes compared."""
    points = np.array(outcomes, dtype=np.int64)
    pilot, tested = points[::2], points[1::2]
    boxes = [b for b in _boxes(pilot) if b.points and all(map(law.probability, b.corners))]
    rarity = np.array([1 / law.probability(outcome) for outcome in outcomes[1::2]])
    inside, samples = [box.holds(tested) for box in boxes], len(tested)
    if sum(np.count_nonzero(hits) for hits in inside) < _LEAST_COVERAGE * samples:
        raise TooLittleCovered
    tails = (
        _tail(float(rarity[hits].sum()) / samples / box.points, _variance(box, law), samples)
        for box, hits in zip(boxes, inside, strict=True)
    )
    return min(1.0, min(tails) * len(boxes)), len(boxes)


def _tail(average: float, variance: float, samples: int) -> float:
    """The chance of an average this far from 1, on either side."""
    if variance < _CERTAIN:
        return float(abs(average - 1) < _CERTAIN)
    return 2 * normal_tail(abs(average - 1) / math.sqrt(variance / samples))


def _variance(box: Box, law: Law) -> float:
    """Of 1{X ∈ b} / P(X), as a multiple of the points in the box."""
    rarities = [1 / law.probability(point) for point in box.grid]
    return sum(rarities) / len(rarities) / box.points - 1


def _boxes(pilot: Points) -> list[Box]:
    """Boxes with about equally many of the points each, without those far out.

    The first coordinate that varies is cut finest: in a release of two stages it is what the
    first one chose, and sets the scale of the others.
    """
    varying = [axis for axis in range(pilot.shape[1]) if len(np.unique(pilot[:, axis])) > 1]
    boxes = min(_MOST_BOXES, len(pilot) // _SAMPLES_PER_BOX)
    parts = dict.fromkeys(range(pilot.shape[1]), 2)
    if varying:
        parts[varying[0]] = max(2, boxes // 2 ** (len(varying) - 1))
    return [
        Box(tuple(low for low, _ in sides), tuple(high for _, high in sides), parity)
        for sides in _cut(pilot, 0, parts)
        for parity in (0, 1)
    ]


def _cut(
    points: Points, axis: int, parts: Mapping[int, int]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Cut along one coordinate, and each slice along the next, by the quantiles of its points."""
    if axis == points.shape[1]:
        yield ()
        return
    for low, high in _slices(points[:, axis], parts[axis]):
        within = points[(points[:, axis] >= low) & (points[:, axis] <= high)]
        for rest in _cut(within, axis + 1, parts):
            yield ((low, high), *rest)


def _slices(numbers: Points, parts: int) -> list[tuple[int, int]]:
    """Ranges between quantiles; each number by itself if there are few."""
    distinct = np.unique(numbers)
    if len(distinct) <= parts:
        return [(number, number) for number in distinct.tolist()]
    shares = np.linspace(_TAIL, 1 - _TAIL, parts + 1)
    edges = np.unique(np.quantile(numbers, shares, method="nearest")).tolist()
    inner = [(low, high - 1) for low, high in itertools.pairwise(edges)]
    return [*inner[:-1], (inner[-1][0], edges[-1])] if inner else [(edges[0], edges[0])]


# --- p-values ----------------------------------------------------------------------------------


def chi_square_p(observed: Sequence[float], expected: Sequence[float]) -> float:
    """The chance of a fit this bad or worse, after Wilson and Hilferty.

    The cube root of a chi-square variable of d degrees of freedom, divided by d, is nearly normal
    with mean 1 − 2/9d and variance 2/9d: p is right within a few percent where it is ordinary,
    and within a factor of three where it is 10⁻⁶, too large rather than too small.

    >>> round(chi_square_p([45, 55, 35, 65], [50, 50, 50, 50]), 3)
    0.018
    """
    cells = zip(observed, expected, strict=True)
    freedom = len(observed) - 1
    mean_square = sum((o - e) ** 2 / e for o, e in cells) / freedom
    spread = 2 / (9 * freedom)
    return normal_tail((math.cbrt(mean_square) - (1 - spread)) / math.sqrt(spread))


def normal_tail(deviations: float) -> float:
    """P(Z ≥ deviations) of a standard normal Z."""
    return math.erfc(deviations / math.sqrt(2)) / 2
