"""A catalogue under one total: planned, charged and replayed as one question."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

from pappi.checkpoint import LocalSession
from pappi.checkpoint.queries import plans_of, releases_of
from pappi.custody import NewLog
from pappi.errors import BudgetExceeded, Refused, UsageError
from pappi.mechanisms.joint import JointMember, JointNumber
from pappi.planning import recorded_member
from pappi.ppinot import (
    WRITTEN,
    Catalogue,
    canonical_form,
    parse_catalogue,
    parse_definitions,
    write_definitions,
)
from pappi.session import Workspace
from pappi.values import ZERO, Adjacency, Epsilon, PrivacyUnit, Series, Terms
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

SET = """
log: small
total: 1
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
  - id: paid
    measure: {share: {condition: activity == "Pay"}}
  - id: damage
    measure: {mean: {data: damage}}
    bounds: [0, 1000]
  - id: events
    measure: {sum: {count: true}}
    bounds: [0, 4]
  - id: longest
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
"""
ALL = parse_catalogue(SET)
ONE = Epsilon.of(1)


def some(*names: str, total: str = "1") -> Catalogue:
    ppis = tuple(ppi for ppi in ALL.ppis if ppi.id in names)
    return replace(ALL, ppis=ppis, total=Epsilon.of(total))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(90), NewLog(terms=Terms(block_budget=ONE)))


@pytest.fixture
def session(workspace: Workspace) -> LocalSession:
    return workspace.checkpoint()


def spent(session: LocalSession) -> set[Epsilon]:
    return {line.spent for line in session.budget("small")}


def by_id(series: tuple[Series, ...]) -> dict[str, Series]:
    return {one.ppi: one for one in series}


def values(series: tuple[Series, ...]) -> dict[str, list[float | None]]:
    return {one.ppi: [answer.value for answer in one.answers] for one in series}


def test_a_set_of_very_many_is_drawn_in_several(workspace: Workspace) -> None:
    ppis = "".join(
        f"  - {{id: p{n}, measure: {{mean: {{data: damage}}}}, bounds: [0, {1000 + n}]}}\n"
        for n in range(50)
    )
    many = parse_catalogue(f"log: small\ntotal: 20\nppis:\n{ppis}")
    log = workspace.log("small").public
    plans = plans_of(many, None, log)
    draws = {plan.together: plan.epsilon for plan in plans}
    assert sorted(map(len, draws)) == [10, 40]
    assert sum(epsilon.nano for epsilon in draws.values()) <= 20 * ONE.nano
    again = plans_of(replace(many, ppis=many.ppis[::-1]), None, log)
    assert {frozenset(plan.together) for plan in again} == set(map(frozenset, draws))


def test_the_time_of_a_whole_case_is_in_the_class_of_all_cases(workspace: Workspace) -> None:
    """Every case of a period has it, so it shares their number; a part of it may be missing."""
    log = workspace.log("small").public
    part = SET.replace(
        "{from: case start, to: case end}", "{from: case start, to: {activity: Pay}}"
    )
    for text, classes in ((SET, 1), (part, 2)):
        catalogue = parse_catalogue(text)
        ppis = tuple(ppi for ppi in catalogue.ppis if ppi.id in ("sojourn", "rejected", "events"))
        for plan in plans_of(replace(catalogue, ppis=ppis), None, log):
            (part_of_set,) = plan.measurements
            assert isinstance(part_of_set.mechanism, JointMember)
            assert len(part_of_set.mechanism.classes) == classes
            assert part_of_set.mechanism.knows_number is (classes == 1)


QUANTILES = """
log: small
total: 0.9
ppis:
  - id: median
    measure: {median: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
  - id: p90
    measure: {percentile: {time: {from: case start, to: case end}, unit: days}, percent: 90}
    bounds: [0 days, 10 days]
  - id: paid
    measure: {share: {condition: activity == "Pay"}}
"""


def test_percentiles_of_one_measure_share_one_histogram_and_its_epsilon(
    session: LocalSession,
) -> None:
    quotes = {quote.ppi: quote for quote in session.preview(QUANTILES)}
    assert {quotes[name].mechanism for name in ("median", "p90")} == {"histogram"}
    assert quotes["median"].epsilon == quotes["p90"].epsilon == Epsilon.of("0.6")
    assert quotes["paid"].epsilon == Epsilon.of("0.3")
    session.release(QUANTILES, anyway=True)
    assert spent(session) == {Epsilon.of("0.9")}
    session.release(QUANTILES, anyway=True)
    assert spent(session) == {Epsilon.of("0.9")}


@pytest.mark.parametrize(
    "other", ["release: {mechanism: interval}", "bounds: [0 days, 9 days]", "scope: every year"]
)
def test_percentiles_that_one_draw_does_not_answer_have_a_part_each(
    session: LocalSession, other: str
) -> None:
    before, name, after = QUANTILES.partition("  - id: p90\n")
    bounds = "    bounds: [0 days, 10 days]\n"
    differing = after.replace(bounds, "", 1) if "bounds" in other else after
    quotes = session.preview(f"{before}{name}    {other}\n{differing}")
    assert [quote.epsilon for quote in quotes] == [Epsilon.of("0.3")] * 3


# --- charged once ---------------------------------------------------------------------


def test_a_set_spends_its_total_in_every_block_and_no_more(session: LocalSession) -> None:
    series = by_id(session.release(ALL))
    (in_block,) = spent(session)
    assert Epsilon.of("0.999") < in_block <= ONE
    for number in range(3):
        charged = [one.answers[number].charged for one in series.values()]
        assert sum(amount.nano for amount in charged) == in_block.nano
        assert ZERO not in charged
    assert not any(answer.replayed for one in series.values() for answer in one.answers)
    joint = {ppi for ppi, one in series.items() if one.answers[0].guarantee.mechanism == "joint"}
    assert joint == {"sojourn", "rejected", "paid", "damage", "events"}
    assert all(series[ppi].answers[0].guarantee.shared_by == len(joint) for ppi in joint)


def test_the_last_total_that_fits_is_granted_and_one_more_is_not(session: LocalSession) -> None:
    session.release(some("sojourn", "rejected", total="0.6"))
    with pytest.raises(BudgetExceeded):
        session.release(some("paid", "damage", total="0.41"))
    session.release(some("paid", "damage", total="0.4"))
    assert spent(session) == {ONE}


def test_members_of_a_draw_are_more_exact_than_one_by_one(session: LocalSession) -> None:
    quotes = session.preview(ALL)
    for quote in quotes:
        if quote.together:
            assert quote.margin is not None
            assert quote.apart is not None
            assert quote.margin < 0.75 * quote.apart


# --- on record ------------------------------------------------------------------------


def test_any_part_of_a_released_set_is_free_and_the_same(session: LocalSession) -> None:
    released, before = values(session.release(ALL)), spent(session)
    for names in (["paid"], ["sojourn", "events"], ["longest"], ["damage", "longest", "rejected"]):
        again = session.release(some(*names))
        assert values(again) == {name: released[name] for name in names}
        assert {answer.charged for one in again for answer in one.answers} == {ZERO}
        assert all(answer.replayed for one in again for answer in one.answers)
        assert session.price(some(*names)).is_free
    assert spent(session) == before


def test_under_a_smaller_total_it_is_free_too_and_under_a_larger_one_not(
    session: LocalSession,
) -> None:
    released = values(session.release(some("sojourn", "rejected", total="0.5")))
    assert values(session.release(some("rejected", total="0.3"))) == {
        "rejected": released["rejected"]
    }
    assert spent(session) == {Epsilon.of("0.5")}
    assert not session.price(some("rejected", total="0.6")).is_free


def test_a_set_is_the_same_question_in_any_order(workspace: Workspace) -> None:
    log = workspace.log("small")
    keys = set()
    for ppis in permutations(ALL.ppis[:4]):
        plans = plans_of(replace(ALL, ppis=ppis), None, log.public)
        keys.add(frozenset(one.key for plan in plans for one in releases_of(plan, log, "ann")))
    (only,) = keys
    assert len(only) == 3  # one for each month


def test_names_and_targets_do_not_change_the_question(session: LocalSession) -> None:
    released = values(session.release(some("sojourn", "rejected")))
    renamed = tuple(
        replace(ppi, id=f"{ppi.id}-anew", target=None) for ppi in some("sojourn", "rejected").ppis
    )
    again = session.release(replace(ALL, ppis=renamed))
    assert list(values(again).values()) == list(released.values())
    assert spent(session) == {ONE}


def test_the_record_names_all_members(session: LocalSession) -> None:
    session.release(some("sojourn", "rejected"))
    assert {past.ppi for past in session.releases("small")} == {"sojourn, rejected"}


# --- who comes later ------------------------------------------------------------------


def test_a_newcomer_is_charged_alone_at_less_than_the_set(workspace: Workspace) -> None:
    workspace.grant("small", "3")
    session = workspace.checkpoint()
    known = ("sojourn", "rejected", "paid")
    released = values(session.release(some(*known)))
    quotes = {quote.ppi: quote for quote in session.preview(some(*known, "damage"))}
    assert [quotes[ppi].new_charges for ppi in known] == [0, 0, 0]
    assert quotes["damage"].new_charges == 3
    assert quotes["damage"].epsilon < ONE
    everything = session.release(some(*known, "damage"))
    assert {ppi: found for ppi, found in values(everything).items() if ppi in known} == released
    (total,) = spent(session)
    assert total == ONE + quotes["damage"].epsilon
    assert values(session.release(some(*known, "damage"))) == values(everything)
    assert spent(session) == {total}


def test_a_newcomer_is_about_as_exact_as_its_set_would_have_made_it(workspace: Workspace) -> None:
    workspace.grant("small", "3")
    session = workspace.checkpoint()
    known = ("sojourn", "rejected", "paid")
    (of_set,) = (q for q in session.preview(some(*known, "damage")) if q.ppi == "damage")
    session.release(some(*known))
    (alone,) = (q for q in session.preview(some(*known, "damage")) if q.ppi == "damage")
    assert of_set.typical_error is not None
    assert alone.typical_error is not None
    # What was released tells that there are fewer cases than declared, so each weighs more.
    assert alone.assumed_cases < of_set.assumed_cases
    in_cases = of_set.typical_error * of_set.assumed_cases
    assert alone.typical_error * alone.assumed_cases == pytest.approx(in_cases, rel=0.1)


def test_two_newcomers_share_a_draw(workspace: Workspace) -> None:
    workspace.grant("small", "3")
    session = workspace.checkpoint()
    session.release(some("sojourn", "rejected"))
    quotes = session.preview(some("sojourn", "rejected", "paid", "events"))
    assert {quote.together for quote in quotes if quote.new_charges} == {("paid", "events")}


# --- what is kept out -----------------------------------------------------------------


def test_a_ppi_with_an_epsilon_of_its_own_is_split_off(session: LocalSession) -> None:
    weighted = replace(ALL, ppis=(replace(ALL.ppis[0], epsilon=Epsilon.of("0.4")), *ALL.ppis[1:5]))
    quotes = {quote.ppi: quote for quote in session.preview(weighted)}
    assert quotes["sojourn"].epsilon == Epsilon.of("0.4")
    assert quotes["sojourn"].together == ()
    assert quotes["paid"].together == ("rejected", "paid", "damage", "events")
    session.release(weighted)
    assert spent(session) == {ONE}


def test_own_epsilons_beyond_the_total_are_refused(session: LocalSession) -> None:
    for amount in ("1.1", "1"):
        first = replace(ALL.ppis[0], epsilon=Epsilon.of(amount))
        with pytest.raises(Refused, match="leave nothing of the total"):
            session.preview(replace(ALL, ppis=(first, *ALL.ppis[1:])))


def test_set_off_keeps_a_ppi_out_of_the_draw(session: LocalSession) -> None:
    off = parse_catalogue(
        SET.replace('activity == "Pay"}}', 'activity == "Pay"}}\n    release: {set: off}')
    )
    quotes = {quote.ppi: quote for quote in session.preview(off)}
    assert quotes["paid"].together == ()
    assert "paid" not in quotes["rejected"].together
    assert sum(q.epsilon.nano for q in quotes.values() if not q.together) < ONE.nano


@pytest.mark.parametrize("notation", WRITTEN)
def test_every_notation_keeps_the_total_and_who_is_kept_out(notation: str) -> None:
    ppis = (replace(ALL.ppis[0], release=replace(ALL.ppis[0].release, in_set=False)), *ALL.ppis[1:])
    written = write_definitions(replace(ALL, ppis=ppis), notation)
    read = parse_definitions(written, notation, "x", "small").catalogue
    assert (read.total, read.ppis) == (ONE, ppis)


def test_either_an_epsilon_for_each_or_a_total(session: LocalSession) -> None:
    for verb in (session.preview, session.release, session.rehearse):
        with pytest.raises(UsageError, match="not both"):
            verb(ALL, "0.1", total="1")
    each = session.preview(ALL, "0.1")
    assert {quote.own_epsilon for quote in each} == {Epsilon.of("0.1")}
    assert all(quote.total is None for quote in each)


def test_a_total_that_is_pure_noise_is_refused(session: LocalSession) -> None:
    with pytest.raises(UsageError, match="pure noise"):
        session.preview(ALL, total="0.0001")


# --- other units, neighbours and groups -----------------------------------------------


@pytest.mark.parametrize(
    "terms",
    [Terms(adjacency=Adjacency.REPLACE), Terms(unit=PrivacyUnit("channel", max_cases=5))],
    ids=["replace", "person"],
)
def test_other_neighbours_and_persons_are_planned_and_released(
    tmp_path: Path, terms: Terms
) -> None:
    session = workspace_with(tmp_path / "w", claims(30), NewLog(terms=terms)).checkpoint()
    session.release(some("rejected", "paid", "events"))
    assert spent(session) == {ONE}


def test_under_replace_a_class_that_a_case_can_leave_is_drawn_at_half(tmp_path: Path) -> None:
    terms = Terms(block_budget=ONE, adjacency=Adjacency.REPLACE)
    log = workspace_with(tmp_path / "w", claims(9), NewLog(terms=terms)).log("small").public
    (everyone, *_), (some_cases, *_) = (
        plans_of(some(*names), None, log)
        for names in (("rejected", "paid"), ("rejected", "damage"))
    )
    assert everyone.measurements[0].mechanism.epsilon == 1
    assert some_cases.measurements[0].mechanism.epsilon == Fraction(1, 2)


def test_groups_are_cells_of_their_own(session: LocalSession) -> None:
    text = SET.replace(
        '{share: {condition: activity == "Reject"}}',
        '{share: {condition: activity == "Reject"}, by: {data: channel, values: [web, phone]}}',
    )
    quotes = {quote.ppi: quote for quote in session.preview(parse_catalogue(text))}
    assert quotes["rejected"].together == ()
    assert "rejected" not in quotes["paid"].together


def test_smoothing_and_rehearsing_a_set(session: LocalSession) -> None:
    smoothed = session.release(ALL, smooth=True)
    assert all(
        answer.smoothed is not None
        for one in smoothed
        if one.ppi in {"sojourn", "paid"}
        for answer in one.answers
    )
    assert {one.ppi for one in session.rehearse(ALL)} == {ppi.id for ppi in ALL.ppis}


def test_simultaneous_intervals_are_wider_and_hold_the_others(session: LocalSession) -> None:
    for one in session.release(some("sojourn", "rejected", "paid", "events")):
        for answer in one.answers:
            both = answer.simultaneous
            assert both is not None
            assert None not in (both.low, both.high, answer.interval.low, answer.interval.high)
            assert both.low <= answer.interval.low  # type: ignore[operator]
            assert both.high >= answer.interval.high  # type: ignore[operator]


def test_a_total_that_leaves_hardly_any_noise_is_planned_too(session: LocalSession) -> None:
    for quote in session.preview(ALL, total="500"):
        assert quote.typical_error is not None
        assert quote.typical_error >= 0


# --- what an outsider found -----------------------------------------------------------


def test_an_epsilon_of_its_own_is_never_answered_from_a_set_on_record(workspace: Workspace) -> None:
    workspace.grant("small", "3")
    session = workspace.checkpoint()
    session.release(ALL)
    own = tuple(
        replace(ppi, epsilon=Epsilon.of("0.45")) if ppi.id in ("longest", "paid") else ppi
        for ppi in ALL.ppis
    )
    quotes = {quote.ppi: quote for quote in session.preview(replace(ALL, ppis=own))}
    assert {quotes[ppi].new_charges for ppi in ("longest", "paid")} == {3}
    assert {quotes[ppi].epsilon for ppi in ("longest", "paid")} == {Epsilon.of("0.45")}


def test_what_a_total_leaves_is_refused_where_it_is_pure_noise(session: LocalSession) -> None:
    own = replace(ALL.ppis[0], epsilon=Epsilon.of("0.99999999"))
    with pytest.raises(Refused, match="pure noise"):
        session.preview(replace(ALL, ppis=(own, *ALL.ppis[1:])))
    tiny = replace(ALL.ppis[0], epsilon=Epsilon.of("0.0000001"))
    with pytest.raises(UsageError, match="pure noise"):
        session.preview(replace(ALL, ppis=(tiny, *ALL.ppis[1:])))


def test_a_quote_names_the_dearest_cell(workspace: Workspace) -> None:
    workspace.grant("small", "3")
    session = workspace.checkpoint()
    late = tuple(
        replace(ppi, scope=replace(ppi.scope, start=date(2024, 3, 1)))
        for ppi in some("sojourn", "rejected").ppis
    )
    session.release(replace(ALL, ppis=late))
    quotes = {quote.ppi: quote for quote in session.preview(some("sojourn", "rejected", "paid"))}
    assert quotes["paid"].epsilon == ONE


def test_accuracy_beside_a_total_is_refused(session: LocalSession) -> None:
    with pytest.raises(UsageError, match="total or accuracy"):
        session.preview(ALL, accuracy="1 day", total="1")


def test_a_filtered_sum_does_not_tell_the_number_of_all_cases(session: LocalSession) -> None:
    series = by_id(session.release(some("sojourn", "rejected", "paid", "events")))
    assert {answer.cases for answer in series["events"].answers} == {None}


def test_what_is_left_of_a_total_is_what_the_others_have_one_by_one(workspace: Workspace) -> None:
    """So a PPI that is on record at more than that is not paid again."""
    first, rejected, paid, *_ = ALL.ppis
    session = workspace.checkpoint()
    twice = replace(ALL, ppis=(rejected, paid), total=None)
    session.release(twice, "0.1")
    own = replace(first, epsilon=Epsilon.of("0.7"))
    catalogue = replace(ALL, ppis=(own, rejected, paid), total=Epsilon.of("0.8"))
    plans = plans_of(catalogue, None, workspace.log("small").public)
    assert [str(plan.apart) for plan in plans] == ["0.7", "0.05", "0.05"]
    assert str(session.price(catalogue).most) == "0.7"


def test_what_one_by_one_would_be_is_told_of_as_many_cases(workspace: Workspace) -> None:
    """Also once a count on record says how many there are: a third of what was assumed."""
    workspace.grant("small", "5")
    session, catalogue = workspace.checkpoint(), some("sojourn", "rejected", "damage")
    before = session.preview(catalogue)
    session.release(some("paid", total="3"))
    after = session.preview(catalogue)
    for first, then in zip(before, after, strict=True):
        assert first.apart is not None
        assert then.apart is not None
        assert then.margin is not None
        assert then.assumed_cases < first.assumed_cases / 2
        assert then.apart > then.margin
        assert then.apart > 1.5 * first.apart


def test_a_number_read_off_a_draw_is_found_beside_its_members(workspace: Workspace) -> None:
    (number,) = parse_catalogue("log: small\nppis: [{id: n, measure: {number: cases}}]").ppis
    log, members = workspace.log("small").public, some("paid", "damage").ppis
    wanted = replace(ALL, ppis=(*members, number), total=Epsilon.of("0.2"))
    *_, asked = plans_of(wanted, None, log)
    (part,) = asked.measurements
    assert isinstance(part.mechanism, JointNumber)
    inputs = [canonical_form(measure) for measure in part.inputs]
    record = asked.ppi, asked.epsilon, inputs, part.settings[0][1], log
    found = recorded_member(*record, beside=members)
    assert found is not None
    assert found.measurements[0].mechanism == part.mechanism
    assert recorded_member(*record) is None
