"""Neighbouring logs that differ by a whole person look the same to an analyst."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pappi.engine import cases
from pappi.errors import WorkspaceError
from pappi.ppinot import parse_catalogue
from pappi.store import open_workspace
from pappi.values import CASE, Epsilon, Per, PrivacyUnit
from tests.leak.test_public_surface import TERMS, surface
from tests.small_logs import Row, claims, workspace_with

UNITS = [PrivacyUnit("customer", 2), PrivacyUnit("customer", 2, Per.BLOCK)]


def of_customers(rows: list[Row]) -> list[Row]:
    """Three claims each; every tenth claim is nobody's."""
    owned: list[Row] = []
    for case, activity, hours, attributes in rows:
        number = int(case.removeprefix("c"))
        owner = None if number % 10 == 9 else f"k{number // 3}"
        owned.append((case, activity, hours, {**attributes, "customer": owner}))
    return owned


def collector(cases: int) -> list[Row]:
    """A customer with that many claims in one month, each more extreme than any other."""
    rows: list[Row] = []
    for number in range(cases):
        seen = {"customer": "collector", "channel": "web", "damage": 1e300}
        rows.append((f"x{number}", "Receive", 24.0 * 95, seen))
        rows.append((f"x{number}", "Pay", 24.0 * 100, {"customer": "collector"}))
    return rows


@pytest.mark.parametrize("unit", UNITS)
def test_logs_with_and_without_a_person_look_the_same(tmp_path: Path, unit: PrivacyUnit) -> None:
    rows, terms = of_customers(claims(30)), replace(TERMS, terms=replace(TERMS.terms, unit=unit))
    without = workspace_with(tmp_path / "without", rows, terms)
    with_them = workspace_with(tmp_path / "with", rows + collector(12), terms)
    assert surface(without) == surface(with_them)


COUNTED = """
log: small
ppis:
  - id: received
    measure: {sum: {count: activity == "Receive"}}
    bounds: [0, 1]
  - id: web
    measure:
      sum: {count: activity == "Receive"}
      by: {data: channel, values: [web, phone]}
    bounds: [0, 1]
    scope: every month
"""


def counted(folder: Path, cases: int, unit: PrivacyUnit) -> list[float | None]:
    """With so much ε that only the cases themselves can make a difference."""
    terms = replace(TERMS, terms=replace(TERMS.terms, unit=unit, block_budget=Epsilon.of(4000)))
    workspace = workspace_with(folder, of_customers(claims(30)) + collector(cases), terms)
    series = workspace.checkpoint().release(parse_catalogue(COUNTED), "2000")
    return [answer.value for one in series for answer in one.answers]


@pytest.mark.parametrize("unit", UNITS)
def test_a_person_s_cases_beyond_the_bound_change_nothing(
    tmp_path: Path, unit: PrivacyUnit
) -> None:
    none, two, twelve = (counted(tmp_path / str(n), n, unit) for n in (0, 2, 12))
    assert two == twelve != none


def test_a_checkpoint_that_trusts_the_bound_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "truncated_batches", lambda batches, *_: batches)
    assert counted(tmp_path / "2", 2, UNITS[0]) != counted(tmp_path / "12", 12, UNITS[0])


def test_a_key_that_is_lost_before_a_release_is_found_before_the_charge(tmp_path: Path) -> None:
    terms = replace(TERMS, terms=replace(TERMS.terms, unit=UNITS[0]))
    workspace = workspace_with(tmp_path / "w", of_customers(claims(10)), terms)
    assert workspace.checkpoint().releases("small") == ()  # by now the ledger is open
    (workspace.root / "key").unlink()
    with pytest.raises(WorkspaceError, match="has no usable key"):
        workspace.checkpoint().release(parse_catalogue(COUNTED))
    assert workspace.checkpoint().releases("small") == ()


def test_the_unit_is_part_of_the_question(tmp_path: Path) -> None:
    """Under another unit other cases count: one answer must not replay the other."""
    asked: list[str] = []
    for number, unit in enumerate((*UNITS, PrivacyUnit("customer", 3), CASE)):
        terms = replace(TERMS, terms=replace(TERMS.terms, unit=unit))
        workspace = workspace_with(tmp_path / str(number), of_customers(claims(10)), terms)
        workspace.checkpoint().release(parse_catalogue(COUNTED))
        with open_workspace(workspace.root).open_ledger() as ledger:
            asked += {record.charge.key for record in ledger.charges("small")}
    assert len(asked) == len(set(asked))
