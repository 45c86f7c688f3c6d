"""A source that fails costs what was charged, once: the same request completes the release.

And before the charge nothing looks at it, so that no refusal depends on what it holds, or on
whether it is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

import psycopg
import pytest

import pappi
from pappi.checkpoint import Caller, LocalSession
from pappi.custody import NewLog, SourceMapping
from pappi.errors import BudgetExceeded, ReleaseFailed, WorkspaceError
from pappi.ledger import ChargeRecord
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace
from pappi.store import LedgerSession, open_workspace
from pappi.values import Epsilon
from tests.engines.places import ENGINES, placed, postgres_url, quoted, spark_server
from tests.ledgers import server
from tests.small_logs import claims, event_table

HALF = Epsilon.of("0.5")
EVENTS = event_table(claims(60))


def questions(log: str) -> Catalogue:
    text = (
        f"log: {log}\nppis:\n  - id: paid\n    scope: every month\n    measure:\n"
        "      mean: {time: {from: {activity: Receive}, to: {activity: Pay}}}\n"
        "      bounds: [0 days, 10 days]\n"
    )
    return parse_catalogue(text, "q.yaml")


def added(folder: Path, given: SourceMapping, name: str = "claims") -> Workspace:
    workspace = pappi.create(folder / "w")
    workspace.custody.add_log(name, given, NewLog(until=date(2024, 4, 1)))
    return workspace


def session_on(workspace: Workspace, on_step: Callable[[str], None]) -> LocalSession:
    return LocalSession(LedgerSession(open_workspace(workspace.root)), Caller("ann"), on_step)


def spent(workspace: Workspace) -> set[str]:
    return {str(line.spent) for line in workspace.checkpoint().budget("claims")}


def at_charge(act: Callable[[], None]) -> Callable[[str], None]:
    return lambda step: act() if step == "charged" else None


# --- alike ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_charged_recorded_and_replayed_like_any_other(
    engine: str, tmp_path: Path
) -> None:
    workspace = added(tmp_path, placed(engine, EVENTS, tmp_path))
    own = pappi.create(tmp_path / "own")
    own.import_log(EVENTS, "claims", new=NewLog(until=date(2024, 4, 1)))
    asked = questions("claims")
    first = workspace.checkpoint().release(asked, HALF)
    assert spent(workspace) == {"0.5"}
    own.checkpoint().release(asked, HALF)
    for ours, theirs in zip(
        workspace.custody.charges("claims"), own.custody.charges("claims"), strict=True
    ):
        assert ours.released_at
        assert theirs.released_at
        assert _told(ours) == _told(theirs)
    again = workspace.checkpoint().release(asked, HALF)
    assert spent(workspace) == {"0.5"}
    assert [each.value for each in again[0].answers] == [each.value for each in first[0].answers]


def _told(record: ChargeRecord) -> dict[str, object]:
    """What is on record about a charge, but for which events it is about."""
    told = asdict(record.charge)
    return {name: value for name, value in told.items() if name not in ("key", "query")}


# --- dropped in the middle ------------------------------------------------------------


def test_postgres_stopped_between_charge_and_read_costs_once(tmp_path: Path) -> None:
    workspace = added(tmp_path, placed("postgres", EVENTS, tmp_path))
    stopping = session_on(workspace, at_charge(lambda: server().stop("immediate")))
    with _restarted(), pytest.raises(ReleaseFailed) as failed:
        stopping.release(questions("claims"), HALF)
    assert failed.value.message == "the release could not be completed; it stays charged"
    assert spent(workspace) == {"0.5"}
    released = workspace.checkpoint().release(questions("claims"), HALF)
    assert len(released[0].answers) == 3
    assert spent(workspace) == {"0.5"}


@contextmanager
def _restarted() -> Iterator[None]:
    try:
        yield
    finally:
        server().start()


def test_a_connection_dropped_in_mid_query_costs_once(tmp_path: Path) -> None:
    given = placed("postgres", EVENTS, tmp_path)
    workspace = added(tmp_path, replace(given, table=_slow_view(str(given.table))))
    dropping = session_on(workspace, at_charge(_drop_soon))
    _set_pause(30)
    with pytest.raises(ReleaseFailed) as failed:
        dropping.release(questions("claims"), HALF)
    assert failed.value.code == "release-failed"
    _set_pause(0)
    released = workspace.checkpoint().release(questions("claims"), HALF)
    assert len(released[0].answers) == 3
    assert spent(workspace) == {"0.5"}


def _executed(statement: str) -> None:
    with closing(psycopg.connect(postgres_url(), autocommit=True)) as connection:
        connection.execute(statement.encode())


def _slow_view(table: str) -> str:
    _executed("CREATE TABLE public.pause (seconds float)")
    _executed("INSERT INTO public.pause VALUES (0)")
    waits = "(SELECT pg_sleep(seconds) FROM public.pause)"
    events = f"SELECT * FROM public.{quoted(table)}"  # noqa: S608 - a table of this test's
    _executed(f"CREATE VIEW public.slow AS {events} WHERE {waits} IS NOT NULL")
    return "slow"


def _set_pause(seconds: int) -> None:
    _executed(f"UPDATE public.pause SET seconds = {seconds}")  # noqa: S608


def _drop_soon() -> None:
    """As soon as the query is seen to run, its connection is cut."""
    threading.Thread(target=_drop_query, daemon=True).start()


def _drop_query() -> None:
    running = (
        b"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        b" WHERE wait_event = 'PgSleep' AND pid <> pg_backend_pid()"
    )
    with closing(psycopg.connect(postgres_url(), autocommit=True)) as connection:
        while connection.execute(running).fetchone() == (0,):
            pass


def test_spark_gone_between_charge_and_read_costs_once(tmp_path: Path) -> None:
    own = spark_server()
    workspace = added(tmp_path, replace(placed("spark", EVENTS, tmp_path), url=own.url))
    with pytest.raises(ReleaseFailed):
        session_on(workspace, at_charge(own.stop)).release(questions("claims"), HALF)
    assert spent(workspace) == {"0.5"}
    own.start()
    released = workspace.checkpoint().release(questions("claims"), HALF)
    assert len(released[0].answers) == 3
    assert spent(workspace) == {"0.5"}
    own.stop()


# --- before the charge ----------------------------------------------------------------


def test_nothing_before_the_charge_looks_at_the_source(tmp_path: Path) -> None:
    """Its files are gone: previews, rehearsals, refusals and replays are as before."""
    given = placed("parquet", EVENTS, tmp_path)
    workspace = added(tmp_path, given)
    analyst, asked = workspace.checkpoint(), questions("claims")
    before = analyst.release(asked, HALF)
    Path(given.url.removeprefix("parquet:")).unlink()
    assert analyst.preview(asked, "0.25")
    assert analyst.rehearse(asked, "0.25")
    assert [a.value for a in analyst.release(asked, HALF)[0].answers] == [
        a.value for a in before[0].answers
    ]
    with pytest.raises(BudgetExceeded):
        analyst.release(asked, "0.75")
    with pytest.raises(ReleaseFailed):
        analyst.release(asked, "0.25", derived=False)
    with pytest.raises(WorkspaceError, match="cannot be read"):
        workspace.exact(asked)
