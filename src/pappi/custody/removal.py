"""Renaming a log, and removing one: mostly needed after an import that went wrong.

As long as nothing was charged for a log, both are clean. A removed log loses its declaration, its
grants and its events, and its name is free; a log imported under the same name is another one
(`LogDeclaration.data`) with nothing spent. The removal is on record.

Once something was charged, the record has to stay. Removing a log then deletes its events, which
are personal data, and nothing else: what was charged stays charged, what was released can be
replayed, and the name stays taken, so that no new log gets a fresh budget under it. Renaming
is refused then: accounts, the keys of releases and the files of analysts refer to the name, and a
release that is no longer found would be charged a second time.

If part of the ledger was lost, every log counts as charged that could have been.

A removal takes effect with its journal entry; it is decided inside the transaction, after which
nothing new can be charged. Then the events are deleted. If a crash comes in between, the next
change of the workspace deletes them, and so does the same call again. A release that was charged
before and not drawn yet fails and stays charged: there is nothing left to draw it from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pappi.custody.imports import Declarations, check_name, sweep_within
from pappi.errors import Conflict
from pappi.ledger import EntryKind, Ledger
from pappi.store import LogDeclaration, Registry
from pappi.values import (
    JSON,
    quoted,
)


@dataclass(frozen=True, slots=True)
class Removed:
    """A log that was removed; if it was `charged`, its record and its name stay."""

    log: str
    charged: bool


@dataclass(frozen=True, slots=True)
class Removal:
    """Renames or removes a log; `registry` reads what holds at the moment."""

    declarations: Declarations
    ledger: Ledger
    registry: Callable[[], Registry]
    by: str

    def remove(self, name: str) -> Removed:
        """Remove a log; a second call finishes what a crash has interrupted."""
        with self.declarations.changing():
            swept = sweep_within(self.declarations)
            registry = self.registry()
            if name in registry.logs and registry.logs[name].removed:
                return Removed(name, charged=True)
            if name not in registry.logs and self._was_interrupted(name, swept):
                return Removed(name, charged=False)
            self.ledger.append(EntryKind.REMOVE, lambda: self._removal(name))
            sweep_within(self.declarations)
            return Removed(name, charged=name in self.registry().logs)

    def rename(self, name: str, new: str) -> LogDeclaration:
        """Rename a log for which nothing was charged."""
        with self.declarations.changing():
            self.ledger.append(EntryKind.RENAME, lambda: self.renaming(name, new))
            return self.registry().log(new)

    def _was_interrupted(self, name: str, swept: frozenset[str]) -> bool:
        """Whether the swept events are those of a log that had this name when it was removed."""
        removals = (act.payload for act in self.ledger.acts(EntryKind.REMOVE))
        return any(removal["log"] == name and removal["data"] in swept for removal in removals)

    def _removal(self, name: str) -> Mapping[str, JSON]:
        registry = self.registry()
        log = registry.log(name)
        _refuse_subscribed(registry, name)
        charged = self._is_charged(registry, name)
        return {"log": name, "data": log.data, "charged": charged, "by": self.by}

    def renaming(self, name: str, new: str) -> Mapping[str, JSON]:
        """The payload of renaming a log; refused if it cannot have that name."""
        registry = self.registry()
        registry.log(name)
        check_name(new, registry.logs)
        _refuse_subscribed(registry, name)
        if self._is_charged(registry, name):
            raise Conflict(
                f"{quoted(name)} cannot be renamed: budget was spent under this name",
                hint="past releases and accounts refer to the name, and would be charged again "
                "under another",
            )
        if self._is_charged(registry, new):
            raise Conflict(
                f"budget was spent under the name {quoted(new)}", hint="choose another name"
            )
        return {"log": name, "to": new, "by": self.by}

    def _is_charged(self, registry: Registry, name: str) -> bool:
        """Whether anything was charged or reserved under a name, as far as anybody knows."""
        used = (balance.used.nano for balance in self.ledger.balances(name).values())
        return name in registry.frozen or any(used)


def _refuse_subscribed(registry: Registry, name: str) -> None:
    for subscription in registry.subscriptions.values():
        if subscription.log == name:
            raise Conflict(
                f"{quoted(subscription.analyst)} subscribes to {quoted(name)}",
                hint="withdraw this analyst's access first: that ends their subscriptions",
            )
