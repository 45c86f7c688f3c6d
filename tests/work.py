"""How much work something is: counted, so that it is the same on a slow and on a busy machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls_in(act: Callable[[], object]) -> int:
    """How many functions are called, ours and built-in ones, until `act` has returned."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    gc.disable()  # what other tests have left behind must not be closed, and counted, meanwhile
    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted
