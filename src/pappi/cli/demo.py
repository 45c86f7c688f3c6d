"""`pappi demo`: the whole way once, on the example logs that come with PaPPI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi import report
from pappi.cli.options import console, verified_in_full
from pappi.cli.queries import show_cost, write_report
from pappi.examples import DEMO_EPSILON, EXAMPLES, Example

if TYPE_CHECKING:
    from pappi.session import Workspace

# So that each log fits a screen.
SHOWN = 6


@click.command()
@click.argument(
    "directory",
    default="pappi-demo",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--epsilon", default=DEMO_EPSILON, show_default=True, help="Epsilon of each PPI.")
def demo(directory: Path, epsilon: str) -> None:
    """Simulate two logs, import them, release their PPIs, and write reports with charts."""
    from pappi.session import create

    workspace = create(directory / "workspace")
    click.echo(f"1. A workspace: {workspace.root}")
    for number, example in enumerate(EXAMPLES.values(), start=2):
        click.echo(f"\n{number}. {example.about}")
        _show(example, workspace, directory, epsilon)
    verified = verified_in_full(workspace)
    click.echo(f"\nThe ledger verifies: {verified.entries} entries, all chained.")
    again = f"release {example.catalogue_path} --epsilon {epsilon}"
    click.echo(f"Ask again, for free: pappi -w {workspace.root} {again}")


def _show(example: Example, workspace: Workspace, directory: Path, epsilon: str) -> None:
    from pappi.custody import NewLog

    file = example.write_log(directory)
    new = NewLog(terms=example.terms)
    imported = workspace.import_log(file, example.log, new=new, timezone=example.zone)
    counts, log = imported.report, imported.declaration
    click.echo(f"   {counts.events:,} events in {counts.cases:,} cases, imported from {file}")
    click.echo(
        f"   privacy unit: one {log.terms.unit}, {log.terms.adjacency}; "
        f"budget: ε {log.terms.block_budget} per {log.terms.blocks.unit}"
    )
    analyst = workspace.checkpoint()
    before = analyst.budget(log.name)
    if example.impossible_path is not None:
        (quote,) = analyst.advise(example.impossible_path, epsilon)
        click.echo()
        console().print(report.nothing_said(quote))
        advice = report.cheapest_text(quote, report.least_left(before))
        console().print(
            f"Advice: {advice}. Taken: {example.catalogue} asks for such a "
            "share, every month and in one draw with the other PPIs.",
            markup=False,
        )
    # Whoever takes a smaller ε sees what it does, and need not be asked whether they mean it.
    series = analyst.release(example.catalogue_path, epsilon, anyway=True)
    lines = analyst.budget(log.name)
    click.echo(f"\n{report.tally_text(a for ppi in series for a in ppi.answers)}")
    click.echo(f"The last {SHOWN} months; the report has all of them, with charts:")
    console().print(report.overview_table(series, SHOWN))
    show_cost(series, before, lines)
    write_report(analyst.log(log.name), series, lines, directory / f"{example.log}.html")
