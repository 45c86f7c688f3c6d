"""A release on made-up cases: to try definitions, pages and code before any ε is spent.

A synthetic log is made from the log's declarations (`synthetic_log`) and read, clipped, noised and
shown by the very functions of a release. What comes out is marked as rehearsed. Nothing here knows
the workspace: its events, its key and its ledger are out of reach, so nothing is read of them, and
nothing is charged or recorded.

Of a log of which nothing is sealed yet, the first year is rehearsed. An attribute without public
keys has those that the definitions ask for: they are as public as the declarations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from pappi.checkpoint.answers import series_of
from pappi.checkpoint.draw import CellResult, draw_cells
from pappi.checkpoint.queries import (
    Release,
    plans_of,
    refuse_too_many_answers,
    refuse_too_much,
    releases_of,
)
from pappi.checkpoint.synthetic_log import (
    TABLE,
    SyntheticEvents,
    SyntheticEventsCache,
)
from pappi.errors import WorkspaceError
from pappi.ledger import KeyState
from pappi.ppinot import Catalogue, aggregated_measures
from pappi.store import LogDeclaration
from pappi.values import Epsilon, PublicLog, Series, Vocabulary

_NOBODY = "rehearsal"
_YEAR = timedelta(days=365)
_CACHE = SyntheticEventsCache()


def rehearsed(
    catalogue: Catalogue, epsilon: Epsilon | None, log: LogDeclaration
) -> tuple[Series, ...]:
    """Every PPI of a catalogue that fits the log, released of its synthetic log."""
    log = _as_if_sealed(log)
    plans = plans_of(catalogue, epsilon, log.public)
    refuse_too_many_answers(plans, log.horizon)
    releases = [release for plan in plans for release in releases_of(plan, log, _NOBODY)]
    refuse_too_much(releases)
    try:
        synthetic = _CACHE.of(synthetic_log_facts(catalogue, log.public))
        drawn = _drawn(synthetic, releases, log)
    except Exception as error:  # the disk for temporary files may be full, and so on
        raise WorkspaceError(
            "the rehearsal could not be completed",
            hint="nothing was charged; try again, and tell the owner if it keeps failing",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    # Neither new nor on record: so no answer has a price, and none is a replay.
    states = dict.fromkeys(drawn, KeyState.PENDING)
    found = series_of(releases, states, drawn, log)
    return tuple(_marked(series, _note(synthetic, log)) for series in found)


def synthetic_log_facts(catalogue: Catalogue, log: PublicLog) -> PublicLog:
    """What the synthetic log is made from; of the catalogue only keys that are not declared."""
    return replace(log, vocabulary=_with_keys(log.vocabulary, catalogue))


def _as_if_sealed(log: LogDeclaration) -> LogDeclaration:
    if log.public.first < log.public.until:
        return log
    year = log.terms.blocks.periods(log.public.first, log.public.first + _YEAR)
    return log.sealed(year[-1].end)


def _with_keys(vocabulary: Vocabulary, catalogue: Catalogue) -> Vocabulary:
    asked: dict[str, dict[str, None]] = {}
    for ppi in catalogue.ppis:
        for _, measure in aggregated_measures(ppi.measure):
            if measure.grouping is not None:
                keys = dict.fromkeys(measure.grouping.keys)
                asked.setdefault(measure.grouping.by.attribute, {}).update(keys)
    named = {attribute: tuple(sorted(keys)) for attribute, keys in sorted(asked.items())}
    return replace(vocabulary, keys={**named, **vocabulary.keys})


def _drawn(
    synthetic: SyntheticEvents, releases: Sequence[Release], log: LogDeclaration
) -> dict[str, CellResult]:
    distinct = {release.key: release for release in releases}
    return draw_cells(
        synthetic.events, list(distinct.values()), replace(log, table=TABLE), synthetic.key
    )


def _marked(series: Series, note: str) -> Series:
    """Marked by a field for programs, and in words for readers."""
    answers = tuple(replace(answer, replayed=False) for answer in series.answers)
    caution = "; ".join(filter(None, (note, series.caution)))
    return replace(series, answers=answers, caution=caution, rehearsed=True)


def _note(synthetic: SyntheticEvents, log: LogDeclaration) -> str:
    fewer = (
        "" if synthetic.cases == synthetic.expected else f" (of {synthetic.expected:,} expected)"
    )
    return (
        f"simulated from the log's public facts: {synthetic.cases:,} cases{fewer} in "
        f"{synthetic.blocks:,} blocks up to {log.public.until}; no data was read"
    )
