"""The rules of spending: exact sums, all accounts, honest refusals, an unbroken chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from pappi.errors import UsageError
from pappi.ledger import (
    Account,
    Balance,
    Charge,
    Entry,
    EntryKind,
    Flaw,
    KeyState,
    canonical_json,
    charge_of,
    demand,
    extend,
    opening_payload,
    reserved_in,
    standing,
    verified,
)
from pappi.ledger.accounts import Shortfall, budget_exceeded, distinct, shortfalls
from pappi.ledger.journal import (
    KeyHistory,
    cancel_payload,
    charge_payload,
    release_payload,
    reserve_payload,
    result_of,
)
from pappi.values import JSON, ZERO, Epsilon

OCTOBER = Account("hospital", "2014-10")
NOVEMBER = Account("hospital", "2014-11")
DECEMBER = Account("hospital", "2014-12")
TOTAL = Account("hospital")


def eps(text: str) -> Epsilon:
    return Epsilon.of(text)


def charge(key: str, amount: str, *accounts: Account, analyst: str = "") -> Charge:
    return Charge(key, accounts or (OCTOBER,), eps(amount), {"ppi": key}, analyst)


def journal(*acts: tuple[str, Mapping[str, JSON]]) -> list[Entry]:
    """A well-linked journal of these acts, whatever story they tell."""
    entries: list[Entry] = []
    for kind, payload in ((EntryKind.OPENING, opening_payload("this one")), *acts):
        last = entries[-1] if entries else None
        entries.append(extend(last, "2025-01-01T00:00:00.000000+00:00", kind, payload))
    return entries


# Amounts


@pytest.mark.parametrize("text", ["٠.٥", "０.5", "१"])
def test_an_amount_is_written_in_digits_that_everybody_reads(text: str) -> None:
    with pytest.raises(UsageError, match="is not an epsilon"):
        Epsilon.of(text)


# Accounts


def test_charges_to_the_same_block_add_up_and_to_different_blocks_do_not() -> None:
    asked = demand([charge("a", "0.1", OCTOBER, NOVEMBER), charge("b", "0.2", OCTOBER)])
    assert asked == {OCTOBER: eps("0.3"), NOVEMBER: eps("0.1"), TOTAL: eps("0.4")}


def test_a_charge_counts_for_its_analyst_in_every_block_it_touches() -> None:
    asked = demand([charge("a", "0.1", OCTOBER, NOVEMBER, analyst="ann"), charge("b", "0.2")])
    assert asked == {
        OCTOBER: eps("0.3"),
        NOVEMBER: eps("0.1"),
        TOTAL: eps("0.4"),
        Account("hospital", "2014-10", "ann"): eps("0.1"),
        Account("hospital", "2014-11", "ann"): eps("0.1"),
    }


def test_a_budget_can_be_spent_to_its_last_billionth_and_not_one_further() -> None:
    limits, spent = {OCTOBER: eps("0.3")}, {OCTOBER: eps("0.1")}
    assert shortfalls(demand([charge("a", "0.2")]), spent, limits) == ()
    (short,) = shortfalls(demand([charge("a", "0.200000001")]), spent, limits)
    assert short == Shortfall(OCTOBER, eps("0.200000001"), eps("0.2"), eps("0.000000001"))


def test_charges_that_fit_one_by_one_are_refused_when_they_do_not_fit_together() -> None:
    both = [charge("a", "0.6"), charge("b", "0.6")]
    (short,) = shortfalls(demand(both), {}, {OCTOBER: eps("1")})
    assert short.missing == eps("0.2")


def test_an_account_nobody_gave_a_limit_has_no_budget() -> None:
    (short,) = shortfalls(demand([charge("a", "0.1")]), {}, {})
    assert (short.left, short.missing) == (ZERO, eps("0.1"))


def test_an_analyst_and_a_total_without_a_limit_are_bounded_by_the_blocks_alone() -> None:
    asked = charge("a", "0.6", OCTOBER, NOVEMBER, analyst="ann")
    assert shortfalls(demand([asked]), {}, {OCTOBER: eps("0.6"), NOVEMBER: eps("0.6")}) == ()


def test_every_account_with_a_limit_that_is_short_is_found() -> None:
    ann = Account("hospital", "2014-10", "ann")
    asked = charge("a", "0.6", OCTOBER, NOVEMBER, analyst="ann")
    limits = dict.fromkeys((OCTOBER, NOVEMBER, TOTAL, ann), eps("1")) | {ann: eps("0.5")}
    short = shortfalls(demand([asked]), {}, limits)
    assert [(one.account, one.missing) for one in short] == [
        (TOTAL, eps("0.2")),
        (ann, eps("0.1")),
    ]


def test_a_limit_lowered_below_what_is_spent_leaves_nothing_rather_than_less() -> None:
    (short,) = shortfalls(demand([charge("a", "0.2")]), {OCTOBER: eps("1")}, {OCTOBER: eps("0.5")})
    assert (short.left, short.missing) == (ZERO, eps("0.7"))


@pytest.mark.parametrize(
    ("key", "accounts", "nano"),
    [
        ("", (OCTOBER,), 1),
        ("k", (OCTOBER,), 0),
        ("k", (OCTOBER,), -1),
        ("k", (), 1),
        ("k", (OCTOBER, OCTOBER), 1),
        ("k", (TOTAL,), 1),
        ("k", (Account("hospital", "2014-10", "ann"),), 1),
    ],
    ids=["no key", "free", "a refund", "nobody pays", "paid twice", "no block", "not the block"],
)
def test_a_charge_that_would_go_around_the_budget_cannot_be_written(
    key: str, accounts: tuple[Account, ...], nano: int
) -> None:
    with pytest.raises(ValueError, match="charge"):
        Charge(key, accounts, Epsilon(nano), {})


def test_a_key_asked_for_twice_is_one_charge() -> None:
    assert list(distinct([charge("a", "0.1"), charge("a", "0.1")])) == ["a"]
    with pytest.raises(ValueError, match="two different prices"):
        distinct([charge("a", "0.1"), charge("a", "0.2")])


# The refusal


def refusal(charges: list[Charge], limits: Mapping[Account, Epsilon]) -> str:
    return budget_exceeded(demand(charges), shortfalls(demand(charges), {}, limits)).message


def test_a_refusal_names_what_was_asked_what_is_left_and_what_is_missing() -> None:
    assert refusal([charge("a", "0.6")], {OCTOBER: eps("0.4")}) == (
        "requested ε 0.6 in block 2014-10 of hospital; "
        "left 0.4 in 2014-10 of hospital (missing 0.2)"
    )


def test_a_refusal_names_up_to_three_blocks_each() -> None:
    blocks = (OCTOBER, NOVEMBER, DECEMBER)
    limits = {OCTOBER: eps("0.4"), NOVEMBER: eps("0.5"), DECEMBER: eps("1")}
    assert refusal([charge("a", "0.6", *blocks)], limits) == (
        "requested ε 0.6 in each of 3 blocks; left 0.4 in 2014-10 of hospital (missing 0.2), "
        "0.5 in 2014-11 of hospital (missing 0.1)"
    )


def test_a_refusal_of_many_blocks_names_the_worst_and_counts_the_others() -> None:
    blocks = tuple(Account("hospital", f"2014-W{week:02}") for week in range(1, 21))
    limits = dict.fromkeys(blocks, eps("0.5")) | {blocks[7]: eps("0.4")}
    asked = [charge("a", "0.6", *blocks)]
    error = budget_exceeded(demand(asked), shortfalls(demand(asked), {}, limits))
    assert error.message == (
        "requested ε 0.6 in each of 20 blocks; left 0.4 in 2014-W08 of hospital (missing 0.2), "
        "and too little in 19 other accounts"
    )
    assert error.detail.count("missing") == 20
    assert "smaller ε" in error.hint
    assert "owner" in error.hint


def test_a_refusal_tells_an_analyst_that_it_is_the_own_share_that_is_spent() -> None:
    asked = [charge("a", "0.6", analyst="ann")]
    limits = {OCTOBER: eps("1"), Account("hospital", "2014-10", "ann"): eps("0.5")}
    assert refusal(asked, limits) == (
        "requested ε 0.6 in block 2014-10 of hospital; "
        "left 0.5 in 2014-10 of hospital for ann (missing 0.1)"
    )


def test_a_refusal_of_unequal_charges_names_the_largest() -> None:
    asked = [charge("a", "0.6", OCTOBER, NOVEMBER), charge("b", "0.3", NOVEMBER)]
    assert refusal(asked, {OCTOBER: eps("1"), NOVEMBER: eps("0.8")}) == (
        "requested up to ε 0.9 in each of 2 blocks; left 0.8 in 2014-11 of hospital (missing 0.1)"
    )


# Canonical JSON


def test_equal_values_have_one_way_to_be_written() -> None:
    one = canonical_json({"b": [1, True, None], "a": "ε"})
    other = canonical_json(MappingProxyType({"a": "ε", "b": (1, True, None)}))
    assert one == other == '{"a":"\\u03b5","b":[1,true,null]}'


@pytest.mark.parametrize("value", [0.5, [1, {"a": 1.0}], {1: "a"}, {"a": b"b"}, {"a": {1, 2}}])
def test_what_has_no_exact_written_form_is_refused(value: JSON) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


# The chain


def test_a_chain_hands_on_its_entries_unchanged() -> None:
    entries = journal(("declare", {"log": "hospital"}), ("grant", {"epsilon": "1"}))
    assert list(verified(entries)) == entries
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert entries[1].payload == {"log": "hospital"}


@pytest.mark.parametrize(
    "change",
    [
        {"at": "2025-01-01T00:00:00.000001+00:00"},
        {"kind": "grant"},
        {"body": '{"log":"hospitax"}'},
        {"digest": "0" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_entry_breaks_the_chain_where_it_was_changed(change: dict[str, str]) -> None:
    entries = journal(("declare", {"log": "hospital"}), ("declare", {"log": "other"}))
    entries[1] = replace(entries[1], **change)  # type: ignore[arg-type]
    with pytest.raises(Flaw, match="entry 2") as caught:
        list(verified(entries))
    assert caught.value.seq == 2


def test_a_removed_or_reordered_entry_breaks_the_chain() -> None:
    entries = journal(("a", {}), ("b", {}), ("c", {}))
    for wrong in ([entries[0], *entries[2:]], entries[1:], [*entries[:2], entries[3], entries[2]]):
        with pytest.raises(Flaw, match="missing"):
            list(verified(wrong))


def test_an_entry_rewritten_with_a_fresh_digest_breaks_the_entry_after_it() -> None:
    entries = journal(("a", {}), ("b", {}))
    entries[1] = extend(entries[0], entries[1].at, "a", {"forged": True})
    with pytest.raises(Flaw, match="entry 3"):
        list(verified(entries))


def test_a_float_smuggled_into_a_body_is_not_read() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        _ = Entry(1, "", "x", '{"a":0.5}', "").payload


# What a journal adds up to


def test_charges_and_results_are_read_back_as_they_were_written() -> None:
    asked = charge("a", "0.1", OCTOBER, NOVEMBER)
    entries = journal(
        (EntryKind.CHARGE, charge_payload(asked)), (EntryKind.RELEASE, release_payload("a", [1, 2]))
    )
    assert charge_of(entries[1]) == asked
    assert result_of(entries[2]) == [1, 2]


def test_a_journal_adds_up_to_what_is_spent_and_how_far_each_key_has_come() -> None:
    found = standing(
        journal(
            (EntryKind.CHARGE, charge_payload(charge("a", "0.1", OCTOBER, NOVEMBER))),
            (EntryKind.CHARGE, charge_payload(charge("b", "0.2", OCTOBER))),
            (EntryKind.RELEASE, release_payload("a", 7)),
        )
    )
    assert {account: balance.spent for account, balance in found.balances.items()} == {
        OCTOBER: eps("0.3"),
        NOVEMBER: eps("0.1"),
        TOTAL: eps("0.4"),
    }
    assert {key: cell.state for key, cell in found.cells.items()} == {
        "a": KeyState.RELEASED,
        "b": KeyState.PENDING,
    }


def test_a_reservation_is_held_until_it_is_charged_or_cancelled() -> None:
    kept, dropped = charge("a", "0.1", analyst="ann"), charge("b", "0.2")
    found = standing(
        journal(
            (EntryKind.RESERVE, charge_payload(kept)),
            (EntryKind.RESERVE, charge_payload(dropped)),
            (EntryKind.CANCEL, cancel_payload({"b": 3})),
            (EntryKind.CHARGE, charge_payload(kept)),
        )
    )
    assert found.balances == {
        account: Balance(spent=eps("0.1"))
        for account in (OCTOBER, TOTAL, Account("hospital", "2014-10", "ann"))
    }
    assert found.cells == {"a": KeyHistory(reserved=2, charged=5)}
    held = standing(journal((EntryKind.RESERVE, charge_payload(kept))))
    assert held.balances[OCTOBER] == Balance(held=eps("0.1"))
    assert held.balances[OCTOBER].used == eps("0.1")
    assert held.cells["a"].state is KeyState.RESERVED


def test_what_is_reserved_and_given_up_together_is_one_entry_each() -> None:
    asked = [replace(charge(key, "0.1"), query={"ppi": key, "log": "x"}) for key in "abc"]
    asked.append(replace(charge("d", "0.2"), query={"ppi": "a", "sealed": None}))
    entries = journal(
        (EntryKind.RESERVE, reserve_payload(asked)),
        (EntryKind.CANCEL, cancel_payload({"a": 2, "b": 2})),
    )
    assert list(reserved_in(entries[1].payload).values()) == asked
    found = standing(entries)
    assert found.cells == {"c": KeyHistory(reserved=2), "d": KeyHistory(reserved=2)}
    assert found.balances[OCTOBER] == Balance(held=eps("0.3"))


def test_before_format_3_each_reservation_was_an_entry_and_still_is_read() -> None:
    one = charge("a", "0.1", analyst="ann")
    entries = journal((EntryKind.RESERVE, charge_payload(one)), (EntryKind.CANCEL, {"key": "a"}))
    assert reserved_in(entries[1].payload) == {"a": one}
    assert standing(entries).cells == {}


PAID = (EntryKind.CHARGE, charge_payload(charge("a", "0.1")))
RELEASED = (EntryKind.RELEASE, release_payload("a", 7))
RESERVED = (EntryKind.RESERVE, charge_payload(charge("a", "0.1")))
CANCELLED = (EntryKind.CANCEL, cancel_payload({"a": 2}))
CHEAPER = (EntryKind.CHARGE, charge_payload(charge("a", "0.05")))
TWICE = charge("a", "0.1")
REFUND = (EntryKind.CHARGE, {**charge_payload(charge("b", "0.1")), "amount": -1})


@pytest.mark.parametrize(
    ("acts", "sentence"),
    [
        ([PAID, PAID], "entry 3 charges the same key a second time"),
        ([RELEASED], "entry 2 releases what was never charged"),
        ([PAID, RELEASED, RELEASED], "entry 4 releases the same key a second time"),
        ([PAID, REFUND], "entry 3 is invalid"),
        ([RESERVED, RESERVED], "entry 3 reserves a key that is known already"),
        ([PAID, RESERVED], "entry 3 reserves a key that is known already"),
        ([RESERVED, RELEASED], "entry 3 releases what was never charged"),
        ([CANCELLED], "entry 2 gives up a reservation that does not exist"),
        ([RESERVED, CANCELLED, CANCELLED], "entry 4 gives up a reservation that does not exist"),
        ([RESERVED, PAID, CANCELLED], "entry 4 gives up a reservation that does not exist"),
        (
            [RESERVED, (EntryKind.CANCEL, cancel_payload({"a": 1}))],
            "entry 3 gives up a reservation",
        ),
        ([(EntryKind.RESERVE, reserve_payload([TWICE, TWICE]))], "entry 2 is invalid"),
        ([RESERVED, CHEAPER], "entry 3 charges another price than was reserved"),
        ([(EntryKind.CHARGE, {"key": "a"})], "entry 2 is invalid"),
        ([(EntryKind.OPENING, {})], "entry 2 is out of place"),
    ],
)
def test_a_journal_that_tells_an_impossible_story_is_found_out(
    acts: list[tuple[str, Mapping[str, JSON]]], sentence: str
) -> None:
    with pytest.raises(Flaw, match=sentence):
        standing(verified(journal(*acts)))


def test_an_empty_journal_is_no_journal() -> None:
    with pytest.raises(Flaw, match="empty"):
        standing([])
