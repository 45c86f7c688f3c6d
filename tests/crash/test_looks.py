"""Every look at exact values is on record before an event is read, come what may.

What decides is what another process finds in the ledger at the moment the events are opened.
The broken twins below look first, or look all the same: the checks must find them out.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from pappi.custody import Custody, TrailEntry
from pappi.custody.exact import exact_answers, look_payload
from pappi.errors import DefinitionError, WorkspaceError
from pappi.ledger import EntryKind
from pappi.ppinot import Catalogue, parse_catalogue, parse_definitions, write_definitions
from pappi.report import dpo_html, pack_record
from pappi.session import Workspace, open_at, to_wire
from pappi.values import ExactAnswer
from tests.commands import Run
from tests.crash.faults import failing, sqlite_error
from tests.crash.processes import forks
from tests.crash.victims import Scene
from tests.service.served import LOG, SOJOURN, ask, served
from tests.service.visiting import Visitor
from tests.small_logs import claims, workspace_with

CRASHED = 7


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(30))


def asked() -> Catalogue:
    return parse_catalogue(SOJOURN, "sojourn.yaml")


def looks_on_record(root: Path) -> list[TrailEntry]:
    """As another process finds them."""
    other = open_at(root)
    try:
        return [entry for entry in other.custody.trail() if entry.kind == EntryKind.EXACT]
    finally:
        other.close()


class TooEarly(Exception):
    """Events were opened, and no look is on record."""


def watch(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let events be opened only by somebody who is on record; gives how many were each time."""
    connect, found = duckdb.connect, list[int]()

    def watched(*given: object, **options: object) -> object:
        found.append(len(looks_on_record(root)))
        if not found[-1]:
            raise TooEarly
        return connect(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(duckdb, "connect", watched)
    return found


class LooksFirst(Custody):
    """A planted fault: evaluated, and only then recorded."""

    def exact(self, catalogue: Catalogue) -> tuple[ExactAnswer, ...]:
        files = self._session.files
        found = exact_answers(files.events, catalogue, self.log(catalogue.log), files.key())
        with self._session.ledger() as ledger:
            self._act(ledger, EntryKind.EXACT, look_payload(catalogue))
        return found


class LooksAnyway(Custody):
    """A planted fault: a look that could not be recorded goes on."""

    def exact(self, catalogue: Catalogue) -> tuple[ExactAnswer, ...]:
        log = self.log(catalogue.log)
        try:
            with self._session.ledger() as ledger:
                self._act(ledger, EntryKind.EXACT, look_payload(catalogue))
        except WorkspaceError:
            pass
        files = self._session.files
        return exact_answers(files.events, catalogue, log, files.key())


# --- before anything is read ------------------------------------------------------------


def test_a_look_is_on_record_before_an_event_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = watch(workspace.root, monkeypatch)
    assert workspace.exact(asked())
    assert opened
    assert set(opened) == {1}


def test_a_door_that_evaluates_before_it_records_is_caught(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(workspace.root, monkeypatch)
    with pytest.raises(TooEarly):
        LooksFirst(workspace._ledger_session).exact(asked())


def scene(workspace: Workspace) -> Scene:
    return Scene(workspace.root, workspace.root.parent / "diary")


FULL = failing("INSERT INTO journal", sqlite_error(sqlite3.SQLITE_FULL))


def test_without_a_record_nothing_is_evaluated(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = watch(workspace.root, monkeypatch)
    with FULL(scene(workspace), workspace._ledger_session), pytest.raises(WorkspaceError):
        workspace.exact(asked())
    assert opened == []
    assert workspace.exact(asked())
    assert len(looks_on_record(workspace.root)) == 1


def test_a_door_that_looks_although_nothing_was_recorded_is_caught(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(workspace.root, monkeypatch)
    with FULL(scene(workspace), workspace._ledger_session), pytest.raises(TooEarly):
        LooksAnyway(workspace._ledger_session).exact(asked())


def test_what_is_refused_is_no_look_and_reads_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = watch(workspace.root, monkeypatch)
    unsound = parse_catalogue(SOJOURN.replace("case start", "activity == 'Recieve'"))
    with pytest.raises(DefinitionError):
        workspace.exact(unsound)
    assert opened == []
    assert looks_on_record(workspace.root) == []


def die_when_events_are_opened(root: Path) -> None:
    duckdb.connect = lambda *_given, **_options: os._exit(CRASHED)
    open_at(root).exact(asked())


def test_a_crash_between_record_and_evaluation_leaves_the_record(workspace: Workspace) -> None:
    process = forks().Process(target=die_when_events_are_opened, args=(workspace.root,))
    process.start()
    process.join()
    assert process.exitcode == CRASHED
    (look,) = looks_on_record(workspace.root)
    assert look.what["ppis"] == ["sojourn"]
    assert workspace.verify().ok


# --- by everybody who asks, and where it is shown ------------------------------------------


def test_every_door_leaves_the_same_record(tmp_path: Path, run: Run) -> None:
    service = served(tmp_path)
    workspace, file = service.workspace, tmp_path / "sojourn.yaml"
    file.write_text(SOJOURN, encoding="utf-8")
    reply = ask(service.owner, "POST", "/exact", service.boss, {"definitions": SOJOURN})
    assert reply.status_code == 200
    workspace.exact(file)
    workspace.custody_of("carla").exact(asked())
    assert run("exact", file, "--workspace", workspace.root)[0] == 0
    looks = looks_on_record(workspace.root)
    assert [look.what["by"] for look in looks] == ["boss", "owner", "carla", "owner"]
    for look in looks:
        assert dict(look.what) | {"by": ""} == {
            "log": LOG,
            "ppis": ["sojourn"],
            "count": 1,
            "definitions_sha256": look_payload(asked())["definitions_sha256"],
            "by": "",
        }


def test_the_digest_tells_definitions_apart_and_not_their_spellings() -> None:
    same = parse_definitions(write_definitions(asked(), "text"), "text", "s.txt").catalogue
    other = parse_catalogue(SOJOURN.replace("case end", "activity == 'Pay'"))
    digests = [look_payload(each)["definitions_sha256"] for each in (asked(), same, other)]
    assert digests[0] == digests[1] != digests[2]


def test_a_condition_that_names_a_person_does_not_get_into_the_journal(
    workspace: Workspace,
) -> None:
    named = SOJOURN.replace("unit: days}}", "unit: days}, where: {condition: channel == 'Doe'}}")
    workspace.exact(parse_catalogue(named))
    assert "Doe" not in (workspace.root / "ledger.sqlite").read_bytes().decode("latin-1")


def test_many_long_names_do_not_swell_the_journal() -> None:
    (ppi,) = asked().ppis
    many = Catalogue(LOG, tuple(replace(ppi, id=f"{n}-{'x' * 500}") for n in range(3_000)))
    payload = look_payload(many)
    assert payload["count"] == 3_000
    assert len(str(payload)) < 3_000


def test_the_trail_shows_who_looked_at_what(workspace: Workspace, run: Run) -> None:
    workspace.custody_of("carla").exact(asked())
    _, shown, _ = run("trail", "--workspace", workspace.root)
    last = shown.splitlines()[-1]
    assert "exact" in last
    assert "Exact values of small viewed: sojourn, by carla" in last


def test_the_console_shows_who_looked_at_what(tmp_path: Path) -> None:
    service = served(tmp_path)
    service.workspace.custody_of("carla").exact(asked())
    with Visitor(service.owner, service.boss) as boss:
        page = boss.get("/console/trail").text
        assert "Exact values of small viewed: sojourn" in page
        assert "carla" in page
        assert "Who viewed exact values" in boss.get("/console/protection/small").text


def test_the_pack_says_who_looked_how_often_and_when(workspace: Workspace) -> None:
    for who in ("owner", "carla", "carla"):
        workspace.custody_of(who).exact(asked())
    pack = workspace.custody.pack()
    (log,) = pack.logs
    assert [(look.by, look.ppis, look.count) for look in log.looks] == [
        ("owner", ("sojourn",), 1),
        ("carla", ("sojourn",), 1),
        ("carla", ("sojourn",), 1),
    ]
    page = dpo_html(pack, "today")
    assert "3 views of exact values" in page
    assert '<bdi>carla</bdi></th><td class="number">2</td>' in page
    assert log.looks[0].at[:16].replace("T", " ") in page
    (record,) = to_wire(pack_record(pack, "today"))["logs"]
    assert [look["by"] for look in record["looks_at_exact_values"]] == ["owner", "carla", "carla"]
    # The rest of what was done is not pushed out of sight by looks.
    assert not any("viewed" in act.what for act in pack.acts)


def test_the_pack_no_longer_admits_that_looks_go_unrecorded(workspace: Workspace) -> None:
    page = dpo_html(workspace.custody.pack(), "today")
    assert "They leave no entry" not in page
    assert "Nobody has viewed exact values through PaPPI." in page
    assert "leaves no entry here" in page, "what is read without PaPPI is said to be unrecorded"
