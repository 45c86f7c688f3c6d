"""Sentences after PPINOT's linguistic patterns: how they are worded, and what they are read as."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date, timedelta
from datetime import time as clock
from fractions import Fraction
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pytest
from ppinot4py import model as foreign  # type: ignore[import-untyped]

from pappi.errors import DefinitionError
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventSequence,
    Expression,
    Moment,
    Name,
    Occurrence,
    Occurs,
    Order,
    Pick,
    Scope,
    SingleInstance,
    StateMeasure,
    Target,
    TimeMeasure,
    from_ppinot4py,
    grammar,
    parse_catalogue,
    phrase,
    read_definitions,
    sentence,
)
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import Measure, Recent
from pappi.ppinot.notations import document, template
from pappi.ppinot.notations import sentence_phrases as words
from pappi.ppinot.notations.sentence_phrases import Dialect
from pappi.ppinot.notations.sentences import PPINOT4PY, parse_measure, parse_sentence
from pappi.ppinot.notations.template import read_template, write_template
from pappi.values import UNIT_INTERVAL, Calendar, CaseBorder, Grid, parse_calendar
from tests.work import calls_in

ROOT = Path(__file__).parents[2]
MONTH, QUARTER, YEAR = (Scope(Grid(Calendar(unit))) for unit in ("month", "quarter", "year"))
EVERY_CASE = DerivedSingleInstance(parse_expression("true"), ())
OFFICE = parse_calendar("Mon-Fri 09:00-17:00")

# --- the model, shorter ---------------------------------------------------------------


def occurs(condition: str) -> Occurs:
    """An activity, or a condition if it looks like one."""
    is_name = not re.search(r"[=<>]", condition)
    expression: Expression = parse_expression(
        f"activity == '{condition}'" if is_name else condition
    )
    return Occurs(expression)


def moment(written: str) -> Moment:
    return CaseBorder(written) if written in tuple(CaseBorder) else occurs(written)


def took(
    start: str = "case start",
    end: str = "case end",
    start_pick: Pick = Pick.FIRST,
    end_pick: Pick = Pick.LAST,
    cycles: Cycles | None = None,
) -> TimeMeasure:
    return TimeMeasure(moment(start), moment(end), start_pick, end_pick, cycles)


def count(condition: str) -> CountMeasure:
    return CountMeasure(occurs(condition))


def happens(condition: str) -> ConditionMeasure:
    return ConditionMeasure(occurs(condition))


def that(formula: str, **variables: SingleInstance) -> DerivedSingleInstance:
    return DerivedSingleInstance(parse_expression(formula), tuple(variables.items()))


def over(
    function: Aggregation, base: SingleInstance, only: SingleInstance | None = None
) -> AggregatedMeasure:
    return AggregatedMeasure(function, base, only)


def mean(base: SingleInstance, only: SingleInstance | None = None) -> AggregatedMeasure:
    return over(Aggregation.MEAN, base, only)


def share(base: SingleInstance, only: SingleInstance | None = None) -> AggregatedMeasure:
    return replace(over(Aggregation.SHARE, base, only), bounds=UNIT_INTERVAL)


def cases(only: SingleInstance | None = None) -> AggregatedMeasure:
    return replace(over(Aggregation.COUNT, EVERY_CASE, only), bounds=UNIT_INTERVAL)


# --- how it is worded -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (
            mean(took("ER Registration", "Admission NC")),
            (
                'the average of the duration between the first time instant when activity "ER '
                'Registration" occurs and the last time instant when activity "Admission NC" occurs'
            ),
        ),
        (
            CountMeasure(Occurs(parse_expression("amount > 5"), Occurrence.ONSET)),
            "the number of times amount > 5 begins to hold",
        ),
        (
            CountMeasure(replace(occurs("A"), among=parse_expression("vip"))),
            'the number of times activity "A" occurs (among the events where vip)',
        ),
        (
            CountMeasure(EventSequence(occurs("A"), occurs("B"), Order.LEADS_TO_CYCLICALLY)),
            (
                'the number of times activity "A" occurs leads to activity "B" occurs (one match '
                'per activity "A" occurs)'
            ),
        ),
        (
            StateMeasure(
                parse_expression("state == 'done'"), parse_expression("activity == 'Repair'")
            ),
            'whether at the last event where activity == "Repair", state == "done"',
        ),
        (
            replace(took("A", "B"), running=parse_expression("open"), calendar=OFFICE),
            (
                'the duration in working time "Mon-Fri 09:00-17:00" while open between the first '
                'time instant when activity "A" occurs and the last time instant when activity '
                '"B" occurs'
            ),
        ),
        (
            took("A", "B", cycles=Cycles.MEAN),
            (
                'the average duration between the pairs of time instants when activity "A" '
                'occurs and when activity "B" occurs'
            ),
        ),
        (
            share(that("duration < 90 days", duration=took()), happens("A")),
            (
                "the share of cases in which the duration between the start of the case and the "
                'end of the case is less than 90 days among the cases in which activity "A" occurs'
            ),
        ),
        (
            share(that("n > 1", n=count("x > 5")), that("m < 3", m=count("B"))),
            (
                "the share of cases in which n > 1 where n is the number of times x > 5 among "
                'the cases in which m < 3 where m is the number of times activity "B" occurs'
            ),
        ),
        # A name that is a word of the sentence keeps its expression together.
        (
            CountMeasure(Occurs(parse_expression("x and the"))),
            "the number of times (x and the)",
        ),
        (
            DerivedMultiInstance(
                parse_expression("a / b"),
                (("a", over(Aggregation.SUM, that("2 * n", n=count("A")))), ("b", cases())),
            ),
            (
                "the function a / b where a is (the sum of the function 2 * n where n is the "
                'number of times activity "A" occurs), b is the number of cases'
            ),
        ),
    ],
)
def test_measures_are_worded_after_the_patterns(measure: Measure, said: str) -> None:
    assert phrase(measure) == said
    assert parse_measure(said) == measure


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (MONTH, "every month"),
        (Scope(Grid(Calendar.WEEK, 2), date(2014, 1, 1)), "every 2 weeks from 2014-01-01"),
        (
            Scope(None, date(2014, 1, 1), date(2014, 2, 1)),
            "the whole time from 2014-01-01 to 2014-01-31",
        ),
        (
            Scope(Grid(Calendar.MONTH), recent=Recent(2, Calendar.YEAR)),
            "every month of the last 2 years",
        ),
        (
            Scope(None, last_cases=100, cases=happens("A")),
            'the last 100 cases, only cases in which activity "A" occurs',
        ),
    ],
)
def test_scopes_are_worded_and_read(scope: Scope, said: str) -> None:
    (ppi,) = parse_catalogue("log: l\nppis: [{id: x, measure: {number: cases}}]").ppis
    assert sentence(replace(ppi, scope=scope)) == f"the number of cases, for {said}"
    assert parse_sentence(f"the number of cases, for {said}")[1] == scope


# --- what ppinot4py says --------------------------------------------------------------

A, B = "`concept:name` == 'ER Registration'", "`concept:name` == 'Admission NC'"
HOURS = foreign.BusinessDuration(clock(7), clock(17))
STAY = foreign.TimeMeasure(A, B)
COUNTED = foreign.DerivedMeasure("n > 0", {"n": foreign.CountMeasure(A)})
STARTS, ENDS = (
    foreign.TimeInstantCondition(state, foreign.AppliesTo.PROCESS)
    for state in (foreign.RuntimeState.START, foreign.RuntimeState.END)
)


def of_activity(state: foreign.RuntimeState, name: str) -> foreign.TimeInstantCondition:
    return foreign.TimeInstantCondition(state, foreign.AppliesTo.ACTIVITY, name)


def state(first: str, last: str, order: foreign.Type) -> foreign.TimeInstantCondition:
    return foreign.TimeInstantCondition(foreign.ComplexState(first, last, order))


FOREIGN = [
    foreign.CountMeasure(A),
    foreign.CountMeasure("ACT == 'open'"),
    foreign.CountMeasure(foreign.DataCondition("amount > 5 and x == 'a'")),
    foreign.CountMeasure(foreign.DataCondition(condition=True)),
    foreign.CountMeasure("`lifecycle:transition` == 'In Progress'"),
    # Of these two it makes an activity with a strange name.
    foreign.CountMeasure("`concept:name` == 'A' and `lifecycle:transition` == 'complete'"),
    foreign.CountMeasure('`concept:name` == "A" and `lifecycle:transition` == "complete"'),
    foreign.CountMeasure("`concept:name` in ['A', 'B']"),
    foreign.CountMeasure(of_activity(foreign.RuntimeState.END, "'Send Fine'")),
    foreign.CountMeasure(of_activity(foreign.RuntimeState.START, "'Send Fine'")),
    foreign.CountMeasure(of_activity(foreign.RuntimeState("'complete'"), "'Send Fine'")),
    foreign.CountMeasure(of_activity(foreign.RuntimeState.END, "Send Fine")),
    foreign.CountMeasure(state("ACT == 'A'", "ACT == 'B'", foreign.Type.FOLLOWS)),
    foreign.CountMeasure(state(A, B, foreign.Type.LEADSTO)),
    STAY,
    foreign.TimeMeasure(A, B, first_to=True),
    foreign.TimeMeasure(A, B, precondition="amount > 5"),
    foreign.TimeMeasure(STARTS, ENDS),
    foreign.TimeMeasure(STARTS, ENDS, precondition="amount > 5"),
    foreign.TimeMeasure("amount > 5 and b == 'x'", "amount <= 5 or not (b == 'x')"),
    foreign.TimeMeasure(A, B, business_duration=HOURS),
    *(foreign.TimeMeasure(A, B, "CYCLIC", name) for name in ("SUM", "MIN", "MAX", "AVG", "MEDIAN")),
    foreign.TimeMeasure(A, B, "CYCLIC", "AVG", business_duration=HOURS, precondition="x == 1"),
    foreign.DataMeasure("AMOUNT"),
    foreign.DataMeasure("concept:name", first=True),
    foreign.DataMeasure("time:timestamp", precondition=A),
    foreign.DataMeasure("lifecycle:transition"),
    foreign.DataMeasure("Debit amount"),
    foreign.DataMeasure("org:group", precondition="amount > 5"),
    *(
        foreign.AggregatedMeasure(STAY, name)
        for name in ("SUM", "MIN", "MAX", "AVG", "MEDIAN", "P90")
    ),
    foreign.AggregatedMeasure(STAY, "AVG", grouper=foreign.DataMeasure("diagnose", first=True)),
    foreign.AggregatedMeasure(
        STAY, "AVG", grouper=[foreign.DataMeasure("diagnose")], filter_to_apply=COUNTED
    ),
    foreign.AggregatedMeasure(
        foreign.DerivedMeasure(
            "a + b", {"a": foreign.CountMeasure(A), "b": foreign.CountMeasure(B)}
        ),
        "SUM",
        filter_to_apply=COUNTED,
    ),
    foreign.DerivedMeasure("t < limit", {"t": STAY, "limit": pd.Timedelta(days=90)}),
    foreign.DerivedMeasure("t < limit", {"t": STAY, "limit": timedelta(days=1, hours=2)}),
    foreign.DerivedMeasure("t < limit", {"limit": timedelta(hours=2), "t": STAY}),
    foreign.DerivedMeasure("n > k", {"k": 3, "n": foreign.CountMeasure(A)}),
    foreign.DerivedMeasure(
        "a / b",
        {
            "a": foreign.AggregatedMeasure(foreign.CountMeasure(A), "SUM", filter_to_apply=COUNTED),
            "b": foreign.AggregatedMeasure(foreign.CountMeasure(B), "SUM"),
        },
    ),
    # The inner list of variables ends where the outer formula needs the next one.
    foreign.DerivedMeasure(
        "a * 2 + c",
        {
            "a": foreign.DerivedMeasure("b + 1", {"b": foreign.CountMeasure(A)}),
            "c": foreign.CountMeasure(B),
        },
    ),
]
THEIRS = replace(
    PPINOT4PY,
    calendar=parse_calendar("Mon-Fri 07:00-17:00; in UTC"),
    groups={"diagnose": ("a", "b")},
)


@pytest.mark.parametrize("measure", FOREIGN, ids=str)
def test_what_ppinot4py_says_means_the_same(measure: object) -> None:
    expected = from_ppinot4py(measure, values=["a", "b"])
    assert parse_measure(str(measure), THEIRS) == expected


@pytest.mark.parametrize(
    "measure",
    [
        foreign.CountMeasure(A),
        STAY,
        foreign.TimeMeasure(A, B, first_to=True),
        foreign.TimeMeasure(A, B, "CYCLIC", "AVG"),
        foreign.CountMeasure(state(A, B, foreign.Type.LEADSTO)),
        foreign.CountMeasure(state(A, B, foreign.Type.FOLLOWS)),
        foreign.DataMeasure("amount", precondition=A),
        foreign.AggregatedMeasure(STAY, "MEDIAN", filter_to_apply=COUNTED),
        foreign.DerivedMeasure(
            "a + b", {"a": foreign.CountMeasure(A), "b": foreign.CountMeasure(B)}
        ),
    ],
    ids=str,
)
def test_the_wording_is_that_of_ppinot4py(measure: object) -> None:
    assert phrase(parse_measure(str(measure))) == str(measure)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2014-01-31 02:00:00", "2014-01-31T02:00:00Z"),
        ("2014-01-31", "2014-01-31"),
        ("0 days 00:00:01.500000", "1500 milliseconds"),
        ("-1.5", "-1.5"),
        ("True", "true"),
    ],
)
def test_fixed_values_among_the_variables_go_into_the_formula(written: str, value: str) -> None:
    found = parse_measure(f"the function y == k where k is {written}, y is the last value of x")
    assert phrase(found) == f"the function y == {value} where y is the last value of x"


def test_a_condition_that_says_itself_when_it_occurs_is_read_so() -> None:
    for reading in (Dialect(), PPINOT4PY):
        every = parse_measure("the number of times an event meets the condition vip", reading)
        onset = parse_measure("the number of times vip begins to hold", reading)
        assert every == CountMeasure(Occurs(Name("vip")))
        assert onset == CountMeasure(Occurs(Name("vip"), Occurrence.ONSET))


# --- what does not fit ----------------------------------------------------------------

REFUSED = [
    (
        ("the average of the durration between the start of the case and the end of the case"),
        (
            "1:20: error: expected 'share of cases in which', 'number of cases with a value "
            "of', 'number of cases', 'average of', 'sum of', 'maximum of' or … after 'the', "
            "found 'durration' (did you mean 'duration'?)"
        ),
    ),
    (
        ("the average of the duration betwen the start of the case and the end of the case"),
        (
            "1:29: error: expected 'in working time', 'while' or 'between' after "
            "'duration', found 'betwen' (did you mean 'between'?)"
        ),
    ),
    (
        (
            'the average of the duration between the first time instant when activity "A" '
            "ocurs and the end of the case"
        ),
        (
            "1:78: error: expected 'begins to occur' or 'occurs' after '\"A\"', found 'ocurs' "
            "(did you mean 'occurs'?)"
        ),
    ),
    (
        (
            'the sum of the number of times activity "B" occurs gruoped by the last value '
            'of channel into "web"'
        ),
        (
            "1:52: error: expected the end, '(among the events where', 'immediately "
            "follows', 'leads to', 'grouped by', 'filtered by' or … after 'occurs', found "
            "'gruoped' (did you mean 'grouped by'?)"
        ),
    ),
    (
        "the average of the duration between the start of the case",
        "1:58: error: expected 'and' after 'case', found the end",
    ),
    (
        'the average time from "A" to "B"',
        ("1:13: error: expected 'of', 'business' or 'duration' after 'average', found 'time'"),
    ),
    (
        'the share of cases with "A"',
        (
            "1:20: error: expected 'in which' after 'cases', found 'with' "
            '(say it as in: cases in which activity "A" occurs)'
        ),
    ),
    (
        "the share of cases with amount > 100",
        (
            "1:20: error: expected 'in which' after 'cases', found 'with' (say what is meant by "
            "'with': in which at some time amount > 100, or in which the last value of amount is "
            "more than 100)"
        ),
    ),
    (
        'the share of cases in which "A" occurs',
        (
            "1:33: error: expected the end, '(true if a value is missing)', '(false if a "
            "value is missing)', '(left out if a value is missing)', 'where', 'among the "
            "cases in which' or … after '\"A\"', found 'occurs' (an activity is written as in "
            'activity "A" occurs)'
        ),
    ),
    (
        "the share of cases in which amount > 100",
        (
            "1:29: error: the formula does not say what 'amount' is (say what it is: where "
            "amount is …)"
        ),
    ),
    (
        (
            "the share of cases in which the duration between the start of the case and the "
            "end of the case is less than 90"
        ),
        (
            "1:109: error: a duration is compared with a duration: '90' of what? (write the "
            "unit, as in 90 hours)"
        ),
    ),
    (
        "the number of times activity == 'A",
        (
            "1:33: error: this quoted text never ends: the closing ' is missing (a name "
            'with an apostrophe goes in double quotes: "it\'s done")'
        ),
    ),
    (
        "the function a / c where a is the number of cases, b is the number of cases",
        ("1:18: error: the formula does not say what 'c' is (say what it is: where c is …)"),
    ),
    (
        "the function a where a is the number of cases, b is the number of cases",
        "1:48: error: the formula does not use the variable 'b'",
    ),
    (
        "the average of the average of the number of times x",
        (
            "1:16: error: this must be a measure of one case, but it combines many (as in "
            "the number of times …, the duration between …, whether …)"
        ),
    ),
    (
        "the number of cases grouped by the last value of channel",
        (
            "1:57: error: expected 'when' or 'into' after 'channel', found the end (only "
            "groups that are listed are answered, as in grouped by the last value of "
            'channel into "x" and "y")'
        ),
    ),
    (
        "the business duration between the start of the case and the end of the case",
        (
            "1:1: error: a business duration does not say which hours are working hours "
            '(write the duration in working time "Mon-Fri 09:00-17:00" between …)'
        ),
    ),
    (
        "the 100th percentile of the number of times x",
        "1:5: error: percentiles go from the 1st to the 99th, but this is '100th'",
    ),
    (
        (
            "the sum of the duration between the start of the case and the end of the case, "
            "each case counting at least 0 and at most 5"
        ),
        (
            "1:1: error: a case contributes a duration, but these bounds have no unit of "
            "time (as in at most 30 days)"
        ),
    ),
    (
        ("the sum duration between the pairs of time instants when the case starts and when x"),
        (
            "1:1: error: a case starts and ends only once, so it has no cycles of pairs (name an "
            "activity, or measure without cycles)"
        ),
    ),
    (
        "the number of times amount >",
        "1:29: error: expected a value, found the end",
    ),
    (
        "",
        (
            "1:1: error: expected a measure, 'the share of cases in which', 'the number of "
            "cases with a value of', 'the number of cases', 'the average of', 'the sum of' "
            "or …, found the end (as in the duration between …, the number of times …, the "
            "last value of …, whether …, the average of …, the share of cases in which …)"
        ),
    ),
]


@pytest.mark.parametrize(("said", "problem"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refusal_says_which_words_do_not_fit_and_what_would(said: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_measure(said)
    (found,) = refused.value.problems
    assert str(found).removeprefix("<sentence>:") == problem


def test_a_calendar_that_is_none_is_refused() -> None:
    with pytest.raises(DefinitionError, match="1:30: error: this is not a working calendar: "):
        parse_measure('the duration in working time "Mo-Fri 25:00" between the start of the case')


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (
            'the number of times activity "A" occurs',
            "1:1: error: this measures one case; a PPI combines many",
        ),
        (
            "the number of cases, for the last 0 months",
            "periods are counted from 1 to 366, not '0'",
        ),
        (
            "the number of cases, for the whole time from 2015-01-01 until 2014-01-01",
            "the scope ends before it begins",
        ),
        ("the number of cases, for every day from 2014-02-30", "'2014-02-30' is not a valid date"),
        ("the number of cases, for every 5 cases", "periods are counted in units such as 'month'"),
    ],
)
def test_scopes_are_refused_with_reasons(said: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(problem)):
        parse_sentence(said)


def test_problems_point_into_the_line_they_are_in() -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_measure("the average of\n  the duration between the start of the case\n  and B")
    (problem,) = refused.value.problems
    assert (problem.position.line, problem.position.column) == (3, 7)


@pytest.mark.parametrize(
    "piece",
    [
        "the average of ",
        "the function ",
        "(",
        "whether ",
        "the number of times ((",
        "'",
        "“",
        '"A" ',
    ],
)
def test_a_text_is_refused_at_once_however_long_it_is(piece: str) -> None:
    def refuse(size: int) -> None:
        with pytest.raises(DefinitionError):
            parse_measure((piece * size)[:size])

    refuse(100)  # what is remembered is remembered from now on
    assert calls_in(lambda: refuse(100_000)) == calls_in(lambda: refuse(25_000))
    started = time.process_time()
    refuse(100_000)
    # Hundreds of times what it takes: only an expression that backtracks gets there.
    assert time.process_time() - started < 2


def test_a_megabyte_is_the_most() -> None:
    with pytest.raises(DefinitionError, match="more than 1,000,000 characters"):
        parse_measure("x" * 1_000_001)
    with pytest.raises(DefinitionError, match="more than 1,000,000 characters"):
        read_template("x" * 1_000_001)


# --- templates ------------------------------------------------------------------------

TEMPLATE = """\
Log: fines

PPI: paid-in-time
Name: Fines paid in time
Process: Traffic fines
Goals:
  - Fewer reminders
  - Less credit collection
Definition: The PPI is defined as the share of cases in which the duration between the first
  time instant when activity "Create Fine" occurs and the last time instant when activity
  "Payment" occurs is less than 90 days grouped by the last value of article into "157" and "7"
Target: The PPI value must be at least 80 percent
Tolerated: The PPI value may be at least 70 percent
Target in "7": The PPI value must be between 60 and 90
Scope: The process instances considered for this PPI are those of every quarter
Responsible: Head of the fines office
Informed: Mayor
Comments: Paid is paid,
  however much.
Epsilon: 0.2
Release: {answer: verdict, mechanism: threshold, noise: value, falloff: 2.5, buckets: 20}

PPI: stay
Definition: the average of the duration between the start of the case and the end of the case,
  each case counting at least 0 days and at most 60 days
Unit: days
Range: [0, 30 days]
"""

SAME = """
log: fines
ppis:
  - id: paid-in-time
    name: Fines paid in time
    process: Traffic fines
    goals: [Fewer reminders, Less credit collection]
    measure:
      share:
        derive: duration < 90 days
        duration: {time: {from: {activity: Create Fine}, to: {activity: Payment}}}
      by: {data: article, values: ["157", "7"]}
    target:
      groups: {"7": between 60 and 90 %}
      otherwise: {green: at least 80 %, amber: at least 70 %}
    scope: every quarter
    responsible: Head of the fines office
    informed: Mayor
    comments: "Paid is paid,\\nhowever much."
    epsilon: 0.2
    release: {answer: verdict, mechanism: threshold, noise: value, falloff: 2.5, buckets: 20}
  - id: stay
    measure: {mean: {time: {from: case start, to: case end}}}
    bounds: {value: [0 days, 30 days]}
    unit: days
"""


def test_a_template_says_what_a_catalogue_says() -> None:
    bounds = "measure: {mean: {time: {from: case start, to: case end}}, bounds: [0 days, 60 days]}"
    expected = parse_catalogue(
        SAME.replace("measure: {mean: {time: {from: case start, to: case end}}}", bounds)
    )
    assert read_template(TEMPLATE) == expected
    assert read_template(write_template(expected)) == expected


@pytest.mark.parametrize("name", ["claims", "sepsis"])
def test_the_examples_are_the_same_as_templates(name: str) -> None:
    catalogue = read_definitions(ROOT / "examples" / f"{name}.yaml")
    text = write_template(catalogue)
    assert read_template(text, "again.txt") == catalogue
    assert max(map(len, text.splitlines())) <= 100


BROKEN = """\
Log: fines
Responsible: nobody
PPI: 1st
Defnition: the number of cases
PPI: second
Definition: the number of times activity "A" occurs
Definition: the number of cases
PPI: third
Definition: the average of the duration between the start of the case and the end of the case
Unit: parsecs
PPI: fourth
Definition: the share of cases in which activity "A" occurs
Target: below 7 days
Target in "x": below 3
Tolerated: at most 5
Epsilon: 0
Release: {mechanism: 7}
Log: again
PPI: fifth
Definition: the number of cases
Target: at least 5
Tolerated: at least 6
Range: [5, 1]
PPI: fifth
Definition: the number of cases
"""


SHARE = 'Log: l\nPPI: a\nDefinition: the share of cases in which activity "A" occurs\n'


@pytest.mark.parametrize("line", ["Target: above 0.9", 'Target in "x": above 0.9'])
def test_a_share_that_may_be_a_part_of_one_or_percent_is_asked_about(line: str) -> None:
    with pytest.raises(DefinitionError, match=r"a share of 0.9 may mean 90 % or 0.9 %"):
        read_template(SHARE + line)


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        ("Target: above 0.9 percent", Fraction(9, 1000)),
        ("Target: above 0.9 %", Fraction(9, 1000)),
        ("Target: above 90", Fraction(9, 10)),
        ("Unit: percent\nTarget: above 0.9", Fraction(9, 1000)),
        ("Unit: fraction\nTarget: above 0.9", Fraction(9, 10)),
    ],
)
def test_a_share_whose_meaning_is_clear_is_not(lines: str, limit: Fraction) -> None:
    (ppi,) = read_template(SHARE + lines).ppis
    assert ppi.target == Target(limit, None, low_included=False)


def test_all_problems_of_a_template_are_found_at_once() -> None:
    with pytest.raises(DefinitionError) as refused:
        read_template(BROKEN, "t.txt")
    assert [str(problem) for problem in refused.value.problems] == [
        "t.txt:2:1: error: 'Responsible' must come after the 'PPI' it is about",
        "t.txt:3:1: error: a PPI needs the key 'Definition'",
        (
            "t.txt:3:6: error: expected an id of letters, digits, - and _, starting with a "
            "letter, found '1st' (put the display name into Name: …)"
        ),
        (
            "t.txt:4:1: error: no line of a template begins with 'Defnition' (did you mean "
            "'Definition'?)"
        ),
        (
            "t.txt:6:13: error: this measures one case; a PPI combines many (say how: the "
            "average of …, the share of cases in which …)"
        ),
        "t.txt:7:1: error: the line 'Definition' appears twice; first in line 6",
        (
            "t.txt:10:7: error: 'parsecs' is not a unit of time (the units are "
            "'microseconds', 'milliseconds', 'seconds', 'minutes', 'hours', 'days' and "
            "'weeks')"
        ),
        "t.txt:13:9: error: 'days' does not fit: the value is shown in 'percent'",
        "t.txt:14:16: error: this PPI has no group 'x' (group the measure by data)",
        "t.txt:16:10: error: epsilon must be above 0 (with ε = 0 nothing can be answered)",
        "t.txt:17:22: error: expected a mechanism, found '7' (write e.g. two-bin)",
        "t.txt:18:1: error: 'Log' must come once, before all PPIs",
        (
            "t.txt:22:12: error: the tolerated range must include all of the target (make "
            "amber wider than green)"
        ),
        "t.txt:23:8: error: the lower bound must be below the upper one",
    ]


@pytest.mark.parametrize(
    ("head", "line"),
    [("", "x\n"), ("Log: x\n", "PPI: a\n"), ("Log: x\nPPI: a\n", "Goals:\n")],
)
def test_a_template_full_of_problems_is_refused_with_work_in_proportion_to_it(
    head: str, line: str
) -> None:
    def refuse(lines: int) -> None:
        with pytest.raises(DefinitionError) as refused:
            read_template(head + line * lines)
        assert 1 <= len(refused.value.problems) <= document.MAX_PROBLEMS + 1

    refuse(10)  # what is remembered is remembered from now on
    assert calls_in(lambda: refuse(24_000)) < 5 * calls_in(lambda: refuse(6_000))


def test_a_template_without_a_log_says_so() -> None:
    with pytest.raises(DefinitionError, match="a template needs the key 'Log'"):
        read_template("PPI: a\nDefinition: the number of cases\n")


def test_control_characters_do_not_get_through() -> None:
    with pytest.raises(DefinitionError, match="control character"):
        read_template("Log: x\nPPI: a\nName: \x1b[2J\nDefinition: the number of cases\n")


# --- the guide ------------------------------------------------------------------------

GUIDE = (ROOT / "docs" / "sentences.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w.*)\n((?:.*\n)*?)```$", GUIDE, flags=re.MULTILINE)


def lines(kind: str) -> list[str]:
    found = [line for info, text in BLOCKS if info == kind for line in text.splitlines() if line]
    assert found, f"the guide has no block of the kind {kind!r}"
    return found


def pairs(kind: str) -> list[tuple[str, str]]:
    """A line, and what the guide says of it in the next one."""
    found = lines(kind)
    return list(zip(found[::2], found[1::2], strict=True))


def test_no_block_of_the_guide_goes_unchecked() -> None:
    kinds = {"text template", "text measures", "text sentences", "text refused"}
    assert {info for info, _ in BLOCKS} == kinds | {"python"}


@pytest.mark.parametrize("text", [text for info, text in BLOCKS if info == "text template"])
def test_templates_of_the_guide_are_read(text: str) -> None:
    catalogue = read_template(text)
    assert read_template(write_template(catalogue)) == catalogue


@pytest.mark.parametrize("said", lines("text measures"))
def test_measures_of_the_guide_are_worded_as_they_are_written(said: str) -> None:
    assert phrase(parse_measure(said)) == said


@pytest.mark.parametrize("said", lines("text sentences"))
def test_sentences_of_the_guide_are_worded_as_they_are_written(said: str) -> None:
    measure, scope, _ = parse_sentence(said)
    (ppi,) = parse_catalogue("log: l\nppis: [{id: x, measure: {number: cases}}]").ppis
    words = sentence(replace(ppi, measure=measure, scope=scope)) if scope else phrase(measure)
    assert words == said


def test_capitals_and_a_full_stop_do_not_count() -> None:
    said = "the average of the duration between the start of the case and the end of the case"
    assert parse_measure(f"{said.upper()}.") == parse_measure(said)


@pytest.mark.parametrize(("said", "problem"), pairs("text refused"))
def test_refusals_of_the_guide_are_worded_so(said: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_measure(said)
    assert str(refused.value).removeprefix("<sentence>:1:") == problem.removeprefix("! ")


@pytest.mark.outside
@pytest.mark.parametrize("code", [text for info, text in BLOCKS if info == "python"])
def test_python_in_the_guide_runs(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "limit",
    [
        f"| a text | {words.MAX_SIZE:,} characters |",
        f"| measures inside each other | {words.MAX_DEPTH} |",
        f"| an expression | {grammar.MAX_LENGTH:,} characters |",
        f"| PPIs of a template | {template.MAX_PPIS:,} |",
        f"| problems reported | {document.MAX_PROBLEMS} |",
    ],
)
def test_limits_are_as_the_guide_states(limit: str) -> None:
    assert limit in GUIDE


@pytest.mark.parametrize("key", [key.value for key in template.Key])
def test_every_key_of_a_template_is_explained(key: str) -> None:
    assert f"`{key}`" in GUIDE


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", GUIDE))
def test_links_of_the_guide_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    page = (ROOT / "docs" / path).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    assert not anchor or anchor in [heading.lower().replace(" ", "-") for heading in headings]
