"""The data-protection pack: one printable document for a data protection officer.

What is promised, in sentences with their numbers; what is not; every release with its ε; the
record of processing, as far as the workspace knows it; and whether the ledger that all of it
rests on verifies. If it does not, that is all the document says.
"""

from __future__ import annotations

from collections.abc import Sequence

from pappi.report.dpo.facts import Chain, LogFacts, Pack
from pappi.report.dpo.processing import BLANK, Entry, declared_facts, record_of_processing
from pappi.report.dpo.promise import bounds_of, compared_text, late_data, not_covered
from pappi.report.dpo.style import DPO_CSS
from pappi.report.dpo.tables import (
    accounts_table,
    acts_table,
    erasures_table,
    keys_table,
    looks_table,
    name,
    releases_table,
    shares_table,
)
from pappi.report.elements import Element, Node, el
from pappi.report.page_style import PAGE_CSS

_TITLE = "Data-protection pack"
# The page forbids itself everything but its own style, wherever it is opened.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def dpo_html(pack: Pack, generated: str) -> str:
    """The document as a page of its own."""
    title = _titled(pack)
    page = el(
        "html",
        el(
            "head",
            el("meta", charset="utf-8"),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            el("meta", name="referrer", content="no-referrer"),
            el("title", title),
            el("style", PAGE_CSS + DPO_CSS),
        ),
        el(
            "body",
            el("a", "Skip to the document", class_="skip", href="#dpo"),
            el(
                "header",
                el("h1", name(title)),
                el("p", f"Made on {generated} from the ledger and the declarations of workspace ",
                   name(f"“{pack.workspace}”"), ". No event was read.", class_="muted"),
            ),
            el("main", dpo_body(pack), id="dpo"),
            el("footer", el("p", "Made by PaPPI.")),
        ),
        lang="en",
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{page}\n"


def dpo_body(pack: Pack) -> Element:
    """The document's body, for a page whose style sheet has `DPO_CSS`; it begins at level 2."""
    if not pack.chain.ok:
        return el("div", _alarm(pack.chain), class_="dpo")
    return el(
        "div",
        _notice(),
        _stopped(pack),
        _contents(pack.logs),
        *(_log(log, number) for number, log in enumerate(pack.logs, start=1)),
        el(
            "section",
            el("h2", "The workspace"),
            _card("What was done", acts_table(pack.acts)),
            _card("Keys", keys_table(pack.keys)),
            _verification(pack.chain),
            class_="whole",
        ),
        class_="dpo",
    )


def _titled(pack: Pack) -> str:
    return f"{_TITLE}: {pack.logs[0].name}" if len(pack.logs) == 1 else _TITLE


def _notice() -> Element:
    return el(
        "section",
        el("p", el("strong", "For the owner and the data protection officer only. "),
           "This document holds exact numbers, such as how many cases were erased, that the "
           "guarantee does not protect. Do not hand it to analysts, and do not publish it."),
        class_="card notice",
    )  # fmt: skip


def _stopped(pack: Pack) -> Element | None:
    if pack.stopped is None:
        return None
    return el(
        "section",
        el("p", el("strong", "All answers are stopped at the moment: "), name(pack.stopped)),
        class_="card alarm",
    )


def _contents(logs: Sequence[LogFacts]) -> Element | None:
    if len(logs) == 1:
        return None
    if not logs:
        return el("p", "This workspace has no log yet.")
    links = [
        el("li", el("a", name(log.name), href=f"#log-{number}"))
        for number, log in enumerate(logs, start=1)
    ]
    return el("nav", el("h2", f"{len(logs):,} logs"), el("ul", *links), aria_label="Logs")


# --- one log --------------------------------------------------------------------------


def _log(log: LogFacts, number: int) -> Element:
    return el(
        "section",
        el("h2", "Log ", name(log.name), id=f"log-{number}"),
        _promise(log),
        _card("What is not covered", _bullets(not_covered(log)), el("h4", "Late data"),
              el("p", late_data(log))),
        _card("What is declared, and so public", _facts(declared_facts(log))),
        _card("Privacy budget", accounts_table(log), shares_table(log.shares)),
        _card("Every release", _about_releases(), releases_table(log.releases)),
        _card("Who looked at exact values", _about_looks(), looks_table(log.looks)),
        _card("Erasures", erasures_table(log)),
        _processing(record_of_processing(log)),
        class_="log",
    )  # fmt: skip


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


def _about_releases() -> Element:
    return el(
        "p",
        "The cells of one question share a row: a cell is charged once, in every block it may "
        "touch, and answered once. Asking the same again is answered from the record, costs "
        "nothing and is no entry. What is charged stays spent, with or without a result.",
        class_="lead",
    )


def _about_looks() -> Element:
    return el(
        "p",
        "The owner may compute values without noise. Each time is an entry of the ledger, written "
        "before any event is read. What is copied from the files of the workspace, or from a "
        "source, without PaPPI leaves no entry here.",
        class_="lead",
    )


def _facts(facts: Sequence[tuple[str, str]]) -> Element:
    return el("dl", *(_pair(label, name(text)) for label, text in facts))


def _processing(entries: Sequence[Entry]) -> Element:
    return _card(
        "Record of processing",
        el("p", "In the order of Article 30(1) GDPR. What PaPPI cannot know is left blank."),
        el("dl", *(_pair(entry.label, *_filled(entry)) for entry in entries), class_="record"),
    )


def _pair(label: str, *text: Node) -> Element:
    """Label and text, which stay on one page."""
    return el("div", el("dt", label), el("dd", *text))


def _filled(entry: Entry) -> list[Node]:
    known: list[Node] = [el("p", name(text)) for text in entry.known]
    if entry.blank:
        known.append(el("span", f"{BLANK}: {entry.blank}", class_="blank"))
    return known


# --- the ledger -----------------------------------------------------------------------


def _verification(chain: Chain) -> Element:
    return _card(
        "Verification of the ledger",
        el("p", el("span", "✓ The ledger verifies. ", class_="ok"),
           f"Each of its {chain.entries:,} entries carries the digest of the one before, and what "
           "is spent adds up to the charges on record."),
        el("p", "Digest of the last entry: ", el("code", chain.head)),
        el("p", "Check it again with ", el("code", "pappi audit ledger"), ", which prints number "
           "of entries and digest. The chain shows every later change of an entry. It cannot show "
           "a ledger that was written anew as a whole, or put back to an earlier state: keep this "
           "digest somewhere else, and compare."),
    )  # fmt: skip


def _alarm(chain: Chain) -> Element:
    return el(
        "section",
        el("h2", "✗ The ledger does not verify"),
        el("p", el("strong", name(chain.problem))),
        el("p", "What was published, spent and erased cannot be told from it, and no guarantee can "
           "be stated. Nothing is answered until the owner has restored the ledger from a backup."),
        el("p", f"Entries in order before the problem: {chain.entries:,}. Check it with ",
           el("code", "pappi audit ledger"), "."),
        class_="card alarm",
        role="alert",
    )  # fmt: skip


def _bullets(texts: Sequence[str]) -> Element:
    return el("ul", *(el("li", name(text)) for text in texts))


def _card(heading: str, *content: Node) -> Element:
    return el("section", el("h3", heading), *content, class_="card")
