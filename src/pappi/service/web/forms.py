"""The fields of a submitted form, and forms that failed: shown again with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from pappi.errors import Conflict, InputError, Refused, UsageError

_MOST_FIELDS = 500


class Form(Mapping[str, str]):
    """The fields of a form; a field that was not sent is empty.

    >>> form = Form([("case", "a"), ("case", "b"), ("log", " claims ")])
    >>> form["log"], form.all("case"), form["other"]
    ('claims', ['a', 'b'], '')
    """

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return next((value.strip() for key, value in self._fields if key == name), "")

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._fields))

    def __len__(self) -> int:
        return len(dict(self._fields))

    def all(self, name: str) -> list[str]:
        """Every value of a field that may come several times."""
        return [value for key, value in self._fields if key == name]

    def lines(self, name: str) -> list[str]:
        """The lines of a text field, each as it was written, without empty ones."""
        return [line for value in self.all(name) for line in value.split("\n") if line.strip()]


async def form_of(request: Request) -> Form:
    """The body of a POST, which a browser sends url-encoded."""
    body = await request.body()
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise UsageError("the form cannot be read") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in fields])


Sent = Annotated[Form, Depends(form_of)]
_CORRECTABLE = (UsageError, Refused, Conflict, InputError)
_DAY = 10
_LONGEST = 8_000
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FormError:
    """What is wrong with one form of a page; with an empty name, nothing is."""

    form: str = ""
    message: str = ""
    hint: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)

    def value(self, form: str, name: str, otherwise: str = "") -> str:
        """What to show in a field: what was typed, if it was in this form and is not too long."""
        typed = self.typed[name] if form == self.form else otherwise
        return typed if len(typed) <= _LONGEST else ""


NO_ERROR = FormError()


def attempt(form: str, sent: Form, act: Callable[[], Result]) -> Result | FormError:
    """Carry out a form; an error that its sender can correct is returned, others are raised."""
    try:
        return act()
    except _CORRECTABLE as error:
        return FormError(form, _sentence(error.message), _sentence(error.hint), sent)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def day_in(text: str, purpose: str) -> date:
    try:
        if len(text) == _DAY:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UsageError(f"this is not a day {purpose}", hint="write it as 2026-12-31")
