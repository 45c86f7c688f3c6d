"""No word an analyst gets, no log line, no counter and no file outside the store quotes data.

The log is made of canaries: case ids, names, texts, amounts and times that occur nowhere else.
Both applications listen as they do in earnest while everything is asked of them that can be
asked, sound and broken, and while the engine fails in the words of its database.
"""

from __future__ import annotations

import io
import json
import logging
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pyarrow as pa
import pytest

import pappi
from pappi.checkpoint import draw, session
from pappi.custody import NewLog
from pappi.errors import PappiError
from pappi.service import Addresses, middleware
from pappi.service.problems import Audience, Fault
from pappi.service.telemetry import LOGGER, write_logs
from pappi.session import Workspace
from pappi.values import Epsilon, PrivacyUnit, Terms
from tests.fuzz.dice import Dice
from tests.fuzz.mutate import changed_text
from tests.leak.asked import MEASURES, Asked, asks, definitions, everything, sound_questions
from tests.lengths import length
from tests.service.serving import analyst_key, listening, owner_key
from tests.small_logs import copied

CASES = 40
FIRST = datetime(2024, 1, 10, 3, 17, 22, 918_273, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STORE = ("events", "capture.sqlite")
TERMS = NewLog(
    first=date(2024, 1, 1),
    until=date(2024, 6, 1),
    terms=Terms(block_budget=Epsilon.of(40), unit=PrivacyUnit("customer", 2)),
)


# --- the canaries -----------------------------------------------------------------------


def case_id(number: int) -> str:
    return f"zq-case-{number * 7919 + 100_003}"


def customer(number: int) -> str:
    return f"Quillington-Zorvath the {number * 6007 + 50_021}th"


def note(number: int) -> str:
    return f"ailurophobia {number * 4001 + 70_001}"


def amount(number: int) -> float:
    return 731.5982617 + number * 1.0313719


def moment(number: int, event: int = 0) -> datetime:
    return FIRST + timedelta(days=3 * (number % 40), seconds=number * 9_973, hours=event * 29)


def as_us(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def log_of_canaries() -> pa.Table:
    numbers = [number for number in range(CASES) for _ in range(2)]
    events = [event for _ in range(CASES) for event in range(2)]
    ends = ["Pay" if number % 4 else "Reject" for number in numbers]
    last = zip(ends, events, strict=True)
    times = [moment(number, event) for number, event in zip(numbers, events, strict=True)]
    return pa.table(
        {
            "case_id": [case_id(number) for number in numbers],
            "activity": [end if event else "Receive" for end, event in last],
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "customer": [customer(number) for number in numbers],
            "channel": [note(number) for number in numbers],
            "damage": [amount(number) for number in numbers],
        }
    )


def _words() -> Iterator[bytes]:
    for number in range(2 * CASES):  # the second half is captured later
        for text in (case_id(number), customer(number), note(number), repr(amount(number))):
            yield text.encode()
        yield struct.pack("<d", amount(number))
        for event in range(2):
            at = moment(number, event)
            for separator in ("T", " "):
                yield at.isoformat(separator)[:26].encode()
            yield str(as_us(at)).encode()
            yield struct.pack("<q", as_us(at))


CANARIES = tuple(dict.fromkeys(_words()))


def canaries_in(where: str, found: bytes) -> list[str]:
    return [f"{where}: {canary!r}" for canary in CANARIES if canary in found]


# --- what is watched --------------------------------------------------------------------


@dataclass(slots=True)
class Watch:
    """All that leaves the trusted side while the service runs."""

    workspace: Workspace
    temporary: Path
    replies: list[tuple[str, bytes]] = field(default_factory=list)
    lines: io.StringIO = field(default_factory=io.StringIO)

    def hear(self, asked: str, reply: httpx.Response) -> None:
        headers = b"\n".join(name + b": " + value for name, value in reply.headers.raw)
        self.replies.append((asked, headers + b"\n" + reply.content))

    def leaks(self) -> list[str]:
        found = [leak for asked, reply in self.replies for leak in canaries_in(asked, reply)]
        found += canaries_in("a log line", self.lines.getvalue().encode())
        for path in self._files():
            found += canaries_in(path.name, path.read_bytes())
        return found

    def _files(self) -> Iterator[Path]:
        for folder in (self.workspace.root, self.temporary):
            for path in folder.rglob("*"):
                if path.is_file() and not path.name.startswith(STORE):
                    yield path


@contextmanager
def all_lines(to: io.StringIO) -> Iterator[None]:
    """Every line of every logger but the client's, tracebacks and all."""
    names = ("", "pappi.service", "uvicorn")
    before = [(each, each.handlers, each.level, each.propagate) for each in map(_logger, names)]
    everything_else = logging.StreamHandler(to)
    everything_else.addFilter(lambda record: not record.name.startswith(("httpx", "httpcore")))
    try:
        write_logs(to)
        logging.getLogger().addHandler(everything_else)
        logging.getLogger().setLevel(logging.DEBUG)
        for name in names[1:]:
            logging.getLogger(name).addHandler(everything_else)
        yield
    finally:
        logging.getLogger().removeHandler(everything_else)
        for logger, handlers, level, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(name or None)


@dataclass(frozen=True, slots=True)
class Parties:
    """An analyst and an owner, who each call their application, and what they are told."""

    watch: Watch
    addresses: Addresses
    client: httpx.Client
    key: str
    boss: str

    def analyst(self, asked: Asked, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}", **asked.call["headers"]}
        address = f"{self.addresses.analyst}{asked.path}"
        call = {**asked.call, "headers": headers}
        reply = self.client.request(asked.method, address, **call)
        self.watch.hear(f"{asked.method} {asked.path}", reply)
        return reply

    def owner(self, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.boss}"}
        address = f"{self.addresses.owner}{path}"
        return self.client.request(method, address, json=body, headers=headers)

    def shout(self, noise: bytes) -> None:
        """Something that is no HTTP."""
        place = (self.addresses.analyst.host, self.addresses.analyst.port)
        with socket.create_connection(place, timeout=60) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            heard = b"".join(iter(lambda: connection.recv(65_536), b""))
        self.watch.replies.append(("not HTTP", heard))


@pytest.fixture
def parties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parties]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    workspace = copied(tmp_path / "w", with_canaries)
    key, boss = analyst_key(workspace, "alice", {"small": "30"}), owner_key(workspace)
    watch = Watch(workspace, temporary)
    client = httpx.Client(timeout=60)
    with client, all_lines(watch.lines), listening(workspace) as addresses:
        yield Parties(watch, addresses, client, key, boss)


def with_canaries(folder: Path) -> Workspace:
    workspace = pappi.create(folder)
    for name in ("small", "hidden"):
        workspace.import_log(log_of_canaries(), name, new=TERMS)
    return workspace


def definition_of(number: int) -> Asked:
    return asks("/release", definitions((*MEASURES["mean of data"], f"unit: u{number}")))


# --- what must hold ---------------------------------------------------------------------


def ask_for_everything(parties: Parties) -> None:
    for asked in list(everything())[:: length(4, 1)]:
        assert parties.analyst(asked).status_code < 500, asked
    ask_for_nonsense(parties)


def ask_for_nonsense(parties: Parties) -> None:
    for number, text in enumerate([*sound_questions()][:: length(2, 1)] * 2):
        dice = Dice(f"canary {number}")
        changed = changed_text(changed_text(text, dice), dice)
        path = dice.one(("/check", "/preview", "/release"))
        body = json.dumps({"definitions": changed}).encode()
        assert parties.analyst(Asked("POST", path, raw=body)).status_code < 500, changed
    for raw in (b"{" * 100_000, b"x" * 3_000_000, b'{"definitions": "%s"}' % (b"a" * 1_900_000)):
        parties.analyst(Asked("POST", "/preview", raw=raw))
    for key in ("x", "pappi_" + "0" * 56, parties.boss):
        parties.analyst(Asked("GET", "/logs"), key)
    for noise in (b"HELLO\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"POST /release HTTP/1.1\r\n" * 3):
        parties.shout(noise)


def keep_the_log(parties: Parties) -> list[httpx.Response]:
    """The owner's requests, about canaries by name."""
    events = [_event(CASES + number) for number in range(5)]
    other = {**events[0], "activity": "Reject"}
    bad = {**events[1], "id": "other", "attributes": {"damage": note(CASES + 1)}}
    return [
        parties.owner("POST", "/logs/small/events", events),
        parties.owner("POST", "/logs/small/events", events),
        parties.owner("POST", "/logs/small/events", [other]),
        parties.owner("POST", "/logs/small/events", [bad]),
        parties.owner("POST", f"/logs/{case_id(1)}/events", events),
        parties.owner("POST", "/logs/small/seal", {"until": "2024-07-01"}),
        parties.owner("POST", "/logs/small/erase", {"persons": [customer(3), "nobody"]}),
        parties.owner("POST", "/logs/small/erase", {"cases": [case_id(4)]}),
        parties.owner("POST", "/exact", {"definitions": definitions(MEASURES["mean of data"])}),
    ]


def _event(number: int) -> dict[str, Any]:
    at = datetime(2024, 6, 3, tzinfo=UTC) + timedelta(hours=number)
    seen = {"customer": customer(number), "channel": note(number), "damage": amount(number)}
    name = case_id(number)
    event = {"id": f"{name}-1", "case": name, "activity": "Receive", "time": at.isoformat()}
    return {**event, "attributes": seen}


def test_nothing_that_leaves_the_store_holds_a_canary(
    parties: Parties, capfd: pytest.CaptureFixture[str]
) -> None:
    ask_for_everything(parties)
    captured, again, conflict, bad, *_, sealed, erased, case, exact = keep_the_log(parties)
    assert [each.status_code for each in (captured, again, conflict, bad)] == [200, 200, 409, 422]
    assert [each.status_code for each in (sealed, erased, exact)] == [200, 200, 200]
    assert case.status_code in (400, 422)  # of a person all cases, or none
    for asked in list(everything())[1 :: length(9, 4)]:
        parties.analyst(asked)
    watch = parties.watch
    for path in ("/metrics", "/trail", "/ledger", "/logs", "/logs/small/releases"):
        watch.hear(path, parties.owner("GET", path))
    watch.replies.append(("standard output and error", "".join(capfd.readouterr()).encode()))
    assert watch.leaks() == []
    parts = (watch.workspace.root / "events").glob("*.duckdb")
    assert any(canaries_in(part.name, part.read_bytes()) for part in parts)
    assert len(watch.replies) > length(180, 500)


def fail_in(cause: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise cause

    return fail


QUOTING = (
    duckdb.ConversionException(f"Could not convert string '{note(5)}' to DOUBLE"),
    ValueError(f"{case_id(6)} has {amount(6)!r} at {as_us(moment(6))}"),
    KeyError(customer(7)),
    MemoryError(customer(8)),
)


@pytest.mark.parametrize("cause", QUOTING, ids=lambda cause: type(cause).__name__)
def test_a_failure_that_quotes_data_is_a_fixed_sentence(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, cause: Exception
) -> None:
    with monkeypatch.context() as engine:
        engine.setattr(draw, "cases_by_period", fail_in(cause))
        assert parties.analyst(definition_of(0)).json()["code"] == "release-failed"
    with monkeypatch.context() as planner:
        planner.setattr(session, "releases_of", fail_in(cause))
        assert parties.analyst(definition_of(1)).json()["code"] == "internal"
    with monkeypatch.context() as replies:
        replies.setattr(session, "series_of", fail_in(cause))
        assert parties.analyst(definition_of(2)).json()["code"] == "internal"
    assert parties.analyst(definition_of(0)).status_code == 200
    assert parties.watch.leaks() == []
    assert type(cause).__name__ in parties.watch.lines.getvalue()


def test_a_store_that_is_damaged_or_gone_is_not_described(parties: Parties) -> None:
    workspace = parties.watch.workspace
    events = workspace.root / "events" / f"{workspace.log('small').table}-1.duckdb"
    whole = events.read_bytes()
    damaged = (b"", whole[: len(whole) // 2], whole[:4096] + bytes(len(whole) - 4096), b"x" * 5000)
    for number, content in enumerate(damaged):
        events.write_bytes(content)
        assert parties.analyst(definition_of(number)).status_code in (200, 500, 503)
    events.unlink()
    reply = parties.analyst(definition_of(9))
    assert (reply.status_code, reply.json()["code"]) == (503, "workspace")
    assert str(parties.watch.workspace.root) not in reply.text
    events.write_bytes(whole)
    assert parties.analyst(definition_of(9)).status_code == 200
    assert parties.watch.leaks() == []


def test_a_missing_ledger_is_not_described(parties: Parties) -> None:
    root = parties.watch.workspace.root
    ledger = root / "ledger.sqlite"
    aside = ledger.rename(root / "aside")
    for asked in (definition_of(0), Asked("GET", "/logs"), Asked("GET", "/logs/small/budget")):
        reply = parties.analyst(asked)
        assert reply.status_code == 503
        assert "ledger" not in reply.json()["detail"]
        assert str(root) not in reply.text
    aside.rename(ledger)
    assert parties.analyst(definition_of(0)).status_code == 200


# --- what would be caught ---------------------------------------------------------------


@pytest.fixture
def failing_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "cases_by_period", fail_in(QUOTING[0]))


@pytest.mark.usefixtures("failing_engine")
def test_a_reply_with_an_error_s_own_words_would_be_caught(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_full(error: PappiError, _audience: Audience) -> Fault:
        return Fault("internal", error.detail)

    monkeypatch.setattr(middleware, "fault_of", in_full)
    parties.analyst(definition_of(0))
    assert parties.watch.leaks()


@pytest.mark.usefixtures("failing_engine")
def test_a_log_line_with_an_error_s_own_words_would_be_caught(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_full(error: PappiError, _route: str) -> None:
        LOGGER.error("failure: %s", error.detail)

    monkeypatch.setattr(middleware, "log_failure", in_full)
    parties.analyst(definition_of(0))
    assert parties.watch.leaks()


def test_a_file_left_behind_would_be_caught(parties: Parties) -> None:
    with tempfile.NamedTemporaryFile(delete=False) as spill:
        spill.write(struct.pack("<q", as_us(moment(5))))
    assert parties.watch.leaks()
