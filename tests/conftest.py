"""Settings for all tests."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from pappi.checkpoint import queries
from pappi.cli import main
from pappi.planning import why_nothing
from tests.commands import Run
from tests.lengths import LONG

gc.disable()  # until all tests are there: what they are made of stays

# The machines are shared: a slow example is no failure. Nothing here is a timing test.
# In short the examples are always the same: whoever changed nothing breaks nothing.
settings.register_profile("short", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=500)
settings.load_profile("long" if LONG else "short")


@contextmanager
def _same_draws(seed: str) -> Iterator[None]:
    """In short the same noise is drawn every time, and the same key; in full by the system."""
    draws = random.Random(seed)  # noqa: S311 - that is the point of it
    with pytest.MonkeyPatch.context() as patches:
        if not LONG:
            for drawing in ("pappi.mechanisms.mechanism", "pappi.audit.subjects"):
                patches.setattr(f"{drawing}.system_randbelow", draws.randrange)
            # Which of a person's cases count, and who is in which bucket, goes by the key.
            patches.setattr("pappi.store.workspace.secret_bytes", draws.randbytes)
        yield


@pytest.fixture(autouse=True)
def _same_draws_in_a_test(request: pytest.FixtureRequest) -> Iterator[None]:
    with _same_draws(request.node.nodeid):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """What several tests share is drawn before the first of them, whichever that is."""
    if fixturedef.scope == "function":
        return (yield)
    with _same_draws(f"{request.node.nodeid} {fixturedef.argname}"):
        return (yield)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: exit code, output, errors."""

    def run_command(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pappi", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    return run_command


class _Refusals:
    """Whether a query that tells nothing is refused, as it is for users."""

    on = False


@pytest.fixture(scope="session", autouse=True)
def _whatever_it_tells() -> Iterator[None]:
    """Tests ask small logs at a small ε, whatever that tells; those marked `advised` do not."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(
            queries, "why_nothing", lambda plan: why_nothing(plan) if _Refusals.on else ""
        )
        yield


@pytest.fixture(autouse=True)
def _as_advised(request: pytest.FixtureRequest) -> Iterator[None]:
    _Refusals.on = request.node.get_closest_marker("advised") is not None
    yield
    _Refusals.on = False


@pytest.fixture(autouse=True)
def _planned_anew() -> Iterator[None]:
    """What one test has planned, perhaps with a planted fault, is not there for the next."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(queries, "_PLANNED", {})
        yield


def pytest_collection_finish() -> None:
    """What thousands of tests are made of stays: it is not looked through again and again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `long` runs in `make long` alone."""
    if LONG:
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("long")]
