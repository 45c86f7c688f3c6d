"""What to privatise, with which mechanism, at what price: from public facts only.

    plan              admissible sets, their plans, and the best of them
    measurements      the functions that carry noise, each with a mechanism ready to draw
    bounds            what one case can contribute, where a value can lie, what a target means
    scopes            which blocks a scope touches, what is released together, expected cases
    error_prediction  how far off a plan will be, and the split of epsilon because of it
    forecasts         widths of intervals and chances to decide, also of what views show
    advice            which queries tell nothing, and what to ask instead
    allotment         ε by need, where none is asked for; the ε that a wanted margin costs
    sets              a catalogue under one total, and one draw where that is better
    suggestions       a first catalogue, from a log's public names

Nothing here can read an event: a plan that looked at the data would leak it by its very
choice. And no mechanism is known here but by what `Mechanism` says of all of them; only `sets`
knows `joint`, which is made for a set, if of one PPI, and so is in no registry.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.planning.advice import (
    LADDER,
    advice_on,
    alternatives_to,
    extreme_caution,
    is_enough,
    nothing_because,
    part_of_range,
    why_nothing,
)
from pappi.planning.allotment import DEAREST, EACH, epsilon_for, plan_by_need, wanted_accuracy
from pappi.planning.bounds import Aim, is_part_of_whole, ratio_of, sides_cut, target_in
from pappi.planning.forecasts import (
    added_plan,
    as_if_uncut,
    chance_to_decide,
    expected_half_widths,
    plan_error_law,
    refuse_ratio,
    refuse_unviewable,
    shown_error,
    shown_half_widths,
    why_unseen,
    windows_of,
)
from pappi.planning.measurements import (
    SAMPLED,
    THRESHOLD,
    Measurement,
    Rules,
    recorded_histogram,
    recorded_measurement,
    with_current_names,
)
from pappi.planning.plan import (
    Plan,
    ReleaseOption,
    interval_of,
    open_interval_of,
    plan_derived,
    plan_options,
    plan_ppi,
    within_range,
)
from pappi.planning.scopes import (
    MOST_PERIODS,
    Cell,
    ExpectedCases,
    blocks_between,
    cells_of,
    expected_cases,
    periods_of,
)
from pappi.planning.sets import (
    plan_alone,
    plan_each,
    plan_newcomers,
    plan_set,
    recorded_member,
    stretches_of,
    untold,
)

if TYPE_CHECKING:
    from pappi.planning.suggestions import Duration, Proposal, suggest_catalogue
else:
    __getattr__ = lazy_imports(__name__)
