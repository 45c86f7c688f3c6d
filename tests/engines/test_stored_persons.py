"""Persons are those of the events, whether they are stored case by case or read event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import pappi
from pappi.custody import NewLog
from pappi.engine import CaseTable, Identify, duck, evaluate_cases
from pappi.engine.duck import _Persons
from pappi.eventlog import open_log
from pappi.ppinot import parse_catalogue
from pappi.store import adopt_events, import_events, knows_cases, open_readonly
from pappi.values import Adjacency, CaseBorder, Kind, Per, PrivacyUnit, Terms, Vocabulary
from tests.captured_logs import MEASURES, Fed, event, frame, us
from tests.small_logs import claims, event_table

UNIT = PrivacyUnit("customer", 2, Per.BLOCK)
WORKED = parse_catalogue("""
log: small
ppis:
  - id: worked
    measure:
      mean: {time: {from: case start, to: case end, calendar: "Mon-Fri 09:00-17:00"}}
""")
PEOPLE = ("ann", "bob", None, "eve", "Ann", "", "ann")


def fed(folder: Path) -> Iterator[Fed]:
    """A log that grows by a part a month until some are united: persons have cases in several.

    A case may be nobody's, or tell its person at a later event only.
    """
    log = Fed(folder, unit=UNIT).create()
    for month in range(1, 11):
        for case, person in enumerate((*PEOPLE[month % 4 :], *PEOPLE[: month % 4])):
            whose = {0: None if case % 2 else person, 1: person, 2: person}
            for n, customer in whose.items():
                of = {} if customer is None else {"customer": customer}
                at = us(date(2024, month, 1 + (5 * case) % 28), n)
                log.capture(event(f"{month} {case} {n}", f"c{month}-{case}", at, **of))
        log.seal(date(2024, month + 1, 1))
        if month in (1, 2, 9, 10):
            yield log
    log.erase(cases=["c3-0", "c9-1", "c1-0"])
    yield log
    log.erase(persons=["eve"])
    yield log


def known(log: Fed) -> bool:
    with closing(open_readonly(log.files.events, log.log.table)) as connection:
        return knows_cases(connection, "customer")


def persons(table: CaseTable) -> list[tuple[str, int]]:
    """Each case, and which case was the first of the same person; -1 for nobody's."""
    assert table.who is not None
    numbers = table.who.person_numbers().tolist()
    firsts = {-1: -1} | {n: i for i, n in reversed([*enumerate(numbers)]) if n >= 0}
    return [
        (case, firsts[n]) for case, n in zip(table.who.case_ids.to_pylist(), numbers, strict=True)
    ]


def read_apart(log: Fed, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """From the events alone."""
    with monkeypatch.context() as patch:
        patch.setattr(duck, "knows_cases", lambda *_: False)
        return persons(log.cases())


@pytest.mark.parametrize("events", [5, duck.EVENTS_PER_RANGE])
def test_stored_persons_are_those_of_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: int
) -> None:
    monkeypatch.setattr(duck, "EVENTS_PER_RANGE", events)
    monkeypatch.setattr(duck, "MANY_RANGES", 2**20)
    for log in fed(tmp_path / "w"):
        assert known(log)
        stored = persons(log.cases())
        assert stored == read_apart(log, monkeypatch)
        assert {first for _, first in stored} > {-1}
        assert len({first for _, first in stored}) < len(stored)


def worked(log: Fed) -> CaseTable:
    """What a query has joined with a calendar, whose cases come in no order."""
    measures = [ppi.measure for ppi in (*WORKED.ppis, *MEASURES.ppis)]
    return evaluate_cases(
        *(log.files.events, log.log.table, log.log.terms.anchor, measures),
        log.log.public.vocabulary,
        Identify(bytes(32), "customer"),
        days=log.log.public.days,
    )


@pytest.mark.parametrize("events", [5, duck.EVENTS_PER_RANGE])
def test_working_time_leaves_every_case_its_own_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: int
) -> None:
    monkeypatch.setattr(duck, "EVENTS_PER_RANGE", events)
    monkeypatch.setattr(duck, "MANY_RANGES", 2**20)
    for log in fed(tmp_path / "w"):
        table = worked(log)
        assert persons(table) == read_apart(log, monkeypatch)
        anchors = log.cases().anchor_us
        assert table.anchor_us.tolist() == anchors.tolist()


def test_persons_that_are_others_in_every_part_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = _Persons.of

    def apart(*tables: object) -> _Persons:
        return _Persons(of(*tables).begins, None)  # type: ignore[arg-type]

    logs = fed(tmp_path / "w")
    next(logs)
    log = next(logs)
    monkeypatch.setattr(_Persons, "of", apart)
    assert persons(log.cases()) != read_apart(log, monkeypatch)


def test_a_log_of_an_earlier_version_goes_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for log in fed(tmp_path / "w"):
        path = log.files.events / "events_1.json"
        parts = json.loads(path.read_text())
        if parts.pop("person", None):
            path.write_text(json.dumps(parts))
        assert not known(log)
        assert persons(log.cases()) == read_apart(log, monkeypatch)


def test_cases_that_are_not_those_of_the_events_are_refused(tmp_path: Path) -> None:
    log = next(fed(tmp_path / "w"))
    with pytest.raises(LookupError, match="not those of its events"):
        spoilt(log)


def spoilt(log: Fed) -> None:
    import duckdb

    for part in log.files.events.glob("*.duckdb"):
        with closing(duckdb.connect(str(part))) as connection:
            connection.execute(
                "DELETE FROM cases WHERE first_pos = (SELECT max(first_pos) FROM cases)"
            )
    log.cases()


def test_a_case_of_two_persons_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No import or capture lets one in; should one be there, it counts nowhere."""
    log = Fed(tmp_path / "w", unit=UNIT)
    whose = [("c0", "ann"), ("c1", "ann"), ("c1", "bob"), ("c0", None), ("c2", "bob")]
    rows = [
        event(f"{n}", case, us(date(2024, 1, 5), n), customer=person)
        for n, (case, person) in enumerate(whose)
    ]
    import_events(tmp_path / "passing", log.log.table, open_log(frame(rows, log.log)))
    adopt_events(tmp_path / "passing", log.files.events, log.log.table, "customer")
    assert known(log)
    stored = persons(log.cases())
    assert stored == read_apart(log, monkeypatch) == [("c0", 0), ("c1", -1), ("c2", 2)]


ODD = (
    *(
        "",
        " ",
        "a",
        "A",
        "a ",
        " a",
        "a\x00",
        "a\x00b",
        "\x00",
        "ä",
        "a\u0308",
        "ß",
        "ss",
        "İ",
        "i",
    ),
    *("null", "1", "1.0", "'", '"', "\n", "\ufeff", "\u200b", "\U0001f600", "x" * 12, "x" * 13),
)
NAMES = ("customer", "Person", "person", "named", "part", "number", "min", ":cases", 'p "q"')


@pytest.mark.parametrize("seed", range(20))
def test_of_whatever_log_each_case_is_of_the_person_whom_its_events_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Against the events themselves: odd texts, missing ones, cases of two, events in disorder."""
    random = Random(seed)  # noqa: S311 - chooses test data
    name, size = random.choice(NAMES), random.choice([0, 1, 40, 400])
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    rows: list[tuple[str, str, datetime, str | None]] = []
    for number in range(size):
        whose = random.choice(ODD)
        for n in range(random.randint(1, 4)):
            told = random.choice(ODD) if random.random() < 0.02 else whose
            at = begin + timedelta(hours=number % 70 + n)
            rows.append((f"c{number}", "Pay", at, random.choice([told, told, None])))
    if random.random() < 0.5:
        random.shuffle(rows)
    case_ids, activities, times, people = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {
        "case_id": pa.array(case_ids, pa.string()),
        "activity": pa.array(activities, pa.string()),
        "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
        name: pa.array(people, pa.string()),
    }
    report = import_events(tmp_path / "passing", "events_1", open_log(pa.table(columns)))
    (stored,) = [column.name for column in report.columns]
    adopt_events(tmp_path / "passing", tmp_path / "events", "events_1", stored)
    monkeypatch.setattr(duck, "EVENTS_PER_RANGE", random.choice([5, 50, 2**20]))
    monkeypatch.setattr(duck, "MANY_RANGES", 2**20)
    table = evaluate_cases(
        *(tmp_path / "events", "events_1", CaseBorder.END, [MEASURES.ppis[0].measure]),
        Vocabulary(("Pay",), {stored: Kind.TEXT}),
        Identify(bytes(32), stored),
    )
    with closing(open_readonly(tmp_path / "events", "events_1")) as connection:
        assert knows_cases(connection, stored)
    told_of: dict[str, set[str]] = {case: set() for case in case_ids}
    for case, _, _, person in rows:
        told_of[case] |= set() if person is None else {person}
    firsts: dict[str, int] = {}
    assert table.who is not None
    expected = []
    for place, case in enumerate(table.who.case_ids.to_pylist()):
        whom = told_of[case].pop() if len(told_of[case]) == 1 else None
        expected.append((case, -1 if whom is None else firsts.setdefault(whom, place)))
    assert len(expected) == len(told_of)
    assert persons(table) == expected


def test_an_imported_log_stores_persons_only_where_texts_tell_them_apart(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    for column, stored in (("channel", True), ("damage", False)):
        terms = Terms(unit=PrivacyUnit(column=column), adjacency=Adjacency.ADD_REMOVE)
        rows = [
            (case, activity, at, {"channel": case, "damage": 1.0})
            for case, activity, at, _ in claims(9)
        ]
        log = workspace.import_log(event_table(rows), column, new=NewLog(terms=terms)).declaration
        with closing(open_readonly(workspace.root / "events", log.table)) as connection:
            assert knows_cases(connection, column) is stored
            assert not knows_cases(connection, "other")


def test_an_erased_person_is_in_no_file(tmp_path: Path) -> None:
    log = Fed(tmp_path / "w", unit=UNIT).create()
    for case, person in enumerate(("Zacharias the last", "ann")):
        log.capture(event(f"{case}", f"c{case}", us(date(2024, 1, 5), case), customer=person))
    log.seal(date(2024, 2, 1))
    assert any(b"Zacharias" in path.read_bytes() for path in log.files.events.iterdir())
    log.erase(persons=["Zacharias the last"])
    assert not any(b"Zacharias" in path.read_bytes() for path in log.files.events.iterdir())
    assert known(log)
