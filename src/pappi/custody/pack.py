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

from pappi.budget.accounts import Account, Charge
from pappi.budget.chain import Entry, Fault
from pappi.budget.journal import (
    CANCEL,
    CHARGE,
    ERASE,
    EXACT,
    OPENING,
    RELEASE,
    RESERVE,
    Balance,
    cancelled_in,
    charge_of,
    reserved_in,
)
from pappi.custody.pack_acts import act_of
from pappi.errors import LedgerBroken
from pappi.report.budgets import BudgetLine
from pappi.report.dpo.facts import Act, Chain, Erasure, LogFacts, Look, Pack, Share
from pappi.report.dpo.releases import Asked, State, question_digest, rows_of
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Ledger
from pappi.store.office import Office
from pappi.store.register import Register
from pappi.values.epsilon import ZERO, Epsilon

Balances = Mapping[Account, Balance]


def gather_pack(office: Office, log: str | None) -> Pack:
    """The facts about a log, or about all; of a ledger that does not verify, only that."""
    workspace = office.files.root.name
    try:
        # All of a long journal is read: on a connection of its own, nobody waits for that.
        with office.ledger_apart() as ledger:
            return _gathered(ledger, workspace, log)
    except Fault as fault:
        return Pack(workspace, Chain(0, "", fault.sentence))
    except LedgerBroken as error:
        return Pack(workspace, Chain(0, "", error.message))


def _gathered(ledger: Ledger, workspace: str, log: str | None) -> Pack:
    found = ledger.verify()
    chain = Chain(found.entries, found.head, found.problem)
    if not chain.ok:
        return Pack(workspace, chain)
    walk = _Walk()
    last = None
    # What others write meanwhile is left to the next pack.
    for last in islice(ledger.entries(), found.entries):
        walk.take(last)
    if last is None or last.digest != found.head:
        raise Fault(None, "the journal was changed while it was being read")
    return walk.pack(workspace, chain, log)


class _Walk:
    """What the entries so far add up to."""

    def __init__(self) -> None:
        self.register = Register()
        self.acts: list[Act] = []
        self.erasures: dict[str, list[Erasure]] = {}
        self.looks: dict[str, list[Look]] = {}
        self.asked: dict[str, Asked] = {}

    def pack(self, workspace: str, chain: Chain, log: str | None) -> Pack:
        register = self.register
        logs = tuple(register.logs.values()) if log is None else (register.log(log),)
        names = {None, *(declared.name for declared in logs)}
        return Pack(
            workspace=workspace,
            chain=chain,
            logs=tuple(map(self._log, logs)),
            keys=tuple(register.keys.values()),
            stopped=register.stopped,
            acts=tuple(act for act in self.acts if act.log in names),
        )

    def take(self, entry: Entry) -> None:
        if entry.kind == RESERVE:
            for key, charge in reserved_in(entry.payload).items():
                self.asked[key] = _asked(charge, entry.at, State.RESERVED)
        elif entry.kind == CHARGE:
            charge = charge_of(entry)
            self.asked[charge.key] = _asked(charge, entry.at, State.INCOMPLETE)
        elif entry.kind == RELEASE:
            key = entry.payload["key"]
            self.asked[key] = replace(self.asked[key], state=State.RELEASED)
        elif entry.kind == CANCEL:
            for key in cancelled_in(entry.payload):
                del self.asked[key]
        elif entry.kind == EXACT:
            # Apart from the acts: a look a minute would leave nothing else to be seen of them.
            what = entry.payload
            look = Look(entry.seq, entry.at, what["by"], tuple(what["ppis"]), what["count"])
            self.looks.setdefault(what["log"], []).append(look)
        elif entry.kind != OPENING:
            self._act(entry)

    def _act(self, entry: Entry) -> None:
        before, self.register = self.register, self.register.advanced([entry])
        payload = entry.payload
        self.acts.append(act_of(entry, payload, before))
        if entry.kind == ERASE:
            kinds = tuple(payload["by what"])
            erasure = Erasure(entry.at, payload["by"], kinds, payload["cases"], payload["events"])
            self.erasures.setdefault(payload["log"], []).append(erasure)

    def _log(self, log: LogDeclaration) -> LogFacts:
        asked = [one for one in self.asked.values() if one.log == log.name]
        balances = _balances(asked)
        return LogFacts(
            name=log.name,
            timezone=log.timezone,
            anchor=str(log.anchor),
            blocks=log.blocks,
            first=log.first,
            until=log.until,
            unit=log.unit,
            adjacency=log.adjacency,
            block_budget=log.block_budget,
            total_budget=log.total_budget,
            expected_cases=log.expected_cases,
            vocabulary=log.vocabulary,
            bounds=log.bounds,
            source="" if log.source is None else log.source.where,
            accounts=_accounts(log, balances, self.register),
            spent_in_all=balances.get(Account(log.name), Balance()).spent,
            shares=_shares(log, self.register, balances),
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
    for one in asked:
        held, amount = int(one.state is State.RESERVED), one.amount.nano
        for block in one.blocks:
            # A set: without an analyst there is no account of the analyst's.
            for place in {(one.log, block, ""), (one.log, "", ""), (one.log, block, one.analyst)}:
                sums.setdefault(place, [0, 0])[held] += amount
    return {
        Account(*at): Balance(Epsilon(spent), Epsilon(held)) for at, (spent, held) in sums.items()
    }


def _accounts(
    log: LogDeclaration, balances: Balances, register: Register
) -> tuple[BudgetLine, ...]:
    """A line per block: of the time that is sealed, and of what was charged or held beyond."""
    labels = {block.label for block in log.blocks.periods(log.first, log.until)}
    labels |= {account.block for account in balances if account.is_block}
    found = ((label, balances.get(Account(log.name, label), Balance())) for label in sorted(labels))
    return tuple(
        BudgetLine(
            label,
            log.block_budget,
            one.spent,
            one.held,
            frozen=register.is_frozen(log, label),
        )
        for label, one in found
    )


def _shares(log: LogDeclaration, register: Register, balances: Balances) -> tuple[Share, ...]:
    """Everybody who was granted a share, or has spent something without one."""
    most: dict[str, Epsilon] = {}
    for account, balance in balances.items():
        if account.analyst:
            most[account.analyst] = max(most.get(account.analyst, ZERO), balance.spent)
    granted = {who: grant for (of, who), grant in register.grants.items() if of == log.name}
    return tuple(
        Share(who, granted[who].per_block if who in granted else None, most.get(who, ZERO))
        for who in sorted(granted.keys() | most.keys())
    )
