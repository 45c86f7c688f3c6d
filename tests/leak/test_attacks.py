"""Attacks that once worked, or might: each must fail the same way on every log."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pappi
from pappi.custody import NewLog
from pappi.errors import (
    DefinitionError,
    InputError,
    NotReleasable,
    Refused,
    ReleaseFailed,
    UsageError,
    WorkspaceError,
)
from pappi.eventlog import ReadOptions
from pappi.ppinot import DataMeasure, parse_catalogue
from pappi.ppinot.model import Grouping
from pappi.report import ppi_text
from pappi.session import Workspace
from pappi.store import exclusive
from pappi.values import Calendar, Epsilon, Grid
from tests.small_logs import Row, claims, event_table, workspace_with


def catalogue(measure: str, more: str = "") -> str:
    return f"log: small\nppis:\n  - id: one\n    measure: {measure}\n{more}"


def exact(workspace: Workspace, measure: str) -> float | None:
    (answer,) = workspace.exact(parse_catalogue(catalogue(measure)))
    return answer.value


def test_an_attribute_cannot_take_the_name_of_the_time(tmp_path: Path) -> None:
    """Compared with a number in the database, its text made an error only if a case had it."""
    table = event_table([("c", "A", 0, {"patient": "Alice"}), ("d", "A", 1, {"patient": "Bob"})])
    columns = ["case_id", "activity", "when", "patient"]
    renamed = table.rename_columns(columns).append_column("timestamp", pa.array(["x", "y"]))
    workspace = pappi.create(tmp_path / "w")
    workspace.import_log(renamed, "small", options=ReadOptions(timestamp="when"))
    assert "timestamp (2)" in workspace.log("small").public.vocabulary.attributes
    oracle = '{share: {condition: patient == "Alice" and timestamp == patient}}'
    with pytest.raises(DefinitionError, match="cannot be compared"):
        workspace.checkpoint().release(parse_catalogue(catalogue(oracle)))
    assert exact(workspace, "{sum: {count: '`timestamp (2)` == \"x\"'}}") == 1


@pytest.mark.parametrize("seconds", [-9_000_000_000_000, 9_000_000_000_000])
def test_impossible_times_are_refused_at_import_not_found_at_release(
    tmp_path: Path, seconds: int
) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"case,activity,time\n1,a,{seconds}\n1,b,1704103200\n", encoding="utf-8")
    workspace = pappi.create(tmp_path / "w")
    with pytest.raises(InputError):
        workspace.import_log(log, options=ReadOptions(time_format="epoch-s"))
    assert workspace.logs() == ()


def test_what_is_no_finite_number_is_missing(tmp_path: Path) -> None:
    amounts = [1.0, np.nan, np.inf, -np.inf, 20.0]
    rows: list[Row] = [(f"c{i}", "A", i, {"x": x}) for i, x in enumerate(amounts)]
    workspace = workspace_with(tmp_path / "w", rows)
    assert exact(workspace, "{sum: {count: x > 10}}") == 1
    assert exact(workspace, "{sum: {count: x < 10}}") == 1
    assert exact(workspace, "{sum: {count: x is missing}}") == 3
    assert exact(workspace, "{sum: {count: x == x}}") == 2
    assert exact(workspace, "{sum: {data: x}}") == 21
    assert exact(workspace, "{sum: {derive: a > 10, a: {data: x}}}") == 1


def test_a_failure_after_the_charge_is_one_fixed_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))

    def fail(*_: object) -> None:
        raise RuntimeError("Could not convert 'Alice Smith'")

    monkeypatch.setattr("pappi.engine.cases.opened", fail)
    with pytest.raises(ReleaseFailed) as failure:
        workspace.checkpoint().release(parse_catalogue(catalogue("{share: {condition: true}}")))
    assert "Alice" not in str(failure.value)
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_formula_of_many_formulas_is_planned_at_once(tmp_path: Path) -> None:
    """It has 2^40 admissible sets; those with a formula nothing answers are not gone through."""
    names = [f"v{i}" for i in range(40)]
    variables = ", ".join(
        f"{n}: {{derive: x, x: {{sum: {{count: activity == 'Pay'}}, bounds: [0, 1]}}}}"
        for n in names
    )
    text = catalogue(f"{{derive: {' + '.join(names)}, {variables}}}")
    workspace = workspace_with(tmp_path / "w", claims(10))
    parsed = parse_catalogue(text)
    (quote,) = workspace.checkpoint().preview(parsed)
    assert len(quote.functions) == 40
    assert "… and more" in ppi_text(parsed.ppis[0])


def test_deep_formulas_compile_in_proportion(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10, months=1))
    measure = "{count: activity == 'Pay'}"
    for _ in range(12):
        measure = f"{{derive: {' + '.join(['x'] * 40)}, x: {measure}}}"
    value = exact(workspace, f"{{max: {measure}}}")
    assert value == 40.0**12


def test_no_request_can_flood_the_journal(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    keys = json.dumps([f"k{i}" for i in range(400)])
    grouped = f"{{share: {{condition: true}}, by: {{data: channel, values: {keys}}}}}"
    flood = parse_catalogue(catalogue(grouped, "    scope: every day\n"))
    with pytest.raises(Refused, match="answers or more at once"):
        workspace.checkpoint().release(flood)
    with pytest.raises(Refused, match="answers or more at once"):
        workspace.checkpoint().rehearse(flood)
    (told,) = workspace.checkpoint().unreleasable(flood)
    assert "answers or more at once" in told.message
    with pytest.raises(UsageError, match=r"below 0\.001"):
        workspace.checkpoint().release(
            parse_catalogue(catalogue("{share: {condition: true}}")), "0.000000001"
        )


def test_a_scope_has_a_bounded_number_of_periods(tmp_path: Path) -> None:
    new = NewLog(first=date(1900, 1, 1), until=date(2100, 1, 1))
    workspace = workspace_with(tmp_path / "w", claims(10), new)
    with pytest.raises(Refused, match="more than 5,000 periods"):
        workspace.checkpoint().preview(
            parse_catalogue(catalogue("{share: {condition: true}}", "    scope: every day\n"))
        )


def test_a_verdict_decided_by_the_bounds_is_refused(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    clipped = "    bounds: [0 h, 20 h]\n    target: below 24 hours\n"
    measure = "{mean: {time: {from: case start, to: case end}}}"
    with pytest.raises(NotReleasable, match="at or beyond its bounds"):
        workspace.checkpoint().release(parse_catalogue(catalogue(measure, clipped)))


def test_clipping_is_said(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    measure = "{mean: {time: {from: case start, to: case end}, unit: days}}"
    (series,) = workspace.checkpoint().release(
        parse_catalogue(catalogue(measure, "    bounds: [0 d, 5 d]\n"))
    )
    assert series.clipping.startswith("of values cut at 5 days; ")


def test_only_one_import_at_a_time_chooses_its_table(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    with exclusive(tmp_path / "w" / "import"), pytest.raises(WorkspaceError, match="another"):
        workspace.import_log(event_table(claims(5)), "small")
    assert workspace.logs() == ()


def test_a_group_asked_for_twice_would_be_drawn_twice_and_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="repeated"):
        Grouping(DataMeasure("channel"), ("web", "web"))


def test_a_grid_that_never_moves_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="never moves"):
        Grid(Calendar.DAY, 0)


@pytest.mark.parametrize(
    "amount", ["1e999999999", "1e5000", "nan", "inf", "-1", "x", "1e-10", "0x1", "1000001"]
)
def test_an_absurd_epsilon_is_a_usage_error(amount: str) -> None:
    with pytest.raises(UsageError):
        Epsilon.of(amount)


@pytest.mark.parametrize("accuracy", ["1/0", "1e999999999", "nan", "-3", "0", "six"])
def test_an_absurd_accuracy_is_a_usage_error(tmp_path: Path, accuracy: str) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    with pytest.raises(UsageError, match="not an accuracy"):
        workspace.checkpoint().preview(
            parse_catalogue(catalogue("{share: {condition: true}}")), accuracy=accuracy
        )


SOJOURN = "{mean: {time: {from: case start, to: case end}}}"
RATIO = (
    "{derive: a / b, a: {sum: {count: activity == 'Reject'}, within: b}, "
    "b: {sum: {count: activity == 'Receive'}}}"
)
UNTIL_ONE = "    bounds: {a: [0, 1], b: [0, 1]}\n"


@pytest.mark.parametrize(
    ("measure", "more"),
    [
        (RATIO, UNTIL_ONE + "    target: below 2\n"),
        ("{sum: {count: activity == 'Pay'}}", "    bounds: [0, 5]\n    target: at least 0\n"),
        (RATIO.replace("a / b", "'a > b ? 1 : 2'"), UNTIL_ONE + "    target: below 3\n"),
        (SOJOURN, "    bounds: [0 h, 48 h]\n    target: between 0 and 48 hours\n"),
        (SOJOURN, "    bounds: [0 h, 48 h]\n    target: above 48 hours\n"),
    ],
)
def test_a_target_that_holds_all_or_nothing_is_refused(
    tmp_path: Path, measure: str, more: str
) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    with pytest.raises(NotReleasable, match="at or beyond its bounds"):
        workspace.checkpoint().preview(parse_catalogue(catalogue(measure, more)))


def test_a_two_sided_target_may_begin_at_the_bound(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    more = "    bounds: [0 h, 48 h]\n    target: between 0 and 24 hours\n"
    workspace.checkpoint().preview(parse_catalogue(catalogue(SOJOURN, more)))


def test_a_part_is_never_released_apart_from_its_whole(tmp_path: Path) -> None:
    """At a large epsilon two sums would err less, but would mean something else."""
    workspace = workspace_with(tmp_path / "w", claims(10))
    wide = "    bounds: {a: [0, 1], b: [0, 9]}\n"
    for epsilon in ("0.01", "1", "50"):
        (quote,) = workspace.checkpoint().preview(parse_catalogue(catalogue(RATIO, wide)), epsilon)
        assert quote.functions == ("ppi",)


@pytest.mark.parametrize("bound", ["1e100", "1e006", "5e020", "1e+100"])
def test_an_exponent_too_long_is_refused_not_cut_short(bound: str) -> None:
    with pytest.raises(DefinitionError, match="expected a number"):
        parse_catalogue(catalogue("{sum: {data: x}}", f"    bounds: [0, {bound}]\n"))


def test_clipping_of_nested_and_unit_bounds_is_said(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    counted = "{sum: {count: activity == 'Pay'}, bounds: [0, 1]}"
    nested = f"{{derive: u + 0, u: {{derive: v * 1, v: {counted}}}}}"
    not_told = "u.v of a case counts as at least 0 and at most 1; the number of cases beyond"
    for measure, said in ((counted, "of values cut at 1; "), (nested, not_told)):
        (series,) = workspace.checkpoint().release(parse_catalogue(catalogue(measure)))
        assert series.clipping.startswith(said)


@pytest.mark.parametrize("factor", ["0", "0.0000000001", "1" + "0" * 30])
def test_an_absurd_factor_is_no_ratio_and_no_crash(tmp_path: Path, factor: str) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    text = catalogue(RATIO.replace("a / b", f"{factor} * a / b"), UNTIL_ONE)
    (quote,) = workspace.checkpoint().preview(parse_catalogue(text))
    assert quote.functions == ("ppi.a", "ppi.b")


def test_a_missing_truth_stays_missing_through_a_choice(tmp_path: Path) -> None:
    rows: list[Row] = [("c", "A", 0, {"ok": True}), ("d", "A", 1, {})]
    workspace = workspace_with(tmp_path / "w", rows)
    assert exact(workspace, "{sum: {count: '(true ? ok : ok) is missing'}}") == 1
    assert exact(workspace, "{sum: {count: '(true ? ok : ok) in (false, true)'}}") == 1


def test_bounds_beyond_any_process_are_refused_before_the_charge(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(10))
    huge = catalogue("{max: {data: damage}}", f"    bounds: [0, 1{'0' * 25}]\n")
    with pytest.raises(NotReleasable, match="too far apart"):
        workspace.checkpoint().preview(parse_catalogue(huge))
