"""Whatever is asked before, a catalogue costs at most what its PPIs cost one by one, or its total.

And what is drawn for it loses no more than was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.checkpoint import Caller, LocalSession
from pappi.checkpoint.draw import draw_cells
from pappi.checkpoint.queries import Release
from pappi.custody import NewLog
from pappi.ppinot import Catalogue, Ppi, parse_catalogue
from pappi.session import Workspace
from pappi.values import ZERO, Epsilon, Series, Terms
from tests.lengths import length
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

EVERY = parse_catalogue("""
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
  - id: again
    measure: {share: {condition: activity == "Reject"}}
    target: below 30 %
  - id: damage
    measure: {mean: {data: damage}}
    bounds: [0, 1000]
  - id: events
    measure: {sum: {count: true}}
    bounds: [0, 4]
  - id: longest
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
""")
BY_ID = {ppi.id: ppi for ppi in EVERY.ppis}
MEASURES = {ppi: ppi if ppi != "again" else "rejected" for ppi in BY_ID}
EPSILONS = ("0.1", "0.2", "0.3")

Request = tuple[str, Mapping[str, str]]
"""Who asks, and for which PPIs at which ε."""

requests = st.lists(
    st.tuples(
        st.sampled_from(("ann", "bob")),
        st.dictionaries(st.sampled_from(sorted(BY_ID)), st.sampled_from(EPSILONS), min_size=1),
    ),
    min_size=1,
    max_size=4,
)


def asked(wanted: Mapping[str, str]) -> Catalogue:
    def at(ppi: Ppi, epsilon: str) -> Ppi:
        return replace(ppi, epsilon=Epsilon.of(epsilon))

    return replace(EVERY, ppis=tuple(at(BY_ID[ppi], eps) for ppi, eps in wanted.items()))


def spent(workspace: Workspace) -> int:
    lines = {line.spent.nano for line in workspace.checkpoint().budget("small")}
    assert len(lines) == 1  # every block pays the same
    return lines.pop()


def shown(series: Sequence[Series]) -> list[object]:
    return [
        (answer.ppi, answer.value, answer.interval, answer.simultaneous, answer.cases)
        for one in series
        for answer in one.answers
    ]


@settings(max_examples=length(5, 60))
@given(requests)
def test_no_history_costs_more_than_one_by_one_and_every_replay_is_the_same(
    history: Sequence[Request],
) -> None:
    with TemporaryDirectory() as folder:
        new = NewLog(terms=Terms(block_budget=Epsilon.of(20)))
        workspace = workspace_with(Path(folder) / "w", claims(12, months=1), new)
        known: set[tuple[str, str]] = set()
        answers: list[list[object]] = []
        for analyst, wanted in history:
            before, session = spent(workspace), workspace.checkpoint(analyst)
            quotes, price = session.preview(asked(wanted)), session.price(asked(wanted))
            series = session.release(asked(wanted))
            charged = spent(workspace) - before
            new_ones = {(MEASURES[ppi], eps) for ppi, eps in wanted.items()} - known
            assert charged <= sum(Epsilon.of(eps).nano for _, eps in new_ones)
            assert charged == price.most.nano
            told = [one.answers[0].charged.nano for one in series]
            assert sum(told) == charged
            assert bool(charged) == any(quote.new_charges for quote in quotes)
            known |= new_ones
            answers.append(shown(series))
        after = spent(workspace)
        assert after <= sum(Epsilon.of(eps).nano for _, eps in known)
        for (_, wanted), first in zip(history, answers, strict=True):
            for analyst in ("ann", "cleo"):
                session = workspace.checkpoint(analyst)
                again = session.release(asked(wanted))
                assert shown(again) == first == shown(session.replay(asked(wanted)))
                assert {answer.charged for one in again for answer in one.answers} == {ZERO}
                assert session.price(asked(wanted)).is_free
        assert spent(workspace) == after


# --- under a total, and cut off half-way --------------------------------------------------------

STAY = "{time: {from: case start, to: case end}}"
MORE = parse_catalogue(f"""
log: small
ppis:
  - {{id: early, measure: {{share: {{derive: t < 2 days, t: {STAY}}}}}}}
  - {{id: late, measure: {{share: {{derive: t < 4 days, t: {STAY}}}}}}}
  - {{id: middle, measure: {{median: {STAY}}}, bounds: [0 days, 10 days]}}
  - {{id: most, measure: {{percentile: {STAY}, percent: 90}}, bounds: [0 days, 10 days]}}
  - {{id: n, measure: {{number: cases}}}}
""")
ANY = {ppi.id: ppi for ppi in (*EVERY.ppis, *MORE.ppis)}

under_totals = st.lists(
    st.tuples(
        st.sampled_from(("ann", "bob")),
        st.lists(st.sampled_from(sorted(ANY)), min_size=1, max_size=6, unique=True),
        st.sampled_from(("0.5", "1", "2")),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


class PowerCut(Exception):
    pass


def cut_off(workspace: Workspace, analyst: str) -> LocalSession:
    def stop(step: str) -> None:
        if step == "charged":
            raise PowerCut

    return LocalSession(workspace._ledger_session, Caller(analyst), stop)


def watched(losses: list[tuple[Fraction, Fraction]]) -> Callable[..., object]:
    """Draws as ever, and notes of each release what it loses, and what it was charged."""

    def draw(events: Path, releases: Sequence[Release], *more: object) -> object:
        for one in releases:
            lost = sum((m.mechanism.epsilon for m in one.plan.measurements), Fraction(0))
            losses.append((lost, one.charge.amount.fraction))
        return draw_cells(events, releases, *more)  # type: ignore[arg-type]

    return draw


@settings(max_examples=length(5, 60))
@given(under_totals)
def test_no_total_is_exceeded_and_what_was_cut_off_is_drawn_for_nothing(
    history: Sequence[tuple[str, Sequence[str], str, bool]],
) -> None:
    losses: list[tuple[Fraction, Fraction]] = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as noticing:
        noticing.setattr("pappi.checkpoint.draw.draw_cells", watched(losses))
        new = NewLog(terms=Terms(block_budget=Epsilon.of(20)))
        workspace = workspace_with(Path(folder) / "w", claims(12, months=1), new)
        for analyst, ids, total, is_cut_off in history:
            wanted = replace(EVERY, ppis=tuple(ANY[ppi] for ppi in ids))
            before, session = spent(workspace), workspace.checkpoint(analyst)
            price = session.price(wanted, total=total)
            if is_cut_off and not price.is_free:
                with pytest.raises(PowerCut):
                    cut_off(workspace, analyst).release(wanted, total=total, anyway=True)
            else:
                session.release(wanted, total=total, anyway=True)
            charged = spent(workspace) - before
            assert charged == price.most.nano <= Epsilon.of(total).nano
            for who in (analyst, "cleo"):
                again = workspace.checkpoint(who).release(wanted, total=total, anyway=True)
                assert {answer.charged for one in again for answer in one.answers} == {ZERO}
            assert spent(workspace) == before + charged
    assert all(lost <= paid for lost, paid in losses)
