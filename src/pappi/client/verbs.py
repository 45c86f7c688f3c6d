"""The checkpoint's verbs, as an analyst on another machine uses them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote as url_part

import httpx

from pappi.client.calls import Calls
from pappi.client.facts import Checked, LogFacts, PastRelease, StandingQuestion
from pappi.client.rebuilding import (
    budget_of,
    built,
    checked_of,
    log_of,
    logs_of,
    quotes_of,
    releases_of,
    series_of,
    standing_of,
)
from pappi.errors import InputError
from pappi.released import Released
from pappi.report.budgets import BudgetLine
from pappi.values.epsilon import Epsilon
from pappi.values.quotes import Quote

Amount = Epsilon | str
_TEXT = "definitions"
_NOTATIONS = {".yaml": "yaml", ".yml": "yaml", ".bpmn": "bpmn", ".xml": "bpmn", ".txt": "text"}
_PAGE = 1_000


class Client:
    """An analyst's connection to a PaPPI service.

    Definitions are the path of a file, or the text itself if it has several lines or is JSON
    or XML. Amounts of ε are written as text, such as "0.1".
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._calls = Calls(url, key, timeout, transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._calls.close()

    def logs(self) -> tuple[LogFacts, ...]:
        """The logs you may ask about, and what is public about each."""
        return built(logs_of, self._calls.get("/logs"))

    def log(self, name: str) -> LogFacts:
        return built(log_of, self._calls.get(f"/logs/{_part(name)}"))

    def budget(self, log: str) -> tuple[BudgetLine, ...]:
        """What each block of a log may spend, and has spent."""
        return built(budget_of, self._calls.get(f"/logs/{_part(log)}/budget"))

    def releases(self, log: str) -> tuple[PastRelease, ...]:
        """What was asked of a log before, by anybody: asking it again is free."""
        found: list[PastRelease] = []
        after: int | None = 0
        while after is not None:
            path = f"/logs/{_part(log)}/releases"
            reply = self._calls.get(path, after=after, limit=_PAGE)
            page = built(releases_of, reply)
            found.extend(page)
            after = reply.get("next") if page else None
        return tuple(found)

    def check(self, definitions: str | Path, *, notation: str | None = None) -> Checked:
        """Whether definitions are sound; DefinitionError with every problem if not."""
        body, file = _asked(definitions, notation)
        found = self._calls.post("/check", body, file)
        return built(lambda reply: checked_of(reply, file), found)

    def preview(
        self,
        definitions: str | Path,
        epsilon: Amount | None = None,
        *,
        accuracy: str | None = None,
        notation: str | None = None,
    ) -> tuple[Quote, ...]:
        """Cost and expected error of every PPI, or what an accuracy costs; nothing is spent."""
        body, file = _asked(definitions, notation)
        more = {"epsilon": _written(epsilon), "accuracy": accuracy}
        return built(quotes_of, self._calls.post("/preview", {**body, **more}, file))

    def rehearse(
        self,
        definitions: str | Path,
        epsilon: Amount | None = None,
        *,
        notation: str | None = None,
    ) -> Released:
        """What a release would look like, on made-up cases; nothing is read or spent."""
        body, file = _asked(definitions, notation)
        more = {"epsilon": _written(epsilon)}
        return Released(built(series_of, self._calls.post("/rehearse", {**body, **more}, file)))

    def release(
        self,
        definitions: str | Path,
        epsilon: Amount | None = None,
        *,
        notation: str | None = None,
    ) -> Released:
        """Charge and release every PPI, or replay what was released."""
        body, file = _asked(definitions, notation)
        more = {"epsilon": _written(epsilon)}
        return Released(built(series_of, self._calls.post("/release", {**body, **more}, file)))

    def subscribe(
        self,
        definitions: str | Path,
        until: date,
        epsilon: Amount | None = None,
        *,
        notation: str | None = None,
    ) -> StandingQuestion:
        """Reserve what every block up to a day costs; each is released once it is sealed."""
        body, file = _asked(definitions, notation)
        more = {"until": until.isoformat(), "epsilon": _written(epsilon)}
        found = self._calls.post("/standing", {**body, **more}, file, repeatable=False)
        return built(standing_of, found)

    def standing(self) -> tuple[StandingQuestion, ...]:
        """The questions that stand."""
        found = self._calls.get("/standing")
        return built(lambda reply: tuple(map(standing_of, reply["standing"])), found)

    def unsubscribe(self, identity: str) -> int:
        """Give up what is still reserved for a standing question."""
        found = self._calls.delete(f"/standing/{_part(identity)}")
        return built(lambda reply: int(reply["cancelled"]), found)


def _part(name: str) -> str:
    """One part of a path, whatever the name holds."""
    return url_part(name, safe="")


def _asked(definitions: str | Path, notation: str | None) -> tuple[dict[str, Any], str]:
    """What is sent, and the file that problems are about."""
    if isinstance(definitions, str) and _is_text(definitions):
        return {"definitions": definitions, "notation": notation}, _TEXT
    path = Path(definitions)
    notation = notation or _NOTATIONS.get(path.suffix.lower())
    return {"definitions": _content(path), "notation": notation}, str(path)


def _is_text(given: str) -> bool:
    return "\n" in given or given.lstrip()[:1] in ("{", "[", "<")


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        raise InputError(
            f"{path} cannot be read as UTF-8 text", hint="give the path of a file with PPIs"
        ) from None


def _written(amount: Amount | None) -> str | None:
    return None if amount is None else str(amount)
