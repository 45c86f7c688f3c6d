"""`pappi audit`: by name, by catalogue, and what it says when something is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pappi.audit import (
    Subject,
    SubjectReport,
    audit_subject,
    families,
    report_record,
    spread,
    subjects_named,
)
from pappi.mechanisms import TwoBin
from pappi.session import audit_query
from tests.commands import Run
from tests.small_logs import claims, workspace_with

QUICK = ("--pairs", "1000", "--samples", "2000", "--jobs", "1")


@pytest.fixture
def _one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """All there is, to be quick: shares by two bins."""
    (family,) = (f for f in families() if (f.mechanism, f.function) == ("two-bin", "share"))
    monkeypatch.setattr("pappi.audit.subjects.families", lambda: (family,))


@pytest.mark.usefixtures("_one_family")
def test_a_function_is_audited_by_name_without_a_workspace(run: Run) -> None:
    code, out, _ = run("audit", "share", *QUICK, "--epsilon", "0.5", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["passed"] is True
    assert {audit["function"] for audit in found["audits"]} == {"share"}
    assert {audit["adjacency"] for audit in found["audits"]} == {"add-remove", "replace"}
    two_bin = found["audits"][0]
    assert (two_bin["epsilon"], two_bin["worst_loss"]) == ("1/2", "1/2")
    assert two_bin["worst_loss_float"] == 0.5
    assert two_bin["pairs"] == sum(kind["pairs"] for kind in two_bin["kinds"])
    assert len(two_bin["worst_pair"]) == 2
    assert [drawn["samples"] for drawn in two_bin["sampling"]] == [2000, 2000]
    assert two_bin["black_box"] == []


@pytest.mark.usefixtures("_one_family")
def test_a_broken_mechanism_fails_with_its_own_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales = TwoBin.scales.fget  # type: ignore[attr-defined]
    halved = property(lambda self: tuple(scale and scale / 2 for scale in scales(self)))
    monkeypatch.setattr(TwoBin, "scales", halved)
    code, out, errors = run("audit", "share", *QUICK)
    assert code == 9
    assert "exact: empty: a loss of 2 exceeds epsilon 1" in out
    assert "the audit failed for: share of" in errors


@pytest.mark.usefixtures("_one_family")
def test_too_few_pairs_or_samples_fail(run: Run) -> None:
    few = run("audit", "share", "--pairs", "10", "--samples", "10", "--jobs", "1")
    assert few[0] == 9
    assert "samples were drawn, 2000 are needed" in few[1]


def test_an_unknown_name_is_answered_with_those_there_are(run: Run) -> None:
    code, _, errors = run("audit", "lapalce")
    assert code == 2
    assert "neither a file nor a mechanism" in errors
    assert "laplace, two-bin" in errors


def test_a_catalogue_is_audited_as_it_would_be_released(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.session.audit_query", partial(audit_query, samples=2_000))
    workspace_with(tmp_path / "w", claims(30))
    catalogue = tmp_path / "mean.yaml"
    catalogue.write_text(
        "log: small\nppis:\n  - id: damage\n    measure: {mean: {data: damage}}\n"
        "    bounds: [0, 1000]\n    epsilon: 0.2\n",
        encoding="utf-8",
    )
    code, out, _ = run("-w", tmp_path / "w", "audit", catalogue, *QUICK, "--black-box", "--json")
    assert code == 0
    (audit,) = json.loads(out)["audits"]
    assert (audit["ppi"], audit["function"], audit["epsilon"]) == ("damage", "mean", "1/5")
    (box,) = audit["black_box"]
    assert box["samples"] == 2000
    assert 0 <= box["lower_bound"] <= 0.2


def test_many_processes_find_what_one_does() -> None:
    subjects = subjects_named("share", Fraction(1, 2))[:2]
    records = [report_record(report) for report in spread(_quick, subjects, jobs=2)]
    assert [_exact(r) for r in records] == [_exact(report_record(_quick(s))) for s in subjects]


def _quick(subject: Subject) -> SubjectReport:
    return audit_subject(subject, pairs=1000, samples=2000)


def _exact(record: dict[str, Any]) -> dict[str, Any]:
    """Without what is drawn anew each time."""
    return {key: value for key, value in record.items() if key != "sampling"}


def test_a_subject_of_which_nothing_is_drawn_fails() -> None:
    subject = replace(subjects_named("share")[0], trials=())
    assert audit_subject(subject, 1000, 2000).failures == ("sampling: nothing was drawn",)
