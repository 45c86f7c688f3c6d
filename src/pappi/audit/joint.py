"""What is audited: the joint law of everything released about the same cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pappi.audit.neighbours import Data
from pappi.mechanisms.laws import JointLaw, Law
from pappi.mechanisms.mechanism import Values


class Audited(Protocol):
    """The part of a mechanism that the audit needs."""

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """How many values of a case it reads; more than one come as a row per case."""
        ...

    def law(self, values: Values) -> Law: ...


@dataclass(frozen=True, slots=True)
class JointRelease:
    """Several mechanisms over the same cases, each on its own values of every row.

    Their noises are independent, so the law of all they release is the joint law, and
    their losses add up: this is where an ε that was not split shows.
    """

    mechanisms: tuple[Audited, ...]

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    def law(self, data: Data) -> JointLaw:
        laws, start = [], 0
        for mechanism in self.mechanisms:
            end = start + mechanism.width
            laws.append(mechanism.law(columns_of(data, start, end)))
            start = end
        return JointLaw(tuple(laws))


def columns_of(data: Data, start: int, end: int) -> Values:
    """Some of the values of every case, as a mechanism takes them."""
    rows = np.array([row[start:end] for row in data], dtype=np.float64)
    rows = rows.reshape(len(data), end - start)
    return rows[:, 0] if end - start == 1 else rows
