"""Gathering the data-protection pack: one walk through the verified journal.

Everything in it is of one moment, the entry the verification ended at. Events are not read,
and of released results only that they exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Any

from pappi.custody.trail import Balances, entry_text, spending_of
from pappi.errors import LedgerBroken
from pappi.ledger import (
    Account,
    Balance,
    Charge,
    Entry,
    EntryKind,
    cancelled_in,
    charge_of,
    reserved_in,
)
from pappi.report import (
    Act,
    Asked,
    Chain,
    Erasure,
    LogFacts,
    Look,
    Pack,
    Share,
    State,
    question_digest,
    rows_of,
)
from pappi.store import LedgerSession, LogDeclaration, Registry
from pappi.values import Epsilon


def gather_pack(session: LedgerSession, log: str | None) -> Pack:
    """The facts about a log, or about all; of a ledger that does not verify, only that."""
    workspace = session.files.root.name
    try:
        # All of a long journal is read: on a connection of its own, nobody waits for that.
        with session.files.ledger_to_verify() as ledger:
            verified = ledger.verify()
            chain = Chain(verified.entries, verified.head, verified.problem)
            if not chain.ok:
                return Pack(workspace, chain)
            walk = _Walk()
            last = None
            # What others write meanwhile is left to the next pack.
            for last in islice(ledger.entries(), verified.entries):
                walk.take(last)
            if last is None or last.digest != verified.head:
                changed = "the journal was changed while it was being read"
                return Pack(workspace, Chain(0, "", changed))
            return walk.pack(workspace, chain, log)
    except LedgerBroken as error:
        return Pack(workspace, Chain(0, "", error.message))


class _Walk:
    """What the entries so far add up to."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.acts: list[Act] = []
        self.erasures: dict[str, list[Erasure]] = {}
        self.looks: dict[str, list[Look]] = {}
        self.asked: dict[str, Asked] = {}

    def pack(self, workspace: str, chain: Chain, log: str | None) -> Pack:
        registry = self.registry
        logs = tuple(registry.logs.values()) if log is None else (registry.log(log),)
        names = {None, *(declared.name for declared in logs)}
        return Pack(
            workspace=workspace,
            chain=chain,
            logs=tuple(map(self._log, logs)),
            keys=tuple(registry.keys.values()),
            stopped=registry.stopped,
            acts=tuple(act for act in self.acts if act.log in names),
        )

    def take(self, entry: Entry) -> None:
        if entry.kind == EntryKind.RESERVE:
            for key, charge in reserved_in(entry.payload).items():
                self.asked[key] = _asked(charge, entry.at, State.RESERVED)
        elif entry.kind == EntryKind.CHARGE:
            charge = charge_of(entry)
            self.asked[charge.key] = _asked(charge, entry.at, State.INCOMPLETE)
        elif entry.kind == EntryKind.RELEASE:
            key = entry.payload["key"]
            self.asked[key] = replace(self.asked[key], state=State.RELEASED)
        elif entry.kind == EntryKind.CANCEL:
            for key in cancelled_in(entry.payload):
                del self.asked[key]
        elif entry.kind == EntryKind.EXACT:
            # Apart from the acts: a look a minute would leave nothing else to be seen of them.
            what = entry.payload
            look = Look(entry.seq, entry.at, what["by"], tuple(what["ppis"]), what["count"])
            self.looks.setdefault(what["log"], []).append(look)
        elif entry.kind != EntryKind.OPENING:
            self._act(entry)

    def _act(self, entry: Entry) -> None:
        before, self.registry = self.registry, self.registry.advanced([entry])
        payload = entry.payload
        log = _log_of(entry.kind, payload, before)
        by = payload.get("by") or payload.get("analyst") or ""
        earlier = before.logs.get(payload["name"]) if entry.kind == EntryKind.DECLARE else None
        what = entry_text(entry.kind, payload, earlier.to_json() if earlier else None)
        self.acts.append(Act(entry.seq, entry.at, by, what, log))
        if entry.kind == EntryKind.ERASE:
            kinds = tuple(payload["by what"])
            erasure = Erasure(entry.at, payload["by"], kinds, payload["cases"], payload["events"])
            self.erasures.setdefault(payload["log"], []).append(erasure)

    def _log(self, log: LogDeclaration) -> LogFacts:
        asked = [query for query in self.asked.values() if query.log == log.name]
        spending = spending_of(log, _balances(asked), self.registry)
        return LogFacts(
            public=log.public,
            source="" if log.source is None else log.source.where,
            accounts=spending.lines,
            spent_in_all=spending.in_all.spent,
            shares=tuple(Share(who.analyst, who.per_block, who.most) for who in spending.analysts),
            releases=rows_of(asked),
            erasures=tuple(self.erasures.get(log.name, ())),
            looks=tuple(self.looks.get(log.name, ())),
        )


def _asked(charge: Charge, at: str, state: State) -> Asked:
    question: Mapping[str, Any] = charge.question
    periods = question["periods"]
    return Asked(
        log=question["log"],
        question=question_digest(question),
        ppi=question["ppi"],
        analyst=charge.analyst,
        mechanism=", ".join(dict.fromkeys(part["mechanism"] for part in question["parts"])),
        amount=charge.amount,
        at=at,
        first=date.fromisoformat(min(period["start"] for period in periods)),
        end=date.fromisoformat(max(period["end"] for period in periods)),
        blocks=tuple(account.block for account in charge.accounts),
        state=state,
    )


def _balances(asked: Iterable[Asked]) -> Balances:
    """What the cells add up to in every account; the ledger has verified the same sums."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for query in asked:
        log, held = query.log, int(query.state is State.RESERVED)
        for block in query.blocks:
            # A set: without an analyst there is no account of the analyst's.
            for place in {(log, block, ""), (log, "", ""), (log, block, query.analyst)}:
                sums.setdefault(place, [0, 0])[held] += query.amount.nano
    return {
        Account(*at): Balance(Epsilon(spent), Epsilon(held)) for at, (spent, held) in sums.items()
    }


def _log_of(kind: str, payload: Mapping[str, Any], before: Registry) -> str | None:
    if kind == EntryKind.DECLARE:
        return str(payload["name"])
    if kind == EntryKind.END:
        return before.subscriptions[payload["id"]].log
    return payload.get("log")
