"""Whatever is asked before, an answer read off the record is that of its own function.

Noise that is next to none (ε of thousands) leaves nothing to chance: what was read off the wrong
member, class or draw is far from the exact value of the clipped cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.checkpoint import Caller, LocalSession
from pappi.custody import NewLog
from pappi.ppinot import Catalogue, Ppi, parse_catalogue
from pappi.session import Workspace
from pappi.values import ZERO, Adjacency, Epsilon, PrivacyUnit, Series, Terms
from tests.lengths import length
from tests.small_logs import Row, claims, workspace_with

pytestmark = pytest.mark.outside

EVERY = parse_catalogue("""
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 3 days]
  - id: longer
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [2 days, 9 days]
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
  - id: damage
    measure: {mean: {data: damage}}
    bounds: [0, 250]
  - id: web
    measure: {mean: {data: damage}, where: {condition: {activity: Pay}}}
    bounds: [100, 400]
  - id: events
    measure: {sum: {count: true}}
    bounds: [0, 1]
  - id: all-damage
    measure: {sum: {data: damage}}
    bounds: [150, 350]
  - id: by-channel
    measure:
      mean: {time: {from: case start, to: case end}, unit: days}
      by: {data: channel, values: [web, phone]}
    bounds: [0 days, 2 days]
  - id: rejected-by-channel
    measure:
      share: {condition: activity == "Reject"}
      by: {data: channel, values: [web, phone]}
""")
BY_ID = {ppi.id: ppi for ppi in EVERY.ppis}
EPSILONS = ("1000", "2000", "3000")
FIRM = Epsilon.of(900)
SUMS = ("events", "all-damage")


@dataclass(frozen=True, slots=True)
class Asked:
    """One PPI, and how it is to be released; a copy has another name."""

    ppi: str
    epsilon: str | None
    in_set: bool
    clipping: bool
    copy: bool

    def definition(self) -> Ppi:
        ppi = BY_ID[self.ppi]
        choice = replace(ppi.release, in_set=self.in_set, clipping=self.clipping)
        return replace(
            ppi,
            id=f"{ppi.id}{'-2' if self.copy else ''}",
            release=choice,
            epsilon=None if self.epsilon is None else Epsilon.of(self.epsilon),
        )


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for what, at a total or not, and after which step the machine fails."""

    analyst: str
    asked: tuple[Asked, ...]
    total: str | None
    fails: str

    @property
    def catalogue(self) -> Catalogue:
        total = None if self.total is None else Epsilon.of(self.total)
        ppis = [each.definition() for each in self.asked]
        if total is not None:
            ppis = [replace(ppi, epsilon=None) for ppi in ppis]
        return replace(EVERY, ppis=tuple({ppi.id: ppi for ppi in ppis}.values()), total=total)


def mostly(usual: object, *others: object) -> st.SearchStrategy[object]:
    return st.sampled_from((usual, usual, usual, *others))


asked = st.builds(
    Asked,
    st.sampled_from(sorted(BY_ID)),
    mostly(*EPSILONS, None),
    mostly(True, False),  # noqa: FBT003 - drawn
    mostly(True, False),  # noqa: FBT003
    mostly(False, True),  # noqa: FBT003
)
requests = st.builds(
    Request,
    st.sampled_from(("ann", "bob")),
    st.lists(asked, min_size=1, max_size=6).map(tuple),
    mostly(None, "9000", "30000"),
    mostly("", "charged", "drawn"),
)
TERMS = (
    Terms(block_budget=Epsilon.of(500_000)),
    Terms(block_budget=Epsilon.of(500_000), adjacency=Adjacency.REPLACE),
    Terms(block_budget=Epsilon.of(500_000), unit=PrivacyUnit("person", 2)),
)


class Crash(Exception):
    pass


def failing(workspace: Workspace, request: Request) -> LocalSession:
    def crash(step: str) -> None:
        if step == request.fails:
            raise Crash

    return LocalSession(workspace._ledger_session, Caller(request.analyst), crash)


def rows() -> list[Row]:
    """Some have no damage, and every one is a person's only case or second."""
    made: list[Row] = []
    for number, (case, activity, hours, attributes) in enumerate(claims(24, months=1)):
        own = dict(attributes)
        if activity == "Receive":
            own |= {"person": f"p{number // 4}"}
            if number % 5 == 0:
                own["damage"] = None
        made.append((case, activity, hours, own))
    return made


def shown(series: Sequence[Series]) -> list[object]:
    """Of each answer that was drawn: what is derived gets more exact as more is on record."""
    return [
        None
        if answer.derived_from
        else (answer.ppi, answer.value, answer.interval, answer.simultaneous, answer.cases)
        for one in series
        for answer in one.answers
    ]


def spent(workspace: Workspace) -> int:
    return max(line.spent.nano for line in workspace.checkpoint().budget("small"))


def told_wrongly(
    workspace: Workspace, catalogue: Catalogue, series: Sequence[Series]
) -> Iterator[str]:
    exact = {(each.ppi, each.period, each.group): each for each in workspace.exact(catalogue)}
    for answer in (answer for one in series for answer in one.answers):
        true = exact[answer.ppi, answer.period, answer.group]
        if answer.guarantee.epsilon < FIRM or true.clipped is None or answer.value is None:
            continue  # what nobody names an ε for is noisy
        if abs(answer.value - true.clipped) > 0.002 * max(abs(true.clipped), 1):
            yield f"{answer.ppi} {answer.group}: {answer.value} is not {true.clipped}"
        if answer.beyond is None or true.beyond is None or answer.ppi.startswith(SUMS):
            continue  # a sum's are of all cases, not of those with a value
        own = true.beyond / max(true.cases, 1)
        more = 0.002 if answer.beyond.measures == 1 else 1.0
        if not own - 0.002 <= answer.beyond.share <= own + more:
            yield f"{answer.ppi} {answer.group}: {answer.beyond.share} beyond is not {own}"


@settings(max_examples=length(3, 40))
@given(st.sampled_from(TERMS), st.lists(requests, min_size=1, max_size=5), st.booleans())
def test_every_answer_off_the_record_is_that_of_its_own_function(
    terms: Terms,
    history: Sequence[Request],
    force: bool,  # noqa: FBT001 - drawn
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if force:  # at such an ε, truth values and numbers are as exact alone
            patch.setattr("pappi.planning.sets._is_as_good", lambda *_: True)
        workspace = workspace_with(Path(folder) / "w", rows(), NewLog(terms=terms))
        answers: list[tuple[Catalogue, list[object]]] = []
        for request in history:
            catalogue = request.catalogue
            before = spent(workspace)
            price = workspace.checkpoint(request.analyst).price(catalogue)
            try:
                series = failing(workspace, request).release(catalogue, anyway=True)
            except Crash:
                assert spent(workspace) - before == price.most.nano
                series = workspace.checkpoint(request.analyst).release(catalogue, anyway=True)
            assert spent(workspace) - before == price.most.nano
            assert list(told_wrongly(workspace, catalogue, series)) == []
            answers.append((catalogue, shown(series)))
        after = spent(workspace)
        for catalogue, first in answers:
            for analyst in ("ann", "cleo"):
                again = workspace.checkpoint(analyst).release(catalogue)
                pairs = zip(shown(again), first, strict=True)
                assert all(now == then for now, then in pairs if then is not None)
                assert {answer.charged for one in again for answer in one.answers} == {ZERO}
        assert spent(workspace) == after
