"""The audit of every claim takes seconds: it is made once for all tests of a process."""

from __future__ import annotations

import pytest

from experiments.guarantees import Guarantee, guarantees


@pytest.fixture(scope="session")
def found() -> list[Guarantee]:
    return guarantees(fast=True)
