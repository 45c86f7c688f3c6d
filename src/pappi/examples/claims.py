"""The paper's running example, simulated: an insurer handles claims.

Two years of a growing business with its seasons. A claim is received, its
damage assessed, documents may be asked for (more than once), it is rejected or
approved and paid, and closed. People work in office hours; claims over the web
arrive from early to late on any day. In June 2025 a storm brings many and large
claims, a backlog builds up over the summer and is worked off by the autumn.
The log is an extract of the last day of 2025: what is open then is unfinished.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from pappi.examples.chance import Chance, Weighted, days_of
from pappi.examples.events import Event, Value

ZONE = ZoneInfo("Europe/Berlin")
FIRST, UNTIL = date(2024, 1, 1), date(2026, 1, 1)

# Knowledge workers and the time they take, as in the paper: Sue is thorough and slow.
HANDLERS = {
    "Alice": 0.85, "Bob": 1.0, "Sue": 1.5, "Ayşe": 0.9, "Björn": 1.1, "Chiara": 0.95,
    "Dmitri": 1.05, "Esther": 0.9, "Farid": 1.0, "Greta": 1.15,
}  # fmt: skip
CASHIERS = ("Heike", "Igor")

_CHANNELS = Weighted({"web": 0.5, "phone": 0.3, "agent": 0.2})
_MONTHS = (1.15, 1.05, 0.95, 0.9, 0.9, 1.0, 1.05, 0.95, 0.9, 1.0, 1.05, 1.1)
_WEEKEND = 0.35
_STORM = (date(2025, 6, 3), date(2025, 6, 28))
_OPENS, _OFFICE_MINUTES = 8 * 60, 9 * 60


def simulate_claims(seed: int = 1, cases: int = 12_000) -> Iterator[Event]:
    """The events of this many claims, claim by claim in the order they arrive."""
    chance = Chance(seed)
    quiet = timedelta(days=1)  # New Year's Day and Eve
    arrivals = Weighted({day: _demand(day) for day in days_of(FIRST + quiet, UNTIL - quiet)})
    for number, day in enumerate(sorted(arrivals.draw(chance) for _ in range(cases)), start=1):
        claim = _Claim.arriving(f"C{number:05}", day, chance)
        yield from (event for event in claim.events() if event.timestamp.date() < UNTIL)


def _demand(day: date) -> float:
    growth = 1.0 + 0.5 * (day - FIRST).days / (UNTIL - FIRST).days
    weekend = _WEEKEND if day.weekday() >= 5 else 1.0
    storm = 2.0 if _STORM[0] <= day <= _STORM[1] else 1.0
    return growth * _MONTHS[day.month - 1] * weekend * storm


def _backlog(day: date) -> float:
    """How much longer everything takes: rising from June, highest in mid-July, gone in October.

    Afterwards work is a little faster than it was: two colleagues have joined.
    """
    knots = (
        (date(2025, 6, 1), 1.0),
        (date(2025, 7, 15), 2.4),
        (date(2025, 8, 15), 2.1),
        (date(2025, 10, 15), 0.85),
    )
    for (start, low), (end, high) in pairwise(knots):
        if start <= day < end:
            return low + (high - low) * (day - start).days / (end - start).days
    return knots[0][1] if day < knots[0][0] else knots[-1][1]


@dataclass(slots=True)
class _Claim:
    """One claim on its way; `now` is local wall-clock time."""

    case_id: str
    channel: str
    handler: str
    damage: float
    now: datetime
    chance: Chance

    @classmethod
    def arriving(cls, case_id: str, day: date, chance: Chance) -> _Claim:
        channel = _CHANNELS.draw(chance)
        # Nights are left out: a wall-clock time between 2 and 3 may exist twice, or never.
        minute = chance.whole(6 * 60, 23 * 60 - 1)
        now = datetime.combine(day, time()) + timedelta(minutes=minute)
        return cls(
            case_id=case_id,
            channel=channel,
            handler=chance.choice(tuple(HANDLERS)),
            damage=_damage(day, chance),
            now=now if channel == "web" else after_work(now, chance.whole(0, 90)),
            chance=chance,
        )

    def events(self) -> Iterator[Event]:
        yield self._event("Receive claim", damage=self.damage)
        self._work(median_hours=8.0)
        self.damage = round(self.damage * self.chance.between(0.7, 1.1), 2)
        yield self._event("Assess damage", damage=self.damage)
        yield from self._documents()
        self._work(median_hours=8.0)
        if self.chance.happens(0.26 if self.damage > 5_000 else 0.17):
            yield self._event("Reject claim")
        else:
            yield self._event("Approve claim")
            self._work(median_hours=3.5)
            yield self._event("Pay claim", resource=self.chance.choice(CASHIERS))
        self._work(median_hours=1.5)
        yield self._event("Close claim")

    def _documents(self) -> Iterator[Event]:
        """Documents are asked for while they are incomplete, three times at most."""
        probability = 0.15 if self.channel == "agent" else 0.35
        for _ in range(3):
            if not self.chance.happens(probability):
                return
            self._work(median_hours=2.0)
            yield self._event("Request documents")
            self.now = after_work(self.now, int(60 * self.chance.skewed(12, 3, at_most=60)))
            probability = 0.3

    def _work(self, median_hours: float) -> None:
        pace = HANDLERS[self.handler] * _backlog(self.now.date())
        hours = self.chance.skewed(median_hours * pace, 3, at_most=12 * median_hours)
        self.now = after_work(self.now, 1 + int(60 * hours))

    def _event(self, activity: str, *, resource: str = "", damage: float | None = None) -> Event:
        attributes: dict[str, Value] = {"resource": resource or self.handler}
        if damage is not None:
            attributes["damage"] = damage
        attributes["channel"] = self.channel
        return Event(self.case_id, activity, self.now.replace(tzinfo=ZONE), attributes)


def _damage(day: date, chance: Chance) -> float:
    """EUR, skewed; larger in the storm, and what one policy covers at most is 50,000."""
    median = 4_200.0 if _STORM[0] <= day <= _STORM[1] else 2_900.0
    return round(chance.skewed(median, 3, at_most=50_000.0) + 50.0, 2)


def after_work(moment: datetime, minutes: int) -> datetime:
    """The moment after this many minutes of office hours (Monday to Friday, 8 to 17).

    >>> after_work(datetime(2024, 3, 1, 16, 50), 20)  # a Friday afternoon
    datetime.datetime(2024, 3, 4, 8, 10)
    """
    day, minute = moment.date(), moment.hour * 60 + moment.minute - _OPENS
    if day.weekday() >= 5:
        day, minute = _workdays_later(day, 0), 0
    days, minute = divmod(min(max(minute, 0), _OFFICE_MINUTES) + minutes, _OFFICE_MINUTES)
    opening = datetime.combine(_workdays_later(day, days), time(hour=8))
    return opening + timedelta(minutes=minute)


def _workdays_later(day: date, days: int) -> date:
    """This many working days later; a weekend counts as the Monday after it."""
    if day.weekday() >= 5:
        day += timedelta(days=7 - day.weekday())
    weeks, weekday = divmod(day.weekday() + days, 5)
    return day + timedelta(days=7 * weeks + weekday - day.weekday())
