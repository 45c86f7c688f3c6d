"""Scopes: which periods and which cases a PPI is asked for.

`between … and …` names its first and its last day; `from`/`until` are a first
day and the first day no longer in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from itertools import chain, count, islice
from typing import TypeVar

from pappi.errors import Position
from pappi.ppinot import expressions as nodes
from pappi.ppinot.expressions import (
    Binary,
    Expression,
    InstantLiteral,
    Name,
    Operator,
    height,
    rewritten,
    substituted,
    walk,
    with_article,
)
from pappi.ppinot.grammar import MAX_DEPTH
from pappi.ppinot.model import (
    FIRST_DAY,
    LAST_DAY,
    MAX_CASES,
    MAX_COUNT,
    MAX_PERIODS,
    Anchor,
    ConditionMeasure,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
    Pick,
    Recent,
    Scope,
    SingleInstance,
    day_of_scope,
    has_too_many_periods,
    measure_kind,
)
from pappi.ppinot.notations.document import Bare, Literal, Problems, ScalarNode
from pappi.ppinot.notations.shapes import (
    ByForm,
    Field,
    ListOf,
    Named,
    Parts,
    Record,
    Values,
    Written,
    attributes_read,
)
from pappi.ppinot.notations.yaml.conditions import CONDITION, INSTANT, instant_of
from pappi.ppinot.notations.yaml.measures import SINGLE, WrittenMeasure
from pappi.values import DURATIONS, Calendar, Grid, Kind, listed, quoted

# --- days and rhythms of the calendar -------------------------------------------------

R = TypeVar("R", Grid, Recent)

# Written so that Python and the ECMAScript of JSON Schema read them alike.
DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
RHYTHM = r"(?:([0-9]{1,3})\s+)?(day|week|month|quarter|year)s?"


def day_of(written: str, position: Position, problems: Problems) -> date | None:
    try:
        return day_of_scope(written)
    except ValueError as error:
        problems.add(position, str(error))
        return None


def _rhythm(kind: type[R], groups: Sequence[str], node: ScalarNode, problems: Problems) -> R | None:
    """How many of which units, from the two groups of RHYTHM."""
    number, unit = groups
    count = int(number or 1)
    if not 1 <= count <= MAX_COUNT:
        problems.add(node.position, f"a scope has from 1 to {MAX_COUNT} units, not {count}")
        return None
    return kind(count=count, unit=Calendar(unit))


def _rhythm_of(what: str, kind: type[R], example: str) -> Written[R]:
    def parse(node: ScalarNode, problems: Problems) -> R | None:
        match = re.fullmatch(RHYTHM, node.text.strip())
        return _rhythm(kind, match.groups(), node, problems) if match else None

    return Written(what, parse, example, rf"^\s*{RHYTHM}\s*$", text=_rhythm_text)


def _rhythm_text(rhythm: Grid | Recent) -> str:
    unit, count = rhythm.unit, rhythm.count
    return Bare(unit.value if count == 1 else f"{count} {unit}s")


# --- conditions on cases --------------------------------------------------------------
#
# Whatever is written becomes one measure of a case that is true or false: a measure
# as it is, or a formula over several.

MAX_TESTS = 40
_EPOCH = date(1970, 1, 1)
_DAYS = range((FIRST_DAY - _EPOCH).days, (LAST_DAY - _EPOCH).days + 1)
BORDERS = {
    "started": DataMeasure("timestamp", Pick.FIRST),
    "ended": DataMeasure("timestamp", Pick.LAST),
}


@dataclass(frozen=True, slots=True)
class CaseTest:
    """A formula in the making: each name in it is about the measure of the same place."""

    formula: Expression
    measures: tuple[SingleInstance, ...]

    def opposite(self) -> CaseTest:
        return CaseTest(nodes.Not(self.formula), self.measures)

    def measure(self) -> SingleInstance:
        """The one measure that is true where the test is.

        Equal measures are one variable of its formula; others of the same name are numbered.
        """
        if isinstance(self.formula, Name):
            return self.measures[0]
        variables: dict[str, SingleInstance] = {}
        waiting = iter(self.measures)

        def variable(node: Expression) -> Name | None:
            if not isinstance(node, Name):
                return None
            measure = next(waiting)
            numbered = (f"{node.name}{number}" for number in count(2))
            names = chain([node.name], numbered)
            name = next(name for name in names if variables.get(name, measure) == measure)
            variables[name] = measure
            return Name(name)

        return DerivedSingleInstance(rewritten(self.formula, variable), tuple(variables.items()))


def _all_or_any(operator: Operator, tests: Sequence[CaseTest]) -> CaseTest:
    formulas = [test.formula for test in tests]
    return CaseTest(
        reduce(lambda left, right: Binary(operator, left, right), formulas),
        tuple(measure for test in tests for measure in test.measures),
    )


def _holds(name: str, measure: SingleInstance) -> CaseTest:
    return CaseTest(Name(name), (measure,))


# Conditions on cases as a scope writes them: finished, ongoing, started before a day, …

_BEFORE_OR_AFTER = rf"(before|after)\s+{DAY}"

TEST: Named[CaseTest] = Named("cases", lambda: _TEST)
_TESTS: ListOf[CaseTest] = ListOf("a list of conditions on cases", TEST)


def _dated(border: str) -> Written[CaseTest]:
    """Whether a case started or ended before a day, or after it: the midnight of UTC decides."""

    def parse(node: ScalarNode, problems: Problems) -> CaseTest | None:
        match = re.fullmatch(_BEFORE_OR_AFTER, node.text.strip())
        day = day_of(match[2], node.position, problems) if match else None
        if match is None or day is None:
            return None
        operator = Operator.LESS if match[1] == "before" else Operator.AT_LEAST
        # After a day is from the next day on.
        days = (day - _EPOCH).days + (operator is Operator.AT_LEAST)
        midnight = InstantLiteral(days * DURATIONS["days"])
        return CaseTest(Binary(operator, Name(border), midnight), (BORDERS[border],))

    def text(test: CaseTest) -> str | None:
        match test.formula:
            case Binary(Operator.LESS | Operator.AT_LEAST as operator, _, InstantLiteral(ts_us)):
                is_after = operator is Operator.AT_LEAST
                days, rest = divmod(ts_us, DURATIONS["days"])
                if not rest and days in _DAYS and days - is_after in _DAYS:
                    day = _EPOCH + timedelta(days=days - is_after)
                    return Bare(f"after {day}" if is_after else f"before {day}")
        return None

    pattern = rf"^\s*{_BEFORE_OR_AFTER}\s*$"
    return Written("'before' or 'after' and a date", parse, "before 2014-01-31", pattern, text=text)


CASES = Field("cases", SINGLE, "only cases for which this measure is true")
FINISHED: Field[EventCondition] = Field(
    "finished", CONDITION, "only cases in which this has occurred: it marks a case as finished"
)
ONGOING: Field[EventCondition] = Field(
    "ongoing", CONDITION, "only cases in which this has not occurred"
)
STARTED = Field(
    "started", _dated("started"), "only cases whose first event is before or after a day"
)
ENDED = Field("ended", _dated("ended"), "only cases whose last event is before or after a day")
ALL: Field[tuple[CaseTest, ...]] = Field("all", _TESTS, "only cases for which all of these hold")
ANY: Field[tuple[CaseTest, ...]] = Field(
    "any", _TESTS, "only cases for which at least one of these holds"
)
NOT: Field[CaseTest] = Field("not", TEST, "only cases for which this does not hold")

FIELDS = (CASES, FINISHED, ONGOING, STARTED, ENDED, ALL, ANY, NOT)


def written_test(values: Values, problems: Problems) -> CaseTest | None:
    """All that a mapping says about cases; None if it says nothing."""
    tests: list[CaseTest] = []
    if (chosen := values.get(CASES)) is not None and _is_truth(chosen.measure, values, problems):
        tests.append(_holds(CASES.key, chosen.measure))
    if (condition := values.get(FINISHED)) is not None:
        tests.append(_holds(FINISHED.key, ConditionMeasure(condition)))
    if (condition := values.get(ONGOING)) is not None:
        tests.append(_holds(FINISHED.key, ConditionMeasure(condition)).opposite())
    tests += [dated for field in (STARTED, ENDED) if (dated := values.get(field)) is not None]
    for field, operator in ((ALL, Operator.AND), (ANY, Operator.OR)):
        if (inner := values.get(field)) is not None:
            tests.append(_all_or_any(operator, inner))
    if (test := values.get(NOT)) is not None:
        tests.append(test.opposite())
    return _all_or_any(Operator.AND, tests) if tests else None


def _cases_parts(measure: SingleInstance) -> Parts:
    """The conditions a formula was made of, if it was made of such, else the measure itself."""
    if isinstance(measure, DerivedSingleInstance):
        variables = dict(measure.variables)
        names = [node.name for node in walk(measure.formula) if isinstance(node, Name)]
        plain = {name: Name(name.rstrip("0123456789")) for name in names}
        if variables.keys() >= plain.keys():
            measures = tuple(variables[name] for name in names)
            test = CaseTest(substituted(measure.formula, plain), measures)
            if (parts := _test_parts(test)) and test.measure() == measure:
                return parts
    return {CASES: WrittenMeasure(measure)}


def _test_parts(test: CaseTest) -> Parts | None:
    """A test in words, None if it has none in some part."""
    match test.formula, test.measures:
        case Name(CASES.key), (measure,):
            return {CASES: WrittenMeasure(measure)}
        case Name(FINISHED.key), (ConditionMeasure(when),):
            return {FINISHED: when}
        case nodes.Not(Name(FINISHED.key)), (ConditionMeasure(when),):
            return {ONGOING: when}
        case nodes.Not(operand), measures:
            inner = CaseTest(operand, measures)
            return {NOT: inner} if _test_parts(inner) else None
        case Binary(Operator.AND | Operator.OR as operator), _:
            tests = _listed_tests(test, operator)
            field = ALL if operator is Operator.AND else ANY
            return {field: tests} if all(map(_test_parts, tests)) else None
        case Binary(left=Name(border)), (about,) if BORDERS.get(border) == about:
            dated = STARTED if border == STARTED.key else ENDED
            return {dated: test} if dated.shape.write(test) else None
    return None


def _listed_tests(test: CaseTest, operator: Operator) -> tuple[CaseTest, ...]:
    """A chain of one operator as one list."""
    formulas, formula = [], test.formula
    while isinstance(formula, Binary) and formula.operator is operator:
        formulas.append(formula.right)
        formula = formula.left
    waiting = iter(test.measures)
    return tuple(
        CaseTest(part, tuple(islice(waiting, sum(isinstance(it, Name) for it in walk(part)))))
        for part in (formula, *reversed(formulas))
    )


def _is_truth(measure: SingleInstance, values: Values, problems: Problems) -> bool:
    kind = measure_kind(measure, None)
    if kind is None or kind is Kind.TRUTH:
        return True
    message = f"cases are chosen by a truth value, but this is {with_article(kind)}"
    hint = "compare it with something: {derive: x > 0, x: …}"
    problems.add(values.place(CASES), message, hint)
    return False


def _some_test(values: Values, problems: Problems) -> CaseTest | None:
    test = written_test(values, problems)
    if values.nothing_written:
        keys = listed([field.key for field in FIELDS])
        problems.add(values.position, "this is not a condition on cases", f"the keys are {keys}")
    return test


_TEST: Record[CaseTest] = Record("a condition on cases", FIELDS, _some_test, parts=_test_parts)


def chosen_cases(values: Values, problems: Problems) -> SingleInstance | None:
    """The measure that says which cases count, of a mapping with the FIELDS among its own."""
    test = written_test(values, problems)
    if test is None:
        return None
    if len(test.measures) <= MAX_TESTS:
        measure = test.measure()
        if not isinstance(measure, DerivedSingleInstance) or height(measure.formula) <= MAX_DEPTH:
            return measure
    problems.add(values.position, f"a scope has at most {MAX_TESTS} conditions on cases")
    return None


# --- scopes ---------------------------------------------------------------------------

WHOLE_TIME = "whole time"

_CASES = r"([0-9]{1,7})"
_EVERY = rf"every\s+{RHYTHM}"
_EVERY_IN_THE_LAST = rf"{_EVERY}\s+in\s+the\s+last\s+{RHYTHM}"
_BETWEEN = rf"between\s+{DAY}\s+and\s+{DAY}"
_LAST = rf"last\s+{RHYTHM}"
_LAST_CASES = rf"last\s+{_CASES}\s+cases?"
# Texts.


def _scope(node: ScalarNode, problems: Problems) -> Scope | None:
    text = node.text.strip()
    if match := re.fullmatch(_EVERY, text):
        grid = _rhythm(Grid, match.groups(), node, problems)
        return Scope(grid) if grid else None
    if match := re.fullmatch(_EVERY_IN_THE_LAST, text):
        grid = _rhythm(Grid, match.groups()[:2], node, problems)
        recent = _rhythm(Recent, match.groups()[2:], node, problems)
        return Scope(grid, recent=recent) if grid and recent else None
    if match := re.fullmatch(_LAST, text):
        recent = _rhythm(Recent, match.groups(), node, problems)
        return Scope(None, recent=recent) if recent else None
    if match := re.fullmatch(_LAST_CASES, text):
        last = _number_of_cases(match[1], node, problems)
        return Scope(None, last_cases=last) if last else None
    match = re.fullmatch(_BETWEEN, text)
    return _between(match, node, problems) if match else Scope(None)


def _between(match: re.Match[str], node: ScalarNode, problems: Problems) -> Scope | None:
    first, last = (day_of(written, node.position, problems) for written in match.groups())
    if first is None or last is None:
        return None
    if last < first:
        problems.add(node.position, "the last day of the scope comes before its first")
        return None
    return Scope(None, first, last + timedelta(days=1))


def _number_of_cases(written: str, node: ScalarNode, problems: Problems) -> int | None:
    if 1 <= int(written) <= MAX_CASES:
        return int(written)
    message = f"a scope takes from 1 to {MAX_CASES:,} of the last cases, not {quoted(written)}"
    problems.add(node.position, message)
    return None


def _in_words(scope: Scope) -> str | None:
    """The text form of a scope, if it has one."""
    dated = scope.start is not None or scope.until is not None
    if scope.cases is not None or scope.anchor is not None:
        return None
    if scope.last_cases is not None:
        is_plain = not dated and scope.recent is None
        return Bare(f"last {scope.last_cases} cases") if is_plain else None
    if scope.recent is not None:
        span = _rhythm_text(scope.recent)
        return Bare(f"{scope.grid} in the last {span}" if scope.grid else f"last {span}")
    if not dated:
        return Bare(scope.grid or WHOLE_TIME)
    if scope.grid is not None or scope.start is None or scope.until is None:
        return None
    return Bare(f"between {scope.start} and {scope.until - timedelta(days=1)}")


# Mappings.


EVERY = Field(
    "every",
    _rhythm_of("a period", Grid, "month"),
    "one value per day, week, month, quarter or year, or per several, such as 2 weeks; one value "
    "for the whole time if not given",
)
_DATE = Written(
    "a date",
    lambda node, problems: day_of(node.text.strip(), node.position, problems),
    example="2014-01-31",
    pattern=rf"^\s*{DAY}\s*$",
    text=Bare,
)
FROM = Field("from", _DATE, "the first day")
UNTIL = Field("until", _DATE, "the day after the last day of the scope")
RECENT = Field(
    "recent",
    _rhythm_of("a length of time", Recent, "6 months"),
    "this many whole days, weeks, months, quarters or years before now",
)
LAST_CASES = Field(
    "last cases",
    Written(
        "a number of cases",
        lambda node, problems: _number_of_cases(node.text.strip(), node, problems),
        example="500",
        pattern=rf"^\s*{_CASES}\s*$",
        types=("integer", "string"),
        text=Literal,
    ),
    "this many of the latest cases, as one period",
)
ANCHOR = Field(
    "anchor",
    INSTANT,
    "the instant that decides which period a case belongs to; the last if there are several",
)


_TIME = {
    "grid": EVERY,
    "start": FROM,
    "until": UNTIL,
    "recent": RECENT,
    "last_cases": LAST_CASES,
}
_ALL_FIELDS = (*_TIME.values(), *FIELDS, ANCHOR)


def _build(values: Values, problems: Problems) -> Scope | None:
    before = len(problems.found)
    if values.nothing_written:
        problems.add(values.position, "this scope is empty", "write e.g. every month")
    _check_times(values, problems)
    cases, anchor = chosen_cases(values, problems), values.get(ANCHOR)
    if len(problems.found) > before:
        return None
    placed = Anchor(anchor.moment, anchor.pick or Pick.LAST) if anchor else None
    time = {"grid": None, **attributes_read(values, **_TIME)}
    return Scope(**time, cases=cases, anchor=placed)


def _parts(scope: Scope) -> Parts:
    anchor = scope.anchor
    return {
        **{field: getattr(scope, name) for name, field in _TIME.items()},
        **({} if scope.cases is None else _cases_parts(scope.cases)),
        ANCHOR: None if anchor is None else instant_of(anchor.moment, anchor.pick, Pick.LAST),
    }


def _check_times(values: Values, problems: Problems) -> None:
    grid, first, until = values.get(EVERY), values.get(FROM), values.get(UNTIL)
    if first and until and until <= first:
        problems.add(values.place(UNTIL), "'until' must be a day after 'from'")
    elif first and until and grid and has_too_many_periods(grid, first, until):
        problems.add(values.position, f"this scope has more than {MAX_PERIODS:,} periods")
    if values.get(RECENT) is not None and (first or until) is not None:
        message = "'recent' ends now, so it takes no dates"
        problems.add(values.place(RECENT), message, "remove it, or 'from' and 'until'")
    if values.get(LAST_CASES) is not None and grid is not None:
        message = "the last cases are one period"
        problems.add(values.place(LAST_CASES), message, "remove it, or 'every'")


_FORMS = (_EVERY, _EVERY_IN_THE_LAST, _BETWEEN, _LAST, _LAST_CASES, WHOLE_TIME.replace(" ", r"\s+"))
SCOPE: Named[Scope] = Named(
    "scope",
    lambda: ByForm(
        "a scope",
        text=Written(
            "a scope",
            _scope,
            example="every month",
            pattern=rf"^\s*(?:{'|'.join(_FORMS)})\s*$",
            text=_in_words,
        ),
        mapping=Record("a scope", _ALL_FIELDS, _build, parts=_parts),
    ),
)
