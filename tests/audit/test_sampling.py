"""Layer 2: what is drawn follows the law that was audited; and what does not is caught."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from pappi.audit import Family, Sampler, Trial, audit_sampler, families, promises_of
from pappi.audit.black_box import at_least, share_at_least, share_at_most
from pappi.audit.sampling import chi_square_p
from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    JointLaw,
    Law,
    Outcome,
    PointLaw,
    Values,
    system_randbelow,
)
from pappi.values import Adjacency
from tests.audit.starts import in_turn
from tests.lengths import LONG

# `make audit` asks for many more.
SHORT = 2000
SAMPLES = int(os.environ.get("PAPPI_AUDIT_SAMPLES", SHORT))
COARSE, FINE = Fraction(3, 2), Fraction(2**20)


@pytest.mark.parametrize(("family", "adjacency"), in_turn(families(), full=LONG or SAMPLES > SHORT))
def test_releases_follow_the_law_that_was_audited(family: Family, adjacency: Adjacency) -> None:
    subject = next(s for s in promises_of(family, Fraction(1)) if s.adjacency is adjacency)
    for trial in subject.trials if LONG or SAMPLES > SHORT else subject.trials[-1:]:
        report = audit_sampler(trial, SAMPLES)
        assert report.passed, (report.test, report.failure)


@dataclass(frozen=True)
class Drawing:
    """Draws from one law and claims another."""

    claimed: Law
    drawn: Law
    name = "drawing"
    width = 1

    def law(self, values: Values) -> Law:  # noqa: ARG002 - the same for all
        return self.claimed

    def release(self, values: Values) -> Outcome:  # noqa: ARG002
        return self.drawn.draw(system_randbelow)


def laplace(centre: int, scale: Fraction, size: int = 1) -> Law:
    return JointLaw((DiscreteLaplaceLaw(centre, scale),) * size)


@pytest.mark.parametrize("scale", [COARSE, FINE])
@pytest.mark.parametrize("size", [1, 2])
def test_the_right_law_passes_whether_outcomes_repeat_or_not(scale: Fraction, size: int) -> None:
    law = laplace(7, scale, size)
    report = audit_sampler(Trial(Drawing(law, law), ()), 4000)
    assert report.passed, report.failure
    assert report.test == ("chi-square" if scale == COARSE else "boxes")


@pytest.mark.parametrize("scale", [COARSE, FINE])
def test_half_the_noise_the_wrong_centre_and_a_coarser_lattice_are_caught(scale: Fraction) -> None:
    claimed = laplace(7, scale)
    far = 7 + math.ceil(scale / 2)
    for drawn in (laplace(7, scale / 2), laplace(far, scale), _Even(claimed)):
        report = audit_sampler(Trial(Drawing(claimed, drawn), ()), 10_000)
        assert not report.passed
        assert "do not follow the output distribution" in str(report.failure)


@dataclass(frozen=True)
class _Even(Law):
    """Another law, rounded to even numbers."""

    other: Law

    @property
    def size(self) -> int:
        return self.other.size

    def draw(self, randbelow: object) -> Outcome:
        assert callable(randbelow)
        return tuple(number // 2 * 2 for number in self.other.draw(system_randbelow))

    def probability(self, outcome: Outcome) -> float:
        raise NotImplementedError

    def log_ratio(self, other: Law) -> float:
        raise NotImplementedError


# --- floats ---------------------------------------------------------------------------


@dataclass(frozen=True)
class FloatLaplace:
    """A textbook Laplace draw under the law of discrete noise, rounded or not."""

    rounded: bool
    name = "float laplace"
    width = 1

    def law(self, values: Values) -> Law:
        return laplace(round(float(values.sum())), Fraction(3, 4))

    def release(self, values: Values) -> Outcome:
        noisy = float(values.sum()) + float(np.random.default_rng().laplace(scale=0.75))
        return (round(noisy),) if self.rounded else (noisy,)  # type: ignore[return-value]


def test_float_laplace_is_caught_rounded_or_not() -> None:
    bare, rounded = (audit_sampler(Trial(FloatLaplace(r), ((1.0,),)), 8000) for r in (False, True))
    assert bare.failure == "an outcome is not 1 whole numbers"
    assert "do not follow the output distribution" in str(rounded.failure)


# --- it fails closed ------------------------------------------------------------------


@dataclass(frozen=True)
class Raising:
    name = "raising"
    width = 1

    def law(self, values: Values) -> Law:  # noqa: ARG002
        return laplace(0, COARSE)

    def release(self, values: Values) -> Outcome:  # noqa: ARG002
        raise ZeroDivisionError("secret 42")


@dataclass(frozen=True)
class OddChances(Law):
    """Says the same probability of everything, whatever it is."""

    chance: float

    @property
    def size(self) -> int:
        return 1

    def draw(self, randbelow: object) -> Outcome:
        raise NotImplementedError

    def probability(self, outcome: Outcome) -> float:  # noqa: ARG002
        return self.chance

    def log_ratio(self, other: Law) -> float:
        raise NotImplementedError


IMPOSSIBLE = "an outcome was drawn that the output distribution rules out"


@pytest.mark.parametrize(
    ("mechanism", "failure"),
    [
        (Raising(), "the audit stopped with ZeroDivisionError"),
        (Drawing(OddChances(math.nan), laplace(0, COARSE)), IMPOSSIBLE),
        (Drawing(OddChances(0.0), laplace(0, COARSE)), IMPOSSIBLE),
        (Drawing(OddChances(1.5), laplace(0, COARSE)), IMPOSSIBLE),
        (Drawing(OddChances(0.9), laplace(0, COARSE)), "add up to more than 1"),
        (Drawing(laplace(0, COARSE), laplace(0, COARSE, 2)), "not 1 whole numbers"),
        (Drawing(PointLaw(3), PointLaw(3)), "the noise hides nothing"),
    ],
)
def test_a_sampler_that_cannot_be_judged_fails(mechanism: Sampler, failure: str) -> None:
    report = audit_sampler(Trial(mechanism, ()), 2000)
    assert not report.passed
    assert failure in str(report.failure)


def test_too_few_samples_fail() -> None:
    law = laplace(0, COARSE)
    report = audit_sampler(Trial(Drawing(law, law), ()), 1999)
    assert report.failure == "only 1999 samples were drawn, 2000 are needed"


# --- chances --------------------------------------------------------------------------


def test_chances_agree_with_the_tables() -> None:
    # 4 at 2 degrees of freedom, and 16.27 at 3.
    assert chi_square_p([60, 40, 50], [50, 50, 50]) == pytest.approx(0.1353, rel=0.02)
    assert chi_square_p([128.52, 71.48, 100, 100], [100] * 4) == pytest.approx(0.001, rel=0.2)
    assert at_least(3, 5, 0.5) == pytest.approx(0.5)
    assert at_least(0, 5, 0.0) == at_least(5, 5, 1.0) == 1
    assert share_at_least(0, 10, 0.01) == 0
    assert share_at_most(10, 10, 0.01) == 1


def test_a_bound_is_where_the_tail_is_as_small_as_was_asked() -> None:
    """By summing whole numbers: nothing that is tested here is used."""
    low, high = share_at_least(30, 100, 0.005), share_at_most(30, 100, 0.005)
    assert 0 < low < 0.3 < high < 1
    assert float(exact_tail(range(30, 101), 100, low)) == pytest.approx(0.005)
    assert float(exact_tail(range(31), 100, high)) == pytest.approx(0.005)


def exact_tail(successes: range, trials: int, share: float) -> Fraction:
    p = Fraction(share)
    return sum(
        (math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in successes), Fraction(0)
    )
