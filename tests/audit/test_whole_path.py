"""From events to laws: what is told of a log depends on its set of cases, and by no more than ε."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pappi.engine import CaseTable
from pappi.engine.duck import Duck
from pappi.mechanisms import DiscreteLaplaceLaw, JointLaw, Loss, SampleAndAggregate, mechanism_names
from pappi.ppinot import tree
from pappi.values import Adjacency, Per
from tests.audit.paths import Comparison, PathReport, Reading, Told, audit_path
from tests.audit.whole_path import (
    PERSONS,
    PPIS,
    TERMS,
    Case,
    Logs,
    in_order,
    made_log,
    ranges_of,
    replaced,
    shuffled,
    threads_of,
    within,
    without,
    without_person,
)
from tests.engines.places import ENGINES

# `make audit` looks at many more logs, and at all neighbours of each.
LOGS = int(os.environ.get("PAPPI_AUDIT_LOGS", "1"))
LONG = LOGS > 1
SEEDS = range(1, LOGS + 1)


def some(cases: tuple[Case, ...], at_least: int) -> tuple[Case, ...]:
    """Some to do without, the longest among them: it is what a maximum is about."""
    longest = max(cases, key=lambda case: case.events[-1][1] - case.events[0][1])
    return cases if LONG else (longest, *without(cases, longest)[: at_least - 1])


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs.under(tmp_path, key=1)


def assert_passed(report: PathReport) -> None:
    assert report.passed, "\n".join(report.failures)


# --- the same cases, read in other ways -----------------------------------------------


def other_ways(logs: Logs, cases: tuple[Case, ...], seed: int) -> Iterator[Comparison]:
    base, mixed = logs.imported(in_order(cases)), logs.imported(shuffled(cases, seed))
    yield logs.same("rows in another order", base, mixed)
    for events, readers in ((1, 3), (9, 1)):
        way = f"ranges of {events} events, {readers} at once"
        yield within(lambda e=events, r=readers: ranges_of(e, r), logs.same(way, base, mixed))  # type: ignore[misc]
    yield within(lambda: threads_of(4), logs.same("four threads", base, mixed))
    yield replace(logs.same("each alone", base, mixed), second=lambda: logs.read_alone(mixed))
    yield logs.same("captured and sealed", base, logs.captured(cases, seed))
    more = (*cases[:3], Case("gone", cases[0].events), *cases[3:])
    yield logs.same("with a case that was erased", base, logs.erased(more, more[3]))


def test_what_is_told_of_a_log_depends_on_its_set_of_cases_alone(logs: Logs, seed: int) -> None:
    report = audit_path(other_ways(logs, made_log(seed), seed))
    assert_passed(report)
    assert report.compared == 7 * len(PPIS)


def test_threads_that_share_a_log_tell_the_same(logs: Logs, seed: int) -> None:
    """Large enough to be divided between them: the order of its cases is up to them."""
    cases = made_log(seed, 2500 if LONG else 1200)
    base, mixed = logs.imported(in_order(cases)), logs.imported(shuffled(cases, seed))
    again = [
        within(lambda n=number: threads_of(n), logs.same(f"{number} threads", base, mixed))  # type: ignore[misc]
        for number in ((1, 2, 4, 4, 4) if LONG else (4,))
    ]
    assert_passed(audit_path(again))


# --- neighbouring logs ----------------------------------------------------------------


def one_case_less(logs: Logs, cases: tuple[Case, ...], seed: int) -> Iterator[Comparison]:
    base = logs.imported(in_order(cases))
    for number, case in enumerate(some(cases, 6)):
        rows = shuffled(without(cases, case), seed)
        told = logs.neighbours(f"without {case.id}", base, logs.imported(rows))
        yield within(lambda: ranges_of(5), told) if number % 2 else told


def test_one_case_changes_what_is_told_by_no_more_than_is_charged(logs: Logs, seed: int) -> None:
    report = audit_path(one_case_less(logs, made_log(seed), seed))
    if seed == 1:
        assert_passed(report)
    assert_at_most_charged(report)


def test_so_it_is_where_cases_were_captured(logs: Logs, seed: int) -> None:
    cases = made_log(seed)
    base = logs.captured(cases, seed)
    pairs = [
        logs.neighbours(f"without {case.id}", base, logs.captured(without(cases, case), seed))
        for case in some(cases, 1)
    ]
    assert_at_most_charged(audit_path(pairs))


def assert_at_most_charged(report: PathReport) -> None:
    """Where so few pairs are compared that some PPIs see none of them differ."""
    vacuous = "no pair of neighbours is told apart by"
    assert [each for each in report.failures if not each.startswith(vacuous)] == []
    assert report.compared
    assert any(loss > 0 for loss in report.worst.values())


def test_what_one_case_holds_may_differ_under_replace(tmp_path: Path, seed: int) -> None:
    logs = Logs.under(
        tmp_path, 1, replace(TERMS, terms=replace(TERMS.terms, adjacency=Adjacency.REPLACE))
    )
    numbers = range(20) if LONG else range(2)
    assert_at_most_charged(audit_path(one_case_replaced(logs, made_log(seed), numbers, seed)))


def one_case_replaced(
    logs: Logs, cases: tuple[Case, ...], numbers: Iterable[int], seed: int
) -> Iterator[Comparison]:
    base = logs.imported(in_order(cases))
    for number in numbers:
        rows = shuffled(replaced(cases, number, seed + number), seed)
        yield logs.neighbours(f"another {cases[number].id}", base, logs.imported(rows))


@pytest.mark.parametrize("per", Per)
def test_one_person_changes_it_by_no_more_than_that(tmp_path: Path, per: Per, seed: int) -> None:
    logs = Logs.under(tmp_path, 1, replace(TERMS, terms=replace(TERMS.terms, unit=PERSONS[per])))
    cases = made_log(seed)
    base = logs.imported(in_order(cases))
    mixed = logs.imported(shuffled(cases, seed))
    pairs = [
        logs.neighbours(
            f"without {who}", base, logs.imported(shuffled(without_person(cases, who), seed))
        )
        for who in (("anna", "bert", "carl", "dora") if LONG else ("anna", "bert"))
    ]
    assert_at_most_charged(audit_path([logs.same("in another order", base, mixed), *pairs]))


# --- every engine ---------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_tells_the_same_and_no_more(logs: Logs, engine: str, seed: int) -> None:
    cases = made_log(seed)
    here = logs.imported(in_order(cases))
    there = logs.added(engine, shuffled(cases, seed))
    fewer = logs.added(engine, shuffled(without(cases, cases[0]), seed + 1))
    comparisons = [
        logs.same(f"at {engine}", here, there),
        logs.neighbours(f"without {cases[0].id} at {engine}", here, fewer),
    ]
    if LONG:
        comparisons += [
            logs.neighbours(
                f"without {case.id} at {engine}",
                there,
                logs.added(engine, shuffled(without(cases, case), seed)),
            )
            for case in cases[1:]
        ]
    assert_at_most_charged(audit_path(comparisons))


# --- planted faults -------------------------------------------------------------------


def failures_of(logs: Logs, *asked: str, events: int = 20) -> str:
    """What a fault leads to, seen by some of the questions; one reader, so the same every time."""
    logs = replace(logs, ppis={name: PPIS[name] for name in asked})
    cases = made_log(1, 60)
    base, mixed = logs.imported(in_order(cases)), logs.imported(shuffled(cases, 1))
    again = logs.same("same cases", base, mixed)
    largest = next(case for case in cases if case.events[-1][2] == 2.0**53)
    less = logs.imported(in_order(without(cases, largest)))
    with ranges_of(events, 1):
        report = audit_path((again, logs.neighbours("one case less", base, less)))
    return "\n".join(report.failures)


def test_a_sum_in_the_order_of_rows_is_caught(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "exact_sum", lambda values: float(values.sum()))
    failures = failures_of(logs, "remainder", "sum")
    assert "same cases: remainder tells the same cases apart" in failures
    assert "same cases: sum " not in failures


def test_a_range_that_cuts_a_case_in_two_is_caught(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Duck, "_start", lambda _self, _table, position: position)
    failures = failures_of(logs, "sum", "mean", "max-noisy")
    assert "same cases: sum tells the same cases apart" in failures
    assert "same cases: mean tells the same cases apart" in failures


def test_a_bucket_by_position_is_caught(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    def dealt(table: CaseTable, count: int) -> NDArray[np.int64]:
        return np.arange(table.anchor_us.size) % count

    monkeypatch.setattr(CaseTable, "buckets", dealt)
    failures = failures_of(logs, "remainder", "sum", events=4)
    assert "same cases: remainder tells the same cases apart" in failures
    assert "one case less: remainder tells" in failures
    assert "same cases: sum " not in failures


def test_the_latest_cases_by_position_are_caught(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def latest(table: CaseTable, count: int) -> CaseTable:
        return table._rows(np.argsort(table.anchor_us, kind="stable")[-count:])

    monkeypatch.setattr(CaseTable, "latest", latest)
    failures = failures_of(logs, "latest", "sum")
    assert "same cases: latest tells the same cases apart" in failures
    assert "same cases: sum " not in failures


def test_noise_for_half_a_case_is_caught(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are compared for what they are charged, and not only for their order."""
    monkeypatch.setattr("pappi.planning.measurements.Request.stability", Fraction(1, 2))
    failures = failures_of(logs, "sum-of-numbers")
    assert "one case less: sum-of-numbers tells 2 times what is charged" in failures


def test_noise_for_one_bucket_where_two_can_change_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that is replaced leaves a bucket, and the one in its place may enter another."""

    def scale(mechanism: SampleAndAggregate) -> Fraction:
        return mechanism.lattice.span / mechanism.epsilon

    logs = Logs.under(
        tmp_path, 1, replace(TERMS, terms=replace(TERMS.terms, adjacency=Adjacency.REPLACE))
    )
    logs = replace(logs, ppis={"remainder": PPIS["remainder"]})
    cases = made_log(1)
    assert_at_most_charged(audit_path(one_case_replaced(logs, cases, range(2), 1)))
    monkeypatch.setattr(SampleAndAggregate, "scale", property(scale))
    failures = audit_path(one_case_replaced(logs, cases, range(2), 1)).failures
    assert any("remainder tells" in failure for failure in failures)


# --- fails closed ---------------------------------------------------------------------


def told(*centres: int) -> Reading:
    laws = tuple(JointLaw((DiscreteLaplaceLaw(centre, Fraction(1)),)) for centre in centres)
    return {"ppi": Told(Fraction(1), laws)}


def audited(first: Reading, second: Reading, *, neighbours: bool = True) -> PathReport:
    return audit_path([Comparison("pair", lambda: first, lambda: second, neighbours)])


def test_neighbours_as_far_apart_as_charged_pass_and_no_further() -> None:
    assert audited(told(0, 0), told(0, 1)).passed
    assert audited(told(0, 0), told(0, 1)).worst == {"ppi": 1}
    assert not audited(told(0, 0), told(1, 1)).passed
    apart = Comparison("pair", lambda: told(0, 0), lambda: told(1, 1), neighbours=True, apart=True)
    assert audit_path([apart]).passed


def test_the_same_cases_must_be_told_alike() -> None:
    assert audited(told(3), told(3), neighbours=False).passed
    assert not audited(told(3), told(4), neighbours=False).passed


def test_nothing_compared_is_a_failure() -> None:
    assert audit_path([]).failures == ("nothing was compared",)
    assert not audited({}, {}).passed
    assert not audited(told(), told()).passed
    assert not audited(told(1), {}).passed
    assert not audited(told(1), told(1, 1)).passed
    assert "no pair of neighbours" in audited(told(1), told(1)).failures[0]


def test_an_exception_is_a_failure_and_the_rest_is_compared() -> None:
    def broken() -> Reading:
        raise ValueError("no log")

    pairs = [Comparison("crash", broken, broken), Comparison("pair", told, told)]
    pairs[1] = replace(pairs[1], first=lambda: told(1), second=lambda: told(1))
    report = audit_path(pairs)
    assert report.failures == ("crash: broke off with ValueError: no log",)
    assert report.compared == 1


@dataclass(frozen=True, slots=True)
class NoNumber(DiscreteLaplaceLaw):
    def log_ratio(self, other: object) -> Loss:  # noqa: ARG002
        return math.nan


@pytest.mark.parametrize("neighbours", [True, False])
def test_a_loss_that_is_no_number_is_a_failure(*, neighbours: bool) -> None:
    one = {"ppi": Told(Fraction(1), (JointLaw((NoNumber(0, Fraction(1)),)),))}
    assert "no loss" in audited(one, one, neighbours=neighbours).failures[0]


def test_every_mechanism_is_among_the_questions(logs: Logs) -> None:
    name = logs.imported(in_order(made_log(1)))
    parts = [part for plan in logs.plans(name) for part in plan.measurements]
    assert {part.mechanism.name for part in parts} == {*mechanism_names(), "joint"}
