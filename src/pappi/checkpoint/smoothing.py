"""Smoothing a released series: from a series to a series, and from nothing else.

No plan, no ledger and no log enters, so no case can. The same series always gives the same
result. Values, intervals and verdicts of the release stay as they are; what smoothing believes
stands beside them, in `Answer.smoothed`.

**Intervals** hold for all periods together, and are narrow for two reasons at once: what the
model believes of all periods (`mechanisms.smoothing`), and what each release promises by itself,
whatever the model. The second has true coverage (`mechanisms.alone`), so where periods speak for
themselves, or where the model is too cautious, the two together miss about as often as they say.
Both may miss, so each is asked for a little more than what they are to hold with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pappi.checkpoint.answers import CONFIDENCE
from pappi.checkpoint.evidence import DrawnByRank, Evidence
from pappi.mechanisms import evidence as inner
from pappi.mechanisms.alone import by_themselves
from pappi.mechanisms.evidence import Bins, Point, Rank
from pappi.mechanisms.smoothing import Posterior, smooth, usual_size
from pappi.values.answers import (
    Answer,
    Band,
    Interval,
    NoisyBins,
    NoisyValue,
    Series,
    ShownTarget,
    Smoothed,
    Verdict,
)

_BY_THEMSELVES = 0.96
"""How often all intervals of a series hold by its releases alone: see `benchmarks/smoothing.py`."""

_DIGITS = 9
_SAME = 1e-9  # of a range that was converted between units
_REACH = 8.0  # scales beyond the outermost released value that a range without limits ends at


def smoothed(series: Series, whole: Series | None = None) -> Series:
    """The series with what its periods say about each other, group by group.

    `whole` is the same PPI, released over the whole time besides: see `two_levels`.
    """
    pooled = {} if whole is None else {each.group: each.evidence for each in whole.answers}
    answers = list(series.answers)
    for group in dict.fromkeys(answer.group for answer in answers):
        known = [i for i, a in enumerate(answers) if a.group == group and a.evidence]
        if len(known) < 2 or not _alike([answers[i].evidence for i in known]):
            continue
        evidence = [e for i in known if (e := answers[i].evidence) is not None]
        found = believed(evidence, pooled.get(group), series.target_of(group))
        for i, one in zip(known, found, strict=True):
            answers[i] = replace(answers[i], smoothed=one)
    return replace(series, answers=tuple(answers), smoothing=_note(answers))


def _alike(evidence: Sequence[Evidence | None]) -> bool:
    """Whether all are about the same range: ceilings that each period chose are not."""
    ranges = np.array([(e.low, e.high) for e in evidence if isinstance(e, NoisyBins)])
    return len(ranges) == 0 or bool(np.allclose(ranges, ranges[0], rtol=_SAME, atol=0))


def believed(
    evidence: Sequence[Evidence], pooled: Evidence | None = None, target: ShownTarget | None = None
) -> list[Smoothed]:
    """What all releases of a series say about each of them, and that of the whole time, if any."""
    scale = _Scale.of(evidence)
    together = pooled is not None and _alike([*evidence, pooled])
    whole = scale.inner(pooled) if pooled is not None and together else None
    shares = [scale.inner(each) for each in evidence]
    posterior = _narrowed(smooth(shares, CONFIDENCE, whole), shares)
    return [_one(period, posterior, scale, target) for period in range(len(evidence))]


def _one(period: int, posterior: Posterior, scale: _Scale, target: ShownTarget | None) -> Smoothed:
    ends = scale.outer(posterior.low[period]), scale.outer(posterior.high[period])
    low, high = min(ends), max(ends)
    value = min(max(scale.outer(posterior.means[period]), low), high)
    interval = Interval(low, high, CONFIDENCE)
    if target is None:
        return Smoothed(value, interval, None, None)
    chance = _chance(period, posterior, scale, target)
    verdict = _verdict(target, low, high)
    return Smoothed(value, interval, verdict, chance, _bands(target, verdict, low, high))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Shares of a range, which smoothing thinks in, and values in the unit of the answers."""

    low: float
    high: float

    @classmethod
    def of(cls, evidence: Sequence[Evidence]) -> _Scale:
        """The public range; where it has no end, one beyond all that was released."""
        first = evidence[0]
        if isinstance(first, NoisyBins):
            return cls(first.low, first.high)
        values = [each for each in evidence if isinstance(each, NoisyValue)]
        lows = [v.at - _REACH * v.scale if v.low is None else v.low for v in values]
        highs = [v.at + _REACH * v.scale if v.high is None else v.high for v in values]
        low, high = min(lows), max(highs)
        return cls(low, high if low < high else low + values[0].scale)

    def inner(self, evidence: Evidence) -> inner.Evidence:
        if isinstance(evidence, NoisyBins):
            return Bins(evidence.first, evidence.second)
        at, scale = self.share(evidence.at), evidence.scale / (self.high - self.low)
        if isinstance(evidence, DrawnByRank):
            return Rank(at, scale, evidence.smallest)
        lowest = -math.inf if evidence.low is None else self.share(evidence.low)
        highest = math.inf if evidence.high is None else self.share(evidence.high)
        return Point(at, scale, lowest, highest)

    def outer(self, share: float) -> float:
        """Digits that depend on the order of a sum are left off: same release, same result."""
        return self.low + (self.high - self.low) * round(float(share), _DIGITS)

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


# --- what releases promise by themselves ------------------------------------------------------


def _narrowed(posterior: Posterior, evidence: Sequence[inner.Evidence]) -> Posterior:
    """The model's intervals, within those of the releases alone; where they disagree, its own."""
    missed = 1 - _BY_THEMSELVES ** (1 / len(evidence))
    least, most = by_themselves(evidence, missed, usual_size(evidence))
    low, high = np.maximum(posterior.low, least), np.minimum(posterior.high, most)
    agree = low <= high
    return replace(
        posterior,
        low=np.where(agree, low, posterior.low),
        high=np.where(agree, high, posterior.high),
    )


# --- targets ----------------------------------------------------------------------------------


def _chance(period: int, posterior: Posterior, scale: _Scale, target: ShownTarget) -> float:
    ends = (
        min(scale.low, scale.high) if target.low is None else target.low,
        max(scale.low, scale.high) if target.high is None else target.high,
    )
    low, high = sorted(map(scale.share, ends))
    return posterior.chance_between(period, low, high)


def _verdict(target: ShownTarget, low: float, high: float) -> Verdict:
    """An interval that only touches a limit decides nothing, whether that is included or not."""
    if _inside(target, low, high):
        return Verdict.MET
    apart = _above(target, low) or _below(target, high)
    return Verdict.MISSED if apart else Verdict.UNDECIDED


def _bands(target: ShownTarget, verdict: Verdict, low: float, high: float) -> tuple[Band, ...]:
    """The colours the interval touches; none without a tolerated range."""
    tolerated = target.tolerated
    if tolerated is None:
        return ()
    if verdict is Verdict.MET:
        return (Band.GREEN,)
    green = verdict is Verdict.UNDECIDED
    amber = not (_above(tolerated, low) or _below(tolerated, high))
    red = not _inside(tolerated, low, high)
    touched = {Band.GREEN: green, Band.AMBER: amber, Band.RED: red}
    return tuple(band for band, touches in touched.items() if touches)


def _inside(target: ShownTarget, low: float, high: float) -> bool:
    from_below = target.low is None or low > target.low
    return from_below and (target.high is None or high < target.high)


def _above(target: ShownTarget, low: float) -> bool:
    return target.high is not None and low > target.high


def _below(target: ShownTarget, high: float) -> bool:
    return target.low is not None and high < target.low


# --- words ------------------------------------------------------------------------------------


def _note(answers: Sequence[Answer]) -> str:
    done = sum(answer.smoothed is not None for answer in answers)
    if not done:
        return (
            "not smoothed: that takes two periods or more, and a mean, a share, a ratio of a part, "
            "a sum, a count, a minimum or a maximum by one mechanism"
        )
    left = "" if done == len(answers) else f" ({len(answers) - done} of {len(answers)} are raw)"
    return (
        f"≈ smoothed{left}: drawn towards the other periods, from the released values alone, on "
        f"the assumption that most periods are alike; the {100 * CONFIDENCE:.0f} % intervals hold "
        "for all periods together, and verdicts go by them"
    )
