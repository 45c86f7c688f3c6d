"""`pappi audit`: does a release keep its promise? Found out before anything is released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import (
    AS_JSON,
    TOTAL,
    chosen_catalogue,
    open_workspace,
    print_json,
    verified_in_full,
    workspace_option,
)
from pappi.errors import LedgerRolledBack, PappiError, UsageError
from pappi.values import Epsilon

if TYPE_CHECKING:
    from pappi.audit import Subject, SubjectReport
    from pappi.session import Workspace


LEDGER = "ledger"


class AuditFailed(PappiError):
    code = "audit-failed"
    exit_code = 9


@click.command()
@click.argument("target", metavar="MECHANISM|CATALOGUE|ledger")
@click.option(
    "--epsilon",
    metavar="EPS",
    help="Epsilon to audit for. [default: the catalogue's own; 1 for mechanisms]",
)
@TOTAL
@click.option(
    "--pairs",
    default=2_000,
    show_default=True,
    help="Neighbouring data sets to try, for each kind of data.",
)
@click.option(
    "--samples",
    default=10_000,
    show_default=True,
    help="Samples to compare with the exact distribution.",
)
@click.option(
    "--black-box", is_flag=True, help="Also sample whole releases in a temporary workspace."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes. [default: one per processor]"
)
@click.option(
    "--contains",
    metavar="NUMBER:DIGEST",
    help="With `ledger`: check that it still has an entry you noted earlier from `pappi budget`.",
)
@workspace_option
@AS_JSON
def audit(
    target: str,
    epsilon: str | None,
    total: str | None,
    pairs: int,
    samples: int,
    jobs: int | None,
    contains: str | None,
    workspace: str | None,
    *,
    black_box: bool,
    as_json: bool,
) -> None:
    """Audit what would be released, or verify the ledger.

    TARGET is a catalogue file, the name of a mechanism or function (laplace, two-bin,
    max, …; `all` for all of them), or `ledger`. The exact worst loss over neighbouring
    data sets is compared with epsilon, and what is drawn with its law. It reads no
    event and spends nothing.
    """
    from pappi.audit import audit_subject, spread

    if target == LEDGER:
        _verify(open_workspace(workspace), contains, as_json=as_json)
        return
    if contains is not None:
        raise UsageError("--contains only works with: pappi audit ledger")
    subjects = _subjects(target, epsilon, total, workspace)
    with _progress("Auditing", len(subjects)) as done:
        work = partial(audit_subject, pairs=pairs, samples=samples)
        reports = spread(work, subjects, jobs, done)
    if black_box:
        reports = _with_black_box(reports, jobs)
    _show(reports, as_json=as_json)
    failed = [report.subject.name for report in reports if not report.passed]
    if failed:
        raise AuditFailed(f"the audit failed for: {', '.join(failed)}")


def _verify(workspace: Workspace, contains: str | None, *, as_json: bool) -> None:
    from pappi.ledger import Mark

    try:
        noted = None if contains is None else Mark.read(contains)
    except ValueError as problem:
        raise UsageError(str(problem), hint="copy it from the output of `pappi budget`") from None
    verified = verified_in_full(workspace)
    head = f"{verified.entries}:{verified.head}"
    if not as_json:
        click.echo(f"The ledger verifies: {verified.entries} entries, head {head}")
    if noted is not None and not workspace.custody.contains(noted):
        raise LedgerRolledBack(
            f"the ledger does not contain the entry {noted}: it is a different ledger, or an older "
            "copy",
            hint="later charges may be missing from it; stop with: pappi stop REASON",
        )
    if as_json:
        record = {"verifies": True, "entries": verified.entries, "head": head}
        print_json(record if noted is None else {**record, "contains": contains})
    elif noted is not None:
        click.echo(f"It contains the entry {contains}.")


def _subjects(
    target: str, epsilon: str | None, total: str | None, workspace: str | None
) -> tuple[Subject, ...]:
    from pappi.audit import STANDARD_EPSILON, subjects_named

    if Path(target).is_file():
        analyst = open_workspace(workspace).checkpoint()
        return analyst.audited(chosen_catalogue(Path(target), ()), epsilon, total=total)
    if total is not None:
        raise UsageError("--total only works with a catalogue")
    exact = Epsilon.of(epsilon).fraction if epsilon is not None else STANDARD_EPSILON
    return subjects_named(target, exact)


def _with_black_box(reports: Sequence[SubjectReport], jobs: int | None) -> list[SubjectReport]:
    """Each query once, whoever asks it."""
    from pappi.audit import spread
    from pappi.session import audit_query

    queries = list(dict.fromkeys(q for report in reports for q in report.subject.queries))
    with _progress("Sampling releases", len(queries)) as done:
        audits = dict(zip(queries, spread(audit_query, queries, jobs, done), strict=True))
    return [
        replace(report, black_box=tuple(audits[q] for q in report.subject.queries))
        for report in reports
    ]


@contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error while a person is watching; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)


def _show(reports: Sequence[SubjectReport], *, as_json: bool) -> None:
    from pappi.audit import report_record

    if as_json:
        records = [report_record(report) for report in reports]
        passed = all(report.passed for report in reports)
        print_json({"passed": passed, "audits": records})
        return
    for report in reports:
        for line in _lines(report):
            click.echo(line)


def _lines(report: SubjectReport) -> Iterator[str]:
    """The subject, a line per layer, and what is wrong."""
    from pappi.audit import loss_as_float

    subject, exact = report.subject, report.exact
    verdict = "holds" if report.passed else "FAILS"
    yield f"{subject.name}, by {subject.mechanism}, {subject.adjacency}: {verdict}"
    worst = loss_as_float(exact.worst)
    shown = "without bound" if worst is None else f"{worst:.6g}"
    epsilon = f"{float(subject.epsilon):g}"
    yield f"  exact      worst loss {shown} of ε {epsilon}, over {exact.pairs:,} pairs"
    for drawn in report.sampling:
        p = "none" if drawn.p_value is None else f"{drawn.p_value:.3g}"
        yield f"  sampling   p {p}, {drawn.test}, {drawn.samples:,} draws"
    for box in report.black_box:
        bound = box.skipped if box.lower_bound is None else f"ε is at least {box.lower_bound:.3g}"
        yield f"  black box  {bound or 'nothing found'}, {box.samples:,} answers a side"
    yield from (f"  {failure}" for failure in report.failures)
