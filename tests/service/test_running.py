"""Both applications run together, and stopping finishes what was begun."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from pappi.checkpoint import LocalSession, Released
from pappi.errors import UsageError
from pappi.service import Address, Addresses
from pappi.service.running import Running
from tests.service.served import LOG, QUICK, SOJOURN, served

PATIENCE = 120.0
ANYWHERE = Addresses(Address("127.0.0.1", 0), Address("127.0.0.1", 0))


@contextmanager
def running_in_a_thread(running: Running) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        yield thread
    finally:
        running.stop()
        thread.join(PATIENCE)


def test_stopping_finishes_what_is_under_way_and_takes_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    release = LocalSession.release

    def slowly(session: LocalSession, *given: Any, **named: Any) -> Released:  # noqa: ANN401
        series = release(session, *given, **named)
        begun.set()
        assert go_on.wait(PATIENCE)
        return series

    monkeypatch.setattr(LocalSession, "release", slowly)
    running = Running(service.workspace, ANYWHERE, QUICK)
    url, headers = str(running.addresses.analyst), {"Authorization": f"Bearer {service.alice}"}
    with (
        running_in_a_thread(running) as thread,
        httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as open_before,
        ThreadPoolExecutor() as pool,
    ):
        assert open_before.get("/ready").status_code == 200
        asked = {"definitions": SOJOURN}
        under_way = pool.submit(
            httpx.post, f"{url}/release", json=asked, headers=headers, timeout=PATIENCE
        )
        assert begun.wait(PATIENCE)
        running.stop()
        assert refused(open_before)
        go_on.set()
        assert under_way.result(PATIENCE).status_code == 200
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert all(one.released_at for one in service.workspace.custody.charges(LOG))


def refused(client: httpx.Client) -> bool:
    """Told to come later, or not even listened to."""
    try:
        reply = client.get("/logs")
    except httpx.TransportError:
        return True
    return reply.status_code == 503 and reply.json()["code"] == "stopping"


def test_a_port_in_use_is_one_clear_sentence(tmp_path: Path) -> None:
    service = served(tmp_path)
    first = Running(service.workspace, ANYWHERE, QUICK)
    taken = Addresses(first.addresses.analyst, Address("127.0.0.1", 0))
    with pytest.raises(UsageError, match=f"port {first.addresses.analyst.port} cannot be used"):
        Running(service.workspace, taken, QUICK)
    for found in first._sockets:
        found.close()


def test_replies_are_not_held_back_by_the_network_stack(tmp_path: Path) -> None:
    """Asyncio sends small packets at once only on sockets that name their protocol."""
    running = Running(served(tmp_path).workspace, ANYWHERE, QUICK)
    assert {found.proto for found in running._sockets} == {socket.IPPROTO_TCP}
    for found in running._sockets:
        found.close()


def test_the_command_says_where_it_listens_and_ends_on_sigterm(tmp_path: Path) -> None:
    service = served(tmp_path)
    key = service.boss
    code = (
        "import sys; from pappi.cli.owner import serve;"
        "serve.main(sys.argv[1:], standalone_mode=False)"
    )
    ports = ["--analyst-port", "0", "--owner-port", "0"]
    place = ["--workspace", str(service.workspace.root)]
    with subprocess.Popen(
        [sys.executable, "-c", code, *ports, *place],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            said = [process.stdout.readline() for _ in range(2)]
            analyst, owner = (re.findall(r"http://\S+", line)[0] for line in said)
            assert httpx.get(f"{analyst}/health", timeout=PATIENCE).json() == {"status": "ok"}
            headers = {"Authorization": f"Bearer {key}"}
            assert httpx.get(f"{owner}/logs", headers=headers, timeout=PATIENCE).is_success
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
        lines = process.stderr.read()
    assert '"event": "stopped"' in lines
    assert key not in lines
