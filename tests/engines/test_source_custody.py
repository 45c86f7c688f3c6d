"""What is declared, kept and shown of a source: no secret, no second budget, no false promise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import pappi
from pappi.checkpoint import Caller, LocalSession
from pappi.custody import NewLog, SourceMapping, entry_text
from pappi.errors import Conflict, ReleaseFailed, UsageError, WorkspaceError
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.report import dpo_html, pack_record
from pappi.service.problems import Audience, fault_of
from pappi.session import Workspace, to_wire
from pappi.store import (
    EventSource,
    LedgerSession,
    open_workspace,
    place_text,
    require_public,
    same_place,
    secret_name,
)
from pappi.values import CaseBorder, PrivacyUnit, Terms
from tests.commands import Run
from tests.engines.places import placed
from tests.small_logs import claims, event_table

SECRET = secret_name("claims")
EVENTS = event_table(claims(20))
UNTIL = date(2024, 4, 1)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return pappi.create(tmp_path / "w")


@pytest.fixture
def given(tmp_path: Path) -> SourceMapping:
    return placed("parquet", EVENTS, tmp_path)


def added(
    workspace: Workspace, given: SourceMapping, name: str = "claims", terms: Terms | None = None
) -> EventSource:
    new = NewLog(until=UNTIL, terms=terms or Terms())
    source = workspace.custody.add_log(name, given, new).declaration.source
    assert source is not None
    return source


def question() -> Catalogue:
    measure = "{sum: {count: {activity: Pay}}, bounds: [0, 2]}"
    return parse_catalogue(f"log: claims\nppis:\n  - {{id: paid, measure: {measure}}}\n", "q.yaml")


# --- addresses --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "parquet:https://user:hunter2@host/x.parquet",
        "parquet:https://hunter2@host/x.parquet",
        "parquet:s3://bucket/x.parquet?s3_access_key_id=A&s3_secret_access_key=hunter2",
        "parquet:https://host/x.parquet?X-Amz-Signature=hunter2",
        "parquet:https://host?sig=hunter2",
        "postgresql://user:hunter2/34@host/db",
        "postgresql://user:1234/hunter2@host/db",
        "postgresql://user:12?hunter2@host/db",
        "postgresql://host/db?password",
        "sc://host;token=hunter2",
        "sc://host:15002;token=hunter2",
        "sc://host:15002/?token=hunter2",
    ],
)
def test_no_secret_is_declared_with_an_address(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_public(url, SECRET)
    assert "hunter2" not in f"{refused.value.message} {refused.value.hint} {refused.value.detail}"


@pytest.mark.parametrize(
    "url",
    [
        "parquet:/data/2024-0?.parquet",
        "parquet:/data/ann@home/*.parquet",
        "parquet:https://host/folder/ann@home.parquet",
        "parquet:s3://bucket/year=2024/*.parquet",
        "sc://host:15002/;user_id=ann@example.org",
    ],
)
def test_an_ordinary_address_is_not_taken_for_a_secret(url: str) -> None:
    require_public(url, SECRET)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@host/shop?password=hunter2",
        "parquet:https://ann:hunter2@host/x.parquet?sig=hunter2",
        "sc://host:15002/;token=hunter2",
        "sc://host;token=hunter2",
        "parquet:https://ann:hunter2@host",
    ],
)
def test_what_is_shown_of_an_address_holds_no_password(url: str) -> None:
    """Whatever was declared, by whichever version."""
    assert "hunter2" not in place_text(url)
    assert "host" in place_text(url)


# --- passwords and names ----------------------------------------------------------------


@pytest.mark.parametrize("other", ["claims-24", "CLAIMS_24"])
def test_two_logs_do_not_share_the_variable_of_a_password(
    other: str, workspace: Workspace, tmp_path: Path
) -> None:
    one, two = (placed("postgres", EVENTS, tmp_path) for _ in range(2))
    added(workspace, one, "claims_24")
    with pytest.raises(UsageError, match="PAPPI_SOURCE_PASSWORD_CLAIMS_24") as refused:
        added(workspace, two, other)
    assert "choose a name" in refused.value.hint
    added(workspace, placed("parquet", EVENTS, tmp_path), other)


def test_a_name_that_is_taken_is_refused_without_naming_options_of_others(
    workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    with pytest.raises(UsageError, match="already a log called") as refused:
        added(workspace, given)
    assert "--name" not in refused.value.hint


def test_an_attribute_that_is_named_twice_is_refused(
    run: Run, given: SourceMapping, workspace: Workspace
) -> None:
    code, _, problems = run(
        *("-w", workspace.root, "log", "add", "claims", "--source", given.url),
        *("--case", "case_id", "--activity", "activity", "--time", "timestamp"),
        *("--attribute", "x=channel", "--attribute", "x=damage"),
    )
    assert code == UsageError.exit_code
    assert "'x' is named twice" in problems
    assert workspace.logs() == ()


# --- one table, one budget --------------------------------------------------------------


def test_the_same_events_get_a_second_budget_only_if_the_owner_says_so(
    workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    with pytest.raises(Conflict, match="already the log 'claims'") as refused:
        added(workspace, given, "others")
    assert "--again" in refused.value.hint
    added(workspace, replace(given, again=True), "others")
    assert [log.name for log in workspace.logs()] == ["claims", "others"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann@host/shop",
        "postgres://bob@HOST:5432/shop?sslmode=require",
        "postgresql:///shop?host=host&port=5432",
    ],
)
def test_the_same_table_is_known_by_where_it_is_not_by_who_reads_it(
    url: str, workspace: Workspace, given: SourceMapping
) -> None:
    source = replace(added(workspace, given), url="postgresql://host/shop", table=("public", "t"))
    assert same_place(source, replace(source, url=url))
    assert not same_place(source, replace(source, url=url, table=("public", "u")))
    for other in ("postgresql://host/other", "postgresql://host:5433/shop", "sc://host:5432"):
        assert not same_place(source, replace(source, url=other))


# --- before the charge ------------------------------------------------------------------


def spent(workspace: Workspace) -> set[str]:
    return {str(line.spent) for line in workspace.checkpoint().budget("claims")}


def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)


def without_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET)


@pytest.mark.parametrize(
    ("change", "said", "hint"),
    [
        (without_driver, "driver for this log's source is not installed", "pappi[postgres]"),
        (without_password, "password for this log's source is not set", SECRET),
    ],
)
def test_what_is_not_configured_is_noticed_before_the_charge(
    change: Callable[[pytest.MonkeyPatch], None],
    said: str,
    hint: str,
    workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SECRET, "any")  # the server of these tests asks for none
    added(workspace, placed("postgres", EVENTS, tmp_path))
    analyst = workspace.checkpoint()
    first = analyst.release(question(), "0.25")
    with monkeypatch.context() as changed:
        change(changed)
        with pytest.raises(WorkspaceError, match=said) as refused:
            analyst.release(question(), "0.5")
        assert hint in refused.value.hint
        assert spent(workspace) == {"0.25"}
        again = analyst.release(question(), "0.25")
    assert [a.value for a in again[0].answers] == [a.value for a in first[0].answers]
    shown = fault_of(refused.value, Audience.ANALYST).record()
    assert hint not in json.dumps(shown)
    assert analyst.release(question(), "0.5")


def test_a_log_that_needs_no_password_asks_for_none(
    workspace: Workspace, given: SourceMapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "any")
    assert not added(workspace, given).guarded
    monkeypatch.delenv(SECRET)
    assert workspace.checkpoint().release(question(), "0.25")


def test_what_a_driver_said_is_kept_for_the_owner_and_told_to_no_analyst(
    workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    Path(given.url.removeprefix("parquet:")).unlink()
    session = LocalSession(LedgerSession(open_workspace(workspace.root)), Caller("ann"))
    with pytest.raises(ReleaseFailed) as failed:
        session.release(question())
    assert "cannot be read" in failed.value.detail
    assert "No files found" in failed.value.detail
    for audience in Audience:
        assert "files" not in json.dumps(fault_of(failed.value, audience).record())


# --- what is told of it -----------------------------------------------------------------


def test_the_owner_sees_where_a_log_is_read(
    run: Run, workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    shown = _folded(run("-w", workspace.root, "log", "describe", "claims")[1])
    assert f"read from {_folded(given.url)}" in shown
    assert f"read from {_folded(given.url)}" in _folded(run("-w", workspace.root, "trail")[1])
    (entry,) = (each for each in workspace.custody.trail() if each.kind == "declare")
    assert f"read from {given.url}" in entry_text(entry.kind, entry.what)
    workspace.custody.seal("claims", date(2024, 5, 1))
    code, said, _ = run("-w", workspace.root, "log", "seal", "claims", "--until", "2024-06-01")
    assert (code, "cases" in said) == (0, False)


def _folded(text: str) -> str:
    """Without the line breaks of a terminal, which may cut a long address."""
    return " ".join(text.split())


def _pack(workspace: Workspace) -> tuple[Mapping[str, object], str]:
    pack = workspace.custody.pack("claims")
    (log,) = to_wire(pack_record(pack, "today"))["logs"]
    return log, dpo_html(pack, "today")


FALSE_AT_A_SOURCE = (
    "stay in the workspace",
    "set aside and never used",
    "no case counts in two blocks",
    "sends data nowhere",
    "from disk",
    "keyed hash",
    "Nothing has been erased.",
)


def test_the_pack_promises_of_a_source_only_what_holds_there(
    workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    log, page = _pack(workspace)
    written = json.dumps(log, ensure_ascii=False)
    for promise in FALSE_AT_A_SOURCE:
        assert promise not in written
        assert promise not in page
    assert log["source"] == given.url
    assert "it then counts in two blocks" in str(log["late_data"])
    assert "trusts that rows from sealed time do not change" in written
    assert "charged without a result" in written
    assert written.count("no case from sealed time has changed its block at the source") == 2
    assert given.url not in json.dumps(log["declared"])  # which is what analysts may know


def test_the_pack_of_events_in_the_workspace_promises_all_of_it(workspace: Workspace) -> None:
    workspace.import_log(EVENTS, "claims")
    log, page = _pack(workspace)
    for promise in FALSE_AT_A_SOURCE:
        assert promise in page
    assert log["source"] is None
    assert "at the source" not in page


def test_the_pack_tells_what_anchor_and_unit_mean_at_a_source(
    workspace: Workspace, tmp_path: Path
) -> None:
    rows = [(case, activity, at, {"who": case}) for case, activity, at, _ in claims(20)]
    given = placed("parquet", event_table(rows), tmp_path)
    added(workspace, given, terms=Terms(anchor=CaseBorder.START, unit=PrivacyUnit("who", 1)))
    log, _ = _pack(workspace)
    assert "stays in the block of its first event" in str(log["late_data"])
    assert "erased at the source as a whole" in str(log["late_data"])
    assert "come, gone or changed its block at the source" in str(log["guarantee"])
    assert "or with several, are dropped" in str(log["declared"])
