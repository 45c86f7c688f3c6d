"""What replies look like: closed, so that the OpenAPI documents say exactly what comes.

Amounts of ε are decimals written as text, as in requests.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pappi.service.models import AdjacencyName, Amount, Blocks, DefaultBounds, KindName, Unit


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemItem(_Reply):
    """One thing wrong: in definitions with line and column, in a request with its place."""

    message: str
    hint: str = ""
    level: Literal["error", "warning"] = "error"
    line: int | None = None
    column: int | None = None
    place: str | None = None


class ProblemReply(_Reply):
    """Any failure, after RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str
    problems: list[ProblemItem] = []


class Health(_Reply):
    status: Literal["ok"] = "ok"


class LogReply(_Reply):
    """What is declared, and so public, about a log."""

    name: str
    timezone: str
    anchor: str
    blocks: Blocks
    first: date
    until: date
    unit: Unit
    adjacency: AdjacencyName
    block_budget: Amount
    total_budget: Amount | None
    expected_cases: int | None
    activities: list[str]
    attributes: dict[str, KindName]
    keys: dict[str, list[str]]
    bounds: DefaultBounds


class LogsReply(_Reply):
    logs: list[LogReply]


class BudgetLineReply(_Reply):
    """One block's account: what it may spend, has spent, holds for standing questions.

    An analyst with a share of it has own numbers besides; `left` is what both leave.
    """

    block: str
    limit: Amount
    spent: Amount
    held: Amount
    own_limit: Amount | None
    own_used: Amount
    left: Amount


class BudgetReply(_Reply):
    log: str
    blocks: list[BudgetLineReply]


class ReleaseItem(_Reply):
    """One charge: what was asked of which blocks, when, and whether it was released.

    How long that took depends on data; it shows in steps of the time grid alone.
    """

    number: int
    time: str
    released: bool
    ppi: str
    mechanisms: list[str]
    blocks: list[str]
    epsilon: Amount
    mine: bool


class ReleasesReply(_Reply):
    """One page, oldest first; `next` is what to ask the next page `after`."""

    log: str
    releases: list[ReleaseItem]
    next: int | None


class ChargeItem(_Reply):
    """The same for the owner, who sees whose charge it is, and when it was released."""

    number: int
    time: str
    released: str | None
    ppi: str
    mechanisms: list[str]
    blocks: list[str]
    epsilon: Amount
    analyst: str


class ChargesReply(_Reply):
    log: str
    releases: list[ChargeItem]
    next: int | None


class StandingItem(_Reply):
    """A question that is asked again for every block, from `first` up to `until`."""

    id: str
    log: str
    definitions: str
    epsilon: Amount | None
    first: date
    until: date


class StandingReply(_Reply):
    standing: list[StandingItem]


class EndedReply(_Reply):
    """How many cells that were still reserved were given up."""

    cancelled: int


class CheckedPpi(_Reply):
    id: str
    name: str


class CheckReply(_Reply):
    """Sound definitions; the warnings say what keeps some of them from being released."""

    log: str
    ppis: list[CheckedPpi]
    warnings: list[ProblemItem]


class OptionReply(_Reply):
    """One way to release a PPI, or why it is none."""

    functions: list[str]
    mechanism: str | None
    typical_error: float | None
    margin: float | None
    shares: list[float]
    mechanisms: list[str]
    chosen: bool
    reason: str


class QuantileReply(_Reply):
    """The noise keeps the value within ±`within`, with this confidence."""

    confidence: float
    within: float


class QuoteReply(_Reply):
    """What a PPI would cost and how far off it would be.

    `margin` is the half-width at 95 %, null where `margin_note` says why; `quantiles` are others.
    They hold wherever the values lie; if `assumes` is not empty, only where that is so.
    """

    ppi: str
    name: str
    epsilon: Amount
    functions: list[str]
    mechanism: str
    typical_error: float | None
    margin: float | None
    margin_note: str
    assumes: str
    fewer: str
    quantiles: list[QuantileReply]
    verdict_only: bool
    target: TargetReply | None
    unit: str
    assumed_cases: int
    charges: int
    new_charges: int
    shares: list[float]
    mechanisms: list[str]
    clipping: str
    advice: str
    options: list[OptionReply]


class PreviewReply(_Reply):
    log: str
    quotes: list[QuoteReply]


class PeriodReply(_Reply):
    """The days from `start` up to but not including `end`."""

    start: date
    end: date


class IntervalReply(_Reply):
    """Where the value without noise lies, with this confidence; null is no limit."""

    low: float | None
    high: float | None
    confidence: float


class GuaranteeReply(_Reply):
    """The promise an answer was released under."""

    epsilon: Amount
    unit: Unit
    adjacency: AdjacencyName
    mechanism: str


class AnswerReply(_Reply):
    """One released value, with its uncertainty and its guarantee."""

    ppi: str
    period: PeriodReply
    group: str | None
    value: float | None
    unit: str
    interval: IntervalReply
    cases: float | None
    verdict: Literal["met", "missed", "undecided"] | None
    chance_met: float | None
    ceiling: float | None
    band: str | None
    guarantee: GuaranteeReply
    charged: Amount
    replayed: bool


class TargetReply(_Reply):
    """A target in the unit of the answers; null is no limit on that side."""

    low: float | None
    high: float | None
    text: str
    tolerated: TargetReply | None = None


class SeriesReply(_Reply):
    """All answers of one PPI; a rehearsal is about made-up cases."""

    ppi: str
    name: str
    unit: str
    sentence: str
    target: TargetReply | None
    group_targets: dict[str, TargetReply]
    clipping: str
    caution: str
    rehearsal: bool
    answers: list[AnswerReply]


class ReleaseReply(_Reply):
    log: str
    series: list[SeriesReply]


class RehearsalReply(_Reply):
    """What a release would look like: no figure in it was released, or is about anybody."""

    log: str
    rehearsal: Literal[True] = True
    series: list[SeriesReply]


class ExactAnswerReply(_Reply):
    """A value without noise: for the owner's eyes only."""

    ppi: str
    period: PeriodReply
    group: str | None
    value: float | None
    unit: str


class ExactReply(_Reply):
    log: str
    answers: list[ExactAnswerReply]


class CapturedReply(_Reply):
    """Events that are durable now, and events that were there before."""

    accepted: int
    duplicates: int


class SealedReply(_Reply):
    """What was sealed, how many late events stay apart, and standing questions answered."""

    log: str
    until: date
    cases: int
    events: int
    late: int
    standing: int


class ErasedReply(_Reply):
    cases: int
    events: int


class VerifiedReply(_Reply):
    """The ledger's chain, checked from its first entry to its last.

    `entries` counts those in order; `head` is the last digest, worth noting elsewhere.
    """

    verifies: bool
    entries: int
    head: str
    problem: str


class GrantReply(_Reply):
    """That an analyst may ask about a log, and spend so much of each block."""

    log: str
    analyst: str
    per_block: Amount


class GrantsReply(_Reply):
    log: str
    analysts: list[GrantReply]


class StoppedReply(_Reply):
    """Whether nothing is answered, and why."""

    stopped: bool
    reason: str | None


class KeyReply(_Reply):
    """A key without its secret, which is not kept."""

    id: str
    role: str
    name: str
    rights: list[str]
    created: str
    expires: str | None
    revoked: bool


class KeysReply(_Reply):
    keys: list[KeyReply]


class IssuedKeyReply(_Reply):
    """A new key: the secret is shown this once."""

    key: KeyReply
    secret: str


class TrailEntry(_Reply):
    """One entry of the journal: who did what, without key digests and released numbers."""

    number: int
    time: str
    kind: str
    what: dict[str, Any]


class TrailReply(_Reply):
    entries: list[TrailEntry]
    next: int | None
