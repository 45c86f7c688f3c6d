"""Where two JSON documents differ, in lines that a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_LONGEST = 120


def differences(pinned: Any, found: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON
    """A line for each: what is gone, what is new, what changed; a part that is gone is one line.

    >>> list(differences({"a": {"old": 1, "b": 2}}, {"a": {"new": 1, "b": 3}}))
    ['gone: a / old', 'new: a / new', 'changed: a / b: 2, now 3']
    """
    if isinstance(pinned, dict) and isinstance(found, dict):
        yield from (f"gone: {_at(place, name)}" for name in pinned if name not in found)
        yield from (f"new: {_at(place, name)}" for name in found if name not in pinned)
        for name in pinned:
            if name in found:
                yield from differences(pinned[name], found[name], _at(place, name))
    elif _is_long(pinned) and _is_long(found) and len(pinned) == len(found):
        for number, (one, other) in enumerate(zip(pinned, found, strict=True)):
            yield from differences(one, other, _at(place, str(number)))
    elif (type(pinned), pinned) != (type(found), found):
        yield f"changed: {place}: {_told(pinned)}, now {_told(found)}"


def _at(place: str, name: str) -> str:
    return f"{place} / {name}" if place else name


def _is_long(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict | list) for each in value)


def _told(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
