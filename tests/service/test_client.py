"""The client gives what the library gives, over a real connection, and fails alike."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import httpx
import pytest

from pappi.client import Client, ServiceError
from pappi.client.remote import error_of
from pappi.errors import (
    BudgetExceeded,
    DefinitionError,
    NotAllowed,
    NotAuthenticated,
    Stopped,
    UnknownLog,
    UsageError,
)
from pappi.ppinot import parse_catalogue
from pappi.service import Address, Addresses
from pappi.service.running import Running
from pappi.values import Epsilon, Right, Role, Series
from tests.service.served import LOG, QUICK, SOJOURN, Served, served

MANY = (
    SOJOURN
    + """
  - id: rejected
    measure:
      derive: 100 * rejected / received
      rejected: {sum: {count: activity == "Reject"}}
      received: {sum: {count: activity == "Receive"}}
    bounds: {rejected: [0, 1], received: [0, 1], value: [0, 100]}
    target: {green: above 20, amber: above 10}
  - id: by-channel
    measure:
      share: {condition: activity == "Reject"}
      by: {data: channel, values: [web, phone, letter]}
"""
)
ANYWHERE = Addresses(Address("127.0.0.1", 0), Address("127.0.0.1", 0))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def url(service: Served) -> Iterator[str]:
    """The analyst's application on a real port."""
    running = Running(service.workspace, ANYWHERE, QUICK)
    thread = threading.Thread(target=running.run)
    thread.start()
    yield str(running.addresses.analyst)
    running.stop()
    thread.join(timeout=120)
    assert not thread.is_alive()


@pytest.fixture
def client(service: Served, url: str) -> Iterator[Client]:
    with Client(url, service.alice) as client:
        yield client


def as_sent(series: tuple[Series, ...]) -> list[Series]:
    """Without the likelihood, which is not sent."""
    return [
        replace(one, answers=tuple(replace(answer, likelihood=None) for answer in one.answers))
        for one in series
    ]


def test_a_release_over_the_wire_is_the_release_itself(client: Client, service: Served) -> None:
    sent = client.release(MANY, "0.1", anyway=True)
    again = client.release(MANY, Epsilon.of("0.1"), anyway=True)
    here = service.workspace.checkpoint("alice")
    assert list(again) == as_sent(here.release(parse_catalogue(MANY), "0.1", anyway=True))
    assert [a.value for s in sent for a in s.answers] == [a.value for s in again for a in s.answers]
    assert all(answer.replayed for one in again for answer in one.answers)
    assert all(answer.charged == Epsilon.of("0.1") for answer in sent[0].answers)


def test_a_preview_over_the_wire_is_the_preview_itself(client: Client, service: Served) -> None:
    here = service.workspace.checkpoint("alice")
    catalogue = parse_catalogue(MANY)
    assert client.preview(MANY, "0.2") == here.preview(catalogue, "0.2")
    sojourn = parse_catalogue(SOJOURN)
    assert client.preview(SOJOURN, accuracy="6 h") == here.preview(sojourn, accuracy="6 h")


def test_public_facts_and_accounts_are_those_of_the_workspace(
    client: Client, service: Served
) -> None:
    log = service.workspace.log(LOG)
    (facts,) = client.logs()
    assert facts == client.log(LOG)
    assert (facts.name, facts.first, facts.until) == (log.name, log.public.first, log.public.until)
    assert (facts.terms.blocks, facts.terms.unit, facts.terms.adjacency) == (
        log.terms.blocks,
        log.terms.unit,
        log.terms.adjacency,
    )
    assert (facts.vocabulary, facts.terms.block_budget) == (
        log.public.vocabulary,
        log.terms.block_budget,
    )
    assert facts.terms.bounds == log.terms.bounds
    assert client.budget(LOG) == service.workspace.checkpoint("alice").budget(LOG)


def test_past_releases_are_read_page_by_page(
    client: Client, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.release(SOJOURN, "0.03", anyway=True)
    whole = client.releases(LOG)
    assert [one.number for one in whole] == [
        one.seq for one in service.workspace.custody.charges(LOG)
    ]
    monkeypatch.setattr("pappi.client.remote._PAGE", 2)
    assert client.releases(LOG) == whole
    assert all(one.mine and one.released for one in whole)


def test_definitions_come_from_files_and_problems_name_them(client: Client, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(SOJOURN)
    bad.write_text(SOJOURN.replace("mean:", "maen:"))
    assert client.check(good).ppis == ("sojourn",)
    assert client.check(str(good)).warnings == ()
    with pytest.raises(DefinitionError, match=r"bad\.yaml:6:"):
        client.check(bad)


def test_a_subscription_can_be_made_and_ended(client: Client) -> None:
    subscription = client.subscribe(SOJOURN, date(2024, 6, 1), "0.01", anyway=True)
    assert subscription in client.subscriptions()
    assert client.unsubscribe(subscription.id) == 2
    assert client.subscriptions() == ()


def test_failures_are_the_librarys_own_errors(client: Client, service: Served, url: str) -> None:
    with pytest.raises(BudgetExceeded, match="requested ε 5"):
        client.release(SOJOURN, "5")
    with pytest.raises(UnknownLog):
        client.log("elsewhere")
    with pytest.raises(UsageError, match="not both"):
        client.preview(SOJOURN, "0.1", accuracy="6 h")
    with pytest.raises(UsageError, match="not an epsilon"):
        client.release(SOJOURN, "a little")
    with pytest.raises(ServiceError, match=r"body\.price"):
        client.release(SOJOURN, price="elvish")
    with pytest.raises(NotAuthenticated), Client(url, "pappi_x_y") as stranger:
        stranger.logs()
    looking = service.key(Role.ANALYST, "alice", [Right.PREVIEW])
    with pytest.raises(NotAllowed), Client(url, looking) as onlooker:
        onlooker.release(SOJOURN)


def test_the_stop_switch_reaches_the_client(client: Client, service: Served) -> None:
    service.workspace.custody.stop("an inspection")
    try:
        with pytest.raises(Stopped, match="an inspection"):
            client.preview(SOJOURN)
    finally:
        service.workspace.custody.resume()


# --- connections that break ---------------------------------------------------------------


def client_of(replies: list[httpx.Response | Exception], waits: list[float]) -> Client:
    """A client of a service that answers as told."""

    def answer(_request: httpx.Request) -> httpx.Response:
        found = replies.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    transport = httpx.MockTransport(answer)
    return Client("http://pappi", "key", transport=transport, sleep=waits.append)


def busy(seconds: str) -> httpx.Response:
    headers = {"retry-after": seconds}
    return httpx.Response(503, json={"code": "busy", "detail": "later"}, headers=headers)


def test_a_release_is_asked_again_after_a_broken_connection() -> None:
    waits: list[float] = []
    empty = httpx.Response(200, json={"log": LOG, "series": []})
    replies: list[httpx.Response | Exception] = [httpx.ReadError("cut"), busy("7"), empty]
    assert client_of(replies, waits).release(SOJOURN) == ()
    assert waits == [0.5, 7.0]


def test_a_subscription_is_not_asked_again_once_it_may_have_arrived() -> None:
    waits: list[float] = []
    with pytest.raises(ServiceError, match="ReadError"):
        client_of([httpx.ReadError("cut")], waits).subscribe(SOJOURN, date(2030, 1, 1))
    assert waits == []


def test_a_client_gives_up_in_the_end() -> None:
    waits: list[float] = []
    with pytest.raises(ServiceError, match="later"):
        client_of([busy("100")] * 4, waits).logs()
    assert waits == [30.0] * 3


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"logs": [{}]}', b'{"logs": 3}'])
def test_a_reply_that_is_not_understood_is_one_clear_error(body: bytes) -> None:
    with pytest.raises(ServiceError):
        client_of([httpx.Response(200, content=body)], []).logs()


@pytest.mark.parametrize("body", [None, [], "x", {}, {"code": 3}, {"code": "new", "detail": "d"}])
def test_a_failure_of_any_shape_is_an_error(body: object) -> None:
    error = error_of(502, json.loads(json.dumps(body)), "file")
    assert isinstance(error, ServiceError)
    assert error.status == 502
