"""Noise in the shape of what one case can do: several sums and counts from one ε.

**What is released.** Members are bounded values of a case, the i-th one a lattice point k of
{0..Kᵢ}, Kᵢ even. A *presence class* holds members that a case has together or not at all, such
as several durations that every case has. Of a class with k members two kinds of integers are
released: Uᵢ, the sum of k − Kᵢ/2 over the cases that have a value, and T, their number. So a case
adds (u₁, …, u_k, 1) with |uᵢ| ≤ Kᵢ/2 to each class it is part of, and nothing to the others. A
class without members is a plain count.

**The score.** Of a difference z = (u, t of every class) put s = max(max 2|uᵢ|/Kᵢ, |t|) for each
class, and

    f(z) = ⌈max (s + t)/2⌉ + ⌈max (s − t)/2⌉,  each maximum over the classes.

Noise has P(z) ∝ exp(−ε·f(z)), over all integers.

**Why it is private.** s is a norm of (u, t), so (s + t)/2 and (s − t)/2 are sublinear, a maximum of
such is, and ⌈x + y⌉ ≤ ⌈x⌉ + ⌈y⌉: f is subadditive. One case more has s = t = 1 in each of its
classes and s = t = 0 in all others, so f = 1 + 0 (or 0, if it is in none); one case less has
f = 0 + 1. The loss between neighbours is sup (f(z − c′) − f(z − c))·ε = f(c − c′)·ε, reached at
z = c: at most ε for one case more or less, and 2ε for one that is replaced.

With one class of one member this is two-bin's hull, drawn once: as in the staircase mechanism,
whole radii err less than the norm itself.

**How it is drawn.** Both maxima are at most (A, B) exactly where for every class −B ≤ t ≤ A and
|uᵢ| ≤ Kᵢ·r/2, with r = A + B − |t − (A − B)|. There are Π (Kᵢ·r + 1) such u: whole numbers, because
Kᵢ is even. Let N(A, B) be the number of such z. As Σ exp(−ε(A + B)) over all A ≥ a and B ≥ b is
proportional to exp(−ε(a + b)), the noise is a mixture: draw (A, B) with probability ∝
exp(−ε(A + B))·N(A, B), and then any of those z, all alike.

*The radii.* Write g(r) = Π (Kᵢ·r + 1) = Σ gₗ·C(r, l): each factor is 1 + Kᵢ·C(r, 1), and products
of binomials C(r, i)·C(r, j) are sums of binomials with coefficients that are not negative, so
gₗ ≥ 0. With r as above, a class has N(A, B) = Σ_{r=A..A+B} g(r) + Σ_{r=B..A+B−1} g(r). As
Σ_{r=A..A+B} C(r, l) = C(A+B+1, l+1) − C(A, l+1) = Σ_{i≤l} C(A, i)·C(B+1, l+1−i), and alike for the
other sum, N(A, B) = Σ cᵢⱼ·C(A, i)·C(B, j) with whole cᵢⱼ ≥ 0: of one class and, multiplied out, of
all. And Σ_A q^A·C(A, i) = q^i/(1 − q)^(i+1). So draw (i, j) with probability ∝
cᵢⱼ·(e^ε − 1)^−(i+j); then A is i plus i + 1 geometric variables of ratio e^−ε, and B likewise.

*The point.* Of each class, one of the two sums and an l by their sizes; a radius r by the
binomials, which add up to a binomial again; it gives t, and each u is uniform.

e^ε meets whole numbers only in the choice of i + j. It is decided by rational bounds of e^ε and
by bits of a uniform number, both refined until they leave no doubt: no float, and no truncation.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

from pappi.mechanisms.laws import Law, Loss, Outcome
from pappi.mechanisms.noise import RandBelow, geometric

Spans = tuple[int, ...]
"""Of the members of a presence class, how many lattice steps each of them has: K."""

_BITS = 96
"""Of the uniform number that is drawn at first; a choice is open with a chance of about 2^-90."""


@dataclass(frozen=True, slots=True)
class _ShapedLaw(Law):
    """Sums and numbers of cases with noise z ∝ exp(−ε·f(z)), f whole and subadditive."""

    centres: Outcome
    """Of each class the sums of its members, and their number."""
    classes: tuple[Spans, ...]
    epsilon: Fraction

    @property
    def size(self) -> int:
        return sum(len(spans) + 1 for spans in self.classes)

    @property
    @abstractmethod
    def weights(self) -> tuple[int, ...]:
        """Those of all points by degree: see `ScoreLaw`."""

    @abstractmethod
    def score(self, outcome: Outcome) -> int | None:
        """f(outcome − centres); None if that cannot come out."""

    def probability(self, outcome: Outcome) -> float:
        score = self.score(outcome)
        odds = 1 / math.expm1(self.epsilon)
        weight = math.fsum(float(c) * odds**degree for degree, c in enumerate(self.weights))
        return 0.0 if score is None else math.exp(-self.epsilon * score) / weight

    def log_ratio(self, other: Law) -> Loss:
        """f is subadditive: f(z − c′) − f(z − c) ≤ f(c − c′), reached at z = c."""
        if not isinstance(other, type(self)) or (other.classes, other.epsilon) != (
            self.classes,
            self.epsilon,
        ):
            return math.inf
        score = other.score(self.centres)
        return math.inf if score is None else score * self.epsilon

    def fold(self, outcome: Outcome) -> Outcome:
        score = self.score(outcome)
        return () if score is None else (score,)

    def folded(self) -> Law:
        return ScoreLaw(self.weights, self.epsilon)


@dataclass(frozen=True, slots=True)
class HullLaw(_ShapedLaw):
    """The sums and the number of each presence class, with noise in the shape of their hull."""

    def __post_init__(self) -> None:
        if any(span <= 0 or span % 2 for spans in self.classes for span in spans):
            raise ValueError("the number of steps of a member must be even")
        if len(self.centres) != self.size:
            raise ValueError("each member has a centre, and each class has one more")

    def draw(self, randbelow: RandBelow) -> Outcome:
        noise = hull_noise(self.classes, self.epsilon, randbelow)
        return tuple(centre + z for centre, z in zip(self.centres, noise, strict=True))

    @property
    def weights(self) -> tuple[int, ...]:
        return tuple(map(sum, _by_degree(self.classes)))

    def score(self, outcome: Outcome) -> int:
        away = tuple(number - centre for number, centre in zip(outcome, self.centres, strict=True))
        return hull_score(away, self.classes)


@dataclass(frozen=True, slots=True)
class BoxLaw(_ShapedLaw):
    """The same where every case is in every class and their number is public (`replace`).

    One case in the place of another moves each sum by K at most, so f(z) = ⌈max |uᵢ|/Kᵢ⌉ is at
    most 1: subadditive as before, over Π (2Kᵢ·r + 1) points within the radius r.
    """

    def draw(self, randbelow: RandBelow) -> Outcome:
        i = _degree(self.weights, self.epsilon, randbelow)
        radius = i + sum(geometric(1 / self.epsilon, randbelow) for _ in range(i + 1))
        return tuple(
            centre if span is None else centre + randbelow(2 * span * radius + 1) - span * radius
            for centre, span in zip(self.centres, self._spans, strict=True)
        )

    @property
    def weights(self) -> tuple[int, ...]:
        return _binomial_coefficients(tuple(2 * span for span in self._spans if span is not None))

    @property
    def _spans(self) -> tuple[int | None, ...]:
        """Of each sum; None for a number of cases, which is public."""
        return tuple(span for spans in self.classes for span in (*spans, None))

    def score(self, outcome: Outcome) -> int | None:
        furthest = Fraction(0)
        for number, centre, span in zip(outcome, self.centres, self._spans, strict=True):
            if span is not None:
                furthest = max(furthest, Fraction(abs(number - centre), span))
            elif number != centre:
                return None
        return math.ceil(furthest)


@dataclass(frozen=True, slots=True)
class ScoreLaw(Law):
    """Of the score alone: how far a draw lies from its centre, counted in cases.

    Σ cₘ·x^m with x = q/(1 − q), q = e^−ε, is the weight of all points (see above), so there are
    Σ cₘ·C(s − 1, m − 1) points of the score s.
    """

    weights: tuple[int, ...]
    """cₘ, of all (i, j) with i + j = m."""
    epsilon: Fraction

    @property
    def size(self) -> int:
        return 1

    def draw(self, randbelow: RandBelow) -> Outcome:
        degree = _degree(self.weights, self.epsilon, randbelow)
        return (degree + sum(geometric(1 / self.epsilon, randbelow) for _ in range(degree)),)

    def probability(self, outcome: Outcome) -> float:
        (score,), odds = outcome, 1 / math.expm1(self.epsilon)
        if score < 0:
            return 0.0
        parts = [float(weight) * odds**degree for degree, weight in enumerate(self.weights)]
        share = 1 - math.exp(-self.epsilon)
        likely = (
            part
            * math.comb(score - 1, degree - 1)
            * share**degree
            * (1 - share) ** (score - degree)
            for degree, part in enumerate(parts)
            if 0 < degree <= score
        )
        return (math.fsum(likely) if score else parts[0]) / math.fsum(parts)

    def log_ratio(self, other: Law) -> Loss:
        return Fraction(0) if other == self else math.inf


def hull_score(z: Sequence[int], classes: tuple[Spans, ...]) -> int:
    """How many cases it takes, at least, to make this difference: f(z).

    >>> hull_score((3, 1), ((6,),)), hull_score((-3, -1), ((6,),)), hull_score((3, 0), ((6,),))
    (1, 1, 2)
    """
    more, less, start = Fraction(0), Fraction(0), 0
    for spans in classes:
        *members, number = z[start : start + len(spans) + 1]
        start += len(spans) + 1
        sizes = (Fraction(2 * abs(u), span) for u, span in zip(members, spans, strict=True))
        size = max((*sizes, Fraction(abs(number))))
        more, less = max(more, (size + number) / 2), max(less, (size - number) / 2)
    return math.ceil(more) + math.ceil(less)


# --- drawing --------------------------------------------------------------------------


def hull_noise(classes: tuple[Spans, ...], epsilon: Fraction, randbelow: RandBelow) -> Outcome:
    """One draw of z with P(z) ∝ exp(−ε·f(z))."""
    coefficients = _by_degree(classes)
    degree = _degree(tuple(map(sum, coefficients)), epsilon, randbelow)
    i = _ticket(coefficients[degree], randbelow)
    scale = 1 / epsilon
    more = i + sum(geometric(scale, randbelow) for _ in range(i + 1))
    j = degree - i
    less = j + sum(geometric(scale, randbelow) for _ in range(j + 1))
    return tuple(z for spans in classes for z in _point(spans, more, less, randbelow))


def _point(spans: Spans, more: int, less: int, randbelow: RandBelow) -> Iterator[int]:
    """Any point of a class within the radii, all alike.

    Radii from A to A + B come once with t − (A − B) = A + B − r, and those from B to A + B − 1 once
    with its opposite.
    """
    both = more + less
    coefficients = _binomial_coefficients(spans)
    rising = [_binomials(degree, more, both) for degree in range(len(coefficients))]
    falling = [_binomials(degree, less, both - 1) for degree in range(len(coefficients))]
    sizes = [
        g * size for sums in (rising, falling) for g, size in zip(coefficients, sums, strict=True)
    ]
    side, degree = divmod(_ticket(sizes, randbelow), len(coefficients))
    lowest, size = (less, falling[degree]) if side else (more, rising[degree])
    radius = _radius(degree, math.comb(lowest, degree + 1) + randbelow(size), lowest, both)
    for span in spans:
        furthest = span // 2 * radius
        yield randbelow(2 * furthest + 1) - furthest
    yield more - less + (radius - both if side else both - radius)


def _binomials(degree: int, lowest: int, highest: int) -> int:
    """Σ C(r, degree) over the radii from lowest to highest."""
    return math.comb(highest + 1, degree + 1) - math.comb(lowest, degree + 1)


def _radius(degree: int, ticket: int, lowest: int, highest: int) -> int:
    """The r with C(r, degree + 1) ≤ ticket < C(r + 1, degree + 1)."""
    while lowest < highest:
        middle = (lowest + highest) // 2
        if ticket < math.comb(middle + 1, degree + 1):
            highest = middle
        else:
            lowest = middle + 1
    return lowest


def _ticket(sizes: Sequence[int], randbelow: RandBelow) -> int:
    """An index, by a lottery in which each holds as many tickets as its size."""
    ticket = randbelow(sum(sizes))
    for index, size in enumerate(sizes):
        if ticket < size:
            return index
        ticket -= size
    raise AssertionError("a ticket beyond the last one")


@lru_cache(maxsize=256)
def _binomial_coefficients(spans: Spans) -> tuple[int, ...]:
    """gₗ of Π (Kᵢ·r + 1) = Σ gₗ·C(r, l)."""
    coefficients = [1]
    for span in spans:
        # r·C(r, l) = l·C(r, l) + (l + 1)·C(r, l + 1)
        grown = [*((1 + span * degree) * g for degree, g in enumerate(coefficients)), 0]
        for degree, g in enumerate(coefficients):
            grown[degree + 1] += span * (degree + 1) * g
        coefficients = grown
    return tuple(coefficients)


@lru_cache(maxsize=256)
def _by_degree(classes: tuple[Spans, ...]) -> tuple[tuple[int, ...], ...]:
    """cᵢⱼ, those with i + j = 0 first, each time by i: differences of N at (0, 0)."""
    size = 1 + sum(len(spans) + 1 for spans in classes)
    numbers = [
        [math.prod(_points(spans, more, less) for spans in classes) for less in range(size)]
        for more in range(size)
    ]
    by_less = [_differences(row) for row in numbers]
    columns = [_differences(list(column)) for column in zip(*by_less, strict=True)]
    return tuple(tuple(columns[degree - i][i] for i in range(degree + 1)) for degree in range(size))


def _points(spans: Spans, more: int, less: int) -> int:
    """N(A, B) of one class."""
    both = more + less
    return sum(
        g * (_binomials(degree, more, both) + _binomials(degree, less, both - 1))
        for degree, g in enumerate(_binomial_coefficients(spans))
    )


def _differences(numbers: list[int]) -> list[int]:
    """The first, second, … difference at 0: coefficients of binomials."""
    firsts = []
    while numbers:
        firsts.append(numbers[0])
        numbers = [after - before for before, after in pairwise(numbers)]
    return firsts


# --- the one choice in which e^ε has a part -------------------------------------------


def _degree(weights: tuple[int, ...], epsilon: Fraction, randbelow: RandBelow) -> int:
    """m with probability ∝ weight·(e^ε − 1)^−m."""
    bits = _BITS
    number = randbelow(1 << bits)
    while True:
        surely, perhaps = _cumulative(weights, epsilon, bits)
        low = sum(number >= border for border in perhaps)
        high = sum(number + 1 > border for border in surely)
        if low == high:
            return low
        number = number << bits | randbelow(1 << bits)
        bits *= 2


@lru_cache(maxsize=256)
def _cumulative(
    weights: tuple[int, ...], epsilon: Fraction, bits: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Below and above 2^bits·P(degree ≤ m), for every m but the last.

    The larger 1/(e^ε − 1), the higher the degree: so its bounds are those at the bounds of e^ε.
    """
    unit = 1 << 2 * bits
    below, above = exp_bounds(epsilon, 2 * bits)

    def shares(exponential: int) -> list[Fraction]:
        """Times (e^ε − 1)^last, so that all are whole."""
        odds, last = exponential - unit, len(weights) - 1
        powers = [w * unit**m * odds ** (last - m) for m, w in enumerate(weights)]
        return [Fraction(part, sum(powers)) for part in accumulate(powers[:-1])]

    return (
        tuple(math.floor(share * (1 << bits)) for share in shares(below)),
        tuple(math.ceil(share * (1 << bits)) for share in shares(above)),
    )


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers below and above 2^bits·e^x, x > 0: e^x = (e^(x/2^h))^(2^h)."""
    halvings = max(0, math.ceil(x).bit_length() + 4)
    guarded = bits + 2 * halvings + 2 * math.ceil(x) + 32
    unit = 1 << guarded
    small = x / (1 << halvings)  # at most 1/8
    low = high = 0
    term_low = term_high = unit
    n = 0
    while term_high:
        low, high = low + term_low, high + term_high
        n += 1
        term_low = term_low * small.numerator // (small.denominator * n)
        term_high = -(-term_high * small.numerator // (small.denominator * n))
        if term_high == 1:
            high += 2  # the rest is less than twice the next term
            break
    for _ in range(halvings):
        low, high = low * low >> guarded, -(-high * high >> guarded)
    shift = guarded - bits
    return low >> shift, -(-high >> shift)
