"""Which column tells the case, which the activity and which the time.

Named by the owner, or recognised by the names that tools and people commonly use.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.log import Guess

_SHOWN = 30

# Best first, written without case, blanks and punctuation.
_USUAL_NAMES = {
    "case": (
        "caseconceptname", "caseid", "case", "casename", "casenumber", "casekey", "idcase",
        "caseidentifier", "traceid", "trace", "tracename", "processinstanceid", "processinstance",
        "instanceid", "caseuid", "ticketid", "ticket", "incidentid", "orderid", "patientid",
    ),
    "activity": (
        "conceptname", "activity", "activityname", "activityid", "activitytype", "activitylabel",
        "eventname", "event", "eventtype", "eventlabel", "task", "taskname", "action", "step",
        "operation", "label",
    ),
    "timestamp": (
        "timetimestamp", "timestamp", "completetimestamp", "completiontimestamp", "endtimestamp",
        "eventtimestamp", "eventtime", "completetime", "completiontime", "endtime", "time",
        "datetime", "eventdatetime", "eventdate", "ts", "tsus", "date", "enddate", "end",
        "complete", "starttimestamp", "starttime", "startdate", "start", "when",
    ),
}  # fmt: skip


def role_by_name(
    role: str, names: Sequence[str], said: str | None, taken: Sequence[int] = ()
) -> int | None:
    """The position of the column in that role: the one said, or the most usual name."""
    if said is not None:
        return _position(role, names, said)
    plain = {
        _plain(name): position
        for position, name in reversed(list(enumerate(names)))
        if position not in taken
    }
    return next((plain[usual] for usual in _USUAL_NAMES[role] if usual in plain), None)


def required_role(
    file: str, role: str, names: Sequence[str], said: str | None, taken: Sequence[int] = ()
) -> int:
    """As `role_by_name`, for a role that a log cannot do without."""
    position = role_by_name(role, names, said, taken)
    if position is None:
        raise no_such_role(file, role, names, taken)
    return position


def no_such_role(
    file: str, role: str, names: Sequence[str], taken: Sequence[int] = ()
) -> LogFormatError:
    return LogFormatError(
        file,
        1,
        f"no column looks like the {role}; the columns are {_listed(names)}",
        hint=f"say which column is the {role}, e.g.",
        options=(Option(role, _likeliest(role, names, taken)),),
    )


def _likeliest(role: str, names: Sequence[str], taken: Sequence[int]) -> str:
    """A column whose name holds one of the usual ones, such as ocel:activity; else the first."""
    free = [name for position, name in enumerate(names) if position not in taken] or list(names)
    plain = {_plain(name): name for name in reversed(free)}
    for fits in (str.endswith, str.__contains__):
        for usual in _USUAL_NAMES[role]:
            found = next((name for bare, name in plain.items() if fits(bare, usual)), None)
            if found is not None:
                return found
    return free[0]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def role_guess(role: str, name: str, said: str | None) -> tuple[Guess, ...]:
    """What to report about a role that nobody named."""
    if said is not None:
        return ()
    return (Guess(f"{role} column", repr(name), role),)


def _position(role: str, names: Sequence[str], said: str) -> int:
    if said in names:
        return names.index(said)
    close = difflib.get_close_matches(said, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"columns are {_listed(names)}"
    raise UsageError(f"there is no column {said!r} to take the {role} from", hint=hint)
