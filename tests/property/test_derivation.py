"""Whatever was released before: what is derived never charges, reads a case, or changes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pappi.custody import NewLog
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import to_wire
from pappi.store import open_workspace
from pappi.values import ZERO, Epsilon, Series, Terms
from tests.lengths import length
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

MEASURES = (
    "{mean: {time: {from: case start, to: case end}, unit: days}}, bounds: [0 days, 10 days]",
    "{sum: {time: {from: case start, to: case end}, unit: days}}, bounds: [0 days, 10 days]",
    '{share: {condition: activity == "Reject"}}',
    "{mean: {data: damage}}, bounds: [0, 1000]",
    "{sum: {data: damage}}, bounds: [0, 1000]",
    "{number: cases}",
    '{number: cases, where: {condition: activity == "Reject"}}',
    "{number: {data: damage}}",
    "{mean: {data: damage}, by: {data: channel, values: [web, phone]}}, bounds: [0, 1000]",
    "{mean: {data: damage}, by: {data: channel, values: [web]}}, bounds: [0, 1000]",
    "{median: {time: {from: case start, to: case end}, unit: days}}, bounds: [0 days, 10 days]",
    (
        "{distribution: {time: {from: case start, to: case end}, unit: days}, "
        "limits: [2 days, 4 days]}, bounds: [0 days, 10 days]"
    ),
    "{share: {derive: t <= 2 days, t: {time: {from: case start, to: case end}}}}",
    "{share: {derive: t > 4 days, t: {time: {from: case start, to: case end}}}}",
    "{share: {derive: t < 4 days, t: {time: {from: case start, to: case end}}}}",
    "{number: cases, where: {derive: t <= 2 days, t: {time: {from: case start, to: case end}}}}",
    "{distribution: {data: damage}, by: {data: channel, values: [web, phone]}}, bounds: [0, 1000]",
    (
        "{percentile: {data: damage}, percent: 75, by: {data: channel, values: [web]}}, "
        "bounds: [0, 1000]"
    ),
    "{derive: a / b, a: {sum: {data: damage}}, b: {number: cases}}, bounds: {a: [0, 1000]}",
)
SCOPES = (
    *("every month", "every quarter", "whole time", "every 2 months"),
    *("between 2024-01-01 and 2024-02-29", "between 2024-02-01 and 2024-03-31"),
)
EPSILONS = ("0.1", "0.4", "1")

questions = st.lists(
    st.tuples(st.sampled_from(MEASURES), st.sampled_from(SCOPES)),
    min_size=1,
    max_size=3,
    unique=True,
)
histories = st.lists(st.tuples(questions, st.sampled_from(EPSILONS)), min_size=1, max_size=4)


def asked(wanted: Sequence[tuple[str, str]]) -> Catalogue:
    ppis = (
        f"  - {{id: q{number}, measure: {measure}, scope: {scope}}}\n"
        for number, (measure, scope) in enumerate(wanted)
    )
    return parse_catalogue(f"log: small\nppis:\n{''.join(ppis)}")


def shown(series: Sequence[Series]) -> list[dict[str, object]]:
    return [to_wire(answer) for one in series for answer in one.answers]


@settings(max_examples=length(10, 100), deadline=None, phases=[Phase.generate])
@given(
    histories, st.lists(st.tuples(st.sampled_from(MEASURES), st.sampled_from(SCOPES)), max_size=6)
)
def test_what_is_derived_never_charges_never_reads_and_never_changes(
    history: Sequence[tuple[Sequence[tuple[str, str]], str]], then: Sequence[tuple[str, str]]
) -> None:
    with TemporaryDirectory() as folder:
        new = NewLog(terms=Terms(block_budget=Epsilon.of(99), expected_cases=20))
        workspace = workspace_with(Path(folder) / "w", claims(24), new)
        session = workspace.checkpoint("ann")
        for wanted, epsilon in history:
            before = session.budget("small")
            quotes = session.preview(asked(wanted), epsilon)
            series = session.release(asked(wanted), epsilon, anyway=True)
            free = [quote.new_charges == 0 for quote in quotes]
            assert all(free) == (session.budget("small") == before)
            for quote, one in zip(quotes, series, strict=True):
                known = [answer for answer in one.answers if answer.derived_from]
                assert bool(known) == (quote.derivable is not None and quote.derivable.taken)
                assert {answer.charged for answer in known} <= {ZERO}
        budget, entries = session.budget("small"), session.releases("small")
        shutil.rmtree(open_workspace(workspace.root).events)
        for question in (*then, *(each for wanted, _ in history for each in wanted)):
            (quote,) = session.preview(asked([question]), "0.2")
            follows = quote.derivable
            if follows is None or follows.cells < quote.charges:
                continue
            for analyst in ("bob", "cleo"):
                other = workspace.checkpoint(analyst)
                first = shown(other.release(asked([question]), "0.2", derived=True))
                assert first == shown(session.release(asked([question]), "0.2", derived=True))
                assert {answer["charged"] for answer in first} == {"0"}
                assert all(answer["derived_from"] for answer in first)
        assert session.budget("small") == budget
        assert session.releases("small") == entries
