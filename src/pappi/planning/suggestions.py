"""A first catalogue for a log: sensible PPIs, written out in YAML, to edit and to ask.

From public facts alone: activities and attributes by their names, groups, bounds and expected
cases as they are declared. A vocabulary says nothing about how often an activity occurs, so words
have to do: what sounds like a beginning, an end, a decision, a refusal, a repetition. Where no word
is known there are fewer PPIs. Numbers that nobody has declared are placeholders, marked `fill in`.

An owner may hand in a `Proposal` that was read off the data. Which activities it names and which
numbers it proposes then become public with the catalogue; the text says so.

All PPIs have one scope, so that one draw of noise answers them. It is the finest in which nearly
all are expected to tell something, by the same public facts as a preview; the others are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, pairwise

from pappi.planning.advice import why_nothing
from pappi.planning.allotment import plan_by_need
from pappi.ppinot import (
    Catalogue,
    parse_catalogue,
    quoted_text,
    reduced_form,
    with_default_bounds,
)
from pappi.values import DURATIONS, Bounds, Calendar, Grid, Kind, PublicLog

_MOST = 10
_MOST_KEYS = 8
_NEARLY_ALL = 0.75
_WHOLE = "whole time"
_SCOPES = (Calendar.DAY, Calendar.WEEK, Calendar.MONTH, Calendar.QUARTER, Calendar.YEAR)
_PLACEHOLDER_DAYS = 60
_NICE = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Duration:
    """What is proposed for a duration, in microseconds: the limit of a share, the upper bound."""

    limit: float
    bound: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to ask about: by the names alone, or as an owner proposes from the data.

    Waits are between two activities, from the start of a case if the first is empty.
    """

    throughput: Duration | None = None
    waits: tuple[tuple[str, str, Duration | None], ...] = ()
    repeated: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    numbers: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class _Suggested:
    """One PPI: why, what it is called, and its lines but for the scope."""

    id: str
    name: str
    why: str
    lines: tuple[str, ...]

    def written(self, scope: str) -> str:
        head = (f"  # {self.why}", f"  - id: {self.id}", f"    name: {quoted_text(self.name)}")
        return "\n".join((*head, *(f"    {line}" for line in self.lines), f"    scope: {scope}"))


def suggest_catalogue(log: PublicLog, proposal: Proposal | None = None) -> str:
    """A catalogue of at most ten PPIs, ready to check, preview and release."""
    ppis = list(_distinct(_suggested(log, proposal or _by_name(log))))[:_MOST]
    left, scope = ppis, _WHOLE
    for scope in (*_scopes(log), _WHOLE):
        useless = _telling_nothing(log, ppis, scope)
        left = [ppi for ppi in ppis if ppi.id not in useless]
        if len(left) > _NEARLY_ALL * len(ppis):
            break
    # With so few cases nothing tells much: the number of cases can always be asked.
    return _text(log, left or ppis[:1], scope, proposal)


def _telling_nothing(log: PublicLog, ppis: Sequence[_Suggested], scope: str) -> set[str]:
    """The PPIs that would tell nothing in periods of this length; a preview says the same."""
    catalogue: Catalogue = parse_catalogue(_text(log, ppis, scope, None))
    settled = [
        with_default_bounds(reduced_form(ppi, log.terms.anchor), log.terms.bounds)
        for ppi in catalogue.ppis
    ]
    return {plan.ppi.id for plan in plan_by_need(settled, log) if why_nothing(plan)}


def _scopes(log: PublicLog) -> list[str]:
    """From the length of a block on, as long as there are several periods."""
    blocks = log.terms.blocks
    if blocks.count != 1:
        return [str(blocks)]
    grids = (Grid(unit) for unit in _SCOPES[_SCOPES.index(blocks.unit) :])
    return [str(grid) for grid in grids if len(grid.periods(log.first, log.until)) > 1] or [
        str(blocks)
    ]


def _text(
    log: PublicLog, suggested: Sequence[_Suggested], scope: str, proposal: Proposal | None
) -> str:
    ppis = "\n\n".join(ppi.written(scope) for ppi in suggested)
    head = "\n".join(f"# {line}".rstrip() for line in _head(log, proposal, scope))
    return f"{head}\n\nlog: {log.name}\n\nppis:\n{ppis}\n"


def _head(log: PublicLog, proposal: Proposal | None, scope: str) -> Iterator[str]:
    if proposal is None:
        yield f"A first catalogue for {log.name!r}, from its public names alone: no event was read."
        yield "Names can mislead: check what each one means. Delete what nobody wants to know."
    else:
        yield f"A first catalogue for {log.name!r}, PROPOSED FROM THE DATA, for its owner."
        yield "Its bounds, limits and choice of activities tell something about the data. They are"
        yield "not protected by ε, and become public once analysts see them or they are used."
        yield "Round them to what you would have said without looking."
    yield ""
    yield "Bounds: what lies beyond counts as the bound. Wide ones cost accuracy, narrow ones bias"
    yield 'the value. Limits and bounds that say "fill in" are placeholders. Targets are yours.'
    if scope == _WHOLE:
        yield ""
        yield "One value for the whole time: by the number of cases that is expected, shorter"
        yield "periods would tell too little."
    yield ""
    yield "Next: pappi ppi check FILE, pappi preview FILE, pappi release FILE"


# --- which PPIs ------------------------------------------------------------------------------


_REWORK = "Rework: the share of cases that do the same again."
_OUTCOME = "The share of cases in which it happens at all."


def _suggested(log: PublicLog, proposal: Proposal) -> Iterator[_Suggested]:
    yield _Suggested(
        "cases",
        "Number of cases",
        "How much there is to do. No bounds needed: a case counts once.",
        ("measure: {number: cases}", "# target: at most 100          # fill in"),
    )
    yield from _throughput(log, proposal)
    yield from _waiting(log, proposal)
    yield from _occurrences(proposal)
    yield from _attributes(log, proposal)
    yield from _groups(log)


def _throughput(log: PublicLog, proposal: Proposal) -> Iterator[_Suggested]:
    whole = "{from: case start, to: case end}"
    time = _Time(log, proposal.throughput)
    yield _Suggested(
        "throughput",
        "Mean throughput time",
        "How long a case takes, from its first event to its last.",
        (
            f"measure: {{mean: {{time: {whole}, unit: {time.unit}}}}}",
            *time.bounds(),
            f"# target: below {time.limit}      # fill in",
        ),
    )
    yield _Suggested(
        "in-time",
        f"Cases done within {time.limit}",
        "A share needs no bounds: a case is done in time, or it is not.",
        (
            "measure:",
            f"  share: {{derive: t <= {time.limit}, t: {{time: {whole}}}}}{time.to_fill_in}",
            "# target: above 80 %            # fill in",
        ),
    )


def _waiting(log: PublicLog, proposal: Proposal) -> Iterator[_Suggested]:
    for start, end, proposed in proposal.waits[:3]:
        time = _Time(log, proposed)
        source = f"{{activity: {quoted_text(start)}}}" if start else "case start"
        yield _Suggested(
            _id(f"wait-{start}-{end}"),
            f"Mean time from {start or 'the start'} to {end}",
            "Waiting between two milestones, of the cases that reach both.",
            (
                "measure:",
                "  mean:",
                "    time:",
                f"      from: {source}",
                f"      to: {{first: {{activity: {quoted_text(end)}}}}}",
                f"    unit: {time.unit}",
                *time.bounds(),
            ),
        )


def _occurrences(proposal: Proposal) -> Iterator[_Suggested]:
    for names, of, called, why, least in (
        (proposal.repeated, "repeated", "Cases in which {} occurs more than once", _REWORK, 1),
        (proposal.outcomes, "with", "Cases with {}", _OUTCOME, 0),
    ):
        for name in names[:2]:
            count = f"{{count: {{activity: {quoted_text(name)}}}}}"
            share = f"  share: {{derive: n > {least}, n: {count}}}"
            yield _Suggested(_id(f"{of}-{name}"), called.format(name), why, ("measure:", share))


def _attributes(log: PublicLog, proposal: Proposal) -> Iterator[_Suggested]:
    declared = log.terms.bounds.attributes
    numbers = {name for name, kind in log.vocabulary.attributes.items() if kind is Kind.NUMBER}
    for name in [name for name in declared if name in numbers][:1]:
        yield _number(name, ("# bounds: as declared of the log",))
    proposed = [number for number in proposal.numbers if number[0] in numbers]
    for name, low, high in proposed[:1]:
        yield _number(name, (f"bounds: [{low:g}, {high:g}]     # from the data",))


def _number(name: str, bounds: tuple[str, ...]) -> _Suggested:
    return _Suggested(
        _id(f"mean-{name}"),
        f"Mean {name}",
        "An attribute, as it was last recorded in a case.",
        (f"measure: {{mean: {{data: {quoted_text(name)}}}}}", *bounds),
    )


def _groups(log: PublicLog) -> Iterator[_Suggested]:
    for name, keys in list(log.vocabulary.keys.items())[:1]:
        listed = ", ".join(map(quoted_text, keys[:_MOST_KEYS]))
        by = f"by: {{data: {quoted_text(name)}, values: [{listed}]}}"
        yield _Suggested(
            _id(f"cases-by-{name}"),
            f"Number of cases by {name}",
            "A case is in one group, so all groups cost as much as one.",
            (f"measure: {{number: cases, {by}}}",),
        )


def _distinct(ppis: Iterable[_Suggested]) -> Iterator[_Suggested]:
    """With an id each; names may come to the same."""
    taken: set[str] = set()
    for ppi in ppis:
        names = chain((ppi.id,), (f"{ppi.id}-{number}" for number in range(2, 2 * _MOST)))
        free = next(name for name in names if name not in taken)
        taken.add(free)
        yield replace(ppi, id=free)


def _id(text: str) -> str:
    """
    >>> _id("with-T05 Print & send"), _id("wait-接收")
    ('with-t05-print-send', 'wait')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")


# --- how long --------------------------------------------------------------------------------


class _Time:
    """The limit and the bounds of a duration: as declared, proposed, or to be filled in."""

    def __init__(self, log: PublicLog, proposed: Duration | None) -> None:
        self._declared: Bounds | None = log.terms.bounds.durations
        self._proposed = proposed
        most = float(proposed.bound if proposed else _placeholder(log))
        if self._declared is not None:
            most = min(most, float(self._declared.high)) if proposed else float(self._declared.high)
        self.unit = next(
            (name for name in ("days", "hours", "minutes") if most >= 2 * DURATIONS[name]),
            "seconds",
        )
        self._most = self._written(most)
        limit = proposed.limit if proposed else most / 2
        self.limit = self._written(min(limit, most / 2))
        self.to_fill_in = "" if proposed else "   # fill in"

    def bounds(self) -> tuple[str, ...]:
        if self._declared is not None and self._proposed is None:
            return ("# bounds: as declared of the log",)
        remark = (
            "from the data: 1 case in 20 takes longer"
            if self._proposed
            else "fill in: longer times count as this"
        )
        return (f"bounds: [0 {self.unit}, {self._most}]    # {remark}",)

    def _written(self, us: float) -> str:
        return f"{_nice(us / DURATIONS[self.unit]):g} {self.unit}"


def _placeholder(log: PublicLog) -> Fraction:
    """Two months, or as long as the log if that is shorter."""
    days = min(_PLACEHOLDER_DAYS, max((log.until - log.first).days, 2))
    return Fraction(days * DURATIONS["days"])


def _nice(number: float) -> float:
    """Rounded up to what a person would say.

    >>> [_nice(number) for number in (0.2, 4, 61, 165.3, 922)]
    [1, 4, 80, 200, 1000]
    """
    number = max(number, 1)
    step: int = 10 ** math.floor(math.log10(number))
    return next(n * step for n in _NICE if n * step >= number)


# --- what names sound like -------------------------------------------------------------------


def _by_name(log: PublicLog) -> Proposal:
    """What the vocabulary alone suggests; with no word known, hardly anything."""
    names = log.vocabulary.activities
    start, decision, end = (_sounding(names, words) for words in (_START, _DECISION, _END))
    steps = list(dict.fromkeys(filter(None, (start, decision, end))))
    if steps and not start:
        steps.insert(0, "")
    again = _sounding_like(names, _AGAIN)[:2] or [name for name in (decision, *names) if name][:1]
    return Proposal(
        waits=tuple((a, b, None) for a, b in pairwise(steps)),
        repeated=tuple(again),
        outcomes=tuple(_sounding_like(names, _UNWANTED)[:2]),
    )


_START = (
    r"regist(er|ration|ered)|^confirmation of receipt|^incoming|^receive|received|^creat|^submit",
    r"^(receipt|open|start|admi|arriv|order|new|begin|request|aanvra|eingang|anleg)",
)
_END = (
    r"^(clos|finish|discharg|archiv|resolv|complet|afgerond|abschluss)|completed|closed|resolved",
    r"^(end$|pay|releas|deliver|ship|settl|done|final)|payment",
)
_DECISION = (
    r"^(decid|approv|assess)|decision|approved",
    r"^(determin|evaluat|accept|review|triage)|accepted|triage$",
)
_UNWANTED = (
    r"^(reject|refus|declin|cancel|abort|withdraw|deni|appeal|complain|escalat|fail|unmatched)"
    r"|penalty|rejected|declined|cancelled|return|reopen|credit collection|reminder|storno"
)
_AGAIN = (
    r"^re ?(open|work|initiat|submi|peat|do|vis)|again|adjust|correct|revis|resubmi|sent back"
    r"|request.*(document|info|advice)|^(check|examine|test)|queued|admission"
)


def _plain(name: str) -> str:
    """A name in small letters and words: codes like T05 or A_ in front do not count."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()
    return re.sub(r"^([a-z]?[0-9]+(?: [0-9]+)?|[a-z]) (?=\w)", "", words)


def _sounding_like(names: Sequence[str], words: str) -> list[str]:
    return [name for name in names if re.search(words, _plain(name))]


def _sounding(names: Sequence[str], words: Sequence[str]) -> str | None:
    """The first name that sounds so most clearly."""
    return next(chain.from_iterable(_sounding_like(names, some) for some in words), None)
