"""Units and targets of a PPI: what its values are shown in, and where they should be.

A target is written in the unit of its PPI. What a label means as a unit depends on the measure;
where it would be read as another unit than it is, its size is written behind it.
"""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.expressions.nodes import Number, Operator
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import AggregatedMeasure, Aggregation, MultiInstance, Target
from pappi.ppinot.sentences.comparisons import comparator
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.quantities import amount
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.bounds import Bounds
from pappi.values.units import DURATIONS, FRACTION, HOURS, NUMBER, PERCENT, Unit, duration_unit
from pappi.values.vocabulary import Kind

_PERCENT = ("percent", "%")
_SIDES = {
    Operator.LESS: "below",
    Operator.AT_MOST: "at most",
    Operator.GREATER: "above",
    Operator.AT_LEAST: "at least",
}

# --- units ----------------------------------------------------------------------------


def usual_unit(measure: MultiInstance) -> Unit:
    """The unit of a measure for which none is named."""
    if measure_kind(measure, None) is Kind.DURATION:
        return HOURS
    is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
    return PERCENT if is_share else NUMBER


def unit_of(measure: MultiInstance, label: str) -> Unit | None:
    """The unit that a label names for a measure, or None if it cannot be shown in that."""
    kind = measure_kind(measure, None)
    if kind is Kind.DURATION:
        return duration_unit(label)
    if _is_proportion(measure):
        return {"percent": PERCENT, "%": PERCENT, "fraction": FRACTION}.get(label.lower())
    if kind is None and duration_unit(label) is not None:
        return duration_unit(label)
    return Unit(label, Fraction(1))


def unit_hint(measure: MultiInstance, label: str) -> str:
    if measure_kind(measure, None) is Kind.DURATION:
        return did_you_mean(label, DURATIONS, f"the units are {listed(DURATIONS, 'and')}")
    return "write percent or fraction"


def _is_proportion(measure: MultiInstance) -> bool:
    if not isinstance(measure, AggregatedMeasure):
        return False
    is_mean = measure.function is Aggregation.MEAN
    of_truth = measure_kind(measure.base, None) is Kind.TRUTH
    return measure.function is Aggregation.SHARE or (is_mean and of_truth)


def unit_words(measure: MultiInstance, unit: Unit) -> str:
    """How a unit is named, empty if it need not be."""
    if unit == usual_unit(measure):
        return ""
    if is_plain(unit.name) and unit_of(measure, unit.name) == unit:
        return unit.name
    return f"{quote_text(unit.name)} of {render(Number(unit.factor))}"


def is_plain(text: str) -> bool:
    """Whether a text can stand behind a colon as it is."""
    return text == text.strip() and not text.startswith('"') and "\n" not in text and bool(text)


# --- targets --------------------------------------------------------------------------


def target_words(target: Target, unit: Unit) -> str:
    """
    >>> target_words(Target(None, Fraction(80, 100), high_included=False), PERCENT)
    'below 80 percent'
    """
    low, high = target.low, target.high
    if low is not None and high is not None and target.low_included and target.high_included:
        return f"between {_shown(low, unit)} and {_shown(high, unit)}"
    least = Operator.AT_LEAST if target.low_included else Operator.GREATER
    most = Operator.AT_MOST if target.high_included else Operator.LESS
    sides = [(least, low), (most, high)]
    said = [f"{_SIDES[side]} {_shown(end, unit)}" for side, end in sides if end is not None]
    return " and ".join(said) or "anything"


def range_words(bounds: Bounds, unit: Unit) -> str:
    return f"from {_shown(bounds.low, unit)} to {_shown(bounds.high, unit)}"


def _shown(internal: Fraction, unit: Unit) -> str:
    number = render(Number(internal / unit.factor))
    return number if "/" in number or not _is_said(unit) else f"{number} {unit.name}"


def _is_said(unit: Unit) -> bool:
    return is_time(unit) or unit.name == "percent"


def is_time(unit: Unit) -> bool:
    return DURATIONS.get(unit.name) == unit.factor


def target(cursor: Cursor, unit: Unit) -> Target:
    """`below 7 days`, `between 1 and 2`, `at least 1 and below 2`."""
    if cursor.accept("anything"):
        return Target(None, None)
    start = cursor.next
    if cursor.accept("between"):
        low, high = _two(cursor, unit, "and")
        found = Target(low, high)
    else:
        found = _sided(cursor, unit)
    if found.low is not None and found.high is not None and not found.low < found.high:
        message = "the lower end of the target must be below the upper one"
        raise cursor.refusal(message, at=start)
    return found


def _sided(cursor: Cursor, unit: Unit) -> Target:
    ends: dict[str, tuple[Fraction, bool]] = {}
    while True:
        word, side = cursor.next, comparator(cursor)
        if side not in _SIDES:
            for words in ("below", "at most", "above", "at least", "between"):
                cursor.at(words)
            raise cursor.unexpected("as in below 7 days")
        which = "high" if side in (Operator.LESS, Operator.AT_MOST) else "low"
        if which in ends:
            message = "a target has one lower and one upper end, and this is the same end again"
            raise cursor.refusal(message, at=word)
        ends[which] = _end(cursor, unit), side in (Operator.AT_MOST, Operator.AT_LEAST)
        if not cursor.accept("and"):
            break
    low, low_included = ends.get("low", (None, True))
    high, high_included = ends.get("high", (None, True))
    return Target(low, high, low_included, high_included)


def value_range(cursor: Cursor, unit: Unit) -> Bounds:
    cursor.expect("from", "between")
    start = cursor.next
    low, high = _two(cursor, unit, "to", "and")
    if not low < high:
        raise cursor.refusal("the range must go up", at=start)
    return Bounds(low, high)


def _two(cursor: Cursor, unit: Unit, *middle: str) -> tuple[Fraction, Fraction]:
    """Two ends; a unit behind the second one alone is that of both, and of nothing else."""
    low = _end(cursor, unit)
    cursor.expect(*middle)
    return low, _end(cursor, unit)


def _end(cursor: Cursor, unit: Unit) -> Fraction:
    """An amount in the unit of the PPI, which may be named again."""
    start = cursor.next
    found = amount(cursor)
    word = cursor.words[cursor.index - 1].said if found.unit else cursor.next.said
    if found.unit and is_time(unit):
        return found.internal
    if found.unit and word == unit.name.lower():
        return unit.read(found.number)
    if cursor.next.said in _PERCENT and unit in (PERCENT, FRACTION):
        cursor.take()
        return found.number / 100
    if not found.unit and word == unit.name.lower():
        cursor.take()
    if found.unit:
        message = f"{quoted(found.unit)} does not fit: the value is shown in {quoted(unit.name)}"
        raise cursor.refusal(message, at=start)
    return unit.read(found.number)
