"""What only the whole PPI can say: its units and bounds, in internal quantities.

A bare number in a target is in the unit the PPI is shown in. A bare number in
the bounds of a duration is refused, since nobody could tell what was meant.
Kinds that depend on a log's attributes are not known yet; bounds written as
durations then say that the value is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from pappi.errors import Position
from pappi.ppinot.catalogue.quantities import (
    Label,
    Quantity,
    WrittenBounds,
    known_time_unit,
)
from pappi.ppinot.catalogue.shapes import MAX_SUGGESTED, Problems
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    DerivedMultiInstance,
    MultiInstance,
)
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.units import (
    FRACTION,
    HOURS,
    NUMBER,
    PERCENT,
    Unit,
    duration_unit,
)
from pappi.values.vocabulary import Kind

_PERCENT_WORDS = ("%", "percent")


# --- bounds ---------------------------------------------------------------------------


def with_bounds(
    measure: MultiInstance, written: Mapping[str, WrittenBounds], problems: Problems
) -> MultiInstance:
    """The measure with the bounds written for it, by path, in internal units."""
    paths = dict.fromkeys(_paths(measure, ""))
    for path in (path for path in written if path not in paths):
        known = [each for each in paths if each]
        otherwise = f"its variables are {listed(known, 'and')}" if known else _ONE_MEASURE
        problems.add(
            written[path].position,
            f"bounds for {quoted(path)}, which is not an aggregated variable of this PPI"
            if path
            else "bounds of a derived measure are given for each of its variables",
            did_you_mean(path, known[:MAX_SUGGESTED], otherwise),
        )
    return _bounded(measure, "", written, problems)


_ONE_MEASURE = "this PPI has one measure: write bounds: [low, high]"


def _paths(measure: MultiInstance, path: str) -> list[str]:
    if isinstance(measure, AggregatedMeasure):
        return [path]
    deeper = (_paths(variable, _join(path, name)) for name, variable in measure.variables)
    return [path for paths in deeper for path in paths]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _bounded(
    measure: MultiInstance, path: str, written: Mapping[str, WrittenBounds], problems: Problems
) -> MultiInstance:
    if isinstance(measure, DerivedMultiInstance):
        variables = tuple(
            (name, _bounded(variable, _join(path, name), written, problems))
            for name, variable in measure.variables
        )
        return DerivedMultiInstance(measure.formula, variables)
    kind = base_kind(measure)
    if path in written and measure.function is Aggregation.COUNT:
        message = "each case counts as 1: a number of cases has no other bounds"
        problems.add(written[path].position, message, "remove them")
    elif path in written:
        bounds = bounds_of(written[path], kind, problems)
        return replace(measure, bounds=bounds, bounding=written[path].bounding)
    return replace(measure, bounds=UNIT_INTERVAL) if kind is Kind.TRUTH else measure


def base_kind(measure: AggregatedMeasure) -> Kind | None:
    """The kind of what one case contributes, as far as it is known."""
    if measure.function in (Aggregation.SHARE, Aggregation.COUNT):
        return Kind.TRUTH
    return measure_kind(measure.base, None)


def bounds_of(written: WrittenBounds, kind: Kind | None, problems: Problems) -> Bounds | None:
    """Bounds on a value of a kind; of an unknown kind, as the way they are written says."""
    if not written.limits:
        return None
    is_duration = kind is Kind.DURATION or (kind is None and _are_durations(written))
    read = _duration if is_duration else _plain_number
    low, high = (read(quantity, problems) for quantity in written.limits)
    if low is None or high is None:
        return None
    return _rising(low, high, written.position, problems)


def _are_durations(written: WrittenBounds) -> bool:
    return any(duration_unit(quantity.unit) for quantity in written.limits)


def _rising(low: Fraction, high: Fraction, position: Position, problems: Problems) -> Bounds | None:
    if low < high:
        return Bounds(low, high)
    problems.add(position, "the lower bound must be below the upper one")
    return None


def _duration(quantity: Quantity, problems: Problems) -> Fraction | None:
    unit = duration_unit(quantity.unit)
    if unit is not None:
        return unit.read(quantity.number)
    if not quantity.unit and quantity.number == 0:
        return quantity.number
    if quantity.unit:
        known_time_unit(Label(quantity.unit, quantity.position), problems)
    else:
        message = f"this is about a duration: {quantity} of what?"
        problems.add(quantity.position, message, f"write the unit, e.g. {quantity} hours")
    return None


def _plain_number(quantity: Quantity, problems: Problems) -> Fraction | None:
    if not quantity.unit:
        return quantity.number
    shown = replace(quantity, unit="")
    problems.add(quantity.position, "this is about a plain number", f"write {shown}")
    return None


# --- units ----------------------------------------------------------------------------


def shown_kind(measure: MultiInstance, written: Mapping[str, WrittenBounds]) -> Kind | None:
    """The kind of the final value; where attributes hide it, as its bounds say."""
    kind = measure_kind(measure, None)
    if kind is not None:
        return kind
    path = "" if isinstance(measure, AggregatedMeasure) else "value"
    if path not in written:
        return None
    return Kind.DURATION if _are_durations(written[path]) else Kind.NUMBER


def unit_of(
    measure: MultiInstance,
    kind: Kind | None,
    label: Label | None,
    time_units: tuple[Label, ...],
    problems: Problems,
) -> Unit | None:
    """The unit to show: the PPI's own, else the one its time measures agree on."""
    if kind is Kind.DURATION:
        return _time_unit(label, time_units, problems)
    if _is_proportion(measure):
        return _proportion_unit(measure, label, problems)
    return Unit(label.text, Fraction(1)) if label else NUMBER


def _time_unit(
    label: Label | None, time_units: tuple[Label, ...], problems: Problems
) -> Unit | None:
    if label is not None:
        return known_time_unit(label, problems)
    units = {unit for each in time_units if (unit := duration_unit(each.text))}
    if len(units) > 1:
        position = time_units[-1].position
        problems.add(position, "the time measures have different units", "give the PPI one unit")
        return None
    return next(iter(units), HOURS)


def _is_proportion(measure: MultiInstance) -> bool:
    """Whether the value is the part of the cases for which something is true."""
    if not isinstance(measure, AggregatedMeasure):
        return False
    is_mean = measure.function is Aggregation.MEAN
    return measure.function is Aggregation.SHARE or (is_mean and base_kind(measure) is Kind.TRUTH)


def _proportion_unit(
    measure: MultiInstance, label: Label | None, problems: Problems
) -> Unit | None:
    if label is None:
        is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
        return PERCENT if is_share else NUMBER
    if label.text in _PERCENT_WORDS:
        return PERCENT
    if label.text == FRACTION.name:
        return FRACTION
    problems.add(
        label.position,
        f"a share of cases cannot be shown in {quoted(label.text)}",
        "write percent or fraction",
    )
    return None


# --- the value in its unit ------------------------------------------------------------


def value_range_of(
    written: WrittenBounds, unit: Unit, kind: Kind | None, problems: Problems
) -> Bounds | None:
    """The public range of the final value, which is in the unit it is shown in."""
    if written.bounding is not Bounding.DECLARED:
        problems.add(written.position, "the range of the value is declared as [low, high]")
        return None
    if kind is Kind.DURATION:
        return bounds_of(written, kind, problems)
    low, high = (in_unit(quantity, unit, kind, problems) for quantity in written.limits)
    if low is None or high is None:
        return None
    return _rising(low, high, written.position, problems)


def in_unit(
    quantity: Quantity, unit: Unit, kind: Kind | None, problems: Problems
) -> Fraction | None:
    word = quantity.unit
    if not word or word.lower() == unit.name.lower():
        return unit.read(quantity.number)
    if word in _PERCENT_WORDS and unit.name in (*_PERCENT_WORDS, FRACTION.name):
        return quantity.number / 100 if unit == FRACTION else unit.read(quantity.number)
    if kind is Kind.DURATION:
        return _duration(quantity, problems)
    shown = f"is shown in {quoted(unit.name)}" if unit.name else "is a plain number"
    hint = f"write unit: {word} on the PPI" if not unit.name else ""
    problems.add(quantity.position, f"{quoted(word)} does not fit: the value {shown}", hint)
    return None
