"""What to privatise, with which mechanism, at what price: from public facts only.

    plan              admissible sets, their plans, and the best of them
    measurements      the functions that carry noise, each with a mechanism ready to draw
    bounds            what one case can contribute; the output range of a PPI
    ratios            formulas that are a ratio of two sums
    expected          how many cases a figure is expected to have, and why
    error_prediction  how far off a plan will be, and the split of epsilon because of it
    accuracy          the epsilon that a wanted margin costs
    targets           what a target means for a release
    sets              a catalogue under one total, and one draw where that is better
    cells             which blocks a scope touches, and what is released together

Nothing here can read an event: a plan that looked at the data would leak it by its very
choice. And no mechanism is known here but by what `Mechanism` says of all of them; only `sets`
knows `joint`, which is made for a set, if of one PPI, and so is in no registry.
"""

from pappi.planning.accuracy import DEAREST, epsilon_for, plan_error_law, wanted_accuracy
from pappi.planning.bounds import sides_cut
from pappi.planning.cells import MOST_PERIODS, Cell, cells_of, periods_of
from pappi.planning.expected import ExpectedCases, blocks_between, expected_cases
from pappi.planning.measurements import SAMPLED, THRESHOLD, Measurement
from pappi.planning.plan import Option, Plan, plan_options, plan_ppi
from pappi.planning.ratios import is_part_of_whole
from pappi.planning.sets import (
    plan_alone,
    plan_each,
    plan_newcomers,
    plan_set,
    recorded_member,
    untold,
)
from pappi.planning.targets import Aim, advice_on, target_in

__all__ = [
    "DEAREST",
    "MOST_PERIODS",
    "SAMPLED",
    "THRESHOLD",
    "Aim",
    "Cell",
    "ExpectedCases",
    "Measurement",
    "Option",
    "Plan",
    "advice_on",
    "blocks_between",
    "cells_of",
    "epsilon_for",
    "expected_cases",
    "is_part_of_whole",
    "periods_of",
    "plan_alone",
    "plan_each",
    "plan_error_law",
    "plan_newcomers",
    "plan_options",
    "plan_ppi",
    "plan_set",
    "recorded_member",
    "sides_cut",
    "target_in",
    "untold",
    "wanted_accuracy",
]
