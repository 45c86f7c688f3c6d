"""`pappi demo`: the whole way once, on the example logs that come with PaPPI."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import verified_in_full
from pappi.cli.queries import show_release, write_report
from pappi.examples import EXAMPLES, Example

if TYPE_CHECKING:
    from pappi.session import Workspace


# So that the demo fits a screen.
SHOWN = 8


@click.command()
@click.argument(
    "directory",
    default="pappi-demo",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--epsilon", default="0.15", show_default=True, help="Epsilon of each PPI.")
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
    file = example.write_log(directory)
    imported = workspace.import_log(file, example.log, timezone=example.zone)
    report, log = imported.report, imported.declaration
    click.echo(f"   {report.events:,} events in {report.cases:,} cases, imported from {file}")
    click.echo(
        f"   privacy unit: one {log.terms.unit}, {log.terms.adjacency}; "
        f"budget: ε {log.terms.block_budget} per {log.terms.blocks.unit}"
    )
    analyst = workspace.checkpoint()
    before = analyst.budget(log.name)
    # Also what tells nothing: the report shows what that looks like.
    series = analyst.release(example.catalogue_path, epsilon, anyway=True)
    lines = analyst.budget(log.name)
    click.echo(f"   released; here the last {SHOWN} periods, in the report all of them:\n")
    show_release([replace(one, answers=one.answers[-SHOWN:]) for one in series], before, lines)
    write_report(analyst.log(log.name), series, lines, directory / f"{example.log}.html")
