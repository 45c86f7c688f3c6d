"""How long a budget lasts, in words and as a percentage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Protocol

from pappi.report.elements import Element, el
from pappi.report.plain import plain
from pappi.report.wording import percent
from pappi.values.epsilon import Epsilon


class Foreseen(Protocol):
    """A forecast, by its parts: `budget` makes them, and stands beside `report`."""

    @property
    def price(self) -> Epsilon: ...
    @property
    def more(self) -> int: ...
    @property
    def tightest(self) -> str | None: ...
    @property
    def share(self) -> float: ...
    @property
    def asks_coming(self) -> bool: ...
    @property
    def until(self) -> date | None: ...


def forecast_lines(forecast: Foreseen) -> tuple[str, ...]:
    """The sentences: what it takes, how often it fits, until when it lasts."""
    return (_price(forecast), _fits(forecast), _lasts(forecast))


def forecast_text(forecast: Foreseen) -> str:
    return " ".join(forecast_lines(forecast))


def forecast_list(forecast: Foreseen) -> Element:
    """For a page."""
    lines: Sequence[str] = forecast_lines(forecast)
    return el("ul", *(el("li", line) for line in lines), class_="forecast")


def _price(forecast: Foreseen) -> str:
    share = percent(forecast.share)
    return f"It takes ε {forecast.price} of each block, {share} of what may be spent there."


def _fits(forecast: Foreseen) -> str:
    where = "all blocks together" if forecast.tightest is None else f"block {forecast.tightest}"
    if not forecast.more:
        return plain(f"It does not fit any more: too little is left in {where}.")
    noun = "question" if forecast.more == 1 else "questions"
    verb = "fits" if forecast.more == 1 else "fit"
    return plain(f"{forecast.more:,} more {noun} like this {verb}, until {where} is used up.")


def _lasts(forecast: Foreseen) -> str:
    if not forecast.asks_coming:
        return "About blocks to come it cannot be asked: it costs more than they will have."
    if forecast.until is None:
        return (
            "Asked once about each block to come, the budget lasts for ever: each block has a "
            "budget of its own."
        )
    last = forecast.until - timedelta(days=1)
    return f"Asked once about each block to come, the budget lasts until {last}."
