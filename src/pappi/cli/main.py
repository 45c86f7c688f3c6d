"""`pappi`: the group of commands, and what happens to errors."""

from __future__ import annotations

import os
import sys

import click

from pappi import __version__
from pappi.cli.answers import budget, exact, preview, release
from pappi.cli.audit import audit
from pappi.cli.control import analyst, key, resume, stop, trail
from pappi.cli.demo import demo
from pappi.cli.experiments import experiments
from pappi.cli.growing import GROWING
from pappi.cli.keeping import backup, ledger, migrate, restore
from pappi.cli.logs import init, log
from pappi.cli.ppis import ppi
from pappi.cli.rehearsing import rehearse
from pappi.cli.reports import report
from pappi.cli.serve import serve
from pappi.cli.sources import add
from pappi.cli.standing import standing
from pappi.errors import DefinitionError, PappiError

INTERRUPTED = 130
INTERNAL = 70


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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


_COMMANDS = (
    *(init, log, ppi, exact, preview, rehearse, release, standing, budget, audit),
    *(analyst, key, stop, resume, trail, report, serve, experiments, demo),
    *(migrate, backup, restore, ledger),
)
for command in _COMMANDS:
    pappi.add_command(command)
for command in (add, *GROWING):
    log.add_command(command)


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
    except Exception as error:  # noqa: BLE001 - a library's own words may carry data
        code = _internal(error)
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: PappiError) -> None:
    if isinstance(error, DefinitionError):
        # Each problem says itself that it is one, and where.
        click.echo(error.message, err=True)
        return
    click.echo(f"{click.style('error:', fg='red', bold=True)} {error.message}", err=True)
    if error.hint:
        click.echo(f"{click.style('hint:', fg='cyan')} {error.hint}", err=True)
    if error.detail and os.environ.get("PAPPI_DEBUG"):
        click.echo(f"detail: {error.detail}", err=True)


def _internal(error: Exception) -> int:
    """The kind of failure and nothing else: what it says may quote the log."""
    if os.environ.get("PAPPI_DEBUG"):
        raise error
    click.echo(
        f"internal error: {type(error).__name__}. This is a defect in pappi. "
        "The owner can see all of it with PAPPI_DEBUG=1.",
        err=True,
    )
    return INTERNAL
