"""Both applications in one process, until it is told to stop.

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
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn

from pappi.errors import LedgerBroken, LedgerUnavailable, UsageError
from pappi.service.analyst import analyst_app
from pappi.service.layers import Closed, Service, frame_of
from pappi.service.logs import log_act, log_failure, write_logs
from pappi.service.owner import owner_app
from pappi.service.settings import Settings
from pappi.workspace import Workspace

_BACKLOG = 1_024
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
        self._servers = [_server(app, settings) for app in apps]
        analyst, owner = (_address(found) for found in self._sockets)
        self.addresses = Addresses(analyst, owner)

    def run(self) -> None:
        """Serve until `stop`, or a signal."""
        self._watch.start()
        try:
            asyncio.run(self._serve())
        finally:
            self._watch.end()
            for found in self._sockets:
                found.close()
            self._workspace.close()

    def stop(self) -> None:
        """Take nothing new and finish what is under way; asked again, do not wait."""
        again = self._closed.now
        self._closed.now = True
        for server in self._servers:
            server.should_exit = True
            server.force_exit = again

    async def _serve(self) -> None:
        _on_signals(self.stop)
        log_act("started", analyst=self.addresses.analyst.port, owner=self.addresses.owner.port)
        pairs = zip(self._servers, self._sockets, strict=True)
        await asyncio.gather(*(server.serve([found]) for server, found in pairs))
        log_act("stopped")


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


def _server(app: Service, settings: Settings) -> _Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
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
