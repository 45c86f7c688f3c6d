"""The distribution as an answer; and what is read off it for nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.errors import DefinitionError, NotReleasable
from pappi.planning import plan_ppi
from pappi.ppinot import (
    WRITTEN,
    Aggregation,
    canonical_form,
    check_catalogue,
    parse_catalogue,
    parse_definitions,
    write_definitions,
)
from pappi.report import csv_text, flat_records, series_svg
from pappi.session import Workspace, from_wire, to_wire
from pappi.values import (
    CASE,
    ZERO,
    Adjacency,
    Epsilon,
    Kind,
    PrivacyUnit,
    Series,
    Terms,
    Vocabulary,
)
from tests.audit.starts import audited
from tests.public_logs import public_log
from tests.small_logs import claims, workspace_with

STAY = """
log: small
ppis:
  - id: stay
    measure: {FUNCTION: {time: {from: case start, to: case end}, unit: days}MORE}
    bounds: [0 days, 10 days]
"""


def stay(function: str = "distribution", more: str = "", lines: str = "") -> str:
    return STAY.replace("FUNCTION", function).replace("MORE", more) + lines


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    path: Path = tmp_path_factory.mktemp("distribution")
    terms = Terms(block_budget=Epsilon.of(500))
    return workspace_with(path / "w", claims(900), NewLog(terms=terms))


LIMITS = ", limits: [12 hours, 1 day, 3 days, 5 days]"


# --- the answer -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named(workspace: Workspace) -> Series:
    """With limits of its own; nearly without noise."""
    (series,) = workspace.checkpoint().release(stay(more=LIMITS), "40")
    return series


@pytest.mark.outside
def test_an_answer_has_bins_shares_percentiles_and_a_mean(named: Series) -> None:
    """Of the claims, as many take one, two, three, four and five days."""
    for answer in named.answers:
        told = answer.distribution
        assert told is not None
        assert [(each.low, each.high) for each in told.bins] == [
            *((0, 0.5), (0.5, 1), (1, 3), (3, 5), (5, 10)),
        ]
        within = [each.share_within for each in told.bins]
        assert within == pytest.approx([0, 0.2, 0.6, 1, 1], abs=0.02)
        for each in told.bins:
            assert each.interval.low is not None
            assert each.interval.high is not None
            assert each.interval.low <= max(each.cases, 0) <= each.interval.high
            assert each.share_interval is not None
        values = [each.value for each in told.percentiles]
        assert values == sorted(values)
        assert answer.value == values[3]
        assert told.mean_interval.low is not None
        assert told.mean_interval.high is not None
        assert told.mean_interval.low <= 3 <= told.mean_interval.high
        assert 0.5 < told.binning_error < 1
        assert answer.cases == pytest.approx(300, abs=3)


@pytest.mark.outside
def test_it_is_replayed_to_the_byte_for_nothing(workspace: Workspace, named: Series) -> None:
    (again,) = workspace.checkpoint("bob").release(stay(more=LIMITS), "40")
    assert [a.distribution for a in again.answers] == [a.distribution for a in named.answers]
    assert {a.charged for a in again.answers} == {ZERO}


@pytest.mark.outside
def test_it_goes_into_json_over_the_wire_and_into_rows(named: Series) -> None:
    record = json.loads(json.dumps(to_wire(named.answers[0]), allow_nan=False))
    assert len(record["distribution"]["bins"]) == 5
    assert [each["percent"] for each in record["distribution"]["percentiles"]] == [
        *(5, 10, 25, 50, 75, 90, 95),
    ]
    assert (
        from_wire(Series, to_wire(named)).answers[0].distribution == named.answers[0].distribution
    )
    rows = flat_records(named.answers)
    assert len(rows) == 5 * len(named.answers)
    assert rows[1]["bin_high"] == 1.0
    assert len({tuple(row) for row in rows}) == 1
    assert csv_text(rows).count("\n") == len(rows) + 1


@pytest.mark.outside
def test_its_chart_has_bands_of_cases_around_the_median(named: Series) -> None:
    drawn = series_svg(named)
    assert "10 % to 90 % of cases" in drawn
    assert "25 % to 75 % of cases" in drawn


@pytest.mark.outside
def test_without_limits_bins_are_chosen_and_it_is_free_again(workspace: Workspace) -> None:
    (series,) = workspace.checkpoint().release(stay(), "2")
    told = [answer.distribution for answer in series.answers]
    assert {len(each.bins) for each in told if each is not None} == {32}
    (quote,) = workspace.checkpoint().preview(stay(), "2")
    assert quote.new_charges == 0


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("more", [LIMITS, ", by: {data: channel, values: [web, phone]}"])
def test_what_is_planned_passes_the_audit(adjacency: Adjacency, more: str) -> None:
    words = Vocabulary(("A",), {"channel": Kind.TEXT})
    (ppi,) = parse_catalogue(stay(more=more)).ppis
    persons = [PrivacyUnit("channel", 3)] if adjacency is Adjacency.ADD_REMOVE else []
    for unit in (CASE, *persons):
        log = public_log(words, adjacency=adjacency, unit=unit)
        plan = plan_ppi(ppi, Epsilon.of("0.6"), log)
        (part,) = plan.measurements
        assert part.mechanism.epsilon <= Fraction(6, 10) / unit.max_cases
        assert audited(plan, adjacency).passed


# --- how it is written ------------------------------------------------------------------------


@pytest.mark.parametrize("notation", WRITTEN)
@pytest.mark.parametrize("more", ["", LIMITS])
def test_every_notation_that_is_written_has_it(notation: str, more: str) -> None:
    catalogue = parse_catalogue(stay(more=more))
    text = write_definitions(catalogue, notation)
    (again,) = parse_definitions(text, notation, "file").catalogue.ppis
    assert canonical_form(again.measure) == canonical_form(catalogue.ppis[0].measure)


def test_limits_rise_and_have_units() -> None:
    for limits, problem in (
        ("[3 days, 1 day]", "rising order"),
        ("[1, 3]", "1 of what"),
        ("[]", "an empty list"),
    ):
        with pytest.raises(DefinitionError, match=problem):
            parse_catalogue(stay(more=f", limits: {limits}"))


def test_only_a_distribution_has_limits() -> None:
    with pytest.raises(DefinitionError, match="limits"):
        parse_catalogue(stay("median", ", limits: [1 day]"))


def test_it_has_no_target_and_no_formula_uses_it() -> None:
    (problem,) = check_catalogue(parse_catalogue(stay(lines="    target: below 3 days\n")), None)
    assert "a target is for one number" in problem.message
    formula = """
log: small
ppis:
  - id: spread
    measure: {derive: a / 2, a: {distribution: {data: cost}}}
    bounds: {a: [0, 10]}
"""
    problems = check_catalogue(parse_catalogue(formula), None)
    assert any("a formula needs single numbers" in problem.message for problem in problems)


def test_a_question_about_it_is_named_for_what_is_drawn() -> None:
    (ppi,) = parse_catalogue(stay()).ppis
    assert ppi.measure.function is Aggregation.DISTRIBUTION  # type: ignore[union-attr]
    assert "limits" not in str(canonical_form(ppi.measure))  # older questions keep their form


@pytest.mark.outside
@pytest.mark.parametrize("bounds", ["private", "[0 days, 10 days, loose]"])
def test_it_needs_public_bounds(workspace: Workspace, bounds: str) -> None:
    text = stay().replace("[0 days, 10 days]", bounds)
    with pytest.raises(NotReleasable, match="needs public bounds"):
        workspace.checkpoint().preview(text, "1")


# --- what was released before -----------------------------------------------------------------


@pytest.mark.outside
def test_a_median_that_was_released_by_rank_stays_on_record_and_free(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    by_rank = "    release: {mechanism: interval}\n"
    (before,) = session.release(stay("median", lines=by_rank), "0.5", anyway=True)
    (again,) = session.release(stay("median"), "0.5")
    assert [a.value for a in again.answers] == [a.value for a in before.answers]
    assert {a.charged for a in again.answers} == {ZERO}
    assert {a.guarantee.mechanism for a in again.answers} == {"interval"}
    (quote,) = session.preview(stay("median"), "60")  # more exact than whatever is on record
    assert (quote.mechanism, quote.new_charges) == ("histogram", len(before.answers))


@pytest.mark.outside
def test_who_asks_for_the_histogram_by_name_pays_for_it(workspace: Workspace) -> None:
    session, by_name = workspace.checkpoint(), "    release: {mechanism: histogram}\n"
    (quote,) = session.preview(stay("median", lines=by_name), "0.5")
    assert quote.new_charges > 0


@pytest.mark.outside
def test_percentiles_after_a_median_cost_nothing(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    (median,) = session.release(stay("median"), "0.7", derived=False)
    assert {answer.charged for answer in median.answers} == {Epsilon.of("0.7")}
    (p90,) = session.release(stay("percentile", ", percent: 90"), "0.7")
    assert {answer.charged for answer in p90.answers} == {ZERO}
    for low, high in zip(median.answers, p90.answers, strict=True):
        assert low.value is not None
        assert high.value is not None
        assert low.value <= high.value
