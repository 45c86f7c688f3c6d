"""What is protected, and what counts as a neighbouring log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from pappi.errors import UsageError

JSON: TypeAlias = "bool | int | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""Plain data to hash and store. No floats: they have no unique spelling."""

# Noise that hides more cases than this would drown every answer.
MOST_CASES = 1000
_CASE = "case"


class Adjacency(StrEnum):
    """Which two logs a guarantee compares. An explicit parameter of every mechanism.

    ADD_REMOVE  one unit more or less; the number of cases stays private.
    REPLACE     one case's content differs, and `UNDER_REPLACE`.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


# Analysts choose the periods, down to days. Another group or bucket, or a value that comes or
# goes, is one removal and one addition for a function, which is noised accordingly.
UNDER_REPLACE = (
    "The day of every case is public, and so is the number of cases of every single day: a case "
    "keeps its day, but may change its group or bucket, and gain or lose a value."
)
"""What `replace` gives up and what it protects: these words are used wherever it is explained."""


class Per(StrEnum):
    """Where a person's cases are counted.

    LOG    in the whole log: the guarantee is the person's, whatever the block.
    BLOCK  in each block anew: the guarantee is the person's in one block.
    """

    LOG = "log"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose influence the guarantee bounds: one case, or a person that has several.

    A person is a value of a case-level attribute, the `column`; of their cases at most
    `max_cases` count. That is enforced where cases are read, never trusted.

    >>> str(CASE), str(PrivacyUnit("patient_id", 3))
    ('case', 'patient_id, at most 3 cases per log')
    """

    column: str | None = None
    max_cases: int = 1
    per: Per = Per.LOG

    def __post_init__(self) -> None:
        if self.column is None and (self.max_cases, self.per) != (1, Per.LOG):
            raise UsageError(
                "a bound on a person's cases needs the attribute that tells persons apart",
                hint="name it as the unit's column, or use one case as the unit",
            )
        if self.column is not None and not self.column.strip():
            raise UsageError(
                "the privacy unit names no attribute", hint="name one, such as patient_id"
            )
        if not 1 <= self.max_cases <= MOST_CASES:
            raise UsageError(
                f"a person can count with 1 to {MOST_CASES:,} cases, not {self.max_cases:,}",
                hint="noise grows in proportion to that number: keep it small",
            )

    def require_neighbours(self, adjacency: Adjacency) -> None:
        """Refuse what is not defined: replacing a person while keeping the number of cases."""
        if self.column is not None and adjacency is Adjacency.REPLACE:
            raise UsageError(
                f"the unit '{self.column}' cannot be protected under replace, which makes the "
                "number of cases public: how many cases a person has is private",
                hint="use add-remove",
            )

    def to_json(self) -> JSON:
        if self.column is None:
            return _CASE
        return {"column": self.column, "max_cases": self.max_cases, "per": str(self.per)}

    @classmethod
    def from_json(cls, data: str | Mapping[str, Any]) -> PrivacyUnit:
        if isinstance(data, str):
            if data != _CASE:
                raise UsageError(f"'{data}' is not a privacy unit", hint=f"write '{_CASE}'")
            return CASE
        return cls(data["column"], data["max_cases"], Per(data["per"]))

    def __str__(self) -> str:
        if self.column is None:
            return _CASE
        cases = "case" if self.max_cases == 1 else "cases"
        return f"{self.column}, at most {self.max_cases} {cases} per {self.per}"


CASE = PrivacyUnit()
