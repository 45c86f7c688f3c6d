"""A person's cases count as often as declared: truncation bounds, and moves nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pappi
from pappi.custody import NewLog
from pappi.engine import CaseTable, Identify, case_level, evaluate_cases
from pappi.engine.table import Who, truncated_batches
from pappi.eventlog import ReadOptions
from pappi.ppinot import CountMeasure, Occurs, TruthLiteral, parse_catalogue
from pappi.session import Workspace
from pappi.store import open_readonly
from pappi.values import (
    CASE,
    Calendar,
    CaseBorder,
    Epsilon,
    Grid,
    Horizon,
    Per,
    PrivacyUnit,
    Terms,
    day_of,
)
from tests.small_logs import Row, event_table, workspace_with

ZONE = ZoneInfo("Europe/Amsterdam")
BLOCKS = Grid(Calendar.MONTH)
HORIZON = Horizon(date(1969, 12, 1), date(1970, 8, 1), BLOCKS)
KEY = bytes(range(32))
DAY_US = 86_400_000_000
NUMBER = CountMeasure(Occurs(TruthLiteral(value=True)))
"""A column that only says which case a row is."""

Truncate = Callable[[CaseTable, PrivacyUnit], CaseTable]

persons = st.sampled_from(["anna", "bert", "carl", None])
days = st.integers(0, 150) | st.none()
logs = st.lists(st.tuples(persons, days), max_size=25)
units = st.builds(PrivacyUnit, st.just("who"), st.integers(1, 4), st.sampled_from(Per))


def table_of(cases: list[tuple[str | None, int | None]]) -> CaseTable:
    anchors = [np.nan if day is None else float(day * DAY_US) for _, day in cases]
    return rows_of(
        CaseTable(
            np.array(anchors),
            {NUMBER: np.arange(len(cases), dtype=np.float64)},
            Who(
                pa.array([f"c{number}" for number in range(len(cases))], pa.large_string()),
                pa.array([person for person, _ in cases], pa.large_string()),
                KEY,
            ),
        ),
        np.ones(len(cases), dtype=np.bool_),
    )


def rows_of(table: CaseTable, wanted: np.ndarray) -> CaseTable:
    return table._rows(np.flatnonzero(wanted))


def persons_of(table: CaseTable) -> np.ndarray:
    assert table.who is not None
    assert table.who.persons is not None
    return np.array(table.who.persons.to_pylist(), dtype=object)


def numbers(table: CaseTable) -> set[float]:
    return set(table.columns[NUMBER].tolist())


def months_of(table: CaseTable) -> Iterator[CaseTable]:
    """Block by block, as the accounts are cut."""
    yield from table.split(BLOCKS.periods(date(1969, 12, 1), date(1970, 8, 1)), ZONE).values()


def ours(table: CaseTable, unit: PrivacyUnit) -> CaseTable:
    return table.truncated(unit, HORIZON, ZONE)


def assert_bounded(truncate: Truncate, table: CaseTable, unit: PrivacyUnit) -> None:
    """Leaving a person out takes at most their k rows away, and changes no other row."""
    kept = truncate(table, unit)
    for person in set(persons_of(table)) - {None}:
        without = truncate(rows_of(table, persons_of(table) != person), unit)
        theirs = rows_of(kept, persons_of(kept) == person)
        assert numbers(without) == numbers(kept) - numbers(theirs)
        accounts = [theirs] if unit.per is Per.LOG else list(months_of(theirs))
        assert max(len(numbers(account)) for account in accounts) <= unit.max_cases


def assert_settled(truncate: Truncate, table: CaseTable, unit: PrivacyUnit) -> None:
    """What was chosen in the first blocks stays chosen, whatever comes later."""
    kept = truncate(table, unit)
    for block in range(1, 6):
        end = date(1970, 1 + block, 1)
        early = table.anchor_us < BLOCKS.periods(end, end.replace(day=2))[0].borders_us(ZONE)[0]
        alone = truncate(rows_of(table, early), unit)
        assert numbers(alone) == numbers(kept) & numbers(rows_of(table, early))


@given(logs, units)
def test_one_person_changes_at_most_so_many_rows_and_nobody_elses(
    cases: list[tuple[str | None, int | None]], unit: PrivacyUnit
) -> None:
    assert_bounded(ours, table_of(cases), unit)


@given(logs, units)
def test_later_blocks_never_change_an_earlier_choice(
    cases: list[tuple[str | None, int | None]], unit: PrivacyUnit
) -> None:
    assert_settled(ours, table_of(cases), unit)


@given(logs, units)
def test_nobody_loses_more_cases_than_needed_and_the_order_stays(
    cases: list[tuple[str | None, int | None]], unit: PrivacyUnit
) -> None:
    table = table_of(cases)
    kept = ours(table, unit)
    assert sorted(numbers(kept)) == kept.columns[NUMBER].tolist()
    counting = rows_of(table, np.isfinite(table.anchor_us))
    for person in set(persons_of(counting)) - {None}:
        theirs = rows_of(counting, persons_of(counting) == person)
        accounts = [theirs] if unit.per is Per.LOG else list(months_of(theirs))
        expected = sum(min(len(numbers(account)), unit.max_cases) for account in accounts)
        assert np.count_nonzero(persons_of(kept) == person) == expected
    assert None not in set(persons_of(kept))


@given(logs, st.integers(0, 25), units)
def test_persons_are_bounded_over_all_batches_of_a_log_together(
    cases: list[tuple[str | None, int | None]], cut: int, unit: PrivacyUnit
) -> None:
    table, early = table_of(cases), np.arange(len(cases)) < cut
    batches = [rows_of(table, early), rows_of(table, ~early)]
    together = CaseTable.joined(truncated_batches(batches, unit, HORIZON, ZONE))
    kept = ours(table, unit)
    assert together.columns[NUMBER].tolist() == kept.columns[NUMBER].tolist()
    assert persons_of(together).tolist() == persons_of(kept).tolist()


def test_a_person_of_whom_no_case_has_an_instant_makes_no_release_fail() -> None:
    """Their number is beyond those of all whose cases count."""
    table = table_of([("anna", 1), ("anna", 2), ("anna", 3), ("bert", None)])
    kept = ours(table, PrivacyUnit("who", 2))
    assert persons_of(kept).tolist() == ["anna", "anna"]


@given(logs)
def test_where_the_unit_is_a_case_every_case_counts(
    cases: list[tuple[str | None, int | None]],
) -> None:
    table = table_of(cases)
    assert ours(table, CASE) is table


# --- a horizon that the data reaches beyond ----------------------------------------------------

DECLARED = Horizon(date(1970, 2, 1), date(1970, 4, 1), BLOCKS)
FAR = int(-169 * 365.25)
"""A day of the year 1801."""

far_days = st.integers(0, 150) | st.sampled_from([FAR, -FAR]) | st.none()
far_logs = st.lists(st.tuples(persons, far_days), max_size=25)


def answered(table: CaseTable, horizon: Horizon) -> set[float]:
    """The cases that answers can be about."""
    return numbers(table.within(horizon.covered, ZONE))


@given(far_logs, units)
def test_whatever_lies_beyond_the_horizon_the_same_cases_are_answered(
    cases: list[tuple[str | None, int | None]], unit: PrivacyUnit
) -> None:
    """As if every block there is, declared or not, had its own number."""
    table = table_of(cases)
    all_time = Horizon(date(1800, 1, 1), date(2140, 1, 1), BLOCKS)
    assert answered(table.truncated(unit, DECLARED, ZONE), DECLARED) == answered(
        table.truncated(unit, all_time, ZONE), DECLARED
    )


@given(far_logs, units)
def test_a_longer_horizon_changes_no_choice_in_the_blocks_of_the_shorter(
    cases: list[tuple[str | None, int | None]], unit: PrivacyUnit
) -> None:
    table = table_of(cases)
    longer = replace(DECLARED, until=date(1970, 6, 1))
    assert answered(table.truncated(unit, DECLARED, ZONE), DECLARED) == answered(
        table.truncated(unit, longer, ZONE), DECLARED
    )


@given(far_logs, st.integers(1, 4))
def test_persons_with_cases_beyond_the_horizon_count_as_often_as_declared(
    cases: list[tuple[str | None, int | None]], most: int
) -> None:
    def declared(table: CaseTable, unit: PrivacyUnit) -> CaseTable:
        return table.truncated(unit, DECLARED, ZONE)

    assert_bounded(declared, table_of(cases), PrivacyUnit("who", most))


# Whose blocks matter: only of persons with more cases than may stay are any sorted.
USUAL: list[tuple[str | None, int | None]] = [
    *(("anna", 3), ("anna", 5)),
    *(("bert", 100), ("carl", 7)),
]


def blocks_walked(cases: list[tuple[str | None, int | None]], blocks: Grid) -> int:
    """How many blocks the truncation of these cases looks at."""
    walked = 0

    class Counted(Grid):
        def _end_of(self, start: date) -> date:
            nonlocal walked
            walked += 1
            return super()._end_of(start)

    horizon = Horizon(date(1970, 1, 1), date(1970, 7, 1), Counted(blocks.unit, blocks.count))
    table_of(cases).truncated(PrivacyUnit("who", 1), horizon, ZONE)
    return walked


@pytest.mark.parametrize(
    "blocks", [Grid(Calendar.DAY), Grid(Calendar.MONTH), Grid(Calendar.DAY, 3)]
)
@pytest.mark.parametrize("far", [FAR, -FAR])
def test_one_case_of_1801_makes_no_release_walk_further(blocks: Grid, far: int) -> None:
    assert blocks_walked([*USUAL, ("carl", far)], blocks) == blocks_walked(USUAL, blocks) > 0


def test_blocks_walked_by_the_data_would_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they once were: from the first anchor to the last, whatever was declared."""

    def by_the_data(anchors: np.ndarray, horizon: Horizon, zone: ZoneInfo) -> np.ndarray:
        first, last = (day_of(int(edge), zone) for edge in (anchors.min(), anchors.max()))
        blocks = horizon.blocks.periods(first, last + timedelta(days=1))
        starts = [block.borders_us(zone)[0] for block in blocks]
        return np.searchsorted(np.array(starts, dtype=np.float64), anchors, side="right")

    monkeypatch.setattr("pappi.engine.table._block_numbers", by_the_data)
    blocks = Grid(Calendar.DAY)
    far, near = blocks_walked([*USUAL, ("carl", FAR)], blocks), blocks_walked(USUAL, blocks)
    assert far > 100 * near


# --- truncations that look right: the same assertions must find them out -------------------


def trusting(table: CaseTable, _: PrivacyUnit) -> CaseTable:
    return rows_of(table, persons_of(table) != None)  # noqa: E711 - elementwise


def first_come(table: CaseTable, unit: PrivacyUnit) -> CaseTable:
    """In the order of time over all persons: whoever leaves makes room for others."""
    people = len(set(persons_of(table)) - {None})
    order = np.argsort(table.anchor_us, kind="stable")[: unit.max_cases * people]
    return table._rows(np.sort(order))


def by_hash_alone(table: CaseTable, unit: PrivacyUnit) -> CaseTable:
    """Sound for one release, but a later case may take an earlier one's place."""
    one_block = replace(HORIZON, blocks=Grid(Calendar.YEAR, 50))
    return table.truncated(PrivacyUnit("who", unit.max_cases), one_block, ZONE)


def latest_first(table: CaseTable, unit: PrivacyUnit) -> CaseTable:
    backwards = CaseTable(-table.anchor_us, table.columns, table.who)
    return rows_of(table, np.isin(table.columns[NUMBER], list(numbers(ours(backwards, unit)))))


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (trusting, assert_bounded),
        (first_come, assert_bounded),
        (by_hash_alone, assert_settled),
        (latest_first, assert_settled),
    ],
)
def test_a_broken_truncation_is_caught(
    broken: Truncate, promise: Callable[[Truncate, CaseTable, PrivacyUnit], None]
) -> None:
    # Always the same examples, and enough of them: a search by chance once found none.
    @settings(database=None, report_multiple_bugs=False, derandomize=True, max_examples=500)
    @given(logs, st.integers(1, 4))
    def check(cases: list[tuple[str | None, int | None]], most: int) -> None:
        promise(broken, table_of(cases), PrivacyUnit("who", most))

    with pytest.raises(AssertionError):
        check()


# --- hashes ----------------------------------------------------------------------------------


def test_another_key_chooses_other_cases_but_as_many_in_each_block() -> None:
    table = table_of([("anna", day) for day in range(60)])
    assert table.who is not None
    other = CaseTable(
        table.anchor_us,
        table.columns,
        Who(table.who.case_ids, table.who.persons, bytes(32)),
    )
    unit = PrivacyUnit("who", 40)
    kept, again = ours(table, unit), ours(other, unit)
    assert numbers(kept) != numbers(again)
    sizes = [[len(numbers(month)) for month in months_of(each)] for each in (kept, again)]
    assert sizes[0] == sizes[1]


def test_buckets_are_a_case_s_own_and_stay_with_it_in_every_part_of_the_table() -> None:
    table = table_of([("anna", day % 150) for day in range(2000)])
    buckets = dict(zip(table.columns[NUMBER], table.buckets(10), strict=True))
    for month in months_of(table):
        found = dict(zip(month.columns[NUMBER], month.buckets(10), strict=True))
        assert found.items() <= buckets.items()
    counts = np.bincount(list(buckets.values()), minlength=10)
    assert counts.size == 10
    assert counts.min() > 140  # 200 expected; 4.5 standard deviations below


def test_who_is_kept_says_nothing_about_buckets() -> None:
    table = table_of([("anna", 3)] * 2000)
    kept = ours(table, PrivacyUnit("who", 200))
    # Kept are those with the smallest hashes; by the same hash all would be in the first buckets.
    counts = np.bincount(kept.buckets(2**62) // 2**61, minlength=2)
    assert counts.min() > 65  # 100 expected


def test_a_table_without_identities_can_neither_be_truncated_nor_put_into_buckets() -> None:
    table = CaseTable(np.zeros(3), {})
    with pytest.raises(LookupError):
        ours(table, PrivacyUnit("who", 1))
    with pytest.raises(LookupError):
        table.buckets(2)


def test_secrets_are_not_shown() -> None:
    shown = repr(table_of([("anna", 1)])) + repr(Identify(KEY, "who"))
    assert repr(KEY) not in shown


# --- on the engine ---------------------------------------------------------------------------

LARGE = 2**53


def persons_read(workspace: Workspace, column: str) -> list[object]:
    log = workspace.log("small")
    table = evaluate_cases(
        workspace.root / "events",
        log.table,
        CaseBorder.END,
        [],
        log.public.vocabulary,
        Identify(KEY, column),
    )
    return list(persons_of(table))


def test_persons_are_compared_as_text_and_what_is_no_number_is_nobody(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("a", "A", 0, {"large": LARGE, "odd": 1.5, "person": "x", "flag": True}),
        ("a", "B", 1, {"person": None}),
        ("b", "A", 0, {"large": LARGE + 1, "odd": np.nan, "person": "", "flag": False}),
        ("c", "A", 0, {"odd": np.inf}),
    ]
    workspace = workspace_with(tmp_path / "w", rows)
    assert persons_read(workspace, "large") == [str(LARGE), str(LARGE + 1), None]
    assert persons_read(workspace, "odd") == ["1.5", None, None]
    assert persons_read(workspace, "person") == ["x", "", None]
    assert persons_read(workspace, "flag") == ["true", "false", None]


def test_a_missing_text_is_in_no_group_not_even_one_called_question_mark(tmp_path: Path) -> None:
    rows: list[Row] = [("a", "A", 0, {"tag": "x"}), ("b", "A", 0, {})]
    workspace = workspace_with(tmp_path / "w", rows)
    grouped = "{sum: {count: activity == 'A'}, by: {data: tag, values: ['?', x]}}"
    answers = workspace.exact(
        parse_catalogue(f"log: small\nppis:\n  - {{id: one, measure: {grouped}}}\n")
    )
    assert [answer.value for answer in answers] == [0, 1]


def test_an_attribute_varies_where_one_case_has_two_values(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("a", "A", 0, {"same": "x", "once": 7, "doctor": "i", "large": LARGE}),
        ("a", "B", 1, {"same": "x", "doctor": "j", "large": LARGE + 1}),
        ("b", "A", 0, {"same": "y", "doctor": "i", "large": LARGE}),
    ]
    workspace = workspace_with(tmp_path / "w", rows)
    log = workspace.log("small")
    events = workspace.root / "events"
    found = case_level(
        events, log.table, ["doctor", "large", "once", "same"], log.public.vocabulary
    )
    assert found == ("once", "same")


COUNTED = """
log: small
ppis:
  - id: cases
    measure: {sum: {count: activity == "A"}}
    bounds: [0, 1]
    scope: every month
"""


def visits(*patients: tuple[str | None, int]) -> list[Row]:
    """So many one-event cases of each patient, in three months in turn."""
    return [
        (f"{patient}-{visit}", "A", 24.0 * 30 * (visit % 3), {"patient": patient})
        for patient, count in patients
        for visit in range(count)
    ]


@pytest.mark.parametrize(
    ("unit", "released"),
    [
        (CASE, [5, 4, 4]),
        (PrivacyUnit("patient", 2), [3, 0, 0]),
        (PrivacyUnit("patient", 2, Per.BLOCK), [3, 2, 2]),
        (PrivacyUnit("patient", 5), [4, 2, 0]),
    ],
)
def test_a_release_counts_what_the_unit_lets_count_and_exact_values_count_all(
    tmp_path: Path, unit: PrivacyUnit, released: list[float]
) -> None:
    rows = visits(("p1", 9), ("p2", 1), (None, 3))
    new = NewLog(terms=Terms(unit=unit, block_budget=Epsilon.of(2000)))
    workspace = workspace_with(tmp_path / "w", rows, new)
    catalogue = parse_catalogue(COUNTED)
    (series,) = workspace.checkpoint().release(catalogue, "1000")
    assert [answer.value for answer in series.answers] == released
    assert [answer.value for answer in workspace.exact(catalogue)] == [5, 4, 4]
    assert {answer.guarantee.unit for answer in series.answers} == {unit}


def test_cases_lie_in_blocks_as_their_zone_has_it(tmp_path: Path) -> None:
    """Half an hour before midnight UTC it is next month in Amsterdam: a choice of its own."""
    path = tmp_path / "log.csv"
    path.write_text(
        "case,activity,timestamp,patient\n"
        "c1,A,2024-01-31T12:00:00+00:00,p\n"
        "c2,A,2024-01-31T23:30:00+00:00,p\n",
        encoding="utf-8",
    )
    new = NewLog(
        terms=Terms(
            timezone="Europe/Amsterdam",
            unit=PrivacyUnit("patient", 1, Per.BLOCK),
            block_budget=Epsilon.of(2000),
        )
    )
    workspace = pappi.create(tmp_path / "w")
    options = ReadOptions(timezone="Europe/Amsterdam")
    workspace.import_log(path, "small", options=options, new=new)
    (series,) = workspace.checkpoint().release(parse_catalogue(COUNTED), "1000")
    assert [answer.value for answer in series.answers] == [1, 1]


def test_an_imported_log_of_persons_stands_beside_the_others(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", visits(("p1", 3)))
    new = NewLog(terms=Terms(unit=PrivacyUnit("patient", 1)))
    workspace.import_log(event_table(visits(("p1", 2))), "persons", new=new)
    tables = {log.name: log.table for log in workspace.logs()}
    for name, cases in (("small", 3), ("persons", 2)):
        with closing(open_readonly(workspace.root / "events", tables[name])) as connection:
            counted = connection.execute(f'SELECT count(*) FROM "{tables[name]}"').fetchone()  # noqa: S608
            assert counted == (cases,)
