"""The release protocol: charged once, before reading, and repeatable for free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pappi.checkpoint import Caller, LocalSession
from pappi.custody import NewLog
from pappi.errors import BudgetExceeded, DefinitionError, NotReleasable
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace
from pappi.store import LedgerSession, open_workspace
from pappi.values import ZERO, Adjacency, Answer, Epsilon, Interval, Series, Terms, Verdict
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

SOJOURN = """
log: small
ppis:
  - id: sojourn
    name: Mean sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
"""
THREE = (
    SOJOURN
    + """
  - id: rejected
    measure:
      derive: 100 * rejected / received
      rejected: {sum: {count: activity == "Reject"}}
      received: {sum: {count: activity == "Receive"}}
    bounds: {rejected: [0, 1], received: [0, 1], value: [0, 100]}
    target: above 20
    release: {clipping: off}
  - id: by-channel
    measure:
      share: {condition: activity == "Reject"}
      by: {data: channel, values: [web, phone, letter]}
"""
)


def catalogue(text: str) -> Catalogue:
    return parse_catalogue(text, "test.yaml")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(
        tmp_path / "w", claims(90), NewLog(terms=Terms(block_budget=Epsilon.of(1)))
    )


def answers_of(series: tuple[Series, ...]) -> list[Answer]:
    return [answer for one in series for answer in one.answers]


def as_released(answer: Answer) -> Answer:
    """Everything but who paid for it."""
    return replace(answer, charged=ZERO, replayed=False)


def test_the_same_catalogue_is_answered_alike_and_charged_once(workspace: Workspace) -> None:
    analyst = workspace.checkpoint("alice")
    first = answers_of(analyst.release(catalogue(THREE), "0.1", anyway=True))
    spent = analyst.budget("small")
    again = answers_of(workspace.checkpoint("bob").release(catalogue(THREE), "0.1", anyway=True))
    assert [as_released(answer) for answer in again] == [as_released(answer) for answer in first]
    assert analyst.budget("small") == spent
    assert {line.spent for line in spent} == {Epsilon.of("0.3")}
    assert not any(answer.replayed for answer in first)
    assert all(answer.replayed and answer.charged == ZERO for answer in again)


def test_another_epsilon_is_another_question(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    analyst.release(catalogue(SOJOURN), "0.1")
    (series,) = analyst.release(catalogue(SOJOURN), "0.2")
    assert not any(answer.replayed for answer in series.answers)
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.3")}


def test_name_and_target_do_not_make_another_question(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    (asked,) = analyst.release(catalogue(SOJOURN), "0.1")
    other = SOJOURN.replace("below 4 days", "above 1 day").replace("Mean sojourn", "Duration")
    (replayed,) = analyst.release(catalogue(other), "0.1")
    assert all(answer.replayed for answer in replayed.answers)
    assert [a.value for a in replayed.answers] == [a.value for a in asked.answers]


def test_two_ppis_that_ask_the_same_pay_once(workspace: Workspace) -> None:
    twice = SOJOURN + SOJOURN.split("ppis:")[1].replace("id: sojourn", "id: again")
    analyst = workspace.checkpoint()
    first, second = analyst.release(catalogue(twice), "0.1")
    assert [a.value for a in first.answers] == [a.value for a in second.answers]
    assert all(a.replayed and a.charged == ZERO for a in second.answers)
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.1")}


def test_a_refusal_names_asked_left_and_missing_and_reads_no_data(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_anything: object) -> None:
        raise AssertionError("data were read")

    monkeypatch.setattr("pappi.checkpoint.draw.draw_cells", read)
    with pytest.raises(BudgetExceeded, match=r"requested ε 3 .*left.* 1 .*missing 2") as refusal:
        workspace.checkpoint().release(catalogue(THREE), "1", anyway=True)
    assert refusal.value.hint
    assert {line.spent for line in workspace.checkpoint().budget("small")} == {ZERO}


def test_all_or_nothing_of_a_catalogue_is_charged(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    analyst.release(catalogue(SOJOURN), "0.9")
    with pytest.raises(BudgetExceeded):
        analyst.release(catalogue(THREE), "0.2", anyway=True)
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.9")}


class Crash(Exception):
    """A process that died, as far as the ledger can tell."""


@pytest.mark.parametrize("step", ["charged", "drawn"])
def test_a_crash_stays_charged_and_completes_once(workspace: Workspace, step: str) -> None:
    def die(reached: str) -> None:
        if reached == step:
            raise Crash

    ledger_session = LedgerSession(open_workspace(workspace.root))
    with pytest.raises(Crash):
        LocalSession(ledger_session, Caller("alice"), die).release(
            catalogue(SOJOURN), Epsilon.of("0.1")
        )
    analyst = workspace.checkpoint("alice")
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.1")}
    (completed,) = analyst.release(catalogue(SOJOURN), "0.1")
    (replayed,) = analyst.release(catalogue(SOJOURN), "0.1")
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.1")}
    assert {answer.charged for answer in completed.answers} == {ZERO}
    assert [a.value for a in completed.answers] == [a.value for a in replayed.answers]


def test_a_measure_without_bounds_is_refused_with_a_hint(workspace: Workspace) -> None:
    unbounded = SOJOURN.replace("    bounds: [0 days, 10 days]\n", "")
    with pytest.raises(NotReleasable, match="no public contribution bounds") as refusal:
        workspace.checkpoint().release(catalogue(unbounded))
    assert "add e.g. `bounds:" in refusal.value.hint
    assert "or `bounds: private`" in refusal.value.hint
    assert {line.spent for line in workspace.checkpoint().budget("small")} == {ZERO}


def test_an_unknown_activity_is_found_before_anything_is_charged(workspace: Workspace) -> None:
    with pytest.raises(DefinitionError, match="Rejct") as refusal:
        workspace.checkpoint().release(catalogue(THREE.replace('"Reject"', '"Rejct"')))
    assert "Reject" in str(refusal.value)
    assert {line.spent for line in workspace.checkpoint().budget("small")} == {ZERO}


def test_every_period_and_declared_group_is_answered_empty_or_not(workspace: Workspace) -> None:
    *_, by_channel = workspace.checkpoint().release(catalogue(THREE), "0.1", anyway=True)
    months = {answer.period.label for answer in by_channel.answers}
    assert months == {"2024-01", "2024-02", "2024-03"}
    assert [a.group for a in by_channel.answers] == ["web", "phone", "letter"] * 3


def test_with_much_epsilon_answers_are_close_to_exact_and_judged(tmp_path: Path) -> None:
    workspace = workspace_with(
        tmp_path / "w", claims(90), NewLog(terms=Terms(block_budget=Epsilon.of(900)))
    )
    exact = workspace.exact(catalogue(THREE))
    released = answers_of(workspace.checkpoint().release(catalogue(THREE), "300", anyway=True))
    assert len(exact) == len(released) == 15
    for truth, answer in zip(exact, released, strict=True):
        assert (answer.ppi, answer.period, answer.group) == (truth.ppi, truth.period, truth.group)
        if truth.value is not None:
            assert answer.value == pytest.approx(truth.value, rel=0.02, abs=0.02)
    verdicts = {answer.ppi: answer.verdict for answer in released}
    assert verdicts == {"sojourn": Verdict.MET, "rejected": Verdict.MET, "by-channel": None}


@pytest.mark.parametrize(
    ("bounds", "clipped", "beyond"), [("[0 days, 2 days]", 1.8, 18), ("[0 days, 9 days]", 3.0, 0)]
)
def test_the_owner_sees_what_bounds_cut_off(
    workspace: Workspace, bounds: str, clipped: float, beyond: int
) -> None:
    """Claims take 1 to 5 days, as many of each: of 30 a month, 18 take more than two."""
    tight = SOJOURN.replace("bounds: [0 days, 10 days]", f"bounds: {bounds}")
    assert bounds in tight
    text = tight.replace("target: below 4 days", "")
    for answer in workspace.exact(catalogue(text)):
        assert answer.value == pytest.approx(3.0)
        assert answer.clipped == pytest.approx(clipped)
        assert (answer.cases, answer.beyond) == (30, beyond)


@pytest.mark.parametrize(("formula", "times"), [("2 * a", 2), ("a / 3", 1 / 3), ("a - b", 1)])
def test_the_owner_sees_a_formula_and_not_its_variable(
    workspace: Workspace, formula: str, times: float
) -> None:
    """Of one variable as of two: claims take 3 days in the mean; cut at 2 days, 1.8."""
    stay = "{mean: {time: {from: case start, to: case end}}}"
    two = f", b: {stay}" if "b" in formula else ""
    bounds = "a: [0 days, 2 days]" + (", b: [0 days, 9 days]" if two else "")
    text = f"log: small\nppis: [{{id: p, measure: {{derive: {formula}, a: {stay}{two}}}, bounds: "
    for answer in workspace.exact(catalogue(f"{text}{{{bounds}}}, unit: days}}]")):
        b = 3 if two else 0
        assert answer.value == pytest.approx(3 * times - b)
        assert answer.clipped == pytest.approx(1.8 * times - b)
        assert answer.beyond == 18


def test_without_public_bounds_there_is_nothing_to_clip_to(workspace: Workspace) -> None:
    text = SOJOURN.replace("bounds: [0 days, 10 days]", "bounds: private")
    for answer in workspace.exact(catalogue(text)):
        assert (answer.clipped, answer.beyond) == (None, None)
        assert answer.value is not None


@pytest.mark.parametrize(
    ("old", "new", "covers"),
    [
        ("", "", "the mean of values cut at 10 days"),
        ("mean:", "median:", "the median of values cut at 10 days"),
        ("[0 days, 10 days]", "private", "the mean"),
    ],
)
def test_an_interval_is_named_for_what_it_covers(
    workspace: Workspace, old: str, new: str, covers: str
) -> None:
    (series,) = workspace.checkpoint().rehearse(catalogue(SOJOURN.replace(old, new)), "0.5")
    assert series.covers == covers


def test_an_answer_says_where_its_value_can_lie_at_all(workspace: Workspace) -> None:
    (series,) = workspace.checkpoint().rehearse(catalogue(SOJOURN), "0.5")
    assert {answer.possible for answer in series.answers} == {Interval(0.0, 10.0, 1.0)}


def test_an_answer_carries_interval_cases_and_guarantee(workspace: Workspace) -> None:
    (series,) = workspace.checkpoint().release(catalogue(SOJOURN), "0.5")
    for answer in series.answers:
        assert answer.interval.low is not None
        assert answer.interval.high is not None
        assert answer.value is not None
        assert 0 <= answer.interval.low <= answer.value <= answer.interval.high <= 10
        assert answer.cases is not None
        assert answer.guarantee.epsilon == Epsilon.of("0.5")
        assert answer.guarantee.adjacency is Adjacency.ADD_REMOVE
        assert answer.guarantee.mechanism == "joint"


@pytest.mark.parametrize(
    "target", ["below 4 days", "at most 4 days", "above 1 days", "at least 1 days"]
)
def test_a_target_is_shown_as_it_was_meant(workspace: Workspace, target: str) -> None:
    (series,) = workspace.checkpoint().release(
        catalogue(SOJOURN.replace("below 4 days", target)), "0.1"
    )
    assert series.target is not None
    assert series.target.text == target


def test_replace_adjacency_is_carried_into_the_guarantee(tmp_path: Path) -> None:
    new = NewLog(terms=Terms(adjacency=Adjacency.REPLACE))
    workspace = workspace_with(tmp_path / "w", claims(30), new)
    (series,) = workspace.checkpoint().release(catalogue(SOJOURN), "0.1")
    assert {a.guarantee.adjacency for a in series.answers} == {Adjacency.REPLACE}
