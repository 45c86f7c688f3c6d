"""The data-protection pack: one printable document for a data protection officer.

What is promised, in sentences with their numbers; what is not; every release with its ε; the
record of processing, as far as the workspace knows it; and whether the ledger behind all of it
verifies. If it does not, that is all the document says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from pappi.report.describe import listed_up_to
from pappi.report.dpo.facts import Act, Chain, LogFacts, Look, Pack, ReleaseRow, Share
from pappi.report.dpo.processing import BLANK, RecordLine, declared_facts, record_of_processing
from pappi.report.dpo.promise import bounds_of, compared_text, late_data, not_covered
from pappi.report.elements import Element, Node, TableCell, bdi, el, table
from pappi.report.numbers import count_text, to_the_minute
from pappi.report.safe_text import shortened
from pappi.report.style import DPO_CSS, PAGE_CSS, document_html
from pappi.report.wording import epsilons_text
from pappi.values import BudgetLine, KeyRecord, Period

_TITLE = "Data-protection pack"
_FOR_WHOM = "For the owner and the data protection officer only. "
_EXACT = (
    "It contains exact numbers, such as how many cases were erased, that the guarantee does not "
    "protect. Do not share it with analysts or publish it."
)
_ABOUT_RELEASES = (
    "All cells of one query share a row. A cell is charged once, in every block it may touch, and "
    "answered once. Repeating a query returns the recorded answer: it costs nothing and adds no "
    "entry. A charge stays spent, with or without a result."
)
_ABOUT_LOOKS = (
    "The owner can compute values without noise. Each time is recorded in the ledger before any "
    "event is read. Copying the files of the workspace, or reading a source without PaPPI, leaves "
    "no entry here."
)


def dpo_html(pack: Pack, generated: str) -> str:
    """The document as a page of its own."""
    title = f"{_TITLE}: {pack.logs[0].public.name}" if len(pack.logs) == 1 else _TITLE
    made = f"Made on {generated} from the ledger and the declarations of workspace "
    workspace = bdi(f"“{pack.workspace}”")
    header = (el("p", made, workspace, ". No event was read.", class_="muted"),)
    style = PAGE_CSS + DPO_CSS
    return document_html(title, header, (dpo_body(pack),), skip="document", style=style)


def dpo_body(pack: Pack) -> Element:
    """The document's body, for a page whose style sheet has `DPO_CSS`; it begins at level 2."""
    if not pack.chain.ok:
        return el("div", _alarm(pack.chain), class_="dpo")
    return el(
        "div",
        el("section", el("p", el("strong", _FOR_WHOM), _EXACT), class_="card notice"),
        _stopped(pack),
        _contents(pack.logs),
        *(_log(log, number) for number, log in enumerate(pack.logs, start=1)),
        el(
            "section",
            el("h2", "The workspace"),
            _card("What was done", _acts(pack.acts)),
            _card("Keys", _keys(pack.keys)),
            _verification(pack.chain),
            class_="whole",
        ),
        class_="dpo",
    )


def _stopped(pack: Pack) -> Element | None:
    if pack.stopped is None:
        return None
    return el(
        "section",
        el("p", el("strong", "All answers are currently stopped: "), bdi(pack.stopped)),
        class_="card alarm",
    )


def _contents(logs: Sequence[LogFacts]) -> Element | None:
    if len(logs) == 1:
        return None
    if not logs:
        return el("p", "This workspace has no log yet.")
    links = [
        el("li", el("a", bdi(log.public.name), href=f"#log-{number}"))
        for number, log in enumerate(logs, start=1)
    ]
    return el("nav", el("h2", f"{len(logs):,} logs"), el("ul", *links), aria_label="Logs")


# --- one log --------------------------------------------------------------------------


def _log(log: LogFacts, number: int) -> Element:
    return el(
        "section",
        el("h2", "Log ", bdi(log.public.name), id=f"log-{number}"),
        _promise(log),
        _card(
            "What is not covered",
            el("ul", *(el("li", bdi(text)) for text in not_covered(log))),
            el("h4", "Late data"),
            el("p", late_data(log)),
        ),
        _card(
            "What is declared, and therefore public",
            el("dl", *(_pair(label, bdi(text)) for label, text in declared_facts(log))),
        ),
        _card("Privacy budget", _accounts(log), _shares(log.shares)),
        _card("Every release", el("p", _ABOUT_RELEASES, class_="lead"), _releases(log.releases)),
        _card("Who viewed exact values", el("p", _ABOUT_LOOKS, class_="lead"), _looks(log.looks)),
        _card("Erasures", _erasures(log)),
        _processing(record_of_processing(log)),
        class_="log",
    )


def _promise(log: LogFacts) -> Element:
    first, *others = bounds_of(log)
    return el(
        "section",
        el("h3", "What is guaranteed"),
        el("p", first.sentence, class_="first"),
        *(el("p", bound.sentence) for bound in others),
        el("p", compared_text(log), class_="muted"),
        class_="card promise",
    )


def _processing(entries: Sequence[RecordLine]) -> Element:
    return _card(
        "Record of processing",
        el("p", "In the order of Article 30(1) GDPR. What PaPPI cannot know is left blank."),
        el("dl", *(_pair(entry.label, *_filled(entry)) for entry in entries), class_="record"),
    )


def _pair(label: str, *text: Node) -> Element:
    """Label and text, which are kept on one page."""
    return el("div", el("dt", label), el("dd", *text))


def _filled(entry: RecordLine) -> list[Node]:
    nodes: list[Node] = [el("p", bdi(text)) for text in entry.known]
    if entry.blank:
        nodes.append(el("span", f"{BLANK}: {entry.blank}", class_="blank"))
    return nodes


# --- the ledger -----------------------------------------------------------------------


def _verification(chain: Chain) -> Element:
    return _card(
        "Verification of the ledger",
        el("p", el("span", "✓ The ledger verifies. ", class_="ok"),
           f"Each of its {chain.entries:,} entries carries the digest of the previous one, and the "
           "amounts spent match the recorded charges."),
        el("p", "Digest of the last entry: ", el("code", chain.head)),
        el("p", "Check it again with ", el("code", "pappi audit ledger"), ", which prints number "
           "of entries and digest. The chain reveals any later change to an entry. It cannot "
           "reveal a ledger that was rewritten as a whole or rolled back: keep this digest "
           "somewhere else and compare."),
    )  # fmt: skip


def _alarm(chain: Chain) -> Element:
    return el(
        "section",
        el("h2", "✗ The ledger does not verify"),
        el("p", el("strong", bdi(chain.problem))),
        el("p", "It cannot show what was published, spent and erased, so no guarantee can be "
        "stated. Nothing is answered until the owner restores the ledger from a backup."),
        el("p", f"Valid entries before the problem: {chain.entries:,}. Check it with ",
           el("code", "pappi audit ledger"), "."),
        class_="card alarm",
        role="alert",
    )  # fmt: skip


def _card(heading: str, *content: Node) -> Element:
    return el("section", el("h3", heading), *content, class_="card")


_MOST_RUNS = 400
_MOST_ACTS = 500
_NAMED = 3
_LETTERS = 80


def _table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[TableCell]],
    *,
    numbers: Iterable[int] = (),
    words: Iterable[int] = (),
) -> Element:
    """Scrolls sideways on narrow screens; columns of `words` break between words only."""
    styles = dict.fromkeys(numbers, "number") | dict.fromkeys(words, "words")
    # No landmark: several logs have the same tables.
    return el("div", table(caption, headers, rows, styles), class_="wide", role="group",
              aria_label=caption, tabindex=0)  # fmt: skip


def _rest(count: int, things: str, command: str) -> Element | None:
    if count <= 0:
        return None
    return el("p", f"{count:,} {things} are not shown; ", el("code", command), " lists them all.")


@dataclass(frozen=True, slots=True)
class EqualBlocks:
    """Consecutive blocks whose accounts are equal."""

    label: str
    line: BudgetLine
    blocks: int


def runs_of(lines: Iterable[BudgetLine]) -> list[EqualBlocks]:
    runs = []
    for _, group in groupby(lines, key=lambda line: (line.limit, line.spent, line.held)):
        alike = list(group)
        first, last = alike[0].block, alike[-1].block
        label = first if len(alike) == 1 else f"{first} … {last}"
        runs.append(EqualBlocks(label, alike[0], len(alike)))
    return runs


def _accounts(log: LogFacts) -> Element:
    runs = runs_of(log.accounts)
    if not runs:
        return el("p", "There are no blocks yet: nothing has been sealed.")
    shown = runs
    if len(runs) > _MOST_RUNS:
        shown = sorted(runs, key=lambda run: run.line.spent, reverse=True)[:_MOST_RUNS]
    rows: list[Sequence[TableCell]] = []
    for run in shown:
        amounts = (run.line.spent, run.line.held, run.line.left, run.line.limit)
        rows.append((bdi(run.label), f"{run.blocks:,}", *map(str, amounts)))
    headers = ("Blocks", "Number", "ε spent", "ε reserved", "ε left", "ε limit")
    caption = "Budget of every block; blocks with equal budgets share a row"
    rest = _rest(len(runs) - len(shown), "less charged rows", "pappi budget")
    return el("div", _table(caption, headers, rows, numbers=range(1, 6)), rest)


def _shares(shares: Sequence[Share]) -> Element:
    if not shares:
        return el("p", "No analyst has access, and nobody was charged.")
    rows = [
        (bdi(share.analyst), str(share.per_block or "no share"), str(share.most_in_a_block))
        for share in shares
    ]
    headers = ("Analyst", "ε granted in each block", "Most ε spent in a block")
    return _table("Analysts, their shares and their spending", headers, rows, numbers=(1, 2))


# --- releases -------------------------------------------------------------------------


def _releases(rows: Sequence[ReleaseRow]) -> Element:
    if not rows:
        return el("p", "Nothing has been charged for this log yet.")
    charged, reserved = sum(row.charged for row in rows), sum(row.reserved for row in rows)
    reservations = f" and {count_text(reserved, 'reservation')}" if reserved else ""
    caption = f"{count_text(charged, 'charge')}{reservations} in {count_text(len(rows), 'row')}"
    if any(row.queries > 1 for row in rows):
        caption += "; rows are grouped, and `pappi trail` lists each release"
    headers = ("Indicator", "Asked by", "Asked on", "Covers", "Mechanism", "ε each", "Cells",
               "Most ε in a block", "State")  # fmt: skip
    cells = [_release_cells(row) for row in rows]
    return _table(caption, headers, cells, numbers=(5, 6, 7), words=(2, 3, 4, 8))


def _release_cells(row: ReleaseRow) -> Sequence[TableCell]:
    more = f" ({row.queries:,} queries)" if row.queries > 1 else ""
    return (
        bdi(f"{_some(row.ppis)}{more}"),
        bdi(_some(row.analysts)),
        _days(row.asked_first[:10], row.asked_last[:10]),
        _covered(row.first, row.end),
        ", ".join(row.mechanisms),
        epsilons_text((row.epsilon_least, row.epsilon_most)),
        f"{row.cells:,}",
        str(row.block_most),
        state_text(row),
    )


def state_text(row: ReleaseRow) -> str:
    counts = {
        "released": row.released,
        "charged without a result": row.incomplete,
        "reserved": row.reserved,
    }
    present = {state: count for state, count in counts.items() if count}
    if len(present) == 1:
        return next(iter(present))
    return ", ".join(f"{count:,} {state}" for state, count in present.items())


def _covered(first: date, end: date) -> TableCell:
    """From the first to the last day, or the name of the period."""
    label = Period(first, end).label
    return _days(label) if " to " not in label else _days(first, end - timedelta(days=1))


def _days(first: object, last: object = None) -> TableCell:
    """A day, a moment, or a first and a last day, each without a line break."""
    days = [el("span", str(first))]
    if last is not None and first != last:
        return [*days, " – ", el("span", str(last))]
    return days


def _moment(at: str) -> TableCell:
    return _days(to_the_minute(at))


def _some(names: Sequence[str], of: int = 0) -> str:
    return listed_up_to([shortened(name, _LETTERS) for name in names], _NAMED, of)


# --- acts -----------------------------------------------------------------------------


def _erasures(log: LogFacts) -> Element:
    if log.removed:
        return el("p", "The log was removed: its events are deleted, what was published stays.")
    if log.source:
        return el("p", "Events are erased at their source: erasures there are not recorded here.")
    if not log.erasures:
        return el("p", "Nothing has been erased.")
    shown = log.erasures[-_MOST_ACTS:]
    rows = [
        (to_the_minute(erasure.at), bdi(erasure.by), ", ".join(erasure.kinds), f"{erasure.cases:,}",
         f"{erasure.events:,}")
        for erasure in shown
    ]  # fmt: skip
    headers = ("When (UTC)", "By", "Named by", "Cases", "Events")
    rest = _rest(len(log.erasures) - len(shown), "earlier erasures", "pappi trail")
    return el("div", _table("Erasures: how much, never which", headers, rows, numbers=(3, 4)), rest)


def _looks(looks: Sequence[Look]) -> Element:
    """Who viewed exact values and how often; then each view, the latest if there are many."""
    if not looks:
        return el("p", "Nobody has viewed exact values through PaPPI.")
    shown = looks[-_MOST_ACTS:]
    rows = [
        (
            f"{look.seq:,}",
            _moment(look.at),
            bdi(look.by),
            bdi(_some(look.ppis, look.count)),
        )
        for look in shown
    ]
    headers = ("Entry", "When (UTC)", "By", "Indicators")
    caption = f"{count_text(len(shown), 'view')} of exact values, oldest first"
    views = _table(caption, headers, rows, numbers=(0,), words=(1,))
    rest = _rest(len(looks) - len(shown), "earlier views", "pappi trail")
    return el("div", _lookers(looks), views, rest)


def _lookers(looks: Sequence[Look]) -> Element:
    of: dict[str, list[Look]] = {}
    for look in looks:
        of.setdefault(look.by, []).append(look)
    rows = [
        (
            bdi(who),
            f"{len(their):,}",
            _moment(their[0].at),
            _moment(their[-1].at),
        )
        for who, their in sorted(of.items())
    ]
    headers = ("Who", "Times", "First (UTC)", "Last (UTC)")
    caption = "Who viewed exact values, and how often"
    return _table(caption, headers, rows, numbers=(1,), words=(2, 3))


def _acts(acts: Sequence[Act]) -> Element:
    if not acts:
        return el("p", "Nothing has been recorded.")
    shown = acts[-_MOST_ACTS:]
    rows = [
        (
            f"{act.seq:,}",
            _moment(act.at),
            bdi(act.log or "all"),
            bdi(act.what),
            bdi(act.by),
        )
        for act in shown
    ]
    headers = ("Entry", "When (UTC)", "Log", "What", "By")
    caption = f"{count_text(len(shown), 'act')}, oldest first"
    rest = _rest(len(acts) - len(shown), "earlier acts", "pappi trail")
    return el("div", _table(caption, headers, rows, numbers=(0,), words=(1,)), rest)


def _keys(keys: Sequence[KeyRecord]) -> Element:
    if not keys:
        return el("p", "No service key has been issued.")
    rows = [
        (bdi(key.id), bdi(key.name), str(key.role), ", ".join(sorted(key.rights)),
         to_the_minute(key.created.isoformat()),
         "never" if key.expires is None else to_the_minute(key.expires.isoformat()),
         "revoked" if key.revoked else "no")
        for key in keys
    ]  # fmt: skip
    headers = ("Key", "Name", "Role", "Rights", "Created (UTC)", "Expires (UTC)", "Revoked")
    return _table("Service keys, by public id", headers, rows)
