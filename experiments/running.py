"""Running experiments by name, and writing what they found: CSV, SVG and one HTML page."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from experiments.catalogue import EXPERIMENTS
from experiments.page import page
from experiments.sections import Note, Run, Section, Table
from pappi import __version__
from pappi.errors import UsageError
from pappi.values import did_you_mean, listed

REPORT = "report.html"


def run_experiments(names: Sequence[str], out: Path, note: Note, *, fast: bool) -> list[Section]:
    """The experiments of these names, or all of them; files go to the folder `out`."""
    run = Run(fast, note)
    sections = [EXPERIMENTS[name](run) for name in names_of(names)]
    note("writing")
    write(sections, out, fast=fast)
    return sections


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """
    >>> names_of(["sepsis"])
    ('sepsis',)
    """
    for name in names:
        if name not in EXPERIMENTS:
            others = f"there are: {listed(list(EXPERIMENTS), 'and')}"
            hint = did_you_mean(name, list(EXPERIMENTS), others)
            raise UsageError(f"there is no experiment '{name}'", hint=hint)
    return tuple(names) or tuple(EXPERIMENTS)


def write(sections: Sequence[Section], out: Path, *, fast: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for table in section.tables:
            _write_table(table, out / f"{table.stem}.csv")
        for stem, _, drawing in section.figures:
            (out / f"{stem}.svg").write_text(f"{drawing}\n", encoding="utf-8")
    how = "fast: few runs, rough figures" if fast else "in full"
    (out / REPORT).write_text(page(sections, f"PaPPI {__version__}, {how}"), encoding="utf-8")


def _write_table(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows([_plain(cell) for cell in row] for row in table.rows)


def _plain(cell: object) -> object:
    """Six digits are enough, and the same on every machine."""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return "" if cell is None else cell
