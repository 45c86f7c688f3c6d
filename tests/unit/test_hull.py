"""Noise in the shape of the hull: its score is what one case can do, and it is drawn exactly."""

from __future__ import annotations

import itertools
import math
import random
import secrets
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.mechanisms import hull
from pappi.mechanisms.hull import HullLaw, Spans, exp_bounds, hull_noise, hull_score
from tests.lengths import length

DRAWS = 2000
SHAPES: list[tuple[Spans, ...]] = [
    ((),),
    ((2,),),
    ((4,),),
    ((2, 2),),
    ((2, 4), (2,)),
    ((), (2,)),
    ((2,), (2,), (2,)),
]


def contributions(classes: tuple[Spans, ...]) -> list[tuple[int, ...]]:
    """All that one case can add: to each class nothing, or any of its members' values and 1."""
    choices = []
    for spans in classes:
        there = [(*u, 1) for u in itertools.product(*(range(-k // 2, k // 2 + 1) for k in spans))]
        choices.append([(0,) * (len(spans) + 1), *there])
    return [sum(picked, ()) for picked in itertools.product(*choices)]


@pytest.mark.parametrize("classes", SHAPES)
def test_one_case_scores_one_and_no_score_moves_by_more(classes: tuple[Spans, ...]) -> None:
    cases = contributions(classes)
    assert {hull_score(case, classes) for case in cases} == {0, 1}
    drawn = random.Random(1)  # noqa: S311
    size = len(cases[0])
    for _ in range(length(40, 200)):
        z = tuple(drawn.randrange(-9, 10) for _ in range(size))
        for case in cases:
            moved = tuple(a + b for a, b in zip(z, case, strict=True))
            assert abs(hull_score(moved, classes) - hull_score(z, classes)) <= 1


def size_of(classes: tuple[Spans, ...]) -> int:
    return sum(len(spans) + 1 for spans in classes)


@pytest.mark.parametrize("classes", [each for each in SHAPES if size_of(each) <= 3])
def test_the_number_of_points_within_radii(classes: tuple[Spans, ...]) -> None:
    """Counted one by one, against the closed form that drawing stands on."""
    size = size_of(classes)
    for more, less in itertools.product(range(length(2, 3)), repeat=2):
        reach = 4 * (more + less) + 1
        points = itertools.product(range(-reach, reach + 1), repeat=size)
        within = sum(_within(z, classes, more, less) for z in points)
        assert within == math.prod(hull._points(spans, more, less) for spans in classes)
        assert within == sum(
            coefficient * math.comb(more, i) * math.comb(less, degree - i)
            for degree, row in enumerate(hull._by_degree(classes))
            for i, coefficient in enumerate(row)
        )


def _within(z: tuple[int, ...], classes: tuple[Spans, ...], more: int, less: int) -> bool:
    start = 0
    for spans in classes:
        *members, t = z[start : start + len(spans) + 1]
        start += len(spans) + 1
        s = max(
            [Fraction(2 * abs(u), k) for u, k in zip(members, spans, strict=True)]
            + [Fraction(abs(t))]
        )
        if (s + t) / 2 > more or (s - t) / 2 > less:
            return False
    return True


@given(
    st.lists(
        st.lists(st.integers(1, 2**20).map(lambda k: 2 * k), max_size=6).map(tuple),
        min_size=1,
        max_size=4,
    ).map(tuple)
)
def test_no_coefficient_is_negative(classes: tuple[Spans, ...]) -> None:
    assert all(c >= 0 for row in hull._by_degree(classes) for c in row)


@pytest.mark.parametrize(
    ("classes", "epsilon"),
    [
        (((2,),), Fraction(1)),
        (((2, 2),), Fraction(3, 2)),
        (((), (2,)), Fraction(1)),
        (((2,), (2,)), Fraction(2)),
    ],
)
def test_draws_follow_the_law(classes: tuple[Spans, ...], epsilon: Fraction) -> None:
    size = size_of(classes)
    law = HullLaw((0,) * size, classes, epsilon)
    count = length(4_000, 20_000)
    randbelow = random.Random(count).randrange  # noqa: S311 - a simulation
    drawn = Counter(law.draw(randbelow) for _ in range(count))
    likely = {z: law.probability(z) for z in itertools.product(range(-4, 5), repeat=size)}
    often = {z: p for z, p in likely.items() if p * count >= 10}
    rest = 1 - sum(often.values())
    chi = sum((drawn[z] - p * count) ** 2 / (p * count) for z, p in often.items())
    others = count - sum(drawn[z] for z in often)
    chi += (others - rest * count) ** 2 / (rest * count)
    freedom = len(often)
    assert chi < freedom + 6 * math.sqrt(2 * freedom), (chi, freedom)


@given(st.fractions(Fraction(1, 1000), 50), st.sampled_from([32, 96, 400]))
def test_bounds_of_the_exponential_hold_and_are_close(x: Fraction, bits: int) -> None:
    below, above = exp_bounds(x, bits)
    assert below <= above <= below + 2
    finer_below, finer_above = exp_bounds(x, 3 * bits)
    assert below << 2 * bits <= finer_above
    assert finer_below <= above << 2 * bits
    assert math.isclose(below / 2**bits, math.exp(x), rel_tol=1e-6)


def test_neighbours_lose_epsilon_and_no_more() -> None:
    classes: tuple[Spans, ...] = ((2, 4), (2,))
    base = HullLaw((3, -1, 5, 0, 2), classes, Fraction(1, 10))
    for case in contributions(classes):
        law = HullLaw(
            tuple(a + b for a, b in zip(base.centres, case, strict=True)), classes, base.epsilon
        )
        assert base.loss(law) == (Fraction(1, 10) if any(case) else 0)


def test_a_long_draw_is_decided_by_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hull, "_BITS", 1)
    noise = [hull_noise(((2,),), Fraction(1), secrets.randbelow) for _ in range(DRAWS)]
    assert abs(sum(u for u, _ in noise) / DRAWS) < 0.5
    assert any(u for u, _ in noise)
