"""`pappi ppi`: check definitions, show them, and write them in another notation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pappi.cli.options import CATALOGUE, catalogue_in, open_workspace, workspace_option
from pappi.errors import DefinitionError, LedgerBroken, UsageError, WorkspaceError
from pappi.mechanisms import mechanism_names
from pappi.ppinot import (
    FORMATS,
    WRITTEN,
    Catalogue,
    check_catalogue,
    definitions_in,
    ignored_by_java,
    parse_definitions,
    write_definitions,
)
from pappi.report import ppi_svg, ppi_text
from pappi.values import Vocabulary


@click.group()
def ppi() -> None:
    """PPI definitions: check, show, convert."""


@ppi.command()
@CATALOGUE
@workspace_option
def check(catalogue: Path, workspace: str | None) -> None:
    """Find every problem in a catalogue, with line numbers."""
    definitions = catalogue_in(catalogue)
    vocabulary = _vocabulary(definitions, workspace)
    problems = check_catalogue(definitions, vocabulary, mechanism_names())
    if vocabulary is not None and not problems:
        problems = open_workspace(workspace).checkpoint().unreleasable(definitions)
    for problem in problems:
        if problem.level == "warning":
            click.echo(str(problem), err=True)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise DefinitionError(errors)
    against = (
        f"log '{definitions.log}'" if vocabulary else "the notation only: no workspace has its log"
    )
    verdict = f"{len(problems)} to look at" if problems else "no problems"
    count = len(definitions.ppis)
    click.echo(f"{catalogue}: {count} PPI{'s' * (count != 1)}, {verdict}, against {against}")


@ppi.command()
@CATALOGUE
@click.argument("ppi_id", required=False)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the tree of one PPI to this file.",
)
def show(catalogue: Path, ppi_id: str | None, svg: Path | None) -> None:
    """Show each PPI as a sentence, its functions, and the sets that may carry the noise."""
    shown = [p for p in catalogue_in(catalogue).ppis if ppi_id in (None, p.id)]
    if not shown:
        raise click.UsageError(f"there is no PPI '{ppi_id}' in {catalogue}")
    if svg is not None:
        if len(shown) > 1:
            names = ", ".join(ppi.id for ppi in shown[:8])
            raise click.UsageError(f"a picture shows one PPI: name it after the file ({names})")
        svg.write_text(ppi_svg(shown[0]), encoding="utf-8")
    click.echo("\n\n".join(ppi_text(one) for one in shown))


@ppi.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(WRITTEN),
    required=True,
    help="Notation to write.",
)
@click.option(
    "--from",
    "source",
    type=click.Choice(list(FORMATS)),
    help="Notation to read. [default: guessed from the file's name and content]",
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
    help="The log has no lifecycle transitions: treat every event as a completion.",
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
        return open_workspace(workspace).log(catalogue.log).public.vocabulary
    except WorkspaceError as problem:
        if workspace is not None or isinstance(problem, LedgerBroken):
            raise
        return None


def remarks_on(catalogue: Catalogue, text: str, notation: str) -> Iterator[str]:
    """What a reader of the text should know: what it lost, and what Java would not see."""
    try:
        again = parse_definitions(text, notation, "<output>", catalogue.log).catalogue.ppis
    except DefinitionError:
        again = ()
    same = {ppi.id: ppi for ppi in again}
    changed = [f"'{ppi.id}'" for ppi in catalogue.ppis if same.get(ppi.id) != ppi]
    if changed:
        yield f"warning: {', '.join(changed)} would change when read back"
    ignored = ignored_by_java(catalogue) if notation == "java" else ()
    if ignored:
        fields = ", ".join(ignored)
        yield f"note: Java PPINOT does not know the fields {fields} and will ignore them"


def save(text: str, path: Path, *, force: bool) -> None:
    """Writes a file; one that already exists only if that is wanted."""
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        hint = "overwrite it with --force"
        raise UsageError(f"{path} already exists", hint=hint) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be written'}") from None
