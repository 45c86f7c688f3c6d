"""What goes wrong with a source: every driver has errors of its own, which may quote data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pappi.errors import PappiError, UsageError, WorkspaceError


@contextmanager
def explained(extra: str = "") -> Iterator[None]:
    """One sentence, whatever a driver says; what it says is the owner's alone.

    `extra` is what the package calls the driver where it may be missing.
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
            detail=f"{type(error).__name__}: {error}",
        ) from None
