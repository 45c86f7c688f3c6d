"""`pappi audit`: proof, before anything is released, that a release keeps its promise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import AS_JSON, EPSILON, chosen_catalogue, open_workspace, workspace_option
from pappi.errors import PappiError

if TYPE_CHECKING:
    from pappi.audit.exact import AuditReport
    from pappi.planning.plan import Plan

LEDGER = "ledger"


class AuditFailed(PappiError):
    code = "audit-failed"
    exit_code = 9


@click.command()
@click.argument("target", metavar="CATALOGUE|ledger")
@EPSILON
@click.option("--pairs", default=2_000, show_default=True, help="Neighbouring pairs to try.")
@workspace_option
@AS_JSON
def audit(
    target: str, epsilon: str | None, pairs: int, workspace: str | None, *, as_json: bool
) -> None:
    """Audit what a catalogue would release, exactly; or verify the ledger.

    For every PPI the audit searches for the pair of neighbouring data sets that
    its release tells apart best, and compares that loss, in exact rationals, with
    the PPI's epsilon. It reads no event and spends nothing.
    """
    door = open_workspace(workspace)
    if target == LEDGER:
        verified = door.verify()
        click.echo(f"The ledger verifies: {verified.entries} entries, head {verified.head}")
        return
    chosen = chosen_catalogue(Path(target), ())
    audited = door.checkpoint().audit(chosen, epsilon, pairs=pairs)
    if as_json:
        records = [_record(plan, report) for plan, report in audited]
        click.echo(json.dumps({"audits": records}, indent=2))
    else:
        _show(audited)
    failed = [plan.ppi.id for plan, report in audited if not report.passed]
    if failed:
        raise AuditFailed(f"the audit failed for: {', '.join(failed)}")


def _show(audited: Sequence[tuple[Plan, AuditReport]]) -> None:
    for plan, report in audited:
        verdict = "holds" if report.passed else f"FAILS: {report.failure}"
        click.echo(
            f"{plan.ppi.id:<20} {report.mechanism:<20} worst loss {float(report.worst):.6g} "
            f"of ε {plan.epsilon} over {report.pairs:,} pairs: {verdict}"
        )


def _record(plan: Plan, report: AuditReport) -> dict[str, Any]:
    return {
        "ppi": plan.ppi.id,
        "mechanism": report.mechanism,
        "adjacency": str(report.adjacency),
        "epsilon": str(report.epsilon),
        "pairs": report.pairs,
        "worst_loss": str(report.worst),
        "worst_pair": None if report.worst_pair is None else [str(d) for d in report.worst_pair],
        "passed": report.passed,
        "failure": report.failure,
    }
