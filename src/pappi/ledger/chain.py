"""A journal whose past cannot be changed unnoticed: canonical JSON and a hash chain.

Every entry carries the SHA-256 digest of its own content and of the digest before it.
Changing, inserting, removing or reordering an entry breaks every digest that follows.
The chain has no secret: it shows damage and careless edits, not a forger who can write
the whole journal again. To detect that, note the last digest somewhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pappi.values import JSON

_TEXTS = frozenset({str})
_ATOMS = frozenset({str, int, bool, type(None)})

START = "0" * 64  # the digest before the first entry


class Fault(Exception):
    """The first thing wrong with a journal, and the entry it was found at."""

    def __init__(self, seq: int | None, sentence: str) -> None:
        super().__init__(sentence)
        self.seq = seq
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal. `body` is its payload in canonical JSON."""

    seq: int
    at: str
    kind: str
    body: str
    digest: str

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, read back: lists, dicts, strings, whole numbers, truth values."""
        return json.loads(self.body, parse_float=_no_float)  # type: ignore[no-any-return]


def canonical_json(value: JSON) -> str:
    """The one way to write a value: sorted keys, no spaces, ASCII, and no floats.

    >>> canonical_json({"to": (1, 2), "from": "ε"})
    '{"from":"\\\\u03b5","to":[1,2]}'
    """
    plain = value if _is_plain(value) else _plain(value)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def canonical_object(members: Mapping[str, str]) -> str:
    """The same of an object whose members are written already.

    >>> canonical_object({"to": canonical_json((1, 2)), "from": canonical_json("ε")})
    '{"from":"\\\\u03b5","to":[1,2]}'
    """
    written = (f"{json.dumps(name)}:{members[name]}" for name in sorted(members))
    return f"{{{','.join(written)}}}"


def extend(last: Entry | None, at: str, kind: str, payload: Mapping[str, JSON]) -> Entry:
    """The next entry of the chain that ends in `last`."""
    seq, previous = (last.seq + 1, last.digest) if last else (1, START)
    body = canonical_json(payload)
    return Entry(seq, at, kind, body, _digest(seq, at, kind, body, previous))


def verified(entries: Iterable[Entry], after: Entry | None = None) -> Iterator[Entry]:
    """The same entries, each handed on only after its place in the chain is checked.

    They begin the chain, or go on `after` an entry that was checked before.
    """
    first, previous = (after.seq + 1, after.digest) if after else (1, START)
    for expected, entry in enumerate(entries, start=first):
        if entry.seq != expected:
            raise Fault(expected, f"entry {expected} is missing")
        require_follows(entry, previous)
        previous = entry.digest
        yield entry


def require_follows(entry: Entry, previous: str) -> None:
    """Raise a Fault unless an entry's digest is that of its content, after the digest before it."""
    if entry.digest != _digest(entry.seq, entry.at, entry.kind, entry.body, previous):
        raise Fault(entry.seq, f"entry {entry.seq} or its digest has been changed")


def _digest(seq: int, at: str, kind: str, body: str, previous: str) -> str:
    # A JSON list, so that no two different entries run together into the same text.
    text = json.dumps([seq, at, kind, body, previous], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _is_plain(value: object) -> bool:
    """Whether json.dumps takes it as it is, and has nothing to guess: so with nearly all."""
    left: list[object] = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if not _TEXTS.issuperset(map(type, part)):
                return False
            left.extend(part.values())
        elif isinstance(part, list | tuple):
            left.extend(part)
        elif type(part) not in _ATOMS:
            return False
    return True


def _plain(value: object) -> object:
    """The value as json.dumps takes it, or an error where it would guess."""
    match value:
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {_name(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} cannot go into the journal: {value!r}")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names in the journal are text, not {name!r}")
    return name


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a whole number")
