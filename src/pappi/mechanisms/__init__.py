"""Mechanisms: from clipped numbers and public facts to integers that may be released.

    mechanism   what a mechanism is: `Mechanism`, the one thing to extend, and its `Task`
    registry    all mechanisms, and which of them answers what

    laplace     sums and extremes; a mean of a public number of cases
    two_bin     means, shares, and ratios of a part to its whole
    hexagon     ratios of any two sums
    joint       means, shares and sums of several PPIs from one draw
    hull        its noise: law, proof and sampler
    histogram   distributions, and medians and percentiles read off them
    interval    extremes and quantiles by rank, also within loose bounds; means and sums by distance
    clip        means and sums cut at a private clipping bound
    threshold   by how many cases a target is met or missed; values that agree with that decision
    sampled     any formula, over buckets of cases
    combined    releases on record, added up or compared: longer periods, sums from means

    noise       exact discrete Laplace draws; the only source of randomness
    laws        exact output distributions, the privacy loss between them, and tails of their noise
    grids       public lattices and bins: values become integers, noisy counts are read
    beyond      cases that bounds cut: how many there are, how much they may hide
    prediction  what is predicted of a release: error laws, reference scenarios

Nothing here sees a log: a mechanism gets one number per case and declared bounds.
"""

from pappi.mechanisms.beyond import FAR_WIDTHS, BeyondBounds, Clipped, hidden_by_bounds
from pappi.mechanisms.clip import PrivateClippingBound
from pappi.mechanisms.combined import (
    Combined,
    Part,
    Uncertain,
    added,
    combined_mean,
    combined_sum,
    difference,
    difference_of_sums,
    levels_together,
    ratio,
    with_number,
)
from pappi.mechanisms.grids import (
    FINEST,
    FOR_EVEN_VALUES,
    LOOSE_FILL,
    MOST_BINS,
    RANGE_STEPS,
    USUALLY,
    Bins,
    GeometricGrid,
    Lattice,
    NoisyBins,
    clamp,
)
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.histogram import (
    NoisyHistogram,
    ReadOffBins,
    binned_share,
    combined_histogram,
    drawn_histogram,
)
from pappi.mechanisms.interval import (
    RANK_TARGET,
    IntervalExtreme,
    IntervalQuantile,
    LooseMinimum,
    LooseQuantile,
    PointDrawn,
    RankedMaximum,
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
from pappi.mechanisms.laws import (
    DiscreteLaplaceLaw,
    JointLaw,
    Law,
    Loss,
    Outcome,
    PointLaw,
    StepLaw,
    clamped_error,
    dot,
    laplace_deviation,
    laplace_half_width,
    laplace_tail,
)
from pappi.mechanisms.mechanism import (
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
    atoms_beyond,
    laplace_beyond,
)
from pappi.mechanisms.registry import (
    FUNCTIONS,
    current_name,
    mechanism_for,
    mechanism_names,
    mechanisms_of,
    name_with,
    names_for,
    on_request,
    registered,
    understood_names,
)
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.threshold import (
    PER_CASE,
    AnchoredMean,
    MeanMargin,
    NoisyMargin,
    RatioMargin,
    TwoStage,
    decision_epsilon,
)
from pappi.mechanisms.two_bin import TwoBin, TwoBinRatio, drawn_in_shares
