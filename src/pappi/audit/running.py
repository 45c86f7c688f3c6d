"""Many audits at once, on all processors."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

Done = Callable[[], None]
"""Called whenever one of the tasks is done."""


def no_progress() -> None:
    """Nobody is watching."""


def spread(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int | None = None,
    done: Done = no_progress,
) -> list[Result]:
    """The result of each task, in order. A task that raises ends it all: nothing is left out."""
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    if workers <= 1:
        return [_noted(work(task), done) for task in tasks]
    with _pool(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        for future in futures:
            future.add_done_callback(lambda _: done())
        return [future.result() for future in futures]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    # Started afresh: a copy of a process that has threads may hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _noted(result: Result, done: Done) -> Result:
    done()
    return result
