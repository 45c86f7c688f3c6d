"""What a connection must keep to before there is a request: in time, in number, in form.

uvicorn waits for ever for the rest of a request's head, and takes every connection it is
offered. Whoever opens a thousand and says half a word on each would hold all descriptors of
the process. Here a head has a time to arrive in, an idle connection a time to be used again,
and connections are limited: in all, and per address. What is beyond is told to come later.

How a message is framed must be read by everybody in the same way (RFC 9112, 2.2, 5.2, 6.1):
a proxy that sees one request where we see two can be made to pass on what it would not.
So a head with two framings, a line that ends in LF alone or a folded line is refused, and so
are fields after a body, which would have to be read as carefully, and other versions of HTTP.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pappi.service.logs import log_refused
from pappi.service.problems import MEDIA_TYPE, Fault
from pappi.service.settings import Network

_END_OF_HEAD = re.compile(rb"\n\r?\n")
_SLOPPY = re.compile(rb"(?<!\r)\n|\n[ \t]")
_LONGEST_HEAD = 16_384
_BUSY = Fault(
    "busy",
    "too many connections are open",
    "close some, or come again",
    headers={"Retry-After": "2"},
)
_MALFORMED = Fault("malformed", "the request cannot be read")
_SLOW = Fault("too-slow", "the head of a request took too long to arrive")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the connections of one server may do.

    Behind a proxy everybody comes from its address: it counts in all, not per address.
    """

    most: int
    most_per_address: int
    head_seconds: float
    reply_seconds: float
    proxies: tuple[Network, ...] = ()

    def reason_against(self, address: str, everyone: list[str]) -> str:
        """Why a connection from an address cannot be had beside those that are open."""
        if len(everyone) >= self.most:
            return "connections in all"
        if everyone.count(address) >= self.most_per_address and not self._is_proxy(address):
            return "connections of one address"
        return ""

    def _is_proxy(self, address: str) -> bool:
        return bool(address) and any(_parsed(address) in network for network in self.proxies)


@lru_cache(maxsize=1_024)
def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(address)


class StrictConnection(h11.Connection):
    """Reads only what can be read in one way."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, _LONGEST_HEAD)
        self._unread = b""
        self._chunked = False

    def receive_data(self, data: bytes) -> None:
        super().receive_data(data)
        self._unread = self.trailing_data[0]

    def next_event(self) -> Any:  # noqa: ANN401 - as h11 has it
        if self.their_state is h11.IDLE:
            _require_plain(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunked = _is_chunked(event)
        elif isinstance(event, h11.EndOfMessage) and self._chunked:
            end = len(self._unread) - len(self.trailing_data[0])
            if event.headers or not self._unread.endswith(b"\r\n", 0, end):
                raise h11.RemoteProtocolError("something after the last chunk")
        return event


def _is_chunked(request: h11.Request) -> bool:
    """How a body is framed, if everybody sees it so."""
    names = {bytes(name) for name, _ in request.headers}
    chunked = b"transfer-encoding" in names
    if chunked and (b"content-length" in names or request.http_version != b"1.1"):
        raise h11.RemoteProtocolError("two framings")
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("another version of HTTP")
    return chunked


def _require_plain(received: bytes) -> None:
    """Of a head that is complete: every line ends in CRLF, and none goes on in the next.

    h11 limits what has come of a head that is not complete; this does, however it has come.
    """
    end = _END_OF_HEAD.search(received)
    if end is None:
        return
    if end.end() > _LONGEST_HEAD or _SLOPPY.search(received, 0, end.end()):
        raise h11.RemoteProtocolError("a head too long, or a line that can be read in two ways")


class _Timer:
    """Something to be done later, once, unless it is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def runs(self) -> bool:
        return self._handle is not None

    def start(self, seconds: float, then: Callable[[], None]) -> None:
        self.cancel()
        self._handle = self._loop.call_later(seconds, then)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class GuardedConnection(H11Protocol):
    """uvicorn's protocol, with an end to every wait and a limit to every number."""

    allowed: Allowed

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*given, **named)
        self.conn = StrictConnection()
        self._head_due = _Timer(self.loop)
        self._reply_due = _Timer(self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        others = [_address(one) for one in self.connections]
        super().connection_made(transport)
        reason = self.allowed.reason_against(_address(self), others)
        if reason:
            log_refused(reason, _address(self))
            self._end_with(_BUSY)
        else:
            self._mind_the_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_due.cancel()
        self._reply_due.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._mind_the_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._mind_the_head()
        if self.transport.is_closing():  # which waits until the last of the reply was read
            self._mind_the_reply()

    def _mind_the_head(self) -> None:
        """A deadline from the first moment without a request under way; bytes do not move it.

        A connection that waits in between two requests has the time to be used again instead.
        """
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way or self.timeout_keep_alive_task is not None or self.transport.is_closing():
            self._head_due.cancel()
        elif not self._head_due.runs:
            self._head_due.start(self.allowed.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        log_refused("head too slow", _address(self))
        # Whoever has not said anything is not waiting for a reply either.
        self._end_with(_SLOW if self.conn.trailing_data[0] else None)

    def pause_writing(self) -> None:
        """The other side does not read its reply: that, too, has to end."""
        super().pause_writing()
        self._mind_the_reply()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._reply_due.cancel()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._mind_the_reply()

    def _mind_the_reply(self) -> None:
        self._reply_due.start(self.allowed.reply_seconds, self.transport.abort)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn calls it
        """In the form of every failure."""
        self._end_with(_MALFORMED)

    def _end_with(self, fault: Fault | None) -> None:
        """A last word, where none was said yet, and no waiting until it was heard."""
        self._head_due.cancel()
        if fault is not None and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_last_word(fault))
        self.transport.close()
        self._mind_the_reply()


def guarded(allowed: Allowed) -> type[GuardedConnection]:
    """The protocol of one server."""

    class Guarded(GuardedConnection):
        pass

    Guarded.allowed = allowed
    return Guarded


def _address(connection: object) -> str:
    client = getattr(connection, "client", None)
    return str(client[0]) if client else ""


def _last_word(fault: Fault) -> bytes:
    body = json.dumps(fault.record()).encode("ascii")
    headers = {
        "Content-Type": MEDIA_TYPE,
        "Content-Length": len(body),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
        **fault.headers,
    }
    first = f"HTTP/1.1 {fault.status} {HTTPStatus(fault.status).phrase}"
    lines = (first, *(f"{name}: {value}" for name, value in headers.items()), "", "")
    return "\r\n".join(lines).encode("ascii") + body
