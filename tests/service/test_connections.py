"""Connections come to an end, in number and in time; and a request can be read in one way."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import h11
import pytest

from pappi.errors import UsageError
from pappi.service import Address, Addresses, Settings, running
from pappi.service.running import Allowed
from pappi.service.settings import networks_in
from tests.service.served import QUICK, served
from tests.service.serving import listening

PATIENCE = 60.0
# Each test waits for one deadline; the others are far away, however busy the machine is.
PATIENT = replace(QUICK, head_seconds=PATIENCE, idle_seconds=60, reply_seconds=PATIENCE)
HURRIED = replace(PATIENT, head_seconds=0.3)
ANSWERED = replace(PATIENT, head_seconds=3.0)
UNUSED = replace(PATIENT, idle_seconds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connections")


@contextmanager
def serving(tmp_path: Path, settings: Settings) -> Iterator[Addresses]:
    with listening(served(tmp_path).workspace, settings) as addresses:
        yield addresses


def connected(to: Address) -> socket.socket:
    return socket.create_connection((to.host, to.port), PATIENCE)


def heard(connection: socket.socket) -> bytes:
    """Everything until the other side closes; a time-out is a failure of the test."""
    found = bytearray()
    while piece := connection.recv(65_536):
        found += piece
    return bytes(found)


def statuses(reply: bytes) -> list[int]:
    return [int(part[:3]) for part in reply.split(b"HTTP/1.1 ")[1:]]


def told(to: Address, request: bytes) -> bytes:
    with connected(to) as connection:
        connection.sendall(request)
        return heard(connection)


# --- in time ------------------------------------------------------------------------------


def test_half_a_head_is_ended_with_a_reply(tmp_path: Path) -> None:
    with serving(tmp_path, HURRIED) as addresses:
        for to in (addresses.analyst, addresses.owner):
            reply = told(to, b"GET /health HTTP/1.1\r\nHost: pap")
            assert statuses(reply) == [408]
            body = reply.split(b"\r\n\r\n", 1)[1]
            assert json.loads(body)["code"] == "too-slow"


def test_silence_is_ended_without_one(tmp_path: Path) -> None:
    with serving(tmp_path, HURRIED) as addresses:
        assert told(addresses.analyst, b"") == b""


def test_a_connection_that_is_not_used_again_is_ended(tmp_path: Path) -> None:
    with serving(tmp_path, UNUSED) as addresses:
        assert statuses(told(addresses.analyst, b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n")) == [
            200
        ]


def test_a_second_head_has_a_deadline_too(tmp_path: Path) -> None:
    """A byte ends the time to be used again: it must not end all waiting."""
    with serving(tmp_path, ANSWERED) as addresses, connected(addresses.analyst) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n")
        first = connection.recv(65_536)
        connection.sendall(b"GET /hea")
        assert statuses(first + heard(connection)) == [200, 408]


def test_a_body_that_goes_on_after_its_reply_is_ended(tmp_path: Path) -> None:
    with serving(tmp_path, ANSWERED) as addresses, connected(addresses.analyst) as connection:
        connection.sendall(b"POST /release HTTP/1.1\r\nHost: p\r\nContent-Length: 9999\r\n\r\nx")
        first = connection.recv(65_536)
        connection.sendall(b"x")
        assert statuses(first + heard(connection)) == [401]


def test_requests_one_behind_the_other_are_answered_in_turn(tmp_path: Path) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n"
    with serving(tmp_path, UNUSED) as addresses:
        assert statuses(told(addresses.analyst, one * 3)) == [200, 200, 200]


# --- in number ----------------------------------------------------------------------------


def test_what_is_beyond_the_limit_is_told_to_come_later_and_the_owner_is_not(
    tmp_path: Path,
) -> None:
    few = replace(PATIENT, analyst_connections=3)
    with serving(tmp_path, few) as addresses:
        held = [connected(addresses.analyst) for _ in range(3)]
        try:
            for connection in held:  # each is taken once it is answered
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n")
                assert statuses(connection.recv(65_536)) == [200]
            assert statuses(told(addresses.analyst, b"")) == [503]
            closing = b"GET /health HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n"
            assert statuses(told(addresses.owner, closing)) == [200]
        finally:
            for connection in held:
                connection.close()


def test_one_address_has_a_share_and_a_trusted_proxy_all_of_it() -> None:
    allowed = Allowed(4, 2, 1.0, 1.0, networks_in("10.0.0.0/30"))
    here, proxy = "10.9.9.9", "10.0.0.2"
    assert not allowed.reason_against(here, [here])
    assert allowed.reason_against(here, [here, here]) == "connections of one address"
    assert not allowed.reason_against("10.9.9.8", [here, here])
    assert not allowed.reason_against(proxy, [proxy] * 3)
    assert allowed.reason_against(proxy, [proxy] * 4) == "connections in all"
    assert not allowed.reason_against("", [])


def test_the_share_of_an_address_holds_on_the_wire(tmp_path: Path) -> None:
    no_proxy = replace(PATIENT, address_connections=1, trusted_proxies="10.0.0.1")
    with serving(tmp_path, no_proxy) as addresses, connected(addresses.analyst) as first:
        first.sendall(b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n")
        assert statuses(first.recv(65_536)) == [200]
        assert statuses(told(addresses.analyst, b"")) == [503]


def test_what_is_no_address_of_a_proxy_is_refused() -> None:
    with pytest.raises(UsageError, match="not the address of a proxy"):
        Settings(trusted_proxies="*")


# --- in form ------------------------------------------------------------------------------

BEHIND = b"GET /health HTTP/1.1\r\nHost: p\r\n\r\n"
CHUNKED = b"POST /check HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n"
TWO_WAYS = {
    "two framings": b"POST /check HTTP/1.1\r\nHost: p\r\nContent-Length: 4\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two framings, in other letters": b"POST /check HTTP/1.1\r\nHost: p\r\n"
    b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /check HTTP/1.1\r\nHost: p\r\nContent-Length: 4\r\n"
    b"Content-Length: 5\r\n\r\nabcd",
    "lines that end in LF": b"GET /health HTTP/1.1\nHost: p\n\n",
    "one line that ends in LF": b"GET /health HTTP/1.1\r\nHost: p\nX: y\r\n\r\n",
    "an end in LF": b"GET /health HTTP/1.1\r\nHost: p\r\n\n",
    "a folded header": b"GET /health HTTP/1.1\r\nHost: p\r\nX: y\r\n  z\r\n\r\n",
    "a header folded with a tab": b"GET /health HTTP/1.1\r\nHost: p\r\nX: y\r\n\tz\r\n\r\n",
    "an unknown framing": b"POST /check HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "a blank before the colon": b"GET /health HTTP/1.1\r\nHost : p\r\n\r\n",
    "a chunked body before there were any": b"POST /check HTTP/1.0\r\nHost: p\r\n"
    b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a field after the body": CHUNKED + b"1\r\nx\r\n0\r\nX: y\r\n\r\n",
    "… that ends in LF": CHUNKED + b"0\r\nX: y\n\n",
    "a body that ends in LF": CHUNKED + b"0\r\n\n",
    "a version that has other frames": b"GET /health HTTP/2.0\r\nHost: p\r\n\r\n",
    "a head too long": b"GET /health HTTP/1.1\r\nHost: p\r\nX: " + b"y" * 17_000 + b"\r\n\r\n",
}


@pytest.fixture(scope="module")
def analyst(folder: Path) -> Iterator[Address]:
    with serving(folder, UNUSED) as addresses:
        yield addresses.analyst


@pytest.mark.parametrize("request_", TWO_WAYS.values(), ids=TWO_WAYS.keys())
def test_what_can_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_read(
    analyst: Address, request_: bytes
) -> None:
    reply = told(analyst, request_ + BEHIND)
    assert statuses(reply) in ([400], [501])
    assert b'"code": "malformed"' in reply or b'"code":"malformed"' in reply


def test_that_also_holds_for_the_second_request_of_a_connection(analyst: Address) -> None:
    assert statuses(told(analyst, BEHIND + TWO_WAYS["a folded header"] + BEHIND)) == [200, 400]


def test_lf_in_a_body_is_not_a_line_end_of_the_head(analyst: Address) -> None:
    body = b"a\n\nb\n c"
    head = f"POST /check HTTP/1.1\r\nHost: p\r\nContent-Length: {len(body)}\r\n\r\n"
    closing = BEHIND.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert statuses(told(analyst, head.encode() + body + closing)) == [401, 200]


@pytest.mark.parametrize("body", [b"0\r\n\r\n", b"2;x=y\r\nab\r\n0\r\n\r\n"])
def test_chunks_in_any_pieces_are_read(analyst: Address, body: bytes) -> None:
    closing = BEHIND.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with connected(analyst) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in CHUNKED + body:
            connection.sendall(bytes([byte]))
        connection.sendall(closing)
        assert statuses(heard(connection)) == [401, 200]


def test_without_the_strict_reading_the_second_request_would_be_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "StrictConnection", lambda: h11.Connection(h11.SERVER))
    closing = BEHIND.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with serving(tmp_path, QUICK) as addresses:
        for name in (
            "two framings",
            "lines that end in LF",
            "a folded header",
            "… that ends in LF",
            "a body that ends in LF",
            "a head too long",
        ):
            assert len(statuses(told(addresses.analyst, TWO_WAYS[name] + closing))) == 2
