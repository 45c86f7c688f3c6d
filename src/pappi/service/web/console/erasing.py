"""Deletion, in two steps: first what was asked for is shown again, then it is done.

What is deleted is gone from the disk and from no backup of it: that is not undone by a click.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from pappi.custody.door import Custody
from pappi.custody.erasure import Erased
from pappi.errors import UsageError
from pappi.report.plain import plain, shortened
from pappi.service.keys import Asking, Bearer
from pappi.service.web.console.desk import log_address
from pappi.service.web.console.log_page import LogPage
from pappi.service.web.console.wrongs import RIGHT, STATUS, attempt
from pappi.service.web.forms import Form, Sent

_MOST_NAMED = 20
# A page that asks to confirm carries what it asks about: so much fits into it.
_MOST = 1_000
_LONGEST = 20_000
_LONGEST_NAMED = 60


@dataclass(frozen=True, slots=True)
class ToErase:
    """What a form names: cases by id, persons, blocks."""

    cases: Sequence[str]
    persons: Sequence[str]
    blocks: Sequence[str]

    @classmethod
    def of(cls, sent: Form) -> ToErase:
        return cls(*(sent.lines(name) for name in ("cases", "persons", "blocks")))

    @property
    def named(self) -> list[tuple[str, int, Sequence[str]]]:
        """Each kind that is named: how many, and the first of them."""
        kinds = (("Cases", self.cases), ("Persons", self.persons), ("Blocks", self.blocks))
        return [(kind, len(names), names[:_MOST_NAMED]) for kind, names in kinds if names]

    def require_some(self) -> None:
        names = [*self.cases, *self.persons, *self.blocks]
        if not names:
            raise UsageError("nothing is named", hint="name cases, persons or blocks, one per line")
        for name in names:
            _require_exact(name)
        if any(plain(name) != name for name in names):
            raise UsageError("a page cannot carry this name unchanged", hint="use pappi log erase")
        if len(names) > _MOST or sum(map(len, names)) > _LONGEST:
            raise UsageError(
                f"too much to confirm at once: up to {_MOST:,} names, {_LONGEST:,} characters",
                hint="do it in several steps, or with pappi log erase",
            )

    def done_by(self, door: Custody, log: str) -> Erased:
        return door.erase(log, cases=self.cases, persons=self.persons, blocks=self.blocks)


def _require_exact(name: str) -> None:
    """A case of nearly the same name must not go instead of the one that is meant."""
    if name != name.strip() or len(name.splitlines()) > 1:
        raise UsageError(
            f"“{shortened(plain(name), _LONGEST_NAMED)}” begins or ends with a blank, or holds a "
            "line break of another kind",
            hint="write each name alone in its line; one that is so goes with pappi log erase",
        )


class ErasingDesk(LogPage):
    """One form, sent twice."""

    def erase(self, log: str, sent: Sent, bearer: Asking) -> Response:
        """Ask whether these are to be deleted; with the box ticked, delete them."""
        asked = ToErase.of(sent)
        wrong = attempt("erase", sent, asked.require_some)
        if wrong is not RIGHT:
            return self._log_page(log, bearer, wrong=wrong)
        if sent["sure"] == "yes":
            return self._erased(log, sent, bearer, asked)
        unticked = sent["step"] == "second"
        return self._confirm(log, sent, bearer, asked, unticked=unticked)

    def _erased(self, log: str, sent: Form, bearer: Bearer, asked: ToErase) -> Response:
        found: list[Erased] = []
        door = self._door(bearer)
        wrong = attempt("erase", sent, lambda: found.append(asked.done_by(door, log)))
        if wrong is not RIGHT:
            return self._log_page(log, bearer, wrong=wrong)
        return self._page("erased.html", bearer, log=log, address=log_address(log), erased=found[0])

    def _confirm(
        self, log: str, sent: Form, bearer: Bearer, asked: ToErase, *, unticked: bool
    ) -> Response:
        self._door(bearer).log(log)
        return self._page(
            "erase.html",
            bearer,
            STATUS if unticked else 200,
            log=log,
            address=log_address(log),
            named=asked.named,
            typed=sent,
            unticked=unticked,
        )
