"""What to privatise, with which mechanism, at what price: from public facts only.

    plan              admissible sets, their plans, and the best of them
    measurements      the functions that carry noise, each with a mechanism ready to draw
    bounds            what one case can contribute; the output range of a PPI
    ratios            formulas that are a ratio of two sums
    expected          how many cases a figure is expected to have, and why
    error_prediction  how far off a plan will be, and the split of epsilon because of it
    accuracy          the epsilon that a wanted margin costs
    targets           what a target means for a release
    trials            trial releases: widths of intervals, chances to decide
    advice            which queries tell nothing, and what to ask instead
    allotment         ε by need, where none is asked for
    views             whether a view follows from its base query, and how far off it will be
    limits            conditions on one measure, as bins of its histogram
    sets              a catalogue under one total, and one draw where that is better
    suggestions       a first catalogue, from a log's public names
    cells             which blocks a scope touches, and what is released together

Nothing here can read an event: a plan that looked at the data would leak it by its very
choice. And no mechanism is known here but by what `Mechanism` says of all of them; only `sets`
knows `joint`, which is made for a set, if of one PPI, and so is in no registry.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.planning.accuracy import DEAREST, epsilon_for, wanted_accuracy
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
from pappi.planning.allotment import EACH, plan_by_need
from pappi.planning.bounds import sides_cut
from pappi.planning.cells import MOST_PERIODS, Cell, cells_of, periods_of
from pappi.planning.expected import ExpectedCases, blocks_between, expected_cases
from pappi.planning.limits import Stretches, stretches_of
from pappi.planning.measurements import (
    SAMPLED,
    THRESHOLD,
    Measurement,
    Rules,
    recorded_histogram,
    recorded_measurement,
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
from pappi.planning.ratios import is_part_of_whole, ratio_of
from pappi.planning.sets import (
    plan_alone,
    plan_each,
    plan_newcomers,
    plan_set,
    recorded_member,
    untold,
)
from pappi.planning.targets import Aim, target_in
from pappi.planning.trials import (
    MOST_VALUES,
    as_if_uncut,
    chance_to_decide,
    expected_half_widths,
)
from pappi.planning.views import (
    added_plan,
    plan_error_law,
    refuse_ratio,
    refuse_unviewable,
    shown_error,
    shown_half_widths,
    why_unseen,
    windows_of,
)

if TYPE_CHECKING:
    from pappi.planning.suggestions import Duration, Proposal, suggest_catalogue
else:
    __getattr__ = lazy_imports(__name__)
