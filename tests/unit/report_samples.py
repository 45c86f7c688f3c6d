"""Series to render in the tests of `report`: ordinary ones, and the worst we can think of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pappi.report.budgets import BudgetLine
from pappi.values.answers import Answer, Guarantee, Interval, Series, ShownTarget, Verdict
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.periods import Calendar, Grid, Period
from pappi.values.privacy import CASE, Adjacency

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
    )


def a_series(
    answers: Sequence[Answer],
    *,
    name: str = "Mean waiting time until admission",
    target: ShownTarget | None = None,
    unit: str = "hours",
    ppi: str = "waiting",
) -> Series:
    sentence = f"{name}, month by month."
    return Series(ppi, name, unit, sentence, target, tuple(answers))


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


BELOW_24 = ShownTarget(None, 24.0, "below 24 h")

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
