"""Trees of mappings and lists with parts put elsewhere, renamed, repeated, nested or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from tests.fuzz.dice import Dice

MOST_SLOTS = 2_000
MOST_COPIED = 8_000

Slot = tuple[Any, Any]
"""A mapping or list, and where in it something stands."""


def changed_tree(
    tree: Any,  # noqa: ANN401 - whatever JSON can hold
    dice: Dice,
    words: Sequence[str],
    changed_text: Callable[[str, Dice], str],
) -> Any:  # noqa: ANN401
    """The tree with one part changed, in place."""
    slots = list(islice(_slots(tree), MOST_SLOTS))
    if not slots:
        return tree
    holder, key = dice.one(slots)
    way = dice.number(0, 12)
    if way < 5 and isinstance(holder[key], str):
        holder[key] = changed_text(holder[key], dice) if way else dice.one(words)
    elif way < 8:
        _swap((holder, key), _alike((holder, key), slots, dice))
    elif way == 8 and isinstance(holder, dict):
        holder[dice.one(words)] = holder.pop(key)
    elif way == 9:
        del holder[key]
    elif way == 10:
        holder[key] = _nested(holder[key], dice)
    elif way == 11:
        holder[key] = _repeated(holder[key], dice)
    else:
        holder[key] = dice.one(({}, [], "", "null", ["a", {"b": "c"}]))
    return tree


def _slots(tree: object) -> Iterator[Slot]:
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from ((part, key) for key in part)
            waiting += part.values()
        elif isinstance(part, list):
            yield from ((part, index) for index in range(len(part)))
            waiting += part


def _alike(slot: Slot, slots: Sequence[Slot], dice: Dice) -> Slot:
    """Another place, usually of the same name: what stands there may fit here."""
    same = [each for each in slots if each[1] == slot[1]]
    return dice.one(same if dice.chance(80) else slots)


def _swap(one: Slot, other: Slot) -> None:
    """With copies, so that a part that lies in the other makes no circle."""
    here, there = deepcopy(one[0][one[1]]), deepcopy(other[0][other[1]])
    one[0][one[1]] = there
    other[0][other[1]] = here


def _nested(part: object, dice: Dice) -> object:
    name = dice.one(("a", "derive", "all", "not", "measure", "usedMeasureMap", "baseMeasure"))
    for _ in range(dice.one((1, 2, 5, 41, 60, 150))):
        part = [part] if dice.chance(30) else {name: part}
    return part


def _repeated(part: object, dice: Dice) -> object:
    times = dice.one((1, 3, 50, 300, 2_000))
    several = [part] * max(1, min(times, MOST_COPIED // (1 + len(str(part)))))
    if dice.chance(50):
        return several
    return {f"{dice.one(('a', 'x', 'v'))}{number}": each for number, each in enumerate(several)}
