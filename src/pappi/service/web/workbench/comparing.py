"""Two figures of a saved query compared: what can be picked, what was, and what that shows.

All of it comes from the record, so it is free, however often one looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pappi.errors import PappiError
from pappi.ppinot import Catalogue
from pappi.report import comparison_lines
from pappi.session import Analyst
from pappi.values import Answer, By, Series

BY_WORDS = {"difference": "difference", "percent": "difference in percent", "ratio": "ratio"}
PERIODS, GROUPS = "periods", "groups"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was picked; nothing yet, if it has no first and second."""

    ppi: str = ""
    of: str = PERIODS
    first: str = ""
    second: str = ""
    period: str = ""
    by: str = str(By.DIFFERENCE)

    @property
    def is_made(self) -> bool:
        return bool(self.first and self.second)


@dataclass(frozen=True, slots=True)
class Offer:
    """The groups of one PPI, and its periods that are on record, the latest first."""

    ppi: str
    name: str
    periods: tuple[str, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, series: Series) -> Offer:
        periods = sorted({answer.period for answer in series.answers}, reverse=True)
        groups = dict.fromkeys(answer.group for answer in series.answers)
        return cls(
            series.ppi,
            series.name,
            tuple(period.label for period in periods),
            tuple(group for group in groups if group is not None),
        )


@dataclass(frozen=True, slots=True)
class Found:
    """One comparison in words: what is said first, the rest, and whether it is more than noise."""

    name: str
    said: str
    rest: tuple[str, ...]
    more_than_noise: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """What a page shows about comparing: what is offered, what was picked, and the result."""

    offers: tuple[Offer, ...]
    choice: Choice
    found: tuple[Found, ...] = ()
    problem: str = ""
    by_words: dict[str, str] = field(default_factory=lambda: BY_WORDS)

    @property
    def with_periods(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.periods) > 1)

    @property
    def with_groups(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.groups) > 1)


def compare_figures(
    session: Analyst, catalogue: Catalogue, series: Sequence[Series], choice: Choice
) -> Compared:
    # What shows a comparison already has no figures of its own to pick from.
    offers = tuple(Offer.of(one) for one in series if not one.view)
    if not choice.is_made:
        return Compared(offers, choice)
    pair = choice.first, choice.second
    groups, periods = (pair, None) if choice.of == GROUPS else (None, pair)
    try:
        (one,) = session.compare(
            catalogue, ppi=choice.ppi, by=choice.by, periods=periods, groups=groups
        )
    except PappiError as error:
        return Compared(offers, choice, problem=f"{error.message[:1].upper()}{error.message[1:]}.")
    wanted = (a for a in one.answers if not choice.period or a.period.label == choice.period)
    return Compared(offers, choice, tuple(_found(one.name, answer) for answer in wanted))


def _found(name: str, answer: Answer) -> Found:
    said, *rest = comparison_lines(answer)
    told = answer.comparison
    surely = told is not None and told.more_than_noise
    return Found(name, said, tuple(rest), more_than_noise=surely)
