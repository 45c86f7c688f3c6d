"""The data-protection pack as JSON: the same facts as the document."""

from __future__ import annotations

from typing import Any

from pappi.report.dpo.facts import LogFacts, Pack, ReleaseRow, Share
from pappi.report.dpo.processing import BLANK, declared_facts, record_of_processing
from pappi.report.dpo.promise import bounds_of, compared_text, late_data, not_covered
from pappi.values import Epsilon, KeyRecord


def pack_record(pack: Pack, generated: str) -> dict[str, Any]:
    """Every ε is a decimal written as text, so it is exact."""
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
        "logs": [_log(log) for log in pack.logs],
        "acts": [
            {"entry": act.seq, "at": act.at, "by": act.by, "log": act.log, "what": act.what}
            for act in pack.acts
        ],
        "keys": [_key(key) for key in pack.keys],
    }


def _log(log: LogFacts) -> dict[str, Any]:
    return {
        "log": log.public.name,
        "source": log.source or None,
        "guarantee": [
            {"of": bound.of, "epsilon": _text(bound.epsilon), "sentence": bound.sentence}
            for bound in bounds_of(log)
        ],
        "compares": compared_text(log),
        "not_covered": list(not_covered(log)),
        "late_data": late_data(log),
        "unit": log.terms.unit.to_json(),
        "adjacency": str(log.terms.adjacency),
        "declared": dict(declared_facts(log)),
        "first": log.public.first.isoformat(),
        "sealed_until": log.public.until.isoformat(),
        "block_budget": str(log.terms.block_budget),
        "total_budget": _text(log.terms.total_budget),
        "accounts": [
            {
                "block": line.block,
                "spent": str(line.spent),
                "reserved": str(line.held),
                "left": str(line.left),
                "limit": str(line.limit),
            }
            for line in log.accounts
        ],
        "analysts": [_share(share) for share in log.shares],
        "releases": [_release(row) for row in log.releases],
        "record_of_processing": {
            line.label: {
                "known": list(line.known),
                "blank": f"{BLANK}: {line.blank}" if line.blank else None,
            }
            for line in record_of_processing(log)
        },
        "erasures": [
            {
                "at": erasure.at,
                "by": erasure.by,
                "named_by": list(erasure.kinds),
                "cases": erasure.cases,
                "events": erasure.events,
            }
            for erasure in log.erasures
        ],
        "looks_at_exact_values": [
            {
                "entry": look.seq,
                "at": look.at,
                "by": look.by,
                "ppis": list(look.ppis),
                "count": look.count,
            }
            for look in log.looks
        ],
    }


def _share(share: Share) -> dict[str, Any]:
    return {
        "analyst": share.analyst,
        "granted_per_block": _text(share.per_block),
        "most_spent_in_a_block": str(share.most_in_a_block),
    }


def _release(row: ReleaseRow) -> dict[str, Any]:
    return {
        "ppis": list(row.ppis),
        "questions": row.queries,
        "analysts": list(row.analysts),
        "mechanisms": list(row.mechanisms),
        "asked_first": row.asked_first,
        "asked_last": row.asked_last,
        "covers_from": row.first.isoformat(),
        "covers_until": row.end.isoformat(),
        "epsilon_least": str(row.epsilon_least),
        "epsilon_most": str(row.epsilon_most),
        "epsilon_most_in_a_block": str(row.block_most),
        "cells": {
            "released": row.released,
            "charged_without_result": row.incomplete,
            "reserved": row.reserved,
        },
    }


def _key(key: KeyRecord) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "role": str(key.role),
        "rights": sorted(map(str, key.rights)),
        "created": key.created.isoformat(),
        "expires": None if key.expires is None else key.expires.isoformat(),
        "revoked": key.revoked,
    }


def _text(epsilon: Epsilon | None) -> str | None:
    return None if epsilon is None else str(epsilon)
