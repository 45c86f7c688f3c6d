"""How much better a member of a joint draw could be estimated at all.

    python -m benchmarks.sets_limit

An estimate reads two noisy numbers of its member, v and t, and draws their quotient towards the
middle. Could another function err less? An estimator that nowhere errs more than c times as much
as ours has, for any weights on a grid of sizes and shares, a weighted error that is no less than
that of the best one for these weights: the posterior mean. So each choice of weights is a bound,
and the worst ones are looked for by raising the weights of what does badly.

First, of several sets and estimates by v and t: the smallest c that is possible everywhere. Of
shares the law is exact; a mean has steps of half a case here.

Then of Sepsis, where neither mean or both count what their bounds cut, and of estimates by *all*
that the draw has told (needs the shared data, else left out): the least error over that of a split,
among those that nowhere err more than 1.02 or 1.1 times as much as ours, and that treat a share and
its complement alike: whoever asks for the cases without antibiotics is owed as much. What the other
members may be is averaged over. In months of 10 cases or more, which are a small part of the error,
an estimate may err a twentieth less than ours. The likelihoods are exact; the errors come from
draws, and are known to about 0.01.

Last, whether two draws would do better than one: the shares in one of them, at some part of ε, the
means in the other. Errors are predicted, from the exact laws, over those of a split.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets import FEW, SEPSIS, SEPSIS_TOTAL, Cases, load, split, uncounted
from experiments.sepsis_log import FILE, ZONE, sepsis_catalogue
from experiments.shared_data import missing, shared_file
from pappi.mechanisms import Contribution, Mechanism, PresenceClass, joint_members
from pappi.mechanisms.hull import Spans, hull_noise
from pappi.mechanisms.joint import JointMember, class_noise
from pappi.planning import Plan, plan_set
from pappi.ppinot import AggregatedMeasure, Ppi
from pappi.values import Adjacency, Bounds, Epsilon, Terms

Floats = NDArray[np.float64]

PLACES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
SIZES = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
"""In units of the noise."""
TURNS, PACE = 800, 1.0

ALLOWED, LARGE_MAY = (1.02, 1.1), 1.05
CELLS = [
    (cases, part / cases)
    for cases in (*range(1, 10), 11, 14, 18)
    for part in sorted({round(cases * place / 8) for place in range(9)})
]
OTHERS, DRAWS = 60, 250
VECTOR_TURNS, VECTOR_PACE = 250, 0.7
PARTS = tuple(Fraction(part, 5) for part in (2, 3, 4))
_ROUNDED = 1e-9

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
    spans, (number, _) = tuple(each.spans for each in member.classes), member.place
    others = spans[:number] + spans[number + 1 :]
    unit = class_noise(spans[number], others, member.epsilon).unit
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


# --- of Sepsis, whatever the draw has told ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draws:
    """For each truth of a share as many draws of the whole set: how likely each truth makes them.

    A truth is a number of cases and a share. What the other members are is not known: any of
    `OTHERS`, the same for all truths.
    """

    likely: Floats
    truth: NDArray[np.int64]
    """Of each draw."""
    shares: Floats
    """Of each truth."""

    @classmethod
    def of(cls, member: JointMember, truths: list[tuple[int, float]], seed: int) -> Draws:
        sizes = [len(each.spans) + 1 for each in member.classes]
        starts = np.cumsum([0, *sizes[:-1]])
        number, index = member.place
        unknown = np.random.default_rng(1)  # the same in every sample: they are part of the bound
        others = unknown.uniform(-1, 1, (OTHERS, sum(sizes)))
        parts = unknown.uniform(0, 1, (OTHERS, len(sizes)))
        parts[:, number] = 1
        centres = np.empty((len(truths), OTHERS, sum(sizes)))
        for place, (cases, share) in enumerate(truths):
            counts = np.repeat(np.rint(parts * cases), sizes, axis=1)
            centres[place] = others * counts
            centres[place][:, starts + np.array(sizes) - 1] = np.rint(parts * cases)
            centres[place][:, starts[number] + index] = (2 * share - 1) * cases
        truth = np.repeat(np.arange(len(truths)), DRAWS)
        chance = np.random.default_rng(seed)
        drawn = centres[truth, chance.integers(0, OTHERS, len(truth))]
        drawn += _noises(member, len(truth), seed)
        epsilon = float(member.epsilon)
        likely = np.stack(
            [np.exp(-epsilon * _scores(z - centres, starts)).mean(axis=1) for z in drawn]
        )
        return cls(likely, truth, np.array([share for _, share in truths]))

    def best(self, weights: Floats) -> Floats:
        """The mean square error at each truth, of the posterior mean for these weights."""
        guesses = (self.likely @ (weights * self.shares)) / (self.likely @ weights)
        return np.bincount(self.truth, (guesses - self.shares[self.truth]) ** 2) / DRAWS


def _noises(member: JointMember, number: int, seed: int) -> Floats:
    """In cases: v of each member and t of each class."""
    spans = tuple(each.spans for each in member.classes)
    chance = random.Random(seed).randrange  # noqa: S311 - reproducible figures
    steps = [2 / span if span else 1.0 for each in spans for span in (*each, 0)]
    drawn = [hull_noise(spans, member.epsilon, chance) for _ in range(number)]
    return np.array(drawn, dtype=np.float64) * steps


def _scores(away: Floats, starts: NDArray[np.int64]) -> Floats:
    """f of the hull."""
    ends = [*starts[1:], away.shape[-1]]
    t = away[..., np.array(ends) - 1]
    size = np.maximum.reduceat(np.abs(away), starts, axis=-1)
    more, less = ((size + side * t).max(axis=-1) / 2 for side in (1, -1))
    return np.asarray(np.ceil(more - _ROUNDED) + np.ceil(less - _ROUNDED))


def vector_bound(learn: Draws, check: Draws, goals: Floats) -> float:
    """No estimator keeps all its errors below this times their goals: see `bound`.

    The weights are found on one sample, and what they prove is measured on another.
    """
    weights = np.full(len(goals), 1 / len(goals))
    most, worst = 0.0, weights
    for _ in range(VECTOR_TURNS):
        found = goals @ learn.best(np.maximum(weights @ goals, 1e-300))
        if weights @ found > most:
            most, worst = float(weights @ found), weights
        weights = weights * (found / found.max()) ** VECTOR_PACE
        weights /= weights.sum()
    return math.sqrt(worst @ goals @ check.best(np.maximum(worst @ goals, 1e-300)))


def sepsis() -> None:
    file = shared_file(FILE)
    if file is None:
        print(f"left out: {missing(FILE)}")
        return
    catalogue = sepsis_catalogue()
    asked = tuple(ppi for ppi in catalogue.ppis if ppi.id in SEPSIS)
    cases = load(file, replace(catalogue, ppis=asked), Terms(timezone=ZONE))
    heads = ("ours", *(f"any, {allowed:g}" for allowed in ALLOWED))
    ways = {"no mean counts": uncounted(cases.ppis), "both means count": cases.ppis}
    for way, ppis in ways.items():
        print(f"\n{way:<20}" + "".join(f"{head:>14}" for head in heads))
        _least_of_shares(cases, ppis)
    for way, ppis in ways.items():
        print(f"\nOne draw or two, {way}: predicted errors over those of a split")
        _two_draws(cases, ppis)


def _least_of_shares(cases: Cases, ppis: tuple[Ppi, ...]) -> None:
    apart = split(cases, ppis, SEPSIS_TOTAL)
    plans = plan_set(ppis, SEPSIS_TOTAL, cases.log.public)
    for plan, alone in zip(plans, apart, strict=True):
        member = _joint(plan.measurements[0].mechanism)
        if member.member.function != "share":
            continue
        before = alone.measurements[0].mechanism.predicted_error
        shares = cases.truth(plan.ppi).tolist()
        months = list(zip(map(int, cases.sizes(plan.ppi)), shares, strict=True))
        small = [month for month in months if month[0] < FEW]
        mirrored = [*small, *((n, 1 - share) for n, share in small)]
        of_split = math.fsum(before(*month) ** 2 for month in months)
        of_large = math.fsum(member.predicted_error(*m) ** 2 for m in months if m not in small)
        of_small = math.fsum(member.predicted_error(*month) ** 2 for month in small)
        line = [math.sqrt((of_large + of_small) / of_split)]
        learn, check = (Draws.of(member, [*CELLS, *mirrored], seed) for seed in (1, 2))
        ours = np.array([member.predicted_error(*cell) ** 2 for cell in CELLS])
        for allowed in ALLOWED:
            cells = np.eye(len(CELLS), len(CELLS) + len(mirrored)) / (allowed**2 * ours[:, None])
            low, high = math.sqrt(of_large / LARGE_MAY**2 / of_split), line[0]
            while high - low > 0.005:
                middle = (low + high) / 2
                left = middle**2 * of_split - of_large / LARGE_MAY**2
                of_months = np.repeat((0.0, 0.5 / left), (len(CELLS), len(mirrored)))
                proved = vector_bound(learn, check, np.vstack((cells, of_months)))
                low, high = (middle, high) if proved > 1 else (low, middle)
            line.append(low)
        print(f"{plan.ppi.id:<20}" + "".join(f"{each:>14.2f}" for each in line), flush=True)


def _two_draws(cases: Cases, ppis: tuple[Ppi, ...]) -> None:
    apart, log = split(cases, ppis, SEPSIS_TOTAL), cases.log.public
    shares = [ppi for ppi in ppis if is_share(ppi)]
    means = [ppi for ppi in ppis if not is_share(ppi)]
    print(f"{'':<20}" + "".join(f"{ppi.id:>18}" for ppi in ppis) + f"{'all':>8}")
    one = plan_set(ppis, SEPSIS_TOTAL, log)
    ways = {"one draw": {plan.ppi.id: plan for plan in one}}
    for part in PARTS:
        of_shares = Epsilon(math.floor(SEPSIS_TOTAL.nano * part))
        rest = Epsilon(SEPSIS_TOTAL.nano - of_shares.nano)
        both = (*plan_set(shares, of_shares, log), *plan_set(means, rest, log))
        ways[f"shares at {part} of ε"] = {plan.ppi.id: plan for plan in both}
    for way, plans in ways.items():
        ratios = [
            _predicted(cases, plans[ppi.id]) / _predicted(cases, alone)
            for ppi, alone in zip(ppis, apart, strict=True)
        ]
        print(f"{way:<20}" + "".join(f"{ratio:>18.2f}" for ratio in ratios), end="")
        print(f"{math.exp(float(np.mean(np.log(ratios)))):>8.2f}")


def is_share(ppi: Ppi) -> bool:
    return isinstance(ppi.measure, AggregatedMeasure) and ppi.measure.called == "share"


def _predicted(cases: Cases, plan: Plan) -> float:
    months = zip(cases.sizes(plan.ppi).tolist(), cases.truth(plan.ppi).tolist(), strict=True)
    errors = [plan.measurements[0].mechanism.predicted_error(*month) for month in months]
    return math.sqrt(float(np.mean(np.square(errors))))


def main() -> int:
    print("Smallest c for which an estimator nowhere errs more than c times ours, at least")
    for name, classes, epsilon in _SETS:
        member = first_of(classes, epsilon)
        table = Table.of(member, grid(member))
        goals = np.diag(1 / table.squares(table.estimates))
        print(f"  {name + f', ε = {float(epsilon):g}':<40}{bound(table, goals):.3f}")
    print("\nSepsis' shares, errors over those of a split")
    sepsis()
    return 0


if __name__ == "__main__":
    sys.exit(main())
