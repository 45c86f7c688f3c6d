"""What a page's form sent, as a mapping of names to texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from pappi.errors import UsageError

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
