"""What a release costs beyond exact values: CPU of one answer, of a few, and of six thousand.

    python -m benchmarks.releases [TIMES]

A small log, so that reading it is not what is measured. Everything runs in one process that has
released before, as a service has. Of one answer, and of a few, every release asks a new question
of the same session; six thousand answers are released on a fresh copy of the ledger each time.
Exact values of the same PPIs are worked out in turn with each release. The least CPU counts; the
exit code is 1 if the goal is missed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

import pappi
from benchmarks.groups import BY_CASE, FEW, MONTHS, catalogue_of, prepared

CASES, TIMES, WARM = 5_000, 8, 3
MOST_FIXED_MS, MOST_EACH_MS = 3.0, 0.2

_SHARE = """
  - id: share%d
    measure:
      share: {derive: t < %d minutes, t: {time: {from: activity == "A", to: activity == "C"}}}
    scope: %s
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of CPU, the least of several runs."""

    answers: int
    exact: float
    release: float

    @property
    def beyond(self) -> float:
        return self.release - self.exact


def shares(count: int, turn: int, scope: str) -> str:
    """As many PPIs; in no two turns the same."""
    limits = (100 + count * turn + number for number in range(count))
    ppis = (_SHARE % (number, limit, scope) for number, limit in enumerate(limits))
    return "".join((f"log: {BY_CASE}\nppis:", *ppis))


def milliseconds(job: Callable[[], object]) -> float:
    began = process_time()
    job()
    return 1_000 * (process_time() - began)


def of_new_questions(
    workspace: pappi.Workspace, count: int, scope: str, answers: int, times: int
) -> Cost:
    analyst = workspace.checkpoint()
    exact, release = [], []
    for turn in range(times + WARM):
        text = shares(count, turn, scope)
        exact.append(milliseconds(partial(workspace.exact, text)))
        release.append(milliseconds(partial(analyst.release, text, "0.5", anyway=True)))
    return Cost(answers, min(exact[WARM:]), min(release[WARM:]))


def of_many_answers(workspace: pappi.Workspace, folder: Path, times: int) -> Cost:
    """The catalogue has other names each time, so that it is planned anew."""
    exact, release = [], []
    for turn in range(times + 1):
        root = folder / f"copy{turn}"
        shutil.copytree(workspace.root, root)
        text = catalogue_of(BY_CASE, FEW).replace("id: ", f"name: turn {turn}\n    id: ")
        copy = pappi.open(root)
        analyst = copy.checkpoint()
        analyst.budget(BY_CASE)  # opens the ledger
        exact.append(milliseconds(partial(copy.exact, text)))
        release.append(milliseconds(partial(analyst.release, text, "0.1", anyway=True)))
        copy.close()
        shutil.rmtree(root)
    return Cost(5 * MONTHS * FEW.keys, min(exact[1:]), min(release[1:]))


def main(times: int) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        workspace = prepared(folder / "log", CASES)
        many = of_many_answers(workspace, folder, max(times // 2, 2))
        costs = [
            of_new_questions(workspace, 1, "whole time", 1, times),
            of_new_questions(workspace, 1, "every month", MONTHS, times),
            of_new_questions(workspace, 5, "every month", 5 * MONTHS, times),
            many,
        ]
        workspace.close()
    print(f"{'answers':>8}{'exact ms':>10}{'release ms':>12}{'beyond ms':>11}{'an answer':>11}")
    for cost in costs:
        each = cost.beyond / cost.answers
        print(
            f"{cost.answers:>8,}{cost.exact:>10.1f}{cost.release:>12.1f}{cost.beyond:>11.1f}",
            end="",
        )
        print(f"{each:>11.3f}")
    fixed, each = costs[0].beyond, many.beyond / many.answers
    met = fixed <= MOST_FIXED_MS and each <= MOST_EACH_MS
    print(f"one answer: {fixed:.1f} ms (goal {MOST_FIXED_MS:g}); ", end="")
    print(f"an answer of 6,000: {each:.3f} ms (goal {MOST_EACH_MS:g})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else TIMES))
