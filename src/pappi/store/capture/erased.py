"""Keyed hashes of what was erased.

An erased case may be among released answers. If the same case came back and were sealed into
another block, it would count in two; and so would an erased person whose cases are counted over
the whole log. The hashes keep them out; without the workspace's key they say nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_SIZE = 16


def case_digests(key: bytes, cases: Iterable[str]) -> list[bytes]:
    return [_digest(key, b"erased case", case) for case in cases]


def person_digests(key: bytes, persons: Iterable[str]) -> list[bytes]:
    return [_digest(key, b"erased person", person) for person in persons]


def _digest(key: bytes, purpose: bytes, value: str) -> bytes:
    return hashlib.blake2b(value.encode(), key=key, person=purpose, digest_size=_SIZE).digest()
