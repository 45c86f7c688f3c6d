"""The whole path: from the events of a log to the laws that releases are drawn from.

The other layers begin with values. This one compares what mechanisms make of whole logs, read as
they are for a release; how they are read is the concern of `whole_path`.

*The same cases, read in another way* (their rows in another order, cut into other ranges, by more
threads, by another engine, captured instead of imported) must come to the same law, to the last
bit. *Neighbouring logs* must be no further apart than the epsilon that is charged: everything
that is released about either of them, all periods and groups and functions together.

It fails closed. An exception, a loss that is no number, a PPI that only one side has, and a PPI
that no pair of neighbours tells apart, so that nothing was compared, are failures like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pappi.mechanisms import JointLaw, Law, Loss


@dataclass(frozen=True, slots=True)
class Told:
    """What the answers to one PPI tell of a log: a law for each cell, and what each cell costs."""

    epsilon: Fraction
    cells: tuple[JointLaw, ...]


Reading = Mapping[str, Told]
"""What is told by each PPI of a catalogue."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two logs, read when they are compared.

    `neighbours`: they differ by one unit of privacy; else they hold the same cases. `apart`: the
    promise is made for each cell by itself, as it is to persons of whom so many cases count in
    every block.
    """

    name: str
    first: Callable[[], Reading]
    second: Callable[[], Reading]
    neighbours: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class PathReport:
    """What was compared, the worst loss of each PPI in parts of its epsilon, and what failed."""

    compared: int
    worst: Mapping[str, Loss]
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


def audit_path(comparisons: Iterable[Comparison]) -> PathReport:
    """Compare all of them; nothing is left out because something before it failed."""
    search = _Search()
    for comparison in comparisons:
        search.compare(comparison)
    return search.report()


@dataclass(slots=True)
class _Search:
    compared: int = 0
    worst: dict[str, Loss] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def compare(self, comparison: Comparison) -> None:
        try:
            failures = self._compared(comparison)
        except Exception as raised:  # noqa: BLE001 - whatever goes wrong is a failed audit
            failures = [f"broke off with {type(raised).__name__}: {raised}"]
        self.failures += [f"{comparison.name}: {failure}" for failure in failures]

    def report(self) -> PathReport:
        unseen = [name for name, loss in self.worst.items() if not loss > 0]
        failures = [f"no pair of neighbours is told apart by {name}" for name in unseen]
        if not self.compared:
            failures.append("nothing was compared")
        return PathReport(self.compared, dict(self.worst), (*self.failures, *failures))

    def _compared(self, comparison: Comparison) -> list[str]:
        first, second = comparison.first(), comparison.second()
        if not first or first.keys() != second.keys():
            return ["the two logs were not asked the same"]
        found = []
        for ppi, told in first.items():
            losses = _losses(told, second[ppi])
            if comparison.neighbours:
                found += self._at_most_charged(ppi, losses, told.epsilon, apart=comparison.apart)
            elif any(losses):
                found.append(f"{ppi} tells the same cases apart: {_shown(max(losses))}")
            self.compared += 1
        return found

    def _at_most_charged(
        self, ppi: str, losses: Sequence[Loss], epsilon: Fraction, *, apart: bool
    ) -> list[str]:
        spent = (max(losses) if apart else sum(losses, Fraction(0))) / epsilon
        self.worst[ppi] = max(spent, self.worst.get(ppi, Fraction(0)))
        return [] if spent <= 1 else [f"{ppi} tells {_shown(spent)} times what is charged"]


def _losses(first: Told, second: Told) -> list[Loss]:
    """Of each cell; a release of one is independent of the others, so that they add up."""
    if first.epsilon != second.epsilon:
        raise ArithmeticError("the two logs were charged differently")
    if not first.cells:
        raise ArithmeticError("a PPI without an answer")
    return [_loss(mine, theirs) for mine, theirs in zip(first.cells, second.cells, strict=True)]


def _loss(first: Law, second: Law) -> Loss:
    loss = first.loss(second)
    if loss == math.inf or (isinstance(loss, Fraction) and loss >= 0):
        return loss
    raise ArithmeticError(f"{loss} is no loss")


def _shown(loss: Loss) -> str:
    return f"{float(loss):.6g}" if loss < 10**300 else "without bound"
