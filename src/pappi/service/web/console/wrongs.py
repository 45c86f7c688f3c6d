"""Forms that could not be carried out: shown again, with the reason and what was typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from http import HTTPStatus

from pappi.errors import Conflict, InputError, Refused, UsageError
from pappi.service.web.forms import Form

_CORRECTABLE = (UsageError, Refused, Conflict, InputError)
STATUS = HTTPStatus.BAD_REQUEST
_DAY = 10
_LONGEST = 8_000


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with one form of a page; without a name, nothing is."""

    form: str = ""
    message: str = ""
    hint: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)

    def value(self, form: str, name: str, otherwise: str = "") -> str:
        """What to show in a field: what was typed, if it was in this form and is not endless."""
        typed = self.typed[name] if form == self.form else otherwise
        return typed if len(typed) <= _LONGEST else ""


RIGHT = Wrong()


def attempt(form: str, sent: Form, act: Callable[[], object]) -> Wrong:
    """Carry a form out; what its sender can put right comes back, the rest is raised."""
    try:
        act()
    except _CORRECTABLE as error:
        return Wrong(form, _sentence(error.message), _sentence(error.hint), sent)
    return RIGHT


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def day_in(text: str, what: str) -> date:
    try:
        if len(text) == _DAY:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UsageError(f"this is not a day {what}", hint="write it as 2026-12-31")
