"""Dataclasses that are quick to create: a short command has 250 of them, a fifth of its time.

For each, Python writes six methods as text and compiles it. To compare, hash and show no text is
needed: here these are ordinary functions of the values of its fields. All else is left to Python,
so that what comes of it is a dataclass like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 - as Python calls it
        order: bool = False,
        **settings: bool,
    ) -> Callable[[type], type]:
        """`dataclasses.dataclass`, and its settings."""
        if order:  # compared in more ways than one
            return dataclasses.dataclass(eq=eq, repr=repr, order=True, **settings)

        def created(written: type) -> type:
            own = {name for name, value in vars(written).items() if value is not None}
            kind = dataclasses.dataclass(eq=False, repr=False, **settings)(written)
            methods = {"__repr__": _shown(kind)} if repr else {}
            if eq:
                methods["__eq__"] = _is_equal(kind)
                methods["__hash__"] = _hashed(kind) if settings.get("frozen") else None
            for name in methods.keys() - own:
                setattr(kind, name, methods[name])
            return kind

        return created


def _shown(kind: type) -> Callable[[object], str]:
    names = [field.name for field in dataclasses.fields(kind) if field.repr]
    text, values = ", ".join(f"{name}={{!r}}" for name in names), _values(names)
    return recursive_repr()(lambda self: f"{type(self).__qualname__}({text.format(*values(self))})")


def _is_equal(kind: type) -> Callable[[object, object], bool]:
    values = _values([field.name for field in dataclasses.fields(kind) if field.compare])

    def is_equal(self: object, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return is_equal


def _hashed(kind: type) -> Callable[[object], int]:
    fields = dataclasses.fields(kind)
    counts = (field.compare if field.hash is None else field.hash for field in fields)
    values = _values([field.name for field, own in zip(fields, counts, strict=True) if own])
    return lambda self: hash(values(self))


def _values(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    """Of an object's fields with these names."""
    if len(names) == 1:
        value = attrgetter(*names)
        return lambda self: (value(self),)
    return attrgetter(*names) if names else lambda _: ()
