"""Composing a question, seeing what it costs, and asking it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from pappi.errors import Conflict, NotAuthenticated, NotFound, PappiError
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations import notation_of, parse_definitions
from pappi.report.html import series_card
from pappi.service.keys import Asking, Bearer
from pappi.service.models import Name
from pappi.service.problems import Audience, fault_of
from pappi.service.web.forms import Form, Sent
from pappi.service.web.workbench.composing import (
    DIRECTIONS,
    PERIODS,
    Composer,
    composed,
    composer,
)
from pappi.service.web.workbench.doors import door_of, workbench_page
from pappi.service.web.workbench.previews import Preview, preview_of
from pappi.service.web.workbench.shapes import SHAPES, shapes_for
from pappi.store.declarations import LogDeclaration
from pappi.values.epsilon import Epsilon
from pappi.workspace import Workspace

_PLACE = "definitions"
_NUMBERED = re.compile(r"(accuracy|take)-(\d{1,3})")


@dataclass(frozen=True, slots=True)
class Draft:
    """What an analyst is working on: the sentence's blanks, and the definitions in YAML."""

    composer: Composer | None
    definitions: str = ""


class AskingDesk:
    """One method a page."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def form(self, log: Name, bearer: Asking, shape: str = "time", question: str = "") -> Response:
        """An empty sentence, or a question to be changed."""
        door = door_of(self._workspace, bearer)
        about = door.log(log)
        kept = next((each for each in door.kept(log) if each.id == question), None)
        draft = Draft(_composer(about, shape, {}), kept.definitions if kept else "")
        return self._page(about, bearer, draft)

    def preview(self, log: Name, sent: Sent, bearer: Asking) -> Response:
        """What a question would cost, in the words of the sentence or of the notation."""
        door = door_of(self._workspace, bearer)
        about = door.log(log)
        draft = Draft(_composer(about, sent["shape"], sent), sent["definitions"])
        try:
            if sent["do"] == "compose" and draft.composer is not None:
                draft = Draft(draft.composer, composed(draft.composer, log))
            catalogue = _catalogue(draft.definitions, log)
            found = preview_of(door, catalogue, _accuracies(sent), _taken(sent))
        except NotAuthenticated:
            raise
        except PappiError as error:
            return self._page(about, bearer, draft, error=error)
        return self._page(about, bearer, draft, preview=found)

    def rehearse(self, sent: Sent, bearer: Asking) -> Response:
        """The same question, about made-up cases."""
        door = door_of(self._workspace, bearer)
        catalogue = _catalogue(sent["definitions"], sent["log"])
        cards = [
            series_card(one, f"ppi-{number}")
            for number, one in enumerate(door.rehearse(catalogue), start=1)
        ]
        return workbench_page(
            "rehearsal.html",
            bearer,
            log=catalogue.log,
            cards=cards,
            definitions=sent["definitions"],
        )

    def release(self, sent: Sent, bearer: Asking) -> Response:
        """Charge and release, if the price is still the one that was named; then show it."""
        door = door_of(self._workspace, bearer)
        catalogue = _catalogue(sent["definitions"], sent["log"])
        try:
            released = door.release_at(catalogue, sent["price"])
        except Conflict:
            about = door.log(catalogue.log)
            draft = Draft(_composer(about, "", {}), sent["definitions"])
            now = preview_of(door, catalogue, {}, {})
            return self._page(about, bearer, draft, preview=now, changed=True)
        kept = door.keep(catalogue)
        if kept is not None:
            return RedirectResponse(f"/workbench/questions/{quote(kept.id)}", 303)
        cards = [series_card(one, f"ppi-{n}") for n, one in enumerate(released, start=1)]
        return workbench_page("released.html", bearer, log=catalogue.log, cards=cards)

    def _page(
        self,
        about: LogDeclaration,
        bearer: Bearer,
        draft: Draft,
        preview: Preview | None = None,
        error: PappiError | None = None,
        *,
        changed: bool = False,
    ) -> Response:
        fault = None if error is None else fault_of(error, Audience.ANALYST)
        return workbench_page(
            "ask.html",
            bearer,
            200 if fault is None else fault.status,
            log=about,
            draft=draft,
            shapes=shapes_for(about.vocabulary),
            periods=PERIODS,
            directions=DIRECTIONS,
            preview=preview,
            problem=None if fault is None else fault.record(),
            changed=changed,
        )


def _composer(about: LogDeclaration, shape: str, sent: Mapping[str, str]) -> Composer | None:
    """The sentence of that shape, or of the first that the log has words for."""
    possible = shapes_for(about.vocabulary)
    if not possible:
        return None
    chosen = SHAPES.get(shape)
    return composer(chosen if chosen in possible else possible[0], about.vocabulary, sent)


def _catalogue(text: str, log: str) -> Catalogue:
    catalogue = parse_definitions(text, notation_of(text), _PLACE, log).catalogue
    if not catalogue.ppis:
        raise NotFound("there is no PPI in these definitions")
    return catalogue


def _accuracies(sent: Form) -> dict[int, str]:
    """By the number of the PPI: what was typed, unless another step was clicked."""
    taken = _numbered(sent, "take")
    return {n: text for n, text in _numbered(sent, "accuracy").items() if n not in taken}


def _taken(sent: Form) -> dict[int, Epsilon]:
    """By the number of the PPI: the ε of the step that was clicked."""
    return {number: Epsilon.of(text) for number, text in _numbered(sent, "take").items()}


def _numbered(sent: Form, field: str) -> dict[int, str]:
    found = ((_NUMBERED.fullmatch(name), sent[name]) for name in sent)
    return {int(m[2]): text for m, text in found if m and m[1] == field and text}
