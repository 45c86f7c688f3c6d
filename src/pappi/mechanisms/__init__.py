"""Mechanisms: from clipped numbers and public facts to integers that may be released.

    mechanism     what a mechanism is: `Mechanism`, the one thing to extend, and its `Task`
    registry      all mechanisms, and which of them answers what

    laplace       sums and extremes; a mean of a public number of cases
    two_bin       means, shares, and ratios of a part to its whole
    hexagon       ratios of any two sums
    joint         means, shares and sums of several PPIs from one draw
    hull          its noise: law, proof and sampler
    histogram     distributions, and medians and percentiles read off them
    interval      extremes and quantiles by rank, means and sums by distance
    loose         extremes and quantiles where bounds are loose
    clip          means and sums cut at a private clipping bound
    margins       by how many cases a target is met or missed
    threshold     decisions, and values that agree with them
    sampled       any formula, over buckets of cases
    comparison    two figures compared: intervals of their difference and of their ratio
    combined      releases on record, added up: longer periods from shorter, sums from means

    noise         exact discrete Laplace draws; the only source of randomness
    laws          exact output distributions and the privacy loss between them
    exponential   the exponential mechanism in whole numbers; exp and log, rounded up
    lattice       values become integers
    bins          public bins, and all that noisy counts of them tell
    tails         how large discrete Laplace noise gets
    pivot         an interval of true coverage for a mean
    beyond        cases that bounds cut: how many there are, how much they may hide
    prediction    what is predicted of a release: error laws, reference scenarios
    family        every mechanism for every function, as it is tried out without a log

Nothing here sees a log: a mechanism gets one number per case and declared bounds.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.mechanisms.beyond import FAR_WIDTHS, BeyondBounds, Clipped, hidden_by_bounds
from pappi.mechanisms.bins import (
    FINEST,
    FOR_EVEN_VALUES,
    MOST_BINS,
    USUALLY,
    Bins,
    NoisyBins,
    clamp,
)
from pappi.mechanisms.clip import PrivateClippingBound
from pappi.mechanisms.combined import (
    Combined,
    Part,
    added,
    combined_mean,
    combined_sum,
    levels_together,
    with_number,
)
from pappi.mechanisms.exponential import StepLaw
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.histogram import (
    NoisyHistogram,
    ReadOffBins,
    binned_share,
    combined_histogram,
    drawn_histogram,
)
from pappi.mechanisms.interval import (
    IntervalExtreme,
    IntervalQuantile,
    PointDrawn,
    SteppedMean,
    SteppedSum,
)
from pappi.mechanisms.joint import (
    Contribution,
    PresenceClass,
    joint_members,
    joint_numbers,
    read_set,
)
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceMean, LaplaceSum
from pappi.mechanisms.lattice import LOOSE_FILL, RANGE_STEPS, GeometricGrid, Lattice
from pappi.mechanisms.laws import DiscreteLaplaceLaw, JointLaw, Law, Loss, Outcome, PointLaw
from pappi.mechanisms.loose import RANK_TARGET, LooseMinimum, LooseQuantile, RankedMaximum
from pappi.mechanisms.margins import PER_CASE, MeanMargin, RatioMargin
from pappi.mechanisms.mechanism import (
    DISTRIBUTION,
    FORMULA,
    PART_OF_WHOLE,
    RATIO,
    Estimate,
    InBuckets,
    Limit,
    Looseness,
    Mechanism,
    NoisyIntegers,
    Replaced,
    SumRatio,
    Task,
    Values,
    quantile_level,
)
from pappi.mechanisms.noise import RandBelow, discrete_laplace, secret_bytes, system_randbelow
from pappi.mechanisms.prediction import (
    EVENLY,
    EVENLY_BETWEEN,
    FILLS,
    LIE_LOW,
    MOSTLY_LOW,
    OVER_OCTAVES,
    Chances,
    ErrorLaw,
    Fill,
    Floats,
    Scenario,
    Trial,
    TrialIntervals,
    atom_tails,
    laplace_tails,
)
from pappi.mechanisms.registry import (
    FUNCTIONS,
    OF_PUBLIC_NUMBER,
    mechanism_for,
    mechanism_names,
    mechanisms_of,
    name_with,
    names_for,
    on_request,
    registered,
)
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.tails import clamped_error, dot
from pappi.mechanisms.threshold import AnchoredMean, NoisyMargin, TwoStage, decision_epsilon
from pappi.mechanisms.two_bin import TwoBin, TwoBinRatio, drawn_in_shares

if TYPE_CHECKING:
    from pappi.mechanisms.comparison import Uncertain, difference, difference_of_sums, ratio
    from pappi.mechanisms.family import Family, families
else:
    __getattr__ = lazy_imports(__name__)
