"""Object-centric event logs, OCEL 2.0 in SQLite, JSON and XML, and the older JSON and XML.

Events there concern objects of several types. One type is chosen, its objects are the cases, and
a case is all events that concern its object. An event that concerns several of them is in each of
their cases, once. Nothing is kept of an event's other objects: a case says something about its own
object and about no other, and removing an object removes exactly its case. That makes the object a
sound privacy unit. The event is not one: whether it took place can show in every case it concerns.

An attribute of the object is `case:…`. If it changes, an event has the value at its time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias
from xml.parsers import expat

from sqlglot import exp

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.files import Place, log_bytes, open_log_file, refuse_many_columns
from pappi.eventlog.log import Guess, Progress, ReadOptions, RecordBatch
from pappi.eventlog.texts import TableSource, as_text, document, list_source, text_batches

_CASE, _ACTIVITY, _TIME = "object", "event type", "event time"
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class _Event:
    type: str
    time: str
    attributes: Mapping[str, str]
    objects: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Object:
    """Its type, and the values of its attributes in the order of their times."""

    type: str
    values: Mapping[str, Sequence[tuple[str, str]]]

    def at(self, name: str, moment: str) -> str:
        """The value at a moment; the first one before that. Moments are compared as texts."""
        history = self.values.get(name, ())
        earlier = [value for since, value in history if since <= moment.replace("T", " ")]
        return earlier[-1] if earlier else history[0][1] if history else ""


_Log: TypeAlias = tuple[Sequence[_Event], Mapping[str, _Object]]
"""A whole log, in memory: its events in their order, its objects by their ids."""


class _ObjectCases(TableSource):
    """The events of a log as a table, by the objects of one type."""

    def __init__(self, name: str, log: _Log, options: ReadOptions) -> None:
        self.name = name
        self._events, self._objects = log
        self._guessed = options.object_type is None
        self._type = self._chosen(options.object_type)
        self._rows = [
            (concerned, event)
            for event in self._events
            for concerned in dict.fromkeys(event.objects)
            if concerned in self._objects and self._objects[concerned].type == self._type
        ]
        if not self._rows:
            raise LogFormatError(
                name,
                None,
                f"no event concerns an object of type {self._type!r}",
                hint="name another type",
                options=(Option("object_type"),),
            )
        of_events: dict[str, None] = {}
        of_objects: dict[str, None] = {}
        for case, event in self._rows:
            of_events.update(dict.fromkeys(event.attributes))
            of_objects.update(dict.fromkeys(self._objects[case].values))
        self._of_events, self._of_objects = tuple(of_events), tuple(of_objects)
        self.names = (
            _CASE,
            _ACTIVITY,
            _TIME,
            *self._of_events,
            *(f"case:{name}" for name in self._of_objects),
        )
        refuse_many_columns(name, None, len(self.names), options)

    def reading(self, options: ReadOptions) -> ReadOptions:
        """Its times follow a standard, so a Z is true."""
        return replace(options, case=_CASE, activity=_ACTIVITY, timestamp=_TIME, z_is_utc=True)

    def _chosen(self, requested: str | None) -> str:
        """The objects of this type are the cases: the requested one, or the only one."""
        objects = Counter(obj.type for obj in self._objects.values())
        if not objects:
            raise LogFormatError(
                self.name, None, "the log has no objects", hint="check how it was exported"
            )
        if requested in objects:
            return str(requested)
        events = Counter(
            of
            for event in self._events
            for of in {self._objects[o].type for o in event.objects if o in self._objects}
        )
        types = sorted(objects, key=lambda of: (-events[of], objects[of], of))
        listing = ", ".join(
            f"{of!r} ({objects[of]:,} objects in {events[of]:,} events)" for of in types[:20]
        )
        if requested is not None:
            raise UsageError(
                f"no object has the type {requested!r}", hint=f"the object types are {listing}"
            )
        if len(types) > 1:
            raise LogFormatError(
                self.name,
                None,
                f"events concern objects of {len(types)} types: {listing}",
                hint="a case is all events of one object, and the object is what is protected: "
                "choose a type, e.g.",
                options=(Option("object_type", types[0]),),
            )
        return types[0]

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        rows = (
            (
                case,
                event.type,
                event.time,
                *(event.attributes.get(name, "") for name in self._of_events),
                *(self._objects[case].at(name, event.time) for name in self._of_objects),
            )
            for case, event in self._rows
        )
        yield from text_batches(rows, len(self.names), progress, len(self._rows))

    def place(self, row: int) -> str:
        return f"an event of the object {self._rows[row][0]!r}"

    def guesses(self) -> Iterator[Guess]:
        if self._guessed:
            yield Guess("cases", f"the objects of the only type, {self._type!r}", "object_type")

    def notices(self) -> Iterator[str]:
        used = len({id(event) for _, event in self._rows})
        several, unused = len(self._rows) - used, len(self._events) - used
        if several:
            yield (
                f"events that concern several objects of type {self._type!r} are in the case of "
                f"each: {several:,} more events than in the file"
            )
        if unused:
            subject = "1 event concerns" if unused == 1 else f"{unused:,} events concern"
            yield f"{subject} no object of type {self._type!r}: left out"


def _event(
    of: object, time: object, attributes: Iterable[tuple[object, object]], objects: Iterable[object]
) -> _Event:
    values = {as_text(name): as_text(value) for name, value in attributes}
    return _Event(as_text(of), as_text(time), values, [*map(as_text, objects)])


def _object(of: object, values: Iterable[tuple[object, object, object]]) -> _Object:
    """From the values of its attributes, each with its name and since when it holds."""
    histories: dict[str, list[tuple[str, str]]] = {}
    texts = ((as_text(name), as_text(since), as_text(value)) for name, since, value in values)
    for name, since, value in sorted(texts, key=itemgetter(1)):
        histories.setdefault(name, []).append((since.replace("T", " "), value))
    return _Object(as_text(of), histories)


def _not_ocel(name: str, why: str) -> LogFormatError:
    return LogFormatError(
        name,
        None,
        f"not an OCEL 2.0 log: {why}",
        hint="export it again, or give the events as CSV, Parquet or XES",
    )


# --- JSON ----------------------------------------------------------------------------


def json_source(place: Place, options: ReadOptions) -> TableSource:
    """What a JSON file is: an object-centric log, old or new, or a list of events."""
    content = document(place)
    try:
        if isinstance(content, dict) and isinstance(content.get("ocel:events"), dict):
            log = _old_json(content)
        elif isinstance(content, dict) and {"events", "objects"} <= {*content}:
            log = _new_json(content)
        else:
            return list_source(place.name, content, options)
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_ocel(place.name, f"something lacks {error}") from None
    return _ObjectCases(place.name, log, options)


def _new_json(content: Mapping[str, Any]) -> _Log:
    events = [
        _event(
            event["type"],
            event["time"],
            ((a["name"], a["value"]) for a in event.get("attributes", ())),
            (related["objectId"] for related in event.get("relationships", ())),
        )
        for event in content["events"]
    ]
    objects = {
        as_text(obj["id"]): _object(
            obj["type"],
            ((a["name"], a.get("time"), a["value"]) for a in obj.get("attributes", ())),
        )
        for obj in content["objects"]
    }
    return events, objects


def _old_json(content: Mapping[str, Any]) -> _Log:
    events = [
        _event(
            event["ocel:activity"],
            event["ocel:timestamp"],
            event.get("ocel:vmap", {}).items(),
            event["ocel:omap"],
        )
        for event in content["ocel:events"].values()
    ]
    objects = {
        key: _object(
            obj["ocel:type"],
            ((name, None, value) for name, value in obj.get("ocel:ovmap", {}).items()),
        )
        for key, obj in content["ocel:objects"].items()
    }
    return events, objects


# --- SQLite --------------------------------------------------------------------------


def sqlite_source(place: Place, options: ReadOptions) -> TableSource:
    try:
        with closing(_connected(place)) as connection:
            log = _read_tables(place.name, connection)
    except (sqlite3.Error, UnicodeDecodeError, IndexError, KeyError) as error:
        raise _not_ocel(place.name, str(error)) from None
    return _ObjectCases(place.name, log, options)


def _connected(place: Place) -> sqlite3.Connection:
    if isinstance(place, Path):
        address = f"{place.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True)
    else:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(log_bytes(place))
    # Nothing that the file defines is run. Only stored tables are read: no virtual table, view,
    # trigger or generated column, which could produce gigabytes.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.row_factory = sqlite3.Row
    return connection


def _read_tables(name: str, connection: sqlite3.Connection) -> _Log:
    tables = {
        row["name"]
        for row in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        )
    }

    def rows(table: str) -> Iterator[Mapping[str, Any]]:
        if table not in tables:
            raise _not_ocel(name, f"it has no table {table!r}")
        quoted = exp.Table(this=exp.to_identifier(table, quoted=True))
        stored = [
            exp.column(exp.to_identifier(column["name"], quoted=True))
            for column in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]
        for row in connection.execute(exp.select(*stored).from_(quoted).sql("sqlite")):
            yield {key: row[key] for key in row.keys()}  # noqa: SIM118 - no mapping

    related: dict[str, list[str]] = {}
    for row in rows("event_object"):
        related.setdefault(row["ocel_event_id"], []).append(row["ocel_object_id"])
    order = {row["ocel_id"]: number for number, row in enumerate(rows("event"))}
    placed: list[tuple[int, _Event]] = []
    for kind in rows("event_map_type"):
        for row in rows(f"event_{kind['ocel_type_map']}"):
            attributes = ((k, value) for k, value in row.items() if not k.startswith("ocel_"))
            concerned = related.get(row["ocel_id"], ())
            event = _event(kind["ocel_type"], row["ocel_time"], attributes, concerned)
            placed.append((order.get(row["ocel_id"], len(order)), event))
    objects: dict[str, _Object] = {}
    for kind in rows("object_map_type"):
        histories: dict[str, list[tuple[object, object, object]]] = {}
        for row in rows(f"object_{kind['ocel_type_map']}"):
            changed = row.get("ocel_changed_field")
            histories.setdefault(as_text(row["ocel_id"]), []).extend(
                (key, row.get("ocel_time"), value)
                for key, value in row.items()
                if not key.startswith("ocel_") and value is not None and changed in (None, "", key)
            )
        objects |= {key: _object(kind["ocel_type"], of) for key, of in histories.items()}
    # Each type has a table of its own; their common order is that of all events.
    return [event for _, event in sorted(placed, key=itemgetter(0))], objects


# --- XML -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Element:
    tag: str
    attributes: Mapping[str, str]
    children: list[_Element] = field(default_factory=list)
    text: str = ""

    def each(self, *path: str) -> Iterator[_Element]:
        """The elements below, by their tags; `*` is any."""
        for child in self.children:
            if path[0] in (child.tag, "*"):
                yield from child.each(*path[1:]) if path[1:] else (child,)

    def keyed(self, key: str) -> _Element:
        """Of the old format: the child with this key."""
        matches = (child for child in self.children if child.attributes.get("key") == key)
        return next(matches, _Element("", {}))


def xml_source(place: Place, options: ReadOptions) -> TableSource:
    root = _xml(place)
    is_old = any(element.keyed("id").tag for element in root.each("events", "event"))
    try:
        log = _old_xml(root) if is_old else _new_xml(root)
    except KeyError as error:
        raise _not_ocel(place.name, f"something lacks {error}") from None
    return _ObjectCases(place.name, log, options)


def _new_xml(root: _Element) -> _Log:
    events = [
        _event(
            event.attributes["type"],
            event.attributes["time"],
            ((a.attributes["name"], a.text.strip()) for a in event.each("attributes", "attribute")),
            (related.attributes["object-id"] for related in event.each("objects", "*")),
        )
        for event in root.each("events", "event")
    ]
    objects = {
        obj.attributes["id"]: _object(
            obj.attributes["type"],
            (
                (a.attributes["name"], a.attributes.get("time"), a.text.strip())
                for a in obj.each("attributes", "attribute")
            ),
        )
        for obj in root.each("objects", "object")
    }
    return events, objects


def _old_xml(root: _Element) -> _Log:
    events = [
        _event(
            event.keyed("activity").attributes["value"],
            event.keyed("timestamp").attributes["value"],
            ((a.attributes["key"], a.attributes["value"]) for a in event.keyed("vmap").children),
            (related.attributes["value"] for related in event.keyed("omap").children),
        )
        for event in root.each("events", "event")
    ]
    objects = {
        obj.keyed("id").attributes["value"]: _object(
            obj.keyed("type").attributes["value"],
            (
                (a.attributes["key"], None, a.attributes["value"])
                for a in obj.keyed("ovmap").children
            ),
        )
        for obj in root.each("objects", "object")
    }
    return events, objects


def _xml(place: Place) -> _Element:
    """The document as a tree; entities and document types are refused."""
    parser = expat.ParserCreate()
    root = _Element("", {})
    open_elements = [root]

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        element = _Element(tag.rpartition(":")[2], attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def text(data: str) -> None:
        if not open_elements[-1].children:  # a value; text between elements is not one
            open_elements[-1].text += data

    def refuse(*_declaration: object) -> None:
        raise LogFormatError(
            place.name,
            parser.CurrentLineNumber,
            "document type and entity declarations are not accepted in an event log",
            hint="remove the <!DOCTYPE …> part: entities can expand without bound",
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    with open_log_file(place) as file:
        try:
            while block := file.content.read(_BLOCK):
                parser.Parse(block, False)  # noqa: FBT003 - expat's own
            parser.Parse(b"", True)  # noqa: FBT003 - expat's own
        except expat.ExpatError as error:
            raise LogFormatError(
                place.name,
                error.lineno,
                f"malformed XML: {expat.ErrorString(error.code)}",
                hint="export the log again, or correct the file at this line",
            ) from None
    if len(root.children) != 1 or root.children[0].tag != "log":
        raise _not_ocel(place.name, "it does not begin with <log>")
    return root.children[0]
