"""The bounds, unit and targets of a PPI back into the notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pappi.ppinot.catalogue.figures import Unwritable, decimal_text, duration_texts
from pappi.ppinot.catalogue.plain import Bare, Literal, Plain
from pappi.ppinot.catalogue.settling import base_kind, unit_of
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import AggregatedMeasure, Bounding, MultiInstance, Ppi, Target
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.units import DURATIONS, PERCENT, Unit
from pappi.values.vocabulary import Kind


@dataclass(frozen=True, slots=True)
class ValueWriter:
    """Writes quantities of a PPI, whose value is of a kind and shown in a unit."""

    ppi: Ppi
    kind: Kind | None
    unit: Unit

    @classmethod
    def of(cls, ppi: Ppi) -> ValueWriter:
        """Where attributes hide the kind of the value, a unit of time says it is a duration."""
        kind = measure_kind(ppi.measure, None)
        in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor
        return cls(ppi, Kind.DURATION if kind is None and in_time else kind, ppi.unit)

    def unit_label(self) -> str | None:
        """The unit, unless it is the one that goes without saying."""
        unsaid = unit_of(self.ppi.measure, self.kind, None, (), Problems())
        return None if self.unit == unsaid else self.unit.name

    # --- bounds -----------------------------------------------------------------------

    def case_bounds(self) -> dict[str, Plain]:
        """What a case contributes, by the path of variables; the one measure's path is empty."""
        return dict(self._by_path(self.ppi.measure, ""))

    def _by_path(self, measure: MultiInstance, path: str) -> Iterator[tuple[str, Plain]]:
        if not isinstance(measure, AggregatedMeasure):
            for name, inner in measure.variables:
                yield from self._by_path(inner, f"{path}.{name}" if path else name)
        elif measure.bounding is Bounding.PRIVATE:
            yield path, Bare(Bounding.PRIVATE)
        elif measure.bounds is not None and not _goes_without_saying(measure):
            kind = base_kind(measure) or (None if path else self.kind)
            loose = [Bare(Bounding.LOOSE)] if measure.bounding is Bounding.LOOSE else []
            yield path, [*self._limits(measure.bounds, kind, Fraction(1)), *loose]

    def value_range(self, bounds: Bounds) -> Plain:
        return self._limits(bounds, self.kind, self.unit.factor)

    def _limits(self, bounds: Bounds, kind: Kind | None, factor: Fraction) -> list[Plain]:
        if kind is Kind.DURATION:
            return [*map(Bare, self._durations((bounds.low, bounds.high)))]
        return [Literal(decimal_text(limit / factor)) for limit in (bounds.low, bounds.high)]

    def _durations(self, values: Sequence[Fraction]) -> list[str]:
        return duration_texts(values, self.unit.name if self.unit.name in DURATIONS else "days")

    # --- targets ----------------------------------------------------------------------

    def targets(self) -> Plain | None:
        ppi = self.ppi
        general = None if ppi.target is None else self._bands(ppi.target, ppi.tolerated)
        if not ppi.group_targets:
            return general
        groups = {each.key: self._bands(each.target, each.tolerated) for each in ppi.group_targets}
        otherwise = {} if general is None else {"otherwise": general}
        return {"groups": groups, **otherwise}

    def _bands(self, target: Target, tolerated: Target | None) -> Plain:
        if tolerated is None:
            return self._target(target)
        return {"green": self._target(target), "amber": self._target(tolerated)}

    def _target(self, target: Target) -> Bare:
        shown = self._shown([each for each in (target.low, target.high) if each is not None])
        above, below = _ABOVE[target.low_included], _BELOW[target.high_included]
        match (target.low, target.high):
            case (None, None):
                raise Unwritable("a target has at least one end")
            case (None, _):
                return Bare(f"{below} {shown[0]}")
            case (_, None):
                return Bare(f"{above} {shown[0]}")
            case _:
                # The unit behind the second number is that of the first one too.
                first, second = shown[0].split(" ")[0], shown[1]
        if target.low_included and target.high_included:
            return Bare(f"between {first} and {second}")
        return Bare(f"{above} {first} and {below} {second}")

    def _shown(self, values: Sequence[Fraction]) -> list[str]:
        if self.kind is Kind.DURATION:
            return self._durations(values)
        sign = " %" if self.unit.name == PERCENT.name else ""
        return [decimal_text(value / self.unit.factor) + sign for value in values]


_ABOVE = {True: "at least", False: "above"}
_BELOW = {True: "at most", False: "below"}


def _goes_without_saying(measure: AggregatedMeasure) -> bool:
    declared = measure.bounding is Bounding.DECLARED and measure.bounds == UNIT_INTERVAL
    return declared and base_kind(measure) is Kind.TRUTH
