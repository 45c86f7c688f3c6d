"""What replies look like: objects of a session's own types, written by its codec.

A route returns one of these; `session.wire` writes it, and `reply_model` makes of the same
description the model that the OpenAPI document shows and every reply is checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from pappi.checkpoint import PastRelease, Price
from pappi.custody import Sealed, TrailEntry
from pappi.errors import Problem
from pappi.ledger import ChargeRecord, Forecast
from pappi.service.models import ABOUT_ADJACENCY, Amount, Blocks, DefaultBounds, Unit
from pappi.session import is_named, wire_fields
from pappi.store import SavedQuery, Subscription
from pappi.values import (
    Adjacency,
    BudgetLine,
    CaseBorder,
    Epsilon,
    ExactAnswer,
    Grant,
    Grid,
    KeyRecord,
    PrivacyUnit,
    PublicLog,
    Quote,
    Right,
    Role,
    Series,
)
from pappi.values import DefaultBounds as DeclaredBounds


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemItem(_Reply):
    """One problem: in definitions with line and column, in a request with its location."""

    message: str
    hint: str = ""
    level: Literal["error", "warning"] = "error"
    line: int | None = None
    column: int | None = None
    place: str | None = None


class ProblemReply(_Reply):
    """Any failure, as in RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str
    problems: list[ProblemItem] = []


class Health(_Reply):
    """That the service runs."""

    status: Literal["ok"] = "ok"


# --- to analysts ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs you may ask about."""

    logs: tuple[PublicLog, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """What each block of a log may spend, and has spent."""

    log: str
    blocks: tuple[BudgetLine, ...]


@dataclass(frozen=True, slots=True)
class Releases:
    """One page, oldest first; `next` is what to ask the next page `after`."""

    log: str
    releases: tuple[PastRelease, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class CheckedPpi:
    """A PPI by its id and name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CheckedDefinitions:
    """Valid definitions; the warnings say why some of them cannot be released."""

    log: str
    ppis: tuple[CheckedPpi, ...]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class SuggestedDefinitions:
    """A first catalogue for a log, in YAML."""

    log: str
    definitions: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A quote for each PPI."""

    log: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Priced:
    """What asking everything together costs; `name` can be sent with a release."""

    log: str
    price: Price


@dataclass(frozen=True, slots=True)
class Forecasts:
    """How long the budget lasts: of each PPI, and of all together; null is free."""

    log: str
    forecasts: tuple[Forecast | None, ...]
    outlook: Forecast | None


@dataclass(frozen=True, slots=True)
class ReleasedSeries:
    """The answers of each PPI, period by period."""

    log: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a release would look like: simulated figures, about nobody."""

    log: str
    series: tuple[Series, ...]
    rehearsal: Literal[True] = True


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Your subscriptions."""

    subscriptions: tuple[Subscription, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """How many reservations were released."""

    cancelled: int


@dataclass(frozen=True, slots=True)
class SavedQueries:
    """The latest first."""

    saved: tuple[SavedQuery, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """The saved query; null if it is too long, or the list is full."""

    saved: SavedQuery | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """That a saved query is gone."""

    forgotten: str


# --- to the owner -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnersCharge:
    """A charge as the owner sees it: whose it is, and when it was released."""

    number: int
    time: str
    released: str | None
    ppi: str
    mechanisms: tuple[str, ...]
    blocks: tuple[str, ...]
    epsilon: Epsilon
    analyst: str

    @classmethod
    def of(cls, record: ChargeRecord) -> OwnersCharge:
        charge = record.charge
        return cls(
            number=record.seq,
            time=record.at,
            released=record.released_at,
            ppi=charge.ppi,
            mechanisms=charge.mechanisms,
            blocks=charge.blocks,
            epsilon=charge.amount,
            analyst=charge.analyst,
        )


@dataclass(frozen=True, slots=True)
class Charges:
    """Charges of a log, oldest first."""

    log: str
    releases: tuple[OwnersCharge, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class ExactAnswers:
    """Exact values, for the owner alone."""

    log: str
    answers: tuple[ExactAnswer, ...]


@dataclass(frozen=True, slots=True)
class SealedLog(Sealed):
    """What was sealed, how many late events were set aside, and subscriptions answered."""

    subscriptions: int


@dataclass(frozen=True, slots=True)
class Grants:
    """What analysts have been granted."""

    log: str
    analysts: tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class StopSwitch:
    """Whether all answers are stopped, and why."""

    stopped: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys, without their secrets."""

    keys: tuple[KeyRecord, ...]


@dataclass(frozen=True, slots=True)
class Trail:
    """Entries of the ledger, in words."""

    entries: tuple[TrailEntry, ...]
    next: int | None


# --- the same, for the OpenAPI document ---------------------------------------------------------

# Types that the codec writes in a form of their own, or whose texts have a known pattern.
_WRITTEN_AS: Mapping[Any, Any] = {
    Adjacency: Annotated[Literal[tuple(map(str, Adjacency))], ABOUT_ADJACENCY],
    CaseBorder: str,
    DeclaredBounds: DefaultBounds,
    Epsilon: Amount,
    Grid: Blocks,
    PrivacyUnit: Unit,
    Problem: ProblemItem,
    Right: str,
    Role: str,
    datetime: str,
    get_type_hints(TrailEntry)["what"]: dict[str, Any],  # any JSON
}


@cache
def reply_model(kind: type) -> type[BaseModel]:
    """The model of this dataclass on the wire: closed, so that nothing else can be sent."""
    model_fields: dict[str, Any] = {}
    for wired in wire_fields(kind):
        default = ... if wired.required else None
        if get_origin(wired.kind) is Literal:
            (default,) = get_args(wired.kind)
        model_fields[wired.name] = (_annotation(wired.kind, kind), default)
    return create_model(kind.__name__, __base__=_Reply, __doc__=kind.__doc__, **model_fields)


def _annotation(kind: Any, within: type) -> Any:  # noqa: ANN401 - annotations are of any type
    if kind in _WRITTEN_AS:
        return _WRITTEN_AS[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return Union[tuple(_annotation(member, within) for member in inner)]  # noqa: UP007 - at run time
    if is_named(kind):
        return dict[str, _annotation(get_args(inner[0])[1], within)]  # type: ignore[misc]
    if origin in (tuple, frozenset):
        return list[_annotation(inner[0], within)]  # type: ignore[misc]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _annotation(inner[1], within)]  # type: ignore[misc]
    if kind is within:
        return kind.__name__
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(member.value for member in kind)]
    return reply_model(kind) if hasattr(kind, "__dataclass_fields__") else kind
