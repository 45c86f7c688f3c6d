"""What bounds cut off is counted, told, and never hidden behind a firm verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks import clipping as benchmark
from pappi.checkpoint.answers import answer_of, clipping_text, covered_text
from pappi.checkpoint.queries import planned, plans_of
from pappi.custody import NewLog
from pappi.ledger import KeyState
from pappi.mechanisms import (
    FAR_WIDTHS,
    BeyondBounds,
    Clipped,
    Contribution,
    PresenceClass,
    hidden_by_bounds,
    joint_members,
    read_set,
)
from pappi.mechanisms.beyond import FORECAST, JUDGED
from pappi.mechanisms.joint import written_set
from pappi.planning import (
    Plan,
    advice_on,
    alternatives_to,
    as_if_uncut,
    chance_to_decide,
    plan_alone,
    plan_by_need,
    plan_each,
    plan_ppi,
    plan_set,
    sides_cut,
)
from pappi.ppinot import (
    WRITTEN,
    AggregatedMeasure,
    Catalogue,
    parse_catalogue,
    parse_definitions,
    reduced_form,
    write_definitions,
)
from pappi.report import answers_table, series_html
from pappi.report.wording import judged_text, telling_text
from pappi.series import smoothed_all
from pappi.session import Workspace
from pappi.values import (
    ZERO,
    Adjacency,
    Bounds,
    Epsilon,
    Kind,
    Series,
    Terms,
    Verdict,
    Vocabulary,
)
from tests.public_logs import public_log
from tests.small_logs import claims, workspace_with
from tests.unit.test_tables import printed

pytestmark = pytest.mark.outside

TEN = Bounds(Fraction(0), Fraction(10))
MEAN = Contribution("mean", TEN, integral=False, counts_beyond=True)
VOCABULARY = Vocabulary(("A", "B"), {"cost": Kind.NUMBER})
PLENTY = Epsilon.of(50)

# Claims take one to five days: of each five, two longer than three.
STAY = """
log: small
ppis:
  - id: stay
    name: Stay
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, BOUND days]
    target: below TARGET days
"""


def stay(bound: float = 3, target: float = 2.6, release: str = "") -> Catalogue:
    text = STAY.replace("BOUND", f"{bound:g}").replace("TARGET", f"{target:g}")
    return parse_catalogue(text + (f"    release: {release}\n" if release else ""))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    terms = Terms(block_budget=Epsilon.of(500))
    return workspace_with(tmp_path / "w", claims(900), NewLog(terms=terms))


# --- what is counted ----------------------------------------------------------------------------


def beyond_in(members: tuple[Contribution, ...], rows: Sequence[tuple[float, ...]]) -> int:
    statistics = PresenceClass(members, everyone=True).statistics(np.array(rows, np.float64))
    difference, number = statistics[-2:]
    return (difference + number) // 2


def test_a_case_is_beyond_if_one_of_its_told_values_is() -> None:
    untold = replace(MEAN, counts_beyond=False)
    rows = [(5.0, 5.0), (11.0, 5.0), (11.0, -1.0), (5.0, -0.1), (np.inf, 5.0)]
    assert beyond_in((MEAN, MEAN), rows) == 4
    assert beyond_in((MEAN, untold), rows) == 3
    assert beyond_in((untold, MEAN), rows) == 2


def test_a_value_at_a_bound_is_not_cut_and_neither_is_none() -> None:
    assert beyond_in((MEAN,), [(0.0,), (10.0,), (np.nan,)]) == 0
    assert beyond_in((MEAN,), [(np.nextafter(0.0, -1),), (np.nextafter(10.0, 11),)]) == 2


def test_a_sum_counts_cut_values_as_the_bound_also_where_bounds_leave_zero_out() -> None:
    """A case without a value adds nothing, and one below the lowest adds the lowest."""
    for low, high, values in ((5, 9, [1, 7, 20, np.nan]), (-9, -5, [-1, -7, -20, np.nan])):
        cost = Contribution("sum", Bounds(Fraction(low), Fraction(high)), integral=True)
        shape = (PresenceClass((cost,), everyone=True),)
        (member,) = joint_members(shape, Fraction(1000), Adjacency.ADD_REMOVE)
        released = member.release(np.array([values], np.float64).T)
        assert member.estimate(released).value == pytest.approx(np.sign(low) * (5 + 7 + 9))


def test_a_class_that_counts_nothing_is_as_it_was_on_record() -> None:
    plain = PresenceClass((replace(MEAN, counts_beyond=False),), everyone=True)
    assert written_set((plain,)) == '[["all", [["mean", "0", "10", false, 2097152]]]]'
    for shape in (
        (plain,),
        (PresenceClass((MEAN, replace(MEAN, counts_beyond=False)), everyone=False),),
    ):
        assert read_set(written_set(shape)) == shape


@pytest.mark.parametrize(
    ("measure", "bounds", "expected"),
    [
        ("{mean: {time: {from: case start, to: case end}}}", "[0 days, 9 days]", (False, True)),
        ("{mean: {time: {from: case start, to: case end}}}", "[1 days, 9 days]", (True, True)),
        ("{sum: {count: true}}", "[0, 4]", (False, True)),
        ("{mean: {data: cost}}", "[0, 4]", (True, True)),
        ('{share: {condition: activity == "A"}}', None, (False, False)),
        ("{number: cases}", None, (False, False)),
        ("{mean: {data: cost}}", "private", (False, False)),
    ],
)
def test_which_sides_bounds_can_cut_follows_from_the_definition(
    measure: str, bounds: str | None, expected: tuple[bool, bool]
) -> None:
    declared = "" if bounds is None else f", bounds: {bounds}"
    (ppi,) = parse_catalogue(f"log: l\nppis: [{{id: x, measure: {measure}{declared}}}]").ppis
    assert isinstance(ppi.measure, AggregatedMeasure)
    assert sides_cut(ppi.measure, VOCABULARY) == expected


# --- the share, from noisy counts -----------------------------------------------------------------


def test_the_share_and_its_limits() -> None:
    counted = BeyondBounds(-28.0, 100.0, 8.0, 8.0)  # 36 of 100
    assert counted.share == 0.36
    low, high = counted.limits(0.975)
    assert 0.30 < low < 0.36 < high < 0.42
    pool = counted + counted + counted
    assert (float(pool.share), float(pool.cases)) == (0.36, 300.0)
    assert high - low > 1.6 * (pool.limits(0.975)[1] - pool.limits(0.975)[0])


@pytest.mark.parametrize("cases", [-3.0, 0.0, 2.0])
def test_of_no_cases_to_speak_of_every_share_is_possible(cases: float) -> None:
    least, most = BeyondBounds(0.0, cases, 8.0, 8.0).limits(0.95)
    assert (float(least), float(most)) == (0.0, 1.0)


def test_limits_hold_as_often_as_they_say() -> None:
    """Both limits of the released count, wherever the share lies; each by itself."""
    (mechanism,) = joint_members(
        (PresenceClass((MEAN,), everyone=True),), Fraction(1, 2), Adjacency.ADD_REMOVE
    )
    for share in (0.0, 0.1, 0.5):
        values = np.where(np.arange(60) < 60 * share, 11.0, 5.0)
        drawn = [mechanism.beyond(mechanism.release(values)) for _ in range(400)]
        limits = [each.limits(0.95) for each in drawn if each is not None]
        assert len(limits) == 400
        assert np.mean([low <= share + 1e-9 for low, _ in limits]) > 0.91
        assert np.mean([high >= share - 1e-9 for _, high in limits]) > 0.91


# --- what is planned ------------------------------------------------------------------------------


def test_a_mean_or_sum_that_bounds_can_cut_is_told_unless_that_is_off(workspace: Workspace) -> None:
    log = workspace.log("small").public
    (told,) = plans_of(stay(), None, log)
    (off,) = plans_of(stay(release="{clipping: off}"), None, log)
    assert (told.mechanism, told.tells_beyond) == ("joint", True)
    assert (off.mechanism, off.tells_beyond) == ("two-bin", False)
    for choice in ("{mechanism: two-bin}", "{answer: verdict}", "{mechanism: threshold}"):
        (chosen,) = plans_of(stay(release=choice), None, log)
        assert not chosen.tells_beyond


MIXED = """
log: planned
ppis:
  - {id: events, measure: {sum: {count: true}}, bounds: [0, 3]}
  - {id: any, measure: {share: {condition: 'activity == "B"'}}}
  - {id: stay, measure: {mean: {time: {from: case start, to: case end}}}, bounds: [0 h, 9 h]}
  - {id: cost, measure: {mean: {data: cost}}, bounds: [0, 500]}
  - {id: dear, measure: {mean: {data: cost}}, bounds: [0, 900], release: {clipping: off}}
"""


def test_one_count_does_for_all_of_a_class() -> None:
    ppis = parse_catalogue(MIXED).ppis
    plans = {plan.ppi.id: plan for plan in plan_set(ppis, Epsilon.of(1), public_log(VOCABULARY))}
    assert {ppi: plan.tells_beyond for ppi, plan in plans.items()} == {
        "events": True,
        "any": False,
        "stay": True,
        "cost": True,
        "dear": False,
    }
    assert plans["cost"].cut_with == ("cost",)
    mechanism = plans["events"].measurements[0].mechanism
    outcome = mechanism.release(np.empty((0, 5)))
    of_all, of_cost = 4, 2  # with the time of the whole case, which every case has
    assert plans["stay"].cut_with == ("events", "stay")
    assert len(outcome) == of_all + 1 + of_cost + 2


@pytest.mark.parametrize("notation", WRITTEN)
def test_every_notation_keeps_that_clipping_is_off(notation: str) -> None:
    (ppi,) = stay(release="{clipping: off}").ppis
    written = write_definitions(stay(release="{clipping: off}"), notation)
    (read,) = parse_definitions(written, notation, "x", "small").catalogue.ppis
    assert read.release == ppi.release
    assert not read.release.clipping


def test_a_preview_says_what_telling_costs(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    (quote,) = session.preview(stay())
    (off,) = session.preview(stay(release="{clipping: off}"))
    assert quote.untold == off.interval_half_width
    assert quote.interval_half_width is not None
    assert quote.untold is not None
    assert 1.1 * quote.untold < quote.interval_half_width < 1.35 * quote.untold
    assert "`release: {clipping: off}` avoids that" in telling_text(quote)
    assert telling_text(off) == ""
    assert telling_text(replace(quote, untold=quote.interval_half_width)) == ""
    assert [each.mechanism for each in quote.options if each.chosen] == ["joint"]


# --- what is answered -----------------------------------------------------------------------------


def released(workspace: Workspace, catalogue: Catalogue) -> Series:
    (series,) = workspace.checkpoint().release(catalogue, PLENTY, anyway=True)
    return series


def test_an_answer_says_how_many_cases_lie_beyond(workspace: Workspace) -> None:
    series = released(workspace, stay())
    assert series.beyond is not None
    assert series.beyond.share == pytest.approx(0.4, abs=0.02)
    assert series.clipping == "of values cut at 3 days; about 40 % of cases lie beyond"
    assert series.covers == "the mean of values cut at 3 days"
    for answer in series.answers:
        assert answer.beyond is not None
        assert answer.beyond.share == pytest.approx(0.4, abs=0.03)
        assert answer.beyond.below == 0
    shown = printed(answers_table(series))
    assert "⚠ of values cut at 3 days; about 40 % of cases lie beyond" in shown
    assert "≈ 40 %" in shown
    assert "interval of the mean of values cut at 3 days" in " ".join(shown.split())
    assert 'class="amber"' in series_html(series)


def test_bounds_that_cut_nothing_are_told_as_such_and_judge_as_ever(workspace: Workspace) -> None:
    series = released(workspace, stay(bound=10, target=4))
    assert series.clipping == "of values cut at 10 days; hardly any case lies beyond"
    assert "⚠" not in printed(answers_table(series))
    assert {answer.verdict for answer in series.answers} == {Verdict.MET}
    assert not any(answer.clipping_decides for answer in series.answers)


def test_a_bound_that_hides_the_truth_gives_no_firm_verdict(workspace: Workspace) -> None:
    """Clipped at three days the mean is 2.4 days, as it is 3."""
    series = released(workspace, stay(target=2.6))
    assert all((answer.interval.high or 9) < 2.6 for answer in series.answers)
    assert {answer.verdict for answer in series.answers} == {Verdict.UNDECIDED}
    assert all(answer.clipping_decides for answer in series.answers)
    assert {judged_text(answer) for answer in series.answers} == {
        "○ unclear, clipping could flip it"
    }
    (smoothed,) = smoothed_all([series])
    assert {answer.best.verdict for answer in smoothed.answers} == {Verdict.UNDECIDED}
    assert all(answer.best.clipping_decides for answer in smoothed.answers)


def test_a_chance_that_clipping_may_change_is_said_to_be_of_clipped_values(
    workspace: Workspace,
) -> None:
    """Clipped at three days the mean is 2.4 days, as it is 3; "97 % likely met" would mislead."""
    (series,) = workspace.checkpoint().release(stay(target=2.45), "0.3", anyway=True)
    said = [judged_text(answer) for answer in series.answers]
    by_chance = [text for text in said if "likely met" in text]
    assert by_chance
    assert all(text.endswith(" likely met as clipped") for text in by_chance)
    (series,) = workspace.checkpoint().release(stay(bound=5, target=3), "0.3", anyway=True)
    said = [judged_text(answer) for answer in series.answers]
    assert any(text.endswith(" likely met") for text in said)
    assert not any("as clipped" in text for text in said)


def test_what_clipping_cannot_turn_stays_firm(workspace: Workspace) -> None:
    """What is missed although long cases were cut is missed all the more."""
    series = released(workspace, stay(target=2))
    assert {answer.verdict for answer in series.answers} == {Verdict.MISSED}
    above = parse_catalogue(STAY.replace("BOUND", "3").replace("below TARGET", "above 2"))
    assert {a.verdict for a in released(workspace, above).answers} == {Verdict.MET}


def test_where_either_side_may_have_been_cut_neither_verdict_is_firm(workspace: Workspace) -> None:
    """Nobody knows that a damage is never negative."""
    for target in ("below 290", "above 200"):
        text = f"{{id: x, measure: {{mean: {{data: damage}}}}, bounds: [0, 350], target: {target}}}"
        series = released(workspace, parse_catalogue(f"log: small\nppis: [{text}]"))
        assert series.clipping.startswith("of values cut at 0 and 350; about 43 %")
        assert all(answer.clipping_decides for answer in series.answers)


def test_a_sum_counts_what_was_cut_in_cases(workspace: Workspace) -> None:
    text = """{id: days, unit: days, bounds: [0 days, 3 days], target: below 800 days,
               measure: {sum: {time: {from: case start, to: case end}}}}"""
    series = released(workspace, parse_catalogue(f"log: small\nppis: [{text}]"))
    (first, *_) = series.answers
    assert first.beyond is not None
    assert first.beyond.above == pytest.approx(300 * 0.4 * FAR_WIDTHS * 3, rel=0.1)
    assert {answer.verdict for answer in series.answers} == {Verdict.UNDECIDED}


def test_noise_never_makes_a_sum_of_times_negative(workspace: Workspace) -> None:
    """Told as "0 h, at most 40 h": with the count as without it."""
    text = """{id: hours, bounds: [0 days, 9 days], scope: every week,
               measure: {sum: {time: {from: case start, to: case end}}}CLIPPING}"""
    for clipping in ("", ", release: {clipping: off}"):
        asked = parse_catalogue(f"log: small\nppis: [{text.replace('CLIPPING', clipping)}]")
        (series,) = workspace.checkpoint().release(asked, "0.01", anyway=True)
        assert min(answer.value or 0.0 for answer in series.answers) == 0
        ends = [end for a in series.answers for end in (a.interval.low, a.interval.high)]
        assert all(end is not None and end >= 0 for end in ends)
        assert "−" not in printed(answers_table(series))


def answered(plan: Plan, workspace: Workspace, noisy: tuple[int, ...], pool: BeyondBounds) -> float:
    (period, *_) = (answer.period for answer in released(workspace, stay()).answers)
    log = workspace.log("small")
    answer = answer_of(plan, log, period, None, [noisy], KeyState.RELEASED, pool)
    assert answer.beyond is not None
    return answer.beyond.above


def test_a_period_is_judged_by_all_unless_it_surely_differs(workspace: Workspace) -> None:
    plan = planned(stay().ppis[0], Epsilon.of("0.5"), workspace.log("small").public)
    mechanism = plan.measurements[0].mechanism
    values = np.full(200, 1.0) * 86_400e6
    cut = (mechanism.law(np.where(np.arange(200) < some, 1e15, values)) for some in (6, 16, 100))
    few = mechanism.beyond(tuple(mechanism.law(values).centres))  # type: ignore[attr-defined]
    assert few is not None
    pool = few + few + few + few + few + few
    perhaps, near, far = (tuple(law.centres) for law in cut)  # type: ignore[attr-defined]
    alone = mechanism.beyond(perhaps)
    assert alone is not None
    assert answered(plan, workspace, perhaps, pool) == 0  # in the others, next to no case is cut
    assert answered(plan, workspace, perhaps, alone) > 3 * 0.05
    # Of itself it surely has some: 16 of 200 cases, give or take about as many.
    assert 3 * FAR_WIDTHS * 0.02 < answered(plan, workspace, near, pool) < 3 * FAR_WIDTHS * 0.08
    assert answered(plan, workspace, far, pool) > 3 * FAR_WIDTHS * 0.4


def test_a_forecast_is_as_cautious_as_the_epsilon_by_need_was_found_by() -> None:
    """It is part of a query's key; the judgement may become stricter."""
    own = BeyondBounds(-80.0, 100.0, 9.0, 9.0)
    clipped = Clipped(2.0, 1.5, 2.5, TEN, is_sum=False)
    (_, judged), (_, forecast) = (
        hidden_by_bounds(clipped, own, own, (False, True), caution)
        for caution in (JUDGED, FORECAST)
    )
    assert forecast == pytest.approx(judged / 4)


# --- words for what is not counted ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "said", "covers"),
    [
        (
            "measure: {median: {time: {from: case start, to: case end}, unit: days}}",
            "of values cut at 3 days; an interval that reaches a bound is open there",
            "the median of values cut at 3 days",
        ),
        (
            "release: {clipping: off}",
            "of values cut at 3 days; the number of cases beyond the bounds is not reported",
            "the mean of values cut at 3 days",
        ),
    ],
)
def test_what_is_not_counted_is_said(
    workspace: Workspace, lines: str, said: str, covers: str
) -> None:
    text = STAY.replace("BOUND", "3").replace("TARGET", "2.6")
    head = text.partition("    measure")[0] if lines.startswith("measure") else text
    tail = text.partition("    bounds")[2] if lines.startswith("measure") else ""
    whole = f"{head}    {lines}\n" + (f"    bounds{tail}" if tail else "")
    (ppi,) = parse_catalogue(whole).ppis
    plan = planned(ppi, None, workspace.log("small").public)
    assert clipping_text(plan, None) == said
    assert covered_text(plan) == covers


def test_of_a_number_of_cases_nothing_is_cut(workspace: Workspace) -> None:
    text = "log: small\nppis: [{id: n, measure: {number: cases}, scope: every month}]"
    plan = planned(parse_catalogue(text).ppis[0], None, workspace.log("small").public)
    assert (clipping_text(plan, None), covered_text(plan)) == ("", "the number of cases")


def test_a_median_that_reaches_its_bound_is_open_there(workspace: Workspace) -> None:
    """Three of five claims take three days or longer: cut at two, the median is at its bound."""
    text = STAY.replace("mean:", "median:").replace("BOUND", "2").replace("TARGET", "1.5")
    series = released(workspace, parse_catalogue(text))
    assert all("at least" in printed(answers_table(series)) for _ in series.answers)
    assert {answer.verdict for answer in series.answers} == {Verdict.MISSED}


# --- what was released before --------------------------------------------------------------------


def test_what_is_on_record_without_the_count_stays_free(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    (before,) = session.release(stay(release="{clipping: off}"), "0.5")
    (again,) = session.release(stay(), "0.5")
    assert [a.value for a in again.answers] == [a.value for a in before.answers]
    assert {a.charged for a in again.answers} == {ZERO}
    assert all(answer.beyond is None for answer in again.answers)
    assert again.clipping.endswith("the number of cases beyond the bounds is not reported")
    (more,) = session.preview(stay(), "0.6")
    assert more.new_charges == 3


def test_a_set_on_record_without_the_count_stays_free(workspace: Workspace) -> None:
    session, total = workspace.checkpoint(), Epsilon.of(1)
    text = STAY.replace("BOUND", "3").replace("TARGET", "2.6")
    text += '  - {id: paid, measure: {share: {condition: activity == "Pay"}}}\n'
    asked = replace(parse_catalogue(text), total=total)
    off = tuple(replace(ppi, release=replace(ppi.release, clipping=False)) for ppi in asked.ppis)
    before = session.release(replace(asked, ppis=off))
    again = session.release(asked)
    for old, new in zip(before, again, strict=True):
        assert [a.value for a in new.answers] == [a.value for a in old.answers]
        assert {a.charged for a in new.answers} == {ZERO}


# --- measured ---------------------------------------------------------------------------


def test_intervals_hold_what_they_are_named_for() -> None:
    for cut in (0.0, 0.36):
        found = benchmark.coverage(cut, 50, 300)
        assert min(found.of_mean, found.of_share) > 0.91


@pytest.mark.parametrize("tail", benchmark.TAILS)
def test_no_firm_verdict_behind_a_bound_that_hides_the_truth(tail: str) -> None:
    found = benchmark.hidden(tail, 0.36, 100, 12, 120)
    assert found.before > 0.9
    assert found.after == 0


def test_the_benchmark_notices_a_rule_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pappi.checkpoint.answers.beyond_of", lambda *_: None)
    assert not benchmark.hidden("exponential", 0.36, 100, 12, 60).passed


def test_the_count_costs_the_less_the_more_means_share_it() -> None:
    more = [each.told / each.untold for each in map(costs, (1, 2, 6, 20))]
    assert 1.1 < more[0] < 1.35
    assert more[2] < 1.15
    assert more[3] < 1.06


def costs(members: int) -> benchmark.Cost:
    return benchmark.cost(members, Fraction(1))


def test_the_planner_itself_is_as_it_was(workspace: Workspace) -> None:
    """Telling is decided above it: what it plans is still what older questions were."""
    plan = plan_ppi(stay().ppis[0], Epsilon.of(1), workspace.log("small").public)
    assert plan.mechanism == "two-bin"


# --- where nothing counts what bounds cut -------------------------------------------------------

DAYS = "{time: {from: case start, to: case end}, unit: days}"
# Claims take 1 to 5 days, 3 on average: cut at 2, it is 1.8.
UNCOUNTED = {
    "a verdict alone": (f"{{mean: {DAYS}}}", "[0 days, 2 days]", "answer: verdict, "),
    "a named mechanism": (f"{{mean: {DAYS}}}", "[0 days, 2 days]", "mechanism: two-bin, "),
    "a ratio": (
        f"{{derive: a / n, a: {{sum: {DAYS}}}, n: {{number: cases}}}}",
        "{a: [0 days, 2 days]}",
        "",
    ),
    "a formula": (f"{{derive: a - 0 days, a: {{mean: {DAYS}}}}}", "{a: [0 days, 2 days]}", ""),
}


@pytest.fixture(scope="module")
def cut_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    new = NewLog(terms=Terms(block_budget=Epsilon.of(9_000)))
    return workspace_with(tmp_path_factory.mktemp("cut") / "w", claims(90), new)


def cut_ppi(case: str, target: str, release: str = "", show: str = "") -> Catalogue:
    measure, bounds, own = UNCOUNTED[case]
    return parse_catalogue(
        f"log: small\nppis:\n  - id: p\n    measure: {measure}\n    bounds: {bounds}\n"
        f"    unit: days\n    target: {target}\n    release: {{{own}{release or 'clipping: on'}}}\n"
        f"{show}"
    )


@pytest.mark.parametrize("case", UNCOUNTED)
def test_bounds_that_hide_the_truth_turn_no_verdict_where_nothing_counts_it(
    cut_workspace: Workspace, case: str
) -> None:
    session = cut_workspace.checkpoint()
    (hidden,) = session.release(cut_ppi(case, "below 1.97 days"), "80", anyway=True)
    assert {a.verdict for a in hidden.answers} == {Verdict.UNDECIDED}
    assert all(a.clipping_decides for a in hidden.answers)
    (missed,) = session.release(cut_ppi(case, "below 1.5 days"), "80", anyway=True)
    assert {a.verdict for a in missed.answers} == {Verdict.MISSED}


@pytest.mark.parametrize("case", UNCOUNTED)
def test_who_knows_that_bounds_cut_nothing_gets_a_firm_verdict_for_free(
    cut_workspace: Workspace, case: str
) -> None:
    session = cut_workspace.checkpoint()
    session.release(cut_ppi(case, "below 1.97 days"), "80", anyway=True)
    known = cut_ppi(case, "below 1.97 days", "clipping: off")
    (series,) = session.release(known, "80", anyway=True)
    assert {a.verdict for a in series.answers} == {Verdict.MET}
    assert all(a.replayed or a.derived_from for a in series.answers)


def test_a_change_of_what_nothing_counts_is_as_open(cut_workspace: Workspace) -> None:
    show = "    show: change from the previous period\n"
    for release, verdict in (("", Verdict.UNDECIDED), ("clipping: off", Verdict.MET)):
        asked = cut_ppi("a ratio", "below 1 day", release, show)
        (series,) = cut_workspace.checkpoint().release(asked, "80", anyway=True)
        assert {a.verdict for a in series.answers} == {verdict}


def test_smoothing_is_no_surer_than_what_it_smooths(cut_workspace: Workspace) -> None:
    asked = cut_ppi("a named mechanism", "below 1.97 days")
    (series,) = cut_workspace.checkpoint().release(asked, "80", anyway=True, smooth=True)
    assert {a.best.verdict for a in series.answers} == {Verdict.UNDECIDED}


def test_the_others_of_a_draw_hide_nothing_of_a_share() -> None:
    """One draw reads the values of all its PPIs; a share is cut by none of their bounds."""
    text = (
        "log: x\nppis:\n"
        "  - {id: a, measure: {mean: {count: {activity: A}}}, bounds: [0, 10], target: below 5}\n"
        "  - {id: b, measure: {share: {condition: activity == 'A'}}, target: below 50 %}\n"
    )
    asked = [(ppi, Epsilon.of(1)) for ppi in parse_catalogue(text).ppis]
    mean, share = plan_each(asked, public_log(VOCABULARY, 300))
    assert mean.together == share.together == ("a", "b")
    assert chance_to_decide(share) == chance_to_decide(as_if_uncut(share))


@pytest.mark.parametrize("case", UNCOUNTED)
def test_advice_says_what_its_bounds_leave_open_and_what_to_add(case: str) -> None:
    log = public_log(VOCABULARY, 2_000)
    (ppi,) = (reduced_form(ppi, log.terms.anchor) for ppi in cut_ppi(case, "below 1 day").ppis)
    plan = plan_alone(ppi, Epsilon.of("0.5"), log)
    assert (chance_to_decide(plan) or 0) < 0.6 < 0.8 < (chance_to_decide(as_if_uncut(plan)) or 0)
    assert "clipping: off" in advice_on(plan)
    (instead,) = (a for a in alternatives_to(plan, log, [plan]) if "cut nothing" in a.change)
    (known,) = (reduced_form(ppi, log.terms.anchor) for ppi in parse_catalogue(instead.yaml).ppis)
    assert not known.release.clipping
    assert chance_to_decide(plan_alone(known, instead.epsilon, log)) == instead.chance_to_decide


@pytest.mark.parametrize("case", UNCOUNTED)
def test_what_a_query_gets_by_need_does_not_depend_on_what_is_known_of_its_bounds(
    case: str,
) -> None:
    log = public_log(VOCABULARY, 2_000)
    told, known = (
        plan_by_need([reduced_form(ppi, log.terms.anchor)], log)[0].epsilon
        for release in ("", "clipping: off")
        for ppi in cut_ppi(case, "below 1 day", release).ppis
    )
    assert told == known
