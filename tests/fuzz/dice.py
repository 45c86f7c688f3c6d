"""Seeded choices: the same seed gives the same definition on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """What a generator decides by.

    A definition is honest, or one of few that also use names that are not declared. Most are
    short, as people write them; what is long costs time, and most of it says nothing new.
    """

    def __init__(self, seed: str, *, dishonest: int = 15) -> None:
        self.random = Random(seed)  # noqa: S311 - chooses test data
        self.is_honest = not self.chance(dishonest)
        self.is_short = self.chance(80)

    def one(self, options: Sequence[T]) -> T:
        return options[int(self.random.random() * len(options))]

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def more(self, percent: int) -> bool:
        """Whether something is said that need not be: a short definition has little of that."""
        return self.chance(percent // 3 if self.is_short else percent)

    def number(self, least: int, most: int) -> int:
        return least + int(self.random.random() * (most - least + 1))

    def several(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Some of the options, none of them twice."""
        return self.random.sample(options, min(len(options), self.number(least, most)))
