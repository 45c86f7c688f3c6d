"""Answers as rows, for CSV and data frames; as JSON they are what `session.wire` writes.

A cell of the CSV never begins a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pappi.values import Adjacency, Answer, By, Epsilon, PrivacyUnit, Verdict, bands_text

Columns = Mapping[str, str]
"""The names of columns, and where in an answer or a bin each is found."""

_RELEASED: Columns = {
    "ppi": "ppi",
    "period_start": "period.start",
    "period_end": "period.end",
    "group": "group",
    "value": "value",
    "unit": "unit",
    "interval_low": "interval.low",
    "interval_high": "interval.high",
    "interval_confidence": "interval.confidence",
    "cases": "cases",
    "verdict": "verdict",
    "probability_met": "probability_met",
    "ceiling": "ceiling",
    "band": "bands",
    "guarantee_epsilon": "guarantee.epsilon",
    "guarantee_unit": "guarantee.unit",
    "guarantee_adjacency": "guarantee.adjacency",
    "guarantee_mechanism": "guarantee.mechanism",
    "guarantee_shared_by": "guarantee.shared_by",
    "charged": "charged",
    "replayed": "replayed",
    "cases_margin": "cases_margin",
    "perhaps_empty": "perhaps_empty",
    "beyond_share": "beyond.share",
    "beyond_low": "beyond.interval.low",
    "beyond_high": "beyond.interval.high",
    "beyond_measures": "beyond.measures",
    "beyond_below": "beyond.below",
    "beyond_above": "beyond.above",
    "clipping_decides": "clipping_decides",
}
_SMOOTHED: Columns = {
    "smoothed_value": "smoothed.value",
    "smoothed_low": "smoothed.interval.low",
    "smoothed_high": "smoothed.interval.high",
    "smoothed_confidence_of_all": "smoothed.interval.confidence",
    "smoothed_verdict": "smoothed.verdict",
    "smoothed_probability_met": "smoothed.probability_met",
    "smoothed_band": "smoothed.bands",
}
_SET_AND_RECORD: Columns = {
    "simultaneous_low": "simultaneous.low",
    "simultaneous_high": "simultaneous.high",
    "simultaneous_confidence": "simultaneous.confidence",
    "derived_from": "derived_from",
}
_COMPARED: Columns = {
    "compared_by": "comparison.by",
    "compared_value": "comparison.first.value",
    "compared_group": "comparison.first.group",
    "against_period_start": "comparison.second.period.start",
    "against_period_end": "comparison.second.period.end",
    "against_group": "comparison.second.group",
    "against_value": "comparison.second.value",
    "more_than_noise": "comparison.more_than_noise",
}
_OVER: Columns = {"over_start": "over.start", "over_end": "over.end"}
_BIN: Columns = {
    "bin_low": "low",
    "bin_high": "high",
    "bin_cases": "cases",
    "bin_cases_low": "interval.low",
    "bin_cases_high": "interval.high",
    "share_within": "share_within",
    "share_within_low": "share_interval.low",
    "share_within_high": "share_interval.high",
}


def flat_records(answers: Sequence[Answer], *, smoothed: bool = False) -> list[dict[str, Any]]:
    """All rows of a table, with the same columns: one row per answer.

    A distribution has one row per bin; other answers then have empty columns for bins. Columns
    for smoothed values are empty where nothing was smoothed.
    """
    columns = {
        **_RELEASED,
        **(_SMOOTHED if smoothed else {}),
        **_SET_AND_RECORD,
        **(_COMPARED if any(answer.comparison is not None for answer in answers) else {}),
        **(_OVER if any(answer.over is not None for answer in answers) else {}),
    }
    if all(answer.distribution is None for answer in answers):
        return [_row(columns, answer) for answer in answers]
    return [
        {**_row(columns, answer), **_row(_BIN, bin_)}
        for answer in answers
        for bin_ in (answer.distribution.bins if answer.distribution is not None else (None,))
    ]


def _row(columns: Columns, described: object) -> dict[str, Any]:
    return {name: _at(described, path) for name, path in columns.items()}


def _at(described: Any, path: str) -> Any:  # noqa: ANN401 - any field
    """What a field has, as a table shows it; None if there is nothing on the way to it."""
    for name in path.split("."):
        described = None if described is None else getattr(described, name)
    match described:
        case date():
            return described.isoformat()
        case Epsilon():
            return float(described)
        case Verdict() | Adjacency() | By() | PrivacyUnit():
            return str(described)
    if path.endswith("bands"):
        return (described and bands_text(described)) or None
    if path == "derived_from":
        return " ".join(str(source.number) for source in described)
    return described


# Some spreadsheets also accept the full-width forms of these signs.
_BEGINS_A_FORMULA = tuple("=+-@\t\n＝＋－＠")


def csv_text(records: Sequence[Mapping[str, object]]) -> str:
    """A row of names and a row for each record; all records have the same names.

    >>> csv_text([{"group": "=1+1", "value": -1.5}])
    "group,value\\n'=1+1,-1.5\\n"
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(item) for name, item in record.items()} for record in records)
    return text.getvalue()


def _cell(item: object) -> object:
    if not isinstance(item, str):
        return item
    # Not every version of csv quotes a carriage return: it could begin a row.
    text = item.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text
