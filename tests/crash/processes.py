"""Processes for the races and the crashes, started quickly.

Each is forked from one server process that has loaded what they need and opened nothing.
"""

from __future__ import annotations

import multiprocessing
from functools import cache
from multiprocessing.context import ForkServerContext

_LOADED = [
    "tests.crash.victims",
    "tests.small_logs",
    "tests.captured_logs",
    "pappi.checkpoint.draw",
    "sqlglot",
    "yaml",
]


@cache
def forks() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context
