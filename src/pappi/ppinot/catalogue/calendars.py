"""Working calendars: written where they are used, or named once for the whole catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from pappi.ppinot.catalogue.document import MapNode, Node, ScalarNode
from pappi.ppinot.catalogue.shapes import (
    MAX_SUGGESTED,
    Entries,
    Field,
    Problems,
    Record,
    Values,
    Written,
)
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.working_time import WorkingCalendar, parse_calendar

_EXAMPLE = "Mon-Fri 09:00-17:00"
# These words are calendars already, or nearly.
NAME_PATTERN = r"^(?!always$|closed$)[A-Za-z][A-Za-z0-9_\-]{0,63}$"


def _described(node: ScalarNode, problems: Problems) -> WorkingCalendar | None:
    try:
        return parse_calendar(node.text)
    except ValueError as error:
        hint = f"write e.g. {_EXAMPLE}; except holidays in ES"
        problems.add(node.position, f"this is no calendar: {error}", hint)
        return None


def _named_or_described(node: ScalarNode, problems: Problems) -> WorkingCalendar | None:
    name, known = node.text.strip(), problems.calendars
    if not re.search(NAME_PATTERN, name):
        return _described(node, problems)
    if name not in known:
        named = f"the calendars are {listed(known, 'and')}" if known else "name it in 'calendars'"
        hint = did_you_mean(
            name, islice(known, MAX_SUGGESTED), f"{named}, or write e.g. {_EXAMPLE}"
        )
        problems.add(node.position, f"unknown calendar {quoted(name)}", hint)
    return known.get(name)


_TEXT = Written("a calendar", _described, example=_EXAMPLE)
CALENDAR = Field(
    "calendar",
    Written("a calendar, or the name of one", _named_or_described, example=_EXAMPLE),
    "counts working time only: hours as in Mon-Fri 09:00-17:00, or the name of a calendar",
)


def _by_name(values: Values, _: Problems) -> Mapping[str, WorkingCalendar | None]:
    return {key.text: calendar for key, calendar in values.named}


CALENDARS = Field(
    "calendars",
    Record(
        "the calendars",
        (),
        _by_name,
        entries=Entries(
            "a calendar's name",
            "letters, digits, - and _ make a name, with a letter first",
            _TEXT,
            NAME_PATTERN,
        ),
    ),
    "working calendars by name, for time measures",
)


def named_calendars(root: Node) -> Mapping[str, WorkingCalendar | None]:
    """The calendars a catalogue names; what is wrong with them is told when it is read."""
    node = root.get(CALENDARS.key) if isinstance(root, MapNode) else None
    if not isinstance(node, MapNode):
        return {}
    return CALENDARS.shape.read(node, Problems()) or {}
