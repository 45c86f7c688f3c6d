"""Measures of ppinot4py, read by the names of their classes and attributes alone.

foreign      looking at objects that may be anything
queries      query strings, as conditions
conditions   conditions on events
calendars    business hours
formulas     derived measures
measures     the measures

ppinot4py itself is never imported. Its query strings can run any code there; here they go
through the one closed grammar, like all other expressions.
"""

from __future__ import annotations

from collections.abc import Sequence

from pappi.errors import PappiError, UsageError
from pappi.ppinot.model import Measure
from pappi.ppinot.objects.foreign import Foreign
from pappi.ppinot.objects.measures import Options, read_measure

__all__ = ["from_ppinot4py"]


def from_ppinot4py(measure: object, *, keys: Sequence[str] = (), lifecycle: bool = True) -> Measure:
    """The measure that an object of ppinot4py describes; DefinitionError if there is none.

    `keys` are the groups of an aggregated measure with a grouper: which there are must not
    depend on the data. Without `lifecycle` the log has no column of transitions, so that
    ppinot4py takes every event of an activity for its end.
    """
    options = Options(_checked(keys), lifecycle)
    try:
        return read_measure(Foreign.root(measure), options).measure
    except PappiError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign objects run code of their own
        kind = type(error).__name__
        raise UsageError(f"this measure cannot be read: {kind} came out of it") from None


def _checked(keys: Sequence[str]) -> tuple[str, ...]:
    found = tuple(keys) if isinstance(keys, list | tuple) else ()
    if len(found) < len(keys) or not all(isinstance(key, str) for key in found):
        raise UsageError("the keys of groups are a list of texts")
    if len(set(found)) < len(found):
        raise UsageError("a key of a group is here twice")
    return found
