"""`pappi ppi`: say or suggest definitions, check and show them, write them in another notation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pappi.cli.options import (
    AS_JSON,
    CATALOGUE,
    catalogue_in,
    open_workspace,
    options,
    print_json,
    save,
    workspace_option,
)
from pappi.errors import DefinitionError, LedgerBroken, NotUnderstood, WorkspaceError
from pappi.mechanisms import understood_names
from pappi.ppinot import (
    FORMATS,
    WRITTEN,
    Catalogue,
    Reading,
    check_catalogue,
    definitions_in,
    ignored_by_java,
    parse_definitions,
    write_definitions,
)
from pappi.report import count_text, ppi_svg, ppi_text, printable
from pappi.values import Vocabulary

_output_options = options(
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to write. [default: standard output]",
    ),
    click.option("--force", is_flag=True, help="Overwrite the file."),
)


@click.group()
def ppi() -> None:
    """PPI definitions: say, suggest, check, show, convert."""


@ppi.command()
@click.argument("sentence")
@click.option("--log", metavar="NAME", help="The log it is about. [default: the only one]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write the chosen reading to, as YAML.",
)
@click.option(
    "--take",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Which reading to write.",
)
@AS_JSON
@workspace_option
def say(
    sentence: str,
    log: str | None,
    output: Path | None,
    take: int,
    workspace: str | None,
    *,
    as_json: bool,
) -> None:
    """Say a PPI in everyday words; shows what it may mean, best first.

    Only the log's public names are looked at: no data is read, nothing is spent. Nothing is
    guessed in silence: each reading tells what it assumes, and which words it leaves out.
    """
    session = open_workspace(workspace).checkpoint()
    try:
        readings = session.understand(sentence, log).readings
    except NotUnderstood:
        if as_json:
            print_json({"readings": []})
        raise
    if output is not None:
        if take > len(readings):
            raise click.UsageError(f"there are {len(readings)} readings, so no number {take}")
        save(readings[take - 1].yaml, output, force=False)
    if as_json:
        print_json({"readings": readings})
        return
    for number, reading in enumerate(readings, start=1):
        click.echo(_shown(number, reading))
    if output is not None:
        click.echo(f"Reading {take} is in {output}. Next: pappi preview {output}")
    else:
        click.echo("Is one of them what you mean? Write it to a file with --take N -o FILE.")


def _shown(number: int, reading: Reading) -> str:
    """A reading for people: what it says, what it leaves out and assumes, and its YAML."""
    said = f"{printable(reading.sentence)}  (fits {reading.score:.0%})"
    lines = [f"{click.style(f'{number}.', bold=True)} {said}"]
    if reading.target:
        lines.append(f"   target: {printable(reading.target)}")
    if reading.unread:
        words = printable(", ".join(f"“{word}”" for word in reading.unread))
        lines.append(click.style(f"   not understood: {words}", fg="yellow"))
    lines += [f"   assumed: {printable(assumed)}" for assumed in reading.assumed]
    lines += ["", *(f"   {printable(line)}".rstrip() for line in reading.yaml.splitlines()), ""]
    return "\n".join(lines)


@ppi.command()
@CATALOGUE
@workspace_option
def check(catalogue: Path, workspace: str | None) -> None:
    """Find every problem in a catalogue, with line numbers."""
    definitions = catalogue_in(catalogue)
    vocabulary = _vocabulary(definitions, workspace)
    problems = check_catalogue(definitions, vocabulary, understood_names())
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
    count = count_text(len(definitions.ppis), "PPI")
    click.echo(f"{catalogue}: {count}, {verdict}, against {against}")


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
        save(ppi_svg(shown[0]), svg, force=True)
    click.echo("\n\n".join(ppi_text(ppi) for ppi in shown))


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
@_output_options
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
    for remark in (*reading.remarks, *reading.lost, *remarks_on(reading.catalogue, text, target)):
        click.echo(str(remark), err=True)
    save(text, output, force=force)


@ppi.command()
@click.argument("log")
@click.option(
    "--from-data",
    is_flag=True,
    help="Owner only: propose bounds and activities from the data. What you use of it becomes "
    "public, and is not protected by ε.",
)
@_output_options
@workspace_option
def suggest(
    log: str, output: Path | None, workspace: str | None, *, from_data: bool, force: bool
) -> None:
    """Write a first catalogue for LOG, from its public names: edit it, then preview it."""
    text = open_workspace(workspace).suggest(log, from_data=from_data)
    if from_data:
        click.echo(
            "Proposed from the data: its bounds and choices become public once they are used.",
            err=True,
        )
    save(text, output, force=force)
    if output is not None:
        click.echo(f"Next: edit {output}, then: pappi preview {output}")


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
