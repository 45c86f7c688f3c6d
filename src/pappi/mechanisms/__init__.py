"""Mechanisms: from clipped numbers and public facts to integers that may be released.

    noise         exact discrete Laplace draws; the only source of randomness
    tails         how large that noise gets, for intervals and predicted errors
    laws          exact distributions and the privacy loss between them
    upper_bounds  exp and log of exact numbers, rounded up
    exponential   the exponential mechanism in whole numbers
    lattice       values become integers
    mechanism     what a mechanism is; how integers get their noise
    laplace       sums and extremes
    two_bin       means and shares; ratio: of a part to its whole
    hexagon       ratios of any two sums
    interval      extremes and quantiles by rank; stepped: means and sums by distance
    grid, loose   extremes and quantiles where bounds are loose
    clip          means and sums cut at a ceiling that is chosen privately
    margins       by how many cases a target is met or missed
    threshold     decisions, and values that agree with them; anchored: for means
    sampled       any formula, over buckets of cases
    pivot         an interval of true coverage for a mean
    coarse        … made narrower where noise is only a few steps wide
    choose        which mechanism for which function

Nothing here sees a log: a mechanism gets one number per case and declared bounds.
"""

from pappi.mechanisms.choose import MECHANISMS, mechanism_for, mechanisms_of, quantile_level
from pappi.mechanisms.exponential import StepLaw
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceMean, LaplaceSum
from pappi.mechanisms.laws import DiscreteLaplaceLaw, JointLaw, Law, Loss, Outcome, PointLaw
from pappi.mechanisms.mechanism import Estimate, Mechanism, Values
from pappi.mechanisms.two_bin import TwoBin

__all__ = [
    "MECHANISMS",
    "DiscreteLaplaceLaw",
    "Estimate",
    "IntervalExtreme",
    "IntervalQuantile",
    "JointLaw",
    "LaplaceExtreme",
    "LaplaceMean",
    "LaplaceSum",
    "Law",
    "Loss",
    "Mechanism",
    "Outcome",
    "PointLaw",
    "StepLaw",
    "TwoBin",
    "Values",
    "mechanism_for",
    "mechanisms_of",
    "quantile_level",
]
