"""`python -m tools.docs [--check]`: write the generated pages, or say which are stale."""

from __future__ import annotations

import click

from tools.docs import ROOT, stale, write


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a page is stale.")
def main(*, check: bool) -> None:
    """Write every generated page of the documentation."""
    if not check:
        write()
        return
    found = [str(path.relative_to(ROOT)) for path in stale()]
    if found:
        raise click.ClickException(f"stale: {', '.join(found)}; run: make generated")


main()
