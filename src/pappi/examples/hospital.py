"""A hospital's sepsis pathway, simulated: the shape of the Sepsis log, and none of its patients.

Activity names and habits are those of the public Sepsis log: blood values of
one sample share one timestamp, many patients are never admitted, some move
between wards days later (which makes the waiting time heavy-tailed), some come
back, and one case is called "NA". From spring 2025 a new protocol makes
treatment slowly faster. The log is an extract of the last day of 2025: what is
not over by then is unfinished.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pappi.examples.chance import Chance, Weighted, days_of
from pappi.examples.events import Event, Value

ZONE = ZoneInfo("Europe/Amsterdam")
FIRST, UNTIL = date(2024, 1, 1), date(2026, 1, 1)
PROTOCOL = date(2025, 4, 1)

_END = datetime.combine(UNTIL, time(), ZONE).astimezone(UTC)
_MONTHS = (1.2, 1.15, 1.05, 0.95, 0.95, 0.9, 0.9, 0.9, 0.95, 1.0, 1.05, 1.15)
_HOURS = Weighted({hour: 0.5 if hour < 8 else 1.4 if hour < 20 else 0.9 for hour in range(24)})
_DIAGNOSES = Weighted({letter: 1.0 / rank for rank, letter in enumerate("ABCDEGHKQS", start=1)})
_WARDS = Weighted({"E": 3.0, "F": 3.0, "G": 2.0, "I": 2.0, "M": 1.0, "O": 1.0})
_RELEASES = Weighted({"A": 0.84, "B": 0.07, "C": 0.035, "D": 0.03, "E": 0.025})


def simulate_hospital(seed: int = 1, cases: int = 6_000) -> Iterator[Event]:
    """The events of this many patients, patient by patient in the order they arrive."""
    chance = Chance(seed)
    arrivals = Weighted({day: _MONTHS[day.month - 1] for day in days_of(FIRST, UNTIL)})
    for number, day in enumerate(sorted(arrivals.draw(chance) for _ in range(cases)), start=1):
        yield from _Stay.arriving(_letters(number), day, chance).events()


def _letters(number: int) -> str:
    """1, 2, … 26, 27 as A, B, … Z, AA: the case names of the Sepsis log."""
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _progress(day: date) -> float:
    """How far the new protocol has spread: 0 before it, 1 half a year later."""
    return min(max((day - PROTOCOL).days / 183, 0.0), 1.0)


@dataclass(slots=True)
class _Stay:
    """One patient; times are UTC, so that a night of changing clocks has its true length."""

    case_id: str
    arrival: datetime
    progress: float
    chance: Chance
    _events: list[Event] = field(default_factory=list)

    @classmethod
    def arriving(cls, case_id: str, day: date, chance: Chance) -> _Stay:
        clock = time(_HOURS.draw(chance), chance.whole(0, 59), chance.whole(0, 59))
        arrival = datetime.combine(day, clock, ZONE).astimezone(UTC)
        return cls(case_id, arrival, _progress(day), chance)

    def events(self) -> list[Event]:
        """In time order; what was recorded together keeps the order it was recorded in."""
        self._emergency_room()
        self._first_sample()
        self._infusions()
        if self.chance.happens(0.78):
            self._ward()
        return sorted(self._events, key=lambda event: event.timestamp)

    def _emergency_room(self) -> None:
        age = 5 * self.chance.whole(4, 18)
        triage = self.chance.skewed(8, 3, at_most=90)
        registered = 0.0 if self.chance.happens(0.95) else triage + 2
        self._record(
            "ER Registration", registered, "A", age=age, diagnose=_DIAGNOSES.draw(self.chance)
        )
        self._record("ER Triage", triage, "C")
        self._record("ER Sepsis Triage", triage + self.chance.skewed(3, 3, at_most=60), "A")

    def _first_sample(self) -> None:
        minutes = self.chance.skewed(25, 4, at_most=600)
        self._sample(minutes)
        if self.chance.happens(0.78 + 0.1 * self.progress):
            self._lactic_acid(minutes)
        elif self.chance.happens(0.5):
            self._lactic_acid(self.chance.between(185, 900))

    def _infusions(self) -> None:
        if not self.chance.happens(0.8):
            return
        started = self.chance.skewed(74 - 28 * self.progress, 3, at_most=700)
        if self.chance.happens(0.9):
            together = self.chance.happens(0.5)
            self._record("IV Liquid", started if together else started * 0.7, "A")
        self._record("IV Antibiotics", started, "A")

    def _ward(self) -> None:
        """Admission, daily samples, perhaps another ward, release, perhaps a return."""
        admitted = self.chance.skewed(230 - 50 * self.progress, 3, at_most=2_000)
        stay = max(2.0, self.chance.skewed(6.5 - self.progress, 3, at_most=35)) * 1_440
        intensive = self.chance.happens(0.11)
        self._admit("Admission IC" if intensive else "Admission NC", admitted)
        if intensive or self.chance.happens(0.2 - 0.05 * self.progress):
            later = self.chance.between(0.1, 0.65) * stay
            self._admit("Admission NC", admitted + later)
        self._daily_samples(admitted, stay, intensive=intensive)
        released = admitted + stay
        self._record(f"Release {_RELEASES.draw(self.chance)}", released, "E")
        self._return(released)

    def _admit(self, activity: str, minutes: float) -> None:
        self._record(activity, minutes, _WARDS.draw(self.chance))

    def _daily_samples(self, admitted: float, stay: float, *, intensive: bool) -> None:
        minutes = admitted + self.chance.between(300, 1_200)
        while minutes < admitted + stay:
            self._sample(minutes)
            if self.chance.happens(0.5 if intensive else 0.01):
                self._lactic_acid(minutes)
            minutes += self.chance.between(1_500, 4_000)

    def _return(self, released: float) -> None:
        if self.chance.happens(0.135 - 0.02 * self.progress):
            days = self.chance.between(1, 27.5)
        elif self.chance.happens(0.1):
            days = self.chance.between(28.5, 200)
        else:
            return
        self._record("Return ER", released + days * 1_440, "?")

    def _sample(self, minutes: float) -> None:
        leucocytes = round(self.chance.skewed(11, 2, at_most=90), 1)
        crp = float(round(self.chance.skewed(85, 4, at_most=550)))
        self._record("Leucocytes", minutes, "B", leucocytes=leucocytes)
        self._record("CRP", minutes, "B", crp=crp)

    def _lactic_acid(self, minutes: float) -> None:
        value = round(self.chance.skewed(1.6, 3, at_most=15), 1)
        self._record("LacticAcid", minutes, "B", lacticacid=value)

    def _record(self, activity: str, minutes: float, group: str, **values: Value) -> None:
        moment = self.arrival + timedelta(seconds=int(60 * minutes))
        if moment < _END:
            attributes = {**values, "group": group}
            self._events.append(Event(self.case_id, activity, moment.astimezone(ZONE), attributes))
