"""A release on made-up cases: to try definitions, pages and code before any ε is spent.

A synthetic log is made from the log's declarations (`synthetic_log`) and read, clipped, noised and
shown by the very functions of a release. What comes out is marked as rehearsed. Nothing here knows
the workspace: its events, its key and its ledger are out of reach, so nothing is read of them, and
nothing is charged or recorded.

Of a log of which nothing is sealed yet, the first year is rehearsed. An attribute without public
keys has those that the definitions ask for, and texts that they compare it with, among others: they
are as public as the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    made_up_texts,
)
from pappi.errors import WorkspaceError
from pappi.ledger import KeyState
from pappi.ppinot import Catalogue, aggregated_measures, canonical_form
from pappi.store import LogDeclaration
from pappi.values import JSON, Epsilon, Kind, PublicLog, Series, Vocabulary

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
    """What the synthetic log is made from; of the catalogue only keys that are not declared, and
    texts that it compares with."""
    known = _with_keys(log.vocabulary, catalogue)
    return replace(log, vocabulary=_with_texts(known, catalogue, log.terms.unit.column))


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


def _with_texts(vocabulary: Vocabulary, catalogue: Catalogue, person: str | None) -> Vocabulary:
    """So that some cases pass a filter by an attribute of which no keys are declared."""
    asked: dict[str, set[str]] = {}
    forms = [
        canonical_form(part) for ppi in catalogue.ppis for part in (ppi.measure, ppi.scope.cases)
    ]
    for name, text in _compared_texts(forms):
        is_text = vocabulary.attributes.get(name) is Kind.TEXT
        if is_text and name not in vocabulary.keys and name != person:
            asked.setdefault(name, set()).add(text)
    named = {name: made_up_texts(texts) for name, texts in sorted(asked.items())}
    return replace(vocabulary, keys={**named, **vocabulary.keys})


def _compared_texts(forms: Sequence[JSON]) -> Iterator[tuple[str, str]]:
    """Each name that a condition compares with a text, and the text; without recursion."""
    waiting: list[JSON] = list(forms)
    while waiting:
        form = waiting.pop()
        match form:
            case {"left": {"is": "Name", "name": name}, "right": {"is": "Text", "value": text}}:
                yield str(name), str(text)
            case {"operand": {"is": "Name", "name": name}, "choices": list(choices)}:
                texts = (each for each in choices if isinstance(each, dict))
                yield from ((str(name), str(each["value"])) for each in texts if "value" in each)
        if isinstance(form, dict):
            waiting.extend(form.values())
        elif isinstance(form, list):
            waiting.extend(form)


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
