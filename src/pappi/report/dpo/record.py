"""The data-protection pack for JSON: the same facts as the document, to be written by the codec."""

from __future__ import annotations

from typing import Any

from pappi.report.dpo.facts import LogFacts, Pack
from pappi.report.dpo.processing import BLANK, declared_facts, record_of_processing
from pappi.report.dpo.promise import bounds_of, compared_text, late_data, not_covered


def pack_record(pack: Pack, generated: str) -> dict[str, Any]:
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
        "acts": pack.acts,
        "keys": pack.keys,
    }


def _log(log: LogFacts) -> dict[str, Any]:
    return {
        "log": log.public.name,
        "source": log.source or None,
        "guarantee": bounds_of(log),
        "compares": compared_text(log),
        "not_covered": tuple(not_covered(log)),
        "late_data": late_data(log),
        "unit": log.terms.unit,
        "adjacency": log.terms.adjacency,
        "declared": dict(declared_facts(log)),
        "first": log.public.first,
        "sealed_until": log.public.until,
        "block_budget": log.terms.block_budget,
        "total_budget": log.terms.total_budget,
        "accounts": log.accounts,
        "analysts": log.shares,
        "releases": log.releases,
        "record_of_processing": {
            line.label: {
                "known": line.known,
                "blank": f"{BLANK}: {line.blank}" if line.blank else None,
            }
            for line in record_of_processing(log)
        },
        "erasures": log.erasures,
        "looks_at_exact_values": log.looks,
    }
