"""Answers as plain records, for JSON and CSV: the shape programs rely on."""

from __future__ import annotations

from typing import Any

from pappi.report.verdicts import bands_text
from pappi.values.answers import Answer, ExactAnswer, Interval, Smoothed
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
        "band": bands_text(answer.bands) or None,
        "guarantee": {
            "epsilon": float(guarantee.epsilon),
            "unit": str(guarantee.unit),
            "adjacency": str(guarantee.adjacency),
            "mechanism": guarantee.mechanism,
        },
        "charged": float(answer.charged),
        "replayed": answer.replayed,
    }


def smoothed_record(answer: Answer) -> dict[str, Any]:
    """The released values as ever, and what smoothing makes of them: None where it cannot."""
    found = answer.smoothed
    return {**answer_record(answer), "smoothed": None if found is None else _smoothed(found)}


_SMOOTHED = ("value", "low", "high", "confidence_of_all", "verdict", "chance_met", "band")


def _smoothed(found: Smoothed) -> dict[str, Any]:
    interval = found.interval
    verdict = None if found.verdict is None else str(found.verdict)
    values = (found.value, interval.low, interval.high, interval.confidence)
    judged = (verdict, found.chance_met, bands_text(found.bands) or None)
    return dict(zip(_SMOOTHED, values + judged, strict=True))


def flat_record(answer: Answer) -> dict[str, Any]:
    """One level deep, for a row of a table."""
    return _flat(answer_record(answer))


def flat_smoothed_record(answer: Answer) -> dict[str, Any]:
    """The same columns in every row, empty where nothing was smoothed."""
    found = answer.smoothed
    columns = dict.fromkeys(_SMOOTHED) if found is None else _smoothed(found)
    return _flat({**answer_record(answer), "smoothed": columns})


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat.update({f"{key}_{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _period(period: Period) -> dict[str, str]:
    return {"start": period.start.isoformat(), "end": period.end.isoformat()}


def _interval(interval: Interval) -> dict[str, float | None]:
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}
