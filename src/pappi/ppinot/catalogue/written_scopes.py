"""Scopes back into the notation: a few words where there are such, else a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from pappi.ppinot.catalogue.case_tests import (
    BORDERS,
    CaseTest,
    Dated,
    Holds,
    Joined,
    Opposite,
    day_at,
    measure_of,
)
from pappi.ppinot.catalogue.dates import FIRST_DAY
from pappi.ppinot.catalogue.plain import Bare, Literal, Plain
from pappi.ppinot.catalogue.scopes import WHOLE_TIME
from pappi.ppinot.catalogue.written_conditions import condition, instant
from pappi.ppinot.catalogue.written_measures import CalendarNames, single
from pappi.ppinot.expressions.nodes import Binary, Expression, Instant, Name, Not, Operator
from pappi.ppinot.model import (
    ConditionMeasure,
    DerivedSingleInstance,
    Pick,
    Scope,
    SingleInstance,
)
from pappi.values.periods import Calendar


def scope(of: Scope, calendars: CalendarNames) -> Plain:
    return _in_words(of) or _as_mapping(of, calendars)


def _in_words(of: Scope) -> Bare | None:
    """The text form of a scope, if it has one."""
    dated = of.start is not None or of.until is not None
    if of.cases is not None or of.anchor is not None:
        return None
    if of.last_cases is not None:
        return None if dated or of.recent is not None else Bare(f"last {of.last_cases} cases")
    if of.recent is not None:
        span = _rhythm(of.recent.count, of.recent.unit)
        return Bare(f"{of.grid} in the last {span}" if of.grid else f"last {span}")
    if not dated:
        return Bare(of.grid or WHOLE_TIME)
    if of.grid is not None or of.start is None or of.until is None:
        return None
    return Bare(f"between {of.start} and {of.until - timedelta(days=1)}")


def _as_mapping(of: Scope, calendars: CalendarNames) -> dict[str, Plain]:
    written: dict[str, Plain] = {}
    if of.grid is not None:
        written["every"] = Bare(_rhythm(of.grid.count, of.grid.unit))
    if of.start is not None:
        written["from"] = Bare(of.start)
    if of.until is not None:
        written["until"] = Bare(of.until)
    if of.recent is not None:
        written["recent"] = Bare(_rhythm(of.recent.count, of.recent.unit))
    if of.last_cases is not None:
        written["last cases"] = Literal(of.last_cases)
    if of.cases is not None:
        written |= _cases(of.cases, calendars)
    if of.anchor is not None:
        written["anchor"] = instant(of.anchor.moment, of.anchor.pick, Pick.LAST)
    return written


def _rhythm(count: int, unit: Calendar) -> str:
    return unit.value if count == 1 else f"{count} {unit}s"


# --- conditions on cases --------------------------------------------------------------


def _cases(measure: SingleInstance, calendars: CalendarNames) -> dict[str, Plain]:
    """The conditions a formula was made of, if it was made of such, else the measure."""
    if isinstance(measure, DerivedSingleInstance):
        test = _test(measure.formula, dict(measure.variables))
        if test is not None and measure_of(test) == measure:
            return _written_test(test, calendars)
    return {"cases": single(measure, calendars)}


def _test(formula: Expression, variables: Mapping[str, SingleInstance]) -> CaseTest | None:
    match formula:
        case Name():
            return _holds(formula.name.rstrip("0123456789"), variables[formula.name])
        case Not():
            inner = _test(formula.operand, variables)
            return None if inner is None else Opposite(inner)
        case Binary(operator=Operator.AND | Operator.OR):
            return _joined(formula, variables)
        case Binary(left=Name(name=name), right=Instant(ts_us=ts_us)) if name in BORDERS:
            return _dated(name, formula.operator, day_at(ts_us))
        case _:
            return None


def _holds(name: str, measure: SingleInstance) -> Holds | None:
    is_finished = name == "finished" and isinstance(measure, ConditionMeasure)
    return Holds(name, measure) if name == "cases" or is_finished else None


def _dated(border: str, operator: Operator, day: date | None) -> Dated | None:
    """A comparison in words; that a case is from a day on is said by the day before."""
    if operator is Operator.LESS and day is not None:
        return Dated(border, day, before=True)
    if operator is Operator.AT_LEAST and day is not None and day > FIRST_DAY:
        return Dated(border, day, before=False)
    return None


def _joined(formula: Binary, variables: Mapping[str, SingleInstance]) -> CaseTest | None:
    """A chain of one operator as one list."""
    parts = [formula.right]
    left = formula.left
    while isinstance(left, Binary) and left.operator is formula.operator:
        parts.append(left.right)
        left = left.left
    tests = [_test(part, variables) for part in (left, *reversed(parts))]
    whole = tuple(test for test in tests if test is not None)
    return Joined(formula.operator, whole) if len(whole) == len(tests) else None


def _written_test(test: CaseTest, calendars: CalendarNames) -> dict[str, Plain]:
    match test:
        case Holds(name="finished", measure=ConditionMeasure(when=when)):
            return {"finished": condition(when)}
        case Holds():
            return {"cases": single(test.measure, calendars)}
        case Opposite(test=Holds(name="finished", measure=ConditionMeasure(when=when))):
            return {"ongoing": condition(when)}
        case Opposite():
            return {"not": _written_test(test.test, calendars)}
        case Dated():
            last = test.day - timedelta(days=1)
            said = f"before {test.day}" if test.before else f"after {last}"
            return {test.border: Bare(said)}
        case Joined():
            word = "all" if test.operator is Operator.AND else "any"
            return {word: [_written_test(each, calendars) for each in test.tests]}
