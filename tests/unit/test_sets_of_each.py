"""A catalogue with an ε for each PPI: who shares a draw, what it costs, what is on record of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import pappi
from pappi.checkpoint import Caller, LocalSession
from pappi.checkpoint.queries import planned, plans_of
from pappi.custody import NewLog, event_of
from pappi.ledger import Charge, KeyState, Ledger
from pappi.mechanisms.joint import JointMember
from pappi.ppinot import Catalogue, Ppi, parse_catalogue
from pappi.session import Workspace, create
from pappi.store import Registry
from pappi.values import ZERO, Epsilon, Series, Terms, Vocabulary
from tests.small_logs import claims, workspace_with
from tests.unit.test_sets import ALL

pytestmark = pytest.mark.outside

TENTH = Epsilon.of("0.1")


def some(*names: str, epsilon: str = "0.1") -> Catalogue:
    ppis = tuple(ppi for ppi in ALL.ppis if ppi.id in names)
    return replace(ALL, total=None, ppis=tuple(at(ppi, epsilon) for ppi in ppis))


def at(ppi: Ppi, epsilon: str) -> Ppi:
    return replace(ppi, epsilon=Epsilon.of(epsilon))


def also(catalogue: Catalogue, *ppis: Ppi) -> Catalogue:
    return replace(catalogue, ppis=(*catalogue.ppis, *ppis))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    new = NewLog(terms=Terms(block_budget=Epsilon.of(5)))
    return workspace_with(tmp_path / "w", claims(90), new)


@pytest.fixture
def session(workspace: Workspace) -> LocalSession:
    return workspace.checkpoint()


def spent(session: LocalSession) -> str:
    (only,) = {line.spent for line in session.budget("small")}
    return str(only)


def values(series: Sequence[Series]) -> dict[str, list[float | None]]:
    return {one.ppi: [answer.value for answer in one.answers] for one in series}


# --- who shares a draw ----------------------------------------------------------------


def test_ppis_of_the_same_cases_and_epsilon_share_a_draw_at_the_sum(session: LocalSession) -> None:
    quotes = {quote.ppi: quote for quote in session.preview(replace(ALL, total=None), "0.1")}
    together = ("sojourn", "rejected", "paid", "damage", "events")
    for ppi in together:
        quote = quotes[ppi]
        assert (quote.together, str(quote.epsilon), quote.each) == (together, "0.5", TENTH)
        assert quote.margin is not None
        assert quote.apart is not None
        assert quote.margin < 0.75 * quote.apart
    assert (quotes["longest"].together, quotes["longest"].epsilon) == ((), TENTH)
    released = session.release(replace(ALL, total=None), "0.1")
    assert spent(session) == "0.6"
    assert {answer.charged for one in released for answer in one.answers} == {TENTH}


def test_another_epsilon_splits_a_ppi_off(session: LocalSession) -> None:
    catalogue = also(some("rejected", "paid"), at(ALL.ppis[0], "0.3"))
    quotes = {quote.ppi: quote for quote in session.preview(catalogue)}
    assert quotes["rejected"].together == ("rejected", "paid")
    assert (quotes["sojourn"].together, str(quotes["sojourn"].epsilon)) == ((), "0.3")
    session.release(catalogue)
    assert spent(session) == "0.5"


def test_one_that_is_kept_out_is_planned_as_if_asked_alone(workspace: Workspace) -> None:
    off = replace(ALL.ppis[2], release=replace(ALL.ppis[2].release, in_set=False))
    log = workspace.log("small").public
    plans = plans_of(also(some("sojourn", "rejected"), at(off, "0.1")), None, log)
    assert [plan.together for plan in plans] == [("sojourn", "rejected")] * 2 + [()]


def test_a_single_ppi_and_one_without_company_keep_their_question(workspace: Workspace) -> None:
    log = workspace.log("small").public
    for catalogue in (some("sojourn"), some("sojourn", "longest")):
        plans = plans_of(catalogue, None, log)
        assert plans == tuple(planned(ppi, None, log) for ppi in catalogue.ppis)


def test_what_is_asked_twice_is_paid_once(session: LocalSession) -> None:
    twice = also(some("sojourn", "rejected"), at(replace(ALL.ppis[1], id="again"), "0.1"))
    series = {one.ppi: one for one in session.release(twice)}
    assert spent(session) == "0.2"
    assert values([series["rejected"]])["rejected"] == values([series["again"]])["again"]
    assert {answer.charged for answer in series["again"].answers} == {ZERO}


# --- on record ------------------------------------------------------------------------


def test_what_was_released_alone_is_free_in_a_catalogue(session: LocalSession) -> None:
    alone = values(session.release(some("rejected")))
    everything = session.release(some("sojourn", "rejected", "paid"))
    assert values(everything)["rejected"] == alone["rejected"]
    assert spent(session) == "0.3"
    guarantees = {one.ppi: one.answers[0].guarantee for one in everything}
    assert [guarantees[ppi].shared_by for ppi in ("sojourn", "rejected", "paid")] == [2, 1, 2]


def test_a_member_is_free_alone_in_other_sets_and_for_anyone(workspace: Workspace) -> None:
    first = values(workspace.checkpoint("ann").release(some("sojourn", "rejected", "paid")))
    bob = workspace.checkpoint("bob")
    for names in (("paid",), ("paid", "sojourn"), ("rejected", "sojourn")):
        for epsilon in ("0.1", "0.05"):
            again = bob.release(some(*names, epsilon=epsilon))
            assert values(again) == {ppi: first[ppi] for ppi in names}
            assert bob.price(some(*names, epsilon=epsilon)).is_free
    assert spent(bob) == "0.3"
    mixed = bob.release(some("paid", "damage"))
    assert values(mixed)["paid"] == first["paid"]
    assert spent(bob) == "0.4"


def test_more_exactly_is_a_release_of_its_own(session: LocalSession) -> None:
    first = values(session.release(some("sojourn", "rejected")))
    better = values(session.release(some("rejected", epsilon="0.2")))
    assert better != {"rejected": first["rejected"]}
    assert spent(session) == "0.4"
    assert values(session.release(some("sojourn", "rejected"))) == first
    assert values(session.release(some("rejected"))) == {"rejected": first["rejected"]}


def test_a_part_of_a_total_is_free_up_to_its_share(session: LocalSession) -> None:
    session.release(replace(ALL, total=Epsilon.of("0.6")))
    before = spent(session)
    assert session.price(some("rejected", "paid")).is_free
    # For a little more ε, two of them would be no more exact than they are on record.
    assert session.price(some("rejected", "paid", epsilon="0.11")).is_free
    assert not session.price(some("rejected", "paid", epsilon="0.5")).is_free
    assert spent(session) == before


def test_the_same_measure_at_two_epsilons_is_found_again_as_it_was(session: LocalSession) -> None:
    session.release(some("sojourn"))
    other = at(replace(ALL.ppis[1], id="other"), "0.2")
    both = also(some("sojourn", "rejected"), other, at(ALL.ppis[2], "0.2"))
    first = values(session.release(both))
    assert values(session.release(both)) == first
    assert first["rejected"] != first["other"]


def test_a_single_ppi_that_got_what_it_needs_is_free_at_that_epsilon(session: LocalSession) -> None:
    untold = replace(ALL.ppis[0], release=replace(ALL.ppis[0].release, clipping=False))
    alone = replace(ALL, total=None, ppis=(replace(untold, target=None),))
    (quote,) = session.preview(alone)
    first = values(session.release(alone, anyway=True))
    assert values(session.release(alone, quote.epsilon, anyway=True)) == first
    assert spent(session) == str(quote.epsilon)


@pytest.mark.parametrize("total", [None, "0.19"])
def test_what_was_read_off_less_stays_so_when_somebody_pays_for_the_question_itself(
    workspace: Workspace, total: str | None
) -> None:
    """Whether nobody names an ε, or a total that is no larger than an earlier one."""
    ann, bob = workspace.checkpoint("ann"), workspace.checkpoint("bob")
    exactly = "0.1" if total is None else "0.095"
    if total is None:
        bob.release(some("rejected", "paid", epsilon="0.09"), anyway=True)
    else:
        more = replace(some("rejected", "paid", "sojourn"), total=Epsilon.of("0.2"))
        unnamed = tuple(replace(ppi, epsilon=None) for ppi in more.ppis)
        bob.release(replace(more, ppis=unnamed), anyway=True)
    ppis = tuple(replace(ppi, epsilon=None) for ppi in some("rejected", "paid").ppis)
    wanted = replace(ALL, total=None, ppis=ppis)
    first = values(ann.release(wanted, total=total, anyway=True))
    before = spent(ann)
    bob.release(some("rejected", "paid", epsilon=exactly), anyway=True)
    assert spent(ann) != before
    assert values(ann.release(wanted, total=total, anyway=True)) == first
    assert values(ann.replay(wanted, total=total)) == first


# --- in between -----------------------------------------------------------------------


class Crash(Exception):
    pass


def crashing(workspace: Workspace) -> LocalSession:
    def crash(step: str) -> None:
        if step == "charged":
            raise Crash

    return LocalSession(workspace._ledger_session, Caller("ann"), crash)


def test_a_set_that_was_charged_is_completed_once_at_no_cost(workspace: Workspace) -> None:
    wanted = some("sojourn", "rejected", "paid")
    with pytest.raises(Crash):
        crashing(workspace).release(wanted)
    session = workspace.checkpoint()
    assert spent(session) == "0.3"
    completed = session.release(wanted)
    assert {answer.charged for one in completed for answer in one.answers} == {ZERO}
    assert values(session.release(wanted)) == values(completed)
    assert spent(session) == "0.3"


def test_whoever_asks_for_all_of_a_charged_set_completes_it(workspace: Workspace) -> None:
    with pytest.raises(Crash):
        crashing(workspace).release(some("sojourn", "rejected"))
    session = workspace.checkpoint()
    more = session.release(some("sojourn", "rejected", "paid"))
    assert spent(session) == "0.3"
    assert values(session.release(some("rejected")))["rejected"] == values(more)["rejected"]
    assert spent(session) == "0.3"


def test_a_charged_set_is_completed_from_a_column_of_each_of_its_measures(
    workspace: Workspace,
) -> None:
    """Also if one of them is asked for once more, in a way that shares no draw."""
    columns: list[int] = []

    with pytest.raises(Crash):
        crashing(workspace).release(some("sojourn", "rejected", "paid", "damage"))
    off = replace(ALL.ppis[0], id="off", release=replace(ALL.ppis[0].release, in_set=False))
    more = also(some("sojourn", "rejected", "paid", "damage", "events"), at(off, "0.2"))
    session = workspace.checkpoint()
    with session._open_for(more) as standing:
        for release in standing.known(more):
            (part,) = release.plan.measurements
            if isinstance(part.mechanism, JointMember):
                assert len(part.inputs) == part.mechanism.width
                columns.append(len(part.inputs))
    assert 4 in columns
    session.release(more)
    assert spent(session) == "0.7"


def test_what_somebody_else_pays_in_between_is_not_paid_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: Callable[..., tuple[Series, ...]] = LocalSession.answer
    once = iter([some("rejected")])

    def overtaken(self: LocalSession, *args: object) -> tuple[Series, ...]:
        for catalogue in once:
            workspace.checkpoint("bob").release(catalogue)
        return usual(self, *args)

    monkeypatch.setattr(LocalSession, "answer", overtaken)
    series = workspace.checkpoint("ann").release(some("sojourn", "rejected", "paid"))
    assert spent(workspace.checkpoint()) == "0.3"
    assert [one.answers[0].replayed for one in series] == [False, True, False]


# --- a long record --------------------------------------------------------------------


def test_finding_a_set_reads_no_more_the_longer_the_journal_is(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workspace.checkpoint()
    session.release(some("sojourn", "rejected"))
    read: list[int] = []
    usual = Ledger.charges_at

    def noted(self: Ledger, seq: int) -> tuple[Charge, ...]:
        read.append(seq)
        return usual(self, seq)

    monkeypatch.setattr(Ledger, "charges_at", noted)
    monkeypatch.delattr(Ledger, "charges")
    assert session.price(some("rejected")).is_free
    few = len(read)
    for number in range(1, 6):
        session.release(some("longest", "events", epsilon=f"0.0{number}"), anyway=True)
    read.clear()
    assert session.price(some("rejected")).is_free
    assert len(read) == few


def test_a_snapshot_of_a_version_without_sets_is_read_anew(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workspace.checkpoint()
    released = values(session.release(some("sojourn", "rejected")))
    monkeypatch.setattr(Ledger, "snapshot_every", 1)
    usual = Registry.to_json
    with monkeypatch.context() as older:
        older.setattr(
            Registry, "to_json", lambda self: {k: v for k, v in usual(self).items() if k != "sets"}
        )
        pappi.open(workspace.root).checkpoint().budget("small")
    again = pappi.open(workspace.root).checkpoint()
    assert values(again.release(some("rejected"))) == {"rejected": released["rejected"]}
    assert spent(again) == "0.2"


# --- subscriptions --------------------------------------------------------------------

SHOP = """
log: shop
ppis:
  - {id: visits, measure: {sum: {count: {activity: Visit}}}, bounds: [0, 3], scope: every month}
  - {id: bought, measure: {share: {condition: activity == "Buy"}}, scope: every month}
  - {id: left, measure: {share: {condition: activity == "Leave"}}, scope: every month}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    workspace = create(tmp_path / "s")
    new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of("0.5")))
    workspace.custody.create_log("shop", new, Vocabulary(("Visit", "Buy", "Leave")))
    events = [
        {"id": f"{month}-{n}", "case": f"{month}-{n}", "activity": "Visit"}
        | {"time": f"2025-{month:02}-15T12:00:00Z"}
        for month in range(1, 13)
        for n in range(3)
    ]
    workspace.custody.capture("shop", [event_of(event) for event in events])
    workspace.custody.seal("shop", date(2025, 3, 1))
    return workspace


def balances(workspace: Workspace) -> dict[str, tuple[str, str]]:
    lines = workspace.checkpoint().budget("shop")
    return {line.block: (str(line.spent), str(line.held)) for line in lines}


def test_a_subscribed_set_is_reserved_and_released_as_one(shop: Workspace) -> None:
    alice = shop.checkpoint("alice")
    subscription = alice.subscribe(SHOP, date(2025, 6, 1), "0.1")
    assert balances(shop)["2025-03"] == ("0", "0.3")
    shop.custody.seal("shop", date(2025, 4, 1))
    (run,) = shop.run_subscriptions()
    assert {one.answers[0].guarantee.shared_by for one in run.series} == {3}
    assert balances(shop)["2025-03"] == ("0.3", "0")
    assert shop.run_subscriptions() == ()
    assert alice.unsubscribe(subscription.id) == 2
    assert balances(shop)["2025-04"] == ("0", "0")


def test_a_reserved_set_is_not_reserved_again_as_part_of_a_larger_one(shop: Workspace) -> None:
    two = SHOP[: SHOP.index("  - {id: left")]
    shop.checkpoint("alice").subscribe(two, date(2025, 5, 1), "0.1")
    bobs = shop.checkpoint("bob").subscribe(SHOP, date(2025, 5, 1), "0.1")
    assert balances(shop)["2025-03"] == ("0", "0.3")
    shop.custody.seal("shop", date(2025, 4, 1))
    series = [one for run in shop.run_subscriptions() for one in run.series]
    assert {one.ppi for one in series} == {"visits", "bought", "left"}
    assert balances(shop)["2025-03"] == ("0.3", "0")
    assert shop.checkpoint("bob").unsubscribe(bobs.id) == 1
    assert balances(shop)["2025-04"] == ("0", "0.2")


def test_what_somebody_else_reserves_in_between_is_not_reserved_again(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: Callable[..., Mapping[str, KeyState]] = Ledger.reserve
    once = iter([SHOP[: SHOP.index("  - {id: left")]])

    def overtaken(self: Ledger, *args: object) -> Mapping[str, KeyState]:
        for two in once:
            shop.checkpoint("alice").subscribe(two, date(2025, 5, 1), "0.1")
        return usual(self, *args)

    monkeypatch.setattr(Ledger, "reserve", overtaken)
    shop.checkpoint("bob").subscribe(SHOP, date(2025, 5, 1), "0.1")
    assert balances(shop)["2025-03"] == ("0", "0.3")
    assert len(shop.checkpoint("bob").subscriptions()) == 1


def test_reservations_of_single_ppis_are_used_up_by_a_set(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As versions made them that knew no sets."""
    with monkeypatch.context() as older:
        older.setattr("pappi.planning.sets._MOST_TOGETHER", 1)
        older.setattr("pappi.checkpoint.queries._PLANNED", {})
        shop.checkpoint("alice").subscribe(SHOP, date(2025, 5, 1), "0.1")
    assert balances(shop)["2025-03"] == ("0", "0.3")
    shop.custody.seal("shop", date(2025, 4, 1))
    (run,) = shop.run_subscriptions()
    assert len(run.series) == 3
    assert balances(shop)["2025-03"] == ("0.3", "0")
    (subscription,) = shop.checkpoint("alice").subscriptions()
    assert shop.checkpoint("alice").unsubscribe(subscription.id) == 3
    assert balances(shop)["2025-04"] == ("0", "0")


def test_a_number_that_newcomers_read_off_their_draw_is_not_paid_again(
    workspace: Workspace,
) -> None:
    """It is no member of the draw; beside those that are, it is found on record all the same."""
    session = workspace.checkpoint()
    number = parse_catalogue("log: small\nppis:\n  - {id: n, measure: {number: cases}}\n").ppis[0]
    before = "sojourn", "rejected", "events"
    session.release(some(*before))
    catalogue = also(some(*before, "paid"), at(number, "0.1"))
    first = session.release(catalogue, anyway=True, derived=False)
    paid = spent(session)
    assert {quote.new_charges for quote in session.preview(catalogue)} == {0}
    assert values(session.release(catalogue, anyway=True, derived=False)) == values(first)
    assert spent(session) == paid
