"""Every command of pappi that any page shows exists, with the options it is shown with.

And what is shown in Python can at least be compiled, what is shown in YAML be read.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
import yaml

from pappi.cli.program import pappi
from tests.docs.pages import DOCS, PAGES, blocks, commands, name_of


def parsed(line: str) -> None:
    """Raises click.UsageError if the words make no command; reads no file."""
    words = shlex.split(line, comments=True)
    words = words[: next((i for i, word in enumerate(words) if word in {"&&", "|", ">"}), None)]
    command: click.Command = pappi
    context = click.Context(command, info_name=words.pop(0))
    while isinstance(command, click.Group):
        _, words, order = command.make_parser(context).parse_args(words)
        if not words and command.invoke_without_command:
            return
        if words == [] and any(str(option.name) in {"version", "help"} for option in order):
            return
        _, found, words = command.resolve_command(context, words)
        if found is None:
            raise click.UsageError(f"no such command: {line}")
        command = found
        context = click.Context(command, info_name=command.name, parent=context)
    values, _, _ = command.make_parser(context).parse_args(words)
    required = (param.name or "" for param in command.params if param.required)
    missing = [name for name in required if not isinstance(values.get(name), str | tuple | list)]
    if missing:
        raise click.UsageError(f"{line}: lacks {missing}")


SHOWN = sorted(
    {
        line.partition(" && ")[0]
        for path in PAGES
        for line in commands(path.read_text(encoding="utf-8"))
        if line.startswith("pappi ")
    }
)


@pytest.mark.parametrize("line", SHOWN)
def test_commands_exist_with_the_options_shown(line: str) -> None:
    parsed(line)


@pytest.mark.parametrize(
    "line",
    ["pappi relase x.yaml", "pappi release x.yaml --epsilonn 1", "pappi release", "pappi log nope"],
)
def test_a_command_that_does_not_exist_would_be_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        parsed(line)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_compiles_and_yaml_reads(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python" and ">>>" not in block.text and "reference" not in path.parts:
            compile(block.text, name_of(path), "exec")
        if block.language == "yaml":
            assert yaml.safe_load(block.text) is not None


def test_most_pages_are_looked_at() -> None:
    assert len(PAGES) > 30
    assert len(SHOWN) > 60
    assert DOCS / "how-to" / "import.md" in PAGES
