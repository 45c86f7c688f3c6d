"""`python -m experiments`: the paper's evaluation, with its mechanisms and with ours."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--fast", is_flag=True, help="Fewer runs: rough figures within a minute.")
@click.option(
    "--out",
    default="build/experiments",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for CSV, SVG and the report.",
)
def run(names: tuple[str, ...], out: Path, *, fast: bool) -> None:
    """Run experiments and write CSV, SVG and one HTML page.

    NAME is guarantees, reproduction, controlled, sepsis or pripel; without one, all are run.
    Simulations with fixed seeds: nothing is released. What needs data that is not here says
    so and is skipped.
    """
    from experiments.running import REPORT, run_experiments

    sections = run_experiments(names, out, _note, fast=fast)
    for section in sections:
        state = f"skipped: {section.skipped}" if section.skipped else "done"
        click.echo(f"{section.name}: {state}")
    click.echo(f"report: {out / REPORT}")


def _note(text: str) -> None:
    """Progress, for whoever is watching."""
    click.echo(f"… {text}", err=True)


if __name__ == "__main__":
    run(prog_name="python -m experiments")
