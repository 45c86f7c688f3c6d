"""`pappi standing`: questions that are asked again for every block to come."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from pappi.cli.options import (
    CATALOGUE,
    EPSILON,
    catalogue_in,
    console,
    open_workspace,
    workspace_option,
)

ANALYST = click.option(
    "--analyst", default="analyst", show_default=True, help="In whose name, and from whose share."
)


@click.group()
def standing() -> None:
    """Questions that stand: reserved in advance, released block by block."""


@standing.command()
@CATALOGUE
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="Reserve every whole block that ends by this day.",
)
@EPSILON
@ANALYST
@workspace_option
def add(
    catalogue: Path, until: datetime, epsilon: str | None, analyst: str, workspace: str | None
) -> None:
    """Reserve what a catalogue costs in every block to come."""
    door = open_workspace(workspace).checkpoint(analyst)
    question = door.subscribe(catalogue_in(catalogue), until.date(), epsilon)
    click.echo(f"Standing question {question.id}: {question.first} up to {question.until}.")
    click.echo("Each block is released once it is sealed: pappi standing run")


@standing.command("list")
@ANALYST
@workspace_option
def list_(analyst: str, workspace: str | None) -> None:
    """The questions that stand."""
    for question in open_workspace(workspace).checkpoint(analyst).standing():
        click.echo(f"{question.id}  '{question.log}', {question.first} up to {question.until}")


@standing.command()
@click.argument("identity", metavar="ID")
@ANALYST
@workspace_option
def end(identity: str, analyst: str, workspace: str | None) -> None:
    """End a standing question: what is still reserved for it becomes free."""
    cells = open_workspace(workspace).checkpoint(analyst).unsubscribe(identity)
    click.echo(f"Ended; {cells} reservations are free again.")


@standing.command()
@workspace_option
def run(workspace: str | None) -> None:
    """Release what is due of every standing question."""
    from pappi.report.tables import answers_table

    runs = open_workspace(workspace).run_standing()
    for one in runs:
        click.echo(f"Standing question {one.question.id} of {one.question.analyst}:")
        for series in one.series:
            console().print(answers_table(series))
        if one.problem is not None:
            click.echo(f"  not released: {one.problem.message}")
    if not runs:
        click.echo("Nothing is due: every sealed block has been released.")
