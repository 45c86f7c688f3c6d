"""Conditions on cases as a scope writes them: finished, ongoing, started before a day, …"""

from __future__ import annotations

import re
from datetime import timedelta

from pappi.ppinot.catalogue.case_measures import SINGLE
from pappi.ppinot.catalogue.case_tests import (
    MAX_TESTS,
    CaseTest,
    Dated,
    Holds,
    Joined,
    Opposite,
    finished,
    measure_of,
    size,
)
from pappi.ppinot.catalogue.conditions import CONDITION
from pappi.ppinot.catalogue.dates import DAY, day_of
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import Field, ListOf, Named, Problems, Record, Values, Written
from pappi.ppinot.expressions.kinds import with_article
from pappi.ppinot.expressions.nodes import Operator
from pappi.ppinot.expressions.parser import MAX_DEPTH
from pappi.ppinot.expressions.walk import height
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import DerivedSingleInstance, EventCondition, SingleInstance
from pappi.ppinot.wording import listed
from pappi.values.vocabulary import Kind

_BEFORE_OR_AFTER = rf"(before|after)\s+{DAY}"

TEST: Named[CaseTest] = Named("cases", lambda: _TEST)
_TESTS: ListOf[CaseTest] = ListOf("a list of conditions on cases", TEST)


def _dated(border: str) -> Written[Dated]:
    def parse(node: ScalarNode, problems: Problems) -> Dated | None:
        match = re.fullmatch(_BEFORE_OR_AFTER, node.text.strip())
        day = day_of(match[2], node.position, problems) if match else None
        if match is None or day is None:
            return None
        before = match[1] == "before"
        # After a day is from the next day on.
        return Dated(border, day if before else day + timedelta(days=1), before)

    pattern = rf"^\s*{_BEFORE_OR_AFTER}\s*$"
    return Written("'before' or 'after' and a date", parse, "before 2014-01-31", pattern)


CASES = Field("cases", SINGLE, "only cases for which this measure is true")
FINISHED: Field[EventCondition] = Field(
    "finished", CONDITION, "only cases in which this has occurred: it says that a case is over"
)
ONGOING: Field[EventCondition] = Field(
    "ongoing", CONDITION, "only cases in which this has not occurred"
)
STARTED = Field(
    "started", _dated("started"), "only cases whose first event is before or after a day"
)
ENDED = Field("ended", _dated("ended"), "only cases whose last event is before or after a day")
ALL: Field[tuple[CaseTest, ...]] = Field("all", _TESTS, "only cases for which all of these are so")
ANY: Field[tuple[CaseTest, ...]] = Field("any", _TESTS, "only cases for which one of these is so")
NOT: Field[CaseTest] = Field("not", TEST, "only cases for which this is not so")

FIELDS = (CASES, FINISHED, ONGOING, STARTED, ENDED, ALL, ANY, NOT)


def written_test(values: Values, problems: Problems) -> CaseTest | None:
    """All that a mapping says about cases; None if it says nothing."""
    tests: list[CaseTest] = []
    if (draft := values.get(CASES)) is not None and _is_truth(draft.measure, values, problems):
        tests.append(Holds("cases", draft.measure))
    if (condition := values.get(FINISHED)) is not None:
        tests.append(finished(condition))
    if (condition := values.get(ONGOING)) is not None:
        tests.append(Opposite(finished(condition)))
    tests += [dated for each in (STARTED, ENDED) if (dated := values.get(each)) is not None]
    if (inner := values.get(ALL)) is not None:
        tests.append(_joined(Operator.AND, inner))
    if (inner := values.get(ANY)) is not None:
        tests.append(_joined(Operator.OR, inner))
    if (test := values.get(NOT)) is not None:
        tests.append(Opposite(test))
    return _joined(Operator.AND, tuple(tests)) if tests else None


def _joined(operator: Operator, tests: tuple[CaseTest, ...]) -> CaseTest:
    return tests[0] if len(tests) == 1 else Joined(operator, tests)


def _is_truth(measure: SingleInstance, values: Values, problems: Problems) -> bool:
    kind = measure_kind(measure, None)
    if kind is None or kind is Kind.TRUTH:
        return True
    message = f"cases are chosen by a truth value, and this is {with_article(kind)}"
    hint = "compare it with something: {derive: x > 0, x: …}"
    problems.add(values.place(CASES), message, hint)
    return False


def _some_test(values: Values, problems: Problems) -> CaseTest | None:
    test = written_test(values, problems)
    if values.nothing_written:
        keys = listed([each.key for each in FIELDS])
        problems.add(values.position, "this says nothing about cases", f"the keys are {keys}")
    return test


_TEST: Record[CaseTest] = Record("a condition on cases", FIELDS, _some_test)


def chosen_cases(values: Values, problems: Problems) -> SingleInstance | None:
    """The measure that says which cases count, of a mapping with the FIELDS among its own."""
    test = written_test(values, problems)
    if test is None:
        return None
    if size(test) <= MAX_TESTS:
        measure = measure_of(test)
        if not isinstance(measure, DerivedSingleInstance) or height(measure.formula) <= MAX_DEPTH:
            return measure
    problems.add(values.position, f"a scope has at most {MAX_TESTS} conditions on cases")
    return None
