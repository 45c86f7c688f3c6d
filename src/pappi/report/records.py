"""Answers and quotes as plain records, for JSON and CSV: the shape programs rely on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pappi.report.wording import bands_text
from pappi.values import (
    Alternative,
    Answer,
    Beyond,
    Bin,
    Distribution,
    ExactAnswer,
    Interval,
    Period,
    Quote,
    QuotedSet,
    ShownTarget,
    Smoothed,
)


def exact_record(answer: ExactAnswer) -> dict[str, Any]:
    return {
        "ppi": answer.ppi,
        "period": _period(answer.period),
        "group": answer.group,
        "value": answer.value,
        "unit": answer.unit,
        "clipped": answer.clipped,
        "cases": answer.cases,
        "beyond": answer.beyond,
    }


def answer_record(answer: Answer) -> dict[str, Any]:
    guarantee = answer.guarantee
    return {
        "ppi": answer.ppi,
        "period": _period(answer.period),
        "group": answer.group,
        "value": answer.value,
        "unit": answer.unit,
        "interval": {
            "low": answer.interval.low,
            "high": answer.interval.high,
            "confidence": answer.interval.confidence,
        },
        "cases": answer.cases,
        "verdict": None if answer.verdict is None else str(answer.verdict),
        "chance_met": answer.probability_met,
        "ceiling": answer.ceiling,
        "band": bands_text(answer.bands) or None,
        "guarantee": {
            "epsilon": float(guarantee.epsilon),
            "unit": str(guarantee.unit),
            "adjacency": str(guarantee.adjacency),
            "mechanism": guarantee.mechanism,
            **({"shared_by": guarantee.shared_by} if guarantee.shared_by > 1 else {}),
        },
        "charged": float(answer.charged),
        "replayed": answer.replayed,
        **_simultaneous(answer),
        **_derived(answer),
        "cases_margin": answer.cases_margin,
        "perhaps_empty": answer.perhaps_empty,
        "beyond": _beyond(answer.beyond),
        "clipping_decides": answer.clipping_decides,
        **_distribution(answer.distribution),
        **_comparison(answer),
        **({} if answer.over is None else {"over": _period(answer.over)}),
    }


def _comparison(answer: Answer) -> dict[str, Any]:
    """Where two figures are compared: both of them, and whether they differ by more than noise."""
    comparison = answer.comparison
    if comparison is None:
        return {}
    first, second = (
        {
            "period": _period(figure.period),
            "group": figure.group,
            "value": figure.value,
            "unit": figure.unit,
            **_ends(figure.interval),
        }
        for figure in (comparison.first, comparison.second)
    )
    noise = {"by": str(comparison.by), "more_than_noise": comparison.more_than_noise}
    return {"comparison": {**noise, "first": first, "second": second}}


def _distribution(distribution: Distribution | None) -> dict[str, Any]:
    """Only if one was asked for."""
    if distribution is None:
        return {}
    return {
        "distribution": {
            "bins": [_bin(item) for item in distribution.bins],
            "percentiles": [
                {"percent": item.percent, "value": item.value, **_ends(item.interval)}
                for item in distribution.percentiles
            ],
            "mean": {"value": distribution.mean, **_ends(distribution.mean_interval)},
            "binning_error": distribution.binning_error,
        }
    }


def _ends(interval: Interval | None) -> dict[str, Any]:
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return dict(zip(("low", "high"), ends, strict=True))


def _bin(bin_: Bin) -> dict[str, Any]:
    cases, share = _ends(bin_.interval), _ends(bin_.share_interval)
    return {
        "low": bin_.low,
        "high": bin_.high,
        "cases": {"value": bin_.cases, **cases},
        "share_within": {"value": bin_.share_within, **share},
    }


_BEYOND = ("share", "low", "high", "measures", "below", "above")


def _beyond(beyond: Beyond | None) -> dict[str, Any]:
    """How many cases were clipped; the same keys with None where that was not counted."""
    if beyond is None:
        return dict.fromkeys(_BEYOND)
    interval = beyond.interval
    values = (beyond.share, interval.low, interval.high, beyond.measures)
    return dict(zip(_BEYOND, (*values, beyond.below, beyond.above), strict=True))


def _simultaneous(answer: Answer) -> dict[str, Any]:
    """Only if one draw answered several PPIs."""
    interval = answer.simultaneous
    if interval is None:
        return {}
    return {"simultaneous": {**_ends(interval), "confidence": interval.confidence}}


def _derived(answer: Answer) -> dict[str, Any]:
    """Only if it was derived: the releases it follows from."""
    if not answer.derived_from:
        return {}
    sources = (
        {
            "release": source.number,
            "ppi": source.ppi,
            "period": _period(source.period),
            "weight": source.weight,
        }
        for source in answer.derived_from
    )
    return {"derived_from": list(sources)}


def smoothed_record(answer: Answer) -> dict[str, Any]:
    """The released values, and the smoothed ones; None where it was not smoothed."""
    smoothed = None if answer.smoothed is None else _smoothed(answer.smoothed)
    return {**answer_record(answer), "smoothed": smoothed}


_SMOOTHED = ("value", "low", "high", "confidence_of_all", "verdict", "chance_met", "band")


def _smoothed(smoothed: Smoothed) -> dict[str, Any]:
    interval = smoothed.interval
    verdict = None if smoothed.verdict is None else str(smoothed.verdict)
    values = (smoothed.value, interval.low, interval.high, interval.confidence)
    judged = (verdict, smoothed.probability_met, bands_text(smoothed.bands) or None)
    return dict(zip(_SMOOTHED, values + judged, strict=True))


_BINNED = ("bin_low", "bin_high", "bin_cases", "bin_cases_low", "bin_cases_high")
_SHARED = ("share_within", "share_within_low", "share_within_high")


def flat_records(answers: Sequence[Answer], *, smoothed: bool = False) -> list[dict[str, Any]]:
    """All rows of a table, one level deep and with the same columns: one row per answer.

    A distribution has one row per bin; other answers then have empty columns for bins. Columns
    for smoothed values are empty where nothing was smoothed.
    """
    compared = any(answer.comparison is not None for answer in answers)
    over = any(answer.over is not None for answer in answers)

    def record(answer: Answer) -> dict[str, Any]:
        of_view = _compared_columns(answer) if compared else {}
        return {**_flat(answer, smoothed), **of_view, **(_over_columns(answer) if over else {})}

    if all(answer.distribution is None for answer in answers):
        return [record(answer) for answer in answers]
    return [{**record(answer), **columns} for answer in answers for columns in _bin_columns(answer)]


_AGAINST = ("against_period_start", "against_period_end", "against_group", "against_value")


def _compared_columns(answer: Answer) -> dict[str, Any]:
    comparison = answer.comparison
    names = ("compared_by", "compared_value", "compared_group", *_AGAINST, "more_than_noise")
    if comparison is None:
        return dict.fromkeys(names)
    first, second = comparison.first, comparison.second
    against = (*_period(second.period).values(), second.group, second.value)
    values = (str(comparison.by), first.value, first.group, *against, comparison.more_than_noise)
    return dict(zip(names, values, strict=True))


def _over_columns(answer: Answer) -> dict[str, Any]:
    ends = (None, None) if answer.over is None else _period(answer.over).values()
    return dict(zip(("over_start", "over_end"), ends, strict=True))


def _bin_columns(answer: Answer) -> Iterator[dict[str, Any]]:
    if answer.distribution is None:
        yield dict.fromkeys((*_BINNED, *_SHARED))
        return
    for bin_ in answer.distribution.bins:
        cases, share = _ends(bin_.interval).values(), _ends(bin_.share_interval).values()
        values = (bin_.low, bin_.high, bin_.cases, *cases, bin_.share_within, *share)
        yield dict(zip((*_BINNED, *_SHARED), values, strict=True))


def _flat(answer: Answer, smoothed: bool) -> dict[str, Any]:  # noqa: FBT001 - as asked for
    record, flat = answer_record(answer), dict[str, Any]()
    if smoothed:
        record["smoothed"] = smoothed_record(answer)["smoothed"] or dict.fromkeys(_SMOOTHED)
    for told in ("distribution", "comparison", "over"):  # these have rows or columns of their own
        record.pop(told, None)
    guarantee = {**record["guarantee"], "shared_by": answer.guarantee.shared_by}
    none = dict.fromkeys(("low", "high", "confidence"))
    together = {"simultaneous": record.pop("simultaneous", none)}
    record.pop("derived_from", None)
    derived = {"derived_from": " ".join(str(source.number) for source in answer.derived_from)}
    for key, value in {**record, "guarantee": guarantee, **together, **derived}.items():
        if isinstance(value, dict):
            flat.update({f"{key}_{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _period(period: Period) -> dict[str, str]:
    return {"start": period.start.isoformat(), "end": period.end.isoformat()}


def quote_record(quote: Quote) -> dict[str, Any]:
    return {
        "ppi": quote.ppi,
        "epsilon": float(quote.epsilon),
        "functions": list(quote.functions),
        "mechanism": quote.mechanism,
        "mechanisms": list(quote.mechanisms),
        "typical_error": quote.typical_error,
        "margin": quote.margin,
        "margin_note": quote.margin_note,
        "assumes": quote.assumes,
        "fewer": quote.fewer,
        "quantiles": [
            {"confidence": quantile.confidence, "within": quantile.within}
            for quantile in quote.quantiles
        ],
        "verdict_only": quote.verdict_only,
        "target": None if quote.target is None else _target_record(quote.target),
        "unit": quote.unit,
        "assumed_cases": quote.assumed_cases,
        "cases_note": quote.cases_note,
        "interval_half_width": quote.interval_half_width,
        "usual_half_widths": None
        if quote.usual_half_widths is None
        else list(quote.usual_half_widths),
        "charges": quote.charges,
        "new_charges": quote.new_charges,
        "shares": list(quote.shares),
        "clipping": quote.clipping,
        "untold": quote.untold,
        "advice": quote.advice,
        "part_of_range": quote.part_of_range,
        "chance_to_decide": quote.chance_to_decide,
        "epsilon_note": quote.epsilon_note,
        "tells_nothing": quote.tells_nothing,
        **_derivable(quote),
        "with_record": quote.with_record,
        "alternatives": [_alternative_record(alternative) for alternative in quote.alternatives],
        "options": [_option_record(option) for option in quote.options],
    }


def _derivable(quote: Quote) -> dict[str, Any]:
    follows = quote.derivable
    if follows is None:
        return {}
    record = {"cells": follows.cells, "margin": follows.margin, "taken": follows.taken}
    return {"derivable": {**record, "releases": list(follows.releases)}}


def _target_record(target: ShownTarget) -> dict[str, Any]:
    tolerated = None if target.tolerated is None else _target_record(target.tolerated)
    return {"low": target.low, "high": target.high, "text": target.text, "tolerated": tolerated}


def _alternative_record(alternative: Alternative) -> dict[str, Any]:
    return {
        "change": alternative.change,
        "yaml": alternative.yaml,
        "epsilon": float(alternative.epsilon),
        "unit": alternative.unit,
        "margin": alternative.margin,
        "chance_to_decide": alternative.chance_to_decide,
    }


def _option_record(option: QuotedSet) -> dict[str, Any]:
    return {
        "functions": list(option.functions),
        "mechanism": option.mechanism,
        "mechanisms": list(option.mechanisms),
        "typical_error": option.typical_error,
        "margin": option.margin,
        "shares": list(option.shares),
        "chosen": option.chosen,
        "reason": option.reason,
    }
