"""Options and helpers that commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pappi.errors import LedgerBroken, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from pappi.ppinot.model import Catalogue
    from pappi.store.ledger import Verification
    from pappi.workspace import Workspace

Command = TypeVar("Command", bound=Callable[..., Any])

CATALOGUE = click.argument(
    "catalogue", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
EPSILON = click.option(
    "--epsilon",
    metavar="EPS",
    help="Epsilon of each PPI. [default: as the PPI says, else 0.1]",
)


def workspace_option(command: Command) -> Command:
    """`--workspace` behind the command as well as before it."""
    return click.option(
        "-w", "--workspace", type=click.Path(file_okay=False), help="Workspace directory."
    )(command)


def open_workspace(given: str | None) -> Workspace:
    """The workspace named here, before the command, in the environment, or around us.

    A service may run beside the command, so what is released here appears there on its grid.
    """
    from pappi.checkpoint.pace import on_grid
    from pappi.workspace import find, open_at

    context = click.get_current_context()
    named = given or context.find_root().obj
    found = open_at(Path(named)) if named else find(Path.cwd())
    workspace = found.paced(on_grid())
    context.call_on_close(workspace.close)
    return workspace


def verified_in_full(workspace: Workspace) -> Verification:
    """What verifying the whole ledger found; an error if it is not sound."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = TextColumn("Verifying the ledger: entry {task.completed:,.0f}")
    with Progress(columns, console=Console(stderr=True), transient=True) as told:
        task = told.add_task("", total=None)
        found = workspace.verify(lambda seq: told.update(task, completed=seq))
    if not found.ok:
        raise LedgerBroken(
            f"the ledger does not verify: {found.problem}",
            hint="nothing is released until it is restored from a backup",
        )
    return found


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def catalogue_in(path: Path) -> Catalogue:
    """The catalogue in a file of any notation; remarks go to the one who reads along."""
    from pappi.ppinot.notations import definitions_in

    reading = definitions_in(path)
    for remark in reading.remarks:
        click.echo(str(remark), err=True)
    return reading.catalogue


def chosen_catalogue(path: Path, only: Sequence[str]) -> Catalogue:
    """The catalogue in a file, or those of its PPIs that were asked for."""
    catalogue = catalogue_in(path)
    unknown = set(only) - {ppi.id for ppi in catalogue.ppis}
    if unknown:
        raise UsageError(
            f"{path} has no PPI '{min(unknown)}'",
            hint="it has: " + ", ".join(ppi.id for ppi in catalogue.ppis),
        )
    chosen = tuple(ppi for ppi in catalogue.ppis if not only or ppi.id in only)
    return replace(catalogue, ppis=chosen)
