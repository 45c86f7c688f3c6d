"""Here the time that a definition may take guards against hanging; `make fuzz` is strict."""

from __future__ import annotations

import pytest

from tests.fuzz import trial


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 20 * trial.SECONDS)
