"""Every command and option, as click knows them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from pappi.cli.program import pappi
from tools.docs.markdown import code, joined, sentence, table

INTRODUCTION = """\
# The command line

`pappi COMMAND --help` says the same. A workspace is named by `-w`, before or behind the command, by
`PAPPI_WORKSPACE`, or by being in it. Failures print one message and have
[stable exit codes](errors.md).
"""


def page() -> str:
    contexts = list(walk(pappi, None))
    named = [context for context in contexts if context.parent is not None]
    rows = [(_link(context), _short(context.command)) for context in named]
    return joined(
        [INTRODUCTION, table(("command", "what it does"), rows), *map(_section, contexts)]
    )


def walk(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    """A command and all that stand below it, each with the words in front of it."""
    context = click.Context(command, info_name=command.name, parent=parent)
    yield context
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            if (below := command.get_command(context, name)) is not None:
                yield from walk(below, context)


def options_of(command: click.Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def _link(context: click.Context) -> str:
    anchor = context.command_path.replace(" ", "-")
    return f"[{code(context.command_path)}](#{anchor})"


def _short(command: click.Command) -> str:
    return sentence(inspect.cleandoc(command.help or "").split("\n\n")[0])


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    rows = [_option(option, context) for option in options_of(command)]
    return joined(
        [
            f"## {context.command_path}",
            inspect.cleandoc(command.help or ""),
            f"```text\n{context.command_path} {usage}\n```",
            table(("option", "meaning"), rows),
        ]
    )


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    names, meaning = option.get_help_record(context) or (option.name or "", "")
    if isinstance(option.envvar, str):
        meaning += f" Also {code(option.envvar)}."
    return code(names), meaning
