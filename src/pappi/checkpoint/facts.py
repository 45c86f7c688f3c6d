"""What a session tells an analyst besides quotes and answers; the same here and over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pappi.errors import Problem
from pappi.ledger import Charge, ChargeRecord
from pappi.values import Epsilon


@dataclass(frozen=True, slots=True)
class PastRelease:
    """One charge: what was asked of which blocks, when, and whether it was released.

    How long that took depends on data, so when it was released is not told; nor is who else
    asked, only whether it was `mine`.
    """

    number: int
    time: str
    released: bool
    ppi: str
    mechanisms: tuple[str, ...]
    blocks: tuple[str, ...]
    epsilon: Epsilon
    mine: bool

    @classmethod
    def of(cls, record: ChargeRecord, analyst: str) -> PastRelease:
        charge = record.charge
        return cls(
            number=record.seq,
            time=datetime.fromisoformat(record.at).isoformat(timespec="seconds"),
            released=record.released_at is not None,
            **what_was_charged(charge),
            mine=charge.analyst == analyst,
        )


def what_was_charged(charge: Charge) -> dict[str, Any]:
    """A charge by what everybody may know of it."""
    question: Mapping[str, Any] = charge.query
    return {
        "ppi": question["ppi"],
        "mechanisms": tuple(part["mechanism"] for part in question["parts"]),
        "blocks": tuple(account.block for account in charge.accounts),
        "epsilon": charge.amount,
    }


@dataclass(frozen=True, slots=True)
class Checked:
    """Valid definitions: the PPIs by id, and why some of them cannot be released."""

    log: str
    ppis: tuple[str, ...]
    warnings: tuple[Problem, ...]
