"""What each mechanism really guarantees: the exact audit's verdict beside its claim.

Every mechanism is asked for the same ε over values in [0, 100]. The published ones are
judged twice, with bounds from the data, as the paper uses them, and with public bounds, to
tell what that one change would repair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from experiments.deviations import Deviation
from experiments.published import FUNCTIONS, Function, Kind, Published
from experiments.published_laws import PublishedLaw, PublishedSampleLaw
from experiments.published_sample import PublishedSample
from pappi.audit import (
    Audited,
    AuditReport,
    Column,
    Data,
    audit_joint,
    handmade,
    spread,
    steered_by,
)
from pappi.audit.reports import Done, no_progress
from pappi.mechanisms import (
    Limit,
    Looseness,
    NoisyMargin,
    SampleAndAggregate,
    Task,
    TwoBinRatio,
    Values,
    mechanism_for,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

COLUMNS = (
    "by", "function", "mechanism", "bounds", "adjacency", "verdict", "worst_loss_over_epsilon",
    "epsilon", "pairs",
)  # fmt: skip

EPSILON = Fraction(1, 10)
DOMAIN = Bounds(Fraction(0), Fraction(100))
LIMIT = Limit(Fraction(50), at_most=True)
FALLOFF = 3
PAIRS, FAST_PAIRS = 2_000, 1_000
_AUDITED_BUCKETS, _OCTAVES = 5, 3
FROM_DATA, PUBLIC = "from the data", "public"
# Under replace every case has a hundred neighbours: fewer of them make the point.
_MANY = {Adjacency.ADD_REMOVE: 100, Adjacency.REPLACE: 20}
_STARTS, _FAST_STARTS = 4, 2


@dataclass(frozen=True, slots=True)
class Claim:
    """A mechanism that claims ε, and what to audit to see whether it keeps it."""

    ours: bool
    mechanism: str
    function: str
    bounds: str
    adjacency: Adjacency
    audited: tuple[Audited, ...]
    columns: tuple[Column, ...]

    @property
    def label(self) -> str:
        return f"{self.function}, {self.mechanism}, bounds {self.bounds}, {self.adjacency}"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What the audit found: the worst loss as a multiple of the ε that was claimed."""

    claim: Claim
    ratio: float
    pairs: int
    holds: bool

    @property
    def verdict(self) -> str:
        if self.holds:
            return f"holds: {self.ratio:.2f} ε"
        if math.isinf(self.ratio):
            return "FAILS: no bound on the loss"
        return f"FAILS: {self.ratio:.3g} ε"

    def row(self) -> tuple[object, ...]:
        """For `COLUMNS`."""
        claim = self.claim
        return (
            "ours" if claim.ours else "published", claim.function, claim.mechanism, claim.bounds,
            str(claim.adjacency), self.verdict, self.ratio, float(EPSILON), self.pairs,
        )  # fmt: skip


def guarantees(*, fast: bool, done: Done = no_progress) -> list[Guarantee]:
    """The verdict on every claim; fast, on those under add-remove alone."""
    asked = [claim for claim in claims() if not fast or claim.adjacency is Adjacency.ADD_REMOVE]
    work = _judged_fast if fast else _judged
    return spread(work, asked, done=done)


def verdict_on(found: Sequence[Guarantee], mechanism: str, function: str, *, ours: bool) -> str:
    """What was found for a mechanism as it is used: theirs with bounds from the data."""
    named, bounds = (mechanism, PUBLIC) if ours else (f"{mechanism}, as published", FROM_DATA)
    for one in found:
        claim = one.claim
        asked = (claim.ours, claim.mechanism, claim.function, claim.bounds, claim.adjacency)
        if asked == (ours, named, function, bounds, Adjacency.ADD_REMOVE):
            return one.verdict
    return "not audited"


def claims() -> Iterator[Claim]:
    for adjacency in Adjacency:
        yield from _published(adjacency)
        yield from _ours(adjacency)


# --- theirs ---------------------------------------------------------------------------


def _published(adjacency: Adjacency) -> Iterator[Claim]:
    kinds: tuple[Kind, ...] = ("laplace", "interval", "threshold")
    for bounds in (None, (float(DOMAIN.low), float(DOMAIN.high))):
        known = FROM_DATA if bounds is None else PUBLIC
        for kind in kinds:
            for function in FUNCTIONS:
                law = _law(kind, function, bounds)
                yield _claim(f"{kind}, as published", function, known, adjacency, law)
        yield _sampled(known, adjacency)
    both = (_law("laplace", "sum", (0.0, 100.0)),) * 2
    yield Claim(
        ours=False,
        mechanism="laplace twice, ε each",
        function="ratio",
        bounds=PUBLIC,
        adjacency=adjacency,
        audited=both,
        columns=(Column(DOMAIN),) * 2,
    )


def _law(kind: Kind, function: Function, bounds: tuple[float, float] | None) -> PublishedLaw:
    target = float(LIMIT.value)
    published = Published(
        kind, function, float(EPSILON), bounds=bounds, target=target, falloff=FALLOFF
    )
    return PublishedLaw(published, DOMAIN, EPSILON)


def _sampled(known: str, adjacency: Adjacency) -> Claim:
    """With public bounds, the noise is for results from 0 to 100 %."""
    deviations = frozenset({Deviation.WHOLE_RANGE} if known == PUBLIC else ())
    published = PublishedSample(float(EPSILON), deviations, _AUDITED_BUCKETS)
    law = PublishedSampleLaw(published, EPSILON)
    return Claim(
        ours=False,
        mechanism="sample-and-aggregate, as published",
        function="share",
        bounds=known,
        adjacency=adjacency,
        audited=(law,),
        columns=(Column(UNIT_INTERVAL),),
    )


def _claim(mechanism: str, function: str, bounds: str, adjacency: Adjacency, law: Audited) -> Claim:
    column = Column(DOMAIN, target=float(LIMIT.value))
    return Claim(
        ours=False,
        mechanism=mechanism,
        function=function,
        bounds=bounds,
        adjacency=adjacency,
        audited=(law,),
        columns=(column,),
    )


# --- ours -----------------------------------------------------------------------------


def _ours(adjacency: Adjacency) -> Iterator[Claim]:
    for function in FUNCTIONS:
        plain = mechanism_for(function, DOMAIN, EPSILON, adjacency, integral=False)
        yield _own(plain.name, function, adjacency, plain)
    share = mechanism_for("share", UNIT_INTERVAL, EPSILON, adjacency, integral=True)
    yield _own(share.name, "share", adjacency, share, UNIT_INTERVAL)
    sampled = SampleAndAggregate(
        UNIT_INTERVAL,
        EPSILON,
        adjacency,
        False,  # noqa: FBT003
        _mean,
        1,
        _AUDITED_BUCKETS,
    )
    yield _own(sampled.name, "share", adjacency, sampled, UNIT_INTERVAL)
    ratio = TwoBinRatio(DOMAIN, EPSILON, adjacency, False, Fraction(1), DOMAIN)  # noqa: FBT003
    yield _own(ratio.name, "ratio", adjacency, ratio)
    for function in ("mean", "max", "min"):
        aiming = mechanism_for(
            function, DOMAIN, EPSILON, adjacency,
            integral=False, limit=LIMIT, falloff=Fraction(FALLOFF),
        )  # fmt: skip
        yield _own("threshold", function, adjacency, aiming)
    loose = mechanism_for(
        "mean", DOMAIN, EPSILON, adjacency, integral=False, loose=Looseness(_OCTAVES)
    )
    yield _own(loose.name, "mean", adjacency, loose)
    task = Task("mean", DOMAIN, EPSILON, adjacency, integral=False, limit=LIMIT)
    decision = NoisyMargin.made_for(task)
    yield _own("verdict alone", "mean", adjacency, decision)


def _mean(rows: Values) -> float | None:
    present = rows[np.isfinite(rows[:, 0]), 0]
    return float(present.mean()) if len(present) else None


def _own(
    mechanism: str, function: str, adjacency: Adjacency, law: Audited, bounds: Bounds = DOMAIN
) -> Claim:
    return Claim(
        ours=True,
        mechanism=mechanism,
        function=function,
        bounds=PUBLIC,
        adjacency=adjacency,
        audited=(law,),
        columns=(Column(bounds),) * law.width,
    )


# --- judging --------------------------------------------------------------------------


def _judged(claim: Claim) -> Guarantee:
    return _guarantee(claim, PAIRS, _STARTS)


def _judged_fast(claim: Claim) -> Guarantee:
    return _guarantee(claim, FAST_PAIRS, _FAST_STARTS)


def _guarantee(claim: Claim, pairs: int, of_each_kind: int) -> Guarantee:
    starts = [data for kind in handmade(claim.columns).values() for data in kind[:of_each_kind]]
    if claim.mechanism.startswith("threshold, as published"):
        starts.extend(_many_cases(_MANY[claim.adjacency]))
    report = audit_joint(
        claim.audited,
        claim.columns,
        adjacency=claim.adjacency,
        epsilon=EPSILON,
        draw=steered_by(1),
        pairs=pairs,
        starts=starts,
    )
    return Guarantee(claim, _ratio(report), report.pairs, report.passed)


def _many_cases(cases: int) -> Iterator[Data]:
    """Balanced about the target, or all on one side: where a threshold's score fails most."""
    for low, high in ((0, 100), (0, 50), (50, 100)):
        step = (high - low) / cases
        yield tuple((low + (i + 0.5) * step,) for i in range(cases))


def _ratio(report: AuditReport) -> float:
    if report.failure is not None and report.failure.startswith("the audit broke off"):
        return math.nan
    return float(report.worst / EPSILON) if report.worst != math.inf else math.inf
