"""The Sepsis case study with our mechanisms, smoothed: as `pappi release --smooth` would show it.

Smoothing reads released numbers alone, so it is free. Two levels split ε between the whole time
and the months. Where bounds come `from the whole time`, nothing is known but the target: see
`bound_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from experiments.bound_rules import MEANS, CeilingRule, loosely_bounded, within_octaves
from experiments.boxes import OURS
from experiments.intervals import Floats
from experiments.monthly import Monthly
from experiments.seeded import generator, randbelow
from experiments.sepsis_log import SepsisLog
from experiments.sepsis_ours import (
    DECLARED,
    EPSILONS,
    PRIVATE,
    Releases,
    drawn,
    laws_of,
    monthly_of,
    planned,
    pooled_law,
    releases,
    ruled_by,
)
from pappi.checkpoint.answers import likelihood_of
from pappi.checkpoint.levels import below_ceiling, has_levels
from pappi.mechanisms import Law, Outcome
from pappi.planning import Plan
from pappi.ppinot import Ppi
from pappi.series import smoothed_values
from pappi.values import Epsilon, Likelihood

SMOOTHED, TWO_LEVELS = f"{OURS}, smoothed", f"{OURS}, two levels"
FROM_WHOLE = "from the whole time"
SHARE = Fraction(1, 2)
"""Of ε, for the whole time, where bounds are declared."""


def smoothed_series(
    log: SepsisLog, runs: int, epsilons: Sequence[str] = EPSILONS
) -> Iterator[Monthly]:
    """Every PPI at every ε: with one and with two levels, by every rule for bounds."""
    for ppi in log.ppis.values():
        for epsilon in epsilons:
            for rule, ruled in ruled_by(ppi):
                if rule != PRIVATE:  # months choose different ceilings, and cannot be compared
                    yield one_level(releases(log, ruled, epsilon, rule, runs))
            if has_levels(ppi):
                yield two_levels(log, ppi, epsilon, runs)
            if (loose := loosely_bounded(ppi)) is not None:
                yield from_whole(log, loose, epsilon, runs)


def one_level(found: Releases) -> Monthly:
    values = [_smoothed(found.plan, run, None) for run in found.noisy]
    return replace(found.monthly, by=SMOOTHED, values=np.array(values))


def two_levels(log: SepsisLog, ppi: Ppi, epsilon: str, runs: int) -> Monthly:
    """Bounds as declared, for the whole time and for the months."""
    above, below = _parts(epsilon, SHARE)
    whole = planned(log, replace(ppi, scope=replace(ppi.scope, grid=None)), above)
    months = releases(log, ppi, below, f"{DECLARED}, below {epsilon}", runs)
    tops = drawn((pooled_law(log, whole),), runs, generator(f"sepsis whole {ppi.id} {epsilon}"))
    values = [
        _smoothed(months.plan, run, likelihood_of(whole, top))
        for run, (top,) in zip(months.noisy, tops, strict=True)
    ]
    return monthly_of(log, ppi, months.plan, (epsilon, DECLARED), np.array(values), TWO_LEVELS)


def from_whole(
    log: SepsisLog, loose: Ppi, epsilon: str, runs: int, rule: CeilingRule = MEANS
) -> Monthly:
    """Bounds, below loose ones, by what a share of ε finds in the whole time."""
    above, below = _parts(epsilon, rule.share)
    in_one = replace(loose, scope=replace(loose.scope, grid=None))
    whole = within_octaves(planned(log, in_one, above), rule.octaves)
    law, rng = pooled_law(log, whole), generator(f"sepsis ceiling {loose.id} {epsilon}")
    chance, known = randbelow(rng), dict[float | None, tuple[Plan, tuple[tuple[Law, ...], ...]]]()
    values, plan = [], whole
    for _ in range(runs):
        top = likelihood_of(whole, [one.draw(chance) for one in law])
        high = None if top is None else top.high
        if high not in known:
            plan = planned(log, below_ceiling(loose, top), below)
            known[high] = plan, laws_of(log, plan)
        plan, laws = known[high]
        run = tuple(tuple(one.draw(chance) for one in month) for month in laws)
        values.append(_smoothed(plan, run, top))
    return monthly_of(log, loose, plan, (epsilon, FROM_WHOLE), np.array(values), TWO_LEVELS)


def _smoothed(plan: Plan, run: Sequence[tuple[Outcome, ...]], whole: Likelihood | None) -> Floats:
    months = [each for month in run if (each := likelihood_of(plan, month)) is not None]
    return np.array([each.value for each in smoothed_values(months, whole)])


def _parts(epsilon: str, share: Fraction) -> tuple[str, str]:
    """For the whole time, and for the months."""
    asked = Epsilon.of(epsilon)
    above = Epsilon(int(asked.nano * share))
    return str(above), str(asked - above)


def summary(series: Sequence[Monthly]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """A row for each way to release a PPI: what is aimed at, then errors and verdicts by ε."""
    columns = ("rmse", "verdicts_right")
    heads = tuple(f"{column}_{epsilon}" for epsilon in EPSILONS for column in columns)
    rows: dict[tuple[str, ...], list[object]] = {}
    for one in sorted(series, key=lambda each: each.number):
        row = rows.setdefault((one.number, one.name, one.unit, one.by, one.bounds), [one.limit])
        row.extend((one.rmse, one.verdicts_right))
    found: list[tuple[object, ...]] = [(*about, *row) for about, row in rows.items()]
    return ("ppi", "name", "unit", "by", "bounds", "limit", *heads), found
