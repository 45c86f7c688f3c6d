"""A session behind a service: the same verbs, sent as requests and read back as the same types.

A release is idempotent: if the connection breaks after the charge, the same request completes it
at no new cost. So failed requests are sent again; only those that make a subscription, or
delete something, are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote as url_part

from pappi import errors
from pappi.audit import SubjectReport, audit_subject
from pappi.checkpoint import (
    Amount,
    Budget,
    Checked,
    Ids,
    PastRelease,
    Price,
    Quotes,
    Released,
    catalogue_of,
    epsilon_if_any,
    epsilon_of,
    refuse_both,
    subjects_of,
)
from pappi.errors import (
    DefinitionError,
    NotAuthenticated,
    PappiError,
    Problem,
    ReleaseFailed,
    UsageError,
)
from pappi.ledger import Forecast
from pappi.ppinot import Definitions, Understanding, notation_of, text_of, write_yaml
from pappi.session import Session, from_wire
from pappi.store import SavedQuery, Subscription
from pappi.values import BudgetLine, PublicLog, Quote, Series

try:
    import httpx
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "pappi.client needs httpx: install it with pip install 'pappi[client]'", name="httpx"
    ) from None

_TEXT = "definitions"
_PAGE = 1_000
_ATTEMPTS = 4
_LONGEST_WAIT = 30.0
# Codes that ask for the request to be sent again: the service has done nothing.
_AGAIN = frozenset({"too-many-requests", "busy", "stopping"})

# What reading a malformed reply may raise; a UsageError if an amount of ε is invalid.
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    UsageError,
    ValueError,
)

Json = Any
Sleep = Callable[[float], object]
Sent = tuple[dict[str, Any], str]
"""The body of a request, and the file that problems are about."""
Value = TypeVar("Value")


class ServiceError(PappiError):
    """The service could not be reached, or one side could not read what the other sent."""

    code = "service"
    exit_code = 15

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Client(Session):
    """An analyst's session with a PaPPI service.

    Definitions are the path of a file, the text itself if it has several lines or is JSON or
    XML, a dict, a PPI built in Python (`pappi.mean(…)`), or a catalogue; `ppi` takes one of its
    PPIs by its id, or some. Amounts of ε are best written as text, such as "0.1".
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 120.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout,
            transport=transport,
        )
        self._sleep = sleep

    def __repr__(self) -> str:
        return f"<Client of {str(self._http.base_url)!r}>"

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
        self._http.close()

    # --- what is public, and what is left ---

    def logs(self) -> tuple[PublicLog, ...]:
        return _part(tuple[PublicLog, ...], self._get("/logs"), "logs")

    def log(self, name: str) -> PublicLog:
        return _part(PublicLog, self._get(f"/logs/{_in_path(name)}"))

    def budget(self, log: str) -> Budget:
        reply = self._get(f"/logs/{_in_path(log)}/budget")
        return Budget(_part(tuple[BudgetLine, ...], reply, "blocks"))

    def releases(
        self, log: str, after: int = 0, limit: int | None = None
    ) -> tuple[PastRelease, ...]:
        releases: list[PastRelease] = []
        following: int | None = after
        while following is not None and (limit is None or len(releases) < limit):
            missing = _PAGE if limit is None else min(_PAGE, limit - len(releases))
            path = f"/logs/{_in_path(log)}/releases"
            reply = self._get(path, after=following, limit=missing)
            page = _part(tuple[PastRelease, ...], reply, "releases")
            releases.extend(page)
            following = reply.get("next") if page else None
        return tuple(releases)

    def suggest(self, log: str) -> str:
        return _part(str, self._get(f"/logs/{_in_path(log)}/suggestion"), "definitions")

    # --- before anything is spent ---

    def understand(self, text: str, log: str | None = None) -> Understanding:
        return _part(Understanding, self._post("/understand", ({"text": text, "log": log}, _TEXT)))

    def check(self, definitions: Definitions) -> Checked:
        sent = _sent(definitions)
        reply = self._post("/check", sent)
        ppis = _part(tuple[Mapping[str, str], ...], reply, "ppis")
        warnings = _part(tuple[Problem, ...], reply, "warnings")
        return Checked(
            _part(str, reply, "log"),
            tuple(ppi["id"] for ppi in ppis),
            tuple(in_file(warning, sent[1]) for warning in warnings),
        )

    def preview(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        accuracy: str | None = None,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        sent = _sent(definitions, epsilon, total, ppi, accuracy=accuracy)
        return Quotes(_part(tuple[Quote, ...], self._post("/preview", sent), "quotes"))

    def advise(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        sent = _sent(definitions, epsilon, total, ppi)
        return Quotes(_part(tuple[Quote, ...], self._post("/advise", sent), "quotes"))

    def price(
        self,
        definitions: Definitions,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Price:
        sent = _sent(definitions, None, total, ppi)
        return _part(Price, self._post("/price", sent), "price")

    def forecasts(
        self,
        definitions: Definitions,
        *,
        total: Amount | None = None,
    ) -> tuple[Forecast | None, ...]:
        reply = self._post("/forecast", _sent(definitions, None, total))
        return _part(tuple[Forecast | None, ...], reply, "forecasts")

    def outlook(
        self,
        definitions: Definitions,
        *,
        total: Amount | None = None,
    ) -> Forecast | None:
        reply = self._post("/forecast", _sent(definitions, None, total))
        return _part_if_any(Forecast, reply, "outlook")

    def rehearse(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        sent = _sent(definitions, epsilon, total, ppi, smooth=smooth or None)
        return _released(self._post("/rehearse", sent))

    def audit(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
        pairs: int = 2_000,
        samples: int = 10_000,
    ) -> tuple[SubjectReport, ...]:
        """The exact worst loss of each PPI's release, and its sampler against its distribution.

        The service only checks the definitions. The audit runs here, from what is public about
        the log, so the service need not be trusted for it.
        """
        refuse_both(epsilon, total)
        catalogue = catalogue_of(definitions, total, ppi)
        self.check(catalogue)
        subjects = subjects_of(catalogue, epsilon_if_any(epsilon), self.log(catalogue.log))
        return tuple(audit_subject(subject, pairs, samples) for subject in subjects)

    # --- releases ---

    def release(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        whole: Amount | None = None,
        price: str | None = None,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
        derived: bool | None = None,
    ) -> Released:
        share = None if whole is None else str(epsilon_of(whole))
        more = {
            "smooth": smooth or None,
            "whole": share,
            "price": price,
            "anyway": anyway or None,
            "derived": derived,
        }
        sent = _sent(definitions, epsilon, total, ppi, **more)
        return _released(self._post("/release", sent))

    def replay(
        self,
        definitions: Definitions,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        sent = _sent(definitions, None, total, ppi, smooth=smooth or None)
        return _released(self._post("/replay", sent))

    def compare(
        self,
        definitions: Definitions,
        *,
        periods: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        by: str = "difference",
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        named = {"periods": periods, "groups": groups}
        pairs = {name: list(pair) for name, pair in named.items() if pair is not None}
        sent = _sent(definitions, None, total, ppi, by=by, **pairs)
        return _released(self._post("/compare", sent))

    # --- subscriptions and saved queries ---

    def subscribe(
        self,
        definitions: Definitions,
        until: date,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
    ) -> Subscription:
        more = {"until": until.isoformat(), "anyway": anyway or None}
        sent = _sent(definitions, epsilon, total, ppi, **more)
        return _part(Subscription, self._post("/subscriptions", sent, repeatable=False))

    def subscriptions(self) -> tuple[Subscription, ...]:
        return _part(tuple[Subscription, ...], self._get("/subscriptions"), "subscriptions")

    def unsubscribe(self, identity: str) -> int:
        return _part(int, self._delete(f"/subscriptions/{_in_path(identity)}"), "cancelled")

    def save(
        self,
        definitions: Definitions,
        *,
        total: Amount | None = None,
    ) -> SavedQuery | None:
        reply = self._post("/saved", _sent(definitions, None, total))
        return _part_if_any(SavedQuery, reply, "saved")

    def saved(self, log: str | None = None) -> tuple[SavedQuery, ...]:
        reply = self._get("/saved", **({} if log is None else {"log": log}))
        return _part(tuple[SavedQuery, ...], reply, "saved")

    def forget(self, identity: str) -> None:
        self._delete(f"/saved/{_in_path(identity)}")

    # --- requests ---

    def _get(self, path: str, **query: str | int) -> Json:
        return self._request("GET", path, query=query)

    def _post(self, path: str, sent: Sent, *, repeatable: bool = True) -> Json:
        return self._request("POST", path, *sent, repeatable=repeatable)

    def _delete(self, path: str) -> Json:
        return self._request("DELETE", path, repeatable=False)

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        file: str = "",
        *,
        query: Mapping[str, str | int] | None = None,
        repeatable: bool = True,
    ) -> Json:
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                reply = self._http.request(method, path, json=body, params=query)
            except httpx.TransportError as problem:
                if last or not (repeatable or isinstance(problem, httpx.ConnectError)):
                    raise ServiceError(
                        f"the service did not answer ({type(problem).__name__})",
                        hint="check the address; repeating the same query costs nothing new",
                    ) from None
                self._sleep(2.0 ** (attempt - 2))
                continue
            content = _json(reply)
            if reply.is_success:
                return content
            again = isinstance(content, Mapping) and content.get("code") in _AGAIN
            if last or not again:
                raise error_of(reply.status_code, content, file)
            self._sleep(_wait(reply))
        raise AssertionError("the last attempt either answers or raises")


# --- what is sent -------------------------------------------------------------------------------


def _sent(
    definitions: Definitions,
    epsilon: Amount | None = None,
    total: Amount | None = None,
    ppi: Ids | None = None,
    **more: object,
) -> Sent:
    text, notation, file = _text_of(
        definitions if ppi is None else catalogue_of(definitions, None, ppi)
    )
    body = {
        "definitions": text,
        "notation": notation,
        "epsilon": None if epsilon is None else str(epsilon_of(epsilon)),
        "total": None if total is None else str(epsilon_of(total)),
        **more,
    }
    return {name: item for name, item in body.items() if item is not None}, file


def _text_of(definitions: Definitions) -> tuple[str, str | None, str]:
    """Definitions as text, the notation they are known to have, and the file they are in."""
    if not isinstance(definitions, str | Path):
        return write_yaml(catalogue_of(definitions)), "yaml", _TEXT
    text, path = text_of(definitions)
    if path is None:
        return text, None, _TEXT
    return text, notation_of(text, path.name), str(path)


def _in_path(name: str) -> str:
    """A name as one segment of a path."""
    return url_part(name, safe="")


# --- what comes back ------------------------------------------------------------------------------


def _part(kind: type[Value], reply: Json, name: str = "") -> Value:
    """A reply, or one part of it, as a value; whatever is wrong with it is one error."""
    try:
        return from_wire(kind, reply[name] if name else reply)
    except _UNREADABLE:
        raise ServiceError(
            "the reply cannot be understood", hint="use the same version of pappi as the service"
        ) from None


def _part_if_any(kind: type[Value], reply: Json, name: str) -> Value | None:
    nothing = isinstance(reply, Mapping) and reply.get(name, ...) is None
    return None if nothing else _part(kind, reply, name)


def _released(reply: Json) -> Released:
    return Released(_part(tuple[Series, ...], reply, "series"))


def _json(reply: httpx.Response) -> Json:
    try:
        return reply.json()
    except ValueError:
        if reply.is_success:
            raise ServiceError("the reply is not JSON: is this a PaPPI service?") from None
        return None


def _wait(reply: httpx.Response) -> float:
    header = reply.headers.get("retry-after", "")
    seconds = float(header) if header.isascii() and header.isdigit() else 1.0
    return min(seconds, _LONGEST_WAIT)


# --- failures, as the errors the library itself would raise ---------------------------------------

# Those that are made of a message and a hint.
_BY_CODE: Mapping[str, type[PappiError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, PappiError)
    and kind.__init__ is PappiError.__init__
}


def error_of(status: int, body: object, file: str) -> PappiError:
    """The error a reply stands for; `file` is where definitions were read."""
    fault = body if isinstance(body, Mapping) else {}
    code, message, hint = (str(fault.get(name, "")) for name in ("code", "detail", "hint"))
    if code == DefinitionError.code:
        problems = from_wire(tuple[Problem, ...], fault.get("problems", ()))
        return DefinitionError([in_file(problem, file) for problem in problems])
    if code == ReleaseFailed.code:
        return ReleaseFailed(detail="")
    if code == NotAuthenticated.code:
        return NotAuthenticated()
    if code in _BY_CODE:
        return _BY_CODE[code](message, hint=hint)
    if isinstance(items := fault.get("problems"), list) and items:
        listed = (f"{item.get('place')}: {item.get('message')}" for item in items)
        message = f"{message}: {'; '.join(listed)}"
    return ServiceError(message or f"the service answered {status}", hint=hint, status=status)


def in_file(problem: Problem, file: str) -> Problem:
    """A problem from the service, with the name of the file, which only the client knows."""
    return replace(problem, position=replace(problem.position, file=file))
