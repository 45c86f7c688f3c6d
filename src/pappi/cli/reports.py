"""`pappi report`: documents for those who answer for the data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pappi.cli.options import AS_JSON, open_workspace, workspace_option
from pappi.cli.previews import write_private
from pappi.errors import InputError, LedgerBroken

if TYPE_CHECKING:
    from pappi.report.dpo.facts import Pack

DEFAULT_FILE = Path("data-protection.html")


@click.group()
def report() -> None:
    """Owner only: documents for those who answer for the data."""


@report.command()
@click.argument("log_name", metavar="[LOG]", required=False)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Document, into FILE. [default: {DEFAULT_FILE}, unless --json is given]",
)
@workspace_option
@AS_JSON
def dpo(log_name: str | None, html: Path | None, workspace: str | None, *, as_json: bool) -> None:
    """The data-protection pack: guarantee, every release, record of processing, verification.

    Of LOG, or of all logs. It is made from the ledger and the declarations; no event is read.
    """
    pack = open_workspace(workspace).custody.pack(log_name)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if html is not None or not as_json:
        _write(pack, made, html or DEFAULT_FILE)
    if as_json:
        from pappi.report.dpo.record import pack_record

        click.echo(json.dumps(pack_record(pack, made), indent=2, ensure_ascii=False))
    if not pack.chain.ok:
        # The document says so, too; no script that goes by the exit code may miss it.
        raise LedgerBroken(
            f"the ledger does not verify: {pack.chain.problem}",
            hint="restore it from a backup; until then the document can state nothing else",
        )


def _write(pack: Pack, made: str, path: Path) -> None:
    from pappi.report.dpo.document import dpo_html

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, dpo_html(pack, made))
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from None
    click.echo(f"Data-protection pack: {path}", err=True)
