"""Who asks, and what bounds a charge: asked of the ledger, by what holds at that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pappi.errors import Conflict, Frozen, Stopped
from pappi.ledger import Account, Ledger
from pappi.store import LedgerSession, LogDeclaration, Registry
from pappi.values import Epsilon

Permit = Callable[[Registry], None]
"""Raises if the one who asks is not allowed to, by what holds at this moment."""


class Overtaken(Exception):
    """While a request was planned, somebody else was charged for a part of it: it is asked anew."""


def permit_all(_registry: Registry) -> None:
    """Whoever was handed a session may use it."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `only_granted`: about no log but those that were granted to them."""

    name: str
    permit: Permit = permit_all
    only_granted: bool = False

    def logs(self, registry: Registry) -> frozenset[str]:
        return registry.granted_to(self.name) if self.only_granted else frozenset(registry.logs)


class ChargeRules:
    """What bounds a charge, asked inside its transaction: a budget cut a moment ago counts.

    `log` is what the query was checked against.
    """

    def __init__(
        self, ledger_session: LedgerSession, ledger: Ledger, caller: Caller, log: LogDeclaration
    ) -> None:
        self._ledger_session = ledger_session
        self._ledger = ledger
        self._caller = caller
        self._log = log
        self._registry = Registry()

    def permit(self) -> Registry:
        """What holds inside the transaction, by which this is allowed."""
        self._registry = self._ledger_session.registry(self._ledger)
        self._caller.permit(self._registry)
        refuse_stopped(self._registry)
        now = self._registry.log(self._log.name, self._caller.logs(self._registry))
        if now.data != self._log.data:
            raise Conflict(
                "this log was removed after your query was checked, and another has its name",
                hint="nothing was charged; look at the new log before you ask again",
            )
        if now.public.vocabulary != self._log.public.vocabulary:
            raise Conflict(
                "the public names of this log changed after your query was checked",
                hint="nothing was charged; ask again",
            )
        return self._registry

    def limit(self, account: Account) -> Epsilon | None:
        log = self._registry.log(account.log)
        log.require_kept()
        if self._registry.is_frozen(log, account.block):
            raise Frozen(
                f"{account} can no longer be charged: part of the ledger was lost, so nobody knows "
                "what was spent",
                hint="recorded answers stay free; later blocks can be queried",
            )
        if not account.block:
            return log.terms.total_budget
        if not account.analyst:
            return log.terms.block_budget
        grant = self._registry.grants.get((account.log, account.analyst))
        return None if grant is None else grant.per_block


def refuse_stopped(registry: Registry) -> None:
    if registry.stopped is not None:
        raise Stopped(
            f"the owner has stopped all answers: {registry.stopped}",
            hint="nothing is charged in the meantime; try again when the owner resumes",
        )
