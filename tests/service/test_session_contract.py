"""One session, wherever the log is: every verb gives the same here and over HTTP.

A verb that is new in the protocol fails here until both sessions have it, and until it is said
below how it is compared.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date

import httpx
import pytest

import pappi
from pappi.checkpoint import LocalSession, Released
from pappi.client import Client
from pappi.errors import NotFound, PappiError, UnknownLog
from pappi.ppinot import parse_catalogue
from pappi.session import Session, from_wire, to_wire
from pappi.store import Subscription
from pappi.values import Answer, Band, Series
from tests.service.served import LOG, SOJOURN, Served, served
from tests.service.test_client import MANY

JUNE, JULY = date(2024, 6, 1), date(2024, 7, 1)
BUILT = pappi.share("Pay").every("month").about(LOG)
AS_DICT = {"log": LOG, "ppis": [{"id": "cases", "measure": {"number": "cases"}}]}
VERBS = [name for name in vars(Session) if not name.startswith("_")]


class InProcess(httpx.BaseTransport):
    """The service without a network: a request is one call of the application."""

    def __init__(self, service: Served) -> None:
        self._inner = httpx.ASGITransport(service.analyst)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        # Whole, and so of no loop.
        sent = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        reply = await self._inner.handle_async_request(sent)
        return httpx.Response(reply.status_code, headers=reply.headers, content=await reply.aread())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def local(service: Served) -> LocalSession:
    """For the same analyst, with the same logs, as the client has it."""
    return service.workspace.granted_checkpoint("alice", lambda _register: None)


@pytest.fixture(scope="module")
def remote(service: Served) -> Iterator[Client]:
    transport = InProcess(service)
    with Client("http://pappi", service.alice, transport=transport) as client:
        yield client


def as_sent(released: Released) -> list[Series]:
    """Without what smoothing works with, which stays where the release is."""
    return [
        replace(one, answers=tuple(replace(answer, likelihood=None) for answer in one.answers))
        for one in released
    ]


def released(session: Session) -> object:
    """Charged by whoever comes first; from then on a replay, to the last digit."""
    session.release(MANY, "0.1", anyway=True)
    return as_sent(session.release(MANY, "0.1", anyway=True))


def released_as_a_set(session: Session) -> object:
    session.release(MANY, total="0.1", anyway=True)
    return as_sent(session.release(MANY, total="0.1", anyway=True))


def released_smooth(session: Session) -> object:
    catalogue = parse_catalogue(SOJOURN)
    session.release(catalogue, "0.02", smooth=True, whole="0.5", anyway=True)
    series = as_sent(session.release(catalogue, "0.02", smooth=True, whole="0.5", anyway=True))
    assert any(answer.smoothed is not None for one in series for answer in one.answers)
    return series


def subscribed(session: Session) -> Subscription:
    """The id is drawn, everything else is told by what was asked."""
    subscription = session.subscribe(SOJOURN, JUNE, "0.01", anyway=True)
    assert subscription in session.subscriptions()
    session.unsubscribe(subscription.id)
    return replace(subscription, id="")


def unsubscribed(session: Session) -> int:
    return session.unsubscribe(session.subscribe(SOJOURN, JULY, "0.01", anyway=True).id)


def forgotten(session: Session) -> object:
    saved = session.save(SOJOURN)
    assert saved is not None
    session.forget(saved.id)
    return session.saved()


def audited(session: Session) -> object:
    """What is drawn to compare with the law differs; what it is compared with must not."""
    reports = session.audit(SOJOURN, "0.5", pairs=20, samples=200)
    return [(report.subject, report.exact, report.passed) for report in reports]


COMPARED: Mapping[str, tuple[Callable[[Session], object], ...]] = {
    "logs": (lambda session: session.logs(),),
    "log": (lambda session: session.log(LOG),),
    "budget": (lambda session: session.budget(LOG),),
    "releases": (
        lambda session: session.releases(LOG),
        lambda session: session.releases(LOG, after=session.releases(LOG)[0].number),
        lambda session: session.releases(LOG, limit=2),
    ),
    "suggest": (lambda session: session.suggest(LOG),),
    "understand": (
        lambda session: session.understand("How long does a case take, per quarter?", LOG),
        lambda session: session.understand("How many cases are there?"),
    ),
    "check": (lambda session: session.check(MANY), lambda session: session.check(SOJOURN)),
    "advise": (
        lambda session: session.advise(MANY, 0.2),
        lambda session: session.advise(MANY, total="0.3"),
    ),
    "preview": (
        lambda session: session.preview(MANY, 0.2),
        lambda session: session.preview(SOJOURN, accuracy="6 h"),
        lambda session: session.preview(MANY, total="0.3"),
        lambda session: session.preview(BUILT, "0.2"),
        lambda session: session.preview(AS_DICT, "0.2"),
        lambda session: session.preview(MANY, "0.2", ppi="sojourn"),
    ),
    "price": (lambda session: session.price(MANY), lambda session: session.price(SOJOURN)),
    "forecasts": (lambda session: session.forecasts(MANY),),
    "outlook": (lambda session: session.outlook(MANY),),
    "rehearse": (
        lambda session: shape_of(session.rehearse(SOJOURN, "0.2")),
        lambda session: shape_of(session.rehearse(SOJOURN, "0.2", smooth=True)),
    ),
    "audit": (audited,),
    "release": (
        released,
        released_as_a_set,
        released_smooth,
        lambda session: as_sent(session.release(MANY, price=session.price(MANY).name, anyway=True)),
    ),
    "replay": (
        lambda session: as_sent(session.replay(MANY)),
        lambda session: as_sent(session.replay(MANY, smooth=True)),
        lambda session: as_sent(session.replay(MANY, total="0.1")),
    ),
    "compare": (
        lambda session: as_sent(session.compare(MANY, periods=("2024-02", "2024-01"))),
        lambda session: as_sent(
            session.compare(MANY, ppi="sojourn", periods=("2024-03", "2024-01"), by="percent")
        ),
    ),
    "subscribe": (subscribed,),
    "subscriptions": (lambda session: session.subscriptions(),),
    "unsubscribe": (unsubscribed,),
    "save": (lambda session: session.save(MANY),),
    "saved": (lambda session: session.saved(), lambda session: session.saved(LOG)),
    "forget": (forgotten,),
}


def shape_of(rehearsed: Released) -> object:
    """A rehearsal draws anew every time: all but the numbers that are drawn."""
    return [
        (
            replace(one, answers=(), clipping="", beyond=None),
            [(a.ppi, a.period, a.group, a.unit, a.guarantee, a.charged) for a in one.answers],
            [a.smoothed is None for a in one.answers],
        )
        for one in rehearsed
    ]


def test_every_verb_of_the_protocol_is_compared() -> None:
    assert set(COMPARED) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_gives_the_same_here_and_over_http(
    verb: str, local: LocalSession, remote: Client
) -> None:
    local.release(MANY, anyway=True)  # so that there is something to tell; later ones are replays
    local.save(MANY)
    for ask in COMPARED[verb]:
        assert ask(remote) == ask(local)


def missing_verbs(session: type) -> list[str]:
    """Verbs, and parameters of verbs, that a class lacks."""
    missing = []
    for verb in VERBS:
        own = getattr(session, verb, None)
        if own is None:
            missing.append(verb)
            continue
        known, wanted = (inspect.signature(each).parameters for each in (own, vars(Session)[verb]))
        missing += [
            f"{verb}({name})"
            for name, parameter in wanted.items()
            if name not in known or known[name].default != parameter.default
        ]
    return missing


@pytest.mark.parametrize("session", [LocalSession, Client])
def test_both_sessions_have_every_verb(session: type) -> None:
    assert missing_verbs(session) == []


def test_a_session_that_lacks_a_verb_or_a_parameter_is_caught() -> None:
    verbs = {verb: getattr(LocalSession, verb) for verb in VERBS if verb != "replay"}

    def preview(self: object, definitions: object, epsilon: object = None) -> None:
        """Without an accuracy."""

    fewer = type("Fewer", (), {**verbs, "preview": preview})
    assert missing_verbs(fewer) == ["preview(accuracy)", "preview(total)", "preview(ppi)", "replay"]


def test_a_codec_that_loses_a_field_is_caught(
    local: LocalSession, remote: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a client that does not read what the colours of an answer are."""
    (released,) = COMPARED["release"][:1]
    local.release(MANY, "0.1", anyway=True)

    def without_bands(kind: type, written: object) -> object:
        found: object = from_wire(kind, written)
        if not isinstance(found, tuple) or not all(isinstance(one, Series) for one in found):
            return found
        return tuple(
            replace(one, answers=tuple(replace(answer, bands=()) for answer in one.answers))
            for one in found
        )

    monkeypatch.setattr("pappi.client.remote.from_wire", without_bands)
    assert released(remote) != released(local)


def test_colours_are_sent_as_a_list(local: LocalSession) -> None:
    answers = [answer for one in local.release(MANY, "0.1", anyway=True) for answer in one.answers]
    judged = next(answer for answer in answers if answer.bands)
    assert to_wire(judged)["bands"] == [str(band) for band in judged.bands]
    every = replace(judged, bands=tuple(Band), likelihood=None)
    assert to_wire(every)["band"] == "green, amber or red"
    assert from_wire(Answer, {**to_wire(every), "band": "any phrase"}) == every


FAILING: Mapping[str, Callable[[Session], object]] = {
    "a log that is not there": lambda session: session.log("elsewhere"),
    "a sentence that says nothing": lambda session: session.understand("Flying fish", LOG),
    "definitions with problems": lambda session: session.check(SOJOURN.replace("mean:", "maen:")),
    "more than is left": lambda session: session.release(SOJOURN, "5"),
    "what tells nothing": lambda session: session.release(
        SOJOURN.replace("10 days", "11 days"), "0.001"
    ),
    "not an amount": lambda session: session.release(SOJOURN, "a little"),
    "both ε and accuracy": lambda session: session.preview(SOJOURN, "0.1", accuracy="6 h"),
    "another price": lambda session: session.release(SOJOURN, price="0" * 64),
    "a whole that is not smoothed": lambda session: session.release(SOJOURN, whole="0.5"),
    "no such subscription": lambda session: session.unsubscribe("0" * 12),
    "no such saved query": lambda session: session.forget("0" * 16),
    "a day that leaves no block": lambda session: session.subscribe(SOJOURN, date(2020, 1, 1)),
}


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.advised
def test_failures_are_the_same_errors(failing: str, local: LocalSession, remote: Client) -> None:
    errors = []
    for session in (local, remote):
        with pytest.raises(PappiError) as caught:
            FAILING[failing](session)
        errors.append((type(caught.value), caught.value.message, caught.value.hint))
    assert errors[0] == errors[1]


def test_a_stranger_has_neither_log_nor_saved_queries(service: Served, remote: Client) -> None:
    stranger = service.workspace.granted_checkpoint("bob", lambda _register: None)
    assert not stranger.logs()
    assert not stranger.saved()
    with pytest.raises(UnknownLog):
        stranger.replay(MANY)
    saved = remote.save(MANY)
    assert saved is not None
    with pytest.raises(NotFound):
        stranger.forget(saved.id)
