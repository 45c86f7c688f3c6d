"""What requests and replies look like; the OpenAPI documents are made of these.

Requests are strict, closed, and bounded in length. Amounts of ε and accuracies are decimals written
as text, never floats, so that exactly what was requested is charged. Days are ISO dates.

Replies are objects of a session's own types, written by its codec: a route returns one of these,
`session.wire` writes it, and `reply_model` makes of the same description the model that the OpenAPI
document shows and every reply is checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
)

from pappi.checkpoint import PastRelease, Price
from pappi.custody import NewLog, Sealed, TrailEntry
from pappi.errors import Problem, UsageError
from pappi.ledger import ChargeRecord, Forecast
from pappi.ppinot import Notation
from pappi.session import from_wire, is_named, wire_fields
from pappi.store import SavedQuery, Subscription
from pappi.values import (
    UNDER_REPLACE,
    Adjacency,
    BudgetLine,
    By,
    Calendar,
    CaseBorder,
    Epsilon,
    ExactAnswer,
    Grant,
    Grid,
    KeyRecord,
    Kind,
    Per,
    PrivacyUnit,
    PublicLog,
    Quote,
    Right,
    Role,
    Series,
    Terms,
    Vocabulary,
)
from pappi.values import DefaultBounds as DeclaredBounds

MOST_DEFINITIONS = 1_000_000
Member = TypeVar("Member")

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""The name of a log."""
Person = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.@-]{0,63}$")]
"""The name of an analyst, or of an owner's key."""
Amount = Annotated[str, Field(pattern=r"^[0-9]{1,7}(\.[0-9]{1,9})?$", examples=["0.1"])]
"""An ε, as an exact decimal."""
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Exact = Annotated[str, Field(pattern=r"^-?[0-9]{1,40}([./][0-9]{1,40})?$", examples=["2.5"])]
"""A number as a decimal, or as a fraction such as 1/3."""
Range = Annotated[list[Exact], Field(min_length=2, max_length=2)]
# Not strict, because JSON has the value of an enum's member, never the member.
Choice = Annotated[Member, Field(strict=False)]
ABOUT_ADJACENCY = Field(description=f"Under replace: {UNDER_REPLACE}")
Once = AfterValidator(lambda names: list(dict.fromkeys(names)))
"""For lists: duplicates count once."""


def _as_day(value: object) -> object:
    """Text to a date; a number is not one, and neither is a time."""
    if not isinstance(value, str) or len(value) != 10:
        raise ValueError("write a day as 2025-12-31")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("there is no such day") from None


Day = Annotated[
    date, BeforeValidator(_as_day), WithJsonSchema({"type": "string", "format": "date"})
]


def _as_instant(value: object) -> object:
    if not isinstance(value, str) or len(value) > 40:
        raise ValueError("write a time as 2025-12-31T23:59:59Z")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("there is no such time") from None
    if instant.tzinfo is None:
        raise ValueError("a time needs its offset from UTC, or Z")
    return instant


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

    unit: Choice[Calendar] = Calendar.MONTH
    count: Annotated[int, Field(ge=1, le=366)] = 1


class Unit(_Request):
    """The privacy unit: a case, or with a column the person it identifies."""

    column: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    max_cases: Annotated[int, Field(ge=1, le=1_000)] = 1
    per: Choice[Per] = Per.LOG


class DefaultBounds(_Request):
    """Default contribution bounds for PPIs that name none: from, to, as exact numbers.

    Durations are in seconds.
    """

    durations: Range | None = None
    counts: Range | None = None
    attributes: Annotated[dict[Text, Range], Field(max_length=1_000)] = {}


# --- what analysts send -----------------------------------------------------------------


class Definitions(_Request):
    """PPIs as text, in any notation; `log` names their log if the text does not.

    With a `total`, all of them together have that ε in each block, by one draw where that is
    better.
    """

    definitions: Annotated[str, Field(min_length=1, max_length=MOST_DEFINITIONS)]
    notation: Choice[Notation] | None = None
    log: Name | None = None
    total: Amount | None = None


class ToUnderstand(_Request):
    """One sentence in everyday words, about a log; the log may go unsaid if there is only one."""

    text: Annotated[str, Field(min_length=1, max_length=2_000, examples=["How long, per month?"])]
    log: Name | None = None


class ToPreview(Definitions):
    """ε for each PPI, or the margin of error (95 %) to aim for; not both."""

    epsilon: Amount | None = None
    accuracy: Annotated[str, Field(min_length=1, max_length=60, examples=["6 h"])] | None = None


class ToAdvise(Definitions):
    """ε for each PPI, if not as they name it."""

    epsilon: Amount | None = None


Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]


class ToCompare(Definitions):
    """Two periods by their labels, or two groups by their keys; and how they are compared."""

    periods: Annotated[Pair, Field(examples=[["2024-02", "2024-01"]])] | None = None
    groups: Pair | None = None
    by: Choice[By] = By.DIFFERENCE


class ToReplay(Definitions):
    """With `smooth`, also what smoothing makes of the released values."""

    smooth: bool = False


class ToRehearse(Definitions):
    """The same body as for a release."""

    epsilon: Amount | None = None
    smooth: bool = False


class ToRelease(Definitions):
    """`smooth` also smooths the series, and `whole` spends that share of ε on the whole time.

    With the name of a `price`, nothing is charged unless that is still the price. What would
    tell nothing is refused unless it is to be released `anyway`. What follows from the record is
    not paid for if it is as exact; with `derived`, however exact it is, and if that is false never.
    """

    epsilon: Amount | None = None
    smooth: bool = False
    whole: Amount | None = None
    price: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    anyway: bool = False
    derived: bool | None = None


class ToSubscribe(Definitions):
    """Release each period up to `until`, once it is sealed; its ε is reserved now.

    What would tell nothing is refused unless it is wanted `anyway`.
    """

    until: Day
    epsilon: Amount | None = None
    anyway: bool = False


# --- what the owner sends ---------------------------------------------------------------


class ToCreate(_Request):
    """An empty log that will capture events: all its public facts."""

    name: Name
    first: Day
    timezone: Annotated[str, Field(min_length=1, max_length=64)] = "UTC"
    anchor: Choice[CaseBorder] = CaseBorder.END
    blocks: Blocks = Blocks()
    unit: Unit = Unit()
    adjacency: Annotated[Choice[Adjacency], ABOUT_ADJACENCY] = Adjacency.ADD_REMOVE
    block_budget: Amount = "1"
    total_budget: Amount | None = None
    expected_cases: Annotated[int, Field(ge=1, le=10**9)] | None = None
    weights: Annotated[
        dict[
            Text,
            Annotated[dict[Text, Annotated[int, Field(ge=1, le=10**9)]], Field(max_length=1_000)],
        ],
        Field(max_length=1_000),
    ] = {}
    activities: Annotated[list[Text], Field(max_length=10_000), Once]
    attributes: Annotated[dict[Text, Choice[Kind]], Field(max_length=1_000)] = {}
    keys: Annotated[
        dict[Text, Annotated[list[Text], Field(max_length=1_000), Once]], Field(max_length=1_000)
    ] = {}
    bounds: DefaultBounds = DefaultBounds()

    def new(self) -> NewLog:
        """As custody takes it."""
        keys = {name: tuple(keys) for name, keys in self.keys.items()}
        try:
            terms = from_wire(Terms, self.model_dump(mode="json"))
        except (ValueError, ZeroDivisionError):  # everything but the bounds was checked above
            raise UsageError(
                "bounds are two numbers, the smaller first", hint='write e.g. ["0", "60"]'
            ) from None
        return NewLog(first=self.first, keys=keys, terms=terms)

    def vocabulary(self) -> Vocabulary:
        names = self.model_dump(mode="json", include={"activities", "attributes"})
        return from_wire(Vocabulary, names)


class ToSeal(_Request):
    """The first day that stays unsealed, the first of a block. Sealing cannot be undone."""

    until: Day


class ToErase(_Request):
    """Cases by id, persons by their value of the unit's column, or whole blocks by label."""

    cases: Annotated[list[Text], Field(max_length=100_000)] = []
    persons: Annotated[list[Text], Field(max_length=100_000)] = []
    blocks: Annotated[list[Text], Field(max_length=10_000)] = []


class ToGrant(_Request):
    """What each block may spend, and the log in total."""

    per_block: Amount
    total: Amount | None = None


class ToGrantAnalyst(_Request):
    """What an analyst may spend of each block."""

    per_block: Amount


class NewKey(_Request):
    """A key for an analyst or an owner. By default it has all rights of the role and never expires.

    Or with some of the rights (analysts: preview, release; owners: read, capture, manage),
    or until it expires.
    """

    role: Choice[Role]
    name: Person
    rights: Annotated[list[Choice[Right]], Field(min_length=1, max_length=5)] | None = None
    expires: Instant | None = None


class ToRename(_Request):
    """The new name of a log."""

    to: Name


class ToStop(_Request):
    """Why all answers are stopped."""

    reason: Annotated[str, Field(min_length=1, max_length=200)]


# --- replies: of both -----------------------------------------------------------------------


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


# --- what analysts get ----------------------------------------------------------------------------


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


# --- what the owner gets -----------------------------------------------------------------------


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
