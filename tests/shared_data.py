"""Where the shared event logs are; tests that need them skip where they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).parents[2] / "shared" / "data"


def shared_data(*parts: str) -> Path:
    """The path of a shared file or folder, or a skipped test."""
    path = Path(os.environ.get("PAPPI_SHARED_DATA", _DEFAULT)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data not found: {path} (set PAPPI_SHARED_DATA)")
    return path
