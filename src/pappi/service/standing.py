"""Standing questions, released as soon as the time they are about is sealed."""

from __future__ import annotations

from pappi.errors import PappiError
from pappi.service.logs import log_failure
from pappi.workspace import Workspace

_PLACE = "standing questions"


def run_standing(workspace: Workspace) -> int:
    """How many were released; if one fails, the seal holds all the same."""
    try:
        runs = workspace.run_standing()
    except PappiError as error:
        log_failure(error, _PLACE)
        return 0
    for run in runs:
        if run.problem is not None:
            log_failure(run.problem, _PLACE)
    return sum(1 for run in runs if run.problem is None)
