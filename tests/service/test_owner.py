"""The owner's desk: events come in durably, time is sealed, keys work, acts are on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pappi.service import Settings
from pappi.service.owner import Batch, events_in
from tests.service.served import LOG, SOJOURN, Served, ask, served

NEW_LOG = {
    "name": "fed",
    "first": "2024-01-01",
    "timezone": "Europe/Amsterdam",
    "blocks": {"unit": "month", "count": 1},
    "block_budget": "3",
    "activities": ["Receive", "Pay"],
    "attributes": {"damage": "number", "channel": "text"},
    "keys": {"channel": ["web", "phone"]},
    "bounds": {"durations": ["0", "864000.5"], "counts": ["0", "5"], "attributes": {}},
}
FED = SOJOURN.replace("log: small", "log: fed")


@pytest.fixture
def service(tmp_path: Path) -> Served:
    return served(tmp_path)


def event(
    number: int, case: str, activity: str, day: int, **attributes: object
) -> dict[str, object]:
    time = f"2024-01-{day:02}T10:00:00+01:00"
    found = {"id": f"e{number}", "case": case, "activity": activity, "time": time}
    return {**found, "attributes": attributes}


EVENTS = [
    event(1, "c1", "Receive", 3, damage=10),
    event(2, "c1", "Pay", 5),
    event(3, "c2", "Receive", 8, damage=2.5),
]


def test_a_log_is_created_fed_sealed_granted_and_asked(service: Served) -> None:
    boss, alice = service.boss, service.alice
    created = ask(service.owner, "POST", "/logs", boss, NEW_LOG)
    assert created.status_code == 200, created.text
    assert (created.json()["first"], created.json()["until"]) == ("2024-01-01", "2024-01-01")
    assert created.json()["keys"] == NEW_LOG["keys"]
    assert created.json()["bounds"]["durations"] == ["0", "1728001/2"]
    captured = ask(service.owner, "POST", "/logs/fed/events", boss, EVENTS)
    assert captured.json() == {"accepted": 3, "duplicates": 0}
    assert ask(service.analyst, "GET", "/logs/fed", alice).status_code == 404
    grant = ask(service.owner, "PUT", "/logs/fed/analysts/alice", boss, {"per_block": "1"})
    assert grant.json() == {"log": "fed", "analyst": "alice", "per_block": "1"}
    sealed = ask(service.owner, "POST", "/logs/fed/seal", boss, {"until": "2024-02-01"})
    assert sealed.json() == {
        "log": "fed",
        "until": "2024-02-01",
        "cases": 2,
        "events": 3,
        "late": 0,
        "subscriptions": 0,
    }
    (series,) = ask(service.analyst, "POST", "/release", alice, {"definitions": FED}).json()[
        "series"
    ]
    assert [answer["period"]["start"] for answer in series["answers"]] == ["2024-01-01"]


def test_a_standing_question_is_answered_when_its_time_is_sealed(service: Served) -> None:
    boss, alice = service.boss, service.alice
    ask(service.owner, "POST", "/logs", boss, NEW_LOG)
    ask(service.owner, "PUT", "/logs/fed/analysts/alice", boss, {"per_block": "1"})
    asked = {"definitions": FED, "until": "2024-03-01", "epsilon": "0.1", "anyway": True}
    assert ask(service.analyst, "POST", "/subscriptions", alice, asked).status_code == 200
    sealed = ask(service.owner, "POST", "/logs/fed/seal", boss, {"until": "2024-02-01"})
    assert sealed.json()["subscriptions"] == 1
    (released,) = ask(service.analyst, "GET", "/logs/fed/releases", alice).json()["releases"]
    assert (released["blocks"], released["mine"], released["released"]) == (["2024-01"], True, True)


def test_events_come_as_lines_too_and_again_are_duplicates(service: Served) -> None:
    boss = service.boss
    ask(service.owner, "POST", "/logs", boss, NEW_LOG)
    lines = "\n".join(json.dumps(one) for one in EVENTS) + "\n\n"
    headers = {"content-type": "application/x-ndjson; charset=utf-8"}
    sent = [
        ask(service.owner, "POST", "/logs/fed/events", boss, content=lines, headers=headers)
        for _ in range(2)
    ]
    assert [reply.json() for reply in sent] == [
        {"accepted": 3, "duplicates": 0},
        {"accepted": 0, "duplicates": 3},
    ]


def test_an_event_that_contradicts_an_earlier_one_refuses_the_batch(service: Served) -> None:
    boss = service.boss
    ask(service.owner, "POST", "/logs", boss, NEW_LOG)
    ask(service.owner, "POST", "/logs/fed/events", boss, EVENTS[:1])
    other = {**EVENTS[0], "activity": "Pay"}
    reply = ask(service.owner, "POST", "/logs/fed/events", boss, [EVENTS[1], other])
    assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    accepted = ask(service.owner, "POST", "/logs/fed/events", boss, EVENTS[1:2])
    assert accepted.json() == {"accepted": 1, "duplicates": 0}


def test_what_is_wrong_with_an_event_is_said_without_its_values(service: Served) -> None:
    boss = service.boss
    ask(service.owner, "POST", "/logs", boss, NEW_LOG)
    private = "Meyer-1964"
    wrong: list[object] = [
        {**EVENTS[0], "case": ""},
        {**EVENTS[0], "time": private},
        {**EVENTS[0], "attributes": {"damage": private}},
        {private: 1},
        private,
        None,
    ]
    for one in wrong:
        reply = ask(service.owner, "POST", "/logs/fed/events", boss, [EVENTS[1], one])
        assert (reply.status_code, reply.json()["code"]) == (422, "input"), reply.text
        assert private not in reply.text
        assert "event 2" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", b"[]", 415),
        ("", b"[]", 415),
        ("application/json", b"{}", 422),
        ("application/json", b"[NaN]", 422),
        ("application/json", b"[" * 100_000, 422),
        ("application/json", b"[1" + b"0" * 5_000 + b"]", 422),
        ("application/json", b"\xff", 422),
        ("application/x-ndjson", b"{}\n{", 422),
    ],
)
def test_a_body_that_is_no_batch_is_refused(
    service: Served, kind: str, body: bytes, status: int
) -> None:
    headers = {"content-type": kind}
    path = f"/logs/{LOG}/events"
    reply = ask(service.owner, "POST", path, service.boss, content=body, headers=headers)
    assert reply.status_code == status


def test_lines_and_an_array_say_the_same() -> None:
    lines = Batch(b'{"a": 1}\r\n\n{"a": 2}', "application/jsonl")
    array = Batch(b'[{"a": 1}, {"a": 2}]', "application/json")
    assert events_in(lines) == events_in(array) == [{"a": 1}, {"a": 2}]


def test_erased_cases_are_gone_and_the_act_is_on_record(service: Served) -> None:
    boss = service.boss
    before = ask(service.owner, "POST", "/exact", boss, {"definitions": SOJOURN}).json()
    reply = ask(service.owner, "POST", f"/logs/{LOG}/erase", boss, {"cases": ["c0", "c3"]})
    assert reply.json() == {"cases": 2, "events": 4}
    after = ask(service.owner, "POST", "/exact", boss, {"definitions": SOJOURN}).json()
    assert before != after
    *_, last, look = ask(service.owner, "GET", "/trail", boss).json()["entries"]
    assert (look["kind"], look["what"]["by"]) == ("exact", "boss")
    assert (last["kind"], last["what"]["by"]) == ("erase", "boss")
    assert "c0" not in json.dumps(last["what"])


def test_a_log_is_renamed_and_removed_over_http(service: Served) -> None:
    boss = service.boss
    for name in ("first", "second"):
        sent = {"name": name, "first": "2024-05-01", "activities": ["Pay"]}
        assert ask(service.owner, "POST", "/logs", boss, sent).status_code == 200
    clash = ask(service.owner, "POST", "/logs/first/rename", boss, {"to": "second"})
    assert (clash.status_code, clash.json()["code"]) == (400, "usage")
    reply = ask(service.owner, "POST", "/logs/first/rename", boss, {"to": "third"})
    assert reply.json()["name"] == "third"
    reply = ask(service.owner, "DELETE", "/logs/third", boss)
    assert reply.json() == {"log": "third", "charged": False}
    assert ask(service.owner, "GET", "/logs/third", boss).status_code == 404
    assert ask(service.owner, "DELETE", "/logs/third", boss).status_code == 404
    *_, last = ask(service.owner, "GET", "/trail", boss).json()["entries"]
    assert (last["kind"], last["what"]["by"]) == ("remove", "boss")
    ask(service.owner, "DELETE", "/logs/second", boss)


def test_a_key_made_over_http_works_until_it_is_revoked(service: Served) -> None:
    boss = service.boss
    asked = {
        "role": "analyst",
        "name": "bob",
        "rights": ["preview"],
        "expires": "2999-01-01T00:00Z",
    }
    made = ask(service.owner, "POST", "/keys", boss, asked).json()
    assert ask(service.analyst, "GET", "/logs", made["secret"]).json() == {"logs": []}
    identity = made["key"]["id"]
    assert ask(service.owner, "DELETE", f"/keys/{identity}", boss).json()["revoked"] is True
    assert ask(service.analyst, "GET", "/logs", made["secret"]).status_code == 401
    listed = ask(service.owner, "GET", "/keys", boss)
    assert made["secret"] not in listed.text
    assert "digest" not in ask(service.owner, "GET", "/trail", boss).text


@pytest.mark.parametrize("pair", [["5", "5"], ["9", "1"], ["0", "1/0"]])
def test_bounds_that_do_not_rise_are_refused(service: Served, pair: list[str]) -> None:
    wrong = {**NEW_LOG, "bounds": {"counts": pair}}
    assert ask(service.owner, "POST", "/logs", service.boss, wrong).status_code == 400


def test_a_key_gets_no_rights_of_the_other_role(service: Served) -> None:
    asked = {"role": "analyst", "name": "bob", "rights": ["manage"]}
    assert ask(service.owner, "POST", "/keys", service.boss, asked).status_code == 400


def test_the_trail_is_read_page_by_page(tmp_path: Path) -> None:
    service = served(tmp_path, Settings(page=2, longest_page=3))
    boss = service.boss
    whole: list[int] = []
    after: int | None = 0
    while after is not None:
        page = ask(service.owner, "GET", f"/trail?after={after}", boss).json()
        assert len(page["entries"]) <= 2
        whole += [entry["number"] for entry in page["entries"]]
        after = page["next"]
    assert whole == list(range(1, len(whole) + 1))
    assert len(ask(service.owner, "GET", "/trail?limit=100", boss).json()["entries"]) == 3


def test_the_ledger_verifies_over_http(service: Served) -> None:
    found = ask(service.owner, "GET", "/ledger", service.boss).json()
    assert (found["verifies"], found["problem"]) == (True, "")
