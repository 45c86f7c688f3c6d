"""Who is signed in: sessions of the pages, kept in this process alone.

A session stands for a key that was typed in once. Its cookie is a random token; the key stays
here, in memory, and is asked for anew at every request, so that a revoked key ends all its
sessions at once. It ends by itself after some hours, and sooner if it is not used. A restart
signs everybody out.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pappi.errors import NotAuthenticated
from pappi.mechanisms.noise import secret_bytes

_TOKEN_BYTES = 32
_MOST = 10_000
_MOST_OF_ONE = 20


@dataclass(frozen=True, slots=True)
class _Session:
    secret: str = field(repr=False)
    ends: float
    used: float


class Sessions:
    """Tokens and the keys they stand for; only digests of the tokens are kept.

    >>> sessions = Sessions(hours=8, idle_minutes=30)
    >>> token = sessions.begin("pappi_key")
    >>> sessions.key_behind(token)
    'pappi_key'
    """

    def __init__(
        self, hours: float, idle_minutes: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = hours * 3600
        self._idle = idle_minutes * 60
        self._clock = clock
        self._open: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, secret: str) -> str:
        """A new session; the oldest of the same key makes room if it has too many.

        So nobody can sign others out by signing in again and again.
        """
        token = base64.urlsafe_b64encode(secret_bytes(_TOKEN_BYTES)).rstrip(b"=").decode("ascii")
        with self._lock:
            own = [name for name, session in self._open.items() if session.secret == secret]
            for name in own[: max(0, len(own) - _MOST_OF_ONE + 1)]:
                del self._open[name]
            now = self._clock()
            self._open[_digest(token)] = _Session(secret, now + self._seconds, now)
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return token

    def key_behind(self, token: str) -> str:
        """The key of a session that is still open, and now stays so for a while."""
        name = _digest(token)
        with self._lock:
            found, now = self._open.get(name), self._clock()
            if found is None:
                raise NotAuthenticated
            if now >= min(found.ends, found.used + self._idle):
                del self._open[name]
                raise NotAuthenticated
            self._open[name] = replace(found, used=now)
            return found.secret

    def end(self, token: str) -> None:
        with self._lock:
            self._open.pop(_digest(token), None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
