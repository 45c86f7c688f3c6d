"""The names a working calendar may use: time zones, and countries with public holidays.

Both lists are public and come from packages: zones from `zoneinfo`, countries and their
subdivisions from `holidays`, which is imported only when a calendar names a country.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches
from functools import cache
from zoneinfo import available_timezones

_ECHOED = 40
_LISTED = 20


def echo(written: str) -> str:
    """What was written, short and without control codes."""
    return repr(written if len(written) <= _ECHOED else written[: _ECHOED - 1] + "…")


def suggestion(word: str, names: Iterable[str], otherwise: str) -> str:
    """
    >>> suggestion("Tuesdey", ["Monday", "Tuesday"], "a day, such as Mon")
    "did you mean 'Tuesday'?"
    """
    found = _meant(word, {name.lower(): name for name in names}, cutoff=0.6)
    return f"did you mean '{found}'?" if found else f"what fits is {otherwise}"


def _meant(word: str, by_lower: dict[str, str], cutoff: float = 0.75) -> str | None:
    if len(word) > _ECHOED:
        return None
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


# --- zones ------------------------------------------------------------------------------


def known_zone(name: str) -> str:
    """The zone's own spelling; ValueError if there is none.

    >>> known_zone("europe/madrid")
    'Europe/Madrid'
    """
    zones = _zones()
    if name.lower() in zones:
        return zones[name.lower()]
    cities = {lower.rpartition("/")[2]: zone for lower, zone in zones.items() if "/" in lower}
    meant = _meant(name, {**cities, **zones})
    fits = f"did you mean '{meant}'?" if meant else "what fits is a zone such as Europe/Madrid"
    raise ValueError(f"no time zone is called {echo(name)}; {fits}")


@cache
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in sorted(available_timezones())}


# --- countries --------------------------------------------------------------------------


def known_country(name: str) -> str:
    """A country's code, or with a dash one of its subdivisions; ValueError if there is none.

    >>> known_country("de-by")
    'DE-BY'
    """
    code, dash, part = name.partition("-")
    country = _country(code.strip())
    return f"{country}-{_subdivision(country, part.strip())}" if dash else country


def _country(written: str) -> str:
    codes = _codes()
    if written.upper() in codes.values():
        return written.upper()
    meant = _meant(written, codes)
    fits = f"did you mean '{meant}'?" if meant else "what fits is a code such as ES or DE-BY"
    raise ValueError(f"no country with known holidays has the code {echo(written)}; {fits}")


def _subdivision(country: str, written: str) -> str:
    parts, called = _subdivisions(country)
    by_lower = {part.lower(): part for part in parts}
    if written.lower() in by_lower:
        return by_lower[written.lower()]
    if not parts:
        raise ValueError(f"holidays are the same all over {country}: write {country} alone")
    named = {name.lower(): code for name, code in called.items()}
    meant = _meant(written, {**named, **by_lower})
    known = ", ".join(parts[:_LISTED]) + (", …" if len(parts) > _LISTED else "")
    fits = f"did you mean '{country}-{meant}'?" if meant else f"what fits is one of {known}"
    raise ValueError(f"{country} has no part {echo(written)}; {fits}")


@cache
def _codes() -> dict[str, str]:
    """Two-letter codes by every name a country has."""
    from holidays.registry import COUNTRIES

    named: dict[str, str] = {}
    for called, names in COUNTRIES.items():
        for name in (called, *names):
            named[name.lower().replace("_", " ")] = names[1]
    return named


@cache
def _subdivisions(country: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The codes of a country's subdivisions, and their codes by name."""
    from holidays import country_holidays

    entity = type(country_holidays(country))
    return tuple(entity.subdivisions), dict(getattr(entity, "subdivisions_aliases", {}))


def public_holidays(place: str, first_year: int, last_year: int) -> frozenset[date]:
    """The public holidays of a country or subdivision, as far as the package knows them.

    It knows some only for certain years, and says so in a warning; the days it does not
    know are working days here.
    """
    from holidays import country_holidays

    country, _, part = place.partition("-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        years = range(first_year, last_year + 1)
        return frozenset(country_holidays(country, subdiv=part or None, years=years))
