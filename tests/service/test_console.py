"""The owner's console: shows what was asked and what is left, and does what its forms say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path

import httpx
import pytest

from pappi.custody import NewLog, event_of
from pappi.custody import trail as spending
from pappi.errors import NotAuthenticated
from pappi.ppinot import parse_catalogue
from pappi.report import budget_strip
from pappi.values import (
    BudgetLine,
    Calendar,
    Epsilon,
    Grid,
    Kind,
    PrivacyUnit,
    Right,
    Role,
    Terms,
    Vocabulary,
)
from tests.engines.places import placed
from tests.service.served import SOJOURN, Served, served
from tests.service.visiting import Visitor, form_in
from tests.small_logs import claims, event_table

LOG = "/console/logs/small"
PAGES = (
    "/console",
    LOG,
    "/console/keys",
    "/console/trail",
    "/console/trail/1",
    "/console/protection",
    "/console/protection/small",
    "/console/protection-document",
)
FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/console/stop", {"reason": "a check"}),
    ("/console/resume", {}),
    (f"{LOG}/budget", {"per_block": "9"}),
    (f"{LOG}/analysts", {"analyst": "mallory", "per_block": "1"}),
    (f"{LOG}/withdraw", {"analyst": "alice"}),
    (f"{LOG}/seal", {"until": "2025-01-01"}),
    (f"{LOG}/erase", {"cases": "c1", "sure": "yes"}),
    (f"{LOG}/rename", {"name": "stolen", "sure": "yes"}),
    (f"{LOG}/remove", {"sure": "yes"}),
    ("/console/keys", {"role": "owner", "name": "mallory", "owner-right": "manage"}),
    ("/console/keys/revoke", {"id": "none"}),
)
HEAVIEST = 150_000
NARROWER = SOJOURN.replace("10 days", "9 days")


def asked(folder: Path) -> Served:
    """A small log about which alice has asked once."""
    service = served(folder)
    service.workspace.checkpoint("alice").release(parse_catalogue(SOJOURN), "0.25")
    return service


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """For tests that change nothing."""
    return asked(tmp_path_factory.mktemp("looked_at"))


@pytest.fixture
def service(tmp_path: Path) -> Served:
    return asked(tmp_path)


@pytest.fixture
def olga(service: Served) -> Iterator[Visitor]:
    with Visitor(service.owner, service.key(Role.OWNER, "olga")) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def reader(looked_at: Served) -> Iterator[Visitor]:
    with Visitor(looked_at.owner, looked_at.key(Role.OWNER, "reader", [Right.READ])) as visitor:
        yield visitor


def words(page: httpx.Response) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.text)).split())


def last_acts(service: Served, count: int = 1) -> list[tuple[str, object]]:
    """The newest acts on record, newest first: what, and by whom."""
    door = service.workspace.custody
    found = door.trail(door.length() - count, count)
    return [(entry.kind, entry.what["by"]) for entry in reversed(found)]


# --- looking ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/console", ["small", "Left in the tightest block ε 0.75 of 1", "alice", "sojourn"]),
        (LOG, ["Each block may spend ε 1", "Privacy unit case", "alice", "joint"]),
        (LOG, ["3 activities", "differ by one case", "every month", "0.25", "released"]),
        ("/console/keys", ["reader owner, this session", "read", "valid", "never"]),
        ("/console/trail", ["Log small declared", "Ledger opened", "charges", "recorded"]),
        ("/console/trail?verify=now", ["verifies", "all chained"]),
        ("/console/trail/2", ["Log small declared", '"anchor": "case end"']),
        ("/console/protection", ["Data-protection pack", "What is guaranteed", "sojourn"]),
        ("/console/protection/small", ["Record of processing", "The ledger verifies"]),
    ],
)
def test_each_page_shows_what_it_is_for(reader: Visitor, path: str, shown: Sequence[str]) -> None:
    page = reader.get(path)
    assert page.status_code == 200
    for text in shown:
        assert text in words(page), text
    assert len(page.content) < HEAVIEST


def test_the_spend_is_seen_at_once(service: Served, olga: Visitor) -> None:
    assert "ε 0.75 of 1" in words(olga.get("/console"))
    service.workspace.checkpoint("bob").release(parse_catalogue(NARROWER), "0.5")
    seen = words(olga.get("/console"))
    assert "ε 0.25 of 1" in seen
    assert "bob sojourn small" in seen
    assert "bob no grant 0.5 3" in words(olga.get(LOG))


def test_a_log_without_sealed_time_has_its_page(service: Served, olga: Visitor) -> None:
    words_of_it = Vocabulary(("Receive",), {"patient": Kind.TEXT})
    new = NewLog(first=date(2024, 1, 1), terms=Terms(unit=PrivacyUnit("patient", 3)))
    service.workspace.custody.create_log("fed", new, words_of_it)
    assert "Nothing sealed yet" in words(olga.get("/console"))
    page = words(olga.get("/console/logs/fed"))
    assert "nothing is sealed yet" in page
    assert "Persons, by patient" in page


def test_where_a_log_is_read_is_shown_to_owners_alone(
    service: Served, olga: Visitor, tmp_path: Path
) -> None:
    given = placed("parquet", event_table(claims(20)), tmp_path)
    service.workspace.custody.add_log("small2", given, NewLog(until=date(2024, 3, 1)))
    service.workspace.custody.grant_analyst("small2", "alice", Epsilon.of(1))
    page = words(olga.get("/console/logs/small2"))
    assert f"read at their source, {given.url}" in page
    assert "are deleted there" in page
    assert "Review the deletion" not in page
    assert f"read from {given.url}" in words(olga.get("/console/protection/small2"))
    sealed = words(olga.post("/console/logs/small2/seal", until="2024-04-01", sure="yes"))
    assert "Rows from this time must no longer change" in sealed
    assert "0 cases" not in sealed
    with Visitor(service.analyst, service.alice) as alice:
        for path in ("/workbench", "/workbench/logs/small2"):
            seen = alice.get(path)
            assert (seen.status_code, "parquet" in seen.text) == (200, False)


def test_the_pack_is_a_document_of_its_own(reader: Visitor) -> None:
    for address, name in (("", "data-protection-"), ("?log=small", "data-protection-small-")):
        page = reader.get(f"/console/protection-document{address}")
        assert page.headers["content-disposition"].startswith(f'attachment; filename="{name}')
        assert page.text.startswith("<!DOCTYPE html>")


def test_a_page_about_nothing_is_not_found(reader: Visitor) -> None:
    for path in ("/console/logs/none", "/console/protection/none", "/console/trail/999999",
                 "/console/trail/0", "/console/protection-document?log=none"):  # fmt: skip
        assert reader.get(path).status_code == 404, path


def test_a_link_cannot_make_the_console_say_something(reader: Visitor) -> None:
    page = reader.get("/console?done=All+is+lost")
    assert page.status_code == 200
    assert "lost" not in page.text


# --- who may look, who may do -----------------------------------------------------------


def test_without_a_session_every_page_leads_to_the_sign_in(looked_at: Served) -> None:
    with Visitor(looked_at.owner) as nobody:
        for path in PAGES:
            assert nobody.get(path).url.path == "/sign-in", path
        for path, fields in FORMS:
            assert nobody.post(path, **fields).url.path == "/sign-in", path


def test_a_key_that_only_reads_sees_no_form_and_can_do_nothing(
    looked_at: Served, reader: Visitor
) -> None:
    before = looked_at.workspace.verify().head
    for path in PAGES:
        page = reader.get(path)
        assert page.status_code == 200, path
        assert set(re.findall(r'method="post" action="([^"]*)"', page.text)) <= {"/sign-out"}
    for path, fields in FORMS:
        assert reader.post(path, **fields).status_code == 403, path
    assert looked_at.workspace.verify().head == before


def test_a_form_of_another_site_does_nothing(looked_at: Served) -> None:
    with Visitor(looked_at.owner, looked_at.key(Role.OWNER, "olga")) as visitor:
        before = looked_at.workspace.verify().head
        for path, fields in FORMS:
            elsewhere = visitor.send(path, fields, {"Origin": "https://elsewhere.example"})
            assert elsewhere.status_code == 403, path
    assert looked_at.workspace.verify().head == before


# --- doing ------------------------------------------------------------------------------


def test_the_switch_stops_all_answers_and_every_page_says_so(
    service: Served, olga: Visitor
) -> None:
    stopped = olga.post("/console/stop", reason="the data is being checked")
    assert "All answers are stopped: the data is being checked Resume" in words(stopped)
    assert service.workspace.custody.stopped() == "the data is being checked"
    assert last_acts(service) == [("stop", "olga")]
    for path in PAGES[:-1]:
        assert "All answers are stopped: the data is being checked" in words(olga.get(path)), path
    assert "Answering again" in words(olga.post("/console/resume"))
    assert service.workspace.custody.stopped() is None
    assert last_acts(service) == [("resume", "olga")]


def test_a_stop_without_a_reason_shows_the_form_again(service: Served, olga: Visitor) -> None:
    page = olga.post("/console/stop", reason="x" * 201)
    assert page.status_code == 400
    assert "A stop needs a reason" in words(page)
    assert "x" * 201 in page.text
    assert service.workspace.custody.stopped() is None


def test_the_budget_is_set(service: Served, olga: Visitor) -> None:
    page = olga.post(f"{LOG}/budget", per_block="2.5", total="10")
    assert "The budget is set." in words(page)
    log = service.workspace.log("small")
    assert (log.terms.block_budget, log.terms.total_budget) == (
        Epsilon.of("2.5"),
        Epsilon.of(10),
    )
    assert "Used in all blocks together ε 0.75 of 10" in words(page)
    olga.post(f"{LOG}/budget", per_block="2", total="")
    assert service.workspace.log("small").terms.total_budget is None
    assert last_acts(service) == [("declare", "olga")]
    told = "ε 2 per block (before: ε 2.5 per block, ε 10 in all)"
    assert told in words(olga.get("/console/trail"))


@pytest.mark.parametrize(
    ("form", "fields", "said"),
    [
        ("budget", {"per_block": "much"}, "is not an epsilon"),
        ("budget", {"per_block": "0"}, "A budget of 0 allows no answers."),
        ("budget", {"per_block": ""}, "A budget is an amount of ε."),
        ("budget", {"per_block": "1" * 21}, "A budget is an amount of ε."),
        ("budget", {"per_block": "1", "total": "-3"}, "Epsilon must be from 0 to"),
        (
            "analysts",
            {"analyst": "<b>", "per_block": "1"},
            "This is not a valid name for an analyst.",
        ),
        ("analysts", {"analyst": "bob", "per_block": "nan"}, "Epsilon must be from 0 to"),
        ("seal", {"until": "2024-13-01"}, "This is not a day"),
        ("seal", {"until": ""}, "This is not a day"),
        (
            "seal",
            {"until": "2023-01-01"},
            "This log was imported, and nothing has been captured since.",
        ),
        ("erase", {"cases": " \n "}, "Nothing to delete."),
        ("erase", {"cases": " c1"}, "starts or ends with a space"),
        ("erase", {"cases": "c2\nc1\t", "sure": "yes"}, "starts or ends with a space"),
        ("erase", {"cases": "c1\u2028c2", "sure": "yes"}, "an unusual line break"),
        ("erase", {"cases": "c1\x0cc2", "sure": "yes"}, "an unusual line break"),
        ("erase", {"cases": "a\u202eb"}, "This name cannot be sent by a form unchanged."),
        ("erase", {"blocks": "x" * 20_001}, "Too much to confirm at once"),
        ("erase", {"blocks": "May", "sure": "yes"}, "May"),
    ],
)
def test_wrong_input_is_said_beside_the_form_and_kept(
    looked_at: Served, form: str, fields: dict[str, str], said: str
) -> None:
    with Visitor(looked_at.owner, looked_at.key(Role.OWNER, "olga")) as visitor:
        before = looked_at.workspace.verify().head
        page = visitor.post(f"{LOG}/{form}", **fields)
    assert page.status_code == 400
    assert said in words(page)
    assert "<b>" not in page.text
    assert looked_at.workspace.verify().head == before
    if fields.get("per_block") == "much":
        assert form_in(page, f"{LOG}/budget")["per_block"] == "much"


def test_an_analyst_is_granted_a_share_and_it_is_withdrawn(service: Served, olga: Visitor) -> None:
    page = olga.post(f"{LOG}/analysts", analyst="bob", per_block="0.4")
    assert "The analyst can now query this log." in words(page)
    assert "bob 0.4 0 0" in words(page)
    assert last_acts(service) == [("grant", "olga")]
    page = olga.post(f"{LOG}/withdraw", analyst="bob")
    assert "can no longer query" in words(page)
    assert "bob" not in words(page)
    assert last_acts(service) == [("withdraw", "olga")]
    assert olga.post(f"{LOG}/withdraw", analyst="bob").status_code == 404


def captured(service: Served) -> None:
    """The log is fed: one more case has begun."""
    activity = service.workspace.log("small").public.vocabulary.activities[0]
    event = {"id": "e1", "case": "new", "activity": activity, "time": "2024-06-02T10:00:00Z"}
    service.workspace.custody.capture("small", [event_of(event)])


def test_a_log_that_is_not_fed_is_not_offered_to_be_sealed(olga: Visitor, service: Served) -> None:
    page = olga.get(LOG)
    assert f"{LOG}/seal" not in page.text
    assert "nothing has been captured since" in words(page)
    refused = olga.post(f"{LOG}/seal", until="2024-06-01", step="second", sure="yes")
    assert refused.status_code == 400
    assert service.workspace.log("small").public.until < date(2024, 6, 1)
    captured(service)
    assert form_in(olga.get(LOG), f"{LOG}/seal")["until"] == ""


def test_time_is_sealed_up_to_a_day_after_asking_again(service: Served, olga: Visitor) -> None:
    captured(service)
    before = service.workspace.log("small").public.until
    page = olga.post(f"{LOG}/seal", until="2024-06-01")
    assert page.status_code == 200
    assert f"until {before} To be sealed until 2024-06-01" in words(page)
    assert service.workspace.log("small").public.until == before
    again = form_in(page, f"{LOG}/seal")
    assert again.pop("sure") == "yes"
    page = olga.post(f"{LOG}/seal", **again)
    assert page.status_code == 400
    assert "Nothing was sealed: tick the box" in words(page)
    assert service.workspace.log("small").public.until == before
    page = olga.post(f"{LOG}/seal", **again, sure="yes")
    assert page.status_code == 200
    assert "Sealed until 2024-06-01: 0 cases with 0 events" in words(page)
    assert service.workspace.log("small").public.until == date(2024, 6, 1)
    assert last_acts(service) == [("declare", "olga")]
    page = olga.post(f"{LOG}/seal", until="2024-05-01")
    assert "This log is already sealed until 2024-06-01." in words(page)


def test_a_name_that_nothing_has_is_not_said_to_be_gone(olga: Visitor) -> None:
    sent = {"step": "second", "cases": "typo", "persons": "", "blocks": "", "sure": "yes"}
    page = olga.post("/console/logs/small/erase", **sent)
    assert "nothing was deleted" in page.text
    assert "gone from the disk" not in page.text


def test_deletion_asks_again_before_it_deletes(service: Served, olga: Visitor) -> None:
    before = service.workspace.verify().head
    page = olga.post(f"{LOG}/erase", cases="c1\nc2\n\n")
    assert "Delete from small ?" in words(page)
    assert "Cases 2: c1 c2" in words(page)
    sent = form_in(page, f"{LOG}/erase")
    assert sent.pop("sure") == "yes"
    unticked = olga.post(f"{LOG}/erase", **sent)
    assert unticked.status_code == 400
    assert "tick the box" in words(unticked)
    assert service.workspace.verify().head == before
    done = olga.post(f"{LOG}/erase", **sent, sure="yes")
    assert "2 cases, 4 events" in words(done)
    assert last_acts(service) == [("erase", "olga")]
    assert "2 cases with 4 events of small deleted, named by cases" in words(
        olga.get("/console/trail")
    )


def test_a_log_is_renamed_and_removed_after_asking_again(service: Served, olga: Visitor) -> None:
    service.workspace.import_log(event_table(claims(8)), "second")
    page = olga.get("/console/logs/second")
    assert form_in(page, "/console/logs/second/rename") == {"name": ""}
    taken = olga.post("/console/logs/second/rename", name="small")
    assert "There is already a log called 'small'." in words(taken)
    page = olga.post("/console/logs/second/rename", name="third")
    assert "Rename second to third ?" in words(page)
    sent = form_in(page, "/console/logs/second/rename")
    assert sent.pop("sure") == "yes"
    assert olga.post("/console/logs/second/rename", **sent).status_code == 400
    done = olga.post("/console/logs/second/rename", **sent, sure="yes")
    assert "The log has its new name." in words(done)
    page = olga.post("/console/logs/third/remove")
    assert "Nothing was charged for it so far" in words(page)
    sent = form_in(page, "/console/logs/third/remove")
    assert sent.pop("sure") == "yes"
    assert "tick the box" in words(olga.post("/console/logs/third/remove", **sent))
    assert len(service.workspace.logs()) == 2
    done = olga.post("/console/logs/third/remove", **sent, sure="yes")
    assert "The log is removed, and its name is free." in words(done)
    assert [log.name for log in service.workspace.logs()] == ["small"]
    assert last_acts(service, 2) == [("remove", "olga"), ("rename", "olga")]


def test_a_log_that_was_asked_about_keeps_its_page_and_its_record(tmp_path: Path) -> None:
    service = asked(tmp_path)
    with Visitor(service.owner, service.key(Role.OWNER, "olga")) as olga:
        page = olga.get(LOG)
        assert f'action="{LOG}/rename"' not in page.text
        assert "cannot be renamed" in words(page)
        page = olga.post(f"{LOG}/remove", step="first")
        assert "What was spent stays spent" in words(page)
        done = olga.post(f"{LOG}/remove", step="second", sure="yes")
        assert "The events are deleted. What was released stays on record." in words(done)
        page = olga.get(LOG)
    assert "The events of this log were removed." in words(page)
    for form in ("seal", "erase", "budget", "remove", "rename"):
        assert f'action="{LOG}/{form}"' not in page.text


# --- keys -------------------------------------------------------------------------------


def issue(visitor: Visitor, **fields: str) -> httpx.Response:
    return visitor.post(
        "/console/keys", **{name.replace("_", "-"): v for name, v in fields.items()}
    )


def secret_in(page: httpx.Response) -> str:
    (found,) = re.findall(r'value="(pappi_[^"]*)"', page.text)
    return str(found)


def test_a_key_is_shown_once_works_and_is_revoked_with_one_click(
    service: Served, olga: Visitor
) -> None:
    page = issue(olga, role="analyst", name="alice", analyst_right="preview", expires="2999-01-31")
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    secret = secret_in(page)
    door = service.workspace.custody
    record = door.key_of(secret, datetime.now(UTC))
    assert (record.name, record.rights) == ("alice", frozenset({Right.PREVIEW}))
    assert record.expires == datetime(2999, 1, 31, tzinfo=UTC)
    assert last_acts(service) == [("key", "olga")]
    listed = olga.get("/console/keys")
    assert secret not in listed.text
    assert "alice analyst" in words(listed)
    with Visitor(service.analyst, secret) as alice:
        assert alice.get("/workbench").url.path == "/workbench"
        assert "The key is revoked." in words(olga.post("/console/keys/revoke", id=record.id))
        assert alice.get("/workbench").url.path == "/sign-in"
    with pytest.raises(NotAuthenticated):
        door.key_of(secret, datetime.now(UTC))
    assert last_acts(service) == [("revoke", "olga")]
    assert "revoked" in words(olga.get("/console/keys"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"role": "king", "name": "x", "owner_right": "read"}, "for either an analyst or an owner"),
        ({"role": "owner", "name": "no spaces", "owner_right": "read"}, "This is not a valid name"),
        (
            {"role": "owner", "name": "x", "analyst_right": "preview"},
            "An owner's key needs a right",
        ),
        ({"role": "owner", "name": "x", "owner_right": "read", "expires": "1999-01-01"}, "future"),
        ({"role": "owner", "name": "x", "owner_right": "read", "expires": "soon"}, "not a day"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_issued(
    looked_at: Served, fields: dict[str, str], said: str
) -> None:
    before = len(looked_at.workspace.custody.all_keys())
    with Visitor(looked_at.owner, looked_at.key(Role.OWNER, "olga")) as visitor:
        page = issue(visitor, **fields)
    assert page.status_code == 400
    assert said in words(page)
    assert form_in(page, "/console/keys")["name"] == fields["name"]
    assert len(looked_at.workspace.custody.all_keys()) == before + 1


def test_revoking_ones_own_key_ends_the_session(service: Served, olga: Visitor) -> None:
    (own,) = (key for key in service.workspace.custody.all_keys() if key.name == "olga")
    assert olga.post("/console/keys/revoke", id=own.id).url.path == "/sign-in"


# --- what others have written, and very much of it --------------------------------------

HOSTILE = '<img src=x onerror="alert(1)">'
QUIET = "&lt;img src=x onerror="


def test_names_from_outside_cannot_become_markup(service: Served, olga: Visitor) -> None:
    rows = [(case, HOSTILE, hours, {"who": HOSTILE}) for case, _, hours, _ in claims(9)]
    service.workspace.import_log(event_table(rows), "hostile", new=NewLog(keys={"who": (HOSTILE,)}))
    service.workspace.custody.stop(HOSTILE)
    pages = [olga.get(path) for path in (*PAGES[:-1], "/console/logs/hostile")]
    pages.append(olga.post("/console/logs/hostile/erase", cases=HOSTILE))
    pages.append(olga.post("/console/logs/hostile/budget", per_block="1", total=HOSTILE[:20]))
    for page in pages:
        assert "<img src=x" not in page.text
        assert QUIET in page.text
        assert not re.search(r"\son\w+=|\sstyle=|<script|<style", page.text.replace(QUIET, ""))


def test_no_page_is_heavy_however_much_there_is(service: Served, olga: Visitor) -> None:
    workspace, door = service.workspace, service.workspace.custody
    names = tuple(f"activity number {number}" for number in range(2_000))
    new = NewLog(first=date(2022, 7, 1), terms=Terms(blocks=Grid(Calendar.DAY)))
    door.create_log("daily", new, Vocabulary(names))
    door.seal("daily", date(2024, 1, 1))
    for number in range(120):
        door.issue_key(Role.ANALYST, f"analyst{number}")
    daily = SOJOURN.replace("small", "daily").replace("every: month", "every: day")
    workspace.checkpoint("alice").release(parse_catalogue(daily), "0.1")
    for path in (*PAGES, "/console/logs/daily", "/console/logs/daily?blocks=3",
                 "/console/protection/daily", "/console/trail?before=1000"):  # fmt: skip
        page = olga.get(path)
        assert page.status_code == 200, path
        if "document" not in path:
            assert len(page.content) < HEAVIEST, (path, len(page.content))


def test_long_lists_have_pages_that_leave_nothing_out(service: Served, olga: Visitor) -> None:
    door = service.workspace.custody
    for number in range(60):
        door.issue_key(Role.ANALYST, f"analyst{number}")
    listed = olga.get("/console/keys").text + olga.get("/console/keys?page=2").text
    assert {key.id for key in door.all_keys()} == set(re.findall(r"<code>(\w+)</code>", listed))
    for _ in range(110):
        door.stop("again")
    first = olga.get("/console/trail")
    (older,) = re.findall(r'href="\?before=(\d+)"', first.text)
    second = olga.get(f"/console/trail?before={older}")
    numbers = {int(n) for page in (first, second)
               for n in re.findall(r"(?:entry |/console/trail/)(\d+)", page.text)}  # fmt: skip
    assert numbers == set(range(1, door.length() + 1))


def test_charges_are_found_page_by_page_newest_first(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.workspace.checkpoint("bob").release(parse_catalogue(NARROWER), "0.5")
    monkeypatch.setattr(spending, "_WINDOW", 3)
    monkeypatch.setattr(spending, "_WINDOWS", 2)
    door = service.workspace.custody
    found, before = [], None
    for _ in range(50):
        page = door.latest_charges("small", before, 2)
        found += [one.seq for one in page.charges]
        before = page.older
        if before is None:
            break
    every = [one.seq for one in door.charges("small")]
    assert found == sorted(every, reverse=True)
    assert before is None
    assert all(one.released for one in door.latest_charges(limit=3).charges)


def test_a_strip_shows_spent_and_held_of_each_block() -> None:
    one, two = Epsilon.of(1), Epsilon.of(2)
    drawn = str(budget_strip([BudgetLine("a", two, one), BudgetLine("b", two, one, one),
                       BudgetLine("c", Epsilon(0), one)]))  # fmt: skip
    assert drawn.count("v-44") == 3 + 2 + 1
    assert drawn.count("v-22") == 1 + 2


def test_other_questions_under_one_name_are_other_rows(service: Served, olga: Visitor) -> None:
    analyst = service.workspace.checkpoint("alice")
    for days in (7, 8):
        other = SOJOURN.replace("10 days", f"{days} days")
        analyst.release(parse_catalogue(other), "0.25")
    for path in ("/console", LOG):
        assert len(re.findall("alice sojourn ", words(olga.get(path)))) == 3
    spent = [line.spent for line in analyst.budget("small")]
    assert spent == [Epsilon.of("0.75")] * 3


def test_a_row_says_what_it_cost_the_block_it_cost_most(service: Served, olga: Visitor) -> None:
    quarterly = SOJOURN.replace("every: month", "every: quarter")
    service.workspace.checkpoint("alice").release(parse_catalogue(quarterly), "0.25")
    shown = words(olga.get(LOG))
    assert "alice sojourn 2024-01 … 2024-03 (3) 0.5 joint" in shown
    assert "sojourn 2024-01 … 2024-03 (3) 0.25" not in shown


@pytest.mark.parametrize("number", [10**20, -(10**20), 2**63, 2**64 - 1])
def test_no_number_in_an_address_is_too_large(reader: Visitor, number: int) -> None:
    for path in (f"/console/trail/{number}", f"/console/trail?before={number}",
                 f"/console?page={number}", f"/console/keys?page={number}",
                 f"{LOG}?blocks={number}", f"{LOG}?analysts={number}",
                 f"{LOG}?before={number}"):  # fmt: skip
        assert reader.get(path).status_code in (404, 422), path
