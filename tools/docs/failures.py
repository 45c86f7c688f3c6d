"""Every error code: its exit code, its HTTP status, what it means and what to do."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pappi
from pappi.cli.program import INTERNAL, INTERRUPTED
from pappi.errors import PappiError
from pappi.service.problems import CODES, Fault
from tools.docs.markdown import code, joined, sentence, table

INTRODUCTION = """\
# Errors

A failure has a code, a message, and a hint that says what to do next. Codes, exit codes and
statuses are stable; words are not. Over HTTP a failure is `application/problem+json` (RFC 9457)
with `type` (`urn:pappi:error:CODE`), `title`, `status`, `code`, `detail`, `hint`, and `problems`
where there are several. In Python it is an exception of `pappi.errors`, below `PappiError`.

No message is made from event data: an error tells an analyst nothing about a case.
"""

# What each code means, and what to do about it.
MEANINGS = {
    "usage": (
        "the command or request is not valid, e.g. two options that cannot be combined",
        "read the hint; `--help` lists what there is",
    ),
    "not-found": (
        "there is no such key, grant, subscription or address",
        "list what there is: `pappi key list`, `pappi analyst list`, `pappi subscription list`",
    ),
    "not-understood": (
        "no reading fits a sentence in everyday words",
        "say it with names of the log; the hint says what can be said",
    ),
    "unknown-log": (
        "there is no such log, or it was not granted to this analyst: both look the same",
        "`pappi log list`; as an analyst, ask the owner for a grant",
    ),
    "conflict": (
        "it contradicts what is on record, such as an event id that comes again with other content",
        "send what was meant under another id, or name another log",
    ),
    "not-authenticated": (
        "no key, or one that is wrong, expired or revoked",
        "send `Authorization: Bearer KEY`; ask the owner for a new key",
    ),
    "workspace": (
        "there is no workspace here, or it cannot be opened",
        "name it with `-w`, or make one with `pappi init`",
    ),
    "ledger-unavailable": (
        "the ledger cannot be reached or written, so nothing is answered",
        "see that the disk has room, that PostgreSQL runs and that the workspace can be written to",
    ),
    "ledger-broken": (
        "the ledger's chain does not verify: an entry was changed, removed or replaced",
        "restore events, inbox and ledger together from a back-up; find out who changed it",
    ),
    "ledger-rolled-back": (
        "the ledger lacks entries that it had: an older copy, or one without its `-wal` file",
        "put the newest ledger back; if it is lost for good: `pappi ledger accept-rollback`",
    ),
    "input": (
        "a file cannot be read as what it claims to be, or cannot be written",
        "see the message for the line",
    ),
    "log-format": (
        "an event log cannot be read; the message names file, line and cause",
        "correct the file, or say how to read it: `--timestamp`, `--time-format`, `--delimiter`",
    ),
    "definition": (
        "the definitions have problems; each has its line and column",
        "correct all of them; `pappi ppi check FILE` lists them",
    ),
    "release-failed": (
        "something broke after the charge; it stays charged",
        "ask for the same again, at no new cost; the owner finds the cause with `PAPPI_DEBUG=1`",
    ),
    "refused": (
        "a well-formed request that the checkpoint does not answer",
        "the hint says what would be answered",
    ),
    "budget-exceeded": (
        "it costs more than is left; nothing was charged",
        "take a smaller ε, fewer periods, or what was released before; the owner can grant more",
    ),
    "frozen": (
        "part of the ledger was lost, so nobody knows what is left of this block",
        "ask about blocks that begin later, or for what was released before",
    ),
    "not-allowed": (
        "the key lacks the right, or belongs to the other application",
        "use the right port, or ask the owner for a key with that right",
    ),
    "stopped": (
        "the owner has stopped all answers",
        "wait; the owner ends it with `pappi resume`",
    ),
    "not-releasable": (
        "no mechanism can answer it from public facts: bounds are missing, or decide the verdict",
        "declare bounds, or ask for something else; the hint says what",
    ),
    "tells-nothing": (
        "it could be released, and would tell nothing: the noise is as large as its range",
        "ask what the hint says instead; or say `--anyway`",
    ),
    "audit-failed": (
        "`pappi audit` found a loss above ε, or could not finish",
        "do not release; report it",
    ),
    "service": (
        "`pappi.client`: the service answered with something else than it should",
        "see that the address is that of the analysts' port",
    ),
    "malformed": ("the request cannot be read as HTTP or JSON", "send valid JSON"),
    "method-not-allowed": ("the address exists, but not with this method", "see [HTTP](http.md)"),
    "misdirected": (
        "the service has a public address, and was asked under another name",
        "use that address; a proxy must pass on the `Host` header",
    ),
    "too-slow": (
        "the head or the body took too long to arrive",
        "send it again, or in smaller batches",
    ),
    "too-large": ("the body is too large", "send smaller batches"),
    "unsupported-media-type": (
        "the body is in a format that is not read here",
        "send `application/json`, or `application/x-ndjson` for events",
    ),
    "invalid-request": (
        "the request does not have the expected form; `problems` say where",
        "compare with [HTTP](http.md)",
    ),
    "too-many-requests": (
        "this key, or wrong keys from this address, came too often",
        "wait as long as `Retry-After` says",
    ),
    "internal": (
        "a bug in PaPPI; the details are in no reply and no log, as they may quote data",
        "report it; the owner can see the details with `PAPPI_DEBUG=1`",
    ),
    "busy": (
        "too many requests are already waiting, or connections are open",
        "try again after `Retry-After`",
    ),
    "stopping": ("the service is stopping", "try again after `Retry-After`"),
}
_CODED = re.compile(r"^    code(?:: ClassVar\[str\])? = ", re.MULTILINE)
_SHELL = (
    ("0", "it worked"),
    ("1", "something with a file or option that has no code of its own"),
    ("2", "also for unknown commands and options"),
    (str(INTERNAL), "`internal`: a defect"),
    (str(INTERRUPTED), "interrupted by Ctrl-C; nothing is half-done, what was charged stays so"),
)


def exit_codes() -> dict[str, int]:
    """The exit code of every error that PaPPI raises on purpose, wherever it is defined."""
    source = Path(pappi.__file__).parent
    for path in source.rglob("*.py"):
        if _CODED.search(path.read_text(encoding="utf-8")):
            importlib.import_module(".".join(path.relative_to(source.parent).with_suffix("").parts))
    return {error.code: error.exit_code for error in _below(PappiError)}


def _below(error: type[PappiError]) -> Iterator[type[PappiError]]:
    for kind in error.__subclasses__():
        if kind.__module__.startswith("pappi."):
            yield kind
        yield from _below(kind)


def page() -> str:
    exits = exit_codes()
    found = exits.keys() | CODES
    if found != MEANINGS.keys():
        odd = sorted(found ^ MEANINGS.keys())
        raise LookupError(f"tools/docs/failures.py and the code do not agree on {odd}")
    rows = [_row(name, exits) for name in sorted(found)]
    return joined(
        [
            INTRODUCTION,
            table(("code", "exit", "status", "meaning", "what to do"), rows),
            "## Other exit codes",
            table(("exit", "meaning"), [(number, sentence(text)) for number, text in _SHELL]),
        ]
    )


def _row(name: str, exits: dict[str, int]) -> tuple[str, ...]:
    meaning, remedy = MEANINGS[name]
    status = str(Fault(name, "").status) if name in CODES else "–"
    shown = str(exits[name]) if name in exits else "–"
    return code(name), shown, status, sentence(meaning), sentence(remedy)
