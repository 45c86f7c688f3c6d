"""The benchmark of dashboards counts what is decided, and notices what is wrong."""

from __future__ import annotations

import pytest

from benchmarks.dashboard import HELPDESK, Compared, Tally, compared, helpdesk, load
from pappi.values import Verdict


def test_verdicts_are_counted_against_the_truth() -> None:
    tally = Tally()
    for told in (Verdict.MET, Verdict.MISSED, Verdict.UNDECIDED, None):
        tally.add(told, Verdict.MET, Verdict.MISSED)
    counts = (tally.asked, tally.decided, tally.undecided, tally.advised)
    assert counts == (4, 2, 1, 1)
    assert (tally.wrong, tally.wrong_unclipped) == (1, 1)


@pytest.mark.outside
def test_after_more_is_decided_or_advised_against_at_no_more_epsilon_and_hardly_wrong() -> None:
    found = compared(load(helpdesk(cases=300, months=3), HELPDESK), runs=2)
    assert isinstance(found, Compared)
    before, after = found.before, found.after
    assert before.asked == after.asked > 0
    assert after.epsilon <= before.epsilon
    assert after.decided >= before.decided
    assert found.helped >= before.undecided / 2
    assert after.wrong <= 0.05 * after.decided
