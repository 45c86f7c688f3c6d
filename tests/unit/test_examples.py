"""The example logs: reproducible, plausible, and written as their formats demand."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest

from pappi.examples import EXAMPLES, Chance, Event, Example, Weighted, write_csv, write_xes
from pappi.examples.claims import CASHIERS, HANDLERS, after_work, simulate_claims
from pappi.examples.hospital import simulate_hospital

XES = "{http://www.xes-standard.org/}"
Traces = dict[str, list[Event]]


def traces_of(events: Iterable[Event]) -> Traces:
    return {case: list(trace) for case, trace in groupby(events, key=lambda event: event.case_id)}


@pytest.fixture(scope="module")
def claims() -> Traces:
    return traces_of(simulate_claims())


@pytest.fixture(scope="module")
def patients() -> Traces:
    return traces_of(simulate_hospital())


def share(truths: Iterable[bool]) -> float:
    return mean(float(truth) for truth in truths)


def first(trace: list[Event], activity: str) -> datetime | None:
    return next((event.timestamp for event in trace if event.activity == activity), None)


def last(trace: list[Event], activity: str) -> datetime | None:
    return first(trace[::-1], activity)


def hours(start: datetime | None, end: datetime | None) -> float | None:
    if start is None or end is None or end < start:
        return None
    return (end - start) / timedelta(hours=1)


def within(start: datetime | None, end: datetime | None, limit: float) -> bool:
    elapsed = hours(start, end)
    return elapsed is not None and elapsed < limit


# --- both logs ------------------------------------------------------------------------


def test_the_same_seed_writes_the_same_bytes_of_a_small_log(tmp_path: Path) -> None:
    for run in ("one", "two"):
        write_csv(simulate_claims(1, 100), tmp_path / f"{run}.csv.gz")
        write_xes(simulate_hospital(1, 100), tmp_path / f"{run}.xes.gz")
    for ending in ("csv.gz", "xes.gz"):
        first, second = (tmp_path / f"{run}.{ending}" for run in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.long
@pytest.mark.outside
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_the_same_seed_writes_the_same_bytes(example: Example, tmp_path: Path) -> None:
    digests = set()
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        path = example.write_log(tmp_path / run)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_another_seed_gives_another_log() -> None:
    assert list(simulate_claims(1, 20)) != list(simulate_claims(2, 20))
    assert list(simulate_hospital(1, 20)) != list(simulate_hospital(2, 20))


def test_a_log_has_as_many_cases_as_asked_for() -> None:
    assert len(traces_of(simulate_claims(cases=7))) == 7
    assert len(traces_of(simulate_hospital(cases=7))) == 7
    assert list(simulate_claims(cases=0)) == []


@pytest.mark.parametrize("name", ["claims", "patients"])
def test_cases_lie_in_two_years_and_their_events_in_order(
    name: str, request: pytest.FixtureRequest
) -> None:
    traces: Traces = request.getfixturevalue(name)
    events = [event for trace in traces.values() for event in trace]
    assert all(event.timestamp.year in (2024, 2025) for event in events)
    for trace in traces.values():
        assert all(a.timestamp <= b.timestamp for a, b in pairwise(trace))
    months = Counter((t[-1].timestamp.year, t[-1].timestamp.month) for t in traces.values())
    assert len(months) == 24
    assert min(months.values()) >= 60


def test_examples_name_their_log_zone_and_catalogue() -> None:
    assert set(EXAMPLES) == {"claims", "sepsis"}
    for name, example in EXAMPLES.items():
        assert example.log == name
        assert example.catalogue == f"{name}.yaml"
        zones = {event.timestamp.tzinfo for event in example.simulate()}
        assert zones == {ZoneInfo(example.zone)}


# --- claims ---------------------------------------------------------------------------


def test_there_are_four_thousand_claims(claims: Traces) -> None:
    assert len(claims) == 12_000


def test_a_claim_takes_days_and_longer_in_the_summer_of_2025(claims: Traces) -> None:
    sojourn = {case: (t[-1].timestamp - t[0].timestamp).days for case, t in claims.items()}
    ordered = sorted(sojourn.values())
    assert ordered[len(ordered) // 20] >= 1
    assert ordered[-len(ordered) // 20] <= 15

    def average(year: int, months: set[int]) -> float:
        return mean(
            sojourn[case]
            for case, t in claims.items()
            if t[-1].timestamp.year == year and t[-1].timestamp.month in months
        )

    assert average(2025, {7, 8}) > 1.6 * average(2025, {2, 3, 4})
    assert average(2025, {11, 12}) < average(2025, {2, 3, 4}) + 0.5


def test_a_fifth_of_the_claims_is_rejected(claims: Traces) -> None:
    rejected = share(first(trace, "Reject claim") is not None for trace in claims.values())
    assert 0.15 <= rejected <= 0.25


def test_a_claim_is_rejected_or_paid_but_never_both(claims: Traces) -> None:
    for trace in claims.values():
        names = [event.activity for event in trace]
        assert names[0] == "Receive claim"
        assert not {"Reject claim", "Approve claim"} <= set(names)
        assert ("Pay claim" not in names) or ("Approve claim" in names)
        if "Close claim" in names:
            assert names[-1] == "Close claim"
            assert "Reject claim" in names or "Pay claim" in names


def test_documents_may_be_asked_for_again(claims: Traces) -> None:
    times = Counter(
        sum(event.activity == "Request documents" for event in trace) for trace in claims.values()
    )
    assert set(times) == {0, 1, 2, 3}


def test_claim_events_carry_what_they_should(claims: Traces) -> None:
    for trace in claims.values():
        for event in trace:
            assert event.attributes["resource"] in {*HANDLERS, *CASHIERS}
            assert event.attributes["channel"] in {"phone", "web", "agent"}
            valued = event.activity in ("Receive claim", "Assess damage")
            assert ("damage" in event.attributes) is valued
            if valued:
                assert isinstance(damage := event.attributes["damage"], float)
                assert 0 < damage <= 60_000


def test_claims_are_handled_in_office_hours(claims: Traces) -> None:
    for trace in claims.values():
        for event in trace[1:]:
            assert event.timestamp.weekday() < 5
            assert 8 <= event.timestamp.hour <= 17


@pytest.mark.parametrize(
    ("moment", "minutes", "expected"),
    [
        ("2024-03-01 09:00", 60, "2024-03-01 10:00"),
        ("2024-03-01 05:00", 0, "2024-03-01 08:00"),
        ("2024-03-01 20:00", 5, "2024-03-04 08:05"),
        ("2024-03-02 12:00", 0, "2024-03-04 08:00"),
        ("2024-03-03 12:00", 9 * 60, "2024-03-05 08:00"),
        ("2024-03-06 08:00", 5 * 9 * 60 + 1, "2024-03-13 08:01"),
    ],
)
def test_office_time_skips_nights_and_weekends(moment: str, minutes: int, expected: str) -> None:
    later = after_work(datetime.fromisoformat(moment), minutes)
    assert later == datetime.fromisoformat(expected)


# --- hospital -------------------------------------------------------------------------


def test_there_are_three_thousand_patients_and_one_is_called_na(patients: Traces) -> None:
    assert len(patients) == 6_000
    assert "NA" in patients


def test_the_activities_are_those_of_the_sepsis_log(patients: Traces) -> None:
    seen = {event.activity for trace in patients.values() for event in trace}
    releases = {f"Release {letter}" for letter in "ABCDE"}
    emergency = {"ER Registration", "ER Triage", "ER Sepsis Triage", "Return ER"}
    care = {"IV Liquid", "IV Antibiotics", "Admission NC", "Admission IC"}
    assert seen == releases | emergency | care | {"CRP", "Leucocytes", "LacticAcid"}


def test_half_of_the_events_or_more_share_their_timestamp(patients: Traces) -> None:
    tied = total = 0
    for trace in patients.values():
        at = Counter(event.timestamp for event in trace)
        tied += sum(count for count in at.values() if count > 1)
        total += len(trace)
    assert 0.4 <= tied / total <= 0.8


def test_waiting_is_heavy_tailed_and_not_everyone_is_admitted(patients: Traces) -> None:
    waits = [
        wait
        for trace in patients.values()
        if (wait := hours(first(trace, "ER Registration"), last(trace, "Admission NC"))) is not None
    ]
    assert 0.6 <= len(waits) / len(patients) <= 0.85
    assert 20 <= mean(waits) <= 30
    assert sorted(waits)[len(waits) // 2] < 8
    assert max(waits) > 200


def test_stays_last_two_to_thirty_five_days(patients: Traces) -> None:
    admissions = ("Admission NC", "Admission IC")
    for trace in patients.values():
        admitted = next((e.timestamp for e in trace if e.activity in admissions), None)
        released = next((e.timestamp for e in trace if e.activity.startswith("Release")), None)
        stay = hours(admitted, released)
        assert stay is None or 2 * 24 - 1 <= stay <= 35 * 24 + 1


def test_returns_antibiotics_and_lactic_acid_come_in_plausible_shares(patients: Traces) -> None:
    traces = patients.values()
    home = [trace for trace in traces if first(trace, "Release A")]
    returned = share(within(first(t, "Release A"), last(t, "Return ER"), 28 * 24) for t in home)
    assert 0.10 <= returned <= 0.15
    assert (
        0.30 <= share(within(t[0].timestamp, last(t, "IV Antibiotics"), 1) for t in traces) <= 0.4
    )
    assert 0.65 <= share(within(t[0].timestamp, last(t, "LacticAcid"), 3) for t in traces) <= 0.75


def test_treatment_gets_faster_after_the_protocol(patients: Traces) -> None:
    def early(year: int, months: set[int]) -> float:
        return share(
            within(t[0].timestamp, last(t, "IV Antibiotics"), 1)
            for t in patients.values()
            if t[0].timestamp.year == year and t[0].timestamp.month in months
        )

    assert early(2025, {10, 11, 12}) > early(2025, {1, 2, 3}) + 0.08


def test_hospital_events_carry_what_they_should(patients: Traces) -> None:
    kinds: dict[str, tuple[str, type]] = {
        "age": ("ER Registration", int),
        "diagnose": ("ER Registration", str),
        "crp": ("CRP", float),
        "leucocytes": ("Leucocytes", float),
        "lacticacid": ("LacticAcid", float),
    }
    for trace in patients.values():
        for event in trace:
            assert isinstance(event.attributes["group"], str)
            for name, (activity, kind) in kinds.items():
                assert (name in event.attributes) is (event.activity == activity)
                assert isinstance(event.attributes.get(name, kind()), kind)


# --- files ----------------------------------------------------------------------------


def test_csv_has_the_promised_columns_and_wall_clock_times(tmp_path: Path) -> None:
    write_csv(simulate_claims(cases=50), path := tmp_path / "claims.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["case_id", "activity", "timestamp", "resource", "damage", "channel"]
    for row, event in zip(rows, simulate_claims(cases=50), strict=True):
        assert row["timestamp"] == f"{event.timestamp:%Y-%m-%d %H:%M:%S}"
        assert row["damage"] == str(event.attributes.get("damage", ""))
    assert b"\r" not in path.read_bytes()


def test_xes_reads_back_as_the_events_it_was_written_from(tmp_path: Path) -> None:
    write_xes(simulate_hospital(cases=80), path := tmp_path / "log.xes.gz")
    with gzip.open(path) as file:
        log = ET.parse(file).getroot()  # noqa: S314 - our own file
    assert log.tag == f"{XES}log"
    assert {node.get("prefix") for node in log.iter(f"{XES}extension")} == {"concept", "time"}
    read = [
        (_text(trace, "concept:name"), _text(event, "concept:name"), _text(event, "time:timestamp"))
        for trace in log.iter(f"{XES}trace")
        for event in trace.iter(f"{XES}event")
    ]
    assert read == [
        (event.case_id, event.activity, event.timestamp.isoformat(timespec="milliseconds"))
        for event in simulate_hospital(cases=80)
    ]


def test_xes_attributes_are_typed_and_escaped(tmp_path: Path) -> None:
    when = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Amsterdam"))
    hostile = "a \"<&>'b"
    write_xes([Event(hostile, "A", when, {hostile: "t", "i": 1, "f": 0.5})], tmp_path / "x.xes")
    root = ET.parse(tmp_path / "x.xes").getroot()  # noqa: S314 - our own file
    event = root.find(f"{XES}trace/{XES}event")
    assert event is not None
    assert [(node.tag.removeprefix(XES), node.get("key")) for node in event] == [
        ("string", "concept:name"), ("date", "time:timestamp"),
        ("string", hostile), ("int", "i"), ("float", "f"),
    ]  # fmt: skip
    assert _text(event, "time:timestamp") == "2024-07-01T12:00:00.000+02:00"


def _text(node: ET.Element, key: str) -> str | None:
    return next(child.get("value") for child in node if child.get("key") == key)


# --- chance ---------------------------------------------------------------------------


def test_draws_have_the_promised_middle_and_limits() -> None:
    chance = Chance(7)
    skewed = sorted(chance.skewed(10, 3, at_most=60) for _ in range(4_000))
    assert 9 < skewed[2_000] < 11
    assert 0 < skewed[0] < skewed[-1] <= 60
    assert {chance.whole(1, 3) for _ in range(200)} == {1, 2, 3}


def test_weights_are_respected() -> None:
    chance = Chance(7)
    drawn = Counter(
        Weighted({"often": 3.0, "never": 0.0, "seldom": 1.0}).draw(chance) for _ in range(4_000)
    )
    assert drawn["never"] == 0
    assert 0.7 < drawn["often"] / 4_000 < 0.8
