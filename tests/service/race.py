"""Many processes race for one budget: exactly what it allows is granted, to the last one.

    python -m tests.service.race --processes 64 --attempts 200 --places 1280 \
        --on sqlite|postgres --through http|library [--twin]

Every attempt is a release of its own: the bounds differ, the price does not. Over HTTP one
server answers all of them; through the library every process opens the workspace itself.
The twin is a ledger that looks at the budget before it takes the lock. It must overspend in
the same race; otherwise the race would prove nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import TYPE_CHECKING, Literal

# The rivals of the race over HTTP start by the dozen: they import nothing else.
if TYPE_CHECKING:
    from pappi.ledger import Charge, KeyState, Ledger
    from pappi.ledger.ledger import Limits
    from pappi.session import Workspace
    from tests.ledgers import Database

Through = Literal["http", "library"]

LOG = "small"
ANALYST = "rival"
GRANTED, REFUSED, UNHEARD = 200, 402, 503
PRICE_NANO = 10_000_000  # ε 0.01
PATIENCE = 120.0  # seconds until a rival that does not come fails the race
SOON = 5.0  # … until nobody waits any longer in a broken ledger
LONGEST = 3_600.0
_AGAIN = 20
_DEFINITIONS = """
log: small
ppis:
  - id: n
    measure: {sum: {count: activity == "A"}}
    bounds: [0, %d]
    epsilon: 0.01
    release: {mechanism: laplace}
    scope: whole time
"""
_LOADED = ["pappi.session.workspace", "pappi.checkpoint.draw", "psycopg"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A race: so many processes, each asking so often, for so many places."""

    processes: int
    attempts: int
    places: int
    through: Through
    twin: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended: what the rivals were told, and what the ledger says."""

    replies: Counter[int]
    places: int
    spent_nano: int
    limit_nano: int
    verifies: bool
    seconds: float

    @property
    def exact(self) -> bool:
        """Nothing but grants and refusals, and of grants exactly as many as there are places."""
        granted, told = self.replies[GRANTED], set(self.replies)
        paid = self.spent_nano == self.limit_nano
        return granted == self.places and told <= {GRANTED, REFUSED} and paid and self.verifies

    @property
    def overspent(self) -> bool:
        return self.replies[GRANTED] > self.places and self.spent_nano > self.limit_nano


def run(plan: Plan, folder: Path, ledger_url: str | None = None) -> Outcome:
    """The race, in a new workspace with one case and one block."""
    key = _prepare(plan, folder, ledger_url)
    began = time.monotonic()
    if plan.through == "library":
        replies = _all_at_once(plan, "forkserver", _ask_directly, folder)
    else:
        with served(folder, plan.processes if plan.twin else 0) as port:
            replies = _all_at_once(plan, "spawn", _ask_over_http, port, key)
    return _judged(plan, folder, replies, time.monotonic() - began)


# --- before and after -------------------------------------------------------------------


def _prepare(plan: Plan, folder: Path, ledger_url: str | None) -> str:
    import pappi
    from pappi.custody import NewLog
    from pappi.values import Epsilon, Terms
    from tests.service.serving import analyst_key
    from tests.small_logs import event_table

    workspace = pappi.create(folder, ledger=ledger_url)
    budget = Epsilon(plan.places * PRICE_NANO)
    table = event_table([("c", "A", 0.0, {})])
    workspace.import_log(table, LOG, new=NewLog(terms=Terms(block_budget=budget)))
    # More than there is: the block is what bounds them.
    secret = analyst_key(workspace, ANALYST, {LOG: "1000"})
    workspace.close()
    return secret


def _judged(plan: Plan, folder: Path, replies: Counter[int], seconds: float) -> Outcome:
    import pappi

    workspace = pappi.open(folder)
    (block,) = workspace.checkpoint().budget(LOG)
    verifies = workspace.verify().ok
    workspace.close()
    limit = plan.places * PRICE_NANO
    return Outcome(replies, plan.places, block.spent.nano, limit, verifies, seconds)


def _question(plan: Plan, rival: int, attempt: int) -> str:
    return _DEFINITIONS % (1 + rival * plan.attempts + attempt)


# --- the rivals -------------------------------------------------------------------------


class Meeting:
    """Where the rivals of one process wait for all others."""

    barrier: Barrier

    @classmethod
    def join(cls, barrier: Barrier) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process stops the others
        cls.barrier = barrier


def _all_at_once(
    plan: Plan, how: Literal["spawn", "forkserver"], ask: Callable[..., Counter[int]], *more: object
) -> Counter[int]:
    """What all rivals were told together."""
    context = multiprocessing.get_context(how)
    if how == "forkserver":
        context.set_forkserver_preload(_LOADED)
    barrier = context.Barrier(plan.processes)
    tasks = [(plan, rival, *more) for rival in range(plan.processes)]
    with context.Pool(plan.processes, Meeting.join, (barrier,)) as pool:
        told = pool.starmap_async(ask, tasks, chunksize=1).get(LONGEST)
    return sum(told, Counter())


def _ask_directly(plan: Plan, rival: int, folder: Path) -> Counter[int]:
    import pappi

    if plan.twin:
        _break_ledgers(Meeting.barrier.wait)
    workspace = pappi.open(folder)
    Meeting.barrier.wait(PATIENCE)
    asked = (_question(plan, rival, attempt) for attempt in range(plan.attempts))
    replies = Counter(_asked_directly(workspace, definitions) for definitions in asked)
    workspace.close()
    return replies


def _asked_directly(workspace: Workspace, definitions: str) -> int:
    from pappi.errors import BudgetExceeded, WorkspaceError
    from pappi.ppinot import parse_catalogue

    # A file lock is not fair: whoever did not get it in time asks for the same again.
    for _ in range(_AGAIN):
        try:
            workspace.checkpoint(ANALYST).release(parse_catalogue(definitions), anyway=True)
        except BudgetExceeded:
            return REFUSED
        except WorkspaceError:
            continue
        return GRANTED
    return UNHEARD


def _ask_over_http(plan: Plan, rival: int, port: int, key: str) -> Counter[int]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    Meeting.barrier.wait(PATIENCE)
    replies: Counter[int] = Counter()
    for attempt in range(plan.attempts):
        body = json.dumps({"definitions": _question(plan, rival, attempt), "anyway": True})
        connection.request("POST", "/release", body, headers)
        reply = connection.getresponse()
        reply.read()
        replies[reply.status] += 1
    connection.close()
    return replies


# --- the server -------------------------------------------------------------------------


@contextmanager
def served(folder: Path, meeting: int = 0) -> Iterator[int]:
    """A server in a process of its own; `meeting` is how many meet in a broken ledger."""
    context = multiprocessing.get_context("spawn")
    ready, tell = context.Pipe(duplex=False)
    server = context.Process(target=_serve, args=(folder, meeting, tell))
    server.start()
    try:
        if not ready.poll(PATIENCE):
            raise TimeoutError("the server did not start")
        yield ready.recv()
    finally:
        server.terminate()
        server.join(PATIENCE)
        server.kill()


def _serve(folder: Path, meeting: int, tell: Connection) -> None:
    import pappi
    from pappi.service.running import Running
    from tests.service.serving import ANYWHERE, UNHURRIED

    if meeting:
        _break_ledgers(threading.Barrier(min(meeting, UNHURRIED.releases_at_once)).wait)
    running = Running(pappi.open(folder), ANYWHERE, UNHURRIED)
    tell.send(running.addresses.analyst.port)
    running.run()


# --- the twin ---------------------------------------------------------------------------


def _break_ledgers(wait: Callable[[float], object]) -> None:
    """From now on, in this process, all look at the budget before any of them writes."""
    from pappi.errors import BudgetExceeded
    from pappi.ledger import KeyState, Ledger
    from pappi.ledger.accounts import demand, distinct

    def charge(
        ledger: Ledger, charges: Sequence[Charge], limits: Limits, permit: Callable[[], None]
    ) -> Mapping[str, KeyState]:
        due = list(distinct(charges).values())
        wanted = demand(due)
        permit()
        refusal = None
        try:
            ledger._refuse_overspending(wanted, limits)
        except BudgetExceeded as error:
            refusal = error
        # Where rivals are left over at the end, they need not come.
        with suppress(threading.BrokenBarrierError):
            wait(SOON)
        if refusal is not None:
            raise refusal
        with ledger._journal.writing():
            ledger._write_charges(due, wanted)
        return dict.fromkeys((one.key for one in due), KeyState.NEW)

    Ledger.charge = charge  # type: ignore[method-assign,assignment]


# --- the command ------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    plan = Plan(asked.processes, asked.attempts, asked.places, asked.through, asked.twin)
    with tempfile.TemporaryDirectory() as folder, ledger_url(asked.on) as url:
        found = run(plan, Path(folder) / "w", url)
    kept = found.overspent if plan.twin else found.exact
    sys.stdout.write(f"{_described(plan, found)}\n{'as' if kept else 'NOT as'} it must be\n")
    return 0 if kept else 1


@contextmanager
def ledger_url(database: Database) -> Iterator[str | None]:
    """Where a workspace's ledger is to be: None is a file of its own."""
    if database == "sqlite":
        yield None
        return
    from tests.ledgers import server

    with server().database() as place:
        yield place.url


def _described(plan: Plan, found: Outcome) -> str:
    replies = ", ".join(f"{count:,} × {status}" for status, count in sorted(found.replies.items()))
    chain = "verifies" if found.verifies else "is broken"
    share = found.spent_nano / found.limit_nano
    return (
        f"{plan.processes} processes × {plan.attempts} attempts through {plan.through} "
        f"for {plan.places:,} places: {replies}; spent {share:.4f} of the limit; "
        f"the chain {chain}; {found.seconds:.0f} s"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.service.race")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--places", type=int, default=1_280)
    parser.add_argument("--on", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--through", choices=("http", "library"), default="http")
    parser.add_argument("--twin", action="store_true", help="with a ledger that is broken")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
