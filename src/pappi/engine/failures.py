"""What goes wrong with a source: every driver has errors of its own, which may quote data.

And one may never answer. A server that is frozen keeps its connection alive, so no setting of a
driver ends the wait: only a clock on this side does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote

from pappi.errors import PappiError, UsageError, WorkspaceError

GRACE_SECONDS = 30
"""How much longer than its own limit a server may take to say that it gave up."""

OPENING_SECONDS = 60
"""How long it may take to begin a session."""

T = TypeVar("T")


@contextmanager
def explained(extra: str = "", secret: str | None = None) -> Iterator[None]:
    """One sentence, whatever a driver says; what it says is the owner's alone.

    `extra` is what the package calls the driver where it may be missing; the `secret` is nobody's.
    """
    try:
        yield
    except PappiError:
        raise
    except ImportError as error:
        raise UsageError(
            "the driver for this log's source is not installed",
            hint=f"pip install 'pappi[{extra}]'",
            detail=str(error),
        ) from None
    except Exception as error:  # noqa: BLE001 - see above
        raise WorkspaceError(
            "the source of this log cannot be read",
            hint="check its address, the password, and what its user may read",
            detail=_without(secret, f"{type(error).__name__}: {error}"),
        ) from None


def _without(secret: str | None, text: str) -> str:
    """As it is, or as it is written in an address."""
    for each in {secret, quote(secret, safe="")} if secret else ():
        text = text.replace(each, "…")
    return text


def answered(ask: Callable[[], T], seconds: float, leave: Callable[[Future[T]], None]) -> T:
    """What a driver gives, if it does within so many seconds.

    It is asked in a thread of its own. When time is up, or we are interrupted, that is left where
    it is: nothing can end it from outside. `leave` is told what it is that may still come.
    """
    found: Future[T] = Future()
    threading.Thread(target=_fill, args=(found, ask), daemon=True).start()
    try:
        return found.result(seconds)
    finally:
        if not found.done():
            leave(found)


def _fill(found: Future[T], ask: Callable[[], T]) -> None:
    try:
        found.set_result(ask())
    except BaseException as error:  # noqa: BLE001 - it is raised where it was asked
        found.set_exception(error)
