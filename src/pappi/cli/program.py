"""`pappi`: the group of commands, and what happens to errors."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import NamedTuple

import click

from pappi import __version__
from pappi.errors import DefinitionError, PappiError

INTERRUPTED = 130
INTERNAL = 70
OUT_OF_MEMORY = 71


class Lazy(NamedTuple):
    """Where a command is, as `module:attribute` of this package, and its help in one sentence."""

    where: str
    help: str


COMMANDS = {
    "init": Lazy("logs:init", "Create a workspace for events, declarations and the budget ledger."),
    "log": Lazy(
        "logs:log",
        "Event logs: profile, import or create, capture, seal, erase, rename, remove, list.",
    ),
    "ppi": Lazy("ppis:ppi", "PPI definitions: say, suggest, check, show, convert."),
    "exact": Lazy("queries:exact", "Owner only: show exact, non-private values."),
    "preview": Lazy("queries:preview", "Show the cost and expected error of every PPI."),
    "advise": Lazy(
        "queries:advise", "Show which PPIs are likely to decide, and what to ask instead."
    ),
    "rehearse": Lazy("queries:rehearse", "Show what a release would look like, on made-up cases."),
    "release": Lazy(
        "queries:release",
        "Charge the budget and release every PPI; earlier releases are repeated for free.",
    ),
    "compare": Lazy(
        "queries:compare",
        "Compare two periods, or two groups, of what was released: free, by the record alone.",
    ),
    "subscription": Lazy(
        "queries:subscription",
        "Subscriptions: budget is reserved in advance, answers are released block by block.",
    ),
    "budget": Lazy(
        "queries:budget",
        "Show what each block may spend and has spent, and whether the ledger verifies.",
    ),
    "audit": Lazy("audit:audit", "Audit what would be released, or verify the ledger."),
    "analyst": Lazy("owner:analyst", "Owner only: manage which analysts may query which logs."),
    "key": Lazy("owner:key", "Owner only: keys for the service."),
    "stop": Lazy("owner:stop", "Owner only: stop all answers until `pappi resume`."),
    "resume": Lazy("owner:resume", "Owner only: answer again after `pappi stop`."),
    "trail": Lazy(
        "owner:trail", "Owner only: show what was declared, asked and done, oldest first."
    ),
    "report": Lazy(
        "owner:report", "Owner only: documents for whoever is responsible for the data."
    ),
    "serve": Lazy(
        "owner:serve", "Serve the workspace over HTTP: analysts on one port, the owner on another."
    ),
    "demo": Lazy(
        "demo:demo",
        "Simulate two logs, import them, release their PPIs, and write reports with charts.",
    ),
    "migrate": Lazy(
        "owner:migrate", "Owner only: upgrade a workspace written by an earlier version."
    ),
    "backup": Lazy(
        "owner:backup", "Owner only: back up the whole workspace to a new FILE; it may be in use."
    ),
    "restore": Lazy(
        "owner:restore",
        "Owner only: restore the workspace in FILE to a new DIRECTORY; it starts out stopped.",
    ),
    "ledger": Lazy("owner:ledger", "Owner only: repair a ledger that was damaged or rolled back."),
}


class LazyGroup(click.Group):
    """Imports a command when it is run: `pappi --version` and `--help` import none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module, _, attribute = COMMANDS[cmd_name].where.partition(":")
            self.add_command(getattr(import_module(f"pappi.cli.{module}"), attribute))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [
            (name, click.Command(name, help=COMMANDS[name].help).get_short_help_str(room))
            for name in sorted(COMMANDS)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="pappi")
@click.option(
    "-w",
    "--workspace",
    type=click.Path(file_okay=False),
    envvar="PAPPI_WORKSPACE",
    help="Workspace directory. [default: this directory or the nearest one above it]",
)
@click.pass_context
def pappi(context: click.Context, workspace: str | None) -> None:
    """Process performance indicators with a differential-privacy guarantee."""
    context.obj = workspace


def main() -> None:
    """Run a command; every expected failure is one clear message and its exit code."""
    try:
        code = pappi.main(standalone_mode=False)
    except PappiError as error:
        _explain(error)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`: that is no failure of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except MemoryError:
        click.echo("error: not enough memory for this", err=True)
        code = OUT_OF_MEMORY
    except Exception as error:  # noqa: BLE001 - a library's own words may carry data
        code = _internal(error)
    # Before it ends, Python would look for cycles in all that is there: a tenth of a short command.
    # DuckDB's binding would report what is left as leaks.
    if "duckdb" not in sys.modules:
        gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: PappiError) -> None:
    from pappi.report import printable

    if isinstance(error, DefinitionError):
        # Each problem says itself that it is one, and where.
        click.echo(error.message, err=True)
        return
    said = printable(error.message)
    click.echo(f"{click.style('error:', fg='red', bold=True)} {said}", err=True)
    if hint := error.hint_of_command:
        click.echo(f"{click.style('hint:', fg='cyan')} {printable(hint)}", err=True)
    if error.detail and os.environ.get("PAPPI_DEBUG"):
        click.echo(f"detail: {error.detail}", err=True)


def _internal(error: Exception) -> int:
    """The kind of failure and nothing else: what it says may quote the log."""
    if os.environ.get("PAPPI_DEBUG"):
        raise error
    click.echo(
        f"internal error: {type(error).__name__}. This is a bug in pappi. The owner can see the "
        "details with PAPPI_DEBUG=1.",
        err=True,
    )
    return INTERNAL
