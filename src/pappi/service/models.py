"""What requests look like: strict, closed, and bounded in length. For replies see `replies`.

Amounts of ε and accuracies are decimals written as text, never floats, so that exactly what was
requested is charged. Days are ISO dates. The OpenAPI documents are made of these.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from pappi.custody import NewLog
from pappi.errors import UsageError
from pappi.ppinot import Notation
from pappi.session import from_wire
from pappi.values import (
    UNDER_REPLACE,
    Adjacency,
    By,
    Calendar,
    CaseBorder,
    Kind,
    Per,
    Right,
    Role,
    Terms,
    Vocabulary,
)

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
