"""The campaign: very many definitions, of which none may break a promise.

    python -m tests.fuzz.campaign --generated 1000000 --mutated 1000000 --jobs 2
    python -m tests.fuzz.campaign --generated 1000000 --mutated 1000000 --start 250000
    python -m tests.fuzz.campaign --replay mutated-yaml 1 4711

Every definition comes from the seed, its sort and its number alone, so that what is found can
be replayed, and a campaign that was stopped goes on from a number. A sort is a notation, or
`mutated-` and a notation.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fuzz.dice import Dice
from tests.fuzz.generate import NOTATIONS, READERS, TURNS
from tests.fuzz.mutate import mutated
from tests.fuzz.promises import Found
from tests.fuzz.trial import (
    CLOSELY,
    SECONDS,
    Looks,
    Subject,
    Trial,
    allowed_seconds,
    try_definition,
)

MUTATED = "mutated-"
CHUNK = 2_000
_COLLECTED = 50
_SHOWN = 20

OURS = Subject(READERS)
USUAL = Looks()


@dataclass(frozen=True, slots=True)
class Failure:
    """What broke a promise, and how to see it again."""

    sort: str
    seed: int
    number: int
    definition: str
    what: str

    def __str__(self) -> str:
        replay = f"python -m tests.fuzz.campaign --replay {self.sort} {self.seed} {self.number}"
        return f"{replay}\n{self.definition[:2_000]!r}\n{self.what}\n"


@dataclass(slots=True)
class Tally:
    """How a number of definitions fared."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    worst: float = 0.0
    worst_of: str = ""
    seconds: float = 0.0
    apart: dict[str, float] = field(default_factory=dict)

    def count(self, sort: str, number: int, text: str, trial: Trial) -> None:
        self.verdicts[sort, trial.verdict] += 1
        # Of a long one, what its share would be that is as long as others may be.
        seconds = trial.seconds * SECONDS / allowed_seconds(text)
        if seconds > self.worst:
            self.worst, self.worst_of = seconds, f"{sort} {number}"
        for what, seconds in trial.apart.items():
            self.apart[what] = max(seconds, self.apart.get(what, 0.0))

    def add(self, other: Tally) -> None:
        self.verdicts += other.verdicts
        self.failures += other.failures
        self.seconds += other.seconds
        if other.worst > self.worst:
            self.worst, self.worst_of = other.worst, other.worst_of
        for what, seconds in other.apart.items():
            self.apart[what] = max(seconds, self.apart.get(what, 0.0))

    @property
    def total(self) -> int:
        return sum(self.verdicts.values()) + len(self.failures)

    def share(self, verdict: str, *, are_mutated: bool) -> float:
        """How many in a hundred of the generated, or of the mutated, fared like that."""
        chosen = {
            key: count
            for key, count in self.verdicts.items()
            if key[0].startswith(MUTATED) is are_mutated
        }
        so = sum(count for (_, found), count in chosen.items() if found == verdict)
        return 100 * so / max(1, sum(chosen.values()))


# --- definitions ----------------------------------------------------------------------


def sort_of(number: int, *, are_mutated: bool) -> str:
    return (MUTATED if are_mutated else "") + TURNS[number % len(TURNS)]


def definition(sort: str, seed: int, number: int) -> str:
    dice = Dice(f"{seed} {sort} {number}")
    notation = NOTATIONS[sort.removeprefix(MUTATED)]
    return mutated(notation, dice) if sort.startswith(MUTATED) else notation.definition(dice)


# --- running --------------------------------------------------------------------------


def run(
    seed: int,
    numbers: range,
    *,
    are_mutated: bool,
    subject: Subject = OURS,
    looks: Looks = USUAL,
) -> Tally:
    """Tries the definitions of some numbers, one after the other."""
    tally, before = Tally(), time.thread_time()
    with _undisturbed():
        for number in numbers:
            if number % _COLLECTED == 0:
                gc.collect(0)
            sort = sort_of(number, are_mutated=are_mutated)
            text = definition(sort, seed, number)
            try:
                trial = try_definition(subject, sort.removeprefix(MUTATED), text, number, looks)
            except Found as found:
                tally.failures.append(Failure(sort, seed, number, text, str(found)))
            else:
                tally.count(sort, number, text, trial)
    tally.seconds = time.thread_time() - before
    return tally


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Garbage is collected between definitions: within one, it would be counted as its time.

    What is there before is left alone meanwhile, so that collecting is quick.
    """
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def _in_parallel(seed: int, counts: Mapping[bool, int], start: int, jobs: int) -> Tally:
    """As many generated and mutated definitions as `counts` says, of the numbers from a start."""
    whole, began = Tally(), time.monotonic()
    wanted = sum(max(0, count - start) for count in counts.values())
    # Started afresh, not forked: a database connection does not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = [
            pool.submit(run, seed, range(first, min(first + CHUNK, count)), are_mutated=are_mutated)
            for first in range(start, max(counts.values()), CHUNK)
            for are_mutated, count in counts.items()
            if first < count
        ]
        for done in as_completed(waiting):
            found = done.result()
            for failure in found.failures[:_SHOWN]:
                sys.stderr.write(f"\n{failure}\n")
            whole.add(found)
            _progress(whole, wanted, time.monotonic() - began)
    return whole


def _progress(tally: Tally, wanted: int, seconds: float) -> None:
    left = seconds / tally.total * (wanted - tally.total)
    said = (
        f"{tally.total:,} of {wanted:,}, {len(tally.failures)} failures, {left / 60:.0f} min left"
    )
    sys.stderr.write(f"\r{said}  " if sys.stderr.isatty() else f"{said}\n")
    sys.stderr.flush()


# --- telling --------------------------------------------------------------------------


def summary(tally: Tally) -> str:
    each = 1000 * tally.seconds / max(1, tally.total)
    lines = [
        f"{tally.total:,} definitions, {len(tally.failures)} failures",
        f"{tally.seconds / 60:.1f} minutes of CPU time, {each:.2f} ms each",
    ]
    for name, are_mutated in (("generated", False), ("mutated", True)):
        shares = [
            f"{tally.share(verdict, are_mutated=are_mutated):.1f} % {verdict}"
            for verdict in ("sound", "unsound", "refused")
        ]
        lines.append(f"{name}: {', '.join(shares)}")
    for sort in sorted({sort for sort, _ in tally.verdicts}):
        counts = {v: tally.verdicts[sort, v] for v in ("sound", "unsound", "refused")}
        lines.append(f"  {sort}: " + ", ".join(f"{count:,} {v}" for v, count in counts.items()))
    lines.append(f"longest to read, check and compile: {_ms(tally.worst)} ({tally.worst_of})")
    lines += [f"longest of {what}: {_ms(tally.apart[what])}" for what in sorted(tally.apart)]
    return "\n".join(lines)


def _say(text: str) -> None:
    """A definition may hold half a character, which no terminal takes."""
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def replay(sort: str, seed: int, number: int) -> int:
    text = definition(sort, seed, number)
    _say(f"{text}\n\n{text!r}\n\n")
    try:
        trial = try_definition(OURS, sort.removeprefix(MUTATED), text, number, CLOSELY)
    except Found as found:
        _say(f"{found}\n")
        return 1
    _say(f"{trial}\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tries very many definitions.")
    parser.add_argument("--generated", type=int, default=1_000_000)
    parser.add_argument("--mutated", type=int, default=1_000_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", nargs=3, metavar=("SORT", "SEED", "NUMBER"))
    chosen = parser.parse_args(arguments)
    if chosen.replay:
        sort, seed, number = chosen.replay
        return replay(sort, int(seed), int(number))
    counts = {False: chosen.generated, True: chosen.mutated}
    tally = _in_parallel(chosen.seed, counts, chosen.start, chosen.jobs)
    _say(f"\n{summary(tally)}\n")
    for failure in tally.failures[:_SHOWN]:
        _say(f"\n{failure}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
