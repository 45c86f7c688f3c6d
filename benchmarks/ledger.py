"""What a long ledger costs: commands, a server's first request, and whoever asks meanwhile.

    python -m benchmarks.ledger [--entries 1000 100000 1000000] [--on sqlite] [--keep FOLDER]

The example log, and a ledger of so many entries, written as the ledger writes charges and
releases, but many at once; it verifies. Then, each in a process of its own: `pappi preview` of
one catalogue, `pappi audit ledger`, and `pappi serve` with an analyst who asks for `/logs` again
and again: while the server verifies the ledger beside the service, while nothing else happens,
and while the owner asks for `GET /ledger`. On a shared machine waits say little; CPU seconds say
more.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import pappi
from pappi.examples import EXAMPLES
from pappi.ledger import (
    Account,
    Charge,
    Entry,
    EntryKind,
    Journal,
    bare_journal,
    demand,
    extend,
    utc_now,
)
from pappi.ledger.journal import charge_payload, release_payload
from pappi.ledger.sqlite import SqliteJournal
from pappi.ppinot import read_definitions
from pappi.store import WorkspaceFiles
from pappi.values import JSON, Epsilon, Role
from tests.ledgers import server

CLAIMS = EXAMPLES["claims"]
LOG = "claims"
PLENTY = Epsilon.of(1_000_000)
AT_ONCE = 5_000
ANALYSTS = 10
PATIENCE = 900.0
IDLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of a process, how long it took, and the most memory it had."""

    cpu: float
    wall: float
    megabytes: float


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--on", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--poll", type=float, default=600.0, help="seconds to poll for, at most")
    parser.add_argument("--keep", type=Path, help="where the workspaces stay, to be used again")
    asked = parser.parse_args(arguments)
    with ExitStack() as things:
        folder = asked.keep or Path(things.enter_context(tempfile.TemporaryDirectory()))
        for entries in asked.entries:
            with ExitStack() as place:
                url = None
                if asked.on == "postgres":
                    url = place.enter_context(server().database()).url
                root = folder / f"{asked.on}-{entries}"
                if not root.exists():
                    filled(root, entries, url)
                measure(root, entries, asked.poll)
    return 0


# A long ledger


def filled(root: Path, entries: int, url: str | None = None) -> None:
    """A workspace whose journal has so many entries."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = pappi.create(root, ledger=url)
        workspace.import_log(CLAIMS.write_log(Path(folder)), LOG, timezone=CLAIMS.zone)
    workspace.grant(LOG, PLENTY)
    for number in range(ANALYSTS):
        workspace.custody.grant_analyst(LOG, f"analyst{number}", PLENTY)
    workspace.checkpoint("analyst0").release(read_definitions(CLAIMS.catalogue_path), "0.1")
    known = workspace.custody.charges(LOG)
    blocks = sorted({account for one in known for account in one.charge.accounts})
    question = known[0].charge.query
    workspace.close()
    began = time.monotonic()
    files = WorkspaceFiles(root)
    journal = bare_journal(files.ledger_place())
    with closing(journal):
        while (last := journal.last()) is not None and last.seq < entries:
            pairs = min(AT_ONCE, (entries - last.seq + 1) // 2)
            _add(journal, last, [_charge(last.seq + n, blocks, question) for n in range(pairs)])
    say(f"{entries:,} entries made in {time.monotonic() - began:.0f} s")


def _charge(number: int, blocks: Sequence[Account], question: Mapping[str, JSON]) -> Charge:
    key = hashlib.sha256(f"benchmark {number}".encode()).hexdigest()
    block, analyst = blocks[number % len(blocks)], f"analyst{number % ANALYSTS}"
    return Charge(key, (block,), Epsilon(1_000), question, analyst)


def _add(journal: Journal, last: Entry, charges: Sequence[Charge]) -> None:
    """A release after each charge: the rows that the ledger would write, many at once."""
    at = utc_now().isoformat(timespec="microseconds")
    entries, cells = [], []
    for number, charge in enumerate(charges):
        paid = extend(last, at, EntryKind.CHARGE, charge_payload(charge))
        last = extend(paid, at, EntryKind.RELEASE, release_payload(charge.key, [number]))
        entries += [paid, last]
        cells.append((charge.key, paid.seq, last.seq))
    rows = [(each.seq, each.at, each.kind, each.body, each.digest) for each in entries]
    spent = [
        (account.log, account.block, account.analyst, amount.nano)
        for account, amount in demand(charges).items()
    ]
    with journal.writing():
        for statement, values in ((_JOURNAL, rows), (_CELL, cells), (_ACCOUNT, spent)):
            _run_many(journal, statement, values)
        journal.run("UPDATE head SET seq = ?, digest = ?", last.seq, last.digest)


_JOURNAL = "INSERT INTO journal (seq, at, kind, body, digest) VALUES (?, ?, ?, ?, ?)"
_CELL = "INSERT INTO cell (key, charged, released) VALUES (?, ?, ?)"
_ACCOUNT = """
INSERT INTO account (log, block, analyst, spent, held) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (log, block, analyst) DO UPDATE SET spent = account.spent + excluded.spent
"""


def _run_many(journal: Journal, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    connection: Any = journal._connection  # type: ignore[attr-defined]  # noqa: SLF001
    if isinstance(journal, SqliteJournal):
        connection.executemany(statement, rows)
    else:
        connection.cursor().executemany(statement.replace("?", "%s").encode(), rows)


# Measuring


def measure(root: Path, entries: int, poll: float) -> None:
    """Tells each figure as soon as it is known."""
    say(f"{entries:,} entries")
    preview = ["preview", str(CLAIMS.catalogue_path), "--workspace", str(root)]
    # After filling there is more to read than there will be.
    tell("preview, the first time: CPU s, peak MB", used(preview))
    least = min((used(preview) for _ in range(5)), key=lambda one: one.cpu)
    tell("preview, the least of five: CPU s, peak MB", least)
    workspace = pappi.open(root)
    custody = workspace.custody
    analyst = custody.issue_key(Role.ANALYST, "analyst0").secret
    owner = custody.issue_key(Role.OWNER, "boss").secret
    workspace.close()
    serve(root, analyst, owner, poll)
    tell("audit ledger: CPU s, peak MB", used(["audit", "ledger", "--workspace", str(root)]))


def tell(what: str, found: Used | float) -> None:
    figures = (
        f"{found.cpu:.2f}, {found.megabytes:.0f}" if isinstance(found, Used) else f"{found:.2f}"
    )
    say(f"  {what:50} {figures}")


# A process begins with the memory of the one that started it: so a small one does.
_STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def used(arguments: Sequence[str]) -> Used:
    """What a command costs, as its own process."""
    began = time.monotonic()
    command = [sys.executable, "-c", _STARTER, sys.executable, "-m", "pappi", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    code, cpu, kilobytes = map(float, done.stdout.split())
    if code:
        raise RuntimeError(f"pappi {arguments[0]} ended with {code:.0f}: {done.stderr}")
    return Used(cpu, time.monotonic() - began, kilobytes / 1_000)


def serve(root: Path, analyst: str, owner: str, poll: float) -> None:
    """How long an analyst waits: at first, and at most while something goes on."""
    with running(root) as (process, addresses, verified), httpx.Client(timeout=PATIENCE) as client:
        headers = {"Authorization": f"Bearer {analyst}"}

        def ask() -> float:
            began = time.monotonic()
            client.get(f"{addresses[0]}/logs", headers=headers).raise_for_status()
            return time.monotonic() - began

        tell("first request of a server: s", ask())
        beside = longest(ask, verified.is_set, poll)
        tell("longest wait for /logs, verified beside: s", beside)
        verified.wait(PATIENCE)
        tell("… nothing else going on: s", longest(ask, lambda: False, IDLE_SECONDS))
        done = threading.Event()
        verifying = threading.Thread(target=_verify, args=(addresses[1], owner, done))
        verifying.start()
        tell("… during GET /ledger: s", longest(ask, done.is_set, poll))
        verifying.join()
        tell("server: peak MB", _peak(process.pid))


def _verify(address: str, owner: str, done: threading.Event) -> None:
    began = time.monotonic()
    try:
        headers = {"Authorization": f"Bearer {owner}"}
        reply = httpx.get(f"{address}/ledger", headers=headers, timeout=PATIENCE)
        if not reply.json()["verifies"]:
            raise RuntimeError("the ledger does not verify")
        tell("GET /ledger: s", time.monotonic() - began)
    finally:
        done.set()


def longest(ask: Callable[[], float], done: Callable[[], bool], seconds: float) -> float:
    """The longest of as many waits as there is time for; at least one."""
    end = time.monotonic() + seconds
    waits = [ask()]
    while not done() and time.monotonic() < end:
        waits.append(ask())
    return max(waits)


@contextmanager
def running(
    root: Path,
) -> Iterator[tuple[subprocess.Popen[str], list[str], threading.Event]]:
    """`pappi serve`, its two addresses, and an event: it has verified the whole ledger once."""
    ports = ("--analyst-port", "0", "--owner-port", "0", "--requests-per-minute", "100000")
    command = [sys.executable, "-m", "pappi", "serve", "--workspace", str(root), *ports]
    verified = threading.Event()
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        told, lines = process.stdout or sys.stdin, process.stderr or sys.stdin

        def listen() -> None:
            with suppress(ValueError):  # closed, at the end
                for line in lines:
                    if '"event": "verified"' in line:
                        verified.set()

        threading.Thread(target=listen, daemon=True).start()
        try:
            addresses = [told.readline().split()[-1] for _ in range(2)]
            yield process, addresses, verified
        finally:
            process.terminate()


def _peak(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1_000 if found else float("nan")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
