"""PPINOT JSON, as the Java reference writes it: what each word means, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from pappi.errors import DefinitionError, UsageError
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventSequence,
    Moment,
    Name,
    Not,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    Ppi,
    Scope,
    SingleInstance,
    StateMeasure,
    Target,
    TimeMeasure,
    check_catalogue,
    ignored_by_java,
)
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import Anchor, GroupTarget, Recent
from pappi.ppinot.notations.java import read_java, write_java
from pappi.values import (
    DURATIONS,
    NUMBER,
    PERCENT,
    UNIT_INTERVAL,
    Calendar,
    CaseBorder,
    Grid,
    Unit,
    WorkingCalendar,
    parse_calendar,
)

Json = dict[str, Any]

DONE = 'activity == "{}" and lifecycle:transition in ("complete", "COMPLETE", "Complete")'
STARTS = [
    way for word in ("ready", "assign", "start") for way in (word, word.upper(), word.title())
]

# The test of the reference implementation for its own JSON.
REFERENCE = """{ "name": "Test", "description": "Measures for test SLA",
  "definitions": [{
    "kind": "TimeMeasure", "id": "issue_trlp_duration", "unitOfMeasure": "hours",
    "from": {"kind": "TimeInstantCondition", "appliesTo": "Data",
             "changesToState": {"dataObjectState": {"name": "ACTION == 'SDK_HIST_ASSIGNED'"}}},
    "to":   {"kind": "TimeInstantCondition", "appliesTo": "Data",
             "changesToState": {"dataObjectState": {
                 "name": "ACTION == 'SDK_HIST_TRANS_PHASE' && VALUE == 'Cierre temporal'"}}},
    "timeMeasureType": "LINEAR", "considerOnly": SCHEDULE,
    "computeUnfinished": false, "firstTo": false }] }"""


def state(name: str, word: str = "END", **fields: object) -> Json:
    """A time instant of an activity."""
    changes = {"genericState": word}
    return {"kind": "TimeInstantCondition", "appliesTo": name, "changesToState": changes, **fields}


def data(expression: str, **fields: object) -> Json:
    """A time instant at which data enters a state."""
    changes = {"dataObjectState": {"name": expression}}
    return {
        "kind": "TimeInstantCondition", "appliesTo": "Data", "changesToState": changes, **fields
    }  # fmt: skip


def complex_state(first: Json, last: Json, order: str) -> Json:
    changes = {"complexState": {"first": first, "last": last, "type": order}}
    return {"kind": "TimeInstantCondition", "appliesTo": "Data", "changesToState": changes}


def count(when: Json) -> Json:
    return {"kind": "CountMeasure", "when": when}


def time(**fields: object) -> Json:
    usual = {"from": state("A"), "to": state("B"), "unitOfMeasure": "days"}
    return {"kind": "TimeMeasure", **usual, **fields}


def aggregated(base: Json, function: str = "Average", **fields: object) -> Json:
    return {
        "kind": "AggregatedMeasure", "baseMeasure": base, "aggregationFunction": function, **fields
    }  # fmt: skip


def derived(function: str, **variables: Json) -> Json:
    kind = "DerivedSingleInstanceMeasure"
    return {"kind": kind, "function": function, "usedMeasureMap": variables}


def ppi(measure: Json, **fields: object) -> Json:
    return {"id": "one", "measuredBy": measure, **fields}


def document(*ppis: Json, **fields: object) -> str:
    return json.dumps({"log": "claims", "ppis": ppis, **fields}, indent=1)


def read(measure: Json, **fields: object) -> Ppi:
    (found,) = read_java(document(ppi(measure, **fields))).catalogue.ppis
    return found


def read_base(base: Json, *, lifecycle: bool = True) -> SingleInstance:
    (found,) = read_java(document(ppi(aggregated(base))), lifecycle=lifecycle).catalogue.ppis
    assert isinstance(found.measure, AggregatedMeasure)
    return found.measure.base


def read_time(**fields: object) -> TimeMeasure:
    measure = read_base(time(**fields))
    assert isinstance(measure, TimeMeasure)
    return measure


def read_condition(condition: Json, *, lifecycle: bool = True) -> Moment:
    measure = read_base(count(condition), lifecycle=lifecycle)
    assert isinstance(measure, CountMeasure)
    return measure.when


def problems(text: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        read_java(text, "ppis.json")
    return [str(problem) for problem in caught.value.problems]


def every(expression: str) -> Occurs:
    return Occurs(parse_expression(expression))


def onset(expression: str) -> Occurs:
    return Occurs(parse_expression(expression), Occurrence.ONSET)


# --- documents ------------------------------------------------------------------------


def test_the_reference_example_is_read_and_says_that_it_measures_one_case() -> None:
    found = problems(REFERENCE.replace("SCHEDULE", '"L-VT09:00-18:00"'))
    message = "ppis.json:1:1: error: this does not say which log it is about"
    assert found == [f'{message} (give its name, or write "log": "…" into the file)']
    with pytest.raises(DefinitionError, match="'issue_trlp_duration' measures one case only"):
        read_java(REFERENCE.replace("SCHEDULE", '"L-VT09:00-18:00"'), log="sla")


def test_a_parameter_is_refused_where_it_stands() -> None:
    (found,) = problems(REFERENCE.replace("SCHEDULE", '"${schedule}"'))
    assert found.startswith("ppis.json:9:51: error: the parameter '${schedule}' has no value")
    assert len(problems(REFERENCE.replace("SCHEDULE", "${a}, ${b}"))) == 2


def test_definitions_become_ppis_over_the_whole_log() -> None:
    text = json.dumps({
        "definitions": [
            {**aggregated(count(state("A")), "Sum"), "id": "all-a", "description": "All of A"},
            {**count(state("B")), "id": "b"},
        ]
    })  # fmt: skip
    reading = read_java(text, "x.json", "claims")
    (found,) = reading.catalogue.ppis
    assert (found.id, found.name, found.comments) == ("all-a", "all-a", "All of A")
    assert found.scope == Scope(None)
    (remark,) = reading.remarks
    assert remark.level == "warning"
    assert "'b' measures one case only, so it is not a PPI and is left out" in remark.message


def test_a_set_of_ppis_knows_its_process_and_needs_no_measures_twice() -> None:
    borders = time(**{"from": state("Claims", "START"), "to": state("Claims", "END")})
    text = document(
        ppi(aggregated(borders)), processId="Claims", measures=[{**count(state("A")), "id": "m"}]
    )
    (found,) = read_java(text).catalogue.ppis
    assert found.process == "Claims"
    assert isinstance(found.measure, AggregatedMeasure)
    assert found.measure.base == TimeMeasure(CaseBorder.START, CaseBorder.END)


@pytest.mark.parametrize("wrap", ["one", "measure", "ppis", "measures"])
def test_a_ppi_a_measure_or_a_list_is_a_document_too(wrap: str) -> None:
    measure = {**aggregated(count(state("A"))), "id": "one"}
    forms: dict[str, Json | list[Json]] = {
        "one": ppi(measure), "measure": measure, "ppis": [ppi(measure)], "measures": [measure]
    }  # fmt: skip
    (found,) = read_java(json.dumps(forms[wrap]), log="claims").catalogue.ppis
    assert found.id == "one"


def test_a_one_case_ppi_is_left_out_beside_others_and_refused_alone() -> None:
    single = {"id": "single", "name": "One case", "measuredBy": count(state("A"))}
    both = document(single, ppi(aggregated(count(state("A")))))
    reading = read_java(both, "x.json", None)
    assert [each.id for each in reading.catalogue.ppis] == ["one"]
    assert "'One case' measures one case only" in reading.remarks[0].message
    assert "AggregatedMeasure" in problems(document(single))[0]


def test_ids_that_cannot_be_one_here_are_changed_with_a_remark() -> None:
    measure = aggregated(count(state("A")))
    reading = read_java(
        document(ppi(measure, id="_mean time!"), {"measuredBy": measure, "name": "Süß"}), "x", None
    )
    assert [each.id for each in reading.catalogue.ppis] == ["ppi-_mean-time", "S"]
    assert [remark.message for remark in reading.remarks] == [
        "the id '_mean time!' becomes 'ppi-_mean-time'"
    ]


def test_two_ppis_with_one_id_are_refused() -> None:
    measure = aggregated(count(state("A")))
    (found,) = problems(document(ppi(measure), ppi(measure)))
    assert "the id 'one' is already used by the PPI in line 5" in found


def test_unknown_fields_are_ignored_as_java_does() -> None:
    plain = read(aggregated(count(state("A"))))
    base = count(state("A", colour="red"))
    assert read(aggregated(base, samplingFrequency="1d", aggregates=True), owner="x") == plain


def test_null_is_nothing() -> None:
    assert read(aggregated(count(state("A")), filter=None), target=None, goals=None) == read(
        aggregated(count(state("A")))
    )


def test_texts_may_be_escaped_as_json_does() -> None:
    text = document(ppi(aggregated(count(state("A"))), name="\U0001f600 é \\ / $"))
    assert "\\ud83d\\ude00" in text
    assert read_java(text.replace("/", "\\/")).catalogue.ppis[0].name == "\U0001f600 é \\ / $"


# --- conditions -----------------------------------------------------------------------


def test_an_activity_occurs_at_every_event_that_enters_the_state() -> None:
    assert read_condition(state("A")) == every(DONE.format("A"))
    listed = ", ".join(f'"{way}"' for way in STARTS)
    assert read_condition(state("A", "START")) == every(
        f'activity == "A" and lifecycle:transition in ({listed})'
    )


@pytest.mark.parametrize(
    ("word", "same_as"), [("COMPLETED", "END"), ("ACTIVE", "EXECUTING"), ("active", "ACTIVE")]
)
def test_bpmn_states_are_transitions_too(word: str, same_as: str) -> None:
    def bpmn(state_word: str) -> Json:
        key = "genericState" if state_word == "END" else "bpmnState"
        return {"appliesTo": "A", "changesToState": {key: state_word}}

    assert read_condition(bpmn(word)) == read_condition(bpmn(same_as))


@pytest.mark.parametrize("word", ["WITHDRAWN", "FAILED", "READY", "TERMINATED", "DONE"])
def test_states_that_java_confuses_or_never_reaches_are_refused(word: str) -> None:
    condition = {"appliesTo": "A", "changesToState": {"bpmnState": word}}
    (found,) = problems(document(ppi(aggregated(count(condition)))))
    assert f"state '{word}'" in found


def test_without_a_life_cycle_every_event_is_an_end() -> None:
    assert read_condition(state("A"), lifecycle=False) == every('activity == "A"')
    text = document(ppi(aggregated(count(state("A", "START")))))
    with pytest.raises(DefinitionError, match="without a life cycle has no event"):
        read_java(text, lifecycle=False)


def test_a_state_of_data_is_entered_where_it_becomes_true() -> None:
    assert read_condition(data("amount > 100 && !urgent")) == onset("amount > 100 and not urgent")
    assert read_condition(data("amount > 100", occurrence="every")) == every("amount > 100")


def test_a_precondition_of_an_activity_must_hold_at_the_same_event() -> None:
    pre = {"kind": "DataPropertyCondition", "appliesTo": "Data", "restriction": "amount > 5"}
    wanted = every(f"({DONE.format('A')}) and amount > 5")
    assert read_condition(state("A", precondition=pre)) == wanted
    (found,) = problems(document(ppi(aggregated(count(data("x > 1", precondition=pre))))))
    assert "a precondition cannot be combined with a state that data enters" in found


@pytest.mark.parametrize(
    ("word", "order"),
    [
        ("FOLLOWS", Order.FOLLOWS),
        ("LEADSTO", Order.LEADS_TO),
        ("LEADSTOCYCLIC", Order.LEADS_TO_CYCLICALLY),
    ],
)
def test_a_complex_state_is_a_sequence(word: str, order: Order) -> None:
    condition = complex_state(state("A"), data("x > 1"), word)
    wanted = EventSequence(every(DONE.format("A")), onset("x > 1"), order)
    assert read_condition(condition) == wanted


def test_complex_states_do_not_nest() -> None:
    inner = complex_state(state("A"), state("B"), "FOLLOWS")
    nested_state = complex_state(inner, state("C"), "FOLLOWS")
    (found,) = problems(document(ppi(aggregated(count(nested_state)))))
    assert "a complex state cannot be part of another one" in found


def test_kinds_may_be_written_beside_or_around_a_condition() -> None:
    around = {"TimeInstantCondition": {k: v for k, v in state("A").items() if k != "kind"}}
    assert read_condition(around) == read_condition(state("A"))
    selection = {"selection": "amount"}
    beside = {"kind": "DataPropertyCondition", "restriction": "amount > 1"}
    wrapped = {"DataPropertyCondition": {"restriction": "amount > 1"}}
    for written in (beside, wrapped):
        measure = {"kind": "DataMeasure", "dataContentSelection": selection}
        found = read_base({**measure, "precondition": written, "first": True})
        assert found == DataMeasure("amount", Pick.FIRST, every("amount > 1"))


def test_the_start_of_a_case_cannot_be_counted() -> None:
    (found,) = problems(document(ppi(aggregated(count(state("P", element="process"))))))
    assert "the start or end of a case is not an event" in found


def test_problems_in_an_expression_point_at_the_character() -> None:
    text = document(ppi(aggregated(count(data("amount >> 5")))))
    line = next(n for n, each in enumerate(text.splitlines(), 1) if ">>" in each)
    column = text.splitlines()[line - 1].index(">>") + 2
    (found,) = problems(text)
    assert found.startswith(f"ppis.json:{line}:{column}: error:")


@pytest.mark.parametrize(
    "expression",
    ["x.size() > 3", "new java.io.File('/')", "System.exit(0)", "x = 3", "for (;;) {}", "@x"],
)
def test_mvel_beyond_the_grammar_is_a_problem(expression: str) -> None:
    assert problems(document(ppi(aggregated(count(data(expression))))))


# --- measures of one case -------------------------------------------------------------


def test_a_time_is_linear_from_the_first_start_to_the_last_end() -> None:
    start, end = every(DONE.format("A")), every(DONE.format("B"))
    assert read_time() == TimeMeasure(start, end)
    assert read_time(firstTo=True) == TimeMeasure(start, end, end_pick=Pick.FIRST)


def test_an_open_cycle_leaves_java_without_a_value() -> None:
    start, end = every(DONE.format("A")), every(DONE.format("B"))
    wanted = TimeMeasure(start, end, cycles=Cycles.SUM, open_cycle=OpenCycle.NO_VALUE)
    assert read_time(timeMeasureType="CYCLIC") == wanted
    found = read_time(timeMeasureType="CYCLIC", singleInstanceAggFunction="Maximum")
    assert found.cycles is Cycles.MAX
    found = read_time(timeMeasureType="CYCLIC", openCycle="left out")
    assert found.open_cycle is OpenCycle.LEFT_OUT


def test_a_precondition_stops_the_clock() -> None:
    restriction = {"kind": "DataPropertyCondition", "restriction": "status == 'open'"}
    assert read_time(precondition=restriction).running == parse_expression("status == 'open'")
    cyclic = time(timeMeasureType="CYCLIC", precondition=restriction)
    assert "stops the clock of a linear" in problems(document(ppi(aggregated(cyclic))))[0]
    first = time(firstTo=True, precondition=restriction)
    assert "ignores 'firstTo'" in problems(document(ppi(aggregated(first))))[0]


def test_a_state_is_that_of_the_last_event_of_the_activity() -> None:
    condition = {"kind": "StateCondition", "appliesTo": "A", "state": {"genericState": "END"}}
    done = parse_expression('lifecycle:transition in ("complete", "COMPLETE", "Complete")')
    measure = {"kind": "StateConditionMeasure", "condition": condition}
    assert read_base(measure) == StateMeasure(done, parse_expression('activity == "A"'))


def test_a_data_property_is_that_of_some_event() -> None:
    condition = {"kind": "DataPropertyCondition", "restriction": "amount > 5"}
    measure = {"kind": "DataPropertyConditionMeasure", "condition": condition}
    assert read_base(measure) == ConditionMeasure(every("amount > 5"))
    stateful = {**condition, "statesConsidered": [{"dataObjectState": {"name": "paid"}}]}
    measure = {"kind": "DataPropertyConditionMeasure", "condition": stateful}
    assert "the state of a data object" in problems(document(ppi(aggregated(measure))))[0]


# --- calendars ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "calendar"),
    [
        ("L-VT09:00-18:00", "Mon-Fri 09:00-18:00; in Europe/Madrid"),
        ("M-XT08:30-00:00", "Tue-Wed 08:30-24:00; in Europe/Madrid"),
        ("L-DT00:00-00:00", "always; in Europe/Madrid"),
        ({"basic": "S-DT10:00-14:00"}, "Sat-Sun 10:00-14:00; in Europe/Madrid"),
        ("Mon-Fri 9:00-17:00", "Mon-Fri 09:00-17:00"),
    ],
)
def test_schedules_are_working_calendars(schedule: object, calendar: str) -> None:
    assert read_time(considerOnly=schedule).calendar == parse_calendar(calendar)


def test_holidays_have_to_be_listed() -> None:
    marked = {"considerOnly": "L-VT09:00-18:00/H"}
    found = read_time(**marked, holidays=["2014-12-25", "2014-01-01"]).calendar
    assert isinstance(found, WorkingCalendar)
    assert found.holidays == (date(2014, 1, 1), date(2014, 12, 25))
    (problem,) = problems(document(ppi(aggregated(time(**marked)))))
    assert "the holidays that an installation of Java PPINOT was given" in problem


@pytest.mark.parametrize(
    "schedule",
    [
        "V-LT09:00-18:00", "L-VT18:00-09:00", "L-VT09:60-18:00", "L-VT25:00-26:00", "soon", 5, [],
        {}, {"basic": {}}, [{"from": "1/1", "to": "6/14", "schedule": "L-VT09:00-18:00"}],
        {"combined": [{"from": "1/1", "to": "12/31", "schedule": "L-VT09:00-18:00"}]}, [5], ["1/1"],
    ],
)  # fmt: skip
def test_schedules_that_are_none_are_refused(schedule: object) -> None:
    assert problems(document(ppi(aggregated(time(considerOnly=schedule)))))


# --- many cases, formulas and units ---------------------------------------------------


@pytest.mark.parametrize(
    ("word", "function"),
    [
        *[("Sum", Aggregation.SUM), ("Average", Aggregation.MEAN)],
        *[("Minimum", Aggregation.MIN), ("Maximum", Aggregation.MAX)],
        *[("Median", Aggregation.MEDIAN), ("Count", Aggregation.COUNT)],
    ],
)
def test_aggregations_have_their_java_names(word: str, function: Aggregation) -> None:
    measure = read(aggregated(time(), word)).measure
    assert isinstance(measure, AggregatedMeasure)
    assert measure.function is function


def test_an_unknown_aggregation_is_not_computed_as_nothing() -> None:
    (found,) = problems(document(ppi(aggregated(time(), "Averge"))))
    assert "expected an aggregation, found 'Averge' (did you mean 'Average'?)" in found


def test_a_formula_over_java_durations_is_over_numbers_of_their_unit() -> None:
    fast = derived("t < 28 ? 1.0 : 0.0", t=time())
    found = read_base(fast)
    assert isinstance(found, DerivedSingleInstance)
    assert found.formula == parse_expression("t / 1 day < 28 ? 1 : 0")
    millis = time()
    del millis["unitOfMeasure"]
    found = read_base(derived("t", t=millis))
    assert isinstance(found, DerivedSingleInstance)
    assert found.formula == parse_expression("t / 1 millisecond")


def test_a_formula_over_aggregates_is_over_numbers_too() -> None:
    measure = {
        "kind": "DerivedMultiInstanceMeasure", "function": "a < b ? (a/b)*100.0 : 100.0",
        "usedMeasureMap": {"a": aggregated(time()), "b": aggregated(count(state("A")), "Sum")},
    }  # fmt: skip
    found = read(measure).measure
    assert isinstance(found, DerivedMultiInstance)
    wanted = parse_expression("a / 1 day < b ? a / 1 day / b * 100 : 100")
    assert found.formula == wanted
    assert read({**measure, "kind": "DerivedMeasure"}).measure == found


def test_a_typed_formula_is_left_alone() -> None:
    found = read_base({**derived("t < 28 days", t=time()), "typed": True})
    assert isinstance(found, DerivedSingleInstance)
    assert found.formula == parse_expression("t < 28 days")


def test_the_value_and_its_target_are_in_the_unit_of_the_time() -> None:
    found = read(aggregated(time(unitOfMeasure="hours")), target={"refMin": 0.5, "refMax": 2})
    assert found.unit == Unit("hours", Fraction(DURATIONS["hours"]))
    assert found.target == Target(Fraction(1_800_000_000), Fraction(7_200_000_000))


def test_labels_of_other_measures_are_shown() -> None:
    measure = aggregated(count(state("A")), "Sum", unitOfMeasure="claims")
    assert read(measure).unit == Unit("claims", Fraction(1))
    assert read(aggregated(count(state("A")))).unit == NUMBER
    condition = {"kind": "DataPropertyCondition", "restriction": "amount > 5"}
    base = {"kind": "DataPropertyConditionMeasure", "condition": condition}
    share = read(aggregated(base, "Share"))
    assert share.unit == PERCENT
    assert isinstance(share.measure, AggregatedMeasure)
    assert share.measure.bounds == UNIT_INTERVAL


def test_groups_have_to_be_declared() -> None:
    by = {"kind": "DataMeasure", "dataContentSelection": {"selection": "channel"}}
    measure = read(aggregated(time(), groupedBy=[by], values=["web", "phone"])).measure
    assert isinstance(measure, AggregatedMeasure)
    assert measure.grouping is not None
    assert measure.grouping.keys == ("web", "phone")
    as_once = aggregated(time(), groupedBy=[by], keys=["web", "phone"])
    assert read(as_once).measure == measure
    (found,) = problems(document(ppi(aggregated(time(), groupedBy=[by]))))
    assert "they must not depend on the data" in found
    (found,) = problems(document(ppi(aggregated(time(), groupedBy=[by, by], values=["a"]))))
    assert "one attribute only" in found


def test_undefined_variables_are_found_where_they_stand() -> None:
    (found,) = problems(document(ppi(aggregated(derived("a + tota", total=time(), a=time())))))
    assert "unknown variable 'tota' (did you mean 'total'?)" in found


# --- scopes and targets ---------------------------------------------------------------


def scope(**fields: object) -> Scope:
    return read(aggregated(time()), scope=fields).scope


def test_scopes_are_read() -> None:
    filtered = {"kind": "SimpleTimeFilter", "period": "MONTHLY", "frequency": 1, "relative": False}
    assert scope(**filtered) == Scope(Grid(Calendar.MONTH))
    assert scope(**{**filtered, "frequency": 3}) == Scope(Grid(Calendar.MONTH, 3))
    recent = scope(**{**filtered, "relative": True, "frequency": 2})
    assert recent == Scope(None, recent=Recent(2, Calendar.MONTH))
    bounded = {"from": "2014-01-01", "until": "2014-07-01T00:00:00.000Z"}
    assert scope(**filtered, **bounded) == Scope(
        Grid(Calendar.MONTH), date(2014, 1, 1), date(2014, 7, 1)
    )
    last = scope(kind="LastInstancesFilter", numberOfInstances=100)
    assert last == Scope(None, last_cases=100)


def test_a_reference_point_is_the_anchor_of_a_case() -> None:
    selection = {"dataContentSelection": {"selection": "timestamp"}, "kind": "DataMeasure"}
    point = {**selection, "precondition": {"TimeInstantCondition": state("A")}, "first": True}
    anchor = Anchor(every(DONE.format("A")), Pick.FIRST)
    time_filter = {"kind": "SimpleTimeFilter", "period": "DAILY", "absoluteStart": 0}
    assert scope(**time_filter, referencePoint=point).anchor == anchor
    assert read(aggregated(time(), periodReferencePoint=point)).scope.anchor == anchor
    first = {**selection, "first": True}
    assert scope(**time_filter, referencePoint=first).anchor == Anchor(CaseBorder.START)
    wrong = {**selection, "dataContentSelection": {"selection": "due"}}
    text = document(ppi(aggregated(time()), scope={**time_filter, "referencePoint": wrong}))
    assert "not of a date in its data" in problems(text)[0]


def test_targets_of_groups_and_tolerated_values_are_written_as_in_a_catalogue() -> None:
    by = {"kind": "DataMeasure", "dataContentSelection": {"selection": "channel"}}
    found = read(
        aggregated(time(unitOfMeasure="seconds"), groupedBy=[by], values=["web"]),
        catalogue={
            "target": {
                "groups": {"web": "at least 3"},
                "otherwise": {"green": "below 1", "amber": "at most 2"},
            }
        },
    )
    assert found.target == Target(None, Fraction(10**6), high_included=False)
    assert found.tolerated == Target(None, Fraction(2 * 10**6))
    assert found.group_targets == (GroupTarget("web", Target(Fraction(3 * 10**6), None)),)


# --- never a silently different number ------------------------------------------------

PAST = {"kind": "DataMeasure", "dataContentSelection": {"selection": "x", "separator": "-"}}
TWO = {"kind": "DataMeasure", "dataContentSelection": {"selection": "x + y"}}
MONTHLY = {"kind": "SimpleTimeFilter", "period": "MONTHLY"}


@pytest.mark.parametrize(
    ("measure", "fields", "message"),
    [
        (aggregated(time(computeUnfinished=True)), {}, "time that is still running"),
        (aggregated(time(unitOfMeasure="workingdays")), {}, "working days have no fixed length"),
        (aggregated(time(unitOfMeasure="parsecs")), {}, "cannot measure time in 'parsecs'"),
        (aggregated(time(), includeUnfinished=True), {}, "unfinished cases belong to"),
        (aggregated(PAST), {}, "an attribute's previous value"),
        (aggregated(TWO), {}, "selects one attribute"),
        ("https://example.org/m.json#a", {}, "defined elsewhere are not followed"),
        (
            aggregated(time()),
            {"scope": {**MONTHLY, "includeUnfinished": True}},
            "unfinished cases belong to",
        ),
        (
            aggregated(time()),
            {"scope": {**MONTHLY, "absoluteStart": 15}},
            "where calendar periods do",
        ),
        (aggregated(time()), {"scope": {**MONTHLY, "timeZone": "Asia/Tokyo"}}, "time zone of the"),
        (aggregated(time()), {"scope": {**MONTHLY, "frequency": 0}}, "from 1 to 366"),
        (aggregated(time()), {"scope": {**MONTHLY, "from": "2014-01-31T09:30"}}, "not a day"),
        (
            aggregated(time()),
            {
                "scope": {
                    "kind": "SimpleTimeFilter",
                    "period": "DAILY",
                    "from": "1900-01-01",
                    "until": "2190-01-01",
                }
            },
            "more than 5,000 periods",
        ),
        (aggregated(time()), {"target": {"refMin": 2, "refMax": 1}}, "must not be above"),
        (aggregated(aggregated(time())), {}, "what is aggregated measures one case"),
        ({**count(state("A")), "kind": "DurationMeasure"}, {}, "no measure of the kind 'Duration"),
    ],
)
def test_what_would_change_a_value_is_refused(measure: Any, fields: Json, message: str) -> None:  # noqa: ANN401
    assert any(message in each for each in problems(document(ppi(measure, **fields))))


# --- writing --------------------------------------------------------------------------


def test_what_java_has_is_written_in_its_words() -> None:
    text = document(
        ppi(
            aggregated(time(considerOnly="L-VT09:00-18:00", firstTo=True)),
            scope={**MONTHLY, "frequency": 1, "relative": False},
            target={"refMin": 1, "refMax": 2.5},
            goals=["Fast"],
        ),
        processId="Claims",
    )
    catalogue = read_java(text).catalogue
    written = json.loads(write_java(catalogue))
    measure = written["ppis"][0]["measuredBy"]
    assert measure == aggregated(
        time(considerOnly="L-VT09:00-18:00", firstTo=True, timeMeasureType="LINEAR")
    )
    assert {**written, "ppis": []} == {"log": "claims", "processId": "Claims", "ppis": []}
    assert {**written["ppis"][0], "measuredBy": None} == json.loads(
        document(
            ppi(
                {}, scope={**MONTHLY, "frequency": 1, "relative": False},
                target={"refMin": 1, "refMax": 2.5}, goals=["Fast"],
            )
        ).replace('"measuredBy": {}', '"measuredBy": null')
    )["ppis"][0]  # fmt: skip
    assert ignored_by_java(catalogue) == ()


def test_formulas_over_numbers_are_written_as_they_were() -> None:
    measure = derived("t < 28 && n >= 1", t=time(timeMeasureType="LINEAR"), n=count(state("A")))
    catalogue = read_java(document(ppi(aggregated(measure, "Share")))).catalogue
    written = json.loads(write_java(catalogue))["ppis"][0]["measuredBy"]
    assert written["baseMeasure"] == measure


def test_fields_that_java_ignores_are_told() -> None:
    catalogue = read_java(
        document(ppi(aggregated(count(data("x > 1", occurrence="every")))))
    ).catalogue
    assert ignored_by_java(catalogue) == ("occurrence",)
    used = read_java(document(ppi(aggregated(derived("of", of=count(state("A"))))))).catalogue
    assert ignored_by_java(used) == ()


def test_what_reads_as_a_parameter_is_escaped() -> None:
    found = replace(read(aggregated(count(data("x == 'a'")))), name="${x} $y")
    catalogue = Catalogue("claims", (found,))
    text = write_java(catalogue)
    assert "\\u0024{x} $y" in text
    assert read_java(text).catalogue == catalogue


def test_a_limit_that_is_no_float_stays_exact_in_words() -> None:
    exact = Fraction("0.12345678901234567890123")
    ppi_ = read(
        aggregated(count(state("A"))), catalogue={"target": "below 0.12345678901234567890123"}
    )
    assert ppi_.target == Target(None, exact, high_included=False)
    (written,) = json.loads(write_java(Catalogue("claims", (ppi_,))))["ppis"]
    assert written["target"] == {"refMax": float(exact)}
    assert written["catalogue"] == {"target": "below 0.12345678901234567890123"}


def test_a_limit_that_no_number_is_cannot_be_written() -> None:
    third = replace(read(aggregated(count(state("A")))), target=Target(None, Fraction(1, 3)))
    with pytest.raises(DefinitionError, match="PPINOT JSON cannot express this: '1/3'"):
        write_java(Catalogue("claims", (third,)))


@pytest.mark.parametrize("key", ["target", "scope"])
def test_what_a_catalogue_says_of_a_ppi_is_what_java_says_or_more(key: str) -> None:
    java = {"target": {"refMax": 2}, "scope": {**MONTHLY, "frequency": 3}}
    own = {"target": {"green": "below 2", "amber": "below 3"}, "scope": "every quarter"}
    both = {"target": java["target"], "scope": java["scope"], "catalogue": own}
    found = read(aggregated(count(state("A"))), **both)
    assert (found.scope, found.tolerated) == (
        Scope(Grid(Calendar.QUARTER)), Target(None, Fraction(3), high_included=False),
    )  # fmt: skip
    other = {"target": "below 3", "scope": "every year"}
    text = document(ppi(aggregated(count(state("A"))), **both | {"catalogue": {key: other[key]}}))
    assert f"the object 'catalogue' has another {key}" in problems(text)[0]


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"privacy": {"epsilon": 0.1, "answer": "verdict"}}, "privacy"),
        ({"valueRange": {"low": 0, "high": 5}}, "valueRange"),
        ({"groupTargets": [{"value": "web", "refMax": 2}]}, "groupTargets"),
        ({"scope": {**MONTHLY, "frequency": 3, "calendar": "quarter"}}, "calendar"),
        ({"scope": {**MONTHLY, "recent": {"period": "YEARLY", "frequency": 1}}}, "recent"),
        ({"target": {"refMax": 2, "refMaxExcluded": True}}, "refMaxExcluded"),
    ],
)
def test_what_was_said_in_other_fields_once_is_not_passed_over(fields: Json, refused: str) -> None:
    text = document(ppi(aggregated(count(state("A"))), **fields))
    assert f"'{refused}' belongs in the object 'catalogue'" in problems(text)[0]


def nested(levels: int) -> Catalogue:
    measure: SingleInstance = CountMeasure(every("x > 1"))
    for _ in range(levels):
        measure = DerivedSingleInstance(Name("a"), (("a", measure),))
    whole = AggregatedMeasure(Aggregation.SUM, measure)
    return Catalogue("claims", (Ppi("one", "one", whole, NUMBER, Scope(None)),))


@pytest.mark.outside
def test_what_could_not_be_read_again_is_not_written() -> None:
    deepest = max(levels for levels in range(40) if _is_written(levels))
    assert deepest > 10
    assert read_java(write_java(nested(deepest))).catalogue == nested(deepest)
    for levels in (deepest + 1, 100, 100_000):
        with pytest.raises(UsageError, match="too large for one PPINOT JSON document"):
            write_java(nested(levels))
    texts = Catalogue("c" * 2_000_000, ())
    with pytest.raises(UsageError):
        write_java(texts)


def _is_written(levels: int) -> bool:
    try:
        write_java(nested(levels))
    except UsageError:
        return False
    return True


def test_an_expression_too_deep_to_be_read_is_not_written() -> None:
    expression = parse_expression("a > 1")
    for _ in range(20_000):
        expression = Not(expression)
    variables = (("a", CountMeasure(every("x > 1"))),)
    for base in (CountMeasure(Occurs(expression)), DerivedSingleInstance(expression, variables)):
        whole = AggregatedMeasure(Aggregation.SUM, base)
        with pytest.raises(UsageError, match="operations deep"):
            write_java(Catalogue("claims", (Ppi("one", "one", whole, NUMBER, Scope(None)),)))


def test_parts_that_multiply_when_written_out_are_bounded() -> None:
    measure: SingleInstance = CountMeasure(every("x > 1"))
    for _ in range(30):
        formula = parse_expression("a + b")
        measure = DerivedSingleInstance(formula, (("a", measure), ("b", measure)))
    whole = AggregatedMeasure(Aggregation.SUM, measure)
    with pytest.raises(UsageError, match="too large"):
        write_java(Catalogue("claims", (Ppi("one", "one", whole, NUMBER, Scope(None)),)))


def test_a_read_catalogue_passes_the_checks() -> None:
    assert (
        check_catalogue(
            read_java(document(ppi(aggregated(derived("t < 3", t=time()))))).catalogue, None
        )
        == []
    )
