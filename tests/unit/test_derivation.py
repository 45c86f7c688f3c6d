"""Ask once, derive for ever: what follows from the record is free, and reads no case."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pappi.checkpoint import LocalSession, derivation
from pappi.checkpoint.queries import planned, plans_of
from pappi.custody import NewLog
from pappi.errors import PappiError, UsageError
from pappi.ledger import Account, Charge
from pappi.mechanisms import FOR_EVEN_VALUES, MOST_BINS, ReadOffBins, mechanism_for
from pappi.planning.measurements import Request
from pappi.ppinot import Catalogue, Ppi, parse_catalogue
from pappi.report import (
    epsilon_text,
    flat_records,
    set_lines,
    with_record_lines,
)
from pappi.session import Workspace, from_wire, to_wire
from pappi.store import open_workspace
from pappi.values import (
    UNIT_INTERVAL,
    ZERO,
    Adjacency,
    Answer,
    Calendar,
    Epsilon,
    Grid,
    Per,
    Period,
    PrivacyUnit,
    Quote,
    Series,
    Source,
    Terms,
)
from tests.small_logs import claims, workspace_with
from tests.work import calls_in

pytestmark = pytest.mark.outside

STAY = "{time: {from: case start, to: case end}, unit: days}"
MEASURES = {
    "stay": f"{{mean: {STAY}}}\n    bounds: [0 days, 10 days]",
    "rejected": '{share: {condition: activity == "Reject"}}',
    "number": "{number: cases}",
    "rejections_by": '{number: cases, where: {condition: activity == "Reject"}, '
    "by: {data: channel, values: [web]}}",
    "rejected_by": '{share: {condition: activity == "Reject"}, '
    "by: {data: channel, values: [web, phone]}}",
    "number_rejected": '{number: cases, where: {condition: activity == "Reject"}}',
    "days": f"{{sum: {STAY}}}\n    bounds: [0 days, 10 days]",
    "damage": "{mean: {data: damage}}\n    bounds: [0, 1000]",
    "damages": "{sum: {data: damage}}\n    bounds: [0, 1000]",
    "damaged": "{number: {data: damage}}",
    "longest": f"{{max: {STAY}}}\n    bounds: [0 days, 10 days]",
    "by": f"{{mean: {STAY}, by: {{data: channel, values: [web, phone]}}}}\n"
    "    bounds: [0 days, 10 days]",
    "web": f"{{mean: {STAY}, by: {{data: channel, values: [web]}}}}\n    bounds: [0 days, 10 days]",
    "per_case": "{derive: a / b, a: {sum: {data: damage}}, b: {number: cases}}\n"
    "    bounds: {a: [0, 1000]}",
}


def asked(*names: str, scope: str = "every month", more: str = "") -> Catalogue:
    ppis = "".join(
        f"  - id: {name}\n    measure: {MEASURES[name]}\n    scope: {scope}\n{more}"
        for name in names
    )
    return parse_catalogue(f"log: small\nppis:\n{ppis}")


def made(folder: Path, terms: Terms | None = None) -> Workspace:
    terms = replace(terms or Terms(), block_budget=Epsilon.of(9), expected_cases=40)
    return workspace_with(folder / "w", claims(120), NewLog(terms=terms))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return made(tmp_path)


def shown(series: Sequence[Series]) -> list[dict[str, object]]:
    return [to_wire(answer) for one in series for answer in one.answers]


def derived(
    session: LocalSession, question: Catalogue, epsilon: str = "0.1", *, take: bool | None = None
) -> tuple[Answer, ...]:
    """The answers to one PPI, all of them derived: nothing is charged and no entry is written."""
    before, entries = session.budget("small"), len(session.releases("small"))
    (series,) = session.release(question, epsilon, derived=take)
    assert session.budget("small") == before
    assert len(session.releases("small")) == entries
    assert all(answer.derived_from for answer in series.answers)
    assert {answer.charged for answer in series.answers} == {ZERO}
    assert not any(answer.replayed for answer in series.answers)
    return series.answers


def test_a_quarter_is_the_sum_of_its_months(workspace: Workspace) -> None:
    session = workspace.checkpoint("ann")
    (months,) = session.release(asked("stay"), "1")
    (quarter,) = derived(workspace.checkpoint("bob"), asked("stay", scope="every quarter"))
    assert [source.period for source in quarter.derived_from] == [a.period for a in months.answers]
    assert {source.weight for source in quarter.derived_from} == {1.0}
    numbers = {release.number for release in session.releases("small")}
    assert {source.number for source in quarter.derived_from} == numbers
    assert quarter.cases == pytest.approx(sum(answer.cases or 0 for answer in months.answers))
    assert quarter.guarantee.epsilon == Epsilon.of(1)
    low, high = quarter.interval.low, quarter.interval.high
    assert low is not None
    assert high is not None
    widest = max((a.interval.high or 0) - (a.interval.low or 0) for a in months.answers)
    assert 0 < high - low < widest
    assert quarter.beyond is not None  # counted in all three


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("days", "stay"),
        ("number", "stay"),
        ("number", "rejected"),
        ("number_rejected", "rejected"),
        ("rejections_by", "rejected_by"),
        ("damages", "damage"),
        ("damaged", "damage"),
        ("web", "by"),
    ],
)
@pytest.mark.parametrize("scope", ["every month", "whole time"])
def test_sums_numbers_and_groups_follow_from_means(
    workspace: Workspace, name: str, known: str, scope: str
) -> None:
    session = workspace.checkpoint()
    (series,) = session.release(asked(known), "3")
    answers = derived(session, asked(name, scope=scope), take=True)
    exact = workspace.exact(asked(name, scope=scope))
    for answer, true in zip(answers, exact, strict=True):
        assert true.clipped is not None
        assert answer.value == pytest.approx(true.clipped, abs=40 if name != "damages" else 9000)
    if name == "number" and scope == "every month":
        assert [a.value for a in answers] == pytest.approx([a.cases for a in series.answers])


def test_a_formula_follows_from_its_functions(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    session.release(asked("stay", "damage"), "3")
    answers = derived(session, asked("per_case", scope="whole time"), take=True)
    (exact,) = workspace.exact(asked("per_case", scope="whole time"))
    assert answers[0].interval.low is not None
    assert answers[0].interval.high is not None
    assert exact.clipped is not None
    assert answers[0].interval.low - 50 <= exact.clipped <= answers[0].interval.high + 50


def test_nothing_else_is_derived(workspace: Workspace) -> None:
    """Neither a total from groups, nor shorter periods, nor what is no sum of cases."""
    session = workspace.checkpoint()
    session.release(asked("by"), "3")
    session.release(asked("rejected", scope="every quarter"), "3")
    session.release(asked("longest"), "1")
    for question in (
        asked("stay"),
        asked("number"),
        asked("rejected"),
        asked("longest", scope="whole time"),
        asked("number_rejected"),
        asked("stay", scope="{every: month, cases: {condition: 'activity == \"Pay\"'}}"),
        asked("stay", scope="last 20 cases"),
        asked("stay", more="    release: {mechanism: two-bin}\n"),
    ):
        (quote,) = session.preview(question, "0.01")
        assert quote.derivable is None
        assert quote.new_charges


def test_no_case_is_read_and_every_replay_is_the_same(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    session.release(asked("stay", "rejected", "damage"), "1")
    questions = [
        asked(name, scope=scope)
        for name in ("stay", "days", "number", "damaged", "per_case")
        for scope in ("every quarter", "whole time", "between 2024-02-01 and 2024-03-31")
    ]
    first = [shown(session.release(each, "0.05", derived=True)) for each in questions]
    shutil.rmtree(open_workspace(workspace.root).events)
    again = [shown(session.release(each, "0.05", derived=True)) for each in questions]
    assert first == again
    with pytest.raises(PappiError):
        session.release(questions[0], "0.05", derived=False)


def test_it_is_taken_by_itself_only_if_it_is_as_exact(workspace: Workspace) -> None:
    session, quarter = workspace.checkpoint(), asked("stay", scope="every quarter")
    session.release(asked("stay"), "0.5")
    (less,) = session.preview(quarter, "0.1")
    assert less.derivable is not None
    assert less.derivable.taken
    assert less.new_charges == 0
    assert less.derivable.margin is not None
    assert less.margin is not None
    assert less.derivable.margin <= less.margin
    assert session.price(replace(quarter, ppis=(at(quarter, "0.1"),))).is_free
    (more,) = session.preview(quarter, "2")
    assert more.derivable is not None
    assert not more.derivable.taken
    assert more.new_charges == 1
    assert any(
        "free, ± " in line and "derived from 3 releases" in line for line in set_lines([more])
    )
    assert to_wire(more)["derivable"]["taken"] is False
    assert from_wire(Quote, to_wire(more)) == more
    derived(session, quarter, "2", take=True)
    (paid,) = session.release(quarter, "2")
    assert paid.answers[0].charged == Epsilon.of(2)
    assert not paid.answers[0].derived_from
    (fresh,) = session.release(asked("stay", scope="whole time"), "0.1", derived=False)
    assert fresh.answers[0].charged == Epsilon.of("0.1")


def at(catalogue: Catalogue, epsilon: str) -> Ppi:
    return replace(catalogue.ppis[0], epsilon=Epsilon.of(epsilon))


def test_several_releases_of_one_figure_are_weighed(workspace: Workspace) -> None:
    session, whole = workspace.checkpoint(), asked("stay", scope="whole time")
    session.release(asked("stay"), "1")
    (months,) = derived(session, whole, take=True)
    session.release(whole, "2")
    (both,) = derived(session, whole, "0.5", take=True)
    weights = {source.period.label: source.weight for source in both.derived_from}
    assert len(weights) == 4
    quarter = weights.pop(both.period.label)
    assert {round(weight + quarter, 9) for weight in weights.values()} == {1.0}
    assert width(both) < width(months)
    (alone,) = session.replay(replace(whole, ppis=(at(whole, "2"),)))
    assert width(both) < width(alone.answers[0])


def test_of_a_part_of_the_days_all_that_is_known_counts(workspace: Workspace) -> None:
    """A whole is cut into January with February, and March; of the first, its months count too."""
    session, whole = workspace.checkpoint(), asked("stay", scope="whole time")
    two = asked("stay", scope="between 2024-01-01 and 2024-02-29")
    session.release(asked("stay"), "1")
    (months,) = derived(session, whole, take=True)
    session.release(two, "1", derived=False)
    (every,) = derived(session, whole, take=True)
    weights = {source.period.label: source.weight for source in every.derived_from}
    assert len(weights) == 4
    longer = weights.pop(next(label for label in weights if "02-29" in label))
    assert 0.5 < longer < 0.8  # as exact as one month where two are added up
    assert sorted(round(weight + longer, 9) for weight in weights.values()) == [
        1.0,
        1.0,
        1 + longer,
    ]
    assert width(every) < width(months)


def test_days_are_told_once_whatever_is_on_record() -> None:
    """Of every day, the weights of what tells about it make 1; and no cut has less noise."""
    chance = np.random.default_rng(20)
    days = [date(2024, 1, 1) + timedelta(days=day) for day in range(9)]
    for _ in range(200):
        pairs = [sorted(chance.choice(9, 2, replace=False)) for _ in range(chance.integers(1, 14))]
        seen = [
            _seen(days[first], days[last], int(chance.choice([1, 2, 5]))) for first, last in pairs
        ]
        found = derivation._tiled(seen, days[0], days[-1])
        cut = _cuts(seen, days[0], days[-1])
        assert (found is None) == (not cut)
        for day in days[:-1] if found else ():
            told = [weight for one, weight in found or () if one.start <= day < one.end]
            assert sum(told) == 1
        if found is not None:
            noise = sum(float(weight) ** 2 * one.variance for one, weight in found)
            assert noise <= 1.0001 * min(sum(one.variance for one in way) for way in cut)


def _seen(start: date, end: date, epsilon: int) -> derivation._Observation:
    common = UNIT_INTERVAL, Fraction(epsilon), Adjacency.ADD_REMOVE
    mechanism = mechanism_for("share", *common, integral=True)
    source = Source(1, "p", Period(start, end))
    charge = Charge("key", (Account("small", "2024-01"),), Epsilon.of(epsilon), {}, "ann")
    return derivation._Observation(start, end, None, mechanism, None, None, (0, 0), source, charge)


def _cuts(
    seen: Sequence[derivation._Observation], start: date, end: date
) -> list[list[derivation._Observation]]:
    """All ways from one day to another."""
    if start == end:
        return [[]]
    first = [one for one in seen if one.start == start and one.end <= end]
    return [[one, *way] for one in first for way in _cuts(seen, one.end, end)]


def width(answer: Answer) -> float:
    return (answer.interval.high or 0.0) - (answer.interval.low or 0.0)


def test_one_of_a_set_that_is_derived_leaves_the_others_to_share(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    session.release(asked("stay"), "2")
    before = session.budget("small")[0].spent
    series = session.release(asked("stay", "rejected", "damage", scope="every quarter"), "0.2")
    assert [bool(one.answers[0].derived_from) for one in series] == [True, False, False]
    assert session.budget("small")[0].spent - before == Epsilon.of("0.4")


def test_a_derived_answer_says_so_everywhere(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    session.release(asked("stay"), "1")
    (answer,) = derived(session, asked("stay", scope="whole time"))
    assert [each["number"] for each in to_wire(answer)["derived_from"]] == [
        source.number for source in answer.derived_from
    ]
    assert flat_records([answer])[0]["derived_from"].count(" ") == 2
    read = from_wire(Answer, to_wire(answer))
    assert read == replace(answer, likelihood=None)


def test_the_whole_time_of_two_levels_is_never_derived_from_its_periods(
    workspace: Workspace,
) -> None:
    session = workspace.checkpoint()
    session.release(asked("stay"), "2")
    series = session.release(asked("stay"), "0.4", smooth=True, whole="0.5")
    assert not any(answer.derived_from for one in series for answer in one.answers)
    with pytest.raises(UsageError, match="nothing derived"):
        session.release(asked("stay"), "0.4", smooth=True, whole="0.5", derived=True)


@pytest.mark.parametrize(
    "terms",
    [
        Terms(adjacency=Adjacency.REPLACE),
        Terms(unit=PrivacyUnit("damage", 2, Per.LOG)),
        Terms(unit=PrivacyUnit("damage", 2, Per.BLOCK)),
        Terms(blocks=Grid(Calendar.WEEK)),
    ],
)
def test_months_add_up_for_every_unit_adjacency_and_block(tmp_path: Path, terms: Terms) -> None:
    """At an ε that leaves no noise to speak of, what is derived is what is asked for."""
    workspace = made(tmp_path, replace(terms, block_budget=Epsilon.of(9)))
    workspace.grant("small", "100000")
    session = workspace.checkpoint()
    fine = "every week" if terms.blocks.unit is Calendar.WEEK else "every month"
    session.release(asked("stay", "rejected", scope=fine), "9000")
    for name in ("stay", "rejected", "number"):
        for scope in ("every quarter", "whole time"):
            question = asked(name, scope=scope)
            (quote,) = session.preview(question, "0.1")
            if quote.derivable is None:
                # Weeks do not make a quarter, and a number under replace is public.
                assert terms.blocks.unit is Calendar.WEEK or name == "number"
                continue
            (told,) = session.release(question, "0.1", derived=True)
            (drawn,) = session.release(question, "9000", derived=False)
            for one, other in zip(told.answers, drawn.answers, strict=True):
                assert one.value == pytest.approx(other.value, abs=0.05)


# --- limits, numbers and percentiles from histograms ----------------------------------------

TIME = "{time: {from: case start, to: case end}}"
REJECTED = "{time: {from: {activity: Receive}, to: {activity: Reject}}}"
BINNED = {
    "bins": f"{{distribution: {STAY}, limits: [1 day, 2 days, 4 days]}}\n"
    "    bounds: [0 days, 10 days]",
    "usual": f"{{distribution: {STAY}}}\n    bounds: [0 days, 10 days]",
    "channels": f"{{distribution: {STAY}, limits: [2 days], by: {{data: channel, values: "
    "[web, phone]}}\n    bounds: [0 days, 10 days]",
    "rejections": f"{{distribution: {REJECTED}, limits: [2 days]}}\n    bounds: [0 days, 10 days]",
    "median": f"{{median: {STAY}}}\n    bounds: [0 days, 10 days]",
    "narrower": f"{{median: {STAY}}}\n    bounds: [0 days, 3 days]",
    "upto_2": f"{{share: {{derive: t <= 2 days, t: {TIME}}}}}",
    "below_2": f"{{share: {{derive: t < 2 days, t: {TIME}}}}}",
    "over_2": f"{{share: {{derive: not (t <= 2 days), t: {TIME}}}}}",
    "from_2_to_4": f"{{share: {{derive: 4 days >= t and t > 2 days, t: {TIME}}}}}",
    "upto_3": f"{{share: {{derive: t <= 3 days, t: {TIME}}}}}",
    "number_2": f"{{number: cases, where: {{derive: t <= 2 days, t: {TIME}}}}}",
    "all_of_2": f'{{share: {{derive: "true"}}, where: {{derive: t <= 2 days, t: {TIME}}}}}',
    "web_2": f"{{share: {{derive: t <= 2 days, t: {TIME}}}, by: {{data: channel, values: [web]}}}}",
    "paid_2": f"{{share: {{derive: t <= 2 days, t: {TIME}}}, "
    'where: {condition: activity == "Pay"}}',
    "rejected_2": f"{{share: {{derive: t <= 2 days, t: {REJECTED}}}}}",
    "of_rejected_2": f"{{share: {{derive: t <= 2 days, t: {REJECTED}, missing: left out}}}}",
    "rejections_2": f"{{number: cases, where: {{derive: t <= 2 days, t: {REJECTED}}}}}",
    "others_2": f"{{number: cases, where: {{derive: not (t <= 2 days), t: {REJECTED}}}}}",
}
MEASURES.update(BINNED)


@pytest.mark.parametrize(
    ("known", "names"),
    [
        ("bins", ("upto_2", "over_2", "from_2_to_4", "number_2", "number", "median", "stay")),
        ("channels", ("web_2",)),
        ("rejections", ("of_rejected_2", "rejections_2")),
        ("usual", ("median", "narrower", "number")),
        ("median", ("usual",)),
    ],
)
@pytest.mark.parametrize("scope", ["every month", "whole time"])
def test_limits_numbers_and_percentiles_follow_from_histograms(
    workspace: Workspace, known: str, names: tuple[str, ...], scope: str
) -> None:
    session = workspace.checkpoint()
    session.release(asked(known), "4")
    for name in names:
        question = asked(name, scope=scope)
        exact = workspace.exact(question)
        if (known, name, scope) == ("median", "usual", "every month"):
            continue  # one question: it is on record
        answers = derived(session, question, take=True)
        for answer, true in zip(answers, exact, strict=True):
            low, high = answer.interval.low, answer.interval.high
            assert low is not None
            assert high is not None
            assert true.clipped is not None
            slack = max(high - low, 0.5)  # misses are rare, and not by much
            assert low - slack <= true.clipped <= high + slack, name


@pytest.mark.parametrize(
    ("known", "names"),
    [
        ("stay", ("stay", "number", "days")),
        ("rejected", ("rejected", "number")),
        ("bins", ("upto_2", "number_2")),
        ("usual", ("median", "narrower")),
    ],
)
def test_a_quote_for_what_is_derived_is_about_what_is_derived(
    workspace: Workspace, known: str, names: tuple[str, ...]
) -> None:
    """Not about the draw that it saves: its margin and its interval are what an answer has."""
    session = workspace.checkpoint()
    session.release(asked(known), "4")
    for name in names:
        question = asked(name, scope="whole time")
        (quote,) = session.preview(question, "0.1")
        assert quote.is_derived
        assert quote.mechanism == "derived"
        assert quote.epsilon == Epsilon.of("0.1")  # at which it was asked
        assert quote.derivable is not None
        assert quote.margin in (quote.derivable.margin, None)  # of quantiles none is promised
        (answer,) = derived(session, question)
        assert quote.interval_half_width is not None
        seen = width(answer) / 2
        if not quote.assumes:  # a quantile's depends on how close together the values are
            assert 0.4 * seen < quote.interval_half_width < 2.5 * seen, name
        assert epsilon_text(quote) == "–"
        assert not any("instead of" in line for line in set_lines([quote]))


@pytest.mark.parametrize(
    ("known", "names"),
    [
        # Cases of exactly 2 days are in the bin up to there; 3 days lie within a bin.
        ("bins", ("below_2", "upto_3", "web_2", "paid_2", "usual", "rejected_2")),
        # Bins tell a mean, wherever in them cases lie; that is no sum.
        ("bins", ("days",)),
        # Of the cases that pass a filter, all do.
        ("bins", ("all_of_2",)),
        ("usual", ("days",)),
        # Cases without a rejection are in no bin, but among the cases of the share.
        ("rejections", ("rejected_2", "number", "others_2")),
        ("channels", ("upto_2", "median")),
    ],
)
def test_nothing_follows_from_a_histogram_of_other_bins_or_cases(
    workspace: Workspace, known: str, names: tuple[str, ...]
) -> None:
    session = workspace.checkpoint()
    session.release(asked(known), "4")
    for name in names:
        (quote,) = session.preview(asked(name), "0.1")
        assert quote.derivable is None, name
        assert quote.new_charges


def test_a_mean_from_bins_is_taken_only_by_who_asks_for_it(workspace: Workspace) -> None:
    """What bins leave open is in its interval, and nobody promises a margin."""
    session = workspace.checkpoint()
    session.release(asked("bins"), "4")
    (quote,) = session.preview(asked("stay"), "0.01")
    assert quote.derivable is not None
    assert quote.derivable.margin is None
    assert not quote.derivable.taken
    answers = derived(session, asked("stay"), take=True)
    assert all(width(answer) > 0.5 for answer in answers)


def test_derived_answers_hold_together(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    session.release(asked("bins"), "4")
    (alone,) = derived(session, asked("upto_2", scope="whole time"))
    assert alone.simultaneous is None
    both = session.release(asked("upto_2", "from_2_to_4"), "0.1", derived=True)
    for answer in (answer for one in both for answer in one.answers):
        together = answer.simultaneous
        assert together is not None
        assert together.low is not None
        assert together.high is not None
        assert together.low < (answer.interval.low or 0)
        assert together.high > (answer.interval.high or 0)


# --- several limits at once ------------------------------------------------------------------


def test_several_limits_of_one_measure_are_one_histogram(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    names = ("below_2", "upto_3", "from_2_to_4", "over_2")
    quotes = session.preview(asked(*names), "0.4")
    assert {quote.mechanism for quote in quotes} == {"histogram"}
    assert any("One histogram" in line for line in set_lines(quotes))
    assert all(quote.margin < quote.apart for quote in quotes)  # type: ignore[operator]
    series = session.release(asked(*names), "0.4")
    assert session.budget("small")[0].spent == Epsilon.of("1.6")
    for one, name in zip(series, names, strict=True):
        for answer, true in zip(one.answers, workspace.exact(asked(name)), strict=True):
            assert answer.value == pytest.approx(true.clipped, abs=40)
            assert answer.guarantee.shared_by == 4
            assert answer.simultaneous is not None
    again = session.release(asked(*names), "0.4")
    assert all(answer.replayed for one in again for answer in one.answers)
    (alone,) = session.release(asked("below_2"), "0.4")
    assert {answer.charged for answer in alone.answers} == {ZERO}
    derived(session, asked("upto_3", scope="whole time"), "0.4")


def test_fine_bins_on_record_keep_nobody_from_asking(workspace: Workspace) -> None:
    """There are up to 512 of them for a median, of which a distribution shows 64."""
    workspace.grant("small", "100000")
    session = workspace.checkpoint()
    session.release(asked("median"), "900")
    (exact, *_) = workspace.exact(asked("narrower"))
    for take in (None, True, False):
        (series,) = session.release(asked("narrower"), "900", derived=take)
        assert series.answers[0].value == pytest.approx(exact.clipped, abs=0.1)
    (shown_bins,) = session.release(asked("usual"), "0.1", derived=True)
    for answer in shown_bins.answers:
        assert answer.distribution is not None
        assert len(answer.distribution.bins) == MOST_BINS
        assert sum(each.cases for each in answer.distribution.bins) == pytest.approx(40, abs=1)


def test_one_limit_asked_alone_stays_what_it_is(workspace: Workspace) -> None:
    (quote,) = workspace.checkpoint().preview(asked("below_2"), "0.4")
    assert quote.mechanism == "two-bin"
    (quote, *_) = workspace.checkpoint().preview(asked("below_2", "rejected"), "0.4")
    assert quote.mechanism == "joint"
    of_others = workspace.checkpoint().preview(asked("rejected_2", "below_2"), "0.4")
    assert {each.mechanism for each in of_others} == {"joint"}


def test_a_number_of_cases_is_read_off_the_draw_that_tells_it(workspace: Workspace) -> None:
    session = workspace.checkpoint()
    quotes = session.preview(asked("stay", "number"), "0.3")
    (alone,) = session.preview(asked("stay"), "0.6")
    assert quotes[0].margin == alone.margin  # as if nothing else had been asked
    number = session.release(asked("stay", "number"), "0.3")[1]
    assert session.budget("small")[0].spent == Epsilon.of("0.6")
    for answer in number.answers:
        assert answer.value == pytest.approx(40, abs=30)
    (later,) = session.release(asked("number"), "0.3")
    assert [answer.charged for answer in later.answers] == [ZERO] * 3
    assert [a.value for a in later.answers] == [a.value for a in number.answers]


def test_what_was_released_before_an_erasure_is_not_weighed_with_what_was_released_after(
    workspace: Workspace,
) -> None:
    session, whole = workspace.checkpoint(), asked("stay", "number", scope="whole time")
    session.release(asked("stay", "number"), "2")
    erased = workspace.custody.erase("small", cases=[f"c{number}" for number in range(0, 120, 2)])
    assert erased.cases == 60
    before, _ = session.release(whole, "0.5", derived=True)
    assert before.answers[0].cases == pytest.approx(120, abs=12)  # as it was, and as it is told
    assert all(quote.with_record is None for quote in session.preview(whole, "1.5"))
    session.release(whole, "1.5", derived=False)
    after, number = session.release(whole, "0.5", derived=True)
    periods = [source.period for source in after.answers[0].derived_from]
    assert set(periods) == {after.answers[0].period}  # not the months
    assert after.answers[0].cases == pytest.approx(60, abs=9)
    assert number.answers[0].value == pytest.approx(60, abs=9)
    session.release(asked("stay"), "1", derived=False)
    (both,) = session.release(asked("stay", scope="whole time"), "0.5", derived=True)
    assert len(both.answers[0].derived_from) == len(periods) + 3  # all of them after it


def test_a_formula_is_not_made_of_what_was_released_before_an_erasure_and_after(
    workspace: Workspace,
) -> None:
    """Damages of 120 cases by the number of 60 are nobody's damage by case."""
    workspace.grant("small", "1000")
    session, question = workspace.checkpoint(), asked("per_case")
    session.release(asked("damages"), "100", derived=False)
    workspace.custody.erase("small", cases=[f"c{number}" for number in range(0, 120, 2)])
    session.release(asked("number"), "100", derived=False)
    (quote,) = session.preview(question, "50")
    assert quote.derivable is None
    session.release(asked("damages"), "90", derived=False)
    exact = [one.clipped for one in workspace.exact(question)]
    values = [answer.value for answer in derived(session, question, "50", take=True)]
    assert values == pytest.approx(exact, rel=0.05)


# --- a draw that is read together with the record -------------------------------------------------

LIMITS = "".join(
    f"  - id: within_{limit}\n    measure: {{share: {{derive: t < {limit} days, t: "
    "{time: {from: case start, to: case end}}}}\n    scope: every month\n"
    for limit in (1, 2, 4)
)


def test_a_new_draw_is_quoted_and_read_together_with_the_record(workspace: Workspace) -> None:
    """A histogram of limits, whose cases a mean has counted before."""
    session, limits = workspace.checkpoint(), parse_catalogue(f"log: small\nppis:\n{LIMITS}")
    before = session.preview(limits, "0.2")
    assert {quote.with_record for quote in before} == {None}
    session.release(asked("stay"), "3")
    quotes = session.preview(limits, "0.2")
    for quote in quotes:
        assert quote.half_width is not None
        assert quote.with_record is not None
        assert quote.with_record < 0.95 * quote.half_width
        assert to_wire(quote)["with_record"] == quote.with_record
        assert from_wire(Quote, to_wire(quote)) == quote
    within, *_ = with_record_lines(quotes)
    assert re.fullmatch(r"within_1: ε 0.\d+ is ± [\d.]+ % together with what is on record.", within)
    paid = session.release(limits, "0.2", derived=False)
    spent, entries = session.budget("small"), len(session.releases("small"))
    both = session.release(limits, "0.2", derived=True)
    again = session.release(limits, "0.2", derived=True)
    assert shown(both) == shown(again)
    assert session.budget("small") == spent
    assert len(session.releases("small")) == entries
    for alone, together in zip(paid, both, strict=True):
        assert {len(answer.derived_from) for answer in together.answers} == {2}
        assert sum(map(width, together.answers)) < sum(map(width, alone.answers))
    replayed = session.release(limits, "0.2")
    assert [[a.value for a in one.answers] for one in replayed] == [
        [a.value for a in one.answers] for one in paid
    ]


def test_what_follows_is_quoted_with_a_draw_of_its_own_too(workspace: Workspace) -> None:
    """It is free, and who needs it more exact pays for what is missing alone."""
    session, quarter = workspace.checkpoint(), asked("stay", scope="every quarter")
    session.release(asked("stay"), "0.5")
    (quote,) = session.preview(quarter, "0.25")
    assert quote.derivable is not None
    assert quote.derivable.taken
    assert quote.derivable.margin is not None
    assert quote.with_record is not None
    assert quote.with_record < quote.derivable.margin == quote.half_width
    (free,) = session.release(quarter, "0.25")
    session.release(quarter, "0.25", derived=False)
    (both,) = session.release(quarter, "0.25", derived=True)
    assert len(both.answers[0].derived_from) == 4
    assert width(both.answers[0]) < width(free.answers[0])


def test_nothing_is_kept_of_what_is_only_previewed(workspace: Workspace) -> None:
    """A preview costs nothing: of as many as there are, what is kept would fill the memory."""
    session, limits = workspace.checkpoint(), parse_catalogue(f"log: small\nppis:\n{LIMITS}")
    session.release(asked("stay"), "3")
    session.preview(limits, "0.2")
    before = set(derivation._WRITTEN)
    for epsilon in ("0.1", "0.11", "0.12"):
        assert session.preview(limits, epsilon)[0].with_record is not None
    assert set(derivation._WRITTEN) == before


def test_what_is_quoted_together_with_the_record_is_read_with_it(tmp_path: Path) -> None:
    """Quoted for the cases that a count has told: for those declared it may not be more exact."""
    terms = replace(Terms(), block_budget=Epsilon.of(9), expected_cases=20)
    workspace = workspace_with(tmp_path / "w", claims(120), NewLog(terms=terms))
    session, usual = workspace.checkpoint(), asked("usual")
    session.release(asked("number"), "3")
    session.release(usual, "0.2", anyway=True, derived=False)
    (quote,) = session.preview(usual, "0.21")
    assert quote.with_record is not None
    session.release(usual, "0.21", anyway=True, derived=False)
    (both,) = session.release(usual, "0.21", derived=True)
    assert {len(answer.derived_from) for answer in both.answers} == {2}


def test_what_others_do_meanwhile_does_not_put_off_what_is_read_with_the_record(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked anew is only what somebody else has paid for: else a busy log would never answer."""
    session, limits = workspace.checkpoint(), parse_catalogue(f"log: small\nppis:\n{LIMITS}")
    session.release(asked("stay"), "3")
    session.release(limits, "0.2", derived=False)
    tried = []

    def answer(self: LocalSession, *known: object) -> object:
        tried.append(known)
        workspace.custody.stop("a moment")
        workspace.custody.resume()
        return answered(self, *known)  # type: ignore[arg-type]

    answered = LocalSession.answer
    monkeypatch.setattr(LocalSession, "answer", answer)
    both = session.release(limits, "0.2", derived=True)
    assert len(tried) == 1
    assert all(len(answer.derived_from) == 2 for one in both for answer in one.answers)


def test_only_a_number_of_the_very_same_cases_is_read_with_a_share(workspace: Workspace) -> None:
    """What counts the cases that have a damage says nothing of how many there are."""
    session, limits = workspace.checkpoint(), parse_catalogue(f"log: small\nppis:\n{LIMITS}")
    session.release(asked("damage"), "3")
    session.release(asked("stay", scope="every quarter"), "3")
    assert {quote.with_record for quote in session.preview(limits, "0.2")} == {None}


@pytest.mark.parametrize(
    ("rule", "earlier_rule", "epsilon", "bins"),
    [
        ("Request.cases_for_bins", Request.planned_cases, "0.5", [32, 16]),
        ("FINEST", MOST_BINS, "8", [128, 64]),
        ("USUALLY", FOR_EVEN_VALUES, "4", [64, 128]),
    ],
)
def test_percentiles_with_bins_by_earlier_rules_stay_free(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    earlier_rule: object,
    epsilon: str,
    bins: list[int],
) -> None:
    """For the cases of a block, whatever the period; 64 at most; more of them: they are found."""

    session = workspace.checkpoint()
    ppi = f"  - {{id: p, measure: {{percentile: {STAY}, percent: 90}}, scope: every quarter, "
    question = parse_catalogue(f"log: small\nppis:\n{ppi}bounds: [0 days, 10 days]}}\n")
    with monkeypatch.context() as earlier:
        earlier.setattr(f"pappi.planning.measurements.{rule}", earlier_rule)
        before = session.release(question, epsilon, anyway=True)
        (part,) = planned(question.ppis[0], Epsilon.of(epsilon), session.log("small")).measurements
        assert isinstance(part.mechanism, ReadOffBins)
        then = part.mechanism.bins.number
    spent = session.budget("small")
    after = session.release(question, epsilon, anyway=True)
    assert session.budget("small") == spent
    assert [a.value for a in after[0].answers] == [a.value for a in before[0].answers]
    assert not any(answer.derived_from for answer in after[0].answers)
    now = planned(question.ppis[0], Epsilon.of(epsilon), session.log("small")).measurements[0]
    assert isinstance(now.mechanism, ReadOffBins)
    assert [now.mechanism.bins.number, then] == bins


def test_many_bins_on_record_are_read_within_other_bounds(workspace: Workspace) -> None:
    """More than anybody may name: as many as there are lie within the bounds of both."""
    session = workspace.checkpoint()
    text = f"log: small\nppis: [{{id: p, measure: {{percentile: {STAY}, percent: PERCENT}}, "
    text += "scope: every quarter, bounds: [0 days, MOST days]}]"
    wide = parse_catalogue(text.replace("PERCENT", "50").replace("MOST", "20"))
    (part,) = planned(wide.ppis[0], Epsilon.of(8), session.log("small")).measurements
    assert isinstance(part.mechanism, ReadOffBins)
    assert part.mechanism.bins.number > MOST_BINS
    session.release(wide, "8", anyway=True)
    narrow = parse_catalogue(text.replace("PERCENT", "90").replace("MOST", "18"))
    (series,) = session.release(narrow, "8", derived=True)
    for answer, true in zip(series.answers, workspace.exact(narrow), strict=True):
        assert answer.derived_from
        low, high = answer.interval.low or 0.0, answer.interval.high or math.inf
        assert low <= (true.clipped or 0.0) <= high


def test_percentiles_under_a_total_with_bins_by_earlier_rules_stay_free(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One histogram has the parts of both: more than either would have by itself."""
    session = workspace.checkpoint()
    lines = (
        f"  - {{id: p{percent}, measure: {{percentile: {STAY}, percent: {percent}}}, "
        "scope: every quarter, bounds: [0 days, 10 days]}\n"
        for percent in (50, 90)
    )
    both = parse_catalogue(f"log: small\nppis:\n{''.join(lines)}")
    with monkeypatch.context() as earlier:
        earlier.setattr("pappi.planning.measurements.USUALLY", FOR_EVEN_VALUES)
        before = session.release(both, total="4", anyway=True)
    spent = session.budget("small")
    assert [quote.new_charges for quote in session.preview(both, total="4")] == [0, 0]
    after = session.release(both, total="4", anyway=True)
    assert session.budget("small") == spent
    assert [[a.value for a in s.answers] for s in after] == [
        [a.value for a in s.answers] for s in before
    ]


def test_of_the_numbers_of_groups_the_smallest_is_expected(workspace: Workspace) -> None:
    """No group does worse than a forecast tells."""
    session, by = workspace.checkpoint(), "by: {data: channel, values: [web, letter]}"
    text = (
        "log: small\nppis:\n  - id: n\n    scope: every month\n    measure: {number: cases, %s}\n"
    )
    session.release(parse_catalogue(text % by), "1")
    by_web = parse_catalogue(text % by.replace(", letter", ""))
    assert all((each.clipped or 0) > 10 for each in workspace.exact(by_web))
    rejected = text.replace("number: cases", 'share: {condition: activity == "Reject"}')
    (quote,) = session.preview(parse_catalogue(rejected % by), "0.1")
    assert quote.assumed_cases <= 4


def test_releases_about_other_functions_are_hardly_looked_at(workspace: Workspace) -> None:
    """A log has thousands of them: each costs a glance, whatever was asked."""
    session, more, work = workspace.checkpoint(), 12, []

    def shorter(days: int) -> Catalogue:
        share = f"{{share: {{derive: t < {days} days, t: {STAY}}}}}"
        return parse_catalogue(
            f"log: small\nppis: [{{id: p, measure: {share}, scope: whole time}}]"
        )

    for days in range(1, 2 * more + 1):
        session.release(shorter(days), "0.001", anyway=True)
        if days % more == 0:
            with session._open_for(shorter(99)) as standing:
                (plan,) = plans_of(shorter(99), Epsilon.of("0.001"), standing.log.public)
                standing.on_record([plan])  # what is written once for each release is written
                work.append(calls_in(partial(replace(standing).on_record, [plan])))
    assert work[1] - work[0] < 25 * more
