"""Catalogues as text: PPINOT's template, one block of lines per PPI.

Log: claims

PPI: sojourn
Name: Mean sojourn time
Definition: The PPI is defined as the average of the duration between …
Target: The PPI value must be below 7 days
Scope: The process instances considered for this PPI are those of every month
"""

from __future__ import annotations

from collections.abc import Iterator

from pappi.ppinot.expressions.nodes import NOWHERE, Number
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.model import Catalogue, NoiseOn, Ppi, ReleaseChoice, Target, Wanted
from pappi.ppinot.sentences.lines import Key
from pappi.ppinot.sentences.targets import is_plain, range_words, target_words, unit_words
from pappi.ppinot.sentences.telling import definition, scope_words
from pappi.ppinot.sentences.words import WordKind, Words
from pappi.values.units import Unit

_WIDTH = 98


def write_template(catalogue: Catalogue) -> str:
    """The catalogue as text, from which `read_template` makes it again."""
    blocks = ["\n".join(_ppi(ppi)) for ppi in catalogue.ppis]
    return "\n\n".join([f"{Key.LOG}: {_text(catalogue.log)}", *blocks]) + "\n"


def _ppi(ppi: Ppi) -> Iterator[str]:
    yield f"{Key.PPI}: {ppi.id}"
    yield f"{Key.NAME}: {_text(ppi.name)}"
    yield from _said(Key.PROCESS, ppi.process)
    yield from _several(Key.GOALS, ppi.goals)
    yield _folded(f"{Key.DEFINITION}: The PPI is defined as {definition(ppi)}")
    if unit := unit_words(ppi.measure, ppi.unit):
        yield f"{Key.UNIT}: {unit}"
    yield from _targets(ppi)
    if ppi.value_range is not None:
        yield f"{Key.RANGE}: {range_words(ppi.value_range, ppi.unit)}"
    words = scope_words(ppi.scope)
    lead = "The process instances considered for this PPI are those of"
    yield _folded(f"{Key.SCOPE}: {lead} {words}")
    yield from _said(Key.RESPONSIBLE, ppi.responsible)
    yield from _several(Key.INFORMED, ppi.informed)
    yield from _said(Key.COMMENTS, ppi.comments)
    if ppi.epsilon is not None:
        yield f"{Key.EPSILON}: {ppi.epsilon}"
    if release := "; ".join(_release(ppi.release)):
        yield f"{Key.RELEASE}: {release}"


def _text(text: str) -> str:
    return text if is_plain(text) else quote_text(text)


def _said(key: Key, text: str) -> Iterator[str]:
    if text:
        yield f"{key}: {_text(text)}"


def _several(key: Key, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"{key}:"
        yield from (f"  - {_text(text)}" for text in texts)


def _targets(ppi: Ppi) -> Iterator[str]:
    yield from _bands("", ppi.target, ppi.tolerated, ppi.unit)
    for each in ppi.group_targets:
        yield from _bands(f" in {quote_text(each.key)}", each.target, each.tolerated, ppi.unit)


def _bands(
    where: str, target: Target | None, tolerated: Target | None, unit: Unit
) -> Iterator[str]:
    if target is not None:
        yield f"{Key.TARGET}{where}: The PPI value must be {target_words(target, unit)}"
    if tolerated is not None:
        yield f"{Key.TOLERATED}{where}: The PPI value may be {target_words(tolerated, unit)}"


def _release(release: ReleaseChoice) -> Iterator[str]:
    if release.answer is not Wanted.VALUE:
        yield str(release.answer)
    if release.mechanism is not None:
        yield f"mechanism {release.mechanism}"
    if release.noise:
        yield "noise on " + ", ".join(map(_noise_on, release.noise))
    if release.falloff is not None:
        yield f"falloff {render(Number(release.falloff))}"
    if release.buckets is not None:
        yield f"buckets {release.buckets}"


def _noise_on(noise: NoiseOn) -> str:
    mechanism = "" if noise.mechanism is None else f" by {noise.mechanism}"
    share = "" if noise.share is None else f" with share {render(Number(noise.share))}"
    return noise.function + mechanism + share


def _folded(line: str) -> str:
    """A sentence over several lines, which break between words and never inside quotes."""
    words = Words(line, lambda _: NOWHERE)
    rows, row, index = [], "", 0
    while words[index].kind is not WordKind.END:
        glued = words[index].start == words[index - 1].end if index else False
        piece = words[index].written
        if row and not glued and len(row) + 1 + len(piece) > _WIDTH:
            rows.append(row)
            row = f"  {piece}"
        else:
            row += piece if glued or not row else f" {piece}"
        index += 1
    return "\n".join([*rows, row])
