"""Options and helpers that commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pappi.errors import InputError, LedgerBroken, UsageError
from pappi.ppinot import Catalogue, definitions_in

if TYPE_CHECKING:
    from rich.console import Console

    from pappi.ledger import Verification
    from pappi.session import Workspace


Command = TypeVar("Command", bound=Callable[..., Any])
CATALOGUE = click.argument(
    "catalogue", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
EPSILON = click.option(
    "--epsilon",
    metavar="EPS",
    help="Epsilon of each PPI. [default: the PPI's own, else what it needs]",
)


TOTAL = click.option(
    "--total",
    metavar="EPS",
    help="Epsilon of all PPIs together, by one draw where that is better. [default: the file's]",
)


# Behind the command as well as before it.
workspace_option = click.option(
    "-w", "--workspace", type=click.Path(file_okay=False), help="Workspace directory."
)


def options(*given: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def add(command: Command) -> Command:
        for option in reversed(given):
            command = option(command)
        return command

    return add


def open_workspace(given: str | None) -> Workspace:
    """The workspace named here, before the command, in the environment, or around us.

    A service may run beside the command, so what is released here appears there on its grid.
    """
    from pappi.checkpoint import on_grid
    from pappi.session import find, open_at

    context = click.get_current_context()
    named = given or context.find_root().obj
    opened = open_at(Path(named)) if named else find(Path.cwd())
    workspace = opened.paced(on_grid())
    context.call_on_close(workspace.close)
    return workspace


def verified_in_full(workspace: Workspace) -> Verification:
    """What verifying the whole ledger found; an error if it is not sound."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = TextColumn("Verifying the ledger: entry {task.completed:,.0f}")
    with Progress(columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        verified = workspace.verify(lambda seq: bar.update(task, completed=seq))
    if not verified.ok:
        raise LedgerBroken(
            f"the ledger does not verify: {verified.problem}",
            hint="nothing is released until you restore it from a backup",
        )
    return verified


def print_json(record: Mapping[str, Any]) -> None:
    """In the form that HTTP has as well: one codec writes the types of a session."""
    from pappi.session import to_wire

    click.echo(json.dumps(to_wire(record), indent=2, ensure_ascii=False, allow_nan=False))


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def catalogue_in(path: Path) -> Catalogue:
    """The catalogue in a file of any notation; remarks go to the one who reads along."""
    reading = definitions_in(path)
    for remark in reading.remarks:
        click.echo(str(remark), err=True)
    return reading.catalogue


def chosen_catalogue(path: Path, only: Sequence[str], total: str | None = None) -> Catalogue:
    """The catalogue in a file, or those of its PPIs that were asked for; under a total, if any."""
    from pappi.checkpoint import catalogue_of

    return catalogue_of(catalogue_in(path), total, only or None)


def make_folder(folder: Path | None) -> None:
    """Where files will go, made before anything is charged."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} cannot be written to: {problem.strerror}") from None


def write_private(path: Path, text: str) -> None:
    """For its owner alone, whatever the umask: what was released is the organisation's."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            path.chmod(0o600)
            file.write(text)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from None


def save(text: str, path: Path | None, *, force: bool) -> None:
    """Writes a file, or to standard output; a file that exists already only if that is wanted."""
    if path is None:
        click.echo(text, nl=False)
        return
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        hint = "overwrite it with --force"
        raise UsageError(f"{path} already exists", hint=hint) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be written'}") from None


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
