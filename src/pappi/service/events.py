"""Events as they are sent for capture: a JSON array, or a JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from pappi.errors import InputError

ARRAY = "application/json"
LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_ITEM = {
    "type": "object",
    "required": ["id", "case", "activity", "time"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 1000},
        "case": {"type": "string", "minLength": 1, "maxLength": 1000},
        "activity": {"type": "string", "minLength": 1, "maxLength": 1000},
        "time": {"type": "string", "format": "date-time"},
        "attributes": {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        },
    },
    "additionalProperties": False,
}
REQUEST_BODY = {
    "requestBody": {
        "required": True,
        "description": "Events with the same id and content again are no error.",
        "content": {
            ARRAY: {"schema": {"type": "array", "maxItems": 10_000, "items": _ITEM}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}
"""For the OpenAPI document: bodies of captures are read by hand, a line at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A body as it came, to be read in a thread: reading takes its time."""

    body: bytes
    kind: str


async def _sent(request: Request) -> Batch:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Batch(await request.body(), kind)


SentEvents = Annotated[Batch, Depends(_sent)]


def events_in(batch: Batch) -> list[Any]:
    """The objects in a body; what each of them says is for custody to judge."""
    body, kind = batch.body, batch.kind
    if kind in LINES:
        return [_json(line, number) for number, line in _lines(body)]
    if kind != ARRAY:
        raise HTTPException(415)
    found = _json(body, None)
    if not isinstance(found, list):
        raise InputError("events are sent as an array", hint="send [{…}, …], or NDJSON")
    return found


def _lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _json(text: bytes, line: int | None) -> Any:  # noqa: ANN401 - whatever JSON says
    """Fails with the line alone: what stands there may be personal."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        place = "the body" if line is None else f"line {line}"
        raise InputError(f"{place} is not JSON", hint="send UTF-8 without NaN") from None


def _no_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and infinities are not JSON")
