"""What is derived, attacked: where it could be wrong, take for ever, or fail for everybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.mechanisms import (
    BeyondBounds,
    Clipped,
    Part,
    TwoBin,
    combined_mean,
    combined_sum,
    hidden_by_bounds,
)
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace
from pappi.values import (
    UNIT_INTERVAL,
    Adjacency,
    Bounds,
    CaseBorder,
    Epsilon,
    LaplaceLikelihood,
    Terms,
)
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

TERMS = Terms(block_budget=Epsilon.of(9), expected_cases=40)
REJECTED = '{share: {condition: activity == "Reject"}}'


def asked(measure: str, scope: str) -> Catalogue:
    return parse_catalogue(
        f"log: small\nppis:\n  - id: asked\n    measure: {measure}\n    scope: {scope}\n"
    )


def made(folder: Path, terms: Terms = TERMS) -> Workspace:
    return workspace_with(folder / "w", claims(120), NewLog(terms=terms))


@pytest.mark.parametrize("epsilon", [9, 20, 400])
def test_noise_that_is_nearly_always_zero_takes_no_longer(epsilon: int) -> None:
    """Its law has no end of waves that never fade."""
    share = TwoBin(UNIT_INTERVAL, Fraction(epsilon), Adjacency.ADD_REMOVE, True)  # noqa: FBT003
    parts = [Part(share, 2)] * 3
    low, high = combined_mean(UNIT_INTERVAL, parts).interval((10, 30) * 3, 0.95)
    assert low < 0.25 < high < low + 0.001
    low, high = combined_sum(UNIT_INTERVAL, parts, [share.as_sum] * 3).interval((10, 30) * 3, 0.95)
    assert low < 30 < high < low + 0.01


def test_what_is_nearly_sure_is_a_likelihood_all_the_same() -> None:
    share = TwoBin(UNIT_INTERVAL, Fraction(9000), Adjacency.ADD_REMOVE, True)  # noqa: FBT003
    counted = combined_sum(UNIT_INTERVAL, [Part(share, 2)] * 2, [(0.0, 1.0)] * 2)
    likelihood = counted.likelihood((10, 30) * 2)
    assert isinstance(likelihood, LaplaceLikelihood)
    assert likelihood.scale > 0


def test_a_sum_may_hide_cases_even_where_the_noise_left_none() -> None:
    own = BeyondBounds(difference=-3.0, cases=-3.0, of_difference=100.0, of_cases=100.0)
    clipped = Clipped(20.0, 0.0, 90.0, Bounds(Fraction(0), Fraction(10)), is_sum=True)
    below, above = hidden_by_bounds(clipped, own, own, (False, True))
    assert below == 0
    assert above >= 100


def test_a_derived_whole_tells_its_periods_nothing_new(tmp_path: Path) -> None:
    """It may come from the same periods, whose noise would then count twice."""
    session = made(tmp_path).checkpoint()
    session.release(asked(REJECTED, "every month"), "0.1")
    both = parse_catalogue(
        f"log: small\nppis:\n  - id: asked\n    measure: {REJECTED}\n    scope: every month\n"
        f"  - id: asked-whole\n    measure: {REJECTED}\n    scope: whole time\n"
    )
    (alone,) = session.release(asked(REJECTED, "every month"), "0.1", smooth=True)
    months, whole = session.release(both, "0.1", smooth=True, derived=True)
    assert whole.answers[0].derived_from
    assert [a.smoothed for a in months.answers] == [a.smoothed for a in alone.answers]


def test_many_releases_of_one_figure_are_weighed_alike(tmp_path: Path) -> None:
    session = made(tmp_path).checkpoint()
    ppis = "".join(
        f"  - id: p{n}\n    measure: {REJECTED}\n    scope: whole time\n    epsilon: 0.020{n:02}\n"
        for n in range(16)
    )
    session.release(parse_catalogue(f"log: small\nppis:\n{ppis}"), derived=False, anyway=True)
    (told,) = session.release(asked(REJECTED, "whole time"), "0.01", derived=True, anyway=True)
    weights = [source.weight for source in told.answers[0].derived_from]
    assert len(weights) == 12
    assert sum(weights) == pytest.approx(1)
    assert max(weights) < 0.1


def test_a_case_placed_by_another_anchor_may_lie_outside_the_log(tmp_path: Path) -> None:
    """February and March of a log that begins in February are not the first quarter: cases that
    ended in it may have begun in January."""
    rows = claims(120)
    for number in range(16):
        rows += [(f"l{number}", "Receive", 0.0, {}), (f"l{number}", "Pay", 24 * 45.0, {})]
    terms = replace(TERMS, anchor=CaseBorder.END)
    dated = NewLog(terms=terms, first=date(2024, 2, 1), until=date(2024, 4, 1))
    workspace = workspace_with(tmp_path / "w", rows, dated)
    workspace.grant("small", "100000")
    session = workspace.checkpoint()
    session.release(asked("{number: cases}", "{every: month, anchor: case start}"), "900")
    for scope, follows in (("every: quarter", False), ("from: 2024-02-01", True)):
        question = asked("{number: cases}", f"{{{scope}, anchor: case start}}")
        (told,) = session.release(question, "8", derived=True)
        (exact,) = workspace.exact(question)
        assert bool(told.answers[0].derived_from) is follows
        assert told.answers[0].value == pytest.approx(exact.clipped, abs=5)
