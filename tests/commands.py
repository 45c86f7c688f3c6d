"""Commands run in the process of the tests (the fixture `run`), and what they print."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str, str]]
"""Exit code, output, errors."""


def answers_in(printed: str) -> list[dict[str, Any]]:
    """What `release --json` prints."""
    found: list[dict[str, Any]] = json.loads(printed)["answers"]
    return found
