"""What smoothing is worth, and how often its intervals are right.

`python -m benchmarks.smoothing coverage` draws releases of made-up series, most of which break
the model, and counts how often *all* intervals of a series hold; `... held-out` does so for series
that took no part in choosing it. `... sepsis LOG` releases the
monthly series of the paper's case study again and again, seeded and so not privately, and
compares raw and smoothed values with the true ones, which include what the bounds cut off.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pappi
from benchmarks.utility_values import Floats
from pappi.budget.accounts import KeyState
from pappi.checkpoint.answers import answer_of
from pappi.checkpoint.draw import _values
from pappi.checkpoint.evidence import evidence_of
from pappi.checkpoint.series import _series
from pappi.checkpoint.smoothing import smoothed
from pappi.engine.cases import CaseTable, evaluate_cases
from pappi.engine.scopes import cases_in, read_by
from pappi.mechanisms.evidence import Bins
from pappi.mechanisms.smoothing import smooth
from pappi.planning.cells import periods_of
from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Plan, plan_ppi
from pappi.planning.targets import holds
from pappi.ppinot.catalogue import read_catalogue
from pappi.ppinot.model import Ppi
from pappi.ppinot.reduced import reduced
from pappi.store.declarations import LogDeclaration
from pappi.values.answers import NoisyBins, Verdict
from pappi.values.epsilon import Epsilon
from pappi.workspace import Workspace

RUNS = 200
SIZES = (0.5, 5.0, 50.0, 500.0)
"""Cases per period times ε."""

WHOLE = 0.5
"""The share of ε for the whole time, where there are two levels."""

EXAMPLE = Path(__file__).parents[1] / "examples" / "sepsis.yaml"

# What the example asks of all who were released, the issue of the paper's follow-up asks of all.
OF_ALL = """
log: sepsis
ppis:
  - id: returning-of-all
    measure:
      share:
        derive: away < 28 days
        away: {time: {from: {activity: Release A}, to: {activity: Return ER}}}
    scope: every month
"""

# --- coverage ---------------------------------------------------------------------------------

Shape = Callable[[np.random.Generator], Floats]


def _normal(centre: float, spread: float, periods: int = 20) -> Shape:
    return lambda rng: np.clip(rng.normal(centre, spread, periods), 0, 1)


def _fixed(*shares: float) -> Shape:
    return lambda _: np.array(shares)


SHAPES: dict[str, Shape] = {
    "all equal": _fixed(*[0.3] * 20),
    "alike": _normal(0.3, 0.05),
    "low": _normal(0.03, 0.015),
    "spread": _normal(0.5, 0.15),
    "trend": _fixed(*np.linspace(0.2, 0.7, 20)),
    "jump": _fixed(*[0.2] * 10, *[0.6] * 10),
    "one far away": _fixed(*[0.2] * 19, 0.9),
    "one at 0": _fixed(*[0.65] * 19, 0.0),
    "three at 0": _fixed(*[0.65] * 17, 0.0, 0.0, 0.0),
    "anything": lambda rng: rng.uniform(0, 1, 20),
    "2 alike": _normal(0.4, 0.08, 2),
    "3 alike": _normal(0.4, 0.08, 3),
    "one of 3 far": _fixed(0.2, 0.2, 0.8),
    "60 alike": _normal(0.4, 0.08, 60),
}


# Written down after the model was fixed, and run once: the others took part in choosing it.
HELD_OUT: dict[str, Shape] = {
    "two levels": lambda rng: np.where(rng.random(16) < 0.7, 0.35, 0.75),
    "seasonal": lambda _: 0.4 + 0.2 * np.sin(np.arange(24) * np.pi / 6),
    "skewed": lambda rng: rng.beta(2, 8, 18),
    "heavy tails": lambda rng: np.clip(0.6 + 0.06 * rng.standard_t(3, 30), 0, 1),
    "random walk": lambda rng: np.clip(0.5 + np.cumsum(rng.normal(0, 0.05, 20)), 0, 1),
    "two of 8 far": _fixed(*[0.15] * 6, 0.7, 0.95),
    "quarters": lambda rng: rng.binomial(4, 0.7, 15) / 4,
    "4 spread": lambda rng: rng.uniform(0.1, 0.6, 4),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one series: whether all intervals hold, and square errors."""

    held: bool
    raw: float
    smoothed: float


def outcome(shares: Floats, sizes: Floats, rng: np.random.Generator) -> Outcome:
    noise = rng.laplace(0, 1, (2, len(shares)))
    sums = np.stack((shares, 1 - shares)) * sizes + noise
    evidence = [Bins(float(first), float(second)) for first, second in sums.T]
    found = smooth(evidence)
    held = bool(((shares >= found.low) & (shares <= found.high)).all())
    raw = np.array([each.likely[0] for each in evidence])
    errors = (float(np.mean((values - shares) ** 2)) for values in (raw, found.means))
    return Outcome(held, *errors)


def outcomes(shape: Shape, size: float, runs: int, *, uneven: bool) -> Iterator[Outcome]:
    rng = np.random.default_rng(7)
    for _ in range(runs):
        shares = shape(rng)
        spread = rng.normal(-0.5, 1, len(shares)) if uneven else rng.normal(0, 0.2, len(shares))
        yield outcome(shares, size * np.exp(spread), rng)


def coverage(runs: int = RUNS) -> None:
    print("how often all intervals hold, and the error raw > smoothed, by cases · ε per period")
    held = []
    for uneven in (False, True):
        print(f"{'uneven' if uneven else 'even'} periods".ljust(14), *(f"{s:>22}" for s in SIZES))
        for name, shape in SHAPES.items():
            cells = []
            for size in SIZES:
                found = list(outcomes(shape, size, runs, uneven=uneven))
                held.append(float(np.mean([each.held for each in found])))
                raw, better = (_root(found, which) for which in ("raw", "smoothed"))
                cells.append(f"{held[-1]:6.3f} {raw:6.4f} > {better:6.4f}")
            print(name.ljust(14), *cells, flush=True)
    print(f"on average {np.mean(held):.3f}, at worst {min(held):.3f}")


def held_out(runs: int = 100) -> None:
    held = []
    for name, shape in HELD_OUT.items():
        cells = []
        for size in (1.0, 8.0, 30.0, 200.0):
            rng, found = np.random.default_rng(20261), []
            for _ in range(runs):
                shares = shape(rng)
                sizes = size * rng.gamma(1.5, 1 / 1.5, len(shares))
                found.append(outcome(shares, sizes, rng))
            held.append(float(np.mean([each.held for each in found])))
            raw, better = (_root(found, which) for which in ("raw", "smoothed"))
            cells.append(f"{held[-1]:6.3f} {raw:6.4f} > {better:6.4f}")
        print(name.ljust(14), *cells, flush=True)
    print(f"on average {np.mean(held):.3f}, at worst {min(held):.3f}")


def _root(found: Sequence[Outcome], which: str) -> float:
    return float(np.sqrt(np.mean([getattr(each, which) for each in found])))


# --- Sepsis -----------------------------------------------------------------------------------


def sepsis(log_file: str, runs: int = RUNS) -> None:
    print("root mean square error over 20 months against the true values, median of the runs")
    subjects = list(_subjects(log_file))
    for epsilon, times in (("0.1", runs), ("0.5", runs // 4), ("1", runs // 4)):
        for subject in subjects:
            print(subject.line(Epsilon.of(epsilon), times), flush=True)
    print("verdicts against the true values, over all months")
    for epsilon in ("0.1", "0.5", "1"):
        for subject in subjects:
            if subject.ppi.target is not None:
                print(subject.verdicts(Epsilon.of(epsilon), max(runs // 10, 1)), flush=True)


@dataclass(frozen=True, slots=True)
class Subject:
    """A PPI, and its cases month by month."""

    ppi: Ppi
    log: LogDeclaration
    months: tuple[CaseTable, ...]
    truth: Floats

    def line(self, epsilon: Epsilon, runs: int) -> str:
        above = Epsilon(int(epsilon.nano * WHOLE))
        alone = self._errors(epsilon, None, runs)
        both = self._errors(epsilon - above, above, runs)
        parts = [f"{self.ppi.id:<18} ε {epsilon!s:<4} raw {alone[0]:7.2f}"]
        if alone[1] is not None:
            parts.append(f"smoothed {alone[1]:7.2f}   two levels {both[1] or 0:7.2f}")
            parts.append(f"all intervals hold {alone[2]:.3f}, {both[2]:.3f}")
        return "   ".join(parts)

    def verdicts(self, epsilon: Epsilon, runs: int) -> str:
        """How many verdicts are right, wrong and undecided, in percent: raw and smoothed."""
        plan, rng = self._plan(epsilon), random.Random(13)  # noqa: S311 - a simulation
        periods = periods_of(self.ppi.scope, self.log.horizon)
        laws = [plan.parts[0].mechanism.law(values) for values in self._values(plan)]
        found: dict[str, list[str]] = {"raw": [], "smoothed": []}
        for _ in range(runs):
            answers = [
                answer_of(plan, self.log, period, None, [law.draw(rng.randrange)], KeyState.NEW)
                for period, law in zip(periods, laws, strict=True)
            ]
            series = smoothed(_series(plan, answers))
            for answer, truth in zip(series.answers, self.truth, strict=True):
                for which, shown in (("raw", answer.verdict), ("smoothed", answer.best.verdict)):
                    found[which].append(_judged(plan, truth, shown))
        shares = (f"{which} {_counted(words)}" for which, words in found.items())
        return f"{self.ppi.id:<18} ε {epsilon!s:<4} {'   '.join(shares)}"

    def _errors(
        self, epsilon: Epsilon, above: Epsilon | None, runs: int
    ) -> tuple[float, float | None, float]:
        plan = self._plan(epsilon)
        over = None if above is None else self._plan(above)
        rng = random.Random(11)  # noqa: S311 - a simulation, and no release
        raw, better, held = [], [], []
        laws = [plan.parts[0].mechanism.law(values) for values in self._values(plan)]
        whole = None if over is None else over.parts[0].mechanism.law(self._all(over))
        clipped = self._clipped(plan)
        for _ in range(runs):
            drawn = [law.draw(rng.randrange) for law in laws]
            raw.append(self._error([self._estimate(plan, noisy) for noisy in drawn]))
            evidence = [evidence_of(plan, [noisy]) for noisy in drawn]
            bins = [each for each in evidence if isinstance(each, NoisyBins)]
            if not bins:
                continue
            top = None
            if whole is not None and over is not None:
                top = evidence_of(over, [whole.draw(rng.randrange)])
            found = smooth(
                [Bins(each.first, each.second) for each in bins],
                whole=Bins(top.first, top.second) if isinstance(top, NoisyBins) else None,
            )
            low, width = bins[0].low, bins[0].high - bins[0].low
            better.append(self._error(low + width * found.means))
            ends = low + width * found.low - 1e-9, low + width * found.high + 1e-9
            held.append(bool(((clipped >= ends[0]) & (clipped <= ends[1])).all()))
        smoothed = float(np.median(better)) if better else None
        return float(np.median(raw)), smoothed, float(np.mean(held)) if held else 0.0

    def _plan(self, epsilon: Epsilon) -> Plan:
        facts = PublicFacts(self.log.unit, self.log.adjacency, self.log.vocabulary, 100)
        return plan_ppi(self.ppi, epsilon, facts)

    def _values(self, plan: Plan) -> list[Floats]:
        return [_values(plan.parts[0], month, None) for month in self.months]

    def _all(self, plan: Plan) -> Floats:
        return np.concatenate(self._values(plan))

    def _clipped(self, plan: Plan) -> Floats:
        """The values without noise but with the bounds: what the intervals are about."""
        mechanism, unit = plan.parts[0].mechanism, plan.ppi.unit
        statistics = getattr(mechanism, "statistics", None)
        if statistics is None:
            return self.truth
        low = 0.0 if mechanism.width > 1 else unit.show(mechanism.bounds.low)
        high = 100.0 if mechanism.width > 1 else unit.show(mechanism.bounds.high)
        sums = np.array([statistics(values) for values in self._values(plan)], dtype=np.float64)
        return np.asarray(low + (high - low) * sums[:, 0] / sums.sum(axis=1))

    def _estimate(self, plan: Plan, noisy: tuple[int, ...]) -> float:
        value = plan.parts[0].mechanism.estimate(noisy).value
        return plan.ppi.unit.show(value or 0.0)

    def _error(self, values: Sequence[float] | Floats) -> float:
        return float(np.sqrt(np.mean((np.asarray(values) - self.truth) ** 2)))


_WORDS = ("right", "wrong", "undecided")


def _counted(words: Sequence[str]) -> str:
    return ", ".join(f"{100 * words.count(word) / len(words):.0f} % {word}" for word in _WORDS)


def _judged(plan: Plan, truth: float, verdict: Verdict | None) -> str:
    """Against the true value, of which the bounds cut nothing off."""
    target, unit = plan.ppi.target, plan.ppi.unit
    if target is None or verdict is None or verdict is Verdict.UNDECIDED:
        return "undecided"
    met = holds(target, truth * float(unit.factor))
    return "right" if met == (verdict is Verdict.MET) else "wrong"


def _subjects(log_file: str) -> Iterator[Subject]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = pappi.create(Path(folder) / "hospital")
        workspace.import_log(log_file, "sepsis", timezone="Europe/Amsterdam")
        log = workspace.log("sepsis")
        of_all = Path(folder) / "of_all.yaml"
        of_all.write_text(OF_ALL, encoding="utf-8")
        for path in (EXAMPLE, of_all):
            truths = workspace.exact(path)
            for ppi in read_catalogue(path).ppis:
                truth = [answer.value or 0.0 for answer in truths if answer.ppi == ppi.id]
                asked = reduced(ppi, log.anchor)
                months = _months(workspace, asked, log)
                yield Subject(asked, log, months, np.array(truth))


def _months(workspace: Workspace, ppi: Ppi, log: LogDeclaration) -> tuple[CaseTable, ...]:
    facts = PublicFacts(log.unit, log.adjacency, log.vocabulary, 100)
    measures = plan_ppi(ppi, Epsilon.of("0.1"), facts).parts[0].inputs
    found = evaluate_cases(
        workspace._files.events,  # noqa: SLF001 - the owner's own side
        log.table,
        log.anchor,
        list(measures),
        log.vocabulary,
        None,
        also=read_by([ppi.scope]),
        days=log.days,
    )
    periods = periods_of(ppi.scope, log.horizon)
    tables = cases_in(found, ppi.scope, periods, log.horizon, log.zone)
    return tuple(tables[period] for period in periods)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["coverage"]
    if what == "sepsis":
        sepsis(rest[0], *map(int, rest[1:2]))
    elif what == "held-out":
        held_out(*map(int, rest[:1]))
    else:
        coverage(*map(int, rest[:1]))
