"""A dataclass of `pappi.datatypes` is what Python's own would be: only created faster."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pappi import datatypes
from pappi.datatypes import dataclass

SOURCE = Path(datatypes.__file__).parent
Make = Callable[..., Callable[[type], type]]
SETTINGS = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "repr": False},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "kw_only": True},
]
VALUES: list[dict[str, Any]] = [
    {"key": 1, "text": "a"},
    {"key": 1, "text": "b"},
    {"key": 2, "text": "a", "note": "x"},
    {"key": 1, "text": "a", "note": "other", "secret": "s"},
    {"key": 1, "text": "a", "unhashed": [1]},
]


def _written(make: Make, settings: dict[str, bool]) -> list[type]:
    """The same four classes: of several fields, of one, of none, and derived."""

    @make(**settings)
    class Several:
        name: ClassVar[str] = "several"
        key: int
        text: str
        note: str = field(default="", compare=False)
        secret: str = field(default="", repr=False, compare=False)
        unhashed: list[int] = field(default_factory=list, hash=False)

    @make(**settings)
    class One:
        key: int

    @make(**settings)
    class Empty:
        pass

    @make(**settings)
    class Derived(One):
        text: str = "{}"

        def __repr__(self) -> str:
            return f"its own: {self.text}"

    return [Several, One, Empty, Derived]


@pytest.fixture(params=SETTINGS, ids=str)
def twins(request: pytest.FixtureRequest) -> list[tuple[type, type]]:
    """Ours and Python's."""
    ours, theirs = (_written(make, request.param) for make in (dataclass, dataclasses.dataclass))
    return list(zip(ours, theirs, strict=True))


def _examples(kind: type) -> list[Any]:
    names = [own.name for own in dataclasses.fields(kind)]
    return [kind(**{n: v for n, v in values.items() if n in names}) for values in VALUES]


def _told(function: Callable[..., object], *given: object) -> object:
    """What comes of it, or which error."""
    try:
        return function(*given)
    except Exception as error:  # noqa: BLE001 - whatever Python's own does
        return type(error)


def test_it_compares_hashes_and_shows_as_pythons_own_does(twins: list[tuple[type, type]]) -> None:
    for ours, theirs in twins:
        assert vars(ours).keys() == vars(theirs).keys()
        pairs = list(zip(_examples(ours), _examples(theirs), strict=True))
        for one, other in pairs:
            if "__repr__" in vars(theirs):
                assert repr(one) == repr(other)
            if "__hash__" in vars(theirs):
                assert _told(hash, one) == _told(hash, other)
            for another, yet_another in pairs:
                for compare in (operator.eq, operator.ne, operator.lt):
                    assert _told(compare, one, another) == _told(compare, other, yet_another)


def test_it_is_as_frozen_and_made_of_the_same_fields(twins: list[tuple[type, type]]) -> None:
    for ours, theirs in twins:
        for one, other in zip(_examples(ours), _examples(theirs), strict=True):
            fields = dataclasses.asdict(one)
            assert fields == dataclasses.asdict(other)
            assert dataclasses.asdict(dataclasses.replace(one)) == fields
            assert dataclasses.asdict(copy.deepcopy(one)) == fields
            for name in ("key", "new"):
                assert _told(setattr, one, name, 3) == _told(setattr, other, name, 3)
                assert _told(delattr, one, name) == _told(delattr, other, name)


def test_instances_of_another_class_are_never_equal() -> None:
    several, one, empty, derived = _written(dataclass, {"frozen": True})
    assert one(1) != derived(1)
    assert one(1) != (1,)
    assert empty() == empty()
    assert several(1, "a") != one(1)


def test_what_contains_itself_can_be_shown() -> None:
    @dataclass()
    class Node:
        next: object = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_only_making_and_freezing_it_is_compiled() -> None:
    """That is what takes long."""
    compiled = {"__init__", "__setattr__", "__delattr__"}
    assert _compiled(dataclass) == compiled
    assert _compiled(dataclasses.dataclass) == compiled | {"__eq__", "__hash__", "__repr__"}


def _compiled(make: Make) -> set[str]:
    several, *_ = _written(make, {"frozen": True, "slots": True})
    methods = {name: inspect.unwrap(own) for name, own in vars(several).items() if callable(own)}
    own = {name: getattr(method, "__code__", None) for name, method in methods.items()}
    return {name for name, code in own.items() if code and code.co_filename == "<string>"}


def test_no_module_but_errors_has_dataclasses_of_pythons_own() -> None:
    own = re.compile(r"^ *from dataclasses import .*\bdataclass\b", re.MULTILINE)
    files = {path for path in SOURCE.rglob("*.py") if own.search(path.read_text(encoding="utf-8"))}
    assert {path.name for path in files} == {"errors.py", "datatypes.py"}
