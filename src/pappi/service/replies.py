"""Answers, quotes, accounts and declarations, in the look of the replies.

The same records the command line prints, with every ε as an exact decimal and the privacy
unit in its parts, so that a client can build the same objects again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Protocol

from pappi.budget.journal import ChargeRecord
from pappi.custody.door import TrailEntry as Recorded
from pappi.errors import Problem
from pappi.ppinot.model import Catalogue
from pappi.report.budgets import BudgetLine
from pappi.report.quotes import quote_record
from pappi.report.records import answer_record, exact_record
from pappi.service.models import (
    Blocks,
    Unit,
)
from pappi.service.models import (
    DefaultBounds as BoundsReply,
)
from pappi.service.problems import problem_record
from pappi.service.reply_models import (
    AnswerReply,
    BudgetLineReply,
    BudgetReply,
    ChargeItem,
    ChargesReply,
    CheckedPpi,
    CheckReply,
    ExactAnswerReply,
    ExactReply,
    GrantReply,
    GuaranteeReply,
    KeyReply,
    LogReply,
    PreviewReply,
    ProblemItem,
    QuoteReply,
    RehearsalReply,
    ReleaseItem,
    ReleaseReply,
    ReleasesReply,
    SeriesReply,
    StandingItem,
    TargetReply,
    TrailEntry,
)
from pappi.service.requests import SECOND_US
from pappi.values.access import Grant, KeyRecord
from pappi.values.answers import Answer, ExactAnswer, Guarantee, Series, ShownTarget
from pappi.values.bounds import Bounds, DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import PrivacyUnit
from pappi.values.quotes import Quote


class Declared(Protocol):
    """A log's declaration, by the one thing that is needed of it here."""

    def to_json(self) -> Mapping[str, Any]: ...


def log_reply(log: Declared) -> LogReply:
    found = log.to_json()
    unit, count = found["blocks"]
    total = found["total_budget"]
    return LogReply(
        name=found["name"],
        timezone=found["timezone"],
        anchor=found["anchor"],
        blocks=Blocks(unit=unit, count=count),
        first=found["first"],
        until=found["until"],
        unit=unit_reply(PrivacyUnit.from_json(found["unit"])),
        adjacency=found["adjacency"],
        block_budget=str(Epsilon(found["block_budget"])),
        total_budget=None if total is None else str(Epsilon(total)),
        expected_cases=found["expected_cases"],
        activities=list(found["activities"]),
        attributes=dict(found["attributes"]),
        keys=dict(found["keys"]),
        bounds=_default_bounds(DefaultBounds.from_json(found["bounds"])),
    )


def _default_bounds(declared: DefaultBounds) -> BoundsReply:
    durations, counts = declared.durations, declared.counts
    return BoundsReply(
        durations=None if durations is None else _range(durations, SECOND_US),
        counts=None if counts is None else _range(counts),
        attributes={name: _range(bounds) for name, bounds in declared.attributes.items()},
    )


def _range(bounds: Bounds, unit: int = 1) -> list[str]:
    return [str(bounds.low / unit), str(bounds.high / unit)]


def unit_reply(unit: PrivacyUnit) -> Unit:
    return Unit(column=unit.column, max_cases=unit.max_cases, per=unit.per.value)


def budget_reply(log: str, lines: Iterable[BudgetLine]) -> BudgetReply:
    return BudgetReply(log=log, blocks=[_budget_line(line) for line in lines])


def _budget_line(line: BudgetLine) -> BudgetLineReply:
    return BudgetLineReply(
        block=line.block,
        limit=str(line.limit),
        spent=str(line.spent),
        held=str(line.held),
        own_limit=None if line.own_limit is None else str(line.own_limit),
        own_used=str(line.own_used),
        left=str(line.left),
    )


def releases_reply(
    log: str, charges: Sequence[ChargeRecord], analyst: str, more: int | None
) -> ReleasesReply:
    """For one analyst: which charges are theirs, and not whose the others are."""
    items = [
        ReleaseItem(
            **_charge(one),
            time=datetime.fromisoformat(one.at).isoformat(timespec="seconds"),
            released=one.released_at is not None,
            mine=one.charge.analyst == analyst,
        )
        for one in charges
    ]
    return ReleasesReply(log=log, releases=items, next=more)


def charges_reply(log: str, charges: Sequence[ChargeRecord], more: int | None) -> ChargesReply:
    items = [
        ChargeItem(
            **_charge(one), time=one.at, released=one.released_at, analyst=one.charge.analyst
        )
        for one in charges
    ]
    return ChargesReply(log=log, releases=items, next=more)


def _charge(found: ChargeRecord) -> dict[str, Any]:
    charge = found.charge
    question: Mapping[str, Any] = charge.question
    return {
        "number": found.seq,
        "ppi": question["ppi"],
        "mechanisms": [part["mechanism"] for part in question["parts"]],
        "blocks": [account.block for account in charge.accounts],
        "epsilon": str(charge.amount),
    }


def check_reply(catalogue: Catalogue, warnings: Iterable[Problem]) -> CheckReply:
    return CheckReply(
        log=catalogue.log,
        ppis=[CheckedPpi(id=ppi.id, name=ppi.name) for ppi in catalogue.ppis],
        warnings=[ProblemItem(**problem_record(warning)) for warning in warnings],
    )


def preview_reply(log: str, quotes: Iterable[Quote]) -> PreviewReply:
    return PreviewReply(log=log, quotes=[_quote(quote) for quote in quotes])


def _quote(quote: Quote) -> QuoteReply:
    exact = {"name": quote.name, "epsilon": str(quote.epsilon)}
    return QuoteReply.model_validate({**quote_record(quote), **exact})


def release_reply(log: str, series: Iterable[Series]) -> ReleaseReply:
    return ReleaseReply(log=log, series=[_series(one) for one in series])


def rehearsal_reply(log: str, series: Iterable[Series]) -> RehearsalReply:
    return RehearsalReply(log=log, series=[_series(one) for one in series])


def _series(series: Series) -> SeriesReply:
    return SeriesReply(
        ppi=series.ppi,
        name=series.name,
        unit=series.unit,
        sentence=series.sentence,
        target=None if series.target is None else _target(series.target),
        group_targets={group: _target(target) for group, target in series.group_targets},
        clipping=series.clipping,
        caution=series.caution,
        rehearsal=series.rehearsed,
        answers=[_answer(answer) for answer in series.answers],
    )


def _target(target: ShownTarget) -> TargetReply:
    tolerated = None if target.tolerated is None else _target(target.tolerated)
    return TargetReply(low=target.low, high=target.high, text=target.text, tolerated=tolerated)


def _answer(answer: Answer) -> AnswerReply:
    exact = {"guarantee": _guarantee(answer.guarantee), "charged": str(answer.charged)}
    return AnswerReply.model_validate({**answer_record(answer), **exact})


def _guarantee(guarantee: Guarantee) -> GuaranteeReply:
    return GuaranteeReply(
        epsilon=str(guarantee.epsilon),
        unit=unit_reply(guarantee.unit),
        adjacency=guarantee.adjacency.value,
        mechanism=guarantee.mechanism,
    )


def exact_reply(log: str, answers: Iterable[ExactAnswer]) -> ExactReply:
    found = [ExactAnswerReply.model_validate(exact_record(answer)) for answer in answers]
    return ExactReply(log=log, answers=found)


# --- what only the owner sees, but for standing questions -------------------------------


class Standing(Protocol):
    """A question that stands, by its public parts."""

    @property
    def id(self) -> str: ...
    @property
    def log(self) -> str: ...
    @property
    def definitions(self) -> str: ...
    @property
    def epsilon(self) -> Epsilon | None: ...
    @property
    def first(self) -> date: ...
    @property
    def until(self) -> date: ...


def standing_item(question: Standing) -> StandingItem:
    return StandingItem(
        id=question.id,
        log=question.log,
        definitions=question.definitions,
        epsilon=None if question.epsilon is None else str(question.epsilon),
        first=question.first,
        until=question.until,
    )


def grant_reply(grant: Grant) -> GrantReply:
    return GrantReply(log=grant.log, analyst=grant.analyst, per_block=str(grant.per_block))


def key_reply(record: KeyRecord) -> KeyReply:
    return KeyReply(
        id=record.id,
        role=record.role.value,
        name=record.name,
        rights=sorted(record.rights),
        created=record.created.isoformat(),
        expires=None if record.expires is None else record.expires.isoformat(),
        revoked=record.revoked,
    )


def trail_entry(entry: Recorded) -> TrailEntry:
    return TrailEntry(number=entry.seq, time=entry.at, kind=entry.kind, what=dict(entry.what))
