"""Long lists, a page at a time: what comes after a number, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Protocol, TypeVar

from fastapi import Query

from pappi.service.settings import Settings

After = Annotated[int, Query(ge=0, le=2**53, description="Only entries after this number.")]
Limit = Annotated[int | None, Query(ge=1, le=100_000, description="Entries in one reply.")]


class Numbered(Protocol):
    @property
    def seq(self) -> int: ...


Entry = TypeVar("Entry", bound=Numbered)


def page_of(
    entries: Callable[[int, int], Sequence[Entry]],
    after: int,
    limit: int | None,
    settings: Settings,
) -> tuple[Sequence[Entry], int | None]:
    """A page of what `entries` gives after a number, and the number the next begins after.

    One entry more than the page has is asked for, to see whether there is a next one.
    """
    length = min(limit or settings.page, settings.longest_page)
    found = entries(after, length + 1)
    page = found[:length]
    return page, page[-1].seq if len(page) < len(found) else None
