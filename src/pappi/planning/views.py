"""Views before their release: whether one follows from its base query, and how far off it will be.

A view is a function of figures on record (`ppinot.views`): the plan, the price and the key are
those of the base query. What is predicted here is about what is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms import Combined, ErrorLaw, Mechanism, Outcome, added
from pappi.planning.cells import periods_of
from pappi.planning.error_prediction import error_law, predicted_error
from pappi.planning.measurements import Measurement
from pappi.planning.plan import Plan, own_inputs, plan_derived, within_range
from pappi.planning.trials import HalfWidths, expected_half_widths
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Between,
    Change,
    Comparing,
    Ppi,
    Rolling,
    ToDate,
    added_up,
    compared_pairs,
    periods_rolled,
)
from pappi.values import MARGIN_CONFIDENCE, By, Calendar, Epsilon, Grid, Horizon, Period

_GRID = 256
_NEARLY_ALL = (0.9999, 0.999, 0.99)


def refuse_unviewable(plan: Plan) -> None:
    """Nothing, or why a view cannot be shown of what would be released: by public facts alone."""
    view = plan.ppi.view
    if view is None:
        return
    if isinstance(view, Rolling | ToDate) and added_plan([plan], [_blank(plan)]) is None:
        raise NotReleasable(
            f"'{view}' cannot be shown of PPI '{plan.ppi.id}': what {plan.mechanism} releases of "
            "several periods does not add up",
            hint="ask for longer periods, or show it of the parts of a formula",
        )
    if isinstance(view, Comparing):
        refuse_ratio(plan, view.by)


def refuse_ratio(plan: Plan, by: By) -> None:
    """Of values that may be negative, there is no ratio, and no change in percent."""
    ranges = {part.path: part.mechanism.output_range for part in plan.measurements}
    if by is not By.DIFFERENCE and within_range(plan, ranges)[0] < 0:
        raise NotReleasable(
            f"figures of PPI '{plan.ppi.id}' may be negative: they have no ratio, and no change in "
            "percent",
            hint="show their difference, or declare bounds from 0 upwards",
        )


def why_unseen(plan: Plan, horizon: Horizon) -> str:
    """Why the view has nothing to show of the periods there are; empty if it has something."""
    view, scope = plan.ppi.view, plan.ppi.scope
    if view is None:
        return ""
    periods = periods_of(scope, horizon)
    if isinstance(view, Comparing):
        figures = [(period, group) for period in periods for group in plan.groups]
        shown = any(True for _ in compared_pairs(view, figures, scope.grid))
    else:
        shown = bool(windows_of(plan.ppi, periods))
    number = "only one" if len(periods) == 1 else f"only {len(periods)}"
    return "" if shown else f"'{view}' takes more periods, and its scope has {number}"


# --- several periods as one ---------------------------------------------------------------------


def added_plan(
    plans: Sequence[Plan], noisy: Sequence[Sequence[Outcome]]
) -> tuple[Plan, tuple[Outcome, ...]] | None:
    """How the figures of several periods are read as one of all their cases; None if they cannot.

    Their cases are disjoint, and each has noise of its own.
    """
    first = plans[0]
    paths = [part.path for part in first.measurements]
    if any([part.path for part in plan.measurements] != paths for plan in plans):
        return None
    measurements, together = [], []
    for number, part in enumerate(first.measurements):
        outcomes = [figure[number] for figure in noisy]
        inputs = own_inputs(first.ppi, part)
        mechanisms = [plan.measurements[number].mechanism for plan in plans]
        mechanism = _added(inputs, mechanisms, outcomes)
        if mechanism is None:
            return None
        draws = frozenset[str]().union(*(plan.measurements[number].draws for plan in plans))
        measurements.append(Measurement(part.path, inputs, mechanism, draws=draws))
        together.append(tuple(number for outcome in outcomes for number in outcome))
    epsilon = max((plan.epsilon for plan in plans), key=lambda epsilon: epsilon.nano)
    expected = replace(first.expected, cases=len(plans) * first.expected.cases)
    return plan_derived(first.ppi, Epsilon(epsilon.nano), measurements, expected), tuple(together)


def _added(
    inputs: Sequence[AggregatedMeasure],
    mechanisms: Sequence[Mechanism],
    outcomes: Sequence[Outcome],
) -> Combined | None:
    of_sums = len(inputs) == 1 and inputs[0].function is Aggregation.SUM
    sizes = list(map(len, outcomes))
    return added(mechanisms, sizes, of_sums=of_sums, counts=len(inputs) == 1)


def _blank(plan: Plan) -> tuple[Outcome, ...]:
    return ((),) * len(plan.measurements)


def windows_of(ppi: Ppi, periods: Sequence[Period]) -> dict[Period, list[Period]]:
    """The periods that each of a series is shown together with, by the last of them."""
    view, grid = ppi.view, ppi.scope.grid
    if grid is None or not isinstance(view, Rolling | ToDate):
        return {}
    return added_up(view, periods, grid)


# --- what is predicted ----------------------------------------------------------------------------


def figures_law(plan: Plan) -> ErrorLaw | None:
    """How far off the figures themselves will be, whatever is shown of them."""
    return error_law(plan.ppi, plan.measurements, plan.expected.cases, plan.predicted_error)


def plan_error_law(plan: Plan) -> ErrorLaw | None:
    """How far off what is shown will be; None where no law says.

    Of ratios, none does: that depends on how large the figures are, which is private.
    """
    law, view = figures_law(plan), plan.ppi.view
    if view is None or law is None:
        return law
    if isinstance(view, Change | Between):
        return law_of_difference(law) if view.by is By.DIFFERENCE else None
    windows = (figures_law(_copies(plan, number)) for number in _sizes(plan))
    laws = [law, *(window for window in windows if window is not None)]
    if isinstance(view, Rolling):
        return laws[-1]
    # To date there are short windows and long ones: what is promised holds for all.
    return replace(law, beyond=lambda distance: max(each.beyond(distance) for each in laws))


def shown_error(plan: Plan) -> float:
    """The typical error of what is shown: the root mean square; infinite if it is not known."""
    view = plan.ppi.view
    if isinstance(view, Change | Between):
        return math.sqrt(2) * plan.predicted_error if view.by is By.DIFFERENCE else math.inf
    if isinstance(view, Rolling | ToDate):
        added = [_copies(plan, number) for number in _sizes(plan)]
        every = [predicted_error(own.ppi, own.measurements, own.expected.cases) for own in added]
        return every[-1] if isinstance(view, Rolling) else max(plan.predicted_error, *every)
    return plan.predicted_error


def shown_half_widths(plan: Plan) -> HalfWidths | None:
    """How wide the intervals of what is shown will be: as the figures' are, beside their margin.

    None where no law says how far off it will be; nor to date, as there each window has its own.
    """
    halves, own, law = expected_half_widths(plan), figures_law(plan), plan_error_law(plan)
    if halves is None or plan.ppi.view is None:
        return halves
    if own is None or law is None or isinstance(plan.ppi.view, ToDate):
        return None
    figures, shown = own.within(MARGIN_CONFIDENCE), law.within(MARGIN_CONFIDENCE)
    if not (0 < figures < math.inf and math.isfinite(shown)):
        return None
    return halves.times(shown / figures)


_IN_A = {Calendar.WEEK: 7, Calendar.MONTH: 31, Calendar.QUARTER: 92, Calendar.YEAR: 366}
_LASTS = {Calendar.DAY: 1, Calendar.WEEK: 7, Calendar.MONTH: 30, Calendar.QUARTER: 90}


def _sizes(plan: Plan) -> tuple[int, ...]:
    """Of how many periods the windows of a view are, at most."""
    view, grid = plan.ppi.view, plan.ppi.scope.grid
    if grid is None:
        return ()
    if isinstance(view, Rolling):
        return (periods_rolled(view, grid) or 1,)
    return (_most_to_date(view, grid),) if isinstance(view, ToDate) else ()


def _most_to_date(view: ToDate, grid: Grid) -> int:
    return max(math.floor(_IN_A[view.unit] / (_LASTS.get(grid.unit, 360) * grid.count)), 1)


def _copies(plan: Plan, number: int) -> Plan:
    added = added_plan([plan] * number, [_blank(plan)] * number)
    return plan if added is None else added[0]


def law_of_difference(law: ErrorLaw) -> ErrorLaw:
    """Of the difference of two figures that each err by a law, independently of each other.

    Both errors are taken as symmetric, and every one as large as the end of the cell of the grid
    that it falls in; what lies beyond the grid counts as beyond everything.
    """
    far = next((end for end in map(law.within, _NEARLY_ALL) if math.isfinite(end)), math.inf)
    if not 0 < far < math.inf:
        return law
    step = far / _GRID
    beyond = np.array([law.beyond(number * step) for number in range(_GRID + 1)])
    left_out = float(beyond[-1])
    mass = np.concatenate(([max(1 - beyond[0], 0.0)], np.maximum(beyond[:-1] - beyond[1:], 0.0)))
    both = np.concatenate((mass[:0:-1] / 2, mass[:1], mass[1:] / 2))
    sums = np.convolve(both, both)
    sizes = np.abs(np.arange(len(sums)) - (len(sums) - 1) // 2)
    by_size = np.bincount(sizes, weights=sums)
    tail = np.append(np.cumsum(by_size[::-1])[::-1], 0.0) + 2 * left_out

    def further(distance: float) -> float:
        steps = min(distance / step, float(len(tail)))  # that may be infinite
        place = min(max(math.floor(steps) + 1, 0), len(tail) - 1)
        return min(float(tail[place]), 1.0)

    return ErrorLaw(
        lru_cache(maxsize=256)(further), law.assumes, shrinks=law.shrinks, start=1.5 * law.start
    )
