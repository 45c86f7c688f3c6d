"""PPIs written in Python, in the order in which one says them.

>>> handling = mean(time("Register", "Close")).every("month").within("0 days", "60 days")
>>> print(handling.shown_in("days").target("below 7 days").about("claims").yaml)
log: claims
ppis:
  - id: mean
    measure: {mean: {time: {from: {activity: Register}, to: {activity: Close}}}}
    bounds: [0 days, 60 days]
    unit: days
    target: below 7 days
    scope: every month
<BLANKLINE>

A measure of one case (`time`, `count`, `data`, `occurs`, `state`, `derive`) is combined over many
cases (`mean`, `share`, `number`, …); everything else about the PPI is a method. Nothing is changed
in place: every call gives something new.

What is built is a dict in the words of the catalogue notation, and is read as that notation is. So
a PPI is the same query as the same YAML, to the digit of its key, with the same errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import overload

from pappi.errors import DefinitionError, UsageError
from pappi.ppinot.expressions import Name, OneOf, TextLiteral
from pappi.ppinot.grammar import render
from pappi.ppinot.model import ID, Catalogue
from pappi.ppinot.notations.yaml import catalogue_from, write_yaml
from pappi.values import CaseBorder, Epsilon

NumberOrDuration = str | int | float | Decimal | timedelta
"""A number, or a duration: a `timedelta`, or as text, "7 days"."""

Definition = Mapping[str, object]
_LIMIT = re.compile(r"\s*-?[\d.]+\s*[^\W\d]*\s*")


# --- events ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """Events of a case, by what they have to satisfy. A plain text is the name of an activity."""

    written: Definition


def event(
    activity: str | None = None,
    *,
    transition: str | None = None,
    when: str | None = None,
    occurrence: str | None = None,
    among: Event | str | None = None,
) -> Event:
    """Events of an activity, of a transition, or for which an expression is true.

    >>> _ = event("Assess damage", transition="complete")
    >>> _ = event(when='activity == "Request documents" and damage > 1000', occurrence="onset")
    """
    only = None if among is None else _events(among)
    return Event(
        _said(
            activity=activity, transition=transition, when=when, occurrence=occurrence, among=only
        )
    )


def first(what: Event | str) -> Event:
    """The first of such events, as the start or the end of a time.

    >>> _ = time("case start", first("Send invoice"))
    """
    return Event({"first": _events(what)})


def last(what: Event | str) -> Event:
    """The last of such events.

    >>> _ = time(last("Request documents"), first("Assess damage"))
    """
    return Event({"last": _events(what)})


def sequence(before: Event | str, after: Event | str, order: str = "leads to") -> Event:
    """Events that come after others: `follows`, `leads to` or `leads to cyclically`.

    >>> _ = count(sequence("Request documents", "Reject claim", "follows"))
    """
    return Event({"sequence": [_events(before), _events(after)], "order": order})


def _events(what: Event | str) -> object:
    if not isinstance(what, str | Event):
        raise UsageError(
            f"{what!r} is neither an event nor the name of an activity",
            hint='give "Close", or event(…); of an attribute, data("channel").is_in("web") says '
            "whether it has a value",
        )
    return {"activity": what} if isinstance(what, str) else what.written


def _moment(what: Event | str) -> object:
    return what if what in tuple(CaseBorder) else _events(what)


# --- measures of one case -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaseMeasure:
    """One value for each case. Compared with a limit, it is whether that is so."""

    written: Definition

    def __lt__(self, limit: NumberOrDuration) -> CaseMeasure:
        return self._compared("<", limit)

    def __le__(self, limit: NumberOrDuration) -> CaseMeasure:
        return self._compared("<=", limit)

    def __gt__(self, limit: NumberOrDuration) -> CaseMeasure:
        return self._compared(">", limit)

    def __ge__(self, limit: NumberOrDuration) -> CaseMeasure:
        return self._compared(">=", limit)

    def __bool__(self) -> bool:
        """Python's own and, or, not and 1 < x < 5 would lose a part without a word."""
        raise UsageError(
            "Python's and, or, not do not work on measures",
            hint='say "and", "or" and "not" in a formula: derive("a and not b", a=…, b=…)',
        )

    def _compared(self, operator: str, limit: NumberOrDuration) -> CaseMeasure:
        if isinstance(limit, timedelta):
            limit = f"{limit // timedelta(microseconds=1)} microseconds"
        elif isinstance(limit, float | Decimal):
            limit = f"{Decimal(str(limit)):f}"  # the grammar has no 1e-07
        if not _LIMIT.fullmatch(str(limit)):
            raise UsageError(
                f"{limit!r} is not a number or a duration",
                hint='compare with a limit such as 5 or "14 days"; a formula is for derive("…", …)',
            )
        return derive(f"value {operator} {limit}", value=self)

    def is_in(self, *texts: str) -> CaseMeasure:
        """Whether the value is one of these texts.

        >>> _ = mean(data("damage")).where(data("channel").is_in("web", "app"))
        """
        choices = tuple(TextLiteral(text) for text in texts)
        return derive(render(OneOf(Name("value"), choices)), value=self)


Truth = CaseMeasure | Event | str
"""What is so in a case or not: a measure, events that occur in it, or the name of an activity."""


def time(
    start: Event | str = "case start",
    end: Event | str = "case end",
    *,
    cycles: str | None = None,
    open_cycles: str | None = None,
    running: str | None = None,
    calendar: str | None = None,
) -> CaseMeasure:
    """The time from one moment of a case to another; from its start to its end if none is named.

    A moment is an activity, an event, "case start" or "case end". `cycles` says what several such
    times become, `running` while what the clock goes, `calendar` the working hours.

    >>> mean(time("Register", "Close")).written
    {'mean': {'time': {'from': {'activity': 'Register'}, 'to': {'activity': 'Close'}}}}
    """
    ends = {"from": _moment(start), "to": _moment(end)}
    more = _said(cycles=cycles, open=open_cycles, calendar=calendar)
    clock = {} if running is None else {"while": running}
    return CaseMeasure({"time": {**ends, **more, **clock}})


def count(what: Event | str) -> CaseMeasure:
    """How many such events a case has.

    >>> _ = share(count("Request documents") > 1).target("below 10 %")
    """
    return CaseMeasure({"count": _events(what)})


def data(
    attribute: str, *, pick: str | None = None, when: Event | str | None = None
) -> CaseMeasure:
    """An attribute of a case: as its last event has it that carries it, or its `first`.

    >>> _ = mean(data("damage", pick="first", when="Receive claim")).within(0, 20000)
    """
    if pick is None and when is None:
        return CaseMeasure({"data": attribute})
    events = None if when is None else _events(when)
    return CaseMeasure({"data": _said(attribute=attribute, pick=pick, when=events)})


def occurs(what: Event | str) -> CaseMeasure:
    """Whether a case has such an event.

    >>> _ = share(occurs("Reject claim")).target("below 20 %")
    """
    return CaseMeasure({"condition": _events(what)})


def state(holds: str, *, of: str | None = None) -> CaseMeasure:
    """Whether something is so at a case's last event, or at the last of some events.

    >>> _ = share(state('status == "closed"'))
    """
    return CaseMeasure({"state": _said(of=of, **{"is": holds})})


def _truth(what: Truth) -> Definition:
    return what.written if isinstance(what, CaseMeasure) else occurs(what).written


# --- the indicator --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class Indicator:
    """A PPI as it is being said; sessions take it wherever they take definitions.

    `written` is its measure, and `keys` are the others, in the words of the catalogue notation.
    """

    written: Definition
    keys: Definition = field(default_factory=dict)
    log: str | None = None

    # --- what the measure says ---

    def where(self, condition: Truth) -> Indicator:
        """Only over cases for which this is so.

        >>> _ = mean(data("damage")).where("Pay claim")
        """
        return self._measured(where=_truth(condition))

    def among(self, condition: Truth) -> Indicator:
        """The same, said of a share.

        >>> _ = share(time("Receive claim", "Pay claim") <= "14 days").among("Pay claim")
        """
        return self._measured(among=_truth(condition))

    def by(self, attribute: str, *values: str) -> Indicator:
        """One value for each of these values of an attribute, and for no others.

        >>> _ = mean(time()).by("channel", "web", "phone")
        """
        return self._measured(by={"data": attribute, "values": list(values)})

    def within(
        self, low: NumberOrDuration, high: NumberOrDuration, *, loose: bool = False
    ) -> Indicator:
        """The public bounds on what one case contributes; `loose` if most are far below.

        >>> _ = mean(time("Register", "Close")).within("0 days", "60 days")
        """
        return self._bounded([low, high, *(["loose"] if loose else [])])

    def within_private_bounds(self) -> Indicator:
        """Bounds that a share of ε finds out, where nobody knows any.

        >>> _ = mean(data("damage")).within_private_bounds()
        """
        return self._bounded("private")

    def part_of(self, whole: str) -> Indicator:
        """In every case at most as much as another sum of the same formula, by its name.

        >>> rejected = sum_of(count("Reject claim")).within(0, 1).part_of("received")
        >>> received = sum_of(count("Receive claim")).within(0, 1)
        >>> _ = derive("100 * rejected / received", rejected=rejected, received=received)
        """
        return self._measured(within=whole)

    def value_within(self, low: NumberOrDuration, high: NumberOrDuration) -> Indicator:
        """The public range of the value itself, as of a formula.

        >>> _ = number().value_within(0, 500)
        """
        return self._with(bounds={"value": [low, high]})

    # --- what the PPI says ---

    def every(
        self,
        period: str,
        *,
        since: date | str | None = None,
        until: date | str | None = None,
        anchor: Event | str | None = None,
    ) -> Indicator:
        """One value for each period: "day", "week", "2 weeks", "month", "quarter", "year".

        >>> _ = number().every("month", since="2024-01-01", until="2025-01-01")
        """
        at = None if anchor is None else _moment(anchor)
        more = _said(until=until, anchor=at, **{"from": since})
        return self.over({"every": period, **more} if more else f"every {period}")

    def over(self, scope: str | Definition) -> Indicator:
        """Another scope: "whole time", "last 6 months", "last 500 cases", or its mapping.

        >>> _ = number().over("every month in the last 2 years")
        """
        return self._with(scope=scope)

    def target(self, aim: str | Definition, *, tolerated: str | None = None) -> Indicator:
        """Where the value should be, and what is still tolerated beyond that.

        >>> _ = number().target("at most 700", tolerated="at most 800")
        """
        return self._with(target=aim if tolerated is None else {"green": aim, "amber": tolerated})

    def called(self, name: str, *, id: str | None = None) -> Indicator:  # noqa: A002 - the key's name
        """What people call it, and its id, which else is made of the name.

        >>> number().called("Number of claims").id
        'number-of-claims'
        """
        return self._with(name=name, id=id or _id_of(name))

    def shown_in(self, unit: str) -> Indicator:
        """The unit to show: of time, "percent", "fraction", or any label.

        >>> _ = mean(data("damage")).within(0, 30000).shown_in("EUR")
        """
        return self._with(unit=unit)

    def show(self, view: str) -> Indicator:
        """A change, a rolling window, a year to date or two groups, in place of the figures.

        >>> print(number().every("month").show("change from the previous period"))
        the number of cases, for every month, shown as change from the previous period
        """
        return self._with(show=view)

    def at(self, epsilon: Epsilon | str | float | Decimal) -> Indicator:
        """The ε that one value may cost.

        >>> _ = number().at("0.1")
        """
        return self._with(epsilon=str(epsilon))

    def expecting(self, share_of_cases: str) -> Indicator:
        """Your guess of the share of cases it is about, for forecasts alone.

        >>> _ = mean(data("damage")).where("Pay claim").expecting("75 %")
        """
        return self._with(expected=share_of_cases)

    def released(self, **choices: object) -> Indicator:
        """How to release it, with the keys of `release`.

        >>> _ = share(occurs("Reject claim")).target("below 20 %").released(answer="verdict")
        """
        return self._with(release=choices)

    def about(self, log: str) -> Indicator:
        """The log it is about."""
        return replace(self, log=log)

    # --- what it is then ---

    @property
    def id(self) -> str:
        """As it is called, or else by what it computes: "mean", "share"."""
        return str(self.keys.get("id", next(iter(self.written))))

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue with this PPI alone; DefinitionError with every problem in it."""
        if self.log is None:
            raise UsageError(
                "this PPI does not say which log it is about",
                hint='add .about("claims"), or collect PPIs with pappi.catalogue("claims", …)',
            )
        return catalogue(self.log, self)

    @property
    def yaml(self) -> str:
        """The same as a file would have it.

        >>> print(number().called("Claims").every("month").about("claims").yaml)
        log: claims
        ppis:
          - id: claims
            name: Claims
            measure: {number: cases}
            scope: every month
        <BLANKLINE>
        """
        return write_yaml(self.catalogue)

    def __repr__(self) -> str:
        from pappi.ppinot.notations.sentences import sentence

        try:
            (ppi,) = catalogue(self.log or "unnamed", self).ppis
        except DefinitionError:
            return f"<a PPI that cannot be read yet: {dict(self.written)} {dict(self.keys)}>"
        return sentence(ppi)

    def _measured(self, **more: object) -> Indicator:
        return replace(self, written={**self.written, **more})

    def _bounded(self, bounds: object) -> Indicator:
        if "derive" in self.written:
            raise UsageError(
                "a formula has no bounds of its own: a case contributes to its variables",
                hint="give each variable its bounds, and the result value_within(…)",
            )
        return self._measured(bounds=bounds)

    def _with(self, **more: object) -> Indicator:
        return replace(self, keys={**self.keys, **more})


def mean(measure: Truth) -> Indicator:
    """The average of the cases' values.

    >>> _ = mean(time("Register", "Close")).within("0 days", "60 days").every("month")
    """
    return _aggregated("mean", measure)


def sum_of(measure: Truth) -> Indicator:
    """The sum of the cases' values: `pappi.sum`.

    >>> _ = sum_of(count("Request documents")).within(0, 3)
    """
    return _aggregated("sum", measure)


def min_of(measure: CaseMeasure) -> Indicator:
    """The smallest of the cases' values: `pappi.min`.

    >>> _ = min_of(time()).within("0 days", "60 days")
    """
    return _aggregated("min", measure)


def max_of(measure: CaseMeasure) -> Indicator:
    """The largest of the cases' values: `pappi.max`.

    >>> _ = max_of(time()).within("0 days", "60 days")
    """
    return _aggregated("max", measure)


def median(measure: CaseMeasure) -> Indicator:
    """The middle of the cases' values.

    >>> _ = median(time()).within("0 days", "60 days")
    """
    return _aggregated("median", measure)


def percentile(measure: CaseMeasure, percent: int) -> Indicator:
    """The value that so many percent of the cases lie below.

    >>> _ = percentile(time(), 90).within("0 days", "60 days").target("at most 21 days")
    """
    return Indicator({"percentile": measure.written, "percent": percent})


def share(what: Truth) -> Indicator:
    """The part of the cases for which something is so.

    >>> _ = share(time("Register", "Close") < "10 days").target("above 80 %")
    >>> _ = share("Reject claim").target("below 20 %")
    """
    return _aggregated("share", what)


def number(measure: CaseMeasure | None = None) -> Indicator:
    """The number of cases, or of those that have a value of a measure.

    >>> _ = number().every("quarter")
    """
    if measure is None:
        return Indicator({"number": "cases"})
    if not isinstance(measure, CaseMeasure) or {"condition", "state"} & measure.written.keys():
        raise UsageError(
            "number(…) counts cases that have a value; to count cases with an event, filter them",
            hint='for the cases with an event, say number().where("Close")',
        )
    return Indicator({"number": measure.written})


def _aggregated(function: str, measure: Truth) -> Indicator:
    return Indicator({function: _truth(measure)})


@overload
def derive(
    formula: str, *, missing: str | None = None, **variables: CaseMeasure
) -> CaseMeasure: ...
@overload
def derive(formula: str, *, missing: None = None, **variables: Indicator) -> Indicator: ...
def derive(
    formula: str, *, missing: str | None = None, **variables: CaseMeasure | Indicator
) -> CaseMeasure | Indicator:
    """A formula over measures of the same case, or over those of many cases.

    `missing` says what it gives in a case in which a variable has no value.

    >>> delay = time("Receive claim", "Pay claim")
    >>> _ = share(derive("delay <= 14 days", delay=delay, missing="left out"))
    >>> requests = sum_of(count("Request documents")).within(0, 3)
    >>> _ = derive("requests / received", requests=requests, received=number()).value_within(0, 3)
    """
    of_many = [name for name, it in variables.items() if isinstance(it, Indicator)]
    if of_many and len(of_many) < len(variables):
        raise UsageError(
            "a formula is about one case or about many, not both",
            hint=f"{', '.join(of_many)}: over many cases; the other variables: of one",
        )
    for name, it in variables.items():
        if isinstance(it, Indicator) and it.keys:
            raise UsageError(
                f"the variable {name} has a {next(iter(it.keys))}, which only the whole PPI has",
                hint="say it after derive(…)",
            )
    own = {name: it.written for name, it in variables.items()}
    written = {"derive": formula, **_said(missing=missing), **own}
    return Indicator(written) if of_many else CaseMeasure(written)


def catalogue(
    log: str,
    /,
    *ppis: Indicator,
    total: Epsilon | str | float | Decimal | None = None,
    **named: Indicator,
) -> Catalogue:
    """PPIs about one log; `total` is the ε of all of them. By keyword, a PPI has that as its id.

    >>> claims = catalogue("claims", closed=mean(time()).within("0 days", "30 days"), all=number())
    >>> [ppi.id for ppi in claims.ppis]
    ['closed', 'all']
    """
    for ppi in (*ppis, *named.values()):
        if ppi.log not in (None, log):
            raise UsageError(f"a PPI about {ppi.log!r} cannot be in a catalogue about {log!r}")
    ids = {**{ppi.id: ppi for ppi in ppis}, **named}
    if len(ids) < len(ppis) + len(named):
        raise UsageError(
            "two of these PPIs have the same id",
            hint='name them: pappi.catalogue("claims", waiting=…, rejected=…), or .called("…")',
        )
    written = [{**ppi.keys, "id": id_, "measure": ppi.written} for id_, ppi in ids.items()]
    amount = None if total is None else str(total)
    return catalogue_from({"log": log, **_said(total=amount), "ppis": written})


def _id_of(name: str) -> str:
    short = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:64]
    return short if ID.fullmatch(short) else f"ppi-{short}"[:64].rstrip("-")


def _said(**keys: object) -> dict[str, object]:
    """Those that were given."""
    return {key: value for key, value in keys.items() if value is not None}
