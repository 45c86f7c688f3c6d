"""What requests look like: strict, closed, and bounded in length. Replies: `reply_models`.

Amounts of ε and wanted accuracies are decimals written as text, never floats, so that what
was asked for is what is charged. Days are ISO dates. The OpenAPI documents are made of these.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from pappi.values.privacy import UNDER_REPLACE

MOST_DEFINITIONS = 1_000_000

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""Of a log."""
Person = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.@-]{0,63}$")]
"""The name of an analyst, or of an owner's key."""
Amount = Annotated[str, Field(pattern=r"^[0-9]{1,7}(\.[0-9]{1,9})?$", examples=["0.1"])]
"""An ε, as an exact decimal."""
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Exact = Annotated[str, Field(pattern=r"^-?[0-9]{1,40}([./][0-9]{1,40})?$", examples=["2.5"])]
"""A number as a decimal, or as a fraction such as 1/3."""
Range = Annotated[list[Exact], Field(min_length=2, max_length=2)]
Notation = Literal["yaml", "json", "java", "text", "bpmn"]
UnitName = Literal["day", "week", "month", "quarter", "year"]
KindName = Literal["number", "text", "truth", "duration", "time"]
RightName = Literal["preview", "release", "read", "capture", "manage"]
AdjacencyName = Annotated[
    Literal["add-remove", "replace"], Field(description=f"Under replace: {UNDER_REPLACE}")
]


def _as_day(written: object) -> object:
    """Text to a date; a number is not one, and neither is a time."""
    if not isinstance(written, str) or len(written) != 10:
        raise ValueError("write a day as 2025-12-31")
    try:
        return date.fromisoformat(written)
    except ValueError:
        raise ValueError("there is no such day") from None


Day = Annotated[
    date, BeforeValidator(_as_day), WithJsonSchema({"type": "string", "format": "date"})
]


def _as_instant(written: object) -> object:
    if not isinstance(written, str) or len(written) > 40:
        raise ValueError("write a time as 2025-12-31T23:59:59Z")
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError("there is no such time") from None
    if found.tzinfo is None:
        raise ValueError("a time needs its offset from UTC, or Z")
    return found


Instant = Annotated[
    datetime,
    BeforeValidator(_as_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


# --- parts of both ----------------------------------------------------------------------


class Blocks(_Request):
    """A log's blocks: every `count` calendar units."""

    unit: UnitName = "month"
    count: Annotated[int, Field(ge=1, le=366)] = 1


class Unit(_Request):
    """Whom the guarantee protects: without a column a case, with one a person."""

    column: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    max_cases: Annotated[int, Field(ge=1, le=1_000)] = 1
    per: Literal["log", "block"] = "log"


class DefaultBounds(_Request):
    """What a case contributes where a PPI does not say: from, to, as exact numbers.

    Durations are in seconds.
    """

    durations: Range | None = None
    counts: Range | None = None
    attributes: Annotated[dict[Text, Range], Field(max_length=1_000)] = {}


# --- what analysts send -----------------------------------------------------------------


class Definitions(_Request):
    """PPIs as text, in any notation; `log` names their log if the text does not."""

    definitions: Annotated[str, Field(min_length=1, max_length=MOST_DEFINITIONS)]
    notation: Notation | None = None
    log: Name | None = None


class ToPreview(Definitions):
    """ε for each PPI, or the typical error to be reached; not both."""

    epsilon: Amount | None = None
    accuracy: Annotated[str, Field(min_length=1, max_length=60, examples=["6 h"])] | None = None


class ToRehearse(Definitions):
    """As for a release: the same can be sent to both."""

    epsilon: Amount | None = None


class ToRelease(Definitions):
    epsilon: Amount | None = None


class ToSubscribe(Definitions):
    """Release each period up to `until`, once it is sealed; its ε is reserved now."""

    until: Day
    epsilon: Amount | None = None


# --- what the owner sends ---------------------------------------------------------------


class NewLog(_Request):
    """An empty log, to be fed with events: everything that is public about it."""

    name: Name
    first: Day
    timezone: Annotated[str, Field(min_length=1, max_length=64)] = "UTC"
    anchor: Literal["case start", "case end"] = "case end"
    blocks: Blocks = Blocks()
    unit: Unit = Unit()
    adjacency: AdjacencyName = "add-remove"
    block_budget: Amount = "1"
    total_budget: Amount | None = None
    expected_cases: Annotated[int, Field(ge=1, le=10**9)] | None = None
    activities: Annotated[list[Text], Field(max_length=10_000)]
    attributes: Annotated[dict[Text, KindName], Field(max_length=1_000)] = {}
    keys: Annotated[
        dict[Text, Annotated[list[Text], Field(max_length=1_000)]], Field(max_length=1_000)
    ] = {}
    bounds: DefaultBounds = DefaultBounds()


class ToSeal(_Request):
    """Up to which day, the first of a block: what is sealed stays so."""

    until: Day


class ToErase(_Request):
    """Cases by id, persons by their value of the unit's column, or whole blocks by label."""

    cases: Annotated[list[Text], Field(max_length=100_000)] = []
    persons: Annotated[list[Text], Field(max_length=100_000)] = []
    blocks: Annotated[list[Text], Field(max_length=10_000)] = []


class ToGrant(_Request):
    """What each block may spend, and the log in all."""

    per_block: Amount
    total: Amount | None = None


class ToGrantAnalyst(_Request):
    """What an analyst may spend of each block."""

    per_block: Amount


class NewKey(_Request):
    """A key of an analyst or an owner: with all rights of the role, until it is revoked.

    Or with some of the rights (analysts: preview, release; owners: read, capture, manage),
    or until it expires.
    """

    role: Literal["analyst", "owner"]
    name: Person
    rights: Annotated[list[RightName], Field(min_length=1, max_length=5)] | None = None
    expires: Instant | None = None


class ToStop(_Request):
    """Why all releases are refused from now on."""

    reason: Annotated[str, Field(min_length=1, max_length=200)]
