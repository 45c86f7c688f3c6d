"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The machines are shared: a slow example is no failure. Nothing here is a timing test.
settings.register_profile("pappi", deadline=None, max_examples=60)
settings.load_profile("pappi")
