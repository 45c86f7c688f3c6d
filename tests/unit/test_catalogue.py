"""The catalogue notation: what it means, and every problem at once with its place."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import DefinitionError, InputError, Problem
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Missing,
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
    TruthLiteral,
    parse_catalogue,
    read_definitions,
)
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import Anchor, Grouping, GroupTarget, Recent
from pappi.values import (
    FRACTION,
    NUMBER,
    PERCENT,
    UNIT_INTERVAL,
    Bounds,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Unit,
    parse_calendar,
)
from tests.unit.test_schema import GOOD

PAPER = Path(__file__).parents[2] / "experiments"
DAY = 86_400_000_000
PAID = Occurs(parse_expression('activity == "Pay claim"'))


def ppi(*lines: str) -> Ppi:
    """The one PPI of a catalogue with these lines below its id."""
    text = "log: l\nppis:\n  - id: x\n" + "".join(f"    {line}\n" for line in lines)
    (found,) = parse_catalogue(text).ppis
    return found


def measured(measure: str, *lines: str) -> Ppi:
    return ppi(f"measure: {measure}", *lines)


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DefinitionError) as caught:
        parse_catalogue(text, "c.yaml")
    return caught.value.problems


def problem_of(*lines: str) -> Problem:
    with pytest.raises(DefinitionError) as caught:
        ppi(*lines)
    (problem,) = caught.value.problems
    return problem


# --- what it means --------------------------------------------------------------------


def test_a_time_is_measured_from_moment_to_moment() -> None:
    found = measured("{mean: {time: {from: case start, to: {activity: Pay claim}}, unit: days}}")
    assert found.measure == AggregatedMeasure(Aggregation.MEAN, TimeMeasure(CaseBorder.START, PAID))
    assert found.unit == Unit("days", Fraction(DAY))
    assert found.scope == Scope(Grid(Calendar.MONTH))
    assert (found.name, found.target) == ("x", None)


def test_data_can_be_picked_filtered_and_grouped() -> None:
    found = measured(
        "{max: {data: {attribute: amount, pick: first, when: {activity: Pay claim}}}, "
        "where: {condition: {activity: Pay claim}}, "
        "by: {data: channel, values: [phone, web, 3]}, bounds: [0, 5e3]}",
        "unit: EUR",
    )
    assert found.measure == AggregatedMeasure(
        Aggregation.MAX,
        DataMeasure("amount", Pick.FIRST, PAID),
        ConditionMeasure(PAID),
        Grouping(DataMeasure("channel"), ("phone", "web", "3")),
        Bounds(Fraction(0), Fraction(5000)),
    )
    assert found.unit == Unit("EUR", Fraction(1))


def test_derive_is_about_one_case_under_an_aggregation_and_about_many_elsewhere() -> None:
    found = ppi(
        "measure:",
        "  derive: 100 * late / inner",
        "  late: {sum: {derive: t < 28 days, t: {time: {from: case start, to: case end}}}}",
        "  inner: {derive: a + a, a: {sum: {count: {activity: Pay claim}}}}",
        "bounds: {inner.a: [0, 2], value: [0, 100]}",
    )
    time = TimeMeasure(CaseBorder.START, CaseBorder.END)
    late = DerivedSingleInstance(parse_expression("t < 28 days"), (("t", time),))
    paid = AggregatedMeasure(
        Aggregation.SUM, CountMeasure(PAID), bounds=Bounds(Fraction(0), Fraction(2))
    )
    assert found.measure == DerivedMultiInstance(
        parse_expression("100 * late / inner"),
        (
            ("late", AggregatedMeasure(Aggregation.SUM, late, bounds=UNIT_INTERVAL)),
            ("inner", DerivedMultiInstance(parse_expression("a + a"), (("a", paid),))),
        ),
    )
    assert found.value_range == Bounds(Fraction(0), Fraction(100))
    assert found.unit == NUMBER


def test_among_and_where_say_the_same_for_a_share() -> None:
    among = measured("{share: {condition: a == 1}, among: {condition: b == 1}}")
    assert (
        among.measure
        == measured("{share: {condition: a == 1}, where: {condition: b == 1}}").measure
    )
    assert isinstance(among.measure, AggregatedMeasure)
    assert among.measure.bounds == UNIT_INTERVAL
    assert among.unit == PERCENT


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("below 24 hours", Target(None, Fraction(DAY), high_included=False)),
        ("at most 1 day", Target(None, Fraction(DAY))),
        ("above 1", Target(Fraction(DAY), None, low_included=False)),
        ("at least 1", Target(Fraction(DAY), None)),
        ("between 1 and 48 hours", Target(Fraction(DAY, 24), Fraction(2 * DAY))),
        ("between 1 and 2", Target(Fraction(DAY), Fraction(2 * DAY))),
        (
            "at least 1 and below 48 hours",
            Target(Fraction(DAY, 24), Fraction(2 * DAY), high_included=False),
        ),
        ("below 2 and above 1", Target(Fraction(DAY), Fraction(2 * DAY), *[False] * 2)),
        ('"< 1"', Target(None, Fraction(DAY), high_included=False)),
        ('">=1 day"', Target(Fraction(DAY), None)),
    ],
)
def test_a_bare_number_in_a_target_is_in_the_unit_shown(written: str, target: Target) -> None:
    time = "{mean: {time: {from: case start, to: case end}}}"
    assert measured(time, "unit: days", f"target: {written}").target == target


SHARE = "{share: {condition: a == 1}}"


@pytest.mark.parametrize("written", ["above 0.9", "between 0.5 and 0.9", "{green: below 0.9}"])
def test_a_share_that_may_be_a_part_of_one_or_percent_is_asked_about(written: str) -> None:
    """Once, "below 0.8" was 0.8 percent, and nobody was told."""
    with pytest.raises(DefinitionError) as asked:
        measured(SHARE, f"target: {written}")
    assert "a share of 0.9 may mean 90 % or 0.9 % (write 90 % or 0.9 %)" in str(asked.value)


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        (("target: above 0.9 %",), Fraction(9, 1000)),
        (("target: above 90",), Fraction(9, 10)),
        (("target: above 0",), Fraction(0)),
        (("target: above 1",), Fraction(1, 100)),
        (("target: above 0.9", "unit: percent"), Fraction(9, 1000)),
        (("target: above 0.9", "unit: fraction"), Fraction(9, 10)),
    ],
)
def test_a_share_whose_meaning_is_clear_is_not(written: tuple[str, ...], limit: Fraction) -> None:
    assert measured(SHARE, *written).target == Target(limit, None, low_included=False)


@pytest.mark.parametrize(
    ("written", "bounds", "bounding"),
    [
        ("[0, 2]", Bounds(Fraction(0), Fraction(2)), Bounding.DECLARED),
        ("[-1.5, 2]", Bounds(Fraction(-3, 2), Fraction(2)), Bounding.DECLARED),
        ("[0, 1e6, loose]", Bounds(Fraction(0), Fraction(10**6)), Bounding.LOOSE),
        ("private", None, Bounding.PRIVATE),
    ],
)
def test_bounds_fit_are_loose_or_private(
    written: str, bounds: Bounds | None, bounding: Bounding
) -> None:
    on_ppi = measured("{sum: {count: a == 1}}", f"bounds: {written}").measure
    on_measure = measured(f"{{sum: {{count: a == 1}}, bounds: {written}}}").measure
    assert on_ppi == on_measure
    assert isinstance(on_ppi, AggregatedMeasure)
    assert (on_ppi.bounds, on_ppi.bounding) == (bounds, bounding)


def test_each_variable_has_bounds_of_its_own_kind() -> None:
    found = measured(
        "{derive: a / b, a: {sum: {count: x == 1}}, b: {sum: {data: y}}}",
        "bounds: {a: [0, 9, loose], b: private}",
    )
    assert isinstance(found.measure, DerivedMultiInstance)
    variables = dict(found.measure.variables)
    kinds = [v.bounding for v in variables.values() if isinstance(v, AggregatedMeasure)]
    assert kinds == [Bounding.LOOSE, Bounding.PRIVATE]


def test_the_range_of_a_single_sum_stands_beside_the_bounds_of_its_cases() -> None:
    found = measured("{sum: {count: a == 1}, bounds: [0, 2]}", "bounds: {value: [0, 500]}")
    assert isinstance(found.measure, AggregatedMeasure)
    assert found.measure.bounds == Bounds(Fraction(0), Fraction(2))
    assert found.value_range == Bounds(Fraction(0), Fraction(500))


@pytest.mark.parametrize(
    ("unit", "target", "low"),
    [
        ("percent", "above 95", Fraction(95, 100)),
        ('"%"', "above 95 %", Fraction(95, 100)),
        ("fraction", "above 0.95", Fraction(95, 100)),
        ("fraction", "above 95%", Fraction(95, 100)),
    ],
)
def test_a_share_is_between_0_and_1_inside_whatever_is_shown(
    unit: str, target: str, low: Fraction
) -> None:
    found = measured("{share: {condition: a == 1}}", f"unit: {unit}", f"target: {target}")
    assert found.target == Target(low, None, low_included=False)
    assert found.unit in (PERCENT, FRACTION)


def test_everything_said_about_a_ppi_is_kept() -> None:
    found = measured(
        "{sum: {count: a == 1}}",
        "name: The name",
        "epsilon: 0.25",
        "process: Claims",
        "goals: [be quick, be fair]",
        "responsible: Ann",
        "informed: Bob",
        "comments: none",
    )
    assert (found.name, found.epsilon, found.process) == ("The name", Epsilon.of("0.25"), "Claims")
    assert (found.goals, found.informed) == (("be quick", "be fair"), ("Bob",))
    assert (found.responsible, found.comments) == ("Ann", "none")


def test_plain_texts_are_what_was_typed() -> None:
    found = measured("{sum: {count: a == 1}, by: {data: no, values: [on, 12:30, 2014-01-31, 1_0]}}")
    assert isinstance(found.measure, AggregatedMeasure)
    assert found.measure.grouping == Grouping(
        DataMeasure("no"), ("on", "12:30", "2014-01-31", "1_0")
    )


def test_json_is_read_alike() -> None:
    text = '{\n\t"log": "l",\n\t"ppis": [{"id": "x", "measure": {"sum": {"count": "a == 1"}}}]}'
    assert parse_catalogue(text).ppis[0].measure == measured("{sum: {count: a == 1}}").measure


def test_bounds_of_an_attribute_say_whether_it_is_a_duration() -> None:
    found = measured("{mean: {data: a}, bounds: [0, 2 days]}", "target: below 24")
    assert (found.unit.name, found.target) == (
        "hours",
        Target(None, Fraction(DAY), high_included=False),
    )


def test_the_papers_ppis_are_as_they_were() -> None:
    claims = read_definitions(PAPER / "claims.yaml")
    assert [each.id for each in claims.ppis] == ["sojourn", "rejected", "damage"]
    sepsis = read_definitions(PAPER / "sepsis.yaml")
    targets = [
        (each.id, each.unit.name, each.unit.show(limit))
        for each in sepsis.ppis
        if each.target and (limit := each.target.high or each.target.low) is not None
    ]
    assert targets == [
        ("waiting", "hours", 24),
        ("stay", "days", 30),
        ("longest-stay", "days", 35),
        ("returning", "percent", 5),
        ("antibiotics", "percent", 95),
        ("lactic-acid", "percent", 95),
    ]


# --- conditions, states and times -----------------------------------------------------

DONE = 'activity == "Pay claim" and `lifecycle:transition` in ("complete", "COMPLETE", "Complete")'


def counted(condition: str) -> EventCondition:
    measure = measured(f"{{sum: {{count: {condition}}}}}").measure
    assert isinstance(measure, AggregatedMeasure)
    assert isinstance(measure.base, CountMeasure)
    return measure.base.when


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{activity: Pay claim}", PAID),
        ("{activity: Pay claim, transition: complete}", Occurs(parse_expression(DONE))),
        (
            "{transition: Start, occurrence: onset}",
            Occurs(
                parse_expression("lifecycle:transition in ('Start', 'start', 'START')"),
                Occurrence.ONSET,
            ),
        ),
        ("{transition: '5'}", Occurs(parse_expression("lifecycle:transition == '5'"))),
        (
            "{activity: Pay claim, among: a == 1}",
            replace(PAID, among=parse_expression("a == 1")),
        ),
        (
            "{when: a > 1, among: {activity: Pay claim}}",
            Occurs(parse_expression("a > 1"), among=PAID.condition),
        ),
        (
            "{sequence: [{activity: Pay claim}, a == 1], order: leads to cyclically}",
            EventSequence(PAID, Occurs(parse_expression("a == 1")), Order.LEADS_TO_CYCLICALLY),
        ),
        (
            "{sequence: [a == 1, {when: b == 1, occurrence: onset}], order: follows}",
            EventSequence(
                Occurs(parse_expression("a == 1")),
                Occurs(parse_expression("b == 1"), Occurrence.ONSET),
                Order.FOLLOWS,
            ),
        ),
    ],
)
def test_conditions_on_events(written: str, meant: EventCondition) -> None:
    assert counted(written) == meant


def timed(written: str) -> TimeMeasure:
    measure = measured(f"{{mean: {{time: {written}}}}}").measure
    assert isinstance(measure, AggregatedMeasure)
    assert isinstance(measure.base, TimeMeasure)
    return measure.base


def test_a_clock_can_stop_and_keep_to_working_hours() -> None:
    found = timed(
        "{from: case start, to: case end, while: status != 1, "
        "calendar: 'Mon-Fri 09:00-17:00; except holidays in DE'}"
    )
    assert found == TimeMeasure(
        CaseBorder.START,
        CaseBorder.END,
        running=parse_expression("status != 1"),
        calendar=parse_calendar("Mon-Fri 09:00-17:00; except holidays in DE"),
    )


def test_an_open_cycle_is_left_out_or_takes_the_value() -> None:
    cycles = "from: {activity: Pay claim}, to: a == 1, cycles: max"
    found = timed(f"{{{cycles}, open: no value}}")
    assert (found.cycles, found.open_cycle) == (Cycles.MAX, OpenCycle.NO_VALUE)
    assert timed(f"{{{cycles}, open: left out}}") == timed(f"{{{cycles}}}")


def test_a_sequence_can_be_an_instant_and_be_picked() -> None:
    sequence = "{sequence: [a == 1, b == 1], order: follows}"
    found = timed(f"{{from: {sequence}, to: {{first: {sequence}}}}}")
    assert isinstance(found.start, EventSequence)
    assert (found.start_pick, found.end, found.end_pick) == (Pick.FIRST, found.start, Pick.FIRST)


CALENDARS = """\
log: l
ppis:
  - {id: x, measure: {mean: {time: {from: case start, to: case end, calendar: office}}}}
calendars: {office: "Mon-Fri 09:00-17:00", round-the-clock: always}
"""


def test_a_calendar_is_named_once_wherever_it_stands() -> None:
    (found,) = parse_catalogue(CALENDARS).ppis
    assert isinstance(found.measure, AggregatedMeasure)
    assert isinstance(found.measure.base, TimeMeasure)
    assert found.measure.base.calendar == parse_calendar("Mon-Fri 09:00-17:00")


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "hint"),
    [
        ("calendar: office", "calendar: offce", (3, 79), "unknown calendar 'offce'", "'office'"),
        ("calendar: office", "calendar: Mon-Fri", (3, 79), "unknown calendar", "round-the-clock"),
        ("calendar: office", "calendar: 9 to 5", (3, 79), "is not a calendar", "Mon-Fri 09:00"),
        ("09:00", "25:00", (4, 21), "is not a calendar", "Mon-Fri 09:00"),
        ("round-the-clock", "always", (4, 44), "'always' cannot be a calendar's name", "letters"),
    ],
)
def test_a_calendar_that_is_none_is_explained_once(
    old: str, new: str, place: tuple[int, int], message: str, hint: str
) -> None:
    problem, *more = problems_of(CALENDARS.replace(old, new))
    assert not more
    assert message in problem.message
    assert hint in problem.hint
    assert (problem.position.line, problem.position.column) == place


def single(written: str) -> SingleInstance:
    measure = measured(f"{{share: {written}}}").measure
    assert isinstance(measure, AggregatedMeasure)
    return measure.base


def test_states_are_of_an_activity_of_events_or_of_the_case() -> None:
    done = parse_expression('`lifecycle:transition` in ("complete", "COMPLETE", "Complete")')
    short = single("{state: {activity: Pay claim, transition: complete}}")
    assert short == StateMeasure(done, PAID.condition)
    assert short == single("{state: {of: {activity: Pay claim}, is: {transition: complete}}}")
    assert single("{state: {is: a == 1}}") == StateMeasure(parse_expression("a == 1"))


@pytest.mark.parametrize(("word", "missing"), [(each.value, each) for each in Missing])
def test_what_a_formula_gives_without_a_value_can_be_said(word: str, missing: Missing) -> None:
    found = single(f"{{derive: a > 1, missing: {word}, a: {{data: b}}}}")
    variables = (("a", DataMeasure("b")),)
    assert found == DerivedSingleInstance(parse_expression("a > 1"), variables, missing)


def test_cases_are_numbered_without_bounds() -> None:
    found = measured("{number: cases, where: {data: ok}, by: {data: c, values: [p]}}")
    assert found.measure == AggregatedMeasure(
        Aggregation.COUNT,
        DerivedSingleInstance(TruthLiteral(value=True), ()),
        DataMeasure("ok"),
        Grouping(DataMeasure("c"), ("p",)),
        UNIT_INTERVAL,
    )
    assert found.unit == NUMBER
    timed = measured("{number: {time: {from: case start, to: case end}}}")
    assert timed.measure == AggregatedMeasure(
        Aggregation.COUNT, TimeMeasure(CaseBorder.START, CaseBorder.END), bounds=UNIT_INTERVAL
    )
    assert timed.unit == NUMBER


# --- scopes ---------------------------------------------------------------------------

MONTHS = Grid(Calendar.MONTH)
IS_PAID = ConditionMeasure(PAID)
STARTED, ENDED = DataMeasure("timestamp", Pick.FIRST), DataMeasure("timestamp", Pick.LAST)


def chosen(formula: str, **variables: SingleInstance) -> Scope:
    return Scope(
        None, cases=DerivedSingleInstance(parse_expression(formula), tuple(variables.items()))
    )


@pytest.mark.parametrize(
    ("written", "scope"),
    [
        ("every 2 weeks", Scope(Grid(Calendar.WEEK, 2))),
        ("every quarter", Scope(Grid(Calendar.QUARTER))),
        ("whole time", Scope(None)),
        ("between 2014-01-01 and 2014-06-30", Scope(None, date(2014, 1, 1), date(2014, 7, 1))),
        ("last 6 months", Scope(None, recent=Recent(6, Calendar.MONTH))),
        ("last year", Scope(None, recent=Recent(1, Calendar.YEAR))),
        ("every month in the last 2 years", Scope(MONTHS, recent=Recent(2, Calendar.YEAR))),
        ("last 500 cases", Scope(None, last_cases=500)),
        (
            "{last cases: 500, recent: 6 months}",
            Scope(None, None, None, Recent(6, MONTHS.unit), 500),
        ),
        ("{every: month, recent: 2 years}", Scope(MONTHS, recent=Recent(2, Calendar.YEAR))),
        ("{from: 2014-01-01}", Scope(None, date(2014, 1, 1))),
        (
            "{every: month, from: 2014-01-01, until: 2015-01-01}",
            Scope(MONTHS, date(2014, 1, 1), date(2015, 1, 1)),
        ),
        ("{cases: {data: ok}}", Scope(None, cases=DataMeasure("ok"))),
        ("{every: month, finished: {activity: Pay claim}}", Scope(MONTHS, cases=IS_PAID)),
        ("{all: [{finished: {activity: Pay claim}}]}", Scope(None, cases=IS_PAID)),
        ("{ongoing: {activity: Pay claim}}", chosen("not finished", finished=IS_PAID)),
        ("{started: before 2014-01-01}", chosen("started < 2014-01-01", started=STARTED)),
        ("{ended: after 2014-01-31}", chosen("ended >= 2014-02-01", ended=ENDED)),
        (
            "{finished: {activity: Pay claim}, not: {ended: before 2014-01-01}}",
            chosen("finished and not ended < 2014-01-01", finished=IS_PAID, ended=ENDED),
        ),
        (
            "{any: [{cases: {data: a}}, {cases: {data: b}}, {not: {cases: {data: a}}}]}",
            chosen("cases or cases2 or not cases", cases=DataMeasure("a"), cases2=DataMeasure("b")),
        ),
        ("{anchor: case start}", Scope(None, anchor=Anchor(CaseBorder.START))),
        ("{anchor: {activity: Pay claim}}", Scope(None, anchor=Anchor(PAID))),
        ("{anchor: {first: {activity: Pay claim}}}", Scope(None, anchor=Anchor(PAID, Pick.FIRST))),
    ],
)
def test_scopes(written: str, scope: Scope) -> None:
    assert measured("{sum: {count: a == 1}}", f"scope: {written}").scope == scope


# --- targets --------------------------------------------------------------------------

BY_CHANNEL = (
    "{mean: {time: {from: case start, to: case end}}, by: {data: c, values: [web, '1', x y]}}"
)


def below(days: int) -> Target:
    return Target(None, Fraction(days * DAY), high_included=False)


def test_a_target_can_have_bands() -> None:
    found = measured(BY_CHANNEL, "target: {green: below 7 days, amber: below 10 days}")
    assert (found.target, found.tolerated, found.group_targets) == (below(7), below(10), ())


def test_a_target_can_be_of_single_groups() -> None:
    found = measured(
        BY_CHANNEL,
        "target:",
        "  groups: {web: below 3 days, 1: {green: below 4 days, amber: below 96.5 hours}}",
        "  otherwise: below 7 days",
    )
    assert found.target == below(7)
    assert found.group_targets == (
        GroupTarget("web", below(3)),
        GroupTarget("1", below(4), Target(None, Fraction(193 * DAY, 48), high_included=False)),
    )
    alone = measured(BY_CHANNEL, "target: {groups: {x y: below 3 days}}")
    assert (alone.target, alone.group_targets) == (None, (GroupTarget("x y", below(3)),))


@pytest.mark.parametrize(
    ("green", "amber", "contained"),
    [
        ("below 7 days", "at most 7 days", True),
        ("at most 7 days", "below 7 days", False),
        ("above 7 days", "at least 7 days", True),
        ("at least 7 days", "above 7 days", False),
        ("below 7 days", "below 7 days", True),
        ("between 1 and 2 days", "below 3 days", True),
        ("below 3 days", "between 1 and 4 days", False),
        ("between 1 and 2 days", "above 1 and at most 2 days", False),
    ],
)
def test_amber_must_go_as_far_as_green(green: str, amber: str, contained: bool) -> None:  # noqa: FBT001
    lines = (TIME, f"target: {{green: {green}, amber: {amber}}}")
    if contained:
        assert ppi(*lines).tolerated is not None
    else:
        problem = problem_of(*lines)
        assert problem.message == "the tolerated range must include all of the target"
        assert (problem.position.line, problem.position.column) == (
            5,
            len(f"    {lines[1][: -len(amber)]}"),
        )


# --- problems -------------------------------------------------------------------------

SUM = "measure: {sum: {count: a == 1}}"
TIME = "measure: {mean: {time: {from: case start, to: case end}}}"
COUNTED = "measure: {{sum: {{count: {}}}}}"
CLOCK = "measure: {{sum: {{time: {{from: a == 1, to: b == 1, {}}}}}}}"
MANY = ", ".join(f"{{finished: a == {number}}}" for number in range(41))
RATIO = "measure: {derive: a / b, a: {sum: {count: x == 1}}, b: {sum: {count: y == 1}}}"


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        (["mesure: {}"], "unknown key 'mesure'", "did you mean 'measure'?"),
        (["name: x"], "a PPI needs the key 'measure'", ""),
        (["measure: {count: a == 1}"], "'count' is not allowed here", "{sum: {count: …}}"),
        (["measure: {sum: {mean: {}}}"], "'mean' is not allowed here", "one case"),
        (["measure: {sun: {count: a == 1}}"], "not a measure of many cases", ""),
        (["measure: {summ: {count: a == 1}}"], "not a measure", "did you mean 'sum'?"),
        (["measure: [1]"], "expected a measure of many cases, found a list", ""),
        (["measure: {sum: {count: ER Triage}}"], "did not expect", "{activity: ER Triage}"),
        ([SUM, "bounds: [1, 0]"], "lower bound must be below", ""),
        ([SUM, "bounds: [0]"], "expected bounds as [low, high], found a list", ""),
        ([SUM, "bounds: [0, nan]"], "expected a number", "60 days"),
        ([SUM, "bounds: [0, inf]"], "expected a number", "60 days"),
        ([SUM, "bounds: [-.inf, 5]"], "expected a number", "60 days"),
        ([SUM, "bounds: [1, 0, loose]"], "lower bound must be below", ""),
        ([SUM, "bounds: [1, 2, tight]"], "can follow the two bounds, not 'tight'", "or private"),
        ([SUM, "bounds: [1, 2, 3]"], "can follow the two bounds, not '3'", "[low, high, loose]"),
        ([SUM, "bounds: [1, 2, loose, 3]"], "expected bounds as [low, high], found a list", ""),
        ([SUM, "bounds: loose"], "expected bounds as [low, high], found 'loose'", "or private"),
        ([SUM, "bounds: privat"], "found 'privat'", "did you mean 'private'?"),
        ([SUM, "bounds: []"], "expected bounds as [low, high], found an empty list", ""),
        ([SUM, "bounds: {value: private}"], "output range is written as [low, high]", ""),
        ([SUM, "bounds: {value: [0, 9, loose]}"], "output range is written as", ""),
        ([SUM, "release: laplace"], "expected a release, found 'laplace'", ""),
        ([SUM, "release: {mecanism: laplace}"], "unknown key", "did you mean 'mechanism'?"),
        ([SUM, "release: {mechanism: 2-bin}"], "expected a mechanism, found '2-bin'", "two-bin"),
        ([SUM, "release: {mechanism: la_place}"], "a mechanism, found 'la_place'", "two-bin"),
        ([SUM, "release: {answer: verdikt}"], "found 'verdikt'", "did you mean 'verdict'?"),
        ([SUM, "release: {falloff: lots}"], "expected a number, found 'lots'", "3"),
        ([SUM, "release: {falloff: .nan}"], "expected a number, found '.nan'", "3"),
        ([SUM, "release: {buckets: -5}"], "expected a whole number, found '-5'", "20"),
        ([SUM, "release: {buckets: 2.5}"], "expected a whole number, found '2.5'", "20"),
        ([SUM, "release: {buckets: 1000000000}"], "expected a whole number", "20"),
        ([SUM, "release: {noise: []}"], "found an empty list", ""),
        ([SUM, "bounds: [0, 1 day]"], "this must be a plain number", "write 1"),
        ([SUM, "bounds: {a: [0, 1]}"], "bounds for 'a'", "write bounds: [low, high]"),
        ([TIME, "bounds: [0, 60]"], "this is about a duration: 60 of what?", "60 hours"),
        ([TIME, "bounds: [0, 60 dyas]"], "'dyas' is not a unit of time", "did you mean 'days'?"),
        ([TIME, "unit: EUR"], "'EUR' is not a unit of time", "'hours'"),
        ([TIME, "target: below 7 EUR"], "'EUR' is not a unit of time", ""),
        ([TIME, "target: less than 7"], "expected a target", "write e.g. below 7 days"),
        ([TIME, "target: between 2 and 1"], "lower limit of the target", ""),
        ([SUM, "target: below 7 %"], "'%' does not fit", "unit: %"),
        ([SUM, "scope: monthly"], "expected a scope, found 'monthly'", "every month"),
        ([SUM, "scope: every 999 days"], "from 1 to 366", ""),
        ([SUM, "scope: between 2014-02-30 and 2014-03-01"], "not a valid date", ""),
        ([SUM, "scope: {every: day, from: 1900-01-01, until: 2199-01-01}"], "5,000 periods", ""),
        ([SUM, "scope: {every: day, from: 2014-01-02, until: 2014-01-02}"], "a day after", ""),
        ([SUM, "epsilon: 0"], "epsilon must be above 0", ""),
        ([SUM, "epsilon: lots"], "expected an epsilon, found 'lots'", "0.1"),
        ([SUM, "name:"], "expected a text, found nothing", ""),
        ([RATIO, "bounds: [0, 1]"], "for each of its variables", "'a' and 'b'"),
        ([RATIO, "bounds: {aa: [0, 1]}"], "bounds for 'aa'", ""),
        (["measure: {derive: a / bb, a: {sum: {count: x == 1}}}"], "unknown variable 'bb'", ""),
        (
            ["measure: {derive: a, a: {sum: {count: x == 1}}, b: {sum: {count: x == 1}}}"],
            "does not use the variable 'b'",
            "",
        ),
        (["measure: {derive: 1}"], "needs a variable", ""),
        (["measure: {derive: a, value: {}, a: {sum: {count: x == 1}}}"], "'value' cannot be", ""),
        (["measure: {share: {condition: a == 1}}", "unit: EUR"], "cannot be shown in 'EUR'", ""),
        (
            ["measure: {share: {condition: a == 1}, among: {data: b}, where: {data: b}}"],
            "'among' and 'where' mean the same",
            "keep one",
        ),
        (
            ["measure: {sum: {count: a == 1}, bounds: [0, 1]}", "bounds: [0, 1]"],
            "are given twice",
            "keep one",
        ),
        (
            ["measure: {sum: {count: a == 1}, by: {data: c, values: [p, p]}}"],
            "'p' appears twice",
            "",
        ),
        ([SUM, SUM], "the key 'measure' appears twice; first in line 4", ""),
        (["measure: {sum: {count: &a x == 1}}"], "anchors (&a) are not allowed", ""),
        (["measure: {sum: {count: !x y}}"], "YAML tag", "in quotes"),
        (['measure: {sum: {count: "a == \\x1b"}}'], "control character", ""),
        (["target: >= 5", SUM], "this is not YAML", "in quotes"),
        ([COUNTED.format("{sequence: [a == 1], order: follows}")], "a list of two", ""),
        ([COUNTED.format("{sequence: [a == 1, b == 1]}")], "needs the key 'order'", ""),
        ([COUNTED.format("{sequence: [a, b], order: leads}")], "found 'leads'", "'leads to'"),
        (
            [COUNTED.format("{sequence: [a, {sequence: [b, c], order: follows}], order: follows}")],
            "'sequence' is not allowed here",
            "two steps",
        ),
        ([COUNTED.format("{first: {activity: A}}")], "not a condition on events", "'activity'"),
        ([COUNTED.format("{activity: A, trnsition: b}")], "unknown key", "'transition'?"),
        ([COUNTED.format("{activity: A, among: {when: b}}")], "not a test of an event", ""),
        ([CLOCK.format("cycles: sum, while: a == 1")], "only 'while' a condition", "remove the"),
        ([CLOCK.format("open: no value")], "'open' applies to cycles only", "add 'cycles'"),
        ([CLOCK.format("cycles: sum, open: dropped")], "found 'dropped'", "'left out'"),
        ([CLOCK.format("while: {activity: }")], "expected an activity, found nothing", ""),
        ([CLOCK.format("calendar: office")], "unknown calendar 'office'", "name it in 'calendars'"),
        (["measure: {state: {is: a}}"], "'state' is not allowed here", "{share: {state: …}}"),
        (["measure: {share: {state: {of: a}}}"], "'of' is not allowed here", "{of: …, is: …}"),
        (["measure: {share: {state: {activity: A}}}"], "needs the key 'transition'", ""),
        (["measure: {sum: {number: cases}}"], "'number' is not allowed here", "one case"),
        (["measure: {number: case}"], "expected 'cases', found 'case'", "'cases'?"),
        (["measure: {number: cases, bounds: [0, 1]}"], "unknown key 'bounds'", ""),
        (["measure: {number: cases}", "bounds: [0, 1]"], "each case counts as 1", "remove"),
        (
            ["measure: {mean: {derive: a + 1, missing: 'true', a: {count: b == 1}}}"],
            "this formula gives a number, which is never true",
            "'left out'",
        ),
        ([SUM, "scope: last 0 cases"], "from 1 to 1,000,000", ""),
        ([SUM, "scope: {last cases: 1000001}"], "from 1 to 1,000,000", ""),
        ([SUM, "scope: last 367 days"], "from 1 to 366", ""),
        ([SUM, "scope: every month in the last 0 years"], "from 1 to 366", ""),
        ([SUM, "scope: {}"], "this scope is empty", "every month"),
        ([SUM, "scope: {recent: 2 years, from: 2014-01-01}"], "'recent' ends now", "'until'"),
        ([SUM, "scope: {last cases: 5, every: month}"], "one period", "'every'"),
        ([SUM, "scope: {cases: {count: a == 1}}"], "chosen by a truth value", "compare it"),
        (
            [SUM, "scope: {started: since 2014-01-01}"],
            "expected 'before' or 'after'",
            "before 2014",
        ),
        ([SUM, "scope: {ended: before 2014-02-30}"], "not a valid date", ""),
        ([SUM, "scope: {all: []}"], "found an empty list", ""),
        ([SUM, "scope: {not: {}}"], "this is not a condition on cases", "'finished'"),
        ([SUM, "scope: {not: {every: month}}"], "unknown key 'every'", "'cases'"),
        ([SUM, f"scope: {{all: [{MANY}]}}"], "at most 40 conditions on cases", ""),
        ([SUM, "scope: {anchor: {last: case end}}"], "did not expect 'end'", ""),
        ([TIME, "target: below 1 and below 2"], "the same limit twice", "at least 1 and below 2"),
        ([TIME, "target: at least 2 and below 1"], "lower limit of the target", ""),
        ([TIME, "target: {amber: below 1}"], "'amber' is not allowed here", "{green: …, amber: …}"),
        ([TIME, "target: {green: below 1, yellow: below 2}"], "unknown key 'yellow'", "'amber'"),
        ([TIME, "target: {groups: {}}"], "no group is given", ""),
        ([TIME, "target: {groups: {web: below 3}}"], "this PPI has no group 'web'", "group the"),
        (
            [f"measure: {BY_CHANNEL}", "target: {groups: {wed: below 3}}"],
            "this PPI has no group 'wed'",
            "did you mean 'web'?",
        ),
    ],
)
def test_a_problem_is_explained(lines: list[str], message: str, hint: str) -> None:
    problem = problem_of(*lines)
    assert message in problem.message
    assert hint in problem.hint


def test_all_problems_come_at_once_in_order_with_their_places() -> None:
    text = """\
lgo: claims
ppis:
  - id: 1x
    measure: {mean: {time: {from: case start, to: case end}, unit: dayz}}
  - id: b
    measure:
      derive: 100 * rejcted / received
      rejected: {sum: {count: activity = "Reject claim"}}
      received: {sum: {count: "activity == 'Receive' claim"}}
    scope: every mnth
  - id: c
    measure: {sum: {count: a == 1}}
    target: |
      soon
"""
    assert [str(problem) for problem in problems_of(text)] == [
        "c.yaml:1:1: error: unknown key 'lgo' (did you mean 'log'?)",
        (
            "c.yaml:3:9: error: expected an id of letters, digits, - and _, starting with a letter,"
            " found '1x' (write e.g. waiting-time)"
        ),
        "c.yaml:4:68: error: 'dayz' is not a unit of time (did you mean 'days'?)",
        "c.yaml:7:21: error: unknown variable 'rejcted' (did you mean 'rejected'?)",
        "c.yaml:8:40: error: '=' is not allowed here (to compare, write '==')",
        "c.yaml:9:54: error: did not expect 'claim' here",
        "c.yaml:10:12: error: expected a scope, found 'every mnth' (write e.g. every month)",
        "c.yaml:13:13: error: expected a target, found 'soon\\n' (write e.g. below 7 days)",
    ]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("derive: |\n        a +\n        = b", 7, 9),
        ("derive: >-\n        a\n        = b", 7, 9),
        ("derive: a\n        = b", 6, 9),
        ('derive: "\\u0061 = b"', 5, 23),
        ("derive: 'a == ''x'' = b'", 5, 27),
        ("derive: äöü = b", 5, 19),
    ],
)
def test_a_problem_in_an_expression_points_at_the_character_typed(
    text: str, line: int, column: int
) -> None:
    catalogue = f"log: l\nppis:\n  - id: x\n    measure:\n      {text}\n"
    (problem,) = problems_of(catalogue)
    assert (problem.position.line, problem.position.column) == (line, column)


def test_a_text_that_yaml_cut_at_a_comma_is_explained() -> None:
    text = "log: l\nppis: [{id: x, measure: {sum: {count: a in (1, 2)}}}]"
    first, _ = problems_of(text)
    assert first.hint == "inside { } a comma ends a text: put the whole expression in quotes"


def test_ids_are_unique() -> None:
    text = "log: l\nppis:\n" + "  - {id: x, measure: {sum: {count: a == 1}}}\n" * 2
    (problem,) = problems_of(text)
    assert str(problem) == "c.yaml:4:10: error: the id 'x' is already used by the PPI in line 3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("- 1", "expected a catalogue, found a list"),
        ("log: l\n---\nlog: m", "another one starts here"),
        ("[" * 100, "nested more than 40 levels deep"),
        ("a: [" + "1," * 30_000 + "]", "more than 20,000 values"),
        ("#" * 1_000_001, "more than 1,000,000 characters"),
        ("log: *a", "aliases (*name) are not allowed"),
        ("? {a: b}\n: c", "a key must be a text"),
        ("log: \x00", "not allowed in YAML"),
        ("log: \ud800", "not allowed in YAML"),
    ],
)
def test_what_is_no_catalogue_is_refused_early(text: str, message: str) -> None:
    assert any(message in problem.message for problem in problems_of(text))


def test_reading_stops_after_many_problems() -> None:
    text = "log: l\nppis:\n" + "  - {idd: x}\n" * 1_000
    assert len(problems_of(text)) == 201


def test_a_file_that_is_not_there_or_not_text_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_definitions(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("log: caf\xe9".encode("latin-1"))
    with pytest.raises(DefinitionError, match="not UTF-8"):
        read_definitions(tmp_path / "latin.yaml")


STRANGE = ["  - {", "}", "]", "? a", "*a", "&a b", "'", '"', "|", "log: [", "\t", "\x85", "\u2028"]
EXAMPLE = (PAPER / "claims.yaml").read_text().splitlines()
EVERY_FORM = GOOD["every form"].splitlines()


def explained(text: str) -> bool:
    """Whether a text is a catalogue or its problems are told."""
    try:
        return bool(parse_catalogue(text).ppis)
    except DefinitionError as error:
        return bool(error.problems)


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(EXAMPLE + EVERY_FORM + STRANGE)).map("\n".join))
)
def test_any_text_is_a_catalogue_or_explained(text: str) -> None:
    assert explained(text)


@given(
    st.sampled_from([EXAMPLE, EVERY_FORM]),
    st.integers(0, 100),
    st.integers(0, 60),
    st.sampled_from(STRANGE),
)
def test_a_damaged_example_is_explained(
    example: list[str], start: int, length: int, strange: str
) -> None:
    assert explained("\n".join([*example[:start], strange, *example[start + length :]]))


def test_groups_are_read_under_the_name_they_had_once() -> None:
    now = measured("{sum: {count: a == 1}, by: {data: c, values: [web, phone]}}")
    assert measured("{sum: {count: a == 1}, by: {data: c, keys: [web, phone]}}") == now
    both = "measure: {sum: {count: a == 1}, by: {data: c, values: [web], keys: [web]}}"
    assert "unknown key 'keys'" in str(problem_of(both))
