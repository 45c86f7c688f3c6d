"""The data-protection pack: it states what holds, all of it, and never more."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.custody import NewLog
from pappi.errors import UnknownLog
from pappi.ledger import Account, Charge
from pappi.report import (
    Chain,
    LogFacts,
    Pack,
    RecordedCell,
    State,
    dpo_body,
    dpo_html,
    neighbours_text,
    pack_record,
    rows_of,
)
from pappi.report.dpo import BLANK, bounds_of, ever_of, likelier, not_covered, runs_of
from pappi.report.dpo_facts import MOST_ROWS
from pappi.session import Workspace, to_wire
from pappi.store import LedgerSession, digest_of, open_workspace
from pappi.values import (
    NANO,
    UNDER_REPLACE,
    ZERO,
    Adjacency,
    BudgetLine,
    Calendar,
    Epsilon,
    Grid,
    Kind,
    Per,
    PrivacyUnit,
    PublicLog,
    Role,
    Terms,
    Vocabulary,
)
from tests.ledgers import InSqlite
from tests.small_logs import Row, claims, workspace_with
from tests.unit.test_checkpoint import SOJOURN, catalogue

pytestmark = pytest.mark.outside

HOSTILE = "<script>alert(1)</script>\u202e"


def made(terms: Terms = Terms(), **changes: object) -> LogFacts:  # noqa: B008 - frozen
    """A log of two blocks, of which one has spent ε 0.3 and the other 0.1."""
    budget = Epsilon.of(1)
    log = LogFacts(
        public=PublicLog(
            name="small",
            first=date(2024, 1, 1),
            until=date(2024, 3, 1),
            vocabulary=Vocabulary(("Receive", "Pay"), {"channel": Kind.TEXT}),
            terms=terms,
        ),
        accounts=(
            BudgetLine("2024-01", budget, Epsilon.of("0.3")),
            BudgetLine("2024-02", budget, Epsilon.of("0.1")),
        ),
        spent_in_all=Epsilon.of("0.4"),
        releases=rows_of([asked(amount=Epsilon.of("0.2"))]),
    )
    return replace(log, **changes)  # type: ignore[arg-type]


def asked(**changes: object) -> RecordedCell:
    one = RecordedCell(
        log="small",
        query="q",
        ppi="sojourn",
        analyst="alice",
        mechanism="two-bin",
        amount=Epsilon.of("0.1"),
        at="2024-04-01T10:00:00.000000+00:00",
        first=date(2024, 1, 1),
        end=date(2024, 2, 1),
        blocks=("2024-01",),
        state=State.RELEASED,
    )
    return replace(one, **changes)  # type: ignore[arg-type]


def told(log: LogFacts) -> dict[str, tuple[str | None, str]]:
    return {
        bound.of: (None if bound.epsilon is None else str(bound.epsilon), bound.sentence)
        for bound in bounds_of(log)
    }


def page_of(workspace: Workspace, log: str | None = None) -> str:
    """Document and JSON in one text, as far as words go."""
    pack = workspace.custody.pack(log)
    return dpo_html(pack, "today") + json.dumps(
        to_wire(pack_record(pack, "today")), ensure_ascii=False
    )


# --- the guarantee --------------------------------------------------------------------


def test_a_case_loses_at_most_what_the_most_charged_block_has_spent() -> None:
    found = told(made())
    assert found["one release"][0] == "0.2"
    assert "1.23 times" in found["one release"][1]
    assert found["all releases so far"][0] == "0.3"
    assert "this log, taken together, become at most 1.35 times" in found["all releases so far"][1]
    assert found["all releases ever"][0] == "1"
    assert "2.72 times likelier because of one case" in found["all releases ever"][1]


def test_people_with_several_cases_are_told_that_what_is_spent_adds_up() -> None:
    found = told(made())
    assert found["all blocks together, so far"][0] == "0.4"
    assert "not protected as a whole" in found["all blocks together, so far"][1]
    assert found["all blocks together, ever"][0] is None
    assert "may grow by ε 1" in found["all blocks together, ever"][1]
    limited = told(made(Terms(total_budget=Epsilon.of(30))))
    assert limited["all blocks together, ever"][0] == "30"


def test_under_replace_only_the_content_of_a_case_is_promised() -> None:
    log = made(Terms(adjacency=Adjacency.REPLACE))
    assert "because of what one case contains" in told(log)["all releases so far"][1]
    assert UNDER_REPLACE in neighbours_text([log.terms.adjacency], log.terms.unit)
    assert UNDER_REPLACE in not_covered(log)
    assert UNDER_REPLACE not in not_covered(made())


def test_a_person_counted_in_the_whole_log_is_bound_by_the_most_charged_block() -> None:
    log = made(Terms(unit=PrivacyUnit("patient", 3)))
    found = told(log)
    assert found.keys() == {"one release", "all releases so far", "all releases ever"}
    assert found["all releases so far"][0] == "0.3"
    assert (
        "the cases of one 'patient', of whom at most 3 cases count"
        in (found["all releases so far"][1])
    )


def test_a_person_counted_per_block_is_never_promised_more_than_per_block() -> None:
    log = made(Terms(unit=PrivacyUnit("patient", 3, Per.BLOCK)))
    found = told(log)
    assert "about any one block" in found["all releases so far"][1]
    assert "in that block" in found["all releases ever"][1]
    assert found["all blocks together, so far"][0] == "0.4"
    assert "adds up" in found["all blocks together, so far"][1]


@pytest.mark.parametrize(
    ("block", "total", "spent", "ever"),
    [("1", None, "0.3", "1"), ("1", "0.5", "0.3", "0.5"), ("0.2", None, "0.3", "0.3")],
)
def test_the_future_is_bound_by_the_budgets_and_by_what_is_spent(
    block: str, total: str | None, spent: str, ever: str
) -> None:
    log = made(
        Terms(
            block_budget=Epsilon.of(block),
            total_budget=None if total is None else Epsilon.of(total),
        ),
        accounts=(BudgetLine("2024-01", Epsilon.of(block), Epsilon.of(spent)),),
    )
    assert str(ever_of(log)) == ever


@given(st.integers(1, 13 * NANO))
def test_a_factor_is_never_rounded_down(nano: int) -> None:
    number = likelier(Epsilon(nano)).removeprefix("at most ").removesuffix(" times likelier")
    assert float(number.replace(",", "")) >= math.exp(nano / NANO) * (1 - 1e-12)


def test_a_hopeless_epsilon_is_called_so() -> None:
    large = Epsilon.of(40)
    log = made(
        releases=rows_of([asked(amount=large)]),
        accounts=(BudgetLine("2024-01", large, large),),
    )
    assert "e^40 times likelier, which protects nobody" in told(log)["one release"][1]
    assert "hundreds of thousands" not in str(dpo_body(Pack("w", Chain(1, "0"), (log,))))


def test_a_log_nobody_asked_about_promises_no_number() -> None:
    log = made(releases=(), accounts=(), spent_in_all=ZERO)
    assert told(log)["one release"] == (None, "Nothing has been published about this log yet.")


# --- every release --------------------------------------------------------------------


def test_the_cells_of_a_question_share_a_row() -> None:
    cells = [
        asked(blocks=(f"2024-{month:02}",), first=date(2024, month, 1), end=date(2024, month, 28))
        for month in range(1, 13)
    ]
    (row,) = rows_of(cells)
    assert (row.cells, row.block_most, row.released) == (12, Epsilon.of("0.1"), 12)
    assert (row.first, row.end) == (date(2024, 1, 1), date(2024, 12, 28))


def test_cells_that_touch_the_same_block_add_up() -> None:
    (row,) = rows_of([asked(), asked(blocks=("2023-12", "2024-01"), state=State.INCOMPLETE)])
    assert (row.block_most, row.released, row.incomplete) == (Epsilon.of("0.2"), 1, 1)


def test_other_questions_and_other_analysts_have_rows_of_their_own() -> None:
    rows = rows_of([asked(), asked(query="r"), asked(analyst="bob"), asked()])
    assert [row.cells for row in rows] == [2, 1, 1]


@pytest.mark.parametrize("distinct", [1, 24, 20_000])
def test_twenty_thousand_charges_stay_one_readable_document(distinct: int) -> None:
    cells = [
        asked(
            query=f"q{number % distinct}",
            ppi=f"An indicator with a long name, number {number % distinct}",
            blocks=(str(date(2024, 1, 1) + timedelta(days=number % 3_000)),),
            amount=Epsilon(1 + number),
        )
        for number in range(20_000)
    ]
    limit = Epsilon.of(1)
    lines = [BudgetLine(f"block {number:05}", limit, Epsilon(number)) for number in range(20_000)]
    log = made(releases=rows_of(cells), accounts=tuple(lines))
    assert len(log.releases) <= MOST_ROWS
    assert sum(row.released for row in log.releases) == 20_000
    assert log.largest_release == Epsilon(20_000)
    page = dpo_html(Pack("w", Chain(40_000, "0" * 64), (log,)), "today")
    assert len(page.encode()) < 2_000_000
    assert "20,000 charges" in page


def test_blocks_with_equal_accounts_share_a_row() -> None:
    one, other = Epsilon.of(1), Epsilon.of("0.5")
    lines = [
        BudgetLine(str(year), one, other if year == 2003 else ZERO) for year in range(2000, 2006)
    ]
    assert [(run.label, run.blocks) for run in runs_of(lines)] == [
        ("2000 … 2002", 3),
        ("2003", 1),
        ("2004 … 2005", 2),
    ]


# --- a workspace ----------------------------------------------------------------------


def _patients() -> list[Row]:
    """Claims in which every value from the data is a canary."""
    return [
        (f"canary-{case}", activity, hours, {"patient": f"canary-{case}", "note": "canary"})
        for case, activity, hours, _ in claims(30)
    ]


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A log that was asked about, shared, stopped and partly erased."""
    new = NewLog(terms=Terms(unit=PrivacyUnit("patient", 2), total_budget=Epsilon.of(9)))
    workspace = workspace_with(tmp_path_factory.mktemp("dpo") / "w", _patients(), new)
    custody = workspace.custody
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1")
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1")
    workspace.checkpoint("bob").release(catalogue(SOJOURN), "0.2")
    custody.grant_analyst("small", "alice", Epsilon.of("0.5"))
    custody.erase("small", persons=["canary-c1", "canary-c2"])
    custody.stop("A question is open")
    custody.resume()
    return workspace


def test_the_facts_are_those_of_the_ledger(acted: Workspace) -> None:
    (log,) = acted.custody.pack("small").logs
    budget = acted.checkpoint("carol").budget("small")
    assert [(line.block, line.spent) for line in log.accounts] == [
        (line.block, line.spent) for line in budget
    ]
    assert log.spent_in_all == Epsilon(sum(line.spent.nano for line in budget))
    first, other = log.releases
    assert (first.ppis, first.analysts, first.cells) == (
        ("sojourn",),
        ("alice",),
        len(budget),
    )
    assert (other.analysts, other.block_most) == (("bob",), Epsilon.of("0.2"))
    assert log.largest_release == Epsilon.of("0.2")
    assert log.spent_most == Epsilon.of("0.3")
    assert [(s.analyst, s.per_block, s.most_in_a_block) for s in log.shares] == [
        ("alice", Epsilon.of("0.5"), Epsilon.of("0.1")),
        ("bob", None, Epsilon.of("0.2")),
    ]
    (erased,) = log.erasures
    assert (erased.kinds, erased.cases, erased.events) == (("persons",), 2, 4)


def test_what_was_done_is_told_in_order(acted: Workspace) -> None:
    acts = [act.what for act in acted.custody.pack().acts]
    assert acts[0].startswith("Log small declared: sealed until")
    assert acts[1:] == [
        "alice granted ε 0.5 of each block of small",
        "2 cases with 4 events of small deleted, named by persons",
        "All answers stopped: A question is open",
        "Answers resumed",
    ]


def test_nothing_of_the_events_is_in_it(acted: Workspace) -> None:
    page = page_of(acted)
    assert "canary" not in page
    assert "patient" in page


def test_no_event_is_read(acted: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duckdb.connect", lambda *_args, **_options: pytest.fail("reads events"))
    assert acted.custody.pack().chain.ok


def test_the_chain_is_given_with_its_head(acted: Workspace) -> None:
    verified = acted.verify()
    page = page_of(acted)
    assert verified.head in page
    assert f"{verified.entries:,} entries" in page
    assert "pappi audit ledger" in page


def test_acts_are_listed_by_their_entries(acted: Workspace) -> None:
    columns = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", page_of(acted))
    assert "|".join(("Entry", "When (UTC)", "Log", "What", "By")) in "|".join(columns)


def test_what_only_the_controller_knows_is_left_blank(acted: Workspace) -> None:
    pack = acted.custody.pack()
    page = dpo_html(pack, "today")
    assert page.count(BLANK) >= 8
    record = pack_record(pack, "today")["logs"][0]["record_of_processing"]
    assert record["Controller"]["known"] == ()
    assert record["Recipients"]["known"] == ("Published figures: alice, bob.",)
    assert "Erasures on record: 1; cases erased: 2" in record["Retention"]["known"][0]


def test_every_number_of_the_document_is_in_the_json(acted: Workspace) -> None:
    pack = acted.custody.pack()
    record = json.loads(json.dumps(to_wire(pack_record(pack, "today")), allow_nan=False))
    page = dpo_html(pack, "today")
    (log,) = record["logs"]
    assert all(bound["sentence"].replace("'", "&#x27;") in page for bound in log["guarantee"])
    assert log["releases"][0]["released"] == len(log["accounts"])
    assert record["ledger"]["head"] == pack.chain.head


def test_a_log_nobody_declared_is_refused(acted: Workspace) -> None:
    with pytest.raises(UnknownLog):
        acted.custody.pack("large")


def test_an_empty_workspace_has_a_document(tmp_path: Path) -> None:
    import pappi

    assert "no log yet" in page_of(pappi.create(tmp_path / "w"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(12))


def test_keys_are_listed_without_anything_that_opens(workspace: Workspace) -> None:
    issued = workspace.custody.issue_key(Role.ANALYST, "alice")
    workspace.custody.revoke_key(issued.record.id)
    page = page_of(workspace)
    assert issued.record.id in page
    assert "revoked" in page
    assert issued.secret not in page
    assert digest_of(issued.secret) not in page
    assert issued.secret[-20:] not in page


def test_a_charge_without_a_result_is_shown_as_spent(workspace: Workspace) -> None:
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1")
    charged = workspace.custody.charges("small")[0].charge
    ledger_session = LedgerSession(open_workspace(workspace.root))
    with ledger_session.ledger() as ledger:
        again = Charge("k", charged.accounts, charged.amount, charged.query, charged.analyst)
        limits = {Account("small", account.block): Epsilon.of(1) for account in charged.accounts}
        ledger.charge([again], limits)
    ledger_session.close()
    pack = workspace.custody.pack()
    (row,) = pack.logs[0].releases
    assert row.incomplete == 1
    assert row.block_most == pack.logs[0].spent_most == Epsilon.of("0.2")
    assert "charged without a result" in dpo_html(pack, "today")


def test_what_is_reserved_for_later_is_neither_spent_nor_forgotten(workspace: Workspace) -> None:
    custody, sealed = workspace.custody, workspace.log("small").public.until
    until = Grid(Calendar.MONTH).start_of(sealed + timedelta(days=70))
    before = custody.pack().logs[0].spent_most
    question = workspace.checkpoint("alice").subscribe(catalogue(SOJOURN), until, "0.1")
    (log,) = custody.pack().logs
    (row,) = log.releases
    assert (row.charged, row.reserved) == (0, row.cells)
    assert log.spent_most == before == ZERO
    assert log.largest_release is None
    assert {line.held for line in log.accounts if line.held.nano} == {Epsilon.of("0.1")}
    custody.seal("small", Grid(Calendar.MONTH).start_of(sealed + timedelta(days=40)))
    workspace.run_subscriptions()
    workspace.checkpoint("alice").unsubscribe(question.id)
    (log,) = custody.pack().logs
    assert [(row.released, row.reserved) for row in log.releases] == [(1, 0)]
    told_last = [act.what for act in custody.pack("small").acts][-3:]
    assert [what.split(" 2")[0] for what in told_last] == [
        "Subscription to small from",
        "Log small: sealed until",
        "Subscription ended",
    ]


def test_a_log_under_replace_says_so_from_its_declaration(tmp_path: Path) -> None:
    new = NewLog(terms=Terms(adjacency=Adjacency.REPLACE, expected_cases=10))
    workspace = workspace_with(tmp_path / "w", claims(12), new)
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1", anyway=True)
    page = page_of(workspace)
    assert "1.11 times likelier because of what one case contains" in page
    assert "10 per block" in page


def _damaged(workspace: Workspace) -> None:
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1")
    edit = "UPDATE journal SET body = replace(body, 'alice', 'carol') WHERE kind = 'charge'"
    InSqlite(workspace.root / "ledger.sqlite").edit(edit)


def _as_it_is_open(workspace: Workspace) -> Workspace:
    return workspace


def _opened_anew(workspace: Workspace) -> Workspace:
    workspace.close()
    return workspace


@pytest.mark.parametrize("then", [_as_it_is_open, _opened_anew])
def test_a_broken_chain_is_all_the_document_says(
    workspace: Workspace, then: Callable[[Workspace], Workspace]
) -> None:
    _damaged(workspace)
    pack = then(workspace).custody.pack()
    page = dpo_html(pack, "today")
    assert not pack.chain.ok
    assert pack.logs == ()
    assert "The ledger does not verify" in page
    assert 'role="alert"' in page
    assert "likelier" not in page
    assert pack_record(pack, "today")["ledger"]["verifies"] is False


# --- the page -------------------------------------------------------------------------


def hostile() -> Pack:
    words = Vocabulary((HOSTILE,), {HOSTILE: Kind.TEXT}, {HOSTILE: (HOSTILE,)})
    rows = rows_of([asked(ppi=HOSTILE, analyst=HOSTILE, mechanism=HOSTILE)])
    log = made(Terms(unit=PrivacyUnit(HOSTILE, 2)), releases=rows)
    log = replace(log, public=replace(log.public, name=HOSTILE, vocabulary=words))
    return Pack(HOSTILE, Chain(1, "0"), (log, log), stopped=HOSTILE)


def test_hostile_names_stay_text() -> None:
    page = dpo_html(hostile(), HOSTILE)
    assert "<script" not in page
    assert "\u202e" not in page
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page


def test_the_page_asks_nobody_for_anything() -> None:
    page = dpo_html(hostile(), "today")
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert " src=" not in page


def test_the_body_brings_no_style_of_its_own() -> None:
    body = str(dpo_body(hostile()))
    assert "<style" not in body
    assert " style=" not in body
    assert "<h1" not in body


def test_numbers_stand_on_the_right_under_their_unit() -> None:
    page = str(dpo_body(Pack("w", Chain(1, "0"), (made(),))))
    assert '<th scope="col" class="number">ε spent</th>' in page
    assert '<td class="number">0.3</td>' in page
