"""Quotes, answers and accounts, built again from the service's JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar

from pappi.client.facts import Checked, LogFacts, PastRelease, StandingQuestion
from pappi.client.failures import ServiceError, problem_of
from pappi.report.budgets import BudgetLine
from pappi.values.answers import (
    Answer,
    Band,
    Guarantee,
    Interval,
    Series,
    ShownTarget,
    Verdict,
)
from pappi.values.bounds import Bounds, DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Calendar, Grid, Period
from pappi.values.privacy import Adjacency, Per, PrivacyUnit
from pappi.values.quotes import ErrorQuantile, Quote, QuotedSet
from pappi.values.vocabulary import Kind, Vocabulary

Found = Mapping[str, Any]
Built = TypeVar("Built")
_SECOND_US = 1_000_000


def built(build: Callable[[Found], Built], found: Any) -> Built:  # noqa: ANN401 - JSON
    """What a reply stands for; one that is not understood is one clear error."""
    try:
        return build(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServiceError(
            "the reply is not understood", hint="use a client of the service's version"
        ) from None


def log_of(found: Found) -> LogFacts:
    kinds = {name: Kind(kind) for name, kind in found["attributes"].items()}
    keys = {name: tuple(values) for name, values in found["keys"].items()}
    return LogFacts(
        name=found["name"],
        timezone=found["timezone"],
        anchor=found["anchor"],
        blocks=Grid(Calendar(found["blocks"]["unit"]), found["blocks"]["count"]),
        first=date.fromisoformat(found["first"]),
        until=date.fromisoformat(found["until"]),
        unit=_unit(found["unit"]),
        adjacency=Adjacency(found["adjacency"]),
        block_budget=Epsilon.of(found["block_budget"]),
        total_budget=_amount(found["total_budget"]),
        expected_cases=found["expected_cases"],
        vocabulary=Vocabulary(tuple(found["activities"]), kinds, keys),
        bounds=_default_bounds(found["bounds"]),
    )


def _default_bounds(found: Found) -> DefaultBounds:
    durations, counts = found["durations"], found["counts"]
    return DefaultBounds(
        durations=None if durations is None else _bounds(durations, _SECOND_US),
        counts=None if counts is None else _bounds(counts),
        attributes={name: _bounds(pair) for name, pair in found["attributes"].items()},
    )


def _bounds(pair: Sequence[str], unit: int = 1) -> Bounds:
    low, high = (Fraction(text) * unit for text in pair)
    return Bounds(low, high)


def logs_of(found: Found) -> tuple[LogFacts, ...]:
    return tuple(map(log_of, found["logs"]))


def budget_of(found: Found) -> tuple[BudgetLine, ...]:
    return tuple(
        BudgetLine(
            line["block"],
            Epsilon.of(line["limit"]),
            Epsilon.of(line["spent"]),
            Epsilon.of(line["held"]),
            _amount(line["own_limit"]),
            Epsilon.of(line["own_used"]),
        )
        for line in found["blocks"]
    )


def checked_of(found: Found, file: str) -> Checked:
    warnings = tuple(problem_of(item, file) for item in found["warnings"])
    return Checked(found["log"], tuple(ppi["id"] for ppi in found["ppis"]), warnings)


def releases_of(found: Found) -> tuple[PastRelease, ...]:
    return tuple(
        PastRelease(
            number=one["number"],
            time=one["time"],
            released=one["released"],
            ppi=one["ppi"],
            mechanisms=tuple(one["mechanisms"]),
            blocks=tuple(one["blocks"]),
            epsilon=Epsilon.of(one["epsilon"]),
            mine=one["mine"],
        )
        for one in found["releases"]
    )


def standing_of(found: Found) -> StandingQuestion:
    return StandingQuestion(
        id=found["id"],
        log=found["log"],
        definitions=found["definitions"],
        epsilon=_amount(found["epsilon"]),
        first=date.fromisoformat(found["first"]),
        until=date.fromisoformat(found["until"]),
    )


def quotes_of(found: Found) -> tuple[Quote, ...]:
    return tuple(map(_quote, found["quotes"]))


def _quote(found: Found) -> Quote:
    return Quote(
        ppi=found["ppi"],
        name=found["name"],
        unit=found["unit"],
        epsilon=Epsilon.of(found["epsilon"]),
        functions=tuple(found["functions"]),
        mechanism=found["mechanism"],
        typical_error=found["typical_error"],
        assumed_cases=found["assumed_cases"],
        charges=found["charges"],
        new_charges=found["new_charges"],
        options=tuple(map(_option, found["options"])),
        shares=tuple(found["shares"]),
        mechanisms=tuple(found["mechanisms"]),
        clipping=found["clipping"],
        advice=found["advice"],
        quantiles=tuple(
            ErrorQuantile(each["confidence"], each["within"]) for each in found["quantiles"]
        ),
        margin_note=found["margin_note"],
        assumes=found["assumes"],
        fewer=found["fewer"],
        target=_target(found["target"]),
        verdict_only=found["verdict_only"],
    )


def _option(found: Found) -> QuotedSet:
    return QuotedSet(
        functions=tuple(found["functions"]),
        mechanism=found["mechanism"],
        typical_error=found["typical_error"],
        reason=found["reason"],
        shares=tuple(found["shares"]),
        mechanisms=tuple(found["mechanisms"]),
        chosen=found["chosen"],
        margin=found["margin"],
    )


def series_of(found: Found) -> tuple[Series, ...]:
    return tuple(map(_series, found["series"]))


def _series(found: Found) -> Series:
    targets = found["group_targets"].items()
    return Series(
        ppi=found["ppi"],
        name=found["name"],
        unit=found["unit"],
        sentence=found["sentence"],
        target=_target(found["target"]),
        answers=tuple(map(_answer, found["answers"])),
        clipping=found["clipping"],
        caution=found["caution"],
        group_targets=tuple((group, _required_target(target)) for group, target in targets),
        rehearsed=found["rehearsal"],
    )


def _target(found: Found | None) -> ShownTarget | None:
    return None if found is None else _required_target(found)


def _required_target(found: Found) -> ShownTarget:
    # A tolerated range has none of its own, so this ends after one step.
    tolerated = found.get("tolerated")
    inner = None if tolerated is None else _bare_target(tolerated)
    return ShownTarget(found["low"], found["high"], found["text"], inner)


def _bare_target(found: Found) -> ShownTarget:
    return ShownTarget(found["low"], found["high"], found["text"])


def _answer(found: Found) -> Answer:
    """Everything but the evidence that smoothing works with, which is not sent."""
    period, interval, verdict = found["period"], found["interval"], found["verdict"]
    return Answer(
        ppi=found["ppi"],
        period=Period(date.fromisoformat(period["start"]), date.fromisoformat(period["end"])),
        group=found["group"],
        value=found["value"],
        unit=found["unit"],
        interval=Interval(interval["low"], interval["high"], interval["confidence"]),
        cases=found["cases"],
        verdict=None if verdict is None else Verdict(verdict),
        guarantee=_guarantee(found["guarantee"]),
        charged=Epsilon.of(found["charged"]),
        replayed=found["replayed"],
        chance_met=found["chance_met"],
        ceiling=found["ceiling"],
        bands=_bands(found["band"]),
    )


def _guarantee(found: Found) -> Guarantee:
    return Guarantee(
        epsilon=Epsilon.of(found["epsilon"]),
        unit=_unit(found["unit"]),
        adjacency=Adjacency(found["adjacency"]),
        mechanism=found["mechanism"],
    )


def _bands(text: str | None) -> tuple[Band, ...]:
    """
    >>> _bands("green, amber or red")
    (<Band.GREEN: 'green'>, <Band.AMBER: 'amber'>, <Band.RED: 'red'>)
    """
    words = (text or "").replace(" or ", ", ").split(", ")
    return tuple(Band(word) for word in words if word)


def _unit(found: Found) -> PrivacyUnit:
    return PrivacyUnit(found["column"], found["max_cases"], Per(found["per"]))


def _amount(written: str | None) -> Epsilon | None:
    return None if written is None else Epsilon.of(written)
