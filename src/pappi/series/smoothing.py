"""Smoothing a released series: a function of the series, and of nothing else.

No plan, no ledger and no log enters, so no case can. The same series always gives the same
result. Values, intervals and verdicts of the release stay as they are; the smoothed ones are
beside them, in `Answer.smoothed`.

**Intervals** hold for all periods together. Each is the intersection of two: the model's, from all
periods (`posterior`), and the one that the release promises by itself, whatever the model
(`likelihood`). The second has true coverage, so where periods are informative, or where the
model is too cautious, the two together miss about as often as they say. Both may miss, so each
has a slightly higher confidence than the intersection promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pappi.series.likelihood import per_period_intervals, usual_size
from pappi.series.posterior import Posterior, posterior_of
from pappi.values import (
    CONFIDENCE,
    Answer,
    Interval,
    LaplaceLikelihood,
    Likelihood,
    Series,
    ShownTarget,
    Smoothed,
    TwoBinLikelihood,
    bands_between,
    judge,
)

_PER_PERIOD = 0.96
"""How often all per-period intervals of a series hold: see `benchmarks/smoothing.py`."""

_DIGITS = 9
_SAME = 1e-9  # relative difference between ranges that were converted between units
_REACH = 8.0  # scales beyond the outermost released value that a range without limits ends at
_WHOLE = "-whole"


def whole_id(ppi: str) -> str:
    """The id under which a PPI is released over the whole time, beside its series."""
    return ppi + _WHOLE


def smoothed_all(series: Sequence[Series]) -> tuple[Series, ...]:
    """Every series smoothed, with its whole-time value where that was also released.

    A derived whole-time value is not used: it may come from the same periods.
    """
    by_id = {item.ppi: item for item in series if not any(a.derived_from for a in item.answers)}
    whole_ids = {whole_id(item.ppi) for item in series}
    return tuple(
        item if item.ppi in whole_ids else smoothed(item, by_id.get(whole_id(item.ppi)))
        for item in series
    )


def smoothed(series: Series, whole: Series | None = None) -> Series:
    """The series smoothed, group by group.

    `whole` is the same PPI, also released over the whole time.
    """
    pooled = {} if whole is None else {answer.group: answer.likelihood for answer in whole.answers}
    answers = list(series.answers)
    for group in dict.fromkeys(answer.group for answer in answers):
        by_place = {
            place: answer.likelihood
            for place, answer in enumerate(answers)
            if answer.group == group and answer.likelihood is not None
        }
        likelihoods = list(by_place.values())
        if len(by_place) < 2 or not _of_one_range(likelihoods):
            continue
        beliefs = smoothed_values(likelihoods, pooled.get(group), series.target_of(group))
        for place, belief in zip(by_place, beliefs, strict=True):
            judged = _of_cases_as_they_are(belief, answers[place], series.target_of(group))
            answers[place] = replace(answers[place], smoothed=judged)
    return replace(series, answers=tuple(answers), smoothing=_note(answers))


def _of_cases_as_they_are(belief: Smoothed, answer: Answer, target: ShownTarget | None) -> Smoothed:
    """Judged as a release is: a verdict that clipping could change is undecided."""
    low, high = belief.interval.low, belief.interval.high
    is_cut = answer.beyond is not None or any(answer.hidden)
    if not is_cut or target is None or low is None or high is None:
        return belief
    ends, tolerated = answer.as_they_are(low, high), target.tolerated
    verdict = judge(target, *ends)
    bands = () if tolerated is None else bands_between(target, tolerated, *ends)
    turned = verdict is not belief.verdict
    return replace(belief, verdict=verdict, bands=bands, clipping_decides=turned)


def smoothed_values(
    likelihoods: Sequence[Likelihood],
    whole: Likelihood | None = None,
    target: ShownTarget | None = None,
) -> list[Smoothed]:
    """One smoothed value per release, from all of them and that of the whole time, if any."""
    low, high = _range_of(likelihoods)
    shares = [likelihood.rescaled(low, high - low) for likelihood in likelihoods]
    together = whole is not None and _of_one_range([*likelihoods, whole])
    whole_share = whole.rescaled(low, high - low) if whole is not None and together else None
    posterior = _narrowed(posterior_of(shares, CONFIDENCE, whole_share), shares)
    periods = _Periods(posterior, low, high)
    return [periods.smoothed(period, target) for period in range(len(likelihoods))]


def _of_one_range(likelihoods: Sequence[Likelihood]) -> bool:
    """Whether all have the same range: not if each period chose its own clipping bound."""
    bins = [pair for pair in likelihoods if isinstance(pair, TwoBinLikelihood)]
    ranges = np.array([(pair.low, pair.high) for pair in bins])
    return len(ranges) == 0 or bool(np.allclose(ranges, ranges[0], rtol=_SAME, atol=0))


def _range_of(likelihoods: Sequence[Likelihood]) -> tuple[float, float]:
    """The public range; where it has no end, one beyond all that was released."""
    first = likelihoods[0]
    if isinstance(first, TwoBinLikelihood):
        return first.low, first.high
    ends = [_ends_of(point) for point in likelihoods if not isinstance(point, TwoBinLikelihood)]
    low, high = min(end for end, _ in ends), max(end for _, end in ends)
    step = first.scale if isinstance(first, LaplaceLikelihood) else first.step
    return low, high if low < high else low + step


def _ends_of(likelihood: Likelihood) -> tuple[float, float]:
    if not isinstance(likelihood, LaplaceLikelihood):
        return likelihood.low, likelihood.high
    reach = _REACH * likelihood.scale
    low = likelihood.at - reach if likelihood.low is None else likelihood.low
    return low, likelihood.at + reach if likelihood.high is None else likelihood.high


def _narrowed(posterior: Posterior, shares: Sequence[Likelihood]) -> Posterior:
    """The model's intervals, within the per-period ones; where they disagree, its own."""
    missed = 1 - _PER_PERIOD ** (1 / len(shares))
    least, most = per_period_intervals(shares, missed, usual_size(shares))
    low, high = np.maximum(posterior.low, least), np.minimum(posterior.high, most)
    agree = low <= high
    return replace(
        posterior,
        low=np.where(agree, low, posterior.low),
        high=np.where(agree, high, posterior.high),
    )


@dataclass(frozen=True, slots=True)
class _Periods:
    """A posterior over shares of a range, and the range, in the unit of the answers."""

    posterior: Posterior
    low: float
    high: float

    def smoothed(self, period: int, target: ShownTarget | None) -> Smoothed:
        posterior = self.posterior
        ends = self._value(posterior.low[period]), self._value(posterior.high[period])
        low, high = min(ends), max(ends)
        value = min(max(self._value(posterior.means[period]), low), high)
        interval = Interval(low, high, CONFIDENCE)
        if target is None:
            return Smoothed(value, interval, None, None)
        tolerated = target.tolerated
        return Smoothed(
            value,
            interval,
            judge(target, low, high),
            self._probability_met(period, target),
            () if tolerated is None else bands_between(target, tolerated, low, high),
        )

    def _probability_met(self, period: int, target: ShownTarget) -> float:
        ends = (
            min(self.low, self.high) if target.low is None else target.low,
            max(self.low, self.high) if target.high is None else target.high,
        )
        low, high = sorted((end - self.low) / (self.high - self.low) for end in ends)
        return self.posterior.probability_between(period, low, high)

    def _value(self, share: float) -> float:
        """Rounded, so that digits which depend on the order of a sum do not show."""
        return self.low + (self.high - self.low) * round(float(share), _DIGITS)


def _note(answers: Sequence[Answer]) -> str:
    done = sum(answer.smoothed is not None for answer in answers)
    if not done:
        return (
            "not smoothed: smoothing needs at least two periods, and a mean, share, ratio of a "
            "part, sum, count, minimum or maximum released by one mechanism"
        )
    left = "" if done == len(answers) else f" ({len(answers) - done} of {len(answers)} are raw)"
    return (
        f"≈ smoothed{left}: pulled towards the other periods, using only released values and "
        f"assuming that most periods are alike; the {100 * CONFIDENCE:.0f} % intervals hold for "
        "all periods together, and the verdicts use them"
    )
