"""The Sepsis case study with our mechanisms: single releases, as an analyst would get them.

The planner chooses from public facts; every month is drawn from the exact law of what would be
released, by the sampler that releases use, with seeded chances. Months are disjoint, so the
whole series of a PPI costs one ε.

Bounds come from a rule that looks at no case:

    declared  what the bundled catalogue declares
    target    from 0 to so many times the target: see `bound_rules`
    private   nothing is declared: a quarter of ε finds a ceiling in every month
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from experiments.bound_rules import bounded_by_target
from experiments.boxes import OURS
from experiments.intervals import Floats, Generator
from experiments.monthly import Monthly
from experiments.seeded import generator, randbelow
from experiments.sepsis_log import SepsisLog
from experiments.sepsis_targets import LIMITS, shown_target
from pappi.checkpoint.answers import probability_met
from pappi.engine import CaseTable
from pappi.mechanisms import Law, Outcome, Values
from pappi.planning import Measurement, Plan, plan_ppi
from pappi.ppinot import AggregatedMeasure, Bounding, Ppi, ReleaseChoice, Wanted, value_above
from pappi.values import Epsilon, Verdict, judge

EPSILONS = ("0.1", "0.5", "1")
DECLARED, TARGET, PRIVATE = "declared", "target", "private"
NUMBERS = {
    "waiting": "1", "stay": "2", "longest-stay": "3", "returning": "4",
    "returning-of-all": "4 of all", "antibiotics": "5", "lactic-acid": "6",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Releases:
    """Many simulated releases of one PPI.

    `noisy[run][month]` are the released integers of each function, drawn from
    `laws[month]`; `monthly` has the values they stand for. All that a post-processing of
    releases may read is in `plan` and `noisy`.
    """

    plan: Plan
    laws: tuple[tuple[Law, ...], ...]
    noisy: tuple[tuple[tuple[Outcome, ...], ...], ...]
    monthly: Monthly


def our_releases(log: SepsisLog, runs: int) -> Iterator[Releases]:
    """Every PPI at every ε, by every rule that has a say in its bounds."""
    for ppi in log.ppis.values():
        for rule, ruled in ruled_by(ppi):
            for epsilon in EPSILONS:
                yield releases(log, ruled, epsilon, rule, runs)


def ruled_by(ppi: Ppi) -> Iterator[tuple[str, Ppi]]:
    """The PPI with the bounds of each rule; truth values need no bounds."""
    yield DECLARED, ppi
    measure, bounded = ppi.measure, bounded_by_target(ppi)
    if bounded is not None:
        yield TARGET, bounded
    if isinstance(measure, AggregatedMeasure) and measure.called == "mean":
        unknown = replace(measure, bounds=None, bounding=Bounding.PRIVATE)
        yield PRIVATE, replace(ppi, measure=unknown)


def planned(log: SepsisLog, ppi: Ppi, epsilon: str) -> Plan:
    return plan_ppi(ppi, Epsilon.of(epsilon), log.declaration.public)


def releases(log: SepsisLog, ppi: Ppi, epsilon: str, rule: str, runs: int) -> Releases:
    plan = planned(log, ppi, epsilon)
    laws = laws_of(log, plan)
    noisy = drawn(laws, runs, generator(f"sepsis {ppi.id} {epsilon} {rule}"))
    values = np.array([[_value(plan, month) for month in run] for run in noisy])
    return Releases(plan, laws, noisy, monthly_of(log, ppi, plan, (epsilon, rule), values))


def monthly_of(
    log: SepsisLog, ppi: Ppi, plan: Plan, asked: tuple[str, str], values: Floats, by: str = OURS
) -> Monthly:
    """Beside the truth; `asked` are ε and the rule for bounds."""
    epsilon, rule = asked
    return Monthly(
        number=NUMBERS.get(ppi.id, ""),
        name=ppi.name,
        unit=ppi.unit.name,
        by=by,
        function=_function(ppi),
        mechanism=plan.mechanism,
        bounds=rule,
        epsilon=epsilon,
        months=log.months,
        truth=log.truth(ppi),
        values=values,
        target=shown_target(ppi),
        limit=LIMITS.get(ppi.id) if epsilon == "0.1" else None,
    )


def laws_of(log: SepsisLog, plan: Plan) -> tuple[tuple[Law, ...], ...]:
    """Month by month, of each function."""
    return tuple(_laws(plan, table) for table in log.tables)


def pooled_law(log: SepsisLog, plan: Plan) -> tuple[Law, ...]:
    """Of all cases together."""
    return tuple(
        part.mechanism.law(np.concatenate([_contributions(part, table) for table in log.tables]))
        for part in plan.measurements
    )


def _function(ppi: Ppi) -> str:
    return ppi.measure.called if isinstance(ppi.measure, AggregatedMeasure) else "ratio"


def drawn(
    laws: tuple[tuple[Law, ...], ...], runs: int, rng: Generator
) -> tuple[tuple[tuple[Outcome, ...], ...], ...]:
    chance = randbelow(rng)
    return tuple(
        tuple(tuple(law.draw(chance) for law in month) for month in laws) for _ in range(runs)
    )


def verdicts_right(log: SepsisLog, ppi: Ppi, epsilon: str, runs: int) -> float:
    """The share of right verdicts, where the verdict alone is asked for."""
    asked = replace(ppi, release=ReleaseChoice(answer=Wanted.VERDICT))
    plan, target = planned(log, asked, epsilon), ppi.target
    if target is None:
        raise ValueError(f"{ppi.id} has no target")
    laws = laws_of(log, plan)
    noisy = drawn(laws, runs, generator(f"sepsis verdict {ppi.id} {epsilon}"))
    values = [value * float(ppi.unit.factor) for value in log.truth(ppi)]
    truths = [judge(target, value, value) is Verdict.MET for value in values]
    found = [[_met(plan, month) for month in run] for run in noisy]
    return float(np.mean(np.array(found) == np.array(truths)))


def _met(plan: Plan, noisy: tuple[Outcome, ...]) -> bool:
    target = plan.ppi.target
    released = {part.path: outcome for part, outcome in zip(plan.measurements, noisy, strict=True)}
    chance = None if target is None else probability_met(plan, target, released)
    return chance is not None and chance > 0.5


def _laws(plan: Plan, table: CaseTable) -> tuple[Law, ...]:
    return tuple(part.mechanism.law(_contributions(part, table)) for part in plan.measurements)


def _contributions(part: Measurement, table: CaseTable) -> Values:
    columns: list[Floats] = [table.contributions(measure) for measure in part.inputs]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _value(plan: Plan, noisy: tuple[Outcome, ...]) -> float:
    """As the checkpoint answers: kept in the declared range, whose middle stands for no value."""
    pairs = zip(plan.measurements, noisy, strict=True)
    estimates = {part.path: part.mechanism.estimate(outcome).value for part, outcome in pairs}
    value, declared = value_above(plan.ppi.measure, estimates), plan.ppi.value_range
    if declared is not None:
        low, high = float(declared.low), float(declared.high)
        value = (low + high) / 2 if value is None else min(max(value, low), high)
    return float("nan") if value is None else plan.ppi.unit.show(value)
