"""How long a budget lasts: by the worst block, by the total, and in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.ledger import Forecast, RemainingBudget, forecast
from pappi.ppinot import parse_catalogue
from pappi.report import forecast_lines, preview_html
from pappi.values import ZERO, Calendar, Epsilon, Grid
from tests.small_logs import claims, workspace_with

ONE, TENTH = Epsilon.of(1), Epsilon.of("0.1")
MONTHS, MARCH = Grid(Calendar.MONTH), date(2024, 3, 1)
LEFT = {"2024-01": Epsilon.of("0.25"), "2024-02": ONE}
PURSE = RemainingBudget(LEFT, ONE, ONE)
CATALOGUE = """
log: small
ppis:
  - {id: paid, measure: {share: {condition: {activity: Pay}}}}
  - {id: rejected, measure: {share: {condition: {activity: Reject}}}}
"""


def forecast_text(found: Forecast) -> str:
    return " ".join(forecast_lines(found))


def asked(purse: RemainingBudget = PURSE, price: Epsilon = TENTH, *blocks: str) -> Forecast:
    return forecast(purse, dict.fromkeys(blocks or LEFT, price), MONTHS, MARCH)


def test_the_worst_block_says_how_often_a_question_fits() -> None:
    found = asked()
    assert (found.more, found.tightest, found.share) == (2, "2024-01", 0.1)
    assert asked(PURSE, TENTH, "2024-02").more == 10


def test_without_a_total_a_question_about_each_block_to_come_lasts_for_ever() -> None:
    found = asked()
    assert found.asks_coming
    assert found.until is None
    assert "never runs out: each block has its own budget" in forecast_text(found)


def test_a_total_is_drawn_on_by_every_block_and_ends_some_day() -> None:
    found = asked(replace(PURSE, total=Epsilon.of("0.35")))
    assert (found.more, found.tightest) == (1, None)
    assert found.until == date(2024, 6, 1)
    assert "lasts until 2024-05-31" in forecast_text(found)
    assert "all blocks together" in forecast_text(found)


def test_a_question_dearer_than_a_block_can_never_be_asked() -> None:
    found = asked(PURSE, Epsilon.of(2))
    assert found.more == 0
    assert not found.asks_coming
    assert found.until == MARCH
    assert "not enough budget left" in forecast_text(found)
    assert "cannot be released" in forecast_text(found)


def test_a_budget_that_outlives_everybody_lasts_for_ever() -> None:
    assert asked(replace(PURSE, total=Epsilon.of(10**6))).until is None
    years = Grid(Calendar.YEAR, 100)
    rich = replace(PURSE, total=Epsilon.of(100))
    assert forecast(rich, {"2024-01": TENTH}, years, MARCH).until is None


def test_a_question_must_cost_something() -> None:
    with pytest.raises(ValueError, match="more than 0"):
        asked(PURSE, ZERO)


amounts = st.integers(0, 3 * 10**9).map(Epsilon)
prices = st.integers(1, 10**9).map(Epsilon)


@given(
    st.dictionaries(st.text(max_size=3), st.tuples(amounts, prices), min_size=1, max_size=4),
    amounts,
    st.none() | amounts,
)
def test_as_many_as_are_said_to_fit_fit_and_one_more_does_not(
    blocks: dict[str, tuple[Epsilon, Epsilon]], coming: Epsilon, total: Epsilon | None
) -> None:
    purse = RemainingBudget({name: left for name, (left, _) in blocks.items()}, ONE, coming, total)
    priced = {name: price for name, (_, price) in blocks.items()}
    found = forecast(purse, priced, MONTHS, MARCH)

    def fits(times: int) -> bool:
        each = all(left.nano >= times * price.nano for left, price in blocks.values())
        paid = times * sum(price.nano for price in priced.values())
        return each and (total is None or total.nano >= paid)

    assert fits(found.more)
    assert not fits(found.more + 1)
    assert found.price == max(priced.values())
    assert forecast_text(found)


def test_each_block_is_counted_at_its_own_price() -> None:
    """Where weeks are asked for as well, the block before the first one pays for those alone."""
    left = RemainingBudget({"2023-12": ONE, "2024-01": ONE}, ONE, ONE)
    prices = {"2023-12": TENTH, "2024-01": Epsilon.of("0.7")}
    found = forecast(left, prices, MONTHS, MARCH)
    assert (found.price, found.more, found.tightest) == (Epsilon.of("0.7"), 1, "2024-01")


def test_the_query_at_hand_is_among_those_that_fit() -> None:
    """After one that takes most of a block there is no other like it."""
    once = forecast_text(asked(PURSE, Epsilon.of("0.2"), "2024-01"))
    assert "It fits into the budget of block 2024-01 once, but not twice." in once
    twice = forecast_text(asked(PURSE, TENTH, "2024-01"))
    assert "2 such queries fit into the budget of block 2024-01, this included." in twice


@pytest.mark.outside
def test_the_outlook_counts_what_is_new_in_the_blocks_it_touches(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(30))
    workspace.grant("small", "1", "1")
    workspace.custody.grant_analyst("small", "alice", Epsilon.of("0.6"))
    alice = workspace.checkpoint("alice")
    asked_for = parse_catalogue(CATALOGUE)
    both = replace(asked_for, ppis=tuple(replace(p, epsilon=TENTH) for p in asked_for.ppis))
    alone = replace(both, ppis=both.ppis[:1])

    found = alice.outlook(both)
    assert found is not None
    assert (found.price, found.more) == (Epsilon.of("0.2"), 1)
    assert [each.price for each in alice.forecasts(both) if each] == [TENTH, TENTH]
    alice.release(alone)
    assert alice.outlook(alone) is None
    after = alice.outlook(both)
    assert after is not None
    assert (after.price, after.more, after.tightest) == (TENTH, 2, None)


def test_words_and_list_say_the_same_and_names_are_harmless() -> None:
    found = replace(asked(), tightest="\x1b[31m<b>")
    assert "\x1b" not in forecast_text(found)
    assert "&lt;b&gt;" in preview_html("Preview", [], [], found, "today")
