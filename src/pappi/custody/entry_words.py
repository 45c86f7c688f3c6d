"""What an entry of the journal says, as a line that a person can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pappi.budget.journal import (
    CANCEL,
    CHARGE,
    DECLARE,
    END,
    ERASE,
    EXACT,
    FORGET,
    GRANT,
    KEEP,
    KEY,
    OPENING,
    REFORMAT,
    RELEASE,
    RESERVE,
    RESUME,
    REVOKE,
    ROLLBACK,
    STAND,
    STOP,
    WITHDRAW,
    WITHDRAW_NAMES,
)
from pappi.store.sources import place_told
from pappi.values.epsilon import Epsilon

What = Mapping[str, Any]
_DIGITS = 12


def told(kind: str, what: What, before: What | None = None) -> str:
    """An entry in words; of a log declared anew what changed, if what was `before` is given."""
    if kind == DECLARE:
        return _declared(what) if before is None else _changed(what, before)
    words = _WORDS.get(kind)
    return words(what) if words else kind


def _declared(what: What) -> str:
    return f"Log {what['name']} declared: {_sealed(what)}, {_budget(what)}{_read_at(what)}"


def _changed(what: What, before: What) -> str:
    parts = ((part(what), part(before)) for part in (_sealed, _budget))
    changes = [f"{now} (before: {then})" for now, then in parts if now != then]
    return f"Log {what['name']}: {'; '.join(changes) or 'declared anew'}"


def _read_at(what: What) -> str:
    source = what.get("source")
    return f", read from {place_told(source['url'], source['table'])}" if source else ""


def _sealed(what: What) -> str:
    began = what["first"] == what["until"]
    return "nothing sealed yet" if began else f"sealed until {what['until']}"


def _budget(what: What) -> str:
    total = what["total_budget"]
    in_all = "" if total is None else f", ε {Epsilon(total)} in all"
    return f"ε {Epsilon(what['block_budget'])} per block{in_all}"


def _granted(what: What) -> str:
    share = Epsilon(what["per_block"])
    return f"{what['analyst']} granted ε {share} of each block of {what['log']}"


def _key(what: What) -> str:
    until = f", until {what['expires'][:10]}" if what["expires"] else ""
    rights = ", ".join(what["rights"])
    return f"Key {what['id']} issued to {what['role']} {what['name']}: {rights}{until}"


def _erased(what: What) -> str:
    counts = f"{what['cases']:,} cases with {what['events']:,} events"
    return f"{counts} of {what['log']} deleted, named by {', '.join(what['by what'])}"


def _withdrawn(what: What) -> str:
    names = ", ".join(map(repr, (*what["activities"], *what["attributes"])))
    return f"No longer named in {what['log']}: {names}"


def _looked(what: What) -> str:
    more = what["count"] - len(what["ppis"])
    named = ", ".join(what["ppis"]) + (f" and {more:,} more" if more else "")
    return f"Exact values of {what['log']} looked at: {named}"


def _stood(what: What) -> str:
    return f"Standing question about {what['log']} from {what['first']} up to {what['until']}"


def _charged(what: What) -> str:
    return f"{what['question']['ppi']} charged: {_price(what)}"


def _reserved(what: What) -> str:
    if "charges" in what:
        log = what["charges"][0]["accounts"][0][0]
        return f"{len(what['charges']):,} cells of {log} reserved"
    return f"{what['question']['ppi']} reserved: {_price(what)}"


def _given_up(what: What) -> str:
    if "cells" in what:
        return f"{len(what['cells']):,} reserved cells given up"
    return f"Reservation {what['key'][:_DIGITS]}… given up"


def _rolled_back(what: What) -> str:
    lost = what["lost"]
    first, mark = lost["from"], lost["mark"]
    gone = "an unknown part" if first is None or mark is None else f"entries {first} to {mark}"
    return f"Loss of {gone} of the ledger accepted; blocks up to then frozen: {_frozen(what)}"


def _frozen(what: What) -> str:
    each = (
        f"all of {log}" if whole else f"{log} until {day}"
        for log, (day, whole) in what["frozen"].items()
    )
    return ", ".join(each) or "there was no log"


def _price(what: What) -> str:
    log = what["accounts"][0][0]
    blocks = [block for _, block in what["accounts"]]
    where = blocks[0] if len(blocks) == 1 else f"each of {len(blocks)} blocks"
    return f"ε {Epsilon(what['amount'])} in {where} of {log}"


_WORDS: Mapping[str, Callable[[What], str]] = {
    OPENING: lambda _what: "Ledger opened",
    GRANT: _granted,
    WITHDRAW: lambda what: f"Grant of {what['analyst']} for {what['log']} withdrawn",
    KEY: _key,
    REVOKE: lambda what: f"Key {what['id']} revoked",
    STOP: lambda what: f"All answers stopped: {what['reason']}",
    RESUME: lambda _what: "Answers resumed",
    STAND: _stood,
    END: lambda _what: "Standing question ended",
    KEEP: lambda what: f"Question about {what['log']} kept in a list",
    FORGET: lambda _what: "Question struck off a list",
    ERASE: _erased,
    ROLLBACK: _rolled_back,
    REFORMAT: lambda what: f"Ledger brought to format {what['format']}",
    WITHDRAW_NAMES: _withdrawn,
    EXACT: _looked,
    CHARGE: _charged,
    RESERVE: _reserved,
    RELEASE: lambda what: f"Result put on record for {what['key'][:_DIGITS]}…",
    CANCEL: _given_up,
}
