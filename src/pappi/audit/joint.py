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

    def law(self, values: Values) -> Law: ...


@dataclass(frozen=True, slots=True)
class JointRelease:
    """Several mechanisms over the same cases, the i-th on the i-th value of each row.

    Their noises are independent, so the law of all they release is the joint law, and
    their losses add up: this is where an ε that was not split shows.
    """

    mechanisms: tuple[Audited, ...]

    @property
    def name(self) -> str:
        return " + ".join(mechanism.name for mechanism in self.mechanisms)

    def law(self, data: Data) -> JointLaw:
        return JointLaw(
            tuple(
                mechanism.law(np.array([row[i] for row in data], dtype=np.float64))
                for i, mechanism in enumerate(self.mechanisms)
            )
        )
