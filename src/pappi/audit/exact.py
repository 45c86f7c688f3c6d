"""The exact audit: the worst privacy loss over neighbouring data sets, in rationals.

All neighbours of hand-made data sets are tried, then neighbours of random data sets, of
mutations of the hand-made ones and of the worst one so far (hill climbing), until the
requested number of pairs is reached, separately for each kind of data set. The output
distribution compared is the one the mechanism draws its releases from.

A loss above ε proves that the promise is broken: there is no tolerance, because
there is no rounding. Finding none is evidence, which the proof in each mechanism's
module completes. The audit fails closed: an exception, a loss that is not a number,
or too few pairs is a failure like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from pappi.audit.neighbours import (
    Column,
    Data,
    Draw,
    Row,
    corner_rows,
    handmade,
    mutation,
    neighbours,
    random_data,
)
from pappi.audit.subjects import Audited, JointRelease
from pappi.mechanisms import JointLaw, Loss
from pappi.values import Adjacency

FEWEST_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class KindReport:
    """The result of the search among data sets of one kind."""

    kind: str
    pairs: int
    worst: Loss


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What was tried, the worst loss, and why it fails, if it does."""

    mechanism: str
    adjacency: Adjacency
    epsilon: Fraction
    pairs: int
    worst: Loss
    worst_pair: tuple[Data, Data] | None
    failure: str | None
    kinds: tuple[KindReport, ...] = ()

    @property
    def passed(self) -> bool:
        return self.failure is None


def audit_joint(
    mechanisms: Sequence[Audited],
    columns: Sequence[Column],
    *,
    adjacency: Adjacency,
    epsilon: Fraction,
    draw: Draw,
    pairs: int = 2000,
    starts: Sequence[Data] | None = None,
    unit_cases: int = 1,
) -> AuditReport:
    """Audit several mechanisms released together over the same cases, against one ε.

    `starts` are data sets whose neighbours are tried first, all of them; by default the
    hand-made ones. `draw` steers the random search and has no part in any release.
    `unit_cases` is how many cases one person may have.
    """
    release = JointRelease(tuple(mechanisms))
    if starts is None:
        starts = [data for kind in handmade(columns).values() for data in kind]
    search = _Search(release, tuple(columns), adjacency, unit_cases, tuple(starts), draw)
    error = None
    try:
        search.run(pairs)
    except Exception as raised:  # noqa: BLE001 - whatever goes wrong is a failed audit
        error = f"the audit stopped with {type(raised).__name__}"
    report = AuditReport(
        release.name, adjacency, epsilon, search.tried, search.worst, search.worst_pair, error
    )
    return report if error else replace(report, failure=_failure(report, pairs))


def audit_kinds(
    mechanisms: Sequence[Audited],
    columns: Sequence[Column],
    *,
    adjacency: Adjacency,
    epsilon: Fraction,
    draw: Draw,
    pairs: int = 2000,
    unit_cases: int = 1,
) -> AuditReport:
    """`audit_joint` once for each kind of hand-made data, with as many pairs each."""
    reports = {
        kind: audit_joint(
            mechanisms,
            columns,
            adjacency=adjacency,
            epsilon=epsilon,
            draw=draw,
            pairs=pairs,
            starts=starts,
            unit_cases=unit_cases,
        )
        for kind, starts in handmade(columns).items()
    }
    failures = (f"{kind}: {r.failure}" for kind, r in reports.items() if r.failure is not None)
    worst = max(reports.values(), key=lambda report: report.worst)
    return replace(
        worst,
        pairs=sum(report.pairs for report in reports.values()),
        failure=next(failures, None),
        kinds=tuple(KindReport(kind, r.pairs, r.worst) for kind, r in reports.items()),
    )


def _failure(report: AuditReport, pairs: int) -> str | None:
    if report.pairs < max(pairs, FEWEST_PAIRS):
        return f"only {report.pairs} pairs were tried, {max(pairs, FEWEST_PAIRS)} are needed"
    if not report.worst <= report.epsilon:
        return f"a loss of {_shown(report.worst)} exceeds epsilon {_shown(report.epsilon)}"
    return None


def _shown(loss: Loss) -> str:
    """As a decimal; not by way of floats, which cannot hold the loss of a missing clip."""
    if isinstance(loss, float):
        return str(loss)
    return f"{Decimal(loss.numerator) / loss.denominator:.6g}"


class LossIsNotALoss(ArithmeticError):
    """A law gave something that is neither a rational of at least 0 nor infinite."""


@dataclass(slots=True)
class _Search:
    """The state of one search for the worst pair."""

    release: JointRelease
    columns: tuple[Column, ...]
    adjacency: Adjacency
    unit_cases: int
    starts: tuple[Data, ...]
    draw: Draw
    tried: int = 0
    worst: Loss = Fraction(0)
    worst_pair: tuple[Data, Data] | None = None

    def run(self, pairs: int) -> None:
        rows = corner_rows(self.columns)
        for data in self.starts:
            self._try_neighbours_of(data, rows)
        # Nearly every turn tries some pairs; an empty set under replace has none. The
        # bound on turns keeps a search that finds no pairs from running for ever.
        for _ in range(pairs):
            if self.tried >= pairs:
                return
            self._try_neighbours_of(self._next(), rows)

    def _next(self) -> Data:
        """A random data set, or a mutation of the worst one or of one of the starts."""
        bases: tuple[Data, ...] = () if self.worst_pair is None else self.worst_pair[:1]
        if bases and self.starts:
            bases = (*bases, self.starts[self.draw(len(self.starts))])
        choice = self.draw(1 + len(bases))
        if choice == len(bases):
            return random_data(self.columns, self.draw)
        return mutation(bases[choice], self.columns, self.draw)

    def _try_neighbours_of(self, data: Data, rows: Sequence[Row]) -> None:
        law = self.release.law(data)
        losses: dict[JointLaw, Loss] = {}  # values beyond the bounds all have the same law
        for neighbour in neighbours(data, self.adjacency, rows, self.unit_cases):
            neighbour_law = self.release.law(neighbour)
            if neighbour_law not in losses:
                losses[neighbour_law] = _sound(law.loss(neighbour_law))
            loss = losses[neighbour_law]
            self.tried += 1
            if loss >= self.worst:  # also on a tie, so that climbing can cross a plateau
                self.worst, self.worst_pair = loss, (data, neighbour)


def _sound(loss: Loss) -> Loss:
    if loss == math.inf or (isinstance(loss, Fraction) and loss >= 0):
        return loss
    raise LossIsNotALoss
