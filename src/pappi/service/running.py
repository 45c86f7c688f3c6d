"""Both applications in one process, until it is told to stop.

Nothing that happens at the analysts' port may keep the owner from the stop switch. Each
server has an event loop and worker threads of its own, so that the owner never queues behind
analysts. Some file descriptors are never given to analysts' connections. And a loop accepts
few connections at a time, so that a crowd cannot take all descriptors before it is counted.

On SIGTERM or SIGINT no new requests are accepted, and those under way are finished: what was
charged is released and recorded. If that takes too long the process ends anyway; the same
request completes such a release later, at no new cost. A second SIGINT does not wait.

Opening checks what was added to the ledger since its last snapshot. The whole ledger is verified
in the background, at the start and at intervals, on a connection of its own; as long as something
is wrong, every request is refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pappi.errors import LedgerBroken, LedgerUnavailable, UsageError
from pappi.service.analyst import analyst_app
from pappi.service.middleware import Service, frame_of
from pappi.service.owner import owner_app
from pappi.service.problems import MEDIA_TYPE, Fault
from pappi.service.settings import Network, Settings, networks_in
from pappi.service.telemetry import log_act, log_failure, log_refused, write_logs
from pappi.session import Workspace

_BACKLOG = 1_024
# Connections a loop accepts before it handles them; a few such batches are under way at once.
_AT_A_TIME = 16
# Descriptors that analysts' connections never get: for connections not counted yet, the ledger,
# the events and the log. The owner's connections are extra.
_RESERVED = 156
_WATCH = "ledger"
_AGAIN_SECONDS = 60.0
_JOIN_SECONDS = 5.0
_TURN_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class Address:
    """Where an application listens; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Addresses:
    analyst: Address
    owner: Address


class _Server(uvicorn.Server):
    """Leaves signals to `Running`, which stops both servers at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio accepts as many at a time as its backlog; the socket's own may be longer.
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class LedgerWatch:
    """Verifies the whole ledger at once and then at intervals, until it is ended."""

    def __init__(self, workspace: Workspace, hours: float) -> None:
        self._workspace = workspace
        self._pause = hours * 3_600
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="ledger-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Waits only briefly for a verification under way: it changes nothing."""
        self._ended.set()
        self._thread.join(_JOIN_SECONDS)

    def _watch(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            # A failed verification is repeated soon: it may have been repaired.
            pause = self._pause if self._verifies() else min(self._pause, _AGAIN_SECONDS)

    def _verifies(self) -> bool:
        try:
            verified = self._workspace.verify(self._go_on)
        except _EndedError:
            return False
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(error, _WATCH)
            return False
        if verified.ok:
            log_act("verified", entries=verified.entries)
        else:
            log_failure(LedgerBroken(verified.problem), _WATCH)
        return verified.ok

    def _go_on(self, _seq: int) -> None:
        if self._ended.is_set():
            raise _EndedError


class _EndedError(Exception):
    """The service ends, so verifying stops."""


class Running:
    """Two listening sockets and their servers."""

    def __init__(self, workspace: Workspace, addresses: Addresses, settings: Settings) -> None:
        try:
            workspace.logs()
        except LedgerBroken:
            raise
        except LedgerUnavailable as error:  # out of reach: it may come back
            log_failure(error, _WATCH)
        frame = frame_of(settings)
        self._closed = frame.closed
        self._workspace = workspace
        self._watch = LedgerWatch(workspace, settings.verify_hours)
        self._sockets = [_listening(address) for address in (addresses.analyst, addresses.owner)]
        apps = analyst_app(workspace, frame=frame), owner_app(workspace, frame=frame)
        allowed = _allowed(settings)
        self._servers = [_server(*pair, settings) for pair in zip(apps, allowed, strict=True)]
        names = [listening.getsockname() for listening in self._sockets]
        self.addresses = Addresses(*(Address(str(name[0]), int(name[1])) for name in names))

    def run(self) -> None:
        """Serve until `stop`, or a signal."""
        analysts, owners = zip(self._servers, self._sockets, strict=True)
        log_act("started", analyst=self.addresses.analyst.port, owner=self.addresses.owner.port)
        self._watch.start()
        try:
            with ThreadPoolExecutor(1, "analysts") as pool:
                served = pool.submit(lambda: asyncio.run(analysts[0].serve([analysts[1]])))
                served.add_done_callback(self._end)
                asyncio.run(self._serve_owners(*owners))
                served.result()
        finally:
            self._watch.end()
            for listening in self._sockets:
                listening.close()
            self._workspace.close()
        log_act("stopped")

    def stop(self) -> None:
        """Accept nothing new and finish what is under way; called again, do not wait."""
        again = self._closed.is_set()
        self._closed.set()
        for server in self._servers:
            server.should_exit = True
            server.force_exit = again

    async def _serve_owners(self, server: _Server, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            # Not in a thread other than the main one, and not on Windows.
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(name, self.stop)
        try:
            await server.serve([listening])
        finally:
            self._end()

    def _end(self, _: Future[None] | None = None) -> None:
        """Neither server runs without the other: a supervisor restarts both."""
        for server in self._servers:
            server.should_exit = True


def serve(
    workspace: Workspace,
    addresses: Addresses,
    settings: Settings,
    tell: Callable[[Addresses], None],
) -> None:
    """Run both applications; `tell` is called once both listen."""
    write_logs()
    # Verifying computes for long without a pause: other threads must get their turn.
    sys.setswitchinterval(_TURN_SECONDS)
    running = Running(workspace, addresses, settings)
    tell(running.addresses)
    running.run()


def _allowed(settings: Settings) -> tuple[Allowed, Allowed]:
    """What connections of analysts and of the owner may do."""
    owners = settings.owner_connections
    analysts = min(settings.analyst_connections, room_for(descriptors(), owners))
    common = settings.head_seconds, settings.reply_seconds, networks_in(settings.trusted_proxies)
    return Allowed(analysts, settings.address_connections, *common), Allowed(
        owners, owners, *common
    )


def room_for(descriptors: int, owners: int) -> int:
    """How many of the descriptors analysts may use for connections.

    >>> room_for(1_024, 100), room_for(65_536, 100), room_for(256, 100)
    (768, 65280, 64)
    """
    return max(descriptors - owners - _RESERVED, descriptors // 4)


def descriptors() -> int:
    """How many this process may have open."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows, where they are not counted so
        return 1 << 20
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else limit


def _server(app: Service, allowed: Allowed, settings: Settings) -> _Server:
    config = uvicorn.Config(
        app,
        http=guarded(allowed),
        ws="none",
        backlog=_AT_A_TIME,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        lifespan="off",
    )
    return _Server(config)


def _listening(address: Address) -> socket.socket:
    """Bound before the service is said to run, so that a port in use is one clear error."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named: otherwise asyncio leaves Nagle's algorithm on, which costs 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError):
        listening.close()
        raise UsageError(
            f"{address.host} port {address.port} cannot be used",
            hint="choose other ports with --analyst-port and --owner-port",
        ) from None
    return listening


# --- limits on connections before there is a request: time, number, form ----------------------
#
# uvicorn waits for ever for the rest of a request's head, and accepts every connection. Whoever
# opens a thousand and sends half a line on each would hold all descriptors of the process. Here a
# head must arrive in time, an idle connection must be used again in time, and connections are
# limited: in all, and per address. Others must try again later.
#
# Everybody must read the framing of a message in the same way (RFC 9112, 2.2, 5.2, 6.1): a proxy
# that sees one request where we see two can be made to pass on what it should not.
# So a head with two framings, a line that ends in LF alone or a folded line is refused, and so
# are fields after a body, which would need the same care, and other versions of HTTP.

_END_OF_HEAD = re.compile(rb"\n\r?\n")
_SLOPPY = re.compile(rb"(?<!\r)\n|\n[ \t]")
_LONGEST_HEAD = 16_384
_BUSY = Fault(
    "busy",
    "too many connections are open",
    "close some, or try again later",
    headers={"Retry-After": "2"},
)
_MALFORMED = Fault("malformed", "the request cannot be read")
_SLOW = Fault("too-slow", "the request header took too long to arrive")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the connections of one server may do.

    Connections through a trusted proxy all have its address, so they count only in all.
    """

    most: int
    most_per_address: int
    head_seconds: float
    reply_seconds: float
    proxies: tuple[Network, ...] = ()

    def reason_against(self, address: str, everyone: list[str]) -> str:
        """Why another connection from an address is not allowed; empty if it is."""
        if len(everyone) >= self.most:
            return "connections in all"
        proxy = address and any(_ip_address(address) in network for network in self.proxies)
        if everyone.count(address) >= self.most_per_address and not proxy:
            return "connections of one address"
        return ""


_ip_address = lru_cache(maxsize=1_024)(ipaddress.ip_address)


class StrictConnection(h11.Connection):
    """Accepts only what can be read in one way."""

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
            names = {bytes(name) for name, _ in event.headers}
            chunked = b"transfer-encoding" in names
            if chunked and (b"content-length" in names or event.http_version != b"1.1"):
                raise h11.RemoteProtocolError("two framings")
            if event.http_version not in (b"1.0", b"1.1"):
                raise h11.RemoteProtocolError("another version of HTTP")
            self._chunked = chunked
        elif isinstance(event, h11.EndOfMessage) and self._chunked:
            end = len(self._unread) - len(self.trailing_data[0])
            if event.headers or not self._unread.endswith(b"\r\n", 0, end):
                raise h11.RemoteProtocolError("something after the last chunk")
        return event


def _require_plain(received: bytes) -> None:
    """Refuse a complete head with a line that is folded or does not end in CRLF.

    h11 limits the length of an incomplete head; this limits that of a complete one.
    """
    end = _END_OF_HEAD.search(received)
    if end is None:
        return
    if end.end() > _LONGEST_HEAD or _SLOPPY.search(received, 0, end.end()):
        raise h11.RemoteProtocolError("a head too long, or a line that can be read in two ways")


class _Timer:
    """A callback that runs once, later, unless it is cancelled."""

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
    """uvicorn's protocol, with a limit on every wait and every number."""

    allowed: Allowed

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection()
        self._head_due = _Timer(self.loop)
        self._reply_due = _Timer(self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peers = [_peer(connection) for connection in self.connections]
        super().connection_made(transport)
        reason = self.allowed.reason_against(_peer(self), peers)
        if reason:
            log_refused(reason, _peer(self))
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
        if self.transport.is_closing():  # which waits until all of the reply is read
            self._mind_the_reply()

    def _mind_the_head(self) -> None:
        """A deadline from the moment no request is under way; further bytes do not move it.

        Between two requests the idle time applies instead.
        """
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way or self.timeout_keep_alive_task is not None or self.transport.is_closing():
            self._head_due.cancel()
        elif not self._head_due.runs:
            self._head_due.start(self.allowed.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        log_refused("head too slow", _peer(self))
        # A client that has sent nothing does not wait for a reply either.
        self._end_with(_SLOW if self.conn.trailing_data[0] else None)

    def pause_writing(self) -> None:
        """The other side does not read its reply: there is a deadline for that, too."""
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
        """Send a last reply, unless one has begun, and close without waiting for it to be read."""
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


def _peer(connection: object) -> str:
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
