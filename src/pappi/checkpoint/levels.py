"""Two levels of one PPI: its series and its whole-time value, sharing one ε.

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

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from pappi.checkpoint.queries import DEFAULT_EPSILON
from pappi.errors import UsageError
from pappi.planning import is_part_of_whole
from pappi.ppinot import AggregatedMeasure, Aggregation, Bounding, Catalogue, Ppi
from pappi.series import whole_id
from pappi.values import Bounds, Epsilon, Likelihood, Series

ReleaseVerb = Callable[[Catalogue], tuple[Series, ...]]
"""A request to the checkpoint, which charges for it."""

_LEAST, _MOST = Fraction(1, 100), Fraction(99, 100)


def released_in_levels(
    release: ReleaseVerb, catalogue: Catalogue, epsilon: Epsilon | None, share: Fraction
) -> tuple[Series, ...]:
    """A catalogue released, in which series of means and shares have their whole time beside them.

    Each of those PPIs spends the share of its ε on the whole time; all others stay as they are.
    Means with loose or private bounds get theirs from the whole time: those have one request of
    their own, before that for all others.
    """
    _refuse(catalogue, share)
    bounded = [ppi for ppi in catalogue.ppis if _needs_ceiling(ppi)]
    wholes = [_whole(ppi, _epsilon_of(ppi, epsilon), share) for ppi in bounded]
    first = release(replace(catalogue, ppis=tuple(wholes))) if wholes else ()
    limits = {ppi.id: one.answers[0].likelihood for ppi, one in zip(bounded, first, strict=True)}
    ppis: list[Ppi] = []
    for ppi in catalogue.ppis:
        if ppi.id in limits:
            ppis.append(
                below_ceiling(_periods(ppi, _epsilon_of(ppi, epsilon), share), limits[ppi.id])
            )
        else:
            ppis.extend(_levels(ppi, epsilon, share))
    return (*release(replace(catalogue, ppis=tuple(ppis))), *first)


def below_ceiling(ppi: Ppi, whole: Likelihood | None) -> Ppi:
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
                f"the id '{whole_id(ppi.id)}' is reserved for the whole time of '{ppi.id}'",
                hint="rename the PPI that uses it",
            )


def _levels(ppi: Ppi, epsilon: Epsilon | None, share: Fraction) -> Iterator[Ppi]:
    total = _epsilon_of(ppi, epsilon)
    if not has_levels(ppi):
        yield replace(ppi, epsilon=total)
        return
    yield _periods(ppi, total, share)
    yield _whole(ppi, total, share)


def _epsilon_of(ppi: Ppi, epsilon: Epsilon | None) -> Epsilon:
    return epsilon or ppi.epsilon or DEFAULT_EPSILON


def _for_whole(total: Epsilon, share: Fraction) -> Epsilon:
    return Epsilon(int(total.nano * share))


def _periods(ppi: Ppi, total: Epsilon, share: Fraction) -> Ppi:
    return replace(ppi, epsilon=total - _for_whole(total, share))


def _whole(ppi: Ppi, total: Epsilon, share: Fraction) -> Ppi:
    return replace(
        ppi,
        id=whole_id(ppi.id),
        name=f"{ppi.name}, over the whole time",
        scope=replace(ppi.scope, grid=None),
        epsilon=_for_whole(total, share),
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
    return ppi.scope.grid is not None and ppi.release.is_free
