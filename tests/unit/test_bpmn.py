"""PPIs drawn into a BPMN model."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import DefinitionError
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Occurrence,
    Occurs,
    OpenCycle,
    Ppi,
    Scope,
    SingleInstance,
    StateMeasure,
    Target,
    TimeMeasure,
)
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import Grouping, GroupTarget, Recent
from pappi.ppinot.notations.bpmn import read_bpmn, read_elements
from pappi.values import Calendar, CaseBorder, Grid

DONE = 'activity == "Repair" and lifecycle:transition in ("complete", "COMPLETE", "Complete")'

# From the tests of a workflow engine that computes PPINOT, its ids shortened.
DERIVED = """
  <ppinot:derivedSingleInstanceMeasure function="a*b*100" id="d1" name="SimpleDerived"/>
  <ppinot:timeMeasure id="t1" name="TimePP1" singleInstanceAggFunction="Maximum"
                      timeMeasureType="cyclic"/>
  <ppinot:countMeasure id="c1" name="CountMeasure"/>
  <ppinot:uses sourceRef="d1" targetRef="t1" variable="a"/>
  <ppinot:uses sourceRef="d1" targetRef="c1" variable="b"/>
  <ppinot:timeConnector type="from" state="Start" sourceRef="t1" targetRef="task1"/>
  <ppinot:timeConnector type="to" state="End" sourceRef="t1" targetRef="task1"/>
  <ppinot:appliesToElementConnector sourceRef="c1" targetRef="task1"/>
  <ppinot:ppi id="p1" measuredBy="d1" name=""/>
"""
AGGREGATED = """
  <ppinot:aggregatedMeasure id="a1" aggregationFunction="Average" name="Mean"/>
  <ppinot:aggregates sourceRef="a1" targetRef="d1"/>
  <ppinot:ppi id="p2" measuredBy="a1" name="Mean repair">
    <ppinot:target><ppinot:simpleTarget lowerBound="1.5" upperBound="5"/></ppinot:target>
    <ppinot:scope>
      <ppinot:simpleTimeFilter frequency="1" period="monthly" relative="false"/>
    </ppinot:scope>
    <ppinot:goals>
      <ppinot:goal>Be fast</ppinot:goal><ppinot:goal>Be good</ppinot:goal>
    </ppinot:goals>
    <ppinot:responsible>Ann</ppinot:responsible>
    <ppinot:informed><ppinot:inform>Bob</ppinot:inform></ppinot:informed>
    <ppinot:comments>Since May</ppinot:comments>
  </ppinot:ppi>
"""


def model(ppiset: str, rest: str = "") -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
             xmlns:other="http://example.org/other">
 <collaboration id="c"><participant id="pool" name="Repairs" processRef="p"/></collaboration>
 <process id="p" name="Repairs">
  <extensionElements>
   <other:form id="task1" name="not a task"/>
   <ppinot:ppiset xmlns:ppinot="http://www.isa.us.es/ppinot">{ppiset}</ppinot:ppiset>
  </extensionElements>
  <startEvent id="begin" name=""/><endEvent id="done"/><task id="blank" name=""/>
  <startEvent id="call" name="Customer calls"/>
  <task id="task1" name="Repair"><extensionElements/></task>
  <dataObject id="data1" name="Item"/>{rest}
 </process>
</definitions>"""


def read(ppiset: str) -> Ppi:
    (found,) = read_bpmn(model(ppiset), log="repairs").catalogue.ppis
    return found


def base_of(measure: str, connectors: str = "") -> SingleInstance:
    found = read(
        f'<ppinot:aggregatedMeasure id="a" aggregationFunction="Sum">{measure}'
        f'</ppinot:aggregatedMeasure>{connectors}<ppinot:ppi id="x" measuredBy="a"/>'
    )
    assert isinstance(found.measure, AggregatedMeasure)
    return found.measure.base


def problems(ppiset: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        read_bpmn(model(ppiset), "m.bpmn", "repairs")
    return [str(problem) for problem in caught.value.problems]


def every(expression: str) -> Occurs:
    return Occurs(parse_expression(expression))


def test_the_published_example_measures_one_case_and_says_so() -> None:
    (found,) = problems(DERIVED)
    assert found.startswith("m.bpmn:18:3: error: 'p1' measures one case only")


def test_an_aggregate_of_the_published_example_is_read() -> None:
    reading = read_bpmn(model(DERIVED + AGGREGATED), "m.bpmn", "repairs")
    assert [remark.message.split(":")[0] for remark in reading.remarks] == [
        "'p1' measures one case only, so it is not a PPI and is left out"
    ]
    (found,) = reading.catalogue.ppis
    started = ", ".join(
        f'"{w}", "{w.upper()}", "{w.title()}"' for w in ("ready", "assign", "start")
    )
    time = TimeMeasure(
        every(f'activity == "Repair" and lifecycle:transition in ({started})'),
        every(DONE),
        cycles=Cycles.MAX,
        open_cycle=OpenCycle.NO_VALUE,
    )
    formula = parse_expression("a / 1 millisecond * b * 100")
    variables = (("a", time), ("b", CountMeasure(every('activity == "Repair"'))))
    derived = DerivedSingleInstance(formula, variables)
    assert found.measure == AggregatedMeasure(Aggregation.MEAN, derived)
    assert (found.id, found.name, found.process) == ("p2", "Mean repair", "Repairs")
    assert found.target == Target(Fraction(3, 2), Fraction(5))
    assert found.scope == Scope(Grid(Calendar.MONTH))
    assert (found.goals, found.responsible) == (("Be fast", "Be good"), "Ann")
    assert (found.informed, found.comments) == (("Bob",), "Since May")


def test_a_measure_is_nested_or_connected() -> None:
    nested = base_of(
        '<ppinot:countMeasure id="c"/>',
        '<ppinot:appliesToElementConnector sourceRef="c" targetRef="task1" state="End"/>',
    )
    assert nested == CountMeasure(every(DONE))


@pytest.mark.parametrize(
    ("target", "border"),
    [("pool", CaseBorder.START), ("p", CaseBorder.START), ("begin", CaseBorder.START)],
)
def test_the_process_and_unnamed_events_are_the_case(target: str, border: CaseBorder) -> None:
    found = base_of(
        '<ppinot:timeMeasure id="t" unitOfMeasure="hours"/>',
        f'<ppinot:timeConnector type="from" state="Start" sourceRef="t" targetRef="{target}"/>'
        '<ppinot:timeConnector type="to" state="End" sourceRef="t" targetRef="done"/>',
    )
    assert found == TimeMeasure(border, CaseBorder.END)


def test_a_named_event_is_an_activity() -> None:
    connector = '<ppinot:appliesToElementConnector sourceRef="c" targetRef="call"/>'
    found = base_of('<ppinot:countMeasure id="c"/>', connector)
    assert found == CountMeasure(every('activity == "Customer calls"'))


def test_an_element_without_a_name_is_no_activity() -> None:
    connector = '<ppinot:appliesToElementConnector sourceRef="c1" targetRef="blank"/>'
    measure = '<ppinot:countMeasure id="c1"/>'
    (found,) = problems(measure + connector + '<ppinot:ppi id="x" measuredBy="c1"/>')
    assert "the element 'blank' has no name" in found


def test_data_and_states_of_data_are_read() -> None:
    connector = (
        '<ppinot:appliesToDataConnector sourceRef="d" targetRef="data1" restriction="cost &gt; 5" '
        'dataContentSelection="cost" states=""/>'
    )
    assert base_of('<ppinot:dataMeasure id="d"/>', connector) == DataMeasure(
        "cost", when=every("cost > 5")
    )
    condition = base_of('<ppinot:dataPropertyConditionMeasure id="d"/>', connector)
    assert condition == ConditionMeasure(every("cost > 5"))
    entered = '<ppinot:appliesToElementConnector sourceRef="c" targetRef="data1" state="paid"/>'
    onset = Occurs(parse_expression("paid"), Occurrence.ONSET)
    assert base_of('<ppinot:countMeasure id="c"/>', entered) == CountMeasure(onset)


def test_the_state_of_an_activity_is_read() -> None:
    connector = '<ppinot:appliesToElementConnector sourceRef="s" targetRef="task1" state="End"/>'
    done = parse_expression(DONE.partition(" and ")[2])
    found = base_of('<ppinot:stateConditionMeasure id="s"/>', connector)
    assert found == StateMeasure(done, parse_expression('activity == "Repair"'))


GROUPED = """
  <ppinot:aggregatedMeasure id="a" aggregationFunction="Sum"><ppinot:countMeasure id="c"/>
  </ppinot:aggregatedMeasure>
  <ppinot:appliesToElementConnector sourceRef="c" targetRef="task1"/>
  <ppinot:isGroupedBy sourceRef="a" targetRef="data1" dataContentSelection="channel" {}/>
  <ppinot:ppi id="x" measuredBy="a">{}</ppinot:ppi>
"""


def test_a_composed_target_declares_the_groups() -> None:
    targets = (
        '<ppinot:target><ppinot:composedTarget><ppinot:target value="web" upperBound="5"/>'
        '<ppinot:target value="phone" lowerBound="1"/></ppinot:composedTarget></ppinot:target>'
    )
    found = read(GROUPED.format("", targets))
    assert isinstance(found.measure, AggregatedMeasure)
    assert found.measure.grouping == Grouping(DataMeasure("channel"), ("web", "phone"))
    assert found.group_targets == (
        GroupTarget("web", Target(None, Fraction(5))),
        GroupTarget("phone", Target(Fraction(1), None)),
    )


def test_groups_are_declared_by_an_attribute_or_refused() -> None:
    found = read(GROUPED.format('values="web, phone"', ""))
    assert isinstance(found.measure, AggregatedMeasure)
    assert found.measure.grouping is not None
    assert found.measure.grouping.keys == ("web", "phone")
    assert read(GROUPED.format('keys="web, phone"', "")) == found
    assert "must not depend on the data" in problems(GROUPED.format("", ""))[0]


@pytest.mark.parametrize(
    ("scope", "wanted"),
    [
        ('<ppinot:lastInstancesFilter numberOfInstances="50"/>', Scope(None, last_cases=50)),
        (
            '<ppinot:simpleTimeFilter frequency="2" period="weekly" relative="true"/>',
            Scope(None, recent=Recent(2, Calendar.WEEK)),
        ),
    ],
)
def test_scopes_are_read(scope: str, wanted: Scope) -> None:
    text = DERIVED + AGGREGATED
    start, end = text.index("<ppinot:simpleTimeFilter"), text.index("</ppinot:scope>")
    (found,) = read_bpmn(model(text[:start] + scope + text[end:]), log="repairs").catalogue.ppis
    assert found.scope == wanted


def test_without_ppis_the_measures_are_the_ppis() -> None:
    measures = DERIVED.partition("<ppinot:ppi ")[0] + AGGREGATED.partition("<ppinot:ppi ")[0]
    reading = read_bpmn(model(measures), "m", "l")
    (found,) = reading.catalogue.ppis
    assert (found.id, found.name, found.process) == ("a1", "Mean", "Repairs")
    assert reading.remarks == ()


def test_formulas_over_many_cases_are_read() -> None:
    measures = """
      <ppinot:derivedMultiInstanceMeasure id="d" function="a / b"/>
      <ppinot:uses sourceRef="d" targetRef="m1" variable="a"/>
      <ppinot:uses sourceRef="d" targetRef="m1" variable="b"/>
      <ppinot:aggregatedMeasure id="m1" aggregationFunction="Sum"><ppinot:countMeasure id="c"/>
      </ppinot:aggregatedMeasure>
      <ppinot:appliesToElementConnector sourceRef="c" targetRef="task1"/>
      <ppinot:ppi id="x" measuredBy="d"/>
    """
    found = read(measures).measure
    assert isinstance(found, DerivedMultiInstance)
    assert [name for name, _ in found.variables] == ["a", "b"]


# --- what is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ppiset", "message"),
    [
        ('<ppinot:ppi id="x" measuredBy="none"/>', "measured by 'none', which is not a measure"),
        ('<ppinot:countMeasure id="c"/><ppinot:ppi id="x" measuredBy="c"/>', "one connector to an"),
        ('<ppinot:timeMeasure id="c"/><ppinot:ppi id="x" measuredBy="c"/>', "'from' and one 'to'"),
        ('<ppinot:oddMeasure id="c"/><ppinot:ppi id="x" measuredBy="c"/>', "measure 'oddmeasure'"),
        ("", "this set of PPIs is empty"),
        (
            DERIVED.replace('targetRef="task1"', 'targetRef="taskk"'),
            "no element with the id 'taskk'",
        ),
        (DERIVED.replace('variable="b"', 'variable="a"'), "have the same variable"),
        (DERIVED.replace('targetRef="c1"', 'targetRef="d1"'), "in a circle, or too often"),
        (DERIVED + AGGREGATED.replace("simpleTarget", "customTarget"), "target 'customtarget'"),
        (DERIVED + AGGREGATED.replace("simpleTimeFilter", "odd"), "unknown kind of scope 'odd'"),
    ],
)
def test_broken_diagrams_are_refused_with_the_line(ppiset: str, message: str) -> None:
    found = problems(ppiset)
    assert any(message in each for each in found), found
    assert all(each.startswith("m.bpmn:") for each in found)


def test_all_that_is_wrong_with_a_ppi_is_found_at_once() -> None:
    wrong = {"simpleTarget": "customTarget", "simpleTimeFilter": "odd", '"task1"': '"gone"'}
    ppiset = DERIVED + AGGREGATED
    for right, other in wrong.items():
        ppiset = ppiset.replace(right, other)
    found = "\n".join(problems(ppiset))
    assert "unknown kind of target 'customtarget'" in found
    assert "unknown kind of scope 'odd'" in found
    assert found.count("no element with the id 'gone'") == 3  # each end of a time, and the count


def test_all_that_is_wrong_with_one_part_of_a_ppi_is_found_at_once() -> None:
    targets = '<ppinot:target value="web"/><ppinot:target lowerBound="1"/>'
    ppiset = (
        '<ppinot:aggregatedMeasure id="a" aggregationFunction="Sum"/>'
        '<ppinot:isGroupedBy sourceRef="a" targetRef="claim" dataContentSelection="channel +"/>'
        '<ppinot:ppi id="p" measuredBy="a"><ppinot:target><ppinot:composedTarget>'
        f"{targets}</ppinot:composedTarget></ppinot:target></ppinot:ppi>"
    )
    found = problems(ppiset)
    assert sum("needs its value and a limit" in problem for problem in found) == 2
    assert any("needs one connector to the measure it aggregates" in problem for problem in found)
    assert any("expected" in problem and "end" in problem for problem in found), found


def test_shared_measures_cannot_multiply_without_bound() -> None:
    levels = "".join(
        f'<ppinot:derivedSingleInstanceMeasure id="d{n}" function="a+b+c+d"/>'
        + "".join(
            f'<ppinot:uses sourceRef="d{n}" targetRef="d{n + 1}" variable="{v}"/>' for v in "abcd"
        )
        for n in range(11)
    )
    last = (
        '<ppinot:countMeasure id="d11"/>'
        '<ppinot:appliesToElementConnector sourceRef="d11" targetRef="task1"/>'
    )
    found = problems(levels + last + '<ppinot:ppi id="x" measuredBy="d0"/>')
    assert "too often" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE d [<!ENTITY a "b">]><d>&a;</d>',
        '<!DOCTYPE d SYSTEM "file:///etc/passwd"><d/>',
        '<!DOCTYPE d [<!ENTITY % x SYSTEM "http://example.org/x"> %x;]><d/>',
    ],
)
def test_declarations_are_refused(text: str) -> None:
    with pytest.raises(DefinitionError, match="document type and entity declarations"):
        read_bpmn(text, log="repairs")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "malformed XML: no element found"),
        ("<a>", "malformed XML: no element found"),
        ("<a/>", "there is no ppiset"),
        ("\ud800", "not valid XML text"),
        ("<a>" * 200 + "</a>" * 200, "more than 100 levels deep"),
        ("<a/>" + " " * 5_000_000, "more than 5,000,000 characters"),
        (model("<ppinot:x/>" * 11_000), "more than 10,000 PPI elements"),
        (model("", '<task id="task1"/>'), "the id 'task1' appears twice"),
    ],
)
def test_unfit_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read_bpmn(text, log="repairs")


def test_the_log_has_to_be_named() -> None:
    with pytest.raises(DefinitionError, match="does not say which log"):
        read_bpmn(model(DERIVED + AGGREGATED))


@given(st.data())
def test_damaged_models_are_read_or_refused(data: st.DataObject) -> None:
    text = model(DERIVED + AGGREGATED)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 30))
    damaged = text[:start] + data.draw(st.text(max_size=3)) + text[start + length :]
    with suppress(DefinitionError):
        read_bpmn(damaged, log="repairs")


def test_only_what_is_needed_is_kept() -> None:
    text = model(DERIVED)
    kept = read_elements(text, "m")
    assert set(kept.flow) == {"c", "pool", "p", "begin", "done", "blank", "call", "task1", "data1"}
