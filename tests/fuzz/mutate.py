"""Definitions that went wrong: generated ones with characters, words and whole parts changed.

Where a notation has trees, parts change places in the tree, so that the text still is YAML or
JSON and the mistakes are found deeper; in any notation the text itself is changed as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from tests.fuzz.dice import Dice
from tests.fuzz.generate import Notation
from tests.fuzz.pieces import ALIKE, CHARACTERS, NESTS, SORTS, TRICKS, dictionary
from tests.fuzz.trees import changed_tree

MOST_CHARACTERS = 10_000
MOST_AT_ALL = 100_000
"""One in a thousand is long: time has to grow in proportion."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Mutation = Callable[[str, Dice], str]


def mutated(notation: Notation, dice: Dice) -> str:
    """A definition in which a few things are not as they were."""
    tree = notation.tree(dice)
    in_tree = notation.has_trees and (not notation.is_text or dice.chance(60))
    if in_tree:
        for _ in range(dice.one((1, 1, 2, 4))):
            tree = changed_tree(tree, dice, dictionary(), changed_text)
    text = notation.text(tree, dice)
    if in_tree and (not notation.is_text or dice.chance(70)):
        return text
    for _ in range(dice.one((1, 1, 1, 1, 2, 5))):
        text = changed_text(text, dice)
    return _lengthened(text, dice) if dice.random.random() < 0.001 else text


def _lengthened(text: str, dice: Dice) -> str:
    place = dice.number(0, len(text))
    middle = text[place : place + dice.number(1, 2_000)] or "x"
    times = dice.number(1, MOST_AT_ALL) // len(middle)
    return text[:place] + middle * times + text[place:]


def changed_text(text: str, dice: Dice) -> str:
    """Half of the changes are small, so that many definitions still mean something."""
    change = dice.one(_SMALL if dice.chance(50) else _GREAT)
    return change(text, dice)[:MOST_CHARACTERS]


# --- texts ----------------------------------------------------------------------------


def _place(text: str, dice: Dice) -> tuple[int, int]:
    """The ends of some short part."""
    start = dice.number(0, len(text))
    return start, min(len(text), start + dice.one((0, 1, 1, 2, 5, 20)))


def _characters(text: str, dice: Dice) -> str:
    start, end = _place(text, dice)
    return text[:start] + dice.one(CHARACTERS) * dice.one((1, 1, 1, 2, 50)) + text[end:]


def _left_out(text: str, dice: Dice) -> str:
    start, end = _place(text, dice)
    return text[:start] + text[end:]


def _repeated(text: str, dice: Dice) -> str:
    start, end = _place(text, dice)
    return text[:end] + text[start:end] * dice.one((1, 2, 30)) + text[end:]


def _bytes(text: str, dice: Dice) -> str:
    """As if the file were damaged, and its bytes read as they are."""
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(dice.one((1, 1, 3))):
        if content:
            content[dice.number(0, len(content) - 1)] = dice.number(0, 255)
    return content.decode(dice.one(("utf-8", "latin-1")), dice.one(("replace", "surrogateescape")))


def _words(text: str, dice: Dice) -> str:
    words = _WORD.findall(text) or [""]
    first, second = (dice.number(0, len(words) - 1) for _ in range(2))
    way = dice.number(0, 3)
    if way == 0:
        words[first], words[second] = words[second], words[first]
    elif way == 1:
        words[first] = words[second]
    elif way == 2:
        words[first] = dice.one(dictionary())
    else:
        words.insert(first, f" {dice.one(dictionary())} ")
    return "".join(words)


def _tricks(text: str, dice: Dice) -> str:
    """Something that YAML, XML or a database would take for an order."""
    start, end = _place(text, dice)
    if dice.chance(50):
        start = end = text.rfind("\n", 0, start) + 1
    return text[:start] + dice.one(TRICKS) + text[end:]


def _nested(text: str, dice: Dice) -> str:
    start, end = _place(text, dice)
    opening, closing = dice.one(NESTS)
    times = dice.one((2, 10, 45, 60, 300, 1_500))
    return text[:start] + opening * times + text[start:end] + closing * times + text[end:]


def _alike(text: str, dice: Dice) -> str:
    """One number, sign, text or name for another of its sort."""
    found = list(islice(ALIKE.finditer(text), 300))
    if not found:
        return text
    piece = dice.one(found)
    return text[: piece.start()] + dice.one(SORTS[piece.lastgroup or ""]) + text[piece.end() :]


def _capitals(text: str, dice: Dice) -> str:
    start, end = _place(text, dice)
    return text[:start] + text[start:end].swapcase() + text[end:]


def _spaces(text: str, dice: Dice) -> str:
    start, _ = _place(text, dice)
    return text[:start] + dice.one((" ", "  ", "\n", "\t", "\u3000", "\xa0")) + text[start:]


_SMALL: tuple[Mutation, ...] = (_alike, _alike, _alike, _alike, _capitals, _spaces)
_GREAT: tuple[Mutation, ...] = (
    *(_characters, _characters, _left_out, _repeated, _bytes, _words, _words, _words, _tricks),
    _nested,
)
