"""Replies that are failures, as the errors the library itself would raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pappi.errors import (
    BudgetExceeded,
    Conflict,
    DefinitionError,
    Frozen,
    InputError,
    LedgerBroken,
    LedgerRolledBack,
    LedgerUnavailable,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    NotReleasable,
    PappiError,
    Position,
    Problem,
    Refused,
    ReleaseFailed,
    Stopped,
    UnknownLog,
    UsageError,
    WorkspaceError,
)


class ServiceError(PappiError):
    """The service could not be reached, did not understand, or was not understood."""

    code = "service"
    exit_code = 15

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


_BY_CODE: Mapping[str, type[PappiError]] = MappingProxyType(
    {
        kind.code: kind
        for kind in (
            BudgetExceeded,
            Conflict,
            Frozen,
            InputError,
            LedgerBroken,
            LedgerRolledBack,
            LedgerUnavailable,
            NotAllowed,
            NotFound,
            NotReleasable,
            Refused,
            Stopped,
            UnknownLog,
            UsageError,
            WorkspaceError,
        )
    }
)


def error_of(status: int, body: object, file: str) -> PappiError:
    """The error a reply stands for; `file` is where definitions were read."""
    found = body if isinstance(body, Mapping) else {}
    code, message = str(found.get("code", "")), str(found.get("detail", ""))
    hint = str(found.get("hint", ""))
    if code == DefinitionError.code:
        return DefinitionError([problem_of(item, file) for item in found.get("problems", ())])
    if code == ReleaseFailed.code:
        return ReleaseFailed(detail="")
    if code == NotAuthenticated.code:
        return NotAuthenticated()
    if code in _BY_CODE:
        return _BY_CODE[code](message, hint=hint)
    if found.get("problems"):
        message = f"{message}: {_listed(found['problems'])}"
    return ServiceError(message or f"the service answered {status}", hint=hint, status=status)


def problem_of(found: Mapping[str, Any], file: str) -> Problem:
    position = Position(file, found.get("line") or 1, found.get("column") or 1)
    problem = Problem(position, str(found.get("message", "")), str(found.get("hint", "")))
    return replace(problem, level="warning") if found.get("level") == "warning" else problem


def _listed(problems: object) -> str:
    items = problems if isinstance(problems, list) else []
    return "; ".join(f"{item.get('place')}: {item.get('message')}" for item in items)
