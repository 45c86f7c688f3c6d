"""The owner's commands for a log that grows, its analysts and its subscriptions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run

pytestmark = pytest.mark.outside

CATALOGUE = """
log: shop
ppis:
  - id: visit
    name: Length of a visit
    measure: {mean: {time: {from: {activity: Come}, to: {activity: Go}}}}
    scope: every month
"""
CREATE = (
    *("log", "create", "shop", "--from", "2025-01-01", "--activity", "Come", "--activity", "Go"),
    *("--attribute", "cost:number", "--attribute", "who:text", "--keys", "who=Ann,Bob"),
    *("--bounds", "durations=0..10 hours", "--bounds", "cost=0..500", "--total-budget", "20"),
)


@pytest.fixture
def folder(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    run("init", tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    (tmp_path / "visits.yaml").write_text(CATALOGUE)
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, _events())) + "\n")
    return tmp_path


def _events() -> list[dict[str, object]]:
    return [
        {"id": f"{what}{n}", "case": f"visit-{n}", "activity": what}
        | {"time": f"2025-{1 + n % 6:02}-15T{hour}:00:00+01:00", "attributes": {"cost": n}}
        for n in range(60)
        for what, hour in (("Come", 10), ("Go", 12))
    ]


def ran(run: Run, *arguments: str | Path) -> str:
    code, out, errors = run(*arguments)
    assert code == 0, errors
    return out + errors


def test_a_log_grows_from_creation_to_the_release_of_a_subscription(run: Run, folder: Path) -> None:
    said = ran(run, *CREATE)
    assert "nothing is sealed yet" in said
    assert "ε 20 in all" in said
    assert "Ann, Bob" in said
    assert "durations 0 to 10 hours" in said
    assert "120 events captured" in ran(run, "log", "capture", "shop", folder / "events.ndjson")
    assert "120 were already there" in ran(run, "log", "capture", "shop", folder / "events.ndjson")
    code, _, errors = run("release", folder / "visits.yaml")
    assert (code, "does not overlap the log" in errors) == (7, True)
    assert "40 more cases" in ran(run, "log", "seal", "shop", "--until", "2025-05-01")
    said = ran(run, "subscription", "add", folder / "visits.yaml", "--until", "2025-07-01")
    assert "2025-05-01 up to 2025-07-01" in said
    assert "Nothing to do" in ran(run, "subscription", "run")
    assert "2025-04" in ran(run, "release", folder / "visits.yaml")
    ran(run, "log", "seal", "shop")
    said = ran(run, "subscription", "run")
    assert "2025-05" in said
    assert "2025-06" in said
    assert "Charged: what was reserved in advance.\nRemaining budget: ε" in said
    (line,) = ran(run, "subscription", "list").splitlines()
    assert "0 reservations" in ran(run, "subscription", "end", line.split()[0])


def test_erasing_asks_first_and_says_how_much(run: Run, folder: Path) -> None:
    ran(run, *CREATE)
    ran(run, "log", "capture", "shop", folder / "events.ndjson")
    ran(run, "log", "seal", "shop")
    code, _, _ = run("log", "erase", "shop", "--case", "visit-1")
    assert code != 0
    said = ran(run, "log", "erase", "shop", "--case", "visit-1", "--yes")
    assert "Erased 1 case with 2 events" in said
    said = ran(run, "trail")
    assert "erase" in said
    assert "visit-1" not in said


@pytest.mark.usefixtures("folder")
def test_keys_and_analysts_come_and_go(run: Run) -> None:
    ran(run, *CREATE)
    code, secret, errors = run("key", "issue", "analyst", "alice", "--expires", "2199-01-01")
    assert code == 0
    assert secret.startswith("pappi_")
    assert "not be shown again" in errors
    assert "ε 0.5" in ran(run, "analyst", "grant", "shop", "alice", "0.5")
    assert "alice: ε 0.5 of each block of 'shop'" in ran(run, "analyst", "list")
    listed = ran(run, "key", "list")
    assert "analyst alice (preview, release): valid until 2199-01-01" in listed
    assert secret.strip() not in listed
    assert "is revoked" in ran(run, "key", "revoke", listed.split()[0])
    assert "revoked" in ran(run, "key", "list")
    ran(run, "analyst", "withdraw", "shop", "alice")
    assert ran(run, "analyst", "list") == ""
    entry = json.loads(ran(run, "trail", "--json", "--limit", "200").splitlines()[-1])
    assert (entry["kind"], entry["what"]["by"]) == ("withdraw", "owner")


def test_stop_refuses_everything_until_resume(run: Run, folder: Path) -> None:
    ran(run, *CREATE)
    ran(run, "log", "capture", "shop", folder / "events.ndjson")
    ran(run, "log", "seal", "shop")
    ran(run, "stop", "an inspection")
    code, _, errors = run("release", folder / "visits.yaml")
    assert (code, "an inspection" in errors) == (14, True)
    ran(run, "resume")
    ran(run, "release", folder / "visits.yaml")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--bounds", "cost", "not a pair of bounds"),
        ("--bounds", "cost=5..1", "not a pair of bounds"),
        ("--bounds", "cost=0..5 parsecs", "not a pair of bounds"),
        ("--bounds", "prize=0..5", "no attribute 'prize'"),
        ("--keys", "who", "is not an attribute with its values"),
        ("--attribute", "cost", "not an attribute and its kind"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_declared_is_explained(run: Run, option: str, value: str, says: str) -> None:
    code, _, errors = run(*CREATE, option, value)
    assert code == 2
    assert says in errors
    assert "No logs yet" in ran(run, "log", "list")


def test_a_line_that_is_no_event_is_named_and_nothing_of_its_batch_is_taken(
    run: Run, folder: Path
) -> None:
    ran(run, *CREATE)
    broken = folder / "broken.ndjson"
    broken.write_text((folder / "events.ndjson").read_text() + '{"id": "x"}\n')
    code, _, errors = run("log", "capture", "shop", broken)
    assert (code, "event 121" in errors) == (5, True)
    assert "120 events captured" in ran(run, "log", "capture", "shop", folder / "events.ndjson")
