"""Answers as plain records, for JSON and CSV: the shape programs rely on."""

from __future__ import annotations

from typing import Any

from pappi.values.answers import Answer, ExactAnswer, Interval
from pappi.values.periods import Period


def exact_record(answer: ExactAnswer) -> dict[str, Any]:
    return {
        "ppi": answer.ppi,
        "period": _period(answer.period),
        "group": answer.group,
        "value": answer.value,
        "unit": answer.unit,
    }


def answer_record(answer: Answer) -> dict[str, Any]:
    guarantee = answer.guarantee
    return {
        "ppi": answer.ppi,
        "period": _period(answer.period),
        "group": answer.group,
        "value": answer.value,
        "unit": answer.unit,
        "interval": _interval(answer.interval),
        "cases": answer.cases,
        "verdict": None if answer.verdict is None else str(answer.verdict),
        "chance_met": answer.chance_met,
        "ceiling": answer.ceiling,
        "guarantee": {
            "epsilon": float(guarantee.epsilon),
            "unit": str(guarantee.unit),
            "adjacency": str(guarantee.adjacency),
            "mechanism": guarantee.mechanism,
        },
        "charged": float(answer.charged),
        "replayed": answer.replayed,
    }


def flat_record(answer: Answer) -> dict[str, Any]:
    """One level deep, for a row of a table."""
    flat: dict[str, Any] = {}
    for key, value in answer_record(answer).items():
        if isinstance(value, dict):
            flat.update({f"{key}_{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _period(period: Period) -> dict[str, str]:
    return {"start": period.start.isoformat(), "end": period.end.isoformat()}


def _interval(interval: Interval) -> dict[str, float | None]:
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}
