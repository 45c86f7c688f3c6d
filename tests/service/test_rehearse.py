"""`POST /rehearse`, and the client's verb: a release in all but its cases, price and name."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pappi.client import Client
from pappi.errors import DefinitionError
from pappi.report import series_html
from pappi.values import CASE
from pappi.values.answers import REHEARSAL
from tests.service.served import LOG, SOJOURN, Served, ask, served
from tests.service.serving import listening


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def client(service: Served) -> Iterator[Client]:
    with (
        listening(service.workspace) as addresses,
        Client(str(addresses.analyst), service.alice) as found,
    ):
        yield found


def test_the_reply_says_that_it_is_a_rehearsal_as_a_whole_and_in_each_series(
    service: Served,
) -> None:
    reply = _asked(service, "/rehearse")
    assert reply.json()["rehearsal"] is True
    assert [one["rehearsal"] for one in reply.json()["series"]] == [True]
    released = _asked(service, "/release").json()
    assert "rehearsal" not in released
    assert [one["rehearsal"] for one in released["series"]] == [False]


def test_reply_and_release_have_the_same_fields(service: Served) -> None:
    rehearsed, released = (
        _asked(service, path).json()["series"][0] for path in ("/rehearse", "/release")
    )
    assert rehearsed.keys() == released.keys()
    for mine, theirs in zip(rehearsed["answers"], released["answers"], strict=True):
        assert mine.keys() == theirs.keys()
        assert (mine["period"], mine["guarantee"]) == (theirs["period"], theirs["guarantee"])
        assert (mine["charged"], mine["replayed"]) == ("0", False)


def test_it_is_not_among_what_was_asked_before(service: Served) -> None:
    before = service.workspace.custody.charges(LOG)
    for epsilon in ("0.3", "999"):
        assert _asked(service, "/rehearse", epsilon=epsilon).status_code == 200
    assert service.workspace.custody.charges(LOG) == before


def test_the_client_gives_series_that_are_marked(client: Client) -> None:
    (series,) = client.rehearse(SOJOURN, "0.2")
    assert series.rehearsed
    assert series.answers[0].guarantee.unit == CASE
    assert str(series.answers[0].guarantee.epsilon) == "0.2"
    assert REHEARSAL in series_html(series)
    (released,) = client.release(SOJOURN, "0.01")
    assert not released.rehearsed


def test_definitions_are_checked_as_ever(client: Client) -> None:
    with pytest.raises(DefinitionError):
        client.rehearse(SOJOURN.replace("mean:", "maen:"))


def _asked(service: Served, path: str, epsilon: str = "0.1") -> httpx.Response:
    body = {"definitions": SOJOURN, "epsilon": epsilon}
    return ask(service.analyst, "POST", path, service.alice, body)
