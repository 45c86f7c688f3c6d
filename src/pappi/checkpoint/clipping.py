"""What bounds cut off: how many cases, whether they could turn a verdict, and how to say so.

Value and interval of an answer are about cases as public bounds clip them. Where a draw counts the
cases that lie beyond (`mechanisms.joint`), the share is told with the answer, and the verdict is
about the cases as they are:

- A case that was cut above lies further up, so the mean without bounds is no lower. *Missed* for
  "below 10 days" stays firm; *met* is firm only if it would still be met were the cases that were
  cut much further up: by how much, `mechanisms.beyond` says. Below and above change places for
  cases that were cut below. Where bounds can cut on both sides, nobody knows which it was, and
  both directions count.
- One period's count is noisy, that of many is not. So the share is that of all periods of the
  series (and group) in this answer together, unless the period's own surely differs from it.
- What could be turned in this way is undecided. Of a sum, the number of cases takes the place of
  their share.

A duration or a count is never cut below a bound of 0. Minima, maxima and percentiles need no
count: where the interval of one reaches a bound, it is open there.

All of this is post-processing. Which PPIs count what they cut off is decided by their definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from pappi.checkpoint.queries import Known, figures_of
from pappi.mechanisms import BeyondBounds, Clipped, hidden_by_bounds
from pappi.planning import Plan, sides_cut
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    aggregated_measures,
    measure_kind,
    ordinal,
)
from pappi.values import (
    CONFIDENCE,
    HOURS,
    NUMBER,
    UNIT_INTERVAL,
    Beyond,
    Interval,
    Kind,
    Unit,
)

_TWO_SIDED = 0.975
_HARDLY_ANY = 0.01
_ALL = 0.95
_NOT_TOLD = "the number of cases beyond the bounds is not reported"
_RANKED = (
    Aggregation.MIN,
    Aggregation.MAX,
    Aggregation.MEDIAN,
    Aggregation.PERCENTILE,
    Aggregation.DISTRIBUTION,
)

Pools = Mapping[tuple[str, str | None], BeyondBounds]
"""By PPI and group: what all periods together say about the cases that were cut."""


def pooled(
    known: Sequence[Known], released: Mapping[str, Any]
) -> dict[tuple[str, str | None], BeyondBounds]:
    """What was counted in all periods of each PPI and group."""
    pools: dict[tuple[str, str | None], BeyondBounds] = {}
    for one in known:
        if not one.plan.tells_beyond:
            continue
        for figure in figures_of(one, released):
            counted = figure.plan.measurements[0].mechanism.beyond(figure.noisy[0])
            key = figure.plan.ppi.id, figure.group
            if counted is not None:
                pools[key] = pools[key] + counted if key in pools else counted
    return pools


def beyond_of(
    plan: Plan, noisy: tuple[int, ...], ends: tuple[float, float], pool: BeyondBounds | None
) -> Beyond | None:
    """What one release counted, in internal units; `pool` is that of its whole series.

    `ends` are those of the interval of its value.
    """
    mechanism, measure = plan.measurements[0].mechanism, plan.ppi.measure
    own, value = mechanism.beyond(noisy), mechanism.estimate(noisy).value
    if own is None or value is None:
        return None
    if not isinstance(measure, AggregatedMeasure) or measure.bounds is None:
        return None
    if pool is None or own.surely_differs(pool):
        pool = own
    clipped = Clipped(value, *ends, measure.bounds, measure.called == "sum")
    below, above = map(float, hidden_by_bounds(clipped, own, pool, sides_cut(measure, None)))
    return replace(told(own), below=below, above=above)


def told(counted: BeyondBounds) -> Beyond:
    """A count as it is shown."""
    least, most = counted.limits(_TWO_SIDED)
    interval = Interval(float(least), float(most), CONFIDENCE)
    return Beyond(float(counted.share), interval, counted.measures)


def told_of_all(ppi: str, pools: Pools) -> Beyond | None:
    """Of a series: all periods and groups together."""
    own = [counted for (name, _), counted in pools.items() if name == ppi]
    return told(reduce(add, own)) if own else None


# --- in words ---------------------------------------------------------------------------------


def clipping_text(plan: Plan, beyond: Beyond | None) -> str:
    """What the bounds did to the cases, and to how many; nothing where they cut nothing.

    "of values cut at 60 days; about 36 % of cases lie beyond"
    """
    measure = plan.ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        texts = [
            f"{path.removeprefix(f'{ROOT}.')} of {_counts_as(each, _plain_unit(each))}"
            for path, each in aggregated_measures(measure)
            if _is_cut(each)
        ]
        return "; ".join([*texts, _NOT_TOLD]) if texts else ""
    if not _is_cut(measure):
        return ""
    if measure.bounding is not Bounding.DECLARED:
        return _counts_as(measure, plan.ppi.unit)
    cut = cut_text(measure, plan.ppi.unit)
    if measure.function in _RANKED:
        return f"of values {cut}; an interval that reaches a bound is open there"
    return f"of values {cut}; {_how_many(plan, beyond)}"


def covered_text(plan: Plan) -> str:
    """What the intervals hold: not the value of the cases as they are where bounds cut them off."""
    if plan.covers_noise_only:
        return "the noise alone"
    measure = plan.ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        cut = any(
            each.bounding is not Bounding.PRIVATE and _is_cut(each)
            for _, each in aggregated_measures(measure)
        )
        return "the value of clipped cases" if cut else "the value"
    called = measure.called
    if measure.function is Aggregation.DISTRIBUTION:
        called = "median"
    if measure.percent is not None:
        called = f"{ordinal(measure.percent)} percentile"
    if measure.base == EVERY_CASE and measure.function is Aggregation.SUM:
        called = "number of cases"
    if not _is_cut(measure) or measure.bounding is Bounding.PRIVATE:
        return f"the {called}"
    if measure.bounding is Bounding.LOOSE:
        return f"the clipped {called}"
    return f"the {called} of values {cut_text(measure, plan.ppi.unit)}"


def cut_text(measure: AggregatedMeasure, unit: Unit) -> str:
    """Where declared bounds cut: "cut at 60 days", "cut at 10 and 60 days"."""
    if measure.bounds is None:
        return ""
    ends = zip((measure.bounds.low, measure.bounds.high), sides_cut(measure, None), strict=True)
    cuts = " and ".join(plainly(unit.show(end)) for end, cut in ends if cut)
    return f"cut at {cuts} {unit.name}".rstrip()


def _how_many(plan: Plan, beyond: Beyond | None) -> str:
    if beyond is None:
        return _NOT_TOLD
    which = ""
    if beyond.measures > 1:
        named = f": {', '.join(plan.cut_with)}" if plan.cut_with else f" {beyond.measures} measures"
        which = f" the bounds of at least one of{named}"
    low, high = beyond.interval.low or 0.0, beyond.interval.high or 0.0
    if high < _HARDLY_ANY:
        return f"hardly any case lies beyond{which}"
    if low > 0:
        return f"about {_percent(beyond.share)} of cases lie beyond{which}"
    if high < _ALL:
        return f"at most {_percent(high)} of cases lie beyond{which}"
    return f"too few cases to tell how many lie beyond{which}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < _HARDLY_ANY else f"{100 * share:.0f} %"


def _is_cut(measure: AggregatedMeasure) -> bool:
    return measure.bounds is not None and measure_kind(measure.base, None) is not Kind.TRUTH


def _counts_as(measure: AggregatedMeasure, unit: Unit) -> str:
    bounds = measure.bounds or UNIT_INTERVAL
    low, high = (plainly(unit.show(end)) for end in (bounds.low, bounds.high))
    return f"a case counts as at least {low} and at most {high} {unit.name}".rstrip()


def _plain_unit(measure: AggregatedMeasure) -> Unit:
    return HOURS if measure_kind(measure, None) is Kind.DURATION else NUMBER


def plainly(number: float) -> str:
    """
    >>> plainly(1e6), plainly(0.25), plainly(1440.0)
    ('1,000,000', '0.25', '1,440')
    """
    return f"{number:,.0f}" if number == round(number) else f"{number:,.6g}"
