"""A rehearsal depends on no data: not on what the events are, nor on whether there are any.

Its detectors are tested on a planted fault, a rehearsal that reads the log.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from pappi.checkpoint import rehearsal
from pappi.checkpoint.draw import CellResult, draw_cells
from pappi.checkpoint.queries import Release
from pappi.checkpoint.synthetic_log import SyntheticEvents, make_synthetic_log
from pappi.errors import WorkspaceError
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from pappi.store import LogDeclaration
from tests.leak.asked import MEASURES, Asked, asks, definitions
from tests.leak.neighbours import NEIGHBOURS, ROWS, imported
from tests.leak.test_decisions_ignore_data import Stream
from tests.service.serving import Caller, analyst_key, serving

ASKED = ("mean time", "groups of data", "persons", "buckets", "working hours", "median")
TEXT = definitions(MEASURES["mean time"])
TOLD_APART = (
    "one extreme case more",
    "a person of twelve cases",
    "one case replaced",
    "no case, and one",
)
GARBAGE = b"not a database at all" * 100


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> Stream:
    return Stream(monkeypatch)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return imported(ROWS)(tmp_path / "w")


def replies(workspace: Workspace, noise: Stream, names: Sequence[str] = ASKED) -> list[bytes]:
    """Every byte that an analyst gets, with the same noise for each question."""
    key = analyst_key(workspace, "alice", {"small": "30"})
    with Caller(serving(workspace).analyst, key) as call:
        return [_reply(call, asks("/rehearse", _text(name), epsilon="2"), noise) for name in names]


def _text(name: str) -> str:
    return definitions(MEASURES[name])


def _reply(call: Caller, asked: Asked, noise: Stream) -> bytes:
    noise.begin(1)
    reply: httpx.Response = call(asked.method, asked.path, **asked.call)
    assert reply.status_code == 200, reply.text
    return reply.content


def read_the_log(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    """The planted fault: the workspace's events in the place of the synthetic ones."""

    def drawn(
        synthetic: SyntheticEvents, questions: Sequence[Release], log: LogDeclaration
    ) -> dict[str, CellResult]:
        return draw_cells(workspace.root / "events", questions, log, synthetic.key)

    monkeypatch.setattr(rehearsal, "_drawn", drawn)


# --- the events -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOLD_APART)
def test_the_same_declarations_give_the_same_bytes_whatever_the_data(
    tmp_path: Path, noise: Stream, name: str
) -> None:
    first, second = (build(tmp_path / str(n)) for n, build in enumerate(NEIGHBOURS[name]))
    asked = ASKED if name == TOLD_APART[0] else ("mean time", "persons")
    assert replies(first, noise, asked) == replies(second, noise, asked)


def test_the_same_declarations_give_the_same_synthetic_log(tmp_path: Path) -> None:
    catalogue = parse_catalogue(TEXT, "c.yaml")
    first, second = (
        make_synthetic_log(
            rehearsal.synthetic_log_facts(catalogue, build(tmp_path / str(n)).log("small").public)
        )
        for n, build in enumerate(NEIGHBOURS["one extreme case more"])
    )
    assert first == second
    assert set(first.case_ids).isdisjoint(case for case, *_ in ROWS)


@pytest.mark.parametrize("content", [None, GARBAGE], ids=["deleted", "garbage"])
def test_without_its_events_a_log_is_rehearsed_all_the_same(
    workspace: Workspace, noise: Stream, content: bytes | None
) -> None:
    before = replies(workspace, noise)
    (workspace.root / "key").unlink()
    events = workspace.root / "events"
    shutil.rmtree(events)
    if content is not None:
        events.write_bytes(content)
    assert replies(workspace, noise) == before


def test_a_rehearsal_that_reads_events_would_be_caught(
    workspace: Workspace, noise: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_the_log(monkeypatch, workspace)
    noise.begin(1)
    workspace.checkpoint().rehearse(parse_catalogue(TEXT, "c.yaml"))
    for part in (workspace.root / "events").glob("*.duckdb"):
        part.write_bytes(GARBAGE)
    with pytest.raises(WorkspaceError):
        workspace.checkpoint().rehearse(parse_catalogue(TEXT, "c.yaml"))


def test_a_rehearsal_that_shows_data_would_be_caught(
    tmp_path: Path, noise: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number, build in enumerate(NEIGHBOURS["one extreme case more"]):
        workspace = build(tmp_path / str(number))
        read_the_log(monkeypatch, workspace)
        found.append(replies(workspace, noise, ["mean time"]))
    assert found[0] != found[1]


# --- the ledger -------------------------------------------------------------------------


def kept(workspace: Workspace) -> dict[str, bytes]:
    """Every file of a workspace, after the ledger is closed."""
    workspace.close()
    return {path.name: path.read_bytes() for path in workspace.root.iterdir() if path.is_file()}


def test_a_rehearsal_leaves_the_ledger_and_every_file_as_they_were(workspace: Workspace) -> None:
    before = kept(workspace)
    budget = workspace.checkpoint().budget("small")
    for name in ASKED:
        workspace.checkpoint().rehearse(parse_catalogue(_text(name), "c.yaml"), "30")
    assert workspace.checkpoint().budget("small") == budget
    assert workspace.checkpoint().releases("small") == ()
    assert kept(workspace) == before


def test_a_release_would_be_seen_in_the_ledger(workspace: Workspace) -> None:
    before = kept(workspace)
    workspace.checkpoint().release(parse_catalogue(TEXT, "c.yaml"))
    assert kept(workspace) != before


def test_after_a_rehearsal_a_release_is_new_and_costs_what_it_costs(workspace: Workspace) -> None:
    analyst, catalogue = workspace.checkpoint(), parse_catalogue(TEXT, "c.yaml")
    analyst.rehearse(catalogue)
    (series,) = analyst.release(catalogue)
    assert not series.rehearsed
    assert all(answer.charged == answer.guarantee.epsilon for answer in series.answers)


def test_nothing_is_too_dear_to_be_rehearsed(workspace: Workspace) -> None:
    """Whether a budget would last is no secret; but to try things costs nothing of it."""
    catalogue = parse_catalogue(TEXT, "c.yaml")
    (series,) = workspace.checkpoint().rehearse(catalogue, "1000")
    assert {str(answer.charged) for answer in series.answers} == {"0"}
