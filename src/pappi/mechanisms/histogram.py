"""The histogram: how many cases lie in each of some public bins, all for one ε.

Every case lies in one bin, so one case more or less moves one count by 1. One case in the place of
another moves two counts by 1 each, whether it changes its value, loses it, or leaves for another
group. Noise of scale 1/ε on every count (2/ε under *replace*) therefore has a loss of ε at most,
however many bins there are: the hull of what one case can do is the cross-polytope, whose K-norm
noise is just that.

**Bins.** (e₀, e₁], (e₁, e₂], …, by public facts alone: limits of the analyst's own, or else 16 to
64 of them, and for a quantile up to 512: as many as the planned number of cases and ε can tell
apart. Durations get geometric bins, eight octaves of them down from the high bound; numbers get
even ones, unless their low bound lies above zero and far below the high one. Few whole numbers have
a bin each. A number of bins is a power of two, so that coarser bins are made of finer ones.

**Flat, not a tree.** A median is read off Σ± y/2 over all k counts: a variance of k/2ε². A binary
tree splits ε between its levels: l = log₂ k of them, up to as many nodes with 2l²/ε² each, which is
250/ε² at k = 32 beside 16/ε². Two levels of √k nodes have about 22/ε². Up to 64 bins flat is best;
of more, two levels would have less noise, but there are as many only where noise is far below the
number of cases. And counts of fine bins add up to those of coarse ones, whoever asked for either.

**Medians and percentiles** are read off the counts (`grids`), and so is all that is told of a
distribution: one draw answers them all.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.combined import DERIVED, CombinedMean, Part, combined_mean
from pappi.mechanisms.grids import (
    MOST_BINS,
    Bins,
    Noise,
    NoiseTail,
    NoisyBins,
    Weighted,
    deviation_of,
    noise_at,
    noise_of,
    noise_reach,
    noise_tail,
    usual_bins,
)
from pappi.mechanisms.hull import ScoreLaw
from pappi.mechanisms.laws import (
    Law,
    Loss,
    Outcome,
    clamped_error,
    laplace_deviation,
    laplace_probability,
    significance,
)
from pappi.mechanisms.mechanism import (
    ALL_BUT_SURE,
    DISTRIBUTION,
    QUANTILE,
    Estimate,
    Mechanism,
    Replaced,
    Task,
    Values,
    counted,
)
from pappi.mechanisms.noise import RandBelow, discrete_laplace
from pappi.mechanisms.prediction import (
    LIE_LOW,
    MOSTLY_LOW,
    PLACES,
    Chances,
    ErrorLaw,
    Floats,
    Leaning,
    Scenario,
    Trial,
    TrialIntervals,
)
from pappi.mechanisms.two_bin import LaplacePair
from pappi.values import CONFIDENCE, UNIT_INTERVAL, Adjacency, Bounds

_MEDIAN = Fraction(1, 2)
_FEW_BINS, _HALVINGS = 16, 6
_TELLING = 0.75
"""An interval is worth having if it is narrower than this share of the range."""


@dataclass(frozen=True, slots=True)
class HistogramLaw(Law):
    """Counts, each with discrete Laplace noise of one scale: the weight falls with Σ|zᵢ|."""

    counts: Outcome
    scale: Fraction

    @property
    def size(self) -> int:
        return len(self.counts)

    def draw(self, randbelow: RandBelow) -> Outcome:
        return tuple(count + discrete_laplace(self.scale, randbelow) for count in self.counts)

    def probability(self, outcome: Outcome) -> float:
        pairs = zip(outcome, self.counts, strict=True)
        return math.prod(laplace_probability(self.scale, noisy - count) for noisy, count in pairs)

    def log_ratio(self, other: Law) -> Loss:
        """The sum over the counts, of which each reaches its supremum by itself."""
        if not isinstance(other, HistogramLaw) or (other.size, other.scale) != (
            self.size,
            self.scale,
        ):
            return math.inf
        return self._apart(other.counts) / self.scale

    def fold(self, outcome: Outcome) -> Outcome:
        return (self._apart(outcome),)

    def folded(self) -> Law:
        """Σ|zᵢ|: 2^m·C(k, m)·C(s − 1, m − 1) points of k counts have the sum s, m not at 0."""
        corners = (2**m * math.comb(self.size, m) for m in range(self.size + 1))
        return ScoreLaw(tuple(corners), 1 / self.scale)

    def _apart(self, others: Outcome) -> int:
        return sum(abs(a - b) for a, b in zip(others, self.counts, strict=True))


@dataclass(frozen=True, slots=True)
class ReadOffBins(Mechanism):
    """A quantile that is read off noisy counts of bins; of a distribution, its median."""

    level: Fraction
    bins: Bins

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """On the count of each bin."""

    @abstractmethod
    def noisy_bins(self, noisy: Outcome) -> NoisyBins: ...

    def estimate(self, noisy: Outcome) -> Estimate:
        released = self.noisy_bins(noisy)
        value, _, _ = released.quantile(self.level)
        return counted(value, float(released.total), released.total_reach)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        _, low, high = self.noisy_bins(noisy).quantile(self.level, confidence)
        return low, high

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        return self.noisy_bins(noisy).quantile_at_most(self.level, limit)

    # --- predicted, if values are spread evenly between the bounds and the answer

    def interval_tells(self, cases: float) -> bool:
        return self.predicted_width(cases) < _TELLING

    def predicted_width(self, cases: float) -> float:
        """Of the 95 % interval, as a share of the range, if values are spread evenly."""
        seldom, level = significance(CONFIDENCE) / 2, float(self.level)
        off = noise_reach(self._weighted(self._edge(None)), seldom) / max(cases, 1.0)
        return min(off, level) + min(off, 1 - level) + 1 / self.bins.number

    def predicted_error(self, cases: float, at: float | None) -> float:
        (low, high), centre = self.ends, self.centre(at)
        below, above = self._per_case(cases, centre)
        noise = deviation_of(self._weighted(self._edge(at)))
        squares = (
            clamped_error(noise * below, centre - low, 0.0) ** 2
            + clamped_error(noise * above, 0.0, high - centre) ** 2
        )
        return math.sqrt(squares)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002
        """Of values that lie mostly low, if the answer may lie anywhere in its bin.

        So it says how wide an interval will be, which covers whole bins.
        """
        (low, high), level, many = self.ends, float(self.level), max(cases, 1)
        place, width = float(MOSTLY_LOW.quantiles(np.array(level))), high - low
        number = self.bins.around(low + place * width)[0]
        tail, (start, end) = self._noise(number), self.bins.cells(integral=self.integral)[number]

        def beyond(t: float) -> float:
            away = max(math.nextafter(t, math.inf) - (end - start) / 2, 0.0) / width
            below, upto = MOSTLY_LOW.below(np.array((place - away, place + away)))
            down = tail(many * (level - below)) if away < place else 0.0
            return min(down + (tail(many * (upto - level)) if place + away < 1 else 0.0), 1.0)

        return ErrorLaw(beyond, LIE_LOW)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals | None:  # noqa: ARG002
        (low, high), level, number = self.ends, float(self.level), self.bins.number
        places = (np.array([float(edge) for edge in self.bins.edges]) - low) / (high - low)
        lie = [Leaning.through((value - low) / (high - low), level) for value in trial.values]
        counts = trial.cases * np.array([leaning.below(places[1:]) for leaning in lie])
        noise_upto, reach = np.cumsum(self._trial_noise.T, axis=1), self._trial_reach
        least, most = noise_upto.min(axis=0), noise_upto.max(axis=0)
        first, last, totals = [], [], []
        for upto in counts:
            # Far from the quantile every release excludes an edge, as rounding keeps the order.
            below = upto[:-1] + most[:-1] - level * (upto[-1] + least[-1]) <= -reach
            above = upto[:-1] + least[:-1] - level * (upto[-1] + most[-1]) >= reach
            start, end = _leading(below), number - 1 - _leading(above[::-1])
            all_cases = upto[-1] + noise_upto[:, -1:]
            surplus = upto[start:end] + noise_upto[:, start:end] - level * all_cases
            last.append(end - _leading((surplus >= reach[start:end])[:, ::-1]))
            first.append(np.minimum(start + _leading(surplus <= -reach[start:end]), last[-1]))
            totals.append(all_cases[:, 0])
        cells = np.array(self.bins.cells(integral=self.integral))
        none = NoisyBins(self.bins, (0,) * number, self.noise)
        empty = np.array(totals) <= none.total_reach(ALL_BUT_SURE)
        return TrialIntervals(cells[np.array(first), 0], cells[np.array(last), 1], empty)

    @property
    def _trial_noise(self) -> Floats:
        """On the count of each bin; of many draws added up, as spread as these."""
        squares = [
            (weight * float(scale)) ** 2 * np.array(draws) for weight, scale, draws in self.noise
        ]
        _, scale, _ = self.noise[0]
        spread = np.sqrt(sum(squares)) / float(scale)
        return spread[:, None] * Chances(0).whole_laplaces(scale, self.bins.number)

    @property
    def _trial_reach(self) -> Floats:
        """Of the noise at each edge between two bins; of many, straight between some."""
        chance, number = significance(CONFIDENCE) / 2, self.bins.number
        edges = range(1, number, max(1, number // MOST_BINS))
        reach = [noise_reach(self._weighted(edge), chance) for edge in edges]
        return np.asarray(np.interp(np.arange(1, number), edges, reach))

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        """Where a share of cases lies that differs from the level by the noise."""
        tail, level = self._noise(self._edge(None)), float(self.level)
        grid = np.linspace(0, 6 * tail.spread, 129)
        seldom = np.array([tail(x) for x in grid])
        uniform = chances.uniform()
        away = np.interp(-np.minimum(uniform, 1 - uniform), -seldom, grid)
        shares = level + np.where(uniform < 0.5, -away, away) / max(scenario.cases, 1)
        places = np.interp(shares, scenario.fill.below, PLACES)
        return float(self.bounds.low) + float(self.bounds.width) * places

    def _per_case(self, cases: float, centre: float) -> tuple[float, float]:
        """How far the answer moves by one case, downwards and upwards."""
        (low, high), level, many = self.ends, float(self.level), max(cases, 1.0)
        tiny = (high - low) * 1e-9
        return (
            max(centre - low, tiny) / (many * level),
            max(high - centre, tiny) / (many * (1 - level)),
        )

    def _noise(self, edge: int) -> NoiseTail:
        """On how many cases lie below an edge, beyond the answer's share of all."""
        return noise_tail(self._weighted(edge))

    def _weighted(self, edge: int) -> Weighted:
        level = float(self.level)
        return noise_at(edge, 1 - level, level, self.noise)

    def _edge(self, at: float | None) -> int:
        """The one nearest to the answer; without one, where an even share of bins is below."""
        if at is None:
            return round(float(self.level) * self.bins.number)
        return self.bins.around(self.centre(at))[0]


@dataclass(frozen=True, slots=True)
class NoisyHistogram(ReadOffBins):
    """The counts of bins; and read off them, a quantile: of a distribution, its median."""

    name: ClassVar[str] = "histogram"
    functions: ClassVar[tuple[str, ...]] = (QUANTILE, DISTRIBUTION)
    loose_functions: ClassVar[tuple[str, ...] | None] = ()
    replaced: ClassVar[Replaced] = Replaced.GROUP
    drawn_for: ClassVar[str] = DISTRIBUTION
    newer: ClassVar[bool] = True

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.limits:
            bins = Bins.at(task.bounds, task.limits)
        else:
            signal = None if task.cases is None else task.cases * task.epsilon
            if signal is not None and task.adjacency is Adjacency.REPLACE:
                signal /= 2
            bins = usual_bins(
                task.bounds,
                integral=task.integral,
                skewed=task.skewed,
                signal=None if signal is None else float(signal),
                below=task.bins_below,
                most=MOST_BINS if task.level is None else task.most_bins,
            )
        return cls(*task.common, task.level or _MEDIAN, bins)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return (("bins", self.bins.written),)

    @property
    def sensitivity(self) -> int:
        """The most by which one case can move the counts, in total."""
        return 2 if self.adjacency is Adjacency.REPLACE else 1

    @property
    def scale(self) -> Fraction:
        return self.sensitivity / self.epsilon

    def law(self, values: Values) -> HistogramLaw:
        return HistogramLaw(self.bins.count(values), self.scale)

    @property
    def noise(self) -> Noise:
        return ((1.0, self.scale, (1,) * self.bins.number),)

    def noisy_bins(self, noisy: Outcome) -> NoisyBins:
        return NoisyBins(self.bins, noisy, self.noise, self.integral)

    @property
    def pair_noise(self) -> CountsPair:
        """Of all cases: by how exact they are, several histograms are weighed."""
        return CountsPair(self.scale, self.bins.number, 0)


def _leading(truths: NDArray[np.bool_]) -> NDArray[np.intp]:
    """How many of each row are true before the first that is not."""
    size = truths.shape[-1]
    if not size:
        return np.zeros(truths.shape[:-1], np.intp)
    return np.asarray(np.where(truths.all(axis=-1), size, truths.argmin(axis=-1)))


# --- shares of cases -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountsPair:
    """Noise on the counts of so many bins inside, and so many outside: v is what lies inside less
    what lies outside, t all of it."""

    of_bin: Fraction
    inside: int
    outside: int

    @property
    def on_lattice(self) -> bool:
        return True

    def spectrum(self, of_v: float, of_t: float, frequencies: Floats) -> Floats:
        bin_noise = LaplacePair(self.of_bin, 1.0, both=False)
        of_inside = bin_noise.spectrum(of_t + of_v, 0.0, frequencies) ** self.inside
        of_outside = bin_noise.spectrum(of_t - of_v, 0.0, frequencies) ** self.outside
        return np.asarray(of_inside * of_outside)

    def variance(self, of_v: float, of_t: float) -> float:
        squares = self.inside * (of_t + of_v) ** 2 + self.outside * (of_t - of_v) ** 2
        return laplace_deviation(self.of_bin) ** 2 * squares

    def scale(self, of_v: float, of_t: float) -> float:
        inside = abs(of_t + of_v) if self.inside else 0.0
        outside = abs(of_t - of_v) if self.outside else 0.0
        return float(self.of_bin) * max(inside, outside)


@dataclass(frozen=True, slots=True)
class BinnedShare(Mechanism):
    """The share of cases that lie in some bins of a histogram; one draw answers many such shares.

    It is read as the mean of truth values is (`combined`): v and t are sums of counts.
    """

    name: ClassVar[str] = NoisyHistogram.name
    replaced: ClassVar[Replaced] = Replaced.GROUP

    bins: Bins
    inside: tuple[bool, ...]

    @property
    def answers_for(self) -> int:
        """A share for every limit between two bins."""
        return len(self.bins.limits)

    @property
    def _drawn(self) -> NoisyHistogram:
        common = self.bins.bounds, self.epsilon, self.adjacency, False
        return NoisyHistogram(*common, _MEDIAN, self.bins)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return self._drawn.settings

    def law(self, values: Values) -> HistogramLaw:
        return self._drawn.law(values)

    @property
    def pair_noise(self) -> CountsPair:
        inside = sum(self.inside)
        return CountsPair(self._drawn.scale, inside, self.bins.number - inside)

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        inside = sum(n for n, own in zip(noisy, self.inside, strict=True) if own)
        return float(2 * inside - sum(noisy)), float(sum(noisy))

    @property
    def as_sum(self) -> tuple[float, float]:
        return 0.5, 0.5

    @property
    def _share(self) -> CombinedMean:
        return combined_mean(self.bounds, [Part(self, self.bins.number)])

    def estimate(self, noisy: Outcome) -> Estimate:
        return self._share.estimate(noisy)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        return self._share.interval(noisy, confidence)

    def interval_for_all(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Together with the shares up to all limits, whatever depends on what."""
        return self.interval(noisy, 1 - (1 - confidence) / self.answers_for)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        return self._share.chance_at_most(noisy, limit)

    def predicted_error(self, cases: float, at: float | None) -> float:
        return self._share.predicted_error(cases, at)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:
        return self._share.error_law(cases, at)

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:
        return self._share.trial_intervals(trial, limit)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        return self._share.outcomes(scenario, chances)


def drawn_histogram(
    bins: Bins, epsilon: Fraction, adjacency: Adjacency, *, integral: bool, level: Fraction
) -> ReadOffBins:
    """A histogram of these bins as it is drawn; a quantile is read off it."""
    return NoisyHistogram(bins.bounds, epsilon, adjacency, integral, level, bins)


def binned_share(
    bins: Bins, inside: tuple[bool, ...], epsilon: Fraction, adjacency: Adjacency
) -> Mechanism:
    """The share of cases in some bins of a histogram, read off the same draw."""
    common = UNIT_INTERVAL, epsilon, adjacency, True
    return BinnedShare(*common, bins, inside)


# --- histograms on record, added up ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CombinedHistogram(ReadOffBins):
    """Histograms on record, added up in bins that each of them has, or has finer; never drawn."""

    name: ClassVar[str] = DERIVED
    is_drawn: ClassVar[bool] = False

    parts: tuple[Part, ...]

    def law(self, values: Values) -> Law:
        raise NotImplementedError("what is derived is never drawn")

    def noisy_bins(self, noisy: Outcome) -> NoisyBins:
        counted, start = [], 0
        for part in self.parts:
            own = part.mechanism.noisy_bins(noisy[start : start + part.size])
            if own is None:
                raise ValueError("only histograms are added up in bins")
            counted.append(own.merged(self.bins).weighted(float(part.weight)))
            start += part.size
        return replace(sum(counted[1:], counted[0]), integral=self.integral)

    @property
    def noise(self) -> Noise:
        return self.noisy_bins((0,) * sum(part.size for part in self.parts)).noise

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:
        """Few bins leave open where in one of them the quantile lies."""
        law = super(CombinedHistogram, self).error_law(cases, at)
        if self.bins.number >= _FEW_BINS or self.bins.written == "whole":
            return law
        half = max(high - low for low, high in self.bins.cells(integral=self.integral)) / 2
        return replace(law, beyond=lambda t: law.beyond(t - half) if t > half else 1.0)


@dataclass(frozen=True, slots=True)
class CombinedBinsMean(CombinedHistogram):
    """The mean, wherever in their bins the cases lie: how far off it may be, no law says."""

    predicts_in_formulas: ClassVar[bool] = False

    def trial_intervals(self, trial: Trial, limit: float) -> None:  # noqa: ARG002
        return None

    def estimate(self, noisy: Outcome) -> Estimate:
        released = self.noisy_bins(noisy)
        return counted(released.mean()[0], float(released.total), released.total_reach)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        _, low, high = self.noisy_bins(noisy).mean(confidence)
        return low, high

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """By the surest interval that lies on one side of the limit."""
        sure, unsure, certainty = 0.0, 1.0, 0.5
        for _ in range(_HALVINGS):
            confidence = (sure + unsure) / 2
            low, high = self.interval(noisy, confidence)
            if low <= limit < high:
                unsure = confidence
            else:
                sure, certainty = confidence, float(high <= limit)
        return 0.5 + (certainty - 0.5) * sure

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - as if spread evenly
        cells, width = self.bins.cells(integral=self.integral), float(self.bounds.width)
        off = deviation_of(noise_of(self.noise, (0.5,) * self.bins.number)) / max(cases, 1.0)
        binning = max(high - low for low, high in cells) / 2
        return min(width * off + binning, width)

    def error_law(self, cases: int, at: float | None) -> None:  # type: ignore[override]  # noqa: ARG002
        return None


def combined_histogram(
    bounds: Bounds, parts: Sequence[Part], bins: Bins, level: Fraction | None, *, integral: bool
) -> CombinedHistogram:
    """A quantile of histograms that are added up; without a level, their mean."""
    epsilon = max(part.mechanism.epsilon for part in parts)
    common = bounds, epsilon, parts[0].mechanism.adjacency, integral
    if level is None:
        return CombinedBinsMean(*common, _MEDIAN, bins, tuple(parts))
    return CombinedHistogram(*common, level, bins, tuple(parts))
