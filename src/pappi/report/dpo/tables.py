"""The tables of the data-protection pack: accounts, analysts, releases, acts, keys.

Long ones stay readable: neighbouring blocks with the same account make one row, and beyond
a number of rows the rest is summed up in a line, which says where all of it can be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from pappi.report.budgets import BudgetLine
from pappi.report.dpo.facts import Act, LogFacts, Look, Share
from pappi.report.dpo.releases import ReleaseRow
from pappi.report.elements import Element, Node, el
from pappi.report.numbers import MISSING
from pappi.report.plain import shortened
from pappi.values.access import KeyRecord
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Period

_MOST_RUNS = 400
_MOST_ACTS = 500
_NAMED = 3
_LETTERS = 80
_UP_TO = " – "


class Number(str):
    """The text of a cell, or of the heading of cells, that holds a number."""

    __slots__ = ()


class Words(str):
    """The text of a cell in our own words, which break between each other only."""

    __slots__ = ()


class Days(Words):
    """A day, a moment, or a first and a last day: each stays in one piece."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Blocks one after the other whose accounts are alike."""

    label: str
    line: BudgetLine
    blocks: int


def runs_of(lines: Iterable[BudgetLine]) -> list[Run]:
    runs = []
    for _, alike in groupby(lines, key=lambda line: (line.limit, line.spent, line.held)):
        found = list(alike)
        first, last = found[0].block, found[-1].block
        label = first if len(found) == 1 else f"{first} … {last}"
        runs.append(Run(label, found[0], len(found)))
    return runs


def accounts_table(log: LogFacts) -> Node:
    runs = runs_of(log.accounts)
    if not runs:
        return el("p", "There is no block yet: nothing has been sealed.")
    shown = runs
    if len(runs) > _MOST_RUNS:
        shown = sorted(runs, key=lambda run: run.line.spent, reverse=True)[:_MOST_RUNS]
    headers = ("Blocks", *map(Number, ("Number", "ε spent", "ε reserved", "ε left", "ε limit")))
    rows = [_account_row(run) for run in shown]
    rest = _rest(len(runs) - len(shown), "less charged rows", "pappi budget")
    caption = "Account of every block; blocks with equal accounts share a row"
    return el("div", table(caption, headers, rows), rest)


def _account_row(run: Run) -> Element:
    line = run.line
    amounts = (line.spent, line.held, line.left, line.limit)
    return row(run.label, Number(f"{run.blocks:,}"), *(Number(amount) for amount in amounts))


def shares_table(shares: Sequence[Share]) -> Node:
    if not shares:
        return el("p", "No analyst has been granted access, and nobody has asked.")
    rows = [
        row(share.analyst, _share_text(share.per_block), Number(share.most_in_a_block))
        for share in shares
    ]
    headers = ("Analyst", Number("ε granted in each block"), Number("ε most spent in a block"))
    return table("Analysts, their shares and what they have paid for", headers, rows)


def _share_text(granted: Epsilon | None) -> str:
    return Number("no share of their own") if granted is None else Number(granted)


# --- releases -------------------------------------------------------------------------

_RELEASES = (
    *("Indicator", "Asked by", "Asked on", "Covers", "Mechanism"),
    *map(Number, ("ε each", "Cells", "ε most in a block")),
    "State",
)


def releases_table(rows: Sequence[ReleaseRow]) -> Node:
    if not rows:
        return el("p", "Nothing has been asked about this log yet.")
    charged, reserved = sum(one.charged for one in rows), sum(one.reserved for one in rows)
    held = f" and {_counted(reserved, 'reservation')}" if reserved else ""
    caption = f"{_counted(charged, 'charge')}{held} in {_counted(len(rows), 'row')}"
    if any(one.questions > 1 for one in rows):
        caption += "; so many that rows draw questions together, of which `pappi trail` has each"
    return table(caption, _RELEASES, [_release_row(one) for one in rows])


def _release_row(one: ReleaseRow) -> Element:
    more = f" ({one.questions:,} questions)" if one.questions > 1 else ""
    return row(
        f"{_some(one.ppis)}{more}",
        _some(one.analysts),
        Days(_days(one.asked_first[:10], one.asked_last[:10])),
        Days(covered(one.first, one.end)),
        Words(", ".join(one.mechanisms)),
        Number(_range(one.epsilon_least, one.epsilon_most)),
        Number(f"{one.cells:,}"),
        Number(one.block_most),
        Words(state_text(one)),
    )


def state_text(one: ReleaseRow) -> str:
    counts = {
        "released": one.released,
        "charged without a result": one.incomplete,
        "reserved": one.reserved,
    }
    present = {state: count for state, count in counts.items() if count}
    if len(present) == 1:
        return next(iter(present))
    return ", ".join(f"{count:,} {state}" for state, count in present.items())


def covered(first: date, end: date) -> str:
    """From the first to the last day.

    >>> covered(date(2024, 1, 1), date(2026, 1, 1))
    '2024-01-01 – 2025-12-31'
    """
    label = Period(first, end).label
    return label if " to " not in label else _days(str(first), str(end - timedelta(days=1)))


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first}{_UP_TO}{last}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _range(least: Epsilon, most: Epsilon) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _some(names: Sequence[str], of: int = 0) -> str:
    shown = ", ".join(shortened(name, _LETTERS) for name in names[:_NAMED])
    more = max(len(names), of) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


# --- acts -----------------------------------------------------------------------------


def erasures_table(log: LogFacts) -> Node:
    erasures = log.erasures
    if log.source:
        return el("p", "Events are erased at their source: what was erased there is not on record.")
    if not erasures:
        return el("p", "Nothing has been erased.")
    shown = erasures[-_MOST_ACTS:]
    rows = [
        row(
            when(one.at),
            one.by,
            ", ".join(one.kinds),
            Number(f"{one.cases:,}"),
            Number(f"{one.events:,}"),
        )
        for one in shown
    ]
    headers = ("When (UTC)", "By", "Named by", Number("Cases"), Number("Events"))
    rest = _rest(len(erasures) - len(shown), "earlier erasures", "pappi trail")
    return el("div", table("Erasures: how much, never which", headers, rows), rest)


def looks_table(looks: Sequence[Look]) -> Node:
    """Who looked at exact values and how often; then each time, the latest of many."""
    if not looks:
        return el("p", "Nobody has looked at exact values through PaPPI.")
    shown = looks[-_MOST_ACTS:]
    rows = [
        row(
            Number(f"{one.seq:,}"),
            Days(when(one.at)),
            one.by,
            _some(one.ppis, one.count),
        )
        for one in shown
    ]
    headers = (Number("Entry"), "When (UTC)", "By", "Indicators")
    rest = _rest(len(looks) - len(shown), "earlier looks", "pappi trail")
    caption = f"{_counted(len(shown), 'look')} at exact values, oldest first"
    return el("div", _lookers_table(looks), table(caption, headers, rows), rest)


def _lookers_table(looks: Sequence[Look]) -> Element:
    of: dict[str, list[Look]] = {}
    for one in looks:
        of.setdefault(one.by, []).append(one)
    rows = [
        row(who, Number(f"{len(their):,}"), Days(when(their[0].at)), Days(when(their[-1].at)))
        for who, their in sorted(of.items())
    ]
    headers = ("Who", Number("Times"), "First (UTC)", "Last (UTC)")
    return table("Who looked at exact values, and how often", headers, rows)


def acts_table(acts: Sequence[Act]) -> Node:
    if not acts:
        return el("p", "Nothing is on record.")
    shown = acts[-_MOST_ACTS:]
    rows = [
        row(Number(f"{one.seq:,}"), Days(when(one.at)), one.log or "all", one.what, one.by)
        for one in shown
    ]
    headers = (Number("Entry"), "When (UTC)", "Log", "What", "By")
    rest = _rest(len(acts) - len(shown), "earlier acts", "pappi trail")
    return el("div", table(f"{_counted(len(shown), 'act')}, oldest first", headers, rows), rest)


def keys_table(keys: Sequence[KeyRecord]) -> Node:
    if not keys:
        return el("p", "No key of the service has been issued.")
    rows = [
        row(key.id, key.name, str(key.role), ", ".join(sorted(key.rights)),
            when(key.created.isoformat()), _expiry(key), "revoked" if key.revoked else "no")
        for key in keys
    ]  # fmt: skip
    headers = ("Key", "Name", "Role", "Rights", "Created (UTC)", "Expires (UTC)", "Revoked")
    return table("Keys of the service, by their public id", headers, rows)


def _expiry(key: KeyRecord) -> str:
    return "never" if key.expires is None else when(key.expires.isoformat())


def when(at: str) -> str:
    """
    >>> when("2026-11-15T20:09:10.775214+00:00")
    '2026-11-15 20:09'
    """
    return at[:16].replace("T", " ")


def _rest(count: int, what: str, command: str) -> Element | None:
    if count <= 0:
        return None
    return el("p", f"{count:,} {what} are not shown; ", el("code", command), " has them all.")


# --- pieces ---------------------------------------------------------------------------


def table(caption: str, headers: Sequence[str], rows: Sequence[Element]) -> Element:
    """A table that scrolls sideways on narrow screens."""
    cells = [el("th", header, scope="col", class_=_class(header)) for header in headers]
    whole = el("table", el("caption", caption), el("thead", el("tr", *cells)), el("tbody", *rows))
    # No landmark: several logs have the same tables.
    return el("div", whole, class_="wide", role="group", aria_label=caption, tabindex=0)


def row(*cells: str) -> Element:
    """A row; its first cell names it."""
    first, *others = cells
    head = el("th", *_content(first), scope="row", class_=_class(first))
    return el("tr", head, *(el("td", *_content(cell), class_=_class(cell)) for cell in others))


def _content(cell: str) -> Iterator[Node]:
    """Numbers and words are ours; other text is from outside."""
    if isinstance(cell, Days):
        first, *others = cell.split(_UP_TO)
        yield el("span", first)
        for other in others:
            yield from (_UP_TO, el("span", other))
    else:
        yield cell if isinstance(cell, Number | Words) else name(cell)


def name(text: str) -> Element:
    """Text from outside keeps its reading direction to itself."""
    return el("bdi", text or MISSING)


def _class(cell: str) -> str | None:
    if isinstance(cell, Words):
        return "words"
    return "number" if isinstance(cell, Number) else None
