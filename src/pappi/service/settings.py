"""What can be set about the service, and what it is set to."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.errors import UsageError

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of both applications; every one is a function of the request alone.

    grid_seconds          an analyst's replies leave at whole multiples of this, from arrival
    requests_per_minute   of one key, with as many at once; above it 429
    failures_per_minute   wrong keys from one address; above it 429 instead of 401
    analyst_body_bytes    the longest body an analyst may send
    owner_body_bytes      the longest body the owner may send, a batch of events
    body_seconds          how long a body may take to arrive
    releases_at_once      releases worked on at a time; twice the cores is plenty
    analysts_at_once      other requests of analysts at a time; the owner's never wait for them
    one_at_once           requests of one key worked on at a time
    one_waiting           … and waiting; above it 503
    analysts_waiting      requests that may wait for their turn; above it 503
    page                  entries of a list in one reply, if no limit is asked for
    longest_page          … and the most that can be asked for
    session_hours         how long one stays signed in to the pages
    shutdown_seconds      how long requests under way may take once the service is told to stop
    verify_hours          between two verifications of the whole ledger, beside the service
    trusted_proxies       addresses whose word counts on where a request came from
    """

    grid_seconds: float = 0.25
    requests_per_minute: int = 600
    failures_per_minute: int = 30
    analyst_body_bytes: int = 2 * MEGABYTE
    owner_body_bytes: int = 16 * MEGABYTE
    body_seconds: float = 30.0
    releases_at_once: int = 4
    analysts_at_once: int = 12
    one_at_once: int = 2
    one_waiting: int = 20
    analysts_waiting: int = 1_000
    page: int = 100
    longest_page: int = 1_000
    session_hours: float = 8.0
    shutdown_seconds: int = 60
    verify_hours: float = 6.0
    trusted_proxies: str = "127.0.0.1"

    def __post_init__(self) -> None:
        for name in self.__slots__:
            found = getattr(self, name)
            if not isinstance(found, str) and not found > 0:
                raise UsageError(f"the setting {name} must be above 0, not {found}")
