"""What stands between two values of an XES file that is written in the usual way.

    "/></event><event><string key="concept:name" value="
    "/><date key="time:timestamp" value="

From the quote that ends one value to the quote that begins the next there is only markup,
and of that a log has few different pieces. Each is read once, strictly: what is not exactly
of this shape is no separator, and its part of the file is left to the XML parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum


class Irregular(Exception):
    """This part of the file is not written in the usual way."""


class Place(IntEnum):
    """Where an attribute stands; UNCHANGED is where the one before it stands."""

    UNCHANGED = 0
    BETWEEN_TRACES = 1
    IN_TRACE = 2
    IN_EVENT = 3


@dataclass(frozen=True, slots=True)
class Separator:
    """The markup before a value: what it closes and opens, and the attribute it begins.

    `special` counts the characters that no value may have in this way of writing.
    """

    before: Place
    after: Place
    opens_trace: bool
    opens_event: bool
    tag: str
    key: str
    special: int


_MARKUP = r"((?:[ \t\r\n]|</?(?:trace|event)>)*+)"
_SEPARATOR = re.compile(
    rf'" ?/>{_MARKUP}<(string|date|int|float|boolean|id) key="([^"<&\x00-\x1f]*+)" value="'
)
_LAST = re.compile(rf'" ?/>{_MARKUP}')
_TAG = re.compile(r"</?[a-z]+>")
_SPECIAL = re.compile(r"[<\x00-\x1f]")
_MOVES = {
    "<trace>": (Place.BETWEEN_TRACES, Place.IN_TRACE),
    "</trace>": (Place.IN_TRACE, Place.BETWEEN_TRACES),
    "<event>": (Place.IN_TRACE, Place.IN_EVENT),
    "</event>": (Place.IN_EVENT, Place.IN_TRACE),
}


def read_separator(text: str) -> Separator:
    """The separator, from the quote that ends the value before it.

    >>> found = read_separator('"/></event> <event><int key="n" value="')
    >>> (found.before.name, found.after.name, found.opens_event, found.tag, found.key)
    ('IN_EVENT', 'IN_EVENT', True, 'int', 'n')
    """
    found = _SEPARATOR.fullmatch(text)
    if found is None:
        raise Irregular
    before, after, opened = _walked(found[1])
    # One row at most begins here, and in the trace that begins here if one does.
    if opened not in ("", "<trace>", "<event>", "<trace><event>") or after == Place.BETWEEN_TRACES:
        raise Irregular
    return Separator(
        before=before,
        after=after,
        opens_trace=opened.startswith("<trace>"),
        opens_event=opened.endswith("<event>"),
        tag=found[2],
        key=found[3],
        special=specials(text),
    )


def read_first(text: str) -> Separator:
    """What stands before the first value behind a trace's end: it has no value before it."""
    first = read_separator(f'"/>{text}')
    if first.before != Place.BETWEEN_TRACES:
        raise Irregular
    return first


def require_end(text: str, place: Place) -> None:
    """What stands after the last value: it ends the trace."""
    found = _LAST.fullmatch(text)
    if found is None:
        raise Irregular
    before, after, opened = _walked(found[1])
    if (before, after, opened) != (place, Place.BETWEEN_TRACES, ""):
        raise Irregular


def specials(text: str) -> int:
    return len(_SPECIAL.findall(text))


def _walked(markup: str) -> tuple[Place, Place, str]:
    """Where these tags lead from and to, and those of them that open something."""
    before = after = Place.UNCHANGED
    opened = ""
    for tag in _TAG.findall(markup):
        source, target = _MOVES[tag]
        if before == Place.UNCHANGED:
            before = source
        elif source != after:
            raise Irregular
        after = target
        opened += "" if tag.startswith("</") else tag
    return before, after, opened
