"""The catalogue notation: PPIs in YAML or JSON, read and written from one description in `shapes`.

What is written is short, and without loss: it is read again before it is handed out, so that it
can not say anything else than the catalogue it was written from. Measures are in `yaml_measures`.

Of scopes, `between … and …` names its first and its last day; `from`/`until` are a first day and
the first day no longer in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import reduce
from itertools import chain, count, islice
from typing import Any, TypeVar, cast

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot import grammar
from pappi.ppinot.expressions import (
    Binary,
    Expression,
    InstantLiteral,
    Name,
    Not,
    Operator,
    height,
    rewritten,
    substituted,
    walk,
    with_article,
)
from pappi.ppinot.model import (
    EVERY_MONTH,
    FIRST_DAY,
    LAST_DAY,
    MAX_CASES,
    MAX_COUNT,
    MAX_PERIODS,
    Anchor,
    Catalogue,
    ConditionMeasure,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
    NoiseOn,
    Pick,
    Ppi,
    Recent,
    ReleaseChoice,
    Scope,
    SingleInstance,
    Wanted,
    day_of_scope,
    has_too_many_periods,
    measure_kind,
)
from pappi.ppinot.notations.document import (
    MAX_DEPTH,
    Bare,
    Literal,
    Node,
    Plain,
    Problems,
    ScalarNode,
    catalogue_of,
    json_text,
    read_document,
    structure_node,
    yaml_text,
)
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    EPSILON,
    SHARE_OF_CASES,
    TARGETS,
    UNIT,
    VIEW,
    VIEW_DOC,
    Shown,
    Targets,
    WrittenBounds,
    decimal_text,
    shown_attributes,
    shown_kind,
    targets_in,
    unit_of,
    with_bounds,
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
    Then,
    Unwritable,
    Values,
    Written,
    attributes_read,
    attributes_said,
    one_word_of,
    record_of,
    words_of,
)
from pappi.ppinot.notations.yaml_measures import (
    CALENDAR,
    CALENDARS,
    CONDITION,
    INSTANT,
    MULTI,
    SINGLE,
    Multi,
    WrittenMeasure,
    instant_of,
    named_calendars,
)
from pappi.ppinot.views import View
from pappi.values import DURATIONS, Calendar, Grid, Kind, WorkingCalendar, listed, quoted

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
        return CaseTest(Not(self.formula), self.measures)

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
        case Not(Name(FINISHED.key)), (ConditionMeasure(when),):
            return {ONGOING: when}
        case Not(operand), measures:
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
        if (
            not isinstance(measure, DerivedSingleInstance)
            or height(measure.formula) <= grammar.MAX_DEPTH
        ):
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


_TIME_FIELDS = {
    "grid": EVERY,
    "start": FROM,
    "until": UNTIL,
    "recent": RECENT,
    "last_cases": LAST_CASES,
}
_ALL_FIELDS = (*_TIME_FIELDS.values(), *FIELDS, ANCHOR)


def _build(values: Values, problems: Problems) -> Scope | None:
    before = len(problems.found)
    if values.nothing_written:
        problems.add(values.position, "this scope is empty", "write e.g. every month")
    _check_times(values, problems)
    cases, anchor = chosen_cases(values, problems), values.get(ANCHOR)
    if len(problems.found) > before:
        return None
    placed = Anchor(anchor.moment, anchor.pick or Pick.LAST) if anchor else None
    time = {"grid": None, **attributes_read(values, **_TIME_FIELDS)}
    return Scope(**time, cases=cases, anchor=placed)


def _scope_parts(scope: Scope) -> Parts:
    anchor = scope.anchor
    return {
        **{field: getattr(scope, name) for name, field in _TIME_FIELDS.items()},
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
        mapping=Record("a scope", _ALL_FIELDS, _build, parts=_scope_parts),
    ),
)


# --- how a PPI is to be released ------------------------------------------------------

_NAME = Written("a variable, or 'value'", lambda node, _: node.text.strip(), example="received")
# Which mechanisms there are is checked by whoever knows them: see `check_catalogue`.
_MECHANISM_NAME = r"^[a-z][a-z0-9]*(?:[ \-][a-z0-9]+)*$"
_MECHANISM = Written(
    "a mechanism", lambda node, _: node.text.strip(), "two-bin", _MECHANISM_NAME, text=Bare
)


def _share(node: ScalarNode, problems: Problems) -> Fraction | None:
    share = Fraction(node.text.strip())
    if not 0 < share <= 1:
        problems.add(node.position, "a share of epsilon is above 0 and at most 1", "write e.g. 0.3")
        return None
    return share


def _decimal(number: Fraction) -> str:
    return Literal(decimal_text(number))


ANSWER = Field(
    "answer",
    one_word_of("'value' or 'verdict'", words_of(Wanted)),
    "what is wanted: the value, or only whether the target is met, which is more accurate",
)
MECHANISM = Field(
    "mechanism", _MECHANISM, "the mechanism; the one with the smallest predicted error if not given"
)
OWN_MECHANISM = Field(
    "mechanism", _MECHANISM, "the mechanism of this function; the planner's choice if not given"
)
SHARE = Field(
    "share",
    Written(
        "a share of epsilon",
        _share,
        example="0.3",
        pattern=r"^\s*[0-9]{0,9}\.?[0-9]{1,9}\s*$",
        types=("number", "string"),
        text=_decimal,
    ),
    "its share of epsilon, above 0; shares add up to at most 1, and the planner divides "
    "what is left among the functions without one",
)


# Under the name of its function, which the entry does not know.
_OWN: ByForm[NoiseOn] = ByForm(
    "a mechanism, or a mapping with 'mechanism' and 'share'",
    text=Written(
        "a mechanism",
        lambda node, _: NoiseOn("", node.text.strip(), position=node.position),
        "two-bin",
        _MECHANISM_NAME,
        text=lambda noise: Bare(noise.mechanism) if noise.mechanism and not noise.share else None,
    ),
    mapping=Record(
        "noise of a function",
        (OWN_MECHANISM, SHARE),
        lambda values, _: NoiseOn(
            "",
            values.get(OWN_MECHANISM),
            values.get(SHARE),
            position=values.place(OWN_MECHANISM),
        ),
        parts=lambda noise: {OWN_MECHANISM: noise.mechanism, SHARE: noise.share},
    ),
)


def _function_alone(noise: NoiseOn) -> str | None:
    return noise.function if noise == NoiseOn(noise.function) else None


NOISE: Field[tuple[NoiseOn, ...]] = Field(
    "noise",
    ByForm(
        "functions",
        text=Then(
            _NAME,
            lambda name: (NoiseOn(name),),
            lambda noise: _function_alone(noise[0]) if len(noise) == 1 else None,
        ),
        items=ListOf("a list of variables", Then(_NAME, NoiseOn, _function_alone)),
        mapping=Record(
            "functions",
            (),
            lambda values, _: tuple(
                replace(own, function=key.text) for key, own in values.named if own is not None
            ),
            entries=Entries(
                "a function",
                "name a variable of the formula, with dots for nested ones, or 'value'",
                _OWN,
                r"^[A-Za-z_][A-Za-z0-9_\-]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
            ),
            parts=lambda noise: {on.function: on for on in noise},
        ),
    ),
    "the functions that carry the noise, by the names that `ppi show` lists: variables of the "
    "formula, or 'value' for the result; each with a mechanism and a share of epsilon, if wanted",
)
FALLOFF = Field(
    "falloff",
    Written(
        "a number",
        lambda node, _: Fraction(node.text.strip()),
        example="3",
        pattern=r"^\s*[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?\s*$",
        types=("number", "string"),
        text=_decimal,
    ),
    "for the threshold mechanism: how many times as much ε goes to the verdict as to the value",
)
BUCKETS = Field(
    "buckets",
    Written(
        "a whole number",
        lambda node, _: int(node.text),
        example="20",
        pattern=r"^[0-9]{1,9}$",
        types=("integer",),
        text=Literal,
    ),
    "for sample-and-aggregate: the number of buckets the cases are divided into",
)


_ON_OR_OFF = one_word_of("'on' or 'off'", {"on": True, "off": False})
SET = Field(
    "set",
    _ON_OR_OFF,
    "under a total for all PPIs: whether this one may share a draw with others",
)


CLIPPING = Field(
    "clipping",
    _ON_OR_OFF,
    "whether the share of cases beyond the bounds is released along with a mean or sum",
)


RELEASE = record_of(
    "a release",
    ReleaseChoice,
    MECHANISM,
    answer=ANSWER,
    mechanism=MECHANISM,
    noise=NOISE,
    falloff=FALLOFF,
    buckets=BUCKETS,
    in_set=SET,
    clipping=CLIPPING,
)

# --- PPIs -----------------------------------------------------------------------------


VALUE = "value"
"""Among the bounds of a PPI: the range of its final value."""


def _text(node: ScalarNode, _: Problems) -> str:
    return node.text.strip()


_TEXT = Written("a text", _text)
_TEXTS: ByForm[tuple[str, ...]] = ByForm(
    "a text or a list of texts",
    text=Then(_TEXT, lambda text: (text,), lambda texts: texts[0] if len(texts) == 1 else None),
    items=ListOf("a list of texts", _TEXT),
)
_ID = Written(
    "an id of letters, digits, - and _, starting with a letter",
    _text,
    example="waiting-time",
    pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,63}$",
)
_BOUNDS_OF_ALL: Then[WrittenBounds, Mapping[str, WrittenBounds]] = Then(
    BOUNDS, lambda written: {"": written}, lambda by_path: by_path.get("")
)
_ALL_BOUNDS: ByForm[Mapping[str, WrittenBounds]] = ByForm(
    "bounds",
    text=_BOUNDS_OF_ALL,
    items=_BOUNDS_OF_ALL,
    mapping=Record(
        "bounds",
        (),
        lambda values, _: {key.text: written for key, written in values.named if written},
        entries=Entries(
            "a variable",
            "name a variable of the formula; use dots for nested ones: a.b",
            BOUNDS,
            r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$",
        ),
        parts=lambda by_path: by_path,
    ),
)


ID = Field("id", _ID, "a short name, unique in the catalogue", required=True)
NAME = Field("name", _TEXT, "its display name; the id if not given")
MEASURE = Field("measure", MULTI, "what is measured", required=True)
ALL_BOUNDS = Field(
    "bounds",
    _ALL_BOUNDS,
    "public clipping bounds on what one case contributes: [low, high], [low, high, loose] or "
    "private; for a derived measure, bounds per variable, and the output range as 'value'",
)
PPI_UNIT = Field("unit", UNIT, "the unit to show: of time, percent, fraction or any label")
PPI_TARGET: Field[Node] = Field(
    "target",
    TARGETS,
    "the values to aim for, in the unit shown; as bands, green and amber (still tolerated); or by "
    "group",
)
PPI_SCOPE = Field("scope", SCOPE, "the periods asked for; every month if not given")
PPI_SHOW: Field[View] = Field("show", VIEW, VIEW_DOC)
PPI_EPSILON = Field("epsilon", EPSILON, "the ε that one value may cost")
PPI_RELEASE = Field(
    "release", RELEASE, "how to release it; the planner chooses whatever is not given"
)
PPI_EXPECTED = Field(
    "expected",
    SHARE_OF_CASES,
    "your guess of the share of a period's cases that it is about, those that pass its filters and "
    "have a value: for forecasts alone, it changes nothing that is released",
)
PROCESS = Field("process", _TEXT, "the process it is about")
GOALS = Field("goals", _TEXTS, "what it is for")
RESPONSIBLE = Field("responsible", _TEXT, "who is responsible for it")
INFORMED = Field("informed", _TEXTS, "who is informed about it")
COMMENTS = Field("comments", _TEXT, "anything else")
_PLAIN: dict[str, Field[Any]] = {
    "show": PPI_SHOW,
    "epsilon": PPI_EPSILON,
    "release": PPI_RELEASE,
    "expected": PPI_EXPECTED,
    "process": PROCESS,
    "goals": GOALS,
    "responsible": RESPONSIBLE,
    "informed": INFORMED,
    "comments": COMMENTS,
}
"""The attributes of a PPI that are written as they are."""


def _ppi(values: Values, problems: Problems) -> Ppi | None:
    read = values[MEASURE]
    written = _merged_bounds(read, values.get(ALL_BOUNDS) or {}, problems)
    kind = shown_kind(read.measure, written)
    unit = unit_of(read.measure, kind, values.get(PPI_UNIT), read.units, problems)
    value = written.pop(VALUE, None)
    measure = with_bounds(read.measure, written, problems)
    if unit is None:
        return None
    shown = Shown.in_unit(measure, unit, kind, is_said=values.get(PPI_UNIT) is not None)
    view, target = values.get(PPI_SHOW), values.get(PPI_TARGET)
    return Ppi(
        id=values[ID],
        name=values.get(NAME) or values[ID],
        measure=measure,
        unit=unit,
        scope=values.get(PPI_SCOPE) or EVERY_MONTH,
        position=values.place(ID),
        **shown_attributes(shown, view, target, value, problems),
        **attributes_read(values, **_PLAIN),
    )


def _merged_bounds(
    read: Multi, of_ppi: Mapping[str, WrittenBounds], problems: Problems
) -> dict[str, WrittenBounds]:
    for path in (path for path in of_ppi if path in read.bounds):
        whose = f"of {quoted(path)} " if path else ""
        message = f"the bounds {whose}are given twice, on the measure and on the PPI"
        problems.add(of_ppi[path].position, message, "keep one of them")
    return {**read.bounds, **of_ppi}


def _parts(ppi: Ppi) -> Parts:
    """With a range of the value among its bounds, a single measure has its own bounds itself."""
    shown = Shown.of(ppi)
    bounds, inside = shown.case_bounds(ppi.measure), {}
    if ppi.value_range is not None:
        inside = {"": bounds.pop("")} if "" in bounds else {}
        bounds[VALUE] = shown.written_range(ppi.value_range)
    usual_unit = unit_of(ppi.measure, shown.kind, None, (), Problems())
    targets = Targets.of(ppi)
    return {
        ID: ppi.id,
        NAME: ppi.name if ppi.name not in (ppi.id, "") else None,
        MEASURE: WrittenMeasure(ppi.measure, bounds=inside),
        ALL_BOUNDS: bounds or None,
        PPI_UNIT: None if ppi.unit == usual_unit else ppi.unit.name or None,
        PPI_TARGET: None
        if targets == Targets()
        else targets_in(shown.of_view(ppi.show)).write(targets),
        PPI_SCOPE: ppi.scope,
        **attributes_said(ppi, **_PLAIN),
    }


PPI: Named[Ppi] = Named(
    "ppi",
    lambda: Record(
        "a PPI",
        (ID, NAME, MEASURE, ALL_BOUNDS, PPI_UNIT, PPI_TARGET, PPI_SCOPE, *_PLAIN.values()),
        _ppi,
        parts=_parts,
    ),
)

# --- catalogues -----------------------------------------------------------------------

LOG = Field("log", _TEXT, "the log the PPIs are about", required=True)
TOTAL = Field("total", EPSILON, "the ε of all PPIs together, in each block; they share one draw")
PPIS = Field("ppis", ListOf("a list of PPIs", PPI), "the indicators", required=True)


CATALOGUE = Record(
    "a catalogue",
    (LOG, TOTAL, CALENDARS, PPIS),
    lambda values, problems: catalogue_of(
        values[LOG], values[PPIS], values.get(TOTAL), values.position.file, problems
    ),
)


def catalogue_schema() -> Json:
    """The JSON Schema of catalogues, for completion and checks in editors."""
    definitions: SchemaDefs = {}
    root = CATALOGUE.schema(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PaPPI catalogue",
        "description": "Process performance indicators about one event log",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def parse_catalogue(text: str, file: str = "<catalogue>") -> Catalogue:
    """The catalogue a text says; DefinitionError with every problem in it."""
    problems = Problems()
    return _read(read_document(text, file, problems.found), problems)


def catalogue_from(definitions: Mapping[str, object]) -> Catalogue:
    """The catalogue a dict says, with the keys of the notation: the same as its YAML would be.

    >>> open_claims = {"id": "open", "measure": {"number": "cases"}, "target": "at most 700"}
    >>> catalogue_from({"log": "claims", "ppis": [open_claims]}).ppis[0].id
    'open'
    """
    problems = Problems()
    return _read(structure_node(definitions, problems.found), problems)


def _read(root: Node, problems: Problems) -> Catalogue:
    problems.calendars = named_calendars(root)
    catalogue = CATALOGUE.read(root, problems)
    problems.require_none()
    return cast("Catalogue", catalogue)


def write_yaml(catalogue: Catalogue) -> str:
    """The catalogue as YAML; DefinitionError if the notation has no words for it."""
    return _written(catalogue, yaml_text)


def write_json(catalogue: Catalogue) -> str:
    """The catalogue as JSON; DefinitionError if the notation has no words for it."""
    return _written(catalogue, json_text)


def _written(catalogue: Catalogue, into_text: Callable[[Plain], str]) -> str:
    names = _calendar_names(catalogue)
    written: dict[str, Plain] = {LOG.key: catalogue.log}
    if catalogue.total is not None:
        written[TOTAL.key] = cast("Plain", TOTAL.shape.write(catalogue.total))
    if names:
        written[CALENDARS.key] = {name: calendar for calendar, name in names.items()}
    written[PPIS.key] = [_with_names(_written_ppi(ppi), names) for ppi in catalogue.ppis]
    text = into_text(written)
    _require_same(catalogue, text)
    return text


def _written_ppi(ppi: Ppi) -> Plain:
    try:
        return cast("Plain", PPI.write(ppi))
    except Unwritable as error:
        raise _lost(ppi.position, str(error)) from None


def _with_names(node: Plain, names: Mapping[str, str]) -> Plain:
    """The node with calendars called by their names; any other is written where it is used."""
    if isinstance(node, list):
        return [_with_names(item, names) for item in node]
    if isinstance(node, str):
        return node
    return {
        key: names.get(value, value)
        if key == CALENDAR.key and isinstance(value, str)
        else _with_names(value, names)
        for key, value in node.items()
    }


def _require_same(catalogue: Catalogue, text: str) -> None:
    try:
        again = parse_catalogue(text, catalogue.file)
    except DefinitionError as error:
        raise _lost(_start(catalogue), f"reading it fails: {error.problems[0].message}") from None
    for ppi, same in zip(catalogue.ppis, again.ppis, strict=True):
        if ppi != same:
            raise _lost(ppi.position, f"the PPI {quoted(ppi.id)} would change")
    if catalogue != again:
        raise _lost(_start(catalogue), "the name of the log would change")


def _lost(position: Position, why: str) -> DefinitionError:
    message = f"the catalogue notation cannot express this: {why}"
    return DefinitionError([Problem(position, message)])


def _start(catalogue: Catalogue) -> Position:
    return Position(catalogue.file, 1, 1)


_DEEPEST = MAX_DEPTH + grammar.MAX_DEPTH
"""No catalogue that can be read has parts deeper inside each other."""


def _calendar_names(catalogue: Catalogue) -> dict[str, str]:
    """Names for the calendars that are used more than once."""
    uses = Counter(part for part in _all_parts(catalogue) if isinstance(part, WorkingCalendar))
    repeated = [calendar for calendar, count in uses.items() if count > 1]
    return {
        str(calendar): "hours" if number == 1 else f"hours-{number}"
        for number, calendar in enumerate(repeated, start=1)
    }


def _all_parts(catalogue: Catalogue) -> Iterator[object]:
    """Every part of a catalogue, in order; refuses one that is too deep to be walked."""
    waiting: list[tuple[object, int]] = [(catalogue, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > _DEEPEST:
            raise _lost(_start(catalogue), f"parts of it are nested more than {_DEEPEST} deep")
        yield part
        if isinstance(part, tuple):
            waiting.extend((item, depth) for item in reversed(part))
        elif is_dataclass(part) and not isinstance(part, WorkingCalendar):
            inner = [getattr(part, field.name) for field in fields(part) if field.compare]
            waiting.extend((item, depth + 1) for item in reversed(inner))
