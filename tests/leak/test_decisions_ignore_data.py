"""What an analyst is told over HTTP depends on data through the noise alone.

Two workspaces whose logs are neighbours get the same hundreds of requests, with the noise
fixed. Status, headers, charges, the text of errors, log lines, counters, and every byte of
every reply but the released numbers must be equal. Noise can only be fixed inside a test, by
taking the place of the system's source of randomness: no setting of the service does that.

Of a released number even its presence is compared. Only a formula's value, or a limit of its
interval, may be null in one reply and not in the other: a noisy division by zero has no value,
and that is part of what was released.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi.checkpoint import LocalSession
from pappi.checkpoint.queries import Release
from pappi.errors import Refused
from pappi.ledger import Ledger
from pappi.mechanisms import mechanism
from pappi.service import telemetry
from pappi.session import Workspace
from pappi.store import LogDeclaration, Registry, open_readonly
from pappi.values import Series
from tests.leak.asked import BEYOND, BOTH, FORMULA, MEASURES, Asked, asks, definitions, everything
from tests.leak.neighbours import EARLIER, NEIGHBOURS, OUTSIDE, ROWS, fed, feed, imported
from tests.lengths import LONG, length
from tests.service.serving import Caller, analyst_key, serving

SPENDING = BEYOND[1:6:2]
"""Two releases that use up all there is, and one of far more than there ever was."""


def share_of(name: str) -> Iterator[Asked]:
    """What is asked of one pair: together the pairs are asked everything, in `make long` each is.

    All are asked what uses up the budget and what is malformed or not there; those with a case
    beyond the horizon also the releases with an anchor of their own, which look there.
    """
    pairs = list(NEIGHBOURS)
    for number, asked in enumerate(everything()):
        mine = number % len(pairs) == pairs.index(name)
        anchored = asked.path == "/release" and "anchor" in str(asked.body)
        beyond = anchored and name in (OUTSIDE, EARLIER)
        unsound = asked.raw in (b"{", json.dumps(BOTH).encode()) or asked.path == "/logs/none"
        if LONG or mine or beyond or unsound or asked in SPENDING:
            yield asked


# --- what is seen -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """All an analyst sees of a reply, less what noise protects; and that by itself."""

    asked: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    released: str


LENGTH_AND_TIME = ("content-length", "date")
RELEASED = frozenset(
    {"value", "low", "high", "cases", "verdict", "probability_met", "ceiling", "band", "bands"}
    | {"smoothed", "perhaps_empty", "clipping_decides"}
)
COUNTED = frozenset({"share", "below", "above"})
"""Of how many cases the bounds cut: what was counted with noise. A series says it in words."""
MAY_BE_NULL = frozenset({"value", "low", "high", "smoothed"})
# When something was charged, and the random name of a subscription: neither is data.
_OUR_OWN = frozenset({"time", "id"})


def seen(asked: Asked, reply: httpx.Response) -> Seen:
    headers = tuple(
        (name, value) for name, value in reply.headers.items() if name not in LENGTH_AND_TIME
    )
    body = reply.text
    released: list[object] = []
    if reply.status_code == 200 and asked.path not in ("/check", "/preview"):
        body = json.dumps(veiled(reply.json(), released))
    what = f"{asked.method} {asked.path} {asked.raw!r} {json.dumps(asked.body)}"
    return Seen(what, reply.status_code, headers, body, json.dumps(released))


def veiled(found: Any, released: list[object], *, formula: bool = False) -> Any:  # noqa: ANN401
    """A reply with the kind of every released number in its place."""
    if isinstance(found, list):
        return [veiled(each, released, formula=formula) for each in found]
    if not isinstance(found, dict):
        return found
    formula = formula or found.get("ppi") == FORMULA
    # A target has limits of its own, which are public, and so is where a value can lie at all.
    interval = found.get("confidence", 1.0) < 1
    hidden = RELEASED if "guarantee" in found or interval else frozenset()
    if found.keys() >= COUNTED:
        hidden = COUNTED
    elif "answers" in found:
        hidden = frozenset({"clipping"})
    return {
        name: _veil(name, value, released, formula=formula)
        if name in hidden
        else type(value).__name__
        if name in _OUR_OWN
        else veiled(value, released, formula=formula)
        for name, value in found.items()
    }


def _veil(name: str, value: object, released: list[object], *, formula: bool) -> str:
    released.append(value)
    return "released" if formula and name in MAY_BE_NULL else type(value).__name__


class Stream:
    """The same draws before every request, whatever was drawn before."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(mechanism, "system_randbelow", self.below)
        patch.setattr(telemetry, "secret_bytes", self.some)  # ids of requests
        self.begin(0)

    def begin(self, number: int) -> None:
        self._random = random.Random(number)  # noqa: S311 - the point of it

    def below(self, end: int) -> int:
        return self._random.randrange(end)

    def some(self, count: int) -> bytes:
        return self._random.randbytes(count)


Wrap = Callable[[ASGIApp, Workspace], ASGIApp]


def as_it_is(app: ASGIApp, _workspace: Workspace) -> ASGIApp:
    return app


@dataclass(frozen=True, slots=True)
class Surface:
    """What is left behind by a run of requests."""

    seen: tuple[Seen, ...]
    charges: tuple[object, ...]
    lines: tuple[object, ...]
    counted: tuple[str, ...]

    def differences(self, other: Surface) -> Iterator[str]:
        """Whatever differs beside released numbers."""
        for mine, theirs in zip(self.seen, other.seen, strict=True):
            if replace(mine, released="") != replace(theirs, released=""):
                yield f"{mine}\n    {theirs}"
        for name in ("charges", "lines", "counted"):
            if getattr(self, name) != getattr(other, name):
                yield name


def surface(
    workspace: Workspace,
    asked: Sequence[Asked],
    noise: Stream,
    wrap: Wrap = as_it_is,
    then: Callable[[Workspace], None] = lambda _: None,
) -> Surface:
    """Ask everything, let the owner do something, and ask for the accounts."""
    key = analyst_key(workspace, "alice", {"small": "30"})
    analyst_key(workspace, "bob", {"hidden": "1"})
    service = serving(workspace)
    found: list[Seen] = []
    lines = Lines()
    with Caller(wrap(service.analyst, workspace), key) as call, lines:
        for number, one in enumerate([*asked, *AFTERWARDS]):
            if one is AFTERWARDS[0]:
                then(workspace)
            noise.begin(number)
            found.append(seen(one, call(one.method, one.path, **one.call)))
    counters = service.frame.metrics.text().splitlines()
    counted = tuple(line for line in counters if line.startswith("pappi_requests_total"))
    return Surface(tuple(found), charges_of(workspace), tuple(lines.found), counted)


AFTERWARDS = [Asked("GET", f"/logs/small/{part}") for part in ("budget", "releases")]


def charges_of(workspace: Workspace) -> tuple[object, ...]:
    """The journal, entry by entry; of results only how many numbers they have."""
    entries = workspace.custody.trail(0, 10_000)
    ours = {"ledger", "declare", "key", "erase"}
    return tuple(
        (entry.kind, json.dumps(veiled(dict(entry.what), [])))
        for entry in entries
        if entry.kind not in ours
    )


class Lines(logging.Handler):
    """The service's log lines while this lasts, but for how long each request took."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = dict(getattr(record, "pappi", {}))
        fields.pop("seconds", None)
        fields.pop("key", None)  # random, and another in each workspace
        self.found.append((record.msg, record.levelname, fields))

    def __enter__(self) -> None:
        logger = logging.getLogger("pappi")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger("pappi").removeHandler(self)


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> Stream:
    return Stream(monkeypatch)


# --- what must hold ---------------------------------------------------------------------


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbouring_logs_are_told_apart_by_released_numbers_alone(
    tmp_path: Path, noise: Stream, name: str
) -> None:
    asked = list(share_of(name))
    first, second = (
        surface(build(tmp_path / str(number)), asked, noise)
        for number, build in enumerate(NEIGHBOURS[name])
    )
    assert list(first.differences(second)) == []
    assert len(first.seen) == len(asked) + len(AFTERWARDS)
    statuses = {each.status for each in first.seen}
    assert {200, 400, 402, 404, 422} <= statuses
    # The logs do differ, and released numbers show it; but not a case that lies in no block.
    numbers = [[each.released for each in found.seen] for found in (first, second)]
    assert (numbers[0] != numbers[1]) is (name != OUTSIDE)


def test_together_the_pairs_are_asked_everything() -> None:
    asked = [one for name in NEIGHBOURS for one in share_of(name)]
    assert all(one in asked for one in everything())


def test_what_stands_is_released_alike_whoever_is_in_the_sealed_block(
    tmp_path: Path, noise: Stream
) -> None:
    text = definitions((*MEASURES["groups"], "scope: every month"))
    asked = [asks("/subscriptions", text, until="2024-08-01"), Asked("GET", "/logs/small/budget")]
    runs: list[int] = []

    def sealing(cases: int) -> Callable[[Workspace], None]:
        def seal(workspace: Workspace) -> None:
            feed(workspace, cases, 6)
            workspace.custody.seal("small", date(2024, 7, 1))
            noise.begin(0)
            runs.append(len(workspace.run_subscriptions()))

        return seal

    first, second = (
        surface(fed(0)(tmp_path / str(cases)), asked, noise, then=sealing(cases))
        for cases in (0, 1)
    )
    assert list(first.differences(second)) == []
    assert runs == [1, 1]
    assert '"released": true' in first.seen[-1].body


def test_the_same_noise_on_the_same_log_gives_the_same_numbers(
    tmp_path: Path, noise: Stream
) -> None:
    """Otherwise the noise would not be fixed, and equal shapes would be luck."""
    asked = list(everything())[:: length(25, 5)]
    first, second = (surface(imported(ROWS)(tmp_path / n), asked, noise) for n in ("a", "b"))
    assert [each.released for each in first.seen] == [each.released for each in second.seen]


# --- what would be caught ---------------------------------------------------------------


def number_of_cases(events: Path, table: str) -> int:
    with open_readonly(events, table) as connection:
        (found,) = connection.execute(
            f'SELECT count(DISTINCT case_id) FROM "{table}"'  # noqa: S608
        ).fetchall()
    return int(found[0])


def planted(folder: Path, noise: Stream, wrap: Wrap = as_it_is) -> list[str]:
    asked = [asks("/release", definitions(MEASURES["mean time"])), Asked("GET", "/logs")]
    builds = NEIGHBOURS["one extreme case more"]
    first, second = (
        surface(build(folder / str(number)), asked, noise, wrap)
        for number, build in enumerate(builds)
    )
    return list(first.differences(second))


def test_a_checkpoint_that_refuses_small_logs_would_be_caught(
    tmp_path: Path, noise: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = LocalSession.answer

    def refuse_few(
        session: LocalSession,
        ledger: Ledger,
        questions: Sequence[Release],
        log: LogDeclaration,
        check: Callable[[Registry], None],
    ) -> tuple[Series, ...]:
        if number_of_cases(session._ledger_session.files.events, log.table) <= 30:
            raise Refused("too few cases")
        return answer(session, ledger, questions, log, check)

    monkeypatch.setattr(LocalSession, "answer", refuse_few)
    assert planted(tmp_path, noise)


def test_a_header_that_counts_cases_would_be_caught(tmp_path: Path, noise: Stream) -> None:
    def counting(app: ASGIApp, workspace: Workspace) -> ASGIApp:
        cases = number_of_cases(workspace.root / "events", workspace.log("small").table)

        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            async def with_header(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"].append((b"x-scanned", str(cases).encode()))
                await send(message)

            await app(scope, receive, with_header)

        return wrapped

    assert planted(tmp_path, noise, counting)


def test_a_value_that_is_missing_where_a_period_is_empty_would_be_caught() -> None:
    answer = {"ppi": "p", "value": 3.0, "guarantee": {}}
    assert veiled(answer, []) != veiled({**answer, "value": None}, [])
    formula = {**answer, "ppi": FORMULA}
    assert veiled(formula, []) == veiled({**formula, "value": None}, [])


def test_without_a_planted_fault_nothing_is_caught(tmp_path: Path, noise: Stream) -> None:
    assert planted(tmp_path, noise) == []
