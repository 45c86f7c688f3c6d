"""Requests to the service: sent again where that is safe, failures as errors.

A release is the same question however often it is asked: if the connection breaks after the
charge, asking again completes it at no new cost. Only a subscription is not asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from pappi.client.failures import ServiceError, error_of

_ATTEMPTS = 4
_LONGEST_WAIT = 30.0
# The service has said to come again; it has done nothing.
_AGAIN = frozenset({"too-many-requests", "busy", "stopping"})

Sleep = Callable[[float], object]


class Calls:
    """One connection, kept open between requests."""

    def __init__(
        self,
        url: str,
        key: str,
        timeout: float,
        transport: httpx.BaseTransport | None,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout,
            transport=transport,
        )
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: int) -> Any:  # noqa: ANN401 - JSON
        return self._ask("GET", path, query=query)

    def post(
        self, path: str, body: Mapping[str, Any], file: str, *, repeatable: bool = True
    ) -> Any:  # noqa: ANN401 - JSON
        sent = {name: item for name, item in body.items() if item is not None}
        return self._ask("POST", path, sent, file, repeatable=repeatable)

    def delete(self, path: str) -> Any:  # noqa: ANN401 - JSON
        return self._ask("DELETE", path, repeatable=False)

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        file: str = "",
        *,
        query: Mapping[str, int] | None = None,
        repeatable: bool = True,
    ) -> Any:  # noqa: ANN401 - JSON
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                reply = self._http.request(method, path, json=body, params=query)
            except httpx.TransportError as problem:
                if last or not (repeatable or isinstance(problem, httpx.ConnectError)):
                    raise _unreachable(problem) from None
                self._sleep(2.0 ** (attempt - 2))
                continue
            found = _json(reply)
            if reply.is_success:
                return found
            if last or not _comes_again(found):
                raise error_of(reply.status_code, found, file)
            self._sleep(_wait(reply))
        raise AssertionError("the last attempt either answers or raises")


def _unreachable(problem: httpx.TransportError) -> ServiceError:
    return ServiceError(
        f"the service did not answer ({type(problem).__name__})",
        hint="check the address; asking again for the same costs nothing new",
    )


def _json(reply: httpx.Response) -> object:
    try:
        return reply.json()
    except ValueError:
        if reply.is_success:
            raise ServiceError("the reply is not JSON: is this a PaPPI service?") from None
        return None


def _comes_again(found: object) -> bool:
    return isinstance(found, Mapping) and found.get("code") in _AGAIN


def _wait(reply: httpx.Response) -> float:
    written = reply.headers.get("retry-after", "")
    seconds = float(written) if written.isascii() and written.isdigit() else 1.0
    return min(seconds, _LONGEST_WAIT)
