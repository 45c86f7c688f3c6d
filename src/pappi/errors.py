"""Every error PaPPI raises on purpose.

    PappiError
    ├── UsageError            the command or call itself is not valid
    │   ├── NotFound          … because there is no such key, grant or subscription
    │   ├── NotUnderstood     … because no reading fits a sentence in everyday words
    │   └── UnknownLog        … because there is no such log, or not for this analyst
    ├── Conflict              it contradicts what is already on record
    ├── NotAuthenticated      no key, or one that is not valid (any more)
    ├── WorkspaceError        no workspace, or one that cannot be opened
    │   └── LedgerUnavailable the ledger cannot be reached or written: nothing is served
    │       └── LedgerBroken  … because it does not verify
    │           └── LedgerRolledBack  … or lacks entries that it had
    ├── InputError            a file that cannot be read as what it claims to be
    │   └── LogFormatError    … as an event log
    ├── DefinitionError       a PPI catalogue with problems, all of them at once
    ├── ReleaseFailed         something broke after the charge; the same request completes it
    └── Refused               a well-formed request the checkpoint does not answer
        ├── BudgetExceeded    it costs more than is left
        ├── Frozen            nobody knows what is left: part of the ledger was lost
        ├── NotAllowed        the key does not give this right
        ├── Stopped           the owner has stopped all answers
        ├── TellsNothing      it could be released, and would tell nothing: say `anyway`
        └── NotReleasable     no mechanism can answer it from public facts

Each error has a stable `code`, a `message` that is safe to show to an analyst,
a `hint` that says what to do next (`hint_of_command`: in the words of the command
line), and a private `detail` that only the owner's log may carry. Messages are made
from the request, the declarations and the ledger, never from event data.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Option:
    """An option that would help, in the words of the interface that was used.

    `flag` is its name on the command line, if that differs.

    >>> Option("time_format", "%d.%m.%Y").as_argument()
    "time_format='%d.%m.%Y'"
    >>> Option("time_format", "%d.%m.%Y").as_flag()
    '--time-format %d.%m.%Y'
    """

    name: str
    example: str = ""
    flag: str = ""

    def as_argument(self) -> str:
        return f"{self.name}={self.example!r}" if self.example else self.name

    def as_flag(self) -> str:
        flag = f"--{(self.flag or self.name).replace('_', '-')}"
        return f"{flag} {shlex.quote(self.example)}" if self.example else flag


def _with(hint: str, options: Sequence[str]) -> str:
    return f"{hint}: {', '.join(options)}" if options else hint


class PappiError(Exception):
    """An expected failure: explained, coded, and leaving nothing half-done."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, hint: str = "", detail: str = "", options: Sequence[Option] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = _with(hint, [option.as_argument() for option in options])
        self.hint_of_command = _with(hint, [option.as_flag() for option in options])
        self.detail = detail


class UsageError(PappiError):
    code = "usage"
    exit_code = 2


class NotFound(UsageError):
    code = "not-found"


class NotUnderstood(UsageError):
    code = "not-understood"


class UnknownLog(UsageError):
    code = "unknown-log"


class Conflict(PappiError):
    code = "conflict"
    exit_code = 11


class NotAuthenticated(PappiError):
    """One fixed sentence, whatever is wrong with the key: it must not help in guessing one."""

    code = "not-authenticated"
    exit_code = 12

    def __init__(self) -> None:
        super().__init__(
            "this needs a valid key", hint="send it as 'Authorization: Bearer KEY'; keys can expire"
        )


class WorkspaceError(PappiError):
    code = "workspace"
    exit_code = 3


class LedgerUnavailable(WorkspaceError):
    code = "ledger-unavailable"


class LedgerBroken(LedgerUnavailable):
    code = "ledger-broken"
    exit_code = 4


class LedgerRolledBack(LedgerBroken):
    """An older copy of the ledger, or one without its end: what was spent since is not in it."""

    code = "ledger-rolled-back"
    exit_code = 16


class InputError(PappiError):
    code = "input"
    exit_code = 5


class LogFormatError(InputError):
    """An event log that cannot be read: names file, line and cause."""

    code = "log-format"

    def __init__(
        self,
        file: str,
        line: int | None,
        cause: str,
        *,
        hint: str = "",
        options: Sequence[Option] = (),
    ) -> None:
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {cause}", hint=hint, options=options)
        self.file = file
        self.line = line
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a definition file; lines and columns count from 1.

    Where there is no text, as in a dict, `file` is the path to the place, and both are 0.
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


_LONGEST = 450


def harmless(text: str) -> str:
    """A text that is safe for a terminal: escaped where it is not printable, and cut if long.

    >>> harmless("a\x1b[2J")
    'a\\\\x1b[2J'
    """
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if short.isprintable():
        return short
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a definition, and where.

    Both texts may echo the definition, so they are made `harmless`.
    """

    position: Position
    message: str
    hint: str = ""
    level: Literal["error", "warning"] = "error"

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", harmless(self.message))
        object.__setattr__(self, "hint", harmless(self.hint))

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.position}: {self.level}: {self.message}{tail}"


class DefinitionError(PappiError):
    """A catalogue that cannot be used; carries every problem, not only the first."""

    code = "definition"
    exit_code = 6

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ReleaseFailed(PappiError):
    """One fixed sentence, whatever broke: the cause may quote data, and only the owner sees it."""

    code = "release-failed"
    exit_code = 10

    def __init__(self, *, detail: str) -> None:
        super().__init__(
            "the release could not be completed; it stays charged",
            hint="repeat the query at no new cost; tell the owner if it keeps failing",
            detail=detail,
        )


class Refused(PappiError):
    code = "refused"
    exit_code = 7


class BudgetExceeded(Refused):
    code = "budget-exceeded"
    exit_code = 8


class NotReleasable(Refused):
    code = "not-releasable"


class TellsNothing(Refused):
    code = "tells-nothing"
    exit_code = 18


class Frozen(Refused):
    code = "frozen"
    exit_code = 17


class NotAllowed(Refused):
    code = "not-allowed"
    exit_code = 13


class Stopped(Refused):
    code = "stopped"
    exit_code = 14
