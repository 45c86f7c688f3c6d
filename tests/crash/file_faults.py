"""What can happen to a ledger's files, and that no ε can be spent twice by it.

A world is one workspace with a budget for ten charges in one block. Steps are charges, kills at
any moment of a charge, and whatever happens to files: the log of changes dropped, files cut off,
older copies put back, files swapped, the mark deleted or torn. What a kill leaves is a copy of the
files at that moment. Afterwards the workspace is refused, and then everything is put back; or it
has all that was ever acknowledged. What was acknowledged never exceeds the limit.

Ledger and mark put back together from one older copy are left out: nobody can see from
inside a place that all of it is from yesterday.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from pappi.errors import BudgetExceeded, LedgerUnavailable
from pappi.ledger import Account, Charge, Ledger
from pappi.ledger.ledger import LedgerStep
from pappi.store import WorkspaceFiles, create_workspace, open_workspace
from pappi.values import Epsilon

BLOCK = Account("log", "2024-01")
PRICE = Epsilon.of("0.1")
LIMITS = {BLOCK: Epsilon.of(1)}
PLACES = 10

LEDGER, LOG, SHARED, MARK = "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.mark"
DATABASE = (LEDGER, LOG, SHARED)

Opened = Callable[[WorkspaceFiles, Callable[[str], None]], Ledger]
Image = dict[str, bytes]


class SpentTwice(AssertionError):
    """More was acknowledged than the limit, or what was acknowledged is gone unseen."""


class _Killed(BaseException):
    pass


def opened(files: WorkspaceFiles, on_step: Callable[[str], None]) -> Ledger:
    return files.open_ledger(on_step)


class World:
    """One workspace, what was acknowledged in it, and copies of its files from earlier."""

    def __init__(self, root: Path, seed: int, open_ledger: Opened) -> None:
        self.root = root
        self.chance = random.Random(seed)  # noqa: S311 - which fault comes next is no secret
        self.open_ledger = open_ledger
        self.acknowledged: set[str] = set()
        self.story: list[str] = []
        create_workspace(root)
        self.images: list[Image] = [self.image()]
        self.number = 0
        self.refusals = 0

    def image(self) -> Image:
        return {each.name: each.read_bytes() for each in self.root.iterdir() if each.is_file()}

    def put(self, image: Image, names: tuple[str, ...]) -> None:
        for name in names:
            (self.root / name).unlink(missing_ok=True)
            if name in image:
                (self.root / name).write_bytes(image[name])

    def charge(self, kill_at: str | None) -> None:
        """One more charge; or the files as a kill at a step of it leaves them."""
        self.number += 1
        key = f"k{self.number}"
        self.story.append(f"charge {key}, killed at {kill_at}")
        left: list[Image] = []

        def step(name: str) -> None:
            if name == kill_at:
                left.append(self.image())
                raise _Killed

        try:
            with self.open_ledger(open_workspace(self.root), step) as ledger:
                before = self.image() if self.chance.random() < 0.5 else None
                ledger.charge([Charge(key, (BLOCK,), PRICE, {})], LIMITS)
                self.acknowledged.add(key)
                # While it is open the log of changes is there; closing folds it in.
                self.images.append(self.image())
                if before is not None:
                    self.images.append(before)
        except _Killed:
            self.put(left[0], (*DATABASE, MARK))
            self.images.append(left[0])
        except BudgetExceeded:
            pass
        if len(self.acknowledged) > PLACES:
            raise SpentTwice(f"{len(self.acknowledged)} of {PLACES}: {self.story}")

    def fault(self) -> None:
        """Something happens to the files; then it is refused and repaired, or complete."""
        good = self.image()
        fault = self.chance.choice(FAULTS)
        self.story.append(fault.__name__)
        fault(self)
        try:
            with self.open_ledger(open_workspace(self.root), lambda _step: None) as ledger:
                states = ledger.states(self.acknowledged)
                complete = all(str(state) != "new" for state in states.values())
        except LedgerUnavailable:
            self.refusals += 1
            self.put(good, (*DATABASE, MARK))
            return
        if not complete:
            raise SpentTwice(f"an acknowledged charge is gone unseen: {self.story}")


def drop_log(world: World) -> None:
    world.put({}, (LOG, SHARED))


def drop_log_alone(world: World) -> None:
    world.put({}, (LOG,))


def cut(world: World) -> None:
    name = world.chance.choice([each for each in (LEDGER, LOG) if (world.root / each).exists()])
    content = (world.root / name).read_bytes()
    (world.root / name).write_bytes(content[: world.chance.randrange(len(content) + 1)])


def older_file(world: World) -> None:
    world.put(world.chance.choice(world.images), (LEDGER,))


def older_file_without_log(world: World) -> None:
    world.put({}, (LOG, SHARED))
    world.put(world.chance.choice(world.images), (LEDGER,))


def older_ledger(world: World) -> None:
    world.put(world.chance.choice(world.images), DATABASE)


def older_file_and_log(world: World) -> None:
    world.put(world.chance.choice(world.images), (LEDGER, LOG))
    world.put({}, (SHARED,))


def older_log(world: World) -> None:
    world.put(world.chance.choice(world.images), (LOG,))
    world.put({}, (SHARED,))


def swapped(world: World) -> None:
    first, second = world.chance.choice(world.images), world.chance.choice(world.images)
    world.put(first, (LEDGER,))
    world.put({LOG: second.get(LOG, b"")}, (LOG, SHARED))


def no_mark(world: World) -> None:
    world.put({}, (MARK,))


def torn_mark(world: World) -> None:
    content = bytearray((world.root / MARK).read_bytes())
    # The slot that is written next: what a crash can tear.
    slots = [content[:512].split(), content[512:1024].split()]
    older = 0 if int(slots[0][0]) <= int(slots[1][0]) else 1
    at = older * 512 + world.chance.randrange(60)
    content[at : at + 8] = b"\xff" * 8
    (world.root / MARK).write_bytes(bytes(content))


def no_mark_and_older(world: World) -> None:
    no_mark(world)
    older_ledger(world)


FAULTS = (
    *(drop_log, drop_log_alone, cut, older_file, older_file_without_log, older_ledger),
    *(older_file_and_log, older_log, swapped, no_mark, torn_mark, no_mark_and_older),
)
KILLS = (None, None, *LedgerStep)


def lived_through(folder: Path, seed: int, steps: int, open_ledger: Opened = opened) -> World:
    """One world, until everything is spent as far as it can be; SpentTwice if it could be twice."""
    world = World(folder / f"world-{seed}", seed, open_ledger)
    for _ in range(steps):
        if world.chance.random() < 0.5:
            world.charge(world.chance.choice(KILLS))
        else:
            world.fault()
    for _ in range(PLACES + 2):
        world.charge(None)
    shutil.rmtree(world.root)
    return world
