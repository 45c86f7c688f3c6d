"""`pappi ppi`: look at definitions before asking for anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import CATALOGUE, open_workspace, workspace_option
from pappi.errors import DefinitionError, LedgerBroken, WorkspaceError

if TYPE_CHECKING:
    from pappi.ppinot.model import Catalogue
    from pappi.values.vocabulary import Vocabulary


@click.group()
def ppi() -> None:
    """PPI definitions: check, show."""


@ppi.command()
@CATALOGUE
@workspace_option
def check(catalogue: Path, workspace: str | None) -> None:
    """Find every problem of a catalogue, with line numbers."""
    from pappi.ppinot.catalogue import read_catalogue
    from pappi.ppinot.checks import check_catalogue

    found = read_catalogue(catalogue)
    vocabulary = _vocabulary(found, workspace)
    problems = check_catalogue(found, vocabulary)
    if vocabulary is not None and not problems:
        problems = open_workspace(workspace).checkpoint().unreleasable(found)
    for problem in problems:
        if problem.level == "warning":
            click.echo(str(problem), err=True)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise DefinitionError(errors)
    against = f"log '{found.log}'" if vocabulary else "the notation alone: no workspace has its log"
    verdict = f"{len(problems)} to look at" if problems else "no problems"
    count = len(found.ppis)
    click.echo(f"{catalogue}: {count} PPI{'s' * (count != 1)}, {verdict}, against {against}")


@ppi.command()
@CATALOGUE
@click.argument("ppi_id", required=False)
def show(catalogue: Path, ppi_id: str | None) -> None:
    """Each PPI as a sentence, and its functions with the sets that may carry the noise."""
    from pappi.ppinot.catalogue import read_catalogue
    from pappi.report.trees import ppi_text

    shown = [p for p in read_catalogue(catalogue).ppis if ppi_id in (None, p.id)]
    if not shown:
        raise click.UsageError(f"there is no PPI '{ppi_id}' in {catalogue}")
    click.echo("\n\n".join(ppi_text(one) for one in shown))


def _vocabulary(catalogue: Catalogue, workspace: str | None) -> Vocabulary | None:
    """The declared vocabulary, where there is a workspace that has the log."""
    try:
        return open_workspace(workspace).log(catalogue.log).vocabulary
    except WorkspaceError as problem:
        if workspace is not None or isinstance(problem, LedgerBroken):
            raise
        return None
