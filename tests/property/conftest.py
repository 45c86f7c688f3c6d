"""`make quick` runs these too: they keep to what unit tests keep to."""

from tests.unit.conftest import nothing_outside

__all__ = ["nothing_outside"]
