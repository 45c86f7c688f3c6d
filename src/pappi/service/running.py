"""Both applications in one process, until it is told to stop.

Nothing that happens at the analysts' port may keep the owner from the stop switch. Each
server has an event loop and worker threads of its own, so that the owner never waits in the
analysts' line. Of the descriptors some are never given to analysts' connections. And a
loop takes few connections at a time, so that a crowd at the door cannot hold all descriptors
before anybody has counted it.

On SIGTERM or SIGINT nothing new is taken, and what is under way is finished: what was
charged is released and recorded. If that takes too long the process ends all the same; the
same request completes such a release later, at no new cost. A second SIGINT does not wait.

Opening looks at what came into the ledger since its last snapshot. The whole ledger is verified
beside the service, when it starts and now and then, on a connection of its own; as long as that
has found something wrong, every request is refused.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn

from pappi.errors import LedgerBroken, LedgerUnavailable, UsageError
from pappi.service.analyst import analyst_app
from pappi.service.connections import Allowed, guarded
from pappi.service.layers import Closed, Service, frame_of
from pappi.service.logs import log_act, log_failure, write_logs
from pappi.service.owner import owner_app
from pappi.service.settings import Settings, networks_in
from pappi.workspace import Workspace

_BACKLOG = 1_024
# Connections a loop takes before it looks at them; a few such handfuls are under way at once.
_AT_A_TIME = 16
# Descriptors that analysts' connections never get: for those under way to be counted, the
# ledger, the events and the log. The owner's connections come on top.
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
    """Leaves signals to us, who stop both servers at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio takes as many at a time as it lets wait; more may wait than are taken.
        for found in sockets or ():
            found.listen(_BACKLOG)

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
        """Does not wait for a long verification for long: it changes nothing."""
        self._ended.set()
        self._thread.join(_JOIN_SECONDS)

    def _watch(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            # What was refused is looked at again soon: it may have been put right.
            pause = self._pause if self._verifies() else min(self._pause, _AGAIN_SECONDS)

    def _verifies(self) -> bool:
        try:
            found = self._workspace.verify(self._go_on)
        except _EndedError:
            return False
        except Exception as error:  # noqa: BLE001 - told to the log, and tried again
            log_failure(error, _WATCH)
            return False
        if found.ok:
            log_act("verified", entries=found.entries)
        else:
            log_failure(LedgerBroken(found.problem), _WATCH)
        return found.ok

    def _go_on(self, _seq: int) -> None:
        if self._ended.is_set():
            raise _EndedError


class _EndedError(Exception):
    """The service ends; verifying it is broken off."""


class Running:
    """Two listening sockets and what answers on them."""

    def __init__(self, workspace: Workspace, asked: Addresses, settings: Settings) -> None:
        _refuse_broken(workspace)
        frame = frame_of(settings)
        self._closed: Closed = frame.closed
        self._workspace = workspace
        self._watch = LedgerWatch(workspace, settings.verify_hours)
        self._sockets = [_listening(address) for address in (asked.analyst, asked.owner)]
        apps = (
            analyst_app(workspace, frame=frame),
            owner_app(workspace, frame=frame),
        )
        allowed = _allowed(settings)
        self._servers = [_server(*pair, settings) for pair in zip(apps, allowed, strict=True)]
        analyst, owner = (_address(found) for found in self._sockets)
        self.addresses = Addresses(analyst, owner)

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
            for found in self._sockets:
                found.close()
            self._workspace.close()
        log_act("stopped")

    def stop(self) -> None:
        """Take nothing new and finish what is under way; asked again, do not wait."""
        again = self._closed.now
        self._closed.now = True
        for server in self._servers:
            server.should_exit = True
            server.force_exit = again

    async def _serve_owners(self, server: _Server, found: socket.socket) -> None:
        _on_signals(self.stop)
        try:
            await server.serve([found])
        finally:
            self._end()

    def _end(self, _: Future[None] | None = None) -> None:
        """Neither runs without the other: whoever watches the process starts both again."""
        for server in self._servers:
            server.should_exit = True


def serve(
    workspace: Workspace,
    asked: Addresses,
    settings: Settings,
    tell: Callable[[Addresses], None],
) -> None:
    """Run both applications; `tell` is called once both listen."""
    write_logs()
    # Verifying computes for long without a pause: nobody is to wait for their turn beside it.
    sys.setswitchinterval(_TURN_SECONDS)
    running = Running(workspace, asked, settings)
    tell(running.addresses)
    running.run()


def _refuse_broken(workspace: Workspace) -> None:
    """Not even begin with a ledger that is damaged; one that is out of reach may come back."""
    try:
        workspace.logs()
    except LedgerBroken:
        raise
    except LedgerUnavailable as error:
        log_failure(error, _WATCH)


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        # Not in a thread other than the main one, and not on Windows.
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(name, stop)


def _allowed(settings: Settings) -> tuple[Allowed, Allowed]:
    """What connections of analysts and of the owner may do."""
    given, proxies = settings, networks_in(settings.trusted_proxies)
    analysts = min(given.analyst_connections, room_for(descriptors(), given.owner_connections))
    owners = given.owner_connections
    times = given.head_seconds, given.reply_seconds
    return (
        Allowed(analysts, given.address_connections, *times, proxies),
        Allowed(owners, owners, *times, proxies),
    )


def room_for(descriptors: int, owners: int) -> int:
    """How many connections analysts may have of so many descriptors.

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
    """Bound before anything is said to run: a port in use is one clear sentence."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named: else asyncio leaves Nagle's algorithm on, and replies 40 ms late.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address.host, address.port))
        found.listen(_BACKLOG)
    except (OSError, OverflowError):
        found.close()
        raise UsageError(
            f"{address.host} port {address.port} cannot be used",
            hint="choose other ports with --analyst-port and --owner-port",
        ) from None
    return found


def _address(found: socket.socket) -> Address:
    name: Sequence[object] = found.getsockname()
    return Address(str(name[0]), int(str(name[1])))
