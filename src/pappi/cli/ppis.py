"""`pappi ppi`: look at definitions before asking for anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import CATALOGUE, catalogue_in, open_workspace, workspace_option
from pappi.errors import DefinitionError, LedgerBroken, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pappi.ppinot.model import Catalogue, Ppi
    from pappi.values.vocabulary import Vocabulary


@click.group()
def ppi() -> None:
    """PPI definitions: check, show, convert."""


@ppi.command()
@CATALOGUE
@workspace_option
def check(catalogue: Path, workspace: str | None) -> None:
    """Find every problem of a catalogue, with line numbers."""
    from pappi.ppinot.checks import check_catalogue

    found = catalogue_in(catalogue)
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
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the tree of one PPI as a picture.",
)
def show(catalogue: Path, ppi_id: str | None, svg: Path | None) -> None:
    """Each PPI as a sentence, and its functions with the sets that may carry the noise."""
    from pappi.report.trees import ppi_text

    shown = [p for p in catalogue_in(catalogue).ppis if ppi_id in (None, p.id)]
    if not shown:
        raise click.UsageError(f"there is no PPI '{ppi_id}' in {catalogue}")
    if svg is not None:
        _draw(shown, svg)
    click.echo("\n\n".join(ppi_text(one) for one in shown))


def _draw(ppis: Sequence[Ppi], svg: Path) -> None:
    from pappi.report.tree_chart import ppi_svg

    if len(ppis) > 1:
        names = ", ".join(ppi.id for ppi in ppis[:8])
        raise click.UsageError(f"a picture is of one PPI: name it behind the file ({names})")
    svg.write_text(ppi_svg(ppis[0]), encoding="utf-8")


_NOTATIONS = ("yaml", "json", "java", "text", "bpmn")


@ppi.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--to", "target", type=click.Choice(_NOTATIONS[:-1]), required=True, help="Notation to write."
)
@click.option(
    "--from",
    "source",
    type=click.Choice(_NOTATIONS),
    help="Notation to read. [default: as the file's name and content say]",
)
@click.option("--log", metavar="NAME", help="The log the PPIs are about.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [default: standard output]",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option(
    "--no-lifecycle",
    is_flag=True,
    help="The log has no transitions: every event of an activity is its completion.",
)
def convert(
    file: Path,
    target: str,
    source: str | None,
    log: str | None,
    output: Path | None,
    *,
    force: bool,
    no_lifecycle: bool,
) -> None:
    """Write the PPIs of a file in another notation.

    yaml and json are catalogues, java is the JSON of the Java reference of PPINOT, text is
    sentences; bpmn, the PPIs of a BPMN model, is only read.
    """
    from pappi.cli.conversion import remarks_on, save
    from pappi.ppinot.notations import definitions_in, write_definitions

    reading = definitions_in(file, source, log, lifecycle=not no_lifecycle)
    text = write_definitions(reading.catalogue, target)
    for told in (*reading.remarks, *reading.lost, *remarks_on(reading.catalogue, text, target)):
        click.echo(str(told), err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        save(text, output, force=force)


def _vocabulary(catalogue: Catalogue, workspace: str | None) -> Vocabulary | None:
    """The declared vocabulary, where there is a workspace that has the log."""
    try:
        return open_workspace(workspace).log(catalogue.log).vocabulary
    except WorkspaceError as problem:
        if workspace is not None or isinstance(problem, LedgerBroken):
            raise
        return None
