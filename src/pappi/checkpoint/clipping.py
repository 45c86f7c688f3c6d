"""What bounds cut off: how many cases, whether they could turn a verdict, and how to say so.

Value and interval of an answer are about cases as public bounds clip them. Where a draw counts the
cases that lie beyond (`mechanisms.joint`), the share is told with the answer, and the verdict is
about the cases as they are:

- A case that was cut above lies further up, so the mean without bounds is no lower. *Missed* for
  "below 10 days" stays firm; *met* is firm only if it would still be met were the cases that were
  cut much further up: as many as there may be (the most, with 95 % confidence) a whole width of
  the bounds beyond, on average, and as many as there surely are (the least) `FAR` widths. Durations
  have long tails: five widths are more than those of lognormal ones of a deviation of 2 take.
  Below and above change places for cases that were cut below. Where bounds can cut on both sides,
  nobody knows which it was, and both directions count.
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

from pappi.checkpoint.queries import Release
from pappi.mechanisms import BeyondBounds
from pappi.planning import Plan, sides_cut
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    aggregated_measures,
    measure_kind,
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

FAR = 5.0
"""How many widths of the bounds beyond a bound those cases are taken to lie that surely do."""

_ONE_SIDED = 0.95
_TWO_SIDED = 0.975
_SURELY = 0.995
_HARDLY_ANY = 0.01
_ALL = 0.95
_NOT_TOLD = "how many cases lie beyond is not told"
_RANKED = (Aggregation.MIN, Aggregation.MAX, Aggregation.MEDIAN, Aggregation.PERCENTILE)

Pools = Mapping[tuple[str, str | None], BeyondBounds]
"""By PPI and group: what all periods together say about the cases that were cut."""


def pooled(
    releases: Sequence[Release], released: Mapping[str, Any]
) -> dict[tuple[str, str | None], BeyondBounds]:
    """What was counted in all periods of each PPI and group."""
    pools: dict[tuple[str, str | None], BeyondBounds] = {}
    for release in releases:
        if not release.plan.tells_beyond:
            continue
        drawn = ((p, g) for p in release.cell.periods for g in release.plan.groups)
        for (_, group), (noisy, *_) in zip(drawn, released[release.key], strict=True):
            counted = release.plan.measurements[0].mechanism.beyond(tuple(noisy))
            key = release.plan.ppi.id, group
            if counted is not None:
                pools[key] = pools[key] + counted if key in pools else counted
    return pools


def beyond_of(plan: Plan, noisy: tuple[int, ...], pool: BeyondBounds | None) -> Beyond | None:
    """What one release counted, in internal units; `pool` is that of its whole series."""
    own, measure = plan.measurements[0].mechanism.beyond(noisy), plan.ppi.measure
    if own is None or not isinstance(measure, AggregatedMeasure) or measure.bounds is None:
        return None
    least, most = (own if pool is None or _differ(own, pool) else pool).limits(_ONE_SIDED)
    cases = max(own.cases, 0.0) if measure.called == "sum" else 1.0
    hidden = max(most, FAR * least) * cases * float(measure.bounds.width)
    below, above = sides_cut(measure, None)
    return replace(told(own), below=hidden * below, above=hidden * above)


def _differ(one: BeyondBounds, other: BeyondBounds) -> bool:
    """Whether two shares are surely not the same."""
    (low, high), (least, most) = one.limits(_SURELY), other.limits(_SURELY)
    return high < least or most < low


def told(counted: BeyondBounds) -> Beyond:
    """A count as it is shown."""
    interval = Interval(*counted.limits(_TWO_SIDED), CONFIDENCE)
    return Beyond(counted.share, interval, counted.measures)


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
    if not _is_cut(measure) or measure.bounding is Bounding.PRIVATE:
        return f"the {measure.called}"
    if measure.bounding is Bounding.LOOSE:
        return f"the clipped {measure.called}"
    return f"the {measure.called} of values {cut_text(measure, plan.ppi.unit)}"


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
