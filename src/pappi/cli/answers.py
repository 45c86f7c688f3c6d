"""`pappi exact`, `preview`, `release` and `budget`: questions and answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import (
    AS_JSON,
    CATALOGUE,
    EPSILON,
    chosen_catalogue,
    console,
    open_workspace,
    verified_in_full,
    workspace_option,
)
from pappi.cli.previews import (
    make_folder,
    now,
    show_left,
    show_preview,
    write_preview,
    write_preview_charts,
    write_private,
    write_svg,
)

if TYPE_CHECKING:
    from pappi.report.budgets import BudgetLine
    from pappi.store.declarations import LogDeclaration
    from pappi.values.answers import Answer, Series

SMOOTH = click.option(
    "--smooth", is_flag=True, help="Also draw periods towards each other; see docs/smoothing.md."
)
WHOLE = click.option(
    "--whole",
    metavar="SHARE",
    help="With --smooth: this share of ε for the whole time, e.g. 0.5, the rest for its periods.",
)
ONLY = click.option("--ppi", "only", multiple=True, metavar="ID", help="Only this PPI; repeatable.")


@click.command()
@CATALOGUE
@ONLY
@workspace_option
@AS_JSON
def exact(catalogue: Path, only: Sequence[str], workspace: str | None, *, as_json: bool) -> None:
    """Owner only: the non-private values. That somebody looked is on record: `pappi trail`."""
    from pappi.report.records import exact_record

    answers = open_workspace(workspace).exact(chosen_catalogue(catalogue, only))
    if as_json:
        click.echo(_json({"answers": [exact_record(answer) for answer in answers]}))
        return
    click.echo("Exact values, not private: for the owner's eyes only.")
    for answer in answers:
        value = "no value" if answer.value is None else f"{answer.value:.6g} {answer.unit}".strip()
        group = f" {answer.group}" if answer.group else ""
        click.echo(f"{answer.ppi:<20} {answer.period.label:<10}{group} {value}")


@click.command()
@CATALOGUE
@ONLY
@EPSILON
@click.option(
    "--accuracy",
    metavar="MARGIN",
    help='What it costs to keep within, e.g. "6 h" with 95 % confidence, or "6 h, 90 %".',
)
@click.option("--options", is_flag=True, help="Also other ways to release each PPI, and margins.")
@click.option("--svg", type=click.Path(file_okay=False, path_type=Path), help="Charts, into DIR.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Page, into FILE.")
@workspace_option
@AS_JSON
def preview(
    catalogue: Path,
    only: Sequence[str],
    epsilon: str | None,
    accuracy: str | None,
    svg: Path | None,
    html: Path | None,
    workspace: str | None,
    *,
    options: bool,
    as_json: bool,
) -> None:
    """Cost and expected error of every PPI. Reads no data and spends nothing."""
    from pappi.report.quotes import quote_record

    if epsilon is not None and accuracy is not None:
        raise click.UsageError("--epsilon and --accuracy exclude each other")
    chosen = chosen_catalogue(catalogue, only)
    analyst = open_workspace(workspace).checkpoint()
    quotes = analyst.preview(chosen, epsilon, accuracy=accuracy)
    lines = analyst.budget(chosen.log)
    previewed = list(zip(chosen.ppis, quotes, strict=True))
    priced = (replace(ppi, epsilon=quote.epsilon) for ppi, quote in previewed)
    foreseen = analyst.outlook(replace(chosen, ppis=tuple(priced)))
    if svg is not None:
        write_preview_charts(previewed, lines, svg)
    if html is not None:
        write_preview(chosen.log, previewed, lines, foreseen, html)
    if as_json:
        click.echo(_json({"quotes": [quote_record(quote) for quote in quotes]}))
    else:
        # A confidence was named: show what holds with others than the usual one.
        margins = options or "," in (accuracy or "")
        show_preview(quotes, lines, foreseen, margins=margins, options=options)


@click.command()
@CATALOGUE
@ONLY
@EPSILON
@SMOOTH
@WHOLE
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--svg", type=click.Path(file_okay=False, path_type=Path), help="Charts, into DIR.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Report, into FILE.")
@workspace_option
@AS_JSON
def release(
    catalogue: Path,
    only: Sequence[str],
    epsilon: str | None,
    whole: str | None,
    svg: Path | None,
    html: Path | None,
    workspace: str | None,
    *,
    smooth: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Charge the budget and release every PPI; what was released before is free."""
    if whole is not None and not smooth:
        raise click.UsageError("--whole goes with --smooth")
    chosen = chosen_catalogue(catalogue, only)
    door = open_workspace(workspace)
    analyst = door.checkpoint()
    for folder in (svg, html.parent if html else None):
        make_folder(folder)
    series = analyst.release(chosen, epsilon, smooth=smooth, whole=whole)
    budget_lines = analyst.budget(chosen.log)
    if svg is not None:
        write_charts(series, svg)
    if html is not None:
        write_report(door.log(chosen.log), series, budget_lines, html)
    answers = [answer for one in series for answer in one.answers]
    if as_json:
        _print_json(answers, smooth=smooth)
    elif as_csv:
        _print_csv(answers, smooth=smooth)
    else:
        show_release(series, budget_lines)


@click.group(invoke_without_command=True)
@click.option("--log", "log_name", metavar="NAME", help="Only this log.")
@workspace_option
@AS_JSON
@click.pass_context
def budget(
    context: click.Context, log_name: str | None, workspace: str | None, *, as_json: bool
) -> None:
    """What each block may spend, has spent, and whether the ledger verifies."""
    context.obj = workspace or context.obj
    if context.invoked_subcommand is not None:
        return
    from pappi.report.tables import budget_table

    door = open_workspace(workspace)
    verified = verified_in_full(door)
    names = [log_name] if log_name else [log.name for log in door.logs()]
    lines = {name: door.checkpoint().budget(name) for name in names}
    if as_json:
        click.echo(_json(_budget_record(lines, verified.entries, verified.head)))
        return
    for name, blocks in lines.items():
        click.echo(f"Log '{name}'")
        console().print(budget_table(blocks))
    head = f"{verified.entries}:{verified.head[:16]}"
    click.echo(f"The ledger verifies: {verified.entries} entries, head {head}")


@budget.command()
@click.argument("log_name", metavar="LOG")
@click.argument("epsilon")
@click.option("--total", metavar="EPS", help="What all blocks together may spend.")
@workspace_option
def grant(log_name: str, epsilon: str, total: str | None, workspace: str | None) -> None:
    """Owner only: set the epsilon that each block of LOG may spend in all."""
    granted = open_workspace(workspace).grant(log_name, epsilon, total)
    in_all = f", and all together ε {granted.total_budget}" if granted.total_budget else ""
    each = f"Each {granted.blocks.unit} of '{log_name}' may now spend ε {granted.block_budget}"
    click.echo(f"{each}{in_all}.")


def show_release(series: Sequence[Series], lines: Sequence[BudgetLine]) -> None:
    """Tables of values, then what it cost and what is left."""
    from pappi.report.tables import answers_table

    out = console()
    for one in series:
        out.print(answers_table(one))
    answers = [answer for one in series for answer in one.answers]
    replayed = sum(answer.replayed for answer in answers)
    if replayed:
        click.echo(f"{replayed} of {len(answers)} answers were released before: no new cost.")
    show_left(lines)


def write_charts(series: Iterable[Series], directory: Path) -> None:
    from pappi.report.charts import series_svg

    for one in series:
        write_svg(directory / f"{one.ppi}.svg", series_svg(one))


def write_report(
    log: LogDeclaration, series: Sequence[Series], lines: Sequence[BudgetLine], path: Path
) -> None:
    from pappi.report.html import report_html

    facts = (
        ("Log", log.name),
        ("Horizon", f"{log.first} up to {log.until}, {log.timezone}"),
        ("Privacy unit", f"one {log.unit}, {log.adjacency}"),
        ("Budget", f"ε {log.block_budget} per {log.blocks.unit}"),
    )
    page = report_html(f"Process performance: {log.name}", series, lines, facts, now())
    write_private(path, page)
    click.echo(f"Report: {path}", err=True)


def _print_json(answers: Sequence[Answer], *, smooth: bool) -> None:
    from pappi.report.records import answer_record, smoothed_record

    record = smoothed_record if smooth else answer_record
    click.echo(_json({"answers": [record(answer) for answer in answers]}))


def _print_csv(answers: Sequence[Answer], *, smooth: bool) -> None:
    from pappi.report.records import flat_record, flat_smoothed_record
    from pappi.report.spreadsheet import csv_text

    record = flat_smoothed_record if smooth else flat_record
    click.echo(csv_text([record(answer) for answer in answers]), nl=False)


def _budget_record(
    lines: Mapping[str, Sequence[BudgetLine]], entries: int, head: str
) -> dict[str, Any]:
    accounts = [
        {
            "log": name,
            "block": line.block,
            "limit": float(line.limit),
            "spent": float(line.spent),
            "reserved": float(line.held),
            "left": float(line.left),
        }
        for name, blocks in lines.items()
        for line in blocks
    ]
    return {"accounts": accounts, "ledger": {"entries": entries, "head": head}}


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
