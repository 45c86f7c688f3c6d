"""The audit of one subject in its layers, and its report as a plain record."""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from pappi.audit.black_box import BlackBoxReport
from pappi.audit.exact import AuditReport, audit_kinds
from pappi.audit.neighbours import Data, steered_by
from pappi.audit.sampling import SamplingReport, audit_sampler
from pappi.audit.subjects import Subject
from pappi.mechanisms import Loss


@dataclass(frozen=True, slots=True)
class SubjectReport:
    """The results of the layers. A layer that should have run and did not has failed."""

    subject: Subject
    exact: AuditReport
    sampling: tuple[SamplingReport, ...]
    black_box: tuple[BlackBoxReport, ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        layers = (("exact", (self.exact,)), ("sampling", self.sampling))
        failures = [(name, r.failure) for name, reports in layers for r in reports]
        failures += [("black box", report.failure) for report in self.black_box]
        if not self.sampling:
            failures.append(("sampling", "nothing was drawn"))
        return tuple(f"{name}: {failure}" for name, failure in failures if failure is not None)

    @property
    def passed(self) -> bool:
        return not self.failures


def audit_subject(subject: Subject, pairs: int, samples: int, seed: int = 1) -> SubjectReport:
    """Layers 1 and 2: the exact worst loss, and the sampler against its output distribution."""
    exact = audit_kinds(
        subject.mechanisms,
        subject.columns,
        adjacency=subject.adjacency,
        epsilon=subject.epsilon,
        draw=steered_by(seed),
        pairs=pairs,
        unit_cases=subject.unit_cases,
    )
    sampling = tuple(audit_sampler(trial, samples) for trial in subject.trials)
    return SubjectReport(subject, exact, sampling)


def report_record(report: SubjectReport) -> dict[str, Any]:
    """For JSON: the shape programs rely on."""
    subject = report.subject
    return {
        "ppi": subject.ppi,
        "name": subject.name,
        "mechanism": subject.mechanism,
        "function": subject.function,
        "adjacency": str(subject.adjacency),
        "epsilon": str(subject.epsilon),
        "epsilon_float": float(subject.epsilon),
        "passed": report.passed,
        "failures": list(report.failures),
        "pairs": report.exact.pairs,
        **_loss(report.exact.worst),
        "worst_pair": None
        if report.exact.worst_pair is None
        else [_rows(d) for d in report.exact.worst_pair],
        "kinds": [{"kind": k.kind, "pairs": k.pairs, **_loss(k.worst)} for k in report.exact.kinds],
        "sampling": [
            {
                "test": sampled.test,
                "samples": sampled.samples,
                "cells": sampled.cells,
                "p_value": _finite(sampled.p_value),
                "passed": sampled.passed,
                "failure": sampled.failure,
            }
            for sampled in report.sampling
        ],
        "black_box": [
            {
                "epsilon": str(attack.epsilon),
                "samples": attack.samples,
                "lower_bound": _finite(attack.lower_bound),
                "skipped": attack.skipped,
                "passed": attack.passed,
                "failure": attack.failure,
            }
            for attack in report.black_box
        ],
    }


def _loss(loss: Loss) -> dict[str, Any]:
    """Exact, and as a float where it is one: JSON knows no infinity."""
    return {"worst_loss": str(loss), "worst_loss_float": loss_as_float(loss)}


def loss_as_float(loss: Loss) -> float | None:
    """None if it is infinite, or too large for a float."""
    if isinstance(loss, Fraction) and loss > Fraction(2) ** 1000:
        return None
    return float(loss) if math.isfinite(loss) else None


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _rows(data: Data) -> list[list[str]]:
    """As texts, because values may be infinite or missing."""
    return [[repr(float(value)) for value in row] for row in data]


# --- many audits at once, on all processors ----------------------------------------------------

Job = TypeVar("Job")
Result = TypeVar("Result")

Done = Callable[[], None]
"""Called whenever one of the tasks is done."""


def no_progress() -> None:
    """Nobody is watching."""


def spread(
    work: Callable[[Job], Result],
    tasks: Sequence[Job],
    jobs: int | None = None,
    done: Done = no_progress,
) -> list[Result]:
    """The result of each task, in order. If one raises, so does this: no result is left out."""
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    if workers <= 1:
        results = []
        for task in tasks:
            results.append(work(task))
            done()
        return results
    with _pool(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        for future in futures:
            future.add_done_callback(lambda _: done())
        return [future.result() for future in futures]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    # Started afresh: a copy of a process that has threads may hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
