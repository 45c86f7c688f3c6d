"""Two levels of one PPI: its series, and the whole time besides, for one ε together.

The whole time has many more cases than any period, so a part of ε tells there what all periods
have in common, and smoothing draws them towards that. Each block of the log is charged for both
levels, and the two parts of ε add up to the ε that was asked for: nothing is spent twice.

Both are ordinary PPIs of one request, charged together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from pappi.checkpoint.door import DEFAULT_EPSILON
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
from pappi.values.epsilon import Epsilon

_SUFFIX = "-whole"
_LEAST, _MOST = Fraction(1, 100), Fraction(99, 100)


def two_levels(catalogue: Catalogue, epsilon: Epsilon | None, share: Fraction) -> Catalogue:
    """The catalogue in which series of means and shares have their whole time beside them.

    Each of those PPIs spends the share of its ε on the whole time; all others stay as they are.
    """
    if not _LEAST <= share <= _MOST:
        raise UsageError(
            "the share of ε for the whole time must lie between 0.01 and 0.99", hint="e.g. 0.5"
        )
    taken = {ppi.id for ppi in catalogue.ppis}
    for ppi in filter(_has_levels, catalogue.ppis):
        if whole_id(ppi.id) in taken:
            raise UsageError(
                f"the id '{whole_id(ppi.id)}' is needed for the whole time of '{ppi.id}'",
                hint="rename the PPI that has it",
            )
    ppis = (level for ppi in catalogue.ppis for level in _levels(ppi, epsilon, share))
    return replace(catalogue, ppis=tuple(ppis))


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
    asked = epsilon or ppi.epsilon or DEFAULT_EPSILON
    if not _has_levels(ppi):
        yield replace(ppi, epsilon=asked)
        return
    above = Epsilon(int(asked.nano * share))
    yield replace(ppi, epsilon=asked - above)
    yield replace(
        ppi,
        id=whole_id(ppi.id),
        name=f"{ppi.name}, over the whole time",
        scope=replace(ppi.scope, grid=None),
        epsilon=above,
    )


def _has_levels(ppi: Ppi) -> bool:
    """Whether the PPI is a series of weighted means, of which the whole time is one, too."""
    if ppi.scope.grid is None or ppi.release != ReleaseChoice():
        return False
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        return is_part_of_whole(measure)
    mean = measure.function in (Aggregation.MEAN, Aggregation.SHARE)
    return mean and measure.bounding is Bounding.DECLARED
