"""Where the pages are, beside the routes for programs: paths, and who may see them.

Pages know their visitor by a session's cookie, and nothing else does; routes for programs
know theirs by a bearer key, and take no cookie. So no page of another site, nor a link, can
make a browser use a route that was made for programs.
"""

from __future__ import annotations

from pappi.service.problems import Audience

ROOT = "/"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
STATIC = "/static/"
HOME = {Audience.ANALYST: "/workbench", Audience.OWNER: "/console"}
COOKIE = {Audience.ANALYST: "pappi_workbench", Audience.OWNER: "pappi_console"}
"""Two names: a browser sends the cookies of one port to the other as well."""
_OF_THIS_HOST = "__Host-"

# For anybody: whether the service is well, and the way in.
_OPEN = frozenset({"/health", "/ready", ROOT, SIGN_IN, SIGN_OUT})


def cookie_name(audience: Audience, scheme: str) -> str:
    """Over HTTPS with a prefix by which a browser takes it from this very host alone.

    >>> cookie_name(Audience.OWNER, "https")
    '__Host-pappi_console'
    """
    return f"{_OF_THIS_HOST}{COOKIE[audience]}" if scheme == "https" else COOKIE[audience]


def is_open(path: str) -> bool:
    """Whether a path needs neither key nor session."""
    return path in _OPEN or path.startswith(STATIC)


def is_home(path: str, audience: Audience) -> bool:
    """Whether a path is one of the pages behind the sign-in."""
    home = HOME[audience]
    return path == home or path.startswith(f"{home}/")


def is_page(path: str, audience: Audience) -> bool:
    """Whether a person looks at what is behind a path."""
    return path in (ROOT, SIGN_IN, SIGN_OUT) or path.startswith(STATIC) or is_home(path, audience)
