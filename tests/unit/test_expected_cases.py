"""Forecasts rest on the cases of a figure: those of a block, carried to period, group, filter."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from benchmarks.forecast import (
    CASES,
    CUTS,
    EPSILON,
    FIRST,
    LEAST,
    MOST,
    PERIODS,
    PLACES,
    UNITS,
    UNTIL,
    Question,
    amounts_at,
    drawn_half_widths,
    half_bin,
    middle,
    public_log,
    ratios_elsewhere,
)
from pappi.checkpoint.prices import quote_of
from pappi.checkpoint.queries import at_accuracy, planned, releases_of
from pappi.custody import NewLog
from pappi.errors import DefinitionError, UsageError
from pappi.planning import Plan, expected_cases
from pappi.planning.forecasts import _expected_half_widths
from pappi.planning.scopes import ExpectedCases
from pappi.ppinot import (
    EVERY_CASE,
    Catalogue,
    Ppi,
    parse_catalogue,
    parse_definitions,
    write_definitions,
)
from pappi.report.wording import expected_text
from pappi.store import LogDeclaration
from pappi.values import Calendar, Epsilon, Grid, Period, PublicLog, Terms
from tests.lengths import length
from tests.small_logs import claims, workspace_with

LOG = public_log()
MEAN = "mean: {data: amount}"
OF_RANKS = {
    "median": "median: {data: amount}",
    "90th percentile": "percentile: {data: amount}, percent: 90",
}
BY_REGION = ", by: {data: region, values: [north, east, south, west]}"
ONLY_NORTH = ", where: {condition: region == 'north'}"


def ppi(measure: str = MEAN, more: str = "scope: every month") -> Ppi:
    text = f"log: made\nppis:\n  - {{id: p, measure: {{{measure}}}, {more}}}\n"
    return parse_catalogue(text).ppis[0]


def under(**terms: object) -> PublicLog:
    return replace(LOG, terms=replace(LOG.terms, **terms))  # type: ignore[arg-type]


# --- how many cases -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "cases"),
    [
        # Of those that pass a scope, the latest are taken; a measure's filter comes after that.
        ("share: {data: urgent}", 500),
        ("share: {data: urgent}, where: {condition: region == 'north'}", 125),
    ],
)
def test_the_latest_cases_are_the_latest_of_those_that_pass(measure: str, cases: int) -> None:
    scope = "scope: {last cases: 500, cases: {condition: region == 'north'}}, expected: 25 %"
    assert expected_cases(LOG, ppi(measure, scope)).cases == cases


@pytest.mark.parametrize(
    ("scope", "cases", "where"),
    [
        ("every day", 26, "a day"),
        ("every week", 184, "a week"),
        ("every month", 800, "a month"),
        ("every 2 months", 1_600, "2 months"),
        ("every quarter", 2_400, "a quarter"),
        ("every year", 9_600, "a year"),
        ("whole time", 19_200, "the whole time"),
        ("last 6 months", 4_800, "the last 6 months"),
        ("last 10 years", 19_200, "the last 10 years"),
        ("between 2023-01-01 and 2023-03-31", 2_400, "the time asked for"),
        ("last 50 cases", 50, "the whole time"),
    ],
)
def test_cases_are_carried_to_the_length_of_a_period(scope: str, cases: int, where: str) -> None:
    expected = expected_cases(LOG, ppi(more=f"scope: {scope}"))
    assert expected.cases == cases
    assert expected.because.startswith(f"about {cases:,} cases in {where}: 800 declared per month")


def test_a_log_that_begins_within_a_block_has_a_part_of_its_cases() -> None:
    half = replace(LOG, first=date(2024, 12, 17))
    assert expected_cases(half, ppi(more="scope: whole time")).cases == round(CASES * 15 / 31)


def test_blocks_of_another_length_have_their_own_cases() -> None:
    weekly = under(blocks=Grid(Calendar.WEEK), expected_cases=70)
    assert expected_cases(weekly, ppi(more="scope: every day")).cases == 10
    expected = expected_cases(weekly, ppi())
    assert expected.cases == 304
    assert expected.because.endswith("70 declared per week")


def test_where_nothing_is_declared_the_assumption_says_so() -> None:
    expected = expected_cases(under(expected_cases=None), ppi(more="scope: every quarter"))
    assert expected == ExpectedCases(300, "about 300 cases in a quarter: 100 assumed per month")


def test_groups_share_the_cases_evenly_also_those_that_are_not_asked_for() -> None:
    expected = expected_cases(LOG, ppi(MEAN + BY_REGION))
    assert expected.cases == 200
    assert expected.because == (
        "about 200 cases in a month and group: 800 declared per month, evenly over 4 groups"
    )
    one = ", by: {data: region, values: [north]}"
    assert expected_cases(LOG, ppi(MEAN + one)).cases == 200
    more = ", by: {data: region, values: [north, elsewhere]}"
    assert expected_cases(LOG, ppi(MEAN + more)).cases == 160


def test_of_groups_with_declared_weights_the_smallest_counts() -> None:
    weighted = under(weights={"region": {"north": 5, "east": 3, "south": 1}})
    expected = expected_cases(weighted, ppi(MEAN + BY_REGION))
    assert expected.cases == 80
    assert expected.because.endswith("10 % of them in 'south', the smallest group")
    large = ", by: {data: region, values: [north, east]}"
    assert expected_cases(weighted, ppi(MEAN + large)).cases == 240


@pytest.mark.outside
def test_weights_belong_to_public_keys_and_are_declared_with_a_log(tmp_path: Path) -> None:
    terms = Terms(weights={"channel": {"web": 5}})
    with pytest.raises(UsageError, match="'web' has a weight, but is no public key of 'channel'"):
        workspace_with(tmp_path / "refused", claims(8), NewLog(terms=terms))
    sound = NewLog(terms=terms, keys={"channel": ("web", "phone")})
    workspace = workspace_with(tmp_path / "taken", claims(8), sound)
    assert workspace.log("small").terms.weights == {"channel": {"web": 5}}
    assert "weights" not in LOG.to_json()


@pytest.mark.parametrize(
    "filtered",
    [
        ppi(MEAN + ONLY_NORTH),
        ppi(more="scope: {every: month, cases: {condition: region == 'north'}}"),
    ],
    ids=["measure", "scope"],
)
def test_the_share_of_a_filter_is_not_known_unless_the_analyst_guesses_it(filtered: Ppi) -> None:
    unknown = expected_cases(LOG, filtered)
    assert unknown.cases == 800
    assert unknown.because.endswith("assuming that all pass the filter")
    guessed = expected_cases(LOG, replace(filtered, expected=Fraction(3, 10)))
    assert guessed.cases == 240
    assert guessed.because.endswith("30 % of them, as you guessed")


def test_a_noisy_count_goes_before_what_is_declared_but_never_below_one() -> None:
    assert expected_cases(LOG, ppi(), counted=312).cases == 312
    assert "count that is on record" in expected_cases(LOG, ppi(), counted=312).because
    assert expected_cases(LOG, ppi(), counted=-7).cases == 1


# --- what a guess changes, and what it does not ---------------------------------------------------


@pytest.mark.parametrize("text", ["30 %", "30%", "0.3"])
def test_a_guess_is_read_and_written(text: str) -> None:
    asked = ppi(MEAN + ONLY_NORTH, f"expected: {text}")
    assert asked.expected == Fraction(3, 10)
    catalogue = parse_catalogue("log: made\nppis: [{id: p, measure: {number: cases}}]")
    catalogue = replace(catalogue, ppis=(asked,))
    for notation in ("yaml", "json", "java", "text"):
        written = write_definitions(catalogue, notation)
        again = parse_definitions(written, notation, "f", "made").catalogue
        assert again.ppis[0].expected == Fraction(3, 10)


@pytest.mark.parametrize("text", ["0", "130 %", "30", "many"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError):
        ppi(more=f"expected: {text}")


def test_a_guess_changes_the_forecast_and_not_the_question() -> None:
    log = LogDeclaration(data="made", table="made", public=LOG)
    formula = "derive: a / b, a: {mean: {data: amount}}, b: {number: cases}"
    for measure in (MEAN + ONLY_NORTH, formula):
        asked = ppi(measure)
        plans = [
            planned(each, None, LOG) for each in (asked, replace(asked, expected=Fraction(1, 9)))
        ]
        keys = [releases_of(plan, log, "a")[0].key for plan in plans]
        assert keys[0] == keys[1]
        assert plans[1].expected.cases < plans[0].expected.cases
        assert plans[1].predicted_error > plans[0].predicted_error


# --- the benchmark in short: what a preview says is what a release has ----------------------------


def half_width(question: Question, log: PublicLog) -> tuple[float, float]:
    """As forecast, and as the median of a few releases of as many cases as there truly are."""
    plan = planned(question.ppi, None, log)
    forecast = quote_of(plan, log, 0, 0).interval_half_width
    assert forecast is not None
    declaration = LogDeclaration(data="made", table="made", public=log)
    values = [_values(question, _true_cases(question))]
    period = Period(log.first, log.until)
    drawn = drawn_half_widths(plan, declaration, period, None, values, 15)
    return forecast, middle(drawn, half_bin(plan))


def _true_cases(question: Question) -> int:
    """Counted by hand, and apart from what is tested."""
    days = {"every week": 7, "every month": 30.44, "every quarter": 91.31, "every year": 365.24}
    cases = CASES * days.get(question.period, 2 * 365.24) / 30.44
    return round(cases if question.cut == "all" else cases / 4)


def _values(question: Question, cases: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    match question.function:
        case "share":
            return np.asarray(np.arange(cases) % 4 == 0, np.float64)
        case "count":
            return np.ones(cases)
        case _:
            return amounts_at(0.25, cases)


SOME = [
    *(Question(function, period) for function in ("mean", "median") for period in PERIODS),
    *(Question("mean", "every month", cut) for cut in CUTS),
    *(Question("share", "every quarter", cut) for cut in CUTS),
    *(Question(function, "every week", "groups") for function in ("sum", "count")),
]


def off(questions: list[Question], log: PublicLog) -> list[Question]:
    """Those whose forecast is not what a release has."""
    pairs = ((question, *half_width(question, log)) for question in questions)
    return [question for question, told, seen in pairs if not LEAST <= told / seen <= MOST]


@pytest.mark.parametrize("unit", UNITS)
def test_a_forecast_is_what_a_release_has(unit: str) -> None:
    assert off(SOME, public_log(UNITS[unit])) == []


def test_it_is_wherever_the_values_lie() -> None:
    ratios = ratios_elsewhere("mean", "every month", 25)
    assert len(ratios) == len(PLACES)
    assert all(LEAST <= ratio <= MOST for ratio in ratios)


PLACES_IN_A_BIN = (0.24, 0.25, 0.26)
"""Of the mean, so that the median lies in three places of a bin, and values as they are assumed."""


def of_medians(period: str) -> list[float]:
    """Forecast over released, wherever in its bin the median of a distribution lies.

    It has 64 bins at most: where in its bin it lies then makes a difference.
    """
    told = quote_of(of_a_median(period), LOG, 0, 0).interval_half_width or 0.0
    return [told / half for half in half_widths_of_medians(period)]


def of_a_median(period: str) -> Plan:
    asked = ppi("distribution: {data: amount}", f"scope: {period}, epsilon: 0.5")
    return planned(asked, None, LOG)


@cache
def half_widths_of_medians(period: str) -> tuple[float, ...]:
    """As released, in the middle of many draws."""
    plan, cases = of_a_median(period), _true_cases(Question("median", period))
    declaration = LogDeclaration(data="made", table="made", public=LOG)
    dice, widths = np.random.default_rng(5), []
    for place in PLACES_IN_A_BIN:
        halves: list[float] = []
        for year in range(1800, 1810):  # of each, noise of its own
            values = dice.choice(amounts_at(place, 100_000), cases)
            when = Period(date(year, 1, 1), date(year + 1, 1, 1))
            halves += drawn_half_widths(plan, declaration, when, None, [values], 10)
        widths.append(middle(halves, half_bin(plan)))
    return tuple(widths)


@pytest.mark.outside
def test_a_median_is_forecast_wherever_in_its_bin_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: tried out in one place only, in the middle of a bin or near its end."""
    for period in length(("every quarter",), ("every month", "every quarter")):
        assert all(LEAST <= ratio <= MOST for ratio in of_medians(period))
    for place in length((1.0,), (1.0, 0.95)):
        monkeypatch.setattr("pappi.planning.forecasts._AROUND", np.full(1, place))
        _expected_half_widths.cache_clear()
        assert not all(LEAST <= ratio <= MOST for ratio in of_medians("every quarter"))
    _expected_half_widths.cache_clear()


def test_a_preview_tells_a_range_where_a_median_may_cover_one_bin_or_two() -> None:
    """That of a distribution, whose bins are shown: there are 64 of them, however many cases."""
    asked = ppi("distribution: {data: amount}", "scope: every year, epsilon: 0.5")
    quote = quote_of(planned(asked, None, LOG), LOG, 0, 0)
    assert quote.usual_half_widths == (7.8125, 15.625)
    assert expected_text(quote) == "± 7.81–15.6 *"
    assert 7.8125 < (quote.interval_half_width or 0) < 15.625
    mean = quote_of(planned(Question("mean", "every year").ppi, None, LOG), LOG, 0, 0)
    assert mean.usual_half_widths is not None
    assert "–" not in expected_text(mean)


@pytest.mark.parametrize("fault", ["length", "groups", "guess"])
def test_a_forecast_that_ignores_what_it_rests_on_is_caught(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the same for each period, as it once was; for all groups; whatever the share."""
    if fault == "length":
        monkeypatch.setattr("pappi.planning.scopes.blocks_in", lambda _log, _scope: Fraction(1))
        means = [Question("mean", period) for period in PERIODS]
        assert off(means, LOG) == [each for each in means if each.period != "every month"]
    elif fault == "groups":
        monkeypatch.setattr("pappi.planning.scopes._smallest_group", lambda _log, _ppi: None)
        assert off([grouped := Question("mean", "every month", "groups")], LOG) == [grouped]
    else:
        filtered = Question("mean", "every month", "filter")
        assert off([filtered], LOG) == []
        monkeypatch.setattr(Question, "ppi", property(lambda _: ppi(MEAN + ONLY_NORTH)))
        assert off([filtered], LOG) == [filtered]


@pytest.mark.parametrize(("period", "cut"), [*product(PERIODS, CUTS)])
def test_an_accuracy_costs_the_epsilon_at_which_it_was_forecast(period: str, cut: str) -> None:
    asked = Question("mean", period, cut).ppi
    margin = quote_of(planned(asked, None, LOG), LOG, 0, 0).margin
    assert margin is not None
    bought = at_accuracy(replace(asked, epsilon=None), f"{margin * 1.0001:.9f}", LOG).epsilon
    assert bought is not None
    assert math.isclose(float(bought), float(EPSILON), rel_tol=0.01)


# --- a count on record ----------------------------------------------------------------------------

COUNT = "log: small\nppis:\n  - {id: n, measure: {number: cases}, scope: every month, epsilon: 1}\n"
ASKED = (
    "log: small\nppis:\n"
    "  - {id: m, measure: {mean: {data: damage}}, bounds: [0, 1000], scope: every SCOPE}\n"
)


def _at_a_tenth(text: str) -> Catalogue:
    read = parse_catalogue(text)
    return replace(read, ppis=tuple(replace(p, epsilon=Epsilon.of("0.1")) for p in read.ppis))


@pytest.mark.outside
def test_a_count_on_record_makes_later_forecasts_truer_for_free(tmp_path: Path) -> None:
    """300 cases in 3 months, of which nothing was declared: 1,000 a month are far too many."""
    new = NewLog(first=date(2024, 1, 1), until=date(2024, 4, 1), terms=Terms(expected_cases=1_000))
    session = workspace_with(tmp_path / "w", claims(300), new).checkpoint()
    texts = (ASKED.replace("SCOPE", scope) for scope in ("month", "quarter"))
    monthly, quarterly = map(_at_a_tenth, texts)
    (before,), key = session.preview(monthly), session.price(monthly).name
    assert before.assumed_cases == 1_000
    session.release(COUNT, "0.1")
    spent = session.budget("small")
    (after,), (other,) = session.preview(monthly), session.preview(quarterly)
    assert 60 < after.assumed_cases < 160
    assert "count that is on record" in after.cases_note
    assert after.half_width > 3 * before.half_width  # type: ignore[operator]
    assert 180 < other.assumed_cases < 480  # that of a quarter follows from its months
    assert session.price(monthly).name == key  # the question is the same
    assert session.budget("small") == spent
    (bought,) = session.preview(monthly, accuracy=f"{after.half_width}")
    assert float(bought.epsilon) == pytest.approx(0.1, rel=0.02)
    (margin,) = session.margins(monthly, [Epsilon.of("0.1")])
    assert margin == after.half_width


SET = """
log: small
ppis:
  - {id: n, measure: {number: cases}, scope: every month, epsilon: EPSILON}
  - {id: d, measure: {mean: {data: damage}}, bounds: [0, 9], scope: every month, epsilon: EPSILON}
"""


@pytest.mark.outside
@pytest.mark.parametrize(("epsilon", "told"), [("0.5", True), ("0.002", False)])
def test_a_count_that_follows_from_a_set_makes_forecasts_truer_too(
    tmp_path: Path, epsilon: str, *, told: bool
) -> None:
    """It follows for free; but not if it is hardly more than noise."""
    new = NewLog(first=date(2024, 1, 1), until=date(2024, 4, 1), terms=Terms(expected_cases=1_000))
    session = workspace_with(tmp_path / "w", claims(300), new).checkpoint()
    session.release(SET.replace("EPSILON", epsilon), anyway=True)
    other = ASKED.replace("SCOPE", "month").replace("1000", "500")
    (quote,) = session.preview(_at_a_tenth(other))
    assert ("count that is on record" in quote.cases_note) is told
    assert (60 < quote.assumed_cases < 160) is told


def test_of_an_interval_that_is_open_above_no_width_is_forecast() -> None:
    loose = ppi("mean: {data: amount}", "bounds: [0, 100000, loose]")
    quote = quote_of(planned(loose, None, LOG), LOG, 0, 0)
    assert quote.interval_half_width is None
    assert quote.typical_error is not None
    assert expected_text(quote).startswith("typically ±")


def test_of_private_bounds_no_interval_is_forecast() -> None:
    asked = ppi("mean: {data: amount}", "bounds: private, epsilon: 2")
    assert quote_of(planned(asked, None, LOG), LOG, 0, 0).interval_half_width is None


FORMULAS = {
    "a ratio": ("derive: a / b, a: {sum: {data: amount}}, b: {number: cases}", "a: [0, 1000]"),
    "a part of a whole": (
        "derive: a / b, a: {sum: {data: urgent}, within: b}, b: {sum: {derive: true}}",
        "value: [0, 1]",
    ),
    "a mean less a mean": (
        "derive: a - b, a: {mean: {data: amount}}, b: {mean: {data: amount}}",
        "a: [0, 1000], b: [0, 1000]",
    ),
    "a mean less a median": (
        "derive: a - b, a: {mean: {data: amount}}, b: {median: {data: amount}}",
        "a: [0, 1000], b: [0, 1000]",
    ),
    "a loose median": ("median: {data: amount}", "[0, 100000, loose]"),
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("period", ["every month", "every year"])
def test_the_interval_of_a_formula_is_forecast_as_it_will_be(formula: str, period: str) -> None:
    """Of an interval that is half of its range, the margin of its value said a thirtieth."""
    measure, bounds = FORMULAS[formula]
    bounds = bounds if bounds.startswith("[") else f"{{{bounds}}}"
    asked = ppi(measure, f"bounds: {bounds}, scope: {period}, epsilon: 0.5")
    log = LogDeclaration(data="made", table="made", public=LOG)
    plan = planned(asked, None, LOG)
    forecast = quote_of(plan, LOG, 0, 0).interval_half_width or math.nan
    amounts, urgent = amounts_at(0.2, plan.expected.cases), np.arange(plan.expected.cases) % 5 == 0
    values = []
    for part in plan.measurements:
        whole = np.ones(plan.expected.cases)
        columns = [
            whole if each.base == EVERY_CASE else urgent if "part" in formula else amounts
            for each in part.inputs
        ]
        values.append(columns[0] if len(columns) == 1 else np.column_stack(columns))
    halves = drawn_half_widths(plan, log, Period(FIRST, UNTIL), None, values, 40)
    assert LEAST <= forecast / median(halves) <= MOST


def test_a_loose_median_whose_interval_is_its_whole_range_tells_nothing() -> None:
    asked = ppi("median: {data: amount}", "bounds: [0, 100000, loose], epsilon: 0.5")
    assert quote_of(planned(asked, None, LOG), LOG, 0, 0).tells_nothing


@pytest.mark.parametrize("function", OF_RANKS)
@pytest.mark.parametrize("epsilon", ["0.05", "0.06", "0.08", "0.1", "0.15", "0.3"])
def test_a_longer_period_is_never_answered_by_a_point_where_a_shorter_one_is_not(
    function: str, epsilon: str
) -> None:
    """A longer period has finer bins, which are for its own cases and not those of a block."""
    log, halves = under(expected_cases=375), []
    for scope in PERIODS[1:]:
        asked = ppi(OF_RANKS[function], f"scope: {scope}")
        quote = quote_of(planned(asked, Epsilon.of(epsilon), log), log, 0, 0)
        halves.append(quote.interval_half_width or math.nan)
    assert all(longer <= 1.05 * shorter for shorter, longer in pairwise(halves)), halves


@pytest.mark.outside
@pytest.mark.parametrize("show", ["change from the previous period", "rolling 2 periods"])
def test_the_interval_of_a_view_is_forecast_as_it_will_be(show: str, tmp_path: Path) -> None:
    terms = Terms(expected_cases=300, block_budget=Epsilon.of(9))
    workspace = workspace_with(tmp_path / "w", claims(900), NewLog(terms=terms))
    text = (
        "log: small\nppis: [{id: p, measure: {mean: {time: {from: case start, to: case end}}}, "
        f"bounds: [0 days, 10 days], scope: every month, epsilon: 1, show: {show}}}]"
    )
    session = workspace.checkpoint()
    (quote,) = session.preview(text)
    (series,) = session.release(text)
    ends = [(answer.interval.low or 0.0, answer.interval.high or 0.0) for answer in series.answers]
    halves = [(high - low) / 2 for low, high in ends]
    assert LEAST <= (quote.interval_half_width or math.nan) / median(halves) <= MOST
