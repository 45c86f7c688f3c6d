"""Half-sent requests without end on the analysts' port leave the owner the stop switch.

`pappi serve` runs as a process of its own with few descriptors; more connections than that each
say half a head and wait. The twin shows what the limits are for.
"""

from __future__ import annotations

import json
import re
import resource
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from pappi.service import Settings
from pappi.service.running import room_for
from tests.lengths import length
from tests.service.served import served

CROWD = length(560, 1_100)
DESCRIPTORS = length(512, 1_024)
PATIENCE = 60.0
MOST = room_for(DESCRIPTORS, Settings().owner_connections)
# The command, with so many descriptors and so much time for a head; {planted} is a fault, or
# nothing.
SERVE = """
import functools, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))
from pappi import service
from pappi.cli.owner import serve
service.Settings = functools.partial(service.Settings, head_seconds={head_seconds})
{planted}
serve.main(sys.argv[1:], standalone_mode=False)
"""
NO_LIMITS = """
from pappi.service.running import Allowed, GuardedConnection
Allowed.reason_against = lambda *_: ""
GuardedConnection._too_slow = lambda *_: None
"""


@dataclass(frozen=True, slots=True)
class Besieged:
    analyst: str
    owner: str
    key: str
    log: Path

    def stop(self, seconds: float) -> None:
        """Use the owner's stop switch."""
        reply = httpx.post(
            f"{self.owner}/stop",
            json={"reason": "a siege"},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=seconds,
        )
        assert reply.json() == {"stopped": True, "reason": "a siege"}

    def written(self) -> str:
        return self.log.read_text(encoding="utf-8")


@contextmanager
def besieged(folder: Path, head_seconds: float, planted: str = "") -> Iterator[Besieged]:
    service = served(folder)
    key, log = service.boss, folder / "log"
    code = SERVE.format(descriptors=DESCRIPTORS, head_seconds=head_seconds, planted=planted)
    given = ["--analyst-port", "0", "--owner-port", "0", "-w", str(service.workspace.root)]
    with (
        log.open("wb") as lines,
        subprocess.Popen(
            [sys.executable, "-c", code, *given], stdout=subprocess.PIPE, stderr=lines, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(2)]
            analyst, owner = (re.findall(r"http://\S+", line)[0] for line in said)
            yield Besieged(analyst, owner, key, log)
        finally:
            process.kill()


@pytest.fixture
def room_for_a_crowd() -> Iterator[None]:
    """This process has the other end of every connection."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 2 * CROWD:
        pytest.skip(f"the system gives this process {before[1]} descriptors")
    if before[0] < 2 * CROWD:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * CROWD, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def crowd_at(url: str) -> Iterator[list[socket.socket]]:
    """So many connections that have each said half a head."""
    place = httpx.URL(url)
    crowd: list[socket.socket] = []
    try:
        for _ in range(CROWD):
            one = socket.create_connection((place.host, place.port or 80), PATIENCE)
            crowd.append(one)
            one.sendall(b"GET /health HTTP/1.1\r\nHost: p")
            one.settimeout(0)
        yield crowd
    finally:
        for one in crowd:
            one.close()


def closed(crowd: list[socket.socket], seconds: float, enough: int = CROWD) -> int:
    """How many the other side has ended, once it is enough or the time is over."""
    over = time.monotonic() + seconds
    with selectors.DefaultSelector() as watched:
        for one in crowd:
            watched.register(one, selectors.EVENT_READ)
        while len(crowd) - len(watched.get_map()) < enough and time.monotonic() < over:
            for ready, _ in watched.select(0.2):
                connection: Any = ready.fileobj
                if _ended(connection):
                    watched.unregister(connection)
        return len(crowd) - len(watched.get_map())


def _ended(connection: socket.socket) -> bool:
    try:
        return not connection.recv(65_536)
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.usefixtures("room_for_a_crowd")
def test_the_stop_switch_works_while_a_crowd_holds_the_analysts_port(tmp_path: Path) -> None:
    with (
        besieged(tmp_path, head_seconds=100 * PATIENCE) as service,
        crowd_at(service.analyst) as crowd,
    ):
        assert closed(crowd, PATIENCE, enough=CROWD - MOST) == CROWD - MOST
        service.stop(PATIENCE)
        assert closed(crowd, 0.5) == CROWD - MOST, "the crowd is there all the time"
        _assert_little_is_written(service.written())


@pytest.mark.usefixtures("room_for_a_crowd")
def test_a_crowd_is_sent_away_and_others_are_answered_again(tmp_path: Path) -> None:
    with besieged(tmp_path, head_seconds=2) as service, crowd_at(service.analyst) as crowd:
        assert closed(crowd, PATIENCE) == CROWD
        assert httpx.get(f"{service.analyst}/health", timeout=PATIENCE).status_code == 200
        _assert_little_is_written(service.written())


def _assert_little_is_written(lines: str) -> None:
    assert len(lines) < 1_000_000
    events = [json.loads(line)["event"] for line in lines.splitlines()]
    assert set(events) <= {"started", "verified", "refused", "request"}


@pytest.mark.usefixtures("room_for_a_crowd")
def test_without_limits_the_crowd_would_hold_every_descriptor(tmp_path: Path) -> None:
    with besieged(tmp_path, 2, NO_LIMITS) as service, crowd_at(service.analyst) as crowd:
        over = time.monotonic() + PATIENCE
        while '"code": "EMFILE"' not in service.written() and time.monotonic() < over:
            time.sleep(0.05)
        assert '"code": "EMFILE"' in service.written()
        with pytest.raises(httpx.TimeoutException):
            service.stop(3.0)
        assert closed(crowd, 0.5) == 0
        assert len(service.written()) < 1_000_000  # the lines are paced all the same
