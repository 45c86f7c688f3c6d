"""What can be set about the service, and what it is set to."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from pappi.checkpoint import GRID_SECONDS
from pappi.errors import UsageError

MEGABYTE = 1_000_000
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks_in(text: str) -> tuple[Network, ...]:
    """Addresses and networks, with commas between them.

    >>> networks_in("127.0.0.1, 10.0.0.0/8")
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))
    """
    networks = []
    for address in filter(None, (part.strip() for part in text.split(","))):
        try:
            networks.append(ipaddress.ip_network(address))
        except ValueError:
            raise UsageError(
                f"{address!r} is not the address of a proxy",
                hint="write addresses or networks such as 10.0.0.2 or 10.0.0.0/24, separated by "
                "commas",
            ) from None
    return tuple(networks)


@dataclass(frozen=True, slots=True)
class PublicUrl:
    """The public address of an application: its scheme, and the only Host it answers to.

    >>> PublicUrl.of("https://PPI.example.org:443/")
    PublicUrl(scheme='https', host='ppi.example.org')
    """

    scheme: str
    host: str

    @classmethod
    def of(cls, text: str) -> PublicUrl:
        try:
            parts = urlsplit(text)
            port = parts.port  # raises if it is not a port
        except ValueError:
            parts, port = urlsplit(""), None
        beyond = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port == 0 or beyond:
            raise UsageError(
                f"{text!r} is not the address of a site",
                hint="write it as https://ppi.example.org, without a path",
            )
        return cls(parts.scheme, cls._host(parts.netloc, parts.scheme))

    def is_asked(self, host: str) -> bool:
        """Whether a request's Host header is that of this site."""
        return self._host(host, self.scheme) == self.host

    @staticmethod
    def _host(netloc: str, scheme: str) -> str:
        return netloc.lower().removesuffix(_DEFAULT_PORTS[scheme])


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of both applications; all of them depend on requests only, never on data.

    grid_seconds          replies to analysts leave, and results appear, at multiples of this only
    requests_per_minute   of one key, in bursts of as many; above it 429
    failures_per_minute   wrong keys from one address; above it 429 instead of 401
    analyst_body_bytes    the longest body an analyst may send
    owner_body_bytes      the longest body the owner may send, a batch of events
    head_seconds          how long the head of a request may take to arrive
    body_seconds          how long a body may take to arrive
    reply_seconds         how long one may leave a reply unread
    idle_seconds          how long a connection is kept between two requests
    analyst_connections   connections to the analysts' port at once, or fewer if descriptors are few
    address_connections   … and from one address that is not a trusted proxy
    owner_connections     connections to the owner's port at once
    releases_at_once      releases worked on at a time; twice the cores is plenty
    analysts_at_once      other requests of analysts at a time; the owner never waits for them
    one_at_once           requests of one key worked on at a time
    one_waiting           … and waiting; above it 503
    analysts_waiting      requests that may wait for their turn; above it 503
    page                  entries of a list in one reply, if no limit is asked for
    longest_page          … and the most that can be asked for
    session_hours         how long one stays signed in to the pages
    session_idle_minutes  … and without opening one
    shutdown_seconds      how long requests under way may take once the service is told to stop
    verify_hours          between two verifications of the whole ledger, in the background
    trusted_proxies       addresses and networks trusted to say where a request came from
    public_url            where analysts reach it, https://…; if set, no other Host is answered
    owner_url             … and the owner
    """

    grid_seconds: float = GRID_SECONDS
    requests_per_minute: int = 600
    failures_per_minute: int = 30
    analyst_body_bytes: int = 2 * MEGABYTE
    owner_body_bytes: int = 16 * MEGABYTE
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    reply_seconds: float = 60.0
    idle_seconds: int = 5
    analyst_connections: int = 1_000
    address_connections: int = 100
    owner_connections: int = 100
    releases_at_once: int = 4
    analysts_at_once: int = 12
    one_at_once: int = 2
    one_waiting: int = 20
    analysts_waiting: int = 1_000
    page: int = 100
    longest_page: int = 1_000
    session_hours: float = 8.0
    session_idle_minutes: float = 30.0
    shutdown_seconds: int = 60
    verify_hours: float = 6.0
    trusted_proxies: str = "127.0.0.1"
    public_url: str = ""
    owner_url: str = ""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not isinstance(value, str) and not value > 0:
                raise UsageError(f"the setting {name} must be above 0, not {value}")
        networks_in(self.trusted_proxies)
        for url in (self.public_url, self.owner_url):
            if url:
                PublicUrl.of(url)
