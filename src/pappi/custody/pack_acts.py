"""The acts on record, for the data-protection pack: when, by whom, about which log, what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pappi.budget.chain import Entry
from pappi.budget.journal import DECLARE, END
from pappi.custody.entry_words import told
from pappi.report.dpo.facts import Act
from pappi.store.register import Register

Payload = Mapping[str, Any]


def act_of(entry: Entry, payload: Payload, before: Register) -> Act:
    """An act in words; `before` is what held until then."""
    log = _log_of(entry.kind, payload, before)
    by = payload.get("by") or payload.get("analyst") or ""
    earlier = before.logs.get(payload["name"]) if entry.kind == DECLARE else None
    what = told(entry.kind, payload, earlier.to_json() if earlier else None)
    return Act(entry.seq, entry.at, by, what, log)


def _log_of(kind: str, payload: Payload, before: Register) -> str | None:
    if kind == DECLARE:
        return str(payload["name"])
    if kind == END:
        return before.standing[payload["id"]].log
    return payload.get("log")
