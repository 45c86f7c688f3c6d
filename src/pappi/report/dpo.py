"""The data-protection pack: one printable document for a data protection officer, and its JSON.

What is promised, in sentences with their numbers; what is not; every release with its ε; the
record of processing, as far as the workspace knows it; and whether the ledger behind all of it
verifies. If it does not, that is all the document says.

Why the numbers of the guarantee are right. A case lies in one block, by the log's anchor, and a
release is charged to every block whose cases it reads. So

- one case affects only what was charged to its block: the most charged block is the bound;
- of a person at most k cases count, each in releases at ε/k. If they are counted in the whole
  log, the k of them lie in some blocks and lose at most the largest account; if they are counted
  in each block, the guarantee is per block, and over all blocks it is the sum of all accounts;
- under `replace` the two logs compared have the same number of cases on every day, so that a
  case keeps its day, and its block: the most charged block again, but the day is not protected.

All of this needs cases that stay in their block. Sealing ensures that in the workspace. At a
source only its operators can: there the sentences say so.

Factors are rounded up. If e to the ε is too large to protect anybody, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from pappi.report.dpo_facts import Act, Chain, LogFacts, Look, Pack, ReleaseRow, Share
from pappi.report.markup import (
    DPO_CSS,
    PAGE_CSS,
    Element,
    Node,
    TableCell,
    bdi,
    document_html,
    el,
    table,
)
from pappi.report.numbers import count_text, shortened, to_the_minute
from pappi.report.wording import (
    HOPELESS,
    attributes_with_kinds,
    counted,
    describe_log,
    describe_vocabulary,
    epsilons_text,
    listed_up_to,
    neighbours_text,
    promise,
    their_cases,
    times,
)
from pappi.values import (
    UNDER_REPLACE,
    Adjacency,
    BudgetLine,
    Epsilon,
    KeyRecord,
    Per,
    Period,
    PrivacyUnit,
)

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
        el(
            "section",
            el("p", el("strong", "All answers are currently stopped: "), bdi(pack.stopped)),
            class_="card alarm",
        )
        if pack.stopped is not None
        else None,
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
        _card(
            "Record of processing",
            el("p", "In the order of Article 30(1) GDPR. What PaPPI cannot know is left blank."),
            el(
                "dl",
                *(_pair(entry.label, *_filled(entry)) for entry in record_of_processing(log)),
                class_="record",
            ),
        ),
        class_="log",
    )


def _promise(log: LogFacts) -> Element:
    first, *others = bounds_of(log)
    return el(
        "section",
        el("h3", "What is guaranteed"),
        el("p", first.sentence, class_="first"),
        *(el("p", bound.sentence) for bound in others),
        el("p", neighbours_text([log.terms.adjacency], log.terms.unit), class_="muted"),
        class_="card promise",
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
    caption: str, columns: Mapping[str, str], rows: Iterable[Sequence[TableCell]]
) -> Element:
    """Scrolls sideways on narrow screens; columns of `words` break between words only."""
    # No landmark: several logs have the same tables.
    return el("div", table(caption, columns, rows), class_="wide", role="group",
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
        spent = (run.line.spent, run.line.held, run.line.left, run.line.limit)
        rows.append((bdi(run.label), f"{run.blocks:,}", *map(str, spent)))
    amounts = ("Number", "ε spent", "ε reserved", "ε left", "ε limit")
    columns = {"Blocks": "", **dict.fromkeys(amounts, "number")}
    caption = "Budget of every block; blocks with equal budgets share a row"
    rest = _rest(len(runs) - len(shown), "less charged rows", "pappi budget")
    return el("div", _table(caption, columns, rows), rest)


def _shares(shares: Sequence[Share]) -> Element:
    if not shares:
        return el("p", "No analyst has access, and nobody was charged.")
    rows = [
        (bdi(share.analyst), str(share.per_block or "no share"), str(share.most_in_a_block))
        for share in shares
    ]
    amounts = dict.fromkeys(("ε granted in each block", "Most ε spent in a block"), "number")
    return _table("Analysts, their shares and their spending", {"Analyst": "", **amounts}, rows)


# --- releases -------------------------------------------------------------------------


def _releases(rows: Sequence[ReleaseRow]) -> Element:
    if not rows:
        return el("p", "Nothing has been charged for this log yet.")
    charged, reserved = sum(row.charged for row in rows), sum(row.reserved for row in rows)
    reservations = f" and {count_text(reserved, 'reservation')}" if reserved else ""
    caption = f"{count_text(charged, 'charge')}{reservations} in {count_text(len(rows), 'row')}"
    if any(row.queries > 1 for row in rows):
        caption += "; rows are grouped, and `pappi trail` lists each release"
    columns = {
        **dict.fromkeys(("Indicator", "Asked by"), ""),
        **dict.fromkeys(("Asked on", "Covers", "Mechanism"), "words"),
        **dict.fromkeys(("ε each", "Cells", "Most ε in a block"), "number"),
        "State": "words",
    }
    return _table(caption, columns, map(_release_cells, rows))


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
    columns = {"When (UTC)": "", "By": "", "Named by": "", "Cases": "number", "Events": "number"}
    rest = _rest(len(log.erasures) - len(shown), "earlier erasures", "pappi trail")
    return el("div", _table("Erasures: how much, never which", columns, rows), rest)


def _looks(looks: Sequence[Look]) -> Element:
    """Who viewed exact values and how often; then each view, the latest if there are many."""
    if not looks:
        return el("p", "Nobody has viewed exact values through PaPPI.")
    shown = looks[-_MOST_ACTS:]
    rows = [
        (f"{look.seq:,}", _moment(look.at), bdi(look.by), bdi(_some(look.ppis, look.count)))
        for look in shown
    ]
    columns = {"Entry": "number", "When (UTC)": "words", "By": "", "Indicators": ""}
    caption = f"{count_text(len(shown), 'view')} of exact values, oldest first"
    views = _table(caption, columns, rows)
    rest = _rest(len(looks) - len(shown), "earlier views", "pappi trail")
    return el("div", _lookers(looks), views, rest)


def _lookers(looks: Sequence[Look]) -> Element:
    of: dict[str, list[Look]] = {}
    for look in looks:
        of.setdefault(look.by, []).append(look)
    rows = [
        (bdi(who), f"{len(their):,}", _moment(their[0].at), _moment(their[-1].at))
        for who, their in sorted(of.items())
    ]
    columns = {"Who": "", "Times": "number", "First (UTC)": "words", "Last (UTC)": "words"}
    return _table("Who viewed exact values, and how often", columns, rows)


def _acts(acts: Sequence[Act]) -> Element:
    if not acts:
        return el("p", "Nothing has been recorded.")
    shown = acts[-_MOST_ACTS:]
    rows = [
        (f"{act.seq:,}", _moment(act.at), bdi(act.log or "all"), bdi(act.what), bdi(act.by))
        for act in shown
    ]
    columns = {"Entry": "number", "When (UTC)": "words", "Log": "", "What": "", "By": ""}
    caption = f"{count_text(len(shown), 'act')}, oldest first"
    rest = _rest(len(acts) - len(shown), "earlier acts", "pappi trail")
    return el("div", _table(caption, columns, rows), rest)


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
    return _table("Service keys, by public id", dict.fromkeys(headers, ""), rows)


def pack_record(pack: Pack, generated: str) -> dict[str, Any]:
    """The same facts as the document, to be written by the codec."""
    chain = pack.chain
    return {
        "generated": generated,
        "workspace": pack.workspace,
        "ledger": {
            "verifies": chain.ok,
            "entries": chain.entries,
            "head": chain.head,
            "problem": chain.problem or None,
        },
        "stopped": pack.stopped,
        "logs": [_log_record(log) for log in pack.logs],
        "acts": pack.acts,
        "keys": pack.keys,
    }


def _log_record(log: LogFacts) -> dict[str, Any]:
    return {
        "log": log.public.name,
        "source": log.source or None,
        "guarantee": bounds_of(log),
        "compares": neighbours_text([log.terms.adjacency], log.terms.unit),
        "not_covered": tuple(not_covered(log)),
        "late_data": late_data(log),
        "unit": log.terms.unit,
        "adjacency": log.terms.adjacency,
        "declared": dict(declared_facts(log)),
        "first": log.public.first,
        "sealed_until": log.public.until,
        "block_budget": log.terms.block_budget,
        "total_budget": log.terms.total_budget,
        "accounts": log.accounts,
        "analysts": log.shares,
        "releases": log.releases,
        "record_of_processing": {
            line.label: {
                "known": line.known,
                "blank": f"{BLANK}: {line.blank}" if line.blank else None,
            }
            for line in record_of_processing(log)
        },
        "erasures": log.erasures,
        "looks_at_exact_values": log.looks,
    }


# --- the guarantee of a whole log in plain sentences: never more than holds ---------------


@dataclass(frozen=True, slots=True)
class Bound:
    """A sentence and its ε; None where nothing was published or nothing bounds it."""

    of: str
    epsilon: Epsilon | None
    sentence: str


def bounds_of(log: LogFacts) -> tuple[Bound, ...]:
    """The guarantee for one figure, for all so far, for all ever; and what adds up."""
    return (_single(log), _together(log), _ever(log), *_adding_up(log))


def ever_of(log: LogFacts) -> Epsilon:
    """The most ε that any one block can spend under today's budgets."""
    limits = [log.terms.block_budget]
    if log.terms.total_budget is not None:
        # All blocks together spend at least what one of them does.
        limits.append(log.terms.total_budget)
    return max(log.spent_most, min(limits))


def likelier(epsilon: Epsilon) -> str:
    """
    >>> likelier(Epsilon.of("0.1")), likelier(Epsilon.of(20))
    ('at most 1.11 times likelier', 'at most e^20 times likelier, which protects nobody,')
    """
    remark = ", which protects nobody," if epsilon > HOPELESS else ""
    return f"at most {times(epsilon)} likelier{remark}"


def _single(log: LogFacts) -> Bound:
    largest = log.largest_release
    if largest is None:
        return Bound("one release", None, "Nothing has been published about this log yet.")
    if largest > HOPELESS:
        sentence = f"One published figure may become {likelier(largest)} because of {_whom(log)}."
        return Bound("one release", largest, sentence)
    return Bound("one release", largest, promise(largest, log.terms.unit))


def _together(log: LogFacts) -> Bound:
    spent = log.spent_most
    sentence = (
        f"All figures published so far about {_about(log.terms.unit)}, taken together, become "
        f"{likelier(spent)} because of {_whom(log)} (ε = {spent}, spent by the most charged "
        f"block){_of_its_source(log, ', if ')}."
    )
    return Bound("all releases so far", spent, sentence)


def _ever(log: LogFacts) -> Bound:
    ever = ever_of(log)
    sentence = (
        f"Whatever is asked in future, all figures about {_about(log.terms.unit)} together become "
        f"{likelier(ever)} because of {_whom(log)} (ε = {ever}), as long as the owner does "
        f"not raise the budget{_of_its_source(log, ' and ')}; raising it would be recorded in the "
        "ledger."
    )
    return Bound("all releases ever", ever, sentence)


def _of_its_source(log: LogFacts, joined: str) -> str:
    """A condition that only the source can ensure; none for events in the workspace."""
    if not log.source:
        return ""
    # Only the first cases of a person count: one more or less changes which ones count.
    moved = "come, gone or changed its block" if _counted_in_all(log) else "changed its block"
    return f"{joined}no case from sealed time has {moved} at the source"


def _counted_in_all(log: LogFacts) -> bool:
    return log.terms.unit.column is not None and log.terms.unit.per is Per.LOG


def _adding_up(log: LogFacts) -> Iterator[Bound]:
    """What a guarantee per case, or per person and block, does not say about a person."""
    if _counted_in_all(log):
        return
    if log.terms.unit.column is None:
        whom = "somebody with one case in every block"
        first = (
            "A person with several cases is not protected as a whole: what their cases reveal adds "
            "up."
        )
    else:
        whom = f"one '{log.terms.unit.column}' with cases in every block"
        first = f"What different blocks reveal about the same '{log.terms.unit.column}' adds up."
    spent, total = log.spent_in_all, log.terms.total_budget
    so_far = f"All figures so far become {likelier(spent)} because of {whom} (ε = {spent})."
    yield Bound("all blocks together, so far", spent, f"{first} {so_far}")
    if total is None:
        amount = f"ε {log.terms.block_budget} with every block queried"
        sentence = f"There is no budget for all blocks together: this sum may grow by {amount}."
        yield Bound("all blocks together, ever", None, sentence)
    else:
        most = max(total, spent)
        sentence = f"The budget for all blocks together keeps this sum at or below ε = {most}."
        yield Bound("all blocks together, ever", most, sentence)


def _about(unit: PrivacyUnit) -> str:
    per_block = unit.column is not None and unit.per is Per.BLOCK
    return "any one block" if per_block else "this log"


def _whom(log: LogFacts) -> str:
    if log.terms.unit.column is None:
        add_remove = log.terms.adjacency is Adjacency.ADD_REMOVE
        return "one case" if add_remove else "what one case contains"
    where = " in that block" if log.terms.unit.per is Per.BLOCK else ""
    return f"{their_cases(log.terms.unit)}{where}, {counted(log.terms.unit)}"


# --- what the guarantee does not cover ------------------------------------------------


def not_covered(log: LogFacts) -> tuple[str, ...]:
    """What a reader might think is protected, and is not."""
    return (
        "What the owner has declared public about the log (listed below).",
        (
            "Who asked what, when and at which ε: queries are recorded, and everyone with access "
            "to the log can see them. A definition may name values; these come from the analyst, "
            "not from the log."
        ),
        *_of_the_unit(log),
        *(_of_the_source(log) if log.source else ()),
        (
            "Other logs about the same people, in this workspace or elsewhere, and whatever other "
            "systems publish: each has its own guarantee or none, and what they reveal adds up."
        ),
        (
            "Exact values that the owner computes for their own use: passing them on is outside "
            "the guarantee. Who viewed them is recorded and listed below."
        ),
        (
            "A dishonest owner, a stolen workspace, somebody on the same machine, and somebody who "
            "rewrites the whole ledger. The timing of replies and results is rounded to a fixed "
            "time grid: the number of steps until an answer may depend on the data."
        ),
    )


def _of_the_unit(log: LogFacts) -> Iterator[str]:
    if log.terms.unit.column is None:
        yield (
            "Persons: the unit is the case. What several cases of the same person reveal adds up, "
            "and related cases of different people are protected one by one."
        )
    else:
        yield (
            f"Links between different values of '{log.terms.unit.column}', such as families, or "
            "one person spelled in two ways."
        )
    if log.terms.adjacency is Adjacency.REPLACE:
        yield UNDER_REPLACE


def _of_the_source(log: LogFacts) -> Iterator[str]:
    yield (
        f"What others can read or change at {log.source}. PaPPI trusts that rows from sealed time "
        "do not change there; it cannot enforce this."
    )
    yield (
        "Whether the source fails while an answer is computed. An analyst learns that a release "
        "was not completed, and no ε covers that: if something in the data made the source fail, "
        "that fact would leak. Investigate releases that were charged without a result."
    )


def late_data(log: LogFacts) -> str:
    sealed = (
        f"Time is sealed until {log.public.until}"
        if log.public.first < log.public.until
        else "Nothing is sealed"
    )
    unsealed = f"{sealed}; unsealed time is never used in an answer."
    if log.source:
        return f"{unsealed} {_late_at_source(log)}"
    return (
        f"{unsealed} Events that arrive later for sealed time are set aside and never used, so "
        "that no published figure changes and no case counts in two blocks. They are erased "
        "together with their case."
    )


def _late_at_source(log: LogFacts) -> str:
    """What happens to a case that continues at its source after it was used in an answer."""
    moved = (
        "A case stays in the block of its first event, unless that event is changed"
        if log.terms.anchor == "case start"
        else "A case that was already used and gets another event moves to a later block"
    )
    erased = (
        f"One '{log.terms.unit.column}' must be erased at the source as a whole: if only some of "
        "their cases were erased, others would start to count."
        if _counted_in_all(log)
        else "Events are erased at the source."
    )
    return (
        "The events are read at their source, where PaPPI cannot set aside late events for sealed "
        "time: a new query sees them. Published figures do not change. "
        f"{moved}; it then counts in two blocks, and its guarantee is the sum of what both have "
        f"spent. {erased}"
    )


# --- the record of processing, in the order of Article 30(1) GDPR -------------------------
#
# What the workspace knows is filled in. What it cannot know is a blank for the controller:
# nothing here is guessed.

BLANK = "to be completed by the controller"
# Names beyond this are counted: the declaration itself has them all.
_MOST_NAMES = 150


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One line of the record: what is known, and what is left to be filled in by hand."""

    label: str
    known: tuple[str, ...] = ()
    blank: str = ""


def record_of_processing(log: LogFacts) -> tuple[RecordLine, ...]:
    column, analysts = log.terms.unit.column, [share.analyst for share in log.shares]
    subjects = (
        "The people behind the cases; the log does not identify persons."
        if column is None
        else f"People identified by the attribute '{column}' of each case."
    )
    recipients = (
        f"Published figures: {listed_up_to(analysts, _MOST_NAMES)}."
        if analysts
        else "Nobody has been granted access yet, and nobody was charged."
    )
    return (
        RecordLine(
            "Controller", blank="name and contact of the controller, and of a joint controller"
        ),
        RecordLine("Data protection officer", blank="name and contact"),
        RecordLine("Purpose", (_PURPOSE,), "purpose of the indicators in the controller's words"),
        RecordLine("Legal basis", blank="legal basis of the processing"),
        RecordLine("Data subjects", (subjects,), "categories of people the cases are about"),
        RecordLine("Personal data", tuple(_data(log)), "categories, and special categories if any"),
        RecordLine("Recipients", (recipients,), "who else receives the published figures"),
        _transfers(log),
        RecordLine("Retention", tuple(_retention(log)), "time limits for erasing the events"),
        RecordLine(
            "Security measures",
            tuple(_measures(log)),
            f"{'measures at the source; ' if log.source else ''}organisational measures, and "
            "measures for its machines",
        ),
        RecordLine("Completed by", blank="name, date, signature"),
    )


_PURPOSE = (
    "Statistics on the performance of a process (process performance indicators), published "
    "with random noise under differential privacy."
)
_NOISE = (
    "Differential privacy (ε, δ = 0): exact noise from the operating system's randomness; budgets "
    "are checked and charged in one durable transaction before any event is read."
)
_LEDGER = (
    "A ledger of every act, charge and release, and of every view of exact values, chained with "
    "SHA-256 and verified when opened; nothing is answered if verification fails."
)
_KEYS = (
    "Service keys are stored only as digests, have rights and an expiry, and can be revoked; "
    "everything not granted is denied."
)


def _transfers(log: LogFacts) -> RecordLine:
    by = "transfers by analysts or operators"
    if not log.source:
        nowhere = (
            "PaPPI itself sends data nowhere: events stay in the workspace, and analysts "
            "receive published figures only."
        )
        return RecordLine("Third countries", (nowhere,), by)
    there = (
        f"The events are stored at {log.source} and read there. PaPPI sends queries to it and "
        "sends nothing to anyone else. Query results stay on the machine that runs PaPPI while an "
        "answer is computed; analysts receive published figures only."
    )
    return RecordLine("Third countries", (there,), f"where the source is, and {by}")


def _measures(log: LogFacts) -> Iterator[str]:
    yield _NOISE
    if log.source:
        yield (
            "PaPPI only reads from the source. Through PaPPI, only the owner can reach events; "
            "analysts receive answers, never events. The source decides who else may read or "
            "change them."
        )
    else:
        yield "Only the owner can reach events; analysts receive answers, never events."
    yield _LEDGER
    yield _KEYS
    stop = "A stop switch that refuses every answer"
    if log.source:
        yield f"{stop}. Events are erased at the source."
    else:
        yield f"{stop}, and erasure of cases, persons and blocks from disk."


def _data(log: LogFacts) -> Iterator[str]:
    words = log.public.vocabulary
    yield "For each case: an identifier, and the activities with their times."
    if log.source:
        yield f"Read from {log.source}; not stored here."
    yield f"Activities: {listed_up_to(words.activities, _MOST_NAMES)}."
    if words.attributes:
        yield f"Attributes: {listed_up_to(attributes_with_kinds(words), _MOST_NAMES)}."


def _retention(log: LogFacts) -> Iterator[str]:
    if log.removed:
        yield "The log was removed: its events are no longer in the workspace."
        yield "Published figures and the ledger stay."
        return
    if log.source:
        yield (
            "Events stay at their source until they are erased there; PaPPI keeps no copy, and no "
            "erasure is on record here."
        )
        yield "Published figures and the ledger stay."
        return
    cases = sum(erasure.cases for erasure in log.erasures)
    yield (
        "Events stay in the workspace until they are erased. "
        f"Erasures on record: {len(log.erasures):,}; cases erased: {cases:,}."
    )
    yield (
        "Published figures and the ledger stay. For an erased case, a keyed hash stays so that it "
        "is not captured again."
    )


def declared_facts(log: LogFacts) -> tuple[tuple[str, str], ...]:
    """What is public about a log, label and text."""
    return (*describe_log(log.public), *describe_vocabulary(log.public.vocabulary, _MOST_NAMES))
