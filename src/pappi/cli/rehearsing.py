"""`pappi rehearse`: what a release would look like, on made-up cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.answers import ONLY, SMOOTH, write_charts, write_report
from pappi.cli.options import (
    AS_JSON,
    CATALOGUE,
    EPSILON,
    chosen_catalogue,
    console,
    open_workspace,
    workspace_option,
)
from pappi.cli.previews import make_folder

if TYPE_CHECKING:
    from pappi.released import Released


@click.command()
@CATALOGUE
@ONLY
@EPSILON
@SMOOTH
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--svg", type=click.Path(file_okay=False, path_type=Path), help="Charts, into DIR.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Report, into FILE.")
@workspace_option
@AS_JSON
def rehearse(
    catalogue: Path,
    only: Sequence[str],
    epsilon: str | None,
    svg: Path | None,
    html: Path | None,
    workspace: str | None,
    *,
    smooth: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """What a release would look like, on made-up cases. Reads no data and spends nothing."""
    chosen = chosen_catalogue(catalogue, only)
    analyst = open_workspace(workspace).checkpoint()
    for folder in (svg, html.parent if html else None):
        make_folder(folder)
    series = analyst.rehearse(chosen, epsilon, smooth=smooth)
    if svg is not None:
        write_charts(series, svg)
    if html is not None:
        write_report(analyst.log(chosen.log), series, (), html)
    if as_json:
        _print_json(series, smooth=smooth)
    elif as_csv:
        _print_csv(series)
    else:
        _show(series)


def _show(series: Released) -> None:
    from pappi.report.tables import answers_table

    out = console()
    for one in series:
        out.print(answers_table(one))
    click.echo("A rehearsal: all of it is made up. No data was read, nothing was charged.")


def _print_json(series: Released, *, smooth: bool) -> None:
    """The answers of a release, each of which says that it is none."""
    from pappi.report.records import answer_record, smoothed_record

    record = smoothed_record if smooth else answer_record
    answers = [{**record(a), "rehearsal": True} for one in series for a in one.answers]
    found = {"rehearsal": True, "answers": answers}
    click.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))


def _print_csv(series: Released) -> None:
    from pappi.report.spreadsheet import csv_text

    click.echo(csv_text(series.to_records()), nl=False)
