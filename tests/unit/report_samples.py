"""Series to render in the tests of `report`: ordinary ones, and the worst we can think of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from pappi.series import smoothed
from pappi.values import (
    CASE,
    ZERO,
    Adjacency,
    Answer,
    Band,
    BudgetLine,
    Calendar,
    Epsilon,
    Grid,
    Guarantee,
    Interval,
    Period,
    Series,
    ShownTarget,
    TwoBinLikelihood,
    Verdict,
)

HOSTILE = "<script>alert('1')</script> \"&amp;\" ]]> \x1b[31m \u202eevil\u202c זמן"

Number = float | None


def an_answer(
    value: Number,
    low: Number,
    high: Number,
    *,
    period: Period | None = None,
    group: str | None = None,
    verdict: Verdict | None = None,
    bands: tuple[Band, ...] = (),
    unit: str = "hours",
    epsilon: str = "0.1",
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    cases: Number = 74.2,
    replayed: bool = False,
) -> Answer:
    return Answer(
        ppi="waiting",
        period=period or Period(date(2024, 3, 1), date(2024, 4, 1)),
        group=group,
        value=value,
        unit=unit,
        interval=Interval(low, high, 0.95),
        cases=cases,
        verdict=verdict,
        guarantee=Guarantee(Epsilon.of(epsilon), CASE, adjacency, "two-bin"),
        charged=ZERO if replayed else Epsilon.of(epsilon),
        replayed=replayed,
        bands=bands,
    )


def a_series(
    answers: Sequence[Answer],
    *,
    name: str = "Mean waiting time until admission",
    target: ShownTarget | None = None,
    unit: str = "hours",
    ppi: str = "waiting",
    group_targets: tuple[tuple[str, ShownTarget], ...] = (),
) -> Series:
    sentence = f"{name}, month by month."
    return Series(ppi, name, unit, sentence, target, tuple(answers), group_targets=group_targets)


def monthly(
    values: Sequence[Number],
    half: float,
    target: ShownTarget | None = None,
    *,
    unit: str = "hours",
    group: str | None = None,
    start: date = date(2024, 1, 1),
    calendar: Calendar = Calendar.MONTH,
) -> list[Answer]:
    """Answers with intervals of that half width, judged against the target."""
    periods = Grid(calendar).periods(start, date(start.year + 9, 1, 1))
    return [
        an_answer(
            value,
            None if value is None else value - half,
            None if value is None else value + half,
            period=period,
            group=group,
            unit=unit,
            verdict=_judged(value, half, target),
            bands=_bands(value, half, target),
        )
        for value, period in zip(values, periods, strict=False)
    ]


def _judged(value: Number, half: float, target: ShownTarget | None) -> Verdict | None:
    if target is None:
        return None
    if value is None:
        return Verdict.UNDECIDED
    low = float("-inf") if target.low is None else target.low
    high = float("inf") if target.high is None else target.high
    if low <= value - half and value + half <= high:
        return Verdict.MET
    return Verdict.MISSED if value + half < low or value - half > high else Verdict.UNDECIDED


def _bands(value: Number, half: float, target: ShownTarget | None) -> tuple[Band, ...]:
    """Of targets with one upper end each, which is enough here."""
    if target is None or target.tolerated is None:
        return ()
    green, amber = target.high, target.tolerated.high
    if value is None or green is None or amber is None:
        return tuple(Band)
    low, high = value - half, value + half
    touched = {
        Band.GREEN: low <= green,
        Band.AMBER: low <= amber and high > green,
        Band.RED: high > amber,
    }
    return tuple(band for band, found in touched.items() if found)


def a_smoothed_series(values: Sequence[float], target: ShownTarget | None = None) -> Series:
    """Of values between 0 and 72, each of 9 cases times ε."""
    answers = [
        replace(answer, likelihood=TwoBinLikelihood(value / 8, 9 - value / 8, 0.0, 72.0))
        for answer, value in zip(monthly(values, 30.0, target), values, strict=True)
    ]
    return smoothed(a_series(answers, target=target))


BELOW_24 = ShownTarget(None, 24.0, "below 24 h")
BANDED = ShownTarget(None, 24.0, "below 24 hours", ShownTarget(None, 36.0, "at most 36 hours"))
STRICT = ShownTarget(None, 12.0, "below 12 hours", ShownTarget(None, 16.0, "below 16 hours"))
ALL_BANDS = [10.0, 22.0, 30.0, 33.0, 50.0]

EXTREMES: dict[str, Series] = {
    "no answers": a_series([]),
    "one period": a_series(monthly([23.0], 8.0, BELOW_24), target=BELOW_24),
    "equal values": a_series(monthly([5.0] * 12, 0.0)),
    "all zero": a_series(monthly([0.0] * 5, 0.0)),
    "no value": a_series(monthly([5.0, None, 6.0, None], 1.0, BELOW_24), target=BELOW_24),
    "never a value": a_series(monthly([None, None], 1.0)),
    "unlimited": a_series([an_answer(5.0, None, None)]),
    "half limited": a_series([an_answer(5.0, None, 7.0), an_answer(5.0, 3.0, None)]),
    "huge": a_series(monthly([1e300, -1e300, 0.0], 1e300)),
    "largest floats": a_series([an_answer(1.7e308, -1.7e308, 1.7e308)]),
    "one outlier": a_series(monthly([5.0, 6.0, 5.5, 1e300, 5.2], 1.0)),
    "tiny": a_series(monthly([1e-300, 2e-300], 1e-301)),
    "smallest float": a_series([an_answer(5e-324, 0.0, 5e-324)]),
    "not numbers": a_series(
        [an_answer(float("nan"), float("-inf"), float("inf"), cases=float("nan"))]
    ),
    "noise far above range": a_series(monthly([3.0, 40.0, 88.0, 20.0], 900.0, BELOW_24)),
    "far target": a_series(monthly([5.0, 6.0], 1.0), target=ShownTarget(1e300, None, "high")),
    "nearly equal": a_series(monthly([1e9, 1e9 + 1e-6], 0.0)),
    "104 weeks": a_series(
        monthly([20.0 + week % 9 for week in range(104)], 3.0, BELOW_24, calendar=Calendar.WEEK),
        target=BELOW_24,
    ),
    "gap": a_series(monthly([5.0, 6.0], 1.0) + monthly([7.0], 1.0, start=date(2025, 1, 1))),
    "odd period": a_series(
        [an_answer(1.0, 0.0, 2.0, period=Period(date(2024, 1, 3), date(2024, 2, 9)))]
    ),
    "bands": a_series(monthly(ALL_BANDS, 4.0, BANDED), target=BANDED),
    "bands without values": a_series(monthly([None] * 4, 4.0, BANDED), target=BANDED),
    "bands of groups": a_series(
        monthly(ALL_BANDS, 4.0, BANDED, group="web")
        + monthly([9.0, 15.0, 14.0, 30.0, 11.0], 1.5, STRICT, group="phone")
        + monthly([20.0, 30.0, 41.0, 25.0, 39.0], 4.0, BELOW_24, group="letter"),
        target=BANDED,
        group_targets=(("phone", STRICT), ("letter", BELOW_24)),
    ),
    "tolerated on one side": a_series(
        monthly([5.0, 20.0], 1.0),
        target=ShownTarget(10.0, 24.0, "between", ShownTarget(None, 36.0, "at most 36 hours")),
    ),
    "smoothed": a_smoothed_series([10.0, 50.0, 12.0, 20.0, 0.0], BELOW_24),
    "smoothed bands": a_smoothed_series([10.0, 30.0, 12.0], BANDED),
    "half smoothed": replace(
        (one := a_smoothed_series([10.0, 50.0, 12.0, 20.0])),
        answers=tuple(
            replace(answer, smoothed=None) if number % 2 else answer
            for number, answer in enumerate(one.answers)
        ),
    ),
    "verdicts alone": a_series(
        [
            an_answer(None, 0.0, 24.0, verdict=verdict, period=period, cases=None)
            for verdict, period in zip(
                [*Verdict, Verdict.MET],
                Grid(Calendar.MONTH).periods(date(2024, 1, 1), date(2024, 5, 1)),
                strict=True,
            )
        ],
        target=BELOW_24,
    ),
    "hostile": a_series(
        monthly([5.0, 6.0], 1.0, group=HOSTILE, unit=HOSTILE),
        name=HOSTILE,
        unit=HOSTILE,
        target=ShownTarget(1.0, 9.0, HOSTILE),
        ppi=HOSTILE,
    ),
}

BUDGET = (
    BudgetLine("2024-01", Epsilon.of(1), Epsilon.of("0.6")),
    BudgetLine(HOSTILE, Epsilon.of(1), ZERO),
    BudgetLine("2024-03", ZERO, ZERO),
)
