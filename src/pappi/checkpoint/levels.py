"""Two levels of one PPI: its series, and the whole time besides, for one ε together.

The whole time has many more cases than any period, so a part of ε tells there what all periods
have in common, and smoothing draws them towards that. Each block of the log is charged for both
levels, and the two parts of ε add up to the ε that was asked for: nothing is spent twice.

Both are ordinary PPIs of one request, charged together or not at all.

**Bounds from the whole time.** Where the bounds of a mean are loose or private, the whole time is
released first, in a request of its own: a quarter of its part of ε finds a ceiling there, among
all cases (`clip`). What was released may be used freely, so that ceiling then bounds the periods,
which alone would have too few cases to find one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from pappi.checkpoint.evidence import Evidence
from pappi.checkpoint.plans import DEFAULT_EPSILON
from pappi.checkpoint.smoothing import smoothed
from pappi.errors import UsageError
from pappi.planning.ratios import is_part_of_whole
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Catalogue,
    Ppi,
    ReleaseChoice,
)
from pappi.values.answers import Series
from pappi.values.bounds import Bounds
from pappi.values.epsilon import Epsilon

Release = Callable[[Catalogue], tuple[Series, ...]]
"""A request to the checkpoint, which charges for it."""

_SUFFIX = "-whole"
_LEAST, _MOST = Fraction(1, 100), Fraction(99, 100)


def two_levels(catalogue: Catalogue, epsilon: Epsilon | None, share: Fraction) -> Catalogue:
    """The catalogue in which series of means and shares have their whole time beside them.

    Each of those PPIs spends the share of its ε on the whole time; all others stay as they are.
    """
    _refuse(catalogue, share)
    ppis = (level for ppi in catalogue.ppis for level in _levels(ppi, epsilon, share))
    return replace(catalogue, ppis=tuple(ppis))


def released_in_levels(
    release: Release, catalogue: Catalogue, epsilon: Epsilon | None, share: Fraction
) -> tuple[Series, ...]:
    """The same, released; means with loose or private bounds get theirs from the whole time.

    Those have one request of their own, before that for all others.
    """
    _refuse(catalogue, share)
    bounded = [ppi for ppi in catalogue.ppis if _needs_ceiling(ppi)]
    wholes = [_whole(ppi, _asked(ppi, epsilon), share) for ppi in bounded]
    found = release(replace(catalogue, ppis=tuple(wholes))) if wholes else ()
    limits = {ppi.id: one.answers[0].evidence for ppi, one in zip(bounded, found, strict=True)}
    ppis: list[Ppi] = []
    for ppi in catalogue.ppis:
        if ppi.id in limits:
            ppis.append(below_ceiling(_below(ppi, _asked(ppi, epsilon), share), limits[ppi.id]))
        else:
            ppis.extend(_levels(ppi, epsilon, share))
    return (*release(replace(catalogue, ppis=tuple(ppis))), *found)


def below_ceiling(ppi: Ppi, whole: Evidence | None) -> Ppi:
    """The mean with the bounds that its whole time was released within.

    A target beyond them would be met by definition, so it is left out.
    """
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure) or whole is None:
        return ppi
    if whole.low is None or whole.high is None:
        return ppi
    bounds = Bounds(*(ppi.unit.read(Fraction(end)) for end in (whole.low, whole.high)))
    bounded = replace(ppi, measure=replace(measure, bounds=bounds, bounding=Bounding.DECLARED))
    aim = ppi.target
    ends = () if aim is None else [end for end in (aim.low, aim.high) if end is not None]
    inside = all(bounds.low < end < bounds.high for end in ends)
    return bounded if inside else replace(bounded, target=None, tolerated=None, group_targets=())


def _refuse(catalogue: Catalogue, share: Fraction) -> None:
    if not _LEAST <= share <= _MOST:
        raise UsageError(
            "the share of ε for the whole time must lie between 0.01 and 0.99", hint="e.g. 0.5"
        )
    taken = {ppi.id for ppi in catalogue.ppis}
    for ppi in catalogue.ppis:
        if whole_id(ppi.id) in taken and (has_levels(ppi) or _needs_ceiling(ppi)):
            raise UsageError(
                f"the id '{whole_id(ppi.id)}' is needed for the whole time of '{ppi.id}'",
                hint="rename the PPI that has it",
            )


def smoothed_all(series: Sequence[Series]) -> tuple[Series, ...]:
    """Every series smoothed, with its whole time where that was released besides."""
    found = {one.ppi: one for one in series}
    return tuple(
        one if _is_whole(one, found) else smoothed(one, found.get(whole_id(one.ppi)))
        for one in series
    )


def whole_id(ppi: str) -> str:
    return ppi + _SUFFIX


def _is_whole(series: Series, found: dict[str, Series]) -> bool:
    return series.ppi.endswith(_SUFFIX) and series.ppi.removesuffix(_SUFFIX) in found


def _levels(ppi: Ppi, epsilon: Epsilon | None, share: Fraction) -> Iterator[Ppi]:
    asked = _asked(ppi, epsilon)
    if not has_levels(ppi):
        yield replace(ppi, epsilon=asked)
        return
    yield _below(ppi, asked, share)
    yield _whole(ppi, asked, share)


def _asked(ppi: Ppi, epsilon: Epsilon | None) -> Epsilon:
    return epsilon or ppi.epsilon or DEFAULT_EPSILON


def _above(asked: Epsilon, share: Fraction) -> Epsilon:
    return Epsilon(int(asked.nano * share))


def _below(ppi: Ppi, asked: Epsilon, share: Fraction) -> Ppi:
    return replace(ppi, epsilon=asked - _above(asked, share))


def _whole(ppi: Ppi, asked: Epsilon, share: Fraction) -> Ppi:
    return replace(
        ppi,
        id=whole_id(ppi.id),
        name=f"{ppi.name}, over the whole time",
        scope=replace(ppi.scope, grid=None),
        epsilon=_above(asked, share),
    )


def has_levels(ppi: Ppi) -> bool:
    """Whether the PPI is a series of weighted means, of which the whole time is one, too."""
    if not _is_plain_series(ppi):
        return False
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        return is_part_of_whole(measure)
    mean = measure.function in (Aggregation.MEAN, Aggregation.SHARE)
    return mean and measure.bounding is Bounding.DECLARED


def _needs_ceiling(ppi: Ppi) -> bool:
    """Whether the PPI is a series of means whose bounds nobody knows well, in one group."""
    measure = ppi.measure
    return (
        _is_plain_series(ppi)
        and isinstance(measure, AggregatedMeasure)
        and measure.function is Aggregation.MEAN
        and measure.grouping is None
        and measure.bounding is not Bounding.DECLARED
    )


def _is_plain_series(ppi: Ppi) -> bool:
    return ppi.scope.grid is not None and ppi.release == ReleaseChoice()
