"""Taking names back: out of a log's vocabulary, as long as nothing on record has used them.

What was public was public: whoever has seen a name keeps it. But no new question can use it, and
nobody who comes later is shown it. Whether a name was used is decided by the ledger alone: a
charge or reservation records the whole of what it draws from, and standing and kept questions
their definitions. A word of a question that happens to be the same counts as a use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pappi.budget.accounts import Charge, KeyState
from pappi.budget.chain import Entry
from pappi.budget.journal import CHARGE, RESERVE, charge_of, reserved_in
from pappi.errors import Conflict, UsageError
from pappi.ppinot.canonical import canonical
from pappi.ppinot.catalogue import parse_catalogue
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Ledger
from pappi.store.register import Register

# What a question draws from; the rest of it says when, of which log and under what terms.
_DRAWN = ("parts", "cases", "own_anchor", "groups")


def refuse_unwithdrawable(
    ledger: Ledger, register: Register, log: LogDeclaration, names: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse to withdraw activities or attributes that are not there, needed, or used."""
    for what, known in (
        ("activity", log.vocabulary.activities),
        ("attribute", tuple(log.vocabulary.attributes)),
    ):
        for name in names[what]:
            if name not in known:
                otherwise = f"declared are {listed(known, 'and')}" if known else "there are none"
                raise UsageError(
                    f"this log declares no {what} {quoted(name)}",
                    hint=did_you_mean(name, known, otherwise),
                )
    if log.unit.column in names["attribute"]:
        raise Conflict(
            f"{quoted(str(log.unit.column))} tells apart whom the guarantee of this log protects"
        )
    wanted = {name for some in names.values() for name in some}
    for where, used in _uses(ledger, register, log.name):
        if found := wanted.intersection(used):
            raise Conflict(
                f"{quoted(min(found))} cannot be withdrawn: {where} uses it",
                hint="what was asked stays on record, with the names it was asked by",
            )


def _uses(ledger: Ledger, register: Register, log: str) -> Iterator[tuple[str, set[str]]]:
    """Whatever on record is about a log, and the texts in it."""
    for entry, charge in _charges(ledger):
        if charge.log != log:
            continue
        # A reservation that was given up has left nothing.
        if ledger.states([charge.key])[charge.key] is KeyState.NEW:
            continue
        drawn = (charge.question.get(part) for part in _DRAWN)
        yield f"entry {entry.seq} of the journal", set(_texts(drawn))
    for standing in register.standing.values():
        if standing.log == log:
            yield "a standing question", _defined(standing.definitions)
    for kept in register.kept.values():
        if kept.log == log:
            yield f"a question that {kept.analyst} has kept", _defined(kept.definitions)


def _charges(ledger: Ledger) -> Iterator[tuple[Entry, Charge]]:
    """Whatever was charged or reserved, and where."""
    for entry in ledger.acts(CHARGE):
        yield entry, charge_of(entry)
    for entry in ledger.acts(RESERVE):
        yield from ((entry, charge) for charge in reserved_in(entry.payload).values())


def _defined(definitions: str) -> set[str]:
    ppis = parse_catalogue(definitions).ppis
    parts = ((ppi.measure, ppi.scope.cases, ppi.scope.anchor) for ppi in ppis)
    return set(_texts(canonical(part) for some in parts for part in some))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Every text in plain data, but for the names of the model's own classes."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(part for key, part in value.items() if key != "is")
        elif isinstance(value, list | tuple):
            yield from _texts(value)
