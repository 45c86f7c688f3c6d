"""Numbers with units: bounds, epsilon, units and targets of a PPI, as written and in the model.

What a bare number means depends on the rest of the PPI. In a target it is in the unit the PPI is
shown in. In the bounds of a duration it is refused, since nobody could tell what was meant. Kinds
that depend on a log's attributes are not known yet; bounds written as durations then say that the
value is one. Numbers are exact, and written in the unit in which they are shortest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, cast

from pappi.errors import Position, UsageError
from pappi.ppinot.expressions import MAX_SUGGESTED, NOWHERE
from pappi.ppinot.grammar import UNITS, decimal_places
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    GroupTarget,
    MultiInstance,
    Ppi,
    Target,
    is_proportion,
    measure_kind,
    usual_unit,
)
from pappi.ppinot.notations.document import (
    Bare,
    BrokenNode,
    ListNode,
    Literal,
    Node,
    Plain,
    Problems,
    ScalarNode,
    describe,
    text_node,
)
from pappi.ppinot.notations.shapes import (
    ByForm,
    Entries,
    Field,
    Json,
    ListOf,
    Named,
    Parts,
    Record,
    SchemaDefs,
    Shape,
    Tagged,
    Then,
    Unwritable,
    Values,
    Within,
    Written,
)
from pappi.ppinot.tree import ROOT, aggregated_measures, with_aggregated
from pappi.ppinot.views import (
    VIEW_EXAMPLES,
    VIEW_PATTERN,
    Between,
    Comparing,
    View,
    parse_view,
)
from pappi.values import (
    DURATIONS,
    FRACTION,
    HOURS,
    NUMBER,
    PERCENT,
    UNIT_INTERVAL,
    ZERO,
    Bounds,
    By,
    Epsilon,
    Kind,
    Unit,
    did_you_mean,
    duration_unit,
    listed,
    quoted,
)

# Written so that Python and the ECMAScript of JSON Schema read them alike.
_NUMBER = r"([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)"
# What follows a number is its unit, but not the rest of an exponent too long to be one.
QUANTITY = _NUMBER + r"(?:\s*((?![eE][+-]?[0-9])[^\s0-9+.\-]\S*))?"

# --- numbers --------------------------------------------------------------------------

# What a reader takes: digits before and after the point, and the size of an exponent.
_PLACES, _EXPONENT = 30, 99
_LONG, _BITS = 15, 2_000
_SLACK = 2
"""How many characters more the preferred unit may take."""


def decimal_text(value: Fraction) -> str:
    """The decimal form of a number, with an exponent only if it is very large or very small.

    >>> decimal_text(Fraction(-3, 2)), decimal_text(Fraction(70)), decimal_text(Fraction(10**20))
    ('-1.5', '70', '1e20')
    """
    digits, exponent = _digits(abs(value))
    sign = "-" if value < 0 else ""
    plain = _pointed(digits, exponent)
    if plain is not None and len(plain) <= _LONG:
        return sign + plain
    # As little before and after the point as the size of an exponent allows.
    least, most = len(digits) + exponent - _PLACES, exponent + _PLACES
    power = min(max(exponent, least, -_EXPONENT), most, _EXPONENT)
    scaled = _pointed(digits, exponent - power)
    if scaled is None:
        raise Unwritable(f"{quoted(str(value))} has too many digits")
    return (
        f"{sign}{scaled}e{power}" if plain is None or len(scaled) + 4 < len(plain) else sign + plain
    )


def _digits(value: Fraction) -> tuple[str, int]:
    """The digits of a number that is not negative, and the power of ten they are multiplied by."""
    if max(value.numerator, value.denominator).bit_length() > _BITS:
        raise Unwritable("a number has too many digits")
    places = decimal_places(value)
    if places is None:
        raise Unwritable(f"{quoted(str(value))} is not a decimal number")
    written = str(int(value * 10**places))
    digits = written.rstrip("0") or "0"
    return digits, len(written) - len(digits) - places


def _pointed(digits: str, exponent: int) -> str | None:
    """Digits with their point, if a reader takes as many."""
    if exponent >= 0:
        whole, rest = digits + "0" * exponent, ""
    else:
        padded = digits.zfill(1 - exponent)
        whole, rest = padded[:exponent], padded[exponent:]
    if len(whole) > _PLACES or len(rest) > _PLACES:
        return None
    return f"{whole}.{rest}" if rest else whole


# --- numbers with units ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the unit word behind it, empty if there is none."""

    number: Fraction
    unit: str = ""
    position: Position = NOWHERE

    @property
    def internal(self) -> Fraction:
        """With a unit of time, in microseconds."""
        return self.number * DURATIONS[self.unit] if self.unit else self.number

    def __str__(self) -> str:
        number = self.number.numerator if self.number.denominator == 1 else float(self.number)
        return f"{number} {self.unit}".strip()


def _parse_quantity(node: ScalarNode, _: Problems) -> Quantity | None:
    match = re.fullmatch(QUANTITY, node.text.strip())
    return Quantity(Fraction(match[1]), match[2] or "", node.position) if match else None


def in_units_of_time(values: Sequence[Fraction], preferred: str) -> list[Quantity]:
    """Durations, all in the unit that makes them short; the preferred one if it is about as good.

    >>> durations = in_units_of_time([Fraction(0), Fraction(36 * 3_600_000_000)], "weeks")
    >>> [str(quantity_text(duration)) for duration in durations]
    ['0 hours', '36 hours']
    """
    lengths = {unit: length for unit in UNITS if (length := _length(values, unit)) is not None}
    shortest = min(lengths, key=lambda unit: lengths[unit], default="weeks")
    own = _length(values, preferred)
    if own is not None and own <= lengths.get(shortest, own) + _SLACK:
        shortest = preferred
    numbers = [value / DURATIONS[shortest] for value in values]
    words = [shortest.removesuffix("s") if abs(number) == 1 else shortest for number in numbers]
    return list(map(Quantity, numbers, words))


def _length(values: Sequence[Fraction], unit: str) -> int | None:
    try:
        return sum(len(decimal_text(value / DURATIONS[unit])) for value in values)
    except Unwritable:
        return None


def quantity_text(quantity: Quantity) -> str:
    number = decimal_text(quantity.number)
    return Bare(f"{number} {quantity.unit}") if quantity.unit else Literal(number)


# --- epsilon and units ----------------------------------------------------------------


def _parse_epsilon(node: ScalarNode, problems: Problems) -> Epsilon | None:
    try:
        epsilon = Epsilon.of(node.text)
    except UsageError as error:
        problems.add(node.position, error.message, error.hint)
        return None
    if epsilon == ZERO:
        problems.add(node.position, "epsilon must be above 0", "with ε = 0 nothing can be answered")
        return None
    return epsilon


def _stripped(node: ScalarNode, _: Problems) -> ScalarNode:
    return replace(node, text=node.text.strip())


def _parse_time_unit(node: ScalarNode, problems: Problems) -> ScalarNode | None:
    label = _stripped(node, problems)
    return label if _known_time_unit(label.text, label.position, problems) else None


def _known_time_unit(word: str, position: Position, problems: Problems) -> Unit | None:
    """The unit of time of that name, or a problem with a suggestion."""
    unit = duration_unit(word)
    if unit is None:
        units = f"the units are {listed(DURATIONS, 'and')}"
        hint = did_you_mean(word, DURATIONS, units)
        problems.add(position, f"{quoted(word)} is not a unit of time", hint)
    return unit


EPSILON = Written(
    "an epsilon",
    _parse_epsilon,
    example="0.1",
    pattern=r"^[0-9]{1,9}(?:\.[0-9]{1,9})?$",
    types=("string", "number"),
    text=Literal,
)

UNIT = Written("a unit", _stripped, example="hours")


def _parse_expected(node: ScalarNode, problems: Problems) -> Fraction | None:
    number, percent, _ = node.text.partition("%")
    share = Fraction(number.strip()) / (100 if percent else 1)
    if not 0 < share <= 1:
        message = "a share of cases is above 0 and at most 100 %"
        problems.add(node.position, message, "write e.g. 30 %, or 0.3")
        return None
    return share


SHARE_OF_CASES = Written(
    "a share of cases",
    _parse_expected,
    example="30 %",
    pattern=r"^\s*[0-9]{0,9}\.?[0-9]{1,9}\s*%?\s*$",
    types=("number", "string"),
    text=lambda share: f"{decimal_text(100 * share)} %",
)


def _parse_view(node: ScalarNode, problems: Problems) -> View | None:
    view = parse_view(node.text)
    if view is None:
        hint = f"write e.g. {listed(VIEW_EXAMPLES)}"
        problems.add(node.position, f"{quoted(node.text)} is not something that can be shown", hint)
    return view


VIEW: Written[View] = Written(
    "what is shown of the figures",
    _parse_view,
    example=VIEW_EXAMPLES[0],
    pattern=VIEW_PATTERN,
    text=lambda view: Bare(str(view)),
)
VIEW_DOC = (
    "what is shown of the figures: their change, a rolling window, a year to date, or two groups "
    "compared; the figures themselves are what is released and paid for"
)

TIME_UNIT = Written("a unit of time", _parse_time_unit, example="hours")

# --- bounds ---------------------------------------------------------------------------

_LOOSE, _PRIVATE = Bounding.LOOSE.value, Bounding.PRIVATE.value

_LIMIT = Written(
    "a number, with a unit of time for a duration",
    _parse_quantity,
    example="60 days",
    pattern=rf"^\s*{QUANTITY}\s*$",
    types=("string", "number"),
    text=quantity_text,
)
_LIMITS = ListOf("bounds as [low, high]", _LIMIT, least=2, most=2)
_FORMS = "write [low, high], [low, high, loose] or private"


@dataclass(frozen=True, slots=True)
class WrittenBounds:
    """Bounds whose quantities have not met their measure yet; private ones have none."""

    limits: tuple[Quantity, ...]
    bounding: Bounding
    position: Position = NOWHERE


class _BoundsShape:
    """`[low, high]`, `[low, high, loose]` or the word `private`."""

    def read(self, node: Node, problems: Problems) -> WrittenBounds | None:
        if isinstance(node, ScalarNode):
            return self._word(node, problems)
        bounding, limits = Bounding.DECLARED, node
        if isinstance(node, ListNode) and len(node.items) == 3:
            third = node.items[2]
            if isinstance(third, BrokenNode):
                return None
            if not isinstance(third, ScalarNode) or third.text.strip() != _LOOSE:
                message = f"only 'loose' can follow the two bounds, not {describe(third)}"
                problems.add(third.position, message, _FORMS)
                return None
            bounding, limits = Bounding.LOOSE, replace(node, items=node.items[:2])
        read = _LIMITS.read(limits, problems)
        return None if read is None else WrittenBounds(read, bounding, node.position)

    def _word(self, node: ScalarNode, problems: Problems) -> WrittenBounds | None:
        word = node.text.strip()
        if word == _PRIVATE:
            return WrittenBounds((), Bounding.PRIVATE, node.position)
        message = f"expected bounds as [low, high], found {describe(node)}"
        problems.add(node.position, message, did_you_mean(word, (_PRIVATE,), _FORMS))
        return None

    def write(self, value: object) -> Plain | None:
        bounds = cast("WrittenBounds", value)
        if bounds.bounding is Bounding.PRIVATE:
            return Bare(_PRIVATE)
        loose = [Bare(_LOOSE)] if bounds.bounding is Bounding.LOOSE else []
        return [*(quantity_text(limit) for limit in bounds.limits), *loose]

    def schema(self, definitions: SchemaDefs) -> Json:
        limit = _LIMIT.schema(definitions)
        items = [limit, limit, {"enum": [_LOOSE]}]
        limits = {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 3}
        return {"anyOf": [limits, {"enum": [_PRIVATE]}]}


BOUNDS: Named[WrittenBounds] = Named("bounds", _BoundsShape)


_MOST_LIMITS = 63
DISTRIBUTION_LIMITS = ListOf("limits of bins", _LIMIT, least=1, most=_MOST_LIMITS)


def limits_of(
    written: Sequence[Quantity], kind: Kind | None, problems: Problems
) -> tuple[Fraction, ...] | None:
    """Where the bins of a distribution end, in rising order, in internal units."""
    limits: list[Fraction] = []
    for quantity in written:
        limit = _reader(kind, written)(quantity, problems)
        if limit is None:
            return None
        if limits and limit <= limits[-1]:
            problems.add(quantity.position, "limits must be in rising order, without repeats")
            return None
        limits.append(limit)
    return tuple(limits)


def written_limits(limits: Sequence[Fraction], kind: Kind | None) -> tuple[Quantity, ...]:
    if kind is Kind.DURATION:
        return tuple(in_units_of_time(limits, "days"))
    return tuple(map(Quantity, limits))


# --- what the whole PPI says about its quantities -------------------------------------

_PERCENT_WORDS = ("%", "percent")
_ONE_MEASURE = "this PPI has one measure: write bounds: [low, high]"


def with_bounds(
    measure: MultiInstance, written: Mapping[str, WrittenBounds], problems: Problems
) -> MultiInstance:
    """The measure with the bounds written for it, by path, in internal units."""
    paths = {path: None for path, _ in _by_path(measure)}
    for path in (path for path in written if path not in paths):
        known = [name for name in paths if name]
        otherwise = f"its variables are {listed(known, 'and')}" if known else _ONE_MEASURE
        problems.add(
            written[path].position,
            f"bounds for {quoted(path)}, which is not an aggregated variable of this PPI"
            if path
            else "bounds of a derived measure are given for each of its variables",
            did_you_mean(path, known[:MAX_SUGGESTED], otherwise),
        )

    def bounded(path: str, measure: AggregatedMeasure) -> AggregatedMeasure:
        kind, bounds = base_kind(measure), written.get(_variables(path))
        if bounds is not None and measure.function is Aggregation.COUNT:
            message = "each case counts as 1, so a number of cases takes no other bounds"
            problems.add(bounds.position, message, "remove them")
        elif bounds is not None:
            limits = _bounds_of(bounds, kind, problems)
            return replace(measure, bounds=limits, bounding=bounds.bounding)
        return replace(measure, bounds=UNIT_INTERVAL) if kind is Kind.TRUTH else measure

    return with_aggregated(measure, bounded)


def _by_path(measure: MultiInstance) -> Iterator[tuple[str, AggregatedMeasure]]:
    """What bounds are given for, by the path of variables; the one measure's path is empty."""
    return ((_variables(path), inner) for path, inner in aggregated_measures(measure))


def _variables(path: str) -> str:
    return path.removeprefix(ROOT).removeprefix(".")


def base_kind(measure: AggregatedMeasure) -> Kind | None:
    """The kind of what one case contributes, as far as it is known."""
    if measure.function in (Aggregation.SHARE, Aggregation.COUNT):
        return Kind.TRUTH
    return measure_kind(measure.base, None)


def _bounds_of(written: WrittenBounds, kind: Kind | None, problems: Problems) -> Bounds | None:
    if not written.limits:
        return None
    read = _reader(kind, written.limits)
    return _rising([read(quantity, problems) for quantity in written.limits], written, problems)


def _reader(
    kind: Kind | None, written: Sequence[Quantity]
) -> Callable[[Quantity, Problems], Fraction | None]:
    """How values of a kind are read; of an unknown kind, as the way they are written says."""
    is_duration = kind is Kind.DURATION or (kind is None and _are_durations(written))
    return _duration if is_duration else _plain_number


def _are_durations(written: Sequence[Quantity]) -> bool:
    return any(duration_unit(quantity.unit) for quantity in written)


def _rising(
    limits: Sequence[Fraction | None], written: WrittenBounds, problems: Problems
) -> Bounds | None:
    low, high = limits
    if low is None or high is None:
        return None
    if low < high:
        return Bounds(low, high)
    problems.add(written.position, "the lower bound must be below the upper one")
    return None


def _duration(quantity: Quantity, problems: Problems) -> Fraction | None:
    unit = duration_unit(quantity.unit)
    if unit is not None:
        return unit.read(quantity.number)
    if quantity.unit:
        _known_time_unit(quantity.unit, quantity.position, problems)
        return None
    if quantity.number == 0:
        return quantity.number
    message = f"this is about a duration: {quantity} of what?"
    problems.add(quantity.position, message, f"write the unit, e.g. {quantity} hours")
    return None


def _plain_number(quantity: Quantity, problems: Problems) -> Fraction | None:
    if not quantity.unit:
        return quantity.number
    hint = f"write {replace(quantity, unit='')}"
    problems.add(quantity.position, "this must be a plain number", hint)
    return None


def shown_kind(measure: MultiInstance, written: Mapping[str, WrittenBounds]) -> Kind | None:
    """The kind of the final value; where attributes hide it, as its bounds say."""
    kind = measure_kind(measure, None)
    if kind is not None:
        return kind
    bounds = written.get("" if isinstance(measure, AggregatedMeasure) else "value")
    if bounds is None:
        return None
    return Kind.DURATION if _are_durations(bounds.limits) else Kind.NUMBER


def unit_of(
    measure: MultiInstance,
    kind: Kind | None,
    label: ScalarNode | None,
    time_units: tuple[ScalarNode, ...],
    problems: Problems,
) -> Unit | None:
    """The unit to show: the PPI's own, else the one its time measures agree on."""
    if kind is Kind.DURATION:
        return _time_unit(label, time_units, problems)
    if label is None:
        return usual_unit(measure)
    if not is_proportion(measure):
        return Unit(label.text, Fraction(1))
    if label.text in (*_PERCENT_WORDS, FRACTION.name):
        return FRACTION if label.text == FRACTION.name else PERCENT
    message = f"a share of cases cannot be shown in {quoted(label.text)}"
    problems.add(label.position, message, "write percent or fraction")
    return None


def named_unit(measure: MultiInstance, label: ScalarNode, problems: Problems) -> Unit | None:
    """The unit of that name; where attributes hide the kind of the value, the name tells it."""
    kind = measure_kind(measure, None)
    if kind is None and duration_unit(label.text):
        kind = Kind.DURATION
    return unit_of(measure, kind, label, (), problems)


def _time_unit(
    label: ScalarNode | None, time_units: tuple[ScalarNode, ...], problems: Problems
) -> Unit | None:
    if label is not None:
        return _known_time_unit(label.text, label.position, problems)
    units = {unit for label in time_units if (unit := duration_unit(label.text))}
    if len(units) > 1:
        position = time_units[-1].position
        problems.add(position, "the time measures have different units", "give the PPI one unit")
        return None
    return next(iter(units), HOURS)


@dataclass(frozen=True, slots=True)
class Shown:
    """How the quantities of a PPI are read and written: of which kind, and shown in which unit.

    `groups` are the keys that may have targets of their own; the unit may go without saying.
    """

    kind: Kind | None
    unit: Unit
    groups: tuple[str, ...] = ()
    is_said: bool = True

    @classmethod
    def of(cls, ppi: Ppi) -> Shown:
        return cls.in_unit(ppi.measure, ppi.unit)

    @classmethod
    def in_unit(
        cls,
        measure: MultiInstance,
        unit: Unit,
        kind: Kind | None = None,
        *,
        is_said: bool = True,
    ) -> Shown:
        """Where attributes hide the kind of the value, a unit of time says it is a duration."""
        kind = kind or measure_kind(measure, None)
        in_time = DURATIONS.get(unit.name) == unit.factor
        # All measures of a formula are grouped alike, says the checker, so the first tells.
        grouping = next((inner.grouping for _, inner in aggregated_measures(measure)), None)
        return cls(
            Kind.DURATION if kind is None and in_time else kind,
            unit,
            grouping.keys if grouping else (),
            is_said,
        )

    def require_known(self, measure: MultiInstance) -> None:
        """Unwritable if the name of the unit does not say which it is: a program can make any."""
        label = text_node(self.unit.name, NOWHERE)
        if named_unit(measure, label, Problems()) != self.unit:
            raise Unwritable(
                f"the unit {quoted(self.unit.name)} is of another size than its name says"
            )

    def of_view(self, view: View | None) -> Shown:
        """The same of what is shown, which is what targets are about."""
        if not isinstance(view, Comparing):
            return self
        groups = () if isinstance(view, Between) else self.groups
        units = {By.PERCENT: PERCENT, By.RATIO: NUMBER}
        if view.by in units:
            return Shown(Kind.NUMBER, units[view.by], groups)
        return replace(self, groups=groups)

    def read(self, quantity: Quantity, problems: Problems) -> Fraction | None:
        """The value that is meant, in internal units."""
        word, unit = quantity.unit, self.unit
        if not word or word.lower() == unit.name.lower():
            return unit.read(quantity.number)
        if word in _PERCENT_WORDS and unit.name in (*_PERCENT_WORDS, FRACTION.name):
            return quantity.number / 100 if unit == FRACTION else unit.read(quantity.number)
        if self.kind is Kind.DURATION:
            return _duration(quantity, problems)
        shown = f"is shown in {quoted(unit.name)}" if unit.name else "is a plain number"
        hint = f"write unit: {word} on the PPI" if not unit.name else ""
        problems.add(quantity.position, f"{quoted(word)} does not fit: the value {shown}", hint)
        return None

    def written(self, values: Sequence[Fraction]) -> list[Quantity]:
        if self.kind is Kind.DURATION:
            return self._durations(values)
        sign = "%" if self.unit.name == PERCENT.name else ""
        return [Quantity(value / self.unit.factor, sign) for value in values]

    def _durations(self, values: Sequence[Fraction]) -> list[Quantity]:
        return in_units_of_time(values, self.unit.name if self.unit.name in DURATIONS else "days")

    def read_range(self, written: WrittenBounds, problems: Problems) -> Bounds | None:
        """The public range of the final value, which is in the unit it is shown in."""
        if written.bounding is not Bounding.DECLARED:
            problems.add(written.position, "the output range is written as [low, high]")
            return None
        if self.kind is Kind.DURATION:
            return _bounds_of(written, self.kind, problems)
        return _rising([self.read(limit, problems) for limit in written.limits], written, problems)

    def written_range(self, bounds: Bounds) -> WrittenBounds:
        return self._written_bounds(bounds, self.kind, self.unit.factor)

    def case_bounds(self, measure: MultiInstance) -> dict[str, WrittenBounds]:
        """What a case contributes, by the path of variables; not what goes without saying."""
        written = {}
        for path, inner in _by_path(measure):
            kind, is_declared = base_kind(inner), inner.bounding is Bounding.DECLARED
            is_usual = is_declared and kind is Kind.TRUTH and inner.bounds == UNIT_INTERVAL
            if inner.bounding is Bounding.PRIVATE:
                written[path] = WrittenBounds((), Bounding.PRIVATE)
            elif inner.bounds is not None and not is_usual:
                shown = kind or (None if path else self.kind)
                bounds = self._written_bounds(inner.bounds, shown, Fraction(1))
                written[path] = replace(bounds, bounding=inner.bounding)
        return written

    def _written_bounds(self, bounds: Bounds, kind: Kind | None, factor: Fraction) -> WrittenBounds:
        values = (bounds.low, bounds.high)
        if kind is Kind.DURATION:
            return WrittenBounds(tuple(self._durations(values)), Bounding.DECLARED)
        return WrittenBounds(tuple(Quantity(value / factor) for value in values), Bounding.DECLARED)


# --- targets --------------------------------------------------------------------------

_LOW_WORDS = {True: "at least", False: "above"}
_HIGH_WORDS = {True: "at most", False: "below"}
_BELOW = ("below", "at most", "<", "<=")
_INCLUDED = ("at most", "at least", "<=", ">=")
_SIDE = rf"(below|at most|above|at least|<=|>=|<|>)\s*{QUANTITY}"
_BETWEEN = rf"between\s+{QUANTITY}\s+and\s+{QUANTITY}"


@dataclass(frozen=True, slots=True)
class Targets:
    """What is said about targets: of a PPI, or of one of its groups."""

    target: Target | None = None
    tolerated: Target | None = None
    groups: tuple[GroupTarget, ...] = ()

    @classmethod
    def of(cls, ppi: Ppi) -> Targets:
        return cls(ppi.target, ppi.tolerated, ppi.group_targets)

    @property
    def for_all(self) -> Targets | None:
        return replace(self, groups=()) if self.target else None


def shown_attributes(
    shown: Shown,
    view: View | None,
    target: Node | None,
    limits: WrittenBounds | None,
    problems: Problems,
) -> dict[str, Any]:
    """The attributes of a PPI that depend on how it is shown: its targets, and its output range."""
    targets = (target and TARGETS.resolved(target, shown.of_view(view), problems)) or Targets()
    return {
        "target": targets.target,
        "tolerated": targets.tolerated,
        "group_targets": targets.groups,
        "value_range": shown.read_range(limits, problems) if limits else None,
    }


def target_in(shown: Shown | None) -> Written[Target]:
    """One target alone: `below 7 days`, `between 1 and 2`, `at least 1 and below 2`."""
    return Written(
        "a target",
        lambda node, problems: _read_target(node, shown, problems),
        example="below 7 days",
        pattern=rf"^\s*(?:{_SIDE}(?:\s+and\s+{_SIDE})?|{_BETWEEN})\s*$",
        text=lambda target: _target_text(target, cast("Shown", shown)),
    )


def targets_in(shown: Shown | None) -> Shape[Targets]:
    """Targets of a PPI that is shown so; where that is not known, only their form is read."""
    target = target_in(shown)
    green = Field("green", target, "the values to aim for", required=True)
    amber = Field("amber", target, "the values still tolerated; they include all of green")

    def bands(values: Values, problems: Problems) -> Targets:
        tolerated = values.get(amber)
        if tolerated is not None and not tolerated.contains(values[green]):
            message = "the tolerated range must include all of the target"
            problems.add(values.place(amber), message, "make amber wider than green")
        return Targets(values[green], tolerated)

    def band_parts(targets: Targets) -> Parts | None:
        return None if targets.groups else {green: targets.target, amber: targets.tolerated}

    def green_alone(targets: Targets) -> Target | None:
        return None if targets.groups or targets.tolerated else targets.target

    text = Then(target, Targets, green_alone)
    mapping = Record("a target", (green, amber), bands, parts=band_parts)
    of_one: Named[Targets] = Named("target", lambda: ByForm("a target", text, mapping=mapping))
    groups = Field(
        "groups",
        _by_group(of_one, shown),
        "targets for single groups, by their values",
        required=True,
    )
    otherwise = Field("otherwise", of_one, "the target for all other groups")
    by_group = Record(
        "a target",
        (groups, otherwise),
        lambda values, _: replace(values.get(otherwise) or Targets(), groups=values[groups]),
        parts=lambda targets: {groups: targets.groups, otherwise: targets.for_all},
    )
    return ByForm(
        "a target",
        text,
        mapping=Tagged(
            "a target",
            {"green": mapping, "groups": by_group},
            strangers={"amber": "give the target first: {green: …, amber: …}"},
        ),
    )


TARGETS = Within(targets_in)


def _by_group(of_one: Shape[Targets], shown: Shown | None) -> Record[tuple[GroupTarget, ...]]:
    def build(values: Values, problems: Problems) -> tuple[GroupTarget, ...]:
        if not values.named:
            problems.add(values.position, "no group is given", "write e.g. {web: below 3 days}")
        keys = dict.fromkeys(shown.groups) if shown else {key.text: None for key, _ in values.named}
        for key in (key for key, _ in values.named if key.text not in keys):
            known = f"the groups are {listed(keys, 'and')}" if keys else "group the measure by data"
            hint = did_you_mean(key.text, islice(keys, MAX_SUGGESTED), known)
            problems.add(key.position, f"this PPI has no group {quoted(key.text)}", hint)
        return tuple(
            GroupTarget(key.text, own.target, own.tolerated) for key, own in values.named if own
        )

    return Record(
        "targets by group",
        (),
        build,
        entries=Entries("a group", "write a value of the grouping", of_one, r"\S"),
        parts=lambda groups: {own.key: Targets(own.target, own.tolerated) for own in groups},
    )


def _read_target(node: ScalarNode, shown: Shown | None, problems: Problems) -> Target | None:
    sides = _sides(node, problems)
    if not sides or shown is None:
        return Target(None, None) if sides else None
    if shown.unit == PERCENT and not shown.is_said:
        # Nobody can tell whether 0.9 is a part of 1 or of 100.
        for quantity in (quantity for _, quantity in sides if not quantity.unit):
            if 0 < quantity.number < 1:
                problems.add(node.position, *_unclear_share(quantity.number))
    limits = [shown.read(quantity, problems) for _, quantity in sides]
    if None in limits:
        return None
    words = [word for word, _ in sides]
    low = limits[0] if words[0] not in _BELOW else None
    high = limits[-1] if words[-1] in _BELOW else None
    if low is not None and high is not None and not low < high:
        problems.add(node.position, "the lower limit of the target must be below the upper one")
        return None
    return Target(
        low,
        high,
        low_included=low is None or words[0] in _INCLUDED,
        high_included=high is None or words[-1] in _INCLUDED,
    )


def _unclear_share(limit: Fraction) -> tuple[str, str]:
    """What to ask about a share between 0 and 1 written without its sign: a part, or percent?

    >>> _unclear_share(Fraction(9, 10))
    ('a share of 0.9 may mean 90 % or 0.9 %', 'write 90 % or 0.9 %')
    """
    part, percent = f"{float(100 * limit):g} %", f"{float(limit):g} %"
    meant = f"{part} or {percent}"
    return f"a share of {float(limit):g} may mean {meant}", f"write {meant}"


def _sides(node: ScalarNode, problems: Problems) -> list[tuple[str, Quantity]]:
    """The limits as they are written, the lower one first; none if they have no such form."""
    text, place = node.text.strip(), node.position
    if match := re.fullmatch(_BETWEEN, text):
        low, high = ("at least", *match.groups()[:2]), ("at most", *match.groups()[2:])
    elif match := re.fullmatch(rf"{_SIDE}(?:\s+and\s+{_SIDE})?", text):
        low, high = match.groups()[:3], match.groups()[3:]
    else:
        return []
    sides = sorted((side for side in (low, high) if side[0]), key=lambda side: side[0] in _BELOW)
    if len({side[0] in _BELOW for side in sides}) < len(sides):
        message = (
            "a target has one lower and one upper limit, but this one has the same limit twice"
        )
        problems.add(place, message, "write e.g. at least 1 and below 2")
        return []
    # "Between 1 and 2 days" is about days twice.
    last = sides[-1][2] or ""
    return [(word, Quantity(Fraction(number), unit or last, place)) for word, number, unit in sides]


def _target_text(target: Target, shown: Shown) -> str:
    ends = {
        _LOW_WORDS[target.low_included]: target.low,
        _HIGH_WORDS[target.high_included]: target.high,
    }
    ends_given = {words: end for words, end in ends.items() if end is not None}
    if not ends_given:
        raise Unwritable("a target has at least one end")
    *first, last = shown.written(list(ends_given.values()))
    # The unit behind the second number is that of the first one too.
    numbers = [*(decimal_text(quantity.number) for quantity in first), quantity_text(last)]
    if [*ends_given] == ["at least", "at most"]:
        return Bare(f"between {numbers[0]} and {numbers[1]}")
    return Bare(" and ".join(map("{} {}".format, ends_given, numbers)))
