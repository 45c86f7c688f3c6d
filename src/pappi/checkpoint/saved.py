"""Saved queries: an analyst's own list of catalogues, to find again.

A charge puts on record which functions were released. What people called them, their targets
and the formulas above them are the analyst's, and are saved here, as acts in the journal. They
cost nothing, so there are limits to what one analyst can make the journal keep.
"""

from __future__ import annotations

import hashlib

from pappi.checkpoint.access import Caller
from pappi.checkpoint.queries import checked_log
from pappi.errors import NotFound
from pappi.ledger import EntryKind, canonical_json, utc_now
from pappi.ppinot import Catalogue, write_yaml
from pappi.store import LedgerSession, Registry, SavedQuery, acts_on, day_of, saved_query_payload

_MOST_BYTES = 20_000
_MOST_SAVED = 500
_MOST_A_DAY = 100
_ID_LENGTH = 16
_NAMES = 3


def save(ledger_session: LedgerSession, caller: Caller, catalogue: Catalogue) -> SavedQuery | None:
    """Save a query once; None if it is too long, or the list is full."""
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        log = checked_log(registry, caller.logs(registry), catalogue)
        query = _saved(caller.name, log.name, catalogue)
        known = registry.saved_queries.get(query.id)
        if known is not None:
            return known
        payload = saved_query_payload(query)
        if len(canonical_json(payload)) > _MOST_BYTES or not _has_room(registry, caller.name):
            return None
        ledger.append(EntryKind.KEEP, payload)
        return query


def _has_room(registry: Registry, analyst: str) -> bool:
    """Of a day, also those that were forgotten again count: the journal forgets none of them."""
    saved = sum(query.analyst == analyst for query in registry.saved_queries.values())
    today = acts_on(registry.saved, analyst, day_of(utc_now()))
    return saved < _MOST_SAVED and today < _MOST_A_DAY


def saved_by(
    ledger_session: LedgerSession, caller: Caller, log: str | None
) -> tuple[SavedQuery, ...]:
    """An analyst's saved queries about the logs they may query, the latest first."""
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        logs = (
            caller.logs(registry)
            if log is None
            else {registry.log(log, caller.logs(registry)).name}
        )
    mine = (query for query in registry.saved_queries.values() if query.analyst == caller.name)
    return tuple(reversed([query for query in mine if query.log in logs]))


def forget(ledger_session: LedgerSession, caller: Caller, identity: str) -> None:
    """Remove a saved query."""
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        query = registry.saved_queries.get(identity)
        if query is None or query.analyst != caller.name:
            raise NotFound("you have no such saved query", hint="list your saved queries")
        ledger.append(EntryKind.FORGET, {"id": identity})


def _saved(analyst: str, log: str, catalogue: Catalogue) -> SavedQuery:
    """Its id comes from its content: saving it twice gives the same query."""
    definitions = write_yaml(catalogue)
    content = "\0".join((analyst, log, definitions)).encode("utf-8", "surrogatepass")
    identity = hashlib.sha256(content).hexdigest()[:_ID_LENGTH]
    names = tuple(ppi.name for ppi in catalogue.ppis[:_NAMES])
    return SavedQuery(identity, analyst, log, definitions, names, len(catalogue.ppis))
