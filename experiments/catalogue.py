"""The experiments by name: what each one runs and what it says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from experiments import controlled as controlled_experiments
from experiments import guarantees as audited
from experiments import reproduction as reproduced
from experiments.box_chart import box_chart
from experiments.boxes import COLUMNS, OURS, Box
from experiments.deviations import AUTHORS, TEXT, Deviation
from experiments.pripel import pripel
from experiments.samples import FILE as SAMPLES
from experiments.samples import samples
from experiments.sections import Run, Section, Table
from experiments.sepsis import sepsis
from experiments.shared_data import missing, shared_file

FAST_RUNS = 60
_SHOWN = (
    "panel", "group", "by", "mechanism", "truth", "q25", "median", "q75", "rmse", "right_side",
    "guarantee",
)  # fmt: skip

_CLAIMS = (
    "Every mechanism claims to be ε-differentially private. The exact audit compares the laws of "
    "what it gives over neighbouring data sets; a loss above ε disproves the claim. The published "
    "mechanisms take bounds from the data; beside that stands what public bounds alone would "
    "repair."
)
_TOLD = (
    "Theirs are told the smallest and largest value of the data, extended; ours are told bounds "
    "that were fixed beforehand: [0, 200] for the Gaussian and the Pareto, [0, 20] for the Poisson."
)

_ABOUT = {
    "boundary": "How far the bounds are from the data",
    "size": "How many values there are, of which distribution",
    "epsilon": "Epsilon",
    "threshold": "Targets: values on the truth's side of them",
    "derived": "A percentage, by sample-and-aggregate and by ours",
}


def guarantees(run: Run) -> Section:
    rows = [one.row() for one in run.guarantees]
    return Section(
        "guarantees",
        "What each mechanism guarantees",
        (_CLAIMS,),
        (Table("guarantees", "The exact audit's verdict, ε = 0.1", audited.COLUMNS, rows),),
    )


def reproduction(run: Run) -> Section:
    path, title = shared_file(reproduced.FILE), "Do the rebuilt mechanisms give what theirs give?"
    absent = missing(reproduced.FILE, SAMPLES)
    if path is None or absent:
        return Section("reproduction", title, skipped=absent)
    run.note("comparing with the authors' own program")
    runs, found = reproduced.FAST_RUNS if run.fast else reproduced.RUNS, samples()
    settings = list(reproduced.compared(path, found, AUTHORS, runs))
    plain = list(reproduced.compared(path, found, TEXT, runs))
    shares = [_share(settings), _share(plain)]
    without = [(str(one), _share_without(one, runs)) for one in _needed()]
    return Section(
        "reproduction",
        title,
        (
            (f"With the deviations of the authors' code, {shares[0]} of their settings are "
            f"reproduced within sampling error; as the text has it, {shares[1]}."),
        ),
        (
            Table("reproduction_needs", "Reproduced without one of the deviations",
                  ("left_out", "reproduced"), without),
            Table("reproduction", "Every setting", reproduced.COLUMNS,
                  [one.row() for one in settings], shown=()),
        ),
    )  # fmt: skip


def _needed() -> Sequence[Deviation]:
    """Those that concern the Laplace and interval mechanisms on these samples."""
    return (
        Deviation.CLAMPED, Deviation.WHOLE_NOISE, Deviation.WHOLE_RESULTS,
        Deviation.DISTINCT_VALUES, Deviation.NEARER_BOUND, Deviation.SHIFTED_SCORES,
    )  # fmt: skip


def _share_without(one: Deviation, runs: int) -> str:
    path = shared_file(reproduced.FILE)
    if path is None:
        return ""
    return _share(list(reproduced.compared(path, samples(), AUTHORS - {one}, runs)))


def _share(settings: Sequence[reproduced.Compared]) -> str:
    right = sum(one.reproduced for one in settings)
    return f"{right} of {len(settings)} ({right / len(settings):.1%})"


def controlled(run: Run) -> Section:
    found = samples()
    run.note("controlled experiments")
    runs = FAST_RUNS if run.fast else controlled_experiments.RUNS
    boxes = list(controlled_experiments.controlled(found, runs))
    kinds = list(dict.fromkeys(box.experiment for box in boxes))

    def short(box: Box) -> str:
        return run.short_verdict(box.mechanism, box.function, ours=box.by == OURS)

    figures = [
        (f"controlled_{kind}", _ABOUT[kind], box_chart(_ABOUT[kind], _of(boxes, kind), short))
        for kind in kinds
    ]
    tables = [
        Table(f"controlled_{kind}", _ABOUT[kind], (*COLUMNS, "guarantee"),
              list(_rows(_of(boxes, kind), run)), _SHOWN)
        for kind in kinds
    ]  # fmt: skip
    return Section(
        "controlled",
        "Controlled experiments",
        (f"Samples: {found.source}. {runs} runs of every mechanism. {_TOLD}",),
        tables,
        figures,
    )


def _of(boxes: Sequence[Box], kind: str) -> list[Box]:
    return [box for box in boxes if box.experiment == kind]


def _rows(boxes: Sequence[Box], run: Run) -> Iterator[tuple[object, ...]]:
    for box in boxes:
        yield (*box.row(), run.verdict(box.mechanism, box.function, ours=box.by == OURS))


EXPERIMENTS: Mapping[str, Callable[[Run], Section]] = MappingProxyType(
    {
        "guarantees": guarantees,
        "reproduction": reproduction,
        "controlled": controlled,
        "sepsis": sepsis,
        "pripel": pripel,
    }
)
