"""What the cases of a log are worth, one by one."""

from __future__ import annotations

from collections.abc import Iterable

from pappi.ppinot import parse_catalogue
from pappi.session import Workspace


def values_of(
    workspace: Workspace, cases: Iterable[str], measure: str, unit: str = ""
) -> list[float | None]:
    """The measure of each case: the sole case that passes the filter is its own maximum."""
    ppis = (
        f"  - id: case{number}\n    measure:\n      max: {measure}\n"
        f"      where: {{condition: 'me == \"{case}\"'}}\n{unit and f'    unit: {unit}'}\n"
        for number, case in enumerate(cases)
    )
    catalogue = parse_catalogue(f"log: small\nppis:\n{''.join(ppis)}", "cases.yaml")
    values = {answer.ppi: answer.value for answer in workspace.exact(catalogue)}
    return [values[ppi.id] for ppi in catalogue.ppis]
