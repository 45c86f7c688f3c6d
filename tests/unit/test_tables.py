"""Terminal tables: readable at 80 columns, and safe to print."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from datetime import date
from typing import Literal

import pytest
from rich.console import Console, RenderableType

from pappi.report import (
    advice_lines,
    advice_table,
    alternatives_table,
    answers_table,
    budget_table,
    charged_text,
    exact_table,
    left_text,
    options_table,
    overview_table,
    quantiles_table,
    quotes_table,
    tally_text,
)
from pappi.values import (
    ZERO,
    Alternative,
    BudgetLine,
    Epsilon,
    ErrorQuantile,
    ExactAnswer,
    Interval,
    Period,
    Quote,
    QuotedSet,
    Series,
    Source,
    Verdict,
)
from tests.unit.report_samples import (
    ALL_BANDS,
    BANDED,
    BELOW_24,
    BUDGET,
    EXTREMES,
    a_series,
    an_answer,
    monthly,
)


def printed(renderable: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    out = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    Console(file=out, width=width, force_terminal=colour, color_system=system).print(renderable)
    return out.getvalue()


ordinary = a_series(monthly([10.0, 25.0, 40.0], 3.0, BELOW_24), target=BELOW_24)


def test_a_dashboard_has_a_row_for_each_ppi_and_its_last_periods() -> None:
    open_below = replace(an_answer(2.0, 0.0, 5.0), possible=Interval(0.0, 72.0, 1.0))
    other = replace(a_series([open_below], target=BELOW_24), name="Longest")
    shown = printed(overview_table([ordinary, other], 2))
    assert "2024-01" not in shown
    assert "● 10" not in shown
    for cell in ("○ 25", "▼ 40", "± 3.0", "below 24 h", "2.0", "≤ 5"):
        assert cell in shown, cell
    assert max(map(len, shown.splitlines())) <= 80


def test_how_many_verdicts_are_firm_is_said_in_a_line() -> None:
    verdicts = (Verdict.MET, Verdict.MET, Verdict.MISSED, Verdict.UNDECIDED, None)
    answers = [an_answer(5.0, 4.0, 6.0, verdict=verdict) for verdict in verdicts]
    assert tally_text(answers) == "Of 4 verdicts 3 are firm: 2 met, 1 missed; 1 unclear."
    assert tally_text(answers[3:4]) == "Of 1 verdicts 0 are firm; 1 unclear."


def test_every_answer_has_its_row() -> None:
    lines = printed(answers_table(ordinary)).splitlines()
    for label, value, interval, verdict in (
        ("2024-01", "10.0 h", "7.0 to 13.0 h", "● met"),
        ("2024-02", "25.0 h", "22.0 to 28.0 h", "○ unclear"),
        ("2024-03", "40.0 h", "37.0 to 43.0 h", "▼ missed"),
    ):
        row = next(line for line in lines if label in line)
        assert all(part in row for part in (value, interval, verdict, "74"))


def test_the_caption_names_target_and_guarantee() -> None:
    text = printed(answers_table(ordinary))
    assert "target below 24 h" in text
    assert "ε = 0.1 per figure" in text


@pytest.mark.parametrize("series", EXTREMES.values(), ids=EXTREMES.keys())
def test_tables_fit_into_eighty_columns(series: Series) -> None:
    text = printed(answers_table(series))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "nan" not in text.split()
    assert "inf" not in text.split()


def test_a_long_time_with_a_long_interval_loses_no_column() -> None:
    """Of a private clipping bound, over the whole time."""
    two_years = Period(date(2024, 1, 1), date(2026, 1, 1))
    cut = an_answer(5.8, 5.14, 876_600.0, verdict=Verdict.UNDECIDED, cases=12_002.0)
    cut = replace(
        cut,
        period=two_years,
        ceiling=202.0,
        cases_margin=55.0,
        probability_met=0.5,
        possible=Interval(0.0, 876_600.0, 1.0),
    )
    text = printed(answers_table(a_series([cut], target=BELOW_24)))
    assert all(line[-1] in "╮┤│╯" for line in text.splitlines() if line[:1] in "╭├│╰")
    assert {"2024-01-01", "2025-12-31", "likely"} <= set(text.split())


def test_without_a_terminal_there_is_no_control_sequence_at_all() -> None:
    for renderable in (*map(answers_table, EXTREMES.values()), budget_table(BUDGET)):
        assert "\x1b" not in printed(renderable)


def test_hostile_names_cannot_reach_the_terminal() -> None:
    text = printed(answers_table(EXTREMES["hostile"]), colour=True, width=200)
    assert "�[31m" in text
    assert "\u202e" not in text


def test_names_are_not_taken_for_markup() -> None:
    text = printed(answers_table(a_series([], name="[red]a[/red] [b")))
    assert "[red]a[/red] [b" in text


def test_many_periods_are_set_without_frame() -> None:
    assert "╭" in printed(answers_table(ordinary))
    long = printed(answers_table(EXTREMES["104 weeks"]))
    assert "╭" not in long
    assert len(long.splitlines()) <= 104 + 10


def test_replayed_answers_are_marked_as_free() -> None:
    old, new = an_answer(1.0, 0.0, 2.0, replayed=True), an_answer(1.0, 0.0, 2.0)
    text = printed(answers_table(a_series([old, new])))
    assert "0.1 ↺" in text
    assert "↺ is from the record: nothing charged" in text


def test_each_ppi_that_an_answer_was_derived_from_is_named_once() -> None:
    """A draw for several PPIs is on record under the names of all of them."""
    one = an_answer(1.0, 0.0, 2.0)
    sources = (Source(9, "stay", one.period), Source(4, "stay, rejected", one.period))
    text = " ".join(printed(answers_table(a_series([replace(one, derived_from=sources)]))).split())
    assert "derived from 2 releases from 4 to 9 (stay, rejected): nothing charged" in text


def test_what_every_row_would_repeat_is_said_once() -> None:
    """A column that says the same 17 times, though just paid, told nobody anything."""
    old, new = an_answer(1.0, 0.0, 2.0, replayed=True), an_answer(1.0, 0.0, 2.0)
    replayed, paid = (printed(answers_table(a_series([one] * 3))) for one in (old, new))
    assert replayed.count("↺") == 1
    assert "↺ all are from the record: nothing charged" in replayed
    assert "↺" not in paid
    assert paid.count("ε") == 1
    dearer = an_answer(1.0, 0.0, 2.0, epsilon="0.2")
    assert "│   ε │" in printed(answers_table(a_series([new, dearer])))


def test_a_verdict_without_a_value_says_how_sure_it_is() -> None:
    undecided = an_answer(None, 0.0, 72.0, verdict=Verdict.UNDECIDED, cases=None)
    text = printed(
        answers_table(a_series([replace(undecided, probability_met=0.834)], target=BELOW_24))
    )
    (row,) = (line for line in text.splitlines() if "2024-03" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["2024-03", "–", "0 to 72 h", "–", "○ unclear, 83 % likely met"]


def test_of_a_decided_verdict_no_chance_is_told() -> None:
    met = replace(an_answer(10.0, 7.0, 13.0, verdict=Verdict.MET), probability_met=0.999)
    assert "likely" not in printed(answers_table(a_series([met], target=BELOW_24)))


def test_bands_are_told_by_mark_and_word() -> None:
    answers = monthly(ALL_BANDS, 4.0, BANDED)
    undecided = replace(answers[1], probability_met=0.834)
    table = answers_table(a_series([answers[0], undecided, *answers[2:]], target=BANDED))
    rows = [line for line in printed(table, width=100).splitlines() if "2024-0" in line]
    words = ("● green", "○ green or amber, 83 % likely met", "◆ amber", "▽ amber or red", "▼ red")
    assert len(rows) == len(words)
    assert all(word in row for word, row in zip(words, rows, strict=True))
    assert all(len(line) <= 80 for line in printed(table).splitlines())


def test_what_was_charged_is_said_block_by_block() -> None:
    def lines(*used: str) -> list[BudgetLine]:
        amounts = map(Epsilon.of, used)
        one = Epsilon.of(1)
        return [BudgetLine(f"2024-0{n}", one, a, own_used=a) for n, a in enumerate(amounts, 1)]

    before = lines("0.1", "0.1", "0")
    for after, said in (
        (lines("0.1", "0.1", "0"), ""),
        (lines("0.2", "0.2", "0.1"), "Charged: ε 0.1 in each of 3 blocks."),
        (lines("0.1", "0.4", "0"), "Charged: ε 0.3 in 2024-02."),
        (lines("0.2", "0.4", "0"), "Charged: ε 0.1 to 0.3 in 2 blocks, most in 2024-02."),
        (lines("0.1", "0.1", "0", "0.2"), "Charged: ε 0.2 in 2024-04."),
    ):
        assert charged_text(before, after) == said
    left = "Remaining budget: ε 0.6 of 1 in 2024-02, the tightest of 3 blocks."
    assert left_text(lines("0.2", "0.4", "0")) == left


def test_what_others_paid_meanwhile_is_not_said_to_be_ours() -> None:
    one, tenth = Epsilon.of(1), Epsilon.of("0.1")
    before = [BudgetLine("2024-01", one, ZERO)]
    assert charged_text(before, [BudgetLine("2024-01", one, tenth)]) == ""


def test_exact_values_stand_beside_the_clipped_ones_with_the_cases_beyond() -> None:
    march = an_answer(1.0, 0.0, 2.0).period
    cut = ExactAnswer("stay", march, None, 12.09, "days", 9.93, 100, 36)
    whole = ExactAnswer("stay", march, None, 12.09, "days", 12.09, 100, 0)
    text = printed(exact_table([cut, whole]))
    (first, second) = (line for line in text.splitlines() if "2024-03" in line)
    for part in ("12.09 d", "9.93 d", "36 of 100 cases (36 %)"):
        assert part in first
    assert "0 of 100 cases" in second
    unbounded = printed(exact_table([ExactAnswer("stay", march, "web", None, "days")]))
    assert "No public bounds." in unbounded
    assert "web" in unbounded


def test_targets_of_groups_stand_below_the_table() -> None:
    text = printed(answers_table(EXTREMES["bands of groups"]))
    assert "target below 24 hours, tolerated at most 36 hours" in text
    assert "target of phone: below 12 hours, tolerated below 16 hours" in text
    assert "target of letter: below 24 h" in text


def test_a_ceiling_is_told_in_plain_digits_beside_the_interval() -> None:
    cut = replace(an_answer(4100.0, 1100.0, 6600.0, unit="EUR"), ceiling=44_194.2)
    text = printed(answers_table(a_series([cut], unit="EUR"))).replace("│", " ")
    words = " ".join(text.split())
    assert "1,100 to 6,600 EUR, cut at" in words
    assert "44,200 EUR" in words


def test_what_a_value_is_not_stands_below_the_table() -> None:
    series = replace(ordinary, clipping="a case counts as at most 9", caution="no maximum")
    lines = [line.strip() for line in printed(answers_table(series)).splitlines()]
    assert lines.index("a case counts as at most 9") + 1 == lines.index("no maximum")


WAITING = Quote(
    ppi="waiting",
    name="Waiting",
    unit="hours",
    epsilon=Epsilon.of("0.1"),
    functions=("ppi",),
    mechanism="two-bin",
    typical_error=3.2,
    assumed_cases=100,
    charges=3,
    new_charges=3,
    options=(),
    shares=(1.0,),
    quantiles=(ErrorQuantile(0.5, 1.5), ErrorQuantile(0.95, 6.4)),
)


def test_an_alternative_that_is_dearer_than_what_is_left_says_so() -> None:
    ways = tuple(
        Alternative(change, "", Epsilon.of(epsilon), "hours", 1.5, 0.9)
        for change, epsilon in (("ask for every quarter", "0.1"), ("give it more ε", "0.4"))
    )
    quote, left = replace(WAITING, alternatives=ways), Epsilon.of("0.1")
    cheap, dear = (
        row for row in printed(alternatives_table(quote, left)).splitlines() if "ε 0" in row
    )
    assert "not enough left" not in cheap
    assert "ε 0.4, not enough left" in dear
    assert "not enough left" not in printed(alternatives_table(quote))
    dear_only = replace(quote, alternatives=ways[1:])
    assert "not enough left" in " ".join(printed(advice_table([dear_only], left)).split())


def test_a_preview_shows_price_and_error_in_plain_digits() -> None:
    dear = replace(WAITING, quantiles=(ErrorQuantile(0.95, 37_581.2),), unit="EUR")
    text = printed(quotes_table([dear, WAITING]))
    assert "± 37,600 EUR" in text
    assert "± 6.40 h" in text
    assert "3 × 0.1" in text


def test_margins_stand_at_every_confidence_they_are_known_for() -> None:
    (row,) = [x for x in printed(quantiles_table([WAITING])).splitlines() if "waiting" in x]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["waiting", "± 1.50 h", "–", "–", "± 6.40 h", "–"]


def test_a_preview_says_what_to_expect_and_what_at_most() -> None:
    """The expected half-width is what an answer is compared with; the margin is a promise."""
    shown = printed(quotes_table([replace(WAITING, interval_half_width=5.1)]), width=100)
    shown = " ".join(shown.split())
    assert "± 5.10 h" in shown
    assert "± 6.40 h" in shown
    assert "Expected: half of the interval of the answer. At most: what the noise keeps to" in shown


def test_what_is_no_promise_is_starred_and_says_what_it_rests_on() -> None:
    supposed = replace(
        WAITING, assumes="the values lie evenly", margin_note="nobody may know", fewer="with few"
    )
    shown = printed(quotes_table([supposed]))
    assert "± 6.40 h *" in shown
    assert "* Not guaranteed: only if the values lie evenly; if not, it can be" in shown
    assert "With few." in shown
    assert "± 6.40 h *" in printed(quantiles_table([supposed]))
    (line,) = advice_lines([supposed])
    assert line == "waiting: no margin is promised, as nobody may know"
    (both,) = advice_lines([supposed, replace(supposed, ppi="other")])
    assert both == "waiting, other: no margin is promised, as nobody may know"


def test_without_a_margin_the_typical_error_is_called_so_and_the_reason_is_told() -> None:
    unsure = replace(WAITING, quantiles=(), margin_note="nobody knows")
    assert "typically ± 3.20 h" in printed(quotes_table([unsure]), width=100)
    assert advice_lines([unsure]) == ["waiting: no margin is known, as nobody knows"]


def test_a_preview_names_the_functions_and_their_shares() -> None:
    split = replace(WAITING, functions=("docs", "received"), shares=(0.5625, 0.4375))
    text = " ".join(printed(quotes_table([split]), width=120).split())
    assert "docs (56.2 %) + received (43.8 %)" in text


def test_an_error_that_nobody_can_know_is_not_made_up() -> None:
    unknown = replace(WAITING, typical_error=None, quantiles=())
    assert "not known" in printed(quotes_table([unknown]))


def test_options_say_which_was_chosen_and_why_others_were_not() -> None:
    options = (
        QuotedSet(("ppi",), "two-bin", 3.2, shares=(1.0,), chosen=True, margin=6.4),
        QuotedSet(("ppi",), "threshold", 2.9, "on request", shares=(1.0,), margin=5.8),
        QuotedSet(("ppi.a", "ppi.b"), None, None, "its bounds are too close"),
    )
    lines = printed(options_table(replace(WAITING, options=options))).splitlines()
    rows = [[cell.strip() for cell in x.strip("│").split("│")] for x in lines if x[:1] == "│"]
    assert rows[1:] == [
        ["value", "two-bin", "100 %", "± 6.40 h", "chosen"],
        ["value", "threshold", "100 %", "± 5.80 h", "on request"],
        ["a + b", "–", "–", "–", "its bounds are too close"],
    ]


def test_advice_cannot_reach_the_terminal_as_markup_or_codes() -> None:
    assert advice_lines([WAITING, replace(WAITING, ppi="\x1b[31m", advice="ask")]) == ["�[31m: ask"]


def test_groups_have_their_column() -> None:
    text = printed(answers_table(a_series(monthly([1.0], 0.5, group="web"))))
    assert "Group" in text
    assert "web" in text


def test_the_budget_shows_what_is_left() -> None:
    row = next(line for line in printed(budget_table(BUDGET)).splitlines() if "2024-01" in line)
    assert row.replace("│", " ").split()[-3:] == ["0.6", "0.4", "1"]
    assert "█" * 12 + "░" * 8 in row


@pytest.mark.outside
def test_rich_is_not_imported_until_a_table_is_wanted() -> None:
    program = "import sys, pappi.report.tables, pappi.report.pages; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_smoothed_value_is_marked_and_the_released_one_stands_beneath() -> None:
    lines = printed(answers_table(EXTREMES["smoothed"])).splitlines()
    first = next(number for number, line in enumerate(lines) if "2024-02" in line)
    assert "≈ " in lines[first]
    assert "raw 50 h" in lines[first + 1]
    text = " ".join(" ".join(lines).split())
    assert "≈ smoothed: pulled towards the other periods" in text
    assert "hold for all periods together" in text


def test_only_what_was_smoothed_is_marked() -> None:
    rows = printed(answers_table(EXTREMES["half smoothed"])).splitlines()
    for month, marked in (("2024-01", True), ("2024-02", False)):
        row = next(line for line in rows if month in line)
        assert ("≈" in row) is marked
    assert "≈" not in printed(answers_table(ordinary))


def test_what_is_held_for_standing_questions_has_its_part_of_the_bar() -> None:
    half, fifth = Epsilon.of("0.5"), Epsilon.of("0.2")
    text = printed(budget_table([BudgetLine("2024-01", Epsilon.of(1), half, fifth)]))
    assert "█" * 10 + "▒" * 4 + "░" * 6 in text
    assert "held for subscriptions" in text
    assert "▒" not in printed(budget_table([BudgetLine("2024-01", Epsilon.of(1), half)]))
