"""The audit of every claim takes seconds: it is made once for all tests of a process."""

from __future__ import annotations

from functools import partial

import pytest

from experiments.guarantees import Guarantee, guarantees
from pappi.audit import spread


@pytest.fixture(scope="session")
def found() -> list[Guarantee]:
    """In this process: others would import everything again."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("experiments.guarantees.spread", partial(spread, jobs=1))
        return guarantees(fast=True)
