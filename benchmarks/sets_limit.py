"""How much better a member of a joint draw could be estimated at all.

    python -m benchmarks.sets_limit

An estimate reads two noisy numbers of its member, v and t, and draws their quotient towards the
middle. Could another function of the two err less? An estimator that nowhere errs more than c
times as much as ours has, for any weights on a grid of sizes and shares, a weighted error that is
no less than that of the best one for these weights: the posterior mean. So each choice of weights
is a bound, and the worst ones are looked for by raising the weights of what does badly. Of shares
the law is exact; a mean has steps of half a case here.

First, of several sets: the smallest c that is possible everywhere. Then the errors of Sepsis'
shares over those of a split, for the estimator that suits Sepsis best among all that are nowhere
worse than 1.02 times ours (needs the shared data, else left out).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets import SEPSIS, SEPSIS_TOTAL, load, split
from experiments.sepsis_log import FILE, ZONE, sepsis_catalogue
from experiments.shared_data import missing, shared_file
from pappi.mechanisms import Contribution, Mechanism, PresenceClass, joint_members
from pappi.mechanisms.hull import Spans
from pappi.mechanisms.joint import JointMember, class_noise
from pappi.planning import plan_set
from pappi.values import Adjacency, Bounds, Terms

Floats = NDArray[np.float64]

PLACES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
SIZES = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
"""In units of the noise."""
ALLOWED = 1.02
TURNS, PACE = 800, 1.0

_SHARE = Contribution("share", Bounds(Fraction(0), Fraction(1)), integral=True)
_MEAN = Contribution("mean", Bounds(Fraction(0), Fraction(100)), integral=False)
_SETS = (
    ("one mean", ((_MEAN,),), Fraction(1)),
    ("three shares", ((_SHARE,) * 3,), Fraction(1)),
    ("six shares", ((_SHARE,) * 6,), Fraction(1)),
    ("three shares and two means", ((_SHARE,) * 3, (_MEAN,), (_MEAN,)), Fraction(5, 2)),
)


def chances(classes: tuple[Spans, ...], number: int, epsilon: float, reach: int) -> Floats:
    """Of t and the radius r of v in one class: t from −reach up, r from 0 up. See `hull`."""
    more, less = np.meshgrid(np.arange(reach + 1), np.arange(reach + 1), indexing="ij")
    weights = np.exp(-epsilon * (more + less))
    radii = np.arange(2.0 * reach + 2)
    volumes = [
        np.prod([(k * radii + 1) / (2 * k * reach + 1) for k in ks], axis=0) for ks in classes
    ]
    for other, volume in enumerate(volumes):
        if other != number:
            so_far = np.concatenate(([0.0], np.cumsum(volume)))
            weights *= so_far[more + less + 1] - so_far[more] + so_far[more + less] - so_far[less]
    found = np.zeros((2 * reach + 1, 2 * reach + 1))
    for t in range(-reach, reach + 1):
        radius = np.minimum(2 * more - t, 2 * less + t)
        within = (radius >= 0) & (t >= -less) & (t <= more)
        found[t + reach] = np.bincount(radius[within], weights[within], minlength=2 * reach + 1)
    found *= volumes[number][:-1]
    return np.asarray(found / found.sum())


@dataclass(frozen=True, slots=True)
class Table:
    """How likely each (v, t) is, a row for each truth; and the shares that are true."""

    likely: Floats
    truths: Floats
    estimates: Floats

    @classmethod
    def of(cls, member: JointMember, truths: list[tuple[int, float]]) -> Table:
        spans, (number, _) = tuple(each.spans for each in member.classes), member.place
        size = sum(map(len, spans)) + len(spans) + 2
        reach = math.ceil((size + 4 * math.sqrt(size)) / min(float(member.epsilon), 1.5))
        law = chances(spans, number, float(member.epsilon), reach)
        most, step = max(cases for cases, _ in truths), max(2 / member.member.span, 0.5)
        t = np.arange(-reach, most + reach + 1)
        v = np.arange(-most - 2 * reach, most + 2 * reach + step / 2, step)
        half = np.arange(2 * reach + 1) + 1 / member.member.span
        away = np.arange(0, 4 * (most + reach) + 1, step)
        beside = np.stack([(law / (2 * half))[:, half >= x].sum(axis=1) for x in away], axis=1)
        rows = []
        for cases, share in truths:
            place, off = t - cases + reach, np.rint(np.abs(v - (2 * share - 1) * cases) / step)
            known = beside[np.clip(place, 0, 2 * reach)][:, off.astype(np.int64)]
            row = np.where(((place >= 0) & (place <= 2 * reach))[:, None], known, 0.0).ravel()
            rows.append(row / row.sum())
        likely = np.array(rows)
        kept = likely.sum(axis=0) > 1e-9
        every_t, every_v = (each.ravel()[kept] for each in np.meshgrid(t, v, indexing="ij"))
        pairs = zip(every_v.tolist(), every_t.tolist(), strict=True)
        estimates = [_estimate(member, *pair) for pair in pairs]
        shares = [share for _, share in truths]
        return cls(likely[:, kept], np.array(shares), np.array(estimates))

    def squares(self, estimates: Floats) -> Floats:
        """The mean square error at each truth."""
        first, second = self.likely @ estimates, self.likely @ estimates**2
        return np.asarray(second - 2 * self.truths * first + self.truths**2)

    def best(self, weights: Floats) -> Floats:
        return np.asarray((weights * self.truths) @ self.likely / (weights @ self.likely))


def bound(table: Table, goals: Floats) -> float:
    """No estimator keeps all its errors below this times their goals.

    `goals` has a row for each goal: by what each truth's square counts towards it.
    """
    weights, most = np.full(len(goals), 1 / len(goals)), 0.0
    for _ in range(TURNS):
        found = goals @ table.squares(table.best(np.maximum(weights @ goals, 1e-300)))
        most = max(most, float(weights @ found))
        weights = weights * np.exp(PACE * (found - found.max()))
        weights /= weights.sum()
    return math.sqrt(most)


def _estimate(member: JointMember, v: float, t: int) -> float:
    """As a share of the range, whatever the other members are."""
    noisy = []
    for number, each in enumerate(member.classes):
        noisy += [0] * len(each.members)
        noisy.append(t if number == member.place[0] else 0)
    start = sum(len(each.members) + 1 for each in member.classes[: member.place[0]])
    noisy[start + member.place[1]] = round(v * member.member.span / 2)
    value, (low, high) = member.estimate(tuple(noisy)).value, member.output_range
    return 0.5 if value is None else (value - low) / (high - low)


def grid(member: JointMember) -> list[tuple[int, float]]:
    """Shares of whole cases, if they are shares of cases."""
    spans = tuple(each.spans for each in member.classes)
    unit = class_noise(spans, member.place[0], member.epsilon).unit
    sizes = {max(1, round(size * unit)) for size in SIZES}
    whole = member.member.function == "share"
    return sorted({(n, round(p * n) / n if whole else p) for n, p in product(sizes, PLACES)})


def first_of(classes: tuple[tuple[Contribution, ...], ...], epsilon: Fraction) -> JointMember:
    shape = tuple(PresenceClass(each, everyone=not place) for place, each in enumerate(classes))
    return _joint(joint_members(shape, epsilon, Adjacency.ADD_REMOVE)[0])


def _joint(mechanism: Mechanism) -> JointMember:
    if not isinstance(mechanism, JointMember):
        raise TypeError(f"{mechanism.name} is not a member of a joint draw")
    return mechanism


def sepsis() -> None:
    file = shared_file(FILE)
    if file is None:
        print(f"left out: {missing(FILE)}")
        return
    catalogue = sepsis_catalogue()
    asked = tuple(ppi for ppi in catalogue.ppis if ppi.id in SEPSIS)
    cases = load(file, replace(catalogue, ppis=asked), Terms(timezone=ZONE))
    apart = split(cases, cases.ppis, SEPSIS_TOTAL)
    for plan, alone in zip(
        plan_set(cases.ppis, SEPSIS_TOTAL, cases.log.public), apart, strict=True
    ):
        member = _joint(plan.measurements[0].mechanism)
        if member.member.function != "share":
            continue
        shares = cases.truth(plan.ppi).tolist()
        months = list(zip(map(int, cases.sizes(plan.ppi)), shares, strict=True))
        before = [alone.measurements[0].mechanism.predicted_error(*month) for month in months]
        split_square = float(np.mean(np.square(before)))
        found = grid(member)
        table = Table.of(member, [*found, *months])
        now = table.squares(table.estimates)
        of_months = np.concatenate((np.zeros(len(found)), np.full(len(months), 1 / len(months))))
        cells = np.eye(len(found), len(now)) / (ALLOWED**2 * now[: len(found), None])
        low, high = 0.3, math.sqrt(float(of_months @ now) / split_square)
        ours = high
        while high - low > 0.01:
            middle = (low + high) / 2
            goals = np.vstack((cells, of_months / (middle**2 * split_square)))
            low, high = (middle, high) if bound(table, goals) > 1 else (low, middle)
        print(f"{plan.ppi.id:<20}{ours:>10.2f}{low:>22.2f}")


def main() -> int:
    print("Smallest c for which an estimator nowhere errs more than c times ours, at least")
    for name, classes, epsilon in _SETS:
        member = first_of(classes, epsilon)
        table = Table.of(member, grid(member))
        goals = np.diag(1 / table.squares(table.estimates))
        print(f"  {name + f', ε = {float(epsilon):g}':<40}{bound(table, goals):.3f}")
    print("\nSepsis' shares, errors over those of a split")
    print(f"{'':<20}{'ours':>10}{f'any within {ALLOWED:g}':>22}")
    sepsis()
    return 0


if __name__ == "__main__":
    sys.exit(main())
