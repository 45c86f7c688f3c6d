"""What a set draws follows its law in 7 and in 21 dimensions, and what does not is caught.

No outcome comes up twice there. But how often each pair of whole radii comes up is known, and so
is the law of any one sum or number. All of them are counted here from the definition alone: the
points within radii one value of t at a time, without the closed forms that drawing stands on.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pappi.audit.sampling import LEAST_P, chi_square_p
from pappi.mechanisms import Outcome, hull, system_randbelow
from pappi.mechanisms.hull import BoxLaw, HullLaw, Spans

# `make audit` asks for many more.
SAMPLES = int(os.environ.get("PAPPI_AUDIT_SAMPLES", "2000"))
FINE = 2**21
SEVEN: tuple[Spans, ...] = ((FINE,) * 6,)
TWENTY_ONE: tuple[Spans, ...] = ((FINE,) * 20,)
MIXED: tuple[Spans, ...] = ((FINE, 2, 6) * 3, (FINE,) * 5, (2,) * 4)
EPSILON = Fraction(1)
# Beyond these many radii there is less than a millionth of all draws.
REACH = 60

Floats = NDArray[np.float64]


# --- the law, counted ------------------------------------------------------------------------


def radii_of(z: Outcome, classes: tuple[Spans, ...]) -> tuple[int, int]:
    more, less, start = Fraction(0), Fraction(0), 0
    for spans in classes:
        *sums, t = z[start : start + len(spans) + 1]
        start += len(spans) + 1
        sizes = (Fraction(2 * abs(u), k) for u, k in zip(sums, spans, strict=True))
        s = max(*sizes, Fraction(abs(t)))
        more, less = max(more, (s + t) / 2), max(less, (s - t) / 2)
    return math.ceil(more), math.ceil(less)


class Counted:
    """How many points there are within radii (A, B), as shares of those within the largest."""

    def __init__(self, classes: tuple[Spans, ...], epsilon: Fraction) -> None:
        self.first = _beside(classes[0])
        counts = [sum(_beside(spans).values(), np.zeros((REACH, REACH))) for spans in classes]
        self.within = np.prod(counts, axis=0)
        self.decay = np.exp(-float(epsilon) * np.add.outer(np.arange(REACH), np.arange(REACH)))
        # Of (A, B), of which any point within is then drawn: ∝ N(A, B)·e^(−ε(A + B)).
        self.each = np.divide(
            self.within * self.decay, counts[0], out=np.zeros_like(self.decay), where=counts[0] > 0
        )

    def radii(self) -> dict[tuple[int, int], float]:
        """Of what is drawn: as many points as are within these radii and no smaller ones."""
        n = np.pad(self.within, ((1, 0), (1, 0)))
        exactly = (n[1:, 1:] - n[:-1, 1:] - n[1:, :-1] + n[:-1, :-1]) * self.decay
        exactly /= exactly.sum()
        return {(a, b): float(exactly[a, b]) for a in range(REACH) for b in range(REACH)}

    def number(self) -> dict[int, float]:
        """Of t of the first class."""
        return normal({t: float((self.each * beside).sum()) for t, beside in self.first.items()})

    def sums(self, span: int) -> dict[int, float]:
        """Of ⌈2|u|/K⌉ of the first member: given t, u is uniform."""
        law = dict.fromkeys(range(2 * REACH), 0.0)
        for t, beside in self.first.items():
            reach = _reach(t)
            each = self.each * beside / (1 + span * np.maximum(reach, 0))
            for m in law:
                law[m] += float(each[reach >= m].sum()) * (span if m else 1)
        return normal(law)


def _reach(t: int) -> Floats:
    """r = 2·min(A − t/2, B + t/2): sums are within ±K·r/2, if t itself is within ±r."""
    more, less = 2 * np.arange(REACH)[:, np.newaxis] - t, 2 * np.arange(REACH) + t
    return np.minimum(more, less).astype(np.float64)


@cache
def _beside(spans: Spans) -> dict[int, Floats]:
    """For each t, how many sums there are within each (A, B)."""
    found = {}
    for t in range(1 - REACH, REACH):
        reach = _reach(t)
        count = np.ones((REACH, REACH))
        for span in spans:
            count *= (1 + span * np.maximum(reach, 0)) / (1 + span * 2 * REACH)
        found[t] = np.where(reach >= abs(t), count, 0.0)
    return found


def normal(law: Mapping[int, float]) -> dict[int, float]:
    total = math.fsum(law.values())
    return {value: weight / total for value, weight in law.items()}


# --- draws -------------------------------------------------------------------------------------


def fit(found: Sequence[object], law: Mapping[Any, float]) -> float:
    """The chance of a fit this bad: cells with few draws are taken together."""
    counts, samples = Counter(found), len(found)
    cells = [value for value, p in law.items() if p * samples >= 5]
    expected = [samples * law[value] for value in cells]
    observed = [float(counts[value]) for value in cells]
    rest = samples - math.fsum(expected), samples - sum(observed)
    if rest[0] < 5:
        return chi_square_p(
            [*observed[:-1], observed[-1] + rest[1]], [*expected[:-1], expected[-1] + rest[0]]
        )
    return chi_square_p([*observed, rest[1]], [*expected, rest[0]])


def draws(classes: tuple[Spans, ...], epsilon: Fraction = EPSILON) -> list[Outcome]:
    law = HullLaw((0,) * sum(len(s) + 1 for s in classes), classes, epsilon)
    return [law.draw(system_randbelow) for _ in range(SAMPLES)]


@cache
def laws(classes: tuple[Spans, ...]) -> tuple[Mapping[Any, float], ...]:
    """Of both radii, of their sum (the score), of t, and of the first sum."""
    counted = Counted(classes, EPSILON)
    radii = counted.radii()
    scores = dict.fromkeys(range(2 * REACH), 0.0)
    for (a, b), p in radii.items():
        scores[a + b] += p
    return radii, scores, counted.number(), counted.sums(classes[0][0])


def worst_fit(found: Sequence[Outcome], classes: tuple[Spans, ...]) -> float:
    first = len(classes[0])
    radii = [radii_of(z, classes) for z in found]
    seen: tuple[Sequence[object], ...] = (
        radii,
        [a + b for a, b in radii],
        [z[first] for z in found],
        [math.ceil(Fraction(2 * abs(z[0]), classes[0][0])) for z in found],
    )
    return min(fit(each, law) for each, law in zip(seen, laws(classes), strict=True))


@pytest.mark.parametrize("classes", [SEVEN, TWENTY_ONE, MIXED], ids=["7", "21", "21 mixed"])
def test_draws_follow_the_law(classes: tuple[Spans, ...]) -> None:
    found = draws(classes)
    assert len(found[0]) in (7, 21)
    assert worst_fit(found, classes) > LEAST_P


def test_members_of_a_class_are_alike_and_apart() -> None:
    """Twenty sums have one law, and given the score their signs are independent."""
    found = np.array([[u > 0 for u in z[:20]] for z in draws(TWENTY_ONE)])
    together = found.T.astype(float) @ found / len(found)
    spread = 6 * math.sqrt(0.25 / len(found))
    assert abs(found.mean(axis=0) - 0.5).max() < spread
    assert abs(together[~np.eye(20, dtype=bool)] - 0.25).max() < spread


def test_draws_where_the_number_is_public_follow_the_law() -> None:
    law = BoxLaw((0,) * 21, TWENTY_ONE, EPSILON)
    found = [law.draw(system_randbelow) for _ in range(SAMPLES)]
    within = [math.prod(2 * k * r + 1 for k in TWENTY_ONE[0]) / (FINE**20) for r in range(REACH)]
    exactly = np.diff([0.0, *within]) * np.exp(-np.arange(REACH))
    scores = {r: float(p) for r, p in enumerate(exactly / exactly.sum())}
    seen = [math.ceil(Fraction(max(map(abs, z)), FINE)) for z in found]
    assert fit(seen, scores) > LEAST_P
    assert {z[-1] for z in found} == {0}


# --- planted faults ------------------------------------------------------------------------------


def _of_smaller_noise(classes: tuple[Spans, ...]) -> list[Outcome]:
    return draws(classes, EPSILON * 6 / 5)


def _without_the_largest(classes: tuple[Spans, ...]) -> list[Outcome]:
    """Drawn from a table that ends where one draw in twenty is further out."""
    scores = laws(classes)[1]
    so_far, last = 0.0, 0
    while so_far < 0.95:
        so_far, last = so_far + scores[last], last + 1
    found = draws(classes)
    return [z if sum(radii_of(z, classes)) < last else (0,) * len(z) for z in found]


def _in_a_smaller_box(classes: tuple[Spans, ...]) -> list[Outcome]:
    """The first sum is drawn from three quarters of its range."""
    return [(z[0] * 3 // 4, *z[1:]) for z in draws(classes)]


def _one_sided(classes: tuple[Spans, ...]) -> list[Outcome]:
    """Numbers of cases are never below the truth."""
    first = len(classes[0])
    return [(*z[:first], abs(z[first]), *z[first + 1 :]) for z in draws(classes)]


@pytest.mark.parametrize(
    "faulty", [_of_smaller_noise, _without_the_largest, _in_a_smaller_box, _one_sided]
)
@pytest.mark.parametrize("classes", [SEVEN, TWENTY_ONE], ids=["7", "21"])
def test_a_wrong_sampler_is_caught(
    faulty: Callable[[tuple[Spans, ...]], list[Outcome]], classes: tuple[Spans, ...]
) -> None:
    assert worst_fit(faulty(classes), classes) < LEAST_P


@pytest.mark.parametrize("classes", [SEVEN, TWENTY_ONE], ids=["7", "21"])
def test_a_table_that_ends_early_is_caught(
    classes: tuple[Spans, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sampler itself, without the last third of the terms that the radii are drawn from."""
    every = hull._by_degree(classes)
    monkeypatch.setattr(hull, "_by_degree", lambda _: every[: len(every) * 2 // 3])
    assert worst_fit(draws(classes), classes) < LEAST_P
