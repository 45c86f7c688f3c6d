"""The case study: true values and errors as published, and what ours give beside them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from experiments.bound_rules import bounded_by_target, loosely_bounded
from experiments.boxes import CODE, PAPER
from experiments.monthly import Monthly
from experiments.seeded import generator
from experiments.sepsis_files import ERRORS, RELEASES, published_rmse, published_series
from experiments.sepsis_log import FILE, OF_ALL, SepsisLog, load_sepsis
from experiments.sepsis_ours import (
    DECLARED,
    PRIVATE,
    TARGET,
    Releases,
    planned,
    releases,
    ruled_by,
    verdicts_right,
)
from experiments.sepsis_published import KPIS, Kpi, as_published
from experiments.sepsis_smoothed import (
    FROM_WHOLE,
    TWO_LEVELS,
    from_whole,
    one_level,
    summary,
    two_levels,
)
from experiments.sepsis_targets import LIMITS
from tests.shared_data import shared_data

ORDER = ("waiting", "stay", "longest-stay", "returning", "antibiotics", "lactic-acid")
RUNS = 1_000
Rebuilt = dict[tuple[str, str], tuple[Kpi, Monthly]]


@pytest.fixture(scope="module")
def log() -> SepsisLog:
    return load_sepsis(shared_data(FILE))


@pytest.fixture(scope="module")
def rebuilt(log: SepsisLog) -> Rebuilt:
    return {(kpi.published, one.by): (kpi, one) for kpi, one in as_published(log, RUNS)}


def test_true_values_are_the_published_ones(log: SepsisLog) -> None:
    with shared_data("sepsis_published_true_values.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120
    truths = {ppi: dict(zip(log.months, log.truth(log.ppis[ppi]), strict=True)) for ppi in ORDER}
    for row in rows:
        ppi = ORDER[int(row["ppi"]) - 1]
        halved = 2 if ppi in ("antibiotics", "lactic-acid") else 1
        expected = halved * float(row["published_true_value"])
        assert truths[ppi][row["month"]] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kpi", KPIS, ids=lambda kpi: kpi.published)
def test_published_errors_are_reproduced(rebuilt: Rebuilt, kpi: Kpi) -> None:
    """The published RMSE, over its 9 or 10 repetitions, is one that the rebuilt code gives."""
    published = published_rmse(shared_data(ERRORS))[kpi.published]
    _, one = rebuilt[kpi.published, CODE]
    pooled = one.pooled(kpi.repetitions, 4_000, generator(kpi.published))
    low, high = np.percentile(pooled, (0.5, 99.5))
    assert low <= published <= high


def test_the_published_accuracy_of_the_waiting_time_is_that_of_the_code_alone(
    rebuilt: Rebuilt,
) -> None:
    by_code = rebuilt["AvgWaitingTimeUntilAdmission", CODE][1].rmse
    by_text = rebuilt["AvgWaitingTimeUntilAdmission", PAPER][1].rmse
    assert by_code == pytest.approx(17.4, abs=1)
    assert by_text > 100


def test_published_releases_have_the_published_errors(log: SepsisLog) -> None:
    errors = published_rmse(shared_data(ERRORS))
    for kpi, one in published_series(shared_data(RELEASES), log):
        if one.by == "published":
            pooled = float(np.sqrt(np.nanmean((one.values - one.truth) ** 2)))
            assert pooled == pytest.approx(errors[kpi.published], rel=1e-9)
            assert len(one.values) == kpi.repetitions


# --- ours -----------------------------------------------------------------------------


def one_of(log: SepsisLog, ppi: str, runs: int = 40, epsilon: str = "0.1") -> Releases:
    return releases(log, log.ppis[ppi], epsilon, DECLARED, runs)


def test_ours_are_the_same_in_every_run(log: SepsisLog) -> None:
    first, second = one_of(log, "waiting", 5), one_of(log, "waiting", 5)
    assert first.noisy == second.noisy
    assert (first.monthly.values == second.monthly.values).all()


def test_values_follow_from_what_was_released_alone(log: SepsisLog) -> None:
    found = one_of(log, "antibiotics", 3)
    (part,) = found.plan.measurements
    for run, shown in zip(found.noisy, found.monthly.values, strict=True):
        for (outcome,), value in zip(run, shown, strict=True):
            estimate = part.mechanism.estimate(outcome).value
            assert estimate is not None
            assert value == pytest.approx(100 * estimate)


def test_every_month_has_the_law_of_the_planned_mechanism(log: SepsisLog) -> None:
    found = one_of(log, "lactic-acid", 2)
    assert len(found.laws) == len(log.months) == 20
    assert all(len(laws) == len(found.plan.measurements) for laws in found.laws)


def test_epsilon_is_that_of_the_ppi_for_the_whole_series(log: SepsisLog) -> None:
    for ppi in log.ppis.values():
        plan = planned(log, ppi, "0.1")
        assert sum(part.mechanism.epsilon for part in plan.measurements) == plan.epsilon.fraction


def test_more_epsilon_makes_shares_better(log: SepsisLog) -> None:
    errors = [one_of(log, "antibiotics", epsilon=e).monthly.rmse for e in ("0.1", "0.5", "1")]
    assert errors[0] > errors[1] > errors[2]


def test_rules_for_bounds_do_not_look_at_cases(log: SepsisLog) -> None:
    assert [rule for rule, _ in ruled_by(log.ppis["waiting"])] == [DECLARED, TARGET, PRIVATE]
    assert [rule for rule, _ in ruled_by(log.ppis["longest-stay"])] == [DECLARED, TARGET]
    assert [rule for rule, _ in ruled_by(log.ppis[OF_ALL])] == [DECLARED]


def test_errors_are_of_single_releases_and_ours_beat_the_texts_percentages(
    log: SepsisLog, rebuilt: Rebuilt
) -> None:
    pairs = {
        "antibiotics": "%AntibioticsWithinOneHourTotalNotPrivatized",
        "lactic-acid": "%LacticAcidWithinThreeHoursTotalNotPrivatized",
    }
    for ppi, indicator in pairs.items():
        ours = one_of(log, ppi).monthly
        assert ours.values.shape == (40, 20)
        assert ours.rmse < 0.6 * rebuilt[indicator, PAPER][1].rmse


def test_a_verdict_alone_is_right_more_often_with_more_epsilon(log: SepsisLog) -> None:
    ppi = log.ppis["lactic-acid"]
    little, much = (verdicts_right(log, ppi, epsilon, 20) for epsilon in ("0.1", "1"))
    assert 0.7 < little < much <= 1


# --- ours, smoothed -------------------------------------------------------------------


@pytest.mark.parametrize("ppi", [OF_ALL, "antibiotics", "lactic-acid"])
def test_smoothed_single_releases_are_as_close_as_is_aimed_at(log: SepsisLog, ppi: str) -> None:
    assert one_level(one_of(log, ppi, 20)).rmse <= LIMITS[ppi]


@pytest.mark.parametrize(("ppi", "runs"), [("waiting", 40), ("stay", 200)])
def test_means_are_too_with_bounds_from_nothing_but_the_target(
    log: SepsisLog, ppi: str, runs: int
) -> None:
    loose = loosely_bounded(log.ppis[ppi])
    assert loose is not None
    found = from_whole(log, loose, "0.1", runs)
    assert (found.by, found.bounds) == (TWO_LEVELS, FROM_WHOLE)
    assert found.rmse <= LIMITS[ppi]


def test_so_is_the_maximum(log: SepsisLog) -> None:
    bounded = bounded_by_target(log.ppis["longest-stay"])
    assert bounded is not None
    found = one_level(releases(log, bounded, "0.1", TARGET, 200))
    assert found.rmse <= LIMITS["longest-stay"]


def test_smoothed_values_follow_from_what_was_released_alone(log: SepsisLog) -> None:
    found = one_of(log, "antibiotics", 3)
    assert one_level(found).values.tolist() == one_level(found).values.tolist()
    assert found.monthly.values.tolist() == one_of(log, "antibiotics", 3).monthly.values.tolist()


def test_a_summary_has_a_row_for_each_way_to_release(log: SepsisLog) -> None:
    ppi = log.ppis["antibiotics"]
    several = [
        one
        for epsilon in ("0.1", "0.5", "1")
        for one in (
            one_of(log, ppi.id, 2, epsilon).monthly,
            two_levels(log, ppi, epsilon, 2),
        )
    ]
    columns, rows = summary(several)
    assert [row[3] for row in rows] == ["ours", TWO_LEVELS]
    assert all(len(row) == len(columns) for row in rows)
