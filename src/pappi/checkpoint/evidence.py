"""What a release says about its answer, where that is known without the data.

Noise added to sums has a law that depends on nothing but the sums: the released numbers and
their scale are all there is to know. A minimum or maximum drawn by rank has a law that depends on
every case: what is known is the point, its range, and that far ends of it are no likelier than
the rest. A formula of several functions has no one law: nothing is said of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pappi.mechanisms.clip import PrivateCeiling
from pappi.mechanisms.interval import IntervalExtreme
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.lattice import Lattice
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.two_bin import TwoBin
from pappi.planning.plan import Plan
from pappi.ppinot.model import Wanted
from pappi.tree.composition import ROOT
from pappi.values.answers import NoisyBins, NoisyValue
from pappi.values.privacy import Adjacency
from pappi.values.units import Unit


@dataclass(frozen=True, slots=True)
class DrawnByRank(NoisyValue):
    """A minimum or maximum whose noise has no scale: that of the value is a step of its lattice."""

    smallest: bool = False


Evidence = NoisyBins | NoisyValue


def evidence_of(plan: Plan, noisy: Sequence[Outcome]) -> Evidence | None:
    """From the integers of a plan that answers its PPI with one function."""
    (part, *others) = plan.parts
    if others or part.path != ROOT or plan.ppi.release.answer is Wanted.VERDICT:
        return None
    unit, released = plan.ppi.unit, noisy[0]
    found: Evidence | None = None
    match part.mechanism:
        case TwoBin() as mechanism:
            found = _of_mean(mechanism, released, unit)
        case TwoBinRatio() as mechanism:
            found = _bins(released, mechanism, 0.0, unit.show(mechanism.factor))
        case PrivateCeiling() as mechanism:
            found = _below_ceiling(mechanism, released, unit)
        case LaplaceSum() as mechanism:
            found = _of_sum(mechanism, released, unit)
        case LaplaceExtreme() as mechanism:
            found = _of_extreme(mechanism, released, unit)
        case IntervalExtreme() as mechanism if isinstance(mechanism.lattice, Lattice):
            found = _of_rank(mechanism, mechanism.lattice, released, unit)
        case _:
            pass
    return found if _fits(plan, found) else None


def _bins(released: Outcome, mechanism: TwoBin | TwoBinRatio, low: float, high: float) -> NoisyBins:
    first, second = (float(number / mechanism.scale) for number in released)
    return NoisyBins(first, second, low, high)


def _below_ceiling(mechanism: PrivateCeiling, released: Outcome, unit: Unit) -> Evidence | None:
    """About the values cut at the ceiling that was released with them."""
    ceiling = mechanism.estimate(released).ceiling
    inners = map(mechanism.within, range(mechanism.grid.highest + 1))
    inner = next(each for each in inners if float(each.bounds.high) == ceiling)
    return _of_mean(inner, released[1:], unit) if isinstance(inner, TwoBin) else None


def _of_mean(mechanism: TwoBin, released: Outcome, unit: Unit) -> Evidence | None:
    if mechanism.adjacency is Adjacency.REPLACE:
        return _of_public_number(mechanism, released, unit)
    low, high = mechanism.bounds.low, mechanism.bounds.high
    return _bins(released, mechanism, unit.show(low), unit.show(high))


def _of_public_number(mechanism: TwoBin, released: Outcome, unit: Unit) -> NoisyValue | None:
    first, cases = released
    if not cases:
        return None
    lattice, bounds = mechanism.lattice, mechanism.bounds
    at = lattice.origin + lattice.step * first / cases
    scale = lattice.step * mechanism.scale / cases
    return _noisy_value(unit, float(at), float(scale), float(bounds.low), float(bounds.high))


def _of_sum(mechanism: LaplaceSum, released: Outcome, unit: Unit) -> NoisyValue:
    lattice, bounds = mechanism.lattice, mechanism.bounds
    scale = float(lattice.step * mechanism.scale)
    if mechanism.adjacency is Adjacency.REPLACE:
        points, cases = released
        at = lattice.origin * cases + lattice.step * points
        ends = float(bounds.low * cases), float(bounds.high * cases)
        return _noisy_value(unit, float(at), scale, *ends)
    low = 0.0 if bounds.low >= 0 else None
    high = 0.0 if bounds.high <= 0 else None
    return _noisy_value(unit, float(lattice.step * released[0]), scale, low, high)


def _of_extreme(mechanism: LaplaceExtreme, released: Outcome, unit: Unit) -> NoisyValue:
    lattice, bounds = mechanism.lattice, mechanism.bounds
    scale = float(lattice.step * mechanism.scale)
    ends = float(bounds.low), float(bounds.high)
    return _noisy_value(unit, lattice.value(released[0]), scale, *ends)


def _of_rank(
    mechanism: IntervalExtreme, lattice: Lattice, released: Outcome, unit: Unit
) -> DrawnByRank:
    return DrawnByRank(
        unit.show(lattice.value(released[0])),
        unit.show(lattice.step),
        unit.show(mechanism.bounds.low),
        unit.show(mechanism.bounds.high),
        mechanism.function == "min",
    )


def _noisy_value(
    unit: Unit, at: float, scale: float, low: float | None, high: float | None
) -> NoisyValue:
    return NoisyValue(
        unit.show(at),
        unit.show(scale),
        None if low is None else unit.show(low),
        None if high is None else unit.show(high),
    )


def _fits(plan: Plan, found: Evidence | None) -> bool:
    """Whether the declared range of the value cuts nothing off."""
    declared = plan.ppi.value_range
    if found is None or declared is None:
        return True
    if found.low is None or found.high is None:
        return False
    low, high = sorted((found.low, found.high))
    unit = plan.ppi.unit
    return unit.show(declared.low) <= low and high <= unit.show(declared.high)
