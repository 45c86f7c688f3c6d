"""Verifying the whole ledger beside the service: nobody waits for it, and damage ends service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pappi.errors import LedgerBroken
from pappi.ledger import Ledger
from pappi.ledger import ledger as ledger_module
from pappi.ledger.journal import Tally
from pappi.service import Address, Addresses
from pappi.service import running as running_module
from pappi.service.running import Running
from pappi.session import open_at
from tests.ledgers import InSqlite
from tests.service.served import QUICK, Served, ask, served

ANYWHERE = Addresses(Address("127.0.0.1", 0), Address("127.0.0.1", 0))
DAMAGE = "UPDATE journal SET at = at || ' ' WHERE seq = 2"


@contextmanager
def paused_halfway(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """While this lasts, verifying in full stops halfway: the event says that it has got there."""
    halfway, go_on = threading.Event(), threading.Event()
    end = ledger_module._BatchCells.end

    def slow(self: ledger_module._BatchCells, tally: Tally) -> None:
        halfway.set()
        assert go_on.wait(60)
        end(self, tally)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module._BatchCells, "end", slow)
        yield halfway
        go_on.set()


@pytest.mark.parametrize("path", ["/ledger", "/console/trail?verify=1", "/console/protection"])
def test_no_analyst_waits_for_the_owner_who_reads_the_whole_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    service = served(tmp_path)
    alice, boss = service.alice, service.boss
    replies: list[int] = []
    with paused_halfway(monkeypatch) as halfway:
        owner = threading.Thread(target=lambda: replies.append(read_all(service, path, boss)))
        owner.start()
        assert halfway.wait(60)
        assert ask(service.analyst, "GET", "/logs", alice).status_code == 200
        assert ask(service.analyst, "GET", "/ready").status_code == 200
        assert owner.is_alive()
    owner.join(60)
    assert replies == [200]


def read_all(service: Served, path: str, boss: str) -> int:
    if path == "/ledger":
        return ask(service.owner, "GET", path, boss).status_code
    door = service.workspace.custody_of("boss")
    return 200 if (door.pack().chain.ok if "protection" in path else door.verify().ok) else 500


def damaged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """With an entry changed that lies before the snapshot, where opening does not look."""
    monkeypatch.setattr(Ledger, "snapshot_every", 3)
    service = served(folder)
    for _ in range(3):
        service.workspace.custody.resume()
        assert service.boss
    service.workspace.close()
    InSqlite(folder / "w" / "ledger.sqlite").edit(DAMAGE)
    return service


def test_damage_found_beside_the_service_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = damaged(tmp_path, monkeypatch)
    found = threading.Event()
    monkeypatch.setattr(running_module, "log_failure", lambda *_what: found.set())
    running = Running(open_at(service.workspace.root), ANYWHERE, QUICK)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        assert found.wait(60)
        reply = httpx.get(f"{running.addresses.analyst}/ready", timeout=60)
    finally:
        running.stop()
        thread.join(60)
    assert (reply.status_code, reply.json()["code"]) == (503, "ledger-broken")


def test_a_ledger_that_does_not_open_is_not_served(tmp_path: Path) -> None:
    service = served(tmp_path)
    service.workspace.close()
    InSqlite(tmp_path / "w" / "ledger.sqlite").edit(DAMAGE)
    with pytest.raises(LedgerBroken, match="entry 2"):
        Running(open_at(service.workspace.root), ANYWHERE, QUICK)
