"""What a PPI shows of its figures: changes, windows, groups compared; the figures are what is paid.

Every view is a function of figures on record: it charges nothing more, reads no case, and is the
same whenever it is asked for.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from pappi.checkpoint import LocalSession
from pappi.errors import DefinitionError, NotFound, NotReleasable, Refused, TellsNothing, UsageError
from pappi.mechanisms import ErrorLaw
from pappi.planning.forecasts import law_of_difference
from pappi.ppinot import Catalogue, check_catalogue, parse_catalogue, parse_view
from pappi.ppinot.notations import parse_definitions, write_definitions
from pappi.ppinot.notations.java import ignored_by_java
from pappi.ppinot.views import (
    VIEW_EXAMPLES,
    Against,
    Change,
    Rolling,
    ToDate,
    added_up,
    compared_with,
)
from pappi.report import (
    answers_table,
    comparison_lines,
    csv_text,
    flat_records,
    report_html,
    series_svg,
    table_text,
)
from pappi.session import Workspace, from_wire, to_wire
from pappi.values import ZERO, Answer, By, Calendar, Epsilon, Grid, Period, Series, Verdict
from tests.unit.test_derivation import asked, made

STAYS = "stay"


def showing(name: str, view: str, *, target: str = "", scope: str = "every month") -> Catalogue:
    aim = f"    target: {target}\n" if target else ""
    return asked(name, scope=scope, more=f"    show: {view}\n{aim}")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return made(tmp_path)


@pytest.fixture
def session(workspace: Workspace) -> LocalSession:
    return workspace.checkpoint()


def answers(session: LocalSession, question: Catalogue, epsilon: str = "1") -> tuple[Answer, ...]:
    series, *_ = session.release(question, epsilon)
    return series.answers


def value(answer: Answer) -> float:
    assert answer.value is not None
    return answer.value


def ends(answer: Answer) -> tuple[float, float]:
    low, high = answer.interval.low, answer.interval.high
    assert low is not None
    assert high is not None
    return low, high


VIEWS = {
    "change from the previous period": 2,
    "percent change from the previous period": 2,
    "ratio to the previous period": 2,
    "rolling 2 months": 2,
    "year to date": 3,
}


# --- the figures are what is released -------------------------------------------------------


@pytest.mark.outside
@pytest.mark.advised
@pytest.mark.parametrize(
    ("view", "scope"),
    [
        ("rolling 4 months", "every month"),
        ("change from the previous period", "every quarter"),
        ("change from the same period last year", "every month"),
    ],
)
def test_a_view_of_too_few_periods_shows_nothing_and_is_not_charged(
    session: LocalSession, view: str, scope: str
) -> None:
    question = showing("stay", view, scope=scope)
    (quote,) = session.preview(question, "1")
    assert quote.tells_nothing
    assert "takes more periods" in quote.advice
    before = session.budget("small")
    with pytest.raises(TellsNothing, match="takes more periods, and its scope has only"):
        session.release(question, "1")
    assert session.budget("small") == before
    (series,) = session.release(question, "1", anyway=True)
    assert not series.answers


@pytest.mark.outside
def test_a_view_of_what_is_on_record_is_free_and_reads_no_case(
    session: LocalSession, workspace: Workspace
) -> None:
    answers(session, asked(STAYS))
    before, entries = session.budget("small"), len(session.releases("small"))
    events = next(workspace.root.rglob("*.duckdb"))
    hidden = events.rename(events.with_suffix(".gone"))
    try:
        for view, number in VIEWS.items():
            question = showing(STAYS, view)
            (quote,) = session.preview(question, "1")
            assert quote.new_charges == 0
            shown = answers(session, question)
            assert len(shown) == number
            assert all(one.charged == ZERO and one.replayed for one in shown)
            again = answers(session, question)
            assert list(map(to_wire, again)) == list(map(to_wire, shown))
    finally:
        hidden.rename(events)
    assert session.budget("small") == before
    assert len(session.releases("small")) == entries


@pytest.mark.outside
def test_a_view_pays_for_its_figures_which_are_free_afterwards(session: LocalSession) -> None:
    question = showing(STAYS, "change from the previous period", target="below 1 day")
    (quote,) = session.preview(question, "1")
    (plain,) = session.preview(asked(STAYS), "1")
    assert (quote.new_charges, quote.epsilon) == (plain.new_charges, plain.epsilon)
    assert all(one.charged > ZERO for one in answers(session, question))
    assert all(one.replayed for one in answers(session, asked(STAYS)))


@pytest.mark.outside
@pytest.mark.parametrize("view", ["change from the previous period", "rolling 2 months"])
def test_a_view_of_which_one_figure_was_paid_for_is_not_derived(
    session: LocalSession, view: str
) -> None:
    session.release(asked(STAYS, scope="between 2024-01-01 and 2024-01-31"), "3")
    february, march = answers(session, showing(STAYS, view), "0.5")
    assert {february.charged, march.charged} == {Epsilon.of("0.5")}
    assert not february.derived_from
    february, _ = answers(session, showing(STAYS, view), "0.5")
    assert (february.charged, len(february.derived_from)) == (ZERO, 1)


@pytest.mark.outside
def test_figures_and_their_views_in_one_catalogue_cost_the_figures(session: LocalSession) -> None:
    (plain,), (rolled,) = asked(STAYS).ppis, showing(STAYS, "rolling 2 months").ppis
    both = Catalogue("small", (plain, replace(rolled, id="rolled")))
    session.release(both, total="0.5")
    assert max(float(line.spent) for line in session.budget("small")) == 0.5


# --- what is shown ----------------------------------------------------------------------------


@pytest.mark.outside
def test_changes_are_those_of_the_figures(session: LocalSession) -> None:
    figures = [value(one) for one in answers(session, asked(STAYS))]
    changes = answers(session, showing(STAYS, "change from the previous period"))
    assert [value(one) for one in changes] == pytest.approx(
        [later - earlier for earlier, later in pairwise(figures)]
    )
    percents = answers(session, showing(STAYS, "percent change from the previous period"))
    ratios = answers(session, showing(STAYS, "ratio to the previous period"))
    for percent, ratio in zip(percents, ratios, strict=True):
        assert value(percent) == pytest.approx(100 * (value(ratio) - 1))
    for one in (*changes, *percents, *ratios):
        low, high = ends(one)
        assert low < value(one) < high
        told = one.comparison
        assert told is not None
        assert told.more_than_noise is not low <= told.same <= high
        assert told.first.period == one.period
        assert told.second.period.end == one.period.start
        assert told.first.unit == "days"


@pytest.mark.outside
def test_windows_are_narrower_than_their_figures_and_say_their_days(session: LocalSession) -> None:
    figures = {one.period: one for one in answers(session, asked(STAYS))}
    rolled = answers(session, showing(STAYS, "rolling 2 months"))
    for one in rolled:
        low, high = ends(one)
        least, most = ends(figures[one.period])
        assert high - low < most - least
        assert one.over is not None
        assert (one.over.end, one.over.start < one.period.start) == (one.period.end, True)
        assert one.likelihood is None, "neighbours share cases: they must not be smoothed as apart"
    to_date = answers(session, showing(STAYS, "year to date"))
    assert [one.over and one.over.start for one in to_date] == [date(2024, 1, 1)] * 3
    assert value(to_date[0]) == pytest.approx(value(figures[to_date[0].period]), rel=0.02)


@pytest.mark.outside
def test_sums_add_up(session: LocalSession) -> None:
    figures = [value(one) for one in answers(session, asked("days"))]
    to_date = [value(one) for one in answers(session, showing("days", "year to date"))]
    assert to_date == pytest.approx([sum(figures[: n + 1]) for n in range(3)], rel=1e-6)


@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "counted"), [("number", ""), ("damaged", " with a value of the last value of damage")]
)
def test_numbers_of_cases_are_called_so(session: LocalSession, name: str, counted: str) -> None:
    """They are released as sums of truth values, which is nothing to say."""
    (series,) = session.release(showing(name, "year to date"), "1")
    said = f"the number of cases{counted}, for every month, shown as year to date"
    assert series.sentence == said


@pytest.mark.outside
@pytest.mark.parametrize("name", ["days", "number", "damages", "damaged"])
def test_sums_and_numbers_that_share_a_draw_add_up(session: LocalSession, name: str) -> None:
    """One draw tells means and shares as well, which do not add up."""
    figures = [value(one) for one in answers(session, asked(name, "stay", "rejected"))]
    rolling = asked(name, "stay", "rejected", more="    show: rolling 2 months\n")
    (quote, *_) = session.preview(rolling, "1")
    assert not quote.new_charges
    rolled = answers(session, rolling)
    assert [value(one) for one in rolled] == pytest.approx(
        [first + second for first, second in pairwise(figures)], rel=1e-4
    )
    widest = max(high - low for low, high in map(ends, rolled))
    assert quote.margin == pytest.approx(widest / 2, rel=0.1)


@pytest.mark.outside
def test_two_groups_are_compared_in_every_period(session: LocalSession) -> None:
    figures = {(one.period, one.group): one for one in answers(session, asked("by"))}
    for one in answers(session, showing("by", "difference between web and phone")):
        first, second = figures[one.period, "web"], figures[one.period, "phone"]
        assert value(one) == pytest.approx(value(first) - value(second))
        assert one.group is None
        assert one.comparison is not None
        assert (one.comparison.first.group, one.comparison.second.group) == ("web", "phone")


@pytest.mark.outside
def test_shares_differ_in_percentage_points(session: LocalSession) -> None:
    (series,) = session.release(
        showing("rejected", "change from the previous period", target="at most 5 %"), "1"
    )
    assert series.unit == "percentage points"
    assert series.target is not None
    assert series.target.text == "at most 5 percentage points"


@pytest.mark.outside
def test_a_verdict_is_about_what_is_shown(session: LocalSession) -> None:
    change = "change from the previous period"
    wide = answers(session, showing(STAYS, change, target="below 9 days"))
    assert {one.verdict for one in wide} == {Verdict.MET}
    missed = answers(session, showing(STAYS, "rolling 2 months", target="below 0.1 days"))
    assert {one.verdict for one in missed} == {Verdict.MISSED}
    tight = answers(session, showing(STAYS, change, target="below 0 days"))
    for one in tight:
        low, high = ends(one)
        expected = Verdict.MET if high < 0 else Verdict.MISSED if low >= 0 else Verdict.UNDECIDED
        assert one.verdict in (expected, Verdict.UNDECIDED)
        assert one.probability_met is not None


@pytest.mark.outside
def test_the_preview_tells_the_margin_of_what_is_shown(session: LocalSession) -> None:
    (plain,) = session.preview(asked(STAYS), "1")
    (change,) = session.preview(showing(STAYS, "change from the previous period"), "1")
    (rolled,) = session.preview(showing(STAYS, "rolling 2 months"), "1")
    (percent,) = session.preview(showing(STAYS, "percent change from the previous period"), "1")
    assert plain.margin is not None
    assert change.margin is not None
    assert rolled.margin is not None
    assert 1.2 * plain.margin < change.margin < 2 * plain.margin
    assert rolled.margin < plain.margin
    assert (percent.margin, percent.unit) == (None, "percent")
    assert "private" in percent.margin_note


@pytest.mark.outside
def test_an_accuracy_is_that_of_what_is_shown(session: LocalSession) -> None:
    question = showing(STAYS, "change from the previous period")
    (quote,) = session.preview(question, accuracy="1 d")
    (plain,) = session.preview(asked(STAYS), accuracy="1 d")
    assert quote.margin is not None
    assert quote.margin <= 1.0
    assert quote.epsilon > plain.epsilon


def test_a_difference_of_figures_that_are_hardly_off_has_a_law() -> None:
    """At a large ε: of steps so small, the largest distance has more than a float can say."""
    law = law_of_difference(ErrorLaw(lambda t: math.exp(-t * 1e12)))
    assert 0 < law.within(0.95) < 1e-10


def test_the_law_of_a_difference_is_that_of_two_errors() -> None:
    """Of two Laplace errors of scale 1: P(|x − y| ≥ t) = (1 + t/2)·e^−t."""
    law = law_of_difference(ErrorLaw(lambda t: math.exp(-t)))
    for distance in (1.0, 2.0, 4.0, 6.0):
        exact = (1 + distance / 2) * math.exp(-distance)
        assert exact <= law.beyond(distance) <= 1.15 * exact + 3e-4


@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "view", "close"),
    [
        ("stay", "change from the previous period", 1.0),
        ("stay", "percent change from the previous period", 60.0),
        ("stay", "rolling 2 months", 0.5),
        ("rejected", "year to date", 8.0),
        ("number", "year to date", 12.0),
        ("days", "rolling 2 months", 30.0),
        ("by", "difference between web and phone", 2.0),
        ("by", "change from the previous period", 2.0),
    ],
)
def test_what_is_shown_is_near_what_it_is_without_noise(
    workspace: Workspace, session: LocalSession, name: str, view: str, close: float
) -> None:
    """At an ε at which hardly any noise is left; the owner sees the same without any."""
    question = showing(name, view)
    exact = {(one.period, one.group): one for one in workspace.exact(question)}
    shown = answers(session, question, "8")
    assert {(one.period, one.group) for one in shown} == set(exact)
    for one in shown:
        truth = exact[one.period, one.group]
        assert one.unit == truth.unit
        assert truth.clipped is not None
        assert value(one) == pytest.approx(truth.clipped, abs=close)


# --- two figures that somebody picks ------------------------------------------------------------


@pytest.mark.outside
def test_any_two_on_record_are_compared_for_free(session: LocalSession) -> None:
    by = asked("by", more="    epsilon: 1\n")
    with pytest.raises(NotFound, match="on record"):
        session.compare(by, periods=("2024-03", "2024-01"))
    figures = {(one.period.label, one.group): one for one in session.release(by)[0].answers}
    before = session.budget("small")
    (series,) = session.compare(by, periods=("2024-03", "2024-01"))
    assert {one.group for one in series.answers} == {"web", "phone"}
    for one in series.answers:
        first, second = figures["2024-03", one.group], figures["2024-01", one.group]
        assert value(one) == pytest.approx(value(first) - value(second))
    (ratios,) = session.compare(by, groups=("web", "phone"), by="ratio")
    assert [one.period.label for one in ratios.answers] == ["2024-01", "2024-02", "2024-03"]
    assert session.budget("small") == before
    assert from_wire(Series, to_wire(series)) == replace(
        series, answers=tuple(replace(one, likelihood=None) for one in series.answers)
    )


@pytest.mark.outside
def test_what_is_not_there_cannot_be_compared(session: LocalSession) -> None:
    by = asked("by", more="    epsilon: 1\n")
    session.release(by)
    with pytest.raises(UsageError, match="two different periods"):
        session.compare(by, periods=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="two different periods"):
        session.compare(by, periods=("2024-01", "2024-01"))
    with pytest.raises(UsageError, match="two different periods"):
        session.compare(by)
    with pytest.raises(UsageError, match="period '2023-12'"):
        session.compare(by, periods=("2024-01", "2023-12"))
    with pytest.raises(UsageError, match="group 'fax'"):
        session.compare(by, groups=("web", "fax"))
    with pytest.raises(UsageError, match="cannot be compared by"):
        session.compare(by, groups=("web", "phone"), by="guess")


# --- everywhere ----------------------------------------------------------------------------------


@pytest.mark.outside
def test_tables_records_and_charts_tell_what_is_shown(session: LocalSession) -> None:
    released = [
        *session.release(showing(STAYS, "change from the previous period"), "1"),
        *session.release(showing("days", "rolling 2 months"), "1"),
    ]
    change, rolled = released
    text = table_text(answers_table(change))
    assert "Change" in text
    assert "noise" in text
    assert "change from the previous period" in text
    assert "Verdict" not in text
    assert "rolling 2 months" in table_text(answers_table(rolled))
    record = to_wire(change.answers[0])
    assert record["comparison"]["by"] == "difference"
    assert record["comparison"]["second"]["period"] == {"start": "2024-01-01", "end": "2024-02-01"}
    assert to_wire(rolled.answers[0])["over"] == {"start": "2024-01-01", "end": "2024-03-01"}
    rows = list(csv.DictReader(io.StringIO(csv_text(flat_records(change.answers)))))
    assert rows[0]["compared_by"] == "difference"
    assert rows[0]["against_period_start"] == "2024-01-01"
    assert {row["more_than_noise"] for row in rows} <= {"True", "False", "true", "false"}
    assert "over_start" in csv_text(flat_records(rolled.answers)).splitlines()[0]
    page = report_html("Report", released, session.budget("small"), (), "today")
    for word in ("Compared", "Noise", "each figure is about the days up to the end"):
        assert word in page
    assert from_wire(Series, to_wire(change)) == change


@pytest.mark.outside
def test_a_change_is_drawn_around_no_change(session: LocalSession) -> None:
    (series,) = session.release(showing(STAYS, "change from the previous period"), "1")
    high = tuple(
        replace(one, value=5.0 + n, interval=replace(one.interval, low=4.0, high=7.0))
        for n, one in enumerate(series.answers)
    )
    drawn, plain = (
        series_svg(replace(series, answers=of))
        for of in (high, tuple(replace(one, comparison=None) for one in high))
    )
    assert ">0</text>" in drawn
    assert ">0</text>" not in plain


@pytest.mark.outside
def test_a_comparison_in_plain_words(session: LocalSession) -> None:
    (series,) = session.release(showing(STAYS, "change from the previous period"), "1")
    one = series.answers[0]
    assert one.comparison is not None
    sure = replace(one.comparison, more_than_noise=True)
    told = replace(one, value=3.2, interval=replace(one.interval, low=1.0, high=5.4))
    said, within, verdict = comparison_lines(replace(told, comparison=sure))
    assert "is 3.2 d above 2024-01" in said
    assert within == "With 95 % confidence, the difference without noise is between 1.0 and 5.4 d."
    assert verdict == "That is more than noise."
    unsure = replace(told, comparison=replace(sure, more_than_noise=False))
    assert "noise alone" in comparison_lines(unsure)[-1]


@pytest.mark.outside
def test_a_rehearsal_shows_views_too(session: LocalSession) -> None:
    (series,) = session.rehearse(showing(STAYS, "year to date"), "1")
    assert series.rehearsed
    assert all(one.over is not None for one in series.answers)


@pytest.mark.outside
def test_smoothing_leaves_what_shares_figures_alone(session: LocalSession) -> None:
    for view in VIEWS:
        (series,) = session.release(showing(STAYS, view), "1", smooth=True)
        assert all(one.smoothed is None for one in series.answers)


# --- what cannot be shown ------------------------------------------------------------------------

MEAN = "measure: {mean: {data: damage}}, bounds: [0, 10]"
BY = "measure: {mean: {data: damage}, by: {data: channel, values: [web, phone]}}, bounds: [0, 10]"


@pytest.mark.parametrize(
    ("ppi", "problem"),
    [
        (f"{MEAN}, show: rolling 3 months, scope: every week", "not a whole number"),
        (f"{MEAN}, show: rolling 1 month", "covers one period alone"),
        (f"{MEAN}, show: month to date", "cannot be made up of"),
        (f"{MEAN}, show: year to date, scope: whole time", "needs periods"),
        (f"{MEAN}, show: change from the previous period, scope: last 50 cases", "needs periods"),
        (
            f"{MEAN}, show: change from the same period last year, scope: every 5 weeks",
            "no matching period last year",
        ),
        (f"{MEAN}, show: difference between web and phone", "no group 'web'"),
        (f"{BY}, show: difference between web and web", "compared with itself"),
        (f"{BY}, show: difference between web and fone", "no group 'fone'"),
        (
            "measure: {max: {data: damage}}, bounds: [0, 10], show: rolling 3 months",
            "cannot be shown for minima",
        ),
        (
            f"{MEAN}, show: rolling 3 months, target: below 5, release: {{answer: verdict}}",
            "no figures to show",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_with_its_reason(ppi: str, problem: str) -> None:
    catalogue = parse_catalogue(f"log: small\nppis:\n  - {{id: a, {ppi}}}\n")
    (found,) = check_catalogue(catalogue, None)
    assert problem in found.message
    assert found.hint


@pytest.mark.parametrize("text", ["change", "rolling 0 months", "rolling months", "decade to date"])
def test_another_phrase_is_a_problem_with_its_place(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_catalogue(f"log: small\nppis:\n  - {{id: a, {MEAN}, show: {text}}}\n")
    assert caught.value.problems[0].position.line == 3


@pytest.mark.outside
def test_what_does_not_add_up_is_refused_before_anything_is_charged(session: LocalSession) -> None:
    before = session.budget("small")
    with pytest.raises(NotReleasable, match="does not add up"):
        session.release(showing("per_case", "rolling 2 months"), "1")
    negative = parse_catalogue(
        "log: small\nppis:\n  - {id: a, measure: {mean: {data: damage}}, bounds: [-5, 10], "
        "show: ratio to the previous period}\n"
    )
    with pytest.raises(NotReleasable, match="negative"):
        session.release(negative, "1")
    assert session.budget("small") == before


@pytest.mark.outside
def test_the_whole_time_beside_a_view_is_refused(session: LocalSession) -> None:
    with pytest.raises((UsageError, Refused)):
        session.release(showing(STAYS, "rolling 2 months"), "1", smooth=True, whole="0.5")


# --- notations ------------------------------------------------------------------------------------

PHRASES = (
    *VIEW_EXAMPLES,
    "ratio to the same period last year",
    "percent difference between web and phone",
    'ratio of "web" to phone',
    "rolling 1 year",
    "quarter to date",
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_notation_that_is_written_reads_views_back(phrase: str) -> None:
    by = "measure: {mean: {data: damage}, by: {data: channel, values: [web, phone]}}"
    aims = "target: {green: below 3, amber: below 5}"
    ppi = f"{{id: a, {by}, bounds: [0, 10], show: {phrase!r}, {aims}}}"
    catalogue = parse_catalogue(f"log: small\nppis:\n  - {ppi}\n")
    for notation in ("yaml", "json", "java", "text"):
        written = write_definitions(catalogue, notation)
        assert parse_definitions(written, notation, "x", "small").catalogue == catalogue
    assert "catalogue.show" in ignored_by_java(catalogue)


def test_a_phrase_has_one_form() -> None:
    assert str(parse_view("change from previous period")) == "change from the previous period"
    assert str(parse_view('difference between "web" and "by post"')) == (
        'difference between web and "by post"'
    )
    assert parse_view("difference between web") is None


# --- windows ------------------------------------------------------------------------------------


def months(*numbers: int, year: int = 2024) -> list[Period]:
    grid = Grid(Calendar.MONTH)
    return [grid.periods(date(year, n, 1), date(year, n, 2))[0] for n in numbers]


def lengths(windows: dict[Period, list[Period]]) -> Sequence[tuple[str, int]]:
    return [(last.label, len(window)) for last, window in windows.items()]


def test_a_window_with_a_gap_is_left_out() -> None:
    month = Grid(Calendar.MONTH)
    rolled = added_up(Rolling(2, Calendar.MONTH), months(1, 2, 4, 5), month)
    assert lengths(rolled) == [("2024-02", 2), ("2024-05", 2)]


def test_a_year_begins_anew() -> None:
    to_date = added_up(
        ToDate(Calendar.YEAR), [*months(11, 12, year=2023), *months(1, 2)], Grid(Calendar.MONTH)
    )
    assert lengths(to_date) == [("2023-11", 1), ("2023-12", 2), ("2024-01", 1), ("2024-02", 2)]


def test_a_leap_day_has_no_day_a_year_ago() -> None:
    day = Grid(Calendar.DAY)
    leap = Period(date(2024, 2, 29), date(2024, 3, 1))
    assert compared_with(Change(Against.YEAR_AGO, By.DIFFERENCE), leap, day) is None
    week = Grid(Calendar.WEEK)
    (own,) = week.periods(date(2024, 3, 6), date(2024, 3, 7))
    earlier = compared_with(Change(Against.YEAR_AGO), own, week)
    assert earlier is not None
    assert (own.start - earlier.start).days == 364
